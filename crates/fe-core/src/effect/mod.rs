//! Effects: the curve of a feature, what belongs to it, and the record of what was done.
//!
//! May import `numeric`, `model`, `data` and `settings`. Begin with [`Effect`] and [`Record`].

mod band;
pub mod centring;
pub mod heterogeneity;
pub mod importance;
mod instances;
mod sample;
mod spread;
mod surface;

pub use band::{
    BandRecord, ConfidenceBand, Limits, MEANING, MEANING_OF_REFITS, RefitRecord, SurfaceBand,
};
pub use instances::Instances;
pub(crate) use instances::{PositionSums, mean_at_instances};
pub(crate) use sample::Sample;
pub use spread::Bands;
pub use surface::{CellRecord, SideRecord, Surface, SurfaceRecord};

use ndarray::Array2;
use serde::{Deserialize, Serialize, Serializer};

use crate::data::{Dataset, FeatureKind, Levels, SubsampleRecord};
use crate::effect::centring::AxisMean;
use crate::effect::heterogeneity::Values;
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::numeric::partition::{Closed, Partition};
use crate::numeric::spline::Smoothing;
use crate::settings::Centring;
use crate::settings::EmptyBins;
use crate::stored::Name;

/// The estimated effect of one feature on one output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Effect {
    /// The feature, counted from 0.
    pub feature: usize,
    /// The feature's name.
    pub name: String,
    /// The output, counted from 0.
    pub output: usize,
    /// Name of the estimator.
    #[serde(deserialize_with = "crate::stored::name")]
    pub estimator: Name,
    /// The centred curve, in units of the output.
    pub curve: Curve,
    /// The heterogeneity curve: a variance, NaN where it is undefined.
    pub heterogeneity: Curve,
    /// The bins, for effects that have them.
    pub bins: Option<Bins>,
    /// The spread about accumulated effects; none where every variance is undefined.
    pub bands: Option<Bands>,
    /// A confidence band for the curve, where the option `band` asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceBand>,
    /// The curves of the instances, for `ice` and `dice`.
    pub curves: Option<IceCurves>,
    /// E f, the weighted mean of the model over the rows; where the model was asked at the rows anyway,
    /// or the option `mean_prediction` is set.
    pub mean_prediction: Option<f64>,
    /// Importance: the variation of the curve over the instances, in units of the output; see [`importance`].
    /// Where the option `importance` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// The Shapley values of the feature, for `shapdp` where the option `shapley_values` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shapley: Option<Contributions>,
    /// Heterogeneity values by name, without the default singled out.
    #[serde(deserialize_with = "crate::stored::values")]
    pub heterogeneity_values: Values,
    /// Name of the value that is meant if none is named.
    #[serde(deserialize_with = "crate::stored::name")]
    pub default_heterogeneity: Name,
    /// Record of the computation.
    pub record: Record,
}

impl Effect {
    /// The effect of a feature on an output that an estimator, by its name, gives as a curve on an axis, with
    /// nothing known beside: what else there is, an estimator fills in.
    #[must_use]
    pub fn new(
        (data, feature): (&Dataset, usize),
        output: usize,
        estimator: Name,
        (axis, curve): (Axis, Curve),
    ) -> Self {
        Self::of_sample((data, feature).into(), output, estimator, (axis, curve))
    }

    /// The same from rows of which perhaps only sums are known.
    pub(crate) fn of_sample(
        sample: Sample<'_>,
        output: usize,
        estimator: Name,
        (axis, curve): (Axis, Curve),
    ) -> Self {
        let undefined = Curve::linear(vec![axis.lo(), axis.hi()], vec![f64::NAN; 2]);
        Self {
            feature: sample.feature,
            name: sample.name.to_owned(),
            output,
            estimator,
            curve,
            heterogeneity: undefined,
            bins: None,
            bands: None,
            confidence: None,
            curves: None,
            mean_prediction: None,
            importance: None,
            shapley: None,
            heterogeneity_values: Values::new(),
            default_heterogeneity: "",
            record: Record::new(sample.rows(), axis),
        }
    }

