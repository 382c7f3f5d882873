//! Accumulated local effects: `ale`, `dale`, `rhale`.

mod accumulation;
mod band;
mod fine;
pub(crate) mod levels;
pub(crate) mod local_effects;
pub(crate) mod order;

use band::AccumulatedSample;
use levels::LevelSample;
use local_effects::{LocalEffects, Source, coarsening, regroup};

use strum::IntoStaticStr;

use super::common::{CurveOptions, with_axis_and_centring};
use super::parts::{Asked, BINS_OF_ALL, PartSums, not_in_parts};
use super::{
    Estimand, Estimated, Estimator, EstimatorInfo, InstanceEffects, Observation, Resampled,
    empty_bins,
};
use crate::binning::{self, Binning, Choice, Dynamic, Fixed};
use crate::confidence::{BandRequest, Purpose};
use crate::data::{Dataset, FeatureKind};
use crate::effect::centring::{self, AxisMean};
use crate::effect::heterogeneity;
use crate::effect::importance::importance;
use crate::effect::{Bands, PositionSums, Sample};
use crate::effect::{BinningRecord, Bins, Effect, Record};
use crate::error::{Error, Result};
use crate::estimator::derivatives::Differentiation;
use crate::model::{Model, Observed};
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::numeric::interpolation::interpolate_missing;
use crate::numeric::moments::Moments;
use crate::numeric::partition::{Closed, Partition};
use crate::settings::Centring;
use crate::settings::{EmptyBins, Interpolation, LevelOrder, Settings};

/// Options of all accumulated effects.
const COMMON: &[&str] = &[
    "binning",
    "bins",
    "limits",
    "min_points",
    "discount",
    "quantiles",
    "distinct",
    "axis",
    "center",
    "ddof",
    "empty",
    "fill_variances",
    "closed",
    "interpolation",
    "extrapolate",
    "points",
];

pub(crate) const ALE: EstimatorInfo = EstimatorInfo {
    name: "ale",
    about: "accumulated local effects by finite differences over the bins (Apley and Zhu 2020)",
    options: &[COMMON, AxisMean::OPTIONS, BandRequest::OPTIONS, &["undivided", "order"]],
    build: |settings| Ok(Box::new(Accumulated::from_settings(Variant::Ale, settings)?)),
};
pub(crate) const DALE: EstimatorInfo = EstimatorInfo {
    name: "dale",
    about: "accumulated local effects by derivatives, on bins of equal width (RHALE eq. 4)",
    options: &[COMMON, AxisMean::OPTIONS, BandRequest::OPTIONS, Differentiation::OPTIONS],
    build: |settings| Ok(Box::new(Accumulated::from_settings(Variant::Dale, settings)?)),
};
pub(crate) const RHALE: EstimatorInfo = EstimatorInfo {
    name: "rhale",
    about: "accumulated local effects by derivatives, on automatically chosen bins (RHALE eq. 9-15)",
    options: &[COMMON, AxisMean::OPTIONS, BandRequest::OPTIONS, Differentiation::OPTIONS],
    build: |settings| Ok(Box::new(Accumulated::from_settings(Variant::Rhale, settings)?)),
};

/// The members of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Variant {
    Ale,
    Dale,
    Rhale,
}

impl Variant {
    fn name(self) -> &'static str {
        self.into()
    }

    /// Degrees of freedom (ddof) of a variance, unless asked otherwise.
    fn ddof(self) -> u8 {
        u8::from(self != Variant::Ale)
    }
}

/// Accumulated local effects by finite differences over K bins (Apley and Zhu 2020).
pub struct Ale;
/// Accumulated local effects by derivatives on K bins of equal width (RHALE eq. 4).
pub struct Dale;
/// Accumulated local effects by derivatives on automatic bins (RHALE eq. 9 to 15).
pub struct Rhale;

impl Ale {
    /// On K bins of equal width.
    ///
    /// # Errors
    /// [`Error::BadOption`] for K = 0.
    pub fn with_bins(bins: usize) -> Result<Accumulated> {
        Ok(Accumulated::new(Variant::Ale, Box::new(Fixed::new(bins)?)))
    }
}

impl Dale {
    /// On K bins of equal width.
    ///
    /// # Errors
    /// [`Error::BadOption`] for K = 0.
    pub fn with_bins(bins: usize) -> Result<Accumulated> {
        Ok(Accumulated::new(Variant::Dale, Box::new(Fixed::new(bins)?)))
    }
}

