//! The distance of the estimated heterogeneity curve from the true one.

use fe_core::Effect;
use fe_core::estimator::Estimand;
use fe_core::metric::Distance;
use fe_core::numeric::partition::Partition;
use fe_truth::{Scenario, Truth};

use super::{Definition, Measure, OfCurves, Scoring};
use crate::score::estimand::{HeterogeneityTruth, heterogeneity_of};
use crate::score::{Provenance, Score, Truths, take_roots};

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
    let mut estimate = effect.heterogeneity.at_all(points).map_err(|e| e.to_string())?;
    let mut truths = truths(of.truths, of.scenario, of.estimand, effect, points)?;
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

/// The true heterogeneity curve of an effect at some points: a variance.
pub(in crate::score) fn truths(
    known: &Truths,
    scenario: &Scenario,
    estimand: Estimand,
    effect: &Effect,
    points: &[f64],
) -> Result<Vec<Truth>, String> {
    match heterogeneity_of(estimand, effect)? {
        HeterogeneityTruth::Curve(quantity) => {
            known.variance(scenario, quantity, effect.feature, points, effect.record.axis)
        }
        HeterogeneityTruth::OnBins => {
            let none = || format!("{} has no bins", effect.estimator);
            let bins = &effect.bins.as_ref().ok_or_else(none)?.partition;
            let truths = known.bin_variances(scenario, estimand, effect.feature, bins)?;
            let is_undivided = effect.default_heterogeneity == "mean_bins";
            Ok(on_bins(bins, &truths, is_undivided, points))
        }
    }
}

/// The true variance of finite differences over the bin that each point lies in; of slopes, unless the estimate
/// leaves its differences undivided.
fn on_bins(bins: &Partition, truths: &[Truth], undivided: bool, points: &[f64]) -> Vec<Truth> {
    let (limits, widths) = (bins.limits(), bins.widths());
    let at = |&x: &f64| {
        // Beyond the limits a curve that goes on is that of the outermost bin.
        let outside = if x < limits[0] { 0 } else { bins.bins() - 1 };
        let bin = bins.locate(x).unwrap_or(outside);
        let square = if undivided { widths[bin] * widths[bin] } else { 1.0 };
        let Truth { value, abs_error, method } = truths[bin];
        Truth { value: value * square, abs_error: abs_error * square, method }
    };
    points.iter().map(at).collect()
}
