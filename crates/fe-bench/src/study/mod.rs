//! Studies: files that say what is swept over, checked and expanded into cells.

mod engines;
pub mod fitting;
pub mod places;
mod size;
mod sweep;
mod values;
pub mod wire;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fe_core::confidence::BandKind;
use fe_core::estimator::{self, Estimator};
use fe_core::quantiles::QuantileRule;
use fe_core::{AxisChoice, Settings, preset};
use fe_truth::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Error, Result, listed, suggestion};
use crate::external::External;
use crate::record::{Key, entry, fingerprint};
use crate::say::echo;
use crate::scenarios::{self, Problems};
use crate::score::Metric;
use crate::sheet::exact;
use fitting::Fitting;
use places::{Grid, Limits};
pub(crate) use sweep::plain;
use wire::{Block, Comparison, Keep, StudyFile, TableSpec};

/// The most grid points, bins and the like that a study may ask for.
const MOST_PLACES: usize = 1_000_000;

/// The pair that is compared where a study names none and fits no models.
pub(crate) const OF_F: &str = "empirical:theoretical";

/// The most datasets of a study.
const MOST_DATASETS: usize = 10_000_000;

/// A study that was checked: everything in it exists and fits together.
#[derive(Debug, Clone)]
pub struct Study {
    /// Its name: that of the file.
    pub name: String,
    /// What the file said.
    pub file: StudyFile,
    /// What is to be computed, one entry per combination of scenario, parameters and N.
    pub groups: Vec<Group>,
}

/// Everything that is estimated from the same datasets.
#[derive(Debug, Clone)]
pub struct Group {
    /// The scenario with its parameters.
    pub scenario: Arc<Scenario>,
    /// Number of rows.
    pub rows: usize,
    /// Number of datasets.
    pub replicates: usize,
    /// Features, counted from 0.
    pub features: Vec<usize>,
    /// Points at which curves are compared.
    pub grid: Grid,
    /// What is computed.
    pub metrics: Vec<Metric>,
    /// Whether curves are centred on the grid before.
    pub comparison: Comparison,
    /// What is written beside the values.
    pub keep: Vec<Keep>,
    /// Estimators with their options.
    pub variants: Arc<[Variant]>,
    /// Models that are fitted to the datasets, and pairs of effects that are compared; none where it is
    /// the effects of f itself that are compared with their truths.
    pub fitting: Option<Fitting>,
}

impl Group {
    /// Estimates from a dataset: of each feature by each estimator and, where models are fitted, of each
    /// of them in each split.
    #[must_use]
    pub fn estimates(&self) -> usize {
        let subjects = |fitting: &Fitting| fitting.splits.len() * fitting.subjects();
        let subjects = self.fitting.as_ref().map_or(1, subjects);
        self.features.len() * self.variants.len() * subjects
    }
}

/// An estimator with its options.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Name of the estimator.
    pub estimator: String,
    /// The preset that options come from where the study does not give them.
    pub preset: Option<String>,
    /// What is asked of an engine, for an external estimator.
    pub external: Option<External>,
    /// Its options, for an estimator of this program.
    pub settings: Settings,
    /// Where its axis comes from.
    pub axis: AxisSource,
    /// The rule that names the limits of its bins, where they are not among its options.
    pub limits: Option<Limits>,
    /// What the columns `estimator` to `options` of its records say.
    pub columns: Vec<String>,
}

impl Variant {
    /// Its options for a feature, counted from 0, of a scenario; `grid` are all places of the grid,
    /// and `points` those at which curves are compared.
    ///
    /// # Errors
    /// What the scenario says of the feature or the probabilities.
    pub fn resolve(
        &self,
        scenario: &Scenario,
        feature: usize,
        grid: &[f64],
        points: &[f64],
    ) -> Result<Settings, String> {
        let limits =
            self.limits.map(|limits| limits.places(grid, scenario, feature)).transpose()?;
        Ok(Settings {
            axis: Some(self.axis.resolve(scenario, feature).map_err(|e| e.to_string())?),
            points: Some(points.to_vec()),
            limits: limits.or_else(|| self.settings.limits.clone()),
            ..self.settings.clone()
        })
    }
}

/// Where the axis of an estimate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AxisSource {
    /// The scenario's range.
    #[default]
    Scenario,
    /// The range of the data.
    Data,
    /// A given interval.
    Given(f64, f64),
    /// Between two quantiles of the data.
    Quantiles(QuantileRule, f64, f64),
    /// Between two quantiles of the scenario's law.
    Law(f64, f64),
}

