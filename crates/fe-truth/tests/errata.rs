//! Published formulas that are wrong or approximate, with the figures of `docs/errata.md`.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use std::f64::consts::{PI, TAU};

use common::{Sample, assert_mean, assert_variance, at, spread};
use fe_truth::{Centring, Quantity, Region, Scenario, Weighting};

fn value(scenario: &Scenario, effect: Quantity, s: usize, x: f64) -> f64 {
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
    let mu = value(&scenario, Quantity::Mu, 0, -0.3);
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
            let truth = scenario.curve(Quantity::Ale, 0, &points, (-0.5, 0.5), centring).unwrap();
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
        assert_figure(value(&scenario, Quantity::Sigma, 0, 0.0), 6.594, 5e-4);
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
        assert_figure(-0.5 * value(&scenario, Quantity::Pd, 0, 0.25), share, 1e-6);
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
        assert_figure(value(&scenario, Quantity::Ale, 0, knot) - a, excess, 1e-11);
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
                value(&scenario, Quantity::Ale, 0, x)
                    - value(&scenario, Quantity::AleDerivative, 0, x)
            };
            let found = with_jumps(f64::next_up(knot)) - with_jumps(f64::next_down(knot));
            assert_figure(found, jump, 1e-11);
            // The value at the knot is that of the piece to its right.
            assert_figure(with_jumps(knot), with_jumps(f64::next_up(knot)), 1e-11);
        }
    }
}

/// A bin's even variance of the derivative, and the variance of the finite difference over it.
fn spreads(scenario: &Scenario, s: usize, lo: f64, hi: f64) -> (f64, f64) {
    let bin = scenario.bins(s, &[lo, hi], Weighting::Uniform).unwrap()[0];
    (bin.sigma2_star, scenario.differences(s, &[lo, hi]).unwrap()[0].variance)
}

fn centred(scenario: &Scenario, effect: Quantity, s: usize, x: f64, centring: Centring) -> f64 {
    scenario.curve(effect, s, &[x], scenario.axis(s), centring).unwrap()[0].value
}

fn equidistant((lo, hi): (f64, f64), count: usize) -> Vec<f64> {
    (0..count).map(|i| lo + (hi - lo) * i as f64 / (count - 1) as f64).collect()
}

/// How far the limit formulas are off, at worst on their axis.
#[test]
fn limit_formulas_are_off() {
    let cases = [
        ("sin-indicator", "noise_sd=0.01", Quantity::Ale, 0.0501),
        ("sin-indicator", "noise_sd=0.1", Quantity::Ale, 0.440),
        ("sin-indicator", "noise_sd=0.01", Quantity::Pd, 0.0106),
        ("sin-indicator", "noise_sd=0.1", Quantity::Pd, 0.106),
        ("sin-indicator", "noise_sd=0.01", Quantity::Sigma, 4.594),
        ("sin-indicator", "noise_sd=0.1", Quantity::Sigma, 4.594),
        ("threshold-linear", "noise_sd=0.01", Quantity::Ale, 0.252),
        ("threshold-linear", "a1=2;a2=0.5;noise_sd=0.01", Quantity::Ale, 0.401),
        ("piecewise-linear", "sigma2=0.5", Quantity::Ale, 0.5),
        ("nonlinear", "sigma2=0.4", Quantity::Ale, 0.5),
    ];
    for (name, point, effect, worst) in cases {
        let scenario = at(name, point);
        let axis = scenario.axis(0);
        let mut points = equidistant(axis, 2001);
        points.push(0.0);
        let limit = format!("{effect}-limit");
        let printed = scenario.limit(&limit, 0, &points, axis, Centring::None).unwrap();
        let exact = scenario.curve(effect, 0, &points, axis, Centring::None).unwrap();
        let off = printed.iter().zip(&exact).map(|(a, b)| (a - b.value).abs());
        assert_figure(off.fold(0.0, f64::max), worst, 5e-4);
    }
    // Just above 0 the printed local effect is 0 and the exact one 2π (1 − 2·½) = 0, but just
    // below it is −2π, and the exact one 0.
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let below = -1e-9;
    let printed = scenario.limit("mu-limit", 0, &[below], (-0.5, 0.5), Centring::None).unwrap()[0];
    assert_figure(printed, -TAU, 1e-6);
    assert_figure(value(&scenario, Quantity::Mu, 0, below), 0.0, 1e-5);
}

