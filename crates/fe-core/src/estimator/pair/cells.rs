//! Mixed differences of the instances, summed in the cells of two features.

use std::ops::Range;

use super::joint::{Sums, shares};
use super::side::{Points, Side};
use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::estimator::ale::local_effects::{BLOCK, rows_summed};
use crate::model::{Column, Observed, Rows};
use crate::numeric::blocks::fold_blocks_with;
use crate::numeric::order_statistics::places_where;
use crate::numeric::partition::Partition;
use crate::numeric::simd::{subtract, vectorised};

/// Sums over the instances in each cell.
pub(super) struct Cells {
    /// The cells in which the instances are at home.
    pub(super) places: Vec<Sums>,
    /// Of each pair of steps the weight of the instances that have both; while rows are added only where features have levels.
    pub(super) weights: Vec<f64>,
    /// For each output the weighted sums of the mixed differences there.
    pub(super) differences: Vec<Vec<f64>>,
    /// All the mixed differences, where they are wanted again with other weights.
    pub(super) each: Option<Each>,
}

/// Mixed differences one by one.
#[derive(Default)]
pub(super) struct Each {
    /// The row of each.
    pub(super) rows: Vec<usize>,
    /// Its pair of steps.
    pub(super) steps: Vec<usize>,
    /// For each output its value.
    pub(super) values: Vec<Vec<f64>>,
}

/// The mean of differences with some weights and weighted sums; none where there is no weight.
pub(super) fn mean_differences(weights: &[f64], sums: &[f64]) -> Vec<Option<f64>> {
    let all = weights.iter().zip(sums);
    all.map(|(weight, sum)| (*weight > 0.0).then(|| sum / weight)).collect()
}

impl Cells {
    fn new(sides: &[Side; 2], outputs: usize, keep_each: bool) -> Self {
        let steps = sides[0].steps() * sides[1].steps();
        let each = || Each { values: vec![Vec::new(); outputs], ..Each::default() };
        Self {
            each: keep_each.then(each),
            places: vec![Sums::default(); sides[0].homes() * sides[1].homes()],
            weights: vec![0.0; steps],
            differences: vec![vec![0.0; steps]; outputs],
        }
    }

    /// Of all rows within both axes; asks the model for four rows for each, for more where features have levels.
    pub(super) fn of(
        data: &Dataset,
        model: &Observed<'_>,
        sides: &[Side; 2],
        keep_each: bool,
    ) -> Result<Self> {
        let outputs = model.model().outputs();
        let mut total = Self::new(sides, outputs, keep_each);
        fold_blocks_with(
            data.len(),
            rows_summed(data.len(), total.weights.len()),
            Room::default,
            |room, rows| {
                let mut cells = Self::new(sides, outputs, keep_each);
                for start in rows.clone().step_by(BLOCK) {
                    let part = start..rows.end.min(start + BLOCK);
                    Block { data, model, sides }.add(part, room, &mut cells)?;
                }
                Ok::<_, ModelError>(cells)
            },
            |cells| total.merge(cells),
        )?;
        if !sides.iter().any(Side::has_levels) {
            // Where an instance is at home it has its only step.
            total.weights = total.places.iter().map(|place| place[0]).collect();
        }
        Ok(total)
    }

    fn merge(&mut self, other: Self) {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(self.places.as_flattened_mut(), other.places.as_flattened());
        add(&mut self.weights, &other.weights);
        for (to, from) in self.differences.iter_mut().zip(&other.differences) {
            add(to, from);
        }
        if let (Some(to), Some(from)) = (&mut self.each, other.each) {
            to.rows.extend(from.rows);
            to.steps.extend(from.steps);
            for (to, from) in to.values.iter_mut().zip(from.values) {
                to.extend(from);
            }
        }
    }
}

/// Room for a block of rows, used again for the next.
#[derive(Default)]
struct Room {
    homes: [Vec<u32>; 2],
    shares: [Vec<f64>; 2],
    steps: [Vec<u32>; 2],
    /// The pairs of steps, or the cells.
    pairs: Vec<u32>,
    lower: [Vec<f64>; 2],
    upper: [Vec<f64>; 2],
    answers: [Vec<f64>; 4],
    kept: Vec<Vec<f64>>,
    weights: Vec<f64>,
}

/// A question about blocks of rows.
struct Block<'a> {
    data: &'a Dataset,
    model: &'a Observed<'a>,
    sides: &'a [Side; 2],
}

