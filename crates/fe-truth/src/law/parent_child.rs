//! A piecewise-uniform parent, and a child that is normal around a weighted value of it.

use super::Normal;
use super::piecewise_normal::PiecewiseNormal;
use super::sibling::Sibling;
use super::{Block, Crossing, NORMAL_PANELS, PiecewiseUniform, Univariate};
use crate::numeric::special::{mean_normal_cdf, normal_between, normal_quantile};

/// Feature 0 of the block is the parent, feature 1 is the child = shift + slope · parent + N(0, sd noise).
#[derive(Debug, Clone)]
pub(crate) struct ParentChild {
    parent: PiecewiseUniform,
    shift: f64,
    slope: f64,
    pub(crate) noise: f64,
}

impl ParentChild {
    /// A child that is the parent plus normal noise with a standard deviation.
    pub(crate) fn new(parent: PiecewiseUniform, noise: f64) -> Self {
        Self::around(parent, (0.0, 1.0), noise)
    }

    /// A child with normal noise around a shift plus a slope, which is not 0, times the parent.
    pub(crate) fn around(parent: PiecewiseUniform, (shift, slope): (f64, f64), noise: f64) -> Self {
        Self { parent, shift, slope, noise }
    }

    /// The marginal law of the child.
    pub(crate) fn child(&self) -> Blurred {
        Blurred { parent: self.parent.moved(self.shift, self.slope), noise: self.noise }
    }

    /// The law of the parent, seen at a place through normal noise.
    pub(crate) fn parent_seen(&self, seen: Normal) -> PiecewiseNormal {
        PiecewiseNormal::new(&self.parent, seen.sd, seen.mean)
    }

    /// The law of the child where the parent is seen at a place through normal noise, as another child of it shows.
    pub(crate) fn child_seen(&self, seen: Normal) -> Sibling {
        Sibling::new(self.parent_seen(seen), (self.shift, self.slope), self.noise)
    }

    /// Places along another child of the same parent that resolve the passage of this one.
    pub(crate) fn shadow_on(&self, other: &Self, broken: Crossing) -> Vec<f64> {
        let steepness = self.slope / other.slope;
        let sd = self.noise.hypot(steepness * other.noise);
        broken.passage(self.shift - steepness * other.shift, steepness, sd)
    }

    /// The parent that a child stands for without its noise, and how far noise puts that off.
    pub(crate) fn parent_of(&self, child: f64) -> Normal {
        Normal { mean: (child - self.shift) / self.slope, sd: self.noise / self.slope.abs() }
    }
}

impl Block for ParentChild {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        match (target, given.iter().find(|(feature, _)| *feature != target)) {
            (0, None) => Box::new(self.parent.clone()),
            (0, Some(&(_, child))) => Box::new(self.parent_seen(self.parent_of(child))),
            (_, None) => Box::new(self.child()),
            (_, Some(&(_, parent))) => {
                Box::new(Normal { mean: self.shift + self.slope * parent, sd: self.noise })
            }
        }
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        match broken.of {
            0 => {
                let Normal { mean, sd } = self.parent_of(0.0);
                broken.passage(mean, 1.0 / self.slope, sd)
            }
            _ => broken.passage(self.shift, self.slope, self.noise),
        }
    }

    fn draws(&self) -> usize {
        2
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let len = drawn.len() / 2;
        let (parents, children) = values.split_at_mut(len);
        self.parent.quantiles(&drawn[..len], parents);
        for ((child, parent), &p) in children.iter_mut().zip(parents).zip(&drawn[len..]) {
            *child = self.shift + self.slope * *parent + self.noise * normal_quantile(p);
        }
    }
}

/// A piecewise-uniform law convolved with normal noise.
#[derive(Debug, Clone)]
pub(crate) struct Blurred {
    parent: PiecewiseUniform,
    noise: f64,
}

