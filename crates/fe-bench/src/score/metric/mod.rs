//! Metrics: what a study can compute of an estimate.
//!
//! A new one is a `Definition`, in the file of its family or one of its own, and a line in [`METRICS`]. Its
//! `Measure` says what it is made of; whoever scores asks for that, and knows no metric by name.

mod bands;
mod bins;
mod count;
mod distance;
pub(super) mod heterogeneity;
mod index;
mod regions;
mod value;

use std::fmt;
use std::str::FromStr;

use fe_core::Effect;
use fe_core::effect::{Bins, RefitRecord, Surface};
use fe_core::estimator::Estimand;
use fe_truth::{Scenario, Truth};

use super::comparison::{Comparison, Pair};
use super::given_curve::GivenCurve;
pub(crate) use bands::HeldBand;
pub use index::ComparedIndex;
pub(crate) use regions::ScoringTree;
pub(crate) use value::VALUES;

use super::{Compared, Comparing, Provenance, Score, Truths};
use crate::error::{listed, suggestion};

/// All metrics.
pub const METRICS: &[Metric] = &[
    Metric::plain(&distance::MSE),
    Metric::plain(&distance::MAE),
    Metric::plain(&distance::RMSE),
    Metric::plain(&distance::MAX),
    Metric::plain(&bins::EFFECT),
    Metric::plain(&bins::DEVIATION),
    Metric::plain(&bins::ERROR),
    Metric::plain(&heterogeneity::VARIANCE),
    Metric::plain(&heterogeneity::DEVIATION),
    Metric::plain(&value::ERROR),
    Metric::plain(&value::SQUARE),
    Metric::plain(&value::SIGN),
    Metric::plain(&bands::COVERAGE),
    Metric::plain(&bands::WIDTH),
    Metric::plain(&bands::SIMULTANEOUS_COVERAGE),
    Metric::plain(&bands::SIMULTANEOUS_WIDTH),
    Metric::plain(&bands::P_FLAT),
    Metric::plain(&bands::REJECT_FLAT),
    Metric::plain(&bands::P_PERMUTED),
    Metric::plain(&bands::REJECT_PERMUTED),
    Metric::plain(&count::BINS),
    Metric::plain(&count::EMPTY_BINS),
    Metric::plain(&count::INFEASIBLE),
    Metric::plain(&regions::LEAF_MSE),
    Metric::plain(&regions::REGION_REGRET),
    Metric::plain(&regions::SPLIT_FEATURE),
    Metric::plain(&regions::SPLIT_ERROR),
    Metric::plain(&regions::LEAVES),
    Metric::plain(&index::ERROR),
    Metric::plain(&index::SQUARE),
];

/// One of [`METRICS`], or one of them of a named heterogeneity value.
#[derive(Clone, Copy)]
pub struct Metric {
    definition: &'static Definition,
    /// Its name in files, and the heterogeneity value that it is of, if one is named.
    of: Option<(&'static str, &'static str)>,
}

/// Definition of a metric.
struct Definition {
    /// Its name in files.
    name: &'static str,
    /// Its meaning.
    about: &'static str,
    /// True if it is an error, so that the lowest value is the best.
    is_error: bool,
    /// True if its unit is the square of that of f.
    is_squared: bool,
    measure: Measure,
}

/// Errors below this share of the largest one are exact but for rounding; squared errors below its square.
const ROUNDING: f64 = 1e-10;

/// The value of two curves on the same points, the estimate and the truth.
pub(crate) type OfCurves = fn(&[f64], &[f64]) -> f64;

/// The value of a band, lower and upper, and the truth.
type OfBand = fn((&[f64], &[f64]), &[f64]) -> f64;

/// The value of the tests that come with a band from refits.
type OfTest = fn(&RefitRecord) -> Option<f64>;

/// Material of a metric.
enum Measure {
    /// An estimated curve and the true one, on the same points.
    Curves(OfCurves),
    /// A confidence band, lower and upper, and the truth.
    Band { simultaneous: bool, value: OfBand },
    /// The p-value of the test that comes with a band from refits.
    Flat(OfTest),
    /// A heterogeneity value less the true one, and the bound on the truth.
    Value(value::OfDifference),
    /// A heterogeneity curve and the true one: variances, or their roots.
    Heterogeneity { roots: bool, value: OfCurves },
    /// Bins, beside what is true in each.
    Bins(fn(&Scoring<'_>, &Bins) -> Result<Score, String>),
    /// Bins, without any truth.
    Count(fn(&Effect, &Bins) -> usize),
    /// A tree of regions; of the population's tree as well, or not.
    Regions { needs_population: bool, value: fn(&ScoringTree<'_>) -> Result<Score, String> },
    /// An index less the true one.
    Index(index::OfDifference),
}

/// Kinds of estimates that metrics are computed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstimateKind {
    /// The effect of a feature.
    Effect,
    /// A tree of regions.
    Tree,
    /// The effect of a pair of features.
    Surface,
    /// An index.
    Index,
}

impl fmt::Display for EstimateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Effect => "effects without regions",
            Self::Tree => "trees of regions",
            Self::Surface => "effects of pairs",
            Self::Index => "indices",
        })
    }
}

