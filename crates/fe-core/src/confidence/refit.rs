//! The band of the mean over refits of a learner, and the test that it is flat.

use nalgebra::DMatrix;

use super::BandRequest;
use super::band::{analytic, rounding_of};
use super::uncertainty::Uncertainty;
use super::values::Values;
use crate::effect::{ConfidenceBand, Effect, RefitRecord};
use crate::error::Result;
use crate::model::magnitude::MagnitudeProbe;

/// The curves of refits at the same places, with what is known of these.
pub(crate) struct OverRefits<'a> {
    /// The places, increasing.
    pub(crate) x: Vec<f64>,
    /// A curve for each refit, at the places, centred alike.
    pub(crate) curves: &'a [Vec<f64>],
    /// Record of the refits, without the test.
    pub(crate) record: RefitRecord,
}

impl OverRefits<'_> {
    /// The mean over refits at each place.
    fn mean(&self) -> Vec<f64> {
        let share = 1.0 / self.curves.len() as f64;
        let at = |place: usize| self.curves.iter().map(|curve| curve[place] * share).sum();
        (0..self.x.len()).map(at).collect()
    }

    /// The covariance of the mean: that over refits with m − 1 degrees of freedom, as often as the record says.
    fn uncertainty(&self, mean: &[f64]) -> Uncertainty {
        let degrees = (self.curves.len() - 1) as f64;
        let root = (self.record.variance_factor / degrees).sqrt();
        let (places, refits) = (self.x.len(), self.curves.len());
        let factor = DMatrix::from_fn(places, refits, |i, j| root * (self.curves[j][i] - mean[i]));
        Uncertainty::new(factor, vec![degrees; places])
    }
}

impl BandRequest {
    /// The band around the mean over refits, for an effect of an estimator: Student's t with m − 1 degrees of freedom at
    /// each place, and along the curve as other analytic bands are. Curves of any model that was asked may differ by
    /// rounding.
    pub(crate) fn band_of_refits(
        &self,
        effect: &Effect,
        over: &OverRefits<'_>,
        models: &[MagnitudeProbe<'_>],
    ) -> Result<ConfidenceBand> {
        let mean = over.mean();
        let uncertainty = over.uncertainty(&mean);
        let limits = analytic(self, &uncertainty, &mean, &[over.x.len()])?;
        let rounding = models.iter().map(|model| rounding_of(model, effect)).fold(0.0, f64::max);
        let limits = Values { refits: Some(over.record.clone()), ..limits };
        let mut band = self.of_limits(effect, &over.x, limits, rounding)?;
        let p_flat = self.p_flat(&band, &mean, &uncertainty)?;
        if let Some(record) = &mut band.record.refits {
            record.p_flat = p_flat;
        }
        Ok(band)
    }

    /// The p-value of the test that the mean is nowhere but 0: 1 where all refits are flat.
    fn p_flat(
        &self,
        band: &ConfidenceBand,
        mean: &[f64],
        uncertainty: &Uncertainty,
    ) -> Result<Option<f64>> {
        let (lower, upper) = (band.pointwise.lower.y(), band.pointwise.upper.y());
        let is_degenerate = |i: usize| band.is_degenerate(lower[i], upper[i]);
        if mean.iter().enumerate().all(|(i, y)| is_degenerate(i) && y.abs() <= band.rounding) {
            return Ok(Some(1.0));
        }
        uncertainty.p_value(mean, |i| !is_degenerate(i), (&[mean.len()], self.seed))
    }
}
