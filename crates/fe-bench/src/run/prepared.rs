//! Grids, estimators and truths that the datasets of a group share.

use fe_core::AxisChoice;
use fe_core::estimator::Estimator;
use fe_core::regional::{AnyEstimator, Regional};

use crate::engines::External;
use crate::score::Truths;
use crate::study::Group;
use crate::study::variants::Variant;

/// All that the datasets of a group share: computed once, and dropped after the last of them.
pub struct Prepared {
    /// For each feature of the group.
    pub features: Vec<PreparedFeature>,
    /// Truths that were computed so far.
    pub truths: Truths,
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

/// An estimator of this program, or an external one.
pub enum Implementation {
    /// An estimator of curves of this program.
    Own(Box<dyn Estimator>),
    /// An estimator of trees of this program.
    Regional(Box<Regional>),
    /// One that runs as a process of its own, on an axis.
    External(External, AxisChoice),
}

impl Prepared {
    /// Of a group.
    #[must_use]
    pub fn new(group: &Group) -> Self {
        let features: Vec<PreparedFeature> =
            group.features.iter().map(|&feature| PreparedFeature::new(group, feature)).collect();
        let grids = features.iter().map(|of| (of.feature, of.points.clone()));
        let truths = Truths::on_grids(grids);
        Self { features, truths }
    }

    /// About how many rows the models are asked for by one dataset of a group; and whether that
    /// leaves out estimators of which it is not known beforehand.
    #[must_use]
    pub fn cost(&self, group: &Group) -> (u64, bool) {
        let costs = self.features.iter().flat_map(|of| of.costs(group));
        costs.fold((0, false), |(sum, open), cost| match cost {
            Some(cost) => (u64::saturating_add(sum, cost), open),
            None => (sum, true),
        })
    }
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
            Some(fitting) => (fitting.sizes(group.rows), fitting.subjects() as u64),
        };
        let cost = move |estimator: &dyn Estimator| {
            let costs = sizes.iter().map(|&rows| estimator.cost(rows, model));
            costs.sum::<Option<u64>>().map(|cost| cost.saturating_mul(subjects))
        };
        self.estimators.iter().map(move |estimator| match estimator {
            Ok(Implementation::Own(estimator)) => cost(estimator.as_ref()),
            // The local effects of all rows are evaluated once.
            Ok(Implementation::Regional(regional)) => cost(regional.within()),
            Ok(Implementation::External(..)) => None,
            Err(_) => Some(0),
        })
    }
}
