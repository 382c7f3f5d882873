//! Confidence bands of effects: limits, and how they were computed.

use serde::{Deserialize, Serialize};

use crate::numeric::curve::Curve;
use crate::settings::{BandKind, Correction, Interval, Scheme};
use crate::stored::Name;

/// The meaning of a band, in words.
pub const MEANING: &str = "uncertainty of the effect of this model, from the sample of instances \
                           alone; how far the model is from the true function is not in it";

/// The meaning of a band from refits, in words.
pub const MEANING_OF_REFITS: &str = "uncertainty of the expected effect of the learner, from refits to resamples \
                                     of the rows; how far that is from the true function, its bias, is not in it";

/// Lower and upper limits of a band, in units of the output: curves, or values at the points of a surface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits<T = Curve> {
    /// The lower limit.
    pub lower: T,
    /// The upper limit.
    pub upper: T,
}

/// A confidence band for an effect's curve, centred as the curve is, or for a surface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceBand<T = Curve> {
    /// Limits that are to hold the true curve at each place with the probability `level`.
    pub pointwise: Limits<T>,
    /// Limits that are to hold it at all places at once; none for the band `bins`.
    pub simultaneous: Option<Limits<T>>,
    /// Limits that are no farther apart are so by rounding, in units of the output: there the curve does
    /// not depend on which instances were drawn. Infinite where it does so nowhere.
    pub rounding: f64,
    /// Record of the computation.
    pub record: BandRecord,
}

/// Limits no farther apart than this share of the curve's largest value are so by rounding.
const NO_WIDTH: f64 = 1e-9;

/// A confidence band for the effect of two features: limits at each pair of points, in the order of the values of the
/// [`Surface`](super::Surface), bilinear between.
pub type SurfaceBand = ConfidenceBand<Vec<f64>>;

impl<T> ConfidenceBand<T> {
    /// The same band of something whose values are rounded by so much, at the least by that of their own.
    #[must_use]
    pub fn rounded(self, rounding: f64, values: &[f64]) -> Self {
        let size = values.iter().fold(0.0, |size: f64, y| size.max(y.abs()));
        Self { rounding: rounding.max(NO_WIDTH * size), ..self }
    }

    /// The same band with the p-value of the test that the effect is flat, where it is of refits.
    pub(crate) fn with_p_flat(mut self, p_flat: Option<f64>) -> Self {
        if let Some(record) = &mut self.record.refits {
            record.p_flat = p_flat;
        }
        self
    }

    /// True if limits are apart by rounding alone, so that it means nothing what lies between them. The one
    /// rule for all estimators; missing limits say nothing either.
    #[must_use]
    pub fn is_degenerate(&self, lower: f64, upper: f64) -> bool {
        let width = upper - lower;
        width.is_nan() || width <= self.rounding
    }

    /// Number of values of a curve that lie outside of the limits there, by more than rounding. Limits that are apart though
    /// nothing is by chance bound what the curve is all the same.
    #[must_use]
    pub fn count_outside(&self, values: &[f64], lower: &[f64], upper: &[f64]) -> usize {
        let size = values.iter().fold(0.0, |size: f64, y| size.max(y.abs()));
        let slack = if self.rounding.is_finite() { self.rounding } else { NO_WIDTH * size };
        let limits = lower.iter().zip(upper);
        let is_out = |(y, (lower, upper)): &(&f64, (&f64, &f64))| {
            **y < **lower - slack || **y > **upper + slack
        };
        values.iter().zip(limits).filter(is_out).count()
    }

    /// The caution beside a band of which so many places have no width, more than a tenth, that it must not be read
    /// without being told; none where they are few.
    fn caution_of(&self, lower: &[f64], upper: &[f64]) -> Option<String> {
        let known = lower.iter().zip(upper).filter(|(lower, upper)| !(*upper - *lower).is_nan());
        let (mut places, mut without) = (0, 0);
        for (&lower, &upper) in known {
            places += 1;
            without += usize::from(self.is_degenerate(lower, upper));
        }
        let at = if without < places {
            format!(" at {without} of {places} points")
        } else {
            String::new()
        };
        let alike = match self.record.refits {
            None => "instances do not differ, and how sure the effect is it does not say",
            Some(_) => {
                "refits do not differ, as where the learner can give no such effect, and of the true function it says nothing"
            }
        };
        let seen = if self.rounding.is_infinite() {
            "the width of its band is the estimator's own, and no matter of chance".to_owned()
        } else {
            format!("its band has no width{at}")
        };
        let caution = || format!("{seen}: {alike}");
        super::are_many_empty(without, places).then(caution)
    }

    /// True if all limits are numbers, `values` being those of a limit.
    pub(crate) fn is_finite(&self, values: impl Fn(&T) -> &[f64]) -> bool {
        let finite = |limits: &Limits<T>| {
            let values = || values(&limits.lower).iter().chain(values(&limits.upper));
            // The band `bins` is missing at the start, and where there are fewer than two instances.
            values().all(|y| y.is_finite() || (y.is_nan() && self.simultaneous.is_none()))
        };
        finite(&self.pointwise) && self.simultaneous.as_ref().is_none_or(finite)
    }
}

