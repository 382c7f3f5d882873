//! Effects of pairs of features, estimated and scored.

use std::borrow::Cow;

use fe_core::effect::Surface;
use fe_core::{AxisChoice, Dataset};

use super::context::Task;
use super::estimate::{Subject, of_parts};
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

/// Estimates the effect of a pair by every variant, and scores them on the points that all of them have.
pub(super) fn record(
    task: &Task<'_>,
    of: &PreparedPair,
    rows: Rows<'_>,
    records: &mut Encoder,
) -> csv::Result<()> {
    let group = task.planned.group;
    let estimates: Vec<Estimate> =
        of.estimators.iter().map(|built| estimate(task, of, built, rows)).collect();
    let found = || estimates.iter().filter_map(|of| of.found.as_ref().ok()).flatten();
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
    for (variant, estimate) in group.variants.iter().zip(&estimates) {
        let own = Key { feature2: of.names[1].clone(), ..variant.key.clone() };
        task.keyed_of_f(&of.names[0], &own, |key| {
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
            Ok::<_, csv::Error>(())
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
    task: &Task<'_>,
    of: &PreparedPair,
    built: &Result<OfPairs, String>,
    (data, workspace): Rows<'_>,
) -> Estimate {
    let failed = |reason: &String| Estimate { found: Err(reason.clone()), taken: Taken::default() };
    let (built, data) = match (built, data, workspace) {
        (Ok(OfPairs::Own(built)), Ok(data), _) => (built, data),
        (Ok(OfPairs::External(external, axes)), Ok(_), Some(workspace)) => {
            return by_engine(of, (external, *axes), workspace);
        }
        (Ok(OfPairs::External(..)), Ok(_), None) => {
            return failed(&"there are no rows to be explained".to_owned());
        }
        (Err(reason), ..) | (_, Err(reason), _) => return failed(reason),
    };
    let f = Subject::F(task.planned.group.scenario.model());
    let (parts, taken) = of_parts(&f, &[Cow::Borrowed(data)], |data, model| {
        built.estimate(data, model, of.features)
    });
    Estimate { found: parts.map(|parts| parts.into_iter().flatten().collect()), taken }
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
