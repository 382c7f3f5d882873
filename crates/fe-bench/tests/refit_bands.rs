//! Bands from refits as a user meets them: of a model of a file, and in studies of learners.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/iris.csv");
const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fe-models/tests/stored");

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

fn answer(arguments: &[&str]) -> (String, String) {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {message}");
    (String::from_utf8(output.stdout).unwrap(), message)
}

/// The answer as JSON.
fn answer_and_messages(arguments: &[&str]) -> (serde_json::Value, String) {
    let (text, message) = answer(arguments);
    (serde_json::from_str(&text).unwrap(), message)
}

fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    message
}

fn of_iris<'a>(further: &[&'a str]) -> Vec<&'a str> {
    let of = ["effect", "--data", DATA, "--target", "petal_width", "--ignore", "species"];
    [&of[..], &["--estimator", "ale", "--feature", "petal_length", "--band", "refit"], further]
        .concat()
}

#[test]
fn a_band_names_its_target_and_says_what_it_is_made_of() {
    let arguments = of_iris(&["--model", "gam", "--refits", "12", "--bins", "5"]);
    let (text, message) = answer(&arguments);
    for words in ["expected effect of the learner", "12 refits (bootstrap)", "that it is flat"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    let effects: serde_json::Value = serde_json::from_str(&text).unwrap();
    let record = &effects[0]["confidence"]["record"];
    assert!(record["meaning"].as_str().unwrap().contains("expected effect of the learner"));
    assert_eq!(record["refits"]["refits"], 12);
    assert_eq!(record["refits"]["resampling"], "bootstrap");
    assert_eq!(record["refits"]["correction"], "jackknife");
    assert_eq!(record["least_degrees_of_freedom"], 11.0);
    assert!(record["refits"]["p_flat"].as_f64().unwrap() < 0.01);
    assert_eq!(answer(&arguments).0, text, "the same again");
    let (permuted, message) = answer(&[&arguments[..], &["--flat-permutations", "19"]].concat());
    assert!(message.contains("p = 0.050 by permutations"), "{message}");
    let permuted: serde_json::Value = serde_json::from_str(&permuted).unwrap();
    assert_eq!(permuted[0]["confidence"]["record"]["refits"]["p_permuted"], 0.05);
    let other = answer(&[&arguments[..], &["--band-seed", "1"]].concat()).0;
    assert_ne!(other, text);
}

/// Models with several outputs, other schemes, held-out rows, several estimators.
#[test]
fn all_learners_have_bands() {
    for further in [
        &["--model", "linear", "--resampling", "subsample:0.5"][..],
        &["--model", "gbdt", "--set", "n_estimators=5", "--resampling", "cv:5"],
        &["--model", "mlp", "--set", "hidden=4", "--set", "epochs=2", "--test", "0.3"],
        &["--model", "gam", "--correction", "nadeau-bengio", "--explain", "train"],
        &["--model", "linear", "--standardize", "--level", "0.9"],
    ] {
        let small = ["--refits", "5", "--bins", "4", "--format", "csv"];
        let (text, _) = answer(&of_iris(&[&small[..], further].concat()));
        assert!(text.lines().next().unwrap().ends_with("simultaneous_upper"), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }
    let classes = ["effect", "--data", DATA, "--target", "species", "--model", "logistic"];
    let asked = ["--estimator", "pdp", "--grid", "4", "--feature", "petal_length"];
    let band = ["--band", "refit", "--refits", "4", "--format", "csv"];
    let (text, _) = answer(&[&classes[..], &asked, &band].concat());
    assert_eq!(text.lines().count(), 1 + 3 * 4, "{text}");
}

/// A bootstrap is not what tells where trees split.
#[test]
fn half_of_the_rows_are_what_steps_are_refitted_to() {
    let said = |further: &[&str]| {
        let small = ["--refits", "4", "--bins", "4", "--set", "n_estimators=5"];
        let options = if further[0] == "gbdt" { &small[..] } else { &small[..4] };
        let model = [&["--model"], further, options].concat();
        let (effects, message) = answer_and_messages(&of_iris(&model));
        let scheme = effects[0]["confidence"]["record"]["refits"]["resampling"].clone();
        (scheme.as_str().unwrap().to_owned(), message.contains("tells too little"))
    };
    assert_eq!(said(&["gbdt"]), ("subsample:0.5".to_owned(), false));
    assert_eq!(said(&["gbdt", "--resampling", "bootstrap"]), ("bootstrap".to_owned(), true));
    assert_eq!(said(&["gbdt", "--resampling", "cv:2"]), ("cv:2".to_owned(), false));
    assert_eq!(said(&["linear"]), ("bootstrap".to_owned(), false));
    assert_eq!(said(&["linear", "--resampling", "subsample"]), ("subsample".to_owned(), false));
}

#[test]
fn what_cannot_be_refitted_is_refused() {
    let stored = format!("{STORED}/none.onnx");
    for (further, words) in [
        (&["--model", "linear", "--refits", "1"][..], "must be from 2"),
        (&["--model", "linear", "--refits", "0"], "must be from 2"),
        (&["--model", "linear", "--refits", "7", "--resampling", "cv:5"], "multiple of 5"),
        (&["--model", "linear", "--resampling", "cv:100"], "must be left out"),
        (&["--model", "linear", "--resampling", "subsample:0.999"], "must be left out"),
        (&["--model", "linear", "--resampling", "boots"], "cv:FOLDS"),
        (&["--model", "linear", "--correction", "nadeau"], "nadeau-bengio"),
        (&["--model", "linear", "--flat-permutations", "0"], "must be from 1"),
        (&["--model", "linear", "--resamples", "99"], "bootstrap alone"),
        (&["--model", "linear", "--rebin"], "bootstrap alone"),
        (&["--model", &stored], "cannot be fitted again"),
    ] {
        let message = refusal(&of_iris(further));
        assert!(message.contains(words), "{further:?}: {message}");
    }
    let scenario = ["effect", "friedman1", "--n", "50", "--estimator", "pdp", "--feature", "x1"];
    let message = refusal(&[&scenario[..], &["--band", "refit"]].concat());
    assert!(message.contains("no model that could be fitted again"), "{message}");
    let message = refusal(&[&scenario[..], &["--band", "analytic", "--refits", "5"]].concat());
    assert!(message.contains("band refit alone"), "{message}");
    let pair = ["effect", "--data", DATA, "--target", "petal_width", "--ignore", "species"];
    let pair =
        [&pair[..], &["--model", "linear", "--estimator", "pdp", "--band", "refit"]].concat();
    let both = [&pair[..], &["--feature", "petal_length:sepal_width"]].concat();
    let plain = [&both[..], &["--flat-permutations", "19"]].concat();
    assert!(refusal(&plain).contains("flat_permutations"), "it tests another hypothesis");
    let with_effects = [&both[..], &["--residual-permutations", "19"]].concat();
    assert!(refusal(&with_effects).contains("`interaction` part"));
    let one = [&pair[..], &["--feature", "petal_length", "--residual-permutations", "19"]].concat();
    assert!(refusal(&one).contains("residual_permutations"));
    let classes = ["effect", "--data", DATA, "--target", "species", "--model", "logistic"];
    let of_pair =
        ["--estimator", "ale", "--feature", "petal_length:sepal_width", "--band", "refit"];
    let few = ["--refits", "3", "--bins", "2", "--residual-permutations", "2"];
    let classes = [&classes[..], &of_pair, &few].concat();
    assert!(refusal(&classes).contains("predicts classes"));
}

/// An additive model has no interaction, and says so; one with a product is tested by both.
#[test]
fn pairs_have_tests_that_they_do_not_interact() {
    let of = ["effect", "--data", DATA, "--target", "petal_width", "--ignore", "species"];
    let how = ["--feature", "petal_length:sepal_width", "--band", "refit", "--refits", "6"];
    let pdp = ["--estimator", "pdp", "--interaction", "--grid", "4", "--format", "json"];
    let permuted = ["--residual-permutations", "19"];
    let additive = [&of[..], &how, &pdp, &permuted, &["--model", "linear"]].concat();
    let (found, said) = answer_and_messages(&additive);
    assert!(said.contains("p = 1.000 that petal_length and sepal_width do not interact"), "{said}");
    assert!(
        said.contains("p = 1.000 by permutations of the residuals of an additive fit"),
        "{said}"
    );
    let record = |found: &serde_json::Value| found[0]["confidence"]["record"]["refits"].clone();
    assert_eq!(record(&found)["p_flat"], 1.0);
    let product = ["--model", "gbdt", "--set", "n_estimators=10"];
    let (found, _) = answer_and_messages(&[&of[..], &how, &pdp, &permuted, &product].concat());
    let p = |name: &str| record(&found)[name].as_f64().unwrap();
    assert!((0.05..=1.0).contains(&p("p_permuted")) && p("p_flat") <= 1.0);
}

/// Studies of pairs fit models, and score both tests.
#[test]
fn studies_of_pairs_score_tests_of_no_interaction() {
    let folder = tempfile::tempdir().unwrap();
    let text = "about = 'pairs'\n[[block]]\nscenario = 'poly3'\nfeatures = ['x1:x2']\nN = 60\nreplicates = 3\ngrid = 4\n\
                snr = 2\ncompare = 'Err'\nmetrics = ['coverage', 'reject_flat', 'p_permuted']\npairs = ['model:theoretical']\n\
                [[block.model]]\nname = 'linear'\n[[block.model]]\nname = 'gbdt'\nn_estimators = 5\nlabel = 'gbdt'\n\
                [[block.estimator]]\nname = 'pdp'\ngrid = 4\ninteraction = true\ncenter = 'integral'\nband = 'refit'\n\
                refits = 5\nresidual_permutations = 4\n";
    let path = folder.path().join("pairs.toml");
    std::fs::write(&path, text).unwrap();
    let (path, out) = (path.to_str().unwrap(), folder.path().join("out"));
    answer(&["run", path, "--out", out.to_str().unwrap()]);
    let found = summary(&out);
    let at = |pair: &str, metric: &str| -> f64 {
        found[&(pair.to_owned(), "train".to_owned(), metric.to_owned())].parse().unwrap()
    };
    assert_eq!(
        [at("linear:theoretical", "reject_flat"), at("linear:theoretical", "p_permuted")],
        [0.0, 1.0]
    );
    assert!((0.2..=1.0).contains(&at("gbdt:theoretical", "p_permuted")));
    for (change, words) in [
        (("snr = 2", "snr = 2\nsplit = ['cv:3']"), "train"),
        (("'model:theoretical'", "'model:model-expected'"), "of effects of one feature"),
        (("residual_permutations = 4", "flat_permutations = 4"), "flat_permutations"),
        (("interaction = true\n", ""), "`interaction` part"),
        (("snr = 2", "snr = 2\nfresh = 3"), "`fresh`"),
    ] {
        let changed = text.replace(change.0, change.1);
        std::fs::write(path, changed).unwrap();
        let message = refusal(&["run", path, "--dry-run"]);
        assert!(message.contains(words), "{words}: {message}");
    }
}

/// A study of two learners; `more` stands in its block.
fn study(folder: &Path, more: &str) -> String {
    let text = format!(
        "about = 'refits'\n[[block]]\nscenario = 'liu-additive'\nfeatures = ['x1']\nN = 60\nreplicates = 4\ngrid = 5\n\
         snr = 2\n{more}\n[[block.model]]\nname = 'linear'\n[[block.model]]\nname = 'gam'\nsplines = 5\nlabel = 'gam'\n\
         [[block.estimator]]\nname = 'ale'\nbins = 3\ncenter = 'integral'\nband = 'refit'\nrefits = 6\nflat_permutations = 19\n"
    );
    let path = folder.join("refits.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const BANDS: &str = "compare = 'Err'\nmetrics = ['coverage', 'simultaneous_coverage', 'width', 'p_flat', 'reject_flat', 'p_permuted', 'reject_permuted', 'rmse']\n\
                     pairs = ['model:theoretical', 'model:model-expected', 'model-expected:theoretical']\nexpected = 20";

fn summary(folder: &Path) -> BTreeMap<(String, String, String), String> {
    column(folder, "mean")
}

fn errors(folder: &Path) -> BTreeMap<(String, String, String), String> {
    column(folder, "se")
}

fn column(folder: &Path, name: &str) -> BTreeMap<(String, String, String), String> {
    let mut reader = csv::Reader::from_path(folder.join("summary.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|column| column == name).unwrap();
    let [pair, split, metric, mean] = ["pair", "split", "metric", name].map(place);
    let row = |row: csv::StringRecord| {
        (
            (row[pair].to_owned(), row[split].to_owned(), row[metric].to_owned()),
            row[mean].to_owned(),
        )
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn studies_score_both_targets_and_the_bias_between_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = study(folder.path(), BANDS);
    let out = |name: &str| folder.path().join(name);
    let run = |name: &str, jobs: &str| {
        answer(&["run", &path, "--jobs", jobs, "--out", out(name).to_str().unwrap()])
    };
    run("one", "1");
    run("two", "2");
    let records = |name: &str| std::fs::read(out(name).join("summary.csv")).unwrap();
    assert_eq!(records("one"), records("two"), "threads change nothing");
    let found = summary(&out("one"));
    let at = |pair: &str, split: &str, metric: &str| {
        let key = (pair.to_owned(), split.to_owned(), metric.to_owned());
        found.get(&key).map(|mean| mean.parse::<f64>().unwrap())
    };
    for model in ["linear", "gam"] {
        let split = "train";
        for target in ["theoretical".to_owned(), format!("{model}-expected")] {
            let pair = format!("{model}:{target}");
            for metric in
                ["coverage", "simultaneous_coverage", "p_flat", "reject_flat", "p_permuted"]
            {
                let share = at(&pair, split, metric).unwrap();
                assert!((0.0..=1.0).contains(&share), "{pair} {split} {metric}: {share}");
            }
            assert!(at(&pair, split, "width").unwrap() > 0.0);
        }
        let bias = format!("{model}-expected:theoretical");
        assert!(at(&bias, split, "rmse").unwrap() > 0.0);
        assert_eq!(at(&bias, split, "coverage"), None, "a bias has no band");
        // The expected effect is simulated, once for all datasets: its bias is not certain.
        let bias = (bias, split.to_owned(), "rmse".to_owned());
        assert!(errors(&out("one"))[&bias].parse::<f64>().unwrap() > 0.0);
    }
}

#[test]
fn studies_refuse_what_has_no_band_before_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &str, change: &dyn Fn(String) -> String| {
        let path = study(folder.path(), more);
        let text = change(std::fs::read_to_string(&path).unwrap());
        std::fs::write(&path, text).unwrap();
        refusal(&["run", &path, "--dry-run"])
    };
    let same = |text: String| text;
    let without_models = |text: String| {
        let (before, after) = text.split_once("[[block.model]]").unwrap();
        let (_, after) = after.split_once("[[block.estimator]]").unwrap();
        format!("{}[[block.estimator]]{after}", before.replace("snr = 2", ""))
    };
    let as_they_are = "compare = 'Err'\nmetrics = ['coverage']";
    for (more, change, words) in [
        ("metrics = ['coverage']", &same as &dyn Fn(String) -> String, "`compare` = \"Err\""),
        (as_they_are, &without_models, "the scenario's own function cannot be fitted again"),
        (
            as_they_are,
            &|text| text.replace("band = 'refit'\nrefits = 6\nflat_permutations = 19", ""),
            "band from refits",
        ),
        (
            as_they_are,
            &|text| {
                text.replace("'refit'", "'analytic'")
                    .replace("refits = 6\nflat_permutations = 19", "")
            },
            "band from refits",
        ),
        (as_they_are, &|text| text.replace("refits = 6", "refits = 1"), "must be from 2"),
        (as_they_are, &|text| text.replace("snr = 2", "split = ['cv:3']"), "a fit to all rows"),
        (
            as_they_are,
            &|text| text.replace("permutations = 19", "permutations = 0"),
            "must be from 1",
        ),
        (
            "compare = 'Err'\nmetrics = ['reject_permuted']",
            &|text| text.replace("flat_permutations = 19", ""),
            "`flat_permutations` = 99",
        ),
        (as_they_are, &|text| text.replace("N = 60", "N = 8"), "must be left out"),
        (
            as_they_are,
            &|text| text.replace("refits = 6", "resampling = 'cv:4'\nrefits = 6"),
            "multiple of 4",
        ),
        (
            "compare = 'Err'\nmetrics = ['rmse']\nexpected = 1",
            &same,
            "`expected` = 1: must be from 2",
        ),
    ] {
        let message = refused(more, change);
        assert!(message.contains(words), "{more} {words}: {message}");
    }
}
