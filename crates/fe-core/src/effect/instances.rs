//! The mean of a curve over the instances on it.

use std::convert::Infallible;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::numeric::axis::Axis;
use crate::numeric::blocks::fold_stretches;
use crate::numeric::curve::{Curve, Shape};
use crate::numeric::moments::Moments;
use crate::numeric::order_statistics::places_where;
use crate::numeric::partition::{Closed, Partition};
use crate::numeric::sums::moments_in_bins;

/// Positions of the instances: what the centrings `data` and `bins` average over.
#[derive(Debug, Clone, Copy)]
pub struct Instances<'a> {
    /// The feature's values.
    pub positions: &'a [f64],
    /// Their weights, if they differ.
    pub weights: Option<&'a [f64]>,
    /// Weight in each bin, for curves that have bins.
    pub counts: Option<&'a [f64]>,
}

/// Positions whose moments are found together.
const BLOCK: usize = 4096;

/// The mean of a curve over the instances within its range; none if there are none.
pub(crate) fn mean_at_instances<'a>(curve: &Curve, at: impl Into<Places<'a>>) -> Option<f64> {
    let at = at.into();
    match (curve.shape(), at.counts()) {
        (Shape::Step(_), Some(counts)) => {
            let total: f64 = counts.iter().sum();
            let sum: f64 = counts.iter().zip(curve.y()).map(|(n, y)| n * y).sum();
            (total > 0.0).then(|| sum / total)
        }
        (Shape::Levels, _) => match at {
            Places::Each(instances) => instances.mean_at_levels(curve),
            Places::Sums(..) => None,
        },
        _ => {
            let (mut total, mut sum) = (0.0, 0.0);
            for (k, positions) in at.on_stretches(curve).iter().enumerate() {
                // Of a line the mean is its value at the mean position; where nothing is it may be missing.
                if !positions.is_empty() {
                    total += positions.weight;
                    sum += positions.weight * curve.on_stretch(k, positions.mean);
                }
            }
            (total > 0.0).then(|| sum / total)
        }
    }
}

impl Instances<'_> {
    /// The mean of a curve at levels over the positions that are levels of it.
    fn mean_at_levels(self, curve: &Curve) -> Option<f64> {
        let weight = |row: usize| self.weights.map_or(1.0, |weights| weights[row]);
        let mut counts = vec![0.0; curve.x().len()];
        for (row, x) in self.positions.iter().enumerate() {
            if let Some(level) = curve.x().iter().position(|level| level == x) {
                counts[level] += weight(row);
            }
        }
        let total: f64 = counts.iter().sum();
        let occurring = counts.iter().zip(curve.y()).filter(|(count, _)| **count > 0.0);
        let sum: f64 = occurring.map(|(count, y)| count * y).sum();
        (total > 0.0).then(|| sum / total)
    }

    /// The moments of the positions on each stretch between two knots of a curve.
    fn on_stretches(self, curve: &Curve) -> Vec<Moments> {
        let closed = match curve.shape() {
            Shape::Linear | Shape::Levels => Closed::Left,
            Shape::Step(closed) => closed,
        };
        match Partition::new(curve.x().to_vec(), closed) {
            Ok(bins) => moments_in_bins(&bins, self.positions, self.positions, self.weights),
            Err(_) => vec![self.on_knot(curve.x()[0])],
        }
    }

    /// The moments of the positions on a curve.
    pub(crate) fn on(self, curve: &Curve) -> Moments {
        let (lo, hi) = curve.range();
        let of_block = |(): &mut (), rows: Range<usize>| -> Result<Moments, Infallible> {
            let positions = &self.positions[rows.clone()];
            let on =
                places_where(rows.len(), |row| (lo <= positions[row]) & (positions[row] <= hi));
            let select = |values: &[f64]| on.iter().map(|&row| values[row]).collect::<Vec<f64>>();
            let weights = self.weights.map(|weights| select(&weights[rows]));
            Ok(Moments::of_block(&select(positions), weights.as_deref()))
        };
        let Ok(total) = fold_stretches(
            self.positions.len(),
            |_| BLOCK,
            Moments::default(),
            || (),
            of_block,
            |total, block| *total = total.merge(block),
            |total, stretch| *total = total.merge(*stretch),
        );
        total
    }

    /// The moments of the positions that are this one.
    fn on_knot(self, knot: f64) -> Moments {
        let weight = |row| self.weights.map_or(1.0, |weights| weights[row]);
        let weights = self.positions.iter().enumerate().filter(|(_, x)| **x == knot);
        Moments::single(knot, weights.map(|(row, _)| weight(row)).sum())
    }
}

/// Positions of instances: each of them, or their sums.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Places<'a> {
    Each(Instances<'a>),
    /// With the weights of bins, for curves that have such.
    Sums(&'a PositionSums, Option<&'a [f64]>),
}

