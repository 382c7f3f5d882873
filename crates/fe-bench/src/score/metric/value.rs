//! Heterogeneity values: the number that an estimator sums local effects up by, beside the true one.
//!
//! Each of the published definitions has a name of its own; a metric says which of them it is
//! [of](super::Metric::value), or is of the estimator's default.

use super::{Definition, Measure, Scoring};
use crate::score::truths::Valued;
use crate::score::{Provenance, Score};

/// Names of the values that have a truth, and of the metrics that are of them.
macro_rules! values {
    ($($value:literal)+) => {
        /// Names of the values that have a truth.
        pub(crate) const VALUES: &[&str] = &[$($value),+];

        /// Each value with the names of the metrics that are of it.
        pub(super) const NAMES: &[(&str, [&str; 3])] = &[$((
            $value,
            [
                concat!("heterogeneity_value.", $value),
                concat!("heterogeneity_value_square.", $value),
                concat!("heterogeneity_value_sign.", $value),
            ],
        )),+];
    };
}

values! {
    "integral" "mean_range" "integral_sd" "mean_sd" "mean_bins" "sum_bins" "mean_grid" "mean_grid_sd"
    "mean_residual"
}

/// The three that `heterogeneity_value` stands for, in the order of [`NAMES`].
pub(super) const ALL: [&Definition; 3] = [&ERROR, &SQUARE, &SIGN];

/// Estimate minus truth.
pub(super) const ERROR: Definition = Definition {
    name: "heterogeneity_value",
    about: "estimated heterogeneity value minus the true one; of a tree the mean over its leaves by their shares, \
            minus that over the same regions by their probabilities. `of` names the value. Beside it stand its \
            square and its sign",
    is_error: false,
    is_squared: false,
    measure: Measure::Value(|difference, _| difference),
};

/// Its square.
pub(super) const SQUARE: Definition = Definition {
    name: "heterogeneity_value_square",
    about: "square of `heterogeneity_value`",
    is_error: true,
    is_squared: false,
    measure: Measure::Value(|difference, _| difference * difference),
};

/// Its sign.
pub(super) const SIGN: Definition = Definition {
    name: "heterogeneity_value_sign",
    about: "sign of `heterogeneity_value`: 1 where too much is estimated, -1 where too little, 0 where they are equal \
            within the truth's bound",
    is_error: false,
    is_squared: false,
    measure: Measure::Value(|difference, bound| match difference.abs() <= bound {
        true => 0.0,
        false => difference.signum(),
    }),
};

/// The value of a difference and of the bound on the truth in it.
pub(crate) type OfDifference = fn(f64, f64) -> f64;

/// Scores a heterogeneity value of an effect, the default one unless one is named.
pub(super) fn score(
    of: &Scoring<'_>,
    name: Option<&str>,
    value: OfDifference,
) -> Result<Score, String> {
    let name = name.unwrap_or(of.effect.default_heterogeneity);
    let valued = Valued::of(of.effect, of.estimand);
    let truth = of.truths.heterogeneity_value(of.scenario, &valued, name)?;
    let estimate = of.effect.heterogeneity_values.get(name).copied().flatten();
    let estimate = estimate.ok_or_else(|| format!("the estimate of `{name}` is undefined"))?;
    let provenance = Provenance::of([(truth.method, truth.abs_error)].into_iter());
    let value = value(estimate - truth.value, truth.abs_error);
    Ok(Score::of(Some(value), &provenance, 1, 0))
}
