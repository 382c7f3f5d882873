//! The simple example with normal, correlated features of Heiß et al. (2026).

use super::bivariate::{Quadratic, build, parameters};
use super::{Family, OptionInfo, ScenarioInfo};

const PARAMETERS: &[OptionInfo] = &parameters("0.9");

pub(super) const FAMILY: Family = Family {
    info: ScenarioInfo {
        name: "snc",
        version: 1,
        about: "a line, a square and an interaction of strongly correlated features, and noise \
                features",
        formula: "x1 + ½ x2² + x1 x2",
        law: "(x1, x2) normal with means mu1, mu2, standard deviations sigma1, sigma2 and \
              correlation rho; x3, x4 ~ N(0, 1) independent",
        parameters: PARAMETERS,
    },
    build: |p| build(p, Quadratic { linear: [1.0, 0.0], square: [0.0, 0.5], cross: 1.0, noise: 2 }),
};
