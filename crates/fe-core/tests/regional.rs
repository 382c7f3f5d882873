//! Regional effects: known answers, invariants, and the best split by trying all of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use std::sync::atomic::{AtomicU64, Ordering};

use fe_core::estimator::shapley;
use fe_core::estimator::{self, each_feature};
use fe_core::model::{BatchModel, FunctionModel, Model, Rows};
use fe_core::regional::{self, RegionalEffect, RuleKind};
use fe_core::settings::{Jacobian, Splitting};
use fe_core::{AxisChoice, Dataset, Error, FeatureKind, ModelError, Settings};
use ndarray::Array2;
use proptest::prelude::*;

fn none() -> Settings {
    Settings::default()
}

/// The settings under which every method is tested.
fn variants() -> Vec<(&'static str, Settings)> {
    vec![
        ("regional-pdp", Settings { grid: Some(7), ..none() }),
        ("regional-dpdp", Settings { grid: Some(5), ..none() }),
        ("regional-ale", Settings { bins: Some(5), ..none() }),
        (
            "regional-ale",
            Settings { binning: Some("quantile".to_owned()), bins: Some(4), ..none() },
        ),
        ("regional-rhale", none()),
        ("regional-rhale", Settings { binning: Some("fixed".to_owned()), bins: Some(5), ..none() }),
        ("regional-rhale", Settings { jacobian: Some(Jacobian::Numeric), ..none() }),
        ("regional-shapdp", none()),
    ]
}

/// Every point is compared with every other one: fewer are enough.
fn most_rows(variant: &(&str, Settings), rows: usize) -> usize {
    if variant.0 == "regional-shapdp" { rows.min(300) } else { rows }
}

/// Points of a lattice with irrational steps: close to uniform on (−1, 1)^D.
fn uniform(rows: usize, dimension: usize) -> Array2<f64> {
    const STEPS: [f64; 4] = [0.819_172_513_396, 0.671_043_606_703, 0.549_700_477_901, 0.450_3];
    Array2::from_shape_fn((rows, dimension), |(i, j)| {
        ((i + 1) as f64 * STEPS[j]).fract() * 2.0 - 1.0
    })
}

fn data(rows: &Array2<f64>) -> Dataset {
    Dataset::from_rows(&rows.view()).unwrap()
}

/// 3 x1 where x3 > 0 and −3 x1 elsewhere, plus x3.
fn switching() -> FunctionModel<'static> {
    let slope = |x: &[f64]| if x[2] > 0.0 { 3.0 } else { -3.0 };
    FunctionModel::new(3, move |x| slope(x) * x[0] + x[2])
        .with_partial(move |s, x| [slope(x), 0.0, 1.0][s])
}

fn fit(variant: &(&str, Settings), data: &Dataset, model: &dyn Model, s: usize) -> RegionalEffect {
    let regional = regional::from_settings(variant.0, &variant.1).unwrap().with_inner_effects();
    regional.fit(data, model, s).unwrap().remove(0)
}

fn heterogeneity(effect: &RegionalEffect) -> Vec<f64> {
    effect.tree.levels().iter().map(|level| level.heterogeneity.unwrap()).collect()
}

/// What the tree is, without numbers that rounding changes.
fn structure(effect: &RegionalEffect) -> Vec<(Option<String>, Option<usize>, f64)> {
    let nodes = effect.tree.nodes().iter();
    nodes.map(|n| (n.rule.as_ref().map(ToString::to_string), n.parent, n.weight)).collect()
}

#[test]
fn methods_have_the_names_that_they_are_found_by() {
    for info in regional::ALL {
        assert_eq!(regional::from_settings(info.name, &none()).unwrap().name(), info.name);
    }
}

#[test]
fn every_method_finds_where_the_slope_switches() {
    let data = data(&uniform(1000, 3));
    let (lo, hi) =
        data.feature(2).iter().fold((1.0_f64, -1.0_f64), |(l, h), &x| (l.min(x), h.max(x)));
    let nearest = lo + (hi - lo) * 10.0 / 20.0;
    for variant in variants() {
        let effect = fit(&variant, &data, &switching(), 0);
        let nodes = effect.tree.nodes();
        assert_eq!(effect.tree.levels().len(), 2, "{variant:?}\n{effect}");
        let rule = nodes[1].rule.clone().unwrap();
        assert_eq!((rule.feature, rule.kind), (2, RuleKind::AtMost(nearest)), "{variant:?}");
        assert_eq!(nodes[2].rule.clone().unwrap().kind, RuleKind::Above(nearest));
        for (leaf, slope) in effect.tree.leaves().zip([-3.0, 3.0]) {
            let curve = &leaf.effect.as_ref().unwrap().curve;
            let (a, b) = curve.range();
            let rise = if effect.estimator == "regional-dpdp" {
                curve.at(0.0).unwrap()
            } else {
                (curve.at(b).unwrap() - curve.at(a).unwrap()) / (b - a)
            };
            // Half of what x1 and x3 do together is put down to x1.
            let slope = if effect.estimator == "regional-shapdp" { slope / 2.0 } else { slope };
            assert!((rise - slope).abs() < 0.02, "{variant:?} {rise}");
        }
    }
}

