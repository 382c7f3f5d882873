//! A model with a stopwatch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fe_core::ModelError;
use fe_core::model::{Model, Rows};

/// Passes everything on to a model and adds up the time that it takes.
pub(crate) struct Timed<'a> {
    model: &'a dyn Model,
    nanoseconds: AtomicU64,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(model: &'a dyn Model) -> Self {
        Self { model, nanoseconds: AtomicU64::new(0) }
    }

    /// Time spent in the model so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9
    }

    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let answer = work();
        self.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        answer
    }
}

impl Model for Timed<'_> {
    fn dimension(&self) -> usize {
        self.model.dimension()
    }

    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.time(|| self.model.predict(rows, values))
    }

    fn has_partial(&self) -> bool {
        self.model.has_partial()
    }

    fn partial(
        &self,
        feature: usize,
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        self.time(|| self.model.partial(feature, rows, values))
    }
}
