//! Effects of two features against their definitions, and against each other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::data::{FeatureKind, LevelNames};
use fe_core::effect::Surface;
use fe_core::estimator::{self, pair};
use fe_core::indices::{self, Index, IndexOptions, Measured};
use fe_core::model::{BatchModel, FunctionModel, Model, Rows};
use fe_core::settings::{EmptyBins, LevelOrder};
use fe_core::{AxisChoice, Centring, Dataset, Settings};
use ndarray::Array2;
use proptest::prelude::*;

use crate::support;
use support::dataset;

fn estimate(name: &str, settings: [&Settings; 2], data: &Dataset, model: &dyn Model) -> Surface {
    try_estimate(name, settings, data, model).unwrap()
}

fn try_estimate(
    name: &str,
    settings: [&Settings; 2],
    data: &Dataset,
    model: &dyn Model,
) -> fe_core::Result<Surface> {
    pair::from_settings(name, settings)?
        .estimate(data, model, [0, 1])
        .map(|mut all| all.swap_remove(0))
}

fn wavy() -> FunctionModel<'static> {
    FunctionModel::new(2, |x| (x[0] * x[1]).sin() + x[0] * x[0] - 0.3 * x[1].abs() * x[0])
}

/// Rows of which both features vary.
fn rows(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<[f64; 2]>> {
    support::rows(count)
        .prop_filter("both features must vary", |rows| rows.iter().any(|r| r[1] != rows[0][1]))
}

fn variants() -> Vec<(&'static str, [Settings; 2])> {
    let both = |settings: Settings| [settings.clone(), settings];
    let binned = |name: &str, bins| Settings {
        binning: Some(name.to_owned()),
        bins: Some(bins),
        distinct: Some(0),
        ..Settings::default()
    };
    let pd = |grid| Settings { grid: Some(grid), ..Settings::default() };
    let limits = |limits: &[f64]| Settings {
        binning: Some("grid".to_owned()),
        limits: Some(limits.to_vec()),
        center: Some(Centring::Integral),
        ..Settings::default()
    };
    vec![
        ("pdp", [pd(3), pd(4)]),
        ("pdp", both(Settings { interaction: Some(true), center: Some(Centring::Data), ..pd(4) })),
        (
            "pdp",
            both(Settings {
                center: Some(Centring::Start),
                axis: Some(AxisChoice::Given(-3.0, 4.0)),
                ..pd(3)
            }),
        ),
        ("ale", [binned("fixed", 3), binned("fixed", 4)]),
        ("ale", both(binned("quantile", 3))),
        ("ale", both(Settings { center: Some(Centring::Bins), ..binned("fixed", 3) })),
        ("ale", [limits(&[-6.0, 0.0, 1.0, 6.0]), limits(&[-6.0, -2.0, 6.0])]),
        ("ale", both(Settings { empty: Some(EmptyBins::Zero), ..binned("fixed", 4) })),
    ]
}

fn close(a: &[f64], b: &[f64]) -> bool {
    let scale = a.iter().chain(b).fold(1.0_f64, |most, x| most.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * scale)
}

/// The place of a value between limits, and how far it is towards the next one.
fn place(limits: &[f64], x: f64) -> Option<(usize, f64)> {
    let last = limits.len() - 1;
    if x < limits[0] || x > limits[last] {
        return None;
    }
    let bin = (0..last).rfind(|&bin| limits[bin] <= x).unwrap();
    Some((bin, (x - limits[bin]) / (limits[bin + 1] - limits[bin])))
}

fn bilinear(x: [&[f64]; 2], values: &[f64], at: [f64; 2]) -> f64 {
    let [(i, u), (k, v)] = [place(x[0], at[0]).unwrap(), place(x[1], at[1]).unwrap()];
    let value = |i: usize, k: usize| values[i * x[1].len() + k];
    (1.0 - u) * ((1.0 - v) * value(i, k) + v * value(i, k + 1))
        + u * ((1.0 - v) * value(i + 1, k) + v * value(i + 1, k + 1))
}

/// Apley and Zhu's definition, cell by cell, of rows that are all on both axes; cells without instances have 0.
fn by_hand(x: [&[f64]; 2], rows: &[[f64; 2]], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let [n, m] = [x[0].len(), x[1].len()];
    let home = |row: &[f64; 2]| [place(x[0], row[0]).unwrap().0, place(x[1], row[1]).unwrap().0];
    let mean = |values: Vec<f64>| match values.len() {
        0 => 0.0,
        count => values.iter().sum::<f64>() / count as f64,
    };
    let mut values = vec![0.0; n * m];
    for i in 1..n {
        for k in 1..m {
            let inside = rows.iter().filter(|row| home(row) == [i - 1, k - 1]);
            let [a, b] = [[x[0][i - 1], x[0][i]], [x[1][k - 1], x[1][k]]];
            let change =
                |_: &[f64; 2]| f(a[1], b[1]) - f(a[0], b[1]) - f(a[1], b[0]) + f(a[0], b[0]);
            let before =
                values[(i - 1) * m + k] + values[i * m + k - 1] - values[(i - 1) * m + k - 1];
            values[i * m + k] = before + mean(inside.map(change).collect());
        }
    }
    let h = |a: f64, b: f64| bilinear(x, &values, [a, b]);
    let mut alone = [vec![0.0; n], vec![0.0; m]];
    for side in 0..2 {
        for step in 1..x[side].len() {
            let (lo, hi) = (x[side][step - 1], x[side][step]);
            let inside = rows.iter().filter(|row| home(row)[side] == step - 1);
            let change = |row: &[f64; 2]| match side {
                0 => h(hi, row[1]) - h(lo, row[1]),
                _ => h(row[0], hi) - h(row[0], lo),
            };
            alone[side][step] = alone[side][step - 1] + mean(inside.map(change).collect());
        }
    }
    for i in 0..n {
        for k in 0..m {
            values[i * m + k] -= alone[0][i] + alone[1][k];
        }
    }
    let at_rows = rows.iter().map(|row| bilinear(x, &values, *row)).collect();
    let constant = mean(at_rows);
    values.iter().map(|value| value - constant).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn partial_dependence_is_the_mean_over_the_rows(rows in rows(3..30)) {
        let data = dataset(&rows);
        let model = FunctionModel::new(2, |x| (x[0] + 0.5 * x[1]).sin() * x[1]);
        let settings = Settings { grid: Some(4), center: Some(Centring::None), ..Settings::default() };
        let surface = estimate("pdp", [&settings, &settings], &data, &model);
        let expected: Vec<f64> = surface.x[0].iter().flat_map(|x| surface.x[1].iter().map(move |y| (x, y)))
            .map(|(x, y)| (x + 0.5 * y).sin() * y).collect();
        prop_assert!(close(&surface.values, &expected));
    }

    /// With a third feature there is something to average over.
    #[test]
    fn interaction_is_what_is_left_of_the_pair(rows in rows(3..20)) {
        let third = |row: &[f64; 2]| row[0] - 2.0 * row[1];
        let array = Array2::from_shape_fn((rows.len(), 3), |(i, j)| if j < 2 { rows[i][j] } else { third(&rows[i]) });
        let data = Dataset::from_rows(&array.view()).unwrap();
        let f = |x: &[f64]| x[0] * x[1] * x[2] + x[0].abs() * x[2] - x[1];
        let model = FunctionModel::new(3, f);
        let settings = Settings { grid: Some(4), interaction: Some(true), ..Settings::default() };
        let surface = estimate("pdp", [&settings, &settings], &data, &model);
        let mean = |of: &dyn Fn(&[f64; 2]) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
        let [x, y] = &surface.x;
        let raw = |i: usize, k: usize| mean(&|row| f(&[x[i], y[k], third(row)]))
            - mean(&|row| f(&[x[i], row[1], third(row)])) - mean(&|row| f(&[row[0], y[k], third(row)]));
        let weights = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];
        let pairs = || (0..4).flat_map(|i| (0..4).map(move |k| (i, k)));
        let constant: f64 = pairs().map(|(i, k)| weights[i] * weights[k] * raw(i, k)).sum();
        let expected: Vec<f64> = pairs().map(|(i, k)| raw(i, k) - constant).collect();
        prop_assert!(close(&surface.values, &expected), "{:?} {expected:?}", surface.values);
    }

    #[test]
    fn accumulated_effects_are_those_by_hand(rows in rows(4..40), bins in 1..5_usize) {
        let data = dataset(&rows);
        let settings = Settings { bins: Some(bins), distinct: Some(0), empty: Some(EmptyBins::Zero), ..Settings::default() };
        let surface = estimate("ale", [&settings, &settings], &data, &wavy());
        let f = |a: f64, b: f64| (a * b).sin() + a * a - 0.3 * b.abs() * a;
        let expected = by_hand([&surface.x[0], &surface.x[1]], &rows, f);
        prop_assert!(close(&surface.values, &expected), "{:?} {expected:?}", surface.values);
    }

    #[test]
    fn additive_functions_have_no_interaction(rows in rows(4..40)) {
        let data = dataset(&rows);
        let model = FunctionModel::new(2, |x| x[0].exp().min(9.0) + 3.0 * x[1] * x[1] + 7.0);
        for (name, [first, second]) in variants() {
            let interaction = (name == "pdp").then_some(true);
            let [first, second] = [first, second].map(|s| Settings { interaction, ..s });
            let surface = estimate(name, [&first, &second], &data, &model);
            prop_assert!(surface.values.iter().all(|value| value.abs() < 1e-10), "{name}: {:?}", surface.values);
        }
    }

    /// What is left of the pair has no effect of either feature alone, as the estimator of one feature sees it.
    #[test]
    fn second_order_effects_have_no_first_order_ones(rows in rows(4..60), empty in prop::bool::ANY) {
        let data = dataset(&rows);
        let empty = if empty { EmptyBins::Zero } else { EmptyBins::Nearest };
        let settings = Settings { bins: Some(3), distinct: Some(0), empty: Some(empty), ..Settings::default() };
        let surface = estimate("ale", [&settings, &settings], &data, &wavy());
        let left = FunctionModel::new(2, |x| surface.at([x[0], x[1]]).unwrap());
        for feature in 0..2 {
            let policy = if empty == EmptyBins::Zero { EmptyBins::Zero } else { EmptyBins::Interpolate };
            let settings = Settings {
                binning: Some("grid".to_owned()),
                limits: Some(surface.x[feature].clone()),
                empty: Some(policy),
                ..Settings::default()
            };
            let ale = estimator::from_settings("ale", &settings).unwrap();
            let effect = ale.estimate(&data, &left, feature).unwrap().swap_remove(0);
            let scale = surface.values.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
            prop_assert!(effect.curve.y().iter().all(|y| y.abs() < 1e-9 * scale), "{:?}", effect.curve.y());
        }
        let mean: f64 = rows.iter().map(|row| surface.at(*row).unwrap()).sum();
        prop_assert!(mean.abs() < 1e-8 * rows.len() as f64);
    }

    #[test]
    fn neither_order_of_rows_nor_duplicates_in_place_of_weights_matter(rows in rows(4..30), turn in 0..30_usize) {
        let data = dataset(&rows);
        let mut turned = rows.clone();
        turned.rotate_left(turn % rows.len());
        let weights: Vec<f64> = (0..rows.len()).map(|i| [1.0, 2.0, 1.0, 3.0][i % 4]).collect();
        let copies = |i: usize| std::iter::repeat_n(rows[i], weights[i] as usize);
        let duplicated: Vec<[f64; 2]> = (0..rows.len()).flat_map(copies).collect();
        let weighted = dataset(&rows).with_weights(weights.clone()).unwrap();
        for (name, [first, second]) in variants() {
            let of = |data: &Dataset| try_estimate(name, [&first, &second], data, &wavy()).unwrap();
            prop_assert!(close(&of(&data).values, &of(&dataset(&turned)).values), "{name}");
            let (a, b) = (of(&weighted), of(&dataset(&duplicated)));
            prop_assert!(close(&a.values, &b.values), "{name}: {:?} {:?}", a.values, b.values);
            prop_assert_eq!(&a.counts, &b.counts);
        }
    }

    #[test]
    fn swapped_features_transpose_the_surface(rows in rows(4..40)) {
        let swapped: Vec<[f64; 2]> = rows.iter().map(|row| [row[1], row[0]]).collect();
        let model = FunctionModel::new(2, |x| (x[0] * x[1]).sin() + x[1] * x[1] - 0.3 * x[0].abs() * x[1]);
        for (name, [first, second]) in variants() {
            let surface = estimate(name, [&first, &second], &dataset(&rows), &wavy());
            let other = estimate(name, [&second, &first], &dataset(&swapped), &model);
            let [n, m] = [surface.x[0].len(), surface.x[1].len()];
            let turned: Vec<f64> = (0..n).flat_map(|i| (0..m).map(move |k| (i, k)))
                .map(|(i, k)| other.values[k * n + i]).collect();
            prop_assert!(close(&surface.values, &turned), "{name}: {:?} {turned:?}", surface.values);
        }
    }
}

