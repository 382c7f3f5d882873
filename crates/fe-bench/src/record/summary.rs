//! Means over replicates, and what is made of them: paired differences and orders of convergence.

use std::collections::HashMap;

use fe_core::replicates::{Order, Paired, Summary};

use super::{Key, METRIC};

/// A mean over replicates; `replicate` is empty in its key.
#[derive(Debug, Clone)]
pub struct SummaryRow {
    /// What identifies the value.
    pub key: Key,
    /// Mean, standard error and interval over the replicates that succeeded.
    pub summary: Summary,
    /// How many replicates failed.
    pub failed: usize,
    /// How many replicates have nothing that is uncertain, and so no value.
    pub degenerate: usize,
    /// The values of the replicates that succeeded, by replicate.
    pub values: Vec<(String, f64)>,
    /// For a difference, on how many datasets it is below 0, 0 and above.
    pub paired: Option<Paired>,
}

impl SummaryRow {
    /// Of the values of the replicates that succeeded.
    #[must_use]
    pub fn new(key: Key, values: Vec<(String, f64)>, failed: usize) -> Self {
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        Self { key, summary: Summary::of(&plain), failed, degenerate: 0, values, paired: None }
    }

    /// The values of both on the datasets that they share.
    #[must_use]
    pub fn pairs(&self, other: &Self) -> Vec<(f64, f64)> {
        let others: HashMap<&str, f64> =
            other.values.iter().map(|(replicate, value)| (replicate.as_str(), *value)).collect();
        let pair =
            |(replicate, own): &(String, f64)| Some((*own, *others.get(replicate.as_str())?));
        self.values.iter().filter_map(pair).collect()
    }

    /// Its difference from another, dataset by dataset.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let pairs = self.pairs(other);
        let paired = Paired::of(&pairs);
        Self {
            key: self.key.clone(),
            summary: paired.difference,
            failed: self.failed,
            degenerate: self.degenerate,
            values: Vec::new(),
            paired: Some(paired),
        }
    }
}

/// Orders of convergence along a key that is a number, such as `N` or `K`: a row for each
/// combination of the other keys that has two values of it.
///
/// `place` is where the key stands among [`super::KEYS`].
#[must_use]
pub fn orders(rows: &[SummaryRow], place: usize) -> Vec<SummaryRow> {
    let keyed = rows.iter().filter_map(|row| {
        let size: f64 = row.key[place].parse().ok()?;
        let mut key = row.key.clone();
        key[place].clear();
        key[METRIC] = format!("order of {} in {}", key[METRIC], super::KEYS[place]);
        Some((key, (size, row.summary.mean, row.failed)))
    });
    let order = |(key, sizes): (Key, Vec<(f64, Option<f64>, usize)>)| {
        let errors: Option<Vec<(f64, f64)>> =
            sizes.iter().map(|(size, mean, _)| Some((*size, (*mean)?))).collect();
        let none = Summary { count: sizes.len(), ..Summary::of(&[]) };
        let summary = errors.and_then(|errors| Order::of(&errors)).map_or(none, |o| o.summary());
        let failed = sizes.iter().map(|(_, _, failed)| failed).sum();
        SummaryRow { summary, ..SummaryRow::new(key, Vec::new(), failed) }
    };
    let groups = grouped(keyed).into_iter();
    groups.filter(|(_, sizes)| sizes.len() > 1).map(order).collect()
}

/// Items by key, in the order in which keys first appear.
pub(crate) fn grouped<T>(items: impl Iterator<Item = (Key, T)>) -> Vec<(Key, Vec<T>)> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<(Key, Vec<T>)> = Vec::new();
    for (key, item) in items {
        let place = *places.entry(key).or_insert_with_key(|key| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(item);
    }
    groups
}
