//! The run of a model over the ICE curves of all instances on a grid.

use std::ops::Range;

use super::super::grid::Grid;
use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::estimator::derivatives::Derivatives;
use crate::estimator::parts::Asked;
use crate::model::{Column, Observed, Rows};
use crate::numeric::blocks::fold_stretches;
use crate::numeric::moments::{Moments, add_each, sum_in_lanes};
use crate::numeric::simd::all_finite;

/// Instances of a block: with 100 grid points their predictions fit the cache.
pub(super) const BLOCK: usize = 256;

/// Moments at one point of the curve.
#[derive(Clone, Copy, Default)]
pub(super) struct PointMoments {
    /// Of f(x, x_c^(i)).
    pub(super) raw: Moments,
    /// Of the same minus the mean of the instance's ICE curve over the axis.
    pub(super) centred: Moments,
}

impl PointMoments {
    /// Of values, and of the same values less the means of the curves.
    fn weighted(values: &[f64], means: &[f64], weights: &[f64]) -> Self {
        let rest: Vec<f64> = values.iter().zip(means).map(|(value, mean)| value - mean).collect();
        Self {
            raw: Moments::of_block(values, Some(weights)),
            centred: Moments::of_block(&rest, Some(weights)),
        }
    }
}

/// Merges the moments of further rows, output by output and point by point.
pub(super) fn merge_points(total: &mut [Vec<PointMoments>], further: &[Vec<PointMoments>]) {
    for (total, further) in total.iter_mut().flatten().zip(further.iter().flatten()) {
        total.raw = total.raw.merge(further.raw);
        total.centred = total.centred.merge(further.centred);
    }
}

/// The ICE curves of all instances on a grid, asked for block by block: what `pdp`, `dpdp`, `ice` and `dice` are
/// made of.
pub(crate) struct IceRun<'a> {
    pub(super) data: &'a Dataset,
    pub(super) model: &'a Observed<'a>,
    pub(super) feature: usize,
    /// The source of derivatives, where they are what is averaged.
    pub(super) derivatives: Option<Derivatives>,
    pub(super) grid: Grid,
}