impl Block<'_> {
    fn add(
        &self,
        rows: Range<usize>,
        room: &mut Room,
        cells: &mut Cells,
    ) -> Result<(), ModelError> {
        let mut all = true;
        for side in 0..2 {
            let homes = &mut room.homes[side];
            homes.resize(rows.len(), 0);
            let values = &self.data.feature(self.sides[side].feature)[rows.clone()];
            all &= self.sides[side].locate(values, homes);
        }
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        all &= weights.is_none_or(|weights| weights.iter().all(|&weight| weight > 0.0));
        if all && !self.sides.iter().any(Side::has_levels) {
            return self.add_rows(rows, None, [0, 0], room, cells);
        }
        for first in 0..self.sides[0].passes() {
            for second in 0..self.sides[1].passes() {
                let passes = [first, second];
                let has = |side: usize, row: usize| {
                    let home = room.homes[side][row];
                    home != Partition::OUTSIDE
                        && self.sides[side].step(home as usize, passes[side]).is_some()
                };
                let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
                let is_home = |side: usize, row: usize| room.homes[side][row] != Partition::OUTSIDE;
                if passes == [0, 0] {
                    let home = places_where(rows.len(), |row| {
                        counts(row) & is_home(0, row) & is_home(1, row)
                    });
                    self.add_places(&rows, &home, room, cells);
                }
                let room_of =
                    places_where(rows.len(), |row| counts(row) & has(0, row) & has(1, row));
                if !room_of.is_empty() {
                    self.add_rows(rows.clone(), Some(&room_of), passes, room, cells)?;
                }
            }
        }
        Ok(())
    }

    /// Adds where some rows are at home.
    fn add_places(&self, rows: &Range<usize>, keep: &[usize], room: &Room, cells: &mut Cells) {
        let columns = self.sides[1].homes();
        for &row in keep {
            let mut share = [0.0; 2];
            for side in 0..2 {
                let x = self.data.feature(self.sides[side].feature)[rows.start + row];
                let home = &room.homes[side][row..=row];
                shares(&self.sides[side], &[x], home, &mut share[side..=side]);
            }
            let weight = self.data.weights().map_or(1.0, |weights| weights[rows.start + row]);
            let cell = room.homes[0][row] as usize * columns + room.homes[1][row] as usize;
            add_place(&mut cells.places[cell], weight, share[0], share[1]);
        }
    }

    /// Writes the mixed differences of some rows to the first of the answers.
    fn mixed_differences<'b>(
        &self,
        [a, b]: [usize; 2],
        columns: &mut [Column<'b>],
        [lower, upper]: [&'b [Vec<f64>; 2]; 2],
        answers: &mut [Vec<f64>; 4],
    ) -> Result<(), ModelError> {
        let len = lower[0].len();
        let size = len * self.model.model().outputs();
        if self.model.model().predicts_changes() {
            let [both, other, ..] = answers;
            for (answer, second) in [(&mut *both, &upper[1]), (&mut *other, &lower[1])] {
                answer.resize(size, 0.0);
                columns[b] = Column::Values(second);
                let rows = Rows::new(columns, len);
                self.model.predict_changes(a, [&lower[0], &upper[0]], &rows, answer)?;
            }
            subtract(both, other);
            return Ok(());
        }
        let corners = [
            (&upper[0], &upper[1]),
            (&lower[0], &lower[1]),
            (&upper[0], &lower[1]),
            (&lower[0], &upper[1]),
        ];
        for (answer, (first, second)) in answers.iter_mut().zip(corners) {
            answer.resize(size, 0.0);
            (columns[a], columns[b]) = (Column::Values(first), Column::Values(second));
            self.model.predict(&Rows::new(columns, len), answer)?;
        }
        let [both, neither, first, second] = answers;
        vectorised(
            #[inline(always)]
            || {
                for (((both, neither), first), second) in
                    both.iter_mut().zip(&*neither).zip(&*first).zip(&*second)
                {
                    // The same bits where the features are swapped.
                    *both = (*both + neither) - (first + second);
                }
            },
        );
        Ok(())
    }

    /// Adds the mixed differences of rows with a step of either feature, and of all rows of a block where they are at
    /// home.
    fn add_rows(
        &self,
        rows: Range<usize>,
        keep: Option<&[usize]>,
        passes: [usize; 2],
        room: &mut Room,
        cells: &mut Cells,
    ) -> Result<(), ModelError> {
        let len = keep.map_or(rows.len(), <[usize]>::len);
        let Room { homes, shares: towards, steps, pairs, lower, upper, answers, kept, weights } =
            room;
        for side in 0..2 {
            let own = &self.sides[side];
            let step = |home: u32| own.step(home as usize, passes[side]).unwrap_or_default() as u32;
            steps[side].clear();
            match keep {
                None => steps[side].extend_from_slice(&homes[side]),
                Some(keep) => steps[side].extend(keep.iter().map(|&row| step(homes[side][row]))),
            }
            lower[side].resize(len, 0.0);
            upper[side].resize(len, 0.0);
            match &own.points {
                Points::Numbers(partition) => {
                    partition.limits_of(&steps[side], &mut lower[side], &mut upper[side]);
                }
                Points::Levels { levels, order, .. } => {
                    let value = |rank: usize| levels.values[order.places[rank]];
                    for (i, &step) in steps[side].iter().enumerate() {
                        lower[side][i] = value(step as usize);
                        upper[side][i] = value(step as usize + 1);
                    }
                }
            }
        }
        let mut columns = match keep {
            None => self.data.columns(rows.clone()),
            Some(keep) => {
                kept.resize_with(self.data.dimension(), Vec::new);
                for (feature, kept) in kept.iter_mut().enumerate() {
                    let values = &self.data.feature(feature)[rows.clone()];
                    kept.clear();
                    kept.extend(keep.iter().map(|&row| values[row]));
                }
                kept.iter().map(|values| Column::Values(values)).collect()
            }
        };
        let [a, b] = [self.sides[0].feature, self.sides[1].feature];
        self.mixed_differences([a, b], &mut columns, [lower, upper], answers)?;
        let both = &answers[0];
        let weights = self.data.weights().map(|all| {
            let all = &all[rows.clone()];
            weights.clear();
            match keep {
                None => weights.extend_from_slice(all),
                Some(keep) => weights.extend(keep.iter().map(|&row| all[row])),
            }
            &weights[..]
        });
        pairs.resize(len, 0);
        pairs_of(steps, self.sides[1].steps() as u32, pairs);
        if self.sides.iter().any(Side::has_levels) {
            for (i, &pair) in pairs.iter().enumerate() {
                cells.weights[pair as usize] += weights.map_or(1.0, |weights| weights[i]);
            }
        }
        for (sums, differences) in cells.differences.iter_mut().zip(both.chunks(len)) {
            add_differences(pairs, differences, weights, sums);
        }
        if let Some(each) = &mut cells.each {
            let row = |i: usize| rows.start + keep.map_or(i, |keep| keep[i]);
            each.rows.extend((0..len).map(row));
            each.steps.extend(pairs.iter().map(|&pair| pair as usize));
            for (values, both) in each.values.iter_mut().zip(both.chunks(len)) {
                values.extend_from_slice(both);
            }
        }
        if keep.is_none() {
            for side in 0..2 {
                let values = &self.data.feature(self.sides[side].feature)[rows.clone()];
                towards[side].resize(len, 0.0);
                shares_between(values, &lower[side], &upper[side], &mut towards[side]);
            }
            // Without levels a pair of steps is a cell.
            let towards = towards[0].iter().zip(&towards[1]);
            match weights {
                None => {
                    for (&cell, (&u, &v)) in pairs.iter().zip(towards) {
                        add_place(&mut cells.places[cell as usize], 1.0, u, v);
                    }
                }
                Some(weights) => {
                    for ((&cell, (&u, &v)), &weight) in pairs.iter().zip(towards).zip(weights) {
                        add_place(&mut cells.places[cell as usize], weight, u, v);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Shares of the way of values from the lower to the upper ends of their bins.
fn shares_between(values: &[f64], lower: &[f64], upper: &[f64], shares: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (((share, x), lo), hi) in shares.iter_mut().zip(values).zip(lower).zip(upper) {
                *share = (x - lo) / (hi - lo);
            }
        },
    );
}

#[inline(always)]
fn add_place(cell: &mut Sums, weight: f64, u: f64, v: f64) {
    let terms = [weight, weight * u, weight * v, weight * u * v];
    cell.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// Writes the places of pairs of steps in a table that has so many columns.
fn pairs_of(steps: &[Vec<u32>; 2], columns: u32, pairs: &mut [u32]) {
    vectorised(
        #[inline(always)]
        || {
            for ((pair, first), second) in pairs.iter_mut().zip(&steps[0]).zip(&steps[1]) {
                // Tables that are larger are refused.
                *pair = first.wrapping_mul(columns).wrapping_add(*second);
            }
        },
    );
}

/// Adds the differences of some rows to the sums of their pairs of steps.
fn add_differences(pairs: &[u32], differences: &[f64], weights: Option<&[f64]>, sums: &mut [f64]) {
    match weights {
        None => {
            for (&pair, difference) in pairs.iter().zip(differences) {
                sums[pair as usize] += difference;
            }
        }
        Some(weights) => {
            for ((&pair, difference), weight) in pairs.iter().zip(differences).zip(weights) {
                sums[pair as usize] += weight * difference;
            }
        }
    }
}
