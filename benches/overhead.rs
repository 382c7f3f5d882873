//! Overhead of estimators beyond the model that they ask: one thread, `friedman1`, the model and the
//! estimator in turns, the least time of each. Prints nanoseconds per row of the data (`pdp`: per
//! evaluation). With `--test` a few rows only, to see that it runs; with words only what has one of them in
//! its name.

use std::hint::black_box;
use std::time::Instant;

use fe_core::estimator::{self, pair};
use fe_core::indices::{self, Index, IndexOptions};
use fe_core::model::{Column, Rows};
use fe_core::{Dataset, Settings};
use fe_truth::Scenario;
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Rows of a call to the bare model, the same as in the estimators.
const BLOCK: usize = 4096;
const GRID_BLOCK: usize = 256;
const GRID: usize = 100;
const TURNS: usize = 15;

fn data(scenario: &Scenario, rows: usize) -> Dataset {
    let values = scenario.sample(rows, &mut ChaCha8Rng::seed_from_u64(1));
    let array = Array2::from_shape_vec((scenario.dimension(), rows), values).expect("D × N values");
    Dataset::from_features(array).expect("finite values")
}

fn copy(data: &Dataset) -> Dataset {
    let values = (0..data.dimension()).flat_map(|feature| data.feature(feature).to_vec()).collect();
    let array = Array2::from_shape_vec((data.dimension(), data.len()), values);
    Dataset::from_features(array.expect("D × N values")).expect("finite values")
}

fn nanoseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Calls `ask` with the columns of each block of rows.
fn blocks(data: &Dataset, block: usize, mut ask: impl FnMut(Vec<Column<'_>>, usize)) {
    for start in (0..data.len()).step_by(block) {
        let end = data.len().min(start + block);
        ask(data.columns(start..end), end - start);
    }
}

/// The values of all rows, so many times.
fn values(scenario: &Scenario, data: &Dataset, times: usize) {
    let mut out = vec![0.0; BLOCK];
    for _ in 0..times {
        blocks(data, BLOCK, |columns, len| {
            let rows = Rows::new(&columns, len);
            scenario.model().predict(black_box(&rows), &mut out[..len]).expect("a value");
        });
    }
}

fn slopes(scenario: &Scenario, data: &Dataset) {
    let mut out = vec![0.0; BLOCK];
    blocks(data, BLOCK, |columns, len| {
        let rows = Rows::new(&columns, len);
        scenario.model().partial(0, black_box(&rows), &mut out[..len]).expect("a derivative");
    });
}

fn values_on_grid(scenario: &Scenario, data: &Dataset) {
    let mut out = vec![0.0; GRID_BLOCK];
    blocks(data, GRID_BLOCK, |mut columns, len| {
        for point in 0..GRID {
            columns[0] = Column::Constant(point as f64 / (GRID - 1) as f64);
            let rows = Rows::new(&columns, len);
            scenario.model().predict(black_box(&rows), &mut out[..len]).expect("a value");
        }
    });
}

/// Reads a feature and a derivative for each row: what `dale` and `rhale` cannot do without.
fn read(feature: &[f64], slopes: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    for (x, y) in feature.as_chunks::<8>().0.iter().zip(slopes.as_chunks::<8>().0) {
        for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += x + y;
        }
    }
    lanes.iter().sum()
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("a pool of one thread");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let wanted: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let (many, some, turns) = if is_test { (2_000, 500, 1) } else { (1_000_000, 50_000, TURNS) };
    let scenario = fe_truth::scenario("friedman1", &[]).expect("friedman1 exists");
    let (many, some) = (data(&scenario, many), data(&scenario, some));
    let bins = |binning: &str, bins| Settings {
        binning: Some(binning.to_owned()),
        bins: Some(bins),
        ..Settings::default()
    };
    let grid = Settings { grid: Some(GRID), ..Settings::default() };
    let cases = [
        ("ale", "fixed", bins("fixed", 100)),
        ("ale", "quantile", bins("quantile", 100)),
        ("dale", "fixed", bins("fixed", 100)),
        ("rhale", "dp", bins("dp", 100)),
        ("pdp", "grid", grid.clone()),
        ("pdp", "curve", Settings { curve_only: Some(true), ..grid }),
    ];
    println!("ns per row or evaluation; the first estimate also summarises the feature");
    println!("estimator        model  estimator  overhead  ratio  first");
    for (name, options, settings) in cases {
        let title = format!("{name} {options}");
        if !wanted.is_empty() && !wanted.iter().any(|word| title.contains(word.as_str())) {
            continue;
        }
        let estimator = estimator::from_settings(name, &settings).expect("valid settings");
        // A copy has no summary yet.
        let data = &if name == "pdp" { copy(&some) } else { copy(&many) };
        let asks = if name == "pdp" { data.len() * GRID } else { data.len() } as f64;
        let estimate = |data: &Dataset| {
            let effects = estimator.estimate(black_box(data), scenario.model(), 0);
            black_box(effects.expect("an effect"));
        };
        let mut least = [f64::INFINITY; 2];
        let mut first = f64::NAN;
        for turn in 0..turns {
            let model = nanoseconds(|| match name {
                "ale" => values(&scenario, data, 2),
                "pdp" => values_on_grid(&scenario, data),
                _ => slopes(&scenario, data),
            });
            let whole = nanoseconds(|| estimate(data));
            if turn == 0 {
                first = whole;
            }
            least = [least[0].min(model), least[1].min(whole)];
        }
        let [model, whole] = least.map(|time| time / asks);
        println!(
            "{:<14}{model:>8.3}{whole:>11.3}{:>10.3}{:>7.2}{:>7.1}",
            title,
            whole - model,
            whole / model,
            first / asks
        );
    }
    two_features(&scenario, &many, (is_test, turns), &wanted);
    let slopes = many.feature(1);
    let reading = (0..turns).map(|_| {
        nanoseconds(|| {
            black_box(read(black_box(many.feature(0)), black_box(slopes)));
        })
    });
    let reading = reading.fold(f64::INFINITY, f64::min) / many.len() as f64;
    println!("reading two columns once: {reading:.3} ns per row");
}

