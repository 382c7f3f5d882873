//! The nonlinear example of RHALE (Gkolemis et al. 2023, sec. 4.2).

use super::closed_forms::{ClosedForms, Pointwise};
use super::published::Limit;
use super::uniform_parent::{LAW, MEAN_X1, SIGMA2, UniformParent, VAR_X1};
use super::{Family, Parts, ScenarioInfo};
use crate::expression::{Expression, feature};
use crate::function::{Function, Term};
use crate::quantity::Quantity;

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "nonlinear",
        version: 1,
        about: "smooth effects that no bins fit exactly, with a correlated feature",
        formula: "4 x1² + x2² + x1 x2",
        law: LAW,
        parameters: &[SIGMA2],
    },
    build: |parameters| {
        let law = UniformParent::new(parameters)?;
        // RHALE has the main part of f for the whole effect.
        let printed = Limit::new(Quantity::Ale, 0, |x| 4.0 * x * x);
        let parts = Parts::new(law.law(), Nonlinear, Forms { law }, law.axes());
        Ok(parts.with_limits(vec![printed]))
    },
};

struct Nonlinear;

impl Function for Nonlinear {
    const WIDTH: usize = 2;

    fn dimension(&self) -> usize {
        2
    }

    fn expression(&self) -> Expression {
        let squares = 4.0 * feature(0).power(2.0) + feature(1).power(2.0);
        squares + feature(0) * feature(1)
    }

    fn terms(&self) -> Vec<Term> {
        let square = |s: usize, factor: f64| {
            let value = move |x: &[f64]| factor * x[s] * x[s];
            Term::new(&[s], value, move |_, x| 2.0 * factor * x[s])
        };
        vec![square(0, 4.0), square(1, 1.0), Term::product(1.0, 0, 1)]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        4.0 * x[0] * x[0] + x[1] * x[1] + x[0] * x[1]
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        if s == 0 { 8.0 * x[0] + x[1] } else { 2.0 * x[1] + x[0] }
    }
}

/// E x1² and Var x1².
const MEAN_SQUARE_X1: f64 = 1.0 / 3.0;
const VAR_SQUARE_X1: f64 = 1.0 / 5.0 - 1.0 / 9.0;

struct Forms {
    law: UniformParent,
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, axis: (f64, f64)) -> Option<f64> {
        if s == 0 { Some(self.of_x1(quantity, x, axis)) } else { self.of_x2(quantity, x, axis) }
    }

    fn size(&self, quantity: Pointwise, s: usize, x: f64, (lo, hi): (f64, f64)) -> f64 {
        let positive = |quantity| self.at(quantity, s, x.abs(), (lo, hi)).unwrap_or(0.0);
        match quantity {
            // All summands are positive where x is.
            Pointwise::Pd | Pointwise::Dpd => positive(quantity),
            Pointwise::Mplot | Pointwise::Mu if s == 0 => positive(quantity),
            _ => 0.0,
        }
    }

    fn difference(&self, s: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        let (step, ends) = (to - from, from + to);
        if s == 0 {
            return Some((step * (4.0 * ends + x), (step * self.law.noise).powi(2)));
        }
        let x1 = self.law.x1_given_x2(x)?;
        Some((step * (ends + x1.mean), step * step * x1.variance))
    }

    /// With x2 = x1 + e, f = 6 x1² + 3 x1 e + e².
    fn mean(&self) -> Option<f64> {
        Some(6.0 * MEAN_SQUARE_X1 + self.law.noise.powi(2))
    }

    fn variance(&self) -> Option<f64> {
        let variance = self.law.noise.powi(2);
        let of_e = 9.0 * MEAN_SQUARE_X1 * variance + 2.0 * variance * variance;
        Some(36.0 * VAR_SQUARE_X1 + of_e)
    }
}

impl Forms {
    /// x2 is x1 plus noise: its mean is ½ or, given x1, x1.
    fn of_x1(&self, quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> f64 {
        let (noise, marginal) = (self.law.noise.powi(2), self.law.variance_x2());
        match quantity {
            Pointwise::Pd => 4.0 * x * x + MEAN_X1 * (x + MEAN_X1) + marginal,
            Pointwise::Dpd => 8.0 * x + MEAN_X1,
            Pointwise::Mplot => 6.0 * x * x + noise,
            Pointwise::Mu => 9.0 * x,
            Pointwise::Sigma2 => noise,
            Pointwise::HDpdp => marginal,
            Pointwise::HPdp => marginal * (x - 0.5 * (lo + hi)).powi(2),
            Pointwise::Accumulated => 4.5 * (x - lo) * (x + lo),
        }
    }

    fn of_x2(&self, quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        Some(match quantity {
            Pointwise::Pd => x * (x + MEAN_X1) + 4.0 * MEAN_SQUARE_X1,
            Pointwise::Dpd => 2.0 * x + MEAN_X1,
            Pointwise::HDpdp => VAR_X1,
            Pointwise::HPdp => VAR_X1 * (x - 0.5 * (lo + hi)).powi(2),
            Pointwise::Mplot => {
                let x1 = self.law.x1_given_x2(x)?;
                x * (x + x1.mean) + 4.0 * (x1.mean * x1.mean + x1.variance)
            }
            Pointwise::Mu => 2.0 * x + self.law.x1_given_x2(x)?.mean,
            Pointwise::Sigma2 => self.law.x1_given_x2(x)?.variance,
            Pointwise::Accumulated => (x - lo) * (x + lo) + self.law.accumulated_x1(lo, x)?,
        })
    }
}
