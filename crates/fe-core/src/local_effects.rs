//! Local effects: what each instance says about the effect of a feature at its position.
//!
//! They are the shared middle of `ale`, `dale` and `rhale`. They are never held all at once: a
//! source of local effects is summarised, block by block, as moments per bin.

use std::ops::Range;
use std::sync::OnceLock;

use crate::axis::Axis;
use crate::blocks::fold_blocks;
use crate::dataset::Dataset;
use crate::derivatives::Derivatives;
use crate::error::{ModelError, Result};
use crate::model::{Column, Observed, Rows};
use crate::partition::Partition;
use crate::statistics::{Moments, merge_all, moments_by_bin};

/// Rows of a block: small enough for the cache, large enough to hide the cost of a call.
const BLOCK: usize = 4096;

/// How local effects are made.
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
}

impl<'a> LocalEffects<'a> {
    pub(crate) fn new(
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
        source: Source,
    ) -> Self {
        Self { data, model, feature, source, finest: OnceLock::new(), held: None }
    }

    /// The same local effects, known already: for each output one per row. The model is not asked.
    ///
    /// Differences belong to the partition they were made on, and may be summarised on no other.
    pub(crate) fn holding(mut self, values: Vec<Vec<f64>>) -> Self {
        self.held = Some(values);
        self
    }

