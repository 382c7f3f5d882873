//! Functions put together again from the effects of their features.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::model::{BatchModel, FunctionModel};
use fe_core::reconstruction::AdditiveReconstruction;
use fe_core::{AxisChoice, Centring, Dataset, Effect, Error, Model, Settings, estimator};
use ndarray::Array2;
use support::{curved, dataset};

fn effects(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> Vec<Effect> {
    let estimator = estimator::from_settings(name, settings).unwrap();
    (0..2).map(|s| estimator.estimate(data, model, s).unwrap().remove(0)).collect()
}

fn fixed(bins: usize) -> Settings {
    Settings { bins: Some(bins), binning: Some("fixed".to_owned()), ..Settings::default() }
}

/// x1³ − 2 x1 + 5 + x2²
fn additive() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| x[0].powi(3) - 2.0 * x[0] + 5.0 + x[1] * x[1])
}

/// All pairs of multiples of ¼ between 0 and 1, with uneven weights.
fn on_limits() -> Dataset {
    let quarter = |i: usize| i as f64 / 4.0;
    let rows: Vec<[f64; 2]> = (0..25).map(|i| [quarter(i % 5), quarter(i / 5)]).collect();
    dataset(&rows).with_weights((0..25).map(|i| f64::from(i % 3)).collect()).unwrap()
}

/// Whatever the centring of the effects was, and although the rows on the limits are weighted.
#[test]
fn additive_functions_come_back_at_the_limits() {
    let (data, f) = (on_limits(), additive());
    let grid = Settings { grid: Some(5), ..Settings::default() };
    for (name, settings) in [("ale", fixed(4)), ("pdp", grid)] {
        for center in [Centring::None, Centring::Start, Centring::Integral, Centring::Data] {
            let settings = Settings { center: Some(center), ..settings.clone() };
            let effects = effects(name, &settings, &data, &f);
            let sum = AdditiveReconstruction::new(&data, &f, &effects).unwrap();
            let mean: f64 = (0..25).map(|i| f64::from(i % 3) * value(&data, i as usize)).sum();
            assert!((sum.mean() - mean / 24.0).abs() < 1e-12);
            for row in 0..25 {
                let at = sum.at(&data.row(row).to_vec()).unwrap();
                assert!((at - value(&data, row)).abs() < 1e-12, "{name} {center:?} {row}");
            }
            assert!(sum.mean_squared_error() < 1e-24);
            assert!((sum.explained().unwrap() - 1.0).abs() < 1e-12);
            assert_eq!((sum.rows_outside(), sum.model_rows()), (0, 16));
        }
    }
}

fn value(data: &Dataset, row: usize) -> f64 {
    let (a, b) = (data.feature(0)[row], data.feature(1)[row]);
    a.powi(3) - 2.0 * a + 5.0 + b * b
}

/// A line between limits h apart is off by at most h²/8 of the largest second derivative.
#[test]
fn between_the_limits_they_are_off_by_the_curvature() {
    let f = additive();
    let place = |i: usize, step: f64| (i as f64 * step).fract();
    let mut rows: Vec<[f64; 2]> =
        (0..400).map(|i| [place(i, 0.618_034), place(i, 0.414_214)]).collect();
    rows.extend([[0.0, 0.0], [1.0, 1.0]]);
    let data = dataset(&rows);
    let mut before = f64::INFINITY;
    for bins in [2, 4, 8, 16] {
        let sum = AdditiveReconstruction::new(&data, &f, &effects("ale", &fixed(bins), &data, &f))
            .unwrap();
        let curvature = 6.0 + 2.0;
        let bound = curvature / (8.0 * (bins * bins) as f64);
        let all = sum.at_all(&Array2::from_shape_fn((402, 2), |(i, j)| rows[i][j]).view()).unwrap();
        // An error of the curve, and as much again of the mean over the rows.
        for (at, row) in all.iter().zip(0..) {
            assert!((at - value(&data, row)).abs() < 2.0 * bound, "{bins} bins");
        }
        // The mean squared error falls as h⁴.
        assert!(sum.mean_squared_error() < before / 10.0);
        before = sum.mean_squared_error();
    }
}

