//! Estimands: for each, the truths that its estimates are compared with. A new one is an arm of `of`.

use fe_core::Centring;
use fe_core::Effect;
use fe_core::estimator::Estimand;
use fe_core::regional::AnyEstimator;
use fe_truth::{HeterogeneityValue, Quantity};

/// The truths that estimates of an estimand are compared with.
struct Truths {
    curve: Quantity,
    /// The heterogeneity curve.
    heterogeneity: Heterogeneity,
    /// The estimand of its bins.
    bins: BinTruths,
}

/// The true curve of a heterogeneity.
enum Heterogeneity {
    /// There is one.
    Of(Quantity),
    /// There is one of ICE curves that are centred, or of derivatives as they are: where nothing else was
    /// asked for.
    OfDefault(Quantity),
    /// It is that of the finite differences over the estimate's own bins.
    OnBins,
    /// There is none.
    None,
}

/// The true heterogeneity curve that an estimate is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeterogeneityTruth {
    /// This one.
    Curve(Quantity),
    /// The variance of finite differences in each bin of the estimate.
    OnBins,
}

/// The truth of a heterogeneity value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueTruth {
    /// Over the axis, without bins.
    OverAxis(HeterogeneityValue),
    /// Of the true variances in the estimate's own bins.
    OnBins,
}

/// The estimand of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinTruths {
    /// Mean and variance of the derivative in the bin.
    Derivatives,
    /// Mean and variance of differences of f between the ends of the bin, over its width.
    Differences,
    /// Levels, which are not compared bin by bin.
    Levels,
}

fn of(estimand: Estimand) -> Truths {
    use BinTruths::{Derivatives, Differences, Levels};
    use Heterogeneity::{None, Of, OfDefault, OnBins};
    let (curve, heterogeneity, bins) = match estimand {
        Estimand::PartialDependence => (Quantity::Pd, OfDefault(Quantity::HPdp), Derivatives),
        Estimand::DerivativePartialDependence => {
            (Quantity::Dpd, OfDefault(Quantity::HDpdp), Derivatives)
        }
        Estimand::MarginalPlot => (Quantity::Mplot, None, Levels),
        Estimand::AccumulatedLocalEffects => (Quantity::Ale, OnBins, Differences),
        Estimand::AccumulatedDerivatives => {
            (Quantity::AleDerivative, Of(Quantity::Sigma), Derivatives)
        }
        Estimand::ShapDependence => (Quantity::Shap, Of(Quantity::ShapVariance), Derivatives),
    };
    Truths { curve, heterogeneity, bins }
}

/// The truth that an estimator is compared with.
#[must_use]
pub fn truth_of(estimand: Estimand) -> Quantity {
    of(estimand).curve
}

/// The estimand of the bins of its estimates.
pub(super) fn bin_truths_of(estimand: Estimand) -> BinTruths {
    of(estimand).bins
}

/// The true heterogeneity curve that an estimate is compared with.
pub(super) fn heterogeneity_of(
    estimand: Estimand,
    effect: &Effect,
) -> Result<HeterogeneityTruth, String> {
    match of(estimand).heterogeneity {
        Heterogeneity::Of(quantity) => Ok(HeterogeneityTruth::Curve(quantity)),
        Heterogeneity::OfDefault(quantity) if effect.record.raw_ice.is_none() => {
            Ok(HeterogeneityTruth::Curve(quantity))
        }
        Heterogeneity::OnBins => Ok(HeterogeneityTruth::OnBins),
        _ => Err(format!("the heterogeneity of this {} has no true curve", effect.estimator)),
    }
}

/// The truth of a heterogeneity value of an estimand, by its name; none where there is none.
pub(super) fn value_truth_of(estimand: Estimand, name: &str) -> Option<ValueTruth> {
    use HeterogeneityValue as Value;
    let over_axis = |value| Some(ValueTruth::OverAxis(value));
    match (estimand, name) {
        (Estimand::PartialDependence, "mean_grid") => over_axis(Value::PdpMean),
        (Estimand::PartialDependence, "mean_grid_sd") => over_axis(Value::PdpMeanSd),
        (Estimand::DerivativePartialDependence, "mean_grid") => over_axis(Value::DpdpMean),
        (Estimand::DerivativePartialDependence, "mean_grid_sd") => over_axis(Value::DpdpMeanSd),
        (Estimand::AccumulatedDerivatives, "integral") => over_axis(Value::AleIntegral),
        (Estimand::AccumulatedDerivatives, "mean_range") => over_axis(Value::AleMeanRange),
        (Estimand::AccumulatedDerivatives, "integral_sd") => over_axis(Value::AleIntegralSd),
        (Estimand::AccumulatedDerivatives, "mean_sd") => over_axis(Value::AleMeanSd),
        (Estimand::AccumulatedDerivatives, "mean_bins" | "sum_bins")
        | (
            Estimand::AccumulatedLocalEffects,
            "integral" | "mean_range" | "integral_sd" | "mean_sd" | "mean_bins" | "sum_bins",
        ) => Some(ValueTruth::OnBins),
        (Estimand::ShapDependence, "mean_residual") => over_axis(Value::ShapMean),
        _ => None,
    }
}

/// True if a heterogeneity value of an estimand has a truth.
#[must_use]
pub fn has_true_value(estimand: Estimand, name: &str) -> bool {
    value_truth_of(estimand, name).is_some()
}

/// The estimand of the estimator of a name, of a regional one that of its leaves; none for a name that the core does not know.
#[must_use]
pub fn estimand_of(estimator: &str) -> Option<Estimand> {
    let built = AnyEstimator::from_settings(estimator, &fe_core::Settings::default()).ok()?;
    Some(built.of_curves().estimand())
}

/// The centring of the truth that a curve centred in some way is compared with.
pub(crate) fn truth_centring(centring: Centring) -> Result<fe_truth::Centring, String> {
    match centring {
        Centring::None => Ok(fe_truth::Centring::None),
        Centring::Start => Ok(fe_truth::Centring::Start),
        Centring::Integral => Ok(fe_truth::Centring::Integral),
        Centring::Data => Ok(fe_truth::Centring::Data),
        Centring::Bins => {
            Err("a curve centred by `bins` has no truth centred alike: compare by Err_c instead"
                .to_owned())
        }
    }
}
