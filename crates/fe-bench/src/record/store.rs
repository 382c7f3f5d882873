//! Results folders: written whole or not at all, and never changed.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fe_core::replicates::Summary;
use serde::Serialize;

use super::encode::number;
use super::errors::{self, Errors};
use super::lines::{Lines, count, optional};
use super::manifest::{Manifest, SCHEMA};
use super::results::MOST_MEANS;
use super::summary::SummaryRow;
use super::{FILES, KEYS, Key, METRIC, Parts, REPLICATE, VALUE_COLUMNS, columns, fingerprint};
use crate::error::{Error, Result};
use crate::files::{Hashed, parent};
use crate::run::plan::Plan;
use crate::score::{DEGENERATE, Outcome};
use crate::spreadsheet::unguarded;
use crate::study::wire::Keep;

pub(super) const CELLS: &str = FILES[0];
const SUMMARY: &str = "summary.csv";

/// Bias and variance at each point, for studies that ask for it.
const DECOMPOSITION: &str = "decomposition.csv";

/// The name of the manifest.
pub(super) const MANIFEST: &str = "manifest.json";

/// The file that says which lines of a shard belong to which dataset.
pub(super) const TASKS: &str = "tasks.csv";

/// How many values there are, and how many of them failed.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Values.
    pub values: usize,
    /// Those that are missing.
    pub failed: usize,
    /// Why the first of them is missing.
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
    /// For each of [`FILES`], if it is written.
    files: Vec<Option<BufWriter<Hashed<File>>>>,
    /// Of a shard.
    tasks: Option<csv::Writer<Hashed<File>>>,
    /// Of anything but a shard: a shard has only some of the datasets that means are taken over.
    summary: Option<csv::Writer<Hashed<File>>>,
    /// Where curves are decomposed.
    decomposition: Option<csv::Writer<Hashed<File>>>,
    errors: Errors,
    group: Option<usize>,
    /// Lines of the group that are not gathered yet.
    lines: Vec<u8>,
    gathered: Gathered,
    counts: Counts,
}

/// Lines that are gathered together: to begin reading takes as long as to read a hundred of them.
const GATHERED: usize = 1 << 20;

/// The values of a group so far, one entry for each that its datasets have.
#[derive(Debug, Default)]
struct Gathered {
    found: Vec<(Key, Vec<Outcome>)>,
    /// The entry of the next value, if its dataset has the same as the one before.
    next: usize,
}

impl Gathered {
    fn add(&mut self, record: &csv::StringRecord) -> Result<(), String> {
        if record.len() != KEYS.len() + VALUE_COLUMNS.len() {
            return Err(format!("{} fields in a line", record.len()));
        }
        let status = &record[KEYS.len() + VALUE_COLUMNS.len() - 1];
        let value = Outcome::of(optional(&record[KEYS.len()])?, status);
        let is_of = |(key, _): &(Key, _)| {
            let mut fields = key.iter().zip(record).enumerate();
            fields.all(|(i, (one, other))| i == REPLICATE || one == other)
        };
        let expected = self.found.get(self.next).is_some_and(is_of).then_some(self.next);
        let place = match expected.or_else(|| self.found.iter().position(is_of)) {
            Some(place) => {
                self.found[place].1.push(value);
                place
            }
            None => {
                let mut key: Key = record.iter().take(KEYS.len()).map(str::to_owned).collect();
                key[REPLICATE].clear();
                self.found.push((key, vec![value]));
                self.found.len() - 1
            }
        };
        self.next = (place + 1) % self.found.len();
        Ok(())
    }
}

