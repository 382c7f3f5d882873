//! Effects of two features against their definitions, and against each other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::data::{FeatureKind, LevelNames};
use fe_core::effect::Surface;
use fe_core::estimator::{self, pair};
use fe_core::model::{BatchModel, FunctionModel, Model, Rows};
use fe_core::settings::{EmptyBins, LevelOrder};
use fe_core::{AxisChoice, Centring, Dataset, Settings};
use ndarray::Array2;
use proptest::prelude::*;

mod support;
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
