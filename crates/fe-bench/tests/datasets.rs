//! Number of datasets: as many as means need, and more for results that are finished.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A noisy block and one whose estimates are exact but for rounding, of different needs.
const UNTIL: &str = r#"
about = "As many datasets as its means need."
[[block]]
scenario = ["sin-indicator", "poly3"]
N = [50, 500]
features = ["x1"]
metrics = ["mse", "mae"]
until = { metric = "mse", relative_se = 0.1, batch = 8, most = 100 }
[[block.estimator]]
name = "ale"
bins = [4, 9]
axis = "data"
[[block]]
scenario = "liu-product"
N = 60
features = ["x1"]
replicates = 5
[[block.estimator]]
name = "pdp"
"#;

/// Groups that share their words, files beside the values, and bias and variance that cannot be added to.
const GROWING: &str = r#"
about = "It grows."
[[block]]
scenario = "friedman1"
N = [60, 90]
features = ["x1", "x4"]
replicates = 2
grid = [20, 30]
keep = ["curves", "bins"]
[[block.estimator]]
name = "ale"
bins = 5
[[block]]
scenario = "friedman1"
N = 60
features = ["x2"]
replicates = 2
[[block.estimator]]
name = "pdp"
[[block]]
scenario = "general-interaction"
N = 60
replicates = 3
grid = 7
metrics = ["leaf_mse", "leaves"]
keep = ["trees"]
[[block.estimator]]
name = "regional-pdp"
depth = 1
[[block]]
scenario = "liu-product"
N = 40
replicates = 2
snr = 2
keep = ["decomposition"]
[[block.model]]
name = "linear"
[[block.estimator]]
name = "ale"
bins = 4
"#;

