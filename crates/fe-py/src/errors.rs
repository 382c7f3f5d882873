//! Errors as Python sees them: the messages of the harness, as subclasses of `ValueError`.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(
    feature_effects_bench,
    FeatureEffectsError,
    PyValueError,
    "Something that was given cannot be used; the message says what is allowed."
);

create_exception!(
    feature_effects_bench,
    ModelError,
    FeatureEffectsError,
    "The model failed, or answered wrongly; what it raised is the cause of this error."
);

/// An error of the harness.
pub(crate) trait Raise {
    /// The same as a Python exception.
    fn raise(self) -> PyErr;
}

impl Raise for String {
    fn raise(self) -> PyErr {
        FeatureEffectsError::new_err(fe_bench::error::plain_types(&self))
    }
}

impl Raise for &str {
    fn raise(self) -> PyErr {
        self.to_owned().raise()
    }
}

impl Raise for fe_truth::Error {
    fn raise(self) -> PyErr {
        self.to_string().raise()
    }
}

impl Raise for fe_core::Error {
    fn raise(self) -> PyErr {
        match self {
            fe_core::Error::Model(error) => ModelError::new_err(error.to_string()),
            error => error.to_string().raise(),
        }
    }
}

impl Raise for fe_bench::Error {
    fn raise(self) -> PyErr {
        match self {
            fe_bench::Error::Core(error) => error.raise(),
            error => error.to_string().raise(),
        }
    }
}

/// The exception of a model, as the cause of a [`ModelError`]; what is no `Exception`, such as
/// `KeyboardInterrupt`, stays what it is.
pub(crate) fn model_failed(py: Python<'_>, cause: PyErr) -> PyErr {
    if !cause.is_instance_of::<PyException>(py) || cause.is_instance_of::<ModelError>(py) {
        return cause;
    }
    let error = ModelError::new_err(format!("the model failed: {cause}"));
    error.set_cause(py, Some(cause));
    error
}
