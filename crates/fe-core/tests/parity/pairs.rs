//! What is computed here of a pair of features, and how it compares with a recorded result.

use fe_core::effect::Surface;
use fe_core::estimator::pair;
use fe_core::model::{Column, Model, Rows};
use fe_core::numeric::quantiles::QuantileRule;
use fe_core::{AxisChoice, Settings, preset};

use super::record::{Case, Record};

/// Largest difference, relative to the size of the values of f.
const TOLERANCE: f64 = 1e-9;

pub fn preset_and_estimator(case: Case<'_>) -> (&'static str, &'static str) {
    match case.text("peer") {
        "PyALE" => ("pyale-1.2", "ale"),
        "scikit-learn" => ("sklearn-1.9", "pdp"),
        _ => panic!("{case} is of no library that is compared"),
    }
}

/// The percentiles between which a grid was asked for.
fn ends(case: Case<'_>) -> [f64; 2] {
    [0, 1].map(|end: usize| case.result["options"]["percentiles"][end].as_f64().unwrap())
}

/// The options that the recorded call gave.
fn explicit(case: Case<'_>) -> Settings {
    if let Some(bins) = case.option_count("grid_size") {
        return Settings { bins: Some(bins), ..Settings::default() };
    }
    let Some(points) = case.option_count("grid_resolution") else { return Settings::default() };
    let axis = match ends(case) {
        [0.0, 1.0] => AxisChoice::Data,
        [from, to] => AxisChoice::Quantiles { from, to, rule: QuantileRule::Cunnane },
    };
    let (grid, distinct) = (Some(points), Some(points - 1));
    Settings { grid, distinct, axis: Some(axis), ..Settings::default() }
}

/// The same as flags of the program.
pub fn flags(case: Case<'_>) -> Vec<String> {
    if let Some(bins) = case.option_count("grid_size") {
        return vec![format!("--bins={bins}")];
    }
    let Some(points) = case.option_count("grid_resolution") else { return Vec::new() };
    let axis = match ends(case) {
        [0.0, 1.0] => "data".to_owned(),
        [from, to] => format!("cunnane:{from},{to}"),
    };
    vec![format!("--grid={points}"), format!("--distinct={}", points - 1), format!("--axis={axis}")]
}

/// The surface under the preset, with the options of a recorded result.
pub fn estimate(case: Case<'_>) -> Result<Surface, String> {
    let (name, estimator) = preset_and_estimator(case);
    let settings = preset::complete_pair(name, estimator, explicit(case)).unwrap();
    let estimator = pair::from_settings(estimator, [&settings, &settings]).unwrap();
    let surfaces = estimator.estimate(&case.record.data, &case.record.model, case.pair());
    surfaces.map(|mut all| all.swap_remove(0)).map_err(|error| error.to_string())
}

/// The largest value of the function at the rows.
pub fn size(record: &Record) -> f64 {
    let data = &record.data;
    let columns: Vec<Column<'_>> =
        (0..data.dimension()).map(|feature| Column::Values(data.feature(feature))).collect();
    let mut values = vec![0.0; data.len()];
    record.model.predict(&Rows::new(&columns, data.len()), &mut values).unwrap();
    values.iter().fold(0.0, |most, value| value.abs().max(most))
}

/// The recorded values.
pub fn recorded(case: Case<'_>) -> Vec<f64> {
    let is_centred = case.text("peer") == "PyALE";
    case.table(if is_centred { "effect_centred" } else { "effect_uncentred" })
}

/// True if numbers are as close as rounding brings them.
pub fn close(ours: &[f64], theirs: &[f64], size: f64) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * size;
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(near)
}

/// True if points and values are those that are recorded.
pub fn is_same(case: Case<'_>, x: [&[f64]; 2], values: &[f64]) -> bool {
    let of_points = |ours: &[f64], key: &str| {
        let theirs = case.numbers(key);
        close(ours, &theirs, theirs.iter().fold(0.0, |most, x| x.abs().max(most)))
    };
    of_points(x[0], "x")
        && of_points(x[1], "x2")
        && close(values, &recorded(case), size(case.record))
}
