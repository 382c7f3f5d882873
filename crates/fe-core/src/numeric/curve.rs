//! Curves that can be evaluated, integrated and shifted exactly.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::numeric::partition::Closed;

/// The shape of a curve between its knots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A value at each knot, straight lines between them.
    Linear,
    /// A value on each stretch between knots; a knot belongs to the side the bins are closed on.
    Step(Closed),
    /// A value at each knot, and none between them.
    Levels,
}

/// A piecewise linear or piecewise constant function on `[x_0, x_K]`.
///
/// ```
/// use fe_core::numeric::curve::Curve;
/// let curve = Curve::linear(vec![0.0, 1.0, 4.0], vec![0.0, 2.0, 2.0]);
/// assert_eq!(curve.at(0.5).unwrap(), 1.0);
/// assert_eq!(curve.mean_over_range(), 1.75);
/// assert!(curve.at(5.0).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Knots")]
pub struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
    shape: Shape,
    extrapolate: bool,
}

/// A curve as it is written; NaN is null.
#[derive(Deserialize)]
struct Knots {
    x: Vec<f64>,
    #[serde(deserialize_with = "crate::stored::numbers")]
    y: Vec<f64>,
    shape: Shape,
    extrapolate: bool,
}

impl TryFrom<Knots> for Curve {
    type Error = Error;

    fn try_from(Knots { x, y, shape, extrapolate }: Knots) -> Result<Self> {
        let expected = x.len().saturating_sub(usize::from(matches!(shape, Shape::Step(_))));
        if y.is_empty() || y.len() != expected {
            let expected = expected.max(1);
            return Err(Error::WrongCount { what: "values of a curve", expected, got: y.len() });
        }
        match x.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(Error::UnsortedLimits { left: pair[0], right: pair[1] }),
            None => Ok(Self { x, y, shape, extrapolate }),
        }
    }
}

impl Curve {
    /// A piecewise linear curve with value `y[i]` at the increasing knots `x[i]`.
    #[must_use]
    pub fn linear(x: Vec<f64>, y: Vec<f64>) -> Self {
        debug_assert_eq!(x.len(), y.len());
        Self { x, y, shape: Shape::Linear, extrapolate: false }
    }

    /// A piecewise constant curve with value `y[k]` between `x[k]` and `x[k + 1]`.
    #[must_use]
    pub fn step(x: Vec<f64>, y: Vec<f64>, closed: Closed) -> Self {
        debug_assert_eq!(x.len(), y.len() + 1);
        Self { x, y, shape: Shape::Step(closed), extrapolate: false }
    }

    /// A curve with value `y[i]` at the increasing levels `x[i]`, and none between them.
    ///
    /// ```
    /// let curve = fe_core::Curve::levels(vec![0.0, 1.0], vec![3.0, 5.0]);
    /// assert_eq!(curve.at(1.0), Ok(5.0));
    /// assert!(curve.at(0.5).is_err());
    /// ```
    #[must_use]
    pub fn levels(x: Vec<f64>, y: Vec<f64>) -> Self {
        debug_assert_eq!(x.len(), y.len());
        Self { x, y, shape: Shape::Levels, extrapolate: false }
    }

    /// The same curve, with or without evaluation outside the range by the value at its end.
    #[must_use]
    pub fn extrapolated(mut self, extrapolate: bool) -> Self {
        self.extrapolate = extrapolate;
        self
    }

