//! Whatever a file or an engine says: no panic, no hang. Seeds are changed at random, by bolero's engine for
//! stable Rust: a second for each target in `cargo test`, longer with `BOLERO_RANDOM_TEST_TIME_MS`; memory is
//! bounded by `ulimit -v` (`scripts/fuzz.sh`). What is found goes to the seeds.
//!
//! A new target is a test here that hands changed seeds to what reads them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bolero::{TypeGenerator, check};
use fe_bench::data::observations::{Observations, Preparation};
use fe_bench::data::{self, Missing, Roles};
use fe_bench::engines::Status;
use fe_bench::engines::message::Reply;
use fe_bench::engines::serve::serve;
use fe_bench::record::journal::{Begun, Journal};
use fe_bench::record::manifest::Manifest;
use fe_bench::study::Study;
use fe_core::model::{Column, Rows};
use fe_models::stored::{self, Format};
use fe_truth::expression::Expression;
use serde_json::json;

/// The longest that anything may take.
const LONGEST: Duration = Duration::from_secs(20);

/// Numbers that sizes, places and values are replaced with.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "3",
    "0.5",
    "1e-320",
    "1e308",
    "-1e308",
    "inf",
    "NaN",
    "1e999",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "1099511627776",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "0x10",
    "1_000",
    "",
];

/// A change of some bytes; places are shares of the whole.
#[derive(Debug, Clone, TypeGenerator)]
enum Change {
    Flip { at: u16, bit: u8 },
    Set { at: u16, to: u8 },
    Remove { at: u16, len: u8 },
    Repeat { at: u16, len: u8, times: u8 },
    Move { from: u16, len: u8, to: u16 },
    Cut { at: u16 },
    Number { at: u16, number: u8 },
    Line { at: u16, to: u16 },
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let size = bytes.len();
        let place = |at: u16| usize::from(at) * size / 65_536;
        let range = |at: u16, len: u8| place(at)..(place(at) + usize::from(len)).min(size);
        if size == 0 {
            return;
        }
        match *self {
            Self::Flip { at, bit } => bytes[place(at)] ^= 1 << (bit % 8),
            Self::Set { at, to } => bytes[place(at)] = to,
            Self::Remove { at, len } => drop(bytes.drain(range(at, len))),
            Self::Repeat { at, len, times } => {
                let piece = bytes[range(at, len)].repeat(usize::from(times % 32));
                let at = place(at);
                bytes.splice(at..at, piece);
            }
            Self::Move { from, len, to } => {
                let piece = bytes[range(from, len)].to_vec();
                let to = place(to);
                bytes.splice(to..to, piece);
            }
            Self::Cut { at } => bytes.truncate(place(at)),
            Self::Number { at, number } => {
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                let Some(start) = bytes[place(at)..].iter().position(is_digit) else { return };
                let start = place(at) + start;
                let of_number = |byte: &u8| byte.is_ascii_digit() || b".eE-+".contains(byte);
                let end = bytes[start..].iter().position(|byte| !of_number(byte));
                let end = end.map_or(size, |len| start + len);
                let number = NUMBERS[usize::from(number) % NUMBERS.len()];
                bytes.splice(start..end, number.bytes());
            }
            Self::Line { at, to } => {
                let line = |place: usize| {
                    let start =
                        bytes[..place].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
                    let end = bytes[place..].iter().position(|b| *b == b'\n');
                    start..end.map_or(size, |i| place + i + 1)
                };
                let (copied, to) = (bytes[line(place(at))].to_vec(), line(place(to)).start);
                bytes.splice(to..to, copied);
            }
        }
    }
}

/// A seed and what is done to it.
#[derive(Debug, Clone, TypeGenerator)]
struct Changed {
    seed: u8,
    changes: Vec<Change>,
}

/// Hands changed seeds to a target, which says whether it could read them; half of the seeds it can.
fn fuzz(seeds: &[Vec<u8>], target: impl Fn(&[u8]) -> bool) {
    let target = |bytes: &[u8]| {
        let start = Instant::now();
        let is_read = target(bytes);
        let took = start.elapsed();
        assert!(took < LONGEST, "{took:?} for {}", String::from_utf8_lossy(bytes));
        is_read
    };
    let read = seeds.iter().filter(|seed| target(seed)).count();
    assert!(2 * read >= seeds.len() && read > 0, "{read} of {} seeds can be read", seeds.len());
    let target = std::panic::AssertUnwindSafe(&target);
    check!().with_type::<Changed>().for_each(|changed| {
        let mut bytes = seeds[usize::from(changed.seed) % seeds.len()].clone();
        changed.changes.iter().take(16).for_each(|change| change.apply(&mut bytes));
        target(&bytes);
    });
}

