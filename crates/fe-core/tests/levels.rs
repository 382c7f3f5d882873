//! Features with levels: effects at each of them and nothing between, against sums by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_core::data::{FeatureKind, LevelNames};
use fe_core::estimator;
use fe_core::model::FunctionModel;
use fe_core::settings::{BandKind, LevelOrder};
use fe_core::{Centring, Dataset, Effect, Error, Model, Settings};
use ndarray::Array2;
use proptest::prelude::*;

const TAKING_LEVELS: [&str; 5] = ["pdp", "ice", "mplot", "ale", "shapdp"];

/// Level, number and another level in each row.
fn data(rows: &[[f64; 3]]) -> Dataset {
    let array = Array2::from_shape_fn((rows.len(), 3), |(i, j)| rows[i][j]);
    let kinds = vec![FeatureKind::Nominal, FeatureKind::Continuous, FeatureKind::Nominal];
    Dataset::from_rows(&array.view()).unwrap().with_kinds(kinds).unwrap()
}

fn effect(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> Effect {
    let estimator = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(data, model, 0).unwrap_or_else(|e| panic!("{name}: {e}")).remove(0)
}

fn refusal(name: &str, settings: &Settings, data: &Dataset) -> Error {
    let estimator = estimator::from_settings(name, settings).unwrap();
    estimator.estimate(data, &product(), 0).unwrap_err()
}

/// v(level)·x + x² with v = −1, 2, 0.5, and the other level in it.
fn product() -> FunctionModel<'static> {
    FunctionModel::new(3, |x| v(x[0]) * x[1] + x[1] * x[1] + 0.3 * x[2] * x[0])
        .with_partial(|_, _| 1.0)
}

fn v(level: f64) -> f64 {
    [-1.0, 2.0, 0.5, 3.0][level as usize % 4]
}

const ROWS: [[f64; 3]; 7] = [
    [0.0, 1.0, 0.0],
    [0.0, 2.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 4.0, 0.0],
    [1.0, 3.0, 0.0],
    [2.0, 0.5, 1.0],
    [2.0, 1.5, 1.0],
];

fn f(level: f64, row: &[f64; 3]) -> f64 {
    v(level) * row[1] + row[1] * row[1] + 0.3 * row[2] * level
}

fn mean(of: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = of.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

fn centred(curve: [f64; 3]) -> Vec<f64> {
    let shares = [2.0 / 7.0, 3.0 / 7.0, 2.0 / 7.0];
    let constant: f64 = curve.iter().zip(shares).map(|(y, share)| y * share).sum();
    curve.iter().map(|y| y - constant).collect()
}

fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() < 1e-12, "{a:?} against {b:?}");
    }
}

fn change(from: f64, to: f64) -> f64 {
    let either = ROWS.iter().filter(|row| row[0] == from || row[0] == to);
    mean(either.map(|row| f(to, row) - f(from, row)))
}

