//! `fe-bench truth`.

mod regions;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use fe_core::Axis;
use fe_core::settings::Splitting;
use fe_truth::{Centring, Quantity, Regional, Scenario, Truth, Weighting};

use super::arguments::{FeatureArguments, ScenarioArguments, finite, interval, points, word};
use super::event;
use crate::error::{Error, Result};
use crate::output::{Entry, Format, Sheet, write_rows};
use crate::plot;
use crate::system::say::say;

/// Flags of the questions about bins and about trees of regions alone.
const OF_BINS_OR_TREES: [&str; 6] =
    ["weighting", "depth", "candidates", "drop", "partition", "leaves"];

/// Prints what a scenario's effects are, exactly, with a bound on the error of each number.
///
/// Asks for one of: the curve of an effect (--effect), the quantities of bins (--bins), the
/// heterogeneity values with mean and standard deviation of f (--values), the Shapley values of
/// a point (--shap-at), or the best split of a feature's effect by another feature (--regional), which
/// with --depth becomes the population's tree of regions.
// Flags that belong to another question than the one that is asked are refused by name: what only
// `requires` that other one would be passed over without a word.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["effect", "bins", "values", "shap_at", "regional", "plot"]))]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// pd, dpd, mplot, ale, ale-derivative, mu, sigma, h-pdp, h-dpdp, main, shap or shap-variance;
    /// with -limit behind it, the curve that a paper prints, where it is not the truth
    #[arg(long, value_parser = asked, conflicts_with_all = ["bins", "values", "shap_at", "regional"],
          conflicts_with_all = OF_BINS_OR_TREES)]
    effect: Option<Asked>,
    /// Points of the curve
    #[arg(long, value_name = "V,V,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite, conflicts_with_all = ["grid", "bins", "values", "shap_at"])]
    at: Vec<f64>,
    /// So many equidistant points over the range [default: 100]
    #[arg(long, value_name = "N", value_parser = points,
          conflicts_with_all = ["bins", "values", "shap_at"])]
    grid: Option<usize>,
    /// Where accumulation starts, and over what `integral` centres [default: the scenario's range]
    #[arg(long, value_name = "LO,HI", value_parser = interval, allow_hyphen_values = true,
          conflicts_with_all = ["bins", "shap_at", "regional"])]
    range: Option<(f64, f64)>,
    /// none, start (0 at the start of the range), integral (mean over the range 0) or data (mean
    /// over the law of the feature 0)
    #[arg(long, value_parser = centring, default_value = "none",
          conflicts_with_all = ["bins", "values", "shap_at"])]
    center: Centring,
    /// Only rows for which this holds, such as `x3 > 0 and x1 <= 0.2`: all truths are those of the law
    /// given that, which is the background of Shapley values too; ranges are cut
    #[arg(long = "where", value_name = "EVENT")]
    event: Option<String>,
    /// Limits of bins, increasing; with `--regional ale`, of those whose finite differences, jumps
    /// included, shall differ less
    #[arg(long, value_name = "Z0,Z1,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite, conflicts_with_all = ["values", "shap_at"])]
    bins: Option<Vec<f64>>,
    /// How bins are averaged: uniform, or by the data's density
    #[arg(long, value_parser = weighting, default_value = "uniform", requires = "bins",
          conflicts_with = "regional")]
    weighting: Weighting,
    /// Heterogeneity values of each feature, and mean and standard deviation of f
    #[arg(long, conflicts_with_all = ["shap_at", "regional"], conflicts_with_all = OF_BINS_OR_TREES)]
    values: bool,
    /// Shapley values of all features at a point, one value for each, and last of none
    #[arg(long, value_name = "V1,…,VD", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite, conflicts_with_all = ["feature", "regional"],
          conflicts_with_all = OF_BINS_OR_TREES)]
    shap_at: Option<Vec<f64>>,
    /// The split of one feature that lowers the heterogeneity most, by pdp, dpdp, ale, rhale or
    /// shapdp; for ale without --bins, of the derivative form, in which jumps do not count
    #[arg(long, value_name = "METHOD", value_parser = regional)]
    regional: Option<Regional>,
    /// Most levels of the population's tree, up to 3: a row for each split, with the number of its node
    /// (all rows are node 0) and how many splits lie above
    #[arg(long, value_name = "L", requires = "regional")]
    depth: Option<usize>,
    /// So many positions per feature, equally spaced inside its range, as an estimator has them
    /// [default: all]
    #[arg(long, value_name = "P", requires = "depth")]
    candidates: Option<usize>,
    /// Least relative drop of heterogeneity for which a split is kept [default: 0.05]
    #[arg(long, value_name = "E", value_parser = finite, requires = "depth")]
    drop: Option<f64>,
    /// levelwise (one rule for all regions of a level) or cart (each its own) [default: levelwise]
    #[arg(long, value_name = "HOW", value_parser = word::<Splitting>, requires = "depth")]
    partition: Option<Splitting>,
    /// The curves in the leaves of the tree in place of its splits
    #[arg(long, requires = "depth")]
    leaves: bool,
    /// Draws effects, local effects and heterogeneity of the features, to an .svg or .png file
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["effect", "bins", "values", "shap_at", "regional"],
          conflicts_with_all = OF_BINS_OR_TREES)]
    plot: Option<PathBuf>,
    /// How each term of f that reads the features is integrated, on standard error
    #[arg(long)]
    explain: bool,
    /// Where more than three features of a problem file are averaged at once: half width of the interval
    /// of a simulated answer, relative to its size [default: 0.001]
    #[arg(long, value_name = "T", value_parser = finite)]
    tolerance: Option<f64>,
    /// So many evaluations of f for one simulated mean at most [default: 4e6]
    #[arg(long, value_name = "N", value_parser = finite)]
    most: Option<f64>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

