//! Heterogeneity of the third side in a box of lengths and angles: the criterion of regions, by integrals of two dimensions at
//! most.
//!
//! The features are independent. Of local curves h over x_s, with r in the box, the mean over x_s of the variance over r is
//! E_r Q − E_s A², where Q(r) is the mean square along x_s and A(x_s) the mean over the box. Along a length Q is elementary;
//! along an angle whose whole turn is averaged over, it is one of the lengths alone, and A is an even function of the angle
//! averaged over a window. The side is homogeneous: over a box of lengths what depends on their ratio alone, times a power of
//! the first, is an integral over the ratio.

use std::array::from_fn;
use std::collections::HashMap;
use std::f64::consts::{PI, TAU};
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use super::closed_forms::Spread;
use crate::engine::watch::spend;
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::{
    Estimate, Piecewise, integrate_between_cusps, integrate_to, within,
};
use crate::numeric::triangle::{Opening, mean_between, mean_over_angle, third};
use crate::quantity::Quantity;

/// Error of a panel that is accepted, relative to the integral of the magnitude: of outer and of inner integrals.
const TOLERANCE: f64 = 1e-12;
const INNER: f64 = 1e-13;

/// Evaluations that an integral over the other length and the angle takes, about: many are worth several threads.
const COST_OF_A_BOX: f64 = 2e4;

/// Largest ln(x2 / x1), and a little more.
const MOST_RATIO: f64 = 4.61;

/// Rounding of a few numbers that are taken from each other.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// An interval.
type Ends = (f64, f64);

/// A length that is log-uniform on an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Length {
    from: f64,
    to: f64,
}

impl Length {
    fn new((from, to): Ends) -> Self {
        Self { from, to }
    }

    fn ends(self) -> Ends {
        (self.from, self.to)
    }

    /// ln of the ratio of its ends.
    fn span(self) -> f64 {
        ((self.to - self.from) / self.from).ln_1p()
    }

    /// The mean of a power.
    fn moment(self, power: i32) -> f64 {
        let exponent = f64::from(power) * self.span();
        self.from.powi(power) * exponent.exp_m1() / exponent
    }

    fn middle(self) -> f64 {
        (self.from * self.to).sqrt()
    }

    /// The mean of functions that are smooth but at its ends and some places.
    fn mean<const M: usize>(
        self,
        tolerance: f64,
        places: &[f64],
        mut f: impl FnMut(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let places: Vec<f64> = places.iter().map(|place| (place / self.from).ln()).collect();
        let span = self.span();
        let points = within(&places, 0.0, span);
        let total = integrate_between_cusps(tolerance, &points, 0.0, |u| f(self.from * u.exp()));
        total.map(|total| total.times(1.0 / span))
    }

    /// The same of a function of one value.
    fn mean_of(self, places: &[f64], mut f: impl FnMut(f64) -> Estimate) -> Estimate {
        self.mean(TOLERANCE, places, |x| [f(x)])[0]
    }
}

/// A box of two lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lengths([Length; 2]);

impl Lengths {
    fn new(ends: [Ends; 2]) -> Self {
        Self(ends.map(Length::new))
    }

    fn bits(self) -> [u64; 4] {
        let [a, b] = self.0.map(|length| [length.from, length.to].map(f64::to_bits));
        [a[0], a[1], b[0], b[1]]
    }

