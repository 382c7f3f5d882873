//! Automatic bins of RHALE: the global optimum of its objective, by dynamic programming.

use super::objective::{Objective, Options, Terms};
use super::{Binning, Choice, Info, Request};
use crate::error::Result;
use crate::statistics::Moments;
use crate::vector::vectorised;

const NAME: &str = "dp";

pub(super) const INFO: Info = Info {
    name: NAME,
    about: "the optimum of RHALE eq. 13 over bins made of K_max equal cells (default bins = 20, \
            min_points = N/20, discount = 0.2)",
    options: Options::NAMES,
    build: |settings| Ok(Box::new(Dynamic(Options::from_settings(settings)?))),
};

/// The partition of `K_max` equal cells that minimises Σ τ_k σ̂²_k Δz_k with τ_k = 1 − α n_k/N,
/// subject to n_k ≥ n_min and n_k ≥ 2 (Gkolemis et al. 2023, eq. 13).
///
/// Exact. Of equal optima the one with the fewest bins is taken, then the one whose limits lie
/// leftmost. Costs O(K_max²) after one pass over the local effects. Where no partition meets the
/// constraint: a single bin, and [`Choice::feasible`] is false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dynamic(Options);

impl Dynamic {
    /// At most `cells` bins (K_max), at least `min_points` instances in each (by default one
    /// twentieth of all, rounded up, and at least 2), and discount α.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) for no cells or too many, a discount outside
    /// [0, 1], or a `min_points` that is negative or not finite.
    pub fn new(cells: usize, min_points: Option<f64>, discount: f64) -> Result<Self> {
        Options::new(cells, min_points, discount).map(Self)
    }
}

impl Binning for Dynamic {
    fn describe(&self) -> String {
        self.0.describe(NAME)
    }

    fn bins(&self) -> Option<usize> {
        Some(self.0.cells())
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let objective = self.0.prepare(NAME, request)?;
        let optimum = optimum(&objective);
        let feasible = optimum.is_some();
        let partition = objective.bins_ending_at(&optimum.unwrap_or_default());
        Ok(Choice { partition, feasible })
    }
}

/// The best way found to divide the cells from one on: cost, number of bins, end of the first bin.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    bins: usize,
    end: usize,
}

impl Best {
    const IMPOSSIBLE: Self = Self { cost: f64::INFINITY, bins: usize::MAX, end: usize::MAX };
}

/// The ends of the optimal bins, as indices of limits; none if no division is allowed.
///
/// Works from the right, so that among equal costs the leftmost end can be taken at each step.
/// For every new cell on the left it merges that cell into the moments of all bins that start at
/// its right neighbour: one stable merge per pair of limits, O(K) memory.
fn optimum(objective: &Objective) -> Option<Vec<usize>> {
    let count = objective.moments.len();
    let mut best = vec![Best::IMPOSSIBLE; count + 1];
    best[count] = Best { cost: 0.0, bins: 0, end: count };
    let mut bins = Bins::none(objective);
    for start in (0..count).rev() {
        bins.begin(best[start + 1].cost);
        bins.extend_to(start, objective);
        best[start] = bins.cheapest(start, &best);
    }
    (best[0].bins != usize::MAX).then(|| follow(&best))
}

/// Bins that are worked on together: so many that the loop over them is compiled as one of wide
/// instructions.
const CHUNK: usize = 32;

/// Bins that start at one cell. Every quantity has an array of its own, so that several bins are worked on at
/// once, and the arrays lie in one value, so that the compiler knows that they are apart.
#[derive(Clone)]
struct Chunk {
    weight: [f64; CHUNK],
    mean: [f64; CHUNK],
    squares: [f64; CHUNK],
    /// The limit at which the bin ends.
    end: [f64; CHUNK],
    /// The least cost of the cells behind the bin, infinite where they cannot be divided.
    rest: [f64; CHUNK],
    /// The least cost of the cells from the start on with this bin as the first; infinite where there is
    /// none.
    cost: [f64; CHUNK],
}

impl Chunk {
    const NONE: Self = Self {
        weight: [0.0; CHUNK],
        mean: [0.0; CHUNK],
        squares: [0.0; CHUNK],
        end: [0.0; CHUNK],
        rest: [f64::INFINITY; CHUNK],
        cost: [f64::INFINITY; CHUNK],
    };

