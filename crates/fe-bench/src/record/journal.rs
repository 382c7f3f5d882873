//! The journal of a run: what was finished, so that a run that was stopped can be resumed.
//!
//! Beside the results folder `DIR` there is, while the run is not finished, `DIR.unfinished`. Each
//! thread appends what it has finished to a log of its own, dataset by dataset, with a checksum of the
//! run, of the log so far, and of what is appended: what a crash left half-written at the end of a log
//! is not taken up, nor what was changed or comes from elsewhere, nor anything behind it. Logs of earlier
//! starts are read, never written again.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::columns::{ResultFile, TaskLines};
use super::manifest::{Manifest, read_manifest};
use super::store::{Counts, Writer, check_free, publish, write_json};
use crate::error::{Error, Result};
use crate::study::tasks::Plan;
use crate::system::files::{self, parent};

/// Time of a run that a loss of power may cost; a process that ends loses nothing.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The file of a journal beside its logs.
const HEAD: &str = "journal.json";
const LOCK: &str = "lock";
const RESULTS: &str = "results";

/// Logs that are kept open while they are read.
const MOST_OPEN: usize = 64;

/// Range of the lines of a dataset.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    log: u32,
    offset: u64,
    lengths: [u32; ResultFile::ALL.len()],
}

impl Entry {
    fn length(&self) -> usize {
        self.lengths.iter().map(|&length| length as usize).sum()
    }
}

/// The run of the journal, with a checksum.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    manifest: Manifest,
    #[serde(default)]
    crc32: String,
}

impl Head {
    fn new(manifest: &Manifest) -> Self {
        Self { crc32: checksum(Self::text(manifest).as_bytes(), 0), manifest: manifest.clone() }
    }

    fn text(manifest: &Manifest) -> String {
        serde_json::to_string(manifest).unwrap_or_default()
    }

    fn is_whole(&self) -> bool {
        self.crc32 == checksum(Self::text(&self.manifest).as_bytes(), 0)
    }
}

