//! Local effects of `ale` and `rhale`, held per instance.

use std::cell::OnceCell;

use rayon::prelude::*;

use crate::binning::{Choice, Summarise};
use crate::data::Dataset;
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::estimator::Accumulated;
use crate::estimator::ale::local_effects::{LocalEffects, Source, regroup};
use crate::interrupt;
use crate::model::Observed;
use crate::model::magnitude::MagnitudeProbe;
use crate::numeric::axis::Axis;
use crate::numeric::moments::Moments;
use crate::numeric::parallel::of_each;
use crate::numeric::partition::Partition;
use crate::numeric::sums::{Sums, moments_in_bins};

use super::candidates::Candidates;
use super::criterion::{Criterion, merged, noise_of_derivative, noise_of_difference};

/// Rows that are put into cells together.
const BLOCK: usize = 1 << 14;

/// One local effect per instance and output, and the cells that they are summarised on.
pub(super) struct InstanceSlopes<'a> {
    estimator: &'a Accumulated,
    data: &'a Dataset,
    model: &'a Observed<'a>,
    feature: usize,
    axis: Axis,
    source: Source,
    /// The bins of the whole data or, where bins look at local effects, the cells they are made of.
    cells: Partition,
    /// True if every region chooses bins of its own from the cells.
    rebinned: bool,
    values: Vec<Vec<f64>>,
    /// The cell of each row that counts.
    cell_of: Vec<u32>,
    rows: Vec<usize>,
}

impl<'a> InstanceSlopes<'a> {
    /// Evaluates the local effects: all that the model is ever asked for.
    pub(super) fn new(
        estimator: &'a Accumulated,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
    ) -> Result<Self> {
        let axis = estimator.axis(data, feature)?;
        let source = estimator.source(model.model(), axis)?;
        let (cells, rebinned) = cells(estimator, data, feature, axis, source)?;
        let on = cells.axis()?;
        if data.count_rows(feature, &on).0 == 0 {
            let name = data.names()[feature].clone();
            return Err(Error::NoRowsOnAxis { name, lo: on.lo(), hi: on.hi() });
        }
        let values = LocalEffects::new(data, model, feature, source).of_instances(&cells)?;
        let mut cell_of = vec![0; data.len()];
        let blocks = data.feature(feature).par_chunks(BLOCK).zip(cell_of.par_chunks_mut(BLOCK));
        let locate = |(values, cells_of): (&[f64], &mut [u32])| cells.locate_all(values, cells_of);
        let all_inside = blocks.map(locate).reduce(|| true, |a, b| a && b);
        let rows = match data.weights() {
            None if all_inside => (0..data.len()).collect(),
            weights => {
                let counts = |row: &usize| {
                    cell_of[*row] != Partition::OUTSIDE && weights.is_none_or(|w| w[*row] > 0.0)
                };
                (0..data.len()).filter(counts).collect()
            }
        };
        Ok(Self {
            estimator,
            data,
            model,
            feature,
            axis,
            source,
            cells,
            rebinned,
            values,
            cell_of,
            rows,
        })
    }
}

/// The cells, and whether bins are made of them by looking at local effects. A binning that looks
/// shows it by asking; it is told of local effects that are all 0, which costs the model nothing.
fn cells(
    estimator: &Accumulated,
    data: &Dataset,
    feature: usize,
    axis: Axis,
    source: Source,
) -> Result<(Partition, bool)> {
    let asked = OnceCell::new();
    let blank = |partition: &Partition| {
        let _ = asked.set(partition.clone());
        let positions = data.feature(feature);
        let there = moments_in_bins(partition, positions, positions, data.weights());
        Ok(there.iter().map(|cell| Moments { weight: cell.weight, ..Moments::default() }).collect())
    };
    let local_effects: Option<&Summarise<'_>> = match source {
        Source::Differences => None,
        Source::Derivatives(_) => Some(&blank),
    };
    let choice = estimator.divide(axis, (data, feature), (data, feature), local_effects)?;
    Ok(match asked.into_inner() {
        Some(cells) => (cells, true),
        None => (choice.partition, false),
    })
}

/// The local effects on one output.
pub(super) struct Binned<'a> {
    held: &'a InstanceSlopes<'a>,
    output: usize,
    heterogeneity: &'static str,
    floor: f64,
}

