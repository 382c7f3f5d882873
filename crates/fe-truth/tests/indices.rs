//! Indices against published and closed values, against simulation, and against each other.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use std::f64::consts::PI;

use common::{Sample, all, assert_mean, at, mean};
use fe_truth::{Error, Evaluation, Index, Indices, Scenario, problem};

fn value(indices: &Indices<'_>, index: Index, features: &[usize]) -> f64 {
    let truth = indices.index(index, features).unwrap();
    assert!(truth.abs_error < 1e-6 * (1.0 + truth.value), "{index} {features:?}: {truth:?}");
    truth.value
}

fn near(found: f64, known: f64, what: &str) {
    assert!((found - known).abs() < 1e-8 * (1.0 + known.abs()), "{what}: {found} {known}");
}

fn uniform(f: &str, dimension: usize, from: &str, to: &str) -> Scenario {
    let law: String =
        (1..=dimension).map(|s| format!("x{s} = \"uniform({from}, {to})\"\n")).collect();
    problem("mine", &format!("f = \"{f}\"\n[law]\n{law}"), &[]).unwrap()
}

/// A square of four features that nothing takes apart: means over them are simulated, and right within their intervals.
#[test]
fn terms_of_four_features_are_simulated() {
    let scenario = uniform("sqrt((x1 + x2 + x3 + x4)^4)", 4, "-1", "1");
    let indices = scenario.indices();
    let (single, pair): (f64, f64) = (4.0 / 45.0, 4.0 / 9.0);
    let all = 4.0 * single + 6.0 * pair;
    let known: [(Index, &[usize], f64); 15] = [
        (Index::PdSd, &[0], single.sqrt()),
        (Index::AleSd, &[1], single.sqrt()),
        (Index::SobolFirst, &[2], single / all),
        (Index::SobolTotal, &[3], (single + 3.0 * pair) / all),
        (Index::SobolPair, &[0, 3], pair / all),
        (Index::H2Pair, &[1, 2], pair / (2.0 * single + pair)),
        (Index::HPair, &[1, 2], pair.sqrt()),
        (Index::H2PairShare, &[0, 1], pair / all),
        (Index::Ale2Sd, &[0, 1], pair.sqrt()),
        (Index::H2Overall, &[0], 3.0 * pair / all),
        (Index::HOverall, &[3], (3.0 * pair).sqrt()),
        (Index::ShapleyEffect, &[1], all / 4.0),
        (Index::ShapleyShare, &[2], 0.25),
        (Index::AdditiveR2Pd, &[], 4.0 * single / all),
        (Index::AdditiveR2Ale, &[], 4.0 * single / all),
    ];
    for (index, features, known) in known {
        let truth = indices.index(index, features).unwrap();
        let off = (truth.value - known).abs();
        assert!(off <= truth.abs_error, "{index} {features:?}: {truth:?} {known}");
        assert!(truth.abs_error < 4e-3, "{index} {features:?}: {truth:?}");
        assert_eq!(truth.method, Evaluation::Simulation, "{index} {features:?}");
    }
}

