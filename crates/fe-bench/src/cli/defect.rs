//! What a panic says: it is a defect of the program, whoever catches it.

use std::collections::BTreeSet;
use std::panic::PanicHookInfo;
use std::sync::{Mutex, PoisonError};

use crate::say::{echo, say};

/// Where it was panicked already: a defect that a thousand cells run into is told once.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says on standard error what happened and what to do about it.
pub(super) fn report(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    if !TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone()) {
        return;
    }
    let text = panic.payload_as_str().unwrap_or_default();
    say!(
        "fe-bench: a defect of the program, at {place}: {}; please report this line, with the command and \
         the files that led to it: fe-bench {}, commit {}",
        echo(text),
        env!("CARGO_PKG_VERSION"),
        env!("FE_BENCH_COMMIT")
    );
}
