//! Published formulas that are wrong or approximate, with the figures of `docs/errata.md`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::f64::consts::{PI, TAU};

use common::{at, spread};
use fe_truth::{Centring, Effect, Scenario, Weighting};

fn value(scenario: &Scenario, effect: Effect, s: usize, x: f64) -> f64 {
    scenario.curve(effect, s, &[x], scenario.axis(s), Centring::None).unwrap()[0].value
}

fn named(scenario: &Scenario, s: usize, name: &str) -> f64 {
    let values = scenario.values(s, scenario.axis(s)).unwrap();
    values.into_iter().find(|(found, _)| *found == name).unwrap().1.value
}

fn assert_figure(found: f64, figure: f64, digits: f64) {
    println!("{found}");
    assert!((found - figure).abs() <= digits, "{found} but {figure}");
}

/// RHALE eq. 23–25 carry a factor z that is not there.
#[test]
fn derivative_of_the_sine_has_no_factor_z() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let mu = value(&scenario, Effect::Mu, 0, -0.3);
    assert_figure(mu, 1.941_611, 1e-6);
    assert_figure(-0.3 * mu, -0.582_483, 1e-6);
}

/// RHALE and EFFECTOR: the ALE of x1 is −sin(2πx)1{x<0} only without noise in x3.
#[test]
fn the_ale_has_a_bump_at_zero() {
    for (noise, worst, centred) in [("0.01", 0.0501, 0.0494), ("0.1", 0.440, 0.394)] {
        let scenario = at("sin-indicator", &format!("noise_sd={noise}"));
        let limit = |x: f64| if x < 0.0 { -(TAU * x).sin() } else { 0.0 };
        let mut points = spread((-0.5, 0.5), 2000);
        points.extend([0.0, -0.5, 0.5]);
        let largest = |centring, constant: f64| {
            let truth = scenario.curve(Effect::Ale, 0, &points, (-0.5, 0.5), centring).unwrap();
            let error = |(x, t): (&f64, &fe_truth::Truth)| (t.value - limit(*x) + constant).abs();
            points.iter().zip(&truth).map(error).fold(0.0, f64::max)
        };
        assert_figure(largest(Centring::None, 0.0), worst, 5e-4);
        assert_figure(largest(Centring::Integral, 1.0 / PI), centred, 5e-4);
    }
}

/// RHALE eq. 33–34: the variance is not 4 everywhere, the indicator adds to it near 0.
#[test]
fn heterogeneity_is_not_constant() {
    for (noise, integral, of_sd) in [("0.01", 4.888, 2.122), ("0.1", 10.778, 2.920)] {
        let scenario = at("sin-indicator", &format!("noise_sd={noise}"));
        assert_figure(value(&scenario, Effect::Sigma, 0, 0.0), 6.594, 5e-4);
        assert_figure(named(&scenario, 0, "ale.integral"), integral, 5e-4);
        assert_figure(named(&scenario, 0, "ale.integral_sd"), of_sd, 5e-4);
    }
}

/// RHALE eq. 38–40: P(x3 < 0) is not 5/6, since x3 crosses 0 more often from below.
#[test]
fn probability_of_the_indicator() {
    for (noise, share) in [("0.01", 0.828_014), ("0.1", 0.780_141)] {
        let scenario = at("sin-indicator", &format!("noise_sd={noise}"));
        // At x1 = ¼ the PD is −2 P(x3 < 0).
        assert_figure(-0.5 * value(&scenario, Effect::Pd, 0, 0.25), share, 1e-6);
    }
}

/// RHALE Theorem 1 holds with the mean squared residual to the first power. The published identity
/// squares it again.
#[test]
fn theorem_1_with_the_first_power() {
    let scenario = at("liu-product", "mu1=0;mu2=0;sigma1=1;sigma2=2;rho=0.9");
    let bin = scenario.bins(0, &[0.0, 1.0], Weighting::Uniform).unwrap()[0];
    // mu(z) = 1.8 z, so the mean squared residual is 1.8²/12, and sigma² = 4·0.19.
    assert_figure(bin.bin_error, 0.27, 1e-11);
    assert_figure(bin.sigma2, 0.76, 1e-11);
    assert_figure(bin.sigma2_star, 1.03, 1e-11);
    assert!((bin.sigma2 + bin.bin_error.powi(2) - 1.03).abs() > 0.19);
}

/// RHALE eq. 7 averages evenly over a bin; its estimator converges to the average over the data.
#[test]
fn even_and_data_weighted_bins_differ() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let bin = |weighting| scenario.bins(0, &[-0.1, 0.1], weighting).unwrap()[0];
    let (even, data) = (bin(Weighting::Uniform), bin(Weighting::Data));
    assert_figure(even.mu, -2.938_926, 1e-6);
    assert_figure(data.mu, -4.564_433, 1e-6);
    assert_figure(even.sigma2_star, 15.84, 5e-3);
    assert_figure(data.sigma2_star, 13.11, 5e-3);
}

/// RHALE sec. 4.2: the effect of x1 is not a(x1) alone, E[x2 | x1] = x1 adds x²/2.
#[test]
fn piecewise_linear_has_a_parabola() {
    let scenario = at("piecewise-linear", "sigma2=0.5");
    let pieces = [(0.2, 0.4), (0.4, 0.0), (0.45, 0.25), (0.5, -0.25), (1.0, 0.0)];
    for ((knot, a), excess) in pieces.into_iter().zip([0.02, 0.08, 0.10125, 0.125, 0.5]) {
        assert_figure(value(&scenario, Effect::Ale, 0, knot) - a, excess, 1e-11);
    }
}

/// RHALE sec. 4.2: neither the printed function nor the published code is continuous.
#[test]
fn piecewise_linear_jumps() {
    let cases = [
        ("rhale-code", [-0.2, 0.2, 2.25, -4.5]),
        ("literal", [-0.8, 2.8, -6.75, 5.25]),
        ("continuous", [0.0; 4]),
    ];
    for (intercepts, jumps) in cases {
        let scenario = at("piecewise-linear", &format!("intercepts={intercepts}"));
        for (knot, jump) in [0.2, 0.4, 0.45, 0.5].into_iter().zip(jumps) {
            let with_jumps = |x: f64| {
                value(&scenario, Effect::Ale, 0, x) - value(&scenario, Effect::AleDerivative, 0, x)
            };
            let found = with_jumps(f64::next_up(knot)) - with_jumps(f64::next_down(knot));
            assert_figure(found, jump, 1e-11);
            // The value at the knot is that of the piece to its right.
            assert_figure(with_jumps(knot), with_jumps(f64::next_up(knot)), 1e-11);
        }
    }
}
