//! Effects of functions that are constant on boxes, against the truths of the same functions written as problem files,
//! which are integrated by quadrature; of smooth terms against closed forms; and refusals.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};

use fe_core::model::{Boxes, Interval, SmoothTerm, TermSum};
use fe_truth::{Centring, Error, Evaluation, PairEffect, Quantity, Scenario, Truth};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

const INFINITY: f64 = f64::INFINITY;

/// Boxes: for each its sides, as a feature, the least value inside and the least beyond, and a constant.
#[derive(Clone)]
struct SomeBoxes(Vec<(Vec<Side>, f64)>);

type Side = (usize, f64, f64);

impl Boxes for SomeBoxes {
    fn each(&self, visit: &mut dyn FnMut(&[Interval], f64)) {
        for (sides, constant) in &self.0 {
            let side = |&(feature, from, below): &Side| Interval { feature, from, below };
            visit(&sides.iter().map(side).collect::<Vec<_>>(), *constant);
        }
    }
}

impl SomeBoxes {
    /// The same function in the words of a problem file.
    fn formula(&self) -> String {
        let side = |&(feature, from, below): &Side| {
            let x = format!("x{}", feature + 1);
            let above =
                if from > -INFINITY { format!("*if({x} < {from}, 0, 1)") } else { "".into() };
            let under =
                if below < INFINITY { format!("*if({x} < {below}, 1, 0)") } else { "".into() };
            above + &under
        };
        let each = self.0.iter().map(|(sides, constant)| {
            format!("{constant}{}", sides.iter().map(side).collect::<String>())
        });
        each.collect::<Vec<_>>().join(" + ")
    }

    fn problem(&self, law: &str) -> Scenario {
        let text = format!("f = \"{}\"\n[law]\n{law}", self.formula());
        fe_truth::problem("steps", &text, &[]).unwrap()
    }
}

/// Five boxes of three features between about −1 and 2, some of them inside each other, and one that all rows are in.
fn boxes() -> SomeBoxes {
    SomeBoxes(vec![
        (vec![(0, -INFINITY, 0.3)], 1.5),
        (vec![(0, 0.3, INFINITY), (1, 0.1, 0.6)], -2.0),
        (vec![(1, -INFINITY, 0.6), (2, 0.45, INFINITY)], 0.75),
        (vec![(0, 0.1, 0.8), (1, 0.25, INFINITY), (2, -INFINITY, 0.7)], 3.0),
        (vec![(2, 0.2, 0.7)], -1.25),
        (vec![], 0.5),
    ])
}

#[track_caller]
fn agree(found: &[Truth], known: &[Truth], what: &str) {
    assert_eq!(found.len(), known.len(), "{what}");
    for (found, known) in found.iter().zip(known) {
        let apart = (found.value - known.value).abs();
        // Both bounds, and what rounding leaves of sums of numbers of a few units.
        let allowed = found.abs_error + known.abs_error + 1e-13;
        assert!(apart <= allowed, "{what}: {found:?}, {known:?}: {apart:e}");
        assert!(found.abs_error < 1e-9, "{what}: {found:?}");
    }
}

