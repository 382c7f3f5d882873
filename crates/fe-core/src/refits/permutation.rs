//! Tests by permutation, each with a refit of the learner: of the feature, that its effect is flat, and of the residuals of
//! an additive fit, that two features do not interact.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::RefittedModel;
use crate::data::Dataset;
use crate::effect::importance::importance;
use crate::effect::{Instances, Surface};
use crate::error::{Error, Result};
use crate::estimator::Estimator;
use crate::estimator::pair::PairEstimator;
use crate::interrupt;
use crate::model::Model;
use crate::model::magnitude::{MagnitudeProbe, ROUNDING};
use crate::numeric::blocks::fold_blocks;
use crate::numeric::moments::Moments;
use crate::settings::Settings;

/// A learner: the model that it makes of some data with random numbers from a seed, or why it makes none.
pub type LearnFrom<'a> = dyn Fn(&Dataset, u64) -> Result<RefittedModel, String> + Sync + 'a;

/// A learner: the model that it makes of some target values beside the data with random numbers from a seed, or why it
/// makes none.
pub type LearnTarget<'a> = dyn Fn(&[f64], u64) -> Result<RefittedModel, String> + Sync + 'a;

/// An additive model of a target: its predictions of the rows that it was fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditiveFit {
    /// The predictions, in units of the target.
    pub fitted: Vec<f64>,
    /// Effective degrees of freedom of the fit: residuals are too small by √(1 − degrees/N) on average.
    pub degrees: f64,
}

/// Most permutations.
const MOST: usize = 100_000;

/// Tests by permutation, each with a refit of the learner.
///
/// [`p_value`](Self::p_value) tests that an effect is flat. The values of the feature are permuted among the rows, the learner
/// is fitted to that, and the statistic is how much the effect of the fit varies over the rows: its standard deviation
/// there. Where the feature is independent of the target and of the other features, all fits are alike, and the p-value is at
/// most α with the probability α, of any learner. Where it depends on the other features it is that dependence as well
/// that is tested.
///
/// [`p_value_of_pair`](Self::p_value_of_pair) tests that two features do not interact. The null hypothesis that is simulated is
/// that of an additive function with errors that are exchangeable: the residuals of an additive fit are permuted and added
/// to its predictions, and the learner is fitted to these targets beside the features as they are (Friedman and Popescu 2008,
/// section 8.3; of linear models Freedman and Lane 1983). The statistic is the standard deviation over the rows of the effect
/// of the pair, the root of the numerator of Friedman and Popescu's H². Residuals of a fit are too small by the degrees of
/// freedom that it took, and are made larger by 1/√(1 − degrees/N) (Davison and Hinkley 1997, section 6.2.3). The test is
/// approximate: as good as the additive fit is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PermutationTest {
    /// Number of permutations, B.
    pub permutations: usize,
    /// The seed of permutations and fits.
    pub seed: u64,
}

impl PermutationTest {
    /// Of so many permutations.
    ///
    /// # Errors
    /// [`Error::BadOption`] for none or too many.
    pub fn new(permutations: usize, seed: u64) -> Result<Self> {
        Self::of("flat_permutations", permutations, seed)
    }

    fn of(option: &'static str, permutations: usize, seed: u64) -> Result<Self> {
        if (1..=MOST).contains(&permutations) {
            return Ok(Self { permutations, seed });
        }
        Err(Error::BadOption {
            option,
            given: permutations.to_string(),
            allowed: format!("must be from 1 to {MOST}: 19 for a test at 5 % are the least"),
        })
    }

    /// The test of a flat effect that settings ask for.
    pub(super) fn of_feature(settings: &Settings, seed: u64) -> Result<Option<Self>> {
        let of = |permutations| Self::of("flat_permutations", permutations, seed);
        settings.flat_permutations.map(of).transpose()
    }

    /// The test of no interaction that settings ask for.
    pub(super) fn of_residuals(settings: &Settings, seed: u64) -> Result<Option<Self>> {
        let of = |permutations| Self::of("residual_permutations", permutations, seed);
        settings.residual_permutations.map(of).transpose()
    }