#[test]
fn effects_at_levels_are_those_by_hand() {
    let (data, model, none) = (data(&ROWS), product(), Settings::default());
    let levels = [0.0, 1.0, 2.0];
    let pd = levels.map(|level| mean(ROWS.iter().map(|row| f(level, row))));
    let pdp = effect("pdp", &none, &data, &model);
    close(pdp.curve.y(), &centred(pd));
    close(effect("ice", &none, &data, &model).curve.y(), &centred(pd));
    let m = levels
        .map(|level| mean(ROWS.iter().filter(|row| row[0] == level).map(|row| f(row[0], row))));
    let mplot = effect("mplot", &none, &data, &model);
    close(mplot.curve.y(), &centred(m));
    assert_eq!(mplot.record.centring, Centring::Data);
    assert!(
        (mplot.mean_prediction.unwrap() - mean(ROWS.iter().map(|row| f(row[0], row)))).abs()
            < 1e-12
    );
    let ale = effect("ale", &none, &data, &model);
    close(ale.curve.y(), &centred([0.0, change(0.0, 1.0), change(0.0, 1.0) + change(1.0, 2.0)]));
    assert!(ale.heterogeneity.y()[0].is_nan() && ale.heterogeneity.y()[2] > 0.0);
    let levels_of = ale.record.levels.as_ref().unwrap();
    assert_eq!(levels_of.counts, [2.0, 3.0, 2.0]);
    assert_eq!(levels_of.order.as_ref().unwrap().rule, "given");
    // 2 · 7 rows at their own level and another, and 3 at a third.
    assert_eq!(ale.record.model_rows, 2 * 7 + 3);
    // Means are not over the same rows along another order.
    let names = [(0.0, "a"), (2.0, "c"), (1.0, "b")].map(|(value, name)| (value, name.to_owned()));
    let other = data.clone().with_levels(0, LevelNames::new(names).unwrap()).unwrap();
    let ale = effect("ale", &none, &other, &model);
    close(ale.curve.y(), &centred([0.0, change(0.0, 2.0) + change(2.0, 1.0), change(0.0, 2.0)]));
    assert_eq!(ale.record.levels.unwrap().order.unwrap().names, ["a", "c", "b"]);
    let start = Settings { center: Some(Centring::Start), ..none.clone() };
    for name in TAKING_LEVELS {
        assert_eq!(effect(name, &start, &other, &model).curve.y()[0], 0.0, "{name}");
    }
    // Of a function that is additive Shapley values are the terms.
    let additive = FunctionModel::new(3, |x| v(x[0]) + x[1].sin() - x[2]);
    let shap = effect("shapdp", &none, &data, &additive);
    close(shap.curve.y(), &centred(levels.map(v)));
    assert!(shap.heterogeneity_values["mean_levels"].unwrap() < 1e-28);
}

#[test]
fn nothing_is_between_levels() {
    let data = data(&ROWS);
    for name in TAKING_LEVELS {
        let effect = effect(name, &Settings::default(), &data, &product());
        assert!(effect.curve.at(2.0).is_ok(), "{name}");
        let refused = effect.curve.at(0.5).unwrap_err();
        assert!(matches!(refused, Error::NotALevel { .. }), "{name}: {refused}");
        assert_eq!(refused.to_string().matches("0, 1, 2").count(), 1, "{refused}");
        let text = serde_json::to_string(&effect).unwrap();
        let read: Effect = serde_json::from_str(&text).unwrap();
        assert_eq!((&read.curve, &read.record.levels), (&effect.curve, &effect.record.levels));
    }
}

#[test]
fn what_levels_do_not_have_is_refused() {
    let data = data(&ROWS);
    for name in ["dpdp", "dice", "dale", "rhale"] {
        let refused = refusal(name, &Settings::default(), &data);
        assert!(matches!(refused, Error::NoDerivativeByLevels { .. }), "{name}: {refused}");
        let said = refused.to_string();
        assert!(said.starts_with(&format!("`{name}` is made of")), "{said}");
        assert!(said.contains("x1, which is nominal"), "{said}");
    }
    for centring in [Centring::Integral, Centring::Bins] {
        let settings = Settings { center: Some(centring), ..Settings::default() };
        for name in TAKING_LEVELS {
            let refused = refusal(name, &settings, &data).to_string();
            assert!(refused.contains("levels of x1"), "{name}: {refused}");
        }
    }
    for (name, why) in [
        ("regional-dpdp", "is made of derivatives"),
        ("regional-rhale", "is made of derivatives"),
        ("regional-shapdp", "draws splines along numbers"),
    ] {
        let regional = fe_core::regional::from_settings(name, &Settings::default()).unwrap();
        let refused = regional.fit(&data, &product(), 0).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("`{name}` {why}, and x1, which is nominal")),
            "{refused}"
        );
    }
    let of_grid = Settings { heterogeneity: Some("mean_grid".to_owned()), ..Settings::default() };
    let regional = fe_core::regional::from_settings("regional-pdp", &of_grid).unwrap();
    let refused = regional.fit(&data, &product(), 0).unwrap_err().to_string();
    assert!(refused.contains("lower `mean_levels`"), "{refused}");
    let order = Settings { order: Some(LevelOrder::Name), ..Settings::default() };
    let numbers =
        Dataset::from_rows(&Array2::from_shape_fn((5, 3), |(i, j)| (i * j) as f64).view());
    assert!(refusal("ale", &order, &numbers.unwrap()).to_string().contains("no feature"));
    let rows: Vec<[f64; 3]> = (0..1001).map(|i| [f64::from(i), 1.0, 0.0]).collect();
    let many = self::data(&rows);
    assert!(
        refusal("pdp", &Settings::default(), &many).to_string().contains("1001 different values")
    );
    let one = self::data(&[[3.0, 1.0, 0.0], [3.0, 2.0, 0.0]]);
    assert!(matches!(refusal("ale", &Settings::default(), &one), Error::ConstantFeature { .. }));
    let unknown = data.with_levels(0, LevelNames::of_words(["a", "b"]).unwrap()).unwrap_err();
    assert!(unknown.to_string().contains("row 6, column x1: 2 is none of its levels"), "{unknown}");
}