/// A sine of a sum of five normal features, one of which carries most of it: with m_j = exp(−a_j²/2) the variance of the
/// component of a set is half the product of m_k² of those outside times (Π (1 − m_j²) − Π −m_j² (1 − m_j²)) inside.
#[test]
fn one_feature_of_five_carries_most_of_f() {
    const WEIGHTS: [f64; 5] = [1.5, 0.5, 0.3, 0.2, 0.1];
    let f = "sin(1.5*x1 + 0.5*x2 + 0.3*x3 + 0.2*x4 + 0.1*x5)";
    let law: String = (1..=5).map(|s| format!("x{s} = \"normal(0, 1)\"\n")).collect();
    let scenario = problem("mine", &format!("f = \"{f}\"\n[law]\n{law}"), &[]).unwrap();
    let indices = scenario.indices();
    let component = |set: usize| {
        let (mut of_size, mut of_square) = (1.0, 1.0);
        for (s, weight) in WEIGHTS.iter().enumerate() {
            let m2 = (-weight * weight).exp();
            let inside = set >> s & 1 == 1;
            of_size *= if inside { 1.0 - m2 } else { m2 };
            of_square *= if inside { -m2 * (1.0 - m2) } else { m2 };
        }
        0.5 * (of_size - of_square)
    };
    let sum = |weight: &dyn Fn(usize) -> f64| {
        (1..32_usize).map(|set| weight(set) * component(set)).sum::<f64>()
    };
    let has = |set: usize, s: usize| (set >> s & 1) as f64;
    let all = sum(&|_| 1.0);
    let first = |s: usize| component(1 << s);
    let additive = (0..5).map(first).sum::<f64>() / all;
    let mut known = vec![
        (Index::AdditiveR2Ale, vec![], additive),
        (Index::AdditiveR2AleDerivative, vec![], additive),
        (Index::SobolPair, vec![0, 1], component(0b11) / all),
        (Index::Ale2DerivativeSd, vec![0, 1], component(0b11).sqrt()),
    ];
    for s in 0..5 {
        let shapley = sum(&|set| has(set, s) / f64::from(set.count_ones()));
        known.extend([
            (Index::SobolFirst, vec![s], first(s) / all),
            (Index::SobolTotal, vec![s], sum(&|set| has(set, s)) / all),
            (Index::ShapleyEffect, vec![s], shapley),
            (Index::ShapleyShare, vec![s], shapley / all),
            (Index::AleDerivativeSd, vec![s], first(s).sqrt()),
        ]);
    }
    for (index, features, known) in known {
        let truth = indices.index(index, &features).unwrap();
        let off = (truth.value - known).abs();
        assert!(off <= truth.abs_error, "{index} {features:?}: {truth:?} {known}");
        assert!(truth.abs_error < 2e-3, "{index} {features:?}: {truth:?}");
        assert_eq!(truth.method, Evaluation::Simulation, "{index} {features:?}");
    }
}

/// A product of twenty factors, of which the last hardly vary: V_u = M² Π r_i over the features of u, each to rounding.
#[test]
fn products_of_many_factors_lose_nothing() {
    let f: Vec<String> = (1..=20).map(|s| format!("(1 + x{s}/{s}^4)")).collect();
    let scenario = uniform(&f.join("*"), 20, "-1", "1");
    let indices = scenario.indices();
    let r = |s: i32| f64::from(s).powi(-8) / 3.0;
    let all = (1..=20).map(|s| 1.0 + r(s)).product::<f64>() - 1.0;
    let relative = |index, features: &[usize], known: f64| {
        let truth = indices.index(index, features).unwrap();
        assert!(
            (truth.value / known - 1.0).abs() < 1e-9,
            "{index} {features:?}: {truth:?} {known}"
        );
        assert_eq!(truth.method, Evaluation::Quadrature);
    };
    for (a, b) in [(1, 2), (9, 20)] {
        let features = [a as usize - 1, b as usize - 1];
        relative(Index::SobolPair, &features, r(a) * r(b) / all);
        relative(Index::H2Pair, &features, r(a) * r(b) / (r(a) + r(b) + r(a) * r(b)));
        relative(Index::Ale2Sd, &features, (r(a) * r(b)).sqrt());
        relative(Index::SobolFirst, &features[..1], r(a) / all);
        relative(Index::SobolTotal, &features[..1], r(a) * (1.0 + all) / (1.0 + r(a)) / all);
        let overall = r(a) * ((1.0 + all) / (1.0 + r(a)) - 1.0) / all;
        relative(Index::H2Overall, &features[..1], overall);
    }
    let alone: f64 = (1..=20).map(r).sum();
    relative(Index::AdditiveR2Pd, &[], alone / all);
}

