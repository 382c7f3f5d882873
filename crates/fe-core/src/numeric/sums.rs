//! Running sums of values in bins, which become moments.

use std::convert::Infallible;
use std::ops::Range;

use crate::numeric::blocks::fold_stretches;
use crate::numeric::moments::{Moments, merge_all};
use crate::numeric::order_statistics::places_where;
use crate::numeric::partition::Partition;
use crate::numeric::simd::vectorised;

/// Sums of some values and of their squares, side by side, both counted from the first value.
///
/// That value is one of them, so it lies no further from their mean than their squared deviations
/// say: of n values at most a factor n of the precision is lost, and commonly nothing.
///
/// The first value, the weight, the sum and the sum of squares, in this order: side by side in memory,
/// so that one addition of four numbers adds a value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums([f64; 4]);

impl Sums {
    /// Of values that were added up elsewhere, counted from `first`.
    pub(crate) fn new(first: f64, weight: f64, sum: f64, squares: f64) -> Self {
        Self([first, weight, sum, squares])
    }

    fn is_empty(&self) -> bool {
        self.0[1] == 0.0
    }

    /// Adds a value of positive weight.
    #[inline(always)]
    pub(crate) fn add(&mut self, value: f64, weight: f64) {
        if self.is_empty() {
            self.0[0] = value;
        }
        self.add_further(value, weight);
    }

    /// Adds a value of positive weight that is not the first.
    #[inline(always)]
    fn add_further(&mut self, value: f64, weight: f64) {
        let shifted = value - self.0[0];
        // −0 leaves every number as it is.
        let terms = [-0.0, weight, weight * shifted, weight * shifted * shifted];
        for (sum, term) in self.0.iter_mut().zip(terms) {
            *sum += term;
        }
    }

    /// The moments of the values. Without branches, so that those of several bins are made at once.
    #[inline(always)]
    pub(crate) fn moments(&self) -> Moments {
        let [first, weight, sum, squares] = self.0;
        let shift = sum / weight;
        let squares = squares - sum * shift;
        let or_none = |number: f64| if weight == 0.0 { 0.0 } else { number };
        Moments {
            weight,
            mean: or_none(first + shift),
            squares: or_none(if squares > 0.0 { squares } else { 0.0 }),
        }
    }
}

/// The sums of each of some bins.
pub(crate) struct BinSums {
    sums: Vec<Sums>,
    /// True if no bin has a value.
    is_new: bool,
    /// So many bins, from the first on, are known to have one.
    begun: usize,
}

impl BinSums {
    pub(crate) fn new(bins: usize) -> Self {
        Self { sums: vec![Sums::default(); bins], is_new: true, begun: 0 }
    }

    /// Adds values, each to the sums of its bin, which is given by its number.
    pub(crate) fn add(&mut self, bins: &[u32], values: &[f64], weights: Option<&[f64]>) {
        match weights {
            Some(weights) => self.add_weighted(bins, values, weights),
            None => {
                // After four values for each bin most of them have one.
                let step = (4 * self.sums.len()).next_multiple_of(256);
                for (bins, values) in bins.chunks(step).zip(values.chunks(step)) {
                    self.add_unweighted(bins, values);
                }
            }
        }
    }

    fn add_unweighted(&mut self, bins: &[u32], values: &[f64]) {
        while self.sums.get(self.begun).is_some_and(|sums| !sums.is_empty()) {
            self.begun += 1;
        }
        let ask = !self.is_new && self.begun < self.sums.len();
        let sums = &mut *self.sums;
        vectorised(
            #[inline(always)]
            || {
                if self.is_new {
                    begin(sums, bins, values);
                }
                // Once every bin has its first value, none needs to be asked for it.
                if ask {
                    add_each(sums, bins, values, |sums, value| sums.add(value, 1.0));
                } else {
                    add_each(sums, bins, values, |sums, value| sums.add_further(value, 1.0));
                }
            },
        );
        self.is_new = false;
    }

    fn add_weighted(&mut self, bins: &[u32], values: &[f64], weights: &[f64]) {
        let sums = &mut *self.sums;
        vectorised(
            #[inline(always)]
            || {
                for ((&bin, &value), &weight) in bins.iter().zip(values).zip(weights) {
                    sums[bin as usize].add(value, weight);
                }
            },
        );
        self.is_new = false;
    }

    /// The moments of the values of each bin, which are forgotten.
    pub(crate) fn take_moments(&mut self) -> Vec<Moments> {
        let mut moments = vec![Moments::default(); self.sums.len()];
        vectorised(
            #[inline(always)]
            || {
                for (moments, sums) in moments.iter_mut().zip(&mut self.sums) {
                    *moments = sums.moments();
                    *sums = Sums::default();
                }
            },
        );
        (self.is_new, self.begun) = (true, 0);
        moments
    }
}

/// Gives each bin the first of its values, where none has one yet. From the last value on, so that the first
/// one stays, and without asking for each value whether its bin has one.
#[inline(always)]
fn begin(sums: &mut [Sums], bins: &[u32], values: &[f64]) {
    for (&bin, &value) in bins.iter().zip(values).rev() {
        sums[bin as usize].0[0] = value;
    }
}

