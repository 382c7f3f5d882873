//! Descriptions of the columns of a data file: counts, moments, quartiles and histograms.

use std::collections::HashMap;
use std::path::Path;

use fe_core::Axis;
use fe_core::numeric::moments::Moments;
use fe_core::numeric::partition::{Closed, Partition};
use fe_core::numeric::quantiles::SortedSample;

use super::column_of;
use super::observations::rows_within;
use super::table::{Field, Table};
use crate::error::{Error, Result};

/// Columns and rows that are described.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Columns to be described, in this order; all if none are named.
    pub columns: Vec<String>,
    /// Columns that are not looked at.
    pub ignored: Vec<String>,
    /// A column in which no outliers are looked for.
    pub target: Option<String>,
    /// True if rows with a missing value are left out.
    pub drop_missing: bool,
    /// Leave out rows with a value farther from the mean of its column than so many standard deviations.
    pub outliers: Option<f64>,
}

/// Columns of a file, with what was left out.
#[derive(Debug, Clone)]
pub struct Descriptions {
    /// One for each column.
    pub columns: Vec<Column>,
    /// Rows left out because a value is missing, and as outliers.
    pub left_out: (usize, usize),
}

/// Values of a column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// Its finite numbers in increasing order.
    sorted: SortedSample,
    /// Of its numbers divided by `unit`, whose squares are numbers too.
    moments: Moments,
    /// A power of two near the largest of its numbers.
    unit: f64,
    /// Number of its values that are no finite number.
    pub words: usize,
    distinct_words: usize,
    /// Number of fields without a value.
    pub missing: usize,
}

/// Facts about a column. Those of numbers are none where it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Number of values, words among them.
    pub count: usize,
    /// Number of different values.
    pub distinct: usize,
    /// Mean of the numbers.
    pub mean: Option<f64>,
    /// Standard deviation of the numbers.
    pub sd: Option<f64>,
    /// Least number, quartiles (Hyndman and Fan 1996, type 7) and greatest number.
    pub quartiles: Option<[f64; 5]>,
}

/// A bar of a histogram: from, to, and the number of values in it.
pub type Bar = (f64, f64, usize);

impl Descriptions {
    /// Reads a file once, field by field; of a field its number is held, and each word once.
    ///
    /// # Errors
    /// A file that cannot be read, is no table, or has no rows (left); a column that does not exist.
    pub fn read(path: &Path, selection: &Selection) -> Result<Self> {
        let wrong = |message: String| Error::content(path, message);
        let mut table = Table::open(path)?;
        let header = table.names().to_vec();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut columns = DescribedColumn::of(&header, selection).map_err(&wrong)?;
        table.keep(&columns.iter().map(|column| column.place).collect::<Vec<_>>())?;
        while table.advance()? {
            columns.iter_mut().for_each(|column| column.push(&table.field(column.place)));
        }
        let rows = columns.first().map_or(0, |column| column.numbers.len());
        if rows == 0 {
            return Err(wrong("there are no rows".to_owned()));
        }
        let (kept, left_out) = kept(&columns, rows, selection);
        if !kept.contains(&true) {
            let message = if left_out.0 == rows {
                "a value is missing in every row".to_owned()
            } else {
                let most = selection.outliers.unwrap_or_default();
                format!("no row has all columns within {most} standard deviations")
            };
            return Err(wrong(message));
        }
        let columns = columns.into_iter().filter(|column| column.is_shown);
        let mut columns: Vec<(usize, Column)> =
            columns.map(|column| (column.order, column.described(&kept))).collect();
        columns.sort_by_key(|(order, _)| *order);
        Ok(Self { columns: columns.into_iter().map(|(_, column)| column).collect(), left_out })
    }
}

impl Column {
    /// Counts, moments and quartiles; `ddof` is what is subtracted from the number of values in the variance.
    #[must_use]
    pub fn facts(&self, ddof: u8) -> Facts {
        let numbers = self.numbers();
        Facts {
            count: numbers + self.words,
            distinct: self.sorted.values().chunk_by(|a, b| a == b).count() + self.distinct_words,
            mean: (numbers > 0).then_some(self.moments.mean * self.unit),
            sd: self.sd(ddof),
            quartiles: (numbers > 0)
                .then(|| [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| self.sorted.quantile(p))),
        }
    }

    /// Standard deviation of its numbers; none where it is beyond the largest number, or there are too few.
    fn sd(&self, ddof: u8) -> Option<f64> {
        let sd = self.moments.variance(f64::from(ddof))?.sqrt() * self.unit;
        sd.is_finite().then_some(sd)
    }

    /// Number of its finite numbers.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.moments.weight as usize
    }

    /// Its numbers in so many bins of equal width, each closed at its lower end and the last at both; where there are
    /// at most as many different numbers, a bar for each of them.
    ///
    /// # Errors
    /// A range that no number holds; no bins.
    pub fn histogram(&self, bins: usize) -> Result<Vec<Bar>> {
        let each = self.sorted.values().chunk_by(|a, b| a == b);
        let each: Vec<(f64, usize)> = each.map(|equal| (equal[0], equal.len())).collect();
        let [(first, _), .., (last, _)] = each[..] else {
            let half = |x: f64| 0.5_f64.max(1e-3 * x.abs());
            return Ok(each.into_iter().map(|(x, n)| (x - half(x), x + half(x), n)).collect());
        };
        let axis = Axis::new(first, last).map_err(|error| {
            Error::Argument(format!("{}: no histogram is drawn: {error}", self.name))
        })?;
        if each.len() <= bins {
            let gaps = each.windows(2).map(|pair| pair[1].0 - pair[0].0);
            let half = 0.45 * gaps.fold(f64::INFINITY, f64::min);
            return Ok(each.into_iter().map(|(x, n)| (x - half, x + half, n)).collect());
        }
        let partition = Partition::new(axis.divide(bins), Closed::Left)?;
        let mut counts = vec![0; partition.bins()];
        for (x, count) in each {
            if let Some(bin) = partition.locate(x) {
                counts[bin] += count;
            }
        }
        let limits = partition.limits().windows(2);
        Ok(limits.zip(counts).map(|(z, count)| (z[0], z[1], count)).collect())
    }
}

