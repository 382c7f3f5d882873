//! Estimators with their options, as a block of a study sweeps over them.

use fe_core::binning::Binning;
use fe_core::estimator::pair::{self, PairEstimator};
use fe_core::refits::PairRefitting;
use fe_core::regional::{self, AnyEstimator, RegionalInfo};
use fe_core::settings::{BandKind, EmptyBins, SettingType};
use fe_core::{Centring, Settings, preset};
use fe_truth::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

use super::axis::{AxisSource, LAW};
use super::file::Block;
use super::grid::{Grid, Limits};
use super::key::Key;
use super::sweep::plain;
use super::{MOST_PLACES, engines, size, sweep};
use crate::engines::{Asks, External};
use crate::error::{listed, plain_types, suggestion};
use crate::output::exact;
use crate::score::comparison::Comparison;
use crate::system::spelling::otherwise;

/// An estimator with its options.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Name of the estimator.
    pub estimator: String,
    /// The preset that options come from where the study does not give them.
    pub preset: Option<String>,
    /// The request to an engine, for an external estimator.
    pub external: Option<External>,
    /// Its options, for an estimator of this program.
    pub settings: Settings,
    /// Source of its axis.
    pub axis: AxisSource,
    /// The rule that names the limits of its bins, where they are not among its options.
    pub limits: Option<Limits>,
    /// The part of its records' keys that says how an effect is estimated; the other fields are empty.
    pub key: Key,
}

impl Variant {
    /// The regional estimator that it is an instance of, if it is one.
    #[must_use]
    pub fn regional(&self) -> Option<&'static RegionalInfo> {
        regional::info(&self.estimator).ok().filter(|_| self.external.is_none())
    }

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

pub(super) fn variants(block: &Block, grid: &Grid, of_pairs: bool) -> Result<Vec<Variant>, String> {
    if block.estimator.is_empty() {
        return Err("there is no [[block.estimator]]".to_owned());
    }
    let mut variants = Vec::new();
    for table in &block.estimator {
        for options in sweep::combinations(table, &size::OF_ESTIMATORS)? {
            variants.push(variant(options, block.compare, grid, of_pairs)?);
        }
    }
    Ok(variants)
}

fn variant(
    options: Table,
    comparison: Comparison,
    grid: &Grid,
    of_pairs: bool,
) -> Result<Variant, String> {
    let mut options = in_our_spelling(options)?;
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
    if let Some((engine, effect)) = engines::engine_of(&estimator, &mut options)? {
        let of = if of_pairs { Asks::Pair } else { Asks::Feature };
        let engine = (engine, effect, of);
        let axis = axis.unwrap_or_default();
        let (external, key) =
            engines::external(engine, preset.as_deref(), axis, options, comparison)?;
        return Ok(Variant {
            estimator: key.estimator.clone(),
            preset,
            external: Some(external),
            settings: Settings::default(),
            axis,
            limits: None,
            key,
        });
    }
    let limits = limits(&mut options)?;
    check_option_names(&options, &estimator)?;
    check_sizes(&options, &estimator)?;
    if let Some(Value::String(name)) = options.get("band") {
        band(name).map_err(|e| format!("`band` = \"{name}\" of {estimator}: {e}"))?;
    }
    let settings = Settings::deserialize(Value::Table(options))
        .map_err(|e| format!("options of {estimator}: {}", plain_types(e.to_string().trim())))?;
    let settings = match &preset {
        None => settings,
        Some(name) => {
            let complete = if of_pairs { preset::complete_pair } else { preset::complete };
            complete(name, &estimator, settings).map_err(|e| e.to_string())?
        }
    };
    let axis = axis.or(settings.axis.map(AxisSource::from)).unwrap_or_default();
    // Any limits will do to see whether the rest can be built.
    let stand_in = limits.map(|_| vec![0.0, 1.0]);
    let settings = Settings { limits: stand_in.or(settings.limits.clone()), ..settings };
    let built = Built::new(&estimator, &settings, of_pairs)?;
    if comparison == Comparison::AsTheyAre && settings.center.is_none() {
        return Err(format!(
            "`compare` = \"Err\" compares curves as they are, so {estimator} needs `center`: say how both curves are centred"
        ));
    }
    let mut variant =
        Variant { estimator, preset, external: None, settings, axis, limits, key: Key::default() };
    variant.key = key(&variant, &built, comparison, grid);
    Ok(variant)
}

