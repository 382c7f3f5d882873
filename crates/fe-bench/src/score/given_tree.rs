//! Trees of regions that were found elsewhere: JSON as `effect` prints it, or its least form.
//!
//! Of each tree the feature, the estimator and the nodes are read, parents before children; of a node the position
//! of its parent, its rule, and the curve. What else stands there is passed over.

use std::collections::BTreeMap;
use std::path::Path;

use fe_core::numeric::partition::{Closed, Partition};
use fe_core::regional::{self, RuleKind};
use fe_core::settings::Splitting;
use fe_core::{Axis, Centring, Curve};
use fe_truth::{Region, Scenario};
use serde::Deserialize;
use serde_json::Value;

use super::comparison::Comparison;
use super::estimand::estimand_of;
use super::metric::ScoringTree;
use super::regions::{FoundLeaf, FoundTree, Growth, RegionTruths, cut, method_of};
use super::{Comparing, METRICS, Score};
use crate::data::features::feature_of;
use crate::error::{Error, Result, listed, suggestion};

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
    /// The scenario that the rows are of, with its version.
    scenario: Option<String>,
    feature: String,
    estimator: String,
    nodes: Vec<GivenNode>,
    /// Name of the heterogeneity value that its regions lower.
    heterogeneity: Option<String>,
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
    /// Its share of the rows.
    share: Option<f64>,
    /// The heterogeneity value that the tree lowers.
    heterogeneity: Option<f64>,
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
#[serde(
    untagged,
    expecting = "`effect` must be numbers, or an object with the arrays `x` and `effect`"
)]
enum GivenEffect {
    Values(Vec<f64>),
    Object {
        x: Vec<f64>,
        effect: Vec<f64>,
        limits: Option<Vec<f64>>,
        heterogeneity_values: Option<BTreeMap<String, Option<f64>>>,
    },
}

