//! As many quantile bins as leave enough instances in each.

use super::{Binning, Choice, Info, Request, SortedSample};
use crate::error::{Error, Result};
use crate::partition::Partition;

pub(super) const INFO: Info = Info {
    name: "quantile-min",
    about: "as many quantile bins as leave more than M instances in each, found as alibi finds them \
            (default min_points = 4)",
    options: &["min_points"],
    build: |settings| Ok(Box::new(QuantileMin::new(settings.min_points.unwrap_or(4.0))?)),
};

/// Quantile bins with strictly more than `min_points` instances in each, their number found by the
/// bisection of alibi. That search takes for granted that more quantiles leave fewer instances in the
/// poorest bin; with ties that is not so, and it may stop early. At least one bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileMin {
    min_points: f64,
}

impl QuantileMin {
    /// More than `min_points` instances in each bin.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a number that is negative or not finite.
    pub fn new(min_points: f64) -> Result<Self> {
        if min_points >= 0.0 && min_points.is_finite() {
            return Ok(Self { min_points });
        }
        Err(Error::BadOption {
            option: "min_points",
            given: min_points.to_string(),
            allowed: "must be finite and not negative".to_owned(),
        })
    }

    fn is_met(&self, bins: usize, sample: &SortedSample, request: &Request<'_>) -> Result<bool> {
        let partition = Partition::new(sample.limits(request.axis, bins), request.closed)?;
        Ok(sample.weights_in(&partition).into_iter().all(|weight| weight > self.min_points))
    }
}

impl Binning for QuantileMin {
    fn describe(&self) -> String {
        format!("quantile-min(min_points={})", self.min_points)
    }

    fn bins(&self) -> Option<usize> {
        None
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let sample = SortedSample::on_axis(request);
        let (mut low, mut high) = (0, sample.total() as usize);
        while low < high {
            let middle = low.midpoint(high);
            if middle == 0 || self.is_met(middle, &sample, request)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let bins = low.saturating_sub(1).max(1);
        let partition = Partition::new(sample.limits(request.axis, bins), request.closed)?;
        Ok(Choice { partition, feasible: self.is_met(bins, &sample, request)? })
    }
}
