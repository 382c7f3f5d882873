//! Quantities that have a truth, the words that ask for them, and the values that answer.
//!
//! Imports errors alone. Begin with [`Quantity`] and [`Truth`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, unknown_name};

/// Gives an enum its names: `ALL`, `name`, `Display`, `FromStr`.
macro_rules! named {
    ($kind:ident, $what:literal, $($variant:ident = $name:literal),+ $(,)?) => {
        impl $kind {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];

            /// Its name, as in files and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($kind::$variant => $name),+ }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $kind {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let found = Self::ALL.iter().copied().find(|kind| kind.name() == text);
                found.ok_or_else(|| unknown_name($what, text, &[$($name),+]))
            }
        }
    };
}

/// A feature effect that has a truth, as a function of the feature x_s.
///
/// X_c is the rest of the features, ∂_s the derivative along x_s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Partial dependence: `E f(x, X_c)` under the marginal law of X_c.
    Pd,
    /// Derivative partial dependence: `E ∂_s f(x, X_c)` under the marginal law of X_c.
    Dpd,
    /// Marginal plot: `E[f(X) | x_s = x]`.
    Mplot,
    /// Accumulated local effects as the limit of finite differences (Apley & Zhu 2020): the
    /// derivative form and the conditional means of the jumps of f in x_s.
    Ale,
    /// Accumulated local effects of the derivative: `∫ mu` from the lower end of the axis (RHALE
    /// eq. 2); jumps do not enter.
    AleDerivative,
    /// Local effect `E[∂_s f | x_s = x]` (RHALE eq. 5).
    Mu,
    /// Standard deviation of `∂_s f` given x_s = x (RHALE eq. 6).
    Sigma,
    /// Variance over X_c of ICE curves, each centred by its mean over the axis (EFFECTOR eq. 7).
    #[serde(rename = "h-pdp")]
    HPdp,
    /// Variance over X_c of `∂_s f(x, X_c)` (EFFECTOR eq. 9).
    #[serde(rename = "h-dpdp")]
    HDpdp,
    /// The sum of the terms of f that read x_s, where they read nothing else.
    Main,
    /// Mean of the Shapley value of the feature given its value, `E[φ_s | x_s = x]`. Shapley values
    /// are interventional, with the law of the features as background.
    Shap,
    /// Variance of the Shapley value given the value of the feature, `Var(φ_s | x_s = x)`.
    ShapVariance,
}

named!(
    Quantity,
    "effect",
    Pd = "pd",
    Dpd = "dpd",
    Mplot = "mplot",
    Ale = "ale",
    AleDerivative = "ale-derivative",
    Mu = "mu",
    Sigma = "sigma",
    HPdp = "h-pdp",
    HDpdp = "h-dpdp",
    Main = "main",
    Shap = "shap",
    ShapVariance = "shap-variance",
);

impl Quantity {
    /// True for quantities on the scale of f, from which a constant may be subtracted.
    #[must_use]
    pub const fn is_curve(self) -> bool {
        matches!(
            self,
            Self::Pd | Self::Mplot | Self::Ale | Self::AleDerivative | Self::Main | Self::Shap
        )
    }
}

/// A method that splits a feature's effect by regions of another feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regional {
    /// By the variance of centred ICE curves, `pdp.mean`.
    Pdp,
    /// By the variance of d-ICE curves, `dpdp.mean`.
    Dpdp,
    /// By the conditional variance of the derivative, `ale.integral` and `ale.integral_sd`.
    Ale,
    /// As [`Regional::Ale`].
    Rhale,
    /// By the variance of Shapley values given the feature, `shap.mean`. Their background stays
    /// the law of all rows.
    Shapdp,
}

named!(
    Regional,
    "regional method",
    Pdp = "pdp",
    Dpdp = "dpdp",
    Ale = "ale",
    Rhale = "rhale",
    Shapdp = "shapdp",
);

