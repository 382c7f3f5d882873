//! Estimators: a dataset and a model in, one [`Effect`] per output out.
//!
//! May import all but what is made of estimators: `regional`, `preset`, `reconstruction`. Begin with [`Estimator`], then
//! `pdp` for effects on a grid or `ale` for those in bins; `common.rs` and `grid.rs` hold what they share.
//!
//! A new estimator is a new file and a line in [`ALL`].

pub(crate) mod ale;
mod at_levels;
mod common;
pub(crate) mod derivatives;
mod empty_bins;
mod grid;
mod ice;
mod instances;
mod level_band;
mod mplot;
pub mod pair;
mod partial;
mod parts;
pub(crate) mod pdp;
pub(crate) mod predictions;
mod prepared;
pub(crate) mod shap;

pub use ale::{Accumulated, Ale, Dale, Rhale};
pub use ice::IndividualCurves;
pub use instances::{Estimated, InstanceEffects, Observation, PairObservation, Resampled};
pub use mplot::MarginalPlot;
pub use partial::{PartialEffect, STRETCH};
pub use parts::PartSums;
pub use pdp::PartialDependence;
pub use shap::{ShapDependence, shapley};

use serde::Serialize;

use crate::binning::Binning;
use crate::confidence::Purpose;
use crate::data::Dataset;
use crate::effect::Effect;
use crate::error::{Error, Result, suggestion};
use crate::model::Model;
use crate::numeric::blocks::fold_blocks;
use crate::settings::Centring;
use crate::settings::Settings;

/// The estimand of an estimator: the truth that it is to be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimand {
    /// E f(x, X_c) over the marginal law of the other features.
    PartialDependence,
    /// E ∂_s f(x, X_c) over the same law (EFFECTOR eq. 9).
    DerivativePartialDependence,
    /// E[f | x_s] (the M-plot of Apley and Zhu 2020).
    MarginalPlot,
    /// Accumulated E[∂_s f | x_s], with the jumps of f (Apley and Zhu 2020).
    AccumulatedLocalEffects,
    /// Accumulated E[∂_s f | x_s], without the jumps of f (RHALE eq. 2).
    AccumulatedDerivatives,
    /// E[φ_s | x_s] of interventional Shapley values φ (EFFECTOR A.3).
    ShapDependence,
}

impl Estimand {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::PartialDependence,
        Self::DerivativePartialDependence,
        Self::MarginalPlot,
        Self::AccumulatedLocalEffects,
        Self::AccumulatedDerivatives,
        Self::ShapDependence,
    ];
}

/// A way to estimate the effect of a feature.
pub trait Estimator: std::fmt::Debug + Send + Sync {
    /// Its name in files and flags.
    fn name(&self) -> &'static str;

    /// The estimand.
    fn estimand(&self) -> Estimand;

    /// The choice of bins, if it has any.
    fn binning(&self) -> Option<&dyn Binning> {
        None
    }

    /// The centring of its curves.
    fn centring(&self) -> Centring;

    /// About how many rows the model will be asked for, values and derivatives together, by an
    /// estimate from so many rows; none if only the data tell.
    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        let _ = (rows, model);
        None
    }

    /// Refuses a confidence band that it is to have of a feature of a name, with levels or without, and has not.
    ///
    /// # Errors
    /// [`Error::Incompatible`] with the reason, which [`Estimator::estimate`] gives as well.
    fn check_band(&self, name: &str, has_levels: bool) -> Result<()> {
        let _ = (name, has_levels);
        Ok(())
    }

    /// The effect of a feature (counted from 0), one per output of the model.
    ///
    /// # Errors
    /// A typed reason; nothing here panics, even if the model does.
    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>>;

    /// Sums over the rows of a part of all data, of which effects can be made later: see [`PartialEffect`].
    ///
    /// # Errors
    /// [`Error::Incompatible`] for an estimator, or options, to which a part says nothing; as [`Estimator::estimate`].
    fn sums(&self, part: &Dataset, model: &dyn Model, feature: usize) -> Result<PartSums> {
        let _ = (part, model, feature);
        Err(parts::not_in_parts(self.name(), "it needs all rows at once"))
    }

    /// The effects of a feature, counted from 0 and of a name, of which these are the sums over all rows.
    ///
    /// # Errors
    /// As [`Estimator::estimate`].
    fn of_sums(&self, feature: (usize, &str), sums: &PartSums) -> Result<Vec<Effect>> {
        let _ = (feature, sums);
        Err(parts::not_in_parts(self.name(), "it needs all rows at once"))
    }

    /// The effects of some rows (counted from 0), of all that an effect of this estimator summarises.
    /// [`InstanceEffects::Unknown`] unless the estimator says otherwise.
    ///
    /// # Errors
    /// As [`Estimator::estimate`], and [`Error::WrongCount`] for a row that the data do not have.
    fn instances(&self, of: Estimated<'_>, rows: &[usize]) -> Result<InstanceEffects> {
        of.data.check_rows(of.model, of.effect.feature, rows)?;
        Ok(InstanceEffects::Unknown)
    }

    /// The curve of an effect of this estimator, so that it can be computed again with other weights of the
    /// rows: what confidence bands are made of.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for an estimator without bands; as [`Estimator::estimate`].
    fn resampling<'a>(&'a self, of: Observation<'a>, purpose: &Purpose<'_>) -> Resampled<'a> {
        let _ = (of, purpose);
        Err(Error::Incompatible(format!("`{}` has no confidence band", self.name())))
    }
}

