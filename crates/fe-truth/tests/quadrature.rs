//! First witness: every truth against quadrature that knows only the law and the terms of f.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{features, label, limits, of_few_dimensions, spread};
use fe_truth::{BinTruth, Centring, Evaluation, Quantity, Truth, Weighting};

/// Largest difference allowed, relative to 1 + size.
const TOLERANCE: f64 = 1e-10;

fn assert_equal(known: f64, integrated: f64, what: &str) {
    let allowed = TOLERANCE * (1.0 + integrated.abs());
    assert!((known - integrated).abs() <= allowed, "{what}: {known} but {integrated}");
}

fn assert_same(known: &Truth, integrated: &Truth, what: &str) {
    assert_equal(known.value, integrated.value, what);
    let allowed = TOLERANCE * (1.0 + integrated.value.abs());
    assert!(
        known.abs_error <= allowed && integrated.abs_error <= allowed,
        "{what}: {integrated:?}"
    );
}

#[test]
fn curves() {
    for scenario in of_few_dimensions() {
        let general = scenario.clone().without_closed_forms();
        for feature in features(&scenario) {
            let axis = scenario.axis(feature);
            let mut points = spread(axis, 7);
            points.extend([axis.0, axis.1]);
            points.extend(scenario.breaks(feature));
            for &effect in Quantity::ALL {
                let ask = |s: &fe_truth::Scenario| {
                    s.curve(effect, feature, &points, axis, Centring::None)
                };
                let (Ok(known), Ok(integrated)) = (ask(&scenario), ask(&general)) else {
                    assert_eq!(effect, Quantity::Main);
                    continue;
                };
                for ((x, known), integrated) in points.iter().zip(&known).zip(&integrated) {
                    let what = format!("{} {effect} at {x}", label(&scenario, feature));
                    assert_same(known, integrated, &what);
                    assert!(
                        effect == Quantity::Main || integrated.method == Evaluation::Quadrature
                    );
                }
            }
        }
    }
}

#[test]
fn curves_over_other_axes_and_centred() {
    for scenario in of_few_dimensions() {
        let general = scenario.clone().without_closed_forms();
        for feature in features(&scenario).take(3) {
            let (lo, hi) = scenario.axis(feature);
            let axis = (lo + 0.3 * (hi - lo), hi - 0.1 * (hi - lo));
            let points = spread((lo, hi), 3);
            for &centring in Centring::ALL {
                for effect in [Quantity::Pd, Quantity::Mplot, Quantity::Ale, Quantity::HPdp] {
                    if centring != Centring::None && !effect.is_curve() {
                        continue;
                    }
                    let ask = |s: &fe_truth::Scenario| {
                        s.curve(effect, feature, &points, axis, centring).unwrap()
                    };
                    for (known, integrated) in ask(&scenario).iter().zip(&ask(&general)) {
                        let what = format!("{} {effect} {centring}", label(&scenario, feature));
                        assert_same(known, integrated, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn bins() {
    for scenario in of_few_dimensions() {
        let general = scenario.clone().without_closed_forms();
        for feature in features(&scenario) {
            let limits = limits(scenario.axis(feature));
            for &weighting in Weighting::ALL {
                let known = scenario.bins(feature, &limits, weighting).unwrap();
                let integrated = general.bins(feature, &limits, weighting).unwrap();
                for (known, integrated) in known.iter().zip(&integrated) {
                    let what = format!("{} {weighting} {known:?}", label(&scenario, feature));
                    let numbers = |b: &BinTruth| [b.mu, b.sigma2, b.sigma2_star, b.bin_error];
                    for (a, b) in numbers(known).into_iter().zip(numbers(integrated)) {
                        assert_equal(a, b, &what);
                    }
                    assert!(known.abs_error < 1e-9 * (1.0 + known.sigma2_star), "{what}");
                }
            }
            let known = scenario.differences(feature, &limits).unwrap();
            let integrated = general.differences(feature, &limits).unwrap();
            for (known, integrated) in known.iter().zip(&integrated) {
                let what = format!("{} {known:?}", label(&scenario, feature));
                assert_equal(known.mean, integrated.mean, &what);
                assert_equal(known.variance, integrated.variance, &what);
            }
        }
    }
}

#[test]
fn values_mean_and_sd() {
    for scenario in of_few_dimensions() {
        let general = scenario.clone().without_closed_forms();
        for feature in features(&scenario) {
            let axis = scenario.axis(feature);
            let known = scenario.values(feature, axis).unwrap();
            let integrated = general.values(feature, axis).unwrap();
            for ((name, known), (_, integrated)) in known.iter().zip(&integrated) {
                assert_same(known, integrated, &format!("{} {name}", label(&scenario, feature)));
            }
        }
        let what = format!("{scenario:?}");
        assert_same(&scenario.mean().unwrap(), &general.mean().unwrap(), &what);
        assert_same(&scenario.sd().unwrap(), &general.sd().unwrap(), &what);
    }
}

/// Noise far finer and far coarser than everything else.
#[test]
fn extreme_noise() {
    // The bound of a closed form grows with the square of the noise where f does.
    let cases = [
        ("sin-indicator", "noise_sd", "10"),
        ("piecewise-linear", "sigma2", "10"),
        ("nonlinear", "sigma2", "4"),
        ("apley-zhu", "noise_sd", "10"),
        ("threshold-linear", "noise_sd", "10"),
    ];
    for (name, key, coarse) in cases {
        for noise in ["0.0001", "0.000001", coarse] {
            let scenario = common::at(name, &format!("{key}={noise}"));
            let general = scenario.clone().without_closed_forms();
            for feature in 0..scenario.dimension() {
                let axis = scenario.axis(feature);
                let fine: f64 = noise.parse().unwrap();
                let mut points = spread(axis, 4);
                points.extend([-3.0, -0.5, 0.0, 1.0].map(|t| {
                    (t * fine).clamp(scenario.support(feature).0, scenario.support(feature).1)
                }));
                for effect in
                    [Quantity::Pd, Quantity::Mplot, Quantity::Mu, Quantity::Sigma, Quantity::Ale]
                {
                    let ask = |s: &fe_truth::Scenario| {
                        s.curve(effect, feature, &points, axis, Centring::Integral.min_for(effect))
                    };
                    let (known, integrated) = (ask(&scenario).unwrap(), ask(&general).unwrap());
                    for (known, integrated) in known.iter().zip(&integrated) {
                        let what = format!("{} {effect}", label(&scenario, feature));
                        assert_same(known, integrated, &what);
                    }
                }
            }
        }
    }
}

/// Centring as far as an effect allows it.
trait MinFor {
    fn min_for(self, effect: Quantity) -> Centring;
}

impl MinFor for Centring {
    fn min_for(self, effect: Quantity) -> Centring {
        if effect.is_curve() { self } else { Centring::None }
    }
}
