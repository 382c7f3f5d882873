//! Gradient-boosted trees, by the library forust.

use std::fmt;
use std::ops::Range;

use fe_core::error::ModelError;
use fe_core::model::{Column, Model, Rows};
use forust_ml::data::Matrix;
use forust_ml::gradientbooster::GradientBooster;
use forust_ml::objective::ObjectiveType;
use forust_ml::sampler::SampleMethod;

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Fit, LearnerInfo, Task};
use crate::options::{OptionInfo, Options};
use crate::sample::Sample;

/// Names and defaults are those of XGBoost.
pub(crate) const GBDT: LearnerInfo = LearnerInfo {
    name: "gbdt",
    about: "gradient-boosted regression trees",
    task: Task::Regression,
    options: &[
        OptionInfo {
            name: "n_estimators",
            default: "100",
            allowed: "a whole number from 1 to 100000",
            about: "number of trees",
        },
        OptionInfo {
            name: "learning_rate",
            default: "0.3",
            allowed: "a number above 0, at most 1",
            about: "share of each tree that is added",
        },
        OptionInfo {
            name: "max_depth",
            default: "6",
            allowed: "a whole number from 1 to 50",
            about: "most splits between the root of a tree and a leaf",
        },
        OptionInfo {
            name: "min_child_weight",
            default: "1",
            allowed: "a number from 0 to 1e9",
            about: "least weight of the rows of a leaf",
        },
        OptionInfo {
            name: "subsample",
            default: "1",
            allowed: "a number above 0, at most 1",
            about: "share of the rows that are drawn for each tree",
        },
        OptionInfo {
            name: "colsample_bytree",
            default: "1",
            allowed: "a number above 0, at most 1",
            about: "share of the features that are drawn for each tree",
        },
        OptionInfo {
            name: "lambda",
            default: "1",
            allowed: "a number from 0 to 1e9",
            about: "penalty on the squares of the leaves' values",
        },
        OptionInfo {
            name: "alpha",
            default: "0",
            allowed: "a number from 0 to 1e9",
            about: "penalty on the sizes of the leaves' values",
        },
        OptionInfo {
            name: "gamma",
            default: "0",
            allowed: "a number from 0 to 1e9",
            about: "least gain for which a node is split",
        },
        OptionInfo {
            name: "max_bin",
            default: "256",
            allowed: "a whole number from 2 to 65535",
            about: "most bins of a feature between which trees are split",
        },
    ],
    build,
};

fn build(options: &mut Options) -> Result<Box<dyn Fit>> {
    let share = |x: f64| x > 0.0 && x <= 1.0;
    let size = |x: f64| (0.0..=1e9).contains(&x);
    Ok(Box::new(Boosting {
        trees: options.count("n_estimators", |n| (1..=100_000).contains(&n))?,
        rate: options.number("learning_rate", share)?,
        depth: options.count("max_depth", |n| (1..=50).contains(&n))?,
        leaf_weight: options.number("min_child_weight", size)?,
        subsample: options.number("subsample", share)?,
        features: options.number("colsample_bytree", share)?,
        l2: options.number("lambda", size)?,
        l1: options.number("alpha", size)?,
        gain: options.number("gamma", size)?,
        bins: options.count("max_bin", |n| (2..=65_535).contains(&n))?,
    }))
}

/// Boosting of squared errors with second-order trees on binned features (Chen and Guestrin 2016).
#[derive(Debug)]
struct Boosting {
    trees: usize,
    rate: f64,
    depth: usize,
    leaf_weight: f64,
    subsample: f64,
    features: f64,
    l2: f64,
    l1: f64,
    gain: f64,
    bins: usize,
}

impl Boosting {
    /// For so many features, and a target that was divided by `size`: `alpha` is in its units, `gamma` in
    /// their squares.
    fn booster(&self, features: usize, size: f64, seed: u64) -> GradientBooster {
        // The library rounds down; at least one feature is drawn.
        let share = self.features.max((1.0 + f64::EPSILON) / features as f64).min(1.0);
        let sampling = if self.subsample < 1.0 { SampleMethod::Random } else { SampleMethod::None };
        GradientBooster::default()
            .set_objective_type(ObjectiveType::SquaredLoss)
            .set_iterations(self.trees)
            .set_learning_rate(self.rate as f32)
            .set_max_depth(self.depth)
            .set_min_leaf_weight(self.leaf_weight as f32)
            .set_sample_method(sampling)
            .set_subsample(self.subsample as f32)
            .set_colsample_bytree(share)
            .set_l2(self.l2 as f32)
            .set_l1((self.l1 / size) as f32)
            .set_gamma((self.gain / size / size) as f32)
            .set_nbins(self.bins as u16)
            .set_seed(seed)
            // One thread adds gradients in one order.
            .set_parallel(false)
    }
}

