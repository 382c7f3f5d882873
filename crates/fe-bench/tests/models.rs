//! Effects of models of data, as a user gets them: a CSV file in, effects out, without a scenario.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

use serde_json::Value;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fe-models/tests/stored");

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

/// Standard output and standard error of a call that must succeed.
fn answer(arguments: &[&str]) -> (String, String) {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {message}");
    (String::from_utf8(output.stdout).unwrap(), message)
}

/// The message of a call that must end with status 2 and print nothing on standard output.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    message
}

fn json(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// price = 3 size − 2 age + 5 exactly; town is no number.
    fn houses(&self) -> String {
        let row = |i: u32| {
            let (size, age) = (f64::from(i * 7 % 40), f64::from(i * 11 % 40) / 4.0);
            let town = if i.is_multiple_of(2) { "north" } else { "south" };
            format!("{size},{age},{},{town}\n", 3.0 * size - 2.0 * age + 5.0)
        };
        let rows: String = (0..40).map(row).collect();
        self.write("houses.csv", &format!("size,age,price,town\n{rows}"))
    }
}

#[test]
fn a_linear_model_of_a_file_has_linear_effects_under_the_names_of_its_columns() {
    let files = Files::new();
    let houses = files.houses();
    let common = ["effect", "--data", &houses, "--target", "price", "--ignore", "town"];
    let of_model = ["--model", "linear", "--estimator", "rhale", "--format", "csv", "--grid", "3"];
    let (text, message) = answer(&[&common[..], &of_model].concat());
    assert!(message.contains("linear, train, 40 rows: R² 1.0000"), "{message}");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("feature,output,x,effect,heterogeneity"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows.iter().map(|row| row[0]).collect::<Vec<_>>(),
        ["size", "size", "size", "age", "age", "age"]
    );
    for (name, slope) in [("size", 3.0), ("age", -2.0)] {
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter(|row| row[0] == name)
            .map(|row| (row[2].parse().unwrap(), row[3].parse().unwrap()))
            .collect();
        let got = (points[2].1 - points[0].1) / (points[2].0 - points[0].0);
        assert!((got - slope).abs() < 1e-9, "{name}: {got}");
    }
}

#[test]
fn features_are_chosen_by_name_and_the_json_says_which_model_it_was() {
    let files = Files::new();
    let houses = files.houses();
    let (text, message) = answer(&[
        "effect",
        "--data",
        &houses,
        "--target",
        "price",
        "--ignore",
        "town",
        "--model",
        "mlp",
        "--set",
        "epochs=5",
        "--set",
        "hidden=4",
        "--test",
        "0.25",
        "--estimator",
        "ale",
        "--feature",
        "age",
    ]);
    assert!(message.contains("train, 30 rows") && message.contains("test, 10 rows"), "{message}");
    let effects = json(&text);
    assert_eq!(effects.len(), 1);
    let effect = &effects[0];
    assert_eq!((&effect["name"], &effect["output_name"]), (&"age".into(), &"price".into()));
    assert_eq!(effect["model"]["model"], "mlp");
    assert!(effect["model"]["options"].as_str().unwrap().contains("hidden=4;"));
    assert!(effect["model"]["test"]["quality"]["rmse"].as_f64().unwrap() > 0.0);
    assert!(effect["scenario"].is_null());
}

#[test]
fn the_same_call_prints_the_same_and_another_seed_does_not() {
    let files = Files::new();
    let houses = files.houses();
    let of_seed = |seed: &str| {
        answer(&[
            "effect",
            "--data",
            &houses,
            "--target",
            "price",
            "--ignore",
            "town",
            "--model",
            "mlp",
            "--set",
            "epochs=3",
            "--set",
            "hidden=4",
            "--model-seed",
            seed,
            "--estimator",
            "rhale",
        ])
        .0
    };
    assert_eq!(of_seed("1"), of_seed("1"));
    assert_ne!(of_seed("1"), of_seed("2"));
}

