//! Distances between curves, and the bin errors of RHALE. They know no estimator.
//!
//! May import `effect` and what lies below. Begin with [`Distance`].

mod dense;

pub use dense::Dense;

use serde::Serialize;

/// A distance between two curves on the same points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// Mean squared difference.
    Mse,
    /// Mean absolute difference.
    Mae,
    /// Root of the mean squared difference.
    Rmse,
    /// Largest absolute difference.
    Max,
}

impl Distance {
    /// Between two curves given by their values on the same points; NaN without points.
    ///
    /// ```
    /// use fe_core::metric::Distance;
    /// assert_eq!(Distance::Mse.between(&[1.0, 4.0], &[1.0, 2.0]), 2.0);
    /// assert_eq!(Distance::Max.between(&[1.0, 4.0], &[1.0, 2.0]), 2.0);
    /// ```
    #[must_use]
    pub fn between(self, a: &[f64], b: &[f64]) -> f64 {
        debug_assert_eq!(a.len(), b.len());
        let differences = || a.iter().zip(b).map(|(a, b)| (a - b).abs());
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / a.len() as f64;
        match self {
            Distance::Mse => mean(&mut differences().map(|d| d * d)),
            Distance::Mae => mean(&mut differences()),
            Distance::Rmse => mean(&mut differences().map(|d| d * d)).sqrt(),
            Distance::Max if a.is_empty() => f64::NAN,
            Distance::Max => differences().fold(0.0, f64::max),
        }
    }
}

/// The values minus their mean: what `Err_c` compares.
#[must_use]
pub fn centred_on_grid(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

/// Share of the points at which a curve lies between two others, their own points included; NaN
/// without points.
///
/// ```
/// use fe_core::metric::coverage;
/// assert_eq!(coverage((&[0.0, 0.0], &[1.0, 1.0]), &[0.5, 2.0]), 0.5);
/// ```
#[must_use]
pub fn coverage((lower, upper): (&[f64], &[f64]), curve: &[f64]) -> f64 {
    debug_assert!(lower.len() == curve.len() && upper.len() == curve.len());
    let within = |((lower, upper), value): &((&f64, &f64), &f64)| (*lower..=*upper).contains(value);
    let count = lower.iter().zip(upper).zip(curve).filter(within).count();
    count as f64 / curve.len() as f64
}

/// Mean distance between two curves of which the second is the upper one; NaN without points.
#[must_use]
pub fn mean_width((lower, upper): (&[f64], &[f64])) -> f64 {
    upper.iter().zip(lower).map(|(upper, lower)| upper - lower).sum::<f64>() / lower.len() as f64
}

/// Mean absolute difference over bins, and how many bins were left out because one is missing.
///
/// With bin effects this is L_mu (RHALE eq. 18), with bin standard deviations L_sigma (eq. 19).
/// None if all bins are missing.
#[must_use]
pub fn mean_bin_error(
    estimate: impl Iterator<Item = Option<f64>>,
    truth: impl Iterator<Item = f64>,
) -> (Option<f64>, usize) {
    let (mut sum, mut used, mut missing) = (0.0, 0_usize, 0_usize);
    for (estimate, truth) in estimate.zip(truth) {
        match estimate {
            Some(estimate) => {
                sum += (estimate - truth).abs();
                used += 1;
            }
            None => missing += 1,
        }
    }
    ((used > 0).then(|| sum / used as f64), missing)
}

/// Mean over bins of the root of the bin error: L_rho of RHALE, with Theorem 1 read as
/// σ*² = σ² + mean ρ².
#[must_use]
pub fn mean_root(bin_errors: &[f64]) -> f64 {
    bin_errors.iter().map(|error| error.max(0.0).sqrt()).sum::<f64>() / bin_errors.len() as f64
}