/// Ishigami's function with a = 7 and b = 0.1: its variances are known in closed form.
#[test]
fn ishigami() {
    let scenario = uniform("sin(x1) + 7*sin(x2)^2 + 0.1*x3^4*sin(x1)", 3, "-pi", "pi");
    let indices = scenario.indices();
    let (a, b) = (7.0_f64, 0.1_f64);
    let (p4, p8) = (PI.powi(4), PI.powi(8));
    let first = 0.5 * (1.0 + b * p4 / 5.0).powi(2);
    let second = a * a / 8.0;
    let pair = b * b * p8 * (1.0 / 18.0 - 1.0 / 50.0);
    let total = first + second + pair;
    let share = |index, features: &[usize]| value(&indices, index, features);
    near(share(Index::SobolFirst, &[0]), first / total, "S1");
    near(share(Index::SobolFirst, &[1]), second / total, "S2");
    near(share(Index::SobolFirst, &[2]), 0.0, "S3");
    near(share(Index::SobolTotal, &[0]), (first + pair) / total, "ST1");
    near(share(Index::SobolTotal, &[2]), pair / total, "ST3");
    near(share(Index::SobolPair, &[0, 2]), pair / total, "S13");
    assert_eq!(share(Index::SobolPair, &[0, 1]), 0.0);
    near(share(Index::ShapleyEffect, &[0]), first + pair / 2.0, "Sh1");
    near(share(Index::ShapleyEffect, &[2]), pair / 2.0, "Sh3");
    near(share(Index::ShapleyShare, &[1]), second / total, "Sh2");
    near(share(Index::H2Pair, &[0, 2]), pair / (first + pair), "H13");
    near(share(Index::HPair, &[0, 2]), pair.sqrt(), "h13");
    near(share(Index::H2Overall, &[0]), pair / total, "H1");
    near(share(Index::AdditiveR2Pd, &[]), 1.0 - pair / total, "R2");
    near(share(Index::AdditiveR2Ale, &[]), 1.0 - pair / total, "R2 of ALE");
    near(share(Index::PdSd, &[0]), first.sqrt(), "sd1");
    near(share(Index::AleSd, &[1]), second.sqrt(), "sd2");
    near(share(Index::Ale2Sd, &[0, 2]), pair.sqrt(), "sd13");
    near(share(Index::Ale2DerivativeSd, &[0, 2]), pair.sqrt(), "derivative sd13");
    // E (∂1 f)² = E cos² (1 + b x3⁴)², and so on.
    near(share(Index::Dgsm, &[0]), 0.5 * (1.0 + 2.0 * b * p4 / 5.0 + b * b * p8 / 9.0), "dgsm1");
    near(share(Index::Dgsm, &[1]), a * a / 2.0, "dgsm2");
    near(share(Index::Dgsm, &[2]), 8.0 * b * b * PI.powi(6) / 7.0, "dgsm3");
    for (found, published) in [
        (share(Index::SobolFirst, &[0]), 0.3139),
        (share(Index::SobolFirst, &[1]), 0.4424),
        (share(Index::SobolTotal, &[0]), 0.5576),
        (share(Index::SobolTotal, &[2]), 0.2437),
    ] {
        assert!((found - published).abs() < 5e-5, "{found} {published}");
    }
}

/// Sobol' G: f = Π (|4 x − 2| + a) / (1 + a), of variances V_s = 1 / (3 (1 + a)²) and their products.
#[test]
fn sobol_g() {
    let a: [f64; 5] = [0.0, 1.0, 4.5, 9.0, 99.0];
    let factors: Vec<String> = a
        .iter()
        .enumerate()
        .map(|(s, a)| format!("(abs(4*x{} - 2) + {a}) / (1 + {a})", s + 1))
        .collect();
    let scenario = uniform(&factors.join(" * "), a.len(), "0", "1");
    let indices = scenario.indices();
    let v: Vec<f64> = a.iter().map(|a| 1.0 / (3.0 * (1.0 + a).powi(2))).collect();
    let total = v.iter().map(|v| 1.0 + v).product::<f64>() - 1.0;
    for s in 0..a.len() {
        near(value(&indices, Index::SobolFirst, &[s]), v[s] / total, "first");
        let rest: f64 = (0..a.len()).filter(|&o| o != s).map(|o| 1.0 + v[o]).product();
        near(value(&indices, Index::SobolTotal, &[s]), v[s] * rest / total, "total");
    }
    near(value(&indices, Index::SobolPair, &[0, 2]), v[0] * v[2] / total, "pair");
    let joint = v[0] + v[2] + v[0] * v[2];
    near(value(&indices, Index::H2Pair, &[0, 2]), v[0] * v[2] / joint, "H");
    // Each interaction is shared out evenly among its features: E over orders of what a feature adds.
    let sum: f64 = (0..a.len()).map(|s| value(&indices, Index::ShapleyShare, &[s])).sum();
    near(sum, 1.0, "sum");
    let effect = |s: usize| {
        let others: Vec<f64> = (0..a.len()).filter(|&o| o != s).map(|o| v[o]).collect();
        let subsets = (0..1_u32 << others.len()).map(|set| {
            let chosen = others.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1);
            chosen.map(|(_, v)| v).product::<f64>() / f64::from(set.count_ones() + 1)
        });
        v[s] * subsets.sum::<f64>()
    };
    near(value(&indices, Index::ShapleyEffect, &[1]), effect(1), "effect");
}

