//! More datasets for results that are finished: what is there is entered in the journal of a run that asks for more.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::Key;
use super::columns::{ResultFile, TaskLines};
use super::journal::Journal;
use super::manifest::{EarlierRun, Manifest};
use crate::error::{Error, Result};
use crate::output::exact;
use crate::output::formulas::unguarded;
use crate::study::Study;
use crate::study::file::{Keep, StudyFile};
use crate::study::tasks::{Plan, Planned};
use crate::system::files::{self, Hashed};

/// Contents of a study whose blocks ask for so many datasets; what a precision says of their number is left.
///
/// # Errors
/// A block that asks for more, and blocks none of which asks for fewer.
pub fn with_replicates(file: &StudyFile, replicates: usize) -> Result<StudyFile, String> {
    let mut file = file.clone();
    let mut is_more = false;
    for (i, block) in file.block.iter_mut().enumerate().filter(|(_, block)| block.until.is_none()) {
        let there = block.replicates.unwrap_or_default();
        if there > replicates {
            return Err(format!(
                "block {} has {there} replicates already: --replicates must be larger",
                i + 1
            ));
        }
        is_more |= there < replicates;
        block.replicates = Some(replicates);
    }
    if is_more {
        return Ok(file);
    }
    Err(match file.block.iter().all(|block| block.until.is_some()) {
        true => "`until` says how many replicates its blocks have: raise `most` or lower `relative_se`, and run it anew"
            .to_owned(),
        false => format!("there are {replicates} replicates already: --replicates must be larger"),
    })
}

/// The manifest of a run that adds to earlier ones.
#[must_use]
pub fn manifest(earlier: &Manifest, now: Manifest) -> Manifest {
    let of = EarlierRun {
        command: earlier.command.clone(),
        cpu: earlier.cpu.clone(),
        cores: earlier.cores,
        jobs: earlier.jobs,
        started: earlier.started.clone(),
        wall_seconds: earlier.wall_seconds,
    };
    let extended = earlier.extended.iter().cloned().chain([of]).collect();
    Manifest { extended, ..now }
}

/// Enters the datasets of a results folder, of which `before` was the plan, in the journal of one that asks for more:
/// the number of those that must be computed again, because whole results do not have all that was made of them.
///
/// # Errors
/// Files that are not as they were written; whatever the system reports.
pub fn enter(
    folder: &Path,
    manifest: &Manifest,
    (before, after): (&Plan<'_>, &Plan<'_>),
    journal: &mut Journal,
) -> Result<usize> {
    let groups = Groups::of(before);
    let mut files = Vec::new();
    for file in ResultFile::ALL {
        let path = folder.join(file.name());
        if path.exists() {
            // Before anything of it is in the journal, which a later run would take up.
            check_written(&path, manifest.files.get(file.name()))?;
            files.push(Some(Lines::open(path, file)?));
        } else {
            files.push(None);
        }
    }
    let open: HashSet<usize> = journal.outstanding(after).into_iter().collect();
    let mut again = 0;
    let mut logs = journal.begin_logs(1)?;
    let mut entries = Vec::new();
    for task in before.asked(None) {
        let (group, replicate) = before.locate(task);
        if !groups.is_apart[group] {
            again += 1;
            continue;
        }
        let mut parts = TaskLines::default();
        for (file, part) in files.iter_mut().zip(&mut parts) {
            if let Some(file) = file {
                *part = file.of(task, before, &groups)?;
            }
        }
        let task = after.asked_of(group).start + replicate;
        // A precision may have been reached with fewer datasets than there can be.
        let is_there = !parts[ResultFile::Cells as usize].is_empty();
        if is_there && open.contains(&task) {
            for log in &mut logs {
                entries.push((task, log.append(task, &parts)?));
            }
        }
    }
    for (file, of) in files.into_iter().zip(ResultFile::ALL) {
        if let Some(mut file) = file {
            file.check_end(manifest, of, before, &groups)?;
        }
    }
    journal.enter(entries);
    Ok(again)
}

