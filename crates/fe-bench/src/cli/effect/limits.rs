//! Limits of the bins of single features.

use super::options::EstimationArguments;
use super::subject::Subject;
use crate::data::features::{feature_of, named_feature};
use crate::error::{Error, Result};

/// Features by number with the limits of their bins, where these are given for single features.
///
/// # Errors
/// A name that is none of the features asked for, or is given twice.
pub(super) fn limits_of_features(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
) -> Result<Vec<(usize, Vec<f64>)>> {
    let mut found: Vec<(usize, Vec<f64>)> = Vec::new();
    for (name, limits) in arguments.own_limits() {
        let wrong = |message: String| Error::Argument(format!("--limits {name}=…: {message}"));
        let feature = match subject.scenario {
            Some(scenario) => feature_of(scenario, name),
            None => named_feature(name, subject.data.names()),
        };
        let feature = feature.map_err(wrong)?;
        if !subject.features.contains(&feature) && !subject.pairs.as_flattened().contains(&feature)
        {
            return Err(wrong("the effect of this feature is not asked for".to_owned()));
        }
        if found.iter().any(|(other, _)| *other == feature) {
            return Err(wrong("its limits are given twice".to_owned()));
        }
        found.push((feature, limits.clone()));
    }
    Ok(found)
}
