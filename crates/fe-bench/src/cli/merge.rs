//! `fe-bench merge`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::Result;
use crate::record::merge;
use crate::record::store::Counts;
use crate::system::files;
use crate::system::say::say;

/// Puts the results of all shards of a run together, and prints the tables.
///
/// The files are those that one run without shards writes, to the byte, but for the recorded times.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folders of all shards, in any order
    #[arg(required = true, value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// Results folder; must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    super::arguments::can_be_recorded()?;
    let folder = files::without_slash(&arguments.out);
    let inputs: Vec<&Path> = arguments.shards.iter().map(PathBuf::as_path).collect();
    files::check_outside(&folder, &inputs)?;
    let (_, counts) = merge::merge(&arguments.shards, &folder)?;
    let Counts { values, failed, .. } = &counts;
    say!("{values} values ({failed} failed): {}", folder.display());
    super::run::print_tables(&folder, Some(&counts), false, out)?;
    super::run::check_any(&counts)
}
