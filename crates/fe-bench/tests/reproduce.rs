//! The script that runs the papers' studies again: it says what is the same, and what differs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

fn script(committed: &Path, arguments: &[&str]) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/reproduce.sh");
    Command::new("bash")
        .arg(script)
        .args(arguments)
        .env("FE_BENCH", env!("CARGO_BIN_EXE_fe-bench"))
        .env("COMMITTED", committed)
        .output()
        .unwrap()
}

#[test]
fn what_differs_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = |out: &str| {
        let out = path(out);
        let name = ["--only", "effector-fig-8-13", out.to_str().unwrap()];
        let output = script(&path("committed"), &name);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.is_empty(), "{message}");
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (status, said) = run("committed");
    assert_eq!((status, said.as_str()), (Some(0), "same     effector-fig-8-13\n"));
    let (status, said) = run("again");
    assert_eq!((status, said.as_str()), (Some(0), "same     effector-fig-8-13\n"));
    let committed = path("committed/effector-fig-8-13");
    std::fs::write(committed.join("fig-8-listing-6-rhale-x1.txt"), "another tree\n").unwrap();
    std::fs::write(committed.join("more.svg"), "").unwrap();
    std::fs::remove_file(committed.join("fig-13-shapdp-x2-x3.svg")).unwrap();
    let (status, said) = run("broken");
    assert_eq!(status, Some(1));
    for line in [
        "differs  effector-fig-8-13/fig-8-listing-6-rhale-x1.txt",
        "< another tree",
        "differs  effector-fig-8-13/more.svg: did not come out again",
        "differs  effector-fig-8-13/fig-13-shapdp-x2-x3.svg: is not committed",
    ] {
        assert!(said.contains(line), "{line} is missing from\n{said}");
    }
    assert!(!said.contains("same"), "{said}");
}

/// A study with its tables and figures, beside what is committed.
#[test]
fn studies_come_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/papers");
    let out = folder.path().join("new");
    let output = script(&committed, &["--only", "effector-fig-7", out.to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "same     effector-fig-7\n", "{message}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bad_input_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    for (arguments, message) in [
        (vec!["--only", "rhale-fig-9"], "there is no scenarios/papers/rhale-fig-9.toml"),
        (vec!["--only"], "--only needs"),
        (vec!["--olny", "x"], "unknown option --olny"),
        (vec![here], "results are never overwritten"),
        (vec!["a", "b"], "two folders are named"),
    ] {
        let output = script(folder.path(), &arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}
