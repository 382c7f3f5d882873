//! Every recorded result of another library on a pair of features: the same numbers here under its preset, or a named
//! reason why not, with the evidence. `cargo test -p fe-core --test suite pair_parity -- --nocapture` prints how many there are of
//! each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "parity/models.rs"]
mod models;
#[path = "parity/pairs.rs"]
#[allow(dead_code)]
mod pairs;
#[allow(dead_code)]
#[path = "parity/record.rs"]
mod record;

use std::collections::BTreeMap;

use fe_core::effect::Surface;
use fe_core::estimator::pair;
use fe_core::{AxisChoice, Settings};
use pairs::{close, estimate, is_same, recorded, size};
use record::Case;

fn class(case: Case<'_>) -> String {
    let found = estimate(case);
    let outcome = match (case.text("status"), &found) {
        ("error", Err(_)) => return "both refuse".to_owned(),
        ("error", Ok(_)) => Err("an effect here, an error there"),
        (_, Err(_)) if is_constant_point(case) => Err("defect: constant-point"),
        (_, Err(error)) => return format!("UNEXPLAINED: {error}"),
        (_, Ok(surface)) => match is_same(case, [&surface.x[0], &surface.x[1]], &surface.values) {
            true => return "same".to_owned(),
            false => defect_of_pyale(case, surface),
        },
    };
    match outcome {
        Ok(()) => "UNEXPLAINED: other numbers".to_owned(),
        Err(class) => class.to_owned(),
    }
}

/// A constant feature has one point in scikit-learn. With that point as the whole axis the numbers are the same.
fn is_constant_point(case: Case<'_>) -> bool {
    if case.text("peer") != "scikit-learn" {
        return false;
    }
    let settings = [("x", 0), ("x2", 1)].map(|(key, side)| {
        let points = case.numbers(key);
        let values = case.record.data.feature(case.pair()[side]);
        let is_constant = points.len() == 1 && values.iter().all(|&x| x == points[0]);
        let (lo, hi) = (points[0], points[points.len() - 1]);
        let axis = if is_constant { (lo, lo + 1.0) } else { (lo, hi) };
        let points = if is_constant { vec![lo, lo + 1.0] } else { points };
        Settings {
            points: Some(points),
            axis: Some(AxisChoice::Given(axis.0, axis.1)),
            center: Some(fe_core::Centring::None),
            ..Settings::default()
        }
    });
    let estimator = pair::from_settings("pdp", [&settings[0], &settings[1]]).unwrap();
    let surfaces = estimator.estimate(&case.record.data, &case.record.model, case.pair()).unwrap();
    let lists = [case.numbers("x"), case.numbers("x2")];
    let values = surfaces[0].at_all([&lists[0], &lists[1]]).unwrap();
    close(&values, &recorded(case), size(case.record))
}

/// Values at the points of a surface, and what its cells have.
struct Cells<'a> {
    surface: &'a Surface,
    columns: usize,
}

impl Cells<'_> {
    /// The mixed difference of each cell of some values; what either feature has alone is not in it.
    fn differences(&self, values: &[f64]) -> Vec<f64> {
        let columns = self.columns;
        let at = |i: usize, k: usize| values[i * (columns + 1) + k];
        let cell = |place: usize| {
            let (i, k) = (place / columns, place % columns);
            at(i + 1, k + 1) - at(i, k + 1) - at(i + 1, k) + at(i, k)
        };
        (0..self.surface.counts.len()).map(cell).collect()
    }

    /// The cells with instances whose centres are nearest to that of one without, in units of both axes.
    fn nearest(&self, place: usize) -> Vec<usize> {
        let centre = |side: usize, bin: usize| {
            let limits = &self.surface.x[side];
            (limits[bin] + limits[bin + 1]) / (2.0 * (limits[limits.len() - 1] - limits[0]))
        };
        let at = |place: usize| [centre(0, place / self.columns), centre(1, place % self.columns)];
        let [a, b] = at(place);
        let distance = |other: usize| (at(other)[0] - a).powi(2) + (at(other)[1] - b).powi(2);
        let counts = &self.surface.counts;
        let known: Vec<usize> = (0..counts.len()).filter(|&cell| counts[cell] > 0.0).collect();
        let least = known.iter().map(|&cell| distance(cell)).fold(f64::INFINITY, f64::min);
        known.into_iter().filter(|&cell| distance(cell) <= least * (1.0 + 1e-9)).collect()
    }

    /// The surface that PyALE makes of the differences of its cells: either feature's own effect is taken away as it is in
    /// the middle of the bins of the other, of the second feature only in as many bins as `known`.
    fn surface(&self, differences: &[f64], known: usize) -> Vec<f64> {
        let (columns, points) = (self.columns, self.columns + 1);
        let rows = differences.len() / columns;
        let count = |i: usize, k: usize| self.surface.counts[i * columns + k];
        let mut values = vec![0.0; (rows + 1) * points];
        for i in 0..rows {
            for k in 0..columns {
                values[(i + 1) * points + k + 1] = differences[i * columns + k]
                    + values[i * points + k + 1]
                    + values[(i + 1) * points + k]
                    - values[i * points + k];
            }
        }
        let at = |i: usize, k: usize| values[i * points + k];
        let mut alone = [vec![0.0; rows + 1], vec![0.0; points]];
        for i in 0..rows {
            let rise = |k: usize| (at(i + 1, k) - at(i, k) + at(i + 1, k + 1) - at(i, k + 1)) / 2.0;
            let total: f64 = (0..columns).map(|k| count(i, k)).sum();
            let sum: f64 = (0..columns).map(|k| count(i, k) * rise(k)).sum();
            alone[0][i + 1] = alone[0][i] + sum / total;
        }
        for k in 0..columns {
            let rise = |i: usize| (at(i, k + 1) - at(i, k) + at(i + 1, k + 1) - at(i + 1, k)) / 2.0;
            let total: f64 = (0..rows).map(|i| count(i, k)).sum();
            let sum: f64 = (0..rows).map(|i| count(i, k) * rise(i)).sum();
            alone[1][k + 1] = alone[1][k] + if k < known { sum / total } else { 0.0 };
        }
        for (place, value) in values.iter_mut().enumerate() {
            *value -= alone[0][place / points] + alone[1][place % points];
        }
        let (mut sum, mut total) = (0.0, 0.0);
        for i in 0..rows {
            for k in 0..columns {
                let corners = [(i, k), (i + 1, k), (i, k + 1), (i + 1, k + 1)];
                let middle = corners.iter().map(|(i, k)| values[i * points + k]).sum::<f64>() / 4.0;
                sum += count(i, k) * middle;
                total += count(i, k);
            }
        }
        values.iter().map(|value| value - sum / total).collect()
    }
}

