//! The test that an effect is flat by permutations of the feature, each with a refit of the learner.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::RefittedModel;
use crate::data::Dataset;
use crate::effect::Instances;
use crate::effect::importance::importance;
use crate::error::{Error, Result};
use crate::estimator::Estimator;
use crate::interrupt;
use crate::numeric::blocks::fold_blocks;

/// A learner: the model that it makes of some data with random numbers from a seed, or why it makes none.
pub type LearnFrom<'a> = dyn Fn(&Dataset, u64) -> Result<RefittedModel, String> + Sync + 'a;

/// Most permutations.
const MOST: usize = 100_000;

/// A permutation test of a flat effect. The values of the feature are permuted among the rows, the learner is fitted to that,
/// and the statistic is how much the effect of the fit varies over the rows: its standard deviation there. Where the
/// feature is independent of the target and of the other features, all fits are alike, and the p-value is at most α with
/// the probability α, of any learner. Where it depends on the other features it is that dependence as well that is tested.
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
        if (1..=MOST).contains(&permutations) {
            return Ok(Self { permutations, seed });
        }
        Err(Error::BadOption {
            option: "flat_permutations",
            given: permutations.to_string(),
            allowed: format!("must be from 1 to {MOST}: 19 for a test at 5 % are the least"),
        })
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
        let mut statistics: Vec<f64> = Vec::with_capacity(self.permutations + 1);
        let one = |number: std::ops::Range<usize>| {
            interrupt::check();
            let number = number.start;
            self.statistic(number, estimator, data, feature, learn).map_err(|reason| {
                let of = format!("permutation {number} of {}", self.permutations);
                Error::Incompatible(format!("{of} of {}: {reason}", data.names()[feature]))
            })
        };
        fold_blocks(self.permutations + 1, 1, one, |statistic: f64| statistics.push(statistic))?;
        let (own, permuted) = (statistics[0], &statistics[1..]);
        let as_large = permuted.iter().filter(|&&statistic| statistic >= own).count();
        Ok((1 + as_large) as f64 / (1 + permuted.len()) as f64)
    }

    /// Variation of the effect of a fit to a permutation; the first of all leaves the rows as they are.
    fn statistic(
        &self,
        number: usize,
        estimator: &dyn Estimator,
        data: &Dataset,
        feature: usize,
        learn: &LearnFrom<'_>,
    ) -> Result<f64, String> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(number as u64);
        let seed = random.next_u64();
        let mut order: Vec<usize> = (0..data.len()).collect();
        if number > 0 {
            order.shuffle(&mut random);
        }
        let permuted = data.with_feature_of(feature, &order);
        let model = learn(&permuted, seed)?;
        let effects = estimator.estimate(&permuted, &*model, feature).map_err(|e| e.to_string())?;
        let effect = effects.first().ok_or("the model has no output")?;
        let instances = Instances {
            positions: permuted.feature(feature),
            weights: permuted.weights(),
            counts: effect.bins.as_ref().map(|bins| &bins.counts[..]),
        };
        let statistic = importance(&effect.curve, instances, false);
        statistic.ok_or_else(|| "no row lies on the axis".to_owned())
    }
}
