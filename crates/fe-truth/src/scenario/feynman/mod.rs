//! Equation I.29.16 of Feynman's lectures, the sum of two waves, as in SRSD-Feynman (Matsubara et
//! al. 2022) with two dummy features.
//!
//! f is the length of the third side of a triangle. Angles enter through their difference alone,
//! which is uniform on the circle whatever one of them is; means over it are elliptic integrals, by
//! the arithmetic-geometric mean, and means over a length are elementary.

mod along_angle;
mod along_length;
mod background;
mod basis;
mod boxes;
mod components;
mod length;
mod means;
mod memory;
mod quadratic;
mod turn;

use std::f64::consts::{PI, TAU};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::closed_forms::{ClosedForms, InBox, Pointwise, Spread};
use super::{Family, Parameters, Parts, ScenarioInfo};
use crate::error::Error;
use crate::expression::{Expression, feature};
use crate::function::{Function, Term};
use crate::law::{Law, LogUniform, PiecewiseUniform};
use crate::numeric::quadrature::{Estimate, Piecewise, integrate, within};
use crate::numeric::triangle::{MeanOverLength, Opening, mean_between, mean_over_angle, third};
use crate::quantity::Quantity;
use boxes::Boxes;

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "feynman-i29-16",
        version: 1,
        about: "a physical law with periodic features that have no effect on average",
        formula: "√(x1² + x2² + 2 x1 x2 cos(x3 − x4))",
        law: "x1, x2 log-uniform on [0.1, 10]; x3, x4 ~ U(0, 2π); x5, x6 ~ U(0, 1); independent",
        parameters: &[],
    },
    build,
};

/// Ends of a length.
const LOW: f64 = 0.1;
const HIGH: f64 = 10.0;
/// Absolute error of a panel that is of no interest: of simple and of nested integrals.
const FLOOR: f64 = 1e-13;
const NESTED_FLOOR: f64 = 1e-10;

fn build(_: &mut Parameters) -> Result<Parts, Error> {
    let length = LogUniform { low: LOW, high: HIGH };
    let angle = PiecewiseUniform::on(0.0, TAU);
    let dummy = PiecewiseUniform::on(0.0, 1.0);
    let law = Law::new().with_independent(0, length).with_independent(1, length);
    let law = law.with_independent(2, angle.clone()).with_independent(3, angle);
    let law = law.with_independent(4, dummy.clone()).with_independent(5, dummy);
    let axes = vec![(LOW, HIGH), (LOW, HIGH), (0.0, TAU), (0.0, TAU), (0.0, 1.0), (0.0, 1.0)];
    Ok(Parts::new(law, Feynman, Forms::default(), axes))
}

struct Feynman;

fn slope(s: usize, x: &[f64]) -> f64 {
    let opening = Opening::of(x[2] - x[3]);
    let side = third(x[0], x[1], &opening);
    if side == 0.0 {
        return 0.0;
    }
    match s {
        0 | 1 => (x[s] - x[1 - s] + 2.0 * x[1 - s] * opening.half_cosine2) / side,
        2 => -x[0] * x[1] * opening.sine / side,
        3 => x[0] * x[1] * opening.sine / side,
        _ => 0.0,
    }
}

impl Function for Feynman {
    const WIDTH: usize = 4;

    fn dimension(&self) -> usize {
        6
    }

    fn expression(&self) -> Expression {
        // (x1 − x2)² + 4 x1 x2 cos²(½(x3 − x4)): nothing cancels where the side is short.
        let opening = (0.5 * (feature(2) - feature(3))).cos().power(2.0);
        let apart = (feature(0) - feature(1)).power(2.0);
        (apart + 4.0 * feature(0) * feature(1) * opening).sqrt()
    }

    fn terms(&self) -> Vec<Term> {
        vec![side()]
    }

    #[inline(always)]
    fn value(&self, x: &[f64]) -> f64 {
        third(x[0], x[1], &Opening::of(x[2] - x[3]))
    }

    #[inline(always)]
    fn partial(&self, s: usize, x: &[f64]) -> f64 {
        slope(s, x)
    }
}

