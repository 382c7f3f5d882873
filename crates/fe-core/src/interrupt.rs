//! Work that can be stopped from outside, such as by Ctrl-C in a notebook.
//!
//! Imports nothing of the crate.
//!
//! A thread that works under a [`Stop`] looks at it wherever long work comes by (a block of rows, a question to a
//! model, a resample, a panel of a quadrature) by [`check`]: once it is asked for, the stack is unwound up to
//! [`under`], without a message. All that was begun is dropped, and no thread works on for nobody. Where no one
//! can ask for a stop, `check` reads one pointer of the thread.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Steps of a loop of a few nanoseconds each between two looks.
pub(crate) const UNINTERRUPTED: usize = 64;

thread_local! {
    static OF_THREAD: Cell<Option<&'static Stop>> = const { Cell::new(None) };
}

/// A flag that stops the work of some threads.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// One that nobody has asked for.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks all threads that work under it to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes that back, for the next work.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The work was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

/// Puts this thread under a stop for all that it does from now on, such as a thread of a pool when it starts.
pub fn obey(stop: &'static Stop) {
    OF_THREAD.set(Some(stop));
}

/// The stop that this thread is under, for threads that it starts to [`obey`] as well.
#[must_use]
pub fn obeyed() -> Option<&'static Stop> {
    OF_THREAD.get()
}

/// Does some work, on this thread and those of its pool, that [`check`] may end. A panic goes on its way.
///
/// ```
/// use fe_core::interrupt::{self, Stop, Stopped};
/// static STOP: Stop = Stop::new();
/// interrupt::obey(&STOP);
/// assert_eq!(interrupt::under(|| { interrupt::check(); 1 }), Ok(1));
/// STOP.ask();
/// assert_eq!(interrupt::under(|| { interrupt::check(); 1 }), Err(Stopped));
/// ```
///
/// # Errors
/// [`Stopped`] where it was ended.
pub fn under<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<Stopped>() {
        Ok(stopped) => *stopped,
        Err(panic) => resume_unwind(panic),
    })
}

/// Ends the work of this thread if it was asked to stop; otherwise does next to nothing.
#[inline]
pub fn check() {
    if OF_THREAD.get().is_some_and(|stop| stop.0.load(Ordering::Relaxed)) {
        leave();
    }
}

/// Unwinds as a panic does, but without the hook that would print something.
#[cold]
fn leave() {
    resume_unwind(Box::new(Stopped));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_a_pool_is_stopped_and_panics_are_not_swallowed() {
        static STOP: Stop = Stop::new();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(|_| obey(&STOP));
        let pool = pool.build().unwrap();
        let endless = || {
            rayon::join(
                || STOP.ask(),
                || loop {
                    check();
                },
            );
        };
        assert_eq!(pool.install(|| under(endless)), Err(Stopped));
        STOP.clear();
        assert_eq!(pool.install(|| under(|| rayon::join(check, || 3).1)), Ok(3));
        let panicking = || pool.install(|| under(|| resume_unwind(Box::new("panic"))));
        assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
        // A thread that obeys nothing goes on.
        STOP.ask();
        check();
    }
}