/// The curve that is asked for.
#[derive(Debug, Clone)]
enum Asked {
    /// A truth.
    Quantity(Quantity),
    /// A curve as published, by name.
    Limit(String),
}

impl Asked {
    fn name(&self) -> &str {
        match self {
            Self::Quantity(effect) => effect.name(),
            Self::Limit(name) => name,
        }
    }
}

fn asked(text: &str) -> Result<Asked, String> {
    if text.ends_with("-limit") {
        return Ok(Asked::Limit(text.to_owned()));
    }
    text.parse().map(Asked::Quantity).map_err(|e: fe_truth::Error| e.to_string())
}

pub(super) fn centring(text: &str) -> Result<Centring, String> {
    text.parse().map_err(|e: fe_truth::Error| e.to_string())
}

fn weighting(text: &str) -> Result<Weighting, String> {
    text.parse().map_err(|e: fe_truth::Error| e.to_string())
}

fn regional(text: &str) -> Result<Regional, String> {
    text.parse().map_err(|e: fe_truth::Error| e.to_string())
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let mut scenario = arguments.scenario.scenario()?;
    if arguments.tolerance.is_some() || arguments.most.is_some() {
        scenario = scenario.simulating(arguments.tolerance, arguments.most)?;
    }
    if let Some(event) = &arguments.event {
        scenario = scenario.within(&event::region(event, &scenario)?)?;
    }
    if arguments.explain {
        let features = arguments.features.of(&scenario)?;
        scenario.explain(&features).iter().for_each(|line| say!("{line}"));
    }
    if let Some(path) = &arguments.plot {
        return picture(arguments, &scenario, path);
    }
    if let Some(effect) = &arguments.effect {
        return curves(arguments, &scenario, effect, out);
    }
    let sheet = match (&arguments.bins, arguments.regional) {
        (_, Some(method)) => return regions::execute(arguments, &scenario, method, out),
        (Some(limits), None) => bins(arguments, &scenario, limits)?,
        (None, None) => match &arguments.shap_at {
            Some(point) => shapley_values(&scenario, point)?,
            None => values(arguments, &scenario)?,
        },
    };
    sheet.write(arguments.format, out)
}

/// Points of a curve that is drawn.
const DRAWN: usize = 201;

