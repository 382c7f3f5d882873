//! Curves on automatic bins approach the truth, whether effects jump, bend or are straight.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_bench::draw;
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::{Axis, AxisChoice, Settings, estimator};
use fe_truth::{Centring, Effect, Scenario};

const REPLICATES: usize = 20;

/// The mean squared error of `rhale` for x1.
fn error(scenario: &Scenario, binning: &str, rows: usize) -> f64 {
    let (lo, hi) = scenario.axis(0);
    let points = Axis::new(lo, hi).unwrap().grid(100);
    let truth =
        scenario.curve(Effect::AleDerivative, 0, &points, (lo, hi), Centring::None).unwrap();
    let truth = centred_on_grid(&truth.iter().map(|truth| truth.value).collect::<Vec<_>>());
    let settings = Settings {
        binning: Some(binning.to_owned()),
        axis: Some(AxisChoice::Given(lo, hi)),
        ..Settings::default()
    };
    let rhale = estimator::from_settings("rhale", &settings).unwrap();
    let error = |replicate| {
        let data = draw::features(scenario, 8, rows, replicate).unwrap();
        let effect = rhale.estimate(&data, scenario.model(), 0).unwrap().remove(0);
        let estimate = effect.curve.at_all(&points).unwrap();
        Distance::Mse.between(&centred_on_grid(&estimate), &truth)
    };
    (0..REPLICATES).map(error).sum::<f64>() / REPLICATES as f64
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
