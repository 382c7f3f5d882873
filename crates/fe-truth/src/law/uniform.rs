//! Uniform on adjoining pieces, with a weight for each.

use super::Univariate;

/// A density that is constant on each of several adjoining intervals.
#[derive(Debug, Clone)]
pub(crate) struct PiecewiseUniform {
    /// Limits of the pieces, ascending; one more than there are weights.
    limits: Vec<f64>,
    /// Probability of each piece, positive, with sum 1.
    weights: Vec<f64>,
}

impl PiecewiseUniform {
    pub(crate) fn new(limits: &[f64], weights: &[f64]) -> Self {
        Self { limits: limits.to_vec(), weights: weights.to_vec() }
    }

    /// The uniform law on one interval.
    pub(crate) fn on(low: f64, high: f64) -> Self {
        Self::new(&[low, high], &[1.0])
    }

    /// The law of a shift plus a slope, which is not 0, times a value.
    pub(crate) fn moved(&self, shift: f64, slope: f64) -> Self {
        let mut limits: Vec<f64> = self.limits.iter().map(|x| shift + slope * x).collect();
        let mut weights = self.weights.clone();
        if slope < 0.0 {
            limits.reverse();
            weights.reverse();
        }
        Self { limits, weights }
    }

    pub(crate) fn limits(&self) -> &[f64] {
        &self.limits
    }

    /// The pieces: lower limit, upper limit, probability.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        self.limits.windows(2).zip(&self.weights).map(|(ends, &w)| (ends[0], ends[1], w))
    }
}

impl Univariate for PiecewiseUniform {
    fn pdf(&self, x: f64) -> f64 {
        let last = self.limits[self.limits.len() - 1];
        self.pieces()
            .find(|&(a, b, _)| a <= x && (x < b || (x == b && b == last)))
            .map_or(0.0, |(a, b, w)| w / (b - a))
    }

    fn cdf(&self, x: f64) -> f64 {
        self.pieces().map(|(a, b, w)| w * ((x - a) / (b - a)).clamp(0.0, 1.0)).sum()
    }

    fn support(&self) -> (f64, f64) {
        (self.limits[0], self.limits[self.limits.len() - 1])
    }

    fn panels(&self) -> Vec<f64> {
        self.limits.clone()
    }

    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        let inside = self.pieces().filter(|&(a, b, _)| a < to && from < b);
        let cut = |(a, b, w): (f64, f64, f64)| {
            let (low, high) = (a.max(from), b.min(to));
            (low, high, w * (high - low) / (b - a))
        };
        let pieces: Vec<_> = inside.map(cut).collect();
        let total: f64 = pieces.iter().map(|piece| piece.2).sum();
        let mut limits: Vec<f64> = pieces.iter().map(|piece| piece.0).collect();
        limits.push(pieces.last()?.1);
        let weights = pieces.iter().map(|piece| piece.2 / total).collect();
        Some(Box::new(Self { limits, weights }))
    }

    fn quantiles(&self, probabilities: &[f64], values: &mut [f64]) {
        let places = values.iter_mut().zip(probabilities);
        match (self.limits.as_slice(), self.weights.as_slice()) {
            (&[a, b], &[1.0]) => places.for_each(|(value, p)| *value = a + (b - a) * p),
            _ => places.for_each(|(value, &p)| *value = self.quantile(p)),
        }
    }

    fn quantile(&self, p: f64) -> f64 {
        let mut before = 0.0;
        for (a, b, w) in self.pieces() {
            if p < before + w {
                return a + (b - a) * ((p - before) / w).max(0.0);
            }
            before += w;
        }
        self.support().1
    }
}