impl Fit for Boosting {
    fn takes_missing(&self) -> bool {
        true
    }

    fn fit(&self, sample: &Sample, seed: u64) -> Result<Box<dyn FittedModel>> {
        let varies = |s: &usize| {
            let mut values = sample.columns[*s].iter().filter(|x| !x.is_nan());
            let first = values.next();
            values.any(|x| Some(x) != first)
        };
        let used: Vec<usize> = (0..sample.dimension()).filter(varies).collect();
        if used.is_empty() {
            return Err(refused("all features are constant".to_owned()));
        }
        let level = sample.mean(sample.target.iter().copied());
        let size = sample.target.iter().fold(0.0, |size: f64, y| size.max((y - level).abs()));
        if !(level.is_finite() && size.is_finite()) {
            return Err(FitError::Overflow(GBDT.name));
        }
        // Gradients are single-precision numbers: the target is given in units of its own size.
        let target: Vec<f64> = sample.target.iter().map(|y| (y - level) / size).collect();
        let values: Vec<f64> =
            used.iter().flat_map(|&s| sample.columns[s].iter().copied()).collect();
        let weights = (0..sample.len()).map(|row| sample.weight(row)).collect::<Vec<f64>>();
        let mut booster = self.booster(used.len(), size, seed);
        let matrix = Matrix::new(&values, sample.len(), used.len());
        booster
            .fit(&matrix, &target, &weights, None)
            .map_err(|error| refused(error.to_string()))?;
        let ensemble = Ensemble::of(&booster, &used);
        // A tree whose draw is empty has no means.
        if !ensemble.nodes.iter().all(|node| node.number.is_finite()) {
            return Err(refused(
                "a tree has no rows: draw more of them, or let `lambda` be positive".to_owned(),
            ));
        }
        Ok(Box::new(Gbdt { ensemble, dimension: sample.dimension(), level, size }))
    }
}

fn refused(reason: String) -> FitError {
    FitError::Refused { model: GBDT.name, reason }
}

/// A node of a tree: a leaf, whose feature is [`LEAF`] and whose value is `number`, or a split, after
/// which values below `number` go left, and missing ones where they were better off in the fit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    number: f64,
    feature: u32,
    left: u32,
    right: u32,
    missing_left: bool,
}

impl Node {
    /// True if a value goes left.
    fn is_left(&self, x: f64) -> bool {
        x < self.number || (self.missing_left && x.is_nan())
    }
}

const LEAF: u32 = u32::MAX;

/// The trees of a booster, next to each other in memory: the library's own layout takes several times
/// as long to walk through.
#[derive(Debug, Clone, PartialEq)]
struct Ensemble {
    nodes: Vec<Node>,
    /// First node of each tree.
    roots: Vec<usize>,
    base: f64,
}

impl Ensemble {
    /// The trees of a booster that knows some features, counted from 0.
    fn of(booster: &GradientBooster, used: &[usize]) -> Self {
        let mut all = Self { nodes: Vec::new(), roots: Vec::new(), base: booster.base_score };
        for tree in &booster.trees {
            all.roots.push(all.nodes.len());
            // Nodes with the place where their own number is expected.
            let mut open = vec![(0, None)];
            while let Some((index, parent)) = open.pop() {
                let node = &tree.nodes[index];
                let own = all.nodes.len();
                if let Some((parent, is_left)) = parent {
                    let parent: &mut Node = &mut all.nodes[parent];
                    *(if is_left { &mut parent.left } else { &mut parent.right }) = own as u32;
                }
                let (number, feature) = if node.is_leaf {
                    (f64::from(node.weight_value), LEAF)
                } else {
                    open.push((node.right_child, Some((own, false))));
                    open.push((node.left_child, Some((own, true))));
                    (node.split_value, used[node.split_feature] as u32)
                };
                let missing_left = node.missing_node == node.left_child;
                all.nodes.push(Node { number, feature, left: 0, right: 0, missing_left });
            }
        }
        all
    }