impl<'a> From<Instances<'a>> for Places<'a> {
    fn from(instances: Instances<'a>) -> Self {
        Self::Each(instances)
    }
}

impl<'a> Places<'a> {
    /// The weights of bins.
    pub(crate) fn counts(&self) -> Option<&'a [f64]> {
        match self {
            Self::Each(instances) => instances.counts,
            Self::Sums(_, counts) => *counts,
        }
    }

    /// The moments of the positions on a curve.
    pub(crate) fn on(&self, curve: &Curve) -> Moments {
        match self {
            Self::Each(instances) => instances.on(curve),
            Self::Sums(sums, _) => sums.on_axis,
        }
    }

    /// The moments of the positions between two knots of a curve, one pair after the other.
    fn on_stretches(&self, curve: &Curve) -> Vec<Moments> {
        match self {
            Self::Each(instances) => instances.on_stretches(curve),
            Self::Sums(sums, _) => sums.between.clone(),
        }
    }
}

/// Sums over the positions of some rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct PositionSums {
    /// Number of rows.
    pub(super) rows: usize,
    /// Rows of positive weight on the axis, and off it.
    pub(super) on: usize,
    pub(super) outside: usize,
    /// Moments of all positions, and of those on the axis.
    pub(super) all: Moments,
    on_axis: Moments,
    /// Moments of those between two knots of the curve, one pair after the other.
    between: Vec<Moments>,
}

impl PositionSums {
    /// The sums over some data, for curves with the knots of this one, which end where the axis does.
    pub(crate) fn of((data, feature): (&Dataset, usize), axis: Axis, curve: &Curve) -> Self {
        let (on, outside) = data.count_rows(feature, &axis);
        let positions =
            Instances { positions: data.feature(feature), weights: data.weights(), counts: None };
        Self {
            rows: data.len(),
            on,
            outside,
            all: data.summary(feature).moments,
            on_axis: positions.on(curve),
            between: positions.on_stretches(curve),
        }
    }

    /// The sums over these rows and further ones.
    pub(crate) fn merge(&mut self, further: &Self) {
        self.rows += further.rows;
        self.on += further.on;
        self.outside += further.outside;
        self.all = self.all.merge(further.all);
        self.on_axis = self.on_axis.merge(further.on_axis);
        self.between.resize(self.between.len().max(further.between.len()), Moments::default());
        for (own, further) in self.between.iter_mut().zip(&further.between) {
            *own = own.merge(*further);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand(curve: &Curve, instances: Instances<'_>) -> Option<f64> {
        let (mut total, mut sum) = (0.0, 0.0);
        for (row, &x) in instances.positions.iter().enumerate() {
            let weight = instances.weights.map_or(1.0, |weights| weights[row]);
            if let Ok(y) = curve.at(x).map(|y| weight * y)
                && weight > 0.0
            {
                total += weight;
                sum += y;
            }
        }
        (total > 0.0).then(|| sum / total)
    }

    #[test]
    fn means_are_those_of_the_values_at_each_position() {
        let rows = 20_000_usize;
        let positions: Vec<f64> = (0..rows).map(|i| (i * 37 % 1009) as f64 / 100.0 - 1.0).collect();
        let weights: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
        let knots: Vec<f64> = (0..9).map(|k| f64::from(k * k) / 8.0).collect();
        let values = |count: u32| (0..count).map(|k| f64::from(k * 7 % 5) - 1.5).collect();
        let curves = [
            Curve::linear(knots.clone(), values(9)),
            Curve::step(knots.clone(), values(8), Closed::Left),
            Curve::step(knots, values(8), Closed::Right),
            Curve::linear(vec![3.0], vec![4.0]),
            Curve::linear(vec![-8.0, -7.0], vec![4.0, 5.0]),
        ];
        for curve in curves {
            for weights in [None, Some(&*weights)] {
                let instances = Instances { positions: &positions, weights, counts: None };
                match (mean_at_instances(&curve, instances), by_hand(&curve, instances)) {
                    (Some(mean), Some(expected)) => {
                        assert!((mean - expected).abs() < 1e-12, "{mean} {expected}");
                    }
                    (mean, expected) => assert_eq!(mean, expected),
                }
            }
        }
    }

    #[test]
    fn missing_values_count_only_where_there_are_instances() {
        let curve = Curve::linear(vec![0.0, 1.0, 2.0, 3.0], vec![1.0, 3.0, f64::NAN, 5.0]);
        let mean = |positions: &[f64]| {
            mean_at_instances(&curve, Instances { positions, weights: None, counts: None }).unwrap()
        };
        assert_eq!(mean(&[0.5, 1.0, 1.0, 3.0]), 3.25);
        assert!(mean(&[0.5, 1.5]).is_nan());
    }
}
