//! Few even functions of an angle that stand for the many means of f given lengths in mean squares and mean products.
//!
//! What is bilinear in the members of a family, each times the root of its share, as Σ D_i(α) D_i(β), is the same of its
//! coordinates in an orthonormal basis.

use std::f64::consts::PI;
use std::sync::Arc;

use super::basis::Basis;
use super::turn::Even;
use crate::numeric::quadrature::Estimate;

/// Functions of the difference of the angles with their shares, of which one may be negative.
pub(super) struct Components {
    parts: Vec<(f64, Arc<Even>)>,
    /// Bound on what a mean square is off.
    doubt: f64,
}

/// Mean square that may be left out, as a share of the largest.
const LEFT: f64 = 1e-16;

/// Distances from π at which mean squares are compared, and how far they may be off that of integrals.
const COMPARED: [f64; 7] = [1e-7, 1e-4, 0.013, 0.21, 0.9, 1.8, 2.9];

impl Components {
    /// Of the values of a family at a distance from π, with the mean square of the family there as it is integrated.
    pub(super) fn of(
        values: impl Fn(f64) -> Vec<Estimate>,
        mean_square: impl Fn(f64) -> Estimate,
    ) -> Self {
        let functions = Basis::of(&values, LEFT).functions(&values);
        let parts = functions.into_iter().map(|even| (1.0, Arc::new(even))).collect();
        let mut made = Self { parts, doubt: 0.0 };
        let off = |distance: f64| {
            let here = made.sum(|even| {
                let value = even.at(PI - distance);
                value.product(value)
            });
            let off = (here.value - mean_square(distance).value).abs();
            if off.is_nan() { f64::INFINITY } else { off }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Members 1, cos δ and 2 cos δ, of which two directions are left: products at two angles are those of the members.
    #[test]
    fn products_are_those_of_the_members() {
        let members = |distance: f64| {
            let cosine = -distance.cos();
            vec![Estimate::exact(1.0), Estimate::exact(cosine), Estimate::exact(2.0 * cosine)]
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