/// The rows of the stored models, with columns that these know and others.
fn stored_rows(files: &Files) -> String {
    let text = std::fs::read_to_string(format!("{STORED}/predictions.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let mut csv = "depth,width,extra,height\n".to_owned();
    for row in recorded["rows"].as_array().unwrap() {
        let x = numbers(row);
        csv += &format!("{},{},0,{}\n", x[2], x[0], x[1]);
    }
    files.write("rows.csv", &csv)
}

#[test]
fn stored_models_find_their_features_by_name() {
    let files = Files::new();
    let rows = stored_rows(&files);
    for (model, outputs) in [("xgboost.json", 1), ("lightgbm.txt", 1), ("lightgbm-three.txt", 3)] {
        let model = format!("{STORED}/{model}");
        let (text, _) = answer(&[
            "effect",
            "--data",
            &rows,
            "--model",
            &model,
            "--estimator",
            "pdp",
            "--feature",
            "height",
        ]);
        let effects = json(&text);
        assert_eq!(effects.len(), outputs, "{model}");
        assert_eq!((&effects[0]["feature"], &effects[0]["name"]), (&"x2".into(), &"height".into()));
    }
    // Models without names take the columns as they come: one too many here.
    let linear = format!("{STORED}/forest.onnx");
    let message = refusal(&["effect", "--data", &rows, "--model", &linear, "--estimator", "pdp"]);
    assert!(message.contains("the model takes 3 features and the data have 4"), "{message}");
    let few = files.write("few.csv", "width,height\n1,2\n3,4\n");
    let model = format!("{STORED}/xgboost.json");
    let message = refusal(&["effect", "--data", &few, "--model", &model, "--estimator", "pdp"]);
    assert!(message.contains("the model takes a feature `depth`"), "{message}");
}

#[test]
fn classes_have_a_curve_each_and_the_curves_sum_to_zero() {
    let files = Files::new();
    let rows = stored_rows(&files);
    let model = format!("{STORED}/logistic-map.onnx");
    let (text, _) = answer(&[
        "effect",
        "--data",
        &rows,
        "--model",
        &model,
        "--ignore",
        "extra",
        "--estimator",
        "ale",
        "--feature",
        "width",
    ]);
    let effects = json(&text);
    assert_eq!(effects.len(), 3);
    let curves: Vec<Vec<f64>> = effects.iter().map(|effect| numbers(&effect["effect"])).collect();
    for point in 0..curves[0].len() {
        let sum: f64 = curves.iter().map(|curve| curve[point]).sum();
        assert!(sum.abs() < 1e-12, "{sum}");
    }
}

/// ALIBI's example: alibi's ALE of scikit-learn's fit, and ours with its conventions.
#[test]
fn the_effects_on_the_irises_are_those_of_alibi_and_sum_to_zero() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/iris.csv");
    let common = ["effect", "--data", data, "--target", "species", "--model", "logistic"];
    let asked = ["--estimator", "ale", "--preset", "alibi-0.9", "--format", "csv"];
    let (text, message) = answer(&[&common[..], &asked].concat());
    assert!(message.contains("logistic, train, 150 rows: accuracy 0.97"), "{message}");
    let ours: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let theirs: Vec<Vec<&str>> =
        include_str!("fixtures/alibi-iris.csv").lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(ours.len(), theirs.len());
    let number = |field: &str| field.parse::<f64>().unwrap();
    let mut sums = std::collections::BTreeMap::new();
    for (mine, other) in ours.iter().zip(&theirs).skip(1) {
        assert_eq!((mine[0], mine[1]), (other[0], other[1]));
        assert!((number(mine[2]) - number(other[2])).abs() < 1e-12, "{mine:?} {other:?}");
        assert!((number(mine[3]) - number(other[3])).abs() < 1e-8, "{mine:?} {other:?}");
        *sums.entry((mine[0], mine[2])).or_insert(0.0) += number(mine[3]);
    }
    assert_eq!(sums.len(), (ours.len() - 1) / 3);
    assert!(sums.values().all(|sum| sum.abs() < 1e-12), "{sums:?}");
}

#[test]
fn effects_are_drawn_without_any_truth() {
    let files = Files::new();
    let houses = files.houses();
    for (estimator, words) in [("rhale", "local effects"), ("regional-pdp", "regions")] {
        let svg = files.path(&format!("{estimator}.svg"));
        answer(&[
            "effect",
            "--data",
            &houses,
            "--target",
            "price",
            "--ignore",
            "town",
            "--model",
            "mlp",
            "--set",
            "epochs=3",
            "--estimator",
            estimator,
            "--plot",
            &svg,
            "--feature",
            "all",
        ]);
        let picture = std::fs::read_to_string(&svg).unwrap();
        assert!(picture.contains("houses.csv, neural network"), "{estimator}");
        assert!(picture.contains("size") && picture.contains("age"));
        assert!(estimator != "rhale" || picture.contains(words));
        assert!(!picture.contains("truth"));
    }
}

#[test]
fn derivatives_are_not_made_up() {
    let files = Files::new();
    let rows = stored_rows(&files);
    let model = format!("{STORED}/xgboost.json");
    let asked = ["effect", "--data", &rows, "--model", &model, "--feature", "width", "--estimator"];
    for estimator in ["rhale", "dale", "dpdp", "regional-rhale"] {
        let message = refusal(&[&asked[..], &[estimator]].concat());
        assert!(message.contains("rows.csv, xgboost.json has none"), "{message}");
    }
    // Differences of trees are those of steps.
    let message = refusal(&[&asked[..], &["dale", "--jacobian", "numeric"]].concat());
    assert!(
        message.contains("central differences along width") && message.contains("`ale`"),
        "{message}"
    );
}

#[test]
fn preparation_leaves_out_what_it_is_told_to() {
    let files = Files::new();
    let mut text = "a,b,y\n".to_owned();
    for i in 0..60 {
        text += &format!("{},{},{}\n", i % 10, i % 7, i % 10 + 2 * (i % 7));
    }
    let gaps = files.write("gaps.csv", &(text.clone() + ",1,2\n3,NA,4\n"));
    let model = ["--model", "linear", "--target", "y", "--estimator", "ale"];
    let message =
        refusal(&[&["effect", "--data", &gaps, "--missing", "refuse"][..], &model].concat());
    assert!(
        message.contains("row 61, column a: the value is missing; --missing drop"),
        "{message}"
    );
    let (_, message) =
        answer(&[&["effect", "--data", &gaps, "--missing", "drop"][..], &model].concat());
    assert!(message.contains("left out: 2 rows with missing values, 0 outliers\n"), "{message}");
    // A fit is one of complete rows, if nothing else is asked for, and says so.
    let (out, message) = answer(&[&["effect", "--data", &gaps][..], &model].concat());
    let said = "left out: 2 rows with missing values, 0 outliers; --missing refuse stops at them";
    assert!(message.contains(said), "{message}");
    assert_eq!(
        json(&out)[0]["model"]["left_out"],
        serde_json::json!({ "missing_values": 2, "outliers": 0 })
    );
    let far = files.write("far.csv", &(text + "1000,1,2\n"));
    let (out, message) = answer(
        &[&["effect", "--data", &far, "--outliers", "3", "--standardize"][..], &model].concat(),
    );
    assert!(message.contains("left out: 0 rows with missing values, 1 outliers"), "{message}");
    // 0 … 9 equally often: mean 4.5 and variance 8.25.
    let x = numbers(&json(&out)[0]["x"]);
    assert!((x[0] + 4.5 / 8.25_f64.sqrt()).abs() < 1e-12, "{}", x[0]);
}

#[test]
fn bad_files_and_arguments_are_named() {
    let files = Files::new();
    let houses = files.houses();
    let ask = |path: &str, extra: &[&str]| {
        refusal(&[&["effect", "--data", path, "--estimator", "ale"][..], extra].concat())
    };
    let linear = ["--model", "linear", "--target", "price"];
    let message = ask(&houses, &[&linear[..], &["--kind", "town=continuous"]].concat());
    assert!(message.contains("row 1, column town: `north` is not a finite number"), "{message}");
    let message = ask(&houses, &["--model", "linear", "--target", "prise"]);
    assert!(
        message.contains("no column `prise`") && message.contains("did you mean `price`"),
        "{message}"
    );
    let message = ask(&houses, &["--model", "linear", "--ignore", "town"]);
    assert!(message.contains("--model linear needs --target"), "{message}");
    let message = ask(&houses, &["--model", "liner", "--target", "price", "--ignore", "town"]);
    assert!(message.contains("did you mean `linear`"), "{message}");
    let message = ask(
        &houses,
        &["--model", "mlp", "--target", "price", "--ignore", "town", "--set", "epoch=3"],
    );
    assert!(message.contains("did you mean `epochs`"), "{message}");
    let message = ask(&houses, &["--model", "linear", "--target", "town"]);
    assert!(message.contains("column town: `linear` needs a target of numbers"), "{message}");
    let message = ask(
        &houses,
        &["--model", "linear", "--target", "price", "--ignore", "town", "--feature", "sise"],
    );
    assert!(message.contains("did you mean `size`"), "{message}");
    for (text, expected) in [
        ("a,y\n1,3\n2,3\n4,3\n", "the target is 3 in every row"),
        ("a,y\n1,3\n", "number of rows with positive weight: 1;"),
        ("a,y\n", "there are no rows"),
        ("", "there is no header"),
        ("a,y\n1,3\ninf,4\n", "row 2, column a: `inf` is not a finite number"),
        ("a,y\n1,3\n2,-inf\n", "row 2, column y: `-inf` is not a finite number"),
        ("a,y\n1,3\n2\n", "row 2: 1 field, and the header has 2"),
        ("y\n1\n2\n", "no column of a feature"),
        // Numbers with a comma are no words, neither as levels nor as classes.
        (
            "a;y\n1,5;3\n2,5;4\n",
            "row 1, column a: `1,5` is not a finite number: numbers have a point",
        ),
        (
            "a;y\n1;3,5\n2;204,5\n",
            "row 1, column y: `3,5` is not a finite number: numbers have a point",
        ),
        (
            "a;y\n1;3\n2;4,5\n",
            "row 2, column y: `4,5` is not a finite number: numbers have a point",
        ),
        ("a|y\n1|3\n", "no column `y`: there is only a|y; columns are separated by commas"),
        ("a,a,y\n1,2,3\n2,3,4\n", "two columns are called a"),
    ] {
        let path = files.write("bad.csv", text);
        let message = ask(&path, &["--model", "linear", "--target", "y"]);
        assert!(message.contains(expected), "{text:?}: {message}");
    }
    let both = ask(&houses, &["--model", "linear", "--target", "price", "--weights", "price"]);
    assert!(both.contains("price is named as target and as weights"), "{both}");
    let few = files.write("few.csv", "a,y\n1,3\n2,4\n");
    let none = ask(&few, &["--model", "linear", "--target", "y", "--test", "0.9"]);
    assert!(none.contains("of 2 rows none is left"), "{none}");
    let wrong = files.write("wrong.onnx", "not a model");
    let message = ask(&houses, &["--model", &wrong, "--target", "price", "--ignore", "town"]);
    assert!(message.contains("wrong.onnx: not a model in ONNX"), "{message}");
    let message =
        ask(&houses, &["--model", "absent.onnx", "--target", "price", "--ignore", "town"]);
    assert!(message.contains("absent.onnx"), "{message}");
    assert!(refusal(&["effect", "--data", &houses, "--estimator", "ale"]).contains("SCENARIO"));
    let message = ask(&houses, &["friedman1", "--model", "linear"]);
    assert!(message.contains("cannot be used with"), "{message}");
}

#[test]
fn bins_of_few_rows_agree_with_dense_bins_as_well_as_their_number_allows() {
    let files = Files::new();
    // The network is as good as linear: all bins have the same effect.
    let houses = files.houses();
    let (text, _) = answer(&[
        "agree",
        "--data",
        &houses,
        "--target",
        "price",
        "--ignore",
        "town",
        "--model",
        "linear",
        "--n",
        "20",
        "--runs",
        "3",
        "--bins",
        "2,4",
        "--reference-bins",
        "8",
        "--format",
        "csv",
    ]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "feature,estimator,K,runs,bins,L_mu,L_mu_se,L_sigma,L_sigma_se");
    assert_eq!(lines.len(), 1 + 2 * 3);
    for line in &lines[1..] {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[3], "3");
        let l_mu: f64 = fields[5].parse().unwrap();
        assert!(l_mu.abs() < 1e-9, "{line}");
    }
}

