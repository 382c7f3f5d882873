//! Features with levels: scenarios whose estimates go to their truths, and data files with words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fe_bench::check::problem::witnessed;
use fe_bench::data::{sample, scenarios};
use fe_bench::score::{truth_at_levels, truth_of};
use fe_core::settings::{BandKind, LevelOrder};
use fe_core::{Centring, Dataset, Effect, Settings, estimator};
use fe_truth::Scenario;

const FILES: [&str; 6] = [
    "problems/seasons",
    "levels/independent",
    "levels/slopes",
    "levels/two-nominal",
    "levels/counts",
    "levels/grades",
];

fn path(file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    root.join(file).with_extension("toml").canonicalize().unwrap()
}

fn scenario(file: &str) -> Scenario {
    scenarios::find(&path(file).to_string_lossy(), &[]).unwrap()
}

fn with_levels(scenario: &Scenario) -> Vec<usize> {
    (0..scenario.dimension()).filter(|&feature| scenario.levels(feature).is_some()).collect()
}

fn effect(name: &str, settings: Settings, data: &Dataset, of: &Scenario, feature: usize) -> Effect {
    let estimator = estimator::from_settings(name, &settings).unwrap();
    let effects = estimator.estimate(data, of.model(), feature);
    effects.unwrap_or_else(|e| panic!("{}, {name}: {e}", of.id())).remove(0)
}

/// Truths by a second quadrature, for every file and every quantity that there is.
#[test]
fn truths_have_a_second_witness() {
    for file in FILES {
        let scenario = scenario(file);
        let witness = scenario.witness().unwrap();
        let found = witnessed(&scenario, &witness, &|| {});
        let held = found.iter().filter(|one| one.worst.is_some());
        for one in held.clone() {
            assert!(one.worst.unwrap() <= 1.0, "{file}: {} {:?}", one.what, one.worst);
        }
        assert!(held.count() >= 10, "{file}");
    }
}

#[test]
fn regions_that_levels_cannot_make_are_refused_with_the_reason() {
    let file = path("problems/seasons").to_string_lossy().into_owned();
    let refused = |event: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        let asked = ["truth", &file, "--effect", "pd", "--feature", "season", "--where", event];
        let output = command.args(asked).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{event}");
        String::from_utf8(output.stderr).unwrap()
    };
    let compared = refused("season > winter");
    assert!(compared.contains("compared by `==` or `!=`"), "{compared}");
    assert!(!compared.contains("did you mean"), "{compared}");
    assert!(refused("season == wintr").contains("did you mean `winter`?"));
    let one = refused("season == winter");
    assert!(one.contains("leaves season one level"), "{one}");
}

