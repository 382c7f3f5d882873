//! Regional effects: a tree over the other features whose leaves have effects that agree better
//! (Gkolemis et al. 2024, "Effector", Algorithm 1; Herbinger et al. 2023).
//!
//! May import `estimator` and what lies below. Begin with [`Regional`], then `tree.rs` and `criterion.rs`.

mod ale;
mod any;
mod candidates;
mod criterion;
mod levels;
mod pdp;
mod rule;
mod shap;
mod split;
mod text;
mod tree;

pub use any::AnyEstimator;
pub use rule::{Rule, RuleKind};
pub use text::ROUNDING;
pub use tree::{Level, Node, Tree};

use serde::{Deserialize, Serialize};

use crate::data::subsample::Subsample;
use crate::data::{Dataset, FeatureKind, SubsampleRecord};
use crate::error::{Error, Result};
use crate::estimator::ale::levels::LevelChanges;
use crate::estimator::predictions;
use crate::estimator::{self, Accumulated, Estimand, Estimator, PartialDependence, ShapDependence};
use crate::model::magnitude::MagnitudeProbe;
use crate::model::structure::watched;
use crate::model::{Model, Observed};
use crate::settings::{Settings, Splitting};
use crate::stored::Name;

/// The effect of one feature on one output, region by region.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegionalEffect {
    /// The feature, counted from 0.
    pub feature: usize,
    /// The feature's name.
    pub name: String,
    /// The output, counted from 0.
    pub output: usize,
    /// Name of the regional estimator.
    #[serde(deserialize_with = "crate::stored::name")]
    pub estimator: Name,
    /// Name of the heterogeneity value that was lowered.
    #[serde(deserialize_with = "crate::stored::name")]
    pub heterogeneity: Name,
    /// The regions, with an effect for each leaf.
    pub tree: Tree,
    /// Record of the computation.
    pub record: Record,
}

/// Record of the computation of a regional effect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Rows of the data, or of the subsample of them.
    pub rows: usize,
    /// The subsample of the data that was drawn before anything else; none if all rows were taken
    /// unasked.
    pub subsample: Option<SubsampleRecord>,
    /// Rows whose value the model was asked for, for all outputs together.
    pub model_rows: u64,
    /// Rows whose derivative the model was asked for, for all outputs together.
    pub jacobian_rows: u64,
    /// True if the structure of the model told values that it was not asked for one by one; none if it has no
    /// such structure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_structure: Option<bool>,
    /// Options of the tree: how regions are split, and when no more.
    pub options: Options,
    /// Heterogeneity up to which differences may be rounding, and nothing is split.
    pub floor: f64,
}

/// Options of the tree: how regions are split, and when no more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Most levels, L.
    pub depth: usize,
    /// Positions at which a numeric feature may be split, P.
    pub candidates: usize,
    /// Least relative drop of heterogeneity, ε.
    pub drop: f64,
    /// Least weight of the instances in a region.
    pub leaf: f64,
    /// Way of splitting regions.
    pub partition: Splitting,
    /// True if levels are split into sets as well, not only each from the rest.
    #[serde(default)]
    pub subsets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            depth: 2,
            candidates: 19,
            drop: 0.05,
            leaf: 10.0,
            partition: Splitting::default(),
            subsets: false,
        }
    }
}

/// Deepest tree: its last level may have 2²⁰ nodes.
const DEEPEST: usize = 20;

/// Most ICE values that regions are made of: 160 MB.
const MOST_HELD: usize = 20_000_000;

/// Most positions per feature.
const MOST_CANDIDATES: usize = 100_000;

