//! One dataset, and everything that is estimated from it.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use fe_core::confidence::Limits;
use fe_core::estimator::{Estimand, Estimator};
use fe_core::{Curve, Dataset, Effect};

use super::fitted::Fits;
use super::plan::{Implementation, Planned, Prepared, PreparedFeature};
use super::timed::Timed;
use crate::draw;
use crate::external::{Answer, Engines, External, Place, Repetitions, Workspace};
use crate::record::Parts;
use crate::record::encode::{CurveErrors, CurvePoint, Encoder, Label, Taken};
use crate::score::{Comparing, Score};
use crate::study::wire::Keep;
use crate::study::{OF_F, Variant};

/// What an estimator gave, and what it took.
struct Outcome {
    estimate: Result<Estimate, String>,
    taken: Taken,
}

/// What an estimator gave.
enum Estimate {
    /// One effect for each output.
    Own(Vec<Effect>, Estimand),
    External(Box<Answer>),
}

impl Estimate {
    /// Whether it says something about a point.
    fn covers(&self, x: f64) -> bool {
        match self {
            Self::Own(effects, _) => effects.iter().all(|e| e.record.axis.contains(x)),
            Self::External(answer) => {
                let (lo, hi) = answer.curve.range();
                (lo..=hi).contains(&x)
            }
        }
    }
}

/// A dataset of a group.
pub(super) struct Task<'a> {
    pub planned: &'a Planned<'a>,
    pub prepared: &'a Prepared,
    pub engines: &'a Engines,
    pub seed: u64,
    pub replicate: usize,
}

