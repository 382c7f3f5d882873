//! A Python function, and its derivatives where they are known.

use fe_core::Dataset;
use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{self, Doubles};
use crate::errors::{ModelError as PyModelError, Raise, model_failed};
use crate::questions::{Question, QuestionKind};

/// A Python function, and its derivatives where they are known.
pub(crate) struct Callable {
    value: Py<PyAny>,
    partials: Option<Partials>,
    /// The rows of the data, one after the other.
    rows: Vec<f64>,
    dimension: usize,
    outputs: usize,
    /// Most rows of a batch.
    batch: usize,
    /// The array that the model was asked with last, to be written to again if nobody else holds it.
    room: Option<Py<PyArray2<f64>>>,
}

/// Source of derivatives.
struct Partials {
    /// None where those at the rows of the data were given.
    function: Option<Py<PyAny>>,
    /// Those that are known of each row of the data, all outputs and along all features; empty where none are kept.
    known: Vec<f64>,
    is_known: Vec<bool>,
}

/// Two rows tell an array for each row from one for each output.
const FIRST: usize = 2;

impl Callable {
    /// A model from a Python function, asked at the first rows for the number of its outputs.
    pub(crate) fn new(value: &Bound<'_, PyAny>, data: &Dataset, batch: usize) -> PyResult<Self> {
        let mut new = Self {
            value: value.clone().unbind(),
            partials: None,
            rows: row_by_row(data),
            dimension: data.dimension(),
            outputs: 1,
            batch,
            room: None,
        };
        let count = data.len().min(FIRST);
        let answer = new.call(value, count, |new, room| {
            room.copy_from_slice(&new.rows[..room.len()]);
        })?;
        new.outputs = match *answer.shape() {
            [n, outputs] if n == count && outputs > 0 => outputs,
            _ if answer.len() == count => 1,
            _ => return Err(wrong_shape("", &answer, &[count], "(n,) or (n, outputs)")),
        };
        Ok(new)
    }

