//! Local effects of `pdp` and `dpdp`: held ICE and d-ICE curves.

use crate::data::Dataset;
use crate::effect::Effect;
use crate::effect::heterogeneity;
use crate::error::Result;
use crate::estimator::pdp::{Grouping, IceTable};
use crate::model::magnitude::MagnitudeProbe;
use crate::numeric::moments::Moments;

use super::candidates::Candidates;
use super::criterion::{Criterion, merged, noise_of_derivative, noise_of_value};

/// The curves of one output.
pub(super) struct Gridded<'a> {
    table: &'a IceTable<'a>,
    output: usize,
    heterogeneity: &'static str,
    rows: Vec<usize>,
    floor: f64,
}

impl<'a> Gridded<'a> {
    pub(super) fn new(
        table: &'a IceTable<'a>,
        data: &Dataset,
        output: usize,
        heterogeneity: &'static str,
        probe: &MagnitudeProbe<'_>,
    ) -> Self {
        let counts = |row: &usize| data.weights().is_none_or(|w| w[*row] > 0.0);
        let noise = match table.derivatives() {
            None => noise_of_value(probe, output),
            Some(derivatives) => noise_of_derivative(derivatives, probe, output),
        };
        let floor = match table.shares() {
            None => value(heterogeneity, &[Some(noise * noise)]).unwrap_or(0.0),
            Some(_) => noise * noise,
        };
        let rows = (0..data.len()).filter(counts).collect();
        Self { table, output, heterogeneity, rows, floor }
    }
}

impl Gridded<'_> {
    fn summarise_by(&self, rows: &[usize], groupings: &[Grouping<'_>]) -> Vec<Vec<Vec<Moments>>> {
        let raw = self.heterogeneity == "mean_grid_sd";
        self.table.summarise(self.output, rows, groupings, raw)
    }
}

/// The named value of the variances of the curves that it is about.
fn value(name: &str, variances: &[Option<f64>]) -> Option<f64> {
    heterogeneity::of_grid(variances, variances).get(name).copied().flatten()
}

impl Criterion for Gridded<'_> {
    /// Moments at each grid point.
    type Summary = Vec<Moments>;

    fn rows(&self) -> &[usize] {
        &self.rows
    }

    fn summarise(&self, rows: &[usize]) -> Vec<Moments> {
        let whole = Grouping { of: None, groups: 1 };
        self.summarise_by(rows, &[whole]).swap_remove(0).swap_remove(0)
    }

    fn summarise_groups(
        &self,
        rows: &[usize],
        candidates: &[Candidates],
    ) -> Vec<Vec<Vec<Moments>>> {
        let groupings: Vec<Grouping<'_>> = candidates.iter().map(Candidates::grouping).collect();
        self.summarise_by(rows, &groupings)
    }

    fn merge(&self, a: &Vec<Moments>, b: &Vec<Moments>) -> Vec<Moments> {
        merged(a, b)
    }

    fn heterogeneity(&self, points: &Vec<Moments>) -> Result<Option<f64>> {
        let variances = self.table.variances(points);
        Ok(match self.table.shares() {
            None => value(self.heterogeneity, &variances),
            Some(shares) => heterogeneity::of_levels(&variances, shares)[self.heterogeneity],
        })
    }

    fn floor(&self) -> f64 {
        self.floor
    }

    fn effect(&self, rows: &[usize]) -> Result<Effect> {
        self.table.effect(self.output, rows)
    }
}
