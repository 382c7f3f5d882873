//! Data that the tests share.

#![allow(dead_code)]

use fe_core::model::Rows;
use fe_core::{Dataset, Model};
use fe_models::{ALL, Learner, Task};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Options from `key=value`.
pub fn set(pairs: &[&str]) -> Vec<(String, String)> {
    let split = |pair: &&str| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    pairs.iter().map(|pair| split(pair).unwrap()).collect()
}

/// A learner with options from `key=value`.
pub fn learner(name: &str, pairs: &[&str]) -> Learner {
    Learner::new(name, &set(pairs)).unwrap()
}

/// Every learner with its defaults.
pub fn every_learner() -> Vec<(&'static str, Learner)> {
    ALL.iter().map(|info| (info.name, learner(info.name, &[]))).collect()
}

/// Uniform features and a curved function of them.
pub fn curved(rows: usize, columns: usize, seed: u64) -> (Dataset, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((rows, columns), || random.random::<f64>());
    let y = x.outer_iter().map(|x| x.iter().fold(0.5, |y, x| (3.0 * y * x).sin() + x)).collect();
    (Dataset::from_rows(&x.view()).unwrap(), y)
}

/// A target that a learner takes: classes by sign of what is above the mean, for a classifier.
pub fn target_for(learner: &Learner, y: &[f64]) -> Vec<f64> {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    match learner.task() {
        Task::Regression => y.to_vec(),
        Task::Classification => y.iter().map(|y| f64::from(*y > mean)).collect(),
    }
}

/// Predictions at all rows: all of the first output, then all of the next.
pub fn predict<M: Model + ?Sized>(model: &M, data: &Dataset) -> Vec<f64> {
    let mut values = vec![0.0; data.len() * model.outputs()];
    model.predict(&Rows::new(&data.columns(0..data.len()), data.len()), &mut values).unwrap();
    values
}

/// Derivatives at all rows, in the same order.
pub fn partial<M: Model + ?Sized>(model: &M, feature: usize, data: &Dataset) -> Vec<f64> {
    let mut values = vec![0.0; data.len() * model.outputs()];
    let columns = data.columns(0..data.len());
    model.partial(feature, &Rows::new(&columns, data.len()), &mut values).unwrap();
    values
}

/// The value of a fact of the summary.
pub fn fact(model: &dyn fe_models::FittedModel, name: &str) -> f64 {
    model.summary().into_iter().find(|fact| fact.name == name).unwrap().value
}

/// That two lists agree up to a share of the largest value of the second.
pub fn assert_close(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-300_f64, |size, x| size.max(x.abs()));
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance * size, "{what}, {i}: {got} for {expected}");
    }
}
