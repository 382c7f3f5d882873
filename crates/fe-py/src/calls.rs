//! Asking a model that is a Python function, and computing without the interpreter's lock.
//!
//! An estimate runs on threads of its own; the thread that called from Python serves it: it alone
//! runs Python code, so that what belongs to a thread (`torch.no_grad`, NumPy's error state) holds for
//! the model, and an interruption from the keyboard arrives.
//!
//! Estimators ask in blocks of rows that are small for a Python model, whose every call costs. So a
//! rehearsal of the estimate, with a model that always says 0, runs ahead and tells what will be
//! asked; that is put to the model in large batches, and the estimate proper finds its answers ready.
//! Where it asks something else after all, the model is asked directly. Both run on one thread, in the
//! order of the rows: the batches are the same every time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};
use fe_core::interrupt::{self, Stop};
use fe_core::model::{Column, Rows};
use fe_core::{Model, ModelError};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::arrays::{self, Doubles};
use crate::errors::{ModelError as PyModelError, Raise, model_failed};
use crate::threads::{self, OwnStop, TICK};

/// Questions that the rehearsal may be ahead of the calling thread.
const AHEAD: usize = 16;

/// A model to be explained.
pub(crate) enum Subject {
    /// The function of a scenario, which needs no Python.
    Scenario(fe_truth::Scenario),
    /// A Python function.
    Callable(Callable),
}

/// A Python function, and its Jacobian where there is one.
pub(crate) struct Callable {
    value: Py<PyAny>,
    jacobian: Option<Py<PyAny>>,
    dimension: usize,
    outputs: usize,
    /// Most rows of a batch.
    batch: usize,
}

/// What is asked of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Value,
    /// The derivative along a feature, counted from 0.
    Derivative(usize),
}

/// Some rows, and what is asked of a model there.
struct Question {
    kind: Kind,
    /// One value for each row, or a single one for all.
    columns: Vec<Vec<f64>>,
    len: usize,
}

impl Question {
    fn new(kind: Kind, rows: &Rows<'_>) -> Self {
        let columns = rows.columns().iter().map(|column| match column {
            Column::Values(values) => values.to_vec(),
            Column::Constant(value) => vec![*value],
        });
        Self { kind, columns: columns.collect(), len: rows.len() }
    }

    fn is(&self, kind: Kind, rows: &Rows<'_>) -> bool {
        let same = |(known, column): (&Vec<f64>, &Column<'_>)| {
            let values = match column {
                Column::Values(values) => values,
                Column::Constant(value) => std::slice::from_ref(value),
            };
            known.iter().map(|x| x.to_bits()).eq(values.iter().map(|x| x.to_bits()))
        };
        self.kind == kind
            && self.len == rows.len()
            && self.columns.iter().zip(rows.columns()).all(same)
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        let column = &self.columns[column];
        column[if column.len() == 1 { 0 } else { row }]
    }
}

/// A question that was answered before it is asked.
type Ready = (Question, Vec<f64>);

enum Message {
    /// What will be asked.
    Ahead(Question),
    /// What is asked now.
    Direct(Question, Sender<Vec<f64>>),
    /// Nothing more is known ahead.
    Rehearsed,
    /// The estimate is done.
    Done,
}

/// What an estimate is told whose answer nobody waits for.
fn stopped() -> ModelError {
    ModelError::Failed("stopped".to_owned())
}

/// What the threads of an estimate share.
struct Line {
    messages: SyncSender<Message>,
    stop: AtomicBool,
}

impl Line {
    fn send(&self, message: Message) -> Result<(), ModelError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        self.messages.send(message).map_err(|_| stopped())
    }
}

/// Runs an estimate without the interpreter's lock; this thread serves it where it needs Python.
///
/// # Errors
/// What the model raised, or what a signal did.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    subject: &Subject,
    work: impl Fn(&dyn Model) -> T + Sync,
) -> PyResult<T> {
    match subject {
        Subject::Scenario(scenario) => threads::run(py, || work(scenario.model())),
        Subject::Callable(callable) => serve(py, callable, work),
    }
}