/// The one term, with what is known of its means.
fn side() -> Term {
    let value = |x: &[f64]| third(x[0], x[1], &Opening::of(x[2] - x[3]));
    let term = Term::new(&[0, 1, 2, 3], value, slope).turning([2, 3]).breaking_where(cusps);
    let term = term.mirrored_at((0.0, PI)).with_cusps();
    let over_lengths = Term::new(
        &[2, 3],
        |x| mean_over_lengths().at(folded(x[2] - x[3])).value,
        |s, x| {
            let of_angle = |x1: f64| mean_over_length(x1, x[2] - x[3]).per_angle;
            let per_angle = over_length(&[], FLOOR, |x1| Estimate::exact(of_angle(x1))).value;
            if s == 2 { per_angle } else { -per_angle }
        },
    );
    let over_length = |over: usize| {
        let s = 1 - over;
        let value = move |x: &[f64]| mean_over_length(x[s], x[2] - x[3]).value;
        let partial = move |along: usize, x: &[f64]| {
            let mean = mean_over_length(x[s], x[2] - x[3]);
            match along {
                2 => mean.per_angle,
                3 => -mean.per_angle,
                _ => mean.per_length,
            }
        };
        Term::new(&[s, 2, 3], value, partial).turning([2, 3]).breaking_where(cusps)
    };
    let over_angle = || {
        let partial = |s: usize, x: &[f64]| mean_over_angle(x[s], x[1 - s]).per_first;
        let value = |x: &[f64]| mean_over_angle(x[0], x[1]).value;
        let squares = |along: Option<usize>, x: &[f64]| {
            let longer = x[0].max(x[1]);
            Estimate::exact(match along {
                None => x[0] * x[0] + x[1] * x[1],
                Some(s @ (0 | 1)) => 1.0 - 0.5 * (x[1 - s] / longer).powi(2),
                Some(_) => 0.5 * x[0].min(x[1]).powi(2),
            })
        };
        Term::new(&[0, 1], value, partial).breaking_where(cusps).with_squares(squares)
    };
    let over_lengths = over_lengths.turning([2, 3]).breaking_where(cusps);
    // Where several serve equally well the last is taken.
    term.averaging_to(&[0, 1], over_lengths)
        .averaging_to(&[0], over_length(0))
        .averaging_to(&[1], over_length(1))
        .averaging_to(&[2], over_angle())
        .averaging_to(&[3], over_angle())
}

/// The third side vanishes where lengths are equal and angles opposite.
fn cusps(along: usize, x: &[f64], found: &mut Vec<f64>) {
    match along {
        0 | 1 => found.push(x[1 - along]),
        _ => found.extend([x[5 - along] - PI, x[5 - along] + PI]),
    }
}

/// An angle as its distance from a multiple of 2π.
fn folded(angle: f64) -> f64 {
    (angle - TAU * (angle / TAU).round()).abs().min(PI)
}

/// The mean over the whole other length.
fn mean_over_length(x: f64, angle: f64) -> MeanOverLength {
    mean_between(x, &Opening::of(angle), (LOW, HIGH))
}

/// The mean of f over both lengths by the folded angle.
fn mean_over_lengths() -> &'static Piecewise {
    static MEAN: OnceLock<Piecewise> = OnceLock::new();
    MEAN.get_or_init(|| {
        Piecewise::of(&[0.0, 0.5 * PI, PI], |angle| {
            let mean = |x1: f64| Estimate::exact(mean_over_length(x1, angle).value);
            over_length(&near_ends(angle), FLOOR, mean)
        })
    })
}

/// Places at which means over a length change with the other one when the angle is all but opposite: close
/// to the ends of the length.
fn near_ends(angle: f64) -> Vec<f64> {
    let scale = PI - angle;
    let shares = [1.0, 4.0, 16.0, 64.0].map(|k| k * scale).into_iter().filter(|share| *share < 1.0);
    shares.flat_map(|share| [LOW * (1.0 + share), HIGH / (1.0 + share)]).collect()
}

/// The mean of f over all but one length, by its logarithm.
fn mean_given_length() -> &'static Piecewise {
    static MEAN: OnceLock<Piecewise> = OnceLock::new();
    MEAN.get_or_init(|| {
        Piecewise::of(&[LOW.ln(), 0.0, HIGH.ln()], |u| {
            let x1 = u.exp();
            over_length(&[x1], FLOOR, |x2| Estimate::exact(mean_over_angle(x1, x2).value))
        })
    })
}

