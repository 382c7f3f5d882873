//! Bins of equal width, unless the feature has so few values that most of them would be empty.

use super::BinningRequest;
use crate::error::Result;
use crate::numeric::partition::Partition;

/// Bins of equal width, or between the values of a feature that has few.
pub(super) struct EqualBins {
    pub(super) partition: Partition,
    /// Number of values, where bins are between these.
    pub(super) distinct: Option<usize>,
}

impl EqualBins {
    /// So many bins, or as many as there are between up to `most` distinct values. If nobody says how many
    /// values are few, it is as many as there are bins, and each for two instances on average: values that do
    /// not come again are a sample of a continuous feature.
    pub(super) fn of(
        request: &BinningRequest<'_>,
        bins: usize,
        most: Option<usize>,
    ) -> Result<Self> {
        let values = match most {
            Some(most) => few_values(request, most),
            None => few_values(request, bins)
                .filter(|values| 2.0 * values.len() as f64 <= instances(request)),
        };
        let values = values.filter(|values| values.len() > 1);
        let limits = match &values {
            None => request.axis.divide(bins),
            Some(values) if request.levels => between(request, &middles(values)),
            Some(values) => between(request, values),
        };
        let partition = Partition::new(limits, request.closed)?;
        Ok(Self { partition, distinct: values.map(|values| values.len()) })
    }

    /// The bins if they are equally wide.
    pub(super) fn by_width(self) -> Option<Partition> {
        Some(self.partition).filter(|_| self.distinct.is_none())
    }
}

/// The instances that count: their positions and weights.
fn counted<'a>(request: &'a BinningRequest<'_>) -> impl Iterator<Item = (f64, f64)> + 'a {
    let (positions, weights) = request.whole;
    let weight = move |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let all = positions.iter().enumerate().map(move |(row, &x)| (x, weight(row)));
    all.filter(|&(x, weight)| weight > 0.0 && request.axis.contains(x))
}

fn instances(request: &BinningRequest<'_>) -> f64 {
    counted(request).map(|(_, weight)| weight).sum()
}

/// The distinct values in increasing order; none if there are more than so many, which the first rows of a
/// continuous feature tell.
fn few_values(request: &BinningRequest<'_>, most: usize) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = Vec::new();
    // A sum with 0 makes −0 and 0 the same value.
    let mut positions = counted(request).map(|(x, _)| x + 0.0);
    loop {
        let known = values.len();
        values.extend(positions.by_ref().take(most.saturating_add(1)));
        if values.len() == known {
            return Some(values);
        }
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        if values.len() > most {
            return None;
        }
    }
}

fn middles(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| pair[0] + 0.5 * (pair[1] - pair[0])).collect()
}

/// The ends of the axis, and the values that lie strictly between.
fn between(request: &BinningRequest<'_>, values: &[f64]) -> Vec<f64> {
    let (lo, hi) = (request.axis.lo(), request.axis.hi());
    let mut limits = vec![lo];
    limits.extend(values.iter().copied().filter(|&value| lo < value && value < hi));
    limits.push(hi);
    limits.dedup();
    limits
}
