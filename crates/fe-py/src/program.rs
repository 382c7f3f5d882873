//! The program `fe-bench`, hosted by Python.

use std::ffi::OsString;

use fe_bench::cli;
use fe_bench::system::program::Hosted;
use pyo3::prelude::*;

/// Runs the program on arguments, its own name first, and returns its exit status. The words of `starter` start it
/// in a process of its own. It takes over signals, so that the process is to end with it.
#[pyfunction]
pub(crate) fn program(py: Python<'_>, arguments: Vec<OsString>, starter: Vec<OsString>) -> u8 {
    py.detach(|| cli::main_hosted(Hosted { arguments, starter }))
}
