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

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};

use fe_core::interrupt::{self, Stop};
use fe_core::model::{Answered, Rows};
use fe_core::{Dataset, Model, ModelError};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::callable::Callable;
use crate::errors::Raise;
use crate::questions::{Question, QuestionKind};
use crate::threads::{self, OwnStop, TICK};

/// Batches that the rehearsal may be ahead of the calling thread.
const AHEAD: usize = 2;

/// A model to be explained.
pub(crate) enum Subject {
    /// The function of a scenario, which needs no Python.
    Scenario(fe_truth::Scenario),
    /// A Python function.
    Callable(Callable),
}

/// Questions that were answered before they are asked: of each output the answers to all of them.
struct Ready {
    questions: Vec<Question>,
    answers: Vec<f64>,
}

enum Message {
    /// Questions that will be asked, as one batch.
    Ahead(Vec<Question>),
    /// The batch that is asked now.
    Direct(Question, Sender<Vec<f64>>),
    /// Nothing more is known ahead.
    Rehearsed,
    /// The estimate is done.
    Done,
}

/// The message to an estimate whose answer nobody waits for.
pub(crate) fn stopped() -> ModelError {
    ModelError::Failed("stopped".to_owned())
}

/// State that the threads of an estimate share.
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

/// Runs an estimate from some data without the interpreter's lock; this thread serves it where it needs Python.
///
/// # Errors
/// What the model raised, or what a signal did.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    subject: &mut Subject,
    data: &Dataset,
    work: impl Fn(&dyn Model) -> T + Sync,
) -> PyResult<T> {
    match subject {
        Subject::Scenario(scenario) => threads::run(py, || work(scenario.model())),
        Subject::Callable(callable) => serve(py, callable, data, work),
    }
}

