//! Scenarios in files, as a user names them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

const MINE: &str = r#"
about = "a threshold and a correlated feature"
f = "if(temp < t, 5*abs(flow - c), 2*temp)"
[parameters]
c = 0.5
t = { default = 0.2, from = 0, to = 1 }
[law]
temp = "normal(0, 1)"
flow = "temp + normal(0, 0.3)"
"#;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

/// Standard output of a call that must succeed.
fn answer(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a call that must end with status 2 and print nothing on standard output.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    message
}

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), text).unwrap();
    folder
}

#[test]
fn a_file_stands_where_a_scenario_does_and_its_names_are_printed() {
    let folder = folder_with(MINE);
    let at = folder.path();
    let truth = ["truth", "mine.toml", "--effect", "ale", "--feature", "flow", "--grid", "3"];
    let rows = answer(at, &truth);
    assert!(rows.contains("mine@1,flow,ale,"), "{rows}");
    let by_number =
        answer(at, &["truth", "mine.toml", "--effect", "ale", "--feature", "x2", "--grid", "3"]);
    assert_eq!(rows, by_number);
    let changed = answer(at, &[&truth[..], &["--set", "c=2"]].concat());
    assert_ne!(rows, changed);
    let sample = answer(at, &["sample", "mine.toml", "--n", "5", "--seed", "1"]);
    assert!(sample.starts_with("temp,flow,y\n"), "{sample}");
    let effect =
        ["effect", "mine.toml", "--n", "100", "--seed", "1", "--estimator", "ale", "--bins", "5"];
    let effects = answer(at, &effect);
    assert!(
        effects.contains("\"feature\": \"temp\"") || effects.contains("\"feature\":\"temp\""),
        "{effects}"
    );
    std::fs::write(at.join("curve.csv"), "feature,x,effect\ntemp,0,1\ntemp,1,2\n").unwrap();
    let score = answer(
        at,
        &["score", "curve.csv", "--scenario", "mine.toml", "--effect", "pd", "--format", "csv"],
    );
    assert!(score.contains("mine@1,temp,pd,mse"), "{score}");
    let unknown = refusal(at, &["truth", "mine.toml", "--effect", "pd", "--feature", "flwo"]);
    assert!(unknown.contains("temp, flow") && unknown.contains("did you mean `flow`"), "{unknown}");
}

#[test]
fn faults_of_a_file_are_told_with_line_and_column() {
    let folder = folder_with(&MINE.replace("abs(flow", "abs(flwo"));
    let message = refusal(folder.path(), &["truth", "mine.toml", "--values"]);
    assert!(
        message.starts_with("fe-bench: mine.toml:3:25: unknown name `flwo` (nearest: `flow`)"),
        "{message}"
    );
    let message = refusal(folder.path(), &["sample", "other.toml", "--n", "5", "--seed", "1"]);
    assert!(message.contains("other.toml"), "{message}");
    let folder = folder_with(MINE);
    let message = refusal(folder.path(), &["truth", "mine.toml", "--values", "--set", "t=2"]);
    assert!(message.contains("`t` of `mine` is `2`; allowed: a number from 0 to 1"), "{message}");
    let message = refusal(folder.path(), &["truth", "mine.toml", "--values", "--set", "d=2"]);
    assert!(message.contains("no parameter `d`") && message.contains("c, t"), "{message}");
}

#[test]
fn new_writes_a_scenario_that_runs_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    answer(at, &["new", "own.toml"]);
    let values =
        answer(at, &["truth", "own.toml", "--effect", "pd", "--feature", "temp", "--grid", "2"]);
    assert!(values.contains("own@1,temp,pd,"), "{values}");
    assert!(refusal(at, &["new", "own.toml"]).contains("own.toml"));
    assert!(refusal(at, &["new", "own"]).contains("must end in .toml"));
}

const STUDY: &str = r#"
about = "a study of an own problem"
[[block]]
scenario = "problems/mine.toml"
set = { c = [0.5, 1] }
features = ["flow"]
N = 100
replicates = 3
grid = 20
[[block.estimator]]
name = "ale"
bins = 5
"#;

fn study_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("studies/problems")).unwrap();
    std::fs::write(folder.path().join("studies/problems/mine.toml"), MINE).unwrap();
    std::fs::write(folder.path().join("studies/own.toml"), STUDY).unwrap();
    folder
}

#[test]
fn studies_read_files_beside_them_and_results_keep_their_text() {
    let folder = study_folder();
    let at = folder.path();
    for shard in ["1/2", "2/2"] {
        let out = format!("shard{}", &shard[..1]);
        answer(at, &["run", "studies/own.toml", "--seed", "3", "--out", &out, "--shard", shard]);
    }
    answer(at, &["run", "studies/own.toml", "--seed", "3", "--out", "whole"]);
    let manifest = std::fs::read_to_string(at.join("whole/manifest.json")).unwrap();
    assert!(manifest.contains("5*abs(flow - c)"), "{manifest}");
    let cells = std::fs::read_to_string(at.join("whole/cells.csv")).unwrap();
    assert!(
        cells.contains("mine@1") && cells.contains("c=1;t=0.2") && cells.contains(",flow,"),
        "{cells}"
    );
    // What is merged needs no file any more.
    std::fs::remove_file(at.join("studies/problems/mine.toml")).unwrap();
    answer(at, &["merge", "shard1", "shard2", "--out", "merged"]);
    assert_eq!(cells, std::fs::read_to_string(at.join("merged/cells.csv")).unwrap());
}

