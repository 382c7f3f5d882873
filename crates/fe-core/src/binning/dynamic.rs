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
    let mut bins = Bins::none(count);
    bins.rest[count - 1] = 0.0;
    for start in (0..count).rev() {
        bins.extend_to(start, objective);
        best[start] = bins.cheapest(start, &best);
        if start > 0 {
            bins.rest[start - 1] = best[start].cost;
        }
    }
    (best[0].bins != usize::MAX).then(|| follow(&best))
}

/// The bins that start at one cell, each told by its last cell. Every quantity has an array of its
/// own, so that several bins are worked on at once.
struct Bins {
    weight: Vec<f64>,
    mean: Vec<f64>,
    squares: Vec<f64>,
    /// The least cost of the cells behind the bin, infinite where they cannot be divided.
    rest: Vec<f64>,
    /// The least cost of the cells from the start on with this bin as the first.
    cost: Vec<f64>,
}

impl Bins {
    fn none(count: usize) -> Self {
        let zeros = || vec![0.0; count];
        Self {
            weight: zeros(),
            mean: zeros(),
            squares: zeros(),
            rest: vec![f64::INFINITY; count],
            cost: zeros(),
        }
    }

    /// Merges the cell `start` into every bin that started behind it, as [`Moments::merge`] does,
    /// and adds the bin of that cell alone.
    fn extend_to(&mut self, start: usize, objective: &Objective) {
        vectorised(
            #[inline(always)]
            || {
                let extend = Extend {
                    cell: objective.moments[start],
                    from: objective.limits()[start],
                    ends: &objective.limits()[start + 1..],
                    weight: &mut self.weight[start..],
                    mean: &mut self.mean[start..],
                    squares: &mut self.squares[start..],
                    rest: &self.rest[start..],
                    cost: &mut self.cost[start..],
                    objective,
                };
                extend.run();
            },
        );
    }

    /// Of the cheapest first bins from `start` on, the one that leads to the fewest bins; of those
    /// the shortest.
    fn cheapest(&self, start: usize, best: &[Best]) -> Best {
        let costs = &self.cost[start..];
        let least = least(costs);
        let mut found = Best::IMPOSSIBLE;
        if least.is_finite() {
            for (offset, _) in costs.iter().enumerate().filter(|(_, cost)| **cost == least) {
                let end = start + offset + 1;
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

/// The loop of [`Bins::extend_to`], compiled for the processors that there are.
struct Extend<'a> {
    cell: Moments,
    from: f64,
    ends: &'a [f64],
    weight: &'a mut [f64],
    mean: &'a mut [f64],
    squares: &'a mut [f64],
    rest: &'a [f64],
    cost: &'a mut [f64],
    objective: &'a Objective,
}

impl Extend<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { cell, from, objective, .. } = self;
        let count = self.weight.len();
        let (mean, squares, cost) =
            (&mut self.mean[..count], &mut self.squares[..count], &mut self.cost[..count]);
        let (ends, rest) = (&self.ends[..count], &self.rest[..count]);
        for (i, bin_weight) in self.weight.iter_mut().enumerate() {
            let weight = cell.weight + *bin_weight;
            let share = if weight > 0.0 { *bin_weight / weight } else { 0.0 };
            let shift = mean[i] - cell.mean;
            let bin = Moments {
                weight,
                mean: cell.mean + shift * share,
                squares: cell.squares + squares[i] + shift * shift * cell.weight * share,
            };
            (*bin_weight, mean[i], squares[i]) = (bin.weight, bin.mean, bin.squares);
            cost[i] = objective.cost_of(&bin, ends[i] - from) + rest[i];
        }
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
