//! Estimated errors of bins: of the curve that is accumulated over them, and of the spread in them.

use super::change_points::{DEGREES, FEWEST_DEGREES, Pooled, Squares};
use crate::interrupt;
use crate::numeric::interpolation::interpolate_missing;
use crate::numeric::moments::Moments;
use crate::numeric::partition::Partition;

/// Places on the axis at which curves are compared.
const PLACES: usize = 100;
/// Cells from which the fourth moment of the noise is estimated; with fewer it is that of normal noise.
const FOR_KURTOSIS: usize = 20;
/// Excesses of the fourth moment that are believed. Two values of equal probability have −2, and
/// nothing has less.
const EXCESSES: (f64, f64) = (-2.0, 9.0);

/// Noise variances in the curve are those of so many instances: in sparse tails, where few count for much,
/// eighty reach to where the noise is another.
const NEARBY: f64 = 10.0;

/// Bins, and what is known of them.
pub(super) struct CandidateBins<'a> {
    pub(super) bins: &'a Partition,
    /// The bin of each cell.
    of_cells: Vec<u32>,
    known: Vec<Bin>,
}

/// The accumulated curve over some bins, with its noise.
pub(super) struct Accumulated {
    /// The curve at equally spaced places.
    values: Vec<f64>,
    /// Its mean variance along the axis.
    pub(super) variance: f64,
    /// For each bin, half of what a small growth of one local effect in it takes from the squared distances
    /// from the reference, summed over the places.
    gradient: Vec<f64>,
}

/// The spread of local effects in some bins, or along stretches of them, with its noise.
pub(super) struct Spread {
    /// The standard deviation in each bin.
    deviations: Vec<f64>,
    /// Its mean variance along the axis.
    pub(super) variance: f64,
    /// Its mean covariance with the one from the instances around.
    covariance: f64,
}

/// By how much an estimated error is smaller, and the standard error of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gain {
    mean: f64,
    se: f64,
}

impl Gain {
    /// The lower confidence bound so many standard errors below the estimate.
    pub(super) fn lower_bound(self, errors: f64) -> f64 {
        self.mean - errors * self.se
    }
}

/// An estimator of the risk of bins (Mallows' Cp): all that is known of the local effects and does not depend
/// on bins.
pub(super) struct RiskEstimator<'a> {
    cells: &'a Partition,
    places: &'a [f64],
    moments: &'a [Moments],
    /// Squares of the noise in each cell.
    squares: Vec<Squares>,
    /// Noise variance of an instance in each cell, from many instances around, and from the nearest.
    noise: Vec<f64>,
    noise_nearby: Vec<f64>,
    /// Standard deviation of the noise in each cell, from fewer instances around.
    deviations: Vec<Pooled>,
    /// The fourth moment of the noise over the square of the second, less 3.
    excess: f64,
    /// The integral of the lines between the means of the cells, which has hardly any bias.
    reference: Vec<f64>,
}

impl<'a> RiskEstimator<'a> {
    /// From the squares of the noise in each cell, and the pieces on which it has the same variance, as
    /// far as is known. Variances below `floor` count as that.
    pub(super) fn new(
        cells: &'a Partition,
        places: &'a [f64],
        moments: &'a [Moments],
        squares: Vec<Squares>,
        pieces: &[usize],
        floor: f64,
    ) -> Self {
        let means: Vec<f64> = moments.iter().map(|cell| cell.mean).collect();
        let total: f64 = moments.iter().map(|cell| cell.weight).sum();
        let noise_of = |needed: f64| -> Vec<f64> {
            let around = Pooled::all(&squares, floor, needed, pieces);
            around.into_iter().map(|around| around.mean).collect()
        };
        let (noise, noise_nearby) = rayon::join(|| noise_of(DEGREES), || noise_of(NEARBY));
        let excess = excess(&squares, &noise);
        let needed = total.sqrt().max(FEWEST_DEGREES);
        // The root of a mean square is too small on average.
        let root = |around: Pooled| {
            let lost = (2.0 + excess) / (8.0 * around.degrees.max(1.0));
            Pooled { mean: around.mean.sqrt() * (1.0 + lost), ..around }
        };
        let deviations =
            Pooled::all(&squares, floor, needed, pieces).into_iter().map(root).collect();
        let reference = integrated(cells.limits(), places, &means);
        Self { cells, places, moments, squares, noise, noise_nearby, deviations, excess, reference }
    }

