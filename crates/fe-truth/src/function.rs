//! Functions as sums of terms, and as fast models of whole rows.

use fe_core::Model;
use fe_core::error::ModelError;
use fe_core::model::{Column, Rows};

type Value = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;
type Partial = Box<dyn Fn(usize, &[f64]) -> f64 + Send + Sync>;
type Breaks = Box<dyn Fn(usize, &[f64], &mut Vec<f64>) + Send + Sync>;

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

    pub(crate) fn partial(&self, feature: usize, row: &[f64]) -> f64 {
        (self.partial)(feature, row)
    }

    /// Adds the places along a feature where the term is not smooth, given the other features of
    /// the row. A feature that is not known yet is NaN; places that depend on it are left out.
    pub(crate) fn breaks(&self, along: usize, row: &[f64], found: &mut Vec<f64>) {
        (self.breaks)(along, row, found);
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