/// The mean of a function of a length that is smooth but at some places.
fn over_length(places: &[f64], floor: f64, f: impl Fn(f64) -> Estimate) -> Estimate {
    let places: Vec<f64> = places.iter().map(|x| x.ln()).collect();
    let points = within(&places, LOW.ln(), HIGH.ln());
    let parts = points.windows(2).map(|ends| graded(ends[0], ends[1], floor, |u| f(u.exp())));
    Estimate::sum(parts).times(1.0 / (HIGH / LOW).ln())
}

/// The mean of a function of the angle that is the same on either side of 0.
fn over_angle(floor: f64, f: impl Fn(f64) -> Estimate) -> Estimate {
    graded(0.0, PI, floor, f).times(1.0 / PI)
}

/// The integral of a function that is smooth but at the ends, where a substitution flattens it.
fn graded(from: f64, to: f64, floor: f64, f: impl Fn(f64) -> Estimate) -> Estimate {
    let [total] = integrate(&[0.0, 0.5, 1.0], floor, |s| {
        // The distance to the nearer end, so that it keeps its digits.
        let near = s.min(1.0 - s);
        let share = near * near * near * (10.0 - near * (15.0 - 6.0 * near));
        let place = if s < 0.5 { from + (to - from) * share } else { to - (to - from) * share };
        [f(place).times(30.0 * (near * (1.0 - near)).powi(2))]
    });
    total.times(to - from)
}

/// The variance of a function from its mean, and how its squares about that are averaged.
fn variance(mean: Estimate, average: impl Fn(&dyn Fn(f64) -> Estimate) -> Estimate) -> Estimate {
    let spread = average(&|value| {
        let deviation = value - mean.value;
        Estimate::of_size(deviation * deviation, 1e-2)
    });
    Estimate { error: spread.error + mean.error * mean.error, ..spread }
}

/// E f given a length.
fn given_length(x: f64) -> Estimate {
    mean_given_length().at(x.ln())
}

/// E f.
fn mean_of_all() -> Estimate {
    over_length(&[], FLOOR, given_length)
}

/// Mean of the square of a length.
fn mean_square() -> f64 {
    0.5 * (HIGH * HIGH - LOW * LOW) / (HIGH / LOW).ln()
}

#[derive(Default)]
struct Forms {
    /// Of the angles: the variance of Shapley values, and of f about its mean over the angle.
    angles: OnceLock<[Estimate; 2]>,
    /// Of f at two values of one angle: the mean product, by how far they are apart.
    products: OnceLock<Piecewise>,
    /// The last difference that was asked for.
    last: Mutex<Option<Difference>>,
    /// Criteria of regions.
    boxes: Boxes,
}

/// Mean and variance of the difference of f between two values of a feature.
#[derive(Clone, Copy)]
struct Difference {
    between: (usize, [u64; 2]),
    moments: (f64, f64),
}

impl ClosedForms for Forms {
    fn at(&self, quantity: Pointwise, s: usize, _: f64, _: (f64, f64)) -> Option<f64> {
        match quantity {
            Pointwise::Dpd | Pointwise::Mu | Pointwise::Accumulated if s >= 2 => Some(0.0),
            // (∂f)² given the lengths has the mean (x1 x2)² / (2 max²) = min² / 2.
            Pointwise::Sigma2 | Pointwise::HDpdp if s == 2 || s == 3 => {
                Some(0.5 * mean_square_of_shorter())
            }
            _ => None,
        }
    }

    fn shorter(&self, effect: Quantity, s: usize, x: f64, axis: (f64, f64)) -> Option<Estimate> {
        match (effect, s) {
            (Quantity::Dpd | Quantity::Mu, 0 | 1) => Some(mean_slope(x)),
            (Quantity::Sigma | Quantity::HDpdp, 0 | 1) => Some(variance_of_slope(x)),
            (Quantity::HPdp, 0 | 1) => Some(variance_of_centred(x, axis)),
            (Quantity::HPdp, 2 | 3) => Some(self.variance_of_centred_angle(x, axis)),
            (Quantity::ShapVariance, 0 | 1) => Some(shapley_variance(x)),
            (Quantity::ShapVariance, 2 | 3) => Some(self.angles()[0]),
            _ => None,
        }
    }

