//! A few even functions of an angle whose combinations the members of a family are.
//!
//! The values of the members at an angle are a vector. The vectors of all angles lie close to a space of few dimensions, which
//! those at some angles span: the next one is always where most is left (a decomposition into Q and R with pivots: Golub and
//! Van Loan, Matrix Computations, section 5.4). A coordinate of the vector is a function of the angle.

use std::cell::RefCell;
use std::collections::HashMap;
use std::f64::consts::PI;

use super::turn::Even;
use crate::numeric::quadrature::Estimate;

/// Orthonormal vectors.
pub(super) struct Basis {
    units: Vec<Vec<f64>>,
    /// Distances from π of the angles whose vectors they are made of, in their order.
    pub(super) distances: Vec<f64>,
    /// The length of the longest vector.
    scale: f64,
}

/// Angles at which vectors are looked at, and the distance from π of the first: at π itself means over a length are differences
/// of infinite numbers where it ends at the other one.
const PLACES: i32 = 160;
const NEAREST: f64 = 1e-10;

impl Basis {
    /// Of all but a share of the square of the longest vector, from the values of a family at a distance from π.
    pub(super) fn of(values: &impl Fn(f64) -> Vec<f64>, left_out: f64) -> Self {
        let distance = |k: usize| NEAREST.max(PI * (k as f64 / f64::from(PLACES)).powi(3));
        let mut left: Vec<Vec<f64>> = (0..=PLACES as usize).map(|k| values(distance(k))).collect();
        let longest = |left: &[Vec<f64>]| {
            let squares = left.iter().map(|vector| product(vector, vector)).enumerate();
            squares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
        };
        let (_, whole) = longest(&left);
        let mut made = Self { units: Vec::new(), distances: Vec::new(), scale: whole.sqrt() };
        loop {
            let (place, square) = longest(&left);
            if square <= left_out * whole || !square.is_finite() {
                return made;
            }
            // What rounding has left of the others is taken out once more.
            let mut unit = left[place].clone();
            made.units.iter().for_each(|other| take_out(other, &mut unit));
            let length = product(&unit, &unit).sqrt();
            unit.iter_mut().for_each(|x| *x /= length);
            left.iter_mut().for_each(|vector| take_out(&unit, vector));
            made.units.push(unit);
            made.distances.push(distance(place));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) fn coordinates(&self, vector: &[f64]) -> Vec<f64> {
        self.units.iter().map(|unit| product(unit, vector)).collect()
    }

    /// The coordinates as functions of the angle.
    pub(super) fn functions(&self, values: &impl Fn(f64) -> Vec<f64>) -> Vec<Even> {
        let known: RefCell<HashMap<u64, Vec<f64>>> = RefCell::default();
        let coordinate = |q: usize, distance: f64| {
            let mut known = known.borrow_mut();
            let all = known
                .entry(distance.to_bits())
                .or_insert_with(|| self.coordinates(&values(distance)));
            Estimate::of_size(all[q], self.scale)
        };
        (0..self.len()).map(|q| Even::of(PI, |way| coordinate(q, -way))).collect()
    }
}

pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes what is along a unit vector out of another one.
fn take_out(unit: &[f64], vector: &mut [f64]) {
    let along = product(unit, vector);
    vector.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
}
