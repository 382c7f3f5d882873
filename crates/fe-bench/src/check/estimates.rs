//! Estimates of a feature without bias, and their truths.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fe_core::estimator::{Estimand, Estimator, EstimatorInfo};
use fe_core::metric::{Distance, centred_on_grid};
use fe_core::{Axis, AxisChoice, Centring, Dataset, Effect, Settings};
use fe_truth::{Quantity, Scenario, Weighting};

use super::middle_bins;
use crate::score::truth_of;

/// Points at which curves are compared.
const POINTS: usize = 11;

/// Given bins.
const BINS: usize = 7;

/// The effect of a feature of a scenario.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) feature: usize,
    pub(super) known: &'a KnownBins,
}

/// The truths of bins that were asked for before, by the bits of their limits.
#[derive(Default)]
pub(super) struct KnownBins(RefCell<BinsByLimits>);

/// True if jumps count, and the bits of the limits.
type BinsByLimits = HashMap<(bool, Vec<u64>), Rc<[Bin]>>;

/// Estimates of some numbers on one dataset; missing where they are undefined.
pub(super) type Quantities = Vec<Option<f64>>;

/// A true number.
pub(super) struct Known {
    pub(super) what: String,
    pub(super) value: f64,
    pub(super) abs_error: f64,
}

/// A number that an estimator estimates without bias, and how it is read off an effect.
pub(super) struct Unbiased<'a> {
    target: Target<'a>,
    estimator: Box<dyn Estimator>,
    points: Vec<f64>,
    pub(super) truths: Vec<Known>,
}

impl Unbiased<'_> {
    pub(super) fn estimate(&self, data: &Dataset) -> Result<Quantities, String> {
        let effect = self.target.effect(&*self.estimator, data)?;
        if let Some(bins) = &effect.bins {
            let effects = bins.effect.iter().zip(&bins.counts);
            let effects = effects.map(|(effect, count)| (*count > 0.0).then_some(*effect));
            return Ok(effects.chain(bins.variance.iter().copied()).collect());
        }
        let curves = [&effect.curve, &effect.heterogeneity];
        let wanted = self.truths.len() / self.points.len();
        let mut values = Vec::new();
        for curve in &curves[..wanted] {
            let curve = curve.at_all(&self.points).map_err(|e| e.to_string())?;
            values.extend(curve.into_iter().map(|value| value.is_finite().then_some(value)));
        }
        Ok(values)
    }
}