#[test]
fn ordinal_levels_go_by_their_values() {
    let kinds = vec![FeatureKind::Ordinal, FeatureKind::Continuous, FeatureKind::Nominal];
    let nominal = data(&ROWS);
    let ordinal = nominal.clone().with_kinds(kinds).unwrap();
    let by_frequency = Settings { order: Some(LevelOrder::Frequency), ..Settings::default() };
    let ale = effect("ale", &by_frequency, &ordinal, &product());
    let given = effect("ale", &Settings::default(), &nominal, &product());
    assert_eq!(ale.curve.y(), given.curve.y());
    assert_eq!(ale.record.levels.unwrap().order.unwrap().rule, "value");
    let other = effect("ale", &by_frequency, &nominal, &product());
    assert_eq!(other.record.levels.unwrap().order.unwrap().values, [1.0, 0.0, 2.0]);
    assert_ne!(other.curve.y(), given.curve.y());
}

/// A feature of two values has the effect that partial dependence has of it, whichever way it is looked at.
#[test]
fn two_levels_need_no_order() {
    let rows: Vec<[f64; 3]> =
        ROWS.iter().map(|row| [f64::from(row[0] > 0.0), row[1], row[2]]).collect();
    let data = data(&rows);
    let pdp = effect("pdp", &Settings::default(), &data, &product());
    for rule in
        [LevelOrder::Given, LevelOrder::Frequency, LevelOrder::Response, LevelOrder::Similarity]
    {
        let settings = Settings { order: Some(rule), ..Settings::default() };
        let ale = effect("ale", &settings, &data, &product());
        close(&[ale.curve.y()[1] - ale.curve.y()[0]], &[pdp.curve.y()[1] - pdp.curve.y()[0]]);
    }
}

fn random_rows() -> impl Strategy<Value = Vec<[f64; 3]>> {
    let row = (0..4_u8, -3.0..3.0_f64, 0..3_u8);
    let rows = prop::collection::vec(row, 12..60);
    let rows = rows.prop_map(|rows| {
        let row = |(level, x, other): (u8, f64, u8)| [f64::from(level), x, f64::from(other)];
        rows.into_iter().map(row).collect::<Vec<[f64; 3]>>()
    });
    rows.prop_filter("all levels occur", |rows| {
        (0..4).all(|level| rows.iter().any(|row| row[0] == f64::from(level)))
    })
}

fn orders() -> Vec<Settings> {
    [
        LevelOrder::Given,
        LevelOrder::Name,
        LevelOrder::Frequency,
        LevelOrder::Response,
        LevelOrder::Similarity,
    ]
    .map(|rule| Settings { order: Some(rule), ..Settings::default() })
    .to_vec()
}

