//! Tables, comparisons of runs and the check, as a user gets them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use fe_bench::check::{self, Plan, Standard, UnderTest};
use fe_core::estimator::{self, Estimand, Estimator, EstimatorInfo, pair};
use fe_core::indices::Index;
use fe_core::model::Model;
use fe_core::numeric::curve::Shape;
use fe_core::regional;
use fe_core::{Centring, Curve, Dataset, Effect, Settings};

const STUDY: &str = r#"
about = "A small study."
[[block]]
scenario = "liu-product"
features = ["x1"]
N = [50, 200]
replicates = 6
grid = 20
metrics = ["mse", "mae", "bins"]
[[block.estimator]]
name = "ale"
bins = [4, 8]
[[block.estimator]]
name = "dale"
bins = 8
"#;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fe-bench")).args(arguments).output().unwrap()
}

fn text_of(output: &Output) -> String {
    text(output.stderr.clone())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Standard output of a call that must end with this status.
fn ends(status: i32, arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    text(output.stdout)
}

fn answer(arguments: &[&str]) -> String {
    ends(0, arguments)
}

/// The message of a call that must end with status 2 and print nothing on standard output.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    text(output.stderr)
}

/// The rows of a CSV text by column.
fn csv(text: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// A folder with the results of the study.
struct Results {
    folder: tempfile::TempDir,
}

impl Results {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
        let results = Self { folder };
        results.again("a", "0");
        results
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Another run with a seed.
    fn again(&self, name: &str, seed: &str) -> String {
        let out = self.path(name);
        answer(&["run", &self.path("study.toml"), "--seed", seed, "--out", &out]);
        out
    }

    /// A copy of the run whose cells are rewritten, line by line.
    fn edited(&self, name: &str, edit: impl Fn(usize, &mut Vec<String>)) -> String {
        let (from, to) = (self.path("a"), self.path(name));
        std::fs::create_dir(&to).unwrap();
        for file in ["manifest.json", "timings.csv", "summary.csv"] {
            std::fs::copy(Path::new(&from).join(file), Path::new(&to).join(file)).unwrap();
        }
        let cells = std::fs::read_to_string(Path::new(&from).join("cells.csv")).unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(cells.as_bytes());
        let mut writer = csv::Writer::from_path(Path::new(&to).join("cells.csv")).unwrap();
        for (i, record) in reader.records().enumerate() {
            let mut record: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
            edit(i, &mut record);
            if !record.is_empty() {
                writer.write_record(&record).unwrap();
            }
        }
        writer.flush().unwrap();
        to
    }

    fn table(&self, options: &[&str]) -> String {
        answer(&[&["table", &self.path("a")], options].concat())
    }

    /// The values of a metric by replicate, of an estimator with so many bins.
    fn values(&self, estimator: &str, bins: &str, rows: &str, metric: &str) -> Vec<f64> {
        let cells = std::fs::read_to_string(Path::new(&self.path("a")).join("cells.csv")).unwrap();
        let wanted = [("estimator", estimator), ("K", bins), ("N", rows), ("metric", metric)];
        let rows = csv(&cells).into_iter();
        let rows = rows.filter(|row| wanted.iter().all(|(key, value)| row[*key] == *value));
        rows.map(|row| number(&row, "value")).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * (a.abs() + b.abs()), "{a} against {b}");
}

#[test]
fn csv_tables_are_tidy_and_hold_every_digit() {
    let results = Results::new();
    let rows = csv(&results.table(&["--format", "csv"]));
    let summary = std::fs::read_to_string(Path::new(&results.path("a")).join("summary.csv"));
    let summary = csv(&summary.unwrap());
    assert_eq!(rows.len(), summary.len());
    for expected in &summary {
        let same = |row: &&HashMap<String, String>| expected.iter().all(|(k, v)| row[k] == *v);
        assert_eq!(rows.iter().filter(same).count(), 1, "{expected:?}");
    }
    // Two tables share a header.
    let by_metric = results.table(&[
        "--rows",
        "K",
        "--metric",
        "mse",
        "--where",
        "N=50",
        "--where",
        "estimator=ale",
        "--format",
        "csv",
    ]);
    assert_eq!(csv(&by_metric).len(), 2);
}

/// Along x2 of `conditional-interaction` f jumps, and the ALE has the jump, which the one of derivatives has not.
#[test]
fn errors_from_different_truths_do_not_compete() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let jumps = STUDY.replace("liu-product", "conditional-interaction").replace("x1", "x2");
    std::fs::write(path("study.toml"), jumps.replace("bins = [4, 8]", "bins = 8")).unwrap();
    answer(&["run", &path("study.toml"), "--out", &path("out")]);
    let rows = csv(&answer(&["table", &path("out"), "--format", "csv"]));
    assert!(!rows.is_empty() && rows.iter().all(|row| row["standing"].is_empty()));
}

