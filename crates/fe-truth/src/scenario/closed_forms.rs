//! Closed forms of a scenario.

use crate::engine::Engine;
use crate::numeric::quadrature::Estimate;
use crate::quantity::Quantity;

/// A quantity that may have a closed form, as a function of the feature x_s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pointwise {
    /// `E f(x, X_c)`.
    Pd,
    /// `E ∂_s f(x, X_c)`.
    Dpd,
    /// `E[f | x_s = x]`.
    Mplot,
    /// `E[∂_s f | x_s = x]`.
    Mu,
    /// `Var(∂_s f | x_s = x)`.
    Sigma2,
    /// Variance of the ICE curve centred over the axis.
    HPdp,
    /// `Var ∂_s f(x, X_c)`.
    HDpdp,
    /// `∫ mu` from the lower end of the axis.
    Accumulated,
}

/// A feature that is asked about in a region.
pub(crate) struct InBox<'a> {
    pub(crate) feature: usize,
    /// The range of the feature.
    pub(crate) axis: (f64, f64),
    /// With the law of the rows, and that of the background.
    pub(crate) engine: &'a Engine,
}

/// Spread of a local effect among rows of a region: a variance that a whole feature has one number of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spread<'a> {
    /// Of ICE curves centred over the axis, integrated over it.
    Centred,
    /// Of the derivative, integrated over the axis.
    Slope,
    /// The root of that of the derivative, integrated over the axis.
    SlopeRoot,
    /// Of Shapley values, in the mean over the law of the feature.
    Shapley,
    /// Of finite differences over bins between these limits, each over the width of its bin, summed.
    Difference(&'a [f64]),
}

/// The closed forms of a scenario; what is `None` is left to quadrature.
///
/// Every answer given is held against quadrature and against simulation in the test suite.
pub(crate) trait ClosedForms: Send + Sync + 'static {
    /// A quantity of a feature at x; the axis is its range.
    fn at(&self, quantity: Pointwise, feature: usize, x: f64, axis: (f64, f64)) -> Option<f64>;

    /// The sum of the sizes of what [`ClosedForms::at`] adds up: the error bound is a few machine
    /// epsilons of it. Where it is 0, nothing large cancels, and one part in 1e12 is the bound.
    fn size(&self, quantity: Pointwise, feature: usize, x: f64, axis: (f64, f64)) -> f64 {
        let _ = (quantity, feature, x, axis);
        0.0
    }

    /// An effect of a feature at x by integrals of fewer dimensions than the general ones; the
    /// variance for [`Quantity::Sigma`]. The axis is the range of the feature.
    fn shorter(
        &self,
        effect: Quantity,
        feature: usize,
        x: f64,
        axis: (f64, f64),
    ) -> Option<Estimate> {
        let _ = (effect, feature, x, axis);
        None
    }

    /// Mean and variance of `f(to, X_c) − f(from, X_c)` given x_s = x.
    fn difference(&self, feature: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        let _ = (feature, from, to, x);
        None
    }

    /// Error of [`ClosedForms::difference`] beyond rounding, where it is integrated.
    fn error_of_difference(&self) -> f64 {
        0.0
    }

    /// As [`ClosedForms::size`], for the mean of [`ClosedForms::difference`].
    fn size_of_difference(&self, feature: usize, from: f64, to: f64, x: f64) -> f64 {
        let _ = (feature, from, to, x);
        0.0
    }

    /// The spread of an effect among the rows of a law in which features that are independent may be cut to intervals.
    fn in_box(&self, spread: Spread<'_>, asked: &InBox<'_>) -> Option<Estimate> {
        let _ = (spread, asked);
        None
    }

    /// An effect at x among those rows; of [`Quantity::Sigma`] the variance.
    fn at_in_box(&self, effect: Quantity, x: f64, asked: &InBox<'_>) -> Option<Estimate> {
        let _ = (effect, x, asked);
        None
    }

    /// `E f(X)`.
    fn mean(&self) -> Option<f64> {
        None
    }

    /// `Var f(X)`.
    fn variance(&self) -> Option<f64> {
        None
    }

    /// As [`ClosedForms::size`], for [`ClosedForms::mean`].
    fn size_of_mean(&self) -> f64 {
        0.0
    }

    /// As [`ClosedForms::size`], for [`ClosedForms::variance`].
    fn size_of_variance(&self) -> f64 {
        0.0
    }
}
