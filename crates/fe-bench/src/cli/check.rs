//! `fe-bench check`.

use std::io::Write;

use clap::Args;
use fe_core::estimator::pair;
use fe_core::indices::Index;
use fe_core::{estimator, regional};
use fe_truth::Scenario;

use super::arguments::{feature_name, key_value};
use super::compare::probability;
use super::progress::{Amount, Progress};
use crate::check::problem::{Against, Witnessed, published, witnessed as of_witness};
use crate::check::{self, Finding, Plan, SHARE, UnderTest};
use crate::data::scenarios;
use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};

/// Holds every estimator to the exact truth of every scenario, or the truths of one in a file to a
/// second quadrature and every estimator to them.
///
/// `quadrature`, for a file: other nodes, another order of integration, nothing taken apart; the largest
/// difference must be no more than the sum of both bounds. Truths that are refused are said.
/// `published`, for a file that says what was published about it: the truth must be that, as far as its
/// digits say.
/// `agreement`: what is unbiased at any number of rows has its truth as mean over datasets.
/// `convergence`: the squared error falls as rows are added. `regret` and `leaf-error`: so do the
/// heterogeneity that regions leave more than the best ones, and the error of the curves in them, where
/// features are independent and the best split is unique. Effects of pairs of features and indices are held to the
/// same, where they have a truth. Exit status 1 if any estimator fails.
/// The seed is fixed, so that a job that passes once passes always; p-values are adjusted for the
/// number of tests (Holm), so that another seed gives a false alarm with probability alpha at most.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A scenario in a file [default: all built-in ones]
    #[arg(value_name = "FILE.toml")]
    problem: Option<String>,
    /// A parameter of the scenario in the file; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, requires = "problem")]
    set: Vec<(String, String)>,
    /// Fewer features, datasets and rows: done in seconds
    #[arg(long)]
    quick: bool,
    /// Master seed, from which all datasets are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Probability that anything fails if every estimator is right
    #[arg(long, value_name = "P", default_value_t = 1e-6, value_parser = probability)]
    alpha: f64,
    /// All findings, not only those that failed and the closest to failing
    #[arg(long)]
    all: bool,
    /// How it is printed; csv and json hold all findings
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Number of findings that are shown if nothing fails.
const CLOSEST: usize = 10;

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let plan = if arguments.quick { Plan::QUICK } else { Plan::FULL };
    let scenarios = match &arguments.problem {
        Some(path) => vec![in_file(path, &arguments.set)?],
        None => check::scenarios()?,
    };
    let features = scenarios.iter().map(|s| s.dimension().min(plan.features)).sum::<usize>();
    // Features, pairs and indices of each scenario, and what is held against a second quadrature.
    let witnessed_features = match &arguments.problem {
        Some(_) => scenarios.iter().map(Scenario::dimension).sum(),
        None => 0,
    };
    let parts = features + scenarios.len() + witnessed_features;
    let one = Amount { number: 1, cost: 1 };
    let all = Amount { number: parts, cost: parts as u64 };
    let progress = Progress::new("parts", Amount::default(), all);
    let done = || progress.add(one);
    let indices: Vec<Index> = Index::all().collect();
    let held = UnderTest {
        estimators: estimator::ALL,
        regional: regional::ALL,
        pairs: pair::ALL,
        indices: &indices,
    };
    let findings = check::run(held, &scenarios, plan, arguments.seed, arguments.alpha, &done)?;
    let witnessed = witnessed(arguments, &scenarios, &done);
    drop(progress);
    let broken = witnessed.iter().filter(|held| !held.passed()).count();
    let failed = findings.iter().filter(|finding| !finding.passed).count() + broken;
    let shown: Vec<&Finding> = if arguments.all || arguments.format != Format::Table {
        findings.iter().collect()
    } else if failed > 0 {
        findings.iter().filter(|finding| !finding.passed).collect()
    } else {
        closest(&findings)
    };
    let mut sheet = sheet(&scenarios, &shown);
    for held in witnessed.iter().filter(|held| arguments.all || is_told(held, arguments.format)) {
        sheet.push(witnessed_row(&scenarios[0], held));
    }
    sheet.write(arguments.format, out)?;
    if arguments.format == Format::Table {
        if arguments.problem.is_some() {
            writeln!(out, "\n{}", said_of_witness(&witnessed)).map_err(Error::Output)?;
        }
        write!(out, "\n{}", said(&findings, plan, arguments.alpha)).map_err(Error::Output)?;
    }
    match failed {
        0 => Ok(()),
        failed => {
            let all = findings.len() + witnessed.len();
            Err(Error::Failed(format!("{failed} of {all} findings failed")))
        }
    }
}

/// A scenario in a file; built-in ones are all checked at once.
fn in_file(path: &str, set: &[(String, String)]) -> Result<Scenario> {
    if !scenarios::is_file(path) {
        let message = format!("`{path}`: a file that ends in .toml, or nothing for all scenarios");
        return Err(Error::Argument(message));
    }
    scenarios::find(path, set)
}

