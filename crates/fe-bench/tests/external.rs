//! Engines that run as processes: what becomes of each kind of misbehaviour, and of good answers.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use fe_bench::data::sample;
use fe_bench::engines::{
    Answer, Asks, Engines, External, Failure, INDICES, Place, Repetitions, Status, Workspace,
};
use fe_bench::score::comparison::Comparison;
use fe_bench::score::pairs::{ComparingPairs, PairTruths};
use fe_bench::score::{Comparing, Metric, Truths};
use fe_core::AxisChoice;
use fe_core::indices::Index;
use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/external/misbehaving.sh");
const ADAPTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/adapters");

/// Faults that the adapter is asked for, and what is to come of each.
const MISBEHAVIOURS: &[(&str, Status, &str)] = &[
    ("crash", Status::Crash, "exit status: 3: it is broken"),
    ("silent", Status::Crash, "without an answer"),
    ("deaf", Status::Timeout, "no answer within 1 s"),
    ("not-a-number", Status::NonFinite, "`effect` has NaN at place 2"),
    ("bare-nan", Status::Malformed, "expected"),
    ("short", Status::Short, "`effect` has 1 values for 2 of `x`"),
    ("short-file", Status::Short, "7 bytes are no multiple of 8"),
    ("other-folder", Status::Malformed, "without a folder"),
    ("no-file", Status::Malformed, "none.f64"),
    ("empty", Status::Short, "there is no curve"),
    ("falling", Status::Malformed, "1 is followed by -1"),
    ("no-times", Status::Short, "`samples` has 0 values"),
    ("negative-time", Status::Malformed, "`samples` has -1"),
    ("wrong-probe", Status::WrongProbe, "but the function is"),
    ("no-probe", Status::WrongProbe, "`probe` has 0 values for 16 rows"),
    ("wrong-version", Status::WrongVersion, "`protocol` = 2, but this is version 1"),
    ("no-version", Status::WrongVersion, "`protocol` = null"),
    ("stale", Status::Malformed, "the reply is to request 0"),
    ("chatter", Status::Malformed, "begins `fitting the model ...`"),
    ("unknown-key", Status::Malformed, "unknown field `effects`"),
    ("endless", Status::Malformed, "begins `000000"),
    ("unsupported", Status::Unsupported, "not for me"),
    ("error", Status::Error, "ValueError: no"),
    ("undeclared", Status::Unsupported, "the engine bad has no effect `undeclared`"),
];

/// A file that declares engines, in a folder of its own.
fn declared(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("engines.toml");
    fs::write(&file, text).unwrap();
    (folder, file)
}

fn misbehaving(effects: &[&str], time_limit: f64) -> (TempDir, PathBuf) {
    let mut text = format!(
        "[[engine]]\nname = \"bad\"\nabout = \"misbehaves\"\nversion = [\"sh\", \"-c\", \"echo 1.0\"]\n\
         run = [\"sh\", '{SCRIPT}']\ntime_limit = {time_limit}\n"
    );
    for effect in effects {
        text += &format!("[engine.effects.{effect}]\ntruth = \"pd\"\nheterogeneity = \"h-pdp\"\n");
    }
    declared(&text)
}

fn external(engine: &str, effect: &str, options: serde_json::Value) -> External {
    let options = options.as_object().cloned().unwrap_or_default();
    let of = Asks::Feature;
    External { engine: engine.to_owned(), effect: effect.to_owned(), of, options }
}

/// Asks about x1 of 50 rows.
fn ask(engines: &Engines, scenario: &str, external: &External) -> Result<Answer, Failure> {
    let scenario = fe_truth::scenario(scenario, &[]).unwrap();
    let data = sample::features(&scenario, 3, 50, 0).unwrap();
    let once = Repetitions { most: 1, seconds: 0.0 };
    let workspace = Workspace::new(engines, &scenario, &data, once);
    let grid = [-0.9, 0.0, 0.5, 0.9];
    workspace.ask(external, Place { feature: 0, axis: AxisChoice::Given(-1.0, 1.0), grid: &grid })
}