/// Many blocks of rows, on one thread and on three.
#[test]
fn threads_do_not_change_a_bit() {
    let rows =
        Array2::from_shape_fn((20_011, 3), |(i, j)| ((i * (37 + 12 * j)) % 9973) as f64 / 997.3);
    let data = Dataset::from_rows(&rows.view()).unwrap();
    let model = BatchModel::new(3, 2, |rows: &Rows<'_>| {
        let at = |j: usize, i: usize| rows.columns()[j].get(i);
        let first = (0..rows.len()).map(|i| (at(0, i) * at(1, i)).sin() + at(2, i));
        first.chain((0..rows.len()).map(|i| at(0, i) * at(2, i))).collect()
    });
    let settings = Settings { grid: Some(5), ..Settings::default() };
    let binned = Settings { bins: Some(7), ..Settings::default() };
    for (name, settings) in [("pdp", &settings), ("ale", &binned)] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let estimator = pair::from_settings(name, [settings, settings]).unwrap();
            let all = pool.install(|| estimator.estimate(&data, &model, [0, 1])).unwrap();
            assert_eq!(all.len(), 2);
            serde_json::to_string(&all).unwrap()
        };
        let text = on(1);
        assert!(text == on(3), "{name}");
        let again: Vec<Surface> = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }
}

