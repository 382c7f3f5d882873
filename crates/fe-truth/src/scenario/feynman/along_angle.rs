//! Spreads of local effects along an angle, given the other one and the lengths.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use rayon::prelude::*;

use super::background::{Background, over_angle_and_length, over_length};
use super::components::Components;
use super::length::{
    Ends, INNER, Lengths, ROUNDING, TOLERANCE, mean_and_variance, over_bins, side, with_square,
};
use super::means::{Mean, Parts};
use super::memory::Memory;
use super::turn::{Even, Turn, all_there_is, from_opposite, is_whole, opening, opposite};
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::{Estimate, integrate_between_cusps, within};
use crate::numeric::triangle::mean_over_angle;
use crate::quantity::Quantity;
use crate::scenario::closed_forms::Spread;

/// The mean of f over part of a turn less that over the whole one, by the other angle.
fn mean_of_part(even: &Even, (from, to): Ends, other: f64) -> Estimate {
    let beyond = even.mean(from - other, to - other).minus(even.over_turn());
    // Its error is told by both; what is accepted of integrals of it goes by itself.
    Estimate { magnitude: beyond.value.abs(), ..beyond }
}

/// Criteria along an angle, given the other one, which is uniform on a window, and lengths.
pub(super) struct AlongAngle<'a> {
    pub(super) lengths: Lengths,
    pub(super) window: Ends,
    pub(super) memory: &'a Memory,
    pub(super) whole: Option<&'a Background>,
}