/// The kind of confidence band of a name.
///
/// # Errors
/// A message with the kinds that there are, the nearest one named.
pub(crate) fn band(name: &str) -> Result<BandKind, String> {
    let names = || BandKind::WORDS.iter().copied();
    BandKind::read(name)
        .map_err(|_| format!("must be one of {}{}", listed(names()), suggestion(name, names())))
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

/// An estimator of effects of features or of pairs, as far as keys tell of it.
enum Built {
    OfOne(AnyEstimator),
    OfPairs(Box<dyn PairEstimator>),
}

impl Built {
    fn new(estimator: &str, settings: &Settings, of_pairs: bool) -> Result<Self, String> {
        let built = match of_pairs {
            true => PairRefitting::from_settings(estimator, [settings; 2])
                .and_then(|_| pair::from_settings(estimator, [settings; 2]))
                .map(Self::OfPairs),
            false => AnyEstimator::from_settings(estimator, settings).map(Self::OfOne),
        };
        built.map_err(|e| e.to_string())
    }

    fn binning(&self) -> Option<&dyn Binning> {
        match self {
            Self::OfOne(built) => built.of_curves().binning(),
            Self::OfPairs(built) => built.binnings().map(|[first, _]| first),
        }
    }

    /// The policy for bins, or cells, without instances where none is asked for.
    fn empty_bins(&self) -> EmptyBins {
        match self {
            Self::OfOne(_) => EmptyBins::default(),
            Self::OfPairs(_) => EmptyBins::Nearest,
        }
    }

    /// The centring of curves; of pairs the one that is asked for, as else features decide.
    fn centring(&self, settings: &Settings) -> Centring {
        match self {
            Self::OfOne(built) => built.of_curves().centring(),
            Self::OfPairs(_) => settings.center.unwrap_or_default(),
        }
    }
}

/// The part of the records' keys that says how an effect is estimated.
fn key(variant: &Variant, built: &Built, comparison: Comparison, grid: &Grid) -> Key {
    let binning = built.binning();
    let (describe, bins) = match (binning, variant.limits) {
        (Some(_), Some(limits)) => (format!("grid(limits={limits})"), Some(limits.bins(grid))),
        (Some(binning), None) => (binning.describe(), binning.bins()),
        (None, _) => (String::new(), None),
    };
    let empty_bins =
        binning.map(|_| word(&variant.settings.empty.unwrap_or_else(|| built.empty_bins())));
    let centring = match comparison {
        Comparison::Centred => "grid".to_owned(),
        Comparison::AsTheyAre => word(&built.centring(&variant.settings)),
    };
    Key {
        estimator: variant.estimator.clone(),
        preset: variant.preset.clone().unwrap_or_default(),
        binning: describe,
        bins: bins.map(|bins| bins.to_string()).unwrap_or_default(),
        centring,
        empty_bins: empty_bins.unwrap_or_default(),
        options: other_options(variant, grid),
        ..Key::default()
    }
}

/// The part of keys that says how an effect is estimated, where there is no estimator.
pub(super) fn bare_key(grid: &Grid) -> Key {
    let is_default = *grid == Grid::default();
    let options = if is_default { String::new() } else { format!("compared_on={grid}") };
    Key { centring: "grid".to_owned(), options, ..Key::default() }
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

/// The options under the names that they have here.
fn in_our_spelling(options: Table) -> Result<Table, String> {
    let known = known_options();
    let mut named = Table::new();
    for (key, value) in options {
        let is_known = |name: &String| known.contains(name);
        let name = if is_known(&key) { None } else { otherwise(&key).filter(is_known) };
        let name = name.unwrap_or(key);
        if named.contains_key(&name) {
            return Err(format!("`{name}` is given twice, in two spellings"));
        }
        named.insert(name, value);
    }
    Ok(named)
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
    let all = fe_core::settings::ALL.iter().map(|setting| setting.option.name);
    let keys = all.filter(|key| *key != "points").chain(["name", "preset", "engine"]);
    keys.map(str::to_owned).collect()
}
