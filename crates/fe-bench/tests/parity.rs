//! Records of other libraries come out of the program, by the recipes of docs/presets.md: of each
//! recorded result that the estimators give (`fe-core`'s test `parity` says which) everything that is
//! recorded, from the command line. With `PARITY_FIXTURES=FOLDER` the records are those of another folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../../fe-core/tests/parity/compare.rs"]
mod compare;
#[path = "../../fe-core/tests/parity/models.rs"]
mod models;
#[allow(dead_code)]
#[path = "../../fe-core/tests/parity/record.rs"]
mod record;

use std::path::{Path, PathBuf};
use std::process::Command;

use compare::{Comparison, close, close_curve, close_variance, size};
use rayon::prelude::*;
use record::{Case, Record};
use serde_json::Value;

/// The functions that records are about, and the scenarios of these functions.
const SCENARIOS: &[(&str, &[&str])] = &[
    ("poly3", &["poly3"]),
    ("effreg", &["effector-regional"]),
    ("friedman1", &["friedman1", "--set=noise_features=0"]),
    ("sinind", &["sin-indicator"]),
];

/// A scenario as the program is told it.
type Scenario = &'static [&'static str];

/// Methods whose results are compared; what others there are, `fe-core`'s test says.
const METHODS: &[(&str, &str)] = &[
    ("effector", "ALE"),
    ("effector", "RHALE"),
    ("effector", "PDP"),
    ("effector", "DerPDP"),
    ("alibi", "ALE"),
    ("PyALE", "ALE"),
    ("scikit-learn", "partial_dependence brute"),
];

fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fe-core/tests/fixtures");
    record::other_folder().unwrap_or(own)
}

/// The scenario with the function of some records, if there is one.
fn scenario(record: &Record) -> Option<Scenario> {
    let text = std::fs::read_to_string(folder().join(format!("{}.json", record.name))).unwrap();
    let content: Value = serde_json::from_str(&text).unwrap();
    let known = SCENARIOS.iter().find(|(model, _)| content["model"] == *model);
    known.map(|(_, scenario)| *scenario)
}

