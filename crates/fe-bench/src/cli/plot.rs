//! `fe-bench plot`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::table::condition;
use crate::error::{Error, Result};
use crate::plot::sweep::{self, Sweep};
use crate::plot::{kept_trees, recorded};
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, empty_bins, results};
use crate::system::files;
use crate::system::say::say;

/// Draws figures of the results of studies, and prints the files it wrote.
///
/// What a study swept over decides what is drawn: its errors against the number of bins, or of rows,
/// where there are at least three of them. One file per study, scenario, feature and metric, with a
/// panel for each combination of parameters and sizes. Where a study keeps curves or bins, these are
/// drawn as well: those of one dataset beside the truth, with a panel for each estimate. Trees of regions that
/// were kept have a figure each.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only these kinds of figures; may be given several times [default: all]
    #[arg(long, value_enum, ignore_case = true)]
    kind: Vec<Drawn>,
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

/// The figures to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Drawn {
    /// Errors against the number of bins; automatic bins are a horizontal line (RHALE Figures 7, 8 and 10)
    #[value(name = "error-by-K")]
    ErrorByK,
    /// Errors against the number of rows, both axes logarithmic, with the fitted order of convergence
    #[value(name = "error-by-N")]
    ErrorByN,
    /// Curves and bins that were kept, beside the truth: of the first dataset, the others thin
    #[value(name = "effect")]
    Effect,
    /// Trees of regions that were kept, with the curves in their leaves beside the truth there: of the
    /// first dataset
    #[value(name = "tree")]
    Tree,
}

impl Drawn {
    fn sweep(self) -> Option<Sweep> {
        match self {
            Self::ErrorByK => Some(Sweep::ErrorByK),
            Self::ErrorByN => Some(Sweep::ErrorByN),
            Self::Effect | Self::Tree => None,
        }
    }
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let folder = arguments.out.clone().unwrap_or_else(|| beside(&arguments.folder, "-figures"));
    check_folder(&folder, &arguments.folder)?;
    let is_chosen = |key: &Key<&str>| chosen(key, &arguments.filter);
    let results = results::read_chosen(&arguments.folder, &is_chosen)?;
    let values: Vec<&SummaryRow> = results.values.iter().collect();
    if values.is_empty() {
        return Err(Error::content(&arguments.folder, "no value is left by --where"));
    }
    if let Some(caution) = empty_bins::caution(&results.empty_bins, |key| is_chosen(key)) {
        say!("{caution}");
    }
    let given = &arguments.kind;
    let kinds = if given.is_empty() { Drawn::value_variants() } else { given };
    let sweeps: Vec<Sweep> = kinds.iter().copied().filter_map(Drawn::sweep).collect();
    let mut figures = sweep::figures(&values, &sweeps);
    if kinds.contains(&Drawn::Effect) || kinds.contains(&Drawn::Tree) {
        let kept = recorded::read(&arguments.folder, &is_chosen)?;
        if kinds.contains(&Drawn::Tree) {
            figures.extend(kept_trees::figures(&kept));
        }
        if kinds.contains(&Drawn::Effect) {
            figures.extend(recorded::figures(kept));
        }
    }
    if figures.is_empty() {
        let message = "nothing to draw: no study has three values or more of K, or of N, or keeps \
                       curves, bins or trees";
        return Err(Error::content(&arguments.folder, message));
    }
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let ending = if arguments.png { "png" } else { "svg" };
    for named in &figures {
        let path = folder.join(format!("{}.{ending}", named.name));
        named.figure.write(&path)?;
        writeln!(out, "{}", path.display()).map_err(Error::Output)?;
    }
    Ok(())
}

/// Refuses a folder that figures cannot be put into.
fn check_folder(folder: &Path, results: &Path) -> Result<()> {
    let wrong = |message: &str| Err(Error::content(folder, message));
    match std::fs::metadata(folder) {
        Ok(there) if !there.is_dir() => return wrong("is no folder"),
        Err(_) if std::fs::symlink_metadata(folder).is_ok() => {
            return wrong("is a link that leads nowhere");
        }
        _ => {}
    }
    files::check_outside(folder, &[results])
}

/// Values of one key are alternatives; different keys must all agree. What is kept of an estimate has no
/// metric, and is chosen whichever that is.
fn chosen(key: &Key<&str>, filter: &[(String, String)]) -> bool {
    let is_asked = |column: &Column| *column != Column::Metric || !key.metric.is_empty();
    Column::ALL.into_iter().filter(is_asked).all(|column| {
        let mut allowed = filter.iter().filter(|(name, _)| name == column.name()).peekable();
        allowed.peek().is_none() || allowed.any(|(_, wanted)| *wanted == key[column])
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