impl<'a> Binned<'a> {
    pub(super) fn new(
        held: &'a InstanceSlopes<'a>,
        output: usize,
        heterogeneity: &'static str,
        probe: &MagnitudeProbe<'_>,
    ) -> Self {
        let noise = match held.source {
            Source::Differences => {
                let narrowest = held.cells.widths().into_iter().fold(f64::INFINITY, f64::min);
                noise_of_difference(narrowest, probe, output)
            }
            Source::Derivatives(derivatives) => noise_of_derivative(derivatives, probe, output),
        };
        let variances = vec![noise * noise; held.cells.bins()];
        let values = held.estimator.values_of_variances(&held.cells, Some(&variances));
        let floor = values.get(heterogeneity).copied().flatten().unwrap_or(0.0);
        Self { held, output, heterogeneity, floor }
    }

    /// Moments in each cell of each group of rows, in one pass.
    fn summarise_by(
        &self,
        rows: &[usize],
        group_of: impl Fn(usize) -> usize,
        groups: usize,
    ) -> Vec<Vec<Moments>> {
        let held = self.held;
        let (cells, values) = (held.cells.bins(), &held.values[self.output]);
        let weights = held.data.weights();
        let mut sums = vec![Sums::default(); groups * cells];
        for &row in rows {
            let place = group_of(row) * cells + held.cell_of[row] as usize;
            sums[place].add(values[row], weights.map_or(1.0, |weights| weights[row]));
        }
        let moments = |sums: &[Sums]| sums.iter().map(Sums::moments).collect();
        sums.chunks(cells).map(moments).collect()
    }

    /// Bins of a region, from the moments in its cells.
    fn rebin(&self, cells: &[Moments]) -> Result<(Choice, Vec<Moments>)> {
        let held = self.held;
        let summarise = |bins: &Partition| {
            regroup(&held.cells, cells, bins).ok_or_else(|| {
                Error::Incompatible("regions need bins that are made of whole cells".to_owned())
            })
        };
        let place = (held.data, held.feature);
        let choice = held.estimator.divide(held.axis, place, place, Some(&summarise))?;
        let moments = summarise(&choice.partition)?;
        Ok((choice, moments))
    }
}

impl Criterion for Binned<'_> {
    /// Moments in each cell.
    type Summary = Vec<Moments>;

    fn rows(&self) -> &[usize] {
        &self.held.rows
    }

    fn summarise(&self, rows: &[usize]) -> Vec<Moments> {
        self.summarise_by(rows, |_| 0, 1).swap_remove(0)
    }

    fn summarise_groups(
        &self,
        rows: &[usize],
        candidates: &[Candidates],
    ) -> Vec<Vec<Vec<Moments>>> {
        let of_feature = |candidates: &Candidates| {
            interrupt::check();
            self.summarise_by(rows, |row| candidates.group_of(row), candidates.groups())
        };
        of_each(candidates, &of_feature)
    }

    fn merge(&self, a: &Vec<Moments>, b: &Vec<Moments>) -> Vec<Moments> {
        merged(a, b)
    }

    fn heterogeneity(&self, cells: &Vec<Moments>) -> Result<Option<f64>> {
        let values = if self.held.rebinned {
            let (Choice { partition, spreads, .. }, moments) = self.rebin(cells)?;
            self.held.estimator.heterogeneity_values(&partition, spreads.as_ref(), &moments)
        } else {
            self.held.estimator.heterogeneity_values(&self.held.cells, None, cells)
        };
        Ok(values.get(self.heterogeneity).copied().flatten())
    }

    fn floor(&self) -> f64 {
        self.floor
    }

    fn effect(&self, rows: &[usize]) -> Result<Effect> {
        let held = self.held;
        // Of the other features nothing is asked: the local effects are known.
        let data = held.data.select_feature(rows, held.feature);
        let values = held.values.iter().map(|all| rows.iter().map(|&row| all[row]).collect());
        let effects =
            LocalEffects::new(&data, held.model, 0, held.source).holding(values.collect());
        let effects = effects.within(held.data, held.feature);
        let choice = if held.rebinned {
            held.estimator.choose_bins(&effects, held.axis, self.output)?
        } else {
            Choice::new(held.cells.clone(), true)
        };
        let effect = held.estimator.effect_on(&effects, choice, self.output)?;
        Ok(Effect { feature: held.feature, ..effect })
    }
}
