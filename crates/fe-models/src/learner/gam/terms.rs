//! The terms of an additive model: where their coefficients are, and what is asked of them.

use nalgebra::DMatrix;

use super::basis::{Basis, Four};

/// The sum of an intercept and of functions of one or two features, each linear in its coefficients.
/// The intercept is coefficient 0.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Terms {
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

#[derive(Debug, Clone, PartialEq)]
enum TermKind {
    /// Splines of a feature.
    Spline(usize, Basis),
    /// Products of the splines of two features; those of the second run faster.
    Tensor([usize; 2], [Basis; 2]),
}

impl TermKind {
    fn coefficients(&self) -> usize {
        match self {
            TermKind::Spline(_, basis) => basis.len(),
            TermKind::Tensor(_, [first, second]) => first.len() * second.len(),
        }
    }
}

impl Terms {
    /// Splines of each feature and products of splines for some pairs of features.
    pub(super) fn new(
        columns: &[Vec<f64>],
        splines: usize,
        pairs: &[[usize; 2]],
        tensor_splines: usize,
    ) -> Self {
        let single = |s: usize| TermKind::Spline(s, Basis::over(&columns[s], splines));
        let margin = |s: usize| Basis::over(&columns[s], tensor_splines);
        let tensor = |pair: &[usize; 2]| TermKind::Tensor(*pair, pair.map(margin));
        let kinds = (0..columns.len()).map(single).chain(pairs.iter().map(tensor));
        let mut coefficients = 1;
        let place = |kind: TermKind| {
            let start = coefficients;
            coefficients += kind.coefficients();
            Term { start, kind }
        };
        let terms = kinds.map(place).collect();
        Self { terms, coefficients }
    }

    /// Number of coefficients.
    pub(super) fn coefficients(&self) -> usize {
        self.coefficients
    }

    /// For each function its features, and the knots along each of these.
    pub(super) fn knots(&self) -> Vec<Vec<(usize, Vec<f64>)>> {
        let of = |term: &Term| match &term.kind {
            TermKind::Spline(s, basis) => vec![(*s, basis.knots())],
            TermKind::Tensor([s, t], [a, b]) => vec![(*s, a.knots()), (*t, b.knots())],
        };
        self.terms.iter().map(of).collect()
    }

    /// The value of one of the functions at a row, by its number and all coefficients.
    pub(super) fn value_of(&self, number: usize, coefficients: &[f64], row: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.terms[number].at(&|s| row[s], &mut |k, factor| sum += coefficients[k] * factor);
        sum
    }

    /// The same of its derivative with respect to a feature.
    pub(super) fn slope_of(
        &self,
        (number, feature): (usize, usize),
        coefficients: &[f64],
        row: &[f64],
    ) -> f64 {
        let mut sum = 0.0;
        let mut visit = |k: usize, factor: f64| sum += coefficients[k] * factor;
        self.terms[number].slope_at(feature, &|s| row[s], &mut visit);
        sum
    }

    /// Calls `visit` with each coefficient that matters at a row, and its factor there.
    pub(super) fn at(&self, row: impl Fn(usize) -> f64, mut visit: impl FnMut(usize, f64)) {
        visit(0, 1.0);
        self.terms.iter().for_each(|term| term.at(&row, &mut visit));
    }

    /// The same for the derivative with respect to a feature.
    pub(super) fn slope_at(
        &self,
        feature: usize,
        row: impl Fn(usize) -> f64,
        mut visit: impl FnMut(usize, f64),
    ) {
        self.terms.iter().for_each(|term| term.slope_at(feature, &row, &mut visit));
    }

    /// The function of a feature alone, if no other term has the feature: coefficients and factors.
    pub(super) fn alone_at(
        &self,
        feature: usize,
        x: f64,
        mut visit: impl FnMut(usize, f64),
    ) -> Option<()> {
        let mut own = None;
        for term in &self.terms {
            match &term.kind {
                TermKind::Spline(s, basis) if *s == feature => own = Some((term.start, basis)),
                TermKind::Tensor(pair, _) if pair.contains(&feature) => return None,
                _ => {}
            }
        }
        let (start, basis) = own?;
        let (first, four) = basis.at(x);
        four.iter().enumerate().for_each(|(i, b)| visit(start + first + i, *b));
        Some(())
    }

    /// Second differences of neighbouring coefficients, along each feature of each term: the rows of a
    /// matrix D whose squares, summed, are the penalty. Beside it the rank of D.
    pub(super) fn differences(&self) -> (DMatrix<f64>, usize) {
        // Each triple of coefficients that follow each other.
        let mut triples: Vec<[usize; 3]> = Vec::new();
        let mut rank = 0;
        for Term { start, kind } in &self.terms {
            match kind {
                TermKind::Spline(_, basis) => {
                    rank += basis.len() - 2;
                    triples.extend((*start..start + basis.len() - 2).map(|i| [i, i + 1, i + 2]));
                }
                TermKind::Tensor(_, [a, b]) => {
                    rank += a.len() * b.len() - 4;
                    let at = |i: usize, j: usize| start + i * b.len() + j;
                    for i in 0..a.len() {
                        triples.extend((0..b.len() - 2).map(|j| [0, 1, 2].map(|k| at(i, j + k))));
                    }
                    for j in 0..b.len() {
                        triples.extend((0..a.len() - 2).map(|i| [0, 1, 2].map(|k| at(i + k, j))));
                    }
                }
            }
        }
        let mut rows = DMatrix::zeros(triples.len(), self.coefficients);
        for (row, [a, b, c]) in triples.into_iter().enumerate() {
            rows[(row, a)] = 1.0;
            rows[(row, b)] = -2.0;
            rows[(row, c)] = 1.0;
        }
        (rows, rank)
    }
}

impl Term {
    fn at(&self, row: &impl Fn(usize) -> f64, visit: &mut impl FnMut(usize, f64)) {
        match &self.kind {
            TermKind::Spline(s, basis) => self.single(basis.at(row(*s)), visit),
            TermKind::Tensor([s, t], [a, b]) => {
                self.product(a.at(row(*s)), b.at(row(*t)), b.len(), visit);
            }
        }
    }

    fn slope_at(
        &self,
        feature: usize,
        row: &impl Fn(usize) -> f64,
        visit: &mut impl FnMut(usize, f64),
    ) {
        match &self.kind {
            TermKind::Spline(s, basis) if *s == feature => {
                self.single(basis.slope_at(row(*s)), visit);
            }
            TermKind::Tensor([s, t], [a, b]) if *s == feature => {
                self.product(a.slope_at(row(*s)), b.at(row(*t)), b.len(), visit);
            }
            TermKind::Tensor([s, t], [a, b]) if *t == feature => {
                self.product(a.at(row(*s)), b.slope_at(row(*t)), b.len(), visit);
            }
            _ => {}
        }
    }

    fn single(&self, (first, four): Four, visit: &mut impl FnMut(usize, f64)) {
        four.iter().enumerate().for_each(|(i, b)| visit(self.start + first + i, *b));
    }

    fn product(
        &self,
        first: Four,
        second: Four,
        stride: usize,
        visit: &mut impl FnMut(usize, f64),
    ) {
        for (i, a) in first.1.iter().enumerate() {
            for (j, b) in second.1.iter().enumerate() {
                visit(self.start + (first.0 + i) * stride + second.0 + j, a * b);
            }
        }
    }
}
