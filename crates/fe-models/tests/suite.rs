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