    /// Features are independent: it is the same wherever in the bin the instance is, and asked for
    /// again and again.
    fn difference(&self, s: usize, from: f64, to: f64, _: f64) -> Option<(f64, f64)> {
        let between = (s, [from.to_bits(), to.to_bits()]);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.filter(|known| known.between == between);
        let moments = known.map_or_else(|| moments_of_difference(s, from, to), |k| k.moments);
        *last = Some(Difference { between, moments });
        Some(moments)
    }

    fn error_of_difference(&self) -> f64 {
        10.0 * NESTED_FLOOR
    }

    fn in_box(&self, spread: Spread<'_>, asked: &InBox<'_>) -> Option<Estimate> {
        self.boxes.spread(spread, asked.feature, asked.axis, laws(asked))
    }

    fn at_in_box(&self, effect: Quantity, x: f64, asked: &InBox<'_>) -> Option<Estimate> {
        self.boxes.at(effect, (asked.feature, x), asked.axis, laws(asked))
    }

    fn variance(&self) -> Option<f64> {
        Some(2.0 * mean_square() - mean_of_all().value.powi(2))
    }
}

/// Ends of the features that matter among the rows, and those of the background.
fn laws(asked: &InBox<'_>) -> [[(f64, f64); 4]; 2] {
    let engine = asked.engine;
    let rows = [0, 1, 2, 3].map(|feature| engine.margin(feature).support());
    [rows, [0, 1, 2, 3].map(|feature| engine.whole.margin(feature).support())]
}

fn moments_of_difference(s: usize, from: f64, to: f64) -> (f64, f64) {
    match s {
        0 | 1 => {
            let mean = given_length(to).minus(given_length(from));
            let spread = variance(mean, |square| {
                over_length(&[from, to], NESTED_FLOOR, |x2| {
                    over_angle(NESTED_FLOOR, |angle| {
                        let opening = Opening::of(angle);
                        square(third(to, x2, &opening) - third(from, x2, &opening))
                    })
                })
            });
            (mean.value, spread.value)
        }
        2 | 3 => (0.0, 2.0 * (2.0 * mean_square() - mean_product(folded(to - from)).value)),
        _ => (0.0, 0.0),
    }
}

/// E min(x1, x2)².
fn mean_square_of_shorter() -> f64 {
    let span = (HIGH / LOW).ln();
    0.5 * (HIGH * HIGH - LOW * LOW - 2.0 * LOW * LOW * span) / (span * span)
}

fn mean_slope(x: f64) -> Estimate {
    over_length(&[x], FLOOR, |x2| Estimate::exact(mean_over_angle(x, x2).per_first))
}

/// The slope in x1 is the cosine of an angle of the triangle, and its square has over the angle
/// the mean 1 − x2² / (2 max²).
fn variance_of_slope(x: f64) -> Estimate {
    let span = (HIGH / LOW).ln();
    let below = (x / LOW).ln() - 0.25 * (x - LOW) * (x + LOW) / (x * x);
    let square = (below + 0.5 * (HIGH / x).ln()) / span;
    let mean = mean_slope(x);
    let value = (square - mean.value * mean.value).max(0.0);
    Estimate {
        value,
        magnitude: square,
        error: 1e-15 + 2.0 * mean.value.abs() * mean.error,
        ..mean
    }
}

/// A nested integral, whose panels are left with errors that its bound need not see one by one.
fn nested(estimate: Estimate) -> Estimate {
    Estimate { error: estimate.error.max(NESTED_FLOOR), ..estimate }
}

