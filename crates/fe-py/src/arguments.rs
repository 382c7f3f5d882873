//! Arguments that several functions share.

use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::Raise;

/// A feature as Python users name it: counted from 1, as 3 or "x3".
#[derive(Clone)]
pub(crate) struct Feature(String);

impl<'py> FromPyObject<'_, 'py> for Feature {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // What has an index is a whole number, also one of NumPy.
        match given.extract::<i64>() {
            Ok(number) => Ok(Self(number.to_string())),
            Err(_) => Ok(Self(given.str()?.to_string())),
        }
    }
}

impl Feature {
    /// The same counted from 0, among so many.
    pub(crate) fn of(&self, dimension: usize) -> PyResult<usize> {
        fe_bench::study::feature(&self.0, dimension).map_err(Raise::raise)
    }
}

/// A word that the harness reads, such as the name of an effect.
pub(crate) fn word<T: std::str::FromStr<Err = fe_truth::Error>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error: fe_truth::Error| error.raise())
}

/// What can be written as JSON, as the lists and dictionaries that Python makes of it.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| e.to_string().raise())?;
    py.import("json")?.call_method1("loads", (text,))
}
