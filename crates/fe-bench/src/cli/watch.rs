//! `fe-bench watch`.

use clap::Args;

use crate::error::Result;
use crate::system::guard;

/// Ends processes and removes folders of another process of this program once that is gone.
///
/// It is told on standard input which they are.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(super) struct Arguments {}

pub(super) fn execute(_: &Arguments) -> Result<()> {
    guard::watch(std::io::stdin().lock());
    Ok(())
}
