//! What estimators ask of a feature again and again.

use std::sync::OnceLock;

use crate::quantiles::{SortedSample, interpolate};
use crate::statistics::Moments;
use crate::vector::vectorised;

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
        let deciles = deciles(values);
        let (lo, hi) = (deciles[0], deciles[10]);
        Self { rows: values.len(), lo, hi, moments, deciles }
    }
}

/// The type-7 deciles.
fn deciles(values: &[f64]) -> [f64; 11] {
    let last = values.len() - 1;
    let places: [f64; 11] = std::array::from_fn(|i| last as f64 * (i as f64 / 10.0));
    let neighbours = |place: &f64| [place.floor() as usize, (place.floor() as usize + 1).min(last)];
    let mut ranks: Vec<usize> = places.iter().flat_map(neighbours).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let of_ranks = match Buckets::over(values) {
        Some(buckets) => buckets.of_ranks(values, &ranks),
        None => {
            let mut values = values.to_vec();
            put_in_place(&mut values, &ranks, 0);
            ranks.iter().map(|&rank| values[rank]).collect()
        }
    };
    let value = |rank: usize| of_ranks[ranks.partition_point(|&other| other < rank)];
    places.map(|place| {
        let [lower, upper] = neighbours(&place);
        interpolate(value(lower), value(upper), place - place.floor())
    })
}

/// Stretches of equal length that the values are counted in, so that few of them must be put in order
/// to find those of some ranks.
struct Buckets {
    lo: f64,
    per_unit: f64,
}

impl Buckets {
    /// Number of buckets, a power of two.
    const COUNT: usize = 2048;

    /// Fewer values are put in order as they are.
    const FEW: usize = 2048;

    /// Values whose buckets are found together.
    const CHUNK: usize = 512;

    /// Buckets from the least to the largest of many values that differ.
    fn over(values: &[f64]) -> Option<Self> {
        if values.len() < Self::FEW {
            return None;
        }
        let [lo, hi] = range(values);
        // A value at the upper end is rounded down to the last bucket.
        let per_unit = (Self::COUNT as f64 - 1.5) / (hi - lo);
        (per_unit.is_finite() && per_unit > 0.0).then_some(Self { lo, per_unit })
    }

    /// The values of some increasing ranks, counted from 0.
    fn of_ranks(&self, values: &[f64], ranks: &[usize]) -> Vec<f64> {
        let mut counts = vec![0_usize; Self::COUNT];
        self.each_chunk(values, |_, buckets| {
            buckets.iter().for_each(|&bucket| counts[bucket as usize % Self::COUNT] += 1);
        });
        // Values of the wanted buckets, which follow each other as the buckets do.
        let mut wanted = vec![false; Self::COUNT];
        let (mut before, mut kept_before, mut next) = (0, 0, 0);
        let mut places = Vec::with_capacity(ranks.len());
        for (wanted, count) in wanted.iter_mut().zip(counts) {
            while next < ranks.len() && ranks[next] < before + count {
                places.push(kept_before + (ranks[next] - before));
                *wanted = true;
                next += 1;
            }
            before += count;
            kept_before += if *wanted { count } else { 0 };
        }
        let mut kept = Vec::with_capacity(kept_before);
        self.each_chunk(values, |values, buckets| {
            for (&x, &bucket) in values.iter().zip(buckets) {
                if wanted[bucket as usize % Self::COUNT] {
                    kept.push(x);
                }
            }
        });
        put_in_place(&mut kept, &places, 0);
        places.iter().map(|&place| kept[place]).collect()
    }

    /// Calls `work` on consecutive values with their buckets, which grow with the values.
    fn each_chunk(&self, values: &[f64], mut work: impl FnMut(&[f64], &[u32])) {
        // Added to a number that is not large, leaves it rounded to a whole number in the lowest bits.
        const ROUNDING: f64 = 1.5 * (1_u64 << 52) as f64;
        let mut buckets = [0; Self::CHUNK];
        for values in values.chunks(Self::CHUNK) {
            let buckets = &mut buckets[..values.len()];
            vectorised(
                #[inline(always)]
                || {
                    let (lo, per_unit) = (self.lo, self.per_unit);
                    for (&x, bucket) in values.iter().zip(&mut *buckets) {
                        *bucket = ((x - lo) * per_unit + ROUNDING).to_bits() as u32;
                    }
                },
            );
            work(values, buckets);
        }
    }
}

/// The least and the largest of some values.
fn range(values: &[f64]) -> [f64; 2] {
    const LANES: usize = 64;
    vectorised(
        #[inline(always)]
        || {
            let mut least = [f64::INFINITY; LANES];
            let mut most = [f64::NEG_INFINITY; LANES];
            for values in values.chunks(LANES) {
                for ((least, most), &x) in least.iter_mut().zip(&mut most).zip(values) {
                    *least = if x < *least { x } else { *least };
                    *most = if x > *most { x } else { *most };
                }
            }
            let least = least.iter().fold(f64::INFINITY, |a, &b| a.min(b));
            let most = most.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            [least, most]
        },
    )
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
        for rows in (1..40).chain([97, 1000, 2048, 5000, 20_011]) {
            // Distinct values, values that repeat, and values most of which lie close together.
            for (modulus, power) in [(1009, 1), (7, 1), (30_011, 1), (1009, 9)] {
                let value = |i: usize| (((i * 353 + 11) % modulus) as f64 / 3.0).powi(power);
                let values: Vec<f64> = (0..rows).map(value).collect();
                let summary = Summary::of(&values, None);
                let weighted = Summary::of(&values, Some(&vec![1.0; rows]));
                assert_eq!(summary.deciles, weighted.deciles, "{rows} {modulus} {power}");
                assert_eq!((summary.lo, summary.hi), (weighted.lo, weighted.hi));
                let (some, all) = (summary.moments, weighted.moments);
                assert!((some.mean - all.mean).abs() <= 1e-12 * all.mean.abs().max(1.0));
                assert!((some.squares - all.squares).abs() <= 1e-12 * all.squares.max(1.0));
            }
        }
    }
}