/// The files of a folder of the repository whose names end so.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Calls a reader of files with bytes.
fn in_file(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[test]
fn studies() {
    let (_folder, path) = in_file("study.toml");
    let seeds = [files("scenarios", ".toml"), files("crates/fe-bench/tests/fuzz/study", ".toml")];
    fuzz(&seeds.concat(), |bytes| {
        std::fs::write(&path, bytes).unwrap();
        Study::read(&path).is_ok()
    });
}

#[test]
fn data_files() {
    let (_folder, path) = in_file("data.csv");
    let preparation = Preparation::default();
    fuzz(&files("crates/fe-bench/tests/fuzz/data", ".csv"), |bytes| {
        std::fs::write(&path, bytes).unwrap();
        drop(data::read(&path, Roles { weights: Some("w"), ..Roles::default() }));
        let plain = data::read(&path, Roles::default());
        drop(Observations::read(&path, &preparation));
        plain.is_ok()
    });
}

#[test]
fn data_files_in_parquet() {
    fuzz_table(".parquet", &[]);
}

#[test]
fn data_files_in_arrow() {
    // A column of lists, which is not read.
    fuzz_table(".feather", &["tags"]);
}

/// Files of tables whose columns have types, of one format, without some columns.
fn fuzz_table(ending: &str, without: &[&str]) {
    let (_folder, path) = in_file(&format!("data{ending}"));
    let seeds = ["crates/fe-bench/tests/fixtures/tables", "crates/fe-bench/tests/fuzz/data"];
    let ignored = without.iter().map(|&name| name.to_owned()).collect();
    let preparation = Preparation { missing: Missing::Keep, ignored, ..Preparation::default() };
    fuzz(&seeds.map(|folder| files(folder, ending)).concat(), |bytes| {
        std::fs::write(&path, bytes).unwrap();
        drop(data::read(&path, Roles::default()));
        Observations::read(&path, &preparation).is_ok()
    });
}

#[test]
fn expressions() {
    fuzz(&files("crates/fe-bench/tests/fuzz/expression", ".json"), |bytes| {
        let Ok(expression) = serde_json::from_slice::<Expression>(bytes) else { return false };
        // What is written is read again as the same.
        let written = serde_json::to_string(&expression).unwrap();
        assert_eq!(serde_json::from_str::<Expression>(&written).ok(), Some(expression.clone()));
        let features = expression.last_feature().map_or(0, |last| last + 1);
        if features <= 1000 {
            let row = vec![0.5; features];
            let _ = expression.value(&row);
            let _ = expression.partial(0).value(&row);
        }
        true
    });
}

/// Reads a model, and asks it at rows of the width that it takes.
fn of_model(format: Format, bytes: &[u8]) -> bool {
    let Ok(stored) = stored::read(format, bytes, 3) else { return false };
    let (features, outputs) = (stored.model.dimension(), stored.model.outputs());
    let _ = (stored.model.output_names(), stored.model.summary());
    if features <= 1000 {
        let column = [0.0, 1.0, -1.5];
        let columns = vec![Column::Values(&column); features];
        let mut values = vec![0.0; 3 * outputs];
        let rows = Rows::new(&columns, 3);
        drop(stored.model.predict(&rows, &mut values));
        drop(stored.model.partial(0, &rows, &mut values));
    }
    true
}

const MODELS: &str = "crates/fe-models/tests/stored";

#[test]
fn models_of_xgboost() {
    let seeds = files(MODELS, ".json").into_iter().filter(|seed| seed.starts_with(b"{\"learner"));
    fuzz(&seeds.collect::<Vec<_>>(), |bytes| of_model(Format::XgboostJson, bytes));
}

#[test]
fn models_of_xgboost_in_binary() {
    fuzz(&files(MODELS, ".ubj"), |bytes| of_model(Format::XgboostUbj, bytes));
}

#[test]
fn models_of_lightgbm() {
    fuzz(&files(MODELS, ".txt"), |bytes| of_model(Format::LightgbmText, bytes));
}

#[test]
fn models_in_onnx() {
    fuzz(&files(MODELS, ".onnx"), |bytes| of_model(Format::Onnx, bytes));
}

fn manifest() -> Manifest {
    Manifest::starting(&[], 0, 1, None)
}

/// A journal of two datasets: its head and its log, one of which is changed.
#[test]
fn journals() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("out");
    let Begun::Open(mut journal) = Journal::begin(&folder, manifest(), 3, false).unwrap() else {
        panic!("nothing is finished");
    };
    let parts = |text: &str| {
        let mut parts: [Vec<u8>; 7] = Default::default();
        parts[0] = text.into();
        parts[1] = b"t\n".to_vec();
        parts[3] = b"bins\n".to_vec();
        parts
    };
    let mut logs = journal.begin_logs(1).unwrap();
    logs[0].append(2, &parts("first\n")).unwrap();
    logs[0].append(0, &parts("second\n")).unwrap();
    drop((logs, journal));
    let place = scratch.path().join("out.unfinished");
    let (head, log) = (place.join("journal.json"), place.join("000000.log"));
    let (whole_head, whole_log) = (std::fs::read(&head).unwrap(), std::fs::read(&log).unwrap());
    let resume = |head_now: &[u8], log_now: &[u8]| {
        std::fs::write(&head, head_now).unwrap();
        std::fs::write(&log, log_now).unwrap();
        if let Ok(Begun::Open(journal)) = Journal::begin(&folder, manifest(), 3, true) {
            return journal.finished().count() == 2;
        }
        false
    };
    fuzz(&[whole_log.clone(), whole_head.clone()], |bytes| {
        if bytes.starts_with(b"{") { resume(bytes, &whole_log) } else { resume(&whole_head, bytes) }
    });
}

