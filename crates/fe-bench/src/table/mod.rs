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
mod width;

use std::collections::HashSet;

use fe_core::replicates::{Paired, Summary};
use toml::{Table, Value};

use crate::data::scenarios;
use crate::data::sizes::Sizes;
use crate::error::suggestion;
use crate::record::empty_bins::{self, EmptyBins};
use crate::record::manifest::NamedStudy;
use crate::record::results::Results;
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, is_part, precision};
use crate::study::field::{Field, parts};
use crate::study::file::{StudyFile, TableSpec};
use crate::study::labels::Labels;
use crate::study::{Study, plain};

pub use baseline::differences;
pub use latex::document;
pub use render::{TableFormat, to_read, write};
pub use style::{ErrorStyle, Mark, Style};

/// A table on its way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    title: String,
    /// The names of the keys of its rows.
    labels: Vec<String>,
    /// The headings of each column of values, from the key that was named first to the last.
    columns: Vec<Vec<String>>,
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
    /// True of an error that is 0 but for rounding, which is written as a word.
    exact: bool,
}

/// The most means that a note names.
const MOST_NAMED: usize = 5;

/// The fingerprint of the key of a mean, whatever dataset it was taken from.
fn without_replicate(key: &Key) -> u128 {
    Key { replicate: "", ..key.borrowed() }.fingerprint()
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
    /// As exact as the lowest, which differ by rounding alone.
    Exact,
    /// Its paired difference from the lowest has a 95 % interval that covers 0.
    Tied,
}

impl Rendered {
    /// The same table under another title.
    #[must_use]
    pub fn titled(self, title: &str) -> Self {
        Self { title: title.to_owned(), ..self }
    }

    /// The same table, whose title names its study.
    #[must_use]
    pub fn of_named(self, study: &str) -> Self {
        if self.title.contains(study) {
            return self;
        }
        let title = format!("{study}: {}", self.title);
        Self { title, ..self }
    }

    /// The same table, which says if many bins are empty in the estimates that its numbers are of.
    #[must_use]
    pub fn cautioned(mut self, all: &[EmptyBins], labels: &Labels) -> Self {
        let entries = self.rows.iter().flat_map(|row| row.entries.iter().flatten());
        let meant: HashSet<u128> = entries.map(|entry| estimate(&entry.key.borrowed())).collect();
        self.notes.extend(empty_bins::caution(all, labels, |key| meant.contains(&estimate(key))));
        self
    }

    /// The same table, which says what is not told by means alone: what is compared dataset by dataset.
    #[must_use]
    pub fn of_means(mut self, has_baseline: bool, lacks_empty_bins: bool) -> Self {
        let is_lowest = |entry: &TableEntry| entry.standing != Standing::Other;
        let has_lowest =
            self.rows.iter().flat_map(|row| row.entries.iter().flatten()).any(is_lowest);
        let untold = [
            (has_lowest, "which errors are not told from the lowest"),
            (has_baseline, "which are lower than the baseline"),
            (lacks_empty_bins, "which estimates have many empty bins"),
        ];
        let untold: Vec<&str> =
            untold.into_iter().filter_map(|(is_asked, what)| is_asked.then_some(what)).collect();
        if !untold.is_empty() {
            self.notes.push(format!(
                "Not known from means alone, without the value of each dataset: {}.",
                untold.join("; ")
            ));
        }
        self
    }