/// An effect with what it is compared with.
pub(crate) struct Scoring<'a> {
    pub(crate) truths: &'a Truths,
    pub(crate) scenario: &'a Scenario,
    pub(crate) estimand: Estimand,
    pub(crate) effect: &'a Effect,
    pub(crate) comparing: Comparing<'a>,
}

/// The effect of a pair with the truths that it is compared with.
#[derive(Clone, Copy)]
pub(crate) struct ScoringSurface<'a> {
    pub(crate) surface: &'a Surface,
    /// The points of either feature.
    pub(crate) points: [&'a [f64]; 2],
    /// The truths at all pairs of points.
    pub(crate) truths: &'a [Truth],
    pub(crate) comparison: Comparison,
    /// Pairs of points that were left out.
    pub(crate) left_out: usize,
}

impl Metric {
    const fn plain(definition: &'static Definition) -> Self {
        Self { definition, of: None }
    }

    /// The metrics that a name stands for, each of all the heterogeneity values that are named:
    /// `heterogeneity_value` stands for the difference, its square and its sign, other names for themselves.
    ///
    /// # Errors
    /// A name that is unknown, and heterogeneity values of a metric that is of none.
    pub fn asked(name: &str, values: &[String]) -> Result<Vec<Self>, String> {
        let metric: Self = name.parse()?;
        let is_of_value = matches!(metric.definition.measure, Measure::Value(_));
        if !is_of_value || metric.of.is_some() || values.is_empty() {
            return Ok(metric.all());
        }
        let named = values.iter().map(|value| {
            let of_value = metric.of_value(value).ok_or_else(|| unknown_value(value))?;
            Ok::<_, String>(of_value.all())
        });
        Ok(named.collect::<Result<Vec<_>, String>>()?.concat())
    }

