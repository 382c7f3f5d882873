//! Confidence bands: whether they hold the truth, and how wide they are.

use fe_core::effect::{ConfidenceBand, Limits};
use fe_core::metric;

use super::{Definition, Measure, OfBand, OfTest, Scoring, ScoringSurface};
use crate::score::{Compared, Comparing, DEGENERATE, Provenance, Score};

/// Pointwise coverage.
pub(super) const COVERAGE: Definition = Definition {
    name: "coverage",
    about: "share of the grid on which a confidence band holds the truth",
    is_error: false,
    is_squared: false,
    measure: Measure::Band { simultaneous: false, value: metric::coverage },
};

/// Mean width of a pointwise band.
pub(super) const WIDTH: Definition = Definition {
    name: "width",
    about: "mean width of a confidence band, over the grid",
    is_error: false,
    is_squared: false,
    measure: Measure::Band { simultaneous: false, value: |band, _| metric::mean_width(band) },
};

/// Simultaneous coverage.
pub(super) const SIMULTANEOUS_COVERAGE: Definition = Definition {
    name: "simultaneous_coverage",
    about: "1 where a simultaneous confidence band holds the truth on all of the grid, else 0",
    is_error: false,
    is_squared: false,
    measure: Measure::Band {
        simultaneous: true,
        value: |band, truth| f64::from(metric::coverage(band, truth) == 1.0),
    },
};

/// Mean width of a simultaneous band.
pub(super) const SIMULTANEOUS_WIDTH: Definition = Definition {
    name: "simultaneous_width",
    about: "mean width of a simultaneous confidence band, over the grid",
    is_error: false,
    is_squared: false,
    measure: Measure::Band { simultaneous: true, value: |band, _| metric::mean_width(band) },
};

/// The p-value of the test that an effect is flat.
pub(super) const P_FLAT: Definition = Definition {
    name: "p_flat",
    about: "p-value of the test that the expected effect of the learner is flat, of a band from refits; of the interaction \
            part of a pair, that the two features do not interact",
    is_error: false,
    is_squared: false,
    measure: Measure::Flat(|of| of.p_flat),
};

/// Rejection of a flat effect.
pub(super) const REJECT_FLAT: Definition = Definition {
    name: "reject_flat",
    about: "1 where that p-value is at most 0.05, else 0: the size of the test where the effect is flat, else its power",
    is_error: false,
    is_squared: false,
    measure: Measure::Flat(|of| of.p_flat.map(rejected)),
};

/// The p-value of the test by permutations that an effect is flat.
pub(super) const P_PERMUTED: Definition = Definition {
    name: "p_permuted",
    about: "p-value of that test by permutations of the feature, `flat_permutations`, or for a pair of the residuals of an \
            additive fit, `residual_permutations`",
    is_error: false,
    is_squared: false,
    measure: Measure::Flat(|of| of.p_permuted),
};

/// Rejection of a flat effect by permutations.
pub(super) const REJECT_PERMUTED: Definition = Definition {
    name: "reject_permuted",
    about: "1 where that p-value is at most 0.05, else 0",
    is_error: false,
    is_squared: false,
    measure: Measure::Flat(|of| of.p_permuted.map(rejected)),
};

/// 1 where a p-value rejects at 5 %, else 0.
fn rejected(p: f64) -> f64 {
    f64::from(p <= 0.05)
}

/// The score of the band of an effect.
pub(super) fn score(of: &Scoring<'_>, simultaneous: bool, value: OfBand) -> Result<Score, String> {
    let (band, limits) = limits(of.effect.confidence.as_ref(), simultaneous, of.effect.estimator)?;
    let Comparing { points, comparison, left_out } = of.comparing;
    let at = |curve: &fe_core::Curve| curve.at_all(points).map_err(|e| e.to_string());
    let truths = of.truths.compared(of.scenario, of.estimand, of.effect, points, comparison)?;
    let estimate = at(&of.effect.curve)?;
    let beside = Beside {
        estimate: &estimate,
        limits: (&at(&limits.lower)?, &at(&limits.upper)?),
        compared: Compared::new(&estimate, &truths, comparison),
        provenance: Provenance::of_curve(&truths),
        left_out,
    };
    beside.score(band, value)
}

/// A band from refits at some points, beside the curve that it is held against.
pub(crate) struct HeldBand<'a> {
    pub(crate) band: &'a ConfidenceBand,
    pub(crate) points: &'a [f64],
    pub(crate) against: &'a [f64],
    pub(crate) provenance: Provenance,
    /// Points that were left out already.
    pub(crate) left_out: usize,
}

