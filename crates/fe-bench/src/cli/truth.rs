//! `fe-bench truth`.

mod distance;
mod pairs;
mod regions;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_core::Axis;
use fe_core::settings::Splitting;
use fe_truth::{Centring, Level, Quantity, Regional, Scenario, Truth, Weighting};
use rayon::prelude::*;

use super::arguments::{
    FeatureArguments, Grid, Place, ScenarioArguments, finite, grid, place, word,
};
use super::event;
use super::figures::{FormArguments, Picture};
use crate::error::{Error, Result, listed, suggestion};
use crate::output::{Entry, Format, OutputTable, write_rows};
use crate::plot;
use crate::score;
use crate::system::say::say;

/// Flags of the questions about bins and about trees of regions alone.
const OF_BINS_OR_TREES: [&str; 6] =
    ["weighting", "depth", "candidates", "drop", "partition", "leaves"];

/// Prints what a scenario's effects are, exactly, with a bound on the error of each number.
///
/// Asks for one of: the curve of an effect (--effect), the quantities of bins (--bins), the
/// heterogeneity values with mean and standard deviation of f (--values), how much of f features and
/// pairs of features have (--indices), the Shapley values of
/// a point (--shap-at), the best split of a feature's effect by another feature (--regional), which
/// with --depth becomes the population's tree of regions, or how far two effects are apart (--distance).
// Flags that belong to another question than the one that is asked are refused by name: what only
// `requires` that other one would be passed over without a word.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["effect", "bins", "values", "indices", "shap_at", "regional", "distance", "plot"]))]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// pd, dpd, mplot, ale, ale-derivative, mu, sigma, h-pdp, h-dpdp, main, shap or shap-variance; of pairs
    /// (--feature x1:x2 or all-pairs) pd, ale or ale-derivative;
    /// with -limit behind it, the curve that a paper prints, where it is not the truth
    #[arg(long, value_parser = asked, conflicts_with_all = ["bins", "values", "shap_at", "regional"],
          conflicts_with_all = OF_BINS_OR_TREES)]
    effect: Option<Asked>,
    /// Points of the curve; of a pair two lists with a colon between, which are combined
    #[arg(long, value_name = "V,V,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = place,
          conflicts_with_all = ["grid", "bins", "values", "indices", "shap_at"])]
    at: Vec<Place>,
    /// Order of the levels along which the ALE of a feature accumulates, each once, by their names
    /// [default: as their values go]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', requires = "effect")]
    order: Vec<String>,
    /// So many equidistant points over the range, of a feature that has no levels [default: 100]; of a pair N for each, or NxM [default: 11]
    #[arg(long, value_name = "N", value_parser = grid,
          conflicts_with_all = ["bins", "values", "indices", "shap_at"])]
    grid: Option<Grid>,
    /// Where accumulation starts, and over what `integral` centres, of a pair LO,HI:LO,HI [default: the
    /// scenario's range]
    #[arg(long, value_name = "LO,HI", value_parser = pairs::range, allow_hyphen_values = true,
          conflicts_with_all = ["bins", "indices", "shap_at", "regional"])]
    range: Option<pairs::Range>,
    /// none, start (0 at the start of the range), integral (mean over the range 0) or data (mean
    /// over the law of the feature, or of the pair, 0) [default: none; data for what of a pair is known but
    /// for a constant]
    #[arg(long, value_parser = centring,
          conflicts_with_all = ["bins", "values", "indices", "shap_at"])]
    center: Option<Centring>,
    /// Of a pair's partial dependence only what the two features do not do each on its own
    #[arg(long, requires = "effect")]
    interaction: bool,
    /// Only rows for which this holds, such as `x3 > 0 and x1 <= 0.2`: all truths are those of the law
    /// given that, which is the background of Shapley values too; ranges are cut
    #[arg(long = "where", value_name = "EVENT", allow_hyphen_values = true)]
    event: Option<String>,
    /// Limits of bins, increasing, or the number of equal bins over the feature's range; with `--regional ale`,
    /// of those whose finite differences, jumps included, shall differ less
    #[arg(long, value_name = "K|Z0,Z1,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite, conflicts_with_all = ["values", "shap_at"])]
    bins: Option<Vec<f64>>,
    /// How bins are averaged: uniform, or by the data's density
    #[arg(long, value_parser = weighting, default_value = "uniform", requires = "bins",
          conflicts_with = "regional")]
    weighting: Weighting,
    /// Heterogeneity values of each feature, and mean and standard deviation of f
    #[arg(long, conflicts_with_all = ["shap_at", "regional"], conflicts_with_all = OF_BINS_OR_TREES)]
    values: bool,
    /// Indices of features, of pairs of features and of f as a whole: H, Sobol' indices, Shapley effects,
    /// standard deviations of effects, and what sums of effects leave out; all, or those named, as in
    /// --indices=sobol.first,h2.pair (`fe-bench list indices`) [default: of all features, and of all pairs of
    /// features that f reads]
    #[arg(long, value_name = "NAME,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "all", conflicts_with_all = ["effect", "bins", "values", "shap_at", "regional"],
          conflicts_with_all = OF_BINS_OR_TREES)]
    indices: Vec<String>,
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
    /// Mean squared distance of two effects, such as pd,ale, on the grid of studies (100 points over the
    /// range, or --grid), each centred on it
    #[arg(long, value_name = "EFFECT,EFFECT", value_delimiter = ',', value_parser = quantity,
          conflicts_with_all = ["effect", "at", "center", "bins", "values", "indices", "shap_at", "regional"])]
    distance: Vec<Quantity>,
    /// The distance at each value of a parameter; --plot draws it over them
    #[arg(long, value_name = "KEY=V,V,…", value_parser = distance::over, allow_hyphen_values = true,
          requires = "distance", conflicts_with_all = ["effect", "bins", "values", "shap_at", "regional"])]
    over: Option<distance::Over>,
    /// Draws effects, local effects and heterogeneity of the features, to an .svg, .png, .pdf or .eps file
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["effect", "bins", "values", "indices", "shap_at", "regional"],
          conflicts_with_all = OF_BINS_OR_TREES)]
    plot: Option<PathBuf>,
    #[command(flatten)]
    form: FormArguments,
    /// How each term of f that reads the features is integrated, on standard error
    #[arg(long)]
    explain: bool,
    /// Where more than three features of a problem file are averaged at once: half width of the interval
    /// of a simulated answer, relative to its size [default: 0.001; of heterogeneity values 0.005]
    #[arg(long, value_name = "T", value_parser = finite)]
    tolerance: Option<f64>,
    /// So many evaluations of f for one simulated mean at most; with fewer than the default, integrals
    /// take fewer as well before they are simulated, with more each answer may take more [default: 4e6]
    #[arg(long, value_name = "N", value_parser = finite)]
    most: Option<f64>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

