//! Estimated errors of bins: of the curve that is accumulated over them, and of the spread in them.

use super::segmentation::{DEGREES, FEWEST_DEGREES, Pooled, Squares};
use crate::heterogeneity::interpolate_missing;
use crate::partition::Partition;
use crate::statistics::Moments;

/// Places on the axis at which curves are compared.
const PLACES: usize = 100;
/// Cells from which the fourth moment of the noise is estimated; with fewer it is that of normal noise.
const FOR_KURTOSIS: usize = 20;
/// Excesses of the fourth moment that are believed. Two values of equal probability have −2, and
/// nothing has less.
const EXCESSES: (f64, f64) = (-2.0, 9.0);

/// What bins make of the local effects.
pub(super) struct Fit {
    /// The accumulated curve at equally spaced places.
    curve: Vec<f64>,
    /// Mean variance of the curve along the axis.
    pub(super) curve_variance: f64,
    pub(super) spread: Spread,
}

/// What bins, or stretches of them, make of the spread of local effects.
pub(super) struct Spread {
    /// The variance of the local effects in each cell.
    of_cells: Vec<f64>,
    /// Mean variance of the standard deviation along the axis.
    pub(super) variance: f64,
    /// Mean covariance of the standard deviation with the one from the instances around.
    covariance: f64,
}

/// By how much an estimated error is smaller, and the standard error of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gain {
    mean: f64,
    se: f64,
}

impl Gain {
    /// What is left of it after so many standard errors.
    pub(super) fn less(self, errors: f64) -> f64 {
        self.mean - errors * self.se
    }
}

/// What is known of the local effects, as far as it does not depend on bins.
pub(super) struct Judge<'a> {
    cells: &'a Partition,
    places: &'a [f64],
    moments: &'a [Moments],
    /// Squares of the noise in each cell.
    squares: Vec<Squares>,
    /// Noise variance of an instance in each cell, from many instances around.
    noise: Vec<f64>,
    /// Standard deviation of the noise in each cell, from fewer instances around.
    deviations: Vec<Pooled>,
    /// The fourth moment of the noise over the square of the second, less 3.
    excess: f64,
    /// The integral of the lines between the means of the cells, which has hardly any bias.
    reference: Vec<f64>,
}

impl<'a> Judge<'a> {
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
        let noise = Pooled::all(&squares, floor, DEGREES, pieces);
        let noise: Vec<f64> = noise.into_iter().map(|around| around.mean).collect();
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
        Self { cells, places, moments, squares, noise, deviations, excess, reference }
    }

    /// What bins make of the local effects; none where no bin has two instances.
    pub(super) fn fit(&self, bins: &Partition) -> Option<Fit> {
        let summaries = self.summaries(bins);
        let mean = |bin: &Bin| (!bin.moments.is_empty()).then_some(bin.moments.mean);
        let means: Vec<Option<f64>> = summaries.iter().map(mean).collect();
        let means = interpolate_missing(&means, &bins.centres()).0?;
        let of_mean = |(bin, ends): (&Bin, _)| bin.noise_of_mean() * leverage(ends);
        Some(Fit {
            curve: accumulated(bins.limits(), &means),
            curve_variance: summaries.iter().zip(shares(bins)).map(of_mean).sum(),
            spread: self.spread(bins, &summaries)?,
        })
    }

    /// What stretches of bins make of the spread within the bins; none where no bin has two instances.
    pub(super) fn spread_along(
        &self,
        stretches: &Partition,
        bins: &Partition,
        summaries: &[Bin],
    ) -> Option<Spread> {
        let mut all = vec![Bin::default(); stretches.bins()];
        for (bin, centre) in summaries.iter().zip(bins.centres()) {
            if let Some(stretch) = stretches.locate(centre).and_then(|k| all.get_mut(k)) {
                stretch.join(bin);
            }
        }
        self.spread(stretches, &all)
    }

    /// What bins make of the spread.
    fn spread(&self, bins: &Partition, summaries: &[Bin]) -> Option<Spread> {
        let variances: Vec<Option<f64>> = summaries.iter().map(Bin::variance).collect();
        let variances = interpolate_missing(&variances, &bins.centres()).0?;
        let [mut variance, mut covariance] = [0.0; 2];
        for (bin, (from, to)) in summaries.iter().zip(shares(bins)) {
            let of_bin = (to - from) * bin.noise_of_spread(self.excess);
            variance += of_bin;
            covariance += of_bin * bin.share_of_degrees();
        }
        let variance_at = |&place: &f64| bins.locate(place).map_or(f64::NAN, |bin| variances[bin]);
        let of_cells = self.places.iter().map(variance_at).collect();
        Some(Spread { of_cells, variance, covariance })
    }

    /// By how much the mean squared errors of the curve and of the spread are smaller with other bins.
    ///
    /// Errors are estimated in the manner of Mallows (1973): the squared distance from an estimate
    /// with hardly any bias, and twice the covariance with it. For the curve that estimate is the
    /// integral of the lines between cells, and the covariance is the variance of the curve itself.
    /// For the spread it is the standard deviation of the noise around each cell; the covariance is the
    /// variance of the spread, or less in bins that are narrower than what is around.
    pub(super) fn gains(&self, of: &Fit, over: &Fit) -> [Gain; 2] {
        [self.gain_of_curve(of, over), self.gain_of_spread(&of.spread, &over.spread)]
    }

    fn gain_of_curve(&self, of: &Fit, over: &Fit) -> Gain {
        let square = |x: f64| x * x;
        let change: Vec<f64> = of.curve.iter().zip(&over.curve).map(|(a, b)| a - b).collect();
        let each = of.curve.iter().zip(&over.curve).zip(&self.reference);
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
            variance += square(width * above) * self.noise[j] / self.moments[j].weight;
        }
        Gain {
            mean: distance / PLACES as f64 + 2.0 * (over.curve_variance - of.curve_variance),
            se: 2.0 * variance.sqrt() / PLACES as f64,
        }
    }

    /// By how much the mean squared error of the spread is smaller.
    pub(super) fn gain_of_spread(&self, of: &Spread, over: &Spread) -> Gain {
        let edges = self.cells.limits();
        let length = edges[edges.len() - 1] - edges[0];
        let mut distance = 0.0;
        // By how much the distance changes with the relative square of the noise in each cell, as steps
        // from cell to cell.
        let mut steps = vec![0.0; self.squares.len() + 1];
        for (j, deviation) in self.deviations.iter().enumerate() {
            let share = (edges[j + 1] - edges[j]) / length;
            let (a, b) = (of.of_cells[j].sqrt(), over.of_cells[j].sqrt());
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
        Gain { mean: distance + 2.0 * (over.covariance - of.covariance), se: variance.sqrt() }
    }

    /// What is known of each bin.
    pub(super) fn summaries(&self, bins: &Partition) -> Vec<Bin> {
        let mut all = vec![Bin::default(); bins.bins()];
        for (j, &place) in self.places.iter().enumerate() {
            if let Some(bin) = bins.locate(place).and_then(|bin| all.get_mut(bin)) {
                bin.moments = bin.moments.merge(self.moments[j]);
                bin.lost = 1.0;
                bin.noise += self.moments[j].weight * self.noise[j];
                bin.degrees += self.moments[j].weight * self.deviations[j].degrees;
            }
        }
        all
    }
}

