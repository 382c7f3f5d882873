//! Gradient-boosted trees, by the library forust.

use std::fmt;

use fe_core::error::ModelError;
use fe_core::model::{Answered, Background, Boxes, Interval, Model, Rows, TermSum};
use forust_ml::data::Matrix;
use forust_ml::gradientbooster::GradientBooster;
use forust_ml::objective::ObjectiveType;
use forust_ml::sampler::SampleMethod;

use crate::ensemble::{Ensemble, Part, Rule, Threshold};
use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::learner::{Fit, LearnerInfo, SumKind, Task};
use crate::options::{OptionInfo, Options};
use crate::sample::Sample;

/// Names and defaults are those of XGBoost.
pub(crate) const GBDT: LearnerInfo = LearnerInfo {
    name: "gbdt",
    about: "gradient-boosted regression trees",
    task: Task::Regression,
    has_steps: true,
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

    fn sum_kind(&self) -> Option<SumKind> {
        Some(SumKind::Trees)
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
        let trees = trees_of(&booster, &used, sample.dimension());
        // A tree whose draw is empty has no means.
        if !trees.is_finite() {
            return Err(refused(
                "a tree has no rows: draw more of them, or let `lambda` be positive".to_owned(),
            ));
        }
        let base = booster.base_score;
        Ok(Box::new(Gbdt { trees, base, dimension: sample.dimension(), level, size }))
    }
}

fn refused(reason: String) -> FitError {
    FitError::Refused { model: GBDT.name, reason }
}

/// Values below a number go left, and missing ones where they were better off in the fit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Below {
    number: f64,
    missing_left: bool,
}

impl Rule for Below {
    fn is_met(&self, x: f64) -> bool {
        // A comparison with a missing value is false.
        let is_right = || x >= self.number;
        if self.missing_left { !is_right() } else { x < self.number }
    }
}

impl Threshold for Below {
    fn threshold(&self) -> f64 {
        self.number
    }
}

/// The trees of a booster that knows some of so many features, counted from 0: the library's own layout takes
/// several times as long to walk through.
fn trees_of(booster: &GradientBooster, used: &[usize], features: usize) -> Ensemble<Below> {
    let mut all = Ensemble::new(features, 1);
    for tree in &booster.trees {
        all.push(0, |index: usize| {
            let node = &tree.nodes[index];
            if node.is_leaf {
                return Part::Leaf(vec![(0, f64::from(node.weight_value))]);
            }
            let missing_left = node.missing_node == node.left_child;
            let rule = Below { number: node.split_value, missing_left };
            let children = [node.left_child, node.right_child];
            Part::Split { feature: used[node.split_feature], rule, children }
        });
    }
    all
}

/// A fitted sum of trees.
struct Gbdt {
    trees: Ensemble<Below>,
    /// The score before any tree.
    base: f64,
    dimension: usize,
    /// Of the target: what was subtracted, and what it was divided by.
    level: f64,
    size: f64,
}

impl fmt::Debug for Gbdt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gbdt({} trees)", self.trees.len())
    }
}

