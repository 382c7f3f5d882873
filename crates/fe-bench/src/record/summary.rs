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

/// The values of one key, as they are gathered.
struct Gathered {
    key: Key,
    values: Vec<(String, f64)>,
    failed: usize,
}

impl Gathered {
    fn summary(self) -> SummaryRow {
        let plain: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
        SummaryRow {
            key: self.key,
            summary: Summary::of(&plain),
            failed: self.failed,
            values: self.values,
        }
    }
}

/// Summarises rows over replicates, in the order in which they first appear.
#[must_use]
pub fn summarise<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<SummaryRow> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<Gathered> = Vec::new();
    for row in rows {
        let mut key = row.key.clone();
        let replicate = std::mem::take(&mut key[REPLICATE]);
        let place = *places.entry(key.clone()).or_insert_with(|| {
            groups.push(Gathered { key, values: Vec::new(), failed: 0 });
            groups.len() - 1
        });
        match row.score.value {
            Some(value) => groups[place].values.push((replicate, value)),
            None => groups[place].failed += 1,
        }
    }
    groups.into_iter().map(Gathered::summary).collect()
}