impl ConfidenceBand {
    /// The caution beside a band without width at more than a tenth of its places; else none.
    #[must_use]
    pub fn caution(&self) -> Option<String> {
        self.caution_of(self.pointwise.lower.y(), self.pointwise.upper.y())
    }
}

impl SurfaceBand {
    /// The caution beside a band without width at more than a tenth of its points; else none.
    #[must_use]
    pub fn caution(&self) -> Option<String> {
        self.caution_of(&self.pointwise.lower, &self.pointwise.upper)
    }
}

/// Record of the computation of a confidence band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BandRecord {
    /// The method; none of a band that somebody else computed.
    pub kind: Option<BandKind>,
    /// The confidence level.
    pub level: f64,
    /// Its meaning.
    #[serde(deserialize_with = "crate::stored::name")]
    pub meaning: Name,
    /// The seed; none if nothing was drawn.
    pub seed: Option<u64>,
    /// Number of resamples.
    pub resamples: Option<usize>,
    /// Resamples that gave no effect and were left out.
    pub failed_resamples: Option<usize>,
    /// The rule for limits from resamples.
    pub interval: Option<Interval>,
    /// True if bins were chosen anew in every resample.
    pub rebin: Option<bool>,
    /// Least degrees of freedom of Student's t along the curve, of the band `analytic`.
    pub least_degrees_of_freedom: Option<f64>,
    /// By how many standard errors the simultaneous limits are away, where normal quantiles count.
    pub critical_value: Option<f64>,
    /// Number of cells, finer than bins, whose curve the band is around; none if it is around that of the effect.
    #[serde(default)]
    pub cells: Option<usize>,
    /// Record of the refits, of the band `refit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refits: Option<RefitRecord>,
}

/// Record of the refits that a band is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefitRecord {
    /// Number of refits, m.
    pub refits: usize,
    /// The scheme by which rows are drawn for each.
    pub resampling: Scheme,
    /// The correction of the variance.
    pub correction: Correction,
    /// Mean number of different rows of a fit, n_train.
    pub fitted_rows: f64,
    /// Mean number of rows that were left out, on which effects were estimated, n_test.
    pub left_out_rows: f64,
    /// The variance of what the band is around as a multiple of the variance over refits, as the correction says.
    pub variance_factor: f64,
    /// p-value of the test that the expected effect of the learner is flat, which of the interaction part of a pair
    /// says that the two features do not interact; none of curves without variance.
    pub p_flat: Option<f64>,
    /// p-value of the test that the effect is flat by permutations, where there are any: of the feature, or for a pair of
    /// the residuals of an additive fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_permuted: Option<f64>,
}

impl BandRecord {
    /// A band of a kind and level of whose computation nothing else is known.
    #[must_use]
    pub const fn new(kind: BandKind, level: f64) -> Self {
        let meaning = if matches!(kind, BandKind::Refit) { MEANING_OF_REFITS } else { MEANING };
        Self { kind: Some(kind), meaning, ..Self::given(level) }
    }

    /// A band of a level that somebody else computed.
    #[must_use]
    pub const fn given(level: f64) -> Self {
        Self {
            kind: None,
            level,
            meaning: MEANING,
            seed: None,
            resamples: None,
            failed_resamples: None,
            interval: None,
            rebin: None,
            least_degrees_of_freedom: None,
            critical_value: None,
            cells: None,
            refits: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_apart_by_rounding_up_to_a_billionth_of_the_curve() {
        let line = |end: f64| Curve::linear(vec![0.0, 1.0], vec![0.0, end]);
        let band = ConfidenceBand {
            pointwise: Limits { lower: line(-4.0), upper: line(-4.0) },
            simultaneous: None,
            rounding: 0.0,
            record: BandRecord::new(BandKind::Analytic, 0.95),
        };
        let certain = band.clone().rounded(0.0, line(-4.0).y());
        assert_eq!(certain.rounding, 4.0 * NO_WIDTH);
        assert!(certain.caution().unwrap().starts_with("its band has no width: "));
        let upper = Curve::linear((0..20).map(f64::from).collect(), vec![1.0; 20]);
        let lower = |zeros: usize| {
            let y = (0..20).map(|i| if i < zeros { 1.0 } else { 0.0 }).collect();
            Limits { lower: Curve::linear(upper.x().to_vec(), y), upper: upper.clone() }
        };
        let of = |zeros| ConfidenceBand { pointwise: lower(zeros), ..band.clone() }.caution();
        assert_eq!(of(2), None);
        assert!(of(3).unwrap().starts_with("its band has no width at 3 of 20 points: "));
        // Limits that are apart though nothing is by chance.
        let sure = ConfidenceBand { pointwise: lower(0), rounding: f64::INFINITY, ..band.clone() };
        assert!(
            sure.caution().unwrap().starts_with("the width of its band is the estimator's own")
        );
        assert_eq!(sure.count_outside(&[0.5, 1.0, 1.5], &[0.0; 3], &[1.0; 3]), 1);
        assert_eq!(band.count_outside(&[1.0, 1.0 + 1e-16], &[1.0; 2], &[1.0; 2]), 0);
        assert_eq!(band.rounded(1e-3, line(-4.0).y()).rounding, 1e-3);
    }
}
