//! The options of all estimators, as they are written in files and flags.

use serde::{Deserialize, Serialize};

use crate::axis::AxisChoice;
use crate::centring::{CenterRule, Centring};
use crate::confidence::{BandKind, Interval};
use crate::error::{Error, Result};
use crate::partition::Closed;
use crate::quantiles::QuantileRule;
use crate::spline::Smoothing;

/// What to do with a bin that no instance is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyBins {
    /// Its slope (of an M-plot: its level) is interpolated between the centres of the nearest bins that
    /// are not empty; at the ends it is the nearest bin's.
    #[default]
    Interpolate,
    /// The same is interpolated over the numbers of the bins, however wide they are.
    InterpolateIndex,
    /// Its effect is 0 (Heiß et al. 2026).
    Zero,
    /// It is joined to the bin on its right, at the right end to the one on its left.
    Merge,
    /// It is an error.
    Error,
}

/// What lies between the limits of an accumulated effect, or between the centres of the bins of an
/// M-plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// Straight lines.
    #[default]
    Linear,
    /// A step that already contains the whole current bin: RHALE eq. 3, 9 and 15 read literally. For
    /// an M-plot the mean of the bin, which is its default.
    Step,
}

/// Where derivatives come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jacobian {
    /// The model's own where it has one, finite differences otherwise.
    #[default]
    Auto,
    /// The model's own.
    Model,
    /// Central finite differences.
    Numeric,
}

/// How a regional effect divides the data into regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Splitting {
    /// One rule per level, applied to all regions of that level (EFFECTOR Algorithm 1).
    #[default]
    LevelWise,
    /// Each region by a rule of its own, as in a classification and regression tree.
    Cart,
}

/// The options that speak of bins; which of them are taken depends on the binning.
pub(crate) const BINNING_OPTIONS: [&str; 6] =
    ["bins", "limits", "min_points", "discount", "quantiles", "distinct"];

/// Options of estimators and binnings; an option that is not given takes the estimator's default.
///
/// ```
/// use fe_core::{Settings, estimator};
/// let settings = Settings { bins: Some(40), ..Settings::default() };
/// let rhale = estimator::from_settings("rhale", &settings).unwrap();
/// assert!(estimator::from_settings("pdp", &settings).is_err(), "pdp has no bins");
/// # drop(rhale);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How bins are chosen; see [`crate::binning::ALL`].
    pub binning: Option<String>,
    /// Number of bins, or of the cells that bins are made of.
    pub bins: Option<usize>,
    /// Limits of custom bins.
    pub limits: Option<Vec<f64>>,
    /// Least number of instances in an automatic bin; more than that for `quantile-min`.
    pub min_points: Option<f64>,
    /// Discount α of RHALE eq. 13.
    pub discount: Option<f64>,
    /// Which quantiles the binning `quantile` takes.
    pub quantiles: Option<QuantileRule>,
    /// Up to how many distinct values of the feature these take the place of quantiles, of a grid, or of the
    /// limits of equal bins.
    pub distinct: Option<usize>,
    /// Where the axis comes from.
    pub axis: Option<AxisChoice>,
    /// How the curve is centred.
    pub center: Option<Centring>,
    /// How a mean over the axis is taken: that of the centring `integral`, and that of ICE curves.
    pub center_rule: Option<CenterRule>,
    /// Number of points of a `center_rule` that is not exact.
    pub center_points: Option<usize>,
    /// What is subtracted from the number of instances in a variance.
    pub ddof: Option<u8>,
    /// What becomes of bins without instances.
    pub empty: Option<EmptyBins>,
    /// Whether the heterogeneity curve has undefined variances filled in from other bins.
    pub fill_variances: Option<bool>,
    /// Which end of a bin belongs to it.
    pub closed: Option<Closed>,
    /// What lies between bin limits.
    pub interpolation: Option<Interpolation>,
    /// Whether the curve continues constantly beyond its limits.
    pub extrapolate: Option<bool>,
    /// Whether the heterogeneity of `ale` is that of differences as they are, not of slopes.
    pub undivided: Option<bool>,
    /// Whether only the curve is wanted: the heterogeneity is left undefined, which saves time.
    pub curve_only: Option<bool>,
    /// Whether the heterogeneity is that of ICE curves as they are, and not of curves that are each centred by
    /// its own mean over the axis; by default for derivatives alone.
    pub raw_ice: Option<bool>,
    /// Whether the heterogeneity curve is that of the grid, linear between its points, also at further points.
    pub grid_heterogeneity: Option<bool>,
    /// Where derivatives come from.
    pub jacobian: Option<Jacobian>,
    /// Half the width of a central finite difference, as a share of the axis.
    pub step: Option<f64>,
    /// Number of grid points of effects that are computed on a grid.
    pub grid: Option<usize>,
    /// Further points at which a grid estimator computes its effect exactly.
    pub points: Option<Vec<f64>>,
    /// So many further points of the same kind, equidistant over the axis.
    pub even_points: Option<usize>,
    /// Least weight of the instances that an M-plot averages over at each point of its grid.
    pub nearest: Option<usize>,
    /// Number of background rows of Shapley values; all rows of the data if it is not given.
    pub background: Option<usize>,
    /// The background rows of Shapley values themselves, each a value per feature.
    pub background_rows: Option<Vec<Vec<f64>>>,
    /// Which background rows are drawn.
    pub background_seed: Option<u64>,
    /// Pairs of permutations, each with its reverse, that Shapley values are averaged over.
    pub permutations: Option<usize>,
    /// Which permutations are drawn.
    pub shapley_seed: Option<u64>,
    /// How the smoothing parameter of a spline is chosen.
    pub smoothing: Option<Smoothing>,
    /// Whether an effect holds the Shapley values that it is made of.
    pub shapley_values: Option<bool>,
    /// Number of rows that are drawn before anything else; all rows if it is not given.
    pub subsample: Option<usize>,
    /// Which rows are drawn.
    pub subsample_seed: Option<u64>,
    /// Whether the model is asked for its mean over the rows too.
    pub mean_prediction: Option<bool>,
    /// Whether an effect holds the importance of its feature; see [`crate::importance`].
    pub importance: Option<bool>,
    /// How a confidence band is computed; there is none if it is not given.
    pub band: Option<BandKind>,
    /// Probability with which a confidence band is to hold the true curve.
    pub level: Option<f64>,
    /// Number of resamples of a bootstrap.
    pub resamples: Option<usize>,
    /// Where the random numbers of a confidence band come from.
    pub band_seed: Option<u64>,
    /// Whether bins are chosen anew in every resample, and not held.
    pub rebin: Option<bool>,
    /// How limits are taken from the resamples.
    pub interval: Option<Interval>,
    /// Most levels of a tree of regions.
    pub depth: Option<usize>,
    /// Number of positions at which a numeric feature may be split.
    pub candidates: Option<usize>,
    /// Least relative drop of heterogeneity for which a split is kept.
    pub drop: Option<f64>,
    /// Least number of instances in a region.
    pub leaf: Option<f64>,
    /// How regions are split.
    pub partition: Option<Splitting>,
    /// Name of the heterogeneity value that regions are to lower.
    pub heterogeneity: Option<String>,
}