/// What stands for the law among the rules of quantiles.
const LAW: &str = "law";

impl AxisSource {
    /// The same for the core, where it does not depend on a scenario.
    #[must_use]
    pub fn of_data(self) -> Option<AxisChoice> {
        match self {
            AxisSource::Data => Some(AxisChoice::Data),
            AxisSource::Given(lo, hi) => Some(AxisChoice::Given(lo, hi)),
            AxisSource::Quantiles(rule, from, to) => Some(AxisChoice::Quantiles { from, to, rule }),
            AxisSource::Scenario | AxisSource::Law(..) => None,
        }
    }

    /// The same for the core, which knows no scenario.
    ///
    /// # Errors
    /// What the scenario says of the feature, counted from 0, or of probabilities.
    pub fn resolve(
        self,
        scenario: &Scenario,
        feature: usize,
    ) -> Result<AxisChoice, fe_truth::Error> {
        Ok(match self {
            AxisSource::Scenario => {
                let (lo, hi) = scenario.axis(feature);
                AxisChoice::Given(lo, hi)
            }
            AxisSource::Law(from, to) => {
                let end = |probability| scenario.quantile(feature, probability);
                AxisChoice::Given(end(from)?, end(to)?)
            }
            _ => self.of_data().unwrap_or_default(),
        })
    }
}

impl From<AxisChoice> for AxisSource {
    fn from(choice: AxisChoice) -> Self {
        match choice {
            AxisChoice::Data => AxisSource::Data,
            AxisChoice::Given(lo, hi) => AxisSource::Given(lo, hi),
            AxisChoice::Quantiles { from, to, rule } => AxisSource::Quantiles(rule, from, to),
        }
    }
}

/// As flags and files have it.
impl std::fmt::Display for AxisSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AxisSource::Scenario => write!(f, "scenario"),
            AxisSource::Data => write!(f, "data"),
            AxisSource::Given(lo, hi) => write!(f, "{lo},{hi}"),
            AxisSource::Quantiles(rule, from, to) => write!(f, "{}:{from},{to}", rule.name()),
            AxisSource::Law(from, to) => write!(f, "{LAW}:{from},{to}"),
        }
    }
}

impl std::str::FromStr for AxisSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "scenario" => Ok(AxisSource::Scenario),
            "data" => Ok(AxisSource::Data),
            _ => {
                let (rule, ends) =
                    text.split_once(':').map_or((None, text), |(rule, ends)| (Some(rule), ends));
                let ends: Option<Vec<f64>> =
                    ends.split(',').map(|t| t.trim().parse().ok()).collect();
                match (rule, ends.as_deref()) {
                    (None, Some(&[lo, hi])) => Ok(AxisSource::Given(lo, hi)),
                    (Some(LAW), Some(&[from, to])) if 0.0 < from && from < to && to < 1.0 => {
                        Ok(AxisSource::Law(from, to))
                    }
                    (Some(rule), Some(&[from, to])) if rule != LAW => {
                        Ok(AxisSource::Quantiles(quantile_rule(rule)?, from, to))
                    }
                    _ => Err("must be `data`, `scenario`, LO,HI, or RULE:P,Q for quantiles, \
                              increasing; law:P,Q for those of the scenario's law"
                        .to_owned()),
                }
            }
        }
    }
}

fn quantile_rule(text: &str) -> Result<QuantileRule, String> {
    serde_json::from_value(text.into()).map_err(|e| e.to_string())
}

impl Study {
    /// Reads a file and checks all that can be checked before anything is run.
    ///
    /// # Errors
    /// One message that names the file, the key, what was given and what is allowed.
    pub fn read(path: &Path) -> Result<Self> {
        let name = PathBuf::from(path.file_stem().unwrap_or_default());
        let wrong = |message: String| Error::content(path, message);
        let mut file = wire::read(path)?;
        for problem in problem_paths(&file).map_err(wrong)? {
            let text = scenarios::read(&path.with_file_name("").join(&problem))?;
            file.problems.insert(problem, text);
        }
        Self::new(name.to_string_lossy().into_owned(), file).map_err(wrong)
    }

