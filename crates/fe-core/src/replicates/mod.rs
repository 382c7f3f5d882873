//! Statistics over replicates: no mean without its standard error and interval, no difference
//! without its test.
//!
//! May import `numeric` alone. Begin with [`Summary`].

mod bands;
mod decomposition;
mod order;
mod test;
mod variance;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::numeric::moments::Moments;

pub use bands::{BandMeasures, BandPoint};
pub use decomposition::{Decomposition, ErrorParts, decompose};
pub use order::Order;
pub use test::{Test, holm};
pub use variance::{FreshCurves, VarianceParts, split_variance};

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
    /// 95 % interval by Student's t; none for fewer than two replicates unless it is of shares.
    pub interval: Option<(f64, f64)>,
}

impl Summary {
    /// Of the values of the replicates, in a fixed order.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let moments = Moments::of(values);
        let standard_error = moments.variance(1.0).map(|v| (v / moments.weight).sqrt());
        let mean = (!values.is_empty()).then_some(moments.mean);
        Self::with_error(values.len(), mean, standard_error)
    }

    /// Of shares. Where all are 0 or all are 1 replicates do not differ, which does not mean that the share is certain:
    /// the interval is Wilson's (1927) then.
    ///
    /// ```
    /// use fe_core::replicates::Summary;
    /// let (lo, hi) = Summary::of_shares(&[1.0; 100]).interval.unwrap();
    /// assert!((lo - 0.963).abs() < 1e-3 && hi == 1.0);
    /// ```
    #[must_use]
    pub fn of_shares(shares: &[f64]) -> Self {
        let summary = Self::of(shares);
        let all = |share: f64| !shares.is_empty() && shares.iter().all(|&own| own == share);
        let square = Normal::standard().inverse_cdf(0.975).powi(2);
        let count = shares.len() as f64;
        let interval = match (all(0.0), all(1.0)) {
            (true, _) => Some((0.0, square / (count + square))),
            (_, true) => Some((count / (count + square), 1.0)),
            _ => summary.interval,
        };
        Self { interval, ..summary }
    }

    /// Of independent events that happened or did not: their share, with Wilson's interval (1927), which has a width where all
    /// or none happened and stays between 0 and 1.
    ///
    /// ```
    /// use fe_core::replicates::Summary;
    /// let share = Summary::of_events(&[true, false, true, true]);
    /// let (lo, hi) = share.interval.unwrap();
    /// assert!(share.mean == Some(0.75) && (lo - 0.3006).abs() < 1e-4 && (hi - 0.9544).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn of_events(events: &[bool]) -> Self {
        let shares: Vec<f64> = events.iter().map(|&event| f64::from(event)).collect();
        let summary = Self::of(&shares);
        let square = Normal::standard().inverse_cdf(0.975).powi(2) / events.len() as f64;
        let interval = summary.mean.map(|share| {
            let middle = share + square / 2.0;
            let half = (square * share * (1.0 - share) + square * square / 4.0).sqrt();
            ((middle - half) / (1.0 + square), (middle + half) / (1.0 + square))
        });
        Self { interval, ..summary }
    }

    /// Monte Carlo standard error of the mean as a share of it, where both are known: 0 of replicates that are all 0, infinite
    /// of a mean of 0 otherwise. Of shares that are all the same it is that of their interval.
    ///
    /// ```
    /// use fe_core::replicates::Summary;
    /// assert!((Summary::of(&[1.0, 2.0, 3.0]).relative_error().unwrap() - 3_f64.sqrt() / 6.0).abs() < 1e-15);
    /// assert_eq!(Summary::of(&[0.0, 0.0]).relative_error(), Some(0.0));
    /// assert_eq!(Summary::of(&[5.0]).relative_error(), None);
    /// assert!((Summary::of_shares(&[1.0; 20]).relative_error().unwrap() - 0.0411).abs() < 1e-4);
    /// ```
    #[must_use]
    pub fn relative_error(&self) -> Option<f64> {
        let (mean, own) = (self.mean?, self.standard_error?);
        // Half a 95 % interval of a normal law is 1.96 standard errors.
        let of_interval =
            |(lo, hi): (f64, f64)| (hi - lo) / (2.0 * Normal::standard().inverse_cdf(0.975));
        let error = if own == 0.0 { self.interval.map_or(0.0, of_interval) } else { own };
        Some(if error == 0.0 { 0.0 } else { error / mean.abs() })
    }

    /// The same in other units: values that are `factor` times as large, which is positive.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            count: self.count,
            mean: self.mean.map(|mean| mean * factor),
            standard_error: self.standard_error.map(|error| error * factor),
            interval: self.interval.map(|(lo, hi)| (lo * factor, hi * factor)),
        }
    }

    /// Of an estimate from `count` replicates whose standard error has `count` − 1 degrees of
    /// freedom.
    #[must_use]
    pub fn with_error(count: usize, mean: Option<f64>, standard_error: Option<f64>) -> Self {
        let interval = || {
            let half = standard_error? * student_quantile(count.checked_sub(1)?)?;
            Some((mean? - half, mean? + half))
        };
        Self { count, mean, standard_error, interval: interval() }
    }
}

/// The 0.975 quantile of Student's t.
fn student_quantile(degrees: usize) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, degrees as f64).ok()?.inverse_cdf(0.975))
}

/// Two estimates compared dataset by dataset: their difference, and how often each is lower.
///
/// Estimates from the same data share most of their noise, so that the difference is known much
/// better than either of them.
///
/// ```
/// use fe_core::replicates::Paired;
/// let paired = Paired::of(&[(1.0, 2.0), (3.0, 3.0), (2.0, 5.0)]);
/// assert_eq!(paired.difference.mean, Some(-4.0 / 3.0));
/// assert_eq!((paired.wins, paired.ties, paired.losses), (2, 1, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// First minus second, over the datasets.
    pub difference: Summary,
    /// Datasets on which the first is lower.
    pub wins: usize,
    /// Datasets on which both are equal.
    pub ties: usize,
    /// Datasets on which the first is higher.
    pub losses: usize,
}

impl Paired {
    /// Of the values of the first and the second on each dataset.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let differences: Vec<f64> = pairs.iter().map(|(first, second)| first - second).collect();
        let count =
            |holds: fn(&(f64, f64)) -> bool| pairs.iter().filter(|pair| holds(pair)).count();
        Self {
            difference: Summary::of(&differences),
            wins: count(|(first, second)| first < second),
            ties: count(|(first, second)| first == second),
            losses: count(|(first, second)| first > second),
        }
    }
}
