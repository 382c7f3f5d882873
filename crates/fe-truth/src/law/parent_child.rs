//! A piecewise-uniform parent, and a child that is the parent plus normal noise.

use super::Normal;
use super::piecewise_normal::PiecewiseNormal;
use super::{Block, Crossing, NORMAL_PANELS, PiecewiseUniform, Univariate};
use crate::numeric::special::{mean_normal_cdf, normal_between, normal_quantile};

/// Feature 0 of the block is the parent, feature 1 is the child = parent + N(0, sd `noise`).
#[derive(Debug, Clone)]
pub(crate) struct ParentChild {
    pub(crate) parent: PiecewiseUniform,
    pub(crate) noise: f64,
}

impl ParentChild {
    /// The marginal law of the child.
    pub(crate) fn child(&self) -> Blurred {
        Blurred { parent: self.parent.clone(), noise: self.noise }
    }
}

impl Block for ParentChild {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        match (target, given.iter().find(|(feature, _)| *feature != target)) {
            (0, None) => Box::new(self.parent.clone()),
            (0, Some(&(_, child))) => {
                Box::new(PiecewiseNormal::new(&self.parent, self.noise, child))
            }
            (_, None) => Box::new(self.child()),
            (_, Some(&(_, parent))) => Box::new(Normal { mean: parent, sd: self.noise }),
        }
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        broken.passage(0.0, 1.0, self.noise)
    }

    fn draws(&self) -> usize {
        2
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let len = drawn.len() / 2;
        let (parents, children) = values.split_at_mut(len);
        self.parent.quantiles(&drawn[..len], parents);
        for ((child, parent), &p) in children.iter_mut().zip(parents).zip(&drawn[len..]) {
            *child = *parent + self.noise * normal_quantile(p);
        }
    }
}

/// A piecewise-uniform law convolved with normal noise.
#[derive(Debug, Clone)]
pub(crate) struct Blurred {
    parent: PiecewiseUniform,
    noise: f64,
}

impl Univariate for Blurred {
    fn pdf(&self, x: f64) -> f64 {
        let mass = |a: f64, b: f64| normal_between((x - b) / self.noise, (x - a) / self.noise);
        self.parent.pieces().map(|(a, b, w)| w / (b - a) * mass(a, b)).sum()
    }

    fn cdf(&self, x: f64) -> f64 {
        let mean = |a: f64, b: f64| mean_normal_cdf((x - b) / self.noise, (x - a) / self.noise);
        self.parent.pieces().map(|(a, b, w)| w * mean(a, b)).sum()
    }

    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn panels(&self) -> Vec<f64> {
        let around = |edge: &f64| NORMAL_PANELS.map(|z| edge + z * self.noise);
        let mut points: Vec<f64> = self.parent.limits().iter().flat_map(around).collect();
        points.sort_by(f64::total_cmp);
        points
    }
}
