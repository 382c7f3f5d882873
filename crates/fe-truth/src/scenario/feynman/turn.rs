//! Angles that are uniform on intervals: the law of their difference, and even functions of it.

use std::array::from_fn;
use std::f64::consts::{PI, TAU};

use super::length::{Ends, INNER, ROUNDING};
use crate::numeric::quadrature::{
    Estimate, Piecewise, integrate_between_cusps, integrate_to, nodes_between_cusps, one_by_one,
    within,
};
use crate::numeric::triangle::Opening;

/// The law of the difference of two independent angles that are uniform on intervals, as its distance from π on the circle.
pub(super) struct Turn {
    /// Ends of both intervals; none where one of them is a whole turn.
    intervals: Option<[Ends; 2]>,
    /// Third roots of distances between which the density is linear, as a share of that of π.
    points: Vec<f64>,
    /// Share by which the density may be off: of narrow intervals rounding shows.
    rounding: f64,
}

/// True of a whole turn.
pub(super) fn is_whole((from, to): Ends) -> bool {
    (to - from - TAU).abs() <= 4.0 * f64::EPSILON * TAU
}

/// Distance of an angle from the odd multiples of π.
pub(super) fn from_opposite(angle: f64) -> f64 {
    let angle = angle - PI;
    (angle - TAU * (angle / TAU).round()).abs().min(PI)
}

