//! The terms of an expression, with all that integration has to know of them.

use std::sync::Arc;

use super::breaks::{self, Span, Surface};
use super::cosines::{Distance, Ends};
use super::hills;
use super::pieces::{factors, is_affine_in, pieces};
use super::program::Scalar;
use super::turning;
use crate::expression::{Binary, Expression, Unary};
use crate::function::{Moving, Term};

/// The terms whose sum an expression is.
///
/// # Errors
/// What of its breaks cannot be told.
pub(super) fn terms(
    tree: &Expression,
    spans: &Arc<[Span]>,
    levels: &[Option<Vec<f64>>],
    heavy: &[bool],
    whole_turns: &[bool],
    lengths: &[Ends],
    rows: &[Vec<f64>],
) -> Result<Vec<Term>, String> {
    let fixed = breaks::all_fixed_places(&breaks::surfaces(tree, spans)?, spans);
    let maker = Maker { spans, levels, fixed: &fixed, heavy, whole_turns, lengths, rows };
    pieces(tree).iter().map(|piece| maker.term(piece, true)).collect()
}

struct Maker<'a> {
    spans: &'a Arc<[Span]>,
    /// Values of the features that have levels.
    levels: &'a [Option<Vec<f64>>],
    /// Fixed places of the whole expression along each feature.
    fixed: &'a [Vec<f64>],
    /// For each feature, true if its law has powers without a mean.
    heavy: &'a [bool],
    /// For each feature, true if it is an angle that may be any, and is told as such.
    whole_turns: &'a [bool],
    /// For each feature, the ends between which it is log-uniform, where it is and is independent of all others.
    lengths: &'a [Ends],
    /// Rows of the law, on which sizes are taken.
    rows: &'a [Vec<f64>],
}