#[test]
fn the_best_of_a_column_is_marked_and_so_is_what_cannot_be_told_from_it() {
    let results = Results::new();
    let rows = csv(&results.table(&["--format", "csv"]));
    // The function does not jump: the truths of both estimators are the same curve.
    assert!(rows.iter().any(|row| row["estimator"] == "dale" && !row["standing"].is_empty()));
    for (n, metric) in [("50", "mse"), ("200", "mse"), ("50", "mae"), ("200", "mae")] {
        let here = || rows.iter().filter(|row| row["N"] == n && row["metric"] == metric);
        let best: Vec<_> = here().filter(|row| row["standing"] == "best").collect();
        let [best] = best[..] else { panic!("one best: {best:?}") };
        assert!(here().all(|row| number(row, "mean") >= number(best, "mean")));
        let values =
            |row: &HashMap<String, String>| results.values(&row["estimator"], &row["K"], n, metric);
        for row in here().filter(|row| row["standing"] != "best") {
            let differences: Vec<f64> =
                values(row).iter().zip(values(best)).map(|(a, b)| a - b).collect();
            let middle = mean(&differences);
            let squares: f64 = differences.iter().map(|d| (d - middle).powi(2)).sum();
            // Student's t of five degrees of freedom.
            let half = 2.570_581_835_636_314 * (squares / 30.0).sqrt();
            assert_eq!(row["standing"] == "tied", middle - half <= 0.0, "{row:?}");
        }
    }
    assert!(rows.iter().all(|row| row["metric"] != "bins" || row["standing"].is_empty()));
    let marked =
        |options: &[&str]| results.table(&[&["--metric", "mse", "--cols", "N"], options].concat());
    assert_eq!(marked(&["--ties", "none"]).matches("**").count(), 2 * 2 + 2);
    let text = marked(&["--best", "none", "--ties", "none"]);
    assert!(!text.contains("Bold") && !text.contains("Italic"), "{text}");
    assert!(marked(&["--best", "dagger"]).contains(" †"));
    // Without competitors nothing is the best.
    assert!(!marked(&["--rows", "feature", "--where", "estimator=dale"]).contains("Bold"));
}

#[test]
fn markdown_is_aligned() {
    let results = Results::new();
    for style in ["pm", "parentheses", "interval", "none"] {
        let text = results.table(&["--errors", style, "--rows", "estimator,K,N"]);
        let widths: Vec<usize> =
            text.lines().filter(|l| l.starts_with('|')).map(|l| l.chars().count()).collect();
        assert_eq!(widths.len(), 2 + 6);
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
    }
}

