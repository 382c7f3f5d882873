//! Limits of integration: a value that is not a number, with the reason, in place of one that is wrong.

use std::cell::{Cell, RefCell};

use crate::numeric::quadrature::Estimate;

/// Largest number of evaluations of one integral.
pub(crate) const MOST_EVALUATIONS: f64 = 3e7;
/// Evaluations that an integral of means over an axis may take, those for the means counted, before it is simulated.
pub(super) const MOST_OF_AXES: f64 = 2e7;
/// Evaluations that a moment of a Shapley value at a point may take before it is simulated, those of each coalition
/// counted anew.
pub(super) const MOST_OF_SHAPLEY: f64 = 5e7;
/// Evaluations that what is made once for all may take.
const MOST_OF_ONCE: f64 = 3e7;
/// Tolerance and cost of simulation unless asked otherwise.
const TOLERANCE: f64 = 1e-3;
/// Tolerance of heterogeneity values unless asked otherwise: single numbers, many of which are told at once.
const TOLERANCE_OF_VALUES: f64 = 5e-3;
const MOST_SIMULATED: f64 = 4e6;
/// Evaluations that an integral may take however few a simulated mean may: nobody waits for them.
const ALWAYS: f64 = 1e5;
/// Largest number of features of a term whose coalitions are asked.
pub(super) const MOST_MEMBERS: usize = 12;

/// Limits of what is integrated, and the first reason why something was not.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Largest number of features to be integrated over at once.
    pub(crate) most: usize,
    /// True if integrals are taken in another order and on other nodes, with nothing taken apart.
    pub(crate) is_witness: bool,
    /// Half width of the interval of a simulated answer, relative to its size.
    pub(crate) tolerance: f64,
    /// True if that was asked for.
    is_asked: bool,
    /// Largest number of evaluations of one simulated mean.
    pub(crate) most_simulated: f64,
    names: Vec<String>,
}

thread_local! {
    /// Evaluations on this thread so far, and where they have to end.
    static SPENT: Cell<f64> = const { Cell::new(0.0) };
    static LIMIT: Cell<f64> = const { Cell::new(f64::INFINITY) };
    /// True while something is made once for all.
    static ONCE: Cell<bool> = const { Cell::new(false) };
    /// The last reason why something was not integrated.
    static REASON: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The result of no more than so many evaluations, nor than are left of what is made around it; none where that is
/// not enough.
pub(crate) fn within_budget<T>(evaluations: f64, make: impl FnOnce() -> T) -> Option<T> {
    let around = LIMIT.get();
    let own = SPENT.get() + evaluations;
    LIMIT.set(around.min(own));
    let made = make();
    let is_paid = !is_spent();
    LIMIT.set(around);
    is_paid.then_some(made)
}

/// The result of making something, and the evaluations that it took.
pub(crate) fn with_cost<T>(make: impl FnOnce() -> T) -> (T, f64) {
    let before = SPENT.get();
    let made = make();
    (made, SPENT.get() - before)
}

/// An integrand that is not a number any more once its values so far tell that so many of them, which an integral asks for
/// at least, take more evaluations than it may: the rest is spared, that of a value too that takes more by itself.
pub(crate) fn in_time(
    most: f64,
    values: usize,
    at: impl Fn(f64) -> Estimate,
) -> impl Fn(f64) -> Estimate {
    let (count, spent) = (Cell::new(0.0), Cell::new(0.0));
    move |x: f64| {
        count.set(count.get() + 1.0);
        let left = most * count.get() / values as f64 - spent.get();
        let (value, cost) = with_cost(|| (left >= 0.0).then(|| within_budget(left, || at(x))));
        let value = value.flatten();
        spent.set(if value.is_some() { spent.get() + cost } else { f64::INFINITY });
        value.unwrap_or(Estimate::exact(f64::NAN))
    }
}

/// The result of making something, and the evaluations that it took, which are counted elsewhere.
pub(crate) fn with_cost_apart<T>(make: impl FnOnce() -> T) -> (T, f64) {
    let before = SPENT.get();
    let made = with_cost(make);
    SPENT.set(before);
    made
}

/// Counts evaluations, also those that memory spares: what is left must not depend on what was asked before.
pub(crate) fn spend(evaluations: f64) {
    SPENT.set(SPENT.get() + evaluations);
}

/// The result of what is made once for all: whatever it takes counts for nothing, but may not be too much either.
pub(super) fn uncounted<T>(make: impl FnOnce() -> T) -> T {
    let before = SPENT.get();
    let limit = LIMIT.replace(before + MOST_OF_ONCE);
    let around = ONCE.replace(true);
    let made = make();
    ONCE.set(around);
    SPENT.set(before);
    LIMIT.set(limit);
    made
}

/// True if no evaluations are left.
pub(crate) fn is_spent() -> bool {
    SPENT.get() > LIMIT.get()
}

/// Evaluations that are left of those that something may take, for threads that make parts of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    left: f64,
    once: bool,
}