/// All curves of all features in some centrings, at places between the limits and at two of them.
fn agree_in(
    centrings: &[Centring],
    boxes: &SomeBoxes,
    scenario: &Scenario,
    witness: &Scenario,
    effects: &[Quantity],
) {
    let sum = || TermSum::new(scenario.dimension(), 0.0).with_boxes(boxes.clone());
    let fitted = scenario.effects_of(sum()).unwrap();
    for feature in 0..witness.dimension() {
        let levels = witness.levels(feature);
        let axis = if levels.is_some() { witness.axis(feature) } else { (0.05, 0.95) };
        for &effect in effects {
            // Quadrature reads Shapley values off curves, which at a break are those of either side.
            let points = match &levels {
                None if effect == Quantity::Shap => vec![0.12, 0.24, 0.31, 0.5, 0.65, 0.9],
                None => vec![0.12, 0.25, 0.3, 0.31, 0.5, 0.65, 0.7, 0.9],
                Some(levels) => levels.iter().map(|level| level.value).collect(),
            };
            for &centring in centrings {
                if levels.is_some() && centring == Centring::Integral {
                    continue;
                }
                let what = format!("{effect} of x{} by {centring}", feature + 1);
                match fitted.curve(effect, feature, &points, axis, centring) {
                    Ok(found) => {
                        let known = witness.curve(effect, feature, &points, axis, centring);
                        agree(&found, &known.unwrap(), &what);
                    }
                    Err(error) => {
                        // Integrals along the feature of what changes between limits are not offered.
                        assert!(error.to_string().contains("centre it by"), "{what}: {error}");
                        assert!(!scenario.is_independent(feature), "{what}");
                    }
                }
            }
        }
        if let Some(levels) = levels {
            let order: Vec<usize> = (0..levels.len()).rev().collect();
            let found = fitted.ale_by_levels(feature, &order).unwrap();
            agree(&found, &witness.ale_by_levels(feature, &order).unwrap(), "in another order");
        }
    }
    agree(&[fitted.mean().unwrap()], &[witness.mean().unwrap()], "mean");
    if effects.contains(&Quantity::Shap) {
        let row: Vec<f64> = (0..scenario.dimension())
            .map(|s| witness.levels(s).map_or(0.5, |levels| levels[1].value))
            .collect();
        let found = fitted.shap_at(&row).unwrap();
        agree(&found, &witness.shap_at(&row).unwrap(), "Shapley values");
        let total: f64 = found.iter().map(|truth| truth.value).sum();
        let known = sum().value(&row);
        assert!((total - known).abs() < 1e-12, "{total}, {known}");
    }
}

fn agree_in_all(boxes: &SomeBoxes, scenario: &Scenario, witness: &Scenario, effects: &[Quantity]) {
    let all = [Centring::None, Centring::Start, Centring::Integral, Centring::Data];
    agree_in(&all, boxes, scenario, witness, effects);
}

/// Without means along features, which quadrature takes minutes for where features depend on each other.
fn agree_up_to_constants(
    boxes: &SomeBoxes,
    scenario: &Scenario,
    witness: &Scenario,
    effects: &[Quantity],
) {
    agree_in(&[Centring::None, Centring::Start], boxes, scenario, witness, effects);
}

const ALL: [Quantity; 4] = [Quantity::Pd, Quantity::Mplot, Quantity::Ale, Quantity::Shap];

#[test]
fn of_independent_features() {
    for law in [
        "x1 = \"uniform(0, 1)\"\nx2 = \"normal(0.3, 0.5)\"\nx3 = \"exponential(2)\"\n",
        "x1 = \"beta(2, 3)\"\nx2 = \"uniform(-1, 1)\"\nx3 = \"normal(0.5, 0.2)\"\n",
    ] {
        let scenario = boxes().problem(law);
        agree_in_all(&boxes(), &scenario, &scenario, &ALL);
    }
}

/// Boxes of a built-in scenario, with closed distribution functions.
#[test]
fn under_a_built_in_law() {
    let law: String = (1..=3).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect();
    let witness = boxes().problem(&law);
    let scenario = fe_truth::scenario("friedman1", &[]).unwrap();
    agree_in_all(&boxes(), &scenario, &witness, &[Quantity::Pd, Quantity::Ale]);
    let sum = TermSum::new(scenario.dimension(), 2.0).with_boxes(boxes());
    let effects = scenario.effects_of(sum).unwrap();
    let found = effects.curve(Quantity::Pd, 0, &[0.2], (0.0, 1.0), Centring::None).unwrap()[0];
    assert_eq!(found.method, Evaluation::Closed);
    // 2, and by hand: 1.5, ¾ · 0.6 · 0.55, 3 · 0.75 · 0.7, −1.25 · 0.5 and ½.
    let known = 2.0 + 1.5 + 0.75 * 0.6 * 0.55 + 3.0 * 0.75 * 0.7 - 1.25 * 0.5 + 0.5;
    assert!((found.value - known).abs() < 1e-14, "{found:?}, {known}");
    assert!(found.abs_error < 1e-13);
}

