//! The third side of a triangle, and its means over the angle and over a length, in closed form.

use std::f64::consts::PI;

/// The angle between the sides: x3 − x4, seen from where they are opposite.
pub(crate) struct Opening {
    /// cos² of half the angle; 0 where the sides are opposite.
    pub(crate) half_cosine2: f64,
    pub(crate) cosine: f64,
    pub(crate) sine: f64,
}

impl Opening {
    pub(crate) fn of(angle: f64) -> Self {
        let (sine, cosine) = angle.sin_cos();
        Self { half_cosine2: (0.5 * angle).cos().powi(2), cosine, sine }
    }
}

/// Length of the third side, without cancellation where it is short.
pub(crate) fn third(x1: f64, x2: f64, opening: &Opening) -> f64 {
    (x1 - x2).hypot(2.0 * (x1 * x2 * opening.half_cosine2).sqrt())
}

/// The mean of f over the angle, and its derivative along the first length.
pub(crate) struct MeanOverAngle {
    pub(crate) value: f64,
    pub(crate) per_first: f64,
}

/// The circumference of an ellipse by the arithmetic-geometric mean: with a = x1 + x2, b = |x1 − x2|
/// the mean of f is ((a² + b²)/2 − Σ 2^(n−1) c_n²) / agm(a, b), and that of 1/f is 1 / agm(a, b)
/// (NIST Handbook, 19.8).
pub(crate) fn mean_over_angle(x1: f64, x2: f64) -> MeanOverAngle {
    let (sum, difference) = (x1 + x2, (x1 - x2).abs());
    if difference < 1e-300 {
        let value = 2.0 * sum / PI;
        return MeanOverAngle { value, per_first: 0.5 * value / x1 };
    }
    let (mut a, mut b) = (sum, difference);
    let (mut total, mut factor) = (0.5 * (a * a + b * b), 1.0);
    loop {
        let c = 0.5 * (a - b);
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
        total -= factor * c * c;
        factor *= 2.0;
        if c <= 1e-9 * a {
            break;
        }
    }
    let value = total / a;
    // f ∂₁f = x1 + x2 cos δ = (f² + x1² − x2²) / (2 x1).
    MeanOverAngle { value, per_first: 0.5 * (value + (x1 - x2) * sum / a) / x1 }
}

/// The mean of f over the other length, and its derivatives.
pub(crate) struct MeanOverLength {
    pub(crate) value: f64,
    pub(crate) per_length: f64,
    pub(crate) per_angle: f64,
    /// Size of what the value is the sum of.
    pub(crate) size: f64,
}

/// The mean over a log-uniform t of R = √(x² + t² + 2xt cos δ), from ∫ R/t dt = R + b ln(t + b + R)
/// − x ln((x + t cos δ + R) / t) with b = x cos δ.
pub(crate) fn mean_between(x: f64, opening: &Opening, (low, high): (f64, f64)) -> MeanOverLength {
    let [from, to] = [low, high].map(|t| Logarithms::of(x, t, opening));
    let span = (high / low).ln();
    let squeeze = (opening.sine * opening.sine).max(f64::MIN_POSITIVE).ln();
    let near_squeezed = to.near_squeezed - from.near_squeezed;
    let far_squeezed = to.far_squeezed - from.far_squeezed;
    let near = to.near - from.near;
    let far = to.far - from.far;
    // Where ln sin² is in both, it has the factor 1 + cos δ in all, which vanishes with it.
    let squeezed = if (near_squeezed, far_squeezed) == (-1.0, 1.0) {
        -2.0 * opening.half_cosine2 * squeeze
    } else {
        (opening.cosine * near_squeezed - far_squeezed) * squeeze
    };
    let logarithms = opening.cosine * near - far + squeezed;
    let value = to.side - from.side + x * logarithms;
    let of_logarithms = from.size() + to.size() + squeezed.abs();
    MeanOverLength {
        size: (to.side + from.side + x * of_logarithms) / span,
        value: value / span,
        per_length: logarithms / span,
        per_angle: -x * opening.sine * (near + near_squeezed * squeeze) / span,
    }
}

/// ln(t + b + R) and ln((x + t cos δ + R)/t), less how often ln sin² δ is in them.
struct Logarithms {
    side: f64,
    near: f64,
    near_squeezed: f64,
    far: f64,
    far_squeezed: f64,
}

impl Logarithms {
    fn size(&self) -> f64 {
        self.near.abs() + self.far.abs()
    }

    fn of(x: f64, t: f64, opening: &Opening) -> Self {
        let side = third(x, t, opening);
        // u + √(u² + v² sin²): where u < 0, in the form that does not cancel.
        let split = |u: f64, v: f64| {
            if u >= 0.0 { ((u + side).ln(), 0.0) } else { ((v * v / (side - u)).ln(), 1.0) }
        };
        let (near, near_squeezed) = split(t - x + 2.0 * x * opening.half_cosine2, x);
        let (far, far_squeezed) = split(x - t + 2.0 * t * opening.half_cosine2, t);
        Self { side, near, near_squeezed, far: far - t.ln(), far_squeezed }
    }
}