/// 18 → 0, 6 → 0 and 3 → 0 on paper; EFFECTOR's listings print 5.94 and 1.74 → 0.28.
#[test]
fn heterogeneity_before_and_after_is_that_of_the_closed_forms() {
    let data = data(&uniform(1000, 3));
    let check = |name: &str, settings: Settings, feature, before: f64, after: f64, width: f64| {
        let got = heterogeneity(&fit(&(name, settings), &data, &switching(), feature));
        assert!((got[0] - before).abs() < width, "{name}: {got:?} for {before}");
        assert!((got[1] - after).abs() < width, "{name}: {got:?} for {after}");
    };
    let named = |name: &str| Settings { heterogeneity: Some(name.to_owned()), ..none() };
    check("regional-rhale", none(), 0, 18.0, 0.0, 0.1);
    check("regional-rhale", named("integral_sd"), 0, 6.0, 0.0, 0.05);
    check("regional-pdp", none(), 0, 3.0, 0.0, 0.08);
    check("regional-dpdp", none(), 0, 9.0, 0.0, 0.05);
    // φ1 = ±1.5 x1 does not correlate with x1.
    check("regional-shapdp", none(), 0, 0.75, 0.0, 0.02);
    // Ten points see a little more than the integral √3·…: mean of sd over the grid.
    let listing = Settings { grid: Some(10), ..named("mean_grid_sd") };
    check("regional-pdp", listing, 0, 1.744, 0.2887, 0.03);
    // x3 splits on x1: half the range of slopes is left.
    check("regional-pdp", Settings { depth: Some(1), ..none() }, 2, 3.0, 0.75, 0.12);
}

/// Asks no more than it says: rows by value and by derivative.
struct Counting<'a> {
    model: FunctionModel<'a>,
    rows: AtomicU64,
    partial_rows: AtomicU64,
}

impl Model for Counting<'_> {
    fn dimension(&self) -> usize {
        self.model.dimension()
    }
    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.model.predict(rows, values)
    }
    fn has_partial(&self) -> bool {
        true
    }
    fn partial(&self, s: usize, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.partial_rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.model.partial(s, rows, values)
    }
}

#[test]
fn splitting_asks_the_model_for_nothing_new() {
    let data = data(&uniform(1000, 3));
    for variant in variants() {
        let model = Counting { model: switching(), rows: 0.into(), partial_rows: 0.into() };
        let effect = fit(&variant, &data, &model, 0);
        let asked = (model.rows.into_inner(), model.partial_rows.into_inner());
        let expected = match (variant.0, variant.1.jacobian) {
            ("regional-pdp", _) => (7000, 0),
            ("regional-dpdp", _) => (0, 5000),
            ("regional-ale", _) | (_, Some(Jacobian::Numeric)) => (2000, 0),
            // Three pairs of coalitions against each row, each row itself, the background twice.
            ("regional-shapdp", _) => (3_002_001, 0),
            _ => (0, 1000),
        };
        assert_eq!(asked, expected, "{variant:?}");
        assert_eq!((effect.record.model_rows, effect.record.jacobian_rows), expected);
    }
}

