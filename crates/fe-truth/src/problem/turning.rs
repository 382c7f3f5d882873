//! Angles of which an expression sees no more than how far one of them is from another.

use std::f64::consts::TAU;

use super::pieces::Affine;
use crate::expression::{Expression, Unary};
use crate::law::{Law, Univariate};

/// Places at which a density is held against that of the circle.
const PLACES: usize = 64;

/// True of the features that are independent of all others and uniform over one whole turn.
pub(super) fn whole_turns(law: &Law) -> Vec<bool> {
    let is_alone = |feature: usize| law.block_of(feature).0.len() == 1;
    (0..law.dimension())
        .map(|feature| is_alone(feature) && is_whole_turn(&*law.marginal(feature)))
        .collect()
}

fn is_whole_turn(law: &dyn Univariate) -> bool {
    let (low, high) = law.support();
    let is_even = |k: usize| {
        let x = low + (k as f64 + 0.5) / PLACES as f64 * TAU;
        (law.pdf(x) * TAU - 1.0).abs() <= 1e-13
    };
    law.levels().is_none()
        && (high - low - TAU).abs() <= 8.0 * f64::EPSILON * high.abs().max(low.abs())
        && (0..PLACES).all(is_even)
}

/// Two of these features on which an expression depends through their difference alone, and with the period of a turn.
pub(super) fn angles(tree: &Expression, whole_turns: &[bool]) -> Option<[usize; 2]> {
    let turning: Vec<usize> = tree.features().into_iter().filter(|&s| whole_turns[s]).collect();
    let pairs = turning.iter().enumerate();
    let mut pairs = pairs.flat_map(|(place, &a)| turning[place + 1..].iter().map(move |&b| [a, b]));
    pairs.find(|&pair| turns_with(tree, pair))
}

