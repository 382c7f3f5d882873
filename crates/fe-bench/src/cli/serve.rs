//! `fe-bench serve`.

use std::io::Write;

use clap::Args;

use crate::engines::serve;
use crate::error::Result;

/// Answers requests of the protocol for engines (docs/protocol.md) with the estimators of this program.
///
/// A request is a line of JSON on standard input, a reply one on standard output.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(super) struct Arguments {}

pub(super) fn execute(_: &Arguments, out: &mut dyn Write) -> Result<()> {
    serve::serve(std::io::stdin().lock(), out)
}
