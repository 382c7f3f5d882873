//! Models fitted to data, to be explained by the estimators of [`fe_core`].
//!
//! A [`Learner`] is found by name and takes options as pairs of key and value; it makes a
//! [`FittedModel`] of a [`Dataset`](fe_core::Dataset) and a target. That is a [`fe_core::Model`], so
//! every estimator takes it; some know their derivatives and their main effects too.
//!
//! ```
//! use fe_core::{Dataset, Settings, estimator};
//! use fe_models::Learner;
//!
//! let rows = ndarray::Array2::from_shape_fn((50, 2), |(i, j)| (i * (3 + 4 * j) % 50) as f64);
//! let data = Dataset::from_rows(&rows.view())?;
//! let y: Vec<f64> = rows.outer_iter().map(|x| 1.0 + 2.0 * x[0] - x[1]).collect();
//! let model = Learner::new("linear", &[])?.fit(&data, &y, 0)?;
//! let pdp = estimator::from_settings("pdp", &Settings::default())?;
//! let curve = &pdp.estimate(&data, model.as_ref(), 0)?[0].curve;
//! assert!((curve.at(30.0)? - curve.at(20.0)? - 20.0).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Learners
//!
//! A new one is a file and a line in [`ALL`].
//!
//! | learner | task | model |
//! |---|---|---|
//! | `linear` | regression | least squares |
//! | `gam` | regression | penalised B-splines, and tensor products of them |
//! | `gbdt` | regression | gradient-boosted trees |
//! | `logistic` | classification | multinomial logistic regression |
//! | `mlp` | regression | multilayer perceptron |
//!
//! # Stored formats
//!
//! A new one is a file in [`stored`] and a line of [`stored::Format::of`].
//!
//! | ending | written by |
//! |---|---|
//! | `.onnx` | exporters to ONNX: networks, linear models, tree ensembles |
//! | `.json` | XGBoost's `save_model` |
//! | `.txt` | LightGBM's `save_model` |

mod activation;
mod additive;
mod ensemble;
mod error;
mod fitted;
mod jacobi_svd;
mod learner;
mod levels;
mod options;
mod quality;
mod sample;
mod split;
pub mod stored;
mod streaming_qr;
mod tree_dependence;
mod tree_shapley;

pub use additive::additive_fit;
pub use error::{FitError, Result};
pub use fitted::{Fact, FittedModel};
pub use learner::{ALL, Learner, LearnerInfo, SumKind, Task, info};

pub use quality::Quality;
pub use split::{Part, Split};
