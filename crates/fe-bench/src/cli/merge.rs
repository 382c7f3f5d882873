//! `fe-bench merge`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::error::Result;
use crate::record::merge;
use crate::record::store::Counts;
use crate::say::say;

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
    let (_, counts) = merge::merge(&arguments.shards, &arguments.out)?;
    let Counts { values, failed } = counts;
    say!("{values} values ({failed} failed): {}", arguments.out.display());
    super::run::print_tables(&arguments.out, Some(counts), false, out)
}
