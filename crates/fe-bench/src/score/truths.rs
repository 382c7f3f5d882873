//! The truths of a scenario, remembered: studies ask for the same ones again and again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fe_core::effect::Bins;
use fe_core::effect::heterogeneity;
use fe_core::estimator::Estimand;
use fe_core::numeric::partition::Partition;
use fe_core::{Axis, Effect};
use fe_truth::{BinTruth, DifferenceTruth, HeterogeneityValue, Scenario, Truth, Weighting};

use super::comparison::Comparison;
use super::estimand::{
    BinTruths, ValueTruth, bin_truths_of, truth_centring, truth_of, value_truth_of,
};
use super::exact::axis_around;
use super::levels::truth_at_levels;
use super::{Compared, Comparing, Provenance};

type CurveKey = (fe_truth::Quantity, usize, fe_truth::Centring, Vec<u64>);
pub(super) type Remembered<V> = Arc<OnceLock<Result<Arc<[V]>, String>>>;
pub(super) type Cache<K, V> = Mutex<HashMap<K, Remembered<V>>>;

/// The most truths of a kind that are remembered: bins that depend on the data do not come again.
const MOST_REMEMBERED: usize = 1000;

/// The part of an estimate that the truth of its heterogeneity values depends on.
pub(crate) struct Valued<'a> {
    pub(crate) estimand: Estimand,
    pub(crate) feature: usize,
    pub(crate) axis: Axis,
    pub(crate) bins: Option<&'a Partition>,
    /// True if ICE curves were not centred where they usually are, or the other way round.
    pub(crate) other_ice: bool,
}

impl<'a> Valued<'a> {
    /// Of an effect.
    pub(crate) fn of(effect: &'a Effect, estimand: Estimand) -> Self {
        Self {
            estimand,
            feature: effect.feature,
            axis: effect.record.axis,
            bins: effect.bins.as_ref().map(|bins| &bins.partition),
            other_ice: effect.record.raw_ice.is_some(),
        }
    }
}

/// The truths of a scenario, remembered: studies ask for the same ones again and again.
#[derive(Default)]
pub struct Truths {
    grids: HashMap<usize, Vec<f64>>,
    curves: Cache<CurveKey, Truth>,
    bins: Cache<(usize, Vec<u64>), BinTruth>,
    differences: Cache<(usize, Vec<u64>), DifferenceTruth>,
    values: Cache<(HeterogeneityValue, usize, [u64; 2]), Truth>,
}

impl Truths {
    /// Truths that will be asked for on parts of the same grid, for each feature (counted from 0):
    /// whichever part it is, the truth is computed once, on all of the grid.
    #[must_use]
    pub fn on_grids(grids: impl IntoIterator<Item = (usize, Vec<f64>)>) -> Self {
        Self { grids: grids.into_iter().collect(), ..Self::default() }
    }

    /// The truth that an estimate is compared with at some points, before it is centred there.
    pub(super) fn compared(
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
        quantity: fe_truth::Quantity,
        effect: &Effect,
        points: &[f64],
        comparison: Comparison,
    ) -> Result<Arc<[Truth]>, String> {
        let feature = effect.feature;
        if let Some(levels) = &effect.record.levels {
            let centring = match comparison {
                Comparison::Centred => fe_truth::Centring::None,
                Comparison::AsTheyAre => truth_centring(effect.record.centring)?,
            };
            let order = levels.order.iter().flat_map(|order| &order.values);
            let places = levels.values.iter().chain([&levels.start, &f64::NAN]).chain(order);
            let key = (quantity, feature, centring, bits(places.chain(points)));
            return remember(&self.curves, key, || {
                truth_at_levels(scenario, quantity, effect, points, centring)
            });
        }
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
        quantity: fe_truth::Quantity,
        feature: usize,
        points: &[f64],
    ) -> Result<Arc<[Truth]>, String> {
        let grid = self.grids.get(&feature).map_or(points, Vec::as_slice);
        let place = |x: &f64| grid.binary_search_by(|g| g.total_cmp(x)).ok();
        let places = || points.iter().map(place).collect::<Option<Vec<usize>>>();
        let places = if grid.len() > points.len() { places() } else { None };
        let grid = if places.is_some() { grid } else { points };
        let axis = axis_around(scenario, feature, grid)?;
        let none = fe_truth::Centring::None;
        let truths = self.curve(scenario, quantity, feature, grid, axis, none)?;
        Ok(match places {
            None => truths,
            Some(places) => places.into_iter().map(|i| truths[i]).collect(),
        })
    }

