//! The machine that the program runs on: files, processes, the terminal, the clock.
//!
//! It imports errors and nothing else. Begin with [`files`]; `guard` ends what must not outlive the process.

pub(crate) mod clock;
pub mod files;
pub(crate) mod guard;
pub mod program;
pub mod say;
pub mod screen;
pub mod spelling;
