//! A normal law whose density is scaled on pieces and cut off at the ends.

use super::{PiecewiseUniform, Univariate};
use crate::numeric::special::{mass_beyond, shifted_normal_mass};

/// The law of the parent given the child: a normal around the child, its density scaled on each
/// piece by that of the parent and cut off at the ends. With one piece, a normal law cut off.
pub(crate) struct PiecewiseNormal {
    /// Lower limit, upper limit, factor of the normal density; adjoining. The outer limits may be
    /// infinite.
    pub(super) pieces: Vec<(f64, f64, f64)>,
    pub(super) bell: Bell,
    /// Integral of the density before normalisation.
    pub(super) total: f64,
}

/// A normal density, not normalised, as an interval sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bell {
    pub(super) child: f64,
    pub(super) noise: f64,
    /// Distance of the interval from the child in standard deviations. All densities are relative
    /// to the one there, so that nothing underflows however far away the child is.
    pub(super) nearest: f64,
    /// The end of the interval that is nearest to the child, where the child is far from it: all
    /// places are then told by their distance from that end, which keeps its digits.
    end: Option<f64>,
}

/// Distance from the support, in standard deviations, from which on a child is far from it.
pub(super) const FAR: f64 = 11.0;
/// Distance from which on squares of what is left of the law are no numbers.
const FURTHEST: f64 = 1e300;

/// A distance in standard deviations; not a number where nothing can be computed from it.
pub(super) fn told(distance: f64) -> f64 {
    if distance < FURTHEST { distance } else { f64::NAN }
}

impl Bell {
    pub(super) fn on((low, high): (f64, f64), noise: f64, child: f64) -> Self {
        let nearest = told((low - child).max(child - high).max(0.0) / noise);
        let end = (nearest > FAR).then_some(if child > high { high } else { low });
        Self { child, noise, nearest, end }
    }

    fn standardised(&self, x: f64) -> f64 {
        (x - self.child) / self.noise
    }

    /// Distance from the nearest end in standard deviations.
    fn beyond(&self, end: f64, x: f64) -> f64 {
        (x - end).abs() / self.noise
    }

    /// Integral over an interval inside the one that sees it.
    fn mass(&self, from: f64, to: f64) -> f64 {
        let Some(end) = self.end else {
            let (from, to) = (self.standardised(from), self.standardised(to));
            return self.noise * shifted_normal_mass(from, to, self.nearest);
        };
        let (from, to) = (self.beyond(end, from), self.beyond(end, to));
        self.noise * mass_beyond(self.nearest, from.min(to), from.max(to))
    }

    /// Integral over adjoining pieces that are the interval, scaled on each.
    pub(super) fn total(&self, pieces: &[(f64, f64, f64)]) -> f64 {
        pieces.iter().map(|&(a, b, density)| density * self.mass(a, b)).sum()
    }
}

impl PiecewiseNormal {
    pub(super) fn new(parent: &PiecewiseUniform, noise: f64, child: f64) -> Self {
        Self::on(parent.pieces().map(|(a, b, w)| (a, b, w / (b - a))).collect(), noise, child)
    }

    pub(super) fn on(pieces: Vec<(f64, f64, f64)>, noise: f64, child: f64) -> Self {
        let bell = Bell::on((pieces[0].0, pieces[pieces.len() - 1].1), noise, child);
        let total = bell.total(&pieces);
        Self { pieces, bell, total }
    }

    /// The pieces inside an interval.
    fn cut(&self, from: f64, to: f64) -> Vec<(f64, f64, f64)> {
        let inside = self.pieces.iter().filter(|&&(a, b, _)| a < to && from < b);
        inside.map(|&(a, b, density)| (a.max(from), b.min(to), density)).collect()
    }

    fn mass_below(&self, x: f64) -> f64 {
        self.pieces
            .iter()
            .filter(|&&(a, _, _)| a < x)
            .map(|&(a, b, density)| density * self.bell.mass(a, b.min(x)))
            .sum::<f64>()
            / self.total
    }

    /// The factor of the normal density at a place.
    fn density(&self, x: f64) -> f64 {
        let last = self.support().1;
        let inside = |&&(a, b, _): &&(f64, f64, f64)| a <= x && (x < b || (x == b && b == last));
        self.pieces.iter().find(inside).map_or(0.0, |&(_, _, density)| density)
    }

    /// Points between which the density is smooth, by their distance from the end at which it is.
    fn panels_beyond(&self, end: f64) -> Vec<f64> {
        let inwards = if self.bell.child > end { -1.0 } else { 1.0 };
        let (low, high) = self.support();
        // As for a child nearby: from where on the density is e^-50 of its maximum.
        let reach = 100.0 / (self.bell.nearest + self.bell.nearest.hypot(10.0));
        let soft = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0].map(|z| z / (1.0 + self.bell.nearest));
        let soft = soft.into_iter().chain([reach]).map(|d| inwards * self.bell.noise * d);
        let (low, high) = (low - end, high - end);
        let reach = self.bell.noise * reach;
        let mut points: Vec<f64> = soft.chain(self.pieces.iter().map(|p| p.0 - end)).collect();
        points.extend([low, high]);
        points.retain(|u| (low..=high).contains(u) && u.abs() <= reach);
        points.sort_by(f64::total_cmp);
        points.dedup();
        points
    }
}

