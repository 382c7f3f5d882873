//! Bad input has a defined outcome: a typed error, never a panic and never a wrong number.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::data::FeatureKind;
use fe_core::model::{BatchModel, FunctionModel};
use fe_core::{AxisChoice, Centring, Dataset, Error, ModelError, Settings, estimator, regional};
use ndarray::{Array2, array};
use support::{constant, curved, dataset, variants};

fn every_estimator(data: &Dataset, model: &dyn fe_core::Model) -> Vec<Result<(), Error>> {
    let run = |(name, settings): (&str, Settings)| {
        // The axis is that of the data.
        let axis = settings.axis.filter(|axis| !matches!(axis, AxisChoice::Given(..)));
        let settings = Settings { axis, ..settings };
        estimator::from_settings(name, &settings)?.estimate(data, model, 0).map(|_| ())
    };
    variants().into_iter().map(run).collect()
}

#[test]
fn data_that_are_no_data() {
    let none = Dataset::from_rows(&Array2::zeros((0, 3)).view()).unwrap_err();
    assert!(matches!(none, Error::EmptyData { rows: 0, columns: 3 }));
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Dataset::from_rows(&array![[1.0, 2.0], [3.0, value]].view()).unwrap_err();
        assert!(error.to_string().starts_with("row 2, column x2"), "{error}");
    }
    let data = || dataset(&[[0.0, 1.0], [1.0, 2.0]]);
    assert!(matches!(data().with_weights(vec![1.0]), Err(Error::WrongCount { .. })));
    assert!(matches!(data().with_weights(vec![1.0, -1.0]), Err(Error::BadWeight { row: 2, .. })));
    assert!(matches!(data().with_weights(vec![0.0, 0.0]), Err(Error::BadWeight { .. })));
    let names = vec!["a".to_owned(), "a".to_owned()];
    assert!(matches!(data().with_names(names), Err(Error::DuplicateName(_))));
}

#[test]
fn one_row_and_constant_features_have_no_axis() {
    for rows in [vec![[3.0, 1.0]], vec![[3.0, 1.0], [3.0, 2.0]]] {
        for outcome in every_estimator(&dataset(&rows), &curved()) {
            assert!(
                matches!(outcome, Err(Error::ConstantFeature { value: 3.0, .. })),
                "{outcome:?}"
            );
        }
    }
}

#[test]
fn one_row_on_a_given_axis_has_an_effect_without_variance() {
    let settings = Settings { axis: Some(AxisChoice::Given(0.0, 4.0)), ..Settings::default() };
    let data = dataset(&[[3.0, 1.0]]);
    for name in ["pdp", "ice", "mplot", "ale", "dale", "rhale", "shapdp"] {
        let estimator = estimator::from_settings(name, &settings).unwrap();
        let effect = estimator.estimate(&data, &curved(), 0).unwrap().remove(0);
        assert!(effect.curve.y().iter().all(|y| y.is_finite()), "{name}");
        assert!(effect.heterogeneity.y().iter().all(|h| h.is_nan()), "{name}");
        assert!(effect.heterogeneity_values.values().all(Option::is_none), "{name}");
    }
}

/// Partial dependence learns from its sums that the model's values are finite: infinities of both signs,
/// rows that do not count and sums that are too large for a number must not deceive it.
#[test]
fn sums_tell_whether_values_are_finite() {
    let data = dataset(&[[0.0, 1.0], [1.0, -1.0], [0.5, 0.0], [0.2, 0.5]]);
    let unweighted = data.clone();
    let weighted = data.with_weights(vec![0.0, 1.0, 0.0, 2.0]).unwrap();
    let both = FunctionModel::new(2, |x| x[1] / 0.0);
    let first = FunctionModel::new(2, |x| if x[1] == 1.0 { f64::INFINITY } else { x[0] });
    let large = FunctionModel::new(2, |x| 1e308 + 1e300 * x[1]);
    for curve_only in [false, true] {
        let settings = Settings { curve_only: Some(curve_only), ..Settings::default() };
        let pdp = estimator::from_settings("pdp", &settings).unwrap();
        for data in [&unweighted, &weighted] {
            for model in [&both, &first] {
                let outcome = pdp.estimate(data, model, 0).map(|_| ());
                let named = matches!(outcome, Err(Error::Model(ModelError::NotFinite { .. })));
                assert!(named, "{outcome:?}");
            }
            let outcome = pdp.estimate(data, &large, 0).map(|_| ());
            let blamed = matches!(outcome, Err(Error::Model(_)));
            assert!(!blamed, "{outcome:?}");
        }
    }
}