#[test]
fn differences_are_paired_and_counted() {
    let results = Results::new();
    let rows = csv(&results.table(&["--against", "estimator=dale", "--format", "csv"]));
    assert_eq!(rows.len(), 2 * 2 * 3, "all but the baseline itself");
    for row in rows.iter().filter(|row| row["metric"] != "bins") {
        let own = results.values("ale", &row["K"], &row["N"], &row["metric"]);
        let other = results.values("dale", "8", &row["N"], &row["metric"]);
        let differences: Vec<f64> = own.iter().zip(&other).map(|(a, b)| a - b).collect();
        close(number(row, "mean"), mean(&differences));
        let count = |holds: fn(&f64) -> bool| differences.iter().filter(|d| holds(d)).count();
        let counts = [count(|d| *d < 0.0), count(|d| *d == 0.0), count(|d| *d > 0.0)];
        assert_eq!(["wins", "ties", "losses"].map(|name| number(row, name) as usize), counts);
    }
    let bins = rows.iter().find(|row| row["metric"] == "bins" && row["K"] == "8").unwrap();
    assert_eq!([&bins["wins"], &bins["ties"], &bins["losses"]], ["0", "6", "0"]);
    let folder = results.path("a");
    let message = refusal(&["table", &folder, "--against", "estimator=ale"]);
    assert!(message.contains("several values for the baseline"), "{message}");
    let message = refusal(&["table", &folder, "--against", "estimator=pdp"]);
    assert!(message.contains("no value for the baseline"), "{message}");
}

#[test]
fn orders_are_slopes_between_sizes() {
    let results = Results::new();
    let rows = csv(&results.table(&["--order", "N", "--metric", "mse", "--format", "csv"]));
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(row["metric"], "order of mse in N");
        let at = |n: &str| mean(&results.values(&row["estimator"], &row["K"], n, "mse"));
        close(number(row, "mean"), (at("200") / at("50")).ln() / 4_f64.ln());
        assert_eq!((row["se"].as_str(), row["n_ok"].as_str()), ("", "2"));
    }
    // Only `ale` has two numbers of bins, and the number of bins grows like itself.
    let rows = csv(&results.table(&["--order", "K", "--metric", "bins", "--format", "csv"]));
    assert_eq!(rows.len(), 2);
    rows.iter().for_each(|row| close(number(row, "mean"), 1.0));
    let message = refusal(&["table", &results.path("a"), "--order", "K", "--where", "K=8"]);
    assert!(message.contains("no value has two sizes of `K`"), "{message}");
}

/// Curves of three replicates on two points, written as `run` writes them.
#[test]
fn bias_and_variance_come_from_kept_curves() {
    let results = Results::new();
    let folder = results.path("a");
    let message = refusal(&["table", &folder, "--decomposition"]);
    assert!(message.contains("keep = [\"curves\"]"), "{message}");
    let write = |centring: &str, third: &str| {
        let keys = fe_bench::record::Column::NAMES;
        let columns = [&keys[..keys.len() - 1], &["x", "effect", "truth"]].concat();
        let mut lines = vec![columns.join(",")];
        for (replicate, estimates) in [["3", "0"], ["5", "0"], [third, "0"]].iter().enumerate() {
            for (x, estimate) in ["0.25", "0.5"].iter().zip(estimates) {
                let entry = |key: &&str| match *key {
                    "study" => "study".to_owned(),
                    "estimator" => "ale".to_owned(),
                    "centring" => centring.to_owned(),
                    "replicate" => replicate.to_string(),
                    _ => String::new(),
                };
                let mut fields: Vec<String> = keys[..keys.len() - 1].iter().map(entry).collect();
                fields.extend([(*x).to_owned(), (*estimate).to_owned(), "1".to_owned()]);
                lines.push(fields.join(","));
            }
        }
        std::fs::write(Path::new(&folder).join("curves.csv"), lines.join("\n") + "\n").unwrap();
    };
    let parts = || {
        let rows = csv(&answer(&["table", &folder, "--decomposition", "--format", "csv"]));
        let part = |name: &str| {
            let row = rows.iter().find(|row| row["metric"] == name).unwrap();
            number(row, "mean")
        };
        ["mse", "bias2", "debiased_bias2", "variance"].map(part)
    };
    // Errors 2, 4, 6 and −1, −1, −1: means 4 and −1, variances 4 and 0.
    write("none", "7");
    let expected = [(56.0 / 3.0 + 1.0) / 2.0, 8.5, 8.5 - 2.0 / 3.0, 2.0];
    parts().into_iter().zip(expected).for_each(|(part, expected)| close(part, expected));
    // Centred on the grid: ±1.5, ±2.5, ±3.5.
    write("grid", "7");
    let expected = [(2.25 + 6.25 + 12.25) / 3.0, 6.25, 6.25 - 1.0 / 3.0, 1.0];
    parts().into_iter().zip(expected).for_each(|(part, expected)| close(part, expected));
    write("none", "many");
    let message = refusal(&["table", &folder, "--decomposition"]);
    assert!(message.contains("row 5, column effect: `many` is not a finite number"), "{message}");
}

