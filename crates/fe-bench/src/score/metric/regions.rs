//! Metrics of trees of regions: how good the regions are, and the curves in them.

use fe_core::interrupt;
use fe_core::metric::Distance;
use fe_core::regional::RuleKind;
use fe_truth::{Region, RegionalNode, RegionalTree, Scenario};

use super::value::OfDifference;
use super::{Definition, Measure};
use crate::score::regions::{FoundTree, RegionTruths};
use crate::score::{Compared, Comparing, DEGENERATE, Provenance, Score};

/// A tree with what it is compared with.
pub(crate) struct ScoringTree<'a> {
    pub(crate) truths: &'a RegionTruths,
    pub(crate) scenario: &'a Scenario,
    pub(crate) tree: &'a FoundTree,
    pub(crate) comparing: Comparing<'a>,
}

/// Error of the curves in the leaves.
pub(super) const LEAF_MSE: Definition = Definition {
    name: "leaf_mse",
    about: "mean over the leaves, by their true probabilities, of the mean squared difference of a leaf's curve \
            from the true curve in that region",
    is_error: true,
    is_squared: true,
    measure: Measure::Regions { needs_population: false, value: leaf_mse },
};

/// Heterogeneity that better regions would not have left.
pub(super) const REGION_REGRET: Definition = Definition {
    name: "region_regret",
    about: "exact heterogeneity in the regions, weighted by their probabilities, less that of the population's \
            tree of the same depth",
    is_error: true,
    is_squared: true,
    measure: Measure::Regions { needs_population: true, value: region_regret },
};

/// 1 if the feature of the first split is right.
pub(super) const SPLIT_FEATURE: Definition = Definition {
    name: "split_feature",
    about: "1 where the first split is of the population's feature, or there is none where the population has \
            none; else 0",
    is_error: false,
    is_squared: false,
    measure: Measure::Regions { needs_population: true, value: split_feature },
};

/// Error of the position of the first split.
pub(super) const SPLIT_ERROR: Definition = Definition {
    name: "split_error",
    about: "probability that the splitting feature lies between the first split's position and the population's, or \
            is at either of two levels; degenerate where it is of another feature",
    is_error: true,
    is_squared: false,
    measure: Measure::Regions { needs_population: true, value: split_error },
};

/// Number of leaves.
pub(super) const LEAVES: Definition = Definition {
    name: "leaves",
    about: "number of leaves of the tree",
    is_error: false,
    is_squared: false,
    measure: Measure::Regions { needs_population: false, value: leaves },
};

fn leaves(of: &ScoringTree<'_>) -> Result<Score, String> {
    let count = of.tree.leaves.len();
    Ok(Score::of(Some(count as f64), &Provenance::NONE, count, 0))
}

fn leaf_mse(of: &ScoringTree<'_>) -> Result<Score, String> {
    let Comparing { points, left_out, comparison } = of.comparing;
    if points.is_empty() {
        return Err("no grid point lies within the limits of every estimate".to_owned());
    }
    let (mut sum, mut known) = (0.0, Vec::new());
    for leaf in &of.tree.leaves {
        interrupt::check();
        let estimate = leaf.curve.at_all(points).map_err(|e| e.to_string())?;
        let truths = of.truths.curve(of.scenario, of.tree, leaf, points, comparison)?;
        let compared = Compared::new(&estimate, &truths, comparison);
        let share = of.scenario.probability(&leaf.region).map_err(|e| e.to_string())?;
        sum += share * Distance::Mse.between(&compared.estimate, &compared.truth);
        known.extend(truths.iter().map(|truth| (truth.method, truth.abs_error)));
    }
    let provenance = Provenance::of(known.into_iter());
    Ok(Score::of(Some(sum), &provenance, points.len(), left_out))
}

/// Scores a heterogeneity value of a tree, the one that it lowers unless another one is named.
pub(super) fn heterogeneity_value(
    of: &ScoringTree<'_>,
    name: Option<&str>,
    value: OfDifference,
) -> Result<Score, String> {
    let name = name.unwrap_or(&of.tree.lowered);
    let (mut estimate, mut truth, mut bound, mut methods) = (0.0, 0.0, 0.0, Vec::new());
    for leaf in &of.tree.leaves {
        interrupt::check();
        let undefined = || format!("the estimate of `{name}` is undefined in a leaf");
        let found = leaf.values.get(name).copied().flatten().ok_or_else(undefined)?;
        let share = leaf.share.ok_or("a leaf does not say its `share` of the rows")?;
        let exact = of.truths.value(of.scenario, of.tree, leaf, name)?;
        let probability = of.scenario.probability(&leaf.region).map_err(|e| e.to_string())?;
        estimate += share * found;
        truth += probability * exact.value;
        bound += probability * exact.abs_error;
        methods.push(exact.method);
    }
    let provenance = Provenance::of(methods.into_iter().map(|method| (method, bound)));
    let value = value(estimate - truth, bound);
    Ok(Score::of(Some(value), &provenance, of.tree.leaves.len(), 0))
}

