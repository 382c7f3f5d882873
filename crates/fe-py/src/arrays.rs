//! Arrays of Python, taken in and handed out.
//!
//! What comes in is copied once: Python code may write to an array while Rust computes without the
//! interpreter's lock. While it holds that lock it reads rows of data where they were given. What goes
//! out is moved, not copied.

use ndarray::{Array2, ArrayD, Ix2, IxDyn};
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::Raise;

/// An array of doubles.
pub(crate) type Doubles<'py> = Bound<'py, PyArrayDyn<f64>>;

/// Anything that NumPy makes an array of real numbers of, as an array of doubles.
pub(crate) fn doubles<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Doubles<'py>> {
    refuse_masked(what, given)?;
    if let Ok(array) = given.cast::<PyArrayDyn<f64>>() {
        return Ok(array.clone());
    }
    // NumPy would make NaN of it.
    if given.is_none() {
        return Err(format!("{what}: must be real numbers, not None").raise());
    }
    let array = given.py().import("numpy")?.call_method1("asarray", (given,))?;
    let kind = array.getattr("dtype")?.getattr("kind")?.extract::<char>()?;
    if !"biufO".contains(kind) {
        let given = array.getattr("dtype")?.str()?;
        return Err(format!("{what}: must be real numbers, not {given}").raise());
    }
    let converted = array.call_method1("astype", ("float64",)).map_err(|error| {
        let raised = format!("{what}: must be real numbers: {error}").raise();
        raised.set_cause(given.py(), Some(error));
        raised
    })?;
    Ok(converted.cast_into::<PyArrayDyn<f64>>()?)
}

/// A masked array is an array to NumPy: what its mask hides would be taken for a value.
fn refuse_masked(what: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = given.py();
    if given.get_type().is(py.get_type::<numpy::PyUntypedArray>()) {
        return Ok(());
    }
    let masked = py.import("numpy.ma")?;
    if !masked.call_method1("isMaskedArray", (given,))?.is_truthy()? {
        return Ok(());
    }
    let mask = masked.call_method1("getmaskarray", (given,))?;
    let count: usize = mask.call_method0("sum")?.extract()?;
    if count == 0 {
        return Ok(());
    }
    let values = if count == 1 { "1 value is" } else { &format!("{count} values are") };
    Err(format!(
        "{what}: {values} masked, and there is no estimate from what is missing; leave the rows out, or fill them"
    )
    .raise())
}

/// Anything that is an array of real numbers, as an array of doubles; what is masked is refused.
#[pyfunction]
pub(crate) fn numbers<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Doubles<'py>> {
    doubles(what, given)
}

/// A matrix with a row for each row of data, transposed: one column after the other.
pub(crate) fn columns(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Array2<f64>> {
    let array = doubles(what, given)?;
    let shape = array.shape().to_vec();
    let readable = array.try_readonly()?;
    let view = readable.as_array().into_dimensionality::<Ix2>().map_err(|_| {
        format!(
            "{what}: must have two dimensions, rows and features; its shape is {}",
            tuple(&shape)
        )
        .raise()
    })?;
    if let Some(rows) = view.as_slice() {
        let (count, dimension) = view.dim();
        let columns = transposed(count, dimension, |row| &rows[row * dimension..][..dimension]);
        return Array2::from_shape_vec((dimension, count), columns)
            .map_err(|e| e.to_string().raise());
    }
    Ok(view.reversed_axes().as_standard_layout().into_owned())
}

/// Lines that are transposed together: those that are read and those that are written are in the nearest cache.
const TILE: usize = 32;

/// The values of some lines of the same length, one place of all lines after the other.
pub(crate) fn transposed<'l>(
    lines: usize,
    length: usize,
    line: impl Fn(usize) -> &'l [f64],
) -> Vec<f64> {
    let mut turned = vec![0.0; lines * length];
    for first in (0..lines).step_by(TILE) {
        let tile: Vec<&[f64]> = (first..lines.min(first + TILE)).map(&line).collect();
        for from in (0..length).step_by(TILE) {
            for at in from..length.min(from + TILE) {
                let places = &mut turned[at * lines + first..][..tile.len()];
                places.iter_mut().zip(&tile).for_each(|(place, line)| *place = line[at]);
            }
        }
    }
    turned
}

/// A sequence of numbers.
pub(crate) fn vector(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let array = doubles(what, given)?;
    if array.ndim() != 1 {
        let shape = tuple(array.shape());
        return Err(format!("{what}: must have one dimension; its shape is {shape}").raise());
    }
    Ok(array.try_readonly()?.as_array().iter().copied().collect())
}

/// Points of any shape, row by row, and that shape.
pub(crate) fn points(what: &str, given: &Bound<'_, PyAny>) -> PyResult<(Vec<f64>, Vec<usize>)> {
    let array = doubles(what, given)?;
    let values = array.try_readonly()?.as_array().iter().copied().collect();
    Ok((values, array.shape().to_vec()))
}

/// Values in the shape of the points that they belong to.
pub(crate) fn shaped<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    shape: &[usize],
) -> PyResult<Doubles<'py>> {
    let array = ArrayD::from_shape_vec(IxDyn(shape), values).map_err(|e| e.to_string().raise())?;
    Ok(array.into_pyarray(py))
}

/// A shape as Python writes it.
pub(crate) fn tuple(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_changes_its_places() {
        for (lines, columns) in [(1, 1), (1, 70), (70, 1), (33, 65), (100, 20), (32, 32)] {
            let values: Vec<f64> = (0..lines * columns).map(|value| value as f64).collect();
            let turned = transposed(lines, columns, |line| &values[line * columns..][..columns]);
            for line in 0..lines {
                for column in 0..columns {
                    assert_eq!(turned[column * lines + line], values[line * columns + column]);
                }
            }
            assert_eq!(transposed(columns, lines, |at| &turned[at * lines..][..lines]), values);
        }
    }
}
