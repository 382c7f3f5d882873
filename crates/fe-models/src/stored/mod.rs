//! Models that other programs fitted and wrote to a file.
//!
//! A format is one file here and a line in [`Format::of`].

mod external;
mod lightgbm;
mod onnx;
mod operators;
mod protobuf;
mod tree_model;
mod trees;
mod ubjson;
mod xgboost;

use std::path::Path;

use thiserror::Error;

use crate::fitted::FittedModel;

/// Format of a file of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ONNX: networks and, of `ai.onnx.ml`, linear models and tree ensembles.
    Onnx,
    /// JSON as XGBoost's `save_model` writes it.
    XgboostJson,
    /// Universal Binary JSON as XGBoost's `save_model` writes it.
    XgboostUbj,
    /// Text as LightGBM's `save_model` writes it.
    LightgbmText,
}

impl Format {
    /// By the ending of a file: `.onnx`, `.json`, `.ubj` or `.txt`; none for another ending.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "onnx" => Some(Self::Onnx),
            "json" => Some(Self::XgboostJson),
            "ubj" => Some(Self::XgboostUbj),
            "txt" => Some(Self::LightgbmText),
            _ => None,
        }
    }
}

/// Reason why a stored model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoredError {
    /// Bytes that are not what they should be.
    #[error("not {format}: {reason}")]
    Malformed {
        /// The format that they should have.
        format: &'static str,
        /// The reason why they have not.
        reason: String,
    },
    /// A model that makes use of something that is not read here.
    #[error("{what} is not supported; {supported}")]
    Unsupported {
        /// The feature of the format that it uses.
        what: String,
        /// The features that are supported instead.
        supported: String,
    },
    /// Weights in a file beside the model that cannot be had.
    #[error("weights in `{file}`: {reason}")]
    Weights {
        /// The file, as the model calls it.
        file: String,
        /// The reason.
        reason: String,
    },
}

impl StoredError {
    fn unsupported(what: impl Into<String>, supported: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), supported: supported.into() }
    }
}

/// A model that was read, and what it calls its features.
#[derive(Debug)]
pub struct StoredModel {
    /// The model.
    pub model: Box<dyn FittedModel>,
    /// Names of the features, where the file has any.
    pub features: Option<Vec<String>>,
    /// For each feature the words that its codes 0, 1, … stand for, where the file has any.
    pub levels: Vec<Option<Vec<String>>>,
}

/// Most features of a model: a row of them takes 128 MiB.
const MOST_FEATURES: usize = 1 << 24;

/// Reads a model that is whole in itself; see [`read_beside`] for one with weights in other files.
/// Where the file does not say how many features it has, it takes `columns` of them.
///
/// ```
/// use fe_models::stored::{Format, read};
/// let error = read(Format::XgboostJson, b"{}", 2).unwrap_err();
/// assert!(error.to_string().starts_with("not a model of XGBoost"));
/// ```
///
/// # Errors
/// [`StoredError`].
pub fn read(format: Format, bytes: &[u8], columns: usize) -> Result<StoredModel, StoredError> {
    read_with(format, bytes, columns, None)
}

/// The same of a file in some folder, where an ONNX file may have its weights in files of their own.
///
/// ```
/// use fe_models::stored::{Format, read_beside};
/// let error = read_beside(Format::Onnx, b"", 2, std::path::Path::new(".")).unwrap_err();
/// assert!(error.to_string().contains("there is no graph"));
/// ```
///
/// # Errors
/// [`StoredError`]; weights must be in a regular file within the folder, and of the size that the model says.
pub fn read_beside(
    format: Format,
    bytes: &[u8],
    columns: usize,
    folder: &Path,
) -> Result<StoredModel, StoredError> {
    read_with(format, bytes, columns, Some(folder))
}

fn read_with(
    format: Format,
    bytes: &[u8],
    columns: usize,
    folder: Option<&Path>,
) -> Result<StoredModel, StoredError> {
    let read = match format {
        Format::Onnx => onnx::read(bytes, columns, folder),
        Format::XgboostJson => xgboost::read(bytes),
        Format::XgboostUbj => xgboost::read_ubj(bytes),
        Format::LightgbmText => lightgbm::read(bytes),
    }?;
    let features = read.model.dimension();
    if features > MOST_FEATURES {
        let what = format!("a model of {features} features");
        return Err(StoredError::unsupported(what, format!("up to {MOST_FEATURES} are")));
    }
    Ok(read)
}

/// Outputs as they are called: a single one `y`, several by their place from 0 as classes are.
fn classes(outputs: usize) -> Vec<String> {
    if outputs == 1 { vec!["y".to_owned()] } else { (0..outputs).map(|q| q.to_string()).collect() }
}
