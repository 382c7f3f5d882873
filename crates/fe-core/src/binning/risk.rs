//! Estimated errors of bins: of the curve that is accumulated over them, and of the spread in them.

use super::segmentation::Signal;
use crate::heterogeneity::interpolate_missing;
use crate::partition::Partition;
use crate::statistics::Moments;

/// Places on the axis at which curves are compared.
const PLACES: usize = 100;
/// Cells on either side over which the square of the noise is averaged.
const NEIGHBOURS: usize = 2;
/// Cells from which the fourth moment of the noise is estimated; with fewer it is that of normal noise.
const FOR_KURTOSIS: usize = 20;
/// Excesses of the fourth moment that are believed. Two values of equal probability have −2, and the
/// spread would be known for nothing: then one bin too many is taken now and then, and costs much.
const EXCESSES: (f64, f64) = (-1.0, 9.0);

/// What bins make of the local effects.
pub(super) struct Fit {
    /// The accumulated curve at equally spaced places.
    curve: Vec<f64>,
    /// The variance of the local effects in the bin of each cell.
    spread: Vec<f64>,
    /// Mean variance of the curve along the axis.
    pub(super) curve_variance: f64,
    /// Mean variance of the standard deviation along the axis.
    pub(super) spread_variance: f64,
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
    /// Noise variance of an instance in each cell, from many cells around.
    noise: &'a [f64],
    /// The same from few cells around, where there is one, and the degrees of freedom of each.
    squares: Vec<Option<(f64, f64)>>,
    /// The fourth moment of the noise over the square of the second, less 3.
    excess: f64,
    /// The curve over the cells themselves, which has hardly any bias.
    reference: Vec<f64>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        cells: &'a Partition,
        places: &'a [f64],
        moments: &'a [Moments],
        level: &'a Signal,
    ) -> Self {
        let means: Vec<f64> = moments.iter().map(|cell| cell.mean).collect();
        let squares = level.squares();
        let around = |j: usize| {
            let from = j.saturating_sub(NEIGHBOURS);
            let to = (j + NEIGHBOURS + 1).min(squares.len());
            let sum = squares[from..to].iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            (sum.1 > 0.0).then(|| (sum.0 / sum.1, sum.1 / (to - from) as f64))
        };
        Self {
            cells,
            places,
            moments,
            noise: level.noise(),
            squares: (0..squares.len()).map(around).collect(),
            excess: excess(squares, level.noise()),
            reference: accumulated(cells.limits(), &means),
        }
    }

    /// What bins make of the local effects; none where no bin has two instances.
    pub(super) fn fit(&self, bins: &Partition) -> Option<Fit> {
        let summaries = self.summaries(bins);
        let centres = bins.centres();
        let filled = |of: &dyn Fn(&Bin) -> Option<f64>| {
            let values: Vec<Option<f64>> = summaries.iter().map(of).collect();
            interpolate_missing(&values, &centres).0
        };
        let means = filled(&|bin| (!bin.moments.is_empty()).then_some(bin.moments.mean))?;
        let variances = filled(&|bin| bin.moments.variance(1.0))?;
        let (mut curve_variance, mut spread_variance) = (0.0, 0.0);
        for (bin, (from, to)) in summaries.iter().zip(shares(bins)) {
            curve_variance += bin.noise_of_mean() * leverage((from, to));
            spread_variance += (to - from) * bin.noise_of_spread(self.excess);
        }
        let variance_at = |&place: &f64| bins.locate(place).map_or(f64::NAN, |bin| variances[bin]);
        Some(Fit {
            curve: accumulated(bins.limits(), &means),
            spread: self.places.iter().map(variance_at).collect(),
            curve_variance,
            spread_variance,
        })
    }

    /// By how much the mean squared errors of the curve and of the spread are smaller with other bins.
    ///
    /// Errors are estimated in the manner of Mallows (1973): the squared distance from an estimate
    /// without bias, and twice the covariance with it. For the curve this is the variance of the
    /// curve itself. For the spread, distances are (σ̂² − σ²)²/(4 σ²), nearly (σ̂ − σ)².
    pub(super) fn gains(&self, of: &Fit, over: &Fit) -> [Gain; 2] {
        [self.gain_of_curve(of, over), self.gain_of_spread(of, over)]
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

    fn gain_of_spread(&self, of: &Fit, over: &Fit) -> Gain {
        let edges = self.cells.limits();
        let length = edges[edges.len() - 1] - edges[0];
        let (mut distance, mut variance) = (0.0, 0.0);
        for (j, square) in self.squares.iter().enumerate() {
            let Some((square, degrees)) = square else { continue };
            let share = (edges[j + 1] - edges[j]) / length / (4.0 * self.noise[j]);
            let (a, b) = (of.spread[j], over.spread[j]);
            distance += share * (b - a) * (a + b - 2.0 * square);
            // Squares of neighbouring second differences are correlated: half of them count.
            let own =
                2.0 * self.noise[j] * self.noise[j] * relative_variance(*degrees, self.excess);
            variance += 4.0 * share * share * (b - a) * (b - a) * own;
        }
        Gain {
            mean: distance + 2.0 * (over.spread_variance - of.spread_variance),
            se: variance.sqrt(),
        }
    }

    fn summaries(&self, bins: &Partition) -> Vec<Bin> {
        let mut all = vec![Bin::default(); bins.bins()];
        for (j, &place) in self.places.iter().enumerate() {
            if let Some(bin) = bins.locate(place).and_then(|bin| all.get_mut(bin)) {
                bin.moments = bin.moments.merge(self.moments[j]);
                bin.noise += self.moments[j].weight * self.noise[j];
            }
        }
        all
    }
}

