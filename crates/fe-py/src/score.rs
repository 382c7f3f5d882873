//! Scores of curves that were computed elsewhere.

use fe_bench::score::comparison::Comparison;
use fe_bench::score::given_curve::GivenCurve;
use fe_bench::score::metric::EstimateKind;
use fe_bench::score::{self as scoring, Metric, Score};
use fe_bench::study::grid::Grid;
use fe_truth::Centring;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Feature, word};
use crate::arrays;
use crate::effect::Effect;
use crate::errors::Raise;
use crate::regional::RegionalEffect;
use crate::scenario::Scenario;
use crate::surface::Surface;
use crate::threads;

/// A metric: its name, its value, the truth's method and bound, points compared and left out, status.
type Row = (&'static str, Option<f64>, String, Option<f64>, usize, usize, String);

/// Metrics of an effect against the exact truth of a scenario, on a grid as studies have it unless points are given.
#[pyfunction]
#[pyo3(signature = (effect, scenario, truth, feature, compare, points, metrics))]
#[expect(clippy::too_many_arguments, reason = "a function of Python with named arguments")]
pub(crate) fn score_effect(
    py: Python<'_>,
    effect: &Bound<'_, Effect>,
    scenario: &Bound<'_, Scenario>,
    truth: &str,
    feature: Feature,
    compare: &str,
    points: Option<&Bound<'_, PyAny>>,
    metrics: Vec<String>,
) -> PyResult<Vec<Row>> {
    let scenario = &scenario.get().inner;
    let feature = feature.of(scenario.dimension())?;
    let truth = scoring::truth(truth).map_err(Raise::raise)?;
    let comparison = comparison(compare)?;
    let metrics = named(&metrics)?;
    let grid = grid(scenario, feature, points)?;
    let effect = fe_core::Effect { feature, ..effect.get().inner.clone() };
    let scores = threads::run(py, || {
        scoring::on_grid(scenario, truth, &effect, &grid, comparison, &metrics)
    })?;
    Ok(scores.into_iter().map(row).collect())
}

/// Metrics of the effect of two features against the exact truth of a scenario, at all pairs of points.
#[pyfunction]
#[pyo3(signature = (surface, scenario, compare, points, metrics))]
pub(crate) fn score_surface(
    py: Python<'_>,
    surface: &Bound<'_, Surface>,
    scenario: &Bound<'_, Scenario>,
    compare: &str,
    points: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    metrics: Vec<String>,
) -> PyResult<Vec<Row>> {
    let (comparison, metrics) = (comparison(compare)?, named(&metrics)?);
    if let Some(metric) = metrics.iter().find(|metric| !metric.is_for(EstimateKind::Surface)) {
        return Err(format!("metrics: there is no `{}` of effects of pairs", metric.name()).raise());
    }
    let list = |given: &Bound<'_, PyAny>| increasing(arrays::vector("points", given)?);
    let points = points.map(|(x, x2)| Ok::<_, PyErr>([list(&x)?, list(&x2)?])).transpose()?;
    let scenario = &scenario.get().inner;
    let scores = surface.get().score(py, scenario, points, (comparison, &metrics))?;
    Ok(scores.into_iter().map(row).collect())
}

/// Metrics of a tree of regions against the population's tree and the truths in its regions.
#[pyfunction]
#[pyo3(signature = (regional, scenario, feature, compare, points, metrics))]
pub(crate) fn score_regional(
    py: Python<'_>,
    regional: &Bound<'_, RegionalEffect>,
    scenario: &Bound<'_, Scenario>,
    feature: Feature,
    compare: &str,
    points: Option<&Bound<'_, PyAny>>,
    metrics: Vec<String>,
) -> PyResult<Vec<Row>> {
    let scenario = &scenario.get().inner;
    let feature = feature.of(scenario.dimension())?;
    let comparison = comparison(compare)?;
    let metrics = named(&metrics)?;
    let grid = grid(scenario, feature, points)?;
    let effect = regional.get().of_feature(feature);
    let scores =
        threads::run(py, || scoring::tree_on_grid(scenario, &effect, &grid, comparison, &metrics))?;
    Ok(scores.map_err(Raise::raise)?.into_iter().map(row).collect())
}

/// The metrics that some names stand for.
fn named(names: &[String]) -> PyResult<Vec<Metric>> {
    let all = names.iter().map(|name| Metric::asked(name, &[]).map_err(Raise::raise));
    Ok(all.collect::<PyResult<Vec<_>>>()?.concat())
}

/// The points that are given, or those of a study.
fn grid(
    scenario: &fe_truth::Scenario,
    feature: usize,
    points: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<f64>> {
    match points {
        Some(points) => increasing(arrays::vector("points", points)?),
        None => Grid::default().all(scenario, feature).map_err(Raise::raise),
    }
}

/// Points in increasing order, all of them numbers.
fn increasing(mut points: Vec<f64>) -> PyResult<Vec<f64>> {
    if let Some(wrong) = points.iter().find(|x| !x.is_finite()) {
        return Err(format!("points: {wrong} is not a finite number").raise());
    }
    points.sort_unstable_by(f64::total_cmp);
    points.dedup();
    Ok(points)
}

fn comparison(compare: &str) -> PyResult<Comparison> {
    Comparison::deserialize(Value::from(compare))
        .map_err(|e| format!("compare = '{compare}': {e}").raise())
}

fn row((name, score): (&'static str, Score)) -> Row {
    let Score { value, truth_method, truth_abs_error, compared, left_out, status } = score;
    (name, value, truth_method, truth_abs_error, compared, left_out, status)
}

/// All metrics of a curve against the exact truth of a scenario.
#[pyfunction]
#[pyo3(signature = (x, y, band, scenario, effect, feature, compare, center))]
#[expect(clippy::too_many_arguments, reason = "a function of Python with named arguments")]
pub(crate) fn score(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    band: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    scenario: &Bound<'_, Scenario>,
    effect: &str,
    feature: Feature,
    compare: &str,
    center: Option<&str>,
) -> PyResult<Vec<Row>> {
    let scenario = &scenario.get().inner;
    let feature = feature.of(scenario.dimension())?;
    let effect = scoring::truth(effect).map_err(Raise::raise)?;
    let comparison = comparison(compare)?;
    let center = center.map(word::<Centring>).transpose()?;
    if center.is_some() && comparison == Comparison::Centred {
        return Err(
            "center: only with compare='Err'; 'Err_c' centres both curves on the points".raise()
        );
    }
    let (x, y) = (arrays::vector("x", x)?, arrays::vector("effect", y)?);
    let band = match band {
        None => None,
        Some((lower, upper)) => {
            Some((arrays::vector("lower", &lower)?, arrays::vector("upper", &upper)?))
        }
    };
    let curve = GivenCurve::from_points(feature, &x, &y, band.as_ref()).map_err(Raise::raise)?;
    let center = center.unwrap_or(Centring::None);
    let scores = threads::run(py, || {
        scoring::against_truth(scenario, effect, feature, &curve, comparison, center)
    })?;
    let scores = scores.map_err(Raise::raise)?;
    Ok(scores.into_iter().map(row).collect())
}
