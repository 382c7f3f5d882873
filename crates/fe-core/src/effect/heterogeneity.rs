//! Heterogeneity values: one number for how much local effects differ.
//!
//! Published definitions differ, so each has its own name and none is silently another.

use std::collections::BTreeMap;

use super::Instances;
use super::instances::Places;
use super::mean_at_instances;
use crate::numeric::curve::Curve;
use crate::numeric::moments::Moments;
use crate::numeric::partition::Partition;

/// Named heterogeneity values; a value is missing where nothing could be computed.
pub type Values = BTreeMap<&'static str, Option<f64>>;

/// The variance of the local effects in each bin. Where stretches of bins are given by their ends, in
/// which local effects spread alike, those of several bins have the variance within all of them: the sum
/// of squared deviations from the means of the bins over its degrees of freedom.
pub(crate) fn variances(
    moments: &[Moments],
    stretches: Option<&[usize]>,
    ddof: f64,
) -> Vec<Option<f64>> {
    let own = |bin: &Moments| bin.variance(ddof);
    let Some(ends) = stretches else { return moments.iter().map(own).collect() };
    let mut all = Vec::with_capacity(moments.len());
    for &end in ends {
        match &moments[all.len()..end] {
            [single] => all.push(own(single)),
            bins => {
                let within = bins.iter().filter(|bin| bin.weight > 1.0);
                let (squares, degrees) = within.fold((0.0, 0.0), |(squares, degrees), bin| {
                    (squares + bin.squares, degrees + (bin.weight - 1.0))
                });
                all.resize(end, (degrees > 0.0).then(|| squares / degrees));
            }
        }
    }
    all
}

/// The values of accumulated effects, from the variance of the slopes in each bin.
///
/// With σ²_k the variance of the slopes, Δz_k the width, and v_k the variance that `mean_bins` and
/// `sum_bins` are about (σ²_k, or σ²_k Δz_k² where differences are not divided by the width):
/// `mean_bins` = Σ v_k / K (METHODS), `sum_bins` = Σ v_k (EFFECTOR eq. 5), `integral` = Σ Δz_k σ²_k
/// (EFFECTOR eq. 6), `mean_range` that over z_K − z_0, `integral_sd` = Σ Δz_k σ_k (EFFECTOR eq. 2),
/// `mean_sd` that over z_K − z_0.
///
/// ```
/// use fe_core::effect::heterogeneity::of_bins;
/// use fe_core::numeric::partition::{Closed, Partition};
/// let bins = Partition::new(vec![0.0, 1.0, 3.0], Closed::Left).unwrap();
/// let values = of_bins(&bins, Some(&[4.0, 9.0]), false);
/// assert_eq!(values["integral"], Some(22.0));
/// assert_eq!(values["integral_sd"], Some(8.0));
/// assert_eq!(values["sum_bins"], Some(13.0));
/// ```
#[must_use]
pub fn of_bins(partition: &Partition, variances: Option<&[f64]>, undivided: bool) -> Values {
    let widths = partition.widths();
    let length: f64 = widths.iter().sum();
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> Option<f64> {
        Some(variances?.iter().zip(&widths).map(|(&v, &dz)| term(v, dz)).sum())
    };
    let bins = partition.bins() as f64;
    let sum_bins = sum(&|v, dz| if undivided { v * dz * dz } else { v });
    let integral = sum(&|v, dz| v * dz);
    let integral_sd = sum(&|v, dz| v.sqrt() * dz);
    BTreeMap::from([
        ("mean_bins", sum_bins.map(|s| s / bins)),
        ("sum_bins", sum_bins),
        ("integral", integral),
        ("mean_range", integral.map(|s| s / length)),
        ("integral_sd", integral_sd),
        ("mean_sd", integral_sd.map(|s| s / length)),
    ])
}

/// The values of effects on a grid: `mean_grid` of the variance of centred ICE curves (EFFECTOR
/// eq. 8), `mean_grid_sd` of the standard deviation of uncentred ones (EFFECTOR's listings).
#[must_use]
pub fn of_grid(centred_variance: &[Option<f64>], raw_variance: &[Option<f64>]) -> Values {
    let mean = |values: &[Option<f64>], of: fn(f64) -> f64| -> Option<f64> {
        let sum: Option<f64> = values.iter().map(|v| v.map(of)).sum();
        Some(sum? / values.len() as f64)
    };
    BTreeMap::from([
        ("mean_grid", mean(centred_variance, |v| v)),
        ("mean_grid_sd", mean(raw_variance, f64::sqrt)),
    ])
}

/// The value of effects at levels: `mean_levels` = Σ p_k v_k of the variances at them, weighted by the
/// shares p_k of the instances.
///
/// ```
/// use fe_core::effect::heterogeneity::of_levels;
/// assert_eq!(of_levels(&[Some(4.0), Some(8.0)], &[0.75, 0.25])["mean_levels"], Some(5.0));
/// assert_eq!(of_levels(&[Some(4.0), None], &[0.75, 0.25])["mean_levels"], None);
/// ```
#[must_use]
pub fn of_levels(variances: &[Option<f64>], shares: &[f64]) -> Values {
    let terms = variances.iter().zip(shares);
    BTreeMap::from([("mean_levels", terms.map(|(v, share)| v.map(|v| v * share)).sum())])
}

