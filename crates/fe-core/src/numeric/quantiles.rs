//! Quantiles of weighted samples.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};

use crate::numeric::axis::Axis;
use crate::numeric::order_statistics::{order_statistics, sorted};
use crate::numeric::partition::{Closed, Partition};

/// A definition of the quantiles of a sample of n values.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum QuantileRule {
    /// Linear between order statistics, the value of rank 1 + (n − 1)p (Hyndman and Fan 1996, type 7).
    #[default]
    #[serde(rename = "type-7")]
    #[strum(serialize = "type-7")]
    Type7,
    /// The value of rank ⌈np⌉: the inverse of the empirical distribution (the same, type 1).
    #[serde(rename = "type-1")]
    #[strum(serialize = "type-1")]
    Type1,
    /// The value of rank ⌈(n − 1)p⌉; the greatest for p = 1. Type 1 of one value less.
    #[serde(rename = "type-1-below")]
    #[strum(serialize = "type-1-below")]
    Type1Below,
    /// Linear between order statistics, the value of rank 0.4 + (n + 0.2)p (Cunnane 1978).
    Cunnane,
}

impl QuantileRule {
    /// Its name in files and flags.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Weighted values in increasing order.
///
/// ```
/// use fe_core::numeric::quantiles::SortedSample;
/// let twice = SortedSample::new([(3.0, 1.0), (1.0, 2.0)].into_iter());
/// let written_out = SortedSample::new([(1.0, 1.0), (1.0, 1.0), (3.0, 1.0)].into_iter());
/// assert_eq!(twice.quantile(0.75), written_out.quantile(0.75));
/// assert_eq!(twice.quantile(0.75), 2.0);
/// ```
#[derive(Debug, Clone)]
pub struct SortedSample {
    values: Vec<f64>,
    // Weight of all values up to and including this one; none where every weight is 1.
    cumulative: Option<Vec<f64>>,
}

impl SortedSample {
    /// Sorts (value, weight) pairs; values of weight 0 are dropped.
    pub fn new(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for (value, weight) in pairs.filter(|(_, weight)| *weight > 0.0) {
            if weight != 1.0 && weights.is_empty() {
                weights = vec![1.0; values.len()];
                weights.push(weight);
            } else if !weights.is_empty() {
                weights.push(weight);
            }
            values.push(value);
        }
        if weights.len() < values.len() {
            return Self::of_equal(&values);
        }
        let mut pairs: Vec<(f64, f64)> = values.into_iter().zip(weights).collect();
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut total = 0.0;
        let cumulative = pairs.iter().map(|(_, weight)| {
            total += weight;
            total
        });
        let cumulative = Some(cumulative.collect());
        Self { values: pairs.into_iter().map(|(value, _)| value).collect(), cumulative }
    }

    /// Sorts values of weight 1.
    pub(crate) fn of_equal(values: &[f64]) -> Self {
        Self { values: sorted(values), cumulative: None }
    }

    /// The values in increasing order, each as often as it was given.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Total weight; the number of values where none are weighted.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.weight_of(self.values.len())
    }

    /// The weight of so many of the lowest values.
    fn weight_of(&self, count: usize) -> f64 {
        match &self.cumulative {
            None => count as f64,
            Some(_) if count == 0 => 0.0,
            Some(cumulative) => cumulative[count - 1],
        }
    }

    /// The limits of bins between the quantiles of the probabilities of 1, 2, …, `bins` − 1, which
    /// increase evenly; the outermost are those of the axis, and equal ones are merged.
    pub(crate) fn limits(
        &self,
        rule: QuantileRule,
        axis: Axis,
        bins: usize,
        probability: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let inner = self.inner_limits(rule, axis, bins, probability).map(|(limit, _)| limit);
        [axis.lo()].into_iter().chain(inner).chain([axis.hi()]).collect()
    }