#[test]
fn a_file_and_a_built_in_scenario_of_one_name_and_version_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let own = "f = \"x1 + x2^2\"\n[law]\nx1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\n";
    std::fs::write(at.join("liu-additive.toml"), own).unwrap();
    let study = STUDY.replace("set = { c = [0.5, 1] }\n", "").replace("flow", "x2");
    for (name, scenario) in [("own", "liu-additive.toml"), ("built-in", "liu-additive")] {
        let study = study.replace("problems/mine.toml", scenario);
        std::fs::write(at.join("study.toml"), study).unwrap();
        answer(at, &["run", "study.toml", "--seed", "3", "--out", name]);
    }
    for (first, second) in [("own", "built-in"), ("built-in", "own")] {
        let message = refusal(at, &["compare", first, second]);
        assert!(
            message.contains("`liu-additive@1` is that of a file in one of the runs"),
            "{message}"
        );
    }
}

#[test]
fn what_was_published_is_held_against_the_truths() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let own = "f = \"x1^2\"\n[law]\nx1 = \"uniform(0, 1)\"\n[[published]]\nby = \"a book\"\nmean = 0.33\n";
    std::fs::write(at.join("own.toml"), own).unwrap();
    let said = answer(at, &["check", "own.toml", "--quick", "--all"]);
    assert!(said.contains("published mean 0.33"), "{said}");
    std::fs::write(at.join("own.toml"), own.replace("0.33", "0.34")).unwrap();
    let output = run(at, &["check", "own.toml", "--quick"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("published mean 0.34") && said.contains("failed"), "{said}");
}

#[test]
fn a_changed_file_under_the_same_name_and_version_is_refused() {
    let folder = study_folder();
    let at = folder.path();
    let run = |out: &str, more: &[&str]| {
        let base = ["run", "studies/own.toml", "--seed", "3", "--out", out];
        [&base[..], more].concat().iter().map(|part| (*part).to_owned()).collect::<Vec<String>>()
    };
    let go = |command: Vec<String>| {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        answer(at, &words);
    };
    go(run("first", &[]));
    go(run("a", &["--shard", "1/2"]));
    std::fs::write(at.join("studies/problems/mine.toml"), MINE.replace("5*abs", "6*abs")).unwrap();
    go(run("second", &[]));
    go(run("b", &["--shard", "2/2"]));
    let message = refusal(at, &["compare", "first", "second"]);
    assert!(message.contains("`mine@1` says different things"), "{message}");
    let message = refusal(at, &["merge", "a", "b", "--out", "merged"]);
    assert!(message.contains("not shards of one run"), "{message}");
    let changed = format!("version = 2\n{}", MINE.replace("5*abs", "6*abs"));
    std::fs::write(at.join("studies/problems/mine.toml"), changed).unwrap();
    go(run("third", &[]));
    // Another version is another scenario: there is nothing to compare.
    let message = refusal(at, &["compare", "first", "third"]);
    assert!(message.contains("no number in common"), "{message}");
}

#[test]
fn values_that_are_refused_are_said_and_the_others_answered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The derivative has a pole in 0, so that the integral of its square is infinite.
    let text = "f = \"sqrt(x1)*x2\"\n[law]\nx1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\n";
    std::fs::write(at.join("pole.toml"), text).unwrap();
    let output = run(at, &["truth", "pole.toml", "--values", "--feature", "x1"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let rows = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("ale.integral of x1") && said.contains("may be infinite"), "{said}");
    assert!(rows.contains("pole@1,x1,,ale.integral,,,refused"), "{rows}");
    assert!(rows.contains("pole@1,x1,,pdp.mean,0.00"), "{rows}");
}

#[test]
fn a_file_is_checked_by_a_second_quadrature_and_by_simulation() {
    let folder = folder_with(MINE);
    let output = answer(folder.path(), &["check", "mine.toml", "--quick"]);
    assert!(output.contains("by a second quadrature"), "{output}");
    let told = run(
        folder.path(),
        &["truth", "mine.toml", "--effect", "pd", "--feature", "flow", "--grid", "2", "--explain"],
    );
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("term 1 reads temp, flow: breaks along temp at 0.2"), "{told}");
}

