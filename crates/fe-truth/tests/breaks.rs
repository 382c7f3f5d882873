//! Functions that jump or have kinks at places that move with other features, against known answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::f64::consts::PI;

use fe_truth::{Centring, Quantity, Scenario, Truth, problem};

/// A function of features that are uniform on (0, 1).
fn mine(f: &str) -> Scenario {
    let law: String = (1..=3).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect();
    problem("mine", &format!("f = \"{f}\"\n[law]\n{law}"), &[])
        .unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn close(truth: Truth, exact: f64, what: &str) {
    let off = (truth.value - exact).abs();
    assert!(off <= truth.abs_error.max(1e-15 * exact.abs()), "{what}: {truth:?}, exactly {exact}");
    assert!(truth.abs_error <= 1e-9 * (1.0 + exact.abs()), "{what}: {truth:?}");
}

/// That a function has a mean, and partial dependence on x1 of which the accumulated effect differs by what it
/// is at 0.
fn assert_known(f: &str, mean: f64, pd: &dyn Fn(f64) -> f64) {
    let scenario = mine(f);
    close(scenario.mean().unwrap(), mean, f);
    let points = [0.15, 0.4, 0.77, 1.0];
    let ask = |quantity| scenario.curve(quantity, 0, &points, (0.0, 1.0), Centring::None).unwrap();
    let (found, accumulated) = (ask(Quantity::Pd), ask(Quantity::Ale));
    for ((found, accumulated), x) in found.into_iter().zip(accumulated).zip(points) {
        close(found, pd(x), &format!("{f}: pd at {x}"));
        close(accumulated, pd(x) - pd(0.0), &format!("{f}: ale at {x}"));
    }
}

/// The probability that a product of two uniform features is at most c.
fn below(c: f64) -> f64 {
    c * (1.0 - c.ln())
}

/// The probability that a uniform feature times x is at most c.
fn share(c: f64, x: f64) -> f64 {
    if x <= c { 1.0 } else { c / x }
}

#[test]
fn jumps_on_a_hyperbola() {
    for c in [0.25, 0.6] {
        assert_known(&format!("sign(x1*x2 - {c})"), 1.0 - 2.0 * below(c), &|x| {
            1.0 - 2.0 * share(c, x)
        });
        assert_known(&format!("sign({c} - x1*x2)"), 2.0 * below(c) - 1.0, &|x| {
            2.0 * share(c, x) - 1.0
        });
        assert_known(&format!("sign(-(x1*x2) + {c})"), 2.0 * below(c) - 1.0, &|x| {
            2.0 * share(c, x) - 1.0
        });
        assert_known(&format!("if(x1*x2 <= {c}, 3, 1)"), 1.0 + 2.0 * below(c), &|x| {
            1.0 + 2.0 * share(c, x)
        });
        assert_known(&format!("if({c} < x1*x2, 3, 1)"), 3.0 - 2.0 * below(c), &|x| {
            3.0 - 2.0 * share(c, x)
        });
        assert_known(&format!("if(x1*x2 == {c}, 3, 1)"), 1.0, &|_| 1.0);
        // Of another size on either side.
        let mean = 0.5 * (4.0 - 3.0 * below(c));
        assert_known(&format!("x3*if(x1*x2 > {c}, 4, 1)"), mean, &|x| {
            0.5 * (4.0 - 3.0 * share(c, x))
        });
    }
}

/// Jumps that are told twice, in opposite words, make one or none.
#[test]
fn opposite_jumps_on_one_surface_cancel() {
    assert_known("if(x1*x2 < 0.25, 1, 0) + if(0.25 < x1*x2, 1, 0)", 1.0, &|_| 1.0);
    assert_known("1 + sign(x1^2 - x2) + sign(x2 - x1^2)", 1.0, &|_| 1.0);
    assert_known("1 + sign(x2 - x1^2) - sign(-(x1^2) + x2)", 1.0, &|_| 1.0);
    assert_known("1 + sign(-(x1*x2*3) + 1) + sign(x1*x2*3 - 1)", 1.0, &|_| 1.0);
    let twice = |x: f64| 2.0 * (1.0 - 2.0 * share(0.25, x));
    assert_known("sign(x1*x2 - 0.25) - sign(0.25 - x1*x2)", 2.0 - 4.0 * below(0.25), &twice);
}

#[test]
fn whole_numbers_of_curved_functions() {
    let levels = |top: f64, of: &dyn Fn(f64) -> f64| -> f64 {
        (1..=top as usize).map(|k| 1.0 - of(k as f64 / top)).sum()
    };
    for top in [4.0, 7.0] {
        let pd = |x: f64| levels(top, &|c| share(c, x));
        assert_known(&format!("floor({top}*x1*x2)"), levels(top, &below), &pd);
        // Of the opposite it is one less nearly everywhere.
        let mean = -1.0 - levels(top, &below);
        // At 0 itself, where accumulation starts, both are one more: f jumps there.
        let opposite = |x: f64| if x == 0.0 { 0.0 } else { -1.0 - levels(top, &|c| share(c, x)) };
        assert_known(&format!("floor(-({top}*x1*x2))"), mean, &opposite);
        assert_known(&format!("floor({top} - {top}*x1*x2)"), mean + top, &|x| top + opposite(x));
    }
    // floor(3 (1 − x²)) is at least k up to √(1 − k/3).
    let mean = (1.0_f64 / 3.0).sqrt() + (2.0_f64 / 3.0).sqrt();
    assert_known("floor(3*(1 - x2^2))", mean, &|_| mean);
    // It is 3 at 0 alone.
    let pd = |x: f64| (3.0 * (1.0 - x * x)).floor();
    assert_known("floor(3*(1 - x1^2)) + 0*x2", mean, &pd);
    // The turning point is within.
    let turning = mine("floor(9*x1*(1 - x1))");
    let up_to = |k: f64| 2.0 * (0.25 - k / 9.0).sqrt();
    close(turning.mean().unwrap(), up_to(1.0) + up_to(2.0), "a parabola");
}

#[test]
fn whole_numbers_of_sums() {
    assert_known("1 + floor(3*x1 - 2*x2)", 1.0, &|x| {
        let below = |k: f64| ((k - 3.0 * x + 2.0) / 2.0).clamp(0.0, 1.0);
        (-1..=2).map(|k| 1.0 - below(f64::from(k))).sum::<f64>() - 1.0
    });
}

#[test]
fn as_many_whole_numbers_as_are_allowed() {
    close(mine("floor(1000*x1)").mean().unwrap(), 499.5, "a thousand");
    let text = "f = \"floor(1001*x1)\"\n[law]\nx1 = \"uniform(0, 1)\"\n";
    let refused = problem("mine", text, &[]).unwrap_err().to_string();
    assert!(refused.contains("more than 1000 values"), "{refused}");
}

#[test]
fn kinks_on_curves() {
    // E|u − v²| given t = v² is (t² + (1 − t)²)/2.
    let part = |t: f64| 0.5 * (t * t + (1.0 - t) * (1.0 - t));
    assert_known("abs(x2 - x1^2)", 11.0 / 30.0, &|x| part(x * x));
    assert_known("max(x2 - x1^2, x1^2 - x2)", 11.0 / 30.0, &|x| part(x * x));
    assert_known("-min(x2 - x1^2, x1^2 - x2)", 11.0 / 30.0, &|x| part(x * x));
    // max(x1 x2, c) given x1: c up to x2 = c/x1, and x1 x2 beyond.
    let c = 0.25_f64;
    let pd = |x: f64| if x <= c { c } else { c * c / x + 0.5 * x * (1.0 - (c / x).powi(2)) };
    let mean = c * below(c) + 0.25 + 0.5 * c * c * c.ln() - 0.25 * c * c;
    assert_known("max(x1*x2, 0.25)", mean, &pd);
    let other = |x: f64| 0.5 * x + c - pd(x);
    assert_known("min(x1*x2, 0.25)", 0.25 + c - mean, &other);
}

/// Hills so narrow that nodes beside them tell nothing of them, with what is known of each integral.
#[test]
fn narrow_hills_are_seen() {
    let root = PI.sqrt();
    for (hill, area) in [
        ("exp(-1e6*(x2 - 0.3217)^2)", 1e-3 * root),
        ("exp(-1e12*(x2 - 0.3217)^2)", 1e-6 * root),
        ("1/cosh(1e5*(x2 - 0.3217))", 1e-5 * PI),
        ("exp(-1e7*abs(x2 - 0.3217))", 2e-7),
        ("1/(1 + 1e12*(x2 - 0.5)^2)", 2e-6 * 5e5_f64.atan()),
    ] {
        assert_known(&format!("x1*{hill}"), 0.5 * area, &|x| x * area);
    }
}

/// ∫∫ exp(−c² (x1 − x2)²) = √π erf(c)/c − (1 − exp(−c²))/c².
#[test]
fn narrow_ridges_are_seen() {
    let c: f64 = 1e3;
    assert_known("exp(-1e6*(x1 - x2)^2)", PI.sqrt() / c - 1.0 / (c * c), &|x| {
        PI.sqrt() / c * if x == 0.0 || x == 1.0 { 0.5 } else { 1.0 }
    });
}

/// exp(−c (x1 − x2)² − c (x1 + x2 − 1)²) = exp(−2c (x1 − ½)² − 2c (x2 − ½)²), the others by completing squares as well.
#[test]
fn narrow_hills_of_two_features_are_seen() {
    let c: f64 = 1e5;
    let along = |top: f64, c: f64, x: f64| (-c * (x - top).powi(2)).exp();
    let area = (PI / (2.0 * c)).sqrt();
    assert_known("exp(-1e5*((x1 - x2)^2 + (x1 + x2 - 1)^2))", area * area, &|x| {
        area * along(0.5, 2.0 * c, x)
    });
    assert_known("2*x3*exp(-1e5*((x1 - x2)^2 + (x1 + x2 - 0.8)^2))", area * area, &|x| {
        area * along(0.4, 2.0 * c, x)
    });
    assert_known(
        "sin(0.5*pi*x1)^2*exp(-1e5*((x1 - x2)^2 + (x1 + x2 - 1)^2))",
        0.5 * area * area,
        &|x| area * along(0.5, 2.0 * c, x) * (0.5 * PI * x).sin().powi(2),
    );
    assert_known("exp(-1e5*(x1 - x2)^2 - 1e5*(x1 - 0.4)^2)", PI / c, &|x| {
        (PI / c).sqrt() * along(0.4, c, x)
    });
}

/// ∫ exp(−c (x2 − ¼ − ½ x1²)²) dx2 = √(π/c), and of exp(−c (1 + x3)(x2 − ½)²) it is √(π/c)/√(1 + x3).
#[test]
fn narrow_hills_along_curves_are_seen() {
    let c: f64 = 1e6;
    let area = (PI / c).sqrt();
    assert_known("exp(-1e6*(x2 - 0.25 - 0.5*x1^2)^2)", area, &|_| area);
    let ridge = mine("x1*exp(-1e6*(1 + x3)*(x2 - 0.5)^2)");
    close(ridge.mean().unwrap(), area * (2_f64.sqrt() - 1.0), "of 1 + x3");
}
