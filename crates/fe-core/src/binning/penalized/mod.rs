//! Automatic bins that converge: a penalty for each bin, against errors in units of their noise.

use rayon::prelude::*;

mod change_points;
mod risk;

use super::{Binning, BinningInfo, BinningRequest, Choice, check_bins};
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::moments::Moments;
use crate::numeric::parallel::{of_each, of_places};
use crate::numeric::partition::{Closed, Partition};
use crate::numeric::quantiles::{QuantileRule, SortedSample};
use change_points::{Signal, Squares};
use risk::{Accumulated, CandidateBins, Gain, RiskEstimator, Spread};

const NAME: &str = "penalized";

/// Most cells, and with that most bins, unless asked otherwise.
const CELLS: usize = 20_000;
/// Penalty of a bin, in units of log N: one for each of the numbers that describe it, its level, its spread
/// and its limit, and one more: where a single bin is best, one too many in a hundred datasets costs more
/// than all others.
const PENALTY: f64 = 4.0;
/// A bin is halved if its slope, squared, is more than so many squared standard errors.
const TREND: f64 = 4.0;
/// The only bin is halved for log N of them, and never needs more than these: one in twenty without a slope has
/// four, and one in 370 nine.
const TREND_ALONE: f64 = 9.0;
/// Least weight in a bin.
const LEAST: f64 = 2.0;
/// Least weight in a half of a bin, and where only the spread changes.
const LEAST_FOR_SPREAD: f64 = 5.0;
/// Standard errors below the estimate of the lower confidence bound that a gain is taken for, where the
/// segmentation has limits and where it has none.
const CAUTION: [f64; 2] = [1.0, 2.0];
/// Products of errors that count as equal to the least one, if the error of the spread does: of these the
/// fewest bins are taken.
const EQUAL: f64 = 1.1;
const SAME_SPREAD: f64 = 1.01;
/// Ratio of the numbers of bins that are tried.
const STEP: f64 = 1.3;
/// Variance, as a share of that of all local effects, that is not told from none.
const RESOLUTION: f64 = 1e-9;

pub(super) const INFO: BinningInfo = BinningInfo {
    name: NAME,
    about: "bins of least estimated error of curve and spread: out of a penalised segmentation, equal \
            and quantile ones, without anything to choose (default bins, the most there may be = \
            20000)",
    options: &["bins"],
    automatic: true,
    build: |settings| Ok(Box::new(Penalized::new(settings.bins.unwrap_or(CELLS))?)),
};

/// Bins from a penalised segmentation, unless others are better beyond doubt:
///
/// 1. the partition of least Σ (d_i − mean)²/s² + 4 log N per bin, with s² the variance of the local
///    effects about their trend, estimated nearby;
/// 2. of these, bins along which local effects have a trend all the same, of more than two standard
///    errors, are halved, the only bin if its trend has more than √log N of them or three: a trend is seen
///    long before any single limit along it;
/// 3. step 1 for the spread: the cube root of the squared distance from the mean of the bin, which is
///    nearly normal (Wilson and Hilferty 1931);
/// 4. limits of both together are the bins, unless the estimated errors of the curve and of the spread
///    say otherwise. Equal and quantile bins of many numbers, with and without the limits of steps 1
///    and 3, these alone, and a single bin are preferred if the product of both errors is smaller, where
///    each gain is taken for one standard error less than it is estimated, or two if step 1 and 3 found
///    nothing, but that of the single bin as it is. Of products that are within a tenth of the least, with
///    the same error of the spread, the one with the fewest bins is taken. The spread is compared with that
///    of the local effects about lines through the pieces of step 1;
/// 5. the curve wants narrower bins than the spread can be known in. Neighbouring bins share the variance
///    within them, [`Choice::spreads`], along stretches of least estimated error of the spread: those that
///    step 3 tells apart, or any of the divisions of step 4 if it is better, judged in the same way;
/// 6. step 4 again, with spreads that are shared along these stretches, and step 5 for the bins that it
///    finds.
///
/// Limits of the segmentation lie midway between instances. Where there are more than 20 000 of them,
/// they are sought between as many cells first, and then among the instances beside those that were
/// found. Up to 512 cells steps 1 and 3 are exact; above, limits are
/// found to within a cell after a search on a coarser scale. Local effects that are all equal make a
/// single bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalized {
    bins: usize,
}