/// Estimates from 40 000 rows, against truths to within five of their own standard errors; along two orders
/// for `ale`.
#[test]
fn estimates_at_levels_go_to_their_truths() {
    const ROWS: usize = 40_000;
    let mut compared = 0;
    for file in FILES {
        let scenario = scenario(file);
        let data = sample::features(&scenario, 11, ROWS, 0).unwrap();
        for feature in with_levels(&scenario) {
            let band = || Settings { band: Some(BandKind::Analytic), ..Settings::default() };
            let by = |order| Settings { order: Some(order), ..band() };
            let has_order = data.kinds().contains(&fe_core::FeatureKind::Nominal);
            let mut all = vec![("pdp", band()), ("ale", band()), ("mplot", Settings::default())];
            if has_order {
                all.extend([("ale", by(LevelOrder::Frequency)), ("ale", by(LevelOrder::Response))]);
            }
            for (name, settings) in all {
                let what =
                    format!("{file}, {name}, {:?}, {}", settings.order, data.names()[feature]);
                let effect = effect(name, settings, &data, &scenario, feature);
                let levels = effect.record.levels.clone().unwrap();
                // Levels beyond the 0.9999 quantile have no truth.
                let known = scenario.levels(feature).unwrap();
                let last = known[known.len() - 1].value;
                let points: Vec<f64> =
                    levels.values.iter().copied().filter(|x| *x <= last).collect();
                let quantity = truth_of(
                    estimator::from_settings(name, &Settings::default()).unwrap().estimand(),
                );
                let centring = fe_truth::Centring::Data;
                let truth = match truth_at_levels(&scenario, quantity, &effect, &points, centring) {
                    Ok(truth) => truth,
                    // Of counts the rarest may be missing, or beyond what has a truth.
                    Err(reason) => {
                        assert!(file.ends_with("counts"), "{what}: {reason}");
                        continue;
                    }
                };
                for (at, truth) in points.iter().zip(&truth) {
                    let value = effect.curve.at(*at).unwrap();
                    let place = levels.values.iter().position(|x| x == at).unwrap();
                    let error = match &effect.confidence {
                        Some(band) => {
                            0.5 * (band.pointwise.upper.at(*at).unwrap()
                                - band.pointwise.lower.at(*at).unwrap())
                                / 1.96
                        }
                        None => {
                            (effect.heterogeneity.at(*at).unwrap() / levels.counts[place]).sqrt()
                                + 3.0 / (ROWS as f64).sqrt()
                        }
                    };
                    assert!(truth.abs_error <= 1e-9, "{what}: {truth:?}");
                    assert!(
                        (value - truth.value).abs() <= 5.0 * error + 1e-9,
                        "{what} at {at}: {value} against {} ± {error}",
                        truth.value
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 60, "{compared}");
}

fn program(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn answer(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    message
}

const SALES: &str = "city,size,rooms,built,price\n\
    Bonn,50,2,1950-01-01,100\nBonn,80,3,1960-01-01,170\nKiel,60,2,1970-01-01,90\nKiel,90,4,1980-01-01,130\n\
    Ulm,70,3,1990-01-01,200\nUlm,40,1,2000-01-01,140\nUlm,100,4,2010-01-01,260\nBonn,65,2,2020-01-01,150\n";

#[test]
fn columns_of_words_are_nominal_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("sales.csv"), SALES).unwrap();
    let base = [
        "effect",
        "--data",
        "sales.csv",
        "--target",
        "price",
        "--ignore",
        "built",
        "--model",
        "linear",
    ];
    let with = |more: &[&'static str]| [&base[..], more].concat();
    let csv = answer(at, &with(&["--estimator", "ale", "--feature", "city", "--format", "csv"]));
    let header = csv.lines().next().unwrap();
    assert_eq!(header, "feature,output,x,level,count,effect,heterogeneity");
    for (line, level) in
        csv.lines().skip(1).zip(["city,1,0,Bonn,3,", "city,1,1,Kiel,2,", "city,1,2,Ulm,3,"])
    {
        assert!(line.starts_with(level), "{csv}");
    }
    let along = ["--estimator", "ale", "--feature", "city", "--levels", "city=Ulm,Bonn,Kiel"];
    let json: serde_json::Value = serde_json::from_str(&answer(at, &with(&along))).unwrap();
    assert_eq!(json[0]["levels"], serde_json::json!(["Ulm", "Bonn", "Kiel"]));
    assert_eq!(json[0]["record"]["levels"]["order"]["rule"], "given");
    let dates = [
        "effect",
        "--data",
        "sales.csv",
        "--target",
        "price",
        "--model",
        "linear",
        "--kind",
        "built=date",
    ];
    let dates = answer(
        at,
        &[
            &dates[..],
            &["--estimator", "pdp", "--feature", "built", "--grid", "2", "--format", "csv"],
        ]
        .concat(),
    );
    assert!(dates.contains("built,1,-7305,"), "{dates}");
    // Refused, before a model is fitted, with the name that was meant.
    for (more, says) in [
        (&["--estimator", "ale", "--feature", "ciyt"][..], "did you mean `city`"),
        (&["--estimator", "ale", "--kind", "ciyt=nominal"][..], "did you mean `city`"),
        (&["--estimator", "ale", "--kind", "city=nominla"][..], "nominla"),
        (&["--estimator", "ale", "--kind", "city=continuous"][..], "`Bonn` is not a finite number"),
        (&["--estimator", "ale", "--kind", "city=ordinal"][..], "--levels city="),
        (&["--estimator", "ale", "--levels", "city=Bonn,Kiel"][..], "`Ulm` is none of the levels"),
        (&["--estimator", "ale", "--levels", "city"][..], "must be S=LEVEL"),
        (&["--estimator", "dale", "--feature", "city"][..], "takes derivatives"),
        (
            &["--estimator", "ale", "--feature", "city", "--center", "integral"][..],
            "levels of city",
        ),
        (&["--estimator", "ale", "--feature", "city", "--order", "size"][..], "similarity"),
        (
            &["--estimator", "ale", "--feature", "city", "--at", "0.5"][..],
            "none of the levels 0, 1, 2",
        ),
        (&["--estimator", "pdp", "--order", "name"][..], "takes no option `order`"),
        (&["--estimator", "regional-shapdp", "--feature", "city"][..], "city, which is nominal"),
    ] {
        let message = refusal(at, &with(more));
        let is_derivative = says == "takes derivatives" && message.contains("made of derivatives");
        assert!(message.contains(says) || is_derivative, "{more:?}: {message}");
    }
}

#[test]
fn a_constant_column_stops_its_own_effect_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("d.csv"), "a,b,y\n1,7,1\n2,7,3\n3,7,2\n").unwrap();
    let base = [
        "effect",
        "--data",
        "d.csv",
        "--target",
        "y",
        "--model",
        "linear",
        "--estimator",
        "pdp",
        "--format",
        "csv",
    ];
    let output = program(at, &base);
    assert!(output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("left out: feature b is constant (7)")
    );
    assert!(!String::from_utf8_lossy(&output.stdout).contains("\nb,"));
    refusal(at, &[&base[..], &["--feature", "b"]].concat());
}

/// Questions have words where the data have, and answers are found by them.
#[test]
fn plans_speak_of_words() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("sales.csv"), SALES).unwrap();
    let plan = [
        "plan",
        "--data",
        "sales.csv",
        "--target",
        "price",
        "--ignore",
        "built",
        "--estimator",
        "ale",
        "--feature",
        "city",
        "--out",
        "q.csv",
    ];
    answer(at, &plan);
    let questions = std::fs::read_to_string(at.join("q.csv")).unwrap();
    assert!(questions.starts_with("city,size,rooms\nBonn,50,2\n"), "{questions}");
    let value = |line: &str| {
        let base = match &line[..4] {
            "Bonn" => 10,
            "Kiel" => 20,
            _ => 40,
        };
        base.to_string()
    };
    let answers: Vec<String> = questions.lines().skip(1).map(value).collect();
    std::fs::write(at.join("a.csv"), format!("price\n{}\n", answers.join("\n"))).unwrap();
    let csv = answer(at, &["finish", "q.csv", "--predictions", "a.csv", "--format", "csv"]);
    let values: Vec<f64> =
        csv.lines().skip(1).map(|line| line.split(',').nth(5).unwrap().parse().unwrap()).collect();
    assert!(
        (values[1] - values[0] - 10.0).abs() < 1e-12
            && (values[2] - values[1] - 20.0).abs() < 1e-12,
        "{csv}"
    );
    let response = [&plan[..], &["--order", "response"]].concat();
    assert!(refusal(at, &response).contains("planned"));
}

