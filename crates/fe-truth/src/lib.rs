//! Exact ground truths of feature effects.
//!
//! A [`Scenario`] is a law of the features and a function of them. For every feature it gives the
//! true partial dependence, accumulated local effects, M-plot and their heterogeneity, and bin by
//! bin what an estimator converges to. Each value is a [`Truth`]: a number, a bound on its error,
//! and how it was obtained.
//!
//! ```
//! use fe_truth::{Centring, Effect, scenario};
//!
//! # fn main() -> Result<(), fe_truth::Error> {
//! let scenario = scenario("sin-indicator", &[("noise_sd".into(), "0.1".into())])?;
//! let axis = scenario.axis(0);
//! let ale = scenario.curve(Effect::Ale, 0, &[0.0], axis, Centring::None)?;
//! // The paper has −sin(2πx) where x < 0 and 0 elsewhere. The noise in x3 makes a bump at 0.
//! assert!((ale[0].value - 0.440).abs() < 1e-3);
//! assert!(ale[0].abs_error < 1e-9);
//! # Ok(())
//! # }
//! ```
//!
//! Features are counted from 0 here; messages call them `x1 … xD`.
//!
//! How it is built: `law` conditions and samples, `function` declares terms and where they break,
//! `engine` integrates one over the other, and a file in `scenario` names the pair and the closed
//! forms that are known. Where there is none, the engine answers.

mod closed;
mod engine;
mod error;
mod exponential;
pub mod expression;
mod factors;
mod function;
mod kinds;
mod law;
mod limit;
mod moving;
mod nest;
mod problem;
mod quadrature;
mod region;
mod regional;
mod scenario;
mod shapley;
mod special;
mod tree;
mod truth;
mod watch;
mod wave;

pub use error::Error;
pub use expression::Expression;
pub use kinds::{BinTruth, Centring, DifferenceTruth, Effect, Method, Regional, Truth, Weighting};
pub use problem::problem;
pub use region::Region;
pub use regional::{RegionalTruth, Split};
pub use scenario::{ParameterInfo, Scenario, ScenarioInfo, scenario, scenarios};
pub use tree::{NodeSplit, RegionalNode, RegionalTree, TreeOptions};
