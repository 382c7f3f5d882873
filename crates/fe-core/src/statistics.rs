//! Running moments that merge, and the few things computed from them.

use serde::{Deserialize, Serialize};

use crate::vector::vectorised;

/// Total weight, weighted mean and weighted sum of squared deviations of some values.
///
/// Merging is exact algebra (Chan, Golub and LeVeque 1983), so blocks, threads and machines add up
/// to the same statistics when they are merged in the same order. Stable for values such as
/// 1e9 ± 1e-3, because no square of an uncentred value is ever summed.
///
/// ```
/// use fe_core::statistics::Moments;
/// let all = Moments::of(&[1.0, 2.0, 6.0]);
/// let parts = Moments::of(&[1.0]).merge(Moments::of(&[2.0, 6.0]));
/// assert_eq!(all, parts);
/// assert_eq!(all.variance(1.0), Some(7.0));
/// assert_eq!(Moments::of(&[5.0]).variance(0.0), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Sum of the weights; the number of values where none are weighted.
    pub weight: f64,
    /// Weighted mean; 0 where there is no weight.
    pub mean: f64,
    /// Weighted sum of squared deviations from the mean.
    pub squares: f64,
}

impl Moments {
    /// The moments of unweighted values.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        values.iter().fold(Self::default(), |all, &value| all.merge(Self::single(value, 1.0)))
    }

    /// The weight and the mean of a block of values, without squared deviations.
    pub(crate) fn mean_of_block(values: &[f64], weights: Option<&[f64]>) -> Self {
        let (weight, sum) = match weights {
            None => (values.len() as f64, sum_in_lanes(values, |x| x)),
            Some(weights) => {
                (weights.iter().sum(), weights.iter().zip(values).map(|(w, x)| w * x).sum())
            }
        };
        if weight == 0.0 {
            return Self::default();
        }
        Self { weight, mean: sum / weight, squares: 0.0 }
    }

    /// The moments of a block of values that fits the cache: two passes, no division per value.
    pub(crate) fn of_block(values: &[f64], weights: Option<&[f64]>) -> Self {
        let Self { weight, mean, .. } = Self::mean_of_block(values, weights);
        if weight == 0.0 {
            return Self::default();
        }
        let squares = match weights {
            None => sum_in_lanes(values, |x| (x - mean) * (x - mean)),
            Some(weights) => {
                weights.iter().zip(values).map(|(w, x)| w * (x - mean) * (x - mean)).sum()
            }
        };
        Self { weight, mean, squares }
    }

    /// The moments of a block of values with a known mean, and of the same values less something for
    /// each whose mean is known.
    pub(crate) fn about(values: &[f64], mean: f64, less: &[f64], mean_less: f64) -> [Self; 2] {
        let weight = values.len() as f64;
        let rest_mean = mean - mean_less;
        let square = |x: f64| x * x;
        let [squares, rest_squares] =
            pair_sums(values, less, |x, _| square(x - mean), |x, y| square((x - y) - rest_mean));
        [Self { weight, mean, squares }, Self { weight, mean: rest_mean, squares: rest_squares }]
    }

    /// The moments of one value.
    #[must_use]
    pub fn single(value: f64, weight: f64) -> Self {
        Self { weight, mean: value, squares: 0.0 }
    }

    /// The moments of both sets of values together.
    #[inline]
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        if other.weight == 0.0 {
            return self;
        }
        if self.weight == 0.0 {
            return other;
        }
        let weight = self.weight + other.weight;
        let share = other.weight / weight;
        let shift = other.mean - self.mean;
        Self {
            weight,
            mean: self.mean + shift * share,
            squares: self.squares + other.squares + shift * shift * self.weight * share,
        }
    }

    /// The moments after every value was multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            weight: self.weight,
            mean: self.mean * factor,
            squares: self.squares * factor * factor,
        }
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weight == 0.0
    }

    /// Sum of squared deviations over (weight − `ddof`); none for a single instance or less.
    #[inline]
    #[must_use]
    pub fn variance(&self, ddof: f64) -> Option<f64> {
        (self.weight > 1.0 && self.weight > ddof).then(|| self.squares / (self.weight - ddof))
    }
}

