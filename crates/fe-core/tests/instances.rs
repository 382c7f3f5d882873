//! What single instances say adds up to the effect.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::estimator::{self, Estimated, InstanceEffects};
use fe_core::model::FunctionModel;
use fe_core::{Dataset, Settings};
use ndarray::Array2;

const ROWS: usize = 40;

fn data() -> Dataset {
    let value = |(i, j): (usize, usize)| ((i * (7 + 4 * j) + 3 * j) % ROWS) as f64 / ROWS as f64;
    Dataset::from_rows(&Array2::from_shape_fn((ROWS, 2), value).view()).unwrap()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn means_of_local_effects_are_bin_effects() {
    let (data, model) = (data(), FunctionModel::new(2, |x| x[0] * x[0] * (1.0 + x[1])));
    let rows: Vec<usize> = (0..ROWS).collect();
    for name in ["ale", "dale"] {
        let settings = Settings { bins: Some(5), ..Settings::default() };
        let estimator = estimator::from_settings(name, &settings).unwrap();
        let effect = &estimator.estimate(&data, &model, 0).unwrap()[0];
        let said =
            estimator.instances(Estimated { data: &data, model: &model, effect }, &rows).unwrap();
        let InstanceEffects::Slopes(slopes) = said else { panic!("{name}: {said:?}") };
        let bins = effect.bins.as_ref().unwrap();
        for (k, &expected) in bins.effect.iter().enumerate() {
            let inside = |row: &&usize| bins.partition.locate(data.feature(0)[**row]) == Some(k);
            let got = mean(rows.iter().filter(inside).map(|&row| slopes[row]));
            assert!((got - expected).abs() < 1e-12, "{name}, bin {k}: {got} and {expected}");
        }
    }
}

#[test]
fn the_mean_of_curves_is_the_effect() {
    let (data, model) = (data(), FunctionModel::new(2, |x| x[0] * x[0] * (1.0 + x[1])));
    let rows: Vec<usize> = (0..ROWS).collect();
    for name in ["pdp", "dpdp"] {
        let estimator = estimator::from_settings(name, &Settings::default()).unwrap();
        let effect = &estimator.estimate(&data, &model, 0).unwrap()[0];
        let said =
            estimator.instances(Estimated { data: &data, model: &model, effect }, &rows).unwrap();
        let InstanceEffects::Curves { x, y } = said else { panic!("{name}: {said:?}") };
        assert_eq!(x, effect.curve.x());
        for (i, expected) in effect.curve.y().iter().enumerate() {
            let got = mean(y.iter().map(|curve| curve[i]));
            assert!((got - expected).abs() < 1e-12, "{name}, point {i}: {got} and {expected}");
        }
    }
}

#[test]
fn rows_that_do_not_count_say_nothing() {
    let model = FunctionModel::new(2, |x| x[0] * x[1]);
    let mut weights = vec![1.0; ROWS];
    weights[3] = 0.0;
    let data = data().with_weights(weights).unwrap();
    for name in ["ale", "shapdp"] {
        let estimator = estimator::from_settings(name, &Settings::default()).unwrap();
        let effect = &estimator.estimate(&data, &model, 0).unwrap()[0];
        let said =
            estimator.instances(Estimated { data: &data, model: &model, effect }, &[2, 3]).unwrap();
        let (InstanceEffects::Slopes(values) | InstanceEffects::Contributions(values)) = said
        else {
            panic!("{name}: {said:?}")
        };
        assert!(values.len() == 2 && values[0].is_finite() && values[1].is_nan(), "{values:?}");
        assert!(
            estimator.instances(Estimated { data: &data, model: &model, effect }, &[ROWS]).is_err()
        );
    }
}
