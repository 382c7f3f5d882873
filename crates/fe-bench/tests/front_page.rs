//! The front pages of the documentation list what there is: commands, metrics, engines, learners and stored
//! formats, held against the registries.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use fe_bench::score::METRICS;
use fe_models::stored::Format;

/// The first column of the table below a heading, without the marks of code.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.trim_start_matches("//!").trim());
    let mut section = lines.skip_while(|line| *line != format!("# {heading}")).skip(1);
    let rows = section.by_ref().take_while(|line| !line.starts_with("# "));
    let cell = |row: &str| Some(row.strip_prefix("| `")?.split('`').next()?.to_owned());
    rows.filter_map(cell).collect()
}

#[test]
fn metrics() {
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name()).collect();
    assert_eq!(listed("src/lib.rs", "Metrics"), names);
}

#[test]
fn commands() {
    let help = Command::new(env!("CARGO_BIN_EXE_fe-bench")).arg("-h").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let of_commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> = of_commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    let shown = listed("src/lib.rs", "Commands");
    // Those that other programs start are no part of the help.
    let shown: Vec<&String> = shown.iter().filter(|name| *name != "serve").collect();
    assert_eq!(shown, names);
}

#[test]
fn engines() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/adapters/engines.toml");
    let declared: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let names: Vec<&str> = declared["engine"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed("src/lib.rs", "Engines"), names);
}

#[test]
fn folders() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names: Vec<String> = std::fs::read_dir(src)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some() || path.join("mod.rs").exists())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "lib" && name != "main")
        .collect();
    names.sort();
    let mut shown = listed("src/lib.rs", "Folders");
    shown.sort();
    assert_eq!(shown, names);
}

#[test]
fn learners_and_stored_formats() {
    let names: Vec<&str> = fe_models::ALL.iter().map(|learner| learner.name).collect();
    assert_eq!(listed("../fe-models/src/lib.rs", "Learners"), names);
    let endings = listed("../fe-models/src/lib.rs", "Stored formats");
    assert_eq!(endings.len(), 3);
    assert!(
        endings.iter().all(|ending| Format::of(Path::new(&format!("model{ending}"))).is_some())
    );
}
