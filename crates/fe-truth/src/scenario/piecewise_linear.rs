//! The piecewise-linear example of RHALE (Gkolemis et al. 2023, sec. 4.2).
//!
//! The paper and its code disagree on the intercepts of the pieces, hence the variants.

use std::ops::Add;

use super::closed_forms::{ClosedForms, Pointwise};
use super::published::Limit;
use super::uniform_parent::{LAW, MEAN_X1, SIGMA2, UniformParent, VAR_X1};
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo};
use crate::error::Error;
use crate::expression::{Expression, feature, less};
use crate::function::{Function, Term};
use crate::quantity::Quantity;

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "piecewise-linear",
        version: 1,
        about: "an effect that is linear on five pieces: what automatic bins should find",
        formula: "a(x1) + x1 x2, a with slopes 2, −2, 5, −10, ½ on [0, .2), [.2, .4), [.4, .45), \
                  [.45, .5), [.5, 1]",
        law: LAW,
        parameters: &[
            SIGMA2,
            OptionInfo {
                name: "intercepts",
                default: "continuous",
                allowed: "continuous, literal, rhale-code",
                about: "a is continuous with a(0) = 0; slope·x1 on each piece; or c + \
                        slope·(x1 − left limit) with c = 0, .2, 0, 2.5, −2.5",
            },
        ],
    },
    build,
};

const LIMITS: [f64; 6] = [0.0, 0.2, 0.4, 0.45, 0.5, 1.0];
const SLOPES: [f64; 5] = [2.0, -2.0, 5.0, -10.0, 0.5];
/// Values at the left limits in the code published with the paper.
const CODE_STARTS: [f64; 5] = [0.0, 0.2, 0.0, 2.5, -2.5];

#[derive(Debug, Clone, Copy)]
enum Intercepts {
    Continuous,
    Literal,
    RhaleCode,
}

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let law = UniformParent::new(parameters)?;
    let intercepts = parameters.choice(
        "intercepts",
        &[
            ("continuous", Intercepts::Continuous),
            ("literal", Intercepts::Literal),
            ("rhale-code", Intercepts::RhaleCode),
        ],
    )?;
    let function = PiecewiseLinear { main: Pieces::new(intercepts) };
    let continuous = Pieces::new(Intercepts::Continuous);
    let forms = Forms { main: function.main, continuous, law };
    // RHALE has the main part of f for the whole effect.
    let main = function.main;
    let printed = Limit::new(Quantity::Ale, 0, move |x| main.value(x));
    Ok(Parts::new(law.law(), function, forms, law.axes()).with_limits(vec![printed]))
}

/// A piecewise-linear function: pieces `[a, b)`, the last one closed.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    /// Values at the left limits.
    starts: [f64; 5],
}

impl Pieces {
    fn new(intercepts: Intercepts) -> Self {
        let mut starts = [0.0; 5];
        for k in 0..5 {
            starts[k] = match intercepts {
                Intercepts::Continuous if k == 0 => 0.0,
                Intercepts::Continuous => {
                    starts[k - 1] + SLOPES[k - 1] * (LIMITS[k] - LIMITS[k - 1])
                }
                Intercepts::Literal => SLOPES[k] * LIMITS[k],
                Intercepts::RhaleCode => CODE_STARTS[k],
            };
        }
        Self { starts }
    }

    fn piece(x: f64) -> usize {
        LIMITS[1..5].iter().filter(|limit| **limit <= x).count()
    }

    fn value(&self, x: f64) -> f64 {
        let k = Self::piece(x);
        self.starts[k] + SLOPES[k] * (x - LIMITS[k])
    }

    fn slope(x: f64) -> f64 {
        SLOPES[Self::piece(x)]
    }

    /// Its integral over [0, 1].
    fn integral(&self) -> f64 {
        let piece = |k: usize| {
            let width = LIMITS[k + 1] - LIMITS[k];
            width * (self.starts[k] + 0.5 * SLOPES[k] * width)
        };
        (0..5).map(piece).sum()
    }
}

struct PiecewiseLinear {
    main: Pieces,
}

impl Function for PiecewiseLinear {
    const WIDTH: usize = 2;

    fn dimension(&self) -> usize {
        2
    }

    fn expression(&self) -> Expression {
        let piece = |k: usize| {
            let line = self.main.starts[k] + SLOPES[k] * (feature(0) - LIMITS[k]);
            let from = if k > 0 { 1.0 - less(feature(0), LIMITS[k]) } else { 1.0.into() };
            let below = if k < 4 { less(feature(0), LIMITS[k + 1]) } else { 1.0.into() };
            line * from * below
        };
        (0..5).map(piece).fold(feature(0) * feature(1), Add::add)
    }

    fn terms(&self) -> Vec<Term> {
        let main = self.main;
        let pieces = Term::new(&[0], move |x| main.value(x[0]), |_, x| Pieces::slope(x[0]));
        vec![pieces.breaking_at(0, &LIMITS[1..5]), Term::product(1.0, 0, 1)]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        self.main.value(x[0]) + x[0] * x[1]
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        if s == 0 { Pieces::slope(x[0]) + x[1] } else { x[0] }
    }
}

struct Forms {
    main: Pieces,
    /// The integral of the slope.
    continuous: Pieces,
    law: UniformParent,
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, axis: (f64, f64)) -> Option<f64> {
        if s == 0 { self.of_x1(quantity, x, axis) } else { self.of_x2(quantity, x, axis) }
    }

    fn difference(&self, s: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        let step = to - from;
        if s == 0 {
            let main = self.main.value(to) - self.main.value(from);
            return Some((main + step * x, (step * self.law.noise).powi(2)));
        }
        let x1 = self.law.x1_given_x2(x)?;
        Some((step * x1.mean, step * step * x1.variance))
    }

    /// E[x1 x2] = E x1².
    fn mean(&self) -> Option<f64> {
        Some(self.main.integral() + MEAN_X1 * MEAN_X1 + VAR_X1)
    }
}

impl Forms {
    /// x2 is x1 plus noise: its mean is ½ or, given x1, x1.
    fn of_x1(&self, quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        let variance = self.law.noise * self.law.noise;
        let marginal = self.law.variance_x2();
        Some(match quantity {
            Pointwise::Pd => self.main.value(x) + MEAN_X1 * x,
            Pointwise::Dpd => Pieces::slope(x) + MEAN_X1,
            Pointwise::Mplot => self.main.value(x) + x * x,
            Pointwise::Mu => Pieces::slope(x) + x,
            Pointwise::Sigma2 => variance,
            Pointwise::HDpdp => marginal,
            Pointwise::HPdp => marginal * (x - 0.5 * (lo + hi)).powi(2),
            Pointwise::Accumulated => {
                self.continuous.value(x) - self.continuous.value(lo) + 0.5 * (x - lo) * (x + lo)
            }
        })
    }

    /// f is linear in x2 with slope x1; the M-plot is left to quadrature.
    fn of_x2(&self, quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        match quantity {
            Pointwise::Pd => Some(self.main.integral() + MEAN_X1 * x),
            Pointwise::Dpd => Some(MEAN_X1),
            Pointwise::HDpdp => Some(VAR_X1),
            Pointwise::HPdp => Some(VAR_X1 * (x - 0.5 * (lo + hi)).powi(2)),
            Pointwise::Mplot => None,
            Pointwise::Mu => Some(self.law.x1_given_x2(x)?.mean),
            Pointwise::Sigma2 => Some(self.law.x1_given_x2(x)?.variance),
            Pointwise::Accumulated => self.law.accumulated_x1(lo, x),
        }
    }
}