    /// The variance of the local effects in each bin (of an M-plot: of the predictions), as
    /// [`Bins::variance`] where it is defined there; elsewhere as it was filled in, if the option
    /// `fill_variances` is set. None without bins.
    #[must_use]
    pub fn bin_variances(&self) -> Option<Vec<Option<f64>>> {
        let bins = self.bins.as_ref()?;
        let widths = bins.partition.widths();
        // An effect that leaves differences undivided has their variances in its curve.
        let is_undivided = self.default_heterogeneity == "mean_bins";
        let on_bins = self.heterogeneity.x() == bins.partition.limits();
        let filled = |k: usize| {
            let square = if is_undivided { widths[k] * widths[k] } else { 1.0 };
            let value = self.heterogeneity.y().get(k).filter(|_| on_bins)? / square;
            value.is_finite().then_some(value)
        };
        let variances = bins.variance.iter().enumerate();
        Some(variances.map(|(k, variance)| variance.or_else(|| filled(k))).collect())
    }

    /// The effect, if its curve is one of numbers; variances too large for a number are missing.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn representable(mut self) -> Result<Self> {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let bins_are_finite =
            self.bins.as_ref().is_none_or(|bins| finite(&bins.effect) && finite(&bins.counts));
        if !(finite(self.curve.y()) && bins_are_finite && self.record.centring_constant.is_finite())
        {
            return Err(Error::Overflow { what: "values of the effect", name: self.name });
        }
        self.heterogeneity = self.heterogeneity.without_infinities();
        let known = |value: &mut Option<f64>| *value = value.filter(|value| value.is_finite());
        self.heterogeneity_values.values_mut().for_each(known);
        self.bins.iter_mut().flat_map(|bins| &mut bins.variance).for_each(known);
        self.bands = self.bands.filter(|bands| finite(bands.accumulated_sd.y()));
        Ok(self)
    }
}

/// The Shapley values of one feature on one output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contributions {
    /// The explained rows of the data, counted from 0: those on the axis that count.
    pub rows: Vec<usize>,
    /// φ of each of them, in units of the output.
    pub values: Vec<f64>,
    /// The mean prediction over the background, from which all features together lead to the prediction.
    pub base_value: f64,
}

/// The ICE or d-ICE curves of N instances at T points, linear between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IceCurves {
    /// The T points, increasing: the grid with further points that were asked for.
    pub x: Vec<f64>,
    /// The N rows of the data whose curves they are, counted from 0. Rows of weight 0 have none.
    pub rows: Vec<usize>,
    /// The curves, N × T, in units of the output (for d-ICE per unit of the feature).
    #[serde(serialize_with = "row_by_row", deserialize_with = "crate::stored::matrix")]
    pub values: Array2<f64>,
}

fn row_by_row<S: Serializer>(values: &Array2<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.rows().into_iter().map(|row| row.to_vec()))
}

/// The bins of an accumulated effect or an M-plot, and what the instances in each of them say.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bins {
    /// The limits z_0 … z_K.
    pub partition: Partition,
    /// Weight of the instances in each bin; their number where none are weighted.
    pub counts: Vec<f64>,
    /// Mean local effect of each bin, a slope, or for `mplot` its mean prediction; by the empty-bin
    /// policy where there are no instances.
    pub effect: Vec<f64>,
    /// Variance of the same in each bin, missing where it is undefined.
    pub variance: Vec<Option<f64>>,
}