/// A run as it was found.
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
    /// The start of the checksums of all logs: that of the run.
    chain: u32,
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
        if !(resume && folder.is_dir()) {
            check_free(folder)?;
        }
        let parent = parent(folder);
        std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        let is_new = match std::fs::create_dir(&place) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                check_own(&place)?;
                if !resume {
                    lock(&place)?;
                    return Err(Error::content(
                        &place,
                        "a run that is not finished: continue it with --resume, or remove it",
                    ));
                }
                false
            }
            other => other.map(|()| true).map_err(Error::file(&place))?,
        };
        let begun = Self::take(folder, &place, manifest, tasks);
        if is_new && begun.is_err() {
            // Nothing is left of what could not begin.
            let _ = std::fs::remove_dir_all(&place);
        }
        begun
    }

    fn take(folder: &Path, place: &Path, manifest: Manifest, tasks: usize) -> Result<Begun> {
        let lock = lock(place)?;
        let mut journal = Self {
            folder: folder.to_owned(),
            place: place.to_owned(),
            chain: 0,
            manifest,
            _lock: lock,
            entries: vec![None; tasks],
            next_log: 0,
        };
        if folder.exists() {
            // All that is left of the journal is what its process had no time to remove.
            let finished = read_manifest(folder)?;
            journal.check_same(&finished, folder)?;
            journal.head()?;
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
        if let Some(earlier) = self.head()? {
            self.manifest.started = earlier.started;
            self.manifest.resumed = earlier.resumed.saturating_add(1);
        }
        write_json(&self.place.join(HEAD), &Head::new(&self.manifest))?;
        self.chain = identity(&self.manifest);
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

    /// The head that an earlier start of this run wrote; none if it did not come so far.
    fn head(&self) -> Result<Option<Manifest>> {
        let path = self.place.join(HEAD);
        if !path.exists() {
            return Ok(None);
        }
        let text = files::text_written(&path)?;
        let head: Head = serde_json::from_str(&text)
            .map_err(|e| Error::content(&path, format!("not a journal: {e}")))?;
        self.check_same(&head.manifest, &self.place)?;
        if head.is_whole() {
            return Ok(Some(head.manifest));
        }
        Err(Error::content(&path, "is not as it was written: remove the folder, and run anew"))
    }

    /// Enters what a log has, up to what is half-written.
    fn read_log(&mut self, log: u32) -> Result<()> {
        let path = self.log_path(log);
        let mut file = BufReader::new(files::open_written(&path)?);
        let (mut offset, mut head, mut lines) = (0, Vec::new(), Vec::new());
        let mut chain = chained(self.chain, log);
        loop {
            head.clear();
            offset += file.read_until(b'\n', &mut head).map_err(Error::file(&path))? as u64;
            let Some((task, lengths, sum)) = parse_head(&head) else { return Ok(()) };
            let words = head.len() - sum.len() - 1;
            let entry = Entry { log, offset, lengths };
            lines.clear();
            let wanted = entry.length() as u64;
            let got = file.by_ref().take(wanted).read_to_end(&mut lines);
            let got = got.map_err(Error::file(&path))? as u64;
            let Some(place) = self.entries.get_mut(task) else { return Ok(()) };
            chain = extended(chain, &[&head[..words], &lines]);
            if got < wanted || written(chain) != sum {
                return Ok(());
            }
            *place = Some(entry);
            offset += got;
        }
    }

    fn log_path(&self, log: u32) -> PathBuf {
        self.place.join(format!("{log:06}.log"))
    }

    /// The manifest of the run.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The tasks of a plan that are asked for and not finished.
    #[must_use]
    pub fn outstanding(&self, plan: &Plan<'_>) -> Vec<usize> {
        plan.asked(self.manifest.shard).filter(|&task| self.entries[task].is_none()).collect()
    }

    /// The tasks that are finished.
    pub fn finished(&self) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(|&task| self.entries[task].is_some())
    }

    /// The lines of tasks that are finished; those of others are left out.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub fn lines(&self, tasks: Range<usize>) -> Result<Vec<TaskLines>> {
        let mut logs = Logs { journal: self, open: Vec::new() };
        let entries = tasks.filter_map(|task| self.entries[task]);
        entries.map(|entry| logs.read(entry)).collect()
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
            let chain = chained(self.chain, number);
            Ok(Log { path, file, number, offset: 0, chain, synced: Instant::now() })
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
        let inside = self.place.join(RESULTS);
        if inside.exists() {
            std::fs::remove_dir_all(&inside).map_err(Error::file(&inside))?;
        }
        std::fs::create_dir(&inside).map_err(Error::file(&inside))?;
        let mut writer = Writer::create(&inside, plan, self.manifest.shard.is_some())?;
        let mut logs = Logs { journal: &self, open: Vec::new() };
        for task in plan.asked(self.manifest.shard) {
            let missing = || Error::content(&self.place, format!("dataset {task} is missing"));
            let entry = self.entries[task].ok_or_else(missing)?;
            writer.push(task, plan.locate(task).0, &logs.read(entry)?)?;
        }
        let counts = writer.finish(&self.manifest)?;
        publish(&inside, &self.folder)?;
        self.remove()?;
        Ok((self.manifest, counts))
    }

    /// Removes a journal that has nothing yet, such as that of a run which cannot be.
    pub fn forget_if_empty(self) {
        if self.entries.iter().all(Option::is_none) {
            // It is a trace and no more.
            let _ = self.remove();
        }
    }

    /// The head goes last: what is left of a journal can be told from other folders.
    fn remove(&self) -> Result<()> {
        check_own(&self.place)?;
        for entry in std::fs::read_dir(&self.place).map_err(Error::file(&self.place))? {
            let path = entry.map_err(Error::file(&self.place))?.path();
            if path.ends_with(HEAD) || path.ends_with(LOCK) {
                continue;
            }
            let removed = match path.ends_with(RESULTS) {
                true => std::fs::remove_dir_all(&path),
                false => std::fs::remove_file(&path),
            };
            removed.map_err(Error::file(&path))?;
        }
        std::fs::remove_dir_all(&self.place).map_err(Error::file(&self.place))
    }
}

