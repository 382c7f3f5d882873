//! A polynomial of three independent features.

use super::separable::{Factor, Product, Separable};
use super::{Family, Parts, ScenarioInfo};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "poly3",
        version: 1,
        about: "a square, an interaction and a line",
        formula: "x1² + x1 x2 + ½ x3",
        law: "x1, x2, x3 independent, uniform on [−1, 1]",
        parameters: &[],
    },
    build: |_| Ok(function()),
};

fn function() -> Parts {
    let x = Factor::power(1);
    Separable::<3, _, _>::new(
        (-1.0, 1.0),
        vec![
            Product::new(1.0, &[(0, Factor::power(2))]),
            Product::new(1.0, &[(0, x), (1, x)]),
            Product::new(0.5, &[(2, x)]),
        ],
        #[inline(always)]
        |x| x[0] * (x[0] + x[1]) + 0.5 * x[2],
        #[inline(always)]
        |s, x| [2.0 * x[0] + x[1], x[0], 0.5][s],
    )
    .parts()
}
