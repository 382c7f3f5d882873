//! Narrow hills of an expression, such as exp(−10⁴ (x1 − x2)²): nodes of a rule that lie beside one do not tell that it is
//! there, so that integrals are divided around it.
//!
//! A hill is looked for in the logarithm of its height, which is wide however narrow the hill is: a sum of exponents, of
//! logarithms of bases times their powers, and of those of factors. One that depends on a single weighted sum of features
//! lies along lines; one whose exponent is a quadratic form of several has the places of its top along each of them; any
//! other one is looked for along a feature wherever the others are known.

use std::sync::Arc;

use super::breaks::Span;
use super::peaks::{DEPTH, climb, falls_by};
use super::pieces::{Affine, pieces};
use super::program::Scalar;
use crate::expression::{Binary, Expression, Unary};

/// The fall of the logarithm of a height from which on a node of a rule does not see it any more.
const FAINT: f64 = 20.0;
/// A hill is narrow if what is seen of it is below this share of the widest distance of points that the density of a feature
/// is resolved by: of the twenty nodes of a rule there are two at least in wider ones.
const NARROW: f64 = 0.2;
/// Share of the places that are looked at from which hills are seen above which there are others to see them.
const MANY: f64 = 0.15;
/// Places along a weighted sum of features at which its logarithm is looked at.
const LOOKED_AT: usize = 512;

/// For each product, quotient, power or exponential in an expression the logarithm of its size, as summands.
fn heights(tree: &Expression, found: &mut Vec<Vec<Expression>>) {
    let (mut summands, mut inner) = (Vec::new(), Vec::new());
    if is_product(tree) {
        logarithm(tree, 1.0, &mut summands, &mut inner);
        summands.retain(|height| !height.features().is_empty());
        found.push(summands);
    } else {
        inner.extend(tree.parts());
    }
    inner.into_iter().for_each(|part| heights(part, found));
}

fn is_product(tree: &Expression) -> bool {
    match tree {
        Expression::Product(_) | Expression::Quotient(_) | Expression::Power(..) => true,
        Expression::Function(function, _) => matches!(function, Unary::Exp | Unary::Cosh),
        Expression::Joint(Binary::Power, pair) => matches!(pair[0], Expression::Number(_)),
        _ => false,
    }
}

/// The logarithm of the size of an expression times a factor, as summands, and parts that may have hills of their own.
fn logarithm<'a>(
    tree: &'a Expression,
    factor: f64,
    into: &mut Vec<Expression>,
    inner: &mut Vec<&'a Expression>,
) {
    match tree {
        Expression::Product(parts) => {
            parts.iter().for_each(|part| logarithm(part, factor, into, inner));
        }
        Expression::Quotient(pair) => {
            logarithm(&pair[0], factor, into, inner);
            logarithm(&pair[1], -factor, into, inner);
        }
        Expression::Power(of, power) => logarithm(of, factor * power, into, inner),
        Expression::Function(Unary::Exp, of) => {
            into.extend(pieces(&(factor * (**of).clone())));
            inner.push(of);
        }
        // To a factor of two.
        Expression::Function(Unary::Cosh, of) => {
            into.push(factor * (**of).clone().of(Unary::Abs));
            inner.push(of);
        }
        Expression::Joint(Binary::Power, pair) if is_product(tree) => {
            let base = pair[0].value(&[]).ln();
            into.extend(pieces(&(factor * base * pair[1].clone())));
            inner.push(&pair[1]);
        }
        _ => {
            into.push(factor * logarithm_of_sum(tree));
            inner.extend(tree.parts());
        }
    }
}

/// The logarithm of the size of what is no product. Exponentials in a sum may be larger than any number: of such the
/// largest counts, to a factor of their number.
fn logarithm_of_sum(tree: &Expression) -> Expression {
    let parts = match tree {
        Expression::Sum(parts) => parts.as_slice(),
        Expression::Difference(pair) => &**pair,
        _ => &[],
    };
    if !parts.iter().any(is_exponential) {
        return tree.clone().of(Unary::Abs).of(Unary::Ln);
    }
    let each = parts.iter().map(|part| {
        let (mut summands, mut inner) = (Vec::new(), Vec::new());
        logarithm(part, 1.0, &mut summands, &mut inner);
        summands.into_iter().fold(Expression::Number(0.0), |sum, part| sum + part)
    });
    let larger = |a, b| Expression::Joint(Binary::Max, Box::new([a, b]));
    each.reduce(larger).unwrap_or(Expression::Number(0.0))
}

