//! `shapdp` on cases whose answer is known.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::estimator::shapley;
use fe_core::estimator::{Estimator, ShapDependence};
use fe_core::model::FunctionModel;
use fe_core::numeric::spline::Smoothing;
use fe_core::{AxisChoice, Centring, Dataset, Effect, Error, Settings};
use ndarray::Array2;
use support::{assert_close, estimate};

fn shapdp(data: &Dataset, model: &FunctionModel<'_>, settings: Settings) -> Effect {
    estimate(&("shapdp", settings), data, model, 0)
}

/// Independent uniform features on [0, 1], evenly filled.
fn uniform(rows: usize, dimension: usize) -> Dataset {
    let steps = [0.754_877_666_2, 0.569_840_290_9, 0.437_016_024_4];
    let value = |i: usize, j: usize| {
        (0.5 + (i + 1) as f64 * steps[j % 3] + (j / 3) as f64 * i as f64 * 0.137).fract()
    };
    Dataset::from_rows(&Array2::from_shape_fn((rows, dimension), |(i, j)| value(i, j)).view())
        .unwrap()
}

/// f = x1 x2 on independent uniform features: φ_1 = x1 x2 / 2 + (x1 − x2) / 4 − 1/8, so that its mean
/// given x1 is (x1 − ½) / 2 and its variance (x1 / 2 − 1/4)² / 12, 1/576 on average.
#[test]
fn a_product_has_the_dependence_that_is_known() {
    let product = FunctionModel::new(2, |x| x[0] * x[1]);
    for smoothing in [Smoothing::Gcv, Smoothing::Reml] {
        let settings = Settings { smoothing: Some(smoothing), ..Settings::default() };
        let effect = shapdp(&uniform(800, 2), &product, settings);
        for x in [0.1, 0.3, 0.5, 0.8, 0.95] {
            // sd of φ_1 about its mean is at most 0.07; 800 rows and some 5 degrees of freedom.
            let curve = effect.curve.at(x).unwrap();
            assert!((curve - (x - 0.5) / 2.0).abs() < 0.01, "at {x}: {curve}");
            let heterogeneity = effect.heterogeneity.at(x).unwrap();
            let truth = (x / 2.0 - 0.25).powi(2) / 12.0;
            assert!((heterogeneity - truth).abs() < 7e-4, "at {x}: {heterogeneity} not {truth}");
            assert!(heterogeneity >= 0.0);
        }
        let value = effect.heterogeneity_values["mean_residual"].unwrap();
        assert!((value * 576.0 - 1.0).abs() < 0.1, "{value}");
        assert_eq!(effect.default_heterogeneity, "mean_residual");
    }
}

#[test]
fn an_additive_curve_is_met_without_heterogeneity() {
    let model = FunctionModel::new(3, |x| (4.0 * x[0]).sin() + x[1] * x[2]);
    let effect = shapdp(&uniform(200, 3), &model, Settings::default());
    let truth: Vec<f64> = effect.curve.x().iter().map(|x| (4.0 * x).sin()).collect();
    let centred = fe_core::metric::centred_on_grid;
    // Twenty knots on the unit interval: h⁴ max|f⁗| / 384 and end effects.
    assert_close(&centred(effect.curve.y()), &centred(&truth), 2e-3);
    assert!(effect.heterogeneity_values["mean_residual"].unwrap() < 1e-6);
}

#[test]
fn values_of_all_features_are_reused() {
    let data = uniform(40, 3);
    let model = FunctionModel::new(3, |x| x[0] * x[1] + x[2].exp() * x[0]);
    let estimator = ShapDependence::on_grid(11).unwrap();
    let rows: Vec<usize> = (0..data.len()).collect();
    let values = shapley::values(&data, &model, &rows, &estimator.shapley(3)).unwrap();
    for feature in 0..3 {
        let reused = &estimator.of_values(&data, &values, feature).unwrap()[0];
        let direct = &estimator.estimate(&data, &model, feature).unwrap()[0];
        assert_eq!(serde_json::to_string(reused).unwrap(), serde_json::to_string(direct).unwrap());
    }
    let error = estimator.of_values(&uniform(40, 2), &values, 0).unwrap_err();
    assert!(matches!(error, Error::WrongCount { expected: 2, got: 3, .. }), "{error}");
    let error = estimator.of_values(&uniform(30, 3), &values, 0).unwrap_err();
    assert!(matches!(error, Error::WrongCount { expected: 30, .. }), "{error}");
}

