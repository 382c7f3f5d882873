//! Normal laws of one and of two variables.

use super::piecewise_normal::PiecewiseNormal;
use super::{Block, Crossing, NORMAL_PANELS, Univariate};
use crate::numeric::special::{normal_between, normal_cdf, normal_pdf, normal_quantile};

/// Normal with a mean and a standard deviation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normal {
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

impl Univariate for Normal {
    fn pdf(&self, x: f64) -> f64 {
        normal_pdf((x - self.mean) / self.sd) / self.sd
    }

    fn cdf(&self, x: f64) -> f64 {
        normal_cdf((x - self.mean) / self.sd)
    }

    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn panels(&self) -> Vec<f64> {
        NORMAL_PANELS.iter().map(|z| self.mean + z * self.sd).collect()
    }

    fn is_smooth(&self) -> bool {
        true
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        normal_between((from - self.mean) / self.sd, (to - self.mean) / self.sd)
    }

    fn resolves_small_masses(&self) -> bool {
        true
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        Some(Box::new(PiecewiseNormal::on(vec![(from, to, 1.0)], self.sd, self.mean)))
    }

    fn quantile(&self, p: f64) -> f64 {
        self.mean + self.sd * normal_quantile(p)
    }
}

/// Two jointly normal features.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BivariateNormal {
    pub(crate) mean: [f64; 2],
    pub(crate) sd: [f64; 2],
    /// Correlation, strictly between −1 and 1.
    pub(crate) rho: f64,
}

impl BivariateNormal {
    /// The law of one feature on its own.
    pub(crate) fn margin(&self, feature: usize) -> Normal {
        Normal { mean: self.mean[feature], sd: self.sd[feature] }
    }

    /// The law of one feature given that the other one equals `x`.
    pub(crate) fn given_other(&self, feature: usize, x: f64) -> Normal {
        let other = 1 - feature;
        let standardised = (x - self.mean[other]) / self.sd[other];
        Normal {
            mean: self.mean[feature] + self.rho * self.sd[feature] * standardised,
            sd: self.sd[feature] * self.residual(),
        }
    }

    /// Standard deviation of a feature given the other one, relative to its own.
    fn residual(&self) -> f64 {
        ((1.0 - self.rho) * (1.0 + self.rho)).sqrt()
    }
}

impl Block for BivariateNormal {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        Box::new(match given.iter().find(|(feature, _)| *feature != target) {
            Some(&(_, x)) => self.given_other(target, x),
            None => self.margin(target),
        })
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        let Crossing { of, along, .. } = broken;
        if self.rho == 0.0 && broken.slope == 0.0 {
            return Vec::new();
        }
        let steepness = self.rho * self.sd[of] / self.sd[along];
        let intercept = self.mean[of] - steepness * self.mean[along];
        broken.passage(intercept, steepness, self.sd[of] * self.residual())
    }

    fn draws(&self) -> usize {
        2
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let len = drawn.len() / 2;
        let (drawn, values) = (drawn.split_at(len), values.split_at_mut(len));
        let residual = self.residual();
        for (i, (&p, &q)) in drawn.0.iter().zip(drawn.1).enumerate() {
            let first = normal_quantile(p);
            let second = self.rho * first + residual * normal_quantile(q);
            values.0[i] = self.mean[0] + self.sd[0] * first;
            values.1[i] = self.mean[1] + self.sd[1] * second;
        }
    }
}
