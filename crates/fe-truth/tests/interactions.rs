//! Variances of Shapley values of five features at once, which are simulated, against the Hoeffding decomposition.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_truth::{Centring, Evaluation, Quantity, Scenario, Truth, problem};

/// A product that is not taken apart, of features with the mean 1 and the variance 1/12.
fn product(count: usize) -> Scenario {
    let names: Vec<String> = (1..=count).map(|k| format!("x{k}")).collect();
    let laws: String = names.iter().map(|x| format!("{x} = \"uniform(0.5, 1.5)\"\n")).collect();
    let text = format!("f = \"sqrt(({})^2)\"\n[law]\n{laws}", names.join("*"));
    problem("product", &text, &[]).unwrap()
}

/// The sum over sets u of two features of five and more with x1 among them of v^|u| / |u|².
fn mean_variance(v: f64) -> f64 {
    4.0 * v.powi(2) / 4.0 + 6.0 * v.powi(3) / 9.0 + 4.0 * v.powi(4) / 16.0 + v.powi(5) / 25.0
}

#[track_caller]
fn assert_simulated(found: Truth, known: f64, relative: f64) {
    assert_eq!(found.method, Evaluation::Simulation);
    assert!((found.value - known).abs() <= found.abs_error, "{found:?}, not {known}");
    assert!(found.abs_error <= relative * known, "{found:?}");
}

#[test]
fn variances_of_shapley_values_are_those_of_interactions() {
    let scenario = product(5).simulating(Some(0.02), None).unwrap();
    let (axis, known) = (scenario.axis(0), mean_variance(1.0 / 12.0));
    let values = scenario.each_value(0, axis).unwrap();
    let (_, shap) = values.into_iter().find(|(name, _)| *name == "shap.mean").unwrap();
    assert_simulated(shap.unwrap(), known, 0.02);
    let at = scenario.curve(Quantity::ShapVariance, 0, &[1.4, 0.7], axis, Centring::None).unwrap();
    for (found, x) in at.into_iter().zip([1.4_f64, 0.7]) {
        // Each component is as far from 0 as x1 is from its mean.
        assert_simulated(found, known * 12.0 * (x - 1.0).powi(2), 0.02);
    }
}

/// Its derivatives have the same law whatever else is given: of two integrals that are the same each is told.
#[test]
fn the_effects_of_a_feature_without_partners_have_one_variance() {
    let scenario = product(4);
    let values = scenario.each_value(0, scenario.axis(0)).unwrap();
    let value = |name: &str| {
        let found = values.iter().find(|(other, _)| *other == name).unwrap();
        found.1.clone().unwrap().value
    };
    // E (x2 x3 x4)² − 1.
    let known = (13.0_f64 / 12.0).powi(3) - 1.0;
    for name in ["dpdp.mean", "ale.integral", "ale.mean_range"] {
        assert!((value(name) - known).abs() < 1e-10, "{name}: {}", value(name));
    }
}

/// Of four features that one term reads at once both means of variances are integrals over three beside the one.
#[test]
fn means_of_variances_beside_three_features_are_integrated() {
    let scenario = product(4);
    let values = scenario.each_value(1, scenario.axis(1)).unwrap();
    let v = 1.0 / 12.0_f64;
    let shap = 3.0 * v.powi(2) / 4.0 + 3.0 * v.powi(3) / 9.0 + v.powi(4) / 16.0;
    let pdp = ((1.0 + v).powi(3) - 1.0) * v;
    for (name, known) in [("shap.mean", shap), ("pdp.mean", pdp)] {
        let found = values.iter().find(|(other, _)| *other == name).unwrap().1.clone().unwrap();
        assert_eq!(found.method, Evaluation::Quadrature, "{name}");
        assert!((found.value - known).abs() <= found.abs_error, "{name}: {found:?}, not {known}");
        assert!(found.abs_error < 1e-9, "{name}: {found:?}");
    }
}
