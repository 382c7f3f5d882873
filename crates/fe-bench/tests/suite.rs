//! Tests of the program and its library, compiled as one program, whose tests run side by side: a file is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attacked;
mod automatic_bins;
mod band_widths;
mod bands;
mod convergence;
mod datasets;
mod describe;
mod edges;
mod effector_listings;
mod exact;
mod external;
mod files;
mod fitted;
mod front_page;
mod heiss;
mod heterogeneity_values;
mod layers;
mod levels;
mod local_means;
mod meaningless;
mod models;
mod page;
mod pair_studies;
mod papers;
mod plan;
mod points;
mod problem_files;
mod program;
mod quoted_figures;
mod reference;
mod refit_bands;
mod regional_studies;
mod reproduce;
mod runs;
mod score;
mod statistics;
mod studies;
mod tutorial;
mod words;

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
