//! ICE curves of all instances: block after block, or held in a table.

use std::convert::Infallible;
use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1};
use rayon::prelude::*;

use super::PartialDependence;
use super::run::{BLOCK, IceRun, PointMoments, transpose};
use crate::data::Dataset;
use crate::effect::{Effect, IceCurves};
use crate::error::{Error, ModelError, Result};
use crate::estimator::derivatives::Derivatives;
use crate::estimator::grid::Grid;
use crate::model::Observed;
use crate::numeric::blocks::{fill_blocks, fold_blocks, fold_blocks_with};
use crate::numeric::moments::Moments;
use crate::numeric::simd::vectorised;
use crate::numeric::sums::Sums;

/// Least number of curves whose sums are made into moments together.
const CURVES_SUMMED: usize = 4096;

/// Curves that are added to the sums of all groupings before the next.
const CURVES_TOGETHER: usize = 64;

/// A division of the rows of some data.
pub(crate) struct Grouping<'a> {
    /// The group of each row; none if all are in one.
    pub(crate) of: Option<&'a [u32]>,
    /// Number of groups.
    pub(crate) groups: usize,
}

/// Sums of curves and of their squares in some groups, counted from the first curve of each as in
/// [`Sums`]. All points of a curve are worked on side by side.
struct CurveSums {
    points: usize,
    /// For each group the weight of its curves.
    weights: Vec<f64>,
    /// For each group and point the value of the first curve.
    first: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl CurveSums {
    fn new(groups: usize, points: usize) -> Self {
        let zeros = || vec![0.0; groups * points];
        let weights = vec![0.0; groups];
        Self { points, weights, first: zeros(), sums: zeros(), squares: zeros() }
    }

    /// Adds a curve, lowered by a constant, to a group.
    fn add(&mut self, group: usize, curve: &[f64], lowered: f64, weight: f64) {
        let at = group * self.points..(group + 1) * self.points;
        let first = &mut self.first[at.clone()];
        let (sums, squares) = (&mut self.sums[at.clone()], &mut self.squares[at]);
        if self.weights[group] == 0.0 {
            first.iter_mut().zip(curve).for_each(|(first, value)| *first = value - lowered);
        }
        self.weights[group] += weight;
        vectorised(
            #[inline(always)]
            || {
                let (lowered, weight) = (lowered, weight);
                let totals = sums.iter_mut().zip(&mut *squares);
                for (((sum, square), &value), first) in totals.zip(curve).zip(&*first) {
                    let shifted = (value - lowered) - first;
                    *sum += weight * shifted;
                    *square += weight * shifted * shifted;
                }
            },
        );
    }

    /// Merges the moments of the curves into those of others.
    fn merge_into(&self, total: &mut [Vec<Moments>]) {
        for (group, total) in total.iter_mut().enumerate() {
            for (point, total) in total.iter_mut().enumerate() {
                let at = group * self.points + point;
                let weight = self.weights[group];
                let sums = Sums::new(self.first[at], weight, self.sums[at], self.squares[at]);
                *total = total.merge(sums.moments());
            }
        }
    }
}

/// The ICE curves of all instances, block after block.
pub(crate) struct IceBlocks<'a> {
    estimator: &'a PartialDependence,
    run: IceRun<'a>,
}

impl<'a> IceBlocks<'a> {
    pub(crate) fn new(
        estimator: &'a PartialDependence,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
    ) -> Result<Self> {
        Ok(Self { estimator, run: estimator.run(data, model, feature)? })
    }

    /// The points of the curves.
    pub(crate) fn x(&self) -> &[f64] {
        &self.run.grid.x
    }

    pub(crate) fn outputs(&self) -> usize {
        self.run.model.model().outputs()
    }

    /// The constant that the centring subtracts, as weights of the values of a curve, where the rows
    /// have these weights.
    pub(crate) fn constant_weights(&self, weights: &[f64]) -> Array1<f64> {
        let positions = self.run.data.feature(self.run.feature).iter().copied();
        self.estimator.constant_weights(&self.run, positions.zip(weights.iter().copied()))
    }

