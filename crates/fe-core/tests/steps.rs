//! Central differences of functions that change by steps say nothing, and are refused; flat parts of other
//! functions are no steps.

#![allow(clippy::unwrap_used)]

use fe_core::estimator::{self, Estimated, InstanceEffects};
use fe_core::model::{BatchModel, FunctionModel, Model, Rows};
use fe_core::settings::Jacobian;
use fe_core::{AxisChoice, Dataset, Effect, Error, Result, Settings, regional};
use ndarray::Array2;

fn data() -> Dataset {
    let rows = Array2::from_shape_fn((400, 2), |(i, j)| {
        if j == 0 { (i * 37 % 400) as f64 / 200.0 - 1.0 } else { (i * 91 % 400) as f64 / 399.0 }
    });
    Dataset::from_rows(&rows.view()).unwrap()
}

fn numeric() -> Settings {
    Settings { jacobian: Some(Jacobian::Numeric), ..Settings::default() }
}

/// All that takes derivatives.
fn variants() -> Vec<(&'static str, Settings)> {
    let fixed = Settings { binning: Some("fixed".to_owned()), ..numeric() };
    vec![
        ("dale", numeric()),
        ("rhale", numeric()),
        ("rhale", fixed),
        ("rhale", Settings { binning: Some("penalized".to_owned()), ..numeric() }),
        ("rhale", Settings { band: Some(fe_core::settings::BandKind::Analytic), ..numeric() }),
        ("dpdp", Settings { grid: Some(20), ..numeric() }),
        ("dpdp", Settings { grid: Some(20), curve_only: Some(true), ..numeric() }),
        ("dice", Settings { grid: Some(20), ..numeric() }),
    ]
}

fn fit(name: &str, settings: &Settings, model: &dyn Model) -> Result<Effect> {
    let estimator = estimator::from_settings(name, settings)?;
    Ok(estimator.estimate(&data(), model, 0)?.swap_remove(0))
}

/// A sum of so many steps of different heights, as boosted trees make.
fn stairs(steps: usize) -> FunctionModel<'static> {
    FunctionModel::new(2, move |x| {
        let step = |k: usize| {
            let at = (k * 29 % steps) as f64 / steps as f64 * 1.9 - 0.93;
            if x[0] > at { (1 + k % 3) as f64 * x[1] } else { 0.0 }
        };
        (0..steps).map(step).sum()
    })
}

fn is_refused(result: Result<Effect>) -> bool {
    matches!(result, Err(Error::StepFunction { is_known_to_change: true, .. }))
}

#[test]
fn derivatives_of_step_functions_are_refused() {
    for (name, settings) in variants() {
        for steps in [1, 7, 300] {
            assert!(is_refused(fit(name, &settings, &stairs(steps))), "{name} {steps}");
        }
    }
    for name in ["regional-rhale", "regional-dpdp"] {
        let regional = regional::from_settings(name, &numeric()).unwrap();
        let refused = regional.fit(&data(), &stairs(40), 0).unwrap_err();
        assert!(matches!(refused, Error::StepFunction { .. }), "{name}: {refused}");
        let text = refused.to_string();
        assert!(text.contains("`ale`") && text.contains("`step`"), "{text}");
    }
}

/// Some trees split at the values of the rows: both sides of a row are then on both sides of a step.
#[test]
fn steps_where_the_rows_are_are_refused() {
    let at_rows = FunctionModel::new(2, |x| (x[0] * 200.0 + 1e-9).floor() / 9.0 * (1.0 + x[1]));
    for (name, settings) in variants() {
        // Of these, points of a grid are seldom where rows are.
        assert!(is_refused(fit(name, &settings, &at_rows)), "{name}");
    }
    let steep = FunctionModel::new(2, |x| (300.0 * x[0]).sin() + x[1]);
    fit("dale", &numeric(), &steep).unwrap();
}

