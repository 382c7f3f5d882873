//! Effects of single instances, beside the effect that summarises them.

use serde::Serialize;

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
