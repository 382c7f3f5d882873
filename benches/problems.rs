//! Speed of f: functions of problem files, compiled to programs over columns, beside the built-in ones.
//! A file may take three times as long.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use fe_core::model::{Column, Rows};
use fe_truth::Scenario;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Rows of a call, as in the estimators.
const ROWS: usize = 4096;

fn of_file(name: &str) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/problems");
    let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("a file");
    fe_truth::problem(name, &text, &[]).expect("a problem")
}

fn speed_of_f(criterion: &mut Criterion) {
    for name in ["friedman1", "piecewise-linear"] {
        let native = fe_truth::scenario(name, &[]).expect("a scenario");
        let values = native.sample(ROWS, &mut ChaCha8Rng::seed_from_u64(1));
        let columns: Vec<Column<'_>> = values.chunks_exact(ROWS).map(Column::Values).collect();
        let rows = Rows::new(&columns, ROWS);
        let mut out = vec![0.0; ROWS];
        let mut group = criterion.benchmark_group(name);
        for (label, scenario) in [("native", native), ("file", of_file(name))] {
            group.bench_function(label, |bencher| {
                bencher.iter(|| scenario.model().predict(black_box(&rows), &mut out));
            });
            group.bench_function(format!("{label}-slope"), |bencher| {
                bencher.iter(|| scenario.model().partial(0, black_box(&rows), &mut out));
            });
        }
    }
}

criterion_group!(benches, speed_of_f);
criterion_main!(benches);
