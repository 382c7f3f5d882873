//! Analytic bands of accumulated effects beside the estimate alone: by how much does a band make it longer?

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fe_benches::{data, friedman1, is_test};
use fe_core::settings::{BandKind, Centring};
use fe_core::{Settings, estimator};

fn bands(c: &mut Criterion) {
    let mut group = c.benchmark_group("bands");
    let scenario = friedman1(7).expect("five features or more");
    let sizes: &[usize] = if is_test() { &[500] } else { &[500, 5000, 100_000] };
    for &rows in sizes {
        let data = data(&scenario, rows).expect("rows");
        group.throughput(Throughput::Elements(rows as u64));
        for (name, binning, bins) in [
            ("rhale", Some("penalized"), None),
            ("rhale", Some("dp"), None),
            ("dale", None, Some(20)),
            ("ale", None, Some(20)),
        ] {
            for band in [None, Some(BandKind::Analytic)] {
                let settings = Settings {
                    binning: binning.map(str::to_owned),
                    bins,
                    center: Some(Centring::Integral),
                    band,
                    ..Settings::default()
                };
                let estimator = estimator::from_settings(name, &settings).expect("valid options");
                let with = band.map_or("alone", |_| "band");
                let id = format!("{name}-{}-{with}", binning.unwrap_or("equal"));
                group.bench_function(BenchmarkId::new(id, rows), |b| {
                    b.iter(|| estimator.estimate(black_box(&data), scenario.model(), 0));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, bands);
criterion_main!(benches);
