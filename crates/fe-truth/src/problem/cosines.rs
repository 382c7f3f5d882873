//! Distances of places of which one turns round the other, √(a + b cos t), and their inverses: their means over the angle
//! are known, and where they have a cusp.

use std::f64::consts::{PI, TAU};

use super::pieces::{Affine, is_affine_in};
use super::program::Scalar;
use crate::expression::{Expression, Unary};
use crate::function::Term;
use crate::law::Law;
use crate::numeric::elliptic::OverTurn;
use crate::numeric::quadrature::Estimate;
use crate::numeric::triangle::{Opening, mean_between};

/// By how much |b| may exceed a, relative to a, and the root be 0 there: more is no rounding, and the distance is no number
/// at some angles.
const ROUNDING: f64 = 1e-12;

/// The ends between which a feature is log-uniform, where it is and is independent of all others.
pub(super) type Ends = Option<(f64, f64)>;

/// A factor times √(a + b cos t) or its inverse, t a whole multiple of the difference of two angles, of which the factor, a
/// and b do not depend.
#[derive(Debug)]
pub(super) struct Distance {
    factor: Expression,
    a: Expression,
    b: Expression,
    angles: [usize; 2],
    /// Turns of the cosine for one of either of them.
    turns: f64,
    /// Two differences of the angles at which the distance is shortest or longest, next to each other; none where these move
    /// with other features.
    turn: Option<(f64, f64)>,
    is_inverse: bool,
}

impl Distance {
    /// An expression that sees no more of two angles than their difference, if it is one.
    pub(super) fn of(tree: &Expression, angles: [usize; 2]) -> Option<Self> {
        let reads = |tree: &Expression| angles.iter().any(|&angle| tree.reads(angle));
        let of_square = |square: &Expression, is_inverse: bool| {
            let mut waves = Vec::new();
            collect_waves(square, &reads, &mut waves);
            let wave = waves.first()?.clone();
            let affine = Affine::of(wave.parts().first()?)?;
            let turns = affine.weights.iter().find(|(s, _)| *s == angles[0])?.1;
            let quarter = 0.5 * PI;
            let phase = affine.constant - if is_cosine(&wave) { 0.0 } else { quarter };
            let extreme = -phase / turns;
            let is_fixed = affine.weights.len() == angles.len();
            let turn = is_fixed.then_some((extreme, extreme + PI / turns.abs()));
            let place = square.features().into_iter().max()? + 1;
            let alone = replaced(square, &wave, &Expression::Feature(place));
            let b = alone.partial(place);
            let a = replaced(&alone, &Expression::Feature(place), &Expression::Number(0.0));
            let is_affine = is_affine_in(&alone, place) && !reads(&alone);
            let factor = Expression::Number(1.0);
            is_affine.then_some(Self { factor, a, b, angles, turns, turn, is_inverse })
        };
        match tree {
            Expression::Function(Unary::Sqrt, square) => of_square(square, false),
            Expression::Power(square, 0.5) => of_square(square, false),
            Expression::Power(square, -0.5) => of_square(square, true),
            Expression::Product(parts) => {
                let (turning, others): (Vec<_>, Vec<_>) =
                    parts.iter().partition(|part| reads(part));
                let [turning] = turning.as_slice() else { return None };
                let own = Self::of(turning, angles)?;
                let factor = others.into_iter().fold(own.factor, |all, part| all * part.clone());
                Some(Self { factor, ..own })
            }
            Expression::Quotient(pair) if !reads(&pair[1]) => {
                let own = Self::of(&pair[0], angles)?;
                Some(Self { factor: own.factor / pair[1].clone(), ..own })
            }
            Expression::Quotient(pair) if !reads(&pair[0]) => {
                let own = Self::of(&pair[1], angles)?;
                let factor = pair[0].clone() / own.factor;
                Some(Self { factor, is_inverse: !own.is_inverse, ..own })
            }
            _ => None,
        }
    }

