//! Subsamples and mean predictions: for every estimator, and the same rows for every feature.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::model::FunctionModel;
use fe_core::{AxisChoice, Dataset, Settings, estimator, regional};
use support::{curved, dataset, estimate, variants};

fn many(rows: usize) -> Dataset {
    let value = |i: usize, step: f64| (i as f64 * step).fract() * 10.0 - 5.0;
    let rows: Vec<[f64; 2]> =
        (0..rows).map(|i| [value(i, 0.618_033_988_75), value(i, 0.414_213_562_37)]).collect();
    dataset(&rows)
}

fn drawn(size: usize, seed: u64, settings: Settings) -> Settings {
    Settings {
        subsample: Some(size),
        subsample_seed: Some(seed),
        axis: Some(AxisChoice::Given(-5.0, 5.0)),
        ..settings
    }
}

/// The rows of the data that were drawn.
fn rows_of(data: &Dataset, size: usize, seed: u64, feature: usize) -> Vec<usize> {
    let settings = drawn(size, seed, Settings { grid: Some(2), ..Settings::default() });
    estimate(&("ice", settings), data, &curved(), feature).curves.unwrap().rows
}

#[test]
fn the_same_rows_for_every_feature_and_others_for_another_seed() {
    let data = many(200);
    let rows = rows_of(&data, 50, 1, 0);
    assert_eq!(rows.len(), 50);
    assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(rows, rows_of(&data, 50, 1, 1));
    assert_ne!(rows, rows_of(&data, 50, 2, 0));
}

#[test]
fn every_estimator_sees_the_drawn_rows_alone() {
    let data = many(80);
    let rows = rows_of(&data, 30, 4, 0);
    let subset = ndarray::Array2::from_shape_fn((30, 2), |(i, j)| data.feature(j)[rows[i]]);
    let subset = Dataset::from_rows(&subset.view()).unwrap();
    for (name, settings) in variants() {
        let settings = drawn(30, 4, settings);
        let on_all = Settings { subsample: None, subsample_seed: None, ..settings.clone() };
        let a = estimate(&(name, settings), &data, &curved(), 0);
        let b = estimate(&(name, on_all), &subset, &curved(), 0);
        assert_eq!((a.curve, a.heterogeneity), (b.curve, b.heterogeneity), "{name}");
        assert_eq!((a.record.rows, a.record.model_rows), (30, b.record.model_rows), "{name}");
        let record = a.record.subsample.unwrap();
        assert_eq!((record.asked, record.rows, record.of, record.seed), (30, 30, 80, 4));
        assert_eq!(b.record.subsample, None);
    }
}

#[test]
fn regions_are_of_the_drawn_rows() {
    let data = many(400);
    for info in regional::ALL {
        let fit = |settings: &Settings| {
            let regional = regional::from_settings(info.name, settings).unwrap();
            regional.fit(&data, &curved(), 0).unwrap().remove(0)
        };
        let effect = fit(&drawn(150, 1, Settings::default()));
        let record = effect.record.subsample.unwrap();
        assert_eq!((effect.record.rows, record.rows, record.of), (150, 150, 400), "{}", info.name);
        assert_eq!(effect.tree.nodes()[0].rows, 150);
        assert_eq!(fit(&Settings::default()).record.subsample, None);
    }
}

#[test]
fn all_rows_where_there_are_no_more() {
    let data = many(40);
    for (name, settings) in variants() {
        let plain = Settings { subsample: None, subsample_seed: None, ..settings };
        let all = Settings { subsample: Some(40), ..plain.clone() };
        let (a, b) = (
            estimate(&(name, all), &data, &curved(), 0),
            estimate(&(name, plain), &data, &curved(), 0),
        );
        assert_eq!((a.curve, a.heterogeneity), (b.curve, b.heterogeneity), "{name}");
        let record = a.record.subsample.unwrap();
        assert_eq!((record.asked, record.rows, record.of), (40, 40, 40));
    }
}

#[test]
fn mean_predictions_cost_a_row_each_where_they_were_not_known() {
    let rows = [[0.0, 1.0], [1.0, 4.0], [2.0, 7.0], [3.0, 100.0]];
    let data = dataset(&rows).with_weights(vec![1.0, 2.0, 1.0, 0.0]).unwrap();
    let model = FunctionModel::new(2, |x| x[0] + x[1]).with_partial(|_, _| 1.0);
    for (name, settings) in variants() {
        let without = Settings { mean_prediction: None, ..settings };
        let with = Settings { mean_prediction: Some(true), ..without.clone() };
        let plain = estimate(&(name, without), &data, &model, 0);
        let effect = estimate(&(name, with), &data, &model, 0);
        assert_eq!(effect.mean_prediction, Some((1.0 + 2.0 * 5.0 + 9.0) / 4.0), "{name}");
        let (known, more) = if name == "mplot" { (Some(5.0), 0) } else { (None, 3) };
        assert_eq!(plain.mean_prediction, known, "{name}");
        assert_eq!(effect.record.model_rows, plain.record.model_rows + more, "{name}");
    }
    let off = Settings { mean_prediction: Some(false), ..Settings::default() };
    let pdp = estimator::from_settings("pdp", &off).unwrap();
    assert_eq!(pdp.estimate(&data, &model, 0).unwrap()[0].mean_prediction, None);
}
