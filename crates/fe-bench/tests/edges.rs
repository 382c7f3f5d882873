//! Every command where the system is in its way: arguments that are no text, streams that are closed or
//! full, folders that cannot be written. None panics, and none says that it is done when it is not.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Every command, with arguments that work in the folder of [`scene`]; OUT is a file or folder that it
/// makes.
const COMMANDS: &[&str] = &[
    "list scenarios",
    "list study.toml",
    "truth poly3 --effect pd --feature x1 --grid 3",
    "sample poly3 --n 5 --seed 1",
    "effect poly3 --n 50 --seed 1 --estimator ale --feature x1 --band analytic",
    "effect poly3 --n 50 --seed 1 --estimator pdp --feature x1 --plot OUT.svg",
    "describe --data more.csv --plot OUT.svg",
    "reconstruct poly3 --n 50 --seed 1 --estimator ale --plot OUT.svg",
    "truth liu-product --distance pd,ale --over rho=0,0.5 --plot OUT.svg",
    "agree --data more.csv --target b --model linear --n 50 --runs 2 --bins 2,3 --reference-bins 4",
    "score curves.csv --scenario poly3 --effect pd",
    "plan --data data.csv --estimator pdp --out OUT.csv",
    "finish query.csv --predictions answers.csv",
    "run study.toml --out OUT",
    "merge shard1 shard2 --out OUT",
    "table done",
    "compare done done",
    "plot done --out OUT",
    "report done --out OUT.html",
    "engines --engines engines.toml",
    "engines --engines engines.toml --try own:pdp --scenario poly3 --n 20",
    "league done",
    "new OUT.toml",
    "problem --seed 1 --index 3",
    "population problems",
    "manual OUT",
];

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
    command.stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &str) -> Output {
    program().args(arguments.split(' ')).current_dir(folder).output().unwrap()
}

/// A folder with whatever the commands read.
fn scene() -> TempDir {
    let scene = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(scene.path().join(name), text).unwrap();
    let study = "about = \"\"\n[[block]]\nscenario = \"poly3\"\nN = [50, 60, 70]\nreplicates = 2\n\
                 metrics = [\"mse\"]\nfeatures = [\"x1\"]\nestimator = [{name = \"pdp\"}, {name = \"ale\"}]\n";
    write("study.toml", study);
    let problems = "about = \"\"\n[[block]]\npopulation = { seed = 1, count = 3, features = [2, 2], dependence = [\"none\"] }\n\
                    features = [\"x1\"]\nN = [50]\nreplicates = 2\nmetrics = [\"mse\"]\n\
                    estimator = [{name = \"pdp\"}, {name = \"ale\"}]\n";
    write("problems.toml", problems);
    write("curves.csv", "feature,x,effect\nx1,-0.5,0\nx1,0,0.1\nx1,0.5,0.2\n");
    write("data.csv", "a,b\n1,2\n2,1\n3,5\n4,4\n");
    let row = |i: i32| format!("{},{}\n", f64::from(i) / 100.0, i * i % 17);
    write("more.csv", &("a,b\n".to_owned() + &(0..100).map(row).collect::<String>()));
    write(
        "engines.toml",
        "[[engine]]\nname = \"own\"\nabout = \"\"\nversion = [\"{fe-bench}\", \"--version\"]\n\
         run = [\"{fe-bench}\", \"serve\"]\neffects.pdp.truth = \"pd\"\n",
    );
    for command in [
        "run study.toml --out done",
        "run problems.toml --out problems",
        "run study.toml --shard 1/2 --out shard1",
        "run study.toml --shard 2/2 --out shard2",
        "plan --data data.csv --estimator pdp --out query.csv",
    ] {
        let output = run(scene.path(), command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let asked = fs::read_to_string(scene.path().join("query.csv")).unwrap().lines().count() - 1;
    write("answers.csv", &("prediction\n".to_owned() + &"1\n".repeat(asked)));
    scene
}

/// The commands, each with another name for what it makes.
fn commands() -> impl Iterator<Item = String> {
    COMMANDS.iter().enumerate().map(|(i, command)| command.replace("OUT", &format!("out{i}")))
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

fn is_no_panic(output: &Output, of: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0..=2)), "{of}: {:?}: {said}", output.status);
    assert!(!said.contains("a defect of the program"), "{of}: {said}");
}

#[test]
fn the_commands_of_these_tests_work() {
    let scene = scene();
    for command in commands() {
        let output = run(scene.path(), &command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
    }
    let help = String::from_utf8(run(scene.path(), "--help").stdout).unwrap();
    let tested =
        |name: &str| COMMANDS.iter().any(|command| command.split(' ').next() == Some(name));
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for name in names.take_while(|line| !line.is_empty()).filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|line| !line.starts_with(' '))
            .and_then(|l| l.split(' ').next())
    }) {
        assert!(tested(name) || ["check", "help"].contains(&name), "{name} is not tested here");
    }
}

