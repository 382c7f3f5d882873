//! How many rows the model will be asked for, said beforehand.

#![allow(clippy::unwrap_used)]

use fe_core::model::FunctionModel;
use fe_core::settings::Jacobian;
use fe_core::{AxisChoice, Dataset, Settings, estimator};
use ndarray::Array2;

const ROWS: usize = 60;

fn data() -> Dataset {
    let rows = Array2::from_shape_fn((ROWS, 3), |(i, j)| {
        ((i * (7 + 12 * j) + j) % ROWS) as f64 / (ROWS - 1) as f64
    });
    Dataset::from_rows(&rows.view()).unwrap()
}

/// What was told, and what was asked.
fn rows(name: &str, settings: &Settings) -> (u64, u64) {
    let model = FunctionModel::new(3, |x| x[0] * x[1] + x[2]);
    let estimator = estimator::from_settings(name, settings).unwrap();
    let told = estimator.cost(ROWS, &model).unwrap();
    let record = estimator.estimate(&data(), &model, 0).unwrap().swap_remove(0).record;
    (told, record.model_rows + record.jacobian_rows)
}

#[test]
fn as_many_rows_are_asked_as_were_told() {
    let own = Settings::default;
    let between = || Settings { points: Some(vec![0.21, 0.43]), ..own() };
    let given = Some(AxisChoice::Given(0.0, 1.0));
    for (name, settings) in [
        ("pdp", own()),
        ("pdp", Settings { grid: Some(7), ..own() }),
        ("pdp", Settings { grid: Some(7), ..between() }),
        ("pdp", Settings { grid: Some(7), even_points: Some(4), axis: given, ..between() }),
        ("ice", Settings { grid: Some(7), ..own() }),
        ("dpdp", Settings { grid: Some(7), jacobian: Some(Jacobian::Numeric), ..own() }),
        ("pdp", Settings { grid: Some(7), subsample: Some(20), ..own() }),
        ("pdp", Settings { grid: Some(7), subsample: Some(500), ..own() }),
        ("ale", Settings { bins: Some(4), ..own() }),
        ("dale", Settings { jacobian: Some(Jacobian::Numeric), ..own() }),
        ("mplot", own()),
    ] {
        let (told, asked) = rows(name, &settings);
        assert_eq!(told, asked, "{name} {settings:?}");
    }
    // Points that are on the grid already are told of where the axis is not known.
    let (told, asked) = rows("pdp", &Settings { grid: Some(7), even_points: Some(4), ..between() });
    assert!(asked < told && told <= asked + 4 * ROWS as u64, "{told} for {asked}");
}

#[test]
fn shapley_values_cost_nearly_what_was_told() {
    let own = Settings::default;
    let few = vec![vec![0.1, 0.5, 0.9], vec![0.7, 0.2, 0.4]];
    for settings in [
        own(),
        Settings { background: Some(10), ..own() },
        Settings { background: Some(5000), ..own() },
        Settings { background: Some(10), permutations: Some(3), ..own() },
        Settings { background_rows: Some(few), ..own() },
    ] {
        let (told, asked) = rows("shapdp", &settings);
        let off = told.abs_diff(asked) as f64;
        assert!(off <= 0.1 * asked as f64, "{settings:?}: {told} for {asked}");
    }
}
