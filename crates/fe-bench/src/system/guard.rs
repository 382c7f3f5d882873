//! Things that must not outlive this process: processes that it started, and temporary folders.
//!
//! Each is entered here while it exists. Dropping it ends it; a signal ends all of them
//! ([`end_all`]); and where this process is killed without a chance to do anything, a second one does,
//! which waits for nothing else ([`watch`]).

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The variable by which what a process has started is known, wherever it has gone.
const MARK: &str = "FE_BENCH_ENGINE";

/// Time that a process which was killed is waited for.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Trials of something that others may be in the way of.
const TRIALS: usize = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// The hidden command of the program that watches.
pub const WATCH: &str = "watch";

/// Something that is to be ended or removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Ward {
    /// A process group, by the number of its first process.
    Group(u32),
    /// Every process that has this mark.
    Marked(String),
    /// A temporary folder or file.
    Temporary(PathBuf),
}

/// A message to the watching process.
#[derive(Debug, Serialize, Deserialize)]
struct Change {
    ward: Ward,
    exists: bool,
}

#[derive(Debug)]
struct Wards {
    existing: BTreeSet<Ward>,
    watcher: Option<Child>,
}

static WARDS: Mutex<Wards> = Mutex::new(Wards { existing: BTreeSet::new(), watcher: None });
static WATCHED: AtomicBool = AtomicBool::new(false);
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// As soon as engines are used, another process of this program watches over this one.
pub(crate) fn be_watched() {
    WATCHED.store(true, Ordering::Relaxed);
}

/// A word that no other process, and no other call, has.
fn unique() -> String {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let now = jiff::Timestamp::now().as_nanosecond();
    format!("{}-{number}-{now}", std::process::id())
}

fn wards() -> MutexGuard<'static, Wards> {
    WARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wards {
    /// Starts the watcher unless there is one: before there is anything to watch over.
    fn be_watched(&mut self) {
        if self.watcher.is_none() && WATCHED.load(Ordering::Relaxed) {
            self.watcher = watcher().ok();
            for earlier in self.existing.clone() {
                self.tell(&earlier, true);
            }
        }
    }

    fn enter(&mut self, ward: Ward) {
        self.tell(&ward, true);
        self.existing.insert(ward);
    }

    fn leave(&mut self, ward: &Ward) {
        self.existing.remove(ward);
        self.tell(ward, false);
    }

    /// Without a watcher there is one thing less that helps against being killed, and no more.
    fn tell(&mut self, ward: &Ward, exists: bool) {
        let Some(input) = self.watcher.as_mut().and_then(|watcher| watcher.stdin.as_mut()) else {
            return;
        };
        if let Ok(mut line) = serde_json::to_vec(&Change { ward: ward.clone(), exists }) {
            line.push(b'\n');
            let _ = input.write_all(&line);
        }
    }
}

