//! The one place where estimated curves are centred.

use serde::{Deserialize, Serialize};

use crate::curve::Curve;
use crate::error::{Error, Result};

/// What is zero after centring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centring {
    /// Nothing: the curve as it is.
    None,
    /// The value at the start of the axis.
    Start,
    /// The mean over the axis (METHODS, EFFECTOR).
    #[default]
    Integral,
    /// The mean over the instances of the curve at their positions (Apley and Zhu 2020).
    Data,
    /// Σ n_k (a_{k-1} + a_k) / 2N over the bins (the packages ALEPlot, PyALE and alibi).
    Bins,
}

/// Where the instances are: what the centrings `data` and `bins` average over.
#[derive(Debug, Clone, Copy)]
pub struct Instances<'a> {
    /// The feature's values.
    pub positions: &'a [f64],
    /// Their weights, if they differ.
    pub weights: Option<&'a [f64]>,
    /// Weight in each bin, for curves that have bins.
    pub counts: Option<&'a [f64]>,
}

/// The constant that the centring subtracts from a curve. Exact: nothing is sampled.
///
/// # Errors
/// [`Error::Incompatible`] for `bins` on a curve without bins.
pub fn constant(centring: Centring, curve: &Curve, instances: Instances<'_>) -> Result<f64> {
    match centring {
        Centring::None => Ok(0.0),
        Centring::Start => Ok(curve.y()[0]),
        Centring::Integral => Ok(curve.mean_over_range()),
        Centring::Data => Ok(mean_at_instances(curve, instances)),
        Centring::Bins => mean_over_bins(curve, instances.counts),
    }
}

fn mean_at_instances(curve: &Curve, instances: Instances<'_>) -> f64 {
    let (mut total, mut sum) = (0.0, 0.0);
    for (i, &x) in instances.positions.iter().enumerate() {
        let weight = instances.weights.map_or(1.0, |w| w[i]);
        let (lo, hi) = curve.range();
        if weight > 0.0
            && (lo..=hi).contains(&x)
            && let Ok(y) = curve.at(x)
        {
            total += weight;
            sum += weight * y;
        }
    }
    if total > 0.0 { sum / total } else { 0.0 }
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
}
