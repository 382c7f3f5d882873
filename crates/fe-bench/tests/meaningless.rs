//! Numbers that mean nothing are refused, or it is said beside them what they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

fn program(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn refusal(arguments: &[&str], folder: &Path) -> String {
    let output = program(arguments, folder);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    said(&output)
}

/// A binary feature, one of a hundred values, and a target that both change.
fn table(folder: &Path) {
    let mut text = String::from("flag,level,target\n");
    for i in 0..300 {
        let (flag, level) = (f64::from(i % 7 == 0), f64::from(i * 37 % 100) / 10.0);
        let target = 5.0 * level.sin() - 20.0 * flag + f64::from(i * 13 % 11) / 10.0;
        text.push_str(&format!("{flag},{level},{target}\n"));
    }
    std::fs::write(folder.join("table.csv"), text).unwrap();
}

const OF_TREES: [&str; 7] =
    ["effect", "--data", "table.csv", "--target", "target", "--model", "gbdt"];

fn effect(arguments: &[&str], folder: &Path) -> (serde_json::Value, String) {
    let output = program(&[&OF_TREES[..], arguments].concat(), folder);
    assert!(output.status.success(), "{}", said(&output));
    (serde_json::from_slice(&output.stdout).unwrap(), said(&output))
}

#[test]
fn the_effect_of_a_binary_feature_does_not_depend_on_the_number_of_bins() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let rise = |arguments: &[&str]| {
        let given = [&["--feature", "flag", "--at", "0,1"], arguments].concat();
        let (objects, said) = effect(&given, folder.path());
        assert!(!said.contains("instances"), "{arguments:?}: {said}");
        let at = |i: usize| objects[0]["effect"][i].as_f64().unwrap();
        at(1) - at(0)
    };
    let pdp = rise(&["--estimator", "pdp"]);
    assert!((pdp + 20.0).abs() < 2.0, "{pdp}");
    for bins in ["2", "4", "20", "40", "400"] {
        let ale = rise(&["--estimator", "ale", "--bins", bins]);
        assert!((ale - pdp).abs() < 1e-9, "{bins} bins: {ale} for {pdp}");
        let ale = rise(&["--estimator", "ale", "--binning", "fixed", "--bins", bins]);
        assert!((ale - pdp).abs() < 1e-9, "{bins} equal bins: {ale} for {pdp}");
    }
}

/// Quantiles of few values are these values, whether an estimator takes `distinct` or not.
#[test]
fn regions_of_a_feature_of_few_values_have_bins() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    for kind in ["continuous", "nominal"] {
        let kind = format!("flag={kind}");
        let asked = ["--estimator", "regional-ale", "--feature", "flag", "--kind", &kind];
        let (objects, _) = effect(&[&asked[..], &["--depth", "1"]].concat(), folder.path());
        assert_eq!(objects[0]["estimator"], "regional-ale");
    }
}

#[test]
fn many_empty_bins_are_said() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let arguments = "--feature flag --estimator ale --binning fixed --bins 20 --distinct 0";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let drawn = [&arguments[..], &["--plot", "effect.svg"]].concat();
    let (objects, said) = effect(&drawn, folder.path());
    assert!(said.contains("flag: 18 of 20 bins are without instances, which carry"), "{said}");
    let binning = &objects[0]["record"]["binning"];
    assert_eq!(binning["empty"], 18);
    assert!(binning["empty_share"].as_f64().is_some());
    let figure = std::fs::read_to_string(folder.path().join("effect.svg")).unwrap();
    assert!(figure.contains("18 of 20 bins are without instances"));
}

#[test]
fn differences_of_trees_are_refused_wherever_they_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let numeric = ["--feature", "level", "--jacobian", "numeric", "--estimator"];
    for estimator in ["dale", "rhale", "dpdp", "dice", "regional-rhale", "regional-dpdp"] {
        let given = [&OF_TREES[..], &numeric, &[estimator]].concat();
        let message = refusal(&given, folder.path());
        assert!(message.contains("`ale`") && message.contains("`step`"), "{estimator}: {message}");
    }
    let large = [&numeric[..], &["rhale", "--step", "0.05"]].concat();
    effect(&large, folder.path());
}

/// A plan cannot be asked for more than was planned.
#[test]
fn planned_differences_of_steps_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let plan = ["plan", "--data", "table.csv", "--feature", "x2", "--estimator", "dale"];
    let planned = program(&[&plan[..], &["--out", "query.csv"]].concat(), folder.path());
    assert!(planned.status.success(), "{}", said(&planned));
    let mut reader = csv::Reader::from_path(folder.path().join("query.csv")).unwrap();
    let mut answers = String::from("y\n");
    for record in reader.records() {
        let level: f64 = record.unwrap()[1].parse().unwrap();
        answers.push_str(&format!("{}\n", level.floor()));
    }
    std::fs::write(folder.path().join("answers.csv"), answers).unwrap();
    let finish = ["finish", "query.csv", "--predictions", "answers.csv"];
    let message = refusal(&finish, folder.path());
    assert!(message.contains("steps or not at all"), "{message}");
}

