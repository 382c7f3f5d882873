//! Means over a turn of roots of a number and a multiple of a cosine: complete elliptic integrals, by the
//! arithmetic-geometric mean.

/// Relative distance of the two means at which the next step is rounding.
const NEAR: f64 = 1e-9;

/// Means over the angle t, all round, of what is made of a + b cos t, where a ≥ |b|.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OverTurn {
    /// Of its root.
    pub(crate) root: f64,
    /// Of the inverse of the root.
    pub(crate) inverse: f64,
    /// Of cos t times that.
    pub(crate) leaning: f64,
}

impl OverTurn {
    /// With M the arithmetic-geometric mean of √(a + |b|) and √(a − |b|), and Σ the sum of 2^(n−1) c_n² of its steps from
    /// n = 1: the mean of the inverse is 1/M, that of the root (a − Σ)/M (NIST Handbook, 19.8). Steps are taken by
    /// c_{n+1} = c_n²/(4 a_{n+1}), in which nothing cancels.
    pub(crate) fn of(a: f64, b: f64) -> Self {
        let (size, far, near) = (b.abs(), a + b.abs(), (a - b.abs()).max(0.0));
        if near == 0.0 {
            let root = 2.0 / std::f64::consts::PI * far.sqrt();
            let leaning = if b > 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
            return Self { root, inverse: f64::INFINITY, leaning };
        }
        let (mut large, mut small) = (far.sqrt(), near.sqrt());
        let mut step = size / (large + small);
        let (mut sum, mut factor) = (0.0, 1.0);
        loop {
            (large, small) = (0.5 * (large + small), (large * small).sqrt());
            sum += factor * step * step;
            if step <= NEAR * large {
                break;
            }
            factor *= 2.0;
            // The next large one is the mean of these two.
            step = step * step / (2.0 * (large + small));
        }
        let leaning = if size > 0.0 { -sum / (b * large) } else { 0.0 };
        Self { root: (a - sum) / large, inverse: 1.0 / large, leaning }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::{Estimate, integrate};

    #[test]
    fn means_over_a_turn_are_integrals() {
        for (a, b) in [(2.0, 1.5), (2.0, -1.5), (1.0, 0.999_999), (3.0, 1e-9), (5.0, 0.0)] {
            let found = OverTurn::of(a, b);
            let mean = |f: &dyn Fn(f64, f64) -> f64| {
                let at = |t: f64| [Estimate::exact(f((a + b * t.cos()).sqrt(), t.cos()))];
                integrate(&[0.0, std::f64::consts::PI], 0.0, at)[0]
                    .times(1.0 / std::f64::consts::PI)
            };
            let known = [mean(&|r, _| r), mean(&|r, _| 1.0 / r), mean(&|r, c| c / r)];
            for (found, known) in [found.root, found.inverse, found.leaning].into_iter().zip(known)
            {
                let off = (found - known.value).abs();
                assert!(
                    off <= known.error + 1e-14 * known.magnitude,
                    "{a}, {b}: {found}, {known:?}"
                );
            }
        }
    }

    /// b/(−4 a^{3/2}) to first order: what is small is as accurate as what is not.
    #[test]
    fn means_that_lean_little_are_accurate() {
        let found = OverTurn::of(4.0, 1e-12).leaning;
        assert!((found / (-1e-12 / 32.0) - 1.0).abs() < 1e-11, "{found:e}");
    }

    #[test]
    fn a_root_that_touches_0_has_a_mean() {
        let touching = OverTurn::of(1.0, -1.0);
        let near = OverTurn::of(1.0, -1.0 + 1e-14);
        assert!((touching.root - near.root).abs() < 1e-12, "{touching:?}, {near:?}");
        assert_eq!((touching.inverse, touching.leaning), (f64::INFINITY, f64::INFINITY));
    }
}