fn with_levels() -> Dataset {
    let rows = Array2::from_shape_fn((120, 3), |(i, j)| match j {
        0 => (i % 3) as f64,
        1 => ((i * 7) % 120) as f64 / 119.0,
        _ => ((i / 5) % 4) as f64,
    });
    let kinds = vec![FeatureKind::Nominal, FeatureKind::Continuous, FeatureKind::Nominal];
    let words = LevelNames::of_words(["winter", "spring", "summer"]).unwrap();
    Dataset::from_rows(&rows.view())
        .unwrap()
        .with_kinds(kinds)
        .unwrap()
        .with_levels(0, words)
        .unwrap()
}

/// A level beside a number, and a level beside a level: the steps by their definition, over the instances at both levels.
#[test]
fn levels_have_steps_over_the_instances_of_both() {
    let data = with_levels();
    let model = FunctionModel::new(3, |x| (x[0] + 1.0) * (x[1] + 0.2 * x[2]).powi(2) + x[2] * x[0]);
    let settings = Settings { bins: Some(4), ..Settings::default() };
    for features in [[0, 1], [1, 0], [0, 2]] {
        let ale = pair::from_settings("ale", [&settings, &settings]).unwrap();
        let surface = ale.estimate(&data, &model, features).unwrap().swap_remove(0);
        let [x, y] = &surface.x;
        // The mixed differences of the surface are the means that it was accumulated from.
        for i in 1..x.len() {
            for k in 1..y.len() {
                let value = |i: usize, k: usize| surface.values[i * y.len() + k];
                let found = value(i, k) - value(i - 1, k) - value(i, k - 1) + value(i - 1, k - 1);
                let has = |feature: usize, points: &[f64], step: usize, row: usize| {
                    let v = data.feature(feature)[row];
                    let within = points[step - 1] <= v && v <= points[step];
                    let last = step + 1 == points.len();
                    within && (data.has_levels(feature) || v < points[step] || last)
                };
                let inside =
                    |row: &usize| has(features[0], x, i, *row) && has(features[1], y, k, *row);
                let f = |row: usize, a: f64, b: f64| {
                    let mut at = [0, 1, 2].map(|j| data.feature(j)[row]);
                    (at[features[0]], at[features[1]]) = (a, b);
                    (at[0] + 1.0) * (at[1] + 0.2 * at[2]).powi(2) + at[2] * at[0]
                };
                let change = |row: usize| {
                    f(row, x[i], y[k]) - f(row, x[i - 1], y[k]) - f(row, x[i], y[k - 1])
                        + f(row, x[i - 1], y[k - 1])
                };
                let changes: Vec<f64> = (0..data.len()).filter(inside).map(change).collect();
                let expected = changes.iter().sum::<f64>() / changes.len() as f64;
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{features:?} {i} {k}: {found} {expected}"
                );
            }
        }
        let at =
            |row: usize| surface.at(features.map(|feature| data.feature(feature)[row])).unwrap();
        assert!((0..data.len()).map(at).sum::<f64>().abs() < 1e-10);
        // No first-order effect is left, as the estimator of one feature sees it.
        let left =
            FunctionModel::new(3, |x| surface.at(features.map(|feature| x[feature])).unwrap());
        for (side, feature) in features.into_iter().enumerate() {
            let settings = match data.has_levels(feature) {
                true => Settings::default(),
                false => Settings {
                    binning: Some("grid".to_owned()),
                    limits: Some(surface.x[side].clone()),
                    ..Settings::default()
                },
            };
            let ale = estimator::from_settings("ale", &settings).unwrap();
            let effect = ale.estimate(&data, &left, feature).unwrap().swap_remove(0);
            assert!(
                effect.curve.y().iter().all(|y| y.abs() < 1e-12),
                "{features:?}: {:?}",
                effect.curve.y()
            );
        }
    }
}