#[test]
fn kinds_are_for_models_and_for_splits() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let given = ["--estimator", "ale", "--feature", "level", "--kind", "flag=nominal"];
    effect(&given, folder.path());
    let unknown = ["--estimator", "ale", "--feature", "level", "--kind", "flag=nominl"];
    let message = refusal(&[&OF_TREES[..], &unknown].concat(), folder.path());
    assert!(message.contains("nominl") && message.contains("did you mean `nominal`"), "{message}");
    let regional = ["--estimator", "regional-ale", "--feature", "level", "--kind", "flag=nominal"];
    effect(&regional, folder.path());
}

#[test]
fn options_with_negative_numbers_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let effect = ["effect", "friedman1", "--n", "20", "--seed", "1", "--feature", "x1"];
    let estimator = |name| [&effect[..], &["--estimator", name]].concat();
    for (name, option) in [
        ("rhale", "--bins"),
        ("rhale", "--min-points"),
        ("rhale", "--discount"),
        ("rhale", "--step"),
        ("rhale", "--ddof"),
        ("rhale", "--distinct"),
        ("ale", "--center-points"),
        ("pdp", "--grid"),
        ("mplot", "--nearest"),
        ("shapdp", "--background"),
        ("shapdp", "--permutations"),
        ("ale", "--subsample"),
        ("regional-ale", "--depth"),
        ("regional-ale", "--drop"),
        ("regional-ale", "--leaf"),
        ("regional-ale", "--candidates"),
    ] {
        let message = refusal(&[&estimator(name)[..], &[option, "-1"]].concat(), folder.path());
        let word = option.trim_start_matches("--");
        let named = message.contains(word) || message.contains(&word.replace('-', "_"));
        assert!(named && message.contains("-1"), "{name} {option}: {message}");
    }
    for command in ["check", "compare"] {
        let message = refusal(&[command, "--alpha", "-1"], folder.path());
        assert!(message.contains("--alpha"), "{message}");
    }
    let many = [&estimator("mplot")[..], &["--nearest", "1000"]].concat();
    let message = refusal(&many, folder.path());
    assert!(message.contains("nearest = 1000") && message.contains("20"), "{message}");
}

/// The rows of a file of a results folder, by the names of its columns.
fn rows(folder: &Path, file: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("out").join(file)).unwrap();
    let names = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        names.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

const CERTAIN: &str = r#"
about = "curves that do not depend on the instances"
[[block]]
scenario = "snc"
features = ["x1", "x3"]
N = 200
replicates = 3
grid = 11
metrics = ["coverage", "width", "simultaneous_coverage", "mse"]
compare = "Err"
[[block.estimator]]
name = ["ale", "pdp"]
center = "integral"
band = "analytic"
[[block]]
scenario = "friedman1"
features = ["x1", "x4"]
N = 200
replicates = 3
grid = 11
metrics = ["coverage", "width", "simultaneous_coverage", "mse"]
compare = "Err"
[[block.estimator]]
name = ["ale", "pdp"]
center = "integral"
band = "analytic"
[[table]]
title = "Coverage"
rows = ["scenario", "feature", "estimator"]
columns = ["metric"]
"#;

#[test]
fn bands_without_width_are_degenerate_and_no_failures() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), CERTAIN).unwrap();
    let output = program(&["run", "study.toml", "--out", "out"], folder.path());
    assert!(output.status.success() && said(&output).contains("(0 failed)"), "{}", said(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("– (3 degenerate)") && table.contains("Degenerate: "), "{table}");
    for row in rows(folder.path(), "cells.csv") {
        let is_certain = ["x3", "x4"].contains(&row["feature"].as_str()) && row["metric"] != "mse";
        assert_eq!(row["status"], if is_certain { "degenerate" } else { "ok" }, "{row:?}");
        assert_eq!(row["value"].is_empty(), is_certain);
    }
    for row in rows(folder.path(), "summary.csv") {
        let is_certain = ["x3", "x4"].contains(&row["feature"].as_str()) && row["metric"] != "mse";
        let expected = if is_certain { ("0", "0") } else { ("3", "0") };
        assert_eq!((row["n_ok"].as_str(), row["n_failed"].as_str()), expected, "{row:?}");
    }
    for row in rows(folder.path(), "timings.csv") {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        assert!(number("model_seconds") <= number("seconds"), "{row:?}");
    }
}

