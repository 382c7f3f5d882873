//! `fe-bench score` as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

const HEAD: [&str; 4] = ["--scenario", "liu-additive", "--effect", "pd"];

/// Scores curves of a file against the partial dependence of x1 + x2, which is x1 at x1.
fn score(curves: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("curves.csv");
    std::fs::write(&path, curves).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.arg("score").arg(&path).args(HEAD).args(arguments).output().unwrap()
}

/// Rows of feature, metric, value, compared, left_out and status.
fn rows(curves: &str, arguments: &[&str]) -> Vec<(String, String, String, String, String, String)> {
    let output = score(curves, &[arguments, &["--format", "csv"]].concat());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
    assert_eq!(
        reader.headers().unwrap().iter().collect::<Vec<_>>().join(","),
        "scenario,feature,effect,metric,value,truth_method,truth_abs_error,compared,left_out,status"
    );
    let pick = |row: csv::StringRecord| {
        let [feature, metric, value, compared, left_out, status] =
            [1, 3, 4, 7, 8, 9].map(|column| row[column].to_owned());
        (feature, metric, value, compared, left_out, status)
    };
    reader.records().map(|row| pick(row.unwrap())).collect()
}

fn value(curves: &str, arguments: &[&str], metric: &str) -> f64 {
    let rows = rows(curves, arguments);
    rows.iter().find(|row| row.1 == metric).unwrap().2.parse().unwrap()
}

fn refused(curves: &str, arguments: &[&str], words: &str) {
    let output = score(curves, arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    assert!(message.contains(words), "{message}");
}

#[test]
fn distances_are_those_of_curves_centred_alike() {
    // Of x1 + 5 with one value 3 too high; centred, the differences are -1, 2 and -1.
    let curves = "x,feature,effect\n1,x1,9\n-1,1,4\n0,x1,5\n";
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
    near(value(curves, &[], "mse"), 2.0);
    near(value(curves, &[], "rmse"), 2.0_f64.sqrt());
    near(value(curves, &[], "mae"), 4.0 / 3.0);
    near(value(curves, &[], "max"), 2.0);
    // As they are, the differences are 5, 5 and 8; from a truth that starts at 0, less its start.
    near(value(curves, &["--compare", "Err"], "mae"), 6.0);
    let start = -value("feature,x,effect\n1,0,0\n", &["--compare", "Err"], "mae");
    assert_eq!(start, 0.0);
    let from_start = ["--compare", "Err", "--center", "start"];
    let lowest = value("feature,x,effect\n1,0,0\n", &from_start, "max");
    near(value(curves, &from_start, "max"), 8.0 - lowest);
    // x1 is standard normal: its 0.0001 quantile is -3.719.
    assert!((lowest - 3.719).abs() < 1e-3, "{lowest}");
}

#[test]
fn features_are_scored_apart_and_points_off_the_axis_are_counted() {
    let rows = rows("feature,x,effect\nx2,0,0\nx1,0,0\nx2,1,1\nx1,50,50\nx2,-9,7\nx1,99,0\n", &[]);
    let counts = |row: &(String, String, String, String, String, String)| {
        (row.0.clone(), row.3.clone(), row.4.clone())
    };
    let text = |feature: &str, compared: &str, left_out: &str| {
        (feature.to_owned(), compared.to_owned(), left_out.to_owned())
    };
    assert_eq!(rows.len(), 8);
    assert_eq!(counts(&rows[0]), text("x1", "1", "2"));
    assert_eq!(counts(&rows[7]), text("x2", "2", "1"));
    assert!(rows.iter().all(|row| row.5 == "ok"));
}

#[test]
fn nothing_on_the_axis_is_no_score() {
    let rows = rows("feature,x,effect\nx1,50,0\n", &[]);
    assert!(rows.iter().all(|row| row.2.is_empty() && row.5 == "nothing could be compared"));
}

#[test]
fn bands_have_coverage_and_width() {
    // The truth moved to the mean of the curve is 4, 5, 6: within the first two bands.
    let curves = "feature,x,effect,lower,upper\n\
        1,-1,4,3,4.5\n1,0,5,4,6\n1,1,6,6.5,7\n";
    assert_eq!(value(curves, &[], "coverage"), 2.0 / 3.0);
    assert_eq!(value(curves, &[], "width"), 4.0 / 3.0);
    assert_eq!(value(curves, &["--compare", "Err"], "coverage"), 0.0);
}

#[test]
fn bad_input_is_refused() {
    let good = "feature,x,effect\n1,0,0\n";
    refused("feature,x,y\n1,0,0\n", &[], "unknown columns y: the columns are feature, x, effect");
    refused("feature,x\n1,0\n", &[], "no column effect");
    refused("feature,x,effect,lower\n1,0,0,0\n", &[], "no column upper");
    refused("feature,x,effect,x\n1,0,0,0\n", &[], "two columns are called x");
    refused("feature,x,effect\n", &[], "there are no rows");
    refused("feature,x,effect\nx3,0,0\n", &[], "row 1: feature `x3` does not exist");
    refused("feature,x,effect\n1,0,0\n1,NaN,0\n", &[], "row 2, column x: `NaN`");
    refused(
        "feature,x,effect\n1,0,0\nx2,0,0\nx1,0,1\n",
        &[],
        "rows 1 and 3: x1 is given twice at 0",
    );
    refused("feature,x,effect,lower,upper\n1,0,0,2,1\n", &[], "row 1: lower 2 is above upper 1");
    refused("feature,x,effect\n1,0\n", &[], "curves.csv");
    refused(good, &["--center", "start"], "only with --compare Err");
    refused(good, &["--compare", "err"], "Err_c");
    refused(good, &["--set", "rho=2"], "rho");
}