impl Default for Penalized {
    fn default() -> Self {
        Self { bins: CELLS }
    }
}

impl Penalized {
    /// With at most so many bins.
    ///
    /// # Errors
    /// [`Error::BadOption`] for none, or for more than twenty thousand.
    pub fn new(bins: usize) -> Result<Self> {
        Ok(Self { bins: check_bins("bins", bins, CELLS)? })
    }
}

impl Binning for Penalized {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn bins(&self) -> Option<usize> {
        Some(self.bins)
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        let Some(local_effects) = request.local_effects else {
            return Err(Error::Incompatible(format!(
                "the binning `{NAME}` looks at local effects, which `ale` has only once bins are \
                 chosen and `mplot` never; use it with `dale` or `rhale`"
            )));
        };
        let sample = request.sample();
        let over = |(cells, places): (Partition, Vec<f64>)| -> Result<Option<Instances>> {
            let moments = standardised(&local_effects(&cells)?);
            Ok(moments.map(|moments| Instances { cells, places, moments }))
        };
        let cells_with = |alone: &[[f64; 2]]| cells(&sample, request.axis, request.closed, alone);
        let mut instances = over(cells_with(&[])?)?;
        // Where cells hold several instances, what a cell hides beside a limit can be a jump.
        if let Some(coarse) = instances.take_if(|_| sample.distinct(CELLS).is_none()) {
            instances = over(cells_with(&coarse.beside_limits())?)?;
        }
        let (partition, spreads) = match instances {
            Some(instances) => self.best(&instances, &sample)?,
            None => {
                let whole = vec![request.axis.lo(), request.axis.hi()];
                (Partition::new(whole, request.closed)?, None)
            }
        };
        Ok(Choice { spreads, ..Choice::new(partition, sample.total() >= LEAST) })
    }
}

/// The segmentation that steps 1 to 3 find.
struct Segmentation {
    /// Bins with those halved along which the level has a trend, and without.
    halved: Partition,
    changes: Partition,
    /// Squares of the noise about the levels, in each cell.
    squares: Vec<Squares>,
    /// Limits between which the spread is the same, as indices of limits of the cells.
    same_spread: Vec<usize>,
}

/// The local effects over cells.
struct Instances {
    cells: Partition,
    places: Vec<f64>,
    moments: Vec<Moments>,
}

impl Penalized {
    /// The bins of least estimated error, and the stretches of them along which local effects spread
    /// alike: bins for spreads of their own, stretches of these, bins for stretches, and stretches again.
    fn best(
        &self,
        instances: &Instances,
        sample: &SortedSample,
    ) -> Result<(Partition, Option<Partition>)> {
        let Instances { cells, places, moments } = instances;
        let Segmentation { halved, changes, squares, same_spread } = instances.segmented();
        let all = self.candidates(cells, halved, changes, sample)?;
        let risk = RiskEstimator::new(cells, places, moments, squares, &same_spread, RESOLUTION);
        let candidates = Candidates::new(&risk, &all);
        let told_apart = cells.keeping_at(&same_spread);
        let first = candidates.best(None);
        let shared = candidates.alike(first, &told_apart);
        let best = candidates.best(Some(&shared));
        let shared = if best == first { shared } else { candidates.alike(best, &told_apart) };
        let bins = all[best].clone();
        let spreads = (shared != bins).then_some(shared);
        Ok((bins, spreads))
    }

