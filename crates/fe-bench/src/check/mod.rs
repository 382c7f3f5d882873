//! Convergence and agreement of every estimator with every truth, at a stated rate of false alarms.
//!
//! It imports `score`, `data` and what these import. It names no estimator and no scenario: what an estimator is held
//! to follows from its estimand. Begin with [`run`].
//!
//! **Agreement**: what is unbiased at any number of rows must have its truth as mean over
//! replicates: partial dependence and its derivative at points of the axis, the variance of the
//! latter, and means and variances of local effects in given bins. **Convergence**: the squared
//! error of any estimate must fall as rows are added. Accumulated effects are compared with the
//! truth of the bins that they chose, all others with the true curve. **Regions**: of trees with one split
//! the regret and the error of the curves in the leaves must fall likewise, where the features are
//! independent and the population's split is known and unique. **Pairs**: so must the squared errors of effects of two
//! features and of indices, where they have a truth; partial dependence of a pair has its truth as mean.

mod estimates;
mod pairs;
pub mod problem;
mod regions;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fe_core::estimator::EstimatorInfo;
use fe_core::estimator::pair::PairEstimatorInfo;
use fe_core::indices::Index;
use fe_core::regional::RegionalInfo;
use fe_core::replicates::{Summary, Test, holm};
use fe_core::{Axis, Dataset};
use fe_truth::Scenario;
use rayon::prelude::*;

use crate::data::sample;
use crate::error::Result;
use crate::score::regions::RegionTruths;
use estimates::{KnownBins, Quantities, Target};
use regions::Splitting;

/// Squared errors below this, for curves of unit size, are rounding.
const EXACT: f64 = 1e-18;

/// Share of a truth of a problem file that may be owed to what none of the datasets has an instance of; the
/// built-in scenarios have no events that rare.
const RARE: f64 = 1e-2;

/// Amount of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Independent datasets of each kind.
    pub replicates: usize,
    /// Rows of those that agreement is tested on.
    pub rows: usize,
    /// Rows of the small and the large ones that convergence is tested on.
    pub sizes: (usize, usize),
    /// The same for estimators whose cost grows faster than the number of rows.
    pub costly_sizes: (usize, usize),
    /// Features of a scenario, at most.
    pub features: usize,
    /// Features of a scenario for those estimators, at most.
    pub costly_features: usize,
    /// Pairs of features of a scenario that f reads, at most.
    pub pairs: usize,
    /// Features of a scenario whose indices are held to their truths, at most: these are integrals over all of them.
    pub dimension_of_indices: usize,
}

impl Plan {
    /// All features, in minutes.
    pub const FULL: Self = Self {
        replicates: 60,
        rows: 4000,
        sizes: (500, 8000),
        costly_sizes: (50, 400),
        features: usize::MAX,
        costly_features: 2,
        pairs: 3,
        dimension_of_indices: 3,
    };

    /// Fewer features, datasets and rows, in seconds.
    pub const QUICK: Self = Self {
        replicates: 20,
        rows: 1000,
        sizes: (200, 1600),
        costly_sizes: (30, 150),
        features: 2,
        costly_features: 1,
        pairs: 1,
        dimension_of_indices: 2,
    };

    fn sizes(&self, estimator: &EstimatorInfo) -> (usize, usize) {
        if costly(estimator) { self.costly_sizes } else { self.sizes }
    }

    fn features(&self, estimator: &EstimatorInfo) -> usize {
        if costly(estimator) { self.costly_features } else { self.features }
    }
}

/// True if an estimator pairs rows with rows.
fn costly(estimator: &EstimatorInfo) -> bool {
    estimator.takes("background")
}

/// The mean error at the large size must be below this share of that at the small size.
pub const SHARE: f64 = 0.75;

