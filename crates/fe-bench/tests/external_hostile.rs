//! Engines that do what no engine should: each comes to a status with a reason, within its time, and
//! nothing of it is left: no process, no folder, no control character on a terminal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/external/misbehaving.sh");

/// Deeds of the adapter, and what is to come of each.
const HOSTILITIES: &[(&str, &str, &str)] = &[
    ("deaf", "timeout", "no answer within"),
    ("blank-flood", "timeout", "no answer within"),
    ("space-flood", "timeout", "no answer within"),
    ("error-flood", "timeout", "no answer within"),
    ("unfinished", "timeout", "no answer within"),
    ("stopped", "timeout", "no answer within"),
    ("held", "timeout", "no answer within"),
    ("no-input", "timeout", "no answer within"),
    ("unendable", "timeout", "no answer within"),
    ("orphan", "timeout", "no answer within"),
    ("no-pipes", "crash", "signal: 9"),
    ("exit-0", "crash", "exit status: 0"),
    ("exit-77", "crash", "exit status: 77"),
    ("segmentation", "crash", "signal: 11"),
    ("killed", "crash", "signal: 9"),
    ("daemon", "crash", "exit status: 3"),
    ("full", "crash", "exit status: 1"),
    ("coloured-crash", "crash", r"no\u{1b}[31m colour\u{1b}]0;title\u{7}\u{9b} here"),
    ("zeros", "malformed", "a reply of more than 4194304 bytes"),
    ("endless", "malformed", "which begins `0000"),
    ("binary", "malformed", "in a reply that begins `"),
    ("coloured", "malformed", r"begins `\u{1b}[2J\u{1b}[1;31m"),
    ("coloured-error", "error", r"\u{1b}[2J\u{9b}31m\u{202e} gone"),
    ("long-error", "error", "e … (1000000 characters)"),
    ("long-key", "malformed", "unknown field `kkk"),
    ("deep", "malformed", "in a reply that begins `"),
    ("words", "malformed", "invalid type: string"),
    ("boundless", "malformed", "number out of range"),
    ("other-id", "malformed", "the reply is to request"),
    ("twice-a-key", "malformed", "duplicate field `status`"),
    ("long-variance", "short", "`heterogeneity` has 3 values for 2 of `x`"),
    ("negative-variance", "malformed", "`heterogeneity` is a variance, but -1 at place 2"),
    ("half-a-band", "malformed", "one of them is missing"),
    ("crossed-band", "malformed", "`lower` = 1 is above `upper` = 0 at place 2"),
    ("fifo", "malformed", "it is not a regular file"),
    ("device", "malformed", "it is not a regular file"),
    ("link", "malformed", "it is not a regular file"),
    ("folder", "malformed", "it is not a regular file"),
    ("sparse", "malformed", "107374182400 bytes, but an array has 1048576 numbers at most"),
    ("infinite", "non-finite", "`effect` has inf at place 1"),
    ("changed", "malformed", "it has changed the file data.f64"),
    ("replaced", "malformed", "it has changed the file data.f64"),
    ("gone", "malformed", "it has changed the file data.f64"),
];

/// The time limit of what runs into it, in seconds; of others, for a machine that is busy.
const LIMIT: f64 = 1.5;
const PATIENCE: f64 = 60.0;

/// A folder with a declaration, a place for temporary folders, and a mark on all that is run there.
struct Scene {
    folder: TempDir,
    mark: String,
}

