//! The effect of two features: a value for each pair of points, and what was done.

use serde::{Deserialize, Serialize};

use super::{LevelRecord, SurfaceBand};
use crate::data::SubsampleRecord;
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::partition::Closed;
use crate::settings::{Centring, EmptyBins};
use crate::stored::Name;

/// The estimated effect of a pair of features on one output.
///
/// Between the points of two numbers it is bilinear; a feature with levels has values at these and none between.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Surface {
    /// The two features, counted from 0.
    pub features: [usize; 2],
    /// Their names.
    pub names: [String; 2],
    /// The output, counted from 0.
    pub output: usize,
    /// Name of the estimator.
    #[serde(deserialize_with = "crate::stored::name")]
    pub estimator: Name,
    /// The points of each feature, ascending: a grid, the limits of bins, or levels.
    pub x: [Vec<f64>; 2],
    /// The centred effect in units of the output, the first feature's points outside: value `i * n2 + k` belongs
    /// to the i-th point of the first and the k-th of the n2 points of the second feature.
    pub values: Vec<f64>,
    /// Weight of the instances in each cell between neighbouring points (of a feature with levels: at each level), in
    /// the same order; their number where none are weighted.
    pub counts: Vec<f64>,
    /// A confidence band for the values, where the option `band` asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<SurfaceBand>,
    /// Record of the computation.
    pub record: SurfaceRecord,
}

/// Record of the computation of the effect of a pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SurfaceRecord {
    /// Rows of the data, or of the subsample of them.
    pub rows: usize,
    /// The subsample of the data that was drawn before anything else.
    pub subsample: Option<SubsampleRecord>,
    /// Rows with positive weight of which a feature lies outside its axis.
    pub rows_outside: usize,
    /// Rows whose value the model was asked for.
    pub model_rows: u64,
    /// True if the structure of the model told values that it was not asked for one by one; none if it has no
    /// such structure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_structure: Option<bool>,
    /// Centring of the values.
    pub centring: Centring,
    /// Constant subtracted from the values as they came.
    pub centring_constant: f64,
    /// True if the effects of either feature alone are taken away.
    pub interaction: bool,
    /// Records of each feature.
    pub sides: [SideRecord; 2],
    /// Cells of accumulated differences, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellRecord>,
}

/// Record of one of two features.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SideRecord {
    /// From the first to the last point.
    pub axis: Axis,
    /// The way in which bins were chosen, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binning: Option<String>,
    /// Its levels, where it has such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelRecord>,
}

/// Record of the cells whose mixed differences are accumulated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Number of cells.
    pub cells: usize,
    /// Number of those without instances.
    pub empty: usize,
    /// Policy for these.
    pub empty_policy: EmptyBins,
    /// At which end bins are closed.
    pub closed: Closed,
}

impl CellRecord {
    /// The caution beside a surface of which so many cells are without instances, more than a tenth, that it must
    /// not be read without being told; none where they are few.
    ///
    /// ```
    /// use fe_core::effect::CellRecord;
    /// use fe_core::settings::EmptyBins;
    /// let cells = CellRecord { cells: 16, empty: 6, empty_policy: EmptyBins::Nearest, closed: Default::default() };
    /// assert_eq!(cells.caution().unwrap(), "6 of 16 cells are without instances");
    /// assert!(CellRecord { empty: 1, ..cells }.caution().is_none());
    /// ```
    #[must_use]
    pub fn caution(&self) -> Option<String> {
        let many = super::are_many_empty(self.empty, self.cells);
        many.then(|| format!("{} of {} cells are without instances", self.empty, self.cells))
    }
}

impl Surface {
    /// The effect at a pair of places.
    ///
    /// # Errors
    /// [`Error::OutsideLimits`], and [`Error::NotALevel`] between levels.
    pub fn at(&self, place: [f64; 2]) -> Result<f64> {
        self.read(&self.values, place)
    }

    /// The effect at all pairs of places of two lists, the first feature's outside.
    ///
    /// # Errors
    /// As [`Surface::at`].
    pub fn at_all(&self, places: [&[f64]; 2]) -> Result<Vec<f64>> {
        self.read_all(&self.values, places)
    }

    /// Values at its points, such as a limit of its band, read at all pairs of places of two lists as the effect is: the
    /// first feature's outside.
    ///
    /// # Errors
    /// As [`Surface::at`]; [`Error::WrongCount`] unless there is a value for each pair of points.
    pub fn read_all(&self, values: &[f64], places: [&[f64]; 2]) -> Result<Vec<f64>> {
        if values.len() != self.values.len() {
            return Err(Error::WrongCount {
                what: "values at the points",
                expected: self.values.len(),
                got: values.len(),
            });
        }
        let pairs = places[0].iter().flat_map(|&x| places[1].iter().map(move |&y| [x, y]));
        pairs.map(|pair| self.read(values, pair)).collect()
    }

    fn read(&self, values: &[f64], place: [f64; 2]) -> Result<f64> {
        let [(i, u), (k, v)] = [self.share(0, place[0])?, self.share(1, place[1])?];
        let columns = self.x[1].len();
        let value = |i: usize, k: usize| values[i * columns + k];
        // At a point nothing is read beside it.
        let along = |i: usize| {
            if v > 0.0 { (1.0 - v) * value(i, k) + v * value(i, k + 1) } else { value(i, k) }
        };
        Ok(if u > 0.0 { (1.0 - u) * along(i) + u * along(i + 1) } else { along(i) })
    }

    /// The point of a feature at a place or below it, and how far the place is towards the next one, from 0 to 1.
    fn share(&self, side: usize, x: f64) -> Result<(usize, f64)> {
        let points = &self.x[side];
        if let Some(levels) = &self.record.sides[side].levels {
            let found = points.iter().position(|&level| level == x);
            let named = || Error::NotALevel { x, levels: levels.names.join(", ") };
            return Ok((found.ok_or_else(named)?, 0.0));
        }
        let (lo, hi) = (points[0], points[points.len() - 1]);
        if !(lo <= x && x <= hi) {
            return Err(Error::OutsideLimits { x, lo, hi });
        }
        let below = points.partition_point(|&point| point <= x) - 1;
        if points[below] == x {
            return Ok((below, 0.0));
        }
        Ok((below, (x - points[below]) / (points[below + 1] - points[below])))
    }

    /// The surface, if its values are numbers.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(crate) fn representable(self) -> Result<Self> {
        if self.values.iter().all(|value| value.is_finite()) {
            return Ok(self);
        }
        let name = self.names.join(" and ");
        Err(Error::Overflow { what: "values of the effect", name })
    }
}
