//! Descriptions of data files, against numbers that are known.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

fn run(folder: &tempfile::TempDir, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.arg("describe").args(arguments.split(' ')).current_dir(folder.path()).output().unwrap()
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.csv"), text).unwrap();
    folder
}

/// The rows of an answer as CSV, and what was said.
fn answer(folder: &tempfile::TempDir, arguments: &str) -> (Vec<Vec<String>>, String) {
    let output = run(folder, format!("--data data.csv --format csv {arguments}").trim_end());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect());
    (rows.collect(), said)
}

fn refusal(folder: &tempfile::TempDir, arguments: &str) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments} printed a result");
    String::from_utf8(output.stderr).unwrap()
}

/// Four rows in which everything happens, and one far away.
const MIXED: &str = "a,b,word\n1,NA,red\n2,5,blue\n4,x,red\n3,inf,\n";

#[test]
fn numbers_words_and_gaps_are_told_apart() {
    let (rows, said) = answer(&folder(MIXED), "");
    // 1, 2, 3, 4: mean 5/2, variance 5/3, type-7 quartiles 1.75, 2.5, 3.25.
    let a = ["a", "4", "0", "0", "4", "2.5", "1.2909944487358056", "1", "1.75", "2.5", "3.25", "4"];
    assert_eq!(rows[0], a);
    assert_eq!(rows[1], ["b", "3", "1", "2", "3", "5", "", "5", "5", "5", "5", "5"]);
    assert_eq!(rows[2], ["word", "3", "1", "3", "2", "", "", "", "", "", "", ""]);
    assert!(said.contains("b: 2 values are no finite number"), "{said}");
    let (rows, _) = answer(&folder(MIXED), "--ddof 0 --column word,a");
    assert_eq!([&rows[0][0], &rows[1][0], &rows[1][6]], ["word", "a", "1.118033988749895"]);
}

#[test]
fn rows_are_left_out_as_a_model_leaves_them_out() {
    let mut text = "x,y\n".to_owned();
    (0..30).for_each(|i| text += &format!("{},{}\n", i % 3, 1000 * (i % 2)));
    text += "100,1\n,5\n";
    let folder = folder(&text);
    let (rows, said) = answer(&folder, "--missing drop --outliers 3 --target y");
    assert_eq!(said, "left out: 1 rows with missing values, 1 outliers\n");
    assert_eq!([&rows[0][1], &rows[0][4], &rows[0][7], &rows[0][11]], ["30", "3", "0", "2"]);
    let model =
        "--data data.csv --missing drop --outliers 3 --target y --model linear --estimator pdp";
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    let fit = command.arg("effect").args(model.split(' ')).current_dir(folder.path());
    let message = String::from_utf8(fit.output().unwrap().stderr).unwrap();
    assert!(message.starts_with(&said), "{message}");
}

#[test]
fn histograms_hold_every_number() {
    let mut text = "even,few,same\n".to_owned();
    (0..1000).for_each(|i| text += &format!("{},{},7\n", i, i % 2));
    let folder = folder(&text);
    let (_, said) = answer(&folder, "--plot bars.svg --bars 10");
    assert!(said.is_empty(), "{said}");
    let drawn = std::fs::read_to_string(folder.path().join("bars.svg")).unwrap();
    // Ten bars of a hundred, two of five hundred, and one of a thousand, each with its outline.
    assert_eq!(drawn.matches("<polygon").count(), 13, "{drawn}");
}

#[test]
fn bad_input_is_named() {
    let there = folder(MIXED);
    for (arguments, words) in [
        ("--data absent.csv", vec!["absent.csv"]),
        ("--data data.csv --column c", vec!["no column `c`", "a, b, word"]),
        ("--data data.csv --column a,a", vec!["column a is asked for twice"]),
        ("--data data.csv --column a --ignore a", vec!["asked for and ignored"]),
        ("--data data.csv --ignore a,b,word", vec!["no column to describe"]),
        ("--data data.csv --outliers 0", vec!["must be above 0"]),
        ("--data data.csv --outliers 0.1", vec!["no row has all columns within 0.1"]),
        ("--data data.csv --ddof 2", vec!["2 is not in 0..=1"]),
        ("--data data.csv --target a", vec!["--outliers"]),
        ("--data data.csv --plot data.csv", vec!["NAME.svg"]),
        ("--data data.csv --column word --plot f.svg", vec!["0 columns of numbers"]),
        ("--data data.csv --bars 3", vec!["--plot"]),
    ] {
        let message = refusal(&there, arguments);
        assert!(words.iter().all(|word| message.contains(word)), "{arguments}: {message}");
    }
    let cases = [
        ("", "no header"),
        ("a,b\n", "no rows"),
        ("a,b\n1\n", "row 1: 1 field, and the header has 2"),
    ];
    for (text, words) in cases {
        let message = refusal(&folder(text), "--data data.csv");
        assert!(message.contains(words), "{text:?}: {message}");
    }
    let message = refusal(&folder("a,b\n1,\n,2\n"), "--data data.csv --missing drop");
    assert!(message.contains("missing in every row"), "{message}");
}
