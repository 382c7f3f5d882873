//! Which effect is compared with which truth. The measures themselves live in the core.

use std::collections::HashMap;
use std::hash::Hash;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use fe_core::centring::Centring;
use fe_core::effect::Bins;
use fe_core::estimator::Estimand;
use fe_core::metric::{self, Distance};
use fe_core::{Axis, Effect};
use fe_truth::{BinTruth, Scenario, Truth, Weighting};

use crate::error::{listed, suggestion};
use crate::study::wire::Comparison;

/// What a study can compute of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Distance between the estimated and the true curve.
    Distance(Distance),
    /// RHALE eq. 18.
    BinEffect,
    /// RHALE eq. 19.
    BinDeviation,
    /// Mean root of the true bin errors of the estimate's bins.
    BinError,
    /// The number of bins.
    Bins,
    /// The number of bins without instances.
    EmptyBins,
    /// 1 if no partition met the constraints and a single bin stands in, else 0.
    Infeasible,
}

/// All metrics: name and meaning.
pub const METRICS: &[(&str, Metric, &str)] = &[
    (
        "mse",
        Metric::Distance(Distance::Mse),
        "mean squared difference from the true curve, over the grid",
    ),
    (
        "mae",
        Metric::Distance(Distance::Mae),
        "mean absolute difference from the true curve, over the grid",
    ),
    ("rmse", Metric::Distance(Distance::Rmse), "root of mse"),
    (
        "max",
        Metric::Distance(Distance::Max),
        "largest absolute difference from the true curve, over the grid",
    ),
    ("L_mu", Metric::BinEffect, "mean absolute error of the bin effects (RHALE eq. 18)"),
    (
        "L_sigma",
        Metric::BinDeviation,
        "mean absolute error of the bin standard deviations (RHALE eq. 19)",
    ),
    (
        "L_rho",
        Metric::BinError,
        "mean root of the bin error: how much the true effect varies within bins",
    ),
    ("bins", Metric::Bins, "number of bins of the estimate"),
    ("empty_bins", Metric::EmptyBins, "number of bins without instances"),
    (
        "infeasible",
        Metric::Infeasible,
        "1 where no bins met the constraints and a single one stands in, else 0",
    ),
];

impl Metric {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        METRICS.iter().find(|(_, metric, _)| *metric == self).map_or("", |(name, _, _)| name)
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || METRICS.iter().map(|(name, _, _)| *name);
        match METRICS.iter().find(|(name, _, _)| *name == text) {
            Some((_, metric, _)) => Ok(*metric),
            None => Err(format!(
                "unknown metric `{text}`{}; allowed are {}",
                suggestion(text, names()),
                listed(names())
            )),
        }
    }
}

/// A value of a metric, with what is known about the truth in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Score {
    /// The value; none if it could not be computed, and then `status` says why.
    pub value: Option<f64>,
    /// How the truth was obtained.
    pub truth_method: String,
    /// Bound on the error of the truth, largest over what was compared.
    pub truth_abs_error: Option<f64>,
    /// Points or bins that were compared.
    pub compared: usize,
    /// Points or bins that were left out.
    pub left_out: usize,
    /// `ok`, or the reason why there is no value.
    pub status: String,
}

impl Score {
    /// A score that could not be computed.
    #[must_use]
    pub fn failed(reason: impl ToString) -> Self {
        Self { status: reason.to_string(), ..Self::default() }
    }

    fn of(value: Option<f64>, truths: &Provenance, compared: usize, left_out: usize) -> Self {
        let status = match value {
            Some(value) if value.is_finite() => "ok",
            Some(_) => "the value is not finite",
            None => "nothing could be compared",
        };
        Self {
            value: value.filter(|value| value.is_finite()),
            truth_method: truths.method.clone(),
            truth_abs_error: truths.abs_error,
            compared,
            left_out,
            status: status.to_owned(),
        }
    }
}

struct Provenance {
    method: String,
    abs_error: Option<f64>,
}

impl Provenance {
    const NONE: Self = Self { method: String::new(), abs_error: None };

    fn of(truths: impl Iterator<Item = (fe_truth::Method, f64)>) -> Self {
        let (mut methods, mut abs_error) = (Vec::new(), 0.0_f64);
        for (method, error) in truths {
            let method = method.to_string();
            if !methods.contains(&method) {
                methods.push(method);
            }
            abs_error = abs_error.max(error);
        }
        Self { method: methods.join("+"), abs_error: Some(abs_error) }
    }

