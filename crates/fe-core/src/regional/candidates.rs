//! Candidate splits of a feature, and the groups of rows between them.

use rayon::prelude::*;

use super::rule::RuleKind;
use crate::data::{AxisChoice, Dataset, FeatureKind};
use crate::error::{Error, Result};
use crate::estimator::pdp::Grouping;
use crate::numeric::partition::{Closed, Partition};

/// The candidate splits of one feature.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) feature: usize,
    /// Positions p of a numeric feature, or levels v of a nominal one, increasing.
    positions: Vec<f64>,
    pub(super) nominal: bool,
    /// The group of each row: how many positions lie below it, or which level it has.
    groups: Vec<u32>,
}

impl Candidates {
    /// Number of candidates. Two levels make one split, not two.
    pub(super) fn count(&self) -> usize {
        match (self.nominal, self.positions.len()) {
            (true, 0..=1) => 0,
            (true, 2) => 1,
            (_, count) => count,
        }
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        if self.nominal { self.positions.len() } else { self.positions.len() + 1 }
    }

    /// The group of a row.
    pub(super) fn group_of(&self, row: usize) -> usize {
        self.groups[row] as usize
    }

    /// The weight of those of some rows that are in each group.
    pub(super) fn weights(&self, data: &Dataset, rows: &[usize]) -> Vec<f64> {
        if data.weights().is_none() {
            let mut counts = vec![0_usize; self.groups()];
            rows.iter().for_each(|&row| counts[self.group_of(row)] += 1);
            return counts.into_iter().map(|count| count as f64).collect();
        }
        let mut weights = vec![0.0; self.groups()];
        rows.iter().for_each(|&row| weights[self.group_of(row)] += weight(data, row));
        weights
    }

    /// The groups of all rows.
    pub(super) fn grouping(&self) -> Grouping<'_> {
        Grouping { of: Some(&self.groups), groups: self.groups() }
    }

    /// The rules of both sides of a candidate.
    pub(super) fn rules(&self, candidate: usize) -> [RuleKind; 2] {
        let position = self.positions[candidate];
        if self.nominal {
            [RuleKind::Is(position), RuleKind::IsNot(position)]
        } else {
            [RuleKind::AtMost(position), RuleKind::Above(position)]
        }
    }

    /// Some rows, divided by a candidate.
    pub(super) fn divide(&self, candidate: usize, rows: &[usize]) -> [Vec<usize>; 2] {
        let first = |row: usize| match self.nominal {
            true => self.group_of(row) == candidate,
            false => self.group_of(row) <= candidate,
        };
        let on_the_left = rows.iter().filter(|&&row| first(row)).count();
        // Each row is written to both sides and kept on one: no branch depends on where it belongs. The
        // last place of a side is for the rows of the other one.
        let mut sides = [on_the_left, rows.len() - on_the_left].map(|count| vec![0; count + 1]);
        let [mut left, mut right] = [0, 0];
        for &row in rows {
            (sides[0][left], sides[1][right]) = (row, row);
            let is_first = usize::from(first(row));
            left += is_first;
            right += 1 - is_first;
        }
        sides.iter_mut().for_each(|side| side.truncate(side.len() - 1));
        sides
    }
}

/// The candidates of every feature but the one of interest, from the whole data.
pub(super) fn candidates(
    data: &Dataset,
    feature: usize,
    positions: usize,
) -> Result<Vec<Candidates>> {
    let others = (0..data.dimension()).into_par_iter().filter(|&other| other != feature);
    others.map(|other| of_feature(data, other, positions)).collect()
}

fn of_feature(data: &Dataset, feature: usize, positions: usize) -> Result<Candidates> {
    let values = data.feature(feature);
    let nominal = data.kinds()[feature] == FeatureKind::Nominal;
    if nominal {
        let positions = levels(data, feature);
        let groups = values.iter().map(|&x| below(&positions, x)).collect();
        return Ok(Candidates { feature, positions, nominal, groups });
    }
    let mut groups = vec![0; values.len()];
    let positions = match AxisChoice::Data.resolve(data, feature) {
        Ok(axis) => {
            let intervals = Partition::new(axis.divide(positions + 1), Closed::Right)?;
            let positions = intervals.limits()[1..intervals.bins()].to_vec();
            // Rows of weight 0 may lie outside.
            if !intervals.locate_all(values, &mut groups) {
                for (group, &x) in groups.iter_mut().zip(values) {
                    *group = below(&positions, x);
                }
            }
            positions
        }
        Err(Error::ConstantFeature { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Candidates { feature, positions, nominal, groups })
}

/// Number of positions that lie below.
fn below(positions: &[f64], x: f64) -> u32 {
    positions.partition_point(|&p| p < x) as u32
}

/// Distinct values among the rows with positive weight.
fn levels(data: &Dataset, feature: usize) -> Vec<f64> {
    let counted = data.feature(feature).iter().enumerate();
    let counted = counted.filter(|(row, _)| data.weights().is_none_or(|w| w[*row] > 0.0));
    // A sum with 0 makes −0 and 0 the same level.
    let mut levels: Vec<f64> = counted.map(|(_, &x)| x + 0.0).collect();
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    levels
}

fn weight(data: &Dataset, row: usize) -> f64 {
    data.weights().map_or(1.0, |weights| weights[row])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_one_level_whatever_its_sign() {
        let rows = ndarray::array![[-0.0], [1.0], [0.0], [-0.0], [7.0]];
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let data = data.with_weights(vec![1.0, 1.0, 1.0, 1.0, 0.0]).unwrap();
        let levels = levels(&data, 0);
        assert_eq!(levels, [0.0, 1.0]);
        assert!(levels[0].is_sign_positive());
    }
}