#[test]
fn orders_of_levels_are_those_of_one_feature() {
    let data = with_levels();
    let model = FunctionModel::new(3, |x| (2.0 - (x[0] - 1.0).abs()) * x[1]);
    for order in [LevelOrder::Response, LevelOrder::Name, LevelOrder::Similarity] {
        let settings = Settings { order: Some(order), ..Settings::default() };
        let one =
            estimator::from_settings("ale", &settings).unwrap().estimate(&data, &model, 0).unwrap();
        let two = estimate("ale", [&settings, &settings], &data, &model);
        let order = &two.record.sides[0].levels.as_ref().unwrap().order;
        assert_eq!(*order, one[0].record.levels.as_ref().unwrap().order);
        assert_eq!(two.x[0], [0.0, 1.0, 2.0]);
    }
    let settings = Settings { center: Some(Centring::Integral), ..Settings::default() };
    let error = try_estimate("ale", [&settings, &settings], &data, &model).unwrap_err().to_string();
    assert!(error.contains("between the levels of x1"), "{error}");
    let pd = estimate("pdp", [&Settings::default(), &Settings::default()], &data, &model);
    assert_eq!(pd.record.centring, Centring::Data);
    assert!(pd.at([0.5, 0.5]).unwrap_err().to_string().contains("winter, spring, summer"));
}