/// Parts of a sum, which processors can add side by side. So many that the loop over them is compiled
/// as a loop of wide additions.
const LANES: usize = 64;

/// A sum over values, in interleaved parts; always in that order.
#[inline(always)]
pub(crate) fn sum_in_lanes(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    pair_sum(values, values, |x, _| f(x))
}

/// A sum over pairs of values, in interleaved parts; always in that order.
#[inline(always)]
pub(crate) fn pair_sum(left: &[f64], right: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            let mut lanes = [0.0; LANES];
            let (whole, rest) = left.as_chunks::<LANES>();
            let (whole_right, rest_right) = right.as_chunks::<LANES>();
            for (left, right) in whole.iter().zip(whole_right) {
                for i in 0..LANES {
                    lanes[i] += f(left[i], right[i]);
                }
            }
            for (i, (&x, &y)) in rest.iter().zip(rest_right).enumerate() {
                lanes[i] += f(x, y);
            }
            sum_of_lanes(lanes)
        },
    )
}

/// Two sums over pairs of values, each in interleaved parts; always in that order.
#[inline(always)]
fn pair_sums(
    left: &[f64],
    right: &[f64],
    first: impl Fn(f64, f64) -> f64,
    second: impl Fn(f64, f64) -> f64,
) -> [f64; 2] {
    vectorised(
        #[inline(always)]
        || {
            let (mut first_lanes, mut second_lanes) = ([0.0; LANES], [0.0; LANES]);
            let (whole, rest) = left.as_chunks::<LANES>();
            let (whole_right, rest_right) = right.as_chunks::<LANES>();
            // Of a known length, so that the parts stay in registers.
            for (left, right) in whole.iter().zip(whole_right) {
                for i in 0..LANES {
                    first_lanes[i] += first(left[i], right[i]);
                    second_lanes[i] += second(left[i], right[i]);
                }
            }
            for (i, (&x, &y)) in rest.iter().zip(rest_right).enumerate() {
                first_lanes[i] += first(x, y);
                second_lanes[i] += second(x, y);
            }
            [sum_of_lanes(first_lanes), sum_of_lanes(second_lanes)]
        },
    )
}

/// Adds to each total a term of a pair of values, and gives the sum of summands of the same pairs.
#[inline(always)]
pub(crate) fn add_each(
    totals: &mut [f64],
    left: &[f64],
    right: &[f64],
    term: impl Fn(f64, f64) -> f64 + Copy,
    summand: impl Fn(f64, f64) -> f64 + Copy,
) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            // What the terms have captured, out of reach of the totals that are written.
            let (term, summand) = (term, summand);
            let mut lanes = [0.0; LANES];
            let (totals, rest_totals) = totals.as_chunks_mut::<LANES>();
            let (whole, rest) = left.as_chunks::<LANES>();
            let (whole_right, rest_right) = right.as_chunks::<LANES>();
            for (totals, (left, right)) in totals.iter_mut().zip(whole.iter().zip(whole_right)) {
                for i in 0..LANES {
                    totals[i] += term(left[i], right[i]);
                    lanes[i] += summand(left[i], right[i]);
                }
            }
            let rest = rest_totals.iter_mut().zip(rest.iter().zip(rest_right));
            for (i, (total, (&x, &y))) in rest.enumerate() {
                *total += term(x, y);
                lanes[i] += summand(x, y);
            }
            sum_of_lanes(lanes)
        },
    )
}

