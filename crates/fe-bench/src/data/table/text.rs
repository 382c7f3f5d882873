//! Text with a header, whose separator is found: comma, semicolon or tab.

use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use super::Field;
use crate::error::{Error, Result};
use crate::system::say::say;

/// Separators, the usual one first.
const SEPARATORS: [(u8, &str); 3] = [(b',', ","), (b';', ";"), (b'\t', "tab")];

/// Longest header in which a separator is looked for.
const LONGEST_HEADER: u64 = 1 << 20;

/// Records of a text.
pub(super) struct Records<'a> {
    reader: csv::Reader<Box<dyn Read + 'a>>,
    record: csv::StringRecord,
    path: PathBuf,
}

impl<'a> Records<'a> {
    /// The names of the columns, and the records behind them.
    pub(super) fn new(
        mut bytes: Box<dyn BufRead + 'a>,
        path: &Path,
    ) -> Result<(Vec<String>, Self)> {
        let mut header = Vec::new();
        let first = bytes.by_ref().take(LONGEST_HEADER);
        { first }.read_until(b'\n', &mut header).map_err(|e| Error::content(path, e))?;
        let (separator, name) = separator(&header);
        if separator != b',' {
            say!("{}: columns are separated by `{name}`", shown(path));
        }
        let bytes: Box<dyn Read + 'a> = Box::new(Cursor::new(header).chain(bytes));
        let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(bytes);
        let header = reader.headers().map_err(|e| Error::content(path, e))?;
        let names = header.iter().map(|name| name.trim().to_owned()).collect();
        Ok((names, Self { reader, record: csv::StringRecord::new(), path: path.to_owned() }))
    }

    pub(super) fn advance(&mut self) -> Result<bool> {
        let read = self.reader.read_record(&mut self.record);
        read.map_err(|e| match e.kind() {
            csv::ErrorKind::UnequalLengths { pos: Some(place), expected_len, len } => {
                let fields = if *len == 1 { "field" } else { "fields" };
                let message = format!(
                    "row {}: {len} {fields}, and the header has {expected_len}",
                    place.record()
                );
                Error::content(&self.path, message)
            }
            _ => Error::content(&self.path, e),
        })
    }

    pub(super) fn field(&self, column: usize) -> Field<'_> {
        Field::of_text(&self.record[column])
    }
}

/// A path as it is told to people.
fn shown(path: &Path) -> String {
    match super::is_standard_input(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// The separator that a header has most often outside quotes; a comma where none has more.
fn separator(header: &[u8]) -> (u8, &'static str) {
    let mut counts = [0; SEPARATORS.len()];
    let mut is_quoted = false;
    for byte in header {
        is_quoted ^= *byte == b'"';
        if let Some(which) = SEPARATORS.iter().position(|(known, _)| known == byte && !is_quoted) {
            counts[which] += 1;
        }
    }
    let most = counts.iter().max();
    let first = counts.iter().position(|count| Some(count) == most).unwrap_or_default();
    SEPARATORS[first]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_outside_quotes() {
        for (header, found) in [
            ("a,b\n", b','),
            ("a\n", b','),
            ("", b','),
            ("a;b;c\n", b';'),
            ("a\tb\n", b'\t'),
            ("\"a;b;c\",d\n", b','),
            ("a;\"price, EUR, net\";c\n", b';'),
            ("a,b;c\n", b','),
        ] {
            assert_eq!(separator(header.as_bytes()).0, found, "{header}");
        }
    }
}
