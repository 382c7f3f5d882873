//! The one place where estimated curves are centred.

use serde::{Deserialize, Serialize};

use super::Instances;
use super::instances::Places;
use super::mean_at_instances;
use crate::error::{Error, Result};
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::settings::{CenterRule, Centring, Settings};

/// The rule for the mean of a curve over the axis, with its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AxisMean {
    rule: CenterRule,
    points: usize,
}

impl AxisMean {
    /// Most points.
    const MOST: usize = 1_000_000;

    pub(crate) const OPTIONS: &'static [&'static str] = &["center_rule", "center_points"];

    /// A rule, and the number of its points unless it is exact.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for points without a rule that takes them or the other way round,
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn new(rule: CenterRule, points: Option<usize>) -> Result<Self> {
        match (rule, points) {
            (CenterRule::Exact, None) => Ok(Self::default()),
            (CenterRule::Exact, Some(_)) => Err(Error::Incompatible(
                "`center_points` needs `center_rule` points or midpoints: the rule exact has none"
                    .to_owned(),
            )),
            (_, Some(points)) if (2..=Self::MOST).contains(&points) => Ok(Self { rule, points }),
            (_, Some(points)) => Err(Error::BadOption {
                option: "center_points",
                given: points.to_string(),
                allowed: format!("must be from 2 to {}", Self::MOST),
            }),
            (_, None) => Err(Error::Incompatible(
                "a `center_rule` other than exact needs `center_points`".to_owned(),
            )),
        }
    }

    pub(crate) fn from_settings(settings: &Settings) -> Result<Self> {
        Self::new(settings.center_rule.unwrap_or_default(), settings.center_points)
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> CenterRule {
        self.rule
    }

    /// Points at which a rule that is not exact evaluates the curve.
    #[must_use]
    pub fn places(&self, axis: Axis) -> Vec<f64> {
        let grid = axis.grid(self.points);
        match self.rule {
            CenterRule::Exact => Vec::new(),
            CenterRule::Points => grid,
            CenterRule::Midpoints => grid.windows(2).map(|z| z[0] + (z[1] - z[0]) / 2.0).collect(),
        }
    }

    fn of(self, curve: &Curve) -> f64 {
        let (lo, hi) = curve.range();
        let places = Axis::new(lo, hi).map(|axis| self.places(axis)).unwrap_or_default();
        match curve.at_all(&places) {
            Ok(values) if !values.is_empty() => {
                let share = 1.0 / values.len() as f64;
                values.iter().map(|y| y * share).sum()
            }
            _ => curve.mean_over_range(),
        }
    }
}

/// The constant that the centring subtracts from a curve. Exact: nothing is sampled.
///
/// # Errors
/// [`Error::Incompatible`] for `bins` on a curve without bins.
pub fn constant(centring: Centring, curve: &Curve, instances: Instances<'_>) -> Result<f64> {
    constant_by(AxisMean::default(), centring, curve, instances)
}

/// The same with the mean over the axis taken in a given way.
///
/// # Errors
/// As [`constant`].
pub fn constant_by(
    mean: AxisMean,
    centring: Centring,
    curve: &Curve,
    instances: Instances<'_>,
) -> Result<f64> {
    constant_at(mean, centring, curve, instances.into())
}

/// The same where of the instances perhaps only sums are known.
pub(crate) fn constant_at(
    mean: AxisMean,
    centring: Centring,
    curve: &Curve,
    at: Places<'_>,
) -> Result<f64> {
    match centring {
        Centring::None => Ok(0.0),
        Centring::Start => Ok(curve.y()[0]),
        Centring::Integral => Ok(mean.of(curve)),
        Centring::Data => Ok(mean_at_instances(curve, at).unwrap_or_default()),
        Centring::Bins => mean_over_bins(curve, at.counts()),
    }
}

fn mean_over_bins(curve: &Curve, counts: Option<&[f64]>) -> Result<f64> {
    let Some(counts) = counts else {
        return Err(Error::Incompatible(
            "centring `bins` needs bins; an effect on a grid can be centred by none, start, integral or data"
                .to_owned(),
        ));
    };
    let total: f64 = counts.iter().sum();
    let weighted = counts.iter().enumerate().map(|(k, n)| n * curve.stretch_mean(k));
    Ok(weighted.sum::<f64>() / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_centring_makes_its_own_quantity_zero() {
        let curve = Curve::linear(vec![0.0, 1.0, 3.0], vec![1.0, 3.0, 7.0]);
        let positions = [0.5, 2.0, 2.0, 9.0];
        let instances =
            Instances { positions: &positions, weights: None, counts: Some(&[1.0, 2.0]) };
        let constant = |centring| constant(centring, &curve, instances).unwrap();
        assert_eq!(constant(Centring::None), 0.0);
        assert_eq!(constant(Centring::Start), 1.0);
        assert!((constant(Centring::Integral) - (2.0 + 2.0 * 5.0) / 3.0).abs() < 1e-15);
        assert!((constant(Centring::Data) - (2.0 + 5.0 + 5.0) / 3.0).abs() < 1e-15);
        assert!((constant(Centring::Bins) - (2.0 + 5.0 + 5.0) / 3.0).abs() < 1e-15);
    }

    #[test]
    fn means_over_points_and_midpoints() {
        let curve = Curve::linear(vec![0.0, 1.0, 3.0], vec![1.0, 3.0, 7.0]);
        let instances = Instances { positions: &[], weights: None, counts: None };
        let mean = |rule| {
            let mean = AxisMean::new(rule, Some(4)).unwrap();
            constant_by(mean, Centring::Integral, &curve, instances).unwrap()
        };
        assert!((mean(CenterRule::Points) - (1.0 + 3.0 + 5.0 + 7.0) / 4.0).abs() < 1e-15);
        assert!((mean(CenterRule::Midpoints) - (2.0 + 4.0 + 6.0) / 3.0).abs() < 1e-15);
        assert!(AxisMean::new(CenterRule::Exact, Some(4)).is_err());
        assert!(AxisMean::new(CenterRule::Points, None).is_err());
        assert!(AxisMean::new(CenterRule::Points, Some(1)).is_err());
    }
}
