//! Means over the background of Shapley values.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::length::{INNER, Length, Lengths, MOST_RATIO, ROUNDING, side};
use super::turn::{Turn, opening};
use crate::numeric::quadrature::{Estimate, Piecewise};
use crate::numeric::triangle::{Opening, mean_between, mean_over_angle};

/// The mean of the side over a length, from its antiderivative.
pub(super) fn over_length(x: f64, opening: &Opening, length: Length) -> Estimate {
    let mean = mean_between(x, opening, length.ends());
    Estimate::of_size(mean.value, mean.size)
}

/// The integral over v = ln(x2 / x1) of the mean over the angle for a first length of 1, by the third root of v, at which it has
/// a cusp.
pub(super) fn over_ratio() -> &'static Piecewise {
    static INTEGRAL: OnceLock<Piecewise> = OnceLock::new();
    INTEGRAL.get_or_init(|| {
        let end = MOST_RATIO.cbrt();
        Piecewise::of(&[-end, -0.5 * end, 0.0, 0.5 * end, end], |root| {
            let mean = mean_over_angle(1.0, root.powi(3).exp()).value;
            Estimate::exact(3.0 * root * root * mean)
        })
    })
}

/// The mean of the side over the angle and a length.
pub(super) fn over_angle_and_length(x: f64, length: Length) -> Estimate {
    let ends = [length.from, length.to].map(|t| ((t - x) / x).ln_1p().cbrt());
    let [from, to] = ends.map(|root| over_ratio().integral_to(root));
    let rounding = ROUNDING * from.magnitude.max(to.magnitude);
    let (value, error) = (to.value - from.value, (to.error - from.error).abs() + rounding);
    Estimate { value, magnitude: to.magnitude, error, simulated: false }.times(x / length.span())
}

/// The background of Shapley values: a box of lengths, and whole turns of the angles.
pub(super) struct Background {
    pub(super) lengths: Lengths,
    /// The mean given the angles, by the third root of the distance from π.
    given_angles: Piecewise,
}

impl Background {
    pub(super) fn new(lengths: Lengths) -> Self {
        let given_angles = Piecewise::of(&[0.0, 0.5, 1.0], |root| {
            let opening = opening(PI * root * root * root);
            lengths.mean(1, |v| [Estimate::exact(side(v, &opening))])[0]
        });
        Self { lengths, given_angles }
    }

    /// The mean given one of the lengths.
    pub(super) fn given_length(&self, s: usize, x: f64) -> Estimate {
        over_angle_and_length(x, self.lengths.0[1 - s])
    }

    pub(super) fn given_angles(&self, distance: f64) -> Estimate {
        self.given_angles.at_own((distance / PI).cbrt().min(1.0))
    }

    /// The mean of all.
    pub(super) fn mean(&self) -> Estimate {
        Turn::whole().mean(INNER, |distance| [self.given_angles(distance)])[0]
    }
}
