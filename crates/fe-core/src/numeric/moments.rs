//! Running moments that merge, and the few things computed from them.

use serde::{Deserialize, Serialize};

use crate::numeric::simd::vectorised;

/// Total weight, weighted mean and weighted sum of squared deviations of some values.
///
/// Merging is exact algebra (Chan, Golub and LeVeque 1983), so blocks, threads and machines add up
/// to the same statistics when they are merged in the same order. Stable for values such as
/// 1e9 ± 1e-3, because no square of an uncentred value is ever summed.
///
/// ```
/// use fe_core::numeric::moments::Moments;
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
        let squares = sum_in_lanes(values, |x| square(x - mean));
        let rest_squares = pair_sum(values, less, |x, y| square((x - y) - rest_mean));
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
        let weight = self.weight + other.weight;
        let share = other.weight / weight;
        let shift = other.mean - self.mean;
        let mean = self.mean + shift * share;
        let squares = self.squares + other.squares + shift * shift * self.weight * share;
        // Choices between numbers that are there, so that several are merged at once.
        let choose = |own: f64, others: f64, both: f64| {
            let both = if self.weight == 0.0 { others } else { both };
            if other.weight == 0.0 { own } else { both }
        };
        Self {
            weight,
            mean: choose(self.mean, other.mean, mean),
            squares: choose(self.squares, other.squares, squares),
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

    /// The moments after every value was divided by `divisor`.
    pub(crate) fn divided(self, divisor: f64) -> Self {
        Self {
            weight: self.weight,
            mean: self.mean / divisor,
            squares: self.squares / (divisor * divisor),
        }
    }

    /// True if nothing was counted.
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

/// Parts of a sum, which processors can add side by side.
const LANES: usize = 64;
/// So many of them are worked on at once, which fit the registers: more would be added to in memory.
const AT_ONCE: usize = 32;

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
        || in_lanes(left, right, &f),
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
            for (total, (&x, &y)) in totals.iter_mut().zip(left.iter().zip(right)) {
                *total += term(x, y);
            }
            in_lanes(left, right, &summand)
        },
    )
}

/// A sum over pairs of values in parts: pair i belongs to part i modulo their number.
#[inline(always)]
fn in_lanes(left: &[f64], right: &[f64], f: &impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (whole, rest) = left.as_chunks::<LANES>();
    let (whole_right, rest_right) = right.as_chunks::<LANES>();
    for (group, lanes) in lanes.as_chunks_mut::<AT_ONCE>().0.iter_mut().enumerate() {
        let mut sums = [0.0; AT_ONCE];
        for (left, right) in whole.iter().zip(whole_right) {
            let left = &left.as_chunks::<AT_ONCE>().0[group];
            let right = &right.as_chunks::<AT_ONCE>().0[group];
            for i in 0..AT_ONCE {
                sums[i] += f(left[i], right[i]);
            }
        }
        *lanes = sums;
    }
    for (lane, (&x, &y)) in lanes.iter_mut().zip(rest.iter().zip(rest_right)) {
        *lane += f(x, y);
    }
    sum_of_lanes(lanes)
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

/// Merges the moments of a further block, bin by bin.
pub(crate) fn merge_all(total: &mut [Moments], block: &[Moments]) {
    vectorised(
        #[inline(always)]
        || total.iter_mut().zip(block).for_each(|(total, block)| *total = total.merge(*block)),
    );
}
