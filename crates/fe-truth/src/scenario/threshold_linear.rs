//! The example of RHALE against PDP-ICE (Gkolemis et al. 2023, sec. 4.1 and B.2).
//!
//! A tent over a weighted sum of two correlated features: where it folds depends on both.

use super::closed_forms::{ClosedForms, Pointwise};
use super::published::Limit;
use super::{Family, OptionInfo, Parameters, Parts, ScenarioInfo};
use crate::error::Error;
use crate::expression::{Expression, feature, less, less_equal};
use crate::function::{Function, Term};
use crate::law::{Law, Normal, ParentChild, PiecewiseUniform, Univariate};
use crate::numeric::special::{normal_between, normal_cdf};
use crate::quantity::Quantity;

const WEIGHT: &str = "a number from -1e3 to 1e3";

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "threshold-linear",
        version: 1,
        about: "linear pieces whose limits move with a correlated feature; \
                cases a (1 1 0), b (2 ½ 0) and c (1 1 1) of a1 a2 alpha",
        formula: "alpha x1 x3 + t(a1 x1 + a2 x2), t(u) = u up to ½, 1 − u between ½ and 1, else 0",
        law: "x1 ~ U(0, 1); x2 = x1 + N(0, sd noise_sd); x3 ~ N(0, sd ½)",
        parameters: &[
            OptionInfo { name: "a1", default: "1", allowed: WEIGHT, about: "weight of x1" },
            OptionInfo { name: "a2", default: "1", allowed: WEIGHT, about: "weight of x2" },
            OptionInfo {
                name: "alpha",
                default: "0",
                allowed: WEIGHT,
                about: "strength of the interaction of x1 and x3",
            },
            OptionInfo {
                name: "noise_sd",
                default: "0.01",
                allowed: "a number from 1e-6 to 1e6",
                about: "standard deviation of x2 given x1",
            },
            OptionInfo {
                name: "variant",
                default: "paper",
                allowed: "paper, rhale-code",
                about: "t(u) between ½ and 1: 1 − u, or ½ − u, which jumps at both ends",
            },
        ],
    },
    build,
};

/// Standard deviation of x3.
const SD_X3: f64 = 0.5;
/// E x1 and Var x1.
const MEAN_X1: f64 = 0.5;
const VAR_X1: f64 = 1.0 / 12.0;
/// Fold and end of t.
const FOLD: f64 = 0.5;
const END: f64 = 1.0;

fn build(parameters: &mut Parameters) -> Result<Parts, Error> {
    let mut weight = |name| parameters.number(name, |a| (-1e3..=1e3).contains(&a));
    let (a1, a2, alpha) = (weight("a1")?, weight("a2")?, weight("alpha")?);
    let noise = parameters.number("noise_sd", |sd| (1e-6..=1e6).contains(&sd))?;
    let second = parameters.choice("variant", &[("paper", 1.0), ("rhale-code", 0.5)])?;
    let function = ThresholdLinear { weights: [a1, a2], alpha, second };
    let pair = ParentChild::new(PiecewiseUniform::on(0.0, 1.0), noise);
    let forms = Forms { function, pair: pair.clone() };
    let law = Law::new().with(&[0, 1], pair).with_independent(2, Normal { mean: 0.0, sd: SD_X3 });
    let axes = vec![(0.0, 1.0), (-4.0 * noise, 1.0 + 4.0 * noise), (-2.0, 2.0)];
    Ok(Parts::new(law, function, forms, axes).with_limits(limits(function)))
}

/// The paper's curves of its three cases, as if x2 were x1.
fn limits(function: ThresholdLinear) -> Vec<Limit> {
    let ThresholdLinear { weights, alpha, .. } = function;
    // Slope and ends of the printed pieces: eq. 45 and 46, eq. 49 and 50.
    let [slope, first, from, to] = match weights {
        [1.0, 1.0] => [1.0, 0.25, 0.25, 0.5],
        [2.0, 0.5] => [2.0, 0.2, 0.25, 0.4],
        _ => return Vec::new(),
    };
    let printed = move |x: f64| {
        let rising = if (0.0..=first).contains(&x) { slope * x } else { 0.0 };
        let level = if slope == 1.0 { 0.25 } else { 0.4 };
        rising + if from < x && x < to { level - slope * x } else { 0.0 }
    };
    let mut limits: Vec<Limit> =
        [0, 1].into_iter().map(|s| Limit::new(Quantity::Ale, s, printed)).collect();
    if alpha == 0.0 {
        limits.extend([0, 1].map(|s| Limit::new(Quantity::Sigma, s, |_| 0.0)));
    }
    if alpha == 1.0 && weights == [1.0, 1.0] {
        limits.push(Limit::new(Quantity::Sigma, 0, |_| SD_X3));
        limits.push(Limit::new(Quantity::Sigma, 2, |_| 0.25));
    }
    limits
}

