//! The benchmark of Friedman (1991) with features that depend on each other.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::closed_forms::{ClosedForms, Pointwise};
use super::friedman1::{Friedman1, part};
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo};
use crate::error::Error;
use crate::law::{GaussianCopula, Law, NORMAL_PANELS, latent};
use crate::numeric::quadrature::{Estimate, Piecewise, integrate};
use crate::numeric::special::{normal_cdf, normal_pdf};
use crate::quantity::Quantity;

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "friedman1-copula",
        version: 1,
        about: "friedman1 with uniform features that are all equally correlated",
        formula: "10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5",
        law: "x1, …, x5 and the noise features uniform on [0, 1], Gaussian copula with correlation \
              rho between any two latent variables",
        parameters: &[
            OptionInfo {
                name: "rho",
                default: "0.5",
                allowed: "a number above -1/(D - 1), D = 5 + noise_features, and below 1",
                about: "correlation of the latent normal variables",
            },
            OptionInfo {
                name: "noise_features",
                default: "2",
                allowed: "a whole number from 0 to 1000",
                about: "features that f does not read",
            },
        ],
    },
    build,
};

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let dimension = 5 + parameters.count("noise_features", 1000)?;
    let least = -1.0 / (dimension as f64 - 1.0);
    let rho = parameters.number("rho", |rho| least < rho && rho < 1.0)?;
    let features: Vec<usize> = (0..dimension).collect();
    let forms = Forms { rho, wave_given_sum: OnceLock::new() };
    let law = Law::new().with(&features, GaussianCopula { rho, dimension });
    Ok(Parts::new(law, Friedman1 { dimension }, forms, vec![(0.0, 1.0); dimension]))
}

/// End of the latent sum's effect.
const FAR: f64 = 60.0;

/// Without the interaction the slope of f along a feature is a function of that feature alone.
struct Forms {
    rho: f64,
    /// Mean of the wave given the latent u ~ (z1 + z2), which alone ties it to the other features.
    wave_given_sum: OnceLock<Piecewise>,
}

impl Forms {
    /// E[10 sin(πx1x2) | z1 + z2]: what is left, z1 − z2, is independent of all but these two.
    fn wave_given_sum(&self) -> &Piecewise {
        let [sum, difference] = [1.0, -1.0].map(|sign| (0.5 * (1.0 + sign * self.rho)).sqrt());
        let wave = move |u: f64, d: f64| {
            let [x1, x2] = [1.0, -1.0].map(|sign| normal_cdf(sum * u + sign * difference * d));
            Estimate::of_size(10.0 * (PI * x1 * x2).sin(), 10.0)
        };
        self.wave_given_sum.get_or_init(|| {
            // Far enough out for nothing to change beyond.
            let points = [&[-FAR][..], &NORMAL_PANELS, &[FAR]].concat();
            Piecewise::of(&points, |u| normal_mean(|d| wave(u, d)))
        })
    }

    /// The M-plot of a feature that is not in the wave.
    fn mplot(&self, s: usize, x: f64) -> Estimate {
        let z = latent(x);
        let wave = self.wave_given_sum();
        let tie = self.rho * (2.0 / (1.0 + self.rho)).sqrt();
        let loose = [tie, self.rho].map(|r| ((1.0 - r) * (1.0 + r)).sqrt());
        let others: Vec<usize> = (2..5).filter(|&other| other != s).collect();
        let given = normal_mean(|t| {
            let sum = (tie * z + loose[0] * t).clamp(-FAR, FAR);
            let other = normal_cdf(self.rho * z + loose[1] * t);
            let parts = others.iter().map(|&s| Estimate::exact(part(s, other)));
            wave.at(sum).plus(Estimate::sum(parts))
        });
        given.plus(Estimate::exact(part(s, x)))
    }
}

/// The mean of a function of a standard normal variable.
fn normal_mean(f: impl Fn(f64) -> Estimate) -> Estimate {
    integrate(&NORMAL_PANELS, 0.0, |t| [f(t).times(normal_pdf(t))])[0]
}

impl ClosedForms for Forms {
    fn shorter(&self, effect: Quantity, s: usize, x: f64, _: (f64, f64)) -> Option<Estimate> {
        (effect == Quantity::Mplot && s >= 2).then(|| self.mplot(s, x))
    }

    fn at(&self, quantity: Pointwise, s: usize, x: f64, (lo, _): (f64, f64)) -> Option<f64> {
        let slope = |x: f64| match s {
            2 => 40.0 * (x - 0.5),
            3 => 10.0,
            4 => 5.0,
            _ => 0.0,
        };
        if s < 2 {
            return None;
        }
        Some(match quantity {
            Pointwise::Pd | Pointwise::Mplot => return None,
            Pointwise::Dpd | Pointwise::Mu => slope(x),
            Pointwise::Sigma2 | Pointwise::HDpdp | Pointwise::HPdp => 0.0,
            Pointwise::Accumulated => (x - lo) * slope(0.5 * (x + lo)),
        })
    }
}
