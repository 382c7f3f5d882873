//! Tables of means over replicates, made from records and nothing else.
//!
//! It imports `record`, `study`, `score` and what these import. Begin with [`of_study`]; `layout` says which value goes
//! where, and `render`, `latex` and `html` write it.

mod baseline;
mod best;
mod html;
mod latex;
mod layout;
pub mod league;
mod number;
mod render;
mod style;

use std::collections::HashSet;

use fe_core::replicates::{Paired, Summary};
use toml::{Table, Value};

use crate::record::empty_bins::{self, EmptyBins};
use crate::record::manifest::NamedStudy;
use crate::record::results::Results;
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, is_part};
use crate::study::file::TableSpec;
use crate::study::{Study, plain};

pub use baseline::differences;
pub use latex::document;
pub use render::{TableFormat, write};
pub use style::{ErrorStyle, Mark, Style};

/// A table on its way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    title: String,
    labels: Vec<String>,
    columns: Vec<String>,
    rows: Vec<TableRow>,
    notes: Vec<String>,
    starred: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct TableRow {
    labels: Vec<String>,
    entries: Vec<Option<TableEntry>>,
}

#[derive(Debug, Clone, PartialEq)]
struct TableEntry {
    key: Key,
    summary: Summary,
    failed: usize,
    degenerate: usize,
    paired: Option<Paired>,
    /// True if it is smaller than the baseline beyond the paired 95 % interval.
    better: bool,
    standing: Standing,
}

/// The fingerprint of the estimate that a value is of, whatever it is compared with.
fn estimate(key: &Key<&str>) -> u128 {
    Key { metric: "", pair: "", output: "", ..*key }.fingerprint()
}

/// Standing of an error among the others from the same truth on the same data in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Standing {
    /// It has no competitors, is beaten, or is no error.
    #[default]
    Other,
    /// The lowest.
    Best,
    /// Its paired difference from the lowest has a 95 % interval that covers 0.
    Tied,
}

impl Rendered {
    /// The same table under another title.
    #[must_use]
    pub fn titled(self, title: &str) -> Self {
        Self { title: title.to_owned(), ..self }
    }

    /// The same table, which says if many bins are empty in the estimates that its numbers are of.
    #[must_use]
    pub fn cautioned(mut self, all: &[EmptyBins]) -> Self {
        let entries = self.rows.iter().flat_map(|row| row.entries.iter().flatten());
        let meant: HashSet<u128> = entries.map(|entry| estimate(&entry.key.borrowed())).collect();
        self.notes.extend(empty_bins::caution(all, |key| meant.contains(&estimate(key))));
        self
    }
}

/// The tables that a study names, of its results; one with everything that varies if it names none, and
/// none if it has no results.
///
/// A value that is missing on every dataset has its place in them and is said to have failed.
///
/// # Errors
/// As [`make_of`].
pub fn of_study(named: &NamedStudy, results: &Results) -> Result<Vec<Rendered>, String> {
    let own = |row: &&SummaryRow| row.key.study == named.name;
    let mut values: Vec<SummaryRow> = results.values.iter().filter(own).cloned().collect();
    if values.is_empty() {
        return Ok(Vec::new());
    }
    if named.study.table.is_empty() {
        let table = make_of(&default_spec(&named.name, &values), &values)?;
        return Ok(vec![table.cautioned(&results.empty_bins)]);
    }
    values.extend(results.parts.iter().filter(own).cloned());
    // A shard has only some of the datasets.
    if results.manifest.shard.is_none() {
        let absent = absent(named, &values);
        values.extend(absent);
    }
    let table = |spec| Ok(make_of(spec, &values)?.cautioned(&results.empty_bins));
    named.study.table.iter().map(table).collect()
}

/// Rows for what is made of the curves of estimates that failed on every dataset: they have none.
fn absent(named: &NamedStudy, values: &[SummaryRow]) -> Vec<SummaryRow> {
    let there: HashSet<u128> = values.iter().map(|value| value.key.fingerprint()).collect();
    // Of a study that this program would not run any more, nothing is known.
    let Ok(study) = Study::new(named.name.clone(), named.study.clone()) else { return Vec::new() };
    let absent = study
        .values()
        .filter(|(key, _)| is_part(&key.metric) && !there.contains(&key.fingerprint()));
    absent.map(|(key, replicates)| SummaryRow::new(key, Vec::new(), replicates)).collect()
}

