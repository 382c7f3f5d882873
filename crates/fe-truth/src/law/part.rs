//! Some features of a block, whatever the others are.

use std::sync::Arc;

use super::{Block, Crossing, Univariate};

/// The joint law of some features of a block.
pub(super) struct Part {
    pub(super) base: Arc<dyn Block>,
    /// The features, by their places in the block.
    pub(super) members: Vec<usize>,
    /// Number of features of the block.
    pub(super) size: usize,
}

impl Block for Part {
    fn known(&self, feature: usize, x: f64) -> f64 {
        self.base.known(self.members[feature], x)
    }

    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        let given: Vec<(usize, f64)> =
            given.iter().map(|&(feature, x)| (self.members[feature], x)).collect();
        self.base.conditional(self.members[target], &given)
    }

    fn is_known(&self, target: usize, given: &[usize]) -> bool {
        let given: Vec<usize> = given.iter().map(|&feature| self.members[feature]).collect();
        self.base.is_known(self.members[target], &given)
    }

    fn draws_given(&self) -> usize {
        self.base.draws_given()
    }

    fn sample_given(&self, given: &[(usize, f64)], drawn: &[f64], values: &mut [f64]) -> f64 {
        let given: Vec<(usize, f64)> =
            given.iter().map(|&(feature, x)| (self.members[feature], x)).collect();
        let mut all = vec![f64::NAN; self.size];
        let weight = self.base.sample_given(&given, drawn, &mut all);
        values.iter_mut().zip(&self.members).for_each(|(x, &member)| *x = all[member]);
        weight
    }

    fn common_factor(&self, target: usize) -> Option<f64> {
        self.base.common_factor(self.members[target])
    }

    fn given_factor(&self, target: usize, factor: f64) -> Box<dyn Univariate> {
        self.base.given_factor(self.members[target], factor)
    }

    fn alone(&self, target: usize) -> Box<dyn Univariate> {
        self.base.alone(self.members[target])
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        let [of, along] = [broken.of, broken.along].map(|feature| self.members[feature]);
        self.base.shadow(Crossing { of, along, ..broken })
    }
}