fn named(rows: &[[f64; 3]], codes: &[f64; 4]) -> Dataset {
    let coded: Vec<[f64; 3]> =
        rows.iter().map(|row| [codes[row[0] as usize], row[1], row[2]]).collect();
    let words = ["d", "b", "a", "c"];
    let names =
        LevelNames::new(codes.iter().zip(words).map(|(&code, word)| (code, word.to_owned())));
    data(&coded).with_levels(0, names.unwrap()).unwrap()
}

/// The value of a curve at each level by its name.
fn by_name(effect: &Effect) -> Vec<(String, f64)> {
    let levels = effect.record.levels.as_ref().unwrap();
    let mut all: Vec<(String, f64)> =
        levels.names.iter().cloned().zip(effect.curve.y().iter().copied()).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Other numbers for the same levels move values to where these are, and change nothing else.
    #[test]
    fn codes_of_levels_do_not_matter(
        rows in random_rows(),
        codes in Just(vec![7.0, -2.0, 0.5, 4.0]).prop_shuffle(),
    ) {
        let codes: [f64; 4] = codes.try_into().unwrap();
        let level = |x: f64| codes.iter().position(|code| *code == x).unwrap() as f64;
        let model = product();
        let recoded = FunctionModel::new(3, |x| {
            let level = level(x[0]);
            v(level) * x[1] + x[1] * x[1] + 0.3 * x[2] * level
        });
        let (plain, other) = (named(&rows, &[0.0, 1.0, 2.0, 3.0]), named(&rows, &codes));
        let mut all: Vec<(&str, Settings)> =
            TAKING_LEVELS.iter().map(|name| (*name, Settings::default())).collect();
        all.extend(orders().into_iter().map(|settings| ("ale", settings)));
        for (name, settings) in all {
            let one = effect(name, &settings, &plain, &model);
            let two = effect(name, &settings, &other, &recoded);
            for ((a, y), (b, z)) in by_name(&one).iter().zip(&by_name(&two)) {
                prop_assert_eq!(a, b);
                prop_assert!((y - z).abs() < 1e-9, "{} {:?}: {} {} {}", name, settings.order, a, y, z);
            }
            let value = |effect: &Effect| effect.heterogeneity_values[effect.default_heterogeneity];
            let (one, two) = (value(&one), value(&two));
            prop_assert!(one.zip(two).is_none_or(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a)));
        }
    }

    /// A weight of 2 is the row twice, and one of 0 no row.
    #[test]
    fn weights_are_duplicates(rows in random_rows(), seed in 0..1000_usize) {
        let weight = |row: usize| (row * 7 + seed) % 3;
        let weights: Vec<f64> = (0..rows.len()).map(|row| weight(row) as f64).collect();
        let copies: Vec<[f64; 3]> = rows.iter().enumerate()
            .flat_map(|(row, values)| std::iter::repeat_n(*values, weight(row)))
            .collect();
        prop_assume!((0..2).filter(|level| copies.iter().any(|row| row[0] == f64::from(*level))).count() == 2);
        let band = Settings { band: Some(BandKind::Analytic), ..Settings::default() };
        let mut all: Vec<(&str, Settings)> =
            TAKING_LEVELS.iter().map(|name| (*name, Settings::default())).collect();
        all.extend(orders().into_iter().map(|settings| ("ale", settings)));
        all.extend([("pdp", band.clone()), ("ale", band.clone())]);
        // One copy at a level does not say how uncertain the mean there is.
        if (0..4).all(|level| copies.iter().filter(|row| row[0] == f64::from(level)).count() != 1) {
            all.extend([("mplot", band.clone()), ("shapdp", band)]);
        }
        let (copied, weighted) = (data(&copies), data(&rows).with_weights(weights).unwrap());
        for (name, settings) in all {
            let one = effect(name, &settings, &copied, &product());
            let two = effect(name, &settings, &weighted, &product());
            prop_assert_eq!(one.curve.x(), two.curve.x());
            for (y, z) in one.curve.y().iter().zip(two.curve.y()) {
                prop_assert!((y - z).abs() < 1e-9, "{} {:?}: {} {}", name, settings.order, y, z);
            }
            let limits = |effect: &Effect| {
                let band = effect.confidence.as_ref();
                band.map(|band| band.pointwise.upper.y().to_vec()).unwrap_or_default()
            };
            for (y, z) in limits(&one).iter().zip(limits(&two)) {
                prop_assert!((y - z).abs() < 1e-9 * (1.0 + y.abs()), "{}: {} {}", name, y, z);
            }
        }
    }
}