/// An estimator as it is found by name.
pub struct EstimatorInfo {
    /// Its name.
    pub name: &'static str,
    /// A description in a line.
    pub about: &'static str,
    /// The settings it takes, in groups; what all take comes on top.
    pub options: &'static [&'static [&'static str]],
    /// Builds it from settings.
    pub build: fn(&Settings) -> Result<Box<dyn Estimator>>,
}

impl EstimatorInfo {
    /// Names of the settings it takes.
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().chain(prepared::OPTIONS).copied().flatten().copied()
    }

    /// True if it takes a setting.
    #[must_use]
    pub fn takes(&self, option: &str) -> bool {
        self.options().any(|taken| taken == option)
    }
}

/// All estimators.
pub const ALL: &[EstimatorInfo] = &[
    pdp::PDP,
    pdp::DPDP,
    ice::ICE,
    ice::DICE,
    mplot::MPLOT,
    ale::ALE,
    ale::DALE,
    ale::RHALE,
    shap::SHAPDP,
];

/// The entry of the estimator of a name.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name.
pub fn info(name: &str) -> Result<&'static EstimatorInfo> {
    named("estimator", name, ALL, |info| info.name)
}

/// The entry of a name, among all that have one.
pub(crate) fn named<'a, T>(
    option: &'static str,
    name: &str,
    all: &'a [T],
    name_of: fn(&T) -> &'static str,
) -> Result<&'a T> {
    all.iter().find(|known| name_of(known) == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(name_of).collect();
        let nearest = suggestion(name, names.iter().copied());
        Error::BadOption {
            option,
            given: name.to_owned(),
            allowed: format!("must be one of {}{nearest}", names.join(", ")),
        }
    })
}

/// The estimator of a name with some settings.
///
/// # Errors
/// [`Error::BadOption`] for an unknown name, and whatever its options have wrong.
pub fn from_settings(name: &str, settings: &Settings) -> Result<Box<dyn Estimator>> {
    let info = info(name)?;
    settings.check_taken(&format!("`{name}`"), |option| info.takes(option))?;
    prepared::prepare((info.build)(settings)?, settings)
}

/// Results of `work` for each of some features, or of pairs of a feature and its estimator, in their order.
/// Several are worked on at once where there are threads for them; the results are those of one after the
/// other. Any work will do: effects, regional effects, figures.
///
/// # Errors
/// That of the first feature for which `work` has one; features behind it may be left out.
///
/// ```
/// use fe_core::estimator::{self, Ale, Estimator};
/// use fe_core::{Dataset, model::FunctionModel};
///
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [1.0, 0.0], [2.0, 4.0]].view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1]);
/// let ale = Ale::with_bins(2)?;
/// let effects = estimator::each_feature(&[1, 0], |&feature| ale.estimate(&data, &model, feature))?;
/// assert_eq!(effects.iter().map(|effects| effects[0].feature).collect::<Vec<_>>(), [1, 0]);
/// # Ok::<(), fe_core::Error>(())
/// ```
pub fn each_feature<F: Sync, T: Send, E: Send>(
    features: &[F],
    work: impl Fn(&F) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let mut all = Vec::with_capacity(features.len());
    fold_blocks(features.len(), 1, |place| work(&features[place.start]), |found| all.push(found))?;
    Ok(all)
}
