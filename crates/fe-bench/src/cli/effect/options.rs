//! The flags of `effect` and `plan`: how effects are estimated, and where they are evaluated.

use std::io::IsTerminal;

use clap::Args;
use fe_core::estimator::pair;
use fe_core::refits::RefitOptions;
use fe_core::settings::{BandKind, Centring};
use fe_core::{AxisChoice, Dataset, Settings, estimator, preset};
use fe_truth::Scenario;

use super::flags::OptionFlags;
use crate::data::columns::ColumnRequests;
use crate::data::{self, Roles};
use crate::error::{Error, Result};
use crate::output::Format;
use crate::study::AxisSource;

/// Options of how effects are estimated and printed.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct EstimationArguments {
    #[command(flatten)]
    rows: OptionFlags<true>,
    /// Kinds of features: continuous, ordinal, nominal, or date for a column of dates such as 2012-12-31, taken
    /// as days; columns of words are nominal, and features of scenarios as their laws are, unless said otherwise
    #[arg(long, value_name = "S=KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// The levels of a feature in their order, such as season=winter,summer; may be given several times
    /// [default: as numbers go, words in alphabetical order]
    #[arg(long, value_name = "S=A,B,…")]
    levels: Vec<String>,
    // The help names what the registry holds.
    #[arg(long, value_name = "NAME,…", help = estimators(), value_delimiter = ',', required_unless_present = "indices")]
    estimator: Vec<String>,
    /// Indices of features, of pairs of features and of f as a whole, in place of effects: h2.pair, h2.overall,
    /// sobol.first, sobol.total, shapley-effect and others as `fe-bench list indices` has them, or all
    #[arg(long, value_name = "I,J,…", value_delimiter = ',', conflicts_with_all = ["estimator", "preset"])]
    pub(in crate::cli) indices: Vec<String>,
    /// Rows at which partial dependences are compared, and conditional variances taken, for --indices; --background
    /// says over how many they are averaged [default: 1000 each]
    #[arg(long, value_name = "N", requires = "indices", value_parser = crate::cli::arguments::rows)]
    pub(super) outer: Option<usize>,
    /// Options of another library where none are given here; see `fe-bench list presets`
    #[arg(long, value_name = "NAME")]
    pub(super) preset: Option<String>,
    #[command(flatten)]
    options: OptionFlags<false>,
    /// How it is printed; csv holds the curve of every row for ice and dice, json all that is known
    /// [default: table on a terminal, else json]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

fn estimators() -> String {
    let names: Vec<&str> = estimator::ALL.iter().map(|info| info.name).collect();
    format!(
        "{} or regional-…; see `fe-bench list estimators`; of several, each takes what it can of the options",
        names.join(", ")
    )
}

impl EstimationArguments {
    /// The name of the estimator; empty where indices are asked in its place.
    pub(in crate::cli) fn estimator(&self) -> &str {
        self.estimator.first().map_or("", String::as_str)
    }

    /// The names of all estimators that are asked for.
    pub(in crate::cli) fn estimators(&self) -> &[String] {
        &self.estimator
    }

    /// Refuses several estimators, where one is meant.
    pub(in crate::cli) fn check_one(&self, what: &str) -> Result<()> {
        match &self.estimator[..] {
            [] | [_] => Ok(()),
            many => Err(Error::Argument(format!(
                "--estimator {}: {what} has one estimator; ask for each by itself",
                many.join(",")
            ))),
        }
    }

    /// The same for each of several estimators by itself, with those of the options that it takes. What none takes is left
    /// for them to refuse.
    pub(super) fn each(&self) -> Result<Vec<Self>> {
        let infos = self.estimator.iter().map(|name| estimator::info(name));
        let infos = infos.collect::<Result<Vec<_>, _>>()?;
        let one = |(place, info): (usize, &&estimator::EstimatorInfo)| {
            if self.estimator[..place].contains(&self.estimator[place]) {
                let message = format!("--estimator: {} is named twice", info.name);
                return Err(Error::Argument(message));
            }
            let is_others =
                |option: &str| !info.takes(option) && infos.iter().any(|other| other.takes(option));
            let mut own = Self { estimator: vec![info.name.to_owned()], ..self.clone() };
            for option in own.options.settings.given() {
                if is_others(option) {
                    own.options.settings.clear(option);
                }
            }
            if is_others("limits") {
                own.options.limits.clear();
            }
            if is_others("background_rows") {
                own.options.background_rows = None;
            }
            Ok(own)
        };
        infos.iter().enumerate().map(one).collect()
    }

