//! The terms of an additive model: where their coefficients are, and what is asked of them.

use std::collections::BTreeMap;

use nalgebra::DMatrix;

use super::basis::{Basis, Four};
use crate::streaming_qr::StreamingQr;

/// The sum of an intercept and of functions of one or two features, each linear in its coefficients.
/// The intercept is coefficient 0.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Terms {
    /// Splines with the feature that they are of: those of its own function, and those in products.
    bases: Vec<(usize, Basis)>,
    terms: Vec<Term>,
    coefficients: usize,
}

/// A function of some features.
#[derive(Debug, Clone, PartialEq)]
struct Term {
    /// Number of its first coefficient.
    start: usize,
    kind: TermKind,
}

/// The numbers of its splines.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TermKind {
    /// Splines of a feature.
    Spline(usize),
    /// Products of the splines of two features; those of the second run faster.
    Tensor([usize; 2]),
}

/// Second differences of the coefficients of a function.
pub(super) struct Differences {
    /// Number of the first of the coefficients.
    pub(super) start: usize,
    /// The triangular factor of all differences, with a column for each coefficient.
    pub(super) factor: DMatrix<f64>,
}

impl Terms {
    /// Splines of each feature and products of splines for some pairs of features.
    pub(super) fn new(
        columns: &[Vec<f64>],
        splines: usize,
        pairs: &[[usize; 2]],
        tensor_splines: usize,
    ) -> Self {
        let over = |s: usize, splines: usize| (s, Basis::over(&columns[s], splines));
        let mut bases: Vec<_> = (0..columns.len()).map(|s| over(s, splines)).collect();
        let mut in_products = BTreeMap::new();
        for &s in pairs.iter().flatten() {
            in_products.entry(s).or_insert_with(|| {
                bases.push(over(s, tensor_splines));
                bases.len() - 1
            });
        }
        let mut coefficients = 1;
        let place = |kind: TermKind| {
            let start = coefficients;
            coefficients += match kind {
                TermKind::Spline(_) => splines,
                TermKind::Tensor(_) => tensor_splines * tensor_splines,
            };
            Term { start, kind }
        };
        let single = (0..columns.len()).map(TermKind::Spline);
        let product = |pair: &[usize; 2]| TermKind::Tensor(pair.map(|s| in_products[&s]));
        let terms = single.chain(pairs.iter().map(product)).map(place).collect();
        Self { bases, terms, coefficients }
    }

    /// Number of coefficients.
    pub(super) fn coefficients(&self) -> usize {
        self.coefficients
    }

    /// For each function its features, and the knots along each of these.
    pub(super) fn knots(&self) -> Vec<Vec<(usize, Vec<f64>)>> {
        let knots = |of: &usize| (self.bases[*of].0, self.bases[*of].1.knots());
        self.terms.iter().map(|term| term.splines().iter().map(knots).collect()).collect()
    }

    /// Writes the splines at a row, in place of those of another one.
    pub(super) fn read(&self, row: impl Fn(usize) -> f64, splines: &mut Vec<Four>) {
        splines.clear();
        splines.extend(self.bases.iter().map(|(s, basis)| basis.at(row(*s))));
    }

    /// The splines of a feature at each of some places; of the others there are none.
    pub(super) fn along(&self, feature: usize, places: &[f64]) -> Vec<Vec<Four>> {
        let of = |(s, basis): &(usize, Basis)| match *s == feature {
            true => places.iter().map(|&x| basis.at(x)).collect(),
            false => Vec::new(),
        };
        self.bases.iter().map(of).collect()
    }

    /// The splines at a row, those of a feature replaced by their derivatives.
    fn sloped(&self, feature: usize, row: impl Fn(usize) -> f64) -> Vec<Four> {
        let of = |(s, basis): &(usize, Basis)| match *s == feature {
            true => basis.slope_at(row(*s)),
            false => basis.at(row(*s)),
        };
        self.bases.iter().map(of).collect()
    }

    /// The value of one of the functions at a row, by its number and all coefficients.
    pub(super) fn value_of(&self, number: usize, coefficients: &[f64], row: &[f64]) -> f64 {
        let splines = |of: usize| self.bases[of].1.at(row[self.bases[of].0]);
        self.sum_of(&self.terms[number], splines, coefficients)
    }

    /// The same of its derivative with respect to a feature.
    pub(super) fn slope_of(
        &self,
        (number, feature): (usize, usize),
        coefficients: &[f64],
        row: &[f64],
    ) -> f64 {
        let term = &self.terms[number];
        if !self.has(term, feature) {
            return 0.0;
        }
        let splines = |of: usize| match &self.bases[of] {
            (s, basis) if *s == feature => basis.slope_at(row[*s]),
            (s, basis) => basis.at(row[*s]),
        };
        self.sum_of(term, splines, coefficients)
    }

    /// A function where the splines are these: as the sum over [`Self::visit`], added up four by four.
    fn sum_of(&self, term: &Term, splines: impl Fn(usize) -> Four, coefficients: &[f64]) -> f64 {
        let own = &coefficients[term.start..];
        match term.kind {
            TermKind::Spline(of) => dot(own, splines(of)),
            TermKind::Tensor([of, other]) => {
                let ((first, four), along) = (splines(of), splines(other));
                let stride = self.bases[other].1.len();
                let rows = own[first * stride..].chunks(stride);
                four.iter().zip(rows).map(|(factor, row)| factor * dot(row, along)).sum()
            }
        }
    }

