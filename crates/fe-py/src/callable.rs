//! A Python function, and its derivatives where they are known.

use std::collections::HashMap;

use fe_core::Dataset;
use numpy::{PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::arrays::{self, Doubles};
use crate::errors::{ModelError as PyModelError, Raise, model_failed};
use crate::questions::{Piece, Question, QuestionKind};

/// A Python function, and its derivatives where they are known.
pub(crate) struct Callable {
    value: Py<PyAny>,
    partials: Option<Partials>,
    rows: DataRows,
    /// Number of rows of the data.
    count: usize,
    dimension: usize,
    outputs: usize,
    /// Most rows of a batch.
    batch: usize,
    /// The array that the model was asked with last, to be written to again if nobody else holds it.
    room: Option<Py<PyArray2<f64>>>,
    /// False once the model has written to its rows: they are copied for each call.
    keeps_rows: bool,
    /// True once a call was looked at for that.
    is_judged: bool,
}

/// The rows of the data, one after the other.
enum DataRows {
    /// The array that was given, which is read while the lock of the interpreter is held.
    Given(Py<PyArrayDyn<f64>>),
    Copied(Vec<f64>),
}

impl DataRows {
    fn new(given: &Bound<'_, PyAny>, data: &Dataset) -> Self {
        let shape = [data.len(), data.dimension()];
        let lies_so = |array: &&Doubles<'_>| array.is_c_contiguous() && array.shape() == shape;
        match given.cast::<PyArrayDyn<f64>>().ok().filter(lies_so) {
            Some(array) => Self::Given(array.clone().unbind()),
            None => {
                let feature = |feature| data.feature(feature);
                Self::Copied(arrays::transposed(data.dimension(), data.len(), feature))
            }
        }
    }

    fn read<T>(&self, py: Python<'_>, with: impl FnOnce(&[f64]) -> T) -> PyResult<T> {
        match self {
            Self::Given(array) => Ok(with(array.bind(py).try_readonly()?.as_slice()?)),
            Self::Copied(rows) => Ok(with(rows)),
        }
    }
}

/// Calls that answer some questions.
struct CallPlan<'q> {
    calls: Vec<Vec<PlacedPiece<'q>>>,
    /// Rows of all of them.
    rows: usize,
    /// True if the rows of so many calls can stay for the next that it is worth looking, wherever they do not, whether they
    /// stayed: that takes as long as writing them twice.
    has_again: bool,
}

/// A piece of a question, and the first of its answers among all.
struct PlacedPiece<'q> {
    piece: Piece<'q>,
    place: usize,
}

impl<'q> CallPlan<'q> {
    /// All blocks of rows with what is asked of each first, then with what is asked next: what is the same in the rows of
    /// a call and of the one before then stands at the same place.
    fn new(questions: impl IntoIterator<Item = &'q Question>, batch: usize) -> Self {
        let mut turns: Vec<Vec<PlacedPiece<'q>>> = Vec::new();
        let mut asked: HashMap<usize, usize> = HashMap::new();
        let mut rows = 0;
        for question in questions {
            let turn = asked.entry(question.start()).or_default();
            if turns.len() == *turn {
                turns.push(Vec::new());
            }
            for from in (0..question.len()).step_by(batch) {
                let piece = question.piece(from..question.len().min(from + batch));
                turns[*turn].push(PlacedPiece { piece, place: rows + from });
            }
            *turn += 1;
            rows += question.len();
        }
        let turn = turns.first().map_or(0, |turn| rows_of(turn)).max(1);
        let whole = (batch / turn * turn).max(1);
        let most = if rows.div_ceil(whole) == rows.div_ceil(batch) { whole } else { batch };
        let mut calls = Vec::new();
        let (mut call, mut size) = (Vec::new(), 0);
        for placed in turns.into_iter().flatten() {
            if size > 0 && size + placed.piece.len() > most {
                calls.push(std::mem::take(&mut call));
                size = 0;
            }
            size += placed.piece.len();
            call.push(placed);
        }
        calls.extend((!call.is_empty()).then_some(call));
        let staying = calls.windows(2).filter(|calls| stay(&calls[0], &calls[1])).count();
        Self { has_again: staying > 2 * (calls.len() - staying), calls, rows }
    }
}