#[derive(Debug, Clone, Copy)]
struct ThresholdLinear {
    /// Of x1 and x2.
    weights: [f64; 2],
    alpha: f64,
    /// Start of the decreasing line of t, between the fold and the end.
    second: f64,
}

impl ThresholdLinear {
    fn sum(&self, x: &[f64]) -> f64 {
        self.weights[0] * x[0] + self.weights[1] * x[1]
    }

    fn tent(&self, u: f64) -> f64 {
        if u <= FOLD {
            u
        } else if u < END {
            self.second - u
        } else {
            0.0
        }
    }

    fn slope(u: f64) -> f64 {
        if u <= FOLD {
            1.0
        } else if u < END {
            -1.0
        } else {
            0.0
        }
    }
}

impl Function for ThresholdLinear {
    const WIDTH: usize = 3;

    fn dimension(&self) -> usize {
        3
    }

    fn expression(&self) -> Expression {
        let sum = || self.weights[0] * feature(0) + self.weights[1] * feature(1);
        let rising = sum() * less_equal(sum(), FOLD);
        let falling = (self.second - sum()) * less(FOLD, sum()) * less(sum(), END);
        self.alpha * feature(0) * feature(2) + rising + falling
    }

    fn terms(&self) -> Vec<Term> {
        let (tent, weights) = (*self, self.weights);
        let weighted = [(0, weights[0]), (1, weights[1])];
        let drop = self.second - 1.0;
        let tent = Term::new(
            &[0, 1],
            move |x| tent.tent(tent.sum(x)),
            move |s, x| weights[s] * Self::slope(tent.sum(x)),
        );
        vec![
            tent.breaking_across(&weighted, FOLD, drop).breaking_across(&weighted, END, -drop),
            Term::product(self.alpha, 0, 2),
        ]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        self.alpha * x[0] * x[2] + self.tent(self.sum(x))
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        match s {
            0 => self.alpha * x[2] + self.weights[0] * Self::slope(self.sum(x)),
            1 => self.weights[1] * Self::slope(self.sum(x)),
            _ => self.alpha * x[0],
        }
    }
}

struct Forms {
    function: ThresholdLinear,
    pair: ParentChild,
}

/// Probabilities of the rising, the falling and the flat piece.
struct Pieces([f64; 3]);

impl Pieces {
    fn mean_slope(&self) -> f64 {
        self.0[0] - self.0[1]
    }

    /// As a sum over pairs of pieces, which does not cancel where one is all but certain.
    fn variance_of_slope(&self) -> f64 {
        let [rising, falling, flat] = self.0;
        4.0 * rising * falling + flat * (rising + falling)
    }
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, x: f64, axis: (f64, f64)) -> Option<f64> {
        match s {
            0 => self.of_x1(quantity, x),
            1 => None,
            _ => self.of_x3(quantity, x, axis),
        }
    }
}

impl Forms {
    /// The slope in x1 is a1 times that of the tent, plus alpha x3.
    fn of_x1(&self, quantity: Pointwise, x: f64) -> Option<f64> {
        let a1 = self.function.weights[0];
        let of_product = (self.function.alpha * SD_X3).powi(2);
        Some(match quantity {
            Pointwise::Mu => a1 * self.given_x1(x).mean_slope(),
            Pointwise::Dpd => a1 * self.marginal(x)?.mean_slope(),
            Pointwise::Sigma2 => a1 * a1 * self.given_x1(x).variance_of_slope() + of_product,
            Pointwise::HDpdp => a1 * a1 * self.marginal(x)?.variance_of_slope() + of_product,
            _ => return None,
        })
    }

    /// Given x1 = x the weighted sum is normal around (a1 + a2) x.
    fn given_x1(&self, x: f64) -> Pieces {
        let [a1, a2] = self.function.weights;
        let (mean, sd) = ((a1 + a2) * x, a2.abs() * self.pair.noise);
        if sd == 0.0 {
            return Pieces([
                f64::from(mean <= FOLD),
                f64::from(FOLD < mean && mean < END),
                f64::from(mean >= END),
            ]);
        }
        let (fold, end) = ((FOLD - mean) / sd, (END - mean) / sd);
        Pieces([normal_cdf(fold), normal_between(fold, end), normal_cdf(-end)])
    }