    /// The p-value, (1 + permutations whose effect varies as much or more) / (1 + B), of the first output of the effect of
    /// a feature, counted from 0.
    ///
    /// # Errors
    /// [`Error::Incompatible`] with the reason of a fit that fails or has no effect.
    ///
    /// ```
    /// use fe_core::estimator::PartialDependence;
    /// use fe_core::model::FunctionModel;
    /// use fe_core::refits::PermutationTest;
    /// use fe_core::Dataset;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((30, 1), |(i, _)| i as f64 / 29.0);
    /// let data = Dataset::from_rows(&rows.view())?;
    /// // The target is the feature as it was: a learner of the product of both means.
    /// let learn = |permuted: &Dataset, _seed: u64| {
    ///     let pairs = permuted.feature(0).iter().zip(rows.iter());
    ///     let slope: f64 = pairs.map(|(x, y)| (x - 0.5) * (y - 0.5)).sum();
    ///     Ok(Box::new(FunctionModel::new(1, move |x| slope * x[0])) as _)
    /// };
    /// let test = PermutationTest::new(39, 0)?;
    /// assert_eq!(test.p_value(&PartialDependence::on_grid(3)?, &data, 0, &learn)?, 1.0 / 40.0);
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn p_value(
        &self,
        estimator: &dyn Estimator,
        data: &Dataset,
        feature: usize,
        learn: &LearnFrom<'_>,
    ) -> Result<f64> {
        let statistic = |order: &[usize], seed: u64| {
            let permuted = data.with_feature_of(feature, order);
            let model = learn(&permuted, seed)?;
            variation(estimator, &permuted, &*model, feature)
        };
        self.ranked(data.len(), &data.names()[feature], statistic)
    }

    /// The p-value, (1 + permutations whose effect varies as much or more) / (1 + B), of the first output of the effect of
    /// two features, counted from 0, beside the target of the data and an additive fit to it.
    ///
    /// # Errors
    /// [`Error::WrongCount`] unless there is a target and a prediction for each row; [`Error::Incompatible`] for an additive fit
    /// with as many degrees of freedom as there are rows, and with the reason of a fit that fails or has no effect.
    ///
    /// ```
    /// use fe_core::estimator::pair::SecondOrderAle;
    /// use fe_core::model::FunctionModel;
    /// use fe_core::refits::{AdditiveFit, PermutationTest};
    /// use fe_core::Dataset;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((i * (7 + 4 * j)) % 40) as f64 / 39.0 - 0.5);
    /// let data = Dataset::from_rows(&rows.view())?;
    /// let target: Vec<f64> = rows.rows().into_iter().map(|x| x[0] * x[1]).collect();
    /// // A learner of the product of both features.
    /// let learn = |target: &[f64], _seed: u64| {
    ///     let products = rows.rows().into_iter().map(|x| x[0] * x[1]);
    ///     let size: f64 = products.zip(target).map(|(product, y)| product * y).sum();
    ///     Ok(Box::new(FunctionModel::new(2, move |x| size * x[0] * x[1])) as _)
    /// };
    /// let additive = AdditiveFit { fitted: vec![0.0; 40], degrees: 1.0 };
    /// let (ale, test) = (SecondOrderAle::with_bins(2)?, PermutationTest::new(39, 0)?);
    /// assert_eq!(test.p_value_of_pair(&ale, (&data, [0, 1]), (&target, &additive), &learn)?, 1.0 / 40.0);
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    pub fn p_value_of_pair(
        &self,
        estimator: &dyn PairEstimator,
        (data, features): (&Dataset, [usize; 2]),
        (target, additive): (&[f64], &AdditiveFit),
        learn: &LearnTarget<'_>,
    ) -> Result<f64> {
        let rows = data.len();
        for (what, got) in [("targets", target.len()), ("predictions", additive.fitted.len())] {
            if got != rows {
                return Err(Error::WrongCount { what, expected: rows, got });
            }
        }
        let left = 1.0 - additive.degrees / rows as f64;
        if left <= 0.0 {
            return Err(Error::Incompatible(format!(
                "an additive fit with {:.1} degrees of freedom leaves no residuals of {rows} rows",
                additive.degrees
            )));
        }
        let residuals = target.iter().zip(&additive.fitted).map(|(y, fitted)| y - fitted);
        let residuals: Vec<f64> = residuals.collect();
        let statistic = |order: &[usize], seed: u64| {
            let simulated = order.iter().zip(&additive.fitted);
            let simulated: Vec<f64> =
                simulated.map(|(&row, fitted)| fitted + residuals[row] / left.sqrt()).collect();
            let is_own = order.iter().enumerate().all(|(row, &other)| row == other);
            let model = learn(if is_own { target } else { &simulated }, seed)?;
            variation_of_pair(estimator, data, &*model, features)
        };
        let name = features.map(|feature| &*data.names()[feature]).join(":");
        self.ranked(rows, &name, statistic)
    }

