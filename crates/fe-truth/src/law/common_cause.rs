//! Two features that are the same hidden uniform variable, each with normal noise of its own.

use std::f64::consts::{PI, SQRT_2};

use super::parent_child::Blurred;
use super::piecewise_normal::{FAR, told};
use super::{Block, Crossing, ParentChild, PiecewiseUniform, Univariate};
use crate::numeric::quadrature::fixed;
use crate::numeric::special::{mass_beyond, moments_beyond, normal_quantile, shifted_normal_mass};

/// Each of two features is u + N(0, sd `noise`), with u ~ U(0, 1) hidden and shared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommonCause {
    pub(crate) noise: f64,
}

impl CommonCause {
    /// The law of either feature on its own.
    pub(crate) fn margin(&self) -> Blurred {
        ParentChild::new(PiecewiseUniform::on(0.0, 1.0), self.noise).child()
    }

    /// Mean and variance of u given that one feature equals `x`: a normal cut off at 0 and 1.
    pub(crate) fn cause_given(&self, x: f64) -> (f64, f64) {
        let cut = CutOff::around(x, self.noise);
        if cut.is_far() {
            let (beyond, variance) = moments_beyond(cut.nearest, 1.0 / self.noise);
            let mean = if x > 0.5 { 1.0 - self.noise * beyond } else { self.noise * beyond };
            return (mean, self.noise * self.noise * variance);
        }
        let density = |u: f64| cut.relative(u) / cut.mass;
        let shift = density(cut.from) - density(cut.to);
        let bend = cut.from * density(cut.from) - cut.to * density(cut.to);
        (x + self.noise * shift, self.noise * self.noise * (1.0 + bend - shift * shift))
    }
}

impl Block for CommonCause {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        match given.iter().find(|(feature, _)| *feature != target) {
            Some(&(_, x)) => Box::new(Sibling::new(x, self.noise)),
            None => Box::new(self.margin()),
        }
    }

    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        broken.passage(0.0, 1.0, SQRT_2 * self.noise)
    }

    fn draws(&self) -> usize {
        3
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let len = values.len() / 2;
        let (causes, noise) = drawn.split_at(len);
        for (values, noise) in values.chunks_exact_mut(len).zip(noise.chunks_exact(len)) {
            for ((value, &cause), &p) in values.iter_mut().zip(causes).zip(noise) {
                *value = cause + self.noise * normal_quantile(p);
            }
        }
    }
}

/// The interval [0, 1] as a standard normal around `centre` sees it.
struct CutOff {
    from: f64,
    to: f64,
    /// Distance of the interval from the centre in standard deviations.
    nearest: f64,
    /// `∫ exp(−(u² − nearest²)/2) du` over it: relative to its largest value, so that it does not
    /// underflow.
    mass: f64,
}

impl CutOff {
    fn around(centre: f64, sd: f64) -> Self {
        let (from, to) = (-centre / sd, (1.0 - centre) / sd);
        let nearest = told(from.max(-to).max(0.0));
        let mass = if nearest > FAR {
            mass_beyond(nearest, 0.0, 1.0 / sd)
        } else {
            shifted_normal_mass(from, to, nearest)
        };
        Self { from, to, nearest, mass }
    }

    /// True if the centre is so far outside that formulas around it cancel.
    fn is_far(&self) -> bool {
        self.nearest > FAR
    }

    /// `exp(−u²/2)` relative to its largest value on the interval.
    fn relative(&self, u: f64) -> f64 {
        (-0.5 * (u - self.nearest) * (u + self.nearest)).exp()
    }
}

/// The law of one feature given that the other equals `other`.
struct Sibling {
    other: f64,
    noise: f64,
    given: CutOff,
}

impl Sibling {
    fn new(other: f64, noise: f64) -> Self {
        Self { other, noise, given: CutOff::around(other, noise) }
    }

    /// The mass between two points that lie in the same panel.
    fn mass(&self, from: f64, to: f64) -> f64 {
        fixed(from, to, |x| self.pdf(x))
    }
}

impl Univariate for Sibling {
    fn pdf(&self, x: f64) -> f64 {
        // Given both features u is a normal around their mean; the distance between them has the
        // density of a normal difference.
        let both = CutOff::around(0.5 * (x + self.other), self.noise / SQRT_2);
        let exponent = if both.is_far() && self.given.is_far() {
            // The squares of all distances from the end add up to that of this one.
            ((x - self.other.clamp(0.0, 1.0)) / self.noise).powi(2)
        } else {
            let apart = (x - self.other) / (SQRT_2 * self.noise);
            apart * apart + both.nearest * both.nearest - self.given.nearest.powi(2)
        };
        (-0.5 * exponent).exp() * both.mass / (self.given.mass * 2.0 * PI.sqrt() * self.noise)
    }

