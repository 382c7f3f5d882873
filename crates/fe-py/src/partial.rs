//! Effects of data that come in parts.

use fe_core::estimator;
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde::{Deserialize, Serialize};

use crate::effect::{Effect, hash, read, write};
use crate::errors::Raise;

/// The effect of one feature as far as some rows tell it: it merges with those of other rows, and is finished to the
/// effect of all of them.
#[pyclass(frozen, module = "feature_effects_bench._native")]
pub(crate) struct PartialEffect {
    inner: estimator::PartialEffect,
}

/// A partial effect as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The contents of a file, and their form.
    format: String,
    partial: estimator::PartialEffect,
}

/// The form in which partial effects are written.
const FORMAT: &str = "feature-effects-bench partial effect 1";

impl PartialEffect {
    pub(crate) fn new(inner: estimator::PartialEffect) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl PartialEffect {
    /// A partial effect as it was written by `to_json`, or for pickle.
    #[new]
    fn from_text(text: &str) -> PyResult<Self> {
        let Written { format, partial } = read("a partial effect", text)?;
        if format != FORMAT {
            return Err(format!("the form is `{format}`; known is `{FORMAT}`").raise());
        }
        Ok(Self::new(partial))
    }

    /// The whole of it as JSON, from which `from_json` makes it again.
    fn to_json(&self) -> PyResult<String> {
        write(&Written { format: FORMAT.to_owned(), partial: self.inner.clone() })
    }

    /// The partial effect that `to_json` wrote.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Self::from_text(text)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok((slf.get_type(), (slf.get().to_json()?,)).into_pyobject(slf.py())?.into_any())
    }

    /// True if both are the same to the bit.
    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __hash__(&self) -> PyResult<u64> {
        Ok(hash(&self.to_json()?))
    }

    fn __repr__(&self) -> String {
        let (estimator, name) = (self.inner.estimator(), self.inner.name());
        format!("<{estimator} of {name} in {} rows>", self.inner.rows())
    }

    /// Both together, in whichever order; refused where rows would count twice, or the effects are not the same.
    fn merge(&self, other: &Self) -> PyResult<Self> {
        self.inner.clone().merge(other.inner.clone()).map(Self::new).map_err(Raise::raise)
    }

    /// The effect of all rows on an output of the model, counted from 1, which is needed where there are several.
    /// Refused where rows are missing.
    #[pyo3(signature = (output = None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        output: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let effects = self.inner.finish().map_err(Raise::raise)?;
        let effects = effects.into_iter().map(|effect| Effect::new(py, effect, None));
        let effects = effects.collect::<PyResult<Vec<Effect>>>()?;
        py.import("feature_effects_bench._api")?.call_method1("_output", (effects, output))
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.inner.rows()
    }
}
