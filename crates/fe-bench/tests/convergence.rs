//! Every estimator approaches the truth of its own estimand, at the rate theory gives.
//!
//! General loops over all scenarios and features: nothing here knows one of them. Seeds are fixed, so
//! a test that passes always passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_bench::data::sample;
use fe_bench::score::truth_of;
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::replicates::Summary;
use fe_core::{Axis, AxisChoice, Dataset, Effect, Settings, estimator};
use fe_truth::{Centring, Scenario, Weighting};

const REPLICATES: usize = 30;

/// Squared errors below this are rounding: the curve is estimated exactly.
const EXACT: f64 = 1e-16;

fn scenarios() -> Vec<Scenario> {
    let scenario = |info: &fe_truth::ScenarioInfo| {
        // Bins must be finer than the noise before orders of convergence can be seen.
        let noise = [("noise_sd".to_owned(), "0.3".to_owned())];
        let set: &[_] = if info.name == "threshold-linear" { &noise } else { &[] };
        fe_truth::scenario(info.name, set).unwrap()
    };
    fe_truth::scenarios().iter().map(scenario).collect()
}

fn estimate(
    scenario: &Scenario,
    data: &Dataset,
    feature: usize,
    name: &str,
    settings: &Settings,
) -> Effect {
    let estimator = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(data, scenario.model(), feature).unwrap().remove(0)
}

/// Bins over the middle of a feature's range, where every one of them has instances.
fn middle_bins(scenario: &Scenario, feature: usize) -> Vec<f64> {
    fe_bench::check::middle_bins(scenario.axis(feature), 7).unwrap()
}

fn on_bins(limits: &[f64]) -> Settings {
    Settings {
        binning: Some("grid".to_owned()),
        limits: Some(limits.to_vec()),
        ..Settings::default()
    }
}

/// The mean over replicates is the truth, up to its own standard error.
fn assert_unbiased(estimates: &[f64], truth: f64, what: &str) {
    let summary = Summary::of(estimates);
    let (mean, error) = (summary.mean.unwrap(), summary.standard_error.unwrap());
    let rounding = 1e-9 * (1.0 + truth.abs());
    assert!(
        (mean - truth).abs() <= 4.5 * error + rounding,
        "{what}: {mean} ± {error}, truth {truth}"
    );
}

/// Bin effects and bin variances of `dale` estimate those of the data's density within the bin, and
/// the differences of `ale` those of exactly these bins. All of them without bias.
#[test]
fn bin_statistics_are_unbiased() {
    for scenario in scenarios() {
        let datasets: Vec<Dataset> =
            (0..REPLICATES).map(|r| sample::features(&scenario, 11, 4000, r).unwrap()).collect();
        for feature in 0..scenario.dimension() {
            let limits = middle_bins(&scenario, feature);
            let bins = |name: &str, ddof| -> Vec<_> {
                let settings = Settings { ddof: Some(ddof), ..on_bins(&limits) };
                let effect = |data| estimate(&scenario, data, feature, name, &settings);
                datasets.iter().map(|data| effect(data).bins.unwrap()).collect()
            };
            let (dale, ale) = (bins("dale", 1), bins("ale", 1));
            let derivatives = scenario.bins(feature, &limits, Weighting::Data).unwrap();
            let differences = scenario.differences(feature, &limits).unwrap();
            for k in 0..limits.len() - 1 {
                let what =
                    |kind: &str| format!("{} x{} bin {k} {kind}", scenario.id(), feature + 1);
                let width = limits[k + 1] - limits[k];
                let effects = |all: &[fe_core::effect::Bins]| {
                    all.iter().map(|b| b.effect[k]).collect::<Vec<_>>()
                };
                let variances = |all: &[fe_core::effect::Bins]| {
                    all.iter().map(|b| b.variance[k].unwrap()).collect::<Vec<_>>()
                };
                assert_unbiased(&effects(&dale), derivatives[k].mu, &what("dale mean"));
                assert_unbiased(
                    &variances(&dale),
                    derivatives[k].sigma2_star,
                    &what("dale variance"),
                );
                assert_unbiased(&effects(&ale), differences[k].mean / width, &what("ale mean"));
                let truth = differences[k].variance / (width * width);
                assert_unbiased(&variances(&ale), truth, &what("ale variance"));
            }
        }
    }
}

/// Mean over replicates of a squared error at several sizes.
fn errors(sizes: &[usize], error: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mean =
        |&rows: &usize| (0..REPLICATES).map(|r| error(rows, r)).sum::<f64>() / REPLICATES as f64;
    sizes.iter().map(mean).collect()
}

/// The exponent of N in the error, from the first to the last size; none for exact estimates.
fn order(sizes: &[usize], errors: &[f64]) -> Option<f64> {
    let (first, last) = (errors[0], errors[errors.len() - 1]);
    let growth = sizes[sizes.len() - 1] as f64 / sizes[0] as f64;
    (first > EXACT).then(|| (last / first).ln() / growth.ln())
}

