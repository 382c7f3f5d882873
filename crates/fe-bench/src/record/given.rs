//! Results folders of curves that were computed elsewhere and scored here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fe_truth::Scenario;
use toml::{Table, Value};

use super::columns::Cell;
use super::encode::Encoder;
use super::manifest::{Manifest, NamedStudy};
use super::store::{Counts, Writer, check_free, publish};
use crate::data::scenarios::Problems;
use crate::error::{Error, Result};
use crate::score::{CurvePoint, Score};
use crate::study::file::{Block, Keep, StudyFile};
use crate::study::key::Key;
use crate::system::files::parent;

/// Writes the scores of curves as a results folder with one study, of a name and a purpose. Means are taken over the
/// replicates of curves that differ in nothing else.
///
/// # Errors
/// A folder that exists, a curve that is there twice, and whatever the system reports.
pub fn write(
    folder: &Path,
    (name, about): (&str, &str),
    scenario: &Scenario,
    values: Vec<(Key, Score)>,
    curves: Vec<(Key, Vec<CurvePoint>)>,
) -> Result<Counts> {
    check_free(folder)?;
    let parent = parent(folder);
    let study = NamedStudy { name: name.to_owned(), study: described(about, scenario, &values)? };
    let manifest = Manifest { studies: vec![study], ..Manifest::starting(&[], 0, 1, None) };
    let begun = tempfile::Builder::new().prefix(".scores").tempdir_in(parent);
    let begun = begun.map_err(Error::file(parent))?;
    let inside = begun.path().join("results");
    std::fs::create_dir(&inside).map_err(Error::file(&inside))?;
    let mut writer = Writer::keeping(&inside, |what| what == Keep::Curves, false)?;
    let mut tasks: BTreeMap<Dataset, Task> = BTreeMap::new();
    for (key, score) in values {
        tasks.entry(dataset(&key)).or_default().0.push((key, score));
    }
    for (key, points) in curves {
        tasks.entry(dataset(&key)).or_default().1.push((key, points));
    }
    let mut sizes: Vec<String> = Vec::new();
    for (place, ((_, rows, _), (values, curves))) in tasks.iter().enumerate() {
        if sizes.last() != Some(rows) {
            sizes.push(rows.clone());
        }
        let mut encoder = Encoder::new();
        for (key, score) in values {
            let cell = Cell { score: score.clone(), model_rows: None };
            let written = encoder.cell(&key.borrowed(), 0, &key.metric, &cell);
            written.map_err(|e| Error::content(folder, e))?;
        }
        for (key, points) in curves {
            for point in points {
                let written = encoder.curve(&key.borrowed(), 0, point);
                written.map_err(|e| Error::content(folder, e))?;
            }
        }
        let parts = encoder.into_parts().map_err(|e| Error::content(folder, e))?;
        writer.push(place, sizes.len(), &parts)?;
    }
    let counts = writer.finish(&manifest)?;
    publish(&inside, folder)?;
    Ok(counts)
}

/// The size of a dataset, as a number and as it is written, and its number.
type Dataset = (u64, String, u64);

/// The values of a dataset, and its curves.
type Task = (Vec<(Key, Score)>, Vec<(Key, Vec<CurvePoint>)>);

fn dataset(key: &Key) -> Dataset {
    (number(&key.rows), key.rows.clone(), number(&key.replicate))
}

fn number(rows: &str) -> u64 {
    rows.parse().unwrap_or_default()
}

/// A study file that says what the scores are of.
fn described(about: &str, scenario: &Scenario, values: &[(Key, Score)]) -> Result<StudyFile> {
    let all = |of: fn(&Key) -> &str| -> Vec<String> {
        let mut seen = BTreeSet::new();
        let words = values.iter().map(|(key, _)| of(key).to_owned());
        words.filter(|word| seen.insert(word.clone())).collect()
    };
    let parts = scenario.parameters();
    let parts = parts.split(';').filter_map(|part| part.split_once('='));
    let set: Table = parts.map(|(name, value)| (name.to_owned(), value.into())).collect();
    let sizes =
        all(|key| &key.rows).iter().map(|rows| Value::Integer(number(rows) as i64)).collect();
    let estimators = all(|key| &key.estimator).into_iter();
    let estimators = estimators.map(|name| Table::from_iter([("name".to_owned(), name.into())]));
    let mut block = Table::from_iter([
        ("scenario".to_owned(), Value::String(scenario.id())),
        ("set".to_owned(), Value::Table(set)),
        ("N".to_owned(), Value::Array(sizes)),
        ("replicates".to_owned(), Value::Integer(all(|key| &key.replicate).len() as i64)),
    ]);
    let words = |words: Vec<String>| Value::Array(words.into_iter().map(Value::String).collect());
    block.insert(
        "keep".to_owned(),
        Value::Array(vec![Value::String(Keep::Curves.name().to_owned())]),
    );
    block.insert("features".to_owned(), words(all(|key| &key.feature)));
    block.insert("metrics".to_owned(), words(all(|key| &key.metric)));
    block.insert("estimator".to_owned(), Value::Array(estimators.map(Value::Table).collect()));
    let block: Block = Value::Table(block)
        .try_into()
        .map_err(|e: toml::de::Error| Error::Argument(e.to_string()))?;
    let mut problems = Problems::default();
    if let Some(text) = scenario.text() {
        problems.insert(scenario.id(), text.to_owned());
    }
    Ok(StudyFile {
        about: about.to_owned(),
        block: vec![block],
        table: Vec::new(),
        labels: Default::default(),
        problems,
    })
}
