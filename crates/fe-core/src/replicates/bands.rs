//! Measures of confidence bands over replicates: whether their widths are those of the curves they are around.

use statrs::distribution::{ContinuousCDF, Normal};

use super::Summary;
use crate::numeric::moments::Moments;

/// The limits of a band at a point, and the truth there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandPoint {
    /// The lower limit.
    pub lower: f64,
    /// The upper limit.
    pub upper: f64,
    /// The truth.
    pub truth: f64,
}

impl BandPoint {
    fn centre(self) -> f64 {
        self.lower + (self.upper - self.lower) / 2.0
    }

    fn holds(self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }
}

/// Measures of bands, averaged over the points (Morris, White and Crowther 2019), each with its Monte Carlo
/// standard error. They are about the centre of the band.
///
/// ```
/// use fe_core::replicates::{BandMeasures, BandPoint};
/// let point = |centre: f64| vec![Some(BandPoint { lower: centre - 1.96, upper: centre + 1.96, truth: 0.0 })];
/// let measures = BandMeasures::of(&[point(-1.0), point(1.0), point(9.0)], 0.95).unwrap();
/// assert!((measures.model_error.mean.unwrap() - 1.0).abs() < 1e-4);
/// assert_eq!(measures.power.mean, Some(1.0 / 3.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandMeasures {
    /// Standard deviation of the centre over the replicates.
    pub empirical_error: Summary,
    /// Root of the mean squared half-width, in quantiles of the normal law.
    pub model_error: Summary,
    /// By which share the model's exceeds the empirical one.
    pub relative_error: Summary,
    /// Share of points at which the band holds the mean of its centre over the replicates in place of the truth.
    pub bias_eliminated_coverage: Summary,
    /// Share of points at which the band tells the effect from 0.
    pub power: Summary,
}

impl BandMeasures {
    /// Names of the measures in files, in the order of [`BandMeasures::values`].
    pub const NAMES: [&str; 5] =
        ["empirical_se", "model_se", "relative_error", "bias_eliminated_coverage", "power"];

    /// The measures in the order of [`BandMeasures::NAMES`].
    #[must_use]
    pub fn values(&self) -> [Summary; 5] {
        [
            self.empirical_error,
            self.model_error,
            self.relative_error,
            self.bias_eliminated_coverage,
            self.power,
        ]
    }

    /// Of the bands of some replicates at the same points, none where one has no band, at their level. None where no
    /// point is in two replicates.
    #[must_use]
    pub fn of(replicates: &[Vec<Option<BandPoint>>], level: f64) -> Option<Self> {
        let places = replicates.iter().map(Vec::len).max()?;
        let mut centres = vec![Moments::default(); places];
        for replicate in replicates {
            for (moments, point) in centres.iter_mut().zip(replicate) {
                if let Some(point) = point {
                    *moments = moments.merge(Moments::single(point.centre(), 1.0));
                }
            }
        }
        let quantile = Normal::standard().inverse_cdf(0.5 + level / 2.0);
        let of_replicate = |replicate: &Vec<Option<BandPoint>>| {
            let mut sums = [0.0; 4];
            let mut count = 0.0;
            for (moments, point) in centres.iter().zip(replicate) {
                let Some(point) = point.filter(|_| moments.weight > 1.0) else { continue };
                let deviation = point.centre() - moments.mean;
                let half = (point.upper - point.lower) / 2.0 / quantile;
                let values = [
                    deviation * deviation * moments.weight / (moments.weight - 1.0),
                    half * half,
                    f64::from(point.holds(moments.mean)),
                    f64::from(!point.holds(0.0)),
                ];
                count += 1.0;
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            (count > 0.0).then(|| sums.map(|sum| sum / count))
        };
        let all: Vec<[f64; 4]> = replicates.iter().filter_map(of_replicate).collect();
        let of = |measure: usize| all.iter().map(|values| values[measure]).collect::<Vec<f64>>();
        let [empirical, model] = [0, 1].map(|measure| Summary::of(&of(measure)));
        let (Some(own), Some(said)) = (empirical.mean, model.mean) else { return None };
        // The error of a ratio of roots, by its derivatives.
        let along = |values: &[f64; 4]| values[1] / (2.0 * said) - values[0] / (2.0 * own);
        let ratio = (said / own).sqrt();
        let error = Summary::of(&all.iter().map(along).collect::<Vec<_>>()).standard_error;
        let is_known = ratio.is_finite();
        let count = all.len();
        Some(Self {
            empirical_error: root(&empirical),
            model_error: root(&model),
            relative_error: Summary::with_error(
                count,
                is_known.then_some(ratio - 1.0),
                error.filter(|_| is_known).map(|error| error * ratio),
            ),
            bias_eliminated_coverage: Summary::of_shares(&of(2)),
            power: Summary::of_shares(&of(3)),
        })
    }
}

/// The root of a mean, with its error.
fn root(summary: &Summary) -> Summary {
    let root = summary.mean.map(f64::sqrt);
    let error = summary.standard_error.zip(root).filter(|(_, root)| *root > 0.0);
    Summary::with_error(summary.count, root, error.map(|(error, root)| error / (2.0 * root)))
}
