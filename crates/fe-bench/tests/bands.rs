//! Confidence bands as a user of the program meets them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

const EFFECT: [&str; 13] = [
    "effect",
    "liu-product",
    "--n",
    "200",
    "--seed",
    "1",
    "--feature",
    "x1",
    "--bins",
    "5",
    "--estimator",
    "dale",
    "--band",
];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

fn effect(arguments: &[&str]) -> Output {
    run(&[&EFFECT[..], arguments].concat())
}

fn answer(output: Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = effect(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|y| y.as_f64().unwrap()).collect()
}

#[test]
fn a_band_is_printed_with_what_it_is_about() {
    let output = effect(&["analytic", "--level", "0.9"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("effect of this model"), "{message}");
    let objects: serde_json::Value = serde_json::from_str(&answer(output)).unwrap();
    let band = &objects[0]["confidence"];
    let curve = numbers(&objects[0]["effect"]);
    let [lower, upper, least, most] =
        ["lower", "upper", "simultaneous_lower", "simultaneous_upper"]
            .map(|name| numbers(&band[name]));
    for i in 0..curve.len() {
        assert!(least[i] <= lower[i] && lower[i] < curve[i], "{i}");
        assert!(curve[i] < upper[i] && upper[i] <= most[i], "{i}");
    }
    let record = &band["record"];
    assert_eq!((record["level"].as_f64(), record["seed"].as_u64()), (Some(0.9), Some(0)));
    assert!(record["meaning"].as_str().unwrap().contains("not in it"));
    // Without a band nothing of it is printed.
    let without = answer(run(&EFFECT[..12]));
    assert!(!without.contains("confidence"));
}

#[test]
fn limits_are_columns_and_missing_ones_empty() {
    let text = answer(effect(&["bins", "--format", "csv"]));
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .ends_with("heterogeneity,lower,upper,simultaneous_lower,simultaneous_upper")
    );
    // PyALE has no interval at the start.
    assert!(lines.next().unwrap().ends_with(",,,,"));
    assert!(lines.next().unwrap().ends_with(",,"));
}

#[test]
fn figures_say_what_a_band_is_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("band.svg");
    answer(effect(&["analytic", "--plot", path.to_str().unwrap()]));
    let figure = std::fs::read_to_string(path).unwrap();
    for words in ["95 % confidence, pointwise (analytic)", "whole curve", "not of the true"] {
        assert!(figure.contains(words), "{words}");
    }
}

#[test]
fn what_is_no_band_is_refused() {
    refused(&["analitic"], &["analytic, bootstrap, bins", "did you mean `analytic`?"]);
    for level in ["0", "1", "NaN", "-0.5"] {
        refused(&["analytic", "--level", level], &["level", "between 0 and 1"]);
    }
    refused(&["bootstrap", "--resamples", "1"], &["resamples", "from 39"]);
    refused(&["analytic", "--resamples", "100"], &["resamples", "bootstrap alone"]);
    let ice = [
        "effect",
        "liu-product",
        "--n",
        "20",
        "--seed",
        "1",
        "--estimator",
        "ice",
        "--band",
        "analytic",
    ];
    let output = run(&ice);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("`ice` takes no option `band`"), "{message}");
}

fn study(options: &str, folder: &std::path::Path) -> Output {
    let text = format!(
        r#"
about = "Bands."
[[block]]
scenario = "piecewise-linear"
features = ["x1"]
N = 200
keep = ["curves"]
replicates = 20
grid = 11
compare = "Err"
metrics = ["coverage", "width", "simultaneous_coverage", "simultaneous_width"]
[[block.estimator]]
name = "dale"
bins = 20
center = "integral"
{options}
"#
    );
    let path = folder.join("study.toml");
    std::fs::write(&path, text).unwrap();
    let out = folder.join("out");
    run(&["run", path.to_str().unwrap(), "--out", out.to_str().unwrap()])
}

