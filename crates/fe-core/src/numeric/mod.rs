//! Numerical building blocks that know neither models nor data sets: axes, partitions, curves, sums.
//!
//! May import `error`, `interrupt` and `stored`. Begin with [`axis`] and [`partition`], which everything else
//! is about; then [`moments`], which everything is summed up by.

pub mod axis;
pub(crate) mod blocks;
pub mod curve;
pub mod interpolation;
pub mod kde;
pub mod moments;
pub(crate) mod order_statistics;
pub(crate) mod parallel;
pub mod partition;
pub mod quantiles;
pub mod regression;
pub mod simd;
pub mod spline;
pub(crate) mod sums;