#[test]
fn of_pairs_of_normal_features() {
    for (first, second, rho) in [("x1", "x2", 0.7), ("x2", "x3", -0.9), ("x1", "x3", 0.995)] {
        let law = format!(
            "x1 = \"normal(0.4, 0.4)\"\nx2 = \"normal(0.3, 0.5)\"\nx3 = \"normal(0.5, 0.3)\"\n\
             [copula]\ngaussian = [[\"{first}\", \"{second}\", {rho}]]\n"
        );
        let scenario = boxes().problem(&law);
        // Quadrature takes minutes for Shapley values; a child has them below.
        let effects = [Quantity::Pd, Quantity::Mplot, Quantity::Ale];
        agree_up_to_constants(&boxes(), &scenario, &scenario, &effects);
    }
}

/// Features with levels, alone and tied to one that has a density.
#[test]
fn of_features_with_levels() {
    let counts = SomeBoxes(vec![
        (vec![(0, -INFINITY, 1.0), (1, 0.2, INFINITY)], 2.0),
        (vec![(0, 1.0, 3.0), (2, -INFINITY, 0.5)], -1.0),
        (vec![(0, 2.0, INFINITY), (1, -INFINITY, 0.6), (2, 0.5, INFINITY)], 4.0),
    ]);
    let law = "x1 = \"poisson(1.3)\"\nx2 = \"uniform(0, 1)\"\nx3 = \"normal(0.5, 1)\"\n";
    let scenario = counts.problem(law);
    agree_in_all(&counts, &scenario, &scenario, &[Quantity::Pd, Quantity::Ale, Quantity::Shap]);
    let law = "x1 = \"poisson(1.3)\"\nx2 = \"normal(0.3 * x1, 0.6)\"\nx3 = \"uniform(0, 1)\"\n";
    let scenario = counts.problem(law);
    agree_in_all(&counts, &scenario, &scenario, &[Quantity::Pd, Quantity::Mplot, Quantity::Ale]);
}

/// A child of another feature, whose law is not normal.
#[test]
fn of_a_feature_and_its_child() {
    let law = "x1 = \"uniform(0, 1)\"\nx2 = \"normal(x1^2, 0.3)\"\nx3 = \"uniform(0, 1)\"\n";
    let scenario = boxes().problem(law);
    agree_up_to_constants(&boxes(), &scenario, &scenario, &ALL);
}

/// Three features that all depend on each other, through the variable that ties all of them.
#[test]
fn of_a_copula_of_one_correlation() {
    let rho = 0.8;
    let law = format!(
        "x1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\nx3 = \"uniform(0, 1)\"\n\
             [copula]\ngaussian = [[\"x1\", \"x2\", {rho}], [\"x1\", \"x3\", {rho}], [\"x2\", \"x3\", {rho}]]\n"
    );
    let witness = boxes().problem(&law);
    let set = [("rho".to_owned(), rho.to_string())];
    let scenario = fe_truth::scenario("friedman1-copula", &set).unwrap();
    let effects = [Quantity::Pd, Quantity::Ale];
    agree_up_to_constants(&boxes(), &scenario, &witness, &effects);
    let error = scenario.effects_of(TermSum::new(3, 0.0)).err().unwrap();
    assert!(matches!(error, Error::WrongFunction { given: 3, .. }), "{error}");
}

/// The law of three features of one copula, in the words of a problem file.
fn three(correlations: [f64; 3]) -> String {
    let [first, second, third] = correlations;
    format!(
        "x1 = \"uniform(0, 1)\"\nx2 = \"beta(2, 3)\"\nx3 = \"normal(0.5, 0.3)\"\n\
         [copula]\ngaussian = [[\"x1\", \"x2\", {first}], [\"x1\", \"x3\", {second}], [\"x2\", \"x3\", {third}]]\n"
    )
}

