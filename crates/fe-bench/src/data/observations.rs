//! Observations of features and a target in a data file, made ready for a model.

use std::borrow::Cow;
use std::path::Path;

use fe_core::Dataset;
use fe_core::data::FeatureKind;
use fe_core::numeric::moments::Moments;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::columns::{ColumnRequests, ReadColumn, Use};
use super::file::{Missing, ReadColumns, Target, Wanted, dataset};
use super::table::Table;
use crate::error::{Error, Result, listed, suggestion};

/// Preparation of a file.
#[derive(Debug, Clone, Default)]
pub struct Preparation {
    /// The column to be predicted.
    pub target: Option<String>,
    /// The column of the weights.
    pub weights: Option<String>,
    /// Columns that are no features.
    pub ignored: Vec<String>,
    /// Kinds and levels that are asked for.
    pub columns: ColumnRequests,
    /// The policy for missing values.
    pub missing: Missing,
    /// Leave out rows with a feature farther from its mean than so many standard deviations.
    pub outliers: Option<f64>,
    /// Scale features to mean 0 and standard deviation 1.
    pub standardize: bool,
}

/// Rows of features with their target.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    /// The features, with names, kinds, levels and weights.
    pub data: Dataset,
    /// The target, if one is named.
    pub target: Option<Target>,
    /// Mean and standard deviation of each feature that was scaled by them.
    pub scales: Vec<Option<(f64, f64)>>,
    /// Rows left out because a value is missing, and as outliers.
    pub left_out: (usize, usize),
}

/// The rows whose values lie within so many standard deviations (of ddof 0) of the means of their columns. What is
/// no number is not judged.
pub(super) fn rows_within(columns: &[&[f64]], rows: usize, most: f64) -> Vec<bool> {
    let spreads: Vec<(f64, f64)> = columns.iter().map(|x| spread(x.iter().copied())).collect();
    let is_far = |x: f64, (mean, sd): (f64, f64)| (x - mean).abs() > most * sd;
    (0..rows).map(|row| !columns.iter().zip(&spreads).any(|(x, &of)| is_far(x[row], of))).collect()
}

impl Observations {
    /// Reads and prepares a file.
    ///
    /// # Errors
    /// A file that cannot be read, a column that does not exist, a field that is not a finite number
    /// named by row and column, or no rows that are left.
    pub fn read(path: &Path, preparation: &Preparation) -> Result<Self> {
        let wrong = |message: String| Error::content(path, message);
        let mut table = Table::open(path)?;
        let header = table.names().to_vec();
        let roles = Columns::of(&header, preparation).map_err(&wrong)?;
        let names: Vec<String> =
            roles.features.iter().map(|&column| header[column].clone()).collect();
        let requests = preparation.columns.of(&names)?;
        let wanted = Wanted {
            features: &roles.features,
            requests: &requests,
            used: Use::Feature,
            target: roles.target,
            weights: roles.weights,
            missing: preparation.missing,
        };
        let mut read = ReadColumns::of(&mut table, path, &wanted)?;
        let outliers = leave_out_outliers(&mut read, preparation.outliers).map_err(&wrong)?;
        let scales = scaled(&mut read.features, preparation.standardize);
        let data = dataset(read.features, names, read.weights);
        Ok(Self {
            data: data.map_err(|error| wrong(error.to_string()))?,
            target: read.target,
            scales,
            left_out: (read.left_out, outliers),
        })
    }

    /// Names of the features.
    #[must_use]
    pub fn names(&self) -> &[String] {
        self.data.names()
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.len()
    }

