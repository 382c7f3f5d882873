//! What estimators ask of a feature again and again.

use std::sync::OnceLock;

use crate::quantiles::{SortedSample, interpolate};
use crate::statistics::Moments;

/// Rows of a block of [`Summary::of`].
const BLOCK: usize = 4096;

/// Where the values of a feature lie, among the rows with positive weight.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    /// Number of those rows.
    pub(crate) rows: usize,
    /// Smallest value.
    pub(crate) lo: f64,
    /// Largest value.
    pub(crate) hi: f64,
    /// Their moments.
    pub(crate) moments: Moments,
    /// Weighted type-7 deciles, from the smallest to the largest value.
    pub(crate) deciles: [f64; 11],
}

impl Summary {
    pub(crate) fn of(values: &[f64], weights: Option<&[f64]>) -> Self {
        let Some(weights) = weights else { return Self::unweighted(values) };
        let pairs = || values.iter().copied().zip(weights.iter().copied());
        let sample = SortedSample::new(pairs());
        let moments =
            pairs().fold(Moments::default(), |all, (x, w)| all.merge(Moments::single(x, w)));
        let deciles = std::array::from_fn(|i| sample.quantile(i as f64 / 10.0));
        let rows = weights.iter().filter(|weight| **weight > 0.0).count();
        Self { rows, lo: deciles[0], hi: deciles[10], moments, deciles }
    }

    fn unweighted(values: &[f64]) -> Self {
        let blocks = values.chunks(BLOCK).map(|block| Moments::of_block(block, None));
        let moments = blocks.fold(Moments::default(), Moments::merge);
        let deciles = deciles(values.to_vec());
        let (lo, hi) = (deciles[0], deciles[10]);
        Self { rows: values.len(), lo, hi, moments, deciles }
    }
}

/// The type-7 deciles: no more is put in order than they need.
fn deciles(mut values: Vec<f64>) -> [f64; 11] {
    let last = values.len() - 1;
    let places: [f64; 11] = std::array::from_fn(|i| last as f64 * (i as f64 / 10.0));
    let mut ranks: Vec<usize> = places
        .iter()
        .flat_map(|place| [place.floor() as usize, (place.floor() as usize + 1).min(last)])
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    put_in_place(&mut values, &ranks, 0);
    places.map(|place| {
        let lower = place.floor() as usize;
        let (below, above) = (values[lower], values[(lower + 1).min(last)]);
        interpolate(below, above, place - place.floor())
    })
}

/// Moves the values of some increasing ranks to their places; `before` ranks lie left of `values`.
fn put_in_place(values: &mut [f64], ranks: &[usize], before: usize) {
    if values.len() < 2 || ranks.is_empty() {
        return;
    }
    let middle = ranks.len() / 2;
    let at = ranks[middle] - before;
    let (left, _, right) = values.select_nth_unstable_by(at, f64::total_cmp);
    put_in_place(left, &ranks[..middle], before);
    put_in_place(right, &ranks[middle + 1..], before + at + 1);
}

/// A place for the summary of each feature. It says nothing that the data do not say: all are equal.
#[derive(Debug, Clone)]
pub(crate) struct Summaries(Vec<OnceLock<Summary>>);

impl PartialEq for Summaries {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Summaries {
    /// Places for so many features.
    pub(crate) fn of(features: usize) -> Self {
        Self(vec![OnceLock::new(); features])
    }

    pub(crate) fn get(&self, feature: usize, make: impl FnOnce() -> Summary) -> &Summary {
        self.0[feature].get_or_init(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_deciles_are_those_of_the_sorted_sample() {
        for rows in (1..40).chain([97, 1000]) {
            // Distinct values, and values that repeat.
            for modulus in [1009, 7] {
                let value = |i: usize| ((i * 353 + 11) % modulus) as f64 / 3.0;
                let values: Vec<f64> = (0..rows).map(value).collect();
                let summary = Summary::of(&values, None);
                let weighted = Summary::of(&values, Some(&vec![1.0; rows]));
                assert_eq!(summary.deciles, weighted.deciles, "{rows} {modulus}");
                assert_eq!((summary.lo, summary.hi), (weighted.lo, weighted.hi));
                let (some, all) = (summary.moments, weighted.moments);
                assert!((some.mean - all.mean).abs() <= 1e-12 * all.mean.abs().max(1.0));
                assert!((some.squares - all.squares).abs() <= 1e-12 * all.squares.max(1.0));
            }
        }
    }
}