/// Samples of so many rows: a level, a number that depends on it, and one that does not.
fn dependent(samples: usize, rows: usize, seed: u64) -> Vec<Dataset> {
    let mut state = seed;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut row = move |_| {
        let level = (3.0 * random().sqrt()).floor().min(2.0);
        [level, 2.0 * random() + 0.5 * level, f64::from(random() > 0.4)]
    };
    (0..samples).map(|_| data(&(0..rows).map(&mut row).collect::<Vec<_>>())).collect()
}

/// Standard errors of the bands at levels against the spread of estimates over 600 samples.
#[test]
fn bands_at_levels_are_as_wide_as_estimates_differ() {
    const SAMPLES: usize = 600;
    let samples = dependent(SAMPLES, 150, 5);
    for centring in [Centring::Data, Centring::Start] {
        for (name, kind) in [
            ("pdp", BandKind::Analytic),
            ("ale", BandKind::Analytic),
            ("ale", BandKind::Bootstrap),
            ("mplot", BandKind::Analytic),
            ("mplot", BandKind::Bootstrap),
        ] {
            let resamples = (kind == BandKind::Bootstrap).then_some(60);
            let settings = Settings {
                band: Some(kind),
                level: Some(0.9),
                resamples,
                center: Some(centring),
                ..Settings::default()
            };
            let taken = if kind == BandKind::Bootstrap { 60 } else { SAMPLES };
            let effects: Vec<Effect> = samples
                .iter()
                .take(SAMPLES)
                .map(|data| effect(name, &settings, data, &product()))
                .collect();
            for level in 0..3 {
                let values: Vec<f64> =
                    effects.iter().map(|effect| effect.curve.y()[level]).collect();
                let middle = mean(values.iter().copied());
                let sd = mean(values.iter().map(|y| (y - middle).powi(2))).sqrt();
                let half = mean(effects.iter().take(taken).map(|effect| {
                    let limits = &effect.confidence.as_ref().unwrap().pointwise;
                    0.5 * (limits.upper.y()[level] - limits.lower.y()[level])
                }));
                // The quantile of Student's t with 149 degrees of freedom; the spread of 600 values is known
                // to 3 % (1/√1200), that of 60 resamples of each of 60 samples to 2 %, and the percentiles of
                // 60 lie inside by up to 6 %.
                let ratio = half / 1.655 / sd;
                let most = if kind == BandKind::Bootstrap { 0.15 } else { 0.1 };
                assert!(
                    (sd == 0.0 && half < 1e-12) || (ratio - 1.0).abs() < most,
                    "{name} {kind:?} {centring:?}, level {level}: {ratio}"
                );
            }
        }
    }
}

/// 60 rows whose second feature decides which way the level goes; the third is another level.
fn turning(rows: usize) -> (Dataset, FunctionModel<'static>) {
    let row = |i: usize| {
        [(i % 3) as f64, ((i * 7 % rows) as f64 + 0.5) / rows as f64 - 0.5, (i % 2) as f64]
    };
    let data = data(&(0..rows).map(row).collect::<Vec<_>>());
    let model = FunctionModel::new(3, |x| if x[1] > 0.0 { v(x[0]) } else { -v(x[0]) } + x[1]);
    (data, model)
}