    /// Two differences of the angles, the first less the second one, at which the distance is shortest and longest, where
    /// these are the same whatever other features are.
    pub(super) fn turn(&self) -> Option<(f64, f64)> {
        self.turn
    }

    /// Levels that are 0 where the distance is shortest along a feature, wherever the angle is: those of the shortest and
    /// the longest that it has at any angle.
    pub(super) fn approaches(&self) -> Vec<Expression> {
        let ends = [self.a.clone() - self.b.clone(), self.a.clone() + self.b.clone()];
        let along = |end: &Expression| {
            end.features().into_iter().map(|s| end.partial(s)).collect::<Vec<_>>()
        };
        ends.iter().flat_map(along).collect()
    }

    /// The mean over the angle, as a term of the features beside both; of a distance with the mean squares of its value and
    /// of its slopes.
    pub(super) fn mean(&self) -> Term {
        let all = [&self.factor, &self.a, &self.b];
        let mut features: Vec<usize> = all.iter().flat_map(|tree| tree.features()).collect();
        features.sort_unstable();
        features.dedup();
        let known = || Known {
            values: all.map(Scalar::of),
            features: features.clone(),
            slopes: features.iter().map(|&s| all.map(|of| Scalar::of(&of.partial(s)))).collect(),
            angles: self.angles,
            turns: self.turns,
            is_inverse: self.is_inverse,
        };
        let [value, slope, squares] = [known(), known(), known()];
        let mean = Term::new(
            &features,
            move |row| value.mean(row),
            move |s, row| slope.mean_slope(s, row),
        );
        if self.is_inverse {
            return mean;
        }
        mean.with_squares(move |along, row| match along {
            None => squares.mean_square(row),
            Some(s) => squares.mean_square_of_slope(s, row),
        })
    }
}

/// A distance as the third side of a triangle, √(p² + q² + 2 p q cos t): its other sides, each a feature times a weight, a
/// factor, and the difference of the angles at which it is longest.
#[derive(Clone, Copy)]
struct Triangle {
    sides: [(usize, f64); 2],
    factor: f64,
    angles: [usize; 2],
    turns: f64,
    longest: f64,
}

impl Distance {
    fn triangle(&self) -> Option<Triangle> {
        let extreme = self.turn.filter(|_| !self.is_inverse)?.0;
        let factor = self.factor.features().is_empty().then(|| self.factor.value(&[]))?;
        let (mut squares, mixed) = (monomials(&self.a)?, monomials(&self.b)?);
        squares.sort_by_key(|(_, features)| features.first().copied());
        let (&[(first, ref p), (second, ref q)], &[(between, ref pq)]) =
            (squares.as_slice(), mixed.as_slice())
        else {
            return None;
        };
        let (&[p, other_p], &[q, other_q], pq) = (p.as_slice(), q.as_slice(), pq.as_slice()) else {
            return None;
        };
        let are_squares = p == other_p && q == other_q && p != q && first > 0.0 && second > 0.0;
        let weights = [first.sqrt(), second.sqrt()];
        let all = 2.0 * weights[0] * weights[1];
        let is_closed = (between.abs() - all).abs() <= 4.0 * f64::EPSILON * all;
        let is_mixed = pq == [p, q] || pq == [q, p];
        let longest = if between > 0.0 { extreme } else { extreme + PI / self.turns };
        let period = TAU / self.turns.abs();
        (are_squares && is_mixed && is_closed).then_some(Triangle {
            sides: [(p, weights[0]), (q, weights[1])],
            factor,
            angles: self.angles,
            turns: self.turns,
            longest: longest - period * (longest / period).round(),
        })
    }

