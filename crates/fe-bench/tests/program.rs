//! The program as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

/// Standard output of a call that must succeed.
fn answer(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a call that must end with status 2 and print nothing on standard output.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    String::from_utf8(output.stderr).unwrap()
}

fn csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn column(rows: &[Vec<String>], name: &str) -> Vec<f64> {
    let place = rows[0].iter().position(|column| column == name).unwrap();
    rows[1..].iter().map(|row| row[place].parse().unwrap()).collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = path(folder, name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn truth_of_a_curve_is_centred_as_asked() {
    let rows = csv(&answer(&[
        "truth",
        "sin-indicator",
        "--set",
        "noise_sd=0.1",
        "--effect",
        "ale",
        "--feature",
        "1",
        "--grid",
        "11",
        "--center",
        "integral",
    ]));
    assert_eq!(rows[0], ["scenario", "feature", "effect", "x", "value", "abs_error", "method"]);
    assert_eq!(rows[1][..3], ["sin-indicator@1", "x1", "ale"]);
    assert_eq!(column(&rows, "x").len(), 11);
    assert!(column(&rows, "abs_error").iter().all(|&error| error <= 1e-9));
    // Errata of the papers: the bump at 0 that the printed limit lacks.
    assert!((column(&rows, "value")[5] - column(&rows, "value")[0] - 0.440).abs() < 1e-3);
}

#[test]
fn a_published_curve_is_no_truth() {
    let ask = |tail: &[&str]| {
        let head = ["truth", "sin-indicator", "--effect", "ale-limit", "--at", "-0.25,0"];
        csv(&answer(&[&head, tail].concat()))
    };
    // Without --feature, those that have it.
    let rows = ask(&[]);
    assert_eq!(rows[1], ["sin-indicator@1", "x1", "ale-limit", "-0.25", "1", "", "limit"]);
    assert_eq!((rows.len(), column(&rows, "value")[1]), (3, 0.0));
    let centred = column(&ask(&["--center", "integral"]), "value");
    assert!((centred[1] + std::f64::consts::FRAC_1_PI).abs() < 1e-12);
    let refused = |tail: &[&str], word: &str| {
        let message = refusal(&[&["truth"], tail].concat());
        assert!(message.contains(word), "{message}");
    };
    refused(&["sin-indicator", "--effect", "ale-limit", "--feature", "x3"], "mu-limit of x1");
    refused(&["sin-indicator", "--effect", "mu-limit", "--center", "start"], "cannot be centred");
    refused(&["poly3", "--effect", "ale-limit"], "none");
}

#[test]
fn truths_of_pairs_and_indices() {
    // f = x1² + x1 x2 + ½ x3 of features that are uniform on [−1, 1].
    let pair = ["truth", "poly3", "--feature", "x1:x2"];
    let ask = |further: &[&str]| csv(&answer(&[&pair[..], further].concat()));
    let rows = ask(&["--effect", "ale", "--at=-0.5,1:0.25"]);
    assert_eq!(rows[0].join(","), "scenario,feature,feature2,effect,x,x2,value,abs_error,method");
    assert_eq!(rows[1][..6].join(","), "poly3@1,x1,x2,ale,-0.5,0.25");
    assert!((column(&rows, "value")[0] + 0.125).abs() < 1e-12);
    assert!((column(&rows, "value")[1] - 0.25).abs() < 1e-12);
    let rows = ask(&["--effect", "pd", "--at=-0.5,1:0.25"]);
    assert!((column(&rows, "value")[1] - 1.25).abs() < 1e-12);
    let rows = ask(&["--effect", "pd", "--interaction", "--grid", "2x3", "--range=-1,1:0,1"]);
    let expected = [0.0, -0.5, -1.0, 0.0, 0.5, 1.0];
    for (value, expected) in column(&rows, "value").iter().zip(expected) {
        assert!((value - expected).abs() < 1e-12, "{rows:?}");
    }
    let rows = ask(&["--indices"]);
    assert_eq!(rows[0].join(","), "scenario,feature,feature2,name,value,abs_error,method");
    let names: Vec<&str> = rows[1..].iter().map(|row| row[3].as_str()).collect();
    assert_eq!(names[..3], ["h2.pair", "h.pair", "h2.pair.share"]);
    assert!((column(&rows, "value")[1] - 1.0 / 3.0).abs() < 1e-12);
    let named = ask(&["--indices=h.pair,additive.r2.pd"]);
    assert_eq!(named[1], rows[2]);
    assert_eq!((named[2][3].as_str(), named.len()), ("additive.r2.pd", 3));
    for (indices, message) in [
        ("--indices=h.pear", "nearest: `h.pair`"),
        ("--indices=sobol.first", "sobol.first is of a feature, and none is asked for"),
        ("--indices=h.pair,h.pair", "h.pair is asked for twice"),
        ("--indices=", "unknown index ``"),
    ] {
        let said = refusal(&[&pair[..], &[indices]].concat());
        assert!(said.contains(message), "{said}");
    }
    let rows = csv(&answer(&["truth", "liu-product", "--set", "rho=0.5", "--indices"]));
    let first = rows.iter().find(|row| row[3] == "sobol.first").unwrap();
    assert_eq!(first[4..].join(","), ",,refused");
}

#[test]
fn a_number_of_bins_is_that_of_equal_ones_over_the_range() {
    let plain = ["truth", "piecewise-linear", "--feature", "x1", "--bins"];
    let tree = [
        "truth",
        "effector-regional",
        "--regional",
        "ale",
        "--feature",
        "x3",
        "--depth",
        "1",
        "--bins",
    ];
    for (question, number, limits) in
        [(&plain[..], "4", "0,0.25,0.5,0.75,1"), (&tree[..], "4", "=-1,-0.5,0,0.5,1")]
    {
        let with = |bins: &str| {
            let (flag, before) = question.split_last().unwrap();
            let joined = format!("{flag}={}", bins.trim_start_matches('='));
            answer(&[before, &[joined.as_str()]].concat())
        };
        assert_eq!(with(number), with(limits));
    }
}

#[test]
fn truth_of_bins_and_values() {
    let rows =
        csv(&answer(&["truth", "piecewise-linear", "--feature", "x1", "--bins", "0,0.2,0.45,1"]));
    assert_eq!(rows[0].join(","), "z_lo,z_hi,mu,sigma2,sigma2_star,bin_error,abs_error");
    // Slope 2 plus E[x2 | x1] = x1, of mean 0.1 and mean squared deviation 0.2²/12.
    assert!((column(&rows, "mu")[0] - 2.1).abs() < 1e-12);
    assert!((column(&rows, "bin_error")[0] - 0.04 / 12.0).abs() < 1e-12);
    assert!((column(&rows, "sigma2")[2] - 0.25).abs() < 1e-12);
    let rows = csv(&answer(&["truth", "friedman1", "--values", "--feature", "4"]));
    let names: Vec<&str> = rows[1..].iter().map(|row| row[3].as_str()).collect();
    assert_eq!(
        names,
        [
            "pdp.mean",
            "dpdp.mean",
            "ale.integral",
            "ale.mean_range",
            "ale.integral_sd",
            "shap.mean",
            "mean_f",
            "sd_f",
        ]
    );
    assert!((column(&rows, "value")[6] - 14.413).abs() < 1e-3);
}

#[test]
fn truth_of_the_best_split() {
    let ask = |scenario: &str, method: &str, feature: &str| {
        csv(&answer(&["truth", scenario, "--regional", method, "--feature", feature]))
    };
    let rows = ask("friedman1", "ale", "x1");
    let header = "heterogeneity,split_feature,position,before,left,right,weighted";
    assert_eq!(rows[0].join(","), header);
    assert_eq!([&rows[1][0], &rows[2][0]], ["ale.integral", "ale.integral_sd"]);
    assert_eq!([&rows[1][1], &rows[2][1]], ["x2", "x2"]);
    let column = |name: &str| column(&rows, name);
    let (p, left, right) = (column("position")[0], column("left")[0], column("right")[0]);
    assert!((p - 0.667_759).abs() < 1e-6);
    // x2 is uniform: the share on the left is the position.
    assert!((column("weighted")[0] - p * left - (1.0 - p) * right).abs() < 1e-10);
    assert!(column("weighted")[0] < column("before")[0]);
    assert_eq!(ask("friedman1", "rhale", "x1"), rows);
    assert_eq!(ask("friedman1", "pdp", "x4")[1].join(","), "pdp.mean,,,0,,,0");

    let message = refusal(&["truth", "friedman1", "--regional", "pdp"]);
    assert!(message.contains("--regional needs one --feature"), "{message}");
    let message = refusal(&["truth", "friedman1", "--regional", "dale", "--feature", "1"]);
    assert!(message.contains("pdp, dpdp, ale, rhale"), "{message}");
}

/// Regions of a term of four features are not integrated; the trees of the others are told all the same.
#[test]
fn a_tree_that_is_refused_leaves_those_of_other_features() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wide.toml");
    let laws: String = (1..=6).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect();
    std::fs::write(&file, format!("f = \"sin(x1*x2*x3*x4) + x5*x6\"\n[law]\n{laws}")).unwrap();
    let file = file.to_str().unwrap();
    let tree = ["truth", file, "--regional", "dpdp", "--depth", "1"];
    let rows = csv(&answer(&tree));
    let told: Vec<[&str; 3]> = rows[1..].iter().map(|row| [&*row[0], &row[1], &row[6]]).collect();
    for (feature, row) in told[..4].iter().enumerate() {
        assert_eq!(*row, [&format!("x{}", feature + 1), "refused", ""]);
    }
    assert_eq!(told[4..], [["x5", "dpdp.mean", "x6"], ["x6", "dpdp.mean", "x5"]]);
    let leaves = csv(&answer(&[&tree[..], &["--leaves", "--grid", "2"]].concat()));
    let refused: Vec<&str> =
        leaves.iter().filter(|row| row[10] == "refused").map(|row| &*row[1]).collect();
    assert_eq!(refused, ["x1", "x2", "x3", "x4"]);
    // Where nothing is left to tell, it is an error.
    let message = refusal(&[&tree[..], &["--feature", "x1"]].concat());
    assert!(message.contains("no regional optimum"), "{message}");
}

#[test]
fn effects_as_json() {
    let text = answer(&[
        "effect",
        "friedman1",
        "--n",
        "1000",
        "--seed",
        "7",
        "--estimator",
        "ale",
        "--binning",
        "fixed",
        "--bins",
        "20",
        "--feature",
        "4",
        "--format",
        "json",
    ]);
    let effects: Vec<Value> = serde_json::from_str(&text).unwrap();
    let [effect] = &effects[..] else { panic!("one feature, one object") };
    let array = |key: &str| -> Vec<f64> {
        effect[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    assert_eq!(effect["feature"], "x4");
    assert_eq!(array("limits").len(), 21);
    assert_eq!(array("counts").iter().sum::<f64>(), 1000.0);
    assert!(array("bin_effect").iter().all(|slope| (slope - 10.0).abs() < 1e-9));
    assert!(array("bin_variance").iter().all(|variance| variance.abs() < 1e-20));
    let (x, y) = (array("x"), array("effect"));
    assert!(((y[20] - y[0]) - 10.0 * (x[20] - x[0])).abs() < 1e-9);
    assert_eq!(array("heterogeneity").len(), 21);
    assert!(effect["heterogeneity_values"]["integral"].is_number());
    assert_eq!(effect["record"]["model_rows"], 2000);
}

#[test]
fn a_sample_is_the_data_of_an_effect() {
    let folder = folder();
    let sample = answer(&["sample", "liu-product", "--n", "50", "--seed", "3"]);
    let file = write(&folder, "sample.csv", &sample);
    for estimator in ["pdp", "ale", "rhale"] {
        let tail = ["--estimator", estimator, "--feature", "x2", "--format", "csv"];
        let drawn =
            answer(&[&["effect", "liu-product", "--n", "50", "--seed", "3"][..], &tail].concat());
        let read = answer(&[&["effect", "liu-product", "--data", &file][..], &tail].concat());
        assert_eq!(drawn, read);
    }
    let rows = csv(&sample);
    assert_eq!(rows[0], ["x1", "x2", "y"]);
    let (x1, x2, y) = (column(&rows, "x1"), column(&rows, "x2"), column(&rows, "y"));
    assert!((0..50).all(|i| x1[i] * x2[i] == y[i]));
}

#[test]
fn noise_has_its_own_stream() {
    let sample =
        |snr| csv(&answer(&["sample", "friedman1", "--n", "2000", "--seed", "1", "--snr", snr]));
    let (without, with) = (sample("0"), sample("5"));
    assert_eq!(column(&without, "x1"), column(&with, "x1"));
    let noise: Vec<f64> =
        column(&without, "y").iter().zip(column(&with, "y")).map(|(a, b)| b - a).collect();
    let sd = fe_truth::scenario("friedman1", &[]).unwrap().sd().unwrap().value / 5.0;
    let found = fe_core::numeric::moments::Moments::of(&noise).variance(1.0).unwrap().sqrt();
    // Standard error of a standard deviation: sd/√(2n) = 1.6 %.
    assert!((found / sd - 1.0).abs() < 0.07, "{found} against {sd}");
}

#[test]
fn weights_in_a_file_are_copies() {
    let folder = folder();
    let weighted = write(&folder, "w.csv", "x1,w,x2\n0,2,1\n1,1,3\n0.5,0,9\n0.25,1,2\n");
    let copies = write(&folder, "c.csv", "x1,x2\n0,1\n0,1\n1,3\n0.25,2\n");
    let tail = ["--estimator", "dale", "--bins", "2", "--feature", "x1", "--format", "csv"];
    let a = answer(
        &[&["effect", "liu-product", "--data", &weighted, "--weights", "w"][..], &tail].concat(),
    );
    let b = answer(&[&["effect", "liu-product", "--data", &copies][..], &tail].concat());
    assert_eq!(a, b);
}

const STUDY: &str = r#"
about = "A small study."
[[block]]
scenario = ["liu-product", "sin-indicator"]
N = [50, 200]
replicates = 4
metrics = ["mse", "L_mu", "bins"]
[[block.estimator]]
name = "pdp"
grid = 20
[[block.estimator]]
name = "ale"
binning = ["fixed", "quantile"]
bins = [5, 9]
[[block.estimator]]
name = "rhale"
"#;

fn read(folder: &str, file: &str) -> String {
    std::fs::read_to_string(Path::new(folder).join(file)).unwrap()
}

#[test]
fn threads_and_company_change_no_number() {
    let folder = folder();
    let study = write(&folder, "study.toml", STUDY);
    let out = |name| path(&folder, name);
    answer(&["run", &study, "--out", &out("one"), "--jobs", "1", "--seed", "9"]);
    answer(&["run", &study, "--out", &out("two"), "--jobs", "2", "--seed", "9"]);
    answer(&["run", &study, "--out", &out("other"), "--jobs", "2", "--seed", "10"]);
    for file in ["cells.csv", "summary.csv"] {
        assert_eq!(read(&out("one"), file), read(&out("two"), file));
        assert_ne!(read(&out("one"), file), read(&out("other"), file));
    }
    // A study of one estimator, one size and one metric gives the same values as the large one.
    let few = STUDY
        .replace("N = [50, 200]", "N = 200")
        .replace(r#"["mse", "L_mu", "bins"]"#, r#"["mse"]"#)
        .replace("binning = [\"fixed\", \"quantile\"]\nbins = [5, 9]", "bins = 9")
        .replace("[[block.estimator]]\nname = \"rhale\"\n", "");
    write(&folder, "few.toml", &few);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let few = write(&folder, "sub/study.toml", &few);
    answer(&["run", &few, "--out", &out("few"), "--seed", "9"]);
    let large = read(&out("one"), "cells.csv");
    for line in read(&out("few"), "cells.csv").lines() {
        assert!(large.lines().any(|other| other == line), "{line}");
    }
}

#[test]
fn failed_values_are_rows_with_a_reason() {
    let folder = folder();
    let study = write(&folder, "study.toml", STUDY);
    let out = path(&folder, "out");
    answer(&["run", &study, "--out", &out]);
    let rows = csv(&read(&out, "cells.csv"));
    let place = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    let failed: Vec<_> = rows[1..].iter().filter(|row| row[place("value")].is_empty()).collect();
    // L_mu and bins of pdp, for 4 replicates, 2 sizes and 2 + 3 features.
    assert_eq!(failed.len(), 2 * 4 * 2 * 5);
    assert!(failed.iter().all(|row| row[place("status")] == "pdp has no bins"));
    let others = rows[1..].iter().filter(|row| !row[place("value")].is_empty());
    assert!(others.into_iter().all(|row| row[place("status")] == "ok"));
}

#[test]
fn shap_dependence_of_an_additive_feature_is_its_line() {
    let shapdp = |further: &[&str]| -> Value {
        let mut asked = vec!["effect", "friedman1", "--n", "30", "--seed", "7", "--feature", "4"];
        asked.extend(["--estimator", "shapdp", "--grid", "5"]);
        asked.extend(further);
        serde_json::from_str::<Vec<Value>>(&answer(&asked)).unwrap().remove(0)
    };
    let drawn = ["--background", "10", "--permutations", "2", "--smoothing", "reml"];
    for effect in [shapdp(&["--background", "all"]), shapdp(&drawn)] {
        let array = |key: &str| -> Vec<f64> {
            effect[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
        };
        let (x, y) = (array("x"), array("effect"));
        assert!(((y[4] - y[0]) - 10.0 * (x[4] - x[0])).abs() < 1e-9);
        assert!(effect["heterogeneity_values"]["mean_residual"].as_f64().unwrap() < 1e-20);
    }
    let record = &shapdp(&drawn)["record"]["shapley"];
    assert_eq!((&record["method"], &record["pairs"]), (&"permutations".into(), &2.into()));
    assert_eq!((&record["background"], &record["smoothing"]), (&10.into(), &"reml".into()));
    let refused = |value| {
        refusal(&[
            "effect",
            "friedman1",
            "--n",
            "9",
            "--seed",
            "1",
            "--estimator",
            "shapdp",
            "--background",
            value,
        ])
    };
    assert!(refused("0").contains("a whole number above 0, or all"));
    assert!(refused("some").contains("a whole number above 0, or all"));
}

#[test]
fn regional_effects() {
    let ask = |more: &[&str]| {
        let common =
            ["effect", "effector-regional", "--n", "1000", "--seed", "3", "--feature", "1"];
        [&common[..], more].concat().iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()
    };
    let run = |more: &[&str]| {
        let arguments = ask(more);
        answer(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for method in ["pdp", "dpdp", "ale", "rhale", "shapdp"] {
        let estimator = format!("regional-{method}");
        let text = run(&["--estimator", &estimator, "--format", "table"]);
        assert!(text.contains("x3"), "{text}");
        let parsed: serde_json::Value =
            serde_json::from_str(&run(&["--estimator", &estimator])).unwrap();
        assert!(parsed.to_string().contains("heterogeneity"), "{parsed}");
    }
    let wrong = |more: &[&str]| {
        let arguments = ask(more);
        refusal(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert!(wrong(&["--estimator", "regional-al"]).contains("regional-ale"));
    assert!(wrong(&["--estimator", "regional-ale", "--drop=-1"]).contains("drop"));
    assert!(wrong(&["--estimator", "regional-ale", "--kind", "x3=red"]).contains("x3=red"));
    assert!(wrong(&["--estimator", "ale", "--depth", "2"]).contains("depth"));
}

/// 3 x1 where x3 is above 0, else −3 x1: in a region whose limit is a little below 0 the slope is 3 less what that costs.
#[test]
fn the_truth_stands_beside_a_tree_of_regions() {
    let ask = |more: &[&str]| {
        let common =
            ["effect", "effector-regional", "--n", "1000", "--seed", "1", "--feature", "1"];
        let estimator = ["--estimator", "regional-pdp", "--depth", "1"];
        answer(&[&common[..], &estimator, more].concat())
    };
    let table = ask(&["--format", "table"]);
    assert!(table.contains("heterogeneity 0 (truth: weight 49.9 %, heterogeneity 0)"), "{table}");
    let rows = csv(&ask(&["--format", "csv"]));
    let region = rows[0].iter().position(|name| name == "region").unwrap();
    let [x, effect, truth, difference] =
        ["x", "effect", "truth", "difference"].map(|name| column(&rows, name));
    for (i, row) in rows[1..].iter().enumerate() {
        let (side, limit) = row[region].rsplit_once(' ').unwrap();
        let limit: f64 = limit.parse().unwrap();
        assert!(limit < 0.0, "{limit}");
        let above = side.ends_with('>');
        let slope = if above { 3.0 - 6.0 * -limit / (1.0 - limit) } else { -3.0 };
        // Both curves are centred over the axis.
        let middle = 0.5 * (x[0] + x[x.len() - 1]);
        assert!((truth[i] - slope * (x[i] - middle)).abs() < 1e-9, "{slope} {} {}", x[i], truth[i]);
        assert!((effect[i] - truth[i] - difference[i]).abs() < 1e-15);
    }
    let parsed: serde_json::Value = serde_json::from_str(&ask(&["--format", "json"])).unwrap();
    let nodes = parsed[0]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 3);
    for node in nodes {
        assert!(node["truth"]["heterogeneity"].as_f64().is_some(), "{node}");
        assert!(node["effect"]["difference"].is_array(), "{node}");
    }
    assert!(!ask(&["--format", "table", "--no-truth"]).contains("truth"));
}

#[test]
fn shap_dependence_is_scored_against_its_truth() {
    let folder = folder();
    let study = "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nfeatures = [\"x1\"]\nN = 200\n\
                 replicates = 1\nmetrics = [\"rmse\"]\n\
                 [[block.estimator]]\nname = \"shapdp\"\nsmoothing = [\"gcv\", \"reml\"]\n";
    let out = path(&folder, "out");
    answer(&["run", &write(&folder, "s.toml", study), "--out", &out]);
    let cells = std::fs::read_to_string(Path::new(&out).join("cells.csv")).unwrap();
    assert_eq!(cells.matches(",ok").count(), 2, "{cells}");
}

#[test]
fn empty_and_infeasible_bins_are_counted() {
    let folder = folder();
    let study = "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nfeatures = [\"x1\"]\nN = 5\n\
                 replicates = 3\nmetrics = [\"empty_bins\", \"infeasible\", \"bins\"]\n\
                 [[block.estimator]]\nname = \"dale\"\nbins = 50\n\
                 [[block.estimator]]\nname = \"rhale\"\nmin_points = 6\n";
    let out = path(&folder, "out");
    answer(&["run", &write(&folder, "s.toml", study), "--out", &out]);
    let rows = csv(&answer(&[
        "table",
        &out,
        "--rows",
        "estimator",
        "--cols",
        "metric",
        "--format",
        "csv",
    ]));
    // Row after row of the table: dale, then rhale.
    let means = column(&rows, "mean");
    assert_eq!([means[1], means[4]], [0.0, 1.0], "infeasible");
    assert_eq!([means[2], means[5]], [50.0, 1.0], "bins");
    assert!(means[0] >= 45.0, "empty_bins");
}

#[test]
fn results_are_immutable_and_whole() {
    let folder = folder();
    let study = write(&folder, "study.toml", STUDY);
    let out = path(&folder, "out");
    answer(&["run", &study, "--out", &out]);
    let before = read(&out, "cells.csv");
    assert!(refusal(&["run", &study, "--out", &out]).contains("exists already"));
    assert_eq!(read(&out, "cells.csv"), before);
    let manifest: Value = serde_json::from_str(&read(&out, "manifest.json")).unwrap();
    for key in [
        "schema",
        "seed",
        "studies",
        "git_commit",
        "profile",
        "rustc",
        "cpu",
        "cores",
        "os",
        "started",
        "wall_seconds",
    ] {
        assert!(!manifest[key].is_null(), "{key}");
    }
    let left_behind = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left_behind, 2, "only the study and the results");
    let missing = path(&folder, "nothing/there");
    assert!(refusal(&["table", &missing]).contains("manifest.json"));
}

#[test]
fn tables_by_key_and_format() {
    let folder = folder();
    let study = write(&folder, "study.toml", STUDY);
    let out = path(&folder, "out");
    let printed = answer(&["run", &study, "--out", &out]);
    assert!(printed.starts_with("**study**"), "{printed}");
    let table = |format: &str| {
        answer(&[
            "table",
            &out,
            "--rows",
            "estimator,binning,K",
            "--cols",
            "N",
            "--where",
            "metric=mse",
            "--where",
            "feature=x1",
            "--where",
            "scenario=liu-product@1",
            "--format",
            format,
        ])
    };
    let csv = csv(&table("csv"));
    assert_eq!(csv[0][0], "table");
    assert_eq!(csv.len(), 1 + 2 * 6);
    assert!(table("md").contains("| ale       | quantile"));
    let latex = table("latex");
    assert!(latex.contains("\\toprule") && latex.contains("dp(min\\_points=N/20;discount=0.2)"));
    let open = refusal(&["table", &out, "--rows", "estimator", "--cols", "metric"]);
    assert!(open.contains("leaves open"), "{open}");
    assert!(
        refusal(&["table", &out, "--rows", "estimatr", "--cols", "N"])
            .contains("did you mean `estimator`")
    );
    assert!(refusal(&["table", &out, "--study", "studdy"]).contains("did you mean `study`"));
}

#[test]
fn err_compares_curves_as_they_are() {
    let folder = folder();
    let study = |center: &str| {
        format!(
            "about = \"a\"\n[[block]]\nscenario = \"poly\"\nN = 100\nreplicates = 2\ncompare = \"Err\"\n\
             [[block.estimator]]\nname = \"pdp\"\n{center}\n"
        )
        .replace("poly", "liu-quadratic")
    };
    let bare = write(&folder, "bare.toml", &study(""));
    assert!(refusal(&["run", &bare, "--out", &path(&folder, "a")]).contains("needs `center`"));
    // Uncentred, the error of the level stays in; centred by `start` or `integral` it does not.
    let mse = |center: &str| {
        let file =
            write(&folder, &format!("{center}.toml"), &study(&format!("center = \"{center}\"")));
        let out = path(&folder, center);
        answer(&["run", &file, "--out", &out]);
        let rows = csv(&answer(&[
            "table",
            &out,
            "--rows",
            "feature",
            "--cols",
            "metric",
            "--where",
            "metric=mse",
            "--format",
            "csv",
        ]));
        column(&rows, "mean")
    };
    let (none, integral) = (mse("none"), mse("integral"));
    assert!(integral[1] < none[1], "{integral:?} {none:?}");
}

#[test]
fn bad_input_ends_with_status_2_and_one_clear_message() {
    let folder = folder();
    let file = |name: &str, text: &str| write(&folder, name, text);
    let effect =
        |file: &str| refusal(&["effect", "liu-product", "--data", file, "--estimator", "ale"]);
    let says = |message: String, words: &[&str]| {
        for word in words {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
        assert!(!message.contains("panicked"), "{message}");
    };
    // Data files.
    says(effect(&file("empty.csv", "x1,x2\n")), &["empty.csv", "no rows"]);
    says(effect(&file("one.csv", "x1,x2\n1,2\n")), &["x1 is constant (1)"]);
    says(effect(&file("nan.csv", "x1,x2\n1,2\n3,NaN\n")), &["row 2, column x2", "missing"]);
    says(effect(&file("word.csv", "x1,x2\n1,2\nthree,4\n")), &["row 2, column x1", "three"]);
    says(effect(&file("inf.csv", "x1,x2\n1,inf\n")), &["row 1, column x2"]);
    says(effect(&file("wide.csv", "x1,x2,x3\n1,2,3\n")), &["3 feature columns", "2 features"]);
    says(effect(&file("ragged.csv", "x1,x2\n1,2\n3\n")), &["ragged.csv"]);
    says(effect(&file("twice.csv", "x1,x1\n1,2\n3,4\n")), &["two columns are called x1"]);
    says(effect(&path(&folder, "absent.csv")), &["absent.csv", "No such file"]);
    let weights = file("w.csv", "x1,x2,w\n1,2,1\n2,3,-1\n");
    let with = ["effect", "liu-product", "--data", &weights, "--estimator", "ale", "--weights"];
    says(refusal(&[&with[..], &["w"]].concat()), &["-1 given for row 2"]);
    says(refusal(&[&with[..], &["v"]].concat()), &["no column `v`: there are x1, x2, w"]);
    // Scenarios and their parameters.
    let truth = |tail: &[&str]| refusal(&[&["truth"], tail].concat());
    says(truth(&["sin-indicatr", "--effect", "pd"]), &["sin-indicator"]);
    says(truth(&["liu-product", "--set", "rho=1.2", "--effect", "pd"]), &["rho", "1.2"]);
    says(truth(&["liu-product", "--set", "rh=0.2", "--effect", "pd"]), &["rho"]);
    says(truth(&["liu-product", "--set", "rho", "--effect", "pd"]), &["KEY=VALUE"]);
    says(truth(&["liu-product", "--effect", "pdd"]), &["pd"]);
    says(truth(&["liu-product", "--effect", "pd", "--feature", "x3"]), &["x3", "x1 … x2"]);
    says(truth(&["liu-product", "--effect", "pd", "--feature", "x0"]), &["x0"]);
    says(truth(&["liu-product", "--effect", "main", "--feature", "x1"]), &["x1"]);
    says(truth(&["liu-product", "--effect", "pd", "--range", "1,1"]), &["LO below HI"]);
    says(truth(&["friedman1", "--effect", "ale", "--at", "1.5", "--feature", "1"]), &["1.5"]);
    says(truth(&["liu-product", "--feature", "1", "--bins", "0,2,1"]), &["2", "1"]);
    says(
        truth(&["liu-product", "--feature", "1", "--bins", "0"]),
        &["--bins", "number of equal bins"],
    );
    says(truth(&["liu-product", "--feature", "1", "--bins", "2.5"]), &["2.5", "limits"]);
    says(truth(&["liu-product", "--bins", "0,1"]), &["one --feature"]);
    says(truth(&["liu-product"]), &["--effect"]);
    // Estimators and their options.
    let estimate = |tail: &[&str]| {
        refusal(
            &[&["effect", "friedman1", "--n", "50", "--seed", "1", "--feature", "1"], tail]
                .concat(),
        )
    };
    says(estimate(&["--estimator", "alle"]), &["alle", "ale"]);
    says(estimate(&["--estimator", "ale", "--bins", "0"]), &["bins = 0"]);
    says(estimate(&["--estimator", "ale", "--binning", "dp"]), &["dp", "rhale"]);
    says(
        estimate(&["--estimator", "ale", "--binning", "grid", "--limits", "0,1,0.5"]),
        &["increasing"],
    );
    says(estimate(&["--estimator", "pdp", "--bins", "5"]), &["`pdp` takes no option `bins`"]);
    says(estimate(&["--estimator", "pdp", "--center", "bins"]), &["needs bins"]);
    says(estimate(&["--estimator", "ale", "--at", "2"]), &["2 is outside"]);
    says(estimate(&["--estimator", "ale", "--axis", "5,6"]), &["no row"]);
    says(
        estimate(&["--estimator", "ale", "--empty", "error", "--bins", "500"]),
        &["has no instances"],
    );
    says(refusal(&["effect", "friedman1", "--estimator", "ale"]), &["--n"]);
    says(
        refusal(&["sample", "friedman1", "--n", "0", "--seed", "1"]),
        &["'0'", "whole number above 0"],
    );
    says(
        refusal(&["sample", "friedman1", "--n", "5", "--seed", "1", "--snr", "-1"]),
        &["snr = -1"],
    );
    says(refusal(&["list", "scenaros"]), &["did you mean `scenarios`"]);
}

#[test]
fn bad_studies_are_refused_before_anything_runs() {
    let folder = folder();
    let refused = |from: &str, to: &str, words: &[&str]| {
        assert!(STUDY.contains(from), "{from}");
        let file = write(&folder, "study.toml", &STUDY.replacen(from, to, 1));
        let out = path(&folder, "out");
        let message = refusal(&["run", &file, "--out", &out]);
        for word in words.iter().chain(&["study.toml"]) {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
        assert!(!Path::new(&out).exists());
        assert_eq!(refusal(&["list", &file]), message);
    };
    refused("replicates = 4", "replicats = 4", &["`replicats`", "did you mean `replicates`"]);
    refused("replicates = 4", "replicates = 0", &["`replicates` = 0"]);
    refused("replicates = 4", "replicates = \"four\"", &["\"four\" is no whole number"]);
    refused("N = [50, 200]", "N = [50, 0]", &["`N` = 0"]);
    refused("N = [50, 200]", "N = { from = 9, to = 3 }", &["goes down"]);
    refused("sin-indicator", "sin-indicatr", &["sin-indicator"]);
    refused("\"L_mu\"", "\"L_mue\"", &["did you mean `L_mu`"]);
    refused("bins = [5, 9]", "bns = [5, 9]", &["`bns`", "did you mean `bins`"]);
    refused("bins = [5, 9]", "bins = [5, 0]", &["bins = 0"]);
    refused("bins = [5, 9]", "bins = []", &["empty list"]);
    refused("name = \"rhale\"", "name = \"rale\"", &["rale", "rhale"]);
    refused("name = \"rhale\"", "nam = \"rhale\"", &["needs a `name`"]);
    refused("grid = 20", "bins = 20", &["`pdp` takes no option `bins`"]);
    refused("about =", "abut =", &["did you mean `about`"]);
    refused("[[block]]", "[[block", &["TOML"]);
    refused("N = [50", "set = { rho = 2 }\nN = [50", &["rho", "2"]);
    refused("N = [50", "features = [\"x7\"]\nN = [50", &["x7"]);
    let table = "about = \"A small study.\"\n[[table]]\nrows = [\"estimater\"]\ncolumns = [\"N\"]";
    refused("about = \"A small study.\"", table, &["did you mean `estimator`"]);
}

#[test]
fn a_study_is_listed_without_running() {
    let folder = folder();
    let study = write(&folder, "study.toml", STUDY);
    let rows = csv(&answer(&["list", &study, "--format", "csv"]));
    let law = "mu1=0;mu2=0;sigma1=1;sigma2=1;rho=0.5";
    // 20 points of the estimator and 100 of the comparison share their ends.
    let rows_asked = (118 * 50 * 4).to_string();
    assert_eq!(rows[1][..4], ["liu-product@1", law, "x1", "pdp"]);
    assert_eq!(rows[1][9..], ["grid=20", "50", "4", &rows_asked]);
    assert_eq!(rows.len(), 1 + 6 * 2 * (2 + 3));
    let table = answer(&["list", &study]);
    assert!(table.lines().any(|line| line.contains("all") && line.contains("240")), "{table}");
}

#[test]
fn presets_give_way_to_explicit_options() {
    let base = ["effect", "friedman1", "--n", "200", "--seed", "7", "--feature", "x1"];
    let effect = |tail: &[&str]| -> Value {
        let text = answer(&[&base[..], tail, &["--format", "json"]].concat());
        serde_json::from_str::<Vec<Value>>(&text).unwrap().remove(0)
    };
    let preset = ["--estimator", "rhale", "--preset", "effector-0.6"];
    let written_out = [
        "--estimator=rhale",
        "--binning=dp",
        "--bins=20",
        "--min-points=2",
        "--discount=0.3",
        "--center=integral",
        "--center-rule=midpoints",
        "--center-points=30",
        "--ddof=0",
        "--empty=interpolate-index",
        "--fill-variances",
        "--closed=left",
        "--extrapolate",
    ];
    let (by_preset, by_options) = (effect(&preset), effect(&written_out));
    assert_eq!(by_preset["preset"], "effector-0.6");
    for key in ["limits", "effect", "heterogeneity", "heterogeneity_values", "record"] {
        assert_eq!(by_preset[key], by_options[key], "{key}");
    }
    let mine = effect(&[&preset[..], &["--ddof", "1", "--extrapolate=false"]].concat());
    assert_eq!(mine["record"]["ddof"], 1.0);
    assert_eq!(mine["record"]["extrapolated"], false);
    let fixed = effect(&[&preset[..], &["--binning", "fixed", "--bins", "5"]].concat());
    assert_eq!(fixed["limits"].as_array().unwrap().len(), 6);
    let sklearn = effect(&["--estimator", "pdp", "--preset", "sklearn-1.9"]);
    let axis = effect(&["--estimator", "pdp", "--axis", "cunnane:0.05,0.95", "--center", "none"]);
    assert_eq!(sklearn["x"], axis["x"]);
    assert_eq!(sklearn["effect"], axis["effect"]);
    let refused = refusal(&[&base[..], &["--estimator", "dale", "--preset", "alibi-0.9"]].concat());
    assert!(refused.contains("covers ale"), "{refused}");
}

#[test]
fn presets_in_studies() {
    let folder = folder();
    let study = |estimator: &str| {
        let text = format!(
            r#"
about = "A preset."
[[block]]
scenario = "friedman1"
N = 100
replicates = 1
features = ["x1"]
metrics = ["mse"]
[[block.estimator]]
{estimator}
"#
        );
        write(&folder, "presets.toml", &text)
    };
    let file = study("name = \"ale\"\npreset = \"effector-0.6\"\nbins = 7");
    let out = path(&folder, "out");
    answer(&["run", &file, "--out", &out]);
    let cells = std::fs::read_to_string(Path::new(&out).join("cells.csv")).unwrap();
    let rows = csv(&cells);
    let of =
        |name: &str| rows[1][rows[0].iter().position(|column| column == name).unwrap()].clone();
    assert_eq!(of("preset"), "effector-0.6");
    assert_eq!((of("binning"), of("K")), ("fixed".to_owned(), "7".to_owned()));
    assert!(of("options").contains("center_rule=midpoints"), "{}", of("options"));
    let refused =
        refusal(&["run", &study("name = \"pdp\"\npreset = \"alibi-0.9\""), "--out", &out]);
    assert!(refused.contains("covers ale"), "{refused}");
}

/// Beside the effect, at the same points, whichever these are.
#[test]
fn the_spread_about_an_accumulated_effect_is_given_where_the_effect_is() {
    let given = ["effect", "goldstein", "--n", "100", "--seed", "1", "--estimator", "dale"];
    let effect = |options: &[&str]| {
        let chosen = ["--bins", "4", "--feature", "x2", "--axis=-1,1"];
        let all = [&given[..], &chosen[..], options].concat();
        serde_json::from_str::<Value>(&answer(&all)).unwrap()[0].clone()
    };
    let numbers = |values: &Value| -> Vec<f64> {
        values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let (limits, points) = (effect(&[]), effect(&["--at", "-1,-0.75,0,1"]));
    for name in ["std", "accumulated_sd"] {
        let (all, some) = (numbers(&limits["bands"][name]), numbers(&points["bands"][name]));
        assert_eq!((all.len(), some.len()), (5, 4));
        assert_eq!((some[0], some[2], some[3]), (0.0, all[2], all[4]));
        // Within the first bin both grow in proportion to the distance from its limit.
        assert!((some[1] - all[1] / 2.0).abs() < 1e-12);
    }
}
