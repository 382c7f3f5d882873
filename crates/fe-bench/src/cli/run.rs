//! `fe-bench run`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use super::forecast;
use super::progress::{Amount, Progress};
use super::stop;
use crate::engines::{Engines, declaration};
use crate::error::{Error, Result};
use crate::output::Format;
use crate::record::journal::{Begun, Journal};
use crate::record::manifest::{self, Manifest};
use crate::record::precision::Precision;
use crate::record::store::{self, Counts};
use crate::record::{Key, empty_bins, extend, results};
use crate::report::quoted;
use crate::run;
use crate::run::forecast::Forecast;
use crate::study::tasks::{Plan, Planned, Shard};
use crate::study::{self, Study};
use crate::system::files;
use crate::system::say::say;
use crate::table;

/// Runs studies and prints the tables they ask for.
///
/// All studies of one call share a results folder. The same command gives the same files on the same
/// build, whatever the number of threads, but for the recorded times: so do all shards of a run, merged,
/// and a run that was stopped and resumed. Until it is finished, a run is kept in DIR.unfinished.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Study files
    #[arg(required_unless_present = "extend", value_name = "STUDY.toml")]
    studies: Vec<PathBuf>,
    /// Results folder; must not exist [default: results/runs/TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads that run cells [default: as many as there are processors]
    #[arg(long, value_name = "J", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Master seed, from which all datasets are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Run only the I-th of M shards; `merge` puts the results of all of them together
    ///
    /// `auto` takes I and M from the variables of an array job of Slurm (scripts/slurm).
    #[arg(long, value_name = "I/M", value_parser = shard)]
    shard: Option<Shard>,
    /// Compute nothing of the shard: all its values have failed, for this reason
    ///
    /// For what ends the process whenever it is run, so that the other shards can be merged.
    #[arg(long, value_name = "REASON", requires = "shard", conflicts_with = "extend")]
    abandon: Option<String>,
    /// Go on where an earlier run into the same --out was stopped; start if there was none
    #[arg(long, requires = "out")]
    resume: bool,
    /// Add replicates to the results in DIR, up to --replicates; its studies need not be named again
    ///
    /// The files are then those of a run that asked for as many from the start, and take the place of those in DIR once all
    /// is finished; with --out DIR is left as it is. Stopped, it goes on by the same command. Of estimates whose bias and
    /// variance are kept at each point, and of some that stand in two blocks, the earlier datasets are computed again.
    #[arg(long, value_name = "DIR", requires = "replicates", conflicts_with_all = ["shard", "seed", "resume"])]
    extend: Option<PathBuf>,
    /// Number of replicates that all blocks have in the end
    #[arg(long, value_name = "R", requires = "extend", value_parser = super::arguments::count,
          conflicts_with_all = ["shard", "seed", "resume"])]
    replicates: Option<usize>,
    /// Say what would be computed, and how long it would take, and write nothing
    ///
    /// Some datasets of each kind are computed for this, on the threads of the run and for a minute at most, as far as
    /// one of them does not take longer; the times of other kinds are told from theirs, by their rows. Of a block with
    /// `until` it is the least number of datasets.
    #[arg(long, conflicts_with_all = ["resume", "extend", "abandon"])]
    dry_run: bool,
    // What `requires` a flag that cannot stand beside another one is passed over where that one stands.
    /// How the dry run is printed
    #[arg(long, value_enum, default_value = "table", requires = "dry_run",
          conflicts_with_all = ["resume", "extend", "abandon"])]
    format: Format,
    /// File that declares engines, for studies that name any
    #[arg(long, value_name = "FILE.toml", default_value = declaration::DEFAULT_FILE)]
    engines: PathBuf,
}

/// A shard as it is given, or that of a task of an array job.
fn shard(text: &str) -> std::result::Result<Shard, String> {
    match text {
        "auto" => of_array_job(&|name| std::env::var(name).ok()),
        _ => text.parse().map_err(|message| format!("{message}, or auto")),
    }
}

