//! The stretch of a feature on which an effect is estimated.

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// A closed interval of positive, finite length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Axis {
    lo: f64,
    hi: f64,
}

impl Axis {
    /// The interval from `lo` to `hi`.
    ///
    /// # Errors
    /// [`Error::BadAxis`] unless both are finite, `lo < hi`, and their distance is finite.
    pub fn new(lo: f64, hi: f64) -> Result<Self> {
        if lo < hi && (hi - lo).is_finite() {
            Ok(Self { lo, hi })
        } else {
            Err(Error::BadAxis { lo, hi })
        }
    }

    /// Lower end, z_0.
    #[must_use]
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// Upper end, z_K.
    #[must_use]
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// Length of the interval.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.hi - self.lo
    }

    /// Whether `x` lies within, ends included.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        (self.lo..=self.hi).contains(&x)
    }

    /// `lo + (hi − lo)·i/parts` for i = 0 … `parts`, values that rounding makes equal left out.
    ///
    /// ```
    /// let axis = fe_core::Axis::new(0.0, 1.0).unwrap();
    /// assert_eq!(axis.divide(4), [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// ```
    #[must_use]
    pub fn divide(&self, parts: usize) -> Vec<f64> {
        let mut limits = vec![self.lo];
        for i in 1..parts {
            let limit = self.lo + self.width() * i as f64 / parts as f64;
            if limit > limits[limits.len() - 1] && limit < self.hi {
                limits.push(limit);
            }
        }
        limits.push(self.hi);
        limits
    }

    /// `points` equidistant points, both ends among them; the middle if only one is asked for.
    #[must_use]
    pub fn grid(&self, points: usize) -> Vec<f64> {
        match points {
            0 => Vec::new(),
            1 => vec![self.lo + self.width() / 2.0],
            _ => self.divide(points - 1),
        }
    }
}

/// Where the axis of an estimate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisChoice {
    /// Smallest and largest value among the rows with positive weight.
    #[default]
    Data,
    /// A given interval.
    Given(f64, f64),
}

impl AxisChoice {
    /// The axis for a feature of some data.
    ///
    /// # Errors
    /// [`Error::ConstantFeature`], [`Error::BadAxis`].
    pub fn resolve(self, data: &Dataset, feature: usize) -> Result<Axis> {
        let (lo, hi) = match self {
            AxisChoice::Given(lo, hi) => return Axis::new(lo, hi),
            AxisChoice::Data => range(data, feature),
        };
        if lo < hi {
            Axis::new(lo, hi)
        } else {
            Err(Error::ConstantFeature { name: data.names()[feature].clone(), value: lo })
        }
    }
}

fn range(data: &Dataset, feature: usize) -> (f64, f64) {
    let counts = |row: usize| data.weights().is_none_or(|w| w[row] > 0.0);
    let values = data.feature(feature).iter().enumerate().filter(|(row, _)| counts(*row));
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, &x)| (lo.min(x), hi.max(x)))
}
