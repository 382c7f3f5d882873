//! Processes that answer line by line.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::status::{Failure, Status};
use crate::system::guard::Group;
use crate::system::say;

/// The longest line that is read of a process. Long arrays go into files.
pub(super) const LONGEST_LINE: u64 = 4 << 20;

/// Bytes of a process's output that are kept, where only its end is wanted.
const KEPT: usize = 4096;

/// Bytes of a process's standard error that are let through.
const MOST_SHOWN: usize = 1 << 20;

/// Time that a process which answers no more is given to end by itself, and its pipes to close.
const GRACE: Duration = Duration::from_millis(500);

/// Variables that numeric libraries read: one thread each, as estimators of this process have.
const ONE_THREAD: [&str; 6] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// A command that has one thread.
fn prepared(mut command: Command) -> Command {
    command.envs(ONE_THREAD.map(|name| (name, "1"))).env("PYTHONHASHSEED", "0");
    command
}

/// The output of a process that asks for nothing, and how it ended.
pub(super) struct Ended {
    pub status: ExitStatus,
    pub last_output: String,
    pub last_error: String,
}

/// Runs a command to its end, or for some time, with all that it starts.
///
/// # Errors
/// Why it has no end, in words.
pub(super) fn run(command: Command, limit: Duration) -> Result<Ended, String> {
    let mut command = prepared(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group =
        Group::start(command).map_err(|e| format!("cannot be started: {}", e.kind()))?;
    let tail = |e: std::io::Error| format!("cannot be read: {}", e.kind());
    let output = group.child.stdout.take().map(|pipe| Tail::of(pipe, false));
    let output = output.transpose().map_err(tail)?;
    let error = group.child.stderr.take().map(|pipe| Tail::of(pipe, false));
    let error = error.transpose().map_err(tail)?;
    if !group.wait(limit) {
        return Err(format!("does not end within {} s", limit.as_secs_f64()));
    }
    let status = group.end()?;
    let last = |tail: Option<Tail>| tail.map(|tail| tail.last_line()).unwrap_or_default();
    Ok(Ended { status, last_output: last(output), last_error: last(error) })
}

/// A process that is asked line by line.
///
/// All that blocks is on threads of its own, so that an answer can be waited for with a limit.
#[derive(Debug)]
pub(super) struct Worker {
    group: Group,
    /// Lines to be written; none once nothing more is to be asked.
    questions: Option<Sender<Vec<u8>>>,
    answers: Receiver<Vec<u8>>,
    errors: Option<Tail>,
    /// Tells the thread that reads answers that nobody waits for them any more.
    given_up: Arc<AtomicBool>,
}

/// An answer, and the most memory that the process held while it was made.
pub(super) struct Answer {
    pub line: Vec<u8>,
    pub peak_bytes: Option<u64>,
}

impl Worker {
    /// Starts a process. The end of its standard error is kept for the reason of a crash; all of it is
    /// let through if asked for.
    pub(super) fn start(command: Command, shows_errors: bool) -> std::io::Result<Self> {
        let mut command = prepared(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::start(command)?;
        let (questions, asked) = channel();
        // A process that answers unasked waits until it is read.
        let (answer, answers) = sync_channel(0);
        let given_up = Arc::new(AtomicBool::new(false));
        if let Some(input) = group.child.stdin.take() {
            beside(move || write(input, &asked))?;
        }
        if let Some(output) = group.child.stdout.take() {
            let given_up = Arc::clone(&given_up);
            beside(move || read(output, &answer, &given_up))?;
        }
        let errors = group.child.stderr.take().map(|pipe| Tail::of(pipe, shows_errors));
        let errors = errors.transpose()?;
        Ok(Self { group, questions: Some(questions), answers, errors, given_up })
    }

    /// Asks, and waits for the answer. A process that fails to answer is not to be asked again.
    pub(super) fn ask(
        &mut self,
        mut question: Vec<u8>,
        limit: Duration,
    ) -> Result<Answer, Failure> {
        question.push(b'\n');
        let process = self.group.child.id();
        memory::forget_peak(process);
        if let Some(questions) = &self.questions {
            // If the process does not read any more, it does not answer either.
            let _ = questions.send(question);
        }
        match self.answers.recv_timeout(limit) {
            Ok(line) => Ok(Answer { line, peak_bytes: memory::peak(process) }),
            Err(RecvTimeoutError::Disconnected) => Err(self.crash()),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.group.end();
                let seconds = limit.as_secs_f64();
                Err(Failure::new(Status::Timeout, format!("no answer within {seconds} s")))
            }
        }
    }

    /// Reason why a process does not answer that has closed its standard output.
    fn crash(&mut self) -> Failure {
        self.questions = None;
        self.group.wait(GRACE);
        let status = self.group.end();
        if status.as_ref().is_ok_and(|status| status.code().is_none()) {
            // Whoever sent it a signal may be sending one to this process, which makes it no crash.
            thread::sleep(GRACE);
        }
        let status = status.map_or_else(|e| e, |status| status.to_string());
        let last = self.errors.take().map(|tail| tail.last_line()).unwrap_or_default();
        let said = if last.is_empty() { last } else { format!(": {last}") };
        Failure::new(Status::Crash, format!("the process ended without an answer, {status}{said}"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input tells a process that nothing more is asked.
        self.questions = None;
        self.given_up.store(true, Ordering::Relaxed);
        self.group.wait(GRACE);
        let _ = self.group.end();
        if let Some(errors) = self.errors.take() {
            errors.wait();
        }
    }
}

/// Does something on a thread of its own.
fn beside(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new().spawn(work).map(drop)
}

fn write(mut input: ChildStdin, questions: &Receiver<Vec<u8>>) {
    for question in questions {
        if input.write_all(&question).and_then(|()| input.flush()).is_err() {
            break;
        }
    }
}

/// Hands on the lines of a process, but for blank ones: they are no answers.
fn read(output: ChildStdout, answers: &SyncSender<Vec<u8>>, given_up: &AtomicBool) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while !given_up.load(Ordering::Relaxed) {
        line.clear();
        // One byte more than is allowed, by which it is known to be too long.
        match output.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line) {
            Ok(1..) if line.trim_ascii().is_empty() => {}
            Ok(1..) if answers.send(std::mem::take(&mut line)).is_ok() => {}
            _ => break,
        }
    }
}

/// The end of what a process writes.
#[derive(Debug)]
struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: Receiver<()>,
}

