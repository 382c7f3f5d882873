//! Features that read several others: the law of one given some is an integral over all that is not known, taken as a
//! sum over places up to three, and simulated beyond.
//!
//! All are normal, but the standard deviation of the last is written so that no closed form of normal laws is taken: what
//! it would say is known here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_truth::{Centring, Evaluation, Quantity, Region, Scenario, Truth, problem};

/// So many standard normal features, one that is normal around their sum with sd 1, and perhaps further laws.
fn sum_of(roots: usize, f: &str, further: &str) -> Scenario {
    let mut text = format!("f = \"{f}\"\n[law]\n");
    for k in 1..=roots {
        text += &format!("x{k} = \"normal(0, 1)\"\n");
    }
    let sum: Vec<String> = (1..=roots).map(|k| format!("x{k}")).collect();
    text +=
        &format!("x{} = \"normal({}, max(1, -abs(x1)))\"\n{further}", roots + 1, sum.join(" + "));
    problem("descendants", &text, &[]).unwrap()
}

fn curve(scenario: &Scenario, effect: Quantity, feature: usize, x: f64) -> Truth {
    let axis = scenario.axis(feature);
    scenario.curve(effect, feature, &[x], axis, Centring::None).unwrap()[0]
}

#[track_caller]
fn assert_is(found: Truth, known: f64, bound: f64, method: Evaluation) {
    assert!((found.value - known).abs() <= found.abs_error, "{found:?}, not {known}");
    assert!(found.abs_error <= bound && found.method == method, "{found:?}");
}

/// Given the sum z of three with noise each has the mean z/4, and two the covariance −1/4.
#[test]
fn three_features_given_their_sum() {
    let scenario = sum_of(3, "x1*x2 + x4*x3", "");
    for z in [-4.5, 0.3] {
        let known = z * z / 16.0 - 0.25 + z * z / 4.0;
        assert_is(curve(&scenario, Quantity::Mplot, 3, z), known, 1e-8, Evaluation::Quadrature);
        assert_is(curve(&scenario, Quantity::Mu, 3, z), z / 4.0, 1e-8, Evaluation::Quadrature);
        let sd = 0.75_f64.sqrt();
        assert_is(curve(&scenario, Quantity::Sigma, 3, z), sd, 1e-8, Evaluation::Quadrature);
        // Of a root what it says of the sum is known.
        assert_is(curve(&scenario, Quantity::Mplot, 0, z), 1.0, 1e-8, Evaluation::Quadrature);
    }
}

/// The law on its own of what reads three uniform features is a sum over places, and no simulation.
#[test]
fn three_features_may_leave_a_law_that_is_not_simulated() {
    let mut text = "f = \"x4^2\"\n[law]\n".to_owned();
    (1..=3).for_each(|k| text += &format!("x{k} = \"uniform(0, 1)\"\n"));
    let scenario = problem("even", &(text + "x4 = \"normal(x1 + x2 + x3, 0.5)\"\n"), &[]).unwrap();
    assert_is(scenario.mean().unwrap(), 1.5 * 1.5 + 0.25 + 0.25, 1e-9, Evaluation::Quadrature);
}

/// The axis of the sum of four with noise: that of a normal law with variance 5, as far as it is simulated.
#[test]
fn four_features_given_their_sum_are_simulated() {
    let scenario = sum_of(4, "x1*x2 + x5*x3", "");
    let (low, high) = scenario.axis(4);
    let (known_low, known_high) = scenario.axis(0);
    for (found, known) in [(low, known_low), (high, known_high)] {
        let known = known * 5_f64.sqrt();
        assert!((found / known - 1.0).abs() < 1e-2, "{found}, not {known}");
    }
    for z in [-2.0, 0.3, 1.5] {
        let known = z * z / 25.0 - 0.2 + z * z / 5.0;
        assert_is(curve(&scenario, Quantity::Mplot, 4, z), known, 0.01, Evaluation::Simulation);
    }
    // What is not given of the sum is drawn with all that it reads.
    assert_is(curve(&scenario, Quantity::Mplot, 0, 0.7), 1.0, 0.01, Evaluation::Simulation);
    assert_is(curve(&scenario, Quantity::Pd, 0, 0.7), 1.0, 0.01, Evaluation::Simulation);
    // And what f reads of it alone is known as ever.
    assert_is(curve(&scenario, Quantity::Pd, 4, 2.0), 0.0, 1e-8, Evaluation::Quadrature);
    let explained = scenario.explain(&[4]).join("\n");
    assert!(explained.contains("the law of x5 on its own is simulated"), "{explained}");
    assert!(!scenario.explain(&[0]).join("\n").contains("simulated"));
    assert!(scenario.has_simulated_axis(4) && !scenario.has_simulated_axis(0));
    let given = sum_of(4, "x5", "[axis]\nx5 = [-3, 3]\n");
    assert!(!given.has_simulated_axis(4));
}