#[test]
fn agreement_is_that_of_the_bins_of_dale() {
    let files = Files::new();
    let houses = files.houses();
    let model = ["--target", "price", "--ignore", "town", "--model", "mlp", "--set", "epochs=9"];
    let common = [&["--data", &houses, "--feature", "age"][..], &model].concat();
    let bins = |k: &str| {
        let dale = ["effect", "--estimator", "dale", "--bins", k];
        numbers(&json(&answer(&[&dale[..], &common].concat()).0)[0]["bin_effect"])
    };
    // Three bins hold 13, 14 and 13 rows: their mean is not that of the rows.
    let (one, three) = (bins("1"), bins("3"));
    let expected = (one[0] - three.iter().sum::<f64>() / 3.0).abs();
    assert!(expected > 1e-6, "{one:?} {three:?}");
    let all = ["agree", "--n", "40", "--runs", "1", "--bins", "1", "--reference-bins", "3"];
    let (text, _) = answer(&[&all[..], &common, &["--format", "csv"]].concat());
    let line = text.lines().find(|line| line.starts_with("age,dale,1,")).unwrap();
    let got: f64 = line.split(',').nth(5).unwrap().parse().unwrap();
    assert!((got - expected).abs() < 1e-9, "{got} {expected}");

    let message = refusal(&[&["agree", "--n", "41"][..], &common].concat());
    assert!(message.contains("--n 41: subsets of 40 rows have no more"), "{message}");
    let iris = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/iris.csv");
    let message = refusal(&["agree", "--data", iris, "--target", "species", "--model", "logistic"]);
    assert!(message.contains("a model of one output is needed"), "{message}");
}