impl Rhale {
    /// With RHALE's defaults: K_max = 20, n_min = N/20, α = 0.2.
    ///
    /// # Errors
    /// Never; the result is that of [`Dynamic::new`].
    pub fn automatic() -> Result<Accumulated> {
        Ok(Accumulated::new(Variant::Rhale, Box::new(Dynamic::new(20, None, 0.2)?)))
    }
}

/// An estimator of accumulated local effects: how they are made, how bins are chosen, and how bins
/// become a curve.
///
/// ```
/// use fe_core::{Dataset, estimator::{Ale, Estimator}, model::FunctionModel};
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [0.5, 0.0], [1.0, 2.0]].view())?;
/// let model = FunctionModel::new(2, |x| 3.0 * x[0] + x[1]);
/// let effect = &Ale::with_bins(2)?.estimate(&data, &model, 0)?[0];
/// assert_eq!(effect.curve.at_all(&[0.0, 0.25, 1.0])?, [-1.5, -0.75, 1.5]);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Accumulated {
    method: Variant,
    binning: Box<dyn Binning>,
    common: CurveOptions,
    empty: EmptyBins,
    fill_variances: bool,
    closed: Closed,
    interpolation: Interpolation,
    undivided: bool,
    order: Option<LevelOrder>,
    differentiation: Differentiation,
}

impl Accumulated {
    fn new(method: Variant, binning: Box<dyn Binning>) -> Self {
        let ddof = f64::from(method.ddof());
        Self {
            method,
            binning,
            common: CurveOptions { ddof, ..CurveOptions::default() },
            empty: EmptyBins::default(),
            fill_variances: false,
            closed: Closed::default(),
            interpolation: Interpolation::default(),
            undivided: false,
            order: None,
            differentiation: Differentiation::default(),
        }
    }

    fn from_settings(method: Variant, settings: &Settings) -> Result<Self> {
        let default = if method == Variant::Rhale { "dp" } else { "fixed" };
        let binning = binning::from_settings(settings, default)?;
        let new = Self::new(method, binning);
        Ok(Self {
            common: CurveOptions::from_settings(settings, Centring::default(), method.ddof())?,
            empty: settings.empty_bins()?,
            fill_variances: settings.fill_variances.unwrap_or_default(),
            closed: settings.closed.unwrap_or_default(),
            interpolation: settings.interpolation.unwrap_or_default(),
            undivided: settings.undivided.unwrap_or_default(),
            order: settings.order,
            differentiation: Differentiation::from_settings(settings)?,
            ..new
        })
    }

    /// The same estimator on other bins.
    #[must_use]
    pub fn binned(mut self, binning: impl Binning + 'static) -> Self {
        self.binning = Box::new(binning);
        self
    }

    /// `ale` from settings.
    pub(crate) fn ale(settings: &Settings) -> Result<Self> {
        Self::from_settings(Variant::Ale, settings)
    }

    /// `rhale` from settings.
    pub(crate) fn rhale(settings: &Settings) -> Result<Self> {
        Self::from_settings(Variant::Rhale, settings)
    }

