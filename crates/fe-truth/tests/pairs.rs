//! Effects of two features: by simulation that knows only the sampler and f, and by what they must satisfy.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Sample, all, assert_mean, at, spread};
use fe_core::model::{Column, Rows};
use fe_truth::{Centring, Error, PairEffect, Quantity, Scenario, problem};

const ROWS: usize = 4000;

/// The pairs of the first four features.
fn pairs(scenario: &Scenario) -> Vec<[usize; 2]> {
    let most = scenario.dimension().min(4);
    (0..most).flat_map(|a| (a + 1..most).map(move |b| [a, b])).collect()
}

fn asked(scenario: &Scenario, effect: Quantity, features: [usize; 2]) -> PairEffect {
    let axes = features.map(|feature| scenario.axis(feature));
    PairEffect { effect, features, axes, centring: Centring::Data, interaction: false }
}

fn values(scenario: &Scenario, asked: &PairEffect, points: [&[f64]; 2]) -> Vec<f64> {
    scenario.surface(asked, points).unwrap().into_iter().map(|truth| truth.value).collect()
}

/// f with two features replaced in every row.
fn f_with(sample: &Sample, features: [usize; 2], at: [f64; 2]) -> Vec<f64> {
    let mut columns: Vec<Column<'_>> =
        sample.columns.iter().map(|values| Column::Values(values)).collect();
    for side in 0..2 {
        columns[features[side]] = Column::Constant(at[side]);
    }
    let mut values = vec![0.0; sample.len];
    sample.scenario.model().predict(&Rows::new(&columns, sample.len), &mut values).unwrap();
    values
}

/// Every scenario at one point of its parameters, but for the one whose rest of a pair is integrated in more
/// than two dimensions.
fn quick() -> Vec<Scenario> {
    let mut known: Vec<&str> = vec!["feynman-i29-16"];
    let mut is_new = |scenario: &Scenario| {
        let name = scenario.info().name;
        let is_new = !known.contains(&name);
        known.push(name);
        is_new
    };
    all().into_iter().filter(|scenario| is_new(scenario)).collect()
}

#[test]
fn partial_dependence_of_pairs_by_simulation() {
    for scenario in all() {
        let sample = Sample::draw(&scenario, ROWS, 51);
        for features in pairs(&scenario) {
            let asked =
                PairEffect { centring: Centring::None, ..asked(&scenario, Quantity::Pd, features) };
            let points = features.map(|feature| spread(scenario.axis(feature), 2));
            let exact = values(&scenario, &asked, [&points[0], &points[1]]);
            for (place, exact) in exact.into_iter().enumerate() {
                let at = [points[0][place / 2], points[1][place % 2]];
                let what = format!("{scenario:?} pd of {features:?} at {at:?}");
                assert_mean(&f_with(&sample, features, at), exact, &what);
            }
        }
    }
}

/// The mean over the joint law of the pair, and over both axes, is 0.
#[test]
fn centred_surfaces_have_mean_zero() {
    for scenario in quick() {
        let sample = Sample::draw(&scenario, 240, 52);
        for features in pairs(&scenario) {
            let [a, b] = features;
            for (effect, interaction) in
                [(Quantity::Pd, false), (Quantity::Pd, true), (Quantity::Ale, false)]
            {
                let asked = PairEffect { interaction, ..asked(&scenario, effect, features) };
                let what = format!("{scenario:?} {effect} of {features:?}");
                // Rows are asked in blocks, each with all pairs of its points.
                let mut some = Vec::new();
                for (x, y) in sample.columns[a].chunks(30).zip(sample.columns[b].chunks(30)) {
                    let block = values(&scenario, &asked, [x, y]);
                    some.extend((0..x.len()).map(|i| block[i * y.len() + i]));
                }
                assert_mean(&some, 0.0, &what);
                let asked = PairEffect { centring: Centring::Integral, ..asked };
                let axes = asked.axes.map(|axis| spread(axis, 40));
                let all = values(&scenario, &asked, [&axes[0], &axes[1]]);
                let size = all.iter().map(|v| v.abs()).fold(0.0, f64::max);
                let mean = all.iter().sum::<f64>() / all.len() as f64;
                assert!(mean.abs() <= 0.08 * size + 1e-12, "{what}: {mean} of {size}");
            }
        }
    }
}