/// Features of any margins that depend on one variable, each in its own way: with the loadings 0.8, −0.6 and 0.5.
#[test]
fn of_a_copula_of_different_loadings() {
    let scenario = boxes().problem(&three([-0.48, 0.4, -0.3]));
    let effects = [Quantity::Pd, Quantity::Mplot, Quantity::Ale];
    agree_up_to_constants(&boxes(), &scenario, &scenario, &effects);
}

/// Of other correlations boxes are integrated over two features at a time.
#[test]
fn of_a_copula_without_a_common_factor() {
    let scenario = boxes().problem(&three([0.9, 0.5, 0.2]));
    let effects = scenario.effects_of(TermSum::new(3, 0.0).with_boxes(boxes())).unwrap();
    let ask = |effect| effects.curve(effect, 0, &[0.5], (0.05, 0.95), Centring::None);
    let known = scenario.curve(Quantity::Pd, 0, &[0.5], (0.05, 0.95), Centring::None);
    agree(&ask(Quantity::Pd).unwrap(), &known.unwrap(), "pd");
    for effect in [Quantity::Ale, Quantity::Shap] {
        let error = ask(effect).unwrap_err().to_string();
        assert!(error.contains("two at a time where x1 is held"), "{error}");
        assert!(scenario.check_trees(effect, 0).is_err());
    }
}

/// Shapley values of a box of three features of a copula: with each coalition's worth by nested quadrature of its own.
#[test]
fn shapley_values_under_a_copula_are_sums_over_coalitions() {
    for correlations in [[0.8; 3], [-0.48, 0.4, -0.3]] {
        let law = three(correlations);
        let sides = [(0, 0.3, INFINITY), (1, 0.25, 0.6), (2, -INFINITY, 0.55)];
        let of = |members: &[usize]| {
            SomeBoxes(vec![(members.iter().map(|&member| sides[member]).collect(), 1.0)])
        };
        let whole = of(&[0, 1, 2]);
        let scenario = whole.problem(&law);
        let fitted = scenario.effects_of(TermSum::new(3, 0.0).with_boxes(whole.clone())).unwrap();
        let mean = |members: &[usize]| match members {
            [] => 1.0,
            _ => of(members).problem(&law).mean().unwrap().value,
        };
        for s in 0..3 {
            let others: Vec<usize> = (0..3).filter(|&other| other != s).collect();
            let (axis, points) = (scenario.axis(s), [0.2, 0.4, 0.58]);
            let found = fitted.curve(Quantity::Shap, s, &points, axis, Centring::None).unwrap();
            let row: Vec<f64> = (0..3).map(|other| [0.4, 0.3, 0.2][other]).collect();
            let at_row = fitted.shap_at(&row).unwrap()[s];
            let (mut known, mut known_at_row) = ([0.0; 3], 0.0);
            for coalition in 0..4_usize {
                let is_member = |k: usize| coalition >> k & 1 == 1;
                let members: Vec<usize> =
                    (0..2).filter(|&k| is_member(k)).map(|k| others[k]).collect();
                let outside: Vec<usize> =
                    (0..2).filter(|&k| !is_member(k)).map(|k| others[k]).collect();
                let weight = [1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0][members.len()];
                let (with, without) = (mean(&outside), mean(&[&outside[..], &[s]].concat()));
                let inside = |x: f64| if x >= sides[s].1 && x < sides[s].2 { 1.0 } else { 0.0 };
                known_at_row += weight * (inside(row[s]) * with - without);
                let plot = match members[..] {
                    [] => vec![1.0; 3],
                    _ => {
                        let problem = of(&members).problem(&law);
                        let plot = problem.curve(Quantity::Mplot, s, &points, axis, Centring::None);
                        plot.unwrap().iter().map(|truth| truth.value).collect()
                    }
                };
                for ((known, x), share) in known.iter_mut().zip(points).zip(plot) {
                    *known += weight * share * (inside(x) * with - without);
                }
            }
            for (found, known) in found.iter().zip(known) {
                assert!((found.value - known).abs() < 1e-9, "x{}: {found:?}, {known}", s + 1);
                assert!(found.abs_error < 1e-12, "{found:?}");
            }
            assert!((at_row.value - known_at_row).abs() < 1e-9, "{at_row:?}, {known_at_row}");
        }
    }
}

