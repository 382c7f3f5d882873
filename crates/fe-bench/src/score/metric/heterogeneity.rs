//! The distance of the estimated heterogeneity curve from the true one.

use fe_core::metric::Distance;

use super::{Definition, Measure, OfCurves, Scoring};
use crate::score::estimand::heterogeneity_of;
use crate::score::{Provenance, Score, take_roots};

/// Of variances.
pub(super) const VARIANCE: Definition = Definition {
    name: "heterogeneity_mse",
    about: "mean squared difference from the true heterogeneity curve, over the grid",
    is_error: false,
    is_squared: false,
    measure: Measure::Heterogeneity { roots: false, value: mse },
};

/// Of standard deviations.
pub(super) const DEVIATION: Definition = Definition {
    name: "deviation_mse",
    about: "mean squared difference between the roots of both, the standard deviations, over the grid",
    is_error: false,
    is_squared: false,
    measure: Measure::Heterogeneity { roots: true, value: mse },
};

fn mse(estimate: &[f64], truth: &[f64]) -> f64 {
    Distance::Mse.between(estimate, truth)
}

/// Compares a heterogeneity curve with its truth where it is defined.
pub(super) fn score(of: &Scoring<'_>, roots: bool, value: OfCurves) -> Result<Score, String> {
    let (effect, points) = (of.effect, of.comparing.points);
    let quantity = heterogeneity_of(of.estimand, effect)?;
    let mut estimate = effect.heterogeneity.at_all(points).map_err(|e| e.to_string())?;
    let (feature, axis) = (effect.feature, effect.record.axis);
    let mut truths = of.truths.variance(of.scenario, quantity, feature, points, axis)?;
    if roots {
        take_roots(&mut estimate, &mut truths);
    }
    let defined = || estimate.iter().zip(&truths).filter(|(estimate, _)| !estimate.is_nan());
    let (found, truth): (Vec<f64>, Vec<f64>) =
        defined().map(|(estimate, truth)| (*estimate, truth.value)).unzip();
    let left_out = of.comparing.left_out + points.len() - found.len();
    let value = (!found.is_empty()).then(|| value(&found, &truth));
    Ok(Score::of(value, &Provenance::of_curve(&truths), found.len(), left_out))
}
