//! Records of other libraries come out of the program, by the recipes of docs/presets.md: of each
//! recorded result that the estimators give (`fe-core`'s test `parity` says which) everything that is
//! recorded, from the command line. Functions that are no scenarios are told as problem files. With `PARITY_FIXTURES=FOLDER` the records are those of another folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../../fe-core/tests/parity/compare.rs"]
mod compare;
#[path = "../../fe-core/tests/parity/models.rs"]
mod models;
#[path = "../../fe-core/tests/parity/pairs.rs"]
mod pairs;
#[allow(dead_code)]
#[path = "../../fe-core/tests/parity/record.rs"]
mod record;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use fe_core::Model;
use fe_core::model::{Column, FunctionModel, Rows};

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

/// The other functions that records are about, as the program reads them.
const PROBLEMS: &[(&str, &str)] = &[
    ("bvn", "x1 + x2^2/2 + x1*x2"),
    ("large", "1e9*(x1^2 + x1*x2 + x3/2)"),
    ("steep", "1e9*x1 + x1*x2 + x3/2"),
];

/// The way in which the program gets to know a function.
#[derive(Clone)]
enum Route {
    /// As a scenario: its name or file, and its parameters.
    Told(Vec<String>),
    /// By its predictions, which `plan` asks for.
    Planned,
}

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

/// The scenario with the function of some records.
fn scenario(record: &Record) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(format!("{}.json", record.name))).unwrap();
    let content: Value = serde_json::from_str(&text).unwrap();
    let function = content["model"].as_str().unwrap();
    let known = SCENARIOS.iter().find(|(model, _)| *model == function);
    match known {
        Some((_, scenario)) => scenario.iter().map(ToString::to_string).collect(),
        None => vec![problem(function, record.data.dimension())],
    }
}

/// A problem file with a function of so many features.
fn problem(function: &str, dimension: usize) -> String {
    let (_, formula) = PROBLEMS.iter().find(|(model, _)| *model == function).unwrap();
    let laws: String = (1..=dimension).map(|j| format!("x{j} = \"normal(0, 1)\"\n")).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("parity-{function}-{dimension}.toml"));
    // Other threads may have it read at this moment: it is there as a whole, or not yet.
    let mut written = tempfile::NamedTempFile::new_in(folder).unwrap();
    written.write_all(format!("f = \"{formula}\"\n[law]\n{laws}").as_bytes()).unwrap();
    written.persist(&file).unwrap();
    file.to_str().unwrap().to_owned()
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
fn ask(case: Case<'_>, route: &Route, further: &[(&str, String)]) -> Result<Answer, String> {
    let (preset, estimator) = compare::preset_and_estimator(case);
    let data = folder().join(format!("{}.csv", case.record.name));
    let given = [
        ("data", data.to_str().unwrap().to_owned()),
        ("estimator", estimator.to_owned()),
        ("preset", preset.to_owned()),
        ("feature", format!("x{}", case.feature() + 1)),
    ];
    let arguments = [flags(&given), recipe(case), flags(further)].concat();
    let printed = match route {
        Route::Told(scenario) => run(&[&["effect".to_owned()], &scenario[..], &arguments].concat()),
        Route::Planned => planned(case, arguments),
    };
    let mut effects: Vec<Value> = serde_json::from_slice(&printed?).unwrap();
    Ok(Answer(effects.remove(0)))
}

/// The output of the program, or what it says against the arguments.
fn run(arguments: &[String]) -> Result<Vec<u8>, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap();
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// What `finish` makes of the function's answers to the questions of `plan`.
fn planned(case: Case<'_>, arguments: Vec<String>) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let [questions, answers] =
        ["questions.csv", "answers.csv"].map(|name| folder.path().join(name));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut plan = vec!["plan".to_owned(), format!("--out={}", text(&questions))];
    if matches!(case.text("method"), "RHALE" | "DerPDP") {
        plan.push("--jacobian=model".to_owned());
    }
    run(&[plan, arguments].concat())?;
    let answered = answered(&case.record.model, &std::fs::read_to_string(&questions).unwrap());
    std::fs::write(&answers, answered).unwrap();
    run(&["finish".to_owned(), text(&questions), "--predictions".to_owned(), text(&answers)])
}