impl Univariate for PiecewiseNormal {
    fn pdf(&self, x: f64) -> f64 {
        let (low, high) = self.support();
        // Coordinates off the support are taken for its ends.
        if (low..=high).contains(&x) { self.weight(self.coordinate(x)) } else { 0.0 }
    }

    fn cdf(&self, x: f64) -> f64 {
        self.mass_below(x)
    }

    fn support(&self) -> (f64, f64) {
        (self.pieces[0].0, self.pieces[self.pieces.len() - 1].1)
    }

    fn coordinate(&self, x: f64) -> f64 {
        self.bell.end.map_or(x, |end| x - end)
    }

    fn place(&self, u: f64) -> f64 {
        let (low, high) = self.support();
        self.bell.end.map_or(u, |end| (end + u).clamp(low, high))
    }

    fn rounds_places(&self) -> bool {
        self.bell.end.is_some()
    }

    /// Known where one piece holds all of the bell that counts.
    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        let reach = 10.0 * self.bell.noise;
        let (from, to) = (self.bell.child - reach, self.bell.child + reach);
        let is_whole = self.pieces.iter().any(|&(low, high, _)| low <= from && to <= high);
        is_whole.then_some((self.bell.child, self.bell.noise))
    }

    fn weight(&self, u: f64) -> f64 {
        let density = self.density(self.place(u));
        let exponent = match self.bell.end {
            Some(_) => {
                let beyond = u.abs() / self.bell.noise;
                beyond * (2.0 * self.bell.nearest + beyond)
            }
            None => {
                let u = self.bell.standardised(u);
                (u - self.bell.nearest) * (u + self.bell.nearest)
            }
        };
        density * (-0.5 * exponent).exp() / self.total
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        let cut = self.cut(from, to);
        cut.iter().map(|&(a, b, density)| density * self.bell.mass(a, b)).sum::<f64>() / self.total
    }

    fn resolves_small_masses(&self) -> bool {
        true
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        let pieces = self.cut(from, to);
        if pieces.is_empty() {
            return None;
        }
        Some(Box::new(Self::on(pieces, self.bell.noise, self.bell.child)))
    }

    fn panels(&self) -> Vec<f64> {
        if let Some(end) = self.bell.end {
            return self.panels_beyond(end);
        }
        let (low, high) = self.support();
        // Beyond this reach the density is e^-50 of its maximum.
        let reach = self.bell.noise * self.bell.nearest.hypot(10.0);
        let (from, to) = (low.max(self.bell.child - reach), high.min(self.bell.child + reach));
        // Where the child lies outside, the density falls off from the nearest end on this scale.
        let peak = self.bell.child.clamp(low, high);
        let scale = self.bell.noise / (1.0 + self.bell.nearest);
        let mut points = vec![from, to];
        let soft = [1.0, 2.0, 5.0, 10.0, 20.0].map(|z| z * scale);
        points.push(peak);
        points.extend(soft.iter().flat_map(|d| [peak - d, peak + d]));
        points.extend(self.pieces.iter().map(|piece| piece.0));
        points.retain(|&x| from <= x && x <= to);
        points.sort_by(f64::total_cmp);
        points.dedup();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_far_beyond_eleven_deviations() {
        let given = |child: f64| PiecewiseNormal::on(vec![(0.0, 1.0, 1.0)], 1.0, child);
        assert!(!given(12.0).rounds_places() && given(12.5).rounds_places());
        assert!(!given(-11.0).rounds_places() && given(-11.5).rounds_places());
        assert_eq!((given(12.5).coordinate(1.0), given(-11.5).coordinate(0.25)), (0.0, 0.25));
        let far = given(12.5);
        assert_eq!([far.pdf(-0.1), far.pdf(1.1), far.pdf(12.5)], [0.0; 3]);
        assert!(far.pdf(1.0) > far.pdf(0.9) && far.pdf(0.9) > 0.0);
        assert!(told(1e300).is_nan() && told(9e299) == 9e299);
    }

    #[test]
    fn a_bell_that_is_not_cut_has_a_normal_coordinate() {
        let given =
            |child: f64| PiecewiseNormal::on(vec![(0.0, 1.0, 2.0), (1.0, 3.0, 1.0)], 0.04, child);
        assert_eq!(given(0.5).normal_coordinate(), Some((0.5, 0.04)));
        assert_eq!(given(1.5).normal_coordinate(), Some((1.5, 0.04)));
        for cut in [0.3, 0.9, 1.0, 2.7, 5.0] {
            assert_eq!(given(cut).normal_coordinate(), None, "{cut}");
        }
    }
}
