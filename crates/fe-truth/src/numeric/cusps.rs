//! Curves of functions with cusps at known places, or with what a mean leaves of these: a power or a logarithm of the distance.

use super::quadrature::{Estimate, Piecewise, flattened, halves};

/// A function of one variable as Legendre series on adjoining pieces; of that variable, or of one in which cusps at the
/// points between which it was resolved are flattened, so that few pieces close to them do.
pub(crate) struct Curve {
    series: Piecewise,
    /// Places at which cusps are flattened, if there are any.
    cusps: Vec<f64>,
}

/// Pieces on the way from a cusp to half of that to the next one.
const MOST_PIECES: usize = 16;

impl Curve {
    /// Resolves a function that is smooth between neighbouring ones of ascending points, asked at many places at once.
    pub(crate) fn smooth(points: &[f64], f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>) -> Self {
        Self { series: Piecewise::of_each(points, f), cusps: Vec::new() }
    }

    /// Resolves a function that may have a cusp at each of ascending points, also asked so. Where few pieces do
    /// not in the other variable, as rounding of places next to a root of the distance does not let them, it is a curve of the
    /// place itself.
    pub(crate) fn between_cusps(
        points: &[f64],
        f: &mut dyn FnMut(&[f64]) -> Vec<Estimate>,
    ) -> Self {
        let halves = halves(points);
        let mut flat = |places: &[f64]| {
            let places: Vec<f64> = places.iter().map(|&t| flattened(points, t).0).collect();
            f(&places)
        };
        match Piecewise::of_at_most(MOST_PIECES * halves.len(), &halves, &mut flat) {
            Some(series) => Self { series, cusps: points.to_vec() },
            None => Self::smooth(points, f),
        }
    }

    /// True if x lies where the function was resolved.
    pub(crate) fn covers(&self, x: f64) -> bool {
        match self.cusps.as_slice() {
            [first, .., last] => *first <= x && x <= *last,
            _ => self.series.covers(x),
        }
    }

    /// The value at a point that is covered.
    pub(crate) fn at(&self, x: f64) -> Estimate {
        self.series.at(self.variable(x))
    }

    /// As [`Self::at`], with the bound of the piece that the point is in.
    pub(crate) fn at_own(&self, x: f64) -> Estimate {
        self.series.at_own(self.variable(x))
    }

    /// As [`Piecewise::at_faint`].
    pub(crate) fn at_faint(&self, x: f64) -> Estimate {
        self.series.at_faint(self.variable(x))
    }

    /// The variable of the series at a point that is covered.
    fn variable(&self, x: f64) -> f64 {
        if self.cusps.is_empty() {
            return x;
        }
        let after = self.cusps.partition_point(|&cusp| cusp <= x).clamp(1, self.cusps.len() - 1);
        let (from, to) = (self.cusps[after - 1], self.cusps[after]);
        let (below, above) = ((x - from) / (to - from), (to - x) / (to - from));
        let before = (after - 1) as f64;
        if below < above { before + share(below) } else { before + (1.0 - share(above)) }
    }
}

/// Most of Newton's steps; half of them do.
const MOST_STEPS: usize = 20;

/// The s up to ½ for which s³ (10 − 15 s + 6 s²) is a way, by Newton's steps.
fn share(way: f64) -> f64 {
    // To third order in the cube root, with which the steps are few.
    let root = (0.1 * way).cbrt();
    let mut s = root * (1.0 + root * (0.5 + root * (0.55 + 0.8 * root)));
    for _ in 0..MOST_STEPS {
        if s <= 0.0 {
            return 0.0;
        }
        let off = s.powi(3) * (10.0 - s * (15.0 - 6.0 * s)) - way;
        let step = off / (30.0 * (s * (1.0 - s)).powi(2));
        s = (s - step).min(0.5);
        if step.abs() <= f64::EPSILON * s {
            break;
        }
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::one_by_one;

    #[test]
    fn the_variable_of_a_place_is_that_which_has_it() {
        let cusps = [-1.0, 0.5, 2.0, 40.0];
        let curve = Curve::between_cusps(&cusps, &mut one_by_one(|_| Estimate::exact(1.0)));
        for k in 0..=300 {
            let t = 0.01 * f64::from(k);
            let (place, stretch) = flattened(&cusps, t);
            let found = curve.variable(place);
            // Of a place far from 0 that is rounded little is left close to a cusp.
            let enough = 1e-14 + 4.0 * f64::EPSILON * place.abs() / stretch.max(1e-9);
            assert!((found - t).abs() <= enough.min(1e-4), "{t}: {place}, {found}");
        }
        assert!(curve.covers(-1.0) && curve.covers(40.0) && !curve.covers(40.1));
    }

    fn counted(
        f: impl Fn(f64) -> f64,
        make: impl Fn(&mut dyn FnMut(f64) -> Estimate) -> Curve,
    ) -> (Curve, usize) {
        let mut count = 0;
        let curve = make(&mut |x| {
            count += 1;
            Estimate::exact(f(x))
        });
        (curve, count)
    }

    /// Between the ends: a series of the place itself is worse at a cusp, which is asked alone.
    fn holds(curve: &Curve, f: impl Fn(f64) -> f64) {
        for x in [1e-9, 1e-4, 0.02, 0.3, 1.0, 1.4, 1.999, 2.0 - 1e-9] {
            for found in [curve.at(x), curve.at_own(x)] {
                let off = (found.value - f(x)).abs();
                assert!(off <= found.error && found.error < 1e-6, "{x}: {found:?}");
            }
        }
    }

    /// x ln x, as means of distances have it where a cusp leaves: a curve of the place itself takes many more values.
    #[test]
    fn what_is_left_of_cusps_takes_few_values_between_them() {
        let of = |x: f64| {
            let left = |d: f64| if d > 0.0 { d * d.ln() } else { 0.0 };
            left(x) + 0.5 * left(2.0 - x)
        };
        let (smooth, own) = counted(of, |f| Curve::smooth(&[0.0, 2.0], &mut one_by_one(f)));
        let (curve, flat) = counted(of, |f| Curve::between_cusps(&[0.0, 2.0], &mut one_by_one(f)));
        assert!(3 * flat < own && !curve.cusps.is_empty(), "{flat}, {own}");
        for curve in [&smooth, &curve] {
            holds(curve, of);
        }
        assert!(curve.at(0.3).error < 1e-11, "{:?}", curve.at(0.3));
        for end in [0.0, 2.0] {
            let found = curve.at_own(end);
            assert!((found.value - of(end)).abs() <= found.error, "{end}: {found:?}");
        }
    }

    /// Next to 2 places are told apart by 4e-16 at best, and roots of distances to 2e-8: no curve resolves that.
    #[test]
    fn what_rounding_hides_is_not_resolved_at_any_cost() {
        let of = |x: f64| (2.0 - x).max(0.0).sqrt();
        let (_, own) = counted(of, |f| Curve::smooth(&[0.0, 2.0], &mut one_by_one(f)));
        let (curve, all) = counted(of, |f| Curve::between_cusps(&[0.0, 2.0], &mut one_by_one(f)));
        assert!(curve.cusps.is_empty() && all <= own + 2 * 3 * MOST_PIECES * 20, "{all}, {own}");
        holds(&curve, of);
    }
}
