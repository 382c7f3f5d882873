//! Automatic bins of RHALE: the global optimum of its objective, by dynamic programming.

use super::objective::{Objective, Options};
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

/// The bins that start at one cell, the longest first. Every quantity has an array of its own, in
/// chunks, so that several bins are worked on at once; what stands behind the last bin has no meaning.
struct Bins {
    /// How many there are.
    len: usize,
    weight: Vec<[f64; CHUNK]>,
    mean: Vec<[f64; CHUNK]>,
    squares: Vec<[f64; CHUNK]>,
    /// The limit at which the bin ends.
    end: Vec<[f64; CHUNK]>,
    /// The least cost of the cells behind the bin, infinite where they cannot be divided.
    rest: Vec<[f64; CHUNK]>,
    /// The least cost of the cells from the start on with this bin as the first.
    cost: Vec<[f64; CHUNK]>,
}

impl Bins {
    fn none(objective: &Objective) -> Self {
        let chunks = objective.moments.len().div_ceil(CHUNK);
        let all = |value: f64| vec![[value; CHUNK]; chunks];
        let mut end = all(0.0);
        let ends = objective.limits().iter().rev();
        end.as_flattened_mut().iter_mut().zip(ends).for_each(|(end, &limit)| *end = limit);
        Self {
            len: 0,
            weight: all(0.0),
            mean: all(0.0),
            squares: all(0.0),
            end,
            rest: all(f64::INFINITY),
            cost: all(0.0),
        }
    }

    /// Adds a bin without cells, before cells that cost so much.
    fn begin(&mut self, rest: f64) {
        let (chunk, at) = (self.len / CHUNK, self.len % CHUNK);
        self.weight[chunk][at] = 0.0;
        self.mean[chunk][at] = 0.0;
        self.squares[chunk][at] = 0.0;
        self.rest[chunk][at] = rest;
        self.len += 1;
    }

    /// Merges the cell `start` into every bin, as [`Moments::merge`] does, with one division for the
    /// merge and the variance.
    fn extend_to(&mut self, start: usize, objective: &Objective) {
        let (cell, from) = (objective.moments[start], objective.limits()[start]);
        vectorised(
            #[inline(always)]
            || {
                // Out of reach of the arrays that are written.
                let (cell, from, terms) = (cell, from, *objective.terms());
                for chunk in 0..self.len.div_ceil(CHUNK) {
                    let (mut weights, mut means) = (self.weight[chunk], self.mean[chunk]);
                    let (mut squares, ends) = (self.squares[chunk], self.end[chunk]);
                    let mut costs = self.rest[chunk];
                    for i in 0..CHUNK {
                        let weight = cell.weight + weights[i];
                        let shares = terms.shares_of(weight);
                        let share = shares.weight * weights[i];
                        let shift = means[i] - cell.mean;
                        let bin = Moments {
                            weight,
                            mean: cell.mean + shift * share,
                            squares: cell.squares
                                + squares[i]
                                + shift * shift * cell.weight * share,
                        };
                        (weights[i], means[i], squares[i]) = (bin.weight, bin.mean, bin.squares);
                        costs[i] += terms.cost_by(shares, &bin, ends[i] - from);
                    }
                    (self.weight[chunk], self.mean[chunk]) = (weights, means);
                    (self.squares[chunk], self.cost[chunk]) = (squares, costs);
                }
            },
        );
    }

    /// Of the cheapest first bins from `start` on, the one that leads to the fewest bins; of those
    /// the shortest.
    fn cheapest(&self, start: usize, best: &[Best]) -> Best {
        let costs = &self.cost.as_flattened()[..self.len];
        let least = least(costs);
        let mut found = Best::IMPOSSIBLE;
        if !least.is_finite() {
            return found;
        }
        for (chunk, costs) in costs.chunks(CHUNK).enumerate().rev() {
            // Without a way out on the first, so that several are looked at at once.
            if !costs.iter().fold(false, |any, &cost| any | (cost == least)) {
                continue;
            }
            for (at, _) in costs.iter().enumerate().rev().filter(|(_, cost)| **cost == least) {
                let end = start + self.len - (chunk * CHUNK + at);
                if best[end].bins < found.bins.saturating_sub(1) {
                    found = Best { cost: least, bins: best[end].bins + 1, end };
                }
            }
        }
        found
    }
}

/// The least of some numbers; infinity if there are none.
fn least(numbers: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let mut lanes = [f64::INFINITY; LANES];
    for chunk in chunks {
        for (lane, &number) in lanes.iter_mut().zip(chunk) {
            *lane = if number < *lane { number } else { *lane };
        }
    }
    let all = lanes.iter().chain(rest);
    all.fold(f64::INFINITY, |least, &number| if number < least { number } else { least })
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
