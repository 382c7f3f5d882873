//! Grids, estimators and truths that the datasets of a group share.

use fe_core::estimator::Estimator;
use fe_core::estimator::pair::{self, PairEstimator};
use fe_core::indices;
use fe_core::refits::{PairRefitting, Refitting};
use fe_core::regional::{AnyEstimator, Regional};
use fe_core::{AxisChoice, Settings};

use super::expected::ExpectedEffects;
use crate::engines::External;
use crate::score::Truths;
use crate::study::Group;
use crate::study::subjects::{IndexVariant, Subjects};
use crate::study::variants::Variant;

/// All that the datasets of a group share: computed once, and dropped after the last of them.
pub struct Prepared {
    /// For each feature of the group.
    pub features: Vec<PreparedFeature>,
    /// For each pair of features of the group.
    pub pairs: Vec<PreparedPair>,
    /// Truths that were computed so far.
    pub truths: Truths,
    /// Expected effects of learners that were computed so far.
    pub expected: ExpectedEffects,
}

/// A feature with its grid and its estimators.
pub struct PreparedFeature {
    /// The feature, counted from 0.
    pub feature: usize,
    /// Its name.
    pub name: String,
    /// The points at which curves are compared.
    pub points: Vec<f64>,
    /// An estimator for each variant of the group, or why there is none.
    pub estimators: Vec<Result<Implementation, String>>,
}

/// A pair of features with its grid and its estimators.
pub struct PreparedPair {
    /// The features, counted from 0.
    pub features: [usize; 2],
    /// Their names.
    pub names: [String; 2],
    /// The points of either at which surfaces are compared, at all pairs.
    pub points: [Vec<f64>; 2],
    /// An estimator for each variant of the group, or why there is none.
    pub estimators: Vec<Result<OfPairs, String>>,
}

/// An estimator of pairs of this program, or an external one.
pub enum OfPairs {
    /// One of this program.
    Own(Box<dyn PairEstimator>),
    /// One of this program whose bands are of refits.
    Refitted(Box<PairRefitting>),
    /// One that runs as a process of its own, on an axis for either feature.
    External(External, [AxisChoice; 2]),
}

impl OfPairs {
    /// The estimator of this program, if it is one.
    #[must_use]
    pub fn estimator(&self) -> Option<&dyn PairEstimator> {
        match self {
            Self::Own(estimator) => Some(estimator.as_ref()),
            Self::Refitted(refitting) => Some(refitting.estimator()),
            Self::External(..) => None,
        }
    }
}

/// An estimator of this program, or an external one.
pub enum Implementation {
    /// An estimator of curves of this program.
    Own(Box<dyn Estimator>),
    /// One of this program whose bands are of refits.
    Refitted(Box<Refitting>),
    /// An estimator of trees of this program.
    Regional(Box<Regional>),
    /// One that runs as a process of its own, on an axis.
    External(External, AxisChoice),
}

impl Implementation {
    /// The estimator of curves of this program, if it is one.
    #[must_use]
    pub fn estimator(&self) -> Option<&dyn Estimator> {
        match self {
            Self::Own(estimator) => Some(estimator.as_ref()),
            Self::Refitted(refitting) => Some(refitting.estimator()),
            Self::Regional(_) | Self::External(..) => None,
        }
    }
}

impl Prepared {
    /// Of a group.
    #[must_use]
    pub fn new(group: &Group) -> Self {
        let subjects = &group.subjects;
        let features: Vec<PreparedFeature> =
            subjects.features.iter().map(|&feature| PreparedFeature::new(group, feature)).collect();
        let pairs = subjects.pairs.iter().map(|&pair| PreparedPair::new(group, pair)).collect();
        let grids = features.iter().map(|of| (of.feature, of.points.clone()));
        let truths = Truths::on_grids(grids);
        Self { features, pairs, truths, expected: ExpectedEffects::default() }
    }

    /// About how many rows the models are asked for by one dataset of a group; and whether that
    /// leaves out estimators of which it is not known beforehand.
    #[must_use]
    pub fn cost(&self, group: &Group) -> (u64, bool) {
        let of_features = self.features.iter().flat_map(|of| of.costs(group));
        let of_pairs = self.pairs.iter().flat_map(|of| of.costs(group));
        let of_indices = group.indices.iter().map(|of| cost_of_indices(group, of));
        of_features.chain(of_pairs).chain(of_indices).fold((0, false), |(sum, open), cost| {
            match cost {
                Some(cost) => (u64::saturating_add(sum, cost), open),
                None => (sum, true),
            }
        })
    }
}

/// About how many rows the model is asked for by indices, where that is known beforehand.
#[must_use]
pub fn cost_of_indices(group: &Group, of: &IndexVariant) -> Option<u64> {
    if of.external.is_some() {
        return None;
    }
    let Subjects { features, pairs } = &group.subjects;
    let dimension = group.scenario.dimension();
    Some(indices::cost(group.rows, dimension, &of.asked, (features, pairs), &of.options))
}

