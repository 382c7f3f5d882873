//! Signs of life on standard error: a bar on a terminal, elsewhere a line every quarter of a minute.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::system::say;

/// Time between lines where there is no bar.
const EVERY: Duration = Duration::from_secs(15);

/// Time between drawings of a bar.
const TICK: Duration = Duration::from_millis(250);

/// The bar before anything is finished, when nothing is known about the rest, and afterwards.
const BEGUN: &str = "{spinner} {bar:40} {msg}";
const GOING: &str = "{spinner} {bar:40} {msg}, {eta} left";

/// The work that is being done, if its size is known.
static WORK: Mutex<Option<Work>> = Mutex::new(None);

/// True if nothing is shown.
static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Writes a line every quarter of a minute from now on, until the process ends; or shows nothing.
pub(super) fn begin(is_quiet: bool) {
    if is_quiet {
        HIDDEN.store(true, Ordering::Relaxed);
        return;
    }
    let started = Instant::now();
    let _ = std::thread::Builder::new().spawn(move || {
        let mut last = String::new();
        loop {
            std::thread::sleep(EVERY);
            let work = WORK.lock().unwrap_or_else(PoisonError::into_inner);
            match &*work {
                Some(work) if !work.bar.is_hidden() => {}
                Some(work) => say::line(&work.described(work.started.elapsed())),
                None => {
                    // Whole minutes are said once.
                    let line = format!("at work for {}", spent(started.elapsed()));
                    if line != last {
                        say::line(&line);
                    }
                    last = line;
                }
            }
        }
    });
}

/// Time that has gone by, in whole minutes from the second on: never more than it was.
fn spent(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

/// Work of a known size.
#[derive(Debug)]
struct Work {
    bar: ProgressBar,
    /// The unit of counts: `cells`.
    what: &'static str,
    /// Their number, and their cost in any unit.
    all: Amount,
    /// The part that was done before it was begun.
    before: Amount,
    done: Amount,
    started: Instant,
}

/// A number of things, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Amount {
    pub number: usize,
    pub cost: u64,
}

impl std::ops::Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let number = self.number.saturating_add(other.number);
        Self { number, cost: self.cost.saturating_add(other.cost) }
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |sum, amount| sum + amount)
    }
}

/// Shows how far some work is, until it is dropped.
#[derive(Debug)]
pub(super) struct Progress;

impl Progress {
    /// Of work, some of which may have been done earlier.
    pub(super) fn new(what: &'static str, before: Amount, all: Amount) -> Self {
        let bar = match HIDDEN.load(Ordering::Relaxed) {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(all.cost),
        };
        bar.set_length(all.cost);
        bar.set_style(style(BEGUN));
        bar.set_position(before.cost);
        bar.reset_eta();
        let work = Work { bar, what, all, before, done: before, started: Instant::now() };
        work.bar.set_message(work.counted(0.0));
        if !work.bar.is_hidden() {
            // A dataset of a million rows takes longer than somebody waits for a sign of life.
            work.bar.enable_steady_tick(TICK);
        }
        *WORK.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        Self
    }

    /// Some of it is done.
    pub(super) fn add(&self, amount: Amount) {
        let mut work = WORK.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(work) = &mut *work else { return };
        if work.done == work.before {
            work.bar.set_style(style(GOING));
        }
        work.done = work.done + amount;
        work.bar.inc(amount.cost);
        work.bar.set_message(work.counted(work.started.elapsed().as_secs_f64()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(work) = WORK.lock().unwrap_or_else(PoisonError::into_inner).take() {
            work.bar.finish_and_clear();
        }
    }
}

impl Work {
    /// The number done, and that in a second.
    fn counted(&self, seconds: f64) -> String {
        let (done, all, what) = (self.done.number, self.all.number, self.what);
        if self.done == self.before {
            return format!("{done}/{all} {what}");
        }
        let rate = (done - self.before.number) as f64 / seconds.max(1e-3);
        let digits = usize::from(rate < 10.0);
        format!("{done}/{all} {what}, {rate:.digits$}/s")
    }

    /// Progress after some time, in a line.
    fn described(&self, after: Duration) -> String {
        let counted = self.counted(after.as_secs_f64());
        let cost = self.done.cost.saturating_sub(self.before.cost);
        if cost == 0 {
            return format!("{counted} after {}", spent(after));
        }
        let ahead = self.all.cost.saturating_sub(self.done.cost);
        let left = after.mul_f64((ahead as f64 / cost as f64).min(1e9));
        format!("{counted}, {} left", HumanDuration(left))
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_has_gone_by_is_never_told_longer_than_it_was() {
        for (seconds, known) in [(15, "15 seconds"), (90, "90 seconds"), (125, "2 minutes")] {
            assert_eq!(spent(Duration::from_secs(seconds)), known);
        }
        assert_eq!(spent(Duration::from_secs(7199)), "119 minutes");
    }

    #[test]
    fn a_line_says_how_far_it_is_how_fast_and_how_long() {
        let amount = |number, cost| Amount { number, cost };
        let mut work = Work {
            bar: ProgressBar::hidden(),
            what: "cells",
            all: amount(500, 1000),
            before: amount(100, 400),
            done: amount(100, 400),
            started: Instant::now(),
        };
        let after = Duration::from_secs(30);
        assert_eq!(work.described(after), "100/500 cells after 30 seconds");
        work.done = amount(220, 600);
        assert_eq!(work.described(after), "220/500 cells, 4.0/s, 60 seconds left");
    }
}
