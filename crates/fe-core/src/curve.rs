//! Curves that can be evaluated, integrated and shifted exactly.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::partition::Closed;

/// What lies between the knots of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A value at each knot, straight lines between them.
    Linear,
    /// A value on each stretch between knots; a knot belongs to the side the bins are closed on.
    Step(Closed),
}

/// A piecewise linear or piecewise constant function on `[x_0, x_K]`.
///
/// ```
/// use fe_core::curve::Curve;
/// let curve = Curve::linear(vec![0.0, 1.0, 4.0], vec![0.0, 2.0, 2.0]);
/// assert_eq!(curve.at(0.5).unwrap(), 1.0);
/// assert_eq!(curve.mean_over_range(), 1.75);
/// assert!(curve.at(5.0).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
    shape: Shape,
    extrapolate: bool,
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

    /// Whether evaluation outside the range continues with the value at its end.
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

    /// What lies between the knots.
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
    /// [`Error::OutsideLimits`] outside the range, unless the curve is extrapolated.
    pub fn at(&self, x: f64) -> Result<f64> {
        let (lo, hi) = self.range();
        if lo <= x && x <= hi {
            return Ok(self.within(x));
        }
        if self.extrapolate && !x.is_nan() {
            return Ok(self.within(x.clamp(lo, hi)));
        }
        Err(Error::OutsideLimits { x, lo, hi })
    }

    /// The values at several points.
    ///
    /// # Errors
    /// As [`Curve::at`].
    pub fn at_all(&self, points: &[f64]) -> Result<Vec<f64>> {
        points.iter().map(|&x| self.at(x)).collect()
    }

    fn within(&self, x: f64) -> f64 {
        match self.shape {
            Shape::Linear => {
                let right = self.first_from(x);
                if right == 0 { self.y[0] } else { self.on_stretch(right - 1, x) }
            }
            Shape::Step(closed) => {
                let inner = &self.x[1..self.x.len() - 1];
                self.y[match closed {
                    Closed::Left => inner.partition_point(|&knot| knot <= x),
                    Closed::Right => inner.partition_point(|&knot| knot < x),
                }]
            }
        }
    }

    /// The value at a point between knots `k` and `k + 1`, or at one of them.
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

    /// The first knot that does not lie below `x`. A guess from equal distances comes first, so
    /// that equidistant knots cost no search.
    fn first_from(&self, x: f64) -> usize {
        let (lo, hi) = self.range();
        let last = self.x.len() - 1;
        let guess = (((x - lo) / (hi - lo) * last as f64) as usize + 1).min(last);
        if guess > 0 && self.x[guess - 1] < x && x <= self.x[guess] {
            return guess;
        }
        self.x.partition_point(|&knot| knot < x)
    }

    /// Exact mean over the range: integral divided by length.
    #[must_use]
    pub fn mean_over_range(&self) -> f64 {
        let (lo, hi) = self.range();
        if lo == hi {
            return self.y[0];
        }
        let share = |k: usize| (self.x[k + 1] - self.x[k]) / (hi - lo);
        (0..self.x.len() - 1).map(|k| share(k) * self.stretch_mean(k)).sum()
    }

    /// Mean between two neighbouring knots.
    pub(crate) fn stretch_mean(&self, k: usize) -> f64 {
        match self.shape {
            Shape::Linear => self.y[k] / 2.0 + self.y[k + 1] / 2.0,
            Shape::Step(_) => self.y[k],
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