/// The status and the value of every cell of a metric.
fn cells(folder: &std::path::Path, metric: &str) -> Vec<(String, Option<f64>)> {
    let mut reader = csv::Reader::from_path(folder.join("out/cells.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (of, value, status) = (column("metric"), column("value"), column("status"));
    let rows = reader.records().map(|row| row.unwrap());
    let rows = rows.filter(|row| &row[of] == metric);
    rows.map(|row| (row[status].to_owned(), row[value].parse().ok())).collect()
}

#[test]
fn studies_count_how_often_bands_cover() {
    let folder = tempfile::tempdir().unwrap();
    answer(study("band = \"analytic\"", folder.path()));
    let mean = |metric: &str| {
        let cells = cells(folder.path(), metric);
        assert!(cells.iter().all(|(status, _)| status == "ok"), "{cells:?}");
        cells.iter().filter_map(|(_, value)| *value).sum::<f64>() / cells.len() as f64
    };
    // 20 datasets: fewer than 4 of 5 would happen to a right band once in 300 runs, with all points of
    // a curve counted as one.
    assert!(mean("coverage") > 0.8, "{}", mean("coverage"));
    assert!(mean("simultaneous_width") > mean("width"));
    // The same width comes out of what was kept, and nearly everywhere the estimate lies in the band.
    let mut reader = csv::Reader::from_path(folder.path().join("out/curves.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), 20 * 11);
    let numbers = |name: &str| -> Vec<f64> {
        let column = header.iter().position(|column| column == name).unwrap();
        rows.iter().map(|row| row[column].parse().unwrap()).collect()
    };
    let [effect, lower, upper] = ["effect", "lower", "upper"].map(numbers);
    let widths = upper.iter().zip(&lower).map(|(upper, lower)| upper - lower);
    assert!((widths.sum::<f64>() / 220.0 - mean("width")).abs() < 1e-12);
    // The band is about the curve of cells: where bins cross a kink, what they give may lie beside it, by little.
    let beside = |i: usize| (lower[i] - effect[i]).max(effect[i] - upper[i]).max(0.0);
    assert!((0..220).filter(|&i| beside(i) > 0.0).count() < 22);
    assert!((0..220).all(|i| beside(i) < 0.2 * (upper[i] - lower[i])));
    let outer = numbers("simultaneous_lower").into_iter().zip(lower);
    assert!(outer.into_iter().all(|(outer, inner)| outer <= inner));
}

#[test]
fn coverage_without_a_band_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = study("", folder.path());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("no `coverage` without a confidence band"), "{message}");
    assert!(!folder.path().join("out").exists());
    let output = study("band = \"bootstrp\"", folder.path());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("did you mean `bootstrap`?"), "{message}");
}

/// An M-plot has a band at levels alone.
#[test]
fn bands_that_a_feature_has_not_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let problem = "f = \"x + level(g, a: 0, b: 1, c: 3)*x\"\n[law]\nx = \"uniform(0, 1)\"\n\
                   g = \"categorical(a: 0.3, b: 0.3, c: 0.4)\"\n";
    std::fs::write(folder.path().join("groups.toml"), problem).unwrap();
    let out = folder.path().join("out");
    let answer = |features: &str, options: &str| {
        let text = format!(
            "about = \"Bands.\"\n[[block]]\nscenario = \"groups.toml\"\nfeatures = [{features}]\nN = 200\n\
             replicates = 2\nmetrics = [\"mse\"]\n[[block.estimator]]\nname = \"mplot\"\n{options}\n"
        );
        let path = folder.path().join("study.toml");
        std::fs::write(&path, text).unwrap();
        run(&["run", path.to_str().unwrap(), "--out", out.to_str().unwrap()])
    };
    for options in [
        "band = \"analytic\"",
        "band = \"bootstrap\"\nlimits = \"grid\"",
        "band = \"analytic\"\nnearest = 10",
    ] {
        let output = answer("\"g\", \"x\"", options);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {message}");
        assert!(message.contains("at levels, and x is a number"), "{options}: {message}");
        assert!(!out.exists(), "{options}");
    }
    assert!(answer("\"g\"", "band = \"analytic\"").status.success());
    let cells = cells(folder.path(), "mse");
    assert!(cells.len() == 2 && cells.iter().all(|(status, _)| status == "ok"), "{cells:?}");
}
