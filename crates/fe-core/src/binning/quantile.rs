//! Bins of equal counts.

use super::{
    Binning, BinningInfo, BinningRequest, Choice, MOST_BINS, check_bins, check_min_points,
};
use crate::error::Result;
use crate::numeric::partition::Partition;
use crate::numeric::quantiles::{QuantileRule, SortedSample, selected_limits};
use crate::settings::Settings;

pub(super) const INFO: BinningInfo = BinningInfo {
    name: "quantile",
    about: "K bins between quantiles; equal quantiles give fewer bins (default bins = 20, quantiles \
            = type-7); with min_points poor bins join their right neighbour",
    options: &["bins", "quantiles", "min_points", "distinct"],
    automatic: false,
    build: |settings| Ok(Box::new(Quantile::from_settings(settings)?)),
};

/// K bins between the quantiles 0, 1/K, …, 1 of the instances on the axis; the outermost limits are
/// those of the axis, and equal quantiles are merged.
///
/// Where instances have few distinct values (option `distinct`), these are the limits. While a bin has
/// fewer than `min_points` instances, the poorest bin, the leftmost of equals, joins its right
/// neighbour, the last bin its left one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    bins: usize,
    rule: QuantileRule,
    min_points: f64,
    distinct: usize,
}

impl Quantile {
    /// At most K bins between type-7 quantiles.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for K = 0 or more than memory could hold.
    pub fn new(bins: usize) -> Result<Self> {
        Self::from_settings(&Settings { bins: Some(bins), ..Settings::default() })
    }

    fn from_settings(settings: &Settings) -> Result<Self> {
        Ok(Self {
            bins: check_bins("bins", settings.bins.unwrap_or(20), MOST_BINS)?,
            rule: settings.quantiles.unwrap_or_default(),
            min_points: check_min_points(settings.min_points.unwrap_or_default())?,
            distinct: settings.distinct.unwrap_or_default(),
        })
    }

    fn without_poor_bins(&self, mut partition: Partition, sample: &SortedSample) -> Partition {
        let mut weights = sample.weights_in(&partition);
        while let Some(poorest) = poorest(&weights)
            && weights[poorest] < self.min_points
            && weights.len() > 1
        {
            let dropped = (poorest + 1).min(weights.len() - 1);
            partition = partition.keeping(|limit| limit != dropped);
            weights[dropped - 1] += weights[dropped];
            weights.remove(dropped);
        }
        partition
    }
}

fn poorest(weights: &[f64]) -> Option<usize> {
    (0..weights.len()).reduce(|best, k| if weights[k] < weights[best] { k } else { best })
}

impl Binning for Quantile {
    fn describe(&self) -> String {
        let mut options = Vec::new();
        if self.rule != QuantileRule::default() {
            options.push(format!("quantiles={}", self.rule.name()));
        }
        if self.min_points > 0.0 {
            options.push(format!("min_points={}", self.min_points));
        }
        if self.distinct > 0 {
            options.push(format!("distinct={}", self.distinct));
        }
        if options.is_empty() {
            "quantile".to_owned()
        } else {
            format!("quantile({})", options.join(";"))
        }
    }

    fn bins(&self) -> Option<usize> {
        Some(self.bins)
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        // Multiples of the rounded 1/K, as numpy's `linspace` has them: where an instance is on a
        // quantile, rounding decides which bin it is in.
        let step = 1.0 / self.bins as f64;
        let probability = |i: usize| i as f64 * step;
        if self.min_points == 0.0
            && self.distinct == 0
            && let Some(values) = request.equal_instances()
        {
            let limits = selected_limits(values, self.rule, request.axis, self.bins, probability);
            let partition = Partition::new(limits, request.closed)?;
            return Ok(Choice::new(partition, true));
        }
        let sample = request.sample();
        if let Some(limits) = sample.distinct_limits(request.axis, self.distinct) {
            return Ok(Choice::new(Partition::new(limits, request.closed)?, true));
        }
        let limits = sample.limits(self.rule, request.axis, self.bins, probability);
        let partition = Partition::new(limits, request.closed)?;
        let partition = self.without_poor_bins(partition, &sample);
        let feasible =
            sample.weights_in(&partition).iter().all(|&weight| weight >= self.min_points);
        Ok(Choice::new(partition, feasible))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::partition::Closed;

    #[test]
    fn a_poor_bin_joins_its_right_neighbour_and_the_last_one_its_left() {
        let limits_of = |values: &[f64]| {
            let sample = SortedSample::new(values.iter().map(|&x| (x, 1.0)));
            let partition = Partition::new(vec![0.0, 2.0, 4.0, 9.0], Closed::Left).unwrap();
            let settings = Settings { min_points: Some(2.0), ..Settings::default() };
            let binning = Quantile::from_settings(&settings).unwrap();
            binning.without_poor_bins(partition, &sample).limits().to_vec()
        };
        assert_eq!(limits_of(&[0.0, 1.0, 2.0, 3.0, 3.5, 9.0]), [0.0, 2.0, 9.0]);
        assert_eq!(limits_of(&[0.0, 2.0, 3.0, 3.5, 8.0, 9.0]), [0.0, 4.0, 9.0]);
        assert_eq!(limits_of(&[0.0, 1.0, 3.0, 7.0, 8.0, 9.0]), [0.0, 2.0, 9.0]);
        assert_eq!(limits_of(&[3.0]), [0.0, 9.0]);
    }
}
