//! Error bounds of closed forms are honest where large summands cancel, and nothing is lost where
//! they do not.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use std::ops::{Add, Mul, Sub};

use common::at;
use fe_truth::{Centring, Quantity, Scenario};

/// A number as the unevaluated sum of two doubles: good to about 30 digits.
#[derive(Clone, Copy)]
struct Wide(f64, f64);

impl From<f64> for Wide {
    fn from(x: f64) -> Self {
        Wide(x, 0.0)
    }
}

impl Add for Wide {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let lost = (self.0 - (sum - part)) + (other.0 - part) + (self.1 + other.1);
        Wide(sum + lost, lost - ((sum + lost) - sum))
    }
}

impl Sub for Wide {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Wide(-other.0, -other.1)
    }
}

impl Mul for Wide {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let lost = self.0.mul_add(other.0, -product) + (self.0 * other.1 + self.1 * other.0);
        Wide(product + lost, lost - ((product + lost) - product))
    }
}

/// `linear1 x1 + linear2 x2 + square1 x1² + square2 x2² + cross x1 x2`, as scenarios have it.
const FUNCTIONS: [(&str, [f64; 5]); 5] = [
    ("liu-additive", [1.0, 1.0, 0.0, 0.0, 0.0]),
    ("liu-product", [0.0, 0.0, 0.0, 0.0, 1.0]),
    ("liu-quadratic", [0.0, 0.0, 1.0, 0.0, 1.0]),
    ("snc", [1.0, 0.0, 0.0, 0.5, 1.0]),
    ("null-feature", [0.0, 1.0, 0.0, 0.0, 0.0]),
];

/// Deviations are powers of two, so that all there is to compute are sums and products.
const SD: [f64; 2] = [0.5, 2.0];
const RHO: f64 = -0.7;

/// Truths of feature s at x, in wide arithmetic.
fn exact(c: [f64; 5], mean: [f64; 2], s: usize, x: f64, lo: f64, hi: f64) -> Vec<(Quantity, Wide)> {
    let wide = Wide::from;
    let p = 1 - s;
    let steepness = wide(RHO) * wide(SD[p] / SD[s]);
    let given = |x: Wide| wide(mean[p]) + steepness * (x - wide(mean[s]));
    let variance = wide(SD[p] * SD[p]);
    let given_variance = variance * (wide(1.0) - wide(RHO) * wide(RHO));
    let value = |partner: Wide, variance: Wide| {
        let x = wide(x);
        wide(c[s]) * x
            + wide(c[2 + s]) * x * x
            + wide(c[p]) * partner
            + wide(c[2 + p]) * (partner * partner + variance)
            + wide(c[4]) * x * partner
    };
    let slope =
        |x: Wide, partner: Wide| wide(c[s]) + wide(2.0 * c[2 + s]) * x + wide(c[4]) * partner;
    let deviation = wide(x) - wide(0.5) * (wide(lo) + wide(hi));
    let middle = wide(0.5) * (wide(lo) + wide(x));
    vec![
        (Quantity::Pd, value(wide(mean[p]), variance)),
        (Quantity::Mplot, value(given(wide(x)), given_variance)),
        (Quantity::Dpd, slope(wide(x), wide(mean[p]))),
        (Quantity::Mu, slope(wide(x), given(wide(x)))),
        (Quantity::HPdp, wide(c[4] * c[4]) * variance * deviation * deviation),
        (Quantity::HDpdp, wide(c[4] * c[4]) * variance),
        (Quantity::AleDerivative, (wide(x) - wide(lo)) * slope(middle, given(middle))),
    ]
}

/// Hands every true error, with its bound and what it is of, to a check.
fn each(mean: [f64; 2], check: impl Fn(f64, f64, &str)) {
    for (name, coefficients) in FUNCTIONS {
        let [m1, m2, s1, s2] = [mean[0], mean[1], SD[0], SD[1]];
        let point = format!("mu1={m1};mu2={m2};sigma1={s1};sigma2={s2};rho={RHO}");
        let scenario: Scenario = at(name, &point);
        for s in 0..2 {
            let (lo, hi) = (mean[s] - 3.3 * SD[s], mean[s] + 2.9 * SD[s]);
            for step in 0..40 {
                let x = lo + (hi - lo) * f64::from(step) / 39.7;
                for (effect, exact) in exact(coefficients, mean, s, x, lo, hi) {
                    let ask = scenario.curve(effect, s, &[x], (lo, hi), Centring::None);
                    let truth = ask.unwrap()[0];
                    let error = (Wide::from(truth.value) - exact).0.abs();
                    check(error, truth.abs_error, &format!("{name} x{} {effect} at {x}", s + 1));
                }
            }
        }
    }
}

#[test]
fn bounds_hold_far_from_the_origin() {
    for mean in [[1e6, 0.3], [1e6, -1e6], [999_999.7, -1_000_000.0], [-0.1, 1e6]] {
        each(mean, |error, bound, what| assert!(error <= bound, "{what}: {error} > {bound}"));
    }
}

#[test]
fn bounds_hold_far_out_of_the_law() {
    for (name, coefficients) in FUNCTIONS {
        let scenario = at(name, &format!("mu1=1.3;mu2=-0.7;sigma1=0.5;sigma2=2;rho={RHO}"));
        for s in 0..2 {
            let (lo, hi) = (-1.75, 3.0);
            for k in 1..140 {
                for x in [lo - 10_f64.powi(k), hi + 10_f64.powi(k)] {
                    for (effect, exact) in exact(coefficients, [1.3, -0.7], s, x, lo, hi) {
                        let asked = scenario.curve(effect, s, &[x], (lo, hi), Centring::None);
                        let truth = asked.unwrap()[0];
                        let error = (Wide::from(truth.value) - exact).0.abs();
                        let what = format!("{name} x{} {effect} at {x:e}", s + 1);
                        assert!(error <= truth.abs_error, "{what}: {error} > {truth:?}");
                    }
                }
            }
        }
    }
}

/// The bound is not bought by being wide.
#[test]
fn bounds_stay_small_near_the_origin() {
    for mean in [[1.3, -0.7], [20.0, -30.0]] {
        each(mean, |error, bound, what| {
            assert!(error <= bound && bound < 1e-9, "{what}: {error}, {bound}");
        });
    }
}

/// At such means the bound of old, one part in 1e12 of the result, is exceeded.
#[test]
fn a_relative_bound_would_not_do() {
    let scenario = at("liu-additive", "mu1=1000000;mu2=-1000000;sigma1=0.5;sigma2=2;rho=-0.7");
    let ask = |x: f64| {
        scenario.curve(Quantity::Mplot, 0, &[x], (999_998.0, 1_000_002.0), Centring::None).unwrap()
            [0]
    };
    let x = 1_000_000.3;
    let exact = exact(FUNCTIONS[0].1, [1e6, -1e6], 0, x, 0.0, 1.0)[1].1;
    let truth = ask(x);
    let error = (Wide::from(truth.value) - exact).0.abs();
    assert!(error > 1e-12 * (1.0 + truth.value.abs()), "{error}");
    assert!(error <= truth.abs_error && truth.abs_error < 1e-8, "{truth:?}");
}
