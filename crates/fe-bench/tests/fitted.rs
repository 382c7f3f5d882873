//! Studies that fit models: pairs of effects, splits, bias and variance.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use fe_bench::data::sample;
use fe_models::{Learner, Split};
use rand::Rng;

fn program(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn answer(arguments: &[&str], folder: &Path) -> String {
    let output = program(arguments, folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn write(folder: &Path, block: &str) {
    let text = format!("about = \"a\"\n[[block]]\n{block}");
    std::fs::write(folder.join("study.toml"), text).unwrap();
}

/// Runs a study of one block into `out`.
fn run(block: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), block);
    answer(&["run", "study.toml", "--out", "out"], folder.path());
    folder
}

/// The rows of a file, each by the names of its columns.
fn rows(folder: &Path, file: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("out").join(file)).unwrap();
    let names = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        names.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn number(row: &HashMap<String, String>, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name} of {row:?}"))
}

/// The only row with some values.
fn the<'a>(
    rows: &'a [HashMap<String, String>],
    wanted: &[(&str, &str)],
) -> &'a HashMap<String, String> {
    let is_it = |row: &&HashMap<String, String>| wanted.iter().all(|(k, v)| row[*k] == *v);
    let found: Vec<_> = rows.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{wanted:?}");
    found[0]
}

