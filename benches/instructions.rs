//! Instruction counts of the kernels, beside the recorded numbers: fails where one takes over 3 %
//! more. `cargo bench --bench instructions -- --save` records them.
//!
//! Counts depend on the compiler, its profile and the instruction set, so that these are recorded; with
//! other ones the counts are printed and nothing is compared. Without valgrind nothing is counted.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use fe_benches::callgrind::{counted_work, instruction_set, instructions, version};
use fe_benches::process::{after, answer, finish};
use fe_benches::{Result, Work, data, fresh, friedman1, is_test, on_threads};
use serde::{Deserialize, Serialize};

/// By how much of itself a count may grow.
const MOST_GROWTH: f64 = 0.03;

/// Features of the data.
const FEATURES: usize = 7;

/// A kernel: its work, on how many rows, and whether the feature is summarised first.
struct Kernel {
    work: Work,
    rows: usize,
    first: bool,
}

impl Kernel {
    const fn new(
        name: &'static str,
        rows: usize,
        estimator: &'static str,
        options: &'static str,
    ) -> Self {
        Self { work: Work::new(name, estimator, options), rows, first: false }
    }

    const fn first(self) -> Self {
        Self { first: true, ..self }
    }
}

const KERNELS: &[Kernel] = &[
    Kernel::new("ale-fixed", 50_000, "ale", "bins = 100"),
    Kernel::new("ale-fixed-first", 50_000, "ale", "bins = 100").first(),
    Kernel::new("ale-fixed-1000", 50_000, "ale", "bins = 1000"),
    Kernel::new("ale-part", 50_000, "ale", "bins = 100, axis.given = [0.1, 0.9]"),
    Kernel::new("ale-quantile", 20_000, "ale", "binning = 'quantile', bins = 100"),
    Kernel::new("ale-quantile-min", 10_000, "ale", "binning = 'quantile-min', min_points = 4.0"),
    Kernel::new("dale-fixed", 100_000, "dale", "bins = 100"),
    Kernel::new("rhale-dp", 100_000, "rhale", "bins = 100"),
    Kernel::new("rhale-dp-few", 1_000, "rhale", "bins = 100, min_points = 2.0"),
    Kernel::new("rhale-dp-400", 1_000, "rhale", "bins = 400, min_points = 2.0"),
    Kernel::new("rhale-greedy", 50_000, "rhale", "binning = 'greedy', bins = 100"),
    Kernel::new("rhale-agglomerative", 50_000, "rhale", "binning = 'agglomerative', bins = 100"),
    Kernel::new("pdp", 4_096, "pdp", "grid = 100"),
    Kernel::new("pdp-curve", 4_096, "pdp", "grid = 100, curve_only = true"),
    Kernel::new("dpdp", 4_096, "dpdp", "grid = 100"),
    Kernel::new("ice", 2_048, "ice", "grid = 100"),
    Kernel::new("mplot-bins", 50_000, "mplot", "bins = 20"),
    Kernel::new("mplot-nearest", 20_000, "mplot", "nearest = 100, grid = 100"),
    Kernel::new("shapdp-exact", 64, "shapdp", ""),
    Kernel::new("shapdp-permutations", 64, "shapdp", "permutations = 4, background = 50"),
    Kernel::new("regional-pdp", 4_096, "regional-pdp", "grid = 30"),
    Kernel::new("regional-ale", 20_000, "regional-ale", "bins = 20"),
    Kernel::new("regional-rhale", 20_000, "regional-rhale", "bins = 20"),
    Kernel::new("regional-shapdp", 64, "regional-shapdp", ""),
];

/// The recorded counts of one instruction set and profile.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    /// The compiler.
    rustc: String,
    /// Instructions by kernel.
    counts: BTreeMap<String, u64>,
}

type Baselines = BTreeMap<String, Recorded>;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.toml");

fn main() -> ExitCode {
    finish(match after("--kernel") {
        Some(name) => child(&name),
        None if is_test() => KERNELS.iter().try_for_each(|kernel| run(kernel, 100)).map(|()| true),
        None => parent(after("--save").is_some()),
    })
}

/// Runs one kernel on one thread, for callgrind to count; or says what is counted.
fn child(name: &[String]) -> Result<bool> {
    match name {
        [] => {
            let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
            println!("{}-{profile}", instruction_set());
        }
        [name, ..] => {
            let kernel = KERNELS.iter().find(|kernel| kernel.work.name == name);
            run(kernel.ok_or("no such kernel")?, usize::MAX)?;
        }
    }
    Ok(true)
}

fn run(kernel: &Kernel, most_rows: usize) -> Result<()> {
    let scenario = friedman1(FEATURES)?;
    let data = data(&scenario, kernel.rows.min(most_rows))?;
    let piece = kernel.work.prepare()?;
    on_threads(1, || {
        // What is left of the first estimate is a summary of the feature.
        piece.estimate(&data, scenario.model(), 0)?;
        let data = if kernel.first { fresh(&data)? } else { data };
        counted_work(|| piece.estimate(&data, scenario.model(), 0)).map(|_| ())
    })
}

fn parent(save: bool) -> Result<bool> {
    let Some(valgrind) = version() else {
        eprintln!("instruction counts: skipped, as valgrind is not installed");
        return Ok(true);
    };
    let set =
        answer(Command::new("valgrind").arg("-q").arg(std::env::current_exe()?).arg("--kernel"))?;
    let rustc = answer(Command::new("rustc").arg("--version"))?;
    println!("{valgrind}, {rustc}, {set}");
    let mut counts = BTreeMap::new();
    let text = if std::fs::exists(FILE)? { std::fs::read_to_string(FILE)? } else { String::new() };
    let mut baselines: Baselines = toml::from_str(&text)?;
    let recorded = baselines.get(&set).filter(|recorded| recorded.rustc == rustc);
    println!("{:<22}{:>14}{:>14}{:>10}", "kernel", "instructions", "recorded", "growth");
    let mut holds = true;
    for kernel in KERNELS {
        let name = kernel.work.name;
        let count = instructions(&["--kernel".to_owned(), name.to_owned()])?;
        let before = recorded.and_then(|recorded| recorded.counts.get(name));
        let growth = before.map(|&before| count as f64 / before as f64 - 1.0);
        let verdict = match growth {
            Some(growth) if growth > MOST_GROWTH => "  more than allowed",
            Some(growth) if growth < -MOST_GROWTH => "  less: record it",
            None if recorded.is_some() => "  not recorded",
            _ => "",
        };
        holds &= !verdict.contains("more") && !verdict.contains("not");
        let shown = |value: Option<String>| value.unwrap_or_default();
        println!(
            "{name:<22}{count:>14}{:>14}{:>10}{verdict}",
            shown(before.map(u64::to_string)),
            shown(growth.map(|growth| format!("{:+.2} %", 100.0 * growth)))
        );
        counts.insert(name.to_owned(), count);
    }
    if save {
        baselines.insert(set, Recorded { rustc, counts });
        std::fs::write(FILE, toml::to_string(&baselines)?)?;
        println!("recorded in {FILE}");
        return Ok(true);
    }
    if recorded.is_none() {
        eprintln!(
            "nothing is recorded of this compiler, profile and instruction set: not compared"
        );
    } else if !holds {
        eprintln!(
            "find out what grew, or record it: cargo bench -p fe-benches --bench instructions -- --save"
        );
    }
    Ok(holds)
}