/// Record of the computation of an effect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Rows of the data, or of the subsample of them.
    pub rows: usize,
    /// The subsample of the data that was drawn before anything else; none if all rows were taken
    /// unasked.
    pub subsample: Option<SubsampleRecord>,
    /// Rows without a value of the feature, which were left out before anything else; none if all have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_without_value: Option<usize>,
    /// Rows with positive weight whose feature lies outside the axis.
    pub rows_outside: usize,
    /// Rows whose value the model was asked for.
    pub model_rows: u64,
    /// Rows whose derivative the model was asked for.
    pub jacobian_rows: u64,
    /// True if the structure of the model told values that it was not asked for one by one; none if it has no
    /// such structure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_structure: Option<bool>,
    /// The axis.
    pub axis: Axis,
    /// Centring of the curve.
    pub centring: Centring,
    /// Rule for means over the axis.
    pub axis_mean: AxisMean,
    /// Constant subtracted from the curve as it came.
    pub centring_constant: f64,
    /// Degrees of freedom (ddof) subtracted from the number of instances in variances.
    pub ddof: f64,
    /// True if the heterogeneity is that of ICE curves as they are, where the estimator does otherwise unless
    /// it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_ice: Option<bool>,
    /// Source of derivatives, where there are any.
    pub derivatives: Option<String>,
    /// Record of the choice of bins, where there are any.
    pub binning: Option<BinningRecord>,
    /// True if the curve continues constantly beyond its limits.
    pub extrapolated: bool,
    /// Record of Shapley values and their smoothing, where there are any.
    pub shapley: Option<ShapleyRecord>,
    /// Neighbourhoods that local means are over, for `mplot`.
    pub neighbourhoods: Option<NeighbourhoodRecord>,
    /// Levels of the feature, where it has such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelRecord>,
}

/// Levels of a feature, at which alone its effect has values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelRecord {
    /// The kind of the feature: ordinal or nominal.
    pub kind: FeatureKind,
    /// The levels that occur, ascending.
    pub values: Vec<f64>,
    /// Their names.
    pub names: Vec<String>,
    /// Weight of the rows at each; their number where none are weighted.
    pub counts: Vec<f64>,
    /// The first of them in their order, where the centring `start` has the effect 0.
    pub start: f64,
    /// The order along which an effect is accumulated, for `ale`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderRecord>,
}

impl LevelRecord {
    pub(crate) fn new(kind: FeatureKind, levels: &Levels, order: Option<OrderRecord>) -> Self {
        let Levels { values, names, counts, .. } = levels.clone();
        let first = levels.values[levels.given[0]];
        let start = order.as_ref().and_then(|order| order.values.first().copied());
        Self { kind, values, names, counts, start: start.unwrap_or(first), order }
    }
}

/// Order of the levels of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderRecord {
    /// Its rule: an option's word, or `value` of an ordinal feature.
    #[serde(deserialize_with = "crate::stored::name")]
    pub rule: Name,
    /// The values of the levels in this order.
    pub values: Vec<f64>,
    /// Their names in this order.
    pub names: Vec<String>,
}

impl Record {
    /// The record of a curve as it came, from so many rows, on an axis.
    #[must_use]
    pub fn new(rows: usize, axis: Axis) -> Self {
        Self {
            rows,
            subsample: None,
            rows_without_value: None,
            rows_outside: 0,
            model_rows: 0,
            jacobian_rows: 0,
            axis,
            centring: Centring::None,
            axis_mean: AxisMean::default(),
            centring_constant: 0.0,
            ddof: 0.0,
            raw_ice: None,
            by_structure: None,
            derivatives: None,
            binning: None,
            extrapolated: false,
            shapley: None,
            neighbourhoods: None,
            levels: None,
        }
    }
}

/// The stretches of the feature that local means are over: the bins, or what is around each point of
/// the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeighbourhoodRecord {
    /// Least weight of the instances around a point; none for bins.
    pub nearest: Option<usize>,
    /// Width of each bin or, around each point of the grid, twice the distance of the farthest
    /// instance.
    #[serde(deserialize_with = "crate::stored::numbers")]
    pub widths: Vec<f64>,
    /// Weight of the instances in each.
    pub counts: Vec<f64>,
    /// Mean of the widths.
    #[serde(deserialize_with = "crate::stored::number")]
    pub mean_width: f64,
}

