//! Scores of estimates of f against the truth of their estimand, and what is kept of them.

use fe_core::effect::{ConfidenceBand, Limits};
use fe_core::estimator::Estimand;
use fe_core::{Curve, Effect, regional};

use super::context::Task;
use super::estimate::{Estimate, Found};
use super::regions;
use crate::engines::{Answer, External};
use crate::error::caught;
use crate::record::encode::Encoder;
use crate::record::{BinRow, Cell, CurveErrors};
use crate::score::metric::EstimateKind;
use crate::score::{Comparing, CurvePoint, Score, metric};
use crate::study::file::Keep;
use crate::study::key::Key;

/// Scores an estimate under a key; where there is none, every value says why.
pub(super) fn record(
    task: &Task<'_>,
    feature: usize,
    estimate: &Estimate,
    key: &Key<&str>,
    comparing: Comparing<'_>,
    records: &mut Encoder,
) -> csv::Result<()> {
    match &estimate.found {
        Ok(Found::Own(parts, estimand)) => parts
            .iter()
            .flatten()
            .try_for_each(|effect| task.score(key, *estimand, effect, comparing, records)),
        Ok(Found::Trees(trees)) => {
            trees.iter().try_for_each(|tree| regions::record(task, key, tree, comparing, records))
        }
        Ok(Found::External(answer)) => {
            task.score_external(key, feature, answer, comparing, records)
        }
        Err(reason) => {
            let cell = Cell { score: Score::failed(reason), model_rows: None };
            let mut metrics = task.planned.group.metrics.iter();
            metrics.try_for_each(|metric| records.cell(key, 0, metric.name(), &cell))
        }
    }
}

impl Task<'_> {
    fn score(
        &self,
        key: &Key<&str>,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let (scenario, truths) = (&group.scenario, &self.prepared.truths);
        let model_rows = Some(effect.record.model_rows + effect.record.jacobian_rows);
        for &metric in &group.metrics {
            let of = metric::Scoring { truths, scenario, estimand, effect, comparing };
            let score = caught(|| Ok(metric.of_effect(&of))).unwrap_or_else(Score::failed);
            records.cell(key, effect.output, metric.name(), &Cell { score, model_rows })?;
        }
        let decomposes = group.keep.contains(&Keep::Decomposition);
        let keeps_curves = group.keep.contains(&Keep::Curves);
        let curves = || caught(|| truths.curves(scenario, estimand, effect, comparing)).ok();
        // A curve that has no truth is its own, and a cell says why.
        let curves = if keeps_curves || decomposes { curves() } else { None };
        if let (true, Some(curves)) = (decomposes, &curves) {
            let error: Vec<f64> =
                curves.iter().map(|(estimate, truth, _)| estimate - truth).collect();
            let errors = CurveErrors { x: comparing.points.to_vec(), error, fresh: None };
            records.errors(key, effect.output, &errors)?;
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
                records.curve(key, effect.output, &point)?;
            }
        }
        if let (true, Some(bins)) = (group.keep.contains(&Keep::Bins), &effect.bins) {
            let truths = caught(|| truths.of_bins(scenario, estimand, effect, bins)).ok();
            for (k, ends) in bins.partition.limits().windows(2).enumerate() {
                let row = BinRow {
                    number: k + 1,
                    ends: (ends[0], ends[1]),
                    count: bins.counts[k],
                    effect: bins.effect[k],
                    variance: bins.variance[k],
                    truth: truths.as_ref().map(|truths| truths[k]),
                };
                records.bin(key, effect.output, &row)?;
            }
        }
        Ok(())
    }

    /// Scores what an engine answered, with the truths of this program and nothing else.
    fn score_external(
        &self,
        key: &Key<&str>,
        feature: usize,
        answer: &Answer,
        comparing: Comparing<'_>,
        records: &mut Encoder,
    ) -> csv::Result<()> {
        let group = self.planned.group;
        let effect = key.estimator.rsplit(':').next().unwrap_or_default();
        let scored = External::scored(answer, &self.prepared.truths, &group.scenario, feature);
        for &metric in &group.metrics {
            let own = || match regional::info(effect) {
                Ok(info) if metric.is_for(EstimateKind::Tree) => {
                    scored.score_tree(info.name, metric, &group.regions, comparing)
                }
                _ => scored.score(metric, comparing),
            };
            let score = caught(own).unwrap_or_else(Score::failed);
            let cell = Cell { score, model_rows: Some(answer.model_rows) };
            records.cell(key, 0, metric.name(), &cell)?;
        }
        if group.keep.contains(&Keep::Curves) {
            let points = caught(|| scored.curve(comparing)).unwrap_or_default();
            points.iter().try_for_each(|point| records.curve(key, 0, point))?;
        }
        Ok(())
    }
}

/// The limits of the confidence band of an effect at a place: pointwise, then simultaneous.
fn confidence_at(effect: &Effect, x: f64) -> [Option<f64>; 4] {
    effect.confidence.as_ref().map_or([None; 4], |band| limits_at(band, x))
}

/// The limits of a band at a place: pointwise, then simultaneous.
pub(super) fn limits_at(band: &ConfidenceBand, x: f64) -> [Option<f64>; 4] {
    let (pointwise, simultaneous) = (Some(&band.pointwise), band.simultaneous.as_ref());
    let at = |curve: &Curve| curve.at(x).ok().filter(|limit| limit.is_finite());
    let ends = |limits: Option<&Limits>| {
        [limits.and_then(|limits| at(&limits.lower)), limits.and_then(|limits| at(&limits.upper))]
    };
    let ([lower, upper], [least, most]) = (ends(pointwise), ends(simultaneous));
    [lower, upper, least, most]
}
