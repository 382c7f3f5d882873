//! Breaks of an expression, found from its `if`, `abs`, `min`, `max`, `sign` and `floor`.
//!
//! Each of them changes where an expression passes through 0. In one feature that is at fixed
//! places, in several affinely at a line, else on a surface whose places along one feature are roots.

use std::sync::Arc;

use super::pieces::Affine;
use crate::expression::{Binary, Expression, Unary};
use crate::numeric::roots::scan;

/// Largest number of values of `floor`.
const MOST_LEVELS: usize = 1000;

/// Points along a feature between which roots are looked for.
#[derive(Debug, Clone)]
pub(super) struct Span {
    /// Ascending places between which a root is looked for.
    pub(super) points: Vec<f64>,
    /// Places that the density of the feature is resolved by, and the ends of its support.
    pub(super) marks: Vec<f64>,
}

impl Span {
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.points[0], self.points[self.points.len() - 1])
    }
}

/// A set on which an expression changes its course: where `level` is 0.
#[derive(Debug, Clone)]
pub(super) struct Surface {
    pub(super) level: Expression,
    /// The level as a weighted sum, where it is one.
    pub(super) affine: Option<Affine>,
    /// The nodes of the tree that may jump there; none if it only has a kink.
    pub(super) nodes: Vec<Expression>,
}

/// A passage of a node of the tree through a surface.
struct Passage {
    surface: Surface,
    /// True if the node's own argument falls where the level rises.
    reversed: bool,
}

impl Passage {
    fn of(level: Expression, node: Option<&Expression>) -> Self {
        let nodes: Vec<Expression> = node.into_iter().cloned().collect();
        if let Some(affine) = Affine::of(&level) {
            let first = affine.weights.first().map_or(1.0, |(_, weight)| *weight);
            let affine = affine.times(1.0 / first);
            let surface = Surface { level: affine.tree(), affine: Some(affine), nodes };
            return Self { surface, reversed: first < 0.0 };
        }
        // One of two opposite forms.
        let opposite = opposite(&level);
        let reversed = format!("{opposite:?}") < format!("{level:?}");
        let level = if reversed { opposite } else { level };
        Self { surface: Surface { level, affine: None, nodes }, reversed }
    }
}

fn opposite(level: &Expression) -> Expression {
    match level {
        Expression::Difference(pair) => pair[1].clone() - pair[0].clone(),
        Expression::Product(parts) if parts[0] == Expression::Number(-1.0) => {
            let rest = parts[1..].iter().cloned().reduce(|a, b| a * b);
            rest.unwrap_or(Expression::Number(1.0))
        }
        level => -level.clone(),
    }
}

