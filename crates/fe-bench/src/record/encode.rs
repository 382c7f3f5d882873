//! Records as lines of CSV, without a header: what the datasets of a run hand over to be stored.

use super::columns::{
    BINS, BinCount, BinRow, CURVES, Cell, CurveErrors, ERRORS, Estimated, LEAVES, LeafPoint,
    Numeric, ResultFile, TIMINGS, TREES, TaskLines, TreeNode, VALUES, Written, number,
};
use crate::output::formulas::guarded;
use crate::score::CurvePoint;
use crate::study::key::{Column, Key};
use crate::system::clock::Taken;

/// The lines of one file. There is a writer once there is a line: making one takes as long as some lines.
#[derive(Debug, Default)]
struct EncodedLines(Option<csv::Writer<Vec<u8>>>);

impl EncodedLines {
    /// Keys are words, and values numbers or lists of them.
    fn write(
        &mut self,
        columns: impl Iterator<Item = Column>,
        key: &Key<&str>,
        values: impl Iterator<Item = String>,
    ) -> csv::Result<()> {
        let writer = self.0.get_or_insert_with(|| csv::Writer::from_writer(Vec::new()));
        for field in key.fields(columns) {
            writer.write_field(guarded(field).as_bytes())?;
        }
        values.map(String::into_bytes).try_for_each(|value| writer.write_field(value))?;
        writer.write_record(None::<&[u8]>)
    }

    fn into_bytes(self) -> csv::Result<Vec<u8>> {
        let bytes = |writer: csv::Writer<Vec<u8>>| {
            writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))
        };
        self.0.map_or(Ok(Vec::new()), bytes)
    }
}

/// Gathers the records of a dataset. Whatever it is given belongs to an output, counted from 0.
#[derive(Debug, Default)]
pub struct Encoder {
    files: [EncodedLines; ResultFile::ALL.len()],
}

impl Encoder {
    /// Without records.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn write(
        &mut self,
        file: ResultFile,
        key: &Key<&str>,
        output: usize,
        values: impl Iterator<Item = String>,
    ) -> csv::Result<()> {
        let output = (output + 1).to_string();
        let key = Key { output: output.as_str(), ..*key };
        self.files[file as usize].write(file.keys(), &key, values)
    }

    fn written<T>(
        &mut self,
        (file, columns): (ResultFile, &[Written<T>]),
        key: &Key<&str>,
        output: usize,
        of: &T,
    ) -> csv::Result<()> {
        self.write(file, key, output, columns.iter().map(|column| (column.text)(of)))
    }

    fn kept<T, R>(
        &mut self,
        (file, columns): (ResultFile, &[Numeric<T, R>]),
        key: &Key<&str>,
        output: usize,
        of: &T,
    ) -> csv::Result<()> {
        self.write(file, key, output, columns.iter().map(|column| number((column.number)(of))))
    }

    /// A value of a metric.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn cell(
        &mut self,
        key: &Key<&str>,
        output: usize,
        metric: &str,
        cell: &Cell,
    ) -> csv::Result<()> {
        self.written((ResultFile::Cells, VALUES), &Key { metric, ..*key }, output, cell)
    }

    /// The time of an estimate of all outputs, that of its model, and the bins that it was made on.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn timing(
        &mut self,
        key: &Key<&str>,
        taken: Taken,
        bins: Option<BinCount>,
    ) -> csv::Result<()> {
        self.written((ResultFile::Timings, TIMINGS), key, 0, &Estimated { taken, bins })
    }

    /// A point of a curve.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn curve(&mut self, key: &Key<&str>, output: usize, point: &CurvePoint) -> csv::Result<()> {
        self.kept((ResultFile::Curves, CURVES), key, output, point)
    }

    /// A bin.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn bin(&mut self, key: &Key<&str>, output: usize, bin: &BinRow) -> csv::Result<()> {
        self.kept((ResultFile::Bins, BINS), key, output, bin)
    }

    /// The errors of a curve.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn errors(
        &mut self,
        key: &Key<&str>,
        output: usize,
        errors: &CurveErrors,
    ) -> csv::Result<()> {
        self.written((ResultFile::Errors, ERRORS), key, output, errors)
    }

    /// A node of a tree of regions.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn node(&mut self, key: &Key<&str>, output: usize, node: &TreeNode) -> csv::Result<()> {
        self.written((ResultFile::Trees, TREES), key, output, node)
    }

    /// A point of the curve in a leaf.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn leaf(&mut self, key: &Key<&str>, output: usize, point: &LeafPoint) -> csv::Result<()> {
        self.written((ResultFile::Leaves, LEAVES), key, output, point)
    }

    /// The lines of each file.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn into_parts(self) -> csv::Result<TaskLines> {
        let mut parts = TaskLines::default();
        for (part, lines) in parts.iter_mut().zip(self.files) {
            *part = lines.into_bytes()?;
        }
        Ok(parts)
    }
}