#[test]
fn nominal_features_are_split_by_level() {
    let mut rows = uniform(300, 3);
    for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
        row[2] = [0.0, 1.0, 2.0][i % 3];
    }
    let kinds = vec![FeatureKind::Continuous, FeatureKind::Continuous, FeatureKind::Nominal];
    let nominal = data(&rows).with_kinds(kinds.clone()).unwrap();
    // The level in the middle differs: no single threshold sets it apart.
    let slope = |x: &[f64]| if x[2] == 1.0 { 2.0 } else { -1.0 };
    let model = FunctionModel::new(3, move |x| slope(x) * x[0]).with_partial(move |_, x| slope(x));
    for variant in variants() {
        let effect = fit(&variant, &nominal, &model, 0);
        let rules: Vec<_> =
            effect.tree.nodes()[1..].iter().map(|n| n.rule.clone().unwrap().kind).collect();
        assert_eq!(rules, [RuleKind::Is(1.0), RuleKind::IsNot(1.0)], "{variant:?}");
        assert!(heterogeneity(&effect)[1] < 1e-6);
        let numeric = fit(&variant, &data(&rows), &model, 0);
        assert!(matches!(numeric.tree.nodes()[1].rule.clone().unwrap().kind, RuleKind::AtMost(_)));
    }
    rows.column_mut(2).mapv_inplace(|x| if x == 1.0 { 1.0 } else { 0.0 });
    let two = data(&rows).with_kinds(kinds).unwrap();
    let effect = fit(&("regional-ale", none()), &two, &model, 0);
    let first = effect.tree.nodes()[1].rule.clone().unwrap().kind;
    assert_eq!(first, RuleKind::Is(0.0), "two levels are one candidate, the first");
}

/// x1 has another slope at the levels 1 and 4 of x3, at which f is larger as well: they are neighbours by response,
/// and by no other order.
#[test]
fn nominal_features_are_split_into_sets_of_levels() {
    let mut rows = uniform(600, 3);
    for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
        row[2] = (i % 6) as f64;
    }
    let kinds = vec![FeatureKind::Continuous, FeatureKind::Continuous, FeatureKind::Nominal];
    let nominal = data(&rows).with_kinds(kinds.clone()).unwrap();
    let slope = |x: &[f64]| if x[2] == 1.0 || x[2] == 4.0 { 2.0 } else { -1.0 };
    let model = FunctionModel::new(3, move |x| slope(x) * x[0] + 10.0 * slope(x))
        .with_partial(move |_, x| slope(x));
    for (name, settings) in variants() {
        let fit =
            |subsets| fit(&(name, Settings { subsets, ..settings.clone() }), &nominal, &model, 0);
        let (each, sets) = (fit(None), fit(Some(true)));
        let rules: Vec<_> =
            sets.tree.nodes()[1..].iter().map(|n| n.rule.clone().unwrap().kind).collect();
        let levels = vec![1.0, 4.0];
        let expected = [RuleKind::Among(levels.clone()), RuleKind::NotAmong(levels)];
        assert_eq!(rules, expected, "{name} {settings:?}");
        assert!(heterogeneity(&sets)[1] < 1e-6);
        // A level alone leaves the other one with the rest.
        let [before, after] = heterogeneity(&each)[..2] else { panic!("no split") };
        assert!(after > 0.3 * before, "{name}: {before} {after}");
        assert_eq!(sets.record.model_rows, each.record.model_rows + 600, "the order by response");
        assert!(
            sets.to_string().contains("x3 in {1, 4}")
                && sets.to_string().contains("x3 not in {1, 4}")
        );
        let leaf = |level| sets.tree.leaf_of(&[0.0, 0.0, level]).unwrap();
        assert_eq!([4.0, 0.0, 7.0].map(leaf), [1, 2, 2]);
        let stored: RegionalEffect =
            serde_json::from_str(&serde_json::to_string(&sets).unwrap()).unwrap();
        assert_eq!(stored.to_string(), sets.to_string());
        // Numbers have no sets, and nobody is asked for their order.
        let settings = Settings { subsets: Some(true), ..settings };
        let numeric = self::fit(&(name, settings), &data(&rows), &model, 0);
        assert_eq!(numeric.record.model_rows, each.record.model_rows);
    }
    // What is best among the sets is no worse than the best level.
    let slopes = [3.0, 0.0, 0.1, 5.0, 0.2, 0.3];
    let model = FunctionModel::new(3, move |x| (x[0] + 2.0) * slopes[x[2] as usize]);
    let of = |subsets| {
        let settings = Settings { subsets, depth: Some(1), grid: Some(5), ..none() };
        heterogeneity(&fit(&("regional-pdp", settings), &nominal, &model, 0))[1]
    };
    assert!(of(Some(true)) < of(None) / 2.0, "the slopes 3 and 5 go together, by response");
    // Of three levels each set is one against the rest.
    rows.column_mut(2).mapv_inplace(|x| x % 3.0);
    let three = data(&rows).with_kinds(kinds).unwrap();
    let of = |subsets| {
        let model = FunctionModel::new(3, |x| x[0] * [3.0, 0.0, 0.1][x[2] as usize]);
        fit(&("regional-ale", Settings { subsets, ..none() }), &three, &model, 0).to_string()
    };
    assert_eq!(of(Some(true)), of(None));
}