/// Local effects are asked for apart from the effect they belong to.
#[test]
fn local_effects_of_step_functions_are_refused() {
    for name in ["rhale", "dpdp"] {
        let estimator = estimator::from_settings(name, &numeric()).unwrap();
        let smooth = FunctionModel::new(2, |x| x[0]);
        let data = data();
        let effect = estimator.estimate(&data, &smooth, 0).unwrap().swap_remove(0);
        let rows: Vec<usize> = (0..400).collect();
        let local = estimator
            .instances(Estimated { data: &data, model: &stairs(5), effect: &effect }, &rows);
        assert!(matches!(local, Err(Error::StepFunction { .. })), "{name}");
        let local = estimator
            .instances(Estimated { data: &data, model: &smooth, effect: &effect }, &rows)
            .unwrap();
        assert!(!matches!(local, InstanceEffects::Unknown));
    }
}

#[test]
fn functions_with_flat_parts_are_not_step_functions() {
    let relu = |from: f64| FunctionModel::new(2, move |x| (x[0] - from).max(0.0) * (1.0 + x[1]));
    for (name, settings) in variants() {
        for from in [-0.5, 0.0, 0.6, 0.9] {
            fit(name, &settings, &relu(from)).unwrap_or_else(|e| panic!("{name} {from}: {e}"));
        }
        // A step beside a slope: the curve leaves it out, as it says it does.
        let both = FunctionModel::new(2, |x| x[0] + if x[0] > 0.3 { 1.0 } else { 0.0 });
        fit(name, &settings, &both).unwrap();
    }
}

#[test]
fn what_is_constant_along_the_feature_has_an_effect_of_exactly_zero() {
    let models = [FunctionModel::new(2, |_| 3.25), FunctionModel::new(2, |x| 7.0 * x[1].sin())];
    for model in &models {
        for (name, settings) in variants() {
            let effect = fit(name, &settings, model).unwrap();
            assert!(effect.curve.y().iter().all(|&y| y == 0.0), "{name}");
        }
    }
}

#[test]
fn a_larger_step_is_taken() {
    let large = Settings { step: Some(0.1), binning: Some("fixed".to_owned()), ..numeric() };
    let effect = fit("rhale", &large, &stairs(300)).unwrap();
    let ale = fit("ale", &Settings::default(), &stairs(300)).unwrap();
    let rise = |effect: &Effect| effect.curve.at(0.9).unwrap() - effect.curve.at(-0.9).unwrap();
    assert!((rise(&effect) / rise(&ale) - 1.0).abs() < 0.05, "{} {}", rise(&effect), rise(&ale));
}

/// Single precision: the differences are a few units of the last digit, most of them none.
#[test]
fn models_of_few_digits_are_refused() {
    let coarse = FunctionModel::new(2, |x| f64::from((3000.0 + x[0] + x[1]) as f32));
    assert!(is_refused(fit("rhale", &numeric(), &coarse)));
    let large = Settings { step: Some(1e-3), ..numeric() };
    assert!(fit("rhale", &large, &coarse).is_ok());
}

#[test]
fn each_output_is_judged_by_itself() {
    let model = BatchModel::new(2, 3, |rows: &Rows<'_>| {
        let x = |i: usize| rows.columns()[0].get(i);
        let each = 0..rows.len();
        let slopes = each.clone().map(x).chain(each.clone().map(|i| x(i).sin()));
        slopes.chain(each.map(|i| (5.0 * x(i)).floor())).collect()
    });
    assert!(is_refused(fit("rhale", &numeric(), &model)));
}

#[test]
fn a_step_that_rounding_swallows_is_refused() {
    let axis = Some(AxisChoice::Given(1e16, 1e16 + 64.0));
    let rows = Array2::from_shape_fn((30, 1), |(i, _)| 1e16 + 2.0 * i as f64);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(1, |x| x[0]);
    let estimator = estimator::from_settings("dale", &Settings { axis, ..numeric() }).unwrap();
    let refused = estimator.estimate(&data, &model, 0).unwrap_err();
    assert!(matches!(refused, Error::BadOption { option: "step", .. }), "{refused}");
}