    /// The mean of functions of v = ln(x2 / x1), times a power of x1; they are smooth but at 0.
    fn mean<const M: usize>(
        self,
        power: i32,
        mut f: impl FnMut(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let Self([first, second]) = self;
        let apart = |to: f64, from: f64| ((to - from) / from).ln_1p();
        let [lows, highs] = [(second.from, first.from), (second.to, first.to)];
        let (low, high) = (apart(lows.0, lows.1), apart(highs.0, highs.1));
        let ends = (apart(second.from, first.to), apart(second.to, first.from));
        let (power, scale) = (f64::from(power), 1.0 / (first.span() * second.span()));
        let weight = |v: f64| {
            // x1 from the larger of two ends to the smaller of two others.
            let from = if v < low { second.from * (-v).exp() } else { first.from };
            let room = (high - v).min(0.0) + first.span() - (low - v).max(0.0);
            scale * from.powf(power) * (power * room).exp_m1().max(0.0) / power
        };
        let points = within(&[low, high, 0.0], ends.0, ends.1);
        let total = integrate_between_cusps(INNER, &points, 0.0, |v| {
            let weight = weight(v);
            f(v).map(|value| value.times(weight))
        });
        let rounding = ROUNDING * MOST_RATIO / first.span().min(second.span());
        total.map(|total| total.doubted(rounding))
    }

    /// The mean square of the mean over the angle.
    fn mean_square_over_angle(self) -> Estimate {
        self.mean(2, |v| {
            let mean = mean_over_angle(1.0, v.exp()).value;
            [Estimate::exact(mean * mean)]
        })[0]
    }

    /// The mean square of the side, its angle being uniform on the circle.
    fn mean_square(self) -> Estimate {
        let [first, second] = self.0.map(|length| length.moment(2));
        Estimate::exact(first + second)
    }
}

/// The third side for a first length of 1.
fn side(v: f64, opening: &Opening) -> f64 {
    side_of(v)(opening.half_cosine2)
}

/// The same by the square of the cosine of half the angle.
fn side_of(v: f64) -> impl Fn(f64) -> f64 {
    let (apart, four) = (v.exp_m1(), 4.0 * v.exp());
    move |half_cosine2| (apart * apart + four * half_cosine2).sqrt()
}

/// The law of the difference of two independent angles that are uniform on intervals, as its distance from π on the circle.
struct Turn {
    /// Ends of both intervals; none where one of them is a whole turn.
    intervals: Option<[Ends; 2]>,
    /// Third roots of distances between which the density is linear, as a share of that of π.
    points: Vec<f64>,
    /// Share by which the density may be off: of narrow intervals rounding shows.
    rounding: f64,
}

/// True of a whole turn.
fn is_whole((from, to): Ends) -> bool {
    (to - from - TAU).abs() <= 4.0 * f64::EPSILON * TAU
}

/// Distance of an angle from the odd multiples of π.
fn from_opposite(angle: f64) -> f64 {
    let angle = angle - PI;
    (angle - TAU * (angle / TAU).round()).abs().min(PI)
}

impl Turn {
    fn new([first, second]: [Ends; 2]) -> Self {
        let is_free = is_whole(first) || is_whole(second);
        let knots = [first.0, first.1].into_iter().flat_map(|a| [a - second.0, a - second.1]);
        let roots = |knot: f64| (from_opposite(knot) / PI).cbrt();
        let places: Vec<f64> = match is_free {
            true => vec![0.5],
            false => knots.map(roots).chain([0.5]).collect(),
        };
        let intervals = (!is_free).then_some([first, second]);
        let narrow = (first.1 - first.0).min(second.1 - second.0);
        let rounding = if is_free { 0.0 } else { ROUNDING * TAU / narrow };
        Self { intervals, points: within(&places, 0.0, 1.0), rounding }
    }

    /// The law where one of the angles is free.
    fn whole() -> Self {
        Self::new([(0.0, TAU); 2])
    }

    /// Something that is the same of laws that are.
    fn key(&self) -> [u64; 3] {
        let Some([first, second]) = self.intervals else { return [0; 3] };
        let [a, b] = [first, second].map(|(from, to)| to - from);
        let apart = 0.5 * (first.0 + first.1 - second.0 - second.1);
        [a.min(b), a.max(b), from_opposite(apart)].map(f64::to_bits)
    }

    /// The density at a distance from π, on both sides of which there are angles.
    fn density(&self, distance: f64) -> f64 {
        let Some([(a, b), (c, d)]) = self.intervals else { return 1.0 / PI };
        let (widths, top) = ((b - a, d - c), 1.0 / (b - a).max(d - c));
        let narrow = widths.0.min(widths.1);
        let at = |angle: f64| {
            let room = (angle - (a - d)).min(b - c - angle);
            top * (room / narrow).clamp(0.0, 1.0)
        };
        let turns = [-PI, PI, 3.0 * PI, -3.0 * PI];
        turns.into_iter().map(|odd| at(odd + distance) + at(odd - distance)).sum()
    }

