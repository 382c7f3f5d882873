//! An expression as a sum of terms of few features, each perhaps a product of factors that share
//! none, so that integrals stay of low dimension.

use crate::expression::{Expression, feature};

/// A sum is multiplied out into so many terms at most.
const MOST_TERMS: usize = 64;

/// The summands of an expression, those of the same few features together, in the order of the text.
pub(super) fn pieces(tree: &Expression) -> Vec<Expression> {
    let mut all = Vec::new();
    collect(tree, 1.0, &mut all);
    let mut together: Vec<(Vec<usize>, Expression)> = Vec::new();
    for piece in all {
        let features = piece.features();
        let same =
            together.iter_mut().find(|(others, _)| features.len() <= 3 && *others == features);
        match same {
            Some((_, sum)) => {
                let before = std::mem::replace(sum, Expression::Number(0.0));
                *sum = before + piece;
            }
            None => together.push((features, piece)),
        }
    }
    together.into_iter().map(|(_, piece)| piece).collect()
}

fn collect(tree: &Expression, factor: f64, into: &mut Vec<Expression>) {
    match tree {
        Expression::Sum(parts) => parts.iter().for_each(|part| collect(part, factor, into)),
        Expression::Difference(pair) => {
            collect(&pair[0], factor, into);
            collect(&pair[1], -factor, into);
        }
        Expression::Quotient(pair) => match &pair[1] {
            Expression::Number(number) => collect(&pair[0], factor / number, into),
            divisor => match multiplied_out(&pair[0], &mut |part| part / divisor.clone(), tree) {
                Some(parts) => parts.iter().for_each(|part| collect(part, factor, into)),
                None => into.push(factor * tree.clone()),
            },
        },
        Expression::Product(factors) => product(tree, factors, factor, into),
        _ => into.push(factor * tree.clone()),
    }
}

fn product(tree: &Expression, factors: &[Expression], factor: f64, into: &mut Vec<Expression>) {
    let number = |part: &Expression| matches!(part, Expression::Number(_));
    if let Some(place) = factors.iter().position(number)
        && let Expression::Number(own) = factors[place]
    {
        let others = factors.iter().enumerate().filter(|(i, _)| *i != place);
        let rest = others.map(|(_, part)| part.clone()).reduce(|a, b| a * b);
        return collect(&rest.unwrap_or(Expression::Number(1.0)), factor * own, into);
    }
    for (place, sum) in factors.iter().enumerate() {
        let mut with = |part: Expression| {
            let each = factors.iter().enumerate();
            let each = each.map(|(i, other)| if i == place { part.clone() } else { other.clone() });
            each.reduce(|a, b| a * b).unwrap_or(Expression::Number(1.0))
        };
        if let Some(parts) = multiplied_out(sum, &mut with, tree) {
            return parts.iter().for_each(|part| collect(part, factor, into));
        }
    }
    into.push(factor * tree.clone());
}

/// The parts of a sum, each put in its place in a whole, where each of them then reads fewer features
/// than the whole, which reads more than two.
fn multiplied_out(
    sum: &Expression,
    put: &mut dyn FnMut(Expression) -> Expression,
    whole: &Expression,
) -> Option<Vec<Expression>> {
    let count = whole.features().len();
    if count <= 2 {
        return None;
    }
    let mut parts = Vec::new();
    match sum {
        Expression::Sum(_) | Expression::Difference(_) => collect(sum, 1.0, &mut parts),
        _ => return None,
    }
    let parts: Vec<Expression> = parts.into_iter().map(put).collect();
    let fewer = parts.iter().all(|part| part.features().len() < count);
    (fewer && (2..=MOST_TERMS).contains(&parts.len())).then_some(parts)
}

/// The factors of a product in groups that share no feature: a single group if it is none.
pub(super) fn factors(tree: &Expression) -> Vec<Expression> {
    let mut parts = Vec::new();
    divide(tree, &mut parts);
    let mut groups: Vec<(Vec<usize>, Expression)> = Vec::new();
    let mut number = 1.0;
    for part in parts {
        if let Expression::Number(own) = part {
            number *= own;
            continue;
        }
        let features = part.features();
        let (touching, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|(others, _)| others.iter().any(|other| features.contains(other)));
        groups = apart;
        let mut all = features;
        let mut whole: Option<Expression> = None;
        for (others, tree) in touching {
            all.extend(others);
            whole = Some(match whole {
                Some(before) => before * tree,
                None => tree,
            });
        }
        all.sort_unstable();
        all.dedup();
        groups.push((all, whole.map_or(part.clone(), |before| before * part)));
    }
    let mut factors: Vec<Expression> = groups.into_iter().map(|(_, tree)| tree).collect();
    match factors.first_mut() {
        Some(first) => {
            let tree = std::mem::replace(first, Expression::Number(0.0));
            *first = number * tree;
        }
        None => factors.push(Expression::Number(number)),
    }
    factors
}

