//! Studies: files that say what is swept over, checked and expanded into cells.
//!
//! It imports `engines`, `score`, `data` and what these import. Begin with [`mod@file`], what a study says; [`Study::new`]
//! checks it and expands it into [`Group`]s, [`tasks`] numbers their datasets, and [`key`] says what identifies a value.

mod axis;
mod engines;
pub mod field;
pub mod file;
pub mod grid;
pub mod key;
pub mod labels;
pub mod models;
pub mod population;
mod regions;
pub mod replicates;
mod size;
pub mod subjects;
mod sweep;
pub mod tasks;
mod values;
pub mod variants;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fe_core::refits::RefitOptions;
use fe_core::settings::BandKind;
use fe_core::{Settings, estimator};
use fe_truth::Scenario;
use toml::Value;

use crate::data::scenarios::{self, Problems};
use crate::engines::External;
use crate::error::{Error, Result};
use crate::score::Metric;
use crate::score::comparison::Comparison;
use crate::score::pairs::PairTruths;
use crate::score::regions::RegionTruths;
pub use axis::AxisSource;
use file::{Block, Keep, StudyFile};
use grid::Grid;
use key::Key;
use models::Fitting;
use replicates::Replicates;
use subjects::{IndexVariant, Subjects};
pub(crate) use sweep::plain;
pub(crate) use variants::band;
use variants::{Variant, bare_key, variants};

/// The most grid points, bins and the like that a study may ask for.
const MOST_PLACES: usize = 1_000_000;

/// The pair that is compared where a study names none and fits no models.
pub(crate) const OF_F: &str = "empirical:theoretical";

/// The most means that results have; as many as a study may ask for.
pub const MOST_MEANS: usize = 250_000;

/// The most datasets of a study.
const MOST_DATASETS: usize = 10_000_000;

/// A study that was checked: everything in it exists and fits together.
#[derive(Debug, Clone)]
pub struct Study {
    /// Its name: that of the file.
    pub name: String,
    /// The contents of the file.
    pub file: StudyFile,
    /// Groups, one per combination of scenario, parameters and N.
    pub groups: Vec<Group>,
}

/// Everything that is estimated from the same datasets.
#[derive(Debug, Clone)]
pub struct Group {
    /// Number of its block in the study, counted from 1.
    pub block: usize,
    /// The scenario with its parameters.
    pub scenario: Arc<Scenario>,
    /// The truths of its regions, remembered for all numbers of rows.
    pub regions: Arc<RegionTruths>,
    /// The truths of its pairs of features and of its indices, likewise.
    pub of_pairs: Arc<PairTruths>,
    /// Number of rows.
    pub rows: usize,
    /// Number of datasets.
    pub replicates: Replicates,
    /// Features, or pairs of features, whose effects or indices are estimated.
    pub subjects: Subjects,
    /// Points at which curves are compared.
    pub grid: Grid,
    /// Metrics.
    pub metrics: Vec<Metric>,
    /// True if curves are centred on the grid before.
    pub comparison: Comparison,
    /// Files that are written beside the values.
    pub keep: Vec<Keep>,
    /// Estimators of effects with their options.
    pub variants: Arc<[Variant]>,
    /// Indices with their options; in a group that has some there are no effects.
    pub indices: Arc<[IndexVariant]>,
    /// Models that are fitted to the datasets, and pairs of effects that are compared; none where it is
    /// the effects of f itself that are compared with their truths.
    pub fitting: Option<Fitting>,
}

impl Group {
    /// Estimates from a dataset: of each feature, or pair, by each estimator and, where models are fitted, of each
    /// of them in each split; or of each index.
    #[must_use]
    pub fn estimates(&self) -> usize {
        let subjects = |fitting: &Fitting| fitting.splits.len() * fitting.subjects();
        let subjects = self.fitting.as_ref().map_or(1, subjects);
        let Subjects { features, pairs } = &self.subjects;
        let effects = (features.len() + pairs.len()) * self.variants.len() * subjects;
        let indices = self.indices.iter().map(|of| of.of(&self.subjects).len());
        effects + indices.sum::<usize>()
    }
}

impl Study {
    /// Reads a file and checks all that can be checked before anything is run.
    ///
    /// # Errors
    /// One message that names the file, the key, what was given and what is allowed.
    pub fn read(path: &Path) -> Result<Self> {
        let name = PathBuf::from(path.file_stem().unwrap_or_default());
        let wrong = |message: String| Error::content(path, message);
        let mut file = file::read(path)?;
        for problem in problem_paths(&file).map_err(wrong)? {
            let text = scenarios::read(&path.with_file_name("").join(&problem))?;
            file.problems.insert(problem, text);
        }
        population::draw(&mut file).map_err(wrong)?;
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
                expand((i + 1, block), &file.problems)
                    .map_err(|e| format!("block {}: {e}", i + 1))?,
            );
        }
        if groups.is_empty() {
            return Err("there is no [[block]]".to_owned());
        }
        size::check_groups(&groups)?;
        let study = Self { name, file, groups };
        check_distinct(&study)?;
        Ok(study)
    }

    /// The external estimators that it asks for.
    pub fn externals(&self) -> impl Iterator<Item = &External> {
        self.groups.iter().flat_map(|group| {
            let of_effects = group.variants.iter().filter_map(|of| of.external.as_ref());
            let of_indices = group.indices.iter().filter_map(|of| of.external.as_ref());
            of_effects.chain(of_indices.map(|(external, _)| external))
        })
    }

    /// Number of cells: datasets, as many as there are at most, times [estimates](Group::estimates).
    #[must_use]
    pub fn cells(&self) -> usize {
        self.groups.iter().map(|group| group.replicates.most * group.estimates()).sum()
    }
}