impl Turn {
    pub(super) fn new([first, second]: [Ends; 2]) -> Self {
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
    pub(super) fn whole() -> Self {
        Self::new([(0.0, TAU); 2])
    }

    /// Something that is the same of laws that are.
    pub(super) fn key(&self) -> [u64; 3] {
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

    /// Distances from π with their weights in means.
    pub(super) fn nodes(&self) -> Vec<(f64, f64)> {
        let of_distance = |(root, weight): (f64, f64)| {
            let distance = PI * root * root * root;
            (distance, weight * self.density(distance) * 3.0 * PI * root * root)
        };
        nodes_between_cusps(&self.points).into_iter().map(of_distance).collect()
    }

    /// The mean of even functions of the angle, given by its distance from π, at which they may have a cusp.
    pub(super) fn mean<const M: usize>(
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

/// Nodes of an axis with their weights in means along it of means over a window of the other angle.
pub(super) fn nodes_on(axis: Ends, window: Ends) -> Vec<(f64, f64)> {
    let share = 1.0 / (axis.1 - axis.0);
    let nodes = nodes_between_cusps(&opposite(window, axis));
    nodes.into_iter().map(|(x, weight)| (x, share * weight)).collect()
}

/// The opening at a distance from π.
pub(super) fn opening(distance: f64) -> Opening {
    let (sine, cosine) = distance.sin_cos();
    Opening { half_cosine2: (0.5 * distance).sin().powi(2), cosine: -cosine, sine }
}

/// Places of one angle on an interval at which an end of another one's is opposite, and the ends.
pub(super) fn opposite((from, to): Ends, interval: Ends) -> Vec<f64> {
    let odd = [-3.0, -1.0, 1.0, 3.0];
    let places = odd.into_iter().flat_map(|half| [from + half * PI, to + half * PI]);
    within(&places.collect::<Vec<f64>>(), interval.0, interval.1)
}

/// The part of an axis along which means over a window of the other angle have all values there are: of a whole turn half of
/// it, from the middle of the window.
pub(super) fn all_there_is(axis: Ends, window: Ends) -> Ends {
    let middle = 0.5 * (window.0 + window.1);
    if is_whole(axis) { (middle, middle + PI) } else { axis }
}

/// An even function of an angle, of period 2π, that is smooth between 0 and π but at one place.
pub(super) struct Even {
    cusp: f64,
    /// Third roots of the ways from the cusp to 0 and to π.
    ends: Ends,
    /// Values, and integrals from 0, by the third root of the way from the cusp.
    values: Piecewise,
    integrals: Piecewise,
    /// The integral from 0 to π, with its error.
    half: [f64; 2],
    /// Bound on the error of a value, and size of what was summed for the largest.
    error: f64,
    magnitude: f64,
}

impl Even {
    /// Resolves a function of the way from the cusp.
    pub(super) fn of(cusp: f64, f: impl FnMut(f64) -> Estimate) -> Self {
        Self::of_each(cusp, &mut one_by_one(f))
    }

    /// As [`Self::of`], of a function that is asked at many ways at once.
    pub(super) fn of_each(cusp: f64, f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>) -> Self {
        let ends = ((-cusp).cbrt(), (PI - cusp).max(0.0).cbrt());
        let points = within(&[0.0, 0.5 * (ends.0 + ends.1)], ends.0, ends.1);
        let values = Piecewise::of_each(&points, &mut |roots| {
            let ways: Vec<f64> = roots.iter().map(|root| root * root * root).collect();
            f(&ways)
        });
        // A series is off evenly: that is no noise, which a series of it would be taken to make larger.
        let integrals = Piecewise::of(&points, |root| {
            let value = values.at_own(root);
            Estimate { error: f64::EPSILON * value.magnitude, ..value }.times(3.0 * root * root)
        });
        let half = integrals.integral_to(ends.1);
        let Estimate { error, magnitude, .. } = values.at(0.0);
        let half = [half.value, half.error + error * PI];
        Self { cusp, ends, values, integrals, half, error, magnitude }
    }

    /// The third root of a way from the cusp.
    fn root(&self, way: f64) -> f64 {
        way.cbrt().clamp(self.ends.0, self.ends.1)
    }

    pub(super) fn at(&self, angle: f64) -> Estimate {
        self.values.at_own(self.root(PI - self.cusp - from_opposite(angle)))
    }

    /// The integral from 0 with its error, which grows with the angle.
    fn integral_to(&self, angle: f64) -> [f64; 2] {
        let (turns, rest) = ((angle / TAU).floor(), angle.rem_euclid(TAU));
        let folded = rest.min(TAU - rest);
        let part = self.integrals.integral_to(self.root(folded - self.cusp));
        let off = self.error * folded;
        let (part, half) = ([part.value, part.error + off], self.half);
        from_fn(|k| {
            let beyond = if rest <= PI { part[k] } else { 2.0 * half[k] - part[k] };
            2.0 * turns * half[k] + beyond
        })
    }

    /// The mean between angles, the first below the second.
    pub(super) fn mean(&self, from: f64, to: f64) -> Estimate {
        let magnitude = self.magnitude;
        let [below, above] = [from, to].map(|angle| self.integral_to(angle));
        let rounding = 4.0 * f64::EPSILON * (TAU * magnitude + below[0].abs() + above[0].abs());
        let (value, error) = (above[0] - below[0], (above[1] - below[1]).abs() + rounding);
        Estimate { value, magnitude: magnitude * (to - from), error, simulated: false }
            .times(1.0 / (to - from))
    }

    /// The mean over a whole turn.
    pub(super) fn over_turn(&self) -> Estimate {
        let rounding = 4.0 * f64::EPSILON * PI * self.magnitude;
        let [value, error] = self.half;
        let magnitude = PI * self.magnitude;
        Estimate { value, magnitude, error: error + rounding, simulated: false }.times(1.0 / PI)
    }

    /// The mean square along an axis of the means over a window of the other angle.
    pub(super) fn mean_square_over(&self, window: Ends, axis: Ends) -> Estimate {
        let axis = all_there_is(axis, window);
        let points = opposite(window, axis);
        let [total] = integrate_between_cusps(INNER, &points, 0.0, |x| {
            let mean = self.mean(x - window.1, x - window.0);
            [mean.product(mean)]
        });
        total.times(1.0 / (axis.1 - axis.0))
    }
}
