//! Truths as arrays.

use fe_truth::Truth;
use pyo3::prelude::*;

use crate::arrays::{self, Doubles};

/// Values at some points, bounds on their errors, and how they were obtained.
pub(crate) type Answers<'py> = (Doubles<'py>, Doubles<'py>, Vec<&'static str>);

/// Truths in a shape.
pub(crate) fn answers<'py>(
    py: Python<'py>,
    truths: &[Truth],
    shape: &[usize],
) -> PyResult<Answers<'py>> {
    let values = truths.iter().map(|truth| truth.value).collect();
    let errors = truths.iter().map(|truth| truth.abs_error).collect();
    let methods = truths.iter().map(|truth| truth.method.name()).collect();
    Ok((arrays::shaped(py, values, shape)?, arrays::shaped(py, errors, shape)?, methods))
}
