//! Test functions of the effector library and its paper (Gkolemis et al. 2024).

use super::separable::{Factor, Product, Separable, Zero};
use super::{Family, Parts, ScenarioInfo};
use crate::fast_math::exponential::exp;

const RANGE: (f64, f64) = (-1.0, 1.0);

const fn info(name: &'static str, formula: &'static str, about: &'static str) -> ScenarioInfo {
    let law = "x1, x2, x3 independent, uniform on [−1, 1]";
    ScenarioInfo { name, version: 1, about, formula, law, parameters: &[] }
}

pub(super) const REGIONAL: Family = Family {
    info: info(
        "effector-regional",
        "3 x1 1{x3 > 0} − 3 x1 1{x3 ≤ 0} + x3",
        "a split at x3 = 0 leaves no heterogeneity of x1",
    ),
    build: |_| Ok(regional()),
};

pub(super) const CONDITIONAL: Family = Family {
    info: info(
        "conditional-interaction",
        "−x1² 1{x2 < 0} + x1² 1{x2 ≥ 0} + exp(x3)",
        "the sign of a square depends on x2, along which f jumps",
    ),
    build: |_| Ok(conditional()),
};

pub(super) const GENERAL: Family = Family {
    info: info("general-interaction", "x1 x2² + exp(x3)", "a smooth interaction"),
    build: |_| Ok(general()),
};

fn regional() -> Parts {
    let x = Factor::power(1);
    Separable::<3, _, _>::new(
        RANGE,
        vec![
            Product::new(-3.0, &[(0, x)]),
            Product::new(6.0, &[(0, x), (2, Factor::above(Zero::Below))]),
            Product::new(1.0, &[(2, x)]),
        ],
        #[inline(always)]
        |x| steepness(x) * x[0] + x[2],
        #[inline(always)]
        |s, x| [steepness(x), 0.0, 1.0][s],
    )
    .parts()
}

/// Factor of x1 in the regional example.
#[inline(always)]
fn steepness(x: &[f64]) -> f64 {
    if x[2] > 0.0 { 3.0 } else { -3.0 }
}

fn conditional() -> Parts {
    let square = Factor::power(2);
    Separable::<3, _, _>::new(
        RANGE,
        vec![
            Product::new(-1.0, &[(0, square)]),
            Product::new(2.0, &[(0, square), (1, Factor::above(Zero::Above))]),
            Product::new(1.0, &[(2, Factor::exp())]),
        ],
        #[inline(always)]
        |x| sign(x) * x[0] * x[0] + exp(x[2]),
        #[inline(always)]
        |s, x| [2.0 * sign(x) * x[0], 0.0, exp(x[2])][s],
    )
    .parts()
}

/// Factor of x1² in the conditional interaction.
#[inline(always)]
fn sign(x: &[f64]) -> f64 {
    if x[1] < 0.0 { -1.0 } else { 1.0 }
}

fn general() -> Parts {
    Separable::<3, _, _>::new(
        RANGE,
        vec![
            Product::new(1.0, &[(0, Factor::power(1)), (1, Factor::power(2))]),
            Product::new(1.0, &[(2, Factor::exp())]),
        ],
        #[inline(always)]
        |x| x[0] * x[1] * x[1] + exp(x[2]),
        #[inline(always)]
        |s, x| [x[1] * x[1], 2.0 * x[0] * x[1], exp(x[2])][s],
    )
    .parts()
}