/// Rows on the diagonal leave the corners empty.
/// Further points are exact, and move nothing else; points alone are a grid of their own.
#[test]
fn points_of_a_pair_are_exact() {
    let data = numbers(60, 2);
    let model = FunctionModel::new(2, |x| (3.0 * x[0]).sin() * x[1].exp());
    let settings = |grid: Option<usize>, points: &[f64]| Settings {
        grid,
        points: Some(points.to_vec()).filter(|points| !points.is_empty()),
        axis: Some(AxisChoice::Given(-2.0, 2.0)),
        ..Settings::default()
    };
    let on = |sides: [Settings; 2]| try_estimate("pdp", [&sides[0], &sides[1]], &data, &model);
    let grid = on([settings(Some(5), &[]), settings(Some(4), &[])]).unwrap();
    let more = on([settings(Some(5), &[0.3, -1.7]), settings(Some(4), &[0.9])]).unwrap();
    assert_eq!((more.x[0].len(), more.x[1].len()), (7, 5));
    let same = |x: f64, y: f64| (grid.at([x, y]).unwrap() - more.at([x, y]).unwrap()).abs();
    for x in &grid.x[0] {
        assert!(grid.x[1].iter().all(|y| same(*x, *y) < 1e-12), "the constant is that of the grid");
    }
    // f does not depend on the rows here.
    let difference = more.at([0.3, 0.9]).unwrap() - more.at([-1.7, 0.9]).unwrap();
    let exact = ((0.9_f64).sin() - (-5.1_f64).sin()) * 0.9_f64.exp();
    assert!((difference - exact).abs() < 1e-12);
    assert!(same(0.3, 0.9) > 1e-3, "between points of the grid it is not exact");
    let alone = on([settings(None, &[1.0, -1.0]), settings(None, &[0.0, 0.5, 7.0])]).unwrap();
    assert_eq!(alone.x, [vec![-1.0, 1.0], vec![0.0, 0.5, 7.0]]);
    let outside = on([settings(Some(5), &[3.0]), settings(Some(4), &[])]).unwrap_err();
    assert!(matches!(outside, fe_core::Error::OutsideLimits { x: 3.0, .. }), "{outside}");
    let infinite = on([settings(None, &[f64::NAN, 1.0]), settings(None, &[])]).unwrap_err();
    assert!(matches!(infinite, fe_core::Error::BadOption { option: "points", .. }), "{infinite}");
}

/// What is foretold of the rows that indices ask for is what they ask for.
#[test]
fn the_cost_of_indices_is_foretold() {
    let data = numbers(80, 4);
    let model = FunctionModel::new(4, |x| x[0] * x[1] + x[2].sin() * x[3]);
    let options = IndexOptions { outer: 30, background: 20, ..IndexOptions::default() };
    let (features, pairs) = ([0, 2], [[0, 1], [1, 3]]);
    for index in Index::all().filter(|index| *index != Index::Dgsm) {
        let of = (&features[..], &pairs[..]);
        let found = indices::estimate(&data, &model, &[index], of, &options).unwrap();
        let (asked, foretold) = (found.model_rows, indices::cost(80, 4, &[index], of, &options));
        let ratio = foretold as f64 / asked as f64;
        assert!((0.5..2.5).contains(&ratio), "{index}: {asked} were asked, {foretold} foretold");
    }
}

#[test]
fn cells_without_instances_go_by_the_policy() {
    let rows: Vec<[f64; 2]> = (0..30).map(|i| [f64::from(i) / 29.0, f64::from(i) / 29.0]).collect();
    let data = dataset(&rows);
    let model = FunctionModel::new(2, |x| x[0] * x[1]);
    let with = |empty| Settings { bins: Some(3), empty, ..Settings::default() };
    let estimate = |empty| try_estimate("ale", [&with(empty), &with(empty)], &data, &model);
    let nearest = estimate(None).unwrap();
    let cells = nearest.record.cells.unwrap();
    assert_eq!((cells.cells, cells.empty, cells.empty_policy), (9, 6, EmptyBins::Nearest));
    assert_eq!(nearest.counts.iter().filter(|&&count| count == 0.0).count(), 6);
    // All differences of the product are alike, so that what is nearest does not matter.
    let mixed = |s: &Surface| s.values[15] - s.values[3] - s.values[12] + s.values[0];
    assert!((mixed(&nearest) - 1.0).abs() < 1e-12);
    assert!((mixed(&estimate(Some(EmptyBins::Zero)).unwrap()) - 1.0 / 3.0).abs() < 1e-12);
    let error = estimate(Some(EmptyBins::Error)).unwrap_err().to_string();
    assert!(
        error.starts_with("6 of 9 cells have no instances, the first of them [0, 0.33"),
        "{error}"
    );
    let error = estimate(Some(EmptyBins::Interpolate)).unwrap_err().to_string();
    assert!(error.contains("nearest, zero or error"), "{error}");
    let one = Settings { empty: Some(EmptyBins::Nearest), ..Settings::default() };
    let error = estimator::from_settings("ale", &one).unwrap_err().to_string();
    assert!(error.contains("cells of two features"), "{error}");
}

