//! `fe-bench compare`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::error::{Error, Result};
use crate::output::{Entry, Format, OutputTable};
use crate::record::Column;
use crate::record::compare::{
    Number, Run, RunComparison, Time, Tolerance, Verdict, compare, varying,
};

/// Compares two runs: which numbers moved by more than their Monte Carlo error, which only in time.
///
/// A number is a mean over replicates. `same`: all replicates have the same bits. `rounding`: all
/// are the same but for --rounding. `within Monte Carlo error` and `moved`: by a test whose p-values
/// are adjusted for the number of tests (Holm), so that with probability 1 − alpha no number is
/// said to have moved if none has. Runs with the same master seed drew the same datasets and are
/// compared replicate by replicate, those with different seeds by Welch's test. `untested`: too few
/// replicates to know. Exit status 1 if any number moved.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Results folder that is compared with it
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Relative difference that is taken for rounding; errors smaller than this are rounding, too
    #[arg(long, value_name = "R", default_value_t = 1e-9, value_parser = share)]
    rounding: f64,
    /// Probability that any number is said to have moved if none has
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = probability)]
    alpha: f64,
    /// All numbers, not only those that moved, cannot be tested or are in one run only
    #[arg(long)]
    all: bool,
    /// The times instead of the numbers, where the format has room for one of them
    #[arg(long)]
    times: bool,
    /// How it is printed; csv and json hold the numbers, or the times
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// A number from 0 to below 1.
fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(number),
        _ => Err("must be a number from 0 to below 1".to_owned()),
    }
}

/// A number between 0, with which nothing could ever be found, and 1.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1.0 => Ok(number),
        _ => Err("must be a number between 0 and 1".to_owned()),
    }
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let read = |folder: &PathBuf| Run::read(folder);
    let tolerance = Tolerance { rounding: arguments.rounding, alpha: arguments.alpha };
    let comparison = compare(&read(&arguments.first)?, &read(&arguments.second)?, tolerance)?;
    let shown = |number: &&Number| arguments.all || number.verdict >= Verdict::Untested;
    let numbers: Vec<&Number> = comparison.numbers.iter().filter(shown).collect();
    match arguments.format {
        Format::Table => {
            if !numbers.is_empty() && !arguments.times {
                number_sheet(&numbers, &varying(&numbers)).write(Format::Table, out)?;
                writeln!(out).map_err(Error::Output)?;
            }
            time_sheet(&comparison.times).write(Format::Table, out)?;
            write!(out, "\n{}", said(&comparison, tolerance)).map_err(Error::Output)?;
        }
        format if arguments.times => time_sheet(&comparison.times).write(format, out)?,
        format => {
            let keys: Vec<Column> = Column::of_means().collect();
            number_sheet(&numbers, &keys).write(format, out)?;
        }
    }
    match comparison.count(Verdict::Moved) {
        0 => Ok(()),
        1 => Err(Error::Failed("1 number moved".to_owned())),
        moved => Err(Error::Failed(format!("{moved} numbers moved"))),
    }
}

fn number_sheet(numbers: &[&Number], keys: &[Column]) -> OutputTable {
    const COLUMNS: [&str; 9] =
        ["a", "se_a", "b", "se_b", "difference", "p", "failed_a", "failed_b", "verdict"];
    let columns: Vec<&str> = keys.iter().map(|key| key.name()).chain(COLUMNS).collect();
    let mut sheet = OutputTable::new(&columns);
    for number in numbers {
        let mut row: Vec<Entry> =
            number.key.fields(keys.iter().copied()).map(Entry::from).collect();
        row.extend([
            number.first.and_then(|s| s.mean).into(),
            number.first.and_then(|s| s.standard_error).into(),
            number.second.and_then(|s| s.mean).into(),
            number.second.and_then(|s| s.standard_error).into(),
            number.difference.into(),
            number.p.into(),
            number.failed.0.into(),
            number.failed.1.into(),
            number.verdict.to_string().into(),
        ]);
        sheet.push(row);
    }
    sheet
}

fn time_sheet(times: &[Time]) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "study",
        "estimator",
        "N",
        "seconds_a",
        "seconds_b",
        "ratio",
        "ratio_q1",
        "ratio_q3",
        "time",
        "numbers",
    ]);
    for time in times {
        let (first, second) = time.seconds;
        sheet.push(vec![
            time.study.clone().into(),
            time.estimator.clone().into(),
            time.rows.clone().into(),
            first.into(),
            second.into(),
            (second / first).into(),
            time.quartiles.0.into(),
            time.quartiles.1.into(),
            time.verdict().into(),
            time.numbers.to_string().into(),
        ]);
    }
    sheet
}

/// The lines below the tables.
fn said(comparison: &RunComparison, tolerance: Tolerance) -> String {
    let how = if comparison.paired {
        "The same datasets, compared replicate by replicate"
    } else {
        "Different master seeds, compared by Welch's test"
    };
    let counts = Verdict::ALL.iter().filter_map(|verdict| match comparison.count(*verdict) {
        0 => None,
        count => Some(format!("{count} {verdict}")),
    });
    let only_in_time =
        |time: &&Time| !time.verdict().is_empty() && time.numbers <= Verdict::Rounding;
    format!(
        "{how}; any false alarm has probability {} at most.\n\
         {} numbers: {}.\n\
         {} of {} rows of times differ only in time, by a factor beyond {} in the middle half of \
         their estimates.\n",
        tolerance.alpha,
        comparison.numbers.len(),
        counts.collect::<Vec<_>>().join(", "),
        comparison.times.iter().filter(only_in_time).count(),
        comparison.times.len(),
        Time::FACTOR,
    )
}