/// True if both features stand nowhere but in sines, cosines and tangents of whole multiples of their difference.
fn turns_with(tree: &Expression, [a, b]: [usize; 2]) -> bool {
    if !tree.reads(a) && !tree.reads(b) {
        return true;
    }
    match tree {
        Expression::Feature(_) => false,
        Expression::Function(Unary::Sin | Unary::Cos | Unary::Tan, of) => {
            let affine = Affine::of(of);
            let is_turned = affine.is_some_and(|affine| {
                let weight = |s: usize| affine.weights.iter().find(|(own, _)| *own == s);
                let weights = [a, b].map(|s| weight(s).map_or(0.0, |(_, weight)| *weight));
                weights[0] == -weights[1] && weights[0].fract() == 0.0
            });
            is_turned || turns_with(of, [a, b])
        }
        _ => tree.parts().iter().all(|part| turns_with(part, [a, b])),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::watch::with_cost;
    use crate::engine::{LocalQuantity, Rest};
    use crate::function::Term;
    use crate::law::{Normal, PiecewiseUniform};
    use crate::problem::parser::of_letters as read;
    use crate::{Centring, Quantity};

    #[test]
    fn angles_are_seen_by_their_difference() {
        for (text, found) in [
            ("sqrt(c^2 + 2*c*cos(a - b) + 1)", true),
            ("sin(2*a - 2*b + c) + tan(b - a)", true),
            ("exp(cos((a - b)*3))*c", true),
            ("cos(a - b) + a", false),
            ("cos(a + b)", false),
            ("cos((a - b)/2)", false),
            ("cos(a - 2*b)", false),
            ("cos(a)", false),
            ("cos(a - b)*sin(b - a)*c", true),
            ("(a - b)^2", false),
            ("if(cos(a - b) < 0.5, c, 1)", true),
            ("if(a < 0.5, cos(a - b), 1)", false),
        ] {
            let pair = angles(&read(text), &[true, true, false]);
            assert_eq!(pair, found.then_some([0, 1]), "{text}");
            assert_eq!(angles(&read(text), &[true, false, false]), None, "{text}");
        }
    }

    #[test]
    fn laws_of_one_whole_turn_are_told() {
        let on = PiecewiseUniform::on;
        let law = Law::new()
            .with_independent(0, on(0.0, TAU))
            .with_independent(1, on(-0.5 * TAU, 0.5 * TAU))
            .with_independent(2, on(0.0, 0.5 * TAU))
            .with_independent(3, on(0.0, TAU * (1.0 + 1e-12)))
            .with_independent(4, Normal { mean: 0.0, sd: 1.0 });
        assert_eq!(whole_turns(&law), [true, true, false, false, false]);
    }

    /// The mean of the third side of a triangle given one side is an integral over another one and one angle.
    #[test]
    fn an_angle_of_a_file_is_not_integrated() {
        let text = "f = \"sqrt(x1^2 + x2^2 + 2*x1*x2*cos(x3 - x4))\"\n[law]\nx1 = \"uniform(1, 2)\"\n\
                    x2 = \"uniform(3, 4)\"\nx3 = \"uniform(0, 2*pi)\"\nx4 = \"uniform(-pi, pi)\"\n";
        let scenario = crate::problem("mine", text, &[]).unwrap();
        let engine = &scenario.parts.engine;
        let (own, cost) = with_cost(|| engine.mean_value(0, 1.5, Rest::Marginal));
        let with_all = engine.of_terms(engine.terms.iter().map(|term| {
            let (value, of) = (Arc::clone(term), Arc::clone(term));
            let term = Term::new(
                &[0, 1, 2, 3],
                move |row| value.value(row),
                move |s, row| of.partial(s, row),
            );
            Arc::new(term)
        }));
        let (all, cost_of_all) = with_cost(|| with_all.mean_value(0, 1.5, Rest::Marginal));
        assert!((own.value - all.value).abs() <= own.error + all.error, "{own:?}, {all:?}");
        assert!(cost * 10.0 < cost_of_all, "{cost} of {cost_of_all}");
    }

    /// Effects of an angle of which only the distance from another one matters are those at one of its values: a curve of
    /// a thousand points costs no more than a point, and what accumulates stays 0. Not so where another term reads it.
    #[test]
    fn effects_of_an_angle_are_the_same_everywhere() {
        let scenario = |f: &str| {
            let text = format!(
                "f = \"{f}\"\n[law]\nx1 = \"uniform(1, 2)\"\nx2 = \"uniform(0, 2*pi)\"\nx3 = \"uniform(-pi, pi)\"\n"
            );
            crate::problem("mine", &text, &[]).unwrap()
        };
        let turning = scenario("x1*exp(x1*cos(x2 - x3)) + x1^2");
        let axis = (0.0, TAU);
        let curve = |effect: Quantity, points: &[f64]| {
            with_cost(|| turning.curve(effect, 1, points, axis, Centring::None).unwrap())
        };
        let many: Vec<f64> = (0..1000).map(|k| f64::from(k) * 0.006).collect();
        for effect in [Quantity::Pd, Quantity::Sigma, Quantity::HPdp, Quantity::Shap] {
            // Means of terms are kept from the first question on.
            let [(_, first), (one, cost_of_one)] = [(); 2].map(|()| curve(effect, &[0.0]));
            let (all, cost) = curve(effect, &many);
            assert!(cost == cost_of_one && first > 0.0, "{effect}: {cost}, {cost_of_one}");
            // As integrated anew at another value.
            let (readers, x) = (turning.parts.engine.readers(1), 2.5);
            let engine = &turning.parts.engine;
            let known = match effect {
                Quantity::Pd => engine.mean_value(1, x, Rest::Marginal),
                Quantity::Sigma => {
                    let partial = LocalQuantity::Partial(1);
                    engine.at(1, x, Rest::Conditional).moments(&readers, partial).variance.sqrt()
                }
                Quantity::HPdp => {
                    let centred = LocalQuantity::Centred { feature: 1, axis };
                    engine.at(1, x, Rest::Marginal).moments(&readers, centred).variance
                }
                _ => engine.mean_shapley(1, x),
            };
            for value in [all[0], all[999], one[0]] {
                let off = (value.value - known.value).abs();
                assert!(off <= value.abs_error + known.error, "{effect}: {value:?}, not {known:?}");
            }
        }
        let (ale, _) = curve(Quantity::Ale, &many);
        assert!(ale.iter().all(|value| value.value == 0.0));
        for (f, known) in [("cos(x2 - x3)*x1", true), ("cos(x2 - x3) + cos(x2)", false)] {
            assert_eq!(scenario(f).parts.engine.is_arbitrary(1), known, "{f}");
        }
        assert!(!turning.parts.engine.is_arbitrary(0));
    }
}
