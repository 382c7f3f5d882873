//! Study files: grids, limits, and what they expand to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

fn program(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn answer(arguments: &[&str], folder: &Path) -> String {
    let output = program(arguments, folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A table by column.
struct OutputTable(Vec<Vec<String>>);

impl OutputTable {
    fn new(text: &str) -> Self {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let records = reader.records();
        Self(records.map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect())
    }

    fn read(folder: &Path, file: &str) -> Self {
        Self::new(&std::fs::read_to_string(folder.join("out").join(file)).unwrap())
    }

    fn column(&self, name: &str) -> Vec<String> {
        let place = self.0[0].iter().position(|column| column == name).unwrap();
        self.0[1..].iter().map(|row| row[place].clone()).collect()
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.column(name).iter().map(|text| text.parse().unwrap()).collect()
    }
}

/// Runs a study of one block into `out`.
fn run(block: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("about = \"a\"\n[[block]]\nreplicates = 1\n{block}");
    std::fs::write(folder.path().join("study.toml"), text).unwrap();
    answer(&["run", "study.toml", "--out", "out"], folder.path());
    folder
}

#[test]
fn the_grid_of_heiss_et_al_is_grid_and_bins() {
    let folder = run(r#"
scenario = "snc"
N = 3000
features = ["x1"]
metrics = ["mse", "L_mu"]
keep = ["curves", "bins"]
grid = { quantiles = 100, from = 1e-4, to = 0.9999, drop_ends = true }
[[block.estimator]]
name = "ale"
preset = "heiss-2026"
limits = "grid"
"#);
    let curves = OutputTable::read(folder.path(), "curves.csv");
    let (x, error) = (curves.numbers("x"), curves.numbers("truth_abs_error"));
    // Standard normal quantiles at 1e-4, and at the second of 100 probabilities.
    let (first, second) = (-3.719_016_485_455_709, -2.318_945_717_701_341_7);
    assert_eq!(x.len(), 98);
    assert!((x[0] - second).abs() < 1e-12 && (x[97] + second).abs() < 1e-12, "{x:?}");
    assert!(error.iter().all(|&error| error < 1e-9));
    let bins = OutputTable::read(folder.path(), "bins.csv");
    assert_eq!(bins.column("bin").len(), 99);
    assert!((bins.numbers("z_lo")[0] - first).abs() < 1e-9);
    assert_eq!(bins.numbers("z_lo")[1], x[0]);
    let cells = OutputTable::read(folder.path(), "cells.csv");
    assert_eq!(cells.column("binning")[0], "grid(limits=grid)");
    assert_eq!(cells.column("K")[0], "99");
    assert!(cells.column("options")[0].contains("compared_on=quantiles 100 0.0001 0.9999 without"));
    // The files say what the values are made of.
    let mean = |a: Vec<f64>, b: Vec<f64>, power: i32| {
        let sum: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).abs().powi(power)).sum();
        sum / a.len() as f64
    };
    let values = cells.numbers("value");
    let mse = mean(curves.numbers("effect"), curves.numbers("truth"), 2);
    let l_mu = mean(bins.numbers("effect"), bins.numbers("true_effect"), 1);
    assert!((mse / values[0] - 1.0).abs() < 1e-12 && (l_mu / values[1] - 1.0).abs() < 1e-12);
    assert_eq!(bins.numbers("count").iter().sum::<f64>(), 3000.0 - outside(&folder));
}

/// Rows of the dataset beyond the outermost quantiles.
fn outside(folder: &tempfile::TempDir) -> f64 {
    let sample = answer(&["sample", "snc", "--n", "3000", "--seed", "0"], folder.path());
    let x1 = OutputTable::new(&sample).numbers("x1");
    x1.iter().filter(|x| x.abs() > 3.719_016_485_455_709).count() as f64
}

#[test]
fn limits_and_axis_by_quantiles_of_the_law() {
    let folder = run(r#"
scenario = "liu-product"
set = { mu1 = 2, sigma1 = 3 }
N = 100
features = ["x1"]
grid = [{ points = 5, drop_ends = true }, 7]
metrics = ["mse", "bins"]
keep = ["bins"]
[[block.estimator]]
name = "dale"
limits = { quantiles = 3, from = 0.25, to = 0.75 }
[[block.estimator]]
name = "ale"
bins = 1
axis = "law:0.25,0.75"
"#);
    let bins = OutputTable::read(folder.path(), "bins.csv");
    // Quartiles of N(2, 3²).
    let (lo, hi) = (2.0 - 3.0 * 0.674_489_750_196_082, 2.0 + 3.0 * 0.674_489_750_196_082);
    for (column, expected) in [("z_lo", [lo, 2.0, lo]), ("z_hi", [2.0, hi, hi])] {
        let found = bins.numbers(column);
        assert_eq!(found.len(), 6);
        for (found, expected) in found.iter().zip(expected.iter().cycle()) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
    let cells = OutputTable::read(folder.path(), "cells.csv");
    assert_eq!(cells.column("binning")[0], "grid(limits=quantiles 3 0.25 0.75)");
    assert!(cells.column("options")[2].contains("axis=law:0.25 0.75"));
    assert!(cells.column("options")[0].contains("compared_on=5 without ends"));
    assert!(cells.column("options")[4].contains("compared_on=7"));
}

#[test]
fn heterogeneity_approaches_its_truth() {
    let error = |n: &str| {
        let folder = run(&format!(
            r#"
scenario = "liu-product"
set = {{ rho = 0 }}
N = {n}
features = ["x1"]
metrics = ["heterogeneity_mse", "coverage", "width"]
[[block.estimator]]
name = "pdp"
band = "analytic"
[[block.estimator]]
name = "dpdp"
[[block.estimator]]
name = "dale"
bins = 5
axis = [-2, 2]
[[block.estimator]]
name = "mplot"
[[block.estimator]]
name = "ale"
bins = 5
axis = [-2, 2]
"#
        ));
        let cells = OutputTable::read(folder.path(), "cells.csv");
        let (values, status) = (cells.column("value"), cells.column("status"));
        // What has no truth, or no band, says so.
        assert!(status[9].contains("has no true curve"), "{status:?}");
        for i in [4, 5, 7, 8, 10, 11, 13, 14] {
            assert!(status[i].contains("no confidence band"), "{status:?}");
        }
        [0, 3, 6, 12].map(|i| values[i].parse::<f64>().unwrap())
    };
    let (few, many) = (error("100"), error("40000"));
    for (few, many) in few.iter().zip(many) {
        // Errors squared fall as 1/N: 400 times, give or take chance.
        assert!(many < few / 20.0 || many < 1e-4, "{few} {many}");
    }
}

#[test]
fn the_expected_cost_is_what_is_asked_of_the_model() {
    let block = r#"
scenario = "friedman1"
N = [30, 70]
features = ["x1", "x4"]
metrics = ["mse"]
grid = { points = 11, drop_ends = true }
[[block.estimator]]
name = "pdp"
grid = [2, 6]
[[block.estimator]]
name = "dpdp"
jacobian = ["auto", "numeric"]
[[block.estimator]]
name = "ale"
[[block.estimator]]
name = "rhale"
[[block.estimator]]
name = "shapdp"
background = 7
[[block.estimator]]
name = "shapdp"
background = 7
permutations = 2
"#;
    let folder = run(block);
    let list = program(&["list", "study.toml", "--format", "csv"], folder.path());
    let listed = OutputTable::new(std::str::from_utf8(&list.stdout).unwrap());
    let cells = OutputTable::read(folder.path(), "cells.csv");
    let by = |sheet: &OutputTable| {
        let keys = ["feature", "estimator", "options", "N", "model_rows"];
        let columns = keys.map(|key| sheet.column(key));
        let mut rows: Vec<Vec<String>> = (0..columns[0].len())
            .map(|row| columns.iter().map(|column| column[row].clone()).collect())
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(by(&listed), by(&cells));
    let message = String::from_utf8(list.stderr).unwrap();
    assert!(message.contains("model rows") && message.contains("run --dry-run"), "{message}");
    // The forecast of a run counts the same.
    let dry = program(&["run", "study.toml", "--dry-run", "--format", "csv"], folder.path());
    let forecast = OutputTable::new(std::str::from_utf8(&dry.stdout).unwrap());
    let sum = |sheet: &OutputTable| -> u64 {
        sheet.column("model_rows").iter().map(|rows| rows.parse::<u64>().unwrap()).sum()
    };
    // The last row has the sum of the others.
    assert_eq!(sum(&forecast), 2 * sum(&listed));
    assert!(!folder.path().join("results").exists());
}

#[test]
fn wrong_grids_limits_and_sizes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |key: &str, options: &str, words: &[&str]| {
        let text = format!(
            "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nN = 50\nreplicates = 1\n{key}\n\
             [[block.estimator]]\nname = \"ale\"\n{options}\n"
        );
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        let output = program(&["list", "study.toml"], folder.path());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{key} {options}");
        for word in words.iter().chain(&["study.toml"]) {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
    };
    refused("grid = 0", "", &["`grid` = 0", "from 1 to"]);
    refused("grid = -3", "", &["`grid` = -3"]);
    refused("grid = []", "", &["empty list"]);
    for key in ["metrics", "features", "pairs", "split", "model", "of"] {
        let words = format!("block 1: `{key}` is an empty list");
        refused(&format!("{key} = []"), "", &[&words]);
    }
    refused("grid = \"quantiles\"", "", &["`grid` = \"quantiles\"", "{ quantiles"]);
    refused("grid = { quantils = 9 }", "", &["did you mean `quantiles`"]);
    refused("grid = { from = 0.1 }", "", &["`grid.quantiles` must be"]);
    refused("grid = { quantiles = 1 }", "", &["`grid.quantiles` must be", "from 2"]);
    refused("grid = { quantiles = 9, from = 0.0 }", "", &["`grid.from`", "between 0 and 1"]);
    refused("grid = { quantiles = 9, from = 0.6, to = 0.5 }", "", &["must lie below"]);
    refused("grid = { quantiles = 2, drop_ends = true }", "", &["no point left"]);
    refused("grid = { quantiles = 5, drop_ends = 1 }", "", &["true or false"]);
    refused("grid = { points = 5, to = 0.5 }", "", &["`points`", "quantiles"]);
    refused("", "limits = \"gird\"", &["`limits` = \"gird\"", "\"grid\""]);
    refused("", "limits = \"grid\"\nbinning = \"fixed\"", &["binning `grid`", "fixed"]);
    refused("", "limits = \"grid\"\nbins = 7", &["bins"]);
    refused("", "limits = { quantiles = 5, step = 1 }", &["unknown key `step`"]);
    refused("", "axis = \"law:0,0.5\"", &["law:P,Q"]);
    refused("", "axis = \"law:0.5,0.4\"", &["increasing"]);
    refused("", "bins = 2000000", &["`bins` = 2000000", "at most 1000000"]);
    refused("snr = 5", "", &["`snr` in block 1", "the scenario's function itself", "--snr"]);
    refused("keep = [\"curvs\"]", "", &["curvs", "curves"]);
    refused("keep = [\"curves\"]\nfeatures = [\"x1\", \"x1\"]", "", &["asked for twice"]);
    refused("", "bins = [5, 5]", &["asked for twice", "ale", "N = 50"]);
    refused("set = { rho = { from = 1, to = 1_000_000_000 } }", "", &["1000000000 values"]);
    for key in ["indices = [\"h2.pair\"]", "name = \"ale\"", "bins = 5", "preset = \"alibi\""] {
        refused(key, "", &["in block 1 belongs to an estimator", "[[block.estimator]]"]);
    }
}

#[test]
fn what_a_study_lacks_is_named_with_its_form() {
    let folder = tempfile::tempdir().unwrap();
    let whole = "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nN = 50\nreplicates = 1\n\
                 [[block.estimator]]\nname = \"ale\"\n";
    for (part, words) in [
        ("about = \"a\"\n", ["the study has no `about`", "`about = \"Why"]),
        ("N = 50\n", ["block 1 has no `N`", "`N = 1000`"]),
        (
            "[[block.estimator]]\nname = \"ale\"\n",
            ["block 1 has no `estimator`", "`[[block.estimator]]`"],
        ),
    ] {
        std::fs::write(folder.path().join("study.toml"), whole.replace(part, "")).unwrap();
        let output = program(&["list", "study.toml"], folder.path());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{part}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn studies_of_one_name_are_refused_with_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = "about = \"a\"\n[[block]]\nscenario = \"poly3\"\nN = 20\nreplicates = 1\nestimator = [{ name = \"pdp\" }]\n";
    std::fs::create_dir(folder.path().join("other")).unwrap();
    for path in ["study.toml", "other/study.toml"] {
        std::fs::write(folder.path().join(path), text).unwrap();
    }
    let output = program(&["run", "study.toml", "other/study.toml"], folder.path());
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("`study`: study.toml and other/study.toml"), "{message}");
}

/// Hours of a run would be lost on it otherwise.
#[test]
fn tables_that_values_cannot_fill_are_refused_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |table: &str| {
        let text = format!(
            "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nN = [20, 40]\nreplicates = 2\nsnr = 5\n\
             split = [\"train\", \"cv:2\"]\nfresh = 2\nkeep = [\"decomposition\"]\n\
             [[block.estimator]]\nname = \"ale\"\nbins = [2, 3]\n[[block.model]]\nname = \"linear\"\n\
             [[table]]\ntitle = \"T\"\n{table}\n"
        );
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        program(&["run", "study.toml", "--out", "results"], folder.path())
    };
    let refused = |table: &str, words: &[&str]| {
        let output = run(table);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{table}");
        for word in words.iter().chain(&["study.toml", "\"T\""]) {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
        assert!(!folder.path().join("results").exists());
    };
    let columns = "columns = [\"metric\", \"N\"]";
    refused(
        &format!("rows = [\"feature\", \"K\"]\n{columns}"),
        &["leaves open `split` (train, cv:2"],
    );
    refused(&format!("rows = [\"feature\", \"split\"]\n{columns}"), &["leaves open `K` (2, 3"]);
    let rows = "rows = [\"feature\", \"K\", \"split\"]";
    refused(&format!("{rows}\ncolumns = [\"metric\"]"), &["leaves open `N` (20, 40"]);
    let none = format!("{rows}\n{columns}\nwhere = {{ metric = \"coverage\" }}");
    refused(&none, &["no value has `metric` = \"coverage\"; among those left there are `mse`"]);
    // Without rows or columns it has those that a table on the command line has.
    for (table, header) in [
        ("where = { metric = \"mse\" }", "| feature | K | N  | split"),
        (
            "columns = [\"N\"]\nwhere = { metric = \"mse\", feature = \"x1\" }",
            "| K | split | N\u{a0}=\u{a0}20",
        ),
    ] {
        let output = run(table);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.lines().any(|line| line.starts_with(header)), "{table}: {printed}");
        std::fs::remove_dir_all(folder.path().join("results")).unwrap();
    }
    // Parts of the variance are values, too.
    let metrics = "metric = [\"debiased_bias2\", \"estimation_variance\", \"model_variance\"]";
    let output = run(&format!("{rows}\n{columns}\nwhere = {{ {metrics} }}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.lines().filter(|line| line.starts_with("| x")).count(), 2 * 2 * 2);
    for heading in ["estimation_variance, N\u{a0}=\u{a0}40", "model_variance, N\u{a0}=\u{a0}20"] {
        assert!(printed.contains(heading), "{printed}");
    }
}

#[test]
fn more_than_memory_holds_is_a_failed_cell() {
    let folder = run(r#"
scenario = "liu-product"
N = [900_000_000_000, 20]
features = ["x1"]
metrics = ["mse"]
[[block.estimator]]
name = "ale"
"#);
    let cells = OutputTable::read(folder.path(), "cells.csv");
    assert!(cells.column("status")[0].contains("900000000000 rows"));
    assert_eq!(cells.column("status")[1], "ok");
}
