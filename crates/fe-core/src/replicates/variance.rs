//! Variance of the effect of a fitted model, split into what the model and what the data for the
//! effect contribute.

use serde::Serialize;

use super::Summary;
use super::decomposition::jackknifed;
use crate::numeric::moments::Moments;

/// The curves of the effect of one fitted model on fresh datasets: their moments at each point.
///
/// ```
/// use fe_core::replicates::FreshCurves;
/// let mut fresh = FreshCurves::new(2);
/// fresh.add(&[Some(1.0), None]);
/// fresh.add(&[Some(3.0), None]);
/// assert_eq!(fresh.means(), [Some(2.0), None]);
/// assert_eq!(fresh.variances(), [Some(2.0), None]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FreshCurves {
    points: Vec<Moments>,
}

impl FreshCurves {
    /// Of no curve yet, on so many points.
    #[must_use]
    pub fn new(points: usize) -> Self {
        Self { points: vec![Moments::default(); points] }
    }

    /// Adds a curve: its value at each point, none where it has none.
    pub fn add(&mut self, values: &[Option<f64>]) {
        for (point, value) in self.points.iter_mut().zip(values) {
            if let Some(value) = value {
                *point = point.merge(Moments::single(*value, 1.0));
            }
        }
    }

    /// From means and variances of so many curves.
    #[must_use]
    pub fn of(means: &[Option<f64>], variances: &[Option<f64>], curves: usize) -> Self {
        let weight = curves as f64;
        let point = |(mean, variance): (&Option<f64>, &Option<f64>)| match (mean, variance) {
            (Some(mean), Some(variance)) => {
                Moments { weight, mean: *mean, squares: variance * (weight - 1.0) }
            }
            _ => Moments::default(),
        };
        Self { points: means.iter().zip(variances).map(point).collect() }
    }

    /// The mean curve; none at points that fewer than two curves have.
    #[must_use]
    pub fn means(&self) -> Vec<Option<f64>> {
        self.points.iter().map(|point| point.variance(1.0).map(|_| point.mean)).collect()
    }

    /// The variance of the curves at each point, ddof 1; none where fewer than two have one.
    #[must_use]
    pub fn variances(&self) -> Vec<Option<f64>> {
        self.points.iter().map(|point| point.variance(1.0)).collect()
    }

    /// The mean of the variances over the points that have one; none without any.
    #[must_use]
    pub fn mean_variance(&self) -> Option<f64> {
        let known: Vec<f64> = self.variances().into_iter().flatten().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

/// Variance of a curve on fresh data, in two parts that add up to it; averaged over points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VarianceParts {
    /// Variance over fresh datasets while the model stays: what estimating the effect adds.
    pub estimation: f64,
    /// Variance over models of what their effects would be without it, below 0 where it is lost in
    /// noise.
    pub model: f64,
}

impl VarianceParts {
    /// Names of the parts in files, in the order of [`VarianceParts::values`].
    pub const NAMES: [&str; 2] = ["estimation_variance", "model_variance"];

    /// The parts in the order of [`VarianceParts::NAMES`].
    #[must_use]
    pub fn values(&self) -> [f64; 2] {
        [self.estimation, self.model]
    }

    /// At each point, from the curves of some models; none where fewer than two models have one.
    ///
    /// Unbiased, as in the analysis of variance with random effects: the estimation part is the mean
    /// variance within models, and the model part the variance of the means of M curves each, less
    /// the estimation part / M.
    #[must_use]
    pub fn pointwise(models: &[FreshCurves]) -> Vec<Option<Self>> {
        let points = models.iter().map(|model| model.points.len()).max().unwrap_or(0);
        let at = |i: usize| {
            let curves = models.iter().filter_map(|model| model.points.get(i));
            let known: Vec<(Moments, f64)> =
                curves.filter_map(|point| Some((*point, point.variance(1.0)?))).collect();
            let count = known.len() as f64;
            let mean =
                |of: &dyn Fn(&(Moments, f64)) -> f64| known.iter().map(of).sum::<f64>() / count;
            let estimation = mean(&|(_, variance)| *variance);
            // What is left of it in the mean of the curves of a model.
            let left = mean(&|(point, variance)| variance / point.weight);
            let means: Vec<f64> = known.iter().map(|(point, _)| point.mean).collect();
            let between = Moments::of(&means).variance(1.0)?;
            Some(Self { estimation, model: between - left })
        };
        (0..points).map(at).collect()
    }
}

/// The parts of the variance of fresh curves of some models, averaged over points, each with its
/// standard error by the jackknife over models; in the order of [`VarianceParts::NAMES`]. None where
/// fewer than two models share a point.
///
/// ```
/// use fe_core::replicates::{FreshCurves, split_variance};
/// // Two models, each with two curves of one point.
/// let models = [[0.0, 2.0], [10.0, 14.0]].map(|curves| {
///     let mut fresh = FreshCurves::new(1);
///     curves.iter().for_each(|&y| fresh.add(&[Some(y)]));
///     fresh
/// });
/// let [estimation, model] = split_variance(&models).unwrap();
/// assert_eq!(estimation.mean, Some((2.0 + 8.0) / 2.0));
/// assert_eq!(model.mean, Some(60.5 - 5.0 / 2.0));
/// ```
#[must_use]
pub fn split_variance(models: &[FreshCurves]) -> Option<[Summary; 2]> {
    let values = averaged(models)?.values();
    let without = |i: usize| {
        let rest: Vec<FreshCurves> = [&models[..i], &models[i + 1..]].concat();
        averaged(&rest).map(|parts| parts.values())
    };
    Some(jackknifed(values, &(0..models.len()).map(without).collect::<Vec<_>>()))
}

fn averaged(models: &[FreshCurves]) -> Option<VarianceParts> {
    let known: Vec<VarianceParts> =
        VarianceParts::pointwise(models).into_iter().flatten().collect();
    let mean =
        |of: fn(&VarianceParts) -> f64| known.iter().map(of).sum::<f64>() / known.len() as f64;
    (!known.is_empty())
        .then(|| VarianceParts { estimation: mean(|p| p.estimation), model: mean(|p| p.model) })
}
