//! Functions as sums of terms, and as fast models of whole rows.
//!
//! Imports expressions and numerical methods. Begin with [`Function`] and [`Term`].

use std::f64::consts::TAU;
use std::sync::Arc;

use fe_core::Model;
use fe_core::error::ModelError;
use fe_core::model::{Answered, Column, Rows};
#[cfg(not(test))]
use fe_core::numeric::simd::is_held_down;
use pulp::{Arch, NullaryFnOnce};

use crate::expression::Expression;
use crate::numeric::quadrature::Estimate;

type Value = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;
type Estimated = Arc<dyn Fn(&[f64]) -> Estimate + Send + Sync>;
type Partial = Box<dyn Fn(usize, &[f64]) -> f64 + Send + Sync>;
type Places = Box<dyn Fn(usize, &[f64]) -> Vec<f64> + Send + Sync>;
type Squares = Box<dyn Fn(Option<usize>, &[f64]) -> Estimate + Send + Sync>;
type Breaks = Box<dyn Fn(usize, &[f64], &mut Vec<f64>) + Send + Sync>;

/// A line across which a term jumps or has a kink: where a weighted sum of features has a level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// Features with their weights, none of them 0.
    pub(crate) weights: Vec<(usize, f64)>,
    pub(crate) level: f64,
    /// By how much the term jumps as the weighted sum rises through the level.
    pub(crate) jump: f64,
    /// True if the term is smooth there, beside a narrow hill of it.
    pub(crate) is_smooth: bool,
}

impl Line {
    /// Place of the line along a feature, given the other features of the row.
    pub(crate) fn place(&self, along: usize, row: &[f64]) -> Option<f64> {
        let weight = self.weight(along)?;
        let others = self.weights.iter().filter(|(feature, _)| *feature != along);
        let sum: f64 = others.map(|&(feature, weight)| weight * row[feature]).sum();
        Some((self.level - sum) / weight)
    }

    pub(crate) fn weight(&self, feature: usize) -> Option<f64> {
        self.weights.iter().find(|(other, _)| *other == feature).map(|(_, weight)| *weight)
    }
}

/// A surface across which a term jumps, at places that move with several features.
pub(crate) struct Moving {
    pub(crate) features: Vec<usize>,
    /// The places along a feature, given the others of a row.
    pub(crate) places: Places,
    /// Level function: 0 on the surface.
    pub(crate) level: Value,
    /// Derivative of the level along a feature.
    pub(crate) slope: Partial,
    /// By how much the term jumps as the level rises through 0.
    pub(crate) jump: Value,
}

/// One term of a sum: what it reads, its value and derivatives, and where it is not smooth.
///
/// Closures get whole rows, indexed by feature; only the features of the term have values.
pub(crate) struct Term {
    features: Vec<usize>,
    /// Features in each of which the term is affine while the others are fixed.
    affine: Vec<usize>,
    value: Value,
    partial: Partial,
    breaks: Breaks,
    /// Places beside narrow hills.
    hills: Breaks,
    /// Size of what rounding of a value is relative to, where that is not the value.
    size: f64,
    lines: Vec<Line>,
    /// Means of the term over some of its features, as terms of the others.
    averages: Vec<(Vec<usize>, Term)>,
    /// Two angles on whose difference alone the term depends.
    angles: Option<[usize; 2]>,
    /// Two differences of these between which lies all that the term is at any.
    turn: (f64, f64),
    /// Factors that share no feature and whose product the term is; none if it is not taken apart.
    factors: Vec<Term>,
    moving: Vec<Moving>,
    /// Features with places along them where averages over other features change their course.
    entrances: Vec<(usize, f64)>,
    /// The value with an error of its own, for terms that are means themselves.
    estimated: Option<Estimated>,
    /// True if places at which it breaks, or a mean of it, may be cusps.
    cusped: bool,
    /// Of a mean of a term, the mean squares of that.
    squares: Option<Squares>,
    /// True if it breaks at places that are known only from other features.
    wanders: bool,
}