/// Refuses a folder that holds anything but a journal: nothing is changed in it.
fn check_own(place: &Path) -> Result<()> {
    let foreign = |what: &str| {
        Err(Error::content(
            place,
            format!("{what}: it is left alone; name another folder with --out"),
        ))
    };
    let there = std::fs::symlink_metadata(place).map_err(Error::file(place))?;
    if !there.is_dir() {
        return foreign("is no folder, and so no journal of a run");
    }
    let mut has_more = false;
    for entry in std::fs::read_dir(place).map_err(Error::file(place))? {
        let entry = entry.map_err(Error::file(place))?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let is_folder = entry.file_type().map_err(Error::file(place))?.is_dir();
        let is_log = name.strip_suffix(".log").is_some_and(|number| number.parse::<u32>().is_ok());
        let is_file = is_log || [HEAD, "journal.json.new", LOCK].contains(&name);
        if if is_folder { name != RESULTS } else { !is_file } {
            return foreign(&format!("holds `{name}`, which is no part of the journal of a run"));
        }
        has_more |= is_log || is_folder;
    }
    if has_more && !place.join(HEAD).exists() {
        return foreign(&format!("has no {HEAD}, which says what run it is of"));
    }
    Ok(())
}

/// The mark that sets a run apart from others into the same folder.
fn identity(manifest: &Manifest) -> u32 {
    let Manifest { seed, started, shard, studies, .. } = manifest;
    let studies = serde_json::to_string(studies).unwrap_or_default();
    let shard = shard.map_or_else(String::new, |shard| shard.to_string());
    crc32fast::hash(format!("{seed} {started} {shard} {studies}").as_bytes())
}

/// The start of the checksums of a log.
fn chained(run: u32, log: u32) -> u32 {
    extended(run, &[&log.to_le_bytes()])
}

/// A checksum of what one was of, and of more.
fn extended(chain: u32, more: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&chain.to_le_bytes());
    more.iter().for_each(|bytes| hasher.update(bytes));
    hasher.finalize()
}

/// Path of the journal of a results folder.
fn unfinished(folder: &Path) -> PathBuf {
    files::beside(folder, ".unfinished")
}

