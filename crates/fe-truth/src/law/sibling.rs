//! Children of a piecewise-uniform parent, of which others are known.

use std::f64::consts::TAU;

use super::piecewise_normal::{Bell, PiecewiseNormal};
use super::{NORMAL_PANELS, Univariate};
use crate::numeric::quadrature::{Estimate, integrate, within};

/// The law of a child, shift + slope · parent + N(0, sd noise), where what is known of the parent makes it a normal whose
/// density is scaled on pieces.
pub(crate) struct Sibling {
    parent: PiecewiseNormal,
    shift: f64,
    slope: f64,
    noise: f64,
    /// The noise, as the parent has it.
    sd: f64,
    /// Of the parent: the standard deviations of the difference of what is known and a child, and of what both tell of it,
    /// and the weight of the child in that.
    apart: f64,
    of_both: f64,
    share: f64,
}

/// Points that are closer than this, in units of the noise, are one.
const CLOSE: f64 = 1.5;

impl Sibling {
    pub(super) fn new(parent: PiecewiseNormal, (shift, slope): (f64, f64), noise: f64) -> Self {
        let sd = noise / slope.abs();
        let known = parent.bell.noise;
        let apart = known.hypot(sd);
        let (of_both, share) = (known / apart * sd, (known / apart).powi(2));
        Self { parent, shift, slope, noise, sd, apart, of_both, share }
    }
}

impl Univariate for Sibling {
    fn pdf(&self, x: f64) -> f64 {
        let PiecewiseNormal { pieces, bell: known, total } = &self.parent;
        let (low, high) = self.parent.support();
        let place = (x - self.shift) / self.slope;
        // Both together are a normal around their mean, and tell how far they are apart.
        let mean = (1.0 - self.share) * known.child + self.share * place;
        let both = Bell::on((low, high), self.of_both, mean);
        let end = match known.child {
            child if child < low => Some(low),
            child if child > high => Some(high),
            _ => None,
        };
        let exponent = match end {
            // Squares of distances from an end add up: that of what is known, to which all is relative, drops out.
            Some(end) => {
                let is_beyond = both.nearest > 0.0 && (mean < low) == (known.child < low);
                let of_both = if is_beyond {
                    0.0
                } else {
                    both.nearest.powi(2) - ((mean - end) / self.of_both).powi(2)
                };
                ((place - end) / self.sd).powi(2) + of_both
            }
            None => ((place - known.child) / self.apart).powi(2) + both.nearest.powi(2),
        };
        (-0.5 * exponent).exp() * both.total(pieces) / (total * TAU.sqrt() * self.noise)
    }

    fn cdf(&self, x: f64) -> f64 {
        let panels = self.panels();
        let (from, to) = (panels[0], panels[panels.len() - 1]);
        if x <= from {
            return 0.0;
        }
        let points = within(&panels, from, x.min(to));
        integrate(&points, 0.0, |x| [Estimate::exact(self.pdf(x))])[0].value.min(1.0)
    }

    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn panels(&self) -> Vec<f64> {
        let (low, high) = self.parent.support();
        let image = |place: f64| self.shift + self.slope * place;
        let of_parent: Vec<f64> =
            self.parent.panels().into_iter().map(|u| image(self.parent.place(u))).collect();
        let (first, last) = (of_parent[0], of_parent[of_parent.len() - 1]);
        let beyond = NORMAL_PANELS[NORMAL_PANELS.len() - 1] * self.noise;
        let (from, to) = (first.min(last) - beyond, first.max(last) + beyond);
        // Of a narrow parent the law is that of the noise; of a wide one it changes where the parent does, on that scale.
        let limits = self.parent.pieces.iter().flat_map(|&(low, high, _)| [low, high]);
        let centres = limits.chain([self.parent.bell.child.clamp(low, high)]).map(image);
        let around = centres.flat_map(|centre| NORMAL_PANELS.map(|z| centre + z * self.noise));
        let mut points: Vec<f64> = around.chain(of_parent).collect();
        points.retain(|x| from < *x && *x < to);
        points.sort_by(f64::total_cmp);
        let mut apart = vec![from];
        for x in points.into_iter().chain([to]) {
            let close = CLOSE * self.noise;
            if x - apart[apart.len() - 1] >= close && (x == to || to - x >= close) {
                apart.push(x);
            }
        }
        apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::consistency::assert_is_a_law;
    use crate::law::{Block, CommonCause, Normal, ParentChild, PiecewiseUniform};

    /// Densities given another child, against the mean over the parent; children may be far beyond what parents there are.
    #[test]
    fn a_child_given_another_is_a_mean_over_the_parent() {
        let parent = || PiecewiseUniform::new(&[-1.0, 0.0, 0.5, 2.0], &[0.3, 0.5, 0.2]);
        for (slope, noise, sd) in
            [(1.0, 0.3, 0.3), (-2.0, 0.01, 0.2), (0.5, 2.0, 0.01), (3.0, 0.4, 5.0)]
        {
            let own = ParentChild::around(parent(), (0.7, slope), noise);
            for seen in [-30.0, -1.3, -0.98, 0.1, 0.5, 2.0, 2.4, 25.0] {
                let seen = Normal { mean: seen, sd };
                let (law, of_parent) = (own.child_seen(seen), own.parent_seen(seen));
                let what = format!("{slope}, {noise}, {sd}, {}", seen.mean);
                let all = integrate(&law.panels(), 0.0, |x| [Estimate::exact(law.pdf(x))])[0];
                assert!((all.value - 1.0).abs() < 1e-11, "{what}: {all:?}");
                for z in [-7.0, -2.0, -0.3, 0.0, 1.1, 4.0] {
                    let peak = of_parent.place(of_parent.panels()[1]);
                    let x = 0.7 + slope * peak + z * noise;
                    let at = |u: f64| {
                        let given = Normal { mean: 0.7 + slope * of_parent.place(u), sd: noise };
                        [Estimate::exact(of_parent.weight(u) * given.pdf(x))]
                    };
                    // A child far from the others may tell of a parent beyond the panels.
                    let ends = [-1.0, 2.0].map(|u| of_parent.coordinate(u));
                    let place = of_parent.coordinate(peak + z * noise / slope);
                    let near = NORMAL_PANELS.map(|z| place + z * noise / slope);
                    let points = [&of_parent.panels()[..], &near, &ends].concat();
                    let points = within(&points, ends[0], ends[1]);
                    let known = integrate(&points, 0.0, at)[0];
                    let off = (law.pdf(x) - known.value).abs();
                    let enough = 1e-10 * known.value + known.error + 1e-30;
                    assert!(off <= enough, "{what}, at {x}: {}, not {known:?}", law.pdf(x));
                }
            }
        }
    }

    #[test]
    fn two_copies_of_a_uniform_cause() {
        let law = CommonCause { noise: 0.05 };
        let own = ParentChild::new(PiecewiseUniform::on(0.0, 1.0), 0.05);
        for other in [-0.2, 0.03, 0.4, 1.0, 1.3, 2.0] {
            let found = own.child_seen(own.parent_of(other));
            let known = law.conditional(1, &[(0, other)]);
            for z in [-4.0, -1.0, 0.0, 0.5, 3.0] {
                let x = other.clamp(0.0, 1.0) + 0.05 * z;
                let ratio = found.pdf(x) / known.pdf(x);
                assert!((ratio - 1.0).abs() < 1e-10, "{other}, {x}: {ratio}");
            }
        }
        assert_is_a_law(&own.child_seen(own.parent_of(0.3)), 1e-11, "a copy");
    }
}
