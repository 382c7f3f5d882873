//! Every estimator on `friedman1` over N and K, beside the bare model on the same rows.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fe_core::model::Rows;
use fe_core::{Dataset, Settings, estimator};
use fe_truth::Scenario;
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn scenario() -> Scenario {
    fe_truth::scenario("friedman1", &[]).expect("friedman1 exists")
}

fn data(scenario: &Scenario, rows: usize) -> Dataset {
    let values = scenario.sample(rows, &mut ChaCha8Rng::seed_from_u64(1));
    let array = Array2::from_shape_vec((scenario.dimension(), rows), values).expect("D × N values");
    Dataset::from_features(array).expect("finite values")
}

/// The lower bound of every estimator: one evaluation of each row, and one derivative.
fn bare_model(c: &mut Criterion) {
    let scenario = scenario();
    let mut group = c.benchmark_group("model");
    for rows in SIZES {
        let data = data(&scenario, rows);
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

fn estimators(c: &mut Criterion) {
    let scenario = scenario();
    let bins = |binning: &str, bins| Settings {
        binning: Some(binning.to_owned()),
        bins: Some(bins),
        ..Settings::default()
    };
    let cases = [
        ("ale", "fixed 20", bins("fixed", 20)),
        ("ale", "fixed 100", bins("fixed", 100)),
        ("ale", "quantile 100", bins("quantile", 100)),
        ("dale", "fixed 100", bins("fixed", 100)),
        ("rhale", "dp 20", bins("dp", 20)),
        ("rhale", "dp 100", bins("dp", 100)),
        ("pdp", "grid 100", Settings { grid: Some(100), ..Settings::default() }),
        ("dpdp", "grid 100", Settings { grid: Some(100), ..Settings::default() }),
    ];
    for (name, options, settings) in cases {
        let estimator = estimator::from_settings(name, &settings).expect("valid settings");
        let mut group = c.benchmark_group(format!("{name}, {options}"));
        group.sample_size(10);
        for rows in SIZES {
            let data = data(&scenario, rows);
            group.throughput(Throughput::Elements(rows as u64));
            group.bench_with_input(BenchmarkId::from_parameter(rows), &data, |b, data| {
                b.iter(|| estimator.estimate(black_box(data), scenario.model(), 0));
            });
        }
        group.finish();
    }
}

/// ALE with more features, of which the model reads five: the time should not grow with them.
fn dimensions(c: &mut Criterion) {
    let settings = Settings { bins: Some(100), ..Settings::default() };
    let estimator = estimator::from_settings("ale", &settings).expect("valid settings");
    let mut group = c.benchmark_group("ale, fixed 100, features");
    for noise in [0, 5, 15] {
        let set = [("noise_features".to_owned(), noise.to_string())];
        let scenario = fe_truth::scenario("friedman1", &set).expect("friedman1 exists");
        let data = data(&scenario, SIZES[1]);
        group.throughput(Throughput::Elements(data.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(5 + noise), &data, |b, data| {
            b.iter(|| estimator.estimate(black_box(data), scenario.model(), 0));
        });
    }
    group.finish();
}

/// Exact Shapley values of all rows on the background of all rows.
fn shapley(c: &mut Criterion) {
    let set = [("noise_features".to_owned(), "0".to_owned())];
    let scenario = fe_truth::scenario("friedman1", &set).expect("friedman1 exists");
    let estimator = estimator::from_settings("shapdp", &Settings::default());
    let estimator = estimator.expect("valid settings");
    let mut group = c.benchmark_group("shapdp, exact");
    group.sample_size(10);
    for rows in [100, 300] {
        let data = data(&scenario, rows);
        group.bench_with_input(BenchmarkId::from_parameter(rows), &data, |b, data| {
            b.iter(|| estimator.estimate(black_box(data), scenario.model(), 0));
        });
    }
    group.finish();
}

criterion_group!(benches, bare_model, estimators, dimensions, shapley);
criterion_main!(benches);
