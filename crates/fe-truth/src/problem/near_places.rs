//! Places near to the quantiles of a law that have to be searched for: so near that one step of Newton's finds them.

use std::sync::OnceLock;

use super::laws::Plain;
use crate::law::Univariate;
use crate::numeric::quadrature::{Estimate, Piecewise};
use crate::numeric::special::{normal_cdf, normal_quantile};

/// Scores between which values are read off a curve.
const READ: [f64; 7] = [-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0];

/// Coordinates of the values of normal scores under one law, as a curve that is made once.
#[derive(Default)]
pub(super) struct NearPlaces(OnceLock<Piecewise>);

impl NearPlaces {
    /// Number of pieces of the curve.
    #[cfg(test)]
    pub(super) fn pieces(&self) -> usize {
        self.0.get().map_or(0, Piecewise::count)
    }

    /// A coordinate near to that of the value of a score, where that has to be searched for.
    pub(super) fn at(&self, law: &Plain, z: f64) -> Option<f64> {
        if !law.is_searched() || !(READ[0]..=READ[READ.len() - 1]).contains(&z) {
            return None;
        }
        // Near is near enough for one of Newton's steps, and where values lie close together for numbers, as below
        // 1 those of a beta law do, the coordinate is known no better than they are told apart.
        let search = |z: f64| {
            let u = law.search(normal_cdf(z), normal_cdf(-z));
            let scale = law.scale();
            let spacing = f64::EPSILON * scale.place(u).abs() * (-scale.ln_stretch(u)).exp();
            Estimate { error: 1e-10 * (1.0 + u.abs()) + spacing, ..Estimate::exact(u) }
        };
        Some(self.0.get_or_init(|| Piecewise::of(&READ, search)).at(z).value)
    }

    /// The value that has given probabilities below and above it: for means, which ask so often that a curve is worth its
    /// cost. The last digits are not those of a value that is drawn.
    pub(super) fn inverse(&self, law: &Plain, below: f64, above: f64) -> f64 {
        if !law.is_searched() {
            return law.inverse(below, above);
        }
        let z = if below < above { normal_quantile(below) } else { -normal_quantile(above) };
        let near = self.at(law, z).and_then(|near| law.improved(near, below, above));
        let (low, high) = law.support();
        near.map_or_else(|| law.inverse(below, above), |x| x.clamp(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::laws::LawFamily;

    #[test]
    fn values_near_a_curve_are_those_that_are_searched_for() {
        let part = |mean: f64, sd: f64| Plain::of(LawFamily::Normal, &[mean, sd]).unwrap();
        let laws = [
            Plain::of(LawFamily::Gamma, &[0.3, 2.0]).unwrap(),
            Plain::of(LawFamily::Beta, &[2.0, 0.7]).unwrap(),
            Plain::mixture(vec![(0.4, part(-1.0, 0.5)), (0.6, part(1.0, 0.3))]).unwrap(),
            part(3.0, 2.0),
        ];
        for law in laws {
            let near = NearPlaces::default();
            for p in [1e-15, 1e-4, 0.1, 0.4, 0.5, 0.77, 0.9999, 1.0 - 1e-12] {
                let (found, known) = (near.inverse(&law, p, 1.0 - p), law.inverse(p, 1.0 - p));
                let scale = law.scale();
                let off = (scale.coordinate(found) - scale.coordinate(known)).abs();
                // Places next to 1 round to it.
                let is_near = off <= 1e-8 * (1.0 + scale.coordinate(known).abs());
                assert!(found == known || is_near, "{law:?} {p}: {off:e}");
            }
        }
    }
}
