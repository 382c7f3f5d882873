//! A named option, whatever it is of: an estimator, a model to fit, a scenario.
//!
//! Imports nothing of the crate.

/// A named option: its words for lists, help and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its key in files and flags.
    pub name: &'static str,
    /// The value it has unless given, as it is written.
    pub default: &'static str,
    /// The values it may have, in words.
    pub allowed: &'static str,
    /// Its meaning, in a line.
    pub about: &'static str,
}
