//! Data files: CSV with a header, one column per feature.

use std::io::Read;
use std::path::Path;

use fe_core::Dataset;
use fe_core::data::FeatureKind;
use ndarray::Array2;

use super::columns::{ColumnRequest, ColumnRequests, ReadColumn, parse, read_column};
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
    /// Further columns that are no features.
    pub ignored: &'a [String],
    /// Kinds and levels that are asked for.
    pub columns: Option<&'a ColumnRequests>,
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
    let requests = match roles.columns {
        Some(requests) => requests.of(&names)?,
        None => vec![ColumnRequest::number(); names.len()],
    };
    let mut columns: Vec<Fields> = requests.iter().map(Fields::new).collect();
    let mut row_weights = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|e| wrong(e.to_string()))?;
        for (fields, &column) in columns.iter_mut().zip(&features) {
            fields.push(&record[column], row, &header[column]).map_err(&wrong)?;
        }
        if let Some(column) = weights {
            row_weights.push(parse(&record[column], row, &header[column]).map_err(&wrong)?);
        }
    }
    let mut read = Vec::with_capacity(columns.len());
    for ((fields, name), request) in columns.into_iter().zip(&names).zip(&requests) {
        read.push(fields.read(name, request).map_err(&wrong)?);
    }
    let values: Vec<f64> = read.iter().flat_map(|column| column.values.iter().copied()).collect();
    let rows = read[0].values.len();
    let array =
        Array2::from_shape_vec((read.len(), rows), values).map_err(|e| wrong(e.to_string()))?;
    let in_file = |error: fe_core::Error| wrong(error.to_string());
    let mut data =
        Dataset::from_features(array).and_then(|d| d.with_names(names)).map_err(in_file)?;
    data = data.with_kinds(read.iter().map(|column| column.kind).collect()).map_err(in_file)?;
    for (feature, column) in read.into_iter().enumerate() {
        if let Some(levels) = column.levels {
            data = data.with_levels(feature, levels).map_err(in_file)?;
        }
    }
    if weights.is_some() { data.with_weights(row_weights).map_err(in_file) } else { Ok(data) }
}

/// The fields of a column while they are read: numbers, or words.
enum Fields {
    /// Numbers; words if the first field is none and nothing else is asked for.
    Numbers {
        values: Vec<f64>,
        may_be_words: bool,
    },
    Words(Vec<String>),
}

impl Fields {
    fn new(request: &ColumnRequest) -> Self {
        let is_open = *request == ColumnRequest::default();
        if is_open || request.is_number() {
            Self::Numbers { values: Vec::new(), may_be_words: is_open }
        } else {
            Self::Words(Vec::new())
        }
    }

    fn push(&mut self, field: &str, row: usize, name: &str) -> Result<(), String> {
        match self {
            Self::Numbers { values, may_be_words } => match parse(field, row, name) {
                Ok(value) => values.push(value),
                Err(_) if *may_be_words && row == 0 && field.trim().parse::<f64>().is_err() => {
                    *self = Self::Words(vec![field.trim().to_owned()]);
                }
                Err(message) => return Err(message),
            },
            Self::Words(words) => words.push(field.trim().to_owned()),
        }
        Ok(())
    }

    fn read(self, name: &str, request: &ColumnRequest) -> Result<ReadColumn, String> {
        match self {
            Self::Numbers { values, .. } => {
                Ok(ReadColumn { values, kind: FeatureKind::Continuous, levels: None })
            }
            Self::Words(words) => {
                let fields: Vec<(usize, &str)> =
                    words.iter().map(String::as_str).enumerate().collect();
                read_column(&fields, name, request)
            }
        }
    }
}

pub(crate) fn column_of<S: AsRef<str>>(header: &[S], name: &str) -> Result<usize, String> {
    header.iter().position(|column| column.as_ref() == name).ok_or_else(|| {
        let names = || header.iter().map(AsRef::as_ref);
        let (name, nearest) = (echo(name), suggestion(name, names()));
        format!("no column `{name}`: there are {}{nearest}", listed(names()))
    })
}