impl Term {
    /// A smooth term of the given features.
    pub(crate) fn new(
        features: &[usize],
        value: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
        partial: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            features: features.to_vec(),
            affine: Vec::new(),
            value: Box::new(value),
            partial: Box::new(partial),
            breaks: Box::new(|_, _, _| ()),
            hills: Box::new(|_, _, _| ()),
            size: 0.0,
            lines: Vec::new(),
            averages: Vec::new(),
            angles: None,
            turn: (0.0, TAU),
            factors: Vec::new(),
            moving: Vec::new(),
            entrances: Vec::new(),
            estimated: None,
            cusped: false,
            squares: None,
            wanders: false,
        }
    }

    /// A term whose values have errors of their own.
    pub(crate) fn estimated(
        features: &[usize],
        value: impl Fn(&[f64]) -> Estimate + Send + Sync + 'static,
        partial: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let estimated: Estimated = Arc::new(value);
        let value = Arc::clone(&estimated);
        let term = Self::new(features, move |row| value(row).value, partial);
        Self { estimated: Some(estimated), ..term }
    }

    /// The term `factor · x_a · x_b`.
    pub(crate) fn product(factor: f64, a: usize, b: usize) -> Self {
        Self::new(
            &[a, b],
            move |x| factor * x[a] * x[b],
            move |s, x| factor * if s == a { x[b] } else { x[a] },
        )
        .affine_in(&[a, b])
    }

    /// The term `factor · x_a`.
    pub(crate) fn linear(factor: f64, a: usize) -> Self {
        Self::new(&[a], move |x| factor * x[a], move |_, _| factor).affine_in(&[a])
    }

    /// Declares that the term is affine in each of these features while the others are fixed, so
    /// that two moments of one that is independent of the rest say all there is to say about it.
    pub(crate) fn affine_in(self, features: &[usize]) -> Self {
        Self { affine: features.to_vec(), ..self }
    }

    pub(crate) fn is_affine_in(&self, feature: usize) -> bool {
        self.affine.contains(&feature)
    }

    /// Declares that the term jumps or has a kink along a feature at fixed places.
    pub(crate) fn breaking_at(self, feature: usize, places: &[f64]) -> Self {
        let (before, places) = (self.breaks, places.to_vec());
        let breaks: Breaks = Box::new(move |along, row, found| {
            before(along, row, found);
            if along == feature {
                found.extend_from_slice(&places);
            }
        });
        Self { breaks, ..self }
    }

    /// Declares further places along a feature where the term is not smooth, from the others.
    pub(crate) fn breaking_where(
        self,
        places: impl Fn(usize, &[f64], &mut Vec<f64>) + Send + Sync + 'static,
    ) -> Self {
        let before = self.breaks;
        let breaks: Breaks = Box::new(move |along, row, found| {
            before(along, row, found);
            places(along, row, found);
        });
        Self { breaks, wanders: true, ..self }
    }

    /// Declares that the term jumps, or with jump 0 has a kink, as a weighted sum of features rises
    /// through a level. Features of weight 0 do not count; one alone has a fixed place.
    pub(crate) fn breaking_across(self, weights: &[(usize, f64)], level: f64, jump: f64) -> Self {
        let weights: Vec<_> = weights.iter().copied().filter(|(_, w)| *w != 0.0).collect();
        match weights.as_slice() {
            [] => self,
            &[(feature, weight)] => self.breaking_at(feature, &[level / weight]),
            _ => {
                let mut lines = self.lines;
                lines.push(Line { weights, level, jump, is_smooth: false });
                Self { lines, ..self }
            }
        }
    }

    /// Declares that the term, smooth as it is, has a narrow hill beside the line on which a weighted sum of features, none of
    /// weight 0, has a level; of one feature that is a fixed place.
    pub(crate) fn narrow_across(mut self, weights: &[(usize, f64)], level: f64) -> Self {
        if let &[(feature, weight)] = weights {
            let place = level / weight;
            return self.narrow_where(move |along, _, found| {
                found.extend((along == feature).then_some(place));
            });
        }
        self.lines.push(Line { weights: weights.to_vec(), level, jump: 0.0, is_smooth: true });
        self
    }

    /// Declares places along a feature beside narrow hills of the term, from the others.
    pub(crate) fn narrow_where(
        self,
        places: impl Fn(usize, &[f64], &mut Vec<f64>) + Send + Sync + 'static,
    ) -> Self {
        let before = self.hills;
        let hills: Breaks = Box::new(move |along, row, found| {
            before(along, row, found);
            places(along, row, found);
        });
        Self { hills, ..self }
    }

    /// Declares that hills of the term lie elsewhere for other values of the others.
    pub(crate) fn wandering(self) -> Self {
        Self { wanders: true, ..self }
    }

    /// Declares that rounding of the value is relative to a size, because summands cancel.
    pub(crate) fn of_size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// Declares the mean of the term over some of its features, which must be independent of each
    /// other and of all the rest.
    pub(crate) fn averaging_to(mut self, over: &[usize], mean: Self) -> Self {
        self.averages.push((over.to_vec(), mean));
        self
    }

    /// Declares that places at which the term breaks, or a mean of it does, may be cusps, where a power of the distance or
    /// its logarithm begins.
    pub(crate) fn with_cusps(self) -> Self {
        Self { cusped: true, ..self }
    }

    pub(crate) fn has_cusps(&self) -> bool {
        self.cusped
    }

    /// Declares of a mean of a term the mean squares of that over the same features: of its value, or of its derivative
    /// along one.
    pub(crate) fn with_squares(
        self,
        squares: impl Fn(Option<usize>, &[f64]) -> Estimate + Send + Sync + 'static,
    ) -> Self {
        Self { squares: Some(Box::new(squares)), ..self }
    }

    pub(crate) fn has_squares(&self) -> bool {
        self.squares.is_some()
    }

    /// The mean square of the value, or of the derivative along a feature, of what the term is a mean of, where it is known.
    pub(crate) fn mean_square(&self, along: Option<usize>, row: &[f64]) -> Option<Estimate> {
        self.squares.as_ref().map(|squares| squares(along, row))
    }

    /// Declares that the term depends on two angles through their difference alone; both are
    /// independent of each other and of all the rest, and uniform on [0, 2π].
    pub(crate) fn turning(self, angles: [usize; 2]) -> Self {
        Self { angles: Some(angles), ..self }
    }

    /// Declares two differences of the angles between which lies all that the term is at any: it is the same on either side
    /// of both.
    pub(crate) fn mirrored_at(self, turn: (f64, f64)) -> Self {
        Self { turn, ..self }
    }

    /// Two differences of the angles, the first less the second one, between which lies all that the term is at any.
    pub(crate) fn turn(&self) -> (f64, f64) {
        self.turn
    }

    /// Declares factors that share no feature and whose product the term is.
    pub(crate) fn with_factors(self, factors: Vec<Self>) -> Self {
        Self { factors, ..self }
    }

    pub(crate) fn factors(&self) -> &[Self] {
        &self.factors
    }

    /// Declares that the term jumps where a surface is passed.
    pub(crate) fn jumping_across(mut self, surface: Moving) -> Self {
        self.moving.push(surface);
        self
    }

    pub(crate) fn moving(&self) -> &[Moving] {
        &self.moving
    }

    /// Declares places along a feature where averages over other features change their course.
    pub(crate) fn entering_at(mut self, feature: usize, places: &[f64]) -> Self {
        self.entrances.extend(places.iter().map(|&place| (feature, place)));
        self
    }

    /// Places along a feature where averages over other features change their course.
    pub(crate) fn entrances(&self, feature: usize) -> impl Iterator<Item = f64> + '_ {
        let along = self.entrances.iter().filter(move |(other, _)| *other == feature);
        along.map(|(_, place)| *place)
    }

    /// True if averages over other features may change their course along one.
    pub(crate) fn has_passages(&self) -> bool {
        !self.lines.is_empty() || !self.entrances.is_empty()
    }

    /// The lines across which it breaks.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The number of the declared mean over the most features of those given.
    pub(crate) fn average_over(&self, features: &[usize]) -> Option<usize> {
        let known = self.averages.iter().enumerate();
        let serves =
            known.filter(|(_, (over, _))| over.iter().all(|feature| features.contains(feature)));
        serves.max_by_key(|(_, (over, _))| over.len()).map(|(number, _)| number)
    }

    /// A declared mean, by its number.
    pub(crate) fn average(&self, number: usize) -> &Self {
        &self.averages[number].1
    }

    /// All declared means, with the features they are over.
    #[cfg(test)]
    pub(crate) fn averages(&self) -> &[(Vec<usize>, Self)] {
        &self.averages
    }

    pub(crate) fn angles(&self) -> Option<[usize; 2]> {
        self.angles
    }

    /// The features the term reads, counted from 0.
    pub(crate) fn features(&self) -> &[usize] {
        &self.features
    }

    pub(crate) fn reads(&self, feature: usize) -> bool {
        self.features.contains(&feature)
    }

    pub(crate) fn value(&self, row: &[f64]) -> f64 {
        (self.value)(row)
    }

    /// The value with its rounding.
    pub(crate) fn estimate(&self, row: &[f64]) -> Estimate {
        match &self.estimated {
            Some(estimated) => estimated(row),
            None => Estimate::of_size(self.value(row), self.size),
        }
    }

    /// True if all places at which it breaks along a feature are the same whatever the others are.
    pub(crate) fn breaks_at_fixed_places(&self) -> bool {
        self.lines.is_empty() && self.moving.is_empty() && !self.wanders
    }

    /// True if it is smooth in all of its features, wherever the others are.
    pub(crate) fn is_smooth(&self) -> bool {
        let unknown = vec![f64::NAN; self.features.iter().max().map_or(0, |last| last + 1)];
        let mut found = Vec::new();
        self.features.iter().for_each(|&s| self.corners(s, &unknown, &mut found));
        let lines = self.lines.iter().all(|line| line.is_smooth);
        found.is_empty() && lines && self.moving.is_empty() && !self.wanders
    }

    pub(crate) fn partial(&self, feature: usize, row: &[f64]) -> f64 {
        (self.partial)(feature, row)
    }

    /// Adds the places along a feature where the term is not smooth, given the other features of
    /// the row. A feature that is not known yet is NaN; places that depend on it are left out.
    pub(crate) fn corners(&self, along: usize, row: &[f64], found: &mut Vec<f64>) {
        (self.breaks)(along, row, found);
        let lines = self.lines.iter().filter(|line| !line.is_smooth);
        found.extend(lines.filter_map(|line| line.place(along, row)));
    }

    /// Adds the places along a feature at which integrals of the term are divided: those of [`Self::corners`] and those
    /// beside narrow hills.
    pub(crate) fn breaks(&self, along: usize, row: &[f64], found: &mut Vec<f64>) {
        self.corners(along, row, found);
        (self.hills)(along, row, found);
        let lines = self.lines.iter().filter(|line| line.is_smooth);
        found.extend(lines.filter_map(|line| line.place(along, row)));
    }
}

