//! What the tests share: data, models, and strategies that make them.

#![allow(dead_code)]

use fe_core::estimator::{self, Estimator};
use fe_core::model::{FunctionModel, Model};
use fe_core::numeric::quantiles::QuantileRule;
use fe_core::numeric::spline::Smoothing;
use fe_core::settings::CenterRule;
use fe_core::settings::{EmptyBins, Interpolation};
use fe_core::{Axis, AxisChoice, Centring, Dataset, Effect, Settings};
use ndarray::Array2;
use proptest::prelude::*;

/// Rows of two features between −5 and 5, some of them equal.
pub fn rows(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<[f64; 2]>> {
    let value = prop_oneof![4 => -5.0..5.0_f64, 1 => (-5..=5_i32).prop_map(f64::from)];
    prop::collection::vec([value.clone(), value], count)
        .prop_filter("the first feature must vary", |rows| rows.iter().any(|r| r[0] != rows[0][0]))
}

pub fn dataset(rows: &[[f64; 2]]) -> Dataset {
    let array = Array2::from_shape_fn((rows.len(), 2), |(i, j)| rows[i][j]);
    Dataset::from_rows(&array.view()).unwrap()
}

/// A function with an interaction and its derivatives.
pub fn curved() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| (x[0] * x[1]).sin() + x[0] * x[0] - x[1]).with_partial(|s, x| {
        if s == 0 {
            x[1] * (x[0] * x[1]).cos() + 2.0 * x[0]
        } else {
            x[0] * (x[0] * x[1]).cos() - 1.0
        }
    })
}

pub fn constant() -> FunctionModel<'static> {
    FunctionModel::new(2, |_| 3.25).with_partial(|_, _| 0.0)
}

/// The settings under which every estimator is tested.
pub fn variants() -> Vec<(&'static str, Settings)> {
    let binning = |name: &str, bins| Settings {
        binning: Some(name.to_owned()),
        bins: Some(bins),
        ..Settings::default()
    };
    vec![
        ("pdp", Settings { grid: Some(7), ..Settings::default() }),
        ("dpdp", Settings { grid: Some(6), ..Settings::default() }),
        ("ale", binning("fixed", 5)),
        ("ale", binning("quantile", 4)),
        ("ale", Settings { min_points: Some(2.0), bins: None, ..binning("quantile-min", 0) }),
        ("dale", binning("fixed", 5)),
        ("dale", binning("quantile", 4)),
        ("rhale", Settings { min_points: Some(3.0), ..binning("dp", 8) }),
        (
            "pdp",
            Settings {
                grid: Some(7),
                center_rule: Some(CenterRule::Points),
                center_points: Some(5),
                ..Settings::default()
            },
        ),
        (
            "pdp",
            Settings {
                grid: Some(7),
                axis: Some(AxisChoice::Quantiles {
                    from: 0.0,
                    to: 1.0,
                    rule: QuantileRule::Cunnane,
                }),
                distinct: Some(6),
                center: Some(Centring::Start),
                ..Settings::default()
            },
        ),
        (
            "ale",
            Settings {
                quantiles: Some(QuantileRule::Type1Below),
                min_points: Some(2.0),
                distinct: Some(3),
                ..binning("quantile", 4)
            },
        ),
        ("ale", Settings { quantiles: Some(QuantileRule::Type1), ..binning("quantile", 4) }),
        (
            "dale",
            Settings {
                empty: Some(EmptyBins::InterpolateIndex),
                fill_variances: Some(true),
                center_rule: Some(CenterRule::Midpoints),
                center_points: Some(9),
                ..binning("fixed", 6)
            },
        ),
        (
            "rhale",
            Settings { jacobian: Some(fe_core::settings::Jacobian::Numeric), ..binning("dp", 6) },
        ),
        ("ice", Settings { grid: Some(7), ..Settings::default() }),
        ("dice", Settings { grid: Some(6), center: Some(Centring::Start), ..Settings::default() }),
        ("mplot", binning("quantile", 4)),
        ("mplot", Settings { interpolation: Some(Interpolation::Linear), ..binning("fixed", 5) }),
        ("mplot", Settings { nearest: Some(2), grid: Some(7), ..Settings::default() }),
        (
            "dale",
            Settings {
                subsample: Some(SUBSAMPLE),
                subsample_seed: Some(3),
                axis: Some(AxisChoice::Given(-5.0, 5.0)),
                mean_prediction: Some(true),
                ..binning("fixed", 5)
            },
        ),
        ("shapdp", Settings { grid: Some(7), ..Settings::default() }),
        ("shapdp", Settings { smoothing: Some(Smoothing::Reml), ..shapdp(6, 2) }),
    ]
}

/// Rows of the subsample where one is drawn.
pub const SUBSAMPLE: usize = 10;

/// Rows of the background of `shapdp` where there are many rows.
pub const BACKGROUND: u64 = 20;

/// The same on data of many rows, where Shapley values need a smaller background.
pub fn variants_on_many_rows() -> Vec<(&'static str, Settings)> {
    let smaller = |(name, settings): (&'static str, Settings)| match name {
        "shapdp" => (name, Settings { background: Some(BACKGROUND as usize), ..settings }),
        _ => (name, settings),
    };
    variants().into_iter().map(smaller).collect()
}

fn shapdp(grid: usize, permutations: usize) -> Settings {
    Settings { grid: Some(grid), permutations: Some(permutations), ..Settings::default() }
}

pub fn estimate(
    (name, settings): &(&str, Settings),
    data: &Dataset,
    model: &dyn Model,
    feature: usize,
) -> Effect {
    let estimator: Box<dyn Estimator> = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(data, model, feature).unwrap().remove(0)
}

/// So many points within the curve's range.
pub fn values(effect: &Effect, points: usize) -> Vec<f64> {
    let (lo, hi) = effect.curve.range();
    effect.curve.at_all(&Axis::new(lo, hi).unwrap().grid(points)).unwrap()
}

pub fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance || (a.is_nan() && b.is_nan()), "{a} against {b}");
    }
}