/// RHALE sec. 1: a zero heterogeneity of derivatives does not show that x3 is unrelated.
#[test]
fn derivatives_do_not_see_the_jump_of_goldstein() {
    let scenario = at("goldstein", "");
    assert_figure(named(&scenario, 2, "ale.integral"), 0.0, 1e-12);
    assert_figure(named(&scenario, 2, "pdp.mean"), 25.0 / 3.0, 1e-11);
    assert_figure(spreads(&scenario, 2, -0.01, 0.01).1, 100.0 / 3.0, 1e-9);
    for effect in [Quantity::Ale, Quantity::AleDerivative] {
        assert_figure(value(&scenario, effect, 2, 1.0), 0.0, 1e-12);
    }
}

/// RHALE sec. 4.2: the effect of x1 is 4.5x², not 4x².
#[test]
fn nonlinear_has_half_a_square_more() {
    let scenario = at("nonlinear", "sigma2=0.4");
    assert_figure(value(&scenario, Quantity::Ale, 0, 1.0), 4.5, 1e-12);
    assert_figure(value(&scenario, Quantity::Mu, 0, 0.3), 2.7, 1e-12);
}

/// RHALE sec. 4.2: the heterogeneity of x1 is the standard deviation of x2 given x1, whichever is
/// meant.
#[test]
fn heterogeneity_is_the_noise() {
    for name in ["piecewise-linear", "nonlinear"] {
        for sd in [0.4, 0.5, 0.5_f64.sqrt()] {
            let scenario = at(name, &format!("sigma2={sd}"));
            assert_figure(value(&scenario, Quantity::Sigma, 0, 0.3), sd, 1e-12);
        }
    }
}

/// RHALE's code has a normal density for x2, which is a uniform number plus a normal one.
#[test]
fn the_second_feature_is_not_normal() {
    let scenario = at("piecewise-linear", "sigma2=0.5");
    let sample = Sample::draw(&scenario, 200_000, 31);
    let negative: Vec<f64> = sample.columns[1].iter().map(|x| f64::from(*x < 0.0)).collect();
    let below = |z: f64| 0.5 * libm::erfc(-z / 2.0_f64.sqrt());
    // The mean of Φ(−x1/0.5) over x1.
    let share = common::mean(&spread_midpoints(4000).map(|x| below(-2.0 * x)).collect::<Vec<_>>());
    assert_figure(share, 0.195_23, 5e-6);
    assert_figure(below(-1.0), 0.158_66, 5e-6);
    assert_mean(&negative, share, "P(x2 < 0)");
}

fn spread_midpoints(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |i| (i as f64 + 0.5) / count as f64)
}

/// EFFECTOR eq. 2 and 6 are different indices, and listing 6 prints the former.
#[test]
fn indices_of_the_regional_example() {
    let scenario = at("effector-regional", "");
    assert_figure(named(&scenario, 0, "ale.integral_sd"), 6.0, 1e-11);
    assert_figure(named(&scenario, 0, "ale.integral"), 18.0, 1e-11);
    assert_figure(named(&scenario, 0, "ale.mean_range"), 9.0, 1e-11);
    // Table 2 puts centred ICE curves where eq. 10 has derivatives.
    assert_figure(named(&scenario, 0, "dpdp.mean"), 9.0, 1e-11);
    assert_figure(named(&scenario, 0, "pdp.mean"), 3.0, 1e-11);
    // Eq. 1 and 16 start at 0 instead of the lower end of the axis.
    let half = scenario.values(0, (0.0, 1.0)).unwrap();
    let (_, integral) = half.iter().find(|(name, _)| *name == "ale.integral").unwrap();
    assert_figure(integral.value, 9.0, 1e-11);
}

/// EFFECTOR eq. 4 and 6: what is subtracted from derivatives is their bin mean, not that times the
/// width of the bin.
#[test]
fn bin_means_are_not_steps() {
    let scenario = at("nonlinear", "sigma2=0.4");
    let figures = [(5, 0.430, 17.54), (20, 0.177, 24.53), (80, 0.161, 26.49)];
    for (count, intended, literal) in figures {
        let width = 1.0 / f64::from(count);
        let limits: Vec<f64> = (0..=count).map(|k| f64::from(k) * width).collect();
        let bins = scenario.bins(0, &limits, Weighting::Uniform).unwrap();
        let mean = |f: &dyn Fn(&fe_truth::BinTruth) -> f64| {
            common::mean(&bins.iter().map(f).collect::<Vec<_>>())
        };
        assert_figure(mean(&|bin| bin.sigma2_star), intended, 5e-4);
        let off = |bin: &fe_truth::BinTruth| bin.mu * (1.0 - width);
        assert_figure(mean(&|bin| bin.sigma2_star + off(bin).powi(2)), literal, 5e-3);
    }
}