impl Univariate for Blurred {
    fn pdf(&self, x: f64) -> f64 {
        let mass = |a: f64, b: f64| normal_between((x - b) / self.noise, (x - a) / self.noise);
        self.parent.pieces().map(|(a, b, w)| w / (b - a) * mass(a, b)).sum()
    }

    fn cdf(&self, x: f64) -> f64 {
        let mean = |a: f64, b: f64| mean_normal_cdf((x - b) / self.noise, (x - a) / self.noise);
        self.parent.pieces().map(|(a, b, w)| w * mean(a, b)).sum()
    }

    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn panels(&self) -> Vec<f64> {
        let around = |edge: &f64| NORMAL_PANELS.map(|z| edge + z * self.noise);
        let mut points: Vec<f64> = self.parent.limits().iter().flat_map(around).collect();
        points.sort_by(f64::total_cmp);
        points
    }

    fn is_smooth(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::consistency::assert_is_a_law;

    fn block() -> ParentChild {
        ParentChild::new(PiecewiseUniform::new(&[0.0, 1.0, 3.0], &[0.4, 0.6]), 0.5)
    }

    /// A child 2 − 3 x with noise, beside 3 x with as much: mirrored, and moved by 2.
    #[test]
    fn a_child_around_a_weighted_parent() {
        let parent = || PiecewiseUniform::new(&[-1.0, 0.0, 0.5], &[0.3, 0.7]);
        let down = ParentChild::around(parent(), (2.0, -3.0), 0.25);
        let up = ParentChild::around(parent(), (0.0, 3.0), 0.25);
        assert_is_a_law(&*down.conditional(1, &[]), 1e-13, "the child");
        for y in [-2.9, -1.0, 0.1, 1.4, 1.9] {
            let [own, other] = [(&down, 2.0 - y), (&up, y)].map(|(law, y)| {
                let [child, parent] = [law.conditional(1, &[]), law.conditional(0, &[(1, y)])];
                assert_is_a_law(&*parent, 1e-12, &format!("given {y}"));
                [child.pdf(y), parent.pdf(-0.3), parent.cdf(0.2)]
            });
            for (own, other) in own.iter().zip(other) {
                assert!((own - other).abs() <= 1e-12 * other.abs(), "at {y}: {own}, not {other}");
            }
        }
        let given = down.conditional(1, &[(0, 0.5)]);
        assert!((given.quantile(0.5) - 0.5).abs() < 1e-15, "{}", given.quantile(0.5));
        // x1 at 0.5, seen along the child: around the child's mean there, and as wide as its noise.
        let shadow = down.shadow(Crossing { of: 0, along: 1, slope: 0.0, at: 0.5 });
        let ends =
            (shadow[0].min(shadow[shadow.len() - 1]), shadow[0].max(shadow[shadow.len() - 1]));
        assert!((0.5 * (ends.0 + ends.1) - 0.5).abs() < 1e-12, "{ends:?}");
        let wide = NORMAL_PANELS[NORMAL_PANELS.len() - 1];
        assert!((0.5 * (ends.1 - ends.0) - 0.25 * wide).abs() < 1e-12, "{ends:?}");
    }

    /// By Bayes' rule, at the limits of the pieces as well, wherever the child is.
    #[test]
    fn the_parent_given_its_child() {
        let block = block();
        for child in [0.7, 4.0, -1.5] {
            let law = block.conditional(0, &[(1, child)]);
            assert_is_a_law(&*law, 1e-12, &format!("given {child}"));
            let normal = Normal { mean: child, sd: 0.5 };
            let ratio = |x: f64| law.pdf(x) / (block.parent.pdf(x) * normal.pdf(x));
            let known = ratio(0.4);
            for x in [0.0, 0.9, 1.0, 1.1, 3.0] {
                assert!((ratio(x) / known - 1.0).abs() < 1e-11, "given {child}: at {x}");
            }
            assert!(law.resolves_small_masses());
        }
        let child = block.conditional(1, &[]);
        assert_is_a_law(&*child, 1e-13, "the child");
    }
}