#[test]
fn random_problems_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = answer(at, &["problem", "--seed", "1", "--index", "17"]);
    assert_eq!(text, answer(at, &["problem", "--seed", "1", "--index", "17"]));
    assert_ne!(text, answer(at, &["problem", "--seed", "1", "--index", "18"]));
    std::fs::write(at.join("drawn.toml"), text).unwrap();
    let values = answer(at, &["truth", "drawn.toml", "--effect", "pd", "--grid", "2"]);
    assert!(values.contains("drawn@1"), "{values}");
    let few = ["problem", "--seed", "1", "--index", "0", "--set", "features=[2,2]"];
    let law = answer(at, &[&few[..], &["--set", "dependence=[\"none\"]"]].concat());
    assert!(law.contains("x2 = ") && !law.contains("x3 = "), "{law}");
    for (set, message) in [
        ("features=[0,2]", "features"),
        ("jumps=2", "jumps"),
        ("jump=0.1", "jump"),
        ("seed=3", "the seed is given by --seed"),
        ("margins=[\"cauchy\"]", "cauchy"),
    ] {
        let said = refusal(at, &["problem", "--seed", "1", "--index", "0", "--set", set]);
        assert!(said.contains(message), "{said}");
    }
}

const POPULATION: &str = r#"
about = "a population"
[[block]]
population = { seed = 1, count = 12, features = [2, 3], dependence = ["none"], margins = ["uniform"] }
N = 100
replicates = 2
grid = 10
[[block.estimator]]
name = "ale"
bins = [5, 10]
"#;

#[test]
fn studies_have_populations_of_problems() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("study.toml"), POPULATION).unwrap();
    answer(at, &["run", "study.toml", "--seed", "3", "--out", "all"]);
    let cells = std::fs::read_to_string(at.join("all/cells.csv")).unwrap();
    assert!(cells.contains("random-1-0@1") && cells.contains("random-1-11@1"), "{cells}");
    // The folder has all that it takes to run it again, in parts.
    for part in ["1/2", "2/2"] {
        let out = format!("part{}", &part[..1]);
        answer(at, &["run", "study.toml", "--seed", "3", "--out", &out, "--shard", part]);
    }
    answer(at, &["merge", "part1", "part2", "--out", "merged"]);
    assert_eq!(cells, std::fs::read_to_string(at.join("merged/cells.csv")).unwrap());
    let wins = answer(at, &["population", "all", "--format", "csv"]);
    assert!(wins.starts_with("N,first,second,problems,first_lower"), "{wins}");
    assert!(wins.contains("\n100,") && wins.contains(",12,"), "{wins}");
    // An interval of a share of twelve problems is no point, whatever it is of.
    for row in wins.lines().skip(1) {
        let numbers: Vec<f64> = row.split(',').skip(4).map(|x| x.parse().unwrap()).collect();
        let (share, low, high) = (numbers[0], numbers[1], numbers[2]);
        assert!(0.0 <= low && low <= share && share <= high && high <= 1.0, "{row}");
        assert!(high - low > 0.2, "{row}");
    }
    let why = answer(at, &["population", "all", "--what", "regression", "--format", "csv"]);
    assert!(why.contains("interaction_share") && why.contains("mean problem"), "{why}");
    let ratios = answer(at, &["population", "all", "--what", "ratios", "--format", "csv"]);
    assert!(ratios.contains(" / "), "{ratios}");
    let properties = answer(at, &["population", "all", "--what", "properties", "--format", "csv"]);
    assert_eq!(properties.lines().count(), 13, "{properties}");
    let errors = answer(at, &["population", "all", "--what", "errors", "--format", "csv"]);
    assert!(
        errors.starts_with("problem,N,estimator,log10_error\nrandom-1-0@1,100,ale fixed 5,-"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 25, "{errors}");
}

#[test]
fn populations_that_there_are_not_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (from, to, message) in [
        ("count = 12", "count = 0", "`count` must be a whole number from 1"),
        ("count = 12, ", "", "there is no `count`"),
        ("seed = 1", "sed = 1", "sed"),
        ("features = [2, 3]", "features = [3, 2]", "features"),
        ("N = 100", "scenario = \"friedman1\"\nN = 100", "in place of `scenario`"),
        ("population", "set.a = 1 #", "there is no `scenario`"),
    ] {
        std::fs::write(at.join("study.toml"), POPULATION.replacen(from, to, 1)).unwrap();
        if from == "population" {
            let text = POPULATION.replace("population = {", "set = {} # {");
            std::fs::write(at.join("study.toml"), text).unwrap();
        }
        let said = refusal(at, &["run", "study.toml", "--seed", "3", "--out", "none"]);
        assert!(said.contains(message), "{from}: {said}");
        assert!(!at.join("none").exists());
    }
}

/// The study of docs/own-problem.md, of the file that `new` writes.
#[test]
fn the_study_of_the_page_runs_as_it_stands() {
    let page = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/own-problem.md"),
    );
    let page = page.unwrap();
    let study = page.split("# study.toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("study.toml"), study).unwrap();
    answer(at, &["new", "mine.toml"]);
    let table = answer(at, &["run", "study.toml", "--out", "results"]);
    assert!(
        table.contains("Error of the effect of temp") && table.contains("penalized"),
        "{table}"
    );
}
