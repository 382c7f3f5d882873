//! The piecewise-linear example of RHALE (Gkolemis et al. 2023, sec. 4.2).
//!
//! The paper and its code disagree on the intercepts of the pieces, hence the variants.

use super::{Family, ParameterInfo, Parameters, Parts, ScenarioInfo};
use crate::closed::{ClosedForms, Quantity};
use crate::error::Error;
use crate::function::{Function, Term};
use crate::law::{Law, ParentChild, PiecewiseUniform};
use crate::special::{normal_between, normal_pdf};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "piecewise-linear",
        version: 1,
        about: "an effect that is linear on five pieces: what automatic bins should find",
        formula: "a(x1) + x1 x2, a with slopes 2, −2, 5, −10, ½ on [0, .2), [.2, .4), [.4, .45), \
                  [.45, .5), [.5, 1]",
        law: "x1 ~ U(0, 1); x2 ~ N(x1, sd sigma2)",
        parameters: &[
            ParameterInfo {
                name: "sigma2",
                default: "0.5",
                allowed: "a number from 1e-8 to 1e6",
                about: "standard deviation of x2 given x1",
            },
            ParameterInfo {
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
    let noise = parameters.number("sigma2", |sd| (1e-8..=1e6).contains(&sd))?;
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
    let law =
        Law::new().with(&[0, 1], ParentChild { parent: PiecewiseUniform::on(0.0, 1.0), noise });
    let forms = Forms { main: function.main, continuous, noise };
    Ok(Parts::new(law, function, forms, vec![(0.0, 1.0), (-4.0 * noise, 1.0 + 4.0 * noise)]))
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
    fn dimension(&self) -> usize {
        2
    }

    fn terms(&self) -> Vec<Term> {
        let main = self.main;
        let pieces = Term::new(&[0], move |x| main.value(x[0]), |_, x| Pieces::slope(x[0]));
        vec![pieces.breaking_at(0, &LIMITS[1..5]), Term::product(1.0, 0, 1)]
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.main.value(x[0]) + x[0] * x[1]
    }

    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        if s == 0 { Pieces::slope(x[0]) + x[1] } else { x[0] }
    }
}

/// Mean and variance of x1, a uniform number.
const MEAN_X1: f64 = 0.5;
const VAR_X1: f64 = 1.0 / 12.0;

struct Forms {
    main: Pieces,
    /// The integral of the slope.
    continuous: Pieces,
    noise: f64,
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Quantity, s: usize, x: f64, axis: (f64, f64)) -> Option<f64> {
        if s == 0 { self.of_x1(quantity, x, axis) } else { self.of_x2(quantity, x, axis) }
    }

    fn difference(&self, s: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        let step = to - from;
        if s == 0 {
            let main = self.main.value(to) - self.main.value(from);
            return Some((main + step * x, (step * self.noise).powi(2)));
        }
        let x1 = self.x1_given_x2(x)?;
        Some((step * x1.mean, step * step * x1.variance))
    }

    /// E[x1 x2] = E x1².
    fn mean(&self) -> Option<f64> {
        Some(self.main.integral() + MEAN_X1 * MEAN_X1 + VAR_X1)
    }
}

impl Forms {
    /// x2 is x1 plus noise: its mean is ½ or, given x1, x1.
    fn of_x1(&self, quantity: Quantity, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        let variance = self.noise * self.noise;
        let marginal = VAR_X1 + variance;
        Some(match quantity {
            Quantity::Pd => self.main.value(x) + MEAN_X1 * x,
            Quantity::Dpd => Pieces::slope(x) + MEAN_X1,
            Quantity::Mplot => self.main.value(x) + x * x,
            Quantity::Mu => Pieces::slope(x) + x,
            Quantity::Sigma2 => variance,
            Quantity::HDpdp => marginal,
            Quantity::HPdp => marginal * (x - 0.5 * (lo + hi)).powi(2),
            Quantity::Accumulated => {
                self.continuous.value(x) - self.continuous.value(lo) + 0.5 * (x - lo) * (x + lo)
            }
        })
    }

    /// f is linear in x2 with slope x1; the M-plot is left to quadrature.
    fn of_x2(&self, quantity: Quantity, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        match quantity {
            Quantity::Pd => Some(self.main.integral() + MEAN_X1 * x),
            Quantity::Dpd => Some(MEAN_X1),
            Quantity::HDpdp => Some(VAR_X1),
            Quantity::HPdp => Some(VAR_X1 * (x - 0.5 * (lo + hi)).powi(2)),
            Quantity::Mplot => None,
            Quantity::Mu => Some(self.x1_given_x2(x)?.mean),
            Quantity::Sigma2 => Some(self.x1_given_x2(x)?.variance),
            // E[x1 | x2 = x] = x + sigma2² (log p)'(x), with p the density of x2.
            Quantity::Accumulated => {
                let (from, to) = (self.x1_given_x2(lo)?, self.x1_given_x2(x)?);
                let log_ratio = (to.density / from.density).ln();
                Some(0.5 * (x - lo) * (x + lo) + self.noise * self.noise * log_ratio)
            }
        }
    }

    /// The law of x1 given x2: a normal around x2, cut off at 0 and 1.
    ///
    /// None where the formulas would cancel: under large noise, and far outside of [0, 1].
    fn x1_given_x2(&self, x2: f64) -> Option<CutOff> {
        let (u, v) = (x2 / self.noise, (x2 - 1.0) / self.noise);
        if self.noise > 3.0 || u < -8.0 || v > 8.0 {
            return None;
        }
        let density = normal_between(v, u);
        let (at_u, at_v) = (normal_pdf(u) / density, normal_pdf(v) / density);
        let shift = at_u - at_v;
        Some(CutOff {
            density,
            mean: x2 + self.noise * shift,
            variance: self.noise * self.noise * (1.0 - (u * at_u - v * at_v) - shift * shift),
        })
    }
}

/// The law of x1 given x2, and the density of x2 there.
struct CutOff {
    density: f64,
    mean: f64,
    variance: f64,
}
