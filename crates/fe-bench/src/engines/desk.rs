//! A folder in which an engine finds a dataset and leaves its answers.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use fe_core::Dataset;

use super::message::{bytes, open};
use super::status::{Failure, Status};
use crate::system::guard::Folder;

/// The file of the data.
pub(super) const DATA: &str = "data.f64";

/// The file of the points.
pub(super) const GRID: &str = "grid.f64";

/// The file of the points of the second feature of a pair.
pub(super) const GRID2: &str = "grid2.f64";

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
    pub(super) fn set(&self, grid: &[f64], grid2: Option<&[f64]>) -> Result<(), Failure> {
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
            let write = |name: &str, grid: &[f64]| {
                File::create_new(self.folder().join(name))?.write_all(&bytes(grid))
            };
            write(GRID, grid)?;
            grid2.map_or(Ok(()), |grid2| write(GRID2, grid2))
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

/// True if the next numbers of a file are these, bit by bit.
fn reads(file: &mut File, values: &[f64], block: &mut [u8]) -> io::Result<bool> {
    let found = &mut block[..8 * values.len()];
    file.read_exact(found)?;
    let mut pairs = found.as_chunks::<8>().0.iter().zip(values);
    Ok(pairs.all(|(found, value)| *found == value.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use super::*;

    /// More than a block, and no whole number of them.
    fn data() -> Dataset {
        let value = |(s, i)| if i == 7 { -0.0 } else { (s * i) as f64 };
        Dataset::from_features(ndarray::Array2::from_shape_fn((2, 5000), value)).unwrap()
    }

    #[test]
    fn any_change_of_the_data_is_found() {
        let data = data();
        let length = 8 * 2 * 5000;
        let change = |at: u64, bytes: &[u8]| {
            let desk = Desk::new(&data).unwrap();
            desk.check(&data).unwrap();
            let path = desk.folder().join(DATA);
            let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(bytes).unwrap();
            desk.check(&data).map_err(|failure| failure.to_string())
        };
        let found = Err("malformed: it has changed the file data.f64".to_owned());
        // The sign of a zero, the last bit, one byte more.
        for at in [8 * 7 + 7, length - 8, length] {
            assert_eq!(change(at, &[1]), found, "byte {at}");
        }
        assert_eq!(change(0, &[0]), Ok(()));
        let desk = Desk::new(&data).unwrap();
        let file = fs::OpenOptions::new().write(true).open(desk.folder().join(DATA)).unwrap();
        file.set_len(length - 1).unwrap();
        assert!(desk.check(&data).is_err());
    }

    #[test]
    fn nothing_of_an_earlier_request_is_left_and_no_link_is_written_through() {
        let desk = Desk::new(&data()).unwrap();
        let inside = |name: &str| desk.folder().join(name);
        desk.set(&[1.0], Some(&[4.0])).unwrap();
        fs::write(inside("effect.f64"), "12345678").unwrap();
        fs::create_dir_all(inside("folder/inside")).unwrap();
        fs::remove_file(inside(GRID)).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(inside(DATA), inside(GRID)).unwrap();
        desk.set(&[2.0, 3.0], None).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(desk.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [DATA, GRID]);
        assert_eq!(fs::read(inside(GRID)).unwrap(), bytes(&[2.0, 3.0]));
        desk.check(&data()).unwrap();
    }
}
