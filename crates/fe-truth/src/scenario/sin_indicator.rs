//! The running example of RHALE (Gkolemis et al. 2023, sec. 3), also used by EFFECTOR (C.1).
//!
//! The papers put x3 ≈ x1; here the noise of x3 is in every truth.

use std::f64::consts::{PI, TAU};

use super::closed_forms::{ClosedForms, Pointwise};
use super::published::Limit;
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo};
use crate::error::Error;
use crate::expression::{Expression, feature, less};
use crate::fast_math::wave::{cos_pi, sin_pi};
use crate::function::{Function, Term};
use crate::law::{Law, Normal, ParentChild, PiecewiseUniform, Univariate};
use crate::numeric::special::normal_cdf;
use crate::quantity::Quantity;

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "sin-indicator",
        version: 1,
        about: "an interaction through a sign, with a correlated feature: heterogeneity \
                that a mean effect hides",
        formula: "sin(2π x1) (1{x1 < 0} − 2·1{x3 < 0}) + x1 x2 + x2",
        law: "x1 uniform on [−½, 0] with probability 5/6 and on [0, ½] with 1/6; \
              x2 ~ N(0, sd 2); x3 = x1 + N(0, sd noise_sd)",
        parameters: &[OptionInfo {
            name: "noise_sd",
            default: "0.01",
            allowed: "a number from 1e-6 to 1e6",
            about: "standard deviation of x3 given x1 (RHALE 0.01, EFFECTOR 0.1)",
        }],
    },
    build,
};

/// Standard deviation of x2.
const SD_X2: f64 = 2.0;
/// E x1 and Var x1.
const MEAN_X1: f64 = -1.0 / 6.0;
const VAR_X1: f64 = 1.0 / 18.0;
/// E sin(2πx1), E sin²(2πx1) and E[sin(2πx1) 1{x1 < 0}].
const MEAN_SIN: f64 = -4.0 / (3.0 * PI);
const MEAN_SIN2: f64 = 0.5;
const MEAN_SIN_BELOW: f64 = -5.0 / (3.0 * PI);

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let noise = parameters.number("noise_sd", |sd| (1e-6..=1e6).contains(&sd))?;
    let parent = PiecewiseUniform::new(&[-0.5, 0.0, 0.5], &[5.0 / 6.0, 1.0 / 6.0]);
    let pair = ParentChild::new(parent, noise);
    let forms = Forms { noise, below: pair.child().cdf(0.0) };
    let law = Law::new().with(&[0, 2], pair).with_independent(1, Normal { mean: 0.0, sd: SD_X2 });
    let axes = vec![(-0.5, 0.5), (-5.0, 5.0), (-0.5, 0.5)];
    Ok(Parts::new(law, SinIndicator, forms, axes).with_limits(limits()))
}

/// The papers' curve of x1: x3 < 0 wherever x1 < 0, and P(x3 < 0) = 5/6.
fn limits() -> Vec<Limit> {
    let pd_sign = |x: f64| below(x) - 5.0 / 3.0;
    vec![
        // RHALE eq. 26, EFFECTOR eq. 21.
        Limit::new(Quantity::Ale, 0, |x| -(TAU * x).sin() * below(x)),
        // RHALE eq. 25 without its factor z.
        Limit::new(Quantity::Mu, 0, |x| -TAU * (TAU * x).cos() * below(x)),
        // RHALE eq. 33, 34, EFFECTOR eq. 24.
        Limit::new(Quantity::Sigma, 0, |_| SD_X2),
        // RHALE eq. 40, EFFECTOR eq. 30 and 41.
        Limit::new(Quantity::Pd, 0, move |x| (TAU * x).sin() * pd_sign(x)),
        Limit::new(Quantity::Dpd, 0, move |x| TAU * (TAU * x).cos() * pd_sign(x)),
        // EFFECTOR eq. 67, up to a constant; and the effector library.
        Limit::new(Quantity::Shap, 0, |x| -5.0 / 6.0 * (TAU * x).sin()),
    ]
}

struct SinIndicator;

/// 1 below 0, else 0.
fn below(x: f64) -> f64 {
    f64::from(x < 0.0)
}

/// Factor of the sine.
fn sign(x: &[f64]) -> f64 {
    below(x[0]) - 2.0 * below(x[2])
}

impl Function for SinIndicator {
    const WIDTH: usize = 3;

    fn dimension(&self) -> usize {
        3
    }

    fn expression(&self) -> Expression {
        let sign = less(feature(0), 0.0) - 2.0 * less(feature(2), 0.0);
        (TAU * feature(0)).sin() * sign + feature(0) * feature(1) + feature(1)
    }

