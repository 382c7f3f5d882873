//! Files whose columns have types, Parquet and Arrow, read a batch of rows at a time.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{Field, declared};
use crate::error::{Error, Result};

/// Rows of a batch of Parquet; Arrow has batches of its own.
const BATCH: usize = 8192;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// A file of which it is not known yet what columns are wanted.
enum Unread {
    Parquet(ParquetRecordBatchReaderBuilder<File>),
    Arrow(BufReader<File>),
}

/// Records of a file.
pub(super) struct Records {
    path: PathBuf,
    schema: Arc<Schema>,
    unread: Option<Unread>,
    batches: Batches,
    batch: Option<RecordBatch>,
    /// The row of the batch behind the present one.
    next: usize,
    /// For each column its place in a batch, if it is wanted.
    places: Vec<Option<usize>>,
}

impl Records {
    /// The names of the columns, and the records.
    pub(super) fn new(file: File, is_parquet: bool, path: &Path) -> Result<(Vec<String>, Self)> {
        guarded(path, || Self::of(file, is_parquet, path))
    }

    fn of(file: File, is_parquet: bool, path: &Path) -> Result<(Vec<String>, Self)> {
        let wrong = |e: &dyn std::fmt::Display| Error::content(path, readable(&e.to_string()));
        let (schema, unread) = if is_parquet {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| wrong(&e))?;
            (Arc::clone(builder.schema()), Unread::Parquet(builder.with_batch_size(BATCH)))
        } else {
            declared::check(&file).map_err(|message| wrong(&message))?;
            let schema =
                FileReader::try_new(BufReader::new(&file), None).map_err(|e| wrong(&e))?.schema();
            (schema, Unread::Arrow(BufReader::new(file)))
        };
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        let places = vec![None; schema.fields().len()];
        let (path, batches) = (path.to_owned(), Box::new(std::iter::empty()));
        let unread = Some(unread);
        Ok((names, Self { path, schema, unread, batches, batch: None, next: 0, places }))
    }

    pub(super) fn keep(&mut self, columns: &[usize], names: &[String]) -> Result<()> {
        for &column in columns {
            let kind = self.schema.field(column).data_type();
            if !is_read(kind) {
                let message = format!(
                    "column {}: {kind} is not read; --ignore {0} leaves the column out",
                    names[column]
                );
                return Err(Error::content(&self.path, message));
            }
        }
        let mut wanted: Vec<usize> = columns.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        for (place, column) in wanted.iter().enumerate() {
            self.places[*column] = Some(place);
        }
        let wrong =
            |e: &dyn std::fmt::Display| Error::content(&self.path, readable(&e.to_string()));
        self.batches = match self.unread.take() {
            None => return Ok(()),
            Some(Unread::Parquet(builder)) => {
                let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
                Box::new(builder.with_projection(mask).build().map_err(|e| wrong(&e))?)
            }
            Some(Unread::Arrow(file)) => {
                Box::new(FileReader::try_new(file, Some(wanted)).map_err(|e| wrong(&e))?)
            }
        };
        Ok(())
    }

    pub(super) fn advance(&mut self) -> Result<bool> {
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            // A batch may be large, and is not to lie beside the next one.
            self.batch = None;
            let batches = &mut self.batches;
            match guarded(&self.path, || Ok(batches.next()))? {
                None => {
                    // Nor is the last one to lie beside the columns while these are put together.
                    self.batches = Box::new(std::iter::empty());
                    return Ok(false);
                }
                Some(batch) => {
                    let batch =
                        batch.map_err(|e| Error::content(&self.path, readable(&e.to_string())))?;
                    (self.batch, self.next) = (Some(batch), 0);
                }
            }
        }
        self.next += 1;
        Ok(true)
    }

    pub(super) fn field(&self, column: usize) -> Field<'_> {
        match (&self.batch, self.places[column]) {
            (Some(batch), Some(place)) => field(batch.column(place), self.next - 1),
            _ => Field::Missing,
        }
    }
}

/// Asks a library about a file that may be damaged: what it did not foresee is an error all the same.
fn guarded<T>(path: &Path, ask: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Error::content(path, "the file is damaged");
    catch_unwind(AssertUnwindSafe(ask)).map_err(damaged)?
}

