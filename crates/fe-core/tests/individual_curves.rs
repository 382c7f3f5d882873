//! ICE and d-ICE curves: worked out by hand, and beside the effects that they are the curves of.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::effect::IceCurves;
use fe_core::model::{BatchModel, FunctionModel};
use fe_core::settings::CenterRule;
use fe_core::{AxisChoice, Centring, Dataset, Effect, Settings, estimator};
use ndarray::{Array2, array};
use proptest::prelude::*;
use support::{assert_close, curved, dataset, estimate, rows};

/// x1² + x1 x2
fn model() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| x[0] * x[0] + x[0] * x[1])
        .with_partial(|s, x| if s == 0 { 2.0 * x[0] + x[1] } else { x[0] })
}

const ROWS: [[f64; 2]; 3] = [[0.0, 1.0], [1.5, 5.0], [2.0, 3.0]];

fn on_three(center: Centring) -> Settings {
    Settings { grid: Some(3), center: Some(center), ..Settings::default() }
}

fn curves(name: &'static str, settings: Settings) -> IceCurves {
    estimate(&(name, settings), &dataset(&ROWS), &model(), 0).curves.unwrap()
}

fn assert_near(a: &Array2<f64>, b: &Array2<f64>) {
    assert_eq!(a.dim(), b.dim());
    assert!((a - b).iter().all(|difference| difference.abs() < 1e-12), "{a} against {b}");
}

#[test]
fn every_curve_is_centred_by_itself() {
    let raw = array![[0.0, 2.0, 6.0], [0.0, 6.0, 14.0], [0.0, 4.0, 10.0]];
    let none = curves("ice", on_three(Centring::None));
    assert_eq!((none.x.as_slice(), none.rows.as_slice()), (&[0.0, 1.0, 2.0][..], &[0, 1, 2][..]));
    assert_eq!(none.values, raw);
    assert_eq!(curves("ice", on_three(Centring::Start)).values, raw);
    // By the trapezoid rule: 2½, 6½, 4½.
    let integral = curves("ice", on_three(Centring::Integral)).values;
    assert_eq!(integral, &raw - &array![[2.5], [6.5], [4.5]]);
    // At 0, 1½ and 2: (0 + 4 + 6)/3, (0 + 10 + 14)/3, (0 + 7 + 10)/3.
    let data = curves("ice", on_three(Centring::Data)).values;
    assert_near(&data, &(&raw - &(array![[10.0], [24.0], [17.0]] / 3.0)));
}

#[test]
fn curves_start_at_zero_where_f_does_not() {
    let derivatives = curves("dice", on_three(Centring::None)).values;
    assert_eq!(derivatives, array![[1.0, 3.0, 5.0], [5.0, 7.0, 9.0], [3.0, 5.0, 7.0]]);
    let default = Settings { center: None, ..on_three(Centring::None) };
    assert_eq!(curves("dice", default).values, derivatives);
    let start = curves("dice", on_three(Centring::Start)).values;
    assert_eq!(start, Array2::from_shape_fn((3, 3), |(_, t)| 2.0 * t as f64));
}

#[test]
fn further_points_do_not_move_a_curve() {
    for center in [Centring::Start, Centring::Integral, Centring::Data] {
        let points = Some(vec![-3.0, 0.25, 1.0]);
        let more = curves("ice", Settings { points, ..on_three(center) });
        assert_eq!(more.x, [0.0, 0.25, 1.0, 2.0]);
        let plain = curves("ice", on_three(center)).values;
        assert_near(&more.values.select(ndarray::Axis(1), &[0, 2, 3]), &plain);
        let at_zero = plain[[0, 0]];
        assert!((more.values[[0, 1]] - at_zero - 0.3125).abs() < 1e-14);
    }
}

