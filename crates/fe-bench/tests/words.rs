//! Words that people use: spellings, numbers, and how much is said.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

const STUDY: &str = r#"
about = "Words."

[[block]]
scenario = "snc"
features = ["x1"]
N = 1e2
replicates = 2
compare = "Err"

[[block.estimator]]
name = "ale"
bins = 5
centre = "integral"
"#;

fn run(folder: &std::path::Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.args(arguments.split(' ')).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn either_spelling_finds_an_option() {
    let folder = tempfile::tempdir().unwrap();
    let common = "effect snc --n 1e2 --estimator ale --bins 5 --format csv";
    let american = run(folder.path(), &format!("{common} --center start"));
    let british = run(folder.path(), &format!("{common} --centre start"));
    assert!(american.status.success(), "{}", said(&american));
    assert_eq!(american.stdout, british.stdout);
    std::fs::write(folder.path().join("words.toml"), STUDY).unwrap();
    let made = run(folder.path(), "run words.toml --out results");
    assert!(made.status.success(), "{}", said(&made));
    let table = |key: &str| run(folder.path(), &format!("table results --rows estimator,{key}"));
    for key in ["centring", "centering"] {
        let columns = table(key);
        let text = String::from_utf8_lossy(&columns.stdout).into_owned();
        assert!(text.contains(key) && text.contains("integral"), "{text}{}", said(&columns));
    }
    let twice = STUDY.replace("bins = 5", "center = \"none\"");
    std::fs::write(folder.path().join("twice.toml"), twice).unwrap();
    let twice = run(folder.path(), "run twice.toml --out twice");
    assert!(said(&twice).contains("given twice, in two spellings"), "{}", said(&twice));
}

#[test]
fn no_message_names_a_type_of_a_language() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wrong.toml"), STUDY.replace("bins = 5", "bins = \"a\""))
        .unwrap();
    for arguments in [
        "run wrong.toml --out wrong",
        "effect snc --n a --estimator ale",
        "effect snc --n 10 --estimator ale --bins a",
        "effect snc --n 10 --estimator ale --bins -1",
        "effect snc --n 10 --estimator ale --band-seed a",
    ] {
        let output = run(folder.path(), arguments);
        let message = said(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("whole number") && !message.contains("usize"), "{message}");
    }
}

#[test]
fn as_much_is_said_as_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let effect = "effect snc --n 20 --estimator ale --bins 15 --feature x1 --format csv";
    let usual = run(folder.path(), effect);
    assert!(said(&usual).contains("without instances"), "{}", said(&usual));
    let quiet = run(folder.path(), &format!("-q {effect}"));
    assert_eq!((said(&quiet).as_str(), &quiet.stdout), ("", &usual.stdout));
    let refused = run(folder.path(), "effect snc --n 20 --estimator al --quiet");
    assert!(said(&refused).contains("did you mean"), "{}", said(&refused));
    let much = said(&run(folder.path(), &format!("{effect} -v")));
    assert!(much.contains("fe-bench 0.") && much.contains("status 0 after"), "{much}");
    let version = run(folder.path(), "--version");
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("fe-bench 0."));
}
