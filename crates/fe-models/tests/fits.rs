//! What every fit must obey, whatever the model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use fe_core::Dataset;
use fe_models::{Learner, Task};
use ndarray::Array2;
use proptest::prelude::*;
use support::{assert_close, curved, learner, partial, predict, target_for};

/// Learners whose fit is a smooth function of the data, with a tolerance for it.
fn smooth() -> Vec<(&'static str, Learner, f64)> {
    let gam = |pairs: &[&str]| learner("gam", pairs);
    vec![
        ("linear", learner("linear", &[]), 1e-9),
        ("gam", gam(&["splines=8"]), 1e-6),
        ("gam, pairs", gam(&["splines=6", "interactions=all", "lambda=0.1"]), 1e-5),
        ("gam, gcv", gam(&["splines=8", "lambda=gcv"]), 1e-4),
        ("gam, reml", gam(&["splines=8", "lambda=reml"]), 1e-4),
        ("logistic", learner("logistic", &[]), 1e-7),
        ("logistic, logits", learner("logistic", &["output=logit", "C=3"]), 1e-7),
    ]
}

/// The same, and those that grow trees: a small change of a sum may change them much.
fn all() -> Vec<(&'static str, Learner)> {
    let mut all: Vec<_> = smooth().into_iter().map(|(name, learner, _)| (name, learner)).collect();
    all.extend(support::every_learner());
    all
}

fn rows(data: &Dataset) -> Array2<f64> {
    Array2::from_shape_fn((data.len(), data.dimension()), |(i, s)| data.feature(s)[i])
}

