//! `fe-bench agree`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use fe_core::effect::Bins;
use fe_core::metric::Dense;
use fe_core::model::{FunctionModel, Rows};
use fe_core::replicates::Summary;
use fe_core::{Dataset, Effect, Error as CoreError, Model, Settings, estimator};
use ndarray::Array2;

use super::arguments::{DataFeatures, key_value};
use super::effect::model::ModelArguments;
use crate::cli::figures::FormArguments;
use crate::data::columns::ColumnRequests;
use crate::error::{Error, Result};
use crate::output::{Format, OutputTable};
use crate::plot::figure::{Figure, Layer, Mark, Panel, Scale};
use crate::plot::style::{GREY, MarkStyle, VERMILION};
use crate::study::labels::usual;

/// How well bins of few rows agree with dense bins of all rows, for a model of data.
///
/// As RHALE §5: bin effects and standard deviations of `dale` with many equal bins on all explained
/// rows stand for the truth. Random subsets are drawn again and again, and `rhale` and `dale` with
/// several numbers of equal bins are compared with it by L_mu and L_sigma.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Data file with a header and a column per feature, in any format that `effect` reads
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// An option of the model; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    #[command(flatten)]
    features: DataFeatures,
    /// Rows of a subset
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Subsets
    #[arg(long, value_name = "R", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Which subsets are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Numbers of equal bins
    #[arg(long, value_name = "K,K,…", value_delimiter = ',', value_parser = number_of_bins,
          default_values_t = [2, 3, 5, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80])]
    bins: Vec<u32>,
    /// Most bins of `rhale`
    #[arg(long, value_name = "K", default_value_t = 20, value_parser = number_of_bins)]
    rhale_bins: u32,
    /// Equal bins of the reference
    #[arg(long, value_name = "K", default_value_t = 80, value_parser = number_of_bins)]
    reference_bins: u32,
    /// Draw the errors as well
    #[arg(long, value_name = "FILE.svg|.png|.pdf|.eps")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    form: FormArguments,
    /// How they are printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    model: ModelArguments,
}

fn number_of_bins(text: &str) -> Result<u32, String> {
    let known = text.trim().parse().ok().filter(|bins| (1..=100_000).contains(bins));
    known.ok_or_else(|| "must be a whole number from 1 to 100000".to_owned())
}

/// The errors of one estimator in all runs.
struct Line {
    feature: String,
    estimator: &'static str,
    /// Number of equal bins; none for `rhale`.
    asked: Option<u32>,
    bins: Vec<f64>,
    l_mu: Vec<f64>,
    l_sigma: Vec<f64>,
}

pub(super) fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let Some(name) = &arguments.model.model else {
        return Err(Error::Argument("--model is needed".to_owned()));
    };
    let inputs = [arguments.data.as_path()].into_iter().chain(arguments.model.file());
    let inputs: Vec<&std::path::Path> = inputs.collect();
    let picture = arguments.form.picture(arguments.plot.as_deref(), &inputs)?;
    let observations =
        arguments.model.observations(&arguments.data, None, ColumnRequests::default())?;
    arguments.features.of_names(observations.names())?;
    let fitted = arguments.model.fit(name, &arguments.data, observations, &arguments.set, None)?;
    if !fitted.model.has_partial() {
        let message = format!("`rhale` needs derivatives, and {} has none", fitted.title);
        return Err(Error::Argument(message));
    }
    if fitted.model.outputs() != 1 {
        let message = "a model of one output is needed; this one has several";
        return Err(Error::Argument(message.to_owned()));
    }
    if arguments.n as usize > fitted.data.len() {
        let (n, rows) = (arguments.n, fitted.data.len());
        return Err(Error::Argument(format!("--n {n}: subsets of {rows} rows have no more")));
    }
    let mut lines = Vec::new();
    for feature in arguments.features.of_names(fitted.data.names())? {
        lines.extend(of_feature(arguments, &fitted.data, &*fitted.model, feature)?);
    }
    if let Some(picture) = picture {
        let (n, runs) = (arguments.n, arguments.runs);
        let title = format!("{}: DALE and RHALE, N = {n}, {runs} subsets", fitted.title);
        picture.write(&figure(title, &lines))?;
    }
    sheet(&lines).write(arguments.format, out)
}

fn of_feature(
    arguments: &Arguments,
    data: &Dataset,
    model: &dyn Model,
    feature: usize,
) -> Result<Vec<Line>> {
    let column = &data.names()[feature];
    let (data, model) = recorded(data, model, feature)?;
    let reference = equal_bins(arguments.reference_bins);
    let reference = estimate("dale", &reference, &data, &model)?;
    let dense = Dense::new(bins(&reference)?);
    let mut variants = vec![("rhale", None)];
    variants.extend(arguments.bins.iter().map(|&bins| ("dale", Some(bins))));
    let mut lines = Vec::with_capacity(variants.len());
    for (name, asked) in variants {
        let mut line = Line {
            feature: column.clone(),
            estimator: name,
            asked,
            bins: Vec::new(),
            l_mu: Vec::new(),
            l_sigma: Vec::new(),
        };
        for run in 0..arguments.runs {
            let settings = Settings {
                subsample: Some(arguments.n as usize),
                subsample_seed: Some(arguments.seed.wrapping_add(run)),
                ..equal_bins(asked.unwrap_or(arguments.rhale_bins))
            };
            let effect = estimate(name, &settings, &data, &model)?;
            let bins = bins(&effect)?;
            let (l_mu, l_sigma) = dense.errors(bins);
            line.bins.push(bins.effect.len() as f64);
            line.l_mu.extend(l_mu);
            line.l_sigma.extend(l_sigma);
        }
        lines.push(line);
    }
    Ok(lines)
}