/// The standard that an estimator is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standard {
    /// Its mean over replicates is the truth.
    Agreement,
    /// Its squared error falls as rows are added.
    Convergence,
    /// So does the heterogeneity that its regions leave too much.
    Regret,
    /// So does the squared error of the curves in its leaves.
    LeafError,
}

impl std::fmt::Display for Standard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Standard::Agreement => "agreement",
            Standard::Convergence => "convergence",
            Standard::Regret => "regret",
            Standard::LeafError => "leaf-error",
        })
    }
}

/// Result of holding an estimator to a truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name and version of the scenario.
    pub scenario: String,
    /// The features that it is of, counted from 0: one, two of a pair, or none of an index of f.
    pub features: Vec<usize>,
    /// Name of the estimator, or of the index.
    pub estimator: &'static str,
    /// The standard that it was held to.
    pub kind: Standard,
    /// Number of numbers that were tested.
    pub compared: usize,
    /// The number that is furthest from what it should be, in words.
    pub worst: String,
    /// Student's t of that number.
    pub statistic: Option<f64>,
    /// Its p-value.
    pub p: Option<f64>,
    /// The p-value adjusted for all tests of the run by Holm's method.
    pub adjusted: Option<f64>,
    /// True if it passed; a failed estimate never does.
    pub passed: bool,
}

/// A tested number, in words.
struct Tested {
    what: String,
    test: Test,
    p: f64,
}

/// Everything tested of one estimator on one feature, or the reason why it could not be.
struct Tests {
    kind: Standard,
    estimator: &'static str,
    outcome: Result<Vec<Tested>, String>,
}

/// Estimators that are held to truths.
#[derive(Clone, Copy)]
pub struct UnderTest<'a> {
    /// Of effects.
    pub estimators: &'a [EstimatorInfo],
    /// Of trees of regions.
    pub regional: &'a [RegionalInfo],
    /// Of effects of pairs of features.
    pub pairs: &'a [PairEstimatorInfo],
    /// Of indices.
    pub indices: &'a [Index],
}

/// Holds estimators to the truths of some scenarios; `progress` is told of each feature done, and of each scenario whose
/// pairs of features and indices are.
///
/// If every estimator is right and means over replicates are normal, the probability that one or
/// more findings fail is at most `alpha`. The findings do not depend on the number of threads.
///
/// # Errors
/// A scenario from which no data can be drawn.
pub fn run(
    held: UnderTest<'_>,
    scenarios: &[Scenario],
    plan: Plan,
    seed: u64,
    alpha: f64,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Finding>> {
    let features = |scenario: &Scenario| 0..scenario.dimension().min(plan.features);
    let units: Vec<(&Scenario, usize)> =
        scenarios.iter().flat_map(|s| features(s).map(move |feature| (s, feature))).collect();
    let tests = units
        .par_iter()
        .map(|&(scenario, feature)| {
            let tests = Unit { scenario, feature, plan, seed }.tests(held);
            progress();
            tests
        })
        .collect::<Result<Vec<Vec<Tests>>>>()?;
    let all = units.iter().zip(tests);
    let mut findings = Vec::new();
    let mut places = Vec::new();
    let mut p = Vec::new();
    for (&(scenario, feature), tests) in all {
        for tests in tests {
            if let Ok(tested) = &tests.outcome {
                p.extend(tested.iter().map(|tested| tested.p));
                places.extend(tested.iter().map(|_| findings.len()));
            }
            findings.push(finding(scenario, &[feature], tests));
        }
    }
    for (scenario, features, tests) in of_pairs(held, scenarios, plan, seed, progress)? {
        if let Ok(tested) = &tests.outcome {
            p.extend(tested.iter().map(|tested| tested.p));
            places.extend(tested.iter().map(|_| findings.len()));
        }
        findings.push(finding(scenario, &features, tests));
    }
    for (place, adjusted) in places.into_iter().zip(holm(&p)) {
        let finding: &mut Finding = &mut findings[place];
        let least = finding.adjusted.map_or(adjusted, |known| known.min(adjusted));
        finding.adjusted = Some(least);
        finding.passed &= least >= alpha;
    }
    Ok(findings)
}

/// The tests of what is of pairs of features, or of numbers that say how much they interact.
fn of_pairs<'a>(
    held: UnderTest<'_>,
    scenarios: &'a [Scenario],
    plan: Plan,
    seed: u64,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<(&'a Scenario, Vec<usize>, Tests)>> {
    let of = |scenario: &'a Scenario| {
        let tests = pairs::OfPairs { scenario, plan, seed }.tests(held)?;
        progress();
        Ok(tests.into_iter().map(|(features, tests)| (scenario, features, tests)).collect())
    };
    let tests = scenarios.par_iter().map(of).collect::<Result<Vec<Vec<_>>>>()?;
    Ok(tests.into_iter().flatten().collect())
}