/// Adds each value to the sums of its bin.
#[inline(always)]
fn add_each(sums: &mut [Sums], bins: &[u32], values: &[f64], add: impl Fn(&mut Sums, f64)) {
    // A loop of known length inside, which is unrolled.
    const CHUNK: usize = 8;
    let (bins, rest_bins) = bins.as_chunks::<CHUNK>();
    let (values, rest) = values.as_chunks::<CHUNK>();
    for (bins, values) in bins.iter().zip(values) {
        for i in 0..CHUNK {
            add(&mut sums[bins[i] as usize], values[i]);
        }
    }
    for (&bin, &value) in rest_bins.iter().zip(rest) {
        add(&mut sums[bin as usize], value);
    }
}

/// Rows that are added up together; more where there are many bins.
const BLOCK: usize = 4096;
const ROWS_PER_BIN: usize = 16;

/// Moments of values in the bins that their positions are in; what lies outside the limits does not count.
pub(crate) fn moments_in_bins(
    partition: &Partition,
    positions: &[f64],
    values: &[f64],
    weights: Option<&[f64]>,
) -> Vec<Moments> {
    let of_block = |(): &mut (), rows: Range<usize>| -> Result<Vec<Moments>, Infallible> {
        let weights = weights.map(|weights| &weights[rows.clone()]);
        let (positions, values) = (&positions[rows.clone()], &values[rows]);
        let mut bins = vec![0; positions.len()];
        if partition.locate_all(positions, &mut bins) {
            return Ok(moments_by_bin(partition.bins(), &bins, values, weights));
        }
        let inside = places_where(bins.len(), |row| bins[row] != Partition::OUTSIDE);
        let select = |values: &[f64]| inside.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let (values, weights) = (select(values), weights.map(select));
        let bins: Vec<u32> = inside.iter().map(|&row| bins[row]).collect();
        Ok(moments_by_bin(partition.bins(), &bins, &values, weights.as_deref()))
    };
    let block = BLOCK.max(ROWS_PER_BIN * partition.bins());
    let nothing = vec![Moments::default(); partition.bins()];
    let Ok(total) = fold_stretches(
        positions.len(),
        |_| block,
        nothing,
        || (),
        of_block,
        |total, block| merge_all(total, &block),
        |total, stretch| merge_all(total, stretch),
    );
    total
}

/// Moments of `values` within each of `count` bins; `bins[i]` is the bin of value i.
fn moments_by_bin(
    count: usize,
    bins: &[u32],
    values: &[f64],
    weights: Option<&[f64]>,
) -> Vec<Moments> {
    let mut sums = BinSums::new(count);
    sums.add(bins, values, weights);
    sums.take_moments()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of bins of which one begins after many values, none far from 0 loses the digits of its spread.
    #[test]
    fn values_of_a_bin_are_counted_from_its_first() {
        let bin = |i: usize| if i < 700 { i % 3 } else { i % 4 };
        let value = |i: usize| 1e9 * (bin(i) as f64 - 1.5) + (i / 12 % 2) as f64;
        let bins: Vec<u32> = (0..2000).map(|i| bin(i) as u32).collect();
        let values: Vec<f64> = (0..2000).map(value).collect();
        for (k, moments) in moments_by_bin(4, &bins, &values, None).into_iter().enumerate() {
            let own: Vec<f64> = (0..2000).filter(|&i| bin(i) == k).map(value).collect();
            let expected = Moments::of_block(&own, None);
            assert_eq!(moments.weight, expected.weight);
            assert!((moments.squares / expected.squares - 1.0).abs() < 1e-6, "{k}: {moments:?}");
        }
    }

    /// Whatever is done to find first values, the sums are those of adding one value after the other; also
    /// when sums are used again. Some bins begin late, and some never.
    #[test]
    fn values_are_added_one_after_the_other() {
        for bins in [1, 3, 40, 700] {
            let mut together = BinSums::new(bins);
            for (round, parts) in
                [[5, 700, 2048], [2048, 2048, 1], [256, 0, 3000]].iter().enumerate()
            {
                let mut single = vec![Sums::default(); bins];
                let mut from = 0;
                for part in parts {
                    let of = |i: usize| ((i * i * 7 + i / 9 + round) % (1 + i / 3)) % bins;
                    let numbers: Vec<u32> = (from..from + part).map(|i| of(i) as u32).collect();
                    let value = |i: usize| ((i * 37 + round) % 101) as f64 / 7.0 - 3.0;
                    let values: Vec<f64> = (from..from + part).map(value).collect();
                    together.add(&numbers, &values, None);
                    for (&bin, &value) in numbers.iter().zip(&values) {
                        single[bin as usize].add(value, 1.0);
                    }
                    from += part;
                }
                let expected: Vec<Moments> = single.iter().map(Sums::moments).collect();
                assert_eq!(together.take_moments(), expected, "{bins} bins, round {round}");
            }
        }
    }
}
