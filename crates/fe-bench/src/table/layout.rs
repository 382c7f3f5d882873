//! Which value goes where in a table, and what is said below it.

use std::collections::{HashMap, HashSet};

use super::baseline::BaselineComparison;
use super::{Rendered, TableEntry, TableRow, best, pick};
use crate::record::Column;
use crate::record::summary::SummaryRow;
use crate::study::file::TableSpec;

/// The values of a table by the labels of their rows and columns.
type Places<'a> = HashMap<(Vec<String>, Vec<String>), &'a SummaryRow>;

pub(super) fn lay_out(spec: &TableSpec, values: &[SummaryRow]) -> Result<Rendered, String> {
    let named = |names: &[String]| -> Vec<Column> {
        names.iter().filter_map(|name| Column::named(name)).collect()
    };
    let (of_rows, of_columns) = (named(&spec.rows), named(&spec.columns));
    let rows = distinct(values, &of_rows);
    let columns = distinct(values, &of_columns);
    let mut places = Places::new();
    for value in values {
        let place = (pick(&value.key, &of_rows), pick(&value.key, &of_columns));
        if let Some(other) = places.insert(place, value) {
            return Err(left_open(spec, other, value));
        }
    }
    let mut comparison = BaselineComparison::new(spec, values);
    let mut entries: Vec<Vec<Option<TableEntry>>> = vec![Vec::new(); rows.len()];
    for column in &columns {
        let at = |labels: &Vec<String>| places.get(&(labels.clone(), column.clone())).copied();
        let here: Vec<Option<&SummaryRow>> = rows.iter().map(at).collect();
        let standings = best::of_column(&here);
        for (i, (value, standing)) in here.into_iter().zip(standings).enumerate() {
            entries[i].push(match value {
                None => None,
                Some(value) => {
                    let better = comparison.add(value, column, &rows[i])?;
                    Some(TableEntry {
                        key: value.key.clone(),
                        summary: value.summary,
                        failed: value.failed,
                        degenerate: value.degenerate,
                        paired: value.paired,
                        better,
                        standing,
                    })
                }
            });
        }
    }
    let rows = rows.into_iter().zip(entries);
    Ok(Rendered {
        title: spec.title.clone(),
        labels: spec.rows.clone(),
        columns: columns.iter().map(|column| column.join(" ")).collect(),
        rows: rows.map(|(labels, entries)| TableRow { labels, entries }).collect(),
        notes: comparison.notes(),
        starred: !spec.baseline.is_empty(),
    })
}

fn distinct(values: &[SummaryRow], columns: &[Column]) -> Vec<Vec<String>> {
    let mut seen = HashSet::new();
    let labels = values.iter().map(|value| pick(&value.key, columns));
    labels.filter(|label| seen.insert(label.clone())).collect()
}

fn left_open(spec: &TableSpec, first: &SummaryRow, second: &SummaryRow) -> String {
    let open = Column::of_means()
        .filter(|column| first.key[*column] != second.key[*column])
        .map(|of| format!("`{}` ({}, {}, …)", of.name(), first.key[of], second.key[of]));
    format!(
        "the table \"{}\" leaves open {}: name it among its rows or columns, or fix it by a filter",
        spec.title,
        open.collect::<Vec<_>>().join(" and ")
    )
}