impl Writer {
    /// Into an empty folder.
    pub(super) fn create(inside: &Path, plan: &Plan<'_>, is_shard: bool) -> Result<Self> {
        let decomposes = plan.keeps(Keep::Decomposition);
        // Of the errors of single curves, whole results have what is made of them.
        let wanted =
            [true, true, plan.keeps(Keep::Curves), plan.keeps(Keep::Bins), decomposes && is_shard];
        let mut files = Vec::new();
        for (file, name) in FILES.iter().enumerate() {
            files.push(if wanted[file] { Some(begin(&inside.join(name), file)?) } else { None });
        }
        let lengths = || FILES.iter().map(|name| name.trim_end_matches(".csv"));
        let tasks: Vec<&str> = std::iter::once("task").chain(lengths()).collect();
        let summary = summary_columns();
        let table = |wanted: bool, name: &str, columns: &[&str]| {
            wanted.then(|| table(&inside.join(name), columns)).transpose()
        };
        Ok(Self {
            inside: inside.to_owned(),
            files,
            tasks: table(is_shard, TASKS, &tasks)?,
            summary: table(!is_shard, SUMMARY, &summary)?,
            decomposition: table(!is_shard && decomposes, DECOMPOSITION, &errors::point_columns())?,
            errors: Errors::default(),
            group: None,
            lines: Vec::new(),
            gathered: Gathered::default(),
            counts: Counts::default(),
        })
    }

    /// Adds the lines of a task of a group.
    pub(super) fn push(&mut self, task: usize, group: usize, parts: &Parts) -> Result<()> {
        if self.group != Some(group) {
            self.finish_group()?;
            self.group = Some(group);
        }
        if self.decomposition.is_some() {
            let read = self.errors.add(&parts[4]);
            read.map_err(|e| Error::content(self.inside.join(FILES[4]), e))?;
        }
        self.lines.extend_from_slice(&parts[0]);
        if self.lines.len() > GATHERED {
            self.gather()?;
        }
        for ((file, lines), name) in self.files.iter_mut().zip(parts).zip(FILES) {
            if let Some(file) = file {
                file.write_all(lines).map_err(Error::file(self.inside.join(name)))?;
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
        let path = self.inside.join(CELLS);
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).from_reader(self.lines.as_slice());
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| Error::content(&path, e))? {
            self.gathered.add(&record).map_err(|e| Error::content(&path, e))?;
            let status = &record[KEYS.len() + VALUE_COLUMNS.len() - 1];
            let is_failed = record[KEYS.len()].is_empty() && status != DEGENERATE;
            if is_failed && self.counts.reason.is_empty() {
                self.counts.reason = unguarded(status).to_owned();
            }
        }
        self.lines.clear();
        Ok(())
    }

    /// Means over the datasets of a group.
    fn finish_group(&mut self) -> Result<()> {
        self.gather()?;
        for (key, values) in std::mem::take(&mut self.gathered).found {
            let found: Vec<f64> = values.iter().filter_map(|value| value.value()).collect();
            let failed = Outcome::Failed.count(values.iter().copied());
            self.counts.values += values.len();
            self.counts.failed += failed;
            if let Some(summary) = &mut self.summary {
                let written =
                    summary.write_record(summary_record(&key, Summary::of(&found), failed));
                written.map_err(|e| Error::content(self.inside.join(SUMMARY), e))?;
            }
        }
        self.decompose()
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
        for (file, name) in self.files.into_iter().zip(FILES) {
            let Some(file) = file else { continue };
            close(name, file.into_inner().map_err(|e| wrong()(e.into_error()))?)?;
        }
        let tables =
            [(self.tasks, TASKS), (self.summary, SUMMARY), (self.decomposition, DECOMPOSITION)];
        for (table, name) in tables {
            let Some(table) = table else { continue };
            close(name, table.into_inner().map_err(|e| wrong()(e.into_error()))?)?;
        }
        let manifest = Manifest { files, ..manifest.clone() };
        write_json(&self.inside.join(MANIFEST), &manifest)?;
        Ok(self.counts)
    }
}

/// A file with the header of one of [`FILES`].
fn begin(path: &Path, file: usize) -> Result<BufWriter<Hashed<File>>> {
    let created = File::create(path).map_err(Error::file(path))?;
    let mut written = BufWriter::new(Hashed::new(created));
    writeln!(written, "{}", columns(file).join(",")).map_err(Error::file(path))?;
    Ok(written)
}