    /// The segmentation with halved bins, a single bin, equal and quantile bins of many
    /// numbers, each also with the limits of the segmentation between them, and these limits alone.
    fn candidates(
        &self,
        cells: &Partition,
        halved: Partition,
        changes: Partition,
        sample: &SortedSample,
    ) -> Result<Vec<Partition>> {
        let mut all = vec![halved, cells.keeping(|_| false)];
        let with_changes = |even: Partition| -> Result<Vec<Partition>> {
            let both = (changes.bins() > 1).then(|| united(&even, &changes)).transpose()?;
            Ok(both.into_iter().chain([even]).collect())
        };
        let even = self.even(cells, sample)?.into_par_iter().map(with_changes);
        all.extend(even.collect::<Result<Vec<_>>>()?.into_iter().flatten());
        all.push(changes);
        all.retain(|bins| bins.bins() <= self.bins);
        Ok(all)
    }

    /// Equal and quantile bins, from two to as many as there are instances.
    fn even(&self, cells: &Partition, sample: &SortedSample) -> Result<Vec<Partition>> {
        let axis = cells.axis()?;
        let most = sample.total().min(self.bins as f64);
        let counts = std::iter::successors(Some(2.0_f64), |count| Some(count * STEP));
        let mut counts: Vec<usize> =
            counts.map(f64::round).take_while(|&count| count <= most).map(|c| c as usize).collect();
        counts.dedup();
        let of_count = |bins: usize| {
            let share = |i: usize| i as f64 / bins as f64;
            let quantiles = sample.limits(QuantileRule::default(), axis, bins, share);
            [axis.divide(bins), quantiles].map(|limits| Partition::new(limits, cells.closed()))
        };
        let all = counts.into_par_iter().flat_map_iter(of_count);
        all.collect::<Result<Vec<_>>>()
    }
}

impl Instances {
    /// Bins at the limits of levels and of the spread about them, and the noise that they leave.
    fn segmented(&self) -> Segmentation {
        let (level, levels, same_spread) = self.pieces();
        let alone = || self.weight().ln().clamp(TREND, TREND_ALONE);
        let trend = if levels.len() == 2 { alone() } else { TREND };
        let halved = level.halved(&levels, self.cells.limits(), trend, LEAST_FOR_SPREAD);
        let spread_in_halves = self.spread(&halved).pieces(self.penalty(), LEAST);
        let within: Vec<f64> = self.moments.iter().map(|cell| cell.squares).collect();
        let bins = |levels: &[usize], spreads: &[usize]| {
            self.cells.keeping_at(&with_limits_of_spread(&level, levels, spreads))
        };
        Segmentation {
            halved: bins(&halved, &spread_in_halves),
            changes: bins(&levels, &same_spread),
            squares: level.residuals(&levels, &within),
            same_spread,
        }
    }

    /// The level, its pieces, and those with the same spread about them.
    fn pieces(&self) -> (Signal, Vec<usize>, Vec<usize>) {
        let level = self.level();
        let levels = level.pieces(self.penalty(), LEAST);
        let spreads = self.spread(&levels).pieces(self.penalty(), LEAST);
        (level, levels, spreads)
    }

    /// From where to where the cells on both sides of each limit of levels and of the spread reach.
    fn beside_limits(&self) -> Vec<[f64; 2]> {
        let (_, levels, spreads) = self.pieces();
        let edges = self.cells.limits();
        let mut limits: Vec<usize> = [levels, spreads].concat();
        limits.retain(|&limit| limit > 0 && limit + 1 < edges.len());
        limits.sort_unstable();
        limits.dedup();
        limits.into_iter().map(|limit| [edges[limit - 1], edges[limit + 1]]).collect()
    }

    fn weights(&self) -> Vec<f64> {
        self.moments.iter().map(|cell| cell.weight).collect()
    }

    fn weight(&self) -> f64 {
        self.moments.iter().map(|cell| cell.weight).sum()
    }

    fn penalty(&self) -> f64 {
        PENALTY * self.weight().ln()
    }

    /// The mean local effect in each cell.
    fn level(&self) -> Signal {
        let values: Vec<f64> = self.moments.iter().map(|cell| cell.mean).collect();
        let within = self.squares_without_trend(&values);
        Signal::new(self.places.clone(), self.weights(), values, &within, RESOLUTION)
    }

