//! The commands of docs/tutorial.md, run one after the other, and what the page says of their answers; and those of the front
//! page.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

/// The blocks of a document in a language, without their fences.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Runs a command of the program in a folder: its standard output.
fn run(command: &str, folder: &Path) -> String {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("fe-bench"), "{command}");
    let program = env!("CARGO_BIN_EXE_fe-bench");
    let output = Command::new(program).args(words).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_runs_and_answers_what_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let text = std::fs::read_to_string(page).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let studies = blocks(&text, "toml");
    assert_eq!(studies.len(), 1);
    assert!(text.contains("as `bins.toml`"));
    std::fs::write(folder.join("bins.toml"), &studies[0]).unwrap();
    let study: toml::Table = toml::from_str(&studies[0]).unwrap();
    let lines = blocks(&text, "sh").join("");
    let commands: Vec<&str> = lines
        .lines()
        .map(|line| line.split('#').next().unwrap().trim())
        .filter(|line| !line.is_empty() && !line.starts_with("cargo install"))
        .collect();
    assert!(commands.len() > 7, "{commands:?}");
    for command in commands {
        let answer = run(command, folder);
        let word = command.split_whitespace().nth(1).unwrap();
        match word {
            "truth" => check_truth(&answer, &text),
            "effect" => assert!(folder.join("ale.svg").exists()),
            "run" if command.contains("--dry-run") => {
                assert!(answer.contains("seconds"), "{answer}");
            }
            "run" => check_table(&answer, &study),
            "plot" => assert!(answer.lines().any(|path| path.contains("error-by-K"))),
            "report" => assert!(folder.join(answer.trim()).exists(), "{answer}"),
            "table" => assert!(answer.contains("\\begin{tabular}"), "{answer}"),
            "list" => assert!(!answer.is_empty()),
            other => panic!("nothing is known of what the page says of `{other}`"),
        }
    }
    assert!(folder.join("bins/cells.csv").exists());
}

/// Eleven places, under the names that the page explains, and bounds as small as it says.
fn check_truth(answer: &str, page: &str) {
    let mut lines = answer.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    for name in ["value", "abs_error", "method"] {
        assert!(page.contains(&format!("`{name}`")) && header.contains(&name), "{header:?}");
    }
    let place = header.iter().position(|name| *name == "abs_error").unwrap();
    let rows: Vec<f64> = lines
        .map(|line| line.split(',').nth(place).unwrap())
        .filter_map(|field| field.parse().ok())
        .collect();
    assert_eq!(rows.len(), 11, "{answer}");
    let largest = rows.iter().copied().fold(0.0, f64::max);
    assert!(page.contains("some 1e-11") && (1e-12..1e-10).contains(&largest), "{largest}");
}

/// A row for each number of bins and one for `rhale`, a column for each N, means with standard errors, and
/// the lowest in bold.
fn check_table(answer: &str, study: &toml::Table) {
    let block = &study["block"][0];
    let estimators = block["estimator"].as_array().unwrap();
    let count = |estimator: &toml::Value| {
        estimator.get("bins").and_then(toml::Value::as_array).map_or(1, Vec::len)
    };
    let rows: Vec<&str> = answer.lines().filter(|line| line.starts_with("| ")).collect();
    let of_study: usize = estimators.iter().map(count).sum();
    // A header, and a rule below it.
    assert_eq!(rows.len(), 2 + of_study, "{answer}");
    let columns: Vec<&str> = rows[0].trim_matches('|').split('|').map(str::trim).collect();
    for size in block["N"].as_array().unwrap() {
        assert!(columns.contains(&format!("N\u{a0}=\u{a0}{size}").as_str()), "{columns:?}");
    }
    let marked = rows.iter().map(|row| row.matches("**").count()).sum::<usize>();
    assert_eq!(marked, 2 * block["N"].as_array().unwrap().len(), "{answer}");
    assert!(rows[2..].iter().all(|row| row.matches('±').count() == 2), "{answer}");
}

/// The shell knows the program by its name, and the files that commands name are there or made before.
#[cfg(unix)]
#[test]
fn every_command_of_the_front_page_runs_in_a_fresh_copy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let text = std::fs::read_to_string(root.join("README.md")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    for folder in ["docs", "scenarios"] {
        std::os::unix::fs::symlink(root.join(folder), scratch.path().join(folder)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_fe-bench"));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path =
        [program.parent().unwrap().to_owned()].into_iter().chain(std::env::split_paths(&others));
    let path = std::env::join_paths(path).unwrap();
    let lines = blocks(&text, "sh").join("");
    let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(
        lines.contains(
            &"cargo install --locked --path crates/fe-bench # puts fe-bench on your path"
        )
    );
    // What is built, or takes long: their files are there, which other tests read.
    let is_left_out = |line: &&&str| {
        ["cargo ", "pip ", "fe-bench run scenarios/*.toml", "fe-bench engines"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let commands: Vec<&&str> =
        lines.iter().filter(|line| !is_left_out(line) && !line.is_empty()).collect();
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", command]).env("PATH", &path).current_dir(scratch.path());
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        // Where an effect is estimated, there is something to see.
        assert!(
            !output.stdout.is_empty() || command.contains('>') || command.contains("--plot"),
            "{command}"
        );
    }
    for made in ["results/runs/demo/cells.csv", "rhale.svg", "pair.svg", "iris.svg", "answers.csv"]
    {
        assert!(scratch.path().join(made).exists(), "{made}");
    }
}
