//! Fitted models.

use std::fmt::Debug;

use fe_core::Model;
use fe_core::model::TermSum;
use serde::Serialize;

/// Something that is known of a fitted model: a coefficient, its degrees of freedom, …
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

/// A model that was fitted to data: a [`Model`] that may know more of itself.
pub trait FittedModel: Model + Debug + Send + Sync {
    /// Names of the outputs: the classes of a classifier, `y` otherwise.
    fn output_names(&self) -> Vec<String> {
        vec!["y".to_owned()]
    }

    /// True if it answers rows in which values are missing, as NaN.
    fn takes_missing(&self) -> bool {
        false
    }

    /// The model's own main effect of a feature (counted from 0) at a value of it, where the model is
    /// a sum that has such a term; its weighted mean over the rows of the fit is 0. None where there
    /// is no such term, and for features that do not exist.
    fn main_effect(&self, feature: usize, x: f64) -> Option<f64> {
        let _ = (feature, x);
        None
    }

    /// The model as a sum of terms of few features and of constants on boxes, of which effects under a law of the
    /// features are integrals without data. None where it is no such sum.
    fn sum(&self) -> Option<TermSum<'_>> {
        None
    }

    /// Facts about the fit, in a fixed order.
    fn summary(&self) -> Vec<Fact>;
}
