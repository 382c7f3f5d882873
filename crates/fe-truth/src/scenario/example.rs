//! A product of a normal and a uniform feature: the worked example of CONTRIBUTING.md.

use super::closed_forms::{ClosedForms, Pointwise};
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo, quantile_axis};
use crate::error::Error;
use crate::expression::{Expression, feature, less};
use crate::function::{Function, Term};
use crate::law::{Law, Normal, PiecewiseUniform};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "example",
        version: 1,
        about: "a kink and a product",
        formula: "|x1| + x1 x2",
        law: "x1 ~ N(0, sd sigma) and x2 ~ U(0, 1), independent",
        parameters: &[OptionInfo {
            name: "sigma",
            default: "1",
            allowed: "a number from 0.001 to 1000",
            about: "standard deviation of x1",
        }],
    },
    build,
};

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let sd = parameters.number("sigma", |sd| (0.001..=1000.0).contains(&sd))?;
    let x1 = Normal { mean: 0.0, sd };
    let axes = vec![quantile_axis(&x1), (0.0, 1.0)];
    let law =
        Law::new().with_independent(0, x1).with_independent(1, PiecewiseUniform::on(0.0, 1.0));
    Ok(Parts::new(law, Example, Forms, axes))
}

struct Example;

impl Function for Example {
    fn dimension(&self) -> usize {
        2
    }

    fn expression(&self) -> Expression {
        let size = feature(0) * (1.0 - 2.0 * less(feature(0), 0.0));
        size + feature(0) * feature(1)
    }

    fn terms(&self) -> Vec<Term> {
        let kink = Term::new(&[0], |x| x[0].abs(), |_, x| x[0].signum());
        vec![kink.breaking_at(0, &[0.0]), Term::product(1.0, 0, 1)]
    }

    fn value(&self, x: &[f64]) -> f64 {
        x[0].abs() + x[0] * x[1]
    }

    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        if s == 0 { x[0].signum() + x[1] } else { x[0] }
    }
}

struct Forms;

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, _: (f64, f64)) -> Option<f64> {
        match (quantity, s) {
            // x2 has mean ½ and variance 1/12.
            (Pointwise::Pd | Pointwise::Mplot, 0) => Some(x.abs() + 0.5 * x),
            (Pointwise::Sigma2 | Pointwise::HDpdp, 0) => Some(1.0 / 12.0),
            // The rest is left to quadrature.
            _ => None,
        }
    }
}