impl Model for Gbdt {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        values.fill(self.base);
        self.trees.add_up(rows.columns(), values);
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
        let mut scores = vec![self.base; rows.len() * places.len()];
        self.trees.add_up_along(feature, places, rows.columns(), &mut scores);
        for (row, scores) in scores.chunks_exact(places.len()).enumerate() {
            for (place, score) in scores.iter().enumerate() {
                values[place * rows.len() + row] = self.level + self.size * score;
            }
        }
        Ok(())
    }

    fn predicts_changes(&self) -> bool {
        true
    }

    fn predict_changes(
        &self,
        feature: usize,
        places: [&[f64]; 2],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        values.fill(0.0);
        self.trees.add_changes(feature, places, rows.columns(), values);
        values.iter_mut().for_each(|value| *value *= self.size);
        Ok(())
    }

    fn knows_shapley_values(&self) -> bool {
        self.trees.knows_shapley_values()
    }

    fn shapley_values(
        &self,
        explained: &Rows<'_>,
        (background, shares): (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        values.fill(0.0);
        let samples = [explained, background].map(|rows| (rows.columns(), rows.len()));
        self.trees.add_shapley_values(samples, shares, values);
        values.iter_mut().for_each(|value| *value *= self.size);
        Ok(())
    }

    fn knows_partial_dependences(&self) -> bool {
        true
    }

    fn partial_dependences(
        &self,
        features: &[usize],
        points: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        let of_trees = self.trees.dependence_sums(features, (points, background));
        let constant = self.level + self.size * self.base;
        for (group, weight) in background.totals().into_iter().enumerate() {
            for point in 0..points.len() {
                let sum = of_trees[point * background.count + group];
                sums[group * points.len() + point] = constant * weight + self.size * sum;
            }
        }
        Ok(())
    }
}

/// The leaves of the trees, in units of the target.
struct Leaves<'a>(&'a Gbdt);

impl Boxes for Leaves<'_> {
    fn each(&self, visit: &mut dyn FnMut(&[Interval], f64)) {
        let Self(Gbdt { trees, size, .. }) = self;
        trees.each_leaf(&mut |sides, additions| {
            let sum: f64 = additions.iter().map(|(_, value)| value).sum();
            visit(sides, size * sum);
        });
    }

    fn limits(&self, feature: usize) -> Vec<f64> {
        self.0.trees.thresholds(feature)
    }
}

impl FittedModel for Gbdt {
    fn takes_missing(&self) -> bool {
        true
    }

    fn sum(&self) -> Option<TermSum<'_>> {
        let constant = self.level + self.size * self.base;
        Some(TermSum::new(self.dimension, constant).with_boxes(Leaves(self)))
    }

    fn summary(&self) -> Vec<Fact> {
        let nodes = self.trees.nodes().len();
        vec![Fact::new("trees", self.trees.len() as f64), Fact::new("nodes", nodes as f64)]
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
        // More than go through a tree together.
        const ROWS: usize = 1024 + 77;
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
        let mut scores = vec![booster.base_score; ROWS];
        trees_of(&booster, &used, 4).add_up(&data.columns(0..ROWS), &mut scores);
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
            let x = data.columns(0..ROWS);
            let from: Vec<f64> = (0..ROWS).map(|row| places[row * 7 % 23]).collect();
            let to: Vec<f64> = (0..ROWS).map(|row| places[row * 5 % 22 + 1]).collect();
            let at = |column: &[f64]| {
                let (mut columns, mut values) = (x.clone(), vec![0.0; ROWS]);
                columns[feature] = Column::Values(column);
                model.predict(&Rows::new(&columns, ROWS), &mut values).unwrap();
                values
            };
            let mut changes = vec![f64::NAN; ROWS];
            let rows = Rows::new(&x, ROWS);
            model.predict_changes(feature, [&from, &to], &rows, &mut changes).unwrap();
            for ((from, to), change) in at(&from).iter().zip(at(&to)).zip(changes) {
                assert!((to - from - change).abs() < 1e-13 * 5.0, "{from} {to} {change}");
            }
            // All rows together, and few at a time.
            let both = [vec![-0.4; ROWS], vec![0.7; ROWS]];
            let mut together = vec![f64::NAN; ROWS];
            model.predict_changes(feature, [&both[0], &both[1]], &rows, &mut together).unwrap();
            for start in (0..ROWS).step_by(20) {
                let some = start..(start + 20).min(ROWS);
                let columns = data.columns(some.clone());
                let rows = Rows::new(&columns, some.len());
                let places = [&both[0][some.clone()], &both[1][some.clone()]];
                let mut few = vec![f64::NAN; some.len()];
                model.predict_changes(feature, places, &rows, &mut few).unwrap();
                assert_eq!(few, together[some], "x{}", feature + 1);
            }
        }
    }
}
