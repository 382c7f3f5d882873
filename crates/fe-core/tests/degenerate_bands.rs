//! Bands about curves that do not depend on which instances were drawn: what is between their limits is
//! rounding.

#![allow(clippy::unwrap_used)]

use fe_core::estimator;
use fe_core::model::FunctionModel;
use fe_core::settings::BandKind;
use fe_core::{Dataset, Effect, Settings};
use ndarray::Array2;

fn data() -> Dataset {
    let rows = Array2::from_shape_fn((200, 3), |(i, j)| match j {
        0 => (i * 37 % 200) as f64 / 199.0,
        1 => (i * 91 % 200) as f64 / 7.0 - 13.0,
        _ => (i * 53 % 200) as f64 / 19.0,
    });
    Dataset::from_rows(&rows.view()).unwrap()
}

fn banded(name: &str, kind: BandKind, model: &FunctionModel<'_>) -> Effect {
    let settings = Settings { band: Some(kind), ..Settings::default() };
    let settings = match name {
        "pdp" => Settings { grid: Some(9), ..settings },
        "rhale" => settings,
        "shapdp" => Settings { grid: Some(9), ..settings },
        _ => Settings { bins: Some(8), ..settings },
    };
    let estimator = estimator::from_settings(name, &settings).unwrap();
    estimator.estimate(&data(), model, 0).unwrap().swap_remove(0)
}

/// How many of the band's places are degenerate, of how many.
fn degenerate(effect: &Effect) -> (usize, usize) {
    let band = effect.confidence.as_ref().unwrap();
    let limits = band.pointwise.lower.y().iter().zip(band.pointwise.upper.y());
    let count = limits.filter(|(lower, upper)| band.is_degenerate(**lower, **upper)).count();
    (count, band.pointwise.lower.y().len())
}

const KINDS: [BandKind; 2] = [BandKind::Analytic, BandKind::Bootstrap];

#[test]
fn of_a_feature_that_is_ignored_or_added_all_of_the_band_is_rounding() {
    // Values of a thousand and more, of which the curve is a small part or nothing.
    let rest = |x: &[f64]| 1e3 + (x[1] * x[2]).sin() * 700.0;
    let ignored = FunctionModel::new(3, rest).with_partial(|_, _| 0.0);
    let added = FunctionModel::new(3, move |x| rest(x) + 0.3 * x[0]).with_partial(|_, _| 0.3);
    for model in [&ignored, &added] {
        for kind in KINDS {
            for name in ["pdp", "ale", "dale", "rhale", "shapdp"] {
                let (count, all) = degenerate(&banded(name, kind, model));
                assert_eq!(count, all, "{name} {kind:?}");
            }
        }
    }
}

#[test]
fn of_an_interaction_none_of_the_band_is_rounding() {
    let model = FunctionModel::new(3, |x| 1e3 + 1e-4 * x[0] * x[1]).with_partial(|s, x| match s {
        0 => 1e-4 * x[1],
        1 => 1e-4 * x[0],
        _ => 0.0,
    });
    for kind in KINDS {
        for name in ["pdp", "ale", "dale", "rhale", "shapdp"] {
            let (count, all) = degenerate(&banded(name, kind, &model));
            // The centred curve of an interaction x1 x2 crosses zero width in the middle.
            assert!(count <= 1, "{name} {kind:?}: {count} of {all}");
        }
    }
}

/// Local effects differ within bins, values against background rows do not.
#[test]
fn a_curved_feature_that_is_added_is_certain_for_shapley_values_and_on_a_grid() {
    let model = FunctionModel::new(3, |x| 20.0 * (x[0] - 0.5).powi(2) + x[1] * x[2]);
    for kind in KINDS {
        for name in ["pdp", "shapdp"] {
            let (count, all) = degenerate(&banded(name, kind, &model));
            assert_eq!(count, all, "{name} {kind:?}");
        }
    }
}

/// Cells leave something of the bend, which is no matter of chance.
#[test]
fn a_curved_feature_that_is_added_is_certain_for_accumulated_effects_with_cells() {
    let added = |x: &[f64]| (3.0 * x[0]).exp() + x[1] * x[2];
    let model = FunctionModel::new(3, added).with_partial(|s, x| match s {
        0 => 3.0 * (3.0 * x[0]).exp(),
        1 => x[2],
        _ => x[1],
    });
    for name in ["ale", "dale", "rhale"] {
        let (count, all) = degenerate(&banded(name, BandKind::Analytic, &model));
        assert_eq!(count, all, "{name}");
        // A mean over the instances is as uncertain as where they are.
        let settings = Settings {
            band: Some(BandKind::Analytic),
            center: Some(fe_core::settings::Centring::Data),
            ..Settings::default()
        };
        let settings =
            if name == "rhale" { settings } else { Settings { bins: Some(8), ..settings } };
        let estimator = estimator::from_settings(name, &settings).unwrap();
        let effect = &estimator.estimate(&data(), &model, 0).unwrap()[0];
        assert_eq!(degenerate(effect).0, 0, "{name}");
    }
    // All but three of 200 instances alike is not all.
    let odd = |x: &[f64]| if x[1] > 15.0 { x[0] } else { 0.0 };
    let model = FunctionModel::new(3, move |x| added(x) + odd(x));
    assert!(degenerate(&banded("ale", BandKind::Analytic, &model)).0 <= 1);
}

/// The rows on a part of the axis are explained, against the background of all.
#[test]
fn on_a_part_of_the_axis_too() {
    let model = FunctionModel::new(3, |x| 20.0 * (x[0] - 0.5).powi(2) + x[1] * x[2]);
    let axis = Some(fe_core::AxisChoice::Given(0.5, 0.9));
    let settings =
        Settings { axis, grid: Some(9), band: Some(BandKind::Analytic), ..Settings::default() };
    let estimator = estimator::from_settings("shapdp", &settings).unwrap();
    let effect = &estimator.estimate(&data(), &model, 0).unwrap()[0];
    let (count, all) = degenerate(effect);
    assert_eq!(count, all);
}
