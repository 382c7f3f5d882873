//! Confidence bands of two features: means over instances of a partial dependence, and cells of an accumulated effect
//! with other weights of the rows.

use std::ops::Range;

use nalgebra::DMatrix;

use super::cells::{Each, mean_differences};
use super::joint::Joint;
use super::run::{BLOCK, Places, Run};
use super::side::Side;
use super::{PairObservation, arranged, constant, names, second_order, without_instances};
use crate::confidence::{
    InstanceValues, MOST_HELD, MeanSample, Replicate, Resampling, Uncertainty,
};
use crate::data::Dataset;
use crate::effect::Surface;
use crate::error::{Error, ModelError, Result};
use crate::estimator::Estimated;
use crate::numeric::blocks::fold_blocks_with;
use crate::numeric::simd::all_finite;
use crate::settings::{Centring, EmptyBins};

/// The surfaces of the instances, which a partial dependence is the mean of.
pub(super) struct PairValues<'a> {
    run: Run<'a>,
    sides: [Side; 2],
    surface: &'a Surface,
}

/// A partial dependence on these sides under other weights of the rows.
///
/// # Errors
/// As [`MeanSample::new`].
pub(super) fn of_means<'a>(
    sides: [Side; 2],
    Estimated { data, model, effect: surface }: PairObservation<'a>,
    resampled: bool,
) -> Result<MeanSample<'a, PairValues<'a>>> {
    let values = PairValues { run: Run { data, model }, sides, surface };
    MeanSample::new(values, weights(data), &surface.values, resampled)
}

fn weights(data: &Dataset) -> Vec<f64> {
    data.weights().map_or_else(|| vec![1.0; data.len()], <[f64]>::to_vec)
}

impl PairValues<'_> {
    /// The values of some rows at places, in the order of these.
    fn block(
        &self,
        places: &Places,
        rows: Range<usize>,
        room: &mut Vec<f64>,
    ) -> Result<Vec<f64>, ModelError> {
        let len = rows.len();
        let mut values = Vec::with_capacity(places.count() * len);
        self.run.each_place(places, rows, room, |all| {
            values.extend_from_slice(&all[self.surface.output * len..][..len]);
            all_finite(all)
        })?;
        Ok(values)
    }

    /// The surfaces of some rows, rows × pairs of points: of the interaction part less the curves of either feature.
    fn surfaces(
        &self,
        rows: Range<usize>,
        room: &mut Vec<f64>,
    ) -> Result<DMatrix<f64>, ModelError> {
        let [first, second] = &self.sides;
        let (len, columns) = (rows.len(), second.len());
        let mut values = self.block(&Places::of(Some(first), second), rows.clone(), room)?;
        if self.surface.record.interaction {
            let alone = [
                self.block(&Places::of(None, first), rows.clone(), room)?,
                self.block(&Places::of(None, second), rows, room)?,
            ];
            for (place, values) in values.chunks_mut(len).enumerate() {
                let [first, second] = [place / columns, place % columns].map(|at| at * len);
                let both = alone[0][first..].iter().zip(&alone[1][second..]);
                for (value, (first, second)) in values.iter_mut().zip(both) {
                    *value -= first + second;
                }
            }
        }
        Ok(DMatrix::from_vec(len, first.len() * columns, values))
    }

    fn joint(&self, weights: &[f64]) -> Joint<'_> {
        Joint::weighted(&self.sides, self.run.data, Some(weights))
    }
}

