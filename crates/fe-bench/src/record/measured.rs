//! Times of kinds of estimates that a bench measured, with intervals: a table beside results, under the same keys.

use std::collections::HashMap;
use std::path::Path;

use fe_core::replicates::Summary;

use super::summary::SummaryRow;
use super::{Column, Key};
use crate::error::{Error, Result};
use crate::output::exact;
use crate::output::formulas::{guarded, unguarded};
use crate::system::files;
use crate::system::say::echo;

/// Name of a time among metrics.
pub const SECONDS: &str = "seconds";

/// The columns of numbers behind the key.
const NUMBERS: [&str; 4] = ["seconds", "seconds_lo", "seconds_hi", "rows_per_second"];

/// The time of one kind of estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The key of its values, without dataset and metric.
    pub key: Key,
    /// Seconds for one estimate.
    pub seconds: f64,
    /// Ends of their 95 % interval.
    pub interval: (f64, f64),
}

/// The columns of its key.
fn keys() -> impl Iterator<Item = Column> + Clone {
    Column::of_means().filter(|column| *column != Column::Metric)
}

/// Writes times as CSV.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, times: &[Measured]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |e: csv::Error| Error::content(path, e.to_string());
    writer.write_record(keys().map(Column::name).chain(NUMBERS)).map_err(failed)?;
    for of in times {
        let rows: f64 = of.key.rows.parse().unwrap_or(f64::NAN);
        let numbers = [of.seconds, of.interval.0, of.interval.1, rows / of.seconds].map(exact);
        let fields = of.key.fields(keys()).map(|field| guarded(field).into_owned());
        writer.write_record(fields.chain(numbers)).map_err(failed)?;
    }
    let text = writer.into_inner().map_err(|e| Error::content(path, e.to_string()))?;
    std::fs::write(path, text).map_err(Error::file(path))
}

/// Reads times that [`write()`] wrote.
///
/// # Errors
/// A file that cannot be read, other columns, and what is no positive number of seconds.
///
/// ```
/// use fe_bench::record::{Key, measured};
///
/// # fn main() -> fe_bench::error::Result<()> {
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("timings.csv");
/// let key = Key { estimator: "ale".to_owned(), rows: "100".to_owned(), ..Key::default() };
/// let times = [measured::Measured { key, seconds: 2e-6, interval: (1e-6, 4e-6) }];
/// measured::write(&path, &times)?;
/// assert_eq!(measured::read(&path)?, times);
/// # Ok(())
/// # }
/// ```
pub fn read(path: &Path) -> Result<Vec<Measured>> {
    let wrong = |message: String| Error::content(path, message);
    let mut reader = csv::Reader::from_reader(files::open(path)?);
    let header = reader.headers().map_err(|e| wrong(e.to_string()))?.clone();
    if !header.iter().eq(keys().map(Column::name).chain(NUMBERS)) {
        return Err(wrong(
            "the columns are not those of times that `cargo bench --bench sweep` writes".to_owned(),
        ));
    }
    let count = keys().count();
    let row = |(number, record): (usize, csv::Result<csv::StringRecord>)| {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let seconds = |place: usize| {
            let text = &record[count + place];
            let known = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
            known.ok_or_else(|| {
                let (number, text) = (number + 1, echo(text));
                wrong(format!("row {number}: `{text}` is not a positive number of seconds"))
            })
        };
        let key = Key::read(keys(), record.iter().map(unguarded)).owned();
        Ok(Measured { key, seconds: seconds(0)?, interval: (seconds(1)?, seconds(2)?) })
    };
    reader.into_records().enumerate().map(row).collect()
}

/// Times by the keys that they share with values.
#[derive(Debug, Default)]
pub struct Times(HashMap<Key, Measured>);

impl Times {
    /// Of a file, of which some belong to values of a folder.
    ///
    /// # Errors
    /// Those of [`read`], and times none of which belongs to a value.
    pub fn of(path: &Path, values: &[SummaryRow]) -> Result<Self> {
        let times = Self(read(path)?.into_iter().map(|of| (of.key.clone(), of)).collect());
        match values.iter().any(|value| times.seconds(&value.key).is_some()) {
            true => Ok(times),
            false => Err(Error::content(
                path,
                "no time belongs to a value of this folder: are they of another study?",
            )),
        }
    }

    /// The time of the estimates that a mean is about.
    #[must_use]
    pub fn seconds(&self, key: &Key) -> Option<f64> {
        self.0.get(&bare(key)).map(|of| of.seconds)
    }

    /// A row for each of them that belongs to some value, with [`SECONDS`] as its metric.
    #[must_use]
    pub fn beside(&self, values: &[SummaryRow]) -> Vec<SummaryRow> {
        let mut rows: Vec<SummaryRow> = Vec::new();
        for value in values {
            let key = Key { metric: SECONDS.to_owned(), ..value.key.clone() };
            let is_known = rows.iter().any(|row| row.key == key);
            let Some(of) = self.0.get(&bare(&key)).filter(|_| !is_known) else { continue };
            let (lo, hi) = of.interval;
            // Half a 95 % interval of a normal law is 1.96 standard errors.
            let summary = Summary {
                count: 1,
                mean: Some(of.seconds),
                standard_error: Some((hi - lo) / (2.0 * 1.959_964)),
                interval: Some(of.interval),
            };
            rows.push(SummaryRow { summary, ..SummaryRow::new(key, Vec::new(), 0) });
        }
        rows
    }
}

/// The key of an estimate, which is made once for all outputs.
fn bare(key: &Key) -> Key {
    let [output, replicate, metric] = [String::new(), String::new(), String::new()];
    Key { output, replicate, metric, ..key.clone() }
}