/// True if an exponential is a factor of an expression, or of a summand of it.
fn is_exponential(tree: &Expression) -> bool {
    match tree {
        Expression::Function(Unary::Exp | Unary::Cosh, _) => true,
        Expression::Joint(Binary::Power, _) => is_product(tree),
        Expression::Sum(_)
        | Expression::Difference(_)
        | Expression::Product(_)
        | Expression::Quotient(_)
        | Expression::Power(..) => tree.parts().iter().any(is_exponential),
        _ => false,
    }
}

fn heights_of(tree: &Expression) -> Vec<Vec<Expression>> {
    let mut found = Vec::new();
    heights(tree, &mut found);
    found
}

/// Sums of those summands that are tied by features.
fn tied(summands: &[Expression]) -> Vec<Vec<Expression>> {
    let mut groups: Vec<Vec<Expression>> = Vec::new();
    for summand in summands {
        let features = summand.features();
        let touches = |group: &Vec<Expression>| {
            group.iter().any(|other| features.iter().any(|&feature| other.reads(feature)))
        };
        let (touching, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(touches);
        groups = apart;
        let others = touching.into_iter().flatten();
        groups.push(others.chain([summand.clone()]).collect());
    }
    groups
}

fn sum(of: &[Expression]) -> Expression {
    of.iter().fold(Expression::Number(0.0), |sum, part| sum + part.clone())
}

/// The weighted sums of features that an expression is made of, the first weight of each 1.
fn directions(tree: &Expression, found: &mut Vec<Affine>) {
    if let Some(affine) = Affine::of(tree) {
        return direction(affine, found);
    }
    let Expression::Sum(parts) = tree else {
        return tree.parts().iter().for_each(|part| directions(part, found));
    };
    let (affine, others): (Vec<_>, Vec<_>) =
        parts.iter().cloned().partition(|part| Affine::of(part).is_some());
    if let Some(affine) = Affine::of(&sum(&affine)) {
        direction(affine, found);
    }
    others.iter().for_each(|part| directions(part, found));
}

fn direction(Affine { weights, .. }: Affine, found: &mut Vec<Affine>) {
    let Some(&(_, first)) = weights.first() else { return };
    let own = Affine { weights, constant: 0.0 }.times(1.0 / first);
    let is_near = |(a, b): (&(usize, f64), &(usize, f64))| {
        a.0 == b.0 && (a.1 - b.1).abs() <= 4.0 * f64::EPSILON * b.1.abs()
    };
    let is_known = |known: &Affine| {
        known.weights.len() == own.weights.len()
            && known.weights.iter().zip(&own.weights).all(is_near)
    };
    if !found.iter().any(is_known) {
        found.push(own);
    }
}

/// The one weighted sum of features that an expression depends on, if there is one.
fn only_direction(tree: &Expression) -> Option<Affine> {
    let mut found = Vec::new();
    directions(tree, &mut found);
    found.pop().filter(|_| found.is_empty())
}

/// Logarithms of heights that depend on one weighted sum of features: of all that is tied, or of a part of it.
fn along_one(tree: &Expression) -> Vec<(Expression, Affine)> {
    let mut found = Vec::new();
    for group in heights_of(tree).iter().flat_map(|summands| tied(summands)) {
        let whole = sum(&group);
        match only_direction(&whole) {
            Some(direction) => found.push((whole, direction)),
            None => found.extend(
                group.into_iter().filter_map(|part| only_direction(&part).map(|of| (part, of))),
            ),
        }
    }
    found
}

/// Hills whose places along a feature are known from the values of the others.
pub(super) struct Wandering {
    height: Scalar,
    features: Vec<usize>,
    spans: Arc<[Span]>,
}

/// Narrow hills that are neither those of a weighted sum nor of a quadratic form, as some of rows tell.
pub(super) fn wandering(
    tree: &Expression,
    spans: &Arc<[Span]>,
    rows: &[Vec<f64>],
) -> Vec<Wandering> {
    let mut found = Vec::new();
    for summands in heights_of(tree) {
        for group in tied(&summands) {
            if only_direction(&sum(&group)).is_some() {
                continue;
            }
            for part in group {
                let features = part.features();
                if only_direction(&part).is_some() || Form::of(&part, &features).is_some() {
                    continue;
                }
                let hills =
                    Wandering { height: Scalar::of(&part), features, spans: Arc::clone(spans) };
                let step = rows.len().div_ceil(ASKED).max(1);
                let is_narrow = |row: &Vec<f64>| {
                    hills.features.iter().any(|&along| !hills.beside(along, row).is_empty())
                };
                if rows.iter().step_by(step).any(is_narrow) {
                    found.push(hills);
                }
            }
        }
    }
    found
}

/// Times that a top is looked for along each of the other features.
const SWEEPS: usize = 3;

/// Most rows that are asked if an expression has a narrow hill along a feature.
const ASKED: usize = 64;

impl Wandering {
    /// Places beside hills along each feature at their tops over the others, of which there are two at most.
    pub(super) fn fixed(&self) -> Vec<(usize, f64)> {
        if self.features.len() > 3 {
            return Vec::new();
        }
        let along = |&s: &usize| {
            let span = &self.spans[s];
            let places = beside(&span.points, NARROW * widest(span), &mut |x| self.top_at(s, x));
            places.into_iter().map(move |place| (s, place))
        };
        self.features.iter().flat_map(along).collect()
    }

    /// The largest logarithm of a height where a feature has a value, found along one of the others after the other.
    fn top_at(&self, along: usize, x: f64) -> f64 {
        let mut row = vec![f64::NAN; self.spans.len()];
        let others: Vec<usize> = self.features.iter().copied().filter(|&s| s != along).collect();
        for &other in &others {
            let points = &self.spans[other].points;
            row[other] = points[points.len() / 2];
        }
        row[along] = x;
        let mut highest = f64::NEG_INFINITY;
        for &other in others.iter().cycle().take(SWEEPS * others.len()) {
            let points = &self.spans[other].points;
            let mut at = |value: f64| {
                row[other] = value;
                let height = self.height.value(&row);
                if height.is_nan() { f64::NEG_INFINITY } else { height }
            };
            let seen: Vec<(f64, f64)> = points.iter().map(|&value| (value, at(value))).collect();
            let best = (0..seen.len()).max_by(|&a, &b| seen[a].1.total_cmp(&seen[b].1));
            let best = best.unwrap_or_default();
            let around = (seen[best.saturating_sub(1)].0, seen[(best + 1).min(seen.len() - 1)].0);
            let (place, height) = climb(around, seen[best], &mut at);
            row[other] = place;
            highest = highest.max(height);
        }
        highest
    }

    /// Places beside the hills along a feature, where a row holds the others.
    pub(super) fn beside(&self, along: usize, row: &[f64]) -> Vec<f64> {
        let is_unknown = |&s: &usize| s != along && row[s].is_nan();
        if !self.features.contains(&along) || self.features.iter().any(is_unknown) {
            return Vec::new();
        }
        let (span, mut row) = (&self.spans[along], row.to_vec());
        beside(&span.points, NARROW * widest(span), &mut |x| {
            row[along] = x;
            self.height.value(&row)
        })
    }
}

/// Lines beside narrow hills that depend on one weighted sum of features, as sums that are 0 there.
pub(super) fn lines(tree: &Expression, spans: &[Span]) -> Vec<Affine> {
    let mut found: Vec<Affine> = Vec::new();
    for (height, sum) in along_one(tree) {
        for place in beside_hills(&height, &sum, spans) {
            let line = Affine { constant: -place, ..sum.clone() };
            if !found.contains(&line) {
                found.push(line);
            }
        }
    }
    found
}

/// Values of a weighted sum of features beside the narrow hills of a logarithm that depends on nothing else.
fn beside_hills(height: &Expression, sum: &Affine, spans: &[Span]) -> Vec<f64> {
    let square: f64 = sum.weights.iter().map(|(_, weight)| weight * weight).sum();
    let mut row = vec![f64::NAN; spans.len()];
    let width = sum.weights.iter().map(|&(s, w)| w.abs() * widest(&spans[s]));
    beside(&looked_at(sum, spans), NARROW * width.fold(0.0, f64::max), &mut |t| {
        for &(feature, weight) in &sum.weights {
            row[feature] = t * weight / square;
        }
        height.value(&row)
    })
}

/// Places beside hills narrower than a width, from the logarithm of their height at points between which it is looked for.
fn beside(points: &[f64], narrow: f64, of: &mut dyn FnMut(f64) -> f64) -> Vec<f64> {
    // A pole is no hill.
    let mut at = |t: f64| {
        let value = of(t);
        if value.is_finite() { value } else { f64::NEG_INFINITY }
    };
    let seen: Vec<(f64, f64)> = points.iter().map(|&t| (t, at(t))).collect();
    let ends = [points[0], points[points.len() - 1]];
    let mut tops: Vec<(f64, f64)> = Vec::new();
    for i in 0..seen.len() {
        let (before, after) = (i.saturating_sub(1), (i + 1).min(seen.len() - 1));
        if seen[i].1 >= seen[before].1 && seen[i].1 >= seen[after].1 {
            tops.push(climb((seen[before].0, seen[after].0), seen[i], &mut at));
        }
    }
    let highest = tops.iter().map(|(_, height)| *height).fold(f64::NEG_INFINITY, f64::max);
    let count = seen.iter().filter(|(_, height)| *height > highest - FAINT).count();
    if highest == f64::NEG_INFINITY || count as f64 > MANY * seen.len() as f64 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (top, height) in tops.into_iter().filter(|(_, height)| *height > highest - DEPTH) {
        let mut falls = |drop: f64| {
            [(-1.0, top - ends[0]), (1.0, ends[1] - top)]
                .map(|(side, room)| falls_by(drop, top, height, side, room, 0.0, &mut at))
        };
        if falls(FAINT).into_iter().sum::<f64>() >= narrow {
            continue;
        }
        let [left, right] = falls(DEPTH);
        let beside = [top - left, top + right].into_iter();
        found.extend(beside.filter(|t| ends[0] < *t && *t < ends[1]));
        // One that falls off slowly is seen from afar, if its top is a point of the rule.
        if left.max(right) >= 0.5 * (ends[1] - ends[0]) {
            found.push(top);
        }
    }
    found
}

/// Values of a weighted sum at which the logarithm of a height is looked at: for one feature those between which its roots
/// are looked for.
fn looked_at(sum: &Affine, spans: &[Span]) -> Vec<f64> {
    if let &[(feature, _)] = sum.weights.as_slice() {
        return spans[feature].points.clone();
    }
    let (mut low, mut high) = (0.0, 0.0);
    for &(feature, weight) in &sum.weights {
        let (from, to) = spans[feature].ends();
        let ends = [weight * from, weight * to];
        low += ends[0].min(ends[1]);
        high += ends[0].max(ends[1]);
    }
    let step = (high - low) / (LOOKED_AT - 1) as f64;
    (0..LOOKED_AT).map(|k| low + step * k as f64).collect()
}

/// The widest distance of points that the density of a feature is resolved by.
fn widest(span: &Span) -> f64 {
    let marks = span.marks.windows(2).map(|ends| ends[1] - ends[0]);
    marks.fold(0.0, f64::max)
}

/// A quadratic form of features in the logarithm of a height.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quadratic {
    features: Vec<usize>,
    /// First derivatives where all features are 0, and second ones, by the places of features in that list.
    slopes: Vec<f64>,
    bends: Vec<Vec<f64>>,
    /// For each of them, the width below which a hill is narrow.
    narrow: Vec<f64>,
}

