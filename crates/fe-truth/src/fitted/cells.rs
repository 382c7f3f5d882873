//! Cells of a feature between the limits of boxes, and their probabilities.

use crate::law::Univariate;
use crate::quantity::Evaluation;

/// A probability, or a mean of products of such, with a bound on its error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probability {
    pub(super) value: f64,
    pub(super) error: f64,
    pub(super) method: Evaluation,
}

impl Probability {
    pub(super) const ONE: Self = Self { value: 1.0, error: 0.0, method: Evaluation::Closed };

    pub(super) fn times(self, other: Self) -> Self {
        let error = self.value.abs() * other.error + (other.value.abs() + other.error) * self.error;
        let value = self.value * other.value;
        let error = error + f64::EPSILON * value.abs();
        Self { value, error, method: self.method.max(other.method) }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, error: self.error * factor.abs(), ..self }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let (value, error) = (self.value + other.value, self.error + other.error);
        Self { value, error, method: self.method.max(other.method) }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(other.scaled(-1.0))
    }
}

/// A side of a box in cells: from one on, and before another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Side {
    pub(super) feature: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The cells of a feature, each from one limit on and below the next; the first and the last have no end.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    pub(super) limits: Vec<f64>,
}

impl Cells {
    /// Number of cells.
    pub(super) fn count(&self) -> usize {
        self.limits.len() + 1
    }

    /// The cell of a value.
    pub(super) fn of(&self, x: f64) -> usize {
        self.limits.partition_point(|limit| *limit <= x)
    }

    /// The cells of an interval between limits, the last one left out.
    pub(super) fn between(&self, from: f64, below: f64) -> [usize; 2] {
        [self.of(from), self.limits.partition_point(|limit| *limit < below) + 1]
    }

    /// Ends of a cell.
    pub(super) fn ends(&self, cell: usize) -> (f64, f64) {
        let from = cell.checked_sub(1).map_or(f64::NEG_INFINITY, |k| self.limits[k]);
        (from, self.limits.get(cell).copied().unwrap_or(f64::INFINITY))
    }

    /// Probabilities of what is before each cell, and of all. They are known to rounding of 1, as differences of them are
    /// what is asked for.
    pub(super) fn before(&self, law: &dyn Univariate) -> Vec<f64> {
        if let Some(levels) = law.levels() {
            let mut masses = vec![0.0; self.count()];
            levels.iter().for_each(|(x, probability)| masses[self.of(x)] += probability);
            return accumulated(&masses);
        }
        let (low, high) = law.support();
        let below = |&limit: &f64| match limit {
            limit if limit <= low => 0.0,
            limit if limit >= high => 1.0,
            limit => law.cdf(limit),
        };
        let ends = [0.0, 1.0];
        let inner = self.limits.iter().map(below);
        ends[..1].iter().copied().chain(inner).chain(ends[1..].iter().copied()).collect()
    }

    /// Probabilities that are not numbers, of a law that is not known.
    pub(super) fn unknown(&self) -> Table {
        let before = vec![f64::NAN; self.count() + 1];
        Table { before, error: 0.0, method: Evaluation::Quadrature }
    }

    /// Probabilities of what is before each cell, and of all.
    pub(super) fn table(&self, law: &dyn Univariate, doubt: f64) -> Table {
        let method = match (law.is_simulated(), law.base().is_some()) {
            (true, _) => Evaluation::Simulation,
            (false, true) => Evaluation::Quadrature,
            (false, false) => Evaluation::Closed,
        };
        let error = ROUNDING + doubt + law.doubt();
        Table { before: self.before(law), error, method }
    }
}

/// Error of a probability by a distribution function.
pub(super) const ROUNDING: f64 = 1e-15;

/// Sums of numbers before each, and of all.
fn accumulated(numbers: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut before = vec![0.0];
    before.extend(numbers.iter().map(|number| {
        sum += number;
        sum
    }));
    before
}

/// Probabilities of intervals of one feature.
#[derive(Debug, Clone)]
pub(super) struct Table {
    before: Vec<f64>,
    error: f64,
    method: Evaluation,
}

impl Table {
    /// The probability of a side.
    pub(super) fn of(&self, side: Side) -> Probability {
        let value = self.before[side.to] - self.before[side.from];
        Probability { value, error: self.error, method: self.method }
    }

    /// The probability of a cell.
    pub(super) fn of_cell(&self, cell: usize) -> f64 {
        self.before[cell + 1] - self.before[cell]
    }
}

/// A sum of many numbers, exact to a few roundings of their size (Neumaier 1974).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    pub(super) fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        let larger = self.sum.abs() >= number.abs();
        self.lost += if larger { (self.sum - sum) + number } else { (number - sum) + self.sum };
        self.sum = sum;
    }

    pub(super) fn value(self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Normal, PiecewiseUniform};

    #[test]
    fn limits_belong_to_the_cell_above() {
        let cells = Cells { limits: vec![0.0, 1.0, 3.0] };
        assert_eq!([-1.0, 0.0, 0.5, 1.0, 3.0].map(|x| cells.of(x)), [0, 1, 1, 2, 3]);
        let infinity = f64::INFINITY;
        assert_eq!(cells.between(-infinity, 0.0), [0, 1]);
        assert_eq!(cells.between(0.0, 3.0), [1, 3]);
        assert_eq!(cells.between(1.0, infinity), [2, 4]);
    }

    #[test]
    fn cells_have_the_probabilities_of_their_intervals() {
        let cells = Cells { limits: vec![-2.0, 0.25, 3.0] };
        assert_eq!(cells.before(&PiecewiseUniform::on(0.0, 1.0)), [0.0, 0.0, 0.25, 1.0, 1.0]);
        let before = cells.before(&Normal { mean: 0.25, sd: 1.0 });
        assert!((before[2] - 0.5).abs() < 1e-15 && before[4] == 1.0, "{before:?}");
        let levels = crate::law::levels::Levels::new([(0.0, 1.0), (0.25, 2.0), (3.0, 1.0)]);
        assert_eq!(cells.before(&levels), [0.0, 0.0, 0.25, 0.75, 1.0]);
    }

    #[test]
    fn a_total_loses_nothing() {
        let mut total = Total::default();
        [1.0, 1e100, 1.0, -1e100].into_iter().for_each(|number| total.add(number));
        assert_eq!(total.value(), 2.0);
    }
}
