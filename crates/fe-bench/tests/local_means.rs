//! M-plots, curves of instances and subsamples, as a user of the program sees them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

use serde_json::{Value, json};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

/// x1 from 0 to 9 and x2 = 10 x1, of which the function of `null-feature` is x2.
fn effect(options: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let rows: String = (0..10).map(|i| format!("{i},{}\n", 10 * i)).collect();
    std::fs::write(&file, format!("x1,x2\n{rows}")).unwrap();
    let data = ["effect", "null-feature", "--feature", "x1", "--data", file.to_str().unwrap()];
    run(&[&data, options].concat())
}

fn answer(options: &[&str]) -> Value {
    let output = effect(options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap().remove(0)
}

fn refusal(options: &[&str]) -> String {
    let output = effect(options);
    assert_eq!(output.status.code(), Some(2), "{options:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn m_plots_on_bins_and_around_points() {
    let bins = answer(&["--estimator", "mplot", "--bins", "2", "--center", "none"]);
    assert_eq!(bins["limits"], json!([0.0, 4.5, 9.0]));
    assert_eq!(bins["bin_effect"], json!([20.0, 70.0]));
    assert_eq!(bins["bin_variance"], json!([200.0, 200.0]));
    assert_eq!(bins["mean_prediction"], 45.0);
    assert_eq!(bins["record"]["neighbourhoods"]["mean_width"], 4.5);
    assert_eq!(bins["curves"], Value::Null);
    let three = ["--estimator", "mplot", "--nearest", "2", "--grid", "4", "--center", "none"];
    let near = answer(&three);
    assert_eq!(near["x"], json!([0.0, 3.0, 6.0, 9.0]));
    assert_eq!(near["effect"], json!([5.0, 30.0, 60.0, 85.0]));
    assert_eq!(near["record"]["neighbourhoods"]["counts"], json!([2.0, 3.0, 3.0, 2.0]));
    // Without --nearest the grid is only where the curve is shown.
    let shown = answer(&["--estimator", "mplot", "--bins", "2", "--grid", "3"]);
    assert_eq!(shown["effect"], json!([-25.0, 25.0, 25.0]));
}

#[test]
fn curves_of_instances_with_their_rows() {
    let ice =
        answer(&["--estimator", "ice", "--grid", "2", "--center", "none", "--subsample", "3"]);
    let rows = ice["curves"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for (row, curve) in rows.iter().zip(ice["curves"]["values"].as_array().unwrap()) {
        // Rows are counted from 1.
        let x2 = 10.0 * (row.as_f64().unwrap() - 1.0);
        assert_eq!(*curve, json!([x2, x2]));
    }
    let record = &ice["record"]["subsample"];
    assert_eq!(*record, json!({ "asked": 3, "rows": 3, "of": 10, "seed": 0 }));
    let other = answer(&[
        "--estimator=ice",
        "--grid=2",
        "--subsample=3",
        "--subsample-seed=1",
        "--mean-prediction",
    ]);
    assert_ne!(other["curves"]["rows"], ice["curves"]["rows"]);
    assert_eq!(other["record"]["model_rows"], 2 * 3 + 3);
    assert!(other["mean_prediction"].is_f64());
    let regional = answer(&["--estimator=regional-ale", "--bins=2", "--subsample=7"]);
    assert_eq!(regional["record"]["subsample"]["rows"], 7);
}

#[test]
fn options_that_do_not_go_together() {
    let refused = refusal(&["--estimator", "pdp", "--subsample-seed", "1"]);
    assert!(refused.contains("`subsample_seed` needs `subsample`"), "{refused}");
    let refused = refusal(&["--estimator", "pdp", "--subsample", "0"]);
    assert!(refused.contains("subsample = 0"), "{refused}");
    let refused = refusal(&["--estimator", "mplot", "--nearest", "3", "--bins", "4"]);
    assert!(refused.contains("`bins` and `nearest` do not go together"), "{refused}");
    let refused = refusal(&["--estimator", "ice", "--grid", "1000000", "--subsample", "0"]);
    assert!(refused.contains("subsample = 0"), "{refused}");
}

/// Levels in bins are not compared with true slopes.
#[test]
fn studies_score_the_curves_of_m_plots_and_not_their_bins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    let text = r#"
about = "M-plots."
[[block]]
scenario = "null-feature"
N = 200
replicates = 1
features = ["x1"]
grid = 11
metrics = ["mse", "L_mu", "bins"]
[[block.estimator]]
name = "mplot"
bins = 5
subsample = 100
[[block.estimator]]
name = "mplot"
nearest = [10, 20]
"#;
    std::fs::write(&file, text).unwrap();
    let out = folder.path().join("out");
    let output = run(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut cells = csv::Reader::from_path(out.join("cells.csv")).unwrap();
    let place = |name: &str, header: &csv::StringRecord| header.iter().position(|c| c == name);
    let header = cells.headers().unwrap().clone();
    let [metric, status, options] =
        ["metric", "status", "options"].map(|name| place(name, &header).unwrap());
    let rows: Vec<csv::StringRecord> = cells.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 9);
    for row in &rows {
        let binned = row[options].contains("subsample=100");
        match (&row[metric], binned) {
            ("mse", _) | ("bins", true) => assert_eq!(&row[status], "ok"),
            ("L_mu", true) => assert!(row[status].contains("levels, not slopes"), "{row:?}"),
            _ => assert!(row[status].contains("has no bins"), "{row:?}"),
        }
    }
}
