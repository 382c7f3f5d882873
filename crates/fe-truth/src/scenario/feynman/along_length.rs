//! Spreads of local effects along a length, given the other one and the angle.

use std::f64::consts::PI;

use super::background::{Background, over_angle_and_length, over_length};
use super::length::{
    Ends, INNER, Length, Lengths, TOLERANCE, mean_and_variance, side, with_square,
};
use super::means::OF_SHAPLEY;
use super::turn::{Even, Turn, is_whole, opening};
use crate::engine::watch::spend;
use crate::numeric::quadrature::Estimate;
use crate::numeric::triangle::{Opening, mean_between, mean_over_angle, third};

/// Evaluations that integrals over the other length and the angle take, about, that of a Shapley value more of them: many are
/// worth several threads.
const COST_OF_A_BOX: f64 = 2e4;
const COST_OF_SHAPLEY: f64 = 1e5;

/// Criteria along a length, given the other one and the angle.
pub(super) struct AlongLength {
    pub(super) other: Length,
    pub(super) turn: Turn,
}

impl AlongLength {
    /// The mean of the side over an axis of the length, from ∫ R dx = ½ (x + b) R + ½ (x2 sin δ)² ln(x + b + R).
    pub(super) fn over_axis(x2: f64, opening: &Opening, (lo, hi): Ends) -> Estimate {
        let height = (x2 * opening.sine).powi(2);
        let end = |u: f64| {
            let side = third(u, x2, opening);
            let ahead = u - x2 + 2.0 * x2 * opening.half_cosine2;
            let sum = if ahead >= 0.0 { ahead + side } else { height / (side - ahead) };
            let [own, other] = [ahead * side, if height > 0.0 { height * sum.ln() } else { 0.0 }];
            (own + other, own.abs() + other.abs())
        };
        let ((from, small), (to, large)) = (end(lo), end(hi));
        let scale = 0.5 / (hi - lo);
        Estimate::of_size(scale * (to - from), scale * (small + large))
    }

    /// Places of the length at which means over the other one are not smooth.
    fn places(&self) -> [f64; 2] {
        [self.other.from, self.other.to]
    }

