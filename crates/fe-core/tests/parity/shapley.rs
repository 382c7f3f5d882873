//! Recorded Shapley values, and the curves that effector makes of them.

use fe_core::AxisChoice;
use fe_core::Dataset;
use fe_core::effect::centring::AxisMean;
use fe_core::estimator::shapley::{self, Background, Shapley, ShapleyMethod, ShapleyValues};
use fe_core::numeric::moments::Moments;
use fe_core::settings::CenterRule;
use ndarray::Array2;
use serde_json::Value;

use super::compare::{
    Comparison, close, close_curve, close_variance, range, size, standard_deviation,
};
use super::defects::Costs;
use super::record::Case;

/// Least number of instances in a bin, and the discount: effector's defaults.
pub const OF_BINS: (f64, f64) = (2.0, 0.3);

/// The Shapley values of all rows against a recorded background. Rows of no weight are explained and
/// are no part of the background, so the background's rows come first, and then the data.
fn recompute(case: Case<'_>, background: &Value) -> Result<ShapleyValues, String> {
    let data = &case.record.data;
    let rows = numbers(background);
    let count = rows.len();
    let explained: Vec<usize> = (count..count + data.len()).collect();
    let both = Array2::from_shape_fn((count + data.len(), data.dimension()), |(i, j)| {
        if i < count { rows[i][j] } else { data.feature(j)[i - count] }
    });
    let in_background = |i: usize| f64::from(i < count || background.is_null());
    let weights = (0..both.nrows()).map(in_background).collect();
    let both = Dataset::from_rows(&both.view()).and_then(|data| data.with_weights(weights));
    let options = Shapley { method: ShapleyMethod::Exact, background: Background::All };
    both.and_then(|both| shapley::values(&both, &case.record.model, &explained, &options))
        .map_err(|e| e.to_string())
}

/// What is recorded, row by row.
fn recorded_values(result: &Value) -> Vec<Vec<f64>> {
    numbers(&result["shap_values"])
}

