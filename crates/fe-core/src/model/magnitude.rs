//! Magnitudes of a model's answers, which rounding is measured by.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::{Answered, Ask, Asked, Decorator, Model, Question};

/// Relative error that is put down to rounding: a model may lose ten bits on the way to an answer.
pub(crate) const ROUNDING: f64 = 1024.0 * f64::EPSILON;

/// A model whose largest answers are remembered, for each output.
pub(crate) struct MagnitudeProbe<'a> {
    model: &'a dyn Model,
    values: Vec<AtomicU64>,
    partials: Vec<AtomicU64>,
}

impl<'a> MagnitudeProbe<'a> {
    pub(crate) fn new(model: &'a dyn Model) -> Self {
        let zeros = || (0..model.outputs()).map(|_| AtomicU64::new(0)).collect();
        Self { model, values: zeros(), partials: zeros() }
    }

    /// Largest |f| of an output so far.
    pub(crate) fn value(&self, output: usize) -> f64 {
        f64::from_bits(self.values[output].load(Ordering::Relaxed))
    }

    /// Largest |∂_s f| of an output so far.
    pub(crate) fn partial(&self, output: usize) -> f64 {
        f64::from_bits(self.partials[output].load(Ordering::Relaxed))
    }
}

/// Numbers that are not negative have the order of their bits, so the largest is the same whichever
/// thread came first.
fn remember(largest: &[AtomicU64], rows: usize, values: &[f64]) {
    for (largest, values) in largest.iter().cycle().zip(values.chunks(rows.max(1))) {
        let here = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        largest.fetch_max(here.to_bits(), Ordering::Relaxed);
    }
}

impl Decorator for MagnitudeProbe<'_> {
    fn decorated(&self) -> &dyn Model {
        self.model
    }

    fn pass_on(&self, question: Question, values: &mut [f64], ask: &mut Ask<'_>) -> Answered {
        ask(values)?;
        let largest = match question.of {
            Asked::Value => &self.values,
            Asked::Partial => &self.partials,
        };
        remember(largest, question.rows, values);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BatchModel, Column, Rows};

    #[test]
    fn the_largest_answers_of_each_output_are_remembered_along_a_feature_too() {
        let model = BatchModel::new(1, 2, |rows: &Rows<'_>| {
            let x = |i: usize| rows.columns()[0].get(i);
            (0..rows.len()).map(x).chain((0..rows.len()).map(|i| -10.0 * x(i))).collect()
        });
        let probe = MagnitudeProbe::new(&model);
        let rows = Rows::new(&[Column::Constant(0.0)], 3);
        probe.predict_along(0, &[-1.0, 4.0, 2.0], &rows, &mut [0.0; 18]).unwrap();
        assert_eq!((probe.value(0), probe.value(1)), (4.0, 40.0));
    }
}
