//! Files as commands read and write them: what is read is read once, and what is written is seen to be
//! possible, and no input, before the work.

use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Refuses a file that cannot be written, or that is an input of the command.
///
/// An input is not written over by whatever name, and nothing is put into a folder that is one: results
/// are never changed.
///
/// # Errors
/// A path that is an input or lies in one, that is no file, or a link that leads nowhere; a folder that
/// is not there.
pub fn check_output(path: &Path, inputs: &[&Path]) -> Result<()> {
    let wrong = |message: &str| Err(Error::content(path, message));
    let is_folder = path.as_os_str().as_encoded_bytes().last() == Some(&b'/');
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => return wrong("is a folder, and a file is to be written"),
        Ok(there) if !there.is_file() => return wrong("is no file that could be written anew"),
        Ok(there) => {
            let is_same = |input: &&&Path| is_same(&there, path, input);
            if inputs.iter().any(|input| is_same(&input)) {
                return wrong("is read by this command, and inputs are never overwritten");
            }
        }
        Err(_) if std::fs::symlink_metadata(path).is_ok() => {
            return wrong("is a link that leads nowhere");
        }
        Err(_) if is_folder => {
            return wrong("is the name of a folder, and a file is to be written");
        }
        Err(_) => {}
    }
    let parent = parent(path);
    if !std::fs::metadata(parent).map_err(Error::file(parent))?.is_dir() {
        return Err(Error::content(parent, "is no folder"));
    }
    check_outside(path, inputs)
}

/// Refuses a path within a folder that is an input of the command.
///
/// # Errors
/// A message that names both.
pub fn check_outside(path: &Path, inputs: &[&Path]) -> Result<()> {
    let place = settled(path);
    let folders = inputs.iter().filter(|input| input.is_dir());
    match folders.into_iter().find(|folder| place.starts_with(settled(folder))) {
        None => Ok(()),
        Some(folder) => {
            let folder = folder.display();
            let message = format!("lies in {folder}, which this command reads and never changes");
            Err(Error::content(path, message))
        }
    }
}

/// True if a path names the file of which something is known.
#[cfg(unix)]
fn is_same(there: &Metadata, _: &Path, input: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |of: &Metadata| (of.dev(), of.ino());
    std::fs::metadata(input).is_ok_and(|input| identity(&input) == identity(there))
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, path: &Path, input: &Path) -> bool {
    input.exists() && settled(path) == settled(input)
}

/// Target of a path, through links, as far as it exists.
fn settled(path: &Path) -> PathBuf {
    let mut place = match path.is_absolute() {
        true => PathBuf::new(),
        false => std::env::current_dir().unwrap_or_default(),
    };
    for component in path.components() {
        match component {
            Component::ParentDir => _ = place.pop(),
            Component::CurDir => {}
            other => place.push(other),
        }
        place = place.canonicalize().unwrap_or(place);
    }
    place
}

/// The folder that holds a file or a folder.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A path without a slash at its end, behind which nothing could be appended to its name.
#[must_use]
pub fn without_slash(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Path of what stands beside a file or folder: its name, and an end.
#[must_use]
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Opens a file to read it.
///
/// # Errors
/// Whatever the system reports; a folder.
pub fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(Error::file(path))?;
    if file.metadata().is_ok_and(|there| there.is_dir()) {
        return Err(Error::content(path, "is a folder, and a file is to be read"));
    }
    if is_device(&file) {
        return Err(Error::content(path, "is a device, which need not have an end"));
    }
    Ok(file)
}

/// True of devices such as `/dev/zero`, but not of a terminal.
#[cfg(unix)]
fn is_device(file: &File) -> bool {
    use std::io::IsTerminal;
    use std::os::unix::fs::FileTypeExt;
    let is_one = |there: Metadata| there.file_type().is_char_device();
    file.metadata().is_ok_and(is_one) && !file.is_terminal()
}

#[cfg(not(unix))]
fn is_device(_: &File) -> bool {
    false
}

/// Opens a file of a folder that this program has written: no pipe, which would be waited for, and no device.
///
/// # Errors
/// As [`open`]; what is no regular file.
pub fn open_written(path: &Path) -> Result<File> {
    let there = std::fs::metadata(path).map_err(Error::file(path))?;
    if there.is_file() || there.is_dir() {
        return open(path);
    }
    Err(Error::content(path, "is no regular file, as this program writes them"))
}

