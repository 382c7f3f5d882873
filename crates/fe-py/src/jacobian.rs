//! True if a Jacobian that was given is that of the model: it is compared with differences at a few rows.
//!
//! Derivatives of the wrong sign, or of features in another order, give a smooth curve that is wrong. Differences at
//! a few rows tell; where they disagree among themselves, because the model jumps or bends there, they say nothing.

use fe_core::Dataset;
use pyo3::prelude::*;

use crate::callable::Callable;
use crate::errors::Raise;

/// Rows at which it is looked at.
const ROWS: usize = 5;

/// The step, as a share of the range of the feature.
const STEP: f64 = 1.0 / 1024.0;

/// Places along a feature around that of a row, in steps.
const PLACES: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// Relative distance from all differences that is taken for none.
const CLOSE: f64 = 0.02;

/// Compares the Jacobian with differences of the model along some features (counted from 0).
///
/// # Errors
/// What the two raise, or where they contradict each other.
pub(crate) fn check(
    py: Python<'_>,
    callable: &mut Callable,
    data: &Dataset,
    features: &[usize],
) -> PyResult<()> {
    let rows = some_rows(data.len());
    let row = |row: usize| (0..data.dimension()).map(move |s| data.feature(s)[row]);
    let stencils: Vec<Stencil> = features.iter().filter_map(|&s| Stencil::of(data, s)).collect();
    if stencils.is_empty() {
        return Ok(());
    }
    let mut asked = Vec::new();
    for stencil in &stencils {
        for &r in &rows {
            for place in stencil.places(data.feature(stencil.feature)[r]) {
                let start = asked.len();
                asked.extend(row(r));
                asked[start + stencil.feature] = place;
            }
        }
    }
    let outputs = callable.outputs();
    let jacobian = callable.jacobian_of(py, &rows)?;
    let values = callable.values_at(py, &asked)?;
    let stretches = values.chunks(PLACES.len() * outputs);
    let asked =
        stencils.iter().flat_map(|stencil| rows.iter().enumerate().map(move |r| (stencil, r)));
    for ((stencil, (place, &row)), values) in asked.zip(stretches) {
        for output in 0..outputs {
            let said = jacobian[(place * outputs + output) * data.dimension() + stencil.feature];
            let values: Vec<f64> = values.iter().skip(output).step_by(outputs).copied().collect();
            let x = stencil.places(data.feature(stencil.feature)[row]);
            let Some(differences) = Differences::of(&x, &values) else { continue };
            if !differences.allow(said) {
                let name = &data.names()[stencil.feature];
                let of =
                    if outputs == 1 { String::new() } else { format!(" of output {}", output + 1) };
                return Err(format!(
                    "jacobian: at row {row} of X (counted from 0) it says that the derivative{of} along {name} is \
                     {:?}, but differences of the model say {:?}; is it that of another model, or are \
                     its columns not in the order of the features?",
                    rounded(said),
                    rounded(differences.middle)
                )
                .raise());
            }
        }
    }
    Ok(())
}

/// Six digits of a number, which are enough to tell it from another.
fn rounded(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// Rows from the first to the last.
fn some_rows(count: usize) -> Vec<usize> {
    let most = ROWS.min(count);
    let mut rows: Vec<usize> = (0..most).map(|i| i * (count - 1) / (most - 1).max(1)).collect();
    rows.dedup();
    rows
}

/// Places at which the model is asked along a feature: within its range, beyond which it may not be defined.
struct Stencil {
    feature: usize,
    range: (f64, f64),
}

impl Stencil {
    /// None where the feature is constant.
    fn of(data: &Dataset, feature: usize) -> Option<Self> {
        let values = data.feature(feature);
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (lo < hi && (hi - lo).is_finite()).then_some(Self { feature, range: (lo, hi) })
    }

    fn places(&self, x: f64) -> [f64; PLACES.len()] {
        let (lo, hi) = self.range;
        let step = (hi - lo) * STEP;
        let centre = x.clamp(lo + step, hi - step);
        PLACES.map(|place| if centre == x && place == 0.0 { x } else { centre + place * step })
    }
}

/// The slopes of a model between neighbouring places.
struct Differences {
    least: f64,
    most: f64,
    middle: f64,
    /// The part that rounding may add to them.
    rounding: f64,
}

impl Differences {
    /// None where the model has no finite value, or the places are one.
    fn of(x: &[f64], values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let pairs = || x.windows(2).zip(values.windows(2));
        let slopes: Vec<f64> = pairs().map(|(x, y)| (y[1] - y[0]) / (x[1] - x[0])).collect();
        if slopes.iter().any(|slope| !slope.is_finite()) {
            return None;
        }
        let least = slopes.iter().copied().fold(f64::INFINITY, f64::min);
        let most = slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let last = x.len() - 1;
        let middle = (values[last] - values[0]) / (x[last] - x[0]);
        // A model may compute in single precision, its arguments included.
        let single = values.iter().all(|&value| f64::from(value as f32) == value);
        let precision = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let size = |values: &[f64]| values.iter().fold(0.0, |size: f64, y| size.max(y.abs()));
        let step = x[1] - x[0];
        let steepest = least.abs().max(most.abs());
        let rounding = 8.0 * precision * (size(values) + steepest * size(x)) / step;
        Some(Self { least, most, middle, rounding })
    }

    /// True if a derivative may be that of the model: not farther from the slopes than they are from each other.
    fn allow(&self, derivative: f64) -> bool {
        let Self { least, most, rounding, .. } = *self;
        let size = least.abs().max(most.abs()).max(derivative.abs());
        let room = (most - least) + CLOSE * size + rounding;
        (least - room..=most + room).contains(&derivative)
    }
}