/// The answers to a file of questions: values, and derivatives where a feature is named.
fn answered(model: &FunctionModel<'_>, questions: &str) -> String {
    let dimension = model.dimension();
    let answer = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let columns: Vec<Column<'_>> =
            fields[..dimension].iter().map(|x| Column::Constant(x.parse().unwrap())).collect();
        let (rows, mut value) = (Rows::new(&columns, 1), [0.0]);
        match fields.get(dimension).and_then(|name| name.strip_prefix('x')) {
            None => model.predict(&rows, &mut value).unwrap(),
            Some(number) => {
                let feature = number.parse::<usize>().unwrap() - 1;
                model.partial(feature, &rows, &mut value).unwrap();
            }
        }
        format!("{}\n", value[0])
    };
    let lines: String = questions.lines().skip(1).map(answer).collect();
    format!("prediction\n{lines}")
}

fn yes() -> String {
    "true".to_owned()
}

fn effector(case: Case<'_>, route: &Route) -> Comparison {
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
        let answer = ask(case, route, &[&center[..], &common].concat())?;
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
    close_outside(&ask(case, route, &asked)?, 0)
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

fn alibi(case: Case<'_>, route: &Route) -> Comparison {
    let answer = ask(case, route, &[("mean-prediction", yes())])?;
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
    let start = ask(case, route, &[("center", "start".to_owned())])?;
    close_curve(
        "effect_zero_start",
        &start.numbers("effect"),
        &case.numbers("effect_zero_start"),
        scale,
    )
}

/// The curve of a feature that is discrete to PyALE; fe-core's test compares its intervals as well.
fn pyale_discrete(case: Case<'_>, route: &Route) -> Comparison {
    let kind = format!("x{}=ordinal", case.feature() + 1);
    let answer = ask(case, route, &[("kind", kind), ("center", "data".to_owned())])?;
    let limits = case.numbers("limits");
    close_curve("limits", &answer.numbers("x"), &limits, size(&limits))?;
    let theirs = case.numbers("effect_centred");
    close_curve("effect_centred", &answer.numbers("effect"), &theirs, size(&theirs))?;
    let counts = case.numbers("points_per_bin_ending_here");
    close("rows at a level", &answer.numbers("counts"), &counts, 0.0)
}

/// The effect of an ordinal feature by effector; fe-core's test compares its score and importance as well.
fn effector_ordinal(case: Case<'_>, route: &Route) -> Comparison {
    // Of functions that are scenarios there are such records alone.
    let Route::Told(scenario) = route else { return Ok(()) };
    let name = if case.text("method") == "PDP" { "pdp" } else { "ale" };
    let data = folder().join(format!("{}.csv", case.record.name));
    for (center, field) in [("data", "effect_zero_integral"), ("start", "effect_zero_start")] {
        let given = [
            ("data", data.to_str().unwrap().to_owned()),
            ("estimator", name.to_owned()),
            ("feature", format!("x{}", case.feature() + 1)),
            ("kind", format!("x{}=ordinal", case.feature() + 1)),
            ("center", center.to_owned()),
        ];
        let printed = run(&[&["effect".to_owned()], &scenario[..], &flags(&given)].concat())?;
        let mut effects: Vec<Value> = serde_json::from_slice(&printed).unwrap();
        let answer = Answer(effects.remove(0));
        let (theirs, levels) = (case.numbers(field), case.numbers("levels"));
        close_curve("levels", &answer.numbers("x"), &levels, size(&levels))?;
        close_curve(field, &answer.numbers("effect"), &theirs, size(&theirs))?;
        // The first level has no change that leads to it; effector gives it that of the second.
        let first = usize::from(name == "ale");
        let ours = &answer.numbers("heterogeneity")[first..];
        close_variance(
            "heterogeneity",
            ours,
            &case.numbers("heterogeneity")[first..],
            size(&theirs),
        )?;
    }
    Ok(())
}

fn pyale(case: Case<'_>, route: &Route) -> Comparison {
    let answer = ask(case, route, &[("band", "bins".to_owned()), ("level", "0.95".to_owned())])?;
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

fn sklearn(case: Case<'_>, route: &Route) -> Comparison {
    let answer = ask(case, route, &[])?;
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
    let answer = ask(case, route, &centred)?;
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

/// Cases by a route that differ, with all that are compared.
fn differing(cases: &[(Case<'_>, Route)]) -> Vec<String> {
    let difference = |(case, route): &(Case<'_>, Route)| {
        let case = *case;
        let outcome = match case.text("peer") {
            "effector" if compare::is_ordinal_to_effector(case) => effector_ordinal(case, route),
            "effector" => effector(case, route),
            "alibi" => alibi(case, route),
            "PyALE" if compare::is_discrete_to_pyale(case) => pyale_discrete(case, route),
            "PyALE" => pyale(case, route),
            _ => sklearn(case, route),
        };
        let difference = outcome.err().filter(|_| !is_rounding(case));
        difference.map(|difference| format!("{case}: {difference}"))
    };
    cases.par_iter().filter_map(difference).collect()
}

/// The cases of some records that the estimators themselves give, by a route of each record.
fn cases<'a>(
    records: &'a [Record],
    route: impl Fn(&Record) -> Option<Route>,
) -> Vec<(Case<'a>, Route)> {
    let mut cases = Vec::new();
    for record in records {
        let Some(route) = route(record) else { continue };
        let of_record = record.results.iter().map(|result| Case { record, result });
        let same = of_record.filter(|case| is_same_in_the_library(*case));
        cases.extend(same.map(|case| (case, route.clone())));
    }
    cases
}

fn assert_all_agree(cases: &[(Case<'_>, Route)]) {
    let differing = differing(cases);
    println!("{} of {} agree", cases.len() - differing.len(), cases.len());
    let shown = differing.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(differing.is_empty(), "{} differ:\n{shown}", differing.len());
}

#[test]
fn recorded_results_come_out_of_the_program() {
    let records = record::all();
    let cases = cases(&records, |record| Some(Route::Told(scenario(record))));
    assert_all_agree(&cases);
    // All that fe-core's test calls the same, Shapley values apart.
    assert!(cases.len() == 1344 || record::other_folder().is_some(), "{} cases", cases.len());
}

/// Of functions that are no scenarios, from their predictions alone.
#[test]
fn recorded_results_come_out_of_plan_and_finish() {
    let records = record::all();
    let is_scenario = |record: &Record| !scenario(record)[0].ends_with(".toml");
    let cases = cases(&records, |record| (!is_scenario(record)).then_some(Route::Planned));
    assert_all_agree(&cases);
    assert!(cases.len() == 80 || record::other_folder().is_some(), "{} cases", cases.len());
}

/// Shapley values against recorded background rows, which are given as a file.
#[test]
fn recorded_shapley_values_come_out_of_the_program() {
    let records = record::all();
    let of_record = |record| {
        let scenario = scenario(record);
        let results = record.results.iter().map(move |result| Case { record, result });
        let values = results.filter(|case| case.text("method") == "SHAP values");
        values.map(move |case| (case, scenario.clone()))
    };
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (case, scenario) in records.iter().flat_map(of_record) {
        // Of the smaller ones: every value takes all coalitions of all rows.
        let rows = case.record.data.len();
        if rows > 100 || case.text("status") != "ok" {
            continue;
        }
        let number = |value: &Value| value.as_f64().unwrap();
        let data = self::folder().join(format!("{}.csv", case.record.name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.arg("effect").args(&scenario);
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

/// The same of pairs of features, of which `fe-core`'s test `pair_parity` says which are the same.
#[test]
fn records_of_pairs_come_out_of_the_program() {
    let records = record::of_pairs();
    let mut asked = Vec::new();
    for record in &records {
        let cases = record.results.iter().map(|result| Case { record, result });
        let is_same = |case: &Case<'_>| {
            case.text("status") == "ok"
                && pairs::estimate(*case).is_ok_and(|surface| {
                    pairs::is_same(*case, surface.x.each_ref().map(Vec::as_slice), &surface.values)
                })
        };
        asked.extend(cases.filter(is_same));
    }
    assert!(asked.len() > 100, "{} results of pairs", asked.len());
    let wrong: Vec<String> = asked.par_iter().filter_map(|case| wrong_pair(*case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The program's answer where it is not what is recorded.
fn wrong_pair(case: Case<'_>) -> Option<String> {
    let (preset, estimator) = pairs::preset_and_estimator(case);
    let [first, second] = case.pair().map(|feature| format!("x{}", feature + 1));
    let data = folder().join(format!("{}.csv", case.record.name));
    let given = [
        ("data", data.to_str().unwrap().to_owned()),
        ("estimator", estimator.to_owned()),
        ("preset", preset.to_owned()),
        ("feature", format!("{first}:{second}")),
    ];
    let route = [vec!["effect".to_owned()], scenario(case.record)].concat();
    let further = vec!["--no-truth".to_owned()];
    let arguments = [route, flags(&given), pairs::flags(case), further].concat();
    let printed = match run(&arguments) {
        Ok(printed) => printed,
        Err(error) => return Some(format!("{case}: {error}")),
    };
    let found: Vec<Value> = serde_json::from_slice(&printed).unwrap();
    let answer = Answer(found[0].clone());
    let rows = answer.0["effect"].as_array().unwrap();
    let values: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|value| value.as_f64().unwrap_or(f64::NAN))
        .collect();
    let (x, x2) = (answer.numbers("x"), answer.numbers("x2"));
    (!pairs::is_same(case, [&x, &x2], &values)).then(|| format!("{case}: other numbers"))
}
