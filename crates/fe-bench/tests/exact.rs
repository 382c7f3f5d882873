//! Exact effects of fitted models under the law of a scenario: against means of their predictions over many rows,
//! against estimators, and in studies against what fresh datasets give.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use fe_bench::data::sample;
use fe_core::estimator;
use fe_core::model::{Column, Rows};
use fe_core::{Dataset, Model, Settings};
use fe_models::{FittedModel, Learner};
use fe_truth::{Centring, PairEffect, Quantity, Scenario, Truth};

fn program(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn scenario(name: &str) -> Scenario {
    fe_truth::scenario(name, &[]).unwrap()
}

/// A model fitted to rows of a scenario.
fn fitted(
    scenario: &Scenario,
    name: &str,
    set: &[(&str, &str)],
    rows: usize,
) -> Box<dyn FittedModel> {
    let data = sample::features(scenario, 3, rows, 0).unwrap();
    let target = sample::target(scenario, &data, 3, 5.0, 0).unwrap();
    let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Learner::new(name, &set).unwrap().fit(&data, &target, 1).unwrap()
}

fn curve(
    scenario: &Scenario,
    model: &dyn FittedModel,
    (effect, feature): (Quantity, usize),
    points: &[f64],
) -> Vec<Truth> {
    let effects = scenario.effects_of(model.sum().unwrap()).unwrap();
    effects.curve(effect, feature, points, scenario.axis(feature), Centring::None).unwrap()
}

/// Places in the middle of the law of a feature.
fn places(scenario: &Scenario, feature: usize) -> Vec<f64> {
    match scenario.levels(feature) {
        Some(levels) => levels.iter().map(|level| level.value).collect(),
        None => [0.07, 0.2, 0.35, 0.5, 0.65, 0.8, 0.93]
            .map(|p| scenario.quantile(feature, p).unwrap())
            .to_vec(),
    }
}

/// The mean of the predictions with a feature at a place, over all rows, and its standard error.
fn mean_at(model: &dyn Model, data: &Dataset, feature: usize, place: f64) -> (f64, f64) {
    let mut columns = data.columns(0..data.len());
    columns[feature] = Column::Constant(place);
    let mut values = vec![0.0; data.len()];
    model.predict(&Rows::new(&columns, data.len()), &mut values).unwrap();
    moments(&values)
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

const NOMINAL: &str = "f = \"3*x1*level(s, a: 0, b: 1, c: -1) + level(s, a: 0, b: 5, c: 1) + n\"\n\
    [law]\nx1 = \"uniform(0, 1)\"\ns = \"categorical(a: 0.2, b: 0.3, c: 0.5)\"\nn = \"poisson(2)\"\n";

/// The models and laws of which there are exact effects.
fn cases() -> Vec<(Scenario, Box<dyn FittedModel>, &'static str)> {
    let nominal = fe_truth::problem("nominal", NOMINAL, &[]).unwrap();
    let small: &[_] = &[("n_estimators", "60"), ("max_depth", "4")];
    let of = |name: &str, learner: &str, set: &[(&str, &str)]| {
        let scenario = scenario(name);
        let model = fitted(&scenario, learner, set, 600);
        (scenario, model)
    };
    let gbdt = fitted(&nominal, "gbdt", small, 600);
    let gam = fitted(&nominal, "gam", &[], 600);
    let mut cases =
        vec![(nominal.clone(), gbdt, "gbdt of levels"), (nominal, gam, "gam of levels")];
    for (name, learner, set) in [
        ("friedman1", "gbdt", small),
        ("snc", "gbdt", small),
        ("apley-zhu", "gbdt", small),
        ("friedman1-copula", "gbdt", small),
        ("snc", "gam", &[("interactions", "x1:x2")][..]),
        ("friedman1", "linear", &[]),
    ] {
        let (scenario, model) = of(name, learner, set);
        cases.push((scenario, model, learner));
    }
    cases
}

/// Of some 250 numbers the largest is farther out than this with a probability of 0.0002.
const FAR: f64 = 5.0;

#[test]
fn partial_dependence_is_the_mean_of_predictions() {
    for (scenario, model, what) in cases() {
        let data = sample::features(&scenario, 11, 50_000, 0).unwrap();
        for feature in 0..scenario.dimension() {
            let points = places(&scenario, feature);
            let known = curve(&scenario, model.as_ref(), (Quantity::Pd, feature), &points);
            for (truth, place) in known.iter().zip(points) {
                let (mean, error) = mean_at(model.as_ref(), &data, feature, place);
                // Predictions that do not differ have no error but rounding.
                let z = (truth.value - mean).abs() / (error + 1e-12);
                assert!(
                    z < FAR,
                    "{scenario:?} {what} x{} at {place}: {truth:?}, {mean}",
                    feature + 1
                );
                assert!(truth.abs_error < 1e-8, "{truth:?}");
            }
        }
    }
}

/// At the limits of bins of independent features ALE is partial dependence, up to a constant; of others it is what very
/// many rows and the model's own thresholds as limits give, within what the bins leave.
#[test]
fn accumulated_effects_are_those_of_many_rows() {
    for (name, tolerance) in [("friedman1", 0.02), ("snc", 0.03), ("friedman1-copula", 0.03)] {
        let scenario = scenario(name);
        let set = [("n_estimators", "20"), ("max_depth", "4"), ("max_bin", "16")];
        let model = fitted(&scenario, "gbdt", &set, 2000);
        let data = sample::features(&scenario, 12, 200_000, 0).unwrap();
        for feature in 0..2 {
            let sum = model.sum().unwrap();
            let thresholds = sum.boxes().unwrap().limits(feature);
            // Limits close around each threshold: the rows between are those at it.
            let width = 0.01 * (scenario.axis(feature).1 - scenario.axis(feature).0);
            let (lo, hi) = scenario.axis(feature);
            let around = thresholds.iter().flat_map(|z| [z - width, z + width]);
            let mut limits: Vec<f64> = around.filter(|z| lo < *z && *z < hi).collect();
            limits.extend([lo, hi]);
            limits.sort_by(f64::total_cmp);
            let settings = Settings {
                axis: Some(fe_core::AxisChoice::Given(lo, hi)),
                limits: Some(limits),
                binning: Some("grid".to_owned()),
                ..Settings::default()
            };
            let ale = estimator::from_settings("ale", &settings).unwrap();
            let estimate = &ale.estimate(&data, model.as_ref(), feature).unwrap()[0].curve;
            let middles: Vec<f64> = thresholds
                .windows(2)
                .map(|pair| 0.5 * (pair[0] + pair[1]))
                .filter(|x| {
                    (scenario.quantile(feature, 0.02).unwrap()
                        ..scenario.quantile(feature, 0.98).unwrap())
                        .contains(x)
                })
                .collect();
            let known = curve(&scenario, model.as_ref(), (Quantity::Ale, feature), &middles);
            let range = known.iter().map(|t| t.value).fold(f64::MIN, f64::max)
                - known.iter().map(|t| t.value).fold(f64::MAX, f64::min);
            let centre = |values: Vec<f64>| fe_core::metric::centred_on_grid(&values);
            let exact = centre(known.iter().map(|truth| truth.value).collect());
            let found = centre(estimate.at_all(&middles).unwrap());
            for ((exact, found), x) in exact.iter().zip(&found).zip(&middles) {
                let apart = (exact - found).abs();
                assert!(
                    apart < tolerance * range,
                    "{name} x{} at {x}: {exact}, {found} of {range}",
                    feature + 1
                );
            }
            if scenario.is_independent(feature) {
                let pd = curve(&scenario, model.as_ref(), (Quantity::Pd, feature), &middles);
                let pd = centre(pd.iter().map(|truth| truth.value).collect());
                assert!(exact.iter().zip(pd).all(|(ale, pd)| (ale - pd).abs() < 1e-12), "{name}");
            }
        }
    }
}

/// The Shapley values of a model at rows, against those with many rows as background; they add up to the prediction.
#[test]
fn shapley_values_are_those_with_many_rows_as_background() {
    for name in ["friedman1", "snc"] {
        let scenario = scenario(name);
        let model = fitted(&scenario, "gbdt", &[("n_estimators", "20"), ("max_depth", "4")], 500);
        let effects = scenario.effects_of(model.sum().unwrap()).unwrap();
        let background = sample::features(&scenario, 5, 20_000, 0).unwrap();
        let explained = sample::features(&scenario, 6, 3, 0).unwrap();
        let dimension = scenario.dimension();
        let shares = vec![1.0 / background.len() as f64; background.len()];
        let columns = [&explained, &background].map(|data| data.columns(0..data.len()));
        let rows = [Rows::new(&columns[0], 3), Rows::new(&columns[1], background.len())];
        let mut values = vec![0.0; dimension * 3];
        model.shapley_values(&rows[0], (&rows[1], &shares), &mut values).unwrap();
        let mut predictions = vec![0.0; 3];
        model.predict(&rows[0], &mut predictions).unwrap();
        let sd = scenario.sd().unwrap().value;
        for (i, prediction) in predictions.iter().enumerate() {
            let row: Vec<f64> = (0..dimension).map(|s| explained.feature(s)[i]).collect();
            let known = effects.shap_at(&row).unwrap();
            let total: f64 = known.iter().map(|truth| truth.value).sum();
            assert!((total - prediction).abs() < 1e-11, "{name}: {total}, {prediction}");
            for s in 0..dimension {
                let apart = (known[s].value - values[s * 3 + i]).abs();
                // Four standard errors of means whose deviation is at most that of f.
                assert!(apart < 4.0 * sd / 20_000_f64.sqrt(), "{name} x{}: {apart}", s + 1);
            }
        }
    }
}

/// SHAP dependence and the marginal plot at a place, against means over rows at which the feature has it.
#[test]
fn conditional_means_are_those_of_rows_at_the_place() {
    let scenario = scenario("snc");
    let model = fitted(&scenario, "gbdt", &[("n_estimators", "20"), ("max_depth", "4")], 500);
    let effects = scenario.effects_of(model.sum().unwrap()).unwrap();
    let mut stream: rand_chacha::ChaCha8Rng = rand_chacha::rand_core::SeedableRng::seed_from_u64(4);
    for place in [-0.7, 0.4] {
        let data = sample::features(&scenario, 8, 4000, 0).unwrap();
        let partner: Vec<f64> = (0..data.len())
            .map(|_| scenario.sample_conditional(1, &[(0, place)], &mut stream))
            .collect();
        let mut columns = data.columns(0..data.len());
        (columns[0], columns[1]) = (Column::Constant(place), Column::Values(&partner));
        let mut values = vec![0.0; data.len()];
        model.predict(&Rows::new(&columns, data.len()), &mut values).unwrap();
        let (mean, error) = moments(&values);
        let axis = scenario.axis(0);
        let ask =
            |effect| effects.curve(effect, 0, &[place], axis, Centring::None).unwrap()[0].value;
        assert!((ask(Quantity::Mplot) - mean).abs() < FAR * error, "{mean}");
        let shap: Vec<f64> = (0..400)
            .map(|i| {
                let row = [place, partner[i], data.feature(2)[i], data.feature(3)[i]];
                effects.shap_at(&row).unwrap()[0].value
            })
            .collect();
        let (mean, error) = moments(&shap);
        assert!(
            (ask(Quantity::Shap) - mean).abs() < FAR * error,
            "{mean}, {}",
            ask(Quantity::Shap)
        );
    }
}

/// Hundreds of thousands of leaves lose no digits that matter.
#[test]
fn effects_of_large_ensembles_have_small_bounds() {
    let scenario = scenario("friedman1");
    let set = [("n_estimators", "1500"), ("max_depth", "9"), ("learning_rate", "0.3")];
    let model = fitted(&scenario, "gbdt", &set, 1250);
    let points: Vec<f64> = (0..100).map(|i| f64::from(i) / 99.0).collect();
    let known = curve(&scenario, model.as_ref(), (Quantity::Pd, 0), &points);
    assert!(known.iter().all(|truth| truth.abs_error < 1e-9), "{:?}", known[0]);
}

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

const STUDY: &str = r#"
about = "a"
[[block]]
scenario = "snc"
features = ["x1", "x3"]
N = 150
snr = 5
replicates = 6
fresh = 40
split = ["train", "cv:3"]
pairs = ["model-exact:theoretical", "model:theoretical", "model:model-exact"]
keep = ["decomposition", "curves"]
metrics = ["mse"]
grid = { quantiles = 12, from = 1e-4, to = 0.9999, drop_ends = true }
[[block.model]]
name = "gbdt"
n_estimators = 20
[[block.model]]
name = "gam"
splines = 8
[[block.model]]
name = "linear"
[[block.estimator]]
name = "pdp"
"#;

/// The variance of exact curves is that which fresh datasets leave of the model's alone; what is exact has the error of
/// its truths and nothing else; a run that is stopped goes on to the same bytes.
#[test]
fn a_study_splits_errors_without_fresh_datasets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("study.toml"), STUDY).unwrap();
    let output = program(&["run", "study.toml", "--out", "out"], path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for cell in rows(path, "cells.csv") {
        assert_eq!(cell["status"], "ok", "{cell:?}");
        if cell["pair"].contains("-exact") {
            assert!(number(&cell, "truth_abs_error") < 1e-9, "{cell:?}");
        }
    }
    let summary = rows(path, "summary.csv");
    let of = |pair: &str, metric: &str, split: &str, feature: &str| {
        let is_it = |row: &&HashMap<String, String>| {
            row["pair"] == pair
                && row["metric"] == metric
                && row["split"] == split
                && row["feature"] == feature
        };
        let row = summary.iter().find(is_it).unwrap_or_else(|| panic!("{pair} {metric}"));
        (number(row, "mean"), number(row, "se"))
    };
    for model in ["gbdt(n_estimators=20)", "gam(splines=8)", "linear"] {
        for split in ["train", "cv:3"] {
            for feature in ["x1", "x3"] {
                let exact = format!("{model}-exact:theoretical");
                let (variance, _) = of(&exact, "variance", split, feature);
                let (fresh, _) =
                    of(&format!("{model}:theoretical"), "model_variance", split, feature);
                let (estimation, _) =
                    of(&format!("{model}:theoretical"), "estimation_variance", split, feature);
                // The same models: means over 40 datasets are the exact curves but for a fortieth of the variance of one,
                // by which their own variance moves by no more than the root of both.
                let doubt = 4.0 * (fresh.abs() * estimation / 40.0).sqrt() + estimation / 10.0;
                let what = format!("{model} {split} {feature}: {variance}, {fresh}, {estimation}");
                assert!((variance - fresh).abs() < doubt + 1e-9 * variance, "{what}");
                assert!(variance > 0.0, "{what}");
            }
        }
    }
    // A linear model's partial dependence is the same on any rows.
    assert!(of("linear:linear-exact", "mse", "train", "x1").0 < 1e-20);
    assert!(of("gbdt(n_estimators=20):gbdt(n_estimators=20)-exact", "mse", "train", "x1").0 > 1e-6);
    let bytes = |name: &str| std::fs::read(path.join("out").join(name)).unwrap();
    let before = ["cells.csv", "summary.csv", "curves.csv", "decomposition.csv"].map(bytes);
    // Stopped after some datasets, and gone on with.
    let mut child = Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .args(["run", "study.toml", "--out", "again", "--jobs", "1"])
        .current_dir(path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let unfinished = path.join("again.unfinished");
    while !unfinished.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(1000));
    child.kill().unwrap();
    child.wait().unwrap();
    let arguments = ["run", "study.toml", "--out", "again", "--jobs", "2", "--resume"];
    let resumed = program(&arguments, path);
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let again = |name: &str| std::fs::read(path.join("again").join(name)).unwrap();
    assert!(before == ["cells.csv", "summary.csv", "curves.csv", "decomposition.csv"].map(again));
}

/// Curves that are compared as they are: centred alike, over the axis of the scenario where there is no estimate.
#[test]
fn constants_are_compared_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let study = STUDY
        .replace("fresh = 40", "compare = \"Err\"")
        .replace("replicates = 6", "replicates = 2")
        .replace("keep = [\"decomposition\", \"curves\"]", "")
        .replace("name = \"pdp\"", "name = [\"pdp\", \"ale\", \"mplot\"]\ncenter = \"start\"");
    std::fs::write(path.join("study.toml"), study).unwrap();
    let output = program(&["run", "study.toml", "--out", "out"], path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for cell in rows(path, "cells.csv") {
        assert_eq!(cell["status"], "ok", "{cell:?}");
        if cell["pair"] == "linear:linear-exact" && cell["estimator"] == "pdp" {
            assert!(number(&cell, "value") < 1e-20, "{cell:?}");
        }
    }
}

/// A study of effects of two features, with an estimator and its options.
fn of_two(scenario: &str, estimator: &str) -> String {
    format!(
        "about = 'a'\n[[block]]\nscenario = '{scenario}'\nfeatures = ['x1:x2']\nN = 80\nsnr = 5\nreplicates = 2\n\
         pairs = ['model-exact:theoretical', 'model:theoretical', 'model:model-exact']\n\
         metrics = ['mse']\ngrid = 5\n[[block.model]]\nname = 'gbdt'\nn_estimators = 20\n\
         [[block.model]]\nname = 'gam'\nsplines = 6\n[[block.estimator]]\nname = {estimator}\n"
    )
}

/// Effects of two features: the distance of both exact surfaces is that by hand, whatever rows there are.
#[test]
fn exact_effects_of_two_features_are_those_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let run = |name: &str, scenario: &str, estimator: &str| {
        let compare = if name == "whole" { "grid = 5\ncompare = 'Err'\n" } else { "grid = 5\n" };
        let study = of_two(scenario, estimator).replace("grid = 5\n", compare);
        std::fs::write(path.join("study.toml"), study).unwrap();
        let output = program(&["run", "study.toml", "--seed", "3", "--out", name], path);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut reader = csv::Reader::from_path(path.join(name).join("cells.csv")).unwrap();
        let names = reader.headers().unwrap().clone();
        let row = |record: csv::StringRecord| {
            names.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
        };
        reader.records().map(|record| row(record.unwrap())).collect::<Vec<HashMap<_, _>>>()
    };
    for (name, of, estimator, interaction, centring) in [
        ("pd", "goldstein", "'pdp'", false, Centring::Data),
        ("part", "friedman1", "'pdp'\ninteraction = true", true, Centring::Data),
        ("whole", "snc", "'pdp'\ncenter = 'integral'", false, Centring::Integral),
    ] {
        let cells = run(name, of, estimator);
        let scenario = scenario(of);
        let axes = [0, 1].map(|feature| scenario.axis(feature));
        let grids = axes.map(|(lo, hi)| {
            (0..5).map(|i| lo + (hi - lo) * f64::from(i) / 4.0).collect::<Vec<f64>>()
        });
        let asked =
            PairEffect { effect: Quantity::Pd, features: [0, 1], axes, centring, interaction };
        let points = [&grids[0][..], &grids[1]];
        let truth = scenario.surface(&asked, points).unwrap();
        let model = fitted(&scenario, "gbdt", &[("n_estimators", "20")], 80);
        let effects = scenario.effects_of(model.sum().unwrap()).unwrap();
        let own = effects.surface(&asked, points).unwrap();
        let errors: Vec<f64> = own.iter().zip(&truth).map(|(own, f)| own.value - f.value).collect();
        // Centred on the grid, or compared as they are.
        let is_centred = centring == Centring::Data;
        let mean = if is_centred { errors.iter().sum::<f64>() / 25.0 } else { 0.0 };
        let known = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 25.0;
        let is_it = |cell: &&HashMap<String, String>| {
            cell["pair"] == "gbdt(n_estimators=20)-exact:theoretical" && cell["replicate"] == "0"
        };
        let cell = cells.iter().find(is_it).unwrap();
        let value: f64 = cell["value"].parse().unwrap();
        assert!((value - known).abs() < 1e-9 * known, "{name}: {value}, {known}");
        assert!(cells.iter().all(|cell| cell["status"] == "ok"));
        // The estimate is near to what it estimates, and the model is not near to f.
        let mean = |pair: &str| {
            let own: Vec<f64> = cells
                .iter()
                .filter(|cell| cell["pair"].ends_with(pair))
                .map(|cell| cell["value"].parse().unwrap())
                .collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        assert!(mean("-exact") < mean("-exact:theoretical"), "{name}");
    }
    // A band from refits is around the effect of the learner, and held against the truth alone.
    let banded = "'pdp'\ncenter = 'integral'\nband = 'refit'\nrefits = 3";
    let study = of_two("snc", banded)
        .replace("['mse']", "['mse', 'coverage']")
        .replace("grid = 5\n", "grid = 5\ncompare = 'Err'\n");
    std::fs::write(path.join("study.toml"), study).unwrap();
    let output = program(&["run", "study.toml", "--out", "out"], path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for cell in rows(path, "cells.csv") {
        assert_eq!(cell["status"], "ok", "{cell:?}");
        let is_exact = cell["pair"].contains("-exact");
        assert!(cell["metric"] == "mse" || !is_exact, "{cell:?}");
    }
    let study = of_two("friedman1-copula", "'ale'");
    std::fs::write(path.join("study.toml"), study).unwrap();
    let output = program(&["run", "study.toml", "--out", "ale"], path);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("no other feature depends on them, and x3 does"), "{message}");
}

#[test]
fn pairs_without_an_exact_effect_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = |change: &[(&str, &str)]| {
        let study = change.iter().fold(STUDY.to_owned(), |text, (from, to)| text.replace(from, to));
        std::fs::write(path.join("study.toml"), study).unwrap();
        let output = program(&["run", "study.toml", "--out", "out"], path);
        assert_eq!(output.status.code(), Some(2), "{change:?}");
        assert!(!path.join("out").exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let gam = ("name = \"gam\"\nsplines = 8", "name = \"mlp\"");
    let message = refused(&[gam]);
    assert!(
        message.contains("mlp is no sum") && message.contains("linear, gam, gbdt"),
        "{message}"
    );
    let message = refused(&[("name = \"pdp\"", "name = \"dale\"")]);
    assert!(message.contains("`ale-derivative` of a sum of trees is not offered"), "{message}");
    let copula = ("scenario = \"snc\"", "scenario = \"friedman1-copula\"\nset = { rho = -0.1 }");
    for estimator in ["name = \"shapdp\"", "name = \"ale\""] {
        let message = refused(&[("name = \"pdp\"", estimator), copula]);
        assert!(message.contains("two at a time where x1 is held"), "{message}");
    }
    let message = refused(&[("[\"x1\", \"x3\"]", "[\"x1:x3\"]")]);
    assert!(message.contains("effects of one feature"), "{message}");
    let message = refused(&[("name = \"pdp\"", "name = \"regional-pdp\"")]);
    assert!(message.contains("regional"), "{message}");
    let message = refused(&[("\"model-exact:theoretical\"", "\"model-exat:theoretical\"")]);
    assert!(message.contains("did you mean `model-exact`"), "{message}");
    let message = refused(&[("\"model-exact:theoretical\"", "\"theoretical:model-exact\"")]);
    assert!(message.contains("must be an estimate, or of a model"), "{message}");
    let law: String = (1..=3).map(|i| format!("x{i} = \"normal(0, 1)\"\n")).collect();
    let tied = "[copula]\ngaussian = [[\"x1\", \"x2\", 0.5], [\"x1\", \"x3\", 0.2], [\"x2\", \"x3\", 0.1]]\n";
    std::fs::write(path.join("tied.toml"), format!("f = \"x1*x2*x3\"\n[law]\n{law}{tied}"))
        .unwrap();
    let message = refused(&[("\"snc\"", "\"tied.toml\""), ("name = \"pdp\"", "name = \"ale\"")]);
    assert!(message.contains("two at a time where x1 is held"), "{message}");
}