#[test]
fn truths_along_an_order_and_studies_at_levels() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let seasons = path("problems/seasons");
    let seasons = seasons.to_str().unwrap();
    let base = ["truth", seasons, "--effect", "ale", "--feature", "season"];
    let plain = answer(at, &base);
    assert_eq!(
        plain.lines().next().unwrap(),
        "scenario,feature,effect,x,level,value,abs_error,method"
    );
    assert_eq!(plain.lines().count(), 4);
    let other = answer(at, &[&base[..], &["--order", "summer,winter,spring"]].concat());
    let value = |csv: &str, level: &str| -> f64 {
        let line = csv.lines().find(|line| line.contains(level)).unwrap();
        line.split(',').nth(5).unwrap().parse().unwrap()
    };
    assert_eq!(value(&other, "summer"), 0.0);
    assert_ne!(value(&plain, "summer") - value(&plain, "winter"), -value(&other, "winter"));
    // What is beside each other in both orders differs by the same.
    let step = |csv: &str| value(csv, "spring") - value(csv, "winter");
    assert!((step(&plain) - step(&other)).abs() < 1e-9);
    for (more, says) in [
        (&["--order", "summer,winter"][..], "`spring` is not named"),
        (&["--order", "summer,winter,sprnig"][..], "did you mean `spring`"),
        (&["--order", "summer,winter,spring,summer"][..], "named twice"),
        (&["--grid", "5"][..], "has levels"),
        (&["--center", "integral"][..], "levels"),
    ] {
        assert!(refusal(at, &[&base[..], more].concat()).contains(says), "{more:?}");
    }
    let pd = [
        "truth",
        seasons,
        "--effect",
        "pd",
        "--feature",
        "season",
        "--order",
        "summer,winter,spring",
    ];
    assert!(refusal(at, &pd).contains("depends on no order"));
    let temp = [
        "truth",
        seasons,
        "--effect",
        "ale",
        "--feature",
        "temp",
        "--order",
        "summer,winter,spring",
    ];
    assert!(refusal(at, &temp).contains("temp has no levels"));

    let study = format!(
        "about = \"orders\"\n[[block]]\nscenario = {seasons:?}\nfeatures = [\"season\", \"weather\"]\nN = [500, 8000]\nreplicates = 6\n\
         metrics = [\"mse\", \"rmse\"]\nkeep = [\"curves\"]\n[[block.estimator]]\nname = \"pdp\"\n[[block.estimator]]\nname = \"mplot\"\n\
         [[block.estimator]]\nname = \"ale\"\norder = [\"given\", \"response\", \"similarity\"]\n"
    );
    std::fs::write(at.join("orders.toml"), study).unwrap();
    answer(at, &["run", "orders.toml", "--out", "out"]);
    let cells = std::fs::read_to_string(at.join("out/cells.csv")).unwrap();
    assert!(cells.contains("order=similarity") && !cells.contains("no row has"), "{cells}");
}

