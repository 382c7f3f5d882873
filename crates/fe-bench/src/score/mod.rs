//! Scores: which truth an effect is compared with, and what is computed of the two.
//!
//! It imports `data` and what that imports; the measures themselves live in fe-core. Begin with [`metric`], the list of
//! metrics; [`estimand`] has the truths of each estimand, [`exact`] asks for those of f and of fitted models alike, [`truths`]
//! remembers their values, [`regions`] those of trees, [`comparison`] says what is
//! compared with what, and [`given_curve`] reads curves of others, [`given_surface`] their
//! effects of pairs and [`given_tree`] their trees; [`pairs`] has truths of two features.

pub mod comparison;
pub mod estimand;
pub mod exact;
pub mod given_curve;
pub mod given_surface;
pub mod given_tree;
mod levels;
pub mod metric;
pub mod pairs;
pub mod regions;
pub mod truths;

use fe_core::Effect;
use fe_core::estimator::Estimand;
use fe_core::metric::centred_on_grid;
use fe_core::regional::RegionalEffect;
use fe_truth::{BinTruth, Scenario, Truth};

use comparison::Comparison;
pub(crate) use estimand::truth_centring;
pub use estimand::{estimand_of, has_true_value, truth_of};
use exact::Exact;
use given_curve::GivenCurve;
use levels::exact_at_levels;
pub use levels::{along, truth_at_levels};
use metric::ScoringTree;
pub use metric::{METRICS, Metric};
use regions::{FoundTree, RegionTruths};
pub use truths::Truths;

/// A value of a metric, with what is known about the truth in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Score {
    /// The value; none if it could not be computed, and then `status` says why.
    pub value: Option<f64>,
    /// The way in which the truth was obtained.
    pub truth_method: String,
    /// Bound on the error of the truth, largest over what was compared.
    pub truth_abs_error: Option<f64>,
    /// Points or bins that were compared.
    pub compared: usize,
    /// Points or bins that were left out.
    pub left_out: usize,
    /// `ok`, or the reason why there is no value.
    pub status: String,
}

/// The status of what means nothing, as [`Metric::degenerate`] says why: there is no value, and nothing failed.
pub const DEGENERATE: &str = "degenerate";

/// Outcome of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It was computed.
    Known(f64),
    /// It means nothing, as nothing is uncertain.
    Degenerate,
    /// It could not be computed.
    Failed,
}

impl Outcome {
    /// Of a value, if there is one, and its status.
    #[must_use]
    pub fn of(value: Option<f64>, status: &str) -> Self {
        match value {
            Some(value) => Self::Known(value),
            None if status == DEGENERATE => Self::Degenerate,
            None => Self::Failed,
        }
    }

    /// Number of outcomes of a kind among some.
    #[must_use]
    pub fn count(self, all: impl IntoIterator<Item = Self>) -> usize {
        all.into_iter().filter(|outcome| *outcome == self).count()
    }

    /// The value, if it is known.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Known(value) => Some(value),
            Self::Degenerate | Self::Failed => None,
        }
    }
}

