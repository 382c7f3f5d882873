//! x1 uniform on [0, 1], and x2 = x1 plus normal noise: the law of the examples of RHALE sec. 4.2.

use super::{OptionInfo, Parameters};
use crate::error::Error;
use crate::law::{Law, ParentChild, PiecewiseUniform};
use crate::numeric::special::{normal_between, normal_pdf};

/// The law in words.
pub(super) const LAW: &str = "x1 ~ U(0, 1); x2 ~ N(x1, sd sigma2)";

/// The parameter of the law.
pub(super) const SIGMA2: OptionInfo = OptionInfo {
    name: "sigma2",
    default: "0.5",
    allowed: "a number from 1e-6 to 1e6",
    about: "standard deviation of x2 given x1",
};

/// Mean and variance of x1.
pub(super) const MEAN_X1: f64 = 0.5;
pub(super) const VAR_X1: f64 = 1.0 / 12.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct UniformParent {
    /// Standard deviation of x2 given x1.
    pub(super) noise: f64,
}

impl UniformParent {
    pub(super) fn new(parameters: &mut Parameters) -> Result<Self, Error> {
        let noise = parameters.number("sigma2", |sd| (1e-6..=1e6).contains(&sd))?;
        Ok(Self { noise })
    }

    pub(super) fn law(self) -> Law {
        let parent = PiecewiseUniform::on(0.0, 1.0);
        Law::new().with(&[0, 1], ParentChild::new(parent, self.noise))
    }

    pub(super) fn axes(self) -> Vec<(f64, f64)> {
        vec![(0.0, 1.0), (-4.0 * self.noise, 1.0 + 4.0 * self.noise)]
    }

    pub(super) fn variance_x2(self) -> f64 {
        VAR_X1 + self.noise * self.noise
    }

    /// The law of x1 given x2: a normal around x2, cut off at 0 and 1.
    ///
    /// None where the formulas would cancel: under large noise, and far outside of [0, 1].
    pub(super) fn x1_given_x2(self, x2: f64) -> Option<CutOff> {
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

    /// `∫ E[x1 | x2 = x] dx` from `lo` to `x`, None where [`Self::x1_given_x2`] is.
    pub(super) fn accumulated_x1(self, lo: f64, x: f64) -> Option<f64> {
        // E[x1 | x2 = x] = x + sigma2² (log p)'(x), with p the density of x2.
        let (from, to) = (self.x1_given_x2(lo)?, self.x1_given_x2(x)?);
        let log_ratio = (to.density / from.density).ln();
        Some(0.5 * (x - lo) * (x + lo) + self.noise * self.noise * log_ratio)
    }
}

/// The law of x1 given x2, and the density of x2 there.
pub(super) struct CutOff {
    density: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}
