//! Estimating effects as the flags of `effect` and `plan` ask for, and printing them.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use fe_core::bands::Bands;
use fe_core::confidence::{self, BandKind, ConfidenceBand};
use fe_core::effect::{BinningRecord, IceCurves, Record};
use fe_core::heterogeneity::Values;
use fe_core::{AxisChoice, Dataset, Effect, Kind, Model, Settings, estimator, preset};
use fe_truth::Scenario;
use ndarray::ArrayView2;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::arguments::{feature_name, finite, named_feature, points};
use super::fitted::Fitted;
use super::regional::{self, RegionalArguments};
use crate::data::{self, Roles};
use crate::error::{Error, Result};
use crate::plot;
use crate::say::say;
use crate::sheet::{Entry, Format, Sheet, write_csv};
use crate::study::{self, AxisSource};

/// How effects are estimated and printed.
#[derive(Debug, Args)]
pub(super) struct EstimationArguments {
    /// Draw so many of the rows first, the same for every feature
    #[arg(long, value_name = "N")]
    subsample: Option<usize>,
    /// Which rows are drawn [default: 0]
    #[arg(long, value_name = "SEED")]
    subsample_seed: Option<u64>,
    /// Kinds of features: continuous, ordinal or nominal; continuous unless said otherwise
    #[arg(long, value_name = "S=KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// pdp, dpdp, ice, dice, mplot, ale, dale, rhale, shapdp or regional-…; see `fe-bench list estimators`
    #[arg(long, value_name = "NAME")]
    pub(super) estimator: String,
    /// Options of another library where none are given here; see `fe-bench list presets`
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// fixed, quantile, quantile-min, grid, dp, greedy, agglomerative or penalized; see `fe-bench list
    /// binnings`
    #[arg(long, value_name = "KIND", help_heading = "Bins")]
    binning: Option<String>,
    /// Number of bins, or of the cells that automatic bins are made of
    #[arg(long, value_name = "K", help_heading = "Bins")]
    bins: Option<usize>,
    /// Limits of bins, for --binning grid
    #[arg(long, value_name = "Z0,Z1,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite, help_heading = "Bins")]
    limits: Option<Vec<f64>>,
    /// Least number of instances in an automatic bin
    #[arg(long, value_name = "M", help_heading = "Bins", value_parser = finite)]
    min_points: Option<f64>,
    /// Discount α of RHALE eq. 13
    #[arg(long, value_name = "A", help_heading = "Bins", value_parser = finite)]
    discount: Option<f64>,
    /// Quantiles: type-7, type-1, type-1-below or cunnane
    #[arg(long, value_name = "RULE", help_heading = "Bins",
          value_parser = word::<fe_core::quantiles::QuantileRule>)]
    quantiles: Option<fe_core::quantiles::QuantileRule>,
    /// Up to so many distinct values are themselves the limits of equal or quantile bins, or the grid
    /// [default: as many as equal bins, each for two rows on average]
    #[arg(long, value_name = "N", help_heading = "Bins")]
    distinct: Option<usize>,
    /// `mplot` over the nearest instances, at least so many, at each point of a grid instead of bins
    #[arg(long, value_name = "M", help_heading = "Bins")]
    nearest: Option<usize>,
    /// Bins without instances: interpolate, interpolate-index, zero, merge or error
    #[arg(long, value_name = "POLICY", value_parser = word::<fe_core::settings::EmptyBins>,
          help_heading = "Bins")]
    empty: Option<fe_core::settings::EmptyBins>,
    /// Fill undefined variances in the heterogeneity curve from other bins
    #[arg(long, help_heading = "Bins", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    fill_variances: Option<bool>,
    /// The end of a bin that belongs to it: left or right
    #[arg(long, value_name = "END", value_parser = word::<fe_core::partition::Closed>,
          help_heading = "Bins")]
    closed: Option<fe_core::partition::Closed>,
    /// data, scenario, LO,HI, or RULE:P,Q for quantiles as in --quantiles [default: data]
    #[arg(long, allow_hyphen_values = true)]
    axis: Option<AxisSource>,
    /// none, start, integral, data or bins [default: integral; none for dpdp, dice]
    #[arg(long, value_name = "CENTRING", value_parser = word::<fe_core::Centring>)]
    center: Option<fe_core::Centring>,
    /// Means over the axis: exact, points or midpoints
    #[arg(long, value_name = "RULE", value_parser = word::<fe_core::centring::CenterRule>)]
    center_rule: Option<fe_core::centring::CenterRule>,
    /// Number of points of a rule that is not exact
    #[arg(long, value_name = "N")]
    center_points: Option<usize>,
    /// What is subtracted from the number of instances in a variance: 0 or 1
    #[arg(long)]
    ddof: Option<u8>,
    /// Heterogeneity of `ale` from differences as they are, not divided by the width of their bin
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    undivided: Option<bool>,
    /// Heterogeneity of ICE curves as they are, not each centred by its own mean [default: true for dpdp, dice]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    raw_ice: Option<bool>,
    /// Heterogeneity of the grid also between its points, linearly, as effector has it
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    grid_heterogeneity: Option<bool>,
    /// Only the curve of pdp or dpdp: the heterogeneity stays undefined, which saves time
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    curve_only: Option<bool>,
    /// Between bin limits: linear or step; for mplot between centres of bins [default: linear; step for mplot]
    #[arg(long, value_parser = word::<fe_core::settings::Interpolation>)]
    interpolation: Option<fe_core::settings::Interpolation>,
    /// Continue constantly beyond the limits, instead of an error
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    extrapolate: Option<bool>,
    /// The mean of the model over the rows as well
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    mean_prediction: Option<bool>,
    /// How much the curve varies over the rows as well, in JSON: its standard deviation there, for slopes the
    /// mean of their absolute values times the standard deviation of the feature
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    importance: Option<bool>,
    /// Confidence band of the effect of this model: analytic, bootstrap, or bins (each bin alone, as PyALE)
    #[arg(long, value_name = "KIND", value_parser = band, help_heading = "Confidence bands")]
    band: Option<BandKind>,
    /// Confidence level of the band [default: 0.95]
    #[arg(long, value_name = "L", value_parser = level, allow_hyphen_values = true,
          help_heading = "Confidence bands")]
    level: Option<f64>,
    /// Number of resamples of the rows, for --band bootstrap [default: 500]
    #[arg(long, value_name = "B", help_heading = "Confidence bands")]
    resamples: Option<usize>,
    /// Where the random numbers of the band come from [default: 0]
    #[arg(long, value_name = "SEED", help_heading = "Confidence bands")]
    band_seed: Option<u64>,
    /// Choose bins anew in every resample, instead of holding them
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          help_heading = "Confidence bands")]
    rebin: Option<bool>,
    /// Limits from resamples: percentile or studentised [default: percentile]
    #[arg(long, value_name = "HOW", value_parser = word::<fe_core::confidence::Interval>,
          help_heading = "Confidence bands")]
    interval: Option<fe_core::confidence::Interval>,
    /// Derivatives: model, numeric, or auto (the model's where it has them)
    #[arg(long, value_parser = word::<fe_core::settings::Jacobian>)]
    jacobian: Option<fe_core::settings::Jacobian>,
    /// Half-width of numeric derivatives, as a share of the axis
    #[arg(long, value_parser = finite)]
    step: Option<f64>,
    /// Background rows of Shapley values: a number to draw, or all [default: all]
    #[arg(long, value_name = "N|all", value_parser = background, help_heading = "Shapley values")]
    background: Option<BackgroundSize>,
    /// The background rows themselves: a CSV file with the same features
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["background", "background_seed"],
          help_heading = "Shapley values")]
    pub(super) background_rows: Option<PathBuf>,
    /// The Shapley values themselves as well, in JSON
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          help_heading = "Shapley values")]
    shapley_values: Option<bool>,
    /// Which background rows are drawn [default: 0]
    #[arg(long, value_name = "SEED", help_heading = "Shapley values")]
    background_seed: Option<u64>,
    /// Pairs of permutations for each row [default: all coalitions up to 12 features, 32 pairs above]
    #[arg(long, value_name = "PAIRS", help_heading = "Shapley values")]
    permutations: Option<usize>,
    /// Which permutations are drawn [default: 0]
    #[arg(long, value_name = "SEED", help_heading = "Shapley values")]
    shapley_seed: Option<u64>,
    /// How the spline through Shapley values is smoothed: gcv or reml [default: gcv]
    #[arg(long, value_parser = word::<fe_core::spline::Smoothing>, help_heading = "Shapley values")]
    smoothing: Option<fe_core::spline::Smoothing>,
    /// Number of points that pdp, dpdp, ice, dice, shapdp and mplot --nearest are computed on [default: 100];
    /// for other estimators the same as --points
    #[arg(long, value_name = "N", value_parser = points)]
    grid: Option<usize>,
    /// The effect is given at so many equidistant points over the axis [default: the grid, or bin limits]
    #[arg(long, value_name = "N", value_parser = points)]
    points: Option<usize>,
    /// Points at which the effect is given; with --points at those too
    #[arg(long, value_name = "V,V,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite)]
    at: Option<Vec<f64>>,
    /// How it is printed; csv holds the curve of every row for ice and dice, json all that is known
    #[arg(long, value_enum, default_value = "json")]
    pub(super) format: Format,
    #[command(flatten)]
    regional: RegionalArguments,
}

