//! Widths of analytic bands beside those of the best number of fixed bins, as documents quote them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Least coverage with which a band of fixed bins is said to hold.
const HOLDS: f64 = 0.93;

type Setting = (String, String, String);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Coverage and width of `ale`, by scenario, feature and number of rows, and by number of bins.
fn bands(results: &str) -> BTreeMap<Setting, BTreeMap<String, [f64; 2]>> {
    let path = root().join(results).join("summary.csv");
    let mut all: BTreeMap<Setting, BTreeMap<String, [f64; 2]>> = BTreeMap::new();
    for row in csv::Reader::from_path(path).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
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
    let page = std::fs::read_to_string(root().join("docs/bands.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = format!(
        "is {mean:.2} times as wide, the geometric mean over {} settings; in {without} further ones none of the five holds",
        logs.len()
    );
    assert!(page.contains(&words), "{words}");
}
