//! Times of all kinds of estimates of studies, by criterion: for each scenario, size and estimator the estimate of the
//! first feature from the first dataset, on one thread.
//!
//! ```text
//! cargo bench --bench sweep -- scenarios/friedman1.toml --out results/runs/friedman1-times
//! ```
//!
//! writes `timings.csv` for each study into a folder of its name below `--out`, which `fe-bench table` and `plot` put
//! beside errors (`--timings`). Without a study a small one is timed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput};
use fe_bench::record::measured::{self, Measured};
use fe_bench::run::kinds::{self, Kind};
use fe_bench::study::Study;
use fe_bench::study::tasks::Plan;
use fe_benches::{Result, is_test, on_threads};

const SMALL: &str = r#"
about = "A study to be timed."
[[block]]
scenario = "liu-product"
features = ["x1"]
N = [50, 100]
replicates = 1
metrics = ["mse"]
[[block.estimator]]
name = "ale"
bins = [5, 20]
[[block.estimator]]
name = "rhale"
[[block]]
scenario = "liu-product"
features = ["x1"]
N = 50
replicates = 1
metrics = ["leaves"]
[[block.estimator]]
name = "regional-dpdp"
grid = 5
"#;

/// Folder of criterion's own files.
const GROUP: &str = "sweep";

struct Arguments {
    studies: Vec<PathBuf>,
    out: PathBuf,
}

impl Arguments {
    fn read(scratch: &Path) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // Benches are run in the folder of their package, and called in another one.
        let found = |path: PathBuf| if path.exists() { path } else { root.join(path) };
        let (mut studies, mut out) = (Vec::new(), None);
        let mut given = std::env::args().skip(1);
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--out" => out = Some(given.next().ok_or("--out needs a folder")?),
                "--bench" | "--test" => (),
                path if path.ends_with(".toml") => studies.push(found(path.into())),
                other => return Err(format!("`{other}`: studies (.toml), --out DIR").into()),
            }
        }
        let is_small = studies.is_empty();
        if is_small {
            let path = scratch.join("small.toml");
            std::fs::write(&path, SMALL)?;
            studies.push(path);
        }
        let out = match out {
            Some(path) if Path::new(&path).is_relative() => root.join(path),
            Some(path) => path.into(),
            None if is_small => scratch.to_path_buf(),
            None => root.join("results/runs/sweep"),
        };
        Ok(Self { studies, out })
    }
}

/// Criterion's time of one estimate.
fn time(kind: &Kind<'_>, number: usize, folder: &Path) -> Result<Measured> {
    let [warm_up, measurement] = if is_test() { [1, 5] } else { [100, 400] };
    let mut criterion = Criterion::default()
        .output_directory(folder)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(warm_up))
        .measurement_time(Duration::from_millis(measurement));
    let name = format!("{number:04}");
    let key = &kind.key;
    eprintln!("{name}: {} {} N={} K={}", key.scenario, key.estimator, key.rows, key.bins);
    let mut group = criterion.benchmark_group(GROUP);
    group.throughput(Throughput::Elements(kind.rows() as u64)).sampling_mode(SamplingMode::Flat);
    group.bench_function(&name, |b| b.iter(|| kind.estimate()));
    group.finish();
    let path = folder.join(GROUP).join(&name).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let mean = &estimates["mean"];
    let number = |value: &serde_json::Value| {
        let nanoseconds = value.as_f64().ok_or_else(|| format!("{}: no time", path.display()))?;
        Ok::<f64, Box<dyn std::error::Error + Send + Sync>>(nanoseconds * 1e-9)
    };
    let ends = &mean["confidence_interval"];
    Ok(Measured {
        key: kind.key.clone(),
        seconds: number(&mean["point_estimate"])?,
        interval: (number(&ends["lower_bound"])?, number(&ends["upper_bound"])?),
    })
}

/// The times of a study; what cannot be estimated is said and left out.
fn times(study: Study, folder: &Path) -> Result<Vec<Measured>> {
    let studies = [study];
    let (mut times, mut wrong) = (Vec::new(), None);
    let left_out = kinds::each(&Plan::new(&studies), 0, &mut |kind| {
        if let Err(reason) = kind.estimate() {
            eprintln!("{} N={}: {reason}", kind.key.estimator, kind.key.rows);
        } else if wrong.is_none() {
            match time(kind, times.len() + 1, folder) {
                Ok(of) => times.push(of),
                Err(e) => wrong = Some(e),
            }
        }
        Ok(())
    })?;
    if left_out > 0 {
        eprintln!("{left_out} kinds are of engines or fitted models, and are not timed");
    }
    wrong.map_or(Ok(times), Err)
}

fn main() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let Arguments { studies, out } = Arguments::read(scratch.path())?;
    for path in studies {
        let study = Study::read(&path)?;
        let folder = out.join(&study.name);
        std::fs::create_dir_all(&folder)?;
        let criterion = scratch.path().join(&study.name);
        let found = on_threads(1, || times(study, &criterion))?;
        let file = folder.join("timings.csv");
        measured::write(&file, &found)?;
        assert_eq!(measured::read(&file)?, found, "what was written is read back");
        println!("{} times: {}", found.len(), file.display());
    }
    Ok(())
}
