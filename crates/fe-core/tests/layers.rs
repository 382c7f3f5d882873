//! Imports point one way: from estimators down to numbers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

#[path = "support/layers.rs"]
mod imports;

/// The order of the modules: each may import those of the steps before its own.
const ORDER: &[&[&str]] = &[
    &["error", "interrupt", "option", "stored"],
    &["numeric"],
    &["model"],
    &["data"],
    &["settings"],
    &["effect", "binning"],
    &["confidence", "metric"],
    &["estimator"],
    &["regional", "indices", "preset", "reconstruction", "refits", "replicates"],
    &["registries"],
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

/// The first line of a comment says what a thing is, and not "what it does". The table of options is left out: its
/// comments are the help.
#[test]
fn comments_begin_with_what_a_thing_is() {
    const REFUSED: [&str; 7] = ["What", "How", "Whether", "Where", "Which", "Why", "That"];
    let comment = |line: &str| {
        let text = line.trim_start();
        text.strip_prefix("///").or(text.strip_prefix("//!")).map(|text| text.trim().to_owned())
    };
    let mut offences = Vec::new();
    for file in imports::files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let is_first = at == 0 || comment(lines[at - 1]).is_none();
            let Some(text) = comment(line).filter(|_| is_first) else { continue };
            let word = text.split(' ').next().unwrap_or_default();
            if REFUSED.contains(&word) && !file.ends_with("settings/table.rs") {
                offences.push(format!("{}:{}: {text}", file.display(), at + 1));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Every module at the top says what it may import.
#[test]
fn modules_say_what_they_may_import() {
    let src = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    for module in ORDER.iter().copied().flatten() {
        let files = [src.join(format!("{module}.rs")), src.join(format!("{module}/mod.rs"))];
        let text = files.iter().find_map(|file| std::fs::read_to_string(file).ok()).unwrap();
        let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let says = header.contains("May import") || header.contains("Imports nothing");
        assert!(says, "the header of `{module}` does not say what it may import");
    }
}

/// The reader finds what it is for: an import through `super`, one in braces, one by a path in the code.
#[test]
fn imports_that_point_up_and_rings_are_found() {
    let folder = tempfile();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    std::fs::create_dir_all(folder.join("high")).unwrap();
    write("lib.rs", "pub mod low;\npub mod high;\npub use high::Top;\n");
    write("low.rs", "use std::fmt;\nuse crate::{\n    Top,\n};\nstruct Number;\n");
    write("high/mod.rs", "mod a;\nmod b;\npub use a::A;\npub struct Top;\n");
    write("high/a.rs", "use super::b::{self, B};\npub struct A;\n");
    write("high/b.rs", "//! Of [`crate::high`].\nfn f(_: super::A, _: crate::low::Number) {}\n");
    let arrows = imports::arrows(&folder);
    assert_eq!(imports::pointing_up(&arrows, &[&["low"], &["high"]]), ["low imports high"]);
    let rings = imports::rings(&arrows);
    assert_eq!(rings, ["in ``: high → low, low → high", "in `high`: a → b, b → a"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("layers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_file_is_tested() {
    let untested = imports::untested(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(untested.is_empty(), "neither in tests/suite.rs nor in Cargo.toml: {untested:?}");
}