    /// Candidate bins, with what is known of each.
    pub(super) fn divide<'b>(&self, bins: &'b Partition) -> CandidateBins<'b> {
        interrupt::check();
        let mut of_cells = vec![0; self.places.len()];
        bins.locate_all(self.places, &mut of_cells);
        let mut known = vec![Bin::default(); bins.bins()];
        for (j, &k) in of_cells.iter().enumerate() {
            if let Some(bin) = known.get_mut(k as usize) {
                bin.moments = bin.moments.merge(self.moments[j]);
                bin.lost = 1.0;
                bin.noise += self.moments[j].weight * self.noise[j];
                bin.noise_nearby += self.moments[j].weight * self.noise_nearby[j];
                bin.degrees += self.moments[j].weight * self.deviations[j].degrees;
            }
        }
        CandidateBins { bins, of_cells, known }
    }

    /// The curve over candidate bins; none where no bin has instances.
    pub(super) fn curve(&self, division: &CandidateBins<'_>) -> Option<Accumulated> {
        let CandidateBins { bins, known, .. } = division;
        let means: Vec<Option<f64>> = known.iter().map(Bin::mean).collect();
        let shares = shares(bins, &means);
        let means = interpolate_missing(&means, &bins.centres()).0?;
        let values = accumulated(bins.limits(), &means);
        let of_mean = |(bin, ends): (&Bin, &_)| bin.noise_of_mean() * leverage(*ends);
        let rising = Rising::new(self.reference.iter().zip(&values).map(|(r, value)| r - value));
        let gradient = |(bin, ends): (&Bin, &_)| rising.along(*ends) / bin.moments.weight.max(1.0);
        Some(Accumulated {
            variance: known.iter().zip(&shares).map(of_mean).sum(),
            gradient: known.iter().zip(&shares).map(gradient).collect(),
            values,
        })
    }

    /// The spread in candidate bins; none where no bin has two instances.
    pub(super) fn spread(&self, division: &CandidateBins<'_>) -> Option<Spread> {
        self.spread_in(division.bins, &division.known)
    }

    /// The spread shared along stretches of candidate bins; none where no bin has two instances.
    pub(super) fn spread_along(
        &self,
        stretches: &Partition,
        division: &CandidateBins<'_>,
    ) -> Option<Spread> {
        interrupt::check();
        let centres = division.bins.centres();
        let mut of_bins = vec![0; centres.len()];
        stretches.locate_all(&centres, &mut of_bins);
        let mut known = vec![Bin::default(); stretches.bins()];
        for (bin, &k) in division.known.iter().zip(&of_bins) {
            if let Some(stretch) = known.get_mut(k as usize) {
                stretch.join(bin);
            }
        }
        let shared = self.spread_in(stretches, &known)?;
        let of_stretch = |&k: &u32| shared.deviations.get(k as usize).copied().unwrap_or(f64::NAN);
        Some(Spread { deviations: of_bins.iter().map(of_stretch).collect(), ..shared })
    }

    fn spread_in(&self, bins: &Partition, known: &[Bin]) -> Option<Spread> {
        let variances: Vec<Option<f64>> = known.iter().map(Bin::variance).collect();
        let shares = shares(bins, &variances);
        let variances = interpolate_missing(&variances, &bins.centres()).0?;
        let [mut variance, mut covariance] = [0.0; 2];
        for (bin, (from, to)) in known.iter().zip(shares) {
            let of_bin = (to - from) * bin.noise_of_spread(self.excess);
            variance += of_bin;
            covariance += of_bin * bin.share_of_degrees();
        }
        let deviations = variances.into_iter().map(f64::sqrt).collect();
        Some(Spread { deviations, variance, covariance })
    }

    /// By how much the mean squared error of the curve is smaller with some bins than with others.
    ///
    /// Errors are estimated in the manner of Mallows (1973): the squared distance from an estimate
    /// with hardly any bias, and twice the covariance with it. That estimate is the integral of the lines
    /// between cells, and the covariance is the variance of the curve itself. The standard error is that of
    /// a smooth function of the local effects, on which both curves depend and the integral.
    pub(super) fn gain_of_curve(
        &self,
        of: (&CandidateBins<'_>, &Accumulated),
        over: (&CandidateBins<'_>, &Accumulated),
    ) -> Gain {
        interrupt::check();
        let square = |x: f64| x * x;
        let both = of.1.values.iter().zip(&over.1.values);
        let change: Vec<f64> = both.clone().map(|(a, b)| a - b).collect();
        let each = both.zip(&self.reference);
        let distance: f64 = each.map(|((a, b), r)| square(b - r) - square(a - r)).sum();
        // The reference is the sum of the local effects below; a cell counts with what is above it.
        let edges = self.cells.limits();
        let (lo, length) = (edges[0], edges[edges.len() - 1] - edges[0]);
        let (mut above, mut place) = (0.0, PLACES);
        let mut variance = 0.0;
        for j in (0..self.places.len()).rev() {
            let share = (self.places[j] - lo) / length;
            while place > 0 && (place - 1) as f64 >= share * (PLACES - 1) as f64 {
                place -= 1;
                above += change[place];
            }
            let width = (edges[j + 1] - edges[j]) / length;
            let weight = self.moments[j].weight;
            let gradient = |(division, curve): (&CandidateBins<'_>, &Accumulated)| {
                curve
                    .gradient
                    .get(division.of_cells[j] as usize)
                    .map_or(0.0, |slope| weight * slope)
            };
            let slope = width * above + gradient(of) - gradient(over);
            variance += square(slope) * self.noise_nearby[j] / weight;
        }
        Gain {
            mean: distance / PLACES as f64 + 2.0 * (over.1.variance - of.1.variance),
            se: 2.0 * variance.sqrt() / PLACES as f64,
        }
    }

    /// By how much the mean squared error of the spread is smaller.
    ///
    /// As for the curve, beside the standard deviation of the noise around each cell. The covariance is the
    /// variance of the spread, or less in bins that are narrower than what is around.
    pub(super) fn gain_of_spread(
        &self,
        of: (&CandidateBins<'_>, &Spread),
        over: (&CandidateBins<'_>, &Spread),
    ) -> Gain {
        interrupt::check();
        let edges = self.cells.limits();
        let length = edges[edges.len() - 1] - edges[0];
        let at = |(division, spread): (&CandidateBins<'_>, &Spread), j: usize| {
            let bin = division.of_cells[j] as usize;
            spread.deviations.get(bin).copied().unwrap_or(f64::NAN)
        };
        let mut distance = 0.0;
        // By how much the distance changes with the relative square of the noise in each cell, as steps
        // from cell to cell.
        let mut steps = vec![0.0; self.squares.len() + 1];
        for (j, deviation) in self.deviations.iter().enumerate() {
            let share = (edges[j + 1] - edges[j]) / length;
            let (a, b) = (at(of, j), at(over, j));
            distance += share * (b - a) * (a + b - 2.0 * deviation.mean);
            let slope = share * (b - a) * deviation.mean / deviation.degrees.max(1.0);
            steps[deviation.cells.start] += slope;
            steps[deviation.cells.end] -= slope;
        }
        let (mut slope, mut variance) = (0.0, 0.0);
        for (step, (_, degrees)) in steps.iter().zip(&self.squares) {
            slope += step;
            variance += slope * slope * (2.0 + self.excess) * degrees;
        }
        Gain { mean: distance + 2.0 * (over.1.covariance - of.1.covariance), se: variance.sqrt() }
    }
}

/// Moments and noise of a bin, or of several together.
#[derive(Clone, Copy, Default)]
pub(super) struct Bin {
    /// Of several bins with the squares within these.
    moments: Moments,
    /// Degrees of freedom that the means take: one for each bin with instances.
    lost: f64,
    /// The sums of the noise variances of its instances, from many instances around and from the nearest.
    noise: f64,
    noise_nearby: f64,
    /// The sum over its instances of the degrees of freedom around each.
    degrees: f64,
}

impl Bin {
    /// The mean local effect.
    fn mean(&self) -> Option<f64> {
        (!self.moments.is_empty()).then_some(self.moments.mean)
    }

    fn noise_of_mean(&self) -> f64 {
        self.noise_nearby / self.moments.weight.max(1.0).powi(2)
    }

    /// Its weight over the degrees of freedom around its instances, if these are more.
    fn share_of_degrees(&self) -> f64 {
        let weight = self.moments.weight;
        if self.degrees > weight * weight { weight * weight / self.degrees } else { 1.0 }
    }

    /// The variance within the bins.
    fn variance(&self) -> Option<f64> {
        let degrees = self.moments.weight - self.lost;
        (degrees > 0.0).then(|| self.moments.squares / degrees)
    }

    /// Joins a bin with a mean of its own.
    fn join(&mut self, bin: &Self) {
        self.moments.weight += bin.moments.weight;
        self.moments.squares += bin.moments.squares;
        self.lost += bin.lost;
        self.noise += bin.noise;
        self.noise_nearby += bin.noise_nearby;
        self.degrees += bin.degrees;
    }

    fn noise_of_spread(&self, excess: f64) -> f64 {
        let known = (self.moments.weight - self.lost + 1.0).max(1.5);
        let in_estimate = 2.0 + excess + 2.0 / (known - 1.0).max(1.0);
        self.noise * in_estimate / (4.0 * known * self.moments.weight.max(1.5))
    }
}

/// The fourth moment of the noise over the square of the second, less 3: 0 for normal noise. The sum of
/// squares of a cell, in units of the variance, has a variance of 2 + excess for each degree of freedom.
fn excess(squares: &[Squares], noise: &[f64]) -> f64 {
    let (mut sum, mut all, mut count) = (0.0, 0.0, 0_usize);
    for ((square, degrees), noise) in squares.iter().zip(noise) {
        if *degrees > 0.0 {
            sum += (square / noise - degrees).powi(2) - 2.0 * degrees;
            all += degrees;
            count += 1;
        }
    }
    if count < FOR_KURTOSIS { 0.0 } else { (sum / all).clamp(EXCESSES.0, EXCESSES.1) }
}

/// From where to where the value of each bin counts, as shares of the axis: a bin without one leaves its
/// own stretch to the next ones on both sides that have one, which it is interpolated from.
fn shares(bins: &Partition, values: &[Option<f64>]) -> Vec<(f64, f64)> {
    let limits = bins.limits();
    let (lo, length) = (limits[0], limits[limits.len() - 1] - limits[0]);
    let share = |ends: &[f64]| ((ends[0] - lo) / length, (ends[1] - lo) / length);
    let mut all: Vec<(f64, f64)> = limits.windows(2).map(share).collect();
    let mut last = None;
    for k in 0..all.len() {
        if values[k].is_none() {
            continue;
        }
        let begin = last.map_or(0.0, |last: usize| 0.5 * (all[last].1 + all[k].0));
        if let Some(last) = last {
            all[last].1 = begin;
        }
        all[k].0 = begin;
        last = Some(k);
    }
    if let Some(last) = last {
        all[last].1 = 1.0;
    }
    for (ends, value) in all.iter_mut().zip(values) {
        if value.is_none() {
            ends.1 = ends.0;
        }
    }
    all
}

/// Leverage of the slope in a bin on the curve at a place taken at random, less its mean along the axis: the
/// variance of a ramp from 0 that rises with slope 1 between the ends of the bin.
fn leverage((from, to): (f64, f64)) -> f64 {
    let (width, rest) = (to - from, 1.0 - to);
    let mean = width * (0.5 * width + rest);
    let square = width * width * (width / 3.0 + rest);
    (square - mean * mean).max(0.0)
}

/// Sums of some numbers at equally spaced places times a curve that rises along some part of the axis only.
struct Rising {
    /// From each place on: sums of the numbers, and of the numbers times the place.
    sums: Vec<[f64; 2]>,
}

impl Rising {
    fn new(numbers: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator) -> Self {
        let mut sums = vec![[0.0; 2]; numbers.len() + 1];
        for (place, number) in numbers.enumerate().rev() {
            let x = place as f64 / (PLACES - 1) as f64;
            sums[place] = [sums[place + 1][0] + number, sums[place + 1][1] + number * x];
        }
        Self { sums }
    }

    /// With slope 1 between two shares of the axis.
    fn along(&self, (from, to): (f64, f64)) -> f64 {
        let first = |share: f64| (share * (PLACES - 1) as f64).ceil() as usize;
        let [rising, level] = [from, to].map(|share| self.sums[first(share).min(PLACES)]);
        (rising[1] - level[1]) - from * (rising[0] - level[0]) + (to - from) * level[0]
    }
}

/// The accumulated curve at equally spaced places less its mean over them, with the axis as the unit.
fn accumulated(limits: &[f64], slopes: &[f64]) -> Vec<f64> {
    let (lo, length) = (limits[0], limits[limits.len() - 1] - limits[0]);
    let (mut bin, mut before) = (0, 0.0);
    let at = |place: usize| {
        let x = lo + length * (place as f64 / (PLACES - 1) as f64);
        while bin + 1 < slopes.len() && limits[bin + 1] <= x {
            before += slopes[bin] * (limits[bin + 1] - limits[bin]) / length;
            bin += 1;
        }
        before + slopes[bin] * (x - limits[bin]) / length
    };
    centred((0..PLACES).map(at).collect())
}

/// The integral of the lines between slopes at some places, level before the first and behind the last
/// of them; where, in what units and how centred as [`accumulated`].
fn integrated(limits: &[f64], places: &[f64], slopes: &[f64]) -> Vec<f64> {
    let (lo, length) = (limits[0], limits[limits.len() - 1] - limits[0]);
    let last = places.len() - 1;
    let (mut next, mut before) = (0, 0.0);
    // The place and the slope that the line up to the next place begins with.
    let (mut from, mut slope) = (lo, slopes[0]);
    let at = |place: usize| {
        let x = lo + length * (place as f64 / (PLACES - 1) as f64);
        while next <= last && places[next] <= x {
            before += 0.5 * (slope + slopes[next]) * (places[next] - from) / length;
            (from, slope) = (places[next], slopes[next]);
            next += 1;
        }
        let rise = places.get(next).map_or(0.0, |place| (slopes[next] - slope) / (place - from));
        before + (slope + 0.5 * rise * (x - from)) * (x - from) / length
    };
    centred((0..PLACES).map(at).collect())
}

fn centred(mut curve: Vec<f64>) -> Vec<f64> {
    let mean = curve.iter().sum::<f64>() / curve.len() as f64;
    curve.iter_mut().for_each(|value| *value -= mean);
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::partition::Closed;

    /// The curve of one bin with slope 1 between its ends and 0 elsewhere, over a fine grid.
    #[test]
    fn leverage_is_the_variance_of_a_ramp() {
        for (from, to) in [(0.0, 1.0), (0.0, 0.25), (0.4, 0.5), (0.9, 1.0)] {
            let places = (0..10_000).map(|i| (f64::from(i) + 0.5) / 10_000.0);
            let ramp: Vec<f64> = places.map(|x| x.clamp(from, to) - from).collect();
            let moments = Moments::of(&ramp);
            assert!((leverage((from, to)) - moments.squares / 10_000.0).abs() < 1e-7);
        }
    }

    #[test]
    fn curves_are_accumulated_and_centred() {
        let curve = accumulated(&[2.0, 3.0, 6.0], &[4.0, -4.0]);
        let slope = |place: usize| (curve[place + 1] - curve[place]) * (PLACES - 1) as f64;
        assert!((slope(0) - 4.0).abs() < 1e-9 && (slope(PLACES - 2) + 4.0).abs() < 1e-9);
        assert!(curve.iter().sum::<f64>().abs() < 1e-9);
    }

    /// The slope 2 x between 1 and 3, seen at a few places: the curve is x² there.
    #[test]
    fn lines_between_slopes_are_integrated() {
        let places = [1.0, 1.4, 2.0, 2.9, 3.0];
        let curve = integrated(&[1.0, 3.0], &places, &places.map(|x| 2.0 * x));
        let x = |place: usize| 1.0 + 2.0 * place as f64 / (PLACES - 1) as f64;
        let squares = centred((0..PLACES).map(|place| x(place).powi(2) / 2.0).collect());
        assert!(curve.iter().zip(&squares).all(|(a, b)| (a - b).abs() < 1e-12));
        let level = integrated(&[0.0, 10.0], &[4.0, 6.0], &[1.0, 3.0]);
        let slope = |place: usize| (level[place + 1] - level[place]) * (PLACES - 1) as f64;
        assert!((slope(0) - 1.0).abs() < 1e-9 && (slope(PLACES - 2) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_bin_without_a_value_counts_for_its_neighbours() {
        let bins = Partition::new((0..=8).map(f64::from).collect(), Closed::Left).unwrap();
        let known = |missing: &[usize]| -> Vec<(f64, f64)> {
            let value = |k: usize| (!missing.contains(&k)).then_some(1.0);
            let all = shares(&bins, &(0..8).map(value).collect::<Vec<_>>());
            assert!(missing.iter().all(|&k| all[k].0 == all[k].1));
            all.into_iter()
                .enumerate()
                .filter(|(k, _)| !missing.contains(k))
                .map(|(_, e)| e)
                .collect()
        };
        assert_eq!(known(&[0, 3, 4, 6, 7]), [(0.0, 0.25), (0.25, 0.5), (0.5, 1.0)]);
        for missing in [vec![], vec![0], vec![7], vec![2, 5], (1..8).collect()] {
            let ends = known(&missing);
            assert!(ends[0].0 == 0.0 && ends[ends.len() - 1].1 == 1.0);
            assert!(ends.windows(2).all(|pair| pair[0].1 == pair[1].0));
        }
        assert_eq!(shares(&bins, &[None; 8]).iter().map(|ends| ends.1 - ends.0).sum::<f64>(), 0.0);
    }

    #[test]
    fn sums_times_a_rising_curve_are_those_of_all_places() {
        let number = |place: usize| (3.0 * place as f64).sin() + 0.2;
        let rising = Rising::new((0..PLACES).map(number));
        for (from, to) in [(0.0, 1.0), (0.0, 0.0), (0.31, 0.33), (0.5, 0.5001), (0.97, 1.0)] {
            let x = |place: usize| place as f64 / (PLACES - 1) as f64;
            let each = (0..PLACES).map(|place| number(place) * (x(place).clamp(from, to) - from));
            assert!((rising.along((from, to)) - each.sum::<f64>()).abs() < 1e-10);
        }
    }

    /// Of a trend with normal noise, seen a thousand times: some bins that are too wide beside others.
    #[test]
    fn standard_errors_are_those_of_repeated_samples() {
        let cells = Partition::new((0..=300).map(f64::from).collect(), Closed::Left).unwrap();
        let places: Vec<f64> = (0..300).map(|j| f64::from(j) + 0.5).collect();
        let [few, many] = [60, 6].map(|size| cells.keeping(|limit| limit % size == 0));
        let mut noise = (0..).map(normal);
        let mut sample = || {
            let trend = |j: usize| (0.02 * j as f64).sin();
            let moments: Vec<Moments> =
                (0..300).map(|j| Moments::of(&[trend(j) + noise.next().unwrap_or(0.0)])).collect();
            let squares = vec![(1.0, 1.0); 300];
            let risk = RiskEstimator::new(&cells, &places, &moments, squares, &[0, 300], 1e-9);
            let [few, many] = [&few, &many].map(|bins| risk.divide(bins));
            let [of_few, of_many] = [&few, &many].map(|bins| risk.curve(bins).unwrap());
            risk.gain_of_curve((&many, &of_many), (&few, &of_few))
        };
        let gains: Vec<Gain> = (0..1000).map(|_| sample()).collect();
        let spread = Moments::of(&gains.iter().map(|gain| gain.mean).collect::<Vec<_>>());
        let expected = (spread.squares / 999.0).sqrt();
        let estimated = gains.iter().map(|gain| gain.se).sum::<f64>() / 1000.0;
        assert!((0.9..1.15).contains(&(estimated / expected)), "{estimated} {expected}");
    }

    /// Four bins of two cells each under a trend, and all of them as one stretch.
    #[test]
    fn a_stretch_has_the_variance_within_its_bins() {
        let limits: Vec<f64> = (0..=8).map(f64::from).collect();
        let cells = Partition::new(limits, Closed::Left).unwrap();
        let places: Vec<f64> = (0..8).map(|j| f64::from(j) + 0.5).collect();
        let values =
            |j: usize| [-1.0, 0.5, 2.0, -0.5].map(|e| 10.0 * j as f64 + e * (1 + j) as f64);
        let moments: Vec<Moments> = (0..8).map(|j| Moments::of(&values(j))).collect();
        let squares: Vec<Squares> = moments.iter().map(|cell| (cell.squares, 3.0)).collect();
        let risk = RiskEstimator::new(&cells, &places, &moments, squares, &[0, 8], 1e-9);
        let bins = cells.keeping(|limit| limit % 2 == 0);
        let division = risk.divide(&bins);
        let stretch = cells.keeping(|_| false);
        let shared = risk.spread_along(&stretch, &division).unwrap();
        let pairs = moments.chunks(2).map(|pair| pair[0].merge(pair[1]).squares);
        let expected = pairs.sum::<f64>() / (32.0 - 4.0);
        let is_shared = |deviation: &f64| (deviation * deviation / expected - 1.0).abs() < 1e-12;
        assert!(shared.deviations.len() == 4 && shared.deviations.iter().all(is_shared));
        // What all instances know together is known better than what those of one bin know.
        let own = risk.spread_along(&bins, &division).unwrap();
        assert!(shared.variance < own.variance / 3.0, "{} {}", shared.variance, own.variance);
    }

    /// Nine cells of unlike widths with instances of unlike numbers and spreads.
    fn uneven() -> (Partition, Vec<f64>, Vec<Moments>, Vec<Squares>) {
        let limits = vec![0.0, 1.0, 1.7, 3.1, 4.0, 4.9, 6.2, 7.0, 8.3, 9.0];
        let cells = Partition::new(limits, Closed::Left).unwrap();
        let places = vec![0.43, 1.4, 2.3, 3.6, 4.3, 5.7, 6.6, 7.7, 8.7];
        let moments = |j: usize| Moments {
            weight: (2 + j % 3) as f64,
            mean: (1.7 * j as f64).sin(),
            squares: 3.0 + (j * j % 5) as f64,
        };
        let moments: Vec<Moments> = (0..9).map(moments).collect();
        // Noise of variance 4 everywhere.
        let squares = moments.iter().map(|cell| (4.0 * cell.weight, cell.weight)).collect();
        (cells, places, moments, squares)
    }

    fn estimator<'a>(
        cells: &'a Partition,
        places: &'a [f64],
        moments: &'a [Moments],
        squares: &[Squares],
    ) -> RiskEstimator<'a> {
        RiskEstimator::new(cells, places, moments, squares.to_vec(), &[0, 9], 1e-9)
    }

    /// The mean squared distances from the reference are smooth functions of the local effects: their change
    /// with the mean of each cell is found by moving it. The reference alone counts as a sum of steps.
    #[test]
    fn the_standard_error_of_a_gain_of_the_curve_is_that_of_a_smooth_function() {
        let (cells, places, moments, squares) = uneven();
        let bins = [cells.keeping(|limit| limit % 2 == 0), cells.keeping(|limit| limit == 4)];
        let risk = estimator(&cells, &places, &moments, &squares);
        let divisions = bins.each_ref().map(|bins| risk.divide(bins));
        let curves = divisions.each_ref().map(|division| risk.curve(division).unwrap());
        let gain = risk.gain_of_curve((&divisions[0], &curves[0]), (&divisions[1], &curves[1]));
        let mut variance = 0.0;
        for j in 0..9 {
            let mut moved = moments.clone();
            moved[j].mean += 1.0;
            let moved = estimator(&cells, &places, &moved, &squares);
            let change = |k: usize, place: usize| {
                let now = moved.curve(&moved.divide(&bins[k])).unwrap().values[place];
                (risk.reference[place] - curves[k].values[place]) * (now - curves[k].values[place])
            };
            let width = (cells.limits()[j + 1] - cells.limits()[j]) / 9.0;
            let of_place = |place: usize| {
                let is_above = place as f64 / (PLACES - 1) as f64 >= places[j] / 9.0;
                let apart = curves[0].values[place] - curves[1].values[place];
                change(0, place) - change(1, place) + if is_above { width * apart } else { 0.0 }
            };
            let slope = 2.0 * (0..PLACES).map(of_place).sum::<f64>() / PLACES as f64;
            variance += slope * slope * 4.0 / moments[j].weight;
        }
        assert!((gain.se / variance.sqrt() - 1.0).abs() < 1e-9, "{} {}", gain.se, variance.sqrt());
    }

    /// The distance of the spread from the deviations around, moved square by square.
    #[test]
    fn the_standard_error_of_a_gain_of_the_spread_is_that_of_a_smooth_function() {
        let (cells, places, moments, squares) = uneven();
        let bins = [cells.keeping(|limit| limit % 2 == 0), cells.keeping(|limit| limit == 4)];
        let gain_with = |squares: &[Squares]| {
            let risk =
                RiskEstimator::new(&cells, &places, &moments, squares.to_vec(), &[0, 9], 1e-9);
            let divisions = bins.each_ref().map(|bins| risk.divide(bins));
            let spreads = divisions.each_ref().map(|division| risk.spread(division).unwrap());
            let [of, over] = [0, 1].map(|k| (&divisions[k], &spreads[k]));
            let noise = 2.0 * (over.1.covariance - of.1.covariance);
            let gain = risk.gain_of_spread(of, over);
            (gain.mean - noise, gain.se)
        };
        let mut variance = 0.0;
        for (j, (_, degrees)) in squares.iter().enumerate() {
            let moved = |by: f64| {
                let mut squares = squares.clone();
                squares[j].0 += 4.0 * by;
                gain_with(&squares).0
            };
            // Few cells: the noise counts as normal, and a sum of squares varies by twice its degrees.
            let slope = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            variance += slope * slope * 2.0 * degrees;
        }
        let se = gain_with(&squares).1;
        // Of the central difference the third derivative is left, a millionth.
        assert!((se / variance.sqrt() - 1.0).abs() < 1e-5, "{se} {}", variance.sqrt());
    }

    /// Of normal noise of variance 4: a standard deviation of n instances varies by 4 / (2 (n − 1)).
    #[test]
    fn the_spread_in_a_bin_varies_as_a_standard_deviation_does() {
        let (cells, places, moments, squares) = uneven();
        let risk = RiskEstimator::new(&cells, &places, &moments, squares, &[0, 9], 1e-9);
        let bins = cells.keeping(|limit| limit == 4);
        let spread = risk.spread(&risk.divide(&bins)).unwrap();
        let count = |cells: &[Moments]| cells.iter().map(|cell| cell.weight).sum::<f64>();
        let of_bin = |cells: &[Moments]| 4.0 / (2.0 * (count(cells) - 1.0));
        let known = (4.0 * of_bin(&moments[..4]) + 5.0 * of_bin(&moments[4..])) / 9.0;
        assert!((spread.variance / known - 1.0).abs() < 1e-12, "{} {known}", spread.variance);
    }

    /// Uniform numbers between 0 and 1 (Steele, Lea and Flood 2014).
    fn uniform(j: usize) -> f64 {
        let mut state = (j as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((state ^ (state >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal numbers.
    fn normal(j: usize) -> f64 {
        (12 * j..12 * j + 12).map(uniform).sum::<f64>() - 6.0
    }

    /// For noise that is c or −c, and for normal noise, in cells of one instance and of five.
    #[test]
    fn excess_tells_kinds_of_noise_apart() {
        let two_valued = |j: usize| if uniform(j) < 0.5 { 1.0 } else { -1.0 };
        let laplace = |j: usize| (1.0 - uniform(3 * j)).ln() * two_valued(3 * j + 1);
        let excess_of = |noise: &dyn Fn(usize) -> f64, size: usize| {
            let cell = |j: usize| {
                let squares = (j * size..(j + 1) * size).map(|i| noise(i).powi(2));
                (squares.sum::<f64>(), size as f64)
            };
            let squares: Vec<Squares> = (0..20_000).map(cell).collect();
            let variance = squares.iter().map(|s| s.0).sum::<f64>() / (20_000.0 * size as f64);
            excess(&squares, &vec![variance; 20_000])
        };
        for size in [1, 5] {
            let [two, bell, heavy] = [&two_valued as &dyn Fn(usize) -> f64, &normal, &laplace]
                .map(|noise| excess_of(noise, size));
            assert!((two - EXCESSES.0).abs() < 1e-12, "{two}");
            // Twelve uniform numbers have −0.1.
            assert!((-0.3..0.1).contains(&bell), "{bell}");
            assert!((2.0..4.0).contains(&heavy), "{heavy}");
        }
    }
}