    /// The squares within each cell but for what a trend of these values adds to them.
    fn squares_without_trend(&self, values: &[f64]) -> Vec<Squares> {
        let (places, edges) = (&self.places, self.cells.limits());
        let last = values.len() - 1;
        let within = |(j, cell): (usize, &Moments)| {
            let degrees = (cell.weight - 1.0).max(0.0);
            if j == 0 || j == last {
                return (cell.squares, degrees);
            }
            // What the trend contributes, with the instances spread evenly over the cell.
            let slope = (values[j + 1] - values[j - 1]) / (places[j + 1] - places[j - 1]);
            let rise = slope * (edges[j + 1] - edges[j]);
            ((cell.squares - degrees * rise * rise / 12.0).max(0.0), degrees)
        };
        self.moments.iter().enumerate().map(within).collect()
    }

    /// The spread in each cell about the means of some bins.
    fn spread(&self, bins: &[usize]) -> Signal {
        let values = self.roots(bins);
        let weights = self.weights();
        let squares: f64 =
            values.iter().zip(&weights).map(|(value, weight)| weight * value * value).sum();
        let floor = RESOLUTION * squares / weights.iter().sum::<f64>();
        let within = vec![(0.0, 0.0); values.len()];
        Signal::new(self.places.clone(), weights, values, &within, floor)
    }

    /// The cube root of the mean squared distance from the mean of the bin, in each cell.
    fn roots(&self, bins: &[usize]) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.moments.len());
        for ends in bins.windows(2) {
            let cells = &self.moments[ends[0]..ends[1]];
            let bin = cells.iter().fold(Moments::default(), |bin, cell| bin.merge(*cell));
            let of_cell = |cell: &Moments| {
                (cell.squares / cell.weight + (cell.mean - bin.mean).powi(2)).cbrt()
            };
            values.extend(cells.iter().map(of_cell));
        }
        values
    }
}

/// Bins that might be the best; the first are those of the segmentation.
struct Candidates<'a> {
    risk: &'a RiskEstimator<'a>,
    all: Vec<CandidateBins<'a>>,
    /// Spreads that each candidate gives, bin by bin.
    own: Vec<Option<Spread>>,
    /// The error of the curve in units of that of the first bins.
    curve: Vec<f64>,
}

impl<'a> Candidates<'a> {
    fn new(risk: &'a RiskEstimator<'a>, all: &'a [Partition]) -> Self {
        let all: Vec<CandidateBins<'a>> = of_each(all, &|bins| risk.divide(bins));
        let own: Vec<Option<Spread>> = of_each(&all, &|bins| risk.spread(bins));
        let curve = |at: usize| own[at].as_ref().and_then(|_| risk.curve(&all[at]));
        let curves: Vec<Option<Accumulated>> = of_places(all.len(), &curve);
        let variance = |curve: &Accumulated| curve.variance;
        let curve =
            relative_errors(&all, &curves, variance, |of, over| risk.gain_of_curve(of, over));
        Self { risk, all, own, curve }
    }

