//! What the test files share: scenarios at parameter points, and questions to ask them.
#![allow(dead_code, missing_docs)]

use fe_truth::{Scenario, scenario, scenarios};

/// Parameter points of each scenario, none of them standard; scenarios without parameters have one
/// empty point.
const POINTS: &[(&str, [&str; 3])] = &[
    ("liu-additive", LIU),
    ("liu-product", LIU),
    ("liu-quadratic", LIU),
    ("sin-indicator", ["noise_sd=0.01", "noise_sd=0.1", "noise_sd=0.7"]),
    (
        "piecewise-linear",
        [
            "sigma2=0.3;intercepts=continuous",
            "sigma2=0.02;intercepts=literal",
            "sigma2=1.7;intercepts=rhale-code",
        ],
    ),
    ("friedman1", ["noise_features=2", "noise_features=0", "noise_features=1"]),
];

const LIU: [&str; 3] = [
    "mu1=1.3;mu2=-0.7;sigma1=0.6;sigma2=2.1;rho=0.9",
    "mu1=-2.2;mu2=0.4;sigma1=1.9;sigma2=0.35;rho=-0.65",
    "mu1=0.25;mu2=3.1;sigma1=1.4;sigma2=0.8;rho=0.2",
];

pub fn at(name: &str, point: &str) -> Scenario {
    let pair = |text: &str| text.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    let set: Vec<_> = point.split(';').filter_map(pair).collect();
    scenario(name, &set).unwrap()
}

/// Every registered scenario at each of its parameter points; fails if one has none.
pub fn all() -> Vec<Scenario> {
    let mut found = Vec::new();
    for info in scenarios() {
        let points = POINTS.iter().find(|(name, _)| *name == info.name);
        let (_, points) = points.unwrap_or_else(|| panic!("no parameter points for {}", info.name));
        found.extend(points.iter().map(|point| at(info.name, point)));
    }
    found
}

/// Points spread over an interval without its ends, at no special places.
pub fn spread((lo, hi): (f64, f64), count: usize) -> Vec<f64> {
    (0..count).map(|i| lo + (hi - lo) * (i as f64 + 0.4137) / count as f64).collect()
}

/// Bin limits over an axis, unevenly spaced.
pub fn limits((lo, hi): (f64, f64)) -> Vec<f64> {
    [0.0, 0.13, 0.41, 0.55, 1.0].map(|t| lo + (hi - lo) * t).to_vec()
}

/// The features worth asking: all, but no more than one of several noise features.
pub fn features(scenario: &Scenario) -> std::ops::Range<usize> {
    0..scenario.dimension().min(6)
}

pub fn label(scenario: &Scenario, feature: usize) -> String {
    format!("{scenario:?} x{}", feature + 1)
}
