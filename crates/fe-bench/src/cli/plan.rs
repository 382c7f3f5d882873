//! `fe-bench plan`.

use std::io::{Write, sink};
use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use fe_core::settings::Jacobian;
use fe_core::{Dataset, Model};
use serde::{Deserialize, Serialize};

use super::arguments::DataFeatures;
use super::effect::estimation;
use super::effect::options::EstimationArguments;
use super::effect::subject::Subject;
use crate::data::query::Questions;
use crate::data::{self, Missing, Roles, is_standard_input};
use crate::error::{Error, Result};
use crate::plot::write_whole;
use crate::record::manifest;
use crate::system::files;
use crate::system::screen::in_json;

/// Writes the rows that a model must be asked, so that it may be written in any language.
///
/// Answer every row of QUERY.csv in its order: a CSV file whose first line names the outputs and which
/// has one prediction per output in each row. Then `fe-bench finish QUERY.csv --predictions PRED.csv`
/// gives the effects. What it must know stands in QUERY.csv.plan.json: keep the two together, and the
/// data where they are.
///
/// Derivatives are computed from predictions. With --jacobian model the model is asked for them: then
/// QUERY.csv has a last column `derivative`, and in rows where it names a feature (x1 … xD) the answer
/// is the derivative with respect to it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Data file with a header and a column per feature, in any format that `effect` reads; a last column y is ignored
    #[arg(long, value_name = "FILE")]
    pub(super) data: PathBuf,
    /// Column of the data file with the weights of the rows
    #[arg(long, value_name = "COLUMN")]
    weights: Option<String>,
    /// Column of the data file that is no feature
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Columns of the data file that are no features
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Missing values; questions about rows that are kept have empty fields
    #[arg(long, value_enum, default_value_t)]
    missing: Missing,
    #[command(flatten)]
    features: DataFeatures,
    /// The file of questions
    #[arg(long, value_name = "QUERY.csv")]
    out: PathBuf,
    #[command(flatten)]
    pub(super) estimation: EstimationArguments,
}

/// The arguments by themselves, as a plan holds them.
#[derive(Debug, Parser)]
#[command(name = "plan", no_binary_name = true)]
pub(super) struct PlanRecord {
    #[command(flatten)]
    pub(super) arguments: Box<Arguments>,
}

/// The record that `finish` needs beside the questions.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Version of this layout.
    pub(super) version: u32,
    /// The program that wrote it.
    pub(super) program: String,
    /// The arguments of `plan`.
    pub(super) arguments: Vec<String>,
    /// Hash of the data file.
    pub(super) data_sha256: String,
    /// Number of rows that are asked.
    pub(super) questions: u64,
}

/// Version of the layout of a plan.
pub(super) const VERSION: u32 = 1;

impl Arguments {
    /// The data, with kinds and weights, and the hash of their file.
    pub(super) fn read(&self) -> Result<(Dataset, String)> {
        let columns = self.estimation.columns()?;
        let roles = Roles {
            dimension: None,
            weights: self.weights.as_deref(),
            target: self.target.as_deref(),
            ignored: &self.ignore,
            columns: Some(&columns),
            missing: self.missing,
        };
        data::read_hashed(&self.data, roles)
    }

    /// True if the model is asked for derivatives.
    pub(super) fn derivatives(&self) -> bool {
        self.estimation.jacobian() == Some(Jacobian::Model)
    }

    /// Estimates from whatever a model answers, on one thread: questions have an order.
    pub(super) fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        out: &mut (dyn Write + Send),
    ) -> Result<()> {
        let chosen = self.features.chosen_of_names(data.names())?;
        let subject = Subject {
            scenario: None,
            fitted: None,
            data,
            model,
            features: &chosen.features,
            pairs: &chosen.pairs,
            is_all: chosen.is_all,
            with_truths: false,
            picture: None,
        };
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let alone = alone.map_err(|e| Error::Argument(e.to_string()))?;
        alone.install(|| estimation::execute(&self.estimation, &subject, out))
    }
}

/// File that holds the plan of some questions.
pub(super) fn beside(questions: &Path) -> PathBuf {
    files::beside(questions, ".plan.json")
}

/// The words of a command behind its name, but those that say how much the program says.
fn own_words(words: &[String]) -> Vec<String> {
    let of_program =
        |word: &&String| !["-q", "--quiet", "-v", "--verbose"].contains(&word.as_str());
    words[manifest::named_by(words)..].iter().filter(of_program).cloned().collect()
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    super::arguments::can_be_recorded()?;
    if is_standard_input(&arguments.data) {
        let message = "--data -: `finish` reads the data again, so they must be a file";
        return Err(Error::Argument(message.to_owned()));
    }
    let path = beside(&arguments.out);
    for written in [&arguments.out, &path] {
        files::check_output(written, &[&arguments.data])?;
    }
    let (data, data_sha256) = arguments.read()?;
    let questions = Questions::create(&arguments.out, &data, arguments.derivatives())?;
    arguments.estimate(&data, &questions, &mut sink())?;
    let questions = questions.finish()?;
    let plan = Plan {
        version: VERSION,
        program: format!("fe-bench {}", env!("CARGO_PKG_VERSION")),
        arguments: own_words(&manifest::command()),
        data_sha256,
        questions,
    };
    let text = serde_json::to_string_pretty(&plan).map_err(|e| Error::content(&path, e))?;
    write_whole(&path, format!("{}\n", in_json(&text)).as_bytes())?;
    let file = arguments.out.display();
    writeln!(out, "{questions} rows to answer: {file}").map_err(Error::Output)
}
