//! Times of kinds of estimates, measured by criterion, beside the errors under the same keys.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fe_core::replicates::Summary;

use super::lines::{Lines, optional};
use super::summary::SummaryRow;
use super::{Column, Key};
use crate::error::{Error, Result};
use crate::output::formulas::unguarded;
use crate::output::{Entry, write_csv};
use crate::system::files;

/// The metric under which times stand in tables.
pub const SECONDS: &str = "seconds";
/// The metric under which the rows of data that an estimate gets through in a second stand in tables.
pub const ROWS_PER_SECOND: &str = "rows_per_second";

/// The names behind the keys.
const VALUES: [&str; 6] = [SECONDS, "se", "ci_lo", "ci_hi", ROWS_PER_SECOND, "samples"];

/// Time of a kind of estimate: of a feature by an estimator from so many rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    /// The key of its errors without replicate, output and metric.
    pub key: Key,
    /// The median time of an estimate.
    pub seconds: f64,
    /// Standard error of the median, by the bootstrap.
    pub standard_error: f64,
    /// 95 % interval of the median, by the bootstrap.
    pub interval: (f64, f64),
    /// Number of samples.
    pub samples: usize,
}

impl Speed {
    /// Rows of data per second; none where the key has no number of rows.
    #[must_use]
    pub fn rows_per_second(&self) -> Option<f64> {
        let rows: f64 = self.key.rows.parse().ok()?;
        Some(rows / self.seconds)
    }
}

/// The columns that identify a kind.
fn keys() -> impl Iterator<Item = Column> + Clone {
    Column::of_means().filter(|column| ![Column::Metric, Column::Output].contains(column))
}

fn columns() -> Vec<&'static str> {
    keys().map(Column::name).chain(VALUES).collect()
}

/// The times as a CSV file.
///
/// # Errors
/// [`Error::Output`].
pub fn csv(speeds: &[Speed]) -> Result<Vec<u8>> {
    let rows = speeds.iter().map(|speed| {
        let mut row: Vec<Entry> = speed.key.fields(keys()).map(Entry::from).collect();
        let (lo, hi) = speed.interval;
        row.extend([speed.seconds, speed.standard_error, lo, hi].map(Entry::from));
        row.extend([speed.rows_per_second().into(), Entry::from(speed.samples)]);
        row
    });
    let rows: Vec<Vec<Entry>> = rows.collect();
    let mut bytes = Vec::new();
    write_csv(&columns(), rows.iter(), &mut bytes)?;
    Ok(bytes)
}

/// Reads a file of times.
///
/// # Errors
/// A file that cannot be read or is none of times; a kind that is there twice.
pub fn read(path: &Path) -> Result<Vec<Speed>> {
    let name = path.file_name().map(PathBuf::from).unwrap_or_default();
    let mut lines = Lines::open(files::parent(path), &name.to_string_lossy())?;
    if !lines.header()?.iter().eq(columns()) {
        return Err(lines.wrong("the columns are not those of a file of times by criterion"));
    }
    let mut speeds: Vec<Speed> = Vec::new();
    let mut known = std::collections::HashSet::new();
    while let Some(record) = lines.next()? {
        let speed = parse(record).map_err(|message| lines.wrong(message))?;
        if !known.insert(speed.key.fingerprint()) {
            return Err(lines.wrong("a kind of estimate that stands above already"));
        }
        speeds.push(speed);
    }
    match speeds.is_empty() {
        true => Err(Error::content(path, "there is no time in it")),
        false => Ok(speeds),
    }
}

fn parse(record: &csv::StringRecord) -> Result<Speed, String> {
    let field = |name: &str| {
        let place = VALUES.iter().position(|known| *known == name);
        place.and_then(|place| record.get(keys().count() + place)).unwrap_or_default()
    };
    let number = |name: &str| {
        let known = optional(field(name))?.filter(|value| value.is_finite() && *value >= 0.0);
        known.ok_or_else(|| format!("`{name}` is no number from 0"))
    };
    let samples = field("samples");
    Ok(Speed {
        key: Key::read(keys(), record.iter().map(unguarded)).owned(),
        seconds: number(SECONDS)?,
        standard_error: number("se")?,
        interval: (number("ci_lo")?, number("ci_hi")?),
        samples: samples.parse().map_err(|_| "`samples` is no number".to_owned())?,
    })
}

/// Gives every mean the time of its estimate, and returns means of the times themselves, as metrics `seconds` and
/// `rows_per_second` under the same keys.
///
/// # Errors
/// A message where no mean has a time.
pub fn join(values: &mut [SummaryRow], speeds: &[Speed]) -> Result<Vec<SummaryRow>, String> {
    let known: HashMap<u128, &Speed> =
        speeds.iter().map(|speed| (speed.key.fingerprint(), speed)).collect();
    let mut added: Vec<SummaryRow> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for value in values {
        let kind = Key { output: "", metric: "", ..value.key.borrowed() };
        let Some(speed) = known.get(&kind.fingerprint()) else { continue };
        value.seconds = Some(speed.seconds);
        let own = Key { metric: "", ..value.key.borrowed() };
        if seen.insert(own.fingerprint()) {
            added.extend(rows(own, speed));
        }
    }
    match added.is_empty() {
        true => {
            Err("has no time of any estimate of these results: it is of another study".to_owned())
        }
        false => Ok(added),
    }
}

/// A time as means of two metrics.
fn rows(key: Key<&str>, speed: &Speed) -> impl Iterator<Item = SummaryRow> {
    let row = |metric: &str, mean: f64, standard_error: f64, interval: (f64, f64)| {
        let key = Key { metric, ..key }.owned();
        let (standard_error, interval) = (Some(standard_error), Some(interval));
        let summary = Summary { count: speed.samples, mean: Some(mean), standard_error, interval };
        SummaryRow { summary, seconds: Some(speed.seconds), ..SummaryRow::new(key, Vec::new(), 0) }
    };
    let (lo, hi) = speed.interval;
    let seconds = row(SECONDS, speed.seconds, speed.standard_error, speed.interval);
    let of_rows = speed.rows_per_second().map(|many| {
        // To first order a share of the time is the same share of the speed.
        let share = speed.standard_error / speed.seconds;
        let scaled = |seconds: f64| many * speed.seconds / seconds;
        row(ROWS_PER_SECOND, many, many * share, (scaled(hi), scaled(lo)))
    });
    [Some(seconds), of_rows].into_iter().flatten()
}
