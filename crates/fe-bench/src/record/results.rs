//! Means over replicates, read from a results folder. Values are gathered while they are read; a record
//! of each would fill the memory. A folder that has its means alone, without the values of single datasets, is read from these.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use csv::StringRecord;
use fe_core::replicates::Summary;

use super::columns::{DECOMPOSITION, ResultFile, SUMMARY, value_and_status};
use super::empty_bins::{self, EmptyBins};
use super::lines::{Lines, count, optional};
use super::manifest::{Manifest, read_manifest};
use super::summary::{SummaryRow, shared, statistics};
use super::{Column, Key, errors};
use crate::error::{Error, Result};
use crate::output::formulas::unguarded;
use crate::score::Outcome;
pub use crate::study::MOST_MEANS;
use crate::study::Study;
use crate::study::labels::Labels;

/// The most reasons of failures that are told apart.
const MOST_REASONS: usize = 200;

/// A results folder as it was read.
#[derive(Debug)]
pub struct Results {
    /// Provenance.
    pub manifest: Manifest,
    /// Means over replicates, in the order in which they first appear.
    pub values: Vec<SummaryRow>,
    /// Bias and variance averaged over points, where studies ask for them.
    pub parts: Vec<SummaryRow>,
    /// Estimates of which many bins are without instances.
    pub empty_bins: Vec<EmptyBins>,
    /// Number of single values that were read.
    pub cells: usize,
    /// Reasons why values are missing.
    pub failures: Vec<Failure>,
    /// True if the values are not as they were written.
    pub is_changed: bool,
    /// True if there are means alone: the folder has the summary, and not the values of single datasets.
    pub are_means: bool,
}

impl Results {
    /// The labels of all studies.
    #[must_use]
    pub fn labels(&self) -> Labels {
        let studies = self.manifest.studies.iter();
        studies.fold(Labels::default(), |all, named| all.and(&named.study.labels))
    }
}

impl Results {
    /// True if the run wrote which estimates have many empty bins, and that file is not there.
    #[must_use]
    pub fn lacks_empty_bins(&self) -> bool {
        self.empty_bins.is_empty() && self.manifest.files.contains_key(empty_bins::EMPTY_BINS)
    }

    /// Refuses what is made of the values of single datasets, where there are means alone.
    ///
    /// # Errors
    /// A folder without these values.
    pub fn need_datasets(&self, folder: &Path, what: &str) -> Result<()> {
        if !self.are_means {
            return Ok(());
        }
        let (cells, names) = (ResultFile::Cells.name(), self.manifest.studies.iter());
        let names: Vec<&str> = names.map(|named| named.name.as_str()).collect();
        let message = format!(
            "{what} needs the value of each dataset, and {cells} is not here, only the means of {SUMMARY}: run {} again",
            names.join(", ")
        );
        Err(Error::content(folder, message))
    }
}

/// A reason why values are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason.
    pub reason: String,
    /// Number of values.
    pub count: usize,
    /// The first of them, with its replicate.
    pub first: Key,
}

impl Results {
    /// True if there is no value.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.cells > 0 && self.values.iter().all(|value| value.summary.count == 0)
    }
}

/// Reads a results folder; one without the values of single datasets from its means.
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
pub fn read_chosen(folder: &Path, chosen: &dyn Fn(&Key<&str>) -> bool) -> Result<Results> {
    let manifest = read_manifest(folder)?;
    let has = |name: &str| folder.join(name).exists();
    if !has(ResultFile::Cells.name()) && has(SUMMARY) {
        return of_means(folder, manifest, chosen);
    }
    let mut lines = Lines::open(folder, ResultFile::Cells.name())?;
    if !lines.header()?.iter().eq(ResultFile::Cells.columns()) {
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
        return Err(Error::content(
            folder.join(ResultFile::Cells.name()),
            "there is no value in it",
        ));
    }
    let value = |row: GatheredMean| SummaryRow {
        degenerate: row.degenerate,
        ..SummaryRow::new(row.key, row.values, row.failed).sharing(row.shared)
    };
    let values = rows.into_iter().map(value).collect();
    let parts = read_decomposition(folder)?;
    let empty_bins = empty_bins::read(folder)?;
    let are_means = false;
    Ok(Results { manifest, values, parts, empty_bins, cells, failures, is_changed, are_means })
}