    /// Itself, or the three that it stands for.
    fn all(self) -> Vec<Self> {
        if self.definition.name != value::ERROR.name {
            return vec![self];
        }
        let of = |definition: &'static Definition| {
            let plain = Self::plain(definition);
            self.value().map_or(Some(plain), |value| plain.of_value(value))
        };
        value::ALL.into_iter().filter_map(of).collect()
    }

    /// Itself of a named heterogeneity value; none where there is none of that name.
    fn of_value(self, value: &str) -> Option<Self> {
        let place = value::ALL.iter().position(|of| of.name == self.definition.name)?;
        let (value, names) = value::NAMES.iter().find(|(known, _)| *known == value)?;
        Some(Self { of: Some((names[place], *value)), ..self })
    }

    /// The heterogeneity value that it is of, where one is named.
    #[must_use]
    pub fn value(self) -> Option<&'static str> {
        self.of.map(|(_, value)| value)
    }

    /// True if it is of a heterogeneity value.
    #[must_use]
    pub fn is_of_values(self) -> bool {
        matches!(self.definition.measure, Measure::Value(_))
    }

    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.of.map_or(self.definition.name, |(name, _)| name)
    }

    /// Its meaning.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.definition.about
    }

    /// True if it is an error, so that the lowest value is the best.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.definition.is_error
    }

    /// True if its unit is the square of that of f.
    #[must_use]
    pub fn is_squared(self) -> bool {
        self.definition.is_squared
    }

    /// Its unit, in that of f; none where it has none or that of something else, such as slopes and variances.
    #[must_use]
    pub fn unit(self) -> Option<&'static str> {
        match self.definition.measure {
            Measure::Curves(_) if self.is_squared() => Some("f²"),
            Measure::Curves(_) => Some("f"),
            Measure::Band { .. } => (!self.is_coverage()).then_some("f"),
            _ => None,
        }
    }

    /// Largest mean that is rounding of a number which is exact, beside others of which `most` is the largest, where values of
    /// the function are as large as `size`; none where it is no error.
    #[must_use]
    pub fn rounding(self, most: f64, size: f64) -> Option<f64> {
        let (share, unit) = match self.is_squared() {
            true => (ROUNDING * ROUNDING, size * size),
            false => (ROUNDING, size),
        };
        // What is all rounding has nothing to be compared with but the function.
        self.is_error().then(|| share * most.max(1e-3 * unit))
    }

    /// True if it is made of curves alone, and not of bins or heterogeneity.
    #[must_use]
    pub fn is_of_curves(self) -> bool {
        matches!(self.definition.measure, Measure::Curves(_) | Measure::Band { .. })
    }

    /// True if it comes with bands from refits alone.
    #[must_use]
    pub fn is_of_refits(self) -> bool {
        matches!(self.definition.measure, Measure::Flat(_))
    }

    /// True if it comes with permutations of the feature alone.
    #[must_use]
    pub fn is_of_permutations(self) -> bool {
        self.is_one_of(&[&bands::P_PERMUTED, &bands::REJECT_PERMUTED])
    }

    /// True if it is 0 or 1, or a share of points, of each dataset.
    #[must_use]
    pub fn is_share(self) -> bool {
        self.is_coverage() || self.is_one_of(&[&bands::REJECT_FLAT, &bands::REJECT_PERMUTED])
    }

    /// True if it speaks of confidence bands.
    #[must_use]
    pub fn is_of_bands(self) -> bool {
        matches!(self.definition.measure, Measure::Band { .. } | Measure::Flat(_))
    }

    /// True if it counts, and so is no error.
    #[must_use]
    pub fn is_count(self) -> bool {
        matches!(self.definition.measure, Measure::Count(_))
    }

    /// True if it is made of a tree of regions.
    #[must_use]
    pub fn is_of_regions(self) -> bool {
        matches!(self.definition.measure, Measure::Regions { .. })
    }

    /// True if it can be computed of estimates of a kind.
    #[must_use]
    pub fn is_for(self, kind: EstimateKind) -> bool {
        use EstimateKind::{Effect, Index, Surface, Tree};
        let kinds: &[EstimateKind] = match self.definition.measure {
            Measure::Curves(_) => &[Effect, Surface],
            Measure::Band { simultaneous: false, .. } => &[Effect, Surface, Index],
            Measure::Band { simultaneous: true, .. } | Measure::Flat(_) => &[Effect, Surface],
            Measure::Value(_) => &[Effect, Tree],
            Measure::Regions { .. } => &[Tree],
            Measure::Index(_) => &[Index],
            Measure::Heterogeneity { .. } | Measure::Bins(_) | Measure::Count(_) => &[Effect],
        };
        kinds.contains(&kind)
    }

    /// True if it is no error, so that it has no order of convergence: a share, a number of leaves, a
    /// difference with its sign.
    #[must_use]
    pub fn has_no_order(self) -> bool {
        let may_have_none = matches!(
            self.definition.measure,
            Measure::Regions { .. } | Measure::Value(_) | Measure::Index(_)
        );
        self.is_coverage() || self.is_of_refits() || may_have_none && !self.is_error()
    }

    /// True if it is how often confidence bands hold the truth, which the level of confidence says how often they should.
    #[must_use]
    pub fn is_coverage(self) -> bool {
        self.is_one_of(&[&bands::COVERAGE, &bands::SIMULTANEOUS_COVERAGE])
    }

    /// True if it is defined by one of these. They are told by their names, as constants have no place of their own.
    fn is_one_of(self, definitions: &[&Definition]) -> bool {
        definitions.iter().any(|definition| definition.name == self.definition.name)
    }

    /// True if it compares a tree with that of the population.
    #[must_use]
    pub fn needs_population(self) -> bool {
        matches!(self.definition.measure, Measure::Regions { needs_population: true, .. })
    }

    /// The reason why a value of it may be degenerate, for readers.
    #[must_use]
    pub fn degenerate(self) -> &'static str {
        if self.is_of_regions() {
            "no first split of a feature that the population splits first"
        } else {
            "limits of a band that chance has no part in, as nothing is uncertain"
        }
    }

    /// True if it can be computed of any two effects that are compared, fitted models among them.
    #[must_use]
    pub fn is_of_pairs(self) -> bool {
        matches!(self.definition.measure, Measure::Curves(_) | Measure::Count(_))
            || self.is_of_bands()
    }

    /// True if it is computed of a pair of effects: bands are held against what the same rows do not decide.
    #[must_use]
    pub fn is_of_pair(self, pair: Pair) -> bool {
        self.is_of_pairs() && (pair.has_band() || !self.is_of_bands())
    }

    /// The score of an effect against the truth of its estimand.
    pub(crate) fn of_effect(self, of: &Scoring<'_>) -> Score {
        let scored = match (&self.definition.measure, &of.effect.bins) {
            (Measure::Curves(value), _) => distance::score(of, *value),
            (Measure::Heterogeneity { roots, value }, _) => {
                heterogeneity::score(of, *roots, *value)
            }
            (Measure::Band { simultaneous, value }, _) => bands::score(of, *simultaneous, *value),
            (Measure::Flat(_), _) => Err("there is no test without refits".to_owned()),
            (Measure::Regions { .. }, _) => Err(format!("{} has no regions", of.effect.estimator)),
            (Measure::Value(value), _) => value::score(of, self.value(), *value),
            (Measure::Index(_), _) => Err(format!("{} is no index", of.effect.estimator)),
            (_, None) => Err(format!("{} has no bins", of.effect.estimator)),
            (Measure::Count(count), Some(bins)) => {
                let (count, all) = (count(of.effect, bins), bins.partition.bins());
                Ok(Score::of(Some(count as f64), &Provenance::NONE, all, 0))
            }
            (Measure::Bins(score), Some(bins)) => score(of, bins),
        };
        scored.unwrap_or_else(Score::failed)
    }

    /// The score of the effect of a pair against the truths at its points.
    pub(crate) fn of_surface(self, of: &ScoringSurface<'_>) -> Result<Score, String> {
        match self.definition.measure {
            Measure::Band { simultaneous, value } => {
                return bands::score_of_surface(of, simultaneous, value);
            }
            Measure::Flat(value) => return bands::score_of_surface_test(of, value),
            _ => {}
        }
        let estimate = of.surface.at_all(of.points).map_err(|e| e.to_string())?;
        let both = Compared::new(&estimate, of.truths, of.comparison);
        let value = self.of_curves(&both.estimate, &both.truth);
        Ok(Score::of(value, &Provenance::of_curve(of.truths), of.truths.len(), of.left_out))
    }

    /// The score of what is exact at some points against something else that is, within the bounds of both.
    pub(crate) fn of_exact(
        self,
        (own, truths): (&[Truth], &[Truth]),
        comparison: Comparison,
        left_out: usize,
    ) -> Result<Score, String> {
        if self.is_of_bands() || !self.is_of_curves() {
            return Err(format!("`{}` is of an estimate, and both effects are exact", self.name()));
        }
        let values: Vec<f64> = own.iter().map(|truth| truth.value).collect();
        let both = Compared::new(&values, truths, comparison);
        let value = self.of_curves(&both.estimate, &both.truth);
        let doubt = |(own, truth): (&Truth, &Truth)| Truth {
            abs_error: own.abs_error + truth.abs_error,
            method: own.method.max(truth.method),
            ..*truth
        };
        let doubts: Vec<Truth> = own.iter().zip(truths).map(doubt).collect();
        Ok(Score::of(value, &Provenance::of_curve(&doubts), truths.len(), left_out))
    }

    /// The score of a band from refits, or of the test that comes with it; none where it is made of something else.
    pub(crate) fn of_refits(self, of: &HeldBand<'_>) -> Option<Score> {
        let score = match self.definition.measure {
            Measure::Band { simultaneous, value } => {
                bands::score_of_refits(of, simultaneous, value)
            }
            Measure::Flat(value) => bands::score_of_test(of.band, value),
            _ => return None,
        };
        Some(score.unwrap_or_else(Score::failed))
    }

    /// The score of a tree of regions against those of the population.
    pub(crate) fn of_tree(self, of: &ScoringTree<'_>) -> Score {
        let scored = match self.definition.measure {
            Measure::Regions { value, .. } => value(of),
            Measure::Value(value) => regions::heterogeneity_value(of, self.value(), value),
            _ => Err(format!("a tree of regions has no {}", self.name())),
        };
        scored.unwrap_or_else(Score::failed)
    }

    /// The score of an index against the true one.
    pub(crate) fn of_index(self, of: &ComparedIndex) -> Score {
        match self.definition.measure {
            Measure::Index(value) => index::difference(of, value),
            Measure::Band { simultaneous: false, value } => {
                index::interval(of, value).unwrap_or_else(Score::failed)
            }
            _ => Score::failed(format!("an index has no {}", self.name())),
        }
    }

    /// The value of two curves on the same points; none if it is made of something else.
    pub(crate) fn of_curves(self, first: &[f64], second: &[f64]) -> Option<f64> {
        match self.definition.measure {
            Measure::Curves(value) => Some(value(first, second)),
            _ => None,
        }
    }

    /// The count of the bins of an effect; none if it does not count.
    pub(crate) fn of_bins(self, effect: &Effect, bins: &Bins) -> Option<usize> {
        match self.definition.measure {
            Measure::Count(count) => Some(count(effect, bins)),
            _ => None,
        }
    }

    /// For a metric of heterogeneity, whether it is made of standard deviations, and its value of two curves.
    pub(crate) fn of_heterogeneity(self) -> Option<(bool, OfCurves)> {
        match self.definition.measure {
            Measure::Heterogeneity { roots, value } => Some((roots, value)),
            _ => None,
        }
    }

    /// The score of a curve that was computed elsewhere, against the truths at its points; none where the
    /// metric is made of something that such a curve does not have.
    pub(crate) fn of_given(
        self,
        curve: &GivenCurve,
        truths: &[Truth],
        comparison: Comparison,
        left_out: usize,
    ) -> Option<Score> {
        let compared = Compared::new(&curve.effect, truths, comparison);
        let value = match (&self.definition.measure, &curve.band) {
            (Measure::Curves(value), _) => value(&compared.estimate, &compared.truth),
            (Measure::Band { simultaneous: false, value }, Some((lower, upper))) => {
                // The band keeps its distance from the curve wherever that is moved to.
                let moved = |limit: &[f64]| -> Vec<f64> {
                    let distances = limit.iter().zip(&curve.effect).map(|(limit, y)| limit - y);
                    compared
                        .estimate
                        .iter()
                        .zip(distances)
                        .map(|(y, distance)| y + distance)
                        .collect()
                };
                value((&moved(lower), &moved(upper)), &compared.truth)
            }
            _ => return None,
        };
        let none = truths.is_empty();
        let provenance = if none { Provenance::NONE } else { Provenance::of_curve(truths) };
        Some(Score::of((!none).then_some(value), &provenance, truths.len(), left_out))
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Metric {}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    /// The metric of a name, to which that of a heterogeneity value may be added behind a point.
    fn from_str(text: &str) -> Result<Self, String> {
        let names = || METRICS.iter().map(|metric| metric.name());
        let known = |name: &str| METRICS.iter().copied().find(|metric| metric.name() == name);
        if let Some((metric, value)) = text.split_once('.')
            && let Some(metric) = known(metric).filter(|metric| metric.is_of_values())
        {
            return metric.of_value(value).ok_or_else(|| unknown_value(value));
        }
        known(text).ok_or_else(|| {
            format!(
                "unknown metric `{text}`{}; allowed are {}",
                suggestion(text, names()),
                listed(names())
            )
        })
    }
}