/// Effects of two features, whole and interaction, in all centrings.
#[test]
fn of_two_features() {
    let free = "x1 = \"uniform(0, 1)\"\nx2 = \"normal(0.3, 0.5)\"\nx3 = \"exponential(2)\"\n";
    let tied = "x1 = \"uniform(0, 1)\"\nx2 = \"normal(x1^2, 0.3)\"\nx3 = \"uniform(0, 1)\"\n";
    for (law, pairs) in [(free, &[[0, 1], [2, 0]][..]), (tied, &[[0, 1], [1, 2]])] {
        let scenario = boxes().problem(law);
        let fitted = scenario.effects_of(TermSum::new(3, 0.0).with_boxes(boxes())).unwrap();
        let points: [&[f64]; 2] = [&[0.12, 0.5, 0.25, 0.9], &[0.65, 0.2, 0.71]];
        for &features in pairs {
            let axes = [(0.05, 0.95), (0.1, 0.9)];
            for centring in [Centring::None, Centring::Start, Centring::Integral, Centring::Data] {
                for (effect, interaction) in
                    [(Quantity::Pd, false), (Quantity::Pd, true), (Quantity::Ale, false)]
                {
                    let asked = PairEffect { effect, features, axes, centring, interaction };
                    let what = format!("{asked:?}");
                    match (fitted.surface(&asked, points), scenario.surface(&asked, points)) {
                        (Ok(found), Ok(known)) => agree(&found, &known, &what),
                        (Err(found), Err(_)) => assert!(
                            centring == Centring::None || effect == Quantity::Ale,
                            "{what}: {found}"
                        ),
                        (found, known) => panic!("{what}: {found:?}, {known:?}"),
                    }
                }
            }
        }
    }
}

/// Under a copula of one correlation the other features are integrated over together; a constant is added once.
#[test]
fn of_two_features_under_a_copula() {
    let law = three([0.8; 3]);
    let scenario = boxes().problem(&law);
    let sum = || TermSum::new(3, 0.0).with_boxes(boxes());
    let with_line = sum().with_term(SmoothTerm::linear(3.0, 0));
    let asked = |effect, interaction| PairEffect {
        effect,
        features: [0, 2],
        axes: [(0.05, 0.95), (0.1, 0.9)],
        centring: Centring::Data,
        interaction,
    };
    let points: [&[f64]; 2] = [&[0.12, 0.5], &[0.2, 0.71]];
    let fitted = scenario.effects_of(sum()).unwrap();
    for interaction in [false, true] {
        let asked = asked(Quantity::Pd, interaction);
        let found = fitted.surface(&asked, points).unwrap();
        agree(&found, &scenario.surface(&asked, points).unwrap(), &format!("{asked:?}"));
        let both = scenario.effects_of(sum().with_term(SmoothTerm::linear(3.0, 0))).unwrap();
        let lines = both.surface(&asked, points).unwrap();
        // The mean of x1 is ½; its interaction with x3 does not change.
        let of_line = |x: f64| if interaction { 0.0 } else { 3.0 * (x - 0.5) };
        for (place, (line, own)) in lines.iter().zip(&found).enumerate() {
            let known = own.value + of_line(points[0][place / 2]);
            assert!((line.value - known).abs() < 1e-10, "{line:?}, {known}");
        }
    }
    let error = fitted.surface(&asked(Quantity::Ale, false), points).unwrap_err().to_string();
    assert!(error.contains("no other feature depends on them, and x2 does"), "{error}");
    let plain = PairEffect { centring: Centring::None, ..asked(Quantity::Pd, false) };
    let [low, high] = [0.0, 7.0].map(|constant| {
        let sum = TermSum::new(3, constant).with_boxes(boxes());
        scenario.effects_of(sum).unwrap().surface(&plain, points).unwrap()[0].value
    });
    assert!((high - low - 7.0).abs() < 1e-12);
    let mplot = PairEffect { effect: Quantity::Mplot, ..plain };
    assert!(scenario.effects_of(with_line).unwrap().surface(&mplot, points).is_err());
}