    /// The same table, which names those of its means that are less precise than their study asks for.
    #[must_use]
    pub fn with_precision(mut self, imprecise: &[Key]) -> Self {
        let imprecise: HashSet<u128> = imprecise.iter().map(Key::fingerprint).collect();
        let entries = self.rows.iter().flat_map(|row| {
            let named = |entry: &TableEntry| {
                let is_meant =
                    entry.paired.is_none() && imprecise.contains(&without_replicate(&entry.key));
                let labels: Vec<&str> =
                    row.labels.iter().map(String::as_str).filter(|of| !of.is_empty()).collect();
                is_meant.then(|| labels.join(" "))
            };
            let places = row.entries.iter().zip(&self.columns);
            places.filter_map(move |(entry, heading)| {
                Some((named(entry.as_ref()?)?, heading.join(" ")))
            })
        });
        let named = entries.map(|(row, column)| format!("{row}, {column}").trim().to_owned());
        let named: Vec<String> = named.collect();
        if let Some(first) = named.get(..MOST_NAMED.min(named.len())).filter(|all| !all.is_empty())
        {
            let more = named.len() - first.len();
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            self.notes.push(format!(
                "Less precise than `until` asks for, on as many datasets as `most` allows: {}{more}.",
                first.join("; ")
            ));
        }
        self
    }
}

/// The context of tables: the words that stand in them, which truths are the same, and what is rounding.
#[derive(Debug, Default)]
pub struct Context {
    labels: Labels,
    truths: best::SharedTruths,
    sizes: Sizes,
}

