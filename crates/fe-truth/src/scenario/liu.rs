//! Three functions of two correlated normal features, from Liu et al. (2018).

use super::bivariate::{LAW, Quadratic, build, parameters};
use super::{Family, OptionInfo, ScenarioInfo};

const PARAMETERS: &[OptionInfo] = &parameters("0.5");

const fn info(name: &'static str, formula: &'static str, about: &'static str) -> ScenarioInfo {
    ScenarioInfo { name, version: 1, about, formula, law: LAW, parameters: PARAMETERS }
}

pub(super) const ADDITIVE: Family = Family {
    info: info("liu-additive", "x1 + x2", "no interaction: correlation misleads only the M-plot"),
    build: |p| build(p, Quadratic { linear: [1.0, 1.0], square: [0.0, 0.0], cross: 0.0, noise: 0 }),
};

pub(super) const PRODUCT: Family = Family {
    info: info("liu-product", "x1 x2", "pure interaction: PD and ALE differ under correlation"),
    build: |p| build(p, Quadratic { linear: [0.0, 0.0], square: [0.0, 0.0], cross: 1.0, noise: 0 }),
};

pub(super) const QUADRATIC: Family = Family {
    info: info("liu-quadratic", "x1² + x1 x2", "a main effect and an interaction"),
    build: |p| build(p, Quadratic { linear: [0.0, 0.0], square: [1.0, 0.0], cross: 1.0, noise: 0 }),
};