    fn of_curve(truths: &[Truth]) -> Self {
        Self::of(truths.iter().map(|truth| (truth.method, truth.abs_error)))
    }

    fn of_bins(truths: &[BinTruth]) -> Self {
        Self::of(truths.iter().map(|truth| (truth.method, truth.abs_error)))
    }
}

/// The points at which the curves of a cell are compared, and whether they are centred there.
#[derive(Debug, Clone, Copy)]
pub struct Comparing<'a> {
    /// Points within the limits of every estimate of the cell.
    pub points: &'a [f64],
    /// How many more the grid has.
    pub left_out: usize,
    /// Whether both curves are centred on the points.
    pub comparison: Comparison,
}

type CurveKey = (fe_truth::Effect, usize, fe_truth::Centring, Vec<u64>);
type Cache<K, V> = Mutex<HashMap<K, Result<Arc<[V]>, String>>>;

/// The truths of a scenario, remembered: studies ask for the same ones again and again.
#[derive(Default)]
pub struct Truths {
    curves: Cache<CurveKey, Truth>,
    bins: Cache<(usize, Vec<u64>), BinTruth>,
}

impl Truths {
    /// Scores an effect.
    pub fn score(
        &self,
        scenario: &Scenario,
        metric: Metric,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
    ) -> Score {
        let scored = match (metric, &effect.bins) {
            (Metric::Distance(distance), _) => {
                self.distance(scenario, distance, estimand, effect, comparing)
            }
            (_, None) => Err(format!("{} has no bins", effect.estimator)),
            (Metric::Bins | Metric::EmptyBins | Metric::Infeasible, Some(bins)) => {
                Ok(Self::count(metric, effect, bins))
            }
            (Metric::BinEffect, Some(bins)) => self.bin_effect(scenario, estimand, effect, bins),
            (Metric::BinDeviation, Some(bins)) => {
                self.bin_deviation(scenario, estimand, effect, bins)
            }
            (Metric::BinError, Some(bins)) => self.bin_error(scenario, effect, bins),
        };
        scored.unwrap_or_else(Score::failed)
    }

    fn count(metric: Metric, effect: &Effect, bins: &Bins) -> Score {
        let binning = effect.record.binning.as_ref();
        let count = match metric {
            Metric::EmptyBins => binning.map_or(0, |binning| binning.empty),
            Metric::Infeasible => usize::from(binning.is_some_and(|binning| !binning.feasible)),
            _ => bins.partition.bins(),
        };
        Score::of(Some(count as f64), &Provenance::NONE, bins.partition.bins(), 0)
    }

    fn distance(
        &self,
        scenario: &Scenario,
        distance: Distance,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
    ) -> Result<Score, String> {
        let Comparing { points, left_out, comparison } = comparing;
        if points.is_empty() {
            return Err("no grid point lies within the limits of every estimate".to_owned());
        }
        let estimate = effect.curve.at_all(points).map_err(|e| e.to_string())?;
        let centring = match comparison {
            Comparison::Centred => fe_truth::Centring::None,
            Comparison::AsTheyAre => truth_centring(effect.record.centring)?,
        };
        let axis = effect.record.axis;
        let truths = self.curve(scenario, estimand, effect.feature, points, axis, centring)?;
        let truth: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
        let value = match comparison {
            Comparison::AsTheyAre => distance.between(&estimate, &truth),
            Comparison::Centred => {
                let centred = metric::centred_on_grid;
                distance.between(&centred(&estimate), &centred(&truth))
            }
        };
        Ok(Score::of(Some(value), &Provenance::of_curve(&truths), points.len(), left_out))
    }

