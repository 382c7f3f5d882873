//! Candidate splits of a feature, and the groups of rows between them.

use rayon::prelude::*;

use super::rule::RuleKind;
use crate::data::{AxisChoice, Dataset, FeatureKind};
use crate::error::{Error, Result};
use crate::estimator::ale::order::Order;
use crate::estimator::pdp::Grouping;
use crate::numeric::partition::{Closed, Partition};
use crate::settings::LevelOrder;

/// The candidate splits of one feature.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) feature: usize,
    /// Positions p of a numeric feature, or levels v of a nominal one, increasing.
    positions: Vec<f64>,
    pub(super) nominal: bool,
    /// For each candidate of a nominal feature the levels on its first side, as places among the positions, ascending.
    sets: Vec<Vec<usize>>,
    /// The group of each row: how many positions lie below it, or which level it has.
    groups: Vec<u32>,
}

impl Candidates {
    /// Number of candidates.
    pub(super) fn count(&self) -> usize {
        if self.nominal { self.sets.len() } else { self.positions.len() }
    }

    /// The levels on the first side of a candidate, as groups.
    pub(super) fn set(&self, candidate: usize) -> &[usize] {
        &self.sets[candidate]
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
        if !self.nominal {
            let position = self.positions[candidate];
            return [RuleKind::AtMost(position), RuleKind::Above(position)];
        }
        match self.set(candidate) {
            [place] => {
                let level = self.positions[*place];
                [RuleKind::Is(level), RuleKind::IsNot(level)]
            }
            places => {
                let levels: Vec<f64> = places.iter().map(|&place| self.positions[place]).collect();
                [RuleKind::Among(levels.clone()), RuleKind::NotAmong(levels)]
            }
        }
    }

    /// Some rows, divided by a candidate.
    pub(super) fn divide(&self, candidate: usize, rows: &[usize]) -> [Vec<usize>; 2] {
        let is_first: Vec<bool> = (0..self.groups())
            .map(|group| match self.nominal {
                true => self.set(candidate).contains(&group),
                false => group <= candidate,
            })
            .collect();
        let first = |row: usize| is_first[self.group_of(row)];
        let on_the_left = rows.iter().filter(|&&row| first(row)).count();
        // Each row is written to both sides and kept on one: no branch depends on where it belongs. The
        // last place of a side is for the rows of the other one.
        let mut sides = [on_the_left, rows.len() - on_the_left].map(|count| vec![0; count + 1]);
        let [mut left, mut right] = [0, 0];
        for &row in rows {
            (sides[0][left], sides[1][right]) = (row, row);
            let to_the_left = usize::from(first(row));
            left += to_the_left;
            right += 1 - to_the_left;
        }
        sides.iter_mut().for_each(|side| side.truncate(side.len() - 1));
        sides
    }
}

/// The candidates of every feature but the one of interest, from the whole data; with `subsets` sets of levels among
/// them, along orders of which one is that of the predictions.
pub(super) fn candidates(
    data: &Dataset,
    feature: usize,
    positions: usize,
    subsets: Option<&[f64]>,
) -> Result<Vec<Candidates>> {
    let others = (0..data.dimension()).into_par_iter().filter(|&other| other != feature);
    others.map(|other| of_feature(data, other, positions, subsets)).collect()
}

fn of_feature(
    data: &Dataset,
    feature: usize,
    positions: usize,
    subsets: Option<&[f64]>,
) -> Result<Candidates> {
    let values = data.feature(feature);
    let nominal = data.kinds()[feature] == FeatureKind::Nominal;
    if nominal {
        let positions = levels(data, feature);
        let groups = values.iter().map(|&x| below(&positions, x)).collect();
        let sets = match (positions.len(), subsets) {
            (0..=1, _) => Vec::new(),
            // Two levels make one split, not two, and of three each set is one against the rest.
            (2, _) => vec![vec![0]],
            (3, _) | (_, None) => (0..positions.len()).map(|place| vec![place]).collect(),
            (_, Some(response)) => sets_along_orders(data, feature, response)?,
        };
        return Ok(Candidates { feature, positions, nominal, sets, groups });
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
    Ok(Candidates { feature, positions, nominal, sets: Vec::new(), groups })
}

/// Orders of levels, whose beginnings are split from their ends.
const ORDERS: [LevelOrder; 5] = [
    LevelOrder::Given,
    LevelOrder::Name,
    LevelOrder::Frequency,
    LevelOrder::Response,
    LevelOrder::Similarity,
];

/// Each level by itself, then what comes first in each of the orders, if it is not among them: the smaller of
/// both sides, and of two of the same size that with the lowest level.
fn sets_along_orders(data: &Dataset, feature: usize, response: &[f64]) -> Result<Vec<Vec<usize>>> {
    let Some(levels) = data.levels(feature)? else { return Ok(Vec::new()) };
    let mut sets: Vec<Vec<usize>> = (0..levels.len()).map(|place| vec![place]).collect();
    for rule in ORDERS {
        let order = Order::of(rule, (data, feature), &levels, Some(response))?;
        for cut in 2..levels.len() - 1 {
            let [mut first, mut rest] =
                [&order.places[..cut], &order.places[cut..]].map(<[usize]>::to_vec);
            first.sort_unstable();
            rest.sort_unstable();
            let set = if (first.len(), &first) < (rest.len(), &rest) { first } else { rest };
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    Ok(sets)
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

    /// Given 2, 0, 1, 3, by frequency 3, 2, 1, 0, by response 0, 3, 1, 2; names go as the values.
    #[test]
    fn sets_are_the_beginnings_of_orders_and_each_is_there_once() {
        let levels = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3];
        let rows = ndarray::Array2::from_shape_fn((10, 2), |(i, j)| {
            if j == 0 { f64::from(levels[i]) } else { 0.0 }
        });
        let names = [(2.0, "c"), (0.0, "a"), (1.0, "b"), (3.0, "d")];
        let names = names.map(|(value, name)| (value, name.to_owned()));
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let data = data.with_kinds(vec![FeatureKind::Nominal, FeatureKind::Continuous]).unwrap();
        let data = data.with_levels(0, crate::data::LevelNames::new(names).unwrap()).unwrap();
        let response = levels.map(|level| [0.0, 2.0, 3.0, 1.0][level as usize]);
        let found = candidates(&data, 1, 1, Some(&response)).unwrap();
        let sets: Vec<&[usize]> = (0..found[0].count()).map(|of| found[0].set(of)).collect();
        // By similarity nothing differs, and levels are as they are given.
        let expected: [&[usize]; 7] = [&[0], &[1], &[2], &[3], &[0, 2], &[0, 1], &[0, 3]];
        assert_eq!(sets, expected);
        let [left, right] = found[0].divide(4, &[0, 1, 3, 6]);
        assert_eq!((left, right), (vec![0, 3], vec![1, 6]));
        let each = candidates(&data, 1, 1, None).unwrap();
        assert_eq!(each[0].count(), 4);
    }
}
