//! Sums of probabilities given a feature, at many of its values at once.
//!
//! A mean over the variable that ties a block together is linear: what many boxes add is first added up at each value of
//! that variable, and integrated once for each value of the feature.

use std::ops::Range;

use super::cells::{Probability, ROUNDING, Side, Total};
use super::joint::{Factor, Given, Joint, by_trapezia};
use super::sums::Sums;
use crate::quantity::{Evaluation, Truth};

/// Sums, at some values of a feature, of numbers times the probability of sides of its block given that value.
pub(super) struct SumsGiven<'a> {
    joint: &'a Joint,
    feature: usize,
    given: Vec<Given>,
    places: Vec<usize>,
    sums: Sums,
    factor: Option<OverFactor<'a>>,
}

/// Changes of such sums from each value of the feature to the next, at each value of the common factor.
struct OverFactor<'a> {
    factor: &'a Factor,
    changes: Vec<Total>,
    product: Vec<f64>,
}

impl<'a> SumsGiven<'a> {
    /// At values of a feature, ascending.
    pub(super) fn new(joint: &'a Joint, feature: usize, values: &[f64]) -> Self {
        let is_alone = joint.is_alone(feature);
        let given = values.iter().filter(|_| !is_alone).map(|&x| joint.given(feature, x));
        let over = |factor: &'a Factor| OverFactor {
            factor,
            changes: vec![Total::default(); (values.len() + 1) * factor.size()],
            product: vec![0.0; factor.size()],
        };
        Self {
            joint,
            feature,
            given: given.collect(),
            places: values.iter().map(|&x| joint.cells[feature].of(x)).collect(),
            sums: Sums::new(values.len()),
            factor: joint.at_factor(feature).map(over),
        }
    }

    /// All values of the feature, by their numbers.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.places.len()
    }

    /// Those inside a side of the feature.
    pub(super) fn inside(&self, side: Side) -> Range<usize> {
        debug_assert_eq!(side.feature, self.feature);
        let [from, to] = [side.from, side.to];
        let before = |cell: usize| self.places.partition_point(|place| *place < cell);
        before(from)..before(to)
    }

    /// Adds a number times the probability of sides of the feature's block, without its own, at some of the values.
    pub(super) fn add(&mut self, values: Range<usize>, sides: &[Side], number: Probability) {
        if values.is_empty() {
            return;
        }
        match &mut self.factor {
            _ if sides.is_empty() => self.sums.add(values.start, values.end, number),
            Some(over) => {
                over.add(values, sides, number.value);
                // Of the integral, beside the doubt that is seen in the end.
                let error = number.error + 4.0 * ROUNDING * number.value.abs();
                let method = Evaluation::Quadrature;
                self.sums.doubt(Probability { error, method: number.method.max(method), ..number });
            }
            None => {
                for value in values {
                    let share = self.joint.of_block(sides, Some(&self.given[value]));
                    self.sums.add(value, value + 1, number.times(share));
                }
            }
        }
    }

    /// The sums at all values.
    pub(super) fn at_each(self) -> Vec<Truth> {
        let curve = self.sums.curve();
        let mut truths: Vec<Truth> = self.all().map(|value| curve.in_cell(value)).collect();
        if let Some(over) = self.factor {
            let means = over.means(&self.given);
            truths.iter_mut().zip(means).for_each(|(truth, [mean, doubt])| {
                truth.value += mean;
                truth.abs_error += doubt;
            });
        }
        truths
    }
}

impl OverFactor<'_> {
    fn add(&mut self, values: Range<usize>, sides: &[Side], number: f64) {
        self.product.fill(number);
        self.factor.multiply(&mut self.product, sides);
        let size = self.product.len();
        for (value, sign) in [(values.start, 1.0), (values.end, -1.0)] {
            let changes = &mut self.changes[value * size..][..size];
            changes.iter_mut().zip(&self.product).for_each(|(sum, part)| sum.add(sign * part));
        }
    }

    /// The mean at each value of the feature, with a bound on what the integral misses.
    fn means(&self, given: &[Given]) -> Vec<[f64; 2]> {
        let size = self.product.len();
        let mut sums = vec![Total::default(); size];
        let rows = given.iter().zip(self.changes.chunks_exact(size));
        rows.map(|(given, changes)| {
            sums.iter_mut().zip(changes).for_each(|(sum, change)| sum.add(change.value()));
            by_trapezia(sums.iter().zip(&given.weights).map(|(sum, weight)| weight * sum.value()))
        })
        .collect()
    }
}
