//! Records: what `run` found, one row per value, with everything that identifies it.

pub mod decomposition;
pub mod manifest;
pub mod store;
pub mod summary;
pub mod timings;

use crate::score::Score;

/// The columns that identify a value, in order.
pub const KEYS: [&str; 19] = [
    "study",
    "scenario",
    "parameters",
    "feature",
    "feature2",
    "output",
    "estimator",
    "preset",
    "binning",
    "K",
    "centring",
    "empty_bins",
    "options",
    "N",
    "snr",
    "replicate",
    "pair",
    "split",
    "metric",
];

/// Where `replicate` stands among [`KEYS`].
pub const REPLICATE: usize = 15;

/// Where `metric` stands among [`KEYS`].
pub const METRIC: usize = 18;

/// What identifies a value: an entry for each of [`KEYS`], empty where it does not apply.
pub type Key = Vec<String>;

/// The entry of a key under a name; empty for a name that is none of [`KEYS`].
#[must_use]
pub fn entry<'a>(key: &'a [String], name: &str) -> &'a str {
    KEYS.iter().position(|known| *known == name).map_or("", |place| key[place].as_str())
}

/// A value of a metric for an estimate on one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What identifies the value.
    pub key: Key,
    /// The value, or the reason why there is none.
    pub score: Score,
    /// Rows whose value the model was asked for by this estimate.
    pub model_rows: Option<u64>,
}

/// How long an estimate took.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// What identifies the estimate; its metric is empty.
    pub key: Key,
    /// Wall time of the estimator, its model included.
    pub seconds: f64,
    /// Wall time spent in the model.
    pub model_seconds: f64,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Values, in the order of the study files.
    pub rows: Vec<Row>,
    /// Times, in the same order.
    pub timings: Vec<Timing>,
}