/// Takes products, quotients and exponentials of sums apart.
fn divide(tree: &Expression, into: &mut Vec<Expression>) {
    match tree {
        Expression::Product(parts) => parts.iter().for_each(|part| divide(part, into)),
        Expression::Quotient(pair) => {
            divide(&pair[0], into);
            let mut below = Vec::new();
            divide(&pair[1], &mut below);
            into.extend(below.into_iter().map(|part| 1.0 / part));
        }
        Expression::Power(base, power) if power.fract() == 0.0 => {
            let mut bases = Vec::new();
            divide(base, &mut bases);
            into.extend(bases.into_iter().map(|base| base.power(*power)));
        }
        Expression::Function(crate::expression::Unary::Exp, of) => {
            into.extend(pieces(of).into_iter().map(Expression::exp));
        }
        _ => into.push(tree.clone()),
    }
}

/// True if it is affine in a feature while the others are fixed.
pub(super) fn is_affine_in(tree: &Expression, s: usize) -> bool {
    if !tree.reads(s) {
        return true;
    }
    match tree {
        Expression::Feature(_) => true,
        Expression::Sum(parts) => parts.iter().all(|part| is_affine_in(part, s)),
        Expression::Difference(pair) => pair.iter().all(|part| is_affine_in(part, s)),
        Expression::Product(parts) => {
            let mut reading = parts.iter().filter(|part| part.reads(s));
            reading.next().is_some_and(|part| is_affine_in(part, s)) && reading.next().is_none()
        }
        Expression::Quotient(pair) => is_affine_in(&pair[0], s) && !pair[1].reads(s),
        Expression::If(parts) => {
            !parts[0].reads(s) && parts[1..].iter().all(|part| is_affine_in(part, s))
        }
        _ => false,
    }
}

/// A weighted sum of features, and a constant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affine {
    /// Features in ascending order with their weights, none of them 0.
    pub(super) weights: Vec<(usize, f64)>,
    pub(super) constant: f64,
}

impl Affine {
    fn constant(constant: f64) -> Self {
        Self { weights: Vec::new(), constant }
    }

    fn plus(mut self, other: &Self, factor: f64) -> Self {
        for &(feature, weight) in &other.weights {
            match self.weights.iter_mut().find(|(known, _)| *known == feature) {
                Some((_, sum)) => *sum += factor * weight,
                None => self.weights.push((feature, factor * weight)),
            }
        }
        self.weights.retain(|(_, weight)| *weight != 0.0);
        self.weights.sort_by_key(|(feature, _)| *feature);
        self.constant += factor * other.constant;
        self
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self::constant(0.0).plus(&self, factor)
    }