fn finding(scenario: &Scenario, features: &[usize], tests: Tests) -> Finding {
    let Tests { kind, estimator, outcome } = tests;
    let finding = Finding {
        scenario: scenario.id(),
        features: features.to_vec(),
        estimator,
        kind,
        compared: 0,
        worst: String::new(),
        statistic: None,
        p: None,
        adjusted: None,
        passed: true,
    };
    match outcome {
        Err(reason) => Finding { worst: reason, passed: false, ..finding },
        Ok(tested) => match tested.iter().min_by(|a, b| a.p.total_cmp(&b.p)) {
            None => finding,
            Some(worst) => Finding {
                compared: tested.len(),
                worst: worst.what.clone(),
                statistic: Some(worst.test.statistic),
                p: Some(worst.p),
                ..finding
            },
        },
    }
}

/// A feature of a scenario.
struct Unit<'a> {
    scenario: &'a Scenario,
    feature: usize,
    plan: Plan,
    seed: u64,
}

impl Unit<'_> {
    fn tests(&self, held: UnderTest<'_>) -> Result<Vec<Tests>> {
        let mut data: HashMap<usize, Vec<Dataset>> = HashMap::new();
        let (mut tests, known) = (Vec::new(), KnownBins::default());
        let has_levels = self.scenario.levels(self.feature).is_some();
        // What is made of derivatives has nothing to say of a feature with levels, and refuses it.
        let speaks = |info: &EstimatorInfo| !(has_levels && info.takes("jacobian"));
        for info in held.estimators {
            if self.feature >= self.plan.features(info) || !speaks(info) {
                continue;
            }
            let (small, large) = self.plan.sizes(info);
            for rows in [self.plan.rows, small, large] {
                if let Entry::Vacant(place) = data.entry(rows) {
                    place.insert(self.draw(rows)?);
                }
            }
            let target = Target { scenario: self.scenario, feature: self.feature, known: &known };
            if let Some(outcome) = agreement(target, info, &data[&self.plan.rows]) {
                tests.push(Tests { kind: Standard::Agreement, estimator: info.name, outcome });
            }
            let outcome = convergence(target, info, [&data[&small], &data[&large]]);
            tests.push(Tests { kind: Standard::Convergence, estimator: info.name, outcome });
        }
        let (scenario, feature) = (self.scenario, self.feature);
        let splitting = Splitting { scenario, feature, truths: RegionTruths::default() };
        let splits = |info: &&RegionalInfo| {
            splitting.is_held() && !has_levels && self.feature < self.plan.features(info.within)
        };
        for info in held.regional.iter().filter(splits) {
            let (small, large) = self.plan.sizes(info.within);
            for rows in [small, large] {
                if let Entry::Vacant(place) = data.entry(rows) {
                    place.insert(self.draw(rows)?);
                }
            }
            tests.extend(splitting.tests(info, [&data[&small], &data[&large]]));
        }
        Ok(tests)
    }

    fn draw(&self, rows: usize) -> Result<Vec<Dataset>> {
        (0..self.plan.replicates)
            .map(|replicate| sample::features(self.scenario, self.seed, rows, replicate))
            .collect()
    }
}