#[test]
fn models_that_misbehave() {
    let data = dataset(&[[0.0, 1.0], [1.0, 2.0], [0.5, 0.0]]);
    let nan = FunctionModel::new(2, |_| f64::NAN).with_partial(|_, _| f64::INFINITY);
    for outcome in every_estimator(&data, &nan) {
        assert!(matches!(outcome, Err(Error::Model(ModelError::NotFinite { .. }))), "{outcome:?}");
    }
    let panicking =
        FunctionModel::new(2, |_| panic!("no idea")).with_partial(|_, _| panic!("no idea"));
    std::panic::set_hook(Box::new(|_| {}));
    let outcomes = every_estimator(&data, &panicking);
    let _ = std::panic::take_hook();
    for outcome in outcomes {
        let expected = Error::Model(ModelError::Panicked("no idea".to_owned()));
        assert_eq!(outcome, Err(expected));
    }
    let short = BatchModel::new(2, 1, |_| vec![0.0]);
    for outcome in every_estimator(&data, &short) {
        assert!(
            matches!(outcome, Err(Error::Model(ModelError::WrongLength { .. }))),
            "{outcome:?}"
        );
    }
    let wide = FunctionModel::new(3, |_| 0.0);
    for outcome in every_estimator(&data, &wide) {
        assert!(
            matches!(outcome, Err(Error::Model(ModelError::WrongDimension { .. }))),
            "{outcome:?}"
        );
    }
    let without =
        Settings { jacobian: Some(fe_core::settings::Jacobian::Model), ..Settings::default() };
    let dale = estimator::from_settings("dale", &without).unwrap();
    let outcome = dale.estimate(&data, &FunctionModel::new(2, |_| 0.0), 1);
    assert_eq!(outcome.unwrap_err(), Error::Model(ModelError::NoDerivative { feature: 1 }));
}

#[test]
fn options_out_of_their_range() {
    let refused = |name: &str, settings: Settings| {
        estimator::from_settings(name, &settings).err().unwrap_or_else(|| panic!("{settings:?}"))
    };
    let none = Settings::default;
    let unsorted = |limits: Vec<f64>| Settings {
        binning: Some("grid".to_owned()),
        limits: Some(limits),
        ..none()
    };
    assert!(matches!(refused("ale", unsorted(vec![0.0, 2.0, 1.0])), Error::UnsortedLimits { .. }));
    assert!(matches!(refused("ale", unsorted(vec![0.0, f64::NAN])), Error::UnsortedLimits { .. }));
    assert!(matches!(refused("ale", unsorted(vec![0.0])), Error::WrongCount { .. }));
    for (name, settings) in [
        ("nope", none()),
        ("ale", Settings { bins: Some(0), ..none() }),
        ("ale", Settings { binning: Some("nope".to_owned()), ..none() }),
        ("ale", Settings { ddof: Some(2), ..none() }),
        ("pdp", Settings { grid: Some(1), ..none() }),
        ("dale", Settings { step: Some(0.0), ..none() }),
        ("rhale", Settings { bins: Some(0), ..none() }),
        ("shapdp", Settings { grid: Some(1), ..none() }),
        ("ice", Settings { grid: Some(1), ..none() }),
        ("mplot", Settings { bins: Some(0), ..none() }),
        ("mplot", Settings { nearest: Some(0), ..none() }),
        ("mplot", Settings { nearest: Some(5), grid: Some(1), ..none() }),
        ("pdp", Settings { subsample: Some(0), ..none() }),
        ("pdp", Settings { subsample: Some(usize::MAX), ..none() }),
        ("shapdp", Settings { background: Some(0), ..none() }),
        ("shapdp", Settings { permutations: Some(0), ..none() }),
        ("rhale", Settings { discount: Some(1.5), ..none() }),
        ("rhale", Settings { discount: Some(f64::NAN), ..none() }),
        ("rhale", Settings { min_points: Some(-1.0), ..none() }),
    ] {
        let error = refused(name, settings);
        assert!(matches!(error, Error::BadOption { .. }), "{error}");
    }
    for (name, settings) in [
        ("pdp", Settings { bins: Some(5), ..none() }),
        ("ale", Settings { discount: Some(0.2), ..none() }),
        ("dale", Settings { undivided: Some(true), ..none() }),
        ("pdp", Settings { permutations: Some(4), ..none() }),
        ("shapdp", Settings { bins: Some(5), ..none() }),
        ("pdp", Settings { nearest: Some(5), ..none() }),
        ("ice", Settings { bins: Some(5), ..none() }),
        ("mplot", Settings { grid: Some(5), ..none() }),
        ("mplot", Settings { nearest: Some(5), bins: Some(5), ..none() }),
        ("mplot", Settings { discount: Some(0.5), ..none() }),
        ("ale", Settings { subsample_seed: Some(5), ..none() }),
        ("shapdp", Settings { background_seed: Some(5), ..none() }),
        ("ale", Settings { binning: Some("grid".to_owned()), ..none() }),
    ] {
        let error = refused(name, settings);
        assert!(matches!(error, Error::Incompatible(_)), "{error}");
    }
}