/// The groups of lines.
struct Groups {
    /// Groups by the words of their lines.
    places: HashMap<[String; 5], Vec<usize>>,
    /// The keys of the estimates of groups that share their words with others.
    estimates: HashMap<u128, usize>,
    /// True of those whose lines can be told from others, and are all there.
    is_apart: Vec<bool>,
}

impl Groups {
    fn of(plan: &Plan<'_>) -> Self {
        let mut places: HashMap<[String; 5], Vec<usize>> = HashMap::new();
        for (group, planned) in plan.groups.iter().enumerate() {
            places.entry(words(planned)).or_default().push(group);
        }
        // The errors of curves are not kept beside bias and variance that were made of them.
        let is_whole = |planned: &Planned<'_>| !planned.group.keep.contains(&Keep::Decomposition);
        let mut is_apart: Vec<bool> = plan.groups.iter().map(is_whole).collect();
        let mut estimates = HashMap::new();
        for sharing in places.values().filter(|groups| groups.len() > 1) {
            let mut own: HashMap<u128, usize> = HashMap::new();
            let mut is_clear = true;
            for &group in sharing {
                let planned = &plan.groups[group];
                is_clear &= planned.group.fitting.is_none();
                for key in planned.group.keys(planned.study) {
                    let before = own.insert(of_estimate(&key.borrowed()), group);
                    is_clear &= before.is_none_or(|before| before == group);
                }
            }
            match is_clear {
                true => estimates.extend(own),
                false => sharing.iter().for_each(|&group| is_apart[group] = false),
            }
        }
        Self { places, estimates, is_apart }
    }

    /// The group of a line; none where it is not known, or of one that is not taken over.
    fn group(&self, key: &Key<&str>) -> std::result::Result<Option<usize>, ()> {
        let words = [key.study, key.scenario, key.parameters, key.rows, key.snr].map(str::to_owned);
        let group = match self.places.get(&words).map(Vec::as_slice) {
            None => return Err(()),
            Some([group]) => *group,
            Some(groups) if groups.iter().any(|&group| !self.is_apart[group]) => return Ok(None),
            Some(_) => *self.estimates.get(&of_estimate(key)).ok_or(())?,
        };
        Ok(self.is_apart[group].then_some(group))
    }
}

fn words(planned: &Planned<'_>) -> [String; 5] {
    let fitting = planned.group.fitting.as_ref().filter(|fitting| !fitting.models.is_empty());
    let snr = fitting.map_or_else(String::new, |fitting| exact(fitting.snr));
    let Planned { study, scenario, parameters, rows, .. } = planned;
    [(*study).to_owned(), scenario.clone(), parameters.clone(), rows.clone(), snr]
}

/// A fingerprint of an estimate, which is made once for all datasets, outputs and metrics.
fn of_estimate(key: &Key<&str>) -> u128 {
    Key { output: "", replicate: "", metric: "", ..*key }.fingerprint()
}

fn changed(path: &Path) -> Error {
    Error::content(path, "is not as it was written: nothing is added to it")
}

/// Refuses a file that does not have the SHA-256 that is known of it.
fn check_written(path: &Path, known: Option<&String>) -> Result<()> {
    let Some(known) = known else { return Ok(()) };
    let mut file = Hashed::new(files::open_written(path)?);
    std::io::copy(&mut file, &mut std::io::sink()).map_err(Error::file(path))?;
    if file.hash() == *known { Ok(()) } else { Err(changed(path)) }
}

/// The lines of a file: their keys, and once more their bytes.
struct Lines {
    path: PathBuf,
    file: ResultFile,
    records: csv::Reader<File>,
    bytes: BufReader<Hashed<File>>,
    /// The task of the line that was read last, which is the next one's; none of lines that are not taken over.
    next: Option<Option<usize>>,
    /// Bytes up to that line.
    read: u64,
    start: u64,
}

