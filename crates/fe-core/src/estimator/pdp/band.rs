//! ICE curves as what confidence bands of `pdp` are made of.

use std::ops::Range;

use nalgebra::DMatrix;

use super::{IceBlocks, PartialDependence};
use crate::confidence::{InstanceValues, MeanSample, Purpose};
use crate::data::Dataset;
use crate::effect::Effect;
use crate::error::{ModelError, Result};
use crate::estimator::{Estimated, Observation};
use crate::numeric::curve::Curve;
use crate::settings::Centring;

/// The ICE curves that a partial dependence is the mean of.
pub(crate) struct GridValues<'a> {
    blocks: IceBlocks<'a>,
    data: &'a Dataset,
    effect: &'a Effect,
}

/// A partial dependence under other weights of the rows.
///
/// # Errors
/// As [`MeanSample::new`].
pub(super) fn sample<'a>(
    estimator: &'a PartialDependence,
    Estimated { data, model, effect }: Observation<'a>,
    purpose: &Purpose<'_>,
) -> Result<MeanSample<'a, GridValues<'a>>> {
    let blocks = IceBlocks::new(estimator, data, model, effect.feature)?;
    let weights = data.weighted(effect.feature).map(|(_, weight)| weight).collect();
    let values = GridValues { blocks, data, effect };
    MeanSample::new(values, weights, effect.curve.y(), purpose.resampled)
}

impl InstanceValues for GridValues<'_> {
    fn places(&self) -> usize {
        self.blocks.x().len()
    }

    fn each_block<T: Send>(
        &self,
        work: impl Fn(Range<usize>, DMatrix<f64>) -> T + Sync,
        merge: impl FnMut(T) + Send,
    ) -> Result<()> {
        let (outputs, output) = (self.blocks.outputs(), self.effect.output);
        let places = self.places();
        let in_block = |rows: Range<usize>, ice: &[f64]| {
            let len = rows.len();
            let value = |row: usize, place: usize| ice[(place * outputs + output) * len + row];
            Ok::<T, ModelError>(work(rows, DMatrix::from_fn(len, places, value)))
        };
        Ok(self.blocks.fold(in_block, merge)?)
    }

    fn constant(&self, weights: &[f64]) -> Result<Vec<f64>> {
        Ok(self.blocks.constant_weights(weights).to_vec())
    }

    fn at_rows(&self, values: &[f64]) -> Option<Vec<Option<f64>>> {
        if self.effect.record.centring != Centring::Data {
            return None;
        }
        let axis = self.effect.record.axis;
        let curve = Curve::linear(self.blocks.x().to_vec(), values.to_vec());
        let at = |&x: &f64| axis.contains(x).then(|| curve.at(x).unwrap_or_default());
        Some(self.data.feature(self.effect.feature).iter().map(at).collect())
    }
}
