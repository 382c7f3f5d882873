//! Local effects: what each instance says about the effect of a feature at its position.
//!
//! They are the shared middle of `ale`, `dale` and `rhale`. They are never held all at once: a
//! source of local effects is summarised, block by block, as moments per bin.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::estimator::derivatives::Derivatives;
use crate::estimator::parts::Asked;
use crate::model::{Column, Observed, Rows};
use crate::numeric::blocks::{fold_blocks, fold_stretches};
use crate::numeric::moments::{Moments, merge_all};
use crate::numeric::order_statistics::places_where;
use crate::numeric::partition::Partition;
use crate::numeric::simd::subtract;
use crate::numeric::sums::BinSums;

/// Rows that are worked on together: small enough for the cache, large enough to hide the cost of a
/// call.
pub(crate) const BLOCK: usize = 2048;

/// Most rows whose sums are made into moments together; what merging many bins costs is shared by
/// many rows.
const MOST_SUMMED: usize = 1 << 20;

/// The source of local effects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Source {
    /// (f(z_k, x_c) − f(z_{k−1}, x_c)) / Δz_k (Apley and Zhu 2020).
    Differences,
    /// ∂f/∂x_s (RHALE eq. 4).
    Derivatives(Derivatives),
}

/// The local effects of one feature in some data.
pub(crate) struct LocalEffects<'a> {
    pub(crate) data: &'a Dataset,
    pub(crate) model: &'a Observed<'a>,
    pub(crate) feature: usize,
    pub(crate) source: Source,
    finest: OnceLock<(Partition, Vec<Vec<Moments>>)>,
    // Local effects that are already known: for each output one per row.
    held: Option<Vec<Vec<f64>>>,
    /// All data, of which these are a region, and the feature there.
    pub(crate) whole: (&'a Dataset, usize),
}

impl<'a> LocalEffects<'a> {
    pub(crate) fn new(
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
        source: Source,
    ) -> Self {
        Self {
            data,
            model,
            feature,
            source,
            finest: OnceLock::new(),
            held: None,
            whole: (data, feature),
        }
    }

    /// The same local effects, known already: for each output one per row. The model is not asked.
    ///
    /// Differences belong to the partition they were made on, and may be summarised on no other.
    pub(crate) fn holding(mut self, values: Vec<Vec<f64>>) -> Self {
        self.held = Some(values);
        self
    }

    /// The same in a region of other data.
    pub(crate) fn within(mut self, data: &'a Dataset, feature: usize) -> Self {
        self.whole = (data, feature);
        self
    }

    /// The local effect of every instance, for each output; NaN where a row does not count.
    pub(crate) fn of_instances(&self, partition: &Partition) -> Result<Vec<Vec<f64>>> {
        let all = self.of_moved(partition)?;
        self.check()?;
        Ok(all)
    }

    /// The same of rows that are not in the data, of which derivatives are not held to say something of the model.
    pub(crate) fn of_moved(&self, partition: &Partition) -> Result<Vec<Vec<f64>>> {
        let outputs = self.model.model().outputs();
        let mut all = vec![vec![f64::NAN; self.data.len()]; outputs];
        fold_blocks(
            self.data.len(),
            BLOCK,
            |rows| {
                let Buffers { mut bins, mut values, .. } = Buffers::default();
                let block = Block::new(self.data, self.feature, partition, rows, &mut bins);
                self.effects_of(&block, partition, &mut values)?;
                Ok::<_, ModelError>((block.indices(), values.effects))
            },
            |(indices, effects)| {
                for (all, effects) in all.iter_mut().zip(effects.chunks(indices.len().max(1))) {
                    for (&row, &effect) in indices.iter().zip(effects) {
                        all[row] = effect;
                    }
                }
            },
        )?;
        Ok(all)
    }

    /// Questions that the model was asked.
    pub(crate) fn asked(&self) -> Asked {
        let derivatives = match self.source {
            Source::Differences => None,
            Source::Derivatives(derivatives) => Some(derivatives.describe()),
        };
        Asked::of(self.model, derivatives)
    }

    /// Refuses derivatives that say nothing of the model.
    fn check(&self) -> Result<()> {
        match (self.source, &self.held) {
            (Source::Derivatives(derivatives), None) => {
                derivatives.check(self.model, (self.data, self.feature))
            }
            _ => Ok(()),
        }
    }