    /// Refuses what a feature with levels has no answer to, and an order where nothing has levels.
    pub(crate) fn check(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<()> {
        match self.method {
            Variant::Ale => data.check_model(model, feature)?,
            Variant::Dale | Variant::Rhale => {
                data.check_derivable(model, feature, self.method.name())?;
            }
        }
        let has_order = data.kinds().contains(&FeatureKind::Nominal);
        if self.order.is_some() && !has_order {
            return Err(Error::Incompatible(
                "`order` is one of levels, and no feature of the data is nominal".to_owned(),
            ));
        }
        Ok(())
    }

    /// The axis for a feature of some data.
    pub(crate) fn axis(&self, data: &Dataset, feature: usize) -> Result<Axis> {
        self.common.axis.resolve(data, feature)
    }

    /// Bins of the axis, from what is known of some instances, and of all of which they are a part.
    pub(crate) fn divide(
        &self,
        axis: Axis,
        (data, feature): (&Dataset, usize),
        (all, of_all): (&Dataset, usize),
        local_effects: Option<&binning::Summarise<'_>>,
    ) -> Result<Choice> {
        let whole = (all.feature(of_all), all.weights());
        let positions = (data.feature(feature), data.weights());
        self.binning.choose(&self.request(axis, positions, whole, local_effects))
    }

    fn request<'a>(
        &self,
        axis: Axis,
        (positions, weights): (&'a [f64], Option<&'a [f64]>),
        whole: (&'a [f64], Option<&'a [f64]>),
        local_effects: Option<&'a binning::Summarise<'a>>,
    ) -> binning::BinningRequest<'a> {
        binning::BinningRequest {
            axis,
            closed: self.closed,
            positions,
            weights,
            whole,
            levels: false,
            ddof: self.common.ddof,
            local_effects,
        }
    }

    /// Heterogeneity values by name, from the moments of the local effects in each bin.
    pub(crate) fn heterogeneity_values(
        &self,
        partition: &Partition,
        spreads: Option<&Partition>,
        moments: &[Moments],
    ) -> heterogeneity::Values {
        let stretches = spreads.and_then(|spreads| coarsening(partition, spreads));
        let variances = heterogeneity::variances(moments, stretches.as_deref(), self.common.ddof);
        let (variances, _) = interpolate_missing(&variances, &partition.centres());
        self.values_of_variances(partition, variances.as_deref())
    }

    /// Heterogeneity values by name, from the variance of the local effects in each bin.
    pub(crate) fn values_of_variances(
        &self,
        partition: &Partition,
        variances: Option<&[f64]>,
    ) -> heterogeneity::Values {
        // Only `ale` has differences to leave undivided; for it METHODS' values are about those.
        heterogeneity::of_bins(partition, variances, self.method == Variant::Ale)
    }

    pub(crate) fn source(&self, model: &dyn Model, axis: Axis) -> Result<Source> {
        Ok(match self.method {
            Variant::Ale => Source::Differences,
            Variant::Dale | Variant::Rhale => {
                Source::Derivatives(self.differentiation.of(model, axis)?)
            }
        })
    }

    pub(crate) fn choose_bins(
        &self,
        effects: &LocalEffects<'_>,
        axis: Axis,
        output: usize,
    ) -> Result<Choice> {
        let summarise =
            |partition: &Partition| Ok(effects.summarise(partition)?.swap_remove(output));
        let (data, feature) = (effects.data, effects.feature);
        let local_effects: Option<&binning::Summarise<'_>> = match effects.source {
            Source::Differences => None,
            _ => Some(&summarise),
        };
        let choice = self.divide(axis, (data, feature), effects.whole, local_effects)?;
        Ok(match self.empty {
            EmptyBins::Merge => {
                let partition = empty_bins::merge(choice.partition, data, feature)?;
                let left = |limit: &f64| partition.limits().contains(limit);
                let spreads = choice
                    .spreads
                    .map(|spreads| spreads.keeping(|limit| left(&spreads.limits()[limit])));
                Choice { partition, spreads, ..choice }
            }
            _ => choice,
        })
    }

    fn curve(&self, bins: &Bins) -> Curve {
        let limits = bins.partition.limits().to_vec();
        let mut values = Vec::with_capacity(limits.len());
        values.push(0.0);
        for (slope, width) in bins.effect.iter().zip(bins.partition.widths()) {
            values.push(values[values.len() - 1] + slope * width);
        }
        match self.interpolation {
            Interpolation::Linear => Curve::linear(limits, values),
            Interpolation::Step => Curve::step(limits, values.split_off(1), self.closed),
        }
        .extrapolated(self.common.extrapolate)
    }

    fn heterogeneity_curve(
        &self,
        partition: &Partition,
        variances: &[Option<f64>],
        filled: Option<&[f64]>,
    ) -> Curve {
        let filled = filled.filter(|_| self.fill_variances);
        let value = |(k, width): (usize, f64)| {
            let variance = filled.map_or(variances[k], |filled| Some(filled[k]));
            let scale = if self.undivided { width * width } else { 1.0 };
            variance.map_or(f64::NAN, |variance| variance * scale)
        };
        let values = partition.widths().into_iter().enumerate().map(value).collect();
        self.step(partition, values).extrapolated(self.common.extrapolate)
    }

    fn step(&self, partition: &Partition, values: Vec<f64>) -> Curve {
        Curve::step(partition.limits().to_vec(), values, self.closed)
    }

    /// The effect on bins that are chosen already.
    pub(crate) fn effect_on(
        &self,
        effects: &LocalEffects<'_>,
        choice: Choice,
        output: usize,
    ) -> Result<Effect> {
        let sample = Sample::from((effects.data, effects.feature));
        check_rows(sample, choice.partition.axis()?)?;
        let moments = effects.summarise(&choice.partition)?.swap_remove(output);
        self.effect_of(sample, &moments, choice, (output, effects.asked()))
    }

    /// The effect on bins with these moments of the local effects.
    fn effect_of(
        &self,
        sample: Sample<'_>,
        moments: &[Moments],
        choice: Choice,
        (output, asked): (usize, Asked),
    ) -> Result<Effect> {
        let axis = choice.partition.axis()?;
        let rows_outside = check_rows(sample, axis)?;
        let stretches =
            choice.spreads.as_ref().and_then(|spreads| coarsening(&choice.partition, spreads));
        let (bins, empty) =
            empty_bins::fill(self.empty, self.common.ddof, choice.partition, moments)?;
        let known = heterogeneity::variances(moments, stretches.as_deref(), self.common.ddof);
        let (variances, undefined) =
            interpolate_missing(&known, &empty_bins::places(self.empty, &bins.partition));
        let curve = self.curve(&bins);
        let places = sample.places(Some(&bins.counts));
        let constant =
            centring::constant_at(self.common.axis_mean, self.common.centring, &curve, places)?;
        let mut values = self.values_of_variances(&bins.partition, variances.as_deref());
        let score = variances.clone().and_then(|variances| {
            let variance = self.step(&bins.partition, variances);
            if rows_outside > 0 {
                return heterogeneity::effector_score_at(&variance, places, true);
            }
            heterogeneity::effector_score_by(&variance, places, Some(sample.moments()))
        });
        values.insert(heterogeneity::EFFECTOR_SCORE, score);
        let instances = sample.instances(None).filter(|_| self.common.importance);
        let importance = instances.and_then(|instances| importance(&curve, instances, false));
        let what = (output, self.method.name());
        let effect = self.common.effect(sample, what, (axis, curve), constant);
        let record = Record {
            rows_outside,
            model_rows: asked.model_rows,
            jacobian_rows: asked.jacobian_rows,
            derivatives: asked.derivatives,
            binning: Some(BinningRecord {
                strategy: self.binning.describe(),
                asked: self.binning.bins(),
                bins: bins.partition.bins(),
                spreads: stretches.map(|stretches| stretches.len()),
                feasible: choice.feasible,
                closed: self.closed,
                empty_policy: self.empty,
                empty,
                undefined_variances: undefined,
                distinct: choice.distinct,
                empty_share: empty_share(&bins),
            }),
            ..effect.record
        };
        let effect = Effect {
            heterogeneity: self.heterogeneity_curve(&bins.partition, &known, variances.as_deref()),
            heterogeneity_values: values,
            default_heterogeneity: if self.undivided { "mean_bins" } else { "integral" },
            bands: variances.map(|variances| Bands::of_bins(&bins.partition, &variances)),
            bins: Some(bins),
            importance,
            record,
            ..effect
        };
        effect.representable()
    }
}