impl Maker<'_> {
    fn term(&self, piece: &Expression, apart: bool) -> Result<Term, String> {
        let features = piece.features();
        let partials: Vec<Scalar> =
            features.iter().map(|&s| Scalar::of(&piece.partial(s))).collect();
        let (value, own) = (Scalar::of(piece), features.clone());
        let partial = move |s: usize, row: &[f64]| {
            own.iter().position(|&f| f == s).map_or(0.0, |place| partials[place].value(row))
        };
        let mut term = Term::new(&features, move |row| value.value(row), partial);
        for surface in breaks::surfaces(piece, self.spans)? {
            let has_density = |&s: &usize| self.levels[s].is_none();
            if surface.level.features().iter().any(has_density) && !surface.is_outside(self.spans) {
                term = self.breaking(term, piece, &surface);
            }
        }
        term = self.around_hills(term, piece);
        let affine = |s: usize| !self.heavy[s] && is_affine_in(piece, s);
        let affine = features.iter().copied().filter(|&s| affine(s));
        let affine: Vec<usize> = affine.collect();
        term = term.affine_in(&affine).of_size(self.size(piece));
        if let Some(angles) = turning::angles(piece, self.whole_turns) {
            let own = |term: Term| term.affine_in(&affine);
            term = self.distance(term.turning(angles), piece, angles, &own);
        }
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

    /// A term that is divided around the narrow hills of it.
    fn around_hills(&self, mut term: Term, piece: &Expression) -> Term {
        for line in hills::lines(piece, self.spans) {
            let has_density = |&(s, _): &(usize, f64)| self.levels[s].is_none();
            if line.weights.iter().all(has_density) {
                term = term.narrow_across(&line.weights, -line.constant);
            }
        }
        let forms = hills::quadratics(piece, self.spans);
        let others = hills::wandering(piece, self.spans, self.rows);
        if forms.is_empty() && others.is_empty() {
            return term;
        }
        let fixed = others.iter().flat_map(hills::Wandering::fixed);
        let fixed = fixed.filter(|&(s, _)| self.levels[s].is_none());
        term = fixed.fold(term, |term, (s, place)| term.narrow_across(&[(s, 1.0)], place));
        term.wandering().narrow_where(move |along, row, found| {
            found.extend(forms.iter().filter_map(|form| form.beside(along, row)).flatten());
            found.extend(others.iter().flat_map(|hills| hills.beside(along, row)));
        })
    }

    /// A term with what is known of it where it is a distance that two angles turn: its means over either of them, with
    /// what is true of both, and where it is shortest.
    fn distance(
        &self,
        term: Term,
        piece: &Expression,
        angles: [usize; 2],
        own: &dyn Fn(Term) -> Term,
    ) -> Term {
        let Some(distance) = Distance::of(piece, angles) else { return term };
        let mut surfaces: Vec<Surface> = Vec::new();
        for surface in distance.approaches().into_iter().map(Surface::of) {
            let features = surface.level.features();
            let have_densities = features.iter().all(|&s| self.levels[s].is_none());
            let is_known = surfaces.iter().any(|known| known.level == surface.level);
            if have_densities
                && !is_known
                && !features.is_empty()
                && !surface.is_outside(self.spans)
            {
                surfaces.push(surface);
            }
        }
        let approached = |term: Term| {
            surfaces.iter().fold(term.with_cusps(), |term, surface| {
                match surface.level.features().as_slice() {
                    &[feature] => {
                        let places = breaks::fixed_places(surface, feature, self.spans);
                        term.entering_at(feature, &places)
                    }
                    _ => self.breaking(term, piece, surface),
                }
            })
        };
        let mean = || approached(own(distance.mean()));
        let [first, second] = angles;
        let term = match distance.turn() {
            Some(turn) => term.mirrored_at(turn),
            None => term,
        };
        let over_length = |term: Term, (s, mean): (usize, Term)| term.averaging_to(&[s], mean);
        let term = distance
            .means_over_lengths(self.lengths)
            .into_iter()
            .fold(approached(term), over_length);
        // Where several serve equally well the last is taken.
        term.averaging_to(&[first], mean()).averaging_to(&[second], mean())
    }

    fn breaking(&self, term: Term, piece: &Expression, surface: &Surface) -> Term {
        let (mut features, summed): (Vec<usize>, Vec<usize>) =
            surface.level.features().into_iter().partition(|&s| self.levels[s].is_none());
        if let ([feature], [_, ..]) = (features.as_slice(), summed.as_slice()) {
            // At each combination of levels the surface is at fixed places.
            let places = self.places_by_level(surface, *feature, &summed);
            return term.breaking_at(*feature, &places);
        }
        // Those with a density come first: a jump moves along them.
        features.extend(summed);
        if let [feature] = features.as_slice() {
            let places = breaks::fixed_places(surface, *feature, self.spans);
            let near = |place: &&f64| {
                let reach = 100.0 * f64::EPSILON * place.abs().max(f64::MIN_POSITIVE);
                places.iter().any(|known| (known - **place).abs() <= reach)
            };
            let exact: Vec<f64> = self.fixed[*feature].iter().filter(near).copied().collect();
            return term.breaking_at(*feature, &exact);
        }
        let all_have_density = features.iter().all(|&s| self.levels[s].is_none());
        let line = surface.affine.as_ref().filter(|_| all_have_density);
        let mut term = match line {
            Some(affine) => term.breaking_across(&affine.weights, -affine.constant, 0.0),
            None => {
                let (surface, spans) = (surface.clone(), Arc::clone(self.spans));
                term.breaking_where(move |along, row, found| {
                    found.extend(breaks::places(&surface, along, row, &spans));
                })
            }
        };
        // Of a line it is known where it meets the points of a law.
        for &feature in features.iter().filter(|_| line.is_none()) {
            let places = breaks::entrances(surface, feature, self.spans);
            term = term.entering_at(feature, &places);
        }
        if surface.nodes.is_empty() {
            return term;
        }
        term.jumping_across(self.moving(piece, surface, features))
    }

    /// Places of a surface along a feature at all combinations of the levels of the others it reads.
    fn places_by_level(&self, surface: &Surface, along: usize, summed: &[usize]) -> Vec<f64> {
        let mut rows = vec![vec![f64::NAN; self.spans.len()]];
        for &feature in summed {
            let values = self.levels[feature].as_deref().unwrap_or_default();
            let with = |row: &Vec<f64>, value: f64| {
                let mut row = row.clone();
                row[feature] = value;
                row
            };
            rows = rows.iter().flat_map(|row| values.iter().map(|&v| with(row, v))).collect();
        }
        let mut found: Vec<f64> = Vec::new();
        for row in &mut rows {
            for place in breaks::roots(&surface.level, along, &self.spans[along], row) {
                let exact = surface.nodes.iter();
                let exact = exact.map(|node| breaks::exact_place(node, along, place, row));
                for place in exact.chain([place]) {
                    let beside = [place.next_down(), place, place.next_up()];
                    if !found.iter().any(|known| beside.contains(known)) {
                        found.push(place);
                    }
                }
            }
        }
        found
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

    /// Size that rounding is relative to, where summands cancel; else 0.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{feature, less};

    /// Each leaf and each step on the way to a value is rounded: what the value may be wrong by, in units of
    /// the relative error of one rounding, at x = 3 and y = ½.
    #[test]
    fn rounding_is_relative_to_what_a_value_is_made_of() {
        let (x, y) = (|| feature(0), || feature(1));
        let joint = |kind, a: Expression, b: Expression| Expression::Joint(kind, Box::new([a, b]));
        let (root, e) = (3_f64.sqrt(), 2.5_f64.exp());
        let six = 6_f64.sqrt();
        for (tree, value, size) in [
            (x(), 3.0, 3.0),
            (x() - y(), 2.5, 3.5),
            (x() + y(), 3.5, 3.5),
            // |y| |x| once for either factor.
            (x() * y(), 1.5, 3.0),
            ((x() - y()) * y(), 1.25, 1.75 + 1.25),
            ((x() - x()) * y(), 0.0, 0.0),
            // Of the quotient, of the numerator over the denominator, and of the denominator.
            (x() / y(), 6.0, 6.0 + 6.0 + 6.0),
            ((x() - y()) / y(), 5.0, 5.0 + 7.0 + 5.0),
            (y() / (x() - y()), 0.2, 0.2 + 0.2 + 0.2 * 3.5 / 2.5),
            // The slope times the size of the base.
            ((x() - y()).power(3.0), 15.625, 15.625 + 3.0 * 6.25 * 3.5),
            ((x() - y()).exp(), e, e + e * 3.5),
            ((x() - y()).of(Unary::Floor), 2.0, 2.0),
            ((y() - x()).of(Unary::Sign), -1.0, 1.0),
            (joint(Binary::Min, x(), y() - x()), -2.5, 3.5),
            (joint(Binary::Max, x(), y() - x()), 3.0, 3.5),
            (
                joint(Binary::Atan2, y(), x()),
                0.5_f64.atan2(3.0),
                0.5_f64.atan2(3.0) + 3.5 / 9.25_f64.sqrt(),
            ),
            (
                joint(Binary::Atan2, y() - x(), x()),
                (-2.5_f64).atan2(3.0),
                2.5_f64.atan2(3.0) + 6.5 / 15.25_f64.sqrt(),
            ),
            // v (1 + |b| + |b ln a|), and with a product for a base.
            (joint(Binary::Power, x(), y()), root, root * (1.0 + 0.5 + 0.5 * 3_f64.ln())),
            (joint(Binary::Power, 2.0 * x(), y()), six, six * (1.0 + 0.5 * 2.0 + 0.5 * 6_f64.ln())),
            (less(x(), 1.0), 0.0, 0.0),
            (less(1.0, x()), 1.0, 1.0),
            (Expression::If(Box::new([less(x(), 1.0), x(), x() - y()])), 2.5, 3.5),
            (Expression::If(Box::new([less(1.0, x()), x(), x() - y()])), 3.0, 3.0),
        ] {
            let found = rounding(&tree, &[3.0, 0.5]);
            assert!((found.0 - value).abs() <= 1e-15 * value.abs(), "{tree:?}: {found:?}");
            // Slopes are known to a few digits.
            assert!((found.1 - size).abs() <= 1e-6 * size, "{tree:?}: {found:?}, not {size}");
        }
    }

    /// The size of what cancels is told where it is more than four times what is left.
    #[test]
    fn a_term_in_which_nothing_cancels_has_no_size() {
        let spans: Arc<[Span]> = Arc::new([]);
        let size = |tree: Expression, rows: &[Vec<f64>]| {
            let maker = Maker {
                spans: &spans,
                levels: &[],
                fixed: &[],
                heavy: &[],
                whole_turns: &[],
                lengths: &[],
                rows,
            };
            maker.size(&tree)
        };
        let difference = || feature(0) - feature(1);
        for (row, known) in [
            ([1000.0, 999.0], 1999.0),
            ([24.0, 16.0], 40.0),
            ([2.5, 2.0], 4.5),
            // Exactly four times, and twice.
            ([2.5, 1.5], 0.0),
            ([3.0, 1.0], 0.0),
            ([-3.0, 1.0], 0.0),
        ] {
            assert_eq!(size(difference(), &[row.to_vec()]), known, "{row:?}");
        }
        // The largest ones count, wherever they are.
        assert_eq!(size(difference(), &[vec![1000.0, 999.0], vec![500.0, 0.0]]), 0.0);
        assert_eq!(size(difference(), &[vec![1000.0, 999.0], vec![0.5, 0.0]]), 1999.0);
        // Where both arguments vanish an angle has a value, and no size.
        let angle = || Expression::Joint(Binary::Atan2, Box::new([difference(), difference()]));
        let known = size(angle(), &[vec![3.0, 1.0]]);
        assert!((known - (0.25 * std::f64::consts::PI + 8_f64.sqrt())).abs() < 1e-12, "{known}");
        assert_eq!(size(angle(), &[vec![3.0, 3.0], vec![3.0, 1.0]]), known);
    }

    #[test]
    fn products_of_functions_of_other_features_are_taken_apart() {
        let span = || Span { points: vec![0.0, 1.0], marks: vec![0.0, 1.0] };
        let spans: Arc<[Span]> = Arc::new([span(), span()]);
        let factors = |tree: Expression| -> Vec<usize> {
            let terms =
                terms(&tree, &spans, &[None, None], &[false; 2], &[false; 2], &[None; 2], &[])
                    .unwrap();
            terms.iter().map(|term| term.factors().len()).collect()
        };
        let (x, y) = (|| feature(0), || feature(1));
        assert_eq!(factors(x().sin() * y().exp()), [2]);
        assert_eq!(factors((x() * y()).sin()), [0]);
        assert_eq!(factors(x().sin() * x().exp()), [0]);
        assert_eq!(factors(x().sin() * (x() * y()).exp()), [0]);
    }

    /// A function passes on the rounding of its argument by its slope, also close to where it ends.
    #[test]
    fn rounding_passes_through_functions() {
        for x in [1e-4_f64, 1e-3, 0.5, 40.0] {
            let log = Expression::Feature(0).of(Unary::Ln);
            let (value, size) = rounding(&log, &[x]);
            assert_eq!(value, x.ln());
            assert!((size - (x.ln().abs() + 1.0)).abs() < 1e-3, "{x}: {size}");
        }
        let (value, size) = rounding(&Expression::Feature(0).of(Unary::Sin), &[0.0]);
        assert_eq!((value, size), (0.0, 0.0));
    }
}
