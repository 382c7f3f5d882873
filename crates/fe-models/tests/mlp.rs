//! The neural network: exact derivatives, reproducible fits, and fits that are good.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::Dataset;
use fe_models::{FitError, FittedModel};
use ndarray::Array2;
use support::{curved, fact, learner, partial, predict};

const SMALL: [&str; 3] = ["hidden=8,5", "epochs=20", "learning_rate=0.01"];

fn fitted(extra: &[&str], seed: u64) -> (Dataset, Vec<f64>, Box<dyn FittedModel>) {
    let (data, y) = curved(200, 3, 4);
    // What is given once more replaces what is small.
    let key = |option: &str| option.split('=').next().map(str::to_owned);
    let is_kept = |option: &&&str| extra.iter().all(|other| key(other) != key(option));
    let options: Vec<&str> = SMALL.iter().filter(is_kept).chain(extra).copied().collect();
    let model = learner("mlp", &options).fit(&data, &y, seed).unwrap();
    (data, y, model)
}

fn mean_squared(predicted: &[f64], y: &[f64]) -> f64 {
    predicted.iter().zip(y).map(|(p, y)| (p - y).powi(2)).sum::<f64>() / y.len() as f64
}

#[test]
fn derivatives_are_those_of_the_predictions() {
    for activation in ["relu", "tanh", "sigmoid", "silu"] {
        let (data, _, model) = fitted(&[&format!("activation={activation}")], 1);
        assert!(model.has_partial());
        for feature in 0..3 {
            let exact = partial(model.as_ref(), feature, &data);
            let step = 1e-6;
            let moved = |by: f64| {
                let rows = Array2::from_shape_fn((data.len(), 3), |(i, j)| {
                    data.feature(j)[i] + if j == feature { by } else { 0.0 }
                });
                predict(model.as_ref(), &Dataset::from_rows(&rows.view()).unwrap())
            };
            let numeric: Vec<f64> =
                moved(step).iter().zip(moved(-step)).map(|(a, b)| (a - b) / (2.0 * step)).collect();
            let close = |(exact, numeric): &(&f64, &f64)| (*exact - *numeric).abs() < 1e-7;
            let agreeing = exact.iter().zip(&numeric).filter(close).count();
            // A kink of relu lies within 1e-6 of one of 200 rows at most.
            let all = if activation == "relu" { data.len() - 1 } else { data.len() };
            assert!(agreeing >= all, "{activation}: {agreeing} agree");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_network_on_any_number_of_threads() {
    let (data, _, model) = fitted(&["hidden=64,48", "batch=128"], 3);
    let here = (predict(model.as_ref(), &data), partial(model.as_ref(), 1, &data));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let there = pool.install(|| {
            let (data, _, model) = fitted(&["hidden=64,48", "batch=128"], 3);
            (predict(model.as_ref(), &data), partial(model.as_ref(), 1, &data))
        });
        assert_eq!(here, there, "{threads} threads");
    }
    let (_, _, other) = fitted(&["hidden=64,48", "batch=128"], 4);
    assert_ne!(here.0, predict(other.as_ref(), &data));
}

#[test]
fn it_learns_a_curved_function() {
    let (data, y, model) =
        fitted(&["hidden=32,16", "epochs=1000", "activation=tanh", "learning_rate=0.005"], 1);
    let error = mean_squared(&predict(model.as_ref(), &data), &y);
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let spread = mean_squared(&vec![mean; y.len()], &y);
    assert!(error < 0.01 * spread, "{error} of {spread}");
}

#[test]
fn scales_of_features_and_target_do_not_matter() {
    let (data, y, model) = fitted(&[], 1);
    // Powers of two leave the scaled numbers as they are, to the last bit.
    let rows = Array2::from_shape_fn((200, 3), |(i, j)| 1024.0 * data.feature(j)[i]);
    let scaled = Dataset::from_rows(&rows.view()).unwrap();
    let target: Vec<f64> = y.iter().map(|y| 64.0 * y).collect();
    let other = learner("mlp", &SMALL).fit(&scaled, &target, 1).unwrap();
    let expected: Vec<f64> = predict(model.as_ref(), &data).iter().map(|p| 64.0 * p).collect();
    assert_eq!(predict(other.as_ref(), &scaled), expected);
    let slopes: Vec<f64> = partial(model.as_ref(), 2, &data).iter().map(|s| s / 16.0).collect();
    assert_eq!(partial(other.as_ref(), 2, &scaled), slopes);
}

#[test]
fn a_row_of_weight_two_counts_as_two_where_a_step_takes_all_rows() {
    let (data, y) = curved(40, 2, 2);
    let twice = |i: usize| i.is_multiple_of(3);
    let absent = |i: usize| i.is_multiple_of(7);
    let weights = (0..40).map(|i| f64::from(!absent(i)) * if twice(i) { 2.0 } else { 1.0 });
    let weighted = data.clone().with_weights(weights.collect()).unwrap();
    let rows: Vec<usize> = (0..40)
        .filter(|i| !absent(*i))
        .flat_map(|i| std::iter::repeat_n(i, if twice(i) { 2 } else { 1 }))
        .collect();
    let repeated = Array2::from_shape_fn((rows.len(), 2), |(i, j)| data.feature(j)[rows[i]]);
    let repeated = Dataset::from_rows(&repeated.view()).unwrap();
    let target: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
    let learner = learner("mlp", &["hidden=6", "epochs=30", "batch=1000", "activation=tanh"]);
    let one = learner.fit(&weighted, &y, 1).unwrap();
    let other = learner.fit(&repeated, &target, 1).unwrap();
    let (one, other) = (predict(one.as_ref(), &data), predict(other.as_ref(), &data));
    // Equal sums in another order; thirty steps let rounding grow a little.
    assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-10));
}

#[test]
fn summaries_and_options() {
    let (_, _, model) = fitted(&[], 1);
    // 3 × 8 + 8 and 8 × 5 + 5 and 5 + 1.
    assert_eq!(fact(model.as_ref(), "parameters"), 83.0);
    assert!(learner("mlp", &[]).options().starts_with("hidden=64,32;activation=relu"));
    for bad in ["hidden=", "hidden=0", "hidden=8,,8", "hidden=1.5", "activation=step", "batch=0"] {
        let error = fe_models::Learner::new("mlp", &support::set(&[bad])).unwrap_err();
        assert!(matches!(error, FitError::BadOption { .. }), "{bad}: {error}");
    }
}

#[test]
fn a_fit_that_diverges_is_an_error() {
    let (data, y) = curved(60, 2, 1);
    let options = ["learning_rate=10", "epochs=300", "hidden=64,64,64,64,64,64,64,64,64,64"];
    match learner("mlp", &options).fit(&data, &y, 0) {
        Err(error) => assert!(error.to_string().contains("lower `learning_rate`"), "{error}"),
        Ok(model) => assert!(predict(model.as_ref(), &data).iter().all(|v| v.is_finite())),
    }
}
