//! The population's trees of regions, and splits by differences that jump.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Sample, assert_mean, at};
use fe_truth::{Centring, Error, Quantity, Regional, RegionalTree, Scenario, TreeOptions};

fn grown(
    scenario: &Scenario,
    method: Regional,
    s: usize,
    options: TreeOptions<'_>,
) -> RegionalTree {
    scenario.tree(method, s, options).unwrap()
}

/// Feature and position of each split, in the order of the nodes.
fn splits(tree: &RegionalTree) -> Vec<(usize, f64)> {
    let of = |node: &fe_truth::RegionalNode| {
        node.split.as_ref().map(|split| (split.feature, split.position))
    };
    tree.nodes.iter().filter_map(of).collect()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * (1.0 + expected.abs())
}

fn assert_splits(tree: &RegionalTree, expected: &[(usize, f64)]) {
    let found = splits(tree);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
    }
}

/// Probabilities add up, and a node's split says what its children are.
fn assert_coherent(tree: &RegionalTree) {
    let total: f64 = tree.leaves().map(|(_, leaf)| leaf.share).sum();
    assert!(near(total, 1.0), "{total}");
    for (index, node) in tree.nodes.iter().enumerate() {
        let children: Vec<_> = tree.nodes.iter().filter(|n| n.parent == Some(index)).collect();
        let Some(split) = &node.split else {
            assert!(children.is_empty());
            continue;
        };
        assert!(near(children[0].share + children[1].share, node.share));
        assert_eq!(
            [children[0].heterogeneity, children[1].heterogeneity],
            [split.left, split.right]
        );
        let weighted = children.iter().map(|c| c.share / node.share * c.heterogeneity.value);
        assert!(near(weighted.sum(), split.weighted.value));
        assert!(children.iter().all(|child| child.depth == node.depth + 1));
    }
}

#[test]
fn effector_regional_is_split_once() {
    let scenario = at("effector-regional", "");
    for method in [Regional::Pdp, Regional::Dpdp, Regional::Ale, Regional::Rhale, Regional::Shapdp]
    {
        for cart in [false, true] {
            let options = TreeOptions { depth: 3, cart, ..TreeOptions::default() };
            let tree = grown(&scenario, method, 0, options);
            assert_coherent(&tree);
            assert_splits(&tree, &[(2, 0.0)]);
            let left: f64 = tree.weighted().value;
            let before = tree.nodes[0].heterogeneity.value;
            // Shapley values keep the background of all rows, and are linear in x1 in either leaf.
            assert!(left.abs() < 1e-12 * before, "{method}: {left}");
        }
    }
}

/// The slope of x2 is 2 x1 x2, so that a region is as good as x1 varies little in it.
#[test]
fn levels_and_ties_of_a_product() {
    let scenario = at("general-interaction", "");
    let options = TreeOptions { depth: 3, ..TreeOptions::default() };
    let tree = grown(&scenario, Regional::Dpdp, 1, options);
    assert_coherent(&tree);
    // ∫ 4 x2² Var(x1) over the range, halved: 4/9 times (half the width)².
    assert!(near(tree.nodes[0].heterogeneity.value, 4.0 / 9.0));
    assert_splits(&tree, &[(0, 0.0), (0, -0.5), (0, 0.5)]);
    let [first, second, third] = [0, 1, 2].map(|node| tree.nodes[node].split.clone().unwrap());
    assert!(first.ties.is_empty() && third.ties.is_empty());
    // Either half may be split first.
    assert_eq!(second.ties.len(), 1);
    assert!(second.ties[0].0 == 0 && near(second.ties[0].1, 0.5), "{:?}", second.ties);
    for split in [&first, &second, &third] {
        assert!(near(split.left.value, split.right.value), "{split:?}");
    }
    assert!(near(tree.weighted().value, 4.0 / 9.0 / 16.0));
    // With rules of their own both halves are split at once.
    let options = TreeOptions { depth: 2, cart: true, ..TreeOptions::default() };
    assert_splits(&grown(&scenario, Regional::Dpdp, 1, options), &[(0, 0.0), (0, -0.5), (0, 0.5)]);
    let options = TreeOptions { depth: 2, ..TreeOptions::default() };
    assert_eq!(splits(&grown(&scenario, Regional::Dpdp, 1, options)).len(), 2);
}

