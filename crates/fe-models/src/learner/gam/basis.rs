//! Cubic B-splines of a feature.

/// Cubic B-splines on pieces of equal width from `lo` to `hi`, continued by straight lines (Eilers and
/// Marx 1996).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Basis {
    lo: f64,
    /// Width of the range, 1 where it has none.
    width: f64,
    splines: usize,
}

/// The four splines that are not 0 at a point: the number of the first, and their values.
pub(super) type Four = (usize, [f64; 4]);

impl Basis {
    /// Of at least four splines over the range of some values.
    pub(super) fn over(values: &[f64], splines: usize) -> Self {
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { lo, width: if hi > lo { hi - lo } else { 1.0 }, splines }
    }

    /// Number of splines.
    pub(super) fn len(&self) -> usize {
        self.splines
    }

    /// The ends of the pieces.
    pub(super) fn knots(&self) -> Vec<f64> {
        let pieces = self.splines - 3;
        (0..=pieces).map(|k| self.lo + self.width * (k as f64 / self.pieces())).collect()
    }

    /// Their values at a point.
    pub(super) fn at(&self, x: f64) -> Four {
        let (piece, t, beyond) = self.place(x);
        let mut values = values(t);
        if beyond != 0.0 {
            values.iter_mut().zip(slopes(t)).for_each(|(value, slope)| *value += beyond * slope);
        }
        (piece, values)
    }

    /// Their derivatives with respect to x at a point.
    pub(super) fn slope_at(&self, x: f64) -> Four {
        let (piece, t, _) = self.place(x);
        (piece, slopes(t).map(|slope| slope * self.pieces() / self.width))
    }

    /// Number of a piece, the place in it from 0 to 1, and how many pieces x lies beyond that.
    fn place(&self, x: f64) -> (usize, f64, f64) {
        let u = (x - self.lo) / self.width * self.pieces();
        let inside = u.clamp(0.0, self.pieces());
        // What is not negative is cut off by the conversion, without a call of `floor`.
        let piece = (inside as usize).min(self.splines - 4);
        (piece, inside - piece as f64, u - inside)
    }

    fn pieces(&self) -> f64 {
        (self.splines - 3) as f64
    }
}

/// The four splines at a place of a piece.
fn values(t: f64) -> [f64; 4] {
    let s = 1.0 - t;
    [
        s * s * s / 6.0,
        (4.0 - 3.0 * t * t * (1.0 + s)) / 6.0,
        (4.0 - 3.0 * s * s * (1.0 + t)) / 6.0,
        t * t * t / 6.0,
    ]
}

/// Their derivatives there.
fn slopes(t: f64) -> [f64; 4] {
    let s = 1.0 - t;
    [-s * s / 2.0, t * (1.5 * t - 2.0), s * (2.0 - 1.5 * s), t * t / 2.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(basis: &Basis, x: f64, coefficient: impl Fn(usize) -> f64) -> (f64, f64) {
        let total = |(first, four): Four| {
            four.iter().enumerate().map(|(i, b)| b * coefficient(first + i)).sum()
        };
        (total(basis.at(x)), total(basis.slope_at(x)))
    }

    #[test]
    fn equal_coefficients_are_a_constant_and_rising_ones_a_line() {
        let basis = Basis::over(&[3.0, -1.0, 0.5], 9);
        for x in [-4.0, -1.0, -0.2, 0.5, 1.0 / 3.0, 2.999, 3.0, 7.0] {
            let (value, slope) = sum(&basis, x, |_| 2.0);
            assert!((value - 2.0).abs() < 1e-14 && slope.abs() < 1e-14, "{x}");
            // Coefficient i belongs to the knot i − 1 pieces from the lower end.
            let (value, slope) = sum(&basis, x, |i| -1.0 + (i as f64 - 1.0) * 4.0 / 6.0);
            assert!((value - x).abs() < 1e-13 && (slope - 1.0).abs() < 1e-13, "{x}: {value}");
        }
    }

    #[test]
    fn slopes_are_derivatives() {
        let basis = Basis::over(&[0.0, 2.0], 7);
        let wild = |i: usize| (i as f64 * 2.3).sin();
        for x in [-1.0, 0.3, 0.9999, 1.4, 2.5] {
            let step = 1e-5;
            let difference = sum(&basis, x + step, wild).0 - sum(&basis, x - step, wild).0;
            assert!((difference / (2.0 * step) - sum(&basis, x, wild).1).abs() < 1e-8, "{x}");
        }
    }
}
