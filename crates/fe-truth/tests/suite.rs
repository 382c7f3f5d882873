//! Tests of truths, compiled as one program, whose tests run side by side: a file is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accuracy;
mod bad_input;
mod bad_problems;
mod bounds;
mod boxes;
mod breaks;
mod common;
mod descendants;
mod errata;
mod expression;
mod far;
mod feynman;
mod feynman_regions;
mod heterogeneity;
mod indices;
mod interactions;
mod layers;
mod levels;
mod limits;
mod pairs;
mod population;
mod problem_words;
mod problems;
mod properties;
mod published;
mod quadrature;
mod region;
mod regional;
mod simulation;
mod tree;
