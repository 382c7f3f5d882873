//! `fe-bench effect`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_core::{Dataset, Effect, Settings, estimator, preset};
use fe_truth::Scenario;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::arguments::{FeatureArguments, ScenarioArguments, feature_name, finite, points};
use super::regional::{self, RegionalArguments};
use crate::error::{Error, Result};
use crate::sheet::{Entry, Format, Sheet};
use crate::study::AxisSource;
use crate::{data, draw, plot};

/// Estimates effects of a scenario's function on drawn or given data.
///
/// The data are drawn (--n and --seed; replicate 0 of a study with that master seed) or read (--data).
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rows").required(true).args(["n", "data"]))]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// Number of rows to draw
    #[arg(long, value_name = "N", requires = "seed")]
    n: Option<usize>,
    /// Master seed
    #[arg(long, value_name = "S", requires = "n")]
    seed: Option<u64>,
    /// CSV file with a header and a column per feature; a last column y is ignored
    #[arg(long, value_name = "FILE.csv")]
    data: Option<PathBuf>,
    /// Column of the data file with the weights of the rows
    #[arg(long, value_name = "COLUMN", requires = "data")]
    weights: Option<String>,
    /// Kinds of features: continuous, ordinal or nominal; continuous unless said otherwise
    #[arg(long, value_name = "S=KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// pdp, dpdp, ale, dale, rhale, shapdp or regional-…; see `fe-bench list estimators`
    #[arg(long, value_name = "NAME")]
    pub(super) estimator: String,
    /// Options of another library where none are given here; see `fe-bench list presets`
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// fixed, quantile, quantile-min, grid, dp, greedy or agglomerative; see `fe-bench list binnings`
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
    /// Up to so many distinct values are themselves the limits of quantile bins, or the grid
    #[arg(long, value_name = "N", help_heading = "Bins")]
    distinct: Option<usize>,
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
    /// none, start, integral, data or bins [default: integral; none for dpdp]
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
    /// Between bin limits: linear or step
    #[arg(long, value_parser = word::<fe_core::settings::Interpolation>)]
    interpolation: Option<fe_core::settings::Interpolation>,
    /// Continue constantly beyond the limits, instead of an error
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    extrapolate: Option<bool>,
    /// Derivatives: model, numeric, or auto (the model's where it has them)
    #[arg(long, value_parser = word::<fe_core::settings::Jacobian>)]
    jacobian: Option<fe_core::settings::Jacobian>,
    /// Half-width of numeric derivatives, as a share of the axis
    #[arg(long, value_parser = finite)]
    step: Option<f64>,
    /// Background rows of Shapley values: a number to draw, or all [default: all]
    #[arg(long, value_name = "N|all", value_parser = background, help_heading = "Shapley values")]
    background: Option<BackgroundSize>,
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
    /// So many equidistant points over the axis [default: bin limits; 100 points for pdp, dpdp, shapdp]
    #[arg(long, value_name = "N", value_parser = points, conflicts_with = "at")]
    grid: Option<usize>,
    /// Points at which the effect is given
    #[arg(long, value_name = "V,V,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = finite)]
    at: Option<Vec<f64>>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "json")]
    pub(super) format: Format,
    /// Draw the effects beside their truths as well
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub(super) plot: Option<PathBuf>,
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

/// A word that the core knows.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|e| e.to_string())
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let scenario = arguments.scenario.scenario()?;
    let features = arguments.features.of(&scenario)?;
    let data = read_or_draw(arguments, &scenario)?;
    let kinds = regional::kinds(&scenario, &arguments.kind)?;
    let data = data.with_kinds(kinds)?;
    if regional::is_regional(&arguments.estimator) {
        return regional::execute(arguments, &scenario, &features, &data, out);
    }
    let mut effects = Vec::new();
    let mut drawn = Vec::new();
    for feature in features {
        let settings = settings(arguments, &scenario, feature)?;
        let estimator = || estimator::from_settings(&arguments.estimator, &settings);
        for effect in estimator()?.estimate(&data, scenario.model(), feature)? {
            if arguments.plot.is_some() {
                drawn.push((effect.clone(), estimator()?));
            }
            effects.push(Evaluated::new(effect, arguments)?);
        }
    }
    if let Some(path) = &arguments.plot {
        let pictured = plot::effects::figure(&scenario, &data, &drawn)?;
        pictured.notes.iter().for_each(|note| eprintln!("{note}"));
        pictured.figure.write(path)?;
    }
    match arguments.format {
        Format::Json => {
            let objects: Vec<Value> = effects.iter().map(|e| e.json(&scenario)).collect();
            let text = serde_json::to_string_pretty(&objects).unwrap_or_default();
            writeln!(out, "{text}").map_err(Error::Output)
        }
        format => sheet(&effects).write(format, out),
    }
}

