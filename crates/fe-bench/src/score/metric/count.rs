//! Counts of bins, which need no truth.

use super::{Definition, Measure};

/// All bins.
pub(super) const BINS: Definition = Definition {
    name: "bins",
    about: "number of bins of the estimate",
    is_error: false,
    is_squared: false,
    measure: Measure::Count(|_, bins| bins.partition.bins()),
};

/// Bins without instances.
pub(super) const EMPTY_BINS: Definition = Definition {
    name: "empty_bins",
    about: "number of bins without instances",
    is_error: false,
    is_squared: false,
    measure: Measure::Count(|effect, _| {
        effect.record.binning.as_ref().map_or(0, |binning| binning.empty)
    }),
};

/// 1 if no partition met the constraints and a single bin stands in, else 0.
pub(super) const INFEASIBLE: Definition = Definition {
    name: "infeasible",
    about: "1 where no bins met the constraints and a single one stands in, else 0",
    is_error: false,
    is_squared: false,
    measure: Measure::Count(|effect, _| {
        usize::from(effect.record.binning.as_ref().is_some_and(|binning| !binning.feasible))
    }),
};