    /// The format: the one that was asked for, else a table for people and JSON for programs.
    pub(in crate::cli) fn format(&self) -> Format {
        let is_seen = std::io::stdout().is_terminal() && !self.has_more_than_a_table();
        self.format.unwrap_or(if is_seen { Format::Table } else { Format::Json })
    }

    /// True if JSON alone holds what is asked for.
    fn has_more_than_a_table(&self) -> bool {
        let options = &self.options.settings;
        options.importance == Some(true) || options.shapley_values == Some(true)
    }

    /// Number of bins, and of background rows, and the seed of what is drawn.
    pub(super) fn samples(&self) -> (Option<usize>, Option<usize>, Option<u64>) {
        let options = &self.options.settings;
        (options.bins, options.background, options.background_seed)
    }

    /// True if a model is asked value by value, also where its structure tells the same.
    pub(super) fn asks_by_value(&self) -> bool {
        self.options.settings.brute.unwrap_or_default()
    }

    /// The kind of intervals that are asked for, and their level.
    pub(super) fn band(&self) -> (Option<BandKind>, Option<f64>) {
        (self.options.settings.band, self.options.settings.level)
    }

    /// The refits that are asked for; of several estimators all share them.
    pub(super) fn refits(&self) -> Result<Option<RefitOptions>> {
        Ok(RefitOptions::from_settings(&self.options.settings)?)
    }

    /// The points at which the effect is given.
    pub(super) fn at(&self) -> Option<&[f64]> {
        self.options.settings.points.as_deref()
    }

    /// The places where the effects of pairs are estimated and given.
    pub(super) fn places_of_pairs(&self) -> Result<PlacesOfPairs> {
        let OptionFlags { settings, points_of_pairs, grid_of_pairs, .. } = &self.options;
        if settings.points.is_some() {
            let message = "--at of a pair has two lists with a colon between: --at=U,V:W,Z";
            return Err(Error::Argument(message.to_owned()));
        }
        let takes_grid = pair::info(self.estimator())?.options.contains(&"grid");
        let grid = grid_of_pairs.or(settings.grid.map(|points| [points; 2]));
        if !takes_grid && grid.is_some() && settings.even_points.is_some() {
            self.printed(true)?;
        }
        let even = settings.even_points.map(|points| [points; 2]);
        Ok(PlacesOfPairs {
            grid: grid.filter(|_| takes_grid),
            at: points_of_pairs.clone(),
            even: even.or(grid.filter(|_| !takes_grid)),
        })
    }

