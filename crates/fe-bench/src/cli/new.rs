//! `fe-bench new`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::data::scenarios;
use crate::error::{Error, Result};
use crate::system::say::say;

/// The text of a new file: a scenario that runs, with all that may stand in one told in comments.
const TEMPLATE: &str = include_str!("../templates/problem.toml");

/// Writes a file with a scenario of your own to start from.
///
/// The file is named wherever a scenario is: `fe-bench truth FILE.toml --effect ale`. A file that
/// exists is not touched.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file; its name is that of the scenario
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
}

pub(super) fn execute(arguments: &Arguments) -> Result<()> {
    let path = &arguments.file;
    let shown = path.display();
    if !scenarios::is_file(&path.to_string_lossy()) {
        return Err(Error::Argument(format!("{shown}: the name of the file must end in .toml")));
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(Error::file(path))?;
    file.write_all(TEMPLATE.as_bytes()).map_err(Error::file(path))?;
    say!("{shown} is a scenario that runs; next: fe-bench check {shown}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_a_scenario() {
        let scenario = scenarios::of_text("mine.toml", TEMPLATE, &[]).unwrap();
        assert_eq!(scenario.dimension(), 4);
        assert_eq!(scenario.feature_name(2), "temp");
    }
}
