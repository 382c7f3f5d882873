//! Results folders: written whole or not at all, and never changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fe_core::replicates::Summary;
use serde::Serialize;

use super::columns::{DECOMPOSITION, ResultFile, SUMMARY, TaskLines, value_and_status};
use super::empty_bins::{self, EMPTY_BINS, Tally};
use super::errors::{self, Errors};
use super::manifest::{MANIFEST, Manifest, read_manifest};
use super::summary::{STATISTICS, shared, statistics, summarised, with_shared};
use super::{Column, Key};
use crate::error::{Error, Result};
use crate::output::formulas::unguarded;
use crate::score::Outcome;
use crate::study::file::Keep;
use crate::study::tasks::Plan;
use crate::system::files::{Hashed, beside, parent};
use crate::system::screen::in_json;

/// The file that says which lines of a shard belong to which dataset.
pub(super) const TASKS: &str = "tasks.csv";

/// Number of values, and of those that failed.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Values.
    pub values: usize,
    /// Those that are missing.
    pub failed: usize,
    /// Reason why the first of them is missing.
    pub reason: String,
}

/// Refuses a folder that exists: results are immutable.
///
/// # Errors
/// A message that says so.
pub fn check_free(folder: &Path) -> Result<()> {
    if std::fs::symlink_metadata(folder).is_err() {
        return Ok(());
    }
    if !folder.exists() {
        return Err(Error::content(folder, "is a link that leads nowhere"));
    }
    Err(Error::content(
        folder,
        "exists already, and results are never overwritten: name another folder with --out",
    ))
}

/// Writes the files of a results folder, dataset by dataset in the order of the plan. It holds the
/// numbers of one group at a time.
#[derive(Debug)]
pub(super) struct Writer {
    inside: PathBuf,
    /// For each of the files, if it is written.
    files: Vec<Option<BufWriter<Hashed<File>>>>,
    /// Of a shard.
    tasks: Option<csv::Writer<Hashed<File>>>,
    /// Of anything but a shard: a shard has only some of the datasets that means are taken over.
    summary: Option<csv::Writer<Hashed<File>>>,
    /// Decomposition of curves, where it is asked for.
    decomposition: Option<csv::Writer<Hashed<File>>>,
    /// Lines about empty bins, of anything but a shard; there is a file once there is a line.
    empty_bins: Option<csv::Writer<Hashed<File>>>,
    tally: Tally,
    errors: Errors,
    group: Option<usize>,
    /// Lines of the group that are not gathered yet.
    lines: Vec<u8>,
    gathered: GroupValues,
    counts: Counts,
}

/// Lines that are gathered together: to begin reading takes as long as to read a hundred of them.
const GATHERED: usize = 1 << 20;

/// The values of a mean.
#[derive(Debug)]
struct Gathered {
    key: Key,
    values: Vec<Outcome>,
    /// Half the 95 % interval of an effect that all datasets share, 0 where there is none.
    shared: f64,
}

impl Gathered {
    /// The mean of the values that were computed.
    fn mean(&self) -> Summary {
        let known: Vec<f64> = self.values.iter().filter_map(|value| value.value()).collect();
        let metric = &self.key.metric;
        with_shared(summarised(metric, &known), metric, self.shared)
    }
}

/// The values of a group so far, one entry for each that its datasets have.
#[derive(Debug, Default)]
pub(super) struct GroupValues {
    found: Vec<Gathered>,
    /// The entry of the next value, if its dataset has the same as the one before.
    next: usize,
}

impl GroupValues {
    fn add(&mut self, record: &csv::StringRecord) -> Result<(), String> {
        let (value, status) = value_and_status(record)?;
        let value = Outcome::of(value, status);
        let key = Key { replicate: "", ..Key::read(Column::ALL, record) };
        let shared = shared(record, &key);
        let is_of = |known: &Gathered| known.key.borrowed() == key;
        let expected = self.found.get(self.next).is_some_and(is_of).then_some(self.next);
        let place = match expected.or_else(|| self.found.iter().position(is_of)) {
            Some(place) => {
                let known = &mut self.found[place];
                known.values.push(value);
                known.shared = known.shared.max(shared);
                place
            }
            None => {
                self.found.push(Gathered { key: key.owned(), values: vec![value], shared });
                self.found.len() - 1
            }
        };
        self.next = (place + 1) % self.found.len();
        Ok(())
    }

    /// Adds the values of a metric in lines of a dataset.
    pub(super) fn add_all(&mut self, lines: &[u8], metric: &str) -> Result<(), String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(lines);
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| e.to_string())? {
            if Key::read(Column::ALL, &record).metric == metric {
                self.add(&record)?;
            }
        }
        Ok(())
    }

    /// The means of the values that were computed.
    pub(super) fn means(&self) -> impl Iterator<Item = (Key, Summary)> {
        self.found.iter().map(|found| (found.key.clone(), found.mean()))
    }
}

impl Writer {
    /// Into an empty folder.
    pub(super) fn create(inside: &Path, plan: &Plan<'_>, is_shard: bool) -> Result<Self> {
        Self::keeping(inside, |what| plan.keeps(what), is_shard)
    }

