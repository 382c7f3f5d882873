//! Uniform in the logarithm.

use super::Univariate;

/// exp(u) with u uniform between the logarithms of two positive ends. Its coordinate is u.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogUniform {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl LogUniform {
    fn span(&self) -> f64 {
        (self.high / self.low).ln()
    }
}

impl Univariate for LogUniform {
    fn pdf(&self, x: f64) -> f64 {
        if (self.low..=self.high).contains(&x) { 1.0 / (x * self.span()) } else { 0.0 }
    }

    fn cdf(&self, x: f64) -> f64 {
        ((x.max(self.low) / self.low).ln() / self.span()).min(1.0)
    }

    fn support(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn panels(&self) -> Vec<f64> {
        vec![self.low.ln(), self.high.ln()]
    }

    fn coordinate(&self, x: f64) -> f64 {
        x.ln()
    }

    fn place(&self, u: f64) -> f64 {
        u.exp().clamp(self.low, self.high)
    }

    fn stretch(&self, u: f64) -> f64 {
        u.exp()
    }

    fn weight(&self, _: f64) -> f64 {
        1.0 / self.span()
    }

    fn mass(&self, from: f64, to: f64) -> f64 {
        (to.min(self.high) / from.max(self.low)).ln() / self.span()
    }

    fn resolves_small_masses(&self) -> bool {
        true
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        Some(Box::new(Self { low: self.low.max(from), high: self.high.min(to) }))
    }

    fn quantile(&self, p: f64) -> f64 {
        (self.low * (p * self.span()).exp()).clamp(self.low, self.high)
    }
}