/// True if the rows of a call, but for features that are written for each of the two, are those of the next.
fn stay(pieces: &[PlacedPiece<'_>], next: &[PlacedPiece<'_>]) -> bool {
    let mut pairs = pieces.iter().zip(next);
    pieces.len() == next.len() && pairs.all(|(one, other)| one.piece.stays_for(&other.piece))
}

fn rows_of(pieces: &[PlacedPiece<'_>]) -> usize {
    pieces.iter().map(|placed| placed.piece.len()).sum()
}

/// True if a call ended because it is to end, such as by an interruption from the keyboard.
fn interrupts<T>(py: Python<'_>, answer: &PyResult<T>) -> bool {
    answer.as_ref().is_err_and(|error| !error.is_instance_of::<PyException>(py))
}

/// Writes rows one after the other; only what differs, where the others are there from the call before.
fn write(pieces: &[PlacedPiece<'_>], data: &[f64], mut room: &mut [f64], are_there: bool) {
    let dimension = room.len() / rows_of(pieces).max(1);
    for PlacedPiece { piece, .. } in pieces {
        let (own, rest) = room.split_at_mut(piece.len() * dimension);
        if are_there {
            piece.write_others(own);
        } else {
            piece.write(data, own);
        }
        room = rest;
    }
}

/// Answers in the order of the questions.
#[derive(Default)]
struct Answers(Vec<f64>);

impl Answers {
    /// Puts those to some pieces, one after the other, where they belong among those to so many rows.
    fn place(&mut self, pieces: &[PlacedPiece<'_>], rows: usize, mut answers: &[f64]) {
        let each = answers.len() / rows_of(pieces).max(1);
        self.0.resize(rows * each, 0.0);
        for PlacedPiece { piece, place } in pieces {
            let (own, rest) = answers.split_at(piece.len() * each);
            self.0[place * each..][..own.len()].copy_from_slice(own);
            answers = rest;
        }
    }
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
    pub(crate) fn new(
        value: &Bound<'_, PyAny>,
        (given, data): (&Bound<'_, PyAny>, &Dataset),
        batch: usize,
    ) -> PyResult<Self> {
        let mut new = Self {
            value: value.clone().unbind(),
            partials: None,
            rows: DataRows::new(given, data),
            count: data.len(),
            dimension: data.dimension(),
            outputs: 1,
            batch,
            room: None,
            keeps_rows: true,
            is_judged: false,
        };
        let count = data.len().min(FIRST);
        let answer = new.call(value, count, |rows, room, _| {
            room.copy_from_slice(&rows[..room.len()]);
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
        let count = self.count;
        let mut partials = Partials { function: None, known: Vec::new(), is_known: Vec::new() };
        if jacobian.is_callable() {
            partials.function = Some(jacobian.clone().unbind());
            if features > 1 {
                partials.known = vec![0.0; count * self.dimension * self.outputs];
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
            let answer = self.call(&value, count, |_, room, _| room.copy_from_slice(batch))?;
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
        let dimension = self.dimension;
        let answer = self.call(&function, rows.len(), |data, room, _| {
            for (&row, place) in rows.iter().zip(room.chunks_mut(dimension)) {
                place.copy_from_slice(&data[row * dimension..][..dimension]);
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

    /// Answers of a function to some questions, in their order, by calls with no more rows than a batch.
    fn by_row<'q>(
        &mut self,
        function: &Bound<'_, PyAny>,
        questions: impl IntoIterator<Item = &'q Question>,
        check: impl Fn(&Self, &Doubles<'_>, usize) -> PyResult<()>,
    ) -> PyResult<Vec<f64>> {
        let plan = CallPlan::new(questions, self.batch);
        if self.keeps_rows && plan.has_again {
            let answers = self.by_calls(function, &plan, &check, true);
            if self.keeps_rows {
                return answers;
            }
            // The model has written to its rows: what was to stay there did not, and no answer counts.
        }
        self.by_calls(function, &plan, &check, false)
    }

    /// The same; where it is asked for, what is in the array of rows already is not written again. That ends where the
    /// model turns out to have changed it.
    fn by_calls(
        &mut self,
        function: &Bound<'_, PyAny>,
        plan: &CallPlan<'_>,
        check: &impl Fn(&Self, &Doubles<'_>, usize) -> PyResult<()>,
        is_again: bool,
    ) -> PyResult<Vec<f64>> {
        let py = function.py();
        let mut answers = Answers::default();
        let mut stays = false;
        for (number, pieces) in plan.calls.iter().enumerate() {
            let rows = rows_of(pieces);
            let answer = self.call(function, rows, |data, room, is_same| {
                write(pieces, data, room, stays && is_same);
            });
            let answer = answer.and_then(|answer| check(self, &answer, rows).map(|()| answer));
            py.check_signals()?;
            let next = plan.calls.get(number + 1).filter(|next| is_again && stay(pieces, next));
            stays = next.is_some() && self.has_room(py, rows);
            // A model that changes its rows mostly does so at once; what it did later is there until they are let go, or
            // was in features that are written for each call.
            let is_first = !self.is_judged;
            self.is_judged |= is_again;
            let is_judged = is_again && (is_first || !stays || answer.is_err());
            if is_judged && !interrupts(py, &answer) && self.is_changed(py, pieces)? {
                self.keeps_rows = false;
                return Ok(Vec::new());
            }
            let answer = answer?;
            let answer = answer.try_readonly()?;
            match answer.as_slice() {
                Ok(values) if answer.is_c_contiguous() => answers.place(pieces, plan.rows, values),
                _ => {
                    let values: Vec<f64> = answer.as_array().iter().copied().collect();
                    answers.place(pieces, plan.rows, &values);
                }
            }
        }
        Ok(answers.0)
    }

    /// True if the array of rows has something else than was written to it.
    fn is_changed(&self, py: Python<'_>, pieces: &[PlacedPiece<'_>]) -> PyResult<bool> {
        let Some(room) = &self.room else { return Ok(false) };
        let Ok(room) = room.bind(py).try_readonly() else { return Ok(true) };
        let Ok(there) = room.as_slice() else { return Ok(true) };
        self.rows.read(py, |data| self.differs(there, pieces, data))
    }

    fn differs(&self, mut there: &[f64], pieces: &[PlacedPiece<'_>], data: &[f64]) -> bool {
        for PlacedPiece { piece, .. } in pieces {
            match there.split_at_checked(piece.len() * self.dimension) {
                Some((own, _)) if piece.differs(data, own) => return true,
                Some((_, rest)) => there = rest,
                None => return true,
            }
        }
        !there.is_empty()
    }

    /// Answers of a function to so many rows, once they are written to an array, which may be the same as before.
    fn call<'py>(
        &mut self,
        function: &Bound<'py, PyAny>,
        rows: usize,
        write: impl FnOnce(&[f64], &mut [f64], bool),
    ) -> PyResult<Doubles<'py>> {
        let py = function.py();
        let before = self.room_before(py, rows);
        let is_same = before.is_some();
        let room = before.unwrap_or_else(|| PyArray2::zeros(py, [rows, self.dimension], false));
        {
            let mut writable = room.try_readwrite()?;
            let to = writable.as_slice_mut()?;
            self.rows.read(py, |data| write(data, to, is_same))?;
        }
        let answer = function.call1((&room,));
        self.room = Some(room.unbind());
        let answer = answer.map_err(|cause| model_failed(py, cause))?;
        arrays::doubles("what the model returned", &answer).map_err(|cause| model_failed(py, cause))
    }

    /// The array for so many rows that was there before, if it is free.
    fn room_before<'py>(
        &mut self,
        py: Python<'py>,
        rows: usize,
    ) -> Option<Bound<'py, PyArray2<f64>>> {
        let is_free = self.has_room(py, rows);
        let before = self.room.take().filter(|_| is_free)?;
        Some(before.into_bound(py))
    }

    /// True if there is an array for so many rows, which the model did not keep, nor make something else of.
    #[expect(deprecated, reason = "what is to be called instead is unsafe")]
    fn has_room(&self, py: Python<'_>, rows: usize) -> bool {
        let Some(room) = &self.room else { return false };
        let room = room.bind(py);
        room.get_refcnt() == 1
            && room.as_any().cast::<PyArray2<f64>>().is_ok()
            && room.shape() == [rows, self.dimension]
            && room.is_c_contiguous()
            && room.try_readwrite().is_ok()
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