/// How many background rows are asked for.
#[derive(Debug, Clone, Copy)]
enum BackgroundSize {
    All,
    Rows(usize),
}

impl BackgroundSize {
    fn rows(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Rows(rows) => Some(rows),
        }
    }
}

fn background(text: &str) -> Result<BackgroundSize, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(BackgroundSize::All),
        (_, Ok(rows)) if rows > 0 => Ok(BackgroundSize::Rows(rows)),
        _ => Err("must be a whole number above 0, or all".to_owned()),
    }
}

/// A kind of confidence band.
fn band(text: &str) -> Result<BandKind, String> {
    study::band(text)
}

/// A confidence level; the core says which ones make sense.
fn level(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "must be a number between 0 and 1".to_owned())
}

/// A word that the core knows.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|e| e.to_string())
}

impl EstimationArguments {
    /// How derivatives are asked to be computed.
    pub(super) fn jacobian(&self) -> Option<fe_core::settings::Jacobian> {
        self.jacobian
    }

    /// The background rows of a file, with the features of the data in the same order.
    pub(super) fn background_of_file(&self, data: &Dataset) -> Result<Option<Vec<Vec<f64>>>> {
        let Some(path) = &self.background_rows else { return Ok(None) };
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

    /// That what is asked for beside the curve is in the format.
    fn check_format(&self) -> Result<()> {
        let asked = [("--importance", self.importance), ("--shapley-values", self.shapley_values)];
        match asked.iter().find(|(_, asked)| *asked == Some(true)) {
            Some((flag, _)) if self.format != Format::Json => {
                Err(Error::Argument(format!("{flag} needs --format json, which alone holds it")))
            }
            _ => Ok(()),
        }
    }

    /// How many equidistant points the effect is given at; `--grid` says so where it has bins.
    fn printed(&self, has_bins: bool) -> Result<Option<usize>> {
        match (self.points, self.grid.filter(|_| has_bins)) {
            (Some(_), Some(_)) => Err(Error::Argument(format!(
                "--grid and --points: `{}` has no grid of its own, so --points alone says where it \
                 is given",
                self.estimator
            ))),
            (points, grid) => Ok(points.or(grid)),
        }
    }

    /// Prints in another format.
    pub(super) fn print_as(&mut self, format: Format) {
        self.format = format;
    }

    /// The data with the kinds of features that are given, as entries such as `x3=nominal`.
    pub(super) fn with_kinds(&self, data: Dataset) -> Result<Dataset> {
        let mut kinds = vec![Kind::default(); data.dimension()];
        for entry in &self.kind {
            let wrong = |message: String| Error::Argument(format!("--kind {entry}: {message}"));
            let Some((feature, kind)) = entry.split_once('=') else {
                return Err(wrong("must be S=KIND, such as x3=nominal".to_owned()));
            };
            let feature = named_feature(feature.trim(), &data).map_err(wrong)?;
            kinds[feature] = word(kind.trim()).map_err(wrong)?;
        }
        Ok(data.with_kinds(kinds)?)
    }
}

/// What effects are estimated of.
pub(super) struct Subject<'a> {
    /// The scenario, if there is one.
    pub(super) scenario: Option<&'a Scenario>,
    /// The fitted or stored model, if it is one.
    pub(super) fitted: Option<&'a Fitted>,
    pub(super) data: &'a Dataset,
    pub(super) model: &'a dyn Model,
    /// Features, counted from 0.
    pub(super) features: &'a [usize],
    /// Where effects are drawn, beside the truths of a scenario if there is one.
    pub(super) picture: Option<&'a Path>,
}

