//! The examples run, the guide quotes them as they are, and the front page lists what there is.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use fe_core::{binning, estimator, preset, regional};

#[path = "../examples/own_binning.rs"]
mod own_binning;
#[path = "../examples/own_estimator.rs"]
mod own_estimator;
#[path = "../examples/rhale.rs"]
mod rhale;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn examples_run() {
    rhale::main().unwrap();
    own_estimator::main().unwrap();
    own_binning::main().unwrap();
}

#[test]
fn the_guide_quotes_examples_as_they_are() {
    let guide = std::fs::read_to_string(folder().join("../../CONTRIBUTING.md")).unwrap();
    for name in ["own_estimator", "own_binning"] {
        let path = folder().join(format!("examples/{name}.rs"));
        let example = std::fs::read_to_string(&path).unwrap();
        assert!(guide.contains(&format!("```rust,ignore\n{example}```")), "{}", path.display());
    }
}

/// The tables of the front page. `UPDATE_DOCS=1` writes them.
#[test]
fn the_front_page_lists_what_there_is() {
    let table = |title: &str, rows: Vec<(&str, &str)>| {
        let rows: Vec<String> =
            rows.iter().map(|(name, about)| format!("//! | `{name}` | {about} |\n")).collect();
        format!("//! | {title} | what it is |\n//! |---|---|\n{}//!\n", rows.concat())
    };
    let estimators = estimator::ALL.iter().map(|info| (info.name, info.about));
    let in_regions = regional::ALL.iter().map(|info| (info.name, info.about));
    let tables = [
        table("estimator", estimators.chain(in_regions).collect()),
        table("binning", binning::ALL.iter().map(|info| (info.name, info.about)).collect()),
        table("preset", preset::ALL.iter().map(|preset| (preset.name, preset.about)).collect()),
    ];
    let page = folder().join("src/lib.rs");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("//! <!-- lists -->\n").unwrap();
    let (_, after) = rest.split_once("//! <!-- end of lists -->\n").unwrap();
    let lists = tables.concat();
    let made =
        format!("{before}//! <!-- lists -->\n//!\n{lists}//! <!-- end of lists -->\n{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&page, &made).unwrap();
        return;
    }
    assert!(text == made, "src/lib.rs is stale: UPDATE_DOCS=1 cargo test --test examples");
}
