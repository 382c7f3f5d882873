//! The order at which an error falls.

use serde::Serialize;

use super::Summary;
use crate::numeric::moments::Moments;

/// Errors below this are rounding, and their order says nothing.
const ROUNDING: f64 = 1e-24;

/// Observed order of convergence: the exponent q of an error that goes as size^q.
///
/// ```
/// use fe_core::replicates::Order;
/// let order = Order::of(&[(100.0, 0.04), (400.0, 0.01), (1600.0, 0.0025)]).unwrap();
/// assert!((order.slope + 1.0).abs() < 1e-12 && order.standard_error.unwrap() < 1e-12);
/// assert_eq!(Order::of(&[(100.0, 0.0), (400.0, 0.0)]), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Order {
    /// Least-squares slope of log error on log size.
    pub slope: f64,
    /// Its standard error from the residuals, with `count` − 2 degrees of freedom; none for two
    /// sizes.
    pub standard_error: Option<f64>,
    /// Number of sizes.
    pub count: usize,
}

/// Slope below which errors do not fall.
const FLAT: f64 = 0.1;
/// Multiple of a size over which errors are compared at the end.
const FAR: f64 = 3.0;

impl Order {
    /// Of pairs of a size and a mean error there.
    ///
    /// None for fewer than two different sizes, for a size that is not positive, or where an error
    /// is of the size of rounding.
    #[must_use]
    pub fn of(errors: &[(f64, f64)]) -> Option<Self> {
        if errors.iter().any(|&(size, error)| !(size > 0.0 && error > ROUNDING)) {
            return None;
        }
        let count = errors.len();
        let logs: Vec<(f64, f64)> = errors.iter().map(|(n, error)| (n.ln(), error.ln())).collect();
        let moments =
            |of: fn(&(f64, f64)) -> f64| Moments::of(&logs.iter().map(of).collect::<Vec<_>>());
        let (x, y) = (moments(|log| log.0), moments(|log| log.1));
        if x.squares <= 1e-12 {
            return None;
        }
        let product = |(a, b): &(f64, f64)| (a - x.mean) * (b - y.mean);
        let slope = logs.iter().map(product).sum::<f64>() / x.squares;
        let residual = |(a, b): &(f64, f64)| (b - y.mean - slope * (a - x.mean)).powi(2);
        let residuals = logs.iter().map(residual).sum::<f64>();
        let standard_error =
            (count > 2).then(|| (residuals / (count - 2) as f64 / x.squares).sqrt());
        Some(Self { slope, standard_error, count })
    }

    /// True if mean errors, given as size, mean and standard error in order of size, end in a plateau, which no
    /// power of the size describes: over the last factor of three of the size, or from the last size but one to the last
    /// where these are further apart, they fall by less than half of the slope through all, beyond two standard errors;
    /// or there is no slope of a tenth through all.
    ///
    /// ```
    /// use fe_core::replicates::Order;
    /// let falls = [(100.0, 1.0, 0.01), (1000.0, 0.1, 0.001), (10000.0, 0.01, 0.0001)];
    /// let levels_off = [(100.0, 1.0, 0.01), (1000.0, 0.1, 0.001), (10000.0, 0.099, 0.001)];
    /// assert!(!Order::ends_in_plateau(&falls));
    /// assert!(Order::ends_in_plateau(&levels_off));
    /// // Two neighbours that happen to be alike are no plateau.
    /// let close = [(10.0, 1.0, 0.01), (100.0, 0.1, 0.001), (300.0, 0.03, 0.001), (330.0, 0.03, 0.0001)];
    /// assert!(!Order::ends_in_plateau(&close));
    /// ```
    #[must_use]
    pub fn ends_in_plateau(errors: &[(f64, f64, f64)]) -> bool {
        let means: Vec<(f64, f64)> = errors.iter().map(|(size, mean, _)| (*size, *mean)).collect();
        let Some(order) = Self::of(&means) else { return false };
        let [earlier @ .., (larger, last, last_doubt)] = errors else { return false };
        // Neighbours that are close say little of how errors go on.
        let is_far = |(size, ..): &&(f64, f64, f64)| FAR * size <= *larger;
        let found = earlier.iter().rev().find(is_far).or(earlier.last());
        let Some((smaller, before, doubt)) = found else { return false };
        let length = (larger / smaller).ln();
        let slope = (last / before).ln() / length;
        let doubt = (doubt / before).hypot(last_doubt / last) / length;
        order.slope > -FLAT || slope - 2.0 * doubt > 0.5 * order.slope
    }

    /// Slope, standard error and 95 % interval by Student's t with `count` − 2 degrees of freedom.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let summary = Summary::with_error(self.count - 1, Some(self.slope), self.standard_error);
        Summary { count: self.count, ..summary }
    }
}
