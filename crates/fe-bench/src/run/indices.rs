//! Indices, estimated and scored.

use std::borrow::Cow;

use fe_core::Dataset;
use fe_core::indices::{self, Index, IndexEstimates};

use super::context::Task;
use super::estimate::{Subject, of_parts};
use crate::error::caught;
use crate::record::Cell;
use crate::record::encode::Encoder;
use crate::score::Score;
use crate::score::metric::ComparedIndex;
use crate::study::subjects::IndexVariant;

/// Estimates the indices of a group, those that share options together, and scores them.
pub(super) fn record(
    task: &Task<'_>,
    data: Result<&Dataset, &String>,
    records: &mut Encoder,
) -> csv::Result<()> {
    let group = task.planned.group;
    for variant in group.indices.iter() {
        let asked = variant.of(&group.subjects);
        let found = data.map_err(Clone::clone).and_then(|data| estimate(task, variant, data));
        let outputs = group.scenario.model().outputs();
        for (place, (index, features)) in asked.iter().enumerate() {
            let own = variant.key(&group.scenario, *index, features);
            for output in 0..outputs {
                let of = (place, asked.len() * output);
                let scores = score(task, &asked, of, found.as_ref());
                // What all of them share was asked once: it is told of the first.
                let model_rows = found.as_ref().ok().filter(|_| place == 0);
                let model_rows = model_rows.map(|found| found.model_rows + found.jacobian_rows);
                task.keyed_of_f(&own.feature, &own, |key| {
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

fn estimate(
    task: &Task<'_>,
    variant: &IndexVariant,
    data: &Dataset,
) -> Result<IndexEstimates, String> {
    let subjects = &task.planned.group.subjects;
    let f = Subject::F(task.planned.group.scenario.model());
    let of = (&subjects.features[..], &subjects.pairs[..]);
    let (parts, _) = of_parts(&f, &[Cow::Borrowed(data)], |data, model| {
        indices::estimate(data, model, &variant.asked, of, &variant.options).map(|all| vec![all])
    });
    parts?.into_iter().flatten().next().ok_or_else(|| "there is no estimate".to_owned())
}

/// The scores of an index by all metrics; where there is nothing to score they say why.
fn score(
    task: &Task<'_>,
    asked: &[(Index, Vec<usize>)],
    (place, of_output): (usize, usize),
    found: Result<&IndexEstimates, &String>,
) -> Vec<Score> {
    let group = task.planned.group;
    let (index, features) = &asked[place];
    let compared = || {
        let estimate = found.map_err(Clone::clone)?.estimates.get(of_output + place);
        let estimate = estimate.ok_or_else(|| "there is no estimate".to_owned())?;
        let estimate = estimate.estimate.clone().map_err(|error| error.to_string())?;
        let truth = group.of_pairs.index(&group.scenario, asked, (*index, features))?;
        Ok(ComparedIndex { estimate, truth })
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