/// EFFECTOR listing 7 prints means of standard deviations of ICE curves that are not centred.
#[test]
fn printed_heterogeneity_of_regional_pd() {
    let scenario = at("effector-regional", "");
    assert_figure(named(&scenario, 0, "pdp.mean"), 3.0, 1e-11);
    assert_figure(named(&scenario, 2, "pdp.mean"), 3.0, 1e-11);
    // Var over x2, x3 of f(x, X_c) = ±3x + x3, the sign that of x3.
    let spread = |x: f64| 9.0 * x * x + 3.0 * x + 1.0 / 3.0;
    let sample = Sample::draw(&scenario, 100_000, 32);
    for x in [-0.7, 0.2, 1.0] {
        assert_variance(&sample.f_with(0, x), spread(x), "raw ICE of x1");
    }
    let mean_sd = |points: &[f64]| {
        common::mean(&points.iter().map(|&x| spread(x).sqrt()).collect::<Vec<_>>())
    };
    assert_figure(mean_sd(&equidistant((-1.0, 1.0), 10)), 1.7440, 5e-5);
    let fine: Vec<f64> = spread_midpoints(20_000).map(|t| 2.0 * t - 1.0).collect();
    assert_figure(mean_sd(&fine), 1.5906, 5e-5);
    // Along x3 the curves differ by ±3 x1.
    assert_variance(&sample.f_with(2, 0.4), 3.0, "raw ICE of x3");
    // Where x3 > 0 the curves of x1 differ by x3 alone, and where x1 ≤ 0 those of x3 by 3 x1.
    for (s, other, printed) in [(0, 2, 1.0 / 12.0), (2, 0, 0.75)] {
        let raw = sample.f_with(s, 0.4);
        let rows = (0..sample.len).filter(|&i| sample.columns[other][i] > 0.0);
        let part: Vec<f64> = rows.map(|i| raw[i]).collect();
        assert_variance(&part, printed, "raw ICE in a region");
    }
}

/// EFFECTOR C.4: the function jumps at x3 = 0, not at x1 = 0.
#[test]
fn the_regional_example_jumps_along_x3() {
    let scenario = at("effector-regional", "");
    assert_eq!(scenario.breaks(0), Vec::<f64>::new());
    assert_eq!(scenario.breaks(2), [0.0]);
    // 6 x1 has variance 12.
    assert_figure(spreads(&scenario, 2, -0.01, 0.01).1, 12.0, 1e-9);
}

/// The effector library centres by the mean over equidistant points.
#[test]
fn a_mean_over_points_is_not_the_integral() {
    let constants = ["conditional-interaction", "general-interaction"].map(|name| {
        let scenario = at(name, "");
        let raw = value(&scenario, Quantity::Ale, 2, 0.0) + (-1.0_f64).exp();
        raw - centred(&scenario, Quantity::Ale, 2, 0.0, Centring::Integral)
    });
    for constant in constants {
        assert_figure(constant, 1.0_f64.sinh(), 1e-11);
    }
    let points = equidistant((-1.0, 1.0), 1000);
    let grid = common::mean(&points.iter().map(|x| x.exp()).collect::<Vec<_>>());
    assert_figure(grid, 1.175_569_47, 1e-8);
    assert_figure(grid - 1.0_f64.sinh(), 3.7e-4, 5e-6);
}

/// The effector library has the finite-difference variance of a bin for that of the derivatives.
#[test]
fn bin_variance_of_derivatives() {
    let scenario = at("conditional-interaction", "");
    let width = 2.0 / 31.0;
    for (bin, derivatives, differences) in [(0, 3.747_485, 3.746_098), (15, 0.001_387, 0.0)] {
        let lo = -1.0 + f64::from(bin) * width;
        let (of_derivatives, of_differences) = spreads(&scenario, 0, lo, lo + width);
        assert_figure(of_derivatives, derivatives, 1e-6);
        assert_figure(of_differences / (width * width), differences, 1e-6);
    }
}

