//! Models that tell more by their structure than value by value, as trees do.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::model::{Answered, Background, Model, Reach, Rows};

/// A model that remembers whether its structure was made use of, and has none where it is hidden.
pub(crate) struct Structured<'a> {
    model: &'a dyn Model,
    is_hidden: bool,
    was_used: AtomicBool,
}

impl<'a> Structured<'a> {
    /// The model, unless it has no structure to tell anything by.
    pub(crate) fn of(model: &'a dyn Model, is_hidden: bool) -> Option<Self> {
        let has_some = model.predicts_along()
            || model.predicts_changes()
            || model.knows_shapley_values()
            || model.knows_partial_dependences();
        has_some.then(|| Self { model, is_hidden, was_used: AtomicBool::new(false) })
    }

    /// True if anything was told by the structure since this was asked last.
    pub(crate) fn was_used(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    fn told(&self) -> &'a dyn Model {
        self.was_used.store(true, Ordering::Relaxed);
        self.model
    }
}

/// The answer of an estimator about a model whose structure may be hidden, and whether anything was told by that; none of a
/// model without.
pub(crate) fn watched<T>(
    model: &dyn Model,
    is_hidden: bool,
    estimate: impl FnOnce(&dyn Model) -> Result<T>,
) -> Result<(T, Option<bool>)> {
    let Some(structured) = Structured::of(model, is_hidden) else {
        return Ok((estimate(model)?, None));
    };
    let found = estimate(&structured)?;
    Ok((found, Some(structured.was_used())))
}

/// Methods with a default are passed on too; [`Model::predict_along`] and [`Model::predict_changes`] are called by those
/// alone who asked before whether they should be.
impl Model for Structured<'_> {
    fn dimension(&self) -> usize {
        self.model.dimension()
    }

    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        self.model.predict(rows, values)
    }

    fn predicts_along(&self) -> bool {
        !self.is_hidden && self.model.predicts_along()
    }

    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        self.told().predict_along(feature, places, rows, values)
    }

    fn predicts_changes(&self) -> bool {
        !self.is_hidden && self.model.predicts_changes()
    }

    fn predict_changes(
        &self,
        feature: usize,
        places: [&[f64]; 2],
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        self.told().predict_changes(feature, places, rows, values)
    }

    fn knows_shapley_values(&self) -> bool {
        !self.is_hidden && self.model.knows_shapley_values()
    }

    fn shapley_values(
        &self,
        explained: &Rows<'_>,
        background: (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        self.told().shapley_values(explained, background, values)
    }

    fn knows_partial_dependences(&self) -> bool {
        !self.is_hidden && self.model.knows_partial_dependences()
    }

    fn partial_dependences(
        &self,
        features: &[usize],
        points: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        self.told().partial_dependences(features, points, background, sums)
    }

    fn reach(&self) -> Reach {
        self.model.reach()
    }

    fn has_partial(&self) -> bool {
        self.model.has_partial()
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        self.model.partial(feature, rows, values)
    }
}