/// The shard of a task of an array job of Slurm, by its variables.
fn of_array_job(variable: &dyn Fn(&str) -> Option<String>) -> std::result::Result<Shard, String> {
    let number = |name: &str| -> std::result::Result<usize, String> {
        let text = variable(name).ok_or(format!(
            "auto is for a task of an array job of Slurm, and {name} is not set here"
        ))?;
        text.parse().map_err(|_| format!("auto: {name} is {text:?}, and should be a number"))
    };
    let [task, first, last, count] =
        ["ID", "MIN", "MAX", "COUNT"].map(|of| number(&format!("SLURM_ARRAY_TASK_{of}")));
    let (task, first, last, count) = (task?, first?, last?, count?);
    if count == 0 || last.checked_sub(first) != Some(count - 1) || !(first..=last).contains(&task) {
        return Err(format!(
            "auto needs an array without gaps, such as --array=1-{count}, and this one has {count} tasks \
             from {first} to {last}"
        ));
    }
    Ok(Shard { index: task - first + 1, of: count })
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let begun = Instant::now();
    super::arguments::can_be_recorded()?;
    // Results that are extended under their own name.
    let in_place = arguments.extend.as_deref().filter(|_| arguments.out.is_none());
    let in_place = in_place.map(files::without_slash);
    if let Some(folder) = in_place.as_deref().filter(|_| !arguments.dry_run)
        && store::finish_replacing(folder, &extended(folder))?
    {
        say!("{}: an extension that was stopped at its end is in place", folder.display());
    }
    let earlier = arguments.extend.as_deref().map(finished).transpose()?;
    let studies = match (&arguments.extend, &earlier) {
        (Some(folder), Some(earlier)) => more(arguments, folder, earlier)?,
        _ => read(&arguments.studies)?,
    };
    let seed = earlier.as_ref().map_or(arguments.seed, |earlier| earlier.seed);
    let engines = engines(&studies, &arguments.engines)?;
    let mut plan = Plan::new(&studies);
    let out_folder = arguments.out.as_deref().map(files::without_slash);
    let folder = out_folder.or_else(|| in_place.as_deref().map(extended));
    let mut folder = folder.unwrap_or_else(default_folder);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = arguments.jobs.map_or(cores, usize::from);
    if arguments.dry_run {
        let forecast = Forecast::new(&plan, arguments.shard, jobs, begun.elapsed());
        return forecast::tell(forecast, &plan, (&engines, seed), arguments.format, out);
    }
    let mut manifest = Manifest::starting(&studies, seed, jobs, arguments.shard);
    if let Some(earlier) = &earlier {
        manifest = extend::manifest(earlier, manifest);
    }
    let resume = arguments.resume || earlier.is_some();
    let started = Instant::now();
    let (manifest, counts) = match Journal::begin(&folder, manifest, plan.tasks, resume)? {
        Begun::Finished(manifest) => (manifest, None),
        Begun::Open(mut journal) => {
            stop::advise(Some(to_resume(arguments, &folder)));
            if let (Some(from), Some(earlier)) = (&arguments.extend, &earlier)
                && let Err(error) = enter(from, earlier, &plan, &mut journal)
            {
                journal.forget_if_empty();
                return Err(error);
            }
            let drawn = (seed, arguments.abandon.as_deref());
            let done = run_all(&mut plan, &engines, drawn, jobs, &mut journal);
            let imprecise = match done {
                Ok(imprecise) => imprecise,
                Err(error) => {
                    journal.forget_if_empty();
                    return Err(error);
                }
            };
            let (manifest, counts) = journal.finish(&plan, started.elapsed().as_secs_f64())?;
            stop::advise(Some(format!("the results are in {}", folder.display())));
            tell_imprecise(&studies, &imprecise);
            (manifest, Some(counts))
        }
    };
    if let Some(earlier) = in_place {
        store::replace(&earlier, &folder)?;
        folder = earlier;
        stop::advise(Some(format!("the results are in {}", folder.display())));
    }
    if let Some(counts) = &counts {
        say!("{}", made(&studies, counts, manifest.shard.is_some()));
    }
    let printed = print_tables(&folder, counts.as_ref(), manifest.shard.is_some(), out)
        .and_then(|()| out.flush().map_err(Error::Output));
    // Below the tables, where it is seen.
    match &counts {
        None => say!("finished already: {}", folder.display()),
        Some(Counts { values, failed, .. }) => {
            let seconds = manifest.wall_seconds;
            say!("{values} values ({failed} failed) in {seconds:.1} s: {}", folder.display());
        }
    }
    printed.and_then(|()| counts.map_or(Ok(()), |counts| check_any(&counts)))
}

/// A line above the tables, on the values that were made.
fn made(studies: &[Study], counts: &Counts, is_shard: bool) -> String {
    let of = match studies {
        [one] => format!("of the study {}", one.name),
        all => format!("of {} studies", all.len()),
    };
    let rest = if is_shard { "" } else { "; their tables:" };
    format!("made: {} values {of}, means over their datasets{rest}", counts.values)
}