    /// Checks and expands what a file said.
    ///
    /// # Errors
    /// One message that names the key, what was given and what is allowed.
    pub fn new(name: String, file: StudyFile) -> Result<Self, String> {
        size::check_file(&file)?;
        let mut groups = Vec::new();
        for (i, block) in file.block.iter().enumerate() {
            groups.extend(
                expand(block, &file.problems).map_err(|e| format!("block {}: {e}", i + 1))?,
            );
        }
        if groups.is_empty() {
            return Err("there is no [[block]]".to_owned());
        }
        size::check_groups(&groups)?;
        file.table.iter().try_for_each(check_table)?;
        let study = Self { name, file, groups };
        check_distinct(&study)?;
        Ok(study)
    }

    /// The external estimators that it asks for.
    pub fn externals(&self) -> impl Iterator<Item = &External> {
        let variants = self.groups.iter().flat_map(|group| group.variants.iter());
        variants.filter_map(|variant| variant.external.as_ref())
    }

    /// Number of cells: datasets times [estimates](Group::estimates).
    #[must_use]
    pub fn cells(&self) -> usize {
        self.groups.iter().map(|group| group.replicates * group.estimates()).sum()
    }
}

/// The problem files that a study names, as it names them.
fn problem_paths(file: &StudyFile) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    for block in &file.block {
        let names = sweep::values("scenario", &block.scenario)?;
        paths.extend(names.iter().map(plain).filter(|name| scenarios::is_file(name)));
    }
    Ok(paths)
}

/// The scenario that a study names, with the texts of its problem files.
fn named_scenario(
    name: &str,
    set: &[(String, String)],
    problems: &Problems,
) -> Result<Scenario, String> {
    if !scenarios::is_file(name) {
        return fe_truth::scenario(name, set).map_err(|e| e.to_string());
    }
    let text = problems.get(name).ok_or_else(|| format!("the text of {name} is not recorded"))?;
    scenarios::of_text(name, text, set)
}

fn expand(block: &Block, problems: &Problems) -> Result<Vec<Group>, String> {
    if block.replicates == 0 {
        return Err("`replicates` = 0: must be at least 1".to_owned());
    }
    let grids = grids(&block.grid)?;
    let metrics = block.metrics.iter().map(|m| m.parse()).collect::<Result<Vec<Metric>, _>>()?;
    let variants = grids.iter().map(|grid| Ok(variants(block, grid)?.into()));
    let variants = variants.collect::<Result<Vec<Arc<[Variant]>>, String>>()?;
    let sizes = sizes(&block.n)?;
    let fitting = Fitting::read(block, &metrics)?;
    let ratios = ratios(block)?;
    let mut groups = Vec::new();
    for name in sweep::values("scenario", &block.scenario)? {
        for set in sweep::combinations(&block.set, &[])? {
            let set: Vec<(String, String)> =
                set.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
            let scenario = Arc::new(named_scenario(&plain(&name), &set, problems)?);
            let features = features(&scenario, &block.features)?;
            for &rows in &sizes {
                for &snr in &ratios {
                    for (&grid, variants) in grids.iter().zip(&variants) {
                        let fitting = fitting.clone().map(|fitting| {
                            let models = Fitting::models(block, rows)?;
                            let columns = bare_columns(&grid);
                            let fitting = Fitting { snr, models, columns, ..fitting };
                            fitting.check(block, &scenario, &features, variants)?;
                            Ok::<_, String>(fitting)
                        });
                        let group = Group {
                            scenario: Arc::clone(&scenario),
                            rows,
                            replicates: block.replicates,
                            features: features.clone(),
                            grid,
                            metrics: metrics.clone(),
                            comparison: block.compare,
                            keep: block.keep.clone(),
                            variants: Arc::clone(variants),
                            fitting: fitting.transpose()?,
                        };
                        size::check_rows(&group)?;
                        groups.push(group);
                    }
                }
            }
        }
    }
    size::check_any(&groups)?;
    Ok(groups)
}

/// Ratios of signal to noise; 0 where there is none.
fn ratios(block: &Block) -> Result<Vec<f64>, String> {
    let Some(value) = &block.snr else { return Ok(vec![0.0]) };
    let ratio = |value: &Value| {
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        number.filter(|snr| snr.is_finite() && *snr >= 0.0).ok_or_else(|| {
            format!(
                "`snr` = {value}: must be a finite number, at least 0, which stands for no noise"
            )
        })
    };
    sweep::values("snr", value)?.iter().map(ratio).collect()
}