    /// A writer of results that keep what is said.
    pub(super) fn keeping(
        inside: &Path,
        keeps: impl Fn(Keep) -> bool,
        is_shard: bool,
    ) -> Result<Self> {
        let decomposes = keeps(Keep::Decomposition);
        // Of the errors of single curves, whole results have what is made of them.
        let wanted = |file: ResultFile| match file {
            ResultFile::Cells | ResultFile::Timings => true,
            ResultFile::Curves => keeps(Keep::Curves),
            ResultFile::Bins => keeps(Keep::Bins),
            ResultFile::Errors => decomposes && is_shard,
            ResultFile::Trees | ResultFile::Leaves => keeps(Keep::Trees),
        };
        let mut files = Vec::new();
        for file in ResultFile::ALL {
            files.push(if wanted(file) {
                Some(begin(&inside.join(file.name()), file)?)
            } else {
                None
            });
        }
        let lengths = || ResultFile::ALL.map(|file| file.name().trim_end_matches(".csv"));
        let tasks: Vec<&str> = std::iter::once("task").chain(lengths()).collect();
        let summary: Vec<&str> = Column::of_means().map(Column::name).chain(statistics()).collect();
        let table = |wanted: bool, name: &str, columns: &[&str]| {
            wanted.then(|| table(&inside.join(name), columns)).transpose()
        };
        Ok(Self {
            inside: inside.to_owned(),
            files,
            tasks: table(is_shard, TASKS, &tasks)?,
            summary: table(!is_shard, SUMMARY, &summary)?,
            decomposition: table(!is_shard && decomposes, DECOMPOSITION, &errors::point_columns())?,
            empty_bins: None,
            tally: Tally::default(),
            errors: Errors::default(),
            group: None,
            lines: Vec::new(),
            gathered: GroupValues::default(),
            counts: Counts::default(),
        })
    }

    /// Adds the lines of a task of a group.
    pub(super) fn push(&mut self, task: usize, group: usize, parts: &TaskLines) -> Result<()> {
        if self.group != Some(group) {
            self.finish_group()?;
            self.group = Some(group);
        }
        if self.decomposition.is_some() {
            let read = self.errors.add(&parts[ResultFile::Errors as usize]);
            let name = ResultFile::Errors.name();
            read.map_err(|e| Error::content(self.inside.join(name), e))?;
        }
        if self.summary.is_some() {
            let counted = self.tally.add(&parts[ResultFile::Timings as usize]);
            counted.map_err(|e| Error::content(self.inside.join(ResultFile::Timings.name()), e))?;
        }
        self.lines.extend_from_slice(&parts[ResultFile::Cells as usize]);
        if self.lines.len() > GATHERED {
            self.gather()?;
        }
        for ((file, lines), name) in self.files.iter_mut().zip(parts).zip(ResultFile::ALL) {
            if let Some(file) = file {
                file.write_all(lines).map_err(Error::file(self.inside.join(name.name())))?;
            }
        }
        if let Some(tasks) = &mut self.tasks {
            let numbers = std::iter::once(task).chain(parts.iter().map(Vec::len));
            let written = tasks.write_record(numbers.map(|number| number.to_string()));
            written.map_err(|e| Error::content(self.inside.join(TASKS), e))?;
        }
        Ok(())
    }