fn serve<T: Send>(
    py: Python<'_>,
    callable: &Callable,
    work: impl Fn(&dyn Model) -> T + Sync,
) -> PyResult<T> {
    let (messages, inbox) = mpsc::sync_channel(AHEAD);
    let (ready, answers) = mpsc::channel();
    let line = Line { messages, stop: AtomicBool::new(false) };
    let own_stop = OwnStop::new();
    let stop = own_stop.get();
    let (line, work, shape) = (&line, &work, callable.shape());
    std::thread::scope(|scope| {
        let mut desk = Desk { callable, inbox, ready: Some(ready), pending: Vec::new() };
        let rehearsal = scope.spawn(move || {
            let _over = Announce { line, over: Some(Message::Rehearsed) };
            on_one_thread(stop, || drop(work(&rehearsal(shape, line))))
        });
        let estimate = scope.spawn(move || {
            let _over = Announce { line, over: Some(Message::Done) };
            on_one_thread(stop, || work(&answered(shape, line, answers)))
        });
        let served = desk.serve(py);
        line.stop.store(true, Ordering::Relaxed);
        if served.is_err() {
            stop.ask();
        }
        // Whoever still asks finds nobody there.
        drop(desk);
        let (result, _) = py.detach(|| (estimate.join(), rehearsal.join()));
        served?;
        result
            .map_err(|_| "the estimate panicked: this is a mistake of the library".raise())?
            .map_err(Raise::raise)
    })
}

/// Says that a thread is done, however it ends.
struct Announce<'a> {
    line: &'a Line,
    over: Option<Message>,
}

impl Drop for Announce<'_> {
    fn drop(&mut self) {
        if let Some(over) = self.over.take() {
            // Where nobody listens any more, nobody needs to know.
            let _ = self.line.send(over);
        }
    }
}

/// Runs something such that all that it would do in parallel happens here, in order, until it is stopped.
fn on_one_thread<T: Send>(
    stop: &'static Stop,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    interrupt::obey(stop);
    let here = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    let here = here.build().map_err(|e| e.to_string())?;
    interrupt::under(|| here.install(work)).map_err(|stopped| stopped.to_string())
}

/// The calling thread: takes messages and asks Python.
struct Desk<'a> {
    callable: &'a Callable,
    inbox: Receiver<Message>,
    /// Where answers go that are known before they are asked for; none once there will be no more.
    ready: Option<Sender<Ready>>,
    /// What will be asked together.
    pending: Vec<Question>,
}

