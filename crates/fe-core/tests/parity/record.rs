//! The recorded results, as they are read from the fixtures.

use std::path::{Path, PathBuf};

use fe_core::Dataset;
use fe_core::model::FunctionModel;
use fe_core::numeric::quantiles::SortedSample;
use ndarray::Array2;
use serde_json::Value;

use super::models;

/// A dataset with what other libraries made of it.
pub struct Record {
    pub name: String,
    pub data: Dataset,
    pub model: FunctionModel<'static>,
    pub results: Vec<Value>,
}

/// One recorded result.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub record: &'a Record,
    pub result: &'a Value,
}

/// A folder of other records to compare with, if one is given.
pub fn other_folder() -> Option<PathBuf> {
    std::env::var_os("PARITY_FIXTURES").map(PathBuf::from)
}

/// All records, in the order of their names.
pub fn all() -> Vec<Record> {
    in_folder(&folder())
}

/// The records of pairs of features, in the order of their names.
pub fn of_pairs() -> Vec<Record> {
    in_folder(&folder().join("pairs"))
}

fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fe-core/tests/fixtures");
    other_folder().unwrap_or(own)
}

fn in_folder(folder: &Path) -> Vec<Record> {
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Record {
    let content: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let text = |key: &str| content[key].as_str().unwrap().to_owned();
    let data = read_csv(&file.with_file_name(text("csv")));
    Record {
        name: text("dataset"),
        model: models::model(&text("model"), data.dimension()),
        data,
        results: content["results"].as_array().unwrap().clone(),
    }
}

fn read_csv(file: &Path) -> Dataset {
    let text = std::fs::read_to_string(file).unwrap();
    let rows = text.lines().skip(1).filter(|line| !line.is_empty());
    let rows: Vec<Vec<f64>> = rows
        .map(|line| line.split(',').map(|field| field.trim().parse().unwrap()).collect())
        .collect();
    let array = Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j]);
    Dataset::from_rows(&array.view()).unwrap()
}

impl<'a> Case<'a> {
    pub fn text(&self, key: &str) -> &'a str {
        self.result[key].as_str().unwrap_or_default()
    }

    pub fn option_text(&self, key: &str) -> &str {
        self.result["options"][key].as_str().unwrap_or_default()
    }

    pub fn option_number(&self, key: &str) -> Option<f64> {
        self.result["options"][key].as_f64()
    }

    pub fn option_count(&self, key: &str) -> Option<usize> {
        self.option_number(key).map(|number| number as usize)
    }

    /// Whether the options are those of the library's defaults.
    pub fn is_default(&self) -> bool {
        self.result["options"]["default"].as_bool().unwrap_or_default()
    }

    /// The two features of a pair, counted from 0.
    pub fn pair(&self) -> [usize; 2] {
        [0, 1].map(|side: usize| self.result["features"][side].as_u64().unwrap() as usize - 1)
    }

    /// The feature, counted from 0.
    pub fn feature(&self) -> usize {
        self.result["feature"].as_u64().unwrap() as usize - 1
    }

    pub fn number(&self, key: &str) -> f64 {
        number(&self.result[key])
    }

    /// One of several numbers.
    pub fn number_in(&self, key: &str, index: usize) -> f64 {
        number(&self.result[key][index])
    }

    /// Numbers, NaN where the record has null.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        let values = self.result[key].as_array();
        values.unwrap_or_else(|| panic!("{self} has no {key}")).iter().map(number).collect()
    }

    /// Numbers in rows, one row after the other.
    pub fn table(&self, key: &str) -> Vec<f64> {
        let rows = self.result[key].as_array().unwrap_or_else(|| panic!("{self} has no {key}"));
        rows.iter().flat_map(|row| row.as_array().unwrap()).map(number).collect()
    }

    pub fn positions(&self) -> &'a [f64] {
        self.record.data.feature(self.feature())
    }

    pub fn sample(&self) -> SortedSample {
        SortedSample::new(self.positions().iter().map(|&x| (x, 1.0)))
    }

    /// Number of distinct values of the feature.
    pub fn distinct(&self) -> usize {
        self.sample().distinct(usize::MAX).unwrap().len()
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = if self.result["features"].is_null() { "feature" } else { "features" };
        let (name, feature) = (&self.record.name, &self.result[of]);
        let (peer, method, options) =
            (self.text("peer"), self.text("method"), &self.result["options"]);
        write!(f, "{name} x{feature} {peer} {method} {options}")
    }
}