/// Friedman's function, by the variances of its four terms.
#[test]
fn friedman() {
    let scenario = at("friedman1", "noise_features=2");
    let indices = scenario.indices();
    let variance = scenario.sd().unwrap().value.powi(2);
    let shares: Vec<f64> = [(2, 400.0 / 180.0), (3, 100.0 / 12.0), (4, 25.0 / 12.0)]
        .iter()
        .map(|(s, part)| {
            near(value(&indices, Index::SobolFirst, &[*s]), part / variance, "first");
            near(value(&indices, Index::SobolTotal, &[*s]), part / variance, "total");
            near(value(&indices, Index::ShapleyEffect, &[*s]), *part, "Shapley");
            part / variance
        })
        .collect();
    let first = value(&indices, Index::SobolFirst, &[0]);
    let pair = value(&indices, Index::SobolPair, &[0, 1]);
    near(2.0 * first + pair + shares.iter().sum::<f64>(), 1.0, "sum");
    near(value(&indices, Index::ShapleyShare, &[1]), first + pair / 2.0, "Shapley");
    near(value(&indices, Index::AdditiveR2Pd, &[]), 1.0 - pair, "R2");
    assert_eq!(value(&indices, Index::ShapleyEffect, &[6]), 0.0);
    assert_eq!(value(&indices, Index::H2Pair, &[0, 2]), 0.0);
    assert_eq!(value(&indices, Index::SobolTotal, &[5]), 0.0);
}

/// Shapley effects of a linear function of normal features (Owen & Prieur 2017, sec. 4.1): of two with
/// correlation ρ, β1² σ1² (1 − ρ² / 2) + ρ β1 β2 σ1 σ2 + β2² σ2² ρ² / 2.
#[test]
fn shapley_effects_of_linear_functions_of_normal_features() {
    let text =
        "f = \"2*x1 - 3*x2\"\n[law]\nx1 = \"normal(1, 0.5)\"\nx2 = \"1.2*x1 + normal(0, 0.8)\"\n";
    let scenario = problem("linear", text, &[]).unwrap();
    let indices = scenario.indices();
    let sd = [0.5, (1.44_f64 * 0.25 + 0.64).sqrt()];
    let rho = 1.2 * 0.5 / sd[1];
    let b = [2.0 * sd[0], -3.0 * sd[1]];
    for s in 0..2 {
        let (own, other) = (b[s], b[1 - s]);
        let effect = own * own * (1.0 - rho * rho / 2.0)
            + rho * own * other
            + other * other * rho * rho / 2.0;
        near(value(&indices, Index::ShapleyEffect, &[s]), effect, "effect");
    }
    let refused = indices.index(Index::SobolTotal, &[0]).unwrap_err().to_string();
    assert!(refused.contains("independent features"), "{refused}");
    assert_eq!(value(&indices, Index::H2Pair, &[0, 1]), 0.0);
    near(value(&indices, Index::AdditiveR2Ale, &[]), 1.0, "R2");
}

