//! The normal distribution and its relatives, careful about tails and cancellation.

use std::f64::consts::{PI, SQRT_2};

use libm::{erf, erfc};
use statrs::function::erf::erfc_inv;

use crate::numeric::quadrature::fixed;

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

/// `∫ exp(−d (2n + d)/2) dd` over `[from, to]` from 0 up: what a standard normal has at distances
/// `n + d` from its mean, relative to its density at `n`. Nothing cancels however large `n` is.
pub(crate) fn mass_beyond(n: f64, from: f64, to: f64) -> f64 {
    let relative = |d: f64| (-0.5 * d * (2.0 * n + d)).exp();
    if (to - from) * (1.0 + n + to) < 1.0 {
        return fixed(from, to, relative);
    }
    let tail = |d: f64| (0.5 * PI).sqrt() * scaled_erfc((n + d) / SQRT_2) * relative(d);
    tail(from) - tail(to)
}

/// Mean and variance of a distance `d` in `[0, width]` with a density in proportion to
/// `exp(−d (2n + d)/2)`, for `n` of at least 1.
pub(crate) fn moments_beyond(n: f64, width: f64) -> (f64, f64) {
    // In units of 1/n the density falls off as e^−t or faster.
    const LIMITS: [f64; 6] = [0.0, 2.0, 6.0, 14.0, 30.0, 50.0];
    let most = width * n;
    let average = |f: &dyn Fn(f64) -> f64| -> f64 {
        let weighted = |t: f64| f(t) * (-t * (1.0 + 0.5 * (t / n) / n)).exp();
        let panel = |ends: &[f64]| fixed(ends[0].min(most), ends[1].min(most), weighted);
        LIMITS.windows(2).map(panel).sum()
    };
    let total = average(&|_| 1.0);
    let mean = average(&|t| t) / total;
    let variance = average(&|t| (t - mean).powi(2)) / total;
    (mean / n, variance / n / n)
}

/// True if `exp(−u²/2)` varies so little over the interval that differences of distribution
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

    /// The tail by its asymptotic series, and cut off where it has hardly begun to fall.
    #[test]
    fn what_is_far_out_keeps_its_digits() {
        for n in [1e3, 1e6, 1e10, 1e100, 1e150] {
            let (mean, variance) = moments_beyond(n, 1e3);
            let small = (1.0 / n) / n;
            let expected = [(1.0 - 2.0 * small) / n, (1.0 - 6.0 * small) / n / n];
            assert!((mean / expected[0] - 1.0).abs() < 2e-11, "{n}: {mean}");
            assert!((variance / expected[1] - 1.0).abs() < 1e-10, "{n}: {variance}");
            assert!((mass_beyond(n, 0.0, 7.0) * n - (1.0 - small)).abs() < 4e-12, "{n}");
            let short = 1e-6 / n;
            let (mean, variance) = moments_beyond(n, short);
            assert!((mean / (0.5 * short) - 1.0).abs() < 1e-6 && variance > 0.0, "{n}");
            assert!((mass_beyond(n, 0.0, short) / short - 1.0).abs() < 1e-6, "{n}");
        }
        for (n, from, to) in [(3.0, 0.0, 1.0), (11.0, 0.2, f64::INFINITY)] {
            let shifted = shifted_normal_mass(n + from, n + to, n);
            assert!((mass_beyond(n, from, to) / shifted - 1.0).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn interval_masses_agree_with_adaptive_quadrature() {
        use crate::numeric::quadrature::{Estimate, integrate};
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

    /// By mpmath with 30 digits, on either side of where the formula changes.
    #[test]
    fn masses_and_means_of_the_normal_law_have_their_digits() {
        for (n, from, to, known) in [
            (0.3, 0.0, 0.2, 0.192_851_045_847_513_3),
            (0.3, 0.5, 3.0, 0.554_217_953_150_344_3),
            (2.0, 0.0, 0.5, 0.306_356_186_795_856_5),
            (2.0, 0.0, 40.0, 0.421_369_229_288_054_5),
            (0.0, 1.0, 2.5, 0.382_124_422_741_765_3),
            (7.0, 0.01, 0.06, 0.039_309_096_123_557_84),
        ] {
            let found = mass_beyond(n, from, to);
            assert!((found / known - 1.0).abs() < 2e-15, "{n}: {found}, {known}");
        }
        for (from, to, known) in [
            (-0.5, 0.25, 0.451_397_521_096_365_5),
            (-3.0, -2.5, 0.003_243_965_724_160_952),
            (-1.0, 3.0, 0.729_266_670_932_340_4),
            (0.0, 0.875, 0.664_199_010_549_901_7),
            (2.0, 4.0, 0.995_758_221_320_801_4),
        ] {
            let found = mean_normal_cdf(from, to);
            assert!((found / known - 1.0).abs() < 1e-14, "{from} to {to}: {found}, {known}");
        }
    }

    /// A short piece is its width times the height in its middle, and a long one is the sum of short ones.
    #[test]
    fn masses_beyond_are_exact_for_all_widths() {
        for (n, from) in [(0.5, 0.0), (1.0, 3.0), (6.0, 0.25_f64)] {
            let (width, middle): (f64, f64) = (1e-9, from + 0.5e-9);
            let known = width * (-0.5 * middle * (2.0 * n + middle)).exp();
            // The width itself is rounded.
            let rounded = (from + width - from) / width;
            let found = mass_beyond(n, from, from + width);
            assert!((found / known / rounded - 1.0).abs() < 1e-12, "{n} {from}: {found}, {known}");
            let pieces = (0..640).map(|k| from + f64::from(k) / 64.0);
            let sum: f64 = pieces.map(|at| mass_beyond(n, at, at + 1.0 / 64.0)).sum();
            let whole = mass_beyond(n, from, from + 10.0);
            assert!((whole / sum - 1.0).abs() < 2e-13, "{n} {from}: {whole}, {sum}");
        }
        // e^−nd/n, where the width is small and its product with n is not.
        let found = mass_beyond(1e6, 0.0, 9e-4);
        assert!((found * 1e6 - 1.0).abs() < 2e-12, "{found}");
    }
}
