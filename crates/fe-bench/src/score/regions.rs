//! Trees of regions that were found, and the truths that they are judged by.
//!
//! A [`FoundTree`] is all that is judged, whoever found it. [`RegionTruths`] remembers what is asked again: the
//! population's tree, and regions that come back.

use std::collections::BTreeMap;
use std::sync::Arc;

use fe_core::estimator::Estimand;
use fe_core::numeric::partition::Partition;
use fe_core::regional::{self, RegionalEffect, RuleKind};
use fe_core::settings::Splitting;
use fe_core::{Axis, Centring, Curve};
use fe_truth::{
    Condition, Quantity, Region, RegionTruth, Regional, RegionalTree, Scenario, TreeOptions, Truth,
};

use super::comparison::Comparison;
use super::estimand::{estimand_of, truth_centring, truth_of};
use super::truths::{Cache, Truths, Valued, bits, remember};

/// A tree that was found, as far as it is judged.
#[derive(Debug, Clone)]
pub struct FoundTree {
    /// The method whose heterogeneity its regions lower.
    pub method: Regional,
    /// The estimand of its curves.
    pub estimand: Estimand,
    /// The feature, counted from 0.
    pub feature: usize,
    /// The feature of its first split, and a side of it, if it is split.
    pub first: Option<(usize, RuleKind)>,
    /// Its leaves.
    pub leaves: Vec<FoundLeaf>,
    /// Limits of the bins that its finite differences are taken over.
    pub limits: Option<Vec<f64>>,
    /// Name of the heterogeneity value that its regions lower.
    pub lowered: String,
    /// Growth of the tree.
    pub growth: Growth,
}

/// Options that the population's tree shares with one that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Most levels.
    pub depth: usize,
    /// Least relative drop of heterogeneity for which a split is kept.
    pub drop: f64,
    /// True if each region has a split of its own.
    pub cart: bool,
}

/// A leaf with its curve.
#[derive(Debug, Clone)]
pub struct FoundLeaf {
    /// The rows that belong to it.
    pub region: Region,
    /// The effect of these rows.
    pub curve: Curve,
    /// The axis and the centring that the curve was made with.
    pub made: (Axis, Centring),
    /// Its share of the rows, if it is known.
    pub share: Option<f64>,
    /// Its heterogeneity values by name, as far as they are known.
    pub values: BTreeMap<String, Option<f64>>,
    /// The bins of its curve.
    pub bins: Option<Partition>,
    /// True if ICE curves were not centred where they usually are, or the other way round.
    pub other_ice: bool,
}

/// The method of a regional estimator.
///
/// # Errors
/// A name that is none of a regional estimator.
pub fn method_of(estimator: &str) -> Result<Regional, String> {
    let plain = estimator.strip_prefix("regional-").unwrap_or(estimator);
    plain.parse().map_err(|e: fe_truth::Error| e.to_string())
}

impl FoundTree {
    /// Of a regional effect.
    ///
    /// # Errors
    /// An estimator that has no truth.
    pub fn of(effect: &RegionalEffect) -> Result<Self, String> {
        Self::with_nodes(effect, effect.tree.leaf_positions())
    }

