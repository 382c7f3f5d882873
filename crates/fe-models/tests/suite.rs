//! Tests of models and learners, compiled as one program, whose tests run side by side: a file is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_samples;
mod fits;
mod layers;
mod levels;
mod mlp;
mod recorded;
mod stored;
mod support;
