//! Truths of two features, and of indices, beside estimates of them.

use std::sync::Arc;

use fe_core::Dataset;
use fe_core::effect::Surface;
use fe_core::estimator::pair::PairEstimator;
use fe_core::indices::Index;
use fe_core::settings::Centring;
use fe_truth::{FittedEffects, IndexTruth, PairEffect, Quantity, Scenario, Truth};

use super::comparison::Comparison;
use super::estimand::{truth_centring, truth_of};
use super::metric::ScoringSurface;
use super::truths::{Cache, bits, remember};
use super::{Metric, Score};

/// The pairs of points at which the effects of a pair of features are compared.
#[derive(Debug, Clone, Copy)]
pub struct ComparingPairs<'a> {
    /// The points of either feature within the limits of every estimate.
    pub points: [&'a [f64]; 2],
    /// All points of either, at which the truth is computed once.
    pub grid: [&'a [f64]; 2],
    /// True if both surfaces are centred on the points.
    pub comparison: Comparison,
}

impl ComparingPairs<'_> {
    /// Number of pairs of points, and of those that were left out.
    fn counts(&self) -> (usize, usize) {
        let count = |lists: [&[f64]; 2]| lists[0].len() * lists[1].len();
        let compared = count(self.points);
        (compared, count(self.grid) - compared)
    }
}

/// The question that the truth of a surface answers, with the bits of its numbers.
type SurfaceKey = (Quantity, [usize; 2], fe_truth::Centring, bool, Vec<u64>);

/// Indices and what they are of.
type Asked = Vec<(Index, Vec<usize>)>;

/// The truths of pairs and of indices of a scenario, remembered: they do not depend on the number of rows.
#[derive(Default)]
pub struct PairTruths {
    surfaces: Cache<SurfaceKey, Truth>,
    indices: Cache<Asked, IndexTruth>,
}

impl std::fmt::Debug for PairTruths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PairTruths").finish_non_exhaustive()
    }
}

impl PairTruths {
    /// Scores the effect of a pair against its truth by a metric of curves or of bands, over all pairs of points.
    #[must_use]
    pub fn score(
        &self,
        scenario: &Scenario,
        surface: &Surface,
        comparing: ComparingPairs<'_>,
        metric: Metric,
    ) -> Score {
        let scored = || {
            let truths = self.truths(scenario, &asked(surface)?, comparing)?;
            FirstOfTwo::Estimate(surface).score(&truths, comparing, metric)
        };
        scored().unwrap_or_else(Score::failed)
    }

    /// The truths at the points, centred as they are compared.
    ///
    /// # Errors
    /// The reason why there are none.
    pub fn truths(
        &self,
        scenario: &Scenario,
        asked: &PairEffect,
        comparing: ComparingPairs<'_>,
    ) -> Result<Vec<Truth>, String> {
        compared(scenario, asked, comparing, |asked, numbers, points| {
            self.surface(scenario, asked, numbers, points)
        })
    }

    fn surface(
        &self,
        scenario: &Scenario,
        asked: &PairEffect,
        numbers: Vec<u64>,
        points: [&[f64]; 2],
    ) -> Result<Arc<[Truth]>, String> {
        let key = (asked.effect, asked.features, asked.centring, asked.interaction, numbers);
        remember(&self.surfaces, key, || scenario.surface(asked, points))
    }

    /// The truth of one of some indices; what they share is computed once.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn index(
        &self,
        scenario: &Scenario,
        all: &[(Index, Vec<usize>)],
        asked: (Index, &[usize]),
    ) -> Result<Truth, String> {
        let known = remember(&self.indices, all.to_vec(), || {
            let indices = scenario.indices();
            let truth = |(index, features): &(Index, Vec<usize>)| {
                let index = index.name().parse::<fe_truth::Index>();
                let index = index.map_err(|_| "it has no truth".to_owned())?;
                let truth = indices.index(index, features);
                Ok::<_, String>(IndexTruth { index, features: features.clone(), truth })
            };
            all.iter().map(truth).collect::<Result<Vec<IndexTruth>, String>>()
        })?;
        let place = all.iter().position(|(index, of)| (*index, &of[..]) == asked);
        let truth = place.and_then(|place| known.get(place));
        let truth = truth.ok_or_else(|| format!("`{}` was not asked for", asked.0))?;
        truth.truth.clone().map_err(|error| error.to_string())
    }
}

