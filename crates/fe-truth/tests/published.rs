//! What was published about the problems of the shelf, by computation.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use fe_truth::{Scenario, problem};

/// Problems whose truths are simulated too widely, or infinite.
const REFUSED: [&str; 2] = ["borehole", "flooding"];

fn shelf() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/problems");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        problem(name, &text, &[]).unwrap_or_else(|error| panic!("{error}"))
    };
    paths.iter().map(read).collect()
}

#[test]
fn published_numbers_hold_or_stand_beside_the_right_ones() {
    let (mut held, mut wrong) = (0, 0);
    let mut failures = Vec::new();
    for scenario in shelf() {
        let name = scenario.info().name;
        for published in scenario.published() {
            let of = published.feature.map_or_else(String::new, |s| scenario.feature_name(s));
            let what = format!("{name}: {} {of} {}", published.what.name(), published.printed);
            match scenario.truth_of(&published) {
                Err(_) if REFUSED.contains(&name) => (),
                Err(error) => failures.push(format!("{what}: {error}")),
                Ok(truth) if published.distance(&truth) > 1.0 => {
                    failures.push(format!("{what}: {} ± {:e}", truth.value, truth.abs_error));
                }
                Ok(truth) if published.correction.is_some() && published.holds(&truth) => {
                    failures.push(format!("{what} holds: {truth:?}"));
                }
                Ok(_) if published.correction.is_some() => wrong += 1,
                Ok(_) => held += 1,
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(held >= 100 && wrong >= 3, "{held} {wrong}");
}