/// The reason why the surface of PyALE is another one: with nothing but that added, everything recorded comes out.
fn defect_of_pyale(case: Case<'_>, surface: &Surface) -> Result<(), &'static str> {
    if case.text("peer") != "PyALE" || surface.x.each_ref().map(Vec::len) != recorded_points(case) {
        return Ok(());
    }
    let (theirs, size) = (recorded(case), size(case.record));
    let cells = Cells { surface, columns: surface.x[1].len() - 1 };
    let ours = cells.differences(&surface.values);
    let differences = cells.differences(&theirs);
    // Both make the same surface of the cells here.
    let all = cells.columns;
    assert!(close(&cells.surface(&ours, all), &surface.values, size), "{case}");
    let known = surface.x[0].len() - 1;
    if known < all && close(&cells.surface(&ours, known), &theirs, size) {
        return Err("defect: bins-of-the-first");
    }
    let chosen = (0..ours.len()).all(|cell| match surface.counts[cell] > 0.0 {
        true => close(&ours[cell..=cell], &differences[cell..=cell], size),
        false => cells
            .nearest(cell)
            .iter()
            .any(|&near| close(&ours[near..=near], &differences[cell..=cell], size)),
    });
    let several = (0..ours.len()).any(|cell| {
        surface.counts[cell] == 0.0
            && cells.nearest(cell).len() > 1
            && !close(&ours[cell..=cell], &differences[cell..=cell], size)
    });
    if !(chosen && several) {
        return Ok(());
    }
    if close(&cells.surface(&differences, all), &theirs, size) {
        return Err("defect: one-of-the-nearest");
    }
    if known < all && close(&cells.surface(&differences, known), &theirs, size) {
        return Err("defect: bins-of-the-first, one-of-the-nearest");
    }
    Ok(())
}

fn recorded_points(case: Case<'_>) -> [usize; 2] {
    ["x", "x2"].map(|key| case.numbers(key).len())
}

/// How many results of each method are in each class: a result that changes class is seen.
const EXPECTED: &[(&str, &str, usize)] = &[
    ("PyALE ALE 2D", "both refuse", 3),
    ("PyALE ALE 2D", "defect: bins-of-the-first", 7),
    ("PyALE ALE 2D", "defect: bins-of-the-first, one-of-the-nearest", 1),
    ("PyALE ALE 2D", "defect: one-of-the-nearest", 1),
    ("PyALE ALE 2D", "same", 60),
    ("scikit-learn partial_dependence brute", "both refuse", 2),
    ("scikit-learn partial_dependence brute", "defect: constant-point", 3),
    ("scikit-learn partial_dependence brute", "same", 68),
];

#[test]
fn every_recorded_pair_is_the_same_or_has_a_reason() {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for record in &record::of_pairs() {
        for result in &record.results {
            let case = Case { record, result };
            let class = class(case);
            if class.starts_with("UNEXPLAINED") {
                unexplained.push(format!("{case}: {class}"));
            }
            let method = format!("{} {}", case.text("peer"), case.text("method"));
            *counts.entry((method, class)).or_default() += 1;
        }
    }
    for ((method, class), count) in &counts {
        println!("{count:5}  {method}: {class}");
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let counts: Vec<(&str, &str, usize)> = counts
        .iter()
        .map(|((method, class), count)| (method.as_str(), class.as_str(), *count))
        .collect();
    assert_eq!(counts, EXPECTED);
}