/// The quadratic forms of several features that logarithms of heights are.
pub(super) fn quadratics(tree: &Expression, spans: &[Span]) -> Vec<Quadratic> {
    let mut found = Vec::new();
    for summands in heights_of(tree) {
        let is_form = |part: &&Expression| Form::of(part, &part.features()).is_some();
        let forms: Vec<Expression> = summands.iter().filter(is_form).cloned().collect();
        for height in tied(&forms).iter().map(|group| sum(group)) {
            let features = height.features();
            if features.len() < 2 || only_direction(&height).is_some() {
                continue;
            }
            let Some(form) = Form::of(&height, &features) else { continue };
            let narrow = features.iter().map(|&s| NARROW * widest(&spans[s])).collect();
            let own = Quadratic { features, slopes: form.slopes, bends: form.bends, narrow };
            if own.may_be_narrow() && !found.contains(&own) {
                found.push(own);
            }
        }
    }
    found
}

impl Quadratic {
    /// True if it is narrow along one of the features while the others are held, along which it is narrowest.
    fn may_be_narrow(&self) -> bool {
        let bends = (0..self.features.len()).map(|place| self.bends[place][place]);
        bends.zip(&self.narrow).any(|(bend, narrow)| is_narrow(bend, *narrow))
    }

    /// Places beside the hill along a feature, at its top over those that a row does not hold.
    pub(super) fn beside(&self, along: usize, row: &[f64]) -> Option<[f64; 2]> {
        let own = self.features.iter().position(|&feature| feature == along)?;
        let (mut slopes, mut bends) = (self.slopes.clone(), self.bends.clone());
        let others = || (0..self.features.len()).filter(|&place| place != own);
        for place in others().filter(|&place| !row[self.features[place]].is_nan()) {
            let value = row[self.features[place]];
            slopes.iter_mut().zip(&bends[place]).for_each(|(slope, bend)| *slope += bend * value);
        }
        for place in others().filter(|&place| row[self.features[place]].is_nan()) {
            let bend = bends[place][place];
            // Without a top over one of them there is none.
            if bend >= 0.0 {
                return None;
            }
            let (column, slope) = (bends[place].clone(), slopes[place]);
            for i in 0..slopes.len() {
                slopes[i] -= column[i] * slope / bend;
                for j in 0..slopes.len() {
                    bends[i][j] -= column[i] * column[j] / bend;
                }
            }
        }
        let bend = bends[own][own];
        // What rounding leaves of a form that does not bend is no hill.
        let is_hill = bend < -1e-9 * self.bends[own][own].abs();
        if !is_hill || !is_narrow(bend, self.narrow[own]) {
            return None;
        }
        let (top, reach) = (-slopes[own] / bend, (-2.0 * DEPTH / bend).sqrt());
        Some([top - reach, top + reach])
    }
}