/// The number of rows off the axis, where there are some on it.
fn check_rows(sample: Sample<'_>, axis: Axis) -> Result<usize> {
    match sample.count_rows(&axis) {
        (0, _) => {
            let name = sample.name.to_owned();
            Err(Error::NoRowsOnAxis { name, lo: axis.lo(), hi: axis.hi() })
        }
        (_, outside) => Ok(outside),
    }
}

/// Share of the curve's rises and falls that lies over bins without instances.
fn empty_share(bins: &Bins) -> Option<f64> {
    let rises = bins.effect.iter().zip(bins.partition.widths()).map(|(y, width)| (y * width).abs());
    let largest = rises.clone().fold(0.0, f64::max);
    let (mut all, mut empty) = (0.0, 0.0);
    for (rise, &count) in rises.zip(&bins.counts) {
        // In units of the largest, no sum is infinite.
        all += rise / largest;
        empty += if count > 0.0 { 0.0 } else { rise / largest };
    }
    (bins.counts.contains(&0.0) && all > 0.0).then(|| empty / all)
}

with_axis_and_centring!(Accumulated, common);

impl Estimator for Accumulated {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn estimand(&self) -> Estimand {
        match self.method {
            Variant::Ale => Estimand::AccumulatedLocalEffects,
            Variant::Dale | Variant::Rhale => Estimand::AccumulatedDerivatives,
        }
    }

    fn binning(&self) -> Option<&dyn Binning> {
        Some(&*self.binning)
    }