/// The columns that a row of a table takes.
fn cells(row: &str) -> usize {
    let spans = row.split("\\multicolumn{").skip(1);
    let more = spans.map(|rest| rest.split('}').next().unwrap().parse::<usize>().unwrap() - 1);
    row.matches(" & ").count() + 1 + more.sum::<usize>()
}

/// Checks what LaTeX would: environments nest, groups and formulas close, rows have all columns.
fn check_latex(text: &str) {
    let (mut depth, mut formula, mut escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            '$' => formula = !formula,
            '\n' => assert!(!formula, "a formula runs over the end of a line"),
            '&' | '_' | '^' | '#' | '%' | '~' => {
                assert!(formula || c == '&' || c == '~', "{c} outside a formula");
            }
            c => assert!(c.is_ascii() || ('\u{a0}'..'\u{250}').contains(&c), "{c}"),
        }
        assert!(depth >= 0, "a group closes that was not opened");
    }
    assert!(depth == 0 && !formula);
    let mut open = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("\\begin{") {
            open.push(rest.split('}').next().unwrap());
        } else if let Some(rest) = line.strip_prefix("\\end{") {
            assert_eq!(open.pop(), rest.split('}').next());
        }
    }
    assert!(open.is_empty());
    let mut columns = 0;
    let mut rows = 0;
    for line in text.lines() {
        let alignment =
            line.strip_prefix("\\begin{tabular}{").or(line.strip_prefix("\\begin{longtable}{"));
        if let Some(alignment) = alignment {
            let number = alignment
                .split('[')
                .map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
            columns = number.collect::<String>().trim_end_matches('}').len();
        } else if line.ends_with("\\\\") && !line.starts_with("\\caption") {
            assert_eq!(cells(line), columns, "{line}");
            rows += 1;
        }
    }
    assert!(rows > 0);
}

/// Compiles a document; the lines of its log about what does not fit, or none without LaTeX and its packages.
fn too_wide(folder: &Path, text: &str) -> Option<Vec<String>> {
    let packages = ["lmodern.sty", "siunitx.sty", "booktabs.sty", "longtable.sty", "geometry.sty"];
    let found = Command::new("kpsewhich").args(packages).output().ok()?;
    if !found.status.success() {
        return None;
    }
    std::fs::write(folder.join("a.tex"), text).unwrap();
    let flags = ["-interaction=nonstopmode", "-halt-on-error", "a.tex"];
    let done = Command::new("pdflatex").current_dir(folder).args(flags).output().ok()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let log = String::from_utf8_lossy(&std::fs::read(folder.join("a.log")).unwrap()).into_owned();
    Some(log.lines().filter(|line| line.contains("Overfull \\hbox")).map(str::to_owned).collect())
}

#[test]
fn latex_is_no_wider_than_its_page() {
    let results = Results::new();
    let folder = tempfile::tempdir().unwrap();
    for cols in [&["--cols", "K,N,metric"][..], &["--cols", "N,metric"], &[]] {
        for numbers in [&[][..], &["--siunitx"], &["--errors", "interval"]] {
            let options = [&["--format", "latex", "--standalone"][..], cols, numbers].concat();
            let Some(wide) = too_wide(folder.path(), &results.table(&options)) else {
                eprintln!("skipped: there is no LaTeX here with its packages");
                return;
            };
            assert!(wide.is_empty(), "{options:?}: {wide:?}");
        }
    }
}