/// The problem files that a study names, as it names them.
fn problem_paths(file: &StudyFile) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    for block in file.block.iter().filter(|block| !block.names_no_scenario()) {
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

/// The metrics of a block; those of heterogeneity values of all that `of` names.
fn metrics(block: &Block) -> Result<Vec<Metric>, String> {
    let values = block.of.as_ref().map_or(Ok(Vec::new()), |of| sweep::values("of", of))?;
    let values: Vec<String> = values.iter().map(plain).collect();
    let named = block.metrics.iter().map(|name| Metric::asked(name, &values));
    let metrics = named.collect::<Result<Vec<_>, String>>()?.concat();
    if metrics.is_empty() {
        return Err("`metrics` is an empty list: name what is to be computed".to_owned());
    }
    if !values.is_empty() && !metrics.iter().any(|metric| metric.is_of_values()) {
        let message = "`of` names heterogeneity values, and `metrics` has no `heterogeneity_value`";
        return Err(message.to_owned());
    }
    Ok(metrics)
}

fn expand((number, block): (usize, &Block), problems: &Problems) -> Result<Vec<Group>, String> {
    let replicates = Replicates::read(block)?;
    let grids = grids(&block.grid)?;
    let metrics = metrics(block)?;
    replicates.check(&metrics)?;
    let of_indices = subjects::is_of_indices(block)?;
    let of_pairs = !of_indices && subjects::is_of_pairs(block)?;
    let indices: Arc<[IndexVariant]> = match of_indices {
        true => subjects::indices(block, &metrics)?,
        false => Arc::new([]),
    };
    let variants = grids.iter().map(|grid| match of_indices {
        true => Ok(Arc::new([]) as Arc<[Variant]>),
        false => Ok(variants(block, grid, of_pairs)?.into()),
    });
    let variants = variants.collect::<Result<Vec<Arc<[Variant]>>, String>>()?;
    let sizes = sizes(&block.n)?;
    let fitting = Fitting::read(block, &metrics)?;
    if fitting.is_some() && of_indices {
        return Err("models and `pairs` are compared by effects, not by indices".to_owned());
    }
    for variants in &variants {
        if of_pairs {
            subjects::check_pairs(block, &metrics)?;
            check_bands(variants, &metrics, fitting.is_some())?;
        } else if !of_indices {
            regions::check(variants, &metrics, &block.keep, fitting.is_some())?;
            check_bands(variants, &metrics, fitting.is_some())?;
        }
    }
    let ratios = ratios(block)?;
    let mut groups = Vec::new();
    for name in sweep::values("scenario", &block.scenario)? {
        for set in sweep::combinations(&block.set, &[])? {
            let set: Vec<(String, String)> =
                set.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
            let scenario = Arc::new(named_scenario(&plain(&name), &set, problems)?);
            let (regions, pairs) = (Arc::default(), Arc::default());
            let subjects = Subjects::of(block, &scenario, &indices)?;
            for &rows in &sizes {
                for &snr in &ratios {
                    for (&grid, variants) in grids.iter().zip(&variants) {
                        check_bands_of(&scenario, &subjects.features, variants)?;
                        let fitting = fitting.clone().map(|fitting| {
                            let models = Fitting::models(block, rows)?;
                            let key = bare_key(&grid);
                            let fitting = Fitting { snr, models, key, ..fitting };
                            if of_pairs {
                                let of = (&*scenario, &subjects.pairs[..]);
                                fitting.check_of_pairs(block, of, variants)?;
                            }
                            fitting.check(
                                block,
                                &scenario,
                                &subjects.features,
                                variants,
                                &metrics,
                            )?;
                            check_refits(&fitting, rows, variants)?;
                            Ok::<_, String>(fitting)
                        });
                        let group = Group {
                            block: number,
                            scenario: Arc::clone(&scenario),
                            regions: Arc::clone(&regions),
                            of_pairs: Arc::clone(&pairs),
                            rows,
                            replicates,
                            subjects: subjects.clone(),
                            grid,
                            metrics: metrics.clone(),
                            comparison: block.compare,
                            keep: block.keep.clone(),
                            variants: Arc::clone(variants),
                            indices: Arc::clone(&indices),
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
    let mut is_known = |key: &Key| !seen.insert(key.fingerprint());
    match study.values().map(|(key, _)| key).find(|key| is_known(key)) {
        None => Ok(()),
        Some(twice) => {
            let Key { metric, estimator, pair, scenario, rows, .. } = twice.borrowed();
            // A pair without an estimate has no estimator.
            let what = [estimator, pair].into_iter().find(|name| !name.is_empty());
            Err(format!(
                "{metric} of {} for {} of {scenario} with N = {rows} is asked for twice, with \
                 the same options",
                what.unwrap_or_default(),
                twice.subject(),
            ))
        }
    }
}

fn sizes(value: &Value) -> Result<Vec<usize>, String> {
    let values = sweep::values("N", value)?;
    let size = |value: &Value| match file::whole(value) {
        Some(n) if n > 0 => Ok(n),
        _ => Err(format!("`N` = {value}: must be a whole number above 0")),
    };
    values.iter().map(size).collect()
}

/// Refuses metrics of bands of estimates none of which has a band. Engines may have bands of their own.
fn check_bands(variants: &[Variant], metrics: &[Metric], has_models: bool) -> Result<(), String> {
    let of_refits = |variant: &&Variant| variant.settings.band == Some(BandKind::Refit);
    if let Some(variant) = variants.iter().find(of_refits).filter(|_| !has_models) {
        return Err(format!(
            "`band` = \"refit\" of {}: the scenario's own function cannot be fitted again; give a [[block.model]]",
            variant.estimator
        ));
    }
    let needs_refits =
        |metric: &&Metric| metric.is_of_bands() && has_models || metric.is_of_refits();
    if let Some(metric) = metrics.iter().find(needs_refits)
        && !variants.iter().any(|variant| of_refits(&variant))
    {
        return Err(format!(
            "`metrics`: `{}` of a fitted model is of a band from refits: give an estimator `band` = \"refit\"",
            metric.name()
        ));
    }
    let is_permuted = |variant: &Variant| {
        let Settings { flat_permutations, residual_permutations, .. } = &variant.settings;
        flat_permutations.is_some() || residual_permutations.is_some()
    };
    if let Some(metric) = metrics.iter().find(|metric| metric.is_of_permutations())
        && !variants.iter().any(is_permuted)
    {
        return Err(format!(
            "`metrics`: there is no `{}` without permutations: give an estimator `flat_permutations` = 99, \
             or of pairs `residual_permutations` = 99",
            metric.name()
        ));
    }
    let may_have_band =
        |variant: &Variant| variant.external.is_some() || variant.settings.band.is_some();
    match metrics.iter().find(|metric| metric.is_of_bands()) {
        Some(metric) if !variants.iter().any(may_have_band) => Err(format!(
            "`metrics`: there is no `{}` without a confidence band: give an estimator `band` = \"analytic\" or \
             \"bootstrap\"",
            metric.name()
        )),
        _ => Ok(()),
    }
}

/// Refuses refits to fewer rows than can be divided.
fn check_refits(fitting: &Fitting, rows: usize, variants: &[Variant]) -> Result<(), String> {
    if fitting.models.is_empty() {
        return Ok(());
    }
    for variant in variants {
        let options = RefitOptions::from_settings(&variant.settings);
        let checked = options.and_then(|of| of.map_or(Ok(()), |of| of.check(rows)));
        checked.map_err(|e| format!("{} at N = {rows}: {e}", variant.estimator))?;
    }
    Ok(())
}

/// Refuses bands of features that the estimator has none of.
fn check_bands_of(
    scenario: &Scenario,
    features: &[usize],
    variants: &[Variant],
) -> Result<(), String> {
    let banded = variants.iter().filter(|of| of.settings.band.is_some() && of.external.is_none());
    for variant in banded {
        // A rule that names limits is resolved later, and says nothing about bands.
        let mut settings = variant.settings.clone();
        if variant.limits.is_some() {
            (settings.binning, settings.limits) = (None, None);
        }
        let Ok(estimator) = estimator::from_settings(&variant.estimator, &settings) else {
            continue;
        };
        for &feature in features {
            let has_levels = scenario.levels(feature).is_some();
            let name = scenario.feature_name(feature);
            estimator.check_band(&name, has_levels).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// Refuses scenarios of one name that say different things: their results could not be told apart.
///
/// # Errors
/// The two.
pub fn check_names(studies: &[Study]) -> Result<()> {
    let mut known: BTreeMap<String, (&str, Option<&str>)> = BTreeMap::new();
    for study in studies {
        for group in &study.groups {
            let (id, text) = (group.scenario.id(), group.scenario.text());
            let here = (study.name.as_str(), text);
            match known.insert(id.clone(), here) {
                Some((other, before)) if before != text => {
                    let message = format!(
                        "two scenarios are called `{id}`, in the studies `{other}` and `{}`, and say \
                         different things; rename one of the files or give it another `version`",
                        study.name
                    );
                    return Err(Error::Argument(message));
                }
                _ => (),
            }
        }
    }
    Ok(())
}