/// Reads the trees of a file: one object, or an array of them.
///
/// # Errors
/// A file that cannot be read or is no such JSON, a feature that the scenario does not have, rules, parents or
/// curves that do not fit together.
pub fn read(path: &Path, scenario: &Scenario, centring: Centring) -> Result<Vec<GivenTree>> {
    let text = crate::system::files::long_text(path)?;
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

/// The tree of an engine's answer about a feature by an estimator, which it need not name.
///
/// # Errors
/// As [`read`].
pub fn of_engine(
    tree: &Value,
    (feature, estimator): (&str, &str),
    scenario: &Scenario,
) -> std::result::Result<FoundTree, String> {
    let mut object = tree.as_object().cloned().ok_or("`tree` must be an object with `nodes`")?;
    object.insert("feature".to_owned(), feature.into());
    object.insert("estimator".to_owned(), estimator.into());
    let object: Object =
        serde_json::from_value(Value::Object(object)).map_err(|e| e.to_string())?;
    Ok(self::tree(object, scenario, Centring::None).map_err(|e| format!("`tree`: {e}"))?.tree)
}

fn tree(
    object: Object,
    scenario: &Scenario,
    centring: Centring,
) -> std::result::Result<GivenTree, String> {
    let own = scenario.id();
    if let Some(other) = object.scenario.as_ref().filter(|other| **other != own) {
        return Err(format!("it is of the scenario {other}, and is scored against {own}"));
    }
    let feature = feature_of(scenario, &object.feature)?;
    let (lo, hi) = scenario.axis(feature);
    let axis = Axis::new(lo, hi).map_err(|e| e.to_string())?;
    let method = method_of(&object.estimator)?;
    let estimand = estimand_of(method.name()).ok_or("the estimator has no truth")?;
    let (mut regions, mut depths): (Vec<Region>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut leaves, mut first, mut limits) = (Vec::new(), None, object.limits);
    let lowered = lowered(&object.estimator, object.heterogeneity)?;
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
                regions.push(cut(regions[parent].clone(), of, &kind));
                depths.push(depths[parent] + 1);
                if parent == 0 && first.is_none() {
                    first = Some((of, kind));
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
        leaves.push(FoundLeaf {
            region: regions[number].clone(),
            curve: Curve::linear(x, y),
            made: (axis, centring),
            share: node.share,
            values: node.values(&lowered),
            bins: node.bins(limits.as_deref()).map_err(in_node)?,
            other_ice: false,
        });
    }
    let is_of_another = format!("are the regions those of another scenario than {own}?");
    let total = leaves.iter().map(|leaf| scenario.probability(&leaf.region));
    let total = total.sum::<std::result::Result<f64, _>>();
    let total: f64 = total.map_err(|e| format!("{e}; {is_of_another}"))?;
    if (total - 1.0).abs() > 1e-6 {
        return Err(format!(
            "the leaves have a probability of {total} in all, not 1; {is_of_another}"
        ));
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
    let tree = FoundTree { method, estimand, feature, first, leaves, limits, lowered, growth };
    Ok(GivenTree::on_shared_points(tree, axis))
}

/// The heterogeneity value that regions of an estimator lower, its default unless it is named.
fn lowered(estimator: &str, named: Option<String>) -> std::result::Result<String, String> {
    let plain = estimator.strip_prefix("regional-").unwrap_or(estimator);
    let info = regional::info(&format!("regional-{plain}")).map_err(|e| e.to_string())?;
    match named {
        Some(name) if info.heterogeneity.contains(&name.as_str()) => Ok(name),
        Some(name) => Err(format!(
            "`heterogeneity` = \"{name}\"{}: {} has {}",
            suggestion(&name, info.heterogeneity.iter().copied()),
            info.name,
            listed(info.heterogeneity.iter().copied())
        )),
        None => Ok(info.heterogeneity[0].to_owned()),
    }
}

impl GivenRule {
    fn kind(&self) -> std::result::Result<RuleKind, String> {
        let beside = || serde_json::from_value(Value::Object(self.beside_alone())).ok();
        self.kind.clone().or_else(beside).ok_or_else(|| {
            "a rule has one of `at-most`, `above`, `is` and `is-not`, with a number, or of `among` and `not-among`, \
             with several"
                .to_owned()
        })
    }

    /// The condition that stands beside the feature.
    fn beside_alone(&self) -> serde_json::Map<String, Value> {
        let known = ["at-most", "above", "is", "is-not", "among", "not-among"];
        let of = self.beside.iter().filter(|(key, _)| known.contains(&key.as_str()));
        of.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl GivenNode {
    /// The heterogeneity values that it names, and the one that the tree lowers.
    fn values(&self, lowered: &str) -> BTreeMap<String, Option<f64>> {
        let named = match &self.effect {
            Some(GivenEffect::Object { heterogeneity_values: Some(values), .. }) => values.clone(),
            _ => BTreeMap::new(),
        };
        let own = self.heterogeneity.map(|value| (lowered.to_owned(), Some(value)));
        named.into_iter().chain(own).collect()
    }

    /// The bins of its curve: its own, or those of the whole tree.
    fn bins(&self, of_tree: Option<&[f64]>) -> std::result::Result<Option<Partition>, String> {
        let own = match &self.effect {
            Some(GivenEffect::Object { limits: Some(limits), .. }) => Some(limits.as_slice()),
            _ => of_tree,
        };
        let bins = own.map(|limits| Partition::new(limits.to_vec(), Closed::Left));
        bins.transpose().map_err(|e| e.to_string())
    }

    /// The points of the curve of a leaf; the limits of its bins are those of all.
    fn curve(
        &self,
        limits: &mut Option<Vec<f64>>,
    ) -> std::result::Result<(Vec<f64>, Vec<f64>), String> {
        let (x, y) = match (&self.x, &self.effect) {
            (Some(x), Some(GivenEffect::Values(y))) => (x.clone(), y.clone()),
            (_, Some(GivenEffect::Object { x, effect, limits: of, .. })) => {
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
        let mut points = tree.covered(&all);
        points.retain(|x| axis.contains(*x));
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
        // A tree may come without its heterogeneity.
        let is_known =
            |leaf: &FoundLeaf| leaf.share.is_some() && leaf.values.contains_key(&tree.lowered);
        let has_values = tree.leaves.iter().all(is_known);
        let all = METRICS
            .iter()
            .filter(|metric| metric.is_of_regions() || (metric.is_of_values() && has_values));
        all.map(|metric| (metric.name(), metric.of_tree(&of))).collect()
    }
}
