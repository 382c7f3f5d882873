//! The additive example of the documentation of alibi.

use super::separable::{Factor, Product, Separable};
use super::{Family, Parts, ScenarioInfo};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "alibi-additive",
        version: 1,
        about: "no interaction, independent features: all effects are the same up to a constant",
        formula: "3 x1 + 2 x2²",
        law: "x1, x2 independent, uniform on [0, 1]",
        parameters: &[],
    },
    build: |_| Ok(function()),
};

fn function() -> Parts {
    Separable::<2, _, _>::new(
        (0.0, 1.0),
        vec![
            Product::new(3.0, &[(0, Factor::power(1))]),
            Product::new(2.0, &[(1, Factor::power(2))]),
        ],
        #[inline(always)]
        |x| 3.0 * x[0] + 2.0 * x[1] * x[1],
        #[inline(always)]
        |s, x| [3.0, 4.0 * x[1]][s],
    )
    .parts()
}
