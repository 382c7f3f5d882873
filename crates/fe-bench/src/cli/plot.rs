//! `fe-bench plot`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::figures::FormArguments;
use super::table::{condition, conditions};
use crate::data::scenarios;
use crate::data::sizes::Sizes;
use crate::error::{Error, Result};
use crate::plot::sweep::{self, Sweep, Sweeps};
use crate::plot::{FileKind, check_kind, coverage, kept_trees, recorded, zip};
use crate::record::measured::Times;
use crate::record::summary::SummaryRow;
use crate::record::{Column, Key, empty_bins, kept_curves, results};
use crate::study::field::Field;
use crate::study::labels::Labels;
use crate::system::files;
use crate::system::say::say;
use crate::table;

/// Draws figures of the results of studies, and prints the files it wrote.
///
/// What a study swept over decides what is drawn: its errors against the number of bins, of rows, or against a parameter,
/// where there are at least three values of it; where nothing is swept over, the coverage of its bands. One file per study, scenario, feature and metric, with a
/// panel for each combination of parameters and sizes. Where a study keeps curves or bins, these are
/// drawn as well: those of one dataset beside the truth, with a panel for each estimate. Trees of regions that
/// were kept have a figure each.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only these kinds of figures; may be given several times [default: all]
    #[arg(long, value_enum, ignore_case = true)]
    kind: Vec<Drawn>,
    /// Only values with this key; may be given several times
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = condition)]
    filter: Vec<(String, String)>,
    /// Only these metrics
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metric: Vec<String>,
    /// Place of the intervals of --kind zip: the nearest point of the grid [default: its middle]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    at: Option<f64>,
    /// Times of the estimates that `cargo bench --bench sweep` measured: errors are drawn against them as well
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
    /// Folder for the figures; made if need be, and figures in it are replaced [default: DIR-figures]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// PNG images instead of SVG, or beside other kinds that are asked for
    #[arg(long)]
    png: bool,
    /// PDF files likewise, whose letters are shapes
    #[arg(long)]
    pdf: bool,
    /// EPS files likewise; what would let through what is below is pale
    #[arg(long)]
    eps: bool,
    /// SVG images beside others that are asked for
    #[arg(long)]
    svg: bool,
    #[command(flatten)]
    form: FormArguments,
}

impl Arguments {
    /// Conditions of `--where` and `--metric`.
    fn conditions(&self) -> Vec<(String, String)> {
        let metric = Column::Metric.name();
        let of_metrics = self.metric.iter().map(|name| (metric.to_owned(), name.clone()));
        self.filter.iter().cloned().chain(of_metrics).collect()
    }

    /// The kinds of files that are asked for.
    fn files(&self) -> Vec<FileKind> {
        let asked = [
            (FileKind::Svg, self.svg),
            (FileKind::Png, self.png),
            (FileKind::Pdf, self.pdf),
            (FileKind::Eps, self.eps),
        ];
        let asked: Vec<FileKind> =
            asked.into_iter().filter_map(|(kind, is_asked)| is_asked.then_some(kind)).collect();
        if asked.is_empty() { vec![FileKind::Svg] } else { asked }
    }
}

/// The figures to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Drawn {
    /// Errors against the number of bins; automatic bins are a horizontal line (RHALE Figures 7, 8 and 10)
    #[value(name = "error-by-K")]
    ErrorByK,
    /// Errors against the number of rows, both axes logarithmic, with the fitted order of convergence
    #[value(name = "error-by-N")]
    ErrorByN,
    /// Errors against a parameter of the scenario that a study swept over
    #[value(name = "error-by-parameter")]
    ErrorByParameter,
    /// Errors against the time of one estimate, both axes logarithmic, along the number of rows or else of bins
    #[value(name = "error-by-time")]
    ErrorByTime,
    /// Coverage of bands beside its nominal level, by what was fitted or by feature; of what is swept over only if asked for
    #[value(name = "coverage")]
    Coverage,
    /// Curves and bins that were kept, beside the truth: of the first dataset, the others thin
    #[value(name = "effect")]
    Effect,
    /// Trees of regions that were kept, with the curves in their leaves beside the truth there: of the
    /// first dataset
    #[value(name = "tree")]
    Tree,
    /// The confidence intervals of all datasets at one point of the grid, ordered by their distance from the truth, of
    /// studies that keep curves with bands; only if asked for
    #[value(name = "zip")]
    Zip,
}

