//! Bins beside what is true in each (RHALE §4).

use fe_core::effect::Bins;
use fe_core::metric;

use super::{Definition, Measure, Scoring};
use crate::score::estimand::{BinTruths, bin_truths_of};
use crate::score::{Provenance, Score};

/// RHALE eq. 18.
pub(super) const EFFECT: Definition = Definition {
    name: "L_mu",
    about: "mean absolute error of the bin effects (RHALE eq. 18)",
    is_error: true,
    is_squared: false,
    measure: Measure::Bins(effect),
};

/// RHALE eq. 19.
pub(super) const DEVIATION: Definition = Definition {
    name: "L_sigma",
    about: "mean absolute error of the bin standard deviations (RHALE eq. 19)",
    is_error: true,
    is_squared: false,
    measure: Measure::Bins(deviation),
};

/// Mean root of the true bin errors of the estimate's bins.
pub(super) const ERROR: Definition = Definition {
    name: "L_rho",
    about: "mean root of the bin error: how much the true effect varies within bins",
    is_error: false,
    is_squared: false,
    measure: Measure::Bins(error),
};

fn check(of: &Scoring<'_>) -> Result<(), String> {
    match bin_truths_of(of.estimand) {
        BinTruths::Levels => {
            Err(format!("the bins of {} have levels, not slopes", of.effect.estimator))
        }
        BinTruths::Derivatives | BinTruths::Differences => Ok(()),
    }
}

fn effect(of: &Scoring<'_>, bins: &Bins) -> Result<Score, String> {
    check(of)?;
    let (truth, provenance) = of.truths.bin_effects(of.scenario, of.estimand, of.effect, bins)?;
    let estimates = bins.effect.iter().map(|&effect| Some(effect));
    let (value, missing) = metric::mean_bin_error(estimates, truth.into_iter());
    Ok(Score::of(value, &provenance, bins.partition.bins() - missing, missing))
}

fn deviation(of: &Scoring<'_>, bins: &Bins) -> Result<Score, String> {
    check(of)?;
    let (truth, provenance) =
        of.truths.bin_deviations(of.scenario, of.estimand, of.effect, bins)?;
    let estimates = bins.variance.iter().map(|variance| variance.map(f64::sqrt));
    let (value, missing) = metric::mean_bin_error(estimates, truth.into_iter());
    Ok(Score::of(value, &provenance, bins.partition.bins() - missing, missing))
}

fn error(of: &Scoring<'_>, bins: &Bins) -> Result<Score, String> {
    check(of)?;
    let truths = of.truths.bins(of.scenario, of.effect.feature, &bins.partition)?;
    let errors: Vec<f64> = truths.iter().map(|bin| bin.bin_error).collect();
    let value = metric::mean_root(&errors);
    Ok(Score::of(Some(value), &Provenance::of_bins(&truths), errors.len(), 0))
}
