//! Scores of curves that were computed elsewhere.

use fe_bench::curves::GivenCurve;
use fe_bench::score::{self as scoring, Score};
use fe_bench::study::wire::Comparison;
use fe_truth::Centring;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Feature, word};
use crate::arrays;
use crate::errors::Raise;
use crate::scenario::Scenario;

/// A metric: its name, its value, the truth's method and bound, points compared and left out, status.
type Row = (&'static str, Option<f64>, String, Option<f64>, usize, usize, String);

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
    let comparison = Comparison::deserialize(Value::from(compare))
        .map_err(|e| format!("compare = '{compare}': {e}").raise())?;
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
    let scores = py
        .detach(|| scoring::against_truth(scenario, effect, feature, &curve, comparison, center))
        .map_err(Raise::raise)?;
    let row = |(name, score): (&'static str, Score)| {
        let Score { value, truth_method, truth_abs_error, compared, left_out, status } = score;
        (name, value, truth_method, truth_abs_error, compared, left_out, status)
    };
    Ok(scores.into_iter().map(row).collect())
}
