//! Automatic bins of RHALE: the global optimum of its objective, by dynamic programming.

use super::{Binning, Choice, Info, Request, check_bins};
use crate::error::{Error, Result};
use crate::partition::Partition;
use crate::statistics::Moments;

pub(super) const INFO: Info = Info {
    name: "dp",
    about: "the optimum of RHALE eq. 13 over bins made of K_max equal cells (default bins = 20, \
            min_points = N/20, discount = 0.2)",
    options: &["bins", "min_points", "discount"],
    build: |settings| {
        Ok(Box::new(Dynamic::new(
            settings.bins.unwrap_or(20),
            settings.min_points,
            settings.discount.unwrap_or(0.2),
        )?))
    },
};

/// Most cells: the time grows as their square.
const MOST_CELLS: usize = 100_000;

/// The partition of `K_max` equal cells that minimises Σ τ_k σ̂²_k Δz_k with τ_k = 1 − α n_k/N,
/// subject to n_k ≥ n_min and n_k ≥ 2 (Gkolemis et al. 2023, eq. 13).
///
/// Exact. Of equal optima the one with the fewest bins is taken, then the one whose limits lie
/// leftmost. Costs O(K_max²) after one pass over the local effects. Where no partition meets the
/// constraint: a single bin, and [`Choice::feasible`] is false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dynamic {
    cells: usize,
    min_points: Option<f64>,
    discount: f64,
}

impl Dynamic {
    /// At most `cells` bins (K_max), at least `min_points` instances in each (by default one
    /// twentieth of all, rounded up, and at least 2), and discount α.
    ///
    /// # Errors
    /// [`Error::BadOption`] for no cells or too many, a discount outside [0, 1], or a `min_points`
    /// that is negative or not finite.
    pub fn new(cells: usize, min_points: Option<f64>, discount: f64) -> Result<Self> {
        check_bins("bins", cells, MOST_CELLS)?;
        let bad = |option, given: f64, allowed: &str| {
            Err(Error::BadOption { option, given: given.to_string(), allowed: allowed.to_owned() })
        };
        if !(0.0..=1.0).contains(&discount) {
            return bad("discount", discount, "must be from 0 to 1");
        }
        match min_points {
            Some(points) if !(points >= 0.0 && points.is_finite()) => {
                bad("min_points", points, "must be finite and not negative")
            }
            _ => Ok(Self { cells, min_points, discount }),
        }
    }
}

impl Binning for Dynamic {
    fn describe(&self) -> String {
        let points = self.min_points.map_or("N/20".to_owned(), |points| points.to_string());
        format!("dp(min_points={points};discount={})", self.discount)
    }

    fn bins(&self) -> Option<usize> {
        Some(self.cells)
    }

    fn choose(&self, request: &Request<'_>) -> Result<Choice> {
        let Some(local_effects) = request.local_effects else {
            return Err(Error::Incompatible(
                "the binning `dp` looks at local effects, which `ale` has only once bins are chosen; use it with `rhale`"
                    .to_owned(),
            ));
        };
        let cells = Partition::new(request.axis.divide(self.cells), request.closed)?;
        let moments = local_effects(&cells)?;
        let total: f64 = moments.iter().map(|cell| cell.weight).sum();
        let objective = Objective {
            limits: cells.limits(),
            min_points: self.min_points.unwrap_or_else(|| (total / 20.0).ceil()).max(2.0),
            discount_per_point: self.discount / total,
            ddof: request.ddof,
        };
        let optimum = objective.optimum(&moments);
        let feasible = optimum.is_some();
        let partition = match optimum {
            Some(ends) => cells.keeping(|limit| ends.binary_search(&limit).is_ok()),
            None => cells.keeping(|_| false),
        };
        Ok(Choice { partition, feasible })
    }
}

/// What a bin made of neighbouring cells costs.
struct Objective<'a> {
    limits: &'a [f64],
    min_points: f64,
    discount_per_point: f64,
    ddof: f64,
}

/// The best way found to divide the cells from one on: cost, number of bins, end of the first bin.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    bins: usize,
    end: usize,
}

impl Objective<'_> {
    /// Infinite for a bin that is not allowed: no finite cost can then be preferred to it.
    #[inline]
    fn cost(&self, start: usize, end: usize, bin: &Moments) -> f64 {
        if bin.weight < self.min_points {
            return f64::INFINITY;
        }
        let Some(variance) = bin.variance(self.ddof) else { return f64::INFINITY };
        let discount = 1.0 - self.discount_per_point * bin.weight;
        variance * discount * (self.limits[end] - self.limits[start])
    }

    /// The ends of the optimal bins, as indices of limits; none if no division is allowed.
    ///
    /// Works from the right, so that among equal costs the leftmost end can be taken at each step.
    /// For every new cell on the left it merges that cell into the moments of all bins that start
    /// at its right neighbour: one stable merge per pair of limits, O(K) memory.
    fn optimum(&self, cells: &[Moments]) -> Option<Vec<usize>> {
        let count = cells.len();
        let impossible = Best { cost: f64::INFINITY, bins: usize::MAX, end: count };
        let mut best = vec![impossible; count + 1];
        best[count] = Best { cost: 0.0, bins: 0, end: count };
        // bins[end] holds the moments of the cells start..end.
        let mut bins = vec![Moments::default(); count + 1];
        for start in (0..count).rev() {
            for end in start + 1..=count {
                bins[end] = cells[start].merge(bins[end]);
                let rest = best[end];
                if rest.bins == usize::MAX {
                    continue;
                }
                let cost = self.cost(start, end, &bins[end]) + rest.cost;
                let found = Best { cost, bins: rest.bins + 1, end };
                if is_better(found, best[start]) {
                    best[start] = found;
                }
            }
        }
        (best[0].bins != usize::MAX).then(|| follow(&best))
    }
}

fn is_better(found: Best, known: Best) -> bool {
    found.cost < known.cost
        || (found.cost == known.cost && found.cost.is_finite() && found.bins < known.bins)
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
