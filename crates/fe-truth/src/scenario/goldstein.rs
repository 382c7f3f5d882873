//! The example of Goldstein et al. (2015) for heterogeneity that a mean effect hides, as in RHALE
//! eq. 1.

use super::separable::{Factor, Product, Separable, Zero};
use super::{Family, Parts, ScenarioInfo};

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "goldstein",
        version: 1,
        about: "the effect of x2 turns around with the sign of x3, and the two cancel on average",
        formula: "0.2 x1 − 5 x2 + 10 x2 1{x3 > 0}",
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
            Product::new(0.2, &[(0, x)]),
            Product::new(-5.0, &[(1, x)]),
            Product::new(10.0, &[(1, x), (2, Factor::above(Zero::Below))]),
        ],
        #[inline(always)]
        |x| 0.2 * x[0] + steepness(x) * x[1],
        #[inline(always)]
        |s, x| [0.2, steepness(x), 0.0][s],
    )
    .parts()
}

/// Factor of x2.
#[inline(always)]
fn steepness(x: &[f64]) -> f64 {
    if x[2] > 0.0 { 5.0 } else { -5.0 }
}
