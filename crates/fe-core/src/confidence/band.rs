//! The band of an effect, by whichever method is asked for.

use super::uncertainty::{self, Uncertainty};
use super::values::{Values, around};
use super::{BandRequest, Debiased, Resampling, bootstrap, per_bin};
use crate::data::Dataset;
use crate::effect::{ConfidenceBand, Effect, Surface, SurfaceBand};
use crate::error::{Error, Result};
use crate::model::magnitude::{MagnitudeProbe, ROUNDING};
use crate::numeric::curve::{Curve, Shape};
use crate::settings::BandKind;

impl BandRequest {
    /// The band of an effect at some places, from the sample that it was estimated from.
    pub(crate) fn band(
        &self,
        effect: &Effect,
        x: Vec<f64>,
        (data, sample): (&Dataset, Option<&dyn Resampling>),
        model: &MagnitudeProbe<'_>,
    ) -> Result<ConfidenceBand> {
        let curve = effect.curve.at_all(&x)?;
        let rounding = rounding_of(model, effect);
        let is_certain = sample.is_some_and(|sample| sample.is_certain(rounding));
        let limits = match sample {
            None => per_bin::limits(effect, &x, &curve, self.level)?,
            Some(sample) => self.values(&curve, &[curve.len()], data, sample)?,
        };
        let rounding = if is_certain { f64::INFINITY } else { rounding };
        self.of_limits(effect, &x, limits, rounding)
    }

    /// The band of an effect that has these limits at some places, apart by rounding up to so much.
    pub(super) fn of_limits(
        &self,
        effect: &Effect,
        x: &[f64],
        limits: Values,
        rounding: f64,
    ) -> Result<ConfidenceBand> {
        let extrapolate = effect.record.extrapolated;
        let limit = |y| match effect.curve.shape() {
            Shape::Levels => Curve::levels(x.to_vec(), y),
            _ => Curve::linear(x.to_vec(), y).extrapolated(extrapolate),
        };
        let band = limits.into_band(self, limit).rounded(rounding, effect.curve.y());
        checked(band, Curve::y, || effect.name.clone())
    }

    /// The band of a surface at its points, from the sample that it was estimated from.
    pub(crate) fn band_of_surface(
        &self,
        surface: &Surface,
        (data, sample): (&Dataset, &dyn Resampling),
        model: &MagnitudeProbe<'_>,
    ) -> Result<SurfaceBand> {
        let sides = surface.x.each_ref().map(Vec::len);
        let limits = self.values(&surface.values, &sides, data, sample)?;
        self.of_surface(surface, limits, rounding_of_surface(model, surface))
    }

    /// The band of a surface that has these limits at its points, apart by rounding up to so much.
    pub(super) fn of_surface(
        &self,
        surface: &Surface,
        limits: Values,
        rounding: f64,
    ) -> Result<SurfaceBand> {
        let band = limits.into_band(self, |limit| limit).rounded(rounding, &surface.values);
        checked(band, Vec::as_slice, || surface.names.join(" and "))
    }

    /// The limits around values that lie along one side, or over several, the last of them inside.
    fn values(
        &self,
        values: &[f64],
        sides: &[usize],
        data: &Dataset,
        sample: &dyn Resampling,
    ) -> Result<Values> {
        if self.kind == BandKind::Bootstrap {
            return bootstrap::limits(self, data, sample, values);
        }
        match sample.debiased()? {
            None => analytic(self, &sample.uncertainty()?, values, sides),
            Some(Debiased { curve, uncertainty, cells }) => {
                Ok(Values { cells: Some(cells), ..analytic(self, &uncertainty, &curve, sides)? })
            }
        }
    }
}

/// The band, if its limits are numbers.
fn checked<T>(
    band: ConfidenceBand<T>,
    values: impl Fn(&T) -> &[f64],
    name: impl Fn() -> String,
) -> Result<ConfidenceBand<T>> {
    if band.is_finite(values) {
        return Ok(band);
    }
    Err(Error::Overflow { what: "limits of the band", name: name() })
}

/// By how much rounding may move a curve, from the largest answers of the model.
pub(super) fn rounding_of(model: &MagnitudeProbe<'_>, effect: &Effect) -> f64 {
    let slopes = model.partial(effect.output) * effect.record.axis.width();
    ROUNDING * (model.value(effect.output) + slopes)
}

/// The same of a surface.
pub(super) fn rounding_of_surface(model: &MagnitudeProbe<'_>, surface: &Surface) -> f64 {
    ROUNDING * model.value(surface.output)
}

pub(super) fn analytic(
    request: &BandRequest,
    uncertainty: &Uncertainty,
    curve: &[f64],
    sides: &[usize],
) -> Result<Values> {
    let tail = 1.0 - request.level;
    let pointwise = uncertainty.quantiles(tail)?;
    let critical = uncertainty.thinned(sides).critical_value(request.level, request.seed)?;
    let simultaneous = uncertainty.quantiles(uncertainty::two_sided_tail(critical))?;
    let degrees = uncertainty.degrees().iter().copied().fold(f64::INFINITY, f64::min);
    let (pointwise, simultaneous) =
        (uncertainty.half_widths(&pointwise), uncertainty.half_widths(&simultaneous));
    Ok(Values {
        pointwise: around(curve, |i| pointwise[i]),
        simultaneous: Some(around(curve, |i| simultaneous[i])),
        failed: 0,
        least_degrees: Some(degrees).filter(|degrees| degrees.is_finite()),
        critical_value: Some(critical),
        cells: None,
        refits: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Column, FunctionModel, Model, Rows};
    use crate::numeric::axis::Axis;

    /// Values as large as 3, and slopes as large as 5 along an axis of 4.
    #[test]
    fn rounding_is_that_of_values_and_of_slopes_along_the_axis() {
        let data = Dataset::from_rows(&ndarray::array![[0.0], [4.0]].view()).unwrap();
        let model = FunctionModel::new(1, |x| 1.0 - x[0]).with_partial(|_, x| 5.0 - x[0]);
        let probe = MagnitudeProbe::new(&model);
        let columns = [Column::Values(data.feature(0))];
        let rows = Rows::new(&columns, 2);
        Model::predict(&probe, &rows, &mut [0.0; 2]).unwrap();
        Model::partial(&probe, 0, &rows, &mut [0.0; 2]).unwrap();
        let axis = Axis::new(0.0, 4.0).unwrap();
        let curve = Curve::linear(vec![0.0, 4.0], vec![0.0; 2]);
        let effect = Effect::new((&data, 0), 0, "ale", (axis, curve));
        assert_eq!(rounding_of(&probe, &effect), ROUNDING * (3.0 + 5.0 * 4.0));
    }
}
