//! Uniform features tied together by a Gaussian copula with one correlation for all pairs.

use super::{Block, Crossing, NORMAL_PANELS, PiecewiseUniform, Univariate};
use crate::numeric::special::{normal_between, normal_cdf, normal_pdf, normal_quantile};

/// Each of `dimension` features is Φ(z_j), the z_j standard normal with correlation `rho` between
/// any two, which must lie strictly between −1/(dimension − 1) and 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GaussianCopula {
    pub(crate) rho: f64,
    pub(crate) dimension: usize,
}

impl GaussianCopula {
    /// The law of a latent variable given how many others, with that sum.
    fn latent(&self, count: usize, sum: f64) -> Latent {
        if count == 0 || self.rho == 0.0 {
            return Latent { mean: 0.0, sd: 1.0 };
        }
        let share = self.rho / (1.0 + (count as f64 - 1.0) * self.rho);
        // 1 − count · rho · share, in the form that does not cancel.
        let variance = (1.0 - self.rho) * (1.0 + share);
        Latent { mean: share * sum, sd: variance.sqrt() }
    }
}

/// The latent variable of a feature. At the ends it is so far out that nothing changes beyond, but
/// finite, so that two of them do not make an undefined sum.
pub(crate) fn latent(x: f64) -> f64 {
    normal_quantile(x).clamp(-1e9, 1e9)
}

/// Least conditional mean of a latent variable that tells that one which is known is at an end: each other one adds less than 40.
const AT_AN_END: f64 = 5e5;

impl Block for GaussianCopula {
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate> {
        let others = given.iter().filter(|(feature, _)| *feature != target);
        let latent: Vec<f64> = others.map(|&(_, z)| z).collect();
        Box::new(self.latent(latent.len(), latent.iter().sum()))
    }

    /// As the latent variable.
    fn known(&self, _: usize, x: f64) -> f64 {
        latent(x)
    }

    fn are_alike(&self, _: usize, _: usize) -> bool {
        true
    }

    /// The sum: all latent variables are alike.
    fn summary(&self, given: &[(usize, f64)]) -> Option<f64> {
        (!given.is_empty()).then(|| given.iter().map(|(_, z)| z).sum())
    }

    fn told(&self, given: &[(usize, f64)], summary: f64) -> Vec<(usize, f64)> {
        let each = summary / given.len() as f64;
        given.iter().map(|&(feature, _)| (feature, each)).collect()
    }

    /// Of a correlation that is not negative its root.
    fn common_factor(&self, _: usize) -> Option<f64> {
        (self.rho >= 0.0).then(|| self.rho.sqrt())
    }

    fn given_factor(&self, _: usize, factor: f64) -> Box<dyn Univariate> {
        Box::new(Latent { mean: self.rho.sqrt() * factor, sd: (1.0 - self.rho).sqrt() })
    }

    fn alone(&self, _: usize) -> Box<dyn Univariate> {
        Box::new(PiecewiseUniform::on(0.0, 1.0))
    }

    /// In the latent variables the features are normal; a break across them is no straight line
    /// there, and is left to adaptivity.
    fn shadow(&self, broken: Crossing) -> Vec<f64> {
        if self.rho == 0.0 || broken.slope != 0.0 {
            return Vec::new();
        }
        let scale = ((1.0 - self.rho) * (1.0 + self.rho)).sqrt();
        let latent = Crossing { at: normal_quantile(broken.at), ..broken };
        latent.passage(0.0, self.rho, scale).into_iter().map(normal_cdf).collect()
    }

    fn draws(&self) -> usize {
        self.dimension
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let len = values.len() / self.dimension;
        let mut sums = vec![0.0; len];
        let columns = values.chunks_exact_mut(len).zip(drawn.chunks_exact(len));
        for (count, (values, drawn)) in columns.enumerate() {
            for ((value, &p), sum) in values.iter_mut().zip(drawn).zip(&mut sums) {
                let Latent { mean, sd } = self.latent(count, *sum);
                let z = mean + sd * normal_quantile(p);
                *sum += z;
                *value = normal_cdf(z);
            }
        }
    }
}

/// Φ(z) with z normal. Its coordinate is z, standardised: in it everything is smooth, where the
/// density on [0, 1] may be infinite at the ends.
#[derive(Debug, Clone, Copy)]
struct Latent {
    mean: f64,
    sd: f64,
}

