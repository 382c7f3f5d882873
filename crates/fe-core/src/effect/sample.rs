//! The rows that an effect is estimated from: one by one, or summed up.

use super::instances::{Instances, Places, PositionSums};
use crate::data::Dataset;
use crate::numeric::axis::Axis;
use crate::numeric::moments::Moments;

/// A feature in the rows that an effect is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// Counted from 0.
    pub(crate) feature: usize,
    pub(crate) name: &'a str,
    known: Known<'a>,
}

/// All that is known of some rows.
#[derive(Debug, Clone, Copy)]
enum Known<'a> {
    Rows(&'a Dataset),
    Sums(&'a PositionSums),
}

impl<'a> From<(&'a Dataset, usize)> for Sample<'a> {
    fn from((data, feature): (&'a Dataset, usize)) -> Self {
        Self { feature, name: &data.names()[feature], known: Known::Rows(data) }
    }
}

impl<'a> Sample<'a> {
    /// Rows of which the sums are known.
    pub(crate) fn summed((feature, name): (usize, &'a str), sums: &'a PositionSums) -> Self {
        Self { feature, name, known: Known::Sums(sums) }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self.known {
            Known::Rows(data) => data.len(),
            Known::Sums(sums) => sums.rows,
        }
    }

    /// Rows with positive weight on the axis, and off it.
    pub(crate) fn count_rows(&self, axis: &Axis) -> (usize, usize) {
        match self.known {
            Known::Rows(data) => data.count_rows(self.feature, axis),
            Known::Sums(sums) => (sums.on, sums.outside),
        }
    }

    /// Moments of all positions.
    pub(crate) fn moments(&self) -> Moments {
        match self.known {
            Known::Rows(data) => data.summary(self.feature).moments,
            Known::Sums(sums) => sums.all,
        }
    }

    /// The positions, for curves with bins of these weights or without.
    pub(crate) fn places(&self, counts: Option<&'a [f64]>) -> Places<'a> {
        match self.known {
            Known::Rows(data) => Places::Each(Instances {
                positions: data.feature(self.feature),
                weights: data.weights(),
                counts,
            }),
            Known::Sums(sums) => Places::Sums(sums, counts),
        }
    }

    /// The same where each is looked at; none where only sums are known.
    pub(crate) fn instances(&self, counts: Option<&'a [f64]>) -> Option<Instances<'a>> {
        match self.places(counts) {
            Places::Each(instances) => Some(instances),
            Places::Sums(..) => None,
        }
    }
}
