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
        // A tree whose draw is empty has no means.
        if !booster.predict(&matrix, false).iter().all(|value| value.is_finite()) {
            return Err(refused(
                "a tree has no rows: draw more of them, or let `lambda` be positive".to_owned(),
            ));
        }
        Ok(Box::new(Gbdt { booster, used, dimension: sample.dimension(), level, size }))
    }
}

fn refused(reason: String) -> FitError {
    FitError::Refused { model: GBDT.name, reason }
}

/// A fitted sum of trees.
struct Gbdt {
    booster: GradientBooster,
    /// The features that the trees know, counted from 0.
    used: Vec<usize>,
    dimension: usize,
    /// Of the target: what was subtracted, and what it was divided by.
    level: f64,
    size: f64,
}

impl fmt::Debug for Gbdt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gbdt({} trees)", self.booster.trees.len())
    }
}

impl Model for Gbdt {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        let column = |&s: &usize| (0..rows.len()).map(move |i| rows.columns()[s].get(i));
        let batch: Vec<f64> = self.used.iter().flat_map(column).collect();
        let matrix = Matrix::new(&batch, rows.len(), self.used.len());
        for (value, score) in values.iter_mut().zip(self.booster.predict(&matrix, false)) {
            *value = self.level + self.size * score;
        }
        Ok(())
    }
}

impl FittedModel for Gbdt {
    fn summary(&self) -> Vec<Fact> {
        let nodes: usize = self.booster.trees.iter().map(|tree| tree.nodes.len()).sum();
        vec![Fact::new("trees", self.booster.trees.len() as f64), Fact::new("nodes", nodes as f64)]
    }
}