/// Errors of the same size, of an ordinary function whose effect is exact and of a tiny one whose effect is not.
#[test]
fn rounding_is_exact_and_small_errors_of_small_functions_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let law = "[law]\nx = \"uniform(0, 1)\"\ny = \"uniform(0, 1)\"\n";
    std::fs::write(path("ordinary.toml"), format!("f = \"x + y\"\n{law}")).unwrap();
    std::fs::write(path("tiny.toml"), format!("f = \"1e-14*x^2*y\"\n{law}")).unwrap();
    for (name, is_exact) in [("ordinary", true), ("tiny", false)] {
        let study = STUDY.replace("liu-product", &format!("{name}.toml"));
        let study = study.replace("[\"x1\"]", "[\"x\"]").replace("[50, 200]", "[50, 100, 200]");
        std::fs::write(path("study.toml"), study).unwrap();
        let out = path(name);
        answer(&["run", &path("study.toml"), "--out", &out]);
        let table = |more: &[&str]| answer(&[&["table", &out, "--metric", "mse"], more].concat());
        let (text, latex) = (table(&[]), table(&["--format", "latex"]));
        assert_eq!(text.contains("| **exact**"), is_exact, "{text}");
        assert_eq!(text.contains("Exact: no error but rounding."), is_exact, "{text}");
        assert_eq!(latex.contains("\\textbf{exact}"), is_exact, "{latex}");
        check_latex(&latex);
        check_latex(&table(&["--format", "latex", "--siunitx"]));
        assert_eq!(text.contains("e-3"), !is_exact, "{text}");
        // In a figure, too.
        let drawn =
            run(&["plot", &out, "--metric", "mse", "--out", &path(&format!("{name}-figures"))]);
        assert_eq!(drawn.status.success(), !is_exact, "{}", text_of(&drawn));
    }
}

#[test]
fn latex_compiles_as_it_is() {
    let results = Results::new();
    let latex = |options: &[&str]| results.table(&[&["--format", "latex"], options].concat());
    let caption = "[x_1] & 100 % #~^ \\foo{} $σ²$ <|> \"½\" 中";
    for style in ["pm", "parentheses", "interval", "none"] {
        let text = latex(&["--errors", style, "--best", "dagger", "--caption", caption]);
        check_latex(&text);
        assert!(!text.contains("documentclass"));
    }
    let numbers = latex(&["--siunitx", "--text-width", "200"]);
    check_latex(&numbers);
    assert!(numbers.contains("S[table-format=-"), "{numbers}");
    assert!(numbers.matches("\\begin{tabular}").count() > 1, "{numbers}");
    let whole = latex(&["--standalone", "--label", "tab:a-1", "--against", "estimator=dale"]);
    check_latex(&whole);
    assert!(whole.starts_with("\\documentclass") && whole.contains("\\usepackage{booktabs}"));
    assert!(whole.contains("\\label{tab:a-1}") && whole.ends_with("\\end{document}\n"));
    // Columns under one heading stay together.
    let parts = |width: &str| -> Vec<String> {
        let columns = ["--cols", "N,metric", "--where", "estimator=ale", "--text-width", width];
        let text = latex(&columns);
        let parts = text.split("\\begin{tabular}{").skip(1);
        parts.map(|part| part.split('}').next().unwrap().to_owned()).collect()
    };
    assert_eq!(parts("900"), ["lrrrrrr"]);
    assert_eq!(parts("380"), ["lrrr", "lrrr"]);
    // What the check can see.
    let broken = std::panic::catch_unwind(|| check_latex("\\begin{tabular}{l}\na_b \\\\\n"));
    assert!(broken.is_err());
    let folder = results.path("a");
    let refused = |options: &[&str], word: &str| {
        let message = refusal(&[&["table", &folder], options].concat());
        assert!(message.contains(word), "{message}");
    };
    refused(&["--label", "a"], "--label needs --format latex");
    refused(&["--standalone"], "--standalone needs --format latex");
    refused(&["--format", "latex", "--label", "a}b"], "letters, digits");
    refused(&["--digits", "9"], "--digits");
    refused(&["--metric", "msee"], "`mse`, `mae`, `bins`");
    refused(&["--where", "K=5"], "`4`, `8`");
    refused(&["--order", "M"], "[possible values: N, K]");
}

