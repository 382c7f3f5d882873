//! The grid of an estimator, the points its effect is given at, and what is behind its heterogeneity are three
//! things; what is asked for beside the curve.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::model::FunctionModel;
use fe_core::{Centring, Dataset, Effect, Settings, estimator};
use ndarray::Array2;
use proptest::prelude::*;

fn data(rows: usize) -> Dataset {
    let value = |(i, j): (usize, usize)| ((i * 7 + j * 13 + i * i * (j + 1)) % 29) as f64 / 28.0;
    Dataset::from_rows(&Array2::from_shape_fn((rows, 3), value).view()).unwrap()
}

fn model() -> FunctionModel<'static> {
    FunctionModel::new(3, |x| (3.0 * x[0]).exp() * (1.0 + x[1]) + x[2] * x[2] + 5.0 * x[1])
        .with_partial(|s, x| match s {
            0 => 3.0 * (3.0 * x[0]).exp() * (1.0 + x[1]),
            1 => (3.0 * x[0]).exp() + 5.0,
            _ => 2.0 * x[2],
        })
}

fn effect(name: &str, settings: Settings) -> Effect {
    let estimator = estimator::from_settings(name, &settings).unwrap();
    estimator.estimate(&data(40), &model(), 0).unwrap().remove(0)
}

fn refusal(name: &str, settings: Settings) -> String {
    let outcome = estimator::from_settings(name, &settings)
        .and_then(|estimator| estimator.estimate(&data(40), &model(), 0));
    outcome.unwrap_err().to_string()
}

#[test]
fn how_a_curve_is_centred_does_not_change_its_heterogeneity() {
    for name in ["pdp", "dpdp", "ice", "dice"] {
        let with = |center| effect(name, Settings { center, grid: Some(9), ..Settings::default() });
        let as_default = with(None);
        for center in [Centring::None, Centring::Start, Centring::Integral, Centring::Data] {
            let other = with(Some(center));
            assert_eq!(other.heterogeneity, as_default.heterogeneity, "{name} {center:?}");
            assert_eq!(other.heterogeneity_values, as_default.heterogeneity_values);
        }
        // The option says so: curves as they are differ by their levels, too.
        let raw = |raw_ice| {
            effect(name, Settings { raw_ice: Some(raw_ice), grid: Some(9), ..Settings::default() })
        };
        let by_default = if name == "pdp" || name == "ice" { raw(false) } else { raw(true) };
        assert_eq!(by_default.heterogeneity, as_default.heterogeneity, "{name}");
        // The record has what is not the default.
        let other = name == "pdp" || name == "ice";
        assert_eq!((as_default.record.raw_ice, by_default.record.raw_ice), (None, None), "{name}");
        assert_eq!(raw(other).record.raw_ice, Some(other), "{name}");
        assert_ne!(raw(true).heterogeneity, raw(false).heterogeneity, "{name}");
    }
}

#[test]
fn heterogeneity_of_the_grid_is_a_line_between_its_points() {
    let points = vec![0.1, 0.5, 0.77];
    let with = |grid_heterogeneity| {
        let (grid, points) = (Some(5), Some(points.clone()));
        effect("pdp", Settings { grid, points, grid_heterogeneity, ..Settings::default() })
    };
    let (line, exact) = (with(Some(true)), with(None));
    let grid = effect("pdp", Settings { grid: Some(5), ..Settings::default() });
    for &x in &points {
        assert_eq!(line.heterogeneity.at(x).unwrap(), grid.heterogeneity.at(x).unwrap());
        assert_eq!(line.curve.at(x).unwrap(), exact.curve.at(x).unwrap(), "the curve is exact");
    }
    assert!(
        (line.heterogeneity.at(0.1).unwrap() - exact.heterogeneity.at(0.1).unwrap()).abs() > 1e-3
    );
}

#[test]
fn equidistant_points_are_exact_and_move_nothing() {
    for name in ["pdp", "dpdp", "ice", "shapdp", "mplot"] {
        let nearest = (name == "mplot").then_some(8);
        let with = |even_points| {
            effect(name, Settings { grid: Some(4), even_points, nearest, ..Settings::default() })
        };
        let (few, more) = (with(None), with(Some(11)));
        assert_eq!(few.record.centring_constant, more.record.centring_constant, "{name}");
        for place in few.curve.x() {
            assert_eq!(few.curve.at(*place).unwrap(), more.curve.at(*place).unwrap(), "{name}");
        }
        let all = more.record.axis.grid(11);
        let given = effect(
            name,
            Settings { grid: Some(4), points: Some(all.clone()), nearest, ..Settings::default() },
        );
        assert_eq!(given.curve.at_all(&all).unwrap(), more.curve.at_all(&all).unwrap(), "{name}");
        let message =
            refusal(name, Settings { even_points: Some(1), nearest, ..Settings::default() });
        assert!(message.contains("even_points"), "{message}");
    }
    assert!(
        refusal("ale", Settings { even_points: Some(5), ..Settings::default() })
            .contains("takes no option")
    );
    assert!(
        refusal("mplot", Settings { even_points: Some(5), ..Settings::default() })
            .contains("nearest")
    );
}

