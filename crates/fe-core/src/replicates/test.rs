//! Tests by Student's t, and what many of them at once may say.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Summary;

/// A number measured in units of its standard error, and how unlikely that is by chance alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Test {
    /// The number over its standard error; infinite for one other than 0 without an error.
    pub statistic: f64,
    /// Degrees of freedom of the standard error.
    pub degrees: f64,
    /// Two-sided p-value by Student's t.
    pub p: f64,
}

impl Test {
    /// Test that `difference` is 0, given its standard error with so many degrees of freedom.
    ///
    /// None without a degree of freedom.
    #[must_use]
    pub fn of(difference: f64, standard_error: f64, degrees: f64) -> Option<Self> {
        let statistic = if difference == 0.0 { 0.0 } else { difference / standard_error };
        let p = 2.0 * upper_tail(statistic.abs(), degrees)?;
        Some(Self { statistic, degrees, p })
    }

    /// Test that the mean of some replicates is `value`.
    ///
    /// None for fewer than two replicates.
    ///
    /// ```
    /// use fe_core::replicates::{Summary, Test};
    /// let test = Test::of_mean(&Summary::of(&[1.0, 2.0, 3.0]), 1.0).unwrap();
    /// assert!((test.statistic - 3_f64.sqrt()).abs() < 1e-12);
    /// // Two degrees of freedom: p = 1 − t / √(2 + t²).
    /// assert!((test.p - (1.0 - (3_f64 / 5.0).sqrt())).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn of_mean(summary: &Summary, value: f64) -> Option<Self> {
        let degrees = summary.count.checked_sub(1)? as f64;
        Self::of(summary.mean? - value, summary.standard_error?, degrees)
    }

    /// Test that two independent sets of replicates have the same mean (Welch 1947).
    ///
    /// None if one of them has fewer than two replicates.
    #[must_use]
    pub fn welch(first: &Summary, second: &Summary) -> Option<Self> {
        let squares = [first.standard_error?.powi(2), second.standard_error?.powi(2)];
        let degrees = [first.count as f64 - 1.0, second.count as f64 - 1.0];
        let sum = squares[0] + squares[1];
        let spread = squares[0].powi(2) / degrees[0] + squares[1].powi(2) / degrees[1];
        let degrees = if spread > 0.0 { sum * sum / spread } else { degrees[0] + degrees[1] };
        Self::of(first.mean? - second.mean?, sum.sqrt(), degrees)
    }

    /// Test that a number did not move between two runs on the same datasets, given its value in the first
    /// and in the second on each of them.
    ///
    /// The mean difference is measured by the smallest of the Monte Carlo errors: that of the paired
    /// difference, and that of the number in either run. It thus sees a small shift common to all
    /// datasets as well as a large one in a single dataset. None for fewer than two datasets.
    #[must_use]
    pub fn of_rerun(pairs: &[(f64, f64)]) -> Option<Self> {
        let of = |value: fn(&(f64, f64)) -> f64| {
            Summary::of(&pairs.iter().map(value).collect::<Vec<_>>())
        };
        let (first, second) = (of(|pair| pair.0), of(|pair| pair.1));
        let difference = of(|pair| pair.1 - pair.0);
        let error =
            difference.standard_error?.min(first.standard_error?).min(second.standard_error?);
        Self::of(difference.mean?, error, pairs.len() as f64 - 1.0)
    }

    /// The p-value of the one-sided question whether the number is above 0.
    #[must_use]
    pub fn above(&self) -> f64 {
        if self.statistic > 0.0 { 0.5 * self.p } else { 1.0 - 0.5 * self.p }
    }
}

/// P(T > t) for t ≥ 0; accurate also where it is tiny.
fn upper_tail(t: f64, degrees: f64) -> Option<f64> {
    let law = StudentsT::new(0.0, 1.0, degrees).ok()?;
    Some(if t.is_infinite() { 0.0 } else { law.cdf(-t) })
}

/// p-values adjusted by Holm's method (1979): those below α name false nulls, with at most a
/// probability of α that any of them is wrong, however the tests depend on each other.
///
/// ```
/// use fe_core::replicates::holm;
/// assert_eq!(holm(&[0.01, 0.5, 0.02]), [0.03, 0.5, 0.04]);
/// ```
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[i]).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}
