//! Confidence bands for effects: how far a curve, or a surface, may lie from the one that endless data would give.
//!
//! May import `effect` and what lies below. Begin with [`Resampling`]; what knows a single estimator stands beside that.
//!
//! The instances are a sample, so the effect estimated from them is one too. A band says how far off it
//! may be *of the effect of this model*, at a confidence level: [`pointwise`](crate::effect::ConfidenceBand::pointwise)
//! at each place by itself, [`simultaneous`](crate::effect::ConfidenceBand::simultaneous) at all places at once. It
//! does not know how far the model is from the truth. Bands from resamples do not know the bias of bins that are too
//! wide either; analytic ones are centred on a curve without it where the estimator has one ([`Debiased`]).
//!
//! Every estimator that has bands says how its curve depends on the rows ([`Resampling`]): as an
//! [`Uncertainty`] for analytic bands, and under other weights of the rows for the bootstrap.

mod band;
mod bootstrap;
mod means;
mod per_bin;
mod refit;
mod request;
mod uncertainty;
mod values;

pub(crate) use means::{InstanceValues, MeanSample};
pub(crate) use refit::OverRefits;
pub(crate) use request::BandRequest;
pub use uncertainty::Uncertainty;
pub(crate) use uncertainty::degrees_of_sum;

use crate::error::Result;

/// Most entries of the matrix from which a band is computed: 160 MB.
pub(crate) const MOST_HELD: usize = 20_000_000;

/// The purpose of a sample: places of the band, and use of the rows.
pub struct Purpose<'a> {
    /// The places of the band, increasing.
    pub x: &'a [f64],
    /// True if the rows will be resampled.
    pub resampled: bool,
    /// True if bins are to be chosen anew each time.
    pub rebin: bool,
}

/// A curve that can be computed again with other weights of the rows; what the model said is held.
pub trait Resampling: Sync {
    /// The curve with other weights, centred as it was, and if they are wanted its variances.
    ///
    /// # Errors
    /// Weights with which there is no effect.
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate>;

    /// The covariance of the curve that the data give.
    ///
    /// # Errors
    /// Data that do not tell.
    fn uncertainty(&self) -> Result<Uncertainty>;

    /// The curve with less bias than that of the effect, and its covariance, for analytic bands; none where the
    /// curve of the effect is the best there is.
    ///
    /// # Errors
    /// Data that do not tell; a model that fails.
    fn debiased(&self) -> Result<Option<Debiased>> {
        Ok(None)
    }

    /// True if every instance says the same of its place, up to an error of this size: limits of a band are
    /// then apart only by the estimator's own doing, such as a spline that is not quite the curve. Only where
    /// that is known.
    fn is_certain(&self, rounding: f64) -> bool {
        let _ = rounding;
        false
    }
}

/// A curve with less bias than that of an effect, at the places of a band.
#[derive(Debug, Clone, PartialEq)]
pub struct Debiased {
    /// The curve, in units of the output, centred as the effect is.
    pub curve: Vec<f64>,
    /// Its covariance.
    pub uncertainty: Uncertainty,
    /// Number of cells that it is made of.
    pub cells: usize,
}

/// The curve of a resample at the places of a band.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicate {
    /// The curve, in units of the output.
    pub curve: Vec<f64>,
    /// Its variance, where it was wanted.
    pub variances: Option<Vec<f64>>,
}
