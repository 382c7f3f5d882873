//! Effects of pairs of features, estimated and scored.

use std::borrow::Cow;

use fe_core::effect::Surface;
use fe_core::{AxisChoice, Dataset};
use fe_truth::{FittedEffects, PairEffect, Truth};

use super::context::Task;
use super::estimate::{Subject, of_parts};
use super::learner::RefitsOfTask;
use super::prepared::{OfPairs, PreparedPair};
use crate::engines::{External, Place, Workspace};
use crate::error::caught;
use crate::record::encode::Encoder;
use crate::record::{BinCount, Cell};
use crate::score::comparison::{Pair, Side};
use crate::score::pairs::{ComparingPairs, FirstOfTwo, asked, asked_by, effect_of_model};
use crate::score::{Metric, Score};
use crate::study::key::Key;
use crate::system::clock::Taken;

/// The rows of a dataset, and where engines find them.
pub(super) type Rows<'a> = (Result<&'a Dataset, &'a String>, Option<&'a Workspace<'a>>);

/// The effects of a pair on each output, and their cost.
struct Estimate {
    found: Result<Vec<Surface>, String>,
    taken: Taken,
}

/// f and the models that were fitted to the rows of a split.
#[derive(Clone, Copy)]
pub(super) struct OfSplit<'a> {
    pub(super) split: &'a str,
    pub(super) subjects: &'a [Subject<'a>],
    pub(super) refits: &'a RefitsOfTask<'a>,
}

/// A subject, its estimates, where there are any, and its exact effects, where these are compared.
struct Explained<'a> {
    subject: &'a Subject<'a>,
    estimates: Option<Vec<Estimate>>,
    exact: Result<Vec<FittedEffects<'a>>, String>,
}

/// Estimates the effect of a pair of all that is compared by every variant, and scores them on the points that all of them
/// have.
pub(super) fn record(
    task: &Task<'_>,
    of: &PreparedPair,
    rows: Rows<'_>,
    OfSplit { split, subjects, refits }: OfSplit<'_>,
    records: &mut Encoder,
) -> csv::Result<()> {
    let group = task.planned.group;
    let explained = |subject| {
        let by = |built| estimate((subject, refits), of, built, rows);
        let all = || of.estimators.iter().map(by).collect();
        let estimates = task.is_estimated(subject).then(all);
        Explained { subject, estimates, exact: task.exact(subject) }
    };
    let all: Vec<Explained<'_>> = subjects.iter().map(explained).collect();
    let found = || {
        let estimates = all.iter().flat_map(|of| &of.estimates).flatten();
        estimates.filter_map(|of| of.found.as_ref().ok()).flatten()
    };
    let covered = |side: usize| -> Vec<f64> {
        let has = |x: &f64| found().all(|surface| surface.record.sides[side].axis.contains(*x));
        of.points[side].iter().copied().filter(has).collect()
    };
    let points = [covered(0), covered(1)];
    let comparing = ComparingPairs {
        points: [&points[0], &points[1]],
        grid: [&of.points[0], &of.points[1]],
        comparison: group.comparison,
    };
    for explained in &all {
        for (v, variant) in group.variants.iter().enumerate() {
            let estimate = explained.estimates.as_ref().map(|estimates| &estimates[v]);
            let own = Key { feature2: of.names[1].clone(), ..variant.key.clone() };
            task.each_pair(explained.subject, (&of.names[0], &own, split), |pair, key| {
                if let Some(estimate) = estimate {
                    records.timing(key, estimate.taken, estimate.cells())?;
                }
                let compare = Compare { task, of, v, explained, data: rows.0, comparing };
                compare.record(pair, key, records)
            })?;
        }
    }
    Ok(())
}

/// A comparison of a subject by one of the variants.
struct Compare<'a> {
    task: &'a Task<'a>,
    of: &'a PreparedPair,
    v: usize,
    explained: &'a Explained<'a>,
    data: Result<&'a Dataset, &'a String>,
    comparing: ComparingPairs<'a>,
}

