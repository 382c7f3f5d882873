//! Observations of features and a target in a CSV file, made ready for a model.

use std::path::Path;

use fe_core::Dataset;
use fe_core::data::{FeatureKind, LevelNames};
use fe_core::numeric::moments::Moments;
use ndarray::Array2;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::columns::{ColumnRequest, ColumnRequests, ReadColumn, read_column};
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
    /// True if rows with a missing value are left out; otherwise they are an error.
    pub drop_missing: bool,
    /// Leave out rows with a feature farther from its mean than so many standard deviations.
    pub outliers: Option<f64>,
    /// Scale features to mean 0 and standard deviation 1.
    pub standardize: bool,
}

/// A target as it is in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its column.
    pub name: String,
    /// A number for each row; the place of its label, if there are labels.
    pub values: Vec<f64>,
    /// Its different words in alphabetical order, if it is not numeric.
    pub labels: Option<Vec<String>>,
}

/// Rows of features with their target.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    /// Names of the features.
    pub names: Vec<String>,
    /// One for each feature, a value for each row.
    pub columns: Vec<Vec<f64>>,
    /// Their kinds.
    pub kinds: Vec<FeatureKind>,
    /// The names of their levels, where they are words or given.
    pub levels: Vec<Option<LevelNames>>,
    /// The target, if one is named.
    pub target: Option<Target>,
    /// One for each row, if they are weighted.
    pub weights: Option<Vec<f64>>,
    /// Rows left out because a value is missing, and as outliers.
    pub left_out: (usize, usize),
}

/// Words for a value that is missing.
const MISSING: [&str; 6] = ["", "NA", "N/A", "NaN", "nan", "?"];

/// True if a field says that there is no value.
pub(super) fn is_missing(field: &str) -> bool {
    MISSING.contains(&field.trim())
}

