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

    /// True for quantities that are over the law of the other features given a value of the feature.
    pub(crate) const fn is_given_feature(self) -> bool {
        matches!(self, Self::Mplot | Self::Mu | Self::Sigma | Self::Shap | Self::ShapVariance)
    }
}

/// A number that says how much of f a feature, a pair of features, or a sum of effects has.
///
/// F are partial dependences, each centred over the law; outer means are over the joint law of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Index {
    /// Standard deviation of the partial dependence of a feature over its law, in units of f.
    #[serde(rename = "pd.sd")]
    PdSd,
    /// Standard deviation of the ALE of a feature over its law, jumps included, in units of f.
    #[serde(rename = "ale.sd")]
    AleSd,
    /// The same of the derivative form, without jumps.
    #[serde(rename = "ale-derivative.sd")]
    AleDerivativeSd,
    /// `E(F − F_s − F_rest)² / E F²` (Friedman & Popescu 2008, eq. 46).
    #[serde(rename = "h2.overall")]
    H2Overall,
    /// Root of the numerator of `h2.overall`, in units of f.
    #[serde(rename = "h.overall")]
    HOverall,
    /// Numerator of `h2.overall` over Var f.
    #[serde(rename = "h2.overall.share")]
    H2OverallShare,
    /// First-order Sobol' index: `Var E[f | X_s] / Var f`, of independent features.
    #[serde(rename = "sobol.first")]
    SobolFirst,
    /// Total Sobol' index: `E Var[f | X_rest] / Var f`, of independent features.
    #[serde(rename = "sobol.total")]
    SobolTotal,
    /// Shapley effect, of the game `v(Q) = Var E[f | X_Q]`: they add up to Var f, whose unit they have.
    #[serde(rename = "shapley-effect")]
    ShapleyEffect,
    /// The same over Var f.
    #[serde(rename = "shapley-effect.share")]
    ShapleyShare,
    /// `E (∂_s f)²`, jumps left out.
    #[serde(rename = "dgsm")]
    Dgsm,
    /// `E(F_jk − F_j − F_k)² / E F_jk²` (Friedman & Popescu 2008, eq. 44).
    #[serde(rename = "h2.pair")]
    H2Pair,
    /// Root of the numerator of `h2.pair`, in units of f.
    #[serde(rename = "h.pair")]
    HPair,
    /// Numerator of `h2.pair` over Var f.
    #[serde(rename = "h2.pair.share")]
    H2PairShare,
    /// Standard deviation of the second-order ALE of a pair over its joint law, jumps included, in units of f.
    #[serde(rename = "ale2.sd")]
    Ale2Sd,
    /// The same of the derivative form, without jumps.
    #[serde(rename = "ale2-derivative.sd")]
    Ale2DerivativeSd,
    /// Sobol' index of the interaction of a pair alone, of independent features.
    #[serde(rename = "sobol.pair")]
    SobolPair,
    /// `1 − Var(f − Σ F_s) / Var f`; it may be negative under dependence.
    #[serde(rename = "additive.r2.pd")]
    AdditiveR2Pd,
    /// The same with ALE in place of PD, jumps included.
    #[serde(rename = "additive.r2.ale")]
    AdditiveR2Ale,
    /// The same with the derivative form of ALE.
    #[serde(rename = "additive.r2.ale-derivative")]
    AdditiveR2AleDerivative,
}

named!(
    Index,
    "index",
    PdSd = "pd.sd",
    AleSd = "ale.sd",
    AleDerivativeSd = "ale-derivative.sd",
    H2Overall = "h2.overall",
    HOverall = "h.overall",
    H2OverallShare = "h2.overall.share",
    SobolFirst = "sobol.first",
    SobolTotal = "sobol.total",
    ShapleyEffect = "shapley-effect",
    ShapleyShare = "shapley-effect.share",
    Dgsm = "dgsm",
    H2Pair = "h2.pair",
    HPair = "h.pair",
    H2PairShare = "h2.pair.share",
    Ale2Sd = "ale2.sd",
    Ale2DerivativeSd = "ale2-derivative.sd",
    SobolPair = "sobol.pair",
    AdditiveR2Pd = "additive.r2.pd",
    AdditiveR2Ale = "additive.r2.ale",
    AdditiveR2AleDerivative = "additive.r2.ale-derivative",
);

impl Index {
    /// Number of features that it is of: 1, 2 of a pair, or 0 of the function as a whole.
    #[must_use]
    pub const fn order(self) -> usize {
        match self {
            Self::AdditiveR2Pd | Self::AdditiveR2Ale | Self::AdditiveR2AleDerivative => 0,
            Self::H2Pair
            | Self::HPair
            | Self::H2PairShare
            | Self::Ale2Sd
            | Self::Ale2DerivativeSd
            | Self::SobolPair => 2,
            _ => 1,
        }
    }

    /// True if it is a quotient, without a unit: the others have the unit of f, or of its square.
    ///
    /// ```
    /// use fe_truth::Index;
    /// assert!(Index::SobolPair.is_share() && !Index::HPair.is_share());
    /// ```
    #[must_use]
    pub const fn is_share(self) -> bool {
        !matches!(
            self,
            Self::PdSd
                | Self::AleSd
                | Self::AleDerivativeSd
                | Self::HOverall
                | Self::ShapleyEffect
                | Self::Dgsm
                | Self::HPair
                | Self::Ale2Sd
                | Self::Ale2DerivativeSd
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_sums_add_up() {
        let of = |value, abs_error| Truth { value, abs_error, method: Evaluation::Closed };
        let (sum, difference) =
            (of(1.0, 0.25).plus(of(2.0, 0.5)), of(1.0, 0.25).minus(of(2.0, 0.5)));
        assert_eq!((sum.value, sum.abs_error), (3.0, 0.75));
        assert_eq!((difference.value, difference.abs_error), (-1.0, 0.75));
        assert!(of(1.0, 0.0).told(String::new).is_ok());
        for truth in [of(f64::INFINITY, 0.0), of(1.0, f64::INFINITY), of(f64::NAN, 0.0)] {
            assert!(truth.told(|| "much".into()).is_err(), "{truth:?}");
        }
    }
}
