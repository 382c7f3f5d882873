//! A feature without effect that an M-plot shows one for (Apley & Zhu 2020; used by alibi).

use super::bivariate::{LAW, Quadratic, build, parameters};
use super::{Family, OptionInfo, ScenarioInfo};

const PARAMETERS: &[OptionInfo] = &parameters("0.8");

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "null-feature",
        version: 1,
        about: "x1 has no effect; an M-plot gives it that of x2 through their correlation",
        formula: "x2",
        law: LAW,
        parameters: PARAMETERS,
    },
    build: |p| build(p, Quadratic { linear: [0.0, 1.0], square: [0.0, 0.0], cross: 0.0, noise: 0 }),
};
