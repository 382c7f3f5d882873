//! Words in files of comma-separated values, which spreadsheets must not take for formulas.

use std::borrow::Cow;

/// The character before a word that a spreadsheet would compute.
const MARK: char = '\'';

/// True if a spreadsheet computes what begins like this.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

/// A word as it is written: behind an apostrophe where it would be taken for a formula; numbers are as
/// they are.
///
/// ```
/// use fe_bench::output::formulas::{guarded, unguarded};
/// assert_eq!([guarded("=a+b"), guarded("-0.5"), guarded("ale")], ["'=a+b", "-0.5", "ale"]);
/// assert_eq!(unguarded(guarded("'=a").as_ref()), "'=a");
/// ```
#[must_use]
pub fn guarded(text: &str) -> Cow<'_, str> {
    if is_formula(text.trim_start_matches(MARK)) {
        Cow::Owned(format!("{MARK}{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A word as it was before it was [`guarded`].
#[must_use]
pub fn unguarded(text: &str) -> &str {
    match text.strip_prefix(MARK) {
        Some(rest) if is_formula(rest.trim_start_matches(MARK)) => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_guarded_is_read_back() {
        let words =
            ["", "a", "-", "=1+1", "@SUM(A1)", "+x", "-1e5", "-inf", "\t=a", "'", "it's", "'a"];
        let marked = ["'=a", "''-b", "'-1", "'''@"];
        for word in words.into_iter().chain(marked) {
            let written = guarded(word);
            assert_eq!(unguarded(&written), word);
            let computed = written.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!computed || written.parse::<f64>().is_ok(), "{written}");
        }
    }
}
