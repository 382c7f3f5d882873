//! Instruction counts, by valgrind's tool callgrind: they vary with the compiler and with the instruction
//! set, but not with what else a machine does.

use std::process::{Command, Stdio};

use pulp::Arch;

use crate::{Result, process};

/// The name of the function that is counted, with all that it calls.
const COUNTED: &str = "*counted_work*";

/// Calls some work in a function that callgrind knows by its name.
#[inline(never)]
pub fn counted_work<T>(work: impl FnOnce() -> T) -> T {
    std::hint::black_box(work())
}

/// The version of valgrind; none if it is not installed.
#[must_use]
pub fn version() -> Option<String> {
    process::answer(Command::new("valgrind").arg("--version")).ok()
}

/// The instructions that this program spends in [`counted_work`] when run with some arguments.
///
/// # Errors
/// A run that fails, or an answer of callgrind that has no count.
pub fn instructions(arguments: &[String]) -> Result<u64> {
    let program = process::again(arguments)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::null());
    let output = valgrind.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("callgrind of {arguments:?} failed: {}", said.trim()).into());
    }
    let count =
        said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n.trim());
    let count = count.ok_or("callgrind did not say what it counted")?.parse()?;
    if count == 0 { Err("callgrind did not meet what it was to count".into()) } else { Ok(count) }
}

/// The instruction set that the kernels choose where this program runs. Valgrind does not have all that
/// its host has.
#[must_use]
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    match Arch::new() {
        Arch::V4(_) => "x86-64-v4",
        Arch::V3(_) => "x86-64-v3",
        _ => "x86-64",
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::env::consts::ARCH
}
