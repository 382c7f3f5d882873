//! The program `fe-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fe_bench::cli::main()
}