#[test]
fn regions_of_a_feature_with_levels_have_the_effects_of_their_rows() {
    let (data, model) = turning(60);
    for (name, plain, value) in
        [("regional-pdp", "pdp", "mean_levels"), ("regional-ale", "ale", "mean_steps")]
    {
        let regional = fe_core::regional::from_settings(name, &Settings::default()).unwrap();
        let regional = regional.with_inner_effects();
        let found = regional.fit(&data, &model, 0).unwrap().remove(0);
        assert_eq!(found.heterogeneity, value);
        let rule = found.tree.nodes()[1].rule.clone().unwrap();
        assert_eq!((rule.feature, rule.kind.values()[0].abs() < 0.05), (1, true), "{found}");
        let whole = effect(plain, &Settings::default(), &data, &model);
        let of_all = [found.tree.nodes()[0].heterogeneity, whole.heterogeneity_values[value]];
        assert!((of_all[0].unwrap() / of_all[1].unwrap() - 1.0).abs() < 1e-12, "{of_all:?}");
        assert_eq!(found.tree.nodes()[0].effect.as_ref().unwrap().curve, whole.curve);
        for leaf in found.tree.leaves() {
            let kind = &leaf.rule.as_ref().unwrap().kind;
            let rows: Vec<usize> =
                (0..60).filter(|&row| kind.holds(data.feature(1)[row])).collect();
            let (there, leaf_effect) = (data.select(&rows), leaf.effect.as_ref().unwrap());
            let alone = effect(plain, &Settings::default(), &there, &model);
            close(leaf_effect.curve.y(), alone.curve.y());
            assert_eq!(
                leaf_effect.record.levels.as_ref().unwrap().counts,
                alone.record.levels.unwrap().counts
            );
            // v or −v, and nothing that differs between the rows.
            assert!(leaf.heterogeneity.unwrap() < 1e-20, "{found}");
            let rise = leaf_effect.curve.y()[1] - leaf_effect.curve.y()[0];
            assert!((rise.abs() - 3.0).abs() < 1e-12, "{rise}");
        }
    }
}

/// The changes of a row to its own level and to the next count alike, also where they differ from row to row.
#[test]
fn regions_start_from_the_heterogeneity_of_all_rows() {
    let data = dependent(1, 100, 3).remove(0);
    let model = FunctionModel::new(3, |x| x[0] * x[0] * x[1] + x[0] * x[2]);
    for (name, plain, value) in
        [("regional-pdp", "pdp", "mean_levels"), ("regional-ale", "ale", "mean_steps")]
    {
        let regional = fe_core::regional::from_settings(name, &Settings::default()).unwrap();
        let found = regional.fit(&data, &model, 0).unwrap().remove(0);
        let whole = effect(plain, &Settings::default(), &data, &model).heterogeneity_values[value];
        let (root, whole) = (found.tree.nodes()[0].heterogeneity.unwrap(), whole.unwrap());
        assert!(whole > 0.01 && (root / whole - 1.0).abs() < 1e-12, "{name}: {root} for {whole}");
    }
}

/// Where all rows of two neighbouring levels are on one side, the other side has no change between them: the
/// accumulated effect of that side does not exist, and the partial dependence does.
#[test]
fn no_region_is_without_one_of_the_changes() {
    let rows: Vec<[f64; 3]> = (0..90)
        .map(|i| {
            let level = f64::from(i % 3);
            [level, if level == 2.0 { 1.0 } else { f64::from(i / 3 % 2) }, 0.0]
        })
        .filter(|row| row[1] == 1.0 || row[0] == 0.0)
        .collect();
    let data = data(&rows);
    let model = FunctionModel::new(3, |x| v(x[0]) * (x[1] - 0.5));
    let fitted = |name: &str| {
        let regional = fe_core::regional::from_settings(name, &Settings::default()).unwrap();
        regional.fit(&data, &model, 0).unwrap().remove(0).tree
    };
    // On the left only level 0 is left.
    let [pdp, ale] = ["regional-pdp", "regional-ale"].map(fitted);
    assert_eq!((pdp.leaves().count(), ale.leaves().count()), (2, 1));
    let left = pdp.leaves().next().unwrap().effect.clone().unwrap();
    assert_eq!(left.record.levels.unwrap().counts, [15.0, 0.0, 0.0]);
}