    /// The same with a Jacobian: a function, or an array of its values at the rows of the data. Those of a function
    /// are kept where several features will be asked about.
    pub(crate) fn with_jacobian(
        mut self,
        jacobian: &Bound<'_, PyAny>,
        features: usize,
    ) -> PyResult<Self> {
        let count = self.rows.len() / self.dimension;
        let mut partials = Partials { function: None, known: Vec::new(), is_known: Vec::new() };
        if jacobian.is_callable() {
            partials.function = Some(jacobian.clone().unbind());
            if features > 1 {
                partials.known = vec![0.0; self.rows.len() * self.outputs];
                partials.is_known = vec![false; count];
            }
        } else {
            let given = arrays::doubles("jacobian", jacobian)?;
            let needed = self.shape_of_partials(count);
            if given.shape() != needed {
                let (got, needed) = (arrays::tuple(given.shape()), arrays::tuple(&needed));
                return Err(format!(
                    "jacobian: must be a function of an array of rows, or an array of shape {needed}; this one has \
                     the shape {got}"
                )
                .raise());
            }
            partials.known = given.try_readonly()?.as_array().iter().copied().collect();
            partials.is_known = vec![true; count];
        }
        self.partials = Some(partials);
        Ok(self)
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    pub(crate) fn has_partial(&self) -> bool {
        self.partials.is_some()
    }

    /// The answers to questions of the same kind: all rows of the first output, then all of the next.
    pub(crate) fn ask(&mut self, py: Python<'_>, questions: &[Question]) -> PyResult<Vec<f64>> {
        match questions.first().map(Question::kind) {
            None => Ok(Vec::new()),
            Some(QuestionKind::Value) => {
                let value = self.value.clone_ref(py).into_bound(py);
                let by_row = self.by_row(&value, questions, |own, answer, rows| {
                    own.check_values(answer, rows)
                })?;
                Ok(output_by_output(by_row, self.outputs))
            }
            Some(QuestionKind::Derivative(feature)) => {
                let by_row = self.derivatives(py, questions, feature)?;
                Ok(output_by_output(by_row, self.outputs))
            }
        }
    }

    /// The predictions at rows that are given one after the other: for each row those of all outputs.
    pub(crate) fn values_at(&mut self, py: Python<'_>, rows: &[f64]) -> PyResult<Vec<f64>> {
        let value = self.value.clone_ref(py).into_bound(py);
        let most = self.batch.saturating_mul(self.dimension);
        let mut values = Vec::with_capacity(rows.len() / self.dimension * self.outputs);
        for batch in rows.chunks(most) {
            let count = batch.len() / self.dimension;
            let answer = self.call(&value, count, |_, room| room.copy_from_slice(batch))?;
            self.check_values(&answer, count)?;
            values.extend(answer.try_readonly()?.as_array().iter());
        }
        Ok(values)
    }

    /// The partial derivatives at some rows of the data: for each row and output those along all features. Nothing
    /// where there is no Jacobian.
    pub(crate) fn jacobian_of(&mut self, py: Python<'_>, rows: &[usize]) -> PyResult<Vec<f64>> {
        let Some(partials) = &self.partials else { return Ok(Vec::new()) };
        let Some(function) = &partials.function else {
            let size = self.dimension * self.outputs;
            let of_row = |&row: &usize| &partials.known[row * size..][..size];
            return Ok(rows.iter().flat_map(of_row).copied().collect());
        };
        let function = function.clone_ref(py).into_bound(py);
        let answer = self.call(&function, rows.len(), |own, room| {
            for (&row, place) in rows.iter().zip(room.chunks_mut(own.dimension)) {
                place.copy_from_slice(&own.rows[row * own.dimension..][..own.dimension]);
            }
        })?;
        self.check_partials(&answer, rows.len())?;
        Ok(answer.try_readonly()?.as_array().iter().copied().collect())
    }

    /// The derivatives along a feature: for each row those of all outputs.
    fn derivatives(
        &mut self,
        py: Python<'_>,
        questions: &[Question],
        feature: usize,
    ) -> PyResult<Vec<f64>> {
        let Some(partials) = &self.partials else { return Err("there is no Jacobian".raise()) };
        let dimension = self.dimension;
        let function =
            partials.function.as_ref().map(|function| function.clone_ref(py).into_bound(py));
        let along = |all: &[f64]| -> Vec<f64> {
            all.iter().skip(feature).step_by(dimension).copied().collect()
        };
        let of_data: Option<Vec<_>> = questions.iter().map(Question::rows_of_data).collect();
        let of_data = of_data.filter(|_| !partials.known.is_empty());
        let check = |own: &Self, answer: &Doubles<'_>, rows| own.check_partials(answer, rows);
        match (of_data, function) {
            (Some(ranges), function) => {
                self.learn(function.as_ref(), questions, &ranges)?;
                let Some(partials) = &self.partials else { return Ok(Vec::new()) };
                let size = dimension * self.outputs;
                let known = |range: &std::ops::Range<usize>| {
                    along(&partials.known[range.start * size..range.end * size])
                };
                Ok(ranges.iter().flat_map(known).collect())
            }
            (None, Some(function)) => Ok(along(&self.by_row(&function, questions, check)?)),
            (None, None) => {
                Err("jacobian: an array says what the derivatives are at the rows of X, and this \
                                 estimate needs them elsewhere; give a function"
                    .raise())
            }
        }
    }

    /// Asks for all derivatives at the rows of the data that were not asked about yet.
    fn learn(
        &mut self,
        function: Option<&Bound<'_, PyAny>>,
        questions: &[Question],
        ranges: &[std::ops::Range<usize>],
    ) -> PyResult<()> {
        let Some((function, partials)) = function.zip(self.partials.as_ref()) else {
            return Ok(());
        };
        let unknown =
            |range: &std::ops::Range<usize>| !partials.is_known[range.clone()].iter().all(|&k| k);
        let (new, ranges): (Vec<&Question>, Vec<_>) = questions
            .iter()
            .zip(ranges.iter().cloned())
            .filter(|(_, range)| unknown(range))
            .unzip();
        if new.is_empty() {
            return Ok(());
        }
        let all = self.by_row(function, new.iter().copied(), |own, answer, rows| {
            own.check_partials(answer, rows)
        })?;
        let size = self.dimension * self.outputs;
        let Some(partials) = &mut self.partials else { return Ok(()) };
        let mut rest = all.as_slice();
        for range in ranges {
            let (own, others) = rest.split_at(range.len() * size);
            rest = others;
            partials.known[range.start * size..range.end * size].copy_from_slice(own);
            partials.is_known[range].fill(true);
        }
        Ok(())
    }

    /// Answers of a function to some questions, in their order; what is more than a batch in several.
    fn by_row<'q>(
        &mut self,
        function: &Bound<'_, PyAny>,
        questions: impl IntoIterator<Item = &'q Question> + Clone,
        check: impl Fn(&Self, &Doubles<'_>, usize) -> PyResult<()>,
    ) -> PyResult<Vec<f64>> {
        let count: usize = questions.clone().into_iter().map(Question::len).sum();
        let dimension = self.dimension;
        let write = |own: &Self, mut room: &mut [f64]| {
            for question in questions.clone() {
                let (rows, rest) = room.split_at_mut(question.len() * dimension);
                question.write(&own.rows, rows);
                room = rest;
            }
        };
        if count <= self.batch {
            let answer = self.call(function, count, write)?;
            check(self, &answer, count)?;
            return Ok(answer.try_readonly()?.as_array().iter().copied().collect());
        }
        let mut rows = vec![0.0; count * dimension];
        write(self, &mut rows);
        let mut by_row = Vec::new();
        for batch in rows.chunks(self.batch * dimension) {
            let count = batch.len() / dimension;
            let answer = self.call(function, count, |_, room| room.copy_from_slice(batch))?;
            check(self, &answer, count)?;
            by_row.extend(answer.try_readonly()?.as_array().iter());
        }
        Ok(by_row)
    }

    /// Answers of a function to so many rows, once they are written.
    fn call<'py>(
        &mut self,
        function: &Bound<'py, PyAny>,
        rows: usize,
        write: impl FnOnce(&Self, &mut [f64]),
    ) -> PyResult<Doubles<'py>> {
        let py = function.py();
        let room = self.room(py, rows);
        {
            let mut writable = room.try_readwrite()?;
            write(self, writable.as_slice_mut()?);
        }
        let answer = function.call1((&room,));
        self.room = Some(room.unbind());
        let answer = answer.map_err(|cause| model_failed(py, cause))?;
        arrays::doubles("what the model returned", &answer).map_err(|cause| model_failed(py, cause))
    }

    /// An array for so many rows: the one before, unless the model kept it, or made something else of it.
    #[expect(deprecated, reason = "what is to be called instead is unsafe")]
    fn room<'py>(&mut self, py: Python<'py>, rows: usize) -> Bound<'py, PyArray2<f64>> {
        let before = self.room.take().map(|room| room.into_bound(py).into_any());
        let before = before.filter(|room| room.get_refcnt() == 1);
        let before = before.and_then(|room| room.cast_into::<PyArray2<f64>>().ok());
        let is_ours = |room: &Bound<'py, PyArray2<f64>>| {
            room.shape() == [rows, self.dimension]
                && room.is_c_contiguous()
                && room.try_readwrite().is_ok()
        };
        before.filter(is_ours).unwrap_or_else(|| PyArray2::zeros(py, [rows, self.dimension], false))
    }

    fn check_values(&self, answer: &Doubles<'_>, rows: usize) -> PyResult<()> {
        let fits = match *answer.shape() {
            [n, outputs] => n == rows && outputs == self.outputs,
            [n] => n == rows && self.outputs == 1,
            [] => rows == 1 && self.outputs == 1,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let needed: &[usize] = if self.outputs == 1 { &[rows] } else { &[rows, self.outputs] };
        Err(wrong_shape("", answer, needed, ""))
    }

    fn check_partials(&self, answer: &Doubles<'_>, rows: usize) -> PyResult<()> {
        let needed = self.shape_of_partials(rows);
        if answer.shape() == needed {
            return Ok(());
        }
        Err(wrong_shape("the Jacobian of ", answer, &needed, ""))
    }

    fn shape_of_partials(&self, rows: usize) -> Vec<usize> {
        match self.outputs {
            1 => vec![rows, self.dimension],
            outputs => vec![rows, outputs, self.dimension],
        }
    }
}

/// The rows of data one after the other.
fn row_by_row(data: &Dataset) -> Vec<f64> {
    let mut rows = vec![0.0; data.len() * data.dimension()];
    for feature in 0..data.dimension() {
        let places = rows[feature..].iter_mut().step_by(data.dimension());
        places.zip(data.feature(feature)).for_each(|(place, &x)| *place = x);
    }
    rows
}

/// Values given row by row, output by output.
fn output_by_output(by_row: Vec<f64>, outputs: usize) -> Vec<f64> {
    if outputs == 1 {
        return by_row;
    }
    (0..outputs).flat_map(|output| by_row.iter().skip(output).step_by(outputs)).copied().collect()
}

fn wrong_shape(what: &str, answer: &Doubles<'_>, needed: &[usize], or: &str) -> PyErr {
    let (got, needed) = (arrays::tuple(answer.shape()), arrays::tuple(needed));
    let or = if or.is_empty() { String::new() } else { format!("; the shape must be {or}") };
    PyModelError::new_err(format!(
        "{what}the model returned an array of shape {got} where {needed} is needed{or}"
    ))
}