/// Heiß et al. (2026), code: the mean of x1 is in the wrong term of the ALE of x2, a standard
/// deviation stands for a variance in the PD of x1, and the PD of noise is 0.
#[test]
fn normal_features_off_the_standard() {
    let scenario = at("snc", "mu1=1;mu2=-0.5;sigma1=1;sigma2=1;rho=0.9");
    let (beta, mu1, mu2) = (0.9, 1.0, -0.5);
    let exact = |x: f64| (0.5 + 0.5 * beta) * x * x + (mu1 - beta * mu2) * x;
    let printed = |x: f64| (0.5 + mu1 + 0.5 * beta) * x * x - beta * mu2 * x;
    let ale = |x: f64| centred(&scenario, Quantity::Ale, 1, x, Centring::Data);
    assert_figure(ale(-2.0) - ale(0.7), exact(-2.0) - exact(0.7), 1e-11);
    // E x2 = −½, E x2² = 1.25: the means of the curves over the law.
    let mean = |curve: &dyn Fn(f64) -> f64| {
        1.25 * 0.5 * (curve(1.0) + curve(-1.0)) - 0.25 * (curve(1.0) - curve(-1.0))
    };
    assert_figure(ale(-2.0), exact(-2.0) - mean(&exact), 1e-11);
    assert_figure(printed(-2.0) - mean(&printed) - ale(-2.0), 4.25, 1e-11);

    let scenario = at("snc", "mu1=1;mu2=-0.5;sigma2=0.7");
    assert_figure(value(&scenario, Quantity::Pd, 0, 0.0), 0.370, 1e-12);
    assert_figure(0.5 * (0.7 + 0.25), 0.475, 1e-12);

    let scenario = at("snc", "");
    assert_figure(value(&scenario, Quantity::Pd, 2, 0.3), 1.4, 1e-12);
    assert_figure(centred(&scenario, Quantity::Pd, 2, 0.3, Centring::Data), 0.0, 1e-9);
}

/// ERRORS: the table of Liu et al. is right, from any finite reference.
#[test]
fn the_table_of_liu_holds() {
    let scenario = at("liu-product", "mu1=0;mu2=0;sigma1=1;sigma2=1;rho=0.5");
    let ale = |lo: f64| {
        let curve = scenario.curve(Quantity::Ale, 0, &[1.2], (lo, 4.0), Centring::None);
        curve.unwrap()[0].value
    };
    for lo in [-1.0, -3.0, -30.0] {
        assert_figure(ale(lo), 0.25 * (1.44 - lo * lo), 1e-10);
    }
    let infinite = (f64::NEG_INFINITY, 4.0);
    assert!(scenario.curve(Quantity::Ale, 0, &[1.2], infinite, Centring::None).is_err());
}

/// ERRORS: under independence PD and ALE agree, but a jump along the feature only with the ALE that
/// contains it.
#[test]
fn independence_is_not_enough_for_the_derivative_form() {
    let scenario = at("conditional-interaction", "");
    let at_half = |effect| centred(&scenario, effect, 1, 0.5, Centring::Integral);
    assert_figure(at_half(Quantity::Pd), 1.0 / 3.0, 1e-11);
    assert_figure(at_half(Quantity::Ale), 1.0 / 3.0, 1e-11);
    assert_figure(at_half(Quantity::AleDerivative), 0.0, 1e-12);
}

/// ALIBI: the quoted values are those of a sample with mean 0.45.
#[test]
fn the_additive_example_is_centred_over_its_sample() {
    let scenario = at("alibi-additive", "");
    let ale = |x| centred(&scenario, Quantity::Ale, 0, x, Centring::Data);
    assert_figure(ale(0.7), 0.60, 1e-11);
    assert_figure(ale(0.5), 0.0, 1e-11);
    assert_figure(ale(0.7) - ale(0.45), 0.75, 1e-11);
}

/// Where the two definitions of ALE differ, and where only their heterogeneity does.
#[test]
fn two_definitions_of_ale() {
    let cases = [
        ("goldstein", "", 2, 0.0),
        ("effector-regional", "", 2, 0.0),
        ("conditional-interaction", "", 1, 2.0 / 3.0),
        ("sin-indicator", "noise_sd=0.01", 2, -0.0668),
        ("sin-indicator", "noise_sd=0.1", 2, -0.587),
    ];
    for (name, point, s, step) in cases {
        let scenario = at(name, point);
        let hi = scenario.axis(s).1;
        let excess = value(&scenario, Quantity::Ale, s, hi)
            - value(&scenario, Quantity::AleDerivative, s, hi);
        assert_figure(excess, step, 5e-4);
        assert!(spreads(&scenario, s, -0.01, 0.01).1 > 0.01);
        assert_figure(value(&scenario, Quantity::Sigma, s, 0.0), 0.0, 1e-12);
    }
}

fn shapley(scenario: &Scenario, point: &[f64]) -> Vec<f64> {
    scenario.shap_at(point).unwrap().into_iter().map(|value| value.value).collect()
}

/// EFFECTOR eq. 36–38: the empty coalition is worth E f, not −5/(6π).
#[test]
fn the_empty_coalition() {
    for (noise, mean) in [("0.01", 0.529_889), ("0.1", 0.473_497)] {
        let scenario = at("sin-indicator", &format!("noise_sd={noise}"));
        let empty = shapley(&scenario, &[0.1, 0.0, 0.1])[3];
        assert_figure(empty, mean, 1e-6);
        assert_figure(empty, scenario.mean().unwrap().value, 1e-12);
    }
    assert_figure(-5.0 / (6.0 * PI), -0.265_258, 1e-6);
}