const FILES: [&str; 7] = [
    "cells.csv",
    "summary.csv",
    "curves.csv",
    "bins.csv",
    "decomposition.csv",
    "trees.csv",
    "leaves.csv",
];

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn program(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.args(arguments).current_dir(self.0.path()).output().unwrap()
    }

    /// Runs the program, and returns what it said on standard error.
    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.program(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    }

    /// Runs the program, killed later and later and begun again, until it ends by itself; the number of times that it was
    /// killed.
    fn killed_again_and_again(&self, arguments: &[&str]) -> usize {
        for kills in 0.. {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
            let command = command.args(arguments).current_dir(self.0.path());
            let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(30 * (kills + 1)));
            if child.try_wait().unwrap().is_some() {
                let output = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                // It was killed when everything was done.
                let is_done = said.contains("--replicates must be larger");
                assert!(output.status.success() || is_done, "{arguments:?}: {said}");
                return kills as usize;
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        unreachable!()
    }

    fn refused(&self, arguments: &[&str], words: &str) {
        let output = self.program(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{said:?} lacks {words:?}");
    }

    fn read(&self, folder: &str, file: &str) -> Option<String> {
        std::fs::read_to_string(self.path(folder).join(file)).ok()
    }

    fn assert_same(&self, one: &str, other: &str) {
        for file in FILES {
            assert!(self.read(one, file) == self.read(other, file), "{file} of {other} differs");
        }
        let lines = |folder: &str| self.read(folder, "timings.csv").unwrap().lines().count();
        assert_eq!(lines(one), lines(other));
    }

    /// The numbers in a column of the summary, by scenario, N and K of a metric.
    fn summary(&self, folder: &str, metric: &str, column: &str) -> BTreeMap<[String; 3], f64> {
        let text = self.read(folder, "summary.csv").unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let place = |name: &str| header.iter().position(|known| known == name).unwrap();
        let records = reader.records().map(Result::unwrap);
        let of_metric = records.filter(|record| record[place("metric")] == *metric);
        let number = |record: csv::StringRecord| {
            let key = ["scenario", "N", "K"].map(|name| record[place(name)].to_owned());
            (key, record[place(column)].parse().unwrap())
        };
        of_metric.map(number).collect()
    }
}

#[test]
fn datasets_are_added_until_every_mean_is_precise() {
    let scratch = Scratch::new();
    scratch.write("until.toml", UNTIL);
    let said = scratch.succeed(&["run", "until.toml", "--out", "whole", "--jobs", "1"]);
    let of = |column: &str| scratch.summary("whole", "mse", column);
    let (mean, error, number) = (of("mean"), of("se"), of("n_ok"));
    let until = number.iter().filter(|([scenario, ..], _)| !scenario.starts_with("liu"));
    let mut found = Vec::new();
    for (key, number) in until {
        assert!(number % 8.0 == 0.0 && (8.0..=96.0).contains(number), "{key:?}: {number}");
        let is_precise = error[key] <= 0.1 * mean[key] || mean[key] < 1e-23;
        assert!(is_precise || *number == 96.0, "{key:?}: {number}");
        found.push(*number);
    }
    // Not all alike; those that never get there are said.
    found.dedup();
    assert!(found.len() > 1, "{found:?}");
    let is_open =
        number.iter().any(|(key, number)| *number == 96.0 && error[key] > 0.1 * mean[key]);
    assert_eq!(is_open, said.contains("less precise than `until` asks for"), "{said}");
    // Both estimators see the same datasets.
    for ([scenario, rows, _], number) in of("n_ok") {
        let same =
            of("n_ok").into_iter().filter(|(key, _)| key[..2] == [scenario.clone(), rows.clone()]);
        assert!(same.into_iter().all(|(_, other)| other == number));
    }
    // The other block has what it asks for.
    assert!(
        number.iter().any(|([scenario, ..], number)| scenario.starts_with("liu") && *number == 5.0)
    );

    // Threads and shards change nothing; nor does the company of other groups.
    scratch.succeed(&["run", "until.toml", "--out", "threads", "--jobs", "3"]);
    scratch.assert_same("whole", "threads");
    for shard in ["1/3", "2/3", "3/3"] {
        scratch.succeed(&[
            "run",
            "until.toml",
            "--out",
            &shard.replace('/', "-"),
            "--shard",
            shard,
        ]);
    }
    scratch.succeed(&["merge", "1-3", "3-3", "2-3", "--out", "merged"]);
    scratch.assert_same("whole", "merged");
    scratch.write(
        "alone.toml",
        &UNTIL
            .replace("[50, 500]", "50")
            .replace("[\"sin-indicator\", \"poly3\"]", "\"sin-indicator\""),
    );
    scratch.succeed(&["run", "alone.toml", "--out", "alone"]);
    let alone = scratch.summary("alone", "mse", "mean");
    assert!(alone.iter().all(|(key, value)| mean[key] == *value));

    let listed = scratch.program(&["list", "until.toml"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("8 to 96"));
    scratch.succeed(&["report", "whole", "--out", "page.html"]);
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    assert!(
        page.contains("in batches of 8 until every mean of mse has a Monte Carlo standard error")
    );
}

#[test]
fn runs_that_were_killed_between_their_batches_give_the_same_bytes() {
    let scratch = Scratch::new();
    let text = UNTIL.replace("relative_se = 0.1", "relative_se = 0.02").replace("100 }", "400 }");
    scratch.write("until.toml", &text);
    scratch.succeed(&["run", "until.toml", "--out", "whole", "--jobs", "2"]);
    let arguments = ["run", "until.toml", "--out", "killed", "--jobs", "2", "--resume"];
    let kills = scratch.killed_again_and_again(&arguments);
    assert!(kills >= 3, "killed {kills} times");
    scratch.assert_same("whole", "killed");
}

#[test]
fn results_whose_extension_was_killed_are_those_of_an_undisturbed_one() {
    let scratch = Scratch::new();
    scratch.write("growing.toml", GROWING);
    scratch.succeed(&["run", "growing.toml", "--out", "grown", "--seed", "4"]);
    let more = ["run", "--extend", "grown", "--replicates", "100"];
    scratch.succeed(&[&more[..], &["--out", "whole"]].concat());
    let kills = scratch.killed_again_and_again(&more);
    assert!(kills >= 3, "killed {kills} times");
    scratch.assert_same("whole", "grown");
    assert!(!scratch.path("grown.extended.unfinished").exists());
}

/// Wherever a process was stopped between results that are complete and their place, the next one goes on there.
#[test]
fn an_extension_that_was_stopped_at_its_end_takes_its_place() {
    let scratch = Scratch::new();
    scratch.write("growing.toml", GROWING);
    scratch.succeed(&["run", "growing.toml", "--out", "first", "--seed", "4"]);
    let more = |folder: &str| ["run", "--extend", folder, "--replicates", "6"].map(str::to_owned);
    let run = |arguments: &[String]| {
        scratch.program(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let whole = [&more("first")[..], &["--out", "whole"].map(str::to_owned)].concat();
    assert!(run(&whole).status.success());
    let copy = |from: &str, to: &str| {
        std::fs::create_dir(scratch.path(to)).unwrap();
        for entry in std::fs::read_dir(scratch.path(from)).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, scratch.path(to).join(path.file_name().unwrap())).unwrap();
        }
    };
    // The folders of each state in which a process can be stopped: their names, and what they hold.
    let states: [&[(&str, &str)]; 3] = [
        &[("", "first"), (".extended", "whole")],
        &[(".replaced", "first"), (".extended", "whole")],
        &[("", "whole"), (".replaced", "first")],
    ];
    for (state, folders) in states.iter().enumerate() {
        let own = format!("own{state}");
        folders.iter().for_each(|(end, from)| copy(from, &format!("{own}{end}")));
        let output = run(&more(&own));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(state == 0, output.status.success(), "{said}");
        assert_eq!(state != 0, said.contains("is in place"), "{said}");
        scratch.assert_same("whole", &own);
        for end in [".extended", ".replaced", ".extended.unfinished"] {
            assert!(!scratch.path(&format!("{own}{end}")).exists(), "{own}{end}");
        }
    }
    // A folder of that name that is somebody's own is left alone.
    copy("whole", "own.replaced");
    copy("first", "own");
    let output = run(&more("own"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("own.replaced"));
    assert!(scratch.path("own.replaced/manifest.json").exists());
}

#[test]
fn tables_and_pages_name_means_that_are_less_precise_than_was_asked_for() {
    let scratch = Scratch::new();
    let text = UNTIL.replace("relative_se = 0.1", "relative_se = 1e-4").replace("100 }", "16 }");
    scratch.write("until.toml", &text);
    scratch.succeed(&["run", "until.toml", "--out", "out"]);
    let table = |options: &[&str]| {
        let output = scratch.program(&[&["table", "out"], options].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let note = "Less precise than `until` asks for, on as many datasets as `most` allows: ";
    let all = table(&[]);
    assert!(all.contains(note) && all.contains("; and 3 more."), "{all}");
    let one = table(&[
        "--where",
        "scenario=poly3",
        "--where",
        "N=50",
        "--where",
        "K=4",
        "--metric",
        "mse",
    ]);
    let named = one.split_once(note).unwrap().1;
    assert!(named.contains("mse.") && !named.contains("more"), "{one}");
    // Of another metric, another scenario and differences nothing was asked.
    for options in [
        &["--metric", "mae"][..],
        &["--where", "scenario=liu-product"],
        &["--against", "K=4", "--metric", "mse", "--where", "scenario=poly3"],
    ] {
        let text = table(options);
        assert!(!text.is_empty() && !text.contains(note), "{text}");
    }
    assert!(table(&["--format", "latex"]).contains("Less precise than"));
    scratch.succeed(&["report", "out", "--out", "page.html"]);
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    assert!(page.contains("means did not become as precise"));
}

#[test]
fn what_is_exact_or_fails_needs_no_more() {
    let scratch = Scratch::new();
    let of = |scenario: &str, feature: &str, rows: &str| {
        let text = UNTIL.replace("[\"sin-indicator\", \"poly3\"]", &format!("\"{scenario}\""));
        text.replacen("\"x1\"", &format!("\"{feature}\""), 1).replace("[50, 500]", rows)
    };
    // A straight line is found but for rounding, whose relative error never becomes small.
    scratch.write("exact.toml", &of("friedman1", "x4", "50"));
    scratch.succeed(&["run", "exact.toml", "--out", "exact"]);
    let mean = scratch.summary("exact", "mse", "mean");
    let number = scratch.summary("exact", "mse", "n_ok");
    let exact = number.iter().filter(|([scenario, ..], _)| scenario.starts_with("friedman1"));
    let exact: Vec<_> = exact.map(|(key, number)| (*number, mean[key])).collect();
    assert!(exact.iter().all(|&(number, mean)| number == 8.0 && mean < 1e-23), "{exact:?}");
    // Datasets that cannot be drawn fail all alike.
    scratch.write("failing.toml", &of("liu-product", "x1", "[50, 2_000_000_000]"));
    scratch.program(&["run", "failing.toml", "--out", "failing"]);
    let failed = scratch.summary("failing", "mse", "n_failed");
    let large = failed.iter().filter(|([_, rows, _], _)| rows == "2000000000");
    assert!(
        large.clone().count() > 0 && large.clone().all(|(_, number)| *number == 8.0),
        "{failed:?}"
    );
}

#[test]
fn precisions_that_cannot_be_are_refused_before_the_run() {
    let scratch = Scratch::new();
    let asked = "metric = \"mse\", relative_se = 0.1, batch = 8, most = 100";
    for (wrong, words) in [
        (asked.replace("\"mse\"", "\"mes\""), "mse"),
        (
            asked.replace("\"mse\"", "\"L_mu\""),
            "is not among the `metrics` of the block, which are mse, mae",
        ),
        (asked.replace("0.1", "0"), "`until.relative_se` = 0: must be a finite number above 0"),
        (asked.replace("0.1", "nan"), "must be a finite number above 0"),
        (
            asked.replace("batch = 8", "batch = 0"),
            "`until.batch` = 0: must be a whole number above 0",
        ),
        (asked.replace("100", "7"), "`until.most` = 7: must be at least 8"),
        (asked.replace(", most = 100", ""), "`until` has no `most`"),
        (asked.replace("batch", "batsch"), "unknown key `batsch` in `until`"),
    ] {
        scratch.write("wrong.toml", &UNTIL.replace(asked, &wrong));
        scratch.refused(&["run", "wrong.toml", "--out", "out"], words);
    }
    scratch.write("wrong.toml", &UNTIL.replace("replicates = 5\n", ""));
    scratch.refused(&["run", "wrong.toml", "--out", "out"], "there is no `replicates`");
    assert!(!scratch.path("out").exists());
}

#[test]
fn extended_results_are_those_of_a_run_that_asked_for_as_many() {
    let scratch = Scratch::new();
    let more = |replicates: usize| {
        GROWING
            .lines()
            .map(|line| match line.starts_with("replicates") {
                true => format!("replicates = {replicates}\n"),
                false => format!("{line}\n"),
            })
            .collect::<String>()
    };
    scratch.write("growing.toml", GROWING);
    scratch.succeed(&["run", "growing.toml", "--out", "grown", "--seed", "4", "--jobs", "1"]);
    std::fs::create_dir(scratch.path("at-once")).unwrap();
    scratch.write("at-once/growing.toml", &more(6));
    scratch.succeed(&["run", "at-once/growing.toml", "--out", "whole", "--seed", "4"]);

    // Beside, and then in its place, in two steps.
    scratch.succeed(&["run", "--extend", "grown", "--replicates", "6", "--out", "beside"]);
    scratch.assert_same("whole", "beside");
    assert_eq!(scratch.read("grown", "cells.csv").unwrap().matches("friedman1").count(), 36);
    let said = scratch.succeed(&["run", "growing.toml", "--extend", "grown/", "--replicates", "4"]);
    // Only bias and variance need what results do not keep.
    assert!(said.contains("2 of the earlier datasets are computed again"), "{said}");
    scratch.succeed(&["run", "--extend", "grown", "--replicates", "6", "--jobs", "2"]);
    scratch.assert_same("whole", "grown");
    let manifest: serde_json::Value =
        serde_json::from_str(&scratch.read("grown", "manifest.json").unwrap()).unwrap();
    assert_eq!(manifest["extended"].as_array().unwrap().len(), 2);
    assert_eq!(manifest["seed"], 4);
    for left in ["grown.extended", "grown.extended.unfinished", "grown.replaced"] {
        assert!(!scratch.path(left).exists(), "{left}");
    }

    scratch
        .refused(&["run", "--extend", "grown", "--replicates", "6"], "--replicates must be larger");
    scratch
        .refused(&["run", "--extend", "grown", "--replicates", "5"], "--replicates must be larger");
    scratch.refused(&["run", "--extend", "nowhere", "--replicates", "9"], "nowhere");
    scratch.refused(&["run", "--extend", "grown"], "--replicates");
    scratch.write("growing.toml", &GROWING.replace("bins = 5", "bins = 6"));
    scratch.refused(
        &["run", "growing.toml", "--extend", "grown", "--replicates", "9"],
        "says something else than the studies of the results",
    );
    scratch.write(
        "grown/manifest.json",
        &scratch.read("grown", "manifest.json").unwrap().replace("\"fe-bench ", "\"fe-bench 9"),
    );
    scratch.refused(
        &["run", "--extend", "grown", "--replicates", "9"],
        "cannot be extended: the program there is",
    );
    let cells = scratch.read("beside", "cells.csv").unwrap();
    scratch.write("beside/cells.csv", &cells.replacen(",ok", ",ok ", 1));
    scratch
        .refused(&["run", "--extend", "beside", "--replicates", "9"], "is not as it was written");
}

#[test]
fn a_dry_run_counts_what_a_run_computes_and_writes_nothing() {
    let scratch = Scratch::new();
    scratch.write("growing.toml", GROWING);
    let output = scratch.program(&["run", "growing.toml", "--dry-run", "--format", "json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("about ") && said.contains(" for truths"),
        "{said}"
    );
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let of = |row: &serde_json::Value, name: &str| row[name].as_f64().unwrap();
    let (all, kinds) = rows.split_last().unwrap();
    for name in ["datasets", "cells", "model_rows", "fits"] {
        let sum: f64 = kinds.iter().map(|kind| of(kind, name)).sum();
        assert_eq!(sum, of(all, name), "{name}");
    }
    // By block, scenario and N.
    let kinds: Vec<(f64, f64, f64)> =
        kinds.iter().map(|kind| (of(kind, "block"), of(kind, "N"), of(kind, "datasets"))).collect();
    assert_eq!(kinds[..2], [(1.0, 60.0, 4.0), (1.0, 90.0, 4.0)]);
    assert_eq!(kinds.len(), 5);
    assert!(of(all, "seconds") > 0.0);
    let left: Vec<_> = std::fs::read_dir(scratch.0.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    scratch.succeed(&["run", "growing.toml", "--out", "out"]);
    // A line for each estimate, and one for each fit.
    let lines = scratch.read("out", "timings.csv").unwrap().lines().count() as f64 - 1.0;
    assert_eq!(of(all, "cells") + of(all, "fits"), lines);
    for wrong in [&["--resume", "--out", "out"][..], &["--abandon", "why", "--shard", "1/2"]] {
        let asked = [&["run", "growing.toml", "--dry-run"], wrong].concat();
        scratch.refused(&asked, "cannot be used with");
    }
}

#[test]
fn the_first_line_says_what_was_made_and_titles_name_their_studies() {
    let scratch = Scratch::new();
    let study = |title: &str| {
        format!(
            "about = 'small'\n[[block]]\nscenario = 'poly3'\nN = 20\nreplicates = 2\nmetrics = ['mse']\n\
             [[block.estimator]]\nname = 'pdp'\n{title}"
        )
    };
    let table = "[[table]]\ntitle = 'Errors'\nrows = ['feature']\ncolumns = ['metric']\n";
    scratch.write("one.toml", &study(table));
    scratch.write("two.toml", &study(""));
    let output = scratch.program(&["run", "one.toml", "two.toml", "--out", "both"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("made: 12 values of 2 studies"), "{said}");
    assert!(said.trim_end().ends_with(": both"), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("**one: Errors**") && text.contains("**two**"), "{text}");
    let output = scratch.program(&["run", "one.toml", "--out", "single"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("made: 6 values of the study one"), "{said}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("**Errors**"));
}