/// Grids: one, or a list of them.
fn grids(value: &Value) -> Result<Vec<Grid>, String> {
    match value {
        Value::Array(list) if list.is_empty() => Err("`grid` is an empty list".to_owned()),
        Value::Array(list) => list.iter().map(Grid::read).collect(),
        single => Ok(vec![Grid::read(single)?]),
    }
}

/// Refuses values that would stand twice in the results.
fn check_distinct(study: &Study) -> Result<(), String> {
    let mut seen = HashSet::new();
    let mut is_known = |key: &Key| !seen.insert(fingerprint(key.iter().map(String::as_str)));
    match study.values().map(|(key, _)| key).find(|key| is_known(key)) {
        None => Ok(()),
        Some(twice) => {
            let of = |name| entry(&twice, name);
            // A pair without an estimate has no estimator.
            let what = [of("estimator"), of("pair")].into_iter().find(|name| !name.is_empty());
            Err(format!(
                "{} of {} for {} of {} with N = {} is asked for twice, with the same options",
                of("metric"),
                what.unwrap_or_default(),
                of("feature"),
                of("scenario"),
                of("N")
            ))
        }
    }
}

fn sizes(value: &Value) -> Result<Vec<usize>, String> {
    let values = sweep::values("N", value)?;
    let size = |value: &Value| match value.as_integer() {
        Some(n) if n > 0 => Ok(n as usize),
        _ => Err(format!("`N` = {value}: must be a whole number above 0")),
    };
    values.iter().map(size).collect()
}

/// Features by name, counted from 0; all if none are named.
///
/// # Errors
/// A message that names the feature and those that exist.
pub fn features(scenario: &Scenario, names: &[String]) -> Result<Vec<usize>, String> {
    if names.is_empty() {
        return Ok((0..scenario.dimension()).collect());
    }
    let known = names.iter().map(|name| feature_of(scenario, name));
    distinct(known.collect::<Result<_, _>>()?, |feature| scenario.feature_name(feature))
}

/// The feature of a scenario by its name, or by its number, counted from 0.
///
/// # Errors
/// A name that is none of its features.
pub fn feature_of(scenario: &Scenario, name: &str) -> Result<usize, String> {
    if let Some(feature) = scenario.feature_named(name) {
        return Ok(feature);
    }
    feature(name, scenario.dimension()).map_err(|message| {
        if scenario.text().is_none() {
            return message;
        }
        let names: Vec<String> =
            (0..scenario.dimension()).map(|feature| scenario.feature_name(feature)).collect();
        let names = || names.iter().map(String::as_str);
        format!("{message}, or {}{}", listed(names()), suggestion(name, names()))
    })
}

/// Refuses features that are asked for twice, by the same name or another.
///
/// # Errors
/// A message with the name of the first.
pub fn distinct(
    features: Vec<usize>,
    name: impl Fn(usize) -> String,
) -> Result<Vec<usize>, String> {
    let mut seen = HashSet::new();
    match features.iter().find(|feature| !seen.insert(**feature)) {
        None => Ok(features),
        Some(&twice) => Err(format!("{} is asked for twice", name(twice))),
    }
}

/// The feature of a name such as `x3` or `3`, counted from 0.
///
/// # Errors
/// A name that is none of `x1` to `xD`.
pub fn feature(name: &str, dimension: usize) -> Result<usize, String> {
    let number = name.strip_prefix('x').unwrap_or(name);
    // A number may have a sign before it, a name may not.
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    match number.parse::<usize>() {
        Ok(number) if is_number && (1..=dimension).contains(&number) => Ok(number - 1),
        _ => {
            let name = echo(name);
            Err(format!("feature `{name}` does not exist: there are x1 … x{dimension}"))
        }
    }
}

/// A feature of data whose features have names, counted from 0: by its name or, where none is called so, by its
/// number, as `x3` or `3`.
///
/// # Errors
/// A message that names the feature and those that exist.
pub fn named_feature(name: &str, names: &[String]) -> Result<usize, String> {
    if let Some(feature) = names.iter().position(|known| known == name) {
        return Ok(feature);
    }
    feature(name, names.len()).map_err(|message| {
        let known = || names.iter().map(String::as_str);
        // Names that are numbers with an x in front say nothing that the message does not.
        if known().enumerate().all(|(s, name)| name == format!("x{}", s + 1)) {
            return message;
        }
        format!("{message}, or {}{}", listed(known()), suggestion(name, known()))
    })
}

