//! A file of a results folder, read line by line.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use serde::Deserialize;

use super::manifest::MANIFEST;
use crate::error::{Error, Result};
use crate::system::files::{self, Hashed};
use crate::system::say::{echo, say};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// A file with its header; once all of it is read, it is said if it is not as it was written.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    reader: csv::Reader<Hashed<File>>,
    record: StringRecord,
    /// As it was written, if that is known.
    hash: Option<String>,
}

/// Checksums of the files beside a manifest.
#[derive(Deserialize)]
struct Files {
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl Lines {
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let file = Hashed::new(files::open_written(&path)?);
        let reader = csv::ReaderBuilder::new().buffer_capacity(BUFFER).from_reader(file);
        let manifest = files::text_written(&folder.join(MANIFEST)).ok();
        let known = manifest.and_then(|text| serde_json::from_str::<Files>(&text).ok());
        let hash = known.and_then(|mut known| known.files.remove(name));
        Ok(Self { path, reader, record: StringRecord::new(), hash })
    }

    pub(crate) fn header(&mut self) -> Result<StringRecord> {
        let header = self.reader.headers().map_err(|e| Error::content(&self.path, e))?;
        Ok(header.clone())
    }

    /// The next line; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&StringRecord>> {
        let read = self.reader.read_record(&mut self.record);
        if read.map_err(|e| Error::content(&self.path, e))? {
            return Ok(Some(&self.record));
        }
        if self.is_changed() {
            let path = self.path.display();
            say!("{path} is not as it was written: its numbers need not be those of the run");
        }
        Ok(None)
    }

    /// True if what was read so far is not all that was written.
    pub(crate) fn is_changed(&self) -> bool {
        self.hash.as_ref().is_some_and(|hash| *hash != self.reader.get_ref().hash())
    }

    /// Something wrong in the line that was read last.
    pub(crate) fn wrong(&self, message: impl std::fmt::Display) -> Error {
        match self.record.position() {
            Some(place) => Error::content(&self.path, format!("line {}: {message}", place.line())),
            None => Error::content(&self.path, message),
        }
    }
}

/// A number that may be missing.
pub(crate) fn optional(text: &str) -> Result<Option<f64>, String> {
    match text.parse::<f64>() {
        _ if text.is_empty() => Ok(None),
        Ok(number) if !number.is_nan() => Ok(Some(number)),
        _ => Err(format!("`{}` is not a number", echo(text))),
    }
}

/// A count that may be missing.
pub(crate) fn count(text: &str) -> Result<Option<usize>, String> {
    match text.parse() {
        _ if text.is_empty() => Ok(None),
        Ok(count) => Ok(Some(count)),
        Err(_) => Err(format!("`{}` is not a count", echo(text))),
    }
}