    /// Refuses places of pairs where single features are meant.
    pub(super) fn check_places_of_one(&self) -> Result<()> {
        let given = [
            ("--at U,V:W,Z", self.options.points_of_pairs.is_some()),
            ("--grid NxM", self.options.grid_of_pairs.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Error::Argument(format!("{flag}: only of a pair, as --feature x1:x2")))
            }
        }
    }

    /// The way in which derivatives are to be computed.
    pub(in crate::cli) fn jacobian(&self) -> Option<fe_core::settings::Jacobian> {
        self.options.settings.jacobian
    }

    /// True if the background rows are those of a file.
    pub(in crate::cli) fn has_background_file(&self) -> bool {
        self.options.background_rows.is_some()
    }

    /// The background rows of a file, with the features of the data in the same order.
    pub(in crate::cli) fn background_of_file(
        &self,
        data: &Dataset,
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let Some(path) = &self.options.background_rows else { return Ok(None) };
        let roles = Roles { dimension: Some(data.dimension()), ..Roles::default() };
        let background = data::read(path, roles)?;
        let names = |of: &Dataset| of.names().join(", ");
        if background.names() != data.names() {
            let message = format!(
                "its columns are {}, those of the data {}",
                names(&background),
                names(data)
            );
            return Err(Error::content(path, message));
        }
        Ok(Some((0..background.len()).map(|row| background.row(row).to_vec()).collect()))
    }

    /// Check that what is asked for beside the curve is in the format.
    pub(super) fn check_format(&self) -> Result<()> {
        let options = &self.options.settings;
        let asked =
            [("--importance", options.importance), ("--shapley-values", options.shapley_values)];
        match asked.iter().find(|(_, asked)| *asked == Some(true)) {
            Some((flag, _)) if self.format() != Format::Json => {
                Err(Error::Argument(format!("{flag} needs --format json, which alone holds it")))
            }
            _ => Ok(()),
        }
    }

    /// Number of equidistant points that the effect is given at; `--grid` says so where it has bins.
    pub(super) fn printed(&self, has_bins: bool) -> Result<Option<usize>> {
        let options = &self.options.settings;
        match (options.even_points, options.grid.filter(|_| has_bins)) {
            (Some(_), Some(_)) => Err(Error::Argument(format!(
                "--grid and --points: `{}` has no grid of its own, so --points alone says where it \
                 is given",
                self.estimator()
            ))),
            (points, grid) => Ok(points.or(grid)),
        }
    }

    /// Limits of the bins of single features, by their names.
    pub(super) fn own_limits(&self) -> &[(String, Vec<f64>)] {
        &self.options.limits
    }

    /// The options that are given, by name.
    pub(in crate::cli) fn given(&self) -> Vec<&'static str> {
        let (rows, options) = (&self.rows.settings, &self.options.settings);
        let of_pairs = [
            ("points", self.options.points_of_pairs.is_some()),
            ("grid", self.options.grid_of_pairs.is_some()),
        ];
        let of_pairs = of_pairs.into_iter().filter(|(_, is_given)| *is_given);
        let of_pairs: Vec<&str> = of_pairs.map(|(name, _)| name).collect();
        [rows.given(), options.given(), of_pairs].concat()
    }

    /// Prints in another format.
    pub(in crate::cli) fn print_as(&mut self, format: Format) {
        self.format = Some(format);
    }

    /// The kinds and levels that are asked for.
    pub(in crate::cli) fn columns(&self) -> Result<ColumnRequests> {
        ColumnRequests::new(&self.kind, &self.levels)
    }
}

/// The places where the effects of pairs are estimated and given.
pub(super) struct PlacesOfPairs {
    /// Numbers of points of the grid on which they are estimated.
    pub(super) grid: Option<[usize; 2]>,
    /// The points at which they are given.
    pub(super) at: Option<[Vec<f64>; 2]>,
    /// Numbers of equidistant points at which they are given.
    pub(super) even: Option<[usize; 2]>,
}

/// True if a name is that of a regional estimator, or was meant to be.
pub(in crate::cli) fn is_regional(estimator: &str) -> bool {
    estimator.starts_with("regional")
}

/// The options of an estimate of a feature, with the limits of its own bins if it has some.
pub(in crate::cli) fn settings(
    arguments: &EstimationArguments,
    (scenario, data): (Option<&Scenario>, &Dataset),
    feature: usize,
    limits: &[(usize, Vec<f64>)],
) -> Result<Settings> {
    settings_by(preset::complete, arguments, (scenario, data), feature, limits)
}

/// The same of one of two features.
pub(super) fn settings_of_pair(
    arguments: &EstimationArguments,
    of_rows: (Option<&Scenario>, &Dataset),
    feature: usize,
    limits: &[(usize, Vec<f64>)],
) -> Result<Settings> {
    settings_by(preset::complete_pair, arguments, of_rows, feature, limits)
}

/// The options of a preset beside those that are given.
type Complete = fn(&str, &str, Settings) -> fe_core::Result<Settings>;