#[test]
fn a_level_is_kept_if_it_lowers_enough() {
    let scenario = at("general-interaction", "");
    let with = |drop: f64| {
        let options = TreeOptions { depth: 3, drop, ..TreeOptions::default() };
        splits(&grown(&scenario, Regional::Dpdp, 1, options)).len()
    };
    // Levels lower it by 3/4, 3/8 and, of what is left, 3/5.
    assert_eq!([with(0.0), with(0.37), with(0.38), with(0.74), with(0.76)], [3, 3, 1, 1, 0]);
    let none = grown(&at("friedman1", ""), Regional::Pdp, 3, TreeOptions::default());
    assert_eq!((none.nodes.len(), none.weighted().value), (1, 0.0));
}

/// The variance of x2² under a uniform law, and the best of all positions on a fine grid.
#[test]
fn no_position_is_better() {
    let variance = |a: f64, b: f64| {
        let moment = |k: i32| (b.powi(k + 1) - a.powi(k + 1)) / (f64::from(k + 1) * (b - a));
        moment(4) - moment(2).powi(2)
    };
    let scenario = at("general-interaction", "");
    let tree = grown(&scenario, Regional::Rhale, 0, TreeOptions { depth: 2, ..Default::default() });
    assert_coherent(&tree);
    let found = splits(&tree);
    let left = |ends: &[f64]| -> f64 {
        // Integrated over a range of length 2.
        ends.windows(2).map(|e| 0.5 * (e[1] - e[0]) * 2.0 * variance(e[0], e[1])).sum()
    };
    let (first, second) = (found[0].1, found[1].1);
    assert!(near(left(&[-1.0, first, 1.0]), tree.nodes[0].split.as_ref().unwrap().weighted.value));
    assert!(near(left(&[-1.0, first, second, 1.0]), tree.weighted().value));
    for k in 1..400 {
        let p = -1.0 + f64::from(k) / 200.0;
        assert!(left(&[-1.0, p, 1.0]) >= left(&[-1.0, first, 1.0]) - 1e-9, "{p}");
        let ends = if p < first { [-1.0, p, first, 1.0] } else { [-1.0, first, p, 1.0] };
        if p != first {
            assert!(left(&ends) >= tree.weighted().value - 1e-9, "{p}");
        }
    }
    // ±1/√2 are mirror images.
    assert!(near(first, -0.5_f64.sqrt()));
    let ties = &tree.nodes[0].split.as_ref().unwrap().ties;
    assert!(ties.len() == 1 && near(ties[0].1, 0.5_f64.sqrt()), "{ties:?}");
}

#[test]
fn positions_of_an_estimator() {
    let scenario = at("friedman1", "noise_features=0");
    let with = |candidates| {
        let options = TreeOptions { depth: 1, candidates, ..TreeOptions::default() };
        let tree = grown(&scenario, Regional::Dpdp, 0, options);
        let split = tree.nodes[0].split.clone().unwrap();
        (split.feature, split.position, split.weighted.value)
    };
    let (feature, position, least) = with(None);
    assert_eq!(feature, 1);
    let (feature, on_grid, more) = with(Some(19));
    assert_eq!(feature, 1);
    // One of k/20, beside the best position, and no better.
    assert!((20.0 * on_grid - (20.0 * on_grid).round()).abs() < 1e-12, "{on_grid}");
    assert!((on_grid - position).abs() < 0.05 && more >= least, "{on_grid} {position}");
    let (_, middle, _) = with(Some(1));
    assert_eq!(middle, 0.5);
}

