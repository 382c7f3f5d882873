//! Running moments that merge, and the few things computed from them.

use serde::{Deserialize, Serialize};

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

    /// The moments of a block of values that fits the cache: two passes, no division per value.
    pub(crate) fn of_block(values: &[f64], weights: Option<&[f64]>) -> Self {
        let (weight, sum) = match weights {
            None => (values.len() as f64, sum_in_lanes(values, |x| x)),
            Some(weights) => {
                (weights.iter().sum(), weights.iter().zip(values).map(|(w, x)| w * x).sum())
            }
        };
        if weight == 0.0 {
            return Self::default();
        }
        let mean = sum / weight;
        let squares = match weights {
            None => sum_in_lanes(values, |x| (x - mean) * (x - mean)),
            Some(weights) => {
                weights.iter().zip(values).map(|(w, x)| w * (x - mean) * (x - mean)).sum()
            }
        };
        Self { weight, mean, squares }
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

/// A sum in eight interleaved parts, which processors can add side by side; always in that order.
fn sum_in_lanes(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|&x| f(x)).sum();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// Moments of `values` within each of `count` bins; `bins[i]` is the bin of value i.
///
/// Two passes over a block that fits the cache: no division per value, and stable.
pub(crate) fn moments_by_bin(
    count: usize,
    bins: &[u32],
    values: &[f64],
    weights: Option<&[f64]>,
) -> Vec<Moments> {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let mut moments = vec![Moments::default(); count];
    for (i, (&bin, &value)) in bins.iter().zip(values).enumerate() {
        let bin = &mut moments[bin as usize];
        bin.weight += weight(i);
        bin.mean += weight(i) * value;
    }
    for bin in &mut moments {
        if bin.weight > 0.0 {
            bin.mean /= bin.weight;
        }
    }
    for (i, (&bin, &value)) in bins.iter().zip(values).enumerate() {
        let bin = &mut moments[bin as usize];
        let deviation = value - bin.mean;
        bin.squares += weight(i) * deviation * deviation;
    }
    moments
}

/// Merges the moments of a further block, bin by bin.
pub(crate) fn merge_all(total: &mut [Moments], block: &[Moments]) {
    for (total, block) in total.iter_mut().zip(block) {
        *total = total.merge(*block);
    }
}
