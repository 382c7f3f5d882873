//! `fe-bench effect`.

mod estimated;
pub(super) mod estimation;
mod evaluated;
mod flags;
mod indices;
mod limits;
pub(super) mod model;
pub(super) mod options;
mod pairs;
mod refitted;
mod regional;
pub(super) mod subject;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use fe_core::Dataset;
use fe_core::settings::Jacobian;
use fe_truth::Scenario;

use crate::cli::arguments::{DataFeatures, key_value, rows};
use crate::cli::figures::{FormArguments, Picture};
use crate::data::levels::with_levels_of;
use crate::data::sample;
use crate::data::scenarios;
use crate::data::{self, Roles};
use crate::error::{Error, Result};
use model::ModelArguments;
use options::EstimationArguments;
use subject::Subject;

/// Estimates effects of a scenario's function, or of a model of data.
///
/// Of a scenario the data are drawn (--n and --seed; replicate 0 of a study with that master seed) or
/// read (--data). Without one, a model is fitted to the data or read (--model), and features go by the
/// names of their columns.
///
/// The data may be text with commas, semicolons or tabs (which is found), as it is or compressed by gzip, Parquet or
/// Arrow, and - is standard input. Where there is no scenario, bins are quantiles and curves are centred over the rows,
/// as in ALEPlot and alibi, unless options say otherwise; with one, bins are equal and curves centred by their integral.
///
/// Of a scenario, the truth and the difference from it stand beside each value. Several estimators are put side by side,
/// and --plot draws them in one panel with the truth, and the error of each below.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rows").required(true).args(["n", "data"]))]
pub(super) struct Arguments {
    /// Name of the scenario, as `fe-bench list scenarios` shows them, or a file FILE.toml
    // What `requires` a flag that cannot stand beside the scenario would be passed over without a word.
    #[arg(conflicts_with_all = model::flags())]
    scenario: Option<String>,
    /// A parameter of the scenario, or an option of the model; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    features: DataFeatures,
    /// Number of rows to draw
    #[arg(long, value_name = "N", conflicts_with_all = ["model", "weights"], value_parser = rows)]
    n: Option<usize>,
    /// Master seed [default: 0]
    #[arg(long, value_name = "S", requires = "n")]
    seed: Option<u64>,
    /// Data file with a header and a column per feature; without --model a last column y is ignored
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    data: Option<PathBuf>,
    /// Column of the data file with the weights of the rows
    #[arg(long, value_name = "COLUMN", requires = "data")]
    weights: Option<String>,
    /// Draw the effects as well, beside their truths where there are any
    #[arg(long, value_name = "FILE.svg|.png|.pdf|.eps")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    form: FormArguments,
    /// Only the estimates, without the truths of the scenario beside them: some take long
    #[arg(long)]
    no_truth: bool,
    #[command(flatten)]
    estimation: EstimationArguments,
    #[command(flatten)]
    model: ModelArguments,
}

impl Arguments {
    /// Refuses a picture that could not be written, and finds or fits what is to be explained.
    pub(super) fn explain(&self, then: &mut dyn FnMut(&Subject<'_>) -> Result<()>) -> Result<()> {
        let inputs = self.data.as_deref().into_iter().chain(self.model.file());
        let inputs: Vec<&Path> = inputs.collect();
        let picture = self.form.picture(self.plot.as_deref(), &inputs)?;
        let picture = picture.as_ref();
        match (&self.scenario, &self.model.model, &self.data) {
            (Some(name), _, _) => {
                of_scenario(self, &scenarios::find(name, &self.set)?, picture, then)
            }
            (None, Some(model), Some(path)) => of_model(self, (model, path), picture, then),
            _ => Err(Error::Argument("SCENARIO, or --data with --model, is needed".to_owned())),
        }
    }

    /// Options of the estimates.
    pub(super) fn estimation(&self) -> &EstimationArguments {
        &self.estimation
    }
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    arguments.explain(&mut |subject| estimation::execute(&arguments.estimation, subject, out))
}

fn of_scenario(
    arguments: &Arguments,
    scenario: &Scenario,
    picture: Option<&Picture>,
    then: &mut dyn FnMut(&Subject<'_>) -> Result<()>,
) -> Result<()> {
    if arguments.estimation.refits()?.is_some() {
        return Err(Error::Argument(format!(
            "--band refit: the function of {} is no model that could be fitted again; studies fit models to its \
             datasets, [[block.model]]",
            scenario.id()
        )));
    }
    let chosen = arguments.features.chosen(scenario)?;
    let data = read_or_draw(arguments, scenario)?;
    let data = arguments.estimation.columns()?.applied(with_levels_of(scenario, data)?)?;
    then(&Subject {
        scenario: Some(scenario),
        fitted: None,
        data: &data,
        model: scenario.model(),
        features: &chosen.features,
        pairs: &chosen.pairs,
        is_all: chosen.is_all,
        with_truths: !arguments.no_truth,
        picture,
    })
}

fn of_model(
    arguments: &Arguments,
    (model, path): (&str, &Path),
    picture: Option<&Picture>,
    then: &mut dyn FnMut(&Subject<'_>) -> Result<()>,
) -> Result<()> {
    let weights = arguments.weights.as_deref();
    let columns = arguments.estimation.columns()?;
    let observations = arguments.model.observations(path, weights, columns)?;
    // A name that is wrong is said before a model is fitted.
    arguments.features.chosen_of_names(observations.names())?;
    let refits = arguments.estimation.refits()?;
    let fitted = arguments.model.fit(model, path, observations, &arguments.set, refits)?;
    if arguments.estimation.has_background_file() && arguments.model.standardize {
        return Err(Error::Argument(
            "--background-rows and --standardize: the rows of the file would not be scaled"
                .to_owned(),
        ));
    }
    let chosen = arguments.features.chosen_of_names(fitted.data.names())?;
    let numeric = arguments.estimation.jacobian() == Some(Jacobian::Numeric);
    // Along levels there are no derivatives, whatever the model has: the estimator says so.
    let has_levels = !chosen.features.is_empty()
        && chosen.features.iter().all(|&feature| fitted.data.has_levels(feature));
    for estimator in arguments.estimation.estimators() {
        fitted.check_derivatives(estimator, numeric || has_levels)?;
    }
    then(&Subject {
        scenario: None,
        fitted: Some(&fitted),
        data: &fitted.data,
        model: &*fitted.model,
        features: &chosen.features,
        pairs: &chosen.pairs,
        is_all: chosen.is_all,
        with_truths: !arguments.no_truth,
        picture,
    })
}

fn read_or_draw(arguments: &Arguments, scenario: &Scenario) -> Result<Dataset> {
    match (&arguments.data, arguments.n, arguments.seed) {
        (Some(path), _, _) => {
            let dimension = Some(scenario.dimension());
            let weights = arguments.weights.as_deref();
            data::read(path, Roles { dimension, weights, ..Roles::default() })
        }
        (None, Some(n), seed) => sample::features(scenario, seed.unwrap_or(0), n, 0),
        _ => Err(Error::Argument("either --data or --n is needed".to_owned())),
    }
}