    /// Moments of the local effects in each bin, for each output.
    ///
    /// The model is asked once for all outputs. Derivatives do not depend on the bins: once they were
    /// summarised, bins made of whole former bins are merged from those without asking again.
    pub(crate) fn summarise(&self, partition: &Partition) -> Result<Vec<Vec<Moments>>> {
        if let Some((finest, moments)) = self.finest.get() {
            if finest == partition {
                return Ok(moments.clone());
            }
            if self.source != Source::Differences
                && let Some(ends) = coarsening(finest, partition)
            {
                return Ok(moments.iter().map(|cells| merge_cells(cells, &ends)).collect());
            }
        }
        let moments = self.evaluate(partition)?;
        let _ = self.finest.set((partition.clone(), moments.clone()));
        Ok(moments)
    }

    fn evaluate(&self, partition: &Partition) -> Result<Vec<Vec<Moments>>> {
        let outputs = self.model.model().outputs();
        let merge = |total: &mut Vec<Vec<Moments>>, found: &Vec<Vec<Moments>>| {
            total.iter_mut().zip(found).for_each(|(total, found)| merge_all(total, found));
        };
        let total = fold_stretches(
            self.data.len(),
            |rows| rows_summed(rows, partition.bins()),
            vec![vec![Moments::default(); partition.bins()]; outputs],
            Buffers::default,
            |buffers, rows| self.evaluate_block(partition, rows, buffers),
            |total, block| merge(total, &block),
            merge,
        )?;
        self.check()?;
        Ok(total)
    }

    fn evaluate_block(
        &self,
        partition: &Partition,
        rows: Range<usize>,
        buffers: &mut Buffers,
    ) -> Result<Vec<Vec<Moments>>, ModelError> {
        let outputs = self.model.model().outputs();
        // Differences are divided once for each bin, not once for each row.
        let divide = self.source == Source::Differences && self.held.is_none();
        let Buffers { bins, values, sums } = buffers;
        sums.resize_with(outputs, || BinSums::new(partition.bins()));
        for start in rows.clone().step_by(BLOCK) {
            let part = start..rows.end.min(start + BLOCK);
            let block = Block::new(self.data, self.feature, partition, part, bins);
            let len = block.bins.len();
            if len == 0 {
                continue;
            }
            if divide {
                self.differences_of(&block, partition, values)?;
            } else {
                self.effects_of(&block, partition, values)?;
            }
            for (sums, effects) in sums.iter_mut().zip(values.effects.chunks(len)) {
                sums.add(block.bins, effects, block.weights.as_deref());
            }
        }
        let moments = |sums: &mut BinSums| {
            let mut moments = sums.take_moments();
            if divide {
                divide_all(&mut moments, partition.limits());
            }
            moments
        };
        Ok(sums.iter_mut().map(moments).collect())
    }

    /// One local effect per row and output.
    fn effects_of(
        &self,
        block: &Block<'_>,
        partition: &Partition,
        values: &mut Values,
    ) -> Result<(), ModelError> {
        let len = block.bins.len();
        if len == 0 {
            values.effects.clear();
            return Ok(());
        }
        if let Some(held) = &self.held {
            let indices = block.indices();
            values.effects.clear();
            values.effects.extend(held.iter().flat_map(|all| indices.iter().map(|&row| all[row])));
            return Ok(());
        }
        if let Source::Derivatives(derivatives) = self.source {
            values.effects.resize(len * self.model.model().outputs(), 0.0);
            let columns = block.columns();
            let effects = &mut values.effects;
            return derivatives.evaluate(self.model, self.feature, &columns, len, effects);
        }
        self.differences_of(block, partition, values)?;
        let z = partition.limits();
        for effects in values.effects.chunks_mut(len) {
            for (effect, &bin) in effects.iter_mut().zip(block.bins) {
                *effect /= z[bin as usize + 1] - z[bin as usize];
            }
        }
        Ok(())
    }

    /// f(z_k, x_c) − f(z_{k−1}, x_c), one per row and output.
    fn differences_of(
        &self,
        block: &Block<'_>,
        partition: &Partition,
        values: &mut Values,
    ) -> Result<(), ModelError> {
        let len = block.bins.len();
        let Values { lower, upper, below, effects } = values;
        for column in [&mut *lower, upper] {
            column.resize(len, 0.0);
        }
        for asked in [&mut *below, effects] {
            asked.resize(len * self.model.model().outputs(), 0.0);
        }
        partition.limits_of(block.bins, lower, upper);
        let mut columns = block.columns();
        if self.model.model().predicts_changes() {
            let rows = Rows::new(&columns, len);
            return self.model.predict_changes(self.feature, [lower, upper], &rows, effects);
        }
        columns[self.feature] = Column::Values(lower);
        self.model.predict(&Rows::new(&columns, len), below)?;
        columns[self.feature] = Column::Values(upper);
        self.model.predict(&Rows::new(&columns, len), effects)?;
        subtract(effects, below);
        Ok(())
    }
}

