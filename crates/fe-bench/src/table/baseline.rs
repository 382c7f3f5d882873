//! Estimates compared with one of them, replicate by replicate.

use std::collections::HashMap;

use fe_core::replicates::Paired;
use toml::Table;

use super::{contest, matches};
use crate::record::summary::SummaryRow;
use crate::study::file::TableSpec;
use crate::study::plain;

/// The rows that others are compared with, found by what they share.
pub(super) struct Baselines<'a> {
    baseline: &'a Table,
    rows: HashMap<Vec<String>, Vec<&'a SummaryRow>>,
}

impl<'a> Baselines<'a> {
    pub(super) fn new(baseline: &'a Table, rows: &'a [SummaryRow]) -> Self {
        let mut found: HashMap<Vec<String>, Vec<&SummaryRow>> = HashMap::new();
        let chosen = rows.iter().filter(|row| !baseline.is_empty() && matches(baseline, &row.key));
        for row in chosen {
            found.entry(contest(&row.key)).or_default().push(row);
        }
        Self { baseline, rows: found }
    }

    /// The baseline of a row; none for the baseline itself, or if there is to be none.
    fn of(&self, row: &SummaryRow) -> Result<Option<&'a SummaryRow>, String> {
        if self.baseline.is_empty() || matches(self.baseline, &row.key) {
            return Ok(None);
        }
        let shared = contest(&row.key);
        let complain = |how_many: &str| {
            Err(format!(
                "{how_many} for the baseline {} beside {}",
                said(self.baseline),
                shared.join(" ")
            ))
        };
        match self.rows.get(&shared).map(Vec::as_slice) {
            Some([only]) => Ok(Some(only)),
            Some([_, _, ..]) => complain("several values"),
            _ => complain("no value"),
        }
    }
}

fn said(baseline: &Table) -> String {
    let said = baseline.iter().map(|(key, value)| format!("{key} {}", plain(value)));
    said.collect::<Vec<_>>().join(", ")
}

/// The difference of every row from its baseline on the same data, feature and metric, dataset by
/// dataset.
///
/// # Errors
/// A message, if a row has no baseline or several.
pub fn differences(baseline: &Table, rows: &[SummaryRow]) -> Result<Vec<SummaryRow>, String> {
    let baselines = Baselines::new(baseline, rows);
    let difference = |row: &SummaryRow| Ok(baselines.of(row)?.map(|other| row.minus(other)));
    rows.iter().filter_map(|row| difference(row).transpose()).collect()
}

/// Comparison of the rows of a table with its baseline, column by column.
pub(super) struct BaselineComparison<'a> {
    baselines: Baselines<'a>,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    compared: usize,
    lower: Vec<String>,
    significantly_lower: Vec<String>,
}

impl<'a> BaselineComparison<'a> {
    pub(super) fn new(spec: &'a TableSpec, values: &'a [SummaryRow]) -> Self {
        Self { baselines: Baselines::new(&spec.baseline, values), columns: Vec::new() }
    }

    /// Compares a value with the baseline replicate by replicate; whether it is significantly lower.
    pub(super) fn add(
        &mut self,
        value: &SummaryRow,
        column: &[String],
        labels: &[String],
    ) -> Result<bool, String> {
        let Some(baseline) = self.baselines.of(value)? else { return Ok(false) };
        let Paired { difference, .. } = Paired::of(&value.pairs(baseline));
        let lower = difference.mean.is_some_and(|mean| mean < 0.0);
        let significantly = difference.interval.is_some_and(|(_, hi)| hi < 0.0);
        let column = self.column(column.join(", "));
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

    pub(super) fn notes(&self) -> Vec<String> {
        let baseline = said(self.baselines.baseline);
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