fn variants(block: &Block, grid: &Grid) -> Result<Vec<Variant>, String> {
    if block.estimator.is_empty() {
        return Err("there is no [[block.estimator]]".to_owned());
    }
    let mut variants = Vec::new();
    for table in &block.estimator {
        for options in sweep::combinations(table, &size::OF_ESTIMATORS)? {
            variants.push(variant(options, block.compare, grid)?);
        }
    }
    Ok(variants)
}

fn variant(mut options: Table, comparison: Comparison, grid: &Grid) -> Result<Variant, String> {
    let Some(Value::String(estimator)) = options.remove("name") else {
        return Err("an estimator needs a `name`".to_owned());
    };
    let preset = match options.remove("preset") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => return Err(format!("`preset` = {other}: must be the name of a preset")),
    };
    let axis = match options.remove("axis") {
        None => None,
        Some(Value::Array(ends)) => {
            let text: Vec<String> = ends.iter().map(plain).collect();
            Some(text.join(",").parse().map_err(|e| format!("`axis` of {estimator}: {e}"))?)
        }
        Some(text) => Some(plain(&text).parse().map_err(|e| format!("`axis` = {text}: {e}"))?),
    };
    if let Some(engine) = engines::engine_of(&estimator, &mut options)? {
        return engines::variant(engine, preset, axis, options, comparison);
    }
    let limits = limits(&mut options)?;
    check_option_names(&options, &estimator)?;
    check_sizes(&options, &estimator)?;
    if let Some(Value::String(name)) = options.get("band") {
        band(name).map_err(|e| format!("`band` = \"{name}\" of {estimator}: {e}"))?;
    }
    let settings = Settings::deserialize(Value::Table(options))
        .map_err(|e| format!("options of {estimator}: {}", e.to_string().trim()))?;
    let settings = match &preset {
        None => settings,
        Some(name) => preset::complete(name, &estimator, settings).map_err(|e| e.to_string())?,
    };
    let axis = axis.or(settings.axis.map(AxisSource::from)).unwrap_or_default();
    // Any limits will do to see whether the rest can be built.
    let stand_in = limits.map(|_| vec![0.0, 1.0]);
    let settings = Settings { limits: stand_in.or(settings.limits.clone()), ..settings };
    let built = estimator::from_settings(&estimator, &settings).map_err(|e| e.to_string())?;
    if comparison == Comparison::AsTheyAre && settings.center.is_none() {
        return Err(format!(
            "`compare` = \"Err\" compares curves as they are, so {} needs `center`: say how both curves are centred",
            built.name()
        ));
    }
    let mut variant =
        Variant { estimator, preset, external: None, settings, axis, limits, columns: Vec::new() };
    variant.columns = columns(&variant, built.as_ref(), comparison, grid);
    Ok(variant)
}

/// The kind of confidence band of a name.
///
/// # Errors
/// A message with the kinds that there are, the nearest one named.
pub(crate) fn band(name: &str) -> Result<BandKind, String> {
    let names = || BandKind::ALL.iter().map(|(known, _)| *known);
    let kind = BandKind::ALL.iter().find(|(known, _)| *known == name);
    kind.map(|(_, kind)| *kind)
        .ok_or_else(|| format!("must be one of {}{}", listed(names()), suggestion(name, names())))
}

/// The rule that names limits, taken out of the options; with it the binning can only be `grid`.
fn limits(options: &mut Table) -> Result<Option<Limits>, String> {
    let Some(limits) = options.get("limits").map(Limits::read).transpose()?.flatten() else {
        return Ok(None);
    };
    options.remove("limits");
    match options.entry("binning").or_insert_with(|| "grid".into()) {
        Value::String(binning) if binning == "grid" => Ok(Some(limits)),
        other => Err(format!("`limits` are those of the binning `grid`, not of {other}")),
    }
}

/// Refuses numbers of places that would not fit into memory.
fn check_sizes(options: &Table, estimator: &str) -> Result<(), String> {
    const SIZES: [&str; 6] =
        ["bins", "grid", "center_points", "candidates", "resamples", "permutations"];
    let large = |value: &Value| value.as_integer().is_some_and(|n| n > MOST_PLACES as i64);
    match options.iter().find(|(key, value)| SIZES.contains(&key.as_str()) && large(value)) {
        None => Ok(()),
        Some((key, value)) => {
            Err(format!("`{key}` = {value} of {estimator}: must be at most {MOST_PLACES}"))
        }
    }
}