/// The manifest of results to which something can be added.
fn finished(folder: &Path) -> Result<Manifest> {
    let manifest = manifest::read_manifest(folder)?;
    match manifest.shard {
        None => Ok(manifest),
        Some(shard) => {
            let message = format!(
                "is shard {shard} of a run: merge all shards, and extend what they are together"
            );
            Err(Error::content(folder, message))
        }
    }
}

/// The studies of finished results with more replicates, which must be the ones that are named, if any are.
fn more(arguments: &Arguments, folder: &Path, earlier: &Manifest) -> Result<Vec<Study>> {
    let studies = extend::studies(folder, earlier, arguments.replicates)?;
    let replicates = arguments.replicates.unwrap_or_default();
    let mut named = read(&arguments.studies)?;
    for (study, path) in named.iter_mut().zip(&arguments.studies) {
        let blocks = study.file.block.iter_mut().filter(|block| block.until.is_none());
        blocks.for_each(|block| block.replicates = Some(replicates));
        let is_there = |there: &Study| {
            let text = |study: &Study| serde_json::to_value(&study.file).ok();
            there.name == study.name && text(there) == text(study)
        };
        if !studies.iter().any(is_there) {
            let message = format!(
                "says something else than the studies of the results in {}: nothing can be added to them",
                folder.display()
            );
            return Err(Error::content(path, message));
        }
    }
    let starting = |seed| Manifest::starting(&studies, seed, 1, None);
    let there = Manifest { studies: starting(0).studies, ..earlier.clone() };
    match there.difference(&starting(earlier.seed)) {
        None => Ok(studies),
        Some(difference) => {
            Err(Error::content(folder, format!("cannot be extended: {difference}")))
        }
    }
}

/// Path of what is to take the place of a results folder.
fn extended(folder: &Path) -> PathBuf {
    files::beside(folder, ".extended")
}

/// Enters what finished results have in the journal of a run that adds to them.
fn enter(from: &Path, earlier: &Manifest, plan: &Plan<'_>, journal: &mut Journal) -> Result<()> {
    let studies = extend::studies(from, earlier, None)?;
    let mut before = Plan::new(&studies);
    before.ask_all();
    let again = extend::enter(from, earlier, (&before, plan), journal)?;
    if again > 0 {
        say!(
            "{again} of the earlier datasets are computed again: the results do not have all that was made of them"
        );
    }
    Ok(())
}

/// Runs all that is asked for, and what the precision of means asks for more: the keys of those that did not reach it.
fn run_all(
    plan: &mut Plan<'_>,
    engines: &Engines,
    drawn: (u64, Option<&str>),
    jobs: usize,
    journal: &mut Journal,
) -> Result<Vec<Key>> {
    let mut precision = Precision::new(plan);
    loop {
        let progress = progress(plan, journal);
        run::run(plan, engines, drawn, jobs, journal, &|number, cost| {
            progress.add(Amount { number, cost });
        })?;
        drop(progress);
        if !precision.ask_more(plan, journal)? {
            return Ok(precision.imprecise(plan));
        }
    }
}

/// Says how many means are less precise than their study asks for, on all the datasets that there may be.
fn tell_imprecise(studies: &[Study], imprecise: &[Key]) {
    for study in studies {
        let own: Vec<&Key> = imprecise.iter().filter(|key| key.study == study.name).collect();
        let Some(Key { metric, estimator, scenario, rows, .. }) = own.first() else { continue };
        say!(
            "{}: {} of its means are less precise than `until` asks for after `most` datasets; the first is {metric} of \
             {estimator} for {} of {scenario} with N = {rows}; raise `most` or `relative_se`",
            study.name,
            own.len(),
            own[0].subject(),
        );
    }
}

/// Fails if nothing could be computed: the results say why, and hold no number.
pub(super) fn check_any(counts: &Counts) -> Result<()> {
    if counts.failed < counts.values || counts.values == 0 {
        return Ok(());
    }
    Err(Error::Failed(format!("no value could be computed: {}", counts.reason)))
}

/// The most values that tables are printed of right after a run: a value takes about a kilobyte then.
const MOST_PRINTED: usize = 200_000;

/// Prints the tables of results that are complete, unless they would fill the memory.
pub(super) fn print_tables(
    folder: &Path,
    counts: Option<&Counts>,
    is_shard: bool,
    out: &mut dyn Write,
) -> Result<()> {
    if is_shard {
        return Ok(());
    }
    if counts.is_some_and(|counts| counts.values > MOST_PRINTED) {
        say!("to print its tables: fe-bench table {}", folder.display());
        return Ok(());
    }
    let results = results::read(folder)?;
    let labels = results.labels();
    if let Some(caution) = empty_bins::caution(&results.empty_bins, &labels, |_| true) {
        say!("{caution} See {}", folder.join("empty_bins.csv").display());
    }
    super::table::print_all(&results, out)
}