impl PreparedPair {
    fn new(group: &Group, features: [usize; 2]) -> Self {
        let all = features.map(|feature| group.grid.all(&group.scenario, feature));
        let points = all.each_ref().map(|all| {
            all.as_deref().map(|all| group.grid.compared(all).to_vec()).unwrap_or_default()
        });
        let build = |variant: &Variant| {
            let settings = |side: usize| {
                let all = all[side].as_deref().map_err(Clone::clone)?;
                let feature = features[side];
                let settings = variant.resolve(&group.scenario, feature, all, &points[side])?;
                // Where no grid is asked for, a partial dependence is computed where it is compared.
                let exact = settings.grid.is_none() && takes_points(&variant.estimator);
                Ok::<_, String>(Settings { points: settings.points.filter(|_| exact), ..settings })
            };
            if let Some(external) = &variant.external {
                let axis = |side: usize| {
                    let axis = variant.axis.resolve(&group.scenario, features[side]);
                    axis.map_err(|e| e.to_string())
                };
                return Ok(OfPairs::External(external.clone(), [axis(0)?, axis(1)?]));
            }
            let settings = [settings(0)?, settings(1)?];
            let (name, settings) = (&variant.estimator, settings.each_ref());
            let refitting = PairRefitting::from_settings(name, settings);
            if let Some(refitting) = refitting.map_err(|e| e.to_string())? {
                return Ok(OfPairs::Refitted(Box::new(refitting)));
            }
            pair::from_settings(name, settings).map(OfPairs::Own).map_err(|e| e.to_string())
        };
        Self {
            features,
            names: features.map(|feature| group.scenario.feature_name(feature)),
            estimators: group.variants.iter().map(build).collect(),
            points,
        }
    }

    /// About how many rows the model is asked for by each estimator.
    pub fn costs(&self, group: &Group) -> impl Iterator<Item = Option<u64>> {
        let rows = group.rows;
        let subjects = group.fitting.as_ref().map_or(1, |fitting| fitting.estimated() as u64);
        let cost = move |estimator: &dyn PairEstimator| {
            estimator.cost(rows).map(|cost| cost.saturating_mul(subjects))
        };
        self.estimators.iter().map(move |built| match built {
            Ok(OfPairs::Own(estimator)) => cost(estimator.as_ref()),
            Ok(OfPairs::Refitted(refitting)) => {
                let refits = refitting.options().refits as u64;
                cost(refitting.estimator()).map(|rows| rows.saturating_mul(1 + refits))
            }
            Ok(OfPairs::External(..)) => None,
            Err(_) => Some(0),
        })
    }
}

fn takes_points(estimator: &str) -> bool {
    pair::info(estimator).is_ok_and(|info| info.options.contains(&"points"))
}

impl PreparedFeature {
    fn new(group: &Group, feature: usize) -> Self {
        let all = group.grid.all(&group.scenario, feature);
        let points = all.as_deref().map(|all| group.grid.compared(all).to_vec());
        let build = |variant: &Variant| {
            let all = all.as_deref().map_err(Clone::clone)?;
            let points = group.grid.compared(all);
            let settings = variant.resolve(&group.scenario, feature, all, points)?;
            if let Some(external) = &variant.external {
                let axis = settings.axis.unwrap_or_default();
                return Ok(Implementation::External(external.clone(), axis));
            }
            let refitting = Refitting::from_settings(&variant.estimator, &settings);
            if let Some(refitting) = refitting.map_err(|e| e.to_string())? {
                return Ok(Implementation::Refitted(Box::new(refitting)));
            }
            let built = AnyEstimator::from_settings(&variant.estimator, &settings);
            Ok(match built.map_err(|e| e.to_string())? {
                AnyEstimator::Global(estimator) => Implementation::Own(estimator),
                AnyEstimator::Regional(regional) => Implementation::Regional(regional),
            })
        };
        Self {
            feature,
            name: group.scenario.feature_name(feature),
            estimators: group.variants.iter().map(build).collect(),
            points: points.unwrap_or_default(),
        }
    }

    /// About how many rows the model is asked for by each estimator.
    pub fn costs(&self, group: &Group) -> impl Iterator<Item = Option<u64>> {
        let model = group.scenario.model();
        // Where models are fitted, each of them is explained on the rows of each part of each split.
        let (sizes, subjects) = match &group.fitting {
            None => (vec![group.rows], 1),
            Some(fitting) => (fitting.sizes(group.rows), fitting.estimated() as u64),
        };
        let cost = move |estimator: &dyn Estimator| {
            let costs = sizes.iter().map(|&rows| estimator.cost(rows, model));
            costs.sum::<Option<u64>>().map(|cost| cost.saturating_mul(subjects))
        };
        self.estimators.iter().map(move |estimator| match estimator {
            Ok(Implementation::Own(estimator)) => cost(estimator.as_ref()),
            Ok(Implementation::Refitted(refitting)) => {
                // Each refit is explained on some of the rows.
                let refits = refitting.options().refits as u64;
                cost(refitting.estimator()).map(|rows| rows.saturating_mul(1 + refits))
            }
            // The local effects of all rows are evaluated once.
            Ok(Implementation::Regional(regional)) => cost(regional.within()),
            Ok(Implementation::External(..)) => None,
            Err(_) => Some(0),
        })
    }
}
