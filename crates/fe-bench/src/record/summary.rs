//! Means over replicates, and what is made of them: paired differences and orders of convergence.

use std::collections::HashMap;
use std::hash::Hash;

use fe_core::replicates::{Order, Paired, Summary};

use super::columns::ResultFile;
use super::{Column, Key};
use crate::output::Entry;
use crate::score::Metric;

/// Half a 95 % interval in standard errors, as truths that are simulated have it.
const HALF_WIDTH: f64 = 1.96;

/// A mean over replicates; `replicate` is empty in its key.
#[derive(Debug, Clone)]
pub struct SummaryRow {
    /// The key of the value.
    pub key: Key,
    /// Mean, standard error and interval over the replicates that succeeded.
    pub summary: Summary,
    /// Number of replicates that failed.
    pub failed: usize,
    /// Number of replicates that have nothing uncertain, and so no value.
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
        let summary = summarised(&key.metric, &plain);
        Self { key, summary, failed, degenerate: 0, values, paired: None }
    }

    /// The same where all replicates share an effect that is simulated.
    #[must_use]
    pub fn sharing(self, half_width: f64) -> Self {
        let summary = with_shared(self.summary, &self.key.metric, half_width);
        Self { summary, ..self }
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

/// Half the 95 % interval of the first effect of a pair where it is the expected one of a learner, the same for all
/// datasets.
pub(crate) fn shared(record: &csv::StringRecord, key: &Key<&str>) -> f64 {
    let is_expected =
        key.pair.split_once(':').is_some_and(|(first, _)| first.ends_with("-expected"));
    let place = ResultFile::Cells.columns().into_iter().position(|name| name == "truth_abs_error");
    let field = place.filter(|_| is_expected).and_then(|place| record.get(place));
    field.and_then(|field| field.parse().ok()).unwrap_or(0.0)
}

/// The mean of a distance from an effect that all replicates share and that is known with this half-width of a 95 %
/// interval: its standard error is not that of the replicates alone. That of a root mean square, and of a mean absolute
/// value, is at most the one of the effect.
pub(crate) fn with_shared(summary: Summary, metric: &str, half_width: f64) -> Summary {
    let (error, mean) = (half_width / HALF_WIDTH, summary.mean.unwrap_or_default());
    let shared = match metric {
        "rmse" | "mae" | "max" => error,
        "mse" => error * (2.0 * mean.sqrt() + error),
        _ => 0.0,
    };
    if shared == 0.0 {
        return summary;
    }
    let both = summary.standard_error.map(|own| own.hypot(shared));
    Summary::with_error(summary.count, summary.mean, both)
}

/// The mean of the values of a metric; coverage is a share.
pub(crate) fn summarised(metric: &str, values: &[f64]) -> Summary {
    let is_share = metric.ends_with("coverage") || metric.parse().is_ok_and(Metric::is_share);
    let summary = if is_share { Summary::of_shares } else { Summary::of };
    summary(values)
}

/// A statistic of a mean, as files and pages have it.
#[derive(Debug)]
pub struct Statistic {
    /// Its name.
    pub name: &'static str,
    /// Its value, of the summary and the number of replicates that failed.
    pub of: fn(&Summary, usize) -> Entry,
}

/// The statistics of a mean that stand behind its key.
pub const STATISTICS: &[Statistic] = &[
    Statistic { name: "mean", of: |of, _| of.mean.into() },
    Statistic { name: "se", of: |of, _| of.standard_error.into() },
    Statistic { name: "ci_lo", of: |of, _| of.interval.map(|(lo, _)| lo).into() },
    Statistic { name: "ci_hi", of: |of, _| of.interval.map(|(_, hi)| hi).into() },
    Statistic { name: "n_ok", of: |of, _| of.count.into() },
    Statistic { name: "n_failed", of: |_, failed| failed.into() },
];

/// The names of [`STATISTICS`].
pub fn statistics() -> impl Iterator<Item = &'static str> {
    STATISTICS.iter().map(|statistic| statistic.name)
}

/// Orders of convergence along a key that is a number, such as `N` or `K`: a row for each
/// combination of the other keys that has two values of it.
#[must_use]
pub fn orders(rows: &[SummaryRow], along: Column) -> Vec<SummaryRow> {
    let keyed = rows.iter().filter_map(|row| {
        let size: f64 = row.key[along].parse().ok()?;
        let mut key = row.key.clone();
        key[along].clear();
        key.metric = format!("order of {} in {}", key.metric, along.name());
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
pub(crate) fn grouped<K: Hash + Eq + Clone, T>(
    items: impl IntoIterator<Item = (K, T)>,
) -> Vec<(K, Vec<T>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        let place = *places.entry(key).or_insert_with_key(|key| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(item);
    }
    groups
}
