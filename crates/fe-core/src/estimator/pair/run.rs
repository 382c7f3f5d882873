//! The run of a model over all instances with features at pairs of points.

use std::ops::Range;

use super::side::Side;
use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::model::{Column, Observed, Rows};
use crate::numeric::blocks::fold_blocks_with;
use crate::numeric::moments::Moments;

/// Instances of a block: their features stay in the nearest cache.
pub(super) const BLOCK: usize = 256;

/// The predictions for all instances with features at given points, block by block.
pub(super) struct Run<'a> {
    pub(super) data: &'a Dataset,
    pub(super) model: &'a Observed<'a>,
}

impl Run<'_> {
    /// For each output the means at all points of a feature, and of another one outside it.
    pub(super) fn means(&self, outer: Option<&Side>, inner: &Side) -> Result<Vec<Vec<f64>>> {
        let outputs = self.model.model().outputs();
        let places = Places::of(outer, inner);
        let count = places.count();
        let mut total = vec![vec![Moments::default(); count]; outputs];
        fold_blocks_with(
            self.data.len(),
            BLOCK,
            Vec::new,
            |room, rows| self.block(&places, rows, room),
            |block: Vec<Moments>| {
                // For each pair of points all outputs.
                for (at, mean) in block.into_iter().enumerate() {
                    let total = &mut total[at % outputs][at / outputs];
                    *total = total.merge(mean);
                }
            },
        )?;
        Ok(total.into_iter().map(|means| means.iter().map(|mean| mean.mean).collect()).collect())
    }

    fn block(
        &self,
        places: &Places,
        rows: Range<usize>,
        room: &mut Vec<f64>,
    ) -> Result<Vec<Moments>, ModelError> {
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        let len = rows.len();
        let mut means = Vec::with_capacity(places.count() * self.model.model().outputs());
        self.each_place(places, rows, room, |values| {
            let known = means.len();
            means.extend(values.chunks(len).map(|values| Moments::mean_of_block(values, weights)));
            means[known..].iter().all(|mean| mean.weight > 0.0 && mean.mean.is_finite())
        })?;
        Ok(means)
    }

    /// Calls `then` on the predictions for some rows at each place, for each output all rows; it says whether all of them
    /// are known to be finite.
    pub(super) fn each_place(
        &self,
        places: &Places,
        rows: Range<usize>,
        room: &mut Vec<f64>,
        mut then: impl FnMut(&[f64]) -> bool,
    ) -> Result<(), ModelError> {
        let (len, outputs) = (rows.len(), self.model.model().outputs());
        let mut columns = self.data.columns(rows);
        let (feature, inner) = &places.inner;
        let outer = places.outer.as_ref().map(|(feature, values)| (*feature, &values[..]));
        for at in 0..places.outer_count() {
            if let Some((feature, values)) = outer {
                columns[feature] = Column::Constant(values[at]);
            }
            if self.model.model().predicts_along() {
                room.resize(inner.len() * outputs * len, 0.0);
                self.model.predict_along(*feature, inner, &Rows::new(&columns, len), room)?;
                room.chunks(outputs * len).for_each(|values| {
                    then(values);
                });
                continue;
            }
            room.resize(outputs * len, 0.0);
            for &x in inner {
                columns[*feature] = Column::Constant(x);
                self.model.predict_and(&Rows::new(&columns, len), room, &mut then)?;
            }
        }
        Ok(())
    }
}

/// The points at which the model is asked.
pub(super) struct Places {
    outer: Option<(usize, Vec<f64>)>,
    inner: (usize, Vec<f64>),
}

impl Places {
    /// All points of a feature, and of another one outside it.
    pub(super) fn of(outer: Option<&Side>, inner: &Side) -> Self {
        Self {
            outer: outer.map(|side| (side.feature, side.values())),
            inner: (inner.feature, inner.values()),
        }
    }

    fn outer_count(&self) -> usize {
        self.outer.as_ref().map_or(1, |(_, values)| values.len())
    }

    /// Number of places.
    pub(super) fn count(&self) -> usize {
        self.outer_count() * self.inner.1.len()
    }
}