/// Rows whose sums are made into moments together. They depend on the data and the bins alone: what
/// merging many bins costs is shared by many rows, and there are blocks enough for all threads.
pub(crate) fn rows_summed(rows: usize, bins: usize) -> usize {
    let blocks = (rows / 64).max(16 * bins).div_ceil(BLOCK).max(1);
    (blocks * BLOCK).min(MOST_SUMMED)
}

/// Room for a block of rows, used again for the next.
#[derive(Default)]
struct Buffers {
    bins: Vec<u32>,
    values: Values,
    // For each output those of a block, of which none are left for the next.
    sums: Vec<BinSums>,
}

/// The limits of the bins of some rows, what the model says at the lower ones, and local effects.
#[derive(Default)]
struct Values {
    lower: Vec<f64>,
    upper: Vec<f64>,
    below: Vec<f64>,
    effects: Vec<f64>,
}

/// The rows of a block that lie on the axis, with their bins.
struct Block<'a> {
    data: &'a Dataset,
    rows: Range<usize>,
    // Copies of the rows that count, made only where some row does not.
    kept: Option<Vec<Vec<f64>>>,
    // Which rows of the block they are; none if all are.
    keep: Option<Vec<usize>>,
    bins: &'a [u32],
    weights: Option<Cow<'a, [f64]>>,
}

impl<'a> Block<'a> {
    fn new(
        data: &'a Dataset,
        feature: usize,
        partition: &Partition,
        rows: Range<usize>,
        bins: &'a mut Vec<u32>,
    ) -> Self {
        let weights = data.weights().map(|weights| &weights[rows.clone()]);
        bins.resize(rows.len(), 0);
        let all_inside = partition.locate_all(&data.feature(feature)[rows.clone()], bins);
        let all_weighted = weights.is_none_or(|weights| weights.iter().all(|&w| w > 0.0));
        if all_inside && all_weighted {
            let weights = weights.map(Cow::Borrowed);
            return Self { data, rows, kept: None, keep: None, bins, weights };
        }
        let keep = places_where(rows.len(), |row| {
            (bins[row] != Partition::OUTSIDE) & weights.is_none_or(|weights| weights[row] > 0.0)
        });
        let select = |values: &[f64]| keep.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let kept = (0..data.dimension()).map(|j| select(&data.feature(j)[rows.clone()])).collect();
        let weights = weights.map(|weights| Cow::Owned(select(weights)));
        for (place, &row) in keep.iter().enumerate() {
            bins[place] = bins[row];
        }
        bins.truncate(keep.len());
        Self { data, rows, kept: Some(kept), keep: Some(keep), bins, weights }
    }

    /// Indices of the rows in the data.
    fn indices(&self) -> Vec<usize> {
        match &self.keep {
            None => self.rows.clone().collect(),
            Some(keep) => keep.iter().map(|row| self.rows.start + row).collect(),
        }
    }

    fn columns(&self) -> Vec<Column<'_>> {
        match &self.kept {
            None => self.data.columns(self.rows.clone()),
            Some(kept) => kept.iter().map(|values| Column::Values(values)).collect(),
        }
    }
}

/// For each bin the index of the cell limit at its end; none unless every limit is a cell limit.
pub(crate) fn coarsening(cells: &Partition, bins: &Partition) -> Option<Vec<usize>> {
    let (fine, coarse) = (cells.limits(), bins.limits());
    if cells.closed() != bins.closed() || fine[0] != coarse[0] || fine.last() != coarse.last() {
        return None;
    }
    let find = |z: &f64| fine.binary_search_by(|cell| cell.total_cmp(z)).ok();
    coarse[1..].iter().map(find).collect()
}

/// Moments of bins that are made of whole cells; none for other bins.
pub(crate) fn regroup(
    cells: &Partition,
    moments: &[Moments],
    bins: &Partition,
) -> Option<Vec<Moments>> {
    Some(merge_cells(moments, &coarsening(cells, bins)?))
}

/// Moments of differences over bins as moments of differences divided by the widths.
fn divide_all(moments: &mut [Moments], limits: &[f64]) {
    for (moments, limits) in moments.iter_mut().zip(limits.windows(2)) {
        *moments = moments.divided(limits[1] - limits[0]);
    }
}

fn merge_cells(cells: &[Moments], ends: &[usize]) -> Vec<Moments> {
    let mut start = 0;
    ends.iter()
        .map(|&end| {
            let bin =
                cells[start..end].iter().fold(Moments::default(), |all, &cell| all.merge(cell));
            start = end;
            bin
        })
        .collect()
}
