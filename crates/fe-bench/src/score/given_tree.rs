//! Trees of regions that were found elsewhere: JSON as `effect` prints it, or its least form.
//!
//! Of each tree the feature, the estimator and the nodes are read, parents before children; of a node the position
//! of its parent, its rule, and the curve. What else stands there is passed over.

use std::path::Path;

use fe_core::regional::RuleKind;
use fe_core::settings::Splitting;
use fe_core::{Axis, Centring, Curve};
use fe_truth::{Region, Scenario};
use serde::Deserialize;
use serde_json::Value;

use super::comparison::Comparison;
use super::estimand::estimand_of;
use super::metric::ScoringTree;
use super::regions::{FoundLeaf, FoundTree, Growth, RegionTruths, cut, method_of, position};
use super::{Comparing, METRICS, Score};
use crate::data::features::feature_of;
use crate::error::{Error, Result};

/// A tree as it was given, with the points at which the curves of its leaves are compared.
#[derive(Debug, Clone)]
pub struct GivenTree {
    /// The tree.
    pub tree: FoundTree,
    points: Vec<f64>,
    left_out: usize,
}

/// A tree as files have it.
#[derive(Deserialize)]
struct Object {
    feature: String,
    estimator: String,
    nodes: Vec<GivenNode>,
    limits: Option<Vec<f64>>,
    depth: Option<usize>,
    drop: Option<f64>,
    partition: Option<Splitting>,
    record: Option<GivenRecord>,
}

/// The record of a tree that `effect` printed.
#[derive(Deserialize)]
struct GivenRecord {
    options: GivenOptions,
}

#[derive(Deserialize)]
struct GivenOptions {
    depth: usize,
    drop: f64,
    partition: Splitting,
}

#[derive(Deserialize)]
struct GivenNode {
    parent: Option<usize>,
    rule: Option<GivenRule>,
    x: Option<Vec<f64>>,
    /// The values of the curve, or an object that has them.
    effect: Option<GivenEffect>,
}

#[derive(Deserialize)]
struct GivenRule {
    feature: String,
    /// The condition, if it does not stand beside the feature.
    kind: Option<RuleKind>,
    #[serde(flatten)]
    beside: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum GivenEffect {
    Values(Vec<f64>),
    Object { x: Vec<f64>, effect: Vec<f64>, limits: Option<Vec<f64>> },
}

/// Reads the trees of a file: one object, or an array of them.
///
/// # Errors
/// A file that cannot be read or is no such JSON, a feature that the scenario does not have, rules, parents or
/// curves that do not fit together.
pub fn read(path: &Path, scenario: &Scenario, centring: Centring) -> Result<Vec<GivenTree>> {
    let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
    let wrong = |message: String| Error::content(path, message);
    let trees = parse(&text, scenario, centring).map_err(wrong)?;
    if trees.is_empty() { Err(wrong("there is no tree".to_owned())) } else { Ok(trees) }
}

/// The trees of a text, as [`read`] has those of a file.
///
/// # Errors
/// As [`read`].
pub fn parse(
    text: &str,
    scenario: &Scenario,
    centring: Centring,
) -> std::result::Result<Vec<GivenTree>, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let all = match value {
        Value::Array(all) => all,
        one => vec![one],
    };
    let tree = |(number, value): (usize, Value)| {
        let object = serde_json::from_value::<Object>(value).map_err(|e| e.to_string());
        let tree = object.and_then(|object| tree(object, scenario, centring));
        tree.map_err(|e| format!("tree {}: {e}", number + 1))
    };
    all.into_iter().enumerate().map(tree).collect()
}

