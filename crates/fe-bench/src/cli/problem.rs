//! `fe-bench problem`.

use std::io::Write;

use clap::Args;
use toml::{Table, Value};

use super::arguments::key_value;
use crate::error::{Error, Result};
use crate::study::population::population;

/// Prints a random problem: the file that a member of a population is.
///
/// What it is drawn from, its features and their laws, main effects, interactions, kinks, jumps and
/// dependence, is set as in a study's `population`, such as --set features=[3,4] or --set jumps=0.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Seed of the population
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Which of its problems, from 0
    #[arg(long, value_name = "I")]
    index: u64,
    /// A property of the population; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let mut table = Table::new();
    for (key, value) in &arguments.set {
        let wrong = |message: String| Error::Argument(format!("--set {key}={value}: {message}"));
        if key == "seed" {
            return Err(wrong("the seed is given by --seed".to_owned()));
        }
        let read: std::result::Result<Table, _> = toml::from_str(&format!("value = {value}"));
        // Words need no quotes here.
        let read = read.ok().and_then(|mut table| table.remove("value"));
        let read = read.unwrap_or_else(|| Value::String(value.clone()));
        if table.insert(key.clone(), read).is_some() {
            return Err(wrong("is given twice".to_owned()));
        }
    }
    let mut population =
        population(table).map_err(|message| Error::Argument(format!("--set: {message}")))?;
    population.seed = arguments.seed;
    let drawn = population.problem(arguments.index)?;
    out.write_all(drawn.text.as_bytes()).map_err(Error::Output)
}