fn settings_by(
    complete: Complete,
    arguments: &EstimationArguments,
    (scenario, data): (Option<&Scenario>, &Dataset),
    feature: usize,
    limits: &[(usize, Vec<f64>)],
) -> Result<Settings> {
    // Only an effect that is computed on a grid takes one; others are evaluated on it.
    let takes_grid = if is_regional(arguments.estimator()) {
        fe_core::regional::info(arguments.estimator())?.takes("grid")
    } else {
        let info = estimator::info(arguments.estimator())?;
        info.takes("grid")
            && (!info.takes("nearest") || arguments.options.settings.nearest.is_some())
    };
    arguments.printed(!takes_grid)?;
    let own = limits.iter().find(|(other, _)| *other == feature).map(|(_, limits)| limits);
    let options = &match own {
        None => arguments.options.settings.clone(),
        // In the place of the bins that the others have.
        Some(limits) => Settings {
            binning: Some("grid".to_owned()),
            limits: Some(limits.clone()),
            bins: None,
            min_points: None,
            discount: None,
            quantiles: None,
            distinct: None,
            ..arguments.options.settings.clone()
        },
    };
    let given = Settings {
        axis: arguments.options.axis.map(|axis| resolve(axis, scenario, feature)).transpose()?,
        grid: options.grid.filter(|_| takes_grid),
        even_points: options.even_points.filter(|_| takes_grid),
        ..arguments.rows.settings.clone().or(options)
    };
    match (&arguments.preset, scenario) {
        (Some(name), _) => Ok(complete(name, arguments.estimator(), given)?),
        (None, Some(_)) => Ok(given),
        (None, None) => of_data(arguments.estimator(), given, data.feature(feature)),
    }
}

/// Options for values that come from no scenario: bins are quantiles where they would be equal, and the values themselves
/// where these are few; curves are centred over the rows where it would be by their integral. ALEPlot and alibi do so.
fn of_data(name: &str, given: Settings, values: &[f64]) -> Result<Settings> {
    let takes = |option: &str| match is_regional(name) {
        true => fe_core::regional::info(name).is_ok_and(|info| info.takes(option)),
        false => estimator::info(name).is_ok_and(|info| info.takes(option)),
    };
    let curve = name.strip_prefix("regional-").unwrap_or(name);
    let usual = estimator::from_settings(curve, &Settings::default())?;
    let has_equal_bins = usual.binning().is_some_and(|binning| binning.describe() == "fixed");
    let is_said = given.binning.is_some() || given.limits.is_some();
    let quantiles = takes("binning") && has_equal_bins && !is_said;
    let bins =
        given.bins.or(usual.binning().and_then(|binning| binning.bins())).unwrap_or_default();
    let is_open = quantiles && given.distinct.is_none() && takes("distinct");
    let distinct = (is_open && are_few(values, bins)).then_some(bins);
    let is_said = given.center_rule.is_some() || given.center_points.is_some();
    let by_integral = usual.centring() == Centring::Integral && takes("center") && !is_said;
    Ok(Settings {
        binning: given.binning.clone().or(quantiles.then(|| "quantile".to_owned())),
        distinct: given.distinct.or(distinct),
        center: given.center.or(by_integral.then_some(Centring::Data)),
        ..given
    })
}

/// True if there are no more distinct values than that, and two rows for each on average: where equal bins are the
/// values themselves, quantiles are as well.
fn are_few(values: &[f64], most: usize) -> bool {
    let mut distinct: Vec<f64> = Vec::new();
    for &value in values {
        if let Err(place) = distinct.binary_search_by(|known| known.total_cmp(&(value + 0.0))) {
            if distinct.len() == most {
                return false;
            }
            distinct.insert(place, value + 0.0);
        }
    }
    2 * distinct.len() <= values.len()
}

fn resolve(axis: AxisSource, scenario: Option<&Scenario>, feature: usize) -> Result<AxisChoice> {
    match (scenario, axis.of_data()) {
        (Some(scenario), _) => Ok(axis.resolve(scenario, feature)?),
        (None, Some(axis)) => Ok(axis),
        (None, None) => {
            Err(Error::Argument(format!("--axis {axis}: there is no scenario that it could be of")))
        }
    }
}
