//! `empty_bins.csv`: estimates of which many bins are without instances, counted over datasets. There is no such
//! file where there are none.

use std::path::Path;

use fe_core::effect::are_many_empty;

use super::columns::{ResultFile, TIMINGS};
use super::lines::{Lines, count, optional};
use super::{Column, Key};
use crate::error::Result;
use crate::output::exact;
use crate::output::formulas::unguarded;
use crate::study::labels::Labels;

/// The name of the file.
pub(super) const EMPTY_BINS: &str = "empty_bins.csv";

/// The columns behind those of the key.
const COUNTS: [&str; 3] = ["datasets", "of", "largest_share"];

/// An estimate of which, on some datasets, more than a tenth of the bins are without instances.
#[derive(Debug, Clone, PartialEq)]
pub struct EmptyBins {
    /// The key of the estimate, without replicate and metric.
    pub key: Key,
    /// Number of datasets where that is so.
    pub datasets: usize,
    /// Number of all datasets.
    pub of: usize,
    /// The largest share of empty bins.
    pub largest: f64,
}

/// The columns of its key.
fn keys() -> impl Iterator<Item = Column> + Clone {
    Column::of_means().filter(|column| *column != Column::Metric)
}

/// The names of all columns.
pub(super) fn header() -> Vec<&'static str> {
    keys().map(Column::name).chain(COUNTS).collect()
}

/// The estimates of a group of datasets, counted while their lines are written.
#[derive(Debug, Default)]
pub(super) struct Tally(Vec<EmptyBins>);

impl Tally {
    /// Counts a dataset by its lines of `timings.csv`.
    pub(super) fn add(&mut self, lines: &[u8]) -> Result<(), String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(lines);
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|e| e.to_string())? {
            let width = ResultFile::Timings.keys().count();
            let field = |name: &str| {
                let place = TIMINGS.iter().position(|column| column.name == name);
                count(place.and_then(|place| record.get(width + place)).unwrap_or_default())
            };
            let (Some(bins), Some(empty)) = (field("bins")?, field("bins_empty")?) else {
                continue;
            };
            let key = Key { replicate: "", ..Key::read(ResultFile::Timings.keys(), &record) };
            let known = self.0.iter().position(|known| known.key.borrowed() == key);
            let place = known.unwrap_or_else(|| {
                let none = EmptyBins { key: key.owned(), datasets: 0, of: 0, largest: 0.0 };
                self.0.push(none);
                self.0.len() - 1
            });
            let found = &mut self.0[place];
            found.of += 1;
            found.datasets += usize::from(are_many_empty(empty, bins));
            found.largest = found.largest.max(empty as f64 / bins.max(1) as f64);
        }
        Ok(())
    }

    /// The lines of the group, which then is empty again.
    pub(super) fn records(&mut self) -> impl Iterator<Item = Vec<String>> {
        let found = std::mem::take(&mut self.0).into_iter().filter(|found| found.datasets > 0);
        found.map(|found| {
            let counts = [found.datasets.to_string(), found.of.to_string(), exact(found.largest)];
            found.key.fields(keys()).map(str::to_owned).chain(counts).collect()
        })
    }
}

/// Reads what a results folder says of empty bins; nothing where it has no such file.
///
/// # Errors
/// A file that is not one of empty bins.
pub fn read(folder: &Path) -> Result<Vec<EmptyBins>> {
    if !folder.join(EMPTY_BINS).exists() {
        return Ok(Vec::new());
    }
    let mut lines = Lines::open(folder, EMPTY_BINS)?;
    if !lines.header()?.iter().eq(header()) {
        return Err(lines.wrong("the columns are not those of a file of empty bins"));
    }
    let mut found = Vec::new();
    while let Some(record) = lines.next()? {
        match parse(record) {
            Ok(of) => found.push(of),
            Err(message) => return Err(lines.wrong(message)),
        }
    }
    Ok(found)
}

fn parse(record: &csv::StringRecord) -> Result<EmptyBins, String> {
    let width = keys().count();
    let field = |place: usize| record.get(width + place).unwrap_or_default();
    let number =
        |place: usize| count(field(place))?.ok_or_else(|| "a number is missing".to_owned());
    let largest = optional(field(2))?.ok_or_else(|| "a share is missing".to_owned())?;
    let key = Key::read(keys(), record.iter().map(unguarded)).owned();
    Ok(EmptyBins { key, datasets: number(0)?, of: number(1)?, largest })
}

/// The caution about some of a results folder's estimates; none where none of them is among those of which
/// many bins are empty. What it names has the labels of its study.
#[must_use]
pub fn caution(
    all: &[EmptyBins],
    labels: &Labels,
    is_meant: impl Fn(&Key<&str>) -> bool,
) -> Option<String> {
    let meant: Vec<&EmptyBins> =
        all.iter().filter(|found| is_meant(&found.key.borrowed())).collect();
    let worst = meant.iter().max_by(|a, b| a.largest.total_cmp(&b.largest))?;
    let Key { scenario, estimator, bins, rows, .. } = worst.key.borrowed();
    let subject = worst.key.subject();
    let datasets: usize = meant.iter().map(|found| found.datasets).sum();
    let words = [("", estimator), ("K = ", bins), ("N = ", rows), ("", scenario), ("", &subject)];
    let words = words.iter().filter(|(_, word)| !word.is_empty());
    let words: Vec<String> =
        words.map(|(name, word)| format!("{name}{}", labels.of(word))).collect();
    Some(format!(
        "Empty bins: in {datasets} estimates, of {} settings, more than a tenth of the bins are without instances, up to \
         {:.0} % ({}).",
        meant.len(),
        100.0 * worst.largest,
        words.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::columns::BinCount;
    use crate::record::encode::Encoder;
    use crate::system::clock::Taken;

    fn lines(counts: &[(&str, Option<BinCount>)]) -> Vec<u8> {
        let mut encoder = Encoder::new();
        for (estimator, bins) in counts {
            let key = Key { estimator: *estimator, replicate: "3", ..Key::default() };
            encoder.timing(&key, Taken::default(), *bins).unwrap();
        }
        encoder.into_parts().unwrap()[ResultFile::Timings as usize].clone()
    }

    #[test]
    fn datasets_with_many_empty_bins_are_counted() {
        let count = |bins, empty| Some(BinCount { bins, empty });
        let mut tally = Tally::default();
        tally
            .add(&lines(&[("ale", count(20, 2)), ("rhale", count(20, 3)), ("pdp", None)]))
            .unwrap();
        tally
            .add(&lines(&[("ale", count(20, 0)), ("rhale", count(20, 20)), ("pdp", None)]))
            .unwrap();
        tally
            .add(&lines(&[("ale", count(20, 0)), ("rhale", count(20, 1)), ("pdp", None)]))
            .unwrap();
        let records: Vec<Vec<String>> = tally.records().collect();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0][records[0].len() - 3..], ["2", "3", "1"]);
        assert!(records[0].contains(&"rhale".to_owned()) && records[0].len() == header().len());
        assert_eq!(tally.records().count(), 0);
        let read = parse(&csv::StringRecord::from(records[0].clone())).unwrap();
        assert_eq!((read.datasets, read.of, read.largest), (2, 3, 1.0));
        let labels: Labels = toml::from_str("rhale = 'RHALE'").unwrap();
        let said = caution(&[read], &labels, |key| key.estimator == "rhale").unwrap();
        assert!(
            said.contains("in 2 estimates") && said.contains("up to 100 % (RHALE, f)"),
            "{said}"
        );
        assert_eq!(caution(&[], &labels, |_| true), None);
    }
}