    /// The same without the ends of the axis, each when it is asked for, with the index of a value that
    /// it is near to.
    pub(crate) fn inner_limits(
        &self,
        rule: QuantileRule,
        axis: Axis,
        bins: usize,
        probability: impl Fn(usize) -> f64,
    ) -> impl Iterator<Item = (f64, usize)> {
        let (mut i, mut last) = (1, axis.lo());
        std::iter::from_fn(move || {
            while i < bins {
                let probability = probability(i);
                let quantile = self.quantile_by(rule, probability);
                let place = (self.total() - 1.0) * probability;
                let index = self.index_at(place);
                i = i.saturating_add(1 + self.equal_after(place, index, bins));
                if quantile > last && quantile < axis.hi() {
                    last = quantile;
                    return Some((quantile, index));
                }
            }
            None
        })
    }

    /// Number of the quantiles after the one at a place, which is in the value of an index, that are sure to
    /// be the same, whatever the rule: a value of great weight would otherwise be met again and again.
    fn equal_after(&self, place: f64, index: usize, bins: usize) -> usize {
        // A value of weight 1 is met again by chance alone.
        if self.cumulative.is_none() || index == self.values.len() {
            return 0;
        }
        let (start, end) = (self.weight_of(index), self.weight_of(index + 1));
        // Rules differ by less than two places.
        if place < start + 2.0 {
            return 0;
        }
        let between = (self.total() - 1.0) / bins as f64;
        let sure = (end - place - 4.0) / between;
        if sure > 1.0 { sure as usize - 1 } else { 0 }
    }

    /// The distinct values as limits, the outermost moved to the ends of the axis; none if there are
    /// more than so many.
    pub(crate) fn distinct_limits(&self, axis: Axis, most: usize) -> Option<Vec<f64>> {
        let distinct = self.distinct(most)?;
        Some(within(axis, distinct.into_iter()))
    }

    /// The distinct values in increasing order; none if there are more than so many.
    #[must_use]
    pub fn distinct(&self, most: usize) -> Option<Vec<f64>> {
        let mut distinct: Vec<f64> = Vec::new();
        for &x in &self.values {
            if distinct.last() != Some(&x) {
                if distinct.len() == most {
                    return None;
                }
                distinct.push(x);
            }
        }
        Some(distinct)
    }

    /// The distinct values in increasing order, each with its weight.
    pub(crate) fn distinct_weights(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (mut count, mut before) = (0, 0.0);
        self.values.chunk_by(|a, b| a == b).map(move |equal| {
            count += equal.len();
            let total = self.weight_of(count);
            (equal[0], total - std::mem::replace(&mut before, total))
        })
    }

    /// The weight of the values in each of the bins between some inner limits, with the index of the last
    /// value below each, as far as it is known.
    pub(crate) fn weights_between(
        &self,
        inner_limits: impl Iterator<Item = (f64, usize)>,
        closed: Closed,
    ) -> impl Iterator<Item = f64> {
        let mut count = 0;
        let below = inner_limits.map(move |(z, last)| {
            count = match closed {
                Closed::Left => leading(&self.values, count, last, |x| x < z),
                Closed::Right => leading(&self.values, count, last, |x| x <= z),
            };
            self.weight_of(count)
        });
        let mut before = 0.0;
        let totals = below.chain([self.total()]);
        totals.map(move |total| total - std::mem::replace(&mut before, total))
    }

    /// The weight of the values in each bin.
    pub(crate) fn weights_in(&self, partition: &Partition) -> Vec<f64> {
        let inner = &partition.limits()[1..partition.bins()];
        let unknown = self.values.len();
        let inner = inner.iter().map(|&limit| (limit, unknown));
        self.weights_between(inner, partition.closed()).collect()
    }