/// Without correlation a copula is the law of independent features, whatever way its boxes are integrated.
#[test]
fn a_copula_without_correlation_is_no_dependence() {
    let set = [("rho".to_owned(), "0".to_owned())];
    let tied = fe_truth::scenario("friedman1-copula", &set).unwrap();
    let free = fe_truth::scenario("friedman1", &[]).unwrap();
    let ask = |scenario: &Scenario| {
        let sum = TermSum::new(scenario.dimension(), 0.0).with_boxes(boxes());
        let fitted = scenario.effects_of(sum).unwrap();
        let row = [0.5; 7];
        let curve = |s| {
            let points = [0.05, 0.3, 0.35, 0.6, 0.71, 0.9];
            fitted.curve(Quantity::Shap, s, &points, (0.0, 1.0), Centring::None).unwrap()
        };
        (0..3).flat_map(curve).chain(fitted.shap_at(&row).unwrap()).collect::<Vec<Truth>>()
    };
    agree(&ask(&tied), &ask(&free), "friedman1-copula of rho 0");
}

/// The mean of Shapley values of simulated rows against simulated rows, by the definition: all orders of the features.
#[test]
fn shap_dependence_under_a_copula_is_that_of_simulated_rows() {
    const ROWS: usize = 40_000;
    let set = [("rho".to_owned(), "0.7".to_owned()), ("noise_features".to_owned(), "0".to_owned())];
    let scenario = fe_truth::scenario("friedman1-copula", &set).unwrap();
    let five = SomeBoxes(vec![
        (vec![(0, 0.4, INFINITY), (1, -INFINITY, 0.7), (2, 0.3, 0.9), (3, 0.2, INFINITY)], 2.0),
        (vec![(0, -INFINITY, 0.4), (1, 0.5, INFINITY), (4, 0.1, 0.8)], -3.0),
        (vec![(1, 0.2, 0.6), (2, -INFINITY, 0.5), (3, 0.35, INFINITY), (4, 0.3, INFINITY)], 4.0),
        (vec![(0, 0.25, 0.8)], 1.0),
    ]);
    let sum = TermSum::new(5, 0.0).with_boxes(five.clone());
    let fitted = scenario.effects_of(sum).unwrap();
    let points = [0.3, 0.65];
    let found = fitted.curve(Quantity::Shap, 0, &points, (0.0, 1.0), Centring::None).unwrap();
    let inside = |side: &Side, x: f64| f64::from(u8::from(side.1 <= x && x < side.2));
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let normal = Normal::standard();
    let mut score = move || normal.inverse_cdf(rng.random::<f64>());
    let (root, rest) = (0.7_f64.sqrt(), 0.3_f64.sqrt());
    for (found, x) in found.iter().zip(points) {
        let z = normal.inverse_cdf(x);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..ROWS {
            // What ties the features together, given the first of them, and as it is.
            let ties = [root * z + rest * score(), score()];
            let [mut row, background] =
                ties.map(|tie| [(); 5].map(|()| normal.cdf(root * tie + rest * score())));
            row[0] = x;
            let value: f64 = five
                .0
                .iter()
                .filter(|(sides, _)| sides[0].0 == 0)
                .map(|(sides, constant)| {
                    let n = sides.len();
                    let others = 0..1_usize << (n - 1);
                    let gain = others.map(|coalition| {
                        let k = coalition.count_ones() as usize;
                        let orders = (1..=k).product::<usize>() * (1..n - k).product::<usize>();
                        let weight = orders as f64 / (1..=n).product::<usize>() as f64;
                        let rest = sides[1..].iter().enumerate().map(|(place, side)| {
                            let from = if coalition >> place & 1 == 1 { &row } else { &background };
                            inside(side, from[side.0])
                        });
                        let own = inside(&sides[0], row[0]) - inside(&sides[0], background[0]);
                        weight * own * rest.product::<f64>()
                    });
                    constant * gain.sum::<f64>()
                })
                .sum();
            sum += value;
            squares += value * value;
        }
        let mean = sum / ROWS as f64;
        let error = ((squares / ROWS as f64 - mean * mean) / ROWS as f64).sqrt();
        let apart = (found.value - mean).abs() / error;
        assert!(apart < 4.0, "at {x}: {found:?}, {mean} ± {error}");
        assert!(error < 0.02 && found.abs_error < 1e-12);
    }
}