/// The results whose means are there alone.
fn of_means(
    folder: &Path,
    manifest: Manifest,
    chosen: &dyn Fn(&Key<&str>) -> bool,
) -> Result<Results> {
    let ReadSummary { rows: mut all, means, is_changed } = read_summary(folder, chosen)?;
    if means == 0 {
        return Err(Error::content(folder.join(SUMMARY), "there is no mean in it"));
    }
    count_degenerate(&manifest, &mut all);
    let of_datasets = |row: &SummaryRow| row.summary.count + row.failed + row.degenerate;
    let (parts, values): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|row| errors::is_part(&row.key.metric));
    let cells = values.iter().map(of_datasets).sum();
    let failed = values.iter().filter(|row| row.failed > 0).map(|row| Failure {
        reason: format!("not known: it stands in {}, which is not here", ResultFile::Cells.name()),
        count: row.failed,
        first: row.key.clone(),
    });
    let failures = failed.reduce(|all, one| Failure { count: all.count + one.count, ..all });
    let failures = failures.into_iter().collect();
    let empty_bins = empty_bins::read(folder)?;
    let are_means = true;
    Ok(Results { manifest, values, parts, empty_bins, cells, failures, is_changed, are_means })
}

/// Tells how many datasets have nothing uncertain: those of which there is neither a value nor a failure, where the number
/// of all does not depend on the values.
fn count_degenerate(manifest: &Manifest, means: &mut [SummaryRow]) {
    let studies = manifest.studies.iter();
    // Of a study that this program would not run any more, nothing is known.
    let studies =
        studies.filter_map(|named| Study::new(named.name.clone(), named.study.clone()).ok());
    let fixed: Vec<Study> =
        studies.filter(|study| study.file.block.iter().all(|of| of.until.is_none())).collect();
    let of_study =
        |study: &Study| study.values().map(|(key, of)| (key.fingerprint(), of)).collect::<Vec<_>>();
    let datasets: HashMap<u128, usize> = fixed.iter().flat_map(of_study).collect();
    for row in means {
        let all = datasets.get(&row.key.fingerprint()).copied().unwrap_or_default();
        row.degenerate = all.saturating_sub(row.summary.count + row.failed);
    }
}

/// The values of one mean so far.
#[derive(Debug)]
struct GatheredMean {
    key: Key,
    values: Vec<(String, f64)>,
    failed: usize,
    degenerate: usize,
    /// Half the 95 % interval of an effect that all datasets share, 0 where there is none.
    shared: f64,
    last: u64,
}

#[derive(Debug, Default)]
struct Gathering {
    rows: Vec<GatheredMean>,
    places: HashMap<u128, usize>,
    /// Place of the next value if its dataset has the same as the one before.
    next: usize,
    cells: usize,
    failures: Vec<Failure>,
}

impl Gathering {
    fn add(
        &mut self,
        record: &StringRecord,
        chosen: &dyn Fn(&Key<&str>) -> bool,
    ) -> Result<(), String> {
        let (value, status) = checked(record)?;
        self.cells += 1;
        let key = Key::read(Column::ALL, record.iter().map(unguarded));
        if !chosen(&key) {
            return Ok(());
        }
        let replicate =
            key.replicate.parse::<u64>().map_err(|_| "no number of a dataset".to_owned())?;
        let place = self.place(&key, replicate)?;
        let row = &mut self.rows[place];
        let status = unguarded(status);
        row.shared = row.shared.max(shared(record, &key));
        match Outcome::of(value, status) {
            Outcome::Known(value) => row.values.push((key.replicate.to_owned(), value)),
            Outcome::Degenerate => row.degenerate += 1,
            Outcome::Failed => {
                row.failed += 1;
                self.fail(status, &key);
            }
        }
        Ok(())
    }

