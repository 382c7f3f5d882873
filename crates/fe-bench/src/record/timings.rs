//! Reading how long estimates took.

use std::fs::File;
use std::path::Path;

use super::{KEYS, Key, METRIC};
use crate::error::{Error, Result};

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

/// Reads the times of a results folder; their metric is empty.
///
/// # Errors
/// A file that is missing or is not one of times.
pub fn read(folder: &Path) -> Result<Vec<Timing>> {
    let path = folder.join(FILE);
    let wrong = |message: String| Error::content(&path, message);
    let file = File::open(&path).map_err(Error::file(&path))?;
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|e| wrong(e.to_string()))?;
    if !header.iter().take(METRIC + 1).eq(KEYS[..METRIC].iter().copied().chain(["seconds"])) {
        return Err(wrong("the columns are not those of a file of times".to_owned()));
    }
    let mut timings = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let mut key: Vec<String> = record.iter().take(METRIC).map(str::to_owned).collect();
        key.push(String::new());
        let number = |place: usize| {
            let text = record.get(METRIC + place).unwrap_or_default();
            text.parse::<f64>().map_err(|_| wrong(format!("`{text}` is not a number of seconds")))
        };
        let peak_bytes = record.get(METRIC + 2).and_then(|bytes| bytes.parse().ok());
        timings.push(Timing { key, seconds: number(0)?, model_seconds: number(1)?, peak_bytes });
    }
    Ok(timings)
}
