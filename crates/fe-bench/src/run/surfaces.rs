//! Effects of pairs of features, estimated and scored.

use std::borrow::Cow;

use fe_core::effect::Surface;
use fe_core::{AxisChoice, Dataset};

use super::context::Task;
use super::estimate::{Subject, of_parts};
use super::learner::RefitsOfTask;
use super::prepared::{OfPairs, PreparedPair};
use crate::engines::{External, Place, Workspace};
use crate::error::caught;
use crate::record::encode::Encoder;
use crate::record::{BinCount, Cell};
use crate::score::Score;
use crate::score::pairs::ComparingPairs;
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
    let subjects = subjects.iter().filter(|subject| task.is_estimated(subject));
    let estimates: Vec<(&Subject<'_>, Vec<Estimate>)> = subjects
        .map(|subject| {
            let by = |built| estimate((subject, refits), of, built, rows);
            (subject, of.estimators.iter().map(by).collect())
        })
        .collect();
    let all = || estimates.iter().flat_map(|(_, of_subject)| of_subject);
    let found = || all().filter_map(|of| of.found.as_ref().ok()).flatten();
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
    let of_subjects = estimates.iter().flat_map(|(subject, estimates)| {
        group.variants.iter().zip(estimates).map(move |of_variant| (subject, of_variant))
    });
    for (subject, (variant, estimate)) in of_subjects {
        let own = Key { feature2: of.names[1].clone(), ..variant.key.clone() };
        task.each_pair(subject, (&of.names[0], &own, split), |key| {
            records.timing(key, estimate.taken, estimate.cells())?;
            for &metric in &group.metrics {
                match &estimate.found {
                    Ok(surfaces) => surfaces.iter().try_for_each(|surface| {
                        let truths = &group.of_pairs;
                        let scored =
                            || Ok(truths.score(&group.scenario, surface, comparing, metric));
                        let score = caught(scored).unwrap_or_else(Score::failed);
                        let model_rows = Some(surface.record.model_rows);
                        let cell = Cell { score, model_rows };
                        records.cell(key, surface.output, metric.name(), &cell)
                    })?,
                    Err(reason) => {
                        let cell = Cell { score: Score::failed(reason), model_rows: None };
                        records.cell(key, 0, metric.name(), &cell)?;
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(())
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