/// f less its mean over an axis of x1, from ∫ R dx = ½ (x + b) R + ½ (x2 sin δ)² ln(x + b + R).
fn variance_of_centred(x: f64, (lo, hi): (f64, f64)) -> Estimate {
    let centred = |x2: f64, angle: f64| {
        let opening = Opening::of(angle);
        let height = (x2 * opening.sine).powi(2);
        let end = |u: f64| {
            let side = third(u, x2, &opening);
            let ahead = u - x2 + 2.0 * x2 * opening.half_cosine2;
            let sum = if ahead >= 0.0 { ahead + side } else { height / (side - ahead) };
            ahead * side + if height > 0.0 { height * sum.ln() } else { 0.0 }
        };
        third(x, x2, &opening) - 0.5 * (end(hi) - end(lo)) / (hi - lo)
    };
    let [total] =
        integrate(&[lo.ln(), hi.ln()], FLOOR, |u| [mean_given_length().at(u).times(u.exp())]);
    let mean = given_length(x).minus(total.times(1.0 / (hi - lo)));
    nested(variance(mean, |square| {
        over_length(&[x, lo, hi], NESTED_FLOOR, |x2| {
            over_angle(NESTED_FLOOR, |angle| square(centred(x2, angle)))
        })
    }))
}

/// With φ_1 = E φ_1 + ½A + ⅓B + ¼R: A and B are what x2 and the angle alone add to f as x1 varies,
/// and R what only all together do.
fn shapley_variance(x: f64) -> Estimate {
    let mean = given_length(x).minus(mean_of_all());
    let gain = |x2: f64| mean_over_angle(x, x2).value - given_length(x2).value;
    let of_length = variance(mean, |square| over_length(&[x], FLOOR, |x2| square(gain(x2))));
    let turn =
        |angle: f64| mean_over_length(x, angle).value - mean_over_lengths().at(folded(angle)).value;
    let of_angle = variance(mean, |square| over_angle(FLOOR, |angle| square(turn(angle))));
    let whole =
        |x2: f64, angle: f64| third(x, x2, &Opening::of(angle)) - mean_over_length(x2, angle).value;
    let total = nested(variance(mean, |square| {
        over_length(&[x], NESTED_FLOOR, |x2| {
            over_angle(NESTED_FLOOR, |angle| square(whole(x2, angle)))
        })
    }));
    let rest = total.minus(of_length).minus(of_angle);
    of_length.times(0.25).plus(of_angle.times(1.0 / 9.0)).plus(rest.times(1.0 / 16.0))
}

impl Forms {
    /// The Shapley values of the angles, which are the same: half of what the angle alone does, a
    /// third of what it does with either length, and a quarter of what only all together do.
    fn angles(&self) -> [Estimate; 2] {
        *self.angles.get_or_init(|| {
            let lengths = mean_over_lengths();
            let of_angle = variance(mean_of_all(), |square| {
                over_angle(FLOOR, |angle| square(lengths.at(angle).value))
            });
            let square = |value: f64| Estimate::exact(value * value);
            let with_one = over_length(&[], NESTED_FLOOR, |x| {
                let means = over_angle(NESTED_FLOOR, |a| square(mean_over_length(x, a).value));
                means.minus(square(given_length(x).value))
            });
            let of_pair = with_one.minus(of_angle);
            let mean_squares = over_length(&[], NESTED_FLOOR, |x1| {
                over_length(&[x1], NESTED_FLOOR, |x2| square(mean_over_angle(x1, x2).value))
            });
            let centred = Estimate::exact(2.0 * mean_square()).minus(mean_squares);
            let rest = centred.minus(of_pair.times(2.0)).minus(of_angle);
            let shared = of_angle.times(0.25).plus(of_pair.times(2.0 / 9.0));
            [shared.plus(rest.times(1.0 / 16.0)), centred]
        })
    }

    /// ICE curves of an angle are one curve of each pair of lengths, turned: their products have a
    /// mean that depends on how far apart they are taken alone.
    fn variance_of_centred_angle(&self, x: f64, (lo, hi): (f64, f64)) -> Estimate {
        if hi - lo == TAU {
            return self.angles()[1];
        }
        let products = self.products();
        // ∫ from 0 to an angle, which may be negative, of an even function of period 2π.
        let total = products.integral_to(PI);
        let integral = |angle: f64| {
            let (turns, rest) = ((angle / TAU).floor(), angle.rem_euclid(TAU));
            let part = if rest <= PI {
                products.integral_to(rest)
            } else {
                total.times(2.0).minus(products.integral_to(TAU - rest))
            };
            total.times(2.0 * turns).plus(part)
        };
        let width = hi - lo;
        let over_axis = |x: f64| integral(x - lo).minus(integral(x - hi)).times(1.0 / width);
        let [twice] = integrate(&[lo, hi], FLOOR, |t| [over_axis(t)]);
        let centred =
            products.at(0.0).minus(over_axis(x).times(2.0)).plus(twice.times(1.0 / width));
        Estimate { value: centred.value.max(0.0), ..centred }
    }