impl Desk<'_> {
    fn serve(&mut self, py: Python<'_>) -> PyResult<()> {
        loop {
            py.check_signals()?;
            let inbox = &mut self.inbox;
            match py.detach(move || inbox.recv_timeout(TICK)) {
                Ok(Message::Done) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Message::Ahead(question)) => self.queue(py, question)?,
                Ok(Message::Rehearsed) => {
                    self.flush(py)?;
                    self.ready = None;
                }
                Ok(Message::Direct(question, reply)) => {
                    self.ready = None;
                    let answer = self.callable.ask(py, std::slice::from_ref(&question))?;
                    // Nobody waits for it any more if the estimate has failed otherwise.
                    let _ = reply.send(answer);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Puts a question to those that are asked together.
    fn queue(&mut self, py: Python<'_>, question: Question) -> PyResult<()> {
        if self.ready.is_none() {
            return Ok(());
        }
        let rows: usize = self.pending.iter().map(|question| question.len).sum();
        let fits = rows + question.len <= self.callable.batch;
        if !(fits && self.pending.iter().all(|other| other.kind == question.kind)) {
            self.flush(py)?;
        }
        self.pending.push(question);
        Ok(())
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let questions = std::mem::take(&mut self.pending);
        let rows: usize = questions.iter().map(|question| question.len).sum();
        let Some(ready) = self.ready.as_ref().filter(|_| rows > 0) else { return Ok(()) };
        let answer = self.callable.ask(py, &questions)?;
        let mut start = 0;
        for question in questions {
            let outputs = answer.chunks(rows);
            let part = outputs.flat_map(|values| &values[start..start + question.len]);
            let part = part.copied().collect();
            start += question.len;
            // Not taken where the estimate asks directly.
            let _ = ready.send((question, part));
        }
        Ok(())
    }
}

impl Callable {
    /// A model from Python functions, asked at the first rows for the number of its outputs.
    pub(crate) fn new(
        value: &Bound<'_, PyAny>,
        jacobian: Option<&Bound<'_, PyAny>>,
        first: Array2<f64>,
        batch: usize,
    ) -> PyResult<Self> {
        let mut new = Self {
            value: value.clone().unbind(),
            jacobian: jacobian.map(|jacobian| jacobian.clone().unbind()),
            dimension: first.ncols(),
            outputs: 1,
            batch,
        };
        let rows = first.nrows();
        let answer = call(value, first)?;
        new.outputs = match *answer.shape() {
            [n, outputs] if n == rows && outputs > 0 => outputs,
            _ if answer.len() == rows => 1,
            _ => return Err(wrong_shape("", &answer, &[rows], "(n,) or (n, outputs)")),
        };
        Ok(new)
    }

    fn shape(&self) -> Shape {
        Shape {
            dimension: self.dimension,
            outputs: self.outputs,
            has_partial: self.jacobian.is_some(),
        }
    }

    /// The answers to questions of the same kind: all rows of the first output, then all of the next.
    fn ask(&self, py: Python<'_>, questions: &[Question]) -> PyResult<Vec<f64>> {
        let rows: usize = questions.iter().map(|question| question.len).sum();
        let mut values = Vec::with_capacity(rows * self.dimension);
        for question in questions {
            for row in 0..question.len {
                values.extend((0..self.dimension).map(|column| question.get(row, column)));
            }
        }
        let matrix = self.matrix(values)?;
        match (questions[0].kind, &self.jacobian) {
            (Kind::Derivative(feature), Some(jacobian)) => {
                self.partials(&call(jacobian.bind(py), matrix)?, rows, feature)
            }
            _ => self.values(&call(self.value.bind(py), matrix)?, rows),
        }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// The predictions at rows that are given one after the other: for each row those of all outputs.
    pub(crate) fn values_at(&self, py: Python<'_>, rows: Vec<f64>) -> PyResult<Vec<f64>> {
        let mut values = Vec::with_capacity(rows.len() / self.dimension * self.outputs);
        for batch in rows.chunks(self.batch.saturating_mul(self.dimension)) {
            let count = batch.len() / self.dimension;
            let by_output = self.values(&call(self.value.bind(py), self.matrix(batch.to_vec())?)?, count)?;
            values.extend(output_by_output(&by_output, count));
        }
        Ok(values)
    }

    /// The partial derivatives at rows that are given one after the other: for each row and output those along all
    /// features. Nothing where there is no Jacobian.
    pub(crate) fn jacobian_at(&self, py: Python<'_>, rows: Vec<f64>) -> PyResult<Vec<f64>> {
        let Some(jacobian) = &self.jacobian else { return Ok(Vec::new()) };
        let count = rows.len() / self.dimension;
        let answer = call(jacobian.bind(py), self.matrix(rows)?)?;
        self.check_partials(&answer, count)?;
        Ok(answer.try_readonly()?.as_array().iter().copied().collect())
    }

    fn matrix(&self, values: Vec<f64>) -> PyResult<Array2<f64>> {
        let rows = values.len() / self.dimension;
        Array2::from_shape_vec((rows, self.dimension), values).map_err(|e| e.to_string().raise())
    }

    fn check_partials(&self, answer: &Doubles<'_>, rows: usize) -> PyResult<()> {
        let needed: &[usize] = &match self.outputs {
            1 => vec![rows, self.dimension],
            outputs => vec![rows, outputs, self.dimension],
        };
        if answer.shape() == needed {
            return Ok(());
        }
        Err(wrong_shape("the Jacobian of ", answer, needed, ""))
    }

    fn values(&self, answer: &Doubles<'_>, rows: usize) -> PyResult<Vec<f64>> {
        let fits = match *answer.shape() {
            [n, outputs] => n == rows && outputs == self.outputs,
            [n] => n == rows && self.outputs == 1,
            [] => rows == 1 && self.outputs == 1,
            _ => false,
        };
        if !fits {
            let needed: &[usize] = if self.outputs == 1 { &[rows] } else { &[rows, self.outputs] };
            return Err(wrong_shape("", answer, needed, ""));
        }
        let readable = answer.try_readonly()?;
        let by_row: Vec<f64> = readable.as_array().iter().copied().collect();
        Ok(output_by_output(&by_row, self.outputs))
    }

    fn partials(&self, answer: &Doubles<'_>, rows: usize, feature: usize) -> PyResult<Vec<f64>> {
        self.check_partials(answer, rows)?;
        let readable = answer.try_readonly()?;
        let array = readable.as_array();
        let partials = array.index_axis(ndarray::Axis(answer.ndim() - 1), feature);
        let by_row: Vec<f64> = partials.iter().copied().collect();
        Ok(output_by_output(&by_row, self.outputs))
    }
}

/// Values given row by row, output by output.
fn output_by_output(by_row: &[f64], outputs: usize) -> Vec<f64> {
    (0..outputs).flat_map(|output| by_row.iter().skip(output).step_by(outputs)).copied().collect()
}

/// What a function says of some rows.
fn call<'py>(function: &Bound<'py, PyAny>, rows: Array2<f64>) -> PyResult<Doubles<'py>> {
    let py = function.py();
    let answer = function.call1((rows.into_pyarray(py),));
    let answer = answer.map_err(|cause| model_failed(py, cause))?;
    arrays::doubles("what the model returned", &answer).map_err(|cause| model_failed(py, cause))
}

fn wrong_shape(what: &str, answer: &Doubles<'_>, needed: &[usize], or: &str) -> PyErr {
    let (got, needed) = (arrays::tuple(answer.shape()), arrays::tuple(needed));
    let or = if or.is_empty() { String::new() } else { format!("; the shape must be {or}") };
    PyModelError::new_err(format!(
        "{what}the model returned an array of shape {got} where {needed} is needed{or}"
    ))
}

/// What estimators see of a model before they ask.
#[derive(Debug, Clone, Copy)]
struct Shape {
    dimension: usize,
    outputs: usize,
    has_partial: bool,
}

/// A model in whose place something else answers.
struct StandIn<F> {
    shape: Shape,
    answer: F,
}

impl<F> Model for StandIn<F>
where
    F: Fn(Kind, &Rows<'_>, &mut [f64]) -> Result<(), ModelError> + Sync,
{
    fn dimension(&self) -> usize {
        self.shape.dimension
    }

    fn outputs(&self) -> usize {
        self.shape.outputs
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        (self.answer)(Kind::Value, rows, values)
    }

    fn has_partial(&self) -> bool {
        self.shape.has_partial
    }

    fn partial(
        &self,
        feature: usize,
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        if !self.shape.has_partial {
            return Err(ModelError::NoDerivative { feature });
        }
        (self.answer)(Kind::Derivative(feature), rows, values)
    }
}

/// A model that tells what will be asked, and always says 0.
fn rehearsal(shape: Shape, line: &Line) -> impl Model {
    let answer = move |kind, rows: &Rows<'_>, values: &mut [f64]| {
        line.send(Message::Ahead(Question::new(kind, rows)))?;
        values.fill(0.0);
        Ok(())
    };
    StandIn { shape, answer }
}

/// A model that knows what the Python function said: the questions in the order in which they will be
/// asked, with their answers, until something else is asked.
fn answered(shape: Shape, line: &Line, answers: Receiver<Ready>) -> impl Model {
    let answers = Mutex::new(Some(answers));
    let answer = move |kind, rows: &Rows<'_>, values: &mut [f64]| {
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = answers.as_ref().and_then(|answers| answers.recv().ok());
        let answer = match ready {
            Some((question, answer)) if question.is(kind, rows) => answer,
            _ => {
                *answers = None;
                let (reply, answer) = mpsc::channel();
                line.send(Message::Direct(Question::new(kind, rows), reply))?;
                answer.recv().map_err(|_| stopped())?
            }
        };
        values.copy_from_slice(&answer);
        Ok(())
    };
    StandIn { shape, answer }
}