/// EFFECTOR eq. 45–47: what x3 alone is worth depends on x3. With x2 = 0 and by the additivity of
/// x2 the values of x1 and x3 show it.
#[test]
fn the_third_feature_alone_matters() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let worth = |x3: f64| value(&scenario, Quantity::Pd, 2, x3);
    assert_figure(worth(-0.2), 1.0 / PI, 1e-6);
    assert_figure(worth(0.2), -0.530_516, 1e-6);
    assert_figure(worth(-0.2) - worth(0.2), 8.0 / (3.0 * PI), 1e-12);
}

/// EFFECTOR eq. 67: the coefficient of x2 is 1/12, not 1/32.
#[test]
fn the_coefficient_of_the_second_feature() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let at_x2 = |x2: f64| shapley(&scenario, &[-0.3, x2, -0.29])[0];
    assert_figure(at_x2(1.5), 0.263_389, 1e-6);
    // φ_1 changes with x2 by half of x1 − E x1.
    assert_figure((at_x2(2.5) - at_x2(1.5)) / (-0.3 + 1.0 / 6.0), 0.5, 1e-9);
}

/// EFFECTOR eq. 67 and the effector library: SHAP-DP lacks a step of 4/(3π) at 0.
#[test]
fn the_step_of_the_shap_dependence() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let points = spread((-0.5, 0.5), 1000);
    let truth =
        scenario.curve(Quantity::Shap, 0, &points, (-0.5, 0.5), Centring::Integral).unwrap();
    let wave = |x: f64| -5.0 / 6.0 * (TAU * x).sin();
    let step = |x: f64| if x < 0.0 { -4.0 / (3.0 * PI) } else { 0.0 };
    let errors = |limit: &dyn Fn(f64) -> f64, mean: f64| -> Vec<f64> {
        let error = |(x, t): (&f64, &fe_truth::Truth)| (t.value - limit(*x) + mean).abs();
        points.iter().zip(&truth).map(error).collect()
    };
    assert_figure(common::mean(&errors(&wave, 0.0)), 0.212, 1e-3);
    for (noise, worst) in [("0.01", 0.218), ("0.1", 0.290)] {
        let scenario = at("sin-indicator", &format!("noise_sd={noise}"));
        let (axis, centring) = ((-0.5, 0.5), Centring::Integral);
        let truth = scenario.curve(Quantity::Shap, 0, &points, axis, centring).unwrap();
        let printed = scenario.limit("shap-limit", 0, &points, axis, centring).unwrap();
        let off = printed.iter().zip(&truth).map(|(a, b)| (a - b.value).abs());
        assert_figure(off.fold(0.0, f64::max), worst, 1e-3);
    }
    let corrected = errors(&|x| wave(x) + step(x), -2.0 / (3.0 * PI));
    assert_figure(common::mean(&corrected), 0.0067, 5e-4);
}

/// EFFECTOR eq. 31, 35: ICE curves of x1 contain x1 x2, so d-ICE curves contain x2 and its variance.
#[test]
fn ice_curves_contain_the_second_feature() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let exact = value(&scenario, Quantity::HDpdp, 0, 0.2);
    assert_figure(exact, 6.1475, 1e-3);
    let p = 0.828_014;
    assert_figure(exact - 4.0, (4.0 * PI * (TAU * 0.2).cos()).powi(2) * p * (1.0 - p), 1e-5);
}

fn threshold(point: &str) -> Scenario {
    at("threshold-linear", point)
}

/// Largest distance of a formula from the ALE over [0, 1], as it is and centred alike.
fn off(scenario: &Scenario, s: usize, formula: impl Fn(f64) -> f64) -> [f64; 2] {
    let points = spread((0.0, 1.0), 4000);
    let ale = scenario.curve(Quantity::Ale, s, &points, (0.0, 1.0), Centring::None).unwrap();
    let errors: Vec<f64> = points.iter().zip(&ale).map(|(x, t)| formula(*x) - t.value).collect();
    let mean = common::mean(&errors);
    let largest = |shift: f64| errors.iter().map(|e| (e - shift).abs()).fold(0.0, f64::max);
    [largest(0.0), largest(mean)]
}

fn tent(x: f64, slope: f64, fold: f64) -> f64 {
    (slope * x).min(slope * (2.0 * fold - x)).max(0.0)
}