impl<'a> IceRun<'a> {
    /// Of some data and a feature, at the points of a grid; of the derivative where it is said how.
    pub(crate) fn new(
        (data, feature): (&'a Dataset, usize),
        model: &'a Observed<'a>,
        grid: Grid,
        derivatives: Option<Derivatives>,
    ) -> Self {
        Self { data, model, feature, derivatives, grid }
    }

    /// Questions that the model was asked.
    pub(super) fn asked(&self) -> Asked {
        Asked::of(self.model, self.derivatives.map(Derivatives::describe))
    }

    /// Refuses derivatives that were asked for and say nothing of the model.
    pub(super) fn check(&self) -> Result<()> {
        match self.derivatives {
            Some(derivatives) => derivatives.check(self.model, (self.data, self.feature)),
            None => Ok(()),
        }
    }

    /// Moments at every point, for each output.
    pub(super) fn moments(&self) -> Result<Vec<Vec<PointMoments>>> {
        let outputs = self.model.model().outputs();
        let total = fold_stretches(
            self.data.len(),
            |_| BLOCK,
            vec![vec![PointMoments::default(); self.grid.x.len()]; outputs],
            || vec![0.0; self.grid.x.len() * outputs * BLOCK.min(self.data.len())],
            |ice, rows| self.block_moments(rows, ice),
            |total, block| merge_points(total, &block),
            |total, stretch| merge_points(total, stretch),
        )?;
        Ok(total)
    }

    fn block_moments(
        &self,
        rows: Range<usize>,
        ice: &mut [f64],
    ) -> Result<Vec<Vec<PointMoments>>, ModelError> {
        let (points, outputs) = (self.grid.x.len(), self.model.model().outputs());
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        let ice = &mut ice[..points * outputs * rows.len()];
        let mut sums = BlockSums::new(&self.grid, rows.len(), outputs, weights);
        self.ask(rows, ice, |point, values| sums.add(point, values))?;
        Ok(sums.moments(ice))
    }

    /// The same with the means alone: each value is looked at once, and no curve is held.
    pub(super) fn means(&self) -> Result<Vec<Vec<PointMoments>>> {
        let outputs = self.model.model().outputs();
        let total = fold_stretches(
            self.data.len(),
            |_| BLOCK,
            vec![vec![PointMoments::default(); self.grid.x.len()]; outputs],
            || vec![0.0; outputs * BLOCK],
            |values, rows| self.block_means(rows, values),
            |total, block| {
                // For each point all outputs.
                for (at, mean) in block.into_iter().enumerate() {
                    let total = &mut total[at % outputs][at / outputs].raw;
                    *total = total.merge(mean);
                }
            },
            |total, stretch| merge_points(total, stretch),
        )?;
        Ok(total)
    }

    /// For each point and output the weight and the mean of the values of some rows.
    fn block_means(
        &self,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<Vec<Moments>, ModelError> {
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        let len = rows.len();
        if self.model.model().predicts_along() {
            let ice = self.block_ice(rows)?;
            return Ok(ice.chunks(len).map(|at| Moments::mean_of_block(at, weights)).collect());
        }
        let mut means = Vec::with_capacity(self.grid.x.len() * self.model.model().outputs());
        let mut columns = self.data.columns(rows);
        let values = &mut values[..self.model.model().outputs() * len];
        for &x in &self.grid.x {
            self.ask_at(x, &mut columns, values, |values| {
                let known = means.len();
                let mean = |values| Moments::mean_of_block(values, weights);
                means.extend(values.chunks(len).map(mean));
                means[known..].iter().all(|mean| mean.weight > 0.0 && mean.mean.is_finite())
            })?;
        }
        Ok(means)
    }

    /// The ICE curves of some rows: at each point, for each output, all rows.
    pub(super) fn block_ice(&self, rows: Range<usize>) -> Result<Vec<f64>, ModelError> {
        let outputs = self.model.model().outputs();
        let mut ice = vec![0.0; self.grid.x.len() * outputs * rows.len()];
        self.ask(rows, &mut ice, |_, values| all_finite(values))?;
        Ok(ice)
    }

    /// Writes the ICE curves of some rows and their means over the axis: for each output all points of each
    /// row, and a mean for each row.
    pub(super) fn block_curves(
        &self,
        rows: Range<usize>,
        ice: &mut Vec<f64>,
        curves: &mut [&mut [f64]],
        means: &mut [&mut [f64]],
    ) -> Result<(), ModelError> {
        let (len, outputs) = (rows.len(), curves.len());
        ice.resize(self.grid.x.len() * outputs * len, 0.0);
        let mut sums = BlockSums::new(&self.grid, len, outputs, None);
        self.ask(rows, ice, |point, values| sums.add(point, values))?;
        let points: Vec<&[f64]> = ice.chunks(outputs * len).collect();
        for (output, (curves, means)) in curves.iter_mut().zip(means).enumerate() {
            transpose(&points, output * len, curves);
            means.copy_from_slice(&sums.means[output * len..][..len]);
        }
        Ok(())
    }

    /// Writes the ICE curves of some rows, and calls `then` on each point and its values while they
    /// are in the nearest cache; it says whether all of them are known to be finite.
    fn ask(
        &self,
        rows: Range<usize>,
        ice: &mut [f64],
        mut then: impl FnMut(usize, &[f64]) -> bool,
    ) -> Result<(), ModelError> {
        let len = rows.len();
        let outputs = self.model.model().outputs();
        let mut columns = self.data.columns(rows);
        if self.derivatives.is_none() && self.model.model().predicts_along() {
            let rows = Rows::new(&columns, len);
            self.model.predict_along(self.feature, &self.grid.x, &rows, ice)?;
            for (point, values) in ice.chunks(outputs * len).enumerate() {
                then(point, values);
            }
            return Ok(());
        }
        let points = self.grid.x.iter().zip(ice.chunks_mut(outputs * len));
        for (point, (&x, values)) in points.enumerate() {
            self.ask_at(x, &mut columns, values, |values| then(point, values))?;
        }
        Ok(())
    }

    /// Writes what the model says of some rows with the feature at one place, and calls `then` on it.
    fn ask_at<'b>(
        &self,
        x: f64,
        columns: &mut [Column<'b>],
        values: &mut [f64],
        mut then: impl FnMut(&[f64]) -> bool,
    ) -> Result<(), ModelError> {
        columns[self.feature] = Column::Constant(x);
        let len = values.len() / self.model.model().outputs();
        match self.derivatives {
            None => self.model.predict_and(&Rows::new(columns, len), values, then),
            Some(derivatives) => {
                derivatives.evaluate(self.model, self.feature, columns, len, values)?;
                then(values);
                Ok(())
            }
        }
    }
}

/// Sums over a block of rows while its ICE curves come point by point.
struct BlockSums<'a> {
    grid: &'a Grid,
    weights: Option<&'a [f64]>,
    rows: usize,
    /// For each point and output the sum of the values.
    sums: Vec<f64>,
    /// For each output and row the mean of the curve over the axis.
    means: Vec<f64>,
}

impl<'a> BlockSums<'a> {
    fn new(grid: &'a Grid, rows: usize, outputs: usize, weights: Option<&'a [f64]>) -> Self {
        let sums = Vec::with_capacity(grid.x.len() * outputs);
        Self { grid, weights, rows, sums, means: vec![0.0; outputs * rows] }
    }