#[test]
fn figures_of_levels_have_bars_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let seasons = path("problems/seasons");
    let base = [
        "effect",
        seasons.to_str().unwrap(),
        "--n",
        "400",
        "--seed",
        "1",
        "--feature",
        "season,weather",
    ];
    for more in [
        &["--estimator", "ale", "--order", "similarity", "--band", "analytic"][..],
        &["--estimator", "ice"],
        &["--estimator", "mplot"],
        &["--estimator", "shapdp"],
    ] {
        answer(at, &[&base[..], more, &["--plot", "f.svg"]].concat());
        let svg = std::fs::read_to_string(at.join("f.svg")).unwrap();
        for word in ["winter", "spring", "rain", "truth"] {
            assert!(svg.contains(word), "{more:?}: no {word}");
        }
        std::fs::remove_file(at.join("f.svg")).unwrap();
    }
}

/// The ALE of a feature with two values depends on no number of bins, and is what partial dependence says.
/// Over levels there is no integral to be centred by.
#[test]
fn figures_of_truths_say_what_they_are_centred_by() {
    let folder = tempfile::tempdir().unwrap();
    let (at, seasons) = (folder.path(), path("problems/seasons"));
    for (feature, centring, other) in [("season", "data", "axis"), ("temp", "axis", "data")] {
        let plot = ["--feature", feature, "--plot", "truth.svg"];
        answer(at, &[&["truth", seasons.to_str().unwrap()], &plot[..]].concat());
        let figure = std::fs::read_to_string(at.join("truth.svg")).unwrap();
        assert!(figure.contains(&format!("effect on f, mean 0 over the {centring}")), "{feature}");
        assert!(!figure.contains(&format!("over the {other}")), "{feature}");
    }
}

#[test]
fn kinds_decide_and_not_bins() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows: String = (0..60).map(|i| format!("{},{},{}\n", i % 2, i, i + 5 * (i % 2))).collect();
    std::fs::write(at.join("d.csv"), format!("holiday,x,y\n{rows}")).unwrap();
    let at_levels = |bins: &str| {
        let base = [
            "effect",
            "--data",
            "d.csv",
            "--target",
            "y",
            "--model",
            "linear",
            "--estimator",
            "ale",
        ];
        let more = [
            "--kind",
            "holiday=nominal",
            "--feature",
            "holiday",
            "--bins",
            bins,
            "--format",
            "csv",
        ];
        answer(at, &[&base[..], &more].concat())
    };
    assert_eq!(at_levels("2"), at_levels("400"));
}

#[test]
fn centring_of_levels_is_over_the_instances() {
    let scenario = scenario("levels/slopes");
    let data = sample::features(&scenario, 3, 200, 0).unwrap();
    let effect = effect("ale", Settings::default(), &data, &scenario, 0);
    assert_eq!(effect.record.centring, Centring::Data);
    let levels = effect.record.levels.unwrap();
    let sum: f64 = levels.counts.iter().zip(effect.curve.y()).map(|(n, y)| n * y).sum();
    assert!(sum.abs() < 1e-9, "{sum}");
    assert_eq!(levels.names, ["a", "b", "c"]);
}

