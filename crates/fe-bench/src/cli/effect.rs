//! `fe-bench effect`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_core::Dataset;
use fe_truth::Scenario;

use super::arguments::{FeatureArguments, ScenarioArguments};
use super::estimation::{self, EstimationArguments, Subject};
use crate::data::{self, Roles};
use crate::draw;
use crate::error::{Error, Result};

/// Estimates effects of a scenario's function on drawn or given data.
///
/// The data are drawn (--n and --seed; replicate 0 of a study with that master seed) or read (--data).
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rows").required(true).args(["n", "data"]))]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// Number of rows to draw
    #[arg(long, value_name = "N", requires = "seed")]
    n: Option<usize>,
    /// Master seed
    #[arg(long, value_name = "S", requires = "n")]
    seed: Option<u64>,
    /// CSV file with a header and a column per feature; a last column y is ignored
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,
    /// Column of the data file with the weights of the rows
    #[arg(long, value_name = "COLUMN", requires = "data")]
    weights: Option<String>,
    /// Draw the effects beside their truths as well
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    estimation: EstimationArguments,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let scenario = arguments.scenario.scenario()?;
    let features = arguments.features.of(&scenario)?;
    let data = read_or_draw(arguments, &scenario)?;
    let data = arguments.estimation.with_kinds(data)?;
    let subject = Subject {
        scenario: Some(&scenario),
        data: &data,
        model: scenario.model(),
        features: &features,
        picture: arguments.plot.as_deref().map(|path| (path, &scenario)),
    };
    estimation::execute(&arguments.estimation, &subject, out)
}

fn read_or_draw(arguments: &Arguments, scenario: &Scenario) -> Result<Dataset> {
    match (&arguments.data, arguments.n, arguments.seed) {
        (Some(path), _, _) => {
            let dimension = Some(scenario.dimension());
            let weights = arguments.weights.as_deref();
            data::read(path, Roles { dimension, weights, target: None })
        }
        (None, Some(n), Some(seed)) => draw::features(scenario, seed, n, 0),
        _ => Err(Error::Argument("either --data, or --n and --seed are needed".to_owned())),
    }
}
