//! The journal of a run: what was finished, so that a run that was stopped can be resumed.
//!
//! Beside the results folder `DIR` there is, while the run is not finished, `DIR.unfinished`. Each
//! thread appends what it has finished to a log of its own, dataset by dataset, with a checksum: what
//! a crash left half-written at the end of a log is not taken up. Logs of earlier starts are read,
//! never written again.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::manifest::Manifest;
use super::store::{Counts, Writer, check_free, parent, publish, read_manifest, write_json};
use super::{FILES, Parts};
use crate::error::{Error, Result};
use crate::run::plan::Plan;

/// How much of a run a loss of power may cost; a process that ends loses nothing.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Logs that are kept open while they are read.
const MOST_OPEN: usize = 64;

/// Where the lines of a dataset lie.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    log: u32,
    offset: u64,
    lengths: [u32; FILES.len()],
}

impl Entry {
    fn length(&self) -> usize {
        self.lengths.iter().map(|&length| length as usize).sum()
    }
}

/// What there is of a run.
#[derive(Debug)]
pub enum Begun {
    /// The results are there.
    Finished(Manifest),
    /// Something is to be done.
    Open(Journal),
}

/// The journal of a run that is not finished.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    place: PathBuf,
    manifest: Manifest,
    /// Held while the process lives; the system lets go of it whatever ends the process.
    _lock: File,
    /// For each task of the plan.
    entries: Vec<Option<Entry>>,
    /// Number of the next log.
    next_log: u32,
}

