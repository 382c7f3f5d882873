//! One results folder from those of all shards.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::columns::{ResultFile, TaskLines};
use super::manifest::{Manifest, MergedShard, read_manifest};
use super::results::checked;
use super::store::{Counts, TASKS, Writer, check_free, publish};
use super::{Column, Key};
use crate::error::{Error, Result};
use crate::output::formulas::guarded;
use crate::study::Study;
use crate::study::tasks::{Plan, Planned, Shard};
use crate::system::files::{self, Hashed, parent};
use crate::system::guard::Temporary;

/// Merges the results of all shards of a run: the files are those that one run writes.
///
/// # Errors
/// Folders that are not the shards of one run, each of them once; a results folder that exists;
/// whatever the system reports.
pub fn merge(shards: &[PathBuf], folder: &Path) -> Result<(Manifest, Counts)> {
    check_free(folder)?;
    let mut shards =
        shards.iter().map(|path| ShardReader::open(path)).collect::<Result<Vec<ShardReader>>>()?;
    shards.sort_by_key(|shard| (shard.shard.of, shard.shard.index));
    let holders = holders(&shards)?;
    let Some(first) = shards.first() else {
        return Err(Error::Argument("nothing to merge: name the folders of all shards".to_owned()));
    };
    let manifest = merged(&shards, &first.manifest);
    let studies = studies(&first.manifest, &first.folder)?;
    let plan = Plan::new(&studies);
    let parent = parent(folder);
    std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
    let mut scratch = tempfile::Builder::new();
    scratch.prefix(".merging-");
    // Results are for everybody whom the user's own mask lets in, unlike temporary folders.
    #[cfg(unix)]
    scratch.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let scratch = scratch.tempdir_in(parent).map_err(Error::file(parent))?;
    let _temporary = Temporary::at(scratch.path());
    let mut writer = Writer::create(scratch.path(), &plan, false)?;
    let mut ended = None;
    for task in 0..plan.tasks {
        let (group, replicate) = plan.locate(task);
        if ended == Some(group) {
            continue;
        }
        let shard = &mut shards[holders[plan.index(task, holders.len()) - 1]];
        // Where a precision says how many datasets there are, the shard knows.
        if plan.groups[group].group.replicates.allows(replicate) && !shard.has_next(task) {
            ended = Some(group);
            continue;
        }
        let parts = shard.next(task)?;
        shard.check(&parts, &plan.groups[group], replicate)?;
        writer.push(task, group, &parts)?;
    }
    shards.iter_mut().try_for_each(ShardReader::check_end)?;
    let counts = writer.finish(&manifest)?;
    publish(scratch.path(), folder)?;
    Ok((manifest, counts))
}

/// The studies that a manifest tells.
fn studies(manifest: &Manifest, folder: &Path) -> Result<Vec<Study>> {
    let named = manifest.studies.iter();
    let study = named.map(|named| Study::new(named.name.clone(), named.study.clone()));
    study.collect::<Result<_, String>>().map_err(|message| Error::content(folder, message))
}

/// Most numbers that shards of different sizes may divide together.
const MOST_DIVIDED: usize = 100_000_000;

