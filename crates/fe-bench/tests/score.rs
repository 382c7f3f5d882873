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

/// The column `output`, as `effect` prints it, changes nothing, of one feature or of two.
#[test]
fn the_output_may_be_said() {
    let plain = "feature,x,effect\nx1,0,0\nx1,1,3\n";
    let with = "feature,output,x,effect\nx1,1,0,0\nx1,1,1,3\n";
    assert_eq!(rows(plain, &[]), rows(with, &[]));
    let pair = |text: &str| score(text, &[]).stdout;
    let plain = "feature,feature2,x,x2,effect\nx1,x2,0,0,0\nx1,x2,1,0,3\n";
    let with = "feature,feature2,output,x,x2,effect\nx1,x2,1,0,0,0\nx1,x2,1,1,0,3\n";
    assert!(!pair(plain).is_empty());
    assert_eq!(pair(plain), pair(with));
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
    refused("feature,x,effect,replicate\n1,0,0,a\n", &[], "replicate a: must be a whole number");
    refused("feature,x,effect,method,estimator\n1,0,0,a,b\n", &[], "method and estimator are one");
    refused(
        "feature,output,x,effect\n1,2,0,0\n",
        &[],
        "row 1: output 2: the function of a scenario",
    );
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

/// Prints trees of a scenario, and scores them again.
fn score_tree(scenario: &str, tree: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trees.json");
    std::fs::write(&path, tree).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.arg("score").arg(&path).args(["--scenario", scenario, "--format", "csv"]);
    command.args(arguments).output().unwrap()
}

fn tree_value(output: &Output, metric: &str) -> f64 {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
    let row = reader.records().map(Result::unwrap).find(|row| &row[3] == metric).unwrap();
    row[4].parse().unwrap_or_else(|_| panic!("{row:?}"))
}

/// f is 3 x1 or −3 x1 as x3, uniform on −1 to 1, is above 0 or not.
#[test]
fn a_tree_of_the_least_form_is_scored() {
    let tree = |first: &str, second: &str| {
        format!(
            r#"{{"feature": "x1", "estimator": "regional-dpdp", "nodes": [{{}},
            {{"parent": 0, "rule": {{"feature": "x3", {first}}}, "x": [-1, 1], "effect": [-2, -2]}},
            {{"parent": 0, "rule": {{"feature": "x3", {second}}}, "x": [-1, 1], "effect": [3, 3]}}]}}"#
        )
    };
    let text = tree("\"at-most\": 0.2", "\"above\": 0.2");
    let output = score_tree("effector-regional", &text, &["--compare", "Err"]);
    // On the left a sixth has the slope 3: the mean is −2, and the variance 36 · 5/36.
    let near = |metric: &str, expected: f64| {
        let value = tree_value(&output, metric);
        assert!((value - expected).abs() < 1e-9, "{metric}: {value}");
    };
    near("leaf_mse", 0.0);
    near("region_regret", 0.6 * 5.0);
    near("split_feature", 1.0);
    near("split_error", 0.1);
    near("leaves", 2.0);
    let refused = |text: &str, arguments: &[&str], words: &str| {
        let output = score_tree("effector-regional", text, arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words) && output.stdout.is_empty(), "{words}: {message}");
    };
    refused(&text, &["--effect", "pd"], "--effect");
    refused(&tree("\"at-most\": 0.2", "\"above\": 0.4"), &[], "not 1");
    refused(&tree("\"is\": 0.2", "\"is-not\": 0.2"), &[], "probability 0");
    refused(&tree("\"upto\": 0.2", "\"above\": 0.2"), &[], "at-most");
    refused(&text.replace("x3", "x1"), &[], "its own effect");
    refused(&text.replace("x3", "x9"), &[], "x9");
    let last = text.rfind("\"parent\": 0").unwrap();
    let itself = format!("{}\"parent\": 2{}", &text[..last], &text[last + 11..]);
    refused(&itself, &[], "parent");
    refused(&text.replace("[-1, 1]", "[1, -1]"), &[], "increase");
    refused(&text.replace("regional-dpdp", "regional-ale"), &[], "limits");
    let of_another =
        text.replacen("{\"feature\"", "{\"scenario\": \"friedman1@1\", \"feature\"", 1);
    refused(&of_another, &[], "it is of the scenario friedman1@1");
    let beyond = text.replace("0.2", "1.2");
    refused(&beyond, &[], "those of another scenario than effector-regional@1");
    refused("{\"feature\": 1", &[], "trees.json");
    refused("[]", &[], "no tree");
}

