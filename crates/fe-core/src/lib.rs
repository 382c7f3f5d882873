//! Estimators of feature effects.
pub mod dataset;
pub mod error;
pub mod model;
pub use dataset::{Dataset, Kind};
pub use error::{Error, ModelError, Result};
pub use model::Model;