    /// The type-7 quantile (Hyndman and Fan 1996); with integer weights that of the data in which
    /// every row is repeated as often as its weight says. NaN for an empty sample.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        if self.values.is_empty() {
            return f64::NAN;
        }
        quantile_of(QuantileRule::Type7, self.total(), probability, |place| {
            self.order_statistic(place)
        })
    }

    /// The quantile by a rule; with integer weights that of the repeated data. NaN for an empty sample.
    ///
    /// ```
    /// use fe_core::numeric::quantiles::{QuantileRule, SortedSample};
    /// let sample = SortedSample::new([1.0, 2.0, 4.0, 8.0, 16.0].into_iter().map(|x| (x, 1.0)));
    /// assert_eq!(sample.quantile_by(QuantileRule::Type7, 0.5), 4.0);
    /// assert_eq!(sample.quantile_by(QuantileRule::Type1, 0.5), 4.0);
    /// assert_eq!(sample.quantile_by(QuantileRule::Type1Below, 0.5), 2.0);
    /// assert_eq!(sample.quantile_by(QuantileRule::Cunnane, 0.5), 4.0);
    /// ```
    #[must_use]
    pub fn quantile_by(&self, rule: QuantileRule, probability: f64) -> f64 {
        if self.values.is_empty() {
            return f64::NAN;
        }
        quantile_of(rule, self.total(), probability, |place| self.order_statistic(place))
    }

    /// The value at a place of the repeated data, counted from 0.
    fn order_statistic(&self, place: f64) -> f64 {
        self.values[self.index_at(place)]
    }

    fn index_at(&self, place: f64) -> usize {
        let index = match &self.cumulative {
            None => return rank(place, self.values.len()),
            Some(cumulative) => cumulative.partition_point(|&weight| weight <= place),
        };
        index.min(self.values.len().saturating_sub(1))
    }
}

/// The quantile by a rule of values of some total weight, from those at places of the repeated data,
/// counted from 0; places before the first stand for it, and places behind the last for that.
fn quantile_of(
    rule: QuantileRule,
    total: f64,
    probability: f64,
    mut order_statistic: impl FnMut(f64) -> f64,
) -> f64 {
    let place = match rule {
        QuantileRule::Type7 => ((total - 1.0) * probability).max(0.0),
        QuantileRule::Type1 => return order_statistic((total * probability).ceil() - 1.0),
        QuantileRule::Type1Below if probability >= 1.0 => return order_statistic(f64::INFINITY),
        QuantileRule::Type1Below => {
            return order_statistic(((total - 1.0) * probability).ceil() - 1.0);
        }
        QuantileRule::Cunnane => {
            let place = total * probability + 0.4 + 0.2 * probability;
            let below = place.min(total - 1.0).max(1.0).floor();
            let share = (place - below).clamp(0.0, 1.0);
            let (lower, upper) = (order_statistic(below - 1.0), order_statistic(below));
            return lower + (upper - lower) * share;
        }
    };
    let below = whole(place);
    let (lower, upper) = (order_statistic(below), order_statistic(below + 1.0));
    interpolate(lower, upper, place - below)
}

/// The whole part of a number that is not negative; `floor` is a call of a function on many processors.
fn whole(number: f64) -> f64 {
    // Above, all numbers are whole.
    const LARGE: f64 = (1_u64 << 53) as f64;
    if number < LARGE { (number as i64) as f64 } else { number }
}

/// The limits that [`SortedSample::limits`] finds for values of weight 1 on the axis, of which only those
/// near quantiles are put in order.
pub(crate) fn selected_limits(
    values: &[f64],
    rule: QuantileRule,
    axis: Axis,
    bins: usize,
    probability: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let selected = Selected::of(values, rule, (1..bins).map(&probability));
    within(axis, (1..bins).map(|i| selected.quantile_by(rule, probability(i))))
}

/// The order statistics of values of weight 1 that some quantiles are made of.
struct Selected {
    rows: usize,
    ranks: Vec<usize>,
    values: Vec<f64>,
}