/// Makes a table from means over replicates.
///
/// # Errors
/// A message, if rows and columns leave open which value is meant, or no value is left.
pub fn make_of(spec: &TableSpec, rows: &[SummaryRow]) -> Result<Rendered, String> {
    let chosen = rows.iter().filter(|row| matches(&spec.filter, &row.key));
    lay_out(spec, &chosen.cloned().collect::<Vec<_>>())
}

/// Refuses the tables of a study that its values will not fill, or fill in more than one way: better said
/// before a run than after it.
///
/// # Errors
/// As [`make_of`], and a baseline that there will not be.
pub fn check(study: &Study) -> Result<(), String> {
    let values: Vec<SummaryRow> = match study.file.table.is_empty() {
        true => Vec::new(),
        false => study.values().map(|(key, _)| SummaryRow::new(key, Vec::new(), 0)).collect(),
    };
    study.file.table.iter().try_for_each(|spec| make_of(spec, &values).map(|_| ()))
}

fn lay_out(spec: &TableSpec, rows: &[SummaryRow]) -> Result<Rendered, String> {
    if rows.is_empty() {
        return Err(format!("no value is left for the table \"{}\"", spec.title));
    }
    layout::lay_out(spec, rows)
}

/// The rows that a filter lets through.
///
/// # Errors
/// A message that names a condition that nothing meets, and the values that there are.
pub fn filtered(filter: &Table, rows: Vec<SummaryRow>) -> Result<Vec<SummaryRow>, String> {
    let mut left = rows;
    for (name, allowed) in filter {
        let Some(column) = Column::named(name) else { continue };
        let condition = Table::from_iter([(name.clone(), allowed.clone())]);
        let (met, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|row| matches(&condition, &row.key));
        if met.is_empty() {
            let mut there: Vec<String> = Vec::new();
            for row in rest {
                if !there.contains(&row.key[column]) {
                    there.push(row.key[column].clone());
                }
            }
            let there: Vec<String> = there.iter().map(|value| format!("`{value}`")).collect();
            return Err(format!(
                "no value has `{name}` = {allowed}; among those left there are {}",
                there.join(", ")
            ));
        }
        left = met;
    }
    Ok(left)
}

/// The table of a study that names none: a column per metric, a row per combination of the keys that
/// vary.
#[must_use]
pub fn default_spec(name: &str, rows: &[SummaryRow]) -> TableSpec {
    let keys: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
    spec_of(name, &keys, &[], &[])
}

/// A table whose rows and columns are the given keys: without columns one per metric, without rows
/// one per combination of the other keys that vary.
#[must_use]
pub fn spec_of(title: &str, keys: &[&Key], rows: &[String], columns: &[String]) -> TableSpec {
    let metric = [Column::Metric.name().to_owned()];
    let columns = if !columns.is_empty() {
        columns
    } else if rows.contains(&metric[0]) {
        &[][..]
    } else {
        &metric
    };
    let varies = |column: Column| keys.iter().any(|other| other[column] != keys[0][column]);
    let varying = Column::of_means().filter(|column| varies(*column)).map(Column::name);
    let varying = varying.filter(|name| !columns.iter().any(|column| column == name));
    let mut rows = rows.to_vec();
    if rows.is_empty() {
        rows.extend(varying.map(str::to_owned));
    }
    if rows.is_empty() {
        rows.push("estimator".to_owned());
    }
    TableSpec { title: title.to_owned(), rows, columns: columns.to_vec(), ..TableSpec::default() }
}

/// True if a key has the values that a filter asks for.
fn matches(filter: &Table, key: &Key) -> bool {
    filter.iter().all(|(name, allowed)| {
        let Some(column) = Column::named(name) else { return false };
        match allowed {
            Value::Array(list) => list.iter().any(|value| plain(value) == key[column]),
            value => plain(value) == key[column],
        }
    })
}

fn pick(key: &Key, columns: &[Column]) -> Vec<String> {
    key.fields(columns.iter().copied()).map(str::to_owned).collect()
}

/// The fields that estimates share which may be compared with each other: data, feature and metric.
fn contest(key: &Key) -> Vec<String> {
    let shared = Column::of_means().filter(|column| !column.is_of_variant());
    key.fields(shared).map(str::to_owned).collect()
}