fn curve_error(
    scenario: &Scenario,
    effect: &Effect,
    estimand: estimator::Estimand,
    points: &[f64],
) -> f64 {
    let axis = (effect.record.axis.lo(), effect.record.axis.hi());
    let kind = truth_of(estimand);
    let truth = scenario.curve(kind, effect.feature, points, axis, Centring::None).unwrap();
    let truth: Vec<f64> = truth.iter().map(|truth| truth.value).collect();
    let estimate = effect.curve.at_all(points).unwrap();
    Distance::Mse.between(&centred_on_grid(&estimate), &centred_on_grid(&truth))
}

/// The mean squared error of `pdp` and `dpdp` falls as 1/N: they are means of independent instances.
#[test]
fn partial_dependence_converges_as_one_over_n() {
    let sizes = [200, 6400];
    for scenario in scenarios() {
        for feature in 0..scenario.dimension() {
            let (lo, hi) = scenario.axis(feature);
            let settings = Settings {
                axis: Some(AxisChoice::Given(lo, hi)),
                grid: Some(11),
                ..Settings::default()
            };
            let points = Axis::new(lo, hi).unwrap().grid(11);
            for name in ["pdp", "dpdp"] {
                let estimand = estimator::from_settings(name, &settings).unwrap().estimand();
                let errors = errors(&sizes, |rows, replicate| {
                    let data = sample::features(&scenario, 5, rows, replicate).unwrap();
                    let effect = estimate(&scenario, &data, feature, name, &settings);
                    curve_error(&scenario, &effect, estimand, &points)
                });
                if let Some(order) = order(&sizes, &errors) {
                    // 30 replicates: the log of a mean of squares has a standard deviation of
                    // about 0.35.
                    let what = format!("{} x{} {name}: {errors:?}", scenario.id(), feature + 1);
                    assert!((-1.35..-0.65).contains(&order), "{what}, order {order}");
                }
            }
        }
    }
}

/// With the number of bins growing as N^{1/3}, the squared bias K^{−4} of a curve that is linear
/// between limits vanishes faster than the variance, and the error falls as 1/N where f is smooth.
/// A jump within a bin costs K^{−1}, so that the error of `ale` falls at least as N^{−1/3} there.
#[test]
fn accumulated_effects_converge_with_more_bins() {
    let sizes = [400, 12_800];
    for scenario in scenarios() {
        for feature in 0..scenario.dimension() {
            for name in ["ale", "dale"] {
                let estimand =
                    estimator::from_settings(name, &Settings::default()).unwrap().estimand();
                let limits = middle_bins(&scenario, feature);
                let axis = Axis::new(limits[0], limits[limits.len() - 1]).unwrap();
                let points = axis.grid(41);
                let errors = errors(&sizes, |rows, replicate| {
                    let bins = (2.0 * (rows as f64).cbrt()) as usize;
                    let data = sample::features(&scenario, 6, rows, replicate).unwrap();
                    let effect =
                        estimate(&scenario, &data, feature, name, &on_bins(&axis.divide(bins)));
                    curve_error(&scenario, &effect, estimand, &points)
                });
                if let Some(order) = order(&sizes, &errors) {
                    let what = format!("{} x{} {name}: {errors:?}", scenario.id(), feature + 1);
                    let jumps = has_jumps(&scenario, feature, axis);
                    let slowest = if jumps && name == "ale" { -0.2 } else { -0.65 };
                    assert!(order < slowest, "{what}, order {order}");
                }
            }
        }
    }
}

/// True if the two definitions of the accumulated effect differ somewhere.
fn has_jumps(scenario: &Scenario, feature: usize, axis: Axis) -> bool {
    let curve = |effect| {
        let ends = (axis.lo(), axis.hi());
        scenario.curve(effect, feature, &axis.grid(41), ends, Centring::None).unwrap()
    };
    let (with, without) =
        (curve(fe_truth::Quantity::Ale), curve(fe_truth::Quantity::AleDerivative));
    with.iter().zip(&without).any(|(a, b)| (a.value - b.value).abs() > 1e-8)
}

/// On the bins it chose, `rhale` approaches the density-weighted truth of these bins.
#[test]
fn automatic_bins_converge_to_the_truth_of_the_bins_they_are() {
    let sizes = [400, 12_800];
    for scenario in scenarios() {
        for feature in 0..scenario.dimension() {
            let (lo, hi) = scenario.axis(feature);
            let settings =
                Settings { axis: Some(AxisChoice::Given(lo, hi)), ..Settings::default() };
            let errors = errors(&sizes, |rows, replicate| {
                let data = sample::features(&scenario, 7, rows, replicate).unwrap();
                let bins = estimate(&scenario, &data, feature, "rhale", &settings).bins.unwrap();
                let truths =
                    scenario.bins(feature, bins.partition.limits(), Weighting::Data).unwrap();
                let share = |k: usize| bins.counts[k] / rows as f64;
                let error = |k: usize| share(k) * (bins.effect[k] - truths[k].mu).powi(2);
                (0..truths.len()).map(error).sum()
            });
            if let Some(order) = order(&sizes, &errors) {
                let what = format!("{} x{}: {errors:?}", scenario.id(), feature + 1);
                assert!(order < -0.65, "{what}, order {order}");
            }
        }
    }
}

