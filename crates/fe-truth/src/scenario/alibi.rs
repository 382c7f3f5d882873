//! The additive example of the documentation of alibi.

use super::separable::{Factor, Product, Separable};
use super::{Family, ScenarioInfo};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "alibi-additive",
        version: 1,
        about: "no interaction, independent features: all effects are the same up to a constant",
        formula: "3 x1 + 2 x2²",
        law: "x1, x2 independent, uniform on [0, 1]",
        parameters: &[],
    },
    build: |_| Ok(function().parts()),
};

fn function() -> Separable {
    Separable {
        dimension: 2,
        range: (0.0, 1.0),
        products: vec![
            Product::new(3.0, &[(0, Factor::power(1))]),
            Product::new(2.0, &[(1, Factor::power(2))]),
        ],
        value: |x| 3.0 * x[0] + 2.0 * x[1] * x[1],
        partial: |s, x| [3.0, 4.0 * x[1]][s],
    }
}
