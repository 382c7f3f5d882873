//! Automatic bins found by merging neighbours.

use super::objective::{Objective, Options};
use super::{Binning, Choice, Info, Request};
use crate::error::Result;
use crate::interrupt;
use crate::statistics::Moments;

const NAME: &str = "agglomerative";

pub(super) const INFO: Info = Info {
    name: NAME,
    about: "merges the neighbouring bins that gain most, starting from equal cells (default bins = \
            20, min_points = N/20, discount = 0.2)",
    options: Options::NAMES,
    automatic: true,
    build: |settings| Ok(Box::new(Agglomerative(Options::from_settings(settings)?))),
};

/// Starts from equal cells and removes, again and again, the inner limit whose removal lowers the
/// total cost most, while one does not raise it. Of equal gains the leftmost is taken. Bins with too
/// few instances are removed first: there is no cost that makes up for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agglomerative(Options);

impl Agglomerative {
    /// Over so many cells, with the least number of instances in a bin and the discount α as for
    /// [`Dynamic`](super::Dynamic).
    ///
    /// # Errors
    /// As [`Dynamic::new`](super::Dynamic::new).
    pub fn new(cells: usize, min_points: Option<f64>, discount: f64) -> Result<Self> {
        Options::new(cells, min_points, discount).map(Self)
    }
}

impl Binning for Agglomerative {
    fn describe(&self) -> String {
        self.0.describe(NAME)
    }

    fn bins(&self) -> Option<usize> {
        Some(self.0.cells())
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let objective = self.0.prepare(NAME, request)?;
        let bins = merge(&objective);
        let ends: Vec<usize> = bins.iter().map(|bin| bin.end).collect();
        let feasible = bins.iter().all(|bin| bin.cost.poor == 0);
        Ok(objective.bins_ending_at(&ends, feasible))
    }
}

/// What bins cost together: first how many of them are not allowed, then the costs of the others.
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