impl Task<'_> {
    /// Draws the dataset, estimates and scores; what fails is a record with its reason.
    pub(super) fn run(&self) -> csv::Result<Parts> {
        let group = self.planned.group;
        if let Some(fitting) = &group.fitting {
            return Fits { task: self, fitting }.run();
        }
        let draw = || draw::features(&group.scenario, self.seed, group.rows, self.replicate);
        let data = guarded(|| draw().map_err(|e| e.to_string()));
        let mut records = Encoder::new();
        let drawn = Drawn { workspace: OnceCell::new(), data: &data };
        for of in &self.prepared.features {
            self.run_feature(&drawn, of, &mut records)?;
        }
        records.into_parts()
    }

    fn run_feature<'a>(
        &'a self,
        drawn: &Drawn<'a>,
        of: &PreparedFeature,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let outcomes: Vec<Outcome> =
            of.estimators.iter().map(|built| self.estimate(drawn, of, built)).collect();
        let points = common_points(&of.points, &outcomes);
        let comparing = Comparing {
            points: &points,
            left_out: of.points.len() - points.len(),
            comparison: group.comparison,
        };
        for (variant, outcome) in group.variants.iter().zip(outcomes) {
            self.record(variant, of, &outcome, comparing, records)?;
        }
        Ok(())
    }

    fn estimate<'a>(
        &'a self,
        drawn: &Drawn<'a>,
        of: &PreparedFeature,
        built: &Result<Implementation, String>,
    ) -> Outcome {
        match (drawn.data, built) {
            (Err(e), _) | (_, Err(e)) => {
                Outcome { estimate: Err(e.clone()), taken: Taken::default() }
            }
            (Ok(data), Ok(Implementation::Own(estimator))) => {
                self.estimate_here(data, of.feature, estimator.as_ref())
            }
            (Ok(data), Ok(Implementation::External(external, axis))) => {
                let place = Place { feature: of.feature, axis: *axis, grid: &of.points };
                self.ask(drawn, data, external, place)
            }
        }
    }

    fn estimate_here(&self, data: &Dataset, feature: usize, estimator: &dyn Estimator) -> Outcome {
        let model = Timed::new(self.planned.group.scenario.model());
        let started = Instant::now();
        let effects =
            guarded(|| estimator.estimate(data, &model, feature).map_err(|e| e.to_string()));
        let seconds = started.elapsed().as_secs_f64();
        let taken = Taken { seconds, model_seconds: model.seconds_of(seconds), peak_bytes: None };
        Outcome { estimate: effects.map(|e| Estimate::Own(e, estimator.estimand())), taken }
    }

    fn ask<'a>(
        &'a self,
        drawn: &Drawn<'a>,
        data: &'a Dataset,
        external: &External,
        place: Place<'_>,
    ) -> Outcome {
        let lay_out = || {
            let scenario = &self.planned.group.scenario;
            Workspace::new(self.engines, scenario, data, Repetitions::default())
        };
        let answer = drawn.workspace.get_or_init(lay_out).ask(external, place);
        let taken = answer.as_ref().map_or_else(|_| Taken::default(), |answer| answer.taken);
        let estimate = answer.map(|a| Estimate::External(Box::new(a))).map_err(|e| e.to_string());
        Outcome { estimate, taken }
    }

    fn record(
        &self,
        variant: &Variant,
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
            snr: "",
            replicate: &replicate,
            pair: OF_F,
            split: "",
        };
        records.timing(&label, outcome.taken)?;
        match &outcome.estimate {
            Ok(Estimate::Own(effects, estimand)) => {
                for effect in effects {
                    self.score(&label, *estimand, effect, comparing, records)?;
                }
                Ok(())
            }
            Ok(Estimate::External(answer)) => {
                self.score_external(&label, of.feature, answer, comparing, records)
            }
            Err(reason) => {
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
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let (scenario, truths) = (&group.scenario, &self.prepared.truths);
        let model_rows = Some(effect.record.model_rows + effect.record.jacobian_rows);
        for &metric in &group.metrics {
            let score = guarded(|| Ok(truths.score(scenario, metric, estimand, effect, comparing)))
                .unwrap_or_else(Score::failed);
            records.cell(label, effect.output, metric.name(), &score, model_rows)?;
        }
        let decomposes = group.keep.contains(&Keep::Decomposition);
        let keeps_curves = group.keep.contains(&Keep::Curves);
        let curves = || guarded(|| truths.curves(scenario, estimand, effect, comparing)).ok();
        // A curve that has no truth is its own, and a cell says why.
        let curves = if keeps_curves || decomposes { curves() } else { None };
        if let (true, Some(curves)) = (decomposes, &curves) {
            let error: Vec<f64> =
                curves.iter().map(|(estimate, truth, _)| estimate - truth).collect();
            let errors = CurveErrors { x: comparing.points, error: &error, fresh: None };
            records.errors(label, effect.output, &errors)?;
        }
        if keeps_curves {
            for (i, &x) in comparing.points.iter().enumerate() {
                let both = curves.as_ref().map(|curves| curves[i]);
                let (own, compared) = (effect.curve.at(x).ok(), both.map(|(e, _, _)| e));
                let moved = compared.zip(own).map_or(0.0, |(compared, own)| compared - own);
                let point = CurvePoint {
                    x,
                    effect: compared.or(own),
                    heterogeneity: effect.heterogeneity.at(x).ok(),
                    truth: both.map(|(_, truth, _)| truth),
                    truth_abs_error: both.map(|(_, _, error)| error),
                    confidence: confidence_at(effect, x).map(|limit| Some(limit? + moved)),
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

    /// Scores what an engine answered, with the truths of this program and nothing else.
    fn score_external(
        &self,
        label: &Label<'_>,
        feature: usize,
        answer: &Answer,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let scored = External::scored(answer, &self.prepared.truths, &group.scenario, feature);
        for &metric in &group.metrics {
            let score = guarded(|| scored.score(metric, comparing)).unwrap_or_else(Score::failed);
            records.cell(label, 0, metric.name(), &score, Some(answer.model_rows))?;
        }
        if group.keep.contains(&Keep::Curves) {
            let points = guarded(|| scored.curve(comparing)).unwrap_or_default();
            points.iter().try_for_each(|point| records.curve(label, 0, point))?;
        }
        Ok(())
    }
}

/// A dataset, and where external estimators find it once one is asked.
struct Drawn<'a> {
    data: &'a Result<Dataset, String>,
    workspace: OnceCell<Workspace<'a>>,
}

/// What came of some work; a panic is a reason like others.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("a defect of the program: {}", text.unwrap_or_default()))
    })
}

/// The limits of the confidence band of an effect at a place: pointwise, then simultaneous.
fn confidence_at(effect: &Effect, x: f64) -> [Option<f64>; 4] {
    let band = effect.confidence.as_ref();
    let pointwise = band.map(|band| &band.pointwise);
    let simultaneous = band.and_then(|band| band.simultaneous.as_ref());
    let at = |curve: &Curve| curve.at(x).ok().filter(|limit| limit.is_finite());
    let ends = |limits: Option<&Limits>| {
        [limits.and_then(|limits| at(&limits.lower)), limits.and_then(|limits| at(&limits.upper))]
    };
    let ([lower, upper], [least, most]) = (ends(pointwise), ends(simultaneous));
    [lower, upper, least, most]
}

/// The grid points within the limits of every estimate.
fn common_points(grid: &[f64], outcomes: &[Outcome]) -> Vec<f64> {
    let estimates = || outcomes.iter().filter_map(|o| o.estimate.as_ref().ok());
    grid.iter().copied().filter(|&x| estimates().all(|estimate| estimate.covers(x))).collect()
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