/// A column while it is read.
struct DescribedColumn<'a> {
    name: &'a str,
    /// Its place in the file.
    place: usize,
    /// Its place among the descriptions.
    order: usize,
    is_shown: bool,
    is_target: bool,
    /// One for each row; NaN where there is no finite number.
    numbers: Vec<f64>,
    /// The rows with words, and which words.
    words: Vec<(usize, usize)>,
    known: HashMap<String, usize>,
}

impl<'a> DescribedColumn<'a> {
    /// All columns but those that are ignored.
    fn of(header: &[&'a str], selection: &Selection) -> Result<Vec<Self>, String> {
        let places = |names: &[String]| {
            names.iter().map(|name| column_of(header, name)).collect::<Result<Vec<usize>, _>>()
        };
        let (shown, ignored) = (places(&selection.columns)?, places(&selection.ignored)?);
        let target = selection.target.as_ref().map(|name| column_of(header, name)).transpose()?;
        if let Some(twice) = shown.iter().enumerate().find(|(i, j)| shown[..*i].contains(j)) {
            return Err(format!("column {} is asked for twice", header[*twice.1]));
        }
        if let Some(both) = shown.iter().find(|place| ignored.contains(place)) {
            return Err(format!("column {} is asked for and ignored", header[*both]));
        }
        let held = (0..header.len()).filter(|place| !ignored.contains(place)).map(|place| {
            let order = shown.iter().position(|other| *other == place);
            Self {
                name: header[place],
                place,
                order: order.unwrap_or(place),
                is_shown: shown.is_empty() || order.is_some(),
                is_target: target == Some(place),
                numbers: Vec::new(),
                words: Vec::new(),
                known: HashMap::new(),
            }
        });
        let held: Vec<Self> = held.collect();
        if held.is_empty() {
            return Err("there is no column to describe".to_owned());
        }
        Ok(held)
    }

    fn push(&mut self, field: &Field<'_>) {
        let number = field.number();
        if number.is_none() && *field != Field::Missing {
            let next = self.known.len();
            let word = match self.known.get(&*field.word()) {
                Some(&word) => word,
                None => *self.known.entry(field.word().into_owned()).or_insert(next),
            };
            self.words.push((self.numbers.len(), word));
        }
        self.numbers.push(number.unwrap_or(f64::NAN));
    }

    /// The column of some of the rows.
    fn described(self, kept: &[bool]) -> Column {
        let numbers: Vec<f64> =
            self.numbers.iter().zip(kept).filter(|(_, kept)| **kept).map(|(x, _)| *x).collect();
        let mut words: Vec<usize> =
            self.words.iter().filter(|(row, _)| kept[*row]).map(|(_, word)| *word).collect();
        let (fields, count) = (numbers.len(), words.len());
        words.sort_unstable();
        words.dedup();
        let there: Vec<f64> = numbers.into_iter().filter(|x| !x.is_nan()).collect();
        let unit = unit_of(&there);
        Column {
            name: self.name.to_owned(),
            moments: Moments::of(&there.iter().map(|x| x / unit).collect::<Vec<f64>>()),
            unit,
            words: count,
            distinct_words: words.len(),
            missing: fields - there.len() - count,
            sorted: SortedSample::new(there.into_iter().map(|x| (x, 1.0))),
        }
    }
}

/// A power of two by which numbers are divided so that their squares are numbers: 1 wherever these are anyway.
fn unit_of(numbers: &[f64]) -> f64 {
    let largest = numbers.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    match largest {
        0.0 | 1e-100..1e100 => 1.0,
        _ => largest.log2().floor().clamp(-1021.0, 1022.0).exp2(),
    }
}

/// The rows that are described, and how many are not because a value is missing, and as outliers.
fn kept(
    columns: &[DescribedColumn<'_>],
    rows: usize,
    selection: &Selection,
) -> (Vec<bool>, (usize, usize)) {
    let mut kept = vec![true; rows];
    if selection.drop_missing {
        for column in columns {
            let mut is_there: Vec<bool> = column.numbers.iter().map(|x| !x.is_nan()).collect();
            column.words.iter().for_each(|(row, _)| is_there[*row] = true);
            kept.iter_mut().zip(is_there).for_each(|(kept, is_there)| *kept &= is_there);
        }
    }
    let complete: Vec<usize> = (0..rows).filter(|&row| kept[row]).collect();
    let missing = rows - complete.len();
    let Some(most) = selection.outliers else { return (kept, (missing, 0)) };
    let judged = columns.iter().filter(|column| !column.is_target);
    let values: Vec<Vec<f64>> =
        judged.map(|column| complete.iter().map(|&row| column.numbers[row]).collect()).collect();
    let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    let within = rows_within(&values, complete.len(), most);
    let mut outliers = 0;
    for (&row, within) in complete.iter().zip(within) {
        kept[row] = within;
        outliers += usize::from(!within);
    }
    (kept, (missing, outliers))
}