fn picture(arguments: &Arguments, scenario: &Scenario, path: &Path) -> Result<()> {
    plot::check_file(path, &[])?;
    let drawn = plot::truths::figure(scenario, &arguments.features.of(scenario)?, DRAWN)?;
    drawn.notes.iter().for_each(|note| say!("{note}"));
    drawn.figure.write(path)?;
    say!("{}", path.display());
    Ok(())
}

/// The range that is asked for, or that of the scenario where the event leaves something of it.
fn range(arguments: &Arguments, scenario: &Scenario, feature: usize) -> Result<(f64, f64)> {
    let (lo, hi) = arguments.range.unwrap_or_else(|| scenario.axis(feature));
    if lo < hi {
        return Ok((lo, hi));
    }
    let name = scenario.feature_name(feature);
    let message = format!("--where leaves nothing of the range of {name}: give a --range");
    Err(Error::Argument(message))
}

/// Points that are answered at once: what a curve is read off is resolved once for all of them, and
/// their answers are held.
const BLOCK: usize = 1_000_000;

fn curves(
    arguments: &Arguments,
    scenario: &Scenario,
    asked: &Asked,
    out: &mut dyn Write,
) -> Result<()> {
    let mut curves = Vec::new();
    for feature in asked_features(arguments, scenario, asked)? {
        let (lo, hi) = range(arguments, scenario, feature)?;
        curves.push(Curve { scenario, asked, feature, axis: Axis::new(lo, hi)?, arguments });
    }
    // What is wrong shall be said before anything is written.
    let mut first = Vec::new();
    for curve in &curves {
        if curve.len() > BLOCK {
            curve.answers(&[curve.axis.lo(), curve.axis.hi()])?;
        } else {
            first.push(curve.rows(&curve.points())?);
        }
    }
    let count = curves.iter().map(Curve::len).sum();
    let mut first = first.into_iter();
    let rows = curves.iter().flat_map(|curve| {
        let held = if curve.len() > BLOCK { None } else { first.next() };
        let points = if held.is_some() { Vec::new() } else { curve.points() };
        let blocks = points.len().div_ceil(BLOCK);
        let later = (0..blocks).map(move |block| {
            let end = points.len().min((block + 1) * BLOCK);
            curve.rows(&points[block * BLOCK..end])
        });
        held.map(Ok).into_iter().chain(later).flat_map(each)
    });
    let columns = ["scenario", "feature", "effect", "x", "value", "abs_error", "method"];
    write_rows(&columns, (count, rows), arguments.format, out)
}

/// The rows of a block one by one, or why there are none.
fn each(
    rows: Result<impl Iterator<Item = Vec<Entry>>>,
) -> impl Iterator<Item = Result<Vec<Entry>>> {
    let (rows, failed) = match rows {
        Ok(rows) => (Some(rows), None),
        Err(error) => (None, Some(Err(error))),
    };
    failed.into_iter().chain(rows.into_iter().flatten().map(Ok))
}

/// The curve of one feature.
struct Curve<'a> {
    scenario: &'a Scenario,
    asked: &'a Asked,
    feature: usize,
    axis: Axis,
    arguments: &'a Arguments,
}

impl<'a> Curve<'a> {
    fn len(&self) -> usize {
        let at = self.arguments.at.len();
        if at == 0 { self.arguments.grid.unwrap_or(100) } else { at }
    }

    fn points(&self) -> Vec<f64> {
        let at = &self.arguments.at;
        if at.is_empty() { self.axis.grid(self.len()) } else { at.clone() }
    }

    fn answers(&self, points: &[f64]) -> Result<Vec<[Entry; 3]>> {
        let (range, center) = ((self.axis.lo(), self.axis.hi()), self.arguments.center);
        answers(self.scenario, self.asked, self.feature, points, range, center)
    }

    /// A row for each point, made when it is wanted.
    fn rows(&self, points: &[f64]) -> Result<impl Iterator<Item = Vec<Entry>> + use<'a>> {
        let (id, feature) = (self.scenario.id(), self.scenario.feature_name(self.feature));
        let (asked, points) = (self.asked, points.to_vec());
        let answers = self.answers(&points)?.into_iter();
        Ok(points.into_iter().zip(answers).map(move |(x, answer)| {
            let place =
                [id.as_str().into(), feature.as_str().into(), asked.name().into(), x.into()];
            place.into_iter().chain(answer).collect()
        }))
    }
}

