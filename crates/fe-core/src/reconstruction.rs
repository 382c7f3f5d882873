//! A function put together again from the effects of its features.
//!
//! May import `estimator` and what lies below.

use ndarray::ArrayView2;

use crate::data::Dataset;
use crate::effect::Effect;
use crate::effect::Instances;
use crate::effect::centring;
use crate::error::{Error, Result};
use crate::estimator::predictions;
use crate::estimator::{self, Estimand};
use crate::model::{Model, Observed};
use crate::numeric::curve::Curve;
use crate::numeric::moments::Moments;
use crate::settings::Centring;
use crate::settings::Settings;

/// The additive approximation f(x) ≈ E f + Σ_s effect_s(x_s), and how well it does on the data.
///
/// E f is the weighted mean of the model over the rows, and every effect is centred anew so that its
/// mean over the rows is 0, as the accumulated effects of Apley and Zhu (2020) are. Features without an
/// effect, constant ones for instance, add nothing. Where f is additive, effects by `ale` or `pdp` give
/// f back, up to what lies between the points at which they are known.
///
/// ```
/// use fe_core::{Dataset, estimator::{Ale, Estimator}, model::FunctionModel};
/// use fe_core::reconstruction::AdditiveReconstruction;
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 2.0], [0.5, 4.0], [1.0, 2.0]].view())?;
/// let model = FunctionModel::new(2, |x| 3.0 * x[0] + x[1]);
/// let ale = Ale::with_bins(2)?;
/// let effects = [ale.estimate(&data, &model, 0)?.remove(0), ale.estimate(&data, &model, 1)?.remove(0)];
/// let reconstruction = AdditiveReconstruction::new(&data, &model, &effects)?;
/// assert!((reconstruction.at(&[0.25, 3.0])? - 3.75).abs() < 1e-12);
/// assert!(reconstruction.mean_squared_error() < 1e-24);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AdditiveReconstruction {
    mean: f64,
    dimension: usize,
    /// Features, counted from 0, with their curves.
    effects: Vec<(usize, Curve)>,
    mean_squared_error: f64,
    explained: Option<f64>,
    rows_outside: usize,
    model_rows: u64,
}

impl AdditiveReconstruction {
    /// From the effects of different features on one output of the model, however they are centred.
    /// Asks the model once for each row of positive weight.
    ///
    /// # Errors
    /// [`Error::WrongCount`] for no effects; [`Error::NoSuchFeature`]; [`Error::Incompatible`] for two
    /// effects of a feature, effects on different outputs or on one that the model does not have, and
    /// derivatives; [`Error::NoRowsOnAxis`] where no row is within the limits of all effects;
    /// [`Error::Model`].
    pub fn new(data: &Dataset, model: &dyn Model, effects: &[Effect]) -> Result<Self> {
        data.check_complete()?;
        data.check_model(model, 0)?;
        check_effects(data, model, effects)?;
        let data = &*data.counted();
        let model = Observed::new(model);
        let predictions = predictions::at_rows(data, &model)?.swap_remove(effects[0].output);
        let new = Self {
            mean: predictions::mean(data, &predictions),
            dimension: data.dimension(),
            effects: effects.iter().map(|effect| recentred(data, effect)).collect::<Result<_>>()?,
            mean_squared_error: 0.0,
            explained: None,
            rows_outside: 0,
            model_rows: model.model_rows(),
        };
        new.compared(data, &predictions, &effects[0])
    }

    /// E f, the weighted mean of the model over the rows.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// E f + Σ_s effect_s(x_s) at a row of D values.
    ///
    /// # Errors
    /// [`Error::WrongCount`] for another number of values; [`Error::OutsideLimits`] where an effect ends
    /// before, unless it is extrapolated.
    pub fn at(&self, row: &[f64]) -> Result<f64> {
        if row.len() != self.dimension {
            return Err(Error::WrongCount {
                what: "values in a row",
                expected: self.dimension,
                got: row.len(),
            });
        }
        self.effects.iter().try_fold(self.mean, |sum, (s, curve)| Ok(sum + curve.at(row[*s])?))
    }

