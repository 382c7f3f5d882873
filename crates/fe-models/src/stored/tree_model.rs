//! Sums of trees as models.

use std::borrow::Cow;

use fe_core::error::ModelError;
use fe_core::model::{Answered, Background, Boxes, Column, Interval, Model, Rows, TermSum};

use super::classes;
use super::trees::{Cut, Forest, Link};
use crate::ensemble::{Ensemble, LEAF, Part, Rule, Threshold};
use crate::fitted::{Fact, FittedModel};

/// Scores of trees and what becomes of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TreeModel {
    trees: Ensemble<Cut>,
    /// The scores before any tree.
    base: Vec<f64>,
    /// True if features are rounded to single precision before they are compared.
    single: bool,
    /// The divisor of sums of trees.
    divisor: f64,
    link: Link,
    dimension: usize,
    names: Vec<String>,
    /// True if its trees say where missing values go.
    takes_missing: bool,
    /// Trees of the file after its best iteration, which do not count.
    pub(super) left_out: usize,
}

impl TreeModel {
    pub(super) fn new(forest: &Forest, link: Link, dimension: usize) -> Self {
        let outputs = link.outputs(forest.base.len());
        Self {
            trees: forest.ensemble(),
            base: forest.base.clone(),
            single: forest.single,
            divisor: forest.divisor,
            link,
            dimension,
            names: classes(outputs),
            takes_missing: true,
            left_out: 0,
        }
    }

    /// The same of so many features, with names of the outputs, where missing values are nowhere to go.
    pub(super) fn within(self, dimension: usize, names: Vec<String>) -> Self {
        let trees = self.trees.of_features(dimension);
        Self { trees, dimension, names, takes_missing: false, ..self }
    }

    /// Numbers as the trees compare them.
    fn seen<'a>(&self, values: &'a [f64]) -> Cow<'a, [f64]> {
        match self.single {
            true => values.iter().map(|x| f64::from(*x as f32)).collect(),
            false => values.into(),
        }
    }

    /// Does something with the features as the trees compare them.
    fn with_seen<T>(&self, columns: &[Column<'_>], then: impl FnOnce(&[Column<'_>]) -> T) -> T {
        let seen: Vec<Cow<'_, [f64]>> = columns
            .iter()
            .map(|column| match column {
                Column::Values(values) => self.seen(values),
                Column::Constant(value) => self.seen(std::slice::from_ref(value)),
            })
            .collect();
        let seen = columns.iter().zip(&seen).map(|(column, seen)| match column {
            Column::Values(_) => Column::Values(seen),
            Column::Constant(_) => Column::Constant(seen[0]),
        });
        then(&seen.collect::<Vec<_>>())
    }

    /// Makes outputs of what the trees add up to, row by row, and writes each to its place among those of its
    /// output: `place` says where the rows of a batch go.
    fn write(&self, sums: &mut [f64], place: impl Fn(usize, usize) -> usize, values: &mut [f64]) {
        let mut outputs = vec![0.0; self.names.len()];
        for (i, sums) in sums.chunks_exact_mut(self.base.len()).enumerate() {
            for (sum, base) in sums.iter_mut().zip(&self.base) {
                *sum = base + *sum / self.divisor;
            }
            self.link.apply(sums, &mut outputs);
            for (q, output) in outputs.iter().enumerate() {
                values[place(i, q)] = *output;
            }
        }
    }

    /// Writes what becomes, in outputs, of changes of the scores: of each score all rows, once or several times.
    fn write_changes(&self, changes: &[f64], rows: usize, values: &mut [f64]) {
        if rows == 0 {
            return;
        }
        let changes = changes.chunks_exact(rows * self.base.len());
        for (changes, values) in changes.zip(values.chunks_exact_mut(rows * self.names.len())) {
            let outputs = values.chunks_exact_mut(rows).rev();
            // Of two outputs of one score the second one is the score, and the first the rest.
            let signs = [1.0, -1.0].into_iter().cycle();
            match self.link {
                Link::Complement => outputs.zip(signs).for_each(|(output, sign)| {
                    output
                        .iter_mut()
                        .zip(changes)
                        .for_each(|(to, from)| *to = sign * from / self.divisor);
                }),
                _ => {
                    let pairs = values.iter_mut().zip(changes);
                    pairs.for_each(|(to, from)| *to = from / self.divisor);
                }
            }
        }
    }
}

/// The least number that goes to the second child.
#[derive(Debug, Clone, Copy, Default)]
struct Edge(f64);

impl Rule for Edge {
    fn is_met(&self, x: f64) -> bool {
        x < self.0
    }
}

impl Threshold for Edge {
    fn threshold(&self) -> f64 {
        self.0
    }
}

/// The leaves of trees with one score, which is divided by a number.
struct Leaves {
    trees: Ensemble<Edge>,
    divisor: f64,
}

impl Leaves {
    /// None if a test has no edge.
    fn of(model: &TreeModel) -> Option<Self> {
        let nodes = model.trees.nodes();
        let edge = |at: usize| nodes[at].rule.edge(model.single);
        let mut trees = Ensemble::new(model.trees.features(), 1);
        if !(0..nodes.len()).all(|at| nodes[at].feature == LEAF || edge(at).is_some()) {
            return None;
        }
        for &root in model.trees.roots() {
            trees.push(root, |at: usize| {
                let node = &nodes[at];
                let [first, second] = node.children.map(|child| child as usize);
                match edge(at).filter(|_| node.feature != LEAF) {
                    None => {
                        let sum = model.trees.additions(node).iter().map(|(_, value)| value).sum();
                        Part::Leaf(vec![(0, sum)])
                    }
                    Some((edge, below_passes)) => Part::Split {
                        feature: node.feature as usize,
                        rule: Edge(edge),
                        children: if below_passes { [first, second] } else { [second, first] },
                    },
                }
            });
        }
        Some(Self { trees, divisor: model.divisor })
    }
}