    /// The mean of even functions of the angle, given by its distance from π, at which they may have a cusp.
    fn mean<const M: usize>(
        &self,
        tolerance: f64,
        mut f: impl FnMut(f64) -> [Estimate; M],
    ) -> [Estimate; M] {
        let total = integrate_to(tolerance, &self.points, 0.0, |root| {
            let distance = PI * root * root * root;
            let density = self.density(distance) * 3.0 * PI * root * root;
            match density > 0.0 {
                true => f(distance).map(|value| value.times(density)),
                false => [Estimate::default(); M],
            }
        });
        total.map(|total| total.doubted(self.rounding))
    }
}

/// The opening at a distance from π.
fn opening(distance: f64) -> Opening {
    let (sine, cosine) = distance.sin_cos();
    Opening { half_cosine2: (0.5 * distance).sin().powi(2), cosine: -cosine, sine }
}

/// The mean of the side over a length, from its antiderivative.
fn over_length(x: f64, opening: &Opening, length: Length) -> Estimate {
    let mean = mean_between(x, opening, length.ends());
    Estimate::of_size(mean.value, mean.size)
}

/// The integral over v = ln(x2 / x1) of the mean over the angle for a first length of 1, by the third root of v, at which it has
/// a cusp.
fn over_ratio() -> &'static Piecewise {
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
fn over_angle_and_length(x: f64, length: Length) -> Estimate {
    let ends = [length.from, length.to].map(|t| ((t - x) / x).ln_1p().cbrt());
    let [from, to] = ends.map(|root| over_ratio().integral_to(root));
    let rounding = ROUNDING * from.magnitude.max(to.magnitude);
    let (value, error) = (to.value - from.value, (to.error - from.error).abs() + rounding);
    Estimate { value, magnitude: to.magnitude, error, simulated: false }.times(x / length.span())
}

/// Two moments about a number near the mean, as mean and variance.
fn mean_and_variance([mean, square]: [Estimate; 2], centre: f64) -> [Estimate; 2] {
    let beside = mean.minus(Estimate::exact(centre));
    [mean, square.minus(beside.product(beside))]
}

/// A number with its square about another one.
fn with_square(value: Estimate, centre: f64) -> [Estimate; 2] {
    [value, value.squared_from(centre)]
}

/// Criteria along a length, given the other one and the angle.
struct AlongLength {
    other: Length,
    turn: Turn,
}

impl AlongLength {
    /// The mean of the side over an axis of the length, from ∫ R dx = ½ (x + b) R + ½ (x2 sin δ)² ln(x + b + R).
    fn over_axis(x2: f64, opening: &Opening, (lo, hi): Ends) -> Estimate {
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
    fn centred(&self, axis: Ends) -> Estimate {
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
    fn centred_at(&self, x: f64, axis: Ends) -> Estimate {
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
    fn mean_side(&self, x: f64) -> Estimate {
        self.turn.mean(INNER, |distance| [over_length(x, &opening(distance), self.other)])[0]
    }

    /// The mean slope at a value.
    fn mean_slope(&self, x: f64) -> Estimate {
        self.turn.mean(INNER, |distance| [self.slope_over_other(x, &opening(distance))])[0]
    }

    /// The mean slope over the other length.
    fn slope_over_other(&self, x: f64, opening: &Opening) -> Estimate {
        let mean = mean_between(x, opening, self.other.ends());
        Estimate::of_size(mean.per_length, mean.size / x)
    }

    /// The variance of slopes at a value. The slope is the cosine of an angle of the triangle, whose sine has the mean square
    /// (sin δ / ln(b/a)) [sin δ ln R − cos δ atan((t + x cos δ) / (x sin δ))] over the other length t from a to b.
    fn variance_of_slope(&self, x: f64) -> Estimate {
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
    fn slope(&self, axis: Ends, of: impl Fn(Estimate) -> Estimate) -> Estimate {
        self.integral(axis, |x| [of(self.variance_of_slope(x))])[0]
    }

    /// The variance of differences between two values.
    fn difference(&self, lo: f64, hi: f64) -> Estimate {
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
    fn shapley(&self, whole: &Whole, s: usize) -> Estimate {
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
    fn without(whole: &Whole, s: usize, distance: f64) -> impl Fn(f64) -> Estimate {
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
    fn shapley_without(&self, whole: &Whole, s: usize) -> [Estimate; 2] {
        let own = whole.lengths.0[s];
        self.moments(&[own.from, own.to], |distance| Self::without(whole, s, distance))
    }

    /// The variance of Shapley values at a value of the length.
    fn shapley_at(&self, whole: &Whole, s: usize, x: f64) -> Estimate {
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

    /// The variance along the length of the mean of a over the box, which has a mean itself; and of the mean square of a the
    /// parts that hold E[f | first, angles].
    fn shapley_along(&self, whole: &Whole, s: usize, mean: f64) -> [Estimate; 2] {
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

/// The background of Shapley values: a box of lengths, and whole turns of the angles.
struct Whole {
    lengths: Lengths,
    /// The mean given the angles, by the third root of the distance from π.
    given_angles: Piecewise,
}

impl Whole {
    fn new(lengths: Lengths) -> Self {
        let given_angles = Piecewise::of(&[0.0, 0.5, 1.0], |root| {
            let opening = opening(PI * root * root * root);
            lengths.mean(1, |v| [Estimate::exact(side(v, &opening))])[0]
        });
        Self { lengths, given_angles }
    }

    /// The mean given one of the lengths.
    fn given_length(&self, s: usize, x: f64) -> Estimate {
        over_angle_and_length(x, self.lengths.0[1 - s])
    }

    fn given_angles(&self, distance: f64) -> Estimate {
        self.given_angles.at_own((distance / PI).cbrt().min(1.0))
    }

    /// The mean of all.
    fn mean(&self) -> Estimate {
        Turn::whole().mean(INNER, |distance| [self.given_angles(distance)])[0]
    }
}

/// An even function of an angle, of period 2π, that is smooth between 0 and π but at one place.
struct Even {
    cusp: f64,
    /// Values, and integrals from 0, by the third root of the way from the cusp.
    values: Piecewise,
    integrals: Piecewise,
    /// The integral from 0 to π, with its error.
    half: [f64; 2],
}

impl Even {
    /// Resolves a function of the way from the cusp.
    fn of(cusp: f64, mut f: impl FnMut(f64) -> Estimate) -> Self {
        let ends = ((-cusp).cbrt(), (PI - cusp).max(0.0).cbrt());
        let points = within(&[0.0, 0.5 * (ends.0 + ends.1)], ends.0, ends.1);
        let values = Piecewise::of(&points, |root: f64| f(root * root * root));
        // A series is off evenly: that is no noise, which a series of it would be taken to make larger.
        let integrals = Piecewise::of(&points, |root| {
            let value = values.at_own(root);
            Estimate { error: f64::EPSILON * value.magnitude, ..value }.times(3.0 * root * root)
        });
        let half = integrals.integral_to(ends.1);
        let error = half.error + values.at(0.0).error * PI;
        Self { cusp, values, integrals, half: [half.value, error] }
    }

    /// The place between 0 and π at which it is as at an angle.
    fn root(&self, folded: f64) -> f64 {
        let ends = ((-self.cusp).cbrt(), (PI - self.cusp).max(0.0).cbrt());
        (folded - self.cusp).cbrt().clamp(ends.0, ends.1)
    }

    fn at(&self, angle: f64) -> Estimate {
        self.values.at_own(self.root(PI - from_opposite(angle)))
    }

    /// The integral from 0 with its error, which grows with the angle.
    fn integral_to(&self, angle: f64) -> [f64; 2] {
        let (turns, rest) = ((angle / TAU).floor(), angle.rem_euclid(TAU));
        let way = rest.min(TAU - rest);
        let part = self.integrals.integral_to(self.root(way));
        let off = self.values.at(0.0).error * way;
        let (part, half) = ([part.value, part.error + off], self.half);
        from_fn(|k| {
            let beyond = if rest <= PI { part[k] } else { 2.0 * half[k] - part[k] };
            2.0 * turns * half[k] + beyond
        })
    }

    /// The mean between angles, the first below the second.
    fn mean(&self, from: f64, to: f64) -> Estimate {
        let magnitude = self.values.at(0.0).magnitude;
        let [below, above] = [from, to].map(|angle| self.integral_to(angle));
        let rounding = 4.0 * f64::EPSILON * (TAU * magnitude + below[0].abs() + above[0].abs());
        let (value, error) = (above[0] - below[0], (above[1] - below[1]).abs() + rounding);
        Estimate { value, magnitude: magnitude * (to - from), error, simulated: false }
            .times(1.0 / (to - from))
    }
}

/// Answers by their questions, as they were asked.
struct Known<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Known<K, V> {
    /// Most that are kept.
    const MOST: usize = 4096;

    fn of(&self, key: K, make: impl FnOnce() -> V) -> V {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let made = make();
        let mut kept = lock();
        if kept.len() >= Self::MOST {
            kept.clear();
        }
        kept.insert(key, made.clone());
        made
    }
}

/// Even functions of an angle, of means over a box of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mean {
    /// Of f.
    Side,
    /// Of the square of its slope along the angle.
    Slope2,
    /// Of the square of its difference between two angles so far apart (bits), by the middle of them.
    Difference2(u64),
    /// Of Shapley values of the angle, but for what depends on the lengths alone.
    Shapley,
    /// Of the square of Shapley values of the angle, but for what is the same for all rows.
    Shapley2,
    /// Of the square of f less its mean over the angle.
    Beyond2,
}

/// Criteria along an angle, given the other one, which is uniform on a window, and lengths.
struct AlongAngle<'a> {
    lengths: Lengths,
    window: Ends,
    boxes: &'a Boxes,
    whole: Option<&'a Whole>,
}

impl AlongAngle<'_> {
    fn spread(&self, spread: Spread<'_>, axis: Ends) -> Option<Estimate> {
        match spread {
            Spread::Centred => Some(self.centred(axis)),
            Spread::Slope => Some(self.slope(axis, |variance| variance)),
            Spread::SlopeRoot => Some(self.slope(axis, Estimate::sqrt)),
            Spread::Shapley => self.shapley(),
            Spread::Difference(limits) => Some(over_bins(limits, |lo, hi| self.difference(lo, hi))),
        }
    }

    fn curve(&self, mean: Mean) -> Arc<Even> {
        let whole = self.whole.map_or([0; 4], |whole| whole.lengths.bits());
        let key = (mean, self.lengths.bits(), whole);
        self.boxes.curves.of(key, || {
            let lengths = self.lengths;
            Arc::new(match mean {
                Mean::Side => Even::of(PI, |way| {
                    let opening = opening(way);
                    lengths.mean(1, |v| [Estimate::exact(side(v, &opening))])[0]
                }),
                Mean::Slope2 => Even::of(PI, |way| {
                    let opening = opening(way);
                    lengths.mean(2, |v| {
                        let slope = v.exp() * opening.sine / side(v, &opening);
                        [Estimate::exact(slope * slope)]
                    })[0]
                }),
                Mean::Difference2(apart) => self.squares_of_differences(f64::from_bits(apart)),
                Mean::Shapley => Even::of(PI, |way| self.shapley_at(-way)[0]),
                Mean::Shapley2 => Even::of(PI, |way| self.shapley_squared(-way)),
                Mean::Beyond2 => Even::of(PI, |way| {
                    let opening = opening(way);
                    lengths.mean(2, |v| {
                        let (side, mean) = (side(v, &opening), mean_over_angle(1.0, v.exp()).value);
                        let beyond = Estimate::of_size(side - mean, side + mean);
                        [Estimate { magnitude: beyond.value.abs(), ..beyond }.squared_from(0.0)]
                    })[0]
                }),
            })
        })
    }

    fn squares_of_differences(&self, apart: f64) -> Even {
        let half = 0.5 * apart;
        Even::of(PI - half, |way| {
            // The one end is as far from π as the middle is from the cusp.
            let [there, here] = [opening(way), opening(from_opposite(PI - apart + way))];
            self.lengths.mean(2, |v| {
                let [there, here] = [&there, &here].map(|opening| side(v, opening));
                [Estimate::of_size(there - here, there + here).squared_from(0.0)]
            })[0]
        })
    }

    /// Places of one angle on an interval at which an end of another one's is opposite, and the ends.
    fn opposite((from, to): Ends, interval: Ends) -> Vec<f64> {
        let odd = [-3.0, -1.0, 1.0, 3.0];
        let places = odd.into_iter().flat_map(|half| [from + half * PI, to + half * PI]);
        within(&places.collect::<Vec<f64>>(), interval.0, interval.1)
    }

    /// The mean over the window of an even function, the angle being at a place.
    fn over_window(&self, curve: &Even, x: f64) -> Estimate {
        curve.mean(x - self.window.1, x - self.window.0)
    }

    /// The variance along an axis of the means of a function over the window.
    fn variance_of_means(&self, mean: Mean, axis: Ends) -> Estimate {
        if is_whole(self.window) {
            return Estimate::default();
        }
        let curve = self.curve(mean);
        let centre = curve.mean(0.0, TAU).value;
        // Of a whole turn half of it, from the middle of the window, has all there is.
        let middle = 0.5 * (self.window.0 + self.window.1);
        let axis = if is_whole(axis) { (middle, middle + PI) } else { axis };
        let points = Self::opposite(self.window, axis);
        let moments = integrate_between_cusps(TOLERANCE, &points, 0.0, |x| {
            with_square(self.over_window(&curve, x), centre)
        });
        let scale = 1.0 / (axis.1 - axis.0);
        mean_and_variance(moments.map(|total| total.times(scale)), centre)[1]
    }

    /// A quantity at a value of the angle.
    fn at(&self, effect: Quantity, x: f64, axis: Ends) -> Option<Estimate> {
        match effect {
            Quantity::Pd | Quantity::Mplot => Some(self.over_window(&self.curve(Mean::Side), x)),
            Quantity::Dpd | Quantity::Mu => Some(self.mean_slope(x)),
            Quantity::HDpdp | Quantity::Sigma => Some(self.variance_of_slope(x)),
            Quantity::HPdp if is_whole(axis) => Some(self.centred_at(x)),
            Quantity::HPdp => Some(self.centred_on(axis, x)),
            Quantity::ShapVariance => self.whole.map(|_| self.variance_of_shapley(x)),
            _ => None,
        }
    }

    /// The variance of Shapley values at a value of the angle.
    fn variance_of_shapley(&self, x: f64) -> Estimate {
        let [square, with] = [Mean::Shapley2, Mean::Shapley].map(|mean| self.curve(mean));
        let mean = self.over_window(&with, x).minus(with.mean(0.0, TAU));
        self.over_window(&square, x).minus(mean.product(mean))
    }

    /// The mean over lengths of the square of a less its mean over the angle, at a distance from π: of what depends on either
    /// length, on neither and on both, all less their means over the angle, squares and products have means of their own.
    fn shapley_squared(&self, distance: f64) -> Estimate {
        let Some(whole) = self.whole else { return Estimate::exact(f64::NAN) };
        let opening = opening(distance);
        let [first, second] = [0, 1].map(|s| {
            let (own, other) = (self.lengths.0[s], self.lengths.0[1 - s]);
            let beyond = whole.lengths.0[1 - s];
            own.mean(INNER, &[other.from, other.to, beyond.from, beyond.to], |x| {
                let given = over_length(x, &opening, beyond).minus(whole.given_length(s, x));
                let here = over_length(x, &opening, other).minus(over_angle_and_length(x, other));
                [given, given.product(given), here, given.product(here)]
            })
        });
        let neither = whole.given_angles(distance).minus(whole.mean());
        let either = first[0].plus(second[0]);
        let products = neither.product(either).plus(first[0].product(second[0])).times(2.0);
        let squares = Estimate::sum([neither.product(neither), first[1], second[1], products]);
        let with_side = Estimate::sum([neither.product(first[2]), first[3], second[3]]);
        let of_side = self.lengths.mean(2, |v| {
            let (side, mean) = (side(v, &opening), mean_over_angle(1.0, v.exp()).value);
            [Estimate::of_size(side - mean, side + mean).squared_from(0.0)]
        });
        let parts = [(squares, 144.0), (with_side, 24.0), (of_side[0], 16.0)];
        Estimate::sum(parts.map(|(part, share)| part.times(1.0 / share)))
    }

    fn mean_slope(&self, x: f64) -> Estimate {
        if is_whole(self.window) {
            return Estimate::default();
        }
        let (side, (from, to)) = (self.curve(Mean::Side), self.window);
        let [near, far] = [from, to].map(|end| side.at(x - end).doubted(ROUNDING));
        near.minus(far).times(1.0 / (to - from))
    }

    fn variance_of_slope(&self, x: f64) -> Estimate {
        let square = self.over_window(&self.curve(Mean::Slope2), x);
        let mean = self.mean_slope(x);
        square.minus(mean.product(mean))
    }

    /// The variance of curves less their means over a whole turn: of f² the mean is known, that of the square of the mean does
    /// not depend on the angle, and that of both together is a curve of the difference of the angles.
    fn centred_at(&self, x: f64) -> Estimate {
        if is_whole(self.window) {
            return self.squares_on_turn();
        }
        let side = self.curve(Mean::Side);
        let mean = self.over_window(&side, x).minus(side.mean(0.0, TAU));
        self.squares_from_turn((x, x)).minus(mean.product(mean))
    }

    /// The mean square on part of a turn, which may be one place, of the side less its mean over the angle.
    fn squares_from_turn(&self, axis: Ends) -> Estimate {
        if is_whole(self.window) || is_whole(axis) {
            return self.squares_on_turn();
        }
        self.mean_on(axis, &self.curve(Mean::Beyond2))
    }

    /// The variance of curves less their means over part of a turn, which depend on the other angle as well: what both have
    /// together is a curve of the angle. Both are taken less the mean over the whole turn.
    fn centred_on(&self, axis: Ends, x: f64) -> Estimate {
        let both = self.with_means_on(axis);
        let both = if both.covers(x) { both.at_own(x) } else { self.product_with_mean(axis, x) };
        let side = self.curve(Mean::Side);
        let mean = self.over_window(&side, x).minus(self.mean_on(axis, &side));
        let squares = self.squares_from_turn((x, x)).minus(both.times(2.0));
        squares.plus(self.mean_square_of_means(axis)).minus(mean.product(mean))
    }

    /// The mean of the side times its mean over part of a turn, along that part.
    fn with_means_on(&self, axis: Ends) -> Arc<Curve> {
        self.boxes.with_means.of(self.key_on(axis), || {
            let points = Self::opposite(self.window, axis);
            let each = &mut |places: &[f64]| {
                places.par_iter().map(|&x| self.product_with_mean(axis, x)).collect()
            };
            Arc::new(Curve::between_cusps(&points, each))
        })
    }

    /// The mean of the side at an angle times its mean over part of a turn, both less that over the whole one.
    fn product_with_mean(&self, axis: Ends, x: f64) -> Estimate {
        let places = [Self::opposite(axis, self.window), Self::opposite((x, x), self.window)];
        let points = within(&places.concat(), self.window.0, self.window.1);
        self.over_window_and_lengths(&points, |v| {
            let (side, mean) = (side_of(v), self.mean_of_part(v, axis));
            let whole = mean_over_angle(1.0, v.exp()).value;
            move |other| {
                let half_cosine2 = (0.5 * from_opposite(x - other)).sin().powi(2);
                let here = side(half_cosine2) - whole;
                mean(other).product(Estimate::exact(here))
            }
        })
    }

    /// The mean square of the means of the side over part of a turn less those over the whole one.
    fn mean_square_of_means(&self, axis: Ends) -> Estimate {
        self.boxes.squares_of_means.of(self.key_on(axis), || {
            let points = Self::opposite(axis, self.window);
            self.over_window_and_lengths(&points, |v| {
                let mean = self.mean_of_part(v, axis);
                move |other| mean(other).squared_from(0.0)
            })
        })
    }

    /// The mean of the side over part of a turn less that over the whole one, by the other angle.
    fn mean_of_part(&self, v: f64, axis: Ends) -> impl Fn(f64) -> Estimate {
        let curve = self.boxes.side(v);
        let whole = Estimate::exact(mean_over_angle(1.0, v.exp()).value);
        move |other| {
            let beyond = curve.mean(axis.0 - other, axis.1 - other).minus(whole);
            // Its error is told by both; what is accepted of integrals of it goes by itself.
            Estimate { magnitude: beyond.value.abs(), ..beyond }
        }
    }

    /// The mean over the lengths and the other angle of a function of degree 2, made for the logarithm of the ratio of the
    /// lengths.
    fn over_window_and_lengths<F: Fn(f64) -> Estimate>(
        &self,
        points: &[f64],
        given: impl Fn(f64) -> F,
    ) -> Estimate {
        let (from, to) = self.window;
        self.lengths.mean(2, |v| {
            let f = given(v);
            let total = integrate_between_cusps(INNER, points, 0.0, |other| [f(other)]);
            total.map(|total| total.times(1.0 / (to - from)))
        })[0]
    }

    /// The mean of an even function over the window and part of a turn, which may be one place.
    fn mean_on(&self, axis: Ends, curve: &Even) -> Estimate {
        if axis.0 == axis.1 {
            return self.over_window(curve, axis.0);
        }
        let points = Self::opposite(self.window, axis);
        let [total] =
            integrate_between_cusps(INNER, &points, 0.0, |x| [self.over_window(curve, x)]);
        total.times(1.0 / (axis.1 - axis.0))
    }

    fn key_on(&self, axis: Ends) -> ([u64; 4], [u64; 4]) {
        let ends = [axis.0, axis.1, self.window.0, self.window.1];
        (self.lengths.bits(), ends.map(f64::to_bits))
    }

    /// The mean square of the side less its mean over the angle.
    fn squares_on_turn(&self) -> Estimate {
        self.boxes.squares.of((self.lengths.bits(), [0; 4]), || {
            self.lengths.mean_square().minus(self.lengths.mean_square_over_angle())
        })
    }

    /// The integral over an axis of the variance of curves less their means over it.
    fn centred(&self, axis: Ends) -> Estimate {
        let squares = if is_whole(axis) { self.squares_on_turn() } else { self.squares_on(axis) };
        squares.minus(self.variance_of_means(Mean::Side, axis)).times(axis.1 - axis.0)
    }

    /// The mean square of the side less its mean over part of a turn, on that.
    fn squares_on(&self, axis: Ends) -> Estimate {
        self.squares_from_turn(axis).minus(self.mean_square_of_means(axis))
    }

    /// The integral over an axis of the variance of slopes, or of its root.
    fn slope(&self, axis: Ends, of: impl Fn(Estimate) -> Estimate) -> Estimate {
        if is_whole(self.window) {
            return of(self.curve(Mean::Slope2).mean(0.0, TAU)).times(axis.1 - axis.0);
        }
        integrate_between_cusps(TOLERANCE, &Self::opposite(self.window, axis), 0.0, |x| {
            [of(self.variance_of_slope(x))]
        })[0]
    }

    /// The variance of differences between two values.
    fn difference(&self, lo: f64, hi: f64) -> Estimate {
        // Equal bins come out with widths that differ in their last digits.
        let apart = ((hi - lo) * 1e12).round() * 1e-12;
        let square = self.curve(Mean::Difference2(apart.to_bits()));
        let square = self.over_window(&square, 0.5 * (lo + hi)).doubted(1e-12);
        let side = self.curve(Mean::Side);
        let mean = self.over_window(&side, hi).minus(self.over_window(&side, lo));
        square.minus(mean.product(mean))
    }

    /// The mean over lengths of a = ⅟₁₂ (E[f | angles] + E[f | first, angles] + E[f | second, angles]) + ¼ f, which is what the
    /// angle has with the other one, and of its square less f² / 16, at a distance from π.
    fn shapley_at(&self, distance: f64) -> [Estimate; 2] {
        let Some(whole) = self.whole else { return [Estimate::exact(f64::NAN); 2] };
        let opening = opening(distance);
        let [first, second] = [0, 1].map(|s| {
            let (own, other) = (self.lengths.0[s], self.lengths.0[1 - s]);
            let beyond = whole.lengths.0[1 - s];
            own.mean(INNER, &[other.from, other.to, beyond.from, beyond.to], |x| {
                let [wide, here] = [beyond, other].map(|length| over_length(x, &opening, length));
                [wide, here, wide.product(wide), wide.product(here)]
            })
        });
        let both = whole.given_angles(distance);
        let means = both.plus(first[0]).plus(second[0]);
        let mean = means.times(1.0 / 12.0).plus(first[1].times(0.25));
        let products =
            [both.product(first[0]), both.product(second[0]), first[0].product(second[0])];
        let squares = [both.product(both), first[2], second[2]].into_iter();
        let of_means = Estimate::sum(squares.chain(products.map(|product| product.times(2.0))));
        let with_side = Estimate::sum([both.product(first[1]), first[3], second[3]]);
        [mean, of_means.times(1.0 / 144.0).plus(with_side.times(1.0 / 24.0))]
    }

    /// The mean square over the lengths of the mean of that over the angle.
    fn square_over_angle(&self, whole: &Whole) -> Estimate {
        let [first, second] = self.lengths.0;
        let all = whole.mean();
        first.mean_of(&[second.from, second.to], |x1| {
            second.mean(INNER, &[x1], |x2| {
                let given = whole.given_length(0, x1).plus(whole.given_length(1, x2)).plus(all);
                let both = Estimate::exact(0.25 * mean_over_angle(x1, x2).value);
                let mean = given.times(1.0 / 12.0).plus(both);
                [mean.product(mean)]
            })[0]
        })
    }

    /// The mean variance of Shapley values along a whole turn.
    fn shapley(&self) -> Option<Estimate> {
        let whole = self.whole?;
        let squares = self.boxes.squares.of((self.lengths.bits(), whole.lengths.bits()), || {
            let squares = Turn::whole().mean(INNER, |distance| [self.shapley_at(distance)[1]])[0];
            let of_side = self.lengths.mean_square().times(1.0 / 16.0);
            squares.plus(of_side).minus(self.square_over_angle(whole))
        });
        Some(squares.minus(self.variance_of_means(Mean::Shapley, (0.0, TAU))))
    }
}

/// A criterion along a length by its name, its axis, the other length, the angle and, of Shapley values, the background.
type CriterionKey = (u8, Vec<u64>, [u64; 2], [u64; 3], [u64; 4]);

/// Criteria of boxes, and parts of them, as they were asked for.
#[derive(Default)]
pub(super) struct Boxes {
    along_lengths: Known<CriterionKey, Option<Estimate>>,
    curves: Known<(Mean, [u64; 4], [u64; 4]), Arc<Even>>,
    /// Sides by the logarithm of the ratio of lengths, of which the first is 1.
    sides: Known<u64, Arc<Even>>,
    squares: Known<([u64; 4], [u64; 4]), Estimate>,
    with_means: Known<([u64; 4], [u64; 4]), Arc<Curve>>,
    squares_of_means: Known<([u64; 4], [u64; 4]), Estimate>,
    wholes: Known<[u64; 4], Arc<Whole>>,
}

impl Boxes {
    /// The spread of a local effect in a box of the features, over an axis or bins or, of Shapley values, the law: none of these
    /// where the background has part of a turn, or where the feature has another law than there.
    pub(super) fn spread(
        &self,
        spread: Spread<'_>,
        s: usize,
        axis: Ends,
        [rows, background]: [[Ends; 4]; 2],
    ) -> Option<Estimate> {
        let is_turned = is_whole(background[2]) && is_whole(background[3]);
        let is_known = spread == Spread::Shapley && is_turned && rows[s] == background[s];
        match s {
            0 | 1 => {
                let (other, turn) = (Length::new(rows[1 - s]), Turn::new([rows[2], rows[3]]));
                let whole = is_known.then(|| self.whole([background[0], background[1]]));
                let along = AlongLength { other, turn };
                self.along_length(&along, spread, (s, axis), whole.as_deref())
            }
            2 | 3 => self
                .along_angle(s, [rows, background], is_known, |along| along.spread(spread, axis)),
            _ => None,
        }
    }

    /// An effect at a value.
    pub(super) fn at(
        &self,
        effect: Quantity,
        (s, x): (usize, f64),
        axis: Ends,
        [rows, background]: [[Ends; 4]; 2],
    ) -> Option<Estimate> {
        let is_turned = is_whole(background[2]) && is_whole(background[3]);
        let is_known = effect == Quantity::ShapVariance && is_turned;
        match s {
            0 | 1 => {
                let (other, turn) = (Length::new(rows[1 - s]), Turn::new([rows[2], rows[3]]));
                let along = AlongLength { other, turn };
                match effect {
                    Quantity::Pd | Quantity::Mplot => Some(along.mean_side(x)),
                    Quantity::Dpd | Quantity::Mu => Some(along.mean_slope(x)),
                    Quantity::HDpdp | Quantity::Sigma => Some(along.variance_of_slope(x)),
                    Quantity::HPdp => Some(along.centred_at(x, axis)),
                    Quantity::ShapVariance if is_known => {
                        let whole = self.whole([background[0], background[1]]);
                        Some(along.shapley_at(&whole, s, x))
                    }
                    _ => None,
                }
            }
            2 | 3 => {
                self.along_angle(s, [rows, background], is_known, |along| along.at(effect, x, axis))
            }
            _ => None,
        }
    }

    /// The side for a first length of 1, as an even function of the difference of the angles.
    fn side(&self, v: f64) -> Arc<Even> {
        let make = || Arc::new(Even::of(PI, |way| Estimate::exact(side(v, &opening(way)))));
        self.sides.of(v.to_bits(), make)
    }

    /// An answer along an angle, with the background where it is known.
    fn along_angle<T>(
        &self,
        s: usize,
        [rows, background]: [[Ends; 4]; 2],
        is_known: bool,
        asked: impl FnOnce(&AlongAngle<'_>) -> T,
    ) -> T {
        let is_ordered = rows[0] <= rows[1];
        let [own, all] = [rows, background].map(|law| ordered([law[0], law[1]], is_ordered));
        let whole = is_known.then(|| self.whole(all));
        let (lengths, window) = (Lengths::new(own), rows[5 - s]);
        asked(&AlongAngle { lengths, window, boxes: self, whole: whole.as_deref() })
    }

    fn whole(&self, ends: [Ends; 2]) -> Arc<Whole> {
        let lengths = Lengths::new(ends);
        self.wholes.of(lengths.bits(), || Arc::new(Whole::new(lengths)))
    }

    fn along_length(
        &self,
        along: &AlongLength,
        spread: Spread<'_>,
        (s, axis): (usize, Ends),
        whole: Option<&Whole>,
    ) -> Option<Estimate> {
        let limits =
            if let Spread::Difference(limits) = spread { limits } else { &[axis.0, axis.1] };
        let other = along.other;
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        let background = whole.map_or([0; 4], |whole| {
            let [own, other] = [whole.lengths.0[s], whole.lengths.0[1 - s]];
            Lengths([own, other]).bits()
        });
        let ends = [other.from.to_bits(), other.to.to_bits()];
        let key = (number(spread), bits(limits), ends, along.turn.key(), background);
        self.along_lengths.of(key, || match spread {
            Spread::Centred => Some(along.centred(axis)),
            Spread::Slope => Some(along.slope(axis, |variance| variance)),
            Spread::SlopeRoot => Some(along.slope(axis, Estimate::sqrt)),
            Spread::Shapley => whole.map(|whole| along.shapley(whole, s)),
            Spread::Difference(limits) => {
                Some(over_bins(limits, |lo, hi| along.difference(lo, hi)))
            }
        })
    }
}

/// Lengths, which may change places.
fn ordered([first, second]: [Ends; 2], is_ordered: bool) -> [Ends; 2] {
    if is_ordered { [first, second] } else { [second, first] }
}

/// A number for each spread.
fn number(spread: Spread<'_>) -> u8 {
    match spread {
        Spread::Centred => 0,
        Spread::Slope => 1,
        Spread::SlopeRoot => 2,
        Spread::Shapley => 3,
        Spread::Difference(_) => 4,
    }
}

/// The sum over bins of a variance over the width.
fn over_bins(limits: &[f64], variance: impl Fn(f64, f64) -> Estimate) -> Estimate {
    let bins = limits.windows(2).map(|bin| variance(bin[0], bin[1]).times(1.0 / (bin[1] - bin[0])));
    Estimate::sum(bins)
}
