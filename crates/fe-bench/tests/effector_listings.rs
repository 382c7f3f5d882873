//! The trees that EFFECTOR prints for its regional example (listings 6 to 8, appendix C.3 to C.5).
//!
//! The listings are of one sample that is not given, so each number is held against its mean and
//! standard deviation over samples of that size (400 samples drawn elsewhere, by the definitions and
//! without any code of this project): a printed number may be off by three standard deviations, the
//! mean over the replicates here by four of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_bench::data::sample;
use fe_core::regional::{self, RegionalEffect, RuleKind};
use fe_core::{AxisChoice, Dataset, Settings};

const REPLICATES: usize = 20;

/// Options of all listings: 11 candidates. They print a single level of splits.
fn listing(drop: f64) -> Settings {
    Settings { candidates: Some(11), drop: Some(drop), depth: Some(1), ..Settings::default() }
}

/// The trees of some samples, with their data.
fn trees(
    name: &str,
    settings: &Settings,
    feature: usize,
    rows: usize,
) -> Vec<(Dataset, RegionalEffect)> {
    let scenario = fe_truth::scenario("effector-regional", &[]).unwrap();
    let regional = regional::from_settings(name, settings).unwrap();
    (0..REPLICATES)
        .map(|replicate| {
            let data = sample::features(&scenario, 21, rows, replicate).unwrap();
            let tree = regional.fit(&data, scenario.model(), feature).unwrap().remove(0);
            (data, tree)
        })
        .collect()
}

/// A printed number, with mean and standard deviation over samples, against those of the replicates.
fn agrees(printed: f64, (mean, sd): (f64, f64), values: &[f64]) {
    assert!((printed - mean).abs() <= 3.0 * sd, "{printed} is printed, {mean} expected");
    let count = values.len() as f64;
    let found = values.iter().sum::<f64>() / count;
    let allowed = 4.0 * sd / count.sqrt();
    assert!((found - mean).abs() <= allowed, "{found} found, {mean} expected within {allowed}");
}

fn heterogeneity(trees: &[(Dataset, RegionalEffect)], node: usize) -> Vec<f64> {
    let of_node =
        |(_, tree): &(Dataset, RegionalEffect)| tree.tree.nodes()[node].heterogeneity.unwrap();
    trees.iter().map(of_node).collect()
}

/// All trees have one split, of this feature at the candidate in the middle, which is next to 0.
fn splits_in_the_middle(trees: &[(Dataset, RegionalEffect)], feature: usize) {
    for (data, tree) in trees {
        let rules: Vec<_> =
            tree.tree.nodes()[1..].iter().map(|node| node.rule.clone().unwrap()).collect();
        let values = data.feature(feature);
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = lo + (hi - lo) * 6.0 / 12.0;
        assert_eq!(rules.len(), 2, "{tree}");
        assert!(rules.iter().all(|rule| rule.feature == feature), "{tree}");
        let RuleKind::AtMost(position) = rules[0].kind else { panic!("{tree}") };
        assert!((position - middle).abs() < 1e-12, "{tree}");
    }
}

/// Where no instance lies between 0 and the candidate next to it, nothing is left within regions.
fn nothing_is_left(trees: &[(Dataset, RegionalEffect)]) {
    let mut clean = 0;
    for (data, tree) in trees {
        let RuleKind::AtMost(position) = tree.tree.nodes()[1].rule.clone().unwrap().kind else {
            panic!("{tree}")
        };
        let x3 = data.feature(2);
        if x3.iter().all(|&x| (x <= position) == (x <= 0.0)) {
            clean += 1;
            assert!(tree.tree.levels()[1].heterogeneity.unwrap() < 1e-9, "{tree}");
        }
    }
    // About half an instance is expected there, so most samples have none.
    assert!(clean >= REPLICATES / 4, "{clean}");
}

/// Listing 6: RHALE on 11 equal bins, by ∫ σ dz with ddof 0. By the definition it is 6, and 5.967 for
/// a sample, whose standard deviations are a little small.
#[test]
fn rhale() {
    let settings = Settings {
        binning: Some("fixed".to_owned()),
        bins: Some(11),
        ddof: Some(0),
        axis: Some(AxisChoice::Given(-1.0, 1.0)),
        heterogeneity: Some("integral_sd".to_owned()),
        ..listing(0.6)
    };
    let x1 = trees("regional-rhale", &settings, 0, 1000);
    splits_in_the_middle(&x1, 2);
    agrees(5.94, (5.967, 0.014), &heterogeneity(&x1, 0));
    nothing_is_left(&x1);
    for feature in [1, 2] {
        let others = trees("regional-rhale", &settings, feature, 1000);
        assert!(others.iter().all(|(_, tree)| tree.tree.nodes().len() == 1));
    }
}

/// Listing 7: partial dependence on 10 points, by the mean standard deviation of curves that are not
/// centred.
#[test]
fn pdp() {
    let settings =
        Settings { grid: Some(10), heterogeneity: Some("mean_grid_sd".to_owned()), ..listing(0.3) };
    let x1 = trees("regional-pdp", &settings, 0, 1000);
    splits_in_the_middle(&x1, 2);
    agrees(1.74, (1.7399, 0.0032), &heterogeneity(&x1, 0));
    agrees(0.28, (0.298, 0.025), &heterogeneity(&x1, 1));
    agrees(0.29, (0.300, 0.030), &heterogeneity(&x1, 2));
    let x3 = trees("regional-pdp", &settings, 2, 1000);
    splits_in_the_middle(&x3, 0);
    agrees(1.76, (1.730, 0.025), &heterogeneity(&x3, 0));
    agrees(0.85, (0.866, 0.018), &heterogeneity(&x3, 1));
    agrees(0.87, (0.864, 0.017), &heterogeneity(&x3, 2));
}

/// Listing 8: Shapley values of 100 instances, by the mean squared residual. It is 0.75 for the
/// whole law; a spline through 100 points leaves a little less.
#[test]
fn shap() {
    let x1 = trees("regional-shapdp", &listing(0.6), 0, 100);
    splits_in_the_middle(&x1, 2);
    agrees(0.80, (0.721, 0.068), &heterogeneity(&x1, 0));
    nothing_is_left(&x1);
}

/// The text of a tree says what the listings say: instances, weights, heterogeneity, drop.
#[test]
fn the_text_of_a_tree() {
    let (_, tree) = trees("regional-shapdp", &listing(0.6), 0, 100).remove(0);
    let text = tree.to_string();
    for part in [
        "x1: regional-shapdp",
        "mean_residual",
        "all data   instances 100",
        "    x3 <= ",
        ", drop ",
    ] {
        assert!(text.contains(part), "{part} is missing from\n{text}");
    }
}
