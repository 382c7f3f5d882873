//! Gradient-boosted trees, by the library forust.

use std::fmt;

use fe_core::error::ModelError;
use fe_core::model::{Model, Rows};
use forust_ml::data::Matrix;
use forust_ml::gradientbooster::GradientBooster;
use forust_ml::objective::ObjectiveType;
use forust_ml::sampler::SampleMethod;

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Info, Method, Task};
use crate::options::{OptionInfo, Options};
use crate::sample::Sample;

/// Names and defaults are those of XGBoost.
pub(crate) const GBDT: Info = Info {
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

fn build(options: &mut Options) -> Result<Box<dyn Method>> {
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

impl Method for Boosting {
    fn fit(&self, sample: &Sample, seed: u64) -> Result<Box<dyn FittedModel>> {
        let used: Vec<usize> = (0..sample.dimension())
            .filter(|&s| sample.columns[s].iter().any(|x| *x != sample.columns[s][0]))
            .collect();
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
/// which values below `number` go left.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    number: f64,
    feature: u32,
    left: u32,
    right: u32,
}

const LEAF: u32 = u32::MAX;

/// The trees of a booster, next to each other in memory: the library's own layout takes several times
/// as long to walk through.
#[derive(Debug, Clone, PartialEq)]
struct Ensemble {
    nodes: Vec<Node>,
    /// Where each tree starts.
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
                all.nodes.push(Node { number, feature, left: 0, right: 0 });
            }
        }
        all
    }

    /// Adds the trees up for rows of so many features, one row after the other.
    fn add_up(&self, rows: &[f64], dimension: usize, scores: &mut [f64]) {
        scores.fill(self.base);
        for &root in &self.roots {
            for (score, row) in scores.iter_mut().zip(rows.chunks_exact(dimension)) {
                let mut node = &self.nodes[root];
                while node.feature != LEAF {
                    let is_left = row[node.feature as usize] < node.number;
                    node = &self.nodes[if is_left { node.left } else { node.right } as usize];
                }
                *score += node.number;
            }
        }
    }

    /// The same with a feature at each of some increasing places: for each row all places. A tree is
    /// walked through once for each row, not once for each place, and adds the same numbers in the same
    /// order.
    fn add_up_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &[f64],
        dimension: usize,
        scores: &mut [f64],
    ) {
        scores.fill(self.base);
        let cut = |node: &Node| match node.feature as usize == feature {
            true => places.partition_point(|place| *place < node.number),
            false => 0,
        };
        let cuts: Vec<usize> = self.nodes.iter().map(cut).collect();
        let mut open = Vec::new();
        for &root in &self.roots {
            let both = rows.chunks_exact(dimension).zip(scores.chunks_exact_mut(places.len()));
            for (row, scores) in both {
                open.push((root, 0, places.len()));
                while let Some((mut at, from, mut to)) = open.pop() {
                    let mut node = &self.nodes[at];
                    while node.feature != LEAF {
                        let is_left = if node.feature as usize == feature {
                            let cut = cuts[at];
                            if from < cut && cut < to {
                                open.push((node.right as usize, cut, to));
                                to = cut;
                            }
                            from < cut
                        } else {
                            row[node.feature as usize] < node.number
                        };
                        at = if is_left { node.left } else { node.right } as usize;
                        node = &self.nodes[at];
                    }
                    scores[from..to].iter_mut().for_each(|score| *score += node.number);
                }
            }
        }
    }
}

/// Some rows, one after the other.
fn row_by_row(rows: &Rows<'_>, dimension: usize) -> Vec<f64> {
    let mut all = vec![0.0; rows.len() * dimension];
    for (i, row) in all.chunks_exact_mut(dimension).enumerate() {
        rows.copy_row(i, row);
    }
    all
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
        self.ensemble.add_up(&row_by_row(rows, self.dimension), self.dimension, values);
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
        let batch = row_by_row(rows, self.dimension);
        let mut scores = vec![0.0; rows.len() * places.len()];
        self.ensemble.add_up_along(feature, places, &batch, self.dimension, &mut scores);
        for (row, scores) in scores.chunks_exact(places.len()).enumerate() {
            for (place, score) in scores.iter().enumerate() {
                values[place * rows.len() + row] = self.level + self.size * score;
            }
        }
        Ok(())
    }
}

impl FittedModel for Gbdt {
    fn summary(&self) -> Vec<Fact> {
        let Ensemble { nodes, roots, .. } = &self.ensemble;
        vec![Fact::new("trees", roots.len() as f64), Fact::new("nodes", nodes.len() as f64)]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fe_core::Dataset;
    use fe_core::model::Column;
    use ndarray::Array2;

    use super::*;
    use crate::learner::Learner;

    /// The trees say what the library says, and along a feature what they say place by place, to the bit.
    #[test]
    fn trees_say_the_same_however_they_are_asked() {
        let x = Array2::from_shape_fn((300, 4), |(i, s)| match s {
            1 => 7.0,
            _ => ((i * (2 * s + 3)) as f64).sin(),
        });
        let y: Vec<f64> = x.outer_iter().map(|x| 5.0 * x[0] * x[2] + x[3].exp()).collect();
        let data = Dataset::from_rows(&x.view()).unwrap();
        let sample = Sample::new("gbdt", &data, &y).unwrap();
        let used = [0, 2, 3];
        let values: Vec<f64> = used.iter().flat_map(|&s| sample.columns[s].clone()).collect();
        let matrix = Matrix::new(&values, 300, 3);
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut booster = GradientBooster::default()
            .set_objective_type(ObjectiveType::SquaredLoss)
            .set_iterations(40)
            .set_max_depth(5);
        booster.fit(&matrix, &sample.target, &[1.0; 300], None).unwrap();
        let ensemble = Ensemble::of(&booster, &used);
        let rows: Vec<f64> = x.iter().copied().collect();
        let mut scores = vec![0.0; 300];
        ensemble.add_up(&rows, 4, &mut scores);
        assert_eq!(scores, booster.predict(&matrix, false));

        let model = Learner::new("gbdt", &[set("n_estimators", "50")]).unwrap();
        let model = model.fit(&data, &y, 0).unwrap();
        model.predict_along(0, &[], &Rows::new(&data.columns(0..300), 300), &mut []).unwrap();
        let places: Vec<f64> = (0..23).map(|i| f64::from(i) / 10.0 - 1.1).collect();
        for feature in 0..4 {
            let mut columns = data.columns(0..300);
            let mut along = vec![0.0; 23 * 300];
            model.predict_along(feature, &places, &Rows::new(&columns, 300), &mut along).unwrap();
            for (&place, along) in places.iter().zip(along.chunks(300)) {
                columns[feature] = Column::Constant(place);
                let mut values = vec![0.0; 300];
                model.predict(&Rows::new(&columns, 300), &mut values).unwrap();
                assert_eq!(values, along, "x{} at {place}", feature + 1);
            }
        }
    }
}