    /// The local effect of every instance, for each output; NaN where a row does not count.
    pub(crate) fn of_instances(&self, partition: &Partition) -> Result<Vec<Vec<f64>>> {
        let outputs = self.model.model().outputs();
        let mut all = vec![vec![f64::NAN; self.data.len()]; outputs];
        fold_blocks(
            self.data.len(),
            BLOCK,
            |rows| {
                let block = Block::new(self.data, self.feature, partition, rows);
                let effects = self.effects_of(&block, partition)?;
                Ok::<_, ModelError>((block.indices(), effects))
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

    /// Moments of the local effects in each bin, for each output.
    ///
    /// Derivatives do not depend on the bins: once they were summarised, bins made of whole former
    /// bins are merged from those without asking the model again.
    pub(crate) fn summarise(&self, partition: &Partition) -> Result<Vec<Vec<Moments>>> {
        if self.source == Source::Differences {
            return self.evaluate(partition);
        }
        if let Some((finest, moments)) = self.finest.get()
            && let Some(ends) = coarsening(finest, partition)
        {
            return Ok(moments.iter().map(|cells| merge_cells(cells, &ends)).collect());
        }
        let moments = self.evaluate(partition)?;
        let _ = self.finest.set((partition.clone(), moments.clone()));
        Ok(moments)
    }

    fn evaluate(&self, partition: &Partition) -> Result<Vec<Vec<Moments>>> {
        let outputs = self.model.model().outputs();
        let mut total = vec![vec![Moments::default(); partition.bins()]; outputs];
        fold_blocks(
            self.data.len(),
            BLOCK,
            |rows| self.evaluate_block(partition, rows),
            |block| {
                for (total, block) in total.iter_mut().zip(&block) {
                    merge_all(total, block);
                }
            },
        )?;
        Ok(total)
    }

    fn evaluate_block(
        &self,
        partition: &Partition,
        rows: Range<usize>,
    ) -> Result<Vec<Vec<Moments>>, ModelError> {
        let block = Block::new(self.data, self.feature, partition, rows);
        let outputs = self.model.model().outputs();
        let len = block.bins.len();
        if len == 0 {
            return Ok(vec![vec![Moments::default(); partition.bins()]; outputs]);
        }
        let effects = self.effects_of(&block, partition)?;
        Ok((0..outputs)
            .map(|output| {
                let effects = &effects[output * len..(output + 1) * len];
                moments_by_bin(partition.bins(), &block.bins, effects, block.weights.as_deref())
            })
            .collect())
    }

    /// One local effect per row and output.
    fn effects_of(&self, block: &Block<'_>, partition: &Partition) -> Result<Vec<f64>, ModelError> {
        let len = block.bins.len();
        if len == 0 {
            return Ok(Vec::new());
        }
        if let Some(held) = &self.held {
            let indices = block.indices();
            return Ok(held.iter().flat_map(|all| indices.iter().map(|&row| all[row])).collect());
        }
        let mut effects = vec![0.0; len * self.model.model().outputs()];
        let columns = block.columns();
        if let Source::Derivatives(derivatives) = self.source {
            derivatives.evaluate(self.model, self.feature, &columns, len, &mut effects)?;
            return Ok(effects);
        }
        let z = partition.limits();
        let bin = |row: usize| block.bins[row] as usize;
        let (lower, upper): (Vec<f64>, Vec<f64>) =
            (0..len).map(|i| (z[bin(i)], z[bin(i) + 1])).unzip();
        let mut below = vec![0.0; effects.len()];
        self.ask_at(&columns, &lower, &mut below)?;
        self.ask_at(&columns, &upper, &mut effects)?;
        for (i, (effect, below)) in effects.iter_mut().zip(&below).enumerate() {
            let row = i % len;
            *effect = (*effect - below) / (upper[row] - lower[row]);
        }
        Ok(effects)
    }

    fn ask_at(
        &self,
        columns: &[Column<'_>],
        at: &[f64],
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let mut columns = columns.to_vec();
        columns[self.feature] = Column::Values(at);
        self.model.predict(&Rows::new(&columns, at.len()), values)
    }
}

/// The rows of a block that lie on the axis, with their bins.
struct Block<'a> {
    data: &'a Dataset,
    rows: Range<usize>,
    // Copies of the rows that count, made only where some row does not.
    kept: Option<Vec<Vec<f64>>>,
    // Which rows of the block they are.
    keep: Vec<usize>,
    bins: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl<'a> Block<'a> {
    fn new(data: &'a Dataset, feature: usize, partition: &Partition, rows: Range<usize>) -> Self {
        let weights = data.weights().map(|weights| &weights[rows.clone()]);
        let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
        let mut bins = Vec::with_capacity(rows.len());
        let mut keep = Vec::with_capacity(rows.len());
        for (row, &x) in data.feature(feature)[rows.clone()].iter().enumerate() {
            if let Some(bin) = partition.locate(x)
                && counts(row)
            {
                bins.push(bin as u32);
                keep.push(row);
            }
        }
        let some_left_out = keep.len() < rows.len();
        let select = |values: &[f64]| keep.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let kept = some_left_out.then(|| {
            (0..data.dimension()).map(|j| select(&data.feature(j)[rows.clone()])).collect()
        });
        Self { data, rows, kept, bins, weights: weights.map(select), keep }
    }

    /// Which rows of the data they are.
    fn indices(&self) -> Vec<usize> {
        self.keep.iter().map(|row| self.rows.start + row).collect()
    }

    fn columns(&self) -> Vec<Column<'_>> {
        match &self.kept {
            None => self.data.columns(self.rows.clone()),
            Some(kept) => kept.iter().map(|values| Column::Values(values)).collect(),
        }
    }
}

/// Rows with positive weight on the axis, and off it.
pub(crate) fn count_rows(data: &Dataset, feature: usize, axis: Axis) -> (usize, usize) {
    let counted = data.feature(feature).iter().enumerate();
    let counted = counted.filter(|(row, _)| data.weights().is_none_or(|w| w[*row] > 0.0));
    counted.fold(
        (0, 0),
        |(on, off), (_, &x)| {
            if axis.contains(x) { (on + 1, off) } else { (on, off + 1) }
        },
    )
}

/// For each bin the index of the cell limit at its end; none unless every limit is a cell limit.
fn coarsening(cells: &Partition, bins: &Partition) -> Option<Vec<usize>> {
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