#[test]
fn dependent_features() {
    // The slope of x1 is x2, normal: the mean, and a mirror image in either half.
    let scenario = at("liu-product", "mu2=0.4;rho=0.5");
    let options = TreeOptions { depth: 2, ..TreeOptions::default() };
    let tree = grown(&scenario, Regional::Dpdp, 0, options);
    assert_coherent(&tree);
    let found = splits(&tree);
    assert!(found[0].0 == 1 && (found[0].1 - 0.4).abs() < 1e-8, "{found:?}");
    let ties = &tree.nodes.iter().find(|n| n.depth == 1 && n.split.is_some()).unwrap();
    let ties = &ties.split.as_ref().unwrap().ties;
    assert!(ties.len() == 1 && (ties[0].1 + found[1].1 - 0.8).abs() < 1e-6, "{found:?} {ties:?}");
    let scenario = at("sin-indicator", "noise_sd=0.5");
    let tree = grown(&scenario, Regional::Rhale, 0, TreeOptions { depth: 1, ..Default::default() });
    assert_splits(&tree, &[(2, 0.0)]);
}

/// Where f jumps by an amount that differs between rows, its derivative sees nothing.
#[test]
fn jumps_in_differences() {
    let limits: Vec<f64> = (0..=10).map(|k| -1.0 + 0.2 * f64::from(k)).collect();
    // The jump, its variance, and the variance that is left when its feature is split at 0.
    let cases = [
        ("effector-regional", 2, 0, 36.0 / 3.0, 36.0 / 12.0),
        ("goldstein", 2, 1, 100.0 / 3.0, 100.0 / 12.0),
    ];
    for (name, s, other, before, after) in cases {
        let scenario = at(name, "");
        let found = scenario.regional_differences(s, &limits).unwrap();
        assert_eq!(found.heterogeneity, "ale.integral");
        assert!(near(found.before.value, before / 0.2), "{name}: {found:?}");
        let split = found.split.unwrap();
        assert!(split.feature == other && split.position.abs() < 1e-9, "{name}: {split:?}");
        assert!(near(split.weighted.value, after / 0.2), "{name}: {split:?}");
        let options = TreeOptions { depth: 1, limits: Some(&limits), ..TreeOptions::default() };
        let tree = grown(&scenario, Regional::Ale, s, options);
        assert!(near(tree.weighted().value, after / 0.2));
        let derivative = scenario.regional(Regional::Ale, s).unwrap()[0];
        assert_eq!((derivative.before.value, derivative.split), (0.0, None), "{name}");
    }
    // The jump of 2 x1² has mirror images.
    let found = at("conditional-interaction", "").regional_differences(1, &limits).unwrap();
    assert!(near(found.before.value, 4.0 * (1.0 / 5.0 - 1.0 / 9.0) / 0.2), "{found:?}");
    assert_eq!((found.split.unwrap().feature, found.ties), (0, 1));
}

/// Shapley values in a leaf keep the background of all rows.
#[test]
fn shapley_values_in_a_leaf() {
    let scenario = at("poly3", "");
    let tree =
        grown(&scenario, Regional::Shapdp, 0, TreeOptions { depth: 1, ..Default::default() });
    assert_coherent(&tree);
    assert_splits(&tree, &[(1, 0.0)]);
    for (_, leaf) in tree.leaves() {
        let there = scenario.leaf(&leaf.region).unwrap();
        let x = 0.37;
        let known = there.curve(Quantity::Shap, 0, &[x], (-1.0, 1.0), Centring::None).unwrap()[0];
        let sample = Sample::draw(&there, 2000, 4);
        let values: Vec<f64> = (0..sample.len)
            .map(|i| {
                let row = [x, sample.columns[1][i], sample.columns[2][i]];
                scenario.shap_at(&row).unwrap()[0].value
            })
            .collect();
        assert_mean(&values, known.value, "shap of poly3 x1 in a leaf");
    }
}

