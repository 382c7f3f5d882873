//! Reading how long estimates took.

use std::path::Path;

use super::lines::{Lines, count, optional};
use super::{KEYS, Key, METRIC};
use crate::error::Result;
use crate::say::echo;
use crate::spreadsheet::unguarded;

/// How long an estimate took.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// What identifies the estimate; its metric is empty.
    pub key: Key,
    /// Wall time of the estimator, its model included.
    pub seconds: f64,
    /// Wall time spent in the model.
    pub model_seconds: f64,
    /// The most memory that the process of an external estimator held, in bytes.
    pub peak_bytes: Option<u64>,
}

const FILE: &str = "timings.csv";

/// Reads the times of a results folder, one after the other; their metric is empty.
///
/// # Errors
/// A file that is missing or is not one of times.
pub fn each(folder: &Path, mut then: impl FnMut(Timing)) -> Result<()> {
    let mut lines = Lines::open(folder, FILE)?;
    let header = lines.header()?;
    if !header.iter().take(METRIC + 1).eq(KEYS[..METRIC].iter().copied().chain(["seconds"])) {
        return Err(lines.wrong("the columns are not those of a file of times"));
    }
    while let Some(record) = lines.next()? {
        let timing = parse(record).map_err(|message| lines.wrong(message));
        then(timing?);
    }
    Ok(())
}

fn parse(record: &csv::StringRecord) -> Result<Timing, String> {
    let mut key: Key =
        record.iter().take(METRIC).map(|field| unguarded(field).to_owned()).collect();
    key.push(String::new());
    let number = |place: usize| {
        let text = record.get(METRIC + place).unwrap_or_default();
        let known = optional(text)?.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        known.ok_or_else(|| format!("`{}` is not a number of seconds", echo(text)))
    };
    let peak_bytes = count(record.get(METRIC + 2).unwrap_or_default())?.map(|bytes| bytes as u64);
    Ok(Timing { key, seconds: number(0)?, model_seconds: number(1)?, peak_bytes })
}