    /// The fewest bins of those with the least product of both errors, in units of those of the first bins;
    /// with a spread of their own, or with one that is shared along stretches.
    fn best(&self, stretches: Option<&Partition>) -> usize {
        let risk = self.risk;
        let along = |division: &CandidateBins<'_>, stretches| {
            risk.spread_along(&whole(division.bins, stretches), division)
        };
        let shared: Option<Vec<_>> =
            stretches.map(|stretches| of_each(&self.all, &|division| along(division, stretches)));
        let spreads = shared.as_ref().unwrap_or(&self.own);
        let variance = |spread: &Spread| spread.variance;
        let spread =
            relative_errors(&self.all, spreads, variance, |of, over| risk.gain_of_spread(of, over));
        let bins: Vec<usize> = self.all.iter().map(|division| division.bins.bins()).collect();
        let single = || bins.iter().position(|&bins| bins == 1);
        fewest(&self.curve, &spread, &bins).or_else(single).unwrap_or(0)
    }

    /// Stretches of the bins of one candidate along which the spread is estimated best: those that the
    /// segmentation tells apart, unless the bins themselves, or what the division of another candidate makes
    /// of them, is better.
    fn alike(&self, candidate: usize, told_apart: &Partition) -> Partition {
        let division = &self.all[candidate];
        let first = whole(division.bins, told_apart);
        let Some(of_first) = self.risk.spread_along(&first, division) else {
            return division.bins.clone();
        };
        let caution = CAUTION[usize::from(first.bins() == 1)];
        let others = of_each(&self.all, &|other| whole(division.bins, other.bins));
        let mut all = vec![division.bins.clone()];
        for stretches in others {
            if !all.contains(&stretches) {
                all.push(stretches);
            }
        }
        let gain = |stretches: &Partition| {
            let spread = self.risk.spread_along(stretches, division)?;
            let caution = if stretches.bins() == 1 { 0.0 } else { caution };
            let gain = self.risk.gain_of_spread((division, &spread), (division, &of_first));
            Some(gain.lower_bound(caution))
        };
        let gains = of_each(&all, &gain).into_iter();
        let all =
            all.into_iter().zip(gains).filter_map(|(stretches, gain)| Some((stretches, gain?)));
        let better = |best: (Partition, f64), other: (Partition, f64)| {
            if other.1 > best.1 { other } else { best }
        };
        all.fold((first, 0.0), better).0
    }
}

/// Of the least product of both errors, the first of which are 1, and of those that count as equal to it and
/// do not have more than 1 and no larger error of the spread, the one with the fewest bins. None if no product
/// is a number.
fn fewest(curve: &[f64], spread: &[f64], bins: &[usize]) -> Option<usize> {
    let products: Vec<f64> = curve.iter().zip(spread).map(|(a, b)| a * b).collect();
    let numbers = (0..products.len()).filter(|&candidate| !products[candidate].is_nan());
    let least = numbers.clone().min_by(|&a, &b| products[a].total_cmp(&products[b]))?;
    let counts_as_least = |&candidate: &usize| {
        products[candidate] <= (EQUAL * products[least]).min(1.0)
            && spread[candidate] <= SAME_SPREAD * spread[least]
    };
    numbers.filter(counts_as_least).min_by_key(|&candidate| bins[candidate])
}

/// Estimated errors of all that bins make of something, in units of that of the first ones: 1 for these, and
/// infinite where they make nothing of it; none is a number if the first ones make nothing of it. Each gain
/// over the first ones is taken with caution; what has the largest has about the error of its noise.
fn relative_errors<'a, T: Sync>(
    all: &[CandidateBins<'a>],
    made: &[Option<T>],
    variance: impl Fn(&T) -> f64 + Sync,
    gain: impl Fn((&CandidateBins<'a>, &T), (&CandidateBins<'a>, &T)) -> Gain + Sync,
) -> Vec<f64> {
    let (Some(first), Some(Some(of_first))) = (all.first(), made.first()) else {
        return vec![f64::NAN; all.len()];
    };
    let caution = CAUTION[usize::from(first.bins.bins() == 1)];
    let careful = |at: usize| {
        let (division, made) = (&all[1 + at], &made[1 + at]);
        // Of many candidates one is better by chance; the single bin is one, and the simplest.
        let caution = if division.bins.bins() == 1 { 0.0 } else { caution };
        let gain =
            |made| (gain((division, made), (first, of_first)).lower_bound(caution), variance(made));
        made.as_ref().map_or((f64::NEG_INFINITY, f64::INFINITY), gain)
    };
    let of_first = (0.0, variance(of_first));
    let others: Vec<(f64, f64)> = of_places(all.len() - 1, &careful);
    let larger =
        |most: (f64, f64), other: &(f64, f64)| if other.0 > most.0 { *other } else { most };
    let (most, noise) = others.iter().fold(of_first, larger);
    let error = |(gain, _): &(f64, f64)| 1.0 - gain / (most + noise);
    [&of_first].into_iter().chain(&others).map(error).collect()
}