/// For each dataset, by its number modulo as many as there are here, the place of the shard that has it. Refuses
/// anything but the shards of one run, in which each dataset is once; a shard may be there as several smaller ones.
fn holders(shards: &[ShardReader]) -> Result<Vec<usize>> {
    for (shard, next) in shards.iter().zip(shards.iter().skip(1)) {
        if let Some(difference) = shard.manifest.difference(&next.manifest) {
            let (one, other) = (shard.folder.display(), next.folder.display());
            return Err(Error::content(
                &next.folder,
                format!("{one} and {other} are not shards of one run: {difference}"),
            ));
        }
        if shard.shard == next.shard {
            let message = format!("is shard {}, as is {}", next.shard, shard.folder.display());
            return Err(Error::content(&next.folder, message));
        }
    }
    let mut divided = 1;
    for shard in shards {
        divided = common_multiple(divided, shard.shard.of)
            .filter(|divided| *divided <= MOST_DIVIDED)
            .ok_or_else(|| {
                let message = format!("is shard {}, which does not fit the others", shard.shard);
                Error::content(&shard.folder, message)
            })?;
    }
    let mut holders: Vec<Option<usize>> = vec![None; divided];
    for (place, reader) in shards.iter().enumerate() {
        let Shard { index, of } = reader.shard;
        for number in (index - 1..divided).step_by(of) {
            if let Some(earlier) = holders[number].replace(place) {
                let earlier = &shards[earlier];
                let (one, other) = (earlier.shard, reader.shard);
                let message =
                    format!("is shard {other}, but {} is {one}", earlier.folder.display());
                return Err(Error::content(&reader.folder, message));
            }
        }
    }
    let missing = holders.iter().enumerate().filter(|(_, holder)| holder.is_none());
    let missing: Vec<String> =
        missing.map(|(number, _)| format!("{}/{divided}", number + 1)).collect();
    if missing.is_empty() {
        return Ok(holders.into_iter().flatten().collect());
    }
    let given: Vec<String> = shards
        .iter()
        .map(|shard| format!("{} is {}", shard.folder.display(), shard.shard))
        .collect();
    let (missing, given) = (missing.join(", "), given.join(", "));
    Err(Error::Argument(format!("shards are missing: {missing} ({given})")))
}

fn common_multiple(a: usize, b: usize) -> Option<usize> {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor.max(1)).checked_mul(b)
}

fn merged(shards: &[ShardReader], first: &Manifest) -> Manifest {
    let started = shards.iter().map(|shard| shard.manifest.started.clone()).min();
    let of_shard = |reader: &ShardReader| MergedShard {
        shard: reader.shard,
        cpu: reader.manifest.cpu.clone(),
        cores: reader.manifest.cores,
        jobs: reader.manifest.jobs,
        resumed: reader.manifest.resumed,
        started: reader.manifest.started.clone(),
        wall_seconds: reader.manifest.wall_seconds,
    };
    Manifest {
        shard: None,
        command: super::manifest::command(),
        started: started.unwrap_or_default(),
        wall_seconds: shards.iter().map(|shard| shard.manifest.wall_seconds).sum(),
        merged: shards.iter().map(of_shard).collect(),
        ..first.clone()
    }
}

/// The results of a shard, read dataset by dataset.
struct ShardReader {
    folder: PathBuf,
    manifest: Manifest,
    shard: Shard,
    /// For each of the files, if there is one.
    files: Vec<Option<BufReader<Hashed<File>>>>,
    tasks: csv::Reader<Hashed<File>>,
    /// The line of its tasks that comes next, where it was looked at.
    ahead: Option<csv::StringRecord>,
}

impl ShardReader {
    fn open(folder: &Path) -> Result<Self> {
        let manifest = read_manifest(folder)?;
        let Some(shard) = manifest.shard else {
            return Err(Error::content(folder, "not a shard: its run had no --shard"));
        };
        let mut files = Vec::new();
        for file in ResultFile::ALL {
            let path = folder.join(file.name());
            files.push(if path.exists() { Some(open(&path, file)?) } else { None });
        }
        let path = folder.join(TASKS);
        let tasks = files::open_written(&path)?;
        let tasks = csv::Reader::from_reader(Hashed::new(tasks));
        Ok(Self { folder: folder.to_owned(), manifest, shard, files, tasks, ahead: None })
    }

    fn changed(&self, what: &str) -> Error {
        Error::content(self.folder.join(what), "is not as it was written")
    }

    /// The line of its next task, as it is left for the next look.
    fn look_ahead(&mut self) -> Option<&csv::StringRecord> {
        if self.ahead.is_none() {
            self.ahead = self.tasks.records().next().and_then(Result::ok);
        }
        self.ahead.as_ref()
    }

    /// True if its next task is the given one.
    fn has_next(&mut self, task: usize) -> bool {
        let number = self.look_ahead().and_then(|record| record.get(0)?.parse::<usize>().ok());
        number == Some(task)
    }

