//! Imports of fe-bench point one way: from commands down to files and errors.

#![allow(clippy::unwrap_used)]

use std::path::Path;

#[path = "../../fe-core/tests/support/layers.rs"]
mod imports;

/// The order of the folders: each may import those of the steps before its own.
const ORDER: &[&[&str]] = &[
    &["error"],
    &["system"],
    &["output"],
    &["data"],
    &["score"],
    &["engines", "check"],
    &["study"],
    &["record"],
    &["run", "table", "plot"],
    &["report"],
    &["cli"],
];

#[test]
fn imports_point_one_way() {
    let arrows = imports::arrows(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    assert!(arrows.len() > 100, "the reader has lost the imports: {}", arrows.len());
    let offences = imports::pointing_up(&arrows, ORDER);
    assert!(offences.is_empty(), "imports that point up:\n{}", offences.join("\n"));
    let rings = imports::rings(&arrows);
    assert!(rings.is_empty(), "rings of imports:\n{}", rings.join("\n"));
}

/// The order of the files of fe-py: each may import those of the steps before its own.
const ORDER_OF_PYTHON: &[&[&str]] = &[
    &["errors"],
    &["arguments", "arrays", "threads"],
    &["questions"],
    &["callable"],
    &["jacobian"],
    &["calls", "effect", "registry", "program", "truths"],
    &["surface", "partial", "refits"],
    &["scenario", "regional"],
    &["estimate", "score"],
];

/// The package for Python is a library that Python loads, which no test of its own can be linked to.
#[test]
fn imports_of_the_package_for_python_point_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fe-py/src");
    let arrows = imports::arrows(&src);
    assert!(arrows.len() > 20, "the reader has lost the imports: {}", arrows.len());
    let offences = imports::pointing_up(&arrows, ORDER_OF_PYTHON);
    assert!(offences.is_empty(), "imports that point up:\n{}", offences.join("\n"));
    let rings = imports::rings(&arrows);
    assert!(rings.is_empty(), "rings of imports:\n{}", rings.join("\n"));
}

/// Where comments begin as the test below asks.
const SOURCES: [&str; 4] = ["src", "../fe-models/src", "../fe-py/src", "../../benches"];

/// A comment that something begins with, if it says what, how, whether or where instead of a noun. What the command line
/// or Python prints is told to people in their own way.
fn offence(lines: &[&str], at: usize) -> bool {
    let is_comment = |line: &str| line.starts_with("///") || line.starts_with("//!");
    let words = lines[at].trim_start_matches(['/', '!']).trim_start();
    let begins = is_comment(lines[at]) && (at == 0 || !is_comment(lines[at - 1]));
    const ASKING: [&str; 8] =
        ["What ", "How ", "Whether ", "Where ", "Why ", "Which ", "When ", "That "];
    let asks = ASKING.iter().any(|word| words.starts_with(word));
    let next = lines[at..].iter().find(|line| !is_comment(line)).copied().unwrap_or_default();
    const PRINTED: [&str; 9] = [
        "#[arg",
        "#[command",
        "#[derive(Debug, Args)",
        "#[getter",
        "#[staticmethod",
        "#[classmethod",
        "#[pyo3",
        "fn __",
        "fn to_json",
    ];
    begins && asks && !PRINTED.iter().any(|printed| next.starts_with(printed))
}

#[test]
fn first_lines_of_comments_are_noun_phrases() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for file in SOURCES.iter().flat_map(|folder| imports::files(&manifest.join(folder))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let found = (0..lines.len()).filter(|at| offence(&lines, *at));
        wrong.extend(found.map(|at| format!("{}:{}: {}", file.display(), at + 1, lines[at])));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(offence(&["", "/// Whether it is so.", "fn f() {}"], 1));
    assert!(!offence(&["/// A thing.", "/// What it is.", "fn f() {}"], 1));
}

#[test]
fn every_file_is_tested() {
    let untested = imports::untested(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(untested.is_empty(), "neither in tests/suite.rs nor in Cargo.toml: {untested:?}");
}
