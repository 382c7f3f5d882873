//! Models as XGBoost's `save_model` writes them, to JSON or its binary form.
//!
//! Where a fit was stopped early, only the trees up to its best iteration count, as in `predict` of XGBoost's
//! `XGBRegressor` and `XGBClassifier`, which write `best_iteration` among the attributes.
//!
//! XGBoost computes in single precision: features and limits are rounded to it before they are
//! compared, as there. Sums are not rounded.

use std::collections::HashMap;

use serde::Deserialize;

use super::tree_model::TreeModel;
use super::trees::{Categories, Forest, Link, Member, Node, Split, Test, Tree};
use super::{StoredError, StoredModel, ubjson};

const FORMAT: &str = "a model of XGBoost in JSON";

#[derive(Deserialize)]
struct File {
    learner: Learner,
}

#[derive(Deserialize)]
struct Learner {
    #[serde(default)]
    attributes: HashMap<String, String>,
    #[serde(default)]
    feature_names: Vec<String>,
    gradient_booster: Booster,
    learner_model_param: Parameters,
    objective: Objective,
}

#[derive(Deserialize)]
struct Parameters {
    base_score: String,
    num_class: String,
    num_feature: String,
    #[serde(default)]
    num_target: Option<String>,
}

#[derive(Deserialize)]
struct Objective {
    name: String,
}

#[derive(Deserialize)]
struct Booster {
    name: String,
    #[serde(default)]
    model: Option<Trees>,
    #[serde(default)]
    gbtree: Option<Inner>,
    #[serde(default)]
    weight_drop: Vec<f64>,
}

#[derive(Deserialize)]
struct Inner {
    model: Trees,
}

#[derive(Deserialize)]
struct Trees {
    #[serde(default)]
    gbtree_model_param: TreesParameters,
    /// Beginnings of the trees of each iteration, and the end of the last ones; older files have none.
    #[serde(default)]
    iteration_indptr: Vec<usize>,
    tree_info: Vec<usize>,
    trees: Vec<Written>,
    #[serde(default)]
    cats: WrittenLevels,
}

/// The levels of all features, as newer files have them.
#[derive(Deserialize, Default)]
struct WrittenLevels {
    #[serde(default)]
    enc: Vec<WrittenWords>,
}

/// The levels of a feature: words one behind the other, or something else than words.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenWords {
    Words { offsets: Vec<usize>, values: Vec<i16> },
    Others(serde::de::IgnoredAny),
}

impl WrittenLevels {
    /// For each feature its words, where it has some that are readable.
    fn words(&self) -> Vec<Option<Vec<String>>> {
        let words = |written: &WrittenWords| {
            let WrittenWords::Words { offsets, values } = written else { return None };
            let bytes: Vec<u8> = values.iter().map(|byte| *byte as u8).collect();
            let word = |ends: &[usize]| {
                let word = bytes.get(ends[0]..ends[1])?.to_vec();
                String::from_utf8(word).ok()
            };
            offsets.windows(2).map(word).collect::<Option<Vec<String>>>().filter(|w| !w.is_empty())
        };
        self.enc.iter().map(words).collect()
    }
}

#[derive(Deserialize, Default)]
struct TreesParameters {
    #[serde(default)]
    num_parallel_tree: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    left_children: Vec<i64>,
    right_children: Vec<i64>,
    split_indices: Vec<usize>,
    split_conditions: Vec<f64>,
    #[serde(default)]
    split_type: Vec<u8>,
    #[serde(default)]
    default_left: Vec<Flag>,
    /// Categories of the nodes that have some, one node behind the other.
    #[serde(default)]
    categories: Vec<u32>,
    #[serde(default)]
    categories_nodes: Vec<usize>,
    #[serde(default)]
    categories_segments: Vec<usize>,
    #[serde(default)]
    categories_sizes: Vec<usize>,
    #[serde(default)]
    tree_param: Option<TreeParameters>,
}

/// A truth value: older files have words, newer ones numbers.
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged, expecting = "a flag must be true, false, or a whole number up to 255")]
enum Flag {
    Word(bool),
    Number(u8),
}

impl Flag {
    fn is_set(self) -> bool {
        match self {
            Self::Word(flag) => flag,
            Self::Number(number) => number != 0,
        }
    }
}

