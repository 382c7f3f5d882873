//! One results folder from those of all shards.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::encode::MISSING;
use super::lines::optional;
use super::manifest::{Manifest, MergedShard};
use super::results::checked;
use super::store::{Counts, TASKS, Writer, check_free, publish, read_manifest};
use super::{FILES, KEYS, METRIC, Parts, columns};
use crate::error::{Error, Result};
use crate::files::{Hashed, parent};
use crate::guard::Temporary;
use crate::run::plan::{Plan, Planned, Shard};
use crate::spreadsheet::guarded;
use crate::study::Study;

/// Merges the results of all shards of a run: the files are those that one run writes.
///
/// # Errors
/// Folders that are not the shards of one run, each of them once; a results folder that exists;
/// whatever the system reports.
pub fn merge(shards: &[PathBuf], folder: &Path) -> Result<(Manifest, Counts)> {
    check_free(folder)?;
    let mut shards =
        shards.iter().map(|path| ShardReader::open(path)).collect::<Result<Vec<ShardReader>>>()?;
    shards.sort_by_key(|shard| shard.shard.index);
    check_complete(&shards)?;
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
    let of = shards.len();
    for task in 0..plan.tasks {
        let (group, replicate) = plan.locate(task);
        let parts = shards[task % of].next(task)?;
        shards[task % of].check(&parts, &plan.groups[group], replicate)?;
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

/// Refuses anything but the shards of one run, each of them once.
fn check_complete(shards: &[ShardReader]) -> Result<()> {
    let Some(first) = shards.first() else { return Ok(()) };
    for (shard, next) in shards.iter().zip(&shards[1..]) {
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
        if shard.shard.of != next.shard.of {
            let (one, other) = (shard.shard, next.shard);
            let message = format!("is shard {other}, but {} is {one}", shard.folder.display());
            return Err(Error::content(&next.folder, message));
        }
    }
    let of = first.shard.of;
    let there = |index: &usize| shards.iter().any(|shard| shard.shard.index == *index);
    let missing: Vec<String> =
        (1..=of).filter(|index| !there(index)).map(|index| format!("{index}/{of}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Argument(format!("shards are missing: {}", missing.join(", "))))
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
    /// For each of [`FILES`], if there is one.
    files: Vec<Option<BufReader<Hashed<File>>>>,
    tasks: csv::Reader<Hashed<File>>,
}

impl ShardReader {
    fn open(folder: &Path) -> Result<Self> {
        let manifest = read_manifest(folder)?;
        let Some(shard) = manifest.shard else {
            return Err(Error::content(folder, "not a shard: its run had no --shard"));
        };
        let mut files = Vec::new();
        for (file, name) in FILES.iter().enumerate() {
            let path = folder.join(name);
            files.push(if path.exists() { Some(open(&path, file)?) } else { None });
        }
        let path = folder.join(TASKS);
        let tasks = File::open(&path).map_err(Error::file(&path))?;
        let tasks = csv::Reader::from_reader(Hashed::new(tasks));
        Ok(Self { folder: folder.to_owned(), manifest, shard, files, tasks })
    }

    fn changed(&self, what: &str) -> Error {
        Error::content(self.folder.join(what), "is not as it was written")
    }

    /// The lines of its next task, which must be the given one.
    fn next(&mut self, task: usize) -> Result<Parts> {
        let record = self.tasks.records().next().and_then(Result::ok);
        let numbers: Option<Vec<usize>> =
            record.and_then(|record| record.iter().map(|field| field.parse().ok()).collect());
        let lengths = match numbers.as_deref() {
            Some([own, lengths @ ..]) if *own == task && lengths.len() == FILES.len() => {
                lengths.to_vec()
            }
            _ => return Err(self.changed(TASKS)),
        };
        let mut parts = Parts::default();
        for (place, length) in lengths.into_iter().enumerate() {
            let path = self.folder.join(FILES[place]);
            let Some(file) = &mut self.files[place] else {
                if length == 0 {
                    continue;
                }
                return Err(self.changed(FILES[place]));
            };
            // Not more is reserved than there is, whatever the length says.
            let read = file.by_ref().take(length as u64).read_to_end(&mut parts[place]);
            if read.map_err(Error::file(&path))? != length {
                return Err(self.changed(FILES[place]));
            }
        }
        Ok(parts)
    }

    /// Refuses lines that a dataset cannot have, before anything is made of them.
    fn check(&self, parts: &Parts, planned: &Planned<'_>, replicate: usize) -> Result<()> {
        for (place, lines) in parts.iter().enumerate() {
            check_lines(place, lines, planned, replicate).map_err(|message| {
                let what = format!("{message}, in dataset {replicate} of N = {}", planned.rows);
                Error::content(self.folder.join(FILES[place]), what)
            })?;
        }
        Ok(())
    }

    /// Refuses what is left after the last task.
    fn check_end(&mut self) -> Result<()> {
        let is_as_written = |name: &str, file: &Hashed<File>| {
            self.manifest.files.get(name).is_none_or(|hash| *hash == file.hash())
        };
        if self.tasks.records().next().is_some() || !is_as_written(TASKS, self.tasks.get_ref()) {
            return Err(self.changed(TASKS));
        }
        for (place, name) in FILES.iter().enumerate() {
            let Some(file) = &mut self.files[place] else { continue };
            let rest = file.fill_buf().map_err(Error::file(self.folder.join(name)))?;
            if !rest.is_empty() || !is_as_written(name, file.get_ref()) {
                return Err(self.changed(name));
            }
        }
        Ok(())
    }
}

/// One of [`FILES`] after its header.
fn open(path: &Path, file: usize) -> Result<BufReader<Hashed<File>>> {
    let opened = File::open(path).map_err(Error::file(path))?;
    let mut reader = BufReader::new(Hashed::new(opened));
    let (mut header, wanted) = (String::new(), columns(file).join(","));
    // Not more than a header has, whatever stands there in its place.
    let read = reader.by_ref().take(wanted.len() as u64 + 2).read_line(&mut header);
    read.map_err(Error::file(path))?;
    if header.trim_end() != wanted {
        return Err(Error::content(path, "the columns are not those of a results file"));
    }
    Ok(reader)
}

/// Refuses lines of one of [`FILES`] that are not those of a dataset, or hold what is no number.
fn check_lines(
    place: usize,
    lines: &[u8],
    planned: &Planned<'_>,
    replicate: usize,
) -> Result<(), String> {
    let study = guarded(planned.study);
    let replicate = replicate.to_string();
    let own = [
        ("study", study.as_ref()),
        ("scenario", &planned.scenario),
        ("parameters", &planned.parameters),
        ("N", &planned.rows),
        ("replicate", &replicate),
    ];
    let keys = KEYS.map(|key| own.iter().find(|(name, _)| *name == key).map(|(_, value)| *value));
    let width = columns(place).len();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(lines);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| e.to_string())? {
        if record.len() != width {
            return Err(format!("{} fields in a line", record.len()));
        }
        let mut fields = record.iter().zip(keys);
        if let Some((field, _)) = fields.find(|(field, key)| key.is_some_and(|key| key != *field)) {
            return Err(format!("a line of another dataset, with `{field}`"));
        }
        let mut values = record.iter().skip(METRIC);
        match place {
            0 => checked(&record).map(|_| ())?,
            4 => values.try_for_each(check_list)?,
            _ => values.try_for_each(|value| optional(value).map(|_| ()))?,
        }
    }
    Ok(())
}

/// Refuses a list of numbers, of which some may be missing, that has anything else.
fn check_list(text: &str) -> Result<(), String> {
    let words = text.split_whitespace().filter(|word| *word != MISSING);
    words.map(optional).try_for_each(|number| number.map(|_| ()))
}
