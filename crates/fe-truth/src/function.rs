//! Functions as sums of terms, and as fast models of whole rows.

use fe_core::Model;
use fe_core::error::ModelError;
use fe_core::model::{Column, Rows};

use crate::quadrature::Estimate;

type Value = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;
type Partial = Box<dyn Fn(usize, &[f64]) -> f64 + Send + Sync>;
type Breaks = Box<dyn Fn(usize, &[f64], &mut Vec<f64>) + Send + Sync>;

/// A line across which a term jumps or has a kink: where a weighted sum of features has a level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// Features with their weights, none of them 0.
    pub(crate) weights: Vec<(usize, f64)>,
    pub(crate) level: f64,
    /// By how much the term jumps as the weighted sum rises through the level.
    pub(crate) jump: f64,
}

impl Line {
    /// Where along a feature the line is, given the other features of the row.
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
    /// Size of what rounding of a value is relative to, where that is not the value.
    size: f64,
    lines: Vec<Line>,
    /// Means of the term over some of its features, as terms of the others.
    averages: Vec<(Vec<usize>, Term)>,
    /// Two angles on whose difference alone the term depends.
    angles: Option<[usize; 2]>,
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
            size: 0.0,
            lines: Vec::new(),
            averages: Vec::new(),
            angles: None,
        }
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
        Self { breaks, ..self }
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
                lines.push(Line { weights, level, jump });
                Self { lines, ..self }
            }
        }
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

    /// Declares that the term depends on two angles through their difference alone; both are
    /// independent of each other and of all the rest, and uniform on [0, 2π].
    pub(crate) fn turning(self, angles: [usize; 2]) -> Self {
        Self { angles: Some(angles), ..self }
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
        Estimate::of_size(self.value(row), self.size)
    }

    pub(crate) fn partial(&self, feature: usize, row: &[f64]) -> f64 {
        (self.partial)(feature, row)
    }

    /// Adds the places along a feature where the term is not smooth, given the other features of
    /// the row. A feature that is not known yet is NaN; places that depend on it are left out.
    pub(crate) fn breaks(&self, along: usize, row: &[f64], found: &mut Vec<f64>) {
        (self.breaks)(along, row, found);
        found.extend(self.lines.iter().filter_map(|line| line.place(along, row)));
    }
}

/// A function of a scenario: as terms for exact integration, and natively for speed.
pub(crate) trait Function: Send + Sync + 'static {
    /// Number of features.
    fn dimension(&self) -> usize;
    /// How many leading features the native form reads.
    fn active(&self) -> usize {
        self.dimension()
    }
    /// The terms whose sum the function is.
    fn terms(&self) -> Vec<Term>;
    /// The value at a row.
    fn value(&self, x: &[f64]) -> f64;
    /// The partial derivative along a feature that is read.
    fn partial(&self, s: usize, x: &[f64]) -> f64;
}

/// The native form of a function as a model.
pub(crate) struct Native<F>(pub(crate) F);

impl<F: Function> Native<F> {
    /// Rows are gathered tile by tile, feature by feature: gathering must not cost more than f.
    fn each_row(&self, rows: &Rows<'_>, values: &mut [f64], f: impl Fn(&[f64]) -> f64) {
        const TILE: usize = 64;
        let width = self.0.active();
        let mut tile = vec![0.0; TILE * width];
        for (start, values) in (0..).step_by(TILE).zip(values.chunks_mut(TILE)) {
            for (feature, column) in rows.columns()[..width].iter().enumerate() {
                let places = tile.iter_mut().skip(feature).step_by(width).take(values.len());
                match column {
                    Column::Constant(constant) => places.for_each(|place| *place = *constant),
                    Column::Values(column) => {
                        places.zip(&column[start..]).for_each(|(place, x)| *place = *x);
                    }
                }
            }
            for (value, row) in values.iter_mut().zip(tile.chunks_exact(width)) {
                *value = f(row);
            }
        }
    }
}

impl<F: Function> Model for Native<F> {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        self.each_row(rows, values, |x| self.0.value(x));
        Ok(())
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(
        &self,
        feature: usize,
        rows: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        if feature < self.0.active() {
            self.each_row(rows, values, |x| self.0.partial(feature, x));
        } else if feature < self.0.dimension() {
            values.fill(0.0);
        } else {
            return Err(ModelError::NoDerivative { feature });
        }
        Ok(())
    }
}