fn table(path: &Path, columns: &[&str]) -> Result<csv::Writer<Hashed<File>>> {
    let created = File::create(path).map_err(Error::file(path))?;
    let mut writer = csv::Writer::from_writer(Hashed::new(created));
    writer.write_record(columns).map_err(|e| Error::content(path, e))?;
    Ok(writer)
}

fn summary_columns() -> Vec<&'static str> {
    let statistics = ["mean", "se", "ci_lo", "ci_hi", "n_ok", "n_failed"];
    without_replicate(&KEYS).chain(statistics).collect()
}

fn summary_record(key: &[String], summary: Summary, failed: usize) -> Vec<String> {
    let mut record: Vec<String> = without_replicate(key).collect();
    record.extend([
        number(summary.mean),
        number(summary.standard_error),
        number(summary.interval.map(|(lo, _)| lo)),
        number(summary.interval.map(|(_, hi)| hi)),
        summary.count.to_string(),
        failed.to_string(),
    ]);
    record
}

fn without_replicate<T: Clone>(key: &[T]) -> impl Iterator<Item = T> {
    let keep = |(i, _): &(usize, &T)| *i != REPLICATE;
    key.iter().enumerate().filter(keep).map(|(_, entry)| entry.clone())
}

/// Writes a file of JSON that is there whole or not at all, even after a crash.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::content(path, e))?;
    let begun = path.with_extension("json.new");
    let write = || {
        let mut file = File::create(&begun)?;
        writeln!(file, "{text}")?;
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

/// Reads the manifest of a results folder.
///
/// # Errors
/// What the system reports; a file that is no manifest, or one of another version of this layout.
pub fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let manifest: Manifest = serde_json::from_str(&text)
        .map_err(|e| Error::content(&path, format!("not a manifest: {e}")))?;
    if manifest.schema != SCHEMA {
        return Err(Error::content(
            &path,
            format!(
                "layout {} of results, but this program reads layout {SCHEMA}",
                manifest.schema
            ),
        ));
    }
    Ok(manifest)
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
    let mut lines = Lines::open(folder, SUMMARY)?;
    if !lines.header()?.iter().eq(summary_columns()) {
        return Err(lines.wrong("the columns are not those of a summary"));
    }
    let mut rows: Vec<SummaryRow> = Vec::new();
    let mut seen = HashSet::new();
    while let Some(record) = lines.next()? {
        // The metric is the last key, and the replicate is not there.
        if !errors::is_part(&record[METRIC - 1]) {
            continue;
        }
        let is_new = seen.insert(fingerprint(record.iter().take(METRIC)));
        let row = parse_summary(record);
        match row {
            Ok(row) if is_new && rows.len() < MOST_MEANS => rows.push(row),
            Ok(_) if is_new => return Err(lines.wrong(format!("more than {MOST_MEANS} means"))),
            Ok(_) => return Err(lines.wrong("a mean that stands above already")),
            Err(message) => return Err(lines.wrong(message)),
        }
    }
    Ok(rows)
}

fn parse_summary(record: &csv::StringRecord) -> Result<SummaryRow, String> {
    let mut key: Key =
        record.iter().take(METRIC).map(|field| unguarded(field).to_owned()).collect();
    key.insert(REPLICATE, String::new());
    let number = |i: usize| optional(&record[METRIC + i]);
    let interval = number(2)?.zip(number(3)?);
    let counted = |i: usize| Ok::<_, String>(count(&record[METRIC + i])?.unwrap_or_default());
    let (count, failed) = (counted(4)?, counted(5)?);
    let summary = Summary { count, mean: number(0)?, standard_error: number(1)?, interval };
    Ok(SummaryRow { summary, ..SummaryRow::new(key, Vec::new(), failed) })
}
