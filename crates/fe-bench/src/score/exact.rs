//! Curves that are known exactly under the law of a scenario: of its function, or of a model fitted to it.

use fe_core::Axis;
use fe_truth::{Centring, Error, FittedEffects, Quantity, Scenario, Truth};

/// A function whose effects are known under the law of a scenario.
pub trait Exact {
    /// The curve of an effect of a feature, counted from 0.
    ///
    /// # Errors
    /// The reason why there is none.
    fn curve(
        &self,
        effect: Quantity,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error>;

    /// ALE at the levels of a feature, counted from 0, in an order.
    ///
    /// # Errors
    /// The reason why there is none.
    fn ale_by_levels(&self, feature: usize, order: &[usize]) -> Result<Vec<Truth>, Error>;
}

impl Exact for Scenario {
    fn curve(
        &self,
        effect: Quantity,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error> {
        Scenario::curve(self, effect, feature, points, axis, centring)
    }

    fn ale_by_levels(&self, feature: usize, order: &[usize]) -> Result<Vec<Truth>, Error> {
        Scenario::ale_by_levels(self, feature, order)
    }
}

impl Exact for FittedEffects<'_> {
    fn curve(
        &self,
        effect: Quantity,
        feature: usize,
        points: &[f64],
        axis: (f64, f64),
        centring: Centring,
    ) -> Result<Vec<Truth>, Error> {
        FittedEffects::curve(self, effect, feature, points, axis, centring)
    }

    fn ale_by_levels(&self, feature: usize, order: &[usize]) -> Result<Vec<Truth>, Error> {
        FittedEffects::ale_by_levels(self, feature, order)
    }
}

/// The axis of a scenario for a feature, widened to hold some points.
pub(crate) fn axis_around(
    scenario: &Scenario,
    feature: usize,
    points: &[f64],
) -> Result<Axis, String> {
    let (lo, hi) = scenario.axis(feature);
    let lo = points.iter().copied().fold(lo, f64::min);
    let hi = points.iter().copied().fold(hi, f64::max);
    Axis::new(lo, hi).map_err(|e| e.to_string())
}