    /// Calls `visit` with each coefficient that matters where the splines are these, and its factor there.
    pub(super) fn at(&self, splines: &[Four], mut visit: impl FnMut(usize, f64)) {
        visit(0, 1.0);
        self.terms.iter().for_each(|term| self.visit(term, |of| splines[of], &mut visit));
    }

    /// Writes the sum of coefficients times factors at a row with a feature at each of some places, added up in the
    /// order of [`Self::at`].
    pub(super) fn sums_along(
        &self,
        (feature, places): (usize, &[Vec<Four>]),
        coefficients: &[f64],
        row: &[Four],
        sums: &mut [f64],
    ) {
        sums.fill(coefficients[0]);
        for term in &self.terms {
            if self.has(term, feature) {
                for (place, sum) in sums.iter_mut().enumerate() {
                    let splines = |of: usize| places[of].get(place).copied().unwrap_or(row[of]);
                    self.visit(term, splines, &mut |k, factor| *sum += coefficients[k] * factor);
                }
            } else {
                let add = &mut |k: usize, factor: f64| {
                    let summand = coefficients[k] * factor;
                    sums.iter_mut().for_each(|sum| *sum += summand);
                };
                self.visit(term, |of| row[of], add);
            }
        }
    }

    /// As [`Self::at`], for the derivative with respect to a feature.
    pub(super) fn slope_at(
        &self,
        feature: usize,
        row: impl Fn(usize) -> f64,
        mut visit: impl FnMut(usize, f64),
    ) {
        let splines = self.sloped(feature, row);
        for term in self.terms.iter().filter(|term| self.has(term, feature)) {
            self.visit(term, |of| splines[of], &mut visit);
        }
    }

    /// The function of a feature alone, if no other term has the feature: coefficients and factors.
    pub(super) fn alone_at(
        &self,
        feature: usize,
        x: f64,
        mut visit: impl FnMut(usize, f64),
    ) -> Option<()> {
        let mut with = self.terms.iter().filter(|term| self.has(term, feature));
        let own = with.next()?;
        if with.next().is_some() {
            return None;
        }
        self.visit(own, |of| self.bases[of].1.at(x), &mut visit);
        Some(())
    }

    /// Second differences of neighbouring coefficients, along each feature of each term, whose squares, summed, are
    /// the penalty; beside them their rank.
    pub(super) fn differences(&self) -> (Vec<Differences>, usize) {
        let of = |term: &Term| {
            let (grid, free) = match term.kind {
                TermKind::Spline(of) => ([1, self.bases[of].1.len()], 2),
                TermKind::Tensor(pair) => (pair.map(|of| self.bases[of].1.len()), 4),
            };
            let factor = factor(grid);
            (Differences { start: term.start, factor }, grid[0] * grid[1] - free)
        };
        let (all, ranks): (Vec<_>, Vec<usize>) = self.terms.iter().map(of).unzip();
        (all, ranks.iter().sum())
    }

    /// Calls `visit` with each coefficient of a function that matters where the splines are these.
    fn visit(
        &self,
        term: &Term,
        splines: impl Fn(usize) -> Four,
        visit: &mut impl FnMut(usize, f64),
    ) {
        match term.kind {
            TermKind::Spline(of) => {
                let (first, four) = splines(of);
                four.iter().enumerate().for_each(|(i, b)| visit(term.start + first + i, *b));
            }
            TermKind::Tensor([of, other]) => {
                let (a, b) = (splines(of), splines(other));
                let stride = self.bases[other].1.len();
                for (i, x) in a.1.iter().enumerate() {
                    for (j, y) in b.1.iter().enumerate() {
                        visit(term.start + (a.0 + i) * stride + b.0 + j, x * y);
                    }
                }
            }
        }
    }

    fn has(&self, term: &Term, feature: usize) -> bool {
        term.splines().iter().any(|&of| self.bases[of].0 == feature)
    }
}

impl Term {
    /// The numbers of its splines.
    fn splines(&self) -> &[usize] {
        match &self.kind {
            TermKind::Spline(of) => std::slice::from_ref(of),
            TermKind::Tensor(pair) => pair,
        }
    }
}

/// The sum of four coefficients times their splines.
fn dot(coefficients: &[f64], (first, four): Four) -> f64 {
    coefficients[first..].iter().zip(four).map(|(coefficient, b)| coefficient * b).sum()
}

/// Each triple of neighbours on a grid that is full, along both axes; those of the second run faster.
fn triples([rows, columns]: [usize; 2]) -> Vec<[usize; 3]> {
    let at = |i: usize, j: usize| i * columns + j;
    let along =
        |i: usize| (0..columns.saturating_sub(2)).map(move |j| [0, 1, 2].map(|k| at(i, j + k)));
    let across =
        |j: usize| (0..rows.saturating_sub(2)).map(move |i| [0, 1, 2].map(|k| at(i + k, j)));
    (0..rows).flat_map(along).chain((0..columns).flat_map(across)).collect()
}

/// The triangular factor of second differences on such a grid.
fn factor(grid: [usize; 2]) -> DMatrix<f64> {
    let triples = triples(grid);
    let mut rows = DMatrix::zeros(triples.len(), grid[0] * grid[1]);
    for (row, triple) in triples.into_iter().enumerate() {
        for (at, weight) in triple.into_iter().zip([1.0, -2.0, 1.0]) {
            rows[(row, at)] = weight;
        }
    }
    let mut triangle = StreamingQr::new(rows.ncols());
    triangle.absorb(rows);
    triangle.into_r()
}