/// A second-order ALE has the mean mixed differences of f where the rest is independent of the pair, no
/// first-order ALE of its own, and mean 0: the three say all of it, and are simulated one by one.
#[test]
fn second_order_ale_by_simulation() {
    for scenario in quick() {
        let sample = Sample::draw(&scenario, ROWS, 53);
        for features in pairs(&scenario) {
            let asked = asked(&scenario, Quantity::Ale, features);
            let points = asked.axes.map(|axis| spread(axis, 2));
            let ale = values(&scenario, &asked, [&points[0], &points[1]]);
            let what = format!("{scenario:?} ale of {features:?}");
            let f = |i: usize, k: usize| f_with(&sample, features, [points[0][i], points[1][k]]);
            let corners = [f(1, 1), f(1, 0), f(0, 1), f(0, 0)];
            let mixed: Vec<f64> = (0..sample.len)
                .map(|row| corners[0][row] - corners[1][row] - corners[2][row] + corners[3][row])
                .collect();
            assert_mean(&mixed, ale[3] - ale[2] - ale[1] + ale[0], &what);
            for side in 0..2 {
                let (s, other) = (features[side], features[1 - side]);
                let axis = asked.axes[side];
                // Jumps at places that move are met by some rows only where the step is not too short.
                let moving = scenario.info().name == "threshold-linear";
                let share = if moving { 0.01 } else { 1e-4 };
                let step = share * (axis.1 - axis.0);
                let mut places = spread(axis, 2);
                places.extend(scenario.breaks(s));
                for x in places {
                    let given = Sample::draw_given(&scenario, s, x, 1500, 54);
                    let ends = [x - step, x + step];
                    let others = &given.columns[other];
                    let ask = |end: &f64| {
                        let end = std::slice::from_ref(end);
                        let points: [&[f64]; 2] =
                            if side == 0 { [end, others] } else { [others, end] };
                        values(&scenario, &asked, points)
                    };
                    let [low, high] = [ask(&ends[0]), ask(&ends[1])];
                    let changes: Vec<f64> = high.iter().zip(&low).map(|(a, b)| a - b).collect();
                    let size = high.iter().map(|v| v.abs()).fold(0.0, f64::max);
                    let mean = changes.iter().sum::<f64>() / changes.len() as f64;
                    let square = changes.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
                    let error = square.sqrt() / changes.len() as f64;
                    // Of third order in the step, but where a jump passes the row within it.
                    let remainder = if moving { 2e-2 * size } else { 6e-7 * size };
                    let allowed = 4.5 * error + remainder + 1e-10;
                    assert!(mean.abs() <= allowed, "{what} along {s} at {x}: {mean} of {error}");
                }
            }
        }
    }
}

/// Nothing is left of features that no term of f reads together, to the last bit.
#[test]
fn features_that_do_not_interact_have_no_interaction() {
    let scenario = at("friedman1", "noise_features=2");
    let points = spread((0.0, 1.0), 5);
    for features in [[0, 2], [2, 3], [3, 4], [0, 6], [5, 6]] {
        for (effect, interaction) in [(Quantity::Ale, false), (Quantity::Pd, true)] {
            let asked = PairEffect { interaction, ..asked(&scenario, effect, features) };
            assert!(values(&scenario, &asked, [&points, &points]).iter().all(|v| *v == 0.0));
        }
    }
    // x1 x3 + x2 x3: x1 and x2 are additive given the rest, though one factor has both.
    let text = "f = \"(a + b) * c + c^2\"\n[law]\na = \"uniform(0, 1)\"\nb = \"uniform(0, 1)\"\n\
                c = \"uniform(0, 2)\"\n";
    let scenario = problem("sum", text, &[]).unwrap();
    let asked = PairEffect { interaction: true, ..asked(&scenario, Quantity::Pd, [0, 1]) };
    assert!(values(&scenario, &asked, [&points, &points]).iter().all(|v| *v == 0.0));
}

/// Under independence the interaction part of PD is the second-order ALE, jumps included.
#[test]
fn without_dependence_pd_and_ale_agree() {
    for scenario in quick() {
        let independent = (0..scenario.dimension()).all(|s| scenario.is_independent(s));
        for features in pairs(&scenario).into_iter().filter(|_| independent) {
            let points = features.map(|feature| spread(scenario.axis(feature), 3));
            let ask = |effect, interaction, centring| {
                let asked =
                    PairEffect { interaction, centring, ..asked(&scenario, effect, features) };
                values(&scenario, &asked, [&points[0], &points[1]])
            };
            for centring in [Centring::Data, Centring::Integral, Centring::Start] {
                let pd = ask(Quantity::Pd, true, centring);
                let ale = ask(Quantity::Ale, false, centring);
                for (pd, ale) in pd.iter().zip(&ale) {
                    let allowed = 1e-11 * (1.0 + pd.abs());
                    assert!((pd - ale).abs() < allowed, "{scenario:?} {features:?} {centring}");
                }
            }
        }
    }
}

