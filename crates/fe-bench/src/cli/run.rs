//! `fe-bench run`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::{Error, Result};
use crate::record::manifest::Manifest;
use crate::record::store::Unfinished;
use crate::study::Study;

/// Runs studies and prints the tables they ask for.
///
/// All studies of one call share a results folder. The same command gives the same files on the same
/// build, whatever the number of threads, but for the recorded times.
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
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let studies = read(&arguments.studies)?;
    let folder = arguments.out.clone().unwrap_or_else(default_folder);
    let results = Unfinished::begin(&folder)?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = arguments.jobs.map_or(cores, usize::from);
    let mut manifest = Manifest::starting(&studies, arguments.seed, jobs);
    let started = Instant::now();
    let progress = progress_bar(studies.iter().map(Study::cells).sum());
    let records =
        crate::run::run(&studies, arguments.seed, jobs, &|cells| progress.inc(cells as u64))?;
    progress.finish_and_clear();
    manifest.wall_seconds = started.elapsed().as_secs_f64();
    results.finish(&manifest, &records)?;
    super::table::print_all(&manifest, &records.rows, out)?;
    let failed = records.rows.iter().filter(|row| row.score.value.is_none()).count();
    eprintln!(
        "{} values ({failed} failed) in {:.1} s: {}",
        records.rows.len(),
        manifest.wall_seconds,
        folder.display()
    );
    Ok(())
}

fn read(paths: &[PathBuf]) -> Result<Vec<Study>> {
    let studies = paths.iter().map(|path| Study::read(path)).collect::<Result<Vec<Study>>>()?;
    for (i, study) in studies.iter().enumerate() {
        if studies[..i].iter().any(|other| other.name == study.name) {
            return Err(Error::Argument(format!("two studies are called `{}`", study.name)));
        }
    }
    Ok(studies)
}

fn default_folder() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S.%3fZ").to_string();
    Path::new("results").join("runs").join(now)
}

/// A bar on standard error; silent where that is not a terminal.
pub(super) fn progress_bar(cells: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cells, {per_sec}, {eta} left");
    ProgressBar::new(cells as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
