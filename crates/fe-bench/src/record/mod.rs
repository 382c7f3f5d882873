//! Records: what `run` found, one row per value, with everything that identifies it.
//!
//! It imports `study`, `score` and what these import, and no runner. Begin with `columns`, the columns of each file; a
//! [`journal`] holds what is finished, `store` makes a results folder of it, [`results`] reads one, and [`merge`] makes one
//! of several.

pub mod bands;
mod columns;
pub mod compare;
pub mod decomposition;
pub mod empty_bins;
pub mod encode;
mod errors;
pub mod extend;
pub mod given;
pub mod journal;
pub mod kept_curves;
mod lines;
pub mod manifest;
pub mod measured;
pub mod merge;
pub mod precision;
pub mod results;
pub mod store;
pub mod summary;
pub mod timings;

pub use crate::study::key::{Column, Key};
pub use columns::{BinCount, BinRow, Cell, CurveErrors, Estimated, LeafPoint, TreeNode};
pub(crate) use columns::{ResultFile, TaskLines};
pub(crate) use errors::is_part;