/// What is known of a bin, or of several together.
#[derive(Clone, Copy, Default)]
pub(super) struct Bin {
    /// Of several bins with the squares within these.
    moments: Moments,
    /// Degrees of freedom that the means take: one for each bin with instances.
    lost: f64,
    /// The sum of the noise variances of its instances.
    noise: f64,
    /// The sum over its instances of the degrees of freedom around each.
    degrees: f64,
}

impl Bin {
    fn noise_of_mean(&self) -> f64 {
        self.noise / self.moments.weight.max(1.0).powi(2)
    }

    /// Its weight over the degrees of freedom around its instances, if these are more.
    fn share_of_degrees(&self) -> f64 {
        let weight = self.moments.weight;
        if self.degrees > weight * weight { weight * weight / self.degrees } else { 1.0 }
    }

    /// The variance within the bins.
    fn variance(&self) -> Option<f64> {
        let degrees = self.moments.weight - self.lost;
        (self.moments.weight > 1.0 && degrees > 0.0).then(|| self.moments.squares / degrees)
    }

    /// Joins a bin with a mean of its own.
    fn join(&mut self, bin: &Self) {
        self.moments.weight += bin.moments.weight;
        self.moments.squares += bin.moments.squares;
        self.lost += bin.lost;
        self.noise += bin.noise;
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

/// Where bins begin and end, as shares of the axis.
fn shares(bins: &Partition) -> Vec<(f64, f64)> {
    let limits = bins.limits();
    let (lo, length) = (limits[0], limits[limits.len() - 1] - limits[0]);
    limits.windows(2).map(|ends| ((ends[0] - lo) / length, (ends[1] - lo) / length)).collect()
}

/// What the curve at a place taken at random, less its mean along the axis, has to do with the slope in
/// a bin: the variance of a ramp from 0 that rises with slope 1 between the ends of the bin.
fn leverage((from, to): (f64, f64)) -> f64 {
    let (width, rest) = (to - from, 1.0 - to);
    let mean = width * (0.5 * width + rest);
    let square = width * width * (width / 3.0 + rest);
    (square - mean * mean).max(0.0)
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
        let rise = match places.get(next) {
            Some(place) if *place > from => (slopes[next] - slope) / (place - from),
            _ => 0.0,
        };
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
    use crate::partition::Closed;

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
        let judge = Judge::new(&cells, &places, &moments, squares, &[0, 8], 1e-9);
        let bins = cells.keeping(|limit| limit % 2 == 0);
        let summaries = judge.summaries(&bins);
        let stretch = cells.keeping(|_| false);
        let shared = judge.spread_along(&stretch, &bins, &summaries).unwrap();
        let pairs = moments.chunks(2).map(|pair| pair[0].merge(pair[1]).squares);
        let expected = pairs.sum::<f64>() / (32.0 - 4.0);
        assert!(shared.of_cells.iter().all(|variance| (variance / expected - 1.0).abs() < 1e-12));
        // What all instances know together is known better than what those of one bin know.
        let own = judge.spread_along(&bins, &bins, &summaries).unwrap();
        assert!(shared.variance < own.variance / 3.0, "{} {}", shared.variance, own.variance);
    }

    /// For noise that is c or −c, and for normal noise, in cells of one instance and of five.
    #[test]
    fn excess_tells_kinds_of_noise_apart() {
        let uniform = |j: usize| {
            // Steele, Lea and Flood (2014).
            let mut state = (j as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((state ^ (state >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let normal = |j: usize| (12 * j..12 * j + 12).map(uniform).sum::<f64>() - 6.0;
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
