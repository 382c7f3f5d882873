//! Regional estimators held to the population's tree: regret and the curves in the leaves.

use fe_core::regional::{self, RegionalInfo};
use fe_core::{Axis, AxisChoice, Dataset, Settings};
use fe_truth::Scenario;

use super::{Standard, Tests, shrinks};
use crate::score::comparison::Comparison;
use crate::score::metric::ScoringTree;
use crate::score::regions::{FoundTree, RegionTruths};
use crate::score::{Comparing, Metric};

/// Points at which curves in leaves are compared.
const POINTS: usize = 11;

/// Most features of a term for which trees are asked for at hundreds of positions, and for each dataset.
const MOST_OF_A_TERM: usize = 3;

/// Largest regret that is rounding, relative to the heterogeneity of all rows.
const ROUNDING: f64 = 1e-9;

/// A feature of a scenario whose effect is split.
pub(super) struct Splitting<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) feature: usize,
    pub(super) truths: RegionTruths,
}

impl Splitting<'_> {
    /// True if its regions are held to their truths: the features are independent, so that a region of
    /// others leaves the feature its axis, and do not enter alone, nor with so many that criteria take too long.
    pub(super) fn is_held(&self) -> bool {
        let independent = |feature| self.scenario.is_independent(feature);
        (0..self.scenario.dimension()).all(independent)
            && !self.scenario.is_additive(self.feature)
            && self.scenario.widest_term(self.feature) <= MOST_OF_A_TERM
    }

    /// Tests that regret and leaf errors fall from the small to the large datasets; none where the
    /// population has no first split, or several that are as good, or none is known.
    pub(super) fn tests(&self, info: &RegionalInfo, data: [&[Dataset]; 2]) -> Vec<Tests> {
        let all = data.map(|data| {
            data.iter().map(|data| self.errors(info, data)).collect::<Result<Vec<_>, String>>()
        });
        let (small, large) = match all {
            [Ok(small), Ok(large)] => (small, large),
            [Err(reason), _] | [_, Err(reason)] => {
                let outcome = Err(reason);
                return vec![Tests { kind: Standard::Regret, estimator: info.name, outcome }];
            }
        };
        let (small, large): (Vec<_>, Vec<_>) =
            (small.into_iter().flatten().collect(), large.into_iter().flatten().collect());
        if small.is_empty() || large.is_empty() {
            return Vec::new();
        }
        let test = |kind, what, of: fn(&Errors) -> f64| {
            let of_all = |errors: &[Errors]| errors.iter().map(of).collect::<Vec<f64>>();
            let outcome = shrinks(what, &of_all(&small), &of_all(&large));
            Tests { kind, estimator: info.name, outcome }
        };
        vec![
            test(Standard::Regret, "regret", |of| of.regret),
            test(Standard::LeafError, "squared error", |of| of.leaves),
        ]
    }

    /// The errors of a tree with one split; none where the population's is not unique.
    fn errors(&self, info: &RegionalInfo, data: &Dataset) -> Result<Option<Errors>, String> {
        let (lo, hi) = self.scenario.axis(self.feature);
        let points = Axis::new(lo, hi).map_err(|e| e.to_string())?.grid(POINTS);
        // Positions and bins of constant number would keep a constant error.
        let bins = (2.0 * (data.len() as f64).cbrt()) as usize;
        let has_bins = info.takes("bins");
        let settings = Settings {
            axis: Some(AxisChoice::Given(lo, hi)),
            points: Some(points.clone()),
            binning: (has_bins && info.takes("binning")).then(|| "fixed".to_owned()),
            bins: has_bins.then_some(bins),
            grid: info.takes("grid").then_some(POINTS),
            // Of an odd number one is in the middle.
            candidates: Some(data.len() / 16 * 2 + 1),
            depth: Some(1),
            ..Settings::default()
        };
        let fit = || {
            regional::from_settings(info.name, &settings)?.fit(
                data,
                self.scenario.model(),
                self.feature,
            )
        };
        let effects = fit().map_err(|e| e.to_string())?;
        let effect = effects.first().ok_or("no output")?;
        let tree = FoundTree::of(effect)?;
        let Ok(population) = self.truths.population(self.scenario, &tree) else { return Ok(None) };
        let root = population.nodes.first();
        let is_unique =
            root.and_then(|root| root.split.as_ref()).is_some_and(|s| s.ties.is_empty());
        if !is_unique {
            return Ok(None);
        }
        let comparing = Comparing { points: &points, left_out: 0, comparison: Comparison::Centred };
        let (truths, scenario) = (&self.truths, self.scenario);
        let of = ScoringTree { truths, scenario, tree: &tree, comparing };
        let value = |name: &str| {
            let score = name.parse::<Metric>()?.of_tree(&of);
            score.value.ok_or(score.status)
        };
        let regret = value("region_regret")?;
        let before = root.map_or(0.0, |root| root.heterogeneity.value);
        let regret = if regret.abs() <= ROUNDING * before { 0.0 } else { regret };
        Ok(Some(Errors { regret, leaves: value("leaf_mse")? }))
    }
}

/// The errors of a tree.
struct Errors {
    regret: f64,
    leaves: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A criterion of four features, of which a tree asks hundreds, would make a check of seconds one of minutes.
    #[test]
    fn trees_of_wide_terms_are_not_asked_for() {
        let is_held = |name: &str, feature: usize| {
            let scenario = &fe_truth::scenario(name, &[]).unwrap();
            Splitting { scenario, feature, truths: RegionTruths::default() }.is_held()
        };
        assert!(is_held("general-interaction", 0));
        assert!((0..6).all(|feature| !is_held("feynman-i29-16", feature)));
        assert!(!is_held("friedman1", 3));
    }
}