/// Stretches of whole bins: those with centres in the same part of a division of the axis.
fn whole(bins: &Partition, division: &Partition) -> Partition {
    let of: Vec<_> = bins.centres().iter().map(|&centre| division.locate(centre)).collect();
    bins.keeping(|limit| of[limit - 1] != of[limit])
}

/// Some levels and the limits of the spread about them, as indices of limits of the cells.
fn with_limits_of_spread(level: &Signal, levels: &[usize], spreads: &[usize]) -> Vec<usize> {
    let mut all = levels.to_vec();
    for &limit in spreads {
        // Among the limits so far, those on both sides of this one.
        let place = all.partition_point(|&other| other < limit);
        let is_new = all.get(place).is_some_and(|&other| other != limit) && place > 0;
        let poorer =
            |place: usize| level.weight(all[place - 1], limit).min(level.weight(limit, all[place]));
        if is_new && poorer(place) >= LEAST_FOR_SPREAD {
            all.insert(place, limit);
        }
    }
    all
}

/// The limits of `changes`, and those of `even` that are not nearer to one of them than half a bin.
fn united(even: &Partition, changes: &Partition) -> Result<Partition> {
    let (even, closed, changes) = (even.limits(), even.closed(), changes.limits());
    let mut all = changes.to_vec();
    for inner in even.windows(3) {
        let near = 0.5 * (inner[1] - inner[0]).min(inner[2] - inner[1]);
        let next = changes.partition_point(|&limit| limit < inner[1]);
        let is_free =
            |limit: Option<&f64>| limit.is_none_or(|limit| (limit - inner[1]).abs() > near);
        if is_free(changes.get(next)) && is_free(changes.get(next.wrapping_sub(1))) {
            all.push(inner[1]);
        }
    }
    all.sort_unstable_by(f64::total_cmp);
    Partition::new(all, closed)
}

/// Cells of about equal weight, at most [`CELLS`] and those of single positions in some parts of the
/// axis, which increase; and the mean position of the instances in each. They end midway between
/// instances.
fn cells(
    sample: &SortedSample,
    axis: Axis,
    closed: Closed,
    alone: &[[f64; 2]],
) -> Result<(Partition, Vec<f64>)> {
    let values: Vec<(f64, f64)> = sample.distinct_weights().collect();
    let per_cell = if values.len() > CELLS { sample.total() / CELLS as f64 } else { 0.0 };
    let is_alone = |x: f64| {
        let next = alone.partition_point(|part| part[0] <= x);
        next > 0 && x <= alone[next - 1][1]
    };
    let mut limits = vec![axis.lo()];
    let mut places = Vec::new();
    let (mut before, mut weight, mut moment, mut due) = (0.0, 0.0, 0.0, per_cell);
    for (i, &(x, w)) in values.iter().enumerate() {
        weight += w;
        moment += w * (x - axis.lo());
        let is_last = i + 1 == values.len();
        let end = if is_last { axis.hi() } else { x + 0.5 * (values[i + 1].0 - x) };
        let is_due = before + weight >= due;
        let is_full = is_due || is_alone(x);
        if is_last || (is_full && x < end && end < values[i + 1].0) {
            limits.push(end);
            places.push(axis.lo() + moment / weight);
            before += weight;
            (weight, moment) = (0.0, 0.0);
            if is_due {
                due += per_cell;
            }
        }
    }
    if values.is_empty() {
        limits.push(axis.hi());
    }
    Ok((Partition::new(limits, closed)?, places))
}