fn region_regret(of: &ScoringTree<'_>) -> Result<Score, String> {
    let best = of.truths.population(of.scenario, of.tree)?.weighted();
    let mut found = Vec::new();
    for leaf in &of.tree.leaves {
        interrupt::check();
        let there = of.truths.region(of.scenario, of.tree, &leaf.region)?;
        found.push((there.share, there.heterogeneity));
    }
    let left: f64 = found.iter().map(|(share, truth)| share * truth.value).sum();
    let errors = found.iter().map(|(share, truth)| share * truth.abs_error);
    let error = errors.sum::<f64>() + best.abs_error;
    let methods = found.iter().map(|(_, truth)| (truth.method, error));
    Ok(Score::of(Some(left - best.value), &Provenance::of(methods), found.len(), 0))
}

/// The best first splits of the population: a feature and a position each.
fn first_splits(population: &RegionalTree) -> Vec<(usize, f64)> {
    let split = population.nodes.first().and_then(|root: &RegionalNode| root.split.as_ref());
    split.map_or_else(Vec::new, |split| {
        let first = std::iter::once((split.feature, split.position));
        first.chain(split.ties.iter().copied()).collect()
    })
}

fn split_feature(of: &ScoringTree<'_>) -> Result<Score, String> {
    let population = of.truths.population(of.scenario, of.tree)?;
    let best = first_splits(&population);
    let right = match &of.tree.first {
        None => best.is_empty(),
        Some((feature, _)) => best.iter().any(|(of_best, _)| of_best == feature),
    };
    let value = Some(f64::from(u8::from(right)));
    Ok(Score::of(value, &provenance(&population), 1, 0))
}

fn split_error(of: &ScoringTree<'_>) -> Result<Score, String> {
    let population = of.truths.population(of.scenario, of.tree)?;
    let best = first_splits(&population);
    let distances = match &of.tree.first {
        None => Vec::new(),
        Some((feature, kind)) => {
            let same = best.iter().filter(|(of_best, _)| of_best == feature);
            let apart = same.map(|(_, position)| apart(of.scenario, *feature, kind, *position));
            apart.collect::<Result<Vec<f64>, _>>().map_err(|e| e.to_string())?
        }
    };
    match distances.into_iter().reduce(f64::min) {
        Some(least) => Ok(Score::of(Some(least), &provenance(&population), 1, 0)),
        None => Err(DEGENERATE.to_owned()),
    }
}

/// Probability of the rows that a split puts on another side than the population's does.
fn apart(
    scenario: &Scenario,
    feature: usize,
    kind: &RuleKind,
    position: f64,
) -> Result<f64, fe_truth::Error> {
    let among =
        |levels: &[f64]| scenario.probability(&Region::default().and_among(feature, levels));
    match kind {
        RuleKind::Among(levels) | RuleKind::NotAmong(levels) => {
            // The levels that are in one of both sets alone; sides have no names, and may be exchanged.
            let mut other = vec![position];
            other.retain(|level| !levels.contains(level));
            let own = levels.iter().copied().filter(|level| *level != position);
            let share = among(&own.chain(other).collect::<Vec<_>>())?;
            Ok(share.min(1.0 - share))
        }
        _ => {
            let [own] = kind.values() else { return Ok(0.0) };
            let (low, high) = (own.min(position), own.max(position));
            match (low < high, scenario.is_nominal(feature)) {
                (false, _) => Ok(0.0),
                (true, true) => among(&[low, high]),
                (true, false) => scenario.probability(&Region::default().and(feature, low, high)),
            }
        }
    }
}

fn provenance(population: &RegionalTree) -> Provenance {
    let root = population.nodes.first().map(|root| root.heterogeneity);
    Provenance::of(root.iter().map(|root| (root.method, root.abs_error)))
}
