//! Answers: the truths of a scenario, as its methods.
//!
//! Imports scenarios, the engine and what is below them; no problem file is known here. Begin with
//! `curves`, which holds the effects of one feature, and `heterogeneity` its values; `regional` and `tree` split by others, `in_region` judges
//! regions, `properties`
//! sums a scenario up, and `judge` refuses what is not accurate enough.

mod curves;
mod distance;
mod heterogeneity;
mod in_region;
mod judge;
mod properties;
mod regional;
mod tree;

pub use in_region::RegionTruth;
pub(crate) use judge::point;
pub use properties::Properties;
pub use regional::{RegionalTruth, Split};
pub use tree::{NodeSplit, RegionalNode, RegionalTree, TreeOptions};