    /// Merges a cell that begins at `from` into every bin, as [`Moments::merge`] does.
    #[inline(always)]
    fn extend(&mut self, cell: Moments, from: f64, terms: Terms) {
        for i in 0..CHUNK {
            let weight = cell.weight + self.weight[i];
            let share = if weight > 0.0 { self.weight[i] / weight } else { 0.0 };
            let shift = self.mean[i] - cell.mean;
            let bin = Moments {
                weight,
                mean: cell.mean + shift * share,
                squares: cell.squares + self.squares[i] + shift * shift * cell.weight * share,
            };
            (self.weight[i], self.mean[i], self.squares[i]) = (bin.weight, bin.mean, bin.squares);
            let cost = self.rest[i] + terms.cost_of(&bin, self.end[i] - from);
            self.cost[i] = least_of(cost, f64::INFINITY);
        }
    }

    /// The least cost: halves are compared until one is left.
    #[inline(always)]
    fn least(&self) -> f64 {
        let mut costs = self.cost;
        let mut half = CHUNK / 2;
        while half > 0 {
            let (left, right) = costs.split_at_mut(half);
            left.iter_mut().zip(right).for_each(|(left, right)| *left = least_of(*left, *right));
            half /= 2;
        }
        costs[0]
    }
}

/// The lesser of two numbers, the second where the first is none: one instruction.
#[inline(always)]
fn least_of(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The bins that start at one cell, the longest first; what stands behind the last bin has no meaning.
struct Bins {
    /// How many there are.
    len: usize,
    chunks: Vec<Chunk>,
    /// The least cost in each chunk.
    least: Vec<f64>,
}

impl Bins {
    fn none(objective: &Objective) -> Self {
        let count = objective.moments.len().div_ceil(CHUNK);
        let mut chunks = vec![Chunk::NONE; count];
        for (place, &limit) in objective.limits().iter().rev().take(count * CHUNK).enumerate() {
            chunks[place / CHUNK].end[place % CHUNK] = limit;
        }
        Self { len: 0, chunks, least: vec![f64::INFINITY; count] }
    }

    /// Adds a bin without cells, before cells that cost so much.
    fn begin(&mut self, rest: f64) {
        let (chunk, at) = (&mut self.chunks[self.len / CHUNK], self.len % CHUNK);
        (chunk.weight[at], chunk.mean[at], chunk.squares[at]) = (0.0, 0.0, 0.0);
        chunk.rest[at] = rest;
        self.len += 1;
    }

    /// Merges the cell `start` into every bin.
    fn extend_to(&mut self, start: usize, objective: &Objective) {
        let (cell, from) = (objective.moments[start], objective.limits()[start]);
        let count = self.len.div_ceil(CHUNK);
        vectorised(
            #[inline(always)]
            || {
                let (cell, from, terms) = (cell, from, *objective.terms());
                for (chunk, least) in self.chunks[..count].iter_mut().zip(&mut self.least) {
                    chunk.extend(cell, from, terms);
                    *least = chunk.least();
                }
            },
        );
    }

    /// Of the cheapest first bins from `start` on, the one that leads to the fewest bins; of those
    /// the shortest.
    fn cheapest(&self, start: usize, best: &[Best]) -> Best {
        let chunks = &self.least[..self.len.div_ceil(CHUNK)];
        let least = chunks.iter().fold(f64::INFINITY, |least, &cost| least_of(cost, least));
        let mut found = Best::IMPOSSIBLE;
        if !least.is_finite() {
            return found;
        }
        for (chunk, _) in chunks.iter().enumerate().rev().filter(|(_, cost)| **cost == least) {
            let costs = self.chunks[chunk].cost.iter().enumerate().rev();
            for (at, _) in costs.filter(|(_, cost)| **cost == least) {
                let end = start + self.len - (chunk * CHUNK + at);
                if best[end].bins < found.bins.saturating_sub(1) {
                    found = Best { cost: least, bins: best[end].bins + 1, end };
                }
            }
        }
        found
    }
}

fn follow(best: &[Best]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < best.len() - 1 {
        at = best[at].end;
        ends.push(at);
    }
    ends
}
