//! Study files: their keys, as loose as TOML, with the nearest known key in messages.

use std::path::Path;

use fe_core::settings;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::labels::Labels;
use crate::data::scenarios::Problems;
use crate::error::{Error, Result, listed, plain_types, suggestion};
use crate::output::whole_of;
use crate::score::comparison::Comparison;

/// A study file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StudyFile {
    /// Reason why the study exists.
    pub about: String,
    /// Sweeps.
    pub block: Vec<Block>,
    /// Tables of the results.
    #[serde(default)]
    pub table: Vec<TableSpec>,
    /// Names of estimators, options, scenarios, metrics and keys in tables and figures.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The texts of the problem files that its blocks name, by their paths as written. A study does
    /// not say them: they are read with it, and kept with its results.
    #[serde(default, skip_serializing_if = "Problems::is_empty")]
    pub problems: Problems,
}

/// A sweep: every combination of its scenarios, parameters, sizes, features and estimators.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// One scenario or several.
    #[serde(default = "no_scenario")]
    pub scenario: Value,
    /// In place of scenarios, random ones: how many, and what they are drawn from. They are drawn when
    /// the file is read, and are then its scenarios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<Table>,
    /// Parameters; a list is swept over.
    #[serde(default)]
    pub set: Table,
    /// Features; all of them by default.
    #[serde(default)]
    pub features: Vec<String>,
    /// Numbers of rows.
    #[serde(rename = "N")]
    pub n: Value,
    /// Independent datasets per combination; with `until`, the least number of them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_some_whole"
    )]
    pub replicates: Option<usize>,
    /// Precision up to which datasets are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Table>,
    /// Points at which curves are compared; a list is swept over.
    #[serde(default = "default_grid")]
    pub grid: Value,
    /// Metrics; `mse` and `mae` by default.
    #[serde(default = "default_metrics")]
    pub metrics: Vec<String>,
    /// Names of the heterogeneity values that `heterogeneity_value` is of; each estimator's default without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Value>,
    /// True if curves are centred on the grid before they are compared.
    #[serde(default)]
    pub compare: Comparison,
    /// Files that are written beside the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<Keep>,
    /// Estimators with their options; an option that is a list is swept over.
    pub estimator: Vec<Table>,
    /// Models that are fitted to the data, with their options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<Table>,
    /// Ratios of signal to noise of the target that models are fitted to; no noise by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snr: Option<Value>,
    /// On which rows models are fitted and explained; all rows for both by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<String>,
    /// Further datasets on which the effects of each fitted model are estimated.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "read_whole")]
    pub fresh: usize,
    /// Further datasets that learners are fitted to for their expected effects.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_some_whole"
    )]
    pub expected: Option<usize>,
    /// Pairs of effects that are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<String>,
    /// True if pairs are compared that mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl Block {
    /// True of one in which no scenario stands.
    pub(super) fn names_no_scenario(&self) -> bool {
        self.scenario.as_array().is_some_and(Vec::is_empty)
    }
}

/// A file that a study may ask for beside the values of its metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The curves, on the grid.
    Curves,
    /// The bins.
    Bins,
    /// Bias and variance over the replicates, at each point.
    Decomposition,
    /// Trees of regions, and the curves in their leaves.
    Trees,
}

impl Keep {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Curves => "curves",
            Self::Bins => "bins",
            Self::Decomposition => "decomposition",
            Self::Trees => "trees",
        }
    }
}

/// A table of means over replicates.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TableSpec {
    /// Its heading.
    #[serde(default)]
    pub title: String,
    /// Keys whose values become rows; without, a row for each combination of the other keys that vary.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Keys whose values become columns; without, a column for each metric.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Values that keys must have; a list of values, one of which.
    #[serde(default, rename = "where")]
    pub filter: Table,
    /// The row that the others are compared with, replicate by replicate.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub baseline: Table,
}

/// A whole number, as `1000` or `1e3`; none if a value is no such number.
pub(super) fn whole(value: &Value) -> Option<usize> {
    match value {
        Value::Integer(number) => usize::try_from(*number).ok(),
        Value::Float(number) => whole_of(*number),
        _ => None,
    }
}

fn read_whole<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<usize, D::Error> {
    let value = Value::deserialize(from)?;
    whole(&value)
        .ok_or_else(|| serde::de::Error::custom(format!("{value} is no whole number, at least 0")))
}

fn read_some_whole<'de, D>(from: D) -> std::result::Result<Option<usize>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    read_whole(from).map(Some)
}