/// Most equal bins, so that a slip of the hand is no computation of hours.
const MOST_BINS: f64 = 1e5;

impl Arguments {
    /// Words about the region in the title of a figure.
    fn region_in_title(&self) -> String {
        self.event.as_ref().map(|event| format!(" where {event}")).unwrap_or_default()
    }

    /// Refuses points, ranges and parts of pairs where no pair is asked.
    fn of_one_feature(&self) -> Result<()> {
        let given = [
            ("--at U,V:W,Z", self.at.iter().any(|place| place.turn.is_some())),
            ("--grid NxM", self.grid.is_some_and(|grid| grid.1.is_some())),
            ("--range LO,HI:LO,HI", self.range.is_some_and(|range| range.1.is_some())),
            ("--interaction", self.interaction),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Error::Argument(format!(
                "{flag} is of pairs of features, such as --feature x1:x2"
            ))),
        }
    }

    /// The points that are asked of one feature.
    fn places(&self) -> Vec<f64> {
        self.at.iter().map(|place| place.value).collect()
    }

    /// The number of points over the range of one feature.
    fn points(&self) -> usize {
        self.grid.map_or(100, |grid| grid.0)
    }

    /// The limits of the bins of one feature, if any are asked for.
    fn limits(&self, scenario: &Scenario, feature: usize) -> Result<Option<Vec<f64>>> {
        let Some([count]) = self.bins.as_deref() else { return Ok(self.bins.clone()) };
        if !(1.0..=MOST_BINS).contains(count) || count.fract() != 0.0 {
            return Err(Error::Argument(format!(
                "--bins: {count} is neither a number of equal bins, 1 to {MOST_BINS}, nor limits, two or more with commas"
            )));
        }
        let (lo, hi) = scenario.axis(feature);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // a whole number in a small range
        let points = *count as usize + 1;
        Ok(Some(Axis::new(lo, hi)?.grid(points)))
    }

    /// The centring of one feature's effect.
    fn centring(&self) -> Centring {
        self.center.unwrap_or(Centring::None)
    }
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

