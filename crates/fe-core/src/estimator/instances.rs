//! Effects of single instances, beside the effect that summarises them.

use serde::Serialize;

use crate::confidence::Resampling;
use crate::data::Dataset;
use crate::effect::{Effect, Surface};
use crate::error::Result;
use crate::model::{Model, Observed};

/// An effect, and the data and the model that it was estimated from.
pub struct Estimated<'a, M: ?Sized = dyn Model + 'a, E = Effect> {
    /// The data.
    pub data: &'a Dataset,
    /// The model.
    pub model: &'a M,
    /// The effect that an estimator made of them.
    pub effect: &'a E,
}

/// The same with a model whose rows are counted.
pub type Observation<'a> = Estimated<'a, Observed<'a>>;

/// The same of an effect of two features.
pub type PairObservation<'a> = Estimated<'a, Observed<'a>, Surface>;

/// The curve of an effect under other weights of the rows, or the reason why there is none.
pub type Resampled<'a> = Result<Box<dyn Resampling + 'a>>;

impl<M: ?Sized, E> Clone for Estimated<'_, M, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: ?Sized, E> Copy for Estimated<'_, M, E> {}

/// Effects of some instances on the output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstanceEffects {
    /// Nothing is known of single instances.
    Unknown,
    /// A slope per instance at its own position (`ale`, `dale`, `rhale`): the local effects whose
    /// means are the bin effects. NaN where a row does not count.
    Slopes(Vec<f64>),
    /// A contribution per instance at its own position, in units of the output (`shapdp`). NaN where
    /// a row does not count.
    Contributions(Vec<f64>),
    /// A curve per instance (`pdp`, `dpdp`): c-ICE, or ICE where the effect is not centred.
    Curves {
        /// The points of all curves, increasing.
        x: Vec<f64>,
        /// For each instance a value per point.
        y: Vec<Vec<f64>>,
    },
}