/// Terms and boxes add up; a constant has no effect.
#[test]
fn sums_add_up() {
    let scenario = fe_truth::scenario("liu-product", &[("mu1".into(), "0.5".into())]).unwrap();
    let axis = scenario.axis(0);
    let two = SomeBoxes(vec![(vec![(0, 0.0, INFINITY), (1, -1.0, 1.0)], 2.0)]);
    let line = || SmoothTerm::linear(3.0, 0);
    let whole = || TermSum::new(2, 7.0).with_term(line()).with_boxes(two.clone());
    let smooth = || TermSum::new(2, 7.0).with_term(line());
    let steps = || TermSum::new(2, 0.0).with_boxes(two.clone());
    let flat = || TermSum::new(2, 7.0).with_boxes(SomeBoxes(vec![(vec![], 2.0)]));
    for effect in ALL {
        for centring in [Centring::None, Centring::Start] {
            let ask = |sum: TermSum<'_>| {
                let effects = scenario.effects_of(sum).unwrap();
                effects.curve(effect, 0, &[-1.0, 0.0, 2.0], axis, centring).unwrap()
            };
            let (whole, parts) = (ask(whole()), [ask(smooth()), ask(steps())]);
            for (k, whole) in whole.iter().enumerate() {
                let sum = parts[0][k].value + parts[1][k].value;
                assert!((whole.value - sum).abs() < 1e-12, "{effect}");
            }
            let constant = match (effect, centring) {
                (Quantity::Pd | Quantity::Mplot, Centring::None) => 9.0,
                _ => 0.0,
            };
            assert!(ask(flat()).iter().all(|t| (t.value - constant).abs() < 1e-13), "{effect}");
        }
    }
}

