//! Spread of local effects about an accumulated effect.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::numeric::curve::Curve;
use crate::numeric::partition::Partition;

/// Two accumulations of the standard deviation σ̂_k of the slopes in each bin, in units of the output.
///
/// Both start at 0 at z_0. Erratum: the root of RHALE eq. 16 depends on the number of bins and goes
/// to 0 as bins shrink, because squared widths are added; the accumulated σ̂ does not.
/// Bins with an undefined variance take it by interpolation between bin centres.
///
/// ```
/// use fe_core::effect::Bands;
/// use fe_core::numeric::partition::{Closed, Partition};
/// let bins = Partition::new(vec![0.0, 1.0, 3.0], Closed::Left).unwrap();
/// let bands = Bands::of_bins(&bins, &[9.0, 4.0]);
/// assert_eq!(bands.std.y(), [0.0, 3.0, 5.0]);
/// assert_eq!(bands.accumulated_sd.y(), [0.0, 3.0, 7.0]);
/// assert_eq!(bands.std_at(2.0).unwrap(), 13.0_f64.sqrt());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// sqrt(Σ Δz_k² σ̂_k²) at the limits (RHALE eq. 16); within bins see [`Bands::std_at`].
    pub std: Curve,
    /// Σ Δz_k σ̂_k, linear between the limits.
    pub accumulated_sd: Curve,
}

impl Bands {
    /// From the variance of the slopes in each of the K bins.
    #[must_use]
    pub fn of_bins(partition: &Partition, variances: &[f64]) -> Self {
        let starting_at_zero = || {
            let mut values = Vec::with_capacity(variances.len() + 1);
            values.push(0.0);
            values
        };
        let (mut std, mut accumulated) = (starting_at_zero(), starting_at_zero());
        let spreads: Vec<f64> =
            variances.iter().zip(partition.widths()).map(|(v, width)| width * v.sqrt()).collect();
        // In units of a power of two, squares neither overflow nor round otherwise.
        let unit = power_of_two(spreads.iter().copied().fold(f64::MIN_POSITIVE, f64::max));
        let (mut squares, mut sum) = (0.0_f64, 0.0);
        for spread in spreads {
            squares += (spread / unit).powi(2);
            sum += spread;
            std.push(unit * squares.sqrt());
            accumulated.push(sum);
        }
        let curve = |y| Curve::linear(partition.limits().to_vec(), y);
        Self { std: curve(std), accumulated_sd: curve(accumulated) }
    }

    /// RHALE eq. 16 at a point; the bin of x counts with (x − z_{k−1})² σ̂_k².
    ///
    /// # Errors
    /// [`Error::OutsideLimits`](crate::Error::OutsideLimits).
    pub fn std_at(&self, x: f64) -> Result<f64> {
        let accumulated = self.accumulated_sd.at(x)?;
        let start = self.std.x().partition_point(|&z| z <= x).saturating_sub(1);
        Ok(self.std.y()[start].hypot(accumulated - self.accumulated_sd.y()[start]))
    }
}

/// The greatest power of two that is not above a positive number.
fn power_of_two(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(number.to_bits() & EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::partition::Closed;

    #[test]
    fn squares_of_spreads_neither_overflow_nor_vanish() {
        for scale in [1.0, 1e-150, 1e150, 3e153] {
            let bins = Partition::new(vec![0.0, 1.0, 3.0, 3.5], Closed::Left).unwrap();
            let spreads = [3.0 * scale, 2.0 * scale, 0.0];
            let bands = Bands::of_bins(&bins, &spreads.map(|spread| spread * spread));
            let expected = [0.0, 3.0, 5.0, 5.0].map(|value| value * scale);
            for (value, expected) in bands.std.y().iter().zip(expected) {
                assert!((value - expected).abs() <= 1e-15 * expected, "{value} {expected}");
            }
        }
        let wide = Partition::new(vec![0.0, 1e200, 2e200], Closed::Left).unwrap();
        let bands = Bands::of_bins(&wide, &[9e200, 16e200]);
        assert!((bands.std.y()[2] / 5e300 - 1.0).abs() < 1e-15);
    }
}