/// RHALE eq. 45, 46: the second piece is ½ − x, not ¼ − x.
#[test]
fn the_tent_is_continuous() {
    let printed = |x: f64| {
        if x <= 0.25 {
            x
        } else if x < 0.5 {
            0.25 - x
        } else {
            0.0
        }
    };
    let [as_is, centred] = off(&threshold("noise_sd=0.01"), 0, printed);
    assert_figure(as_is, 0.252, 2e-3);
    assert_figure(centred, 0.189, 2e-3);
    for (noise, error) in [("0.01", 0.0040), ("0.1", 0.040)] {
        let [as_is, _] = off(&threshold(&format!("noise_sd={noise}")), 0, |x| tent(x, 1.0, 0.25));
        assert_figure(as_is, error, 3e-4);
    }
}

/// RHALE eq. 49, 50: case b folds at 1/5, and the effect of x2 has a quarter of the slope of x1's.
#[test]
fn case_b_of_the_tent() {
    let scenario = threshold("a1=2;a2=0.5;noise_sd=0.01");
    let printed = |x: f64| {
        if x <= 0.2 {
            2.0 * x
        } else if 0.25 < x && x < 0.4 {
            0.4 - 2.0 * x
        } else {
            0.0
        }
    };
    assert_figure(off(&scenario, 0, printed)[0], 0.401, 2e-3);
    assert_figure(off(&scenario, 0, |x| tent(x, 2.0, 0.2))[0], 0.0032, 3e-4);
    assert_figure(off(&scenario, 1, printed)[0], 0.401, 4e-3);
    assert_figure(off(&scenario, 1, |x| tent(x, 0.5, 0.2))[0], 0.0032, 3e-4);
}

/// The code of RHALE has ½ − f1 on the second piece: eq. 45 is the ALE of that, jumps included.
#[test]
fn the_printed_tent_is_that_of_the_code() {
    let code = threshold("noise_sd=0.01;variant=rhale-code");
    let inner = [0.1, 0.35, 0.45];
    let ask = |effect| code.curve(effect, 0, &inner, (0.0, 1.0), Centring::None).unwrap();
    let (with_jumps, derivative) = (ask(Quantity::Ale), ask(Quantity::AleDerivative));
    for ((x, a), d) in inner.iter().zip(&with_jumps).zip(&derivative) {
        let printed = if *x < 0.25 { *x } else { 0.25 - x };
        assert_figure(a.value, printed, 5e-3);
        assert_figure(d.value, tent(*x, 1.0, 0.25), 5e-3);
    }
    // The jump is −½ · a1/(a1 + a2).
    let paper = threshold("noise_sd=0.01");
    let paper = paper.curve(Quantity::Ale, 0, &[0.35], (0.0, 1.0), Centring::None).unwrap();
    assert_figure(with_jumps[1].value - paper[0].value, -0.25, 1e-9);
}

/// RHALE: cases a and b have heterogeneity, a_s at the threshold.
#[test]
fn the_tent_is_heterogeneous() {
    for (noise, integral, of_sd) in [("0.01", 0.0141, 0.0242), ("0.1", 0.141, 0.237)] {
        let scenario = threshold(&format!("noise_sd={noise}"));
        assert_figure(value(&scenario, Quantity::Sigma, 0, 0.25), 1.0, 1e-6);
        assert_figure(named(&scenario, 0, "ale.integral"), integral, 5e-4);
        assert_figure(named(&scenario, 0, "ale.integral_sd"), of_sd, 5e-4);
    }
}

/// RHALE case c: the standard deviation of x1 is 1/√12, not ¼; the effect of x3 is x3/2.
#[test]
fn case_c_of_the_tent() {
    let scenario = threshold("alpha=1;noise_sd=0.01");
    assert_figure(value(&scenario, Quantity::Sigma, 2, 0.3), 1.0 / 12.0_f64.sqrt(), 1e-12);
    let ends = scenario.curve(Quantity::Ale, 2, &[-1.0, 1.0], (-2.0, 2.0), Centring::None).unwrap();
    assert_figure(ends[1].value - ends[0].value, 1.0, 1e-12);
    assert_figure(value(&scenario, Quantity::Sigma, 0, 0.8), 0.5, 1e-9);
}

