//! Bins without instances: more than a tenth of them are said beside the curve.

#![allow(clippy::unwrap_used)]

use fe_core::estimator::{Ale, Estimator};
use fe_core::model::FunctionModel;
use fe_core::{Dataset, effect::BinningRecord};
use ndarray::Array2;

/// The record of ten bins of [0, 10] of which the first so many hold instances, and the last does.
fn record(full: usize) -> BinningRecord {
    let mut places: Vec<f64> = (0..4 * full).map(|i| i as f64 / 4.0 + 0.01).collect();
    places.extend([0.0, 10.0]);
    let rows = Array2::from_shape_vec((places.len(), 1), places).unwrap();
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(1, |x| 3.0 * x[0]);
    let mut effects = Ale::with_bins(10).unwrap().estimate(&data, &model, 0).unwrap();
    effects.swap_remove(0).record.binning.unwrap()
}

#[test]
fn a_tenth_of_the_bins_may_be_empty() {
    for full in [9, 8] {
        let record = record(full);
        assert_eq!(record.empty, 9 - full);
        assert!(!record.are_many_empty());
        assert_eq!(record.caution(), None);
    }
}

#[test]
fn the_caution_says_how_many_bins_are_empty_and_what_they_carry() {
    let record = record(6);
    assert!(record.are_many_empty());
    // The function is linear: three of ten equally wide bins carry three tenths.
    let said =
        "3 of 10 bins are without instances, which carry 30 % of the curve's rises and falls";
    assert_eq!(record.caution().as_deref(), Some(said));
    let unknown = BinningRecord { empty_share: None, ..record };
    assert_eq!(unknown.caution().as_deref(), Some("3 of 10 bins are without instances"));
}