impl Options {
    const NAMES: &'static [&'static str] =
        &["depth", "candidates", "drop", "leaf", "partition", "subsets", "heterogeneity"];

    fn from_settings(settings: &Settings) -> Result<Self> {
        let default = Self::default();
        let new = Self {
            depth: settings.depth.unwrap_or(default.depth),
            candidates: settings.candidates.unwrap_or(default.candidates),
            drop: settings.drop.unwrap_or(default.drop),
            leaf: settings.leaf.unwrap_or(default.leaf),
            partition: settings.partition.unwrap_or_default(),
            subsets: settings.subsets.unwrap_or_default(),
        };
        let bad = |option, given: String, allowed| Err(Error::BadOption { option, given, allowed });
        if new.depth > DEEPEST {
            return bad("depth", new.depth.to_string(), format!("must be from 0 to {DEEPEST}"));
        }
        if !(1..=MOST_CANDIDATES).contains(&new.candidates) {
            let allowed = format!("must be from 1 to {MOST_CANDIDATES}");
            return bad("candidates", new.candidates.to_string(), allowed);
        }
        if !(0.0..=1.0).contains(&new.drop) {
            return bad("drop", new.drop.to_string(), "must be from 0 to 1".to_owned());
        }
        if !(new.leaf >= 1.0 && new.leaf.is_finite()) {
            return bad("leaf", new.leaf.to_string(), "must be finite and at least 1".to_owned());
        }
        Ok(new)
    }
}

/// The estimator whose effects are made regional.
#[derive(Debug)]
enum Within {
    Accumulated(Accumulated),
    Grid(PartialDependence),
    Shapley(ShapDependence),
}

/// Regional effects: the estimator within the regions, and how regions are found.
///
/// Every candidate split is scored by Σ_t w_t H_t / Σ_t w_t over the regions that it leaves, with H
/// one of the named heterogeneity values of the estimator within a region and w the weight of the
/// instances there (EFFECTOR eq. 15). Numeric features are split at P positions with equal spacing
/// inside their range (`x ≤ p`, `x > p`), nominal ones at each level (`x = v`, `x ≠ v`); with
/// [`Options::subsets`] also into what comes first and what comes last along each of the orders that `ale` has for levels
/// (`x ∈ V`, `x ∉ V`), one of which takes the predictions at all rows. The feature of interest is never split. Axis, candidates and, for bins that do not look at local effects, the
/// bins are those of the whole data, and so are the order and the shares of levels and the background of Shapley values. A level (or, with [`Splitting::Cart`], a split) is kept if it
/// lowers the heterogeneity by at least ε of what it was.
///
/// The local effects of all instances are evaluated once; regions ask the model for nothing more.
///
/// A function that is additive in the feature is not split: for `ale`, `pdp` and `dpdp` its
/// heterogeneity is of rounding size, and so it is for `rhale` and `shapdp` where the feature's
/// component is linear. `mean_grid_sd`, and `pdp` with centring `none`, are about curves as they are and see
/// differences of level too.
///
/// ```
/// use fe_core::{Dataset, Settings, model::FunctionModel, regional};
/// let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| {
///     if j == 0 { i as f64 / 99.0 } else { (i * 37 % 100) as f64 / 50.0 - 1.0 }
/// });
/// let data = Dataset::from_rows(&rows.view())?;
/// let model = FunctionModel::new(2, |x| if x[1] > 0.0 { 3.0 * x[0] } else { -3.0 * x[0] });
/// let settings = Settings { bins: Some(5), ..Settings::default() };
/// let regional = regional::from_settings("regional-ale", &settings)?;
/// let effect = &regional.fit(&data, &model, 0)?[0];
/// let rule = effect.tree.nodes()[1].rule.as_ref().unwrap();
/// assert!(rule.to_string().starts_with("x2 <= -0.01"), "{rule}");
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Regional {
    name: &'static str,
    method: Within,
    options: Options,
    heterogeneity: &'static str,
    /// True if that value was asked for, and is no default.
    is_chosen: bool,
    subsample: Option<Subsample>,
    /// True if the model is asked value by value, whatever its structure tells.
    brute: bool,
    /// True if inner nodes have effects too.
    inner_effects: bool,
}

/// A regional estimator as it is found by name.
pub struct RegionalInfo {
    /// Its name.
    pub name: &'static str,
    /// A description in a line.
    pub about: &'static str,
    /// The estimator within a region.
    pub within: &'static estimator::EstimatorInfo,
    /// Names of the heterogeneity values that regions can lower, the default first.
    pub heterogeneity: &'static [&'static str],
    method: fn(&Settings) -> Result<Within>,
}

