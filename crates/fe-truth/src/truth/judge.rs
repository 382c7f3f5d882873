//! Refusal of answers: a number that is none, or whose bound is wide, is refused with the
//! reason.

use crate::engine::watch::Watch;
use crate::error::{Error, number};
use crate::quantity::{BinTruth, Evaluation, Truth};
use crate::scenario::Scenario;

/// Largest bound on an error that is answered, relative to the size of f or of the answers.
const WIDEST: f64 = 1e-6;
/// Rows on which a point is looked for where f is not real.
const ROWS: usize = 20_000;

/// A point in words.
pub(crate) fn point(names: &[String], row: &[f64]) -> String {
    let each = names.iter().zip(row).map(|(name, x)| format!("{name} = {x}"));
    each.collect::<Vec<_>>().join(", ")
}

impl Scenario {
    /// Begins a question: what earlier ones were refused for is forgotten.
    pub(crate) fn begin(&self) {
        drop(Watch::reason());
    }

    /// Refuses answers that are no numbers or too inaccurate. Those of built-in scenarios are what they
    /// are.
    pub(crate) fn judge(&self, answers: impl IntoIterator<Item = Truth>) -> Result<(), Error> {
        self.judge_beside(answers, self.parts.size)
    }

    /// As [`Self::judge`], of answers whose bounds are as wide as they may be beside some size.
    pub(crate) fn judge_beside(
        &self,
        answers: impl IntoIterator<Item = Truth>,
        size: f64,
    ) -> Result<(), Error> {
        let Some(watch) = &self.parts.engine.watch else { return Ok(()) };
        let answers: Vec<Truth> = answers.into_iter().collect();
        // What was refused on the way and not needed in the end is no reason for the next question.
        let reason = Watch::reason();
        let refused = |reason: String| Err(Error::NoTruth { scenario: self.info().name, reason });
        if answers.iter().any(|t| !t.value.is_finite() || !t.abs_error.is_finite()) {
            return refused(reason.unwrap_or_else(|| self.not_real()));
        }
        let largest = answers.iter().map(|t| t.value.abs()).fold(0.0, f64::max);
        let scale = largest.max(size);
        let widest = |t: &Truth| match t.method {
            Evaluation::Simulation => watch.tolerance.max(WIDEST),
            _ => WIDEST,
        };
        let Some(wide) = answers.iter().find(|t| t.abs_error > widest(t) * scale) else {
            return Ok(());
        };
        let Truth { value, abs_error, method } = wide;
        let (value, scale) = (number(value), number(&scale));
        refused(match method {
            Evaluation::Simulation => format!(
                "simulation gives {value} within {abs_error:e}, which is wider than {:e} of {scale}: \
                 ask for a wider tolerance",
                watch.tolerance
            ),
            _ => format!(
                "integration gives {value} with a bound of {abs_error:e} on its error, which is too \
                 wide: the integral may be infinite, or its integrand is too rough"
            ),
        })
    }

    /// As [`Self::judge`], of bins of a feature; of built-in scenarios those that are no numbers are refused too.
    pub(crate) fn judge_bins(&self, feature: usize, bins: &[BinTruth]) -> Result<(), Error> {
        let truth = |bin: &BinTruth| Truth {
            value: bin.mu.abs() + bin.sigma2 + bin.bin_error,
            abs_error: bin.abs_error,
            method: bin.method,
        };
        self.judge(bins.iter().map(truth))?;
        match bins.iter().find(|bin| truth(bin).value.is_nan()) {
            Some(bin) => Err(Error::large_bin(&self.feature_name(feature), bin.lo, bin.hi)),
            None => Ok(()),
        }
    }

    /// Reason for which an integral is not a number.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A uniform feature, whose size is a half.
    fn feature() -> Scenario {
        crate::problem("mine", "f = \"x1\"\n[law]\nx1 = \"uniform(0, 1)\"\n", &[]).unwrap()
    }

    /// Of an answer of 4 an error of 4e-6 is allowed, and no more.
    #[test]
    fn a_bound_may_be_a_millionth_of_the_largest_answer() {
        let scenario = feature();
        let truth = |value: f64, abs_error: f64| {
            let method = Evaluation::Quadrature;
            Truth { value, abs_error, method }
        };
        for (abs_error, is_allowed) in [(0.0, true), (4e-6, true), (4.1e-6, false)] {
            let answers = [truth(1.0, abs_error), truth(-4.0, 0.0)];
            assert_eq!(scenario.judge(answers).is_ok(), is_allowed, "{abs_error:e}");
            let bin = BinTruth {
                lo: 0.0,
                hi: 1.0,
                mu: -1.0,
                sigma2: 2.0,
                sigma2_star: 3.0,
                bin_error: 1.0,
                abs_error,
                method: Evaluation::Quadrature,
            };
            assert_eq!(scenario.judge_bins(0, &[bin]).is_ok(), is_allowed, "{abs_error:e}");
        }
        // Small answers are judged by the size of f.
        assert!(scenario.judge([truth(0.0, 4e-7)]).is_ok());
        assert!(scenario.judge([truth(0.0, 6e-7)]).is_err());
        assert!(scenario.judge([truth(0.0, f64::INFINITY)]).is_err());
    }
}
