//! Bins of equal counts.

use super::{Binning, Choice, Info, MOST_BINS, Request, check_bins};
use crate::axis::Axis;
use crate::error::Result;
use crate::partition::{Closed, Partition};

pub(super) const INFO: Info = Info {
    name: "quantile",
    about: "K bins between type-7 quantiles; equal quantiles give fewer bins (default K = 20)",
    options: &["bins"],
    build: |settings| Ok(Box::new(Quantile::new(settings.bins.unwrap_or(20))?)),
};

/// K bins between the quantiles 0, 1/K, …, 1 of the instances on the axis; the outermost limits are
/// those of the axis, and equal quantiles are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantile {
    bins: usize,
}

impl Quantile {
    /// At most K bins.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for K = 0 or more than memory could hold.
    pub fn new(bins: usize) -> Result<Self> {
        Ok(Self { bins: check_bins("bins", bins, MOST_BINS)? })
    }
}

impl Binning for Quantile {
    fn describe(&self) -> String {
        "quantile".to_owned()
    }

    fn bins(&self) -> Option<usize> {
        Some(self.bins)
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let limits = SortedSample::on_axis(request).limits(request.axis, self.bins);
        Ok(Choice { partition: Partition::new(limits, request.closed)?, feasible: true })
    }
}

/// Weighted values in increasing order.
///
/// ```
/// use fe_core::binning::SortedSample;
/// let twice = SortedSample::new([(3.0, 1.0), (1.0, 2.0)].into_iter());
/// let written_out = SortedSample::new([(1.0, 1.0), (1.0, 1.0), (3.0, 1.0)].into_iter());
/// assert_eq!(twice.quantile(0.75), written_out.quantile(0.75));
/// assert_eq!(twice.quantile(0.75), 2.0);
/// ```
#[derive(Debug, Clone)]
pub struct SortedSample {
    values: Vec<f64>,
    // Weight of all values up to and including this one.
    cumulative: Vec<f64>,
}

impl SortedSample {
    /// Sorts (value, weight) pairs; values of weight 0 are dropped.
    pub fn new(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut pairs: Vec<(f64, f64)> = pairs.filter(|(_, weight)| *weight > 0.0).collect();
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut total = 0.0;
        let cumulative = pairs.iter().map(|(_, weight)| {
            total += weight;
            total
        });
        let cumulative = cumulative.collect();
        Self { values: pairs.into_iter().map(|(value, _)| value).collect(), cumulative }
    }

    /// The instances on the axis.
    pub(super) fn on_axis(request: &Request<'_>) -> Self {
        let positions = request.positions.iter().enumerate();
        let inside = positions.filter(|(_, x)| request.axis.contains(**x));
        Self::new(inside.map(|(row, &x)| (x, request.weights.map_or(1.0, |weights| weights[row]))))
    }

    /// Total weight; the number of values where none are weighted.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.cumulative.last().copied().unwrap_or_default()
    }

    /// The limits of K bins between quantiles; the outermost are those of the axis, and equal ones
    /// are merged.
    pub(super) fn limits(&self, axis: Axis, bins: usize) -> Vec<f64> {
        let mut limits = vec![axis.lo()];
        for i in 1..bins {
            let quantile = self.quantile(i as f64 / bins as f64);
            if quantile > limits[limits.len() - 1] && quantile < axis.hi() {
                limits.push(quantile);
            }
        }
        limits.push(axis.hi());
        limits
    }

    /// The weight of the values in each bin.
    pub(super) fn weights_in(&self, partition: &Partition) -> Vec<f64> {
        let belongs_below = |z: f64| match partition.closed() {
            Closed::Left => self.values.partition_point(|&x| x < z),
            Closed::Right => self.values.partition_point(|&x| x <= z),
        };
        let weight = |count: usize| if count == 0 { 0.0 } else { self.cumulative[count - 1] };
        let inner = &partition.limits()[1..partition.bins()];
        let below = inner.iter().map(|&z| weight(belongs_below(z)));
        let mut before = 0.0;
        below
            .chain([weight(self.values.len())])
            .map(|total| total - std::mem::replace(&mut before, total))
            .collect()
    }

    /// The type-7 quantile (Hyndman and Fan 1996); with integer weights that of the data in which
    /// every row is repeated as often as its weight says. NaN for an empty sample.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        let Some(total) = self.cumulative.last() else { return f64::NAN };
        let place = ((total - 1.0) * probability).max(0.0);
        let (lower, upper) =
            (self.order_statistic(place.floor()), self.order_statistic(place.floor() + 1.0));
        lower + (upper - lower) * (place - place.floor())
    }

    /// The value at a place of the repeated data, counted from 0.
    fn order_statistic(&self, place: f64) -> f64 {
        let index = self.cumulative.partition_point(|&weight| weight <= place);
        self.values[index.min(self.values.len() - 1)]
    }
}
