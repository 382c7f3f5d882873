//! The stretch of a feature on which an effect is estimated.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A closed interval of positive, finite length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Ends")]
pub struct Axis {
    lo: f64,
    hi: f64,
}

/// An axis as it is written.
#[derive(Deserialize)]
struct Ends {
    lo: f64,
    hi: f64,
}

impl TryFrom<Ends> for Axis {
    type Error = Error;

    fn try_from(ends: Ends) -> Result<Self> {
        Self::new(ends.lo, ends.hi)
    }
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

    /// True if `x` lies within, ends included.
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
        let mut limits = Vec::with_capacity(parts.min(1024) + 1);
        limits.push(self.lo);
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