fn watcher() -> std::io::Result<Child> {
    let mut command = crate::system::program::anew();
    // A group of its own: what the terminal sends to this process does not reach it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.arg(WATCH).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Reads what there is to end until the other process is gone, and ends what that left behind.
pub(crate) fn watch(input: impl BufRead) {
    let mut existing = BTreeSet::new();
    for line in input.lines() {
        let Ok(line) = line else { break };
        let Ok(Change { ward, exists }) = serde_json::from_str(&line) else { continue };
        if exists {
            existing.insert(ward);
        } else {
            existing.remove(&ward);
        }
    }
    existing.iter().for_each(end);
}

/// Ends everything that exists. Nothing can be started afterwards: the process is to end.
pub(crate) fn end_all() {
    let wards = wards();
    wards.existing.iter().for_each(end);
    std::mem::forget(wards);
}

/// Processes first, as they come first in the order of wards: they may write into folders.
fn end(ward: &Ward) {
    match ward {
        Ward::Group(leader) => kill_group(*leader),
        Ward::Marked(mark) => kill_marked(mark),
        Ward::Temporary(path) => remove(path),
    }
}

/// A process with all that it starts.
#[derive(Debug)]
pub(crate) struct Group {
    pub child: Child,
    mark: String,
    ended: bool,
}

impl Group {
    /// Starts a command as a process group of its own.
    pub(crate) fn start(mut command: Command) -> std::io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mark = unique();
        command.env(MARK, &mark);
        // Held, so that none is started that nobody knows.
        let mut wards = wards();
        wards.be_watched();
        wards.enter(Ward::Marked(mark.clone()));
        let started = command.spawn();
        match &started {
            Ok(child) => wards.enter(Ward::Group(child.id())),
            Err(_) => wards.leave(&Ward::Marked(mark.clone())),
        }
        Ok(Self { child: started?, mark, ended: false })
    }

    /// True if its first process has ended. It is not waited for yet: its number is not given anew.
    fn is_over(&mut self) -> bool {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
            let Some(leader) = Pid::from_raw(self.child.id().cast_signed()) else { return true };
            let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            !matches!(waitid(WaitId::Pid(leader), how), Ok(None))
        }
        #[cfg(not(unix))]
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of its first process, for some time; whether it came.
    pub(crate) fn wait(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut pause = Duration::from_micros(200);
        loop {
            if self.is_over() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(5));
        }
    }

    /// Ends all of it, and says how its first process ended.
    pub(crate) fn end(&mut self) -> Result<std::process::ExitStatus, String> {
        if !self.ended {
            kill_group(self.child.id());
            kill_marked(&self.mark);
            let _ = self.child.kill();
            self.wait(KILL_LIMIT);
        }
        let status = self.child.try_wait();
        if !self.ended {
            self.ended = true;
            let mut wards = wards();
            wards.leave(&Ward::Group(self.child.id()));
            wards.leave(&Ward::Marked(self.mark.clone()));
        }
        match status {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err("cannot be ended".to_owned()),
            Err(error) => Err(error.kind().to_string()),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(leader) = Pid::from_raw(leader.cast_signed()) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// Kills what a process has started outside of its group as well.
#[cfg(unix)]
fn kill_marked(mark: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    // Again until none is found: a process may start another one meanwhile.
    for _ in 0..TRIALS {
        let others = marked(mark);
        if others.is_empty() {
            break;
        }
        for other in others.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(other, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(not(unix))]
fn kill_group(_leader: u32) {}

#[cfg(not(unix))]
fn kill_marked(_mark: &str) {}

/// The processes whose environment has a mark, where the system tells (proc(5)).
#[cfg(unix)]
fn marked(mark: &str) -> Vec<i32> {
    /// More than an environment can be long.
    const LONGEST: u64 = 8 << 20;
    let mark = format!("{MARK}={mark}");
    let has_mark = |process: &i32| {
        use std::io::Read;
        let mut environment = Vec::new();
        let file = std::fs::File::open(format!("/proc/{process}/environ"));
        let read = file.and_then(|file| file.take(LONGEST).read_to_end(&mut environment));
        read.is_ok() && environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(has_mark).collect()
}

/// A temporary folder or file of somebody else, who removes it; a signal does so as well.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Until this is dropped.
    pub(crate) fn at(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        wards().enter(Ward::Temporary(path.clone()));
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        wards().leave(&Ward::Temporary(std::mem::take(&mut self.0)));
    }
}

/// A temporary folder, removed with whatever is put into it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new folder among the system's temporary ones, for the user alone.
    pub(crate) fn new() -> std::io::Result<Self> {
        // Engines and the watcher run in other folders.
        let path =
            std::path::absolute(std::env::temp_dir())?.join(format!("fe-bench-{}", unique()));
        let mut wards = wards();
        wards.be_watched();
        wards.enter(Ward::Temporary(path.clone()));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => {
                wards.leave(&Ward::Temporary(path));
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(self.path());
        wards().leave(&Ward::Temporary(self.path().to_owned()));
    }
}

/// Removes a file or a folder, against processes that still write into it and folders that are closed.
fn remove(folder: &Path) {
    if std::fs::remove_file(folder).is_ok() {
        return;
    }
    for trial in 0..TRIALS {
        match std::fs::remove_dir_all(folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                if trial == 0 {
                    open_up(folder);
                }
                std::thread::sleep(PAUSE);
            }
            _ => return,
        }
    }
}

/// Lets the user into a folder and those in it.
fn open_up(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_folder).for_each(|entry| open_up(&entry.path()));
}
