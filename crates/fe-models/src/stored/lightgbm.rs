//! Models as LightGBM's `save_model` writes them.

use std::collections::HashMap;
use std::str::FromStr;

use super::tree_model::TreeModel;
use super::trees::{Categories, Forest, Link, Member, Node, Split, Test, Tree};
use super::{StoredError, StoredModel};

const FORMAT: &str = "a model of LightGBM in text";

/// Bits of `decision_type`.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
const MISSING: u8 = 0b1100;
const MISSING_IS_ZERO: u8 = 0b0100;
const MISSING_IS_NAN: u8 = 0b1000;

/// The lines `key=value` of a stretch of the file.
struct Section<'a> {
    name: String,
    entries: HashMap<&'a str, &'a str>,
}

impl<'a> Section<'a> {
    fn get(&self, key: &str) -> Result<&'a str, StoredError> {
        let found = self.entries.get(key).copied();
        found.ok_or_else(|| malformed(format!("{}: no `{key}`", self.name)))
    }

    fn number<T: FromStr>(&self, key: &str) -> Result<T, StoredError> {
        let text = self.get(key)?;
        text.parse().map_err(|_| malformed(format!("{}: {key} is `{text}`", self.name)))
    }

    /// Numbers with spaces between, so many of them.
    fn list<T: FromStr>(&self, key: &str, len: usize) -> Result<Vec<T>, StoredError> {
        let words = self.get(key)?.split_whitespace();
        let numbers: Vec<T> = words
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| malformed(format!("{}: `{key}` has what is no number", self.name)))?;
        if numbers.len() == len {
            return Ok(numbers);
        }
        let got = numbers.len();
        Err(malformed(format!("{}: `{key}` has {got} values where {len} are due", self.name)))
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<StoredModel, StoredError> {
    let text = std::str::from_utf8(bytes).map_err(malformed)?;
    let (header, trees) = sections(text)?;
    let scores: usize = header.number("num_tree_per_iteration")?;
    let last: usize = header.number("max_feature_idx")?;
    let names: Vec<String> =
        header.get("feature_names")?.split_whitespace().map(str::to_owned).collect();
    // LightGBM names every feature, so that it is the names which say how many there may be.
    let features = last.checked_add(1).filter(|features| *features == names.len());
    let features = features.ok_or_else(|| {
        malformed(format!("max_feature_idx is {last} and there are {} feature_names", names.len()))
    })?;
    // A model without trees has a single score.
    if !(1..=trees.len().max(1)).contains(&scores) || !trees.len().is_multiple_of(scores) {
        let trees = trees.len();
        return Err(malformed(format!("num_tree_per_iteration is {scores}, of {trees} trees")));
    }
    let link = link(header.get("objective").unwrap_or("regression"))?;
    let mut members = Vec::with_capacity(trees.len());
    for (index, tree) in trees.iter().enumerate() {
        members.push(member(tree, index % scores, features)?);
    }
    let average = header.entries.contains_key("average_output");
    let divisor = if average { (trees.len() / scores).max(1) as f64 } else { 1.0 };
    let forest = Forest { members, base: vec![0.0; scores], single: false, features, divisor };
    Ok(StoredModel {
        model: Box::new(TreeModel::new(&forest, link, features)),
        features: Some(names),
        levels: levels(text, &header),
    })
}

/// For each feature the words of its categories, which pandas gave it: a line behind the trees, with a list for
/// each feature whose values are listed in the header.
fn levels(text: &str, header: &Section<'_>) -> Vec<Option<Vec<String>>> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("pandas_categorical:"));
    let lists: Option<Vec<Vec<serde_json::Value>>> =
        line.and_then(|line| serde_json::from_str(line.trim()).ok());
    let (Some(lists), Ok(values)) = (lists, header.get("feature_infos")) else { return Vec::new() };
    let is_listed = |values: &str| !values.starts_with('[') && values != "none";
    let values: Vec<bool> = values.split_whitespace().map(is_listed).collect();
    if values.iter().filter(|listed| **listed).count() != lists.len() {
        return Vec::new();
    }
    let mut lists = lists.into_iter().map(|list| {
        let words = list.iter().map(|word| word.as_str().map(str::to_owned));
        words.collect::<Option<Vec<String>>>().filter(|words| !words.is_empty())
    });
    values.into_iter().map(|listed| if listed { lists.next().flatten() } else { None }).collect()
}