#[test]
fn regions_of_levels_go_along_the_order_of_all_rows_and_take_weights() {
    let (data, model) = turning(60);
    let settings = Settings { order: Some(LevelOrder::Response), ..Settings::default() };
    let fitted = |data: &Dataset| {
        let regional = fe_core::regional::from_settings("regional-ale", &settings).unwrap();
        regional.fit(data, &model, 0).unwrap().remove(0)
    };
    let orders: Vec<Vec<f64>> = fitted(&data)
        .tree
        .leaves()
        .map(|leaf| leaf.effect.clone().unwrap().record.levels.unwrap().order.unwrap().values)
        .collect();
    assert_eq!(orders[0], orders[1]);
    let whole = effect("ale", &settings, &data, &model);
    assert_eq!(orders[0], whole.record.levels.unwrap().order.unwrap().values);
    let weights: Vec<f64> =
        (0..60_u8).map(|row| f64::from(row % 3) + f64::from(row % 5 == 0)).collect();
    let copies: Vec<usize> =
        (0..60).flat_map(|row| std::iter::repeat_n(row, weights[row] as usize)).collect();
    let (copied, weighted) =
        (fitted(&data.select(&copies)), fitted(&data.with_weights(weights).unwrap()));
    assert_eq!(copied.tree.nodes().len(), weighted.tree.nodes().len());
    for (one, two) in copied.tree.leaves().zip(weighted.tree.leaves()) {
        assert_eq!(one.rule, two.rule);
        close(one.effect.as_ref().unwrap().curve.y(), two.effect.as_ref().unwrap().curve.y());
    }
}

