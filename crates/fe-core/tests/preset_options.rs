//! The options that presets are made of, worked out by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::model::FunctionModel;
use fe_core::numeric::partition::Closed;
use fe_core::numeric::quantiles::QuantileRule;
use fe_core::settings::CenterRule;
use fe_core::settings::EmptyBins;
use fe_core::{AxisChoice, Centring, Dataset, Effect, Error, Settings, estimator, preset};
use support::{assert_close, curved, dataset, estimate};

fn product() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| x[0] * x[1]).with_partial(|s, x| x[1 - s])
}

fn none() -> Settings {
    Settings::default()
}

fn uncentred(settings: Settings) -> Settings {
    Settings { center: Some(Centring::None), ..settings }
}

fn product_effect(name: &'static str, settings: Settings, rows: &[[f64; 2]]) -> Effect {
    estimate(&(name, settings), &dataset(rows), &product(), 0)
}

fn limits(settings: Settings, values: &[f64]) -> Vec<f64> {
    let rows: Vec<[f64; 2]> = values.iter().map(|&x| [x, x]).collect();
    let settings = Settings { binning: Some("quantile".to_owned()), ..settings };
    product_effect("ale", settings, &rows).curve.x().to_vec()
}

#[test]
fn empty_bins_between_numbers_of_bins_and_between_centres() {
    let rows = [[0.0, 1.0], [0.9, 1.0], [3.5, 4.0], [4.0, 4.0]];
    let with = |empty| Settings {
        binning: Some("grid".to_owned()),
        limits: Some(vec![0.0, 1.0, 3.0, 4.0]),
        empty: Some(empty),
        ..none()
    };
    let effect = |empty| product_effect("dale", with(empty), &rows).bins.unwrap().effect;
    assert_eq!(effect(EmptyBins::InterpolateIndex), [1.0, 2.5, 4.0]);
    assert_eq!(effect(EmptyBins::Interpolate), [1.0, 2.5, 4.0]);
    let with = |empty| Settings { limits: Some(vec![0.0, 1.0, 1.5, 4.0]), ..with(empty) };
    let effect = |empty| product_effect("dale", with(empty), &rows).bins.unwrap().effect;
    assert_eq!(effect(EmptyBins::InterpolateIndex), [1.0, 2.5, 4.0]);
    // The centres are ½, 1¼ and 2¾.
    assert_eq!(effect(EmptyBins::Interpolate), [1.0, 2.0, 4.0]);
}

#[test]
fn undefined_variances_are_missing_or_filled() {
    let rows = [[0.0, 1.0], [0.5, 3.0], [1.5, 2.0], [2.0, 4.0], [3.0, 10.0]];
    let with = |fill_variances| {
        let settings = Settings { bins: Some(3), fill_variances, ..none() };
        product_effect("dale", settings, &rows)
    };
    let (missing, filled) = (with(None), with(Some(true)));
    assert_eq!(missing.bins.unwrap().variance, [Some(2.0), None, Some(18.0)]);
    assert!(missing.heterogeneity.y()[1].is_nan());
    assert_eq!(filled.heterogeneity.y(), [2.0, 10.0, 18.0]);
    assert_eq!(filled.bins.unwrap().variance[1], None);
    assert_eq!(missing.heterogeneity_values, filled.heterogeneity_values);
}

#[test]
fn quantiles_by_their_rules() {
    let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
    let by = |quantiles| limits(Settings { bins: Some(4), quantiles, ..none() }, &values);
    assert_eq!(by(None), [1.0, 4.0, 16.0, 64.0, 256.0]);
    assert_eq!(by(Some(QuantileRule::Type1)), [1.0, 4.0, 16.0, 64.0, 256.0]);
    assert_eq!(by(Some(QuantileRule::Type1Below)), [1.0, 2.0, 8.0, 32.0, 256.0]);
    // Ranks 2.7, 5 and 7.3.
    assert_close(&by(Some(QuantileRule::Cunnane)), &[1.0, 3.4, 16.0, 83.2, 256.0], 1e-12);
}

#[test]
fn few_distinct_values_are_the_limits() {
    let values = [3.0, 1.0, 1.0, 2.0, 7.0, 3.0];
    let up_to =
        |distinct| limits(Settings { bins: Some(2), distinct: Some(distinct), ..none() }, &values);
    assert_eq!(up_to(4), [1.0, 2.0, 3.0, 7.0]);
    assert_eq!(up_to(3), [1.0, 2.5, 7.0]);
}

#[test]
fn poor_quantile_bins_join_their_right_neighbour() {
    let values = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0];
    let least = |min_points| {
        limits(Settings { bins: Some(4), min_points: Some(min_points), ..none() }, &values)
    };
    // Type 7: 0, 0, 0.5, 2.25 and 4, with 4, 2 and 2 instances between them.
    assert_eq!(least(0.0), [0.0, 0.5, 2.25, 4.0]);
    assert_eq!(least(2.0), [0.0, 0.5, 2.25, 4.0]);
    assert_eq!(least(3.0), [0.0, 0.5, 4.0]);
    assert_eq!(least(5.0), [0.0, 4.0]);
    assert_eq!(least(99.0), [0.0, 4.0]);
}

