//! Folders of problem files.

use std::path::{Path, PathBuf};

use fe_truth::Scenario;

use super::scenarios;
use crate::error::{Error, Result};

/// The folder of the shipped problems, from the root of the repository.
pub const FOLDER: &str = "scenarios/problems";

/// A problem file and its scenario.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Its place.
    pub path: PathBuf,
    /// Its scenario.
    pub scenario: Scenario,
}

/// All problem files of a folder, in the order of their names.
///
/// # Errors
/// A folder that cannot be read or has no problem file; a file that says something wrong.
pub fn read(folder: &Path) -> Result<Vec<Problem>> {
    let entries = std::fs::read_dir(folder).map_err(Error::file(folder))?;
    let paths: std::io::Result<Vec<PathBuf>> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(Error::file(folder))?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    if paths.is_empty() {
        return Err(Error::content(folder, "has no problem file *.toml"));
    }
    let problem = |path: PathBuf| {
        let scenario = scenarios::find(&path.to_string_lossy(), &[])?;
        Ok(Problem { path, scenario })
    };
    paths.into_iter().map(problem).collect()
}
