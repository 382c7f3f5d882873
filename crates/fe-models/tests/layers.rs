//! Imports of fe-models point one way: from learners and stored models down to their means.

#![allow(clippy::unwrap_used)]

use std::path::Path;

#[path = "../../fe-core/tests/support/layers.rs"]
mod imports;

/// The order of the modules: each may import those of the steps before its own.
const ORDER: &[&[&str]] = &[
    &["error", "activation", "ensemble", "jacobi_svd", "streaming_qr"],
    &["fitted", "options", "sample", "split", "tree_dependence", "tree_shapley"],
    &["levels"],
    &["learner", "stored"],
    &["additive", "quality"],
];

#[test]
fn imports_point_one_way() {
    let arrows = imports::arrows(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    assert!(arrows.len() > 30, "the reader has lost the imports: {}", arrows.len());
    let offences = imports::pointing_up(&arrows, ORDER);
    assert!(offences.is_empty(), "imports that point up:\n{}", offences.join("\n"));
    let rings = imports::rings(&arrows);
    assert!(rings.is_empty(), "rings of imports:\n{}", rings.join("\n"));
}

#[test]
fn every_file_is_tested() {
    let untested = imports::untested(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(untested.is_empty(), "neither in tests/suite.rs nor in Cargo.toml: {untested:?}");
}