impl Journal {
    /// Begins the journal of a run into a results folder or, if asked to, takes up the one there is.
    ///
    /// # Errors
    /// A folder that exists; without `resume`, an unfinished run; with it, one of other studies,
    /// another seed, shard or program; one that another process works on; whatever the system
    /// reports.
    pub fn begin(folder: &Path, manifest: Manifest, tasks: usize, resume: bool) -> Result<Begun> {
        let place = unfinished(folder);
        if !resume {
            check_free(folder)?;
        }
        let parent = parent(folder);
        std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        match std::fs::create_dir(&place) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                if !resume {
                    lock(&place)?;
                    return Err(Error::content(
                        &place,
                        "a run that is not finished: continue it with --resume, or remove it",
                    ));
                }
            }
            other => other.map_err(Error::file(&place))?,
        }
        let lock = lock(&place)?;
        let mut journal = Self {
            folder: folder.to_owned(),
            place,
            manifest,
            _lock: lock,
            entries: vec![None; tasks],
            next_log: 0,
        };
        if folder.exists() {
            // All that is left of the journal is what its process had no time to remove.
            let finished = read_manifest(folder)?;
            journal.check_same(&finished, folder)?;
            journal.remove()?;
            return Ok(Begun::Finished(finished));
        }
        journal.take_up()?;
        Ok(Begun::Open(journal))
    }

    /// Refuses a run that is not a part of this one.
    fn check_same(&self, earlier: &Manifest, path: &Path) -> Result<()> {
        let shard = |manifest: &Manifest| {
            manifest.shard.map_or("none".to_owned(), |shard| shard.to_string())
        };
        let difference = earlier.difference(&self.manifest).or_else(|| {
            let (there, here) = (shard(earlier), shard(&self.manifest));
            (there != here).then(|| format!("the shard there is {there}, here {here}"))
        });
        match difference {
            None => Ok(()),
            Some(difference) => {
                Err(Error::content(path, format!("cannot be resumed: {difference}")))
            }
        }
    }

    /// Reads what earlier starts finished.
    fn take_up(&mut self) -> Result<()> {
        let path = self.place.join("journal.json");
        if path.exists() {
            let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
            let earlier: Manifest = serde_json::from_str(&text)
                .map_err(|e| Error::content(&path, format!("not a journal: {e}")))?;
            self.check_same(&earlier, &self.place)?;
            self.manifest.started = earlier.started;
            self.manifest.resumed = earlier.resumed + 1;
        }
        write_json(&path, &self.manifest)?;
        let logs = std::fs::read_dir(&self.place).map_err(Error::file(&self.place))?;
        for log in logs {
            let name = log.map_err(Error::file(&self.place))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".log"));
            if let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) {
                self.next_log = self.next_log.max(number + 1);
                self.read_log(number)?;
            }
        }
        Ok(())
    }

    /// Enters what a log has, up to what is half-written.
    fn read_log(&mut self, log: u32) -> Result<()> {
        let path = self.log_path(log);
        let mut file = BufReader::new(File::open(&path).map_err(Error::file(&path))?);
        let (mut offset, mut head, mut lines) = (0, Vec::new(), Vec::new());
        loop {
            head.clear();
            offset += file.read_until(b'\n', &mut head).map_err(Error::file(&path))? as u64;
            let Some((task, lengths, sum)) = parse_head(&head) else { return Ok(()) };
            let entry = Entry { log, offset, lengths };
            lines.clear();
            let wanted = entry.length() as u64;
            let got = file.by_ref().take(wanted).read_to_end(&mut lines);
            let got = got.map_err(Error::file(&path))? as u64;
            let Some(place) = self.entries.get_mut(task) else { return Ok(()) };
            if got < wanted || checksum(&lines) != sum {
                return Ok(());
            }
            *place = Some(entry);
            offset += got;
        }
    }

    fn log_path(&self, log: u32) -> PathBuf {
        self.place.join(format!("{log:06}.log"))
    }

    /// What is known of the run.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn own(&self) -> impl Iterator<Item = usize> {
        let shard = self.manifest.shard;
        (0..self.entries.len()).filter(move |&task| shard.is_none_or(|shard| shard.has(task)))
    }

    /// The tasks that are not finished.
    #[must_use]
    pub fn outstanding(&self) -> Vec<usize> {
        self.own().filter(|&task| self.entries[task].is_none()).collect()
    }

    /// The tasks that are finished.
    pub fn finished(&self) -> impl Iterator<Item = usize> {
        self.own().filter(|&task| self.entries[task].is_some())
    }

    /// A log for each of some threads.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub fn begin_logs(&mut self, threads: usize) -> Result<Vec<Log>> {
        let logs = (0..threads).map(|_| {
            let number = self.next_log;
            self.next_log += 1;
            let path = self.log_path(number);
            let file = File::create_new(&path).map_err(Error::file(&path))?;
            Ok(Log { path, file, number, offset: 0, synced: Instant::now() })
        });
        logs.collect()
    }

    /// Notes what a thread has finished.
    pub fn enter(&mut self, entries: Vec<(usize, Entry)>) {
        for (task, entry) in entries {
            self.entries[task] = Some(entry);
        }
    }

    /// Writes the results folder from a journal in which every task is finished, and removes the
    /// journal.
    ///
    /// # Errors
    /// Whatever the system reports; a log that was changed meanwhile.
    pub fn finish(mut self, plan: &Plan<'_>, wall_seconds: f64) -> Result<(Manifest, Counts)> {
        self.manifest.wall_seconds = wall_seconds;
        let inside = self.place.join("results");
        if inside.exists() {
            std::fs::remove_dir_all(&inside).map_err(Error::file(&inside))?;
        }
        std::fs::create_dir(&inside).map_err(Error::file(&inside))?;
        let mut writer = Writer::create(&inside, plan, self.manifest.shard.is_some())?;
        let mut logs = Logs { journal: &self, open: Vec::new() };
        for task in self.own() {
            let missing = || Error::content(&self.place, format!("dataset {task} is missing"));
            let entry = self.entries[task].ok_or_else(missing)?;
            writer.push(task, plan.locate(task).0, &logs.read(entry)?)?;
        }
        let counts = writer.finish(&self.manifest)?;
        publish(&inside, &self.folder)?;
        self.remove()?;
        Ok((self.manifest, counts))
    }

    fn remove(&self) -> Result<()> {
        std::fs::remove_dir_all(&self.place).map_err(Error::file(&self.place))
    }
}

/// Where the journal of a results folder lies.
fn unfinished(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".unfinished");
    PathBuf::from(name)
}

fn lock(place: &Path) -> Result<File> {
    let path = place.join("lock");
    let file = File::create(&path).map_err(Error::file(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::content(place, "another process is working on this run"))
        }
        Err(TryLockError::Error(e)) => Err(Error::file(&path)(e)),
    }
}

/// Logs that are read from.
struct Logs<'a> {
    journal: &'a Journal,
    open: Vec<OpenLog>,
}

/// A log with the place that is read next.
struct OpenLog {
    number: u32,
    file: BufReader<File>,
    offset: u64,
}

impl Logs<'_> {
    fn read(&mut self, entry: Entry) -> Result<Parts> {
        let path = self.journal.log_path(entry.log);
        let place = match self.open.iter().position(|log| log.number == entry.log) {
            Some(place) => place,
            None => {
                if self.open.len() == MOST_OPEN {
                    self.open.remove(0);
                }
                let file = BufReader::new(File::open(&path).map_err(Error::file(&path))?);
                self.open.push(OpenLog { number: entry.log, file, offset: 0 });
                self.open.len() - 1
            }
        };
        let OpenLog { file, offset, .. } = &mut self.open[place];
        let mut parts = Parts::default();
        // What is in the buffer already is not read again.
        let distance = entry.offset.cast_signed().wrapping_sub(offset.cast_signed());
        file.seek_relative(distance).map_err(Error::file(&path))?;
        for (part, length) in parts.iter_mut().zip(entry.lengths) {
            part.resize(length as usize, 0);
            file.read_exact(part).map_err(Error::file(&path))?;
        }
        *offset = entry.offset + entry.length() as u64;
        Ok(parts)
    }
}