/// f = x1 x2 of normal features with correlation ρ. AZ's g is x1 x2 but for functions of one feature;
/// E[X2 | X1 = z] = μ2 + ρ (σ2 / σ1)(z − μ1) accumulates to μ2 x1 + ρ (σ2 / σ1)(x1 − μ1)² / 2.
#[test]
fn a_product_of_normal_features_by_hand() {
    let (mu, sd, rho) = ([1.3, -0.7], [0.6, 2.1], 0.9);
    let scenario = at("liu-product", "mu1=1.3;mu2=-0.7;sigma1=0.6;sigma2=2.1;rho=0.9");
    let accumulated = |s: usize, x: f64| {
        let (m, slope) = (mu[1 - s], rho * sd[1 - s] / sd[s]);
        m * x + 0.5 * slope * (x - mu[s]).powi(2)
    };
    let mean = |s: usize| mu[1 - s] * mu[s] + 0.5 * rho * sd[0] * sd[1];
    let product = mu[0] * mu[1] + rho * sd[0] * sd[1];
    let asked = asked(&scenario, Quantity::Ale, [0, 1]);
    let points = [[0.4, 1.9], [-3.0, 2.2]];
    let ale = scenario.surface(&asked, [&points[0], &points[1]]).unwrap();
    let derivative = PairEffect { effect: Quantity::AleDerivative, ..asked };
    let smooth = scenario.surface(&derivative, [&points[0], &points[1]]).unwrap();
    for (place, (ale, smooth)) in ale.iter().zip(smooth).enumerate() {
        let (x, y) = (points[0][place / 2], points[1][place % 2]);
        let exact = x * y - product - (accumulated(0, x) - mean(0)) - (accumulated(1, y) - mean(1));
        assert!((ale.value - exact).abs() < 1e-11, "{ale:?} {exact}");
        assert!((smooth.value - exact).abs() < 1e-11, "{smooth:?} {exact}");
        assert!((ale.value - exact).abs() <= ale.abs_error, "{ale:?} {exact}");
    }
}

/// f = x1·1{x2 > 0}: all of the interaction is in the jump, and the derivative form has none of it.
#[test]
fn jumps_are_apart_from_derivatives() {
    let text = "f = \"a * if(b > 0, 1, 0) + a * b\"\n[law]\na = \"uniform(-1, 1)\"\n\
                b = \"uniform(-1, 1)\"\n";
    let scenario = problem("jump", text, &[]).unwrap();
    let (x, y) = ([-0.6, 0.7], [-0.25, 0.5]);
    let ask = |effect| values(&scenario, &asked(&scenario, effect, [0, 1]), [&x, &y]);
    let (ale, smooth) = (ask(Quantity::Ale), ask(Quantity::AleDerivative));
    for place in 0..4 {
        let (x, y) = (x[place / 2], y[place % 2]);
        let step = if y > 0.0 { 0.5 } else { -0.5 };
        assert!((ale[place] - x * (step + y)).abs() < 1e-12, "{ale:?}");
        assert!((smooth[place] - x * y).abs() < 1e-12, "{smooth:?}");
    }
    let moving =
        "f = \"if(a + b > 0, 1, 0)\"\n[law]\na = \"normal(0, 1)\"\nb = \"0.5*a + normal(0, 1)\"\n";
    let scenario = problem("moving", moving, &[]).unwrap();
    let asked = asked(&scenario, Quantity::AleDerivative, [0, 1]);
    let refused = scenario.surface(&asked, [&x, &y]).unwrap_err().to_string();
    assert!(refused.contains("breaks at places that move"), "{refused}");
    let asked = PairEffect { effect: Quantity::Ale, ..asked };
    assert!(scenario.surface(&asked, [&x, &y]).is_ok());
}

#[test]
fn questions_that_mean_nothing_are_refused() {
    let scenario = at("poly3", "");
    let plain = asked(&scenario, Quantity::Pd, [0, 1]);
    let ask = |asked: PairEffect| scenario.surface(&asked, [&[0.5], &[0.5]]).unwrap_err();
    assert!(matches!(ask(PairEffect { features: [1, 1], ..plain }), Error::SameFeature { .. }));
    assert!(matches!(ask(PairEffect { features: [0, 3], ..plain }), Error::NoSuchFeature { .. }));
    assert!(matches!(ask(PairEffect { effect: Quantity::Mu, ..plain }), Error::NotOfPairs { .. }));
    let none = PairEffect { centring: Centring::None, ..plain };
    assert!(matches!(ask(PairEffect { effect: Quantity::Ale, ..none }), Error::Uncentred { .. }));
    assert!(matches!(ask(PairEffect { interaction: true, ..none }), Error::Uncentred { .. }));
    let axes = [(-1.0, 1.0), (0.5, 0.5)];
    assert!(matches!(ask(PairEffect { axes, ..plain }), Error::BadAxis { .. }));
    let outside = scenario.surface(&plain, [&[0.5], &[1.5]]).unwrap_err();
    assert!(matches!(outside, Error::OutsideSupport { .. }));
    // What a term reads beside the pair depends on it.
    let text = "f = \"a * b * c\"\n[law]\na = \"normal(0, 1)\"\nb = \"normal(0, 1)\"\n\
                c = \"a + normal(0, 1)\"\n";
    let scenario = problem("tied", text, &[]).unwrap();
    let refused = scenario.surface(&asked(&scenario, Quantity::Ale, [0, 1]), [&[0.5], &[0.5]]);
    assert!(refused.unwrap_err().to_string().contains("depends on them"));
    assert!(scenario.surface(&asked(&scenario, Quantity::Pd, [0, 1]), [&[0.5], &[0.5]]).is_ok());
}
