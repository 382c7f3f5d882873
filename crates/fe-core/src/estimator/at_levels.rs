//! Effects that are means at each level of a feature: `mplot` of predictions, `shapdp` of Shapley values.

use super::common::CurveOptions;
use crate::data::{Dataset, Levels};
use crate::effect::{Effect, Instances, LevelRecord, Record, heterogeneity};
use crate::effect::{importance::importance, mean_at_instances};
use crate::error::Result;
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::numeric::moments::Moments;
use crate::settings::Centring;
use crate::stored::Name;

/// One value for each of some rows, and the levels that the rows are at.
pub(super) struct LevelValues<'a> {
    /// The values.
    pub(super) values: &'a [f64],
    /// The feature in the same rows.
    pub(super) at: &'a [f64],
    /// Their weights, if they differ.
    pub(super) weights: Option<&'a [f64]>,
}

impl LevelValues<'_> {
    /// The moments of the values at each level.
    fn moments(&self, levels: &Levels) -> Vec<Moments> {
        let mut by_level = vec![(Vec::new(), Vec::new()); levels.len()];
        for (row, (&value, &x)) in self.values.iter().zip(self.at).enumerate() {
            let weight = self.weights.map_or(1.0, |weights| weights[row]);
            if let Some(place) = levels.place(x).filter(|_| weight > 0.0) {
                by_level[place].0.push(value);
                by_level[place].1.push(weight);
            }
        }
        by_level.iter().map(|(values, weights)| Moments::of_block(values, Some(weights))).collect()
    }
}

/// The effect that is the mean of values at each level; its heterogeneity is their variance there.
pub(super) fn of_values(
    common: &CurveOptions,
    (data, feature): (&Dataset, usize),
    (output, estimator): (usize, Name),
    levels: &Levels,
    local: &LevelValues<'_>,
) -> Result<Effect> {
    let moments = local.moments(levels);
    let curve = moments.iter().map(|level| level.mean).collect();
    let variances: Vec<Option<f64>> =
        moments.iter().map(|level| level.variance(common.ddof)).collect();
    let at = AtLevels { data, feature, output, estimator, levels };
    let spread = variances.iter().map(|variance| variance.unwrap_or(f64::NAN)).collect();
    let effect = at.effect(common, (curve, spread), levels.given[0])?;
    Ok(Effect {
        heterogeneity_values: heterogeneity::of_levels(&variances, &levels.shares()),
        default_heterogeneity: "mean_levels",
        ..effect
    })
}

/// An effect at levels in the making.
#[derive(Clone, Copy)]
pub(super) struct AtLevels<'a> {
    pub(super) data: &'a Dataset,
    pub(super) feature: usize,
    pub(super) output: usize,
    pub(super) estimator: Name,
    pub(super) levels: &'a Levels,
}

impl AtLevels<'_> {
    /// The effect of a curve and its heterogeneity, given by their values at the levels; `first` is the place
    /// of the level where centring `start` has it 0.
    pub(super) fn effect(
        self,
        common: &CurveOptions,
        (curve, spread): (Vec<f64>, Vec<f64>),
        first: usize,
    ) -> Result<Effect> {
        let Self { data, feature, output, estimator, levels } = self;
        let x = &levels.values;
        let start = curve[first];
        let curve = Curve::levels(x.clone(), curve);
        let instances =
            Instances { positions: data.feature(feature), weights: data.weights(), counts: None };
        let constant = match common.centring {
            Centring::None => 0.0,
            Centring::Start => start,
            _ => mean_at_instances(&curve, instances).unwrap_or_default(),
        };
        let importance = common.importance.then(|| importance(&curve, instances, false)).flatten();
        let axis = Axis::new(x[0], x[x.len() - 1])?;
        let what = (output, estimator);
        let effect = common.effect((data, feature), what, (axis, curve), constant);
        let levels = Some(LevelRecord::new(data.kinds()[feature], levels, None));
        Ok(Effect {
            heterogeneity: Curve::levels(x.clone(), spread),
            importance,
            record: Record { levels, ..effect.record },
            ..effect
        })
    }
}
