//! Elementary functions in forms that compilers turn into vector instructions: for models, never for
//! truths. Imports nothing of this crate.

pub(crate) mod exponential;
pub(crate) mod wave;
