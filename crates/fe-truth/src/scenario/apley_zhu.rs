//! Two nearly equal features, after the first example of Apley & Zhu (2020).

use super::closed_forms::{ClosedForms, Pointwise};
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo, quantile_axis};
use crate::error::Error;
use crate::expression::{Expression, feature};
use crate::function::{Function, Term};
use crate::law::{CommonCause, Law};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "apley-zhu",
        version: 1,
        about: "an additive function of two nearly equal features: partial dependence \
                extrapolates, the M-plot mixes the two effects",
        formula: "x1 + x2²",
        law: "x1 and x2 are u + N(0, sd noise_sd), each with its own noise; u ~ U(0, 1)",
        parameters: &[OptionInfo {
            name: "noise_sd",
            default: "0.05",
            allowed: "a number from 1e-6 to 10",
            about: "standard deviation of each feature given u",
        }],
    },
    build,
};

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let noise = parameters.number("noise_sd", |sd| (1e-6..=10.0).contains(&sd))?;
    let pair = CommonCause { noise };
    let axis = quantile_axis(&pair.margin());
    Ok(Parts::new(Law::new().with(&[0, 1], pair), ApleyZhu, Forms { pair }, vec![axis; 2]))
}

struct ApleyZhu;

impl Function for ApleyZhu {
    const WIDTH: usize = 2;

    fn dimension(&self) -> usize {
        2
    }

    fn expression(&self) -> Expression {
        feature(0) + feature(1).power(2.0)
    }

    fn terms(&self) -> Vec<Term> {
        let square = Term::new(&[1], |x| x[1] * x[1], |_, x| 2.0 * x[1]);
        vec![Term::linear(1.0, 0), square]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        x[0] + x[1] * x[1]
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        if s == 0 { 1.0 } else { 2.0 * x[1] }
    }
}

/// E u and E u².
const MEAN_U: f64 = 0.5;
const MEAN_U2: f64 = 1.0 / 3.0;

struct Forms {
    pair: CommonCause,
}

/// The term of f that reads the feature.
fn part(s: usize, x: f64) -> f64 {
    if s == 0 { x } else { x * x }
}

impl Forms {
    fn noise2(&self) -> f64 {
        self.pair.noise * self.pair.noise
    }

    /// The mean of the other term given x_s = x.
    fn other_given(&self, s: usize, x: f64) -> f64 {
        let (mean, variance) = self.pair.cause_given(x);
        if s == 0 { mean * mean + variance + self.noise2() } else { mean }
    }
}

/// f is additive: effects are the terms, and nothing is heterogeneous.
impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, (lo, _): (f64, f64)) -> Option<f64> {
        Some(match quantity {
            Pointwise::Pd if s == 0 => x + MEAN_U2 + self.noise2(),
            Pointwise::Pd => x * x + MEAN_U,
            Pointwise::Mplot => part(s, x) + self.other_given(s, x),
            Pointwise::Dpd | Pointwise::Mu if s == 0 => 1.0,
            Pointwise::Dpd | Pointwise::Mu => 2.0 * x,
            Pointwise::Sigma2 | Pointwise::HPdp | Pointwise::HDpdp => 0.0,
            Pointwise::Accumulated => part(s, x) - part(s, lo),
        })
    }

    fn size(&self, quantity: Pointwise, s: usize, x: f64, (lo, _): (f64, f64)) -> f64 {
        match quantity {
            // The moments of u lie in [0, 1], but are right to fewer digits.
            Pointwise::Mplot => 200.0 + part(s, x).abs() + self.noise2(),
            Pointwise::Pd => 1.0 + part(s, x).abs() + self.noise2(),
            Pointwise::Dpd | Pointwise::Mu => 1.0 + 2.0 * x.abs() * f64::from(s == 1),
            Pointwise::Accumulated => part(s, x).abs() + part(s, lo).abs(),
            // These are 0 without any sum.
            Pointwise::Sigma2 | Pointwise::HPdp | Pointwise::HDpdp => 0.0,
        }
    }

    fn difference(&self, s: usize, from: f64, to: f64, _: f64) -> Option<(f64, f64)> {
        Some((part(s, to) - part(s, from), 0.0))
    }

    fn mean(&self) -> Option<f64> {
        Some(MEAN_U + MEAN_U2 + self.noise2())
    }

    fn variance(&self) -> Option<f64> {
        // Var x1 = 1/12 + s², Var x2² = 4/45 + 4s²/3 + 2s⁴, and the covariance is that of u and u².
        let s2 = self.noise2();
        Some(61.0 / 180.0 + 7.0 / 3.0 * s2 + 2.0 * s2 * s2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three points of Gauss–Legendre and of Gauss–Hermite are exact for squares of x1 + x2².
    #[test]
    fn mean_and_variance_are_those_of_the_sum() {
        let noise = 0.7;
        let forms = Forms { pair: CommonCause { noise } };
        let common = [(0.5 - 0.15_f64.sqrt(), 5.0), (0.5, 8.0), (0.5 + 0.15_f64.sqrt(), 5.0)];
        let normal = [(-3_f64.sqrt(), 1.0), (0.0, 4.0), (3_f64.sqrt(), 1.0)];
        let mut moments = [0.0; 2];
        for (u, first) in common {
            for (a, second) in normal {
                for (b, third) in normal {
                    let value = u + noise * a + (u + noise * b).powi(2);
                    let weight = first * second * third / (18.0 * 36.0);
                    moments[0] += weight * value;
                    moments[1] += weight * value * value;
                }
            }
        }
        let known = moments[1] - moments[0] * moments[0];
        let (mean, variance) = (forms.mean().unwrap(), forms.variance().unwrap());
        assert!((mean / moments[0] - 1.0).abs() < 1e-14, "{mean}");
        assert!((variance / known - 1.0).abs() < 1e-13, "{variance}, {known}");
    }

    /// What is summed up to a value, with signs left out.
    #[test]
    fn sizes_are_those_of_the_summands() {
        let forms = Forms { pair: CommonCause { noise: 0.5 } };
        let size = |quantity, s| forms.size(quantity, s, -3.0, (0.0, 1.0));
        assert_eq!((size(Pointwise::Pd, 0), size(Pointwise::Pd, 1)), (4.25, 10.25));
        assert_eq!((size(Pointwise::Mu, 0), size(Pointwise::Mu, 1)), (1.0, 7.0));
    }
}
