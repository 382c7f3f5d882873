//! Cached order statistics and moments of a feature: range, deciles, number of rows that count.

use std::sync::OnceLock;

use crate::numeric::blocks::STRETCH;
use crate::numeric::moments::Moments;
use crate::numeric::order_statistics::range;
use crate::numeric::quantiles::deciles;

/// Rows of a block of [`Summary::of`].
const BLOCK: usize = 4096;

/// Range and moments of a feature among the rows with positive weight.
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
    /// Weighted type-7 deciles, found when they are first asked for.
    deciles: OnceLock<[f64; 11]>,
}

impl Summary {
    pub(crate) fn of(values: &[f64], weights: Option<&[f64]>) -> Self {
        let Some(weights) = weights else { return Self::unweighted(values) };
        let stretches = values.chunks(STRETCH).zip(weights.chunks(STRETCH));
        stretches
            .map(|(values, weights)| Self::weighted(values, weights))
            .fold(Self::none(), Self::and)
    }

    fn unweighted(values: &[f64]) -> Self {
        let of_stretch = |values: &[f64]| {
            // Both look at a block while it is in the nearest cache.
            let of_block = |block: &[f64]| {
                let ([lo, hi], moments) = (range(block), Moments::of_block(block, None));
                Self { rows: block.len(), lo, hi, moments, ..Self::none() }
            };
            values.chunks(BLOCK).map(of_block).fold(Self::none(), Self::and)
        };
        values.chunks(STRETCH).map(of_stretch).fold(Self::none(), Self::and)
    }

    fn weighted(values: &[f64], weights: &[f64]) -> Self {
        let pairs = values.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let single = |(&x, &weight): (&f64, &f64)| Self {
            rows: 1,
            lo: x,
            hi: x,
            moments: Moments::single(x, weight),
            ..Self::none()
        };
        pairs.map(single).fold(Self::none(), Self::and)
    }

    fn none() -> Self {
        let (lo, hi) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { rows: 0, lo, hi, moments: Moments::default(), deciles: OnceLock::new() }
    }

    /// The summary of both; deciles are not known.
    fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
            moments: self.moments.merge(other.moments),
            deciles: OnceLock::new(),
        }
    }

    /// The deciles of the values that this is the summary of.
    pub(crate) fn deciles(&self, values: &[f64], weights: Option<&[f64]>) -> [f64; 11] {
        // They are found on several threads, and who waits for these works on what else there is: inside
        // `get_or_init` it might come to ask for the same deciles.
        let find = || deciles(values, weights);
        let known = self.deciles.get().copied().unwrap_or_else(find);
        *self.deciles.get_or_init(|| known)
    }
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
        for rows in (1..40).chain([97, 1000, 2048, 5000, 20_011]) {
            // Distinct values, values that repeat, and values most of which lie close together.
            for (modulus, power) in [(1009, 1), (7, 1), (30_011, 1), (1009, 9)] {
                let value = |i: usize| (((i * 353 + 11) % modulus) as f64 / 3.0).powi(power);
                let values: Vec<f64> = (0..rows).map(value).collect();
                let weights = vec![1.0; rows];
                let summary = Summary::of(&values, None);
                let weighted = Summary::of(&values, Some(&weights));
                let deciles = summary.deciles(&values, None);
                let of_weighted = weighted.deciles(&values, Some(&weights));
                assert_eq!(deciles, of_weighted, "{rows} {modulus} {power}");
                assert_eq!([summary.lo, summary.hi], [deciles[0], deciles[10]]);
                assert_eq!((summary.lo, summary.hi), (weighted.lo, weighted.hi));
                let (some, all) = (summary.moments, weighted.moments);
                assert!((some.mean - all.mean).abs() <= 1e-12 * all.mean.abs().max(1.0));
                assert!((some.squares - all.squares).abs() <= 1e-12 * all.squares.max(1.0));
            }
        }
    }
}