/// Record of the computation of Shapley values and the spline through them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShapleyRecord {
    /// `exact` or `permutations`.
    #[serde(deserialize_with = "crate::stored::name")]
    pub method: Name,
    /// Pairs of permutations for each row, where they are drawn.
    pub pairs: Option<usize>,
    /// Seed of the permutations.
    pub seed: Option<u64>,
    /// Rows whose values were computed.
    pub rows_explained: usize,
    /// Background rows that the model was asked with.
    pub background: usize,
    /// Seed of a sample of the background; none if it is all the data.
    pub background_seed: Option<u64>,
    /// Mean standard error of the values of the feature, where permutations tell it.
    pub mean_standard_error: Option<f64>,
    /// Criterion of the smoothing parameter.
    pub smoothing: Smoothing,
    /// The smoothing parameter, for a feature scaled to unit range; none if it is infinite and the
    /// curve a straight line.
    pub smoothing_parameter: Option<f64>,
    /// Effective degrees of freedom of the spline.
    pub degrees_of_freedom: f64,
    /// Number of its knots; none if the curve is a straight line.
    pub knots: Option<usize>,
}

/// Record of the choice of bins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BinningRecord {
    /// The strategy with its options, except the number of bins.
    pub strategy: String,
    /// Number of bins asked for, or of cells that bins are made of.
    pub asked: Option<usize>,
    /// Number of bins.
    pub bins: usize,
    /// Number of stretches of bins along which the heterogeneity is the variance within all their bins
    /// together; none if each bin has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spreads: Option<usize>,
    /// False if no partition met the constraints and a single bin stands in.
    pub feasible: bool,
    /// At which end bins are closed.
    pub closed: Closed,
    /// Policy for bins without instances.
    pub empty_policy: EmptyBins,
    /// Number of bins without instances.
    pub empty: usize,
    /// Number of bins with an undefined variance.
    pub undefined_variances: usize,
    /// Number of distinct values of the feature, where bins, or the cells that they are made of, are between
    /// these in place of equally wide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct: Option<usize>,
    /// Share of an accumulated effect's rises and falls that lies over bins without instances; none where
    /// there are no such bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_share: Option<f64>,
}

/// True if more than a tenth of some bins are without instances, so many that a curve must not be read without being
/// told.
///
/// ```
/// assert!(!fe_core::effect::are_many_empty(2, 20) && fe_core::effect::are_many_empty(3, 20));
/// ```
#[must_use]
pub fn are_many_empty(empty: usize, bins: usize) -> bool {
    empty > bins / 10
}

impl BinningRecord {
    /// True if so many bins are without instances, more than a tenth, that the curve must not be read without
    /// being told.
    ///
    /// ```
    /// use fe_core::{Dataset, estimator::{Ale, Estimator}, model::FunctionModel};
    /// let data = Dataset::from_rows(&ndarray::array![[0.0], [0.1], [1.0]].view())?;
    /// let model = FunctionModel::new(1, |x| 3.0 * x[0]);
    /// let effect = &Ale::with_bins(4)?.estimate(&data, &model, 0)?[0];
    /// let binning = effect.record.binning.as_ref();
    /// assert!(binning.is_some_and(|binning| binning.are_many_empty() && binning.empty_share == Some(0.5)));
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    #[must_use]
    pub fn are_many_empty(&self) -> bool {
        are_many_empty(self.empty, self.bins)
    }

    /// The caution beside such a curve; none where few bins are without instances.
    #[must_use]
    pub fn caution(&self) -> Option<String> {
        let carried = |share: f64| {
            format!(", which carry {:.0} % of the curve's rises and falls", 100.0 * share)
        };
        self.are_many_empty().then(|| {
            format!(
                "{} of {} bins are without instances{}",
                self.empty,
                self.bins,
                self.empty_share.map(carried).unwrap_or_default()
            )
        })
    }
}
