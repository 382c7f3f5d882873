//! Quadratic functions of two correlated normal features.
//!
//! Every truth has a closed form: given one feature, the other is normal with a mean linear in it
//! and a constant variance.

use super::closed_forms::{ClosedForms, Pointwise};
use super::{OptionInfo, Parameters, Parts, quantile_axis};
use crate::error::Error;
use crate::expression::{Expression, feature};
use crate::function::{Function, Term};
use crate::law::{BivariateNormal, Law, Normal};

/// The law in words.
pub(super) const LAW: &str = "(x1, x2) normal with means mu1, mu2, standard deviations sigma1, \
                              sigma2 and correlation rho";

/// The parameters of the law, with a default for the correlation.
pub(super) const fn parameters(rho: &'static str) -> [OptionInfo; 5] {
    [
        mean("mu1", "mean of x1"),
        mean("mu2", "mean of x2"),
        sd("sigma1", "standard deviation of x1"),
        sd("sigma2", "standard deviation of x2"),
        OptionInfo {
            name: "rho",
            default: rho,
            allowed: "a number strictly between -1 and 1",
            about: "correlation of x1 and x2",
        },
    ]
}

const fn mean(name: &'static str, about: &'static str) -> OptionInfo {
    OptionInfo { name, default: "0", allowed: "a number from -1e6 to 1e6", about }
}

const fn sd(name: &'static str, about: &'static str) -> OptionInfo {
    OptionInfo { name, default: "1", allowed: "a number from 1e-6 to 1e6", about }
}

/// A scenario of the function and as many independent standard normal features as it has noise.
pub(super) fn build(parameters: &mut Parameters, function: Quadratic) -> Result<Parts, Error> {
    let any = |mu: f64| mu.abs() <= 1e6;
    let positive = |sigma: f64| (1e-6..=1e6).contains(&sigma);
    let pair = BivariateNormal {
        mean: [parameters.number("mu1", any)?, parameters.number("mu2", any)?],
        sd: [parameters.number("sigma1", positive)?, parameters.number("sigma2", positive)?],
        rho: parameters.number("rho", |rho| rho.abs() < 1.0)?,
    };
    let noise = Normal { mean: 0.0, sd: 1.0 };
    let mut law = Law::new().with(&[0, 1], pair);
    let mut axes = vec![quantile_axis(&pair.margin(0)), quantile_axis(&pair.margin(1))];
    for feature in 2..function.dimension() {
        law = law.with_independent(feature, noise);
        axes.push(quantile_axis(&noise));
    }
    Ok(Parts::new(law, function, Forms { function, law: pair }, axes))
}

/// `Σ linear_j x_j + Σ square_j x_j² + cross x1 x2`, and features it does not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quadratic {
    pub(super) linear: [f64; 2],
    pub(super) square: [f64; 2],
    pub(super) cross: f64,
    /// Number of noise features.
    pub(super) noise: usize,
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

    /// The function with all its coefficients made positive: at sizes, the size of what is added.
    fn magnitude(&self) -> Self {
        let [linear, square] = [self.linear, self.square].map(|pair| pair.map(f64::abs));
        Self { linear, square, cross: self.cross.abs(), noise: self.noise }
    }
}

impl Function for Quadratic {
    const WIDTH: usize = 2;

    fn dimension(&self) -> usize {
        2 + self.noise
    }

    fn expression(&self) -> Expression {
        let alone = |s: usize| self.linear[s] * feature(s) + self.square[s] * feature(s).power(2.0);
        alone(0) + alone(1) + self.cross * feature(0) * feature(1)
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

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        self.alone(0, x[0]) + self.alone(1, x[1]) + self.cross * x[0] * x[1]
    }