/// In a region rows have a weight or none: given the sum z of four with noise and x1 > 0.
#[test]
fn four_features_given_their_sum_in_a_region() {
    let scenario = sum_of(4, "x1*x5", "");
    let half = scenario.within(&Region::default().and(0, 0.0, f64::INFINITY)).unwrap();
    // x1 given z is normal around z/5 with variance 4/5.
    let z = 1.0;
    let (mean, sd) = (z / 5.0, 0.8_f64.sqrt());
    let t = -mean / sd;
    let density = (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    let beyond = 0.588_468_4; // Φ(1/(5 √0.8))
    let known = z * (mean + sd * density / beyond);
    assert_is(curve(&half, Quantity::Mplot, 4, z), known, 0.01, Evaluation::Simulation);
}

/// A level that four features decide together: by symmetry one half.
#[test]
fn levels_of_many_features_are_simulated() {
    let level = "c = \"bernoulli(1/(1 + exp(-x1 - x2 - x3 - x4)))\"\n";
    let scenario = sum_of(4, "c + x1", level);
    assert_is(scenario.mean().unwrap(), 0.5, 1e-3, Evaluation::Simulation);
    // E[x1 | c = 1] is a quarter of E[S σ(S)]/P(c = 1), S the sum: by a sum over the normal law of S.
    let (mut total, step) = (0.0, 1e-3);
    for k in -10_000..=10_000 {
        let z = f64::from(k) * step;
        let s = 2.0 * z;
        let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        total += step * density * s / (1.0 + (-s).exp());
    }
    let known = 1.0 + total / 4.0 / 0.5;
    assert_is(curve(&scenario, Quantity::Mplot, 5, 1.0), known, 0.01, Evaluation::Simulation);
}

/// Where f jumps along a feature at places of another, its derivative form needs a density that is not known.
#[test]
fn jumps_at_places_of_features_without_a_known_density_are_refused() {
    let scenario = sum_of(4, "if(x5 > x1, 1, 0)", "");
    let axis = scenario.axis(4);
    let refused = scenario.curve(Quantity::Ale, 4, &[0.5], axis, Centring::None).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("whose density given x5"), "{refused}");
    // P(x1 < z) is what it is.
    assert_is(curve(&scenario, Quantity::Pd, 4, 0.0), 0.5, 1e-8, Evaluation::Quadrature);
}

/// A narrow child of three: sums over places do not agree, and rows that come so near are few.
#[test]
fn what_is_too_narrow_is_refused() {
    let text = "f = \"x1*x2*x3\"\n[law]\nx1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\n\
                x3 = \"uniform(0, 1)\"\nx4 = \"normal(x1 + x2 + x3, 1e-7)\"\n[axis]\nx4 = [0.1, 2.9]\n";
    let told = problem("narrow", text, &[]).map(|narrow| {
        let found = narrow.curve(Quantity::Mplot, 3, &[1.5], (0.1, 2.9), Centring::None);
        found.map(|found| found[0]).map_err(|error| error.to_string())
    });
    assert!(!matches!(told, Ok(Ok(_))), "{told:?}");
}

/// Given the sum z of two with noise x1 has the variance 2/3, with which exp(x1²) has no mean, and exp(x1²/2) has one.
#[test]
fn means_that_are_infinite_are_refused() {
    let z = 0.5;
    // Fast and slow: what grows slowly is as smooth as what falls off.
    for f in ["exp(x1^2)*x3", "exp(0.76*x1^2)*x3"] {
        let infinite = sum_of(2, f, "");
        let found = infinite.curve(Quantity::Mplot, 2, &[z], infinite.axis(2), Centring::None);
        assert!(found.is_err(), "{f}: {found:?}");
    }
    let finite = sum_of(2, "exp(x1^2/2)*x3", "");
    // E exp(X²/2) of a normal X with mean m and variance v is exp(m²/2/(1 − v))/√(1 − v).
    let (mean, left) = (z / 3.0, 1.0_f64 / 3.0);
    let known = z * (0.5 * mean * mean / left).exp() / left.sqrt();
    assert_is(curve(&finite, Quantity::Mplot, 2, z), known, 1e-7, Evaluation::Quadrature);
}
