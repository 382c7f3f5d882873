//! Sizes of the functions of scenarios, beside which rounding is told from errors.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use fe_truth::Scenario;

use super::{sample, scenarios};

/// Rows at which a function is asked.
const ROWS: usize = 100;

/// The sizes of functions that results name.
#[derive(Debug, Default)]
pub struct Sizes {
    /// The texts of the scenarios that come from files.
    problems: BTreeMap<String, String>,
    /// By scenario and parameters.
    known: RefCell<HashMap<[String; 2], f64>>,
}

impl Sizes {
    /// Those of built-in scenarios, and of others by their [texts](scenarios::recorded).
    #[must_use]
    pub fn new(problems: BTreeMap<String, String>) -> Self {
        Self { problems, known: RefCell::default() }
    }

    /// The [size] of the function of a scenario by its name, version and parameters; 1 if there is no such scenario.
    #[must_use]
    pub fn of(&self, id: &str, parameters: &str) -> f64 {
        let place = [id, parameters].map(str::to_owned);
        let found =
            || scenarios::of_record(id, parameters, &self.problems).map_or(1.0, |of| size(&of));
        *self.known.borrow_mut().entry(place).or_insert_with(found)
    }
}

/// The largest absolute value of f at some rows; 1 where f is 0 or cannot be had.
#[must_use]
pub fn size(scenario: &Scenario) -> f64 {
    let values = || -> Option<Vec<f64>> {
        let data = sample::features(scenario, 0, ROWS, 0).ok()?;
        sample::target(scenario, &data, 0, 0.0, 0).ok()
    };
    let largest = values().into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
    if largest > 0.0 && largest.is_finite() { largest } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_sizes() {
        let of = |f: &str| {
            let text = format!("f = \"{f}\"\n[law]\nx = \"uniform(1, 2)\"\n");
            size(&fe_truth::problem("mine", &text, &[]).unwrap())
        };
        assert!((1.5e-20..2e-20).contains(&of("1e-20*x")));
        assert!((1.5e9..2e9).contains(&of("-1e9*x")));
        assert_eq!(of("0*x"), 1.0);
        let sizes = Sizes::default();
        assert_eq!(sizes.of("no-such-scenario", ""), 1.0);
        let friedman = sizes.of("friedman1@1", "noise_features=2");
        assert!((10.0..40.0).contains(&friedman), "{friedman}");
        assert_eq!(sizes.of("friedman1@1", "noise_features=2"), friedman);
    }
}