/// f = x1 x2 of normal features with correlation ρ, standardised: F_1 = F_2 = 0, so that H is 1, and
/// ALE_s = ρ (x² − 1) / 2: Var(x1 x2) = 1 + ρ², Var ALE_s = ρ² / 2, Cov(x1 x2, ALE_s) = ρ².
#[test]
fn a_product_of_normal_features() {
    let rho: f64 = 0.6;
    let scenario = at("liu-product", "mu1=0;mu2=0;sigma1=1;sigma2=1;rho=0.6");
    let indices = scenario.indices();
    near(value(&indices, Index::H2Pair, &[0, 1]), 1.0, "H");
    near(value(&indices, Index::H2Overall, &[0]), 1.0, "H");
    near(value(&indices, Index::HPair, &[0, 1]), (1.0 + rho * rho).sqrt(), "h");
    near(value(&indices, Index::AleSd, &[0]), rho / 2_f64.sqrt(), "sd");
    // Var(x1 x2 − ALE_1 − ALE_2), with Cov(ALE_1, ALE_2) = ρ² Cov(x1², x2²) / 4 = ρ⁴ / 2.
    let left = 1.0 + rho.powi(2) + rho.powi(2) + rho.powi(4) - 4.0 * rho.powi(2);
    near(value(&indices, Index::Ale2Sd, &[0, 1]), left.sqrt(), "sd2");
    near(value(&indices, Index::AdditiveR2Ale, &[]), 1.0 - left / (1.0 + rho * rho), "R2");
    near(value(&indices, Index::AdditiveR2Pd, &[]), 0.0, "R2");
    near(value(&indices, Index::Dgsm, &[0]), 1.0, "dgsm");
    // E[x1 x2 | x1] = ρ x1²: v({1}) = v({2}) = 2 ρ², so that both have half of all.
    near(value(&indices, Index::ShapleyEffect, &[0]), (1.0 + rho * rho) / 2.0, "Shapley");
}

/// Scenarios whose indices are quick to integrate, each at one point of its parameters.
fn quick() -> Vec<Scenario> {
    let mut known = vec!["feynman-i29-16", "friedman1-copula"];
    let mut is_new = |scenario: &Scenario| {
        let name = scenario.info().name;
        let is_new = !known.contains(&name);
        known.push(name);
        is_new
    };
    all().into_iter().filter(|scenario| is_new(scenario)).collect()
}

/// What holds whatever the function: Shapley effects add up, first-order indices are variances of PD, and a
/// share is a numerator over the variance.
#[test]
fn indices_agree_with_each_other() {
    for scenario in quick() {
        let indices = scenario.indices();
        let variance = scenario.sd().unwrap().value.powi(2);
        let dimension = scenario.dimension();
        let what = format!("{scenario:?}");
        let sum: f64 = (0..dimension).map(|s| value(&indices, Index::ShapleyEffect, &[s])).sum();
        near(sum, variance, &what);
        for s in 0..dimension.min(4) {
            let numerator = value(&indices, Index::HOverall, &[s]).powi(2);
            near(numerator / variance, value(&indices, Index::H2OverallShare, &[s]), &what);
            if !(0..dimension).all(|other| scenario.is_independent(other)) {
                continue;
            }
            let pd = value(&indices, Index::PdSd, &[s]);
            near(pd * pd / variance, value(&indices, Index::SobolFirst, &[s]), &what);
            near(pd, value(&indices, Index::AleSd, &[s]), &what);
            let total = value(&indices, Index::SobolTotal, &[s]);
            near(total - pd * pd / variance, value(&indices, Index::H2OverallShare, &[s]), &what);
            for other in 0..s {
                let pair = value(&indices, Index::Ale2Sd, &[s, other]);
                near(pair, value(&indices, Index::HPair, &[other, s]), &what);
            }
        }
    }
}

