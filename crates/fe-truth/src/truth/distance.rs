//! Distances between two truths of one feature.

use crate::error::Error;
use crate::quantity::{Centring, Quantity, Truth};
use crate::scenario::Scenario;

impl Scenario {
    /// The mean squared difference of two truths of a feature (counted from 0) over some points of its axis, each
    /// curve less its mean over them (`Err_c` of ERRORS with both sides exact); in squared units of f.
    ///
    /// ```
    /// use fe_truth::Quantity::{Ale, Pd};
    /// let rho = ("rho".to_owned(), "0.5".to_owned());
    /// let product = fe_truth::scenario("liu-product", &[rho])?;
    /// // PD is 0 and ALE ρx²/2, at 0, 1 and 2 the numbers 0, ¼ and 1 with the mean 5/12.
    /// let distance = product.distance([Pd, Ale], 0, &[0.0, 1.0, 2.0], (0.0, 2.0))?;
    /// assert!((distance.value - 26.0 / 144.0).abs() <= distance.abs_error && distance.abs_error < 1e-10);
    /// # Ok::<(), fe_truth::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotCentrable`] for what is no curve on the scale of f; as [`Scenario::curve`].
    pub fn distance(
        &self,
        truths: [Quantity; 2],
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
    ) -> Result<Truth, Error> {
        let count = points.len() as f64;
        // Differences that are the same everywhere leave nothing but rounding, however large the curves are.
        let curve = |quantity| self.curve(quantity, feature, points, axis, Centring::Start);
        let (first, second) = (curve(truths[0])?, curve(truths[1])?);
        let differences: Vec<Truth> = first.iter().zip(second).map(|(a, b)| a.minus(b)).collect();
        let mean = differences.iter().map(|d| d.value).sum::<f64>() / count;
        let doubt = differences.iter().map(|d| d.abs_error).sum::<f64>() / count;
        let squared = differences.iter().map(|d| {
            let (difference, error) = ((d.value - mean).abs(), d.abs_error + doubt);
            Truth {
                value: difference * difference,
                abs_error: error * (2.0 * difference + error),
                method: d.method,
            }
        });
        let sum = squared.fold(Truth::ZERO, Truth::plus);
        sum.times(1.0 / count)
            .told(|| format!("the distance of two effects of {}", self.feature_name(feature)))
    }
}
