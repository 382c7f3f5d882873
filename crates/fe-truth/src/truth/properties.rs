//! Properties of a problem that estimators may find hard: interactions, dependence, roughness.

use super::curves::{integrated, truth};
use crate::engine::{Engine, Rest};
use crate::error::Error;
use crate::function::Term;
use crate::law::{Block, Crossing, Law, Univariate};
use crate::numeric::quadrature::{Estimate, integrate, within};
use crate::scenario::Scenario;

/// Probabilities between whose quantiles changes of partial dependence are summed.
const STEPS: usize = 100;

/// Rows by which the standard deviation of f is told.
const ROWS: usize = 4096;

/// Properties of a problem, by quadrature where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Properties {
    /// Number of features.
    pub features: usize,
    /// Number of features that f reads.
    pub active: usize,
    /// Share of the variance of f that is not the variance of a sum of functions of one feature, were
    /// the features independent with the laws that they have: 1 − Σ Var PD_s / Var f.
    pub interaction_share: f64,
    /// Largest absolute correlation of two features.
    pub largest_correlation: f64,
    /// Mean total variation of the partial dependences between 100 quantiles, each in units of its own
    /// standard deviation and weighted by its variance: 3.4 for a line in a uniform feature.
    pub roughness: f64,
    /// Number of fixed places at which f jumps or has a kink along a feature, over all features.
    pub breaks: usize,
    /// Standard deviation of f over 4096 rows that fill the law evenly: to a hundredth or so, where
    /// [`Scenario::sd`] may be an integral over many features that depend on each other.
    pub sd: f64,
}

/// The law of one feature, whatever the others are.
struct Margin {
    law: Law,
    feature: usize,
}

impl Block for Margin {
    fn conditional(&self, _: usize, _: &[(usize, f64)]) -> Box<dyn Univariate> {
        self.law.marginal(self.feature)
    }

    fn shadow(&self, _: Crossing) -> Vec<f64> {
        Vec::new()
    }
}

impl Scenario {
    /// Properties of the problem.
    ///
    /// # Errors
    /// [`Error::NoTruth`] where what they are made of is infinite or cannot be integrated.
    ///
    /// ```
    /// let text = "f = \"x1 + x2 + x1*x2\"\n[law]\nx1 = \"normal(0, 1)\"\nx2 = \"normal(0, 1)\"\n";
    /// let properties = fe_truth::problem("mine", text, &[]).unwrap().properties().unwrap();
    /// assert!((properties.interaction_share - 1.0 / 3.0).abs() < 1e-9);
    /// assert_eq!((properties.active, properties.largest_correlation), (2, 0.0));
    /// ```
    pub fn properties(&self) -> Result<Properties, Error> {
        self.begin();
        let engine = &self.parts.engine;
        let features = self.dimension();
        let active: Vec<usize> = (0..features).filter(|&s| !engine.readers(s).is_empty()).collect();
        let mut law = Law::new();
        for feature in 0..features {
            law = law.with(&[feature], Margin { law: engine.law().clone(), feature });
        }
        let apart = engine.given(law);
        let total = apart.variance_f();
        let (mut additive, mut variation) = (Estimate::default(), 0.0);
        for &s in &active {
            let variance = self.variance_of_dependence(&apart, s);
            additive = additive.plus(variance);
            let sd = variance.value.max(0.0).sqrt();
            if sd > 1e-9 * total.value.max(0.0).sqrt() {
                variation += self.variation_of_dependence(&apart, s) * sd;
            }
        }
        self.judge([total, additive].map(|answer| truth(integrated(answer))))?;
        let is_additive = active.iter().all(|&s| engine.is_additive(s));
        let share = 1.0 - additive.value / total.value;
        let has_interactions = !is_additive && total.value > 0.0;
        Ok(Properties {
            features,
            active: active.len(),
            interaction_share: if has_interactions { share.clamp(0.0, 1.0) } else { 0.0 },
            largest_correlation: self.largest_correlation(),
            roughness: if additive.value > 0.0 { variation / additive.value } else { 0.0 },
            breaks: (0..features).map(|s| self.breaks(s).len()).sum(),
            sd: self.sd_of_rows(),
        })
    }

