//! Results folders: written whole or not at all, and never changed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::{Manifest, SCHEMA};
use super::summary::{SummaryRow, summarise};
use super::{KEYS, Key, METRIC, Records, Row};
use crate::error::{Error, Result};
use crate::score::Score;
use crate::sheet::exact;

const CELLS: &str = "cells.csv";
const VALUE_COLUMNS: [&str; 7] =
    ["value", "truth_method", "truth_abs_error", "compared", "left_out", "model_rows", "status"];

/// A results folder on its way: it appears under its name only when all of it is written.
#[derive(Debug)]
pub struct Unfinished {
    folder: PathBuf,
    inside: tempfile::TempDir,
}

impl Unfinished {
    /// Makes sure, before anything is run, that results can be written.
    ///
    /// # Errors
    /// A folder that exists already: results are immutable. Whatever the system reports.
    pub fn begin(folder: &Path) -> Result<Self> {
        if folder.exists() {
            return Err(Error::content(
                folder,
                "exists already, and results are never overwritten: name another folder with --out",
            ));
        }
        let parent = match folder.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        let mut unfinished = tempfile::Builder::new();
        unfinished.prefix(".unfinished-");
        // Results are for everybody whom the user's own mask lets in, unlike temporary folders.
        #[cfg(unix)]
        unfinished.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let inside = unfinished.tempdir_in(parent).map_err(Error::file(parent))?;
        Ok(Self { folder: folder.to_owned(), inside })
    }

    /// Writes everything.
    ///
    /// # Errors
    /// Whatever the system reports, with the file.
    pub fn finish(self, manifest: &Manifest, records: &Records) -> Result<()> {
        let inside = self.inside.path();
        write_cells(&inside.join(CELLS), &records.rows)?;
        write_timings(&inside.join("timings.csv"), records)?;
        write_summary(&inside.join("summary.csv"), &summarise(records.rows.iter()))?;
        write_json(&inside.join("manifest.json"), manifest)?;
        std::fs::rename(inside, &self.folder).map_err(Error::file(&self.folder))
    }
}

fn write_cells(path: &Path, rows: &[Row]) -> Result<()> {
    let columns: Vec<&str> = KEYS.into_iter().chain(VALUE_COLUMNS).collect();
    write_csv(
        path,
        &columns,
        rows.iter().map(|row| {
            let score = &row.score;
            let mut record = row.key.clone();
            record.extend([
                number(score.value),
                score.truth_method.clone(),
                number(score.truth_abs_error),
                score.compared.to_string(),
                score.left_out.to_string(),
                row.model_rows.map_or(String::new(), |rows| rows.to_string()),
                score.status.clone(),
            ]);
            record
        }),
    )
}

fn write_timings(path: &Path, records: &Records) -> Result<()> {
    let columns: Vec<&str> =
        KEYS[..METRIC].iter().copied().chain(["seconds", "model_seconds"]).collect();
    write_csv(
        path,
        &columns,
        records.timings.iter().map(|timing| {
            let mut record = timing.key[..METRIC].to_vec();
            record.extend([exact(timing.seconds), exact(timing.model_seconds)]);
            record
        }),
    )
}

fn write_summary(path: &Path, rows: &[SummaryRow]) -> Result<()> {
    let statistics = ["mean", "se", "ci_lo", "ci_hi", "n_ok", "n_failed"];
    let columns: Vec<&str> = without_replicate(&KEYS).chain(statistics).collect();
    write_csv(
        path,
        &columns,
        rows.iter().map(|row| {
            let summary = &row.summary;
            let mut record: Vec<String> = without_replicate(&row.key).collect();
            record.extend([
                number(summary.mean),
                number(summary.standard_error),
                number(summary.interval.map(|(lo, _)| lo)),
                number(summary.interval.map(|(_, hi)| hi)),
                summary.count.to_string(),
                row.failed.to_string(),
            ]);
            record
        }),
    )
}

fn without_replicate<T: Clone>(key: &[T]) -> impl Iterator<Item = T> {
    let keep = |(i, _): &(usize, &T)| *i != super::REPLICATE;
    key.iter().enumerate().filter(keep).map(|(_, entry)| entry.clone())
}

fn number(value: Option<f64>) -> String {
    value.map(exact).unwrap_or_default()
}

fn write_csv(
    path: &Path,
    columns: &[&str],
    records: impl Iterator<Item = Vec<String>>,
) -> Result<()> {
    let file = File::create(path).map_err(Error::file(path))?;
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    let write = || {
        writer.write_record(columns)?;
        for record in records {
            writer.write_record(record)?;
        }
        writer.flush()
    };
    write().map_err(Error::file(path))
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::content(path, e))?;
    let mut file = File::create(path).map_err(Error::file(path))?;
    writeln!(file, "{text}").map_err(Error::file(path))
}

/// Reads the manifest and the values of a results folder.
///
/// # Errors
/// A folder that is not one, or was written by another version of the layout.
pub fn read(folder: &Path) -> Result<(Manifest, Vec<Row>)> {
    let path = folder.join("manifest.json");
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
    Ok((manifest, read_cells(&folder.join(CELLS))?))
}

fn read_cells(path: &Path) -> Result<Vec<Row>> {
    let wrong = |message: String| Error::content(path, message);
    let file = File::open(path).map_err(Error::file(path))?;
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|e| wrong(e.to_string()))?;
    if !header.iter().eq(KEYS.into_iter().chain(VALUE_COLUMNS)) {
        return Err(wrong("the columns are not those of a results file".to_owned()));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        rows.push(parse(&record.map_err(|e| wrong(e.to_string()))?).map_err(&wrong)?);
    }
    Ok(rows)
}

fn parse(record: &csv::StringRecord) -> Result<Row, String> {
    fn number<T: std::str::FromStr>(text: &str) -> Result<Option<T>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| format!("`{text}` is not a number"))
    }
    let key: Key = record.iter().take(KEYS.len()).map(str::to_owned).collect();
    let value = |i: usize| &record[KEYS.len() + i];
    Ok(Row {
        key,
        score: Score {
            value: number(value(0))?,
            truth_method: value(1).to_owned(),
            truth_abs_error: number(value(2))?,
            compared: number(value(3))?.unwrap_or_default(),
            left_out: number(value(4))?.unwrap_or_default(),
            status: value(6).to_owned(),
        },
        model_rows: number(value(5))?,
    })
}
