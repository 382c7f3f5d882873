//! The normal distribution and its relatives, careful about tails and cancellation.

use std::f64::consts::{PI, SQRT_2};

use libm::{erf, erfc};
use statrs::function::erf::erfc_inv;

use crate::quadrature::fixed;

const SQRT_TAU: f64 = 2.506_628_274_631_000_7;

/// Standard normal density.
pub(crate) fn normal_pdf(z: f64) -> f64 {
    (-0.5 * z * z).exp() / SQRT_TAU
}

/// Standard normal distribution function, relatively accurate in the lower tail.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// Standard normal quantile: the inverse of [`normal_cdf`], polished by a Newton step.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let z = -SQRT_2 * erfc_inv(2.0 * p);
    let density = normal_pdf(z);
    if density > 0.0 && z.is_finite() { z - (normal_cdf(z) - p) / density } else { z }
}

/// Mass of a standard normal in `[from, to]`.
pub(crate) fn normal_between(from: f64, to: f64) -> f64 {
    if from > 0.0 {
        return normal_between(-to, -from);
    }
    if is_short(from, to) {
        return fixed(from, to, normal_pdf);
    }
    normal_cdf(to) - normal_cdf(from)
}

/// Mean of the standard normal distribution function over `[from, to]`.
pub(crate) fn mean_normal_cdf(from: f64, to: f64) -> f64 {
    if to - from < 1.0 {
        return fixed(from, to, normal_cdf) / (to - from);
    }
    let antiderivative = |u: f64| u * normal_cdf(u) + normal_pdf(u);
    (antiderivative(to) - antiderivative(from)) / (to - from)
}

/// `∫ exp(−(u² − u0²)/2) du` over `[from, to]`, for `u0` no further from 0 than the interval is.
///
/// The shift by `u0` keeps masses comparable that would all underflow.
pub(crate) fn shifted_normal_mass(from: f64, to: f64, u0: f64) -> f64 {
    if to < 0.0 {
        return shifted_normal_mass(-to, -from, u0);
    }
    let shifted = |u: f64| (-0.5 * (u - u0) * (u + u0)).exp();
    if is_short(from, to) {
        return fixed(from, to, shifted);
    }
    let tail = |u: f64| (0.5 * PI).sqrt() * scaled_erfc(u / SQRT_2) * shifted(u);
    if from >= 0.0 {
        tail(from) - tail(to)
    } else {
        (0.5 * PI).sqrt() * (erf(to / SQRT_2) - erf(from / SQRT_2)) * shifted(0.0)
    }
}

/// Whether `exp(−u²/2)` varies so little over the interval that differences of distribution
/// functions would cancel while one fixed rule is exact.
fn is_short(from: f64, to: f64) -> bool {
    (to - from) * (1.0 + from.abs().max(to.abs())) < 1.0
}

/// `exp(x²) erfc(x)` for x ≥ 0.
fn scaled_erfc(x: f64) -> f64 {
    if x < 5.0 {
        return (x * x).exp() * erfc(x);
    }
    // Laplace's continued fraction, evaluated from its 40th term.
    let fraction = (1..=40).rev().fold(x, |below, k| x + 0.5 * f64::from(k) / below);
    1.0 / (PI.sqrt() * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_cdf() {
        for p in [1e-12, 1e-4, 0.3, 0.5, 0.9, 0.9999] {
            assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-13, "{p}");
        }
        assert!((normal_quantile(0.9999) - 3.719_016_485_455_709).abs() < 1e-12);
    }

    #[test]
    fn scaled_erfc_is_continuous_at_the_switch() {
        let near = |x: f64| (x * x).exp() * erfc(x);
        for x in [5.0, 6.0, 10.0] {
            assert!((scaled_erfc(x) / near(x) - 1.0).abs() < 1e-13, "{x}");
        }
    }

    #[test]
    fn interval_masses_agree_with_adaptive_quadrature() {
        use crate::quadrature::{Estimate, integrate};
        for (from, to) in [(-3.0, 1.0), (0.3, 0.31), (7.0, 9.0), (-30.0, -28.0), (-0.1, 0.2)] {
            let u0 = if from * to < 0.0 { 0.0 } else { f64::min(f64::abs(from), f64::abs(to)) };
            let [exact] = integrate(&[from, 0.5 * (from + to), to], 0.0, |u| {
                [Estimate::exact((-0.5 * (u - u0) * (u + u0)).exp())]
            });
            let mass = shifted_normal_mass(from, to, u0);
            assert!((mass / exact.value - 1.0).abs() < 1e-13, "[{from}, {to}]");
            let scaled = normal_between(from, to) * SQRT_TAU * (0.5 * u0 * u0).exp();
            assert!((scaled / exact.value - 1.0).abs() < 1e-12, "[{from}, {to}]");
        }
    }
}