/// A function of a scenario: as terms for exact integration, and natively for speed.
pub(crate) trait Function: Send + Sync + 'static {
    /// Number of features.
    fn dimension(&self) -> usize;
    /// Number of leading features that the native form reads, where that is from 1 to 6 and `value` and
    /// `partial` are marked `#[inline(always)]`: several rows are then evaluated at once.
    const WIDTH: usize = 0;
    /// Number of leading features that the native form reads.
    fn active(&self) -> usize {
        if Self::WIDTH == 0 { self.dimension() } else { Self::WIDTH }
    }
    /// The terms whose sum the function is.
    fn terms(&self) -> Vec<Term>;
    /// The function as a tree, for programs in other languages.
    fn expression(&self) -> Expression;
    /// The value at a row.
    fn value(&self, x: &[f64]) -> f64;
    /// The partial derivative along a feature that is read.
    fn partial(&self, s: usize, x: &[f64]) -> f64;
}

/// The native form of a function as a model.
pub(crate) struct Native<F>(pub(crate) F);

/// Rows that are evaluated together: enough of them to hide what a tile costs, few enough that the
/// columns of a tile stay in the nearest cache.
const TILE: usize = 64;

impl<F: Function> Native<F> {
    /// Writes `of` each row, which has as many values as the function reads.
    #[inline(always)]
    fn each_row(&self, rows: &Rows<'_>, values: &mut [f64], of: impl Fn(&[f64]) -> f64) {
        // Compiled for the one width that the function has: a row is then held in registers.
        let columns = rows.columns();
        match F::WIDTH {
            1 => vectorised(Tiles::<1, _> { columns, values, of }),
            2 => vectorised(Tiles::<2, _> { columns, values, of }),
            3 => vectorised(Tiles::<3, _> { columns, values, of }),
            4 => vectorised(Tiles::<4, _> { columns, values, of }),
            5 => vectorised(Tiles::<5, _> { columns, values, of }),
            6 => vectorised(Tiles::<6, _> { columns, values, of }),
            _ => {
                let mut row = vec![0.0; self.0.active()];
                for (index, value) in values.iter_mut().enumerate() {
                    rows.copy_row(index, &mut row);
                    *value = of(&row);
                }
            }
        }
    }

