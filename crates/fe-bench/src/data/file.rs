//! Data files: tables with a header, one column per feature.

use std::path::Path;

use clap::ValueEnum;
use fe_core::Dataset;
use ndarray::Array2;

use super::columns::{Collecting, ColumnRequest, ColumnRequests, ReadColumn, Use};
use super::table::{Field, Table, bytes};
use crate::error::{Error, Result, listed, suggestion};
use crate::system::files::Hashed;
use crate::system::say::{echo, say};

/// Policy for missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Missing {
    /// Are refused
    #[default]
    #[value(alias = "error")]
    Refuse,
    /// The rows that have some are left out
    Drop,
    /// Are handed to models that take them; an effect leaves out the rows without its own feature
    Keep,
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

/// Roles of the columns of a data file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Roles<'a> {
    /// The number of features that there must be; any if none is given.
    pub dimension: Option<usize>,
    /// The column of the weights.
    pub weights: Option<&'a str>,
    /// A column that is no feature.
    pub target: Option<&'a str>,
    /// Further columns that are no features.
    pub ignored: &'a [String],
    /// Kinds and levels that are asked for.
    pub columns: Option<&'a ColumnRequests>,
    /// The policy for missing values.
    pub missing: Missing,
}

/// Reads a dataset.
///
/// A column `y` after the features, as `sample` writes it, is left out; so are those of the target
/// and of the weights, if they are named.
///
/// # Errors
/// A file that cannot be read, a column count that does not fit, or a field that is not a finite
/// number, named by row and column.
pub fn read(path: &Path, roles: Roles<'_>) -> Result<Dataset> {
    from_table(Table::open(path)?, path, roles)
}

/// Reads a dataset once, with the SHA-256 of its file.
///
/// # Errors
/// As [`read`].
pub fn read_hashed(path: &Path, roles: Roles<'_>) -> Result<(Dataset, String)> {
    let mut file = Hashed::new(bytes(path)?);
    let data = from_table(Table::of(&mut file, path)?, path, roles)?;
    // A table may be read by its path, or not to its end.
    std::io::copy(&mut file, &mut std::io::sink()).map_err(Error::file(path))?;
    Ok((data, file.hash()))
}

fn from_table(mut table: Table<'_>, path: &Path, roles: Roles<'_>) -> Result<Dataset> {
    let wrong = |message: String| Error::content(path, message);
    let header = table.names().to_vec();
    let place = |name: &str| column_of(&header, name).map_err(&wrong);
    let weights = roles.weights.map(place).transpose()?;
    let target = roles.target.map(place).transpose()?;
    let ignored = roles.ignored.iter().map(|name| place(name)).collect::<Result<Vec<usize>>>()?;
    let is_left_out = |j: usize| {
        [weights, target].contains(&Some(j))
            || ignored.contains(&j)
            || (header[j] == "y" && j + 1 == header.len())
    };
    let features: Vec<usize> = (0..header.len()).filter(|&j| !is_left_out(j)).collect();
    if let Some(dimension) = roles.dimension
        && features.len() != dimension
    {
        return Err(wrong(format!(
            "{} feature columns ({}), but the scenario has {dimension} features",
            features.len(),
            listed(features.iter().map(|&j| header[j].as_str())),
        )));
    }
    if features.is_empty() {
        return Err(wrong("there is no column of a feature".to_owned()));
    }
    let names: Vec<String> = features.iter().map(|&j| header[j].clone()).collect();
    // The words of a scenario's file are asked for by the scenario.
    let (requests, used) = match roles.columns {
        Some(requests) => (requests.of(&names)?, Use::Feature),
        None => (vec![ColumnRequest::default(); names.len()], Use::Number),
    };
    let wanted = Wanted {
        features: &features,
        requests: &requests,
        used,
        target: None,
        weights,
        missing: roles.missing,
    };
    let read = ReadColumns::of(&mut table, path, &wanted)?;
    read.say_left_out();
    let weights = read.weights.clone();
    dataset(read.features, names, weights).map_err(|error| wrong(error.to_string()))
}

/// Features, target and weights among the columns of a table.
pub(super) struct Wanted<'a> {
    pub(super) features: &'a [usize],
    /// One for each feature.
    pub(super) requests: &'a [ColumnRequest],
    pub(super) used: Use,
    pub(super) target: Option<usize>,
    pub(super) weights: Option<usize>,
    pub(super) missing: Missing,
}

/// The wanted columns of all rows but those that are left out.
pub(super) struct ReadColumns {
    pub(super) features: Vec<ReadColumn>,
    pub(super) target: Option<Target>,
    pub(super) weights: Option<Vec<f64>>,
    /// Rows left out because a value is missing.
    pub(super) left_out: usize,
}