/// The exact effect of a fitted model at the points, centred as it is compared.
///
/// # Errors
/// The reason why there is none.
pub fn effect_of_model(
    (model, scenario): (&FittedEffects<'_>, &Scenario),
    asked: &PairEffect,
    comparing: ComparingPairs<'_>,
) -> Result<Vec<Truth>, String> {
    compared(scenario, asked, comparing, |asked, _, points| {
        model.surface(asked, points).map(Arc::from).map_err(|error| error.to_string())
    })
}

/// Exact values at the points: of all of the grid at once where their constant does not matter. `known` answers a question
/// with the bits of its numbers.
fn compared(
    scenario: &Scenario,
    asked: &PairEffect,
    comparing: ComparingPairs<'_>,
    known: impl Fn(&PairEffect, Vec<u64>, [&[f64]; 2]) -> Result<Arc<[Truth]>, String>,
) -> Result<Vec<Truth>, String> {
    if comparing.counts().0 == 0 {
        return Err("no grid point lies within the limits of every estimate".to_owned());
    }
    if comparing.comparison == Comparison::AsTheyAre {
        let axes = asked.axes.iter().flat_map(|(lo, hi)| [lo, hi]);
        let numbers = bits(axes.chain(comparing.points.into_iter().flatten()));
        return Ok(known(asked, numbers, comparing.points)?.to_vec());
    }
    let of_pd = asked.effect == Quantity::Pd && !asked.interaction;
    let centring = if of_pd { fe_truth::Centring::None } else { fe_truth::Centring::Data };
    let axes = asked.features.map(|feature| scenario.axis(feature));
    let asked = PairEffect { axes, centring, ..*asked };
    let [first, second] = comparing.grid;
    let numbers = bits(first.iter().chain([&f64::NAN]).chain(second));
    let all = known(&asked, numbers, comparing.grid)?;
    let place = |side: usize, x: &f64| comparing.grid[side].iter().position(|of| of == x);
    let places = |side: usize| -> Option<Vec<usize>> {
        comparing.points[side].iter().map(|x| place(side, x)).collect()
    };
    let (Some(rows), Some(columns)) = (places(0), places(1)) else {
        return Err("points that are none of the grid".to_owned());
    };
    let row = |i: usize| columns.iter().map(move |&k| i * second.len() + k);
    Ok(rows.into_iter().flat_map(row).map(|place| all[place]).collect())
}

/// The first of two effects of a pair of features that are compared: the one that has the error.
#[derive(Debug)]
pub enum FirstOfTwo<'a> {
    /// An estimate.
    Estimate(&'a Surface),
    /// An exact effect at the points.
    Exact(Vec<Truth>),
}

impl FirstOfTwo<'_> {
    /// Scores it against what is exact at the points.
    ///
    /// # Errors
    /// The reason why there is no score.
    pub fn score(
        &self,
        truths: &[Truth],
        comparing: ComparingPairs<'_>,
        metric: Metric,
    ) -> Result<Score, String> {
        let ComparingPairs { points, comparison, .. } = comparing;
        let left_out = comparing.counts().1;
        match self {
            Self::Estimate(surface) => {
                let of = ScoringSurface { surface, points, truths, comparison, left_out };
                metric.of_surface(&of)
            }
            Self::Exact(own) => metric.of_exact((own, truths), comparison, left_out),
        }
    }
}

/// True if there is a truth that an estimated index can be held against.
#[must_use]
pub fn has_truth(index: Index) -> bool {
    index.name().parse::<fe_truth::Index>().is_ok()
}

/// The truth that the effect of a pair is compared with, at all pairs of points, centred as the estimate is: the mean over
/// the instances becomes that over the law.
///
/// # Errors
/// Why there is none.
pub fn truth_beside(
    scenario: &Scenario,
    surface: &Surface,
    points: [&[f64]; 2],
) -> Result<Vec<Truth>, String> {
    scenario.surface(&asked(surface)?, points).map_err(|error| error.to_string())
}

/// The question that an estimator of pairs answers on rows, over the axes of a scenario.
///
/// # Errors
/// A centring that no exact effect has.
pub fn asked_by(
    estimator: &dyn PairEstimator,
    scenario: &Scenario,
    (data, features): (&Dataset, [usize; 2]),
) -> Result<PairEffect, String> {
    let effect = truth_of(estimator.estimand());
    Ok(PairEffect {
        effect,
        features,
        axes: features.map(|feature| scenario.axis(feature)),
        centring: exact_centring(estimator.centring(data, features), effect)?,
        interaction: estimator.is_interaction(),
    })
}

/// The centring of an exact effect that is centred as an estimate of it.
fn exact_centring(centring: Centring, effect: Quantity) -> Result<fe_truth::Centring, String> {
    match centring {
        // Where the instances lie in their cells makes no difference to the law.
        Centring::Bins => Ok(fe_truth::Centring::Data),
        // An accumulated effect begins with 0.
        Centring::None if effect == Quantity::Ale => Ok(fe_truth::Centring::Start),
        other => truth_centring(other),
    }
}

/// The question whose answer the effect of a pair estimates.
///
/// # Errors
/// A centring that no exact effect has.
pub fn asked(surface: &Surface) -> Result<PairEffect, String> {
    let record = &surface.record;
    let effect = if surface.estimator == "ale" { Quantity::Ale } else { Quantity::Pd };
    Ok(PairEffect {
        effect,
        features: surface.features,
        axes: [0, 1].map(|side: usize| {
            let axis = record.sides[side].axis;
            (axis.lo(), axis.hi())
        }),
        centring: exact_centring(record.centring, effect)?,
        interaction: record.interaction,
    })
}
