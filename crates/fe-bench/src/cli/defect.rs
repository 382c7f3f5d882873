//! The message of a panic: a defect of the program, whoever catches it.

use std::collections::BTreeSet;
use std::panic::PanicHookInfo;
use std::sync::{Mutex, PoisonError};

use crate::system::say::{echo, error};

/// Places where it was panicked already: a defect that a thousand cells run into is told once.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says on standard error what happened and what to do about it.
pub(super) fn report(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let text = panic.payload().downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
    if let Some(words) = words(place, text.unwrap_or_default()) {
        error(&words.to_string());
    }
}

/// The words on a panic at a place; nothing the second time.
fn words(place: String, text: &str) -> Option<String> {
    let words = format!(
        "fe-bench: a defect of the program, at {place}: {}; please report this line, with the command and \
         the files that led to it: fe-bench {}, commit {}",
        echo(text),
        env!("CARGO_PKG_VERSION"),
        env!("FE_BENCH_COMMIT")
    );
    TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(place).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_told_once_and_says_where_it_is() {
        let words = |place: &str| words(place.to_owned(), "index out of bounds\u{1b}[2J");
        let told = words("src/one.rs:3:1").unwrap();
        assert!(told.contains("at src/one.rs:3:1: index out of bounds\\u{1b}[2J; please report"));
        assert_eq!(words("src/one.rs:3:1"), None);
        assert!(words("src/two.rs:3:1").is_some());
    }
}