const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tables");

/// The effects of all features of the shop, a table in some format, of trees that are fitted to it.
const SHOP: [&str; 12] = [
    "--target",
    "price",
    "--model",
    "gbdt",
    "--estimator",
    "ale",
    "--missing",
    "keep",
    "--kind",
    "day=date,time=date",
    "--format",
    "json",
];

fn shop(path: &str, more: &[&str]) -> (String, String) {
    answer(&[&["effect", "--data", path][..], &SHOP, more].concat())
}

#[test]
fn tables_of_all_formats_say_the_same() {
    use std::io::Write;
    let files = Files::new();
    let plain = format!("{TABLES}/shop.csv");
    let text = std::fs::read_to_string(&plain).unwrap();
    let (expected, message) = shop(&plain, &[]);
    assert!(!message.contains("separated"), "{message}");
    for (name, separator, said) in
        [("semicolons.csv", ";", "separated by `;`"), ("tabs.tsv", "\t", "separated by `tab`")]
    {
        let (found, message) = shop(&files.write(name, &text.replace(',', separator)), &[]);
        assert!(found == expected && message.contains(said), "{name}: {message}");
    }
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(text.as_bytes()).unwrap();
    let path = files.path("shop.csv.gz");
    std::fs::write(&path, zipped.finish().unwrap()).unwrap();
    assert_eq!(shop(&path, &[]).0, expected);
    for name in ["shop.parquet", "shop.feather"] {
        let path = format!("{TABLES}/{name}");
        assert_eq!(shop(&path, &["--ignore", "tags"]).0, expected, "{name}");
        let message = refusal(&[&["effect", "--data", &path][..], &SHOP].concat());
        assert!(message.contains("column tags") && message.contains("--ignore tags"), "{message}");
        // Cut off, it is no table, and nothing panics.
        let whole = std::fs::read(&path).unwrap();
        for len in [5, 100, whole.len() / 2, whole.len() - 1] {
            let cut = files.path("cut");
            std::fs::write(&cut, &whole[..len]).unwrap();
            refusal(&[&["effect", "--data", &cut][..], &SHOP].concat());
        }
    }
}