impl RegionalInfo {
    /// Names of the settings it takes: of those of the estimator the ones that make sense in regions,
    /// and how regions are found.
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        let within = self.within.options().filter(|option| !NOT_IN_REGIONS.contains(option));
        within.chain(Options::NAMES.iter().copied())
    }

    /// True if it takes a setting.
    #[must_use]
    pub fn takes(&self, option: &str) -> bool {
        self.options().any(|taken| taken == option)
    }
}

const OF_BINS: &[&str] =
    &["integral", "integral_sd", "mean_range", "mean_sd", "mean_bins", "sum_bins"];
const OF_GRID: &[&str] = &["mean_grid", "mean_grid_sd"];
const OF_RESIDUALS: &[&str] = &["mean_residual"];

/// Options that estimators take alone and not in regions. Empty bins are always interpolated: bins joined, or
/// refused, by the instances of one region would make regions incomparable.
const NOT_IN_REGIONS: &[&str] = &[
    "quantiles",
    "empty",
    "fill_variances",
    "undivided",
    "curve_only",
    "center_rule",
    "center_points",
    "grid_heterogeneity",
    "shapley_values",
    "importance",
    "mean_prediction",
    "band",
    "level",
    "resamples",
    "band_seed",
    "rebin",
    "refits",
    "resampling",
    "correction",
    "flat_permutations",
    "interval",
];

/// All regional estimators.
pub const ALL: &[RegionalInfo] = &[
    RegionalInfo {
        name: "regional-pdp",
        about: "partial dependence in regions of the other features (EFFECTOR Algorithm 1)",
        within: &estimator::pdp::PDP,
        heterogeneity: OF_GRID,
        method: |settings| Ok(Within::Grid(PartialDependence::pdp(settings)?)),
    },
    RegionalInfo {
        name: "regional-dpdp",
        about: "mean derivative on a grid in regions of the other features",
        within: &estimator::pdp::DPDP,
        heterogeneity: OF_GRID,
        method: |settings| Ok(Within::Grid(PartialDependence::dpdp(settings)?)),
    },
    RegionalInfo {
        name: "regional-ale",
        about: "accumulated local effects by finite differences in regions of the other features",
        within: &estimator::ale::ALE,
        heterogeneity: OF_BINS,
        method: |settings| Ok(Within::Accumulated(Accumulated::ale(settings)?)),
    },
    RegionalInfo {
        name: "regional-rhale",
        about: "accumulated local effects by derivatives in regions of the other features",
        within: &estimator::ale::RHALE,
        heterogeneity: OF_BINS,
        method: |settings| Ok(Within::Accumulated(Accumulated::rhale(settings)?)),
    },
    RegionalInfo {
        name: "regional-shapdp",
        about: "spline through Shapley values in regions of the other features",
        within: &estimator::shap::SHAPDP,
        heterogeneity: OF_RESIDUALS,
        method: |settings| Ok(Within::Shapley(ShapDependence::from_settings(settings)?)),
    },
];

/// The entry of the regional estimator of a name.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name.
pub fn info(name: &str) -> Result<&'static RegionalInfo> {
    estimator::named("estimator", name, ALL, |info| info.name)
}

/// The regional estimator of a name with some settings.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name, and whatever its options have wrong.
pub fn from_settings(name: &str, settings: &Settings) -> Result<Regional> {
    let info = info(name)?;
    settings.check_taken(&format!("`{name}`"), |option| info.takes(option))?;
    let asked = settings.heterogeneity.as_deref().unwrap_or(info.heterogeneity[0]);
    let heterogeneity = info.heterogeneity.iter().copied().find(|known| *known == asked);
    Ok(Regional {
        name: info.name,
        options: Options::from_settings(settings)?,
        heterogeneity: heterogeneity.ok_or_else(|| Error::BadOption {
            option: "heterogeneity",
            given: asked.to_owned(),
            allowed: format!("must be one of {}", info.heterogeneity.join(", ")),
        })?,
        is_chosen: settings.heterogeneity.is_some(),
        method: (info.method)(settings)?,
        subsample: Subsample::new(settings.subsample, settings.subsample_seed)?,
        brute: settings.brute.unwrap_or_default(),
        inner_effects: false,
    })
}

