//! Arguments that several functions share.

use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::Raise;

/// A feature as Python users name it: counted from 1, as "x3", or by its name where features have names.
#[derive(Clone)]
pub(crate) enum Feature {
    /// A position, whatever features are called.
    Number(i64),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for Feature {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // What has an index is a whole number, also one of NumPy.
        match given.extract::<i64>() {
            Ok(number) => Ok(Self::Number(number)),
            Err(_) => Ok(Self::Text(given.str()?.to_string())),
        }
    }
}

impl Feature {
    /// The text that the harness reads.
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// Feature of a position, counted from 0.
    pub(crate) fn from_index(feature: usize) -> Self {
        Self::Number(feature as i64 + 1)
    }

    /// The same of a scenario, counted from 0.
    pub(crate) fn of_scenario(&self, scenario: &fe_truth::Scenario) -> PyResult<usize> {
        match self {
            Self::Number(_) => self.of(scenario.dimension()),
            Self::Text(text) => {
                fe_bench::data::features::feature_of(scenario, text).map_err(Raise::raise)
            }
        }
    }

    /// The same counted from 0, among so many.
    pub(crate) fn of(&self, dimension: usize) -> PyResult<usize> {
        fe_bench::data::features::feature(&self.text(), dimension).map_err(Raise::raise)
    }

    /// The same counted from 0, among features that have names.
    pub(crate) fn among(&self, names: &[String]) -> PyResult<usize> {
        match self {
            Self::Number(_) => self.of(names.len()),
            Self::Text(text) => {
                fe_bench::data::features::named_feature(text, names).map_err(Raise::raise)
            }
        }
    }
}

/// A word that the harness reads, such as the name of an effect.
pub(crate) fn word<T: std::str::FromStr<Err = fe_truth::Error>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error: fe_truth::Error| error.raise())
}

/// A whole number that is not negative, such as a seed.
pub(crate) fn whole(what: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given.extract::<u64>().map_err(|_| {
        let given = given.repr().map_or_else(|_| String::new(), |text| format!(" = {text}"));
        format!("{what}{given}: must be a whole number from 0 to {}", u64::MAX).raise()
    })
}

/// A whole number that counts something.
pub(crate) fn count(what: &str, given: &Bound<'_, PyAny>) -> PyResult<usize> {
    let number = whole(what, given)?;
    usize::try_from(number).map_err(|_| format!("{what} = {number}: is too large").raise())
}

/// A value that can be written as JSON, as the lists and dictionaries that Python makes of it.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| e.to_string().raise())?;
    py.import("json")?.call_method1("loads", (text,))
}