    /// The mean that a value belongs to; its datasets come in their order.
    fn place(&mut self, key: &Key<&str>, replicate: u64) -> Result<usize, String> {
        let key = Key { replicate: "", ..*key };
        let is_of = |row: &GatheredMean| row.key.borrowed() == key;
        let place = match self.rows.get(self.next).filter(|row| is_of(row)) {
            Some(_) => self.next,
            None => *self.places.entry(key.fingerprint()).or_insert(self.rows.len()),
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
                let key = key.owned();
                let (values, last) = (Vec::new(), replicate);
                let mean =
                    GatheredMean { key, values, failed: 0, degenerate: 0, shared: 0.0, last };
                self.rows.push(mean);
            }
        }
        // After the last value of a dataset comes the first of the next one.
        if self.next == self.rows.len() {
            self.next = 0;
        }
        Ok(place)
    }

    fn fail(&mut self, reason: &str, key: &Key<&str>) {
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
                first: key.owned(),
            }),
        }
    }
}

/// The value and the status of a line, all of whose numbers are numbers.
pub(super) fn checked(record: &StringRecord) -> Result<(Option<f64>, &str), String> {
    let (value, status) = value_and_status(record)?;
    let fields = record.iter().skip(Column::ALL.len());
    fields
        .zip(ResultFile::Cells.values())
        .try_for_each(|(field, (_, holds))| holds.check(field))?;
    match value {
        Some(value) if !value.is_finite() => Err(format!("`{value}` is not a finite number")),
        None if status == "ok" => Err("the value is missing, and its status is `ok`".to_owned()),
        known => Ok((known, status)),
    }
}

/// Bias and variance, averaged over points, of the curves of a results folder; nothing where none of its
/// studies asks for it.
///
/// # Errors
/// A summary that is not as `run` writes it.
pub fn read_decomposition(folder: &Path) -> Result<Vec<SummaryRow>> {
    if !folder.join(DECOMPOSITION).exists() {
        return Ok(Vec::new());
    }
    Ok(read_summary(folder, &|key| errors::is_part(key.metric))?.rows)
}

/// The means of a summary that were chosen, the number of all, and true if it is not as it was written.
struct ReadSummary {
    rows: Vec<SummaryRow>,
    means: usize,
    is_changed: bool,
}

/// The means of a summary that `chosen` lets through.
fn read_summary(folder: &Path, chosen: &dyn Fn(&Key<&str>) -> bool) -> Result<ReadSummary> {
    let mut lines = Lines::open(folder, SUMMARY)?;
    if !lines.header()?.iter().eq(Column::of_means().map(Column::name).chain(statistics())) {
        return Err(lines.wrong("the columns are not those of a summary"));
    }
    let mut rows: Vec<SummaryRow> = Vec::new();
    let (mut seen, mut means) = (HashSet::new(), 0);
    while let Some(record) = lines.next()? {
        means += 1;
        let key = Key::read(Column::of_means(), record.iter().map(unguarded));
        if !chosen(&key) {
            continue;
        }
        let is_new = seen.insert(key.fingerprint());
        let row = parse_summary(key.owned(), record);
        match row {
            Ok(row) if is_new && rows.len() < MOST_MEANS => rows.push(row),
            Ok(_) if is_new => return Err(lines.wrong(format!("more than {MOST_MEANS} means"))),
            Ok(_) => return Err(lines.wrong("a mean that stands above already")),
            Err(message) => return Err(lines.wrong(message)),
        }
    }
    Ok(ReadSummary { rows, means, is_changed: lines.is_changed() })
}

fn parse_summary(key: Key, record: &StringRecord) -> Result<SummaryRow, String> {
    let field = |name: &str| {
        let place = statistics().position(|known| known == name);
        place.and_then(|place| record.get(Column::of_means().count() + place)).unwrap_or_default()
    };
    let number = |name: &str| optional(field(name));
    let counted = |name: &str| Ok::<_, String>(count(field(name))?.unwrap_or_default());
    let interval = number("ci_lo")?.zip(number("ci_hi")?);
    let (count, failed) = (counted("n_ok")?, counted("n_failed")?);
    let (mean, standard_error) = (number("mean")?, number("se")?);
    let summary = Summary { count, mean, standard_error, interval };
    Ok(SummaryRow { summary, ..SummaryRow::new(key, Vec::new(), failed) })
}
