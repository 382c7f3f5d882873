//! Few even functions of an angle that stand for the many means of f given lengths in mean squares and mean products.
//!
//! The values D_i of the members of a family at an angle α, each times the root of its share, are a vector. What is bilinear
//! in the members, as Σ D_i(α) D_i(β), is the same of its coordinates in an orthonormal basis. The vectors of all angles lie
//! close to a space of few dimensions, which those at some angles span: the next one is always where most is left (a
//! decomposition into Q and R with pivots: Golub and Van Loan, Matrix Computations, section 5.4).

use std::cell::RefCell;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::Arc;

use super::turn::Even;
use crate::numeric::quadrature::Estimate;

/// Functions of the difference of the angles with their shares, of which one may be negative.
pub(super) struct Components {
    parts: Vec<(f64, Arc<Even>)>,
    /// Bound on what a mean square is off.
    doubt: f64,
}

/// Angles at which vectors are looked at, and the mean square that may be left of them, as a share of the largest.
const PLACES: i32 = 160;
const LEFT: f64 = 1e-16;

/// Distances from π at which mean squares are compared, and how far they may be off that of integrals.
const COMPARED: [f64; 7] = [1e-7, 1e-4, 0.013, 0.21, 0.9, 1.8, 2.9];

impl Components {
    /// Of the values of a family at a distance from π, with the mean square of the family there as it is integrated.
    pub(super) fn of(
        values: impl Fn(f64) -> Vec<f64>,
        mean_square: impl Fn(f64) -> Estimate,
    ) -> Self {
        let (basis, scale) = basis(&values);
        let known: RefCell<HashMap<u64, Vec<f64>>> = RefCell::default();
        let coordinate = |q: usize, distance: f64| {
            let mut known = known.borrow_mut();
            let coordinates = known.entry(distance.to_bits()).or_insert_with(|| {
                let vector = values(distance);
                basis.iter().map(|unit| product(unit, &vector)).collect()
            });
            Estimate::of_size(coordinates[q], scale)
        };
        let even = |q: usize| (1.0, Arc::new(Even::of(PI, |way| coordinate(q, -way))));
        let mut made = Self { parts: (0..basis.len()).map(even).collect(), doubt: 0.0 };
        let off = |distance: f64| {
            let here = made.sum(|even| {
                let value = even.at(PI - distance);
                value.product(value)
            });
            (here.value - mean_square(distance).value).abs()
        };
        made.doubt = COMPARED.into_iter().map(off).fold(0.0, f64::max);
        made
    }

    /// With one more function.
    pub(super) fn with(mut self, share: f64, even: Arc<Even>) -> Self {
        self.parts.push((share, even));
        self
    }

    /// The sum of something bilinear in the functions, but for [`Self::doubted`].
    pub(super) fn sum(&self, f: impl Fn(&Even) -> Estimate) -> Estimate {
        Estimate::sum(self.parts.iter().map(|(share, even)| f(even).times(*share)))
    }

    /// Something of each of the functions.
    pub(super) fn each(&self, f: impl Fn(&Even) -> Estimate) -> Vec<Estimate> {
        self.parts.iter().map(|(_, even)| f(even)).collect()
    }

    /// The sum of squares of what is linear in the functions, less numbers that were made of each of them.
    pub(super) fn squares_from(
        &self,
        numbers: &[Estimate],
        f: impl Fn(&Even) -> Estimate,
    ) -> Estimate {
        let parts = self.parts.iter().zip(numbers);
        Estimate::sum(
            parts.map(|((share, even), number)| {
                f(even).minus(*number).squared_from(0.0).times(*share)
            }),
        )
    }

    /// Such a sum with what the functions leave out. It is the same all along an angle: curves are made of sums without it, as
    /// what is noise to a curve is not resolved.
    pub(super) fn doubted(&self, sum: Estimate) -> Estimate {
        Estimate { error: sum.error + self.doubt, ..sum }
    }
}

/// An orthonormal basis of all but a little of the vectors at all distances from π, and the length of the longest.
fn basis(values: &impl Fn(f64) -> Vec<f64>) -> (Vec<Vec<f64>>, f64) {
    let distance = |k: i32| PI * (f64::from(k) / f64::from(PLACES)).powi(3);
    let mut left: Vec<Vec<f64>> = (0..=PLACES).map(|k| values(distance(k))).collect();
    let longest = |left: &[Vec<f64>]| {
        let squares = left.iter().map(|vector| product(vector, vector)).enumerate();
        squares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    };
    let (_, whole) = longest(&left);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    loop {
        let (place, square) = longest(&left);
        if square <= LEFT * whole || !square.is_finite() {
            return (basis, whole.sqrt());
        }
        // What rounding has left of the others is taken out once more.
        let mut unit = left[place].clone();
        basis.iter().for_each(|other| take_out(other, &mut unit));
        let length = product(&unit, &unit).sqrt();
        unit.iter_mut().for_each(|x| *x /= length);
        left.iter_mut().for_each(|vector| take_out(&unit, vector));
        basis.push(unit);
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes what is along a unit vector out of another one.
fn take_out(unit: &[f64], vector: &mut [f64]) {
    let along = product(unit, vector);
    vector.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members 1, cos δ and 2 cos δ, of which two directions are left: products at two angles are those of the members.
    #[test]
    fn products_are_those_of_the_members() {
        let members = |distance: f64| {
            let cosine = -distance.cos();
            vec![1.0, cosine, 2.0 * cosine]
        };
        let squares = |distance: f64| Estimate::exact(1.0 + 5.0 * distance.cos().powi(2));
        let components = Components::of(members, squares);
        assert_eq!(components.parts.len(), 2);
        assert!(components.doubt < 1e-13, "{:e}", components.doubt);
        let found = components.sum(|even| even.at(0.4).product(even.at(2.0)));
        let known = 1.0 + 5.0 * 0.4_f64.cos() * 2.0_f64.cos();
        assert!((found.value - known).abs() < 1e-13, "{found:?}, not {known}");
        let wrong = Components::of(members, |_| Estimate::exact(1.0));
        assert!(wrong.doubt > 4.9);
    }
}
