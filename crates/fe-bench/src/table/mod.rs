//! Tables of means over replicates, made from records and nothing else.

mod html;
mod layout;
mod render;

use toml::{Table, Value};

use crate::record::summary::{SummaryRow, summarise};
use crate::record::{KEYS, METRIC, REPLICATE, Row};
use crate::study::plain;
use crate::study::wire::TableSpec;

pub use render::TableFormat;

/// A table on its way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    title: String,
    labels: Vec<String>,
    columns: Vec<String>,
    rows: Vec<TableRow>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct TableRow {
    labels: Vec<String>,
    entries: Vec<Option<TableEntry>>,
}

#[derive(Debug, Clone, PartialEq)]
struct TableEntry {
    mean: Option<f64>,
    standard_error: Option<f64>,
    failed: usize,
    /// Whether it is smaller than the baseline beyond the paired 95 % interval.
    better: bool,
}

/// Makes a table from the values of one study.
///
/// # Errors
/// A message, if rows and columns leave open which value is meant, or no value is left.
pub fn make(spec: &TableSpec, rows: &[&Row]) -> Result<Rendered, String> {
    let chosen = rows.iter().copied().filter(|row| matches(&spec.filter, &row.key));
    let summaries = summarise(chosen);
    if summaries.is_empty() {
        return Err(format!("no value is left for the table \"{}\"", spec.title));
    }
    layout::lay_out(spec, &summaries)
}

/// The table of a study that names none: a column per metric, a row per combination of the keys that
/// vary.
#[must_use]
pub fn default_spec(name: &str, rows: &[&Row]) -> TableSpec {
    let varies = |key: usize| rows.iter().any(|row| row.key[key] != rows[0].key[key]);
    let varying = (0..KEYS.len()).filter(|&key| key != METRIC && key != REPLICATE && varies(key));
    TableSpec {
        title: name.to_owned(),
        rows: varying.map(|key| KEYS[key].to_owned()).collect(),
        columns: vec!["metric".to_owned()],
        ..TableSpec::default()
    }
}

/// Whether a key has the values that a filter asks for.
fn matches(filter: &Table, key: &[String]) -> bool {
    filter.iter().all(|(name, allowed)| {
        let Some(place) = place(name) else { return false };
        match allowed {
            Value::Array(list) => list.iter().any(|value| plain(value) == key[place]),
            value => plain(value) == key[place],
        }
    })
}

fn place(name: &str) -> Option<usize> {
    KEYS.iter().position(|key| *key == name)
}

fn pick(key: &[String], places: &[usize]) -> Vec<String> {
    places.iter().map(|&place| key[place].clone()).collect()
}

/// The row of the baseline that goes with a row: the same data, feature and metric.
fn baseline_of<'a>(
    row: &SummaryRow,
    baseline: &Table,
    rows: &'a [SummaryRow],
) -> Result<&'a SummaryRow, String> {
    const SHARED: [&str; 11] = [
        "study",
        "scenario",
        "parameters",
        "feature",
        "feature2",
        "output",
        "N",
        "snr",
        "pair",
        "split",
        "metric",
    ];
    let shared: Vec<usize> = SHARED.iter().filter_map(|name| place(name)).collect();
    let wanted = pick(&row.key, &shared);
    let mut found =
        rows.iter().filter(|r| matches(baseline, &r.key) && pick(&r.key, &shared) == wanted);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => {
            Err(format!("no value for the baseline {baseline} beside {}", wanted.join(" ")))
        }
        (Some(_), Some(_)) => {
            Err(format!("several values for the baseline {baseline} beside {}", wanted.join(" ")))
        }
    }
}
