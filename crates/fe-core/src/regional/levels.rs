//! Local effects of `ale` at the levels of a feature: changes from each level to the next, held per instance.

use crate::effect::{Effect, heterogeneity};
use crate::error::Result;
use crate::estimator::ale::levels::LevelChanges;
use crate::model::magnitude::MagnitudeProbe;
use crate::numeric::moments::Moments;
use crate::numeric::sums::Sums;

use super::criterion::{Criterion, merged, noise_of_value};

/// The changes on one output.
pub(super) struct Stepped<'a> {
    changes: &'a LevelChanges<'a>,
    weights: Option<&'a [f64]>,
    output: usize,
    heterogeneity: &'static str,
    /// For each row its changes with the steps that they are of.
    steps: Vec<[Option<(usize, f64)>; 2]>,
    rows: Vec<usize>,
    floor: f64,
}

impl<'a> Stepped<'a> {
    pub(super) fn new(
        changes: &'a LevelChanges<'a>,
        weights: Option<&'a [f64]>,
        output: usize,
        heterogeneity: &'static str,
        probe: &MagnitudeProbe<'_>,
    ) -> Self {
        let steps = changes.steps(output);
        let rows = (0..steps.len()).filter(|&row| steps[row].iter().any(Option::is_some)).collect();
        let floor = noise_of_value(probe, output).powi(2);
        Self { changes, weights, output, heterogeneity, steps, rows, floor }
    }
}

impl Criterion for Stepped<'_> {
    /// Moments of the changes of each step.
    type Summary = Vec<Moments>;

    fn rows(&self) -> &[usize] {
        &self.rows
    }

    fn summarise(&self, rows: &[usize]) -> Vec<Moments> {
        let mut sums = vec![Sums::default(); self.changes.count()];
        for &row in rows {
            let weight = self.weights.map_or(1.0, |weights| weights[row]);
            for (step, change) in self.steps[row].into_iter().flatten() {
                sums[step].add(change, weight);
            }
        }
        sums.iter().map(Sums::moments).collect()
    }

    fn merge(&self, a: &Vec<Moments>, b: &Vec<Moments>) -> Vec<Moments> {
        merged(a, b)
    }

    /// None where a step has fewer than two instances, so that no region is without one of the changes.
    fn heterogeneity(&self, steps: &Vec<Moments>) -> Result<Option<f64>> {
        Ok(heterogeneity::of_steps(&self.changes.variances(steps))[self.heterogeneity])
    }

    fn floor(&self) -> f64 {
        self.floor
    }

    fn effect(&self, rows: &[usize]) -> Result<Effect> {
        self.changes.effect_of(rows, self.output)?.representable()
    }
}