/// The passages of one node, without those of its parts.
fn passages(node: &Expression, spans: &[Span]) -> Result<Vec<Passage>, String> {
    let difference = |pair: &[Expression; 2]| pair[0].clone() - pair[1].clone();
    let one = |level: Expression, node| Ok(vec![Passage::of(level, node)]);
    match node {
        Expression::Indicator(_, pair) => one(difference(pair), Some(node)),
        Expression::Joint(Binary::Min | Binary::Max, pair) => one(difference(pair), None),
        Expression::Function(Unary::Abs, of) => one((**of).clone(), None),
        Expression::Function(Unary::Sign, of) => one((**of).clone(), Some(node)),
        Expression::Function(Unary::Floor, of) => {
            let levels = levels(of, spans)?;
            Ok(levels.map(|k| Passage::of((**of).clone() - k as f64, Some(node))).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Expressions that are 0 where a tree has a kink or jumps.
pub(super) fn kink_levels(tree: &Expression) -> Vec<Expression> {
    let own = match tree {
        Expression::Indicator(_, pair) | Expression::Joint(Binary::Min | Binary::Max, pair) => {
            Some(pair[0].clone() - pair[1].clone())
        }
        Expression::Function(Unary::Abs | Unary::Sign, of) => Some((**of).clone()),
        Expression::Function(Unary::Floor, of) => {
            Some(((**of).clone() * std::f64::consts::PI).sin())
        }
        _ => None,
    };
    own.into_iter().chain(tree.parts().iter().flat_map(kink_levels)).collect()
}

/// Number of points along each of so many features of a grid of about four thousand.
fn points_along(features: usize) -> usize {
    (4096_f64.powf(1.0 / features.max(1) as f64) as usize).clamp(2, 257)
}

/// The whole numbers that an expression may pass through.
fn levels(of: &Expression, spans: &[Span]) -> Result<std::ops::RangeInclusive<i64>, String> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let features = of.features();
    let mut row = vec![0.0; spans.len()];
    // Of a monotone expression the range is that at the corners; of others it is found on a grid.
    let per_feature = points_along(features.len());
    let count = per_feature.pow(features.len() as u32);
    for number in 0..count {
        let mut rest = number;
        for &feature in &features {
            let points = &spans[feature].points;
            let place = (rest % per_feature) * (points.len() - 1) / (per_feature - 1);
            row[feature] = points[place];
            rest /= per_feature;
        }
        let value = of.value(&row);
        if value.is_finite() {
            (low, high) = (low.min(value), high.max(value));
        }
    }
    // A turning point between the points of the grid.
    let margin = if Affine::of(of).is_some() { 0.0 } else { 1.0 + 0.05 * (high - low) };
    let (low, high) = ((low - margin).floor(), (high + margin).ceil());
    let count = high - low;
    if count.is_nan() || count > MOST_LEVELS as f64 {
        return Err(format!("`floor` takes more than {MOST_LEVELS} values on the law's support"));
    }
    Ok(low as i64..=high as i64)
}

/// All surfaces of an expression, each once.
pub(super) fn surfaces(tree: &Expression, spans: &[Span]) -> Result<Vec<Surface>, String> {
    fn collect(tree: &Expression, spans: &[Span], found: &mut Vec<Surface>) -> Result<(), String> {
        for Passage { surface, .. } in passages(tree, spans)? {
            match found.iter_mut().find(|known| known.level == surface.level) {
                Some(known) => known.nodes.extend(surface.nodes),
                None => found.push(surface),
            }
        }
        tree.parts().iter().try_for_each(|part| collect(part, spans, found))
    }
    let mut found = Vec::new();
    collect(tree, spans, &mut found)?;
    found.retain(|surface| !surface.level.features().is_empty());
    Ok(found)
}

/// An expression as it is on one side of a surface, continued across it.
pub(super) fn on_side(
    tree: &Expression,
    surface: &Surface,
    above: bool,
    spans: &[Span],
) -> Expression {
    let passing = passages(tree, spans).unwrap_or_default();
    let passing = passing.into_iter().find(|passage| passage.surface.level == surface.level);
    if let Some(Passage { reversed, .. }) = passing {
        let rising = above != reversed;
        match tree {
            Expression::Indicator(crate::expression::Comparison::Equal, _) => {
                return Expression::Number(0.0);
            }
            Expression::Indicator(..) => return Expression::Number(f64::from(!rising)),
            Expression::Function(Unary::Sign, _) => {
                return Expression::Number(if rising { 1.0 } else { -1.0 });
            }
            Expression::Function(Unary::Floor, of) => return floor_beside(of, rising),
            _ => (),
        }
    }
    tree.with_parts(&mut |part| on_side(part, surface, above, spans))
}

/// The value of `floor` beside a place where its argument is whole.
fn floor_beside(of: &Expression, rising: bool) -> Expression {
    let rounded = (of.clone() + 0.5).of(Unary::Floor);
    if rising { rounded } else { rounded - 1.0 }
}

/// The places along a feature where an expression of it alone passes through 0.
pub(super) fn fixed_places(surface: &Surface, feature: usize, spans: &[Span]) -> Vec<f64> {
    if let Some(affine) = &surface.affine {
        let &[(_, weight)] = affine.weights.as_slice() else { return Vec::new() };
        // Adding 0 turns -0 into 0.
        return vec![0.0 - affine.constant / weight];
    }
    let mut row = vec![f64::NAN; spans.len()];
    roots(&surface.level, feature, &spans[feature], &mut row)
}

/// Ascending roots of an expression along a feature, the others as in the row.
pub(super) fn roots(level: &Expression, along: usize, span: &Span, row: &mut [f64]) -> Vec<f64> {
    let held = row[along];
    let found = scan(&span.points, &mut |x| {
        row[along] = x;
        level.value(row)
    });
    row[along] = held;
    found
}

/// Places along each feature at which an expression jumps or has a kink whatever the others are:
/// of numbers that are neighbours one at most, and each jump between a place and a neighbour of it.
pub(super) fn all_fixed_places(surfaces: &[Surface], spans: &[Span]) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); spans.len()];
    for surface in surfaces {
        let &[feature] = surface.level.features().as_slice() else { continue };
        for place in fixed_places(surface, feature, spans) {
            let mut exact = vec![place];
            let row = vec![f64::NAN; spans.len()];
            exact.extend(surface.nodes.iter().map(|node| exact_place(node, feature, place, &row)));
            exact.sort_by(f64::total_cmp);
            for place in exact {
                let beside = [place.next_down(), place, place.next_up()];
                if !found[feature].iter().any(|known| beside.contains(known)) {
                    found[feature].push(place);
                }
            }
        }
    }
    found
}

