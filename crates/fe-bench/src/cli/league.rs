//! `fe-bench league`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::data::scenarios;
use crate::error::Result;
use crate::output::{Entry, Format, OutputTable};
use crate::record::{results, timings};
use crate::table::league;

/// Ranks the implementations of each study over all its questions: a scenario, a feature or a pair of features, and an N, of
/// indices also an index.
///
/// `rank` is a mean over questions: in each it is 1 and the number of those that are better by more than
/// Monte Carlo error, that is by the 95 % interval of the difference, dataset by dataset; what is within
/// it is a tie. `field` is how many of the `questions` an implementation answered on every dataset, and
/// `best` in how many of them it is the best or tied with it. `error` and `heterogeneity` are medians
/// over questions, in units of the error of the best; `coverage` is a mean, without the questions that are
/// answered exactly, where a band has no width; `time_ms` is a median, and `peak_MiB` the most
/// memory of the process. A study should hold estimators of one estimand only: what is ranked must
/// answer the same question.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let results = results::read(&arguments.folder)?;
    results.need_datasets(&arguments.folder, "a league")?;
    let mut times = league::Times::default();
    timings::each(&arguments.folder, |timing| times.add(&timing))?;
    let files = results.manifest.studies.iter().map(|named| &named.study.problems);
    let problems = scenarios::recorded(files);
    let sd = |scenario: &str, parameters: &str| {
        Some(scenarios::of_record(scenario, parameters, &problems)?.sd().ok()?.value)
    };
    let mut sheet = OutputTable::new(&[
        "study",
        "implementation",
        "rank",
        "field",
        "questions",
        "best",
        "error",
        "heterogeneity",
        "coverage",
        "time_ms",
        "time_over_model",
        "peak_MiB",
    ]);
    for standing in league::standings(&results.values, times, sd) {
        let row: Vec<Entry> = vec![
            standing.study.into(),
            standing.implementation.into(),
            standing.rank.into(),
            standing.answered.into(),
            standing.questions.into(),
            standing.best_or_tied.into(),
            standing.error.filter(|ratio| ratio.is_finite()).into(),
            standing.heterogeneity.filter(|ratio| ratio.is_finite()).into(),
            standing.coverage.into(),
            standing.seconds.map(|seconds| 1e3 * seconds).into(),
            standing.over_model.into(),
            standing.peak_bytes.map_or(Entry::Missing, |bytes| Entry::Count(bytes >> 20)),
        ];
        sheet.push(row);
    }
    sheet.write(arguments.format, out)
}
