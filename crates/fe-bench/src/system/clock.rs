//! A model with a stopwatch.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use fe_core::Model;
use fe_core::model::{Answered, Ask, Decorator, Question};

/// Cost of an estimate: time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Taken {
    /// Wall time of the estimator, its model included.
    pub seconds: f64,
    /// Wall time spent in the model.
    pub model_seconds: f64,
    /// The most memory that the process of an external estimator held.
    pub peak_bytes: Option<u64>,
}

/// The first rows of a thread, all of whose calls are timed; of later calls, the first after as many rows
/// again. Reading the clock takes as long as a cheap model takes for a hundred rows.
const ALL_TIMED: u64 = 1 << 12;

/// A call that takes so many times as long for each row as the fastest was interrupted: it counts, but says
/// nothing of calls that were not timed.
const INTERRUPTED: f64 = 10.0;

/// Passes everything on to a model and adds up the time that it takes.
pub(crate) struct Timed<'a> {
    model: &'a dyn Model,
    /// One for each thread of the pool, and the first for one that is not of it.
    threads: Vec<CachePadded<Mutex<Watch>>>,
}

/// Time that a thread spends in the model.
#[derive(Default)]
struct Watch {
    rows: u64,
    untimed_rows: u64,
    seconds: f64,
    /// Timed rows, and their time, of calls that were not interrupted.
    typical: (u64, f64),
    /// Least time for a row.
    fastest: f64,
    /// True if a call is not answered yet: a thread that waits within one may begin another.
    is_busy: bool,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(model: &'a dyn Model) -> Self {
        let threads = 0..=rayon::current_num_threads();
        let threads = threads.map(|_| CachePadded::default()).collect();
        Self { model, threads }
    }

    /// Wall time for which a thread was in the model, of the thread for which that was longest: never more
    /// than the time that passed, however many threads there are.
    pub(crate) fn seconds_of(&self, passed: f64) -> f64 {
        let spent = self.threads.iter().map(|watch| lock(watch).all_seconds());
        spent.fold(0.0, f64::max).min(passed)
    }
}

impl Watch {
    fn all_seconds(&self) -> f64 {
        let (rows, seconds) = self.typical;
        self.seconds + self.untimed_rows as f64 * seconds / rows.max(1) as f64
    }

    /// True if a call is to be timed; one within another is not.
    fn begin(&mut self, rows: u64) -> bool {
        if self.is_busy {
            return false;
        }
        let before = self.rows;
        self.rows += rows;
        if before >= ALL_TIMED && before / ALL_TIMED == self.rows / ALL_TIMED {
            self.untimed_rows += rows;
            return false;
        }
        self.is_busy = true;
        true
    }

    fn end(&mut self, rows: u64, seconds: f64) {
        self.is_busy = false;
        self.seconds += seconds;
        let of_row = seconds / rows.max(1) as f64;
        if self.typical.0 == 0 || of_row < self.fastest {
            self.fastest = of_row;
        }
        if of_row <= INTERRUPTED * self.fastest {
            self.typical.0 += rows;
            self.typical.1 += seconds;
        }
    }
}

/// Each has one thread, so nobody waits.
fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Decorator for Timed<'_> {
    fn decorated(&self) -> &dyn Model {
        self.model
    }

    fn pass_on(&self, question: Question, values: &mut [f64], ask: &mut Ask<'_>) -> Answered {
        let thread = rayon::current_thread_index().map_or(0, |index| index + 1);
        let rows = (question.rows * question.times) as u64;
        let Some(watch) = self.threads.get(thread) else { return ask(values) };
        if !lock(watch).begin(rows) {
            return ask(values);
        }
        let started = Instant::now();
        let answer = ask(values);
        lock(watch).end(rows, started.elapsed().as_secs_f64());
        answer
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
            let spent = timed.seconds_of(f64::INFINITY);
            assert!(0.0 < spent && spent <= passed, "{spent} of {passed}");
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
        assert!(timed.seconds_of(1e9) >= 0.002);
        assert_eq!(timed.seconds_of(0.001), 0.001);
    }

    /// Calls of some rows each: what is timed of them, and of how many rows.
    fn timed(calls: usize, len: usize) -> (u64, u64) {
        let model = FunctionModel::new(1, |x| x[0]);
        let timed = Timed::new(&model);
        let mut values = vec![0.0; len];
        for _ in 0..calls {
            timed.predict(&Rows::new(&[Column::Constant(1.0)], len), &mut values).unwrap();
        }
        let watch = lock(&timed.threads[0]);
        assert_eq!(watch.rows, (calls * len) as u64);
        (watch.rows, watch.rows - watch.untimed_rows)
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

    #[test]
    fn a_call_that_was_interrupted_says_nothing_of_others() {
        let mut watch = Watch::default();
        for call in 0..1000 {
            if watch.begin(256) {
                watch.end(256, if call == 511 { 1.0 } else { 1e-6 });
            }
        }
        assert!((watch.all_seconds() - 1.0 - 1e-3).abs() < 1e-5, "{}", watch.all_seconds());
    }
}