impl Selected {
    fn of(values: &[f64], rule: QuantileRule, probabilities: impl Iterator<Item = f64>) -> Self {
        let mut ranks = Vec::new();
        for probability in probabilities {
            quantile_of(rule, values.len() as f64, probability, |place| {
                ranks.push(rank(place, values.len()));
                0.0
            });
        }
        ranks.sort_unstable();
        ranks.dedup();
        Self { rows: values.len(), values: order_statistics(values, &ranks), ranks }
    }

    fn quantile_by(&self, rule: QuantileRule, probability: f64) -> f64 {
        quantile_of(rule, self.rows as f64, probability, |place| {
            let rank = rank(place, self.rows);
            self.values[self.ranks.partition_point(|&other| other < rank)]
        })
    }
}

/// The weighted type-7 quantiles 0, 0.1, …, 1; values of weight 1 are not sorted.
pub(crate) fn deciles(values: &[f64], weights: Option<&[f64]>) -> [f64; 11] {
    if let Some(weights) = weights {
        let pairs = values.iter().copied().zip(weights.iter().copied());
        let sample = SortedSample::new(pairs);
        return std::array::from_fn(|i| sample.quantile(i as f64 / 10.0));
    }
    let probability = |i| i as f64 / 10.0;
    let selected = Selected::of(values, QuantileRule::Type7, (0..11).map(probability));
    std::array::from_fn(|i| selected.quantile_by(QuantileRule::Type7, probability(i)))
}

/// The rank of a place in so many values of weight 1.
fn rank(place: f64, rows: usize) -> usize {
    (place.max(0.0) as i64 as usize).min(rows.saturating_sub(1))
}

/// Number of the first values that a condition holds for, after which it holds for none. It holds for the
/// first `from`, and perhaps until `last`; where not, twice as many are looked at each time, so that few cost
/// little.
fn leading(values: &[f64], from: usize, last: usize, holds: impl Fn(f64) -> bool) -> usize {
    if let Some(&[inside, outside]) = values.get(last..last.saturating_add(2))
        && holds(inside)
        && !holds(outside)
    {
        return last + 1;
    }
    let values = &values[from..];
    let mut end = 1;
    while end < values.len() && holds(values[end]) {
        end *= 2;
    }
    let start = end / 2;
    let end = values.len().min(end + 1);
    from + start + values[start..end].partition_point(|&x| holds(x))
}

/// Between two values, from the nearer one, as numpy rounds it: an instance may be on the quantile.
pub(crate) fn interpolate(lower: f64, upper: f64, share: f64) -> f64 {
    let difference = upper - lower;
    if difference.is_infinite() {
        return lower * (1.0 - share) + upper * share;
    }
    if share < 0.5 { lower + difference * share } else { upper - difference * (1.0 - share) }
}