impl Context {
    /// The context of some studies.
    #[must_use]
    pub fn of<'a>(studies: impl Iterator<Item = &'a StudyFile> + Clone) -> Self {
        let files = studies.clone().map(|study| &study.problems);
        let problems = scenarios::recorded(files);
        let sizes = Sizes::new(problems.clone());
        let truths = best::SharedTruths::new(problems);
        let labels = studies.fold(Labels::default(), |all, study| all.and(&study.labels));
        Self { labels, truths, sizes }
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
    let context = Context::of([&named.study].into_iter());
    let imprecise = precision::imprecise_in(results);
    if named.study.table.is_empty() {
        let table = make_of(&default_spec(&named.name, &values), &values, &context)?;
        let table = if results.are_means {
            table.of_means(false, results.lacks_empty_bins())
        } else {
            table
        };
        return Ok(vec![
            table.cautioned(&results.empty_bins, &context.labels).with_precision(&imprecise),
        ]);
    }
    values.extend(results.parts.iter().filter(own).cloned());
    // A shard has only some of the datasets.
    if results.manifest.shard.is_none() {
        let absent = absent(named, &values);
        values.extend(absent);
    }
    let table = |spec: &TableSpec| {
        let has_baseline = !spec.baseline.is_empty();
        let alone = results.are_means.then(|| TableSpec { baseline: Table::new(), ..spec.clone() });
        let made = make_of(alone.as_ref().unwrap_or(spec), &values, &context)?;
        let made = if results.are_means {
            made.of_means(has_baseline, results.lacks_empty_bins())
        } else {
            made
        };
        let made = made.cautioned(&results.empty_bins, &context.labels);
        // A table without a title has the name of its study.
        let made = if made.title.trim().is_empty() { made.titled(&named.name) } else { made };
        Ok(made.with_precision(&imprecise))
    };
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
/// A message, if a key is not known, rows and columns leave open which value is meant, or no value is left.
pub fn make_of(
    spec: &TableSpec,
    rows: &[SummaryRow],
    context: &Context,
) -> Result<Rendered, String> {
    let of_table = |message| format!("{message}, in the table \"{}\"", spec.title);
    let names = spec.rows.iter().chain(&spec.columns);
    let names = names.chain(spec.filter.keys()).chain(spec.baseline.keys());
    let keys: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
    Field::check(names.map(String::as_str), &keys).map_err(of_table)?;
    let chosen: Vec<SummaryRow> =
        rows.iter().filter(|row| matches(&spec.filter, &row.key)).cloned().collect();
    if chosen.is_empty() {
        // Only for what it says: without the single values, of which there may be many.
        let bare = keys.iter().map(|key| SummaryRow::new((*key).clone(), Vec::new(), 0));
        filtered(&spec.filter, bare.collect()).map_err(of_table)?;
        return Err(of_table("no value is left".to_owned()));
    }
    let keys: Vec<&Key> = chosen.iter().map(|row| &row.key).collect();
    let usual = spec_of("", &keys, &spec.rows, &spec.columns);
    let spec = TableSpec { rows: usual.rows, columns: usual.columns, ..spec.clone() };
    layout::lay_out(&spec, &chosen, context)
}

/// Refuses the tables of a study that its values will not fill, or fill in more than one way, and labels of what there
/// will not be: better said before a run than after it.
///
/// # Errors
/// As [`make_of`], and a baseline that there will not be.
pub fn check(study: &Study) -> Result<(), String> {
    let labels = &study.file.labels;
    if study.file.table.is_empty() && labels.is_empty() {
        return Ok(());
    }
    let values: Vec<SummaryRow> =
        study.values().map(|(key, _)| SummaryRow::new(key, Vec::new(), 0)).collect();
    check_labels(labels, &values)?;
    let context = Context { labels: labels.clone(), ..Context::default() };
    study.file.table.iter().try_for_each(|spec| make_of(spec, &values, &context).map(|_| ()))
}

/// Refuses labels of words that none of some values has.
fn check_labels(labels: &Labels, values: &[SummaryRow]) -> Result<(), String> {
    let keys: Vec<&Key> = values.iter().map(|value| &value.key).collect();
    let mut words: HashSet<&str> = keys.iter().flat_map(|key| key.fields(Column::ALL)).collect();
    words.extend(Column::NAMES);
    let names: Vec<&str> = words.iter().filter_map(|word| word.split(['@', '(']).next()).collect();
    words.extend(names);
    let packed = keys.iter().flat_map(|key| [&key.parameters, &key.options, &key.binning]);
    let parts: Vec<(&str, &str)> = packed.flat_map(|field| parts(field)).collect();
    words.extend(parts.iter().flat_map(|(name, value)| [*name, *value]));
    match labels.unused(|word| words.contains(word)) {
        None => Ok(()),
        Some(word) => Err(format!(
            "`{word}` in [labels] is no word of this study{}",
            suggestion(word, words.iter().copied())
        )),
    }
}

/// The rows that a filter lets through.
///
/// # Errors
/// A message that names a condition that nothing meets, and the values that there are.
pub fn filtered(filter: &Table, rows: Vec<SummaryRow>) -> Result<Vec<SummaryRow>, String> {
    let mut left = rows;
    for (name, allowed) in filter {
        let field = Field::named(name);
        let (met, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|row| meets(&field, allowed, &row.key));
        if met.is_empty() {
            let mut there: Vec<String> = Vec::new();
            for value in rest.iter().map(|row| field.of(&row.key)) {
                if !there.iter().any(|known| known == value) {
                    there.push(value.to_owned());
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
    let varying = Column::of_means().flat_map(|column| Field::varying(column, keys));
    let varying = varying.map(|field| field.name().to_owned());
    let varying = varying.filter(|name| !columns.contains(name));
    let mut rows = rows.to_vec();
    if rows.is_empty() {
        rows.extend(varying);
    }
    if rows.is_empty() {
        rows.push("estimator".to_owned());
    }
    TableSpec { title: title.to_owned(), rows, columns: columns.to_vec(), ..TableSpec::default() }
}

/// True if a key has the values that a filter asks for.
fn matches(filter: &Table, key: &Key) -> bool {
    filter.iter().all(|(name, allowed)| meets(&Field::named(name), allowed, key))
}

/// True if a field of a key has a value, or one of a list of them.
fn meets(field: &Field, allowed: &Value, key: &Key) -> bool {
    match allowed {
        Value::Array(list) => list.iter().any(|value| field.is(key, &plain(value))),
        value => field.is(key, &plain(value)),
    }
}

/// The fields that estimates share which may be compared with each other: data, feature and metric.
fn contest(key: &Key) -> Vec<String> {
    let shared = Column::of_means().filter(|column| !column.is_of_variant());
    key.fields(shared).map(str::to_owned).collect()
}