impl Allowance {
    /// That of what this thread makes.
    pub(super) fn of_thread() -> Self {
        Self { left: LIMIT.get() - SPENT.get(), once: ONCE.get() }
    }

    /// True if so many evaluations can be paid for.
    pub(super) fn is_enough_for(self, evaluations: f64) -> bool {
        evaluations <= self.left
    }

    /// Gives this thread, which has made nothing yet, as much of its own.
    pub(super) fn take(self) {
        LIMIT.set(SPENT.get() + self.left);
        ONCE.set(self.once);
    }
}

/// True if what is being made is not used, as it has been taken to cost more than is left: its cost is spared.
pub(super) fn is_in_vain() -> bool {
    is_spent() && !ONCE.get()
}

impl Watch {
    pub(crate) fn new(most: usize, is_witness: bool, names: &[String]) -> Self {
        let (tolerance, most_simulated) = (TOLERANCE, MOST_SIMULATED);
        let (names, is_asked) = (names.to_vec(), false);
        Self { most, is_witness, tolerance, is_asked, most_simulated, names }
    }

    /// The same limits but for simulation, and no reason yet.
    pub(crate) fn simulating(&self, tolerance: Option<f64>, most: Option<f64>) -> Self {
        let is_asked = self.is_asked || tolerance.is_some();
        let tolerance = tolerance.unwrap_or(self.tolerance);
        let most_simulated = most.unwrap_or(self.most_simulated);
        Self { tolerance, is_asked, most_simulated, names: self.names.clone(), ..*self }
    }

    /// The same limits for heterogeneity values, whose tolerance is another one unless it was asked for.
    pub(crate) fn of_values(&self) -> Self {
        let tolerance = if self.is_asked { self.tolerance } else { TOLERANCE_OF_VALUES };
        Self { tolerance, names: self.names.clone(), ..*self }
    }

    /// Evaluations that something may take which usually may take so many: fewer where a simulated mean may take fewer
    /// than usual.
    pub(crate) fn limit(&self, usual: f64) -> f64 {
        let share = (self.most_simulated / MOST_SIMULATED).min(1.0);
        (share * usual).max(ALWAYS)
    }

    /// Evaluations that an answer may take which usually may take so many: more where a simulated mean may take more
    /// than usual, and never fewer.
    pub(crate) fn allowance(&self, usual: f64) -> f64 {
        (self.most_simulated / MOST_SIMULATED).max(1.0) * usual
    }

    /// Refuses the mean of f given a feature, as a function of that.
    pub(super) fn unknown_mean(&self, feature: usize) -> Estimate {
        let name = &self.names[feature];
        self.refuse(|| {
            format!("the mean of f given {name} takes too many evaluations at each of its values")
        })
    }

    /// Refuses an answer that takes more than so many evaluations.
    pub(crate) fn too_costly(&self, most: f64) -> Estimate {
        self.refuse(|| {
            let simulated = self.most_simulated;
            format!(
                "an answer takes more than {most:e} evaluations, which is what is made of those that a simulated \
                 mean may take, {simulated:e}: allow more of these"
            )
        })
    }

    /// Remembers a reason; no number is the answer.
    pub(crate) fn refuse(&self, reason: impl FnOnce() -> String) -> Estimate {
        REASON.set(Some(reason()));
        Estimate { value: f64::NAN, magnitude: f64::NAN, error: f64::NAN, simulated: false }
    }

    /// Names of features, one after the other.
    pub(super) fn names_of(&self, features: &[usize]) -> String {
        let names: Vec<&str> =
            features.iter().map(|&feature| self.names[feature].as_str()).collect();
        names.join(", ")
    }