/// Not that a model has none, and how to take differences, which would be refused as well.
#[test]
fn derivatives_along_levels_are_refused_as_such() {
    let plain = format!("{TABLES}/shop.csv");
    let asked = |estimator: &str, feature: &str| {
        let own = ["--target", "price", "--model", "gbdt", "--missing", "drop"];
        let question = ["--estimator", estimator, "--feature", feature];
        refusal(&[&["effect", "--data", &plain][..], &own, &question].concat())
    };
    for estimator in ["rhale", "dale", "dpdp", "regional-rhale"] {
        let message = asked(estimator, "colour");
        assert!(message.contains("is made of derivatives, and colour"), "{message}");
        let message = asked(estimator, "count");
        assert!(message.contains("needs derivatives") && message.contains("numeric"), "{message}");
    }
}

/// What is declared is not reserved before it is known that it can be: no memory has that much.
#[test]
fn arrow_files_that_declare_what_they_cannot_hold_are_refused() {
    let files = Files::new();
    let whole = std::fs::read(format!("{TABLES}/shop.feather")).unwrap();
    let refused = |bytes: &[u8], words: &str| {
        let path = files.path("damaged.feather");
        std::fs::write(&path, bytes).unwrap();
        let message =
            refusal(&[&["effect", "--data", &path, "--ignore", "tags"][..], &SHOP].concat());
        assert!(message.contains("the file is damaged") && message.contains(words), "{message}");
    };
    let lz4 = [0x04, 0x22, 0x4d, 0x18];
    let starts = (8..whole.len()).filter(|&at| whole[at..].starts_with(&lz4));
    let starts: Vec<usize> = starts.collect();
    assert!(starts.len() > 10, "{}", starts.len());
    for &start in starts.iter().step_by(5) {
        let mut bytes = whole.clone();
        bytes[start - 8..start].copy_from_slice(&(1_i64 << 40).to_le_bytes());
        refused(&bytes, "1099511627776 before compression");
    }
    // The length of the footer.
    let mut bytes = whole.clone();
    let end = bytes.len() - 10;
    bytes[end..end + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    refused(&bytes, "more bytes than it has");
}

#[test]
fn standard_input_is_a_file() {
    let from = |path: &str, command: &str| {
        let mut all = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        all.args([command, "--data", "-"]).stdin(std::fs::File::open(path).unwrap());
        all
    };
    let plain = format!("{TABLES}/shop.csv");
    let output = from(&plain, "effect").args(SHOP).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    // The title alone has the name of the file, and it is in figures only.
    assert_eq!(String::from_utf8_lossy(&output.stdout), shop(&plain, &[]).0, "{message}");
    let output = from(&format!("{TABLES}/shop.parquet"), "effect").args(SHOP).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && message.contains("from their end"), "{message}");
    let plan = ["--estimator", "pdp", "--feature", "count", "--out", "query.csv"];
    let output = from(&plain, "plan").args(plan).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && message.contains("`finish` reads"), "{message}");
}