impl<'a> Target<'a> {
    /// The numbers that an estimator estimates without bias at any number of rows; none if there are none.
    pub(super) fn unbiased(self, info: &EstimatorInfo) -> Option<Result<Unbiased<'a>, String>> {
        let estimand = match self.build(info, Settings::default()) {
            Ok(estimator) => estimator.estimand(),
            Err(reason) => return Some(Err(reason)),
        };
        match estimand {
            Estimand::PartialDependence => Some(self.at_points(info, &[Quantity::Pd])),
            Estimand::DerivativePartialDependence => {
                Some(self.at_points(info, &[Quantity::Dpd, Quantity::HDpdp]))
            }
            Estimand::AccumulatedLocalEffects | Estimand::AccumulatedDerivatives
                if info.takes("limits") && self.scenario.levels(self.feature).is_none() =>
            {
                Some(self.in_bins(info, estimand))
            }
            _ => None,
        }
    }

    /// Curve and heterogeneity at points of the axis, not centred, variances with ddof 1.
    fn at_points(
        self,
        info: &EstimatorInfo,
        quantities: &[Quantity],
    ) -> Result<Unbiased<'a>, String> {
        let axis = self.scenario.axis(self.feature);
        let points = self.points()?;
        let settings = Settings {
            center: info.takes("center").then_some(Centring::None),
            ddof: info.takes("ddof").then_some(1),
            ..Settings::default()
        };
        let mut truths = Vec::new();
        for &kind in quantities {
            let none = fe_truth::Centring::None;
            let curve = self.scenario.curve(kind, self.feature, &points, axis, none);
            let curve = curve.map_err(|e| e.to_string())?;
            truths.extend(curve.iter().zip(&points).map(|(truth, x)| Known {
                what: format!("{kind} at {x:.4}"),
                value: truth.value,
                abs_error: truth.abs_error,
            }));
        }
        Ok(Unbiased { target: self, estimator: self.build(info, settings)?, points, truths })
    }

    /// Means and variances of local effects in given bins, averaged over the data's density.
    fn in_bins(self, info: &EstimatorInfo, estimand: Estimand) -> Result<Unbiased<'a>, String> {
        let limits =
            middle_bins(self.scenario.axis(self.feature), BINS).map_err(|e| e.to_string())?;
        let settings = Settings {
            binning: Some("grid".to_owned()),
            limits: Some(limits.clone()),
            ddof: Some(1),
            ..Settings::default()
        };
        let bins = self.bins(estimand, &limits)?;
        let known = |what: &str, of: fn(&Bin) -> f64| {
            let known = bins.iter().map(|bin| Known {
                what: format!("{what} in [{:.4}, {:.4}]", bin.lo, bin.hi),
                value: of(bin),
                abs_error: bin.abs_error,
            });
            known.collect::<Vec<_>>()
        };
        let mut truths = known("effect", |bin| bin.mean);
        truths.extend(known("variance", |bin| bin.variance));
        let estimator = self.build(info, settings)?;
        Ok(Unbiased { target: self, estimator, points: Vec::new(), truths })
    }

    /// The squared error of an estimate.
    ///
    /// Of accumulated effects it is that of the bin effects, each weighted by its share of the
    /// instances, against the truth of these bins; else it is that of the curve, both centred.
    pub(super) fn error(self, info: &EstimatorInfo, data: &Dataset) -> Result<f64, String> {
        let estimand = self.build(info, Settings::default())?.estimand();
        let accumulated = matches!(
            estimand,
            Estimand::AccumulatedLocalEffects | Estimand::AccumulatedDerivatives
        );
        let settings = if !accumulated && info.takes("bins") {
            // Bins of constant width would keep a constant bias.
            let bins = (2.0 * (data.len() as f64).cbrt()) as usize;
            Settings { bins: Some(bins), ..Settings::default() }
        } else {
            Settings::default()
        };
        let effect = self.effect(&*self.build(info, settings)?, data)?;
        match &effect.bins {
            Some(bins) if accumulated => {
                let truths = self.bins(estimand, bins.partition.limits())?;
                let all: f64 = bins.counts.iter().sum();
                let error = |(k, truth): (usize, &Bin)| {
                    bins.counts[k] / all * (bins.effect[k] - truth.mean).powi(2)
                };
                Ok(truths.iter().enumerate().map(error).sum())
            }
            _ => self.curve_error(estimand, &effect),
        }
    }

    fn curve_error(self, estimand: Estimand, effect: &Effect) -> Result<f64, String> {
        let points = self.points()?;
        let estimate = effect.curve.at_all(&points).map_err(|e| e.to_string())?;
        let axis = self.scenario.axis(self.feature);
        let (kind, none) = (truth_of(estimand), fe_truth::Centring::None);
        let truth = self.scenario.curve(kind, self.feature, &points, axis, none);
        let truth: Vec<f64> =
            truth.map_err(|e| e.to_string())?.iter().map(|truth| truth.value).collect();
        Ok(Distance::Mse.between(&centred_on_grid(&estimate), &centred_on_grid(&truth)))
    }

    /// The truth of bins; remembered, as many estimates share theirs.
    fn bins(self, estimand: Estimand, limits: &[f64]) -> Result<Rc<[Bin]>, String> {
        let jumps = estimand == Estimand::AccumulatedLocalEffects;
        let key = (jumps, limits.iter().map(|limit| limit.to_bits()).collect::<Vec<_>>());
        if let Some(known) = self.known.0.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let bins: Rc<[Bin]> = self.true_bins(jumps, limits)?.into();
        self.known.0.borrow_mut().insert(key, Rc::clone(&bins));
        Ok(bins)
    }

    fn true_bins(self, jumps: bool, limits: &[f64]) -> Result<Vec<Bin>, String> {
        let Self { scenario, feature, .. } = self;
        if jumps {
            let truths = scenario.differences(feature, limits).map_err(|e| e.to_string())?;
            let bin = |truth: &fe_truth::DifferenceTruth| {
                let width = truth.hi - truth.lo;
                Bin {
                    lo: truth.lo,
                    hi: truth.hi,
                    mean: truth.mean / width,
                    variance: truth.variance / (width * width),
                    abs_error: truth.abs_error / width.min(width * width),
                }
            };
            return Ok(truths.iter().map(bin).collect());
        }
        let truths = scenario.bins(feature, limits, Weighting::Data).map_err(|e| e.to_string())?;
        let bin = |truth: &fe_truth::BinTruth| Bin {
            lo: truth.lo,
            hi: truth.hi,
            mean: truth.mu,
            variance: truth.sigma2_star,
            abs_error: truth.abs_error,
        };
        Ok(truths.iter().map(bin).collect())
    }

    fn points(self) -> Result<Vec<f64>, String> {
        if let Some(levels) = self.scenario.levels(self.feature) {
            return Ok(levels.iter().map(|level| level.value).collect());
        }
        let (lo, hi) = self.scenario.axis(self.feature);
        Ok(Axis::new(lo, hi).map_err(|e| e.to_string())?.grid(POINTS))
    }

    /// The estimator with some settings, on the scenario's axis.
    fn build(self, info: &EstimatorInfo, settings: Settings) -> Result<Box<dyn Estimator>, String> {
        let (lo, hi) = self.scenario.axis(self.feature);
        let given = settings.limits.is_some();
        let settings = Settings {
            axis: (info.takes("axis") && !given).then_some(AxisChoice::Given(lo, hi)),
            // Nothing between the points is asked for; with bins there is no grid.
            grid: (info.takes("grid") && !info.takes("nearest")).then_some(POINTS),
            points: if info.takes("points") { Some(self.points()?) } else { None },
            ..settings
        };
        (info.build)(&settings).map_err(|e| e.to_string())
    }

    fn effect(self, estimator: &dyn Estimator, data: &Dataset) -> Result<Effect, String> {
        let effects = estimator.estimate(data, self.scenario.model(), self.feature);
        let first = effects.map_err(|e| e.to_string())?.into_iter().next();
        first.ok_or_else(|| "no output".to_owned())
    }
}

/// Truths of the local effects in a bin.
pub(super) struct Bin {
    lo: f64,
    hi: f64,
    mean: f64,
    variance: f64,
    abs_error: f64,
}
