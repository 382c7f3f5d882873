//! Confidence bands: whether they hold the truth, and how wide they are.

use fe_core::metric;

use super::{Definition, Measure, OfBand, Scoring};
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

/// The band keeps its distance from the curve wherever the comparison moves that to. Where it has no
/// width there is nothing that sampling could change, and where it is missing nothing to judge.
pub(super) fn score(of: &Scoring<'_>, simultaneous: bool, value: OfBand) -> Result<Score, String> {
    let Some(band) = &of.effect.confidence else {
        return Err(format!(
            "{} has no confidence band here: the option `band` asks for one",
            of.effect.estimator
        ));
    };
    let limits = match (simultaneous, &band.simultaneous) {
        (false, _) => &band.pointwise,
        (true, Some(limits)) => limits,
        (true, None) => return Err("this band is not simultaneous".to_owned()),
    };
    let Comparing { points, comparison, left_out } = of.comparing;
    let at = |curve: &fe_core::Curve| curve.at_all(points).map_err(|e| e.to_string());
    let (estimate, lower, upper) = (at(&of.effect.curve)?, at(&limits.lower)?, at(&limits.upper)?);
    let truths = of.truths.compared(of.scenario, of.estimand, of.effect, points, comparison)?;
    let compared = Compared::new(&estimate, &truths, comparison);
    let judged = |i: &usize| !band.is_degenerate(lower[*i], upper[*i]);
    let judged: Vec<usize> = (0..points.len()).filter(judged).collect();
    if judged.is_empty() {
        return Err(DEGENERATE.to_owned());
    }
    let moved = |limit: &[f64]| -> Vec<f64> {
        judged.iter().map(|&i| limit[i] - estimate[i] + compared.estimate[i]).collect()
    };
    let truth: Vec<f64> = judged.iter().map(|&i| compared.truth[i]).collect();
    let value = value((&moved(&lower), &moved(&upper)), &truth);
    let left_out = left_out + points.len() - judged.len();
    Ok(Score::of(Some(value), &Provenance::of_curve(&truths), judged.len(), left_out))
}
