//! Spreads at values of a length as quadratic forms of what f is at a few angles.
//!
//! D, the side less its mean over the length, is a function of the difference of the angles for each value of both lengths, and
//! all of these are combinations of a few, which its values at as many angles tell. Mean squares of its means given neither
//! angle, one of them and both are quadratic in it: they are worked out once for those few.

use std::f64::consts::PI;

use super::background::over_length;
use super::basis::{Basis, product};
use super::length::{Ends, Length, Lengths, TOLERANCE, side};
use super::turn::{Even, Turn, all_there_is, is_whole, nodes_on, opening};
use crate::numeric::quadrature::Estimate;
use crate::numeric::triangle::{Opening, third};

/// The mean of the side over a length, or over an interval of it, by the other length.
pub(super) type Without<'a> = &'a (dyn Fn(f64, &Opening) -> Estimate + Sync);

/// A spread along a length, given the other one and the angles.
pub(super) struct Asked<'a> {
    /// The interval that means over the length are taken over, and that of its values.
    pub(super) own: Length,
    pub(super) range: Length,
    pub(super) other: Length,
    pub(super) windows: [Ends; 2],
    pub(super) without: Without<'a>,
    /// Shares of the mean squares of the means of D given the other length and both angles, two of the three, one and none.
    pub(super) shares: [f64; 4],
}

/// The forms.
pub(super) struct Quadratic {
    openings: Vec<Opening>,
    /// Coordinates of the vectors at these, of which all after the own one are 0.
    triangle: Vec<Vec<f64>>,
    /// Of what is given the other length, and of what is not, with shares above 0 and below.
    with_length: Form,
    without_length: [Form; 2],
    /// Means of the side over both lengths.
    over_both: Vec<f64>,
    /// Bound on the error of a spread.
    doubt: f64,
}

/// Share of the square of the longest vector that may be left out: what is left out counts to first order.
const LEFT: f64 = 1e-28;

/// Largest distance of spreads from those that are integrated.
const OFF: f64 = 1e-11;

impl Quadratic {
    /// The forms, if they make what is integrated at some values.
    pub(super) fn of(asked: &Asked<'_>, integrated: impl Fn(f64) -> Estimate) -> Option<Self> {
        let values = members(asked);
        let basis = Basis::of(&values, LEFT);
        // As means over a narrow interval are; to a spread the error counts to first order.
        if basis.is_noisy() {
            return None;
        }
        let functions = basis.functions(&values);
        let openings: Vec<Opening> = basis.distances.iter().map(|&way| opening(way)).collect();
        let coordinates = basis.distances.iter().map(|&way| basis.coordinates(&values(way)));
        let triangle = coordinates.collect();
        let [neither, first, second, both] = Form::of_means(&functions, asked.windows);
        let of = |shares: [f64; 3]| {
            let mut sum = Form::zero(basis.len());
            let parts = [(&both, 0), (&first, 1), (&second, 1), (&neither, 2)];
            parts.into_iter().for_each(|(form, which)| sum.add(form, shares[which]));
            sum
        };
        let [all, two, one, none] = asked.shares;
        let rest = [two, one, none];
        let over_other = |opening: &Opening| {
            let places = [asked.own.from, asked.own.to];
            asked.other.mean_of(&places, |x2| (asked.without)(x2, opening)).value
        };
        let mut made = Self {
            with_length: of([all, two, one]),
            without_length: [of(rest.map(|s| s.max(0.0))), of(rest.map(|s| (-s).max(0.0)))],
            over_both: openings.iter().map(over_other).collect(),
            openings,
            triangle,
            doubt: 0.0,
        };
        let Length { from, to } = asked.range;
        for x in [asked.range.middle(), to, from + 0.8 * (to - from)] {
            let (found, known) = (made.at(asked, x), integrated(x));
            let off = (found.value - known.value).abs();
            if off.is_nan() || off > OFF * (1.0 + known.value.abs()) {
                return None;
            }
            made.doubt = made.doubt.max(off);
        }
        Some(made)
    }

    /// The spread at a value.
    pub(super) fn at(&self, asked: &Asked<'_>, x: f64) -> Estimate {
        let Asked { own, other, without, .. } = asked;
        // A constant in D is in all its means, and counts for nothing.
        let over_other = |opening: &Opening| over_length(x, opening, *other).value;
        let centre = over_other(&self.openings[0]) - self.over_both[0];
        let means = self.openings.iter().zip(&self.over_both);
        let means = self.solved(means.map(|(o, over_both)| over_other(o) - over_both - centre));
        let [given] = other.mean(TOLERANCE, &[own.from, own.to, x], |x2| {
            let here = |o: &Opening| third(x, x2, o) - without(x2, o).value - centre;
            let here = self.solved(self.openings.iter().map(here));
            [Estimate::exact(self.with_length.square(&here))]
        });
        let [more, less] = [0, 1].map(|sign| self.without_length[sign].square(&means));
        let sum = given.plus(Estimate::of_size(more - less, more + less));
        Estimate { error: sum.error + self.doubt, ..sum }
    }