/// Sections of a file: what stands before the trees, and each tree.
fn sections(text: &str) -> Result<(Section<'_>, Vec<Section<'_>>), StoredError> {
    let mut lines = text.lines().map(str::trim);
    if lines.next() != Some("tree") {
        return Err(malformed("the first line is not `tree`"));
    }
    let mut all = vec![Section { name: "header".to_owned(), entries: HashMap::new() }];
    let mut ended = false;
    for line in lines {
        if line == "end of trees" {
            ended = true;
            break;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if key == "Tree" {
            all.push(Section { name: format!("tree {value}"), entries: HashMap::new() });
        } else if let (Some(section), false) = (all.last_mut(), key.is_empty()) {
            section.entries.insert(key, value);
        }
    }
    if !ended {
        return Err(malformed("it has no line `end of trees`: the file is cut off"));
    }
    let trees = all.split_off(1);
    all.pop().map(|header| (header, trees)).ok_or_else(|| malformed("no header"))
}

fn malformed(reason: impl ToString) -> StoredError {
    StoredError::Malformed { format: FORMAT, reason: reason.to_string() }
}

fn unsupported(what: &str) -> StoredError {
    StoredError::unsupported(
        what,
        "of LightGBM trees with constant leaves are read, with the objectives \
         regression*, huber, fair, quantile, mape, poisson, gamma, tweedie, binary, multiclass, \
         multiclassova, cross_entropy, cross_entropy_lambda, lambdarank and rank_xendcg",
    )
}

/// Link of an objective with its parameters, such as `binary sigmoid:1`.
fn link(objective: &str) -> Result<Link, StoredError> {
    let mut words = objective.split_whitespace();
    let name = words.next().unwrap_or_default();
    let parameters: Vec<&str> = words.collect();
    let slope = parameters.iter().find_map(|word| word.strip_prefix("sigmoid:")?.parse().ok());
    let slope = slope.unwrap_or(1.0);
    Ok(match name {
        "regression" if parameters.contains(&"sqrt") => Link::SignedSquare,
        "regression" | "regression_l1" | "huber" | "fair" | "quantile" | "mape" | "lambdarank"
        | "rank_xendcg" => Link::Identity,
        "poisson" | "gamma" | "tweedie" => Link::Exp,
        "binary" => Link::TwoClasses(slope),
        "multiclass" => Link::Softmax,
        "multiclassova" => Link::Sigmoid(slope),
        "cross_entropy" => Link::Sigmoid(1.0),
        "cross_entropy_lambda" => Link::Softplus,
        name => return Err(unsupported(&format!("the objective {name}"))),
    })
}

/// The categories that go to the left, by their place among all sets of a tree.
fn categories(section: &Section<'_>, place: f64) -> Result<Categories, StoredError> {
    let sets: usize = section.number("num_cat")?;
    let bounds = sets.checked_add(1).ok_or_else(|| malformed(format!("num_cat is {sets}")))?;
    let bounds: Vec<usize> = section.list("cat_boundaries", bounds)?;
    let words: Vec<u32> =
        section.list("cat_threshold", bounds.last().copied().unwrap_or_default())?;
    let place = place as usize;
    let set = bounds.get(place).zip(bounds.get(place.saturating_add(1)));
    let set = set.and_then(|(&from, &to)| words.get(from..to));
    let set = set.ok_or_else(|| malformed(format!("{}: no categories {place}", section.name)))?;
    Ok(Categories(set.to_vec()))
}

fn member(section: &Section<'_>, score: usize, features: usize) -> Result<Member, StoredError> {
    let leaves: usize = section.number("num_leaves")?;
    if section.get("is_linear").is_ok_and(|flag| flag != "0") {
        return Err(unsupported("a tree with linear leaves"));
    }
    let values: Vec<f64> = section.list("leaf_value", leaves)?;
    let splits = leaves.saturating_sub(1);
    let mut nodes = Vec::with_capacity(splits + leaves);
    if splits > 0 {
        let feature: Vec<usize> = section.list("split_feature", splits)?;
        let threshold: Vec<f64> = section.list("threshold", splits)?;
        let decision: Vec<u8> = section.list("decision_type", splits)?;
        let left: Vec<i64> = section.list("left_child", splits)?;
        let right: Vec<i64> = section.list("right_child", splits)?;
        // Leaf i is written as the child −1−i; here leaves come after the splits.
        let place = |child: i64| match usize::try_from(child) {
            Ok(split) if split < splits => Ok(split),
            Ok(split) => Err(malformed(format!("{}: there is no split {split}", section.name))),
            Err(_) => Ok(splits + (!child) as usize),
        };
        for node in 0..splits {
            let is_categorical = decision[node] & CATEGORICAL != 0;
            let left_by_default = decision[node] & DEFAULT_LEFT != 0;
            let where_missing_is = |kind| {
                (!is_categorical && decision[node] & MISSING == kind).then_some(left_by_default)
            };
            let (zero, missing) =
                (where_missing_is(MISSING_IS_ZERO), where_missing_is(MISSING_IS_NAN));
            nodes.push(Node::Split(Split {
                feature: feature[node],
                test: match is_categorical {
                    true => Test::Among(categories(section, threshold[node])?),
                    false => Test::AtMost,
                },
                threshold: threshold[node],
                children: (place(left[node])?, place(right[node])?),
                zero,
                // A missing category is none of those that go to the left.
                missing: if is_categorical { Some(false) } else { missing },
            }));
        }
    }
    nodes.extend((0..leaves).map(Node::Leaf));
    let tree = Tree::new(nodes, leaves, features);
    let tree = tree.map_err(|reason| malformed(format!("{}: {reason}", section.name)))?;
    Ok(Member { tree, leaves: values.into_iter().map(|value| vec![(score, value)]).collect() })
}
