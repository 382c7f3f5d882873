//! Places of values in a table, and the notes below it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::baseline::BaselineComparison;
use super::{Context, Rendered, TableEntry, TableRow, best};
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key};
use crate::study::field::Field;
use crate::study::file::TableSpec;
use crate::study::labels::{Labels, rounded};

/// The values of a table by the labels of their rows and columns, and which of them are exact.
type Places<'a> = HashMap<(Vec<String>, Vec<String>), (&'a SummaryRow, bool)>;

pub(super) fn lay_out(
    spec: &TableSpec,
    values: &[SummaryRow],
    context: &Context,
) -> Result<Rendered, String> {
    let words = &context.labels;
    let named =
        |names: &[String]| -> Vec<Field> { names.iter().map(|name| Field::named(name)).collect() };
    let (of_rows, of_columns) = (named(&spec.rows), named(&spec.columns));
    let rows = distinct(values, &of_rows);
    let columns = distinct(values, &of_columns);
    let mut places = Places::new();
    let exact = best::are_exact(values, &context.sizes);
    for (value, exact) in values.iter().zip(exact) {
        let place = (pick(&value.key, &of_rows), pick(&value.key, &of_columns));
        if let Some(other) = places.insert(place, (value, exact)) {
            return Err(left_open(spec, other.0, value));
        }
    }
    let mut comparison = BaselineComparison::new(spec, values);
    let mut entries: Vec<Vec<Option<TableEntry>>> = vec![Vec::new(); rows.len()];
    for column in &columns {
        let at = |labels: &Vec<String>| places.get(&(labels.clone(), column.clone())).copied();
        let found: Vec<Option<(&SummaryRow, bool)>> = rows.iter().map(at).collect();
        let here: Vec<Option<&SummaryRow>> = found.iter().map(|found| Some((*found)?.0)).collect();
        let standings = best::of_column(&here, &context.truths, &context.sizes);
        for (i, (found, standing)) in found.into_iter().zip(standings).enumerate() {
            entries[i].push(match found {
                None => None,
                Some((value, exact)) => {
                    let better =
                        comparison.add(value, &headings(&of_columns, column, words), &rows[i])?;
                    Some(TableEntry {
                        key: value.key.clone(),
                        summary: value.summary,
                        failed: value.failed,
                        degenerate: value.degenerate,
                        paired: value.paired,
                        better,
                        standing,
                        exact,
                    })
                }
            });
        }
    }
    let shown = |labels: Vec<String>| labels.iter().map(|label| shown(label, words)).collect();
    let rows = rows.into_iter().zip(entries);
    Ok(Rendered {
        title: spec.title.clone(),
        labels: spec.rows.iter().map(|name| words.of(name).into_owned()).collect(),
        columns: columns.iter().map(|column| headings(&of_columns, column, words)).collect(),
        rows: rows.map(|(labels, entries)| TableRow { labels: shown(labels), entries }).collect(),
        notes: comparison.notes(),
        starred: !spec.baseline.is_empty(),
    })
}

/// A value as people read it: under its label, or rounded where it is a long number.
fn shown(value: &str, words: &Labels) -> String {
    words.given(value).map_or_else(|| rounded(value), Cow::into_owned)
}

/// The headings of a column.
fn headings(fields: &[Field], values: &[String], words: &Labels) -> Vec<String> {
    fields.iter().zip(values).map(|(field, value)| field.heading(value, words)).collect()
}

fn pick(key: &Key, fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| field.of(key).to_owned()).collect()
}

/// The labels of some values, those together that share their first, then those that share their second, and so on, each in
/// the order in which it first appears.
fn distinct(values: &[SummaryRow], fields: &[Field]) -> Vec<Vec<String>> {
    let mut seen = HashSet::new();
    let all = values.iter().map(|value| pick(&value.key, fields));
    let mut distinct: Vec<Vec<String>> = all.filter(|label| seen.insert(label.clone())).collect();
    let ranks: Vec<HashMap<String, usize>> = (0..fields.len())
        .map(|level| {
            let mut ranks = HashMap::new();
            for label in &distinct {
                let next = ranks.len();
                ranks.entry(label[level].clone()).or_insert(next);
            }
            ranks
        })
        .collect();
    distinct.sort_by_key(|label| -> Vec<usize> {
        label.iter().zip(&ranks).map(|(word, ranks)| ranks[word]).collect()
    });
    distinct
}

fn left_open(spec: &TableSpec, first: &SummaryRow, second: &SummaryRow) -> String {
    let keys = [&first.key, &second.key];
    let open = Column::of_means().flat_map(|column| Field::varying(column, &keys)).map(|field| {
        format!("`{}` ({}, {}, …)", field.name(), field.of(keys[0]), field.of(keys[1]))
    });
    format!(
        "the table \"{}\" leaves open {}: name it among its rows or columns, or fix it by a filter",
        spec.title,
        open.collect::<Vec<_>>().join(" and ")
    )
}
