//! Features with few distinct values: equal bins would be empty, and speak of steps that no instance takes.

#![allow(clippy::unwrap_used)]

use fe_core::binning::{Binning, BinningRequest, Fixed};
use fe_core::estimator::{self, Ale, Estimator};
use fe_core::model::FunctionModel;
use fe_core::numeric::partition::Closed;
use fe_core::{Axis, Dataset, Effect, Error, Settings, preset, regional};
use ndarray::Array2;

/// A feature of few values, and one of many.
fn data(values: &[f64]) -> Dataset {
    let rows = Array2::from_shape_fn((120, 2), |(i, j)| match j {
        0 => values[i * 7 % values.len()],
        _ => (i * 37 % 120) as f64 / 119.0,
    });
    Dataset::from_rows(&rows.view()).unwrap()
}

/// Trees and other models jump between the values: here by 6 x2 at 0.1.
fn jump() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| if x[0] > 0.1 { -6.0 * x[1] } else { 0.0 })
}

fn fit(name: &str, settings: Settings, data: &Dataset, model: &FunctionModel<'_>) -> Effect {
    let estimator = estimator::from_settings(name, &settings).unwrap();
    estimator.estimate(data, model, 0).unwrap().swap_remove(0)
}

fn rise(effect: &Effect) -> f64 {
    effect.curve.at(1.0).unwrap() - effect.curve.at(0.0).unwrap()
}

fn binned(name: &str, bins: usize) -> Settings {
    Settings { binning: Some(name.to_owned()), bins: Some(bins), ..Settings::default() }
}

#[test]
fn the_step_between_two_values_does_not_depend_on_the_number_of_bins() {
    let data = data(&[0.0, 0.0, 0.0, 1.0]);
    let pdp = rise(&fit("pdp", Settings::default(), &data, &jump()));
    for bins in [2, 4, 20, 40, 400] {
        let effect = fit("ale", binned("fixed", bins), &data, &jump());
        assert!((rise(&effect) - pdp).abs() < 1e-12, "{bins}: {} for {pdp}", rise(&effect));
        let binning = effect.record.binning.unwrap();
        assert_eq!((binning.distinct, binning.bins, binning.empty), (Some(2), 1, 0), "{bins}");
        assert_eq!(binning.asked, Some(bins));
    }
}

#[test]
fn limits_are_the_values_and_the_ends_of_the_axis() {
    let data = data(&[0.0, 0.25, -0.0, 1.0]);
    let limits = |axis: Option<(f64, f64)>, bins| {
        let axis = axis.map(|(lo, hi)| fe_core::AxisChoice::Given(lo, hi));
        let effect = fit("ale", Settings { axis, ..binned("fixed", bins) }, &data, &jump());
        effect.bins.unwrap().partition.limits().to_vec()
    };
    assert_eq!(limits(None, 3), [0.0, 0.25, 1.0]);
    assert_eq!(limits(Some((-1.0, 2.0)), 20), [-1.0, 0.0, 0.25, 1.0, 2.0]);
    assert_eq!(limits(Some((0.1, 1.0)), 20), [0.1, 0.25, 1.0]);
    // More values than bins.
    assert_eq!(limits(None, 2), [0.0, 0.5, 1.0]);
}

#[test]
fn cells_of_automatic_bins_are_between_few_values_too() {
    let data = data(&[0.0, 1.0, 4.0]);
    let model = FunctionModel::new(2, |x| x[0] * x[0] * x[1]).with_partial(|s, x| match s {
        0 => 2.0 * x[0] * x[1],
        _ => x[0] * x[0],
    });
    for name in ["dp", "greedy", "agglomerative"] {
        let settings = Settings { min_points: Some(2.0), ..binned(name, 20) };
        let binning = fit("rhale", settings, &data, &model).record.binning.unwrap();
        assert_eq!((binning.distinct, binning.empty), (Some(3), 0), "{name}");
    }
    let regional = regional::from_settings("regional-rhale", &Settings::default()).unwrap();
    for effect in regional.fit(&data, &model, 0).unwrap() {
        for leaf in effect.tree.nodes().iter().filter_map(|node| node.effect.as_ref()) {
            let limits = leaf.bins.as_ref().unwrap().partition.limits();
            assert!(limits.iter().all(|z| [0.0, 1.0, 4.0].contains(z)), "{limits:?}");
        }
    }
}

/// A level belongs to a value, not to the step from one to the next.
#[test]
fn bins_with_levels_hold_one_value_each() {
    let data = data(&[0.0, 0.0, 1.0]);
    let settings = binned("fixed", 20);
    let effect = fit("mplot", settings, &data, &FunctionModel::new(2, |x| 3.0 * x[0]));
    assert_eq!(effect.bins.as_ref().unwrap().partition.limits(), [0.0, 0.5, 1.0]);
    assert!((rise(&effect) - 3.0).abs() < 1e-12);
    let uneven = self::data(&[0.0, 1.0, 4.0]);
    let effect = fit("mplot", binned("fixed", 20), &uneven, &jump());
    assert_eq!(effect.bins.as_ref().unwrap().partition.limits(), [0.0, 0.5, 2.5, 4.0]);
}

