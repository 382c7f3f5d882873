//! A folder in which an engine finds a dataset and leaves its answers.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use fe_core::Dataset;

use super::message::{bytes, open};
use super::status::{Failure, Status};
use crate::guard::Folder;

/// The file of the data.
pub(super) const DATA: &str = "data.f64";

/// The file of the points.
pub(super) const GRID: &str = "grid.f64";

/// A folder of one engine, with a dataset that is its own: what it does to it concerns no other.
#[derive(Debug)]
pub(super) struct Desk {
    folder: Folder,
}

fn broken(what: &str) -> impl FnOnce(io::Error) -> Failure {
    move |e| Failure::new(Status::Error, format!("{what} cannot be written: {}", e.kind()))
}

impl Desk {
    /// With a dataset.
    ///
    /// # Errors
    /// What the system reports; a path that cannot be told in JSON.
    pub(super) fn new(data: &Dataset) -> Result<Self, Failure> {
        let folder = Folder::new().map_err(broken("a temporary folder"))?;
        if folder.path().to_str().is_none() {
            let reason = format!("the temporary folder {} is not UTF-8", folder.path().display());
            return Err(Failure::new(Status::Error, reason));
        }
        let write = || {
            let mut file = BufWriter::new(File::create_new(folder.path().join(DATA))?);
            for s in 0..data.dimension() {
                for value in data.feature(s) {
                    file.write_all(&value.to_le_bytes())?;
                }
            }
            file.flush()
        };
        write().map_err(broken("the data"))?;
        Ok(Self { folder })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in words.
    pub(super) fn path(&self, name: &str) -> String {
        self.folder().join(name).to_string_lossy().trim_end_matches('/').to_owned()
    }

    /// Lays out the points, and removes what is left of an earlier request: an answer must not be read
    /// twice.
    pub(super) fn set(&self, grid: &[f64]) -> Result<(), Failure> {
        let clear = || {
            for entry in fs::read_dir(self.folder())? {
                let entry = entry?;
                if entry.file_name() == DATA {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
            File::create_new(self.folder().join(GRID))?.write_all(&bytes(grid))
        };
        clear().map_err(broken("the grid"))
    }

    /// Refuses an answer of an engine that has changed its data: it may be about others.
    pub(super) fn check(&self, data: &Dataset) -> Result<(), Failure> {
        match self.is_unchanged(data) {
            Ok(true) => Ok(()),
            _ => Err(Failure::new(Status::Malformed, format!("it has changed the file {DATA}"))),
        }
    }

    fn is_unchanged(&self, data: &Dataset) -> io::Result<bool> {
        /// Numbers that are compared at once.
        const BLOCK: usize = 4096;
        let mut file = open(&self.folder().join(DATA))?;
        let mut block = [0; 8 * BLOCK];
        for s in 0..data.dimension() {
            for values in data.feature(s).chunks(BLOCK) {
                if !reads(&mut file, values, &mut block)? {
                    return Ok(false);
                }
            }
        }
        Ok(file.read(&mut [0])? == 0)
    }
}

/// Whether the next numbers of a file are these, bit by bit.
fn reads(file: &mut File, values: &[f64], block: &mut [u8]) -> io::Result<bool> {
    let found = &mut block[..8 * values.len()];
    file.read_exact(found)?;
    let mut pairs = found.as_chunks::<8>().0.iter().zip(values);
    Ok(pairs.all(|(found, value)| *found == value.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore]
    fn cost() {
        let data =
            Dataset::from_features(ndarray::Array2::from_shape_fn((10, 1_000_000), |(i, j)| {
                (i * j) as f64
            }))
            .unwrap();
        for _ in 0..3 {
            let t = std::time::Instant::now();
            let desk = Desk::new(&data).unwrap();
            let a = t.elapsed();
            desk.check(&data).unwrap();
            let b = t.elapsed() - a;
            let t = std::time::Instant::now();
            fs::read(desk.folder().join(DATA)).unwrap();
            eprintln!("COST write {a:?} check {b:?} read {:?}", t.elapsed());
        }
    }
}
