//! Constants, indices and limits of published code and of equations on the way, with the figures of `docs/errata.md`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::f64::consts::PI;

use common::at;
use fe_truth::{Centring, Quantity, Scenario};

fn assert_figure(found: f64, figure: f64, digits: f64) {
    println!("{found}");
    assert!((found - figure).abs() <= digits, "{found} but {figure}");
}

fn pd(scenario: &Scenario, s: usize, x: f64) -> f64 {
    scenario.curve(Quantity::Pd, s, &[x], scenario.axis(s), Centring::None).unwrap()[0].value
}

/// RHALE eq. 39: x1 has five sixths of its weight on half of its axis, a density of 5/3.
#[test]
fn density_below_zero() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let quantile = |p: f64| scenario.quantile(0, p).unwrap();
    let (from, to) = (quantile(1.0 / 12.0), quantile(9.0 / 12.0));
    assert!(from > -0.5 && to < 0.0);
    assert_figure(8.0 / 12.0 / (to - from), 5.0 / 3.0, 1e-12);
}

/// The code of RHALE's figure centres by 0.31.
#[test]
fn the_constant_of_the_printed_ale() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let at_zero =
        |centring| scenario.limit("ale-limit", 0, &[0.25], (-0.5, 0.5), centring).unwrap()[0];
    let constant = at_zero(Centring::None) - at_zero(Centring::Integral);
    assert_figure(constant, 0.318_310, 5e-7);
    assert_figure(constant, 1.0 / PI, 1e-12);
}

/// EFFECTOR eq. 5 and the index of METHODS depend on the number of bins, and vanish with it.
#[test]
fn indices_of_undivided_differences() {
    let scenario = at("effector-regional", "");
    for (bins, sum, mean) in [(5, 7.2, 1.44), (20, 1.8, 0.09), (80, 0.45, 0.005_625)] {
        let limit = |k: i32| 2.0 * f64::from(k) / f64::from(bins) - 1.0;
        let limits: Vec<f64> = (0..=bins).map(limit).collect();
        let differences = scenario.differences(0, &limits).unwrap();
        let total: f64 = differences.iter().map(|bin| bin.variance).sum();
        assert_figure(total, sum, 1e-9);
        assert_figure(total / f64::from(bins), mean, 1e-9);
    }
}

/// The code of Heiß et al. integrates over the limits of the feature itself.
#[test]
fn limits_of_the_partner() {
    let scenario = at("friedman1", "");
    // Of the law of x2 alone, which is the published one; the rest of f does not depend on x1.
    let exact = pd(&scenario, 0, 0.7) - pd(&scenario, 0, 0.0);
    assert_figure(exact, 7.2201, 5e-5);
    // The same integral over [0, 2], by the midpoint rule.
    let cells = 100_000;
    let sine = |k: i32| (PI * 0.7 * 2.0 * (f64::from(k) + 0.5) / f64::from(cells)).sin();
    let code = (0..cells).map(sine).sum::<f64>() * 10.0 * 2.0 / f64::from(cells);
    assert_figure(code, 5.9525, 5e-5);
}

/// The same code takes the mean of the sine for that of independent features.
#[test]
fn the_mean_of_the_sine_depends_on_the_copula() {
    // At x3 = 1/2 the PD is the mean of the sine and of 10 x4 + 5 x5, which is 7.5.
    assert_figure(pd(&at("friedman1", ""), 2, 0.5) - 7.5, 5.2466, 5e-5);
    assert_figure(pd(&at("friedman1-copula", "rho=0.9"), 2, 0.5) - 7.5, 5.098, 5e-4);
}
