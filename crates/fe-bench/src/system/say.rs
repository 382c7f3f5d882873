//! Words for standard error, and words of others made fit for a terminal.
//!
//! `eprintln!` panics where standard error cannot be written, and passes on whatever it is given.

use std::borrow::Cow;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most characters of somebody else's text that a message repeats.
const LONGEST_ECHO: usize = 240;

/// Writes a line to standard error, formatted as by `format!`.
macro_rules! say {
    ($($words:tt)*) => { $crate::system::say::line(&format!($($words)*)) };
}
pub(crate) use say;

/// True if only errors are said.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Says only errors from now on, or all again.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Writes a line to standard error, unless only errors are said.
pub fn line(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        error(text);
    }
}

/// Writes a line to standard error. Where that is closed or full there is nobody to tell.
pub fn error(text: &str) {
    let text = format!("{}\n", visible(text));
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A text without what moves a terminal's cursor, colours it or turns the direction of writing: such
/// characters are written as `\u{1b}`. Line feeds and tabs stay.
///
/// ```
/// assert_eq!(fe_bench::system::say::visible("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
/// ```
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let stays = |c: char| !is_unseen(c) || c == '\n' || c == '\t';
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if stays(c) { c.to_string() } else { c.escape_default().to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Words of somebody else, as one line that is not too long.
///
/// ```
/// assert_eq!(fe_bench::system::say::echo("two\nlines"), "two\\nlines");
/// ```
#[must_use]
pub fn echo(text: &str) -> String {
    let mut shown = String::new();
    for (length, c) in text.trim().chars().enumerate() {
        if length == LONGEST_ECHO {
            let all = text.trim().chars().count();
            return format!("{shown} … ({all} characters)");
        }
        if is_unseen(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Control characters, line separators, and those that turn the direction of writing.
fn is_unseen(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unseen_is_left_of_any_character() {
        let all: String = ('\0'..=char::MAX).filter(|c| !c.is_alphanumeric()).collect();
        assert!(!visible(&all).chars().any(|c| is_unseen(c) && c != '\n' && c != '\t'));
        assert!(!all.chars().any(|c| echo(&c.to_string()).contains(is_unseen)));
        assert_eq!(visible("plain\ttext, ä\n"), "plain\ttext, ä\n");
    }

    #[test]
    fn a_long_echo_says_how_long_it_was() {
        assert_eq!(echo(&"ä".repeat(LONGEST_ECHO)), "ä".repeat(LONGEST_ECHO));
        let long = echo(&"ä".repeat(1000));
        assert!(long.ends_with("ä … (1000 characters)") && long.chars().count() < 280, "{long}");
    }
}