/// Trees of a feature with levels, from the command line and in a study, with the truths of their leaves.
#[test]
fn regions_of_a_feature_with_levels_are_printed_and_scored() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let slopes = path("levels/slopes").display().to_string();
    let base = ["effect", &slopes, "--n", "400", "--seed", "3", "--feature", "group"];
    let with = |more: &[&'static str]| answer(at, &[&base[..], more].concat());
    for (name, value) in [("regional-pdp", "mean_levels"), ("regional-ale", "mean_steps")] {
        let text = with(&["--estimator", name, "--format", "table"]);
        assert!(text.contains(&format!("regions by {value}")), "{text}");
        assert!(text.contains("x <= "), "{text}");
        let csv = with(&["--estimator", name, "--format", "csv", "--depth", "1"]);
        let mut lines = csv.lines();
        let header = "feature,output,region,x,level,count,effect,truth,difference,heterogeneity";
        assert_eq!(lines.next(), Some(header));
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 6, "{csv}");
        let number = |text: &str| text.parse::<f64>().unwrap();
        let levels: Vec<&str> = rows.iter().map(|row| row[4]).collect();
        assert_eq!(levels, ["a", "b", "c", "a", "b", "c"]);
        assert_eq!(rows.iter().map(|row| number(row[5])).sum::<f64>(), 400.0);
        for row in &rows {
            // f has a slope from −1 to 2 in x, of which the halves have standard deviations up to 1.5, and 50 rows or more.
            assert!(number(row[8]).abs() < 5.0 * 3.0 * 1.5 / 50_f64.sqrt(), "{row:?}");
        }
        let figure = at.join("regions.svg").display().to_string();
        answer(at, &[&base[..], &["--estimator", name, "--plot", &figure]].concat());
        let figure = std::fs::read_to_string(figure).unwrap();
        assert!(figure.matches("\nb\n").count() >= 2, "levels are at the axes of all leaves");
    }
    let refused = refusal(at, &[&base[..], &["--estimator", "regional-rhale"]].concat());
    assert!(refused.contains("`regional-rhale` is made of derivatives, and group"), "{refused}");
    let study = format!(
        "about = \"levels\"\n[[block]]\nscenario = {slopes:?}\nfeatures = [\"group\"]\nN = [300]\nreplicates = 1\n\
         metrics = [\"leaf_mse\", \"leaves\", \"region_regret\"]\n\
         [[block.estimator]]\nname = \"regional-pdp\"\n[[block.estimator]]\nname = \"regional-ale\"\n\
         [[block.estimator]]\nname = \"regional-ale\"\norder = \"frequency\"\n"
    );
    std::fs::write(at.join("study.toml"), study).unwrap();
    answer(at, &["run", "study.toml", "--out", "results"]);
    let cells = std::fs::read_to_string(at.join("results/cells.csv")).unwrap();
    let of = |estimator: &str, options: &str, metric: &str| -> String {
        let is = |line: &&str| {
            line.contains(&format!(",{estimator},"))
                && line.contains(&format!(",{metric},"))
                && line.contains("order=") != options.is_empty()
        };
        cells.lines().find(is).unwrap_or_else(|| panic!("{estimator} {metric}")).to_owned()
    };
    for name in ["regional-pdp", "regional-ale"] {
        assert!(of(name, "", "leaf_mse").ends_with(",ok"), "{cells}");
        // The population has no tree of levels, and says so.
        let regret = of(name, "", "region_regret");
        assert!(!regret.ends_with(",ok") && regret.contains("levels"), "{regret}");
    }
    let along = of("regional-ale", "order=", "leaf_mse");
    assert!(
        along.contains("truths in regions of group go along its levels as they are given"),
        "{along}"
    );
}

/// Rules of regions have the words of levels.
#[test]
fn regions_of_words_are_called_by_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let slopes = path("levels/slopes").display().to_string();
    let base = ["effect", &slopes, "--n", "400", "--seed", "3", "--feature", "x", "--depth", "1"];
    let text =
        answer(at, &[&base[..], &["--estimator", "regional-pdp", "--format", "table"]].concat());
    assert!(text.contains("    group = b") && text.contains("    group != b"), "{text}");
    let json = answer(at, &[&base[..], &["--estimator", "regional-pdp"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["nodes"][1]["rule"]["kind"]["is"], 1.0);
    assert_eq!(json[0]["nodes"][1]["rule"]["level"], "b");
}
