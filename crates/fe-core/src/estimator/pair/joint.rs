//! Places of the instances between the points of two features: all that means over them of bilinear functions need.

use crate::data::Dataset;
use crate::numeric::blocks::fold_blocks;
use crate::numeric::partition::Partition;

use super::side::{Points, Side};

/// Weight of the instances at home in a cell, and the sums over them of how far they are towards the next point of
/// the first feature, of the second, and of both together (the product).
pub(super) type Sums = [f64; 4];

/// The instances between the points of two features.
pub(super) struct Joint<'a> {
    sides: &'a [Side; 2],
    /// For each home of the first feature those of the second.
    cells: Vec<Sums>,
}

/// Rows that are looked at together.
const BLOCK: usize = 4096;

/// Shares of the way of values towards the next point of a feature; 0 at levels.
pub(super) fn shares(side: &Side, values: &[f64], homes: &[u32], shares: &mut [f64]) {
    match &side.points {
        Points::Levels { .. } => shares.fill(0.0),
        Points::Numbers(partition) => {
            let limits = partition.limits();
            for ((share, &x), &home) in shares.iter_mut().zip(values).zip(homes) {
                let home = home as usize;
                *share = (x - limits[home]) / (limits[home + 1] - limits[home]);
            }
        }
    }
}

impl<'a> Joint<'a> {
    pub(super) fn new(sides: &'a [Side; 2], cells: Vec<Sums>) -> Self {
        Self { sides, cells }
    }

    /// Of the rows of some data within both axes.
    pub(super) fn of(sides: &'a [Side; 2], data: &Dataset) -> Self {
        Self::weighted(sides, data, data.weights())
    }

    /// The same with other weights of the rows, 1 where there are none.
    pub(super) fn weighted(sides: &'a [Side; 2], data: &Dataset, weights: Option<&[f64]>) -> Self {
        let mut total = vec![Sums::default(); sides[0].homes() * sides[1].homes()];
        let block =
            |rows: std::ops::Range<usize>| -> Result<Vec<(usize, Sums)>, std::convert::Infallible> {
                let values =
                    [0, 1].map(|side: usize| &data.feature(sides[side].feature)[rows.clone()]);
                let mut homes = [vec![0; rows.len()], vec![0; rows.len()]];
                for side in 0..2 {
                    sides[side].locate(values[side], &mut homes[side]);
                }
                let mut found = Vec::with_capacity(rows.len());
                for i in 0..rows.len() {
                    let home = [homes[0][i], homes[1][i]];
                    let weight = weights.map_or(1.0, |weights| weights[rows.start + i]);
                    if home.contains(&Partition::OUTSIDE) || weight <= 0.0 {
                        continue;
                    }
                    let mut share = [0.0; 2];
                    for side in 0..2 {
                        shares(
                            &sides[side],
                            &values[side][i..=i],
                            &home[side..=side],
                            &mut share[side..=side],
                        );
                    }
                    let [u, v] = share;
                    let cell = home[0] as usize * sides[1].homes() + home[1] as usize;
                    found.push((cell, [weight, weight * u, weight * v, weight * u * v]));
                }
                Ok(found)
            };
        let Ok(()) = fold_blocks(data.len(), BLOCK, block, |found| {
            for (cell, sums) in found {
                total[cell].iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
        });
        Self::new(sides, total)
    }

    /// The same as if every instance lay in the middle of its bins, as the packages ALEPlot and PyALE have it.
    pub(super) fn in_the_middle(mut self) -> Self {
        let halves =
            [0, 1].map(|side: usize| if self.sides[side].has_levels() { 0.0 } else { 0.5 });
        for cell in &mut self.cells {
            let weight = cell[0];
            *cell =
                [weight, weight * halves[0], weight * halves[1], weight * halves[0] * halves[1]];
        }
        self
    }

    /// Weight of the instances in each cell.
    pub(super) fn counts(&self) -> Vec<f64> {
        self.cells.iter().map(|cell| cell[0]).collect()
    }

    /// The mean of a bilinear function over the instances, from its values at the points; none without instances.
    pub(super) fn mean(&self, values: &[f64]) -> Option<f64> {
        let (mut sum, mut total) = (0.0, 0.0);
        let columns = self.sides[1].len();
        self.each(|[i, k], cell| {
            total += cell[0];
            for ([a, b], weight) in corners(cell) {
                // Beyond the last level there is none, and no weight.
                if weight != 0.0 {
                    sum += weight * values[(i + a) * columns + k + b];
                }
            }
        });
        (total > 0.0).then(|| sum / total)
    }

    /// The same mean as weights of the values at the points; none without instances.
    pub(super) fn weights_of_mean(&self) -> Option<Vec<f64>> {
        let mut weights = vec![0.0; self.sides[0].len() * self.sides[1].len()];
        let (mut total, columns) = (0.0, self.sides[1].len());
        self.each(|[i, k], cell| {
            total += cell[0];
            for ([a, b], weight) in corners(cell) {
                if weight != 0.0 {
                    weights[(i + a) * columns + k + b] += weight;
                }
            }
        });
        weights.iter_mut().for_each(|weight| *weight /= total);
        (total > 0.0).then_some(weights)
    }

    /// The mean change of a bilinear function over each step of one feature, over the instances that have the step, each
    /// where its other feature is; none of a step without instances.
    pub(super) fn changes(&self, values: &[f64], side: usize) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); self.sides[side].steps()];
        let columns = self.sides[1].len();
        self.each(|home, cell| {
            let [weight, u, v, _] = cell;
            let (towards, other) = if side == 0 { (v, home[1]) } else { (u, home[0]) };
            for step in self.sides[side].steps_of(home[side]) {
                let change = |other: usize| {
                    let at = |point: usize| {
                        let [i, k] = if side == 0 { [point, other] } else { [other, point] };
                        values[i * columns + k]
                    };
                    at(step + 1) - at(step)
                };
                let (sum, total) = &mut sums[step];
                *sum += (weight - towards) * change(other);
                if towards != 0.0 {
                    *sum += towards * change(other + 1);
                }
                *total += weight;
            }
        });
        sums.into_iter().map(|(sum, total)| (total > 0.0).then(|| sum / total)).collect()
    }

    fn each(&self, mut work: impl FnMut([usize; 2], Sums)) {
        let columns = self.sides[1].homes();
        for (place, &cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell[0] > 0.0) {
            work([place / columns, place % columns], cell);
        }
    }
}

/// The weight of each corner of a cell in a sum over the instances in it.
fn corners([weight, u, v, uv]: Sums) -> [([usize; 2], f64); 4] {
    [([0, 0], weight - u - v + uv), ([1, 0], u - uv), ([0, 1], v - uv), ([1, 1], uv)]
}