#[test]
fn axes_without_length_or_instances() {
    let data = dataset(&[[0.0, 1.0], [1.0, 2.0]]);
    let on = |lo, hi| {
        let settings = Settings { axis: Some(AxisChoice::Given(lo, hi)), ..Settings::default() };
        estimator::from_settings("ale", &settings)?.estimate(&data, &constant(), 0)
    };
    assert!(matches!(on(1.0, 1.0), Err(Error::BadAxis { .. })));
    assert!(matches!(on(2.0, 1.0), Err(Error::BadAxis { .. })));
    assert!(matches!(on(f64::NAN, 1.0), Err(Error::BadAxis { .. })));
    assert!(matches!(on(-f64::MAX, f64::MAX), Err(Error::BadAxis { .. })));
    assert!(matches!(on(5.0, 6.0), Err(Error::NoRowsOnAxis { .. })));
    let centred = Settings { center: Some(Centring::Bins), ..Settings::default() };
    let pdp = estimator::from_settings("pdp", &centred).unwrap();
    assert!(matches!(pdp.estimate(&data, &constant(), 0), Err(Error::Incompatible(_))));
    let pdp = estimator::from_settings("pdp", &Settings::default()).unwrap();
    assert!(matches!(pdp.estimate(&data, &constant(), 2), Err(Error::NoSuchFeature { .. })));
}

#[test]
fn m_plots_need_bins_that_exist_before_local_effects_and_instances_on_their_axis() {
    let data = dataset(&[[0.0, 1.0], [1.0, 2.0]]);
    let mplot = |settings: Settings| {
        estimator::from_settings("mplot", &settings)?.estimate(&data, &constant(), 0)
    };
    let automatic = Settings { binning: Some("dp".to_owned()), ..Settings::default() };
    assert!(matches!(mplot(automatic), Err(Error::Incompatible(_))));
    for nearest in [None, Some(1)] {
        let axis = Some(AxisChoice::Given(5.0, 6.0));
        let off = Settings { axis, nearest, ..Settings::default() };
        assert!(matches!(mplot(off), Err(Error::NoRowsOnAxis { .. })));
    }
    let centred =
        Settings { nearest: Some(1), center: Some(Centring::Bins), ..Settings::default() };
    assert!(matches!(mplot(centred), Err(Error::Incompatible(_))));
}

/// Refused before the model is asked for anything, and before there is memory for it.
#[test]
fn curves_of_too_many_instances_are_refused() {
    let rows: Vec<[f64; 2]> = (0..2000).map(|i| [f64::from(i), 0.0]).collect();
    let settings = Settings { grid: Some(50_001), ..Settings::default() };
    for name in ["ice", "dice"] {
        let ice = estimator::from_settings(name, &settings).unwrap();
        let silent = FunctionModel::new(2, |_| panic!("asked"));
        let error = ice.estimate(&dataset(&rows), &silent, 0).unwrap_err();
        assert!(matches!(error, Error::BadOption { option: "grid", .. }), "{error}");
        assert!(error.to_string().contains("`subsample`"), "{error}");
    }
}

