//! The page on scenarios says what the registry says.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use fe_bench::data::shelf;
use fe_bench::report::problem_page;

/// A scenario without formulas, section or picture fails here, and so does a page that was not
/// made again after a change: `scripts/scenario-pictures.sh` makes it.
#[test]
fn scenarios_are_documented_as_registered() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("scenarios.md")).unwrap();
    let made = fe_bench::report::scenario_page::scenarios(&docs).unwrap();
    assert!(page == made, "docs/scenarios.md is stale: run scripts/scenario-pictures.sh");
    for info in fe_truth::scenarios() {
        let picture = docs.join(format!("pictures/{}.svg", info.name));
        let svg = std::fs::read_to_string(&picture)
            .unwrap_or_else(|error| panic!("{}: {error}", picture.display()));
        assert!(svg.starts_with("<svg") && svg.contains(info.name), "{}", picture.display());
    }
}

/// The table of options in the guide to studies is that of the library. `UPDATE_DOCS=1` writes it.
#[test]
fn options_are_documented_as_they_are() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/README.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- options -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of options -->").unwrap();
    let table = fe_bench::report::option_table::markdown();
    let made = format!("{before}<!-- options -->\n{table}<!-- end of options -->{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&page, &made).unwrap();
        return;
    }
    assert!(
        text == made,
        "scenarios/README.md is stale: UPDATE_DOCS=1 cargo test --test documentation"
    );
}

/// A problem file without picture fails here, and so does a page that was not made again after a
/// change: `scripts/problem-pictures.sh` makes both, `UPDATE_DOCS=1` the page alone.
#[test]
fn problems_are_documented_as_their_files_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let problems = shelf::read(&root.join(shelf::FOLDER)).unwrap();
    let page = std::fs::read_to_string(root.join("docs/problems.md")).unwrap();
    let made = problem_page::problems(&problems);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root.join("docs/problems.md"), &made).unwrap();
        return;
    }
    assert!(page == made, "docs/problems.md is stale: run scripts/problem-pictures.sh");
    for problem in &problems {
        let name = problem.scenario.info().name;
        if problem_page::UNDRAWN.contains(&name) {
            continue;
        }
        let picture = root.join(format!("docs/pictures/problems/{name}.svg"));
        let svg = std::fs::read_to_string(&picture)
            .unwrap_or_else(|error| panic!("{}: {error}", picture.display()));
        assert!(svg.starts_with("<svg") && svg.contains(name), "{}", picture.display());
    }
}

/// The page on presets names each of them, and every option that one of them sets.
#[test]
fn presets_are_documented_as_registered() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("presets.md")).unwrap();
    for preset in fe_core::preset::ALL {
        let library = preset.name.rsplit_once('-').unwrap();
        let title =
            page.to_lowercase().replace("scikit-learn", "sklearn").replace("heiß et al.", "heiss");
        assert!(title.contains(&format!("{} {}", library.0, library.1)), "{}", preset.name);
        for estimator in preset.estimators() {
            for option in preset.settings(estimator).unwrap().given() {
                let named =
                    option == "grid" || option == "bins" || page.contains(&format!("`{option}`"));
                assert!(
                    named,
                    "docs/presets.md does not say what {} does with {option}",
                    preset.name
                );
            }
        }
    }
}
