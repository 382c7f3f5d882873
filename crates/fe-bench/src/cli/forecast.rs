//! Print of what a run would compute, and of the time that it would take.

use std::io::Write;
use std::time::Duration;

use indicatif::HumanDuration;

use crate::engines::Engines;
use crate::error::Result;
use crate::output::{Entry, Format, OutputTable};
use crate::run::forecast::{Forecast, Kind, Work};
use crate::study::tasks::Plan;
use crate::system::say::say;

/// Time for which datasets are computed, if none of them takes longer.
const WITHIN: Duration = Duration::from_secs(60);

/// Prints the work of each kind of dataset, with its time, and says that of all.
pub(super) fn tell(
    mut forecast: Forecast,
    plan: &Plan<'_>,
    by: (&Engines, u64),
    format: Format,
    out: &mut dyn Write,
) -> Result<()> {
    forecast.time(plan, by, WITHIN)?;
    sheet(&forecast).write(format, out)?;
    let Forecast { kinds, jobs, .. } = &forecast;
    let is_open = plan.groups.iter().any(|planned| planned.group.replicates.until.is_some());
    let least = if is_open { "at least" } else { "about" };
    let threads = if *jobs == 1 { "one thread".to_owned() } else { format!("{jobs} threads") };
    let truths: f64 = kinds.iter().map(|kind| kind.seconds_of_truths(*jobs)).sum();
    let seconds = forecast.seconds();
    say!(
        "{least} {} on {threads}, {} of them for truths",
        time(seconds),
        time(truths.min(seconds))
    );
    let timed = kinds.iter().filter(|kind| kind.is_timed).count();
    if timed < kinds.len() {
        say!(
            "datasets of {timed} of {} kinds were timed; the others are told from theirs",
            kinds.len()
        );
    }
    Ok(())
}

/// A time in words.
fn time(seconds: f64) -> String {
    match seconds {
        short if short < 10.0 => format!("{short:.1} s"),
        short if short < 120.0 => format!("{short:.0} s"),
        _ => HumanDuration(Duration::from_secs_f64(seconds.min(1e12))).to_string(),
    }
}

/// A row for each kind, and one for all.
fn sheet(forecast: &Forecast) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "study",
        "block",
        "scenario",
        "N",
        "datasets",
        "cells",
        "model_rows",
        "fits",
        "bands",
        "resamples",
        "seconds_of_truths",
        "seconds",
    ]);
    let jobs = forecast.jobs;
    let counted = |work: &Work| -> Vec<Entry> {
        let Work { datasets, estimates, model_rows, fits, bands, resamples, .. } = *work;
        [datasets, estimates, model_rows, fits, bands, resamples].map(Entry::Count).to_vec()
    };
    let rounded = |seconds: f64| Entry::Number((1e3 * seconds).round() / 1e3);
    for kind in &forecast.kinds {
        let Kind { study, block, scenario, rows, work, .. } = kind;
        let mut row: Vec<Entry> = vec![study.as_str().into(), (*block).into()];
        row.extend([scenario.as_str().into(), (*rows).into()]);
        row.extend(counted(work));
        let truths = kind.seconds_of_truths(jobs);
        row.extend([rounded(truths), rounded(truths + kind.seconds_of_datasets(jobs))]);
        sheet.push(row);
    }
    let mut all: Vec<Entry> = vec!["all".into(), Entry::Missing, Entry::Missing, Entry::Missing];
    all.extend(counted(&forecast.work()));
    let truths = forecast.kinds.iter().map(|kind| kind.seconds_of_truths(jobs)).sum();
    all.extend([rounded(truths), rounded(forecast.seconds())]);
    sheet.push(all);
    sheet
}