impl Lines {
    fn open(path: PathBuf, file: ResultFile) -> Result<Self> {
        let open = || files::open_written(&path);
        let (records, bytes) = (csv::Reader::from_reader(open()?), Hashed::new(open()?));
        let bytes = BufReader::new(bytes);
        let mut lines = Self { path, file, records, bytes, next: None, read: 0, start: 0 };
        lines.records.headers().map_err(|e| Error::content(&lines.path, e))?;
        let header = lines.records.position().byte();
        lines.take(header)?;
        Ok(lines)
    }

    fn changed(&self) -> Error {
        changed(&self.path)
    }

    /// The bytes up to a place.
    fn take(&mut self, to: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let wanted = to - self.read;
        let got = self.bytes.by_ref().take(wanted).read_to_end(&mut bytes);
        if got.map_err(Error::file(&self.path))? as u64 != wanted {
            return Err(self.changed());
        }
        self.read = to;
        Ok(bytes)
    }

    /// Reads the next line.
    fn advance(&mut self, plan: &Plan<'_>, groups: &Groups) -> Result<()> {
        self.start = self.records.position().byte();
        let mut record = csv::StringRecord::new();
        let is_there = self.records.read_record(&mut record);
        if !is_there.map_err(|e| Error::content(&self.path, e))? {
            self.next = None;
            return Ok(());
        }
        let key = Key::read(self.file.keys(), record.iter().map(unguarded));
        let group = groups.group(&key).map_err(|()| self.changed())?;
        let task = group.map(|group| {
            let replicate = key.replicate.parse().ok();
            let tasks = plan.asked_of(group);
            replicate
                .map(|replicate: usize| tasks.start + replicate)
                .filter(|task| tasks.contains(task))
        });
        self.next = match task {
            Some(None) => return Err(self.changed()),
            Some(Some(task)) => Some(Some(task)),
            None => Some(None),
        };
        Ok(())
    }

    /// Reads on to a line of a task of the plan, unless it is there.
    fn find(&mut self, plan: &Plan<'_>, groups: &Groups) -> Result<()> {
        if self.next.is_none() {
            self.advance(plan, groups)?;
        }
        while self.next == Some(None) {
            self.advance(plan, groups)?;
        }
        Ok(())
    }

    /// The lines of a task, which stand together.
    fn of(&mut self, task: usize, plan: &Plan<'_>, groups: &Groups) -> Result<Vec<u8>> {
        self.find(plan, groups)?;
        if self.next != Some(Some(task)) {
            return Ok(Vec::new());
        }
        self.take(self.start)?;
        while self.next == Some(Some(task)) {
            self.advance(plan, groups)?;
        }
        self.take(self.start)
    }

    /// Refuses lines that are left, and a file that is not as the manifest says.
    fn check_end(
        &mut self,
        manifest: &Manifest,
        of: ResultFile,
        plan: &Plan<'_>,
        groups: &Groups,
    ) -> Result<()> {
        self.find(plan, groups)?;
        let is_left = self.next.is_some();
        self.take(self.start)?;
        let hash = self.bytes.get_ref().hash();
        if is_left || manifest.files.get(of.name()).is_some_and(|known| *known != hash) {
            return Err(self.changed());
        }
        Ok(())
    }
}

/// The studies of results as they are with more replicates.
///
/// # Errors
/// As [`with_replicates`], and a study that this program would not run.
pub fn studies(
    folder: &Path,
    manifest: &Manifest,
    replicates: Option<usize>,
) -> Result<Vec<Study>> {
    let study = |named: &super::manifest::NamedStudy| {
        let file = replicates.map(|replicates| with_replicates(&named.study, replicates));
        Study::new(named.name.clone(), file.unwrap_or_else(|| Ok(named.study.clone()))?)
    };
    let studies = manifest.studies.iter().map(study).collect::<Result<_, String>>();
    studies.map_err(|message| Error::content(folder, message))
}