    /// The means over each of two features that are log-uniform between ends and independent, where these are sides of a
    /// triangle of which the distance is the third, as terms of the other one and the angles.
    pub(super) fn means_over_lengths(&self, ends: &[Ends]) -> Vec<(usize, Term)> {
        let Some(triangle) = self.triangle() else { return Vec::new() };
        let [p, q] = triangle.sides;
        // A side may not be 0 or less.
        let (Some(of_p), Some(of_q)) = (ends[p.0], ends[q.0]) else { return Vec::new() };
        let mean = |over: (usize, f64), ends: (f64, f64), of: (usize, f64)| {
            let term = triangle.mean((over.1 * ends.0, over.1 * ends.1), of);
            (over.0, term.mirrored_at(self.turn.unwrap_or((0.0, TAU))))
        };
        vec![mean(p, of_p, q), mean(q, of_q, p)]
    }
}

impl Triangle {
    /// The mean over one side between two ends, of which the other one is a feature times a weight.
    fn mean(self, ends: (f64, f64), (side, weight): (usize, f64)) -> Term {
        let Self { angles, factor, turns, longest, .. } = self;
        let at = move |row: &[f64]| {
            let angle = turns * (row[angles[0]] - row[angles[1]] - longest);
            mean_between(weight * row[side], &Opening::of(angle), ends)
        };
        let value = move |row: &[f64]| {
            let mean = at(row);
            Estimate::of_size(mean.value, mean.size).times(factor)
        };
        let partial = move |along: usize, row: &[f64]| {
            let mean = at(row);
            factor
                * match along {
                    _ if along == side => weight * mean.per_length,
                    _ if along == angles[0] => turns * mean.per_angle,
                    _ if along == angles[1] => -turns * mean.per_angle,
                    _ => 0.0,
                }
        };
        let mut features = vec![side, angles[0], angles[1]];
        features.sort_unstable();
        let shortest = move |along: usize, row: &[f64], found: &mut Vec<f64>| {
            let Some(own) = angles.iter().position(|&angle| angle == along) else { return };
            let other = row[angles[1 - own]];
            // Enough where the ranges of both, a turn long each, are less than two turns apart; a cusp elsewhere is found.
            let most = 2 * turns.abs() as i32 + 1;
            let apart = (-most..=most).map(|k| f64::from(2 * k + 1) * PI / turns + longest);
            found.extend(apart.map(|apart| if own == 0 { other + apart } else { other - apart }));
        };
        Term::estimated(&features, value, partial)
            .turning(angles)
            .breaking_where(shortest)
            .with_cusps()
    }
}

/// An expression as a sum of numbers times features, each as often as it is a factor, if it is one.
fn monomials(tree: &Expression) -> Option<Vec<(f64, Vec<usize>)>> {
    match tree {
        Expression::Sum(parts) => {
            let each: Option<Vec<_>> = parts.iter().map(monomials).collect();
            Some(each?.concat())
        }
        Expression::Difference(pair) => {
            let [mut all, less] = [monomials(&pair[0])?, monomials(&pair[1])?];
            all.extend(less.into_iter().map(|(number, features)| (-number, features)));
            all.retain(|(number, _)| *number != 0.0);
            Some(all)
        }
        _ => Some(vec![monomial(tree)?]),
    }
}

fn monomial(tree: &Expression) -> Option<(f64, Vec<usize>)> {
    match tree {
        Expression::Number(number) => Some((*number, Vec::new())),
        Expression::Feature(feature) => Some((1.0, vec![*feature])),
        Expression::Power(of, 2.0) => {
            let (number, features) = monomial(of)?;
            Some((number * number, [&features[..], &features].concat()))
        }
        Expression::Product(parts) => {
            parts.iter().try_fold((1.0, Vec::new()), |(number, mut all), part| {
                let (own, features) = monomial(part)?;
                all.extend(features);
                Some((number * own, all))
            })
        }
        _ => None,
    }
}

/// The ends of the features that are log-uniform and independent of all others.
pub(super) fn lengths(law: &Law) -> Vec<Ends> {
    let is_alone = |feature: usize| law.block_of(feature).0.len() == 1;
    (0..law.dimension())
        .map(|feature| {
            let law = law.marginal(feature);
            law.log_uniform_ends().filter(|_| is_alone(feature))
        })
        .collect()
}