    /// (1 + permutations whose statistic is as large or larger) / (1 + B), of the statistic of an order of the rows, with a
    /// seed.
    fn ranked(
        &self,
        rows: usize,
        name: &str,
        statistic: impl Fn(&[usize], u64) -> Result<f64, String> + Sync,
    ) -> Result<f64> {
        let mut statistics: Vec<f64> = Vec::with_capacity(self.permutations + 1);
        let one = |number: std::ops::Range<usize>| {
            interrupt::check();
            let number = number.start;
            let (order, seed) = self.order(number, rows);
            statistic(&order, seed).map_err(|reason| {
                let of = format!("permutation {number} of {}", self.permutations);
                Error::Incompatible(format!("{of} of {name}: {reason}"))
            })
        };
        fold_blocks(self.permutations + 1, 1, one, |statistic: f64| statistics.push(statistic))?;
        let (own, permuted) = (statistics[0], &statistics[1..]);
        let as_large = permuted.iter().filter(|&&statistic| statistic >= own).count();
        Ok((1 + as_large) as f64 / (1 + permuted.len()) as f64)
    }

    /// The order of the rows in a permutation, and the seed of its fit; the first of all leaves them as they are.
    fn order(&self, number: usize, rows: usize) -> (Vec<usize>, u64) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(number as u64);
        let seed = random.next_u64();
        let mut order: Vec<usize> = (0..rows).collect();
        if number > 0 {
            order.shuffle(&mut random);
        }
        (order, seed)
    }
}

/// Standard deviation over the rows of the effect of a feature.
fn variation(
    estimator: &dyn Estimator,
    data: &Dataset,
    model: &dyn Model,
    feature: usize,
) -> Result<f64, String> {
    let probe = MagnitudeProbe::new(model);
    let effects = estimator.estimate(data, &probe, feature).map_err(|e| e.to_string())?;
    let effect = effects.first().ok_or("the model has no output")?;
    let instances = Instances {
        positions: data.feature(feature),
        weights: data.weights(),
        counts: effect.bins.as_ref().map(|bins| &bins.counts[..]),
    };
    let statistic = importance(&effect.curve, instances, false);
    let statistic = statistic.ok_or_else(|| "no row lies on the axis".to_owned())?;
    let slopes = probe.partial(effect.output) * effect.record.axis.width();
    Ok(beyond_rounding(statistic, probe.value(effect.output) + slopes))
}

/// Standard deviation over the rows of the effect of two features.
fn variation_of_pair(
    estimator: &dyn PairEstimator,
    data: &Dataset,
    model: &dyn Model,
    features: [usize; 2],
) -> Result<f64, String> {
    let probe = MagnitudeProbe::new(model);
    let surfaces = estimator.estimate(data, &probe, features).map_err(|e| e.to_string())?;
    let surface: &Surface = surfaces.first().ok_or("the model has no output")?;
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    for row in 0..data.len() {
        let place = features.map(|feature| data.feature(feature)[row]);
        if let Ok(value) = surface.at(place) {
            values.push(value);
            weights.push(data.weights().map_or(1.0, |weights| weights[row]));
        }
    }
    let moments = Moments::of_block(&values, Some(&weights));
    if moments.weight > 0.0 {
        let deviation = (moments.squares / moments.weight).sqrt();
        return Ok(beyond_rounding(deviation, probe.value(surface.output)));
    }
    Err("no row lies within both axes".to_owned())
}

/// A variation of answers as large as `size`; 0 where it is rounding of them, which must not rank a learner's flat effects.
fn beyond_rounding(variation: f64, size: f64) -> f64 {
    if variation > ROUNDING * size { variation } else { 0.0 }
}
