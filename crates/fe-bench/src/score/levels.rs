//! Truths at the levels of a feature, along the order in which an estimate accumulates.

use fe_core::Effect;
use fe_truth::{Centring, Quantity, Scenario, Truth};

use super::exact::Exact;

/// A truth at some levels of an effect, centred alike. Of `ale` it is that of the effect's own order.
///
/// # Errors
/// What the scenario says; an order that has not all levels of the law, as some did not occur.
pub fn truth_at_levels(
    scenario: &Scenario,
    quantity: Quantity,
    effect: &Effect,
    points: &[f64],
    centring: Centring,
) -> Result<Vec<Truth>, String> {
    exact_at_levels((scenario, scenario), quantity, effect, points, centring)
}

/// The same of a function under the law of a scenario.
pub(crate) fn exact_at_levels(
    (of, scenario): (&dyn Exact, &Scenario),
    quantity: Quantity,
    effect: &Effect,
    points: &[f64],
    centring: Centring,
) -> Result<Vec<Truth>, String> {
    let Some(levels) = &effect.record.levels else {
        return Err(format!("{} has no levels", effect.name));
    };
    let feature = effect.feature;
    if let Some(&x) = points.iter().find(|x| !levels.values.contains(x)) {
        return Err(absent(scenario, feature, x));
    }
    let order = levels.order.as_ref().filter(|_| quantity == Quantity::Ale);
    let order = order.filter(|order| !order.values.is_sorted());
    match (order, centring) {
        (Some(order), _) => {
            let ale = exact_along((of, scenario), feature, &order.values, centring)?;
            let at = |x: &f64| {
                let place = order.values.iter().position(|value| value == x);
                place.map(|place| ale[place]).ok_or_else(|| absent(scenario, feature, *x))
            };
            points.iter().map(at).collect()
        }
        (None, Centring::Start) => {
            let all = [points, &[levels.start]].concat();
            let mut truths = at((of, scenario), quantity, feature, &all, Centring::None)?;
            let start = truths.pop().map_or(0.0, |truth| truth.value);
            let bound = |truth: &Truth| 2.0 * truth.abs_error;
            let less = |truth: Truth| Truth {
                value: truth.value - start,
                abs_error: bound(&truth),
                ..truth
            };
            Ok(truths.into_iter().map(less).collect())
        }
        (None, _) => at((of, scenario), quantity, feature, points, centring),
    }
}

fn at(
    (of, scenario): (&dyn Exact, &Scenario),
    quantity: Quantity,
    feature: usize,
    points: &[f64],
    centring: Centring,
) -> Result<Vec<Truth>, String> {
    let axis = scenario.axis(feature);
    of.curve(quantity, feature, points, axis, centring).map_err(|e| e.to_string())
}

fn absent(scenario: &Scenario, feature: usize, x: f64) -> String {
    let known = scenario.levels(feature).unwrap_or_default();
    let name = known.into_iter().find(|level| level.value == x).map(|level| level.name);
    let name = name.unwrap_or_else(|| x.to_string());
    let feature = scenario.feature_name(feature);
    format!("no row has the level {name} of {feature}, which then has no estimate")
}

/// The true ALE at the levels of a feature in an order that names each level of the law once.
///
/// # Errors
/// What the scenario says; levels that are missing in the order, or unknown.
pub fn along(
    scenario: &Scenario,
    feature: usize,
    order: &[f64],
    centring: Centring,
) -> Result<Vec<Truth>, String> {
    exact_along((scenario, scenario), feature, order, centring)
}

fn exact_along(
    (of, scenario): (&dyn Exact, &Scenario),
    feature: usize,
    order: &[f64],
    centring: Centring,
) -> Result<Vec<Truth>, String> {
    let known = scenario.levels(feature).unwrap_or_default();
    if let Some(level) = known.iter().find(|level| !order.contains(&level.value)) {
        return Err(absent(scenario, feature, level.value));
    }
    let place = |x: &f64| {
        let place = known.iter().position(|level| level.value == *x);
        place.ok_or_else(|| {
            let name = scenario.feature_name(feature);
            format!("{x} is beyond the levels of {name} that have a truth, those up to its 0.9999 quantile")
        })
    };
    let places: Vec<usize> = order.iter().map(place).collect::<Result<_, _>>()?;
    let ale = of.ale_by_levels(feature, &places).map_err(|e| e.to_string())?;
    let shares: Vec<f64> = places.iter().map(|&place| known[place].probability).collect();
    match centring {
        // The first level of the order is where accumulation starts.
        Centring::None | Centring::Start => Ok(ale),
        Centring::Data => {
            let weighted = |of: fn(&Truth) -> f64| -> f64 {
                ale.iter().zip(&shares).map(|(truth, share)| of(truth) * share).sum()
            };
            let (constant, error) = (weighted(|t| t.value), weighted(|t| t.abs_error));
            let lowered = |truth: &Truth| Truth {
                value: truth.value - constant,
                abs_error: truth.abs_error + error,
                ..*truth
            };
            Ok(ale.iter().map(lowered).collect())
        }
        Centring::Integral => {
            let name = scenario.feature_name(feature);
            Err(format!("`{name}` has levels: there is no mean over an axis"))
        }
    }
}