/// The parts of a distance, compiled.
struct Known {
    /// The factor, a and b, and their derivatives along each of the features that they read.
    values: [Scalar; 3],
    features: Vec<usize>,
    slopes: Vec<[Scalar; 3]>,
    angles: [usize; 2],
    turns: f64,
    is_inverse: bool,
}

impl Known {
    /// The factor, a and b; no number where the distance is none at some angles.
    fn values(&self, row: &[f64]) -> [f64; 3] {
        let [factor, a, b] = self.values.each_ref().map(|of| of.value(row));
        let is_known = a - b.abs() >= -ROUNDING * a;
        [if is_known { factor } else { f64::NAN }, a, b]
    }

    fn slopes(&self, s: usize, row: &[f64]) -> Option<[f64; 3]> {
        let place = self.features.iter().position(|&other| other == s)?;
        Some(self.slopes[place].each_ref().map(|of| of.value(row)))
    }

    fn mean(&self, row: &[f64]) -> f64 {
        let [factor, a, b] = self.values(row);
        let mean = OverTurn::of(a, b);
        factor * if self.is_inverse { mean.inverse } else { mean.root }
    }

    fn mean_slope(&self, s: usize, row: &[f64]) -> f64 {
        let Some([by_factor, by_a, by_b]) = self.slopes(s, row) else { return 0.0 };
        let [factor, a, b] = self.values(row);
        let mean = OverTurn::of(a, b);
        if !self.is_inverse {
            let slope = 0.5 * (by_a * mean.inverse + by_b * mean.leaning);
            return by_factor * mean.root + factor * slope;
        }
        // Of the third power of the inverse, and of the cosine times that.
        let square = (a - b) * (a + b);
        let cube = mean.root / square;
        let leaning = -(b * mean.inverse + a * mean.leaning) / square;
        by_factor * mean.inverse - 0.5 * factor * (by_a * cube + by_b * leaning)
    }

    fn mean_square(&self, row: &[f64]) -> Estimate {
        let [factor, a, _] = self.values(row);
        Estimate::exact(factor * factor * a)
    }

    /// With R = √(a² − b²) the means of 1, c = cos t, c² and sin² t over a + b c are 1/R, −b/(R (a + R)), a/(R (a + R)) and
    /// 1/(a + R).
    fn mean_square_of_slope(&self, s: usize, row: &[f64]) -> Estimate {
        let [factor, a, b] = self.values(row);
        let root = ((a - b) * (a + b)).max(0.0).sqrt();
        let Some([by_factor, by_a, by_b]) = self.slopes(s, row) else {
            let turns = if self.angles.contains(&s) { self.turns } else { 0.0 };
            return Estimate::exact(0.25 * (factor * turns * b).powi(2) / (a + root));
        };
        let of_root = by_a * by_a * root + a * (by_a * by_a + by_b * by_b) - 2.0 * by_a * by_b * b;
        let size = by_a * by_a * root + (by_a.abs() + by_b.abs()).powi(2) * a;
        let over = 0.25 * factor * factor / (root * (a + root));
        let others = by_factor * (by_factor * a + factor * by_a);
        Estimate::of_size(of_root * over + others, size * over + others.abs())
    }
}

fn is_cosine(wave: &Expression) -> bool {
    matches!(wave, Expression::Function(Unary::Cos, _))
}

/// Sines and cosines that read an angle, each once.
fn collect_waves(
    tree: &Expression,
    reads: &dyn Fn(&Expression) -> bool,
    found: &mut Vec<Expression>,
) {
    if let Expression::Function(Unary::Sin | Unary::Cos, of) = tree
        && reads(of)
    {
        if !found.contains(tree) {
            found.push(tree.clone());
        }
        return;
    }
    tree.parts().iter().for_each(|part| collect_waves(part, reads, found));
}