/// The values of all rows with two features at each pair of so many points.
fn values_on_pairs(scenario: &Scenario, data: &Dataset, points: usize) {
    let mut out = vec![0.0; GRID_BLOCK];
    let place = |point: usize| Column::Constant(point as f64 / points as f64);
    blocks(data, GRID_BLOCK, |mut columns, len| {
        for first in 0..points {
            columns[0] = place(first);
            for second in 0..points {
                columns[1] = place(second);
                let rows = Rows::new(&columns, len);
                scenario.model().predict(black_box(&rows), &mut out[..len]).expect("a value");
            }
        }
    });
}

/// The values of all rows with two features as they are in each of the rows.
fn values_at_rows(scenario: &Scenario, data: &Dataset, times: usize) {
    let mut out = vec![0.0; data.len()];
    for _ in 0..times {
        for row in 0..data.len() {
            let mut columns = data.columns(0..data.len());
            columns[0] = Column::Constant(data.feature(0)[row]);
            columns[1] = Column::Constant(data.feature(1)[row]);
            let rows = Rows::new(&columns, data.len());
            scenario.model().predict(black_box(&rows), &mut out).expect("a value");
        }
    }
}

/// The bare model and the estimator.
type Both<'a> = [&'a dyn Fn(); 2];

/// Effects of two features, and H of all pairs, each beside as many values of the bare model.
fn two_features(
    scenario: &Scenario,
    many: &Dataset,
    (is_test, turns): (bool, usize),
    wanted: &[&String],
) {
    let (some, few, points) = if is_test { (500, 60, 5) } else { (10_000, 1000, 50) };
    let of_ten = fe_truth::scenario("friedman1", &[("noise_features".into(), "5".into())]);
    let of_ten = &of_ten.expect("friedman1 has noise features");
    let (some, few) = (data(scenario, some), data(of_ten, few));
    let grid = Settings { grid: Some(points), ..Settings::default() };
    let bins = Settings { bins: Some(20), ..Settings::default() };
    let surface = |name: &str, settings: &Settings, data: &Dataset| {
        let estimator = pair::from_settings(name, [settings, settings]).expect("valid settings");
        black_box(estimator.estimate(data, scenario.model(), [0, 1]).expect("a surface"));
    };
    let dimension = of_ten.dimension();
    let pairs: Vec<[usize; 2]> =
        (0..dimension).flat_map(|a| (a + 1..dimension).map(move |b| [a, b])).collect();
    let all_h = || {
        let options = IndexOptions::default();
        let h = indices::estimate(&few, of_ten.model(), &[Index::H2Pair], (&[], &pairs), &options);
        black_box(h.expect("indices"));
    };
    let sets = dimension + pairs.len();
    let cases: [(&str, f64, Both<'_>); 3] = [
        (
            "pdp of a pair",
            (some.len() * points * points) as f64,
            [&|| values_on_pairs(scenario, &some, points), &|| surface("pdp", &grid, &some)],
        ),
        (
            "ale of a pair",
            many.len() as f64,
            [&|| values(scenario, many, 4), &|| surface("ale", &bins, many)],
        ),
        (
            "h2 of all pairs",
            (few.len() * few.len() * sets) as f64,
            [&|| values_at_rows(of_ten, &few, sets), &all_h],
        ),
    ];
    for (title, asks, [bare, estimate]) in cases {
        if !wanted.is_empty() && !wanted.iter().any(|word| title.contains(word.as_str())) {
            continue;
        }
        let mut least = [f64::INFINITY; 2];
        for _ in 0..turns.min(5) {
            least = [least[0].min(nanoseconds(bare)), least[1].min(nanoseconds(estimate))];
        }
        let [model, whole] = least.map(|time| time / asks);
        println!(
            "{title:<16}{model:>6.3}{whole:>11.3}{:>10.3}{:>7.2}",
            whole - model,
            whole / model
        );
    }
}