fn lock(place: &Path) -> Result<File> {
    let path = place.join(LOCK);
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
    fn read(&mut self, entry: Entry) -> Result<TaskLines> {
        let path = self.journal.log_path(entry.log);
        let place = match self.open.iter().position(|log| log.number == entry.log) {
            Some(place) => place,
            None => {
                if self.open.len() == MOST_OPEN {
                    self.open.remove(0);
                }
                let file = BufReader::new(files::open_written(&path)?);
                self.open.push(OpenLog { number: entry.log, file, offset: 0 });
                self.open.len() - 1
            }
        };
        let OpenLog { file, offset, .. } = &mut self.open[place];
        let mut parts = TaskLines::default();
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

/// A log of a thread, to which it appends what it has finished.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    number: u32,
    offset: u64,
    chain: u32,
    synced: Instant,
}

impl Log {
    /// Appends the lines of a task.
    ///
    /// # Errors
    /// Whatever the system reports; more than 4 GiB of lines.
    pub fn append(&mut self, task: usize, parts: &TaskLines) -> Result<Entry> {
        let mut lengths = [0; ResultFile::ALL.len()];
        for (length, part) in lengths.iter_mut().zip(parts) {
            *length = u32::try_from(part.len()).map_err(|_| {
                Error::content(&self.path, "a dataset with more than 4 GiB of lines")
            })?;
        }
        let lines = parts.concat();
        let words = lengths.map(|length| length.to_string()).join(" ");
        let mut text = format!("{task} {words} ").into_bytes();
        let chain = extended(self.chain, &[&text, &lines]);
        text.extend_from_slice(format!("{}\n", written(chain)).as_bytes());
        let entry = Entry { log: self.number, offset: self.offset + text.len() as u64, lengths };
        text.extend(lines);
        self.file.write_all(&text).map_err(Error::file(&self.path))?;
        self.offset += text.len() as u64;
        self.chain = chain;
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
fn parse_head(head: &[u8]) -> Option<(usize, [u32; ResultFile::ALL.len()], String)> {
    let text = std::str::from_utf8(head).ok()?.strip_suffix('\n')?;
    let mut words = text.split(' ');
    let task = words.next()?.parse().ok()?;
    let mut lengths = [0; ResultFile::ALL.len()];
    for length in &mut lengths {
        *length = words.next()?.parse().ok()?;
    }
    let sum = words.next()?.to_owned();
    words.next().is_none().then_some((task, lengths, sum))
}

/// The CRC-32 of some bytes behind others: it finds what is half-written or changed by accident, and is
/// no protection against intent.
fn checksum(bytes: &[u8], chain: u32) -> String {
    written(extended(chain, &[bytes]))
}

fn written(sum: u32) -> String {
    format!("{sum:08x}")
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

    fn parts(text: &str) -> TaskLines {
        let mut parts = TaskLines::default();
        parts[0] = text.into();
        parts[1] = b"t\n".to_vec();
        parts[3] = b"bins\n".to_vec();
        parts
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
        // So is every changed bit, and what stands in another order or in another log.
        let taken_up = |bytes: &[u8], name: &str| {
            let (path, moved) = (&path, path.with_file_name(name));
            let _ = std::fs::remove_file(path);
            std::fs::write(&moved, bytes).unwrap();
            let resumed = journal(&folder, 3, true).unwrap();
            let mut logs = Logs { journal: &resumed, open: Vec::new() };
            let texts =
                resumed.finished().map(|task| (task, logs.read(resumed.entries[task].unwrap())));
            let texts: Vec<_> = texts.map(|(task, text)| (task, text.unwrap())).collect();
            std::fs::remove_file(&moved).unwrap();
            texts
        };
        let both = [(0, parts("second\n")), (2, parts("first\n"))];
        assert_eq!(taken_up(&whole, "000000.log"), both);
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let left: &[_] = if bit / 8 < end_of_first { &[] } else { &both[1..] };
            assert_eq!(taken_up(&changed, "000000.log"), left, "bit {bit}");
        }
        let (one, other) = whole.split_at(end_of_first);
        assert_eq!(taken_up(&[other, one].concat(), "000000.log"), []);
        assert_eq!(taken_up(&[one, one].concat(), "000000.log"), both[1..]);
        assert_eq!(taken_up(&whole, "000001.log"), []);
    }

    #[test]
    fn every_bit_of_what_a_journal_is_of_is_checked() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("out");
        drop(journal(&folder, 1, false).unwrap());
        let path = scratch.path().join("out.unfinished/journal.json");
        let whole = std::fs::read(&path).unwrap();
        let head: Head = serde_json::from_slice(&whole).unwrap();
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &changed).unwrap();
            if let Ok(resumed) = journal(&folder, 1, true) {
                // It says the same, such as with another space.
                let text =
                    |manifest: &Manifest| Head::text(&Manifest { resumed: 0, ..manifest.clone() });
                assert_eq!(resumed.manifest.started, head.manifest.started, "bit {bit}");
                assert_eq!(resumed.manifest.resumed, 1, "bit {bit}");
                let read: Head = serde_json::from_slice(&changed).unwrap();
                assert_eq!(text(&read.manifest), text(&head.manifest), "bit {bit}");
            }
        }
    }

    #[test]
    fn folders_of_others_are_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let (folder, place) = (scratch.path().join("out"), scratch.path().join("out.unfinished"));
        std::fs::create_dir(&place).unwrap();
        for name in ["thesis.tex", "000000.log"] {
            std::fs::write(place.join(name), "years of work").unwrap();
            for resume in [false, true] {
                let message = journal(&folder, 1, resume).unwrap_err().to_string();
                assert!(message.contains("left alone"), "{message}");
                assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
            }
            std::fs::remove_file(place.join(name)).unwrap();
        }
        std::fs::create_dir(place.join("folder")).unwrap();
        assert!(journal(&folder, 1, true).unwrap_err().to_string().contains("`folder`"));
        std::fs::remove_dir_all(&place).unwrap();
        std::fs::write(&place, "a file").unwrap();
        assert!(journal(&folder, 1, true).unwrap_err().to_string().contains("no folder"));
        assert_eq!(std::fs::read(&place).unwrap(), b"a file");
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