/// A message of the libraries for those who have the program, and did not compile it.
fn readable(message: &str) -> String {
    match message.contains("Disabled feature at compile time") || message.contains("feature") {
        true => format!(
            "compressed in a way that this build does not read (Parquet by snappy and Arrow by lz4 are): {message}"
        ),
        false => message.to_owned(),
    }
}

/// True if fields are made of values of a type.
fn is_read(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(keys, values) => is_read(keys) && is_read(values),
        DataType::Timestamp(..) | DataType::Decimal128(..) => true,
        kind => {
            kind.is_integer()
                || matches!(
                    kind,
                    DataType::Null
                        | DataType::Boolean
                        | DataType::Float32
                        | DataType::Float64
                        | DataType::Date32
                        | DataType::Utf8
                        | DataType::LargeUtf8
                        | DataType::Utf8View
                )
        }
    }
}

/// The field of a row of a column.
fn field(column: &dyn Array, row: usize) -> Field<'_> {
    if column.is_null(row) || matches!(column.data_type(), DataType::Null) {
        return Field::Missing;
    }
    match column.data_type() {
        DataType::Boolean => word(if column.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Int8 => number(primitive::<Int8Type>(column, row)),
        DataType::Int16 => number(primitive::<Int16Type>(column, row)),
        DataType::Int32 => number(primitive::<Int32Type>(column, row)),
        DataType::Int64 => number(primitive::<Int64Type>(column, row) as f64),
        DataType::UInt8 => number(primitive::<UInt8Type>(column, row)),
        DataType::UInt16 => number(primitive::<UInt16Type>(column, row)),
        DataType::UInt32 => number(primitive::<UInt32Type>(column, row)),
        DataType::UInt64 => number(primitive::<UInt64Type>(column, row) as f64),
        DataType::Float32 => number(primitive::<Float32Type>(column, row)),
        DataType::Float64 => number(primitive::<Float64Type>(column, row)),
        DataType::Decimal128(_, scale) => {
            let digits = primitive::<Decimal128Type>(column, row) as f64;
            number(digits / 10_f64.powi(i32::from(*scale)))
        }
        DataType::Utf8 => Field::of_text(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Field::of_text(column.as_string::<i64>().value(row)),
        DataType::Utf8View => Field::of_text(column.as_string_view().value(row)),
        DataType::Date32 => date(i64::from(primitive::<Date32Type>(column, row))),
        DataType::Timestamp(unit, _) => time(*unit, column, row),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            match field(dictionary.keys(), row) {
                Field::Number(key) => field(dictionary.values().as_ref(), key as usize),
                other => other,
            }
        }
        _ => Field::Missing,
    }
}

fn primitive<T: ArrowPrimitiveType>(column: &dyn Array, row: usize) -> T::Native {
    column.as_primitive::<T>().value(row)
}

fn number<'a>(value: impl Into<f64>) -> Field<'a> {
    match value.into() {
        value if value.is_nan() => Field::Missing,
        value => Field::Number(value),
    }
}

fn word(word: &str) -> Field<'_> {
    Field::Word(Cow::Borrowed(word))
}

/// A date as it is written in text, of a number of days since 1970-01-01.
fn date<'a>(days: i64) -> Field<'a> {
    let span = jiff::Span::new().try_days(days);
    let date = span.and_then(|days| Date::constant(1970, 1, 1).checked_add(days));
    date.map_or(Field::Missing, |date| Field::Word(Cow::Owned(date.to_string())))
}

/// A time as it is written in text: as a date where it is midnight.
fn time<'a>(unit: TimeUnit, column: &dyn Array, row: usize) -> Field<'a> {
    use arrow_array::types::{
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    };
    let timestamp = match unit {
        TimeUnit::Second => Timestamp::from_second(primitive::<TimestampSecondType>(column, row)),
        TimeUnit::Millisecond => {
            Timestamp::from_millisecond(primitive::<TimestampMillisecondType>(column, row))
        }
        TimeUnit::Microsecond => {
            Timestamp::from_microsecond(primitive::<TimestampMicrosecondType>(column, row))
        }
        TimeUnit::Nanosecond => Timestamp::from_nanosecond(i128::from(primitive::<
            TimestampNanosecondType,
        >(column, row))),
    };
    let Ok(timestamp) = timestamp else { return Field::Missing };
    let time = timestamp.to_zoned(TimeZone::UTC).datetime();
    let text = match time.time() == Time::midnight() {
        true => time.date().to_string(),
        false => time.to_string(),
    };
    Field::Word(Cow::Owned(text))
}