impl Subject<'_> {
    /// The keys that say which scenario it is; null without one.
    pub(super) fn identity(&self) -> [Value; 2] {
        [self.scenario.map(Scenario::id).into(), self.scenario.map(Scenario::parameters).into()]
    }

    /// What figures need to know.
    pub(super) fn pictured(&self) -> plot::effects::Subject<'_> {
        let title = match (self.scenario, self.fitted) {
            (Some(scenario), _) => plot::effects::title_of(scenario),
            (None, fitted) => fitted.map(|fitted| fitted.title.clone()).unwrap_or_default(),
        };
        plot::effects::Subject {
            title,
            scenario: self.scenario,
            data: self.data,
            model: self.model,
            outputs: self.fitted.map_or(&[][..], |fitted| &fitted.outputs[..]),
        }
    }

    /// An object of an effect with what is known of a fitted or stored model.
    pub(super) fn described<T>(&self, object: T, output: usize) -> Described<'_, T> {
        let of_model = self.fitted.map(|fitted| OfModel {
            output_name: fitted.outputs.get(output).map(String::as_str),
            model: &fitted.about,
        });
        Described { object, of_model }
    }

    /// The name of a feature: the scenario's, else its number.
    pub(super) fn feature_name(&self, feature: usize) -> String {
        self.scenario
            .map_or_else(|| feature_name(feature), |scenario| scenario.feature_name(feature))
    }

    /// A feature as it is printed: by its column where a model of data is explained.
    pub(super) fn feature(&self, effect: &Effect) -> Entry {
        match self.fitted {
            Some(_) => effect.name.as_str().into(),
            None => self.feature_name(effect.feature).into(),
        }
    }

    /// An output as it is printed: by its class where there are several of a model of data.
    pub(super) fn output(&self, output: usize) -> Entry {
        let names = self.fitted.map(|fitted| &fitted.outputs).filter(|names| names.len() > 1);
        match names.and_then(|names| names.get(output)) {
            Some(name) => name.as_str().into(),
            None => (output + 1).into(),
        }
    }
}