/// A tree that is printed and read again has the scores that a study gives it.
#[test]
fn printed_trees_have_the_scores_of_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let program = || Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    let metrics = ["leaf_mse", "region_regret", "split_error", "leaves", "heterogeneity_value"];
    let study = format!(
        "about = \"trees\"\n[[block]]\nscenario = \"general-interaction\"\nfeatures = [\"x1\"]\nN = 150\n\
         replicates = 1\ngrid = 9\nmetrics = {metrics:?}\n[[block.estimator]]\n\
         name = [\"regional-pdp\", \"regional-ale\", \"regional-rhale\"]\n"
    );
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    let out = folder.path().join("out");
    let mut run = program();
    run.arg("run").arg(folder.path().join("study.toml")).arg("--out").arg(&out);
    assert!(run.output().unwrap().status.success());
    let cells = std::fs::read_to_string(out.join("cells.csv")).unwrap();
    for estimator in ["regional-pdp", "regional-ale", "regional-rhale"] {
        let mut effect = program();
        effect.args([
            "effect",
            "general-interaction",
            "--n",
            "150",
            "--seed",
            "0",
            "--feature",
            "x1",
        ]);
        effect.args(["--estimator", estimator, "--axis", "scenario", "--points", "9"]);
        let printed = effect.args(["--format", "json"]).output().unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        let printed = String::from_utf8(printed.stdout).unwrap();
        let output = score_tree("general-interaction", &printed, &[]);
        for metric in metrics {
            let mut reader = csv::Reader::from_reader(cells.as_bytes());
            let headers = reader.headers().unwrap().clone();
            let column = |name: &str| headers.iter().position(|of| of == name).unwrap();
            let (of, what, value) = (column("estimator"), column("metric"), column("value"));
            let mut rows = reader.records().map(Result::unwrap);
            let row = rows.find(|row| &row[of] == estimator && &row[what] == metric).unwrap();
            let (expected, found): (f64, f64) =
                (row[value].parse().unwrap(), tree_value(&output, metric));
            assert!(
                (expected - found).abs() <= 1e-9 * expected.abs(),
                "{estimator} {metric}: {row:?} {found}"
            );
        }
    }
}