    fn centring(&self) -> Centring {
        self.common.centring
    }

    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        let per_row = match self.method {
            Variant::Ale => 2,
            Variant::Dale | Variant::Rhale => self.differentiation.rows_per_row(model),
        };
        Some((rows as u64).saturating_mul(per_row))
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        self.check(data, model, feature)?;
        if let Some(levels) = data.levels(feature)? {
            return self.by_levels((data, feature), model, levels);
        }
        let axis = self.common.axis.resolve(data, feature)?;
        let observed = Observed::new(model);
        let effects = LocalEffects::new(data, &observed, feature, self.source(model, axis)?);
        let effect = |output| {
            let choice = self.choose_bins(&effects, axis, output)?;
            self.effect_on(&effects, choice, output)
        };
        (0..model.outputs()).map(effect).collect()
    }

    fn sums(&self, part: &Dataset, model: &dyn Model, feature: usize) -> Result<PartSums> {
        self.check(part, model, feature)?;
        let axis = self.common.axis.resolve(part, feature)?;
        let positions = (part.feature(feature), part.weights());
        let Some(cells) = self.binning.cells(&self.request(axis, positions, positions, None))?
        else {
            return Err(not_in_parts(self.name(), BINS_OF_ALL));
        };
        let is_automatic = self.method != Variant::Ale && self.binning.bins().is_some();
        if self.common.centring == Centring::Data && is_automatic {
            let reason = "centring `data` needs the positions within bins that are not known yet: take integral, start, \
                          bins or none, or give `limits`";
            return Err(not_in_parts(self.name(), reason));
        }
        let observed = Observed::new(model);
        let effects = LocalEffects::new(part, &observed, feature, self.source(model, axis)?);
        let moments = effects.summarise(&cells)?;
        let curve = Curve::linear(cells.limits().to_vec(), vec![0.0; cells.bins() + 1]);
        Ok(PartSums {
            rows: part.len(),
            positions: PositionSums::of((part, feature), cells.axis()?, &curve),
            partition: Some(cells),
            moments,
            asked: effects.asked(),
            ..PartSums::default()
        })
    }

    fn of_sums(&self, feature: (usize, &str), sums: &PartSums) -> Result<Vec<Effect>> {
        let Some(cells) = &sums.partition else { return Ok(Vec::new()) };
        let (axis, sample) = (cells.axis()?, Sample::summed(feature, &sums.positions));
        check_rows(sample, axis)?;
        let of_output = |(output, moments): (usize, &Vec<Moments>)| {
            let summarise = |bins: &Partition| {
                let of_cells = || not_in_parts(self.name(), "bins are not made of whole cells");
                regroup(cells, moments, bins).ok_or_else(of_cells)
            };
            let local_effects: &binning::Summarise<'_> = &summarise;
            let local_effects = Some(local_effects).filter(|_| self.method != Variant::Ale);
            let nowhere: (&[f64], _) = (&[], None);
            let choice =
                self.binning.choose(&self.request(axis, nowhere, nowhere, local_effects))?;
            let moments = summarise(&choice.partition)?;
            self.effect_of(sample, &moments, choice, (output, sums.asked.clone()))
        };
        sums.moments.iter().enumerate().map(of_output).collect()
    }

    fn instances(&self, of: Estimated<'_>, rows: &[usize]) -> Result<InstanceEffects> {
        let Estimated { data, model, effect } = of;
        data.check_rows(model, effect.feature, rows)?;
        if effect.record.levels.is_some() {
            return Ok(InstanceEffects::Unknown);
        }
        let Some(bins) = &effect.bins else {
            return Err(Error::Incompatible(format!(
                "an effect of `{}` has no bins, and so no local effects",
                effect.estimator
            )));
        };
        let observed = Observed::new(model);
        let source = self.source(model, effect.record.axis)?;
        let effects = LocalEffects::new(data, &observed, effect.feature, source);
        let all = effects.of_instances(&bins.partition)?;
        let all = all.get(effect.output).map(Vec::as_slice).unwrap_or_default();
        Ok(InstanceEffects::Slopes(rows.iter().filter_map(|&row| all.get(row).copied()).collect()))
    }

    fn resampling<'a>(&'a self, of: Observation<'a>, purpose: &Purpose<'_>) -> Resampled<'a> {
        if of.effect.record.levels.is_some() {
            return Ok(Box::new(LevelSample::new(of, purpose)?));
        }
        Ok(Box::new(AccumulatedSample::new(self, of, purpose)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths of 1, 2 and 4, and rises of 3, 2 and 8, of which the second one is over an empty bin.
    #[test]
    fn the_empty_share_is_of_rises_and_falls() {
        let partition =
            crate::Partition::new(vec![0.0, 1.0, 3.0, 7.0], Default::default()).unwrap();
        let bins = |effect: [f64; 3], counts: [f64; 3]| Bins {
            partition: partition.clone(),
            counts: counts.to_vec(),
            effect: effect.to_vec(),
            variance: vec![None; 3],
        };
        let share = empty_share(&bins([3.0, 1.0, -2.0], [5.0, 0.0, 5.0])).unwrap();
        assert!((share - 2.0 / 13.0).abs() < 1e-15, "{share}");
        assert_eq!(empty_share(&bins([3.0, 1.0, -2.0], [5.0, 1.0, 5.0])), None);
        assert_eq!(empty_share(&bins([0.0, 0.0, 0.0], [5.0, 0.0, 5.0])), None);
    }
}