#[test]
fn every_misbehaviour_is_a_status() {
    let names: Vec<&str> =
        MISBEHAVIOURS.iter().map(|(name, ..)| *name).filter(|name| *name != "undeclared").collect();
    let (_folder, file) = misbehaving(&[&names[..], &["good"]].concat(), 1.0);
    for (effect, status, reason) in MISBEHAVIOURS {
        // A time limit is for what is to run into it; others may be slow on a machine that is busy.
        let patient = misbehaving(&[&names[..], &["good"]].concat(), 60.0);
        let file = if *status == Status::Timeout { &file } else { &patient.1 };
        let engines = Engines::read(file).unwrap();
        let failure =
            ask(&engines, "null-feature", &external("bad", effect, ().into())).unwrap_err();
        assert_eq!(failure.status, *status, "{effect}: {failure}");
        assert!(failure.reason.contains(reason), "{effect}: {failure}");
        assert!(failure.to_string().starts_with(&format!("{status}: ")), "{failure}");
        // The engine goes on, by another process if it must.
        ask(&engines, "null-feature", &external("bad", "good", ().into())).unwrap();
    }
}

#[test]
fn a_good_answer_is_read() {
    let (_folder, file) = misbehaving(&["good"], 60.0);
    let engines = Engines::read(&file).unwrap();
    let answer = ask(&engines, "null-feature", &external("bad", "good", ().into())).unwrap();
    assert_eq!((answer.curve.x(), answer.curve.y()), (&[-1.0, 1.0][..], &[0.0, 0.0][..]));
    // Medians.
    assert_eq!((answer.taken.seconds, answer.taken.model_seconds), (0.5, 0.125));
    assert_eq!(answer.model_rows, 7);
    if cfg!(target_os = "linux") {
        let peak = answer.taken.peak_bytes.unwrap();
        assert!((100_000..1_000_000_000).contains(&peak), "{peak} bytes");
    }
}

#[test]
fn a_time_limit_ends_all_that_a_process_has_started() {
    let (folder, file) = misbehaving(&["hang"], 2.0);
    let engines = Engines::read(&file).unwrap();
    let pid_file = folder.path().join("pid");
    let options = serde_json::json!({ "pid_file": pid_file });
    let failure = ask(&engines, "null-feature", &external("bad", "hang", options)).unwrap_err();
    assert_eq!(failure.status, Status::Timeout);
    let pid = fs::read_to_string(pid_file).unwrap();
    let alive = || {
        // A process that has ended and was not waited for yet is alive no more.
        let state = Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output();
        let state = state.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
        state.is_ok_and(|state| !state.is_empty() && !state.starts_with('Z'))
    };
    let until = Instant::now() + Duration::from_secs(20);
    while alive() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!alive(), "the process {} still runs", pid.trim());
}

#[test]
fn what_cannot_be_started_is_unsupported() {
    let (_folder, file) = declared(
        "[[engine]]\nname = \"absent\"\nabout = \"\"\nversion = [\"./none\"]\nrun = [\"./none\"]\n\
         effects.pdp.truth = \"pd\"\n\
         [[engine]]\nname = \"broken\"\nabout = \"\"\nversion = [\"sh\", \"-c\", \"echo no library >&2; exit 1\"]\n\
         run = [\"sh\"]\neffects.pdp.truth = \"pd\"\n",
    );
    let engines = Engines::read(&file).unwrap();
    for (engine, reason) in [("absent", "`./none` cannot be started"), ("broken", "no library")] {
        let failure = ask(&engines, "poly3", &external(engine, "pdp", ().into())).unwrap_err();
        assert_eq!(failure.status, Status::Unsupported);
        assert!(failure.reason.contains(reason), "{failure}");
    }
}

#[test]
fn a_tried_engine_is_heard() {
    let (folder, _file) = misbehaving(&["crash", "good"], 60.0);
    let tried = |effect: &str| {
        let asked = format!("bad:{effect}");
        let file = ["--engines", "engines.toml", "--scenario", "null-feature"];
        fe_bench(folder.path(), &[&["estimators", "--try", &asked], &file[..]].concat())
    };
    let output = tried("crash");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("first line\nit is broken\n") && said.contains("bad:crash: crash: "));
    let output = tried("good");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["status"], &answer["truth"]), (&"ok".into(), &"pd".into()));
}

