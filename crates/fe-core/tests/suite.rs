//! Tests of estimators, compiled as one program, whose tests run side by side: a file is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod automatic_bins;
mod bad_input;
mod confidence;
mod costs;
mod decorators;
mod defaults;
mod degenerate_bands;
mod dense;
mod empty_bins;
mod few_values;
mod grid_options;
mod hostile;
mod importance;
mod individual_curves;
mod instances;
mod invariants;
mod known_answers;
mod layers;
mod level_parity;
mod levels;
mod marginal_plot;
mod pair_bands;
mod pair_parity;
mod partial;
mod penalized;
mod preset_options;
mod reconstruction;
mod records;
mod refits;
mod refitted_pairs;
mod regional;
mod replicates;
mod shap_dependence;
mod shapley;
mod spline;
mod steps;
mod subsample;
mod support;
mod two_features;

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