/// The moments of the local effects less their mean over their standard deviation; none where they
/// are all the same up to rounding, or too large to be squared.
fn standardised(moments: &[Moments]) -> Option<Vec<Moments>> {
    let all = moments.iter().fold(Moments::default(), |all, cell| all.merge(*cell));
    let variance = all.squares / all.weight;
    let largest = moments.iter().fold(0.0, |most: f64, cell| most.max(cell.mean.abs()));
    let rounding = 8.0 * f64::EPSILON * largest;
    if !(all.weight >= LEAST && variance > rounding * rounding && variance.is_finite()) {
        return None;
    }
    let factor = 1.0 / variance.sqrt();
    let centred = |cell: &Moments| Moments { mean: cell.mean - all.mean, ..*cell };
    Some(moments.iter().map(|cell| centred(cell).scaled(factor)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_errors_that_are_nearly_the_least_the_fewest_bins_are_taken() {
        let bins = [5, 1, 40, 20, 10];
        let one = [1.0; 5];
        assert_eq!(fewest(&[1.0, 9.0, 0.5, 0.54, 0.56], &one, &bins), Some(3));
        assert_eq!(fewest(&[1.0, 9.0, 0.5, 0.56, f64::NAN], &one, &bins), Some(2));
        // Never more than the error of the first bins, though these need not be the fewest.
        assert_eq!(fewest(&[1.0, 1.05, 0.98, 1.2, f64::INFINITY], &one, &bins), Some(0));
        assert_eq!(fewest(&one, &one, &bins), Some(1));
        assert_eq!(fewest(&[f64::NAN; 5], &one, &bins), None);
    }

    #[test]
    fn fewer_bins_are_not_taken_where_they_cost_the_spread() {
        let bins = [5, 1, 40, 20, 10];
        let curve = [1.0, 9.0, 0.5, 0.5, 0.4];
        assert_eq!(fewest(&curve, &[1.0, 1.0, 0.5, 0.54, 0.65], &bins), Some(2));
        assert_eq!(fewest(&curve, &[1.0, 1.0, 0.5, 0.504, 0.65], &bins), Some(3));
        // They may cost the curve.
        assert_eq!(fewest(&[1.0, 9.0, 0.5, 0.5, 0.54], &[1.0, 1.0, 0.5, 0.9, 0.5], &bins), Some(4));
    }

    #[test]
    fn effects_without_variance_are_not_standardised() {
        let of = |values: [f64; 2]| [Moments::of(&values[..1]), Moments::of(&values[1..])];
        assert!(standardised(&of([0.0, 0.0])).is_none());
        assert!(standardised(&of([0.3, 0.3])).is_none());
        assert!(standardised(&of([-1e300, 1e300])).is_none());
        assert!(standardised(&of([1.0, 3.0])[..1]).is_none());
        let found = standardised(&of([1.0, 3.0])).unwrap();
        assert_eq!([found[0].mean, found[1].mean], [-1.0, 1.0]);
    }

    fn limits(ends: &[u32]) -> Partition {
        Partition::new(ends.iter().copied().map(f64::from).collect(), Closed::Left).unwrap()
    }

    /// Five squares as instances: their quantiles, and their range in equal parts.
    #[test]
    fn even_bins_are_equal_ones_and_those_between_quantiles() {
        let sample = SortedSample::of_equal(&[0.0, 1.0, 4.0, 9.0, 16.0]);
        let even = Penalized::default().even(&limits(&[0, 16]), &sample).unwrap();
        let third = 16.0 / 3.0;
        let even: Vec<&[f64]> = even.iter().map(Partition::limits).collect();
        assert_eq!(even.len(), 6);
        assert_eq!([even[0], even[1]], [&[0.0, 8.0, 16.0], &[0.0, 4.0, 16.0]]);
        let near = |found: &[f64], known: [f64; 4]| {
            found.iter().zip(known).all(|(found, known)| (found - known).abs() < 1e-12)
        };
        // Of five values, the third parts lie at places 4/3 and 8/3.
        assert!(near(even[2], [0.0, third, 2.0 * third, 16.0]), "{:?}", even[2]);
        assert!(near(even[3], [0.0, 2.0, 4.0 + 5.0 * 2.0 / 3.0, 16.0]), "{:?}", even[3]);
        assert_eq!(even[4], [0.0, 4.0, 8.0, 12.0, 16.0]);
        assert_eq!(even[5], [0.0, 1.0, 4.0, 9.0, 16.0]);
    }

    #[test]
    fn even_limits_keep_away_from_changes() {
        let changes = Partition::new(vec![0.0, 2.2, 5.0], Closed::Left).unwrap();
        let united = united(&limits(&[0, 1, 2, 3, 4, 5]), &changes).unwrap();
        assert_eq!(united.limits(), [0.0, 1.0, 2.2, 3.0, 4.0, 5.0]);
    }

    /// A trend of slope 3 in cells of width 2: four instances spread evenly have 3 · 6² / 12 = 9 of it.
    #[test]
    fn a_trend_adds_nothing_to_the_squares_within_cells() {
        let moments = |j: u32| Moments { weight: 4.0, mean: 6.0 * f64::from(j), squares: 40.0 };
        let instances = Instances {
            cells: limits(&[0, 2, 4, 6]),
            places: vec![1.0, 3.0, 5.0],
            moments: (0..3).map(moments).collect(),
        };
        let squares = instances.squares_without_trend(&[0.0, 6.0, 12.0]);
        assert_eq!(squares, [(40.0, 3.0), (31.0, 3.0), (40.0, 3.0)]);
    }

    /// Two and three instances of a bin whose mean is 4.4.
    #[test]
    fn the_spread_of_a_cell_is_about_the_mean_of_its_bin() {
        let instances = Instances {
            cells: limits(&[0, 1, 2]),
            places: vec![0.5, 1.5],
            moments: vec![Moments::of(&[1.0, 3.0]), Moments::of(&[5.0, 5.0, 8.0])],
        };
        let known = [
            (3.4_f64.powi(2) + 1.4_f64.powi(2)) / 2.0,
            (2.0 * 0.6_f64.powi(2) + 3.6_f64.powi(2)) / 3.0,
        ];
        for (root, square) in instances.roots(&[0, 2]).into_iter().zip(known) {
            assert!((root.powi(3) - square).abs() < 1e-12, "{root} {square}");
        }
    }

    /// As many different values as there may be cells, whatever they weigh.
    #[test]
    fn every_value_has_a_cell_where_there_are_enough() {
        let weight = |i: usize| if i.is_multiple_of(2) { 1.0 } else { 3.0 };
        let sample = SortedSample::new((0..CELLS).map(|i| (i as f64, weight(i))));
        let axis = Axis::new(0.0, (CELLS - 1) as f64).unwrap();
        let (cells, places) = cells(&sample, axis, Closed::Left, &[]).unwrap();
        assert_eq!((cells.bins(), places.len()), (CELLS, CELLS));
    }

    /// A trend with hardly any noise: even bins follow it more closely than those of the segmentation.
    #[test]
    fn even_bins_are_taken_where_they_are_better() {
        let places: Vec<f64> = (0..400).map(|i| (f64::from(i) + 0.5) / 400.0).collect();
        let noise = |x: f64| 0.01 * ((x * 400.0).floor() * 0.618_034).fract();
        let summarise = |bins: &Partition| -> Result<Vec<Moments>> {
            let mut all = vec![Moments::default(); bins.bins()];
            for &x in &places {
                let bin = bins.locate(x).unwrap();
                all[bin] = all[bin].merge(Moments::single((6.0 * x).sin() + noise(x), 1.0));
            }
            Ok(all)
        };
        let request = BinningRequest {
            axis: Axis::new(0.0, 1.0).unwrap(),
            closed: Closed::Left,
            positions: &places,
            weights: None,
            whole: (&places, None),
            levels: false,
            ddof: 0.0,
            local_effects: Some(&summarise),
        };
        let chosen = Penalized::default().choose(&request).unwrap().partition;
        let (cells, centres) = cells(&request.sample(), request.axis, request.closed, &[]).unwrap();
        let moments = standardised(&summarise(&cells).unwrap()).unwrap();
        let first = Instances { cells, places: centres, moments }.segmented().halved;
        let within = |bins: &Partition| -> f64 {
            summarise(bins).unwrap().iter().map(|bin| bin.squares).sum()
        };
        assert!(chosen != first, "{chosen:?}");
        assert!(within(&chosen) < 0.9 * within(&first), "{} {}", within(&chosen), within(&first));
    }
}