#[test]
fn binnings_that_are_not_declared_are_unsupported() {
    let (_folder, file) = misbehaving(&["good"], 60.0);
    let engines = Engines::read(&file).unwrap();
    let options = serde_json::json!({ "binning": "dp" });
    let failure = ask(&engines, "null-feature", &external("bad", "good", options)).unwrap_err();
    assert_eq!(failure.to_string(), "unsupported: `binning` = \"dp\": it has none to choose");
}

#[test]
fn declarations_that_make_no_sense_are_refused() {
    let engine = |change: &str| {
        let text = "[[engine]]\nname = \"a\"\nabout = \"\"\nversion = [\"a\"]\nrun = [\"a\"]\n\
                    effects.pdp.truth = \"pd\"\n";
        let (from, to) = change.split_once("=>").unwrap();
        assert!(text.contains(from) || from.is_empty(), "{from}");
        text.replacen(from, to, 1)
    };
    for (text, reason) in [
        (engine("run = [\"a\"]=>run = []"), "`run` is empty"),
        (engine("\"a\"=>\"a b\""), "`name`: must be of letters"),
        (engine("\"pd\"=>\"h-pdp\""), "`truth` = h-pdp: must be pd"),
        (engine("\"pd\"=>\"pdd\""), "unknown variant `pdd`"),
        (engine("effects.pdp.truth = \"pd\"=>effects = {}"), "`effects` is empty"),
        (engine("run ==>time_limit = 0.0\nrun ="), "`time_limit` = 0"),
        (engine("run ==>timelimit = 3\nrun ="), "unknown field `timelimit`"),
        (engine("=>").repeat(2), "two engines are called `a`"),
        (
            engine("\"pd\"=>\"pd\"\npairs.pdp.truth = \"mplot\""),
            "`truth` = mplot: must be pd or ale",
        ),
        (engine("\"pd\"=>\"pd\"\npairs.ale = { truth = \"ale\", interaction = true }"), "anyway"),
        (engine("\"pd\"=>\"pd\"\nindices = [\"h2pair\"]"), "did you mean `h2.pair`"),
        (engine("\"pd\"=>\"pd\"\nindices = [\"permutation\"]"), "permutation has no truth"),
        (engine("\"pd\"=>\"pd\"\nindices = [\"dgsm\", \"dgsm\"]"), "dgsm is there twice"),
        (engine("\"pd\"=>\"pd\"\neffects.pdp.heterogeneity = \"mu\""), "`heterogeneity` = mu"),
    ] {
        let (_folder, file) = declared(&text);
        let error = Engines::read(&file).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("engines.toml"), "{error}");
    }
}

/// Runs the program in a folder.
fn fe_bench(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_fe-bench");
    Command::new(program).args(arguments).current_dir(folder).output().unwrap()
}

/// The rows of a file of results, each as its columns by name.
fn rows(folder: &Path, file: &str) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_path(folder.join(file)).unwrap();
    let header = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        header.iter().zip(&record).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn without(row: &[(String, String)], columns: &[&str]) -> Vec<(String, String)> {
    row.iter().filter(|(name, _)| !columns.contains(&name.as_str())).cloned().collect()
}

fn of<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    row.iter().find(|(name, _)| name == column).map_or("", |(_, value)| value)
}

