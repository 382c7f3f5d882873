//! Confidence bands of means over instances on a grid: `pdp`.
//!
//! The centred curve is the mean of the ICE curves, each less what the centring takes from it, so its
//! covariance is theirs over the number of instances.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use super::{IceBlocks, PartialDependence};
use crate::confidence::{MOST_HELD, Purpose, Replicate, Resampling, Uncertainty};
use crate::data::Dataset;
use crate::effect::Effect;
use crate::error::{Error, ModelError, Result};
use crate::estimator::{Estimated, Observation};
use crate::numeric::curve::Curve;
use crate::settings::Centring;

/// A partial dependence with the ICE curves that it is the mean of.
pub(crate) struct GridSample<'a> {
    blocks: IceBlocks<'a>,
    data: &'a Dataset,
    effect: &'a Effect,
    /// Rows × places for each block of rows, where they will be wanted many times.
    held: Option<Vec<(Range<usize>, DMatrix<f64>)>>,
}

/// Instances with their weights, and the curve that they make.
struct Weighted<'w> {
    weights: &'w [f64],
    total: f64,
    /// The constant of the centring, as weights of the values of a curve.
    constant: DVector<f64>,
    /// The centred curve.
    curve: &'w DVector<f64>,
    /// With a centring over the instances: what the place of each adds to the constant.
    of_places: Option<Vec<f64>>,
}

impl<'a> GridSample<'a> {
    /// The model is asked for all ICE curves again.
    ///
    /// # Errors
    /// [`Error::BadOption`] where there are too many to hold for resamples; [`Error::Model`].
    pub(crate) fn new(
        estimator: &'a PartialDependence,
        Estimated { data, model, effect }: Observation<'a>,
        purpose: &Purpose<'_>,
    ) -> Result<Self> {
        let blocks = IceBlocks::new(estimator, data, model, effect.feature)?;
        let mut sample = Self { blocks, data, effect, held: None };
        if purpose.resampled {
            let places = purpose.x.len();
            if data.len().saturating_mul(places) > MOST_HELD {
                return Err(Error::BadOption {
                    option: "band",
                    given: format!("bootstrap of {} ICE curves at {places} places", data.len()),
                    allowed: format!(
                        "all values are held at once, at most {MOST_HELD}; take a `subsample` of \
                         the rows or fewer points"
                    ),
                });
            }
            let mut held = Vec::new();
            sample.each_block(|rows, ice| (rows, ice.clone()), |block| held.push(block))?;
            sample.held = Some(held);
        }
        Ok(sample)
    }

    /// Calls `work` on the ICE curves of all blocks of rows, rows × places.
    fn each_block<T: Send>(
        &self,
        work: impl Fn(Range<usize>, &DMatrix<f64>) -> T + Sync,
        mut merge: impl FnMut(T) + Send,
    ) -> Result<()> {
        if let Some(held) = &self.held {
            held.iter().for_each(|(rows, ice)| merge(work(rows.clone(), ice)));
            return Ok(());
        }
        let (outputs, output) = (self.blocks.outputs(), self.effect.output);
        let places = self.blocks.x().len();
        let in_block = |rows: Range<usize>, ice: &[f64]| {
            let len = rows.len();
            let value = |row: usize, place: usize| ice[(place * outputs + output) * len + row];
            Ok::<T, ModelError>(work(rows, &DMatrix::from_fn(len, places, value)))
        };
        Ok(self.blocks.fold(in_block, merge)?)
    }

    fn constant(&self, weights: &[f64]) -> DVector<f64> {
        let constant = self.blocks.constant_weights(weights);
        DVector::from_iterator(constant.len(), constant.iter().copied())
    }

    fn curve(&self, weights: &[f64]) -> Result<DVector<f64>> {
        let mut curve = DVector::zeros(self.blocks.x().len());
        let total: f64 = weights.iter().sum();
        self.each_block(
            |rows, ice| ice.tr_mul(&DVector::from_column_slice(&weights[rows])),
            |sum| curve += sum,
        )?;
        curve /= total;
        let constant = self.constant(weights).dot(&curve);
        Ok(curve.add_scalar(-constant))
    }

    fn weighted<'w>(&self, weights: &'w [f64], curve: &'w DVector<f64>) -> Result<Weighted<'w>> {
        let total: f64 = weights.iter().sum();
        if total <= 1.0 {
            let message = "a single instance does not tell how uncertain the effect is";
            return Err(Error::Incompatible(message.to_owned()));
        }
        let of_places = (self.effect.record.centring == Centring::Data)
            .then(|| self.of_places(weights, curve, total));
        let constant = self.constant(weights);
        Ok(Weighted { weights, total, constant, curve, of_places })
    }

    fn of_places(&self, weights: &[f64], curve: &DVector<f64>, total: f64) -> Vec<f64> {
        let axis = self.effect.record.axis;
        let curve = Curve::linear(self.blocks.x().to_vec(), curve.as_slice().to_vec());
        let positions = self.data.feature(self.effect.feature);
        let on_axis = positions.iter().zip(weights).filter(|(x, _)| axis.contains(**x));
        let weight: f64 = on_axis.map(|(_, weight)| weight).sum();
        let share = |&x: &f64| curve.at(x).map_or(0.0, |y| y * (total / weight));
        positions.iter().map(share).collect()
    }
}

impl Weighted<'_> {
    /// Contributions of each row of a block to the curve, rows × places, times the root of its weight.
    fn deviations(&self, rows: Range<usize>, ice: &DMatrix<f64>) -> DMatrix<f64> {
        let constants = ice * &self.constant;
        let mut deviations = ice.clone();
        for (place, mut column) in deviations.column_iter_mut().enumerate() {
            for (i, value) in column.iter_mut().enumerate() {
                let row = rows.start + i;
                let of_place = self.of_places.as_ref().map_or(0.0, |of_places| of_places[row]);
                *value -= constants[i] + self.curve[place] + of_place;
                *value *= self.weights[row].sqrt();
            }
        }
        deviations
    }
}

impl Resampling for GridSample<'_> {
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate> {
        let curve = self.curve(weights)?;
        let mut squares = None;
        if variances {
            let weighted = self.weighted(weights, &curve)?;
            let mut sums = vec![0.0; curve.len()];
            self.each_block(
                |rows, ice| weighted.deviations(rows, ice),
                |deviations| {
                    for (sum, column) in sums.iter_mut().zip(deviations.column_iter()) {
                        *sum += column.norm_squared();
                    }
                },
            )?;
            let total = weighted.total;
            squares = Some(sums.iter().map(|sum| sum / (total * (total - 1.0))).collect());
        }
        Ok(Replicate { curve: curve.as_slice().to_vec(), variances: squares })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let weights: Vec<f64> = self.data.weighted(0).map(|(_, weight)| weight).collect();
        let curve = self.effect.curve.y();
        let curve = DVector::from_column_slice(curve);
        let weighted = self.weighted(&weights, &curve)?;
        let places = curve.len();
        if places.saturating_mul(places) > MOST_HELD {
            return Err(Error::BadOption {
                option: "grid",
                given: format!("{places} points"),
                allowed: format!("their square is at most {MOST_HELD} for a band"),
            });
        }
        let mut scatter = DMatrix::zeros(places, places);
        self.each_block(
            |rows, ice| {
                let deviations = weighted.deviations(rows, ice);
                deviations.tr_mul(&deviations)
            },
            |block| scatter += block,
        )?;
        scatter /= weighted.total * (weighted.total - 1.0);
        Ok(Uncertainty::of_covariance(scatter, vec![weighted.total - 1.0; places]))
    }
}
