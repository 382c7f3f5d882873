//! Errors of the program: one message each, which names what was given and what is allowed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

pub use fe_core::error::suggestion;
use thiserror::Error;

/// Reason why a command could not be carried out. All but [`Error::Failed`] end the program with status 2.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The answer of the system.
        source: std::io::Error,
    },
    /// A file that says something wrong.
    #[error("{}: {message}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The mistake, and what is allowed.
        message: String,
    },
    /// A flag or argument that cannot be used.
    #[error("{0}")]
    Argument(String),
    /// A scenario that does not exist, or a truth that it does not have.
    #[error(transparent)]
    Truth(#[from] fe_truth::Error),
    /// An effect that cannot be estimated.
    #[error("{}", with_option(.0))]
    Core(#[from] fe_core::Error),
    /// A model that cannot be fitted.
    #[error(transparent)]
    Fit(#[from] fe_models::FitError),
    /// A check that failed, on which everything was printed; ends the program with status 1.
    #[error("{0}")]
    Failed(String),
    /// A figure that cannot be drawn.
    #[error("figure: {0}")]
    Drawing(String),
    /// Standard output could not be written.
    #[error("standard output: {0}")]
    Output(std::io::Error),
}

impl Error {
    /// A problem with a file or folder.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    /// Something wrong inside a file.
    pub fn content(path: impl Into<PathBuf>, message: impl ToString) -> Self {
        Self::Content { path: path.into(), message: message.to_string() }
    }
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The most words that a list in a message has.
const MOST_LISTED: usize = 200;

/// A list of words for a message.
#[must_use]
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut words = words.into_iter();
    let mut text = words.by_ref().take(MOST_LISTED).collect::<Vec<_>>().join(", ");
    match words.count() {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}

/// A message in which the types of a programming language have words for people.
///
/// ```
/// let message = "invalid type: string \"a\", expected usize";
/// assert!(fe_bench::error::plain_types(message).ends_with("expected a whole number, at least 0"));
/// let message = "invalid type: integer `9` as i128, expected any valid TOML value";
/// assert_eq!(fe_bench::error::plain_types(message), "invalid type: integer `9`, which is too large");
/// assert!(!fe_bench::error::plain_types("u64 value was too large").contains("u64"));
/// ```
#[must_use]
pub fn plain_types(message: &str) -> String {
    const WHOLE: &str = "expected a whole number";
    const COUNT: &str = "expected a whole number, at least 0";
    const WORDS: [(&str, &str); 22] = [
        ("invalid type: unit variant, expected string only", "must be a text"),
        ("expected a sequence", "expected a list"),
        ("expected usize", COUNT),
        ("expected u64", COUNT),
        ("expected u32", COUNT),
        ("expected u16", COUNT),
        ("expected u8", COUNT),
        ("expected a nonzero u", COUNT),
        ("expected i64", WHOLE),
        ("expected i32", WHOLE),
        ("expected i16", WHOLE),
        ("expected i8", WHOLE),
        ("expected f64", "expected a number"),
        ("expected f32", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("unknown variant `", "unknown word `"),
        ("invalid digit found in string", "must be a whole number, at least 0"),
        ("number too large to fit in target type", "must be a smaller whole number"),
        ("cannot parse integer from empty string", "must be a whole number"),
        ("u64 value was too large", "must be a smaller whole number"),
        (" as i128, expected any valid TOML value", ", which is too large"),
        (" as u128, expected any valid TOML value", ", which is too large"),
    ];
    let message =
        WORDS.iter().fold(message.to_owned(), |message, (from, to)| message.replace(from, to));
    // A type by its name in the source is a table of the file.
    match message.split_once("expected struct ") {
        None => message,
        Some((before, name)) => {
            let rest = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            format!("{before}expected a table{rest}")
        }
    }
}

/// The most characters of a line of a message, and the most lines.
const LONGEST_LINE: usize = 2000;
const MOST_LINES: usize = 60;

/// The message of an error, with the option of the program by which its advice is followed.
fn with_option(error: &fe_core::Error) -> String {
    match error {
        fe_core::Error::Incomplete { .. } => format!("{error}, by --missing drop"),
        other => other.to_string(),
    }
}

/// A message that fits on a screen, whatever it repeats of its input.
///
/// ```
/// assert_eq!(fe_bench::error::cut("short\nenough"), "short\nenough");
/// assert!(fe_bench::error::cut(&"x".repeat(1_000_000)).chars().count() < 2010);
/// ```
#[must_use]
pub fn cut(message: &str) -> String {
    let line = |line: &str| match line.char_indices().nth(LONGEST_LINE) {
        None => line.to_owned(),
        Some((end, _)) => format!("{} …", &line[..end]),
    };
    let mut lines: Vec<String> = message.split('\n').take(MOST_LINES).map(line).collect();
    if message.split('\n').nth(MOST_LINES).is_some() {
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

/// The result of some work; a panic is a reason like others.
pub fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("a defect of the program: {}", text.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason() {
        let reason = caught::<()>(|| panic!("place {}", 3)).unwrap_err();
        assert_eq!(reason, "a defect of the program: place 3");
    }
}