    /// The combination that has such values at the angles.
    fn solved(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut found: Vec<f64> = Vec::with_capacity(self.triangle.len());
        for (value, row) in values.zip(&self.triangle) {
            let own = row[found.len()];
            found.push((value - product(&found, row)) / own);
        }
        found
    }
}

/// Sides for all ratios of the lengths, their means over the length, and a constant, all of a similar size, by the distance of
/// the angle from π.
fn members<'a>(asked: &'a Asked<'_>) -> impl Fn(f64) -> Vec<Estimate> + 'a {
    let Asked { own, range, other, without, .. } = asked;
    let ratios = Lengths([*range, *other]).nodes(1);
    let lengths = other.nodes(&[own.from, own.to]);
    move |distance| {
        let opening = opening(distance);
        let sides = ratios
            .iter()
            .map(|&(v, _)| Estimate::exact(side(v, &opening)).times(1.0 / (1.0 + v.exp())));
        let means = lengths.iter().map(|&(x2, _)| without(x2, &opening).times(1.0 / (x2 + own.to)));
        sides.chain(means).chain([Estimate::exact(1.0)]).collect()
    }
}

/// A quadratic form, by rows of a symmetric matrix.
struct Form(Vec<Vec<f64>>);

impl Form {
    fn zero(count: usize) -> Self {
        Self(vec![vec![0.0; count]; count])
    }

    /// Mean squares of the means of combinations of functions of the difference of two angles, which are uniform on windows,
    /// given neither angle, the first, the second and both.
    fn of_means(functions: &[Even], windows: [Ends; 2]) -> [Self; 4] {
        let count = functions.len();
        let (mut both, mut mean) = (Self::zero(count), vec![0.0; count]);
        for (distance, weight) in Turn::new(windows).nodes() {
            let values = functions.iter().map(|even| even.at(PI - distance).value);
            let values: Vec<f64> = values.collect();
            both.add_square(&values, weight);
            mean.iter_mut().zip(&values).for_each(|(mean, value)| *mean += weight * value);
        }
        let mut neither = Self::zero(count);
        neither.add_square(&mean, 1.0);
        let given = |own: Ends, other: Ends| {
            let mut form = Self::zero(count);
            if is_whole(other) {
                form.add_square(&mean, 1.0);
                return form;
            }
            let axis = all_there_is(own, other);
            for (x, weight) in nodes_on(axis, other) {
                let mean = functions.iter().map(|even| even.mean(x - other.1, x - other.0).value);
                form.add_square(&mean.collect::<Vec<f64>>(), weight);
            }
            form
        };
        let [first, second] = windows;
        [neither, given(first, second), given(second, first), both]
    }

    fn add_square(&mut self, vector: &[f64], weight: f64) {
        for (row, value) in self.0.iter_mut().zip(vector) {
            row.iter_mut().zip(vector).for_each(|(sum, other)| *sum += weight * value * other);
        }
    }

    fn add(&mut self, other: &Self, share: f64) {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            row.iter_mut().zip(others).for_each(|(sum, value)| *sum += share * value);
        }
    }

    fn square(&self, vector: &[f64]) -> f64 {
        self.0.iter().zip(vector).map(|(row, value)| value * product(row, vector)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::scenario::feynman::along_length::AlongLength;

    /// The variance over a box of sides less their means over an axis, at values that are not among those it is checked at,
    /// on the axis and beside it; one of the windows may be a whole turn.
    #[test]
    fn spreads_by_forms_are_those_that_are_integrated() {
        let (own, other) = (Length::new((0.5, 4.0)), Length::new((3.0, 10.0)));
        let without = |x2: f64, o: &Opening| AlongLength::over_axis(x2, o, own.ends());
        for windows in [[(0.0, 3.9), (1.0, 2.4)], [(0.3, 0.5), (0.0, TAU)]] {
            let along = AlongLength { other, turn: Turn::new(windows) };
            let range = Length::new((0.1, 10.0));
            let (without, shares) = (&without, [1.0, 0.0, 0.0, -1.0]);
            let asked = Asked { own, range, other, windows, without, shares };
            let integrated = |x: f64| along.centred_at(x, own.ends());
            let forms = Quadratic::of(&asked, integrated).unwrap();
            for x in [0.1, 0.7, 2.9, 3.0, 3.001, 6.0] {
                let (found, known) = (forms.at(&asked, x), integrated(x));
                let off = (found.value - known.value).abs();
                assert!(
                    off <= found.error + known.error && off < 1e-11,
                    "{x}: {found:?}, {known:?}"
                );
            }
            assert!(Quadratic::of(&asked, |x| integrated(x).times(1.0 + 1e-9)).is_none());
        }
    }
}