#[test]
fn means_over_points_centre_curves_and_ice_curves() {
    // x0² over [0, 1] on the grid 0, ½, 1: plain mean 5/12, trapezoid 3/8.
    let square = FunctionModel::new(2, |x| x[0] * x[0] * x[1]);
    let rows = [[0.0, 1.0], [0.25, 1.0], [1.0, 4.0]];
    let with = |center_rule, center_points| {
        let settings = Settings { grid: Some(3), center_rule, center_points, ..none() };
        estimate(&("pdp", settings), &dataset(&rows), &square, 0)
    };
    let (plain, exact) = (with(Some(CenterRule::Points), Some(3)), with(None, None));
    assert_close(plain.curve.y(), &[-10.0 / 12.0, -4.0 / 12.0, 14.0 / 12.0], 1e-15);
    assert_close(exact.curve.y(), &[-0.75, -0.25, 1.25], 1e-15);
    // The variance of x1 is 2, and an ICE curve is x1 times x0² less its mean.
    let variance = |mean: f64| [0.0, 0.25, 1.0].map(|x: f64| 2.0 * (x - mean) * (x - mean));
    assert_close(plain.heterogeneity.y(), &variance(5.0 / 12.0), 1e-15);
    assert_close(exact.heterogeneity.y(), &variance(3.0 / 8.0), 1e-15);
    // The middles ¼ and ¾ of the line through the grid: ⅛ and ⅝.
    let middles = with(Some(CenterRule::Midpoints), Some(3));
    assert_close(middles.heterogeneity.y(), &variance(3.0 / 8.0), 1e-15);
    let four = with(Some(CenterRule::Points), Some(4));
    let mean = (0.0 + 1.0 / 6.0 + 0.5 + 1.0) / 4.0;
    assert_close(four.heterogeneity.y(), &variance(mean), 1e-15);
    assert!((four.record.centring_constant - 2.0 * mean).abs() < 1e-15);
}

#[test]
fn a_grid_of_distinct_values() {
    let rows = [[0.0, 1.0], [3.0, 1.0], [1.0, 4.0], [3.0, 2.0]];
    let with = |distinct, axis| {
        let settings = Settings { grid: Some(5), distinct: Some(distinct), axis, ..none() };
        product_effect("pdp", uncentred(settings), &rows)
    };
    let quantiles = AxisChoice::Quantiles { from: 0.3, to: 0.7, rule: QuantileRule::Type7 };
    for axis in [None, Some(AxisChoice::Data), Some(quantiles)] {
        let effect = with(3, axis);
        assert_eq!(effect.curve.x(), [0.0, 1.0, 3.0]);
        assert_eq!(effect.curve.y(), [0.0, 2.0, 6.0]);
    }
    assert_eq!(with(3, Some(AxisChoice::Given(0.5, 9.0))).curve.x(), [1.0, 3.0]);
    assert_eq!(with(2, None).curve.x(), [0.0, 0.75, 1.5, 2.25, 3.0]);
    assert_close(with(2, Some(quantiles)).curve.x(), &[0.9, 1.425, 1.95, 2.475, 3.0], 1e-15);
}

#[test]
fn the_score_of_effector_is_in_units_of_the_output() {
    let rows = [[0.0, 1.0], [0.25, 3.0], [0.5, 2.0], [0.75, 4.0], [1.0, 6.0]];
    let settings = || Settings { bins: Some(2), ddof: Some(0), ..none() };
    let score = |effect: &Effect| effect.heterogeneity_values["effector_score"].unwrap();
    let effect = product_effect("dale", settings(), &rows);
    // Variances 1 of two slopes and 8/3 of three; the variance of x0 is ⅛.
    assert!((score(&effect) - ((2.0 + 8.0) / 5.0 / 8.0_f64).sqrt()).abs() < 1e-15);
    let unit = |scale: f64| {
        let model = FunctionModel::new(2, move |x| x[0] * x[1] / scale)
            .with_partial(move |s, x| x[1 - s] / scale);
        let rows: Vec<[f64; 2]> = rows.iter().map(|r| [r[0] * scale, r[1]]).collect();
        score(&estimate(&("dale", settings()), &dataset(&rows), &model, 0))
    };
    assert!((unit(8.0) - score(&effect)).abs() < 1e-15);
    // ICE curves x1·(x0 − ½): the variance 2.96 of x1 times the mean ⅛ of (x0 − ½)².
    let effect = product_effect("pdp", Settings { grid: Some(5), ..none() }, &rows);
    assert!((score(&effect) - (2.96_f64 / 8.0).sqrt()).abs() < 1e-15);
    let effect = product_effect("dpdp", Settings { grid: Some(5), ..none() }, &rows);
    assert!((score(&effect) - (2.96_f64 / 8.0).sqrt()).abs() < 1e-15);
}