#[test]
fn trees_that_are_not_offered() {
    let scenario = at("poly3", "");
    let ask = |options: TreeOptions<'_>| scenario.tree(Regional::Pdp, 0, options).unwrap_err();
    let default = TreeOptions::default();
    let limits = [-1.0, 0.0, 1.0];
    for (options, word) in [
        (TreeOptions { depth: 0, ..default }, "depth = 0"),
        (TreeOptions { depth: 4, ..default }, "1 to 3"),
        (TreeOptions { candidates: Some(0), ..default }, "candidates = 0"),
        (TreeOptions { drop: -0.1, ..default }, "drop = -0.1"),
        (TreeOptions { drop: f64::NAN, ..default }, "drop"),
        (TreeOptions { limits: Some(&limits), ..default }, "only with ale"),
    ] {
        let error = ask(options);
        assert!(matches!(error, Error::BadTreeOption { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(matches!(scenario.tree(Regional::Pdp, 3, default), Err(Error::NoSuchFeature { .. })));
    let many = at("feynman-i29-16", "").without_closed_forms().tree(Regional::Pdp, 0, default);
    assert!(matches!(many, Err(Error::NoRegionalOptimum { .. })));
}

const METHODS: [Regional; 5] =
    [Regional::Pdp, Regional::Dpdp, Regional::Ale, Regional::Rhale, Regional::Shapdp];

/// What is known of the regions of a tree is known of them when they are given, however they were found.
#[test]
fn given_regions_are_judged_as_those_of_the_tree() {
    for name in ["general-interaction", "nonlinear", "liu-product"] {
        let scenario = at(name, "");
        let methods = if name == "liu-product" { &METHODS[..4] } else { &METHODS[..] };
        for &method in methods {
            let tree = grown(&scenario, method, 0, TreeOptions::default());
            assert!(tree.nodes.len() > 1, "{name} {method}");
            for node in &tree.nodes {
                let given = scenario.in_region(method, 0, &node.region, None).unwrap();
                let (found, known) = (given.heterogeneity, node.heterogeneity);
                assert!(near(given.share, node.share), "{name} {method}: {given:?} {node:?}");
                let apart = (found.value - known.value).abs();
                assert!(apart <= found.abs_error + known.abs_error + 1e-12, "{given:?} {node:?}");
                assert!(near(scenario.probability(&node.region).unwrap(), node.share));
            }
        }
    }
}

/// The slope of x1 is x2, of rows with x2 in an interval and correlated features besides: by rejection.
#[test]
fn the_heterogeneity_in_a_region_is_that_of_its_rows() {
    let scenario = at("liu-product", "rho=0.6;sigma2=2;mu2=0.5");
    let region = fe_truth::Region::default().and(1, -1.0, 2.0);
    let sample = Sample::draw(&scenario, 400_000, 7);
    let inside: Vec<f64> =
        sample.columns[1].iter().copied().filter(|x| (-1.0..=2.0).contains(x)).collect();
    let count = inside.len() as f64;
    let mean = inside.iter().sum::<f64>() / count;
    let moment = |k: i32| inside.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / count;
    let (variance, error) = (moment(2), ((moment(4) - moment(2).powi(2)) / count).sqrt());
    let truth = scenario.in_region(Regional::Dpdp, 0, &region, None).unwrap();
    assert!((truth.heterogeneity.value - variance).abs() < 4.0 * error, "{truth:?} {variance}");
    let share = count / sample.len as f64;
    let error = (share * (1.0 - share) / sample.len as f64).sqrt();
    assert!((truth.share - share).abs() < 4.0 * error, "{truth:?} {share}");
}

#[test]
fn regions_that_cannot_be_are_refused() {
    let scenario = at("effector-regional", "");
    let of = |region: &fe_truth::Region| scenario.in_region(Regional::Pdp, 0, region, None);
    let nowhere = fe_truth::Region::default().and(2, 2.0, 3.0);
    assert!(
        matches!(of(&nowhere), Err(Error::ImpossibleRegion { feature, .. }) if feature == "x3")
    );
    assert!(matches!(scenario.probability(&nowhere), Err(Error::ImpossibleRegion { .. })));
    let unknown = fe_truth::Region::default().and(9, 0.0, 1.0);
    assert!(of(&unknown).is_err() && scenario.probability(&unknown).is_err());
}

/// A region that ends closer to where f breaks than places of a copula's margin are apart relative to themselves.
#[test]
fn differences_of_correlated_candidates() {
    let text = "about = \"candidates\"\nf = \"if(x3 > 0, 3*x1, -3*x1) + x3\"\n[law]\nx1 = \"uniform(-1, 1)\"\n\
                x2 = \"uniform(-1, 1)\"\nx3 = \"uniform(-1, 1)\"\nx4 = \"uniform(-1, 1)\"\n\
                [copula]\ngaussian = [[\"x3\", \"x4\", 0.5]]\n";
    let scenario = fe_truth::problem("candidates.toml", text, &[]).unwrap();
    let limits = [-1.0, -0.2, 0.5, 1.0];
    for limits in [None, Some(&limits[..])] {
        let options = TreeOptions { depth: 2, limits, ..TreeOptions::default() };
        let tree = grown(&scenario, Regional::Ale, 0, options);
        assert_splits(&tree, &[(2, 0.0)]);
        for p in [1e-6, -1e-4, 1e-3] {
            let above = fe_truth::Region::default().and(2, p, f64::INFINITY);
            let there = scenario.in_region(Regional::Ale, 0, &above, limits).unwrap();
            // The share of rows with the other slope, and the variance of 3 or −3 over a range of 2.
            let other = (-p).max(0.0) / (1.0 - p);
            let expected = 72.0 * other * (1.0 - other);
            assert!(near(there.heterogeneity.value, expected), "{p}: {there:?} {expected}");
        }
    }
}

/// A scenario of x uniform on [−1, 1] times a slope by another feature's levels.
fn sloped(slopes: &str, law: &str) -> Scenario {
    let text = format!("f = \"x*{slopes}\"\n[law]\nx = \"uniform(-1, 1)\"\ng = \"{law}\"\n");
    fe_truth::problem("sloped", &text, &[]).unwrap()
}

/// Variance of slopes with weights.
fn variance(levels: &[(f64, f64)]) -> f64 {
    let total: f64 = levels.iter().map(|(p, _)| p).sum();
    let mean = levels.iter().map(|(p, c)| p * c).sum::<f64>() / total;
    levels.iter().map(|(p, c)| p * (c - mean).powi(2)).sum::<f64>() / total
}

/// Every level against the rest, by hand: the heterogeneity of ICE curves is a third of the variance of slopes,
/// that of derivatives all of it, and twice that over the axis.
#[test]
fn one_level_against_the_rest() {
    let known = [(0.4, 1.0), (0.1, 4.0), (0.2, -2.0), (0.3, 1.5)];
    let scenario = sloped(
        "level(g, a: 1, b: 4, c: -2, d: 1.5)",
        "categorical(a: 0.4, b: 0.1, c: 0.2, d: 0.3)",
    );
    let left = |level: usize| {
        let rest: Vec<(f64, f64)> =
            known.iter().enumerate().filter(|(i, _)| *i != level).map(|(_, l)| *l).collect();
        (1.0 - known[level].0) * variance(&rest)
    };
    let best = (0..4).min_by(|&a, &b| left(a).total_cmp(&left(b))).unwrap();
    assert_eq!(best, 2);
    let factors = [
        (Regional::Pdp, 1.0 / 3.0),
        (Regional::Dpdp, 1.0),
        (Regional::Ale, 2.0),
        (Regional::Rhale, 2.0),
    ];
    for (method, factor) in factors {
        let options = TreeOptions { cart: true, ..TreeOptions::default() };
        let tree = grown(&scenario, method, 0, options);
        assert_coherent(&tree);
        // c, and of the rest b; a and d are closer to each other.
        assert_splits(&tree, &[(1, 2.0), (1, 1.0)]);
        let root = &tree.nodes[0];
        assert!(near(root.heterogeneity.value, factor * variance(&known)), "{method}");
        let split = root.split.as_ref().unwrap();
        assert!(near(split.weighted.value, factor * left(2)), "{method}");
        assert_eq!((split.position_error, split.ties.len()), (0.0, 0));
        let shares: Vec<f64> = tree.leaves().map(|(_, leaf)| leaf.share).collect();
        assert!(
            shares.iter().zip([0.2, 0.1, 0.7]).all(|(found, known)| near(*found, known)),
            "{shares:?}"
        );
        let pair = 0.7 * factor * variance(&[known[0], known[3]]);
        assert!(near(tree.weighted().value, pair), "{method}");
        // One rule for both regions finds the same: c itself stays whole.
        assert_splits(&grown(&scenario, method, 0, TreeOptions::default()), &[(1, 2.0), (1, 1.0)]);
        let optimum = scenario.regional(method, 0).unwrap()[0];
        assert!(near(optimum.weighted().value, factor * left(2)));
        let there = scenario.in_region(method, 0, &tree.nodes[2].region, None).unwrap();
        assert!(near(there.share, 0.8) && near(there.heterogeneity.value, split.right.value));
    }
    // Shapley values of x are x times half the sum of its slope and the mean slope; the background stays.
    let tree =
        grown(&scenario, Regional::Shapdp, 0, TreeOptions { depth: 1, ..TreeOptions::default() });
    assert_splits(&tree, &[(1, 2.0)]);
    assert!(near(tree.weighted().value, left(2) / 12.0), "{:?}", tree.weighted());
    // The curve in the leaf of c is that of −2x.
    let leaf = scenario.leaf(&tree.nodes[1].region).unwrap();
    let pd = leaf.curve(Quantity::Pd, 0, &[0.5], (-1.0, 1.0), Centring::None).unwrap()[0];
    assert!(near(pd.value, -1.0), "{pd:?}");
}

#[test]
fn levels_that_split_alike() {
    // Two levels make one split, however many there were before.
    let two = sloped("level(g, a: 1, b: -1)", "categorical(a: 0.5, b: 0.5)");
    let tree = grown(&two, Regional::Pdp, 0, TreeOptions::default());
    assert_splits(&tree, &[(1, 0.0)]);
    assert_eq!(tree.nodes[0].split.as_ref().unwrap().ties, []);
    // Mirror images are named.
    let three = sloped("level(g, a: 1, b: 0, c: -1)", "categorical(a: 0.25, b: 0.5, c: 0.25)");
    let tree = grown(&three, Regional::Pdp, 0, TreeOptions::default());
    assert_splits(&tree, &[(1, 0.0), (1, 1.0)]);
    assert_eq!(tree.nodes[0].split.as_ref().unwrap().ties, [(1, 2.0)]);
    assert_eq!(tree.nodes[2].split.as_ref().unwrap().ties, []);
    assert!(tree.weighted().value < 1e-12);
    // Numbers are split by their order, half-way.
    let numbers = sloped("max(g, 2)", "categorical(1: 0.2, 2: 0.3, 5: 0.4, 6: 0.1)");
    let tree = grown(&numbers, Regional::Dpdp, 0, TreeOptions::default());
    assert_splits(&tree, &[(1, 3.5), (1, 5.5)]);
    assert_coherent(&tree);
    let shares: Vec<f64> = tree.leaves().map(|(_, leaf)| leaf.share).collect();
    assert!(
        shares.iter().zip([0.5, 0.4, 0.1]).all(|(found, known)| near(*found, known)),
        "{shares:?}"
    );
    // At the positions of an estimator, of which 2.25 and 3.5 and 4.75 divide alike: the first of them.
    let options = TreeOptions { candidates: Some(3), depth: 1, ..TreeOptions::default() };
    assert_splits(&grown(&numbers, Regional::Dpdp, 0, options), &[(1, 2.25)]);
}

/// A level against the rest where the other features depend on the levels: a witness by rows.
#[test]
fn levels_that_others_depend_on() {
    let text = include_str!("../../../scenarios/problems/seasons.toml");
    let scenario = fe_truth::problem("seasons", text, &[]).unwrap();
    let tree =
        grown(&scenario, Regional::Pdp, 1, TreeOptions { depth: 1, ..TreeOptions::default() });
    assert_coherent(&tree);
    // Slopes 0, 1.5 and 1: winter is apart from the rest.
    assert_splits(&tree, &[(0, 0.0)]);
    let (lo, hi) = scenario.axis(1);
    let slope = variance(&[(0.4, 0.0), (0.25, 0.15), (0.35, 0.1)]);
    assert!(near(tree.nodes[0].heterogeneity.value, slope * (hi - lo).powi(2) / 12.0));
    let rest = variance(&[(0.25, 0.15), (0.35, 0.1)]);
    assert!(near(tree.weighted().value, 0.6 * rest * (hi - lo).powi(2) / 12.0));
    // Given the temperature, the season is known but for little.
    let tree =
        grown(&scenario, Regional::Rhale, 1, TreeOptions { depth: 1, ..TreeOptions::default() });
    let there = tree.nodes.iter().skip(1).map(|node| node.share * node.heterogeneity.value);
    assert!(near(there.sum(), tree.weighted().value));
    let error = scenario.tree(Regional::Pdp, 0, TreeOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::HasLevels { feature, .. } if feature == "season"), "{error}");
    // Shapley values of levels: (c − E c) x / 2, whose variance given the level is a quarter on either side of 0.
    let levels = sloped("level(g, a: 1, b: 4, c: -2)", "categorical(a: 0.5, b: 0.1, c: 0.4)");
    let tree =
        grown(&levels, Regional::Shapdp, 1, TreeOptions { depth: 1, ..TreeOptions::default() });
    assert_splits(&tree, &[(0, 0.0)]);
    let slope = variance(&[(0.5, 1.0), (0.1, 4.0), (0.4, -2.0)]);
    assert!(near(tree.nodes[0].heterogeneity.value, slope / 12.0));
    assert!(near(tree.weighted().value, slope / 48.0), "{:?}", tree.weighted());
}

/// A first split is that of the regional optimum: where it is, and how far off that and the sides may be.
#[test]
fn errors_of_a_first_split_are_those_of_the_optimum() {
    let scenario = at("friedman1", "noise_features=1");
    let options = TreeOptions { depth: 1, ..TreeOptions::default() };
    let tree = grown(&scenario, Regional::Dpdp, 0, options);
    let (found, known) =
        (tree.nodes[0].split.as_ref().unwrap(), scenario.regional(Regional::Dpdp, 0).unwrap()[0]);
    let known = known.split.unwrap();
    assert_eq!((found.feature, found.position), (known.feature, known.position));
    assert!(known.position_error > 0.0);
    assert_eq!(found.position_error, known.position_error);
    for (found, known) in [(found.left, known.left), (found.right, known.right)] {
        // Slopes of the sides times the error of the position, and what integration leaves.
        assert!((0.9..1.1).contains(&(found.abs_error / known.abs_error)), "{found:?} {known:?}");
    }
}

/// Heterogeneities are squares: of a small function they are far smaller.
#[test]
fn small_functions_are_split_as_large_ones() {
    for unit in ["1", "1e-5"] {
        let text = format!(
            "f = \"{unit}*x*level(g, a: 1, b: -1)\"\n[law]\nx = \"uniform(-1, 1)\"\n\
             g = \"categorical(a: 0.5, b: 0.5)\"\n"
        );
        let scenario = fe_truth::problem("small", &text, &[]).unwrap();
        let tree = grown(&scenario, Regional::Dpdp, 0, TreeOptions::default());
        assert_splits(&tree, &[(1, 0.0)]);
    }
}
