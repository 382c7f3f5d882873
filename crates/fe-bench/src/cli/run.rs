//! `fe-bench run`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::{Error, Result};
use crate::external::{Engines, declaration};
use crate::record::journal::{Begun, Journal};
use crate::record::manifest::Manifest;
use crate::record::store::{self, Counts};
use crate::run;
use crate::run::plan::{Plan, Planned, Shard};
use crate::study::Study;
use crate::table;

/// Runs studies and prints the tables they ask for.
///
/// All studies of one call share a results folder. The same command gives the same files on the same
/// build, whatever the number of threads, but for the recorded times: so do all shards of a run, merged,
/// and a run that was stopped and resumed. Until it is finished, a run is kept in DIR.unfinished.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Study files
    #[arg(required = true, value_name = "STUDY.toml")]
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
    #[arg(long, value_name = "I/M")]
    shard: Option<Shard>,
    /// Go on where an earlier run into the same --out was stopped; start if there was none
    #[arg(long, requires = "out")]
    resume: bool,
    /// File that declares engines, for studies that name any
    #[arg(long, value_name = "FILE.toml", default_value = declaration::DEFAULT_FILE)]
    engines: PathBuf,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let studies = read(&arguments.studies)?;
    let engines = engines(&studies, &arguments.engines)?;
    let plan = Plan::new(&studies);
    let folder = arguments.out.clone().unwrap_or_else(default_folder);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = arguments.jobs.map_or(cores, usize::from);
    let manifest = Manifest::starting(&studies, arguments.seed, jobs, arguments.shard);
    let started = Instant::now();
    let (manifest, counts) = match Journal::begin(&folder, manifest, plan.tasks, arguments.resume)?
    {
        Begun::Finished(manifest) => (manifest, None),
        Begun::Open(mut journal) => {
            let progress = Progress::new(&plan, &journal);
            run::run(&plan, &engines, arguments.seed, jobs, &mut journal, &|cells, cost| {
                progress.add(cells, cost);
            })?;
            progress.bar.finish_and_clear();
            let (manifest, counts) = journal.finish(&plan, started.elapsed().as_secs_f64())?;
            (manifest, Some(counts))
        }
    };
    let printed = print_tables(&folder, counts, manifest.shard.is_some(), out)
        .and_then(|()| out.flush().map_err(Error::Output));
    // Below the tables, where it is seen.
    match counts {
        None => eprintln!("finished already: {}", folder.display()),
        Some(Counts { values, failed }) => {
            let seconds = manifest.wall_seconds;
            eprintln!("{values} values ({failed} failed) in {seconds:.1} s: {}", folder.display());
        }
    }
    printed
}

/// The most values that tables are printed of right after a run: a value takes about a kilobyte then.
const MOST_PRINTED: usize = 200_000;

/// Prints the tables of results that are complete, unless they would fill the memory.
pub(super) fn print_tables(
    folder: &Path,
    counts: Option<Counts>,
    is_shard: bool,
    out: &mut dyn Write,
) -> Result<()> {
    if is_shard {
        return Ok(());
    }
    if counts.is_some_and(|counts| counts.values > MOST_PRINTED) {
        eprintln!("to print its tables: fe-bench table {}", folder.display());
        return Ok(());
    }
    let (manifest, rows) = store::read(folder)?;
    let parts = store::read_decomposition(folder)?;
    super::table::print_all(&manifest, &rows, &parts, out)
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
        if studies[..i].iter().any(|other| other.name == study.name) {
            return Err(Error::Argument(format!("two studies are called `{}`", study.name)));
        }
    }
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
        let found = engines.find(&external.engine, &external.effect);
        found.map_err(|message| Error::content(file, message))?;
    }
    for (engine, version) in engines.all() {
        if let Err(reason) = version
            && studies.iter().flat_map(Study::externals).any(|of| of.engine == engine.name)
        {
            eprintln!("{} cannot be run here: {reason}", engine.name);
        }
    }
    Ok(engines)
}

fn default_folder() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S.%3fZ").to_string();
    Path::new("results").join("runs").join(now)
}

/// The bar before anything is finished, when nothing is known about the rest, and afterwards.
const BEGUN: &str = "{spinner} {bar:40} {msg}";
const GOING: &str = "{spinner} {bar:40} {msg}, {eta} left";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// How often the bar is drawn again.
const TICK: Duration = Duration::from_millis(250);

/// A bar on standard error, as long as the work; silent where that is not a terminal.
struct Progress {
    bar: ProgressBar,
    /// All cells, those that earlier starts finished, and those that are finished now.
    cells: usize,
    before: usize,
    done: AtomicUsize,
    started: Instant,
}

impl Progress {
    fn new(plan: &Plan<'_>, journal: &Journal) -> Self {
        let size = |planned: &Planned<'_>| (planned.group.estimates(), run::cost(planned));
        let bar = ProgressBar::no_length();
        if bar.is_hidden() {
            let done = AtomicUsize::new(0);
            return Self { bar, cells: 0, before: 0, done, started: Instant::now() };
        }
        let sizes: Vec<(usize, u64)> = plan.groups.iter().map(size).collect();
        let sum = |tasks: &mut dyn Iterator<Item = usize>| {
            tasks.map(|task| sizes[plan.locate(task).0]).fold((0, 0), |(cells, cost), size| {
                (cells + size.0, u64::saturating_add(cost, size.1))
            })
        };
        let (before, spent) = sum(&mut journal.finished());
        let (left, ahead) = sum(&mut journal.outstanding().into_iter());
        bar.set_style(style(BEGUN));
        bar.set_length(spent.saturating_add(ahead));
        bar.set_position(spent);
        bar.reset_eta();
        bar.set_message(format!("{before}/{} cells", before + left));
        // A dataset of a million rows takes longer than somebody waits for a sign of life.
        bar.enable_steady_tick(TICK);
        let done = AtomicUsize::new(before);
        Self { bar, cells: before + left, before, done, started: Instant::now() }
    }

    fn add(&self, cells: usize, cost: u64) {
        if self.bar.is_hidden() {
            return;
        }
        let done = self.done.fetch_add(cells, Ordering::Relaxed) + cells;
        let rate = (done - self.before) as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        if done - cells == self.before {
            self.bar.set_style(style(GOING));
        }
        self.bar.inc(cost);
        let digits = usize::from(rate < 10.0);
        self.bar.set_message(format!("{done}/{} cells, {rate:.digits$}/s", self.cells));
    }
}