#[test]
fn what_effect_prints_as_json_is_scored_like_its_csv() {
    let scratch = tempfile::tempdir().unwrap();
    let mut scores = Vec::new();
    for format in ["csv", "json"] {
        let asked = [
            "--n",
            "200",
            "--seed",
            "1",
            "--estimator",
            "ale",
            "--bins",
            "20",
            "--band",
            "analytic",
        ];
        let effect = [&["effect", "friedman1"][..], &asked, &["--format", format]].concat();
        let printed = fe_bench(scratch.path(), &effect);
        assert!(printed.status.success());
        let file = format!("curves.{format}");
        std::fs::write(scratch.path().join(&file), printed.stdout).unwrap();
        let score =
            ["score", &file, "--scenario", "friedman1", "--effect", "ale", "--format", "csv"];
        let output = fe_bench(scratch.path(), &score);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let places: Vec<usize> = ["feature", "metric", "value", "compared"]
            .map(|name| header.iter().position(|known| known == name).unwrap())
            .to_vec();
        let rows = reader.records().map(Result::unwrap);
        let row = |record: csv::StringRecord| -> Vec<String> {
            places.iter().map(|&place| record[place].to_owned()).collect()
        };
        scores.push(rows.map(row).collect::<Vec<_>>());
    }
    assert!(scores[0].iter().any(|row| row[1] == "coverage"));
    assert_eq!(scores[0], scores[1]);
    // JSON names its estimator, and so what it estimates.
    let output = fe_bench(scratch.path(), &["score", "curves.json", "--scenario", "friedman1"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(
        scratch.path().join("bad.json"),
        "[{\"feature\": \"x1\", \"x\": [1], \"effect\": []}]",
    )
    .unwrap();
    let output = fe_bench(
        scratch.path(),
        &["score", "bad.json", "--scenario", "friedman1", "--effect", "ale"],
    );
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("curve 1: effect has 0 values and x has 1"), "{message}");
}

fn fe_bench(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn answer(folder: &std::path::Path, arguments: &[&str]) -> String {
    let output = fe_bench(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// What `effect` prints as CSV, and what `score` says of that.
fn printed_and_scored(effect: &[&str], score: &[&str]) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let as_csv = ["--format", "csv"];
    let printed = answer(path, &[&["effect"][..], effect, &as_csv].concat());
    std::fs::write(path.join("own.csv"), &printed).unwrap();
    let scored = answer(path, &[&["score", "own.csv"][..], score, &as_csv].concat());
    [printed, scored]
}

/// The program's own estimate is scored as it is printed, and its truth is that of its estimator.
#[test]
fn what_effect_prints_is_scored() {
    let drawn =
        ["snc", "--n", "200", "--feature", "x1", "--estimator", "ale,pdp", "--band", "analytic"];
    let [_, scored] = printed_and_scored(&drawn, &["--scenario", "snc"]);
    assert!(scored.starts_with("scenario,feature,effect,method,metric,value"));
    assert!(
        scored.contains("x1,ale,ale,mse,") && scored.contains("x1,pd,pdp,coverage,"),
        "{scored}"
    );
}

/// So is what it prints of a pair of features, the truth beside it.
#[test]
fn what_effect_prints_of_pairs_is_scored() {
    let drawn =
        ["friedman1", "--n", "200", "--feature", "x1:x2", "--estimator", "ale", "--bins", "5"];
    let asked = ["--scenario", "friedman1", "--effect", "ale"];
    let [printed, scored] = printed_and_scored(&drawn, &asked);
    assert!(printed.starts_with("feature,feature2,output,x,x2,effect,truth,difference\n"));
    assert!(scored.contains(",mse,"), "{scored}");
}

/// Many curves of another program become results, which all commands read.
#[test]
fn curves_of_many_datasets_become_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut curves = "method,replicate,N,feature,x,effect\n".to_owned();
    for (method, size) in [("mine", 1.0), ("theirs", 2.0)] {
        for replicate in 0..20 {
            for rows in [100, 400] {
                for x in [-1.0, 0.0, 1.0] {
                    // The truth x, and an error that differs from dataset to dataset.
                    let error =
                        size * f64::from(1 + replicate % 4) * (x * x - 2.0 / 3.0) / f64::from(rows);
                    curves.push_str(&format!("{method},{replicate},{rows},x1,{x},{}\n", x + error));
                }
            }
        }
    }
    std::fs::write(path.join("curves.csv"), curves).unwrap();
    let score =
        ["score", "curves.csv", "--scenario", "liu-additive", "--effect", "pd", "--out", "results"];
    assert_eq!(answer(path, &score), "");
    let table = answer(
        path,
        &["table", "results", "--rows", "estimator", "--cols", "N", "--metric", "rmse"],
    );
    let row = |name: &str| table.lines().find(|line| line.contains(name)).unwrap().to_owned();
    // The root of 2/9 times the mean of 1, 2, 3, 4, over N.
    let expected = (2.0_f64 / 9.0).sqrt() * 2.5 / 100.0;
    assert!((expected - 0.01179).abs() < 1e-5 && row("mine").contains("0.0118"), "{table}");
    assert!(row("theirs").contains("0.0236") && table.contains("20 datasets"), "{table}");
    assert!(answer(path, &["compare", "results", "results"]).contains("0"));
    // Two sizes are no sweep: the curves are drawn beside the truth.
    let drawn = answer(path, &["plot", "results", "--out", "figures"]);
    assert_eq!(drawn.lines().count(), 2, "{drawn}");
    let picture = std::fs::read_to_string(path.join(drawn.lines().next().unwrap())).unwrap();
    for words in ["mine", "theirs", "truth", "dataset 0"] {
        assert!(picture.contains(words), "no {words}: {drawn}");
    }
    let kept = std::fs::read_to_string(path.join("results/curves.csv")).unwrap();
    assert_eq!(kept.lines().count(), 1 + 2 * 20 * 2 * 3);
    answer(path, &["report", "results"]);
    let page = std::fs::read_to_string(path.join("results.html")).unwrap();
    assert!(page.contains("curves.csv, scored against the truth") && page.contains("mine"));
    let again = fe_bench(path, &score);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));
    let nameless = fe_bench(path, &["score", "curves.csv", "--scenario", "liu-additive"]);
    let message = String::from_utf8_lossy(&nameless.stderr).into_owned();
    assert!(message.contains("--effect: needed") && message.contains("by `mine`"), "{message}");
}
