//! How much faster estimates are on two threads than on one, and that both give the same bytes: the
//! least time on the wall of several turns of each, in turns. Needs a machine that does nothing else.

use std::process::ExitCode;

use fe_benches::clock::wall;
use fe_benches::process::finish;
use fe_benches::work::ALL;
use fe_benches::{Result, Work, data, friedman1, is_test, on_threads};

const FEATURES: usize = 7;
const TURNS: usize = 7;

/// Rows, as far as the work allows.
const ROWS: [usize; 2] = [100_000, 1_000_000];

/// From so many rows on two threads should be faster by so much.
const MANY: usize = 100_000;
const LEAST: f64 = 1.8;

fn main() -> ExitCode {
    finish(all().map(|()| true))
}

fn all() -> Result<()> {
    println!("| work | rows | one thread, ms | two threads, ms | faster |");
    println!("|---|---|---|---|---|");
    for work in ALL {
        let mut sizes = ROWS.map(|rows| rows.min(work.most_rows)).to_vec();
        sizes.dedup();
        if is_test() {
            sizes = vec![200];
        }
        for rows in sizes {
            compare(work, rows)?;
        }
    }
    Ok(())
}

fn compare(work: &Work, rows: usize) -> Result<()> {
    let scenario = friedman1(FEATURES)?;
    let data = data(&scenario, rows)?;
    let piece = work.prepare()?;
    let timed = |threads| {
        on_threads(threads, || wall(|| piece.estimate(&data, scenario.model(), 0)))
            .and_then(|(seconds, effect)| Ok((seconds, effect.bytes()?)))
    };
    let mut least = [f64::INFINITY; 2];
    // The first estimate also summarises the feature, and counts for nothing.
    let (_, expected) = timed(1)?;
    for _ in 0..if is_test() { 1 } else { TURNS } {
        for (threads, least) in [1, 2].into_iter().zip(&mut least) {
            let (seconds, bytes) = timed(threads)?;
            *least = least.min(seconds);
            if bytes != expected {
                return Err(
                    format!("`{}` gives other bytes on {threads} threads", work.name).into()
                );
            }
        }
    }
    let [one, two] = least;
    let low = if rows >= MANY && one / two < LEAST { " **below 1.8**" } else { "" };
    println!(
        "| {} | {rows} | {:.2} | {:.2} | {:.2}{low} |",
        work.name,
        1e3 * one,
        1e3 * two,
        one / two
    );
    Ok(())
}
