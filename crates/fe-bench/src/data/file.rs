//! Data files: CSV with a header, one column per feature.

use std::io::Read;
use std::path::Path;

use fe_core::Dataset;
use ndarray::Array2;

use crate::error::{Error, Result, listed, suggestion};
use crate::system::files::{self, Hashed};
use crate::system::say::echo;

/// Roles of the columns of a data file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Roles<'a> {
    /// The number of features that there must be; any if none is given.
    pub dimension: Option<usize>,
    /// The column of the weights.
    pub weights: Option<&'a str>,
    /// A column that is no feature.
    pub target: Option<&'a str>,
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
    from_reader(files::open(path)?, path, roles)
}

/// Reads a dataset once, with the SHA-256 of its file.
///
/// # Errors
/// As [`read`].
pub fn read_hashed(path: &Path, roles: Roles<'_>) -> Result<(Dataset, String)> {
    let mut file = Hashed::new(files::open(path)?);
    let data = from_reader(&mut file, path, roles)?;
    Ok((data, file.hash()))
}

fn from_reader(file: impl Read, path: &Path, roles: Roles<'_>) -> Result<Dataset> {
    let wrong = |message: String| Error::content(path, message);
    let mut reader = csv::Reader::from_reader(file);
    let header: Vec<String> =
        reader.headers().map_err(|e| wrong(e.to_string()))?.iter().map(str::to_owned).collect();
    let place = |name: &str| column_of(&header, name).map_err(&wrong);
    let weights = roles.weights.map(place).transpose()?;
    let target = roles.target.map(place).transpose()?;
    let is_left_out = |j: usize| {
        [weights, target].contains(&Some(j)) || (header[j] == "y" && j + 1 == header.len())
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
    let mut values = vec![Vec::new(); features.len()];
    let mut row_weights = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        let number = |column: usize| parse(&record[column], row, &header[column]).map_err(&wrong);
        for (values, &column) in values.iter_mut().zip(&features) {
            values.push(number(column)?);
        }
        if let Some(column) = weights {
            row_weights.push(number(column)?);
        }
    }
    let rows = values[0].len();
    let names = features.iter().map(|&j| header[j].clone()).collect();
    let array = Array2::from_shape_vec((features.len(), rows), values.concat())
        .map_err(|e| wrong(e.to_string()))?;
    let in_file = |error: fe_core::Error| wrong(error.to_string());
    let data = Dataset::from_features(array).and_then(|d| d.with_names(names)).map_err(in_file)?;
    if weights.is_some() { data.with_weights(row_weights).map_err(in_file) } else { Ok(data) }
}

pub(crate) fn column_of<S: AsRef<str>>(header: &[S], name: &str) -> Result<usize, String> {
    header.iter().position(|column| column.as_ref() == name).ok_or_else(|| {
        let names = || header.iter().map(AsRef::as_ref);
        let (name, nearest) = (echo(name), suggestion(name, names()));
        format!("no column `{name}`: there are {}{nearest}", listed(names()))
    })
}

pub(crate) fn parse(field: &str, row: usize, column: &str) -> Result<f64, String> {
    match field.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let (row, column, field) = (row + 1, echo(column), echo(field));
            Err(format!("row {row}, column {column}: `{field}` is not a finite number"))
        }
    }
}
