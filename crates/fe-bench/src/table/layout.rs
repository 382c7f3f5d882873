//! Which value goes where in a table, and what is said below it.

use fe_core::replicates::Summary;

use super::{Rendered, TableEntry, TableRow, baseline_of, matches, pick, place};
use crate::record::summary::SummaryRow;
use crate::record::{KEYS, REPLICATE};
use crate::study::wire::TableSpec;

pub(super) fn lay_out(spec: &TableSpec, values: &[SummaryRow]) -> Result<Rendered, String> {
    let row_places: Vec<usize> = spec.rows.iter().filter_map(|key| place(key)).collect();
    let column_places: Vec<usize> = spec.columns.iter().filter_map(|key| place(key)).collect();
    let rows = distinct(values, &row_places);
    let columns = distinct(values, &column_places);
    let mut comparison = Comparison::default();
    let mut table_rows = Vec::with_capacity(rows.len());
    for labels in rows {
        let mut entries = Vec::with_capacity(columns.len());
        for column in &columns {
            let here: Vec<&SummaryRow> = values
                .iter()
                .filter(|v| {
                    pick(&v.key, &row_places) == labels && pick(&v.key, &column_places) == *column
                })
                .collect();
            entries.push(match here[..] {
                [] => None,
                [value] => {
                    let better = comparison.add(spec, value, values, column, &labels)?;
                    Some(entry(value, better))
                }
                [first, second, ..] => return Err(left_open(spec, first, second)),
            });
        }
        table_rows.push(TableRow { labels, entries });
    }
    Ok(Rendered {
        title: spec.title.clone(),
        labels: spec.rows.clone(),
        columns: columns.iter().map(|column| column.join(" ")).collect(),
        rows: table_rows,
        notes: comparison.notes(spec),
    })
}

fn entry(value: &SummaryRow, better: bool) -> TableEntry {
    TableEntry {
        mean: value.summary.mean,
        standard_error: value.summary.standard_error,
        failed: value.failed,
        better,
    }
}

fn distinct(values: &[SummaryRow], places: &[usize]) -> Vec<Vec<String>> {
    let mut seen = std::collections::HashSet::new();
    let labels = values.iter().map(|value| pick(&value.key, places));
    labels.filter(|label| seen.insert(label.clone())).collect()
}

fn left_open(spec: &TableSpec, first: &SummaryRow, second: &SummaryRow) -> String {
    let differ = |i: &usize| first.key[*i] != second.key[*i] && *i != REPLICATE;
    let open = (0..KEYS.len())
        .filter(differ)
        .map(|i| format!("`{}` ({}, {}, …)", KEYS[i], first.key[i], second.key[i]));
    format!(
        "the table \"{}\" leaves open {}: name it among its rows or columns, or fix it by a filter",
        spec.title,
        open.collect::<Vec<_>>().join(" and ")
    )
}

/// How the rows of a table do against its baseline, column by column.
#[derive(Default)]
struct Comparison {
    columns: Vec<Column>,
}

struct Column {
    name: String,
    compared: usize,
    lower: Vec<String>,
    significantly_lower: Vec<String>,
}

impl Comparison {
    /// Compares a value with the baseline replicate by replicate; whether it is significantly lower.
    fn add(
        &mut self,
        spec: &TableSpec,
        value: &SummaryRow,
        values: &[SummaryRow],
        column: &[String],
        labels: &[String],
    ) -> Result<bool, String> {
        if spec.baseline.is_empty() || matches(&spec.baseline, &value.key) {
            return Ok(false);
        }
        let baseline = baseline_of(value, &spec.baseline, values)?;
        let differences: Vec<f64> = value
            .values
            .iter()
            .filter_map(|(replicate, own)| {
                let pair = baseline.values.iter().find(|(other, _)| other == replicate)?;
                Some(own - pair.1)
            })
            .collect();
        let difference = Summary::of(&differences);
        let lower = difference.mean.is_some_and(|mean| mean < 0.0);
        let significantly = difference.interval.is_some_and(|(_, hi)| hi < 0.0);
        let name = column.join(" ");
        let column = self.column(name);
        column.compared += 1;
        let label = labels.iter().filter(|l| !l.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        if significantly {
            column.significantly_lower.push(label.clone());
        }
        if lower {
            column.lower.push(label);
        }
        Ok(significantly)
    }

    fn column(&mut self, name: String) -> &mut Column {
        let place = self.columns.iter().position(|c| c.name == name).unwrap_or_else(|| {
            self.columns.push(Column {
                name,
                compared: 0,
                lower: Vec::new(),
                significantly_lower: Vec::new(),
            });
            self.columns.len() - 1
        });
        &mut self.columns[place]
    }

    fn notes(&self, spec: &TableSpec) -> Vec<String> {
        let baseline: Vec<String> = spec
            .baseline
            .iter()
            .map(|(key, value)| format!("{key} {}", crate::study::plain(value)))
            .collect();
        let baseline = baseline.join(", ");
        let list = |labels: &[String]| match labels {
            [] => String::new(),
            some => format!(" ({})", some.join("; ")),
        };
        let note = |column: &Column| {
            format!(
                "{}: lower than {baseline} in {} of {} rows{}; with a paired 95 % interval below 0 in {}{}",
                column.name,
                column.lower.len(),
                column.compared,
                list(&column.lower),
                column.significantly_lower.len(),
                list(&column.significantly_lower),
            )
        };
        self.columns.iter().map(note).collect()
    }
}
