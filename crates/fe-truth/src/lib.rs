//! Exact ground truths.