fn numbers(rows: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| -> Vec<f64> {
        row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    rows.as_array().map_or_else(Vec::new, |rows| rows.iter().map(row).collect())
}

/// Compares Shapley values and the mean prediction.
pub fn compare_values(case: Case<'_>) -> Comparison {
    compare_rows(case, |_| true)
}

/// Compares the mean prediction, and the Shapley values of some of the rows.
fn compare_rows(case: Case<'_>, compared: impl Fn(usize) -> bool) -> Comparison {
    let ours = recompute(case, &case.result["background"])?;
    let theirs = recorded_values(case.result);
    let base = case.number("base_value");
    let scale = size(&theirs.concat()).max(base.abs());
    for (row, theirs) in theirs.iter().enumerate().filter(|(row, _)| compared(*row)) {
        let ours =
            ours.values.index_axis(ndarray::Axis(0), row).iter().copied().collect::<Vec<_>>();
        close_curve(&format!("shap_values of row {row}"), &ours, theirs, scale)?;
    }
    close_curve("base_value", &ours.base, &[base], scale)
}

/// Whether values differ in rows alone that are nearly, and not quite, like a background row in some
/// feature: shap calls numbers equal by the rule of numpy's `isclose`.
pub fn close_taken_as_equal(case: Case<'_>) -> bool {
    let data = &case.record.data;
    let mut background = numbers(&case.result["background"]);
    if background.is_empty() {
        background = (0..data.len()).map(|row| data.row(row).to_vec()).collect();
    }
    let nearly = |x: f64, b: f64| x != b && (x - b).abs() <= 1e-8 + 1e-5 * b.abs();
    let concerned = |row: usize| {
        let x = data.row(row);
        background.iter().any(|b| x.iter().zip(b).any(|(&x, &b)| nearly(x, b)))
    };
    (0..data.len()).any(concerned) && compare_rows(case, |row| !concerned(row)).is_ok()
}

/// The recorded Shapley values against a background that a curve was made of, which are accounted for themselves, and the
/// size of what they are made from.
pub fn local_effects(case: Case<'_>, background: &str) -> Result<(Vec<f64>, f64), String> {
    let recorded = case.record.results.iter().find(|result| {
        result["method"] == "SHAP values" && result["options"]["background"] == background
    });
    let recorded = recorded.ok_or("no Shapley values are recorded")?;
    let values = recorded_values(recorded);
    let base = recorded["base_value"].as_f64().ok_or("no mean prediction is recorded")?;
    let of_feature = values.iter().map(|row| row[case.feature()]).collect();
    Ok((of_feature, size(&values.concat()).max(base.abs())))
}

/// Straight lines through values at places, continued at both ends.
pub fn joined(places: &[f64], values: &[f64], x: f64) -> f64 {
    if places.len() == 1 {
        return values[0];
    }
    let j = places.partition_point(|&place| place < x).clamp(1, places.len() - 1) - 1;
    let slope = (values[j + 1] - values[j]) / (places[j + 1] - places[j]);
    values[j] + (x - places[j]) * slope
}

/// The values in each bin.
pub fn in_bins(limits: &[f64], positions: &[f64], values: &[f64]) -> Vec<Vec<f64>> {
    let mut in_bins = vec![Vec::new(); limits.len() - 1];
    for (&x, &value) in positions.iter().zip(values) {
        let bin = limits.partition_point(|&z| z <= x).clamp(1, in_bins.len()) - 1;
        in_bins[bin].push(value);
    }
    in_bins
}

/// Whether everything recorded of a curve comes out of means and variances of Shapley values in bins.
pub fn joined_bins(case: Case<'_>) -> Comparison {
    let (local, scale) = local_effects(case, case.option_text("background"))?;
    let limits = case.numbers("limits");
    optimal(case, &local, scale, &limits)?;
    let in_bins = in_bins(&limits, case.positions(), &local);
    let moments: Vec<Moments> = in_bins.iter().map(|values| Moments::of(values)).collect();
    let counts: Vec<f64> = moments.iter().map(|bin| bin.weight).collect();
    let means: Vec<f64> = moments.iter().map(|bin| bin.mean).collect();
    let variances: Vec<f64> = moments.iter().map(|bin| bin.squares / bin.weight).collect();
    close("points_per_bin", &counts, &case.numbers("points_per_bin"), 0.0)?;
    close_curve("bin_effect", &means, &case.numbers("bin_effect"), scale)?;
    close_variance("bin_variance", &variances, &case.numbers("bin_variance"), scale)?;

    let centres: Vec<f64> = limits.windows(2).map(|z| (z[0] + z[1]) / 2.0).collect();
    let curve = |x: f64| joined(&centres, &means, x);
    let heterogeneity = |x: f64| joined(&centres, &variances, x).max(0.0);
    let (lo, hi) = range(case);
    let axis = AxisChoice::Given(lo, hi).resolve(&case.record.data, case.feature()).unwrap();
    let places = AxisMean::new(CenterRule::Midpoints, Some(30)).unwrap().places(axis);
    let mean = places.iter().map(|&x| curve(x)).sum::<f64>() / places.len() as f64;
    let (x, outside) = (case.numbers("x"), case.numbers("x_outside"));
    for (field, x, constant) in [
        ("effect_uncentred", &x, 0.0),
        ("effect_uncentred_outside", &outside, 0.0),
        ("effect_zero_integral", &x, mean),
        ("effect_zero_start", &x, curve(lo)),
    ] {
        let ours: Vec<f64> = x.iter().map(|&x| curve(x) - constant).collect();
        let theirs = case.numbers(field);
        close_curve(field, &ours, &theirs, scale.max(size(&theirs)))?;
    }
    for (field, x) in [("heterogeneity", &x), ("heterogeneity_outside", &outside)] {
        let ours: Vec<f64> = x.iter().map(|&x| heterogeneity(x)).collect();
        close_variance(field, &ours, &case.numbers(field), scale)?;
    }
    let instances = case.positions();
    let score = instances.iter().map(|&x| heterogeneity(x)).sum::<f64>() / instances.len() as f64;
    let theirs = case.number("heter_score");
    close_variance("heter_score squared", &[score], &[theirs * theirs], scale)?;
    let curve: Vec<f64> = instances.iter().map(|&x| curve(x)).collect();
    let importance = [case.number("importance")];
    close_curve("importance", &[standard_deviation(&curve)], &importance, scale)
}

/// Whether the recorded bins are made of the cells and cost no more than the best ones.
fn optimal(case: Case<'_>, local: &[f64], scale: f64, limits: &[f64]) -> Comparison {
    let cells = case.option_count("max_nof_bins").ok_or("no number of cells")?;
    let costs = Costs::new(range(case), case.positions(), local, cells, OF_BINS);
    let cell = |z: &f64| ((z - costs.start) / costs.width).round() as usize;
    let kept: Vec<usize> = limits.iter().map(cell).collect();
    let places: Vec<f64> = kept.iter().map(|&k| costs.start + k as f64 * costs.width).collect();
    let length = costs.width * costs.cells as f64;
    close_curve("limits", &places, limits, size(limits).max(length))?;
    let (recorded, best) = (costs.total(&kept), costs.total(&costs.dynamic_programming()));
    // Equally good bins differ by the rounding of their variances.
    let rounding = 1e-12 * scale * scale * length;
    if recorded <= best + rounding {
        return Ok(());
    }
    Err(format!("the recorded bins cost {recorded}, the best ones {best}"))
}