/// Says on standard error which effects have many bins without instances.
pub(super) fn say_cautions<'a>(effects: impl Iterator<Item = &'a Effect>) {
    for effect in effects {
        if let Some(caution) = effect.record.binning.as_ref().and_then(BinningRecord::caution) {
            say!("{}: {caution}; take fewer bins", effect.name);
        }
    }
}

/// Estimates and prints.
pub(super) fn execute(
    arguments: &EstimationArguments,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if regional::is_regional(&arguments.estimator) {
        return regional::execute(arguments, subject, out);
    }
    arguments.check_format()?;
    let background_rows = arguments.background_of_file(subject.data)?;
    let estimate = |&feature: &usize| {
        let settings = settings(arguments, subject.scenario, feature)?;
        let settings = Settings { background_rows: background_rows.clone(), ..settings };
        let estimator = estimator::from_settings(&arguments.estimator, &settings)?;
        let effects = estimator.estimate(subject.data, subject.model, feature)?;
        Ok::<_, Error>((settings, effects))
    };
    let mut effects = Vec::new();
    let mut drawn = Vec::new();
    for (settings, of_feature) in estimator::each_feature(subject.features, estimate)? {
        for effect in of_feature {
            if subject.picture.is_some() {
                let estimator = estimator::from_settings(&arguments.estimator, &settings)?;
                drawn.push((effect.clone(), estimator));
            }
            effects.push(Evaluated::new(effect, arguments)?);
        }
    }
    if let Some(path) = subject.picture {
        let pictured = plot::effects::figure(&subject.pictured(), &drawn)?;
        pictured.notes.iter().for_each(|note| say!("{note}"));
        pictured.figure.write(path)?;
    }
    say_cautions(effects.iter().map(|evaluated| &evaluated.effect));
    if effects.iter().any(|evaluated| evaluated.confidence.is_some()) {
        say!("band: {}", confidence::MEANING);
    }
    match arguments.format {
        Format::Json => {
            let objects = effects.iter().map(|evaluated| {
                let effect = &evaluated.effect;
                let deciles = subject.data.deciles(effect.feature);
                subject.described(evaluated.object(subject, deciles), effect.output)
            });
            write_objects(objects, out)
        }
        // A line for every value of every instance is no table for people.
        Format::Csv if effects.iter().any(|e| e.effect.curves.is_some()) => {
            write_csv(&COLUMNS_OF_CURVES, rows_of_curves(&effects, subject), out)
        }
        format => sheet(&effects, subject).write(format, out),
    }
}