    /// The knots, increasing.
    #[must_use]
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The values at the knots, or on the stretches between them. NaN where missing.
    #[must_use]
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The shape between the knots.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// First and last knot.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        (self.x[0], self.x[self.x.len() - 1])
    }

    /// The value at a point.
    ///
    /// # Errors
    /// [`Error::OutsideLimits`] outside the range, unless the curve is extrapolated; [`Error::NotALevel`]
    /// between levels.
    pub fn at(&self, x: f64) -> Result<f64> {
        if self.shape == Shape::Levels {
            return self.at_level(x);
        }
        self.at_from(x, &mut 0)
    }

    /// The values at several points. Quickest where they increase.
    ///
    /// # Errors
    /// As [`Curve::at`].
    pub fn at_all(&self, points: &[f64]) -> Result<Vec<f64>> {
        if self.shape == Shape::Levels {
            return points.iter().map(|&x| self.at_level(x)).collect();
        }
        let (mut values, mut near) = (Vec::with_capacity(points.len()), 0);
        for &x in points {
            values.push(self.at_from(x, &mut near)?);
        }
        Ok(values)
    }

    fn at_level(&self, x: f64) -> Result<f64> {
        match self.x.iter().position(|&level| level == x) {
            Some(place) => Ok(self.y[place]),
            None => {
                let levels: Vec<String> = self.x.iter().map(f64::to_string).collect();
                Err(Error::NotALevel { x, levels: levels.join(", ") })
            }
        }
    }

    /// The value at a point, with the stretch that is looked at first; it becomes that of the point.
    #[inline(always)]
    fn at_from(&self, x: f64, near: &mut usize) -> Result<f64> {
        if self.x.get(*near..*near + 2).is_some_and(|ends| ends[0] < x && x < ends[1]) {
            return Ok(self.on_stretch(*near, x));
        }
        self.at_far(x, near)
    }

    /// The same where the stretch has to be found.
    fn at_far(&self, x: f64, near: &mut usize) -> Result<f64> {
        let (lo, hi) = self.range();
        let inside = if self.extrapolate && !x.is_nan() { x.clamp(lo, hi) } else { x };
        if !(lo <= inside && inside <= hi) {
            return Err(Error::OutsideLimits { x, lo, hi });
        }
        *near = self.stretch(inside, *near);
        Ok(self.on_stretch(*near, inside))
    }

    /// The stretch that a point of the range is in. It may be the one that is near, or the next; equidistant
    /// knots cost no search either.
    fn stretch(&self, x: f64, near: usize) -> usize {
        let last = self.x.len().saturating_sub(2);
        let is_before = |knot: f64| match self.shape {
            Shape::Step(Closed::Left) => knot <= x,
            Shape::Linear | Shape::Levels | Shape::Step(Closed::Right) => knot < x,
        };
        let holds = |k: usize| {
            k <= last
                && (k == 0 || is_before(self.x[k]))
                && (k == last || !is_before(self.x[k + 1]))
        };
        if holds(near) {
            return near;
        }
        if holds(near + 1) {
            return near + 1;
        }
        let (lo, hi) = self.range();
        let guess = ((x - lo) / (hi - lo) * (last + 1) as f64) as usize;
        if holds(guess) {
            return guess;
        }
        self.x.partition_point(|&knot| is_before(knot)).saturating_sub(1).min(last)
    }

    /// The value at a point between knots `k` and `k + 1`, or at one of them.
    #[inline]
    pub(crate) fn on_stretch(&self, k: usize, x: f64) -> f64 {
        match (self.shape, self.x.get(k + 1)) {
            (Shape::Linear, Some(&next)) if x == next => self.y[k + 1],
            (Shape::Linear, Some(&next)) if x != self.x[k] => {
                let share = (x - self.x[k]) / (next - self.x[k]);
                self.y[k] + (self.y[k + 1] - self.y[k]) * share
            }
            _ => self.y[k],
        }
    }

    /// Exact mean over the range: integral divided by length; of levels the mean of their values.
    #[must_use]
    pub fn mean_over_range(&self) -> f64 {
        let (lo, hi) = self.range();
        if lo == hi {
            return self.y[0];
        }
        if self.shape == Shape::Levels {
            return self.y.iter().map(|y| y / self.y.len() as f64).sum();
        }
        let share = |k: usize| (self.x[k + 1] - self.x[k]) / (hi - lo);
        (0..self.x.len() - 1).map(|k| share(k) * self.stretch_mean(k)).sum()
    }

    /// Mean between two neighbouring knots.
    pub(crate) fn stretch_mean(&self, k: usize) -> f64 {
        match self.shape {
            Shape::Linear => self.y[k] / 2.0 + self.y[k + 1] / 2.0,
            Shape::Step(_) | Shape::Levels => self.y[k],
        }
    }

    /// The curve with infinite values missing.
    pub(crate) fn without_infinities(mut self) -> Self {
        self.y.iter_mut().filter(|y| y.is_infinite()).for_each(|y| *y = f64::NAN);
        self
    }

    /// The curve moved down by a constant.
    #[must_use]
    pub fn lowered(mut self, constant: f64) -> Self {
        self.y.iter_mut().for_each(|y| *y -= constant);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equidistant knots and others, after whatever was looked at before.
    #[test]
    fn every_point_is_on_its_own_stretch() {
        for power in [1, 3] {
            let x: Vec<f64> = (0..=12).map(|k: i32| f64::from(k.pow(power)) / 4.0).collect();
            let y: Vec<f64> = (0..12).map(f64::from).collect();
            let hi = x[12];
            let mut points: Vec<f64> = (0..=200).map(|i| hi * f64::from(i) / 200.0).collect();
            points.extend((0..500).map(|i| hi * f64::from(i * 353 % 1009) / 1009.0));
            points.extend(x.iter().rev().chain(&x));
            for closed in [Closed::Left, Closed::Right] {
                let curve = Curve::step(x.clone(), y.clone(), closed);
                let bins = crate::Partition::new(x.clone(), closed).unwrap();
                let expected: Vec<f64> =
                    points.iter().map(|&point| y[bins.locate(point).unwrap()]).collect();
                assert_eq!(curve.at_all(&points).unwrap(), expected);
                let one_by_one: Result<Vec<f64>> = points.iter().map(|&x| curve.at(x)).collect();
                assert_eq!(one_by_one.unwrap(), expected);
            }
            let line = Curve::linear(x.clone(), x.iter().map(|x| 2.0 * x).collect());
            for (value, point) in line.at_all(&points).unwrap().iter().zip(&points) {
                assert!((value - 2.0 * point).abs() <= 1e-14 * point, "{value} at {point}");
            }
            assert_eq!(line.at_all(&x).unwrap(), line.y());
        }
    }

    #[test]
    fn points_outside_the_range_are_refused_or_take_the_end() {
        let curve = Curve::linear(vec![0.0, 1.0, 4.0], vec![0.0, 2.0, 5.0]);
        for x in [-0.1, 4.1, f64::NAN, f64::INFINITY] {
            assert!(curve.at_all(&[0.5, x]).is_err(), "{x}");
        }
        let curve = curve.extrapolated(true);
        let points = [9.0, -9.0, f64::INFINITY, f64::NEG_INFINITY, 1.0];
        assert_eq!(curve.at_all(&points).unwrap(), [5.0, 0.0, 5.0, 0.0, 2.0]);
        assert!(curve.at(f64::NAN).is_err());
    }

    /// A curve of one knot is that value there.
    #[test]
    fn a_single_knot_is_a_curve() {
        let curve = Curve::linear(vec![3.0], vec![7.0]);
        assert_eq!(curve.at_all(&[3.0, 3.0]).unwrap(), [7.0, 7.0]);
        assert!(curve.at(3.5).is_err());
    }
}
