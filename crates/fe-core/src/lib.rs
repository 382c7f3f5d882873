//! Estimators of feature effects: the curves that explain a model one feature at a time.
//!
//! A [`Dataset`] and a [`Model`] go in; an [`Estimator`](estimator::Estimator) gives an
//! [`Effect`] for each output: a curve, its heterogeneity, its bins or grid, and a record of what
//! was done. Nothing here reads files or looks at a clock, and random numbers are drawn only from seeds
//! that are options.
//!
//! Features are counted from 0 here and called `x1 … xD` wherever people read them.
//!
//! ```
//! use fe_core::{Dataset, estimator::{Estimator, Rhale}, model::FunctionModel};
//!
//! let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| {
//!     if j == 0 { i as f64 / 99.0 } else { (i * 37 % 100) as f64 / 99.0 }
//! });
//! let data = Dataset::from_rows(&rows.view())?;
//! let model = FunctionModel::new(2, |x| x[0] * x[0] * x[1])
//!     .with_partial(|s, x| if s == 0 { 2.0 * x[0] * x[1] } else { x[0] * x[0] });
//! let effect = &Rhale::automatic()?.estimate(&data, &model, 0)?[0];
//! println!("{:?}", effect.curve.at_all(&[0.25, 0.75])?);
//! # Ok::<(), fe_core::Error>(())
//! ```

pub mod axis;
pub mod bands;
pub mod binning;
mod blocks;
pub mod centring;
pub mod confidence;
pub mod curve;
pub mod dataset;
pub mod dense;
pub mod density;
mod derivatives;
pub mod effect;
pub mod error;
pub mod estimator;
mod gauge;
pub mod heterogeneity;
pub mod importance;
mod instances;
pub mod interrupt;
mod local_effects;
pub mod metric;
pub mod model;
pub mod partition;
mod predictions;
pub mod preset;
pub mod quantiles;
pub mod reconstruction;
pub mod regional;
pub mod replicates;
mod selection;
pub mod settings;
pub mod shapley;
pub mod spline;
pub mod statistics;
pub mod stored;
mod subsample;
mod summary;
mod sums;
mod vector;

pub use axis::{Axis, AxisChoice};
pub use centring::Centring;
pub use curve::Curve;
pub use dataset::{Dataset, Kind};
pub use effect::Effect;
pub use error::{Error, ModelError, Result};
pub use model::Model;
pub use partition::Partition;
pub use settings::Settings;
