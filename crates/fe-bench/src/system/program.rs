//! The running program: its arguments, and the command that starts it anew.
//!
//! Both are those of the process, unless another process hosts the program, as Python does.

use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

/// The program as another process hosts it.
#[derive(Debug, Clone)]
pub struct Hosted {
    /// The arguments, the name of the program first.
    pub arguments: Vec<OsString>,
    /// The words that start the program in a process of its own; its arguments follow them.
    pub starter: Vec<OsString>,
}

static HOSTED: OnceLock<Hosted> = OnceLock::new();

/// Takes arguments and starter from the host, the first time.
pub(crate) fn host(hosted: Hosted) {
    let _ = HOSTED.set(hosted);
}

/// The arguments of the program, its name first.
pub(crate) fn arguments() -> Vec<OsString> {
    HOSTED.get().map_or_else(|| std::env::args_os().collect(), |hosted| hosted.arguments.clone())
}

/// The program in a process of its own, to which arguments are to be added.
pub(crate) fn anew() -> Command {
    let own = || vec![std::env::current_exe().unwrap_or("fe-bench".into()).into_os_string()];
    let words = HOSTED.get().map_or_else(own, |hosted| hosted.starter.clone());
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}
