//! Sums of what boxes add along a feature: curves that are constant between limits.

use super::cells::{Probability, Total};
use crate::quantity::{Evaluation, Truth};

/// A function of a feature that is constant on cells.
#[derive(Debug, Clone)]
pub(super) struct StepCurve {
    pub(super) values: Vec<f64>,
    error: f64,
    method: Evaluation,
}

impl StepCurve {
    /// Of a value in each cell.
    pub(super) fn of(values: Vec<Truth>) -> Self {
        let error = values.iter().map(|truth| truth.abs_error).fold(0.0, f64::max);
        let method = values.iter().map(|truth| truth.method).max().unwrap_or(Evaluation::Closed);
        Self { values: values.into_iter().map(|truth| truth.value).collect(), error, method }
    }

    pub(super) fn in_cell(&self, cell: usize) -> Truth {
        Truth { value: self.values[cell], abs_error: self.error, method: self.method }
    }

    /// The mean with weights of the cells that add up to 1.
    pub(super) fn mean(&self, weights: impl Iterator<Item = f64>) -> Truth {
        let value = self.values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
        let size = self.values.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
        let abs_error = self.error + 1e-14 * size;
        Truth { value, abs_error, method: self.method }
    }

    /// The same less a constant.
    pub(super) fn less(mut self, constant: Truth) -> Self {
        self.values.iter_mut().for_each(|value| *value -= constant.value);
        Self { error: self.error + constant.abs_error, ..self }
    }
}

/// Sums of constants with probabilities, at many places of a feature.
pub(super) struct Sums {
    /// Changes from each place to the next.
    changes: Vec<Total>,
    /// A bound on the error of each sum.
    error: f64,
    method: Evaluation,
}

impl Sums {
    pub(super) fn new(places: usize) -> Self {
        let changes = vec![Total::default(); places + 1];
        Self { changes, error: 0.0, method: Evaluation::Closed }
    }

    /// Adds a number from one place on and takes it away from another one on.
    pub(super) fn add(&mut self, from: usize, to: usize, number: Probability) {
        self.changes[from].add(number.value);
        self.changes[to].add(-number.value);
        self.doubt(number);
    }

    /// Adds a number at one place and all that follow.
    pub(super) fn jump(&mut self, place: usize, number: Probability) {
        self.changes[place].add(number.value);
        self.doubt(number);
    }

    /// Adds to the doubt alone what a number adds.
    pub(super) fn doubt(&mut self, number: Probability) {
        self.error += number.error + 4.0 * f64::EPSILON * number.value.abs();
        self.method = self.method.max(number.method);
    }

    /// The sums at all places.
    pub(super) fn curve(&self) -> StepCurve {
        let mut sum = Total::default();
        let changes = self.changes[..self.changes.len() - 1].iter();
        let values = changes.map(|change| {
            sum.add(change.value());
            sum.value()
        });
        StepCurve { values: values.collect(), error: self.error, method: self.method }
    }
}