impl Written {
    /// The categories of a node that go to the right.
    fn categories_of(&self, node: usize) -> Result<Categories, StoredError> {
        let place = self.categories_nodes.iter().position(|&other| other == node);
        let found = place.and_then(|place| {
            let from = *self.categories_segments.get(place)?;
            let to = from.checked_add(*self.categories_sizes.get(place)?)?;
            self.categories.get(from..to)
        });
        let found = found.ok_or_else(|| malformed(format!("node {node} has no categories")))?;
        match found.iter().find(|category| **category > MOST_CATEGORY) {
            Some(category) => Err(malformed(format!("node {node} has the category {category}"))),
            None => Ok(Categories::of(found)),
        }
    }
}

/// The greatest category: XGBoost's own limit.
const MOST_CATEGORY: u32 = 1 << 24;

#[derive(Deserialize)]
struct TreeParameters {
    size_leaf_vector: String,
}

pub(super) fn read(bytes: &[u8]) -> Result<StoredModel, StoredError> {
    of(serde_json::from_slice(bytes).map_err(malformed)?)
}

/// A model in Universal Binary JSON.
pub(super) fn read_ubj(bytes: &[u8]) -> Result<StoredModel, StoredError> {
    let value = ubjson::read(bytes).map_err(malformed)?;
    of(serde_json::from_value(value).map_err(malformed)?)
}

fn of(file: File) -> Result<StoredModel, StoredError> {
    let learner = file.learner;
    let parameters = &learner.learner_model_param;
    let features: usize = count(&parameters.num_feature, "num_feature")?;
    let classes: usize = count(&parameters.num_class, "num_class")?;
    let targets = parameters.num_target.as_deref().unwrap_or("1");
    if count(targets, "num_target")? > 1 {
        return Err(unsupported("a model of several targets"));
    }
    let (link, to_score) = link(&learner.objective.name)?;
    let scores = classes.max(1);
    let (trees, weights) = trees(learner.gradient_booster)?;
    let levels = trees.cats.words();
    if trees.tree_info.len() != trees.trees.len() {
        return Err(malformed("tree_info and trees are of different lengths"));
    }
    // Each class has trees of its own; a model without trees has a single score.
    if scores > trees.trees.len().max(1) {
        return Err(malformed(format!("num_class is {scores}, of {} trees", trees.trees.len())));
    }
    let base = base_scores(&parameters.base_score, scores, to_score)?;
    let counted = match learner.attributes.get("best_iteration") {
        Some(best) => up_to(count(best, "best_iteration")?, &trees, scores)?,
        None => trees.trees.len(),
    };
    let mut members = Vec::with_capacity(counted);
    let written = trees.trees.iter().zip(&trees.tree_info).take(counted);
    for (index, (written, &score)) in written.enumerate() {
        if score >= scores {
            return Err(malformed(format!("tree {index} is of class {score} of {scores}")));
        }
        let weight = weights.as_ref().map_or(Some(1.0), |w| w.get(index).copied());
        let weight = weight.ok_or_else(|| malformed("fewer weight_drop than trees"))?;
        let wrong = |reason: StoredError| match reason {
            StoredError::Malformed { reason, .. } => malformed(format!("tree {index}: {reason}")),
            other => other,
        };
        members.push(member(written, score, weight, features).map_err(wrong)?);
    }
    let forest = Forest { members, base, single: true, features, divisor: 1.0 };
    let names = learner.feature_names;
    let features_named = (names.len() == features).then_some(names);
    let mut model = TreeModel::new(&forest, link, features);
    model.left_out = trees.trees.len() - counted;
    Ok(StoredModel { model: Box::new(model), features: features_named, levels })
}

/// The number of trees up to an iteration, counted from 0, with those of that iteration.
fn up_to(iteration: usize, trees: &Trees, scores: usize) -> Result<usize, StoredError> {
    let limits = &trees.iteration_indptr;
    let end = if limits.is_empty() {
        let parallel = trees.gbtree_model_param.num_parallel_tree.as_deref().unwrap_or("1");
        let parallel = count(parallel, "num_parallel_tree")?;
        iteration.checked_add(1).and_then(|n| n.checked_mul(scores)?.checked_mul(parallel))
    } else {
        iteration.checked_add(1).and_then(|n| limits.get(n).copied())
    };
    end.filter(|end| (1..=trees.trees.len()).contains(end)).ok_or_else(|| {
        let trees = trees.trees.len();
        malformed(format!("best_iteration is {iteration}, which its {trees} trees do not reach"))
    })
}

fn malformed(reason: impl ToString) -> StoredError {
    StoredError::Malformed { format: FORMAT, reason: reason.to_string() }
}