#[test]
fn what_has_no_answer_is_refused() {
    let data = dataset(&[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]);
    let model = wavy();
    let plain = Settings::default();
    let refused = |name: &str, settings: &Settings, features| {
        let estimator = pair::from_settings(name, [settings, settings]);
        estimator
            .and_then(|estimator| estimator.estimate(&data, &model, features))
            .unwrap_err()
            .to_string()
    };
    assert!(refused("pdp", &plain, [0, 1]).contains("x2 is constant"));
    assert!(refused("ale", &plain, [0, 0]).contains("x1 is named twice"));
    assert!(refused("ale", &plain, [0, 7]).contains("x8 does not exist"));
    assert!(refused("rhale", &plain, [0, 1]).contains("pdp or ale"));
    assert!(refused("al", &plain, [0, 1]).contains("did you mean `ale`?"));
    let dp = Settings { binning: Some("dp".to_owned()), ..plain.clone() };
    assert!(refused("ale", &dp, [0, 1]).contains("derivatives along one feature"));
    let none = Settings { center: Some(Centring::None), interaction: Some(true), ..plain.clone() };
    assert!(refused("pdp", &none, [0, 1]).contains("centred"));
    let bins = Settings { bins: Some(9), ..plain.clone() };
    assert!(refused("pdp", &bins, [0, 1]).contains("`pdp` of a pair takes no option `bins`"));
    let axis = Settings { axis: Some(AxisChoice::Given(5.0, 6.0)), ..plain };
    assert!(refused("ale", &axis, [0, 1]).contains("within their axes"));
    let nan = FunctionModel::new(2, |_| f64::NAN);
    let data = dataset(&[[0.0, 1.0], [1.0, 2.0]]);
    for name in ["pdp", "ale"] {
        let error = try_estimate(name, [&Settings::default(), &Settings::default()], &data, &nan)
            .unwrap_err();
        assert!(error.to_string().contains("returned NaN"), "{error}");
    }
}

fn numbers(rows: usize, dimension: usize) -> Dataset {
    // Squares of multiples modulo a prime: as good as random, the same everywhere.
    let value = |i: usize, j: usize| {
        let turn = (i as u64 + 1) * [48_271, 69_621, 16_807, 39_373, 62_089][j] % 2_147_483_647;
        (turn * turn % 2_147_483_647) as f64 / 2_147_483_647.0
    };
    Dataset::from_rows(&Array2::from_shape_fn((rows, dimension), |(i, j)| value(i, j)).view())
        .unwrap()
}

fn index(data: &Dataset, model: &dyn Model, index: Index, of: &[usize]) -> Measured {
    index_with(data, model, index, of, &IndexOptions::default()).unwrap()
}

fn index_with(
    data: &Dataset,
    model: &dyn Model,
    index: Index,
    of: &[usize],
    options: &IndexOptions,
) -> fe_core::Result<Measured> {
    let pairs: Vec<[usize; 2]> = of.try_into().into_iter().collect();
    let features = if of.len() == 1 { of } else { &[] };
    let found = indices::estimate(data, model, &[index], (features, &pairs), options)?;
    found.estimates.into_iter().next().unwrap().estimate
}

/// H by its definition, with all means taken one by one.
#[test]
fn h_is_what_friedman_and_popescu_wrote() {
    let data = numbers(40, 3);
    let f = |x: &[f64]| x[0] * x[1] + (3.0 * x[1] * x[2]).sin() + x[2];
    let model = FunctionModel::new(3, f);
    let at = |i: usize, k: usize, fixed: &[usize]| {
        let x = [0, 1, 2].map(|j| data.feature(j)[if fixed.contains(&j) { i } else { k }]);
        f(&x)
    };
    let means = |fixed: &[usize]| -> Vec<f64> {
        let mean = |i| (0..40).map(|k| at(i, k, fixed)).sum::<f64>() / 40.0;
        let all: Vec<f64> = (0..40).map(mean).collect();
        let centre = all.iter().sum::<f64>() / 40.0;
        all.iter().map(|value| value - centre).collect()
    };
    let square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>() / 40.0;
    let left = |whole: &[f64], a: &[f64], b: &[f64]| -> f64 {
        square(&(0..40).map(|i| whole[i] - a[i] - b[i]).collect::<Vec<f64>>())
    };
    let whole = means(&[0, 1, 2]);
    for (j, k, other) in [(0, 1, 2), (2, 1, 0), (0, 2, 1)] {
        let pair = means(&[j, k]);
        let numerator = left(&pair, &means(&[j]), &means(&[k]));
        let expected = [
            (Index::H2Pair, vec![j, k], numerator / square(&pair)),
            (Index::HPair, vec![j, k], numerator.sqrt()),
            (Index::H2PairShare, vec![j, k], numerator / square(&whole)),
            (Index::H2Overall, vec![other], left(&whole, &means(&[other]), &pair) / square(&whole)),
            (Index::PdSd, vec![j], square(&means(&[j])).sqrt()),
        ];
        for (name, of, expected) in expected {
            let found = index(&data, &model, name, &of).value;
            assert!((found - expected).abs() < 1e-12, "{name} of {of:?}: {found}, {expected}");
        }
    }
    let additive: Vec<f64> =
        (0..40).map(|i| whole[i] - means(&[0])[i] - means(&[1])[i] - means(&[2])[i]).collect();
    let expected = 1.0 - square(&additive) / square(&whole);
    assert!((index(&data, &model, Index::AdditiveR2Pd, &[]).value - expected).abs() < 1e-12);
}