/// True if of a parabola with a second derivative less is seen than is wide.
fn is_narrow(bend: f64, wide: f64) -> bool {
    bend < 0.0 && 2.0 * (-2.0 * FAINT / bend).sqrt() < wide
}

/// A polynomial of at most the second degree.
#[derive(Clone)]
struct Form {
    constant: f64,
    slopes: Vec<f64>,
    bends: Vec<Vec<f64>>,
}

impl Form {
    fn constant(constant: f64, count: usize) -> Self {
        Self { constant, slopes: vec![0.0; count], bends: vec![vec![0.0; count]; count] }
    }

    fn plus(mut self, other: &Self, factor: f64) -> Self {
        self.constant += factor * other.constant;
        let each = |own: &mut Vec<f64>, others: &Vec<f64>| {
            own.iter_mut().zip(others).for_each(|(own, other)| *own += factor * other);
        };
        each(&mut self.slopes, &other.slopes);
        self.bends.iter_mut().zip(&other.bends).for_each(|(own, other)| each(own, other));
        self
    }

    /// The product, if it is of at most the second degree.
    fn product(self, other: &Self) -> Option<Self> {
        let (own, others) = (self.degree(), other.degree());
        if own + others > 2 {
            return None;
        }
        let count = self.slopes.len();
        let mut product = Self::constant(0.0, count);
        product = product.plus(&self, other.constant);
        product = product.plus(other, self.constant);
        product.constant = self.constant * other.constant;
        for (i, row) in product.bends.iter_mut().enumerate() {
            for (j, bend) in row.iter_mut().enumerate() {
                *bend += self.slopes[i] * other.slopes[j] + self.slopes[j] * other.slopes[i];
            }
        }
        Some(product)
    }