    /// The integral over an axis of functions of the length.
    fn integral<const M: usize>(
        &self,
        (lo, hi): Ends,
        mut f: impl FnMut(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let length = Length::new((lo, hi));
        let span = length.span();
        length.mean(TOLERANCE, &self.places(), |x| f(x).map(|value| value.times(x * span)))
    }

    /// The mean over the box of functions of the other length that are made for an angle, by its distance from π.
    fn over_box<const M: usize, F: FnMut(f64) -> [Estimate; M]>(
        &self,
        places: &[f64],
        mut given: impl FnMut(f64) -> F,
    ) -> [Estimate; M] {
        spend(COST_OF_A_BOX);
        self.turn.mean(TOLERANCE, |distance| self.other.mean(INNER, places, given(distance)))
    }

    fn mean_cosine(&self) -> Estimate {
        self.turn.mean(INNER, |distance| [Estimate::exact(-distance.cos())])[0]
    }

    /// The mean square of the side over the box and a length with such moments.
    fn mean_square(&self, mean: f64, square: f64) -> Estimate {
        let cross = self.mean_cosine().times(2.0 * mean * self.other.moment(1));
        cross.plus(Estimate::exact(square + self.other.moment(2)))
    }

    /// The integral over the axis of the variance of curves less their means over it.
    pub(super) fn centred(&self, axis: Ends) -> Estimate {
        let (lo, hi) = axis;
        let width = hi - lo;
        let all = self.mean_square(0.5 * (lo + hi), (hi * hi + hi * lo + lo * lo) / 3.0);
        let centre = Self::over_axis(self.other.middle(), &opening(0.5 * PI), axis).value;
        let of_axis = self.over_box(&[lo, hi], |distance| {
            let opening = opening(distance);
            move |x2| with_square(Self::over_axis(x2, &opening, axis), centre)
        });
        let [mean, of_axis] = mean_and_variance(of_axis, centre);
        let of_box = self.integral(axis, |x| with_square(self.mean_side(x), mean.value));
        let of_box = mean_and_variance(of_box.map(|total| total.times(1.0 / width)), mean.value)[1];
        all.minus(mean.product(mean)).minus(of_axis).minus(of_box).times(width)
    }

    /// The variance at a value of curves less their means over an axis.
    pub(super) fn centred_at(&self, x: f64, axis: Ends) -> Estimate {
        let (lo, hi) = axis;
        let [_, variance] = self.moments(&[lo, hi, x], |distance| {
            let opening = opening(distance);
            move |x2| {
                let side = Estimate::exact(third(x, x2, &opening));
                side.minus(Self::over_axis(x2, &opening, axis))
            }
        });
        variance
    }

    /// The mean of the side at a value.
    pub(super) fn mean_side(&self, x: f64) -> Estimate {
        self.turn.mean(INNER, |distance| [over_length(x, &opening(distance), self.other)])[0]
    }

    /// The mean slope at a value.
    pub(super) fn mean_slope(&self, x: f64) -> Estimate {
        self.turn.mean(INNER, |distance| [self.slope_over_other(x, &opening(distance))])[0]
    }

    /// The mean slope over the other length.
    fn slope_over_other(&self, x: f64, opening: &Opening) -> Estimate {
        let mean = mean_between(x, opening, self.other.ends());
        Estimate::of_size(mean.per_length, mean.size / x)
    }

    /// The variance of slopes at a value. The slope is the cosine of an angle of the triangle, whose sine has the mean square
    /// (sin δ / ln(b/a)) [sin δ ln R − cos δ atan((t + x cos δ) / (x sin δ))] over the other length t from a to b.
    pub(super) fn variance_of_slope(&self, x: f64) -> Estimate {
        let (a, b, span) = (self.other.from, self.other.to, self.other.span());
        let [sine2, slope] = self.turn.mean(INNER, |distance| {
            let opening = opening(distance);
            let height = x * opening.sine;
            let [near, far] = [a, b].map(|t| t - x + 2.0 * x * opening.half_cosine2);
            let between = (height * (b - a)).atan2(height * height + near * far);
            let logarithm = (third(x, b, &opening) / third(x, a, &opening)).ln();
            let [from_log, from_angle] = [opening.sine * logarithm, -opening.cosine * between]
                .map(|p| p * opening.sine / span);
            let sine2 = Estimate::of_size(from_log + from_angle, from_log.abs() + from_angle.abs());
            [sine2, self.slope_over_other(x, &opening)]
        });
        Estimate::exact(1.0).minus(sine2).minus(slope.product(slope))
    }

    /// The integral over the axis of the variance of slopes, or of its root.
    pub(super) fn slope(&self, axis: Ends, of: impl Fn(Estimate) -> Estimate) -> Estimate {
        self.integral(axis, |x| [of(self.variance_of_slope(x))])[0]
    }

    /// The variance of differences between two values.
    pub(super) fn difference(&self, lo: f64, hi: f64) -> Estimate {
        let difference = |x2: f64, opening: &Opening| {
            let [from, to] = [lo, hi].map(|x| {
                let apart = x - x2;
                (apart * apart + 4.0 * x * x2 * opening.half_cosine2).sqrt()
            });
            Estimate::of_size(to - from, to + from)
        };
        let centre = difference(self.other.middle(), &opening(0.5 * PI)).value;
        let moments = self.over_box(&[lo, hi], |distance| {
            let opening = opening(distance);
            move |x2| with_square(difference(x2, &opening), centre)
        });
        mean_and_variance(moments, centre)[1]
    }

    /// The mean variance of Shapley values. Less what the box does not change they are a − b, with a = ¼ E[f | lengths] +
    /// ⅟₁₂ E[f | first, angles] + ¼ f and b its mean over the first length.
    pub(super) fn shapley(&self, whole: &Background, s: usize) -> Estimate {
        let own = whole.lengths.0[s];
        let [mean, of_b] = self.shapley_without(whole, s);
        let [of_curve, products] = self.shapley_along(whole, s, mean.value);
        let of_ratio = Lengths([own, self.other]).mean(2, |v| {
            let mean = mean_over_angle(1.0, v.exp()).value;
            let side = self.turn.mean(INNER, |d| [Estimate::exact(side(v, &opening(d)))])[0];
            [Estimate::exact(mean * mean / 16.0).plus(side.times(mean / 8.0))]
        })[0];
        let of_side = self.mean_square(own.moment(1), own.moment(2)).times(1.0 / 16.0);
        let of_a = Estimate::sum([products, of_ratio, of_side]);
        of_a.minus(mean.product(mean)).minus(of_b).minus(of_curve)
    }

    /// b at a distance from π, as a function of the other length.
    fn without(whole: &Background, s: usize, distance: f64) -> impl Fn(f64) -> Estimate {
        let (opening, given_angles) = (opening(distance), whole.given_angles(distance));
        move |x2| {
            let given_both = over_length(x2, &opening, whole.lengths.0[s]);
            let given_length = whole.given_length(1 - s, x2);
            given_length.plus(given_both).times(0.25).plus(given_angles.times(1.0 / 12.0))
        }
    }

    /// Mean and variance over the box of functions of the other length that are made for a distance from π.
    fn moments<F: Fn(f64) -> Estimate>(
        &self,
        places: &[f64],
        given: impl Fn(f64) -> F,
    ) -> [Estimate; 2] {
        let centre = given(0.5 * PI)(self.other.middle()).value;
        let moments = self.over_box(places, |distance| {
            let given = given(distance);
            move |x2| with_square(given(x2), centre)
        });
        mean_and_variance(moments, centre)
    }

    /// Mean and variance over the box of b.
    fn shapley_without(&self, whole: &Background, s: usize) -> [Estimate; 2] {
        let own = whole.lengths.0[s];
        self.moments(&[own.from, own.to], |distance| Self::without(whole, s, distance))
    }

    /// The variance of Shapley values at a value of the length.
    pub(super) fn shapley_at(&self, whole: &Background, s: usize, x: f64) -> Estimate {
        let [own, beyond] = [s, 1 - s].map(|side| whole.lengths.0[side]);
        let values = |distance: f64| {
            let (opening, without) = (opening(distance), Self::without(whole, s, distance));
            let given_angles = over_length(x, &opening, beyond).times(1.0 / 12.0);
            move |x2: f64| {
                let given_lengths = Estimate::exact(mean_over_angle(x, x2).value);
                let side = Estimate::exact(third(x, x2, &opening));
                let with = given_lengths.plus(side).times(0.25).plus(given_angles);
                with.minus(without(x2))
            }
        };
        self.moments(&[own.from, own.to, x], values)[1]
    }

    /// The variance of Shapley values at a value of the length where the background has the law of the rows: in the shares
    /// [`OF_SHAPLEY`], of means of f less its mean over the length. That mean given nothing but the angles is a curve.
    pub(super) fn shapley_of_rows(
        &self,
        own: Length,
        windows: [Ends; 2],
        given_angles: &Even,
        x: f64,
    ) -> Estimate {
        spend(COST_OF_SHAPLEY);
        let of_angles =
            |way: f64| over_length(x, &opening(way), self.other).minus(given_angles.at(PI + way));
        let centre = Estimate::exact(of_angles(0.5 * PI).value);
        let [none, first, second, both] =
            squares(windows, &self.turn, |way| of_angles(way).minus(centre));
        let with_length = self.other.mean(TOLERANCE, &[own.from, own.to, x], |x2| {
            squares(windows, &self.turn, |way| {
                let opening = opening(way);
                let side = Estimate::exact(third(x, x2, &opening));
                side.minus(over_length(x2, &opening, own)).minus(centre)
            })
        });
        let given = [
            with_length[3],
            Estimate::sum([with_length[1], with_length[2], both]),
            Estimate::sum([with_length[0], first, second]),
            none,
        ];
        Estimate::sum(given.into_iter().zip(OF_SHAPLEY).map(|(square, share)| square.times(share)))
    }

    /// The variance along the length of the mean of a over the box, which has a mean itself; and of the mean square of a the
    /// parts that hold E[f | first, angles].
    fn shapley_along(&self, whole: &Background, s: usize, mean: f64) -> [Estimate; 2] {
        let (own, beyond) = (whole.lengths.0[s], whole.lengths.0[1 - s]);
        let places = [self.other.from, self.other.to, beyond.from, beyond.to];
        let [curve, square, products] = own.mean(TOLERANCE, &places, |x| {
            let given_own = over_angle_and_length(x, self.other);
            let [given_angles, given_all, square, product] = self.turn.mean(INNER, |distance| {
                let opening = opening(distance);
                let [wide, here] = [beyond, self.other].map(|l| over_length(x, &opening, l));
                [wide, here, wide.product(wide), wide.product(here)]
            });
            let curve = given_own.plus(given_all).times(0.25).plus(given_angles.times(1.0 / 12.0));
            let [curve, square_of_curve] = with_square(curve, mean);
            let cross = given_own.product(given_angles).plus(product).times(1.0 / 24.0);
            [curve, square_of_curve, cross.plus(square.times(1.0 / 144.0))]
        });
        [mean_and_variance([curve, square], mean)[1], products]
    }
}

/// Of a function of the difference of two angles that are uniform on windows the mean squares of its means given neither, the
/// first, the second and both.
fn squares(windows: [Ends; 2], turn: &Turn, f: impl Fn(f64) -> Estimate) -> [Estimate; 4] {
    let even = Even::of(PI, f);
    let [both, mean] = turn.mean(INNER, |distance| {
        let value = even.at(PI - distance);
        [value.product(value), value]
    });
    let neither = mean.product(mean);
    let given = |own: Ends, other: Ends| {
        if is_whole(other) { neither } else { even.mean_square_over(other, own) }
    };
    let [first, second] = windows;
    [neither, given(first, second), given(second, first), both]
}
