//! Kinds of estimates of a study: one for each feature and estimator of a group, on its first dataset.

use fe_core::Dataset;

use super::prepared::{Implementation, Prepared};
use crate::data::sample;
use crate::error::Result;
use crate::record::Key;
use crate::study::tasks::Planned;

/// An estimate that a study makes of every dataset of a group.
pub struct Kind<'a> {
    /// The key of its errors, without replicate, output and metric.
    pub key: Key,
    planned: &'a Planned<'a>,
    feature: usize,
    implementation: &'a Implementation,
}

impl std::fmt::Debug for Kind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kind").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The first dataset of a group.
///
/// # Errors
/// A scenario that has none of this size.
pub fn first_data(planned: &Planned<'_>, seed: u64) -> Result<Dataset> {
    sample::features(&planned.group.scenario, seed, planned.group.rows, 0)
}

/// The kinds of a group in which f itself is explained, by estimators of this program; of one that fits models
/// there are none.
#[must_use]
pub fn of_group<'a>(planned: &'a Planned<'a>, prepared: &'a Prepared) -> Vec<Kind<'a>> {
    let mut kinds = Vec::new();
    if planned.group.fitting.is_some() {
        return kinds;
    }
    for of in &prepared.features {
        for (variant, built) in planned.group.variants.iter().zip(&of.estimators) {
            let Ok(implementation) = built else { continue };
            if matches!(implementation, Implementation::External(..)) {
                continue;
            }
            let key = Key {
                study: planned.study,
                scenario: &planned.scenario,
                parameters: &planned.parameters,
                feature: &of.name,
                rows: &planned.rows,
                pair: crate::study::OF_F,
                ..variant.key.borrowed()
            };
            kinds.push(Kind { key: key.owned(), planned, feature: of.feature, implementation });
        }
    }
    kinds
}

impl Kind<'_> {
    /// Makes the estimate, and forgets it.
    ///
    /// # Errors
    /// As the estimator says.
    pub fn estimate(&self, data: &Dataset) -> Result<()> {
        let model = self.planned.group.scenario.model();
        match self.implementation {
            Implementation::Own(estimator) => {
                std::hint::black_box(estimator.estimate(data, model, self.feature)?);
            }
            Implementation::Regional(regional) => {
                std::hint::black_box(regional.fit(data, model, self.feature)?);
            }
            Implementation::External(..) => {}
        }
        Ok(())
    }
}
