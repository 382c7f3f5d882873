//! `fe-bench finish`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser};

use super::plan::{Plan, PlanRecord, VERSION, beside};
use crate::data::query::Answers;
use crate::error::{Error, Result};
use crate::output::Format;

/// Computes effects from a model's answers to the questions of `plan`.
///
/// It prints what `effect` prints. The predictions are a CSV file whose first line names the outputs
/// and which answers every row of QUERY.csv, in its order.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The questions, with QUERY.csv.plan.json beside them
    #[arg(value_name = "QUERY.csv")]
    questions: PathBuf,
    /// The answers
    #[arg(long, value_name = "PRED.csv")]
    predictions: PathBuf,
    /// Where the data file is now [default: where it was]
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,
    /// How it is printed [default: as `plan` was told]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let (plan, path) = read(&arguments.questions)?;
    let held = PlanRecord::try_parse_from(&plan.arguments)
        .map_err(|e| Error::content(&path, format!("its arguments cannot be used: {e}")))?;
    let mut planned = held.arguments;
    if let Some(data) = &arguments.data {
        planned.data.clone_from(data);
    }
    if let Some(format) = arguments.format {
        planned.estimation.print_as(format);
    }
    let (data, hash) = planned.read()?;
    if hash != plan.data_sha256 {
        return Err(Error::content(
            &planned.data,
            "not the data that the questions were made from",
        ));
    }
    let derivatives = planned.derivatives();
    let (questions, predictions) = (&arguments.questions, &arguments.predictions);
    let answers = Answers::open(questions, predictions, &data, derivatives)?;
    // Nothing is printed before it is certain that questions and answers belong together.
    let mut printed = Vec::new();
    let result = planned.estimate(&data, &answers, &mut printed);
    answers.check(result)?;
    out.write_all(&printed).map_err(Error::Output)
}

fn read(questions: &std::path::Path) -> Result<(Plan, PathBuf)> {
    let path = beside(questions);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|e| Error::content(&path, format!("not a plan: {e}")))?;
    if plan.version != VERSION {
        let message =
            format!("layout {} of plans, but this program reads layout {VERSION}", plan.version);
        return Err(Error::content(&path, message));
    }
    Ok((plan, path))
}