fn quantity(text: &str) -> Result<Quantity, String> {
    text.parse().map_err(|e: fe_truth::Error| e.to_string())
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
    let scenario = prepared(arguments, arguments.scenario.scenario()?)?;
    if arguments.explain {
        let features = arguments.features.of(&scenario)?;
        scenario.explain(&features).iter().for_each(|line| say!("{line}"));
    }
    if arguments.range.is_none() && arguments.shap_at.is_none() && !arguments.features.has_pairs() {
        let features = arguments.features.of(&scenario)?;
        for feature in features.into_iter().filter(|&s| scenario.has_simulated_axis(s)) {
            say!(
                "the range of {} has quantiles of a simulated law for its ends, which are known to a hundredth or so: \
                 `[axis]` or --range gives others",
                scenario.feature_name(feature)
            );
        }
    }
    if !arguments.distance.is_empty() {
        return distance::execute(arguments, &arguments.distance, &scenario, out);
    }
    if let Some(picture) = arguments.form.picture(arguments.plot.as_deref(), &[])? {
        return draw(arguments, &scenario, &picture);
    }
    if let (Some(effect), true) = (&arguments.effect, arguments.features.has_pairs()) {
        return pairs::execute(arguments, &scenario, effect, out);
    }
    if !arguments.indices.is_empty() {
        return pairs::indices(arguments, &scenario, out);
    }
    arguments.of_one_feature()?;
    if let Some(effect) = &arguments.effect {
        return curves(arguments, &scenario, effect, out);
    }
    let sheet = match (&arguments.bins, arguments.regional) {
        (_, Some(method)) => return regions::execute(arguments, &scenario, method, out),
        (Some(_), None) => bins(arguments, &scenario)?,
        (None, None) => match &arguments.shap_at {
            Some(point) => shapley_values(&scenario, point)?,
            None => values(arguments, &scenario)?,
        },
    };
    sheet.write(arguments.format, out)
}

/// The scenario with the cost of simulation, and given the event, that are asked for.
fn prepared(arguments: &Arguments, mut scenario: Scenario) -> Result<Scenario> {
    if arguments.tolerance.is_some() || arguments.most.is_some() {
        scenario = scenario.simulating(arguments.tolerance, arguments.most)?;
    }
    if let Some(event) = &arguments.event {
        scenario = scenario.within(&event::region(event, &scenario)?)?;
    }
    Ok(scenario)
}

/// Points of a curve that is drawn.
const DRAWN: usize = 201;

fn draw(arguments: &Arguments, scenario: &Scenario, picture: &Picture) -> Result<()> {
    let mut drawn = plot::truths::figure(scenario, &arguments.features.of(scenario)?, DRAWN)?;
    drawn.figure.title += &arguments.region_in_title();
    drawn.notes.iter().for_each(|note| say!("{note}"));
    picture.write(&drawn.figure)?;
    say!("{}", picture.path().display());
    Ok(())
}

/// The range that is asked for, or that of the scenario.
fn range(arguments: &Arguments, scenario: &Scenario, feature: usize) -> Result<(f64, f64)> {
    let range = arguments.range.map(|range| range.0);
    ascending(range.unwrap_or_else(|| scenario.axis(feature)), arguments, scenario, feature)
}

