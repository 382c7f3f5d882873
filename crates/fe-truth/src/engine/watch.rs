//! Limits of integration: a value that is not a number, with the reason, in place of one that is wrong.

use std::cell::RefCell;

use crate::numeric::quadrature::Estimate;

/// Largest number of evaluations of one integral.
pub(crate) const MOST_EVALUATIONS: f64 = 5e7;
/// Tolerance and cost of simulation unless asked otherwise.
const TOLERANCE: f64 = 1e-3;
const MOST_SIMULATED: f64 = 4e6;

/// Limits of what is integrated, and the first reason why something was not.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Largest number of features to be integrated over at once.
    pub(crate) most: usize,
    /// True if integrals are taken in another order and on other nodes, with nothing taken apart.
    pub(crate) is_witness: bool,
    /// Half width of the interval of a simulated answer, relative to its size.
    pub(crate) tolerance: f64,
    /// Largest number of evaluations of one simulated mean.
    pub(crate) most_simulated: f64,
    names: Vec<String>,
}

thread_local! {
    /// The last reason why something was not integrated.
    static REASON: RefCell<Option<String>> = const { RefCell::new(None) };
}

impl Watch {
    pub(crate) fn new(most: usize, is_witness: bool, names: &[String]) -> Self {
        let (tolerance, most_simulated) = (TOLERANCE, MOST_SIMULATED);
        Self { most, is_witness, tolerance, most_simulated, names: names.to_vec() }
    }

    /// The same limits but for simulation, and no reason yet.
    pub(crate) fn simulating(&self, tolerance: Option<f64>, most: Option<f64>) -> Self {
        let tolerance = tolerance.unwrap_or(self.tolerance);
        let most_simulated = most.unwrap_or(self.most_simulated);
        Self { tolerance, most_simulated, names: self.names.clone(), ..*self }
    }

    /// Remembers a reason; no number is the answer.
    pub(crate) fn refuse(&self, reason: impl FnOnce() -> String) -> Estimate {
        REASON.set(Some(reason()));
        Estimate { value: f64::NAN, magnitude: f64::NAN, error: f64::NAN, simulated: false }
    }

    /// Refuses a simulation of what is made of means itself.
    pub(crate) fn inside(&self, features: &[usize]) -> Estimate {
        self.refuse(|| {
            let names: Vec<&str> =
                features.iter().map(|&feature| self.names[feature].as_str()).collect();
            format!(
                "means over {} at once of what is made of means itself, such as Shapley values, are not \
                 simulated",
                names.join(", ")
            )
        })
    }

    /// Refuses a simulation whose interval is too wide after so many evaluations.
    pub(crate) fn too_wide(&self, features: &[usize], cost: f64, relative: f64) -> Estimate {
        self.refuse(|| {
            let names: Vec<&str> =
                features.iter().map(|&feature| self.names[feature].as_str()).collect();
            let names = names.join(", ");
            let (tolerance, most) = (self.tolerance, self.most_simulated);
            if relative.is_nan() {
                return format!(
                    "a simulation over {names} needs values of laws that are integrals themselves, and \
                     with them more than {most:e} evaluations"
                );
            }
            format!(
                "a simulation over {names} has after {cost:e} evaluations an interval of {relative:.1e} of \
                 its size, and may take {most:e} for a tolerance of {tolerance:e}"
            )
        })
    }

    /// True if something was refused on this thread since the question began: what else it needs is not
    /// worth its cost.
    pub(crate) fn has_refused() -> bool {
        REASON.with_borrow(Option::is_some)
    }

    /// The reason for what is not a number, as found on this thread since it was last asked for.
    pub(crate) fn reason() -> Option<String> {
        REASON.take()
    }
}
