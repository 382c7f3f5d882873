//! Cost of `run`: a study of many small cells, where the runner is most of it, and one of a few large
//! ones, where it should be nothing beside the estimators. One thread; records go to a temporary folder.

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fe_bench::engines::Engines;
use fe_bench::record::journal::{Begun, Journal};
use fe_bench::record::manifest::Manifest;
use fe_bench::run;
use fe_bench::study::Study;
use fe_bench::study::tasks::Plan;
use fe_benches::{Result, is_test};

fn study(folder: &Path, rows: usize, replicates: usize) -> Result<Vec<Study>> {
    let text = format!(
        r#"
about = "A study to be timed."
[[block]]
scenario = "liu-product"
N = {rows}
replicates = {replicates}
metrics = ["mse", "L_mu"]
[[block.estimator]]
name = "ale"
bins = [5, 20]
[[block.estimator]]
name = "dale"
bins = 20
[[block.estimator]]
name = "rhale"
bins = 20
[[block.estimator]]
name = "pdp"
grid = 20
"#
    );
    let path = folder.join("timed.toml");
    std::fs::write(&path, text)?;
    Ok(vec![Study::read(&path)?])
}

/// Runs studies from the first dataset to the last record.
fn complete(studies: &[Study], folder: &Path) -> Result<()> {
    let plan = Plan::new(studies);
    let manifest = Manifest::starting(studies, 0, 1, None);
    if let Begun::Open(mut journal) = Journal::begin(folder, manifest, plan.tasks, false)? {
        run::run(&plan, &Engines::default(), (0, None), 1, &mut journal, &|_, _| ())?;
        black_box(journal.finish(&plan, 0.0)?);
    }
    Ok(())
}

fn studies(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    group.sample_size(10);
    for (rows, replicates) in [(100, 200), (100_000, 1)] {
        let replicates = if is_test() { 1 } else { replicates };
        let scratch = tempfile::tempdir().expect("a folder");
        let studies = study(scratch.path(), rows, replicates).expect("a study");
        let cells: usize = studies.iter().map(Study::cells).sum();
        group.throughput(Throughput::Elements(cells as u64));
        let mut runs = 0;
        group.bench_function(
            BenchmarkId::from_parameter(format!("{cells} cells of {rows}")),
            |b| {
                b.iter(|| {
                    runs += 1;
                    complete(&studies, &scratch.path().join(runs.to_string())).expect("a run");
                });
            },
        );
    }
    group.finish();
}

criterion_group!(benches, studies);
criterion_main!(benches);