#[test]
fn results_that_cannot_be_written_are_status_2() {
    let scene = scene();
    let prints_nothing = |command: &str| {
        let name = command.split(' ').next().unwrap();
        // What they make is in files.
        ["plot", "report", "merge", "new"].contains(&name) || command.contains("--plot")
    };
    for command in
        commands().chain(["--help".to_owned(), "--version".to_owned(), "run --help".to_owned()])
    {
        let output = program()
            .args(command.split(' '))
            .current_dir(scene.path())
            .stdout(full())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        is_no_panic(&output, &command);
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            assert!(prints_nothing(&command), "{command}: {said}");
        } else {
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(said.contains("standard output: No space left on device"), "{command}: {said}");
        }
    }
}

#[test]
fn without_standard_error_results_are_the_same() {
    let scene = scene();
    let plain: Vec<String> = commands().filter(|command| !command.contains("out")).collect();
    for command in &plain {
        let expected = run(scene.path(), command);
        let muted = program()
            .args(command.split(' '))
            .current_dir(scene.path())
            .stderr(full())
            .output()
            .unwrap();
        assert_eq!(muted.status.code(), Some(0), "{command}");
        // But for the seconds and the memory that an engine took.
        if !command.contains("--try") {
            assert!(muted.stdout == expected.stdout, "{command}");
        }
    }
    // All streams closed, and a refusal.
    for command in plain.iter().map(String::as_str).chain(["truth none --effect pd", "nonsense"]) {
        let script = format!("exec '{}' {command} <&- 2>&-", env!("CARGO_BIN_EXE_fe-bench"));
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &script]).current_dir(scene.path()).output().unwrap();
        let expected = if plain.iter().any(|of| of == command) { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{command}");
    }
}

/// Bytes that no text has.
fn not_text(before: &str) -> OsString {
    OsStr::from_bytes(&[before.as_bytes(), b"caf\xe9\x1b[31m.csv"].concat()).to_owned()
}

#[test]
fn arguments_that_are_not_utf_8_are_refused_or_used() {
    let scene = scene();
    fs::copy(scene.path().join("data.csv"), scene.path().join(not_text(""))).unwrap();
    for command in commands() {
        let words: Vec<&str> = command.split(' ').collect();
        // In the place of each argument, and behind all of them.
        for place in 1..=words.len() {
            let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
            match words.get_mut(place) {
                Some(word) => *word = not_text(""),
                None => words.push(not_text("--")),
            }
            let output = program().args(&words).current_dir(scene.path()).output().unwrap();
            let of = format!("{words:?}");
            is_no_panic(&output, &of);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains('\u{1b}'), "{of}: {said}");
            let records = ["run", "merge", "plan"].iter().any(|name| words[0] == *name);
            if records {
                assert_eq!(output.status.code(), Some(2), "{of}: {said}");
            }
            let left = fs::read_dir(scene.path()).unwrap().flatten();
            let left: Vec<OsString> = left.map(|entry| entry.file_name()).collect();
            let is_unfinished = |name: &OsString| {
                let name = name.to_string_lossy();
                name.contains("unfinished") || name.contains("merging")
            };
            assert!(!left.iter().any(is_unfinished), "{of} left {left:?}");
        }
    }
    // A file is a file, whatever its name.
    let mut data = program();
    data.args(["effect", "--estimator", "ale", "--target", "b", "--data"]);
    let output = data.arg(not_text("")).current_dir(scene.path()).output().unwrap();
    is_no_panic(&output, "effect --data");
}

#[test]
fn folders_that_cannot_be_written_are_status_2_with_their_name() {
    let scene = scene();
    // A file where a folder should be is in the way of every user, also of one who may do anything.
    fs::write(scene.path().join("file"), "").unwrap();
    for command in COMMANDS.iter().filter(|command| command.contains("OUT")) {
        for place in ["file/out", "/proc/out", "/dev/full/out"] {
            let command = command.replace("OUT", place);
            let output = run(scene.path(), &command);
            is_no_panic(&output, &command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(said.contains(place.rsplit_once('/').unwrap().0), "{command}: {said}");
        }
    }
    assert_eq!(fs::read(scene.path().join("file")).unwrap(), b"");
}

#[test]
fn no_more_threads_are_started_than_there_is_work_for() {
    let scene = scene();
    let output = run(scene.path(), "run study.toml --jobs 65535 --out many");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let cells = |folder: &str| fs::read(scene.path().join(folder).join("cells.csv")).unwrap();
    assert_eq!(cells("many"), cells("done"));
}