    /// A true heterogeneity curve: a variance. `axis` is where ICE curves are centred.
    pub(crate) fn variance(
        &self,
        scenario: &Scenario,
        quantity: fe_truth::Quantity,
        feature: usize,
        points: &[f64],
        axis: Axis,
    ) -> Result<Vec<Truth>, String> {
        let none = fe_truth::Centring::None;
        let truths = self.curve(scenario, quantity, feature, points, axis, none)?;
        Ok(match quantity {
            fe_truth::Quantity::Sigma => truths.iter().map(squared).collect(),
            _ => truths.to_vec(),
        })
    }

    /// The true effect of each bin.
    pub(super) fn bin_effects(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<(Vec<f64>, Provenance), String> {
        match bin_truths_of(estimand) {
            // Where f jumps, the effect of a bin of `ale` contains the jump.
            BinTruths::Differences => {
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
                let truths = self.bins(scenario, effect.feature, &bins.partition)?;
                let effects = truths.iter().map(|bin| bin.mu).collect();
                Ok((effects, Provenance::of_bins(&truths)))
            }
        }
    }

    /// The true standard deviation in each bin.
    pub(super) fn bin_deviations(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        effect: &Effect,
        bins: &Bins,
    ) -> Result<(Vec<f64>, Provenance), String> {
        match bin_truths_of(estimand) {
            // The variance of differences depends on the bins: its truth is that of these bins.
            BinTruths::Differences => {
                let truths = self.differences(scenario, effect.feature, &bins.partition)?;
                let deviation = |bin: &DifferenceTruth| bin.variance.sqrt() / (bin.hi - bin.lo);
                let errors =
                    truths.iter().map(|bin| (fe_truth::Evaluation::Quadrature, bin.abs_error));
                Ok((truths.iter().map(deviation).collect(), Provenance::of(errors)))
            }
            _ => {
                let truths = self.bins(scenario, effect.feature, &bins.partition)?;
                let deviations = truths.iter().map(|bin| bin.sigma2.sqrt()).collect();
                Ok((deviations, Provenance::of_bins(&truths)))
            }
        }
    }

    /// The true variance of the local effects, as slopes, in each of some bins: of finite differences over the
    /// bin, or of the derivative.
    pub(super) fn bin_variances(
        &self,
        scenario: &Scenario,
        estimand: Estimand,
        feature: usize,
        bins: &Partition,
    ) -> Result<Vec<Truth>, String> {
        if bin_truths_of(estimand) == BinTruths::Differences {
            let truths = self.differences(scenario, feature, bins)?;
            return Ok(truths.iter().map(of_slopes).collect());
        }
        let truths = self.bins(scenario, feature, bins)?;
        let variance = |bin: &BinTruth| Truth {
            value: bin.sigma2,
            abs_error: bin.abs_error,
            method: bin.method,
        };
        Ok(truths.iter().map(variance).collect())
    }

    /// The truth of a heterogeneity value: over the axis, or of the true variances in the estimate's bins.
    ///
    /// # Errors
    /// A value that has no truth, or none for how it was estimated.
    pub(super) fn heterogeneity_value(
        &self,
        scenario: &Scenario,
        of: &Valued<'_>,
        name: &str,
    ) -> Result<Truth, String> {
        let none = || format!("`{name}` of such an estimate has no truth");
        match value_truth_of(of.estimand, name).ok_or_else(none)? {
            // With curves as they are, `mean_grid` is another value.
            ValueTruth::OverAxis(_) if name == "mean_grid" && of.other_ice => Err(none()),
            ValueTruth::OverAxis(value) => self.value_over_axis(scenario, value, of),
            ValueTruth::OnBins => {
                let bins = of.bins.ok_or_else(none)?;
                let truths = self.bin_variances(scenario, of.estimand, of.feature, bins)?;
                let undivided = bin_truths_of(of.estimand) == BinTruths::Differences;
                value_of_bins(bins, &truths, undivided, name).ok_or_else(none)
            }
        }
    }

    fn value_over_axis(
        &self,
        scenario: &Scenario,
        value: HeterogeneityValue,
        of: &Valued<'_>,
    ) -> Result<Truth, String> {
        let axis = (of.axis.lo(), of.axis.hi());
        let key = (value, of.feature, [axis.0.to_bits(), axis.1.to_bits()]);
        let truths = remember(&self.values, key, || {
            let value = scenario.heterogeneity_value(value, of.feature, axis)?;
            Ok::<_, fe_truth::Error>(vec![value])
        })?;
        truths.first().copied().ok_or_else(|| format!("`{value}` has no truth"))
    }

    /// The curves of a cell at the points where they are compared: estimate, truth,
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

    pub(crate) fn curve(
        &self,
        scenario: &Scenario,
        quantity: fe_truth::Quantity,
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

    fn differences(
        &self,
        scenario: &Scenario,
        feature: usize,
        bins: &Partition,
    ) -> Result<Arc<[DifferenceTruth]>, String> {
        let limits = bins.limits();
        remember(&self.differences, (feature, bits(limits)), || {
            scenario.differences(feature, limits)
        })
    }

    pub(super) fn bins(
        &self,
        scenario: &Scenario,
        feature: usize,
        bins: &Partition,
    ) -> Result<Arc<[BinTruth]>, String> {
        let limits = bins.limits();
        remember(&self.bins, (feature, bits(limits)), || {
            scenario.bins(feature, limits, Weighting::Uniform)
        })
    }
}

pub(super) fn bits<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    values.into_iter().map(|value| value.to_bits()).collect()
}

/// The value that is known already, or is computed now; threads that ask for the same wait for one of them.
pub(super) fn remember<K: Eq + Hash, V, E: ToString>(
    cache: &Cache<K, V>,
    key: K,
    compute: impl FnOnce() -> Result<Vec<V>, E>,
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

/// A heterogeneity value of true variances in bins. It rises with each of them, so that their bounds bound it.
fn value_of_bins(bins: &Partition, truths: &[Truth], undivided: bool, name: &str) -> Option<Truth> {
    let of = |variance: fn(&Truth) -> f64| {
        let variances: Vec<f64> = truths.iter().map(variance).collect();
        let values = heterogeneity::of_bins(bins, Some(&variances), undivided);
        values.get(name).copied().flatten()
    };
    let value = of(|truth| truth.value)?;
    let most = of(|truth| truth.value + truth.abs_error)?;
    let least = of(|truth| (truth.value - truth.abs_error).max(0.0))?;
    let method = truths.iter().map(|truth| truth.method).max()?;
    Some(Truth { value, abs_error: (most - value).max(value - least), method })
}

/// The variance of a difference over the width of its bin.
fn of_slopes(bin: &DifferenceTruth) -> Truth {
    let square = (bin.hi - bin.lo) * (bin.hi - bin.lo);
    Truth {
        value: bin.variance / square,
        abs_error: bin.abs_error / square,
        method: fe_truth::Evaluation::Quadrature,
    }
}

/// The square of a truth that is not negative.
fn squared(truth: &Truth) -> Truth {
    let Truth { value, abs_error, .. } = *truth;
    Truth { value: value * value, abs_error: (2.0 * value + abs_error) * abs_error, ..*truth }
}