    /// Takes up the values of the lines.
    fn gather(&mut self) -> Result<()> {
        let path = self.inside.join(ResultFile::Cells.name());
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).from_reader(self.lines.as_slice());
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| Error::content(&path, e))? {
            self.gathered.add(&record).map_err(|e| Error::content(&path, e))?;
            let (value, status) =
                value_and_status(&record).map_err(|e| Error::content(&path, e))?;
            if Outcome::of(value, status) == Outcome::Failed && self.counts.reason.is_empty() {
                self.counts.reason = unguarded(status).to_owned();
            }
        }
        self.lines.clear();
        Ok(())
    }

    /// Means over the datasets of a group.
    fn finish_group(&mut self) -> Result<()> {
        self.gather()?;
        for found in std::mem::take(&mut self.gathered).found {
            let failed = Outcome::Failed.count(found.values.iter().copied());
            self.counts.values += found.values.len();
            self.counts.failed += failed;
            if let Some(summary) = &mut self.summary {
                let record = summary_record(&found.key, found.mean(), failed);
                let written = summary.write_record(record);
                written.map_err(|e| Error::content(self.inside.join(SUMMARY), e))?;
            }
        }
        self.tell_empty_bins()?;
        self.decompose()
    }

    /// Estimates of the group of which many bins are empty.
    fn tell_empty_bins(&mut self) -> Result<()> {
        let path = self.inside.join(EMPTY_BINS);
        for record in self.tally.records() {
            if self.empty_bins.is_none() {
                self.empty_bins = Some(table(&path, &empty_bins::header())?);
            }
            if let Some(file) = &mut self.empty_bins {
                file.write_record(record).map_err(|e| Error::content(&path, e))?;
            }
        }
        Ok(())
    }

    /// Bias and variance of the curves of a group.
    fn decompose(&mut self) -> Result<()> {
        let (Some(summary), Some(points)) = (&mut self.summary, &mut self.decomposition) else {
            return Ok(());
        };
        for curve in std::mem::take(&mut self.errors).decomposed() {
            for (key, of) in curve.averages() {
                let failed = curve.replicates - of.count;
                let written = summary.write_record(summary_record(&key, of, failed));
                written.map_err(|e| Error::content(self.inside.join(SUMMARY), e))?;
            }
            for record in curve.points() {
                let written = points.write_record(record);
                written.map_err(|e| Error::content(self.inside.join(DECOMPOSITION), e))?;
            }
        }
        Ok(())
    }

    /// Writes the rest, and waits until all of it is on the disk.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<Counts> {
        self.finish_group()?;
        let wrong = || Error::file(&self.inside);
        let mut files = BTreeMap::new();
        let mut close = |name: &str, file: Hashed<File>| {
            files.insert(name.to_owned(), file.hash());
            file.into_inner().sync_all().map_err(wrong())
        };
        for (file, of) in self.files.into_iter().zip(ResultFile::ALL) {
            let Some(file) = file else { continue };
            close(of.name(), file.into_inner().map_err(|e| wrong()(e.into_error()))?)?;
        }
        let tables = [
            (self.tasks, TASKS),
            (self.summary, SUMMARY),
            (self.decomposition, DECOMPOSITION),
            (self.empty_bins, EMPTY_BINS),
        ];
        for (table, name) in tables {
            let Some(table) = table else { continue };
            close(name, table.into_inner().map_err(|e| wrong()(e.into_error()))?)?;
        }
        let manifest = Manifest { files, ..manifest.clone() };
        write_json(&self.inside.join(MANIFEST), &manifest)?;
        Ok(self.counts)
    }
}

/// A file with its header.
fn begin(path: &Path, file: ResultFile) -> Result<BufWriter<Hashed<File>>> {
    let created = File::create(path).map_err(Error::file(path))?;
    let mut written = BufWriter::new(Hashed::new(created));
    writeln!(written, "{}", file.columns().join(",")).map_err(Error::file(path))?;
    Ok(written)
}

fn table(path: &Path, columns: &[&str]) -> Result<csv::Writer<Hashed<File>>> {
    let created = File::create(path).map_err(Error::file(path))?;
    let mut writer = csv::Writer::from_writer(Hashed::new(created));
    writer.write_record(columns).map_err(|e| Error::content(path, e))?;
    Ok(writer)
}

fn summary_record(key: &Key, summary: Summary, failed: usize) -> Vec<String> {
    let keys = key.fields(Column::of_means()).map(str::to_owned);
    let values = STATISTICS.iter().map(|statistic| (statistic.of)(&summary, failed).exact());
    keys.chain(values).collect()
}

/// Writes a file of JSON that is there whole or not at all, even after a crash.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::content(path, e))?;
    let begun = path.with_extension("json.new");
    let write = || {
        let mut file = File::create(&begun)?;
        writeln!(file, "{}", in_json(&text))?;
        file.sync_all()?;
        std::fs::rename(&begun, path)
    };
    write().map_err(Error::file(path))
}

/// Lets a folder that is complete appear under its name.
pub(super) fn publish(inside: &Path, folder: &Path) -> Result<()> {
    std::fs::rename(inside, folder).map_err(Error::file(folder))?;
    let parent = parent(folder);
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(Error::file(parent))
}

/// The end of the name of results while others take their place.
const REPLACED: &str = ".replaced";

/// Lets a folder that is complete take the place of an earlier one, which is then removed. Whatever happens between, both
/// are there, and [`finish_replacing`] goes on.
///
/// # Errors
/// Whatever the system reports.
pub fn replace(earlier: &Path, by: &Path) -> Result<()> {
    let aside = beside(earlier, REPLACED);
    check_free(&aside)?;
    std::fs::rename(earlier, &aside).map_err(Error::file(earlier))?;
    publish(by, earlier)?;
    std::fs::remove_dir_all(&aside).map_err(Error::file(&aside))
}

/// Ends what a process that was stopped in [`replace`] began: true where there was something to do.
///
/// # Errors
/// A folder of the name that is needed which was never replaced, and is somebody's own; whatever the system reports.
pub fn finish_replacing(earlier: &Path, by: &Path) -> Result<bool> {
    let aside = beside(earlier, REPLACED);
    let new = if earlier.exists() { earlier } else { by };
    let are_one = read_manifest(&aside).is_ok_and(|old| {
        let is_taken_over =
            |new: Manifest| new.extended.iter().any(|run| run.started == old.started);
        read_manifest(new).is_ok_and(is_taken_over)
    });
    if !are_one {
        return check_free(&aside).map(|()| false);
    }
    if new == by {
        publish(by, earlier)?;
    }
    std::fs::remove_dir_all(&aside).map_err(Error::file(&aside))?;
    Ok(true)
}