/// The value of effects that accumulate along levels: `mean_steps`, the mean of the variances of the changes
/// from each level to the next.
///
/// ```
/// use fe_core::effect::heterogeneity::of_steps;
/// assert_eq!(of_steps(&[Some(4.0), Some(8.0)])["mean_steps"], Some(6.0));
/// ```
#[must_use]
pub fn of_steps(variances: &[Option<f64>]) -> Values {
    let sum: Option<f64> = variances.iter().copied().sum();
    BTreeMap::from([("mean_steps", sum.map(|sum| sum / variances.len() as f64))])
}

/// Values with [`effector_score`] among them.
pub(crate) fn with_score(mut values: Values, score: Option<f64>) -> Values {
    values.insert(EFFECTOR_SCORE, score);
    values
}

/// Name of [`effector_score`] among the values.
pub(crate) const EFFECTOR_SCORE: &str = "effector_score";

/// √(mean over the instances of the variance at their positions), times the standard deviation
/// (ddof 0) of those positions if the variance is one of slopes: the `heter_score` of effector 0.6, in
/// units of the output. Missing where the variance is, and where there are no instances on the curve.
///
/// ```
/// use fe_core::Curve;
/// use fe_core::effect::Instances;
/// use fe_core::effect::heterogeneity::effector_score;
/// use fe_core::numeric::partition::Closed;
/// let variance = Curve::step(vec![0.0, 1.0, 2.0], vec![1.0, 9.0], Closed::Left);
/// let instances = Instances { positions: &[0.0, 2.0], weights: None, counts: None };
/// assert_eq!(effector_score(&variance, instances, true), Some(5_f64.sqrt()));
/// ```
#[must_use]
pub fn effector_score(variance: &Curve, instances: Instances<'_>, of_slopes: bool) -> Option<f64> {
    effector_score_at(variance, instances.into(), of_slopes)
}

/// The same where of the instances perhaps only sums are known.
pub(crate) fn effector_score_at(variance: &Curve, at: Places<'_>, of_slopes: bool) -> Option<f64> {
    effector_score_by(variance, at, of_slopes.then(|| at.on(variance)))
}

/// The same, from the moments of the positions on the curve if the variance is one of slopes.
pub(crate) fn effector_score_by(
    variance: &Curve,
    at: Places<'_>,
    positions: Option<Moments>,
) -> Option<f64> {
    if variance.y().iter().all(|value| value.is_nan()) {
        return None;
    }
    let score = mean_at_instances(variance, at)?.sqrt();
    let spread = |positions: Moments| (positions.squares / positions.weight).sqrt();
    Some(score * positions.map_or(1.0, spread)).filter(|score| score.is_finite())
}

/// The value of effects that are a smooth curve through local effects: `mean_residual`, the mean
/// squared distance of the instances from it (EFFECTOR A.3).
#[must_use]
pub fn of_residuals(mean_square: Option<f64>) -> Values {
    BTreeMap::from([("mean_residual", mean_square)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_bins_have_the_variance_within_them() {
        let single = |mean| Moments::single(mean, 1.0);
        let pair = Moments::of(&[1.0, 3.0]);
        let three = Moments::of(&[7.0, 7.0, 10.0]);
        let moments = [pair, three, single(4.0), Moments::default(), single(9.0), pair];
        let own = [Some(2.0), Some(3.0), None, None, None, Some(2.0)];
        assert_eq!(variances(&moments, None, 1.0), own);
        let shared = variances(&moments, Some(&[2, 4, 6]), 1.0);
        assert_eq!(shared[..2], [Some(8.0 / 3.0); 2]);
        assert_eq!(shared[2..], [None, None, Some(2.0), Some(2.0)]);
        // A bin alone keeps what its settings ask for; several are always divided by what is free.
        assert_eq!(
            variances(&moments, Some(&[1, 2, 6]), 0.0)[..3],
            [Some(1.0), Some(2.0), Some(2.0)]
        );
    }

    /// Widths of 1 and 2, and standard deviations of 2 and 3.
    #[test]
    fn values_of_bins_are_sums_and_means() {
        use crate::numeric::partition::Closed;
        let bins = Partition::new(vec![0.0, 1.0, 3.0], Closed::Left).unwrap();
        let values = of_bins(&bins, Some(&[4.0, 9.0]), false);
        let known = [
            ("integral", 22.0),
            ("integral_sd", 8.0),
            ("mean_bins", 6.5),
            ("mean_range", 22.0 / 3.0),
            ("mean_sd", 8.0 / 3.0),
            ("sum_bins", 13.0),
        ];
        assert_eq!(values, BTreeMap::from(known.map(|(name, value)| (name, Some(value)))));
        assert_eq!(of_bins(&bins, Some(&[4.0, 9.0]), true)["sum_bins"], Some(40.0));
    }
}
