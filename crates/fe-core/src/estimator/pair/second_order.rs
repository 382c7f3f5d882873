//! The second-order effect that mean mixed differences of cells make.

use super::empty_cells;
use super::joint::Joint;
use super::side::Side;
use crate::error::Result;
use crate::numeric::interpolation::interpolate_missing;
use crate::settings::EmptyBins;

/// The values at the points along their orders, from the mean differences of the cells that have some: accumulated over
/// both features, less what either has on its own. And the number of cells that have none.
pub(super) fn values(
    empty: EmptyBins,
    sides: &[Side; 2],
    joint: &Joint<'_>,
    means: &[Option<f64>],
) -> Result<(Vec<f64>, usize)> {
    let (means, count) = empty_cells::fill(empty, sides, means)?;
    let mut values = accumulated(sides, &means);
    let alone = [0, 1].map(|side: usize| {
        let changes = joint.changes(&values, side);
        let (widths, centres) = sides[side].widths_and_centres();
        let slopes: Vec<Option<f64>> = changes
            .into_iter()
            .zip(&widths)
            .map(|(change, width)| change.map(|change| change / width))
            .collect();
        // As the estimator of one feature has it.
        let slopes = match empty {
            EmptyBins::Zero => slopes.into_iter().map(Option::unwrap_or_default).collect(),
            _ => interpolate_missing(&slopes, &centres).0.unwrap_or_default(),
        };
        let mut curve = vec![0.0];
        for (slope, width) in slopes.iter().zip(widths) {
            curve.push(curve[curve.len() - 1] + slope * width);
        }
        curve
    });
    for (row, first) in values.chunks_mut(sides[1].len()).zip(&alone[0]) {
        for (value, second) in row.iter_mut().zip(&alone[1]) {
            *value -= first + second;
        }
    }
    Ok((values, count))
}

/// Sums of differences over both features, 0 at the first point of either.
fn accumulated(sides: &[Side; 2], means: &[f64]) -> Vec<f64> {
    let (columns, steps) = (sides[1].len(), sides[1].steps());
    let mut values = vec![0.0; sides[0].len() * columns];
    for i in 1..sides[0].len() {
        let mut along = 0.0;
        for k in 1..columns {
            along += means[(i - 1) * steps + k - 1];
            values[i * columns + k] = values[(i - 1) * columns + k] + along;
        }
    }
    values
}