fn tree(
    object: Object,
    scenario: &Scenario,
    centring: Centring,
) -> std::result::Result<GivenTree, String> {
    let feature = feature_of(scenario, &object.feature)?;
    let (lo, hi) = scenario.axis(feature);
    let axis = Axis::new(lo, hi).map_err(|e| e.to_string())?;
    let method = method_of(&object.estimator)?;
    let estimand = estimand_of(method.name()).ok_or("the estimator has no truth")?;
    let (mut regions, mut depths): (Vec<Region>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut leaves, mut first, mut limits) = (Vec::new(), None, object.limits);
    let is_parent = |number: usize| object.nodes.iter().any(|node| node.parent == Some(number));
    for (number, node) in object.nodes.iter().enumerate() {
        let in_node = |message: String| format!("node {number}: {message}");
        match (&node.rule, node.parent) {
            (None, None) if number == 0 => {
                regions.push(Region::default());
                depths.push(0);
            }
            (Some(rule), Some(parent)) if parent < number => {
                let of = feature_of(scenario, &rule.feature).map_err(in_node)?;
                if of == feature {
                    return Err(in_node(format!("{} splits its own effect", rule.feature)));
                }
                let kind = rule.kind().map_err(in_node)?;
                let region = cut(regions[parent].clone(), of, kind).map_err(in_node)?;
                regions.push(region);
                depths.push(depths[parent] + 1);
                if parent == 0 && first.is_none() {
                    first = Some((of, position(kind).map_err(in_node)?));
                }
            }
            _ => {
                let message = "the first node has no rule and no parent, all others have a rule and a \
                               `parent` before them, counted from 0";
                return Err(in_node(message.to_owned()));
            }
        }
        if is_parent(number) {
            continue;
        }
        let (x, y) = node.curve(&mut limits).map_err(in_node)?;
        let (region, curve) = (regions[number].clone(), Curve::linear(x, y));
        leaves.push(FoundLeaf { region, curve, made: (axis, centring) });
    }
    let total = leaves.iter().map(|leaf| scenario.probability(&leaf.region));
    let total: f64 = total.sum::<std::result::Result<f64, _>>().map_err(|e| e.to_string())?;
    if (total - 1.0).abs() > 1e-6 {
        return Err(format!("the leaves have a probability of {total} in all, not 1"));
    }
    let recorded = object.record.map(|record| record.options);
    let known = |of: fn(&GivenOptions) -> f64| recorded.as_ref().map(of);
    let deepest = depths.into_iter().max().unwrap_or_default().max(1);
    let partition = object.partition.or(recorded.as_ref().map(|options| options.partition));
    let growth = Growth {
        depth: object.depth.or(recorded.as_ref().map(|o| o.depth)).unwrap_or(deepest),
        drop: object.drop.or(known(|options| options.drop)).unwrap_or(0.05),
        cart: partition == Some(Splitting::Cart),
    };
    let of_differences = method == fe_truth::Regional::Ale;
    if of_differences && limits.is_none() {
        return Err(
            "of `ale` the `limits` of the bins are needed: its heterogeneity is theirs".to_owned()
        );
    }
    let limits = limits.filter(|_| of_differences);
    let tree = FoundTree { method, estimand, feature, first, leaves, limits, growth };
    Ok(GivenTree::on_shared_points(tree, axis))
}

impl GivenRule {
    fn kind(&self) -> std::result::Result<RuleKind, String> {
        let beside = || serde_json::from_value(Value::Object(self.beside_alone())).ok();
        self.kind.or_else(beside).ok_or_else(|| {
            "a rule has one of `at-most`, `above`, `is` and `is-not`, with a number".to_owned()
        })
    }

    /// The condition that stands beside the feature.
    fn beside_alone(&self) -> serde_json::Map<String, Value> {
        let known = ["at-most", "above", "is", "is-not"];
        let of = self.beside.iter().filter(|(key, _)| known.contains(&key.as_str()));
        of.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl GivenNode {
    /// The points of the curve of a leaf; the limits of its bins are those of all.
    fn curve(
        &self,
        limits: &mut Option<Vec<f64>>,
    ) -> std::result::Result<(Vec<f64>, Vec<f64>), String> {
        let (x, y) = match (&self.x, &self.effect) {
            (Some(x), Some(GivenEffect::Values(y))) => (x.clone(), y.clone()),
            (_, Some(GivenEffect::Object { x, effect, limits: of })) => {
                *limits = limits.take().or_else(|| of.clone());
                (x.clone(), effect.clone())
            }
            _ => return Err("a leaf has `x` and `effect`, arrays of numbers".to_owned()),
        };
        if x.is_empty() || x.len() != y.len() {
            return Err(format!("`x` has {} numbers and `effect` {}", x.len(), y.len()));
        }
        if !x.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err("`x` must increase".to_owned());
        }
        Ok((x, y))
    }
}

impl GivenTree {
    /// The points of the first leaf on the axis, where all leaves have a curve.
    fn on_shared_points(tree: FoundTree, axis: Axis) -> Self {
        let all = tree.leaves.first().map(|leaf| leaf.curve.x().to_vec()).unwrap_or_default();
        let has = |x: f64, leaf: &FoundLeaf| {
            let (lo, hi) = leaf.curve.range();
            (lo..=hi).contains(&x)
        };
        let shared = |x: &f64| axis.contains(*x) && tree.leaves.iter().all(|leaf| has(*x, leaf));
        let points: Vec<f64> = all.iter().copied().filter(shared).collect();
        Self { left_out: all.len() - points.len(), points, tree }
    }

    /// The score of each metric of trees.
    #[must_use]
    pub fn scores(
        &self,
        scenario: &Scenario,
        comparison: Comparison,
    ) -> Vec<(&'static str, Score)> {
        let truths = RegionTruths::default();
        let Self { tree, points, left_out } = self;
        let comparing = Comparing { points, left_out: *left_out, comparison };
        let of = ScoringTree { truths: &truths, scenario, tree, comparing };
        let all = METRICS.iter().filter(|metric| metric.is_of_regions());
        all.map(|metric| (metric.name(), metric.of_tree(&of))).collect()
    }
}
