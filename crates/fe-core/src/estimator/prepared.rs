//! Rows with a value of the feature, subsample, mean prediction, band and whether the structure of the model is
//! made use of: what every estimator takes on top of its own.

use super::{Estimand, Estimated, Estimator, InstanceEffects, Observation, PartSums, Resampled};
use crate::binning::Binning;
use crate::confidence::{BandRequest, Purpose};
use crate::data::Dataset;
use crate::data::subsample::Subsample;
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::estimator::predictions;
use crate::model::magnitude::MagnitudeProbe;
use crate::model::structure::watched;
use crate::model::{Model, Observed};
use crate::settings::Centring;
use crate::settings::Settings;

/// The options that all estimators take.
pub(super) const OPTIONS: &[&[&str]] =
    &[Subsample::OPTIONS, &["mean_prediction", "importance", "brute"]];

/// The estimator on rows that have a value of the feature and, where settings ask for it, on a subsample, with the
/// mean of the model.
pub(super) fn prepare(
    estimator: Box<dyn Estimator>,
    settings: &Settings,
) -> Result<Box<dyn Estimator>> {
    let subsample = Subsample::new(settings.subsample, settings.subsample_seed)?;
    let mean_prediction = settings.mean_prediction.unwrap_or_default();
    let band = BandRequest::from_settings(settings, estimator.binning().is_some())?;
    let brute = settings.brute.unwrap_or_default();
    Ok(Box::new(Prepared { estimator, subsample, mean_prediction, band, brute }))
}

#[derive(Debug)]
struct Prepared {
    estimator: Box<dyn Estimator>,
    subsample: Option<Subsample>,
    mean_prediction: bool,
    band: Option<BandRequest>,
    /// True if the model is asked value by value, whatever its structure tells.
    brute: bool,
}

impl Estimator for Prepared {
    fn name(&self) -> &'static str {
        self.estimator.name()
    }

    fn estimand(&self) -> Estimand {
        self.estimator.estimand()
    }

    fn binning(&self) -> Option<&dyn Binning> {
        self.estimator.binning()
    }

    fn centring(&self) -> Centring {
        self.estimator.centring()
    }

    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        let rows = self.subsample.map_or(rows, |subsample| rows.min(subsample.size()));
        let mean = if self.mean_prediction { rows as u64 } else { 0 };
        Some(self.estimator.cost(rows, model)?.saturating_add(mean))
    }

    fn check_band(&self, name: &str, has_levels: bool) -> Result<()> {
        self.estimator.check_band(name, has_levels)
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        let estimate = |model: &dyn Model| self.by_any_means(data, model, feature);
        let (mut effects, by_structure) = watched(model, self.brute, estimate)?;
        for effect in &mut effects {
            effect.record.by_structure = by_structure;
        }
        Ok(effects)
    }

    fn sums(&self, part: &Dataset, model: &dyn Model, feature: usize) -> Result<PartSums> {
        self.estimator.sums(part, model, feature)
    }

    fn of_sums(&self, feature: (usize, &str), sums: &PartSums) -> Result<Vec<Effect>> {
        self.estimator.of_sums(feature, sums)
    }

    fn instances(&self, of: Estimated<'_>, rows: &[usize]) -> Result<InstanceEffects> {
        let Estimated { data, model, effect } = of;
        if self.subsample.is_none() && data.missing(effect.feature) == 0 {
            return self.estimator.instances(of, rows);
        }
        // The rows of the data are not those that the effect was estimated from.
        data.check_rows(model, effect.feature, rows)?;
        Ok(InstanceEffects::Unknown)
    }

    fn resampling<'a>(&'a self, of: Observation<'a>, purpose: &Purpose<'_>) -> Resampled<'a> {
        self.estimator.resampling(of, purpose)
    }
}

/// Numbers the rows that an effect names otherwise.
fn renumber(effect: &mut Effect, original: impl Fn(usize) -> usize) {
    let of_curves = effect.curves.iter_mut().flat_map(|curves| &mut curves.rows);
    let of_values = effect.shapley.iter_mut().flat_map(|shapley| &mut shapley.rows);
    of_curves.chain(of_values).for_each(|row| *row = original(*row));
}

impl Prepared {
    fn by_any_means(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Vec<Effect>> {
        let Some(rows) = data.rows_with(feature)? else {
            return self.on_known_rows(data, model, feature);
        };
        let mut effects = self.on_known_rows(&data.select(&rows), model, feature)?;
        for effect in &mut effects {
            effect.record.rows_without_value = Some(data.missing(feature));
            renumber(effect, |row| rows[row]);
        }
        Ok(effects)
    }

    fn on_known_rows(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Vec<Effect>> {
        let Some(subsample) = self.subsample else {
            return self.on_all_rows(data, model, feature);
        };
        let (subset, drawn) = subsample.draw(data);
        let mut effects = self.on_all_rows(&subset, model, feature)?;
        for effect in &mut effects {
            effect.record.subsample = Some(drawn.record.clone());
            renumber(effect, |row| drawn.original(row));
        }
        Ok(effects)
    }

    fn on_all_rows(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Vec<Effect>> {
        let mut effects = match &self.band {
            Some(band) if band.needs_refits() => {
                return Err(needs_learner());
            }
            None => self.estimator.estimate(data, model, feature)?,
            Some(band) => {
                let probe = MagnitudeProbe::new(model);
                let mut effects = self.estimator.estimate(data, &probe, feature)?;
                for effect in &mut effects {
                    self.add_band(band, effect, data, &probe)?;
                }
                effects
            }
        };
        if self.mean_prediction && effects.iter().any(|effect| effect.mean_prediction.is_none()) {
            let model = Observed::new(model);
            let data = data.counted();
            let predictions = predictions::at_rows(&data, &model)?;
            for (effect, predictions) in effects.iter_mut().zip(&predictions) {
                effect.mean_prediction = Some(predictions::mean(&data, predictions));
                effect.record.model_rows += model.model_rows();
            }
        }
        Ok(effects)
    }

    fn add_band(
        &self,
        band: &BandRequest,
        effect: &mut Effect,
        data: &Dataset,
        probe: &MagnitudeProbe<'_>,
    ) -> Result<()> {
        let x = band.places(effect)?;
        let observed = Observed::new(probe);
        let confidence = {
            let of = Estimated { data, model: &observed, effect: &*effect };
            let sample = band.purpose(&x).map(|purpose| self.estimator.resampling(of, &purpose));
            let sample = sample.transpose()?;
            band.band(effect, x, (data, sample.as_deref()), probe)?
        };
        effect.record.model_rows += observed.model_rows();
        effect.record.jacobian_rows += observed.partial_rows();
        effect.confidence = Some(confidence);
        Ok(())
    }
}

/// The refusal of a band from refits of a function as it is.
pub(super) fn needs_learner() -> Error {
    Error::Incompatible(
        "the band refit is of a learner, which is fitted again and again, and this is a function as it is: give the \
         data, the target and a model that can be fitted to them"
            .to_owned(),
    )
}
