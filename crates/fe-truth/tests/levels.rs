//! Features with levels: sums in the place of integrals, against sums by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_truth::{Centring, Error, Quantity, Regional, Scenario, Truth, Weighting, problem};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

fn mine(f: &str, law: &str) -> Scenario {
    let text = format!("f = \"{f}\"\n[law]\n{law}");
    problem("mine", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn close(truth: Truth, exact: f64) {
    let off = (truth.value - exact).abs();
    assert!(off <= truth.abs_error + 1e-15 * exact.abs(), "{truth:?}, exactly {exact}");
    assert!(truth.abs_error <= 1e-9 * (1.0 + exact.abs()), "{truth:?}");
}

fn curve(scenario: &Scenario, quantity: Quantity, s: usize, points: &[f64]) -> Vec<Truth> {
    let axis = scenario.axis(s);
    scenario
        .curve(quantity, s, points, axis, Centring::None)
        .unwrap_or_else(|error| panic!("{quantity}: {error}"))
}

const P: [f64; 3] = [0.2, 0.3, 0.5];
const V: [f64; 3] = [-1.0, 2.0, 0.5];
const MU: [f64; 3] = [0.0, 1.0, -2.0];

/// A function of a feature with three levels and a normal one around a mean by level.
fn parent() -> Scenario {
    mine(
        "level(s, a: -1, b: 2, c: 0.5)*x + x^2",
        "s = \"categorical(a: 0.2, b: 0.3, c: 0.5)\"\nx = \"normal(level(s, a: 0, b: 1, c: -2), 1)\"\n",
    )
}

fn sum(f: impl Fn(usize) -> f64) -> f64 {
    (0..3).map(|k| P[k] * f(k)).sum()
}

#[test]
fn a_parent_with_levels() {
    let scenario = parent();
    let codes = [0.0, 1.0, 2.0];
    let at_level = |k: usize| V[k] * MU[k] + MU[k] * MU[k] + 1.0;
    close(scenario.mean().unwrap(), sum(at_level));
    // Var(vx + x²) of a normal x: v² + 4vμ + 4μ² + 2, and the variance between levels.
    let within = sum(|k| (V[k] + 2.0 * MU[k]).powi(2) + 2.0);
    let between = sum(|k| (at_level(k) - sum(at_level)).powi(2));
    close(scenario.sd().unwrap(), (within + between).sqrt());
    let (mean, square) = (sum(|k| MU[k]), sum(|k| MU[k] * MU[k] + 1.0));
    for (k, truth) in curve(&scenario, Quantity::Pd, 0, &codes).into_iter().enumerate() {
        close(truth, V[k] * mean + square);
    }
    for (k, truth) in curve(&scenario, Quantity::Mplot, 0, &codes).into_iter().enumerate() {
        close(truth, at_level(k));
    }
    // The change from one level to the next over the rows of both: (v' − v) E[x | either].
    let step =
        |k: usize| (V[k + 1] - V[k]) * (P[k] * MU[k] + P[k + 1] * MU[k + 1]) / (P[k] + P[k + 1]);
    let ale = curve(&scenario, Quantity::Ale, 0, &codes);
    close(ale[0], 0.0);
    close(ale[1], step(0));
    close(ale[2], step(0) + step(1));
    let centred = scenario.curve(Quantity::Ale, 0, &codes, (0.0, 2.0), Centring::Data).unwrap();
    close(centred[0], -(P[1] * step(0) + P[2] * (step(0) + step(1))));
    let other = scenario.ale_by_levels(0, &[2, 0, 1]).unwrap();
    close(other[1], (V[0] - V[2]) * (P[0] * MU[0] + P[2] * MU[2]) / (P[0] + P[2]));
    // SHAP of a product and of what reads x alone, with the law as background.
    let product = sum(|k| V[k] * MU[k]);
    let v = sum(|k| V[k]);
    for (k, truth) in curve(&scenario, Quantity::Shap, 0, &codes).into_iter().enumerate() {
        // ½ (v E x − E vx) + ½ (v x − x E v), given the level.
        close(truth, 0.5 * (V[k] * mean - product) + 0.5 * (V[k] - v) * MU[k]);
    }
}

#[test]
fn a_child_of_levels() {
    let scenario = parent();
    let x = [-1.3, 0.4];
    let weight = |k: usize, x: f64| P[k] * (-0.5 * (x - MU[k]).powi(2)).exp();
    let given = |x: f64, f: &dyn Fn(usize) -> f64| {
        let total: f64 = (0..3).map(|k| weight(k, x)).sum();
        (0..3).map(|k| weight(k, x) * f(k)).sum::<f64>() / total
    };
    let (pd, mplot) =
        (curve(&scenario, Quantity::Pd, 1, &x), curve(&scenario, Quantity::Mplot, 1, &x));
    let (mu, sigma) =
        (curve(&scenario, Quantity::Mu, 1, &x), curve(&scenario, Quantity::Sigma, 1, &x));
    for (i, &x) in x.iter().enumerate() {
        close(pd[i], sum(|k| V[k]) * x + x * x);
        let v = given(x, &|k| V[k]);
        close(mplot[i], v * x + x * x);
        close(mu[i], v + 2.0 * x);
        close(sigma[i], given(x, &|k| (V[k] - v).powi(2)).sqrt());
    }
    let ale = curve(&scenario, Quantity::AleDerivative, 1, &[scenario.axis(1).1]);
    assert!(ale[0].abs_error < 1e-9);
}

#[test]
fn levels_that_depend_on_a_feature_with_a_density() {
    let scenario = mine(
        "level(season, winter: 1, summer: 3)*t",
        "t = \"normal(0, 1)\"\n\
         season = \"categorical(winter: 1/(1 + exp(t)), summer: 1/(1 + exp(-t)))\"\n",
    );
    let levels = scenario.levels(1).unwrap();
    assert_eq!(levels.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["winter", "summer"]);
    assert!(levels.iter().all(|level| (level.probability - 0.5).abs() < 1e-12));
    // E f = E t (1 + 2 σ(t)) = 2 E tσ(t), and E[f | season] has that mean.
    let mean = scenario.mean().unwrap();
    let by_level = curve(&scenario, Quantity::Mplot, 1, &[0.0, 1.0]);
    close(mean, 0.5 * (by_level[0].value + by_level[1].value));
    // E tσ(t) of a normal t, by the trapezoidal rule on 400 000 points.
    close(mean, 2.0 * 0.206_620_964_141_858_85);
    let mplot = curve(&scenario, Quantity::Mplot, 0, &[0.7]);
    close(mplot[0], 0.7 * (1.0 + 2.0 / (1.0 + (-0.7_f64).exp())));
    // As simulation finds.
    let rows = scenario.sample(20_000, &mut ChaCha8Rng::seed_from_u64(4));
    let (t, season) = rows.split_at(20_000);
    let f: f64 = t.iter().zip(season).map(|(t, s)| (1.0 + 2.0 * s) * t).sum::<f64>() / 20_000.0;
    assert!((f - mean.value).abs() < 5.0 * scenario.sd().unwrap().value / 20_000_f64.sqrt());
}

#[test]
fn counts() {
    let of = |law: &str| mine("k^2", &format!("k = \"{law}\"\n"));
    close(of("poisson(3)").mean().unwrap(), 12.0);
    close(of("poisson(0.2)").mean().unwrap(), 0.24);
    close(of("poisson(400)").mean().unwrap(), 160_400.0);
    close(of("binomial(10, 0.3)").mean().unwrap(), 9.0 + 2.1);
    close(of("binomial(1, 1)").mean().unwrap(), 1.0);
    close(of("bernoulli(0.25)").sd().unwrap(), 0.1875_f64.sqrt());
    close(of("categorical(1: 0.5, 4: 0.5)").mean().unwrap(), 8.5);
    let counts = of("poisson(3)").levels(0).unwrap();
    // P(k ≤ 11) = 0.99993 is the first above 0.9999.
    assert_eq!((counts[0].value, counts[counts.len() - 1].value), (0.0, 11.0));
    // Counts around a mean that another feature has: a negative binomial law.
    let mixed = mine(
        "k",
        "m = \"gamma(2, 1.5)\"\nk = \"poisson(0.01 + truncation(m))\"\n"
            .replace("truncation(m)", "min(m, 60)")
            .as_str(),
    );
    assert!((mixed.mean().unwrap().value - 3.01).abs() < 1e-9);
    let both = mine("j*k + j^2*sin(k)", "j = \"binomial(5, 0.5)\"\nk = \"poisson(2)\"\n");
    let pd = curve(&both, Quantity::Pd, 0, &[3.0]);
    let sine = (2.0 * (1.0_f64.cos() - 1.0)).exp() * (2.0 * 1.0_f64.sin()).sin();
    close(pd[0], 6.0 + 9.0 * sine);
}

#[test]
fn jumps_at_places_that_depend_on_a_level() {
    let step = mine(
        "if(t < level(s, a: -0.5, b: 0.5), 0, 1)",
        "t = \"normal(0, 1)\"\ns = \"categorical(a: 0.3, b: 0.7)\"\n",
    );
    let ale = curve(&step, Quantity::Ale, 0, &[-1.0, 0.0, 1.0]);
    close(ale[0], 0.0);
    close(ale[1], 0.3);
    close(ale[2], 1.0);
    let pd = curve(&step, Quantity::Pd, 0, &[-1.0, 0.0, 1.0]);
    close(pd[1], 0.3);
    // Across a sum with a count: steps of the probabilities of the counts.
    let sum = mine("if(t + k < 1.5, 0, 1)", "t = \"normal(0, 1)\"\nk = \"poisson(1)\"\n");
    let ale = curve(&sum, Quantity::Ale, 0, &[-0.6, 1.6]);
    let p = |k: usize| (-1.0_f64).exp() / [1.0, 1.0, 2.0, 6.0, 24.0, 120.0][k];
    // It jumps at t = 1.5 − k.
    let below: f64 = 1.0 - (0..=2).map(p).sum::<f64>();
    close(ale[0], below - (1.0 - (0..=5).map(p).sum::<f64>()));
    close(ale[1], 1.0 - (1.0 - (0..=5).map(p).sum::<f64>()));
}

#[test]
fn what_levels_do_not_have_is_refused() {
    let scenario = parent();
    let axis = scenario.axis(0);
    let ask = |quantity, x: f64, centring| scenario.curve(quantity, 0, &[x], axis, centring);
    for quantity in [Quantity::Dpd, Quantity::Mu, Quantity::Sigma, Quantity::HPdp, Quantity::HDpdp]
    {
        let error = ask(quantity, 1.0, Centring::None).unwrap_err();
        assert!(matches!(&error, Error::HasLevels { .. }), "{error}");
        assert!(error.to_string().contains("`s` has levels"), "{error}");
    }
    assert!(ask(Quantity::Pd, 1.0, Centring::Integral).is_err());
    assert!(ask(Quantity::Pd, 1.0, Centring::Data).is_ok());
    let error = ask(Quantity::Pd, 0.5, Centring::None).unwrap_err().to_string();
    assert_eq!(error, "`s` has no level 0.5; it has 0, 1, 2");
    assert!(scenario.bins(0, &[0.0, 1.0], Weighting::Data).is_err());
    assert!(scenario.differences(0, &[0.0, 1.0]).is_err());
    assert!(scenario.regional(Regional::Pdp, 0).is_err());
    assert!(scenario.ale_by_levels(0, &[0, 1]).is_err());
    assert!(scenario.ale_by_levels(1, &[]).is_err());
    let values = scenario.each_value(0, axis).unwrap();
    assert_eq!(values.iter().filter(|(_, value)| value.is_ok()).count(), 1);
}