impl AlongAngle<'_> {
    pub(super) fn spread(&self, spread: Spread<'_>, axis: Ends) -> Option<Estimate> {
        match spread {
            Spread::Centred => Some(self.centred(axis)),
            Spread::Slope => Some(self.slope(axis, |variance| variance)),
            Spread::SlopeRoot => Some(self.slope(axis, Estimate::sqrt)),
            Spread::Shapley => self.shapley(),
            Spread::Difference(limits) => Some(over_bins(limits, |lo, hi| self.difference(lo, hi))),
        }
    }

    pub(super) fn curve(&self, mean: Mean) -> Arc<Even> {
        let whole = self.whole.map_or([0; 4], |whole| whole.lengths.bits());
        let key = (mean, self.lengths.bits(), whole);
        self.memory.curves.of(key, || {
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
                Mean::Squares(parts) => {
                    Even::of(PI, |way| self.mean_square_beyond(parts.with_angle(), -way))
                }
                Mean::Products(parts) => Even::of_each(0.0, &mut |ways| {
                    ways.par_iter().map(|&apart| self.products(parts, apart)).collect()
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
        let axis = all_there_is(axis, self.window);
        let points = opposite(self.window, axis);
        let moments = integrate_between_cusps(TOLERANCE, &points, 0.0, |x| {
            with_square(self.over_window(&curve, x), centre)
        });
        let scale = 1.0 / (axis.1 - axis.0);
        mean_and_variance(moments.map(|total| total.times(scale)), centre)[1]
    }

    /// A quantity at a value of the angle.
    pub(super) fn at(&self, effect: Quantity, x: f64, axis: Ends) -> Option<Estimate> {
        match effect {
            Quantity::Pd | Quantity::Mplot => Some(self.over_window(&self.curve(Mean::Side), x)),
            Quantity::Dpd | Quantity::Mu => Some(self.mean_slope(x)),
            Quantity::HDpdp | Quantity::Sigma => Some(self.variance_of_slope(x)),
            Quantity::HPdp => Some(self.spread_at(Parts::Centred, axis, x)),
            Quantity::ShapVariance if self.whole.is_some() => Some(self.variance_of_shapley(x)),
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

    /// A spread at a value of the angle, which is uniform on part of a turn: of D = f − M, M the mean over that part, the mean
    /// squares of f are a curve of the difference of the angles, those of M are the same for all values, and what both have
    /// together is a curve of the angle. All are taken less the mean over the whole turn.
    pub(super) fn spread_at(&self, parts: Parts, axis: Ends, x: f64) -> Estimate {
        let squares = self.squares_from_turn(parts, (x, x));
        let without_angle = self.without_angle(parts, axis, x);
        if is_whole(axis) {
            return squares.plus(without_angle);
        }
        let both = self.with_means_at(parts, axis, x);
        let means = self.mean_square_of_means(parts, axis);
        squares.minus(both.times(2.0)).plus(means).plus(without_angle)
    }

    /// The mean square at a distance from π of the means of f given both lengths, one and none, in shares, less their means
    /// over the angle.
    fn mean_square_beyond(&self, shares: [f64; 3], distance: f64) -> Estimate {
        let opening = opening(distance);
        let square = |value: Estimate, mean: Estimate| value.minus(mean).squared_from(0.0);
        let [given_both] = self.lengths.mean(2, |v| {
            let mean = Estimate::exact(mean_over_angle(1.0, v.exp()).value);
            [square(Estimate::exact(side(v, &opening)), mean)]
        });
        let mut sum = given_both.times(shares[0]);
        if shares[1] != 0.0 {
            for s in [0, 1] {
                let (own, other) = (self.lengths.0[s], self.lengths.0[1 - s]);
                let [mean] = own.mean(INNER, &[other.from, other.to], |x| {
                    [square(over_length(x, &opening, other), over_angle_and_length(x, other))]
                });
                sum = sum.plus(mean.times(shares[1]));
            }
        }
        if shares[2] != 0.0 {
            let side = self.curve(Mean::Side);
            sum = sum.plus(square(side.at(PI - distance), side.over_turn()).times(shares[2]));
        }
        sum
    }

    /// Functions that stand for those means in all that is bilinear in them.
    fn components(&self, shares: [f64; 3]) -> Arc<Components> {
        self.memory.components.of((shares.map(f64::to_bits), self.lengths.bits()), || {
            let [both, one, none] = shares;
            let of_lengths = [both, one, 0.0];
            let squares = |distance: f64| self.mean_square_beyond(of_lengths, distance);
            let made = Components::of(self.members(of_lengths), squares);
            let is_left_out = none == 0.0;
            Arc::new(if is_left_out { made } else { made.with(none, self.curve(Mean::Side)) })
        })
    }

    /// The means given both lengths and one of them at nodes of these, less their means over the angle, by the distance from π,
    /// times the roots of their shares. An error of such a mean is the same at all angles: it is no noise.
    fn members(&self, [both, one, _]: [f64; 3]) -> impl Fn(f64) -> Vec<Estimate> {
        let of_both = self.lengths.nodes(2).into_iter().map(|(v, weight)| {
            let mean = mean_over_angle(1.0, v.exp()).value;
            ((both * weight).sqrt(), v, mean)
        });
        let of_both: Vec<(f64, f64, f64)> = of_both.collect();
        let mut of_one = Vec::new();
        for s in [0, 1].into_iter().filter(|_| one != 0.0) {
            let (own, other) = (self.lengths.0[s], self.lengths.0[1 - s]);
            of_one.extend(own.nodes(&[other.from, other.to]).into_iter().map(|(x, weight)| {
                ((one * weight).sqrt(), x, other, over_angle_and_length(x, other).value)
            }));
        }
        move |distance| {
            let opening = opening(distance);
            let of_both = of_both.iter().map(|&(root, v, mean)| {
                Estimate::exact(side(v, &opening)).minus(Estimate::exact(mean)).times(root)
            });
            let of_one = of_one.iter().map(|&(root, x, other, mean)| {
                over_length(x, &opening, other).minus(Estimate::exact(mean)).times(root)
            });
            of_both.chain(of_one).collect()
        }
    }

    /// The part of a spread that is made of means of D over the other angle, which are 0 where that has a whole turn.
    fn without_angle(&self, parts: Parts, axis: Ends, x: f64) -> Estimate {
        if is_whole(self.window) {
            return Estimate::default();
        }
        let components = self.components(parts.without_angle());
        let over_both = self.memory.over_both.of((parts, self.key_on(axis)), || {
            Arc::from(components.each(|even| self.mean_on(axis, even)))
        });
        let over_window = |even: &Even| self.over_window(even, x);
        components.doubted(components.squares_from(&over_both, over_window))
    }

    /// The mean of the products of means of f at two angles so far apart, all less their means over the turn.
    fn products(&self, parts: Parts, apart: f64) -> Estimate {
        // It is the same on both sides of the middle of the angles.
        let (from, to) = (-0.5 * apart, PI - 0.5 * apart);
        let points = within(&[PI - apart], from, to);
        self.components(parts.with_angle()).sum(|even| {
            let whole = even.over_turn();
            let [total] = integrate_between_cusps(INNER, &points, 0.0, |angle| {
                let [here, there] = [angle, angle + apart].map(|a| even.at(a).minus(whole));
                [here.product(there)]
            });
            total.times(1.0 / PI)
        })
    }

    /// The mean square on part of a turn, which may be one place, of f less its mean over the angle.
    fn squares_from_turn(&self, parts: Parts, axis: Ends) -> Estimate {
        let is_free = is_whole(self.window) || is_whole(axis);
        match parts {
            Parts::Centred if is_free => self.squares_on_turn(),
            Parts::Shapley if is_free => self.curve(Mean::Squares(parts)).over_turn(),
            _ => self.mean_on(axis, &self.curve(Mean::Squares(parts))),
        }
    }

    /// The mean of f at a value times its mean over part of a turn.
    fn with_means_at(&self, parts: Parts, axis: Ends, x: f64) -> Estimate {
        let components = self.components(parts.with_angle());
        if is_whole(self.window) {
            let products = self.curve(Mean::Products(parts));
            return components.doubted(products.mean(x - axis.1, x - axis.0));
        }
        let curve = self.with_means_on(parts, axis);
        let is_on_curve = curve.covers(x);
        components.doubted(match is_on_curve {
            true => curve.at_own(x),
            false => self.product_with_mean(parts, axis, x),
        })
    }

    /// The same along the part.
    fn with_means_on(&self, parts: Parts, axis: Ends) -> Arc<Curve> {
        self.memory.with_means.of((parts, self.key_on(axis)), || {
            let points = opposite(self.window, axis);
            let each = &mut |places: &[f64]| {
                places.par_iter().map(|&x| self.product_with_mean(parts, axis, x)).collect()
            };
            Arc::new(Curve::between_cusps(&points, each))
        })
    }

    /// The mean over the window of f at an angle times its mean over part of a turn, both less that over the whole one.
    fn product_with_mean(&self, parts: Parts, axis: Ends, x: f64) -> Estimate {
        let places = [opposite(axis, self.window), opposite((x, x), self.window)];
        let points = within(&places.concat(), self.window.0, self.window.1);
        self.over_window_and_lengths(parts, &points, |even, other| {
            let here = even.at(x - other).minus(even.over_turn());
            mean_of_part(even, axis, other).product(Estimate::exact(here.value))
        })
    }

    /// The mean square of the means of f over part of a turn less those over the whole one.
    fn mean_square_of_means(&self, parts: Parts, axis: Ends) -> Estimate {
        let known = self.memory.squares_of_means.of((parts, self.key_on(axis)), || {
            if is_whole(self.window) {
                let products = self.curve(Mean::Products(parts));
                let (from, to) = axis;
                let [total] = integrate_between_cusps(INNER, &[from, to], 0.0, |x| {
                    [products.mean(x - to, x - from)]
                });
                return total.times(1.0 / (to - from));
            }
            let points = opposite(axis, self.window);
            self.over_window_and_lengths(parts, &points, |even, other| {
                mean_of_part(even, axis, other).squared_from(0.0)
            })
        });
        self.components(parts.with_angle()).doubted(known)
    }

    /// The mean over the lengths and the other angle of a function that is made of each of the means of f.
    fn over_window_and_lengths(
        &self,
        parts: Parts,
        points: &[f64],
        f: impl Fn(&Even, f64) -> Estimate,
    ) -> Estimate {
        let (from, to) = self.window;
        self.components(parts.with_angle()).sum(|even| {
            let [total] = integrate_between_cusps(INNER, points, 0.0, |other| [f(even, other)]);
            total.times(1.0 / (to - from))
        })
    }

    /// The mean of an even function over the window and part of a turn, which may be one place.
    fn mean_on(&self, axis: Ends, curve: &Even) -> Estimate {
        if axis.0 == axis.1 {
            return self.over_window(curve, axis.0);
        }
        let points = opposite(self.window, axis);
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
        self.memory.squares.of((self.lengths.bits(), [0; 4]), || {
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
        let parts = Parts::Centred;
        self.squares_from_turn(parts, axis).minus(self.mean_square_of_means(parts, axis))
    }

    /// The integral over an axis of the variance of slopes, or of its root.
    fn slope(&self, axis: Ends, of: impl Fn(Estimate) -> Estimate) -> Estimate {
        if is_whole(self.window) {
            return of(self.curve(Mean::Slope2).mean(0.0, TAU)).times(axis.1 - axis.0);
        }
        integrate_between_cusps(TOLERANCE, &opposite(self.window, axis), 0.0, |x| {
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
    fn square_over_angle(&self, whole: &Background) -> Estimate {
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
        let squares = self.memory.squares.of((self.lengths.bits(), whole.lengths.bits()), || {
            let squares = Turn::whole().mean(INNER, |distance| [self.shapley_at(distance)[1]])[0];
            let of_side = self.lengths.mean_square().times(1.0 / 16.0);
            squares.plus(of_side).minus(self.square_over_angle(whole))
        });
        Some(squares.minus(self.variance_of_means(Mean::Shapley, (0.0, TAU))))
    }
}
