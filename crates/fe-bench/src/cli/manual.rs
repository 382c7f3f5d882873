//! `fe-bench manual`: completions of shells, and pages for `man`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::{Error, Result};

/// Writes completions for shells and pages for `man` into a folder.
///
/// `fe-bench manual ~/.local/share`: completions of bash, zsh and fish go where these look for them below it, pages to
/// man/man1. What is there of an earlier version is replaced.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder, which is made if need be
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The shells, and where below a folder for data each looks for completions.
const SHELLS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "fe-bench"),
    (Shell::Zsh, "zsh/site-functions", "_fe-bench"),
    (Shell::Fish, "fish/vendor_completions.d", "fe-bench.fish"),
];

pub(super) fn execute(arguments: &Arguments, program: Command, out: &mut dyn Write) -> Result<()> {
    let mut written = Vec::new();
    for (shell, below, name) in SHELLS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut program.clone(), "fe-bench", &mut text);
        written.push(write(&arguments.folder.join(below), name, &text)?);
    }
    let pages = arguments.folder.join("man/man1");
    for (name, command) in commands(program) {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).map_err(Error::Output)?;
        written.push(write(&pages, &format!("{name}.1"), &text)?);
    }
    written.iter().try_for_each(|path| writeln!(out, "{}", path.display())).map_err(Error::Output)
}

/// The program and its commands, each under the name of its page.
fn commands(program: Command) -> Vec<(String, Command)> {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let named = |command: &Command| {
        let name = format!("fe-bench-{}", command.get_name());
        (
            name.clone(),
            command
                .clone()
                .display_name(name.clone())
                .bin_name(name.replacen("bench-", "bench ", 1)),
        )
    };
    let mut all: Vec<_> = shown.map(named).collect();
    all.insert(0, ("fe-bench".to_owned(), program));
    all
}

fn write(folder: &Path, name: &str, text: &[u8]) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(Error::file(&path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn all_shells_are_named_as_they_name_themselves() {
        for (shell, below, _) in SHELLS {
            let name = shell.to_possible_value().unwrap();
            assert!(below.starts_with(name.get_name()), "{below}");
        }
    }
}
