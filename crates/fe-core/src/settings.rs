//! The options of all estimators, as they are written in files and flags.

use serde::{Deserialize, Serialize};

use crate::axis::AxisChoice;
use crate::centring::Centring;
use crate::error::{Error, Result};
use crate::partition::Closed;

/// What to do with a bin that no instance is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyBins {
    /// Its slope is interpolated between the centres of the nearest bins that are not empty; at the
    /// ends it is the nearest bin's.
    #[default]
    Interpolate,
    /// Its effect is 0 (Heiß et al. 2026).
    Zero,
    /// It is joined to the bin on its right, at the right end to the one on its left.
    Merge,
    /// It is an error.
    Error,
}

/// What lies between the limits of an accumulated effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// Straight lines.
    #[default]
    Linear,
    /// A step that already contains the whole current bin: RHALE eq. 3, 9 and 15 read literally.
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
pub(crate) const BINNING_OPTIONS: [&str; 4] = ["bins", "limits", "min_points", "discount"];

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
    /// Least number of instances in an automatic bin.
    pub min_points: Option<f64>,
    /// Discount α of RHALE eq. 13.
    pub discount: Option<f64>,
    /// Where the axis comes from.
    pub axis: Option<AxisChoice>,
    /// How the curve is centred.
    pub center: Option<Centring>,
    /// What is subtracted from the number of instances in a variance.
    pub ddof: Option<u8>,
    /// What becomes of bins without instances.
    pub empty: Option<EmptyBins>,
    /// Which end of a bin belongs to it.
    pub closed: Option<Closed>,
    /// What lies between bin limits.
    pub interpolation: Option<Interpolation>,
    /// Whether the curve continues constantly beyond its limits.
    pub extrapolate: Option<bool>,
    /// Whether the heterogeneity of `ale` is that of differences as they are, not of slopes.
    pub undivided: Option<bool>,
    /// Where derivatives come from.
    pub jacobian: Option<Jacobian>,
    /// Half the width of a central finite difference, as a share of the axis.
    pub step: Option<f64>,
    /// Number of grid points of effects that are computed on a grid.
    pub grid: Option<usize>,
    /// Further points at which a grid estimator computes its effect exactly.
    pub points: Option<Vec<f64>>,
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
            ("axis", self.axis.is_some()),
            ("center", self.center.is_some()),
            ("ddof", self.ddof.is_some()),
            ("empty", self.empty.is_some()),
            ("closed", self.closed.is_some()),
            ("interpolation", self.interpolation.is_some()),
            ("extrapolate", self.extrapolate.is_some()),
            ("undivided", self.undivided.is_some()),
            ("jacobian", self.jacobian.is_some()),
            ("step", self.step.is_some()),
            ("grid", self.grid.is_some()),
            ("points", self.points.is_some()),
            ("depth", self.depth.is_some()),
            ("candidates", self.candidates.is_some()),
            ("drop", self.drop.is_some()),
            ("leaf", self.leaf.is_some()),
            ("partition", self.partition.is_some()),
            ("heterogeneity", self.heterogeneity.is_some()),
        ];
        options.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect()
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
