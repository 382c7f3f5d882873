//! As many quantile bins as leave enough instances in each.

use super::{Binning, BinningInfo, BinningRequest, Choice, check_min_points};
use crate::error::Result;
use crate::numeric::partition::Partition;
use crate::numeric::quantiles::{QuantileRule, SortedSample};

pub(super) const INFO: BinningInfo = BinningInfo {
    name: "quantile-min",
    about: "as many quantile bins as leave more than M instances in each, found as alibi finds them \
            (default min_points = 4)",
    options: &["min_points", "distinct"],
    automatic: true,
    build: |settings| {
        let binning = QuantileMin::new(settings.min_points.unwrap_or(4.0))?;
        Ok(Box::new(binning.with_distinct(settings.distinct.unwrap_or_default())))
    },
};

/// Quantile bins with strictly more than `min_points` instances in each, their number found by the
/// bisection of alibi. That search takes for granted that more quantiles leave fewer instances in the
/// poorest bin; with ties that is not so, and it may stop early. At least one bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileMin {
    min_points: f64,
    distinct: usize,
}

impl QuantileMin {
    /// More than `min_points` instances in each bin.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for a number that is negative or not finite.
    pub fn new(min_points: f64) -> Result<Self> {
        Ok(Self { min_points: check_min_points(min_points)?, distinct: 0 })
    }

    /// The same, but where the instances have no more than so many distinct values, these are the
    /// limits, however many instances are in each bin.
    #[must_use]
    pub fn with_distinct(self, distinct: usize) -> Self {
        Self { distinct, ..self }
    }

    fn is_met(&self, bins: usize, sample: &SortedSample, request: &BinningRequest<'_>) -> bool {
        let probability = percentile(bins);
        let inner = sample.inner_limits(QuantileRule::Type7, request.axis, bins, probability);
        // One poor bin is enough; the rest is then neither divided nor counted.
        sample.weights_between(inner, request.closed).all(|weight| weight > self.min_points)
    }
}

/// Probabilities of evenly spaced percentiles, which are rounded as alibi's are.
fn percentile(bins: usize) -> impl Fn(usize) -> f64 {
    let step = 100.0 / bins as f64;
    move |i| i as f64 * step / 100.0
}

impl Binning for QuantileMin {
    fn describe(&self) -> String {
        let distinct = match self.distinct {
            0 => String::new(),
            most => format!(";distinct={most}"),
        };
        format!("quantile-min(min_points={}{distinct})", self.min_points)
    }

    fn bins(&self) -> Option<usize> {
        None
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        let sample = request.sample();
        if let Some(limits) = sample.distinct_limits(request.axis, self.distinct) {
            return Ok(Choice::new(Partition::new(limits, request.closed)?, true));
        }
        // The search is over the number of limits; two or fewer leave one bin.
        let bins_of = |limits: usize| limits.max(2) - 1;
        let (mut low, mut high) = (0, sample.total() as usize);
        while low < high {
            let middle = low.midpoint(high);
            if self.is_met(bins_of(middle), &sample, request) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let bins = bins_of(low.saturating_sub(1));
        let limits = sample.limits(QuantileRule::Type7, request.axis, bins, percentile(bins));
        let partition = Partition::new(limits, request.closed)?;
        let feasible = self.is_met(bins, &sample, request);
        Ok(Choice::new(partition, feasible))
    }
}
