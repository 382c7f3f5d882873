//! Words that options may have.

use serde::{Deserialize, Serialize};
use strum::{Display, VariantNames};

/// Policies for a bin that no instance is in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames, Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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
    /// Of two features: a cell without instances has the mixed difference of the nearest one that has some.
    Nearest,
    /// It is an error.
    Error,
}

/// Interpolation between the limits of an accumulated effect, or between the centres of the bins of an
/// M-plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Interpolation {
    /// Straight lines.
    #[default]
    Linear,
    /// A step that already contains the whole current bin: RHALE eq. 3, 9 and 15 read literally. For
    /// an M-plot the mean of the bin, which is its default.
    Step,
}

/// The source of derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Jacobian {
    /// The model's own where it has one, finite differences otherwise.
    #[default]
    Auto,
    /// The model's own.
    Model,
    /// Central finite differences.
    Numeric,
}

/// Ways to divide the data into regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Splitting {
    /// One rule per level, applied to all regions of that level (EFFECTOR Algorithm 1).
    #[default]
    LevelWise,
    /// Each region by a rule of its own, as in a classification and regression tree.
    Cart,
}

/// Orders of the levels of a nominal feature along which `ale` accumulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum LevelOrder {
    /// As they are given, else by their values.
    #[default]
    Given,
    /// By their names.
    Name,
    /// The most frequent first; ties as given.
    Frequency,
    /// By the mean prediction at each, ascending; ties as given.
    Response,
    /// By how alike the other features are there, scaled to one dimension (Apley and Zhu 2020).
    Similarity,
}

/// The quantity that is zero after centring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Centring {
    /// Nothing: the curve as it is.
    None,
    /// The value at the start of the axis.
    Start,
    /// The mean over the axis (METHODS, EFFECTOR).
    #[default]
    Integral,
    /// The mean over the instances of the curve at their positions (Apley and Zhu 2020).
    Data,
    /// Σ n_k (a_{k-1} + a_k) / 2N over the bins (the packages ALEPlot, PyALE and alibi).
    Bins,
}

/// Rules for the mean of a curve over the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CenterRule {
    /// Integral over length.
    #[default]
    Exact,
    /// Plain mean over equidistant points, both ends among them.
    Points,
    /// Plain mean over the middles between neighbours among equidistant points.
    Midpoints,
}

/// Methods of confidence bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum BandKind {
    /// From the variance of the curve, with all that the curve adds up and its centring.
    Analytic,
    /// From resamples of the rows.
    Bootstrap,
    /// From the standard error of each bin alone, as PyALE draws it: for comparison, since nothing is
    /// accumulated.
    Bins,
    /// From refits of the learner to resamples of the rows: a band of the effect that the learner is to be
    /// expected to have.
    Refit,
}

/// Factors by which the variance over refits becomes that of their mean, beside the 1/m of m independent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Correction {
    /// The factor n_train / n_test of the jackknife that leaves out a share of the rows (Shao and Wu 1989), and 1 for rows
    /// drawn with replacement (Efron 1979): right for what the rows of the fit contribute.
    #[default]
    Jackknife,
    /// The factor n_test / n_train of errors of prediction (Nadeau and Bengio 2003): right for what the rows left out
    /// contribute.
    NadeauBengio,
}

/// Rules for limits from the curves of resamples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Interval {
    /// Quantiles of the curves (Efron 1979).
    #[default]
    Percentile,
    /// Quantiles of (curve of the resample − curve) / its standard error there (bootstrap-t, Efron 1981).
    Studentised,
}