fn equal_bins(bins: u32) -> Settings {
    Settings { bins: Some(bins as usize), ..Settings::default() }
}

/// The derivatives by a feature, asked of the model once: data whose second feature is the number of
/// the row, and a model that looks the derivative of a row up.
fn recorded(
    data: &Dataset,
    model: &dyn Model,
    feature: usize,
) -> Result<(Dataset, FunctionModel<'static>)> {
    let n = data.len();
    let mut slopes = vec![0.0; n];
    model
        .partial(feature, &Rows::new(&data.columns(0..n), n), &mut slopes)
        .map_err(CoreError::from)?;
    let columns = [data.feature(feature).to_vec(), (0..n).map(|row| row as f64).collect()];
    let array = Array2::from_shape_vec((2, n), columns.concat())
        .map_err(|e| Error::Argument(e.to_string()))?;
    let model = FunctionModel::new(2, |_| 0.0).with_partial(move |_, x| slopes[x[1] as usize]);
    Ok((Dataset::from_features(array)?, model))
}

/// Of the feature that the derivatives are recorded of.
fn estimate(name: &str, settings: &Settings, data: &Dataset, model: &dyn Model) -> Result<Effect> {
    let effect = estimator::from_settings(name, settings)?.estimate(data, model, 0)?.pop();
    effect.ok_or_else(|| Error::Core(CoreError::Incompatible("a model without outputs".to_owned())))
}

fn bins(effect: &Effect) -> Result<&Bins> {
    let none = || Error::Core(CoreError::Incompatible("an effect without bins".to_owned()));
    effect.bins.as_ref().ok_or_else(none)
}

fn sheet(lines: &[Line]) -> OutputTable {
    let mut sheet = OutputTable::new(&[
        "feature",
        "estimator",
        "K",
        "runs",
        "bins",
        "L_mu",
        "L_mu_se",
        "L_sigma",
        "L_sigma_se",
    ]);
    for line in lines {
        let (l_mu, l_sigma) = (Summary::of(&line.l_mu), Summary::of(&line.l_sigma));
        sheet.push(vec![
            line.feature.as_str().into(),
            line.estimator.into(),
            line.asked.map(f64::from).into(),
            line.bins.len().into(),
            Summary::of(&line.bins).mean.into(),
            l_mu.mean.into(),
            l_mu.standard_error.into(),
            l_sigma.mean.into(),
            l_sigma.standard_error.into(),
        ]);
    }
    sheet
}

/// A cell for each feature: the errors of equal bins over their number, and `rhale` beside them.
fn figure(title: String, lines: &[Line]) -> Figure {
    let mut cells = Vec::new();
    for of_feature in lines.chunk_by(|a, b| a.feature == b.feature) {
        cells.push(vec![
            panel(("L_mu", true), of_feature, |line| &line.l_mu),
            panel(("L_sigma", false), of_feature, |line| &line.l_sigma),
        ]);
    }
    Figure { title, cells, legend_per_cell: false }
}

/// The errors of one feature by a metric; the first panel of the feature has its name.
fn panel((metric, is_first): (&str, bool), lines: &[Line], values: fn(&Line) -> &[f64]) -> Panel {
    let half =
        |line: &Line| Summary::of(values(line)).interval.map_or(0.0, |(lo, hi)| 0.5 * (hi - lo));
    let mean = |line: &Line| Summary::of(values(line)).mean.unwrap_or(f64::NAN);
    let equal: Vec<(f64, f64, f64)> = lines
        .iter()
        .filter_map(|line| Some((f64::from(line.asked?), mean(line), half(line))))
        .collect();
    let (lo, hi) =
        equal.iter().fold((f64::NAN, f64::NAN), |(lo, hi), (k, ..)| (lo.min(*k), hi.max(*k)));
    let mut layers = Vec::new();
    for line in lines.iter().filter(|line| line.asked.is_none()) {
        let (mean, half) = (mean(line), half(line));
        let band = vec![(lo, mean - half, mean + half), (hi, mean - half, mean + half)];
        let name = format!("{} (mean and 95 % interval)", usual("rhale"));
        let faint = MarkStyle::line(VERMILION, 1.0).faint(0.2);
        layers.push(Layer::named(name.clone(), faint, Mark::Band(band)));
        let level = Mark::Line(vec![(lo, mean), (hi, mean)]);
        layers.push(Layer::named(name, MarkStyle::line(VERMILION, 2.4), level));
    }
    let curve = equal.iter().map(|&(k, mean, _)| (k, mean)).collect();
    let joined = Layer { name: None, look: MarkStyle::line(GREY, 1.0), mark: Mark::Line(curve) };
    layers.push(joined);
    let name = format!("{} with K equal bins (mean and 95 % interval)", usual("dale"));
    layers.push(Layer::named(name, MarkStyle::of_series(0), Mark::Points(equal)));
    Panel {
        title: if is_first { lines[0].feature.clone() } else { String::new() },
        x: Scale::linear("number of bins K"),
        y: Scale::linear(usual(metric)),
        layers,
        ..Panel::default()
    }
}