/// A heterogeneity value of a feature over an axis that depends on no bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HeterogeneityValue {
    /// Mean over the axis of `h-pdp` (EFFECTOR eq. 8), in squared units of f.
    #[serde(rename = "pdp.mean")]
    PdpMean,
    /// Mean over the axis of the standard deviation of ICE curves as they are (EFFECTOR's listings), in units of f.
    #[serde(rename = "pdp.mean_sd")]
    PdpMeanSd,
    /// Mean over the axis of `h-dpdp` (EFFECTOR eq. 10), in squared units of the derivative.
    #[serde(rename = "dpdp.mean")]
    DpdpMean,
    /// Mean over the axis of the root of `h-dpdp`, in units of the derivative.
    #[serde(rename = "dpdp.mean_sd")]
    DpdpMeanSd,
    /// `∫ sigma²` (EFFECTOR eq. 6).
    #[serde(rename = "ale.integral")]
    AleIntegral,
    /// The same over the length of the axis.
    #[serde(rename = "ale.mean_range")]
    AleMeanRange,
    /// `∫ sigma` (EFFECTOR eq. 2).
    #[serde(rename = "ale.integral_sd")]
    AleIntegralSd,
    /// The same over the length of the axis.
    #[serde(rename = "ale.mean_sd")]
    AleMeanSd,
    /// Mean over the law of the feature of `shap-variance` (EFFECTOR A.3), in squared units of f.
    #[serde(rename = "shap.mean")]
    ShapMean,
}

named!(
    HeterogeneityValue,
    "heterogeneity value",
    PdpMean = "pdp.mean",
    PdpMeanSd = "pdp.mean_sd",
    DpdpMean = "dpdp.mean",
    DpdpMeanSd = "dpdp.mean_sd",
    AleIntegral = "ale.integral",
    AleMeanRange = "ale.mean_range",
    AleIntegralSd = "ale.integral_sd",
    AleMeanSd = "ale.mean_sd",
    ShapMean = "shap.mean",
);

/// Centring: the constant that is subtracted from a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Centring {
    /// Nothing.
    None,
    /// Its value at the lower end of the axis.
    Start,
    /// Its mean over the axis.
    Integral,
    /// Its mean over the law of the feature.
    Data,
}

named!(Centring, "centring", None = "none", Start = "start", Integral = "integral", Data = "data",);

/// Weighting of averages over a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// The bin, evenly (RHALE eq. 7 and 8).
    Uniform,
    /// The law of the feature inside the bin: what estimators from data converge to.
    Data,
}

named!(Weighting, "weighting", Uniform = "uniform", Data = "data");

/// Evaluation of a truth, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evaluation {
    /// A formula.
    Closed,
    /// Numerical integration.
    Quadrature,
    /// Simulation: randomised quasi-Monte-Carlo, its bound the half width of a 99.99 % interval.
    Simulation,
}

named!(
    Evaluation,
    "method",
    Closed = "closed",
    Quadrature = "quadrature",
    Simulation = "simulation",
);

/// A true value, with a bound on its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Truth {
    /// The value.
    pub value: f64,
    /// A bound on its absolute error.
    pub abs_error: f64,
    /// Its evaluation.
    pub method: Evaluation,
}

impl Truth {
    pub(crate) const ZERO: Self = Self { value: 0.0, abs_error: 0.0, method: Evaluation::Closed };

    /// The truth, unless it or its bound is beyond the numbers there are.
    pub(crate) fn told(self, what: impl FnOnce() -> String) -> Result<Self, Error> {
        let finite = self.value.is_finite() && self.abs_error.is_finite();
        if finite { Ok(self) } else { Err(Error::TooLarge(what())) }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            abs_error: self.abs_error + other.abs_error,
            method: self.method.max(other.method),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        self.plus(other.times(-1.0))
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            abs_error: self.abs_error * factor.abs(),
            method: self.method,
        }
    }
}

/// True quantities of a bin `[lo, hi]`, averaged as the [`Weighting`] says.
///
/// They satisfy `sigma2_star = sigma2 + bin_error` (RHALE Theorem 1, with the mean squared residual
/// to the first power).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BinTruth {
    /// Lower limit.
    pub lo: f64,
    /// Upper limit.
    pub hi: f64,
    /// Mean of the local effect mu(z).
    pub mu: f64,
    /// Mean of the conditional variance sigma²(z).
    pub sigma2: f64,
    /// Variance of ∂_s f over the bin.
    pub sigma2_star: f64,
    /// Mean squared residual: mean of (mu(z) − mu)².
    pub bin_error: f64,
    /// A bound on the absolute error of each of them.
    pub abs_error: f64,
    /// Their evaluation.
    pub method: Evaluation,
}

/// True finite difference of a bin, `f(hi, X_c) − f(lo, X_c)` given that x_s lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DifferenceTruth {
    /// Lower limit.
    pub lo: f64,
    /// Upper limit.
    pub hi: f64,
    /// Its mean.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
    /// A bound on the absolute error of both.
    pub abs_error: f64,
}