fn no_scenario() -> Value {
    Value::Array(Vec::new())
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

pub(super) fn default_grid() -> Value {
    Value::Integer(100)
}

fn default_metrics() -> Vec<String> {
    vec!["mse".to_owned(), "mae".to_owned()]
}

/// The key of an estimator in place of its name where indices are asked for.
pub(super) const INDICES: &str = "indices";

/// The key of the engine that estimates them, where it is not this program.
pub(super) const ENGINE: &str = "engine";

/// Keys that must be there, and how they are written.
const OF_EVERY_STUDY: [(&str, &str); 2] =
    [("about", "`about = \"Why the study exists.\"`"), ("block", "a table `[[block]]`")];
const OF_EVERY_BLOCK: [(&str, &str); 2] =
    [("N", "`N = 1000`"), ("estimator", "a table `[[block.estimator]]` with `name = \"ale\"`")];
const STUDY_KEYS: &[&str] = &["about", "block", "table", "labels"];
const BLOCK_KEYS: &[&str] = &[
    "scenario",
    "population",
    "set",
    "features",
    "N",
    "replicates",
    "until",
    "grid",
    "metrics",
    "of",
    "compare",
    "keep",
    "estimator",
    "model",
    "snr",
    "split",
    "fresh",
    "expected",
    "pairs",
    "force",
];
/// Reason why a study takes no ratio of signal to noise.
const NO_TARGET: &str = "noise is added to the target, which nothing reads without a [[block.model]]: \
                         effects are those of the scenario's function itself; `sample` takes --snr";
const TABLE_KEYS: &[&str] = &["title", "rows", "columns", "where", "baseline"];

/// Reads a study file.
///
/// # Errors
/// A file that cannot be read, is not TOML, has an unknown key (the nearest known one is named) or a
/// value of the wrong type (its line is shown).
pub fn read(path: &Path) -> Result<StudyFile> {
    let text = crate::system::files::text(path)?;
    let wrong = |message: String| Error::content(path, message);
    let table: Table = toml::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    check_keys(&table, STUDY_KEYS, "the study").map_err(wrong)?;
    check_required(&table, OF_EVERY_STUDY, "the study").map_err(wrong)?;
    for (key, known) in [("block", BLOCK_KEYS), ("table", TABLE_KEYS)] {
        let entries = table.get(key).and_then(Value::as_array);
        for (i, entry) in entries.into_iter().flatten().enumerate() {
            if let Some(entry) = entry.as_table() {
                let fits = entry.contains_key("model");
                if key == "block" && entry.contains_key("snr") && !fits {
                    return Err(wrong(format!("`snr` in block {}: {NO_TARGET}", i + 1)));
                }
                if key == "block" {
                    check_place(entry, i + 1).map_err(wrong)?;
                }
                check_keys(entry, known, &format!("{key} {}", i + 1)).map_err(wrong)?;
                if key == "block" {
                    let place = format!("block {}", i + 1);
                    check_required(entry, OF_EVERY_BLOCK, &place).map_err(wrong)?;
                }
                check_lists(entry, &format!("{key} {}", i + 1)).map_err(wrong)?;
            }
        }
    }
    toml::from_str(&text).map_err(|e| wrong(plain_types(&e.to_string())))
}

/// Refuses a table without what it must have.
fn check_required(table: &Table, keys: [(&str, &str); 2], place: &str) -> Result<(), String> {
    match keys.iter().find(|(key, _)| !table.contains_key(*key)) {
        None => Ok(()),
        Some((key, form)) => Err(format!("{place} has no `{key}`: write {form}")),
    }
}

/// Refuses keys of a block that belong to its estimators.
fn check_place(block: &Table, number: usize) -> Result<(), String> {
    let of_estimators = |key: &&String| {
        let key = key.as_str();
        let is_option = settings::ALL.iter().any(|setting| setting.option.name == key);
        !BLOCK_KEYS.contains(&key)
            && (is_option || ["name", INDICES, ENGINE, "preset"].contains(&key))
    };
    match block.keys().find(of_estimators) {
        None => Ok(()),
        Some(key) => Err(format!(
            "`{key}` in block {number} belongs to an estimator: write it under `[[block.estimator]]`"
        )),
    }
}

/// Lists that may be empty: a study that keeps nothing, and a table of one row or column.
const MAY_BE_EMPTY: &[&str] = &["keep", "rows", "columns"];

/// Refuses lists of nothing, which might be taken for all there is.
fn check_lists(entry: &Table, place: &str) -> Result<(), String> {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let within = entry.get("where").and_then(Value::as_table).into_iter().flatten();
    let of_entry = entry.iter().filter(|(key, _)| !MAY_BE_EMPTY.contains(&key.as_str()));
    match of_entry.chain(within).find(|(_, value)| is_empty(value)) {
        None => Ok(()),
        Some((key, _)) => Err(format!(
            "{place}: `{key}` is an empty list: name one at least, or leave `{key}` out"
        )),
    }
}

/// Refuses keys that are not known.
pub(super) fn check_keys(table: &Table, known: &[&str], place: &str) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!(
            "unknown key `{key}` in {place}{}; allowed are {}",
            suggestion(key, known.iter().copied()),
            listed(known.iter().copied()),
        )),
    }
}