/// Every estimator, with and without options: through the boundary and in process.
#[test]
fn own_estimators_give_the_same_bits_through_the_boundary() {
    let scratch = tempfile::tempdir().unwrap();
    let estimators = [
        "name = \"pdp\"",
        "name = \"pdp\"\naxis = \"data\"\ngrid = 30",
        "name = \"dpdp\"\ngrid = 17",
        "name = \"mplot\"",
        "name = \"ale\"\nbins = 7",
        "name = \"ale\"\nbinning = \"quantile-min\"\nmin_points = 9\naxis = \"data\"",
        "name = \"dale\"\nbins = 13\nclosed = \"right\"",
        "name = \"rhale\"",
        "name = \"shapdp\"\nbackground = 30",
    ];
    for (out, engine) in [("own", ""), ("served", "engine = \"fe-core\"\n")] {
        let mut study = "about = \"\"\n[[block]]\nscenario = [\"sin-indicator\", \"friedman1\"]\n\
                         N = 120\nreplicates = 2\nfeatures = [\"x1\", \"x3\"]\nkeep = [\"curves\"]\n\
                         metrics = [\"mse\", \"mae\", \"max\", \"heterogeneity_mse\"]\n"
            .to_owned();
        for estimator in estimators {
            study += &format!("[[block.estimator]]\n{engine}{estimator}\n");
        }
        fs::write(scratch.path().join("study.toml"), study).unwrap();
        let engines = format!("{ADAPTERS}/engines.toml");
        let arguments = ["run", "study.toml", "--out", out, "--engines", &engines];
        let output = fe_bench(scratch.path(), &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let [own, served] = ["own", "served"].map(|out| scratch.path().join(out));
    let differ = ["estimator", "binning", "K", "centring", "empty_bins", "options"];
    for file in ["cells.csv", "curves.csv"] {
        let (own, served) = (rows(&own, file), rows(&served, file));
        assert_eq!(own.len(), served.len());
        let mut compared = 0;
        for (own, served) in own.iter().zip(&served) {
            assert_eq!(of(served, "estimator"), format!("fe-core:{}", of(own, "estimator")));
            // Heterogeneity without a truth is told in other words; that of differences has one on bins, which
            // an engine does not tell.
            let is_known = |row: &[(String, String)]| of(row, "status") == "ok";
            if file == "cells.csv" && !(is_known(own) && is_known(served)) {
                assert!(of(own, "metric") == "heterogeneity_mse", "{own:?}");
                assert!(!is_known(served) && is_known(own) == (of(own, "estimator") == "ale"));
                continue;
            }
            assert_eq!(without(own, &differ), without(served, &differ));
            compared += 1;
        }
        assert!(compared > 150, "{file}: {compared} rows");
    }
    let peak = rows(&served, "timings.csv").iter().all(|row| !of(row, "peak_bytes").is_empty());
    assert!(peak || !cfg!(target_os = "linux"));
    assert!(rows(&own, "timings.csv").iter().all(|row| of(row, "peak_bytes").is_empty()));
}

/// Effects of pairs and indices: through the boundary and in process.
#[test]
fn pairs_and_indices_give_the_same_bits_through_the_boundary() {
    let scratch = tempfile::tempdir().unwrap();
    let pairs = [
        "name = \"pdp\"",
        "name = \"pdp\"\ngrid = 5\naxis = \"data\"",
        "name = \"ale\"\nbins = 4",
        "name = \"ale\"\nbinning = \"quantile\"\nbins = 3",
    ];
    let indices = [
        "indices = [\"h2.pair\", \"sobol.total\", \"additive.r2.pd\", \"dgsm\"]",
        "indices = [\"ale2.sd\", \"ale.sd\"]\nbins = 6",
        "indices = [\"h2.overall\", \"h2.pair.share\"]\nouter = 30\nbackground = 40\nbackground_seed = 3",
    ];
    let block = "[[block]]\nscenario = [\"poly3\", \"friedman1\"]\nN = 120\nreplicates = 2\n";
    for (out, engine) in [("own", ""), ("served", "engine = \"fe-core\"\n")] {
        let mut study = format!(
            "about = \"\"\n{block}features = [\"x1:x2\", \"x3:x1\"]\ngrid = 6\nmetrics = [\"mse\", \"max\"]\n"
        );
        for estimator in pairs {
            study += &format!("[[block.estimator]]\n{engine}{estimator}\n");
        }
        study += &format!(
            "{block}features = [\"x1\", \"x3\", \"x1:x2\", \"x3:x1\"]\n\
             metrics = [\"index_error\", \"coverage\", \"width\"]\n"
        );
        for estimator in indices {
            study += &format!("[[block.estimator]]\n{engine}{estimator}\n");
        }
        fs::write(scratch.path().join("study.toml"), study).unwrap();
        let engines = format!("{ADAPTERS}/engines.toml");
        let output =
            fe_bench(scratch.path(), &["run", "study.toml", "--out", out, "--engines", &engines]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let [own, served] = ["own", "served"].map(|out| rows(&scratch.path().join(out), "cells.csv"));
    assert_eq!(own.len(), served.len());
    let differ = ["estimator", "binning", "K", "centring", "empty_bins", "options"];
    let mut compared = 0;
    for (own, served) in own.iter().zip(&served) {
        assert_eq!(of(served, "estimator"), format!("fe-core:{}", of(own, "estimator")));
        // Why an index has no estimate, or no interval, is not told through the boundary.
        if of(own, "status") != "ok" {
            assert_ne!(of(served, "status"), "ok", "{own:?}");
            continue;
        }
        assert_eq!(without(own, &differ), without(served, &differ));
        compared += 1;
    }
    // Of pairs 4 estimators, 2 pairs, 2 metrics; of indices 17, by 3 metrics, but for widths that are none.
    assert!(compared > 2 * 2 * (16 + 30), "{compared} of {}", own.len());
    let timings = rows(&scratch.path().join("served"), "timings.csv");
    assert_eq!(timings.len(), 2 * 2 * (4 * 2 + 3));
}

/// Engines that answer about pairs and indices what they should not.
#[test]
fn answers_about_pairs_and_indices_are_checked() {
    const ENGINE: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    probe = [3 * row[0] + 2 * row[1] ** 2 for row in asked["probe"]]
    reply = {"protocol": 1, "id": asked["id"], "status": "ok", "samples": [0.5], "model_samples": [0.25],
             "model_rows": 7, "probe": probe}
    if asked.get("indices"):
        assert asked["effect"] == "indices" and asked["feature"] == ""
        names = [of["index"] + ":" + ":".join(of["features"]) for of in asked["indices"]]
        assert names == ["h2.pair:x2:x1", "pd.sd:x1", "additive.r2.pd:"], names
        reply |= {"indices": [0.5, None, 1.0], "lower": [0.25, None, None], "upper": [0.75, None, 1.0]}
    else:
        assert (asked["feature"], asked["feature2"], asked["points"], asked["points2"]) == ("x2", "x1", 3, 2)
        assert asked["axis"] == [-1.0, 1.0] and "axis2" not in asked
        reply |= {"x": [0.0, 1.0], "x2": [0.0, 0.5, 1.0], "effect": [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]}
    reply |= asked["options"]
    reply.pop("level", None)
    reply |= {"level": reply.pop("told")} if "told" in reply else {}
    print(json.dumps({key: value for key, value in reply.items() if value != "none"}), flush=True)
"#;
    let (folder, file) = declared(
        "[[engine]]\nname = \"small\"\nabout = \"\"\nversion = [\"python3\", \"--version\"]\n\
         run = [\"python3\", \"small.py\"]\npairs.pdp.truth = \"pd\"\n\
         indices = [\"h2.pair\", \"pd.sd\", \"additive.r2.pd\"]\n",
    );
    fs::write(folder.path().join("small.py"), ENGINE).unwrap();
    let engines = Engines::read(&file).unwrap();
    if engines.version("small").is_err() {
        println!("skipped: there is no python3");
        return;
    }
    let scenario = fe_truth::scenario("alibi-additive", &[]).unwrap();
    let data = sample::features(&scenario, 3, 50, 0).unwrap();
    let once = Repetitions { most: 1, seconds: 0.0 };
    let workspace = Workspace::new(&engines, &scenario, &data, once);
    let place = |feature, axis, grid| Place { feature, axis, grid };
    let pair = |options: serde_json::Value| {
        let asked = External { of: Asks::Pair, ..external("small", "pdp", options) };
        let first = place(1, AxisChoice::Given(-1.0, 1.0), &[0.0, 0.5, 1.0][..]);
        workspace.ask_pair(&asked, [first, place(0, AxisChoice::Data, &[0.0, 1.0])])
    };
    let indices = |options: serde_json::Value| {
        let all =
            [(Index::H2Pair, vec![1, 0]), (Index::PdSd, vec![0]), (Index::AdditiveR2Pd, vec![])];
        let of = Asks::Indices(all.iter().map(|(index, _)| *index).collect());
        workspace.ask_indices(&External { of, ..external("small", INDICES, options) }, &all)
    };
    let good = pair(().into()).unwrap();
    assert_eq!(good.surface.features, [1, 0]);
    // Bilinear, the first feature's points outside.
    assert_eq!(good.surface.at([0.5, 0.25]).unwrap(), 5.5);
    assert_eq!((good.taken.seconds, good.surface.record.model_rows), (0.5, 7));
    let good = indices(().into()).unwrap();
    assert_eq!(good.values, [Some(0.5), None, Some(1.0)]);
    assert_eq!(good.intervals, [Some((0.25, 0.75)), None, None]);
    // The level of a band: what the engine tells, what it was asked for, or the usual one.
    let limits = r#""lower": [0, 0, 0, 0, 0, 0], "upper": [9, 9, 9, 99, 99, 99]"#;
    let level = |options: &str| {
        let options = serde_json::from_str(&format!("{{{limits}{options}}}")).unwrap();
        pair(options).unwrap().surface.confidence.unwrap().record
    };
    assert_eq!((level("").level, level("").kind), (0.95, None));
    assert_eq!(level(r#", "told": 0.8"#).level, 0.8);
    assert_eq!(level(r#", "level": 0.9"#).level, 0.9);
    assert_eq!(level(r#", "level": 0.9, "told": 0.9"#).level, 0.9);
    assert_eq!(indices(serde_json::json!({ "told": 0.8 })).unwrap().level, Some(0.8));
    assert_eq!(good.level, None);
    let wrong = |options: &str, status: Status, reason: &str| {
        let options: serde_json::Value = serde_json::from_str(options).unwrap();
        let is_pair = !options.as_object().unwrap().contains_key("indices");
        let failure = match is_pair {
            true => pair(options).unwrap_err(),
            false => indices(options).unwrap_err(),
        };
        assert_eq!(failure.status, status, "{failure}");
        assert!(failure.reason.contains(reason), "{failure}");
    };
    wrong(r#"{"x2": "none"}"#, Status::Short, "`x2` is missing");
    wrong(r#"{"x2": [0, 1, 0.5]}"#, Status::Malformed, "`x2` does not increase");
    wrong(r#"{"x2": []}"#, Status::Short, "`x2` is empty");
    wrong(r#"{"effect": [0, 1, 2, 3, 4]}"#, Status::Short, "5 values for 6 pairs of `x` and `x2`");
    wrong(r#"{"effect": [0, 1, 2, null, 4, 5]}"#, Status::NonFinite, "`effect` has NaN at place 4");
    wrong(r#"{"lower": [1, 1, 1, 1, 1, 1]}"#, Status::Malformed, "one of them is missing");
    wrong(r#"{"probe": [1]}"#, Status::WrongProbe, "`probe` has 1 values");
    wrong(r#"{"indices": "none"}"#, Status::Short, "`indices` is missing");
    wrong(r#"{"indices": [1, 2]}"#, Status::Short, "2 values for 3 that were asked for");
    let crossed = r#"{"indices": [1, 2, 3], "lower": [1, 1, 1], "upper": [2, 0, 2]}"#;
    wrong(crossed, Status::Malformed, "`lower` = 1 is above `upper` = 0 at place 2");
    wrong(r#"{"indices": [1, 2, 3], "probe": [1]}"#, Status::WrongProbe, "`probe` has 1 values");
    wrong(r#"{"told": 95}"#, Status::Malformed, "`level` is 95: must be strictly between");
    wrong(r#"{"told": 0}"#, Status::Malformed, "`level` is 0: must be strictly between");
    let other = "the band is of the level 0.95, and 0.9 was asked for";
    wrong(r#"{"told": 0.95, "level": 0.9}"#, Status::Unsupported, other);
    let other = r#"{"indices": [1, 2, 3], "told": 0.95, "level": 0.9}"#;
    wrong(other, Status::Unsupported, "0.9 was asked for");
    let binning = serde_json::json!({ "binning": "dp" });
    assert!(pair(binning).unwrap_err().reason.contains("it has none to choose"));
    let undeclared = External { of: Asks::Pair, ..external("small", "ale", ().into()) };
    let failure = workspace
        .ask_pair(
            &undeclared,
            [place(0, AxisChoice::Data, &[0.0]), place(1, AxisChoice::Data, &[0.0])],
        )
        .unwrap_err();
    assert_eq!(failure.status, Status::Unsupported);
    assert!(failure.reason.contains("no effect of pairs `ale`; it has pdp"), "{failure}");
    let of = Asks::Indices(vec![Index::Dgsm]);
    let undeclared = External { of, ..external("small", INDICES, ().into()) };
    let failure = workspace.ask_indices(&undeclared, &[(Index::Dgsm, vec![0])]).unwrap_err();
    assert!(failure.reason.contains("no index `dgsm`"), "{failure}");
}

/// The engines of this machine that answer about pairs and indices, against their truths.
#[test]
fn installed_engines_of_pairs_and_indices_are_near_their_truth() {
    let engines = Engines::read(Path::new(&format!("{ADAPTERS}/engines.toml"))).unwrap();
    let scenario = fe_truth::scenario("poly3", &[]).unwrap();
    let data = sample::features(&scenario, 5, 400, 0).unwrap();
    let once = Repetitions { most: 1, seconds: 0.0 };
    let workspace = Workspace::new(&engines, &scenario, &data, once);
    let truths = PairTruths::default();
    let grid: Vec<f64> = (0..9).map(|i| f64::from(i) / 5.0 - 0.8).collect();
    for engine in engines.all() {
        if let Err(reason) = engines.version(&engine.name) {
            println!("skipped {}: {reason}", engine.name);
            continue;
        }
        for effect in engine.pairs.keys() {
            let asked = External { of: Asks::Pair, ..external(&engine.name, effect, ().into()) };
            let place = |feature| Place { feature, axis: AxisChoice::Data, grid: &grid };
            let answer = workspace.ask_pair(&asked, [place(1), place(0)]).unwrap();
            let comparing = ComparingPairs {
                points: [&grid, &grid],
                grid: [&grid, &grid],
                comparison: Comparison::Centred,
            };
            let score = truths.score(&scenario, &answer.surface, comparing, "max".parse().unwrap());
            // x1 x2 and x1² are at most 1 there, and cells are a tenth of the range wide.
            assert!(score.value.unwrap() < 0.2, "{} {effect}: {score:?}", engine.name);
        }
        let names: Vec<Index> = engine.indices.iter().map(|name| name.parse().unwrap()).collect();
        let mut all = Vec::new();
        for &index in &names {
            all.push((index, vec![0, 1][..index.order()].to_vec()));
        }
        if all.is_empty() {
            continue;
        }
        let asked =
            External { of: Asks::Indices(names), ..external(&engine.name, INDICES, ().into()) };
        let answer = workspace.ask_indices(&asked, &all).unwrap();
        for ((index, of), value) in all.iter().zip(answer.values) {
            let truth = truths.index(&scenario, &all, (*index, of)).unwrap().value;
            // Indices of 400 rows, those in units of f with a size of up to 2; Sobol' indices of rows scatter most.
            let value = value.unwrap();
            assert!(
                (value - truth).abs() < 0.3 * truth.max(1.0),
                "{} {index}: {value} {truth}",
                engine.name
            );
        }
    }
}

#[test]
fn a_missing_engine_is_a_row_and_an_undeclared_one_an_error() {
    let (scratch, _file) = declared(
        "[[engine]]\nname = \"absent\"\nabout = \"\"\nversion = [\"./none\"]\nrun = [\"./none\"]\n\
         effects.pdp.truth = \"pd\"\n",
    );
    let study = |name: &str, compare: &str| {
        let text = format!(
            "about = \"\"\n[[block]]\nscenario = \"poly3\"\nN = 50\nreplicates = 1\n\
             metrics = [\"mse\"]\nfeatures = [\"x1\"]\n{compare}\
             [[block.estimator]]\nname = \"{name}\"\n[[block.estimator]]\nname = \"pdp\"\ncenter = \"integral\"\n"
        );
        fs::write(scratch.path().join("study.toml"), text).unwrap();
        fe_bench(
            scratch.path(),
            &["run", "study.toml", "--out", "out", "--engines", "engines.toml"],
        )
    };
    let wrong = |name: &str, compare: &str, reason: &str| {
        let output = study(name, compare);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    };
    wrong("absnt:pdp", "", "no engine `absnt` is declared; did you mean `absent`?");
    wrong("absent:pd", "", "the engine absent has no effect `pd`; did you mean `pdp`?");
    wrong("absent:pdp", "compare = \"Err\"\n", "engines centre theirs in any way");
    let output = study("absent:pdp", "");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("absent cannot be run here: `./none` cannot be started"), "{said}");
    let cells = rows(&scratch.path().join("out"), "cells.csv");
    let statuses: Vec<&str> = cells.iter().map(|row| of(row, "status")).collect();
    assert_eq!(statuses[1], "ok");
    assert!(statuses[0].starts_with("unsupported: `./none` cannot be started"), "{statuses:?}");
}

#[test]
fn the_list_says_what_is_usable() {
    let scratch = tempfile::tempdir().unwrap();
    let engines = format!("{ADAPTERS}/engines.toml");
    let output =
        fe_bench(scratch.path(), &["estimators", "--engines", &engines, "--format", "json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let engine = |name: &str| {
        list.as_array().unwrap().iter().find(|engine| engine["engine"] == name).cloned().unwrap()
    };
    assert_eq!(engine("fe-core")["usable"], "yes");
    for name in ["effector", "alibi", "pyale", "scikit-learn", "shap", "template-r"] {
        let usable = engine(name)["usable"].as_str().unwrap().to_owned();
        assert!(usable == "yes" || usable.starts_with("no: "), "{name}: {usable}");
    }
    let none = fe_bench(scratch.path(), &["estimators"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("engines.toml"));
}

/// The engines of this machine, against their truths: each that is installed.
#[test]
fn installed_engines_answer_and_are_near_their_truth() {
    let engines = Engines::read(Path::new(&format!("{ADAPTERS}/engines.toml"))).unwrap();
    // Additive with independent features: all effects are the same curves, 3 x1 and 2 x2².
    let scenario = fe_truth::scenario("alibi-additive", &[]).unwrap();
    let data = sample::features(&scenario, 5, 400, 0).unwrap();
    let once = Repetitions { most: 1, seconds: 0.0 };
    let workspace = Workspace::new(&engines, &scenario, &data, once);
    let truths = Truths::default();
    for engine in engines.all() {
        if let Err(reason) = engines.version(&engine.name) {
            println!("skipped {}: {reason}", engine.name);
            continue;
        }
        for effect in engine.effects.keys() {
            for feature in 0..2 {
                let grid: Vec<f64> = (0..50).map(|i| f64::from(i) / 49.0).collect();
                let place = Place { feature, axis: AxisChoice::Data, grid: &grid };
                let asked = external(&engine.name, effect, ().into());
                let answer = workspace.ask(&asked, place).unwrap();
                let (lo, hi) = answer.curve.range();
                let points: Vec<f64> = grid.into_iter().filter(|x| (lo..=hi).contains(x)).collect();
                assert!(points.len() > 40, "{} {effect}: {lo} to {hi}", engine.name);
                let comparing =
                    Comparing { points: &points, left_out: 0, comparison: Comparison::Centred };
                let scored = External::scored(&answer, &truths, &scenario, feature);
                let score = scored.score("max".parse::<Metric>().unwrap(), comparing).unwrap();
                // Bins of a twentieth of the range leave 2 (1/40)² of the square; those that are
                // joined more, about derivatives that are constant in them, a few times as much.
                let most = 0.25;
                assert!(
                    score.value.unwrap() < most,
                    "{} {effect} x{feature}: {score:?}",
                    engine.name
                );
            }
        }
    }
}

/// The examples of the protocol's documentation are requests and replies.
#[test]
fn the_examples_of_the_documentation_are_messages() {
    let text = include_str!("../../../docs/protocol.md");
    let blocks: Vec<&str> =
        text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let request: fe_bench::engines::message::EngineRequest =
        serde_json::from_str(blocks[0]).unwrap();
    let line = blocks[1].replace('\n', " ");
    let reply = fe_bench::engines::message::Reply::parse(line.as_bytes(), request.id).unwrap();
    assert_eq!(request.probe.len(), 2);
    assert!(
        matches!(reply.probe, fe_bench::engines::message::Numbers::Inline(values) if values.len() == 2)
    );
}
