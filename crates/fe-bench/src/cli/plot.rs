//! `fe-bench plot`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::table::condition;
use crate::error::{Error, Result};
use crate::plot::sweep::{self, Kind};
use crate::record::{KEYS, Row, store};

/// Draws figures of the results of studies, and prints the files it wrote.
///
/// What a study swept over decides what is drawn: its errors against the number of bins, or of rows,
/// where there are at least three of them. One file per study, scenario, feature and metric, with a
/// panel for each combination of parameters and sizes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only these kinds of figures; may be given several times [default: all]
    #[arg(long, value_enum, ignore_case = true)]
    kind: Vec<Kind>,
    /// Only values with this key; may be given several times
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = condition)]
    filter: Vec<(String, String)>,
    /// Folder for the figures; made if need be, and figures in it are replaced [default: DIR-figures]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// PNG images instead of SVG
    #[arg(long)]
    png: bool,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let (_, rows) = store::read(&arguments.folder)?;
    let rows: Vec<&Row> = rows.iter().filter(|row| chosen(row, &arguments.filter)).collect();
    let kinds = if arguments.kind.is_empty() { &Kind::ALL[..] } else { &arguments.kind };
    let figures = sweep::figures(&rows, kinds);
    if figures.is_empty() {
        let message = if rows.is_empty() {
            "no value is left by --where"
        } else {
            "nothing to draw: no study has three values or more of K, or of N"
        };
        return Err(Error::content(&arguments.folder, message));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| beside(&arguments.folder, "-figures"));
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let ending = if arguments.png { "png" } else { "svg" };
    for named in &figures {
        let path = folder.join(format!("{}.{ending}", named.name));
        named.figure.write(&path)?;
        writeln!(out, "{}", path.display()).map_err(Error::Output)?;
    }
    Ok(())
}

/// Values of one key are alternatives; different keys must all agree.
fn chosen(row: &Row, filter: &[(String, String)]) -> bool {
    KEYS.iter().zip(&row.key).all(|(key, value)| {
        let mut allowed = filter.iter().filter(|(name, _)| name == key).peekable();
        allowed.peek().is_none() || allowed.any(|(_, wanted)| wanted == value)
    })
}

/// A path next to a folder: results themselves are never changed.
pub(super) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let absolute = folder.canonicalize();
    let name = absolute.as_deref().unwrap_or(folder).file_name().unwrap_or_default();
    let mut name = name.to_os_string();
    name.push(ending);
    match folder.file_name() {
        Some(_) => folder.with_file_name(name),
        // Such as `.` and `..`.
        None => folder.join("..").join(name),
    }
}
