//! What the test files share: scenarios at parameter points, and questions to ask them.
#![allow(dead_code, missing_docs)]

use fe_core::model::{Column, Rows};
use fe_truth::{Scenario, scenario, scenarios};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Parameter points of each scenario, none of them standard; scenarios without parameters have one
/// empty point.
const POINTS: &[(&str, &[&str])] = &[
    ("liu-additive", LIU),
    ("liu-product", LIU),
    ("liu-quadratic", LIU),
    ("snc", LIU),
    ("null-feature", LIU),
    ("sin-indicator", &["noise_sd=0.01", "noise_sd=0.1", "noise_sd=0.7"]),
    (
        "piecewise-linear",
        &[
            "sigma2=0.3;intercepts=continuous",
            "sigma2=0.02;intercepts=literal",
            "sigma2=1.7;intercepts=rhale-code",
        ],
    ),
    (
        "threshold-linear",
        &[
            "a1=1.3;a2=0.6;alpha=0.7;noise_sd=0.05",
            "a1=2;a2=-0.8;alpha=-1.4;noise_sd=0.3;variant=rhale-code",
            "a1=0.9;a2=1.1;alpha=0;noise_sd=0.01;variant=rhale-code",
        ],
    ),
    ("nonlinear", &["sigma2=0.3", "sigma2=0.02", "sigma2=1.7"]),
    ("goldstein", NONE),
    ("effector-regional", NONE),
    ("conditional-interaction", NONE),
    ("general-interaction", NONE),
    ("alibi-additive", NONE),
    ("poly3", NONE),
    ("friedman1", &["noise_features=2", "noise_features=0", "noise_features=1"]),
    (
        "friedman1-copula",
        &["rho=0.7;noise_features=1", "rho=-0.2;noise_features=0", "rho=0.3;noise_features=2"],
    ),
    ("feynman-i29-16", NONE),
    ("apley-zhu", &["noise_sd=0.08", "noise_sd=0.003", "noise_sd=1.3"]),
];

/// For scenarios without parameters.
const NONE: &[&str] = &[""];

const LIU: &[&str] = &[
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

/// Those whose general integrals are of few enough dimensions to be asked many times.
pub fn of_few_dimensions() -> Vec<Scenario> {
    all().into_iter().filter(|scenario| scenario.info().name != "feynman-i29-16").collect()
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

/// A sample of a scenario: its columns, and f and ∂_s f asked of the native model.
pub struct Sample {
    pub scenario: Scenario,
    pub columns: Vec<Vec<f64>>,
    pub len: usize,
}

impl Sample {
    pub fn draw(scenario: &Scenario, len: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let flat = scenario.sample(len, &mut rng);
        let columns = flat.chunks(len).map(<[f64]>::to_vec).collect();
        Self { scenario: scenario.clone(), columns, len }
    }

    /// The rest of the features drawn given that one has a value, and that value.
    pub fn draw_given(scenario: &Scenario, s: usize, x: f64, len: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut columns = vec![Vec::with_capacity(len); scenario.dimension()];
        for _ in 0..len {
            let mut given = vec![(s, x)];
            for feature in (0..scenario.dimension()).filter(|&feature| feature != s) {
                given.push((feature, scenario.sample_conditional(feature, &given, &mut rng)));
            }
            given.iter().for_each(|&(feature, value)| columns[feature].push(value));
        }
        Self { scenario: scenario.clone(), columns, len }
    }

    fn ask(&self, set: Option<(usize, f64)>, partial: Option<usize>) -> Vec<f64> {
        let mut columns: Vec<Column<'_>> =
            self.columns.iter().map(|values| Column::Values(values)).collect();
        if let Some((s, x)) = set {
            columns[s] = Column::Constant(x);
        }
        let rows = Rows::new(&columns, self.len);
        let mut values = vec![0.0; self.len];
        match partial {
            None => self.scenario.model().predict(&rows, &mut values).unwrap(),
            Some(s) => self.scenario.model().partial(s, &rows, &mut values).unwrap(),
        }
        values
    }

    /// Its first row, again and again.
    pub fn repeated(&self, len: usize) -> Self {
        let columns = self.columns.iter().map(|column| vec![column[0]; len]).collect();
        Self { scenario: self.scenario.clone(), columns, len }
    }

    /// For each row what a feature adds to f as it joins those before it in a random order of all,
    /// while those after it are from a row of the joint law.
    pub fn added_by(&self, s: usize, seed: u64) -> Vec<f64> {
        let background = Self::draw(&self.scenario, self.len, seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed + 1000);
        let mut uniform = || rng.next_u64() as f64 / u64::MAX as f64;
        let mut without = background.columns.clone();
        for row in 0..self.len {
            // A feature is before s if its number is smaller, all numbers being drawn.
            let own = uniform();
            for (feature, column) in without.iter_mut().enumerate() {
                if uniform() < own && feature != s {
                    column[row] = self.columns[feature][row];
                }
            }
        }
        let mut with = without.clone();
        with[s].clone_from(&self.columns[s]);
        let ask = |columns| Self { scenario: self.scenario.clone(), columns, len: self.len }.f();
        ask(with).iter().zip(ask(without)).map(|(a, b)| a - b).collect()
    }

    pub fn f(&self) -> Vec<f64> {
        self.ask(None, None)
    }

    pub fn f_with(&self, s: usize, x: f64) -> Vec<f64> {
        self.ask(Some((s, x)), None)
    }

    pub fn partial(&self, s: usize) -> Vec<f64> {
        self.ask(None, Some(s))
    }

    pub fn partial_with(&self, s: usize, x: f64) -> Vec<f64> {
        self.ask(Some((s, x)), Some(s))
    }
}

/// Mean of numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Squared deviations from the mean, scaled so that their mean is the unbiased variance.
pub fn squares(values: &[f64]) -> Vec<f64> {
    let (centre, n) = (mean(values), values.len() as f64);
    values.iter().map(|v| (v - centre).powi(2) * n / (n - 1.0)).collect()
}

/// Standard errors that a simulation may be off by.
const Z: f64 = 4.5;

/// A z-test of the mean of draws against a truth.
pub fn assert_mean(draws: &[f64], truth: f64, what: &str) {
    assert_mean_within(draws, truth, 0.0, what);
}

/// A z-test of the variance of draws against a truth.
///
/// Squares are taken about the mean of the draws, which itself is off by up to z standard errors:
/// z² times the variance over n. That is all there is to see where the squares are all alike.
pub fn assert_variance(draws: &[f64], truth: f64, what: &str) {
    let squares = squares(draws);
    let of_mean = Z * Z * mean(&squares) / draws.len() as f64;
    assert_mean_within(&squares, truth, of_mean, what);
}

fn assert_mean_within(draws: &[f64], truth: f64, slack: f64, what: &str) {
    if draws.len() < 200 {
        return;
    }
    let error = (mean(&squares(draws)) / draws.len() as f64).sqrt();
    let difference = mean(draws) - truth;
    // Draws that are all alike say nothing of what is rarer than one in some hundred.
    let rare = if error < 1e-12 { 2.0 * Z / draws.len() as f64 } else { 0.0 };
    let allowed = Z * error + slack + (rare + 1e-9) * (1.0 + truth.abs());
    assert!(difference.abs() <= allowed, "{what}: {} ± {error} but truth {truth}", mean(draws));
}
