//! Levels of the features of scenarios.

use fe_core::Dataset;
use fe_core::data::{FeatureKind, LevelNames};
use fe_truth::Scenario;

use crate::error::Result;

/// Rows of a scenario with the kinds of its features: nominal where levels are words, ordinal where they are
/// numbers.
///
/// # Errors
/// A value that is no level of a feature with words.
pub fn with_levels_of(scenario: &Scenario, data: Dataset) -> Result<Dataset> {
    let (mut kinds, mut data) = (data.kinds().to_vec(), data);
    for (feature, kind) in kinds.iter_mut().enumerate() {
        let Some(levels) = scenario.levels(feature) else { continue };
        *kind = FeatureKind::Ordinal;
        if levels.iter().any(|level| level.name.parse::<f64>().is_err()) {
            *kind = FeatureKind::Nominal;
            let named = levels.into_iter().map(|level| (level.value, level.name));
            data = data.with_levels(feature, LevelNames::new(named)?)?;
        }
    }
    Ok(data.with_kinds(kinds)?)
}