/// A range of a feature, refused where there is nothing between its ends.
fn ascending(
    (lo, hi): (f64, f64),
    arguments: &Arguments,
    scenario: &Scenario,
    feature: usize,
) -> Result<(f64, f64)> {
    if lo < hi {
        return Ok((lo, hi));
    }
    let name = scenario.feature_name(feature);
    let why = match &arguments.event {
        Some(_) if scenario.levels(feature).is_some() => {
            let message =
                format!("--where leaves {name} one level, and an effect is of two at least");
            return Err(Error::Argument(message));
        }
        Some(_) => format!("--where leaves nothing of the range of {name}"),
        None => format!("the range of {name} is from {lo} to {hi}, with nothing between"),
    };
    Err(Error::Argument(format!("{why}: give a --range")))
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
        let curve = Curve { scenario, asked, feature, axis: Axis::new(lo, hi)?, arguments };
        curve.check_order()?;
        curves.push(curve);
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
    let has_levels = curves.iter().any(|curve| curve.levels().is_some());
    let mut first = first.into_iter();
    let rows = curves.iter().flat_map(|curve| {
        let held = if curve.len() > BLOCK { None } else { first.next() };
        let points = if held.is_some() { Vec::new() } else { curve.points() };
        let blocks = points.len().div_ceil(BLOCK);
        let later = (0..blocks).map(move |block| {
            let end = points.len().min((block + 1) * BLOCK);
            curve.rows(&points[block * BLOCK..end])
        });
        let rows = held.map(Ok).into_iter().chain(later).flat_map(each);
        let named = move |row: Vec<Entry>| if has_levels { curve.with_level(row) } else { row };
        rows.map(move |row: Result<Vec<Entry>>| row.map(named))
    });
    let mut columns = vec!["scenario", "feature", "effect", "x", "value", "abs_error", "method"];
    if has_levels {
        columns.insert(4, "level");
    }
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
        match (self.arguments.at.len(), self.levels()) {
            (0, Some(levels)) => levels.len(),
            (0, None) => self.arguments.points(),
            (at, _) => at,
        }
    }

    fn points(&self) -> Vec<f64> {
        let at = self.arguments.places();
        match self.levels() {
            _ if !at.is_empty() => at,
            Some(levels) => levels.iter().map(|level| level.value).collect(),
            None => self.axis.grid(self.len()),
        }
    }

    fn levels(&self) -> Option<Vec<Level>> {
        self.scenario.levels(self.feature)
    }

    /// A row with the name of the level that it is at, if it is at one.
    fn with_level(&self, mut row: Vec<Entry>) -> Vec<Entry> {
        let levels = self.levels().unwrap_or_default();
        let is_here = |level: &Level| row.get(3) == Some(&Entry::Number(level.value));
        let name = levels.into_iter().find(is_here).map(|level| Entry::from(level.name));
        row.insert(4, name.unwrap_or(Entry::Missing));
        row
    }

    /// Refuses an order where nothing accumulates along one, and a grid where there are levels.
    fn check_order(&self) -> Result<()> {
        let (name, has_levels) =
            (self.scenario.feature_name(self.feature), self.levels().is_some());
        if has_levels && self.arguments.grid.is_some() {
            return Err(Error::Argument(format!(
                "--grid: {name} has levels, and nothing between them"
            )));
        }
        if self.arguments.order.is_empty() {
            return Ok(());
        }
        let is_ale = matches!(self.asked, Asked::Quantity(Quantity::Ale));
        match (is_ale, has_levels) {
            (true, true) => self.order().map(drop),
            (true, false) => {
                let message =
                    format!("--order: {name} has no levels; --feature names one that has");
                Err(Error::Argument(message))
            }
            (false, _) => Err(Error::Argument(format!(
                "--order: `{}` depends on no order of levels; `ale` does",
                self.asked.name()
            ))),
        }
    }

    /// The values of the levels in the order that is asked for.
    fn order(&self) -> Result<Vec<f64>> {
        let levels = self.levels().unwrap_or_default();
        let names = || levels.iter().map(|level| level.name.as_str());
        let wrong = |message: String| {
            let name = self.scenario.feature_name(self.feature);
            Error::Argument(format!(
                "--order: {message}; {name} has the levels {}",
                listed(names())
            ))
        };
        let mut order = Vec::new();
        for name in self.arguments.order.iter().map(|name| name.trim()) {
            let found = levels.iter().find(|level| level.name == name);
            let value = found.map(|level| level.value).ok_or_else(|| {
                wrong(format!("there is no level `{name}`{}", suggestion(name, names())))
            })?;
            if order.contains(&value) {
                return Err(wrong(format!("`{name}` is named twice")));
            }
            order.push(value);
        }
        match levels.iter().find(|level| !order.contains(&level.value)) {
            None => Ok(order),
            Some(level) => Err(wrong(format!("`{}` is not named", level.name))),
        }
    }

    fn answers(&self, points: &[f64]) -> Result<Vec<[Entry; 3]>> {
        if !self.arguments.order.is_empty() {
            return self.answers_along(&self.order()?, points);
        }
        let (range, center) = ((self.axis.lo(), self.axis.hi()), self.arguments.centring());
        answers(self.scenario, self.asked, self.feature, points, range, center)
    }

    /// The ALE along an order, at some levels.
    fn answers_along(&self, order: &[f64], points: &[f64]) -> Result<Vec<[Entry; 3]>> {
        let center = self.arguments.centring();
        let truths = score::along(self.scenario, self.feature, order, center);
        let truths = truths.map_err(Error::Argument)?;
        let at = |x: &f64| {
            let place = order.iter().position(|value| value == x).ok_or_else(|| {
                let name = self.scenario.feature_name(self.feature);
                Error::Argument(format!("--at {x}: {name} has no such level"))
            })?;
            Ok(entries(truths[place]))
        };
        points.iter().map(at).collect()
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

fn bins(arguments: &Arguments, scenario: &Scenario) -> Result<OutputTable> {
    let feature = arguments.features.single(scenario, "--bins")?;
    let limits = arguments.limits(scenario, feature)?.unwrap_or_default();
    let mut sheet = OutputTable::new(&[
        "z_lo",
        "z_hi",
        "mu",
        "sigma2",
        "sigma2_star",
        "bin_error",
        "abs_error",
    ]);
    for bin in scenario.bins(feature, &limits, arguments.weighting)? {
        let numbers =
            [bin.lo, bin.hi, bin.mu, bin.sigma2, bin.sigma2_star, bin.bin_error, bin.abs_error];
        sheet.push(numbers.map(Entry::from).to_vec());
    }
    Ok(sheet)
}

fn values(arguments: &Arguments, scenario: &Scenario) -> Result<OutputTable> {
    let mut sheet = OutputTable::new(&pairs::NAMED);
    let mut push = |feature: Option<String>, name: &str, truth: Result<Truth, fe_truth::Error>| {
        let of = feature.as_ref().map_or_else(String::new, |feature| format!(" of {feature}"));
        let feature = feature.map_or(Entry::Missing, Entry::from);
        let mut row: Vec<Entry> = vec![scenario.id().into(), feature, Entry::Missing, name.into()];
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
    let features = arguments.features.of(scenario)?;
    let for_values = scenario.for_values();
    let of = |&feature: &usize| -> Result<_> {
        let axis = range(arguments, scenario, feature)?;
        Ok(for_values.each_value(feature, axis)?)
    };
    let each: Vec<Result<_>> = features.par_iter().map(of).collect();
    for (&feature, values) in features.iter().zip(each) {
        for (name, truth) in values? {
            push(Some(scenario.feature_name(feature)), name, truth)?;
        }
    }
    push(None, "mean_f", scenario.mean())?;
    push(None, "sd_f", scenario.sd())?;
    Ok(sheet)
}

fn shapley_values(scenario: &Scenario, point: &[f64]) -> Result<OutputTable> {
    let mut sheet = OutputTable::new(&["feature", "phi"]);
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