    /// Writes the derivatives along a feature; each of the first is compiled for itself.
    fn each_partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) {
        let f = &self.0;
        match feature {
            0 if F::WIDTH > 0 => self.each_row(
                rows,
                values,
                #[inline(always)]
                |x| f.partial(0, x),
            ),
            1 if F::WIDTH > 1 => self.each_row(
                rows,
                values,
                #[inline(always)]
                |x| f.partial(1, x),
            ),
            2 if F::WIDTH > 2 => self.each_row(
                rows,
                values,
                #[inline(always)]
                |x| f.partial(2, x),
            ),
            3 if F::WIDTH > 3 => self.each_row(
                rows,
                values,
                #[inline(always)]
                |x| f.partial(3, x),
            ),
            _ => self.each_row(
                rows,
                values,
                #[inline(always)]
                |x| f.partial(feature, x),
            ),
        }
    }
}

/// Runs a loop with the widest instructions that the processor has. They change how many rows are
/// worked on at once, not the arithmetic of a row: every processor gives the same bits.
#[inline(always)]
fn vectorised(work: impl NullaryFnOnce<Output = ()>) {
    arch().dispatch(work);
}

#[cfg(not(test))]
#[inline(always)]
fn arch() -> Arch {
    if is_held_down() { Arch::Scalar } else { Arch::new() }
}

