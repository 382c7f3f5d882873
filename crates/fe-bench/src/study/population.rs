//! Blocks whose scenarios are drawn at random: what a population says in a study, and its problems.

use fe_truth::Population;
use serde::Deserialize;
use toml::{Table, Value};

use super::file::StudyFile;

/// The most problems of a population.
const MOST_PROBLEMS: i64 = 10_000;

/// Draws the problems of all populations, which become scenarios of their blocks.
///
/// # Errors
/// A population that there is not, or that stands beside scenarios; two problems of one name.
pub(super) fn draw(file: &mut StudyFile) -> Result<(), String> {
    for (i, block) in file.block.iter_mut().enumerate() {
        let Some(table) = &block.population else {
            if block.names_no_scenario() {
                return Err(format!(
                    "block {}: there is no `scenario`, and no `population`",
                    i + 1
                ));
            }
            continue;
        };
        let wrong = |message: String| format!("block {}: `population`: {message}", i + 1);
        if !block.names_no_scenario() {
            return Err(wrong("stands in place of `scenario`, not beside it".to_owned()));
        }
        let mut names = Vec::new();
        for (name, text) in problems(table).map_err(wrong)? {
            match file.problems.insert(name.clone(), text.clone()) {
                Some(other) if other != text => {
                    return Err(wrong(format!("`{name}` is another problem of this study")));
                }
                _ => names.push(Value::String(name)),
            }
        }
        block.scenario = Value::Array(names);
    }
    Ok(())
}

/// The names and texts of the problems that a population has.
fn problems(table: &Table) -> Result<Vec<(String, String)>, String> {
    let mut table = table.clone();
    let mut whole = |key: &str, default: Option<i64>, allowed: std::ops::RangeInclusive<i64>| {
        let given = match table.remove(key) {
            None => default.ok_or_else(|| format!("there is no `{key}`"))?,
            Some(value) => value.as_integer().unwrap_or(-1),
        };
        if allowed.contains(&given) {
            return Ok(given);
        }
        let (from, to) = allowed.into_inner();
        Err(format!("`{key}` must be a whole number from {from} to {to}"))
    };
    let count = whole("count", None, 1..=MOST_PROBLEMS)?;
    let first = whole("first", Some(0), 0..=i64::from(i32::MAX))?;
    let population = population(table)?;
    let problem = |index: i64| {
        let drawn = population.problem(index as u64).map_err(|error| error.to_string())?;
        Ok((format!("{}.toml", drawn.name), drawn.text))
    };
    (first..first + count).map(problem).collect()
}

/// A population from its keys; those not given have their defaults.
///
/// # Errors
/// A key that is not known, or a value that is not allowed.
pub fn population(table: Table) -> Result<Population, String> {
    let read = Population::deserialize(Value::Table(table));
    let population = read.map_err(|error| error.to_string().trim().replace('\n', " "))?;
    population.check().map_err(|error| error.to_string())?;
    Ok(population)
}