/// A linear model of a linear f has no error, whatever it is compared with, however rows are split.
#[test]
fn a_linear_model_of_a_linear_function_has_no_error() {
    let folder = run(r#"
scenario = "liu-additive"
N = 60
replicates = 2
split = ["train", "validation:0.3", "cv:3"]
pairs = ["model:theoretical", "model:empirical", "model:main", "model:model-main",
    "model-main:main", "model:ale", "empirical:theoretical", "empirical:main"]
force = true
[[block.model]]
name = "linear"
[[block.estimator]]
name = ["pdp", "ale", "rhale"]
"#);
    let cells = rows(folder.path(), "cells.csv");
    // Two features, metrics and datasets, three splits; seven pairs of three estimators, one of none.
    assert_eq!(cells.len(), 2 * 2 * 2 * 3 * (7 * 3 + 1));
    for cell in &cells {
        assert_eq!(cell["status"], "ok", "{cell:?}");
        // ½ of ALE's error goes with that of the coefficients: a few units in the last place of 4.
        assert!(number(cell, "value") < 1e-12, "{cell:?}");
        assert_eq!(cell["snr"], "0");
    }
    let bare = the(
        &cells,
        &[
            ("pair", "linear-main:main"),
            ("split", "cv:3"),
            ("feature", "x2"),
            ("replicate", "1"),
            ("metric", "mse"),
        ],
    );
    assert_eq!((bare["estimator"].as_str(), bare["centring"].as_str()), ("", "grid"));
    let pairs: Vec<&str> = cells.iter().map(|cell| cell["pair"].as_str()).collect();
    assert!(pairs.contains(&"linear:ale") && pairs.contains(&"linear:linear-main"));
}

/// Partial dependence and ALE of a sum are its terms, so that nothing but rounding lies between them; what
/// lies between the model and f is something else.
#[test]
fn effects_of_a_sum_are_its_terms() {
    let folder = run(r#"
scenario = "apley-zhu"
N = 80
snr = 2
replicates = 2
split = ["train", "cv"]
pairs = ["model:theoretical", "model:model-main", "model-main:main", "model:main"]
grid = { points = 21 }
metrics = ["mse", "max"]
[[block.model]]
name = "gam"
splines = 6
[[block.estimator]]
name = "pdp"
axis = [0.2, 0.8]
[[block.estimator]]
name = "ale"
binning = "grid"
limits = [0.2, 0.4, 0.6, 0.8]
axis = [0.2, 0.8]
"#);
    let cells = rows(folder.path(), "cells.csv");
    let largest = |pair: &str, estimator: &str| {
        let of = |cell: &&HashMap<String, String>| {
            cell["pair"] == pair && cell["estimator"] == estimator && cell["metric"] == "max"
        };
        let values = cells.iter().filter(of).map(|cell| number(cell, "value"));
        values.fold(0.0, f64::max)
    };
    let own = "gam(splines=6):gam(splines=6)-main";
    assert!(largest(own, "pdp") < 1e-12, "{}", largest(own, "pdp"));
    assert!(largest("gam(splines=6):main", "pdp") > 0.01);
    // The error of the term is that of the partial dependence.
    let (of_term, of_effect) =
        (largest("gam(splines=6)-main:main", ""), largest("gam(splines=6):theoretical", "pdp"));
    assert!((of_term - of_effect).abs() < 1e-12, "{of_term}, {of_effect}");
}

/// The curve of `cv` is the mean of those of the folds, computed here by hand from the coefficients.
#[test]
fn cross_validated_curves_are_means_over_folds() {
    let folder = run(r#"
scenario = "liu-product"
set = { mu1 = 1.0 }
features = ["x1"]
N = 53
snr = 1
replicates = 2
split = ["cv:4", "validation"]
keep = ["curves"]
grid = 5
[[block.model]]
name = "linear"
[[block.estimator]]
name = "pdp"
"#);
    let curves = rows(folder.path(), "curves.csv");
    let scenario = fe_truth::scenario("liu-product", &[("mu1".into(), "1".into())]).unwrap();
    let data = sample::features(&scenario, 0, 53, 1).unwrap();
    let target = sample::target(&scenario, &data, 0, 1.0, 1).unwrap();
    let (id, parameters) = (scenario.id(), scenario.parameters());
    let seed = sample::address(0, (&id, &parameters), 53, 1).split().next_u64();
    for name in ["cv:4", "validation"] {
        let parts = name.parse::<Split>().unwrap().parts(53, seed).unwrap();
        let slope = |part: &fe_models::Part| {
            let y: Vec<f64> = part.fit.iter().map(|&row| target[row]).collect();
            let learner = Learner::new("linear", &[]).unwrap();
            let model = learner.fit(&data.select(&part.fit), &y, 0).unwrap();
            model.main_effect(0, 1.0).unwrap() - model.main_effect(0, 0.0).unwrap()
        };
        let expected = parts.iter().map(slope).sum::<f64>() / parts.len() as f64;
        let own: Vec<(f64, f64)> = curves
            .iter()
            .filter(|row| row["split"] == name && row["replicate"] == "1")
            .map(|row| (number(row, "x"), number(row, "effect")))
            .collect();
        assert_eq!(own.len(), 5);
        let slope = (own[4].1 - own[0].1) / (own[4].0 - own[0].0);
        assert!((slope - expected).abs() < 1e-12, "{slope}, {expected}");
        assert!(own.iter().map(|(_, y)| y).sum::<f64>().abs() < 1e-12);
    }
}

const DECOMPOSED: &str = r#"
scenario = "liu-quadratic"
features = ["x1"]
N = 40
snr = 1
replicates = 5
grid = 4
fresh = 3
split = ["train", "validation:0.5"]
keep = ["curves", "decomposition"]
metrics = ["mse"]
[[block.model]]
name = "linear"
[[block.estimator]]
name = "pdp"
"#;

/// The parts in the summary and at each point against formulas written out here.
#[test]
fn bias_and_variance_are_those_of_the_curves() {
    let folder = run(DECOMPOSED);
    let (curves, summary) = (rows(folder.path(), "curves.csv"), rows(folder.path(), "summary.csv"));
    let points = rows(folder.path(), "decomposition.csv");
    assert_eq!(points.len(), 2 * 4);
    for split in ["train", "validation:0.5"] {
        let [mut bias2, mut variance, mut mse] = [0.0; 3];
        for point in points.iter().filter(|point| point["split"] == split) {
            let own = curves.iter().filter(|row| row["split"] == split && row["x"] == point["x"]);
            let errors: Vec<f64> =
                own.map(|row| number(row, "effect") - number(row, "truth")).collect();
            assert_eq!(errors.len(), 5);
            let mean = errors.iter().sum::<f64>() / 5.0;
            let spread = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 4.0;
            let squares = errors.iter().map(|e| e * e).sum::<f64>() / 5.0;
            let parts = [
                ("bias2", mean * mean),
                ("variance", spread),
                ("mse", squares),
                ("noise_floor", spread / 5.0),
                ("debiased_bias2", mean * mean - spread / 5.0),
            ];
            for (name, expected) in parts {
                let found = number(point, name);
                assert!((found - expected).abs() < 1e-12 * squares, "{name}: {found}, {expected}");
            }
            bias2 += mean * mean / 4.0;
            variance += spread / 4.0;
            mse += squares / 4.0;
        }
        let mean =
            |metric: &str| number(the(&summary, &[("split", split), ("metric", metric)]), "mean");
        assert!((mean("bias2") - bias2).abs() < 1e-12 * mse);
        assert!((mean("variance") - variance).abs() < 1e-12 * mse);
        assert!((mean("mse") - (bias2 + 0.8 * variance)).abs() < 1e-12 * mse);
        assert!((mean("debiased_bias2") - (bias2 - mean("noise_floor"))).abs() < 1e-12 * mse);
        // Both parts of the variance of fresh curves are there, at each point too.
        let at_points = points.iter().filter(|point| point["split"] == split);
        let model = at_points.map(|point| number(point, "model_variance")).sum::<f64>() / 4.0;
        assert!((mean("model_variance") - model).abs() < 1e-12 * mse);
        assert!(mean("estimation_variance") > -1e-20);
    }
}

/// The partial dependence of a linear model is the same on any data, so that all of its variance is that
/// of the model; ALE by the same few bins likewise. That of f itself has none that comes from a model.
#[test]
fn the_variance_of_a_linear_model_is_its_own() {
    let folder = run(&DECOMPOSED.replace("replicates = 5", "replicates = 6"));
    let summary = rows(folder.path(), "summary.csv");
    for split in ["train", "validation:0.5"] {
        let mean =
            |metric: &str| number(the(&summary, &[("split", split), ("metric", metric)]), "mean");
        assert!(mean("estimation_variance") < 1e-20 * mean("variance"));
        assert!((mean("model_variance") - mean("variance")).abs() < 1e-10 * mean("variance"));
    }
}

#[test]
fn tables_print_bias_and_variance() {
    let folder = run(&format!(
        "{DECOMPOSED}\n[[table]]\nrows = [\"split\"]\ncolumns = [\"metric\"]\n\
         where = {{ metric = [\"mse\", \"noise_floor\"] }}\n"
    ));
    let printed = answer(&["table", "out"], folder.path());
    assert!(printed.contains("noise_floor") && printed.contains("validation:0.5"), "{printed}");
    let arguments =
        ["table", "out", "--decomposition", "--format", "csv", "--rows", "split,metric"];
    let printed = answer(&arguments, folder.path());
    for part in ["mse", "bias2", "debiased_bias2", "variance", "noise_floor", "estimation_variance"]
    {
        assert!(printed.contains(&format!("train,{part},")), "{part} in {printed}");
    }
}

/// A dataset does not change with what else is asked of it, nor with the noise.
#[test]
fn data_are_those_of_studies_without_models() {
    let of_f =
        "scenario = \"liu-product\"\nN = 30\nreplicates = 2\n[[block.estimator]]\nname = \"pdp\"\n";
    let alone = rows(run(of_f).path(), "cells.csv");
    let block = of_f.replace(
        "[[block.e",
        "snr = [1, 3]\npairs = [\"empirical:theoretical\"]\n[[block.model]]\nname = \"linear\"\n[[block.e",
    );
    let cells = rows(run(&block).path(), "cells.csv");
    for cell in &alone {
        let same = |other: &&HashMap<String, String>| {
            ["pair", "feature", "replicate", "metric"].iter().all(|key| other[*key] == cell[*key])
        };
        let others: Vec<_> = cells.iter().filter(same).collect();
        assert_eq!(others.len(), 2);
        others.iter().for_each(|other| assert_eq!(other["value"], cell["value"]));
    }
    // A pair of f alone needs no model.
    let block = of_f.replace("[[block.e", "pairs = [\"empirical:pd\"]\n[[block.e");
    let cells = rows(run(&block).path(), "cells.csv");
    assert_eq!(cells.len(), alone.len());
    for (cell, alone) in cells.iter().zip(&alone) {
        assert_eq!((&cell["value"], &cell["snr"]), (&alone["value"], &String::new()));
    }
}

/// Too few rows for a fold are a reason in every cell, not the end of the run.
#[test]
fn numbers_of_rows_that_cannot_be_split_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let block = "scenario = \"liu-product\"\nN = [4, 40]\nreplicates = 1\nsplit = [\"cv\"]\n\
                 [[block.model]]\nname = \"linear\"\n[[block.estimator]]\nname = \"pdp\"\n";
    write(folder.path(), block);
    let output = program(&["run", "study.toml", "--out", "out"], folder.path());
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("`N` = 4") && message.contains("cv of 4 rows"), "{message}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn what_means_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |keys: &str, model: &str, words: &[&str]| {
        let estimator = "[[block.estimator]]\nname = \"pdp\"\n";
        let block = format!(
            "scenario = \"liu-product\"\nN = 20\nreplicates = 1\n{keys}\n{model}\n{estimator}"
        );
        write(folder.path(), &block);
        let output = program(&["run", "study.toml", "--out", "out"], folder.path());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{keys}: {message}");
        for word in words.iter().chain(&["study.toml"]) {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
    };
    let linear = "[[block.model]]\nname = \"linear\"";
    let tree = "[[block.model]]\nname = \"gbdt\"";
    let all_pairs = |pair: &str| format!("pairs = [\"{pair}\"]");
    refused(&all_pairs("model:ale"), linear, &["pd and ale of x1", "force = true"]);
    refused(&all_pairs("model:main"), linear, &["x1 of liu-product has no main effect"]);
    refused(&all_pairs("model:model-main"), tree, &["gbdt has no main effect of x1"]);
    refused(&all_pairs("model:mian"), linear, &["did you mean `main`"]);
    refused(&all_pairs("model:theoretical"), "", &["needs a [[block.model]]"]);
    let as_is = format!("{}\ncompare = \"Err\"", all_pairs("model:model-main"));
    refused(&as_is, linear, &["needs `center`"]);
    refused("split = [\"train\"]", "", &["`split` needs a [[block.model]]"]);
    refused("split = [\"test\"]", linear, &["`test`", "cv:FOLDS"]);
    refused("split = [\"cv\", \"cv:5\"]", linear, &["split `cv` is given twice"]);
    refused("fresh = 1", linear, &["`fresh` = 1", "from 2"]);
    refused("snr = -1", linear, &["`snr` = -1", "at least 0"]);
    refused("metrics = [\"L_mu\"]", linear, &["`L_mu`", "truth of f alone"]);
    refused("", "[[block.model]]\nname = \"liner\"", &["did you mean `linear`"]);
    refused("", "[[block.model]]\nname = \"gam\"\nsplines = 3", &["`splines`", "4 to 200"]);
    refused("", "[[block.model]]\nname = \"logistic\"", &["predicts classes"]);
    refused("", "[[block.model]]\nname = \"linear\"\nN = 30", &["`N` = 30", "linear"]);
    let twice = format!("{linear}\n{linear}");
    refused("", &twice, &["two models are called `linear`", "label"]);
    let label = "[[block.model]]\nname = \"linear\"\nlabel = \"a:b\"";
    refused("", label, &["`label`", "without colon"]);
    refused("force = true", "", &["`force` needs `pairs`"]);
    // A pair without an estimate is the same whatever the estimators beside it.
    let keys = "pairs = [\"model-main:main\"]\nforce = true";
    let block = format!("[[block]]\nscenario = \"liu-product\"\nN = 20\nreplicates = 1\n{keys}");
    let again = format!("{linear}\n[[block.estimator]]\nname = \"ale\"\n{block}\n{linear}");
    refused(keys, &again, &["mse of linear-main:main for x1", "asked for twice"]);
}

#[test]
fn curves_without_a_constant_are_not_compared_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        r#"
scenario = "liu-additive"
N = 50
replicates = 1
compare = "Err"
pairs = ["model-main:main"]
[[block.model]]
name = "linear"
[[block.estimator]]
name = "pdp"
center = "none"
"#,
    );
    let output = program(&["run", "study.toml", "--out", "out"], folder.path());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("the constant of `model-main` is arbitrary"), "{message}");
    // Effects as they are have the level of the target: a linear model of a linear f has it exactly.
    let block = r#"
scenario = "liu-additive"
set = { mu1 = 3.0 }
N = 50
replicates = 1
compare = "Err"
split = ["train", "cv"]
pairs = ["model:empirical", "empirical:theoretical"]
[[block.model]]
name = "linear"
[[block.estimator]]
name = "pdp"
center = "none"
[[block.estimator]]
name = "ale"
center = ["start", "integral", "data"]
axis = "data"
"#;
    let cells = rows(run(block).path(), "cells.csv");
    for cell in &cells {
        let is_exact = cell["pair"] == "linear:empirical"
            || cell["options"].contains("center=start")
            || cell["options"].contains("center=integral");
        assert_eq!(cell["status"], "ok");
        assert_eq!(number(cell, "value") < 1e-12, is_exact, "{cell:?}");
    }
}