/// A study, with tables that its values will fill.
pub(super) fn study(path: &Path) -> Result<Study> {
    let study = Study::read(path)?;
    table::check(&study).map_err(|message| Error::content(path, message))?;
    Ok(study)
}

fn read(paths: &[PathBuf]) -> Result<Vec<Study>> {
    let studies = paths.iter().map(|path| study(path)).collect::<Result<Vec<Study>>>()?;
    for (i, study) in studies.iter().enumerate() {
        if let Some(other) = studies[..i].iter().position(|other| other.name == study.name) {
            let (name, [first, second]) = (&study.name, [other, i].map(|at| paths[at].display()));
            let message = format!("two studies are called `{name}`: {first} and {second}");
            return Err(Error::Argument(message));
        }
    }
    study::check_names(&studies)?;
    Ok(studies)
}

/// The engines that are declared, if the studies name any; every one that they name must be.
fn engines(studies: &[Study], file: &Path) -> Result<Engines> {
    let mut externals = studies.iter().flat_map(Study::externals).peekable();
    if externals.peek().is_none() {
        return Ok(Engines::default());
    }
    let engines = Engines::read(file)?;
    for external in externals {
        let found = engines.check(external);
        found.map_err(|message| Error::content(file, message))?;
    }
    let named: BTreeSet<&str> = studies
        .iter()
        .flat_map(Study::externals)
        .map(|external| external.engine.as_str())
        .collect();
    for engine in named {
        if let Err(reason) = engines.version(engine) {
            say!("{engine} cannot be run here: {reason}");
        }
    }
    Ok(engines)
}

fn default_folder() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S.%3fZ").to_string();
    Path::new("results").join("runs").join(now)
}

/// Shows how far a run is.
fn progress(plan: &Plan<'_>, journal: &Journal) -> Progress {
    let size = |planned: &Planned<'_>| Amount {
        number: planned.group.estimates(),
        cost: run::cost(planned),
    };
    let sizes: Vec<Amount> = plan.groups.iter().map(size).collect();
    let size = |task: usize| sizes[plan.locate(task).0];
    let before: Amount = journal.finished().map(size).sum();
    let left: Amount = journal.outstanding(plan).into_iter().map(size).sum();
    Progress::new("cells", before, before + left)
}

/// The command by which a run that is stopped now is gone on with.
fn to_resume(arguments: &Arguments, folder: &Path) -> String {
    let mut words = manifest::command();
    let mut added = Vec::new();
    if arguments.out.is_none() && arguments.extend.is_none() {
        added.extend(["--out".to_owned(), folder.display().to_string()]);
    }
    if !arguments.resume && arguments.extend.is_none() {
        added.push("--resume".to_owned());
    }
    // Behind the name of the command, which may have flags of the program before it.
    let behind = manifest::named_by(&words);
    words.splice(behind..behind, added);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("what is finished is kept; to go on: {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_an_array_job_are_shards() {
        let of = |values: [&str; 4]| {
            let values = values.map(str::to_owned);
            of_array_job(&|name| {
                let names = ["ID", "MIN", "MAX", "COUNT"];
                let at = names.iter().position(|end| name == format!("SLURM_ARRAY_TASK_{end}"))?;
                Some(values[at].clone()).filter(|value| !value.is_empty())
            })
        };
        assert_eq!(of(["3", "1", "4", "4"]), Ok(Shard { index: 3, of: 4 }));
        assert_eq!(of(["0", "0", "9", "10"]), Ok(Shard { index: 1, of: 10 }));
        let wrong = |values, message: &str| {
            let error = of(values).unwrap_err();
            assert!(error.contains(message), "{error}");
        };
        wrong(["", "1", "4", "4"], "SLURM_ARRAY_TASK_ID is not set here");
        wrong(["3", "1", "4", "x"], "SLURM_ARRAY_TASK_COUNT is \"x\"");
        wrong(["3", "1", "9", "5"], "5 tasks from 1 to 9");
        wrong(["0", "1", "4", "4"], "without gaps");
        wrong(["1", "1", "0", "0"], "without gaps");
        assert!(shard("5/4").unwrap_err().contains("or auto"));
    }
}
