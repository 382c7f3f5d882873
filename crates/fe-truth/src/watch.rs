//! Why an integral was not taken: a value that is not a number, in place of one that is wrong.

use std::sync::{Mutex, PoisonError};

use crate::quadrature::Estimate;

/// So many evaluations may one integral take.
pub(crate) const MOST_EVALUATIONS: f64 = 2e7;

/// Limits of what is integrated, and the first reason why something was not.
#[derive(Debug)]
pub(crate) struct Watch {
    /// So many features may be integrated over at once.
    pub(crate) most: usize,
    /// Whether integrals are taken in another order and on other nodes, with nothing taken apart.
    pub(crate) is_witness: bool,
    names: Vec<String>,
    reason: Mutex<Option<String>>,
}

impl Watch {
    pub(crate) fn new(most: usize, is_witness: bool, names: &[String]) -> Self {
        Self { most, is_witness, names: names.to_vec(), reason: Mutex::default() }
    }

    /// Remembers a reason, unless there was one before; no number is the answer.
    pub(crate) fn refuse(&self, reason: impl FnOnce() -> String) -> Estimate {
        let mut known = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(reason);
        Estimate { value: f64::NAN, magnitude: f64::NAN, error: f64::NAN }
    }

    /// Refuses to integrate over so many features at once.
    pub(crate) fn too_many(&self, features: &[usize]) -> Estimate {
        self.refuse(|| {
            let names: Vec<&str> =
                features.iter().map(|&feature| self.names[feature].as_str()).collect();
            let (count, most) = (features.len(), self.most);
            format!(
                "{count} features would have to be integrated over at once ({}); at most {most} are",
                names.join(", ")
            )
        })
    }

    /// Refuses an integral that has taken so many evaluations.
    pub(crate) fn too_long(&self, features: &[usize]) -> Estimate {
        self.refuse(|| {
            let names: Vec<&str> =
                features.iter().map(|&feature| self.names[feature].as_str()).collect();
            format!(
                "an integral over {} takes more than {MOST_EVALUATIONS:e} evaluations",
                names.join(", ")
            )
        })
    }

    /// The reason for what is not a number.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