/// f = x1 + x2 + 4 (x1 − ½)(x2 − ½) of uniform features, and a third one that does nothing: variances 1/12, 1/12, 1/9.
#[test]
fn indices_find_what_is_known() {
    let data = numbers(4000, 3);
    let model = FunctionModel::new(3, |x| x[0] + x[1] + 4.0 * (x[0] - 0.5) * (x[1] - 0.5))
        .with_partial(|s, x| match s {
            0 => 1.0 + 4.0 * (x[1] - 0.5),
            1 => 1.0 + 4.0 * (x[0] - 0.5),
            _ => 0.0,
        });
    let (one, pair) = (1.0_f64 / 12.0, 1.0_f64 / 9.0);
    let all = 2.0 * one + pair;
    let known = [
        (Index::PdSd, vec![0], one.sqrt()),
        (Index::AleSd, vec![0], one.sqrt()),
        (Index::AleDerivativeSd, vec![1], one.sqrt()),
        (Index::H2Pair, vec![0, 1], pair / all),
        (Index::H2Overall, vec![1], pair / all),
        (Index::HOverall, vec![0], pair.sqrt()),
        (Index::Ale2Sd, vec![1, 0], pair.sqrt()),
        (Index::SobolFirst, vec![0], one / all),
        (Index::SobolTotal, vec![1], (one + pair) / all),
        (Index::SobolPair, vec![0, 1], pair / all),
        (Index::SobolTotal, vec![2], 0.0),
        (Index::ShapleyShare, vec![0], 0.5),
        (Index::Dgsm, vec![0], 1.0 + 16.0 / 12.0),
        (Index::Permutation, vec![0], 2.0 * (one + pair)),
        (Index::AdditiveR2Pd, vec![], 1.0 - pair / all),
        (Index::AdditiveR2Ale, vec![], 1.0 - pair / all),
        (Index::AdditiveR2AleDerivative, vec![], 1.0 - pair / all),
    ];
    for (name, of, known) in known {
        let Measured { value, standard_error, .. } = index(&data, &model, name, &of);
        let error = standard_error.unwrap();
        // Nearest neighbours have a bias: other rows are not at the same place.
        let bias = if name == Index::ShapleyShare { 0.03 } else { 1e-3 };
        assert!(
            (value - known).abs() < 4.0 * error + bias,
            "{name} {of:?}: {value} ± {error}, {known}"
        );
        assert!(error < 0.1, "{name}: {error}");
    }
    let total: f64 = (0..3).map(|s| index(&data, &model, Index::ShapleyShare, &[s]).value).sum();
    assert!((total - 1.0).abs() < 1e-12, "{total}");
}

/// A feature apart has no interaction, to rounding, whatever the sample.
#[test]
fn what_is_additive_has_no_interaction() {
    let data = numbers(200, 3);
    let model = FunctionModel::new(3, |x| x[0] * x[1] + (5.0 * x[2]).exp());
    for (name, of) in
        [(Index::H2Pair, vec![0, 2]), (Index::HPair, vec![2, 1]), (Index::H2Overall, vec![2])]
    {
        let found = index(&data, &model, name, &of).value;
        assert_eq!(found, 0.0, "{name} {of:?}");
    }
    // Of features that do nothing, what is left is rounding, and no share of it means anything.
    let model = FunctionModel::new(3, |x| 7.0 + (5.0 * x[2]).exp());
    let of = |name: Index| index_with(&data, &model, name, &[0, 1], &IndexOptions::default());
    assert!(of(Index::H2Pair).unwrap_err().to_string().contains("nothing varies"));
    assert_eq!(of(Index::HPair).unwrap().value, 0.0);
}