fn witnessed(arguments: &Arguments, scenarios: &[Scenario], done: &dyn Fn()) -> Vec<Witnessed> {
    match (&arguments.problem, scenarios) {
        (Some(_), [scenario]) => {
            let witness = scenario.witness();
            let witnessed = witness.map(|witness| of_witness(scenario, &witness, done));
            let published = published(scenario);
            witnessed.into_iter().flatten().chain(published).collect()
        }
        _ => Vec::new(),
    }
}

/// Tables hold what failed or was refused, and the worst.
fn is_told(held: &Witnessed, format: Format) -> bool {
    format != Format::Table || !held.passed() || held.refused.is_some()
}

fn witnessed_row(scenario: &Scenario, held: &Witnessed) -> Vec<Entry> {
    let feature = held.feature.map(|feature| scenario.feature_name(feature));
    let refused = || held.refused.clone().unwrap_or_default();
    let worst = held.worst.map_or_else(refused, |worst| format!("{} {worst:.2}", held.what));
    let result = match (&held.refused, held.passed()) {
        (Some(_), _) => "refused",
        (None, true) => "ok",
        (None, false) => "failed",
    };
    vec![
        scenario.id().into(),
        feature.map_or(Entry::Missing, Entry::from),
        held.what.clone().into(),
        match held.against {
            Against::Quadrature => "quadrature",
            Against::Published => "published",
        }
        .into(),
        held.points.into(),
        worst.into(),
        Entry::Missing,
        Entry::Missing,
        Entry::Missing,
        result.into(),
    ]
}

fn said_of_witness(held: &[Witnessed]) -> String {
    let (held, published): (Vec<&Witnessed>, Vec<&Witnessed>) =
        held.iter().partition(|held| held.against == Against::Quadrature);
    let points: usize = held.iter().map(|held| held.points).sum();
    let worst = held.iter().filter_map(|held| held.worst).fold(0.0, f64::max);
    let refused = held.iter().filter(|held| held.refused.is_some()).count();
    let found = published.iter().filter(|held| held.refused.is_none()).count();
    let published = match published.len() {
        0 => String::new(),
        all => format!(" {found} of {all} published numbers have a truth to be held against."),
    };
    format!(
        "{points} truths by a second quadrature (other nodes, another order, nothing taken apart): the \
         largest difference is {worst:.2} of the sum of both bounds; {refused} of {} kinds of truths \
         are refused.{published}",
        held.len()
    )
}

/// The findings with the smallest p-values.
fn closest(findings: &[Finding]) -> Vec<&Finding> {
    let mut order: Vec<&Finding> = findings.iter().collect();
    order.sort_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0)));
    order.truncate(CLOSEST);
    order
}

fn sheet(scenarios: &[Scenario], findings: &[&Finding]) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "scenario",
        "feature",
        "estimator",
        "test",
        "tested",
        "worst",
        "t",
        "p",
        "p_adjusted",
        "result",
    ]);
    for finding in findings {
        sheet.push(vec![
            finding.scenario.clone().into(),
            scenario_name(scenarios, finding).into(),
            finding.estimator.into(),
            finding.kind.to_string().into(),
            finding.compared.into(),
            finding.worst.clone().into(),
            finding.statistic.map_or(Entry::Missing, Entry::Number),
            finding.p.into(),
            finding.adjusted.into(),
            if finding.passed { "ok" } else { "failed" }.into(),
        ]);
    }
    sheet
}

/// Number of features that findings are of.
fn distinct_features(findings: &[Finding]) -> usize {
    let of = |finding: &Finding| -> Vec<(String, usize)> {
        finding.features.iter().map(|&feature| (finding.scenario.clone(), feature)).collect()
    };
    findings.iter().flat_map(of).collect::<std::collections::BTreeSet<_>>().len()
}

/// The name of the feature of a finding, or of its pair.
fn scenario_name(scenarios: &[Scenario], finding: &Finding) -> String {
    let scenario = scenarios.iter().find(|scenario| scenario.id() == finding.scenario);
    let name = |&feature: &usize| {
        scenario.map_or_else(|| feature_name(feature), |scenario| scenario.feature_name(feature))
    };
    match &finding.features[..] {
        [] => "f".to_owned(),
        features => features.iter().map(name).collect::<Vec<String>>().join(":"),
    }
}

/// A number of things: `1 scenario`, `2 scenarios`.
fn several(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn said(findings: &[Finding], plan: Plan, alpha: f64) -> String {
    let distinct = |of: &dyn Fn(&Finding) -> String| {
        findings.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
    };
    let tests: usize = findings.iter().map(|finding| finding.compared).sum();
    let failed = findings.iter().filter(|finding| !finding.passed).count();
    format!(
        "{} estimators, {}, {}, {} datasets of each kind: {tests} tests in {} findings, {failed} \
         failed.\n\
         Agreement at {} rows; squared errors from {} to {} rows (from {} to {} where rows are \
         paired with rows) must fall below {SHARE} of what they were.\n\
         Any false alarm has probability {alpha} at most.\n",
        distinct(&|finding| finding.estimator.to_owned()),
        several(distinct(&|finding| finding.scenario.clone()), "scenario"),
        several(distinct_features(findings), "feature"),
        plan.replicates,
        findings.len(),
        plan.rows,
        plan.sizes.0,
        plan.sizes.1,
        plan.costly_sizes.0,
        plan.costly_sizes.1,
    )
}
