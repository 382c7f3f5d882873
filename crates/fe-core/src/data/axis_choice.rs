//! The axis of an estimate, from the data or from the user.

use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::quantiles::{QuantileRule, SortedSample};

/// The choice of the axis of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisChoice {
    /// Smallest and largest value among the rows with positive weight.
    #[default]
    Data,
    /// A given interval.
    Given(f64, f64),
    /// Between two quantiles of the feature.
    Quantiles {
        /// Probability of the lower one, from 0 to 1.
        from: f64,
        /// Probability of the upper one, from 0 to 1.
        to: f64,
        /// The rule of the quantiles.
        rule: QuantileRule,
    },
}

impl AxisChoice {
    /// The axis for a feature of some data.
    ///
    /// # Errors
    /// [`Error::ConstantFeature`], [`Error::BadAxis`], [`Error::BadOption`] for quantiles that are
    /// not increasing from 0 to 1.
    pub fn resolve(self, data: &Dataset, feature: usize) -> Result<Axis> {
        let (lo, hi) = match self {
            AxisChoice::Given(lo, hi) => return Axis::new(lo, hi),
            AxisChoice::Data => (data.summary(feature).lo, data.summary(feature).hi),
            AxisChoice::Quantiles { from, to, rule } => {
                check_probabilities(from, to)?;
                let sample = SortedSample::new(data.weighted(feature));
                (sample.quantile_by(rule, from), sample.quantile_by(rule, to))
            }
        };
        if lo < hi {
            Axis::new(lo, hi)
        } else {
            Err(Error::ConstantFeature { name: data.names()[feature].clone(), value: lo })
        }
    }
}

fn check_probabilities(from: f64, to: f64) -> Result<()> {
    if 0.0 <= from && from < to && to <= 1.0 {
        return Ok(());
    }
    Err(Error::BadOption {
        option: "axis",
        given: format!("quantiles {from} to {to}"),
        allowed: "must increase from 0 to 1".to_owned(),
    })
}