impl InstanceValues for PairValues<'_> {
    fn places(&self) -> usize {
        self.sides[0].len() * self.sides[1].len()
    }

    fn each_block<T: Send>(
        &self,
        work: impl Fn(Range<usize>, DMatrix<f64>) -> T + Sync,
        merge: impl FnMut(T) + Send,
    ) -> Result<()> {
        let in_block = |room: &mut Vec<f64>, rows: Range<usize>| {
            let surfaces = self.surfaces(rows.clone(), room)?;
            Ok::<T, ModelError>(work(rows, surfaces))
        };
        Ok(fold_blocks_with(self.run.data.len(), BLOCK, Vec::new, in_block, merge)?)
    }

    fn constant(&self, weights: &[f64]) -> Result<Vec<f64>> {
        let sides = &self.sides;
        match self.surface.record.centring {
            Centring::Data | Centring::Bins => {
                let mean = self.joint(weights).weights_of_mean();
                mean.ok_or_else(|| without_instances(&names(self.run.data, sides)))
            }
            Centring::None => Ok(vec![0.0; self.places()]),
            Centring::Start => {
                let [i, k] = [0, 1].map(|side: usize| sides[side].start(false));
                let mut weights = vec![0.0; self.places()];
                weights[i * sides[1].len() + k] = 1.0;
                Ok(weights)
            }
            Centring::Integral => {
                let [first, second] = [0, 1].map(|side: usize| sides[side].axis_weights());
                Ok(first.iter().flat_map(|a| second.iter().map(move |b| a * b)).collect())
            }
        }
    }

    fn at_rows(&self, values: &[f64]) -> Option<Vec<Option<f64>>> {
        if self.surface.record.centring != Centring::Data {
            return None;
        }
        let data = self.run.data;
        let at = |row: usize| {
            let place = self.surface.features.map(|feature| data.feature(feature)[row]);
            let [x, y] = place.each_ref().map(std::slice::from_ref);
            self.surface.read_all(values, [x, y]).ok()?.first().copied()
        };
        Some((0..data.len()).map(at).collect())
    }
}

/// Refuses to hold more mixed differences than memory is meant for, so many of each row.
pub(super) fn check_held(data: &Dataset, of_row: usize) -> Result<()> {
    let differences = data.len().saturating_mul(of_row);
    if differences <= MOST_HELD {
        return Ok(());
    }
    Err(Error::BadOption {
        option: "band",
        given: format!("bootstrap of {differences} mixed differences"),
        allowed: format!(
            "all of them are held at once, at most {MOST_HELD}; take a `subsample` of the rows"
        ),
    })
}

/// A second-order accumulated effect with the mixed differences that it came from, on its cells.
pub(super) struct CellSample<'a> {
    empty: EmptyBins,
    sides: [Side; 2],
    data: &'a Dataset,
    surface: &'a Surface,
    each: Each,
}

impl<'a> CellSample<'a> {
    pub(super) fn new(
        empty: EmptyBins,
        sides: [Side; 2],
        Estimated { data, effect: surface, .. }: PairObservation<'a>,
        each: Each,
    ) -> Self {
        Self { empty, sides, data, surface, each }
    }

    /// The mean mixed difference of each pair of steps.
    fn means(&self, weights: &[f64]) -> Vec<Option<f64>> {
        let steps = self.sides[0].steps() * self.sides[1].steps();
        let (mut totals, mut sums) = (vec![0.0; steps], vec![0.0; steps]);
        let Each { rows, steps, values } = &self.each;
        for ((&row, &step), value) in rows.iter().zip(steps).zip(&values[self.surface.output]) {
            totals[step] += weights[row];
            sums[step] += weights[row] * value;
        }
        mean_differences(&totals, &sums)
    }
}

impl Resampling for CellSample<'_> {
    fn replicate(&self, weights: &[f64], _: bool) -> Result<Replicate> {
        let centring = self.surface.record.centring;
        let joint = Joint::weighted(&self.sides, self.data, Some(weights));
        let joint = if centring == Centring::Bins { joint.in_the_middle() } else { joint };
        let means = self.means(weights);
        let (mut values, _) = second_order::values(self.empty, &self.sides, &joint, &means)?;
        let Some(constant) = constant(centring, &self.sides, &joint, &values, true) else {
            return Err(without_instances(&names(self.data, &self.sides)));
        };
        values.iter_mut().for_each(|value| *value -= constant);
        let [rows, places] = [0, 1].map(|side: usize| self.sides[side].ascending());
        let curve = arranged(&values, self.sides[1].len(), [&rows, &places]);
        Ok(Replicate { curve, variances: None })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let message = "`ale` of a pair has no standard errors: take the band bootstrap";
        Err(Error::Incompatible(message.to_owned()))
    }
}