/// What is known of a bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    moments: Moments,
    /// The sum of the noise variances of its instances.
    noise: f64,
}

impl Bin {
    fn noise_of_mean(&self) -> f64 {
        self.noise / self.moments.weight.max(1.0).powi(2)
    }

    fn noise_of_spread(&self, excess: f64) -> f64 {
        let weight = self.moments.weight.max(1.5);
        let in_estimate = 2.0 + excess + 2.0 / (weight - 1.0).max(1.0);
        self.noise * in_estimate / (4.0 * weight * weight)
    }
}

/// How much a cell of so many instances tells of the excess of their fourth moment: its sum of
/// squares, in units of their variance, has the variance 2 w + excess · this. There are w − 1 degrees
/// of freedom within the cell, and one in the deviation of its mean from the line between those beside.
fn share_of_excess(weight: f64) -> f64 {
    let within = weight - 1.0;
    (within * within + 4.0 / 3.0 * within + 0.5) / weight
}

/// The variance of a sum of squares over the square of its mean.
fn relative_variance(degrees: f64, excess: f64) -> f64 {
    let degrees = degrees.max(1.0);
    (2.0 * degrees + excess * share_of_excess(degrees)) / (degrees * degrees)
}

/// The fourth moment of the noise over the square of the second, less 3: 0 for normal noise.
fn excess(squares: &[(f64, f64)], noise: &[f64]) -> f64 {
    let (mut sum, mut shares, mut count) = (0.0, 0.0, 0_usize);
    for ((square, degrees), noise) in squares.iter().zip(noise) {
        if *degrees >= 1.0 {
            sum += (square / noise).powi(2) - degrees * degrees - 2.0 * degrees;
            shares += share_of_excess(*degrees);
            count += 1;
        }
    }
    if count < FOR_KURTOSIS { 0.0 } else { (sum / shares).clamp(EXCESSES.0, EXCESSES.1) }
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
    let mut curve: Vec<f64> = (0..PLACES).map(at).collect();
    let mean = curve.iter().sum::<f64>() / PLACES as f64;
    curve.iter_mut().for_each(|value| *value -= mean);
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let values: Vec<f64> = (j * size..(j + 1) * size).map(noise).collect();
                Moments::of(&values)
            };
            let squares = |j: usize| {
                let mean = |j: usize| cell(j).mean;
                let second = mean(j) - 0.5 * (mean(j - 1) + mean(j + 1));
                (cell(j).squares + second * second * size as f64 / 1.5, size as f64)
            };
            let squares: Vec<(f64, f64)> = (1..20_000).map(squares).collect();
            let variance = squares.iter().map(|s| s.0).sum::<f64>() / (19_999.0 * size as f64);
            excess(&squares, &vec![variance; 19_999])
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