/// Slopes differ by the signs of x2 and x3.
fn quadrants() -> FunctionModel<'static> {
    let slope = |x: &[f64]| f64::from(x[1] > 0.0) * 4.0 + f64::from(x[2] > 0.0);
    FunctionModel::new(3, move |x| slope(x) * x[0])
        .with_partial(move |s, x| [slope(x), 0.0, 0.0][s])
}

#[test]
fn depth_leaf_and_drop_are_respected() {
    let data = data(&uniform(400, 3));
    for variant in variants() {
        for partition in [Splitting::LevelWise, Splitting::Cart] {
            let with = |change: &dyn Fn(&mut Settings)| {
                let mut settings = Settings { partition: Some(partition), ..variant.1.clone() };
                change(&mut settings);
                fit(&(variant.0, settings), &data, &quadrants(), 0)
            };
            let regions = |effect: &RegionalEffect| effect.tree.leaves().count();
            assert_eq!(regions(&with(&|_| ())), 4, "{variant:?}");
            assert_eq!(regions(&with(&|s| s.depth = Some(1))), 2);
            assert_eq!(regions(&with(&|s| s.depth = Some(0))), 1);
            assert_eq!(regions(&with(&|s| s.drop = Some(1.0))), 1);
            let large = with(&|s| s.leaf = Some(120.0));
            assert!(large.tree.leaves().all(|leaf| leaf.weight >= 120.0) && regions(&large) >= 2);
            assert_eq!(regions(&with(&|s| s.leaf = Some(201.0))), 1);
            let positions = with(&|s| s.candidates = Some(1));
            assert_eq!(regions(&positions), 4, "the midpoint is the only candidate");
        }
    }
}

#[test]
fn cart_gives_each_region_a_rule_of_its_own() {
    let data = data(&uniform(1000, 3));
    // x3 matters only where x2 > 0.
    let slope = |x: &[f64]| match (x[1] > 0.0, x[2] > 0.0) {
        (true, true) => 5.0,
        (true, false) => 3.0,
        (false, _) => -3.0,
    };
    let model = FunctionModel::new(3, move |x| slope(x) * x[0]).with_partial(move |_, x| slope(x));
    // Shapley values of x1 depend on x3 everywhere: three features share what they do together.
    for variant in variants().into_iter().filter(|v| v.0 != "regional-shapdp") {
        let leaves = |partition| {
            let settings =
                Settings { partition: Some(partition), candidates: Some(1), ..variant.1.clone() };
            let effect = fit(&(variant.0, settings), &data, &model, 0);
            effect.tree.leaves().count()
        };
        assert_eq!((leaves(Splitting::Cart), leaves(Splitting::LevelWise)), (3, 4), "{variant:?}");
    }
}