#[test]
fn equal_runs_are_the_same_and_other_seeds_are_within_the_error() {
    let results = Results::new();
    let (a, b) = (results.path("a"), results.again("b", "0"));
    let said = answer(&["compare", &a, &b]);
    assert!(said.contains("18 numbers: 18 same."), "{said}");
    let other = results.again("c", "1");
    let said = answer(&["compare", &a, &other]);
    assert!(said.contains("Different master seeds"), "{said}");
    let rows = csv(&answer(&["compare", &a, &other, "--all", "--format", "csv"]));
    let count = |verdict: &str| rows.iter().filter(|row| row["verdict"] == verdict).count();
    // The number of bins is the same whatever the data.
    assert_eq!((count("same"), count("within Monte Carlo error")), (6, 12));
    let times = csv(&answer(&["compare", &a, &b, "--times", "--format", "csv"]));
    assert_eq!(times.len(), 4, "two estimators, two sizes");
    assert!(times.iter().all(|row| number(row, "ratio_q1") <= number(row, "ratio_q3")));
    assert!(times.iter().all(|row| row["numbers"] == "same"));
}

#[test]
fn numbers_that_moved_are_found() {
    let results = Results::new();
    let a = results.path("a");
    let keys = fe_bench::record::Column::NAMES;
    let place = |key: &str| keys.iter().position(|k| *k == key).unwrap();
    let value = keys.len();
    let verdicts = |status: i32, other: &str| {
        let rows = csv(&ends(status, &["compare", &a, other, "--all", "--format", "csv"]));
        let mut counts: HashMap<String, usize> = HashMap::new();
        rows.into_iter().for_each(|row| *counts.entry(row["verdict"].clone()).or_default() += 1);
        counts
    };
    let scaled = |name: &str, only: usize, factor: f64| {
        results.edited(name, |i, record| {
            if i > 0
                && record[place("estimator")] == "dale"
                && record[place("metric")] == "mse"
                && record[place("replicate")].parse::<usize>().unwrap() < only
            {
                let number: f64 = record[value].parse().unwrap();
                record[value] = format!("{:?}", number * factor);
            }
        })
    };
    let count = |of: &HashMap<String, usize>, verdict: &str| of.get(verdict).copied().unwrap_or(0);
    // Two numbers, mse at both sizes.
    let rounding = verdicts(0, &scaled("rounding", 6, 1.0 + 1e-12));
    assert_eq!((count(&rounding, "rounding"), count(&rounding, "same")), (2, 16));
    assert_eq!(count(&verdicts(1, &scaled("all", 6, 3.0)), "moved"), 2);
    assert_eq!(count(&verdicts(1, &scaled("one", 1, 1000.0)), "moved"), 2);
    // A single replicate that changes a little is no news.
    assert_eq!(count(&verdicts(0, &scaled("little", 1, 1.01)), "within Monte Carlo error"), 2);

    let failing = results.edited("failing", |i, record| {
        if i > 0 && record[place("replicate")] == "2" && record[place("N")] == "50" {
            record[value].clear();
            *record.last_mut().unwrap() = "it failed".to_owned();
        }
    });
    assert_eq!(count(&verdicts(1, &failing), "moved"), 9);
    let fewer = results.edited("fewer", |i, record| {
        if i > 0 && record[place("K")] == "4" {
            record.clear();
        }
    });
    let fewer = verdicts(0, &fewer);
    assert_eq!((count(&fewer, "only in the first"), count(&fewer, "same")), (6, 12));
    let nothing = results.edited("nothing", |i, record| {
        if i > 0 {
            record[place("study")].push('2');
        }
    });
    assert!(refusal(&["compare", &a, &nothing]).contains("no number in common"));
    assert!(refusal(&["compare", &a, &results.path("none")]).contains("manifest.json"));
    assert!(refusal(&["compare", &a, &a, "--alpha", "2"]).contains("between 0 and 1"));
    assert!(refusal(&["compare", &a, &a, "--rounding", "2"]).contains("from 0 to below 1"));
}