#[cfg(test)]
fn arch() -> Arch {
    tests::FORCED.get().unwrap_or_default()
}

/// A function of `WIDTH` features on all rows of a batch, tile by tile.
struct Tiles<'a, const WIDTH: usize, F> {
    columns: &'a [Column<'a>],
    values: &'a mut [f64],
    of: F,
}

impl<const WIDTH: usize, F: Fn(&[f64]) -> f64> NullaryFnOnce for Tiles<'_, WIDTH, F> {
    type Output = ();

    // Arrays are filled by loops, as `array::from_fn` is not inlined into code for other processors.
    #[inline(always)]
    fn call(self) {
        let mut tiles: [&[[f64; TILE]]; WIDTH] = [&[]; WIDTH];
        let mut constants = [[0.0; TILE]; WIDTH];
        for ((tiles, constant), column) in tiles.iter_mut().zip(&mut constants).zip(self.columns) {
            match column {
                Column::Values(values) => *tiles = values.as_chunks().0,
                Column::Constant(value) => constant.fill(*value),
            }
        }
        let (whole, rest) = self.values.as_chunks_mut::<TILE>();
        let done = whole.len() * TILE;
        for (t, values) in whole.iter_mut().enumerate() {
            let mut tile: [&[f64; TILE]; WIDTH] = [&[0.0; TILE]; WIDTH];
            for j in 0..WIDTH {
                tile[j] = tiles[j].get(t).unwrap_or(&constants[j]);
            }
            // Written apart from `values`, of which the compiler cannot know that no column is in it.
            let mut of_tile = [0.0; TILE];
            for i in 0..TILE {
                let mut row = [0.0; WIDTH];
                for j in 0..WIDTH {
                    row[j] = tile[j][i];
                }
                of_tile[i] = (self.of)(&row);
            }
            *values = of_tile;
        }
        for (i, value) in rest.iter_mut().enumerate() {
            let mut row = [0.0; WIDTH];
            for (x, column) in row.iter_mut().zip(self.columns) {
                *x = column.get(done + i);
            }
            *value = (self.of)(&row);
        }
    }
}