/// The rows whose values lie within so many standard deviations (of ddof 0) of the means of their columns. What is
/// no number is not judged.
pub(super) fn rows_within(columns: &[&[f64]], rows: usize, most: f64) -> Vec<bool> {
    let spreads: Vec<(f64, f64)> = columns.iter().map(|x| spread(x)).collect();
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
        let file = crate::system::files::open(path)?;
        let mut reader = csv::Reader::from_reader(file);
        let header = reader.headers().map_err(|e| wrong(e.to_string()))?.clone();
        let header: Vec<&str> = header.iter().map(str::trim).collect();
        if header.is_empty() {
            return Err(wrong("there is no header with names of columns".to_owned()));
        }
        let roles = Columns::of(&header, preparation).map_err(&wrong)?;
        let mut rows = Vec::new();
        let mut missing = 0;
        for (index, record) in reader.records().enumerate() {
            let record = record.map_err(|e| wrong(e.to_string()))?;
            match roles.all().find(|&column| is_missing(&record[column])) {
                None => rows.push((index + 1, record)),
                Some(_) if preparation.drop_missing => missing += 1,
                Some(column) => {
                    return Err(wrong(format!(
                        "row {}, column {}: the value is missing; --missing drop leaves out such rows",
                        index + 1,
                        header[column]
                    )));
                }
            }
        }
        if rows.is_empty() {
            let message =
                if missing > 0 { "a value is missing in every row" } else { "there are no rows" };
            return Err(wrong(message.to_owned()));
        }
        let numbers = |column: usize| -> Result<Vec<f64>> {
            rows.iter()
                .map(|(row, record)| {
                    crate::data::parse(&record[column], row - 1, header[column]).map_err(
                        |message| {
                            let hint = format!("--ignore {} leaves the column out", header[column]);
                            wrong(format!("{message}; {hint}"))
                        },
                    )
                })
                .collect()
        };
        let target = roles.target.map(|column| {
            let fields = rows.iter().map(|(_, record)| record[column].trim());
            Target::new(header[column], fields, || numbers(column))
        });
        let names: Vec<String> =
            roles.features.iter().map(|&column| header[column].to_owned()).collect();
        let requests = preparation.columns.of(&names)?;
        let feature = |(&column, request): (&usize, &ColumnRequest)| {
            let fields = rows.iter().map(|(row, record)| (row - 1, record[column].trim()));
            read_column(&fields.collect::<Vec<_>>(), header[column], request).map_err(&wrong)
        };
        let read: Vec<ReadColumn> =
            roles.features.iter().zip(&requests).map(feature).collect::<Result<_>>()?;
        let observations = Self {
            names,
            kinds: read.iter().map(|column| column.kind).collect(),
            levels: read.iter().map(|column| column.levels.clone()).collect(),
            columns: read.into_iter().map(|column| column.values).collect(),
            target: target.transpose()?,
            weights: roles.weights.map(numbers).transpose()?,
            left_out: (missing, 0),
        };
        observations.prepared(preparation).map_err(wrong)
    }

    fn prepared(mut self, preparation: &Preparation) -> Result<Self, String> {
        if let Some(most) = preparation.outliers {
            let numbers = (0..self.columns.len()).filter(|&s| self.is_number(s));
            let numbers: Vec<&[f64]> = numbers.map(|s| self.columns[s].as_slice()).collect();
            let inside = rows_within(&numbers, self.rows(), most);
            let rows: Vec<usize> = (0..inside.len()).filter(|&row| inside[row]).collect();
            if rows.is_empty() {
                return Err(format!("no row has all features within {most} standard deviations"));
            }
            self.left_out.1 = inside.len() - rows.len();
            self = self.select(&rows);
        }
        if preparation.standardize {
            let numbers: Vec<usize> =
                (0..self.columns.len()).filter(|&s| self.is_number(s)).collect();
            for column in numbers {
                let column = &mut self.columns[column];
                let (mean, sd) = spread(column);
                let sd = if sd > 0.0 { sd } else { 1.0 };
                column.iter_mut().for_each(|x| *x = (*x - mean) / sd);
            }
        }
        Ok(self)
    }

    /// True if a feature is a number, and has no levels.
    fn is_number(&self, feature: usize) -> bool {
        self.kinds[feature] == FeatureKind::Continuous
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Some of the rows.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &Vec<f64>| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let target = self.target.as_ref();
        Self {
            names: self.names.clone(),
            columns: self.columns.iter().map(pick).collect(),
            kinds: self.kinds.clone(),
            levels: self.levels.clone(),
            target: target.map(|target| Target { values: pick(&target.values), ..target.clone() }),
            weights: self.weights.as_ref().map(pick),
            left_out: self.left_out,
        }
    }

    /// The features of these names, in this order.
    ///
    /// # Errors
    /// [`Error::Argument`] for one that there is not.
    pub fn with_features(mut self, names: &[String]) -> Result<Self> {
        let known = || self.names.iter().map(String::as_str);
        let place = |name: &String| {
            self.names.iter().position(|known| known == name).ok_or_else(|| {
                let nearest = suggestion(name, known());
                let known = listed(known());
                Error::Argument(format!(
                    "the model takes a feature `{name}`: the data have {known}{nearest}"
                ))
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<usize>>>()?;
        self.columns = places.iter().map(|&place| self.columns[place].clone()).collect();
        self.kinds = places.iter().map(|&place| self.kinds[place]).collect();
        self.levels = places.iter().map(|&place| self.levels[place].clone()).collect();
        self.names = names.to_vec();
        Ok(self)
    }

    /// The rows of a random share to be held out, and the others, both in the order of the file.
    #[must_use]
    pub fn split(&self, share: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        rows.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let kept = ((1.0 - share) * rows.len() as f64).floor() as usize;
        let mut held_out = rows.split_off(kept);
        rows.sort_unstable();
        held_out.sort_unstable();
        (held_out, rows)
    }

    /// The features, with names and weights.
    ///
    /// # Errors
    /// As [`Dataset::from_features`] and what follows it.
    pub fn dataset(&self) -> Result<Dataset> {
        let shape = (self.columns.len(), self.rows());
        let array = Array2::from_shape_vec(shape, self.columns.concat())
            .map_err(|e| Error::Argument(e.to_string()))?;
        let mut data = Dataset::from_features(array)?
            .with_names(self.names.clone())?
            .with_kinds(self.kinds.clone())?;
        for (feature, levels) in self.levels.iter().enumerate() {
            if let Some(levels) = levels {
                data = data.with_levels(feature, levels.clone())?;
            }
        }
        Ok(match &self.weights {
            Some(weights) => data.with_weights(weights.clone())?,
            None => data,
        })
    }
}

impl Target {
    fn new<'a>(
        name: &str,
        fields: impl Iterator<Item = &'a str> + Clone,
        numbers: impl FnOnce() -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let name = name.to_owned();
        if fields.clone().any(|field| field.parse::<f64>().is_ok()) {
            return Ok(Self { name, values: numbers()?, labels: None });
        }
        let mut labels: Vec<&str> = fields.clone().collect();
        labels.sort_unstable();
        labels.dedup();
        let place = |field| labels.partition_point(|label| *label < field) as f64;
        let values = fields.map(place).collect();
        let labels = labels.into_iter().map(str::to_owned).collect();
        Ok(Self { name, values, labels: Some(labels) })
    }
}

/// Mean and standard deviation (of ddof 0) of the numbers among some values.
fn spread(values: &[f64]) -> (f64, f64) {
    let numbers = values.iter().filter(|x| !x.is_nan());
    let moments =
        numbers.fold(Moments::default(), |all, &value| all.merge(Moments::single(value, 1.0)));
    (moments.mean, moments.variance(0.0).unwrap_or(0.0).sqrt())
}

/// Roles of the columns.
struct Columns {
    features: Vec<usize>,
    target: Option<usize>,
    weights: Option<usize>,
}

impl Columns {
    fn of(header: &[&str], preparation: &Preparation) -> Result<Self, String> {
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

    /// Every column that is read.
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.features.iter().copied().chain(self.target).chain(self.weights)
    }
}
