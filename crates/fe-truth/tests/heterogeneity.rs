//! Heterogeneity values, held against sums over a grid of the law and against rows drawn from it.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Sample, at, mean};
use fe_truth::{HeterogeneityValue, Scenario, scenario};

/// Places and weights of a three-point Gauss rule on cells of an interval.
fn nodes((from, to): (f64, f64), cells: usize) -> Vec<(f64, f64)> {
    let rule = [(-0.6_f64.sqrt(), 5.0 / 18.0), (0.0, 4.0 / 9.0), (0.6_f64.sqrt(), 5.0 / 18.0)];
    let width = (to - from) / cells as f64;
    let cell = |i: usize| {
        let centre = from + (i as f64 + 0.5) * width;
        rule.map(|(t, w)| (centre + 0.5 * width * t, w * width))
    };
    (0..cells).flat_map(cell).collect()
}

/// Weighted mean and variance.
fn moments(values: &[(f64, f64)]) -> (f64, f64) {
    let mass: f64 = values.iter().map(|(_, w)| w).sum();
    let mean = values.iter().map(|(v, w)| v * w).sum::<f64>() / mass;
    (mean, values.iter().map(|(v, w)| w * (v - mean).powi(2)).sum::<f64>() / mass)
}

/// f and its derivative along x1, of three features that are uniform on −1 to 1, in words of one's own.
type ByHand = (&'static str, fn([f64; 3]) -> f64, fn([f64; 3]) -> f64);

const BY_HAND: [ByHand; 3] = [
    ("general-interaction", |x| x[0] * x[1] * x[1] + x[2].exp(), |x| x[1] * x[1]),
    (
        "effector-regional",
        |x| if x[2] > 0.0 { 3.0 * x[0] + x[2] } else { x[2] - 3.0 * x[0] },
        |x| if x[2] > 0.0 { 3.0 } else { -3.0 },
    ),
    ("poly3", |x| x[0] * x[0] + x[0] * x[1] + 0.5 * x[2], |x| 2.0 * x[0] + x[1]),
];

/// All values of x1 on a grid of the cube, whose features are independent.
fn on_grid(f: fn([f64; 3]) -> f64, slope: fn([f64; 3]) -> f64) -> Vec<(HeterogeneityValue, f64)> {
    use HeterogeneityValue as Value;
    let (axis, rest) = (nodes((-1.0, 1.0), 200), nodes((-1.0, 1.0), 12));
    let rows = || rest.iter().flat_map(|b| rest.iter().map(move |c| (b.0, c.0, b.1 * c.1)));
    let over_rest = |of: &dyn Fn(f64, f64) -> f64| -> (f64, f64) {
        moments(&rows().map(|(b, c, w)| (of(b, c), w)).collect::<Vec<_>>())
    };
    // Of each ICE curve its mean over the axis.
    let level = |b: f64, c: f64| axis.iter().map(|(x, w)| w * f([*x, b, c])).sum::<f64>() / 2.0;
    let levels: Vec<f64> = rows().map(|(b, c, _)| level(b, c)).collect();
    let (mut centred, mut raw_sd, mut partial, mut partial_sd) = (0.0, 0.0, 0.0, 0.0);
    for (x, w) in &axis {
        let pairs = rows().zip(&levels).map(|((b, c, w), level)| (f([*x, b, c]) - level, w));
        centred += w * moments(&pairs.collect::<Vec<_>>()).1;
        raw_sd += w * over_rest(&|b, c| f([*x, b, c])).1.sqrt();
        let of_slopes = over_rest(&|b, c| slope([*x, b, c])).1;
        partial += w * of_slopes;
        partial_sd += w * of_slopes.sqrt();
    }
    vec![
        (Value::PdpMean, centred / 2.0),
        (Value::PdpMeanSd, raw_sd / 2.0),
        (Value::DpdpMean, partial / 2.0),
        (Value::DpdpMeanSd, partial_sd / 2.0),
        // Of independent features the conditional law is the marginal one.
        (Value::AleIntegral, partial),
        (Value::AleMeanRange, partial / 2.0),
        (Value::AleIntegralSd, partial_sd),
        (Value::AleMeanSd, partial_sd / 2.0),
    ]
}

#[test]
fn values_of_independent_features_are_sums_over_a_grid() {
    for (name, f, slope) in BY_HAND {
        let known = scenario(name, &[]).unwrap();
        for (value, expected) in on_grid(f, slope) {
            let truth = known.heterogeneity_value(value, 0, (-1.0, 1.0)).unwrap();
            let off = (truth.value - expected).abs();
            assert!(off <= 2e-5 * (1.0 + expected), "{name} {value}: {} {expected}", truth.value);
        }
    }
}

/// A value of a sample as estimators have it, on a grid of the axis.
fn simulated(sample: &Sample, value: HeterogeneityValue, s: usize, axis: (f64, f64)) -> f64 {
    let places = nodes(axis, 8);
    let mean_sd = |of: &dyn Fn(f64) -> Vec<f64>| {
        let sd = |x: f64| mean(&common::squares(&of(x))).sqrt();
        places.iter().map(|(x, w)| w * sd(*x)).sum::<f64>() / (axis.1 - axis.0)
    };
    match value {
        HeterogeneityValue::PdpMeanSd => mean_sd(&|x| sample.f_with(s, x)),
        HeterogeneityValue::DpdpMeanSd => mean_sd(&|x| sample.partial_with(s, x)),
        other => panic!("{other}"),
    }
}

/// Dependent features among them.
#[test]
fn values_of_curves_as_they_are_are_those_of_rows() {
    let cases: [(Scenario, usize); 4] = [
        (at("liu-quadratic", "rho=0.6;sigma2=2;mu1=0.5"), 0),
        (at("nonlinear", "sigma2=0.3"), 0),
        (at("friedman1-copula", "rho=0.7;noise_features=0"), 1),
        (at("sin-indicator", "noise_sd=0.7"), 0),
    ];
    for (known, s) in cases {
        let axis = known.axis(s);
        for value in [HeterogeneityValue::PdpMeanSd, HeterogeneityValue::DpdpMeanSd] {
            let truth = known.heterogeneity_value(value, s, axis).unwrap();
            // The same places on the axis for both: what they leave of the integral is bounded by a finer grid.
            let batches: Vec<f64> = (0..12)
                .map(|seed| simulated(&Sample::draw(&known, 4000, 71 + seed), value, s, axis))
                .collect();
            let error = (mean(&common::squares(&batches)) / 12.0).sqrt();
            let off = (mean(&batches) - truth.value).abs();
            let allowed = 5.0 * error + 2e-3 * truth.value;
            assert!(
                off <= allowed,
                "{known:?} {value}: {} ± {error}, {}",
                mean(&batches),
                truth.value
            );
        }
    }
}

/// Names that `--values` prints are the same numbers.
#[test]
fn values_are_those_that_are_printed_together() {
    for known in [at("liu-quadratic", "rho=0.6"), at("goldstein", ""), at("sin-indicator", "")] {
        for s in 0..known.dimension() {
            let axis = known.axis(s);
            for (name, printed) in known.values(s, axis).unwrap() {
                let value: HeterogeneityValue = name.parse().unwrap();
                let alone = known.heterogeneity_value(value, s, axis).unwrap();
                let off = (alone.value - printed.value).abs();
                assert!(off <= alone.abs_error + printed.abs_error, "{known:?} {name} x{}", s + 1);
            }
        }
    }
    assert!(known_levels().is_err());
}

/// A level has no derivative, nor an axis.
fn known_levels() -> Result<fe_truth::Truth, fe_truth::Error> {
    let text = "f = \"level(s, a: 0, b: 5)\"\n[law]\ns = \"categorical(a: 0.2, b: 0.8)\"\n";
    let known = fe_truth::problem("mine", text, &[]).unwrap();
    known.heterogeneity_value(HeterogeneityValue::PdpMean, 0, known.axis(0))
}