    /// Adds the trees up for some rows.
    fn add_up(&self, columns: &[Column<'_>], scores: &mut [f64]) {
        scores.fill(self.base);
        let mut walk = Walk::default();
        for (start, scores) in (0..scores.len()).step_by(TOGETHER).zip(scores.chunks_mut(TOGETHER))
        {
            for &root in &self.roots {
                walk.start(root, start..start + scores.len(), 0);
                walk.through(&self.nodes, columns, None, |rows, _, value| {
                    rows.iter().for_each(|&row| scores[row as usize - start] += value);
                });
            }
        }
    }

    /// The same with a feature at each of some increasing places: for each row all places. Rows go through a
    /// tree once, not once for each place, and the same numbers are added in the same order.
    fn add_up_along(
        &self,
        feature: usize,
        places: &[f64],
        columns: &[Column<'_>],
        scores: &mut [f64],
    ) {
        scores.fill(self.base);
        let mut walk = Walk::default();
        let size = TOGETHER_ALONG * places.len();
        for (chunk, scores) in scores.chunks_mut(size).enumerate() {
            let start = chunk * TOGETHER_ALONG;
            let end = start + scores.len() / places.len();
            for &root in &self.roots {
                walk.start(root, start..end, places.len());
                walk.through(&self.nodes, columns, Some((feature, places)), |rows, held, value| {
                    for &row in rows {
                        let own = &mut scores[(row as usize - start) * places.len()..];
                        own[held.clone()].iter_mut().for_each(|score| *score += value);
                    }
                });
            }
        }
    }
}

/// Rows that go through a tree together: their numbers stay in the nearest cache.
const TOGETHER: usize = 1024;
/// The same where each has a score for each place.
const TOGETHER_ALONG: usize = 256;

/// Rows on their way through a tree, divided at each split without a branch that depends on a value.
#[derive(Default)]
struct Walk {
    /// The rows, those that are at the same node next to each other.
    order: Vec<u32>,
    /// Rows that go right, while others go left.
    right: Vec<u32>,
    /// Nodes that are still to be visited, the last one first.
    open: Vec<Visit>,
}

/// Some rows at a node, and the places of the feature that lead there, by their numbers.
struct Visit {
    node: usize,
    rows: Range<usize>,
    places: Range<usize>,
}

impl Walk {
    fn start(&mut self, root: usize, rows: Range<usize>, places: usize) {
        self.order.clear();
        self.order.extend(rows.start as u32..rows.end as u32);
        self.right.resize(rows.len(), 0);
        self.open.push(Visit { node: root, rows: 0..rows.len(), places: 0..places });
    }

    /// Calls `leaf` for each leaf that is reached, with the rows and places, and its value.
    fn through(
        &mut self,
        nodes: &[Node],
        columns: &[Column<'_>],
        along: Option<(usize, &[f64])>,
        mut leaf: impl FnMut(&[u32], Range<usize>, f64),
    ) {
        while let Some(Visit { node, rows, places: held }) = self.open.pop() {
            let at = &nodes[node];
            if at.feature == LEAF {
                leaf(&self.order[rows], held, at.number);
                continue;
            }
            let (left, right) = (at.left as usize, at.right as usize);
            match along.filter(|(feature, _)| *feature == at.feature as usize) {
                // All rows go left at some places and right at the others.
                Some((_, places)) => {
                    let cut = places[held.clone()].partition_point(|place| *place < at.number);
                    let cut = held.start + cut;
                    self.visit(right, rows.clone(), cut..held.end, cut < held.end);
                    self.visit(left, rows, held.start..cut, held.start < cut);
                }
                None => {
                    let middle = rows.start
                        + match columns[at.feature as usize] {
                            Column::Values(values) => {
                                let (rows, right) =
                                    (&mut self.order[rows.clone()], &mut self.right);
                                let value = |row: u32| values[row as usize];
                                // A comparison with a missing value is false.
                                if at.missing_left {
                                    let is_right = |row| value(row) >= at.number;
                                    divide(rows, right, |row| !is_right(row))
                                } else {
                                    divide(rows, right, |row| value(row) < at.number)
                                }
                            }
                            Column::Constant(value) if at.is_left(value) => rows.len(),
                            Column::Constant(_) => 0,
                        };
                    self.visit(right, middle..rows.end, held.clone(), middle < rows.end);
                    self.visit(left, rows.start..middle, held, rows.start < middle);
                }
            }
        }
    }

    fn visit(&mut self, node: usize, rows: Range<usize>, places: Range<usize>, is_reached: bool) {
        if is_reached {
            self.open.push(Visit { node, rows, places });
        }
    }
}

/// Puts the rows that go left before the others, and says how many there are.
fn divide(rows: &mut [u32], right: &mut [u32], is_left: impl Fn(u32) -> bool) -> usize {
    let (mut lefts, mut rights) = (0, 0);
    for i in 0..rows.len() {
        let row = rows[i];
        let goes_left = is_left(row);
        rows[lefts] = row;
        right[rights] = row;
        lefts += usize::from(goes_left);
        rights += usize::from(!goes_left);
    }
    rows[lefts..].copy_from_slice(&right[..rights]);
    lefts
}

/// A fitted sum of trees.
struct Gbdt {
    ensemble: Ensemble,
    dimension: usize,
    /// Of the target: what was subtracted, and what it was divided by.
    level: f64,
    size: f64,
}

impl fmt::Debug for Gbdt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gbdt({} trees)", self.ensemble.roots.len())
    }
}

impl Model for Gbdt {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.ensemble.add_up(rows.columns(), values);
        values.iter_mut().for_each(|value| *value = self.level + self.size * *value);
        Ok(())
    }