impl Score {
    /// Its outcome.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self.value, &self.status)
    }

    /// A score that could not be computed.
    #[must_use]
    pub fn failed(reason: impl ToString) -> Self {
        Self { status: reason.to_string(), ..Self::default() }
    }

    pub(crate) fn of(
        value: Option<f64>,
        truths: &Provenance,
        compared: usize,
        left_out: usize,
    ) -> Self {
        let status = match value {
            Some(value) if value.is_finite() => "ok",
            Some(_) => "the value is not finite",
            None => "nothing could be compared",
        };
        Self {
            value: value.filter(|value| value.is_finite()),
            truth_method: truths.method.clone(),
            truth_abs_error: truths.abs_error,
            compared,
            left_out,
            status: status.to_owned(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Provenance {
    method: String,
    abs_error: Option<f64>,
}

impl Provenance {
    pub(crate) const NONE: Self = Self { method: String::new(), abs_error: None };

    pub(crate) fn of(truths: impl Iterator<Item = (fe_truth::Evaluation, f64)>) -> Self {
        let (mut methods, mut abs_error) = (Vec::new(), 0.0_f64);
        for (method, error) in truths {
            if !methods.contains(&method) {
                methods.push(method);
            }
            abs_error = abs_error.max(error);
        }
        let names: Vec<String> = methods.iter().map(ToString::to_string).collect();
        Self { method: names.join("+"), abs_error: Some(abs_error) }
    }

    pub(crate) fn of_curve(truths: &[Truth]) -> Self {
        Self::of(truths.iter().map(|truth| (truth.method, truth.abs_error)))
    }

    pub(crate) fn of_bins(truths: &[BinTruth]) -> Self {
        Self::of(truths.iter().map(|truth| (truth.method, truth.abs_error)))
    }
}

/// The points at which the curves of a cell are compared, and whether they are centred there.
#[derive(Debug, Clone, Copy)]
pub struct Comparing<'a> {
    /// Points within the limits of every estimate of the cell.
    pub points: &'a [f64],
    /// Number of other points of the grid.
    pub left_out: usize,
    /// True if both curves are centred on the points.
    pub comparison: Comparison,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy)]
pub struct CurvePoint {
    /// The place.
    pub x: f64,
    /// The estimate, centred as it is compared.
    pub effect: Option<f64>,
    /// The estimated heterogeneity.
    pub heterogeneity: Option<f64>,
    /// The truth, centred alike.
    pub truth: Option<f64>,
    /// A bound on the error of the truth.
    pub truth_abs_error: Option<f64>,
    /// The limits of a confidence band, lower and upper, pointwise and simultaneous; they move with the
    /// estimate when it is centred.
    pub confidence: [Option<f64>; 4],
}

/// The centring of the truth that an estimate is compared with, and the axis that it refers to.
///
/// # Errors
/// A centring that no truth has.
pub fn reference(effect: &Effect) -> Result<(fe_truth::Centring, (f64, f64)), String> {
    let axis = effect.record.axis;
    Ok((truth_centring(effect.record.centring)?, (axis.lo(), axis.hi())))
}

/// The truth that an effect is an estimate of at some points, centred as the estimate is.
///
/// # Errors
/// What the scenario says; a centring that no truth has, and points that are no levels of a feature that has some.
pub fn true_effect(
    scenario: &Scenario,
    estimand: Estimand,
    effect: &Effect,
    points: &[f64],
) -> Result<Vec<Truth>, String> {
    exact_effect((scenario, scenario), truth_of(estimand), effect, points)
}

/// An effect of a function under the law of a scenario at some points, centred as an estimate is.
///
/// # Errors
/// As [`true_effect`].
pub fn exact_effect(
    (of, scenario): (&dyn Exact, &Scenario),
    quantity: fe_truth::Quantity,
    effect: &Effect,
    points: &[f64],
) -> Result<Vec<Truth>, String> {
    let (centring, axis) = reference(effect)?;
    if effect.record.levels.is_some() {
        return exact_at_levels((of, scenario), quantity, effect, points, centring);
    }
    of.curve(quantity, effect.feature, points, axis, centring).map_err(|error| error.to_string())
}

/// The points of a grid where an effect has a value.
#[must_use]
pub fn within_limits(effect: &Effect, grid: &[f64]) -> Vec<f64> {
    let (lo, hi) = effect.curve.range();
    let has_value = |x: &f64| effect.record.extrapolated || (lo..=hi).contains(x);
    let covers = |x: &f64| effect.record.axis.contains(*x) && has_value(x);
    grid.iter().copied().filter(covers).collect()
}

/// The truth of a name, as something to be scored against.
///
/// # Errors
/// A name that is unknown, or that of a curve which is no truth.
pub fn truth(name: &str) -> Result<fe_truth::Quantity, String> {
    if name.ends_with("-limit") {
        return Err(format!(
            "`{name}` is the curve that a paper prints, not a truth to be scored against"
        ));
    }
    name.parse().map_err(|e: fe_truth::Error| e.to_string())
}

/// Scores a curve of a feature (counted from 0) that was computed elsewhere against the truth of a
/// scenario: [`given`] on the points within the scenario's range, the others left out and counted.
///
/// # Errors
/// What the scenario says of the truth.
pub fn against_truth(
    scenario: &Scenario,
    effect: fe_truth::Quantity,
    feature: usize,
    curve: &GivenCurve,
    comparison: Comparison,
    centring: fe_truth::Centring,
) -> Result<Vec<(&'static str, Score)>, fe_truth::Error> {
    let (part, truths) = within_range(scenario, effect, feature, curve, centring)?;
    Ok(given(&part, &truths, comparison, curve.x.len() - part.x.len()))
}

/// The points of a curve within the scenario's range, and the truth there.
fn within_range(
    scenario: &Scenario,
    effect: fe_truth::Quantity,
    feature: usize,
    curve: &GivenCurve,
    centring: fe_truth::Centring,
) -> Result<(GivenCurve, Vec<Truth>), fe_truth::Error> {
    let axis = scenario.axis(feature);
    let part = curve.within(axis.0, axis.1);
    let truths = scenario.curve(effect, feature, &part.x, axis, centring)?;
    Ok((part, truths))
}

/// A curve that was computed elsewhere beside its truth, as [`against_truth`] compares them.
///
/// # Errors
/// A truth that cannot be computed.
pub fn beside_truth(
    scenario: &Scenario,
    effect: fe_truth::Quantity,
    feature: usize,
    curve: &GivenCurve,
    comparison: Comparison,
    centring: fe_truth::Centring,
) -> Result<Vec<CurvePoint>, fe_truth::Error> {
    let (part, truths) = within_range(scenario, effect, feature, curve, centring)?;
    let compared = Compared::new(&part.effect, &truths, comparison);
    let point = |(i, &x): (usize, &f64)| {
        let estimate = compared.estimate[i];
        // The band moves with the curve.
        let moved = |limit: f64| Some(limit + estimate - part.effect[i]);
        let [lower, upper] = match &part.band {
            Some((lower, upper)) => [moved(lower[i]), moved(upper[i])],
            None => [None, None],
        };
        CurvePoint {
            x,
            effect: Some(estimate),
            heterogeneity: None,
            truth: Some(compared.truth[i]),
            truth_abs_error: Some(truths[i].abs_error),
            confidence: [lower, upper, None, None],
        }
    };
    Ok(part.x.iter().enumerate().map(point).collect())
}

/// An estimated curve and the true one on the same points, centred alike.
pub(crate) struct Compared {
    pub(crate) estimate: Vec<f64>,
    pub(crate) truth: Vec<f64>,
}

impl Compared {
    pub(crate) fn new(estimate: &[f64], truths: &[Truth], comparison: Comparison) -> Self {
        let truth: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
        let (estimate, truth) = match comparison {
            Comparison::AsTheyAre => (estimate.to_vec(), truth),
            Comparison::Centred => (centred_on_grid(estimate), centred_on_grid(&truth)),
        };
        Self { estimate, truth }
    }
}

/// The true heterogeneity curve of an effect at some points, a variance.
///
/// # Errors
/// The reason why there is none.
pub fn true_heterogeneity(
    scenario: &Scenario,
    estimand: Estimand,
    effect: &Effect,
    points: &[f64],
) -> Result<Vec<Truth>, String> {
    metric::heterogeneity::truths(&Truths::default(), scenario, estimand, effect, points)
}

/// Scores an effect against a truth of a scenario on a grid, as a study does: points outside its limits are left
/// out and counted. Of the metrics, those that need no more than the curves are there for every truth of a curve,
/// those of bins and heterogeneity for the truth that the estimator estimates.
#[must_use]
pub fn on_grid(
    scenario: &Scenario,
    quantity: fe_truth::Quantity,
    effect: &Effect,
    grid: &[f64],
    comparison: Comparison,
    metrics: &[Metric],
) -> Vec<(&'static str, Score)> {
    let points = within_limits(effect, grid);
    let left_out = grid.len() - points.len();
    let comparing = Comparing { points: &points, left_out, comparison };
    let truths = Truths::on_grids([(effect.feature, grid.to_vec())]);
    let estimand = Estimand::ALL.into_iter().find(|estimand| truth_of(*estimand) == quantity);
    let own = estimand_of(effect.estimator).map(truth_of) == Some(quantity);
    let score = |metric: &Metric| {
        let (metric, estimator) = (*metric, effect.estimator);
        let name = metric.name();
        let score = match estimand {
            Some(estimand) if own || metric.is_of_curves() => metric.of_effect(&metric::Scoring {
                truths: &truths,
                scenario,
                estimand,
                effect,
                comparing,
            }),
            _ => {
                let truth = quantity.name();
                Score::failed(format!("{name} of {estimator} has no truth `{truth}`"))
            }
        };
        (name, score)
    };
    metrics.iter().map(score).collect()
}

/// Scores a tree of regions against those of a scenario on a grid, as a study does: points outside the limits of a
/// leaf's curve are left out and counted.
///
/// # Errors
/// Rules of levels, which no truth in a region knows.
pub fn tree_on_grid(
    scenario: &Scenario,
    effect: &RegionalEffect,
    grid: &[f64],
    comparison: Comparison,
    metrics: &[Metric],
) -> Result<Vec<(&'static str, Score)>, String> {
    let tree = FoundTree::of(effect)?;
    let within = |x: &f64| {
        let mut leaves = effect.tree.leaves().filter_map(|leaf| leaf.effect.as_ref());
        leaves.all(|leaf| !within_limits(leaf, &[*x]).is_empty())
    };
    let points: Vec<f64> = grid.iter().copied().filter(within).collect();
    let left_out = grid.len() - points.len();
    let comparing = Comparing { points: &points, left_out, comparison };
    let truths = RegionTruths::default();
    let of = ScoringTree { truths: &truths, scenario, tree: &tree, comparing };
    Ok(metrics.iter().map(|metric| (metric.name(), metric.of_tree(&of))).collect())
}

/// Scores a curve that was computed elsewhere against the truths at its points: every distance and,
/// where it has a band, the band's coverage and mean width.
#[must_use]
pub fn given(
    curve: &GivenCurve,
    truths: &[Truth],
    comparison: Comparison,
    left_out: usize,
) -> Vec<(&'static str, Score)> {
    let score = |metric: &Metric| {
        Some((metric.name(), metric.of_given(curve, truths, comparison, left_out)?))
    };
    METRICS.iter().filter_map(score).collect()
}

/// Makes standard deviations of variances and of their truths.
pub(crate) fn take_roots(variances: &mut [f64], truths: &mut [Truth]) {
    variances.iter_mut().for_each(|variance| *variance = variance.sqrt());
    truths.iter_mut().for_each(|truth| *truth = root(truth));
}

/// The root of a truth that is not negative.
fn root(truth: &Truth) -> Truth {
    let Truth { value, abs_error, .. } = *truth;
    let (least, most) = ((value - abs_error).max(0.0).sqrt(), (value + abs_error).sqrt());
    let value = value.max(0.0).sqrt();
    Truth { value, abs_error: (value - least).max(most - value), ..*truth }
}