/// The number nearest to a computed place at which a node of the tree really changes.
pub(super) fn exact_place(node: &Expression, feature: usize, place: f64, row: &[f64]) -> f64 {
    let mut row = row.to_vec();
    let mut at = |x: f64| {
        row[feature] = x;
        node.value(&row)
    };
    let (below, above) = (at(place.next_down()), at(place.next_up()));
    let reach = 64.0 * f64::EPSILON * place.abs().max(f64::MIN_POSITIVE);
    let (mut a, mut b) = (place - reach, place + reach);
    let before = at(a);
    if below != above || before == at(b) {
        return place;
    }
    loop {
        let middle = 0.5 * (a + b);
        if middle <= a || middle >= b {
            return b;
        }
        if at(middle) == before { a = middle } else { b = middle }
    }
}

/// Places along a feature at which a surface of it and one other meets marks of the other's law: averages over
/// the other change their course there.
pub(super) fn entrances(surface: &Surface, along: usize, spans: &[Span]) -> Vec<f64> {
    let features = surface.level.features();
    let &[other] = features.iter().filter(|f| **f != along).copied().collect::<Vec<_>>().as_slice()
    else {
        return Vec::new();
    };
    let mut row = vec![f64::NAN; spans.len()];
    let mut found = Vec::new();
    for &mark in &spans[other].marks {
        row[other] = mark;
        found.extend(roots(&surface.level, along, &spans[along], &mut row));
    }
    found
}

/// The places of a surface along a feature, given the others of the row; none if one is not known.
pub(super) fn places(
    surface: &Surface,
    along: usize,
    row: &[f64],
    spans: &Arc<[Span]>,
) -> Vec<f64> {
    let mut features = surface.level.features().into_iter();
    if !surface.level.reads(along) || features.any(|f| f != along && row[f].is_nan()) {
        return Vec::new();
    }
    let mut row = row.to_vec();
    roots(&surface.level, along, &spans[along], &mut row)
}

impl Surface {
    /// The surface on which a level is 0, and nothing jumps.
    pub(super) fn of(level: Expression) -> Self {
        Passage::of(level, None).surface
    }

