//! Bad input has a defined outcome: a typed error, never a panic and never a wrong number.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_models::{ALL, FitError, Learner};
use ndarray::Array2;
use support::{curved, every_learner, set};

#[test]
fn names_and_options_that_do_not_exist() {
    let error = Learner::new("liner", &[]).unwrap_err();
    assert!(matches!(error, FitError::UnknownModel { .. }));
    assert!(error.to_string().ends_with("did you mean `linear`?"), "{error}");
    for info in ALL {
        let error = Learner::new(info.name, &set(&["no_such_option=1"])).unwrap_err();
        assert!(matches!(error, FitError::UnknownOption { .. }), "{}: {error}", info.name);
        for option in info.options {
            let given = format!("{}=-1e99", option.name);
            let error = Learner::new(info.name, &set(&[&given])).unwrap_err();
            assert!(matches!(error, FitError::BadOption { .. }), "{}: {error}", info.name);
            let default = format!("{}={}", option.name, option.default);
            let error = Learner::new(info.name, &set(&[&default, &default])).unwrap_err();
            assert!(matches!(error, FitError::RepeatedOption(_)), "{}: {error}", info.name);
        }
    }
}

#[test]
fn options_are_written_alike_however_they_are_given() {
    for info in ALL {
        let learner = Learner::new(info.name, &[]).unwrap();
        let pairs: Vec<&str> = learner.options().split_terminator(';').collect();
        assert_eq!(Learner::new(info.name, &set(&pairs)).unwrap().options(), learner.options());
    }
}

#[test]
fn targets_that_are_no_targets() {
    let (data, y) = curved(40, 2, 1);
    for (name, learner) in every_learner() {
        let outcome = |y: &[f64]| learner.fit(&data, y, 0).err().unwrap();
        assert_eq!(outcome(&y[1..]), FitError::WrongTargetLength { expected: 40, got: 39 });
        assert_eq!(outcome(&[3.0; 40]), FitError::ConstantTarget(3.0), "{name}");
        for bad in [f64::NAN, f64::INFINITY] {
            let mut y = y.clone();
            y[6] = bad;
            assert!(matches!(outcome(&y), FitError::TargetNotFinite { row: 7, .. }), "{name}");
        }
    }
}

#[test]
fn too_few_rows() {
    let (data, y) = curved(40, 2, 1);
    let mut weights = vec![0.0; 40];
    weights[3] = 2.0;
    let lonely = data.with_weights(weights).unwrap();
    let (single, one) = curved(1, 2, 1);
    for (name, learner) in every_learner() {
        for (data, y) in [(&lonely, &y), (&single, &one)] {
            let error = learner.fit(data, y, 0).err().unwrap();
            assert!(matches!(error, FitError::TooFewRows { rows: 1, .. }), "{name}: {error}");
        }
    }
}

#[test]
fn two_rows_and_more_columns_than_rows_give_a_finite_model_or_an_error() {
    for (rows, columns) in [(2, 1), (2, 5), (3, 2), (7, 12)] {
        let (data, y) = curved(rows, columns, 3);
        for (name, learner) in every_learner() {
            match learner.fit(&data, &y, 0) {
                Ok(model) => {
                    let values = support::predict(model.as_ref(), &data);
                    assert!(values.iter().all(|v| v.is_finite()), "{name}: {values:?}");
                }
                Err(error) => assert!(!error.to_string().contains("panicked"), "{name}: {error}"),
            }
        }
    }
}

#[test]
fn numbers_of_any_size_give_a_finite_model_or_an_error() {
    let (_, y) = curved(30, 2, 5);
    for scale in [1e-300, 1e-160, 1e160, 1e300] {
        let rows = Array2::from_shape_fn((30, 2), |(i, j)| scale * ((i * (7 + j)) % 30) as f64);
        let data = fe_core::Dataset::from_rows(&rows.view()).unwrap();
        for (name, learner) in every_learner() {
            for y in [y.clone(), y.iter().map(|y| y * scale).collect()] {
                match learner.fit(&data, &y, 0) {
                    Ok(model) => {
                        let values = support::predict(model.as_ref(), &data);
                        assert!(values.iter().all(|v| v.is_finite()), "{name}, {scale}");
                    }
                    Err(error) => {
                        assert!(!error.to_string().contains("panicked"), "{name}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn constant_and_repeated_features_do_no_harm() {
    let (_, y) = curved(60, 1, 9);
    let rows = Array2::from_shape_fn((60, 3), |(i, j)| match j {
        0 => 4.0,
        _ => (i * 7 % 60) as f64,
    });
    let data = fe_core::Dataset::from_rows(&rows.view()).unwrap();
    for (name, learner) in every_learner() {
        let y = support::target_for(&learner, &y);
        let model = learner.fit(&data, &y, 0).unwrap();
        let values = support::predict(model.as_ref(), &data);
        assert!(values.iter().all(|v| v.is_finite()), "{name}");
    }
}
