//! Every estimator on `friedman1` over N, K and D, beside the bare model on the same rows.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fe_benches::work::ALL;
use fe_benches::{Work, data, friedman1, is_test};
use fe_core::model::Rows;
use fe_truth::Scenario;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The sizes, or only the first where nothing is measured.
fn sizes() -> &'static [usize] {
    if is_test() { &SIZES[..1] } else { &SIZES }
}

fn scenario(features: usize) -> Scenario {
    friedman1(features).expect("five features or more")
}

/// The lower bound of every estimator: one evaluation of each row, and one derivative.
fn bare_model(c: &mut Criterion) {
    let scenario = scenario(7);
    let mut group = c.benchmark_group("model");
    for &rows in sizes() {
        let data = data(&scenario, rows).expect("rows");
        let columns = data.columns(0..rows);
        let mut values = vec![0.0; rows];
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_with_input(BenchmarkId::new("value", rows), &rows, |b, _| {
            let batch = Rows::new(&columns, rows);
            b.iter(|| scenario.model().predict(black_box(&batch), &mut values));
        });
        group.bench_with_input(BenchmarkId::new("derivative", rows), &rows, |b, _| {
            let batch = Rows::new(&columns, rows);
            b.iter(|| scenario.model().partial(0, black_box(&batch), &mut values));
        });
    }
    group.finish();
}

/// The effect of x1 by some work, over values of what is varied: a label, the rows and the features.
fn effects(c: &mut Criterion, title: &str, works: &[(String, Work, usize, usize)]) {
    let mut group = c.benchmark_group(title);
    group.sample_size(10);
    for (label, work, rows, features) in works {
        let scenario = scenario(*features);
        let data = data(&scenario, *rows).expect("rows");
        let piece = work.prepare().expect("valid options");
        group.throughput(Throughput::Elements(*rows as u64));
        group.bench_with_input(BenchmarkId::from_parameter(label), &data, |b, data| {
            b.iter(|| piece.estimate(black_box(data), scenario.model(), 0));
        });
    }
    group.finish();
}

fn over_rows(c: &mut Criterion) {
    for work in ALL {
        let mut sizes: Vec<usize> = sizes().iter().map(|&rows| rows.min(work.most_rows)).collect();
        sizes.dedup();
        let works: Vec<_> = sizes.iter().map(|&rows| (rows.to_string(), *work, rows, 7)).collect();
        effects(c, work.name, &works);
    }
}

/// More bins, cells or grid points: `ale` and `dale` should not depend on them, `rhale` with `dp`
/// grows with their square, and `pdp` with their number.
fn over_bins(c: &mut Criterion) {
    let cases = [
        ("ale", ["bins = 10", "bins = 100", "bins = 1000"], 100_000),
        ("dale", ["bins = 10", "bins = 100", "bins = 1000"], 100_000),
        ("rhale", ["bins = 10", "bins = 100", "bins = 1000"], 1_000),
        ("pdp", ["grid = 10", "grid = 100", "grid = 1000"], 1_000),
        ("mplot", ["bins = 10", "bins = 100", "bins = 1000"], 100_000),
    ];
    for (name, options, rows) in cases {
        let rows = if is_test() { 1_000 } else { rows };
        let work = |options| (String::from(options), Work::new(name, name, options), rows, 7);
        effects(c, &format!("{name} over K"), &options.map(work));
    }
}

/// More features, of which the model reads five: only Shapley values should grow with them.
fn over_features(c: &mut Criterion) {
    let cases = [
        ("ale", "bins = 100", 10_000, [5, 10, 20]),
        ("pdp", "grid = 100", 1_000, [5, 10, 20]),
        ("shapdp", "background = 50", 50, [5, 7, 10]),
    ];
    for (name, options, rows, features) in cases {
        let work = |features: usize| {
            (features.to_string(), Work::new(name, name, options), rows, features)
        };
        effects(c, &format!("{name} over D"), &features.map(work));
    }
}

criterion_group!(benches, bare_model, over_rows, over_bins, over_features);
criterion_main!(benches);