    /// Adds the values at the next point, for each output all rows; says whether all are known to be
    /// finite, as their sums are.
    fn add(&mut self, point: usize, values: &[f64]) -> bool {
        let known = self.sums.len();
        let weight = self.grid.mean_weights[point];
        for (means, values) in self.means.chunks_mut(self.rows).zip(values.chunks(self.rows)) {
            let sum =
                add_each(means, values, values, move |value, _| weight * value, |value, _| value);
            self.sums.push(sum);
        }
        self.sums[known..].iter().all(|sum| sum.is_finite())
    }

    /// Moments at every point, for each output, from the curves: at each point, for each output, all
    /// rows.
    pub(super) fn moments(&self, ice: &[f64]) -> Vec<Vec<PointMoments>> {
        let outputs = self.means.len() / self.rows;
        let of_output = |output: usize| {
            let means = &self.means[output * self.rows..][..self.rows];
            let mean_of_means = sum_in_lanes(means, |mean| mean) / self.rows as f64;
            let of_point = |point: usize| {
                let at = point * outputs + output;
                let values = &ice[at * self.rows..][..self.rows];
                match self.weights {
                    None => {
                        let mean = self.sums[at] / self.rows as f64;
                        let [raw, centred] = Moments::about(values, mean, means, mean_of_means);
                        PointMoments { raw, centred }
                    }
                    Some(weights) => PointMoments::weighted(values, means, weights),
                }
            };
            (0..self.grid.x.len()).map(of_point).collect()
        };
        (0..outputs).map(of_output).collect()
    }
}

impl Grid {
    /// Moments at every point from the ICE curves of `len` rows on one output.
    pub(super) fn moments(
        &self,
        ice: &[f64],
        len: usize,
        weights: Option<&[f64]>,
    ) -> Vec<PointMoments> {
        let mut sums = BlockSums::new(self, len, 1, weights);
        for (point, values) in ice.chunks(len).enumerate() {
            sums.add(point, values);
        }
        sums.moments(ice).swap_remove(0)
    }
}

/// Columns of a table, given row by row: one after the other, from the first one on.
pub(super) fn transpose(rows: &[&[f64]], first: usize, columns: &mut [f64]) {
    // Few enough columns at once that all of them stay in the nearest cache.
    const TOGETHER: usize = 8;
    let height = rows.len();
    let together = columns.chunks_mut(TOGETHER * height);
    for (first, columns) in (first..).step_by(TOGETHER).zip(together) {
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in columns.chunks_mut(height).zip(&values[first..]) {
                column[row] = *value;
            }
        }
    }
}
