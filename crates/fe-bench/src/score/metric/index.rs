//! Errors of indices: numbers that say how much of f features and pairs of features have.

use fe_truth::Truth;

use super::{Definition, Measure, OfBand};
use crate::score::{DEGENERATE, Provenance, Score};

/// An estimated index and the true one.
#[derive(Debug, Clone, Copy)]
pub struct ComparedIndex {
    /// The estimate.
    pub value: f64,
    /// Its confidence interval, where it has one.
    pub interval: Option<(f64, f64)>,
    /// The truth.
    pub truth: Truth,
}

/// Estimate minus truth.
pub(super) const ERROR: Definition = Definition {
    name: "index_error",
    about: "estimated index minus the true one",
    is_error: false,
    is_squared: false,
    measure: Measure::Index(|difference| difference),
};

/// Its square.
pub(super) const SQUARE: Definition = Definition {
    name: "index_squared_error",
    about: "square of `index_error`",
    is_error: true,
    is_squared: false,
    measure: Measure::Index(|difference| difference * difference),
};

/// The value of a difference.
pub(super) type OfDifference = fn(f64) -> f64;

/// Scores the difference of an index from its truth.
pub(super) fn difference(of: &ComparedIndex, value: OfDifference) -> Score {
    let value = value(of.value - of.truth.value);
    Score::of(Some(value), &provenance(of), 1, 0)
}

/// Scores the confidence interval of an index. Where it has no width but that of rounding, as of features that do not
/// interact, nothing is uncertain.
pub(super) fn interval(of: &ComparedIndex, value: OfBand) -> Result<Score, String> {
    const ROUNDING: f64 = 1e-12;
    let Some((lower, upper)) = of.interval else {
        return Err(
            "the estimate has no interval: too few groups of rows tell it, or the engine has none"
                .to_owned(),
        );
    };
    if upper - lower <= ROUNDING * (1.0 + of.value.abs()) {
        return Err(DEGENERATE.to_owned());
    }
    let value = value((&[lower], &[upper]), &[of.truth.value]);
    Ok(Score::of(Some(value), &provenance(of), 1, 0))
}

fn provenance(of: &ComparedIndex) -> Provenance {
    Provenance::of([(of.truth.method, of.truth.abs_error)].into_iter())
}
