//! What a results folder says: means over replicates. Values are gathered while they are read; a record
//! of each would fill the memory.

use std::collections::HashMap;
use std::path::Path;

use csv::StringRecord;

use super::lines::{Lines, count, optional};
use super::manifest::Manifest;
use super::store::{self, CELLS};
use super::summary::SummaryRow;
use super::{KEYS, Key, REPLICATE, VALUE_COLUMNS, columns, fingerprint};
use crate::error::{Error, Result};
use crate::score::Outcome;
use crate::spreadsheet::unguarded;

/// The most means that results have; as many as a study may ask for.
pub const MOST_MEANS: usize = 250_000;

/// The most reasons of failures that are told apart.
const MOST_REASONS: usize = 200;

/// A results folder as it was read.
#[derive(Debug)]
pub struct Results {
    /// Where they come from.
    pub manifest: Manifest,
    /// Means over replicates, in the order in which they first appear.
    pub values: Vec<SummaryRow>,
    /// Bias and variance averaged over points, where studies ask for them.
    pub parts: Vec<SummaryRow>,
    /// How many single values were read.
    pub cells: usize,
    /// Why values are missing.
    pub failures: Vec<Failure>,
    /// Whether the values are not as they were written.
    pub is_changed: bool,
}

/// A reason why values are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason.
    pub reason: String,
    /// How many values.
    pub count: usize,
    /// The first of them, with its replicate.
    pub first: Key,
}

impl Results {
    /// Whether there is no value.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.cells > 0 && self.values.iter().all(|value| value.summary.count == 0)
    }
}

/// Reads a results folder.
///
/// # Errors
/// A folder that is not one, was written by another version of the layout, or has more means than
/// [`MOST_MEANS`].
pub fn read(folder: &Path) -> Result<Results> {
    read_chosen(folder, &|_| true)
}

/// Reads the values of a results folder whose keys `chosen` lets through.
///
/// # Errors
/// As [`read`].
pub fn read_chosen(folder: &Path, chosen: &dyn Fn(&[&str]) -> bool) -> Result<Results> {
    let manifest = store::read_manifest(folder)?;
    let mut lines = Lines::open(folder, CELLS)?;
    if !lines.header()?.iter().eq(columns(0)) {
        return Err(lines.wrong("the columns are not those of a results file"));
    }
    let mut gathering = Gathering::default();
    while let Some(record) = lines.next()? {
        if let Err(message) = gathering.add(record, chosen) {
            return Err(lines.wrong(message));
        }
    }
    let is_changed = lines.is_changed();
    let Gathering { rows, cells, failures, .. } = gathering;
    if cells == 0 {
        return Err(Error::content(folder.join(CELLS), "there is no value in it"));
    }
    let value = |row: Gathered| SummaryRow {
        degenerate: row.degenerate,
        ..SummaryRow::new(row.key, row.values, row.failed)
    };
    let values = rows.into_iter().map(value).collect();
    let parts = store::read_decomposition(folder)?;
    Ok(Results { manifest, values, parts, cells, failures, is_changed })
}

/// The values of one mean so far.
#[derive(Debug)]
struct Gathered {
    key: Key,
    values: Vec<(String, f64)>,
    failed: usize,
    degenerate: usize,
    last: u64,
}

#[derive(Debug, Default)]
struct Gathering {
    rows: Vec<Gathered>,
    places: HashMap<u128, usize>,
    /// Where the next value belongs if its dataset has the same as the one before.
    next: usize,
    cells: usize,
    failures: Vec<Failure>,
}

impl Gathering {
    fn add(
        &mut self,
        record: &StringRecord,
        chosen: &dyn Fn(&[&str]) -> bool,
    ) -> Result<(), String> {
        if record.len() != KEYS.len() + VALUE_COLUMNS.len() {
            return Err(format!("{} fields", record.len()));
        }
        self.cells += 1;
        let key: Vec<&str> = record.iter().take(KEYS.len()).map(unguarded).collect();
        let value = checked(record)?;
        if !chosen(&key) {
            return Ok(());
        }
        let number = |text: &str| text.parse::<u64>().map_err(|_| "no number of a dataset");
        let replicate = number(key[REPLICATE])?;
        let place = self.place(&key, replicate)?;
        let row = &mut self.rows[place];
        let status = unguarded(&record[KEYS.len() + 6]);
        match Outcome::of(value, status) {
            Outcome::Known(value) => row.values.push((key[REPLICATE].to_owned(), value)),
            Outcome::Degenerate => row.degenerate += 1,
            Outcome::Failed => {
                row.failed += 1;
                self.fail(status, &key);
            }
        }
        Ok(())
    }

    /// The mean that a value belongs to; its datasets come in their order.
    fn place(&mut self, key: &[&str], replicate: u64) -> Result<usize, String> {
        let is_of = |row: &Gathered| {
            let mut both = row.key.iter().zip(key).enumerate();
            both.all(|(i, (one, other))| i == REPLICATE || one == other)
        };
        let place = match self.rows.get(self.next).filter(|row| is_of(row)) {
            Some(_) => self.next,
            None => {
                let fields = key.iter().enumerate().filter(|(i, _)| *i != REPLICATE);
                let print = fingerprint(fields.map(|(_, field)| *field));
                *self.places.entry(print).or_insert(self.rows.len())
            }
        };
        self.next = place + 1;
        match self.rows.get_mut(place) {
            Some(row) if row.last < replicate => row.last = replicate,
            Some(row) => {
                let last = row.last;
                return Err(format!("dataset {replicate} stands behind dataset {last}"));
            }
            None if place == MOST_MEANS => {
                return Err(format!("more than {MOST_MEANS} means: run fewer studies in one call"));
            }
            None => {
                let mut key: Key = key.iter().map(|field| (*field).to_owned()).collect();
                key[REPLICATE].clear();
                let (values, last) = (Vec::new(), replicate);
                self.rows.push(Gathered { key, values, failed: 0, degenerate: 0, last });
            }
        }
        // After the last value of a dataset comes the first of the next one.
        if self.next == self.rows.len() {
            self.next = 0;
        }
        Ok(place)
    }

    fn fail(&mut self, reason: &str, key: &[&str]) {
        let full = self.failures.len() >= MOST_REASONS;
        let known = self.failures.iter_mut().find(|failure| failure.reason == reason);
        match known {
            Some(failure) => failure.count += 1,
            None if full => {
                if let Some(last) = self.failures.last_mut() {
                    "other reasons, which stand in cells.csv".clone_into(&mut last.reason);
                    last.count += 1;
                }
            }
            None => self.failures.push(Failure {
                reason: reason.to_owned(),
                count: 1,
                first: key.iter().map(|field| (*field).to_owned()).collect(),
            }),
        }
    }
}

/// The value of a line, all of whose numbers are numbers.
pub(super) fn checked(record: &StringRecord) -> Result<Option<f64>, String> {
    let at = |i: usize| &record[KEYS.len() + i];
    let value = optional(at(0))?;
    optional(at(2))?;
    for i in [3, 4, 5] {
        count(at(i))?;
    }
    match value {
        Some(value) if !value.is_finite() => Err(format!("`{value}` is not a finite number")),
        None if at(6) == "ok" => Err("the value is missing, and its status is `ok`".to_owned()),
        known => Ok(known),
    }
}
