//! Curves on automatic bins approach the truth, whether effects jump, bend or are straight.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_bench::data::sample;
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::{Axis, AxisChoice, Settings, estimator};
use fe_truth::{Centring, Quantity, Scenario};

const REPLICATES: usize = 20;

/// The mean squared error of `rhale` for x1 on bins that the binning chooses.
fn error(scenario: &Scenario, binning: &str, rows: usize) -> f64 {
    let settings = Settings { binning: Some(binning.to_owned()), ..Settings::default() };
    error_by(scenario, rows, REPLICATES, |_| settings.clone())
}

/// The mean squared error of `rhale` for x1, with settings that may depend on its values.
fn error_by(
    scenario: &Scenario,
    rows: usize,
    replicates: usize,
    settings: impl Fn(&[f64]) -> Settings,
) -> f64 {
    error_of(Quantity::AleDerivative, scenario, rows, replicates, settings, |effect, points| {
        effect.curve.at_all(points).unwrap()
    })
}

/// The mean squared error of the standard deviation along the axis, likewise.
fn error_of_spread(
    scenario: &Scenario,
    rows: usize,
    replicates: usize,
    settings: &Settings,
) -> f64 {
    error_of(
        Quantity::Sigma,
        scenario,
        rows,
        replicates,
        |_| settings.clone(),
        |effect, points| {
            let variances = effect.heterogeneity.at_all(points).unwrap();
            variances.into_iter().map(f64::sqrt).collect()
        },
    )
}

/// The mean squared distance between a truth for x1 and what `rhale` makes of it; of curves when centred.
fn error_of(
    truth: Quantity,
    scenario: &Scenario,
    rows: usize,
    replicates: usize,
    settings: impl Fn(&[f64]) -> Settings,
    estimated: impl Fn(&fe_core::Effect, &[f64]) -> Vec<f64>,
) -> f64 {
    let (lo, hi) = scenario.axis(0);
    let points = Axis::new(lo, hi).unwrap().grid(100);
    let comparable = |values: Vec<f64>| match truth {
        Quantity::Sigma => values,
        _ => centred_on_grid(&values),
    };
    let exact = scenario.curve(truth, 0, &points, (lo, hi), Centring::None).unwrap();
    let exact = comparable(exact.iter().map(|exact| exact.value).collect());
    let axis = Some(AxisChoice::Given(lo, hi));
    let error = |replicate| {
        let data = sample::features(scenario, 8, rows, replicate).unwrap();
        let settings = Settings { axis, ..settings(data.feature(0)) };
        let rhale = estimator::from_settings("rhale", &settings).unwrap();
        let effect = rhale.estimate(&data, scenario.model(), 0).unwrap().remove(0);
        Distance::Mse.between(&comparable(estimated(&effect, &points)), &exact)
    };
    (0..replicates).map(error).sum::<f64>() / replicates as f64
}

/// The error falls nearly as 1/N, where that of RHALE's objective stays what it is.
#[test]
fn penalised_bins_converge() {
    const MANY: usize = 16_000;
    let growth = MANY as f64 / 500.0;
    for name in ["sin-indicator", "piecewise-linear", "nonlinear", "liu-quadratic", "snc"] {
        let scenario = fe_truth::scenario(name, &[]).unwrap();
        let (few, many) = (error(&scenario, "penalized", 500), error(&scenario, "penalized", MANY));
        let order = (many / few).ln() / growth.ln();
        assert!(order < -0.75, "{name}: {few} and {many}, order {order}");
        if ["sin-indicator", "piecewise-linear"].contains(&name) {
            let objective = error(&scenario, "dp", MANY);
            assert!(objective > 10.0 * many, "{name}: {objective} and {many}");
        }
    }
}

/// Where equal bins happen to match the breaks of a scenario, no bins that end between instances come
/// near them, not even those that know which instances the breaks lie between.
#[test]
fn breaks_are_not_known_better_than_between_two_instances() {
    let scenario = fe_truth::scenario("piecewise-linear", &[]).unwrap();
    let between = |positions: &[f64]| {
        let limit = |z: f64| {
            let below = positions.iter().copied().filter(|x| *x < z).fold(0.0, f64::max);
            let above = positions.iter().copied().filter(|x| *x >= z).fold(1.0, f64::min);
            (below + above) / 2.0
        };
        let breaks = [0.2, 0.4, 0.45, 0.5].map(limit);
        // Narrow enough for the slope within the pieces.
        let mut limits = [vec![0.0, 0.1, 0.3, 0.6, 0.7, 0.8, 0.9, 1.0], breaks.to_vec()].concat();
        limits.sort_by(f64::total_cmp);
        Settings { binning: Some("grid".to_owned()), limits: Some(limits), ..Settings::default() }
    };
    let equal = |bins| Settings {
        binning: Some("fixed".to_owned()),
        bins: Some(bins),
        ..Settings::default()
    };
    let ratio = error_by(&scenario, 250, 100, between)
        / error_by(&scenario, 250, 100, |_: &[f64]| equal(20));
    assert!(ratio > 4.0, "{ratio}");
}

/// Local effects of two values have a spread that is known nearly exactly: the few bins that are enough for the
/// curve must not cost it.
#[test]
fn few_bins_for_the_curve_do_not_cost_the_spread() {
    const ROWS: usize = 100_000;
    let scenario = fe_truth::scenario("conditional-interaction", &[]).unwrap();
    let penalized = Settings { binning: Some("penalized".to_owned()), ..Settings::default() };
    let equal =
        Settings { binning: Some("fixed".to_owned()), bins: Some(453), ..Settings::default() };
    let error = |settings| error_of_spread(&scenario, ROWS, 5, settings);
    let ratio = error(&penalized) / error(&equal);
    assert!(ratio < 2.0, "{ratio}");
}