#[test]
fn rows_find_their_leaf_and_leaves_hold_all_rows() {
    let data = data(&uniform(500, 3));
    for variant in variants() {
        let effect = fit(&variant, &data, &quadrants(), 0);
        let mut counts = vec![0; effect.tree.nodes().len()];
        for row in 0..data.len() {
            counts[effect.tree.leaf_of(&data.row(row).to_vec()).unwrap()] += 1;
        }
        let leaves: Vec<usize> = effect.tree.leaf_positions().collect();
        for (place, (node, count)) in effect.tree.nodes().iter().zip(counts).enumerate() {
            assert_eq!(count, if leaves.contains(&place) { node.rows } else { 0 });
        }
        assert!((effect.tree.leaves().map(|leaf| leaf.share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(effect.tree.leaf_of(&[0.0]).is_err());
    }
}

/// The rows of a node: those of all leaves below it.
fn rows_of(tree: &fe_core::regional::Tree, data: &Dataset, node: usize) -> Vec<usize> {
    let is_below = |row: &usize| {
        let mut at = Some(tree.leaf_of(&data.row(*row).to_vec()).unwrap());
        while at.is_some_and(|here| here != node) {
            at = tree.nodes()[at.unwrap()].parent;
        }
        at.is_some()
    };
    (0..data.len()).filter(is_below).collect()
}

/// The effect of Shapley values against the whole data on some of the rows.
fn shapley_effect(
    settings: &Settings,
    all: &Dataset,
    model: &dyn Model,
    kept: &[usize],
) -> fe_core::Effect {
    let method = shapley::ShapleyMethod::suited_to(all.dimension(), settings.permutations, 0);
    let options = shapley::Shapley { method, background: shapley::Background::All };
    let values = shapley::values(all, model, kept, &options).unwrap();
    let shapdp = estimator::ShapDependence::on_grid(settings.grid.unwrap_or(100)).unwrap();
    shapdp.of_values(all, &values, 0).unwrap().remove(0)
}

#[test]
fn regions_have_the_spline_of_their_shapley_values() {
    let all = data(&uniform(300, 3));
    let settings = Settings { grid: Some(9), ..none() };
    let effect = fit(&("regional-shapdp", settings.clone()), &all, &wavy(), 0);
    assert!(effect.tree.leaves().count() > 2);
    for (index, node) in effect.tree.nodes().iter().enumerate() {
        let leaf = node.effect.as_ref().unwrap();
        let kept = rows_of(&effect.tree, &all, index);
        let alone = shapley_effect(&settings, &all, &wavy(), &kept);
        support::assert_close(alone.curve.x(), leaf.curve.x(), 0.0);
        support::assert_close(alone.curve.y(), leaf.curve.y(), 1e-12);
        support::assert_close(alone.heterogeneity.y(), leaf.heterogeneity.y(), 1e-12);
        let value = alone.heterogeneity_values["mean_residual"].unwrap();
        assert!((value - node.heterogeneity.unwrap()).abs() < 1e-12);
        assert_eq!(leaf.record.rows, kept.len());
        assert_eq!(leaf.record.shapley.as_ref().unwrap().background, all.len());
    }
}

/// A region's effect, an inner node's too, is what the plain estimator gives for its rows on the same axis and bins.
#[test]
fn regions_have_the_effect_of_their_rows() {
    let rows = uniform(400, 3);
    let all = data(&rows);
    let (lo, hi) =
        all.feature(0).iter().fold((1.0_f64, -1.0_f64), |(l, h), &x| (l.min(x), h.max(x)));
    // Quantiles of a leaf are others, and so is the background of its Shapley values.
    let on_leaves_alone = |variant: &(&str, Settings)| {
        variant.1.binning.as_deref() != Some("quantile") && variant.0 != "regional-shapdp"
    };
    for variant in variants().into_iter().filter(on_leaves_alone) {
        let effect = fit(&variant, &all, &quadrants(), 0);
        let plain = Settings { axis: Some(AxisChoice::Given(lo, hi)), ..variant.1.clone() };
        let plain =
            estimator::from_settings(variant.0.strip_prefix("regional-").unwrap(), &plain).unwrap();
        for (index, node) in effect.tree.nodes().iter().enumerate() {
            let leaf = node.effect.as_ref().unwrap();
            let kept = rows_of(&effect.tree, &all, index);
            let subset = data(&rows.select(ndarray::Axis(0), &kept));
            let alone = plain.estimate(&subset, &quadrants(), 0).unwrap().remove(0);
            support::assert_close(alone.curve.x(), leaf.curve.x(), 0.0);
            support::assert_close(alone.curve.y(), leaf.curve.y(), 1e-12);
            support::assert_close(alone.heterogeneity.y(), leaf.heterogeneity.y(), 1e-12);
            let value = alone.heterogeneity_values[effect.heterogeneity].unwrap();
            assert!((value - node.heterogeneity.unwrap()).abs() < 1e-9, "{variant:?}");
        }
    }
}

/// An interaction that no split resolves entirely.
fn wavy() -> FunctionModel<'static> {
    FunctionModel::new(3, |x| (2.0 * x[0] * x[1]).sin() + x[0] * x[2] * x[2] + x[1]).with_partial(
        |s, x| match s {
            0 => 2.0 * x[1] * (2.0 * x[0] * x[1]).cos() + x[2] * x[2],
            1 => 2.0 * x[0] * (2.0 * x[0] * x[1]).cos() + 1.0,
            _ => 2.0 * x[0] * x[2],
        },
    )
}

fn random_rows() -> impl Strategy<Value = Array2<f64>> {
    prop::collection::vec([-1.0..1.0_f64, -1.0..1.0_f64, -1.0..1.0_f64], 24..80)
        .prop_map(|rows| Array2::from_shape_fn((rows.len(), 3), |(i, j)| rows[i][j]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_split_is_the_best_of_all(rows in random_rows()) {
        let all = data(&rows);
        let range = |j: usize| {
            all.feature(j).iter().fold((1.0_f64, -1.0_f64), |(l, h), &x| (l.min(x), h.max(x)))
        };
        let (lo, hi) = range(0);
        for variant in variants().into_iter().filter(|v| v.1.binning.as_deref() != Some("quantile")) {
            let settings =
                Settings { depth: Some(1), drop: Some(0.0), candidates: Some(6), ..variant.1.clone() };
            let effect = fit(&(variant.0, settings), &all, &wavy(), 0);
            let plain = Settings { axis: Some(AxisChoice::Given(lo, hi)), ..variant.1.clone() };
            let name = variant.0.strip_prefix("regional-").unwrap();
            let plain = estimator::from_settings(name, &plain).unwrap();
            let h = |kept: &[usize]| {
                let effect = if name == "shapdp" {
                    shapley_effect(&variant.1, &all, &wavy(), kept)
                } else {
                    let subset = data(&rows.select(ndarray::Axis(0), kept));
                    plain.estimate(&subset, &wavy(), 0).unwrap().remove(0)
                };
                effect.heterogeneity_values[effect.default_heterogeneity].map(|h| h * kept.len() as f64)
            };
            let mut best = f64::INFINITY;
            for feature in [1, 2] {
                let (lo, hi) = range(feature);
                for j in 1..=6 {
                    let p = lo + (hi - lo) * f64::from(j) / 7.0;
                    let (left, right): (Vec<usize>, Vec<usize>) =
                        (0..all.len()).partition(|&i| rows[[i, feature]] <= p);
                    if left.len() >= 10 && right.len() >= 10
                        && let Some((l, r)) = h(&left).zip(h(&right))
                    {
                        best = best.min((l + r) / all.len() as f64);
                    }
                }
            }
            let before = effect.tree.levels()[0].heterogeneity.unwrap();
            match effect.tree.levels().get(1) {
                Some(level) => {
                    let got = level.heterogeneity.unwrap();
                    prop_assert!((got - best).abs() < 1e-8 * before, "{variant:?}: {got} {best}");
                }
                None => prop_assert!(best >= before * (1.0 - 1e-9), "{variant:?}: {best} {before}"),
            }
        }
    }

    #[test]
    fn without_interaction_nothing_is_split(
        rows in random_rows(), a in -1e3..1e3_f64, b in -1e6..1e6_f64, scale in -6..7_i32,
    ) {
        let data = data(&rows);
        let scale = 10_f64.powi(scale);
        for variant in variants() {
            // Within a bin the derivative of a curved component differs without any interaction.
            // A spline is not quite the curve either.
            let curved = !["regional-rhale", "regional-shapdp"].contains(&variant.0);
            let component = move |x: f64| a * if curved { (3.0 * x).sin() + x * x } else { x };
            let slope = move |x: f64| a * if curved { 3.0 * (3.0 * x).cos() + 2.0 * x } else { 1.0 };
            let model = FunctionModel::new(3, move |x| {
                scale * (component(x[0]) + b * x[1].exp() + (5.0 * x[2]).sin())
            })
            .with_partial(move |_, x| scale * slope(x[0]));
            for partition in [Splitting::LevelWise, Splitting::Cart] {
                let settings = Settings {
                    partition: Some(partition),
                    drop: Some(0.0),
                    leaf: Some(2.0),
                    ..variant.1.clone()
                };
                let effect = fit(&(variant.0, settings), &data, &model, 0);
                prop_assert_eq!(effect.tree.nodes().len(), 1, "{:?}\n{}", variant, effect);
            }
        }
    }

    #[test]
    fn a_weight_is_a_number_of_copies(
        rows in random_rows(), weights in prop::collection::vec(0..4_u8, 80),
    ) {
        let copies: Vec<usize> =
            (0..rows.nrows()).flat_map(|i| std::iter::repeat_n(i, weights[i].into())).collect();
        prop_assume!(copies.len() > 30);
        let weighted = (0..rows.nrows()).map(|i| f64::from(weights[i])).collect();
        let weighted = data(&rows).with_weights(weighted).unwrap();
        let copied = data(&rows.select(ndarray::Axis(0), &copies));
        for variant in variants() {
            let a = fit(&variant, &weighted, &wavy(), 0);
            let b = fit(&variant, &copied, &wavy(), 0);
            prop_assert_eq!(structure(&a), structure(&b), "{:?}", variant);
            support::assert_close(&heterogeneity(&a), &heterogeneity(&b), 1e-8);
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter(rows in random_rows(), turn in 1..60_usize) {
        let order: Vec<usize> = (0..rows.nrows()).map(|i| (i + turn) % rows.nrows()).collect();
        let turned = data(&rows.select(ndarray::Axis(0), &order));
        for variant in variants() {
            let a = fit(&variant, &data(&rows), &wavy(), 0);
            let b = fit(&variant, &turned, &wavy(), 0);
            prop_assert_eq!(structure(&a), structure(&b), "{:?}", variant);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for variant in variants() {
        let data = data(&uniform(most_rows(&variant, 9001), 3));
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let effect = pool.install(|| fit(&variant, &data, &wavy(), 0));
            serde_json::to_string(&effect).unwrap()
        };
        assert_eq!(with_threads(1), with_threads(4), "{variant:?}");
    }
}

#[test]
fn features_at_once_have_the_regions_of_one_after_the_other() {
    for variant in variants() {
        let rows = uniform(most_rows(&variant, 9001), 3);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let data = data(&rows);
            let of_one = |&feature: &usize| Ok::<_, ()>(fit(&variant, &data, &wavy(), feature));
            let effects = pool.install(|| each_feature(&[2, 0, 1], of_one)).unwrap();
            serde_json::to_string(&effects).unwrap()
        };
        assert_eq!(with_threads(1), with_threads(4), "{variant:?}");
    }
}

#[test]
fn every_output_has_its_own_tree() {
    let model = BatchModel::new(3, 2, |rows| {
        let x = |i: usize, j: usize| rows.columns()[j].get(i);
        let first = (0..rows.len()).map(|i| x(i, 0) * x(i, 1).signum());
        first.chain((0..rows.len()).map(|i| x(i, 0) * x(i, 2).signum())).collect()
    });
    let data = data(&uniform(200, 3));
    for (name, settings) in variants() {
        let effects =
            regional::from_settings(name, &settings).unwrap().fit(&data, &model, 0).unwrap();
        let split = |q: usize| effects[q].tree.nodes()[1].rule.clone().unwrap().name;
        assert_eq!((split(0), split(1)), ("x2".to_owned(), "x3".to_owned()), "{name}");
        assert!(effects[1].tree.leaves().all(|leaf| leaf.effect.as_ref().unwrap().output == 1));
    }
}

#[test]
fn leaves_have_the_same_effect_whichever_column_the_feature_is() {
    let rows = uniform(300, 3);
    let (forwards, mut backwards) = (data(&rows), rows);
    backwards.invert_axis(ndarray::Axis(1));
    let backwards = data(&backwards);
    let slope = |x: &[f64]| if x[0] > 0.0 { 3.0 } else { -3.0 };
    let turned = FunctionModel::new(3, move |x| slope(x) * x[2] + x[0])
        .with_partial(move |s, x| [1.0, 0.0, slope(x)][s]);
    for (name, settings) in variants() {
        // Further down, equal candidates of two features would go to the first of them.
        let variant = (name, Settings { depth: Some(1), ..settings });
        let first = fit(&variant, &forwards, &switching(), 0);
        let last = fit(&variant, &backwards, &turned, 2);
        assert_eq!(first.tree.leaves().count(), last.tree.leaves().count(), "{variant:?}");
        for (first, last) in first.tree.leaves().zip(last.tree.leaves()) {
            assert_eq!(first.deciles, last.deciles);
            let (first, last) = (first.effect.as_ref().unwrap(), last.effect.as_ref().unwrap());
            assert_eq!((last.feature, last.name.as_str()), (2, "x3"), "{variant:?}");
            assert_eq!(first.curve.x(), last.curve.x(), "{variant:?}");
            for (y, same) in first.curve.y().iter().zip(last.curve.y()) {
                assert!((y - same).abs() < 1e-12, "{variant:?}");
            }
        }
    }
}

#[test]
fn the_text_shows_the_tree() {
    let data = data(&uniform(1000, 3));
    let settings = Settings { candidates: Some(1), ..none() };
    let text = fit(&("regional-dpdp", settings), &data, &switching(), 0).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "x1: regional-dpdp, output 1");
    assert_eq!(lines[1], "regions by mean_grid");
    assert!(
        lines[2].starts_with("all data   instances 1000, weight 100.0 %, heterogeneity "),
        "{text}"
    );
    assert!(lines[3].starts_with("    x3 <= "), "{text}");
    assert!(lines[4].starts_with("    x3 > "), "{text}");
    assert!(lines[6].starts_with("level 1: 2 regions, mean_grid 0, drop"), "{text}");
}

#[test]
fn nothing_panics() {
    let one = data(&Array2::from_elem((1, 2), 0.5));
    let constant =
        data(&Array2::from_shape_fn((50, 3), |(i, j)| if j == 0 { i as f64 } else { 7.0 }));
    let line = data(&Array2::from_shape_fn((50, 1), |(i, _)| i as f64));
    for (name, settings) in variants() {
        let fit = |data: &Dataset, model: &dyn Model| {
            regional::from_settings(name, &settings).unwrap().fit(data, model, 0)
        };
        let sum = |d| FunctionModel::new(d, |x| x.iter().sum());
        assert!(matches!(fit(&one, &sum(2)), Err(Error::ConstantFeature { .. })));
        assert_eq!(fit(&constant, &sum(3)).unwrap()[0].tree.nodes().len(), 1);
        assert_eq!(fit(&line, &sum(1)).unwrap()[0].tree.nodes().len(), 1);
        assert!(matches!(fit(&line, &sum(2)), Err(Error::Model(_))));
        assert!(matches!(
            fit(&line, &FunctionModel::new(1, |_| f64::NAN)),
            Err(Error::Model(ModelError::NotFinite { .. }))
        ));
        for scale in [1e-300, 1e-160, 1e150, 1e300] {
            let small = uniform(60, 3);
            let _ = fit(&data(&small), &FunctionModel::new(3, |x| scale * x[0] * x[1]));
            let moved = data(&(small * scale));
            let _ = fit(&moved, &FunctionModel::new(3, |x| x[0] / scale * x[1].signum()));
        }
    }
}

#[test]
fn wrong_options_are_refused() {
    let refused =
        |name: &str, settings: Settings| regional::from_settings(name, &settings).err().unwrap();
    let option = |error: Error| match error {
        Error::BadOption { option, .. } => option,
        error => panic!("{error}"),
    };
    let pdp = |settings| option(refused("regional-pdp", settings));
    assert_eq!(pdp(Settings { depth: Some(99), ..none() }), "depth");
    assert_eq!(pdp(Settings { candidates: Some(0), ..none() }), "candidates");
    assert_eq!(pdp(Settings { drop: Some(f64::NAN), ..none() }), "drop");
    assert_eq!(pdp(Settings { leaf: Some(0.5), ..none() }), "leaf");
    assert_eq!(
        pdp(Settings { heterogeneity: Some("integral".to_owned()), ..none() }),
        "heterogeneity"
    );
    assert_eq!(option(refused("regional-nope", none())), "estimator");
    assert!(matches!(
        refused("regional-pdp", Settings { bins: Some(3), ..none() }),
        Error::Incompatible(_)
    ));
    let depth = Settings { depth: Some(1), ..none() };
    assert!(matches!(estimator::from_settings("pdp", &depth), Err(Error::Incompatible(_))));
    let dynamic = Settings { binning: Some("dp".to_owned()), ..none() };
    let ale = regional::from_settings("regional-ale", &dynamic).unwrap();
    assert!(matches!(ale.fit(&data(&uniform(50, 3)), &wavy(), 0), Err(Error::Incompatible(_))));
    let huge =
        regional::from_settings("regional-pdp", &Settings { grid: Some(1_000_000), ..none() });
    let error = huge.unwrap().fit(&data(&uniform(50, 3)), &wavy(), 0).unwrap_err();
    assert!(error.to_string().contains("subsample"), "{error}");
}

/// A model that answers along a feature at once, and one place at a time not at all.
struct Along;

impl Model for Along {
    fn dimension(&self) -> usize {
        3
    }
    fn predict(&self, _: &Rows<'_>, _: &mut [f64]) -> Result<(), ModelError> {
        Err(ModelError::Failed("asked place by place".to_owned()))
    }
    fn predicts_along(&self) -> bool {
        true
    }
    fn predict_along(
        &self,
        _: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        for (&place, values) in places.iter().zip(values.chunks_mut(rows.len())) {
            for (row, value) in values.iter_mut().enumerate() {
                *value = place * rows.columns()[2].get(row);
            }
        }
        Ok(())
    }
}

#[test]
fn curves_in_regions_are_asked_as_the_model_answers_fastest() {
    let effect = fit(&("regional-pdp", none()), &data(&uniform(200, 3)), &Along, 0);
    assert!(effect.record.floor > 0.0, "answers along the feature are measured too");
}