    /// The expression as a weighted sum, if it is one.
    pub(super) fn of(tree: &Expression) -> Option<Self> {
        let zero = Self::constant(0.0);
        Some(match tree {
            Expression::Number(number) => Self::constant(*number),
            Expression::Feature(index) => Self { weights: vec![(*index, 1.0)], constant: 0.0 },
            Expression::Sum(parts) => {
                parts.iter().try_fold(zero, |sum, part| Some(sum.plus(&Self::of(part)?, 1.0)))?
            }
            Expression::Difference(pair) => Self::of(&pair[0])?.plus(&Self::of(&pair[1])?, -1.0),
            Expression::Product(parts) => {
                let each = parts.iter().map(Self::of).collect::<Option<Vec<_>>>()?;
                let (numbers, mut sums): (Vec<_>, Vec<_>) =
                    each.into_iter().partition(|part| part.weights.is_empty());
                let factor: f64 = numbers.iter().map(|number| number.constant).product();
                match (sums.pop(), sums.is_empty()) {
                    (None, _) => Self::constant(factor),
                    (Some(sum), true) => sum.times(factor),
                    _ => return None,
                }
            }
            Expression::Quotient(pair) => match Self::of(&pair[1])? {
                divisor if divisor.weights.is_empty() => {
                    Self::of(&pair[0])?.times(1.0 / divisor.constant)
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// As a tree.
    pub(super) fn tree(&self) -> Expression {
        let weighted = self.weights.iter().map(|&(index, weight)| weight * feature(index));
        weighted.fold(Expression::Number(0.0), |sum, part| sum + part) + self.constant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::parser::of_letters as read;

    #[test]
    fn terms_that_share_no_feature_are_taken_apart_and_add_up() {
        for (text, expected) in [
            ("10*sin(a*b) + 20*(c - 0.5)^2 + 5*d", vec![vec![0, 1], vec![2], vec![3]]),
            ("2*(a + b - c)/4", vec![vec![0], vec![1], vec![2]]),
            ("a*(b + c) + a + a^2", vec![vec![0, 1], vec![0, 2], vec![0]]),
            ("(a + b)*(c - d)", vec![vec![0, 2], vec![0, 3], vec![1, 2], vec![1, 3]]),
            ("(b + c)/(a + 3)", vec![vec![0, 1], vec![0, 2]]),
            ("-(a - 3)", vec![vec![0], vec![]]),
            ("(a + b)^2", vec![vec![0, 1]]),
        ] {
            let tree = read(text);
            let pieces = pieces(&tree);
            let mut found: Vec<Vec<usize>> = pieces.iter().map(Expression::features).collect();
            let mut expected = expected;
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{text}");
            let row = [0.3, -1.2, 2.5, 0.7];
            let sum: f64 = pieces.iter().map(|piece| piece.value(&row)).sum();
            assert!((sum - tree.value(&row)).abs() < 1e-13, "{text}");
        }
    }

    #[test]
    fn factors_share_no_feature_and_multiply_up() {
        for (text, count) in [
            ("a*b*c", 3),
            ("2*a*sin(b)/c*(a + 1)", 3),
            ("exp(a + b*c - d)", 3),
            ("(a*b)^3", 2),
            ("sqrt(a*b)", 1),
            ("a/(b*c)", 3),
            ("abs(a - b)*c", 2),
            // The last one joins two that are apart.
            ("a*b*(a + b)", 1),
            ("3*a*b*c*(b + c)", 2),
        ] {
            let tree = read(text);
            let factors = factors(&tree);
            assert_eq!(factors.len(), count, "{text}");
            let row = [0.3, 1.2, 2.5, 0.7];
            let product: f64 = factors.iter().map(|factor| factor.value(&row)).product();
            assert!((product / tree.value(&row) - 1.0).abs() < 1e-13, "{text}");
        }
    }

    #[test]
    fn affine_sums() {
        let affine = Affine::of(&read("3*(a - 2*b)/2 + 1 - (a - a) - c*0")).unwrap();
        assert_eq!(affine, Affine { weights: vec![(0, 1.5), (1, -3.0)], constant: 1.0 });
        assert!(Affine::of(&read("a*b")).is_none() && Affine::of(&read("1/a")).is_none());
        assert!(is_affine_in(&read("a*sin(b) + if(b < 0, a, 2)"), 0));
        assert!(!is_affine_in(&read("a*sin(b) + if(a < 0, a, 2)"), 0));
        assert!(!is_affine_in(&read("a*(a + b)"), 0));
    }

    #[test]
    fn weights_of_one_feature_add_up() {
        for (text, weights, constant) in [
            ("a - 3*a", vec![(0, -2.0)], 0.0),
            ("2*a + 3*(a - b) - 4*b + 1", vec![(0, 5.0), (1, -7.0)], 1.0),
            ("(a + 4*a - 3)/2", vec![(0, 2.5)], -1.5),
        ] {
            assert_eq!(Affine::of(&read(text)), Some(Affine { weights, constant }), "{text}");
        }
    }

    #[test]
    fn differences_and_quotients_are_affine_where_their_parts_are() {
        for (text, is_affine) in [
            ("a - b*c", true),
            ("sin(b) - a", true),
            ("a - a*a", false),
            ("(a - 1)/b", true),
            ("b/a", false),
            ("a/(1 + a)", false),
        ] {
            assert_eq!(is_affine_in(&read(text), 0), is_affine, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_taken_apart_stays_whole() {
        // A root of a product is none of roots, whose factors may be negative.
        assert_eq!(factors(&read("(a*b)^0.5")).len(), 1);
        // Part of it reads all that the whole does.
        let tree = read("(a + b*c)*sin(a)");
        assert_eq!(pieces(&tree).len(), 1);
        let numbers = factors(&read("2*a*(3*b)*c/5"));
        let product: f64 =
            numbers.iter().map(|factor| factor.value(&[0.3, 1.2, 2.5, 0.7])).product();
        assert!((product - 6.0 * 0.3 * 1.2 * 2.5 / 5.0).abs() < 1e-15);
        let sum: f64 = pieces(&read("2*(3*(a + b) - 5*c)"))
            .iter()
            .map(|piece| piece.value(&[0.3, 1.2, 2.5, 0.7]))
            .sum();
        assert!((sum - 2.0 * (4.5 - 12.5)).abs() < 1e-14);
    }
}