    /// Of a regional effect, with some of its nodes in place of its leaves, as far as they have an effect.
    ///
    /// # Errors
    /// As [`FoundTree::of`].
    pub(crate) fn with_nodes(
        effect: &RegionalEffect,
        places: impl Iterator<Item = usize>,
    ) -> Result<Self, String> {
        let nodes = effect.tree.nodes();
        let options = effect.record.options;
        let of_levels =
            nodes.iter().filter_map(|node| node.effect.as_ref()?.record.levels.as_ref());
        if let Some(order) = of_levels.filter_map(|levels| levels.order.as_ref()).next()
            && !order.values.is_sorted()
        {
            return Err(format!(
                "truths in regions of {} go along its levels as they are given, and these along {}",
                effect.name,
                order.names.join(", ")
            ));
        }
        let leaf = |(node, effect): (usize, &fe_core::Effect)| {
            let values = effect.heterogeneity_values.iter();
            Ok(FoundLeaf {
                region: region_of(nodes, node),
                curve: effect.curve.clone(),
                made: (effect.record.axis, effect.record.centring),
                share: Some(nodes[node].share),
                values: values.map(|(name, value)| ((*name).to_owned(), *value)).collect(),
                bins: effect.bins.as_ref().map(|bins| bins.partition.clone()),
                other_ice: effect.record.raw_ice.is_some(),
            })
        };
        let leaves = places.filter_map(|place| Some((place, nodes[place].effect.as_ref()?)));
        let leaves = leaves.map(leaf).collect::<Result<Vec<FoundLeaf>, String>>()?;
        let first = nodes.iter().find(|node| node.parent == Some(0));
        let first = first.and_then(|node| node.rule.as_ref());
        let estimand = estimand_of(effect.estimator).ok_or("the estimator has no truth")?;
        let bins = effect.tree.leaves().find_map(|leaf| leaf.effect.as_ref()?.bins.as_ref());
        let of_differences = estimand == Estimand::AccumulatedLocalEffects;
        Ok(Self {
            method: method_of(effect.estimator)?,
            estimand,
            feature: effect.feature,
            first: first.map(|rule| (rule.feature, rule.kind.clone())),
            leaves,
            limits: bins.filter(|_| of_differences).map(|bins| bins.partition.limits().to_vec()),
            lowered: effect.heterogeneity.to_owned(),
            growth: Growth {
                depth: options.depth,
                drop: options.drop,
                cart: options.partition == Splitting::Cart,
            },
        })
    }
}

impl FoundTree {
    /// The points at which all leaves have a curve.
    #[must_use]
    pub fn covered(&self, points: &[f64]) -> Vec<f64> {
        let has = |x: f64, leaf: &FoundLeaf| {
            let (lo, hi) = leaf.curve.range();
            (lo..=hi).contains(&x)
        };
        let shared = |x: &f64| self.leaves.iter().all(|leaf| has(*x, leaf));
        points.iter().copied().filter(shared).collect()
    }
}

/// The region of a node of a tree: its rule and those of its ancestors.
#[must_use]
pub fn region_of(nodes: &[regional::Node], node: usize) -> Region {
    let (mut region, mut at) = (Region::default(), Some(node));
    while let Some(node) = at.and_then(|at| nodes.get(at)) {
        if let Some(rule) = &node.rule {
            region = cut(region, rule.feature, &rule.kind);
        }
        at = node.parent;
    }
    region
}

/// The part of a region that obeys a rule.
pub(super) fn cut(region: Region, feature: usize, kind: &RuleKind) -> Region {
    match kind {
        RuleKind::AtMost(position) => region.and(feature, f64::NEG_INFINITY, *position),
        RuleKind::Above(position) => region.and(feature, *position, f64::INFINITY),
        RuleKind::Is(level) => region.and_among(feature, &[*level]),
        RuleKind::Among(levels) => region.and_among(feature, levels),
        RuleKind::IsNot(_) | RuleKind::NotAmong(_) => {
            kind.values().iter().fold(region, |region, level| region.and_not(feature, *level))
        }
    }
}

/// Method, feature, limits of differences; the bits of numbers.
type AsJudged = (Regional, usize, Vec<u64>);

/// Depth, drop, and true if each region has a split of its own.
type GrowthKey = (usize, u64, bool);

/// The bits of numbers of what is asked of each feature: ends, levels that are allowed, and that are not.
type RegionKey = Vec<(usize, [u64; 2], Option<Vec<u64>>, Vec<u64>)>;

/// The truths of regions of a scenario, remembered.
#[derive(Default)]
pub struct RegionTruths {
    trees: Cache<(AsJudged, GrowthKey), RegionalTree>,
    regions: Cache<(AsJudged, RegionKey), RegionTruth>,
    leaves: Cache<RegionKey, Arc<Leaf>>,
}

/// A scenario in a leaf, with its truths.
struct Leaf {
    scenario: Scenario,
    truths: Truths,
}