impl Settings {
    /// Names of the options that are given.
    #[must_use]
    pub fn given(&self) -> Vec<&'static str> {
        let options = [
            ("binning", self.binning.is_some()),
            ("bins", self.bins.is_some()),
            ("limits", self.limits.is_some()),
            ("min_points", self.min_points.is_some()),
            ("discount", self.discount.is_some()),
            ("quantiles", self.quantiles.is_some()),
            ("distinct", self.distinct.is_some()),
            ("axis", self.axis.is_some()),
            ("center", self.center.is_some()),
            ("center_rule", self.center_rule.is_some()),
            ("center_points", self.center_points.is_some()),
            ("ddof", self.ddof.is_some()),
            ("empty", self.empty.is_some()),
            ("fill_variances", self.fill_variances.is_some()),
            ("closed", self.closed.is_some()),
            ("interpolation", self.interpolation.is_some()),
            ("extrapolate", self.extrapolate.is_some()),
            ("undivided", self.undivided.is_some()),
            ("curve_only", self.curve_only.is_some()),
            ("raw_ice", self.raw_ice.is_some()),
            ("grid_heterogeneity", self.grid_heterogeneity.is_some()),
            ("jacobian", self.jacobian.is_some()),
            ("step", self.step.is_some()),
            ("grid", self.grid.is_some()),
            ("points", self.points.is_some()),
            ("even_points", self.even_points.is_some()),
            ("nearest", self.nearest.is_some()),
            ("background", self.background.is_some()),
            ("background_rows", self.background_rows.is_some()),
            ("background_seed", self.background_seed.is_some()),
            ("permutations", self.permutations.is_some()),
            ("shapley_seed", self.shapley_seed.is_some()),
            ("smoothing", self.smoothing.is_some()),
            ("shapley_values", self.shapley_values.is_some()),
            ("subsample", self.subsample.is_some()),
            ("subsample_seed", self.subsample_seed.is_some()),
            ("mean_prediction", self.mean_prediction.is_some()),
            ("importance", self.importance.is_some()),
            ("band", self.band.is_some()),
            ("level", self.level.is_some()),
            ("resamples", self.resamples.is_some()),
            ("band_seed", self.band_seed.is_some()),
            ("rebin", self.rebin.is_some()),
            ("interval", self.interval.is_some()),
            ("depth", self.depth.is_some()),
            ("candidates", self.candidates.is_some()),
            ("drop", self.drop.is_some()),
            ("leaf", self.leaf.is_some()),
            ("partition", self.partition.is_some()),
            ("heterogeneity", self.heterogeneity.is_some()),
        ];
        options.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect()
    }

    /// These options where they are given, and those of `other` where they are not.
    ///
    /// What only describes a choice of `other` that is made differently here falls away: the options of
    /// its binning, its background, and the points of its `center_rule`.
    ///
    /// ```
    /// use fe_core::Settings;
    /// let dp = Settings { binning: Some("dp".to_owned()), discount: Some(0.3), ..Settings::default() };
    /// let fixed = Settings { binning: Some("fixed".to_owned()), ..Settings::default() };
    /// assert_eq!(fixed.clone().or(&dp), fixed);
    /// assert_eq!(Settings { bins: Some(5), ..Settings::default() }.or(&dp).discount, Some(0.3));
    /// ```
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let other = other.without_what_describes_choices_of(&self);
        Self {
            binning: self.binning.or(other.binning),
            bins: self.bins.or(other.bins),
            limits: self.limits.or(other.limits),
            min_points: self.min_points.or(other.min_points),
            discount: self.discount.or(other.discount),
            quantiles: self.quantiles.or(other.quantiles),
            distinct: self.distinct.or(other.distinct),
            axis: self.axis.or(other.axis),
            center: self.center.or(other.center),
            center_rule: self.center_rule.or(other.center_rule),
            center_points: self.center_points.or(other.center_points),
            ddof: self.ddof.or(other.ddof),
            empty: self.empty.or(other.empty),
            fill_variances: self.fill_variances.or(other.fill_variances),
            closed: self.closed.or(other.closed),
            interpolation: self.interpolation.or(other.interpolation),
            extrapolate: self.extrapolate.or(other.extrapolate),
            undivided: self.undivided.or(other.undivided),
            curve_only: self.curve_only.or(other.curve_only),
            raw_ice: self.raw_ice.or(other.raw_ice),
            grid_heterogeneity: self.grid_heterogeneity.or(other.grid_heterogeneity),
            jacobian: self.jacobian.or(other.jacobian),
            step: self.step.or(other.step),
            grid: self.grid.or(other.grid),
            points: self.points.or(other.points),
            even_points: self.even_points.or(other.even_points),
            nearest: self.nearest.or(other.nearest),
            background: self.background.or(other.background),
            background_rows: self.background_rows.or(other.background_rows),
            background_seed: self.background_seed.or(other.background_seed),
            permutations: self.permutations.or(other.permutations),
            shapley_seed: self.shapley_seed.or(other.shapley_seed),
            smoothing: self.smoothing.or(other.smoothing),
            shapley_values: self.shapley_values.or(other.shapley_values),
            subsample: self.subsample.or(other.subsample),
            subsample_seed: self.subsample_seed.or(other.subsample_seed),
            mean_prediction: self.mean_prediction.or(other.mean_prediction),
            importance: self.importance.or(other.importance),
            band: self.band.or(other.band),
            level: self.level.or(other.level),
            resamples: self.resamples.or(other.resamples),
            band_seed: self.band_seed.or(other.band_seed),
            rebin: self.rebin.or(other.rebin),
            interval: self.interval.or(other.interval),
            depth: self.depth.or(other.depth),
            candidates: self.candidates.or(other.candidates),
            drop: self.drop.or(other.drop),
            leaf: self.leaf.or(other.leaf),
            partition: self.partition.or(other.partition),
            heterogeneity: self.heterogeneity.or(other.heterogeneity),
        }
    }

    fn without_what_describes_choices_of(&self, chosen: &Self) -> Self {
        let mut rest = self.clone();
        let differ =
            |a: Option<&str>, b: Option<&str>| matches!((a, b), (Some(a), Some(b)) if a != b);
        if differ(chosen.binning.as_deref(), self.binning.as_deref()) {
            rest = Self {
                bins: None,
                limits: None,
                min_points: None,
                discount: None,
                quantiles: None,
                distinct: None,
                ..rest
            };
        }
        if chosen.background_rows.is_some() {
            (rest.background, rest.background_seed) = (None, None);
        }
        if chosen.background.is_some() {
            rest.background_rows = None;
        }
        if chosen.center_rule.is_some() && chosen.center_rule != self.center_rule {
            rest.center_points = None;
        }
        rest
    }

    /// Refuses options that are given and not taken.
    pub(crate) fn check_taken(&self, by: &str, taken: impl Fn(&str) -> bool) -> Result<()> {
        match self.given().into_iter().find(|option| !taken(option)) {
            None => Ok(()),
            Some(option) => Err(Error::Incompatible(format!("{by} takes no option `{option}`"))),
        }
    }

    pub(crate) fn ddof_or(&self, default: u8) -> Result<f64> {
        let ddof = self.ddof.unwrap_or(default);
        if ddof <= 1 {
            return Ok(f64::from(ddof));
        }
        Err(Error::BadOption {
            option: "ddof",
            given: ddof.to_string(),
            allowed: "must be 0 or 1".to_owned(),
        })
    }
}