impl ReadColumns {
    /// Reads a table to its end.
    ///
    /// # Errors
    /// A missing value or a field that is not what it must be, by row and column; no rows.
    pub(super) fn of(table: &mut Table<'_>, path: &Path, wanted: &Wanted<'_>) -> Result<Self> {
        let wrong = |message: String| Error::content(path, message);
        let header = table.names().to_vec();
        let needed: Vec<usize> = wanted.target.into_iter().chain(wanted.weights).collect();
        table.keep(&[wanted.features, &needed].concat())?;
        let feature = |(&place, request): (&usize, &ColumnRequest)| {
            Collecting::new(&header[place], request, wanted.used)
        };
        let mut features: Vec<Collecting<'_>> =
            wanted.features.iter().zip(wanted.requests).map(feature).collect();
        let open = ColumnRequest::default();
        let other = |place: usize, used| Collecting::new(&header[place], &open, used);
        let mut target = wanted.target.map(|place| other(place, Use::Target));
        let mut weights = wanted.weights.map(|place| other(place, Use::Number));
        let (mut rows, mut left_out) = (0, 0);
        while table.advance()? {
            let row = rows + left_out;
            let is_missing = |&&place: &&usize| table.field(place) == Field::Missing;
            let among_features = || wanted.features.iter().find(is_missing);
            let gap = match wanted.missing {
                Missing::Keep => needed.iter().find(is_missing),
                _ => among_features().or_else(|| needed.iter().find(is_missing)),
            };
            match gap {
                Some(_) if wanted.missing != Missing::Refuse => {
                    left_out += 1;
                    continue;
                }
                Some(&place) => return Err(wrong(wanted.refused(row, &header[place]))),
                None => rows += 1,
            }
            for (column, &place) in features.iter_mut().zip(wanted.features) {
                column.push(&table.field(place), row).map_err(&wrong)?;
            }
            for (column, place) in [(&mut target, wanted.target), (&mut weights, wanted.weights)] {
                if let (Some(column), Some(place)) = (column, place) {
                    column.push(&table.field(place), row).map_err(&wrong)?;
                }
            }
        }
        if rows == 0 {
            let message =
                if left_out > 0 { "a value is missing in every row" } else { "there are no rows" };
            return Err(wrong(message.to_owned()));
        }
        let target = target.zip(wanted.target).map(|(column, place)| {
            let (values, labels) = column.finish_target().map_err(&wrong)?;
            Ok::<_, Error>(Target {
                name: header[place].clone(),
                values: values.into_vec(),
                labels,
            })
        });
        let weights = weights
            .map(|column| Ok::<_, Error>(column.finish().map_err(&wrong)?.values.into_vec()));
        Ok(Self {
            features: features
                .into_iter()
                .map(|column| column.finish().map_err(&wrong))
                .collect::<Result<_>>()?,
            target: target.transpose()?,
            weights: weights.transpose()?,
            left_out,
        })
    }

    /// Says on standard error how many rows were left out, if some were.
    fn say_left_out(&self) {
        if self.left_out > 0 {
            say!("left out: {} rows with missing values", self.left_out);
        }
    }
}

impl Wanted<'_> {
    /// Refusal of a missing value.
    fn refused(&self, row: usize, column: &str) -> String {
        let (row, column) = (row + 1, echo(column));
        let message = format!("row {row}, column {column}: the value is missing");
        match self.used {
            Use::Feature => format!(
                "{message}; --missing drop leaves out such rows, --missing keep hands them to models that take them"
            ),
            _ => message,
        }
    }
}

/// A dataset of columns, which are let go of while it is made.
///
/// # Errors
/// Two columns of the same name, or weights that are none.
pub(super) fn dataset(
    columns: Vec<ReadColumn>,
    names: Vec<String>,
    weights: Option<Vec<f64>>,
) -> Result<Dataset, fe_core::Error> {
    let kinds = columns.iter().map(|column| column.kind).collect();
    let rows = columns.first().map_or(0, |column| column.values.len());
    let mut array = Array2::zeros((columns.len(), rows));
    let mut levels = Vec::with_capacity(columns.len());
    for (mut to, column) in array.rows_mut().into_iter().zip(columns) {
        levels.push(column.levels);
        column.values.into_slice(to.as_slice_mut().unwrap_or_default());
    }
    let mut data = Dataset::from_incomplete(array)?.with_names(names)?.with_kinds(kinds)?;
    for (feature, levels) in levels.into_iter().enumerate() {
        if let Some(levels) = levels {
            data = data.with_levels(feature, levels)?;
        }
    }
    match weights {
        Some(weights) => data.with_weights(weights),
        None => Ok(data),
    }
}

pub(crate) fn column_of<S: AsRef<str>>(header: &[S], name: &str) -> Result<usize, String> {
    header.iter().position(|column| column.as_ref() == name).ok_or_else(|| {
        let names = || header.iter().map(AsRef::as_ref);
        let (name, nearest) = (echo(name), suggestion(name, names()));
        match header {
            [only] => format!(
                "no column `{name}`: there is only {}; columns are separated by commas, semicolons or tabs",
                echo(only.as_ref())
            ),
            _ => format!("no column `{name}`: there are {}{nearest}", listed(names())),
        }
    })
}
