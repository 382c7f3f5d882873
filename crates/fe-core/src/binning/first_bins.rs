//! The bins that start at one cell, while dynamic programming goes from cell to cell.

use super::objective::{Objective, Terms};
use crate::statistics::Moments;
use crate::vector::vectorised;

/// Bins that are worked on together: as many numbers as the widest registers hold.
const LANES: usize = 8;

/// A number for each of the bins that are worked on together.
type Lanes = [f64; LANES];

/// Numbers made one by one, by a loop of its own that is compiled as wide instructions.
#[inline(always)]
fn lanes(number: impl Fn(usize) -> f64) -> Lanes {
    std::array::from_fn(number)
}

/// The lesser of two numbers, the second where the first is none: one instruction.
#[inline(always)]
fn least_of(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// What is known of some bins without merging the cells that were added to them last.
#[derive(Clone)]
#[repr(align(64))]
struct Outline {
    weight: Lanes,
    /// Not more than the squares: those of the cells alone are added to squares that were known.
    squares: Lanes,
    /// The limit at which the bin ends.
    end: Lanes,
    /// The least cost of the cells behind the bin, infinite where they cannot be divided.
    rest: Lanes,
}

impl Outline {
    const NONE: Self = Self {
        weight: [0.0; LANES],
        squares: [0.0; LANES],
        end: [0.0; LANES],
        rest: [f64::INFINITY; LANES],
    };

    #[inline(always)]
    fn add(&mut self, cell: Moments) {
        self.weight = lanes(|i| self.weight[i] + cell.weight);
        self.squares = lanes(|i| self.squares[i] + cell.squares);
    }

    /// Whether every bin that starts at `from` is sure to cost more than `least` with what is behind it,
    /// by more than rounding may change.
    #[inline(always)]
    fn is_beaten(&self, from: f64, least: f64, terms: Terms) -> bool {
        const MARGIN: f64 = 1e-14;
        const TINY: f64 = 1e-200;
        let least = least * (1.0 + MARGIN) + TINY;
        // Multiplied by the divisor of the variance, which takes less time than a division.
        let cost = lanes(|i| {
            let squares = self.squares[i] * terms.sure_discount(self.weight[i]);
            squares * (self.end[i] - from)
        });
        let most = lanes(|i| (least - self.rest[i]) * terms.divisor(self.weight[i]));
        cost.iter().zip(&most).fold(true, |beaten, (cost, most)| beaten & (cost > most))
    }
}

/// Some bins with their moments. Every quantity has an array of its own, so that several bins are worked on
/// at once, and the arrays lie in one value, so that the compiler knows that they are apart.
#[derive(Clone)]
#[repr(align(64))]
struct Bins {
    weight: Lanes,
    mean: Lanes,
    squares: Lanes,
    /// What the bin costs for each unit of its width, infinite where it is not allowed.
    price: Lanes,
    /// The least cost of the cells from the start on with this bin as the first; infinite where there is
    /// none.
    cost: Lanes,
    /// The first cell that was merged into the bins.
    start: usize,
}

impl Bins {
    const NONE: Self = Self {
        weight: [0.0; LANES],
        mean: [0.0; LANES],
        squares: [0.0; LANES],
        price: [f64::INFINITY; LANES],
        cost: [f64::INFINITY; LANES],
        start: 0,
    };

    /// Merges a cell with instances into every bin, as [`Moments::merge`] does.
    #[inline(always)]
    fn merge(&mut self, cell: Moments) {
        let weight = lanes(|i| cell.weight + self.weight[i]);
        let share = lanes(|i| self.weight[i] / weight[i]);
        let shift = lanes(|i| self.mean[i] - cell.mean);
        let between = lanes(|i| shift[i] * shift[i] * cell.weight * share[i]);
        self.mean = lanes(|i| cell.mean + shift[i] * share[i]);
        self.squares = lanes(|i| cell.squares + self.squares[i] + between[i]);
        self.weight = weight;
    }

    /// Merges the cells from `start` on that were not merged before. One without instances changes
    /// nothing.
    #[inline(always)]
    fn extend_to(&mut self, start: usize, cells: &[Moments], terms: Terms) {
        let mut is_changed = false;
        // A loop, as the functions of iterators are not compiled as wide instructions.
        for &cell in cells[start..self.start].iter().rev() {
            if cell.weight > 0.0 {
                self.merge(cell);
                is_changed = true;
            }
        }
        self.start = start;
        if is_changed {
            let variance = lanes(|i| self.squares[i] / terms.divisor(self.weight[i]));
            self.price = lanes(|i| terms.price(variance[i], self.weight[i]));
        }
    }

    /// The least cost.
    #[inline(always)]
    fn cheapest(&mut self, from: f64, outline: &Outline) -> f64 {
        let cost = lanes(|i| outline.rest[i] + self.price[i] * (outline.end[i] - from));
        self.cost = lanes(|i| least_of(cost[i], f64::INFINITY));
        self.cost.iter().fold(f64::INFINITY, |least, &cost| least_of(cost, least))
    }
}

/// All bins that start at one cell, the longest first; what stands behind the last bin has no meaning.
///
/// Cells are merged into bins only where one of these might be the cheapest: a bin can never cost less
/// than the squares within its cells say, and mostly they say enough.
pub(super) struct FirstBins {
    /// How many there are.
    len: usize,
    start: usize,
    outlines: Vec<Outline>,
    bins: Vec<Bins>,
    /// Which of them were not beaten, the shortest bins first, with the least cost of each eight.
    near: Vec<(usize, f64)>,
}

impl FirstBins {
    pub(super) fn none(objective: &Objective) -> Self {
        let cells = objective.moments.len();
        let count = cells.div_ceil(LANES);
        let mut outlines = vec![Outline::NONE; count];
        for (place, &limit) in objective.limits()[1..].iter().rev().enumerate() {
            outlines[place / LANES].end[place % LANES] = limit;
        }
        let near = Vec::with_capacity(count);
        Self { len: 0, start: cells, outlines, bins: vec![Bins::NONE; count], near }
    }

    /// Adds a bin without cells that is to start at `start`, before cells that cost so much.
    pub(super) fn begin(&mut self, start: usize, rest: f64) {
        let (place, at) = (self.len / LANES, self.len % LANES);
        let (outline, bins) = (&mut self.outlines[place], &mut self.bins[place]);
        (outline.weight[at], outline.squares[at], outline.rest[at]) = (0.0, 0.0, rest);
        (bins.weight[at], bins.mean[at], bins.squares[at]) = (0.0, 0.0, 0.0);
        bins.price[at] = f64::INFINITY;
        // The shortest bins are never beaten, so that all cells behind have been merged into them.
        bins.start = start + 1;
        self.len += 1;
    }

    /// Adds the cell `start` to every bin, and gives the least cost of the cells from there on.
    pub(super) fn extend_to(&mut self, start: usize, objective: &Objective) -> f64 {
        self.start = start;
        self.near.clear();
        let count = self.len.div_ceil(LANES);
        vectorised(
            #[inline(always)]
            || {
                let (cells, terms) = (&*objective.moments, *objective.terms());
                let (cell, from) = (cells[start], objective.limits()[start]);
                let mut least = f64::INFINITY;
                let all = self.outlines[..count].iter_mut().zip(&mut self.bins[..count]);
                for (place, (outline, bins)) in all.enumerate().rev() {
                    outline.add(cell);
                    if outline.is_beaten(from, least, terms) {
                        continue;
                    }
                    bins.extend_to(start, cells, terms);
                    outline.squares = bins.squares;
                    let cheapest = bins.cheapest(from, outline);
                    least = least_of(cheapest, least);
                    self.near.push((place, cheapest));
                }
                least
            },
        )
    }

    /// The ends of the bins with this least cost, in increasing order.
    pub(super) fn ends_that_cost(&self, cost: f64) -> impl Iterator<Item = usize> {
        let end = |place: usize, at: usize| self.start + self.len - (place * LANES + at);
        let cheapest = self.near.iter().filter(move |(_, least)| *least == cost);
        cheapest.flat_map(move |&(place, _)| {
            let costs = self.bins[place].cost.iter().enumerate().rev();
            costs.filter(move |(_, other)| **other == cost).map(move |(at, _)| end(place, at))
        })
    }
}
