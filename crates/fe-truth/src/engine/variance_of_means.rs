//! The variance of a sum of marginal means over many features: randomised quasi-Monte-Carlo over rows and samples.

use std::collections::BTreeSet;

use fe_core::interrupt;

use super::Engine;
use super::averages::MarginalMean;
use super::simulation::Drawn;
use super::watch::{Watch, spend};
use crate::numeric::quadrature::Estimate;
use crate::numeric::sobol::{Points, RANDOMISATIONS, half_width};

/// Rows times rows of a sample, of each randomisation, before the interval is looked at; and how much more after that.
const FIRST: f64 = 4096.0;
const MORE: f64 = 2.0;
/// Share of the tolerance at which it ends.
const SHARE: f64 = 0.25;
/// Widest interval that is told, relative to the variance.
const WIDEST: f64 = 0.25;

/// Rows, and their weights.
type Sample = Vec<(Vec<f64>, f64)>;

/// A sum of marginal means, and the features that it is simulated over.
struct Sum<'a> {
    engine: &'a Engine,
    means: &'a [MarginalMean],
    /// Features that some mean has as they are, and those that some mean is over.
    inside: Vec<usize>,
    outside: Vec<usize>,
    is_witness: bool,
}

impl Engine {
    /// The variance of a sum of marginal means of terms, by simulation: the covariance over rows of the sum with itself,
    /// where in each of the two the means are over a sample of their own, so that their errors do not add up. It may take
    /// so many evaluations, and an interval of half width `enough` is told whatever the variance is. None where nothing
    /// limits what is integrated.
    pub(crate) fn simulated_variance_of_means(
        &self,
        means: &[MarginalMean],
        most: f64,
        enough: f64,
    ) -> Option<Estimate> {
        let watch = self.watch.as_deref()?;
        let sum = Sum::new(self, means, watch.is_witness);
        spend(most);
        let (mut size, mut cost) = (FIRST, 0.0);
        loop {
            let [rows, sample] = sum.sizes(size);
            cost += (2 * means.len() * rows * sample * RANDOMISATIONS) as f64;
            if Watch::has_refused() {
                return Some(Estimate::exact(f64::NAN));
            }
            let found = sum.variance(rows, sample);
            let is_narrow = |share: f64| found.error <= share * watch.tolerance * found.value;
            if found.value.is_nan() || is_narrow(SHARE) {
                return Some(found);
            }
            if MORE * cost > most {
                let is_told = is_narrow(WIDEST / watch.tolerance) || found.error <= enough;
                let relative = found.error / found.value.abs();
                let refuse = || watch.too_wide(&sum.features(), most, cost, relative);
                return Some(if is_told { found } else { refuse() });
            }
            size *= MORE;
        }
    }
}

impl<'a> Sum<'a> {
    fn new(engine: &'a Engine, means: &'a [MarginalMean], is_witness: bool) -> Self {
        let read = |is_inside: bool| -> Vec<usize> {
            let of = |mean: &MarginalMean| {
                let features = engine.terms[mean.term].features().iter().copied();
                features.filter(|s| mean.inside.contains(s) == is_inside).collect::<Vec<_>>()
            };
            means.iter().flat_map(of).collect::<BTreeSet<_>>().into_iter().collect()
        };
        Self { engine, means, inside: read(true), outside: read(false), is_witness }
    }

    fn features(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.inside.iter().chain(&self.outside).copied().collect();
        all.into_iter().collect()
    }

    /// Numbers of rows, and of rows of a sample, whose product is about a size. Errors of samples count by their product:
    /// few rows of them do.
    fn sizes(&self, size: f64) -> [usize; 2] {
        let doublings = size.log2().round() as u32;
        let of_sample = match (self.inside.len(), self.outside.len()) {
            (_, 0) => 0,
            (_, 1) => doublings / 5,
            (1, _) => doublings / 2,
            _ => 2 * doublings / 5,
        };
        [doublings - of_sample, of_sample].map(|of| 2_usize.pow(of))
    }

    /// The variance over so many rows and rows of a sample in each of all randomisations.
    fn variance(&self, rows: usize, sample: usize) -> Estimate {
        let mut found = [0.0; RANDOMISATIONS];
        let mut whole = Estimate { simulated: true, ..Estimate::default() };
        for (r, found) in found.iter_mut().enumerate() {
            interrupt::check();
            let rows = self.drawn(&self.inside, rows, r);
            let sums = [1, 2].map(|which| {
                let sample = self.drawn(&self.outside, sample, r + which * RANDOMISATIONS);
                rows.iter().map(|(row, _)| self.at(row, &sample)).collect::<Vec<_>>()
            });
            let one = covariance(&rows, &sums);
            *found = one.value;
            whole = whole.plus(one);
        }
        let mean = whole.times(1.0 / RANDOMISATIONS as f64);
        let half_width = half_width(&found, mean.value);
        Estimate { error: mean.error + half_width + 1e-13 * mean.magnitude, ..mean }
    }

    /// Rows of some features, drawn by a randomisation.
    fn drawn(&self, features: &[usize], count: usize, r: usize) -> Sample {
        let nothing = vec![f64::NAN; self.engine.law().dimension()];
        let mut drawn = Drawn::new(self.engine.law(), features, &[], &nothing);
        let mut points = Points::new(r, drawn.draws(), self.is_witness);
        let mut point = vec![0.0; drawn.draws()];
        let mut next = || {
            let mut row = nothing.clone();
            points.write(&mut point);
            let weight = drawn.write(&point, &mut row).weight;
            (row, weight)
        };
        (0..count).map(|_| next()).collect()
    }

    /// The sum at a row, its means over a sample.
    fn at(&self, inside: &[f64], sample: &Sample) -> Estimate {
        let weight: f64 = sample.iter().map(|(_, weight)| weight).sum();
        let mut mixed = inside.to_vec();
        let mut of = |mean: &MarginalMean| {
            let term = &self.engine.terms[mean.term];
            let features = term.features().iter();
            let (kept, over): (Vec<usize>, Vec<usize>) =
                features.partition(|s| mean.inside.contains(s));
            kept.iter().for_each(|&s| mixed[s] = inside[s]);
            if over.is_empty() {
                return term.estimate(&mixed).times(mean.factor);
            }
            let at = |(row, weight): &(Vec<f64>, f64)| {
                over.iter().for_each(|&s| mixed[s] = row[s]);
                term.estimate(&mixed).times(*weight)
            };
            Estimate::sum(sample.iter().map(at)).times(mean.factor / weight)
        };
        Estimate::sum(self.means.iter().map(&mut of))
    }
}

/// The covariance over rows of two values at each of them.
fn covariance(rows: &Sample, [first, second]: &[Vec<Estimate>; 2]) -> Estimate {
    let weight: f64 = rows.iter().map(|(_, weight)| weight).sum();
    let mean = |values: &[Estimate]| {
        let weighed = values.iter().zip(rows).map(|(value, (_, weight))| value.times(*weight));
        Estimate::sum(weighed).times(1.0 / weight)
    };
    let [of_first, of_second] = [first, second].map(|values| mean(values));
    let product = |(a, b): (&Estimate, &Estimate)| a.minus(of_first).product(b.minus(of_second));
    mean(&first.iter().zip(second).map(product).collect::<Vec<_>>())
}