    fn cdf(&self, x: f64) -> f64 {
        let panels = self.panels();
        let below = panels.windows(2).filter(|ends| ends[0] < x);
        below.map(|ends| self.mass(ends[0], ends[1].min(x))).sum::<f64>().min(1.0)
    }

    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn panels(&self) -> Vec<f64> {
        let peak = self.other.clamp(0.0, 1.0);
        let reach = self.noise * self.given.nearest.hypot(10.0);
        let low = (self.other - reach).max(0.0).min(peak) - 10.0 * self.noise;
        let high = (self.other + reach).min(1.0).max(peak) + 10.0 * self.noise;
        let inner = [-8.0, -5.0, -2.5, 0.0, 2.5, 5.0, 8.0].map(|z| peak + z * self.noise);
        crate::numeric::quadrature::within(&inner, low, high)
    }

    /// Newton's method inside the panel that holds the quantile, kept between bounds.
    fn quantile(&self, p: f64) -> f64 {
        let panels = self.panels();
        let mut before = 0.0;
        for ends in panels.windows(2) {
            let mass = self.mass(ends[0], ends[1]);
            if p >= before + mass {
                before += mass;
                continue;
            }
            let (mut low, mut high) = (ends[0], ends[1]);
            let mut x = low + (high - low) * ((p - before) / mass).clamp(0.0, 1.0);
            for _ in 0..100 {
                let excess = before + self.mass(ends[0], x) - p;
                if excess < 0.0 {
                    low = x;
                } else {
                    high = x;
                }
                let newton = x - excess / self.pdf(x);
                let next = if low < newton && newton < high { newton } else { 0.5 * (low + high) };
                if (next - x).abs() <= 1e-14 * self.noise {
                    return next;
                }
                x = next;
            }
            return x;
        }
        panels[panels.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::{Estimate, integrate};

    /// The joint density is symmetric, and conditional laws have mass 1 and the mean of the cause.
    #[test]
    fn conditional_laws_are_those_of_one_joint_density() {
        for noise in [1e-6, 0.05, 0.8, 10.0] {
            let law = CommonCause { noise };
            let margin = law.margin();
            // Distances in units of fine noise carry the rounding of the points.
            let rounding = 1e-12 + 3e-17 / noise;
            for x in [-3.0 * noise, 0.37, 1.0, 1.0 + 6.0 * noise] {
                let sibling = Sibling::new(x, noise);
                let [mass, mean] = integrate(&sibling.panels(), 0.0, |y| {
                    let density = sibling.pdf(y);
                    [density, y * density].map(Estimate::exact)
                });
                assert!((mass.value - 1.0).abs() < rounding, "{noise} {x}: {mass:?}");
                let cause = law.cause_given(x).0;
                assert!(
                    (mean.value - cause).abs() < 10.0 * rounding,
                    "{noise} {x}: {mean:?} {cause}"
                );
                let y = x + 0.7 * noise;
                let (there, back) = (sibling.pdf(y) * margin.pdf(x), Sibling::new(y, noise).pdf(x));
                assert!((there / (back * margin.pdf(y)) - 1.0).abs() < 1e-8, "{noise} {x}");
                for p in [0.003, 0.5, 0.98] {
                    assert!((sibling.cdf(sibling.quantile(p)) - p).abs() < 10.0 * rounding);
                }
            }
        }
    }

    /// As they are nearby, so they are where one feature is many deviations outside.
    #[test]
    fn laws_given_a_feature_far_out_are_those_of_one_joint_density() {
        let law = CommonCause { noise: 0.05 };
        let margin = law.margin();
        crate::law::consistency::assert_is_a_law(&*law.conditional(0, &[(1, 0.3)]), 1e-10, "near");
        for other in [1.6, 2.0, -0.9] {
            let sibling = Sibling::new(other, 0.05);
            let [mass] = integrate(&sibling.panels(), 0.0, |x| [Estimate::exact(sibling.pdf(x))]);
            assert!((mass.value - 1.0).abs() < 1e-11, "{other}: {mass:?}");
            for x in [0.02, 0.3, 0.7, 0.9, 1.05] {
                let (there, back) = (sibling.pdf(x), Sibling::new(x, 0.05).pdf(other));
                let ratio = there * margin.pdf(other) / (back * margin.pdf(x));
                assert!((ratio - 1.0).abs() < 1e-9, "{other}, {x}: {ratio}");
            }
        }
    }

    /// An average over one feature breaks along the other on the scale of the difference of both noises.
    #[test]
    fn a_break_is_seen_through_both_noises() {
        let law = CommonCause { noise: 0.2 };
        let seen = law.shadow(Crossing { of: 0, along: 1, slope: 0.0, at: 0.4 });
        let known = crate::law::NORMAL_PANELS.map(|z| 0.4 + z * SQRT_2 * 0.2);
        assert_eq!(seen.len(), known.len());
        assert!(seen.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-14), "{seen:?}");
    }
}