impl Tail {
    /// Reads a pipe to its end, and lets it through to standard error if asked to.
    fn of(mut pipe: impl Read + Send + 'static, is_shown: bool) -> std::io::Result<Self> {
        let (end, ended) = channel();
        let kept = Arc::<Mutex<VecDeque<u8>>>::default();
        let tail = Self { kept: Arc::clone(&kept), ended };
        beside(move || {
            let mut shown = is_shown.then(Shown::default);
            let mut part = [0; KEPT];
            while let Ok(length @ 1..) = pipe.read(&mut part) {
                shown.iter_mut().for_each(|shown| shown.push(&part[..length]));
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&part[..length]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
            shown.iter_mut().for_each(Shown::end);
            let _ = end.send(());
        })?;
        Ok(tail)
    }

    /// Waits for the end of the pipe: not for long, as others may hold it that the process has started.
    fn wait(&self) {
        let _ = self.ended.recv_timeout(GRACE);
    }

    fn last_line(&self) -> String {
        self.wait();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&kept);
        say::echo(text.trim_end().lines().next_back().unwrap_or_default())
    }
}

/// The standard error of a process, on its way to that of this one.
#[derive(Debug, Default)]
struct Shown {
    line: Vec<u8>,
    length: usize,
}

impl Shown {
    fn push(&mut self, part: &[u8]) {
        for &byte in part {
            if self.length == MOST_SHOWN {
                return;
            }
            self.length += 1;
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() == KEPT {
                say::line(&String::from_utf8_lossy(&std::mem::take(&mut self.line)));
            }
            if self.length == MOST_SHOWN {
                say::line("… and more that is not shown");
            }
        }
    }

    fn end(&mut self) {
        if !self.line.is_empty() {
            say::line(&String::from_utf8_lossy(&self.line));
        }
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_without_an_end_is_ended() {
        for script in ["sleep 600", "yes", "yes >&2", "exec >&- 2>&-; trap '' TERM; sleep 600"] {
            let begun = std::time::Instant::now();
            let reason = run(shell(script), Duration::from_millis(500)).err().unwrap();
            assert_eq!(reason, "does not end within 0.5 s");
            assert!(begun.elapsed() < Duration::from_secs(20), "{script}: {:?}", begun.elapsed());
        }
    }

    #[test]
    fn the_last_lines_are_kept_of_a_command_that_ends() {
        let script =
            "yes | head -n 100000; printf 'last\n\n'; printf 'a\nb' >&2; sleep 600 & exit 3";
        let ended = run(shell(script), Duration::from_secs(60)).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!((ended.last_output.as_str(), ended.last_error.as_str()), ("last", "b"));
    }
}
