//! The threads that Rust computes on, while the thread that called from Python looks for signals.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fe_core::interrupt::{self, Stop, Stopped};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::Raise;

/// Time between looks for signals while Rust computes.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Threads that work together, and what stops them. Each call from Python has its own, which the next one takes
/// over: to be stopped concerns nobody else.
struct Crew {
    pool: ThreadPool,
    stop: &'static Stop,
}

impl Crew {
    /// As many threads as there are cores, or `RAYON_NUM_THREADS`.
    fn new() -> PyResult<Self> {
        let stop: &'static Stop = Box::leak(Box::default());
        let pool = ThreadPoolBuilder::new().start_handler(move |_| interrupt::obey(stop)).build();
        Ok(Self { pool: pool.map_err(|e| e.to_string().raise())?, stop })
    }
}

/// Threads that nobody uses, and the process that they belong to: one that was forked has none of its parent's.
static IDLE: Mutex<(u32, Vec<Crew>)> = Mutex::new((0, Vec::new()));

fn idle() -> MutexGuard<'static, (u32, Vec<Crew>)> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.0 != std::process::id() {
        // The end of the parent's threads cannot be waited for here, where there are none.
        std::mem::forget(std::mem::take(&mut idle.1));
        idle.0 = std::process::id();
    }
    idle
}

/// The switch that stops the threads of one call, until it is dropped.
pub(crate) struct OwnStop(&'static Stop);

/// Those that no call has: so few are ever made that they may live for good.
static FREE: Mutex<Vec<&'static Stop>> = Mutex::new(Vec::new());

impl OwnStop {
    pub(crate) fn new() -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stop = free.unwrap_or_else(|| Box::leak(Box::default()));
        stop.clear();
        Self(stop)
    }

    pub(crate) fn get(&self) -> &'static Stop {
        self.0
    }
}

impl Drop for OwnStop {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// Computes on threads of its own, without the interpreter's lock. A signal whose handler raises ends the work
/// within a moment; no thread goes on after that.
///
/// # Errors
/// What the handler raised.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let own = idle().1.pop();
    let crew = own.map_or_else(Crew::new, Ok)?;
    crew.stop.clear();
    let (sender, result) = mpsc::sync_channel(1);
    let done = crew.pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            // It is always waited for.
            let _ = sender.send(interrupt::under(work));
        });
        wait(py, crew.stop, result)
    });
    idle().1.push(crew);
    done
}

fn wait<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    mut result: Receiver<Result<T, Stopped>>,
) -> PyResult<T> {
    const PANICKED: &str = "the computation panicked: this is a mistake of the library";
    loop {
        let inbox = &mut result;
        match py.detach(move || inbox.recv_timeout(TICK)) {
            Ok(done) => return done.map_err(|stopped| stopped.to_string().raise()),
            Err(RecvTimeoutError::Disconnected) => return Err(PANICKED.raise()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(raised) = py.check_signals() {
            stop.ask();
            let inbox = &mut result;
            let _ = py.detach(move || inbox.recv());
            return Err(raised);
        }
    }
}
