//! Scenarios by name: built-in ones, and those in files, whose names end in `.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use fe_truth::Scenario;
use rayon::prelude::*;

use crate::error::{Error, Result};

/// Texts of problem files, by their paths as they were written.
pub type Problems = BTreeMap<String, String>;

/// True if a name is that of a file.
#[must_use]
pub fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

/// The built-in scenario of a name, or that of a file, with parameters set by key and value.
///
/// # Errors
/// A name or parameter that is not known, a file that cannot be read or says something wrong: then
/// with its line and column.
pub fn find(name: &str, set: &[(String, String)]) -> Result<Scenario> {
    if !is_file(name) {
        return Ok(fe_truth::scenario(name, set)?);
    }
    let text = read(Path::new(name))?;
    of_text(name, &text, set).map_err(Error::Argument)
}

/// The text of a problem file.
///
/// # Errors
/// A file that cannot be read or is no text.
pub fn read(path: &Path) -> Result<String> {
    crate::system::files::text(path)
}

/// The scenario of a path and the text of the file there.
///
/// # Errors
/// What is wrong, with its line and column.
pub fn of_text(path: &str, text: &str, set: &[(String, String)]) -> Result<Scenario, String> {
    fe_truth::problem(&stem(path), text, set).map_err(|error| match error {
        fe_truth::Error::BadProblem { line, column, message, .. } => {
            format!("{path}:{line}:{column}: {message}")
        }
        fe_truth::Error::BadProblemName { .. } => format!("{path}: {error}"),
        error => error.to_string(),
    })
}

/// The name of the scenario in a file.
fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The names and versions of the scenarios that came from files, with the texts of these.
#[must_use]
pub fn recorded<'a>(problems: impl Iterator<Item = &'a Problems>) -> BTreeMap<String, String> {
    let texts: Vec<(&String, &String)> = problems.flatten().collect();
    let with_id = texts.par_iter().filter_map(|(path, text)| {
        let scenario = of_text(path, text, &[]).ok()?;
        Some((scenario.id(), (*text).clone()))
    });
    with_id.collect()
}

/// The scenario of a record: by its name and version, its parameters as they stand there, and the texts of those that came
/// from files.
#[must_use]
pub fn of_record(
    id: &str,
    parameters: &str,
    problems: &BTreeMap<String, String>,
) -> Option<Scenario> {
    let pair = |text: &str| text.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    let set: Vec<_> = parameters.split(';').filter_map(pair).collect();
    match problems.get(id) {
        Some(text) => fe_truth::problem(id.split('@').next().unwrap_or_default(), text, &set).ok(),
        None => fe_truth::scenario(id, &set).ok(),
    }
}
