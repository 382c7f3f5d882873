//! The most memory that an estimate takes beside its data: each in a process of its own, from what the
//! system says (Linux). Fails where it is more than may be.

use std::process::ExitCode;

use fe_benches::process::{after, again, answer, finish, memory};
use fe_benches::work::settings;
use fe_benches::{Piece, Result, data, friedman1, is_test};

const FEATURES: usize = 5;
const MEBIBYTE: f64 = 1048576.0;

/// The most that a whole process may take beside the data, in MiB.
const MOST: f64 = 64.0;

/// Estimator, options, rows, and columns that it has to put in order, which takes a copy of each.
const CASES: &[(&str, &str, usize, usize)] = &[
    ("ale", "bins = 100", 10_000_000, 0),
    ("ale", "binning = 'quantile', bins = 100", 10_000_000, 1),
    ("dale", "bins = 100", 10_000_000, 0),
    ("rhale", "bins = 100", 10_000_000, 0),
    ("rhale", "binning = 'quantile', bins = 100", 10_000_000, 1),
    ("pdp", "grid = 10", 100_000, 0),
    ("pdp", "grid = 1000", 100_000, 0),
    ("pdp", "grid = 10", 1_000_000, 0),
    ("pdp", "grid = 100", 1_000_000, 0),
];

fn main() -> ExitCode {
    finish(match after("--peak") {
        Some(which) => child(&which),
        None => parent(if is_test() { 1_000 } else { usize::MAX }),
    })
}

/// Prints how much memory this process takes once it has its data, and at most while it estimates.
fn child(which: &[String]) -> Result<bool> {
    let [estimator, options, rows, ..] = which else { return Err("a case is needed".into()) };
    let piece = Piece::new(estimator, None, settings(options)?)?;
    let scenario = friedman1(FEATURES)?;
    let data = data(&scenario, rows.parse()?)?;
    // Forgets how much making the data took.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = memory("VmHWM")?;
    piece.estimate(&data, scenario.model(), 0)?;
    println!("{before} {}", memory("VmHWM")?);
    Ok(true)
}

fn parent(most_rows: usize) -> Result<bool> {
    if memory("VmHWM").is_err() {
        eprintln!("memory: skipped, as the system does not tell the peak");
        return Ok(true);
    }
    println!("| work | rows | data, MiB | beside the data, MiB | of it the estimate, MiB |");
    println!("|---|---|---|---|---|");
    let mut holds = true;
    for &(estimator, options, rows, copies) in CASES {
        let rows = rows.min(most_rows);
        let which = ["--peak", estimator, options, &rows.to_string()].map(str::to_owned);
        let said = answer(&mut again(&which)?)?;
        let (before, peak) = said.split_once(' ').ok_or("a case did not say what it took")?;
        let [before, peak] = [before, peak].map(str::parse::<f64>);
        let (before, peak) = (before? / MEBIBYTE, peak? / MEBIBYTE);
        let column = (rows * size_of::<f64>()) as f64 / MEBIBYTE;
        let size = column * FEATURES as f64;
        let is_within = peak - size <= MOST + column * copies as f64;
        holds &= is_within;
        println!(
            "| `{estimator}`, {options} | {rows} | {size:.1} | {:.1}{} | {:.1} |",
            peak - size,
            if is_within { "" } else { " **too much**" },
            peak - before
        );
    }
    Ok(holds)
}