fn unknown_value(value: &str) -> String {
    let known = || value::VALUES.iter().copied();
    let suggestion = suggestion(value, known());
    format!(
        "unknown heterogeneity value `{value}`{suggestion}; those with a truth are {}",
        listed(known())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own() {
        for metric in METRICS {
            assert_eq!(metric.name().parse::<Metric>().unwrap(), *metric);
            assert_eq!(METRICS.iter().filter(|other| *other == metric).count(), 1, "{metric:?}");
        }
    }

    #[test]
    fn a_heterogeneity_value_is_three_metrics_with_names_that_are_read_again() {
        let values = ["integral".to_owned(), "mean_bins".to_owned()];
        let all = Metric::asked("heterogeneity_value", &values).unwrap();
        let names: Vec<&str> = all.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[1], "heterogeneity_value_square.integral");
        assert_eq!(names[5], "heterogeneity_value_sign.mean_bins");
        for (name, metric) in names.iter().zip(&all) {
            assert_eq!(name.parse::<Metric>().unwrap(), *metric);
        }
        assert_eq!(Metric::asked("mse", &values).unwrap(), ["mse".parse::<Metric>().unwrap()]);
        let wrong = "heterogeneity_value.integrals".parse::<Metric>().unwrap_err();
        assert!(wrong.contains("`integral`"), "{wrong}");
        assert!("mse.integral".parse::<Metric>().is_err());
    }

    #[test]
    fn values_that_regions_lower_have_a_truth() {
        for info in fe_core::regional::ALL {
            for value in info.heterogeneity {
                assert!(value::VALUES.contains(value), "{value}");
            }
        }
    }
}
