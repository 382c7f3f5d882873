//! Sums over a part of the rows, of which the effects of all of them can be made.

use serde::{Deserialize, Serialize};

use crate::effect::PositionSums;
use crate::error::Error;
use crate::model::Observed;
use crate::numeric::moments::{Moments, merge_all};
use crate::numeric::partition::Partition;

/// Questions that a model was asked for an effect.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) model_rows: u64,
    pub(crate) jacobian_rows: u64,
    /// Source of derivatives, where there are any.
    pub(crate) derivatives: Option<String>,
}

impl Asked {
    pub(crate) fn of(model: &Observed<'_>, derivatives: Option<String>) -> Self {
        let (model_rows, jacobian_rows) = (model.model_rows(), model.partial_rows());
        Self { model_rows, jacobian_rows, derivatives }
    }
}

/// Sums over a part of the rows: moments in bins or at the points of a grid, for each output of the model, and of the
/// positions. Those of several parts merge to those of all their rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PartSums {
    /// Number of rows.
    pub(super) rows: usize,
    /// The bins, or cells that bins are made of; none on a grid.
    pub(super) partition: Option<Partition>,
    /// Moments in each bin or at each point, for each output.
    pub(super) moments: Vec<Vec<Moments>>,
    /// The same of curves less their means over the axis, on a grid; empty in bins.
    pub(super) centred: Vec<Vec<Moments>>,
    /// Moments of the predictions, for each output of an M-plot.
    pub(super) predictions: Vec<Moments>,
    pub(super) positions: PositionSums,
    pub(super) asked: Asked,
}

impl PartSums {
    /// The sums over these rows and those that come after them.
    pub(super) fn merge(&mut self, further: &Self) {
        let merge = |own: &mut Vec<Vec<Moments>>, further: &[Vec<Moments>]| {
            own.iter_mut().zip(further).for_each(|(own, further)| merge_all(own, further));
        };
        self.rows += further.rows;
        merge(&mut self.moments, &further.moments);
        merge(&mut self.centred, &further.centred);
        merge_all(&mut self.predictions, &further.predictions);
        self.positions.merge(&further.positions);
        self.asked.model_rows += further.asked.model_rows;
        self.asked.jacobian_rows += further.asked.jacobian_rows;
    }

    /// Sums of the same form over no rows.
    pub(super) fn none_like(&self) -> Self {
        let none = |moments: &[Vec<Moments>]| {
            moments.iter().map(|of| vec![Moments::default(); of.len()]).collect()
        };
        Self {
            rows: 0,
            partition: self.partition.clone(),
            moments: none(&self.moments),
            centred: none(&self.centred),
            predictions: vec![Moments::default(); self.predictions.len()],
            positions: PositionSums::default(),
            asked: Asked { derivatives: self.asked.derivatives.clone(), ..Asked::default() },
        }
    }

    /// True if both are of the same bins or points of as many outputs.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let of_points = |sums: &Self| sums.moments.iter().map(Vec::len).collect::<Vec<_>>();
        self.partition == other.partition
            && of_points(self) == of_points(other)
            && self.asked.derivatives == other.asked.derivatives
    }

    /// True if all sums are numbers.
    pub(super) fn are_finite(&self) -> bool {
        let of_bins = self.moments.iter().chain(&self.centred).flatten();
        let mut all = of_bins.chain(&self.predictions);
        all.all(|of| of.weight.is_finite() && of.mean.is_finite() && of.squares.is_finite())
    }
}

/// The refusal of an estimate in parts.
pub(super) fn not_in_parts(estimator: &str, reason: &str) -> Error {
    Error::Incompatible(format!("`{estimator}` cannot be estimated in parts: {reason}"))
}

/// The reason against bins that only all rows together tell.
pub(super) const BINS_OF_ALL: &str = "its bins depend on all positions; give `limits` with the binning `grid`, or \
                                      equally wide bins on an `axis` (`fixed`; of `rhale` also `dp`, `greedy`, \
                                      `agglomerative`)";
