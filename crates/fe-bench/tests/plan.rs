//! A model asked through files gives the effects that it gives when it is asked directly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::process::{Command, Output};

use serde_json::Value;

/// poly3, which the program knows: x1² + x1 x2 + x3 / 2.
fn value(x: &[f64]) -> f64 {
    x[0] * x[0] + x[0] * x[1] + 0.5 * x[2]
}

fn derivative(feature: &str, x: &[f64]) -> f64 {
    match feature {
        "x1" => 2.0 * x[0] + x[1],
        "x2" => x[0],
        "x3" => 0.5,
        other => panic!("derivative with respect to `{other}`"),
    }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let sample = answer(&["sample", "poly3", "--n", "60", "--seed", "5"]);
        let mut lines = sample.lines().map(str::to_owned);
        // With weights, and names of its own.
        let mut data = "length,width,height,y,weight\n".to_owned();
        lines.next();
        for (i, line) in lines.enumerate() {
            writeln!(data, "{line},{}", i % 3).unwrap();
        }
        folder.write("data.csv", &data);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn plan(&self, options: &[&str]) {
        let (data, out) = (self.path("data.csv"), self.path("query.csv"));
        let given = ["plan", "--data", &data, "--weights", "weight", "--target", "y"];
        answer(&[&given[..], &["--out", &out], options].concat());
    }

    /// Answers the questions with some outputs.
    fn ask(&self, outputs: &[f64]) {
        let mut reader = csv::Reader::from_path(self.path("query.csv")).unwrap();
        let has_derivatives = reader.headers().unwrap().iter().any(|name| name == "derivative");
        let names: Vec<String> = (1..=outputs.len()).map(|i| format!("f{i}")).collect();
        let mut text = names.join(",") + "\n";
        for record in reader.records() {
            let record = record.unwrap();
            let x: Vec<f64> = record.iter().take(3).map(|field| field.parse().unwrap()).collect();
            let asked = if has_derivatives { &record[3] } else { "" };
            let y = if asked.is_empty() { value(&x) } else { derivative(asked, &x) };
            let fields: Vec<String> =
                outputs.iter().map(|factor| (factor * y).to_string()).collect();
            writeln!(text, "{}", fields.join(",")).unwrap();
        }
        self.write("answers.csv", &text);
    }

    fn finish(&self, options: &[&str]) -> Output {
        let (query, answers) = (self.path("query.csv"), self.path("answers.csv"));
        run(&[&["finish", &query, "--predictions", &answers], options].concat())
    }

    fn finished(&self) -> Value {
        let output = self.finish(&["--format", "json"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn refused(&self, options: &[&str]) -> String {
        let output = self.finish(options);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty(), "a result was printed");
        String::from_utf8(output.stderr).unwrap()
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

fn answer(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// All numbers in a value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => vec![number.as_f64().unwrap()],
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        Value::Object(entries) => entries.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// The same options with the scenario's own function, for data with weights.
fn direct(folder: &Folder, options: &[&str]) -> Value {
    // `effect` takes its features from a scenario: the same data under its names.
    let renamed = folder.read("data.csv").lines().map(without_target).collect::<Vec<_>>();
    let data = folder.write("renamed.csv", &(renamed.join("\n") + "\n"));
    let given = ["effect", "poly3", "--data", &data, "--weights", "weight", "--no-truth"];
    serde_json::from_str(&answer(&[&given[..], options].concat())).unwrap()
}

fn without_target(line: &str) -> String {
    let fields: Vec<&str> = line.split(',').collect();
    [&fields[..3], &fields[4..]].concat().join(",")
}

#[test]
fn every_estimator_may_be_asked_through_files() {
    let folder = Folder::new();
    let all: [&[&str]; 13] = [
        &["--estimator", "pdp", "--grid", "5"],
        &["--estimator", "ice", "--grid", "4", "--subsample", "20"],
        &["--estimator", "dpdp", "--grid", "5"],
        &["--estimator", "mplot", "--bins", "4"],
        &[
            "--estimator",
            "ale",
            "--binning",
            "quantile",
            "--center",
            "start",
            "--bins",
            "4",
            "--mean-prediction",
        ],
        &["--estimator", "dale", "--bins", "4", "--jacobian", "numeric"],
        // Of a feature whose derivative is constant, rounding would choose the automatic bins.
        &["--estimator", "rhale", "--feature", "x1", "--jacobian", "numeric"],
        &["--estimator", "shapdp", "--background", "7", "--grid", "5"],
        &["--estimator", "regional-pdp", "--grid", "5"],
        &["--estimator", "regional-ale", "--bins", "4"],
        &["--estimator", "regional-rhale", "--bins", "4", "--jacobian", "numeric"],
        &["--estimator", "regional-shapdp", "--background", "7"],
        &["--estimator", "ale", "--preset", "alibi-0.9"],
    ];
    for options in all {
        // Data of a scenario have other defaults.
        let estimator = options[1];
        let by_integral: &[&str] = match estimator {
            "dpdp" | "ale" => &[],
            _ => &["--center", "integral"],
        };
        let equal: &[&str] = match estimator {
            "dale" | "regional-ale" => &["--binning", "fixed"],
            _ => &[],
        };
        let options = [options, by_integral, equal].concat();
        let options = options.as_slice();
        // Where nothing else is said, a model asked through files has no derivatives of its own.
        let numeric: &[&str] = if options[1] == "dpdp" { &["--jacobian", "numeric"] } else { &[] };
        folder.plan(options);
        folder.ask(&[1.0]);
        let (here, there) = (folder.finished(), direct(&folder, &[options, numeric].concat()));
        let (here, there) = (numbers(&here), numbers(&there));
        assert_eq!(here.len(), there.len(), "{options:?}");
        for (a, b) in here.iter().zip(&there) {
            assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{options:?}: {a} against {b}");
        }
    }
}

#[test]
fn a_model_with_derivatives_is_asked_for_them() {
    let folder = Folder::new();
    let options = "--estimator dale --binning fixed --bins 4 --center integral --jacobian model";
    let options: Vec<&str> = options.split(' ').collect();
    folder.plan(&options);
    assert!(folder.read("query.csv").starts_with("length,width,height,derivative\n"));
    folder.ask(&[1.0]);
    let (here, there) = (numbers(&folder.finished()), numbers(&direct(&folder, &options)));
    assert_eq!(here.len(), there.len());
    assert!(here.iter().zip(&there).all(|(a, b)| (a - b).abs() <= 1e-9));
}

#[test]
fn features_have_the_names_of_their_columns_and_outputs_an_effect_each() {
    let folder = Folder::new();
    folder.plan(&["--estimator", "ale", "--bins", "3", "--feature", "width"]);
    folder.ask(&[1.0, -2.0]);
    let effects = folder.finished();
    let effects = effects.as_array().unwrap();
    assert_eq!(effects.len(), 2);
    assert_eq!((&effects[0]["feature"], &effects[0]["name"]), (&"x2".into(), &"width".into()));
    let (first, second) = (numbers(&effects[0]["effect"]), numbers(&effects[1]["effect"]));
    for (first, second) in first.iter().zip(second) {
        assert!((second + 2.0 * first).abs() < 1e-12);
    }
    assert!(effects[0]["scenario"].is_null());
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = Folder::new();
    let out = folder.path("query.csv");
    let data = folder.path("data.csv");
    let plan =
        |options: &[&str]| refusal(&[&["plan", "--data", &data, "--out", &out], options].concat());
    let message = plan(&["--estimator", "ale", "--axis", "scenario"]);
    assert!(message.contains("--axis scenario: there is no scenario"), "{message}");
    let message = plan(&["--estimator", "ale", "--feature", "depth"]);
    assert!(message.contains("feature `depth` does not exist"), "{message}");
    let message = plan(&["--estimator", "ale", "--weights", "wieght"]);
    assert!(message.contains("did you mean `weight`?"), "{message}");
    assert!(!std::path::Path::new(&out).exists(), "a file of questions was left behind");
    let broken = folder.write("broken.csv", "a,b\n1,2\n3,many\n");
    let message = refusal(&["plan", "--data", &broken, "--out", &out, "--estimator", "pdp"]);
    assert!(message.contains("row 2, column b: `many` is not a finite number"), "{message}");

    folder.plan(&["--estimator", "ale", "--bins", "3", "--feature", "1"]);
    folder.ask(&[1.0]);
    let good = folder.read("answers.csv");
    let lines: Vec<&str> = good.lines().collect();
    let rows = lines.len() - 1;
    folder.write("answers.csv", &(lines[..rows].join("\n") + "\n"));
    let message = folder.refused(&[]);
    assert!(message.contains(&format!("only {} rows", rows - 1)), "{message}");
    folder.write("answers.csv", &(good.clone() + "1\n"));
    assert!(folder.refused(&[]).contains("more predictions than"));
    folder.write("answers.csv", &good.replacen(lines[3], "nan", 1));
    let message = folder.refused(&[]);
    assert!(message.contains("row 3, column 1: `nan` is not a finite number"), "{message}");
    folder.write("answers.csv", &lines[1..].join("\n"));
    assert!(folder.refused(&[]).contains("the first line must name the outputs"));
    folder.write("answers.csv", &good);

    let questions = folder.read("query.csv");
    let line = questions.lines().nth(2).unwrap();
    folder.write("query.csv", &questions.replacen(line, "1,2,3", 1));
    assert!(folder.refused(&[]).contains("row 2 is not what is asked there"));
    folder.write("query.csv", &questions);

    let plan = folder.read("query.csv.plan.json");
    folder.write("query.csv.plan.json", &plan.replace("\"version\": 1", "\"version\": 9"));
    assert!(folder.refused(&[]).contains("layout 9 of plans"));
    folder.write("query.csv.plan.json", "no plan");
    assert!(folder.refused(&[]).contains("not a plan"));
    folder.write("query.csv.plan.json", &plan);
    let moved = folder.write("moved.csv", &folder.read("data.csv"));
    std::fs::remove_file(folder.path("data.csv")).unwrap();
    assert!(folder.refused(&[]).contains("data.csv"));
    assert!(folder.finish(&["--data", &moved]).status.success());
    let other = folder.write("moved.csv", &(folder.read("moved.csv") + "0,0,0,0,1\n"));
    assert!(folder.refused(&["--data", &other]).contains("not the data that the questions"));
}

/// Answers of two methods on three datasets each, one after the other: the second is off by as much as the dataset.
fn of_several(folder: &Folder) -> String {
    folder.ask(&[1.0]);
    let answers = folder.read("answers.csv");
    let mut text = "method,f,replicate\n".to_owned();
    for (method, replicate) in
        [("exact", 0), ("exact", 1), ("exact", 2), ("off", 0), ("off", 1), ("off", 2)]
    {
        for value in answers.lines().skip(1) {
            let factor = if method == "off" { 2.0 + f64::from(replicate) } else { 1.0 };
            writeln!(text, "{method},{},{replicate}", factor * value.parse::<f64>().unwrap())
                .unwrap();
        }
    }
    text
}

#[test]
fn answers_of_many_datasets_become_results() {
    let folder = Folder::new();
    folder.plan(&["--estimator", "ale", "--bins", "3"]);
    let answers = of_several(&folder);
    folder.write("answers.csv", &answers);
    let output = folder.finish(&["--format", "csv"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("method,replicate,N,feature,"), "{text}");
    let curves = folder.write("curves.csv", &text);
    // JSON says the same to `score`.
    let output = folder.finish(&["--format", "json"]);
    let objects = folder.write("curves.json", &String::from_utf8(output.stdout).unwrap());
    let asked = ["--scenario", "poly3", "--effect", "ale"];
    let scores = answer(&[&["score", &curves, "--format", "csv"], &asked[..]].concat());
    assert_eq!(scores, answer(&[&["score", &objects, "--format", "csv"], &asked[..]].concat()));
    let out = folder.path("results");
    answer(&[&["score", &curves, "--out", &out], &asked[..]].concat());
    let table =
        answer(&["table", &out, "--metric", "mse", "--where", "feature=x1", "--rows", "estimator"]);
    let of = |name: &str| table.lines().find(|line| line.contains(name)).unwrap().to_owned();
    // Three datasets each; the exact one has no spread.
    assert!(of("off").contains('\u{b1}'), "{table}");
    assert_eq!(of("exact").contains('\u{b1}'), of("exact").contains("\u{b1} 0"), "{table}");
    let cells = std::fs::read_to_string(folder.path("results/cells.csv")).unwrap();
    assert_eq!(cells.lines().filter(|line| line.contains(",mse,")).count(), 2 * 3 * 3);
    answer(&["report", &out, "--out", &folder.path("page.html")]);
    answer(&["compare", &out, &out]);

    // A dataset with questions of its own, and the estimator as its method.
    folder.ask(&[1.0]);
    let output = folder.finish(&["--format", "csv", "--replicate", "7"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("method,replicate,N,") && text.contains("\nale,7,60,"), "{text}");
    let output = folder.finish(&["--format", "csv", "--method", "forest"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("method,N,") && text.contains("\nforest,60,"), "{text}");
}

#[test]
fn answers_of_several_that_are_not_whole_are_refused() {
    let folder = Folder::new();
    folder.plan(&["--estimator", "ale", "--bins", "3", "--feature", "1"]);
    let answers = of_several(&folder);
    let lines: Vec<&str> = answers.lines().collect();
    let rows = (lines.len() - 1) / 6;
    let without = |place: usize| {
        let mut left = lines.clone();
        left.remove(place);
        left.join("\n") + "\n"
    };
    folder.write("answers.csv", &without(rows + 1));
    let message = folder.refused(&[]);
    assert!(message.contains(&format!("only {} rows of exact, 1", rows - 1)), "{message}");
    // The rows of a model again, and in two places.
    let again = lines[1..=rows].join("\n");
    folder.write("answers.csv", &format!("{answers}{again}\n"));
    assert!(folder.refused(&[]).contains("the rows of exact, 0 do not stand together"));
    folder.write("answers.csv", &answers.replacen(lines[rows + 3], "exact,many,1", 1));
    let message = folder.refused(&[]);
    assert!(message.contains(&format!("row {}, column 2: `many`", rows + 3)), "{message}");
    folder.write("answers.csv", &answers.replace(",2\n", ",second\n"));
    assert!(folder.refused(&[]).contains("replicate `second`: must be a whole number"));
    folder.write("answers.csv", &answers);
    let message = folder.refused(&["--method", "forest"]);
    assert!(message.contains("has a column `method`, which says it"), "{message}");
}

#[test]
fn flags_of_the_program_are_no_part_of_a_plan() {
    let folder = Folder::new();
    let (data, out) = (folder.path("data.csv"), folder.path("query.csv"));
    let plan = ["plan", "--data", &data, "--weights", "weight", "--target", "y", "--out", &out];
    let plan = [&plan[..], &["--estimator", "ale", "--feature", "1"]].concat();
    for quiet in [[&["-q"], &plan[..]].concat(), [&plan[..], &["--quiet"]].concat()] {
        answer(&quiet);
        folder.ask(&[1.0]);
        assert_eq!(folder.finished().as_array().unwrap().len(), 1);
    }
}