    /// The same at every row of an N × D array.
    ///
    /// # Errors
    /// As [`AdditiveReconstruction::at`].
    pub fn at_all(&self, rows: &ArrayView2<'_, f64>) -> Result<Vec<f64>> {
        rows.rows().into_iter().map(|row| self.at(&row.to_vec())).collect()
    }

    /// Weighted mean of the squared distance from the model, over the rows within the limits of all
    /// effects; in squared units of the output.
    #[must_use]
    pub fn mean_squared_error(&self) -> f64 {
        self.mean_squared_error
    }

    /// 1 − mean squared error over variance of the model, both over the same rows; none where the model
    /// does not vary. Negative where the mean alone would do better.
    #[must_use]
    pub fn explained(&self) -> Option<f64> {
        self.explained
    }

    /// Rows of positive weight outside the limits of some effect, which the error leaves out.
    #[must_use]
    pub fn rows_outside(&self) -> usize {
        self.rows_outside
    }

    /// Rows whose value the model was asked for.
    #[must_use]
    pub fn model_rows(&self) -> u64 {
        self.model_rows
    }

    /// With the error on the data. Only distances are of interest of `effect`: where no row counts, its
    /// axis is named.
    fn compared(mut self, data: &Dataset, predictions: &[f64], effect: &Effect) -> Result<Self> {
        let (mut values, mut errors) = (Moments::default(), Moments::default());
        for (row, ((_, weight), &value)) in data.weighted(0).zip(predictions).enumerate() {
            match self.at(&data.row(row).to_vec()) {
                Ok(approximation) => {
                    let squared = (value - approximation).powi(2);
                    errors = errors.merge(Moments::single(squared, weight));
                    values = values.merge(Moments::single(value, weight));
                }
                Err(Error::OutsideLimits { .. }) => self.rows_outside += 1,
                Err(error) => return Err(error),
            }
        }
        if errors.is_empty() {
            let (lo, hi) = effect.curve.range();
            return Err(Error::NoRowsOnAxis { name: effect.name.clone(), lo, hi });
        }
        self.mean_squared_error = errors.mean;
        let variance = values.squares / values.weight;
        self.explained = (variance > 0.0).then(|| 1.0 - errors.mean / variance);
        Ok(self)
    }
}

/// The curve of an effect with mean 0 over the rows within its limits.
fn recentred(data: &Dataset, effect: &Effect) -> Result<(usize, Curve)> {
    let instances = Instances {
        positions: data.feature(effect.feature),
        weights: data.weights(),
        counts: None,
    };
    let constant = centring::constant(Centring::Data, &effect.curve, instances)?;
    Ok((effect.feature, effect.curve.clone().lowered(constant)))
}

fn check_effects(data: &Dataset, model: &dyn Model, effects: &[Effect]) -> Result<()> {
    let Some(first) = effects.first() else {
        return Err(Error::WrongCount { what: "effects (at least)", expected: 1, got: 0 });
    };
    let refused = |message: String| Err(Error::Incompatible(message));
    let (output, outputs) = (first.output + 1, model.outputs());
    if output > outputs {
        return refused(format!("an effect on output {output} of a model that has {outputs}"));
    }
    for (i, effect) in effects.iter().enumerate() {
        data.check_feature(effect.feature)?;
        let name = format!("x{}", effect.feature + 1);
        if effects[..i].iter().any(|other| other.feature == effect.feature) {
            return refused(format!("two effects of {name}: each feature has one"));
        }
        if effect.output != first.output {
            let other = effect.output + 1;
            return refused(format!(
                "effects on outputs {output} and {other}: they must be on one"
            ));
        }
        let estimator = estimator::from_settings(effect.estimator, &Settings::default())?;
        if estimator.estimand() == Estimand::DerivativePartialDependence {
            let by = effect.estimator;
            return refused(format!(
                "the effect of {name} by `{by}` is a derivative: it does not add up to f"
            ));
        }
    }
    Ok(())
}
