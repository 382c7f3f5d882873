//! A bench that runs itself again, in a process of its own.

use std::process::{Command, ExitCode};

use crate::Result;

/// The bench itself, to be run with arguments that say what this process is to do.
///
/// # Errors
/// A program that does not know where it is.
pub fn again(arguments: &[String]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments);
    Ok(command)
}

/// The end of a bench: success if all that was asked for holds.
#[must_use]
pub fn finish(holds: Result<bool>) -> ExitCode {
    match holds {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The word behind a flag on the command line.
#[must_use]
pub fn after(flag: &str) -> Option<Vec<String>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    arguments.next().map(|_| arguments.collect())
}

/// The output of a command.
///
/// # Errors
/// A command that cannot be run or fails, with what it says.
pub fn answer(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?.trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} failed: {}", command.get_program().display(), said.trim()).into())
}

/// A line of `/proc/self/status`, in bytes.
///
/// # Errors
/// A system that has no such file.
pub fn memory(line: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes = found.and_then(|text| text.trim().strip_suffix("kB"));
    let kibibytes = kibibytes.ok_or_else(|| format!("the system does not tell {line}"))?;
    Ok(kibibytes.trim().parse::<u64>()? * 1024)
}