/// Most bytes of a text that is written by hand, such as a study, and of a file that a program has made.
const LONGEST_TEXT: u64 = 64 << 20;
const LONGEST: u64 = 1 << 30;

/// The text of a file that is written by hand; it may come from a pipe.
///
/// # Errors
/// As [`open`]; more than 64 MiB; no UTF-8.
pub fn text(path: &Path) -> Result<String> {
    in_utf8(path, up_to(LONGEST_TEXT, open(path)?, path)?)
}

/// The text of a file that this program has written into a folder of its own.
///
/// # Errors
/// As [`open_written`]; more than a GiB; no UTF-8.
pub fn text_written(path: &Path) -> Result<String> {
    in_utf8(path, up_to(LONGEST, open_written(path)?, path)?)
}

/// The text of a file that a program has made; it may come from a pipe.
///
/// # Errors
/// As [`open`]; more than a GiB; no UTF-8.
pub fn long_text(path: &Path) -> Result<String> {
    in_utf8(path, bytes(path)?)
}

/// All that a file has; it may be a pipe.
///
/// # Errors
/// As [`open`]; more than a GiB.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    up_to(LONGEST, open(path)?, path)
}

fn up_to(most: u64, file: File, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(Error::file(path))?;
    if bytes.len() as u64 > most {
        let message = format!("has more than {} MiB, and no such file has", most >> 20);
        return Err(Error::content(path, message));
    }
    Ok(bytes)
}

fn in_utf8(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Error::content(path, format!("is no text in UTF-8: byte {place} is part of no character"))
    })
}

/// Bytes that are read or written, with the SHA-256 of all of them: a pipe can be read only once.
#[derive(Debug)]
pub struct Hashed<T> {
    inside: T,
    hash: Sha256,
}

impl<T> Hashed<T> {
    /// Of nothing so far.
    pub fn new(inside: T) -> Self {
        Self { inside, hash: Sha256::new() }
    }

    /// The hash of what went through so far, in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The stream that it goes through.
    pub fn into_inner(self) -> T {
        self.inside
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inside.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inside.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inside.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &Path, inputs: &[&Path]) -> String {
        check_output(path, inputs).unwrap_err().to_string()
    }

    #[test]
    fn no_input_is_an_output_by_whatever_name() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        std::fs::write(at("data.csv"), "x\n1\n").unwrap();
        std::fs::create_dir_all(at("results/deep")).unwrap();
        let (data, results) = (at("data.csv"), at("results"));
        let inputs = [data.as_path(), results.as_path()];
        assert!(check_output(&at("other.csv"), &inputs).is_ok());
        for name in ["data.csv", "./data.csv", "results/../data.csv"] {
            assert!(message(&at(name), &inputs).contains("never overwritten"), "{name}");
        }
        for name in ["results/cells.csv", "results/deep/page.html", "results/deep/../page.html"] {
            assert!(message(&at(name), &inputs).contains("never changes"), "{name}");
        }
        assert!(message(&at("results"), &inputs).contains("is a folder"));
        assert!(message(&at("new/"), &inputs).contains("name of a folder"));
        assert!(message(&at("absent/page.html"), &inputs).contains("absent"));
        for name in ["results/new/deeper", "results/new/../deeper", "new/../results/deeper"] {
            assert!(check_outside(&at(name), &inputs).is_err(), "{name}");
        }
        assert!(check_outside(&at("results-figures"), &inputs).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn nor_through_links() {
        use std::os::unix::fs::symlink;
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        std::fs::write(at("data.csv"), "x\n1\n").unwrap();
        std::fs::create_dir(at("results")).unwrap();
        std::fs::hard_link(at("data.csv"), at("hard.csv")).unwrap();
        symlink(at("data.csv"), at("soft.csv")).unwrap();
        symlink(at("results"), at("folder")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        let (data, soft, results) = (at("data.csv"), at("soft.csv"), at("results"));
        for input in [&data, &soft] {
            for name in ["data.csv", "soft.csv", "hard.csv"] {
                assert!(message(&at(name), &[input]).contains("never overwritten"), "{name}");
            }
        }
        assert!(message(&at("folder/page.html"), &[&results]).contains("never changes"));
        assert!(message(&at("dangling"), &[]).contains("leads nowhere"));
        assert!(message(Path::new("/dev/null"), &[]).contains("no file"));
    }
}
