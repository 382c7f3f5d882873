//! Refusal of answers: a number that is none, or whose bound is wide, is refused with the
//! reason.

use crate::engine::watch::Watch;
use crate::error::{Error, number};
use crate::quantity::{BinTruth, Evaluation, Quantity, Truth};
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
        let answers: Vec<Truth> = answers.into_iter().collect();
        match self.refusal(&answers, size) {
            Some((_, reason)) => self.refused(reason.unwrap_or_else(|| self.not_real())),
            None => Ok(()),
        }
    }

    /// As [`Self::judge`], of the values of an effect of a feature at points, which the refusal names.
    pub(crate) fn judge_curve(
        &self,
        (effect, feature): (Quantity, usize),
        points: &[f64],
        curve: &[Truth],
    ) -> Result<(), Error> {
        let Some((place, reason)) = self.refusal(curve, self.parts.size) else { return Ok(()) };
        let (name, x) = (self.feature_name(feature), points[place]);
        let nowhere = || self.is_given_nothing(feature, x).then(|| nothing_given(&name, x));
        let reason = reason.or_else(nowhere).unwrap_or_else(|| self.not_real());
        self.refused(format!("{effect} of {name} at {}: {reason}", number(&x)))
    }

    /// True if a feature has no density at a place, as at an end of its support, and others depend on it.
    fn is_given_nothing(&self, feature: usize, x: f64) -> bool {
        let engine = &self.parts.engine;
        let others = (0..self.dimension()).filter(|&other| other != feature);
        let is_tied = others.into_iter().any(|other| engine.law().related(feature, other));
        is_tied && !engine.has_levels(feature) && engine.margin(feature).pdf(x) == 0.0
    }

    /// A truth that there is not.
    pub(super) fn refused<T>(&self, reason: String) -> Result<T, Error> {
        Err(Error::NoTruth { scenario: self.info().name, reason })
    }

    /// The first of answers of a problem file that is refused beside some size, and why, if more is known than that it is no
    /// number.
    fn refusal(&self, answers: &[Truth], size: f64) -> Option<(usize, Option<String>)> {
        let watch = self.parts.engine.watch.as_ref()?;
        // What was refused on the way and not needed in the end is no reason for the next question.
        let reason = Watch::reason();
        let is_no_number = |t: &Truth| !t.value.is_finite() || !t.abs_error.is_finite();
        if let Some(place) = answers.iter().position(is_no_number) {
            return Some((place, reason));
        }
        let largest = answers.iter().map(|t| t.value.abs()).fold(0.0, f64::max);
        let scale = largest.max(size);
        let widest = |t: &Truth| match t.method {
            Evaluation::Simulation => watch.tolerance.max(WIDEST),
            _ => WIDEST,
        };
        let place = answers.iter().position(|t| t.abs_error > widest(t) * scale)?;
        let Truth { value, abs_error, method } = &answers[place];
        let (value, scale) = (number(value), number(&scale));
        let reason = match method {
            Evaluation::Simulation => format!(
                "simulation gives {value} within {abs_error:e}, which is wider than {:e} of {scale}: \
                 ask for a wider tolerance",
                watch.tolerance
            ),
            _ => format!(
                "integration gives {value} with a bound of {abs_error:e} on its error, which is too \
                 wide: the integral may be infinite, or its integrand is too rough"
            ),
        };
        Some((place, Some(reason)))
    }

    /// As [`Self::judge`], of bins of a feature; of built-in scenarios those that are no numbers are refused too.
    pub(crate) fn judge_bins(&self, feature: usize, bins: &[BinTruth]) -> Result<(), Error> {
        let truth = |bin: &BinTruth| Truth {
            value: bin.mu.abs() + bin.sigma2 + bin.bin_error,
            abs_error: bin.abs_error,
            method: bin.method,
        };
        let judged = self.judge(bins.iter().map(truth));
        judged.map_err(|error| error.about(&format!("bins of {}", self.feature_name(feature))))?;
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

/// Reason for which nothing is told of other features given one.
fn nothing_given(name: &str, x: f64) -> String {
    format!("{name} has no density there, and the others no law given that it is {}", number(&x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A uniform feature, whose size is a half.
    fn feature() -> Scenario {
        crate::problem("mine", "f = \"x1\"\n[law]\nx1 = \"uniform(0, 1)\"\n", &[]).unwrap()
    }

    /// The sum of two uniform features has no density at the ends of its support: what is given there is nothing.
    #[test]
    fn a_refusal_names_the_feature_and_the_place_and_what_is_true_of_it() {
        let text = "f = \"a*b\"\n[law]\na = \"uniform(0, 1)\"\nb = \"a + uniform(0, 1)\"\n";
        let scenario = crate::problem("mine", text, &[]).unwrap();
        let ask = |points: &[f64]| {
            let axis = scenario.axis(1);
            scenario.curve(Quantity::Mu, 1, points, axis, crate::Centring::None)
        };
        assert!(ask(&[0.5, 1.0, 1.5]).is_ok());
        let refused = ask(&[0.5, 0.0, 2.0]).unwrap_err().to_string();
        assert_eq!(
            refused,
            "`mine`: mu of b at 0: b has no density there, and the others no law given that it is 0"
        );
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