/// The mean of n predictions at a level is known to s/√n with n − 1 degrees of freedom.
#[test]
fn bands_of_means_at_levels_are_those_of_means() {
    let data = data(&ROWS);
    let settings = Settings {
        band: Some(BandKind::Analytic),
        center: Some(Centring::None),
        ..Settings::default()
    };
    let effect = effect("mplot", &settings, &data, &product());
    let band = effect.confidence.as_ref().unwrap();
    // Quantiles of Student's t with 1 and 2 degrees of freedom.
    for (level, t) in [(0.0, 12.706_204_736), (1.0, 4.302_652_730), (2.0, 12.706_204_736)] {
        let place = level as usize;
        let values: Vec<f64> =
            ROWS.iter().filter(|row| row[0] == level).map(|row| f(level, row)).collect();
        let (n, m) = (values.len() as f64, mean(values.iter().copied()));
        let error = (values.iter().map(|y| (y - m).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        let half = 0.5 * (band.pointwise.upper.y()[place] - band.pointwise.lower.y()[place]);
        assert!((half / (t * error) - 1.0).abs() < 1e-8, "{level}: {half} {}", t * error);
        assert!(
            band.simultaneous.as_ref().unwrap().upper.y()[place] >= band.pointwise.upper.y()[place]
        );
    }
}

#[test]
fn bands_that_levels_or_numbers_do_not_have_are_refused() {
    let data = data(&ROWS);
    let band = |kind| Settings { band: Some(kind), ..Settings::default() };
    for name in ["mplot", "shapdp"] {
        // A third of the resamples of so few rows have none of a level.
        let few = refusal(name, &band(BandKind::Bootstrap), &data).to_string();
        assert!(few.contains("no instance at the level"), "{name}: {few}");
        let single = self::data(&[ROWS[0], ROWS[2], ROWS[3], ROWS[5], ROWS[6]]);
        let said = refusal(name, &band(BandKind::Analytic), &single).to_string();
        assert!(said.starts_with("the level 0 of x1 has a single instance"), "{name}: {said}");
    }
    let rebin = Settings { rebin: Some(true), ..band(BandKind::Bootstrap) };
    let said = refusal("mplot", &rebin, &data).to_string();
    assert!(said.contains("x1 has levels"), "{said}");
    let estimator = estimator::from_settings("mplot", &band(BandKind::Analytic)).unwrap();
    let said = estimator.estimate(&data, &product(), 1).unwrap_err().to_string();
    assert!(said.contains("`mplot` has a confidence band at levels, and x2 is a number"), "{said}");
    let bins = refusal("mplot", &band(BandKind::Bins), &data).to_string();
    assert!(bins.contains("needs an effect with bins"), "{bins}");
}

/// Shapley values of a feature that f ignores are 0, and of one that f adds they are the same in all rows at a level: but for
/// where the rows are, which the centring sees, all of the band is rounding.
#[test]
fn bands_at_levels_of_what_is_certain_are_degenerate() {
    let data = data(&ROWS);
    let rest = |x: &[f64]| 1e3 + (x[1] * x[2]).sin() * 700.0;
    let ignored = FunctionModel::new(3, rest);
    let added = FunctionModel::new(3, move |x| rest(x) + v(x[0]));
    for (model, center) in [(&ignored, Centring::Data), (&added, Centring::Start)] {
        let band = Some(BandKind::Analytic);
        let settings = Settings { band, center: Some(center), ..Settings::default() };
        let effect = effect("shapdp", &settings, &data, model);
        let band = effect.confidence.as_ref().unwrap();
        for (lower, upper) in band.pointwise.lower.y().iter().zip(band.pointwise.upper.y()) {
            assert!(band.is_degenerate(*lower, *upper), "{center:?}: {lower} {upper}");
        }
    }
}

/// Bands of `shapdp`, whose values are means over the same rows, against the spread of estimates over 300 samples.
#[test]
fn bands_of_shapley_values_at_levels_are_as_wide_as_estimates_differ() {
    let samples = dependent(300, 100, 11);
    for (kind, centring) in [
        (BandKind::Analytic, Centring::Data),
        (BandKind::Analytic, Centring::None),
        (BandKind::Bootstrap, Centring::Data),
    ] {
        let resamples = (kind == BandKind::Bootstrap).then_some(60);
        let settings = Settings {
            band: Some(kind),
            level: Some(0.9),
            resamples,
            center: Some(centring),
            ..Settings::default()
        };
        let plain = Settings { center: Some(centring), ..Settings::default() };
        let curves: Vec<Effect> =
            samples.iter().map(|data| effect("shapdp", &plain, data, &product())).collect();
        let banded: Vec<Effect> = samples
            .iter()
            .take(100)
            .map(|data| effect("shapdp", &settings, data, &product()))
            .collect();
        for level in 0..3 {
            let values: Vec<f64> = curves.iter().map(|effect| effect.curve.y()[level]).collect();
            let middle = mean(values.iter().copied());
            let sd = mean(values.iter().map(|y| (y - middle).powi(2))).sqrt();
            let half = mean(banded.iter().map(|effect| {
                let limits = &effect.confidence.as_ref().unwrap().pointwise;
                0.5 * (limits.upper.y()[level] - limits.lower.y()[level])
            }));
            // Quantiles of Student's t with 10 to 99 degrees of freedom are 1.66 to 1.81; the spread of 300 values is
            // known to 4 %, and the percentiles of 60 resamples lie inside by up to 6 %, of a level of 11 rows by 5 % more.
            let ratio = half / 1.69 / sd;
            assert!((ratio - 1.0).abs() < 0.17, "{kind:?} {centring:?}, level {level}: {ratio}");
        }
    }
}