    /// Calls `work` on the curves of consecutive blocks of rows (at each point, for each output, all
    /// rows) and `merge` on the results, in row order.
    pub(crate) fn fold<T: Send>(
        &self,
        work: impl Fn(Range<usize>, &[f64]) -> Result<T, ModelError> + Sync,
        merge: impl FnMut(T) + Send,
    ) -> Result<(), ModelError> {
        let in_block = |rows: Range<usize>| work(rows.clone(), &self.run.block_ice(rows)?);
        fold_blocks(self.run.data.len(), BLOCK, in_block, merge)
    }
}

/// The ICE curves of all instances, held so that any part of them can be summarised without asking
/// the model again.
pub(crate) struct IceTable<'a> {
    estimator: &'a PartialDependence,
    run: IceRun<'a>,
    /// For each output and row all points.
    values: Vec<f64>,
    /// For each output the mean of every row's curve over the axis.
    means: Vec<f64>,
}

impl<'a> IceTable<'a> {
    /// Asks the model for every instance at every point.
    ///
    /// # Errors
    /// [`Error::BadOption`] if the table would hold more than `most` values.
    pub(crate) fn new(
        estimator: &'a PartialDependence,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
        most: usize,
    ) -> Result<Self> {
        let run = estimator.run(data, model, feature)?;
        let (rows, points, outputs) = (data.len(), run.grid.x.len(), model.model().outputs());
        let size = rows.saturating_mul(points).saturating_mul(outputs);
        if size > most {
            return Err(Error::BadOption {
                option: "grid",
                given: format!("{points} points for {rows} rows and {outputs} outputs"),
                allowed: format!(
                    "all ICE values are held at once, at most {most}; take a `subsample` of the \
                     rows or fewer points"
                ),
            });
        }
        let mut values = vec![0.0; size];
        let mut means = vec![0.0; rows * outputs];
        let tables = values.chunks_mut(rows * points).chain(means.chunks_mut(rows)).collect();
        fill_blocks(rows, BLOCK, tables, Vec::new, |ice, block, tables| {
            let (curves, means) = tables.split_at_mut(outputs);
            run.block_curves(block, ice, curves, means)
        })?;
        run.check()?;
        Ok(Self { estimator, run, values, means })
    }

    /// The curves of the instances that count, for each output, each lowered by a constant of its own:
    /// what the centring subtracts from it alone. The table is not copied.
    pub(crate) fn into_curves(self) -> Vec<IceCurves> {
        let Self { estimator, run, mut values, .. } = self;
        let (rows, x) = (run.data.len(), run.grid.x.clone());
        let instances = run.data.weighted(run.feature);
        let weights = estimator.constant_weights(&run, instances);
        let counted = run.data.weighted(run.feature).map(|(_, weight)| weight > 0.0);
        let counted: Vec<usize> = counted.enumerate().filter(|(_, c)| *c).map(|(i, _)| i).collect();
        let of_output = |mut values: Vec<f64>| {
            values.par_chunks_mut(x.len()).with_min_len(BLOCK).for_each(|curve| {
                let constant = ArrayView1::from(&*curve).dot(&weights);
                curve.iter_mut().for_each(|value| *value -= constant);
            });
            let mut values = Array2::from_shape_vec((rows, x.len()), values).unwrap_or_default();
            if counted.len() < rows {
                values = values.select(ndarray::Axis(0), &counted);
            }
            IceCurves { x: x.clone(), rows: counted.clone(), values }
        };
        let mut curves = Vec::new();
        while !values.is_empty() {
            curves.push(of_output(values.split_off(values.len() - rows * x.len())));
        }
        curves.reverse();
        curves
    }

    /// The source of derivatives, if the curves are d-ICE curves.
    pub(crate) fn derivatives(&self) -> Option<Derivatives> {
        self.run.derivatives
    }

    /// The values of a row's curve at all points.
    fn curve_values(&self, output: usize, row: usize) -> &[f64] {
        let points = self.run.grid.x.len();
        &self.values[(output * self.run.data.len() + row) * points..][..points]
    }

    fn weights_of(&self, rows: &[usize]) -> Option<Vec<f64>> {
        let weights = self.run.data.weights()?;
        Some(rows.iter().map(|&row| weights[row]).collect())
    }