    /// x1 = x, and x2 has its own law.
    fn marginal(&self, x: f64) -> Option<Pieces> {
        let [a1, a2] = self.function.weights;
        if a2 == 0.0 {
            return Some(self.given_x1(x));
        }
        let law = self.pair.child();
        let [fold, end] = [FOLD, END].map(|level| law.cdf((level - a1 * x) / a2));
        // With a negative weight the sum falls as x2 rises.
        let pieces =
            if a2 > 0.0 { [fold, end - fold, 1.0 - end] } else { [1.0 - fold, fold - end, end] };
        Some(Pieces(pieces))
    }

    /// f is linear in x3, which is independent of the rest, with slope alpha x1.
    fn of_x3(&self, quantity: Pointwise, x: f64, (lo, hi): (f64, f64)) -> Option<f64> {
        let alpha = self.function.alpha;
        Some(match quantity {
            // The mean of the tent is left to quadrature.
            Pointwise::Pd | Pointwise::Mplot => return None,
            Pointwise::Dpd | Pointwise::Mu => alpha * MEAN_X1,
            Pointwise::Sigma2 | Pointwise::HDpdp => alpha * alpha * VAR_X1,
            Pointwise::HPdp => alpha * alpha * VAR_X1 * (x - 0.5 * (lo + hi)).powi(2),
            Pointwise::Accumulated => alpha * MEAN_X1 * (x - lo),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first line holds at the fold, and the last one at the end.
    #[test]
    fn lines_hold_their_first_ends() {
        let function = ThresholdLinear { weights: [1.0, 1.0], alpha: 0.0, second: 2.0 };
        for (u, value, slope) in [
            (0.25, 0.25, 1.0),
            (FOLD, FOLD, 1.0),
            (0.75, 1.25, -1.0),
            (END, 0.0, 0.0),
            (2.0, 0.0, 0.0),
        ] {
            assert_eq!((function.tent(u), ThresholdLinear::slope(u)), (value, slope), "{u}");
        }
    }

    /// Where x2 does not count the weighted sum is x1 itself, on one of the pieces.
    #[test]
    fn without_x2_the_piece_is_certain() {
        let pair = ParentChild::new(PiecewiseUniform::on(0.0, 1.0), 0.1);
        let function = ThresholdLinear { weights: [2.0, 0.0], alpha: 0.0, second: 1.0 };
        let forms = Forms { function, pair };
        for (x, pieces) in [
            (0.125, [1.0, 0.0, 0.0]),
            (0.25, [1.0, 0.0, 0.0]),
            (0.375, [0.0, 1.0, 0.0]),
            (0.5, [0.0, 0.0, 1.0]),
            (0.75, [0.0, 0.0, 1.0]),
        ] {
            assert_eq!(forms.given_x1(x).0, pieces, "{x}");
        }
    }

    /// The printed curve x up to ¼, then ¼ − x as far as ½, and 0.
    #[test]
    fn the_printed_curve_has_open_ends() {
        let scenario = crate::scenario("threshold-linear", &[]).unwrap();
        let printed = |x: f64| {
            let centring = crate::Centring::None;
            scenario.limit("ale-limit", 0, &[x], (0.0, 1.0), centring).unwrap()[0]
        };
        let known = [(0.125, 0.125), (0.25, 0.25), (0.375, -0.125), (0.5, 0.0), (0.75, 0.0)];
        for (x, value) in known {
            assert_eq!(printed(x), value, "{x}");
        }
        // 2 x up to 0.2, and 0.4 − 2 x between ¼ and 0.4.
        let function = ThresholdLinear { weights: [2.0, 0.5], alpha: 0.0, second: 1.0 };
        let set = [("a1".into(), "2".into()), ("a2".into(), "0.5".into())];
        let scenario = crate::scenario("threshold-linear", &set).unwrap();
        assert_eq!(limits(function).len(), scenario.limits().len());
        let ask = |x| scenario.limit("ale-limit", 0, &[x], (0.0, 1.0), crate::Centring::None);
        for (x, value) in [(0.125, 0.25), (0.25, 0.0), (0.375, 0.4 - 0.75), (0.4, 0.0)] {
            assert_eq!(ask(x).unwrap()[0], value, "{x}");
        }
    }
}