    #[inline(always)]
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
    fn at(&self, quantity: Pointwise, s: usize, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        if s > 1 {
            return self.of_noise(quantity);
        }
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
            Pointwise::Pd => average(partner.mean, partner.sd),
            Pointwise::Mplot => average(given.mean, given.sd),
            Pointwise::Dpd => f.slope(s, x) + f.cross * partner.mean,
            Pointwise::Mu => mu(x),
            Pointwise::Sigma2 => (f.cross * given.sd).powi(2),
            Pointwise::HDpdp => (f.cross * partner.sd).powi(2),
            Pointwise::HPdp => (f.cross * partner.sd * (x - 0.5 * (lo + hi))).powi(2),
            Pointwise::Accumulated => (x - lo) * mu(0.5 * (lo + x)),
        })
    }

    fn difference(&self, s: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        if s > 1 {
            return Some((0.0, 0.0));
        }
        let (f, given) = (&self.function, self.law.given_other(1 - s, x));
        let step = to - from;
        let mean = step * (f.slope(s, 0.5 * (from + to)) + f.cross * given.mean);
        Some((mean, (step * f.cross * given.sd).powi(2)))
    }

    fn size(&self, quantity: Pointwise, s: usize, x: f64, (lo, hi): (f64, f64)) -> f64 {
        if s > 1 {
            return match quantity {
                Pointwise::Pd | Pointwise::Mplot => self.size_of_mean(),
                _ => 0.0,
            };
        }
        let (law, c) = (&self.law, 1 - s);
        let marginal = law.mean[c].abs();
        match quantity {
            Pointwise::Pd => self.value_size(s, x, marginal, law.sd[c]),
            Pointwise::Mplot => self.value_size(s, x, self.partner_size(s, x, 0.0), law.sd[c]),
            Pointwise::Dpd => self.slope_size(s, x, marginal),
            Pointwise::Mu => self.slope_size(s, x, self.partner_size(s, x, 0.0)),
            Pointwise::Sigma2 | Pointwise::HDpdp => (self.function.cross * law.sd[c]).powi(2),
            // The middle of the axis is rounded before it is subtracted and squared.
            Pointwise::HPdp => {
                let (deviation, ends) = (x - 0.5 * (lo + hi), lo.abs() + hi.abs());
                2.0 * (self.function.cross * law.sd[c]).powi(2) * deviation.abs() * ends
            }
            Pointwise::Accumulated => {
                let (middle, ends) = (0.5 * (lo + x), lo.abs() + x.abs());
                let partner = self.partner_size(s, middle, ends);
                (x - lo).abs() * self.slope_size(s, ends, partner)
            }
        }
    }

    fn size_of_difference(&self, s: usize, from: f64, to: f64, x: f64) -> f64 {
        if s > 1 {
            return 0.0;
        }
        let ends = from.abs() + to.abs();
        (to - from).abs() * self.slope_size(s, ends, self.partner_size(s, x, 0.0))
    }

    fn size_of_mean(&self) -> f64 {
        let (f, law) = (self.function.magnitude(), &self.law);
        let squares = f.square[0] * law.sd[0].powi(2) + f.square[1] * law.sd[1].powi(2);
        f.value(&law.mean.map(f64::abs)) + squares + f.cross * self.covariance().abs()
    }

    fn size_of_variance(&self) -> f64 {
        let sizes = BivariateNormal {
            mean: self.law.mean.map(f64::abs),
            rho: self.law.rho.abs(),
            ..self.law
        };
        Self { function: self.function.magnitude(), law: sizes }.variance().unwrap_or(0.0)
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

/// The closed forms again, every summand replaced by its size.
impl Forms {
    /// Size of the summands of the mean of the partner given x_s, for x with a rounding error of
    /// `doubt` machine epsilons.
    fn partner_size(&self, s: usize, x: f64, doubt: f64) -> f64 {
        let law = &self.law;
        let steepness = law.rho.abs() * law.sd[1 - s] / law.sd[s];
        law.mean[1 - s].abs() + steepness * ((x - law.mean[s]).abs() + doubt)
    }

    /// Size of the summands of ∂_s f at x, for a partner of this size.
    fn slope_size(&self, s: usize, x: f64, partner: f64) -> f64 {
        let f = self.function.magnitude();
        f.slope(s, x.abs()) + f.cross * partner
    }

    /// Size of the summands of the mean of f at x, for a partner of this size and deviation.
    fn value_size(&self, s: usize, x: f64, partner: f64, sd: f64) -> f64 {
        let (f, c) = (self.function.magnitude(), 1 - s);
        let own = f.alone(s, x.abs()) + f.cross * x.abs() * partner;
        own + f.alone(c, partner) + f.square[c] * sd * sd
    }
}

impl Forms {
    /// A feature that is not read changes nothing.
    fn of_noise(&self, quantity: Pointwise) -> Option<f64> {
        match quantity {
            Pointwise::Pd | Pointwise::Mplot => self.mean(),
            _ => Some(0.0),
        }
    }

    fn covariance(&self) -> f64 {
        self.law.rho * self.law.sd[0] * self.law.sd[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: Forms = Forms {
        function: Quadratic { linear: [0.5, -1.5], square: [0.75, -0.25], cross: 2.0, noise: 1 },
        law: BivariateNormal { mean: [1.5, -0.5], sd: [0.5, 3.0], rho: -0.6 },
    };

    /// Three Gauss–Hermite points of either feature are exact for the square of a quadratic function.
    #[test]
    fn mean_and_variance_are_those_of_a_quadratic_form() {
        let Forms { function, law } = FORMS;
        let points = [(-3_f64.sqrt(), 1.0 / 6.0), (0.0, 2.0 / 3.0), (3_f64.sqrt(), 1.0 / 6.0)];
        let mut moments = [0.0; 2];
        for (a, first) in points {
            for (b, second) in points {
                let z = law.rho * a + (1.0 - law.rho * law.rho).sqrt() * b;
                let value =
                    function.value(&[law.mean[0] + law.sd[0] * a, law.mean[1] + law.sd[1] * z]);
                moments[0] += first * second * value;
                moments[1] += first * second * value * value;
            }
        }
        let (mean, variance) = (FORMS.mean().unwrap(), FORMS.variance().unwrap());
        assert!((mean - moments[0]).abs() < 1e-14 * moments[1], "{mean}");
        let known = moments[1] - moments[0] * moments[0];
        assert!((variance / known - 1.0).abs() < 1e-13, "{variance}, {known}");
    }

    /// Sums of the sizes of summands, by hand: of 0.5 x1 + 0.75 x1² + 1.5 x2 + 0.25 x2² + 2 x1 x2.
    #[test]
    fn sizes_are_sums_of_the_sizes_of_summands() {
        let (x, axis) = (2.0, (-1.0, 4.0));
        // Of the mean of x2 given x1 = 2: 0.5 and 0.6·6·0.5 = 1.8.
        let partner = 2.3;
        let own = 0.5 * 2.0 + 0.75 * 4.0;
        let known = [
            (Pointwise::Pd, own + 4.0 * 0.5 + 1.5 * 0.5 + 0.25 * 0.25 + 0.25 * 9.0),
            (
                Pointwise::Mplot,
                own + 4.0 * partner + 1.5 * partner + 0.25 * partner * partner + 0.25 * 9.0,
            ),
            (Pointwise::Dpd, 0.5 + 3.0 + 2.0 * 0.5),
            (Pointwise::Mu, 0.5 + 3.0 + 2.0 * partner),
            (Pointwise::Sigma2, 36.0),
            (Pointwise::HDpdp, 36.0),
            // Twice 36, the distance 0.5 from the middle, and the ends.
            (Pointwise::HPdp, 72.0 * 0.5 * 5.0),
            // The width times the slope at the ends 3, x2 given the middle 0.5: 0.5 + 3.6 (1 + 3).
            (Pointwise::Accumulated, 3.0 * (0.5 + 4.5 + 2.0 * 14.9)),
        ];
        for (quantity, known) in known {
            let found = FORMS.size(quantity, 0, x, axis);
            assert!((found / known - 1.0).abs() < 1e-14, "{quantity:?}: {found}, {known}");
        }
        // From 1 to 2.5: at the ends 3.5.
        let found = FORMS.size_of_difference(0, 1.0, 2.5, x);
        let known = 1.5 * (0.5 + 5.25 + 2.0 * partner);
        assert!((found / known - 1.0).abs() < 1e-14, "{found}, {known}");
        assert!(FORMS.size_of_variance() >= FORMS.variance().unwrap());
    }
}
