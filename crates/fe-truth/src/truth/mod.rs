//! Answers: the truths of a scenario, as its methods.
//!
//! Imports scenarios, the engine and what is below them; no problem file is known here. Begin with
//! `curves`, which holds the effects of one feature, `heterogeneity`, its values, `distance`, how far two are apart,
//! `pair`, those of two features, and `indices`, numbers that say how much of f they have; `regional` and `tree` split by
//! others, `in_region` judges
//! regions, `properties`
//! sums a scenario up, and `judge` refuses what is not accurate enough.

mod accumulated;
mod curves;
mod distance;
mod heterogeneity;
mod in_region;
mod indices;
mod judge;
mod pair;
mod properties;
mod regional;
mod tree;

pub use in_region::RegionTruth;
pub use indices::{IndexTruth, Indices};
pub(crate) use judge::point;
pub use pair::PairEffect;
pub use properties::Properties;
pub use regional::{RegionalTruth, Split};
pub use tree::{NodeSplit, RegionalNode, RegionalTree, TreeOptions};
