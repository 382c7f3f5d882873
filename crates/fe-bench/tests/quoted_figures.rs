//! Figures that documents quote are those of the committed results.
//!
//! A document says where its figures come from in comments that no reader of the page sees:
//!
//! ```text
//! <!-- figures from results/papers/rhale-fig-7/summary.csv
//! 0.0847 ± 0.0023: parameters=sigma2=0.5;intercepts=continuous, estimator=dale, K=20, metric=L_mu
//! 7.9: estimator=rhale, metric=bins
//! -->
//! ```
//!
//! The keys name one row of the file; the figure is its `mean`, with its `se` after ±, to the digits that are
//! printed; another column is named by `column=`, and has its error under the same name with `_se`. In a file with a
//! column `column` it is named by `value=`. Trees as text have a row a feature: `split` is what it is first split by,
//! `drop` by how many per cent heterogeneity falls then, `change` the same with its sign.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

const OPENING: &str = "<!-- figures from ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Documents that quote figures.
fn documents() -> Vec<PathBuf> {
    let mut found =
        ["README.md", "CONTRIBUTING.md", "results/README.md", "results/league/README.md"]
            .map(|page| root().join(page))
            .to_vec();
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The text without comments, on one line, as figures may be broken at its end.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number that `text` prints, and half a unit of its last digit.
fn printed(text: &str, exponent: i32) -> (f64, f64) {
    let (digits, own) = text.split_once('e').unwrap_or((text, "0"));
    let exponent = exponent + own.parse::<i32>().unwrap_or_else(|_| panic!("{text}: no number"));
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let value: f64 =
        digits.replace('−', "-").parse().unwrap_or_else(|_| panic!("{text}: no number"));
    let unit = 10_f64.powi(exponent - i32::try_from(decimals).unwrap());
    (value * 10_f64.powi(exponent), unit / 2.0)
}

/// `a ± b`, `(a ± b)e-5` or `a`, as the numbers and their half units.
fn figures(text: &str) -> Vec<(f64, f64)> {
    let (inner, exponent) = match text.strip_prefix('(').and_then(|rest| rest.split_once(")e")) {
        Some((inner, exponent)) => (inner, exponent.parse().unwrap()),
        None => (text, 0),
    };
    let number = |text: &str| printed(text.trim().trim_end_matches(" %"), exponent);
    inner.split('±').map(number).collect()
}

type Rows = Vec<HashMap<String, String>>;

/// The first splits of trees as `effect --format table` prints them.
fn trees(path: &Path) -> Rows {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let first_split = |tree: &str| {
        let feature = tree.split_once(": ")?.0;
        let split = tree.lines().find_map(|line| line.strip_prefix("    "))?.split(' ').next()?;
        let level = tree.lines().find(|line| line.starts_with("level 1: "))?;
        let drop = level.split_once("drop ")?.1.strip_suffix(" %")?;
        let row = [("drop", drop), ("change", &format!("-{drop}")), ("feature", feature)];
        let row = row.into_iter().chain([("split", split)]);
        Some(row.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    };
    text.split("\n\n")
        .map(|tree| first_split(tree).unwrap_or_else(|| panic!("{}: {tree}", path.display())))
        .collect()
}

fn read(path: &Path) -> Rows {
    if path.extension().is_some_and(|extension| extension == "txt") {
        return trees(path);
    }
    let mut reader =
        csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn check(shown: &str, rows: &Rows, line: &str) -> Result<(), String> {
    let (figure, keys) = line.split_once(": ").ok_or("has no keys")?;
    if !shown.contains(figure) {
        return Err("is not in the text".to_owned());
    }
    let keys: Vec<(&str, &str)> =
        keys.split(", ").filter_map(|key| key.trim().split_once('=')).collect();
    let has_columns = rows.first().is_some_and(|row| row.contains_key("column"));
    let naming = if has_columns { "value" } else { "column" };
    let matches = |row: &&HashMap<String, String>| {
        keys.iter()
            .all(|(name, value)| *name == naming || row.get(*name).is_some_and(|v| v == value))
    };
    let found: Vec<_> = rows.iter().filter(matches).collect();
    let [row] = found[..] else { return Err(format!("fits {} rows", found.len())) };
    let column =
        keys.iter().find(|(name, _)| *name == naming).map_or("mean", |(_, column)| *column);
    let own_error = format!("{column}_se");
    let error = if row.contains_key(&own_error) { &own_error } else { "se" };
    for ((number, half), column) in figures(figure).into_iter().zip([column, error]) {
        let value: f64 = row[column].parse().map_err(|_| format!("{column} is no number"))?;
        // Half a unit, and what the product with a power of ten may be off.
        if (value - number).abs() > half * (1.0 + 1e-9) {
            return Err(format!("{column} is {value}"));
        }
    }
    Ok(())
}

#[test]
fn quoted_figures_are_those_of_the_results() {
    let (mut quoted, mut wrong) = (0, Vec::new());
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let shown = visible(&text);
        for block in text.split(OPENING).skip(1) {
            let (head, _) = block.split_once("-->").unwrap();
            let mut lines = head.lines();
            let file = lines.next().unwrap().trim();
            let rows = read(&root().join(file));
            for line in lines.filter(|line| !line.trim().is_empty()) {
                quoted += 1;
                if let Err(why) = check(&shown, &rows, line.trim()) {
                    wrong.push(format!("{}: {file}: {line}: {why}", document.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(quoted > 60, "only {quoted} figures say where they come from");
}

/// Every mean with a standard error in the results' page says where it comes from.
#[test]
fn means_of_the_results_page_have_a_source() {
    let text = std::fs::read_to_string(root().join("results/README.md")).unwrap();
    let shown = visible(&text);
    let sources: Vec<&str> = text
        .split(OPENING)
        .skip(1)
        .flat_map(|block| block.split_once("-->").unwrap().0.lines().skip(1))
        .filter_map(|line| line.split_once(": ").map(|(figure, _)| figure))
        .collect();
    let words: Vec<&str> = shown.split(' ').collect();
    let missing: Vec<String> = words
        .windows(3)
        .filter(|three| three[1] == "±" && three[0].ends_with(|c: char| c.is_ascii_digit()))
        .map(|three| three.join(" ").trim_end_matches([',', '.', ';', ':']).to_owned())
        .filter(|figure| {
            let bare = figure.trim_end_matches(')');
            !sources.iter().any(|source| *source == figure || *source == bare)
        })
        .collect();
    assert!(missing.is_empty(), "no source is given for {missing:?}");
}

/// Folders with means, below a folder.
fn result_folders(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("summary.csv").exists() && folder.join("tables.md").exists() {
        found.push(folder.to_path_buf());
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Results of this machine are not committed.
        if path.is_dir() && !path.ends_with("results/runs") {
            result_folders(&path, found);
        }
    }
}

#[test]
fn committed_results_were_made_from_committed_sources() {
    let results = root().join("results");
    let mut folders = Vec::new();
    result_folders(&results, &mut folders);
    assert!(folders.len() > 15, "{folders:?}");
    let mut wrong = Vec::new();
    for folder in folders {
        let name = folder.strip_prefix(&results).unwrap().display().to_string();
        let Ok(text) = std::fs::read_to_string(folder.join("manifest.json")) else {
            wrong.push(format!("{name}: there is no manifest"));
            continue;
        };
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        if manifest["git_dirty"] != false {
            wrong.push(format!("{name}: git_dirty is {}", manifest["git_dirty"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