pub(super) fn settings(
    arguments: &EstimationArguments,
    scenario: Option<&Scenario>,
    feature: usize,
) -> Result<Settings> {
    // Only an effect that is computed on a grid takes one; others are evaluated on it.
    let takes_grid = if regional::is_regional(&arguments.estimator) {
        fe_core::regional::info(&arguments.estimator)?.takes("grid")
    } else {
        let info = estimator::info(&arguments.estimator)?;
        info.takes("grid") && (!info.takes("nearest") || arguments.nearest.is_some())
    };
    arguments.printed(!takes_grid)?;
    let given = Settings {
        binning: arguments.binning.clone(),
        bins: arguments.bins,
        limits: arguments.limits.clone(),
        min_points: arguments.min_points,
        discount: arguments.discount,
        quantiles: arguments.quantiles,
        distinct: arguments.distinct,
        axis: arguments.axis.map(|axis| resolve(axis, scenario, feature)).transpose()?,
        center: arguments.center,
        center_rule: arguments.center_rule,
        center_points: arguments.center_points,
        ddof: arguments.ddof,
        empty: arguments.empty,
        fill_variances: arguments.fill_variances,
        closed: arguments.closed,
        interpolation: arguments.interpolation,
        extrapolate: arguments.extrapolate,
        undivided: arguments.undivided,
        curve_only: arguments.curve_only,
        jacobian: arguments.jacobian,
        step: arguments.step,
        grid: arguments.grid.filter(|_| takes_grid),
        points: arguments.at.clone(),
        even_points: arguments.points.filter(|_| takes_grid),
        raw_ice: arguments.raw_ice,
        grid_heterogeneity: arguments.grid_heterogeneity,
        importance: arguments.importance,
        shapley_values: arguments.shapley_values,
        nearest: arguments.nearest,
        subsample: arguments.subsample,
        subsample_seed: arguments.subsample_seed,
        mean_prediction: arguments.mean_prediction,
        band: arguments.band,
        level: arguments.level,
        resamples: arguments.resamples,
        band_seed: arguments.band_seed,
        rebin: arguments.rebin,
        interval: arguments.interval,
        background: arguments.background.and_then(BackgroundSize::rows),
        background_seed: arguments.background_seed,
        permutations: arguments.permutations,
        shapley_seed: arguments.shapley_seed,
        smoothing: arguments.smoothing,
        ..arguments.regional.settings()
    };
    match &arguments.preset {
        None => Ok(given),
        Some(name) => Ok(preset::complete(name, &arguments.estimator, given)?),
    }
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

/// The limits of a confidence band at some points, by their names.
type NamedLimits = [(&'static str, Option<Vec<f64>>); 4];

/// An effect with its values at the points that were asked for.
pub(super) struct Evaluated {
    pub(super) effect: Effect,
    preset: Option<String>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) heterogeneity: Vec<f64>,
    /// The spread about an accumulated effect, by its two names.
    bands: Option<[(&'static str, Vec<f64>); 2]>,
    /// The limits of a confidence band, by their names; null where the band is not simultaneous.
    confidence: Option<NamedLimits>,
}

impl Evaluated {
    pub(super) fn new(effect: Effect, arguments: &EstimationArguments) -> Result<Self> {
        let even = arguments.printed(effect.bins.is_some())?;
        let even = even.map(|points| effect.record.axis.grid(points));
        let x = match (&arguments.at, even) {
            (Some(points), None) => points.clone(),
            (None, Some(even)) => even,
            (None, None) => effect.curve.x().to_vec(),
            (Some(points), Some(even)) => {
                let mut x = [points.as_slice(), &even].concat();
                x.sort_unstable_by(f64::total_cmp);
                x.dedup();
                x
            }
        };
        let y = effect.curve.at_all(&x)?;
        let heterogeneity = effect.heterogeneity.at_all(&x)?;
        let bands = effect.bands.as_ref().map(|bands| spread(bands, &x)).transpose()?;
        let confidence = effect.confidence.as_ref().map(|band| limits(band, &x)).transpose()?;
        let preset = arguments.preset.clone();
        Ok(Self { effect, preset, x, y, heterogeneity, bands, confidence })
    }

    /// All that is known, with the deciles of the feature.
    pub(super) fn object(&self, subject: &Subject<'_>, deciles: [f64; 11]) -> Object<'_> {
        let effect = &self.effect;
        let [scenario, parameters] = subject.identity();
        let bins = effect.bins.as_ref();
        let confidence = self.confidence.as_ref().zip(effect.confidence.as_ref());
        let confidence = confidence.map(|(limits, band)| {
            let limits = limits.iter().map(|(name, values)| ((*name).to_owned(), json!(values)));
            limits.chain([("record".to_owned(), json!(band.record))]).collect()
        });
        Object {
            scenario,
            parameters,
            feature: subject.feature_name(effect.feature),
            name: &effect.name,
            output: effect.output + 1,
            estimator: effect.estimator,
            preset: self.preset.as_deref(),
            limits: bins.map(|bins| bins.partition.limits()),
            counts: bins.map(|bins| &bins.counts[..]),
            bin_effect: bins.map(|bins| &bins.effect[..]),
            bin_variance: effect.bin_variances(),
            x: &self.x,
            effect: &self.y,
            heterogeneity: &self.heterogeneity,
            heterogeneity_values: &effect.heterogeneity_values,
            default_heterogeneity: effect.default_heterogeneity,
            bands: self.bands.as_ref().map(|bands| {
                bands.iter().map(|(name, values)| (*name, &values[..])).collect::<BTreeMap<_, _>>()
            }),
            deciles,
            mean_prediction: effect.mean_prediction,
            importance: effect.importance,
            shapley: effect.shapley.as_ref().map(|shapley| ShapleyObject {
                rows: shapley.rows.iter().map(|row| row + 1).collect(),
                values: &shapley.values,
                base_value: shapley.base_value,
            }),
            curves: effect.curves.as_ref().map(Curves::new),
            record: &effect.record,
            confidence,
        }
    }
}

/// An effect as JSON has it, in this order. Written from where the numbers are: there may be a curve for
/// each of many instances.
#[derive(Serialize)]
pub(super) struct Object<'a> {
    scenario: Value,
    parameters: Value,
    feature: String,
    name: &'a str,
    output: usize,
    estimator: &'static str,
    preset: Option<&'a str>,
    limits: Option<&'a [f64]>,
    counts: Option<&'a [f64]>,
    bin_effect: Option<&'a [f64]>,
    bin_variance: Option<Vec<Option<f64>>>,
    x: &'a [f64],
    effect: &'a [f64],
    heterogeneity: &'a [f64],
    heterogeneity_values: &'a Values,
    default_heterogeneity: &'static str,
    bands: Option<BTreeMap<&'static str, &'a [f64]>>,
    deciles: [f64; 11],
    mean_prediction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shapley: Option<ShapleyObject<'a>>,
    curves: Option<Curves<'a>>,
    record: &'a Record,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<serde_json::Map<String, Value>>,
}

/// An effect with what is known of a model.
#[derive(Serialize)]
pub(super) struct Described<'a, T> {
    #[serde(flatten)]
    object: T,
    #[serde(flatten)]
    of_model: Option<OfModel<'a>>,
}

/// What is known of a fitted or stored model beside its effect.
#[derive(Serialize)]
struct OfModel<'a> {
    output_name: Option<&'a str>,
    model: &'a Value,
}

/// The Shapley values of a feature; rows are counted from 1.
#[derive(Serialize)]
struct ShapleyObject<'a> {
    rows: Vec<usize>,
    values: &'a [f64],
    base_value: f64,
}

/// The curves of the instances; their rows are counted from 1.
#[derive(Serialize)]
struct Curves<'a> {
    x: &'a [f64],
    rows: Vec<usize>,
    #[serde(serialize_with = "row_by_row")]
    values: ArrayView2<'a, f64>,
}

