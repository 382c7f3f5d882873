//! Processes that answer line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::status::{Failure, Status};

/// The longest line that is read of a process: what comes after it is not an answer any more.
const LONGEST_LINE: u64 = 64 << 20;

/// How much of what a process writes on standard error is kept.
const KEPT_ERRORS: usize = 4096;

/// How long a process that answers no more is given to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// What numeric libraries read: one thread each, as estimators of this process have.
const ONE_THREAD: [&str; 6] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// A command that is a group of its own and has one thread.
pub(super) fn prepared(mut command: Command) -> Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.envs(ONE_THREAD.map(|name| (name, "1"))).env("PYTHONHASHSEED", "0");
    command
}

/// A process that is asked line by line.
///
/// All that blocks is on threads of its own, so that an answer can be waited for with a limit.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// Lines to be written; none once nothing more is to be asked.
    questions: Option<Sender<Vec<u8>>>,
    answers: Receiver<Vec<u8>>,
    errors: Arc<Mutex<Vec<u8>>>,
    errors_ended: Receiver<()>,
}

/// An answer, and the most memory that the process held while it was made.
pub(super) struct Answer {
    pub line: Vec<u8>,
    pub peak_bytes: Option<u64>,
}

impl Worker {
    /// Starts a process, whose standard error is let through or kept for the reason of a crash.
    pub(super) fn start(command: Command, shows_errors: bool) -> std::io::Result<Self> {
        let mut command = prepared(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(if shows_errors { Stdio::inherit() } else { Stdio::piped() });
        let mut child = command.spawn()?;
        let (questions, asked) = channel();
        let (answer, answers) = channel();
        let errors = Arc::default();
        let (errors_end, errors_ended) = channel();
        if let Some(input) = child.stdin.take() {
            thread::spawn(move || write(input, &asked));
        }
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || read(output, &answer));
        }
        if let Some(output) = child.stderr.take() {
            let kept = Arc::clone(&errors);
            thread::spawn(move || {
                keep(output, &kept);
                let _ = errors_end.send(());
            });
        }
        Ok(Self { child, questions: Some(questions), answers, errors, errors_ended })
    }

    /// Asks, and waits for the answer. A process that fails to answer is not to be asked again.
    pub(super) fn ask(
        &mut self,
        mut question: Vec<u8>,
        limit: Duration,
    ) -> Result<Answer, Failure> {
        question.push(b'\n');
        memory::forget_peak(self.child.id());
        if let Some(questions) = &self.questions {
            // If the process does not read any more, it does not answer either.
            let _ = questions.send(question);
        }
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                // Blank lines are no answers.
                Ok(line) if line.trim_ascii().is_empty() => {}
                Ok(line) => {
                    return Ok(Answer { line, peak_bytes: memory::peak(self.child.id()) });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.crash()),
                Err(RecvTimeoutError::Timeout) => {
                    self.end();
                    let seconds = limit.as_secs_f64();
                    return Err(Failure::new(
                        Status::Timeout,
                        format!("no answer within {seconds} s"),
                    ));
                }
            }
        }
    }

    /// Why a process does not answer that has closed its standard output.
    fn crash(&mut self) -> Failure {
        self.questions = None;
        self.wait(GRACE);
        let status = self.end();
        let _ = self.errors_ended.recv_timeout(GRACE);
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let last = errors.trim_end().lines().next_back().unwrap_or_default();
        let said = if last.is_empty() { String::new() } else { format!(": {}", last.trim()) };
        Failure::new(Status::Crash, format!("the process ended without an answer, {status}{said}"))
    }

    /// Waits for the end of the process, for some time.
    fn wait(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the process with all of its group, and says how it ended.
    fn end(&mut self) -> String {
        end_group(&mut self.child);
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.kind().to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input tells a process that nothing more is asked.
        self.questions = None;
        self.wait(GRACE);
        self.end();
    }
}

/// Ends a process that this one started as a group of its own, and whatever that has started.
pub(super) fn end_group(child: &mut Child) {
    if cfg!(unix) {
        // The utility, as the standard library has no way to end a group.
        let group = format!("-{}", child.id());
        let mut kill = Command::new("kill");
        kill.args(["-s", "KILL", "--", &group]);
        let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
}

fn write(mut input: ChildStdin, questions: &Receiver<Vec<u8>>) {
    for question in questions {
        if input.write_all(&question).and_then(|()| input.flush()).is_err() {
            break;
        }
    }
}

fn read(output: ChildStdout, answers: &Sender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(1..) if answers.send(line).is_ok() => {}
            _ => break,
        }
    }
}

/// Keeps the last of what is written on standard error.
fn keep(mut output: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut part = [0; 1024];
    while let Ok(length @ 1..) = output.read(&mut part) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&part[..length]);
        let surplus = kept.len().saturating_sub(KEPT_ERRORS);
        kept.drain(..surplus);
    }
}

/// The most memory that a process has held, where the system tells.
mod memory {
    /// From now on only later memory counts.
    pub(super) fn forget_peak(process: u32) {
        // 5 resets the peak (proc(5)); where it does not work, the peak is that since the start.
        let _ = std::fs::write(format!("/proc/{process}/clear_refs"), "5");
    }

    /// In bytes.
    pub(super) fn peak(process: u32) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(1024 * kibibytes)
    }
}
