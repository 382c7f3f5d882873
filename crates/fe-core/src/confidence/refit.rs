//! The band that refits of a learner give, and the test that what it is around is 0 everywhere.

use nalgebra::DMatrix;

use super::BandRequest;
use super::band::{analytic, rounding_of, rounding_of_surface};
use super::uncertainty::Uncertainty;
use super::values::Values;
use crate::effect::{ConfidenceBand, Effect, RefitRecord, Surface, SurfaceBand};
use crate::error::Result;
use crate::model::magnitude::MagnitudeProbe;
use crate::settings::Correction;

/// The curves, or surfaces, of refits at the same places.
pub(crate) struct OverRefits<'a> {
    /// The values at the places for each refit, centred alike.
    pub(crate) curves: &'a [Vec<f64>],
    /// Record of the refits, without the test.
    pub(crate) record: RefitRecord,
    /// The models that were asked: what they gave may differ by rounding.
    pub(crate) models: &'a [MagnitudeProbe<'a>],
}

impl OverRefits<'_> {
    /// The mean over refits at each place.
    fn mean(&self) -> Vec<f64> {
        let (share, places) = (1.0 / self.curves.len() as f64, self.curves[0].len());
        let at = |place: usize| self.curves.iter().map(|curve| curve[place] * share).sum();
        (0..places).map(at).collect()
    }

    /// The curve that the band is around: the effect of the model of all rows, or the mean over refits, as the correction says.
    fn centre<'b>(&self, own: &'b [f64], mean: &'b [f64]) -> &'b [f64] {
        match self.record.correction {
            Correction::Jackknife => own,
            Correction::NadeauBengio => mean,
        }
    }

    /// The covariance of the centre: that over refits with m − 1 degrees of freedom, as often as the record says.
    fn uncertainty(&self, mean: &[f64]) -> Uncertainty {
        let degrees = (self.curves.len() - 1) as f64;
        let root = (self.record.variance_factor / degrees).sqrt();
        let (places, refits) = (mean.len(), self.curves.len());
        let factor = DMatrix::from_fn(places, refits, |i, j| root * (self.curves[j][i] - mean[i]));
        Uncertainty::new(factor, vec![degrees; places])
    }

    /// By how much rounding may move what the models gave.
    fn rounding(&self, of: impl Fn(&MagnitudeProbe<'_>) -> f64) -> f64 {
        self.models.iter().map(of).fold(0.0, f64::max)
    }
}

impl BandRequest {
    /// The band beside the effect of an estimator at some places: Student's t with m − 1 degrees of freedom at each
    /// place, and along the curve as other analytic bands are.
    pub(crate) fn band_of_refits(
        &self,
        effect: &Effect,
        x: &[f64],
        over: &OverRefits<'_>,
    ) -> Result<ConfidenceBand> {
        let (mean, own) = (over.mean(), effect.curve.at_all(x)?);
        let (centre, uncertainty) = (over.centre(&own, &mean), over.uncertainty(&mean));
        let sides = [x.len()];
        let limits = analytic(self, &uncertainty, centre, &sides)?;
        let limits = Values { refits: Some(over.record.clone()), ..limits };
        let rounding = over.rounding(|model| rounding_of(model, effect));
        let band = self.of_limits(effect, x, limits, rounding)?;
        let limits = (band.pointwise.lower.y(), band.pointwise.upper.y());
        let p_flat = self.p_flat((&band, limits), centre, (&uncertainty, &sides))?;
        Ok(band.with_p_flat(p_flat))
    }

    /// The same beside the effect of a pair of features.
    pub(crate) fn band_of_refitted_surfaces(
        &self,
        surface: &Surface,
        over: &OverRefits<'_>,
    ) -> Result<SurfaceBand> {
        let mean = over.mean();
        let (centre, uncertainty) = (over.centre(&surface.values, &mean), over.uncertainty(&mean));
        let sides = surface.x.each_ref().map(Vec::len);
        let limits = analytic(self, &uncertainty, centre, &sides)?;
        let limits = Values { refits: Some(over.record.clone()), ..limits };
        let rounding = over.rounding(|model| rounding_of_surface(model, surface));
        let band = self.of_surface(surface, limits, rounding)?;
        let limits = (&band.pointwise.lower[..], &band.pointwise.upper[..]);
        let p_flat = self.p_flat((&band, limits), centre, (&uncertainty, &sides))?;
        Ok(band.with_p_flat(p_flat))
    }

    /// The p-value of the test that what the band is around is nowhere but 0: 1 where all refits are flat.
    fn p_flat<T>(
        &self,
        (band, (lower, upper)): (&ConfidenceBand<T>, (&[f64], &[f64])),
        centre: &[f64],
        (uncertainty, sides): (&Uncertainty, &[usize]),
    ) -> Result<Option<f64>> {
        let is_degenerate = |i: usize| band.is_degenerate(lower[i], upper[i]);
        if centre.iter().enumerate().all(|(i, y)| is_degenerate(i) && y.abs() <= band.rounding) {
            return Ok(Some(1.0));
        }
        uncertainty.p_value(centre, |i| !is_degenerate(i), (sides, self.seed))
    }
}