/// Simulation that knows the sampler and f alone: variances of what is left of f without its effects, and
/// of conditional means by pairs of rows that agree in some features.
#[test]
fn indices_by_simulation() {
    const ROWS: usize = 6000;
    for scenario in quick() {
        let indices = scenario.indices();
        let sample = Sample::draw(&scenario, ROWS, 61);
        let f = sample.f();
        let what = |index: Index, s: usize| format!("{scenario:?} {index} of {s}");
        for s in 0..scenario.dimension().min(3) {
            let slopes = sample.partial(s);
            let squares: Vec<f64> = slopes.iter().map(|d| d * d).collect();
            assert_mean(&squares, value(&indices, Index::Dgsm, &[s]), &what(Index::Dgsm, s));
            if !(0..scenario.dimension()).all(|other| scenario.is_independent(other)) {
                continue;
            }
            let variance = scenario.sd().unwrap().value.powi(2);
            // Rows that agree in one feature, and rows that agree in all but one.
            let other = Sample::draw(&scenario, ROWS, 62);
            let mixed = |own: &dyn Fn(usize) -> bool| {
                let columns = (0..scenario.dimension()).map(|k| {
                    let from = if own(k) { &sample } else { &other };
                    from.columns[k].clone()
                });
                Sample { scenario: scenario.clone(), columns: columns.collect(), len: ROWS }.f()
            };
            let (centre, one, all_but) = (mean(&f), mixed(&|k| k == s), mixed(&|k| k != s));
            let shared: Vec<f64> = f
                .iter()
                .zip(&one)
                .zip(other.f())
                .map(|((f, g), h)| (f - centre) * (g - h))
                .collect();
            let first = value(&indices, Index::SobolFirst, &[s]) * variance;
            assert_mean(&shared, first, &what(Index::SobolFirst, s));
            let halves: Vec<f64> =
                f.iter().zip(&all_but).map(|(f, g)| 0.5 * (f - g).powi(2)).collect();
            let total = value(&indices, Index::SobolTotal, &[s]) * variance;
            assert_mean(&halves, total, &what(Index::SobolTotal, s));
        }
    }
}

/// Numerators of H under dependence, with partial dependences from means over a sample of their own.
#[test]
fn h_under_dependence_by_simulation() {
    const ROWS: usize = 1500;
    for (name, point) in [
        ("liu-quadratic", "mu1=1.3;mu2=-0.7;sigma1=0.6;sigma2=2.1;rho=0.9"),
        ("threshold-linear", "a1=1.3;a2=0.6;alpha=0.7;noise_sd=0.05"),
        ("sin-indicator", "noise_sd=0.1"),
    ] {
        let scenario = at(name, point);
        let indices = scenario.indices();
        let (sample, rest) = (Sample::draw(&scenario, ROWS, 63), Sample::draw(&scenario, 1500, 64));
        let [a, b] = if name == "liu-quadratic" { [0, 1] } else { [0, 2] };
        let pd = |set: &[usize], row: usize| {
            let mut columns = rest.columns.clone();
            set.iter().for_each(|&s| columns[s].fill(sample.columns[s][row]));
            mean(&Sample { scenario: scenario.clone(), columns, len: rest.len }.f())
        };
        let parts: Vec<f64> =
            (0..ROWS).map(|row| pd(&[a, b], row) - pd(&[a], row) - pd(&[b], row)).collect();
        let squares = common::squares(&parts);
        let exact = value(&indices, Index::HPair, &[a, b]).powi(2);
        let found = mean(&squares);
        let error = (mean(&common::squares(&squares)) / ROWS as f64).sqrt();
        // The means over the other sample move all rows alike.
        assert!((found - exact).abs() < 6.0 * error + 0.06 * exact, "{name}: {found} {exact}");
    }
}

#[test]
fn indices_that_mean_nothing_are_refused() {
    let scenario = at("poly3", "");
    let indices = scenario.indices();
    let ask = |index, features: &[usize]| indices.index(index, features).unwrap_err();
    assert!(matches!(ask(Index::PdSd, &[0, 1]), Error::WrongOrder { .. }));
    assert!(matches!(ask(Index::H2Pair, &[1, 1]), Error::SameFeature { .. }));
    assert!(matches!(ask(Index::Dgsm, &[3]), Error::NoSuchFeature { .. }));
    let nothing = uniform("0*x1 + 3", 2, "0", "1");
    let refused = nothing.indices().index(Index::SobolFirst, &[0]).unwrap_err().to_string();
    assert!(refused.contains("which is 0"), "{refused}");
    // Four features of one term that are no factors, and a kink that moves.
    let wide = uniform("sqrt(1 + abs(x1 - x2) + x3 + x4)", 4, "0", "1");
    let refused = wide.indices().index(Index::AleDerivativeSd, &[0]).unwrap_err().to_string();
    assert!(refused.contains("cannot be integrated one by one"), "{refused}");
    let copula = at("friedman1-copula", "rho=0.7;noise_features=1");
    let refused = copula.indices().index(Index::ShapleyEffect, &[0]).unwrap_err().to_string();
    assert!(refused.contains("features at once"), "{refused}");
}
