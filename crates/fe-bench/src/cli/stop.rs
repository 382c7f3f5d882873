//! Signals: nothing is left behind, and whoever sent one learns how to go on.

use std::sync::{Mutex, PoisonError};

/// The words for when the program is stopped.
static ADVICE: Mutex<Option<String>> = Mutex::new(None);

/// Sets what is said when the program is stopped from now on; none if nothing is.
pub(super) fn advise(advice: Option<String>) {
    *ADVICE.lock().unwrap_or_else(PoisonError::into_inner) = advice;
}

/// From now on SIGINT, SIGTERM and SIGHUP end what this process has started, and the process.
#[cfg(unix)]
pub(super) fn heed_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let ignored = ignored();
    let heeded = [SIGINT, SIGTERM, SIGHUP];
    let heeded = heeded.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    // Where it does not work, signals end the process as they always did.
    let Ok(mut signals) = Signals::new(heeded) else { return };
    let _ = std::thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            stop(signal);
        }
    });
}

#[cfg(not(unix))]
pub(super) fn heed_signals() {}

#[cfg(unix)]
fn stop(signal: i32) -> ! {
    use crate::system::say::error;
    use std::io::IsTerminal;
    crate::system::guard::end_all();
    let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
    let advice = ADVICE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
    // Below what the terminal shows of Ctrl-C.
    let below = if std::io::stderr().is_terminal() { "\n" } else { "" };
    error(&format!("{below}fe-bench: ended by {name}{advice}"));
    std::process::exit(128 + signal)
}

/// The signals that whoever started this process wants to be ignored, as nohup does: bit N - 1 for
/// signal N (proc(5)).
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