    fn products(&self) -> &Piecewise {
        self.products.get_or_init(|| Piecewise::of(&[0.0, 0.5 * PI, PI], mean_product))
    }
}

/// E f f', f' with one angle moved by `apart`. With x2 = x1 e^v both scale with x1, whose integral
/// is elementary.
fn mean_product(apart: f64) -> Estimate {
    let span = (HIGH / LOW).ln();
    let scale = |v: f64| {
        let (from, to) = (LOW * (-v).exp().max(1.0), HIGH * (-v).exp().min(1.0));
        0.5 * (to * to - from * from) / (span * span)
    };
    let product = |v: f64| {
        let ratio = v.exp();
        let points = within(&[PI - apart, PI, 1.5 * PI - 0.5 * apart], 0.0, TAU);
        let parts = points.windows(2).map(|ends| {
            graded(ends[0], ends[1], NESTED_FLOOR, |angle| {
                let [here, there] =
                    [angle, angle + apart].map(|angle| third(1.0, ratio, &Opening::of(angle)));
                Estimate::exact(here * there)
            })
        });
        Estimate::sum(parts).times(scale(v) / TAU)
    };
    let below = graded(-span, 0.0, NESTED_FLOOR, product);
    nested(below.plus(graded(0.0, span, NESTED_FLOOR, product)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every declared mean, and its derivatives, against integrals of the term.
    #[test]
    fn declared_means() {
        let term = side();
        let row = [0.34, 2.1, 1.1, 4.9];
        for (over, mean) in term.averages() {
            let integral = |f: &dyn Fn(&[f64]) -> f64| {
                match over.as_slice() {
                    [length @ (0 | 1)] => over_length(&[row[1 - length]], FLOOR, |x| {
                        let mut at = row;
                        at[*length] = x;
                        Estimate::exact(f(&at))
                    }),
                    [0, 1] => over_length(&[], NESTED_FLOOR, |x1| {
                        over_length(&[x1], NESTED_FLOOR, |x2| {
                            let mut at = row;
                            (at[0], at[1]) = (x1, x2);
                            Estimate::exact(f(&at))
                        })
                    }),
                    _ => over_angle(FLOOR, |angle| {
                        let [turned, other] = [angle, -angle].map(|angle| {
                            let mut at = row;
                            (at[2], at[3]) = (0.0, angle);
                            f(&at)
                        });
                        Estimate::exact(0.5 * (turned + other))
                    }),
                }
                .value
            };
            let value = integral(&|x| term.value(x));
            assert!((mean.value(&row) - value).abs() < 1e-9, "over {over:?}");
            for &s in mean.features() {
                let slope = integral(&|x| term.partial(s, x));
                assert!((mean.partial(s, &row) - slope).abs() < 1e-9, "over {over:?} along {s}");
            }
        }
    }

    #[test]
    fn variances_of_slopes_are_as_far_off_as_the_squares_of_their_means() {
        for x in [0.37, 2.1] {
            let (mean, found) = (mean_slope(x), variance_of_slope(x));
            let least = 2.0 * mean.value.abs() * mean.error;
            assert!(least > 0.0 && found.error >= least && found.error < 1e-11, "{found:?}");
        }
    }

    /// On a narrow axis next to nothing is left of a centred curve, and rounding of that is not below 0.
    #[test]
    fn variances_on_a_narrow_axis_are_not_negative() {
        let forms = Forms::default();
        for k in 0..40 {
            let (x, width) = (0.15 * f64::from(k), 1e-7);
            let found = forms.variance_of_centred_angle(x, (x - 0.3 * width, x + 0.7 * width));
            assert!((0.0..=found.error).contains(&found.value), "{x}: {found:?}");
        }
    }
}