#[test]
fn missing_values_are_kept_for_models_that_take_them() {
    let plain = format!("{TABLES}/shop.csv");
    let (out, message) = shop(&plain, &[]);
    assert!(message.contains("width: 1 rows without a value of it are left out"), "{message}");
    for effect in json(&out) {
        let has_gap = effect["name"] == "width" || effect["name"] == "colour";
        let record = &effect["record"];
        assert_eq!(record["rows"], 24 - i32::from(has_gap), "{}", effect["name"]);
        assert_eq!(record["rows_without_value"].as_u64(), has_gap.then_some(1));
    }
    let asked = |more: &[&str]| {
        let base = ["effect", "--data", &plain, "--target", "price", "--ignore", "day,time"];
        refusal(&[&base[..], more].concat())
    };
    let message = asked(&["--model", "gbdt", "--estimator", "ale", "--missing", "refuse"]);
    assert!(message.contains("row 4, column width: the value is missing; --missing"), "{message}");
    let message = asked(&["--model", "linear", "--estimator", "ale", "--missing", "keep"]);
    assert!(message.contains("`linear` takes no missing values, as width has"), "{message}");
    let regional = ["--model", "gbdt", "--estimator", "regional-pdp", "--missing", "keep"];
    let message = asked(&[&regional[..], &["--feature", "count"]].concat());
    assert!(message.contains("width has no value in 1 row: "), "{message}");
    assert!(message.contains("leave these rows out, by --missing drop"), "{message}");
    // A feature without any value stops its own effect.
    let files = Files::new();
    let gaps = files.write("gaps.csv", "a,b,y\n1,,1\n2,NA,3\n3,,2\n4,?,5\n");
    let base =
        ["effect", "--data", &gaps, "--target", "y", "--model", "gbdt", "--estimator", "pdp"];
    let (out, message) = answer(&[&base[..], &["--missing", "keep"]].concat());
    assert!(message.contains("left out: feature b has no value in any row"), "{message}");
    assert_eq!(json(&out).len(), 1);
}