/// An estimator that is right but for a slope that its curve does not have, steeper than any noise.
#[derive(Debug)]
struct Tilted(Box<dyn Estimator>);

const TILT: f64 = 300.0;

impl Estimator for Tilted {
    fn name(&self) -> &'static str {
        "tilted"
    }

    fn estimand(&self) -> Estimand {
        self.0.estimand()
    }

    fn centring(&self) -> Centring {
        self.0.centring()
    }

    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> fe_core::Result<Vec<Effect>> {
        let mut effects = self.0.estimate(data, model, feature)?;
        for effect in &mut effects {
            let last = effect.curve.y().len() as f64;
            let tilted = |(i, y): (usize, &f64)| y + TILT * i as f64 / last;
            let y = effect.curve.y().iter().enumerate().map(tilted).collect();
            let x = effect.curve.x().to_vec();
            effect.curve = match effect.curve.shape() {
                Shape::Linear => Curve::linear(x, y),
                Shape::Step(closed) => Curve::step(x, y, closed),
                Shape::Levels => Curve::levels(x, y),
            };
            if let Some(bins) = &mut effect.bins {
                bins.effect.iter_mut().for_each(|effect| *effect += TILT);
            }
        }
        Ok(effects)
    }
}

/// Number of estimators that are made wrong: all.
const WRONG: usize = estimator::ALL.len();

type Build = fn(&Settings) -> fe_core::Result<Box<dyn Estimator>>;

/// Registered estimators, wrong.
fn wrong() -> Vec<EstimatorInfo> {
    fn build<const I: usize>(settings: &Settings) -> fe_core::Result<Box<dyn Estimator>> {
        Ok(Box::new(Tilted((estimator::ALL[I].build)(settings)?)))
    }
    let builds: [Build; WRONG] = [
        build::<0>, build::<1>, build::<2>, build::<3>, build::<4>, build::<5>, build::<6>,
        build::<7>, build::<8>,
    ];
    let wrong = |(info, build): (&EstimatorInfo, Build)| EstimatorInfo {
        name: info.name,
        about: info.about,
        options: info.options,
        build,
    };
    estimator::ALL.iter().zip(builds).map(wrong).collect()
}

const SMALL: Plan = Plan {
    replicates: 20,
    rows: 400,
    sizes: (200, 3200),
    costly_sizes: (30, 240),
    features: 1,
    costly_features: 1,
    pairs: 1,
    dimension_of_indices: usize::MAX,
};

#[test]
fn the_check_passes_what_is_right_and_fails_what_is_wrong() {
    let scenarios =
        ["friedman1", "liu-quadratic"].map(|name| fe_truth::scenario(name, &[]).unwrap());
    let parts = AtomicUsize::new(0);
    let check = |estimators: &[EstimatorInfo]| {
        let held = UnderTest { estimators, regional: &[], pairs: &[], indices: &[] };
        let part = || {
            parts.fetch_add(1, Ordering::Relaxed);
        };
        check::run(held, &scenarios, SMALL, 0, 1e-6, &part).unwrap()
    };
    let right = check(estimator::ALL);
    // A feature of each scenario, and what is of its pairs.
    assert_eq!(parts.load(Ordering::Relaxed), 2 * (SMALL.features + 1));
    for info in estimator::ALL {
        assert!(right.iter().any(|finding| finding.estimator == info.name), "{}", info.name);
    }
    for finding in &right {
        assert!(finding.passed, "{finding:?}");
    }
    let wrong = check(&wrong());
    for info in estimator::ALL {
        let found = |kind: Standard| {
            let of = |finding: &&check::Finding| finding.estimator == info.name;
            wrong.iter().filter(of).any(|finding| finding.kind == kind && !finding.passed)
        };
        assert!(found(Standard::Convergence), "{}", info.name);
        let held = right.iter().any(|f| f.estimator == info.name && f.kind == Standard::Agreement);
        assert!(found(Standard::Agreement) || !held, "{}", info.name);
    }
}

