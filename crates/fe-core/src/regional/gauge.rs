//! How large a model's answers are: what rounding is measured by.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::ModelError;
use crate::model::{Model, Rows};

/// A model whose largest answers are remembered, for each output.
pub(super) struct Gauge<'a> {
    model: &'a dyn Model,
    values: Vec<AtomicU64>,
    partials: Vec<AtomicU64>,
}

impl<'a> Gauge<'a> {
    pub(super) fn new(model: &'a dyn Model) -> Self {
        let zeros = || (0..model.outputs()).map(|_| AtomicU64::new(0)).collect();
        Self { model, values: zeros(), partials: zeros() }
    }

    /// Largest |f| of an output so far.
    pub(super) fn value(&self, output: usize) -> f64 {
        f64::from_bits(self.values[output].load(Ordering::Relaxed))
    }

    /// Largest |∂_s f| of an output so far.
    pub(super) fn partial(&self, output: usize) -> f64 {
        f64::from_bits(self.partials[output].load(Ordering::Relaxed))
    }
}

/// Numbers that are not negative have the order of their bits, so the largest is the same whichever
/// thread came first.
fn remember(largest: &[AtomicU64], rows: usize, values: &[f64]) {
    for (largest, values) in largest.iter().zip(values.chunks(rows.max(1))) {
        let here = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        largest.fetch_max(here.to_bits(), Ordering::Relaxed);
    }
}

impl Model for Gauge<'_> {
    fn dimension(&self) -> usize {
        self.model.dimension()
    }

    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.model.predict(rows, values)?;
        remember(&self.values, rows.len(), values);
        Ok(())
    }

    fn has_partial(&self) -> bool {
        self.model.has_partial()
    }

    fn partial(
        &self,
        feature: usize,
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        self.model.partial(feature, rows, values)?;
        remember(&self.partials, rows.len(), values);
        Ok(())
    }
}
