//! Where an effect is computed, where it is printed, and what is printed beside it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    let subject = ["effect", "poly3", "--n", "30", "--seed", "1", "--feature", "x1"];
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(subject).args(arguments).output().unwrap()
}

fn effect(arguments: &[&str]) -> Value {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap().remove(0)
}

fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    String::from_utf8(output.stderr).unwrap()
}

fn x(effect: &Value) -> Vec<f64> {
    effect["x"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Values that are the grid are what is printed, however many points it might have had.
#[test]
fn a_grid_of_distinct_values_is_printed_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("three.csv");
    std::fs::write(&file, "x1,x2,x3\n0.25,1,0\n0.5,2,1\n1,3,0\n").unwrap();
    let sklearn = [
        "effect",
        "poly3",
        "--data",
        file.to_str().unwrap(),
        "--estimator",
        "pdp",
        "--feature",
        "x1",
    ];
    let options = ["--preset", "sklearn-1.9", "--axis", "data", "--grid", "20", "--distinct", "19"];
    let output =
        Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(sklearn).args(options).output().unwrap();
    let effects: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(x(&effects[0]), [0.25, 0.5, 1.0]);
    // x1² + 2 x1 + ⅙, of which nothing is taken away.
    let values: Vec<f64> =
        effects[0]["effect"].as_array().unwrap().iter().map(|y| y.as_f64().unwrap()).collect();
    for (x, y) in x(&effects[0]).iter().zip(values) {
        assert!((y - (x * x + 2.0 * x + 1.0 / 6.0)).abs() < 1e-12);
    }
}

#[test]
fn the_grid_and_the_points_printed_are_two_things() {
    let pdp = ["--estimator", "pdp", "--axis=0,1"];
    let with = |more: &[&str]| effect(&[&pdp, more].concat());
    assert_eq!(x(&with(&["--grid", "3"])), [0.0, 0.5, 1.0]);
    assert_eq!(x(&with(&["--grid", "4", "--points", "3"])), [0.0, 0.5, 1.0]);
    assert_eq!(x(&with(&["--grid", "4", "--at", "0.7,0.1"])), [0.7, 0.1]);
    assert_eq!(x(&with(&["--points", "3", "--at", "0.7,0.5"])), [0.0, 0.5, 0.7, 1.0]);
    // Printed points are no straight lines between those of the grid, and move no constant.
    let (few, many) =
        (with(&["--grid", "3", "--points", "5"]), with(&["--grid", "3", "--at", "0.25"]));
    assert_eq!(few["effect"][1], many["effect"][0]);
    assert_eq!(few["record"]["centring_constant"], many["record"]["centring_constant"]);
    // Where there are bins, both say where the effect is printed.
    let ale = ["--estimator", "ale", "--bins", "2", "--axis=0,1"];
    assert_eq!(x(&effect(&[&ale[..], &["--grid", "3"]].concat())), [0.0, 0.5, 1.0]);
    assert_eq!(
        x(&effect(&[&ale[..], &["--points", "3", "--at", "0.3"]].concat())),
        [0.0, 0.3, 0.5, 1.0]
    );
    let message = refusal(&[&ale[..], &["--points", "3", "--grid", "3"]].concat());
    assert!(message.contains("no grid of its own"), "{message}");
}

#[test]
fn what_only_json_holds_is_refused_elsewhere() {
    for flag in ["--importance", "--shapley-values"] {
        let message = refusal(&["--estimator", "shapdp", flag, "--format", "csv"]);
        assert!(message.contains(flag) && message.contains("json"), "{message}");
    }
    let object = effect(&["--estimator", "shapdp", "--importance", "--shapley-values"]);
    assert!(object["importance"].as_f64().unwrap() > 0.0);
    assert_eq!(object["shapley"]["rows"].as_array().unwrap().len(), 30);
    assert_eq!(object["shapley"]["rows"][0], 1);
    let object = effect(&["--estimator", "shapdp"]);
    assert!(object.get("importance").is_none() && object.get("shapley").is_none());
}

#[test]
fn background_rows_must_be_of_the_same_features() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let shapdp = |path: &str| {
        let flags = ["--estimator", "shapdp", "--background-rows", path];
        flags.map(str::to_owned)
    };
    let refused = |path: &str| refusal(&shapdp(path).each_ref().map(String::as_str));
    assert!(refused(&file("two.csv", "x1,x2\n1,2\n")).contains("two.csv"));
    assert!(
        refused(&file("other.csv", "x1,x3,x2\n1,2,3\n"))
            .contains("other.csv: its columns are x1, x3, x2")
    );
    assert!(refused(&file("empty.csv", "x1,x2,x3\n")).contains("empty"));
    assert!(refused("absent.csv").contains("absent.csv"));
    let one = file("one.csv", "x1,x2,x3\n0,0,0\n");
    let object =
        effect(&[&shapdp(&one).each_ref().map(String::as_str)[..], &["--shapley-values"]].concat());
    assert_eq!(object["shapley"]["base_value"], 0.0);
    assert_eq!(object["record"]["shapley"]["background"], 1);
    let both = refusal(&["--estimator", "shapdp", "--background", "3", "--background-rows", &one]);
    assert!(both.contains("cannot be used with"), "{both}");
    assert!(
        refusal(&["--estimator", "pdp", "--background-rows", &one]).contains("background_rows")
    );
}
