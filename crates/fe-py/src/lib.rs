//! The harness for Python: exact truths, estimators and scores, with NumPy arrays in and out.
//!
//! This is the compiled part of the package `feature_effects_bench`; its face, with signatures and
//! documentation for Python users, is in `python/`. What it answers is what the program `fe-bench`
//! answers, to the bit. Features are counted from 1 on the Python side, rows from 0.

#![deny(missing_docs)]

mod arguments;
mod arrays;
mod callable;
mod calls;
mod effect;
mod errors;
mod estimate;
mod jacobian;
mod partial;
mod program;
mod questions;
mod refits;
mod regional;
mod registry;
mod scenario;
mod score;
mod surface;
mod threads;
mod truths;

use pyo3::prelude::*;

/// Exact truths, estimators and scores of feature effects: the compiled part.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrays::numbers;
    #[pymodule_export]
    use super::effect::{Curves, Effect};
    #[pymodule_export]
    use super::errors::{FeatureEffectsError, ModelError};
    #[pymodule_export]
    use super::estimate::{estimate, indices, partial, regional, surfaces};
    #[pymodule_export]
    use super::partial::PartialEffect;
    #[pymodule_export]
    use super::program::program;
    #[pymodule_export]
    use super::regional::RegionalEffect;
    #[pymodule_export]
    use super::registry::registry;
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::score::{score, score_effect, score_regional, score_surface};
    #[pymodule_export]
    use super::surface::Surface;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