/// Tiny and huge units, more bins than rows, all effects equal: numbers, missing values, or the error
/// that says that there is no number for it.
#[test]
fn extreme_scales_do_not_panic() {
    for scale in [1e-300, 1e-150, 1.0, 1e150, 1e300] {
        let rows: Vec<[f64; 2]> =
            (0..30).map(|i| [scale * f64::from(i) / 30.0, f64::from(i % 7)]).collect();
        let data = dataset(&rows);
        let linear = FunctionModel::new(2, |x| x[0] + x[1]).with_partial(|_, _| 1.0);
        let huge = FunctionModel::new(2, |x| 1e300 * x[1]).with_partial(|s, _| 1e300 * s as f64);
        for model in [&linear, &huge] {
            for outcome in every_estimator(&data, model) {
                let beyond_numbers = matches!(outcome, Err(Error::Overflow { .. }));
                assert!(outcome.is_ok() || beyond_numbers, "{scale}: {outcome:?}");
            }
        }
    }
    let data = dataset(&[[0.0, 1.0], [1.0, 2.0], [0.3, 5.0]]);
    for name in ["ale", "dale", "rhale"] {
        let many = Settings { bins: Some(1000), ..Settings::default() };
        let estimator = estimator::from_settings(name, &many).unwrap();
        let effect = estimator.estimate(&data, &curved(), 0).unwrap().remove(0);
        assert!(effect.curve.y().iter().all(|y| y.is_finite()));
    }
    // Two neighbouring floating-point numbers leave no room for twenty limits.
    let data = dataset(&[[1.0, 1.0], [1.0 + f64::EPSILON, 2.0]]);
    for outcome in every_estimator(&data, &curved()) {
        // Nor for the step of a numeric derivative.
        let beyond_numbers = matches!(outcome, Err(Error::BadOption { option: "step", .. }));
        assert!(outcome.is_ok() || beyond_numbers, "{outcome:?}");
    }
}

#[test]
fn means_over_more_instances_than_there_are_are_refused() {
    let rows = ndarray::Array2::from_shape_fn((20, 1), |(i, _)| i as f64);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(1, |x| x[0]);
    let nearest = |nearest| {
        let settings = Settings { nearest: Some(nearest), ..Settings::default() };
        estimator::from_settings("mplot", &settings).unwrap().estimate(&data, &model, 0)
    };
    assert!(nearest(20).is_ok());
    for more in [21, 1000] {
        let refused = nearest(more).unwrap_err();
        assert!(matches!(refused, Error::BadOption { option: "nearest", .. }), "{refused}");
    }
}

#[test]
fn the_kinds_of_other_features_change_nothing() {
    let rows = ndarray::array![[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [3.0, 2.0]];
    let numbers = Dataset::from_rows(&rows.view()).unwrap();
    let kinds = vec![FeatureKind::Continuous, FeatureKind::Nominal];
    let levels = numbers.clone().with_kinds(kinds).unwrap();
    let model = FunctionModel::new(2, |x| x[0] * x[1]).with_partial(|s, x| x[1 - s]);
    for info in estimator::ALL {
        let estimator = estimator::from_settings(info.name, &Settings::default()).unwrap();
        let [one, two] =
            [&numbers, &levels].map(|data| estimator.estimate(data, &model, 0).unwrap());
        assert_eq!(one[0].curve, two[0].curve, "{}", info.name);
    }
    let leaf = Settings { leaf: Some(1.0), ..Settings::default() };
    let regional = regional::from_settings("regional-ale", &leaf).unwrap();
    assert!(regional.fit(&levels, &model, 0).is_ok());
}

#[test]
fn shapley_values_that_are_too_large_are_named() {
    let rows =
        ndarray::Array2::from_shape_fn((10, 2), |(i, j)| ((i + 1) * (j + 3) % 7) as f64 - 3.0);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(2, |x| if x[0] > 0.0 { 1.7e308 } else { -1.7e308 });
    let estimator = estimator::from_settings("shapdp", &Settings::default()).unwrap();
    let refused = estimator.estimate(&data, &model, 0).unwrap_err();
    assert!(refused.to_string().contains("Shapley values of x1"), "{refused}");
}