    /// Some of the rows; all if none are named.
    #[must_use]
    pub fn part(&self, rows: Option<&[usize]>) -> Cow<'_, Self> {
        let Some(rows) = rows else { return Cow::Borrowed(self) };
        let target = self.target.as_ref().map(|target| Target {
            values: rows.iter().map(|&row| target.values[row]).collect(),
            ..target.clone()
        });
        let (data, scales) = (self.data.select(rows), self.scales.clone());
        Cow::Owned(Self { data, target, scales, left_out: self.left_out })
    }

    /// The features of these names, in this order.
    ///
    /// # Errors
    /// [`Error::Argument`] for one that there is not.
    pub fn with_features(mut self, names: &[String]) -> Result<Self> {
        let known = || self.names().iter().map(String::as_str);
        let place = |name: &String| {
            self.names().iter().position(|known| known == name).ok_or_else(|| {
                let nearest = suggestion(name, known());
                let known = listed(known());
                Error::Argument(format!(
                    "the model takes a feature `{name}`: the data have {known}{nearest}"
                ))
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<usize>>>()?;
        if !places.iter().copied().eq(0..self.data.dimension()) {
            self.data = self.data.select_features(&places)?;
            self.scales = places.iter().map(|&place| self.scales[place]).collect();
        }
        Ok(self)
    }

    /// The same with the codes of words that a model knows, for each feature where it knows some.
    ///
    /// # Errors
    /// A word that the model does not know.
    pub fn recoded(mut self, levels: &[Option<Vec<String>>]) -> Result<Self> {
        for (feature, words) in levels.iter().enumerate() {
            if let Some(words) = words
                && feature < self.data.dimension()
                && self.data.level_names(feature).is_some()
            {
                self.data = self.data.recoded(feature, words)?;
            }
        }
        Ok(self)
    }

    /// The rows of a random share to be held out, and the others, both in the order of the file.
    ///
    /// None are held out and the others are all if the share is 0.
    #[must_use]
    pub fn split(&self, share: f64, seed: u64) -> (Vec<usize>, Option<Vec<usize>>) {
        if share == 0.0 {
            return (Vec::new(), None);
        }
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        rows.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let kept = ((1.0 - share) * rows.len() as f64).floor() as usize;
        let mut held_out = rows.split_off(kept);
        rows.sort_unstable();
        held_out.sort_unstable();
        (held_out, Some(rows))
    }
}

/// Leaves out rows with a number too far from its mean; how many there were.
fn leave_out_outliers(read: &mut ReadColumns, most: Option<f64>) -> Result<usize, String> {
    let Some(most) = most else { return Ok(0) };
    let numbers = read.features.iter().filter(|column| column.kind == FeatureKind::Continuous);
    let numbers: Vec<Vec<f64>> = numbers.map(|column| column.values.iter().collect()).collect();
    let numbers: Vec<&[f64]> = numbers.iter().map(Vec::as_slice).collect();
    let rows = read.features.first().map_or(0, |column| column.values.len());
    let inside = rows_within(&numbers, rows, most);
    if !inside.contains(&true) {
        return Err(format!("no row has all features within {most} standard deviations"));
    }
    for column in &mut read.features {
        column.values = std::mem::take(&mut column.values).kept(&inside);
    }
    let others = read.target.iter_mut().map(|target| &mut target.values).chain(&mut read.weights);
    for values in others {
        let mut rows = inside.iter();
        values.retain(|_| rows.next() == Some(&true));
    }
    Ok(inside.iter().filter(|inside| !**inside).count())
}

/// Scales features that are numbers to mean 0 and standard deviation 1, if that is asked for; what each was
/// scaled by.
fn scaled(columns: &mut [ReadColumn], is_asked: bool) -> Vec<Option<(f64, f64)>> {
    let scale = |column: &mut ReadColumn| {
        if !is_asked || column.kind != FeatureKind::Continuous {
            return None;
        }
        let (mean, sd) = spread(column.values.iter());
        let sd = if sd > 0.0 { sd } else { 1.0 };
        column.values.map(|x| (x - mean) / sd);
        Some((mean, sd))
    };
    columns.iter_mut().map(scale).collect()
}

/// Mean and standard deviation (of ddof 0) of the numbers among some values.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let numbers = values.filter(|x| !x.is_nan());
    let moments =
        numbers.fold(Moments::default(), |all, value| all.merge(Moments::single(value, 1.0)));
    (moments.mean, moments.variance(0.0).unwrap_or(0.0).sqrt())
}

/// Roles of the columns.
struct Columns {
    features: Vec<usize>,
    target: Option<usize>,
    weights: Option<usize>,
}

impl Columns {
    fn of(header: &[String], preparation: &Preparation) -> Result<Self, String> {
        let place = |name: &String| crate::data::column_of(header, name);
        let target = preparation.target.as_ref().map(place).transpose()?;
        let weights = preparation.weights.as_ref().map(place).transpose()?;
        let ignored = preparation.ignored.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        if let Some(both) = target.filter(|_| target == weights) {
            return Err(format!("column {} is named as target and as weights", header[both]));
        }
        let is_feature = |column: &usize| {
            !ignored.contains(column) && ![target, weights].contains(&Some(*column))
        };
        let features: Vec<usize> = (0..header.len()).filter(is_feature).collect();
        if features.is_empty() {
            return Err("there is no column of a feature".to_owned());
        }
        Ok(Self { features, target, weights })
    }
}
