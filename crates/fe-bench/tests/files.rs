//! Files and words of others: nothing is written over an input, nothing of them commands a terminal or a
//! page, and sizes are refused before they are written out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With a study and its results in the folder R.
    fn with_results(study: &str) -> Self {
        let scratch = Self::new();
        scratch.write("study.toml", study);
        scratch.answer(&["run", "study.toml", "--out", "R"]);
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Changes a file of results.
    fn change(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} lacks {from}");
        self.write(name, text.replace(from, to));
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        program.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    fn answer(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The message of a call that is refused with status 2 and leaves every file as it was.
    fn refusal(&self, arguments: &[&str], words: &[&str]) -> String {
        let before = self.files();
        let output = self.run(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
        for word in words {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
        assert_eq!(self.files(), before, "{arguments:?} changed files");
        message
    }

    /// Every file and folder with what is in it.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn of(folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_folder = path.is_dir() && !path.is_symlink();
                let bytes =
                    if is_folder { Vec::new() } else { std::fs::read(&path).unwrap_or_default() };
                all.insert(path.clone(), bytes);
                if is_folder {
                    of(&path, all);
                }
            }
        }
        let mut all = BTreeMap::new();
        of(self.0.path(), &mut all);
        all
    }
}

fn is_seen(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

const STUDY: &str = r#"
about = "Two sizes."
[[block]]
scenario = "liu-product"
N = [20, 40, 80]
replicates = 3
[[block.estimator]]
name = "ale"
bins = [3, 4, 5]
axis = "data"
"#;

const DATA: &str = "a,b\n1,2\n2,5\n3,1\n4,4\n5,3\n";

#[test]
fn no_input_is_written_over() {
    let scratch = Scratch::with_results(STUDY);
    scratch.write("d.csv", DATA);
    scratch.write("d.svg", DATA);
    scratch.write("q.csv.plan.json", DATA);
    let plan = |data: &str, out: &str| {
        let arguments = ["plan", "--data", data, "--estimator", "ale", "--out", out];
        scratch.refusal(&arguments, &["never overwritten"]);
    };
    plan("d.csv", "d.csv");
    plan("d.csv", "./R/../d.csv");
    plan("q.csv.plan.json", "q.csv");
    let model =
        ["effect", "--data", "d.svg", "--model", "linear", "--target", "b", "--estimator", "ale"];
    scratch.refusal(&[&model[..], &["--plot", "d.svg"]].concat(), &["never overwritten"]);
    scratch.refusal(&[&model[..], &["--plot", "d.gif"]].concat(), &["NAME.svg"]);
    for page in ["R/cells.csv", "R/page.html", "R/../R/page.html"] {
        scratch.refusal(&["report", "R", "--out", page], &["never changes"]);
    }
    for folder in ["R", "R/figures", "R/new/../figures"] {
        scratch.refusal(&["plot", "R", "--out", folder], &["R"]);
    }
    scratch.refusal(&["run", "study.toml", "--out", "R"], &["never overwritten"]);
    scratch.refusal(&["report", "R", "--out", "nowhere/page.html"], &["nowhere"]);
    scratch.refusal(&["report", "R", "--out", "R"], &["is a folder"]);
}

#[cfg(unix)]
#[test]
fn not_through_links_either() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::with_results(STUDY);
    scratch.write("d.csv", DATA);
    symlink(scratch.path("d.csv"), scratch.path("soft.csv")).unwrap();
    std::fs::hard_link(scratch.path("d.csv"), scratch.path("hard.csv")).unwrap();
    symlink(scratch.path("R"), scratch.path("L")).unwrap();
    symlink(scratch.path("nowhere"), scratch.path("dangling")).unwrap();
    for (data, out) in [("soft.csv", "d.csv"), ("d.csv", "soft.csv"), ("d.csv", "hard.csv")] {
        let arguments = ["plan", "--data", data, "--estimator", "ale", "--out", out];
        scratch.refusal(&arguments, &["never overwritten"]);
    }
    scratch.refusal(&["report", "R", "--out", "L/page.html"], &["never changes"]);
    scratch.refusal(&["report", "L", "--out", "R/cells.csv"], &["never changes"]);
    // Seen before anything is run.
    scratch.refusal(&["run", "study.toml", "--out", "dangling"], &["leads nowhere"]);
    scratch.refusal(&["run", "study.toml", "--out", "dangling", "--resume"], &["leads nowhere"]);
    scratch.refusal(&["merge", "R", "--out", "dangling"], &["leads nowhere"]);
    scratch.refusal(&["plot", "R", "--out", "dangling"], &["leads nowhere"]);
    scratch.refusal(&["report", "R", "--out", "dangling"], &["leads nowhere"]);
}

