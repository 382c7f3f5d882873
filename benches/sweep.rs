//! Times of a study's sweeps: every kind of estimate (scenario, rows, feature, estimator, bins) on its first dataset, on
//! one thread, by criterion; written under the keys of the study's errors, so that `fe-bench table` and `fe-bench plot`
//! join them by `--timings`.
//!
//! `cargo bench --bench sweep -- STUDY.toml [--out FILE.csv] [--feature S,…] [--seed S] [--seconds T] [--samples N]
//! [--save-baseline NAME | --baseline NAME]`; paths are those of the workspace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use fe_bench::plot::write_whole;
use fe_bench::record::speeds::{self, Speed};
use fe_bench::run::kinds::{self, Kind};
use fe_bench::run::prepared::Prepared;
use fe_bench::study::Study;
use fe_bench::study::tasks::{Plan, Planned};
use fe_benches::{Result, is_test, on_threads, process};
use fe_core::Dataset;
use serde::Deserialize;

const USAGE: &str = "usage: cargo bench --bench sweep -- STUDY.toml [--out FILE.csv] [--feature S,…] [--seed S] \
                     [--seconds T] [--samples N] [--save-baseline NAME | --baseline NAME]";

/// The arguments of the bench.
struct Arguments {
    study: PathBuf,
    out: PathBuf,
    /// Names of features; all if none is named.
    features: Vec<String>,
    seed: u64,
    /// Time for the samples of a kind, in seconds.
    seconds: f64,
    samples: usize,
    /// The baseline to be saved, or to be compared with.
    save: Option<String>,
    compare: Option<String>,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut all = Self {
            study: PathBuf::new(),
            out: PathBuf::new(),
            features: Vec::new(),
            seed: 0,
            seconds: 0.5,
            samples: 10,
            save: None,
            compare: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                // As cargo calls every bench.
                "--bench" => {}
                "--out" => all.out = in_workspace(&value()?),
                "--feature" => all.features = value()?.split(',').map(str::to_owned).collect(),
                "--seed" => all.seed = value()?.parse()?,
                "--seconds" => all.seconds = value()?.parse()?,
                "--samples" => all.samples = value()?.parse()?,
                "--save-baseline" => all.save = Some(value()?),
                "--baseline" => all.compare = Some(value()?),
                flag if flag.starts_with('-') => Err(format!("{flag} is unknown\n{USAGE}"))?,
                study if all.study.as_os_str().is_empty() => all.study = in_workspace(study),
                more => Err(format!("{more}: one study is timed at a time\n{USAGE}"))?,
            }
        }
        all.check()
    }

    fn check(mut self) -> Result<Self> {
        if self.study.as_os_str().is_empty() {
            Err(USAGE)?;
        }
        if !(self.seconds > 0.0 && self.seconds <= 3600.0) {
            Err("--seconds must be above 0 and at most 3600")?;
        }
        // Fewer are too few for criterion.
        if !(10..=10_000).contains(&self.samples) {
            Err("--samples must be from 10 to 10000")?;
        }
        if self.save.is_some() && self.compare.is_some() {
            Err("--save-baseline and --baseline: one of them")?;
        }
        if self.out.as_os_str().is_empty() {
            let name = self.study.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            self.out = in_workspace(&format!("results/runs/{name}-speed.csv"));
        }
        if self.out.exists() {
            Err(format!(
                "{}: is there already, and results are never overwritten",
                self.out.display()
            ))?;
        }
        Ok(self)
    }

    fn criterion(&self) -> Criterion {
        let criterion = Criterion::default()
            .without_plots()
            .sample_size(self.samples)
            .warm_up_time(Duration::from_secs_f64(0.2 * self.seconds))
            .measurement_time(Duration::from_secs_f64(self.seconds))
            .output_directory(&folder());
        match (&self.save, &self.compare) {
            (Some(name), _) => criterion.save_baseline(name.clone()),
            (None, Some(name)) => criterion.retain_baseline(name.clone(), true),
            (None, None) => criterion,
        }
    }

    /// Folder of a kind in which criterion puts what it found.
    fn found(&self) -> &str {
        self.save.as_deref().unwrap_or("new")
    }
}

/// A path of the workspace: benches are run in a folder of their own.
fn in_workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Where criterion puts what it found.
fn folder() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| in_workspace("target"), PathBuf::from);
    target.join("criterion-sweep")
}

