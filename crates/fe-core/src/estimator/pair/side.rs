//! One of two features: its points, the homes of the instances between or at them, and the steps from each point
//! to the next.
//!
//! Of a number the points are limits of bins or a grid, an instance is at home in a bin, and its step is over that bin.
//! Of a feature with levels the points are these along an order, an instance is at home at its level, and has a step from
//! the level before and one to the next (Apley and Zhu 2020).

use crate::data::{Dataset, Levels};
use crate::effect::{LevelRecord, SideRecord};
use crate::error::Result;
use crate::estimator::ale::order::Order;
use crate::numeric::axis::Axis;
use crate::numeric::partition::Partition;

/// One of two features.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) feature: usize,
    pub(super) points: Points,
    /// The points that a mean over the axis is taken at, as true; none where it is all of them.
    pub(super) of_grid: Option<Vec<bool>>,
    /// The way in which bins were chosen.
    pub(super) binning: Option<String>,
}

/// The points of a feature.
#[derive(Clone)]
pub(super) enum Points {
    /// Of a number: limits of bins, or a grid.
    Numbers(Partition),
    /// Of a feature with levels: these, along an order.
    Levels { levels: Levels, order: Order, ranks: Vec<u32> },
}

impl Points {
    pub(super) fn of_levels(levels: Levels, order: Order) -> Self {
        let mut ranks = vec![0; levels.len()];
        for (rank, &place) in (0..).zip(&order.places) {
            ranks[place] = rank;
        }
        Self::Levels { levels, order, ranks }
    }
}

impl Side {
    /// Number of points.
    pub(super) fn len(&self) -> usize {
        match &self.points {
            Points::Numbers(partition) => partition.limits().len(),
            Points::Levels { levels, .. } => levels.len(),
        }
    }

    /// Number of places where instances are at home.
    pub(super) fn homes(&self) -> usize {
        if self.has_levels() { self.len() } else { self.len() - 1 }
    }

    /// Number of steps from a point to the next.
    pub(super) fn steps(&self) -> usize {
        self.len() - 1
    }

    pub(super) fn has_levels(&self) -> bool {
        matches!(self.points, Points::Levels { .. })
    }

    /// The points, along the order of levels.
    pub(super) fn values(&self) -> Vec<f64> {
        match &self.points {
            Points::Numbers(partition) => partition.limits().to_vec(),
            Points::Levels { levels, order, .. } => {
                order.places.iter().map(|&place| levels.values[place]).collect()
            }
        }
    }

    /// Writes the homes of some values, [`Partition::OUTSIDE`] of those without one, and says whether all have one.
    pub(super) fn locate(&self, values: &[f64], homes: &mut [u32]) -> bool {
        match &self.points {
            Points::Numbers(partition) => partition.locate_all(values, homes),
            Points::Levels { levels, ranks, .. } => {
                let rank =
                    |&x: &f64| levels.place(x).map_or(Partition::OUTSIDE, |place| ranks[place]);
                let mut all = true;
                for (home, x) in homes.iter_mut().zip(values) {
                    *home = rank(x);
                    all &= *home != Partition::OUTSIDE;
                }
                all
            }
        }
    }

    /// Number of steps that an instance may have.
    pub(super) fn passes(&self) -> usize {
        if self.has_levels() { 2 } else { 1 }
    }

    /// The steps of an instance at home somewhere: of levels the one from the level before, and the one to the next.
    pub(super) fn steps_of(&self, home: usize) -> impl Iterator<Item = usize> {
        (0..self.passes()).filter_map(move |pass| self.step(home, pass))
    }

    /// One of these.
    pub(super) fn step(&self, home: usize, pass: usize) -> Option<usize> {
        match (self.has_levels(), pass) {
            (false, _) => Some(home),
            (true, 0) => home.checked_sub(1),
            (true, _) => Some(home).filter(|&home| home + 1 < self.len()),
        }
    }

    /// Widths of the steps, 1 between levels, and the abscissas between which what is missing is interpolated.
    pub(super) fn widths_and_centres(&self) -> (Vec<f64>, Vec<f64>) {
        match &self.points {
            Points::Numbers(partition) => (partition.widths(), partition.centres()),
            Points::Levels { .. } => {
                (vec![1.0; self.steps()], (0..self.steps()).map(|step| step as f64).collect())
            }
        }
    }

    /// The weights of the points in a mean over the axis: the trapezoid rule.
    pub(super) fn axis_weights(&self) -> Vec<f64> {
        let (widths, _) = self.widths_and_centres();
        let total: f64 = widths.iter().sum();
        let mut weights = vec![0.0; self.len()];
        let is_meant = |point: usize| self.of_grid.as_ref().is_none_or(|meant| meant[point]);
        // From each point that is meant to the next one.
        let (mut last, mut way) = (0, 0.0);
        for (step, width) in widths.into_iter().enumerate() {
            way += width;
            if is_meant(step + 1) {
                weights[last] += way / total / 2.0;
                weights[step + 1] += way / total / 2.0;
                (last, way) = (step + 1, 0.0);
            }
        }
        weights
    }

    /// Places of the points, and of the homes, in ascending order of their values.
    pub(super) fn ascending(&self) -> Vec<usize> {
        match &self.points {
            Points::Numbers(_) => (0..self.len()).collect(),
            Points::Levels { ranks, .. } => ranks.iter().map(|&rank| rank as usize).collect(),
        }
    }

    /// The point where the centring `start` has the effect 0: the first, of levels as they are given or along the order
    /// of an accumulated effect.
    pub(super) fn start(&self, accumulates: bool) -> usize {
        match &self.points {
            Points::Levels { levels, ranks, .. } if !accumulates => ranks[levels.given[0]] as usize,
            _ => 0,
        }
    }

    pub(super) fn record(&self, data: &Dataset, accumulates: bool) -> Result<SideRecord> {
        let (axis, levels) = match &self.points {
            Points::Numbers(partition) => (partition.axis()?, None),
            Points::Levels { levels, order, .. } => {
                let axis = Axis::new(levels.values[0], levels.values[levels.len() - 1])?;
                let order = accumulates.then(|| order.record(levels));
                (axis, Some(LevelRecord::new(data.kinds()[self.feature], levels, order)))
            }
        };
        Ok(SideRecord { axis, binning: self.binning.clone(), levels })
    }
}
