//! Three functions of two correlated normal features, from Liu et al. (2018).
//!
//! All are quadratic, and a quadratic function of two normal features has every truth in closed
//! form: given one feature, the other is normal with a mean linear in it and a constant variance.

use super::{Family, ParameterInfo, Parameters, Parts, ScenarioInfo, quantile_axis};
use crate::closed::{ClosedForms, Quantity};
use crate::error::Error;
use crate::function::{Function, Term};
use crate::law::{BivariateNormal, Law};

const LAW: &str = "(x1, x2) normal with means mu1, mu2, standard deviations sigma1, sigma2 and \
                   correlation rho";

const PARAMETERS: &[ParameterInfo] = &[
    mean("mu1", "mean of x1"),
    mean("mu2", "mean of x2"),
    sd("sigma1", "standard deviation of x1"),
    sd("sigma2", "standard deviation of x2"),
    ParameterInfo {
        name: "rho",
        default: "0.5",
        allowed: "a number strictly between -1 and 1",
        about: "correlation of x1 and x2",
    },
];

const fn mean(name: &'static str, about: &'static str) -> ParameterInfo {
    ParameterInfo { name, default: "0", allowed: "a number from -1e6 to 1e6", about }
}

const fn sd(name: &'static str, about: &'static str) -> ParameterInfo {
    ParameterInfo { name, default: "1", allowed: "a number from 1e-6 to 1e6", about }
}

const fn info(name: &'static str, formula: &'static str, about: &'static str) -> ScenarioInfo {
    ScenarioInfo { name, version: 1, about, formula, law: LAW, parameters: PARAMETERS }
}

pub(super) const ADDITIVE: Family = Family {
    info: info("liu-additive", "x1 + x2", "no interaction: correlation misleads only the M-plot"),
    build: |p| build(p, Quadratic { linear: [1.0, 1.0], square: [0.0, 0.0], cross: 0.0 }),
};

pub(super) const PRODUCT: Family = Family {
    info: info("liu-product", "x1 x2", "pure interaction: PD and ALE differ under correlation"),
    build: |p| build(p, Quadratic { linear: [0.0, 0.0], square: [0.0, 0.0], cross: 1.0 }),
};

pub(super) const QUADRATIC: Family = Family {
    info: info("liu-quadratic", "x1² + x1 x2", "a main effect and an interaction"),
    build: |p| build(p, Quadratic { linear: [0.0, 0.0], square: [1.0, 0.0], cross: 1.0 }),
};

fn build(parameters: &mut Parameters, function: Quadratic) -> Result<Parts, Error> {
    let any = |mu: f64| mu.abs() <= 1e6;
    let positive = |sigma: f64| (1e-6..=1e6).contains(&sigma);
    let law = BivariateNormal {
        mean: [parameters.number("mu1", any)?, parameters.number("mu2", any)?],
        sd: [parameters.number("sigma1", positive)?, parameters.number("sigma2", positive)?],
        rho: parameters.number("rho", |rho| rho.abs() < 1.0)?,
    };
    let axes = vec![quantile_axis(&law.margin(0)), quantile_axis(&law.margin(1))];
    Ok(Parts::new(Law::new().with(&[0, 1], law), function, Forms { function, law }, axes))
}

/// `Σ linear_j x_j + Σ square_j x_j² + cross x1 x2`.
#[derive(Debug, Clone, Copy)]
struct Quadratic {
    linear: [f64; 2],
    square: [f64; 2],
    cross: f64,
}

impl Quadratic {
    /// The part that depends on one feature alone.
    fn alone(&self, s: usize, x: f64) -> f64 {
        (self.linear[s] + self.square[s] * x) * x
    }

    /// Its derivative.
    fn slope(&self, s: usize, x: f64) -> f64 {
        self.linear[s] + 2.0 * self.square[s] * x
    }
}

impl Function for Quadratic {
    fn dimension(&self) -> usize {
        2
    }

    fn terms(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        for s in 0..2 {
            let (linear, square) = (self.linear[s], self.square[s]);
            if linear != 0.0 {
                terms.push(Term::linear(linear, s));
            }
            if square != 0.0 {
                let value = move |x: &[f64]| square * x[s] * x[s];
                terms.push(Term::new(&[s], value, move |_, x| 2.0 * square * x[s]));
            }
        }
        if self.cross != 0.0 {
            terms.push(Term::product(self.cross, 0, 1));
        }
        terms
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.alone(0, x[0]) + self.alone(1, x[1]) + self.cross * x[0] * x[1]
    }

    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        self.slope(s, x[s]) + self.cross * x[1 - s]
    }
}

/// Truths of a quadratic function of two normal features.
struct Forms {
    function: Quadratic,
    law: BivariateNormal,
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Quantity, s: usize, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        let (f, c) = (&self.function, 1 - s);
        let partner = self.law.margin(c);
        let given = self.law.given_other(c, x);
        // E f(x, X_c) for a partner with this mean and standard deviation.
        let average = |mean: f64, sd: f64| {
            f.alone(s, x) + f.alone(c, mean) + f.square[c] * sd * sd + f.cross * x * mean
        };
        // The derivative along x_s is linear in x, and so is the conditional mean of the partner.
        let mu = |x: f64| f.slope(s, x) + f.cross * self.law.given_other(c, x).mean;
        Some(match quantity {
            Quantity::Pd => average(partner.mean, partner.sd),
            Quantity::Mplot => average(given.mean, given.sd),
            Quantity::Dpd => f.slope(s, x) + f.cross * partner.mean,
            Quantity::Mu => mu(x),
            Quantity::Sigma2 => (f.cross * given.sd).powi(2),
            Quantity::HDpdp => (f.cross * partner.sd).powi(2),
            Quantity::HPdp => (f.cross * partner.sd * (x - 0.5 * (lo + hi))).powi(2),
            Quantity::Accumulated => (x - lo) * mu(0.5 * (lo + x)),
        })
    }

    fn difference(&self, s: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        let (f, given) = (&self.function, self.law.given_other(1 - s, x));
        let step = to - from;
        let mean = step * (f.slope(s, 0.5 * (from + to)) + f.cross * given.mean);
        Some((mean, (step * f.cross * given.sd).powi(2)))
    }

    fn mean(&self) -> Option<f64> {
        let (f, law) = (&self.function, &self.law);
        let squares = f.square[0] * law.sd[0].powi(2) + f.square[1] * law.sd[1].powi(2);
        Some(f.value(&law.mean) + squares + f.cross * self.covariance())
    }

    /// With b the gradient at the mean, C the matrix of f and Σ that of the law:
    /// b'Σb + 2 tr (CΣ)².
    fn variance(&self) -> Option<f64> {
        let (f, law, covariance) = (&self.function, &self.law, self.covariance());
        let b = [f.partial(0, &law.mean), f.partial(1, &law.mean)];
        let v = [law.sd[0].powi(2), law.sd[1].powi(2)];
        let linear = b[0] * b[0] * v[0] + b[1] * b[1] * v[1] + 2.0 * b[0] * b[1] * covariance;
        let half = 0.5 * f.cross;
        let product = [
            [f.square[0] * v[0] + half * covariance, f.square[0] * covariance + half * v[1]],
            [half * v[0] + f.square[1] * covariance, half * covariance + f.square[1] * v[1]],
        ];
        let squared =
            product[0][0].powi(2) + product[1][1].powi(2) + 2.0 * product[0][1] * product[1][0];
        Some(linear + 2.0 * squared)
    }
}

impl Forms {
    fn covariance(&self) -> f64 {
        self.law.rho * self.law.sd[0] * self.law.sd[1]
    }
}