    fn terms(&self) -> Vec<Term> {
        let wave = Term::new(
            &[0, 2],
            |x| (TAU * x[0]).sin() * sign(x),
            |s, x| if s == 0 { TAU * (TAU * x[0]).cos() * sign(x) } else { 0.0 },
        );
        vec![
            wave.breaking_at(0, &[0.0]).breaking_at(2, &[0.0]),
            Term::product(1.0, 0, 1),
            Term::linear(1.0, 1),
        ]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        sin_pi(2.0 * x[0]) * sign(x) + x[0] * x[1] + x[1]
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        match s {
            0 => TAU * cos_pi(2.0 * x[0]) * sign(x) + x[1],
            1 => x[0] + 1.0,
            _ => 0.0,
        }
    }
}

struct Forms {
    noise: f64,
    /// P(x3 < 0).
    below: f64,
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, axis: (f64, f64)) -> Option<f64> {
        match s {
            0 => self.of_x1(quantity, x, axis),
            1 => of_x2(quantity, x, axis),
            _ => of_x3(quantity, x, axis),
        }
    }

    fn difference(&self, s: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        match s {
            0 => {
                let q = self.below_given(x);
                let wave = |x: f64| (TAU * x).sin();
                let signed = wave(to) * below(to) - wave(from) * below(from);
                let change = 2.0 * (wave(to) - wave(from));
                let variance = change.powi(2) * q * (1.0 - q) + (SD_X2 * (to - from)).powi(2);
                Some((signed - change * q, variance))
            }
            1 => Some(((to - from) * (1.0 + MEAN_X1), (to - from).powi(2) * VAR_X1)),
            // Without the jump nothing changes; with it, quadrature answers.
            _ => (below(from) == below(to)).then_some((0.0, 0.0)),
        }
    }
}

impl Forms {
    /// P(x3 < 0 | x1 = x).
    fn below_given(&self, x: f64) -> f64 {
        normal_cdf(-x / self.noise)
    }

    /// Everything about x1 is a mixture of x3 < 0 and x3 ≥ 0, plus x1 x2 with x2 independent.
    fn of_x1(&self, quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        let (sin, cos) = (TAU * x).sin_cos();
        let slope = TAU * cos;
        let (marginal, given) = (self.below, self.below_given(x));
        let spread = |p: f64| (2.0 * slope).powi(2) * p * (1.0 - p) + SD_X2 * SD_X2;
        Some(match quantity {
            Pointwise::Pd => sin * (below(x) - 2.0 * marginal),
            Pointwise::Dpd => slope * (below(x) - 2.0 * marginal),
            Pointwise::Mplot => sin * (below(x) - 2.0 * given),
            Pointwise::Mu => slope * (below(x) - 2.0 * given),
            Pointwise::Sigma2 => spread(given),
            Pointwise::HDpdp => spread(marginal),
            Pointwise::HPdp => {
                let mean_sin = ((TAU * lo).cos() - (TAU * hi).cos()) / (TAU * (hi - lo));
                4.0 * marginal * (1.0 - marginal) * (sin - mean_sin).powi(2)
                    + (SD_X2 * (x - 0.5 * (lo + hi))).powi(2)
            }
            Pointwise::Accumulated => return None,
        })
    }
}

/// f is linear in x2, which is independent of the rest, with slope x1 + 1.
fn of_x2(quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
    Some(match quantity {
        // The constant E[sin(2πx1)(1{x1 < 0} − 2·1{x3 < 0})] is left to quadrature.
        Pointwise::Pd | Pointwise::Mplot => return None,
        Pointwise::Dpd | Pointwise::Mu => 1.0 + MEAN_X1,
        Pointwise::Sigma2 | Pointwise::HDpdp => VAR_X1,
        Pointwise::HPdp => VAR_X1 * (x - 0.5 * (lo + hi)).powi(2),
        Pointwise::Accumulated => (1.0 + MEAN_X1) * (x - lo),
    })
}

/// f is constant in x3 but for the jump by 2 sin(2πx1) at 0.
fn of_x3(quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
    Some(match quantity {
        Pointwise::Pd => MEAN_SIN_BELOW - 2.0 * MEAN_SIN * below(x),
        Pointwise::Mplot => return None,
        Pointwise::HPdp => {
            let share_below = (-lo / (hi - lo)).clamp(0.0, 1.0);
            4.0 * (MEAN_SIN2 - MEAN_SIN * MEAN_SIN) * (below(x) - share_below).powi(2)
        }
        Pointwise::Dpd
        | Pointwise::Mu
        | Pointwise::Sigma2
        | Pointwise::HDpdp
        | Pointwise::Accumulated => 0.0,
    })
}