impl Regional {
    /// The same with the effects of inner nodes, those of all rows among them, which takes as much longer as these
    /// take.
    ///
    /// ```
    /// use fe_core::{Dataset, Settings, model::FunctionModel, regional};
    /// let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| ((i * (7 + 30 * j)) % 100) as f64);
    /// let data = Dataset::from_rows(&rows.view())?;
    /// let model = FunctionModel::new(2, |x| if x[1] > 50.0 { x[0] } else { -x[0] });
    /// let regional = regional::from_settings("regional-pdp", &Settings::default())?;
    /// let nodes = |regional: regional::Regional| Ok::<_, fe_core::Error>(regional.fit(&data, &model, 0)?.remove(0).tree);
    /// assert!(nodes(regional)?.nodes()[0].effect.is_none());
    /// let regional = regional::from_settings("regional-pdp", &Settings::default())?;
    /// assert!(nodes(regional.with_inner_effects())?.nodes()[0].effect.is_some());
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_inner_effects(self) -> Self {
        Self { inner_effects: true, ..self }
    }

    /// Its name in files and flags.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Options of the tree: how regions are split, and when no more.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options
    }

    /// Name of the heterogeneity value that its regions lower.
    #[must_use]
    pub fn heterogeneity(&self) -> &'static str {
        self.heterogeneity
    }

    /// The estimator whose effects are made regional: its estimand, bins, centring and cost are those of
    /// the leaves.
    ///
    /// ```
    /// use fe_core::{Settings, regional};
    /// let regional = regional::from_settings("regional-rhale", &Settings::default())?;
    /// assert_eq!(regional.within().name(), "rhale");
    /// # Ok::<(), fe_core::Error>(())
    /// ```
    #[must_use]
    pub fn within(&self) -> &dyn Estimator {
        match &self.method {
            Within::Accumulated(estimator) => estimator,
            Within::Grid(estimator) => estimator,
            Within::Shapley(estimator) => estimator,
        }
    }

    /// The regions and their effects for a feature (counted from 0), one tree per output.
    ///
    /// # Errors
    /// What the estimator within regions reports; [`Error::Incompatible`] for a feature with levels where the
    /// estimator is neither `pdp` nor `ale`; [`Error::BadAxis`] for another feature whose
    /// range is not a finite number; [`Error::BadOption`] where `pdp` and `dpdp` would have to hold
    /// more than 2·10⁷ ICE values.
    pub fn fit(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Vec<RegionalEffect>> {
        let fit = |model: &dyn Model| self.by_any_means(data, model, feature);
        let (mut effects, by_structure) = watched(model, self.brute, fit)?;
        effects.iter_mut().for_each(|effect| effect.record.by_structure = by_structure);
        Ok(effects)
    }

    fn by_any_means(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Vec<RegionalEffect>> {
        data.check_complete()?;
        self.check((data, model), feature)?;
        let heterogeneity = self.heterogeneity_of(data, feature)?;
        let drawn = self.subsample.map(|subsample| subsample.draw(data));
        let (data, subsample) = match &drawn {
            Some((data, drawn)) => (data.as_ref(), Some(&drawn.record)),
            None => (data, None),
        };
        let probe = MagnitudeProbe::new(model);
        let observed = Observed::new(&probe);
        let mut explained_rows = 0;
        let responses = self.responses((data, feature), &observed)?;
        let grown: Vec<(Tree, f64)> = match (&self.method, data.levels(feature)?) {
            (Within::Accumulated(estimator), Some(levels)) => {
                let changes = LevelChanges::new(estimator, (data, feature), &observed, levels)?;
                self.grow_all((data, feature), &responses, |output| {
                    let weights = data.weights();
                    Ok(levels::Stepped::new(&changes, weights, output, heterogeneity, &probe))
                })?
            }
            (Within::Accumulated(estimator), None) => {
                let held = ale::InstanceSlopes::new(estimator, data, &observed, feature)?;
                self.grow_all((data, feature), &responses, |output| {
                    Ok(ale::Binned::new(&held, output, heterogeneity, &probe))
                })?
            }
            (Within::Grid(estimator), _) => {
                let table =
                    estimator::pdp::IceTable::new(estimator, data, &observed, feature, MOST_HELD)?;
                self.grow_all((data, feature), &responses, |output| {
                    Ok(pdp::Gridded::new(&table, data, output, heterogeneity, &probe))
                })?
            }
            (Within::Shapley(estimator), _) => {
                let explained = shap::Explained::new(estimator, data, &probe, feature)?;
                explained_rows = explained.model_rows();
                self.grow_all((data, feature), &responses, |output| {
                    shap::Dependence::new(&explained, output, &probe)
                })?
            }
        };
        let effect = |(output, (tree, floor))| RegionalEffect {
            feature,
            name: data.names()[feature].clone(),
            output,
            estimator: self.name,
            heterogeneity,
            tree,
            record: Record {
                rows: data.len(),
                subsample: subsample.cloned(),
                model_rows: observed.model_rows() + explained_rows,
                jacobian_rows: observed.partial_rows(),
                by_structure: None,
                options: self.options,
                floor,
            },
        };
        Ok(grown.into_iter().enumerate().map(effect).collect())
    }

    /// Refuses a feature that the data or the model do not have, and one with levels where the local effects are
    /// none of levels.
    fn check(&self, (data, model): (&Dataset, &dyn Model), feature: usize) -> Result<()> {
        data.check_model(model, feature)?;
        let why = match self.within().estimand() {
            _ if !data.has_levels(feature) => return Ok(()),
            Estimand::PartialDependence | Estimand::AccumulatedLocalEffects => return Ok(()),
            Estimand::ShapDependence => "draws splines along numbers",
            _ => "is made of derivatives",
        };
        let (name, kind) = (&data.names()[feature], data.kinds()[feature]);
        Err(Error::Incompatible(format!(
            "`{}` {why}, and {name}, which is {kind}, has levels and nothing between them; take `regional-pdp` or \
             `regional-ale`",
            self.name
        )))
    }

    /// Name of the heterogeneity value that regions lower for a feature: one with levels has a single one.
    fn heterogeneity_of(&self, data: &Dataset, feature: usize) -> Result<&'static str> {
        let at_levels = match self.method {
            _ if !data.has_levels(feature) => return Ok(self.heterogeneity),
            Within::Accumulated(_) => "mean_steps",
            _ => "mean_levels",
        };
        if self.is_chosen {
            let name = &data.names()[feature];
            return Err(Error::Incompatible(format!(
                "`heterogeneity` = {}: regions of {name}, which has levels, lower `{at_levels}`; leave it out",
                self.heterogeneity
            )));
        }
        Ok(at_levels)
    }

    /// For each output the predictions at all rows, where levels of another feature may be ordered by them.
    fn responses(
        &self,
        (data, feature): (&Dataset, usize),
        model: &Observed<'_>,
    ) -> Result<Vec<Option<Vec<f64>>>> {
        let is_nominal = |other: usize| data.kinds()[other] == FeatureKind::Nominal;
        let mut others = (0..data.dimension()).filter(|other| *other != feature);
        match self.options.subsets && others.any(is_nominal) {
            true => Ok(predictions::at_rows(data, model)?.into_iter().map(Some).collect()),
            false => Ok(vec![None; model.model().outputs()]),
        }
    }

    /// A tree and its floor for each output, of which the predictions are given.
    fn grow_all<L: criterion::Criterion>(
        &self,
        (data, feature): (&Dataset, usize),
        responses: &[Option<Vec<f64>>],
        local: impl Fn(usize) -> Result<L>,
    ) -> Result<Vec<(Tree, f64)>> {
        let positions = self.options.candidates;
        let grow = |(output, response): (usize, &Option<Vec<f64>>)| {
            let candidates = candidates::candidates(data, feature, positions, response.as_deref())?;
            let local = local(output)?;
            let splitter =
                split::Splitter { local: &local, candidates: &candidates, leaf: self.options.leaf };
            Ok((tree::grow(&splitter, data, self.options, self.inner_effects)?, local.floor()))
        };
        responses.iter().enumerate().map(grow).collect()
    }
}
