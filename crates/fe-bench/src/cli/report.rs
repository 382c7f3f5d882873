//! `fe-bench report`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::plot::beside;
use crate::error::{Error, Result};
use crate::plot::{recorded, write_whole};
use crate::record::results;
use crate::report;
use crate::system::files;

/// Writes a page about the results of studies, and prints its name.
///
/// It is one HTML file that needs no network: tables that sort and filter, figures, failures, where the
/// results come from, and how to get them again.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The page, which is replaced if it exists [default: DIR.html]
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let path = arguments.out.clone().unwrap_or_else(|| beside(&arguments.folder, ".html"));
    files::check_output(&path, &[&arguments.folder])?;
    let is_page = |ending: &std::ffi::OsStr| ending == "html" || ending == "htm";
    if !path.extension().is_some_and(is_page) {
        let message = format!("the page is HTML: `{}` must end in .html", path.display());
        return Err(Error::Argument(message));
    }
    let results = results::read(&arguments.folder)?;
    let kept = recorded::read(&arguments.folder, &|_| true)?;
    let page = report::page(&results, kept)
        .map_err(|message| Error::content(&arguments.folder, message))?;
    write_whole(&path, page.as_bytes())?;
    writeln!(out, "{}", path.display()).map_err(Error::Output)
}
