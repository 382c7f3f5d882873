//! Small cases worked out by hand, option by option.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::model::FunctionModel;
use fe_core::numeric::partition::Closed;
use fe_core::settings::{EmptyBins, Interpolation};
use fe_core::{AxisChoice, Centring, Effect, Settings};
use support::{assert_close, dataset, estimate};

fn product() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| x[0] * x[1]).with_partial(|s, x| x[1 - s])
}

const ROWS: [[f64; 2]; 5] = [[0.0, 1.0], [0.25, 3.0], [0.5, 2.0], [0.5, 4.0], [1.0, 6.0]];

fn settings(bins: usize) -> Settings {
    Settings { bins: Some(bins), center: Some(Centring::None), ..Settings::default() }
}

fn dale(settings: Settings) -> Effect {
    estimate(
        &("dale", Settings { binning: Some("fixed".to_owned()), ..settings }),
        &dataset(&ROWS),
        &product(),
        0,
    )
}

#[test]
fn bins_closed_left_and_right() {
    let left = dale(settings(2)).bins.unwrap();
    assert_eq!(left.counts, [2.0, 3.0]);
    assert_eq!(left.effect, [2.0, 4.0]);
    assert_eq!(left.variance, [Some(2.0), Some(4.0)]);
    let right = dale(Settings { closed: Some(Closed::Right), ..settings(2) }).bins.unwrap();
    assert_eq!(right.counts, [4.0, 1.0]);
    assert_eq!(right.effect, [2.5, 6.0]);
    assert_eq!(right.variance[1], None);
}

#[test]
fn ale_accumulates_differences() {
    let effect = estimate(&("ale", settings(2)), &dataset(&ROWS), &product(), 0);
    assert_eq!(effect.curve.y(), [0.0, 1.0, 3.0]);
    let bins = effect.bins.unwrap();
    assert_eq!(bins.variance, [Some(1.0), Some(8.0 / 3.0)]);
    let values = effect.heterogeneity_values;
    // Of slopes: ∫ = 0.5·1 + 0.5·8/3; of differences as they are: a quarter of each.
    assert_eq!(values["integral"], Some(0.5 + 4.0 / 3.0));
    assert_eq!(values["sum_bins"], Some(0.25 + 2.0 / 3.0));
    assert_eq!(values["mean_bins"], Some((0.25 + 2.0 / 3.0) / 2.0));
}

#[test]
fn empty_bins_by_every_policy() {
    let rows = [[0.0, 1.0], [0.1, 1.0], [0.9, 4.0], [1.0, 4.0]];
    let with = |empty| {
        let settings = Settings { empty: Some(empty), ..settings(5) };
        let dale = fe_core::estimator::from_settings("dale", &settings).unwrap();
        dale.estimate(&dataset(&rows), &product(), 0).map(|effects| effects[0].clone())
    };
    let interpolated = with(EmptyBins::Interpolate).unwrap();
    assert_close(&interpolated.bins.unwrap().effect, &[1.0, 1.75, 2.5, 3.25, 4.0], 1e-12);
    assert_eq!(interpolated.record.binning.unwrap().empty, 3);
    assert_eq!(with(EmptyBins::Zero).unwrap().bins.unwrap().effect, [1.0, 0.0, 0.0, 0.0, 4.0]);
    let merged = with(EmptyBins::Merge).unwrap().bins.unwrap();
    assert_eq!(merged.partition.limits(), [0.0, 0.2, 1.0]);
    assert_eq!(merged.effect, [1.0, 4.0]);
    let error = with(EmptyBins::Error).unwrap_err().to_string();
    assert!(error.contains("bin 2 of 5"), "{error}");
}

#[test]
fn empty_bins_at_an_end_take_the_nearest_slope() {
    let settings = Settings { axis: Some(AxisChoice::Given(-1.0, 2.0)), ..settings(3) };
    let bins = dale(settings.clone()).bins.unwrap();
    assert_eq!(bins.counts, [0.0, 4.0, 1.0]);
    assert_eq!(bins.effect, [2.5, 2.5, 6.0]);
    let merged = dale(Settings { empty: Some(EmptyBins::Merge), ..settings }).bins.unwrap();
    assert_eq!(merged.partition.limits(), [-1.0, 1.0, 2.0]);
}

#[test]
fn empty_bins_at_the_right_end_join_their_left_neighbour() {
    let settings = Settings {
        axis: Some(AxisChoice::Given(0.0, 3.0)),
        empty: Some(EmptyBins::Merge),
        ..settings(6)
    };
    assert_eq!(dale(settings).bins.unwrap().partition.limits(), [0.0, 0.5, 1.0, 3.0]);
}

#[test]
fn rows_outside_the_axis_are_left_out_and_counted() {
    let effect = dale(Settings { axis: Some(AxisChoice::Given(0.2, 0.6)), ..settings(1) });
    assert_eq!(effect.record.rows_outside, 2);
    assert_eq!(effect.bins.unwrap().effect, [3.0]);
}

#[test]
fn steps_contain_the_whole_current_bin() {
    let effect = dale(Settings { interpolation: Some(Interpolation::Step), ..settings(2) });
    assert_eq!(effect.curve.at_all(&[0.0, 0.49, 0.5, 1.0]).unwrap(), [1.0, 1.0, 3.0, 3.0]);
}

#[test]
fn nothing_is_extrapolated_unasked() {
    assert!(dale(settings(2)).curve.at(1.5).is_err());
    let asked = dale(Settings { extrapolate: Some(true), ..settings(2) });
    assert_eq!(asked.curve.at(1.5).unwrap(), 3.0);
    assert_eq!(asked.curve.at(-9.0).unwrap(), 0.0);
}