fn unsupported(what: &str) -> StoredError {
    StoredError::unsupported(
        what,
        "of XGBoost trees are read (gbtree, dart), with the objectives reg:*, \
         binary:*, multi:*, count:poisson and rank:*",
    )
}

fn count(text: &str, what: &str) -> Result<usize, StoredError> {
    text.parse().map_err(|_| malformed(format!("{what} is `{text}`, not a whole number")))
}

/// The score of an output.
type ToScore = fn(f64) -> f64;

/// Link from scores to outputs, and the score of a base score, which is given on the scale of outputs.
fn link(objective: &str) -> Result<(Link, ToScore), StoredError> {
    let logit: ToScore = |p| (p / (1.0 - p)).ln();
    Ok(match objective {
        "reg:logistic" => (Link::Sigmoid(1.0), logit),
        "binary:logistic" => (Link::TwoClasses(1.0), logit),
        "binary:logitraw" => (Link::Identity, logit),
        "multi:softprob" | "multi:softmax" => (Link::Softmax, |x| x),
        "count:poisson" | "reg:gamma" | "reg:tweedie" => (Link::Exp, f64::ln),
        "binary:hinge" => return Err(unsupported("the objective binary:hinge")),
        name if name.starts_with("reg:") || name.starts_with("rank:") => (Link::Identity, |x| x),
        name => return Err(unsupported(&format!("the objective {name}"))),
    })
}

/// One number, or one for each score in brackets.
fn base_scores(text: &str, scores: usize, to_score: ToScore) -> Result<Vec<f64>, StoredError> {
    let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parsed: Result<Vec<f32>, _> = inside.split(',').map(|x| x.trim().parse()).collect();
    let values = parsed.map_err(|_| malformed(format!("base_score is `{text}`")))?;
    let base: Vec<f64> = match values[..] {
        [one] => vec![to_score(one.into()); scores],
        _ => values.iter().map(|&x| to_score(x.into())).collect(),
    };
    if base.len() == scores && base.iter().all(|x| x.is_finite()) {
        Ok(base)
    } else {
        Err(malformed(format!("base_score is `{text}` for {scores} outputs")))
    }
}

/// The trees and, for `dart`, their weights.
fn trees(booster: Booster) -> Result<(Trees, Option<Vec<f64>>), StoredError> {
    let none = || malformed(format!("no trees in the booster {}", booster.name));
    match booster.name.as_str() {
        "gbtree" => Ok((booster.model.ok_or_else(none)?, None)),
        "dart" => Ok((booster.gbtree.ok_or_else(none)?.model, Some(booster.weight_drop))),
        name => Err(unsupported(&format!("the booster {name}"))),
    }
}

fn member(
    written: &Written,
    score: usize,
    weight: f64,
    features: usize,
) -> Result<Member, StoredError> {
    let nodes = written.left_children.len();
    let parts =
        [written.right_children.len(), written.split_indices.len(), written.split_conditions.len()];
    if parts.iter().any(|len| *len != nodes) {
        return Err(malformed("lists of different lengths"));
    }
    if written.tree_param.as_ref().is_some_and(|p| !["0", "1"].contains(&&*p.size_leaf_vector)) {
        return Err(unsupported("a tree with several values in a leaf"));
    }
    if written.split_type.iter().any(|kind| *kind > 1) {
        return Err(unsupported("a split that is neither of numbers nor of categories"));
    }
    let mut leaves = Vec::new();
    let mut all = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let limit = f64::from(written.split_conditions[node] as f32);
        let children = [written.left_children[node], written.right_children[node]];
        all.push(match children.map(usize::try_from) {
            [Ok(left), Ok(right)] => Node::Split(Split {
                feature: written.split_indices[node],
                // Categories that are not listed, unknown ones too, go to the left.
                test: match written.split_type.get(node) {
                    Some(1) => Test::NotAmong(written.categories_of(node)?),
                    _ => Test::Below,
                },
                threshold: limit,
                children: (left, right),
                zero: None,
                missing: Some(written.default_left.get(node).is_some_and(|flag| flag.is_set())),
            }),
            [Err(_), Err(_)] => {
                leaves.push(vec![(score, weight * limit)]);
                Node::Leaf(leaves.len() - 1)
            }
            _ => return Err(malformed(format!("node {node} has one child"))),
        });
    }
    let tree = Tree::new(all, leaves.len(), features).map_err(malformed)?;
    Ok(Member { tree, leaves })
}
