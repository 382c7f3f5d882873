//! Summaries over replicates: no mean without its standard error and interval.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::statistics::Moments;

/// Mean of independent replicates with its uncertainty.
///
/// ```
/// use fe_core::replicates::Summary;
/// let summary = Summary::of(&[1.0, 2.0, 3.0]);
/// assert_eq!(summary.mean, Some(2.0));
/// assert!((summary.interval.unwrap().1 - (2.0 + 4.302652729911275 / 3_f64.sqrt())).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of replicates.
    pub count: usize,
    /// Their mean; none without replicates.
    pub mean: Option<f64>,
    /// Standard error of the mean; none for fewer than two replicates.
    pub standard_error: Option<f64>,
    /// 95 % interval by Student's t; none for fewer than two replicates.
    pub interval: Option<(f64, f64)>,
}

impl Summary {
    /// Of the values of the replicates, in a fixed order.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let moments = Moments::of(values);
        let standard_error = moments.variance(1.0).map(|v| (v / moments.weight).sqrt());
        let interval = standard_error.and_then(|error| {
            let half = error * student_quantile(values.len() - 1)?;
            Some((moments.mean - half, moments.mean + half))
        });
        Self {
            count: values.len(),
            mean: (!values.is_empty()).then_some(moments.mean),
            standard_error,
            interval,
        }
    }
}

/// The 0.975 quantile of Student's t.
fn student_quantile(degrees: usize) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, degrees as f64).ok()?.inverse_cdf(0.975))
}
