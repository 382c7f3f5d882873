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

/// A file that is no module would not be tested.
#[test]
fn every_file_is_tested() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let programs = include_str!("../Cargo.toml");
    for file in std::fs::read_dir(tests).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(name) = name.strip_suffix(".rs") {
            let is_module = include_str!("suite.rs").contains(&format!("\nmod {name};"));
            let is_program = programs.contains(&format!("\n[[test]]\nname = \"{name}\""));
            assert!(
                is_module || is_program,
                "{name}.rs is neither in tests/suite.rs nor in Cargo.toml"
            );
        }
    }
}
