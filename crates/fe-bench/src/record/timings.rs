//! Reading how long estimates took.

use std::path::Path;

use super::Key;
use super::columns::{ResultFile, TIMINGS};
use super::lines::{Lines, count, optional};
use crate::error::Result;
use crate::output::formulas::unguarded;
use crate::system::say::echo;

/// Time of an estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// The key of the estimate, without a metric.
    pub key: Key,
    /// Wall time of the estimator, its model included.
    pub seconds: f64,
    /// Wall time spent in the model.
    pub model_seconds: f64,
    /// The most memory that the process of an external estimator held, in bytes.
    pub peak_bytes: Option<u64>,
}

/// Reads the times of a results folder, one after the other; their metric is empty.
///
/// # Errors
/// A file that is missing or is not one of times.
pub fn each(folder: &Path, mut then: impl FnMut(Timing)) -> Result<()> {
    let mut lines = Lines::open(folder, ResultFile::Timings.name())?;
    let header = lines.header()?;
    // Builds of long ago had fewer columns of values.
    let known = ResultFile::Timings.columns();
    let keys = ResultFile::Timings.keys().count();
    if header.len() <= keys || !header.iter().take(keys + 1).eq(known.into_iter().take(keys + 1)) {
        return Err(lines.wrong("the columns are not those of a file of times"));
    }
    while let Some(record) = lines.next()? {
        let timing = parse(record).map_err(|message| lines.wrong(message));
        then(timing?);
    }
    Ok(())
}

fn parse(record: &csv::StringRecord) -> Result<Timing, String> {
    let keys = ResultFile::Timings.keys();
    let field = |name: &str| {
        let place = TIMINGS.iter().position(|column| column.name == name);
        place.and_then(|place| record.get(keys.clone().count() + place)).unwrap_or_default()
    };
    let number = |name: &str| {
        let text = field(name);
        let known = optional(text)?.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        known.ok_or_else(|| format!("`{}` is not a number of seconds", echo(text)))
    };
    let key = Key::read(keys.clone(), record.iter().map(unguarded)).owned();
    let peak_bytes = count(field("peak_bytes"))?.map(|bytes| bytes as u64);
    Ok(Timing {
        key,
        seconds: number("seconds")?,
        model_seconds: number("model_seconds")?,
        peak_bytes,
    })
}