/// A tree with another part in the place of one, and what follows from numbers in it.
fn replaced(tree: &Expression, part: &Expression, by: &Expression) -> Expression {
    let of = |tree: &Expression| replaced(tree, part, by);
    match tree {
        _ if tree == part => by.clone(),
        Expression::Sum(parts) => {
            parts.iter().map(of).fold(Expression::Number(0.0), |sum, part| sum + part)
        }
        Expression::Product(parts) => {
            parts.iter().map(of).fold(Expression::Number(1.0), |all, part| all * part)
        }
        Expression::Difference(pair) => of(&pair[0]) - of(&pair[1]),
        Expression::Quotient(pair) => of(&pair[0]) / of(&pair[1]),
        _ => tree.with_parts(&mut |tree| of(tree)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::watch::with_cost;
    use crate::numeric::quadrature::{Estimate, integrate};
    use crate::problem::parser::of_letters as read;
    use crate::scenario::Scenario;
    use crate::{Centring, Quantity};

    #[test]
    fn means_over_the_angle_and_their_slopes_are_integrals() {
        let row = [0.4, 1.1, 1.3, 0.7];
        for text in [
            "sqrt(c^2 + d^2 + 2*c*d*cos(a - b))",
            "(c^2 + d^2 - 2*c*d*cos(a - b))^0.5",
            "3*c/sqrt(1 + c^2 + d^2 - 2*c*d*sin(2*a - 2*b))",
            "(c + 4 + d*cos(b - a + 1))^-0.5*d",
            "sqrt(4 + cos(a - b))/d",
        ] {
            let tree = read(text);
            let found = Distance::of(&tree, [0, 1]).unwrap().mean();
            let over_angle = |tree: &Expression| {
                let [mean] = integrate(&[0.0, std::f64::consts::TAU], 0.0, |angle| {
                    [Estimate::exact(tree.value(&[angle, row[1], row[2], row[3]]))]
                });
                mean.value / std::f64::consts::TAU
            };
            let close = |found: f64, known: f64| {
                assert!(
                    (found - known).abs() <= 1e-13 * known.abs().max(1.0),
                    "{text}: {found}, not {known}"
                );
            };
            close(found.value(&row), over_angle(&tree));
            for s in [2, 3] {
                close(found.partial(s, &row), over_angle(&tree.partial(s)));
            }
            let square = |tree: Expression| over_angle(&tree.power(2.0));
            if let Some(known) = found.mean_square(None, &row) {
                close(known.value, square(tree.clone()));
            }
            for s in 0..4 {
                if let Some(known) = found.mean_square(Some(s), &row) {
                    close(known.value, square(tree.partial(s)));
                }
            }
            assert_eq!(
                found.mean_square(None, &row).is_some(),
                !text.contains("/sqrt") && !text.contains("^-")
            );
        }
    }

    const ENDS: (f64, f64) = (0.5, 2.0);

    /// Means over features 2 and 3, both from ½ to 2.
    fn over_lengths(text: &str) -> Vec<(usize, Term)> {
        let ends = [None, None, Some(ENDS), Some(ENDS), None];
        Distance::of(&read(text), [0, 1]).unwrap().means_over_lengths(&ends)
    }

    #[test]
    fn means_over_a_length_and_their_slopes_are_integrals() {
        let row = [0.4, 1.1, 1.3, 0.7];
        for text in [
            "sqrt(c^2 + d^2 + 2*c*d*cos(a - b))",
            "3*sqrt(c^2 + 4*d^2 - 4*c*d*cos(b - a))",
            "(c*c + d^2 - 2*c*d*sin(2*a - 2*b + 0.3))^0.5/2",
        ] {
            let tree = read(text);
            let means = over_lengths(text);
            assert_eq!(means.iter().map(|(over, _)| *over).collect::<Vec<_>>(), [2, 3], "{text}");
            for (over, mean) in means {
                let over_length = |tree: &Expression| {
                    let mut at = row;
                    let [mean] = integrate(&[ENDS.0.ln(), 0.0, ENDS.1.ln()], 0.0, |u| {
                        at[over] = u.exp();
                        [Estimate::exact(tree.value(&at))]
                    });
                    mean.value / (ENDS.1 / ENDS.0).ln()
                };
                let found = mean.estimate(&row);
                assert!((found.value - over_length(&tree)).abs() <= found.error, "{text}");
                for s in mean.features() {
                    let off = mean.partial(*s, &row) - over_length(&tree.partial(*s));
                    assert!(off.abs() <= 1e-13, "{text}, along {s}: {off}");
                }
                assert_eq!(mean.partial(over, &row), 0.0);
                // Along an angle it breaks where the distance is shortest for sides that are as long as each other.
                let equal =
                    if text.contains('4') { [0.4, 1.1, 1.0, 0.5] } else { [0.4, 1.1, 1.0, 1.0] };
                for angle in [0, 1] {
                    let mut places = Vec::new();
                    mean.breaks(angle, &row, &mut places);
                    let mut at = equal;
                    assert!(places.len() >= 4);
                    for place in places {
                        at[angle] = place;
                        assert!(tree.value(&at) < 1e-6, "{text}: {at:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_third_side_has_no_mean_over_a_length() {
        for text in [
            "sqrt(c^2 + d^2 + c*d*cos(a - b))",
            "sqrt(1 + c^2 + d^2 + 2*c*d*cos(a - b))",
            "sqrt(c^2 + d^2 + 2*c*d^2*cos(a - b))",
            "sqrt(c^2 + d^4 + 2*c*d*cos(a - b))",
            "c*sqrt(c^2 + d^2 + 2*c*d*cos(a - b))",
            "1/sqrt(c^2 + d^2 + 2*c*d*cos(a - b))",
            "sqrt(c^2 + d^2 + 2*c*d*cos(a - b + c))",
            "sqrt(c^2 + 4 + 4*c*cos(a - b))",
            "sqrt(4 + c*d*cos(a - b))",
        ] {
            assert!(over_lengths(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_distance_that_is_none_at_some_angles_has_no_mean() {
        let mean = |text: &str| Distance::of(&read(text), [0, 1]).unwrap().mean();
        let row = [0.4, 1.1, 0.8, 0.8];
        for text in ["sqrt(1 + 1.0000001*cos(a - b))*c", "c/sqrt(1 - 1.0000001*cos(a - b))"] {
            let mean = mean(text);
            assert!(mean.value(&row).is_nan() && mean.partial(2, &row).is_nan(), "{text}");
        }
        let squares = mean("sqrt(c + 2*cos(a - b))");
        assert!(
            [None, Some(2)].iter().all(|s| squares.mean_square(*s, &row).unwrap().value.is_nan())
        );
        // Where it is 0 at one angle it is known.
        assert!(mean("sqrt(c^2 + d^2 - 2*c*d*cos(a - b))").value(&row) > 0.0);
    }

    #[test]
    fn other_functions_of_the_angle_are_no_distances() {
        for text in [
            "cos(a - b)*c",
            "exp(cos(a - b))",
            "sqrt(1 + cos(a - b)^2)",
            "sqrt(2 + cos(a - b) + sin(a - b))",
            "sqrt(2 + cos(a - b)) + c",
            "sqrt(2 + cos(a - b))*cos(a - b)",
            "(2 + cos(a - b))^1.5",
        ] {
            assert!(Distance::of(&read(text), [0, 1]).is_none(), "{text}");
        }
    }

    /// The third side of a triangle has a cusp where the others are equal, and is shortest beside 0 elsewhere.
    #[test]
    fn approaches_are_where_the_distance_is_shortest() {
        let distance = Distance::of(&read("sqrt(c^2 + d^2 + 2*c*d*cos(a - b))"), [0, 1]).unwrap();
        let values: Vec<f64> =
            distance.approaches().iter().map(|level| level.value(&[0.0, 0.0, 1.5, 0.5])).collect();
        assert_eq!(values, [2.0, -2.0, 4.0, 4.0]);
    }

    /// On either side of where a distance is shortest and longest it is the same; with another feature in the wave these move.
    #[test]
    fn distances_are_mirrored_where_they_are_shortest_and_longest() {
        for text in [
            "sqrt(c^2 + d^2 + 2*c*d*cos(a - b))",
            "3*c/sqrt(1 + c^2 + d^2 - 2*c*d*sin(2*a - 2*b))",
            "(c + 4 + d*cos(3*b - 3*a + 1))^-0.5*d",
            "sqrt(4 + sin(b - a + 0.3))/d",
        ] {
            let tree = read(text);
            let (from, to) = Distance::of(&tree, [0, 1]).unwrap().turn().unwrap();
            let at = |t: f64| tree.value(&[t + 0.4, 0.4, 1.3, 0.7]);
            for end in [from, to] {
                assert!((at(end - 0.2) - at(end + 0.2)).abs() < 1e-14, "{text} at {end}");
            }
            // Between them it rises or falls.
            let values: Vec<f64> =
                (0..=16).map(|k| at(from + (to - from) * f64::from(k) / 16.0)).collect();
            let rises = values[16] > values[0];
            assert!(values.windows(2).all(|pair| (pair[1] > pair[0]) == rises), "{text}");
        }
        let moving = Distance::of(&read("sqrt(4 + d*cos(a - b + c))"), [0, 1]);
        assert!(moving.unwrap().turn().is_none());
    }

    /// Lengths that a triangle may have for its sides, with the angle between them.
    fn triangle(first: &str, second: &str) -> Scenario {
        let text = format!(
            "f = \"sqrt(x1^2 + x2^2 + 2*x1*x2*cos(x3 - x4))\"\n[law]\nx1 = \"uniform({first})\"\n\
             x2 = \"uniform({second})\"\nx3 = \"uniform(0, 2*pi)\"\nx4 = \"uniform(0, 2*pi)\"\n"
        );
        crate::problem("mine", &text, &[]).unwrap()
    }

    /// All that a third side that has no cusp is on average, and how it varies, against integrals over the angle: a
    /// witness knows no means.
    #[test]
    fn means_and_variances_are_those_that_are_integrated() {
        let [own, witness] =
            [triangle("1, 2", "3, 4"), triangle("1, 2", "3, 4").witness().unwrap()];
        for effect in [Quantity::Pd, Quantity::Dpd, Quantity::Sigma, Quantity::Ale, Quantity::Shap]
        {
            let of = |scenario: &Scenario, feature: usize| {
                let axis = scenario.axis(feature);
                scenario.curve(effect, feature, &[1.25], axis, Centring::None).unwrap()[0]
            };
            for feature in [0, 2] {
                let (found, known) = (of(&own, feature), of(&witness, feature));
                let off = (found.value - known.value).abs();
                assert!(off <= found.abs_error + known.abs_error, "{effect}: {found:?}, {known:?}");
            }
        }
    }

    /// Where the sides may be as long as each other there is a cusp on a line, and still few evaluations.
    #[test]
    fn curves_along_a_cusp_take_few_evaluations() {
        let scenario = triangle("0.1, 10", "0.1, 10");
        let axis = scenario.axis(0);
        let points: Vec<f64> =
            (0..1000).map(|k| axis.0 + (axis.1 - axis.0) * f64::from(k) / 999.0).collect();
        for (effect, most) in [(Quantity::Pd, 2e5), (Quantity::Dpd, 4e5), (Quantity::HDpdp, 1e6)] {
            let ask = || scenario.curve(effect, 0, &points, axis, Centring::None).unwrap();
            let (curve, cost) = with_cost(ask);
            assert!(curve.iter().all(|truth| truth.abs_error < 1e-9), "{effect}");
            assert!(cost < most, "{effect}: {cost}");
        }
    }
}
