//! Runs that are divided, stopped, resumed and merged give the bytes of an undisturbed one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Every kind of sweep, all files, and cells that fail.
const STUDY: &str = r#"
about = "Whatever happens to it, it gives the same bytes."
[[block]]
scenario = ["liu-product", "sin-indicator"]
N = { from = 20, to = 300, points = 3 }
replicates = 7
grid = [20, { quantiles = 12, from = 0.01, to = 0.99, drop_ends = true }]
metrics = ["mse", "L_mu", "heterogeneity_mse"]
keep = ["curves", "bins"]
[[block.estimator]]
name = "pdp"
grid = 5
[[block.estimator]]
name = "ale"
bins = [3, 8]
axis = "data"
[[block.estimator]]
name = "dale"
limits = { quantiles = 5 }
[[block]]
scenario = "friedman1"
N = 100
replicates = 6
features = ["x1", "x4"]
[[block.estimator]]
name = "rhale"
[[block]]
scenario = "general-interaction"
N = [60, 90]
replicates = 3
grid = 7
metrics = ["leaf_mse", "region_regret", "split_feature", "split_error", "leaves"]
keep = ["trees"]
[[block.estimator]]
name = "regional-pdp"
depth = [1, 2]
[[block.estimator]]
name = "regional-ale"
bins = 3
[[block]]
scenario = "poly3"
N = [30, 50]
replicates = 3
features = ["x2:x1"]
grid = 5
metrics = ["mse", "coverage", "simultaneous_width"]
[[block.estimator]]
name = "pdp"
interaction = [false, true]
center = "data"
band = "bootstrap"
resamples = 39
[[block.estimator]]
name = "ale"
bins = [2, 3]
[[block]]
scenario = "poly3"
N = [30, 40]
replicates = 2
features = ["x1", "x3", "x1:x2", "x2:x3"]
metrics = ["index_error", "index_squared_error", "coverage"]
[[block.estimator]]
indices = ["h2.pair", "additive.r2.pd"]
outer = [20, 30]
[[block.estimator]]
indices = ["ale2.sd", "sobol.first"]
bins = 3
[[block]]
scenario = "liu-product"
N = [20, 41]
replicates = 4
snr = 2
split = ["train", "cv:3"]
fresh = 2
keep = ["decomposition"]
pairs = ["model:theoretical", "empirical:theoretical"]
[[block.model]]
name = "linear"
[[block.model]]
name = "gbdt"
n_estimators = 3
subsample = 0.7
[[block.estimator]]
name = "ale"
bins = 4
axis = "data"
"#;

/// All but the times and what tells their lengths.
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
        let scratch = Self(tempfile::tempdir().unwrap());
        std::fs::write(scratch.path("study.toml"), STUDY).unwrap();
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `fe-bench run` of the study into a folder.
    fn run(&self, out: &str, more: &[&str]) -> Command {
        let mut command = self.program("run", &[]);
        command.arg(self.path("study.toml")).arg("--out").arg(self.path(out)).args(more);
        command
    }

    fn program(&self, word: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.arg(word).args(more).current_dir(self.0.path());
        command
    }

    fn read(&self, out: &str, file: &str) -> String {
        std::fs::read_to_string(self.path(out).join(file)).unwrap()
    }

    fn manifest(&self, out: &str) -> Value {
        serde_json::from_str(&self.read(out, "manifest.json")).unwrap()
    }

    fn assert_same(&self, one: &str, other: &str) {
        let files =
            |out: &str| FILES.map(|file| std::fs::read_to_string(self.path(out).join(file)).ok());
        let (one, others) = (files(one), files(other));
        // A shard has no summary and nothing that is made of all datasets.
        assert!(one.iter().flatten().count() >= FILES.len() - 2);
        for ((one, another), file) in one.iter().zip(&others).zip(FILES) {
            assert!(one == another, "{file} of {other} differs");
        }
    }
}

fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn refused(mut command: Command, words: &[&str]) {
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    for word in words {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
}

fn exists(folder: &Path, name: &str) -> bool {
    folder.join(name).exists()
}

/// Numbers that look random and are the same each time.
fn congruential(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Runs the study into `out`, killed so many times at random moments and resumed, and holds the result
/// against that of an undisturbed run.
fn killed_and_resumed(scratch: &Scratch, whole: &str, out: &str, more: &[&str], kills: usize) {
    let run = || {
        let mut command = scratch.run(out, &[more, &["--resume", "--jobs", "2"]].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let (mut state, mut done, mut delay) = (1, 0, 30_000);
    while done < kills {
        let mut child = run().spawn().unwrap();
        std::thread::sleep(Duration::from_micros(congruential(&mut state) % delay));
        if child.try_wait().unwrap().is_some() {
            // It was done before: the next ones are killed earlier, from the beginning again.
            delay = delay / 2 + 1000;
            scratch.assert_same(whole, out);
            std::fs::remove_dir_all(scratch.path(out)).unwrap();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        done += 1;
        // The results are there whole or not at all.
        if exists(&scratch.path(out), "") {
            scratch.assert_same(whole, out);
        }
    }
    succeed(run());
    scratch.assert_same(whole, out);
    assert!(!exists(&scratch.path(&format!("{out}.unfinished")), ""));
    let lines = |out: &str| scratch.read(out, "timings.csv").lines().count();
    assert_eq!(lines(whole), lines(out));
}

#[test]
fn killed_twenty_times_and_resumed_it_gives_the_same_bytes() {
    let scratch = Scratch::new();
    succeed(scratch.run("whole", &["--seed", "3"]));
    killed_and_resumed(&scratch, "whole", "killed", &["--seed", "3"], 20);
}

#[test]
fn so_do_shards_that_were_killed_and_resumed_when_they_are_merged() {
    let scratch = Scratch::new();
    succeed(scratch.run("whole", &["--seed", "3"]));
    for (index, out) in [("1/2", "one"), ("2/2", "two")] {
        let undisturbed = format!("{out}-undisturbed");
        let more = ["--seed", "3", "--shard", index];
        succeed(scratch.run(&undisturbed, &more));
        killed_and_resumed(&scratch, &undisturbed, out, &more, 10);
    }
    succeed(scratch.program("merge", &["one", "two", "--out", "merged"]));
    scratch.assert_same("whole", "merged");
}

/// A folder that a run left when it was killed after some of its datasets.
fn interrupted(scratch: &Scratch, out: &str, more: &[&str]) {
    for _ in 0..100 {
        let mut child = scratch
            .run(out, &[more, &["--jobs", "1"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let journal = scratch.path(&format!("{out}.unfinished"));
        let log = journal.join("000000.log");
        let begun = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
        while !begun() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if begun() {
            return;
        }
        // It was finished before it could be stopped.
        std::fs::remove_dir_all(scratch.path(out)).unwrap();
    }
    panic!("never stopped in time");
}

#[test]
fn a_journal_belongs_to_its_run() {
    let scratch = Scratch::new();
    interrupted(&scratch, "out", &["--seed", "3"]);
    assert!(!exists(&scratch.path("out"), ""));
    refused(scratch.run("out", &["--seed", "3"]), &["out.unfinished", "--resume"]);
    refused(scratch.run("out", &["--seed", "4", "--resume"]), &["seed there is 3, here 4"]);
    let shard = ["--seed", "3", "--resume", "--shard", "1/2"];
    refused(scratch.run("out", &shard), &["shard there is none, here 1/2"]);
    let text = STUDY.replace("replicates = 6", "replicates = 5");
    std::fs::write(scratch.path("study.toml"), text).unwrap();
    refused(scratch.run("out", &["--seed", "3", "--resume"]), &["study says something else"]);
    std::fs::write(scratch.path("study.toml"), STUDY).unwrap();
    // Another program may give other numbers.
    let journal = scratch.path("out.unfinished").join("journal.json");
    let written = std::fs::read_to_string(&journal).unwrap();
    let mut other: Value = serde_json::from_str(&written).unwrap();
    other["git_commit"] = "another".into();
    std::fs::write(&journal, other.to_string()).unwrap();
    refused(scratch.run("out", &["--seed", "3", "--resume"]), &["program there is", "another"]);
    std::fs::write(&journal, written).unwrap();
    // Two processes would do the same work twice.
    let lock = std::fs::File::open(scratch.path("out.unfinished").join("lock")).unwrap();
    lock.lock().unwrap();
    for more in [&["--seed", "3", "--resume"][..], &["--seed", "3"]] {
        refused(scratch.run("out", more), &["another process"]);
    }
    drop(lock);
    succeed(scratch.run("out", &["--seed", "3", "--resume"]));
    succeed(scratch.run("whole", &["--seed", "3"]));
    scratch.assert_same("whole", "out");
    assert_eq!(scratch.manifest("out")["resumed"], 1);
    assert_eq!(scratch.manifest("whole")["resumed"], 0);
    // What is finished is not done again, nor taken for something else.
    succeed(scratch.run("out", &["--seed", "3", "--resume"]));
    refused(scratch.run("out", &["--seed", "4", "--resume"]), &["seed there is 3"]);
    let mut bare = scratch.program("run", &["--resume"]);
    bare.arg(scratch.path("study.toml"));
    refused(bare, &["--out"]);
}

#[test]
fn shards_merge_into_the_bytes_of_one_run() {
    let scratch = Scratch::new();
    succeed(scratch.run("whole", &[]));
    for of in [1, 2, 5] {
        let names: Vec<String> = (1..=of).map(|index| format!("s{index}of{of}")).collect();
        for (name, index) in names.iter().zip(1..) {
            succeed(scratch.run(name, &["--shard", &format!("{index}/{of}")]));
            assert!(!exists(&scratch.path(name), "summary.csv"));
        }
        // In any order.
        let names: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        let merged = format!("merged{of}");
        succeed(scratch.program("merge", &[&names[..], &["--out", &merged]].concat()));
        scratch.assert_same("whole", &merged);
        let manifest = scratch.manifest(&merged);
        assert!(manifest["shard"].is_null());
        assert_eq!(manifest["merged"].as_array().unwrap().len(), of);
        assert!(!exists(&scratch.path(&merged), "tasks.csv"));
    }
}

#[test]
fn only_the_shards_of_one_run_are_merged() {
    let scratch = Scratch::new();
    let run = |out: &str, more: &[&str]| {
        succeed(scratch.run(out, more));
    };
    run("one", &["--shard", "1/2"]);
    run("two", &["--shard", "2/2"]);
    run("seed", &["--shard", "2/2", "--seed", "1"]);
    run("third", &["--shard", "2/3"]);
    run("whole", &[]);
    let merge = |names: &[&str], words: &[&str]| {
        refused(scratch.program("merge", &[names, &["--out", "merged"]].concat()), words);
        assert!(!exists(&scratch.path("merged"), ""));
    };
    merge(&["one"], &["missing", "2/2", "one is 1/2"]);
    merge(&["one", "two", "two"], &["two", "is shard 2/2, as is"]);
    merge(&["one", "seed"], &["not shards of one run", "seed"]);
    merge(&["one", "third"], &["is shard 2/3, but one is 1/2"]);
    merge(&["one", "whole"], &["whole", "no --shard"]);
    merge(&["one", "absent"], &["absent"]);
    let study = STUDY.replace("replicates = 6", "replicates = 5");
    std::fs::write(scratch.path("study.toml"), study).unwrap();
    run("other", &["--shard", "2/2"]);
    merge(&["one", "other"], &["study says something else"]);
    // Results that were changed afterwards are not passed on.
    let cells = scratch.path("two").join("cells.csv");
    let text = std::fs::read_to_string(&cells).unwrap();
    std::fs::write(&cells, &text[..text.len() - 1]).unwrap();
    merge(&["one", "two"], &["cells.csv", "not as it was written"]);
    std::fs::write(&cells, format!("{text}more\n")).unwrap();
    merge(&["one", "two"], &["cells.csv", "not as it was written"]);
    std::fs::write(&cells, text).unwrap();
    succeed(scratch.program("merge", &["one", "two", "--out", "merged"]));
    scratch.assert_same("whole", "merged");
    for shard in ["0/2", "3/2", "1", "a/b", "1/0"] {
        refused(scratch.run("bad", &["--shard", shard]), &["I/M"]);
    }
}

#[test]
fn the_manifest_tells_the_build() {
    let scratch = Scratch::new();
    succeed(scratch.run("out", &["--shard", "2/4"]));
    let manifest = scratch.manifest("out");
    assert_eq!(manifest["schema"], 2);
    assert_eq!(manifest["lock_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(manifest["shard"]["of"], 4);
    assert!(manifest.as_object().unwrap().contains_key("git_dirty"));
}
