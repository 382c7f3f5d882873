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
    /// The length of the longest vector, and of the longest of their errors.
    scale: f64,
    noise: f64,
}

/// Angles at which vectors are looked at, and the distance from π of the first: at π itself means over a length are differences
/// of infinite numbers where it ends at the other one.
const PLACES: i32 = 160;
const NEAREST: f64 = 1e-10;

/// Errors relative to the size that are more than rounding.
const NOISY: f64 = 1e-13;

impl Basis {
    /// Of all but a share of the square of the longest vector, from the values of a family at a distance from π; what is no more
    /// than their errors has no direction.
    pub(super) fn of(values: &impl Fn(f64) -> Vec<Estimate>, left_out: f64) -> Self {
        let distance = |k: usize| NEAREST.max(PI * (k as f64 / f64::from(PLACES)).powi(3));
        let seen: Vec<Vec<Estimate>> = (0..=PLACES as usize).map(|k| values(distance(k))).collect();
        let error = |vector: &Vec<Estimate>| {
            vector.iter().map(|value| value.error * value.error).sum::<f64>().sqrt()
        };
        let noise = seen.iter().map(error).fold(0.0, f64::max);
        let mut left: Vec<Vec<f64>> = seen.iter().map(|vector| values_of(vector)).collect();
        let longest = |left: &[Vec<f64>]| {
            let squares = left.iter().map(|vector| product(vector, vector)).enumerate();
            squares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
        };
        let (_, whole) = longest(&left);
        let least = (left_out * whole).max(noise * noise);
        let (units, distances) = (Vec::new(), Vec::new());
        let mut made = Self { units, distances, scale: whole.sqrt(), noise };
        loop {
            let (place, square) = longest(&left);
            if square <= least || !square.is_finite() {
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

    /// True if errors of the values are more than rounding of their size.
    pub(super) fn is_noisy(&self) -> bool {
        self.noise > NOISY * self.scale
    }

    pub(super) fn coordinates(&self, vector: &[Estimate]) -> Vec<f64> {
        let vector = values_of(vector);
        self.units.iter().map(|unit| product(unit, &vector)).collect()
    }

    /// The coordinates as functions of the angle.
    pub(super) fn functions(&self, values: &impl Fn(f64) -> Vec<Estimate>) -> Vec<Even> {
        let known: RefCell<HashMap<u64, Vec<f64>>> = RefCell::default();
        let coordinate = |q: usize, distance: f64| {
            let mut known = known.borrow_mut();
            let all = known
                .entry(distance.to_bits())
                .or_insert_with(|| self.coordinates(&values(distance)));
            let coordinate = Estimate::of_size(all[q], self.scale);
            // Noise must not be resolved; less of it than that is far more than the sum of independent errors.
            let noise = if self.is_noisy() { self.noise } else { 0.0 };
            Estimate { error: coordinate.error.max(noise), ..coordinate }
        };
        (0..self.len()).map(|q| Even::of(PI, |way| coordinate(q, -way))).collect()
    }
}

fn values_of(vector: &[Estimate]) -> Vec<f64> {
    vector.iter().map(|estimate| estimate.value).collect()
}

pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes what is along a unit vector out of another one.
fn take_out(unit: &[f64], vector: &mut [f64]) {
    let along = product(unit, vector);
    vector.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
}