#[test]
fn the_record_says_what_was_done() {
    let model = FunctionModel::new(3, |x| x[0] * x[1] * x[2]);
    let data = uniform(30, 3);
    let exact = shapdp(&data, &model, Settings::default()).record.shapley.unwrap();
    assert_eq!((exact.method, exact.pairs, exact.seed), ("exact", None, None));
    assert_eq!((exact.background, exact.background_seed), (30, None));
    assert_eq!((exact.rows_explained, exact.mean_standard_error), (30, None));
    assert!(exact.degrees_of_freedom >= 2.0);
    let settings = Settings {
        permutations: Some(5),
        shapley_seed: Some(8),
        background: Some(12),
        background_seed: Some(9),
        ..Settings::default()
    };
    let drawn = shapdp(&data, &model, settings).record.shapley.unwrap();
    assert_eq!((drawn.method, drawn.pairs, drawn.seed), ("permutations", Some(5), Some(8)));
    assert_eq!((drawn.background, drawn.background_seed), (12, Some(9)));
    assert!(drawn.mean_standard_error.unwrap() > 0.0);
    let many = FunctionModel::new(13, |x| x[0] * x[12]);
    let above = shapdp(&uniform(4, 13), &many, Settings::default()).record.shapley.unwrap();
    assert_eq!((above.method, above.pairs), ("permutations", Some(shapley::DEFAULT_PAIRS)));
    let additive = FunctionModel::new(3, |x| x[0] - x[1]);
    let line = shapdp(&data, &additive, Settings::default()).record.shapley.unwrap();
    assert_eq!((line.smoothing_parameter, line.knots, line.degrees_of_freedom), (None, None, 2.0));
}

#[test]
fn the_axis_says_which_rows_are_explained() {
    let data = uniform(50, 2);
    let model = FunctionModel::new(2, |x| x[0] * (1.0 + x[1]));
    let on = |lo, hi| Settings {
        axis: Some(AxisChoice::Given(lo, hi)),
        center: Some(Centring::None),
        ..Settings::default()
    };
    let part = shapdp(&data, &model, on(0.25, 0.75));
    let inside = data.feature(0).iter().filter(|x| (0.25..=0.75).contains(*x)).count();
    assert_eq!(part.record.rows_outside, 50 - inside);
    assert_eq!(part.record.shapley.unwrap().rows_explained, inside);
    assert_eq!(part.curve.range(), (0.25, 0.75));
    // Beyond the data the curve is straight.
    let wide = shapdp(&data, &model, on(-1.0, 2.0)).curve;
    let slope = |a: f64, b: f64| (wide.at(b).unwrap() - wide.at(a).unwrap()) / (b - a);
    assert!((slope(-1.0, -0.5) - slope(-0.5, -0.1)).abs() < 1e-9);
    let nowhere = fe_core::estimator::from_settings("shapdp", &on(3.0, 4.0)).unwrap();
    let error = nowhere.estimate(&data, &model, 0).unwrap_err();
    assert!(matches!(error, Error::NoRowsOnAxis { .. }), "{error}");
}

#[test]
fn further_points_do_not_move_the_curve() {
    let data = uniform(40, 2);
    let model = FunctionModel::new(2, |x| (5.0 * x[0]).cos() * x[1]);
    let with = |points: Vec<f64>| {
        shapdp(
            &data,
            &model,
            Settings { grid: Some(5), points: Some(points), ..Settings::default() },
        )
    };
    let (plain, more) = (with(vec![]), with(vec![0.33, 0.5, 7.0]));
    assert_eq!(more.curve.x().len(), 7);
    for &x in plain.curve.x() {
        assert_eq!(plain.curve.at(x).unwrap(), more.curve.at(x).unwrap());
    }
}