/// Flags with values, as they are written.
fn flags(pairs: &[(&str, String)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

fn list(values: &[f64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Options of the recorded call, as flags beside the preset.
fn recipe(case: Case<'_>) -> Vec<String> {
    let mut given = Vec::new();
    let option = |key: &str| case.option_number(key).map(|number| number.to_string());
    match case.text("peer") {
        "effector" => {
            let binning = case.option_text("binning");
            if !binning.is_empty() {
                given.push(("binning", binning.to_owned()));
            }
            if !case.is_default() {
                let cells = ["K", "max_nof_bins", "init_nof_bins"];
                given.extend(cells.iter().find_map(|key| Some(("bins", option(key)?))));
                given.extend(option("min_points_per_bin").map(|least| ("min-points", least)));
                given.extend(option("discount").map(|discount| ("discount", discount)));
            }
        }
        "alibi" => match case.option_text("grid") {
            "default: quantiles, min_bin_points=4" => {}
            "default, check_feature_resolution=False" => given.push(("distinct", "0".to_owned())),
            "quantiles, min_bin_points=20" => given.push(("min-points", "20".to_owned())),
            grid => {
                let bins = grid.split(' ').nth(2).unwrap();
                given.push(("binning", "fixed".to_owned()));
                given.push(("bins", bins.to_owned()));
            }
        },
        "PyALE" => given.extend(option("grid_size").map(|bins| ("bins", bins))),
        _ if case.is_default() => {}
        _ => {
            let points = case.option_count("grid_resolution").unwrap();
            given.push(("grid", points.to_string()));
            given.push(("distinct", (points - 1).to_string()));
            if case.result["options"]["percentiles"][0].as_f64() == Some(0.0) {
                given.push(("axis", "data".to_owned()));
            }
        }
    }
    flags(&given)
}

/// The program's answer.
struct Answer(Value);

impl Answer {
    fn numbers(&self, key: &str) -> Vec<f64> {
        let values = self.0[key].as_array().unwrap_or_else(|| panic!("no {key}: {}", self.0));
        values.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
    }

    fn number(&self, key: &str) -> f64 {
        self.0.pointer(key).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }
}

/// Asks the program for an effect by a recipe and further flags.
fn ask(case: Case<'_>, scenario: Scenario, further: &[(&str, String)]) -> Result<Answer, String> {
    let (preset, estimator) = compare::preset_and_estimator(case);
    let data = folder().join(format!("{}.csv", case.record.name));
    let feature = format!("x{}", case.feature() + 1);
    let output = Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .arg("effect")
        .args(scenario)
        .arg("--data")
        .arg(data)
        .args(["--estimator", estimator, "--preset", preset, "--feature", &feature])
        .args(recipe(case))
        .args(flags(further))
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut effects: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    Ok(Answer(effects.remove(0)))
}

fn yes() -> String {
    "true".to_owned()
}

fn effector(case: Case<'_>, scenario: Scenario) -> Comparison {
    let (x, outside) = (case.numbers("x"), case.numbers("x_outside"));
    let has_bins = matches!(case.text("method"), "ALE" | "RHALE");
    let scale = size(&case.numbers("effect_uncentred"));
    // What variances are about, and the importance and the score.
    let values = if has_bins { size(&case.numbers("bin_effect")) } else { scale };
    let spread = compare::standard_deviation(case.positions());
    let of_curve = if case.text("method") == "DerPDP" { scale * spread } else { scale };
    let of_score = if case.text("method") == "PDP" { scale } else { values * spread };
    // Within the range and beyond it; there the model is asked on a wider axis, and variances go on.
    let at = ("at", list(&[x.as_slice(), &outside].concat()));
    let common = [at, ("extrapolate", yes()), ("importance", yes())];
    let close_outside = |answer: &Answer, from: usize| {
        let theirs = case.numbers("effect_uncentred_outside");
        let largest = size(&theirs).max(if has_bins { scale } else { 0.0 });
        let ours = answer.numbers("effect");
        close_curve("effect_uncentred_outside", &ours[from..], &theirs, largest)
    };
    for (field, center) in [
        ("effect_uncentred", "none"),
        ("effect_zero_integral", "integral"),
        ("effect_zero_start", "start"),
    ] {
        let center = [("center", center.to_owned())];
        let answer = ask(case, scenario, &[&center[..], &common].concat())?;
        let (within, beyond) = (0..x.len(), x.len()..x.len() + outside.len());
        let ours = answer.numbers("effect");
        close_curve(field, &ours[within.clone()], &case.numbers(field), scale)?;
        // However the curve is centred.
        let ours = answer.numbers("heterogeneity");
        for (field, places) in [("heterogeneity", within), ("heterogeneity_outside", beyond)] {
            close_variance(field, &ours[places], &case.numbers(field), values)?;
        }
        let ours = answer.number("/heterogeneity_values/effector_score");
        let theirs = case.number("heter_score");
        close_variance("heter_score squared", &[ours * ours], &[theirs * theirs], of_score)?;
        let (ours, theirs) = (answer.number("/importance"), case.number("importance"));
        close_curve("importance", &[ours], &[theirs], of_curve)?;
        if has_bins {
            effector_bins(case, &answer, values)?;
        }
        if has_bins && field == "effect_uncentred" {
            close_outside(&answer, x.len())?;
        }
    }
    if has_bins {
        return Ok(());
    }
    let wide = format!("{},{}", outside[0], outside[outside.len() - 1]);
    let asked = [("center", "none".to_owned()), ("at", list(&outside)), ("axis", wide)];
    close_outside(&ask(case, scenario, &asked)?, 0)
}

fn effector_bins(case: Case<'_>, answer: &Answer, values: f64) -> Comparison {
    let (lo, hi) = compare::range(case);
    let length = (hi - lo).max(lo.abs()).max(hi.abs());
    close_curve("limits", &answer.numbers("limits"), &case.numbers("limits"), length)?;
    close("points_per_bin", &answer.numbers("counts"), &case.numbers("points_per_bin"), 0.0)?;
    let bins = |field: &str| (answer.numbers(field), case.numbers(field));
    let (ours, theirs) = bins("bin_effect");
    close_curve("bin_effect", &ours, &theirs, values)?;
    let (ours, theirs) = bins("bin_variance");
    close_variance("bin_variance", &ours, &theirs, values)
}

fn alibi(case: Case<'_>, scenario: Scenario) -> Comparison {
    let answer = ask(case, scenario, &[("mean-prediction", yes())])?;
    let scale = size(&case.numbers("effect_zero_start"));
    let deciles = case.numbers("deciles");
    close_curve("deciles", &answer.numbers("deciles"), &deciles, size(&deciles))?;
    let limits = case.numbers("limits");
    close_curve("limits", &answer.numbers("x"), &limits, size(&limits))?;
    close_curve(
        "effect_centred",
        &answer.numbers("effect"),
        &case.numbers("effect_centred"),
        scale,
    )?;
    let constant = [answer.number("/record/centring_constant")];
    close_curve("centring_constant", &constant, &[case.number("centring_constant")], scale)?;
    let (mean, theirs) = (answer.number("/mean_prediction"), case.number("constant_value"));
    close_curve("constant_value", &[mean], &[theirs], theirs.abs())?;
    let start = ask(case, scenario, &[("center", "start".to_owned())])?;
    close_curve(
        "effect_zero_start",
        &start.numbers("effect"),
        &case.numbers("effect_zero_start"),
        scale,
    )
}

fn pyale(case: Case<'_>, scenario: Scenario) -> Comparison {
    let answer = ask(case, scenario, &[("band", "bins".to_owned()), ("level", "0.95".to_owned())])?;
    let limits = case.numbers("limits");
    close_curve("limits", &answer.numbers("x"), &limits, size(&limits))?;
    let theirs = case.numbers("effect_centred");
    let scale = size(&theirs);
    close_curve("effect_centred", &answer.numbers("effect"), &theirs, scale)?;
    let counts = [vec![0.0], answer.numbers("counts")].concat();
    close("points_per_bin", &counts, &case.numbers("points_per_bin_ending_here"), 0.0)?;
    // The recorded intervals are those of the bin that ends at a limit; there is none at the first.
    let widest = scale.max(size(&case.numbers("upper_ci_95")));
    for (limit, field) in [("lower", "lower_ci_95"), ("upper", "upper_ci_95")] {
        let ours = Answer(answer.0["confidence"].clone()).numbers(limit);
        let theirs = case.numbers(field);
        let known = |values: &[f64]| -> Vec<f64> {
            let known = values.iter().zip(&theirs).filter(|(_, theirs)| !theirs.is_nan());
            known.map(|(value, _)| *value).collect()
        };
        close_curve(field, &known(&ours), &known(&theirs), widest)?;
    }
    Ok(())
}

fn sklearn(case: Case<'_>, scenario: Scenario) -> Comparison {
    let answer = ask(case, scenario, &[])?;
    let x = case.numbers("x");
    close_curve("x", &answer.numbers("x"), &x, size(&x))?;
    let theirs = case.numbers("effect_uncentred");
    let scale = size(&theirs);
    close_curve("effect_uncentred", &answer.numbers("effect"), &theirs, scale)?;
    let theirs = case.numbers("ice_variance_raw_ddof0");
    close_variance("ice_variance_raw_ddof0", &answer.numbers("heterogeneity"), &theirs, scale)?;
    let points = case.option_count("grid_resolution").unwrap();
    if case.distinct() < points {
        return Ok(()); // see `compare::NOT_COMPARED`
    }
    let centred = [
        ("raw-ice", "false".to_owned()),
        ("center-rule", "points".to_owned()),
        ("center-points", points.to_string()),
    ];
    let answer = ask(case, scenario, &centred)?;
    let theirs = case.numbers("ice_variance_centred_ddof0");
    close_variance("ice_variance_centred_ddof0", &answer.numbers("heterogeneity"), &theirs, scale)
}

/// True if the estimators themselves give what is recorded.
fn is_same_in_the_library(case: Case<'_>) -> bool {
    let method = (case.text("peer"), case.text("method"));
    METHODS.contains(&method)
        && case.text("status") == "ok"
        && compare::compare(case, &compare::settings(case)).is_ok()
}

/// True if differences of f are mostly its rounding, which is another one where it is summed in another order.
fn is_rounding(case: Case<'_>) -> bool {
    let recorded = ["effect_uncentred", "effect_centred"];
    let field = recorded.into_iter().find(|field| case.result[field].is_array());
    let largest = size(&compare::predictions(case));
    field.is_some_and(|field| largest * f64::EPSILON > 1e-9 * size(&case.numbers(field)))
}

#[test]
fn recorded_results_come_out_of_the_program() {
    let records = record::all();
    let mut cases = Vec::new();
    for record in &records {
        let Some(scenario) = scenario(record) else { continue };
        let of_record = record.results.iter().map(|result| Case { record, result });
        cases.extend(
            of_record.filter(|case| is_same_in_the_library(*case)).map(|case| (case, scenario)),
        );
    }
    let differing: Vec<String> = cases
        .par_iter()
        .filter_map(|&(case, scenario)| {
            let outcome = match case.text("peer") {
                "effector" => effector(case, scenario),
                "alibi" => alibi(case, scenario),
                "PyALE" => pyale(case, scenario),
                _ => sklearn(case, scenario),
            };
            let difference = outcome.err().filter(|_| !is_rounding(case));
            difference.map(|difference| format!("{case}: {difference}"))
        })
        .collect();
    println!("{} of {} agree", cases.len() - differing.len(), cases.len());
    let shown = differing.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(differing.is_empty(), "{} differ:\n{shown}", differing.len());
    assert!(cases.len() > 100 || record::other_folder().is_some(), "{} cases", cases.len());
}

/// Shapley values against recorded background rows, which are given as a file.
#[test]
fn recorded_shapley_values_come_out_of_the_program() {
    let records = record::all();
    let of_record = |record| {
        let scenario = scenario(record)?;
        let results = record.results.iter().map(move |result| Case { record, result });
        Some(
            results.filter(|case| case.text("method") == "SHAP values").map(move |c| (c, scenario)),
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (case, scenario) in records.iter().filter_map(of_record).flatten() {
        // Of the smaller ones: every value takes all coalitions of all rows.
        let rows = case.record.data.len();
        if rows > 100 || case.text("status") != "ok" {
            continue;
        }
        let number = |value: &Value| value.as_f64().unwrap();
        let data = self::folder().join(format!("{}.csv", case.record.name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.arg("effect").args(scenario);
        command.args(["--estimator", "shapdp", "--shapley-values", "--data"]);
        command.arg(&data);
        if let Some(background) = case.result["background"].as_array() {
            let line = |row: &Value| {
                let row: Vec<String> =
                    row.as_array().unwrap().iter().map(|x| number(x).to_string()).collect();
                row.join(",")
            };
            let names = case.record.data.names().join(",");
            let lines: Vec<String> = background.iter().map(line).collect();
            let file = folder.path().join("background.csv");
            std::fs::write(&file, format!("{names}\n{}\n", lines.join("\n"))).unwrap();
            command.arg("--background-rows").arg(file);
        }
        let output = command.output().unwrap();
        // A constant feature has no curve.
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(message.contains("is constant"), "{case}: {message}");
            continue;
        }
        let effects: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let theirs = case.result["shap_values"].as_array().unwrap();
        let largest =
            theirs.iter().flat_map(|row| row.as_array().unwrap()).map(|x| number(x).abs());
        let scale = largest.fold(case.number("base_value").abs(), f64::max);
        for (feature, effect) in effects.iter().enumerate() {
            let ours = Answer(effect["shapley"].clone());
            let recorded: Vec<f64> = theirs.iter().map(|row| number(&row[feature])).collect();
            // `close-is-equal` among the reasons of fe-core's test moves single rows of some datasets.
            let outcome = close_curve("shap_values", &ours.numbers("values"), &recorded, scale);
            assert!(
                outcome.is_ok() || case.record.name.starts_with("dates"),
                "{case}: {outcome:?}"
            );
            let base = [ours.number("/base_value")];
            close_curve("base_value", &base, &[case.number("base_value")], scale).unwrap();
        }
        compared += 1;
    }
    assert!(compared > 0 || record::other_folder().is_some());
}
