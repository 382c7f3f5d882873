//! A piecewise-uniform parent, and a child that is the parent plus normal noise.

use super::Normal;
use super::{Block, Crossing, NORMAL_PANELS, PiecewiseUniform, Univariate};
use crate::special::{mean_normal_cdf, normal_between, normal_quantile, shifted_normal_mass};

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
            (0, Some(&(_, child))) => Box::new(Posterior::new(&self.parent, self.noise, child)),
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

/// The law of the parent given the child: a normal around the child, its density scaled on each
/// piece by that of the parent and cut off at the ends. With one piece, a normal law cut off.
pub(super) struct Posterior {
    /// Lower limit, upper limit, factor of the normal density; adjoining. The outer limits may be
    /// infinite.
    pieces: Vec<(f64, f64, f64)>,
    child: f64,
    noise: f64,
    /// Distance of the support from the child in standard deviations. All densities are relative
    /// to the one there, so that nothing underflows however far away the child is.
    nearest: f64,
    /// Integral of the density before normalisation.
    total: f64,
}

impl Posterior {
    fn new(parent: &PiecewiseUniform, noise: f64, child: f64) -> Self {
        Self::on(parent.pieces().map(|(a, b, w)| (a, b, w / (b - a))).collect(), noise, child)
    }

    pub(super) fn on(pieces: Vec<(f64, f64, f64)>, noise: f64, child: f64) -> Self {
        let (low, high) = (pieces[0].0, pieces[pieces.len() - 1].1);
        let mut posterior = Self {
            pieces,
            child,
            noise,
            nearest: (low - child).max(child - high).max(0.0) / noise,
            total: 1.0,
        };
        posterior.total = posterior.mass_below(high);
        posterior
    }

    fn standardised(&self, x: f64) -> f64 {
        (x - self.child) / self.noise
    }

    /// The pieces inside an interval.
    fn cut(&self, from: f64, to: f64) -> Vec<(f64, f64, f64)> {
        let inside = self.pieces.iter().filter(|&&(a, b, _)| a < to && from < b);
        inside.map(|&(a, b, density)| (a.max(from), b.min(to), density)).collect()
    }

    fn mass_below(&self, x: f64) -> f64 {
        let mass = |a: f64, b: f64| {
            self.noise
                * shifted_normal_mass(self.standardised(a), self.standardised(b), self.nearest)
        };
        self.pieces
            .iter()
            .filter(|&&(a, _, _)| a < x)
            .map(|&(a, b, density)| density * mass(a, b.min(x)))
            .sum::<f64>()
            / self.total
    }
}

impl Univariate for Posterior {
    fn pdf(&self, x: f64) -> f64 {
        let last = self.support().1;
        let inside = |&&(a, b, _): &&(f64, f64, f64)| a <= x && (x < b || (x == b && b == last));
        let Some((_, _, density)) = self.pieces.iter().find(inside) else {
            return 0.0;
        };
        let u = self.standardised(x);
        density * (-0.5 * (u - self.nearest) * (u + self.nearest)).exp() / self.total
    }

    fn cdf(&self, x: f64) -> f64 {
        self.mass_below(x)
    }

    fn support(&self) -> (f64, f64) {
        (self.pieces[0].0, self.pieces[self.pieces.len() - 1].1)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let cut = self.cut(from, to);
        let unscaled = |a: f64, b: f64| {
            let (a, b) = (self.standardised(a), self.standardised(b));
            self.noise * shifted_normal_mass(a, b, self.nearest)
        };
        cut.iter().map(|&(a, b, density)| density * unscaled(a, b)).sum::<f64>() / self.total
    }

    fn resolves_small_masses(&self) -> bool {
        true
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        let pieces = self.cut(from, to);
        if pieces.is_empty() {
            return None;
        }
        Some(Box::new(Self::on(pieces, self.noise, self.child)))
    }

    fn panels(&self) -> Vec<f64> {
        let (low, high) = self.support();
        // Beyond this reach the density is e^-50 of its maximum.
        let reach = self.noise * self.nearest.hypot(10.0);
        let (from, to) = (low.max(self.child - reach), high.min(self.child + reach));
        // Where the child lies outside, the density falls off from the nearest end on this scale.
        let peak = self.child.clamp(low, high);
        let scale = self.noise / (1.0 + self.nearest);
        let mut points = vec![from, to];
        let soft = [1.0, 2.0, 5.0, 10.0, 20.0].map(|z| z * scale);
        points.push(peak);
        points.extend(soft.iter().flat_map(|d| [peak - d, peak + d]));
        points.extend(self.pieces.iter().map(|piece| piece.0));
        points.retain(|&x| from <= x && x <= to);
        points.sort_by(f64::total_cmp);
        points.dedup();
        points
    }
}