    fn degree(&self) -> usize {
        let is_zero = |values: &Vec<f64>| values.iter().all(|value| *value == 0.0);
        if !self.bends.iter().all(is_zero) {
            return 2;
        }
        usize::from(!is_zero(&self.slopes))
    }

    fn of(tree: &Expression, features: &[usize]) -> Option<Self> {
        let count = features.len();
        let zero = || Self::constant(0.0, count);
        let of = |tree: &Expression| Self::of(tree, features);
        match tree {
            Expression::Number(number) => Some(Self::constant(*number, count)),
            Expression::Feature(index) => {
                let mut form = zero();
                form.slopes[features.iter().position(|feature| feature == index)?] = 1.0;
                Some(form)
            }
            Expression::Sum(parts) => {
                parts.iter().try_fold(zero(), |sum, part| Some(sum.plus(&of(part)?, 1.0)))
            }
            Expression::Difference(pair) => Some(of(&pair[0])?.plus(&of(&pair[1])?, -1.0)),
            Expression::Product(parts) => parts
                .iter()
                .try_fold(Self::constant(1.0, count), |all, part| all.product(&of(part)?)),
            Expression::Quotient(pair) => match &pair[1] {
                Expression::Number(number) => Some(zero().plus(&of(&pair[0])?, 1.0 / number)),
                _ => None,
            },
            Expression::Power(base, power) if *power == 2.0 => {
                let base = of(base)?;
                base.clone().product(&base)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::parser::of_letters as read;

    /// Three features between 0 and 1.
    fn spans() -> Vec<Span> {
        let points = (0..=24).map(|k| f64::from(k) / 24.0).collect();
        vec![Span { points, marks: vec![0.0, 1.0] }; 3]
    }

    fn of(text: &str) -> Vec<(Vec<(usize, f64)>, f64)> {
        let lines = lines(&read(text), &spans()).into_iter();
        lines.map(|line| (line.weights, -line.constant)).collect()
    }

    #[test]
    fn narrow_hills_of_one_feature_are_found_however_they_are_written() {
        for (text, top, reach) in [
            ("exp(-1e6*(a - 0.3)^2)", 0.3, (DEPTH / 1e6).sqrt()),
            ("exp(-1e6*(a^2 - 0.6*a + 0.09))", 0.3, (DEPTH / 1e6).sqrt()),
            ("b*exp(-1e6*(a - 0.3)^2 + b)", 0.3, (DEPTH / 1e6).sqrt()),
            ("exp(-1e6*abs(a - 0.3))", 0.3, DEPTH / 1e6),
            ("1/cosh(1e6*(a - 0.3))", 0.3, DEPTH / 1e6),
            ("2^(-1e6*(a - 0.3)^2)", 0.3, (DEPTH / std::f64::consts::LN_2 / 1e6).sqrt()),
            ("(1 - (a - 0.3)^2)^1e6", 0.3, (DEPTH / 1e6).sqrt()),
            ("exp(1e6*a - 3e5)/(1 + exp(1e6*a - 3e5))^2", 0.3, DEPTH / 1e6),
            ("1/(exp(1e6*a - 3e5) + exp(3e5 - 1e6*a))", 0.3, DEPTH / 1e6),
        ] {
            let found = of(text);
            // An exponential in a sum may have another one at an end.
            assert!(found.len() == 2 || text.contains(" + exp"), "{text}: {found:?}");
            for ((weights, place), side) in found.iter().zip([-1.0, 1.0]) {
                assert_eq!(*weights, [(0, 1.0)], "{text}");
                // To a tenth, and where the top is found to a thirtieth of a width.
                let off = (place - top) * side / reach;
                assert!((0.85..1.25).contains(&off), "{text}: {off}");
            }
        }
    }

    #[test]
    fn a_narrow_hill_is_seen_beside_a_pole() {
        let found = of("exp(-1e6*(a - 0.3)^2)/a");
        let beside = [0.3 - 1e-2, 0.3, 0.3 + 1e-2];
        let between =
            |ends: [f64; 2]| found.iter().any(|(_, place)| ends[0] < *place && *place < ends[1]);
        assert!(between([beside[0], beside[1]]) && between([beside[1], beside[2]]), "{found:?}");
    }

    #[test]
    fn narrow_hills_along_a_weighted_sum_lie_along_lines() {
        for text in [
            "exp(-1e6*(a - 2*b)^2)",
            "a*exp(-1e6*(a - 2*b)^2)",
            "c/cosh(2e3*(2*b - a))",
            "exp(2e3*(a - 2*b))/(1 + exp(2e3*(a - 2*b)))^2",
        ] {
            let found = of(text);
            assert!(found.len() == 2 || text.contains(" + exp"), "{text}: {found:?}");
            assert!(found[..2].iter().all(|(weights, _)| *weights == [(0, 1.0), (1, -2.0)]));
            assert!(found[0].1 * found[1].1 < 0.0);
        }
        // One that falls off slowly has its top.
        let found = of("1/(1 + 1e14*(a - b)^2)");
        assert!(found.iter().any(|(_, place)| place.abs() < 1e-3), "{found:?}");
    }

    #[test]
    fn wide_hills_and_those_of_two_sums_have_no_lines() {
        for text in [
            "exp(-3*(a - 0.3)^2)",
            "exp(a*b)",
            "(a - 0.3)^2",
            "exp(-1e6*(a - b)^2*c)",
            "exp(-1e6*((a - b)^2 + (a + b)^2))",
            "1/(1 + a)",
        ] {
            assert!(of(text).is_empty(), "{text}: {:?}", of(text));
        }
    }

    #[test]
    fn hills_that_wander_are_found_where_the_others_are_known() {
        let rows: Vec<Vec<f64>> =
            (0..50).map(|k| vec![f64::from(k) / 50.0, 0.5, 0.3 + 0.01 * f64::from(k)]).collect();
        let of = |text: &str| wandering(&read(text), &spans().into(), &rows);
        let hills = of("a*exp(-1e6*(a*b - 0.2)^2)");
        assert_eq!(hills.len(), 1);
        let [from, to] = hills[0].beside(0, &[f64::NAN, 0.5, f64::NAN])[..] else { panic!() };
        assert!((from + to - 0.8).abs() < 0.1 * (to - from) && to - from < 0.05, "{from} {to}");
        assert!(hills[0].beside(1, &[f64::NAN; 3]).is_empty());
        assert_eq!(of("exp(-1e6*c*(a - b)^2)").len(), 1);
        // Along a ridge there is a top wherever the feature is; elsewhere there is one place.
        assert!(hills[0].fixed().is_empty());
        let along: Vec<(usize, f64)> = of("exp(-1e6*(1 + b)*(a - 0.3)^2)")[0].fixed();
        let [(0, from), (0, to)] = along[..] else { panic!("{along:?}") };
        assert!(from < 0.3 && 0.3 < to && to - from < 0.05, "{along:?}");
        for text in ["exp(-(a*b - 0.2)^2)", "a*b*c", "exp(-1e6*(a - b)^2)", "sin(a*b)^2"] {
            assert!(of(text).is_empty(), "{text}");
        }
    }

    /// exp(−10⁶ (a − b)² − 10⁶ (a + b − 1)²) = exp(−2·10⁶ ((a − ½)² + (b − ½)²)) has its top at (½, ½).
    #[test]
    fn tops_of_quadratic_forms_are_found_along_each_feature() {
        let found = quadratics(&read("exp(-1e6*((a - b)^2 + (a + b - 1)^2))"), &spans());
        let [form] = found.as_slice() else { panic!("{found:?}") };
        let reach = (DEPTH / 2e6).sqrt();
        let unknown = [f64::NAN; 3];
        for along in [0, 1] {
            let [from, to] = form.beside(along, &unknown).unwrap();
            assert!((from - (0.5 - reach)).abs() < 1e-12 && (to - (0.5 + reach)).abs() < 1e-12);
        }
        assert_eq!(form.beside(2, &unknown), None);
        // The exponent along b where a is 0.2 is −2·10⁶ (b − ½)² as well.
        let [from, to] = form.beside(1, &[0.2, f64::NAN, f64::NAN]).unwrap();
        assert!((from + to - 1.0).abs() < 1e-12);
        // A ridge has no top along a feature unless the other one is known; a hill that is wide is none.
        let ridge = quadratics(&read("exp(-1e6*(a - b)^2 + 0*a*b - 1e-3*a^2)"), &spans());
        assert!(ridge.iter().all(|form| form.beside(0, &unknown).is_none()), "{ridge:?}");
        let [from, to] = ridge[0].beside(0, &[f64::NAN, 0.3, f64::NAN]).unwrap();
        assert!((from + to - 0.6).abs() < 1e-8);
        assert!(quadratics(&read("exp(a*b*c)"), &spans()).is_empty());
    }
}
