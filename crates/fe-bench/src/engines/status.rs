//! Failures of requests to engines, by kind.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::system::say;

/// Reason why there is no answer that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The engine is not installed, or does not do what is asked for.
    Unsupported,
    /// The engine says that it failed.
    Error,
    /// Its process ended without an answer.
    Crash,
    /// It did not answer in time; its process group was ended.
    Timeout,
    /// It speaks another version of the protocol.
    WrongVersion,
    /// Its answer is not one.
    Malformed,
    /// Its model is not the one that it was given.
    WrongProbe,
    /// Its arrays are not as long as each other, or as they must be.
    Short,
    /// Its curve holds a value that is not a finite number.
    NonFinite,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsupported => "unsupported",
            Self::Error => "error",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::WrongVersion => "wrong-version",
            Self::Malformed => "malformed",
            Self::WrongProbe => "wrong-probe",
            Self::Short => "short",
            Self::NonFinite => "non-finite",
        })
    }
}

/// A request without an answer that counts: a record like others.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{status}: {reason}")]
pub struct Failure {
    /// The kind of failure.
    pub status: Status,
    /// The event, in words.
    pub reason: String,
}

impl Failure {
    /// Of a kind, with a reason: what an engine said is kept as one line, not too long and without
    /// control characters.
    pub fn new(status: Status, reason: impl AsRef<str>) -> Self {
        Self { status, reason: say::echo(reason.as_ref()) }
    }

    /// True if the engine itself said so, and can be asked again.
    pub(super) fn is_said(&self) -> bool {
        matches!(self.status, Status::Unsupported | Status::Error)
    }
}