    fn predicts_along(&self) -> bool {
        true
    }

    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        if places.is_empty() {
            return Ok(());
        }
        let mut scores = vec![0.0; rows.len() * places.len()];
        self.ensemble.add_up_along(feature, places, rows.columns(), &mut scores);
        for (row, scores) in scores.chunks_exact(places.len()).enumerate() {
            for (place, score) in scores.iter().enumerate() {
                values[place * rows.len() + row] = self.level + self.size * score;
            }
        }
        Ok(())
    }
}

impl FittedModel for Gbdt {
    fn takes_missing(&self) -> bool {
        true
    }

    fn summary(&self) -> Vec<Fact> {
        let Ensemble { nodes, roots, .. } = &self.ensemble;
        vec![Fact::new("trees", roots.len() as f64), Fact::new("nodes", nodes.len() as f64)]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fe_core::Dataset;
    use ndarray::Array2;

    use super::*;
    use crate::learner::Learner;

    /// The trees say what the library says, and along a feature what they say place by place, to the bit.
    #[test]
    fn trees_say_the_same_however_they_are_asked() {
        // More than go through a tree together.
        const ROWS: usize = TOGETHER + 77;
        let x = Array2::from_shape_fn((ROWS, 4), |(i, s)| match s {
            1 => 7.0,
            2 if i % 5 == 0 => f64::NAN,
            3 if i % 7 == 1 => f64::NAN,
            _ => ((i * (2 * s + 3)) as f64).sin(),
        });
        let known = |x: f64| if x.is_nan() { 1.5 } else { x };
        let y = x.outer_iter().map(|x| 5.0 * x[0] * known(x[2]) - known(x[3]).exp());
        let y: Vec<f64> = y.collect();
        let data = Dataset::from_incomplete(x.t().to_owned()).unwrap();
        let sample = Sample::new("gbdt", &data, &y).unwrap();
        let used = [0, 2, 3];
        let values: Vec<f64> = used.iter().flat_map(|&s| sample.columns[s].clone()).collect();
        let matrix = Matrix::new(&values, ROWS, 3);
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut booster = GradientBooster::default()
            .set_objective_type(ObjectiveType::SquaredLoss)
            .set_iterations(40)
            .set_max_depth(5);
        booster.fit(&matrix, &sample.target, &[1.0; ROWS], None).unwrap();
        let ensemble = Ensemble::of(&booster, &used);
        let mut scores = vec![0.0; ROWS];
        ensemble.add_up(&data.columns(0..ROWS), &mut scores);
        assert_eq!(scores, booster.predict(&matrix, false));

        let model = Learner::new("gbdt", &[set("n_estimators", "50")]).unwrap();
        let model = model.fit(&data, &y, 0).unwrap();
        model.predict_along(0, &[], &Rows::new(&data.columns(0..ROWS), ROWS), &mut []).unwrap();
        let places: Vec<f64> = (0..23).map(|i| f64::from(i) / 10.0 - 1.1).collect();
        for feature in 0..4 {
            let mut columns = data.columns(0..ROWS);
            let mut along = vec![0.0; 23 * ROWS];
            model.predict_along(feature, &places, &Rows::new(&columns, ROWS), &mut along).unwrap();
            for (&place, along) in places.iter().zip(along.chunks(ROWS)) {
                columns[feature] = Column::Constant(place);
                let mut values = vec![0.0; ROWS];
                model.predict(&Rows::new(&columns, ROWS), &mut values).unwrap();
                assert_eq!(values, along, "x{} at {place}", feature + 1);
            }
        }
    }
}