#[test]
fn indices_depend_neither_on_threads_nor_on_the_order_of_rows() {
    let data = numbers(700, 3);
    let rows: Vec<usize> = (0..700).map(|i| (i * 37 + 11) % 700).collect();
    let model = FunctionModel::new(3, |x| (x[0] * x[1]).sin() + x[2] * x[0]);
    let asked: Vec<Index> = Index::all().filter(|index| *index != Index::Dgsm).collect();
    let options = IndexOptions { outer: 60, background: 150, ..IndexOptions::default() };
    let on = |threads: usize, data: &Dataset| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let pairs = [[0, 1], [2, 1]];
        let find = || indices::estimate(data, &model, &asked, (&[0, 2], &pairs), &options).unwrap();
        pool.install(find).estimates
    };
    let all = on(1, &data);
    assert_eq!(all, on(3, &data));
    for (one, other) in all.iter().zip(on(1, &data.select(&rows))) {
        let [a, b] = [one, &other].map(|found| found.estimate.clone().unwrap());
        let error = |found: Measured| found.standard_error.unwrap();
        assert!((a.value - b.value).abs() < 1e-10, "{}: {a:?} {b:?}", one.index);
        assert!((error(a) - error(b)).abs() < 1e-8, "{}: {a:?} {b:?}", one.index);
    }
}

/// A pair that the model is asked about twice, or points that are equal, cost nothing more.
#[test]
fn the_model_is_asked_once_for_the_same() {
    let data = numbers(50, 3);
    let model = FunctionModel::new(3, |x| x[0] * x[1] * x[2]);
    let pairs = [[0, 1], [0, 2], [1, 2]];
    let asked = [Index::H2Pair, Index::HPair, Index::H2PairShare];
    let options = IndexOptions::default();
    let found = indices::estimate(&data, &model, &asked, (&[], &pairs), &options).unwrap();
    // Three features, three pairs, and f itself.
    assert_eq!(found.model_rows, 6 * 50 * 50 + 50);
    let rounded = data.clone().into_features().mapv(|x| (4.0 * x).floor());
    let found = indices::estimate(
        &Dataset::from_features(rounded).unwrap(),
        &model,
        &[Index::PdSd],
        (&[0], &[]),
        &options,
    );
    assert_eq!(found.unwrap().model_rows, 4 * 50 + 50);
}

#[test]
fn indices_that_mean_nothing_are_refused() {
    let data = numbers(100, 2);
    let together = Array2::from_shape_fn((2, 100), |(j, i)| {
        data.feature(0)[i] + 0.1 * j as f64 * data.feature(1)[i]
    });
    let together = Dataset::from_features(together).unwrap();
    let model = FunctionModel::new(2, |x| x[0] + x[1]);
    let error = |data: &Dataset, model: &dyn Model, name: Index, of: &[usize]| {
        index_with(data, model, name, of, &IndexOptions::default()).unwrap_err().to_string()
    };
    let found = error(&together, &model, Index::SobolTotal, &[0]);
    assert!(
        found.contains("x1 and x2 are correlated (0.99)") && found.contains("shapley-effect"),
        "{found}"
    );
    assert!(
        index_with(&together, &model, Index::ShapleyEffect, &[0], &IndexOptions::default()).is_ok()
    );
    let constant = FunctionModel::new(2, |_| 4.0);
    for name in [Index::H2Pair, Index::SobolPair] {
        assert!(error(&data, &constant, name, &[0, 1]).contains("nothing varies"), "{name}");
    }
    let weighted = data.clone().with_weights((0..100).map(|i| f64::from(i % 3)).collect()).unwrap();
    assert!(
        error(&weighted, &model, Index::SobolFirst, &[0]).contains("draw rows by their weights")
    );
    assert!(index_with(&weighted, &model, Index::HPair, &[0, 1], &IndexOptions::default()).is_ok());
    assert!(error(&data, &model, Index::H2Pair, &[1, 1]).contains("x2 is named twice"));
    assert!(error(&data, &model, Index::PdSd, &[2]).contains("x3 does not exist"));
    let nan = FunctionModel::new(2, |_| f64::NAN);
    assert!(error(&data, &nan, Index::AleSd, &[0]).contains("returned NaN"));
    assert!(error(&numbers(3, 2), &model, Index::SobolFirst, &[0]).contains("at least four"));
}

/// Weights are copies: of H and the accumulated indices, errors included.
#[test]
fn weights_are_copies_of_rows_in_indices() {
    let data = numbers(60, 3);
    let weights: Vec<f64> = (0..60).map(|i| [1.0, 2.0, 0.0, 3.0][i % 4]).collect();
    let rows: Vec<usize> =
        (0..60).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let model = FunctionModel::new(3, |x| x[0] * x[1] + (4.0 * x[2] * x[0]).cos());
    let weighted = data.clone().with_weights(weights).unwrap();
    let copies = data.select(&rows);
    for (name, of) in [
        (Index::H2Pair, vec![0, 1]),
        (Index::HOverall, vec![0]),
        (Index::PdSd, vec![2]),
        (Index::AleSd, vec![0]),
        (Index::Ale2Sd, vec![0, 2]),
        (Index::AdditiveR2Ale, vec![]),
    ] {
        let [a, b] = [&weighted, &copies].map(|data| index(data, &model, name, &of));
        assert!((a.value - b.value).abs() < 1e-10, "{name}: {a:?} {b:?}");
        let [a, b] = [a, b].map(|found| found.standard_error.unwrap());
        assert!((a - b).abs() < 1e-8, "{name}: {a} {b}");
    }
}
