//! Tables in files, read row by row: text with separators, plain or compressed by gzip, Parquet and Arrow.
//!
//! A file is known by its first bytes. No more of it is held than a row, or a batch of rows.

#[cfg(feature = "columnar")]
mod columnar;
#[cfg(feature = "columnar")]
mod declared;
mod text;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::system::files;

/// Path of standard input.
const STANDARD_INPUT: &str = "-";

/// Words for a value that is missing.
const MISSING: [&str; 6] = ["", "NA", "N/A", "NaN", "nan", "?"];

/// A value in a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field<'a> {
    /// There is none.
    Missing,
    /// A number, of a file whose columns have types.
    Number(f64),
    /// A word, without spaces around it; in text numbers are words too.
    Word(Cow<'a, str>),
}

impl<'a> Field<'a> {
    /// A field of text.
    pub(super) fn of_text(text: &'a str) -> Self {
        match text.trim() {
            missing if MISSING.contains(&missing) => Self::Missing,
            word => Self::Word(Cow::Borrowed(word)),
        }
    }

    /// The number that it is or spells, if it is finite.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Missing => None,
            Self::Number(number) => Some(*number),
            Self::Word(word) => word.parse().ok(),
        };
        number.filter(|number: &f64| number.is_finite())
    }

    /// The field as a word.
    pub(super) fn word(&self) -> Cow<'_, str> {
        match self {
            Self::Missing => Cow::Borrowed(""),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Word(word) => Cow::Borrowed(word),
        }
    }
}

/// A table that is read from its first row to its last.
pub(super) struct Table<'a> {
    names: Vec<String>,
    rows: Rows<'a>,
}

enum Rows<'a> {
    Text(text::Records<'a>),
    #[cfg(feature = "columnar")]
    Columnar(columnar::Records),
}

/// True if a path stands for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// The bytes of a file, or of standard input if it is called `-`.
///
/// # Errors
/// As [`files::open`].
pub(super) fn bytes(path: &Path) -> Result<Box<dyn Read>> {
    match is_standard_input(path) {
        true => Ok(Box::new(std::io::stdin().lock())),
        false => Ok(Box::new(files::open(path)?)),
    }
}

impl<'a> Table<'a> {
    /// A table in a file, or in standard input if that is `-`.
    ///
    /// # Errors
    /// A file that cannot be read, or is no table.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::of(bytes(path)?, path)
    }

    /// A table in the bytes of a file, which are read once. A file that is read from its end is opened by
    /// its path instead.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(super) fn of(bytes: impl Read + 'a, path: &Path) -> Result<Self> {
        let mut bytes = BufReader::new(bytes);
        let start = bytes.fill_buf().map_err(Error::file(path))?;
        let starts_with = |magic: &[u8]| start.starts_with(magic);
        if starts_with(b"PAR1") || starts_with(b"ARROW1") {
            let is_parquet = starts_with(b"PAR1");
            return Self::columnar(is_parquet, path);
        }
        let (names, records) = if starts_with(&[0x1f, 0x8b]) {
            let inside = flate2::bufread::MultiGzDecoder::new(bytes);
            text::Records::new(Box::new(BufReader::new(inside)), path)
        } else {
            text::Records::new(Box::new(bytes), path)
        }?;
        if names.is_empty() {
            return Err(Error::content(path, "there is no header with names of columns"));
        }
        Ok(Self { names, rows: Rows::Text(records) })
    }

    #[cfg(feature = "columnar")]
    fn columnar(is_parquet: bool, path: &Path) -> Result<Self> {
        let is_file = std::fs::metadata(path).is_ok_and(|file| file.is_file());
        if is_standard_input(path) || !is_file {
            let message = "Parquet and Arrow are read from their end, and this is no file";
            return Err(Error::content(path, message));
        }
        let file = File::open(path).map_err(Error::file(path))?;
        let (names, records) = columnar::Records::new(file, is_parquet, path)?;
        Ok(Self { names, rows: Rows::Columnar(records) })
    }

    #[cfg(not(feature = "columnar"))]
    fn columnar(_: bool, path: &Path) -> Result<Self> {
        let message =
            "Parquet and Arrow are not read by this build: it lacks the feature `columnar`";
        Err(Error::content(path, message))
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Says which columns are wanted, before the first row; fields of others are not asked for.
    ///
    /// # Errors
    /// A column whose type is that of no field.
    pub(super) fn keep(&mut self, columns: &[usize]) -> Result<()> {
        match &mut self.rows {
            Rows::Text(_) => Ok(()),
            #[cfg(feature = "columnar")]
            Rows::Columnar(records) => records.keep(columns, &self.names),
        }
    }

    /// Goes to the next row, and says if there is one.
    ///
    /// # Errors
    /// A file that cannot be read on, or has a row of another length.
    pub(super) fn advance(&mut self) -> Result<bool> {
        match &mut self.rows {
            Rows::Text(records) => records.advance(),
            #[cfg(feature = "columnar")]
            Rows::Columnar(records) => records.advance(),
        }
    }

    /// A field of the row.
    pub(super) fn field(&self, column: usize) -> Field<'_> {
        match &self.rows {
            Rows::Text(records) => records.field(column),
            #[cfg(feature = "columnar")]
            Rows::Columnar(records) => records.field(column),
        }
    }
}
