//! Indices, estimated and scored.

use std::borrow::Cow;

use fe_core::Dataset;
use fe_core::indices::{self, Index};

use super::context::Task;
use super::estimate::{Subject, of_parts};
use super::surfaces::Rows;
use crate::engines::{External, Workspace};
use crate::error::caught;
use crate::record::Cell;
use crate::record::encode::Encoder;
use crate::score::Score;
use crate::score::metric::ComparedIndex;
use crate::study::subjects::IndexVariant;
use crate::system::clock::Taken;

/// The value of an index with its interval, or why there is none.
type Told = Result<(f64, Option<(f64, f64)>), String>;

/// The indices of a variant for each output in turn, and what they cost.
struct Estimate {
    told: Vec<Told>,
    model_rows: u64,
    taken: Taken,
}

/// Estimates the indices of a group, those that share options together, and scores them.
pub(super) fn record(
    task: &Task<'_>,
    (data, workspace): Rows<'_>,
    records: &mut Encoder,
) -> csv::Result<()> {
    let group = task.planned.group;
    for variant in group.indices.iter() {
        let asked = variant.of(&group.subjects);
        let found = match (data, &variant.external) {
            (Err(reason), _) => Err(reason.clone()),
            (Ok(data), None) => estimate(task, variant, data),
            (Ok(_), Some((external, _))) => by_engine(external, workspace, &asked),
        };
        let outputs = group.scenario.model().outputs();
        for (place, (index, features)) in asked.iter().enumerate() {
            let own = variant.key(&group.scenario, *index, features);
            for output in 0..outputs {
                let of = (place, asked.len() * output);
                let scores = score(task, &asked, of, found.as_ref());
                // What all of them share was asked once: it is told of the first.
                let model_rows = found.as_ref().ok().filter(|_| place == 0);
                let model_rows = model_rows.map(|found| found.model_rows);
                task.keyed_of_f(&own.feature, &own, |key| {
                    if let (Ok(found), 0, 0) = (&found, place, output) {
                        records.timing(key, found.taken, None)?;
                    }
                    for (metric, score) in group.metrics.iter().zip(scores) {
                        let cell = Cell { score, model_rows };
                        records.cell(key, output, metric.name(), &cell)?;
                    }
                    Ok::<_, csv::Error>(())
                })?;
            }
        }
    }
    Ok(())
}

fn estimate(task: &Task<'_>, variant: &IndexVariant, data: &Dataset) -> Result<Estimate, String> {
    let subjects = &task.planned.group.subjects;
    let f = Subject::F(task.planned.group.scenario.model());
    let of = (&subjects.features[..], &subjects.pairs[..]);
    let (parts, taken) = of_parts(&f, &[Cow::Borrowed(data)], |data, model| {
        indices::estimate(data, model, &variant.asked, of, &variant.options).map(|all| vec![all])
    });
    let found = parts?.into_iter().flatten().next();
    let found = found.ok_or_else(|| "there is no estimate".to_owned())?;
    let told = found.estimates.into_iter().map(|of| {
        let measured = of.estimate.map_err(|error| error.to_string())?;
        Ok((measured.value, measured.interval()))
    });
    let model_rows = found.model_rows + found.jacobian_rows;
    Ok(Estimate { told: told.collect(), model_rows, taken })
}

fn by_engine(
    external: &External,
    workspace: Option<&Workspace<'_>>,
    asked: &[(Index, Vec<usize>)],
) -> Result<Estimate, String> {
    let workspace = workspace.ok_or_else(|| "there are no rows to be explained".to_owned())?;
    let answer = workspace.ask_indices(external, asked).map_err(|e| e.to_string())?;
    let told = answer.values.into_iter().zip(answer.intervals).map(|(value, interval)| {
        let value = value.ok_or_else(|| "the engine does not tell it".to_owned())?;
        Ok((value, interval))
    });
    Ok(Estimate { told: told.collect(), model_rows: answer.model_rows, taken: answer.taken })
}

/// The scores of an index by all metrics; where there is nothing to score they say why.
fn score(
    task: &Task<'_>,
    asked: &[(Index, Vec<usize>)],
    (place, of_output): (usize, usize),
    found: Result<&Estimate, &String>,
) -> Vec<Score> {
    let group = task.planned.group;
    let (index, features) = &asked[place];
    let compared = || {
        let told = found.map_err(Clone::clone)?.told.get(of_output + place);
        let (value, interval) = told.ok_or_else(|| "there is no estimate".to_owned())?.clone()?;
        let truth = group.of_pairs.index(&group.scenario, asked, (*index, features))?;
        Ok(ComparedIndex { value, interval, truth })
    };
    let compared = caught(compared);
    let metrics = group.metrics.iter();
    metrics
        .map(|metric| match &compared {
            Ok(compared) => metric.of_index(compared),
            Err(reason) => Score::failed(reason),
        })
        .collect()
}
