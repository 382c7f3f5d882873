//! Finds of `scripts/attacks.py`: each is refused in words, or right, and leaves nothing behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The longest that anything here may take, on a machine that is busy.
const LONGEST: Duration = Duration::from_secs(60);

fn program(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LONGEST {
            child.kill().unwrap();
            panic!("{arguments:?} takes more than {LONGEST:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn answer(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said
}

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const STUDY: &str = "about = \"\"\n[[block]]\nscenario = \"poly3\"\nN = 20\nreplicates = 2\n\
                     features = [\"x1\"]\nmetrics = [\"mse\"]\nestimator = [{name = \"ale\", bins = 2}]\n";

fn problem(law: &str) -> String {
    format!("about = \"\"\nf = \"sign(x1)\"\n[law]\nx1 = \"{law}\"\n")
}

#[test]
fn laws_beyond_floating_point_numbers_are_refused() {
    for (law, place) in [
        ("gamma(1e-3, 2.64)", "`gamma` of shape 0.001, scale 2.64 is below 2.2"),
        ("beta(1e-3, 1)", "is below 2.2"),
        ("weibull(1e-3, 1)", "with probability"),
        ("lognormal(0, 1000)", "with probability"),
        ("normal(0, 1e308)", "with probability"),
    ] {
        let folder = folder_with(&[("p.toml", &problem(law))]);
        let said = refusal(folder.path(), &["sample", "p.toml", "--n", "20", "--seed", "1"]);
        assert!(said.contains("p.toml:4:") && said.contains(place), "{law}: {said}");
    }
    for law in ["gamma(0.1, 2.64)", "lognormal(0, 100)", "normal(0, 1e300)", "weibull(0.1, 1)"] {
        let folder = folder_with(&[("p.toml", &problem(law))]);
        let rows = answer(folder.path(), &["sample", "p.toml", "--n", "20", "--seed", "1"]);
        assert_eq!(rows.lines().count(), 21, "{law}");
    }
}

#[test]
fn refusals_speak_no_programming_language() {
    let study = |estimator: &str| STUDY.replace("bins = 2", estimator);
    let folder = folder_with(&[
        ("number.toml", &study("center_rule = 1")),
        (
            "table.toml",
            &(study("bins = 2") + "[[table]]\ntitle = \"\"\n")
                .replace("[[table]]", "table = [true]\n#"),
        ),
        ("data.csv", "x1,x2,x3\n1,2,3\n2,3,1\n3,1,2\n"),
    ]);
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../fe-models/tests/stored/xgboost.json");
    let model = fs::read_to_string(stored).unwrap();
    let wrong = model.replace("\"default_left\":[", "\"default_left\":[\"x\",");
    assert_ne!(wrong, model);
    fs::write(folder.path().join("m.json"), wrong).unwrap();
    for (arguments, words) in [
        ("run none.toml --seed -1", "'-1' for '--seed <S>': must be a whole number, at least 0"),
        ("check --seed 0.5", "'0.5' for '--seed <S>': must be a whole number, at least 0"),
        ("run none.toml --seed 18446744073709551616", "must be a smaller whole number"),
        ("effect poly3 --n 9 --estimator ale --empty 0", "unknown word `0`"),
        ("effect poly3 --n 9 --estimator pdp --ddof x", "must be a whole number"),
        ("list number.toml", "number.toml: block 1: options of ale: must be a text"),
        ("effect --data data.csv --model m.json --estimator pdp", "a flag must be true, false"),
    ] {
        let said = refusal(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
        assert!(said.contains(words), "{arguments}: {said}");
        for word in ["digit found", "variant", "expected struct", "u8", "u64", "usize"] {
            assert!(!said.contains(word), "{arguments}: {said}");
        }
    }
    let nearest = "effect poly3 --n 30 --seed 1 --estimator mplot --feature x1 --nearest";
    let nearest = |number| {
        let words: Vec<&str> = nearest.split(' ').chain([number]).collect();
        answer(folder.path(), &words)
    };
    assert_eq!(nearest("1e1"), nearest("10"));
}

/// Flags that need one which cannot stand beside a third are not passed over where that third stands.
#[test]
fn flags_are_not_passed_over() {
    let folder = folder_with(&[("study.toml", STUDY), ("engines.toml", "engine = []\n")]);
    answer(folder.path(), &["run", "study.toml", "--out", "done"]);
    for arguments in [
        "run study.toml --out o --seed 3 --replicates 9",
        "run study.toml --out o --shard 1/2 --replicates 9",
        "run study.toml --out o --resume --replicates 9",
        "run study.toml --out o --resume --format json",
        "run --extend done --replicates 3 --out o --format json",
        "run --extend done --replicates 3 --out o --abandon no",
        "engines --engines engines.toml --capabilities --n 5",
        "engines --engines engines.toml --capabilities --feature x1",
    ] {
        let said = refusal(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
        assert!(said.contains("cannot be used with"), "{arguments}: {said}");
        assert!(!folder.path().join("o").exists(), "{arguments}");
    }
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .args(["truth", "poly3", "--effect"].map(OsStr::new))
        .arg(OsStr::from_bytes(b"caf\xe9"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("the argument `caf\u{fffd}` is no text in UTF-8"), "{said}");
}

#[test]
fn moments_of_huge_and_of_tiny_numbers_are_numbers() {
    let folder = folder_with(&[(
        "d.csv",
        "huge,tiny,most\n1e307,1e-300,1.7e308\n-1e307,3e-300,-1.7e308\n1e307,1e-300,1.7e308\n-1e307,3e-300,-1.7e308\n",
    )]);
    let text =
        answer(folder.path(), &["describe", "--data", "d.csv", "--format", "json", "--ddof", "0"]);
    let columns: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |column: usize, fact: &str| columns[column][fact].as_f64().unwrap();
    assert!((of(0, "sd") / 1e307 - 1.0).abs() < 1e-12, "{text}");
    assert!((of(1, "sd") / 1e-300 - 1.0).abs() < 1e-12, "{text}");
    assert!((of(1, "mean") / 2e-300 - 1.0).abs() < 1e-12, "{text}");
    assert!((of(2, "sd") / 1.7e308 - 1.0).abs() < 1e-12, "{text}");
    let said = refusal(folder.path(), &["describe", "--data", "d.csv", "--plot", "d.svg"]);
    assert!(said.contains("most: no histogram") && said.len() < 300, "{said}");
}

#[test]
fn results_are_no_pipes_and_studies_no_devices() {
    let folder = folder_with(&[("study.toml", STUDY)]);
    answer(folder.path(), &["run", "study.toml", "--out", "done"]);
    for name in ["manifest.json", "cells.csv"] {
        let path = folder.path().join("done").join(name);
        let kept = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let said = refusal(folder.path(), &["table", "done"]);
        assert!(said.contains(&format!("done/{name}: is no regular file")), "{said}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
    for arguments in [
        "run /dev/zero",
        "engines --engines /dev/zero",
        "score /dev/zero --scenario poly3 --effect pd",
        "describe --data /dev/zero",
        "effect --data /dev/zero --model linear --target a --estimator pdp",
        "plan --data /dev/zero --estimator pdp --out query.csv",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let said = refusal(folder.path(), &arguments);
        assert!(said.contains("/dev/zero"), "{arguments:?}: {said}");
    }
}

#[test]
fn an_extension_that_is_refused_leaves_nothing() {
    let folder = folder_with(&[("study.toml", STUDY)]);
    answer(folder.path(), &["run", "study.toml", "--out", "done"]);
    let timings = folder.path().join("done/timings.csv");
    let text = fs::read_to_string(&timings).unwrap();
    fs::write(&timings, text.replace("poly3@1", "poly3@2")).unwrap();
    for out in [&["--out", "more"][..], &[]] {
        let extend = ["run", "--extend", "done", "--replicates", "3"];
        let said = refusal(folder.path(), &[&extend[..], out].concat());
        assert!(said.contains("timings.csv: is not as it was written"), "{said}");
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["done", "study.toml"]);
    }
}

#[test]
fn a_table_without_a_title_has_the_name_of_its_study() {
    let study = "about = \"a\"\n[[block]]\nscenario = \"poly3\"\nN = [20, 40]\nreplicates = 2\nmetrics = [\"mse\"]\n\
                 [[block.estimator]]\nname = \"pdp\"\n[[table]]\nrows = [\"feature\"]\ncolumns = [\"N\"]\n";
    let folder = folder_with(&[("mine.toml", study)]);
    let printed = answer(folder.path(), &["-q", "run", "mine.toml", "--out", "results"]);
    assert!(printed.contains("**mine**"), "{printed}");
}
