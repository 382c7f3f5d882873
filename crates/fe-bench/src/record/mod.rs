//! Records: what `run` found, one row per value, with everything that identifies it.

pub mod decomposition;
pub mod encode;
mod errors;
pub mod journal;
pub mod kept;
mod lines;
pub mod manifest;
pub mod merge;
pub mod results;
pub mod store;
pub mod summary;
pub mod timings;

use std::hash::{DefaultHasher, Hash, Hasher};

pub(crate) use errors::is_part;

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

/// What stands for some words where there are too many to be kept: 128 bits that differ where they do.
pub(crate) fn fingerprint<'a>(words: impl Iterator<Item = &'a str>) -> u128 {
    let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
    halves[1].write_u8(1);
    words.for_each(|word| halves.iter_mut().for_each(|half| word.hash(half)));
    let [high, low] = halves.map(|half| u128::from(half.finish()));
    high << 64 | low
}

/// What comes after the keys in `cells.csv`.
pub const VALUE_COLUMNS: [&str; 7] =
    ["value", "truth_method", "truth_abs_error", "compared", "left_out", "model_rows", "status"];

/// What comes after the keys but the metric in `timings.csv`.
pub const TIMING_COLUMNS: [&str; 3] = ["seconds", "model_seconds", "peak_bytes"];

/// What comes after the keys but the metric in `curves.csv`.
pub const CURVE_COLUMNS: [&str; 9] = [
    "x",
    "effect",
    "heterogeneity",
    "truth",
    "truth_abs_error",
    "lower",
    "upper",
    "simultaneous_lower",
    "simultaneous_upper",
];

/// What comes after the keys but the metric in `bins.csv`.
pub const BIN_COLUMNS: [&str; 8] =
    ["bin", "z_lo", "z_hi", "count", "effect", "variance", "true_effect", "true_variance"];

/// What comes after the keys but the metric in `errors.csv`, of which only shards have one. But for the
/// number of fresh curves, an entry is a list: a number for each point, `-` where there is none.
pub const ERROR_COLUMNS: [&str; 5] = ["x", "error", "fresh", "fresh_mean", "fresh_variance"];

/// The files with a line or more for every estimate.
pub const FILES: [&str; 5] = ["cells.csv", "timings.csv", "curves.csv", "bins.csv", "errors.csv"];

/// The lines of a dataset in each of [`FILES`].
pub type Parts = [Vec<u8>; FILES.len()];

/// The columns of one of [`FILES`], by its place there.
#[must_use]
pub fn columns(file: usize) -> Vec<&'static str> {
    let keys = KEYS[..METRIC].iter().copied();
    match file {
        0 => KEYS.into_iter().chain(VALUE_COLUMNS).collect(),
        1 => keys.chain(TIMING_COLUMNS).collect(),
        2 => keys.chain(CURVE_COLUMNS).collect(),
        3 => keys.chain(BIN_COLUMNS).collect(),
        _ => keys.chain(ERROR_COLUMNS).collect(),
    }
}
