//! Questions that take too long, or whose answer is not a number: refused in time, with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_truth::{
    Centring, Error, Evaluation, Index, Quantity, Scenario, Weighting, problem, scenario,
};

fn reason(error: Error) -> String {
    let Error::NoTruth { reason, .. } = error else { panic!("{error}") };
    reason
}

/// Two waves that cancel each other where their lengths are equal and their angles opposite: there the slope is 0/0, or
/// the root is of a number that rounding made negative.
fn waves() -> Scenario {
    let text = "f = \"sqrt(x1^2 + x2^2 + 2*x1*x2*cos(x3 - x4))\"\n[law]\nx1 = \"loguniform(0.1, 10)\"\n\
                x2 = \"loguniform(0.1, 10)\"\nx3 = \"uniform(0, 2*pi)\"\nx4 = \"uniform(0, 2*pi)\"\n";
    problem("waves", text, &[]).unwrap()
}

/// Points of probability 0 at which f has no slope do not matter. Angles of which all but one are free have no effect.
#[test]
fn points_without_a_slope_do_not_matter() {
    let (waves, known) = (waves(), scenario("feynman-i29-16", &[]).unwrap());
    let axis = (0.0, 6.0);
    for quantity in [Quantity::Dpd, Quantity::Mu] {
        let slope = waves.curve(quantity, 2, &[0.5, 3.0], axis, Centring::None).unwrap();
        for slope in slope {
            assert!(slope.value.abs() <= slope.abs_error && slope.abs_error < 1e-9, "{slope:?}");
        }
    }
    let bins = |of: &Scenario| of.bins(0, &[0.5, 1.0], Weighting::Uniform).unwrap()[0];
    let (own, known) = (bins(&waves), bins(&known));
    let bound = own.abs_error + known.abs_error;
    for (own, known) in
        [(own.mu, known.mu), (own.sigma2, known.sigma2), (own.bin_error, known.bin_error)]
    {
        assert!((own - known).abs() <= bound && bound < 1e-7, "{own}, not {known}: {bound:e}");
    }
}

/// Over a whole turn the mean of an angle's curve is that over the angle; over a part of it that is a mean inside of one over
/// three features.
#[test]
fn heterogeneity_of_an_angle_is_simulated_on_a_part_of_the_turn() {
    let known = scenario("feynman-i29-16", &[]).unwrap();
    for (to, method, most) in [
        (std::f64::consts::TAU, Evaluation::Quadrature, 1e-9),
        (std::f64::consts::PI, Evaluation::Simulation, 1e-3),
    ] {
        let of = |scenario: &Scenario| {
            scenario.curve(Quantity::HPdp, 2, &[0.5], (0.0, to), Centring::None).unwrap()[0]
        };
        let (found, known) = (of(&waves()), of(&known));
        let off = (found.value - known.value).abs();
        assert!(off <= found.abs_error + known.abs_error, "{found:?}, not {known:?}");
        assert!(found.abs_error < most * known.value && found.method == method, "{found:?}");
    }
}

/// At each point of the bin all seven other features are simulated.
#[test]
fn a_bin_that_takes_too_long_is_refused() {
    let text = include_str!("../../../scenarios/problems/borehole.toml");
    let borehole = problem("borehole", text, &[]).unwrap();
    let bins =
        |of: &Scenario| reason(of.bins(1, &[100.0, 50_000.0], Weighting::Uniform).unwrap_err());
    let refused = bins(&borehole);
    assert!(refused.contains("an answer takes more than 2e8 evaluations"), "{refused}");
    let most = "more than 4e8 evaluations, which is what is made of those that a simulated mean may take, 8e6";
    let refused = bins(&borehole.simulating(None, Some(8e6)).unwrap());
    assert!(refused.contains(most), "{refused}");
}

/// Below 0 it is 0/0.
#[test]
fn a_bin_in_which_the_slope_is_not_a_number_has_the_reason() {
    let text =
        "f = \"sqrt(max(x1, 0)) + x2\"\n[law]\nx1 = \"uniform(-1, 1)\"\nx2 = \"uniform(0, 1)\"\n";
    let roots = problem("roots", text, &[]).unwrap();
    let refused = reason(roots.bins(0, &[-0.75, -0.5], Weighting::Uniform).unwrap_err());
    assert!(refused.contains("the derivative of f along x1 is NaN"), "{refused}");
}

/// A law that is a sum of many over a range of sixty powers of ten.
#[test]
fn laws_that_take_too_long_are_refused() {
    let text = "f = \"x1 + x3\"\n[law]\nx1 = \"normal(0, 1)\"\nx2 = \"normal(0, 1)\"\n\
                x3 = \"if(x2 != x1, x1, x1) + lognormal(1, 3)\"\n";
    let refused = problem("wide", text, &[]).unwrap_err().to_string();
    assert!(refused.contains("the law of `x3` on its own takes more than"), "{refused}");
}

/// A tangent over a third of a million periods.
#[test]
fn indices_that_take_too_long_are_refused() {
    let text = "f = \"max(tan(x1 - x2), 1)\"\n[law]\nx1 = \"uniform(0.1, 2e6)\"\nx2 = \"normal(1e6, 2)\"\n";
    let rough = problem("rough", text, &[]).unwrap().simulating(None, Some(1e5)).unwrap();
    let refused = reason(rough.indices().index(Index::HOverall, &[0]).unwrap_err());
    assert!(refused.contains("evaluations"), "{refused}");
}