impl Compare<'_> {
    fn record(&self, pair: Pair, key: &Key<&str>, records: &mut Encoder) -> csv::Result<()> {
        let metrics = self.task.planned.group.metrics.iter().copied();
        // What is exact of a model has no band, and none is held against it.
        let is_estimated = !pair.sides().contains(&Side::ModelExact);
        let metrics = metrics.filter(|metric| is_estimated || metric.is_of_pair(pair));
        let metrics: Vec<Metric> = metrics.collect();
        let firsts = match caught(|| self.firsts(pair)) {
            Ok(firsts) => firsts,
            Err(reason) => {
                return metrics.iter().try_for_each(|metric| {
                    let cell = Cell { score: Score::failed(&reason), model_rows: None };
                    records.cell(key, 0, metric.name(), &cell)
                });
            }
        };
        for metric in metrics {
            for (first, asked) in &firsts {
                let scored = || {
                    let second = self.exact_side(pair.second, asked)?;
                    first.score(&second, self.comparing, metric)
                };
                let score = caught(scored).unwrap_or_else(Score::failed);
                let (output, model_rows) = match first {
                    FirstOfTwo::Estimate(surface) => {
                        (surface.output, Some(surface.record.model_rows))
                    }
                    FirstOfTwo::Exact(_) => (0, None),
                };
                records.cell(key, output, metric.name(), &Cell { score, model_rows })?;
            }
        }
        Ok(())
    }

    /// The first effect of a pair, of each output, with the question that it answers.
    fn firsts(&self, pair: Pair) -> Result<Vec<(FirstOfTwo<'_>, PairEffect)>, String> {
        if pair.first == Side::ModelExact {
            let data = self.data.map_err(Clone::clone)?;
            let estimator = match &self.of.estimators[self.v] {
                Ok(built) => built.estimator().ok_or("engines do not explain fitted models")?,
                Err(reason) => return Err(reason.clone()),
            };
            let scenario = &self.task.planned.group.scenario;
            let asked = asked_by(estimator, scenario, (data, self.of.features))?;
            let exact = self.exact_side(pair.first, &asked)?;
            return Ok(vec![(FirstOfTwo::Exact(exact), asked)]);
        }
        let estimate = self.explained.estimates.as_ref().map(|estimates| &estimates[self.v]);
        let estimate = estimate.ok_or_else(|| format!("`{}` was not estimated", pair.first))?;
        let surfaces = estimate.found.as_ref().map_err(Clone::clone)?;
        let first = |surface| Ok((FirstOfTwo::Estimate(surface), asked(surface)?));
        surfaces.iter().map(first).collect()
    }

    /// The exact effect of a side at the points.
    fn exact_side(&self, side: Side, asked: &PairEffect) -> Result<Vec<Truth>, String> {
        let group = self.task.planned.group;
        if side != Side::ModelExact {
            return group.of_pairs.truths(&group.scenario, asked, self.comparing);
        }
        // Of pairs models are fitted to all rows: there is one.
        let models = self.explained.exact.as_ref().map_err(Clone::clone)?;
        let model = models.first().ok_or("there is no model")?;
        effect_of_model((model, &group.scenario), asked, self.comparing)
    }
}

impl Estimate {
    /// The cells of accumulated differences.
    fn cells(&self) -> Option<BinCount> {
        let surface = self.found.as_ref().ok()?.first()?;
        surface.record.cells.map(|cells| BinCount { bins: cells.cells, empty: cells.empty })
    }
}

fn estimate(
    (subject, refits): (&Subject<'_>, &RefitsOfTask<'_>),
    of: &PreparedPair,
    built: &Result<OfPairs, String>,
    (data, workspace): Rows<'_>,
) -> Estimate {
    let failed = |reason: &String| Estimate { found: Err(reason.clone()), taken: Taken::default() };
    let (built, data, refitting) = match (built, data, workspace) {
        (Ok(OfPairs::Own(built)), Ok(data), _) => (built.as_ref(), data, None),
        (Ok(OfPairs::Refitted(built)), Ok(data), _) => (built.estimator(), data, Some(built)),
        (Ok(OfPairs::External(external, axes)), Ok(_), Some(workspace)) => {
            return by_engine(of, (external, *axes), workspace);
        }
        (Ok(OfPairs::External(..)), Ok(_), None) => {
            return failed(&"there are no rows to be explained".to_owned());
        }
        (Err(reason), ..) | (_, Err(reason), _) => return failed(reason),
    };
    let (parts, taken) = of_parts(subject, &[Cow::Borrowed(data)], |data, model| {
        built.estimate(data, model, of.features)
    });
    let mut found: Result<Vec<Surface>, String> =
        parts.map(|parts| parts.into_iter().flatten().collect());
    if let (Ok([surface]), Some(refitting)) = (found.as_deref_mut(), refitting) {
        match refits.band_of_pair(subject, refitting, surface, data) {
            Some(Ok(band)) => surface.confidence = Some(band),
            Some(Err(reason)) => found = Err(reason),
            None => {}
        }
    }
    Estimate { found, taken }
}

fn by_engine(
    of: &PreparedPair,
    (external, axes): (&External, [AxisChoice; 2]),
    workspace: &Workspace<'_>,
) -> Estimate {
    let place = |side: usize| Place {
        feature: of.features[side],
        axis: axes[side],
        grid: &of.points[side],
    };
    let answer = workspace.ask_pair(external, [place(0), place(1)]);
    let taken = answer.as_ref().map_or_else(|_| Taken::default(), |answer| answer.taken);
    let found = answer.map(|answer| vec![answer.surface]).map_err(|e| e.to_string());
    Estimate { found, taken }
}
