//! A model with a stopwatch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fe_core::ModelError;
use fe_core::model::{Model, Rows};

/// The first rows, all of whose calls are timed; of later calls, the first after as many rows again.
/// Reading the clock takes as long as a cheap model takes for a hundred rows.
const ALL_TIMED: u64 = 1 << 12;

/// Passes everything on to a model and adds up the time that it takes.
pub(crate) struct Timed<'a> {
    model: &'a dyn Model,
    rows: AtomicU64,
    timed_rows: AtomicU64,
    nanoseconds: AtomicU64,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(model: &'a dyn Model) -> Self {
        let zero = || AtomicU64::new(0);
        Self { model, rows: zero(), timed_rows: zero(), nanoseconds: zero() }
    }

    /// Time spent in the model so far: that of the timed calls, for all rows.
    pub(crate) fn seconds(&self) -> f64 {
        let number = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64;
        let share = number(&self.rows) / number(&self.timed_rows).max(1.0);
        number(&self.nanoseconds) * share * 1e-9
    }

    fn time<T>(&self, rows: usize, work: impl FnOnce() -> T) -> T {
        let rows = rows as u64;
        let before = self.rows.fetch_add(rows, Ordering::Relaxed);
        if before >= ALL_TIMED && before / ALL_TIMED == (before + rows) / ALL_TIMED {
            return work();
        }
        let started = Instant::now();
        let answer = work();
        self.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.timed_rows.fetch_add(rows, Ordering::Relaxed);
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
        self.time(rows.len(), || self.model.predict(rows, values))
    }

    fn predicts_along(&self) -> bool {
        self.model.predicts_along()
    }

    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        let asked = rows.len() * places.len();
        self.time(asked, || self.model.predict_along(feature, places, rows, values))
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
        self.time(rows.len(), || self.model.partial(feature, rows, values))
    }
}

#[cfg(test)]
mod tests {
    use fe_core::model::{Column, FunctionModel};

    use super::*;

    /// Calls of some rows each, with what is timed of them.
    fn timed(calls: usize, len: usize) -> (u64, u64) {
        let model = FunctionModel::new(1, |x| x[0]);
        let timed = Timed::new(&model);
        let mut values = vec![0.0; len];
        for _ in 0..calls {
            timed.predict(&Rows::new(&[Column::Constant(1.0)], len), &mut values).unwrap();
        }
        let (rows, some) = (timed.rows.into_inner(), timed.timed_rows.into_inner());
        assert_eq!(rows, (calls * len) as u64);
        (rows, some)
    }

    #[test]
    fn few_rows_are_timed_all_and_many_now_and_then() {
        let (rows, some) = timed(40, 100);
        assert_eq!(rows, some);
        let (rows, some) = timed(10, 1 << 20);
        assert_eq!(rows, some);
        // 1024 calls of 256 rows: the first 16, and 63 afterwards.
        assert_eq!(timed(1024, 256), (1 << 18, (16 + 63) * 256));
    }
}