/// The ends of the axis with those of the increasing values that lie strictly between, each once.
fn within(axis: Axis, values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut limits = vec![axis.lo()];
    for value in values {
        if value > limits[limits.len() - 1] && value < axis.hi() {
            limits.push(value);
        }
    }
    limits.push(axis.hi());
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [QuantileRule; 4] =
        [QuantileRule::Type7, QuantileRule::Type1, QuantileRule::Type1Below, QuantileRule::Cunnane];

    #[test]
    fn quantiles_of_weighted_values_are_those_of_repeated_ones() {
        let weighted =
            SortedSample::new([(3.0, 2.0), (1.0, 1.0), (9.0, 0.0), (4.0, 3.0)].into_iter());
        let repeated = [1.0, 3.0, 3.0, 4.0, 4.0, 4.0];
        let repeated = SortedSample::new(repeated.into_iter().map(|x| (x, 1.0)));
        for rule in RULES {
            for i in 0..=40 {
                let p = f64::from(i) / 40.0;
                assert_eq!(
                    weighted.quantile_by(rule, p),
                    repeated.quantile_by(rule, p),
                    "{rule:?} {p}"
                );
            }
            assert_eq!(repeated.quantile_by(rule, 0.0), 1.0);
            assert_eq!(repeated.quantile_by(rule, 1.0), 4.0);
        }
    }

    #[test]
    fn one_value_is_every_quantile_and_none_is_none() {
        let one = SortedSample::new([(2.5, 1.0)].into_iter());
        let none = SortedSample::new([(2.5, 0.0)].into_iter());
        for rule in RULES {
            for p in [0.0, 0.3, 1.0] {
                assert_eq!(one.quantile_by(rule, p), 2.5);
                assert!(none.quantile_by(rule, p).is_nan());
            }
        }
    }

    #[test]
    fn rounded_probabilities_decide_where_the_rule_jumps() {
        let sample = SortedSample::new((0..11).map(|i| (f64::from(i), 1.0)));
        let axis = Axis::new(0.0, 10.0).unwrap();
        let limits =
            |rule, probabilities: [f64; 4]| sample.limits(rule, axis, 5, |i| probabilities[i - 1]);
        // 3 times the rounded 1/5 is a little more than 3/5.
        let multiples = [1.0, 2.0, 3.0, 4.0].map(|i| i * 0.2);
        assert_eq!(limits(QuantileRule::Type1Below, multiples), [0.0, 1.0, 3.0, 6.0, 7.0, 10.0]);
        let fractions = [0.2, 0.4, 0.6, 0.8];
        assert_eq!(limits(QuantileRule::Type1Below, fractions), [0.0, 1.0, 3.0, 5.0, 7.0, 10.0]);
        assert_eq!(limits(QuantileRule::Type7, fractions), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    }

    #[test]
    fn heavy_values_are_passed_over() {
        let heavy = [(0.0, 7.0), (1.0, 1.0), (2.0, 40.0), (2.5, 2.0), (3.0, 30.0)];
        let sample = SortedSample::new(heavy.into_iter());
        let axis = Axis::new(0.0, 3.0).unwrap();
        for rule in RULES {
            for bins in 1..200 {
                let probability = |i: usize| i as f64 / bins as f64;
                let all = (1..bins).map(|i| sample.quantile_by(rule, probability(i)));
                let limits = sample.limits(rule, axis, bins, probability);
                assert_eq!(limits, within(axis, all), "{rule:?} {bins}");
            }
        }
        let heavier = SortedSample::new([(0.0, 1e300), (1.0, 2.0), (2.0, 1e300)].into_iter());
        let limits = heavier.limits(QuantileRule::Type7, axis, usize::MAX, |i| i as f64 * 5e-20);
        assert!(limits.len() <= 4);
    }

    /// The values of numpy 1.26.
    #[test]
    fn quantiles_are_rounded_as_those_of_numpy() {
        let sample = SortedSample::new((0..12).map(|i| (f64::from(i) / 7.0, 1.0)));
        let quantiles = [0.25, 3.0 / 7.0, 0.625, 5.0 / 7.0].map(|p| sample.quantile(p));
        let numpy =
            [0.39285714285714285, 0.673469387755102, 0.9821428571428571, 1.1224489795918366];
        assert_eq!(quantiles, numpy);
    }

    #[test]
    fn distinct_values_are_counted() {
        let sample = SortedSample::new([3.0, 1.0, 3.0, 2.0].into_iter().map(|x| (x, 1.0)));
        assert_eq!(sample.distinct(3), Some(vec![1.0, 2.0, 3.0]));
        assert_eq!(sample.distinct(2), None);
    }

    /// Also where the numbers between them are more than there are.
    #[test]
    fn between_two_values_is_on_their_line() {
        assert_eq!(interpolate(-1.5e308, 1.5e308, 0.25), -0.75e308);
        assert_eq!(interpolate(-1.5e308, 1.5e308, 0.75), 0.75e308);
        assert_eq!([0.0, 0.25, 0.75, 1.0].map(|p| interpolate(1.0, 3.0, p)), [1.0, 1.5, 2.5, 3.0]);
    }
}
