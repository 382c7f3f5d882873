//! `fe-bench check`.

use std::io::Write;

use clap::Args;
use fe_core::estimator;

use super::arguments::feature_name;
use super::compare::probability;
use super::progress::{Amount, Progress};
use crate::check::{self, Finding, Plan, SHARE};
use crate::error::{Error, Result};
use crate::sheet::{Entry, Format, Sheet};

/// Holds every estimator to the exact truth of every scenario.
///
/// `agreement`: what is unbiased at any number of rows has its truth as mean over datasets.
/// `convergence`: the squared error falls as rows are added. Exit status 1 if any estimator fails.
/// The seed is fixed, so that a job that passes once passes always; p-values are adjusted for the
/// number of tests (Holm), so that another seed gives a false alarm with probability alpha at most.
#[derive(Debug, Args)]
pub(super) struct Arguments {
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

/// How many findings are shown if nothing fails.
const CLOSEST: usize = 10;

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let plan = if arguments.quick { Plan::QUICK } else { Plan::FULL };
    let scenarios = check::scenarios()?;
    let features = scenarios.iter().map(|s| s.dimension().min(plan.features)).sum::<usize>();
    let one = Amount { number: 1, cost: 1 };
    let all = Amount { number: features, cost: features as u64 };
    let progress = Progress::new("features", Amount::default(), all);
    let done = || progress.add(one);
    let findings =
        check::run(estimator::ALL, &scenarios, plan, arguments.seed, arguments.alpha, &done)?;
    drop(progress);
    let failed = findings.iter().filter(|finding| !finding.passed).count();
    let shown: Vec<&Finding> = if arguments.all || arguments.format != Format::Table {
        findings.iter().collect()
    } else if failed > 0 {
        findings.iter().filter(|finding| !finding.passed).collect()
    } else {
        closest(&findings)
    };
    sheet(&shown).write(arguments.format, out)?;
    if arguments.format == Format::Table {
        write!(out, "\n{}", said(&findings, plan, arguments.alpha)).map_err(Error::Output)?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(Error::Failed(format!("{failed} of {} findings failed", findings.len()))),
    }
}

/// The findings with the smallest p-values.
fn closest(findings: &[Finding]) -> Vec<&Finding> {
    let mut order: Vec<&Finding> = findings.iter().collect();
    order.sort_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0)));
    order.truncate(CLOSEST);
    order
}

fn sheet(findings: &[&Finding]) -> Sheet {
    let mut sheet = Sheet::new(&[
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
            feature_name(finding.feature).into(),
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

fn said(findings: &[Finding], plan: Plan, alpha: f64) -> String {
    let distinct = |of: &dyn Fn(&Finding) -> String| {
        findings.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
    };
    let tests: usize = findings.iter().map(|finding| finding.compared).sum();
    let failed = findings.iter().filter(|finding| !finding.passed).count();
    format!(
        "{} estimators, {} scenarios, {} features, {} datasets of each kind: {tests} tests in {} \
         findings, {failed} failed.\n\
         Agreement at {} rows; squared errors from {} to {} rows (from {} to {} where rows are \
         paired with rows) must fall below {SHARE} of what they were.\n\
         Any false alarm has probability {alpha} at most.\n",
        distinct(&|finding| finding.estimator.to_owned()),
        distinct(&|finding| finding.scenario.clone()),
        distinct(&|finding| format!("{} {}", finding.scenario, finding.feature)),
        plan.replicates,
        findings.len(),
        plan.rows,
        plan.sizes.0,
        plan.sizes.1,
        plan.costly_sizes.0,
        plan.costly_sizes.1,
    )
}