#[test]
fn quantile_limits_lose_their_duplicates() {
    let rows: Vec<[f64; 2]> = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0].iter().map(|&x| [x, x]).collect();
    let settings = Settings { binning: Some("quantile".to_owned()), ..settings(4) };
    let effect = estimate(&("ale", settings), &dataset(&rows), &product(), 0);
    // Type 7: 0, 0, 0, 0.75, 2.
    assert_eq!(effect.curve.x(), [0.0, 0.75, 2.0]);
}

#[test]
fn numeric_derivatives_agree_with_exact_ones() {
    let numeric = Settings { jacobian: Some(fe_core::settings::Jacobian::Numeric), ..settings(3) };
    let (numeric, exact) = (dale(numeric), dale(settings(3)));
    assert_close(&numeric.bins.unwrap().effect, &exact.bins.unwrap().effect, 1e-9);
    assert!(numeric.record.derivatives.unwrap().starts_with("central differences"));
}

#[test]
fn further_points_do_not_move_partial_dependence() {
    let pdp = |points: Vec<f64>| {
        let settings = Settings { grid: Some(5), points: Some(points), ..Settings::default() };
        let square = FunctionModel::new(2, |x| x[0] * x[0] + x[1]);
        estimate(&("pdp", settings), &dataset(&ROWS), &square, 0)
    };
    let (plain, more) = (pdp(vec![]), pdp(vec![0.1, 0.5]));
    assert_eq!(plain.curve.at(0.25).unwrap(), more.curve.at(0.25).unwrap());
    assert_eq!(plain.heterogeneity_values, more.heterogeneity_values);
    let constant = more.record.centring_constant;
    assert!((more.curve.at(0.1).unwrap() + constant - (0.01 + 3.2)).abs() < 1e-14);
}

#[test]
fn pdp_heterogeneity_is_that_of_centred_ice_curves() {
    // ICE of x0·x1 centred over [0, 1]: x1 (x − ½); variance of x1 over the five rows is 2.96.
    let effect = |center| {
        let settings = Settings { grid: Some(3), center: Some(center), ..Settings::default() };
        estimate(&("pdp", settings), &dataset(&ROWS), &product(), 0)
    };
    let variance = 2.96;
    assert_close(
        effect(Centring::Integral).heterogeneity.y(),
        &[variance / 4.0, 0.0, variance / 4.0],
        1e-12,
    );
    // Whatever is done to the mean curve; curves as they are, where they are asked for.
    assert_eq!(effect(Centring::None).heterogeneity, effect(Centring::Integral).heterogeneity);
    let raw = Settings { grid: Some(3), raw_ice: Some(true), ..Settings::default() };
    let raw = estimate(&("pdp", raw), &dataset(&ROWS), &product(), 0);
    assert_close(raw.heterogeneity.y(), &[0.0, variance / 4.0, variance], 1e-12);
    let values = effect(Centring::Integral).heterogeneity_values;
    assert!((values["mean_grid"].unwrap() - variance / 6.0).abs() < 1e-12);
    assert!((values["mean_grid_sd"].unwrap() - variance.sqrt() / 2.0).abs() < 1e-12);
}

#[test]
fn the_derivative_of_partial_dependence_is_uncentred_unless_asked() {
    // ∂₁ x0·x1 = x1: mean 3.2 and variance 2.96 everywhere, by the model or by differences.
    for jacobian in [fe_core::settings::Jacobian::Model, fe_core::settings::Jacobian::Numeric] {
        let settings = Settings { grid: Some(4), jacobian: Some(jacobian), ..Settings::default() };
        let effect = estimate(&("dpdp", settings), &dataset(&ROWS), &product(), 0);
        assert_close(effect.curve.y(), &[3.2; 4], 1e-9);
        assert_close(effect.heterogeneity.y(), &[2.96; 4], 1e-8);
        assert!((effect.heterogeneity_values["mean_grid"].unwrap() - 2.96).abs() < 1e-8);
    }
}

#[test]
fn bands_accumulate_the_spread_of_the_bins() {
    // Variances 2 and 4 on bins of width ½.
    let bands = dale(settings(2)).bands.unwrap();
    assert_close(bands.std.y(), &[0.0, 0.5_f64.sqrt(), 1.5_f64.sqrt()], 1e-15);
    assert_close(bands.accumulated_sd.y(), &[0.0, 0.5_f64.sqrt(), 0.5_f64.sqrt() + 1.0], 1e-15);
    // A quarter into the second bin: ½ + (1/4)² · 4.
    assert_close(&[bands.std_at(0.75).unwrap()], &[0.75_f64.sqrt()], 1e-15);
    assert_close(&[bands.std_at(1.0).unwrap()], &[1.5_f64.sqrt()], 1e-15);
    assert!(bands.std_at(1.5).is_err());
}

#[test]
fn deciles_are_those_of_repeated_rows() {
    let deciles = |rows: &[[f64; 2]], weights: Vec<f64>| {
        dataset(rows).with_weights(weights).unwrap().deciles(0)
    };
    let rows = [[0.0, 1.0], [9.0, 1.0], [1.0, 3.0]];
    let copies = [[0.0, 1.0], [1.0, 3.0], [1.0, 3.0]];
    let expected = deciles(&copies, vec![1.0; 3]);
    assert_close(&deciles(&rows, vec![1.0, 0.0, 2.0]), &expected, 1e-15);
    assert_close(&expected[..3], &[0.0, 0.2, 0.4], 1e-15);
    assert_eq!(expected[10], 1.0);
}
