//! One dataset, and everything that is estimated from it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use fe_core::estimator::Estimator;
use fe_core::{Dataset, Effect};

use super::plan::{Planned, Prepared, PreparedFeature};
use super::timed::Timed;
use crate::draw;
use crate::record::Parts;
use crate::record::encode::{CurvePoint, Encoder, Label};
use crate::score::{Comparing, Score};
use crate::study::Variant;
use crate::study::wire::Keep;

/// What an estimator gave, and how long it took.
struct Outcome {
    effects: Result<Vec<Effect>, String>,
    seconds: f64,
    model_seconds: f64,
}

/// A dataset of a group.
pub(super) struct Task<'a> {
    pub planned: &'a Planned<'a>,
    pub prepared: &'a Prepared,
    pub seed: u64,
    pub replicate: usize,
}

impl Task<'_> {
    /// Draws the dataset, estimates and scores; what fails is a record with its reason.
    pub(super) fn run(&self) -> csv::Result<Parts> {
        let group = self.planned.group;
        let draw = || draw::features(&group.scenario, self.seed, group.rows, self.replicate);
        let data = guarded(|| draw().map_err(|e| e.to_string()));
        let mut records = Encoder::new();
        for of in &self.prepared.features {
            self.run_feature(&data, of, &mut records)?;
        }
        records.into_parts()
    }

    fn run_feature(
        &self,
        data: &Result<Dataset, String>,
        of: &PreparedFeature,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let outcomes: Vec<Outcome> =
            of.estimators.iter().map(|built| self.estimate(data, of.feature, built)).collect();
        let points = common_points(&of.points, &outcomes);
        let comparing = Comparing {
            points: &points,
            left_out: of.points.len() - points.len(),
            comparison: group.comparison,
        };
        for ((variant, built), outcome) in group.variants.iter().zip(&of.estimators).zip(outcomes) {
            self.record((variant, built), of, &outcome, comparing, records)?;
        }
        Ok(())
    }

    fn estimate(
        &self,
        data: &Result<Dataset, String>,
        feature: usize,
        built: &Result<Box<dyn Estimator>, String>,
    ) -> Outcome {
        let model = Timed::new(self.planned.group.scenario.model());
        let started = Instant::now();
        let effects = match (data, built) {
            (Err(e), _) | (_, Err(e)) => Err(e.clone()),
            (Ok(data), Ok(built)) => {
                guarded(|| built.estimate(data, &model, feature).map_err(|e| e.to_string()))
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        Outcome { effects, seconds, model_seconds: model.seconds() }
    }

    fn record(
        &self,
        (variant, built): (&Variant, &Result<Box<dyn Estimator>, String>),
        of: &PreparedFeature,
        outcome: &Outcome,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let replicate = self.replicate.to_string();
        let label = Label {
            study: self.planned.study,
            scenario: &self.planned.scenario,
            parameters: &self.planned.parameters,
            feature: &of.name,
            variant: &variant.columns,
            rows: &self.planned.rows,
            replicate: &replicate,
        };
        records.timing(&label, outcome.seconds, outcome.model_seconds)?;
        match (&outcome.effects, built) {
            (Ok(effects), Ok(built)) => {
                for effect in effects {
                    self.score(&label, built.as_ref(), effect, comparing, records)?;
                }
                Ok(())
            }
            (Err(reason), _) | (_, Err(reason)) => {
                let score = Score::failed(reason);
                let metrics = self.planned.group.metrics.iter();
                metrics
                    .copied()
                    .try_for_each(|metric| records.cell(&label, 0, metric.name(), &score, None))
            }
        }
    }

    fn score(
        &self,
        label: &Label<'_>,
        built: &dyn Estimator,
        effect: &Effect,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let (scenario, estimand, truths) =
            (&group.scenario, built.estimand(), &self.prepared.truths);
        let model_rows = Some(effect.record.model_rows + effect.record.jacobian_rows);
        for &metric in &group.metrics {
            let score = guarded(|| Ok(truths.score(scenario, metric, estimand, effect, comparing)))
                .unwrap_or_else(Score::failed);
            records.cell(label, effect.output, metric.name(), &score, model_rows)?;
        }
        if group.keep.contains(&Keep::Curves) {
            let curves = guarded(|| truths.curves(scenario, estimand, effect, comparing));
            // A curve that has no truth is its own, and a cell says why.
            let curves = curves.ok();
            for (i, &x) in comparing.points.iter().enumerate() {
                let both = curves.as_ref().map(|curves| curves[i]);
                let point = CurvePoint {
                    x,
                    effect: both.map_or_else(|| effect.curve.at(x).ok(), |(e, _, _)| Some(e)),
                    heterogeneity: effect.heterogeneity.at(x).ok(),
                    truth: both.map(|(_, truth, _)| truth),
                    truth_abs_error: both.map(|(_, _, error)| error),
                };
                records.curve(label, effect.output, &point)?;
            }
        }
        if let (true, Some(bins)) = (group.keep.contains(&Keep::Bins), &effect.bins) {
            let truths = guarded(|| truths.of_bins(scenario, estimand, effect, bins)).ok();
            records.bins(label, effect.output, bins, truths.as_deref())?;
        }
        Ok(())
    }
}

/// What came of some work; a panic is a reason like others.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("a defect of the program: {}", text.unwrap_or_default()))
    })
}

/// The grid points within the limits of every estimate.
fn common_points(grid: &[f64], outcomes: &[Outcome]) -> Vec<f64> {
    let effects = || outcomes.iter().filter_map(|o| o.effects.as_ref().ok()).flatten();
    let within = |x: f64, effect: &Effect| effect.record.axis.contains(x);
    grid.iter().copied().filter(|&x| effects().all(|effect| within(x, effect))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason() {
        let reason = guarded::<()>(|| panic!("place {}", 3)).unwrap_err();
        assert_eq!(reason, "a defect of the program: place 3");
    }
}
