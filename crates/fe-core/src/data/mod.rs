//! Data sets, and what is taken from them before anything is estimated.
//!
//! May import `numeric` and `model`. Begin with [`Dataset`].

mod axis_choice;
mod dataset;
mod levels;
pub(crate) mod subsample;
mod summary;

pub use axis_choice::AxisChoice;
pub use dataset::{Dataset, FeatureKind};
pub use levels::LevelNames;
pub(crate) use levels::Levels;
pub use subsample::SubsampleRecord;
