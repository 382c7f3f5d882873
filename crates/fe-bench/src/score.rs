//! Which effect is compared with which truth. The measures themselves live in the core.

use std::collections::HashMap;
use std::hash::Hash;
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fe_core::centring::Centring;
use fe_core::effect::Bins;
use fe_core::estimator::Estimand;
use fe_core::interrupt;
use fe_core::metric::{self, Distance};
use fe_core::{Axis, Effect};
use fe_truth::{BinTruth, Scenario, Truth, Weighting};

use crate::curves::GivenCurve;
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
    /// Mean squared difference between the estimated and the true heterogeneity curve.
    Heterogeneity,
    /// The same of the standard deviations, their roots.
    Deviation,
    /// Share of the grid on which a confidence band holds the truth.
    Coverage,
    /// Mean width of a confidence band.
    Width,
    /// Whether a simultaneous confidence band holds the truth on all of the grid.
    SimultaneousCoverage,
    /// Mean width of a simultaneous confidence band.
    SimultaneousWidth,
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
    (
        "heterogeneity_mse",
        Metric::Heterogeneity,
        "mean squared difference from the true heterogeneity curve, over the grid",
    ),
    (
        "deviation_mse",
        Metric::Deviation,
        "mean squared difference between the roots of both, the standard deviations, over the grid",
    ),
    ("coverage", Metric::Coverage, "share of the grid on which a confidence band holds the truth"),
    ("width", Metric::Width, "mean width of a confidence band, over the grid"),
    (
        "simultaneous_coverage",
        Metric::SimultaneousCoverage,
        "1 where a simultaneous confidence band holds the truth on all of the grid, else 0",
    ),
    (
        "simultaneous_width",
        Metric::SimultaneousWidth,
        "mean width of a simultaneous confidence band, over the grid",
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

impl Metric {
    /// Whether it is an error, so that the lowest value is the best.
    #[must_use]
    pub fn is_error(self) -> bool {
        matches!(self, Metric::Distance(_) | Metric::BinEffect | Metric::BinDeviation)
    }

    /// Whether it is made of curves alone, and not of bins or heterogeneity.
    #[must_use]
    pub fn is_of_curves(self) -> bool {
        matches!(
            self,
            Metric::Distance(_)
                | Metric::Coverage
                | Metric::Width
                | Metric::SimultaneousCoverage
                | Metric::SimultaneousWidth
        )
    }

    /// Whether its unit is the square of that of f.
    #[must_use]
    pub fn is_squared(self) -> bool {
        matches!(self, Metric::Distance(Distance::Mse))
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

/// The status of what is asked of a band whose limits are apart by rounding alone: there is no value, and
/// nothing failed.
pub const DEGENERATE: &str = "degenerate";

/// What became of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It was computed.
    Known(f64),
    /// It means nothing, as nothing is uncertain.
    Degenerate,
    /// It could not be computed.
    Failed,
}

impl Outcome {
    /// Of a value, if there is one, and its status.
    #[must_use]
    pub fn of(value: Option<f64>, status: &str) -> Self {
        match value {
            Some(value) => Self::Known(value),
            None if status == DEGENERATE => Self::Degenerate,
            None => Self::Failed,
        }
    }

    /// How many of some outcomes are of a kind.
    #[must_use]
    pub fn count(self, all: impl IntoIterator<Item = Self>) -> usize {
        all.into_iter().filter(|outcome| *outcome == self).count()
    }

    /// The value, if it is known.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Known(value) => Some(value),
            Self::Degenerate | Self::Failed => None,
        }
    }
}

