//! Rows and columns on their way out: as a table to read, as CSV or as JSON.
//!
//! It imports errors and nothing else. Begin with [`OutputTable`]; [`formulas`] keeps words from being computed by spreadsheets.

pub mod formulas;

use std::io::Write;

use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use formulas::guarded;

/// Format of something that is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns to read.
    Table,
    /// Comma-separated values; numbers parse back to the same value.
    Csv,
    /// An array of objects; numbers parse back to the same value.
    Json,
}

/// One entry of a sheet.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Words.
    Text(String),
    /// A number; NaN is written as a missing entry.
    Number(f64),
    /// A count.
    Count(u64),
    /// True or false.
    Flag(bool),
    /// Nothing.
    Missing,
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        Entry::Text(text.to_owned())
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Entry::Text(text)
    }
}

impl From<f64> for Entry {
    fn from(number: f64) -> Self {
        Entry::Number(number)
    }
}

impl From<Option<f64>> for Entry {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Entry::Missing, Entry::Number)
    }
}

impl From<usize> for Entry {
    fn from(count: usize) -> Self {
        Entry::Count(count as u64)
    }
}

impl From<bool> for Entry {
    fn from(flag: bool) -> Self {
        Entry::Flag(flag)
    }
}

impl Entry {
    /// As it stands in a CSV file: the shortest form that parses back to the same value, and words as
    /// [`guarded`] has them.
    #[must_use]
    pub fn exact(&self) -> String {
        match self {
            Entry::Text(text) => guarded(text).into_owned(),
            Entry::Number(number) if number.is_nan() => String::new(),
            Entry::Number(number) => exact(*number),
            Entry::Count(count) => count.to_string(),
            Entry::Flag(flag) => flag.to_string(),
            Entry::Missing => String::new(),
        }
    }