/// An estimator of pairs whose surface is too high at one end, at any number of rows.
#[derive(Debug)]
struct TiltedPair(Box<dyn pair::PairEstimator>);

impl pair::PairEstimator for TiltedPair {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn estimand(&self) -> Estimand {
        self.0.estimand()
    }

    fn centring(&self, data: &Dataset, features: [usize; 2]) -> Centring {
        self.0.centring(data, features)
    }

    fn is_interaction(&self) -> bool {
        self.0.is_interaction()
    }

    fn cost(&self, rows: usize) -> Option<u64> {
        self.0.cost(rows)
    }

    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
    ) -> fe_core::Result<Vec<fe_core::effect::Surface>> {
        let mut surfaces = self.0.estimate(data, model, features)?;
        for value in surfaces.iter_mut().filter_map(|surface| surface.values.last_mut()) {
            *value += 300.0;
        }
        Ok(surfaces)
    }
}

#[test]
fn the_check_holds_pairs_and_indices_to_their_truths() {
    let scenarios = ["friedman1", "apley-zhu"].map(|name| fe_truth::scenario(name, &[]).unwrap());
    let indices: Vec<Index> = Index::all().collect();
    let check = |pairs: &[pair::PairEstimatorInfo], indices: &[Index]| {
        let held = UnderTest { estimators: &[], regional: &[], pairs, indices };
        check::run(held, &scenarios, SMALL, 0, 1e-6, &|| ()).unwrap()
    };
    let right = check(pair::ALL, &indices);
    right.iter().for_each(|finding| assert!(finding.passed, "{finding:?}"));
    let known = |name: &str| right.iter().any(|finding| finding.estimator == name);
    for index in indices.iter().filter(|index| **index != Index::Permutation) {
        assert!(known(index.name()), "{index}");
    }
    let of =
        |name: &str, kind: Standard| right.iter().any(|f| f.estimator == name && f.kind == kind);
    assert!(of("pdp", Standard::Agreement) && of("ale", Standard::Convergence));
    assert!(!of("ale", Standard::Agreement), "nothing of it is unbiased");
    let wrong = pair::ALL.iter().map(|info| pair::PairEstimatorInfo {
        name: info.name,
        about: info.about,
        options: info.options,
        build: match info.name {
            "pdp" => |of| Ok(Box::new(TiltedPair(pair::from_settings("pdp", of)?))),
            _ => |of| Ok(Box::new(TiltedPair(pair::from_settings("ale", of)?))),
        },
    });
    let wrong = check(&wrong.collect::<Vec<_>>(), &[]);
    assert!(!wrong.is_empty() && wrong.iter().all(|finding| !finding.passed), "{wrong:?}");
}

#[test]
fn findings_do_not_depend_on_threads() {
    let scenarios = [fe_truth::scenario("poly3", &[]).unwrap()];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let held = UnderTest {
            estimators: &estimator::ALL[..3],
            regional: &regional::ALL[..2],
            pairs: pair::ALL,
            indices: &[Index::H2Pair, Index::SobolTotal, Index::AdditiveR2Ale],
        };
        let check = || check::run(held, &scenarios, SMALL, 7, 1e-6, &|| ());
        pool.install(check).unwrap()
    };
    assert_eq!(on(1), on(3));
}

/// The program's own check, on every scenario and estimator.
#[test]
fn the_quick_check_passes() {
    let findings = csv(&answer(&["check", "--quick", "--format", "csv"]));
    let named = |column: &str, name: &str| findings.iter().any(|row| row[column] == name);
    assert!(estimator::ALL.iter().all(|info| named("estimator", info.name)));
    assert!(regional::ALL.iter().all(|info| named("estimator", info.name)));
    assert!(named("test", "regret") && named("test", "leaf-error"));
    for info in fe_truth::scenarios() {
        assert!(named("scenario", &format!("{}@{}", info.name, info.version)), "{}", info.name);
    }
    assert!(findings.iter().all(|row| row["result"] == "ok"));
    for alpha in ["0", "1", "NaN"] {
        assert!(refusal(&["check", "--alpha", alpha]).contains("between 0 and 1"));
    }
}
