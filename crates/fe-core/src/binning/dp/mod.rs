//! Automatic bins of RHALE: the global optimum of its objective, by dynamic programming.

mod plain;
mod pruned;

use super::objective::Objective;
use super::search::{CellBinning, Search};
use crate::interrupt::{self, UNINTERRUPTED};
use crate::numeric::simd::vectorised;
pub use plain::plain_optimum;
use pruned::FirstBins;

/// The partition of `K_max` equal cells that minimises Σ τ_k σ̂²_k Δz_k with τ_k = 1 − α n_k/N,
/// subject to n_k ≥ n_min and n_k ≥ 2 (Gkolemis et al. 2023, eq. 13).
///
/// Exact. Of equal optima the one with the fewest bins is taken, then the one whose limits lie
/// leftmost. Costs O(K_max²) after one pass over the local effects. Where no partition meets the
/// constraint: a single bin, and [`Choice::feasible`](super::Choice::feasible) is false.
pub type Dynamic = CellBinning<Optimum>;

/// The search of [`Dynamic`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optimum;

impl Search for Optimum {
    const NAME: &'static str = "dp";
    const ABOUT: &'static str = "the optimum of RHALE eq. 13 over bins made of K_max equal cells (default bins = 20, \
                                min_points = N/20, discount = 0.2)";

    fn ends(objective: &Objective) -> (Vec<usize>, bool) {
        let optimum = optimum(objective);
        let feasible = optimum.is_some();
        (optimum.unwrap_or_default(), feasible)
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

    /// Of two that cost the same, the one with the fewest bins; of those the one whose first ends first.
    fn preferred(self, other: Self) -> Self {
        if (other.bins, other.end) < (self.bins, self.end) { other } else { self }
    }
}

/// The ends of the optimal bins, as indices of limits; none if no division is allowed.
///
/// Works from the right, so that among equal costs the leftmost end can be taken at each step.
/// For every new cell on the left it merges that cell into the moments of the bins that start at
/// its right neighbour, as far as these might be the cheapest: at most one stable merge per pair of
/// limits, O(K) memory.
fn optimum(objective: &Objective) -> Option<Vec<usize>> {
    let count = objective.moments.len();
    let mut best = vec![Best::IMPOSSIBLE; count + 1];
    best[count] = Best { cost: 0.0, bins: 0, end: count };
    let mut bins = FirstBins::none(objective);
    vectorised(
        #[inline(always)]
        || {
            for start in (0..count).rev() {
                if start.is_multiple_of(UNINTERRUPTED) {
                    interrupt::check();
                }
                bins.begin(start, best[start + 1].cost);
                let cost = bins.extend_to(start, objective);
                let mut found = Best::IMPOSSIBLE;
                if cost < f64::INFINITY {
                    bins.each_end_that_costs(cost, |end| {
                        found = found.preferred(Best { cost, bins: best[end].bins + 1, end });
                    });
                }
                best[start] = found;
            }
        },
    );
    (best[0].bins != usize::MAX).then(|| follow(&best))
}

fn follow(best: &[Best]) -> Vec<usize> {
    let mut ends = Vec::with_capacity(best[0].bins);
    let mut at = 0;
    while at < best.len() - 1 {
        at = best[at].end;
        ends.push(at);
    }
    ends
}
