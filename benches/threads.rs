//! Speed-up of estimates by a second thread, and that both give the same bytes: the
//! least time on the wall of several turns of each, in turns. Needs a machine that does nothing else. A turn
//! is one estimate that does not count, which wakes the threads, and as many more as take 20 ms. An
//! estimate is that of one feature, or of all features, as `effect` makes them.
//!
//! What two threads can give at most is measured beside it, as two threads of one core share its units:
//! how much faster two estimates are side by side than one after the other. With words only what has one
//! of them in its name.

use std::process::ExitCode;

use fe_benches::clock::wall;
use fe_benches::process::finish;
use fe_benches::work::{ALL, erased::Bytes};
use fe_benches::{Result, Work, data, friedman1, is_test, on_threads};
use fe_core::estimator::each_feature;

const FEATURES: usize = 7;
const TURNS: usize = 7;
/// Seconds of a turn.
const TURN: f64 = 0.02;

/// Rows, as far as the work allows.
const ROWS: [usize; 2] = [100_000, 1_000_000];

/// From so many rows on two threads should come so close to what the machine has for two of them: 1.8
/// times on two cores.
const MANY: usize = 100_000;
const LEAST: f64 = 0.9;

fn main() -> ExitCode {
    finish(all().map(|()| true))
}

fn all() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!(
        "| work | rows | features | one thread, ms | two threads, ms | faster | the machine |"
    );
    println!("|---|---|---|---|---|---|---|");
    for work in ALL {
        if !words.is_empty() && !words.iter().any(|word| work.name.contains(word)) {
            continue;
        }
        let mut sizes = ROWS.map(|rows| rows.min(work.most_rows)).to_vec();
        sizes.dedup();
        if is_test() {
            sizes = vec![200];
        }
        for rows in sizes {
            compare(work, rows, 1)?;
            if rows <= ROWS[0] {
                compare(work, rows, FEATURES)?;
            }
        }
    }
    Ok(())
}

fn compare(work: &Work, rows: usize, features: usize) -> Result<()> {
    let scenario = friedman1(FEATURES)?;
    let data = data(&scenario, rows)?;
    let piece = work.prepare()?;
    let asked: Vec<usize> = (0..features).collect();
    let estimate =
        || each_feature(&asked, |&feature| piece.estimate(&data, scenario.model(), feature));
    let bytes = |effects: Vec<Box<dyn Bytes>>| -> Result<Vec<Vec<u8>>> {
        effects.iter().map(|effect| effect.bytes()).collect()
    };
    // The first estimate also summarises the feature, and counts for nothing.
    let (seconds, effects) = wall(estimate)?;
    let (expected, times) = (bytes(effects)?, (TURN / seconds).ceil() as usize);
    let timed = |threads| on_threads(threads, || each_of(times, estimate));
    // The same estimates twice, side by side, with nothing in common but the machine.
    let side_by_side = || {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| timed(1));
            let here = timed(1)?.0;
            let there = other.join().unwrap_or_else(|_| Err("a thread ended".into()))?.0;
            Result::Ok(here.max(there))
        })
    };
    let (mut one, mut two, mut both) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..if is_test() { 1 } else { TURNS } {
        for (threads, least) in [(1, &mut one), (2, &mut two)] {
            let (seconds, effects) = timed(threads)?;
            *least = least.min(seconds);
            if bytes(effects)? != expected {
                return Err(
                    format!("`{}` gives other bytes on {threads} threads", work.name).into()
                );
            }
        }
        both = both.min(side_by_side()?);
    }
    let (faster, machine) = (one / two, 2.0 * one / both);
    let low = if rows >= MANY && faster < LEAST * machine { " **low**" } else { "" };
    println!(
        "| {} | {rows} | {features} | {:.2} | {:.2} | {faster:.2}{low} | {machine:.2} |",
        work.name,
        1e3 * one,
        1e3 * two,
    );
    Ok(())
}

/// Seconds of each of some equal pieces of work, after one more, with what the last of them gives.
fn each_of<T>(times: usize, work: impl Fn() -> Result<T>) -> Result<(f64, T)> {
    let mut last = work()?;
    let (seconds, ()) = wall(|| {
        for _ in 0..times {
            last = work()?;
        }
        Ok(())
    })?;
    Ok((seconds / times as f64, last))
}
