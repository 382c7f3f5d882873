//! Subsample, band and whether the structure of the model is made use of: options that all estimators of pairs take on top
//! of their own.

use super::{PairEstimator, PairObservation, Resampled};
use crate::binning::Binning;
use crate::confidence::BandRequest;
use crate::data::Dataset;
use crate::data::subsample::Subsample;
use crate::effect::Surface;
use crate::error::{Error, Result};
use crate::estimator::prepared::needs_learner;
use crate::estimator::{Estimand, Estimated};
use crate::model::magnitude::MagnitudeProbe;
use crate::model::structure::watched;
use crate::model::{Model, Observed};
use crate::settings::{BandKind, Centring, Settings};

/// The estimator on a subsample and with bands, where settings ask for these.
pub(super) fn prepare(
    estimator: Box<dyn PairEstimator>,
    settings: &Settings,
) -> Result<Box<dyn PairEstimator>> {
    let subsample = Subsample::new(settings.subsample, settings.subsample_seed)?;
    if settings.band == Some(BandKind::Bins) {
        let message = "the band bins is of the bins of one feature: of a pair take bootstrap, or analytic of pdp";
        return Err(Error::Incompatible(message.to_owned()));
    }
    let band = BandRequest::from_settings(settings, estimator.binnings().is_some())?;
    let brute = settings.brute.unwrap_or_default();
    Ok(Box::new(Prepared { estimator, subsample, band, brute }))
}

#[derive(Debug)]
struct Prepared {
    estimator: Box<dyn PairEstimator>,
    subsample: Option<Subsample>,
    band: Option<BandRequest>,
    /// True if the model is asked value by value, whatever its structure tells.
    brute: bool,
}

impl PairEstimator for Prepared {
    fn name(&self) -> &'static str {
        self.estimator.name()
    }

    fn estimand(&self) -> Estimand {
        self.estimator.estimand()
    }

    fn centring(&self, data: &Dataset, features: [usize; 2]) -> Centring {
        self.estimator.centring(data, features)
    }

    fn is_interaction(&self) -> bool {
        self.estimator.is_interaction()
    }

    fn binnings(&self) -> Option<[&dyn Binning; 2]> {
        self.estimator.binnings()
    }

    fn cost(&self, rows: usize) -> Option<u64> {
        let rows = self.subsample.map_or(rows, |subsample| rows.min(subsample.size()));
        self.estimator.cost(rows)
    }

    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        let drawn = self.subsample.map(|subsample| subsample.draw(data));
        let data = drawn.as_ref().map_or(data, |(subset, _)| subset.as_ref());
        let estimate = |model: &dyn Model| self.on(data, model, features);
        let (mut surfaces, by_structure) = watched(model, self.brute, estimate)?;
        for surface in &mut surfaces {
            surface.record.subsample = drawn.as_ref().map(|(_, drawn)| drawn.record.clone());
            surface.record.by_structure = by_structure;
        }
        Ok(surfaces)
    }

    fn resampling<'a>(&'a self, of: PairObservation<'a>, resampled: bool) -> Resampled<'a> {
        self.estimator.resampling(of, resampled)
    }
}

impl Prepared {
    fn on(&self, data: &Dataset, model: &dyn Model, features: [usize; 2]) -> Result<Vec<Surface>> {
        let Some(band) = &self.band else {
            return self.estimator.estimate(data, model, features);
        };
        if band.needs_refits() {
            return Err(needs_learner());
        }
        let probe = MagnitudeProbe::new(model);
        let mut surfaces = self.estimator.estimate(data, &probe, features)?;
        for surface in &mut surfaces {
            self.add_band(band, surface, data, &probe)?;
        }
        Ok(surfaces)
    }

    fn add_band(
        &self,
        band: &BandRequest,
        surface: &mut Surface,
        data: &Dataset,
        probe: &MagnitudeProbe<'_>,
    ) -> Result<()> {
        let observed = Observed::new(probe);
        let confidence = {
            let of = Estimated { data, model: &observed, effect: &*surface };
            let sample = self.estimator.resampling(of, band.is_resampled())?;
            band.band_of_surface(surface, (data, sample.as_ref()), probe)?
        };
        surface.record.model_rows += observed.model_rows();
        surface.confidence = Some(confidence);
        Ok(())
    }
}
