//! Clocks. Times vary with what else a machine does: compare within one run, and take the least of
//! several.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// Seconds that a piece of work takes by the clock on the wall, with what it gives.
///
/// # Errors
/// Those of the work.
pub fn wall<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let answer = work()?;
    Ok((start.elapsed().as_secs_f64(), answer))
}

/// Seconds of a processor that a piece of work takes on the calling thread, with what it gives.
///
/// # Errors
/// Those of the work.
pub fn processor<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = seconds_of_thread();
    let answer = work()?;
    Ok((seconds_of_thread() - start, answer))
}

fn seconds_of_thread() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The slope of the line of least squares through the logarithms of places and times: the exponent with
/// which times grow.
#[must_use]
pub fn exponent(places: &[f64], times: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64;
    let (x, y) = (mean(places), mean(times));
    let deviations = || places.iter().zip(times).map(|(a, b)| (a.ln() - x, b.ln() - y));
    let products: f64 = deviations().map(|(dx, dy)| dx * dy).sum();
    products / deviations().map(|(dx, _)| dx * dx).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::exponent;

    #[test]
    fn exponents_of_powers_are_exact() {
        let places = [1.0, 2.0, 4.0, 8.0];
        assert!((exponent(&places, &places.map(|n| 3.0 * n * n)) - 2.0).abs() < 1e-12);
        assert!((exponent(&places, &places.map(|n: f64| 5.0 * n.powf(1.05))) - 1.05).abs() < 1e-12);
    }
}
