//! Studies: files that say what is swept over, checked and expanded into cells.

mod sweep;
pub mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fe_core::quantiles::QuantileRule;
use fe_core::{AxisChoice, Settings, estimator, preset};
use fe_truth::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Error, Result, listed, suggestion};
use crate::score::Metric;
pub(crate) use sweep::plain;
use wire::{Block, Comparison, StudyFile, TableSpec};

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
    pub grid: usize,
    /// What is computed.
    pub metrics: Vec<Metric>,
    /// Whether curves are centred on the grid before.
    pub comparison: Comparison,
    /// Estimators with their options.
    pub variants: Vec<Variant>,
}

/// An estimator with its options.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Name of the estimator.
    pub estimator: String,
    /// The preset that options come from where the study does not give them.
    pub preset: Option<String>,
    /// Its options.
    pub settings: Settings,
    /// Where its axis comes from.
    pub axis: AxisSource,
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
}

impl AxisSource {
    /// The same for the core, which knows no scenario.
    #[must_use]
    pub fn resolve(self, scenario: &Scenario, feature: usize) -> AxisChoice {
        match self {
            AxisSource::Scenario => {
                let (lo, hi) = scenario.axis(feature);
                AxisChoice::Given(lo, hi)
            }
            AxisSource::Data => AxisChoice::Data,
            AxisSource::Given(lo, hi) => AxisChoice::Given(lo, hi),
            AxisSource::Quantiles(rule, from, to) => AxisChoice::Quantiles { from, to, rule },
        }
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
                let (rule, ends) = match text.split_once(':') {
                    None => (None, text),
                    Some((rule, ends)) => (Some(quantile_rule(rule)?), ends),
                };
                let ends: Option<Vec<f64>> =
                    ends.split(',').map(|t| t.trim().parse().ok()).collect();
                match (rule, ends.as_deref()) {
                    (None, Some(&[lo, hi])) => Ok(AxisSource::Given(lo, hi)),
                    (Some(rule), Some(&[from, to])) => Ok(AxisSource::Quantiles(rule, from, to)),
                    _ => {
                        Err("must be `data`, `scenario`, LO,HI, or RULE:P,Q for quantiles"
                            .to_owned())
                    }
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
        let file = wire::read(path)?;
        let wrong = |message: String| Error::content(path, message);
        let mut groups = Vec::new();
        for (i, block) in file.block.iter().enumerate() {
            let expanded = expand(block).map_err(|e| wrong(format!("block {}: {e}", i + 1)))?;
            groups.extend(expanded);
        }
        if groups.is_empty() {
            return Err(wrong("there is no [[block]]".to_owned()));
        }
        for table in &file.table {
            check_table(table).map_err(wrong)?;
        }
        let name = PathBuf::from(path.file_stem().unwrap_or_default());
        Ok(Self { name: name.to_string_lossy().into_owned(), file, groups })
    }

    /// Number of cells: datasets times features times estimators.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.groups.iter().map(|g| g.replicates * g.features.len() * g.variants.len()).sum()
    }
}

fn expand(block: &Block) -> Result<Vec<Group>, String> {
    if block.replicates == 0 {
        return Err("`replicates` = 0: must be at least 1".to_owned());
    }
    if block.grid == 0 {
        return Err("`grid` = 0: must be at least 1".to_owned());
    }
    let metrics = block.metrics.iter().map(|m| m.parse()).collect::<Result<Vec<Metric>, _>>()?;
    let variants = variants(block)?;
    let sizes = sizes(&block.n)?;
    let mut groups = Vec::new();
    for name in sweep::values("scenario", &block.scenario)? {
        for set in sweep::combinations(&block.set, &[])? {
            let set: Vec<(String, String)> =
                set.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
            let scenario =
                Arc::new(fe_truth::scenario(&plain(&name), &set).map_err(|e| e.to_string())?);
            let features = features(&scenario, &block.features)?;
            groups.extend(sizes.iter().map(|&rows| Group {
                scenario: Arc::clone(&scenario),
                rows,
                replicates: block.replicates,
                features: features.clone(),
                grid: block.grid,
                metrics: metrics.clone(),
                comparison: block.compare,
                variants: variants.clone(),
            }));
        }
    }
    Ok(groups)
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
    names.iter().map(|name| feature(name, scenario.dimension())).collect()
}

/// The feature of a name such as `x3` or `3`, counted from 0.
pub(crate) fn feature(name: &str, dimension: usize) -> Result<usize, String> {
    match name.strip_prefix('x').unwrap_or(name).parse::<usize>() {
        Ok(number) if (1..=dimension).contains(&number) => Ok(number - 1),
        _ => Err(format!("feature `{name}` does not exist: there are x1 … x{dimension}")),
    }
}

fn variants(block: &Block) -> Result<Vec<Variant>, String> {
    if block.estimator.is_empty() {
        return Err("there is no [[block.estimator]]".to_owned());
    }
    let mut variants = Vec::new();
    for table in &block.estimator {
        for options in sweep::combinations(table, &["limits", "axis"])? {
            variants.push(variant(options, block.compare)?);
        }
    }
    Ok(variants)
}

fn variant(mut options: Table, comparison: Comparison) -> Result<Variant, String> {
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
    check_option_names(&options, &estimator)?;
    let settings = Settings::deserialize(Value::Table(options))
        .map_err(|e| format!("options of {estimator}: {}", e.to_string().trim()))?;
    let settings = match &preset {
        None => settings,
        Some(name) => preset::complete(name, &estimator, settings).map_err(|e| e.to_string())?,
    };
    let axis = axis.or(settings.axis.map(AxisSource::from)).unwrap_or_default();
    let built = estimator::from_settings(&estimator, &settings).map_err(|e| e.to_string())?;
    if comparison == Comparison::AsTheyAre && settings.center.is_none() {
        return Err(format!(
            "`compare` = \"Err\" compares curves as they are, so {} needs `center`: say how both curves are centred",
            built.name()
        ));
    }
    Ok(Variant { estimator, preset, settings, axis })
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
    keys.extend(["name", "preset"].map(str::to_owned));
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
