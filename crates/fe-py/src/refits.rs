//! Refits of a learner that is a Python function: the thread that called from Python fits it, and asks its models.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};

use fe_core::model::Rows;
use fe_core::refits::RefittedModel;
use fe_core::{Dataset, Model, ModelError};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays;
use crate::callable::Callable;
use crate::calls::{on_one_thread, stopped};
use crate::errors::{ModelError as PyModelError, Raise, model_failed};
use crate::threads::{OwnStop, TICK};

/// Something that only the calling thread can do, with where the answer is waited for. Rows are one after the other.
enum Job {
    /// A fit to some rows and their targets: the number of the model, and of its outputs.
    Fit { rows: Vec<f64>, target: Vec<f64>, reply: Sender<(usize, usize)> },
    /// The answers of a model to some rows: for each row those of all outputs.
    Ask { model: usize, rows: Vec<f64>, reply: Sender<Vec<f64>> },
}

/// A learner that is fitted by the calling thread.
pub(crate) struct Fits {
    jobs: Sender<Job>,
}

impl Fits {
    /// The model that it makes of some data and target values.
    pub(crate) fn fit(&self, data: &Dataset, target: &[f64]) -> Result<RefittedModel, String> {
        let (reply, answer) = mpsc::channel();
        let rows =
            arrays::transposed(data.dimension(), data.len(), |feature| data.feature(feature));
        let job = Job::Fit { rows, target: target.to_vec(), reply };
        self.jobs.send(job).map_err(|_| stopped().to_string())?;
        let (number, outputs) = answer.recv().map_err(|_| stopped().to_string())?;
        let (dimension, jobs) = (data.dimension(), self.jobs.clone());
        Ok(Box::new(Refit { number, dimension, outputs, jobs }))
    }
}

/// A model that the calling thread asks.
struct Refit {
    number: usize,
    dimension: usize,
    outputs: usize,
    jobs: Sender<Job>,
}

impl Model for Refit {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        let count = values.len() / self.outputs;
        let row = |i: usize| rows.columns().iter().map(move |column| column.get(i));
        let all: Vec<f64> = (0..count).flat_map(row).collect();
        let (reply, answer) = mpsc::channel();
        let job = Job::Ask { model: self.number, rows: all, reply };
        self.jobs.send(job).map_err(|_| stopped())?;
        let by_row = answer.recv().map_err(|_| stopped())?;
        for (output, values) in values.chunks_mut(count.max(1)).enumerate() {
            let own = by_row.iter().skip(output).step_by(self.outputs);
            values.iter_mut().zip(own).for_each(|(value, own)| *value = *own);
        }
        Ok(())
    }
}

/// A Python function that fits models to rows and targets, with the rows that tell how models are asked.
pub(crate) struct Fitting<'a, 'py> {
    pub(crate) fit: &'a Bound<'py, PyAny>,
    pub(crate) given: &'a Bound<'py, PyAny>,
    pub(crate) data: &'a Dataset,
    /// Most rows of a call of a model.
    pub(crate) batch: usize,
}

impl Fitting<'_, '_> {
    /// Does some work with the learner without the interpreter's lock; this thread serves it.
    ///
    /// # Errors
    /// What a fit or a model raised, or what a signal did.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Fits) -> T + Send,
    ) -> PyResult<T> {
        let (jobs, inbox) = mpsc::channel();
        let own_stop = OwnStop::new();
        let stop = own_stop.get();
        std::thread::scope(|scope| {
            let estimate = scope.spawn(move || {
                let fits = Fits { jobs };
                on_one_thread(stop, move || work(&fits))
            });
            let served = self.serve(py, inbox);
            if served.is_err() {
                stop.ask();
            }
            let result = py.detach(|| estimate.join());
            served?;
            result
                .map_err(|_| "the estimate panicked: this is a mistake of the library".raise())?
                .map_err(Raise::raise)
        })
    }

    /// Does what is asked for until nobody is left who could.
    fn serve(&self, py: Python<'_>, mut inbox: Receiver<Job>) -> PyResult<()> {
        let mut models = Vec::new();
        loop {
            py.check_signals()?;
            let jobs = &mut inbox;
            // Nobody waits for an answer any more if the estimate has failed otherwise.
            match py.detach(move || jobs.recv_timeout(TICK)) {
                Ok(Job::Fit { rows, target, reply }) => {
                    let model = self.fitted(py, rows, target)?;
                    let _ = reply.send((models.len(), model.outputs()));
                    models.push(model);
                }
                Ok(Job::Ask { model, rows, reply }) => {
                    let _ = reply.send(models[model].values_at(py, &rows)?);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn fitted(&self, py: Python<'_>, rows: Vec<f64>, target: Vec<f64>) -> PyResult<Callable> {
        let shape = [target.len(), self.data.dimension()];
        let rows = PyArray1::from_vec(py, rows).reshape(shape)?;
        let fitted = self.fit.call1((rows, PyArray1::from_vec(py, target)));
        let model = fitted.map_err(|cause| failed(py, cause))?;
        Callable::new(&model, (self.given, self.data), self.batch)
    }
}

/// An error whose cause a fit raised; an interruption stays what it is.
fn failed(py: Python<'_>, cause: PyErr) -> PyErr {
    let raised = model_failed(py, cause);
    match raised.cause(py) {
        Some(cause) if raised.is_instance_of::<PyModelError>(py) => {
            let error = PyModelError::new_err(format!("`fit` failed: {cause}"));
            error.set_cause(py, Some(cause));
            error
        }
        _ => raised,
    }
}