/// Only one end of the axis is where the step is lost.
#[test]
fn a_step_is_refused_that_is_swallowed_at_one_end_of_the_axis() {
    let rows = Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = FunctionModel::new(1, |x| x[0]);
    for axis in [(0.0, 1e9), (-1e9, 0.0)] {
        let axis = Some(AxisChoice::Given(axis.0, axis.1));
        let settings = Settings { axis, step: Some(1e-18), ..numeric() };
        let refused = estimator::from_settings("dale", &settings).unwrap();
        let refused = refused.estimate(&data, &model, 0).unwrap_err();
        assert!(matches!(refused, Error::BadOption { option: "step", .. }), "{axis:?}: {refused}");
    }
}

/// A feature in other units, and a second output that is a thousand million times as large.
#[test]
fn what_is_a_step_depends_neither_on_units_nor_on_other_outputs() {
    let at_rows = |x: f64| (x * 200.0 + 1e-9).floor() / 9.0;
    for unit in [1e-6, 1.0, 1e6] {
        let features = data().into_features().map(|x| unit * x);
        let data = Dataset::from_features(features).unwrap();
        let dale = estimator::from_settings("dale", &numeric()).unwrap();
        let steps = FunctionModel::new(2, move |x| at_rows(x[0] / unit));
        assert!(
            matches!(dale.estimate(&data, &steps, 0), Err(Error::StepFunction { .. })),
            "{unit}"
        );
        let slope = FunctionModel::new(2, move |x| x[0] / unit);
        dale.estimate(&data, &slope, 0).unwrap();
        let both = BatchModel::new(2, 2, move |rows: &Rows<'_>| {
            let x = |i: usize| rows.columns()[0].get(i) / unit;
            let each = 0..rows.len();
            each.clone().map(|i| 1e9 * x(i)).chain(each.map(|i| at_rows(x(i)))).collect()
        });
        assert!(
            matches!(dale.estimate(&data, &both, 0), Err(Error::StepFunction { .. })),
            "{unit}"
        );
    }
}

/// Nearly all differences are 0, and yet they see all there is: a slope between two of the places that are
/// followed.
#[test]
fn a_ramp_in_one_cell_is_no_step() {
    for from in [-0.9375, 0.0, 0.5, 0.875] {
        let ramp = FunctionModel::new(2, move |x| ((x[0] - from) * 20.0).clamp(0.2, 1.05));
        for name in ["dale", "dpdp"] {
            let settings = Settings { axis: Some(AxisChoice::Given(-1.0, 1.0)), ..numeric() };
            fit(name, &settings, &ramp).unwrap_or_else(|e| panic!("{name} {from}: {e}"));
        }
    }
}

/// The function is followed along rows that count, from the first to the last.
#[test]
fn rows_from_first_to_last_that_count_say_whether_it_is_a_step() {
    let model =
        FunctionModel::new(2, |x| if x[1] > 0.5 { (5.0 * x[0]).floor() } else { 9.0 * x[0] });
    let with_slopes = |rows: usize| {
        let rows = Array2::from_shape_fn((400, 2), |(i, j)| match j {
            0 => (i * 37 % 400) as f64 / 200.0 - 1.0,
            _ => f64::from(i >= rows),
        });
        Dataset::from_rows(&rows.view()).unwrap()
    };
    let dale = estimator::from_settings("dale", &numeric()).unwrap();
    // Nine tenths of the rows are on steps; the first forty are not.
    let few = with_slopes(40);
    assert!(matches!(dale.estimate(&few, &model, 0), Err(Error::StepFunction { .. })));
    // All rows that count are on steps; a row that does not count is on a slope.
    let half = with_slopes(200);
    dale.estimate(&half, &model, 0).unwrap();
    let weights = (0..400).map(|i| f64::from(u8::from(i >= 200))).collect();
    let half = half.with_weights(weights).unwrap();
    assert!(matches!(dale.estimate(&half, &model, 0), Err(Error::StepFunction { .. })));
}