/// A flag that belongs to another flag, which cannot stand beside what is asked, is refused and not passed over.
#[test]
fn flags_that_would_say_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.csv"), "x1,x2,x3,y\n0,1,2,3\n1,2,0,4\n2,0,1,6\n")
        .unwrap();
    let drawn = "effect poly3 --n 20 --seed 1 --estimator pdp --feature x1";
    let of_data = "effect poly3 --data data.csv --estimator pdp --feature x1";
    let curve = "truth poly3 --effect pd --feature x1 --grid 3";
    for (call, flags) in [
        (
            drawn,
            "--target=y --ignore=x2 --missing=drop --outliers=2 --standardize --test=0.2 --weights=y",
        ),
        (drawn, "--model-seed=3 --explain=train"),
        (of_data, "--target=y --ignore=x2 --model-seed=3 --seed=3"),
        (
            curve,
            "--weighting=density --depth=2 --candidates=3 --drop=0.1 --partition=cart --leaves",
        ),
        ("truth poly3 --values", "--weighting=density --depth=2 --leaves"),
        ("truth poly3 --shap-at=0,0,0", "--weighting=density --depth=2 --leaves"),
    ] {
        let call: Vec<&str> = call.split(' ').collect();
        assert!(program(&call, folder.path()).status.success(), "{call:?}");
        for flag in flags.split(' ') {
            let message = refusal(&[&call[..], &[flag]].concat(), folder.path());
            let name = flag.split('=').next().unwrap();
            assert!(message.contains(name), "{call:?} {flag}: {message}");
        }
    }
}

/// Noise that no floating-point number can hold.
#[test]
fn targets_that_are_no_numbers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let message = refusal(&["sample", "snc", "--n=50", "--seed=1", "--snr=5e-324"], folder.path());
    assert!(message.contains("snr = 5e-324"), "{message}");
}

/// Bands of cells do not hold a curve whose bins are too wide, and a shared panel draws none: both are said.
#[test]
fn curves_outside_of_their_bands_and_bands_that_are_not_drawn_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let effect = "effect friedman1 --n 300 --seed 0 --band analytic --format csv";
    let asked = |further: &str| {
        let call = format!("{effect} {further}");
        let output = program(&call.split(' ').collect::<Vec<_>>(), folder.path());
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    let outside = "x3: the curve of ale lies outside of its band at ";
    let wide = asked("--estimator ale --bins 5 --feature x3");
    assert!(
        wide.contains(outside) && wide.contains("too wide there; take more by --bins"),
        "{wide}"
    );
    let narrow = asked("--estimator rhale --binning penalized --feature x3");
    assert!(narrow.contains("cells, which are wider than its "), "{narrow}");
    assert!(!asked("--estimator ale --bins 5 --feature x4").contains("outside of its band"));
    // Bands of several are about their errors, where these are known.
    let unseen = "bands are not drawn where several estimators share a panel";
    let both = asked("--estimator ale,pdp --feature x3 --plot both.svg");
    assert!(!both.contains(unseen), "{both}");
    let drawn = std::fs::read_to_string(folder.path().join("both.svg")).unwrap();
    assert!(drawn.contains("95 % confidence, pointwise (analytic)"));
    let sample = program(&["sample", "friedman1", "--n", "100", "--seed", "1"], folder.path());
    std::fs::write(folder.path().join("rows.csv"), sample.stdout).unwrap();
    let call = "effect --data rows.csv --target y --model linear --estimator ale,pdp --feature x3 --band analytic \
                --plot data.svg";
    let output = program(&call.split_whitespace().collect::<Vec<_>>(), folder.path());
    assert!(output.status.success() && said(&output).contains(unseen), "{}", said(&output));
}

/// A band about what no instance changes looks like certainty: it is said, and drawn with its reason.
#[test]
fn bands_without_width_are_said_where_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let of = |feature: &str| {
        let call = format!(
            "effect friedman1 --n 200 --seed 1 --estimator pdp --band analytic --feature {feature} --grid 5 --plot f.svg"
        );
        let output = program(&call.split(' ').collect::<Vec<_>>(), folder.path());
        assert!(output.status.success(), "{}", said(&output));
        let drawn = std::fs::read_to_string(folder.path().join("f.svg")).unwrap();
        // Titles are broken into lines.
        let texts = drawn.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, text)| text);
        let words: Vec<&str> = texts.flat_map(str::split_whitespace).collect();
        (said(&output), words.join(" ").contains("its band has no width"))
    };
    for certain in ["x4", "x4:x5"] {
        let (message, is_drawn) = of(certain);
        assert!(message.contains(&format!("{certain}: its band has no width: ")), "{message}");
        assert!(is_drawn, "{certain}");
    }
    for uncertain in ["x1", "x1:x3"] {
        let (message, is_drawn) = of(uncertain);
        assert!(!message.contains("no width") && !is_drawn, "{message}");
    }
}
