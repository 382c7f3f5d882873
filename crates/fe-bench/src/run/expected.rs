//! Expected effects of learners, remembered: all datasets of a group share them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fe_core::replicates::FreshCurves;

/// Curves of the models of a learner, of each feature and variant.
pub(super) type OfFeatures = Vec<Vec<Result<FreshCurves, String>>>;

/// Expected effects of the learners of a group, each computed once.
#[derive(Default)]
pub struct ExpectedEffects {
    known: Mutex<HashMap<String, Arc<OnceLock<Arc<OfFeatures>>>>>,
}

impl ExpectedEffects {
    /// Those of the learner of a name, which are computed where they are not known.
    pub(super) fn of(&self, name: &str, compute: impl FnOnce() -> OfFeatures) -> Arc<OfFeatures> {
        let entry = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(name.to_owned()).or_default())
        };
        Arc::clone(entry.get_or_init(|| Arc::new(compute())))
    }
}