/// A line is its slope times the distance of the feature from its mean, to rounding.
#[test]
fn a_line_is_a_line() {
    for name in ["snc", "friedman1", "sin-indicator", "friedman1-copula"] {
        let scenario = fe_truth::scenario(name, &[]).unwrap();
        let lines = (0..scenario.dimension())
            .fold(TermSum::new(scenario.dimension(), 4.0), |s, j| {
                s.with_term(SmoothTerm::linear(j as f64 - 1.5, j))
            });
        let effects = scenario.effects_of(lines).unwrap();
        for feature in 0..scenario.dimension() {
            let (axis, slope) = (scenario.axis(feature), feature as f64 - 1.5);
            let points = [0.2, 0.5, 0.9].map(|share| axis.0 + share * (axis.1 - axis.0));
            for effect in [Quantity::Pd, Quantity::Ale, Quantity::Shap, Quantity::AleDerivative] {
                let found = effects.curve(effect, feature, &points, axis, Centring::Start).unwrap();
                for (found, x) in found.iter().zip(points) {
                    let known = slope * (x - axis.0);
                    assert!((found.value - known).abs() < 1e-12, "{name} {effect}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn questions_without_an_answer_are_refused() {
    let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    let sum = TermSum::new(3, 0.0).with_boxes(boxes());
    let effects = scenario.effects_of(sum).unwrap();
    let ask =
        |effect, points: &[f64]| effects.curve(effect, 0, points, (-1.0, 1.0), Centring::None);
    for effect in [Quantity::Dpd, Quantity::AleDerivative, Quantity::Mu, Quantity::ShapVariance] {
        let error = ask(effect, &[0.0]).unwrap_err();
        assert_eq!(error, Error::NotOfTrees { effect: effect.name() });
        assert_eq!(scenario.check_trees(effect, 0), Err(error));
    }
    assert!(matches!(ask(Quantity::Pd, &[1.5]), Err(Error::OutsideSupport { .. })));
    assert!(matches!(scenario.check_trees(Quantity::Pd, 3), Err(Error::NoSuchFeature { .. })));
    let copula = |rho: &str, noise: &str| {
        let set = [("rho", rho), ("noise_features", noise)].map(|(k, v)| (k.into(), v.into()));
        fe_truth::scenario("friedman1-copula", &set).unwrap()
    };
    for effect in [Quantity::Ale, Quantity::Shap] {
        assert!(copula("0.5", "2").check_trees(effect, 0).is_ok());
        let error = copula("-0.1", "2").check_trees(effect, 0).unwrap_err().to_string();
        assert!(error.contains("independent given one normal variable"), "{error}");
    }
    let sides = |n: usize| (0..n).map(|s| (s, 0.5, INFINITY)).collect();
    let deep = SomeBoxes(vec![(sides(17), 1.0)]);
    let scenario = copula("0.5", "13");
    let effects = scenario.effects_of(TermSum::new(18, 0.0).with_boxes(deep)).unwrap();
    let ask = |effect, s| effects.curve(effect, s, &[0.5], (0.0, 1.0), Centring::None);
    assert!(ask(Quantity::Ale, 0).is_ok() && ask(Quantity::Shap, 17).is_ok());
    let error = ask(Quantity::Shap, 0).unwrap_err().to_string();
    assert!(error.contains("a leaf tests 17 features that depend on each other"), "{error}");
    assert!(effects.shap_at(&[0.5; 18]).unwrap_err().to_string().contains("at most 16"));
    let text =
        "f = \"level(s, a: 0, b: 5, c: 1)\"\n[law]\ns = \"categorical(a: 0.2, b: 0.3, c: 0.5)\"\n";
    let words = fe_truth::problem("words", text, &[]).unwrap();
    let unseen = TermSum::new(1, 0.0).at_levels(0, vec![0.0, 2.0]);
    let error = words.effects_of(unseen).err().unwrap().to_string();
    assert!(error.contains("not defined at the level b of s"), "{error}");
}

/// A curve that is held against several others is integrated once.
#[test]
fn a_curve_that_is_asked_again_is_not_integrated_again() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let scenario = fe_truth::scenario("liu-product", &[]).unwrap();
    let value = |row: &[f64]| row[0] * row[1];
    let slope = |s: usize, row: &[f64]| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        row[1 - s]
    };
    let sum = TermSum::new(2, 0.0).with_term(SmoothTerm::new(&[0, 1], value, slope));
    let effects = scenario.effects_of(sum).unwrap();
    let ask = |points: &[f64]| {
        let before = ASKED.load(Ordering::Relaxed);
        let axis = scenario.axis(0);
        let curve = effects.curve(Quantity::Ale, 0, points, axis, Centring::Start).unwrap();
        (curve, ASKED.load(Ordering::Relaxed) - before)
    };
    let (first, asked) = ask(&[0.0, 1.0]);
    assert!(asked > 0);
    assert_eq!(ask(&[0.0, 1.0]), (first, 0));
    let (other, asked) = ask(&[0.0, 0.5]);
    assert!(asked > 0 && other.len() == 2);
}