/// RHALE sec. 3: which centred ICE curves of x1 are waves on [0, ½] is told the wrong way round.
#[test]
fn waves_and_lines_are_exchanged() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let rise = |from: f64, to: f64, x3: f64| {
        scenario.sum_of_terms(&[to, 0.0, x3]) - scenario.sum_of_terms(&[from, 0.0, x3])
    };
    assert_figure(rise(0.0, 0.25, -0.2), -2.0, 1e-12);
    assert_figure(rise(0.0, 0.25, 0.2), 0.0, 1e-12);
    // Below 0 both are waves, of opposite signs; the text after eq. 42 has these everywhere.
    assert_figure(rise(0.0, -0.25, -0.2), 1.0, 1e-12);
    assert_figure(rise(0.0, -0.25, 0.2), -1.0, 1e-12);
}

/// RHALE eq. 3, 9, 15 sum whole bins up to the one that holds x: a step that runs ahead.
#[test]
fn sums_of_whole_bins_are_steps() {
    let scenario = at("nonlinear", "");
    let limits: Vec<f64> = (0..=5).map(|k| f64::from(k) / 5.0).collect();
    let bins = scenario.bins(0, &limits, Weighting::Uniform).unwrap();
    let rise = |k: usize| bins[k].mu * (limits[k + 1] - limits[k]);
    let before = rise(0) + rise(1);
    let x = 0.41;
    assert_figure(before + rise(2), 1.62, 1e-9);
    assert_figure(before + bins[2].mu * (x - limits[2]), 0.765, 1e-9);
    assert_figure(value(&scenario, Quantity::Ale, 0, x), 0.756_45, 1e-9);
}

/// RHALE eq. 16: with the same heterogeneity everywhere the band shrinks with the number of bins.
#[test]
fn the_band_of_eq_16_depends_on_the_number_of_bins() {
    let sigma = 2.0_f64;
    let printed = |bins: f64| (bins * (sigma / bins).powi(2)).sqrt();
    for (bins, deviation) in [(5.0, 0.894), (50.0, 0.283), (500.0, 0.089)] {
        assert_figure(printed(bins), deviation, 5e-4);
    }
    // What the code accumulates does not: ∫ sigma over an axis of length 1.
    assert_figure((0..500).map(|_| sigma / 500.0).sum(), 2.0, 1e-12);
}

/// RHALE sec. 3 centres x3 at 0, appendix B.1 at x1: with the former the indicator is a coin.
#[test]
fn x3_follows_x1() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    let p = -0.5 * value(&scenario, Quantity::Pd, 0, 0.25);
    assert!((p - 0.5).abs() > 0.3, "x3 would not depend on x1");
}

/// RHALE eq. 19 and Algorithm 1 price the bin from k to j, where j counts bins; eq. 14 prices it
/// from k to the limit i.
#[test]
fn the_printed_recursion_misses_the_optimum() {
    const CELLS: usize = 8;
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut printed_misses, mut right_misses) = (0, 0);
    for _ in 0..200 {
        let cost: Vec<f64> = (0..(CELLS + 1).pow(2)).map(|_| random() + 0.1).collect();
        let bin = |k: usize, i: usize| match k.cmp(&i) {
            std::cmp::Ordering::Less => cost[k * (CELLS + 1) + i],
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => f64::INFINITY,
        };
        let solve = |end_of: &dyn Fn(usize, usize) -> usize| {
            let mut column: Vec<f64> = (0..=CELLS).map(|i| bin(0, i)).collect();
            for j in 1..CELLS {
                let before = column.clone();
                for (i, value) in column.iter_mut().enumerate() {
                    let costs = (0..=CELLS).map(|k| before[k] + bin(k, end_of(i, j)));
                    *value = costs.fold(f64::INFINITY, f64::min);
                }
            }
            column[CELLS]
        };
        let all_partitions = (0..1_usize << (CELLS - 1)).map(|inner| {
            let limits = (1..CELLS).filter(|i| inner >> (i - 1) & 1 == 1).chain([CELLS]);
            limits.fold((0.0, 0), |(sum, from), to| (sum + bin(from, to), to)).0
        });
        let best = all_partitions.fold(f64::INFINITY, f64::min);
        printed_misses += usize::from((solve(&|_, j| j) - best).abs() > 1e-12);
        right_misses += usize::from((solve(&|i, _| i) - best).abs() > 1e-12);
    }
    assert_eq!((printed_misses, right_misses), (200, 0));
}

/// RHALE B.3: an outlier is over three standard deviations away; one would leave out far more.
#[test]
fn one_standard_deviation_is_no_outlier() {
    // Of a normal feature the text's three leave out 0.27 %, the formula's one 31.7 %.
    let beyond = |sd: f64| 2.0 * (1.0 - statrs::function::erf::erf(sd / 2.0_f64.sqrt())) / 2.0;
    assert_figure(beyond(3.0), 0.002_7, 5e-5);
    assert_figure(beyond(1.0), 0.317, 5e-4);
}