impl<'a> Curves<'a> {
    fn new(curves: &'a IceCurves) -> Self {
        let rows = curves.rows.iter().map(|row| row + 1).collect();
        Self { x: &curves.x, rows, values: curves.values.view() }
    }
}

fn row_by_row<S: Serializer>(
    values: &ArrayView2<'_, f64>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(values.rows().into_iter().map(|row| row.to_vec()))
}

/// Writes a list of objects, one after the other: one of many curves is long as a text.
pub(super) fn write_objects<T: Serialize>(
    objects: impl ExactSizeIterator<Item = T>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut out = BufWriter::new(out);
    let mut to = serde_json::Serializer::pretty(&mut out);
    to.collect_seq(objects).map_err(|e| Error::Output(e.into()))?;
    writeln!(out).and_then(|()| out.flush()).map_err(Error::Output)
}

/// The spread at some points; beyond the limits it is that at the limits, as the curve is.
fn spread(bands: &Bands, x: &[f64]) -> Result<[(&'static str, Vec<f64>); 2]> {
    let (lo, hi) = bands.std.range();
    let at = |of: &dyn Fn(f64) -> fe_core::Result<f64>| {
        x.iter().map(|x| of(x.clamp(lo, hi))).collect::<fe_core::Result<Vec<f64>>>()
    };
    let std = at(&|x| bands.std_at(x))?;
    Ok([("std", std), ("accumulated_sd", at(&|x| bands.accumulated_sd.at(x))?)])
}

/// The limits of a confidence band at some points.
fn limits(band: &ConfidenceBand, x: &[f64]) -> Result<NamedLimits, fe_core::Error> {
    let simultaneous = band.simultaneous.as_ref();
    let at = |limit: Option<&fe_core::Curve>| limit.map(|limit| limit.at_all(x)).transpose();
    Ok([
        ("lower", at(Some(&band.pointwise.lower))?),
        ("upper", at(Some(&band.pointwise.upper))?),
        ("simultaneous_lower", at(simultaneous.map(|limits| &limits.lower))?),
        ("simultaneous_upper", at(simultaneous.map(|limits| &limits.upper))?),
    ])
}

const COLUMNS_OF_CURVES: [&str; 6] = ["feature", "output", "row", "x", "effect", "heterogeneity"];

/// The curves of the instances, a line per point; `row` is counted from 1, and empty for their mean.
fn rows_of_curves(
    effects: &[Evaluated],
    subject: &Subject<'_>,
) -> impl Iterator<Item = Vec<Entry>> {
    effects.iter().flat_map(move |Evaluated { effect, x, y, heterogeneity, .. }| {
        let line = move |row: Entry, x: f64, y: f64, h: Entry| -> Vec<Entry> {
            vec![subject.feature(effect), subject.output(effect.output), row, x.into(), y.into(), h]
        };
        let mean = x.iter().zip(y).zip(heterogeneity);
        let mean = mean.map(move |((&x, &y), &h)| line(Entry::Missing, x, y, h.into()));
        let each = effect.curves.iter().flat_map(move |curves| {
            curves.rows.iter().zip(curves.values.rows()).flat_map(move |(row, values)| {
                let points = curves.x.iter().zip(values);
                points.map(move |(&x, &y)| line((row + 1).into(), x, y, Entry::Missing))
            })
        });
        mean.chain(each)
    })
}

fn sheet(effects: &[Evaluated], subject: &Subject<'_>) -> Sheet {
    let mut columns = vec!["feature", "output", "x", "effect", "heterogeneity"];
    let banded = effects.iter().find_map(|evaluated| evaluated.confidence.as_ref());
    columns.extend(banded.into_iter().flatten().map(|(name, _)| *name));
    let mut sheet = Sheet::new(&columns);
    for Evaluated { effect, x, y, heterogeneity, confidence, .. } in effects {
        for (i, ((&x, &y), &h)) in x.iter().zip(y).zip(heterogeneity).enumerate() {
            let mut row: Vec<Entry> = vec![
                subject.feature(effect),
                subject.output(effect.output),
                x.into(),
                y.into(),
                h.into(),
            ];
            let limits = confidence.iter().flatten();
            row.extend(limits.map(|(_, values)| values.as_ref().map(|values| values[i]).into()));
            sheet.push(row);
        }
    }
    sheet
}