    fn bin_effect(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<Score, String> {
        let (truth, provenance): (Vec<f64>, _) = match estimand {
            // Where f jumps, the effect of a bin of `ale` contains the jump.
            Estimand::AccumulatedLocalEffects => {
                let limits = bins.partition.limits();
                let none = fe_truth::Centring::None;
                let axis = effect.record.axis;
                let curve = self.curve(scenario, estimand, effect.feature, limits, axis, none)?;
                let slope =
                    |(pair, width): (&[Truth], f64)| (pair[1].value - pair[0].value) / width;
                let slopes = curve.windows(2).zip(bins.partition.widths()).map(slope).collect();
                (slopes, Provenance::of_curve(&curve))
            }
            _ => {
                let truths = self.bins(scenario, effect.feature, bins)?;
                (truths.iter().map(|bin| bin.mu).collect(), Provenance::of_bins(&truths))
            }
        };
        let estimates = bins.effect.iter().map(|&effect| Some(effect));
        let (value, missing) = metric::mean_bin_error(estimates, truth.into_iter());
        Ok(Score::of(value, &provenance, bins.partition.bins() - missing, missing))
    }

    fn bin_deviation(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<Score, String> {
        let (truth, provenance): (Vec<f64>, _) = match estimand {
            // The variance of differences depends on the bins: its truth is that of these bins.
            Estimand::AccumulatedLocalEffects => {
                let truths = scenario
                    .differences(effect.feature, bins.partition.limits())
                    .map_err(|e| e.to_string())?;
                let deviation =
                    |bin: &fe_truth::DifferenceTruth| bin.variance.sqrt() / (bin.hi - bin.lo);
                let errors = truths.iter().map(|bin| (fe_truth::Method::Quadrature, bin.abs_error));
                (truths.iter().map(deviation).collect(), Provenance::of(errors))
            }
            _ => {
                let truths = self.bins(scenario, effect.feature, bins)?;
                let deviations = truths.iter().map(|bin| bin.sigma2.sqrt()).collect();
                (deviations, Provenance::of_bins(&truths))
            }
        };
        let estimates = bins.variance.iter().map(|variance| variance.map(f64::sqrt));
        let (value, missing) = metric::mean_bin_error(estimates, truth.into_iter());
        Ok(Score::of(value, &provenance, bins.partition.bins() - missing, missing))
    }

    fn bin_error(
        &self,
        scenario: &Scenario,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<Score, String> {
        let truths = self.bins(scenario, effect.feature, bins)?;
        let errors: Vec<f64> = truths.iter().map(|bin| bin.bin_error).collect();
        let value = metric::mean_root(&errors);
        Ok(Score::of(Some(value), &Provenance::of_bins(&truths), errors.len(), 0))
    }

    fn curve(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        feature: usize,
        points: &[f64],
        axis: Axis,
        centring: fe_truth::Centring,
    ) -> Result<Arc<[Truth]>, String> {
        let effect = truth_of(estimand);
        let ends = [axis.lo(), axis.hi()];
        let key = (effect, feature, centring, bits(points.iter().chain(&ends)));
        remember(&self.curves, key, || {
            scenario.curve(effect, feature, points, (axis.lo(), axis.hi()), centring)
        })
    }

    fn bins(
        &self,
        scenario: &Scenario,
        feature: usize,
        bins: &Bins,
    ) -> Result<Arc<[BinTruth]>, String> {
        let limits = bins.partition.limits();
        remember(&self.bins, (feature, bits(limits)), || {
            scenario.bins(feature, limits, Weighting::Uniform)
        })
    }
}

fn bits<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    values.into_iter().map(|value| value.to_bits()).collect()
}

fn remember<K: Eq + Hash, V>(
    cache: &Cache<K, V>,
    key: K,
    compute: impl FnOnce() -> Result<Vec<V>, fe_truth::Error>,
) -> Result<Arc<[V]>, String> {
    let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(&key) {
        return known.clone();
    }
    let computed = compute().map(Arc::from).map_err(|e| e.to_string());
    lock().insert(key, computed.clone());
    computed
}

/// The truth that an estimator is compared with.
#[must_use]
pub fn truth_of(estimand: Estimand) -> fe_truth::Effect {
    match estimand {
        Estimand::PartialDependence => fe_truth::Effect::Pd,
        Estimand::DerivativePartialDependence => fe_truth::Effect::Dpd,
        Estimand::AccumulatedLocalEffects => fe_truth::Effect::Ale,
        Estimand::AccumulatedDerivatives => fe_truth::Effect::AleDerivative,
        Estimand::ShapDependence => fe_truth::Effect::Shap,
    }
}

/// The centring of the truth that a curve centred in some way is compared with.
pub(crate) fn truth_centring(centring: Centring) -> Result<fe_truth::Centring, String> {
    match centring {
        Centring::None => Ok(fe_truth::Centring::None),
        Centring::Start => Ok(fe_truth::Centring::Start),
        Centring::Integral => Ok(fe_truth::Centring::Integral),
        Centring::Data => Ok(fe_truth::Centring::Data),
        Centring::Bins => {
            Err("a curve centred by `bins` has no truth centred alike: compare by Err_c instead"
                .to_owned())
        }
    }
}
