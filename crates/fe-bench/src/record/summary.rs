//! Means over replicates.

use std::collections::HashMap;

use fe_core::replicates::Summary;

use super::{Key, REPLICATE, Row};

/// A mean over replicates; `replicate` is empty in its key.
#[derive(Debug, Clone)]
pub struct SummaryRow {
    /// What identifies the value.
    pub key: Key,
    /// Mean, standard error and interval over the replicates that succeeded.
    pub summary: Summary,
    /// How many replicates failed.
    pub failed: usize,
    /// The values of the replicates that succeeded, by replicate.
    pub values: Vec<(String, f64)>,
}

/// Summarises rows over replicates, in the order in which they first appear.
#[must_use]
pub fn summarise<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<SummaryRow> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<(Key, Vec<(String, f64)>, usize)> = Vec::new();
    for row in rows {
        let mut key = row.key.clone();
        let replicate = std::mem::take(&mut key[REPLICATE]);
        let place = *places.entry(key.clone()).or_insert_with(|| {
            groups.push((key, Vec::new(), 0));
            groups.len() - 1
        });
        match row.score.value {
            Some(value) => groups[place].1.push((replicate, value)),
            None => groups[place].2 += 1,
        }
    }
    let summary = |(key, values, failed): (Key, Vec<(String, f64)>, usize)| {
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        SummaryRow { key, summary: Summary::of(&plain), failed, values }
    };
    groups.into_iter().map(summary).collect()
}
