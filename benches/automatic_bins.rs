//! The automatic bins of RHALE over the number of cells: the time should grow as its square.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fe_core::binning::{Binning, BinningRequest, Dynamic};
use fe_core::numeric::moments::Moments;
use fe_core::numeric::partition::{Closed, Partition};
use fe_core::{Axis, Result};

/// Ten local effects in each cell, on a sine: no model is asked, only bins are chosen.
fn cells(partition: &Partition) -> Result<Vec<Moments>> {
    let moments =
        |centre: &f64| Moments { weight: 10.0, mean: (20.0 * centre).sin(), squares: 1.0 };
    Ok(partition.centres().iter().map(moments).collect())
}

fn automatic_bins(c: &mut Criterion) {
    let mut group = c.benchmark_group("dp");
    for count in [20, 100, 400, 1000] {
        let dynamic = Dynamic::new(count, Some(20.0), 0.2).expect("valid options");
        let axis = Axis::new(0.0, 1.0).expect("a valid axis");
        group.bench_with_input(BenchmarkId::from_parameter(count), &dynamic, |b, dynamic| {
            b.iter(|| {
                dynamic.choose(black_box(&BinningRequest {
                    axis,
                    closed: Closed::Left,
                    positions: &[],
                    weights: None,
                    whole: (&[], None),
                    levels: false,
                    ddof: 1.0,
                    local_effects: Some(&cells),
                }))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, automatic_bins);
criterion_main!(benches);