#[test]
fn a_foreign_folder_is_not_taken_for_a_journal() {
    let scratch = Scratch::with_results(STUDY);
    for out in ["R", "new"] {
        let foreign = format!("{out}.unfinished");
        std::fs::create_dir(scratch.path(&foreign)).unwrap();
        scratch.write(&format!("{foreign}/thesis.tex"), "years of work");
        for more in [&[][..], &["--resume"]] {
            let arguments = [&["run", "study.toml", "--out", out], more].concat();
            scratch.refusal(&arguments, &[]);
        }
        scratch.refusal(
            &["run", "study.toml", "--out", out, "--resume"],
            &["thesis.tex", "left alone"],
        );
    }
}

#[test]
fn folders_may_end_with_a_slash() {
    let scratch = Scratch::with_results(STUDY);
    scratch.answer(&["run", "study.toml", "--out", "S/"]);
    assert_eq!(scratch.read("R/cells.csv"), scratch.read("S/cells.csv"));
    scratch.answer(&["run", "study.toml", "--out", "S/", "--resume"]);
    for shard in ["1/2", "2/2"] {
        let out = format!("part{}/", &shard[..1]);
        scratch.answer(&["run", "study.toml", "--shard", shard, "--out", &out]);
    }
    scratch.answer(&["merge", "part1/", "part2/", "--out", "M/"]);
    assert_eq!(scratch.read("R/summary.csv"), scratch.read("M/summary.csv"));
    for command in ["table", "plot", "report", "league"] {
        scratch.answer(&[command, "M/"]);
    }
    scratch.answer(&["compare", "M/", "S/"]);
    let names: Vec<String> = std::fs::read_dir(scratch.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = ["study.toml", "R", "S", "part1", "part2", "M", "M-figures", "M.html"];
    assert!(names.iter().all(|name| expected.contains(&name.as_str())), "{names:?}");
    assert_eq!(names.len(), expected.len());
}

#[cfg(target_os = "linux")]
#[test]
fn data_from_a_pipe_are_read_once() {
    let scratch = Scratch::new();
    scratch.write("d.csv", DATA);
    let plan = |data: &str, out: &str| {
        let program = env!("CARGO_BIN_EXE_fe-bench");
        let command =
            format!("'{program}' plan --data {data} --estimator ale --feature a --out {out}");
        let mut shell = Command::new("bash");
        let output = shell.args(["-c", &command]).current_dir(scratch.0.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let plan: Value = serde_json::from_str(&scratch.read(&format!("{out}.plan.json"))).unwrap();
        plan["data_sha256"].as_str().unwrap().to_owned()
    };
    assert_eq!(plan("<(cat d.csv)", "pipe.csv"), plan("d.csv", "file.csv"));
    assert_eq!(scratch.read("pipe.csv"), scratch.read("file.csv"));
    let questions = scratch.read("pipe.csv").lines().count();
    scratch.write("answers.csv", "y\n".to_owned() + &"1\n".repeat(questions - 1));
    let finish = ["finish", "pipe.csv", "--predictions", "answers.csv", "--data", "d.csv"];
    scratch.answer(&finish);
    scratch.write("d.csv", DATA.replace('5', "6"));
    scratch.refusal(&finish, &["not the data"]);
}

#[test]
fn measures_of_bands_are_made_of_kept_curves() {
    let study = |keep: &str| {
        format!(
            "about = \"a\"\n[[block]]\nscenario = \"nonlinear\"\nfeatures = [\"x1\"]\nN = 40\n\
             replicates = 4\ngrid = 5\nmetrics = [\"coverage\"]\n{keep}\n[[block.estimator]]\n\
             name = \"ale\"\nband = \"analytic\"\n"
        )
    };
    let scratch = Scratch::with_results(&study("keep = [\"curves\"]"));
    let table = scratch.answer(&["table", "R", "--bands", "--format", "csv"]);
    let names = "empirical_se,model_se,relative_error,bias_eliminated_coverage,power";
    for name in names.split(',') {
        assert!(table.contains(&format!(",{name},")), "{table}");
        scratch.answer(&["table", "R", "--bands", "--metric", name]);
    }
    scratch.refusal(&["table", "R", "--bands", "--decomposition"], &["--decomposition"]);
    scratch.refusal(&["table", "R", "--bands", "--metric", "coverage"], &["coverage"]);
    scratch.write("study.toml", study(""));
    scratch.answer(&["run", "study.toml", "--out", "N"]);
    scratch.refusal(&["table", "N", "--bands"], &["keeps no curves with bands", "`keep"]);
}

#[test]
fn intervals_of_all_datasets_are_drawn_by_their_distance_from_the_truth() {
    let study = |replicates: usize, more: &str| {
        format!(
            "about = \"a\"\n[[block]]\nscenario = \"nonlinear\"\nfeatures = [\"x1\", \"x2\"]\nN = 40\n\
             replicates = {replicates}\ngrid = 5\nkeep = [\"curves\"]\n[[block.estimator]]\nname = \"ale\"\n{more}\n"
        )
    };
    let scratch = Scratch::with_results(&study(12, "band = \"analytic\"\nlevel = 0.8"));
    let drawn = scratch.answer(&["plot", "R", "--kind", "zip", "--where", "feature=x1"]);
    assert_eq!(drawn.trim(), "R-figures/study_zip_nonlinear_x1.svg");
    let picture = scratch.read("R-figures/study_zip_nonlinear_x1.svg");
    for words in ["x1 = 0.5", "of 12 cover", "nominal level", "interval − truth"] {
        assert!(picture.contains(words), "{words}");
    }
    let at_the_end = ["plot", "R", "--kind", "zip", "--at", "0.9", "--out", "E"];
    assert_eq!(scratch.answer(&at_the_end).lines().count(), 2);
    assert!(scratch.read("E/study_zip_nonlinear_x1.svg").contains("x1 = 1"));
    scratch.refusal(&["plot", "R", "--at", "0.9"], &["--at needs --kind zip"]);
    scratch
        .refusal(&["plot", "R", "--kind", "zip", "--at", "nan"], &["--at must be a finite number"]);
    // Not by themselves.
    assert!(!scratch.answer(&["plot", "R", "--out", "ALL"]).contains("zip"));
    for (name, replicates, band) in [("few", 9, "band = \"analytic\""), ("none", 12, "")] {
        scratch.write("study.toml", study(replicates, band));
        scratch.answer(&["run", "study.toml", "--out", name]);
        scratch.refusal(&["plot", name, "--kind", "zip"], &["ten datasets", "keep"]);
    }
}

#[test]
fn reports_have_the_tables_of_decompositions_and_failures() {
    let study = |axis: &str| {
        format!(
            "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nN = 30\nreplicates = 3\n\
             keep = [\"decomposition\"]\n[[block.model]]\nname = \"linear\"\n\
             [[block.estimator]]\nname = \"ale\"\n{axis}\n\
             [[table]]\ntitle = \"Parts\"\nrows = [\"feature\"]\ncolumns = [\"metric\"]\n\
             where = {{ metric = [\"bias2\", \"variance\"] }}\n"
        )
    };
    let scratch = Scratch::with_results(&study(""));
    scratch.answer(&["report", "R"]);
    let page = scratch.read("R.html");
    assert!(page.contains("Parts") && page.contains("<th scope=\"col\">bias2</th>"));
    // No row of the data lies there.
    scratch.write("study.toml", study("axis = [1e9, 2e9]"));
    let output = scratch.run(&["run", "study.toml", "--out", "F"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("no value could be computed: ") && message.contains("no row"),
        "{message}"
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("| x1      | – (3 failed) | – (3 failed) |"), "{printed}");
    assert_eq!(scratch.answer(&["table", "F"]), printed);
    scratch.answer(&["report", "F"]);
    assert!(scratch.read("F.html").contains("– (3 failed)"));
    assert!(!scratch.path("F.unfinished").exists());
}

#[test]
fn sizes_are_refused_before_they_are_written_out() {
    let scratch = Scratch::new();
    let refused = |block: &str, estimator: &str, words: &[&str]| {
        let text = format!(
            "about = \"a\"\n[[block]]\nscenario = \"snc\"\n{block}\n[[block.estimator]]\n\
             name = \"ale\"\n{estimator}\n"
        );
        scratch.write("study.toml", text);
        for arguments in [&["list", "study.toml"][..], &["run", "study.toml", "--out", "R"]] {
            scratch.refusal(arguments, &[&["study.toml"], words].concat());
        }
    };
    let model = "[[block.model]]\nname = \"linear\"";
    let with =
        |split: &str, n: &str| format!("N = {n}\nreplicates = 2\nsplit = [\"{split}\"]\n{model}");
    refused(&with("cv:9223372036854775807", "60"), "", &["cv:9223372036854775807 of 60 rows"]);
    refused(&with("cv:100000000", "60"), "", &["cv:100000000 of 60 rows"]);
    refused(&with("cv:100", "60"), "", &["`N` = 60", "cv:100 of 60 rows", "rows in every part"]);
    refused(&with("cv:5000", "1_000_000"), "", &["50 million"]);
    refused(&with("validation:0.99", "20"), "", &["validation:0.99 of 20 rows"]);
    refused(&with("train", "9_223_372_036_854_775_807"), "", &["`N` = 9223372036854775807"]);
    refused("N = 9_223_372_036_854_775_807\nreplicates = 1", "", &["must be from 1 to"]);
    let fresh = format!("N = 1_000_000\nreplicates = 2\nfresh = 10_000\n{model}");
    refused(&fresh, "", &["`fresh` = 10000 with `N` = 1000000"]);
    let range = "{ from = 1, to = 1_000_000 }";
    refused(&format!("N = {range}\nreplicates = 1"), "", &["values", "at most 250000"]);
    let options = format!("bins = {range}\nmin_points = {range}\nstep = {range}");
    refused("N = 20\nreplicates = 1", &options, &["2000000000000000000 values", "at most 250000"]);
    let set = format!("set = {{ rho = {range}, b = {range} }}");
    refused(
        &format!("N = 20\nreplicates = 1\n{set}"),
        "",
        &["1000000000000 combinations of scenarios"],
    );
    refused("N = 20\nreplicates = 9_223_372_036_854_775_807", "", &["datasets: must be at most"]);
    let many = "N = { from = 1, to = 500 }\nreplicates = 20_000";
    refused(many, "bins = { from = 1, to = 20 }", &["values", "on all datasets"]);
    refused(
        "N = 20\nreplicates = 1",
        "band = \"bootstrap\"\nresamples = 10_000_000",
        &["`resamples`"],
    );
}

#[test]
fn features_are_named_once_and_without_a_sign() {
    let scratch = Scratch::new();
    scratch.write("d.csv", DATA);
    let effect =
        ["effect", "friedman1", "--n", "30", "--seed", "1", "--estimator", "ale", "--feature"];
    for (feature, words) in [
        ("x1,x1", "x1 is asked for twice"),
        ("x1,1", "x1 is asked for twice"),
        ("x+1", "feature `x+1`"),
    ] {
        scratch.refusal(&[&effect[..], &[feature]].concat(), &["--feature", words]);
        scratch.refusal(&["truth", "friedman1", "--effect", "pd", "--feature", feature], &[words]);
    }
    let plan = ["plan", "--data", "d.csv", "--estimator", "ale", "--out", "q.csv", "--feature"];
    scratch.refusal(&[&plan[..], &["a,x1"]].concat(), &["a is asked for twice"]);
    scratch.refusal(&[&plan[..], &["+1"]].concat(), &["feature `+1`"]);
}

#[test]
fn words_of_others_command_nothing() {
    let scratch = Scratch::with_results(STUDY);
    let hostile = "\u{1b}[31m<script>alert(1)</script>|a\u{9b}2J\u{202e}\u{fffe}";
    // As somebody might who wants to be read.
    let manifest = scratch.read("R/manifest.json");
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    let spec = serde_json::json!({
        "title": hostile, "rows": ["estimator", "K"], "columns": ["metric", "N"], "where": { "feature": "x1" }
    });
    manifest["studies"][0]["study"]["table"] = serde_json::json!([spec]);
    manifest["studies"][0]["study"]["about"] = hostile.into();
    manifest["command"] = serde_json::json!(["fe-bench", "run", "a b", "it's", hostile]);
    manifest["git_commit"] = "$(reboot)".into();
    scratch.write("R/manifest.json", manifest.to_string());
    for file in ["R/cells.csv", "R/timings.csv"] {
        scratch.change(file, ",ale,", &format!(",\"{hostile}\n\",",));
    }
    for arguments in [&["table", "R"][..], &["compare", "R", "R"], &["league", "R"], &["plot", "R"]]
    {
        let output = scratch.run(arguments);
        let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
        assert!(output.status.success(), "{arguments:?}: {err:?}");
        assert!(is_seen(&out.unwrap()) && is_seen(&err.unwrap()), "{arguments:?}");
    }
    let table = scratch.answer(&["table", "R"]);
    assert!(
        table.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\|a") && !table.contains('\u{202e}')
    );
    let lines: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(lines.len(), 2 + 3, "{table}");
    scratch.answer(&["report", "R"]);
    let page = scratch.read("R.html");
    assert!(is_seen(&page) && !page.contains("<script>alert"));
    assert!(page.contains("git checkout '$(reboot)'") && page.contains("'a b' 'it'\\''s' $'"));
    assert!(page.contains("is not as it was written"));
    for figure in std::fs::read_dir(scratch.path("R-figures")).unwrap() {
        let svg = std::fs::read_to_string(figure.unwrap().path()).unwrap();
        assert!(is_seen(&svg) && !svg.contains('\u{fffe}') && !svg.contains("<script>"));
    }
    // Messages, too, and they are short.
    let long = "long ".repeat(20_000);
    scratch.write("d.csv", format!("a,{hostile}\n1,2\n2,\"{hostile}\n{long}\"\n"));
    let plan = ["plan", "--data", "d.csv", "--estimator", "ale", "--out", "q.csv"];
    let message = scratch.refusal(&plan, &["row 2", "is not a finite number"]);
    assert!(is_seen(&message) && message.len() < 2000 && message.lines().count() == 1, "{message}");
    let message = scratch.refusal(&["list", &format!("{hostile}{long}")], &["cannot be listed"]);
    assert!(is_seen(&message) && message.len() < 10_000, "{message}");
}

/// Names of files are words of others too: manifests and plans hold the command that made them.
#[test]
fn no_file_holds_what_commands_a_terminal() {
    let scratch = Scratch::new();
    let folder = "r\u{9b}2J\u{202e}";
    scratch.write("study.toml", STUDY);
    scratch.answer(&["run", "study.toml", "--out", folder, "--shard", "1/1"]);
    let shard = format!("{folder}.shard-1-of-1");
    let whole = if scratch.path(&shard).exists() { shard } else { folder.to_owned() };
    scratch.answer(&["merge", &whole, "--out", "all\u{9b}"]);
    scratch.write("d.csv", "a,b,y\n1,2,3\n4,5,6\n7,9,8\n");
    scratch.answer(&[
        "plan",
        "--data",
        "d.csv",
        "--target",
        "y",
        "--estimator",
        "ale",
        "--out",
        "q\u{9b}.csv",
    ]);
    let mut manifests = 0;
    for (path, bytes) in scratch.files() {
        let text = String::from_utf8(bytes).unwrap();
        assert!(is_seen(&text) && !text.contains('\u{202e}'), "{}", path.display());
        if path.ends_with("manifest.json") {
            let manifest: Value = serde_json::from_str(&text).unwrap();
            assert!(manifest["command"].to_string().contains('\u{9b}'), "{text}");
            manifests += 1;
        }
    }
    assert_eq!(manifests, 2);
}

#[test]
fn spreadsheets_compute_nothing() {
    let scratch = Scratch::new();
    let study = "about = \"a\"\n[[block]]\nscenario = \"liu-product\"\nN = [20, 30, 40]\nreplicates = 3\n\
                 keep = [\"curves\", \"decomposition\"]\n[[block.model]]\nname = \"linear\"\n\
                 label = \"@SUM(A1)\"\n[[block.estimator]]\nname = \"ale\"\nbins = 3\n";
    scratch.write("=1+1.toml", study);
    scratch.answer(&["run", "=1+1.toml", "--out", "R"]);
    for shard in ["1/2", "2/2"] {
        scratch.answer(&["run", "=1+1.toml", "--shard", shard, "--out", &shard[..1]]);
    }
    scratch.answer(&["merge", "1", "2", "--out", "M"]);
    for file in ["cells.csv", "summary.csv", "curves.csv", "decomposition.csv"] {
        let text = scratch.read(&format!("R/{file}"));
        assert_eq!(text, scratch.read(&format!("M/{file}")), "{file}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for record in reader.records() {
            let record = record.unwrap();
            assert_eq!(&record[0], "'=1+1");
            let computed = |field: &str| {
                field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err()
            };
            assert!(!record.iter().any(computed), "{record:?}");
        }
    }
    // They are read back as they were.
    let table =
        scratch.answer(&["table", "R", "--rows", "study,pair", "--cols", "feature,metric,N"]);
    assert!(table.contains("| =1+1  | @SUM(A1):theoretical |"), "{table}");
    let csv = scratch.answer(&["table", "R", "--study", "=1+1", "--format", "csv"]);
    assert!(csv.contains(",'@SUM(A1):theoretical,") && csv.contains(",'=1+1,"), "{csv}");
    assert!(scratch.answer(&["compare", "R", "M"]).contains("12 numbers: 12 same."));
    scratch.answer(&["report", "R"]);
    // A file of that name is no option.
    std::fs::rename(scratch.path("=1+1.toml"), scratch.path("-x.toml")).unwrap();
    scratch.answer(&["run", "./-x.toml", "--out", "D"]);
    scratch.answer(&["report", "D"]);
    assert!(scratch.read("D.html").contains(" -- run ./-x.toml --seed 0"));
}

#[test]
fn only_numbers_are_merged() {
    let scratch = Scratch::new();
    let study = STUDY.replace("replicates = 3", "replicates = 3\nkeep = [\"curves\", \"bins\"]");
    scratch.write("study.toml", study);
    for shard in ["1/2", "2/2"] {
        scratch.answer(&["run", "study.toml", "--shard", shard, "--out", &shard[..1]]);
    }
    // What says how they were written.
    let manifest = scratch.read("1/manifest.json");
    let mut bare: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(bare["files"].as_object().unwrap().len(), 5);
    bare.as_object_mut().unwrap().remove("files");
    for file in ["cells.csv", "curves.csv", "bins.csv", "timings.csv"] {
        let name = format!("1/{file}");
        let text = scratch.read(&name);
        let line = text.lines().nth(1).unwrap();
        let place = line.rmatch_indices(|c: char| c.is_ascii_digit()).next().unwrap().0;
        // Another number is found out by its sum, something else without.
        for (digit, manifest) in
            [("x", bare.to_string()), ("7", manifest.clone()), ("8", manifest.clone())]
        {
            let changed = format!("{}{digit}{}", &line[..place], &line[place + 1..]);
            if changed == line {
                continue;
            }
            scratch.write("1/manifest.json", manifest);
            scratch.write(&name, text.replacen(line, &changed, 1));
            scratch.refusal(&["merge", "1", "2", "--out", "M"], &[&name]);
        }
        scratch.write(&name, &text);
    }
    scratch.write("1/manifest.json", bare.to_string());
    scratch.change("1/cells.csv", ",20,", ",40,");
    scratch.refusal(&["merge", "1", "2", "--out", "M"], &["1/cells.csv", "another dataset"]);
}

#[test]
fn results_that_are_not_as_they_were_written_are_refused_or_said() {
    let scratch = Scratch::with_results(STUDY);
    let cells = scratch.read("R/cells.csv");
    let lines: Vec<&str> = cells.lines().collect();
    let refused = |text: String, words: &[&str]| {
        scratch.write("R/cells.csv", text);
        for command in ["table", "plot", "report", "league"] {
            scratch.refusal(&[command, "R"], &[&["cells.csv"], words].concat());
        }
        scratch.refusal(&["compare", "R", "R"], words);
    };
    refused(String::new(), &["columns are not"]);
    refused(lines[0].to_owned() + "\n", &["no value in it"]);
    refused(
        [&lines[..3], &lines[2..]].concat().join("\n"),
        &["line 4", "dataset 0 stands behind dataset 0"],
    );
    refused(cells.replacen(",ok", "", 1), &["found record with"]);
    let value = lines[1].split(',').nth(19).unwrap();
    for (wrong, words) in
        [("NaN", "`NaN`"), ("inf", "not a finite"), ("", "status is `ok`"), ("1,2", "record")]
    {
        refused(cells.replacen(value, wrong, 1), &[words]);
    }
    refused(cells.replacen(",0,", ",first,", 1), &["number of a dataset"]);
    // What could be so is said.
    scratch.write("R/cells.csv", lines[..lines.len() - 1].join("\n"));
    let output = scratch.run(&["table", "R"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && message.contains("cells.csv is not as it was written"),
        "{message}"
    );
    scratch.write("R/cells.csv", &cells);
    assert!(scratch.run(&["table", "R"]).stderr.is_empty());
}

#[test]
fn figures_have_an_end() {
    let scratch = Scratch::new();
    let rows = |scale: &str| {
        let row = |i: i32| format!("{}{scale},{}\n", i, i % 3);
        format!("a,b\n{}", (-8..9).map(row).collect::<String>())
    };
    for scale in ["e307", "e300", "e-320", "e17"] {
        scratch.write("d.csv", rows(scale));
        let effect =
            ["effect", "--data", "d.csv", "--model", "linear", "--target", "b", "--estimator"];
        let output = scratch.run(&[&effect[..], &["pdp", "--plot", "f.svg"]].concat());
        assert!([Some(0), Some(2)].contains(&output.status.code()), "{scale}");
    }
    let wide = |columns: usize| {
        let line = |value: &dyn Fn(usize) -> String| {
            (0..columns).map(value).collect::<Vec<_>>().join(",") + "\n"
        };
        let header = line(&|i| format!("c{i}"));
        let rows = (0..9).map(|row| line(&|i| format!("{}", (row * (i % 6 + 1) + i) % 7)));
        header + &rows.collect::<String>()
    };
    // The constant has no effect, which is found out as soon as anything is estimated.
    let constant =
        |line: (usize, &str)| format!("{},{}\n", line.1, if line.0 == 0 { "c" } else { "1" });
    scratch.write("d.csv", wide(400).lines().enumerate().map(constant).collect::<String>());
    let effect =
        ["effect", "--data", "d.csv", "--model", "linear", "--target", "c0", "--estimator"];
    let png = [&effect[..], &["ale", "--bins", "2", "--axis", "data", "--plot", "f.png"]].concat();
    let message = scratch.refusal(&png, &["too large for this kind of image", "pixels"]);
    assert!(!message.contains("left out"), "{message}");
}
