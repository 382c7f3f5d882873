//! Coverage of analytic bands, and widths beside those of the best number of fixed bins, as documents quote them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Least coverage with which a band of fixed bins is said to hold.
const HOLDS: f64 = 0.93;

/// Most that bands may be wider on average than the narrowest that holds.
const MOST_WIDE: f64 = 1.3;

type Setting = (String, String, String);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows(results: &str) -> Vec<BTreeMap<String, String>> {
    let path = root().join(results).join("summary.csv");
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

/// The page on one line.
fn page() -> String {
    let page = std::fs::read_to_string(root().join("docs/bands.md")).unwrap();
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Coverage and width of `ale`, by scenario, feature and number of rows, and by number of bins.
fn bands(results: &str) -> BTreeMap<Setting, BTreeMap<String, [f64; 2]>> {
    let mut all: BTreeMap<Setting, BTreeMap<String, [f64; 2]>> = BTreeMap::new();
    for row in rows(results) {
        let place = match row["metric"].as_str() {
            "coverage" => 0,
            "width" => 1,
            _ => continue,
        };
        let (true, Ok(mean)) = (row["estimator"] == "ale", row["mean"].parse::<f64>()) else {
            continue;
        };
        let setting = ["scenario", "feature", "N"].map(|column| row[column].clone()).into();
        let of_bins = all.entry(setting).or_default().entry(row["K"].clone()).or_default();
        of_bins[place] = mean;
    }
    all
}

#[test]
fn documents_quote_how_wide_bands_are_beside_the_best_number_of_bins() {
    let (cells, fixed) = (bands("results/bands-cells"), bands("results/bands-fixed-bins"));
    let (mut logs, mut without) = (Vec::new(), 0);
    for (setting, own) in &cells {
        let [coverage, width] = *own.values().next().unwrap();
        if coverage == 0.0 {
            continue;
        }
        let of_bins = fixed.get(setting).into_iter().flat_map(BTreeMap::values);
        let holding = of_bins.filter(|[coverage, _]| *coverage >= HOLDS);
        match holding.map(|[_, width]| *width).reduce(f64::min) {
            Some(best) => logs.push((width / best).ln()),
            None => without += 1,
        }
    }
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    assert!(mean <= MOST_WIDE, "{mean}");
    let words = format!(
        "is {mean:.2} times as wide, the geometric mean over {} settings; in {without} further ones none of the five holds",
        logs.len()
    );
    assert!(page().contains(&words), "{words}");
}

#[test]
fn documents_quote_how_many_bands_hold_as_often_as_they_say() {
    let mut all: BTreeMap<[String; 4], [Option<f64>; 2]> = BTreeMap::new();
    for row in rows("results/bands-cells") {
        let place = match row["metric"].as_str() {
            "coverage" => 0,
            "simultaneous_coverage" => 1,
            _ => continue,
        };
        let setting = ["scenario", "feature", "N", "estimator"].map(|column| row[column].clone());
        all.entry(setting).or_default()[place] = row["mean"].parse().ok();
    }
    let (mut within, mut below, mut above) = (0, 0, 0);
    for coverage in all.values() {
        let &[Some(pointwise), Some(whole)] = coverage else { continue };
        if pointwise < 0.93 || whole < 0.92 {
            below += 1;
        } else if pointwise > 0.97 || whole > 0.98 {
            above += 1;
        } else {
            within += 1;
        }
    }
    let count = within + below + above;
    let words = format!(
        "Of the {count} settings that have a coverage {within} lie between 0.93 and 0.97 along the grid and between 0.92 \
         and 0.98 as a whole, {below} lie below and {above} above."
    );
    assert!(page().contains(&words), "{words}");
}