/// A name of a folder that is not cut or changed by criterion, which allows 64 bytes.
fn folder_name(place: usize, kind: &Kind<'_>) -> String {
    let key = &kind.key;
    let bins = if key.bins.is_empty() { String::new() } else { format!(" K={}", key.bins) };
    let name = format!("{place:04} N={} {} {}{bins}", key.rows, key.feature, key.estimator);
    let plain = |c: char| if c.is_ascii_alphanumeric() || " =-_.".contains(c) { c } else { '_' };
    name.chars().take(60).map(plain).collect::<String>().trim().to_owned()
}

/// The parts of criterion's record that are read.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    standard_error: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

fn speed(arguments: &Arguments, path: &Path, kind: &Kind<'_>) -> Result<Speed> {
    let path = path.join(arguments.found()).join("estimates.json");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let Estimates { median } = serde_json::from_str(&text)?;
    let seconds = |nanoseconds: f64| nanoseconds * 1e-9;
    let Interval { lower_bound, upper_bound } = median.confidence_interval;
    Ok(Speed {
        key: kind.key.clone(),
        seconds: seconds(median.point_estimate),
        standard_error: seconds(median.standard_error),
        interval: (seconds(lower_bound), seconds(upper_bound)),
        samples: arguments.samples,
    })
}

/// The kinds of a group that are asked for, with the data that they are timed on.
fn chosen<'a>(
    arguments: &Arguments,
    planned: &'a Planned<'a>,
    prepared: &'a Prepared,
) -> Result<(Dataset, Vec<Kind<'a>>)> {
    let data = kinds::first_data(planned, arguments.seed)?;
    let asked = |kind: &Kind<'_>| {
        arguments.features.is_empty() || arguments.features.contains(&kind.key.feature)
    };
    Ok((data, kinds::of_group(planned, prepared).into_iter().filter(asked).collect()))
}

fn measure(arguments: &Arguments) -> Result<Vec<Speed>> {
    let studies = [Study::read(&arguments.study)?];
    let plan = Plan::new(&studies);
    let mut criterion = arguments.criterion();
    let (mut speeds, mut place) = (Vec::new(), 0);
    for planned in &plan.groups {
        let prepared = Prepared::new(planned.group);
        let (data, kinds) = chosen(arguments, planned, &prepared)?;
        for kind in &kinds {
            place += 1;
            let name = folder_name(place, kind);
            if let Err(error) = kind.estimate(&data) {
                eprintln!("{name}: {error}");
                continue;
            }
            let mut group = criterion.benchmark_group(planned.study);
            group.throughput(Throughput::Elements(data.len() as u64));
            group.bench_function(&name, |b| b.iter(|| kind.estimate(&data)));
            group.finish();
            let path = folder().join(planned.study).join(&name);
            speeds.push(speed(arguments, &path, kind)?);
        }
    }
    match speeds.is_empty() {
        true => Err(
            "nothing of this study can be timed: no estimate of f itself, or --feature names none",
        )?,
        false => Ok(speeds),
    }
}

/// One estimate of each kind of a small study, without a clock.
fn test() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("sweep-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("small.toml");
    let text = "about = \"\"\n[[block]]\nscenario = \"poly3\"\nN = [50, 60]\nreplicates = 2\nmetrics = [\"mse\"]\n\
                estimator = [{ name = \"pdp\" }, { name = \"ale\", bins = [5, 10] }]\n";
    std::fs::write(&path, text)?;
    let studies = [Study::read(&path)?];
    std::fs::remove_dir_all(&folder)?;
    let mut count = 0;
    for planned in &Plan::new(&studies).groups {
        let (prepared, data) = (Prepared::new(planned.group), kinds::first_data(planned, 0)?);
        for kind in kinds::of_group(planned, &prepared) {
            kind.estimate(&data)?;
            count += 1;
        }
    }
    // Two sizes, and on one feature or more three estimates.
    if count == 0 || count % 6 != 0 { Err(format!("{count} kinds"))? } else { Ok(()) }
}

fn run() -> Result<bool> {
    if is_test() {
        test()?;
        return Ok(true);
    }
    // `cargo bench` without a study runs all other benches.
    if std::env::args().skip(1).all(|word| word == "--bench") {
        eprintln!("{USAGE}");
        return Ok(true);
    }
    let arguments = Arguments::read()?;
    // Times are those of one thread, as in a run.
    let speeds = on_threads(1, || measure(&arguments))?;
    write_whole(&arguments.out, &speeds::csv(&speeds)?)?;
    println!("{}", arguments.out.display());
    Ok(true)
}

fn main() -> ExitCode {
    process::finish(run())
}
