//! The truths of a scenario, remembered: studies ask for the same ones again and again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fe_core::effect::Bins;
use fe_core::estimator::Estimand;
use fe_core::{Axis, Effect};
use fe_truth::{BinTruth, Scenario, Truth, Weighting};

use super::comparison::Comparison;
use super::estimand::{BinTruths, bin_truths_of, truth_centring, truth_of};
use super::levels::truth_at_levels;
use super::{Compared, Comparing, Provenance};

type CurveKey = (fe_truth::Quantity, usize, fe_truth::Centring, Vec<u64>);
pub(super) type Remembered<V> = Arc<OnceLock<Result<Arc<[V]>, String>>>;
pub(super) type Cache<K, V> = Mutex<HashMap<K, Remembered<V>>>;

/// The most truths of a kind that are remembered: bins that depend on the data do not come again.
pub(super) const MOST_REMEMBERED: usize = 1000;

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
                let truths = self.bins(scenario, effect.feature, bins)?;
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
                let truths = scenario
                    .differences(effect.feature, bins.partition.limits())
                    .map_err(|e| e.to_string())?;
                let deviation =
                    |bin: &fe_truth::DifferenceTruth| bin.variance.sqrt() / (bin.hi - bin.lo);
                let errors =
                    truths.iter().map(|bin| (fe_truth::Evaluation::Quadrature, bin.abs_error));
                Ok((truths.iter().map(deviation).collect(), Provenance::of(errors)))
            }
            _ => {
                let truths = self.bins(scenario, effect.feature, bins)?;
                let deviations = truths.iter().map(|bin| bin.sigma2.sqrt()).collect();
                Ok((deviations, Provenance::of_bins(&truths)))
            }
        }
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

    pub(super) fn curve(
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

    pub(super) fn bins(
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

/// The square of a truth that is not negative.
fn squared(truth: &Truth) -> Truth {
    let Truth { value, abs_error, .. } = *truth;
    Truth { value: value * value, abs_error: (2.0 * value + abs_error) * abs_error, ..*truth }
}
