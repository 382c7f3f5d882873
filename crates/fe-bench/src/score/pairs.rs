//! Truths of two features, and of indices, beside estimates of them.

use std::sync::Arc;

use fe_core::effect::Surface;
use fe_core::indices::Index;
use fe_core::settings::Centring;
use fe_truth::{IndexTruth, PairEffect, Quantity, Scenario, Truth};

use super::comparison::Comparison;
use super::estimand::truth_centring;
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
            let (compared, left_out) = comparing.counts();
            if compared == 0 {
                return Err("no grid point lies within the limits of every estimate".to_owned());
            }
            let truths = self.compared(scenario, surface, comparing)?;
            let ComparingPairs { points, comparison, .. } = comparing;
            metric.of_surface(&ScoringSurface {
                surface,
                points,
                truths: &truths,
                comparison,
                left_out,
            })
        };
        scored().unwrap_or_else(Score::failed)
    }

    /// The truth at the points: on all of the grid at once where its constant does not matter.
    fn compared(
        &self,
        scenario: &Scenario,
        surface: &Surface,
        comparing: ComparingPairs<'_>,
    ) -> Result<Vec<Truth>, String> {
        let asked = asked(surface)?;
        if comparing.comparison == Comparison::AsTheyAre {
            let axes = asked.axes.iter().flat_map(|(lo, hi)| [lo, hi]);
            let numbers = bits(axes.chain(comparing.points.into_iter().flatten()));
            return Ok(self.surface(scenario, &asked, numbers, comparing.points)?.to_vec());
        }
        let of_pd = asked.effect == Quantity::Pd && !asked.interaction;
        let centring = if of_pd { fe_truth::Centring::None } else { fe_truth::Centring::Data };
        let axes = asked.features.map(|feature| scenario.axis(feature));
        let asked = PairEffect { axes, centring, ..asked };
        let [first, second] = comparing.grid;
        let numbers = bits(first.iter().chain([&f64::NAN]).chain(second));
        let all = self.surface(scenario, &asked, numbers, comparing.grid)?;
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

/// The question whose answer the effect of a pair estimates.
fn asked(surface: &Surface) -> Result<PairEffect, String> {
    let record = &surface.record;
    let centring = match record.centring {
        // Where the instances lie in their cells makes no difference to the law.
        Centring::Bins => fe_truth::Centring::Data,
        // An accumulated effect begins with 0.
        Centring::None if surface.estimator == "ale" => fe_truth::Centring::Start,
        other => truth_centring(other)?,
    };
    Ok(PairEffect {
        effect: if surface.estimator == "ale" { Quantity::Ale } else { Quantity::Pd },
        features: surface.features,
        axes: [0, 1].map(|side: usize| {
            let axis = record.sides[side].axis;
            (axis.lo(), axis.hi())
        }),
        centring,
        interaction: record.interaction,
    })
}
