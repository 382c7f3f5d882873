//! Scores of an engine's answers, against the truths that its declaration names.

use std::sync::Arc;

use fe_truth::{Quantity, Scenario, Truth};

use super::{Answer, External};
use crate::score::metric::ScoringTree;
use crate::score::regions::RegionTruths;
use crate::score::{self, Comparing, CurvePoint, Metric, Provenance, Score, Truths, given_tree};

/// An answer with the truths of its scenario.
pub struct Scored<'a> {
    answer: &'a Answer,
    truths: &'a Truths,
    scenario: &'a Scenario,
    feature: usize,
}

impl External {
    /// An answer about a feature, counted from 0, to be scored.
    #[must_use]
    pub fn scored<'a>(
        answer: &'a Answer,
        truths: &'a Truths,
        scenario: &'a Scenario,
        feature: usize,
    ) -> Scored<'a> {
        Scored { answer, truths, scenario, feature }
    }
}

impl Scored<'_> {
    /// Scores the answer: both curves are centred on the points, and a band moves with its curve.
    ///
    /// # Errors
    /// Why there is nothing to compare.
    pub fn score(&self, metric: Metric, comparing: Comparing<'_>) -> Result<Score, String> {
        if metric.is_of_values() {
            return Err("engines give heterogeneity curves, not values".to_owned());
        }
        if metric.of_heterogeneity().is_some() {
            return self.heterogeneity(metric, comparing);
        }
        match &self.answer.band {
            _ if !metric.is_of_curves() => Err("engines give curves, not bins".to_owned()),
            _ if !metric.is_of_bands() => self.of_curve(metric, comparing.points, comparing),
            None => Err("the engine gave no band".to_owned()),
            Some((lower, upper)) => {
                let has = |x: &f64| {
                    let limits = (lower.at(*x), upper.at(*x));
                    matches!(limits, (Ok(l), Ok(u)) if l.is_finite() && u.is_finite())
                };
                let points: Vec<f64> = comparing.points.iter().copied().filter(has).collect();
                self.of_curve(metric, &points, comparing)
            }
        }
    }

    /// Scores the tree of a regional effect, of an estimator by its name, against the population's tree.
    ///
    /// # Errors
    /// Why there is nothing to compare.
    pub fn score_tree(
        &self,
        estimator: &str,
        metric: Metric,
        regions: &RegionTruths,
        comparing: Comparing<'_>,
    ) -> Result<Score, String> {
        if self.answer.tree.is_null() {
            return Err("the engine gave no tree of regions".to_owned());
        }
        let feature = self.scenario.feature_name(self.feature);
        let tree =
            given_tree::of_engine(&self.answer.tree, (feature.as_str(), estimator), self.scenario)?;
        let all = comparing.points.len();
        let points = tree.covered(comparing.points);
        let left_out = comparing.left_out + all - points.len();
        let comparing = Comparing { points: &points, left_out, ..comparing };
        let (truths, scenario) = (regions, self.scenario);
        Ok(metric.of_tree(&ScoringTree { truths, scenario, tree: &tree, comparing }))
    }

    fn of_curve(
        &self,
        metric: Metric,
        points: &[f64],
        comparing: Comparing<'_>,
    ) -> Result<Score, String> {
        if points.is_empty() {
            return Err("no grid point lies within the limits of every estimate".to_owned());
        }
        let curve = self.answer.at(points).map_err(|e| e.to_string())?;
        let truths = self.truth(self.answer.truth, points)?;
        let left_out = comparing.left_out + comparing.points.len() - points.len();
        let score = metric.of_given(&curve, &truths, comparing.comparison, left_out);
        score.ok_or_else(|| format!("no value of {}", metric.name()))
    }

    fn truth(&self, effect: Quantity, points: &[f64]) -> Result<Arc<[Truth]>, String> {
        self.truths.on_points(self.scenario, effect, self.feature, points)
    }

    /// The true heterogeneity at some points: a variance.
    fn true_heterogeneity(&self, points: &[f64]) -> Result<Vec<Truth>, String> {
        let Some(effect) = self.answer.true_heterogeneity else {
            return Err("the engine's heterogeneity has no truth".to_owned());
        };
        let (of, axis) = (self.scenario, self.answer.axis);
        self.truths.variance(of, effect, self.feature, points, axis)
    }

    fn heterogeneity(&self, metric: Metric, comparing: Comparing<'_>) -> Result<Score, String> {
        let Some(heterogeneity) = &self.answer.heterogeneity else {
            return Err("the engine gave no heterogeneity".to_owned());
        };
        let all = heterogeneity.at_all(comparing.points).map_err(|e| e.to_string())?;
        let defined = |(_, value): &(&f64, &f64)| value.is_finite();
        let (points, mut effect): (Vec<f64>, Vec<f64>) =
            comparing.points.iter().zip(&all).filter(defined).unzip();
        let mut truths = self.true_heterogeneity(&points)?;
        let Some((roots, value)) = metric.of_heterogeneity() else {
            return Err(format!("no value of {}", metric.name()));
        };
        if roots {
            // Rounding may leave a variance a little below 0.
            effect.iter_mut().for_each(|variance| *variance = variance.max(0.0));
            score::take_roots(&mut effect, &mut truths);
        }
        let left_out = comparing.left_out + comparing.points.len() - points.len();
        // Variances and their roots are compared as they are.
        let truth: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
        let value = (!truths.is_empty()).then(|| value(&effect, &truth));
        let none = truths.is_empty();
        let provenance = if none { Provenance::NONE } else { Provenance::of_curve(&truths) };
        Ok(Score::of(value, &provenance, truths.len(), left_out))
    }

    /// The curve beside its truth, both centred on the points.
    ///
    /// # Errors
    /// Why there is none.
    pub fn curve(&self, comparing: Comparing<'_>) -> Result<Vec<CurvePoint>, String> {
        let curve = self.answer.at(comparing.points).map_err(|e| e.to_string())?;
        let truths = self.truth(self.answer.truth, comparing.points)?;
        let values: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
        let estimate = fe_core::metric::centred_on_grid(&curve.effect);
        let truth = fe_core::metric::centred_on_grid(&values);
        let point = |(i, &x): (usize, &f64)| CurvePoint {
            x,
            effect: Some(estimate[i]),
            heterogeneity: self.answer.heterogeneity.as_ref().and_then(|h| h.at(x).ok()),
            truth: Some(truth[i]),
            truth_abs_error: Some(truths[i].abs_error),
            confidence: [None; 4],
        };
        Ok(comparing.points.iter().enumerate().map(point).collect())
    }
}