fn serve<T: Send>(
    py: Python<'_>,
    callable: &mut Callable,
    data: &Dataset,
    work: impl Fn(&dyn Model) -> T + Sync,
) -> PyResult<T> {
    let (messages, inbox) = mpsc::sync_channel(AHEAD);
    let (ready, answers) = mpsc::channel();
    let line = Line { messages, stop: AtomicBool::new(false) };
    let own_stop = OwnStop::new();
    let stop = own_stop.get();
    let shape = Shape::of(callable);
    let (line, work) = (&line, &work);
    std::thread::scope(|scope| {
        let mut desk = Desk { callable, inbox, ready: Some(ready) };
        let rehearsal = scope.spawn(move || {
            let _over = Announce { line, over: Some(Message::Rehearsed) };
            on_one_thread(stop, || {
                let Shape { batch: most, dimension, .. } = shape;
                let batch = Batch { line, pending: Mutex::default(), most, dimension };
                work(&rehearsal(shape, data, &batch));
                batch.send();
            })
        });
        let estimate = scope.spawn(move || {
            let _over = Announce { line, over: Some(Message::Done) };
            on_one_thread(stop, || work(&answered(shape, data, line, answers)))
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
pub(crate) fn on_one_thread<T: Send>(
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
    callable: &'a mut Callable,
    inbox: Receiver<Message>,
    /// Receiver of answers that are known before they are asked for; none once there will be no more.
    ready: Option<Sender<Ready>>,
}

impl Desk<'_> {
    fn serve(&mut self, py: Python<'_>) -> PyResult<()> {
        loop {
            py.check_signals()?;
            let inbox = &mut self.inbox;
            match py.detach(move || inbox.recv_timeout(TICK)) {
                Ok(Message::Done) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Message::Ahead(questions)) => {
                    if let Some(ready) = &self.ready {
                        let answers = self.callable.ask(py, &questions)?;
                        // Not taken where the estimate asks directly.
                        let _ = ready.send(Ready { questions, answers });
                    }
                }
                Ok(Message::Rehearsed) => self.ready = None,
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
}

/// The model as estimators see it before they ask.
#[derive(Debug, Clone, Copy)]
struct Shape {
    dimension: usize,
    outputs: usize,
    has_partial: bool,
    /// Most rows of a batch.
    batch: usize,
}

impl Shape {
    fn of(callable: &Callable) -> Self {
        Self {
            dimension: callable.dimension(),
            outputs: callable.outputs(),
            has_partial: callable.has_partial(),
            batch: callable.batch(),
        }
    }
}

/// A model in whose place something else answers.
struct StandIn<F> {
    shape: Shape,
    answer: F,
}

impl<F> Model for StandIn<F>
where
    F: Fn(QuestionKind, &Rows<'_>, &mut [f64]) -> Result<(), ModelError> + Sync,
{
    fn dimension(&self) -> usize {
        self.shape.dimension
    }

    fn outputs(&self) -> usize {
        self.shape.outputs
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        (self.answer)(QuestionKind::Value, rows, values)
    }

    fn has_partial(&self) -> bool {
        self.shape.has_partial
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        if !self.shape.has_partial {
            return Err(ModelError::NoDerivative { feature });
        }
        (self.answer)(QuestionKind::Derivative(feature), rows, values)
    }
}

/// Batches of rows that are told of together.
const MOST_TURNS: usize = 128;

/// Questions that will be asked together: of one kind, about no more rows of the data than a batch has.
struct Batch<'a> {
    line: &'a Line,
    pending: Mutex<Pending>,
    most: usize,
    dimension: usize,
}

/// Questions that were not told of yet, and what they come to.
#[derive(Default)]
struct Pending {
    questions: Vec<Question>,
    /// Rows of the data that they are about, by the first of each question.
    starts: HashSet<usize>,
    distinct: usize,
    rows: usize,
    held: usize,
}

impl Pending {
    /// True if a question can be told of with those that are there.
    fn fits(&self, question: &Question, Batch { most, dimension, .. }: &Batch<'_>) -> bool {
        let is_known = self.starts.contains(&question.start());
        let distinct = self.distinct + if is_known { 0 } else { question.len() };
        let alike = self.questions.last().is_none_or(|other| other.kind() == question.kind());
        alike
            && distinct <= *most
            && self.rows + question.len() <= most.saturating_mul(MOST_TURNS)
            && self.held + question.held() <= most.saturating_mul(*dimension)
    }

    fn push(&mut self, question: Question) {
        if self.starts.insert(question.start()) {
            self.distinct += question.len();
        }
        self.rows += question.len();
        self.held += question.held();
        self.questions.push(question);
    }
}

impl Batch<'_> {
    fn add(&self, question: Question) -> Result<(), ModelError> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let full = (!pending.fits(&question, self)).then(|| std::mem::take(&mut *pending));
        pending.push(question);
        drop(pending);
        match full.filter(|full| !full.questions.is_empty()) {
            None => Ok(()),
            Some(full) => self.line.send(Message::Ahead(full.questions)),
        }
    }

    /// Tells what is left; where nobody listens any more, nobody needs to know.
    fn send(self) {
        let pending = self.pending.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !pending.questions.is_empty() {
            let _ = self.line.send(Message::Ahead(pending.questions));
        }
    }
}

/// A model that tells what will be asked, and always says 0.
fn rehearsal(shape: Shape, data: &Dataset, batch: &Batch<'_>) -> impl Model {
    let answer = move |kind, rows: &Rows<'_>, values: &mut [f64]| {
        batch.add(Question::new(kind, rows, data))?;
        values.fill(0.0);
        Ok(())
    };
    StandIn { shape, answer }
}

/// Answers that are known ahead, in the order in which they will be asked for.
struct Known {
    batches: Receiver<Ready>,
    /// Those of the batch at hand that were not asked yet, and where their answers begin.
    questions: VecDeque<Question>,
    answers: Vec<f64>,
    next: usize,
}

impl Known {
    /// Writes the answer to a question if it is the next that was known.
    fn answer(&mut self, asked: &Question, outputs: usize, values: &mut [f64]) -> bool {
        if self.questions.is_empty() {
            let Ok(Ready { questions, answers }) = self.batches.recv() else { return false };
            (self.questions, self.answers, self.next) = (questions.into(), answers, 0);
        }
        if self.questions.pop_front().is_none_or(|known| known != *asked) {
            return false;
        }
        let rows = self.answers.len() / outputs;
        let (of_all, own) =
            (self.answers.chunks(rows.max(1)), values.chunks_mut(asked.len().max(1)));
        for (answers, values) in of_all.zip(own) {
            values.copy_from_slice(&answers[self.next..self.next + asked.len()]);
        }
        self.next += asked.len();
        true
    }
}

/// A model that knows what the Python function said: the questions in the order in which they will be
/// asked, with their answers, until something else is asked.
fn answered(shape: Shape, data: &Dataset, line: &Line, batches: Receiver<Ready>) -> impl Model {
    let known = Known { batches, questions: VecDeque::new(), answers: Vec::new(), next: 0 };
    let known = Mutex::new(Some(known));
    let answer = move |kind, rows: &Rows<'_>, values: &mut [f64]| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let question = Question::new(kind, rows, data);
        if known.as_mut().is_some_and(|known| known.answer(&question, shape.outputs, values)) {
            return Ok(());
        }
        *known = None;
        let (reply, answer) = mpsc::channel();
        line.send(Message::Direct(question, reply))?;
        values.copy_from_slice(&answer.recv().map_err(|_| stopped())?);
        Ok(())
    };
    StandIn { shape, answer }
}
