//! M-plots worked out by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use fe_core::model::FunctionModel;
use fe_core::numeric::partition::Closed;
use fe_core::settings::{EmptyBins, Interpolation};
use fe_core::{AxisChoice, Centring, Dataset, Effect, Settings};
use support::{assert_close, dataset, estimate};

/// What f says is in the second column.
const ROWS: [[f64; 2]; 6] =
    [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0], [3.0, 8.0], [6.0, 10.0], [8.0, 30.0]];

fn second() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| x[1])
}

fn on(data: &Dataset, settings: Settings) -> Effect {
    let center = settings.center.or(Some(Centring::None));
    estimate(&("mplot", Settings { center, ..settings }), data, &second(), 0)
}

fn mplot(settings: Settings) -> Effect {
    on(&dataset(&ROWS), settings)
}

fn none() -> Settings {
    Settings::default()
}

fn fixed(bins: usize) -> Settings {
    Settings { binning: Some("fixed".to_owned()), bins: Some(bins), ..none() }
}

fn nearest(least: usize, grid: usize) -> Settings {
    Settings { nearest: Some(least), grid: Some(grid), ..none() }
}

#[test]
fn means_and_variances_of_bins() {
    // [0, 4) and [4, 8].
    let effect = mplot(fixed(2));
    assert_eq!(effect.curve.at_all(&[0.0, 3.9, 4.0, 8.0]).unwrap(), [4.0, 4.0, 20.0, 20.0]);
    let bins = effect.bins.as_ref().unwrap();
    assert_eq!(bins.counts, [4.0, 2.0]);
    assert_eq!(bins.effect, [4.0, 20.0]);
    assert_eq!(bins.variance, [Some(26.0 / 4.0), Some(100.0)]);
    assert_eq!(effect.heterogeneity.at(1.0).unwrap(), 6.5);
    assert_eq!(effect.heterogeneity_values["mean_range"], Some(53.25));
    assert_eq!(effect.default_heterogeneity, "mean_range");
    assert_eq!(effect.mean_prediction, Some(56.0 / 6.0));
    let record = effect.record;
    assert_eq!((record.model_rows, record.jacobian_rows), (6, 0));
    let near = record.neighbourhoods.unwrap();
    assert_eq!((near.nearest, near.widths, near.mean_width), (None, vec![4.0, 4.0], 4.0));
    let unbiased = mplot(Settings { ddof: Some(1), ..fixed(2) }).bins.unwrap();
    assert_eq!(unbiased.variance, [Some(26.0 / 3.0), Some(200.0)]);
    // Closed on the right, 4 and 8 bins further: [0, 1] and (1, 2] and so on.
    let right = mplot(Settings { closed: Some(Closed::Right), ..fixed(8) });
    assert_eq!(right.bins.unwrap().counts, [2.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn twenty_quantile_bins_are_the_default() {
    let rows: Vec<[f64; 2]> = (0..41).map(|i| [f64::from(i * i), f64::from(i)]).collect();
    let effect = on(&dataset(&rows), none());
    assert_eq!(effect.curve.x()[..3], [0.0, 4.0, 16.0]);
    assert_eq!(effect.bins.unwrap().partition.bins(), 20);
    assert_eq!(effect.record.binning.unwrap().strategy, "quantile");
}

#[test]
fn empty_bins_have_levels_by_every_policy() {
    // Bins of width 1: those of 4 to 6 and of 7 to 8 hold, but for 6 and 8, nothing.
    let with = |empty| mplot(Settings { empty: Some(empty), ..fixed(8) });
    let effect = with(EmptyBins::Interpolate);
    let bins = effect.bins.as_ref().unwrap();
    assert_eq!(bins.counts, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    let (third, two_thirds) = (8.0 + 2.0 / 3.0, 8.0 + 4.0 / 3.0);
    assert_close(&bins.effect, &[1.0, 3.0, 4.0, 8.0, third, two_thirds, 10.0, 30.0], 1e-12);
    assert_eq!(effect.record.binning.unwrap().empty, 2);
    assert_eq!(with(EmptyBins::Zero).bins.unwrap().effect[3..6], [8.0, 0.0, 0.0]);
    let merged = with(EmptyBins::Merge).bins.unwrap();
    assert_eq!(merged.partition.limits(), [0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 8.0]);
}

#[test]
fn means_of_bins_are_joined_at_their_centres() {
    let linear = Settings { interpolation: Some(Interpolation::Linear), ..fixed(2) };
    let effect = mplot(linear.clone());
    // 4 up to 2, 20 from 6 on.
    let at = [0.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    assert_eq!(effect.curve.at_all(&at).unwrap(), [4.0, 4.0, 8.0, 12.0, 20.0, 20.0]);
    let constant = |center| {
        mplot(Settings { center: Some(center), ..linear.clone() }).record.centring_constant
    };
    assert_eq!(constant(Centring::Start), 4.0);
    assert!((constant(Centring::Integral) - 12.0).abs() < 1e-12);
    // At the rows: 4, 4, 4, 8, 20, 20; at the limits: 4, 12, 20.
    assert!((constant(Centring::Data) - 10.0).abs() < 1e-12);
    assert!((constant(Centring::Bins) - (4.0 * 8.0 + 2.0 * 16.0) / 6.0).abs() < 1e-12);
}

#[test]
fn steps_are_centred_exactly() {
    let constant = |center| {
        let settings = Settings { center: Some(center), ..fixed(2) };
        mplot(settings).record.centring_constant
    };
    assert_eq!(constant(Centring::Start), 4.0);
    assert_eq!(constant(Centring::Integral), 12.0);
    for over_instances in [Centring::Data, Centring::Bins] {
        assert!((constant(over_instances) - 56.0 / 6.0).abs() < 1e-12);
    }
}

#[test]
fn the_nearest_instances_around_the_points_of_a_grid() {
    // At 0: rows 0, 1, 2; at 4: 3 and with 2 the tie 6; at 8: 8, 6 and 3.
    let effect = mplot(nearest(3, 3));
    assert_eq!(effect.curve.x(), [0.0, 4.0, 8.0]);
    assert_close(effect.curve.y(), &[8.0 / 3.0, 22.0 / 3.0, 16.0], 1e-12);
    let near = effect.record.neighbourhoods.unwrap();
    assert_eq!(near.nearest, Some(3));
    assert_eq!((near.widths, near.counts), (vec![4.0, 4.0, 10.0], vec![3.0; 3]));
    assert_eq!(near.mean_width, 6.0);
    // Two are not enough for the tie to be broken.
    let tied = mplot(nearest(2, 3)).record.neighbourhoods.unwrap();
    assert_eq!(tied.counts, [2.0, 3.0, 2.0]);
    // As many as there are: all of them. More are refused.
    let all = mplot(nearest(6, 3));
    assert_close(all.curve.y(), &[56.0 / 6.0; 3], 1e-12);
    assert_eq!(all.record.model_rows, 6);
    assert_eq!(all.heterogeneity_values["mean_grid"], all.heterogeneity.at(1.0).ok());
    assert!(mplot(nearest(1, 3)).heterogeneity.at(0.0).unwrap().is_nan());
}

#[test]
fn further_points_do_not_move_the_curve() {
    let settings = Settings { center: Some(Centring::Integral), ..nearest(1, 3) };
    let (plain, more) = (
        mplot(settings.clone()),
        mplot(Settings { points: Some(vec![1.0, 5.0, 99.0]), ..settings }),
    );
    assert_eq!(plain.record.centring_constant, more.record.centring_constant);
    assert_eq!(plain.record.neighbourhoods, more.record.neighbourhoods);
    assert_eq!(plain.heterogeneity_values, more.heterogeneity_values);
    assert_eq!(more.curve.x(), [0.0, 1.0, 4.0, 5.0, 8.0]);
    assert_eq!(more.curve.at(1.0).unwrap() + more.record.centring_constant, 3.0);
}

#[test]
fn instances_off_the_axis_are_near_nothing() {
    for settings in [fixed(1), nearest(3, 2)] {
        let axis = Some(AxisChoice::Given(0.5, 3.5));
        let effect = mplot(Settings { axis, ..settings });
        assert_eq!(effect.curve.at(1.0).unwrap(), 5.0);
        assert_eq!(effect.record.rows_outside, 3);
        // The mean prediction is about all rows.
        assert_eq!(effect.mean_prediction, Some(56.0 / 6.0));
    }
    let limits = Some(vec![0.5, 2.5, 3.5]);
    let grid = Settings { binning: Some("grid".to_owned()), limits, ..none() };
    let effect = mplot(grid);
    assert_eq!(effect.record.axis.lo(), 0.5);
    assert_eq!(effect.record.rows_outside, 3);
    assert_eq!(effect.curve.y(), [3.5, 8.0]);
}

#[test]
fn weights_count_as_rows() {
    let weights = vec![1.0, 2.0, 0.0, 1.0, 3.0, 0.0];
    let weighted = dataset(&ROWS).with_weights(weights).unwrap();
    let effect = on(&weighted, nearest(3, 2));
    // On [0, 6]: 0 and twice 1; three times 6.
    assert_close(effect.curve.y(), &[7.0 / 3.0, 10.0], 1e-12);
    assert_eq!((effect.record.rows, effect.record.model_rows), (6, 4));
    assert_eq!(effect.mean_prediction, Some(45.0 / 7.0));
}

/// The distances to 0.1 and 0.3 from 0.2 are equal but for rounding.
#[test]
fn ties_are_not_broken_by_rounding() {
    let rows = [[0.0, 7.0], [0.1, 1.0], [0.3, 3.0], [0.4, 7.0]];
    let effect = on(&dataset(&rows), nearest(1, 3));
    assert_eq!(effect.curve.at(0.2).unwrap(), 2.0);
}