impl Drawn {
    fn sweep(self) -> Option<Sweep> {
        match self {
            Self::ErrorByK => Some(Sweep::ErrorByK),
            Self::ErrorByN => Some(Sweep::ErrorByN),
            Self::ErrorByParameter => Some(Sweep::ErrorByParameter),
            Self::ErrorByTime => Some(Sweep::ErrorByTime),
            Self::Coverage | Self::Effect | Self::Tree | Self::Zip => None,
        }
    }
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let folder = arguments.out.clone().unwrap_or_else(|| beside(&arguments.folder, "-figures"));
    check_folder(&folder, &arguments.folder)?;
    let (files, form) = (arguments.files(), arguments.form.form()?);
    files.iter().try_for_each(|kind| check_kind(*kind, &form))?;
    if arguments.at.is_some() && !arguments.kind.contains(&Drawn::Zip) {
        return Err(Error::Argument("--at needs --kind zip".to_owned()));
    }
    if arguments.at.is_some_and(|at| !at.is_finite()) {
        return Err(Error::Argument("--at must be a finite number".to_owned()));
    }
    let filter = arguments.conditions();
    let is_chosen = |key: &Key<&str>| chosen(key, &filter);
    let results = results::read_chosen(&arguments.folder, &is_chosen)?;
    let values: Vec<&SummaryRow> = results.values.iter().collect();
    if values.is_empty() {
        return Err(nothing_left(arguments)?);
    }
    let given = &arguments.kind;
    let kinds = if given.is_empty() { Drawn::value_variants() } else { given };
    let sweeps: Vec<Sweep> = kinds.iter().copied().filter_map(Drawn::sweep).collect();
    let studies = results.manifest.studies.iter();
    let labels = studies.fold(Labels::default(), |all, named| all.and(&named.study.labels));
    if let Some(caution) = empty_bins::caution(&results.empty_bins, &labels, |key| is_chosen(key)) {
        say!("{caution}");
    }
    if results.lacks_empty_bins() {
        say!("empty_bins.csv is not here: which estimates have many empty bins is not known");
    }
    let problems = results.manifest.studies.iter().map(|named| &named.study.problems);
    let sizes = Sizes::new(scenarios::recorded(problems));
    let times = match &arguments.timings {
        Some(path) => Times::of(path, &results.values)?,
        None if given.contains(&Drawn::ErrorByTime) => {
            let message = "--kind error-by-time needs --timings, a file that `cargo bench --bench sweep` wrote";
            return Err(Error::Argument(message.to_owned()));
        }
        None => Times::default(),
    };
    let mut drawn = sweep::figures(&values, &sweeps, &times, (&labels, &sizes));
    if kinds.contains(&Drawn::Coverage) {
        drawn = drawn.and(coverage::figures(&values, given.contains(&Drawn::Coverage), &labels));
    }
    let Sweeps { mut figures, left_out } = drawn;
    left_out.iter().for_each(|reason| say!("{reason}"));
    if kinds.contains(&Drawn::Effect) || kinds.contains(&Drawn::Tree) {
        let kept = recorded::read(&arguments.folder, &is_chosen)?;
        if kinds.contains(&Drawn::Tree) {
            figures.extend(kept_trees::figures(&kept, &labels, &results.manifest));
        }
        if kinds.contains(&Drawn::Effect) {
            figures.extend(recorded::figures(&kept, &labels, &results.manifest));
        }
    }
    if given.contains(&Drawn::Zip) {
        let zips = zip::figures(&arguments.folder, &is_chosen, arguments.at, &labels)?;
        if zips.is_empty() {
            kept_curves::check_there(&arguments.folder, &results.manifest)?;
            let message = "--kind zip draws the bands of ten datasets or more of one estimate: the study has \
                           to ask for a `band` and to keep its curves (`keep = [\"curves\"]`)";
            return Err(Error::content(&arguments.folder, message));
        }
        figures.extend(zips);
    }
    if figures.is_empty() && left_out.is_empty() {
        kept_curves::check_there(&arguments.folder, &results.manifest)?;
        let message = "nothing to draw: no study has three values or more of K, of N or of a \
                       parameter, has coverage of bands, or keeps curves, bins or trees; errors that are exact are not drawn";
        return Err(Error::content(&arguments.folder, message));
    }
    if figures.is_empty() {
        return Err(Error::content(&arguments.folder, "no figure can be drawn that can be read"));
    }
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    for named in &figures {
        for kind in &files {
            let path = folder.join(format!("{}.{}", named.name, kind.ending()));
            named.figure.write(&path, &form)?;
            writeln!(out, "{}", path.display()).map_err(Error::Output)?;
        }
    }
    Ok(())
}

/// Refuses a folder that figures cannot be put into.
fn check_folder(folder: &Path, results: &Path) -> Result<()> {
    let wrong = |message: &str| Err(Error::content(folder, message));
    match std::fs::metadata(folder) {
        Ok(there) if !there.is_dir() => return wrong("is no folder"),
        Err(_) if std::fs::symlink_metadata(folder).is_ok() => {
            return wrong("is a link that leads nowhere");
        }
        _ => {}
    }
    files::check_outside(folder, &[results])
}

/// Values of one key are alternatives; different keys must all agree. What is kept of an estimate has no
/// metric, and is chosen whichever that is.
fn chosen(key: &Key<&str>, filter: &[(String, String)]) -> bool {
    let is_asked =
        |field: &Field| *field != Field::Column(Column::Metric) || !key.metric.is_empty();
    filter.iter().all(|(name, _)| {
        let field = Field::named(name);
        let mut allowed = filter.iter().filter(|(other, _)| other == name);
        !is_asked(&field) || allowed.any(|(_, wanted)| field.is(key, wanted))
    })
}

/// The reason why no value is left: a key that there is not, or a value that none has.
fn nothing_left(arguments: &Arguments) -> Result<Error> {
    let all = results::read(&arguments.folder)?.values;
    let keys: Vec<&Key> = all.iter().map(|value| &value.key).collect();
    let asked = arguments.conditions();
    let names = asked.iter().map(|(name, _)| name.as_str());
    let left = Field::check(names, &keys)
        .and_then(|()| table::filtered(&conditions(asked.iter().cloned()), all));
    let message = left.err().unwrap_or_else(|| "no value is left by --where".to_owned());
    Ok(Error::content(&arguments.folder, message))
}

/// A path next to a folder: results themselves are never changed.
pub(super) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let absolute = folder.canonicalize();
    let name = absolute.as_deref().unwrap_or(folder).file_name().unwrap_or_default();
    let mut name = name.to_os_string();
    name.push(ending);
    match folder.file_name() {
        Some(_) => folder.with_file_name(name),
        // Such as `.` and `..`.
        None => folder.join("..").join(name),
    }
}