impl Scene {
    fn new(declaration: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("engines.toml"), declaration).unwrap();
        fs::create_dir(folder.path().join("temporary")).unwrap();
        let mark = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        Self { folder, mark }
    }

    fn misbehaving(time_limit: f64) -> Self {
        let effects = HOSTILITIES.iter().map(|(name, ..)| *name);
        let mut text = format!(
            "[[engine]]\nname = \"bad\"\nabout = \"\"\nversion = [\"sh\", \"-c\", \"echo 1.0\"]\n\
             run = [\"sh\", '{SCRIPT}']\ntime_limit = {time_limit}\n"
        );
        for effect in effects.chain(["good", "left-over", "twice", "spoiling", "coloured-record"]) {
            text +=
                &format!("[engine.effects.{effect}]\ntruth = \"pd\"\nheterogeneity = \"h-pdp\"\n");
        }
        Self::new(&(text.clone() + &text.replace("\"bad\"", "\"other\"")))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fe-bench"));
        command.args(arguments).current_dir(self.folder.path());
        // Not absolute: engines run in another folder.
        command.env("TMPDIR", "temporary").env("HOSTILE_TEST", &self.mark);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end. It has no more than so much memory.
    fn run(&self, arguments: &[&str]) -> Output {
        const MOST_MEMORY: u64 = 200 << 20;
        let mut child = self.command(arguments).spawn().unwrap();
        let pipes =
            [gathered(child.stdout.take().unwrap()), gathered(child.stderr.take().unwrap())];
        let mut peak = 0;
        let status = loop {
            peak = peak.max(memory(child.id()).unwrap_or_default());
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = pipes.map(|pipe| pipe.join().unwrap());
        assert!(peak < MOST_MEMORY, "{arguments:?} took {peak} bytes");
        let output = Output { status, stdout, stderr };
        for text in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(text).unwrap();
            let is_seen = |c: char| c == '\n' || c == '\t' || !(c.is_control() || c == '\u{202e}');
            assert!(text.chars().all(is_seen), "{arguments:?} printed {text:?}");
        }
        output
    }

    /// That nothing is left: processes are given a moment.
    fn is_clean(&self, after: &str) {
        let until = Instant::now() + Duration::from_secs(10);
        let mark = format!("HOSTILE_TEST={}", self.mark);
        let left = || {
            let processes: Vec<String> = fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .filter_map(|entry| {
                    let environment = fs::read(entry.path().join("environ")).ok()?;
                    let is_marked =
                        environment.split(|&b| b == 0).any(|entry| entry == mark.as_bytes());
                    let command = || fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    is_marked.then(|| String::from_utf8_lossy(&command()).replace('\0', " "))
                })
                .collect();
            let folders = fs::read_dir(self.path("temporary")).unwrap().flatten();
            let folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
            (processes, folders)
        };
        while left() != (Vec::new(), Vec::new()) {
            assert!(Instant::now() < until, "{after} left {:?}", left());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a study of null-feature with some estimators.
    fn study(&self, estimators: &[&str]) {
        let mut text =
            "about = \"\"\n[[block]]\nscenario = \"null-feature\"\nN = 50\nreplicates = 3\n\
                        metrics = [\"mse\"]\nfeatures = [\"x1\"]\n"
                .to_owned();
        for estimator in estimators {
            text += &format!("[[block.estimator]]\nname = \"{estimator}\"\n");
        }
        fs::write(self.path("study.toml"), text).unwrap();
    }

    /// The statuses of the rows of the study's results.
    fn statuses(&self, out: &str) -> Vec<(String, String)> {
        let mut reader = csv::Reader::from_path(self.path(out).join("cells.csv")).unwrap();
        let header = reader.headers().unwrap().clone();
        let place = |name: &str| header.iter().position(|column| column == name).unwrap();
        let (estimator, status) = (place("estimator"), place("status"));
        let rows = reader.records().map(Result::unwrap);
        rows.map(|row| (row[estimator].to_owned(), row[status].to_owned())).collect()
    }
}

/// All that comes out of a pipe.
fn gathered(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// The most memory that a process has had, in bytes.
fn memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| 1024 * kibibytes)
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn every_hostility_is_a_status_and_leaves_nothing() {
    let (hasty, patient) = (Scene::misbehaving(LIMIT), Scene::misbehaving(PATIENCE));
    for (effect, status, reason) in HOSTILITIES {
        let scene = if *status == "timeout" { &hasty } else { &patient };
        let asked = format!("bad:{effect}");
        let begun = Instant::now();
        let ask = ["estimators", "--engines", "engines.toml", "--try", &asked];
        let output = scene.run(&[&ask[..], &["--scenario", "null-feature", "--n", "50"]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        let last = said.lines().last().unwrap_or_default();
        assert_eq!(output.status.code(), Some(1), "{effect}: {last}");
        assert!(
            last.starts_with(&format!("fe-bench: bad:{effect}: {status}: ")),
            "{effect}: {last}"
        );
        assert!(last.contains(reason), "{effect}: {last}");
        assert!(last.chars().count() < 700, "{effect}: {} characters", last.chars().count());
        assert!(said.len() < 3 << 20, "{effect} wrote {} bytes", said.len());
        assert!(begun.elapsed().as_secs_f64() < 30.0, "{effect} took {:?}", begun.elapsed());
        scene.is_clean(effect);
    }
}

#[test]
fn an_answer_counts_once() {
    let scene = Scene::misbehaving(PATIENCE);
    for (effect, reason) in [
        ("left-over", "malformed: `effect` is to be in the file `effect.f64`: entity not found"),
        ("twice", "malformed: the reply is to request 1, but 2 was asked"),
    ] {
        scene.study(&[&format!("bad:{effect}")]);
        let study = fs::read_to_string(scene.path("study.toml")).unwrap();
        let study = study.replace("replicates = 3", "replicates = 1");
        fs::write(scene.path("study.toml"), study.replace("[\"x1\"]", "[\"x1\", \"x2\"]")).unwrap();
        let output =
            scene.run(&["run", "study.toml", "--engines", "engines.toml", "--out", effect]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let statuses: Vec<String> = scene.statuses(effect).into_iter().map(|(_, s)| s).collect();
        assert_eq!(statuses, ["ok", reason]);
        scene.is_clean(effect);
    }
}

#[test]
fn what_an_engine_tells_beside_its_answer_commands_no_terminal() {
    let scene = Scene::misbehaving(PATIENCE);
    let ask = ["estimators", "--engines", "engines.toml", "--try", "bad:coloured-record"];
    let output = scene.run(&[&ask[..], &["--scenario", "null-feature", "--n", "50"]].concat());
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["record"], "\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{9b}");
}

#[test]
fn what_an_engine_does_to_its_data_concerns_no_other() {
    let declaration = "[[engine]]\nname = \"own\"\nabout = \"\"\nversion = [\"{fe-bench}\", \"--version\"]\n\
                       run = [\"{fe-bench}\", \"serve\"]\neffects.mplot.truth = \"mplot\"\n";
    let bad = fs::read_to_string(Scene::misbehaving(PATIENCE).path("engines.toml")).unwrap();
    let scene = Scene::new(&(bad + declaration));
    let run = |out: &str, estimators: &[&str]| {
        scene.study(estimators);
        let output = scene.run(&["run", "study.toml", "--engines", "engines.toml", "--out", out]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let cells = fs::read_to_string(scene.path(out).join("cells.csv")).unwrap();
        cells
            .lines()
            .filter(|line| line.contains("own:mplot"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let alone = run("alone", &["own:mplot"]);
    assert_eq!(alone.len(), 3);
    assert!(alone.iter().all(|line| line.ends_with(",ok")), "{alone:?}");
    assert_eq!(run("beside", &["bad:spoiling", "own:mplot"]), alone);
    for (estimator, status) in scene.statuses("beside") {
        let expected = match estimator.as_str() {
            "bad:spoiling" => "malformed: it has changed the file data.f64",
            _ => "ok",
        };
        assert_eq!(status, expected, "{estimator}");
    }
    scene.is_clean("spoiling");
}

#[test]
fn version_commands_are_read_within_bounds_and_only_of_engines_that_are_named() {
    let engine = |name: &str, script: &str| {
        format!(
            "[[engine]]\nname = \"{name}\"\nabout = \"\"\nversion = ['sh', '-c', '{script}']\nrun = ['false']\n\
             effects.pdp.truth = \"pd\"\n"
        )
    };
    let scene = Scene::new(
        &[
            engine("parent", "sleep 600 & echo 1.5"),
            engine("talker", "yes | head -c 3000000; echo 2.5"),
            engine(
                "complainer",
                "yes | head -c 3000000 >&2; printf \"no\\033[31m way\" >&2; exit 1",
            ),
            engine("colourful", "printf \"1\\033[2J.0\""),
            engine("watched", "touch was-run; echo 1"),
        ]
        .concat(),
    );
    let begun = Instant::now();
    let output = scene.run(&["estimators", "--engines", "engines.toml", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |i: usize| (list[i]["version"].as_str().unwrap(), list[i]["usable"].as_str().unwrap());
    assert_eq!(of(0), ("1.5", "yes"));
    assert_eq!(of(1), ("2.5", "yes"));
    assert_eq!(of(2), ("", r"no: no\u{1b}[31m way"));
    assert_eq!(of(3), (r"1\u{1b}[2J.0", "yes"));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    scene.is_clean("versions");

    assert!(fs::remove_file(scene.path("was-run")).is_ok());
    scene.study(&["parent:pdp"]);
    scene.run(&["run", "study.toml", "--engines", "engines.toml", "--out", "out"]);
    assert!(!scene.path("was-run").exists(), "an engine that the study does not name was asked");
    scene.is_clean("a run");
}

/// A study whose engine answers until it is asked about the third dataset, and then never.
fn begun(scene: &Scene) -> Child {
    let adapter = r#"
        while IFS= read -r line; do
            asked=$((asked + 1))
            if [ $asked = 3 ] && [ ! -e go ]; then touch asked; sleep 600; fi
            id=${line#*\"id\":}
            echo "{\"protocol\":1,\"id\":${id%%,*},\"status\":\"unsupported\"}"
        done"#;
    fs::write(scene.path("slow.sh"), adapter).unwrap();
    let declaration = "[[engine]]\nname = \"slow\"\nabout = \"\"\nversion = [\"echo\", \"1\"]\n\
                       run = [\"sh\", \"slow.sh\"]\neffects.pdp.truth = \"pd\"\n";
    fs::write(scene.path("engines.toml"), declaration).unwrap();
    scene.study(&["slow:pdp", "pdp"]);
    let arguments =
        ["run", "study.toml", "--engines", "engines.toml", "--jobs", "1", "--out", "it's out"];
    let child = scene.command(&arguments).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !scene.path("asked").exists() {
        assert!(Instant::now() < until, "the engine was not asked");
        thread::sleep(Duration::from_millis(10));
    }
    child
}

/// True if this process ignores a signal, as do those that it starts.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask & (1 << (signal - 1)) != 0
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_but_how_to_go_on() {
    for (signal, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        // Who started this test may want a signal to be ignored, and the program complies.
        if is_ignored(status - 128) {
            continue;
        }
        let scene = Scene::new("");
        let child = begun(&scene);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "SIG{signal}");
        scene.is_clean(signal);
        let said = String::from_utf8(output.stderr).unwrap();
        let (before, command) = said.trim_end().rsplit_once("; to go on: ").unwrap();
        assert!(before.contains(&format!("fe-bench: ended by SIG{signal}")), "{said}");
        assert!(command.contains("run --resume study.toml"), "{command}");
        // The very words, in a shell.
        fs::write(scene.path("go"), "").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(scene.folder.path());
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let statuses = scene.statuses("it's out");
        assert_eq!(statuses.len(), 6);
        for (estimator, status) in statuses {
            let expected =
                if estimator == "pdp" { "ok" } else { "unsupported: it does not say why" };
            assert_eq!(status, expected, "{estimator}");
        }
        assert!(!scene.path("it's out.unfinished").exists());
    }
}

#[test]
fn nothing_outlives_a_program_that_is_killed() {
    let scene = Scene::new("");
    let mut child = begun(&scene);
    send("KILL", &child);
    child.wait().unwrap();
    scene.is_clean("SIGKILL");
    assert!(scene.path("it's out.unfinished").exists());
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let scene = Scene::new("");
    let run = begun(&scene);
    send("TERM", &run);
    drop(run.wait_with_output());
    fs::remove_file(scene.path("asked")).unwrap();
    let arguments = "run study.toml --engines engines.toml --jobs 1 --out other";
    let script = format!("trap '' HUP; exec '{}' {arguments}", env!("CARGO_BIN_EXE_fe-bench"));
    let mut child = Command::new("sh");
    child.args(["-c", &script]).current_dir(scene.folder.path());
    child.env("TMPDIR", scene.path("temporary")).env("HOSTILE_TEST", &scene.mark);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !scene.path("asked").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    send("HUP", &child);
    thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "SIGHUP ended it");
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    scene.is_clean("SIGTERM");
}

#[test]
fn serve_answers_whatever_a_line_says() {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_fe-bench"))
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = |change: &dyn Fn(&mut serde_json::Value)| {
        let text = include_str!("../../../docs/protocol.md");
        let text = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        let mut request: serde_json::Value = serde_json::from_str(text).unwrap();
        change(&mut request);
        serde_json::to_vec(&request).unwrap()
    };
    let huge = u64::MAX;
    let lines: Vec<Vec<u8>> = vec![
        b"\xff\xfe".to_vec(),
        b"".to_vec(),
        b"null".to_vec(),
        b"{\"protocol\":1}".to_vec(),
        vec![b'['; 100_000],
        request(&|r| r["rows"] = huge.into()),
        request(&|r| r["points"] = huge.into()),
        request(&|r| r["data"] = "/dev/zero".into()),
        request(&|r| r["grid"] = "/dev/zero".into()),
        request(&|r| r["feature"] = "x\u{1b}".into()),
        request(&|r| r["features"] = 0.into()),
        request(&|r| r["protocol"] = "two".into()),
    ];
    let mut input = child.stdin.take().unwrap();
    let output = gathered(child.stdout.take().unwrap());
    for line in &lines {
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    let output = String::from_utf8(output.join().unwrap()).unwrap();
    assert_eq!(output.lines().count(), lines.len());
    for (line, asked) in output.lines().zip(&lines) {
        let reply: serde_json::Value = serde_json::from_str(line).unwrap();
        let asked = String::from_utf8_lossy(&asked[..asked.len().min(80)]).into_owned();
        assert!(reply["status"] == "error" || reply["status"] == "unsupported", "{asked}: {line}");
        assert!(!reply["message"].as_str().unwrap().is_empty(), "{asked}: {line}");
    }
}
