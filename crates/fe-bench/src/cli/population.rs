//! `fe-bench population`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fe_core::replicates::Summary;

use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::record::results;
use crate::report::population::{self, Judged, PROPERTIES};
use crate::score::Metric;

/// Tells which estimator is better on how many of a study's problems, and on what it depends.
///
/// The error of a problem is the root of the mean of the metric over its features and datasets. `wins`
/// compares each two estimators problem by problem: the share of problems on which the first has the
/// lower error, with its 95 % interval (Wilson 1927), and the median ratio of their errors. `regression` explains the decimal logarithm
/// of an estimator's error, divided by the standard deviation of f where it is in the unit of f, by the
/// properties of the problem, with 95 % intervals; `ratios` does the same for the ratio of the errors of
/// each two.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder of a study of problem files
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What is told
    #[arg(long, value_enum, default_value = "wins")]
    what: What,
    /// A metric that is an error: mse, mae, rmse or max
    #[arg(long, default_value = "mse", value_parser = metric)]
    metric: Metric,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Shares of problems on which each estimator is better than each other one
    Wins,
    /// On what the error of each estimator depends
    Regression,
    /// On what the ratio of the errors of each two estimators depends
    Ratios,
    /// The properties of the problems
    Properties,
    /// The error of each estimator on each problem, as `regression` explains it
    Errors,
}

fn metric(text: &str) -> Result<Metric, String> {
    let metric: Metric = text.parse()?;
    if ["mse", "mae", "rmse", "max"].contains(&metric.name()) {
        return Ok(metric);
    }
    Err(format!("`{text}` is no distance from the true curve; allowed are mse, mae, rmse and max"))
}

/// Level of all intervals.
const LEVEL: f64 = 0.95;

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let results = results::read(&arguments.folder)?;
    let wrong = |message: String| Error::content(&arguments.folder, message);
    let judged = population::judged(&results, arguments.metric).map_err(wrong)?;
    let sheet = match arguments.what {
        What::Wins => wins(&judged),
        What::Regression => regression(&judged),
        What::Ratios => ratios(&judged),
        What::Properties => properties(&judged),
        What::Errors => errors(&judged),
    };
    sheet.write(arguments.format, out)
}

fn wins(judged: &Judged) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "N",
        "first",
        "second",
        "problems",
        "first_lower",
        "lower",
        "upper",
        "median_ratio",
    ]);
    for rows in judged.sizes() {
        for (first, second) in judged.pairs() {
            let ratios = judged.ratios(first, second, rows);
            let logs: Vec<f64> = ratios.iter().map(|(_, log)| *log).collect();
            let lower: Vec<bool> = logs.iter().map(|log| *log < 0.0).collect();
            let summary = Summary::of_events(&lower);
            let interval = summary.interval;
            sheet.push(vec![
                rows.into(),
                first.into(),
                second.into(),
                logs.len().into(),
                summary.mean.into(),
                interval.map(|ends| ends.0).into(),
                interval.map(|ends| ends.1).into(),
                population::median(&logs).map(|log| 10_f64.powf(log)).into(),
            ]);
        }
    }
    sheet
}

const OF_REGRESSION: [&str; 8] =
    ["N", "estimator", "problems", "on", "estimate", "lower", "upper", "r2"];

fn regression(judged: &Judged) -> OutputTable {
    let mut sheet = OutputTable::new(&OF_REGRESSION);
    for rows in judged.sizes() {
        for estimator in &judged.estimators {
            explain(&mut sheet, judged, rows, estimator, &judged.errors(estimator, rows));
        }
    }
    sheet
}

fn ratios(judged: &Judged) -> OutputTable {
    let mut sheet = OutputTable::new(&OF_REGRESSION);
    for rows in judged.sizes() {
        for (first, second) in judged.pairs() {
            let name = format!("{first} / {second}");
            explain(&mut sheet, judged, rows, &name, &judged.ratios(first, second, rows));
        }
    }
    sheet
}

/// A row for each coefficient of a regression on the properties of the problems.
fn explain(
    sheet: &mut OutputTable,
    judged: &Judged,
    rows: &str,
    estimator: &str,
    logs: &[(usize, f64)],
) {
    let logs = &judged.known(logs);
    let mut push = |on: &str, numbers: [Option<f64>; 4]| {
        let mut row: Vec<Entry> = vec![rows.into(), estimator.into(), logs.len().into(), on.into()];
        row.extend(numbers.map(Entry::from));
        sheet.push(row);
    };
    let Some((names, fit)) = judged.explained(logs, LEVEL) else {
        return push("", [None; 4]);
    };
    let named = names.into_iter().zip(&fit.coefficients);
    for (name, found) in std::iter::once(("mean problem", &fit.intercept)).chain(named) {
        push(name, [Some(found.estimate), Some(found.lower), Some(found.upper), Some(fit.r2)]);
    }
}

fn errors(judged: &Judged) -> OutputTable {
    let mut sheet = OutputTable::new(&["problem", "N", "estimator", "log10_error"]);
    for rows in judged.sizes() {
        for estimator in &judged.estimators {
            for (place, log) in judged.errors(estimator, rows) {
                sheet.push(vec![
                    judged.id(place).into(),
                    rows.into(),
                    estimator.as_str().into(),
                    log.into(),
                ]);
            }
        }
    }
    sheet
}

fn properties(judged: &Judged) -> OutputTable {
    let mut columns = vec!["problem"];
    columns.extend(PROPERTIES);
    let mut sheet = OutputTable::new(&columns);
    for (place, values) in judged.properties() {
        let mut row: Vec<Entry> = vec![judged.id(place).into()];
        row.extend(values.map(Entry::from));
        sheet.push(row);
    }
    sheet
}
