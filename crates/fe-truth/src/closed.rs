//! What a scenario knows in closed form.

/// A quantity that may have a closed form, as a function of the feature x_s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
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

/// The closed forms of a scenario; what is `None` is left to quadrature.
///
/// Every answer given is held against quadrature and against simulation in the test suite.
pub(crate) trait ClosedForms: Send + Sync + 'static {
    /// A quantity of a feature at x; the axis is its range.
    fn at(&self, quantity: Quantity, feature: usize, x: f64, axis: (f64, f64)) -> Option<f64>;

    /// A bound on the error of [`ClosedForms::at`], relative to 1 + the size of its answer.
    fn accuracy(&self, quantity: Quantity) -> f64 {
        let _ = quantity;
        1e-12
    }

    /// Mean and variance of `f(to, X_c) − f(from, X_c)` given x_s = x.
    fn difference(&self, feature: usize, from: f64, to: f64, x: f64) -> Option<(f64, f64)> {
        let _ = (feature, from, to, x);
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
}
