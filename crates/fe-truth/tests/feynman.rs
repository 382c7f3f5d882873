//! The scenario whose general integrals are of up to four dimensions: fewer questions, each against
//! quadrature that knows the terms and their declared means.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::at;
use fe_truth::{Centring, Quantity, Weighting};

/// Largest difference allowed, relative to 1 + size.
const TOLERANCE: f64 = 1e-8;

fn assert_same(effect: Quantity, s: usize, points: &[f64]) {
    let scenario = at("feynman-i29-16", "");
    let general = scenario.clone().without_closed_forms();
    let ask = |of: &fe_truth::Scenario| {
        of.curve(effect, s, points, scenario.axis(s), Centring::None).unwrap()
    };
    for (known, integrated) in ask(&scenario).iter().zip(ask(&general)) {
        let difference = (known.value - integrated.value).abs();
        let what = format!("{effect} of x{}: {known:?} but {integrated:?}", s + 1);
        assert!(difference <= TOLERANCE * (1.0 + known.value.abs()), "{what}");
        assert!(known.abs_error <= TOLERANCE && integrated.abs_error <= TOLERANCE, "{what}");
    }
}

#[test]
fn effects_of_a_length() {
    for effect in
        [Quantity::Pd, Quantity::Mplot, Quantity::Mu, Quantity::Dpd, Quantity::Ale, Quantity::Shap]
    {
        assert_same(effect, 0, &[0.1, 0.37, 2.3, 10.0]);
        assert_same(effect, 1, &[0.7]);
    }
    for effect in [Quantity::Sigma, Quantity::HDpdp] {
        assert_same(effect, 0, &[0.37, 6.1]);
    }
}

#[test]
fn effects_of_an_angle() {
    for effect in
        [Quantity::Pd, Quantity::Mplot, Quantity::Mu, Quantity::Dpd, Quantity::Ale, Quantity::Shap]
    {
        assert_same(effect, 2, &[0.0, 1.3, 5.1]);
        assert_same(effect, 3, &[2.2]);
    }
}

#[test]
fn shapley_variance_of_a_length() {
    assert_same(Quantity::ShapVariance, 0, &[1.7]);
}

#[test]
fn an_angle_over_part_of_the_circle() {
    let scenario = at("feynman-i29-16", "");
    let ask = |axis: (f64, f64), x: f64| {
        scenario.curve(Quantity::HPdp, 2, &[x], axis, Centring::None).unwrap()[0].value
    };
    let whole = ask((0.0, std::f64::consts::TAU), 1.0);
    let almost = ask((0.0, std::f64::consts::TAU - 1e-9), 1.0);
    assert!((whole - almost).abs() < 1e-7, "{whole} but {almost}");
    // Over a short axis curves differ from their mean by their slope: (x − middle)² E(∂f)².
    let slope = scenario.curve(Quantity::HDpdp, 2, &[1.0], (0.0, 6.0), Centring::None).unwrap()[0];
    let short = ask((1.0, 1.02), 1.0);
    assert!((short / (0.01_f64.powi(2) * slope.value) - 1.0).abs() < 0.02, "{short}");
}

#[test]
fn bins_agree_with_curves() {
    let scenario = at("feynman-i29-16", "");
    let bins = scenario.bins(0, &[0.1, 1.0, 10.0], Weighting::Uniform).unwrap();
    let ale =
        scenario.curve(Quantity::Ale, 0, &[0.1, 1.0, 10.0], (0.1, 10.0), Centring::None).unwrap();
    for (k, bin) in bins.iter().enumerate() {
        let step = ale[k + 1].value - ale[k].value;
        assert!((bin.mu * (bin.hi - bin.lo) - step).abs() < 1e-9, "{bin:?}");
    }
}

#[test]
fn the_variance_is_known() {
    let scenario = at("feynman-i29-16", "");
    assert_eq!(scenario.sd().unwrap().method, fe_truth::Evaluation::Closed);
}
