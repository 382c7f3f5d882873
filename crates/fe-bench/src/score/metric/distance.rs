//! Distances between the estimated and the true curve.

use fe_core::interrupt;
use fe_core::metric::Distance;

use super::{Definition, Measure, OfCurves, Scoring};
use crate::score::{Compared, Comparing, Provenance, Score};

/// Mean squared error.
pub(super) const MSE: Definition = Definition {
    name: "mse",
    about: "mean squared difference from the true curve, over the grid",
    is_error: true,
    is_squared: true,
    measure: Measure::Curves(|estimate, truth| Distance::Mse.between(estimate, truth)),
};

/// Mean absolute error.
pub(super) const MAE: Definition = Definition {
    name: "mae",
    about: "mean absolute difference from the true curve, over the grid",
    is_error: true,
    is_squared: false,
    measure: Measure::Curves(|estimate, truth| Distance::Mae.between(estimate, truth)),
};

/// Root of the mean squared error.
pub(super) const RMSE: Definition = Definition {
    name: "rmse",
    about: "root of mse",
    is_error: true,
    is_squared: false,
    measure: Measure::Curves(|estimate, truth| Distance::Rmse.between(estimate, truth)),
};

/// Maximum norm of the error.
pub(super) const MAX: Definition = Definition {
    name: "max",
    about: "largest absolute difference from the true curve, over the grid",
    is_error: true,
    is_squared: false,
    measure: Measure::Curves(|estimate, truth| Distance::Max.between(estimate, truth)),
};

/// Compares an effect with its truth on the points of a cell.
pub(super) fn score(of: &Scoring<'_>, value: OfCurves) -> Result<Score, String> {
    interrupt::check();
    let Comparing { points, left_out, comparison } = of.comparing;
    if points.is_empty() {
        return Err("no grid point lies within the limits of every estimate".to_owned());
    }
    let estimate = of.effect.curve.at_all(points).map_err(|e| e.to_string())?;
    let truths = of.truths.compared(of.scenario, of.estimand, of.effect, points, comparison)?;
    let compared = Compared::new(&estimate, &truths, comparison);
    let value = value(&compared.estimate, &compared.truth);
    Ok(Score::of(Some(value), &Provenance::of_curve(&truths), points.len(), left_out))
}