/// Tests that means over datasets are the truth; none for an estimator of which nothing is unbiased.
fn agreement(
    target: Target<'_>,
    info: &EstimatorInfo,
    data: &[Dataset],
) -> Option<Result<Vec<Tested>, String>> {
    let unbiased = target.unbiased(info)?;
    Some(unbiased.and_then(|unbiased| {
        let estimates: Vec<Quantities> =
            data.iter().map(|data| unbiased.estimate(data)).collect::<Result<_, String>>()?;
        let mut tested = Vec::new();
        for (i, truth) in unbiased.truths.iter().enumerate() {
            let values: Vec<f64> = estimates.iter().filter_map(|estimate| estimate[i]).collect();
            let summary = Summary::of(&values);
            // Estimates that are all the same saw nothing of what is rarer than they are many.
            let rounding = 1e-12 * (1.0 + truth.value.abs());
            let is_constant = summary.standard_error.is_some_and(|error| error <= rounding);
            let may_be_rare = is_constant && target.scenario.text().is_some();
            let share = if may_be_rare { RARE } else { 1e-9 };
            let allowed = truth.abs_error + share * (1.0 + truth.value.abs());
            let off = summary.mean.map_or(f64::INFINITY, |mean| (mean - truth.value).abs());
            let close = if off <= allowed { summary.mean } else { None };
            let Some(test) = Test::of_mean(&summary, close.unwrap_or(truth.value)) else {
                return Err(format!("{} is missing in all but one dataset", truth.what));
            };
            let mean = summary.mean.unwrap_or(f64::NAN);
            let what = format!("{}: {mean:.6} instead of {:.6}", truth.what, truth.value);
            tested.push(Tested { what, p: test.p, test });
        }
        Ok(tested)
    }))
}

/// Tests that squared errors fall from the small to the large datasets.
fn convergence(
    target: Target<'_>,
    info: &EstimatorInfo,
    [small, large]: [&[Dataset]; 2],
) -> Result<Vec<Tested>, String> {
    let errors = |data: &[Dataset]| {
        data.iter().map(|data| target.error(info, data)).collect::<Result<Vec<f64>, String>>()
    };
    shrinks("squared error", &errors(small)?, &errors(large)?)
}

/// Tests that the errors of the large datasets are below a share of those of the small ones.
fn shrinks(of: &str, small: &[f64], large: &[f64]) -> Result<Vec<Tested>, String> {
    if large.iter().all(|error| *error <= EXACT) {
        return Ok(Vec::new());
    }
    let excess: Vec<f64> = small.iter().zip(large).map(|(s, l)| l - SHARE * s).collect();
    let Some(test) = Test::of_mean(&Summary::of(&excess), 0.0) else {
        return Err("convergence needs two replicates".to_owned());
    };
    let share = large.iter().sum::<f64>() / small.iter().sum::<f64>();
    let what = format!("{of} times {share:.3}, to be below {SHARE}");
    Ok(vec![Tested { what, p: test.above(), test }])
}

/// All registered scenarios with default parameters.
///
/// # Errors
/// None that the registry can cause.
pub fn scenarios() -> Result<Vec<Scenario>> {
    let scenario = |info: &fe_truth::ScenarioInfo| Ok(fe_truth::scenario(info.name, &[])?);
    fe_truth::scenarios().iter().map(scenario).collect()
}

/// Limits of bins over the middle half of an axis, where each of them has instances.
///
/// # Errors
/// An axis without width.
pub fn middle_bins(axis: (f64, f64), bins: usize) -> Result<Vec<f64>> {
    let quarter = 0.25 * (axis.1 - axis.0);
    Ok(Axis::new(axis.0 + quarter, axis.1 - quarter)?.divide(bins))
}