/// The sum of the parts: halves are added until one is left.
#[inline(always)]
fn sum_of_lanes(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        let (left, right) = lanes.split_at_mut(half);
        left.iter_mut().zip(right).for_each(|(left, right)| *left += *right);
        half /= 2;
    }
    lanes[0]
}

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

    /// Adds values, each to the sums of its bin.
    pub(crate) fn add_all(
        sums: &mut [Self],
        bins: &[u32],
        values: &[f64],
        weights: Option<&[f64]>,
    ) {
        /// Values after which it is asked again whether every bin has its first one.
        const CHUNK: usize = 256;
        if let Some(weights) = weights {
            return Self::add_weighted(sums, bins, values, weights);
        }
        let mut is_begun = false;
        for (bins, values) in bins.chunks(CHUNK).zip(values.chunks(CHUNK)) {
            is_begun = is_begun || !sums.iter().any(Self::is_empty);
            Self::add_unweighted(sums, bins, values, is_begun);
        }
    }

    fn add_unweighted(sums: &mut [Self], bins: &[u32], values: &[f64], is_begun: bool) {
        vectorised(
            #[inline(always)]
            || {
                // Once every bin has its first value, none needs to be asked for it.
                if is_begun {
                    return add_chunks(sums, bins, values);
                }
                for (&bin, &value) in bins.iter().zip(values) {
                    sums[bin as usize].add(value, 1.0);
                }
            },
        );
    }

    fn add_weighted(sums: &mut [Self], bins: &[u32], values: &[f64], weights: &[f64]) {
        vectorised(
            #[inline(always)]
            || {
                for ((&bin, &value), &weight) in bins.iter().zip(values).zip(weights) {
                    sums[bin as usize].add(value, weight);
                }
            },
        );
    }

    /// The moments of the values divided by a number.
    pub(crate) fn moments(&self, divisor: f64) -> Moments {
        let [first, weight, sum, squares] = self.0;
        if weight == 0.0 {
            return Moments::default();
        }
        let shift = sum / weight;
        let squares = (squares - sum * shift).max(0.0);
        Moments { weight, mean: (first + shift) / divisor, squares: squares / (divisor * divisor) }
    }
}

/// Adds values of weight 1 to sums that all have a first value.
#[inline(always)]
fn add_chunks(sums: &mut [Sums], bins: &[u32], values: &[f64]) {
    // A loop of known length inside, which is unrolled.
    const CHUNK: usize = 8;
    let (bins, rest_bins) = bins.as_chunks::<CHUNK>();
    let (values, rest) = values.as_chunks::<CHUNK>();
    for (bins, values) in bins.iter().zip(values) {
        for i in 0..CHUNK {
            sums[bins[i] as usize].add_further(values[i], 1.0);
        }
    }
    for (&bin, &value) in rest_bins.iter().zip(rest) {
        sums[bin as usize].add_further(value, 1.0);
    }
}

/// Moments of `values` within each of `count` bins; `bins[i]` is the bin of value i.
pub(crate) fn moments_by_bin(
    count: usize,
    bins: &[u32],
    values: &[f64],
    weights: Option<&[f64]>,
) -> Vec<Moments> {
    let mut sums = vec![Sums::default(); count];
    Sums::add_all(&mut sums, bins, values, weights);
    sums.iter().map(|sums| sums.moments(1.0)).collect()
}

/// Merges the moments of a further block, bin by bin.
pub(crate) fn merge_all(total: &mut [Moments], block: &[Moments]) {
    for (total, block) in total.iter_mut().zip(block) {
        *total = total.merge(*block);
    }
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
        let mut sums = vec![Sums::default(); 4];
        Sums::add_all(&mut sums, &bins, &values, None);
        for (k, sums) in sums.iter().enumerate() {
            let own: Vec<f64> = (0..2000).filter(|&i| bin(i) == k).map(value).collect();
            let (expected, moments) = (Moments::of_block(&own, None), sums.moments(1.0));
            assert_eq!(moments.weight, expected.weight);
            assert!((moments.squares / expected.squares - 1.0).abs() < 1e-6, "{k}: {moments:?}");
        }
    }
}