#[test]
fn values_that_do_not_come_again_are_those_of_a_continuous_feature() {
    let rows = Array2::from_shape_fn((20, 2), |(i, _)| (i * i) as f64);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let effect = &Ale::with_bins(40).unwrap().estimate(&data, &jump(), 0).unwrap()[0];
    let binning = effect.record.binning.as_ref().unwrap();
    assert_eq!((binning.distinct, binning.bins), (None, 40));
    assert!(binning.are_many_empty() && binning.empty > 20);
    let share = binning.empty_share.unwrap();
    assert!((0.0..=1.0).contains(&share));
    // Rows of weight 2 are rows that come twice.
    let twice = data.with_weights(vec![2.0; 20]).unwrap();
    let effect = &Ale::with_bins(40).unwrap().estimate(&twice, &jump(), 0).unwrap()[0];
    assert_eq!(effect.record.binning.as_ref().unwrap().distinct, Some(20));
}

#[test]
fn an_option_says_how_many_values_are_few_and_presets_use_it() {
    let data = data(&[0.0, 0.0, 1.0]);
    let of = |settings: Settings| fit("ale", settings, &data, &jump()).record.binning.unwrap();
    assert_eq!(of(Settings { distinct: Some(0), ..binned("fixed", 4) }).empty, 2);
    assert_eq!(of(Settings { distinct: Some(1), ..binned("fixed", 4) }).bins, 4);
    assert_eq!(of(Settings { distinct: Some(2), ..binned("fixed", 1) }).bins, 1);
    let effector = preset::complete("effector-0.6", "ale", binned("fixed", 4)).unwrap();
    assert_eq!(of(effector).bins, 4);
    for binning in ["dp", "agglomerative"] {
        let settings = preset::complete("effector-0.6", "rhale", binned(binning, 20)).unwrap();
        assert_eq!(settings.distinct, Some(0), "{binning}");
    }
    let refused = estimator::from_settings(
        "ale",
        &Settings {
            limits: Some(vec![0.0, 1.0]),
            distinct: Some(2),
            binning: Some("grid".to_owned()),
            ..Settings::default()
        },
    );
    assert!(matches!(refused, Err(Error::Incompatible(_))));
}

/// Limits of bins on [−1, 1], and of how many values they are.
fn bins_of(binning: Fixed, positions: &[f64]) -> (Vec<f64>, Option<usize>) {
    let choice = binning.choose(&BinningRequest {
        axis: Axis::new(-1.0, 1.0).unwrap(),
        closed: Closed::Left,
        positions,
        weights: None,
        whole: (positions, None),
        levels: false,
        ddof: 0.0,
        local_effects: None,
    });
    let choice = choice.unwrap();
    (choice.partition.limits().to_vec(), choice.distinct)
}

#[test]
fn a_single_value_leaves_bins_equal() {
    let four = Fixed::new(4).unwrap();
    let equal = vec![-1.0, -0.5, 0.0, 0.5, 1.0];
    assert_eq!(bins_of(four, &[0.2; 8]), (equal.clone(), None));
    let two = [0.2, 0.2, 0.6, 0.6];
    assert_eq!(bins_of(four, &two), (vec![-1.0, 0.2, 0.6, 1.0], Some(2)));
    assert_eq!(bins_of(four.with_distinct(0), &two), (equal, None));
}

#[test]
fn a_limit_at_zero_has_no_sign() {
    let (limits, distinct) = bins_of(Fixed::new(4).unwrap(), &[-0.0, -0.0, 0.5, 0.5]);
    assert_eq!((limits.as_slice(), distinct), ([-1.0, 0.0, 0.5, 1.0].as_slice(), Some(2)));
    assert!(limits[1].is_sign_positive());
}

#[test]
fn regions_have_the_bins_or_the_grid_of_all_rows_by_the_same_option() {
    let data = data(&[0.0, 0.0, 1.0]);
    let of = |name: &str, distinct| {
        let settings = match name {
            "regional-pdp" => Settings { grid: Some(7), distinct, ..Settings::default() },
            _ => Settings { distinct, ..binned("fixed", 4) },
        };
        let regional = regional::from_settings(name, &settings).unwrap().with_inner_effects();
        let tree = regional.fit(&data, &jump(), 0).unwrap().swap_remove(0).tree;
        let x = |node: &regional::Node| node.effect.as_ref().unwrap().curve.x().to_vec();
        let first = x(&tree.nodes()[0]);
        assert!(tree.nodes().len() > 1 && tree.nodes().iter().all(|node| x(node) == first));
        first
    };
    let equal = [0.0, 0.25, 0.5, 0.75, 1.0];
    assert_eq!(of("regional-ale", None), [0.0, 1.0]);
    assert_eq!(of("regional-ale", Some(0)), equal);
    assert_eq!(of("regional-ale", Some(1)), equal);
    assert_eq!(of("regional-ale", Some(2)), [0.0, 1.0]);
    assert_eq!(of("regional-pdp", None).len(), 7);
    assert_eq!(of("regional-pdp", Some(2)), [0.0, 1.0]);
}