impl<F: Function> Model for Native<F> {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.each_row(
            rows,
            values,
            #[inline(always)]
            |x| self.0.value(x),
        );
        Ok(())
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(&self, feature: usize, rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        if feature < self.0.active() {
            self.each_partial(feature, rows, values);
        } else if feature < self.0.dimension() {
            values.fill(0.0);
        } else {
            return Err(ModelError::NoDerivative { feature });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{scenario, scenarios};

    thread_local! {
        /// Instructions to use in place of the widest.
        pub(super) static FORCED: Cell<Option<Arch>> = const { Cell::new(None) };
    }

    /// Vector instructions of this processor.
    fn available() -> Vec<Arch> {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = pulp::x86::V3::try_new().map(Arch::V3);
            let v4 = pulp::x86::V4::try_new().map(Arch::V4);
            [v3, v4].into_iter().flatten().collect()
        }
        #[cfg(not(target_arch = "x86_64"))]
        vec![Arch::new()]
    }

    /// The bits of all values and derivatives, with each column from the rows and one of them constant.
    fn bits(model: &dyn Model, values: &[f64], rows: usize) -> Vec<u64> {
        let column = |j: usize| Column::Values(&values[j * rows..(j + 1) * rows]);
        let plain: Vec<Column<'_>> = (0..model.dimension()).map(column).collect();
        let mut fixed = plain.clone();
        fixed[0] = Column::Constant(values[0]);
        let (mut all, mut out) = (Vec::new(), vec![0.0; rows]);
        for columns in [plain, fixed] {
            let batch = Rows::new(&columns, rows);
            model.predict(&batch, &mut out).unwrap();
            all.extend(out.iter().map(|value| value.to_bits()));
            for feature in 0..model.dimension() {
                model.partial(feature, &batch, &mut out).unwrap();
                all.extend(out.iter().map(|value| value.to_bits()));
            }
        }
        all
    }

    #[test]
    fn all_instructions_give_the_same_bits() {
        // Whole tiles, and some rows that make none.
        let rows = 3 * TILE + 7;
        for info in scenarios() {
            let scenario = scenario(info.name, &[]).unwrap();
            let values = scenario.sample(rows, &mut ChaCha8Rng::seed_from_u64(3));
            let with = |arch: Arch| {
                FORCED.set(Some(arch));
                bits(scenario.model(), &values, rows)
            };
            let narrowest = with(Arch::Scalar);
            for arch in available() {
                assert!(with(arch) == narrowest, "{}, {arch:?}", info.name);
            }
        }
    }
}