#[test]
fn explicit_options_win_over_a_preset() {
    let complete = |given| preset::complete("effector-0.6", "rhale", given).unwrap();
    let discount = complete(Settings { discount: Some(0.0), ..none() });
    assert_eq!((discount.discount, discount.min_points), (Some(0.0), Some(2.0)));
    let other = complete(Settings { binning: Some("agglomerative".to_owned()), ..none() });
    assert_eq!((other.discount, other.bins), (Some(0.3), Some(20)));
    let fixed = complete(Settings { binning: Some("fixed".to_owned()), bins: Some(7), ..none() });
    assert_eq!((fixed.discount, fixed.min_points, fixed.bins), (None, None, Some(7)));
    assert_eq!(fixed.empty, Some(EmptyBins::InterpolateIndex));
    let greedy = complete(Settings { binning: Some("greedy".to_owned()), ..none() });
    assert_eq!((greedy.discount, greedy.bins), (None, None));
    let exact = complete(Settings { center_rule: Some(CenterRule::Exact), ..none() });
    assert_eq!(exact.center_points, None);
    for given in [discount, other, fixed, greedy, exact] {
        estimator::from_settings("rhale", &given).unwrap();
    }
    let left = Settings { closed: Some(Closed::Left), ..none() };
    assert_eq!(preset::complete("alibi-0.9", "ale", left).unwrap().closed, Some(Closed::Left));
}

#[test]
fn presets_on_difficult_data() {
    let many: Vec<[f64; 2]> =
        (0..30).map(|i| [1e300 * f64::from(i) / 30.0, f64::from(i % 7)]).collect();
    let tiny: Vec<[f64; 2]> = many.iter().map(|r| [r[0] * 1e-300 * 1e-300, r[1]]).collect();
    let (one, constant) = (vec![[3.0, 1.0]], vec![[3.0, 1.0], [3.0, 2.0]]);
    let two = vec![[1.0, 1.0], [2.0, 5.0]];
    let linear = FunctionModel::new(2, |x| x[0] + x[1]).with_partial(|_, _| 1.0);
    let nan = FunctionModel::new(2, |_| f64::NAN).with_partial(|_, _| f64::NAN);
    for preset in preset::ALL {
        for name in preset.estimators() {
            let estimator =
                estimator::from_settings(name, &preset.settings(name).unwrap()).unwrap();
            let of = |rows: &[[f64; 2]], model| {
                let data: Dataset = dataset(rows);
                estimator.estimate(&data, model, 0).map(|effects| effects[0].clone())
            };
            for rows in [&many, &tiny, &two] {
                let effect = of(rows, &linear).unwrap();
                assert!(effect.curve.y().iter().all(|y| y.is_finite()), "{} {name}", preset.name);
            }
            for rows in [&one, &constant] {
                let refused = of(rows, &linear).unwrap_err();
                assert!(matches!(refused, Error::ConstantFeature { .. }), "{refused}");
            }
            assert!(matches!(of(&two, &nan), Err(Error::Model(_))));
            of(&two, &curved()).unwrap();
        }
    }
}

#[test]
fn options_out_of_their_range() {
    let refused = |name: &str, settings: Settings| {
        let data = dataset(&[[0.0, 1.0], [1.0, 2.0], [0.5, 0.0]]);
        let estimator = estimator::from_settings(name, &settings)?;
        estimator.estimate(&data, &product(), 0).map(|_| ())
    };
    let points = |rule, points| Settings { center_rule: rule, center_points: points, ..none() };
    let axis = |from, to| Settings {
        axis: Some(AxisChoice::Quantiles { from, to, rule: QuantileRule::default() }),
        ..none()
    };
    for settings in [
        points(Some(CenterRule::Points), Some(1)),
        points(Some(CenterRule::Midpoints), Some(usize::MAX)),
        axis(0.9, 0.1),
        axis(-0.1, 0.5),
        axis(0.5, 1.5),
        axis(f64::NAN, 0.5),
    ] {
        for name in ["pdp", "ale", "rhale"] {
            let error = refused(name, settings.clone()).unwrap_err();
            assert!(matches!(error, Error::BadOption { .. }), "{error}");
        }
    }
    let quantile = |min_points| Settings {
        binning: Some("quantile".to_owned()),
        min_points: Some(min_points),
        ..none()
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused("ale", quantile(bad)), Err(Error::BadOption { .. })));
    }
    for settings in [
        points(Some(CenterRule::Points), None),
        points(None, Some(30)),
        points(Some(CenterRule::Exact), Some(30)),
    ] {
        assert!(matches!(refused("pdp", settings), Err(Error::Incompatible(_))));
    }
    // Cells may be distinct values; given limits have no use for that.
    let cells = Settings { distinct: Some(3), ..none() };
    assert!(refused("rhale", cells.clone()).is_ok());
    let limits = Some(vec![0.0, 1.0]);
    let given = Settings { binning: Some("grid".to_owned()), limits, ..cells };
    assert!(matches!(refused("ale", given), Err(Error::Incompatible(_))));
}
