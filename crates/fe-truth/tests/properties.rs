//! Identities that hold for every scenario.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Sample, all, features, label, limits, spread};
use fe_core::model::{Column, Rows};
use fe_truth::{Centring, Quantity, Scenario, Weighting};
use proptest::prelude::*;

fn assert_near(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} but {b}");
}

fn curve(scenario: &Scenario, effect: Quantity, s: usize, x: &[f64], c: Centring) -> Vec<f64> {
    let curve = scenario.curve(effect, s, x, scenario.axis(s), c).unwrap();
    curve.into_iter().map(|truth| truth.value).collect()
}

/// One row through the model, with its partial derivatives.
fn native(scenario: &Scenario, row: &[f64]) -> (f64, Vec<f64>) {
    let columns: Vec<Column<'_>> = row.iter().map(|&x| Column::Constant(x)).collect();
    let rows = Rows::new(&columns, 1);
    let mut value = [0.0];
    scenario.model().predict(&rows, &mut value).unwrap();
    let partial = |s| {
        let mut slope = [0.0];
        scenario.model().partial(s, &rows, &mut slope).unwrap();
        slope[0]
    };
    (value[0], (0..row.len()).map(partial).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn native_form_is_the_sum_of_terms_and_has_the_right_gradient(seed in 0u64..1_000_000) {
        for scenario in all() {
            let sample = Sample::draw(&scenario, 1, seed);
            let row: Vec<f64> = sample.columns.iter().map(|column| column[0]).collect();
            let (value, gradient) = native(&scenario, &row);
            prop_assert!((value - scenario.sum_of_terms(&row)).abs() < 1e-12 * (1.0 + value.abs()));
            for s in 0..scenario.dimension() {
                let h = 1e-5;
                // A central difference across a break is no derivative.
                if scenario.breaks(s).iter().any(|place| (place - row[s]).abs() <= h) {
                    continue;
                }
                // Nor is one across a line, where the derivative itself jumps.
                if scenario.info().name == "threshold-linear" {
                    let beside = |step: f64| {
                        let mut row = row.clone();
                        row[s] += step;
                        native(&scenario, &row).1[s]
                    };
                    if beside(h) != beside(-h) {
                        continue;
                    }
                }
                let moved = |step: f64| {
                    let mut row = row.clone();
                    row[s] += step;
                    native(&scenario, &row).0
                };
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                let allowed = 1e-7 * (1.0 + value.abs() + gradient[s].abs());
                prop_assert!((difference - gradient[s]).abs() < allowed, "{}", label(&scenario, s));
            }
        }
    }

    #[test]
    fn theorem_1_and_refinement(cuts in proptest::collection::vec(0.01f64..0.99, 1..5)) {
        for scenario in [common::at("sin-indicator", "noise_sd=0.1"), common::at("liu-quadratic", "mu1=1.3;rho=0.9")] {
            let (lo, hi) = scenario.axis(0);
            let mut limits: Vec<f64> = cuts.iter().map(|t| lo + t * (hi - lo)).collect();
            limits.extend([lo, hi]);
            limits.sort_by(f64::total_cmp);
            limits.dedup();
            let parts = scenario.bins(0, &limits, Weighting::Uniform).unwrap();
            let whole = scenario.bins(0, &[lo, hi], Weighting::Uniform).unwrap()[0];
            let share = |bin: &fe_truth::BinTruth| (bin.hi - bin.lo) / (hi - lo);
            let mu: f64 = parts.iter().map(|b| share(b) * b.mu).sum();
            let sigma2: f64 = parts.iter().map(|b| share(b) * b.sigma2).sum();
            let between: f64 = parts.iter().map(|b| share(b) * (b.bin_error + (b.mu - mu).powi(2))).sum();
            assert_near(mu, whole.mu, 1e-11, "mu");
            assert_near(sigma2, whole.sigma2, 1e-11, "sigma2");
            assert_near(between, whole.bin_error, 1e-11, "bin error");
            for bin in parts {
                prop_assert_eq!(bin.sigma2_star, bin.sigma2 + bin.bin_error);
            }
        }
    }
}

/// Shapley values and what the empty coalition is worth add up to f; features that f does not read
/// have none, and an additive feature has its component less the mean.
#[test]
fn shapley_values_are_efficient() {
    for scenario in all() {
        let sample = Sample::draw(&scenario, 12, 31);
        for i in 0..sample.len {
            let row: Vec<f64> = sample.columns.iter().map(|column| column[i]).collect();
            let values = scenario.shap_at(&row).unwrap();
            let (f, gradient) = native(&scenario, &row);
            let sum: f64 = values.iter().map(|value| value.value).sum();
            assert_near(sum, f, 1e-10, &format!("{scenario:?} at {row:?}"));
            for s in 0..scenario.dimension() {
                let main = |x: f64| {
                    let axis = scenario.axis(s);
                    let main = scenario.curve(Quantity::Main, s, &[x], axis, Centring::Data);
                    main.map(|curve| curve[0].value)
                };
                if let Ok(main) = main(row[s]) {
                    assert_near(values[s].value, main, 1e-10, &label(&scenario, s));
                    let flat =
                        curve(&scenario, Quantity::ShapVariance, s, &row[s..=s], Centring::None);
                    assert!(flat[0].abs() < 1e-20 && (main != 0.0 || gradient[s] == 0.0));
                }
            }
        }
    }
}

/// sigma2_star as the variance of ∂_s f over the bin, by a plain midpoint rule over second moments.
#[test]
fn theorem_1_against_the_variance_itself() {
    const CELLS: usize = 20_000;
    for scenario in all() {
        for s in features(&scenario).take(2) {
            let (lo, hi) = scenario.axis(s);
            let bin = (lo + 0.31 * (hi - lo), lo + 0.38 * (hi - lo));
            let x = |i: usize| bin.0 + (bin.1 - bin.0) * (i as f64 + 0.5) / CELLS as f64;
            let points: Vec<f64> = (0..CELLS).map(x).collect();
            let mu = curve(&scenario, Quantity::Mu, s, &points, Centring::None);
            let sigma = curve(&scenario, Quantity::Sigma, s, &points, Centring::None);
            let first = common::mean(&mu);
            let second: f64 = mu.iter().zip(&sigma).map(|(m, v)| m * m + v * v).sum();
            let variance = second / CELLS as f64 - first * first;
            let truth = scenario.bins(s, &[bin.0, bin.1], Weighting::Uniform).unwrap()[0];
            // The midpoint rule sees a kink in a cell or two.
            assert_near(truth.sigma2_star, variance, 1e-4, &label(&scenario, s));
        }
    }
}

#[test]
fn pd_is_ale_up_to_a_constant_under_independence() {
    let independent = [
        common::at("friedman1", ""),
        common::at("liu-quadratic", "mu1=1.3;mu2=-0.7;sigma1=0.6;sigma2=2.1;rho=0"),
    ];
    for scenario in independent {
        for s in features(&scenario) {
            let points = spread(scenario.axis(s), 9);
            let [pd, ale] = [Quantity::Pd, Quantity::Ale]
                .map(|effect| curve(&scenario, effect, s, &points, Centring::Integral));
            for (pd, ale) in pd.iter().zip(&ale) {
                assert_near(*pd, *ale, 1e-11, &label(&scenario, s));
            }
        }
    }
}

/// E over x_s of the M-plot is E f: centring over the data subtracts just that.
#[test]
fn mean_of_the_mplot_is_the_mean_of_f() {
    for scenario in all() {
        let mean = scenario.mean().unwrap().value;
        for s in features(&scenario) {
            let point = spread(scenario.axis(s), 1);
            let raw = curve(&scenario, Quantity::Mplot, s, &point, Centring::None)[0];
            let centred = curve(&scenario, Quantity::Mplot, s, &point, Centring::Data)[0];
            assert_near(raw - centred, mean, 1e-10, &label(&scenario, s));
        }
    }
}

/// The ALE between two points does not depend on where accumulation starts, and its derivative
/// form collects the bin means.
#[test]
fn ale_accumulates() {
    for scenario in all() {
        for s in features(&scenario) {
            let (lo, hi) = scenario.axis(s);
            let points = limits((lo, hi));
            let ale = |effect, from| {
                let curve = scenario.curve(effect, s, &points, (from, hi), Centring::None).unwrap();
                curve.into_iter().map(|truth| truth.value).collect::<Vec<_>>()
            };
            let (early, late) = (ale(Quantity::Ale, lo), ale(Quantity::Ale, lo + 0.6 * (hi - lo)));
            for (a, b) in early.iter().zip(&late) {
                assert_near(a - early[4], b - late[4], 1e-10, &label(&scenario, s));
            }
            let smooth = ale(Quantity::AleDerivative, lo);
            let bins = scenario.bins(s, &points, Weighting::Uniform).unwrap();
            for (k, bin) in bins.iter().enumerate() {
                let step = bin.mu * (bin.hi - bin.lo);
                assert_near(smooth[k + 1] - smooth[k], step, 1e-10, &label(&scenario, s));
            }
        }
    }
}

/// Each centring makes zero what it says; the order of points does not matter.
#[test]
fn centring_does_what_it_says() {
    const CELLS: usize = 4000;
    for scenario in all() {
        for s in features(&scenario).take(3) {
            let (lo, hi) = scenario.axis(s);
            let x = |i: usize| lo + (hi - lo) * (i as f64 + 0.5) / CELLS as f64;
            let grid: Vec<f64> = (0..CELLS).rev().map(x).collect();
            for effect in [Quantity::Pd, Quantity::Ale] {
                let start = curve(&scenario, effect, s, &[lo], Centring::Start);
                assert_near(start[0], 0.0, 1e-12, "start");
                let values = curve(&scenario, effect, s, &grid, Centring::Integral);
                let size = values.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
                let what = format!("{} {effect}", label(&scenario, s));
                assert_near(common::mean(&values) / (1.0 + size), 0.0, 1e-5, &what);
            }
        }
    }
}

/// Centred over the data, an accumulated effect has forgotten where accumulation started: in the
/// tail, in the middle, or at a jump.
#[test]
fn data_centring_forgets_the_start() {
    for scenario in all() {
        for s in features(&scenario).take(3) {
            let (lo, hi) = scenario.axis(s);
            let points = spread((lo, hi), 5);
            let mut starts = vec![lo + 0.37 * (hi - lo), lo + 0.8 * (hi - lo)];
            starts.extend(scenario.breaks(s));
            for effect in [Quantity::Ale, Quantity::AleDerivative] {
                let whole = curve(&scenario, effect, s, &points, Centring::Data);
                for &start in &starts {
                    let axis = (start, hi);
                    let part = scenario.curve(effect, s, &points, axis, Centring::Data).unwrap();
                    for (part, whole) in part.iter().zip(&whole) {
                        let what = format!("{} {effect} from {start}", label(&scenario, s));
                        assert_near(part.value, *whole, 1e-10, &what);
                    }
                }
            }
        }
    }
}

/// The mean of an accumulated effect over a sample vanishes once it is centred over the law.
#[test]
fn data_centring_of_accumulated_effects() {
    for scenario in all() {
        for s in features(&scenario).take(3) {
            let sample = Sample::draw(&scenario, 20_000, 21);
            for effect in [Quantity::Ale, Quantity::AleDerivative] {
                let values = curve(&scenario, effect, s, &sample.columns[s], Centring::Data);
                common::assert_mean(&values, 0.0, &format!("{} {effect}", label(&scenario, s)));
            }
        }
    }
}

/// A limit formula is centred as a truth is: each centring makes zero what it says.
#[test]
fn limit_formulas_are_centred_like_truths() {
    for scenario in all() {
        for (name, s) in scenario.limits() {
            let Ok(effect) = name.trim_end_matches("-limit").parse::<Quantity>() else {
                panic!("{name} names no effect");
            };
            if !effect.is_curve() {
                continue;
            }
            let axis = scenario.axis(s);
            let ask = |points: &[f64], centring| {
                scenario.limit(&name, s, points, axis, centring).unwrap()
            };
            let what = format!("{} {name}", label(&scenario, s));
            assert_near(ask(&[axis.0], Centring::Start)[0], 0.0, 1e-15, &what);
            let cells = spread(axis, 100_000);
            let shift = 0.5 - 0.4137;
            let width = (axis.1 - axis.0) / cells.len() as f64;
            let middles: Vec<f64> = cells.iter().map(|x| x + shift * width).collect();
            assert_near(common::mean(&ask(&middles, Centring::Integral)), 0.0, 1e-5, &what);
            let sample = Sample::draw(&scenario, 20_000, 22);
            common::assert_mean(&ask(&sample.columns[s], Centring::Data), 0.0, &what);
        }
    }
}
