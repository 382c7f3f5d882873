//! Laws of features with levels: finitely many values, each with a probability.

use super::Univariate;

/// Values in ascending order with their probabilities. In the coordinate each has a panel of length 1 in
/// which it is constant, so that what integrates along a coordinate sums here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Levels {
    values: Vec<f64>,
    probabilities: Vec<f64>,
}

impl Levels {
    /// Of values in ascending order with numbers that are proportional to their probabilities; those
    /// of no probability are left out.
    pub(crate) fn new(weights: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (values, weights): (Vec<f64>, Vec<f64>) =
            weights.into_iter().filter(|(_, weight)| *weight > 0.0).unzip();
        let total: f64 = weights.iter().sum();
        let probabilities = weights.into_iter().map(|weight| weight / total).collect();
        Self { values, probabilities }
    }

    /// The same values with their probabilities times numbers that need not sum to one; with no probabilities
    /// at all where all those are 0.
    pub(crate) fn reweighted(&self, by: impl Fn(f64) -> f64) -> Self {
        let weights: Vec<(f64, f64)> = self.iter().map(|(x, p)| (x, p * by(x))).collect();
        if weights.iter().any(|(_, weight)| *weight > 0.0) {
            return Self::new(weights);
        }
        let probabilities = vec![f64::NAN; self.values.len()];
        Self { values: self.values.clone(), probabilities }
    }

    /// Probability of the levels for which something holds.
    pub(crate) fn share(&self, holds: impl Fn(f64) -> bool) -> f64 {
        self.iter().filter(|(x, _)| holds(*x)).map(|(_, p)| p).sum()
    }

    /// Of counts from `first` on, from the quotients of neighbouring probabilities, those after the
    /// largest over those before it, down to where nothing counts.
    pub(crate) fn counts(mode: u64, last: Option<u64>, ratio: impl Fn(u64) -> f64) -> Self {
        const LEAST: f64 = 1e-22;
        let mut below = Vec::new();
        let mut weight = 1.0;
        for k in (0..mode).rev() {
            weight /= ratio(k + 1);
            if weight < LEAST {
                break;
            }
            below.push((k as f64, weight));
        }
        below.reverse();
        below.push((mode as f64, 1.0));
        weight = 1.0;
        let mut k = mode;
        while last.is_none_or(|last| k < last) {
            k += 1;
            weight *= ratio(k);
            if weight < LEAST {
                break;
            }
            below.push((k as f64, weight));
        }
        Self::new(below)
    }

    /// Values with their probabilities.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.values.iter().copied().zip(self.probabilities.iter().copied())
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The place of a value among the levels.
    pub(crate) fn position(&self, x: f64) -> Option<usize> {
        self.values.iter().position(|value| *value == x)
    }

    /// Probability of a value.
    pub(crate) fn probability(&self, x: f64) -> f64 {
        self.position(x).map_or(0.0, |place| self.probabilities[place])
    }

    /// Probabilities of what is at most x, and of what is above it.
    pub(crate) fn tails(&self, x: f64) -> [f64; 2] {
        let below = self.values.partition_point(|value| *value <= x);
        let sum = |part: &[f64]| part.iter().sum::<f64>();
        [sum(&self.probabilities[..below]), sum(&self.probabilities[below..])]
    }

    /// The smallest value up to which there is a probability.
    pub(crate) fn inverse(&self, p: f64) -> f64 {
        let mut sum = 0.0;
        for (value, probability) in self.iter() {
            sum += probability;
            if p <= sum {
                return value;
            }
        }
        self.values[self.values.len() - 1]
    }

    fn place_of(&self, u: f64) -> usize {
        (u.max(0.0) as usize).min(self.values.len() - 1)
    }
}

impl Univariate for Levels {
    fn levels(&self) -> Option<&Levels> {
        Some(self)
    }

    fn pdf(&self, x: f64) -> f64 {
        self.probability(x)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.tails(x)[0]
    }

    fn support(&self) -> (f64, f64) {
        (self.values[0], self.values[self.values.len() - 1])
    }

    fn panels(&self) -> Vec<f64> {
        (0..=self.values.len()).map(|k| k as f64).collect()
    }

    fn coordinate(&self, x: f64) -> f64 {
        self.values.partition_point(|value| *value < x) as f64 + 0.5
    }

    fn place(&self, u: f64) -> f64 {
        self.values[self.place_of(u)]
    }

    fn known(&self, u: f64) -> f64 {
        self.place(u)
    }

    fn weight(&self, u: f64) -> f64 {
        self.probabilities[self.place_of(u)]
    }

    fn quantile(&self, p: f64) -> f64 {
        self.inverse(p)
    }

    fn doubt(&self) -> f64 {
        1e-14
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_summed_over() {
        let law = Levels::new([(1.0, 2.0), (2.0, 0.0), (5.0, 6.0)]);
        assert_eq!(law.iter().collect::<Vec<_>>(), [(1.0, 0.25), (5.0, 0.75)]);
        assert_eq!((law.cdf(0.9), law.cdf(1.0), law.cdf(7.0)), (0.0, 0.25, 1.0));
        assert_eq!((law.quantile(0.25), law.quantile(0.26)), (1.0, 5.0));
        assert_eq!(law.place(law.coordinate(5.0)), 5.0);
        let [mean] = crate::numeric::quadrature::integrate(&law.panels(), 0.0, |u| {
            [crate::numeric::quadrature::Estimate::exact(law.place(u) * law.weight(u))]
        });
        assert!((mean.value - 4.0).abs() < 1e-14);
        // Poisson counts of mean 3.
        let poisson = Levels::counts(3, None, |k| 3.0 / k as f64);
        assert!((poisson.probability(0.0) - (-3.0_f64).exp()).abs() < 1e-16);
        assert!((poisson.iter().map(|(x, p)| x * p).sum::<f64>() - 3.0).abs() < 1e-14);
    }
}