impl Univariate for Latent {
    fn pdf(&self, x: f64) -> f64 {
        let u = self.coordinate(x);
        let z = normal_quantile(x);
        (0.5 * (z - u) * (z + u)).exp() / self.sd
    }

    fn cdf(&self, x: f64) -> f64 {
        normal_cdf(self.coordinate(x))
    }

    fn support(&self) -> (f64, f64) {
        (0.0, 1.0)
    }

    fn panels(&self) -> Vec<f64> {
        NORMAL_PANELS.to_vec()
    }

    fn coordinate(&self, x: f64) -> f64 {
        (normal_quantile(x) - self.mean) / self.sd
    }

    fn place(&self, u: f64) -> f64 {
        let inside = normal_cdf(self.mean + self.sd * u);
        // At the very ends the normal score is infinite, and nothing is left of a region far from them.
        if u.is_finite() {
            inside.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0)
        } else {
            inside
        }
    }

    fn known(&self, u: f64) -> f64 {
        self.mean + self.sd * u
    }

    fn stretch(&self, u: f64) -> f64 {
        self.sd * normal_pdf(self.mean + self.sd * u)
    }

    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }

    fn weight(&self, u: f64) -> f64 {
        normal_pdf(u)
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        normal_between(self.coordinate(from.max(0.0)), self.coordinate(to.min(1.0)))
    }

    fn resolves_small_masses(&self) -> bool {
        true
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        let nearest = self.nearest(from, to)?;
        Some(Box::new(Self { mean: nearest, sd: f64::EPSILON }))
    }

    fn nearest(&self, from: f64, to: f64) -> Option<f64> {
        let is_at_an_end = self.mean.abs() > AT_AN_END;
        is_at_an_end.then(|| self.mean.clamp(latent(from.max(0.0)), latent(to.min(1.0))))
    }

    fn quantile(&self, p: f64) -> f64 {
        self.place(normal_quantile(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::{Estimate, integrate};

    /// The density of one latent variable given others is the ratio of joint densities: checked by
    /// its moments against the inverse of the correlation matrix of three.
    #[test]
    fn conditional_moments() {
        for rho in [-0.3, 0.5, 0.9] {
            let block = GaussianCopula { rho, dimension: 3 };
            let Latent { mean, sd } = block.latent(2, 0.7 - 1.1);
            // Regression on two equally correlated variables.
            let expected = rho * (1.0 - rho) / (1.0 - rho * rho) * (0.7 - 1.1);
            assert!((mean - expected).abs() < 1e-14, "{rho}");
            let variance = 1.0 - 2.0 * rho * rho / (1.0 + rho);
            assert!((sd * sd - variance).abs() < 1e-14, "{rho}");
        }
    }

    #[test]
    fn densities_are_consistent() {
        let law = GaussianCopula { rho: 0.6, dimension: 2 }.conditional(1, &[(0, latent(0.2))]);
        let [total] = integrate(&law.panels(), 0.0, |u| [Estimate::exact(law.weight(u))]);
        assert!((total.value - 1.0).abs() < 1e-14);
        for u in [-2.0, 0.3, 1.7] {
            let x = law.place(u);
            assert!((law.coordinate(x) - u).abs() < 1e-13);
            assert!((law.pdf(x) * law.stretch(u) / law.weight(u) - 1.0).abs() < 1e-12);
            let slope = (law.cdf(x + 1e-6) - law.cdf(x - 1e-6)) / 2e-6;
            assert!((law.pdf(x) / slope - 1.0).abs() < 1e-7);
        }
    }

    /// A break at a score z is seen about the score z/ρ, on the scale √(1 − ρ²)/ρ.
    #[test]
    fn a_break_casts_a_shadow_between_scores() {
        let law = GaussianCopula { rho: 0.6, dimension: 2 };
        let seen = law.shadow(Crossing { of: 0, along: 1, slope: 0.0, at: 0.7 });
        let z = normal_quantile(0.7);
        let known = NORMAL_PANELS.map(|panel| normal_cdf(z / 0.6 + panel * 0.8 / 0.6));
        assert_eq!(seen.len(), known.len());
        assert!(seen.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-14), "{seen:?}");
    }
}