impl std::fmt::Debug for RegionTruths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegionTruths").finish_non_exhaustive()
    }
}

impl RegionTruths {
    /// The population's tree that grows as one that was found, with positions anywhere.
    ///
    /// # Errors
    /// What the scenario says of it.
    pub fn population(&self, scenario: &Scenario, of: &FoundTree) -> Result<RegionalTree, String> {
        let Growth { depth, drop, cart } = of.growth;
        let key = (as_judged(of), (depth, drop.to_bits(), cart));
        let limits = of.limits.as_deref();
        let trees = remember(&self.trees, key, || {
            let options = TreeOptions { depth, candidates: None, drop, cart, limits };
            Ok::<_, fe_truth::Error>(vec![scenario.tree(of.method, of.feature, options)?])
        })?;
        trees.first().cloned().ok_or_else(|| "there is no tree".to_owned())
    }

    /// Probability and heterogeneity of a region, as the method of a tree judges it.
    ///
    /// # Errors
    /// What the scenario says of it.
    pub fn region(
        &self,
        scenario: &Scenario,
        of: &FoundTree,
        region: &Region,
    ) -> Result<RegionTruth, String> {
        let limits = of.limits.as_deref();
        let known = remember(&self.regions, (as_judged(of), key_of(region)), || {
            Ok::<_, fe_truth::Error>(vec![
                scenario.in_region(of.method, of.feature, region, limits)?,
            ])
        })?;
        known.first().copied().ok_or_else(|| "there is no such region".to_owned())
    }

    /// The true curve in a leaf at some points, centred as the leaf's; up to a constant where both are centred
    /// on the points.
    ///
    /// # Errors
    /// What the scenario says of it.
    pub fn curve(
        &self,
        scenario: &Scenario,
        of: &FoundTree,
        leaf: &FoundLeaf,
        points: &[f64],
        comparison: Comparison,
    ) -> Result<Arc<[Truth]>, String> {
        let there = self.leaf(scenario, &leaf.region)?;
        let (quantity, s): (Quantity, usize) = (truth_of(of.estimand), of.feature);
        match comparison {
            Comparison::Centred => there.truths.on_points(&there.scenario, quantity, s, points),
            Comparison::AsTheyAre => {
                let (axis, centring) = leaf.made;
                let centring = truth_centring(centring)?;
                there.truths.curve(&there.scenario, quantity, s, points, axis, centring)
            }
        }
    }

    /// A true heterogeneity value in the region of a leaf.
    ///
    /// # Errors
    /// What the scenario says of it, and a value that has no truth.
    pub(crate) fn value(
        &self,
        scenario: &Scenario,
        of: &FoundTree,
        leaf: &FoundLeaf,
        name: &str,
    ) -> Result<Truth, String> {
        let there = self.leaf(scenario, &leaf.region)?;
        let valued = Valued {
            estimand: of.estimand,
            feature: of.feature,
            axis: leaf.made.0,
            bins: leaf.bins.as_ref(),
            other_ice: leaf.other_ice,
        };
        there.truths.heterogeneity_value(&there.scenario, &valued, name)
    }

    fn leaf(&self, scenario: &Scenario, region: &Region) -> Result<Arc<Leaf>, String> {
        let known = remember(&self.leaves, key_of(region), || {
            let there = scenario.leaf(region)?;
            let leaf = Leaf { scenario: there, truths: Truths::default() };
            Ok::<_, fe_truth::Error>(vec![Arc::new(leaf)])
        })?;
        known.first().cloned().ok_or_else(|| "there is no such region".to_owned())
    }
}

fn as_judged(of: &FoundTree) -> AsJudged {
    (of.method, of.feature, of.limits.as_deref().map(bits).unwrap_or_default())
}

fn key_of(region: &Region) -> RegionKey {
    let conditions = region.conditions().iter();
    let key = |(feature, condition): &(usize, Condition)| {
        let Condition { interval: (from, to), only, not } = condition;
        let ends = [from, to].map(|end| end.to_bits());
        (*feature, ends, only.as_deref().map(bits), bits(not))
    };
    conditions.map(key).collect()
}
