//! Exact ground truths of feature effects.
//!
//! A [`Scenario`] is a law of the features and a function of them. For every feature it gives the
//! true partial dependence, accumulated local effects, M-plot and their heterogeneity, and bin by
//! bin what an estimator converges to. Each value is a [`Truth`]: a number, a bound on its error,
//! and how it was obtained.
//!
//! ```
//! use fe_truth::{Centring, Quantity, scenario};
//!
//! # fn main() -> Result<(), fe_truth::Error> {
//! let scenario = scenario("sin-indicator", &[("noise_sd".into(), "0.1".into())])?;
//! let axis = scenario.axis(0);
//! let ale = scenario.curve(Quantity::Ale, 0, &[0.0], axis, Centring::None)?;
//! // The paper has −sin(2πx) where x < 0 and 0 elsewhere. The noise in x3 makes a bump at 0.
//! assert!((ale[0].value - 0.440).abs() < 1e-3);
//! assert!(ale[0].abs_error < 1e-9);
//! # Ok(())
//! # }
//! ```
//!
//! # Scenarios
//!
//! Those that are built in, as [`scenarios`] lists them; [`problem`] reads one from a file, and
//! [`Population`] draws some at random.
//!
//! | scenario | about |
//! |---|---|
//! | `liu-additive` | no interaction: correlation misleads only the M-plot |
//! | `liu-product` | pure interaction: PD and ALE differ under correlation |
//! | `liu-quadratic` | a main effect and an interaction |
//! | `sin-indicator` | an interaction through a sign, with a correlated feature: heterogeneity that a mean effect hides |
//! | `threshold-linear` | linear pieces whose limits move with a correlated feature; cases a (1 1 0), b (2 ½ 0) and c (1 1 1) of a1 a2 alpha |
//! | `piecewise-linear` | an effect that is linear on five pieces: what automatic bins should find |
//! | `friedman1` | independent features, an interaction, a square, two lines, and noise features |
//! | `friedman1-copula` | friedman1 with uniform features that are all equally correlated |
//! | `snc` | a line, a square and an interaction of strongly correlated features, and noise features |
//! | `null-feature` | x1 has no effect; an M-plot gives it that of x2 through their correlation |
//! | `nonlinear` | smooth effects that no bins fit exactly, with a correlated feature |
//! | `goldstein` | the effect of x2 turns around with the sign of x3, and the two cancel on average |
//! | `effector-regional` | a split at x3 = 0 leaves no heterogeneity of x1 |
//! | `conditional-interaction` | the sign of a square depends on x2, along which f jumps |
//! | `general-interaction` | a smooth interaction |
//! | `alibi-additive` | no interaction, independent features: all effects are the same up to a constant |
//! | `poly3` | a square, an interaction and a line |
//! | `feynman-i29-16` | a physical law with periodic features that have no effect on average |
//! | `apley-zhu` | an additive function of two nearly equal features: partial dependence extrapolates, the M-plot mixes the two effects |
//!
//! # Quantities
//!
//! Each is a function of one feature x_s; X_c is the rest of the features. [`Scenario::curve`] has them
//! all, [`Scenario::bins`] and [`Scenario::differences`] have means over bins, [`Scenario::values`] means
//! over an axis.
//!
//! | quantity | definition |
//! |---|---|
//! | `pd` | partial dependence, `E f(x, X_c)` |
//! | `dpd` | its derivative, `E ∂_s f(x, X_c)` |
//! | `mplot` | marginal plot, `E[f(X) \| x_s = x]` |
//! | `ale` | accumulated local effects, jumps included (Apley & Zhu 2020) |
//! | `ale-derivative` | accumulated local effects of the derivative, `∫ mu` (RHALE eq. 2) |
//! | `mu` | local effect, `E[∂_s f \| x_s = x]` (RHALE eq. 5) |
//! | `sigma` | standard deviation of `∂_s f` given x_s = x (RHALE eq. 6) |
//! | `h-pdp` | variance of centred ICE curves (EFFECTOR eq. 7) |
//! | `h-dpdp` | variance of `∂_s f(x, X_c)` (EFFECTOR eq. 9) |
//! | `main` | the terms of f that read x_s, where they read nothing else |
//! | `shap` | SHAP dependence, `E[φ_s \| x_s = x]` |
//! | `shap-variance` | `Var(φ_s \| x_s = x)` |
//!
//! [`Scenario::effects_of`] has them of another function under the same law: of a fitted model that is a sum of smooth
//! terms or of trees.
//!
//! [`Scenario::surface`] has `pd`, `ale` and `ale-derivative` of two features; [`PairEffect`] says what is
//! asked. [`Scenario::indices`] has numbers that say how much of f features and pairs have, as [`Index`]
//! lists them.
//!
//! # Where things are
//!
//! Features are counted from 0 here; messages call them `x1 … xD`. Each module imports those before it and
//! none after: `error`, `quantity`, [`expression`], `numeric` (quadrature, roots, special functions),
//! `fast_math` (vectorised functions for models), `function` (terms and where they break), `law` (laws that
//! condition and sample), `engine` (integrals of one over the other), `scenario` (the pair, and the closed
//! forms that are known), `truth` (answers: closed where there is a form, integrated where not), `fitted` (effects of
//! fitted models under the law), `problem` (scenarios in files). To see how a truth comes about, begin with [`Scenario::curve`].

mod engine;
mod error;
pub mod expression;
mod fast_math;
mod fitted;
mod function;
mod law;
mod numeric;
mod problem;
mod quantity;
mod scenario;
mod truth;

pub use error::Error;
pub use expression::Expression;
pub use fitted::FittedEffects;
pub use law::region::{Condition, Region};
pub use problem::{
    Correction, Dependence, Margin, Population, Published, RandomProblem, Subject, problem,
};
pub use quantity::{
    BinTruth, Centring, DifferenceTruth, Evaluation, HeterogeneityValue, Index, Quantity, Regional,
    Truth, Weighting,
};
pub use scenario::{Level, Scenario, ScenarioInfo, scenario, scenarios};
pub use truth::{
    IndexTruth, Indices, NodeSplit, PairEffect, Properties, RegionTruth, RegionalNode,
    RegionalTree, RegionalTruth, Split, TreeOptions,
};