fn dataset(rows: &Array2<f64>) -> Dataset {
    Dataset::from_rows(&rows.view()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_rows_does_not_matter(seed in 0u64..1000, shift in 1usize..49) {
        let (data, y) = curved(50, 3, seed);
        let order: Vec<usize> = (0..50).map(|i| (i * 7 + shift) % 50).collect();
        let turned = dataset(&rows(&data).select(ndarray::Axis(0), &order));
        for (name, learner, tolerance) in smooth() {
            let y = target_for(&learner, &y);
            let turned_y: Vec<f64> = order.iter().map(|&i| y[i]).collect();
            let first = learner.fit(&data, &y, 1).unwrap();
            let second = learner.fit(&turned, &turned_y, 1).unwrap();
            assert_close(&predict(second.as_ref(), &data), &predict(first.as_ref(), &data), tolerance, name);
        }
    }

    #[test]
    fn a_weight_of_2_is_two_rows_and_0_none(seed in 0u64..1000) {
        let (data, y) = curved(50, 3, seed);
        let weights: Vec<f64> = (0..50).map(|i| f64::from(u8::try_from(i % 3).unwrap())).collect();
        let weighted = data.clone().with_weights(weights).unwrap();
        let order: Vec<usize> = (0..50).flat_map(|i| vec![i; i % 3]).collect();
        let repeated = dataset(&rows(&data).select(ndarray::Axis(0), &order));
        for (name, learner, tolerance) in smooth() {
            let y = target_for(&learner, &y);
            let repeated_y: Vec<f64> = order.iter().map(|&i| y[i]).collect();
            let first = learner.fit(&repeated, &repeated_y, 1).unwrap();
            let second = learner.fit(&weighted, &y, 1).unwrap();
            assert_close(&predict(second.as_ref(), &data), &predict(first.as_ref(), &data), tolerance, name);
        }
    }

    #[test]
    fn regressions_move_and_grow_with_target_and_features(
        seed in 0u64..1000, shift in -50.0..50.0f64, scale in prop::sample::select(vec![-8.0, 0.25, 1e3]),
    ) {
        let (data, y) = curved(60, 3, seed);
        let moved = dataset(&rows(&data).mapv(|x| x * scale + shift));
        let moved_y: Vec<f64> = y.iter().map(|y| y * scale + shift).collect();
        for (name, learner, tolerance) in smooth() {
            if learner.task() == Task::Classification {
                continue;
            }
            let plain = predict(learner.fit(&data, &y, 1).unwrap().as_ref(), &data);
            let expected: Vec<f64> = plain.iter().map(|y| y * scale + shift).collect();
            let of_target = learner.fit(&data, &moved_y, 1).unwrap();
            assert_close(&predict(of_target.as_ref(), &data), &expected, tolerance, name);
            let of_features = learner.fit(&moved, &y, 1).unwrap();
            assert_close(&predict(of_features.as_ref(), &moved), &plain, tolerance, name);
        }
    }

    #[test]
    fn a_linear_function_is_found(seed in 0u64..1000, a in -3.0..3.0f64, b in 0.1..3.0f64) {
        let (data, _) = curved(40, 2, seed);
        let (beyond, _) = curved(20, 2, seed + 1);
        let beyond = dataset(&rows(&beyond).mapv(|x| 3.0 * x - 1.0));
        let line = |data: &Dataset| -> Vec<f64> {
            (0..data.len()).map(|i| 5.0 + a * data.feature(0)[i] - b * data.feature(1)[i]).collect()
        };
        for (name, learner) in [
            ("linear", learner("linear", &[])),
            ("gam", learner("gam", &["lambda=1"])),
            ("gam, gcv", learner("gam", &["lambda=gcv"])),
        ] {
            let model = learner.fit(&data, &line(&data), 0).unwrap();
            // The ridge of a GAM pulls at its coefficients a little.
            let tolerance = if name == "linear" { 1e-12 } else { 1e-6 };
            assert_close(&predict(model.as_ref(), &beyond), &line(&beyond), tolerance, name);
            let slopes = partial(model.as_ref(), 1, &beyond);
            assert!(slopes.iter().all(|slope| (slope + b).abs() < 1e-5), "{name}");
        }
    }
}

#[test]
fn a_gam_of_endless_smoothing_is_the_linear_fit() {
    let (data, y) = curved(200, 3, 4);
    let linear = predict(learner("linear", &[]).fit(&data, &y, 0).unwrap().as_ref(), &data);
    let distance = |lambda: &str| -> f64 {
        let model = learner("gam", &[lambda]).fit(&data, &y, 0).unwrap();
        let values = predict(model.as_ref(), &data);
        values.iter().zip(&linear).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
    };
    // The distance falls as 1/λ, down to what the ridge of 1.5e-8 leaves.
    let (first, second, last) = (distance("lambda=1e4"), distance("lambda=1e6"), distance("lambda=1e10"));
    assert!(first < 0.1 && second < 0.02 * first && last < 1e-7, "{first} {second} {last}");
}

#[test]
fn chosen_smoothing_is_a_minimum_of_its_score_and_recovers_a_curve() {
    let (data, y) = curved(400, 1, 8);
    let noise = |i: usize| ((i * 7919 % 1000) as f64 / 1000.0 - 0.5) * 0.4;
    let noisy: Vec<f64> = y.iter().enumerate().map(|(i, y)| y + noise(i)).collect();
    for rule in ["gcv", "reml"] {
        let chosen = learner("gam", &[&format!("lambda={rule}")]).fit(&data, &noisy, 0).unwrap();
        let lambda = support::fact(chosen.as_ref(), "lambda");
        let degrees = support::fact(chosen.as_ref(), "degrees of freedom");
        assert!((3.0..15.0).contains(&degrees), "{rule}: {degrees}");
        let error = |values: &[f64]| -> f64 {
            values.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 400.0
        };
        // Noise of variance 0.013 and some ten degrees of freedom leave about 3e-4.
        let reached = error(&predict(chosen.as_ref(), &data));
        assert!(reached < 1e-3, "{rule}: {reached}");
        // The score by its definition, from fits of fixed λ.
        if rule == "gcv" {
            let score = |lambda: f64| {
                let option = format!("lambda={lambda}");
                let fit = learner("gam", &[&option]).fit(&data, &noisy, 0).unwrap();
                let left = 400.0 - support::fact(fit.as_ref(), "degrees of freedom");
                let values = predict(fit.as_ref(), &data);
                let rss: f64 = values.iter().zip(&noisy).map(|(a, b)| (a - b).powi(2)).sum();
                400.0 * rss / (left * left)
            };
            let best = score(lambda);
            for factor in [0.5, 0.8, 1.25, 2.0] {
                assert!(score(lambda * factor) > best, "{factor}");
            }
        }
    }
}

#[test]
fn derivatives_are_those_of_the_predictions() {
    let (data, y) = curved(80, 3, 2);
    let step = 1e-5;
    for (name, learner) in all() {
        let model = learner.fit(&data, &target_for(&learner, &y), 0).unwrap();
        if !model.has_partial() {
            continue;
        }
        for feature in 0..3 {
            let at = |sign: f64| {
                let mut x = rows(&data);
                x.column_mut(feature).mapv_inplace(|x| x + sign * step);
                predict(model.as_ref(), &dataset(&x))
            };
            let slopes = partial(model.as_ref(), feature, &data);
            for ((slope, up), down) in slopes.iter().zip(at(1.0)).zip(at(-1.0)) {
                let difference = (up - down) / (2.0 * step);
                assert!((slope - difference).abs() < 1e-5 * (1.0 + slope.abs()), "{name}");
            }
        }
    }
}

#[test]
fn main_effects_add_up_to_the_model_and_have_mean_0() {
    let (data, y) = curved(70, 3, 6);
    let weights: Vec<f64> = (0..70).map(|i| 0.5 + f64::from(u8::try_from(i % 4).unwrap())).collect();
    let data = data.with_weights(weights.clone()).unwrap();
    for name in ["linear", "gam"] {
        let model = learner(name, &[]).fit(&data, &y, 0).unwrap();
        let values = predict(model.as_ref(), &data);
        let effect = |s: usize, i: usize| model.main_effect(s, data.feature(s)[i]).unwrap();
        let constant = values[0] - (0..3).map(|s| effect(s, 0)).sum::<f64>();
        for (i, value) in values.iter().enumerate() {
            let sum: f64 = (0..3).map(|s| effect(s, i)).sum();
            assert!((constant + sum - value).abs() < 1e-9, "{name}");
        }
        for s in 0..3 {
            let mean: f64 = (0..70).map(|i| weights[i] * effect(s, i)).sum();
            assert!(mean.abs() < 1e-9, "{name}");
        }
        assert_eq!(model.main_effect(3, 0.5), None, "{name}");
    }
    let pair = learner("gam", &["interactions=x1:x3"]).fit(&data, &y, 0).unwrap();
    let known: Vec<bool> = (0..3).map(|s| pair.main_effect(s, 0.5).is_some()).collect();
    assert_eq!(known, [false, true, false]);
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let (data, y) = curved(300, 4, 3);
    for (name, learner) in all() {
        let y = target_for(&learner, &y);
        let values = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| predict(learner.fit(&data, &y, 11).unwrap().as_ref(), &data))
        };
        assert_eq!(values(1), values(4), "{name}");
    }
}