    /// The lines of its next task, which must be the given one.
    fn next(&mut self, task: usize) -> Result<TaskLines> {
        self.look_ahead();
        let record = self.ahead.take();
        let numbers: Option<Vec<usize>> =
            record.and_then(|record| record.iter().map(|field| field.parse().ok()).collect());
        let lengths = match numbers.as_deref() {
            Some([own, lengths @ ..]) if *own == task && lengths.len() == ResultFile::ALL.len() => {
                lengths.to_vec()
            }
            _ => return Err(self.changed(TASKS)),
        };
        let mut parts = TaskLines::default();
        for (place, length) in lengths.into_iter().enumerate() {
            let name = ResultFile::ALL[place].name();
            let path = self.folder.join(name);
            let Some(file) = &mut self.files[place] else {
                if length == 0 {
                    continue;
                }
                return Err(self.changed(name));
            };
            // Not more is reserved than there is, whatever the length says.
            let read = file.by_ref().take(length as u64).read_to_end(&mut parts[place]);
            if read.map_err(Error::file(&path))? != length {
                return Err(self.changed(name));
            }
        }
        Ok(parts)
    }

    /// Refuses lines that a dataset cannot have, before anything is made of them.
    fn check(&self, parts: &TaskLines, planned: &Planned<'_>, replicate: usize) -> Result<()> {
        for (file, lines) in ResultFile::ALL.into_iter().zip(parts) {
            check_lines(file, lines, planned, replicate).map_err(|message| {
                let what = format!("{message}, in dataset {replicate} of N = {}", planned.rows);
                Error::content(self.folder.join(file.name()), what)
            })?;
        }
        Ok(())
    }

    /// Refuses what is left after the last task.
    fn check_end(&mut self) -> Result<()> {
        let has_more = self.look_ahead().is_some();
        let is_as_written = |name: &str, file: &Hashed<File>| {
            self.manifest.files.get(name).is_none_or(|hash| *hash == file.hash())
        };
        if has_more || !is_as_written(TASKS, self.tasks.get_ref()) {
            return Err(self.changed(TASKS));
        }
        for (file, name) in self.files.iter_mut().zip(ResultFile::ALL.map(ResultFile::name)) {
            let Some(file) = file else { continue };
            let rest = file.fill_buf().map_err(Error::file(self.folder.join(name)))?;
            if !rest.is_empty() || !is_as_written(name, file.get_ref()) {
                return Err(self.changed(name));
            }
        }
        Ok(())
    }
}

/// A file after its header.
fn open(path: &Path, file: ResultFile) -> Result<BufReader<Hashed<File>>> {
    let opened = files::open_written(path)?;
    let mut reader = BufReader::new(Hashed::new(opened));
    let (mut header, wanted) = (String::new(), file.columns().join(","));
    // Not more than a header has, whatever stands there in its place.
    let read = reader.by_ref().take(wanted.len() as u64 + 2).read_line(&mut header);
    read.map_err(Error::file(path))?;
    if header.trim_end() != wanted {
        return Err(Error::content(path, "the columns are not those of a results file"));
    }
    Ok(reader)
}

/// Refuses lines of a file that are not those of a dataset, or hold what is no number.
fn check_lines(
    file: ResultFile,
    lines: &[u8],
    planned: &Planned<'_>,
    replicate: usize,
) -> Result<(), String> {
    let study = guarded(planned.study);
    let replicate = replicate.to_string();
    let own = [
        (Column::Study, study.as_ref()),
        (Column::Scenario, &planned.scenario),
        (Column::Parameters, &planned.parameters),
        (Column::Rows, &planned.rows),
        (Column::Replicate, &replicate),
    ];
    let (keys, values) = (file.keys(), file.values());
    let width = keys.clone().count() + values.len();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(lines);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| e.to_string())? {
        if record.len() != width {
            return Err(format!("{} fields in a line", record.len()));
        }
        let key = Key::read(keys.clone(), &record);
        if let Some((column, _)) = own.iter().find(|(column, word)| key[*column] != *word) {
            return Err(format!("a line of another dataset, with `{}`", key[*column]));
        }
        if file == ResultFile::Cells {
            checked(&record)?;
        }
        let fields = record.iter().skip(width - values.len());
        fields.zip(&values).try_for_each(|(field, (_, holds))| holds.check(field))?;
    }
    Ok(())
}
