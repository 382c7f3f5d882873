//! Whether an answer may be given: a number that is none, or whose bound is wide, is refused with the
//! reason.

use super::build::point;
use crate::error::Error;
use crate::kinds::BinTruth;
use crate::scenario::Scenario;

/// Largest bound on an error that is answered, relative to the size of f or of the answers.
const WIDEST: f64 = 1e-6;
/// Rows on which a point is looked for where f is not real.
const ROWS: usize = 20_000;

impl Scenario {
    /// Refuses answers, values with bounds on their errors, that are no numbers or too inaccurate.
    /// Those of built-in scenarios are what they are.
    pub(crate) fn judge(&self, answers: impl IntoIterator<Item = (f64, f64)>) -> Result<(), Error> {
        let Some(watch) = &self.parts.engine.watch else { return Ok(()) };
        let answers: Vec<(f64, f64)> = answers.into_iter().collect();
        let refused = |reason: String| Err(Error::NoTruth { scenario: self.info().name, reason });
        if answers.iter().any(|(value, error)| !value.is_finite() || !error.is_finite()) {
            return refused(watch.reason().unwrap_or_else(|| self.not_real()));
        }
        let largest = answers.iter().map(|(value, _)| value.abs()).fold(0.0, f64::max);
        let scale = largest.max(self.parts.size);
        match answers.iter().find(|(_, error)| *error > WIDEST * scale) {
            None => Ok(()),
            Some((value, error)) => refused(format!(
                "integration gives {value} with a bound of {error:e} on its error, which is too wide: \
                 the integral may be infinite, or its integrand is too rough"
            )),
        }
    }

    /// As [`Self::judge`], of bins.
    pub(crate) fn judge_bins(&self, bins: &[BinTruth]) -> Result<(), Error> {
        self.judge(
            bins.iter().map(|bin| (bin.mu.abs() + bin.sigma2 + bin.bin_error, bin.abs_error)),
        )
    }

    /// Why an integral is not a number.
    fn not_real(&self) -> String {
        let rows = self.parts.engine.law().spread(ROWS);
        let f = self.expression();
        let partials: Vec<_> = (0..self.dimension()).map(|s| f.partial(s)).collect();
        let names = &self.parts.names;
        for row in &rows {
            if !f.value(row).is_finite() {
                return format!("f is {} at {}", f.value(row), point(names, row));
            }
            for (s, partial) in partials.iter().enumerate() {
                if !partial.value(row).is_finite() {
                    let (value, name) = (partial.value(row), &names[s]);
                    let point = point(names, row);
                    return format!("the derivative of f along {name} is {value} at {point}");
                }
            }
        }
        "the integral is infinite, or f or its derivative is not a number far out in the law's \
         tails; `truncated(…)` cuts them off"
            .to_owned()
    }
}
