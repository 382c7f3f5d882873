//! The runner: cells of studies on threads. It names no estimator and no scenario.
//!
//! It imports `record`, `study`, `engines`, `score`, `data` and what these import. Begin with [`run`]; `task` is one
//! dataset from its rows to its records.

mod context;
mod estimate;
mod expected;
pub mod forecast;
mod indices;
pub mod kinds;
mod learner;
mod pairs;
pub mod prepared;
mod regions;
mod surfaces;
mod task;
mod truth;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engines::Engines;
use crate::error::{Error, Result};
use crate::record::journal::{Entry, Journal, Log};
use crate::study::models::Fitting;
use crate::study::tasks::{Plan, Planned};
use context::Task;
use forecast::Work;
use prepared::Prepared;

/// Runs the datasets that are asked for and that a journal does not have yet on `jobs` threads, and enters them there.
///
/// Datasets are drawn from a seed; where a reason is given to abandon them, nothing is computed, and their records
/// have it. External estimators are asked of `engines`. What is entered does not depend on the threads.
/// `progress` is told of each dataset that was finished: how many cells it has, and its share of the
/// work, as [`cost`] weighs it.
///
/// # Errors
/// Only what makes the whole run impossible; a cell that fails is a record.
pub fn run(
    plan: &Plan<'_>,
    engines: &Engines,
    (seed, abandoned): (u64, Option<&str>),
    jobs: usize,
    journal: &mut Journal,
    progress: &(dyn Fn(usize, u64) + Sync),
) -> Result<()> {
    let mut order = journal.outstanding(plan);
    let states: Vec<State> = plan.groups.iter().map(|_| State::default()).collect();
    for &task in &order {
        states[plan.locate(task).0].left.fetch_add(1, Ordering::Relaxed);
    }
    let costs: Vec<u64> = plan.groups.iter().map(|planned| cost(planned)).collect();
    // Long tasks first, so that none of them is left for the end.
    order.sort_by_key(|&task| std::cmp::Reverse(costs[plan.locate(task).0]));
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |mut log: Log| {
        let mut entries = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let Some(&task) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let (group, replicate) = plan.locate(task);
            let planned = &plan.groups[group];
            let prepared = states[group].prepared(planned);
            let of_f = Fitting::of_f();
            let fitting = planned.group.fitting.as_ref().unwrap_or(&of_f);
            let prepared = &prepared;
            let parts =
                Task { planned, prepared, engines, seed, replicate, fitting, abandoned }.run();
            let parts = parts.map_err(|e| Error::Argument(e.to_string()))?;
            entries.push((task, log.append(task, &parts)?));
            states[group].one_less();
            progress(planned.group.estimates(), costs[group]);
        }
        log.sync()?;
        Ok(entries)
    };
    let watched = |log: Log| -> Result<Vec<(usize, Entry)>> {
        let done = work(log);
        if done.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        done
    };
    // A pool of one thread per worker: estimators must not share time with other cells.
    let alone = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
    // No more threads than there are datasets.
    let logs = journal.begin_logs(jobs.min(order.len()))?;
    let results: Vec<Result<Vec<(usize, Entry)>>> = std::thread::scope(|scope| {
        let spawn = |log: Log| {
            let work = || match alone() {
                Ok(pool) => pool.install(|| watched(log)),
                Err(_) => watched(log),
            };
            let worker = std::thread::Builder::new().spawn_scoped(scope, work);
            worker.inspect_err(|_| stop.store(true, Ordering::Relaxed))
        };
        let workers: Vec<_> = logs.into_iter().map(spawn).collect();
        let failed = |what: String| Err(Error::Argument(what));
        let join = |worker: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match worker {
            Ok(worker) => worker
                .join()
                .unwrap_or_else(|_| failed("a thread of the run ended too early".to_owned())),
            Err(e) => failed(format!("a thread of the run cannot be started (--jobs {jobs}): {e}")),
        };
        workers.into_iter().map(join).collect()
    });
    for entries in results {
        journal.enter(entries?);
    }
    Ok(())
}

/// The weight of a dataset's work.
#[must_use]
pub fn cost(planned: &Planned<'_>) -> u64 {
    Work::of(planned.group, 1).weight(planned.group.rows)
}

/// State that the datasets of a group share while the group is run.
#[derive(Default)]
struct State {
    prepared: Mutex<Option<Arc<Prepared>>>,
    left: AtomicUsize,
}

impl State {
    fn prepared(&self, planned: &Planned<'_>) -> Arc<Prepared> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(prepared.get_or_insert_with(|| Arc::new(Prepared::new(planned.group))))
    }

    /// Forgets what is shared after the last dataset.
    fn one_less(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}
