//! Values that one integral over a feature asks for, kept for a second one that asks for the same.

use std::cell::{Cell, RefCell};

use super::watch::{spend, with_cost};
use crate::numeric::quadrature::Estimate;

/// Local quantities of terms at the nodes of an integral over the one feature that is free, with what they cost. A second
/// integral over it asks for them in the same order, but for those of panels that only one of the two divides.
#[derive(Default)]
pub(super) struct Recalled {
    of_terms: RefCell<Vec<OfTerm>>,
}

struct OfTerm {
    term: usize,
    known: Vec<Known>,
    /// The one after that which was recalled last.
    next: Cell<usize>,
}

struct Known {
    place: u64,
    value: Estimate,
    cost: f64,
}

impl Recalled {
    /// A value that is made at a place, and kept unless it is refused.
    pub(super) fn note(&self, term: usize, x: f64, make: impl FnOnce() -> Estimate) -> Estimate {
        let (value, cost) = with_cost(make);
        if value.value.is_nan() {
            return value;
        }
        let known = Known { place: x.to_bits(), value, cost };
        let mut all = self.of_terms.borrow_mut();
        match all.iter_mut().find(|of| of.term == term) {
            Some(of) => of.known.push(known),
            None => all.push(OfTerm { term, known: vec![known], next: Cell::new(0) }),
        }
        value
    }

    /// A value that was noted at a place, or is made; its cost is spent as if it were made anew.
    pub(super) fn recall(&self, term: usize, x: f64, make: impl FnOnce() -> Estimate) -> Estimate {
        let known =
            self.of_terms.borrow().iter().find(|of| of.term == term).and_then(|of| of.at(x));
        match known {
            Some((value, cost)) => {
                spend(cost);
                value
            }
            None => make(),
        }
    }
}

impl OfTerm {
    fn at(&self, x: f64) -> Option<(Estimate, f64)> {
        let is_here = |known: &Known| known.place == x.to_bits();
        let next = self.next.get();
        let place = match self.known.get(next) {
            Some(known) if is_here(known) => next,
            // Of a panel that the other integral divides, or one after it.
            _ => self.known.iter().position(is_here)?,
        };
        self.next.set(place + 1);
        let Known { value, cost, .. } = self.known[place];
        Some((value, cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_recalled_by_their_terms_and_places_and_cost_what_they_did() {
        let recalled = Recalled::default();
        let paid = |value: f64| {
            spend(3.0);
            Estimate::exact(value)
        };
        for (term, x, value) in [(4, 0.5, 1.0), (4, 0.7, 2.0), (1, 0.5, 3.0), (4, 0.9, 4.0)] {
            recalled.note(term, x, || paid(value));
        }
        let asked = Cell::new(0);
        let recall = |term: usize, x: f64| {
            let make = || {
                asked.set(asked.get() + 1);
                paid(-1.0)
            };
            let (found, cost) = with_cost(|| recalled.recall(term, x, make));
            assert_eq!(cost, 3.0);
            found.value
        };
        let order = [(4, 0.5), (4, 0.7), (4, 0.9), (1, 0.5), (4, 0.7), (4, 0.9), (4, 0.5)];
        assert_eq!(order.map(|(term, x)| recall(term, x)), [1.0, 2.0, 4.0, 3.0, 2.0, 4.0, 1.0]);
        assert_eq!(asked.get(), 0);
        assert_eq!([(1, 0.7), (2, 0.5), (4, 0.6)].map(|(term, x)| recall(term, x)), [-1.0; 3]);
        assert_eq!((asked.get(), recall(4, 0.7)), (3, 2.0));
    }
}