    /// For each grouping the moments over the rows of every group at every grid point: of the curves
    /// as they are, or of the centred ones (unless the estimator takes those as they are).
    pub(crate) fn summarise(
        &self,
        output: usize,
        rows: &[usize],
        groupings: &[Grouping<'_>],
        raw: bool,
    ) -> Vec<Vec<Vec<Moments>>> {
        let points = self.run.grid.x.len();
        let none =
            |grouping: &Grouping<'_>| vec![vec![Moments::default(); points]; grouping.groups];
        let mut total: Vec<_> = groupings.iter().map(none).collect();
        let Ok(()) = fold_blocks(
            rows.len(),
            (rows.len() / 8).max(CURVES_SUMMED),
            |block| Ok::<_, Infallible>(self.sum_up(output, &rows[block], groupings, raw)),
            |block| {
                for (total, sums) in total.iter_mut().zip(block) {
                    sums.merge_into(total);
                }
            },
        );
        let grid = &self.run.grid.grid_indices;
        let on_grid = |all: Vec<Moments>| grid.iter().map(|&i| all[i]).collect();
        let of_groups = |all: Vec<Vec<Moments>>| all.into_iter().map(on_grid).collect();
        total.into_iter().map(of_groups).collect()
    }

    fn sum_up(
        &self,
        output: usize,
        rows: &[usize],
        groupings: &[Grouping<'_>],
        raw: bool,
    ) -> Vec<CurveSums> {
        let raw = raw || self.estimator.raw_ice;
        let means = &self.means[output * self.run.data.len()..];
        let weights = self.run.data.weights();
        let points = self.run.grid.x.len();
        let mut sums: Vec<_> =
            groupings.iter().map(|grouping| CurveSums::new(grouping.groups, points)).collect();
        // Few enough curves that they stay in the cache for all groupings.
        for rows in rows.chunks(CURVES_TOGETHER) {
            for (sums, grouping) in sums.iter_mut().zip(groupings) {
                for &row in rows {
                    let group = grouping.of.map_or(0, |of| of[row] as usize);
                    let lowered = if raw { 0.0 } else { means[row] };
                    let weight = weights.map_or(1.0, |weights| weights[row]);
                    sums.add(group, self.curve_values(output, row), lowered, weight);
                }
            }
        }
        sums
    }

    /// Variance at every grid point, from the moments there.
    pub(crate) fn variances(&self, moments: &[Moments]) -> Vec<Option<f64>> {
        moments.iter().map(|point| point.variance(self.estimator.common.ddof)).collect()
    }

    /// The shares of the levels that the points are, of a feature that has such.
    pub(crate) fn shares(&self) -> Option<&[f64]> {
        self.run.grid.levels.as_ref().map(|_| &self.run.grid.mean_weights[..])
    }

    /// The effect of some rows alone.
    pub(crate) fn effect(&self, output: usize, rows: &[usize]) -> Result<Effect> {
        let places = &self.run.grid;
        let mut total = vec![PointMoments::default(); places.x.len()];
        let of_block = |ice: &mut Vec<f64>, block: Range<usize>| {
            let block = &rows[block];
            let curves = block.iter().map(|&row| self.curve_values(output, row));
            ice.resize(places.x.len() * block.len(), 0.0);
            transpose(&curves.collect::<Vec<_>>(), 0, ice);
            let weights = self.weights_of(block);
            Ok::<_, Infallible>(places.moments(ice, block.len(), weights.as_deref()))
        };
        let Ok(()) = fold_blocks_with(rows.len(), BLOCK, Vec::new, of_block, |moments| {
            for (total, block) in total.iter_mut().zip(&moments) {
                total.raw = total.raw.merge(block.raw);
                total.centred = total.centred.merge(block.centred);
            }
        });
        let data = self.run.data.select(rows);
        let levels = places.levels.as_ref();
        let levels = levels.map(|levels| levels.counted(data.weighted(self.run.feature)));
        let run = IceRun { data: &data, grid: Grid { levels, ..places.clone() }, ..self.run };
        self.estimator.effect(&run, &total, output)
    }
}