impl Score {
    /// What became of it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self.value, &self.status)
    }

    /// A score that could not be computed.
    #[must_use]
    pub fn failed(reason: impl ToString) -> Self {
        Self { status: reason.to_string(), ..Self::default() }
    }

    pub(crate) fn of(
        value: Option<f64>,
        truths: &Provenance,
        compared: usize,
        left_out: usize,
    ) -> Self {
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

pub(crate) struct Provenance {
    method: String,
    abs_error: Option<f64>,
}

impl Provenance {
    pub(crate) const NONE: Self = Self { method: String::new(), abs_error: None };

    pub(crate) fn of(truths: impl Iterator<Item = (fe_truth::Method, f64)>) -> Self {
        let (mut methods, mut abs_error) = (Vec::new(), 0.0_f64);
        for (method, error) in truths {
            if !methods.contains(&method) {
                methods.push(method);
            }
            abs_error = abs_error.max(error);
        }
        let names: Vec<String> = methods.iter().map(ToString::to_string).collect();
        Self { method: names.join("+"), abs_error: Some(abs_error) }
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
type Remembered<V> = Arc<OnceLock<Result<Arc<[V]>, String>>>;
type Cache<K, V> = Mutex<HashMap<K, Remembered<V>>>;

/// The most truths of a kind that are remembered: bins that depend on the data do not come again.
const MOST_REMEMBERED: usize = 1000;

/// The truths of a scenario, remembered: studies ask for the same ones again and again.
#[derive(Default)]
pub struct Truths {
    grids: HashMap<usize, Vec<f64>>,
    curves: Cache<CurveKey, Truth>,
    bins: Cache<(usize, Vec<u64>), BinTruth>,
}

impl Truths {
    /// Truths that will be asked for on parts of the same grid, for each feature (counted from 0):
    /// whichever part it is, the truth is computed once, on all of the grid.
    #[must_use]
    pub fn on_grids(grids: impl IntoIterator<Item = (usize, Vec<f64>)>) -> Self {
        Self { grids: grids.into_iter().collect(), ..Self::default() }
    }

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
            (Metric::Heterogeneity | Metric::Deviation, _) => {
                self.heterogeneity(scenario, metric, estimand, effect, comparing)
            }
            (
                Metric::Coverage
                | Metric::Width
                | Metric::SimultaneousCoverage
                | Metric::SimultaneousWidth,
                _,
            ) => self.band(scenario, metric, estimand, effect, comparing),
            (_, None) => Err(format!("{} has no bins", effect.estimator)),
            (Metric::Bins | Metric::EmptyBins | Metric::Infeasible, Some(bins)) => {
                Ok(Self::count(metric, effect, bins))
            }
            (Metric::BinEffect | Metric::BinDeviation | Metric::BinError, Some(_))
                if estimand == Estimand::MarginalPlot =>
            {
                Err(format!("the bins of {} have levels, not slopes", effect.estimator))
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
        let count = count(metric, effect, bins);
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
        interrupt::check();
        let Comparing { points, left_out, comparison } = comparing;
        if points.is_empty() {
            return Err("no grid point lies within the limits of every estimate".to_owned());
        }
        let estimate = effect.curve.at_all(points).map_err(|e| e.to_string())?;
        let truths = self.compared(scenario, estimand, effect, points, comparison)?;
        let value = Compared::new(&estimate, &truths, comparison).distance(distance);
        Ok(Score::of(Some(value), &Provenance::of_curve(&truths), points.len(), left_out))
    }

    /// The band keeps its distance from the curve wherever the comparison moves that to. Where it has no
    /// width there is nothing that sampling could change, and where it is missing nothing to judge.
    fn band(
        &self,
        scenario: &Scenario,
        metric: Metric,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
    ) -> Result<Score, String> {
        let Some(band) = &effect.confidence else {
            return Err(format!(
                "{} has no confidence band here: the option `band` asks for one",
                effect.estimator
            ));
        };
        let pointwise = matches!(metric, Metric::Coverage | Metric::Width);
        let limits = match (pointwise, &band.simultaneous) {
            (true, _) => &band.pointwise,
            (false, Some(limits)) => limits,
            (false, None) => return Err("this band is not simultaneous".to_owned()),
        };
        let Comparing { points, comparison, left_out } = comparing;
        let at = |curve: &fe_core::Curve| curve.at_all(points).map_err(|e| e.to_string());
        let (estimate, lower, upper) = (at(&effect.curve)?, at(&limits.lower)?, at(&limits.upper)?);
        let truths = self.compared(scenario, estimand, effect, points, comparison)?;
        let compared = Compared::new(&estimate, &truths, comparison);
        let judged = |i: &usize| !band.is_degenerate(lower[*i], upper[*i]);
        let judged: Vec<usize> = (0..points.len()).filter(judged).collect();
        let moved = |limit: &[f64]| -> Vec<f64> {
            judged.iter().map(|&i| limit[i] - estimate[i] + compared.estimate[i]).collect()
        };
        let (lower, upper) = (moved(&lower), moved(&upper));
        let truth: Vec<f64> = judged.iter().map(|&i| compared.truth[i]).collect();
        let coverage = || metric::coverage((&lower, &upper), &truth);
        let value = match metric {
            Metric::Coverage => coverage(),
            Metric::SimultaneousCoverage => f64::from(coverage() == 1.0),
            _ => metric::mean_width((&lower, &upper)),
        };
        if judged.is_empty() {
            return Err(DEGENERATE.to_owned());
        }
        let left_out = left_out + points.len() - judged.len();
        Ok(Score::of(Some(value), &Provenance::of_curve(&truths), judged.len(), left_out))
    }

    /// The truth that an estimate is compared with at some points, before it is centred there.
    fn compared(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        points: &[f64],
        comparison: Comparison,
    ) -> Result<Arc<[Truth]>, String> {
        self.beside(scenario, truth_of(estimand), effect, points, comparison)
    }

    /// A truth at some points, centred as the estimate is that it stands beside; up to a constant where
    /// both are centred on the points.
    pub(crate) fn beside(
        &self,
        scenario: &Scenario,
        quantity: fe_truth::Effect,
        effect: &Effect,
        points: &[f64],
        comparison: Comparison,
    ) -> Result<Arc<[Truth]>, String> {
        let feature = effect.feature;
        match comparison {
            Comparison::Centred => self.on_points(scenario, quantity, feature, points),
            Comparison::AsTheyAre => {
                let centring = truth_centring(effect.record.centring)?;
                let axis = effect.record.axis;
                self.curve(scenario, quantity, feature, points, axis, centring)
            }
        }
    }

    /// A truth at some points, up to a constant.
    pub(crate) fn on_points(
        &self,
        scenario: &Scenario,
        quantity: fe_truth::Effect,
        feature: usize,
        points: &[f64],
    ) -> Result<Arc<[Truth]>, String> {
        let grid = self.grids.get(&feature).map_or(points, Vec::as_slice);
        let place = |x: &f64| grid.binary_search_by(|g| g.total_cmp(x)).ok();
        let places = || points.iter().map(place).collect::<Option<Vec<usize>>>();
        let places = if grid.len() > points.len() { places() } else { None };
        let grid = if places.is_some() { grid } else { points };
        let (lo, hi) = scenario.axis(feature);
        let ends =
            (grid.iter().copied().fold(lo, f64::min), grid.iter().copied().fold(hi, f64::max));
        let axis = Axis::new(ends.0, ends.1).map_err(|e| e.to_string())?;
        let none = fe_truth::Centring::None;
        let truths = self.curve(scenario, quantity, feature, grid, axis, none)?;
        Ok(match places {
            None => truths,
            Some(places) => places.into_iter().map(|i| truths[i]).collect(),
        })
    }

    fn heterogeneity(
        &self,
        scenario: &Scenario,
        metric: Metric,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
    ) -> Result<Score, String> {
        let quantity = heterogeneity_of(estimand, effect)?;
        let mut estimate =
            effect.heterogeneity.at_all(comparing.points).map_err(|e| e.to_string())?;
        let (feature, axis) = (effect.feature, effect.record.axis);
        let mut truths = self.variance(scenario, quantity, feature, comparing.points, axis)?;
        if metric == Metric::Deviation {
            take_roots(&mut estimate, &mut truths);
        }
        let defined = || estimate.iter().zip(&truths).filter(|(estimate, _)| !estimate.is_nan());
        let (found, truth): (Vec<f64>, Vec<f64>) =
            defined().map(|(estimate, truth)| (*estimate, truth.value)).unzip();
        let left_out = comparing.left_out + comparing.points.len() - found.len();
        let value = (!found.is_empty()).then(|| Distance::Mse.between(&found, &truth));
        Ok(Score::of(value, &Provenance::of_curve(&truths), found.len(), left_out))
    }

    /// A true heterogeneity curve: a variance. `axis` is where ICE curves are centred.
    pub(crate) fn variance(
        &self,
        scenario: &Scenario,
        quantity: fe_truth::Effect,
        feature: usize,
        points: &[f64],
        axis: Axis,
    ) -> Result<Vec<Truth>, String> {
        let none = fe_truth::Centring::None;
        let truths = self.curve(scenario, quantity, feature, points, axis, none)?;
        Ok(match quantity {
            fe_truth::Effect::Sigma => truths.iter().map(squared).collect(),
            _ => truths.to_vec(),
        })
    }

    fn bin_effect(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<Score, String> {
        let (truth, provenance) = self.bin_effects(scenario, estimand, effect, bins)?;
        let estimates = bins.effect.iter().map(|&effect| Some(effect));
        let (value, missing) = metric::mean_bin_error(estimates, truth.into_iter());
        Ok(Score::of(value, &provenance, bins.partition.bins() - missing, missing))
    }

    /// The true effect of each bin.
    fn bin_effects(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<(Vec<f64>, Provenance), String> {
        match estimand {
            // Where f jumps, the effect of a bin of `ale` contains the jump.
            Estimand::AccumulatedLocalEffects => {
                let limits = bins.partition.limits();
                let none = fe_truth::Centring::None;
                let axis = effect.record.axis;
                let (quantity, feature) = (truth_of(estimand), effect.feature);
                let curve = self.curve(scenario, quantity, feature, limits, axis, none)?;
                let slope =
                    |(pair, width): (&[Truth], f64)| (pair[1].value - pair[0].value) / width;
                let slopes = curve.windows(2).zip(bins.partition.widths()).map(slope).collect();
                Ok((slopes, Provenance::of_curve(&curve)))
            }
            _ => {
                let truths = self.bins(scenario, effect.feature, bins)?;
                let effects = truths.iter().map(|bin| bin.mu).collect();
                Ok((effects, Provenance::of_bins(&truths)))
            }
        }
    }

    fn bin_deviation(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<Score, String> {
        let (truth, provenance) = self.bin_deviations(scenario, estimand, effect, bins)?;
        let estimates = bins.variance.iter().map(|variance| variance.map(f64::sqrt));
        let (value, missing) = metric::mean_bin_error(estimates, truth.into_iter());
        Ok(Score::of(value, &provenance, bins.partition.bins() - missing, missing))
    }

    /// The true standard deviation in each bin.
    fn bin_deviations(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<(Vec<f64>, Provenance), String> {
        match estimand {
            // The variance of differences depends on the bins: its truth is that of these bins.
            Estimand::AccumulatedLocalEffects => {
                let truths = scenario
                    .differences(effect.feature, bins.partition.limits())
                    .map_err(|e| e.to_string())?;
                let deviation =
                    |bin: &fe_truth::DifferenceTruth| bin.variance.sqrt() / (bin.hi - bin.lo);
                let errors = truths.iter().map(|bin| (fe_truth::Method::Quadrature, bin.abs_error));
                Ok((truths.iter().map(deviation).collect(), Provenance::of(errors)))
            }
            _ => {
                let truths = self.bins(scenario, effect.feature, bins)?;
                let deviations = truths.iter().map(|bin| bin.sigma2.sqrt()).collect();
                Ok((deviations, Provenance::of_bins(&truths)))
            }
        }
    }

    /// What the curves of a cell say at the points where they are compared: estimate, truth,
    /// bound on the error of the truth; both curves centred as they are compared.
    ///
    /// # Errors
    /// The reason why there is nothing to compare.
    pub fn curves(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        comparing: Comparing<'_>,
    ) -> Result<Vec<(f64, f64, f64)>, String> {
        let Comparing { points, comparison, .. } = comparing;
        let estimate = effect.curve.at_all(points).map_err(|e| e.to_string())?;
        let truths = self.compared(scenario, estimand, effect, points, comparison)?;
        let Compared { estimate, truth } = Compared::new(&estimate, &truths, comparison);
        let values = estimate.into_iter().zip(truth).zip(truths.iter());
        Ok(values.map(|((estimate, truth), of)| (estimate, truth, of.abs_error)).collect())
    }

    /// The true effect and variance of each bin of an estimate, as `L_mu` and `L_sigma` take them.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn of_bins(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<Vec<(f64, f64)>, String> {
        let (effects, _) = self.bin_effects(scenario, estimand, effect, bins)?;
        let (deviations, _) = self.bin_deviations(scenario, estimand, effect, bins)?;
        Ok(effects.into_iter().zip(deviations.into_iter().map(|sd| sd * sd)).collect())
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
        quantity: fe_truth::Effect,
        feature: usize,
        points: &[f64],
        axis: Axis,
        centring: fe_truth::Centring,
    ) -> Result<Arc<[Truth]>, String> {
        let ends = [axis.lo(), axis.hi()];
        let key = (quantity, feature, centring, bits(points.iter().chain(&ends)));
        remember(&self.curves, key, || {
            scenario.curve(quantity, feature, points, (axis.lo(), axis.hi()), centring)
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

/// What a metric that counts bins counts.
pub(crate) fn count(metric: Metric, effect: &Effect, bins: &Bins) -> usize {
    let binning = effect.record.binning.as_ref();
    match metric {
        Metric::EmptyBins => binning.map_or(0, |binning| binning.empty),
        Metric::Infeasible => usize::from(binning.is_some_and(|binning| !binning.feasible)),
        _ => bins.partition.bins(),
    }
}

/// An estimated curve and the true one on the same points, centred alike.
struct Compared {
    estimate: Vec<f64>,
    truth: Vec<f64>,
}

impl Compared {
    fn new(estimate: &[f64], truths: &[Truth], comparison: Comparison) -> Self {
        let truth: Vec<f64> = truths.iter().map(|truth| truth.value).collect();
        let (estimate, truth) = match comparison {
            Comparison::AsTheyAre => (estimate.to_vec(), truth),
            Comparison::Centred => {
                (metric::centred_on_grid(estimate), metric::centred_on_grid(&truth))
            }
        };
        Self { estimate, truth }
    }

    fn distance(&self, distance: Distance) -> f64 {
        distance.between(&self.estimate, &self.truth)
    }
}

/// The centring of the truth that an estimate is compared with, and the axis that it refers to.
///
/// # Errors
/// A centring that no truth has.
pub fn reference(effect: &Effect) -> Result<(fe_truth::Centring, (f64, f64)), String> {
    let axis = effect.record.axis;
    Ok((truth_centring(effect.record.centring)?, (axis.lo(), axis.hi())))
}

/// Scores an effect against a truth of a scenario on a grid, as a study does: points outside its limits are left
/// out and counted. Of the metrics, those that need no more than the curves are there for every truth of a curve,
/// those of bins and heterogeneity for the truth that the estimator estimates.
#[must_use]
pub fn on_grid(
    scenario: &Scenario,
    quantity: fe_truth::Effect,
    effect: &Effect,
    grid: &[f64],
    comparison: Comparison,
    metrics: &[Metric],
) -> Vec<(&'static str, Score)> {
    let points = within_limits(effect, grid);
    let left_out = grid.len() - points.len();
    let comparing = Comparing { points: &points, left_out, comparison };
    let truths = Truths::on_grids([(effect.feature, grid.to_vec())]);
    let estimand = Estimand::ALL.into_iter().find(|estimand| truth_of(*estimand) == quantity);
    let own = estimand_of(effect.estimator).map(truth_of) == Some(quantity);
    let score = |metric: &Metric| {
        let (metric, estimator) = (*metric, effect.estimator);
        let name = metric.name();
        let score = match estimand {
            Some(estimand) if own || metric.is_of_curves() => {
                truths.score(scenario, metric, estimand, effect, comparing)
            }
            _ => {
                let truth = quantity.name();
                Score::failed(format!("{name} of {estimator} has no truth `{truth}`"))
            }
        };
        (name, score)
    };
    metrics.iter().map(score).collect()
}

/// The points of a grid where an effect has a value.
#[must_use]
pub fn within_limits(effect: &Effect, grid: &[f64]) -> Vec<f64> {
    let (lo, hi) = effect.curve.range();
    let has_value = |x: &f64| effect.record.extrapolated || (lo..=hi).contains(x);
    let covers = |x: &f64| effect.record.axis.contains(*x) && has_value(x);
    grid.iter().copied().filter(covers).collect()
}

/// The truth of a name, as something to be scored against.
///
/// # Errors
/// A name that is unknown, or that of a curve which is no truth.
pub fn truth(name: &str) -> Result<fe_truth::Effect, String> {
    if name.ends_with("-limit") {
        return Err(format!(
            "`{name}` is the curve that a paper prints, not a truth to be scored against"
        ));
    }
    name.parse().map_err(|e: fe_truth::Error| e.to_string())
}

/// Scores a curve of a feature (counted from 0) that was computed elsewhere against the truth of a
/// scenario: [`given`] on the points within the scenario's range, the others left out and counted.
///
/// # Errors
/// What the scenario says of the truth.
pub fn against_truth(
    scenario: &Scenario,
    effect: fe_truth::Effect,
    feature: usize,
    curve: &GivenCurve,
    comparison: Comparison,
    centring: fe_truth::Centring,
) -> Result<Vec<(&'static str, Score)>, fe_truth::Error> {
    let axis = scenario.axis(feature);
    let part = curve.within(axis.0, axis.1);
    let truths = scenario.curve(effect, feature, &part.x, axis, centring)?;
    Ok(given(&part, &truths, comparison, curve.x.len() - part.x.len()))
}

/// Scores a curve that was computed elsewhere against the truths at its points: every distance and,
/// where it has a band, the band's coverage and mean width.
#[must_use]
pub fn given(
    curve: &GivenCurve,
    truths: &[Truth],
    comparison: Comparison,
    left_out: usize,
) -> Vec<(&'static str, Score)> {
    let none = truths.is_empty();
    let provenance = if none { Provenance::NONE } else { Provenance::of_curve(truths) };
    let score = |value: f64| {
        let value = (!none).then_some(value);
        Score::of(value, &provenance, truths.len(), left_out)
    };
    let compared = Compared::new(&curve.effect, truths, comparison);
    let mut scores = Vec::new();
    for (name, metric, _) in METRICS {
        if let Metric::Distance(distance) = metric {
            scores.push((*name, score(compared.distance(*distance))));
        }
    }
    if let Some((lower, upper)) = &curve.band {
        // The band keeps its distance from the curve wherever that is moved to.
        let moved = |limit: &[f64]| -> Vec<f64> {
            let distances = limit.iter().zip(&curve.effect).map(|(limit, y)| limit - y);
            compared.estimate.iter().zip(distances).map(|(y, distance)| y + distance).collect()
        };
        let band = (moved(lower), moved(upper));
        let band = (band.0.as_slice(), band.1.as_slice());
        scores.push(("coverage", score(metric::coverage(band, &compared.truth))));
        scores.push(("width", score(metric::mean_width(band))));
    }
    scores
}

fn bits<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    values.into_iter().map(|value| value.to_bits()).collect()
}

/// What is known already, or is computed now; threads that ask for the same wait for one of them.
fn remember<K: Eq + Hash, V>(
    cache: &Cache<K, V>,
    key: K,
    compute: impl FnOnce() -> Result<Vec<V>, fe_truth::Error>,
) -> Result<Arc<[V]>, String> {
    let known = {
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MOST_REMEMBERED && !cache.contains_key(&key) {
            cache.clear();
        }
        Arc::clone(cache.entry(key).or_default())
    };
    known.get_or_init(|| compute().map(Arc::from).map_err(|e| e.to_string())).clone()
}

/// The true heterogeneity curve that an estimate is compared with.
fn heterogeneity_of(estimand: Estimand, effect: &Effect) -> Result<fe_truth::Effect, String> {
    match estimand {
        // The truth is about centred curves, and about derivatives as they are.
        Estimand::PartialDependence if effect.record.raw_ice.is_none() => {
            Ok(fe_truth::Effect::HPdp)
        }
        Estimand::DerivativePartialDependence if effect.record.raw_ice.is_none() => {
            Ok(fe_truth::Effect::HDpdp)
        }
        Estimand::AccumulatedDerivatives => Ok(fe_truth::Effect::Sigma),
        Estimand::ShapDependence => Ok(fe_truth::Effect::ShapVariance),
        // Other curves than those, and differences, whose variance depends on the bins.
        _ => Err(format!("the heterogeneity of this {} has no true curve", effect.estimator)),
    }
}

/// The square of a truth that is not negative.
fn squared(truth: &Truth) -> Truth {
    let Truth { value, abs_error, .. } = *truth;
    Truth { value: value * value, abs_error: (2.0 * value + abs_error) * abs_error, ..*truth }
}

/// Makes standard deviations of variances and of their truths.
pub(crate) fn take_roots(variances: &mut [f64], truths: &mut [Truth]) {
    variances.iter_mut().for_each(|variance| *variance = variance.sqrt());
    truths.iter_mut().for_each(|truth| *truth = root(truth));
}

/// The root of a truth that is not negative.
fn root(truth: &Truth) -> Truth {
    let Truth { value, abs_error, .. } = *truth;
    let (least, most) = ((value - abs_error).max(0.0).sqrt(), (value + abs_error).sqrt());
    let value = value.max(0.0).sqrt();
    Truth { value, abs_error: (value - least).max(most - value), ..*truth }
}

/// The truth that an estimator is compared with.
#[must_use]
pub fn truth_of(estimand: Estimand) -> fe_truth::Effect {
    match estimand {
        Estimand::PartialDependence => fe_truth::Effect::Pd,
        Estimand::DerivativePartialDependence => fe_truth::Effect::Dpd,
        Estimand::MarginalPlot => fe_truth::Effect::Mplot,
        Estimand::AccumulatedLocalEffects => fe_truth::Effect::Ale,
        Estimand::AccumulatedDerivatives => fe_truth::Effect::AleDerivative,
        Estimand::ShapDependence => fe_truth::Effect::Shap,
    }
}

/// What the estimator of a name estimates; none for a name that the core does not know.
#[must_use]
pub fn estimand_of(estimator: &str) -> Option<Estimand> {
    let info = fe_core::estimator::info(estimator).ok()?;
    Some((info.build)(&fe_core::Settings::default()).ok()?.estimand())
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
