//! `fe-bench sample`.

use std::io::Write;

use clap::Args;

use super::arguments::{ScenarioArguments, rows};
use crate::data::sample;
use crate::error::Result;
use crate::output::{Entry, Format, write_rows};

/// Draws a dataset: features and target. It is replicate 0 of a study with the same master seed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// Number of rows
    #[arg(long, value_name = "N", value_parser = rows)]
    n: usize,
    /// Master seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Signal-to-noise ratio sd f(X) / sd ε of the target; 0 for no noise
    #[arg(long, value_name = "R", default_value_t = 0.0, allow_hyphen_values = true)]
    snr: f64,
    /// How it is printed
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let scenario = arguments.scenario.scenario()?;
    let data = sample::features(&scenario, arguments.seed, arguments.n, 0)?;
    let y = sample::target(&scenario, &data, arguments.seed, arguments.snr, 0)?;
    let mut names: Vec<String> =
        (0..data.dimension()).map(|feature| scenario.feature_name(feature)).collect();
    names.push("y".to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let row = |(row, &y): (usize, &f64)| {
        let features = data.row(row).into_iter().copied().chain([y]);
        Ok(features.map(Entry::from).collect())
    };
    let rows = (y.len(), y.iter().enumerate().map(row));
    write_rows(&names, rows, arguments.format, out)
}
