//! Policies for cells without instances.

use super::side::Side;
use crate::error::{Error, Result};
use crate::settings::EmptyBins;

/// Squared distances that differ by less than this share of themselves are equal: rounding tells no cells apart.
const EQUAL: f64 = 1e-9;

/// The mean mixed difference of each cell, missing ones as the policy has it, and how many were missing.
pub(super) fn fill(
    policy: EmptyBins,
    sides: &[Side; 2],
    means: &[Option<f64>],
) -> Result<(Vec<f64>, usize)> {
    let empty = means.iter().filter(|mean| mean.is_none()).count();
    let filled = match policy {
        EmptyBins::Error if empty > 0 => return Err(refusal(sides, means, empty)),
        EmptyBins::Nearest if empty > 0 => nearest(sides, means),
        _ => means.iter().map(|mean| mean.unwrap_or(0.0)).collect(),
    };
    Ok((filled, empty))
}

fn refusal(sides: &[Side; 2], means: &[Option<f64>], empty: usize) -> Error {
    let first = means.iter().position(Option::is_none).unwrap_or_default();
    let (columns, x) = (sides[1].steps(), [sides[0].values(), sides[1].values()]);
    let at = [first / columns, first % columns];
    let [a, b] =
        [0, 1].map(|side: usize| format!("[{}, {}]", x[side][at[side]], x[side][at[side] + 1]));
    Error::EmptyCell { empty, cells: means.len(), first: format!("{a} × {b}") }
}

/// A value with its squared distance: the mean of all as near.
#[derive(Clone, Copy)]
struct Near {
    distance: f64,
    sum: f64,
    count: f64,
}

impl Near {
    /// The nearer of two, or both together.
    fn or(self, other: Self) -> Self {
        if other.distance < self.distance * (1.0 - EQUAL) {
            other
        } else if self.distance < other.distance * (1.0 - EQUAL) {
            self
        } else {
            Self { sum: self.sum + other.sum, count: self.count + other.count, ..self }
        }
    }
}

/// For cells without instances the value of the nearest cell that has some, by the distance of their centres in units
/// of both axes; the mean of several that are as near.
fn nearest(sides: &[Side; 2], means: &[Option<f64>]) -> Vec<f64> {
    let centres = [0, 1].map(|side: usize| {
        let (widths, centres) = sides[side].widths_and_centres();
        let total: f64 = widths.iter().sum();
        centres.into_iter().map(|centre| centre / total).collect::<Vec<f64>>()
    });
    let columns = centres[1].len();
    let in_rows: Vec<Vec<Option<Near>>> =
        means.chunks(columns).map(|row| nearest_in_row(row, &centres[1])).collect();
    let value = |(place, mean): (usize, &Option<f64>)| {
        let (i, k) = (place / columns, place % columns);
        mean.unwrap_or_else(|| {
            let candidates = in_rows.iter().zip(&centres[0]).filter_map(|(row, centre)| {
                let near = row[k]?;
                let across = centre - centres[0][i];
                Some(Near { distance: near.distance + across * across, ..near })
            });
            candidates.reduce(Near::or).map_or(0.0, |near| near.sum / near.count)
        })
    };
    means.iter().enumerate().map(value).collect()
}

/// For each cell of a row the nearest of the row that has a value, on either side.
fn nearest_in_row(row: &[Option<f64>], centres: &[f64]) -> Vec<Option<Near>> {
    let near = |from: usize, k: usize| {
        let along = centres[from] - centres[k];
        row[from].map(|value| Near { distance: along * along, sum: value, count: 1.0 })
    };
    let (mut left, mut found) = (None, Vec::with_capacity(row.len()));
    for (k, own) in row.iter().enumerate() {
        left = if own.is_some() { Some(k) } else { left };
        found.push(left.and_then(|from| near(from, k)));
    }
    let mut right = None;
    for k in (0..row.len()).rev() {
        right = if row[k].is_some() { Some(k) } else { right };
        if row[k].is_none()
            && let Some(other) = right.and_then(|from| near(from, k))
        {
            found[k] = Some(found[k].map_or(other, |near| near.or(other)));
        }
    }
    found
}