/// The score of a band from refits. Nothing moves it: it is around a curve of its own, which is centred as the truth is.
pub(super) fn score_of_refits(
    of: &HeldBand<'_>,
    simultaneous: bool,
    value: OfBand,
) -> Result<Score, String> {
    let (band, limits) = limits(Some(of.band), simultaneous, "")?;
    let at = |curve: &fe_core::Curve| curve.at_all(of.points).map_err(|e| e.to_string());
    let (lower, upper) = (at(&limits.lower)?, at(&limits.upper)?);
    let beside = Beside {
        estimate: &lower,
        limits: (&lower, &upper),
        compared: Compared { estimate: lower.clone(), truth: of.against.to_vec() },
        provenance: of.provenance.clone(),
        left_out: of.left_out,
    };
    beside.score(band, value)
}

/// The score of the test that what the band is around is flat.
pub(super) fn score_of_test<T>(band: &ConfidenceBand<T>, value: OfTest) -> Result<Score, String> {
    let value = band.record.refits.as_ref().and_then(value).ok_or_else(|| DEGENERATE.to_owned())?;
    Ok(Score::of(Some(value), &Provenance::NONE, 1, 0))
}

/// The score of the test that the effect of a pair is flat, which of its interaction part says that they do not interact.
pub(super) fn score_of_surface_test(
    of: &ScoringSurface<'_>,
    value: OfTest,
) -> Result<Score, String> {
    let band = of.surface.confidence.as_ref();
    score_of_test(band.ok_or("it has no band from refits: `band` = \"refit\"")?, value)
}

/// The score of the band of a surface.
pub(super) fn score_of_surface(
    of: &ScoringSurface<'_>,
    simultaneous: bool,
    value: OfBand,
) -> Result<Score, String> {
    let ScoringSurface { surface, points, truths, comparison, left_out } = *of;
    let (band, limits) = limits(surface.confidence.as_ref(), simultaneous, surface.estimator)?;
    let at = |values: &[f64]| surface.read_all(values, points).map_err(|e| e.to_string());
    let estimate = at(&surface.values)?;
    let beside = Beside {
        estimate: &estimate,
        limits: (&at(&limits.lower)?, &at(&limits.upper)?),
        compared: Compared::new(&estimate, truths, comparison),
        provenance: Provenance::of_curve(truths),
        left_out,
    };
    beside.score(band, value)
}

/// The band that there must be, and its limits.
fn limits<'a, T>(
    band: Option<&'a ConfidenceBand<T>>,
    simultaneous: bool,
    estimator: &str,
) -> Result<(&'a ConfidenceBand<T>, &'a Limits<T>), String> {
    let Some(band) = band else {
        return Err(format!(
            "{estimator} has no confidence band here: the option `band` asks for one"
        ));
    };
    match (simultaneous, &band.simultaneous) {
        (false, _) => Ok((band, &band.pointwise)),
        (true, Some(limits)) => Ok((band, limits)),
        (true, None) => Err("this band is not simultaneous".to_owned()),
    }
}

/// A band at some points, beside the estimate and the truth there.
struct Beside<'a> {
    estimate: &'a [f64],
    limits: (&'a [f64], &'a [f64]),
    /// The estimate and the truth as they are compared.
    compared: Compared,
    provenance: Provenance,
    /// Points that were left out already.
    left_out: usize,
}

impl Beside<'_> {
    /// The band keeps its distance from the curve wherever the comparison moves that to. Where it has no
    /// width there is nothing that sampling could change, and where it is missing nothing to judge.
    fn score<T>(&self, band: &ConfidenceBand<T>, value: OfBand) -> Result<Score, String> {
        let (estimate, (lower, upper)) = (self.estimate, self.limits);
        let compared = &self.compared;
        let judged = |i: &usize| !band.is_degenerate(lower[*i], upper[*i]);
        let judged: Vec<usize> = (0..estimate.len()).filter(judged).collect();
        if judged.is_empty() {
            return Err(DEGENERATE.to_owned());
        }
        let moved = |limit: &[f64]| -> Vec<f64> {
            judged.iter().map(|&i| limit[i] - estimate[i] + compared.estimate[i]).collect()
        };
        let truth: Vec<f64> = judged.iter().map(|&i| compared.truth[i]).collect();
        let value = value((&moved(lower), &moved(upper)), &truth);
        let left_out = self.left_out + estimate.len() - judged.len();
        Ok(Score::of(Some(value), &self.provenance, judged.len(), left_out))
    }
}
