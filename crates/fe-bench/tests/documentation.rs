//! The page on scenarios says what the registry says.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

/// A scenario without formulas, section or picture fails here, and so does a page that was not
/// made again after a change: `scripts/scenario-pictures.sh` makes it.
#[test]
fn scenarios_are_documented_as_registered() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("scenarios.md")).unwrap();
    let made = fe_bench::documentation::scenarios(&docs).unwrap();
    assert!(page == made, "docs/scenarios.md is stale: run scripts/scenario-pictures.sh");
    for info in fe_truth::scenarios() {
        let picture = docs.join(format!("pictures/{}.svg", info.name));
        let svg = std::fs::read_to_string(&picture)
            .unwrap_or_else(|error| panic!("{}: {error}", picture.display()));
        assert!(svg.starts_with("<svg") && svg.contains(info.name), "{}", picture.display());
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