    /// True if places can be left out of all integrals: it lies outside of the law's reach.
    pub(super) fn is_outside(&self, spans: &[Span]) -> bool {
        let Some(affine) = &self.affine else { return false };
        let (mut low, mut high) = (affine.constant, affine.constant);
        for &(feature, weight) in &affine.weights {
            let (from, to) = spans[feature].ends();
            let ends = [weight * from, weight * to];
            low += ends[0].min(ends[1]);
            high += ends[0].max(ends[1]);
        }
        low > 0.0 || high < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::parser::of_letters as read;

    /// Three features from −2 to 2.
    fn spans() -> Vec<Span> {
        let points = (-20..=20).map(|k| 0.1 * f64::from(k)).collect();
        vec![Span { points, marks: vec![-2.0, 2.0] }; 3]
    }

    #[test]
    fn the_opposite_of_a_level_falls_where_it_rises() {
        let row = [0.7, -1.3, 1.9];
        let products = ["a*b", "-(a*b*c)", "-(a*b)", "-a*b", "-a*b*c", "sin(a)*b", "2*a*b"];
        for text in products.into_iter().chain(["a - b*c", "sin(a)", "a + b*c"]) {
            let level = read(text);
            assert!((opposite(&level).value(&row) + level.value(&row)).abs() < 1e-15, "{text}");
        }
    }

    /// Both ways to write a surface are the same one, on which one of them is turned round.
    #[test]
    fn opposite_levels_are_one_surface() {
        for (text, other) in [
            ("a*b - 0.25", "0.25 - a*b"),
            ("sin(a)*b", "-(sin(a)*b)"),
            ("a*b*c", "-(a*b*c)"),
            ("a*b*c", "-a*b*c"),
            ("2*a - 3", "3 - 2*a"),
            ("a - 2*b", "2*b - a"),
        ] {
            let [one, two] = [text, other].map(|text| Passage::of(read(text), None));
            assert_eq!(one.surface.level, two.surface.level, "{text}");
            assert_ne!(one.reversed, two.reversed, "{text}");
        }
        // The first feature of a weighted sum has the weight 1.
        let surface = Passage::of(read("1 - 2*a + b"), None);
        assert!(surface.reversed);
        let known = Affine { weights: vec![(0, 1.0), (1, -0.5)], constant: -0.5 };
        assert_eq!(surface.surface.affine, Some(known));
    }

    #[test]
    fn whole_numbers_reach_as_far_as_the_argument() {
        let found = |text: &str| levels(&read(text), &spans());
        assert_eq!(found("a"), Ok(-2..=2));
        assert_eq!(found("100*a + 600"), Ok(400..=800));
        assert_eq!(found("a - 0.75*b + 0.1"), Ok(-4..=4));
        // Of a curve it is a twentieth and one more on either side: there may be turning points.
        assert_eq!(found("10*a*a + 5"), Ok(2..=48));
        assert!(found("1000*a").is_err());
    }

    #[test]
    fn floor_beside_a_whole_number_is_that_of_its_side() {
        for near in [2.0, 2.000_001, 1.999_999] {
            assert_eq!(floor_beside(&feature_a(), true).value(&[near]), 2.0);
            assert_eq!(floor_beside(&feature_a(), false).value(&[near]), 1.0);
        }
    }

    fn feature_a() -> Expression {
        Expression::Feature(0)
    }

    /// Changes of which comparison holds, at one number, wherever near it the search begins.
    #[test]
    fn the_place_of_a_jump_is_the_number_at_which_it_happens() {
        let condition = |first: Expression, kind, second: f64| {
            Expression::Indicator(kind, Box::new([first, Expression::Number(second)]))
        };
        use crate::expression::Comparison::{Less, LessEqual};
        let curved = condition(read("a*a"), Less, 2.0);
        let mut start = std::f64::consts::SQRT_2;
        (0..20).for_each(|_| start = start.next_down());
        let place = exact_place(&curved, 0, start, &[f64::NAN]);
        assert_eq!((curved.value(&[place.next_down()]), curved.value(&[place])), (1.0, 0.0));
        assert!((place - std::f64::consts::SQRT_2).abs() < 1e-15);
        // It is known already, and there is none.
        let closed = condition(feature_a(), LessEqual, 1.0);
        assert_eq!(exact_place(&closed, 0, 1.0, &[f64::NAN]), 1.0);
        let elsewhere = condition(feature_a(), LessEqual, 5.0);
        assert_eq!(exact_place(&elsewhere, 0, 1.0, &[f64::NAN]), 1.0);
    }

    #[test]
    fn surfaces_that_no_row_meets_are_outside() {
        for (text, is_outside) in [
            ("a + 5", true),
            ("a - 5", true),
            ("a - 1", false),
            ("a + 2", false),
            ("a - 2", false),
            ("a + 0.1*b - 3", true),
            ("a + b - 3", false),
            ("a + 4*b - 9", false),
            ("a*b - 100", false),
        ] {
            let surface = Passage::of(read(text), None).surface;
            assert_eq!(surface.is_outside(&spans()), is_outside, "{text}");
        }
    }

    #[test]
    fn grids_have_about_four_thousand_points_and_two_along_each_feature() {
        assert_eq!([0, 1, 2, 12, 20].map(points_along), [257, 257, 64, 2, 2]);
        for features in 2..=12 {
            let count = points_along(features).pow(features as u32);
            assert!((250..=4096).contains(&count), "{features}: {count}");
        }
    }

    /// Places some roundings beside the number at which a comparison changes, of whatever size it is.
    #[test]
    fn the_number_at_which_a_comparison_changes_is_found_beside_a_computed_place() {
        for number in [1000.3, 0.3, -7e-5, 3e12] {
            let node = crate::expression::less(crate::expression::feature(0), number);
            let beside = number * (1.0 + 8.0 * f64::EPSILON);
            for place in [number, beside, number * (1.0 - 8.0 * f64::EPSILON)] {
                assert_eq!(exact_place(&node, 0, place, &[f64::NAN]), number, "{place}");
            }
            // Nothing changes nearby.
            assert_eq!(exact_place(&node, 0, 1.1 * number, &[f64::NAN]), 1.1 * number);
        }
    }
}