/// Words have the codes that a stored model knows them by, whatever their order in the data.
#[test]
fn stored_models_know_words_by_their_own_codes() {
    let files = Files::new();
    let rows =
        [("yellow", 0.5, 1.0), ("blue", -0.25, 0.0), ("red", 1.5, -1.0), ("yellow", 0.0, 2.0)];
    let code = |word: &str| match word {
        "blue" => 0,
        "red" => 2,
        _ => 4,
    };
    let table = |word: &dyn Fn(&str) -> String| {
        let rows = rows.iter().map(|(colour, w, d)| format!("{},{w},{d}\n", word(colour)));
        format!("colour,width,depth\n{}2,,1\n", rows.collect::<String>())
    };
    let words = table(&|word| word.to_owned()).replace("2,,1", "red,,1");
    let (words, codes) = (
        files.write("words.csv", &words),
        files.write("codes.csv", &table(&|w| code(w).to_string())),
    );
    for model in ["categories-words.json", "categories-words.ubj", "categories-words.txt"] {
        let model = format!("{STORED}/{model}");
        let ask = |path: &str, more: &[&str]| {
            let base = ["effect", "--data", path, "--model", &model, "--estimator", "ale"];
            let more = [&["--missing", "keep", "--feature", "colour"][..], more].concat();
            let (out, message) = answer(&[&base[..], &more].concat());
            assert!(!message.contains("is asked with"), "{message}");
            numbers(&json(&out)[0]["effect"])
        };
        let by_code = ask(&codes, &["--kind", "colour=nominal"]);
        assert_eq!(ask(&words, &[]), by_code, "{model}");
    }
    let text = std::fs::read_to_string(&words).unwrap().replace("yellow", "purple");
    let unknown = files.write("unknown.csv", &text);
    let model = format!("{STORED}/categories-words.json");
    let asked = ["effect", "--data", &unknown, "--model", &model, "--estimator", "ale"];
    let message = refusal(&[&asked[..], &["--missing", "keep"]].concat());
    assert!(message.contains("colour: the model does not know `purple`"), "{message}");
}

/// Of effects of all kinds and of indices: told by the trees, or asked for with `--brute`; nothing of a model without structure.
#[test]
fn answers_say_whether_trees_told_them() {
    let files = Files::new();
    let houses = files.houses();
    let common =
        ["effect", "--data", &houses, "--target", "price", "--ignore", "town", "--format", "json"];
    let said = |model: &str, more: &[&str]| -> Vec<Value> {
        let (text, _) = answer(&[&common[..], &["--model", model], more].concat());
        let of = |line: &Value| match &line["record"] {
            Value::Null => line["by_structure"].clone(),
            record => record["by_structure"].clone(),
        };
        json(&text).iter().map(of).collect()
    };
    for question in [
        &["--estimator", "ale", "--bins", "5"][..],
        &["--estimator", "pdp", "--feature", "size:age"],
        &["--estimator", "ale", "--feature", "size:age", "--bins", "3"],
        &["--estimator", "regional-pdp"],
        &["--indices", "h2.pair,ale.sd"],
    ] {
        for (model, brute, known) in [
            ("gbdt", &[][..], Value::Bool(true)),
            ("gbdt", &["--brute"], Value::Bool(false)),
            ("linear", &[], Value::Null),
        ] {
            let said = said(model, &[question, brute].concat());
            assert!(!said.is_empty());
            assert!(said.iter().all(|said| *said == known), "{question:?} of {model}: {said:?}");
        }
    }
    assert_eq!(said("gbdt", &["--indices", "sobol.total"]), [false, false]);
    let (text, _) =
        answer(&[&common[..8], &["csv", "--model", "gbdt", "--indices", "h2.pair"]].concat());
    assert!(text.lines().next().unwrap().ends_with("rows,by_structure,refused"), "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with(",true,"), "{text}");
}