#[test]
fn what_is_not_additive_is_left_unexplained() {
    // x1 x2 on the corners of a square has no additive part.
    let data = dataset(&[[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]);
    let product = FunctionModel::new(2, |x| 3.0 * x[0] * x[1] + 1.0);
    let effects = effects("ale", &fixed(1), &data, &product);
    let sum = AdditiveReconstruction::new(&data, &product, &effects).unwrap();
    assert_eq!((sum.mean(), sum.mean_squared_error(), sum.explained()), (1.0, 9.0, Some(0.0)));
    // One effect alone: the other feature adds nothing.
    let plane = FunctionModel::new(2, |x| x[0] + 2.0 * x[1]);
    let effects = self::effects("ale", &fixed(1), &data, &plane);
    let sum = AdditiveReconstruction::new(&data, &plane, &effects[1..]).unwrap();
    assert!((sum.explained().unwrap() - 0.8).abs() < 1e-12);
    assert_eq!(sum.at(&[77.0, 0.5]).unwrap(), 1.0);
    let constant = FunctionModel::new(2, |_| 2.0);
    let effects = self::effects("ale", &fixed(1), &data, &constant);
    let sum = AdditiveReconstruction::new(&data, &constant, &effects).unwrap();
    assert_eq!((sum.mean_squared_error(), sum.explained()), (0.0, None));
}

#[test]
fn rows_beyond_an_effect_are_left_out_and_counted() {
    let data = dataset(&[[0.0, 0.0], [1.0, 0.5], [2.0, 1.0], [9.0, 1.0]]);
    let plane = FunctionModel::new(2, |x| x[0] + x[1]);
    let narrow = |lo, hi| Settings { axis: Some(AxisChoice::Given(lo, hi)), ..fixed(1) };
    let effects = effects("ale", &narrow(0.0, 2.0), &data, &plane);
    let sum = AdditiveReconstruction::new(&data, &plane, &effects).unwrap();
    assert_eq!(sum.rows_outside(), 1);
    assert!(matches!(sum.at(&[9.0, 1.0]), Err(Error::OutsideLimits { .. })));
    assert!(matches!(sum.at(&[1.0]), Err(Error::WrongCount { expected: 2, got: 1, .. })));
    // E f is over all rows: 12 + 2.5 over 4.
    assert_eq!(sum.mean(), 14.5 / 4.0);
    let far = {
        let pdp = estimator::from_settings(
            "pdp",
            &Settings { axis: Some(AxisChoice::Given(20.0, 30.0)), ..Settings::default() },
        );
        pdp.unwrap().estimate(&data, &plane, 0).unwrap()
    };
    let error = AdditiveReconstruction::new(&data, &plane, &far).unwrap_err();
    assert!(matches!(error, Error::NoRowsOnAxis { .. }), "{error}");
}

#[test]
fn effects_that_do_not_belong_together() {
    let data = on_limits();
    let f = curved();
    let with = |effects: &[Effect]| AdditiveReconstruction::new(&data, &f, effects).unwrap_err();
    let ale = effects("ale", &fixed(2), &data, &f);
    assert!(matches!(with(&[]), Error::WrongCount { .. }));
    let message = |effects: &[Effect]| match with(effects) {
        Error::Incompatible(message) => message,
        other => panic!("{other}"),
    };
    assert!(message(&[ale[0].clone(), ale[0].clone()]).contains("two effects of x1"));
    let derivative = effects("dpdp", &Settings::default(), &data, &f);
    assert!(message(&derivative[1..]).contains("x2 by `dpdp` is a derivative"));
    let two = BatchModel::new(2, 2, |rows| vec![1.0; 2 * rows.len()]);
    let of_two = estimator::from_settings("ale", &fixed(2)).unwrap();
    let of_two = of_two.estimate(&data, &two, 1).unwrap();
    assert!(message(&of_two[1..]).contains("output 2 of a model that has 1"));
    assert!(message(&[ale[0].clone(), of_two[1].clone()]).contains("outputs 1 and 2"));
    let elsewhere = Effect { feature: 7, ..ale[0].clone() };
    assert!(matches!(with(&[elsewhere]), Error::NoSuchFeature { feature: 7, .. }));
}
