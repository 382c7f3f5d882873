//! Automatic bins found by merging neighbours.

use super::super::objective::Objective;
use super::{CellBinning, Search};
use crate::interrupt;
use crate::numeric::moments::Moments;

/// Starts from equal cells and removes, again and again, the inner limit whose removal lowers the
/// total cost most, while one does not raise it. Of equal gains the leftmost is taken. Bins with too
/// few instances are removed first: there is no cost that makes up for them.
pub type Agglomerative = CellBinning<Joining>;

/// The search of [`Agglomerative`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joining;

impl Search for Joining {
    const NAME: &'static str = "agglomerative";
    const ABOUT: &'static str = "merges the neighbouring bins that gain most, starting from equal cells (default bins = \
                                20, min_points = N/20, discount = 0.2)";

    fn ends(objective: &Objective) -> (Vec<usize>, bool) {
        let bins = merge(objective);
        let feasible = bins.iter().all(|bin| bin.cost.poor == 0);
        (bins.iter().map(|bin| bin.end).collect(), feasible)
    }
}

/// Cost of some bins together: first the number of those that are not allowed, then the costs of the others.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Cost {
    poor: i64,
    finite: f64,
}

impl Cost {
    const NONE: Self = Self { poor: 0, finite: 0.0 };

    fn of(cost: f64) -> Self {
        if cost.is_finite() {
            Self { poor: 0, finite: cost }
        } else {
            Self { poor: 1, finite: 0.0 }
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { poor: self.poor + other.poor, finite: self.finite + other.finite }
    }

    fn minus(self, other: Self) -> Self {
        Self { poor: self.poor - other.poor, finite: self.finite - other.finite }
    }
}

#[derive(Clone, Copy)]
struct Bin {
    start: usize,
    end: usize,
    moments: Moments,
    cost: Cost,
}

impl Bin {
    fn new(objective: &Objective, start: usize, end: usize, moments: Moments) -> Self {
        let cost = Cost::of(objective.cost(start, end, &moments));
        Self { start, end, moments, cost }
    }

    fn joined(&self, right: &Self, objective: &Objective) -> Self {
        Self::new(objective, self.start, right.end, self.moments.merge(right.moments))
    }
}

fn merge(objective: &Objective) -> Vec<Bin> {
    let cells = objective.moments.iter().enumerate();
    let mut bins: Vec<Bin> = cells.map(|(i, &cell)| Bin::new(objective, i, i + 1, cell)).collect();
    let change = |bins: &[Bin], left: usize| {
        let (a, b) = (&bins[left], &bins[left + 1]);
        a.joined(b, objective).cost.minus(a.cost.plus(b.cost))
    };
    // changes[i] is what joining bins i and i + 1 does to the total.
    let mut changes: Vec<Cost> = (1..bins.len()).map(|right| change(&bins, right - 1)).collect();
    while let Some(left) = first_minimum(&changes) {
        interrupt::check();
        if changes[left] > Cost::NONE {
            break;
        }
        bins[left] = bins[left].joined(&bins[left + 1], objective);
        bins.remove(left + 1);
        changes.remove(left);
        for pair in left.saturating_sub(1)..(left + 1).min(changes.len()) {
            changes[pair] = change(&bins, pair);
        }
    }
    bins
}

fn first_minimum(changes: &[Cost]) -> Option<usize> {
    (0..changes.len()).reduce(|best, i| if changes[i] < changes[best] { i } else { best })
}