#[test]
fn outputs_and_rows_that_do_not_count() {
    let two = BatchModel::new(2, 2, |rows| {
        let value = |i: usize| rows.columns()[0].get(i) * rows.columns()[1].get(i);
        (0..rows.len()).map(value).chain((0..rows.len()).map(|i| -value(i))).collect()
    });
    let data = dataset(&ROWS).with_weights(vec![2.0, 0.0, 1.0]).unwrap();
    let ice = estimator::from_settings("ice", &on_three(Centring::None)).unwrap();
    let effects = ice.estimate(&data, &two, 0).unwrap();
    let curves: Vec<&IceCurves> = effects.iter().map(|e| e.curves.as_ref().unwrap()).collect();
    assert_eq!(curves[0].rows, [0, 2]);
    assert_eq!(curves[0].values, array![[0.0, 1.0, 2.0], [0.0, 3.0, 6.0]]);
    assert_eq!(curves[1].values, -&curves[0].values);
    assert_close(effects[1].curve.y(), &[0.0, -5.0 / 3.0, -10.0 / 3.0], 1e-12);
}

#[test]
fn curves_are_written_one_after_the_other() {
    let curves = serde_json::to_value(curves("ice", on_three(Centring::None))).unwrap();
    assert_eq!(curves["values"][1], serde_json::json!([0.0, 6.0, 14.0]));
}

/// The rows that a subsample drew are rows of the data.
#[test]
fn curves_of_a_subsample_know_their_rows() {
    let settings = Settings { subsample: Some(2), ..on_three(Centring::None) };
    for subsample_seed in 0..20 {
        let settings = Settings { subsample_seed: Some(subsample_seed), ..settings.clone() };
        let axis = Some(AxisChoice::Given(0.0, 2.0));
        let curves = curves("ice", Settings { axis, ..settings });
        assert_eq!(curves.rows.len(), 2);
        for (&row, curve) in curves.rows.iter().zip(curves.values.rows()) {
            assert_eq!(curve[1], 1.0 + ROWS[row][1]);
        }
    }
}

fn weighted_mean(curves: &IceCurves, data: &Dataset) -> Vec<f64> {
    let weight = |row: usize| data.weights().map_or(1.0, |weights| weights[row]);
    let total: f64 = curves.rows.iter().map(|&row| weight(row)).sum();
    let at = |column: ndarray::ArrayView1<'_, f64>| {
        let terms = curves.rows.iter().zip(column).map(|(&row, y)| weight(row) / total * y);
        terms.sum()
    };
    curves.values.columns().into_iter().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// All else that is said of them is what `pdp` and `dpdp` say.
    #[test]
    fn the_mean_of_the_curves_is_partial_dependence(
        rows in rows(2..30), weights in prop::collection::vec(1..4_u8, 30), given in 0.0..1.0_f64,
    ) {
        let weights = weights[..rows.len()].iter().map(|&w| f64::from(w)).collect();
        let data = dataset(&rows).with_weights(weights).unwrap();
        for center in [Centring::None, Centring::Start, Centring::Integral, Centring::Data] {
            for center_points in [None, Some(4)] {
                let settings = Settings {
                    grid: Some(6),
                    points: Some(vec![given]),
                    center: Some(center),
                    center_rule: center_points.map(|_| CenterRule::Midpoints),
                    center_points,
                    ..Settings::default()
                };
                for (mean, each) in [("pdp", "ice"), ("dpdp", "dice")] {
                    let of = |name| estimate(&(name, settings.clone()), &data, &curved(), 0);
                    let (mean, each): (Effect, Effect) = (of(mean), of(each));
                    prop_assert_eq!(each.curve.y(), mean.curve.y());
                    prop_assert_eq!(each.heterogeneity.y(), mean.heterogeneity.y());
                    prop_assert_eq!(&each.heterogeneity_values, &mean.heterogeneity_values);
                    prop_assert_eq!(each.record.model_rows, mean.record.model_rows);
                    let curves = each.curves.as_ref().unwrap();
                    prop_assert_eq!(&curves.x[..], mean.curve.x());
                    assert_close(&weighted_mean(curves, &data), mean.curve.y(), 1e-10);
                }
            }
        }
    }
}