impl Boxes for Leaves {
    fn each(&self, visit: &mut dyn FnMut(&[Interval], f64)) {
        self.trees.each_leaf(&mut |sides, additions| {
            let sum: f64 = additions.iter().map(|(_, value)| value).sum();
            visit(sides, sum / self.divisor);
        });
    }

    fn limits(&self, feature: usize) -> Vec<f64> {
        self.trees.thresholds(feature)
    }
}

impl Model for TreeModel {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn outputs(&self) -> usize {
        self.names.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let mut sums = vec![0.0; rows.len() * self.base.len()];
        self.with_seen(rows.columns(), |columns| self.trees.add_up(columns, &mut sums));
        self.write(&mut sums, |row, q| q * rows.len() + row, values);
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
    ) -> Answered {
        let (points, len, outputs) = (places.len(), rows.len(), self.names.len());
        if points == 0 {
            return Ok(());
        }
        let mut sums = vec![0.0; len * points * self.base.len()];
        let places = self.seen(places);
        self.with_seen(rows.columns(), |columns| {
            self.trees.add_up_along(feature, &places, columns, &mut sums);
        });
        let place = |i: usize, q: usize| (i % points * outputs + q) * len + i / points;
        self.write(&mut sums, place, values);
        Ok(())
    }

    fn predicts_changes(&self) -> bool {
        self.link.is_linear()
    }

    fn predict_changes(
        &self,
        feature: usize,
        [from, to]: [&[f64]; 2],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        if !self.link.is_linear() {
            return Err(ModelError::Failed("its changes are not those of its trees".to_owned()));
        }
        let (len, scores) = (rows.len(), self.base.len());
        let mut changes = vec![0.0; len * scores];
        let places = [&self.seen(from)[..], &self.seen(to)];
        self.with_seen(rows.columns(), |columns| {
            self.trees.add_changes(feature, places, columns, &mut changes);
        });
        let by_score: Vec<f64> =
            (0..scores).flat_map(|q| changes.iter().skip(q).step_by(scores).copied()).collect();
        self.write_changes(&by_score, len, values);
        Ok(())
    }

    fn knows_shapley_values(&self) -> bool {
        self.link.is_linear() && self.trees.knows_shapley_values()
    }

    fn shapley_values(
        &self,
        explained: &Rows<'_>,
        (background, shares): (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        if !self.knows_shapley_values() {
            return Err(ModelError::Failed("its trees do not tell Shapley values".to_owned()));
        }
        let (rows, scores) = (explained.len(), self.base.len());
        let mut of_scores = vec![0.0; self.dimension * scores * rows];
        self.with_seen(explained.columns(), |explained| {
            self.with_seen(background.columns(), |behind| {
                let samples = [(explained, rows), (behind, background.len())];
                self.trees.add_shapley_values(samples, shares, &mut of_scores);
            });
        });
        self.write_changes(&of_scores, rows, values);
        Ok(())
    }

    fn knows_partial_dependences(&self) -> bool {
        self.link.is_linear()
    }

    fn partial_dependences(
        &self,
        features: &[usize],
        points: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        if !self.link.is_linear() {
            let reason = "its partial dependences are not those of its trees";
            return Err(ModelError::Failed(reason.to_owned()));
        }
        let of_trees = self.with_seen(points.columns(), |points_seen| {
            self.with_seen(background.rows.columns(), |behind| {
                let rows = Rows::new(behind, background.rows.len());
                let points = Rows::new(points_seen, points.len());
                self.trees.dependence_sums(features, (&points, &Background { rows, ..*background }))
            })
        });
        let (scores, outputs, len) = (self.base.len(), self.names.len(), points.len());
        for (group, weight) in background.totals().into_iter().enumerate() {
            for point in 0..len {
                let of_score = |q: usize| {
                    let sum = of_trees[(point * scores + q) * background.count + group];
                    self.base[q] * weight + sum / self.divisor
                };
                for q in 0..outputs {
                    let sum = match self.link {
                        Link::Complement if q == 0 => weight - of_score(0),
                        Link::Complement => of_score(0),
                        _ => of_score(q),
                    };
                    sums[(group * outputs + q) * len + point] = sum;
                }
            }
        }
        Ok(())
    }
}

impl FittedModel for TreeModel {
    fn takes_missing(&self) -> bool {
        self.takes_missing
    }

    fn output_names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Of one output, which is the score, and where numbers go as they are less or not.
    fn sum(&self) -> Option<TermSum<'_>> {
        let [base] = self.base[..] else { return None };
        if self.link != Link::Identity {
            return None;
        }
        Some(TermSum::new(self.dimension, base).with_boxes(Leaves::of(self)?))
    }

    fn summary(&self) -> Vec<Fact> {
        let leaves = (self.trees.nodes().len() + self.trees.len()) / 2;
        let mut facts =
            vec![Fact::new("trees", self.trees.len() as f64), Fact::new("leaves", leaves as f64)];
        if self.left_out > 0 {
            facts.push(Fact::new("trees after the best iteration", self.left_out as f64));
        }
        facts
    }
}