/// ERRORS: x1² is no main effect of x1² + x1 x2, since x1 interacts: neither the PD nor the ALE is
/// x1² up to a constant unless the mean of x2, given x1 or not, is 0.
#[test]
fn a_square_beside_a_product_is_no_main_effect() {
    let scenario = at("liu-quadratic", "mu1=0;mu2=0;sigma1=1;sigma2=1;rho=0.5");
    assert!(!scenario.is_additive(0));
    let rise = |effect| value(&scenario, effect, 0, 2.0) - value(&scenario, effect, 0, 0.0);
    // The square alone rises by 4 from 0 to 2; the ALE by 4 + ½ρ·4, the PD by 4 + 2 E x2.
    assert_figure(rise(Quantity::Ale), 5.0, 1e-9);
    assert_figure(rise(Quantity::Pd), 4.0, 1e-9);
    let shifted = at("liu-quadratic", "mu1=0;mu2=1;sigma1=1;sigma2=1;rho=0.5");
    let pd = value(&shifted, Quantity::Pd, 0, 2.0) - value(&shifted, Quantity::Pd, 0, 0.0);
    assert_figure(pd, 6.0, 1e-9);
}

/// RHALE eq. 39: the first half of x1 has the probability 5/6, and the density 5/3.
#[test]
fn the_density_of_the_first_half() {
    let scenario = at("sin-indicator", "noise_sd=0.01");
    assert_figure(scenario.quantile(0, 5.0 / 6.0).unwrap(), 0.0, 1e-12);
    let share = |x: f64| scenario.probability(&Region::default().and(0, -0.5, x)).unwrap();
    assert_figure((share(-0.2) - share(-0.3)) / 0.1, 5.0 / 3.0, 1e-9);
    // Above 0 the PD is −2 P(x3 < 0) sin(2πx1); without noise −5/3 of it.
    let sharp = at("sin-indicator", "noise_sd=0.000001");
    assert_figure(value(&sharp, Quantity::Pd, 0, 0.25), -5.0 / 3.0, 1e-5);
}

/// Code of RHALE: 0.31 for the mean over the axis.
#[test]
fn the_constant_of_the_printed_curve() {
    let at = |x: f64| if x < 0.0 { -(TAU * x).sin() } else { 0.0 };
    let mean = spread_midpoints(100_000).map(|u| at(u - 0.5)).sum::<f64>() / 1e5;
    assert_figure(mean, 1.0 / PI, 1e-9);
    assert_figure(mean, std::f64::consts::FRAC_1_PI, 1e-6);
}

/// EFFECTOR eq. 5 and METHODS: variances of differences that are not divided depend on the number of bins.
#[test]
fn variances_of_undivided_differences_vanish() {
    let scenario = at("effector-regional", "");
    for (bins, sum, mean) in [(5, 7.2, 1.44), (20, 1.8, 0.09), (80, 0.45, 0.0056)] {
        let limits = equidistant((-1.0, 1.0), bins + 1);
        let bins = scenario.differences(0, &limits).unwrap();
        let total: f64 = bins.iter().map(|bin| bin.variance).sum();
        assert_figure(total, sum, 1e-9);
        assert_figure(total / bins.len() as f64, mean, 5e-5);
        let divided = bins.iter().map(|bin| bin.variance / (bin.hi - bin.lo));
        assert_figure(divided.sum(), 18.0, 1e-9);
    }
}

/// Heiß et al.: limits and widths of the product in Friedman's function, and its mean where features depend.
#[test]
fn friedman_off_the_unit_cube() {
    let text = "f = \"10*sin(pi*x1*x2)\"\n[law]\nx1 = \"uniform(0, 2)\"\nx2 = \"uniform(0, 1)\"\n";
    let wide = fe_truth::problem("wide", text, &[]).unwrap();
    assert_figure(value(&wide, Quantity::Pd, 0, 0.7), 7.2201, 5e-5);
    let over_own_limits = spread_midpoints(100_000).map(|u| 10.0 * (PI * 0.7 * 2.0 * u).sin());
    assert_figure(2.0 * over_own_limits.sum::<f64>() / 1e5, 5.9525, 5e-5);
    assert_figure(value(&wide, Quantity::Pd, 0, 0.0), 0.0, 1e-12);
    // At x3 = ½ the rest of the function has the mean 7.5.
    let product = |scenario: &Scenario| value(scenario, Quantity::Pd, 2, 0.5) - 7.5;
    assert_figure(product(&at("friedman1-copula", "rho=0.9")), 5.0999, 5e-5);
    assert_figure(product(&at("friedman1", "")), 5.2466, 5e-5);
}