    /// Refuses jumps along a feature at places of another one, whose density given that is not known.
    pub(super) fn unknown_density(&self, along: usize, other: usize) -> Estimate {
        let [along, other] = [along, other].map(|feature| &self.names[feature]);
        self.refuse(|| {
            format!(
                "f jumps along {along} at places that depend on {other}, whose density given {along} is an \
                 integral over too many features; with bins there are differences in place of derivatives"
            )
        })
    }

    /// Refuses a simulation in which no row has a weight that counts.
    pub(crate) fn weightless(&self, features: &[usize]) -> Estimate {
        self.refuse(|| {
            format!(
                "a simulation over {} meets what is given too seldom: too few rows have a weight",
                self.names_of(features)
            )
        })
    }

    /// Refuses a simulation of what is made of means itself.
    pub(crate) fn inside(&self, features: &[usize]) -> Estimate {
        self.refuse(|| {
            format!(
                "means over {} at once of what is made of means itself, such as Shapley values, are not \
                 simulated",
                self.names_of(features)
            )
        })
    }

    /// Refuses a simulation whose interval is too wide after so many evaluations.
    pub(crate) fn too_wide(
        &self,
        features: &[usize],
        most: f64,
        cost: f64,
        relative: f64,
    ) -> Estimate {
        self.refuse(|| {
            let names = self.names_of(features);
            let tolerance = self.tolerance;
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

    /// Remembers the reason of another thread.
    pub(super) fn remember(reason: String) {
        REASON.set(Some(reason));
    }

    /// The reason for what is not a number, as found on this thread since it was last asked for.
    pub(crate) fn reason() -> Option<String> {
        REASON.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_more_than_is_left_is_in_vain_but_for_what_is_made_once() {
        let within = |make: &dyn Fn()| {
            let told = Cell::new(None);
            let made = within_budget(100.0, || {
                make();
                told.set(Some(is_in_vain()));
            });
            (made.is_some(), told.get() == Some(true))
        };
        assert_eq!(within(&|| spend(99.0)), (true, false));
        assert_eq!(within(&|| spend(101.0)), (false, true));
        let once = || {
            uncounted(|| {
                spend(2.0 * MOST_OF_ONCE);
                assert!(is_spent() && !is_in_vain());
            });
        };
        assert_eq!(within(&once), (true, false));
    }

    #[test]
    fn heterogeneity_values_have_a_tolerance_of_their_own_unless_one_is_asked_for() {
        let watch = Watch::new(3, false, &[]);
        assert_eq!(watch.of_values().tolerance, TOLERANCE_OF_VALUES);
        assert_eq!(watch.simulating(None, Some(1e5)).of_values().tolerance, TOLERANCE_OF_VALUES);
        let asked = watch.simulating(Some(1e-4), None).simulating(None, Some(1e5));
        assert_eq!(asked.of_values().tolerance, 1e-4);
    }

    /// Of twenty values that take ten evaluations each an integral may take two hundred.
    #[test]
    fn an_integral_that_takes_too_many_evaluations_ends_in_its_first_value() {
        let asked = Cell::new(0);
        let value = |x: f64| {
            asked.set(asked.get() + 1);
            spend(10.0);
            Estimate::exact(x)
        };
        for (most, known, all) in [(200.0, 20, 20), (199.0, 0, 1)] {
            asked.set(0);
            let at = in_time(most, 20, value);
            let numbers = (0..20).filter(|&k| !at(f64::from(k)).value.is_nan()).count();
            assert_eq!((numbers, asked.get()), (known, all), "{most}");
        }
    }

    /// With a fortieth of what a simulated mean may take, a fortieth of what integrals may; never more than usual.
    #[test]
    fn integrals_take_fewer_evaluations_where_simulations_do() {
        let watch = Watch::new(3, false, &[]);
        assert_eq!(watch.limit(MOST_EVALUATIONS), MOST_EVALUATIONS);
        let with = |most: f64| watch.simulating(None, Some(most));
        assert_eq!(with(1e5).limit(MOST_EVALUATIONS), 7.5e5);
        assert_eq!(with(1e4).limit(MOST_EVALUATIONS), ALWAYS);
        assert_eq!(with(1e9).limit(MOST_EVALUATIONS), MOST_EVALUATIONS);
    }
}
