//! Importance of a feature: the variation of its effect over the instances.

use super::Instances;
use crate::numeric::curve::Curve;
use crate::numeric::moments::Moments;

/// The standard deviation (ddof 0) of the curve at the instances on it; of a curve of slopes the mean of its
/// absolute values there, times the standard deviation of the positions: what effector 0.6 calls importance.
/// In units of the output; missing where no instance is on the curve, or the curve is undefined.
///
/// ```
/// use fe_core::Curve;
/// use fe_core::effect::Instances;
/// use fe_core::effect::importance::importance;
/// let instances = Instances { positions: &[0.0, 2.0], weights: None, counts: None };
/// let curve = Curve::linear(vec![0.0, 2.0], vec![-3.0, 5.0]);
/// assert_eq!(importance(&curve, instances, false), Some(4.0));
/// assert_eq!(importance(&curve, instances, true), Some(4.0));
/// ```
#[must_use]
pub fn importance(curve: &Curve, instances: Instances<'_>, of_slopes: bool) -> Option<f64> {
    let (lo, hi) = curve.range();
    let mut on_curve = Vec::new();
    for (row, &x) in instances.positions.iter().enumerate() {
        let weight = instances.weights.map_or(1.0, |weights| weights[row]);
        if weight > 0.0 && lo <= x && x <= hi {
            on_curve.push((x, curve.at(x).ok()?, weight));
        }
    }
    if on_curve.is_empty() {
        return None;
    }
    let weights: Vec<f64> = on_curve.iter().map(|(_, _, weight)| *weight).collect();
    let moments = |of: &dyn Fn(f64, f64) -> f64| {
        let values: Vec<f64> = on_curve.iter().map(|&(x, y, _)| of(x, y)).collect();
        Moments::of_block(&values, Some(&weights))
    };
    let deviation = |moments: Moments| (moments.squares / moments.weight).sqrt();
    let value = if of_slopes {
        moments(&|_, y| y.abs()).mean * deviation(moments(&|x, _| x))
    } else {
        deviation(moments(&|_, y| y))
    };
    Some(value).filter(|value| value.is_finite())
}