    fn readable(&self) -> String {
        match self {
            Entry::Text(text) => text.clone(),
            Entry::Number(number) if !number.is_nan() => readable(*number),
            other => other.exact(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Entry::Text(text) => Value::from(text.as_str()),
            Entry::Number(number) => Value::from(*number),
            Entry::Count(count) => Value::from(*count),
            Entry::Flag(flag) => Value::from(*flag),
            Entry::Missing => Value::Null,
        }
    }
}

/// The shortest decimal form of a number that parses back to it.
#[must_use]
pub fn exact(number: f64) -> String {
    if number == number.trunc() && number.abs() < 1e15 {
        format!("{number}")
    } else {
        format!("{number:?}")
    }
}

/// The whole number that a number is, where it is exact.
#[must_use]
pub fn whole_of(number: f64) -> Option<usize> {
    const MOST: f64 = (1_u64 << 53) as f64;
    ((0.0..=MOST).contains(&number) && number.fract() == 0.0).then_some(number as usize)
}

/// A number with six significant digits.
#[must_use]
pub fn readable(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e7).contains(&magnitude) {
        format!("{number:.5e}")
    } else {
        let decimals = (5 - magnitude.log10().floor() as i32).max(0) as usize;
        let text = format!("{number:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    }
}

/// Columns with names, and rows of entries.
#[derive(Debug, Clone, Default)]
pub struct OutputTable {
    columns: Vec<String>,
    rows: Vec<Vec<Entry>>,
}

impl OutputTable {
    /// A sheet without rows.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// Adds a row with an entry for each column.
    pub fn push(&mut self, row: Vec<Entry>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Writes the sheet.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn write(&self, format: Format, out: &mut dyn Write) -> Result<()> {
        match format {
            Format::Table => writeln!(out, "{}", self.table()).map_err(Error::Output),
            Format::Csv => write_csv(&self.columns, self.rows.iter(), out),
            Format::Json => {
                let text = serde_json::to_string_pretty(&self.objects());
                writeln!(out, "{}", text.unwrap_or_default()).map_err(Error::Output)
            }
        }
    }

    fn table(&self) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        // On a terminal, columns are as wide as fits; one that is hardly wider than a column would break every number.
        let is_narrow = table.width().is_some_and(|width| width < NARROW);
        let arrangement = match is_narrow {
            true => comfy_table::ContentArrangement::Disabled,
            false => comfy_table::ContentArrangement::Dynamic,
        };
        table.set_content_arrangement(arrangement);
        table.set_header(&self.columns);
        for row in &self.rows {
            table.add_row(row.iter().map(Entry::readable));
        }
        // Words are broken where the screen is narrow, numbers never.
        for (place, column) in table.column_iter_mut().enumerate() {
            let entries = || self.rows.iter().map(|row| &row[place]);
            if entries().any(|entry| matches!(entry, Entry::Text(_))) {
                continue;
            }
            let longest = entries().map(|entry| entry.readable().len()).max().unwrap_or_default();
            let width = u16::try_from(longest).unwrap_or(u16::MAX).saturating_add(2);
            column.set_constraint(comfy_table::ColumnConstraint::LowerBoundary(
                comfy_table::Width::Fixed(width),
            ));
        }
        table
    }

    fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row: &Vec<Entry>| {
            self.columns.iter().cloned().zip(row.iter().map(Entry::json)).collect()
        };
        self.rows.iter().map(object).collect()
    }
}

/// Terminals of fewer characters break lines by themselves.
const NARROW: u16 = 40;

/// Characters in a line of the terminal that output is read on; none where it is none.
#[must_use]
pub fn terminal_width() -> Option<usize> {
    comfy_table::Table::new().width().map(usize::from)
}

/// The most rows of a table to read: all of them are held until the widths of its columns are known.
const MOST_READ: usize = 100_000;

/// Writes so many rows while they are made, below the names of their columns; only a table holds
/// them all.
///
/// # Errors
/// A table of more rows than anybody reads, a row that cannot be made, and [`Error::Output`].
pub fn write_rows(
    columns: &[&str],
    (count, rows): (usize, impl Iterator<Item = Result<Vec<Entry>>>),
    format: Format,
    out: &mut dyn Write,
) -> Result<()> {
    // The reason why rows end early.
    let mut failed = None;
    let rows = rows.map_while(|row| row.map_err(|error| failed = Some(error)).ok());
    match format {
        Format::Csv => write_csv(columns, rows.map(Row), out)?,
        Format::Json => write_json(columns, rows, out)?,
        Format::Table if count > MOST_READ => {
            return Err(Error::Argument(format!(
                "--format table: {count} rows; must be at most {MOST_READ}, csv and json have any \
                 number"
            )));
        }
        Format::Table => {
            let mut sheet = OutputTable::new(columns);
            rows.for_each(|row| sheet.push(row));
            if failed.is_none() {
                sheet.write(format, out)?;
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// A row that is not kept.
struct Row(Vec<Entry>);

impl AsRef<Vec<Entry>> for Row {
    fn as_ref(&self) -> &Vec<Entry> {
        &self.0
    }
}

/// Writes rows as an array of objects while they are made.
fn write_json(
    columns: &[&str],
    rows: impl Iterator<Item = Vec<Entry>>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut out = std::io::BufWriter::new(out);
    let write = || -> std::io::Result<()> {
        let mut before = "[";
        for row in rows {
            let names = columns.iter().map(ToString::to_string);
            let object: Map<String, Value> = names.zip(row.iter().map(Entry::json)).collect();
            let text = serde_json::to_string_pretty(&object)?.replace('\n', "\n  ");
            write!(out, "{before}\n  {text}")?;
            before = ",";
        }
        let end = if before == "[" { "[]" } else { "\n]" };
        writeln!(out, "{end}")?;
        out.flush()
    };
    write().map_err(Error::Output)
}

/// Writes rows as CSV while they are made, below the names of their columns.
///
/// # Errors
/// [`Error::Output`].
pub fn write_csv(
    columns: &[impl AsRef<[u8]>],
    rows: impl Iterator<Item = impl AsRef<Vec<Entry>>>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let write = || -> csv::Result<()> {
        writer.write_record(columns)?;
        for row in rows {
            writer.write_record(row.as_ref().iter().map(Entry::exact))?;
        }
        Ok(writer.flush()?)
    };
    // What the system said: who reads no further is no failure.
    let said = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    };
    write().map_err(|error| Error::Output(said(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parse_back() {
        for number in [0.1, 1.0, -3.0, 1e300, 5e-324, 1.0 / 3.0, 123_456_789.25, 1e16] {
            assert_eq!(exact(number).parse::<f64>().unwrap(), number);
        }
        assert_eq!(exact(1.0), "1");
        assert_eq!(exact(1e300), "1e300");
    }

    /// As standard output is when its reader has seen enough.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stops_is_told_from_other_errors() {
        // More than what is gathered before it is written.
        let mut sheet = OutputTable::new(&["x"]);
        (0..100_000).for_each(|i| sheet.push(vec![Entry::Count(i)]));
        for format in [Format::Table, Format::Csv, Format::Json] {
            let kind = match sheet.write(format, &mut Closed) {
                Err(Error::Output(error)) => Some(error.kind()),
                _ => None,
            };
            assert_eq!(kind, Some(std::io::ErrorKind::BrokenPipe), "{format:?}");
        }
    }

    #[test]
    fn rows_that_are_not_held_are_written_alike() {
        for count in [0, 1, 3] {
            let row = |i: usize| vec![Entry::from("a\n\"b\""), i.into(), Entry::Missing];
            let mut sheet = OutputTable::new(&["z", "b", "c"]);
            (0..count).for_each(|i| sheet.push(row(i)));
            for format in [Format::Table, Format::Csv, Format::Json] {
                let (mut held, mut streamed) = (Vec::new(), Vec::new());
                sheet.write(format, &mut held).unwrap();
                let rows = (count, (0..count).map(|i| Ok(row(i))));
                write_rows(&["z", "b", "c"], rows, format, &mut streamed).unwrap();
                assert_eq!(held, streamed, "{format:?} of {count}");
            }
        }
    }

    #[test]
    fn rows_that_cannot_be_made_are_an_error() {
        let wrong = || Error::Argument("wrong".into());
        for format in [Format::Table, Format::Csv, Format::Json] {
            let rows = (2, [Ok(vec![Entry::Missing]), Err(wrong())].into_iter());
            let error = write_rows(&["x"], rows, format, &mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), "wrong");
        }
        let rows = (MOST_READ + 1, std::iter::empty());
        let error = write_rows(&["x"], rows, Format::Table, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("100001 rows"), "{error}");
    }

    #[test]
    fn readable_numbers_are_short() {
        let all = [0.0, 1.0, 0.012_345_67, 123_456.7, 1e-9].map(readable);
        assert_eq!(all, ["0", "1", "0.0123457", "123457", "1.00000e-9"]);
    }
}
