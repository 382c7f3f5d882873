//! A model with a stopwatch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use fe_core::model::{Decorator, Question};
use fe_core::{Model, ModelError};

/// Passes everything on to a model and adds up the time that it takes.
pub(crate) struct Timed<'a> {
    model: &'a dyn Model,
    /// One for each thread of the pool, and the first for one that is not of it.
    threads: Vec<CachePadded<Watch>>,
}

/// What a thread spends in the model.
#[derive(Default)]
struct Watch {
    nanoseconds: AtomicU64,
    /// Calls that are not answered yet: a thread that waits within one may begin another.
    open: AtomicU64,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(model: &'a dyn Model) -> Self {
        let threads = 0..=rayon::current_num_threads();
        Self { model, threads: threads.map(|_| CachePadded::default()).collect() }
    }

    /// Wall time for which a thread was in the model so far, of the thread for which that was longest. So
    /// it is never more than the time that passed, however many threads there are.
    pub(crate) fn seconds(&self) -> f64 {
        let spent = self.threads.iter().map(|watch| watch.nanoseconds.load(Ordering::Relaxed));
        spent.max().unwrap_or_default() as f64 * 1e-9
    }
}

impl Watch {
    /// Adds the time of some work, unless it is part of other work that is timed.
    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.open.fetch_add(1, Ordering::Relaxed) > 0 {
            let answer = work();
            self.open.fetch_sub(1, Ordering::Relaxed);
            return answer;
        }
        let started = Instant::now();
        let answer = work();
        let spent = started.elapsed().as_nanos() as u64;
        self.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::Relaxed);
        answer
    }
}

impl Decorator for Timed<'_> {
    fn decorated(&self) -> &dyn Model {
        self.model
    }

    fn pass_on(
        &self,
        _: Question,
        values: &mut [f64],
        ask: &mut dyn FnMut(&mut [f64]) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let thread = rayon::current_thread_index().map_or(0, |index| index + 1);
        match self.threads.get(thread) {
            Some(watch) => watch.time(|| ask(values)),
            None => ask(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fe_core::model::{Column, FunctionModel, Rows};
    use rayon::prelude::*;

    use super::*;

    /// Half of the time of each of two threads, and calls within calls, are no more than all that passed.
    #[test]
    fn the_time_in_the_model_is_never_more_than_the_time_that_passed() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        pool.install(|| {
            let slow = FunctionModel::new(1, |x| {
                (0..2).into_par_iter().for_each(|_| std::thread::sleep(Duration::from_millis(1)));
                x[0]
            });
            let timed = Timed::new(&slow);
            let started = Instant::now();
            (0..64).into_par_iter().for_each(|_| {
                timed.predict(&Rows::new(&[Column::Constant(1.0)], 1), &mut [0.0]).unwrap();
            });
            let passed = started.elapsed().as_secs_f64();
            assert!(0.0 < timed.seconds() && timed.seconds() <= passed, "{}", timed.seconds());
        });
    }

    #[test]
    fn every_way_of_answering_is_timed() {
        let model = FunctionModel::new(1, |x| {
            std::thread::sleep(Duration::from_millis(1));
            x[0]
        });
        let timed = Timed::new(&model);
        let rows = [Column::Constant(1.0)];
        timed.predict_along(0, &[1.0, 2.0], &Rows::new(&rows, 1), &mut [0.0; 2]).unwrap();
        assert!(timed.seconds() >= 0.002);
    }
}