#[test]
fn variances_that_are_filled_in_are_those_of_the_bins() {
    for name in ["ale", "rhale", "mplot"] {
        for undivided in [None, (name == "ale").then_some(true)] {
            let with = |fill_variances| {
                let binning = Some("grid".to_owned());
                let limits = Some(vec![0.0, 0.3, 0.301, 0.302, 1.0]);
                effect(
                    name,
                    Settings { binning, limits, fill_variances, undivided, ..Settings::default() },
                )
            };
            let (missing, filled) = (with(None), with(Some(true)));
            let known = missing.bins.as_ref().unwrap().variance.clone();
            assert!(known.iter().any(Option::is_none));
            assert_eq!(missing.bin_variances().unwrap(), known, "{name}");
            let now = filled.bin_variances().unwrap();
            for (was, now) in known.iter().zip(&now) {
                assert!(
                    now.is_some() && was.is_none_or(|was| Some(was) == *now),
                    "{name}: {known:?} {now:?}"
                );
            }
            // Between the first and the last bin.
            let (low, high) = (
                known[0].unwrap().min(known[3].unwrap()),
                known[0].unwrap().max(known[3].unwrap()),
            );
            assert!(
                now.iter()
                    .all(|v| (low * (1.0 - 1e-12)..=high * (1.0 + 1e-12)).contains(&v.unwrap())),
                "{now:?}"
            );
        }
    }
}

#[test]
fn background_rows_may_be_given_one_by_one() {
    let rows: Vec<Vec<f64>> = (0..40).map(|row| data(40).row(row).to_vec()).collect();
    let with = |background_rows: Option<Vec<Vec<f64>>>| {
        effect(
            "shapdp",
            Settings { background_rows, shapley_values: Some(true), ..Settings::default() },
        )
    };
    let (all, given) = (with(None).shapley.unwrap(), with(Some(rows.clone())).shapley.unwrap());
    assert_eq!(all.rows, given.rows);
    for (all, given) in all.values.iter().zip(&given.values) {
        assert!((all - given).abs() < 1e-12 * 60.0, "{all} {given}");
    }
    // Against a single row, φ and its base follow from the definition: x2 and x3 are replaced by its values.
    let one = with(Some(vec![vec![0.25, 0.5, 1.0]])).shapley.unwrap();
    let f = |a: f64, b: f64| (3.0 * a).exp() * (1.0 + b);
    assert!((one.base_value - (f(0.25, 0.5) + 1.0 + 2.5)).abs() < 1e-12);
    for (&row, value) in one.rows.iter().zip(&one.values) {
        let (x, y) = (rows[row][0], rows[row][1]);
        let expected = 0.5 * (f(x, 0.5) - f(0.25, 0.5) + f(x, y) - f(0.25, y));
        assert!((value - expected).abs() < 1e-11, "{value} {expected}");
    }
    let bad = |rows: Vec<Vec<f64>>| {
        refusal("shapdp", Settings { background_rows: Some(rows), ..Settings::default() })
    };
    assert!(bad(vec![]).contains("background_rows"));
    assert!(bad(vec![vec![1.0; 2]]).contains("background_rows"));
    let both = Settings {
        background: Some(3),
        background_rows: Some(rows.clone()),
        ..Settings::default()
    };
    assert!(refusal("shapdp", both).contains("not both"));
    let band = Some(fe_core::settings::BandKind::Bootstrap);
    let banded = Settings { band, background_rows: Some(rows), ..Settings::default() };
    assert!(refusal("shapdp", banded).contains("background_rows"));
    assert!(with(None).importance.is_none(), "only where it is asked for");
}

#[test]
fn rows_of_shapley_values_are_those_of_the_data_also_in_a_subsample() {
    let settings =
        Settings { shapley_values: Some(true), subsample: Some(15), ..Settings::default() };
    let effect = effect("shapdp", settings);
    let rows = effect.shapley.unwrap().rows;
    assert_eq!(rows.len(), 15);
    assert!(rows.iter().any(|&row| row >= 15));
}

proptest! {
    /// Of a straight line it is the slope times the deviation of the feature, whatever estimates it.
    #[test]
    fn importance_of_a_line_is_its_slope_times_the_spread(slope in -9.0..9.0_f64, shift in -5.0..5.0_f64) {
        let data = data(40);
        let positions = data.feature(0);
        let mean = positions.iter().sum::<f64>() / 40.0;
        let spread = (positions.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40.0).sqrt();
        let line = FunctionModel::new(3, move |x| slope * x[0] + shift + x[1])
            .with_partial(move |s, _| if s == 0 { slope } else { 0.0 });
        for name in ["pdp", "dpdp", "ale", "rhale", "shapdp"] {
            let settings = Settings { importance: Some(true), ..Settings::default() };
            let estimator = estimator::from_settings(name, &settings).unwrap();
            let effect = estimator.estimate(&data, &line, 0).unwrap().remove(0);
            let importance = effect.importance.unwrap();
            prop_assert!((importance - slope.abs() * spread).abs() < 1e-9, "{name}: {importance}");
        }
    }
}