fn read_or_draw(arguments: &Arguments, scenario: &Scenario) -> Result<Dataset> {
    match (&arguments.data, arguments.n, arguments.seed) {
        (Some(path), _, _) => data::read(path, scenario.dimension(), arguments.weights.as_deref()),
        (None, Some(n), Some(seed)) => draw::features(scenario, seed, n, 0),
        _ => Err(Error::Argument("either --data, or --n and --seed are needed".to_owned())),
    }
}

pub(super) fn settings(
    arguments: &Arguments,
    scenario: &Scenario,
    feature: usize,
) -> Result<Settings> {
    // Only an effect that is computed on a grid takes one; others are evaluated on it.
    let takes_grid = if regional::is_regional(&arguments.estimator) {
        fe_core::regional::info(&arguments.estimator)?.takes("grid")
    } else {
        estimator::info(&arguments.estimator)?.takes("grid")
    };
    let given = Settings {
        binning: arguments.binning.clone(),
        bins: arguments.bins,
        limits: arguments.limits.clone(),
        min_points: arguments.min_points,
        discount: arguments.discount,
        quantiles: arguments.quantiles,
        distinct: arguments.distinct,
        axis: arguments.axis.map(|axis| axis.resolve(scenario, feature)),
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
        jacobian: arguments.jacobian,
        step: arguments.step,
        grid: arguments.grid.filter(|_| takes_grid),
        points: arguments.at.clone(),
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

/// An effect with its values at the points that were asked for.
pub(super) struct Evaluated {
    pub(super) effect: Effect,
    preset: Option<String>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) heterogeneity: Vec<f64>,
}

impl Evaluated {
    pub(super) fn new(effect: Effect, arguments: &Arguments) -> Result<Self> {
        let x = match (&arguments.at, arguments.grid) {
            (Some(points), _) => points.clone(),
            (None, Some(points)) => effect.record.axis.grid(points),
            (None, None) => effect.curve.x().to_vec(),
        };
        let y = effect.curve.at_all(&x)?;
        let heterogeneity = effect.heterogeneity.at_all(&x)?;
        Ok(Self { effect, preset: arguments.preset.clone(), x, y, heterogeneity })
    }

    pub(super) fn json(&self, scenario: &Scenario) -> Value {
        let effect = &self.effect;
        let bins = effect.bins.as_ref();
        json!({
            "scenario": scenario.id(),
            "parameters": scenario.parameters(),
            "feature": feature_name(effect.feature),
            "name": effect.name,
            "output": effect.output + 1,
            "estimator": effect.estimator,
            "preset": self.preset,
            "limits": bins.map(|bins| bins.partition.limits()),
            "counts": bins.map(|bins| &bins.counts),
            "bin_effect": bins.map(|bins| &bins.effect),
            "bin_variance": bins.map(|bins| &bins.variance),
            "x": self.x,
            "effect": self.y,
            "heterogeneity": self.heterogeneity,
            "heterogeneity_values": effect.heterogeneity_values,
            "default_heterogeneity": effect.default_heterogeneity,
            "bands": effect.bands.as_ref().map(|bands| json!({
                "std": bands.std.y(),
                "accumulated_sd": bands.accumulated_sd.y(),
            })),
            "deciles": effect.deciles,
            "record": effect.record,
        })
    }
}

fn sheet(effects: &[Evaluated]) -> Sheet {
    let mut sheet = Sheet::new(&["feature", "output", "x", "effect", "heterogeneity"]);
    for Evaluated { effect, x, y, heterogeneity, .. } in effects {
        for ((&x, &y), &h) in x.iter().zip(y).zip(heterogeneity) {
            let row: Vec<Entry> = vec![
                feature_name(effect.feature).into(),
                (effect.output + 1).into(),
                x.into(),
                y.into(),
                h.into(),
            ];
            sheet.push(row);
        }
    }
    sheet
}
