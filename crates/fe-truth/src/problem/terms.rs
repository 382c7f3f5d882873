//! The terms of an expression, with all that integration has to know of them.

use std::sync::Arc;

use super::breaks::{self, Span, Surface};
use super::pieces::{factors, is_affine_in, pieces};
use crate::expression::{Binary, Expression, Unary};
use crate::function::{Moving, Term};

/// The terms whose sum an expression is.
///
/// # Errors
/// What of its breaks cannot be told.
pub(super) fn terms(
    tree: &Expression,
    spans: &Arc<[Span]>,
    heavy: &[bool],
    rows: &[Vec<f64>],
) -> Result<Vec<Term>, String> {
    let fixed = breaks::all_fixed_places(&breaks::surfaces(tree, spans)?, spans);
    let maker = Maker { spans, fixed: &fixed, heavy, rows };
    pieces(tree).iter().map(|piece| maker.term(piece, true)).collect()
}

struct Maker<'a> {
    spans: &'a Arc<[Span]>,
    /// Fixed places of the whole expression along each feature.
    fixed: &'a [Vec<f64>],
    /// Whether the law of each feature has powers without a mean.
    heavy: &'a [bool],
    /// Rows of the law, on which sizes are taken.
    rows: &'a [Vec<f64>],
}

impl Maker<'_> {
    fn term(&self, piece: &Expression, apart: bool) -> Result<Term, String> {
        let features = piece.features();
        let partials: Vec<Expression> = features.iter().map(|&s| piece.partial(s)).collect();
        let (tree, own) = (piece.clone(), features.clone());
        let partial = move |s: usize, row: &[f64]| {
            own.iter().position(|&f| f == s).map_or(0.0, |place| partials[place].value(row))
        };
        let mut term = Term::new(&features, move |row| tree.value(row), partial);
        for surface in breaks::surfaces(piece, self.spans)? {
            if !surface.is_outside(self.spans) {
                term = self.breaking(term, piece, &surface);
            }
        }
        let affine = |s: usize| !self.heavy[s] && is_affine_in(piece, s);
        let affine = features.iter().copied().filter(|&s| affine(s));
        let affine: Vec<usize> = affine.collect();
        term = term.affine_in(&affine).of_size(self.size(piece));
        if apart && features.len() > 1 {
            let parts = factors(piece);
            if parts.len() > 1 {
                let parts: Result<Vec<Term>, String> =
                    parts.iter().map(|part| self.term(part, false)).collect();
                term = term.with_factors(parts?);
            }
        }
        Ok(term)
    }

    fn breaking(&self, term: Term, piece: &Expression, surface: &Surface) -> Term {
        let features = surface.level.features();
        if let [feature] = features.as_slice() {
            let places = breaks::fixed_places(surface, *feature, self.spans);
            let near = |place: &&f64| {
                let reach = 100.0 * f64::EPSILON * place.abs().max(f64::MIN_POSITIVE);
                places.iter().any(|known| (known - **place).abs() <= reach)
            };
            let exact: Vec<f64> = self.fixed[*feature].iter().filter(near).copied().collect();
            return term.breaking_at(*feature, &exact);
        }
        let mut term = match &surface.affine {
            Some(affine) => term.breaking_across(&affine.weights, -affine.constant, 0.0),
            None => {
                let (surface, spans) = (surface.clone(), Arc::clone(self.spans));
                term.breaking_where(move |along, row, found| {
                    found.extend(breaks::places(&surface, along, row, &spans));
                })
            }
        };
        for &feature in &features {
            let places = breaks::entrances(surface, feature, self.spans);
            term = term.entering_at(feature, &places);
        }
        if surface.nodes.is_empty() {
            return term;
        }
        term.jumping_across(self.moving(piece, surface, features))
    }

    fn moving(&self, piece: &Expression, surface: &Surface, features: Vec<usize>) -> Moving {
        let side = |above: bool| breaks::on_side(piece, surface, above, self.spans);
        let jump = side(true) - side(false);
        let slopes: Vec<(usize, Expression)> =
            features.iter().map(|&s| (s, surface.level.partial(s))).collect();
        let level = surface.level.clone();
        let (surface, spans) = (surface.clone(), Arc::clone(self.spans));
        Moving {
            features,
            places: Box::new(move |along, row| breaks::places(&surface, along, row, &spans)),
            level: Box::new(move |row| level.value(row)),
            slope: Box::new(move |s, row| {
                let slope = slopes.iter().find(|(feature, _)| *feature == s);
                slope.map_or(0.0, |(_, tree)| tree.value(row))
            }),
            jump: Box::new(move |row| jump.value(row)),
        }
    }

    /// What rounding is relative to, where summands cancel; else 0.
    fn size(&self, piece: &Expression) -> f64 {
        let (mut values, mut sizes) = (0.0_f64, 0.0_f64);
        for row in self.rows {
            let (value, size) = rounding(piece, row);
            if value.is_finite() && size.is_finite() {
                values = values.max(value.abs());
                sizes = sizes.max(size);
            }
        }
        if sizes > 4.0 * values { sizes } else { 0.0 }
    }
}

/// The value of an expression, and the size of what its rounding is relative to.
fn rounding(tree: &Expression, row: &[f64]) -> (f64, f64) {
    let value = tree.value(row);
    let through = |slope: f64, size: f64| (value, value.abs() + (slope * size).abs());
    let pair = |pair: &[Expression; 2]| [rounding(&pair[0], row), rounding(&pair[1], row)];
    match tree {
        Expression::Number(_) | Expression::Feature(_) => (value, value.abs()),
        Expression::Sum(parts) => (value, parts.iter().map(|part| rounding(part, row).1).sum()),
        Expression::Difference(of) => {
            let [a, b] = pair(of);
            (value, a.1 + b.1)
        }
        Expression::Product(parts) => {
            let relative: f64 = parts
                .iter()
                .map(|part| rounding(part, row))
                .map(|(v, size)| if v == 0.0 { 1.0 } else { size / v.abs() })
                .sum();
            (value, value.abs() * relative)
        }
        Expression::Quotient(of) => {
            let [a, b] = pair(of);
            (value, value.abs() + a.1 / b.0.abs() + (value * b.1 / b.0).abs())
        }
        Expression::Power(of, power) => {
            let (base, size) = rounding(of, row);
            through(power * base.powf(power - 1.0), size)
        }
        Expression::Function(function, of) => {
            let (x, size) = rounding(of, row);
            if matches!(function, Unary::Floor | Unary::Sign) {
                return (value, value.abs());
            }
            // The slope to a few digits is enough.
            let step = 1e-6 * (1e-3 + x.abs());
            through((function.of(x + step) - function.of(x - step)) / (2.0 * step), size)
        }
        Expression::Joint(function, of) => {
            let [a, b] = pair(of);
            match function {
                Binary::Min | Binary::Max => (value, a.1.max(b.1)),
                Binary::Atan2 => (value, value.abs() + (a.1 + b.1) / a.0.hypot(b.0)),
                Binary::Power => {
                    let by_base = (b.0 * value / a.0 * a.1).abs();
                    (value, value.abs() + by_base + (value * a.0.abs().ln() * b.1).abs())
                }
            }
        }
        Expression::Indicator(..) => (value, value),
        Expression::If(parts) => {
            let side = if parts[0].value(row) == 0.0 { 2 } else { 1 };
            rounding(&parts[side], row)
        }
    }
}