#[test]
fn replies_of_engines() {
    let reply = json!({
        "protocol": 1, "id": 7, "status": "ok", "x": [0.0, 0.5, 1.0], "effect": [1.0, 2.0, 3.0],
        "heterogeneity": {"file": "h.f64"}, "probe": [1.0], "probe_partial": [1.0], "samples": [0.1],
        "model_rows": 12, "record": {"a": 1},
    });
    let refusal = json!({"protocol": 1, "id": 7, "status": "unsupported", "message": "no\nreason"});
    let surface = json!({
        "protocol": 1, "id": 7, "status": "ok", "x": [0.0, 1.0], "x2": [0.0, 0.5], "effect": [1.0, 2.0, 3.0, 4.0],
        "lower": "lower.f64", "upper": [2.0, null, 4.0, 5.0], "probe": [1.0], "samples": [0.1], "model_samples": [0.1],
    });
    let indices = json!({
        "protocol": 1, "id": 7, "status": "ok", "indices": [0.5, null], "lower": [0.25, null], "upper": [0.75, null], "level": 0.9,
        "probe": [1.0], "samples": [0.1], "model_samples": [0.1],
    });
    let seeds = [reply, refusal, surface, indices].map(|reply| reply.to_string().into_bytes());
    // What an engine says of itself is no reply, and is read all the same.
    fuzz(&seeds, |bytes| match Reply::parse(bytes, 7) {
        Ok(_) => true,
        Err(failure) => failure.status == Status::Unsupported,
    });
}

#[test]
fn requests_to_engines() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, numbers: &[f64]| {
        let path = scratch.path().join(name);
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let request = |effect: &str, options: serde_json::Value| {
        json!({
            "protocol": 1, "id": 7, "effect": effect, "feature": "x1", "options": options,
            "scenario": {"name": "none@1", "parameters": ""}, "rows": 4, "features": 2,
            "data": write("data", &[0.0, 0.2, 0.7, 1.0, 1.0, 0.5, 0.5, 0.0]), "axis": [0.0, 1.0],
            "grid": write("grid", &[0.0, 0.5, 1.0]), "points": 3,
            "model": ["multiply", "x1", ["sin", "x2"]], "partials": [["sin", "x2"], ["multiply", "x1", ["cos", "x2"]]],
            "probe": [[0.5, 0.5]], "repetitions": 1, "seconds": 0.01,
            "folder": scratch.path().to_str().unwrap(),
        })
    };
    let with = |mut request: serde_json::Value, more: serde_json::Value| {
        for (key, value) in more.as_object().unwrap() {
            request[key] = value.clone();
        }
        request
    };
    let second = json!({"feature2": "x2", "axis2": [0.0, 1.0], "grid2": write("grid2", &[0.2, 0.8]), "points2": 2});
    let indices = json!({"feature": "", "points": 0, "grid": write("none", &[]), "indices": [
        {"index": "h2.pair", "features": ["x1", "x2"]}, {"index": "ale.sd", "features": ["x2"]},
        {"index": "additive.r2.pd", "features": []},
    ]});
    let requests = [
        with(request("pdp", json!({"interaction": true})), second.clone()),
        with(request("ale", json!({"bins": 2})), second),
        with(request("indices", json!({"bins": 2, "outer": 3, "background_seed": 1})), indices),
        request("pdp", json!({"grid": 5})),
        request("ale", json!({"bins": 2, "band": "analytic"})),
        request("rhale", json!({"preset": "effector-0.6"})),
    ];
    let seeds = requests.map(|request| format!("{request}\n").into_bytes());
    fuzz(&seeds, |bytes| {
        // Whoever asks for years of repetitions gets them: the one who asks has the time limit.
        let endless = |line: &[u8]| {
            let request: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
            request["seconds"].as_f64().is_some_and(|seconds| seconds > 1.0)
        };
        if bytes.split(|byte| *byte == b'\n').any(endless) {
            return false;
        }
        let mut answers = Vec::new();
        drop(serve(bytes, &mut answers));
        // However it ends, each answer is a line of JSON.
        let answers = String::from_utf8(answers).unwrap();
        for answer in answers.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(answer).is_ok(), "{answer}");
        }
        answers.contains("\"status\":\"ok\"")
    });
}