    fn sd_of_rows(&self) -> f64 {
        let engine = &self.parts.engine;
        let values: Vec<f64> =
            engine.law().spread(ROWS).iter().map(|row| engine.value(row)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        (squares.sum::<f64>() / values.len() as f64).sqrt()
    }

    /// Var PD_s of independent features.
    fn variance_of_dependence(&self, apart: &Engine, s: usize) -> Estimate {
        let law = apart.margin(s);
        let at = |x: f64| {
            let value = apart.mean_value(s, x, Rest::Marginal);
            value.squared_from(apart.mean_f().value)
        };
        if let Some(levels) = law.levels() {
            return Estimate::sum(levels.iter().map(|(x, p)| at(x).times(p)));
        }
        let panels = law.panels();
        let points = [self.resolution(s), &panels].concat();
        let points = within(&points, panels[0], panels[panels.len() - 1]);
        let mean = apart.mean_f();
        let floor = (1e-13 * mean.magnitude).powi(2);
        let [variance] = integrate(&points, floor, |u| [law.weighed(u, at(law.place(u)))]);
        variance
    }

    /// Total variation of PD_s between quantiles of the feature.
    fn variation_of_dependence(&self, apart: &Engine, s: usize) -> f64 {
        let law = apart.margin(s);
        let at = |k: usize| {
            let x = law.quantile((k as f64 + 0.5) / STEPS as f64);
            apart.mean_value(s, x, Rest::Marginal).value
        };
        let values: Vec<f64> = (0..STEPS).map(at).collect();
        values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum()
    }

    fn largest_correlation(&self) -> f64 {
        let engine = &self.parts.engine;
        let features = self.dimension();
        let mut largest: f64 = 0.0;
        for a in 0..features {
            for b in (0..a).filter(|&b| engine.law().related(a, b)) {
                let [first, second] = [a, b].map(|s| engine.moments_of(s));
                let centred = move |row: &[f64]| {
                    (row[a] - first.0) / first.1 * (row[b] - second.0) / second.1
                };
                let product = Term::new(&[b, a], centred, |_, _| f64::NAN);
                self.begin();
                let correlation = engine.mean_of(product).value.abs();
                if correlation.is_finite() {
                    largest = largest.max(correlation.min(1.0));
                }
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use crate::problem;

    fn properties(f: &str, law: &str) -> super::Properties {
        problem("mine", &format!("f = \"{f}\"\n[law]\n{law}"), &[]).unwrap().properties().unwrap()
    }

    #[test]
    fn of_known_problems() {
        let uniform = "a = \"uniform(0, 1)\"\nb = \"uniform(0, 1)\"\nc = \"uniform(0, 1)\"\n";
        let line = properties("3*a + b", uniform);
        assert_eq!((line.features, line.active, line.breaks), (3, 2, 0));
        assert_eq!((line.interaction_share, line.largest_correlation), (0.0, 0.0));
        assert!((line.sd / (10.0_f64 / 12.0).sqrt() - 1.0).abs() < 0.01, "{line:?}");
        // 0.99 of the length, over the standard deviation √(1/12).
        assert!((line.roughness - 0.99 * 12_f64.sqrt()).abs() < 1e-9, "{line:?}");
        // A dependence changes the correlation, and no other property.
        let child = "a = \"normal(0, 1)\"\nb = \"0.6*a + normal(0, 0.8)\"\n";
        let product = properties("a*b + a", child);
        assert!((product.largest_correlation - 0.6).abs() < 1e-9, "{product:?}");
        assert!((product.interaction_share - 0.5).abs() < 1e-9, "{product:?}");
        let step = properties("if(a < 0.5, -1, 1) + if(a < 0.5, 0, 1)*b", uniform);
        assert_eq!(step.breaks, 1);
        assert!(step.roughness > 2.0 && step.interaction_share > 0.0, "{step:?}");
        let nothing = properties("1", uniform);
        assert_eq!((nothing.interaction_share, nothing.roughness), (0.0, 0.0));
    }
}
