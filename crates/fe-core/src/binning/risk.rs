//! Estimated errors of bins: of the curve that is accumulated over them, and of the spread in them.

use super::segmentation::Signal;
use crate::heterogeneity::interpolate_missing;
use crate::partition::Partition;
use crate::statistics::Moments;

/// Places on the axis at which curves are compared.
const PLACES: usize = 100;
/// Cells on either side over which the square of the noise is averaged.
const NEIGHBOURS: usize = 2;
/// Cells of one instance from which the fourth moment of the noise is estimated.
const FOR_KURTOSIS: usize = 20;

/// An estimated mean squared error of bins: less a constant that is the same for all bins, and how
/// much of it is variance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Risk {
    pub(super) relative: f64,
    pub(super) variance: f64,
}

impl Risk {
    const INFINITE: Self = Self { relative: f64::INFINITY, variance: 0.0 };

    /// The error in units of that of the best bins.
    pub(super) fn over(self, best: Self) -> f64 {
        let excess = self.relative - best.relative;
        if excess <= 0.0 { 1.0 } else { (excess + best.variance) / best.variance }
    }
}

/// What is known of the local effects, as far as it does not depend on bins.
pub(super) struct Judge<'a> {
    cells: &'a Partition,
    places: &'a [f64],
    moments: &'a [Moments],
    /// Noise variance of an instance in each cell, from many cells around.
    noise: &'a [f64],
    /// The same from few cells around, where there is one.
    squares: Vec<Option<f64>>,
    /// The variance of a squared deviation over the square of its mean.
    dispersion: f64,
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
            (sum.1 > 0.0).then(|| sum.0 / sum.1)
        };
        Self {
            cells,
            places,
            moments,
            noise: level.noise(),
            squares: (0..squares.len()).map(around).collect(),
            dispersion: dispersion(squares, level.noise()),
            reference: accumulated(cells.limits(), &means),
        }
    }

    /// The errors of the curve and of the spread.
    ///
    /// Both are risks in the manner of Mallows (1973): the distance from an estimate without bias,
    /// and the covariance with it, `price` times. For the curve this covariance is the variance of the
    /// curve itself. For the spread, distances are (σ̂² − σ²)²/(4 σ²), nearly (σ̂ − σ)².
    pub(super) fn errors(&self, bins: &Partition, price: f64) -> [Risk; 2] {
        let summaries = self.summaries(bins);
        let centres = bins.centres();
        let filled = |of: &dyn Fn(&Bin) -> Option<f64>| {
            let values: Vec<Option<f64>> = summaries.iter().map(of).collect();
            interpolate_missing(&values, &centres).0
        };
        let means = filled(&|bin| (!bin.moments.is_empty()).then_some(bin.moments.mean));
        let variances = filled(&|bin| bin.moments.variance(1.0));
        let (Some(means), Some(variances)) = (means, variances) else {
            return [Risk::INFINITE; 2];
        };
        let curve = accumulated(bins.limits(), &means);
        let apart = curve.iter().zip(&self.reference).map(|(a, b)| (a - b) * (a - b));
        let apart = apart.sum::<f64>() / PLACES as f64;
        let along = shares(bins);
        let variance =
            summaries.iter().zip(&along).map(|(bin, &ends)| bin.noise_of_mean() * leverage(ends));
        let curve_variance: f64 = variance.sum();
        let (mut distance, mut spread_variance) = (0.0, 0.0);
        for ((bin, (from, to)), variance) in summaries.iter().zip(along).zip(variances) {
            distance += variance * (variance * bin.share - 2.0 * bin.spread);
            spread_variance += (to - from) * bin.noise_of_spread(self.dispersion);
        }
        [
            Risk { relative: apart + price * curve_variance, variance: curve_variance },
            Risk { relative: distance + price * spread_variance, variance: spread_variance },
        ]
    }

    fn summaries(&self, bins: &Partition) -> Vec<Bin> {
        let mut all = vec![Bin::default(); bins.bins()];
        let edges = self.cells.limits();
        let length = edges[edges.len() - 1] - edges[0];
        for (j, &place) in self.places.iter().enumerate() {
            let Some(bin) = bins.locate(place).and_then(|bin| all.get_mut(bin)) else { continue };
            bin.moments = bin.moments.merge(self.moments[j]);
            bin.noise += self.moments[j].weight * self.noise[j];
            if let Some(square) = self.squares[j] {
                let share = (edges[j + 1] - edges[j]) / length / (4.0 * self.noise[j]);
                bin.share += share;
                bin.spread += share * square;
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
    /// Its share of the axis, over four times the noise variance.
    share: f64,
    /// The same times the squared noise.
    spread: f64,
}

impl Bin {
    fn noise_of_mean(&self) -> f64 {
        self.noise / self.moments.weight.max(1.0).powi(2)
    }

    fn noise_of_spread(&self, dispersion: f64) -> f64 {
        let weight = self.moments.weight.max(1.5);
        let in_estimate = dispersion + 2.0 / (weight - 1.0).max(1.0);
        self.noise * in_estimate / (4.0 * weight * weight)
    }
}

/// The variance of a squared deviation over the square of its mean: 2 for normal noise. From the
/// squares of second differences, in which the excess of the fourth moment is halved.
fn dispersion(squares: &[(f64, f64)], noise: &[f64]) -> f64 {
    let (mut sum, mut count) = (0.0, 0_usize);
    for ((square, degrees), noise) in squares.iter().zip(noise) {
        if *degrees == 1.0 {
            sum += (square / noise).powi(2);
            count += 1;
        }
    }
    if count < FOR_KURTOSIS {
        return 2.0;
    }
    (2.0 + 2.0 * (sum / count as f64 - 3.0)).clamp(1.0, 11.0)
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