/// The features named or, for a published curve, those that have it.
fn asked_features(arguments: &Arguments, scenario: &Scenario, asked: &Asked) -> Result<Vec<usize>> {
    let all: Vec<usize> = (0..scenario.dimension()).collect();
    let Asked::Limit(name) = asked else {
        return arguments.features.of(scenario);
    };
    let having = |feature: &usize| scenario.limits().contains(&(name.clone(), *feature));
    let found: Vec<usize> = all.iter().copied().filter(having).collect();
    arguments.features.or(scenario, if found.is_empty() { all } else { found })
}

/// Value, error and method at each of the points.
fn answers(
    scenario: &Scenario,
    asked: &Asked,
    feature: usize,
    points: &[f64],
    axis: (f64, f64),
    centring: Centring,
) -> Result<Vec<[Entry; 3]>> {
    Ok(match asked {
        Asked::Quantity(effect) => {
            let truths = scenario.curve(*effect, feature, points, axis, centring)?;
            truths.into_iter().map(entries).collect()
        }
        Asked::Limit(name) => {
            let values = scenario.limit(name, feature, points, axis, centring)?;
            // It is no truth, so there is no bound on its error.
            values.into_iter().map(|v| [v.into(), Entry::Missing, "limit".into()]).collect()
        }
    })
}

fn bins(arguments: &Arguments, scenario: &Scenario, limits: &[f64]) -> Result<Sheet> {
    let feature = arguments.features.single(scenario, "--bins")?;
    let mut sheet =
        Sheet::new(&["z_lo", "z_hi", "mu", "sigma2", "sigma2_star", "bin_error", "abs_error"]);
    if limits.len() < 2 {
        return Err(Error::Argument("--bins: at least two limits are needed".to_owned()));
    }
    for bin in scenario.bins(feature, limits, arguments.weighting)? {
        let numbers =
            [bin.lo, bin.hi, bin.mu, bin.sigma2, bin.sigma2_star, bin.bin_error, bin.abs_error];
        sheet.push(numbers.map(Entry::from).to_vec());
    }
    Ok(sheet)
}

fn values(arguments: &Arguments, scenario: &Scenario) -> Result<Sheet> {
    let mut sheet = Sheet::new(&["scenario", "feature", "name", "value", "abs_error", "method"]);
    let mut push = |feature: Option<String>, name: &str, truth: Result<Truth, fe_truth::Error>| {
        let of = feature.as_ref().map_or_else(String::new, |feature| format!(" of {feature}"));
        let feature = feature.map_or(Entry::Missing, Entry::from);
        let mut row: Vec<Entry> = vec![scenario.id().into(), feature, name.into()];
        match truth {
            Ok(truth) => row.extend(entries(truth)),
            // A function of one's own may lack some of them.
            Err(error) if scenario.text().is_some() => {
                say!("{name}{of} is refused: {error}");
                row.extend([Entry::Missing, Entry::Missing, "refused".into()]);
            }
            Err(error) => return Err(error),
        }
        sheet.push(row);
        Ok(())
    };
    for feature in arguments.features.of(scenario)? {
        let axis = range(arguments, scenario, feature)?;
        for (name, truth) in scenario.each_value(feature, axis)? {
            push(Some(scenario.feature_name(feature)), name, truth)?;
        }
    }
    push(None, "mean_f", scenario.mean())?;
    push(None, "sd_f", scenario.sd())?;
    Ok(sheet)
}

fn shapley_values(scenario: &Scenario, point: &[f64]) -> Result<Sheet> {
    let mut sheet = Sheet::new(&["feature", "phi"]);
    for (feature, value) in scenario.shap_at(point)?.into_iter().enumerate() {
        let is_feature = feature < scenario.dimension();
        let name = if is_feature { scenario.feature_name(feature) } else { "empty".to_owned() };
        sheet.push(vec![name.into(), value.value.into()]);
    }
    Ok(sheet)
}

fn entries(truth: Truth) -> [Entry; 3] {
    [truth.value.into(), truth.abs_error.into(), truth.method.to_string().into()]
}