/// The mean squared error of `mplot` falls as N^{−2/3} where E[f | x_s] is smooth: with the number of
/// bins growing as N^{1/3}, or N^{2/3} instances around each point, squared bias and variance do. A jump
/// or a bend sharper than a bin costs more, but never all.
#[test]
fn m_plots_converge() {
    let sizes = [400, 12_800];
    for scenario in scenarios() {
        for feature in 0..scenario.dimension() {
            let limits = middle_bins(&scenario, feature);
            let axis = Axis::new(limits[0], limits[limits.len() - 1]).unwrap();
            let points = axis.grid(21);
            for nearest in [false, true] {
                let errors = errors(&sizes, |rows, replicate| {
                    let root = (rows as f64).cbrt();
                    let settings = if nearest {
                        let axis = Some(AxisChoice::Given(axis.lo(), axis.hi()));
                        let nearest = Some((root * root) as usize);
                        Settings { nearest, axis, grid: Some(21), ..Settings::default() }
                    } else {
                        on_bins(&axis.divide((2.0 * root) as usize))
                    };
                    let data = sample::features(&scenario, 12, rows, replicate).unwrap();
                    let effect = estimate(&scenario, &data, feature, "mplot", &settings);
                    curve_error(&scenario, &effect, estimator::Estimand::MarginalPlot, &points)
                });
                if let Some(order) = order(&sizes, &errors) {
                    let what = format!("{} x{} {nearest}: {errors:?}", scenario.id(), feature + 1);
                    assert!(order < -0.3, "{what}, order {order}");
                }
            }
        }
    }
}

/// An M-plot gives a feature that f does not read the effect of what goes with it; `pdp` and `ale` do
/// not.
#[test]
fn the_m_plot_of_a_null_feature_has_an_effect() {
    let scenario = fe_truth::scenario("null-feature", &[]).unwrap();
    let data = sample::features(&scenario, 3, 20_000, 0).unwrap();
    let axis = Some(AxisChoice::Given(-1.5, 1.5));
    let rise = |name: &str, settings: &Settings| {
        let settings = Settings { axis, ..settings.clone() };
        let curve = estimate(&scenario, &data, 0, name, &settings).curve;
        curve.at(1.0).unwrap() - curve.at(-1.0).unwrap()
    };
    let truth = scenario.curve(
        truth_of(estimator::Estimand::MarginalPlot),
        0,
        &[-1.0, 1.0],
        (-1.5, 1.5),
        Centring::None,
    );
    let truth = truth.unwrap();
    assert!((truth[1].value - truth[0].value - 1.6).abs() < 1e-9);
    let nearest = Settings { nearest: Some(400), ..Settings::default() };
    let linear = Settings {
        interpolation: Some(fe_core::settings::Interpolation::Linear),
        ..Settings::default()
    };
    for settings in [nearest, linear] {
        let rise = rise("mplot", &settings);
        // 0.6/√400 at either end, and what bins and neighbourhoods smooth away.
        assert!((rise - 1.6).abs() < 0.15, "{rise}");
    }
    for name in ["pdp", "ale"] {
        assert!(rise(name, &Settings::default()).abs() < 1e-12, "{name}");
    }
}

/// The mean squared error of `shapdp` falls with N, for scenarios of few features: a spline through N
/// values, each with a background of N rows.
#[test]
fn shap_dependence_converges() {
    let sizes = [40, 320];
    for scenario in scenarios().iter().filter(|scenario| scenario.dimension() <= 3) {
        for feature in 0..scenario.dimension() {
            let limits = middle_bins(scenario, feature);
            let (lo, hi) = (limits[0], limits[limits.len() - 1]);
            let points = Axis::new(lo, hi).unwrap().grid(21);
            let settings = Settings {
                axis: Some(AxisChoice::Given(lo, hi)),
                grid: Some(21),
                ..Settings::default()
            };
            let errors = errors(&sizes, |rows, replicate| {
                let data = sample::features(scenario, 13, rows, replicate).unwrap();
                let effect = estimate(scenario, &data, feature, "shapdp", &settings);
                curve_error(scenario, &effect, estimator::Estimand::ShapDependence, &points)
            });
            if let Some(order) = order(&sizes, &errors) {
                let what = format!("{} x{}: {errors:?}", scenario.id(), feature + 1);
                assert!(order < -0.3, "{what}, order {order}");
            }
        }
    }
}
