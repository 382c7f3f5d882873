//! Modules import those before them and none after, and first lines of comments say what a thing is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../fe-core/tests/support/layers.rs"]
mod imports;

/// The order of the modules: each may import those of the steps before its own.
const ORDER: &[&[&str]] = &[
    &["error"],
    &["quantity"],
    &["expression", "numeric", "fast_math"],
    &["function"],
    &["law"],
    &["engine"],
    &["scenario"],
    &["truth"],
    &["fitted", "problem"],
];

/// Words that a first line does not begin with: it is a noun phrase.
const NO_NOUN: [&str; 8] = ["What", "How", "Whether", "Where", "Why", "Which", "When", "So many"];

/// All files of the crate by their path below `src`, each up to its tests.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned();
        (path.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/"), code)
    };
    imports::files(&src).into_iter().map(read).collect()
}

#[test]
fn imports_point_one_way() {
    let arrows = imports::arrows(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    assert!(arrows.len() > 100, "the reader has lost the imports: {}", arrows.len());
    let offences = imports::pointing_up(&arrows, ORDER);
    assert!(offences.is_empty(), "imports that point up:\n{}", offences.join("\n"));
    let rings = imports::rings(&arrows);
    assert!(rings.is_empty(), "rings of imports:\n{}", rings.join("\n"));
}

#[test]
fn first_lines_are_noun_phrases() {
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let mut before = "";
        for (number, line) in code.lines().enumerate() {
            let comment = |line: &str| {
                let line = line.trim_start();
                line.strip_prefix("///")
                    .or(line.strip_prefix("//!"))
                    .map(|rest| rest.trim().to_owned())
            };
            if let (Some(first), None) = (comment(line), comment(before)) {
                let begins =
                    |word: &&str| first.strip_prefix(*word).is_some_and(|r| r.starts_with(' '));
                if NO_NOUN.iter().any(begins) {
                    wrong.push(format!("{path}:{}: {first}", number + 1));
                }
            }
            before = line;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn headers_say_what_they_import_and_where_to_begin() {
    for module in ORDER.iter().copied().flatten() {
        let of = |path: &str| path == format!("{module}.rs") || path == format!("{module}/mod.rs");
        let (path, code) = sources().into_iter().find(|(path, _)| of(path)).unwrap();
        let header: String =
            code.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join(" ");
        assert!(header.contains("Imports") || header.contains("imports"), "{path}: {header}");
        assert!(
            header.to_lowercase().contains("begin") || module.contains("math"),
            "{path}: {header}"
        );
    }
}

#[test]
fn the_front_page_lists_all_scenarios_and_quantities() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let listed: Vec<(&str, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.strip_suffix(" |")?.split_once("` | "))
        .collect();
    let scenarios = fe_truth::scenarios();
    assert_eq!(listed.len(), scenarios.len() + fe_truth::Quantity::ALL.len());
    for (info, row) in scenarios.iter().zip(&listed) {
        assert_eq!((info.name, info.about), *row);
    }
    for (quantity, row) in fe_truth::Quantity::ALL.iter().zip(&listed[scenarios.len()..]) {
        assert_eq!(quantity.name(), row.0);
    }
}

#[test]
fn every_file_is_tested() {
    let untested = imports::untested(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(untested.is_empty(), "neither in tests/suite.rs nor in Cargo.toml: {untested:?}");
}