/// What a thread appends what it has finished to.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    number: u32,
    offset: u64,
    synced: Instant,
}

impl Log {
    /// Appends the lines of a task.
    ///
    /// # Errors
    /// Whatever the system reports; more than 4 GiB of lines.
    pub fn append(&mut self, task: usize, parts: &Parts) -> Result<Entry> {
        let mut lengths = [0; FILES.len()];
        for (length, part) in lengths.iter_mut().zip(parts) {
            *length = u32::try_from(part.len()).map_err(|_| {
                Error::content(&self.path, "a dataset with more than 4 GiB of lines")
            })?;
        }
        let lines = parts.concat();
        let words = lengths.map(|length| length.to_string()).join(" ");
        let mut text = format!("{task} {words} {}\n", checksum(&lines)).into_bytes();
        let entry = Entry { log: self.number, offset: self.offset + text.len() as u64, lengths };
        text.extend(lines);
        self.file.write_all(&text).map_err(Error::file(&self.path))?;
        self.offset += text.len() as u64;
        if self.synced.elapsed() > SYNC_EVERY {
            self.sync()?;
        }
        Ok(entry)
    }

    /// Waits until all of it is on the disk.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub fn sync(&mut self) -> Result<()> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(Error::file(&self.path))
    }
}

/// The line before the lines of a task: its number, their lengths, and their checksum.
fn parse_head(head: &[u8]) -> Option<(usize, [u32; FILES.len()], String)> {
    let text = std::str::from_utf8(head).ok()?.strip_suffix('\n')?;
    let mut words = text.split(' ');
    let task = words.next()?.parse().ok()?;
    let mut lengths = [0; FILES.len()];
    for length in &mut lengths {
        *length = words.next()?.parse().ok()?;
    }
    let sum = words.next()?.to_owned();
    words.next().is_none().then_some((task, lengths, sum))
}

/// The CRC-32 of some lines: it finds what is half-written, and is no protection against intent.
fn checksum(lines: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(folder: &Path, tasks: usize, resume: bool) -> Result<Journal> {
        let manifest = Manifest::starting(&[], 0, 1, None);
        match Journal::begin(folder, manifest, tasks, resume)? {
            Begun::Open(journal) => Ok(journal),
            Begun::Finished(_) => panic!("nothing is finished"),
        }
    }

    fn parts(text: &str) -> Parts {
        [text.into(), b"t\n".to_vec(), Vec::new(), b"bins\n".to_vec(), Vec::new()]
    }

    #[test]
    fn what_is_cut_off_anywhere_is_not_taken_up() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        let mut begun = journal(&folder, 3, false).unwrap();
        let mut log = begun.begin_logs(1).unwrap().remove(0);
        let first = log.append(2, &parts("first\n")).unwrap();
        log.append(0, &parts("second\n")).unwrap();
        let end_of_first = first.offset as usize + first.length();
        let path = begun.log_path(0);
        let whole = std::fs::read(&path).unwrap();
        drop(begun);
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let resumed = journal(&folder, 3, true).unwrap();
            let expected: &[usize] = match length {
                _ if length == whole.len() => &[0, 2],
                _ if length >= end_of_first => &[2],
                _ => &[],
            };
            assert_eq!(resumed.finished().collect::<Vec<_>>(), expected, "{length} bytes");
            let mut logs = Logs { journal: &resumed, open: Vec::new() };
            for task in resumed.finished() {
                let text = if task == 2 { "first\n" } else { "second\n" };
                assert_eq!(logs.read(resumed.entries[task].unwrap()).unwrap(), parts(text));
            }
        }
        // A changed byte is found out, too.
        let mut changed = whole.clone();
        changed[first.offset as usize] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert_eq!(journal(&folder, 3, true).unwrap().finished().count(), 0);
    }

    #[test]
    fn one_process_at_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        let first = journal(&folder, 1, false).unwrap();
        assert!(journal(&folder, 1, true).unwrap_err().to_string().contains("another process"));
        assert!(journal(&folder, 1, false).unwrap_err().to_string().contains("another process"));
        drop(first);
        assert!(journal(&folder, 1, false).unwrap_err().to_string().contains("--resume"));
        assert_eq!(journal(&folder, 1, true).unwrap().manifest().resumed, 1);
    }
}