/// What the columns `estimator` to `options` of the records say.
fn columns(
    variant: &Variant,
    built: &dyn Estimator,
    comparison: Comparison,
    grid: &Grid,
) -> Vec<String> {
    let binning = built.binning();
    let (describe, bins) = match (binning, variant.limits) {
        (Some(_), Some(limits)) => (format!("grid(limits={limits})"), Some(limits.bins(grid))),
        (Some(binning), None) => (binning.describe(), binning.bins()),
        (None, _) => (String::new(), None),
    };
    let empty_bins = binning.map(|_| word(&variant.settings.empty.unwrap_or_default()));
    let centring = match comparison {
        Comparison::Centred => "grid".to_owned(),
        Comparison::AsTheyAre => word(&built.centring()),
    };
    vec![
        variant.estimator.clone(),
        variant.preset.clone().unwrap_or_default(),
        describe,
        bins.map(|bins| bins.to_string()).unwrap_or_default(),
        centring,
        empty_bins.unwrap_or_default(),
        other_options(variant, grid),
    ]
}

/// What the columns `estimator` to `options` say where there is no estimator.
fn bare_columns(grid: &Grid) -> Vec<String> {
    let mut columns = vec![String::new(); 7];
    "grid".clone_into(&mut columns[4]);
    if *grid != Grid::default() {
        columns[6] = format!("compared_on={grid}");
    }
    columns
}

/// The name under which a file knows an option's value.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// The options that no other column tells, as `key=value` in alphabetical order; `compared_on` is
/// the grid where it is not the default one.
fn other_options(variant: &Variant, grid: &Grid) -> String {
    const TOLD_ELSEWHERE: [&str; 8] =
        ["binning", "bins", "limits", "min_points", "discount", "axis", "empty", "points"];
    let settings = serde_json::to_value(&variant.settings).unwrap_or_default();
    let mut options: Vec<String> = settings
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| !value.is_null() && !TOLD_ELSEWHERE.contains(&key.as_str()))
        .map(|(key, value)| {
            format!("{key}={}", value.as_str().map_or(value.to_string(), str::to_owned))
        })
        .collect();
    options.extend(match variant.axis {
        AxisSource::Scenario => None,
        AxisSource::Data => Some("axis=data".to_owned()),
        AxisSource::Given(lo, hi) => Some(format!("axis={} {}", exact(lo), exact(hi))),
        AxisSource::Quantiles(rule, from, to) => {
            Some(format!("axis={}:{} {}", rule.name(), exact(from), exact(to)))
        }
        AxisSource::Law(from, to) => Some(format!("axis={LAW}:{} {}", exact(from), exact(to))),
    });
    if *grid != Grid::default() {
        options.push(format!("compared_on={grid}"));
    }
    options.sort();
    options.join(";")
}

fn check_option_names(options: &Table, estimator: &str) -> Result<(), String> {
    let known = known_options();
    let known = || known.iter().map(String::as_str);
    match options.keys().find(|key| !known().any(|k| k == *key)) {
        None => Ok(()),
        Some(key) => Err(format!(
            "unknown option `{key}` of {estimator}{}; allowed are {}",
            suggestion(key, known()),
            listed(known()),
        )),
    }
}

/// The options an estimator may be given in a study: those of [`Settings`], but for the points,
/// which the study itself decides.
fn known_options() -> Vec<String> {
    let all = serde_json::to_value(Settings::default()).unwrap_or_default();
    let keys = all.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut keys: Vec<String> = keys.into_iter().filter(|key| key != "points").collect();
    keys.extend(["name", "preset", "engine"].map(str::to_owned));
    keys
}

fn check_table(table: &TableSpec) -> Result<(), String> {
    let known = || crate::record::KEYS.iter().copied();
    let named = table.rows.iter().chain(&table.columns);
    let named = named.chain(table.filter.keys()).chain(table.baseline.keys());
    match named.into_iter().find(|key| !known().any(|k| k == key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!(
            "unknown key `{key}` in the table \"{}\"{}; allowed are {}",
            table.title,
            suggestion(key, known()),
            listed(known()),
        )),
    }
}
