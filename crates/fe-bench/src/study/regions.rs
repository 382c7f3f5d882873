//! Trees of regions in a study: which metrics and files there are of them, and of effects without regions.

use fe_truth::TreeOptions;

use super::file::Keep;
use super::variants::Variant;
use crate::error::{listed, suggestion};
use crate::score::metric::{EstimateKind, VALUES};
use crate::score::{METRICS, Metric, estimand_of, has_true_value};

/// Refuses what an estimator of a block cannot have.
pub(super) fn check(
    variants: &[Variant],
    metrics: &[Metric],
    keep: &[Keep],
    fits: bool,
) -> Result<(), String> {
    for variant in variants {
        metrics.iter().try_for_each(|metric| check_metric(variant, *metric))?;
        if fits && variant.regional().is_some() {
            return Err(format!(
                "{}: models and `pairs` are for estimators of curves, not of trees of regions",
                variant.estimator
            ));
        }
        if metrics.iter().any(|metric| metric.needs_population()) {
            check_population(variant)?;
        }
    }
    let has = |regional: bool| variants.iter().any(|of| of.regional().is_some() == regional);
    for keep in keep {
        let of_trees = *keep == Keep::Trees;
        if !has(of_trees) {
            let (name, what) = (keep.name(), if of_trees { "regional" } else { "other" });
            return Err(format!(
                "`keep` = \"{name}\": only of {what} estimators, and there is none"
            ));
        }
    }
    Ok(())
}

fn check_metric(variant: &Variant, metric: Metric) -> Result<(), String> {
    let is_regional = variant.regional().is_some();
    // An engine's regional effect has the curve of all rows beside its tree.
    let of_engine = variant.external.as_ref().map(|external| external.effect.as_str());
    let has_both = of_engine.is_some_and(|effect| fe_core::regional::info(effect).is_ok());
    let kind = if is_regional { EstimateKind::Tree } else { EstimateKind::Effect };
    if has_both || metric.is_for(kind) {
        return check_value(variant, metric);
    }
    Err(no_metric(metric, &variant.estimator, kind))
}

/// The message that there is no such metric of an estimate.
pub(super) fn no_metric(metric: Metric, estimator: &str, kind: EstimateKind) -> String {
    let known = METRICS.iter().filter(|metric| metric.is_for(kind));
    format!(
        "`metrics`: there is no `{}` of {estimator}; of {kind} there are {}",
        metric.name(),
        listed(known.map(|metric| metric.name()))
    )
}

/// Refuses heterogeneity values that an estimator does not have, or that have no truth.
fn check_value(variant: &Variant, metric: Metric) -> Result<(), String> {
    if !metric.is_of_values() || variant.external.is_some() {
        return Ok(());
    }
    let estimand = estimand_of(&variant.estimator);
    let has = |value: &&str| estimand.is_some_and(|estimand| has_true_value(estimand, value));
    let known: Vec<&str> = VALUES.iter().copied().filter(has).collect();
    let name = &variant.estimator;
    match metric.value() {
        _ if known.is_empty() => {
            Err(format!("`metrics`: {name} has no heterogeneity value with a truth"))
        }
        Some(value) if !known.contains(&value) => Err(format!(
            "`of` = \"{value}\": there is no such heterogeneity value of {name} with a truth{}; there are {}",
            suggestion(value, known.iter().copied()),
            listed(known.iter().copied())
        )),
        _ => Ok(()),
    }
}

/// Refuses trees that the population has no equal of.
fn check_population(variant: &Variant) -> Result<(), String> {
    let Some(info) = variant.regional() else { return Ok(()) };
    let settings = &variant.settings;
    let (depth, most) = (settings.depth.unwrap_or(2), TreeOptions::DEEPEST);
    if !(1..=most).contains(&depth) {
        return Err(format!(
            "`depth` = {depth} of {}: the population's tree, which metrics compare it with, has from 1 to \
             {most} levels",
            variant.estimator
        ));
    }
    let default = info.heterogeneity[0];
    match settings.heterogeneity.as_deref() {
        Some(other) if other != default => Err(format!(
            "`heterogeneity` = \"{other}\" of {}: the population's tree, which metrics compare it with, \
             lowers {default}",
            variant.estimator
        )),
        _ => Ok(()),
    }
}
