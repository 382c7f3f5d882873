//! The best split of the other features by one of them: the regional optimum.
//!
//! A split puts rows with x_t ≤ p to the left and those with x_t > p to the right, or rows with x_t = v and
//! those with another level, and each side has the law of the features given that. It is judged by the heterogeneity of the feature of
//! interest on both sides, over the same axis, weighted with their probabilities.

use serde::Serialize;

use super::curves::finite_coordinate;
use crate::engine::{Engine, LocalQuantity, Rest};
use crate::error::Error;
use crate::law::levels::Levels;
use crate::law::region::Region;
use crate::numeric::quadrature::{Estimate, integrate, within};
use crate::quantity::{Evaluation, Regional, Truth};
use crate::scenario::Scenario;
use crate::scenario::closed_forms::{InBox, Spread};

/// The best split of one feature's effect by a heterogeneity value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RegionalTruth {
    /// Name of the heterogeneity value, as in [`Scenario::values`]. It is in squared units of f
    /// for `pdp.mean`, per squared unit of the feature besides for `dpdp.mean`, and integrated
    /// over the axis for `ale.integral` and `ale.integral_sd`.
    pub heterogeneity: &'static str,
    /// The value under the law of all rows.
    pub before: Truth,
    /// The split that lowers it most; none if no split lowers it.
    pub split: Option<Split>,
    /// Number of further splits that lower it as much, such as mirror images.
    pub ties: usize,
}

impl RegionalTruth {
    /// The weighted heterogeneity after the split, or what it was if there is none.
    #[must_use]
    pub fn weighted(&self) -> Truth {
        self.split.map_or(self.before, |split| split.weighted)
    }
}

/// A split of the rows by the position of one feature, and the heterogeneity on either side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Split {
    /// The feature t that splits, counted from 0.
    pub feature: usize,
    /// The position p: rows with x_t ≤ p are left, the others right. Of a
    /// [nominal](Scenario::is_nominal) feature the level whose rows are left.
    pub position: f64,
    /// A bound on the error of the position; 0 where f breaks and the position is known exactly.
    pub position_error: f64,
    /// Heterogeneity of the rows on the left.
    pub left: Truth,
    /// Heterogeneity of the rows on the right.
    pub right: Truth,
    /// P(left)·left + P(right)·right, the smallest of all splits.
    pub weighted: Truth,
}

/// Features that a term may read: integrals over regions of more take too long.
const MOST_FEATURES: usize = 3;
/// Positions per splitting feature, evenly spread in probability, at which the search begins.
const CANDIDATES: usize = 32;
/// Probability of either tail in which no split is looked for.
const TAIL: f64 = 1e-4;
/// Less than this share of a region is none of it: to move the rest by as much is rounding.
const NOTHING: f64 = 1e-10;
/// Most times that what lies closer to an end of a feature's range than its rounding, or that of its probability, may be
/// what it would be if the variance were the same there as beside it: of one that grows like a power x^-p it is 1 / (1 − p).
/// It is left out where the law is not known there, for having no probability.
const AT_AN_END: f64 = 1000.0;
/// Width to which the golden section encloses a minimum, relative to the cell of the grid.
const ROUGH: f64 = 1e-3;
/// A split lowers the heterogeneity if it does by more than this share: less is rounding.
const LEAST_DROP: f64 = 1e-9;
/// Positions that differ by no more than this share are the same minimum.
const SAME: f64 = 1e-5;
/// Largest error of a value, relative to 1 + its size: with more it is not given.
const TOLERANCE: f64 = 1e-7;

impl Scenario {
    /// The true regional optimum of a feature, counted from 0, over its range: for each
    /// heterogeneity value of the method the single split of another feature, at a position of
    /// that feature, with the smallest weighted heterogeneity (EFFECTOR App. B with all positions
    /// as candidates and depth 1).
    ///
    /// Where the weighted heterogeneity has several minima, they are told apart on a grid of
    /// quantiles of the splitting feature, from 0.0001 to 0.9999, and the places where f breaks.
    /// Of equally good splits the first is given, by feature and then by position.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], and [`Error::NoRegionalOptimum`] where the law of the features
    /// given a region cannot be integrated accurately.
    ///
    /// ```
    /// use fe_truth::{Regional, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// let set = [("mu2".into(), "1.5".into()), ("rho".into(), "0".into())];
    /// let optimum = scenario("liu-product", &set)?.regional(Regional::Dpdp, 0)?[0];
    /// // The derivative is x2, whose variance is least when it is split at its mean.
    /// let split = optimum.split.unwrap();
    /// assert_eq!(split.feature, 1);
    /// assert!((split.position - 1.5).abs() < 1e-9);
    /// assert!((split.weighted.value - (1.0 - std::f64::consts::FRAC_2_PI)).abs() < 1e-9);
    /// # Ok(())
    /// # }
    /// ```
    pub fn regional(&self, method: Regional, feature: usize) -> Result<Vec<RegionalTruth>, Error> {
        self.check_feature(feature)?;
        self.check_regional(method, feature)?;
        let heterogeneities: &[Heterogeneity<'_>] = match method {
            Regional::Ale | Regional::Rhale => {
                &[Heterogeneity::AleIntegral, Heterogeneity::AleIntegralSd]
            }
            _ => &[Heterogeneity::of_method(method)],
        };
        heterogeneities.iter().map(|&value| self.optimum(value, feature)).collect()
    }

    /// The true regional optimum of a feature, counted from 0, by the heterogeneity of its finite
    /// differences over the bins between neighbouring limits, jumps of f included:
    /// `ale.integral` = Σ Var(difference | x_s in the bin) / width.
    ///
    /// # Errors
    /// As [`Scenario::regional`] and [`Scenario::differences`].
    ///
    /// ```
    /// // f jumps by 6 x1 as x3 passes 0, and has no derivative along x3 that differs between rows.
    /// let scenario = fe_truth::scenario("effector-regional", &[]).unwrap();
    /// let optimum = scenario.regional_differences(2, &[-1.0, 0.0, 0.5, 1.0]).unwrap();
    /// assert!((optimum.before.value - 12.0 / 0.5).abs() < 1e-9);
    /// assert_eq!(optimum.split.unwrap().feature, 0);
    /// ```
    pub fn regional_differences(
        &self,
        feature: usize,
        limits: &[f64],
    ) -> Result<RegionalTruth, Error> {
        self.check_feature(feature)?;
        self.check_regional(Regional::Ale, feature)?;
        self.check_differences(feature, limits)?;
        self.optimum(Heterogeneity::Differences(limits), feature)
    }

    /// Refuses methods that a feature with levels does not have, and a region that leaves nothing of its range.
    pub(super) fn check_regional(&self, method: Regional, feature: usize) -> Result<(), Error> {
        self.begin();
        if method != Regional::Shapdp {
            self.check_density(feature, &format!("regions by `{}`", method.name()))?;
        }
        self.check_axis(feature, self.axis(feature))
    }

    /// Refuses bins of whose finite differences nothing is known.
    pub(super) fn check_differences(&self, feature: usize, limits: &[f64]) -> Result<(), Error> {
        let known = Heterogeneity::Differences(limits).known(self, &self.parts.engine, feature);
        if known.is_none() {
            self.differences(feature, limits)?;
        }
        Ok(())
    }

    /// Number of features without levels of the widest of the terms that f is the sum of and that read a feature, counted from
    /// 0: what a criterion of regions is an integral over. 0 if f does not read it.
    ///
    /// ```
    /// let scenario = fe_truth::scenario("friedman1", &[]).unwrap();
    /// let widths: Vec<usize> = (0..6).map(|feature| scenario.widest_term(feature)).collect();
    /// assert_eq!(widths, [2, 2, 1, 1, 1, 0]);
    /// ```
    #[must_use]
    pub fn widest_term(&self, feature: usize) -> usize {
        widest_term(&self.parts.engine, feature)
    }

    fn optimum(&self, heterogeneity: Heterogeneity<'_>, s: usize) -> Result<RegionalTruth, Error> {
        let unknown = || self.no_optimum(heterogeneity, s);
        let whole = Place::whole(self, heterogeneity, s).ok_or_else(unknown)?;
        let search = Search::new(self, s, heterogeneity, vec![(&whole, 1.0)], None);
        search.optimum().ok_or_else(unknown)
    }

    pub(crate) fn no_optimum(&self, heterogeneity: Heterogeneity<'_>, feature: usize) -> Error {
        let (scenario, heterogeneity) = (self.info().name, heterogeneity.name());
        let feature = self.feature_name(feature);
        Error::NoRegionalOptimum { scenario, feature, heterogeneity }
    }
}

/// Number of features without levels of the widest term that reads a feature.
fn widest_term(engine: &Engine, s: usize) -> usize {
    let width = |t: usize| {
        let features = engine.terms[t].features().iter();
        features.filter(|&&feature| !engine.has_levels(feature)).count()
    };
    engine.readers(s).into_iter().map(width).max().unwrap_or(0)
}

/// Criterion that a split shall lower: a value of [`Scenario::values`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Heterogeneity<'a> {
    PdpMean,
    DpdpMean,
    AleIntegral,
    AleIntegralSd,
    ShapMean,
    /// As [`Self::AleIntegral`], of the finite differences over bins between these limits.
    Differences(&'a [f64]),
}

impl<'a> Heterogeneity<'a> {
    /// The one that regions of a method lower unless told otherwise.
    pub(crate) const fn of_method(method: Regional) -> Self {
        match method {
            Regional::Pdp => Self::PdpMean,
            Regional::Dpdp => Self::DpdpMean,
            Regional::Ale | Regional::Rhale => Self::AleIntegral,
            Regional::Shapdp => Self::ShapMean,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::PdpMean => "pdp.mean",
            Self::DpdpMean => "dpdp.mean",
            Self::AleIntegral | Self::Differences(_) => "ale.integral",
            Self::AleIntegralSd => "ale.integral_sd",
            Self::ShapMean => "shap.mean",
        }
    }

    const fn spread(self) -> Spread<'a> {
        match self {
            Self::PdpMean => Spread::Centred,
            Self::DpdpMean | Self::AleIntegral => Spread::Slope,
            Self::AleIntegralSd => Spread::SlopeRoot,
            Self::ShapMean => Spread::Shapley,
            Self::Differences(limits) => Spread::Difference(limits),
        }
    }

    /// A value that the scenario knows in closed form.
    fn known(self, scenario: &Scenario, engine: &Engine, s: usize) -> Option<Estimate> {
        let axis = scenario.axis(s);
        if let Self::Differences(limits) = self {
            scenario.binned(s, limits).ok()?;
            let (low, high) = engine.margin(s).support();
            limits.iter().all(|limit| (low..=high).contains(limit)).then_some(())?;
        }
        let asked = InBox { feature: s, axis, engine };
        let value = scenario.forms()?.in_box(self.spread(), &asked)?;
        Some(match self {
            Self::PdpMean | Self::DpdpMean => value.times(1.0 / (axis.1 - axis.0)),
            _ => value,
        })
    }

    /// The value of a feature over its range in a whole scenario, under the law of an engine.
    fn of(self, scenario: &Scenario, engine: &Engine, region: &Region, s: usize) -> Estimate {
        if let Some(known) = self.known(scenario, engine, s) {
            return known;
        }
        let axis = scenario.axis(s);
        let (rest, local) = match self {
            Self::PdpMean => (Rest::Marginal, LocalQuantity::Centred { feature: s, axis }),
            Self::DpdpMean => (Rest::Marginal, LocalQuantity::Partial(s)),
            Self::AleIntegral | Self::AleIntegralSd => {
                (Rest::Conditional, LocalQuantity::Partial(s))
            }
            Self::ShapMean => (Rest::Conditional, LocalQuantity::Shapley(s)),
            Self::Differences(limits) => {
                return of_differences(&scenario.under(engine.clone(), region), limits, s);
            }
        };
        let law = engine.margin(s);
        let over_law = self == Self::ShapMean;
        if let (true, Some(levels)) = (over_law, law.levels()) {
            let variance = |x| engine.variance_of(s, x, rest, local);
            return Estimate::sum(levels.iter().map(|(x, p)| variance(x).times(p)));
        }
        let at = |u: f64| {
            let variance = engine.variance_of(s, law.place(u), rest, local);
            if self == Self::AleIntegralSd { variance.sqrt() } else { variance }
        };
        let resolution = engine.resolution(s);
        let between = |ends: [f64; 2]| {
            let [integral] = integrate(&within(&resolution, ends[0], ends[1]), 0.0, |u| {
                [at(u).times(if over_law { law.weight(u) } else { law.stretch(u) })]
            });
            integral
        };
        let panels = law.panels();
        let (ends, length) = match over_law {
            true => ([panels[0], panels[panels.len() - 1]], 1.0),
            false => ([axis.0, axis.1].map(|x| finite_coordinate(law, x)), axis.1 - axis.0),
        };
        let mut integral = between(ends);
        if !integral.value.is_finite() {
            let rounding = f64::EPSILON * length;
            let near_ends = match over_law {
                true => [rounding, 1.0 - rounding].map(|p| law.quantile(p)),
                false => [axis.0 + rounding, axis.1 - rounding],
            };
            let ends = near_ends.map(|x| law.coordinate(x));
            let left_out = Estimate::sum(ends.map(at)).times(AT_AN_END * rounding);
            integral = between(ends);
            integral.error += left_out.value.abs() + left_out.error;
        }
        match self {
            Self::PdpMean | Self::DpdpMean => integral.times(1.0 / (axis.1 - axis.0)),
            _ => integral,
        }
    }
}

/// The heterogeneity of finite differences; not a number where a bin has no probability.
fn of_differences(scenario: &Scenario, limits: &[f64], s: usize) -> Estimate {
    let Ok(bins) = scenario.differences(s, limits) else {
        return Estimate::exact(f64::NAN);
    };
    Estimate::sum(bins.into_iter().map(|bin| {
        let value = bin.variance / (bin.hi - bin.lo);
        let error = bin.abs_error / (bin.hi - bin.lo);
        Estimate { value, magnitude: value, error, simulated: false }
    }))
}

/// A region on the way to a tree, and the law there.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) engine: Engine,
    pub(crate) region: Region,
    /// Probability.
    pub(crate) share: f64,
    pub(crate) heterogeneity: Estimate,
}

impl Place {
    /// The place of all rows; none if no heterogeneity of a region can be computed.
    pub(crate) fn whole(
        scenario: &Scenario,
        heterogeneity: Heterogeneity<'_>,
        s: usize,
    ) -> Option<Self> {
        Self::of(scenario, heterogeneity, s, &Region::default()).ok().flatten()
    }

    /// The place of a region; none if its heterogeneity cannot be computed.
    pub(super) fn of(
        scenario: &Scenario,
        heterogeneity: Heterogeneity<'_>,
        s: usize,
        region: &Region,
    ) -> Result<Option<Self>, Error> {
        let (mut engine, mut share) = (scenario.parts.engine.clone(), 1.0);
        for (feature, condition) in region.conditions() {
            share *= scenario.share(engine.law(), *feature, condition)?;
            engine = engine.restricted(*feature, condition);
        }
        let heterogeneity = if engine.is_additive(s) {
            Estimate::default()
        } else if let Some(known) = heterogeneity.known(scenario, &engine, s) {
            known
        } else if widest_term(&engine, s) > MOST_FEATURES {
            return Ok(None);
        } else {
            heterogeneity.of(scenario, &engine, region, s)
        };
        Ok(Some(Self { engine, region: region.clone(), share, heterogeneity }))
    }

    /// True if the heterogeneity is known as well as it is given.
    pub(super) fn is_accurate(&self) -> bool {
        is_accurate(truth(self.heterogeneity))
    }

    /// Both sides of a split of it; none where one of them is empty.
    pub(crate) fn sides(
        &self,
        scenario: &Scenario,
        heterogeneity: Heterogeneity<'_>,
        s: usize,
        (feature, position): (usize, f64),
    ) -> Option<[Self; 2]> {
        let regions = self.divided(scenario, (feature, position))?;
        let side = |region: Region, share: f64| {
            let condition = region.condition(feature)?;
            let engine = self.engine.restricted(feature, condition);
            let heterogeneity = heterogeneity.of(scenario, &engine, &region, s);
            Some(Self { engine, region, share: self.share * share, heterogeneity })
        };
        let [left, right] = regions;
        Some([side(left.0, left.1)?, side(right.0, right.1)?])
    }

    /// The regions on both sides of a split, with their shares of this one; none where one of them is empty.
    fn divided(
        &self,
        scenario: &Scenario,
        (feature, position): (usize, f64),
    ) -> Option<[(Region, f64); 2]> {
        let marginal = self.engine.law().marginal(feature);
        let region = || self.region.clone();
        if let Some(levels) = marginal.levels() {
            let sides = match scenario.is_nominal(feature) {
                true => {
                    [region().and_among(feature, &[position]), region().and_not(feature, position)]
                }
                false => [
                    region().and(feature, f64::NEG_INFINITY, position),
                    region().and(feature, position, f64::INFINITY),
                ],
            };
            let sides = sides.map(|side| {
                let share = levels.share(|x| side.condition(feature).is_none_or(|c| c.holds(x)));
                (side, share)
            });
            return sides.iter().all(|(_, share)| *share > 0.0).then_some(sides);
        }
        let (low, high) = marginal.support();
        if !(low < position && position < high) {
            return None;
        }
        let share = marginal.cdf(position);
        let sides = [(low, position, share), (position, high, 1.0 - share)];
        if share.min(1.0 - share) < NOTHING {
            return None;
        }
        Some(sides.map(|(from, to, share)| (region().and(feature, from, to), share)))
    }
}

/// The heterogeneity after a split.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    position: f64,
    left: Estimate,
    right: Estimate,
    weighted: Estimate,
}

/// A local minimum of the weighted heterogeneity: a position, and how far it may be off.
#[derive(Debug, Clone, Copy)]
struct Minimum {
    feature: usize,
    outcome: Outcome,
    position_error: f64,
    /// Derivatives of left and right along the position.
    slopes: [f64; 2],
}

/// The search for the best split of a feature's effect, the same in some places at once.
pub(crate) struct Search<'a> {
    scenario: &'a Scenario,
    feature: usize,
    heterogeneity: Heterogeneity<'a>,
    /// With their weights.
    places: Vec<(&'a Place, f64)>,
    /// Number of positions of equal spacing between the ends of a range, in the place of all.
    candidates: Option<usize>,
}

/// The best split, and others that are as good: a feature and a position each.
pub(crate) struct Best {
    minimum: Minimum,
    pub(crate) ties: Vec<(usize, f64)>,
}

impl Best {
    pub(crate) fn feature(&self) -> usize {
        self.minimum.feature
    }

    pub(crate) fn position(&self) -> f64 {
        self.minimum.outcome.position
    }

    pub(crate) fn position_error(&self) -> f64 {
        self.minimum.position_error
    }

    /// Weighted heterogeneity that it leaves.
    pub(crate) fn weighted(&self) -> f64 {
        self.minimum.outcome.weighted.value
    }
}

/// True if a value is the least one, but for rounding of what was before.
fn is_least(value: f64, least: f64, before: f64) -> bool {
    value <= least + LEAST_DROP * before
}

/// The least of some minima, the first of those that are equal, if it is lower than what was before.
fn least(minima: &[Minimum], before: f64) -> Option<Best> {
    let least = minima.iter().map(|m| m.outcome.weighted.value).fold(f64::INFINITY, f64::min);
    let is_best = |m: &&Minimum| is_least(m.outcome.weighted.value, least, before);
    let lowers = |m: &&Minimum| m.outcome.weighted.value < before * (1.0 - LEAST_DROP);
    let mut equal = minima.iter().filter(is_best).filter(lowers);
    let &minimum = equal.next()?;
    let mut ties: Vec<(usize, f64)> = Vec::new();
    for other in equal {
        let place = (other.feature, other.outcome.position);
        let near = |(feature, position): (usize, f64)| {
            let apart = (position - place.1).abs();
            feature == place.0 && apart <= SAME * (1.0 + position.abs())
        };
        let first = (minimum.feature, minimum.outcome.position);
        if !near(first) && !ties.iter().copied().any(near) {
            ties.push(place);
        }
    }
    Some(Best { minimum, ties })
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        feature: usize,
        heterogeneity: Heterogeneity<'a>,
        places: Vec<(&'a Place, f64)>,
        candidates: Option<usize>,
    ) -> Self {
        Self { scenario, feature, heterogeneity, places, candidates }
    }

    /// Weighted heterogeneity of the places as they are.
    pub(crate) fn before(&self) -> Estimate {
        let each = self.places.iter();
        Estimate::sum(each.map(|(place, weight)| place.heterogeneity.times(*weight)))
    }

    /// None if values are not accurate enough.
    fn optimum(&self) -> Option<RegionalTruth> {
        let before = self.before();
        let best = self.best()?;
        let found = RegionalTruth {
            heterogeneity: self.heterogeneity.name(),
            before: truth(before),
            ties: best.as_ref().map_or(0, |best| best.ties.len()),
            split: best.map(|best| best.minimum.split()),
        };
        found.is_accurate().then_some(found)
    }

    /// The split that lowers the heterogeneity most, if one does; none at all if values are not known.
    pub(crate) fn best(&self) -> Option<Option<Best>> {
        let before = self.before();
        if before.value.is_nan() {
            return None;
        }
        if before.value <= before.error {
            return Some(None);
        }
        let lines: Vec<Line<'_>> = self.lines();
        if !lines.iter().flat_map(|line| &line.outcomes).all(|o| o.weighted.value.is_finite()) {
            return None;
        }
        let starts = lines.iter().flat_map(|line| line.minima().map(move |i| (line, i)));
        let mut starts: Vec<(&Line<'_>, usize)> = starts.collect();
        // The lowest first: what cannot be as low as a minimum that is known need not be followed.
        starts.sort_by(|(line, i), (other, j)| line.weighted(*i).total_cmp(&other.weighted(*j)));
        let least_on_grid = starts.first().map_or(f64::INFINITY, |(line, i)| line.weighted(*i));
        let mut least_known = least_on_grid;
        let mut followed: Vec<(usize, Minimum)> = Vec::new();
        for (line, i) in starts {
            let least = if line.is_even(i) { least_known } else { least_on_grid };
            if !is_least(line.promise(i), least, before.value) {
                continue;
            }
            let minimum = line.follow(i);
            let weighted = minimum.outcome.weighted.value;
            // A minimum that is not known may be the least.
            if weighted.is_nan() {
                return None;
            }
            least_known = least_known.min(weighted);
            followed.extend(line.features().map(|feature| (i, Minimum { feature, ..minimum })));
        }
        followed.sort_by_key(|(i, minimum)| (minimum.feature, *i));
        let followed: Vec<Minimum> = followed.into_iter().map(|(_, minimum)| minimum).collect();
        Some(least(&followed, before.value))
    }

    /// The weighted heterogeneity along each feature that may split, once for those that split alike.
    fn lines(&self) -> Vec<Line<'_>> {
        let partners = self.scenario.parts.engine.partners(self.feature);
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for split in partners {
            match classes.iter_mut().find(|class| self.split_alike(class[0], split)) {
                Some(class) => class.push(split),
                None => classes.push(vec![split]),
            }
        }
        classes.into_iter().map(|class| Line::new(self, class[0], class[1..].to_vec())).collect()
    }

    /// True if the heterogeneity is the same whichever of two features splits at a position: no term of the feature of interest
    /// reads them, and in no place does the law tell them from each other.
    fn split_alike(&self, a: usize, b: usize) -> bool {
        let engine = &self.scenario.parts.engine;
        let is_read = |&t: &usize| engine.terms[t].reads(a) || engine.terms[t].reads(b);
        let [of_a, of_b] = [a, b].map(|split| self.scenario.is_nominal(split));
        !engine.readers(self.feature).iter().any(is_read)
            && engine.law().are_alike(a, b)
            && self.places.iter().all(|(place, _)| place.engine.law().are_alike(a, b))
            && of_a == of_b
            && self.positions(a) == self.positions(b)
    }

    fn split(&self, feature: usize, position: f64) -> Outcome {
        let zero = Estimate::default();
        let mut outcome = Outcome { position, left: zero, right: zero, weighted: zero };
        for &(place, weight) in &self.places {
            let sides =
                place.sides(self.scenario, self.heterogeneity, self.feature, (feature, position));
            let Some([left, right]) = sides else {
                outcome.weighted = outcome.weighted.plus(place.heterogeneity.times(weight));
                continue;
            };
            let share = left.share / place.share;
            let [left, right] = [left, right].map(|side| side.heterogeneity);
            let weighted = left.times(share).plus(right.times(1.0 - share));
            outcome.left = outcome.left.plus(left.times(weight));
            outcome.right = outcome.right.plus(right.times(weight));
            outcome.weighted = outcome.weighted.plus(weighted.times(weight));
        }
        outcome
    }

    /// Positions along a feature at which the search begins.
    fn positions(&self, feature: usize) -> Positions {
        let engine = &self.scenario.parts.engine;
        let law = engine.law().marginal(feature);
        if let Some(levels) = law.levels() {
            return Positions::Alone(self.of_levels(feature, levels));
        }
        if let Some(count) = self.candidates {
            return Positions::Alone(self.equally_spaced(feature, count));
        }
        let mut breaks = engine.breaks(feature);
        let ends = |(place, _): &(&Place, f64)| {
            let own = place.region.condition(feature);
            own.map_or([f64::NAN; 2], |condition| condition.interval.into())
        };
        let (low, high) = law.support();
        let inside = |x: &f64| low < *x && *x < high;
        breaks.extend(self.places.iter().flat_map(ends).filter(inside));
        let share = |k: usize| (k as f64 + 0.5) / CANDIDATES as f64;
        let mut positions: Vec<f64> = (0..CANDIDATES).map(|k| law.quantile(share(k))).collect();
        positions.extend([TAIL, 1.0 - TAIL].map(|share| law.quantile(share)));
        positions.extend(&breaks);
        positions.sort_by(f64::total_cmp);
        positions.dedup();
        Positions::Grid { positions, breaks }
    }

    fn equally_spaced(&self, feature: usize, count: usize) -> Vec<f64> {
        let (lo, hi) = self.scenario.axis(feature);
        (1..=count).map(|i| lo + (hi - lo) * i as f64 / (count + 1) as f64).collect()
    }

    /// The splits of a feature with levels that differ from each other in one of the places: by each level, or
    /// half-way between neighbours of numbers.
    fn of_levels(&self, feature: usize, levels: &Levels) -> Vec<f64> {
        let values = levels.values();
        let between = || values.windows(2).map(|ends| 0.5 * (ends[0] + ends[1]));
        let positions: Vec<f64> = match self.candidates {
            _ if self.scenario.is_nominal(feature) => values.to_vec(),
            Some(count) => self.equally_spaced(feature, count),
            None => between().filter(|&x| levels.tails(x).into_iter().all(|p| p > TAIL)).collect(),
        };
        let mut known: Vec<Vec<Option<bool>>> = Vec::new();
        let is_new = |position: &f64| {
            let sides = self.sides_of_levels(feature, *position);
            let is_new = !known.contains(&sides);
            known.push(sides);
            is_new
        };
        positions.into_iter().filter(is_new).collect()
    }

    /// For each level of each place, whether it is on the same side as the first one there; nothing where the
    /// place stays whole.
    fn sides_of_levels(&self, feature: usize, position: f64) -> Vec<Option<bool>> {
        let is_nominal = self.scenario.is_nominal(feature);
        let of_place = |(place, _): &(&Place, f64)| {
            let law = place.engine.law().marginal(feature);
            let values = law.levels().map_or(&[][..], Levels::values);
            let is_left = |x: f64| if is_nominal { x == position } else { x <= position };
            let first = values.first().copied().map(is_left);
            let sides: Vec<bool> = values.iter().map(|&x| Some(is_left(x)) == first).collect();
            let is_whole = sides.iter().all(|side| *side);
            sides.into_iter().map(move |side| (!is_whole).then_some(side)).collect::<Vec<_>>()
        };
        self.places.iter().flat_map(of_place).collect()
    }
}

/// Positions along a feature at which a search begins.
#[derive(Debug, PartialEq)]
enum Positions {
    /// All that there are.
    Alone(Vec<f64>),
    /// Some of all, with those of them at which what is left may have a kink.
    Grid { positions: Vec<f64>, breaks: Vec<f64> },
}

/// The weighted heterogeneity as a function of the position along one feature.
struct Line<'a> {
    search: &'a Search<'a>,
    feature: usize,
    /// Other features that split as this one does.
    alike: Vec<usize>,
    /// Breaks of f along the feature; none where there are no other positions than those below.
    breaks: Option<Vec<f64>>,
    /// At ascending positions.
    outcomes: Vec<Outcome>,
}

impl<'a> Line<'a> {
    fn new(search: &'a Search<'a>, feature: usize, alike: Vec<usize>) -> Self {
        let (positions, breaks) = match search.positions(feature) {
            Positions::Alone(positions) => (positions, None),
            Positions::Grid { positions, breaks } => (positions, Some(breaks)),
        };
        let outcomes = positions.iter().map(|&p| search.split(feature, p)).collect();
        Self { search, feature, alike, breaks, outcomes }
    }

    /// All features along which it is the weighted heterogeneity.
    fn features(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::once(self.feature).chain(self.alike.iter().copied())
    }

    fn at(&self, position: f64) -> Outcome {
        self.search.split(self.feature, position)
    }

    fn weighted(&self, i: usize) -> f64 {
        self.outcomes[i].weighted.value
    }

    /// Positions no worse than their neighbours; levels have none.
    fn minima(&self) -> impl Iterator<Item = usize> + '_ {
        let last = self.outcomes.len().saturating_sub(1);
        (0..self.outcomes.len()).filter(move |&i| {
            let here = self.weighted(i);
            let is_level = self.search.scenario.is_nominal(self.feature);
            is_level
                || (i == 0 || here < self.weighted(i - 1))
                    && (i == last || here <= self.weighted(i + 1))
        })
    }

    /// The neighbours of a position of the grid, which at an end is its own.
    fn neighbours(&self, i: usize) -> [usize; 2] {
        [i.saturating_sub(1), (i + 1).min(self.outcomes.len() - 1)]
    }

    /// Lower bound of a minimum at a position of the grid or beside it: as far below as a neighbour is above.
    fn promise(&self, i: usize) -> f64 {
        if self.breaks.is_none() {
            return self.weighted(i);
        }
        let [low, high] = self.neighbours(i).map(|j| self.weighted(j));
        2.0 * self.weighted(i) - low.max(high)
    }

    /// True if a position is about as far from one neighbour as from the other: of a parabola a minimum beside it then is
    /// above what it promises.
    fn is_even(&self, i: usize) -> bool {
        let here = self.outcomes[i].position;
        let [low, high] = self.neighbours(i).map(|j| (self.outcomes[j].position - here).abs());
        self.breaks.is_none() || low.max(high) <= 4.0 * low.min(high)
    }

    /// The minimum near a position of the grid.
    fn follow(&self, i: usize) -> Minimum {
        let Some(breaks) = &self.breaks else { return self.exactly(i) };
        let here = self.outcomes[i].position;
        let [low, high] = self.neighbours(i).map(|j| self.outcomes[j].position);
        if breaks.contains(&here) {
            let higher = |end: f64| {
                let beside = self.at(here + 1e-3 * (end - here));
                beside.weighted.value >= self.weighted(i)
            };
            return match (higher(low), higher(high)) {
                (true, true) => self.exactly(i),
                (false, _) => self.descend(low, here),
                (true, false) => self.descend(here, high),
            };
        }
        self.descend(low, high)
    }

    /// A minimum at a place where f breaks.
    fn exactly(&self, i: usize) -> Minimum {
        let outcome = self.outcomes[i];
        Minimum { feature: self.feature, outcome, position_error: 0.0, slopes: [0.0; 2] }
    }

    /// The minimum between two positions: a golden section, then Newton steps.
    fn descend(&self, low: f64, high: f64) -> Minimum {
        const RATIO: f64 = 0.618_033_988_749_894_8;
        let (mut from, mut to) = (low, high);
        let inner = |from: f64, to: f64, share: f64| self.at(from + share * (to - from));
        let mut left = inner(from, to, 1.0 - RATIO);
        let mut right = inner(from, to, RATIO);
        // Much closer, rounding of the values would decide instead of their difference.
        while to - from > ROUGH * (high - low) {
            if left.weighted.value <= right.weighted.value {
                (to, right) = (right.position, left);
                left = inner(from, to, 1.0 - RATIO);
            } else {
                (from, left) = (left.position, right);
                right = inner(from, to, RATIO);
            }
        }
        let rough = if left.weighted.value <= right.weighted.value { left } else { right };
        let better = self.polish(rough, (low, high));
        self.polish(better.outcome, (low, high))
    }

    /// Newton's step from central differences of the width at which they are least in doubt: by
    /// how they differ from those of other widths.
    fn polish(&self, rough: Outcome, (low, high): (f64, f64)) -> Minimum {
        let here = rough.position;
        let room = (here - low).min(high - here);
        let pair = |k: i32| {
            let width = 0.5 * room * 0.5_f64.powi(k);
            (width, [self.at(here - width), self.at(here + width)])
        };
        let pairs: Vec<_> = (0..8).map(pair).collect();
        let step = |k: usize| {
            let (width, [below, above]) = &pairs[k];
            let (_, [far_below, far_above]) = &pairs[k - 1];
            let near = above.weighted.value - below.weighted.value;
            let far = far_above.weighted.value - far_below.weighted.value;
            let slope = (8.0 * near - far) / (12.0 * width);
            let bend = above.weighted.value + below.weighted.value - 2.0 * rough.weighted.value;
            -slope * width * width / bend
        };
        let steps: Vec<f64> = (1..pairs.len()).map(step).collect();
        let change = |k: usize| (steps[k] - steps[k - 1]).abs();
        // Rounding of the values shows at small widths, and is in inverse proportion to them.
        let doubt = |k: usize| {
            let rounding = (k + 1..steps.len()).map(|j| change(j) * 0.5_f64.powi((j - k) as i32));
            rounding.fold(change(k), f64::max)
        };
        let best = (1..steps.len() - 2).min_by(|&a, &b| doubt(a).total_cmp(&doubt(b)));
        let best = best.filter(|&k| steps[k].abs() < 10.0 * ROUGH * (high - low));
        let (position, position_error) = best.map_or((here, ROUGH * (high - low)), |k| {
            // What Newton's step leaves is of the order of its square.
            let step = steps[k];
            let left = step * step / (high - low);
            let (width, [below, above]) = &pairs[k];
            let bend = above.weighted.value + below.weighted.value - 2.0 * rough.weighted.value;
            // Errors of the integration change with the position on the scale of the cell.
            let tilt = rough.weighted.error * width * width / (bend.abs() * (high - low));
            let rounding = 4.0 * f64::EPSILON * here.abs();
            (here + step, 2.0 * doubt(k) + 10.0 * left + tilt + rounding)
        });
        let told = shortest(position, position_error);
        let position_error = position_error + (told - position).abs();
        let position = told;
        let (width, [below, above]) = &pairs[2];
        let slope = |a: Estimate, b: Estimate| (b.value - a.value) / (2.0 * width);
        Minimum {
            feature: self.feature,
            outcome: self.at(position),
            position_error,
            slopes: [slope(below.left, above.left), slope(below.right, above.right)],
        }
    }
}

/// The number of fewest digits that is not farther from another than its error.
fn shortest(number: f64, error: f64) -> f64 {
    if number.abs() <= error {
        return 0.0;
    }
    let rounded = (0..f64::DIGITS as usize).map(|digits| format!("{number:.digits$e}").parse());
    let near = |told: &f64| (told - number).abs() <= error;
    rounded.filter_map(Result::ok).find(near).unwrap_or(number)
}

impl Minimum {
    fn split(&self) -> Split {
        let side = |estimate: Estimate, slope: f64| {
            let mut side = truth(estimate);
            side.abs_error += slope.abs() * self.position_error;
            side
        };
        let Outcome { position, left, right, weighted } = self.outcome;
        Split {
            feature: self.feature,
            position,
            position_error: self.position_error,
            left: side(left, self.slopes[0]),
            right: side(right, self.slopes[1]),
            weighted: truth(weighted),
        }
    }
}

impl RegionalTruth {
    fn is_accurate(&self) -> bool {
        let split = self.split.is_none_or(|split| {
            [split.left, split.right, split.weighted].into_iter().all(is_accurate)
        });
        is_accurate(self.before) && split
    }
}

fn is_accurate(truth: Truth) -> bool {
    truth.abs_error <= TOLERANCE * (1.0 + truth.value.abs())
}

pub(crate) fn truth(estimate: Estimate) -> Truth {
    Truth { value: estimate.value, abs_error: estimate.error, method: Evaluation::Quadrature }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minima by feature, position and what they leave.
    fn minima(all: &[(usize, f64, f64)]) -> Vec<Minimum> {
        let zero = Estimate::default();
        let minimum = |&(feature, position, left): &(usize, f64, f64)| {
            let weighted = Estimate::exact(left);
            let outcome = Outcome { position, left: zero, right: zero, weighted };
            Minimum { feature, outcome, position_error: 0.0, slopes: [0.0; 2] }
        };
        all.iter().map(minimum).collect()
    }

    #[test]
    fn the_first_of_equal_minima_is_the_least_and_the_others_are_ties() {
        let found = |all: &[(usize, f64, f64)]| {
            let best = least(&minima(all), 2.0)?;
            Some((best.feature(), best.position(), best.ties))
        };
        // A billionth of 2 is rounding.
        let [near, apart] = [1.0 + 1.9e-9, 1.0 + 2.1e-9];
        assert_eq!(
            found(&[
                (3, 0.1, apart),
                (1, 0.5, near),
                (1, 0.7, 1.0),
                (2, 0.5, near),
                (2, 0.6, apart)
            ]),
            Some((1, 0.5, vec![(1, 0.7), (2, 0.5)]))
        );
        // Positions that are the same to a hundred thousandth of 1 and their size.
        assert_eq!(found(&[(1, 0.5, 1.0), (1, 0.5 + 1.4e-5, 1.0)]), Some((1, 0.5, vec![])));
        let other = 0.5 + 1.6e-5;
        assert_eq!(found(&[(1, 0.5, 1.0), (1, other, 1.0)]), Some((1, 0.5, vec![(1, other)])));
        let twice = [(1, 0.5, 1.0), (1, 0.7, 1.0), (1, 0.7 + 1e-6, 1.0), (1, 0.5 - 1e-6, 1.0)];
        assert_eq!(found(&twice), Some((1, 0.5, vec![(1, 0.7)])));
        assert_eq!(found(&[(1, 0.5, 1.0), (2, 0.5, 1.0)]), Some((1, 0.5, vec![(2, 0.5)])));
        // No lower than before but for rounding.
        for left in [2.0 * (1.0 - LEAST_DROP), 2.0 - 1e-9, 2.0, 3.0] {
            assert_eq!(found(&[(1, 0.5, left)]), None, "{left}");
        }
        assert_eq!(found(&[(1, 0.5, 2.0 - 3e-9)]), Some((1, 0.5, vec![])));
        assert_eq!(found(&[]), None);
    }

    /// A third feature that follows the second closely: where a region is cut by both, one side of most positions
    /// has a probability that no number tells from 0.
    #[test]
    fn sides_without_probability_are_none() {
        let scenario = crate::scenario("sin-indicator", &[]).unwrap();
        let value = Heterogeneity::DpdpMean;
        let whole = Place::whole(&scenario, value, 1).unwrap();
        let [left, _] = whole.sides(&scenario, value, 1, (0, -0.1)).unwrap();
        // x3 = x1 + N(0, sd 0.01) with x1 up to −0.1: 5, then 10 and more standard deviations away.
        assert!(left.divided(&scenario, (2, -0.05)).is_some());
        for position in [0.0, 0.1, 0.5] {
            assert!(left.divided(&scenario, (2, position)).is_none(), "{position}");
        }
        let search = Search::new(&scenario, 1, value, vec![(&left, 1.0)], None);
        let whole = left.heterogeneity.value;
        assert_eq!(search.split(2, 0.1).weighted.value, whole);
    }

    /// Given x1 at its upper end, which is 1 in doubles well before the normal score ends.
    #[test]
    fn a_region_of_a_copula_has_a_heterogeneity_up_to_the_ends_of_its_margins() {
        let scenario = crate::scenario("friedman1-copula", &[]).unwrap();
        let value = Heterogeneity::AleIntegral;
        let whole = Place::whole(&scenario, value, 0).unwrap();
        for split in [(2, 0.5), (1, 0.7), (6, 1e-4)] {
            let sides = whole.sides(&scenario, value, 0, split).unwrap();
            assert!(sides.iter().all(Place::is_accurate), "{split:?}");
        }
    }

    /// Of a region that is cut by two features there is no probability given x1 closer to 0 than 1e-22.
    #[test]
    fn the_very_ends_of_a_range_are_left_out_where_the_law_is_not_known_there() {
        let scenario = crate::scenario("friedman1-copula", &[]).unwrap();
        let value = Heterogeneity::AleIntegral;
        let whole = Place::whole(&scenario, value, 0).unwrap();
        for side in whole.sides(&scenario, value, 0, (1, 0.65)).unwrap() {
            let beyond = |p: f64| {
                let [_, last] = side.sides(&scenario, value, 0, (2, 1.0 - p)).unwrap();
                assert!(last.is_accurate(), "{p}");
                last.heterogeneity.value
            };
            // Evenly from probability to probability.
            let [far, near, nearer] = [1e-4, 2e-4, 4e-4].map(beyond);
            assert!((far - (2.0 * near - nearer)).abs() < 0.005 * near, "{far} {near} {nearer}");
        }
    }

    /// Of features that none of its terms reads x1 sees how they tell of x2, which is the same of all.
    #[test]
    fn features_that_split_alike_are_searched_once() {
        let scenario = crate::scenario("friedman1-copula", &[]).unwrap();
        let value = Heterogeneity::DpdpMean;
        let whole = Place::whole(&scenario, value, 0).unwrap();
        let classes = |places: Vec<(&Place, f64)>| {
            let search = Search::new(&scenario, 0, value, places, Some(1));
            let lines = search.lines();
            lines.iter().map(|line| line.features().collect()).collect::<Vec<Vec<usize>>>()
        };
        assert_eq!(classes(vec![(&whole, 1.0)]), [vec![1], vec![2, 3, 4, 5, 6]]);
        let [left, right] = whole.sides(&scenario, value, 0, (3, 0.4)).unwrap();
        let cut = [vec![1], vec![2, 4, 5, 6], vec![3]];
        assert_eq!(classes(vec![(&left, 0.4), (&right, 0.6)]), cut);
        assert_eq!(classes(vec![(&left, 0.4), (&whole, 0.6)]), cut);
        let search = Search::new(&scenario, 0, value, vec![(&left, 1.0)], Some(1));
        let [found, known] = [4, 6].map(|feature| search.split(feature, 0.3).weighted.value);
        assert!((found - known).abs() <= 1e-13 * known, "{found}, {known}");
        assert!((found - search.split(3, 0.3).weighted.value).abs() > 1e-3 * known);
    }

    #[test]
    fn positions_are_told_by_the_fewest_digits_that_their_error_allows() {
        for (position, error, told) in [
            (-0.100_000_000_000_363_33, 1.5e-11, -0.1),
            (-2.8e-14, 1e-12, 0.0),
            (0.748_209_052_985_833_6, 3e-10, 0.748_209_053),
            (1_234.567_8, 0.01, 1_234.57),
            (0.3, 0.0, 0.3),
        ] {
            assert_eq!(shortest(position, error), told, "{position}");
        }
    }

    fn friedman() -> Scenario {
        crate::scenario("friedman1", &[]).unwrap()
    }

    #[test]
    fn a_split_at_an_end_of_the_support_is_none() {
        let scenario = friedman();
        let whole = Place::whole(&scenario, Heterogeneity::DpdpMean, 0).unwrap();
        let divided = |position: f64| whole.divided(&scenario, (1, position));
        for position in [-1.0, 0.0, 1.0, 2.0] {
            assert!(divided(position).is_none(), "{position}");
        }
        let [left, right] = divided(0.3).unwrap();
        assert_eq!((left.1, right.1), (0.3, 0.7));
        let ends = |side: &Region| side.condition(1).unwrap().interval;
        assert_eq!((ends(&left.0), ends(&right.0)), ((0.0, 0.3), (0.3, 1.0)));
    }

    /// Middles of equal shares, shares of the tails, and where a place was cut off before.
    #[test]
    fn a_search_begins_between_the_ends_of_the_law() {
        let (scenario, value) = (friedman(), Heterogeneity::DpdpMean);
        let whole = Place::whole(&scenario, value, 0).unwrap();
        let begun =
            |places: Vec<(&Place, f64)>| match Search::new(&scenario, 0, value, places, None)
                .positions(1)
            {
                Positions::Grid { positions, breaks } => (positions, breaks),
                Positions::Alone(_) => panic!("x2 has a density"),
            };
        let mut known: Vec<f64> = (0..32).map(|k| (f64::from(k) + 0.5) / 32.0).collect();
        known.extend([1e-4, 1.0 - 1e-4]);
        known.sort_by(f64::total_cmp);
        assert_eq!(begun(vec![(&whole, 1.0)]), (known.clone(), vec![]));
        let [left, right] = whole.sides(&scenario, value, 0, (1, 0.3)).unwrap();
        let (positions, breaks) = begun(vec![(&left, 0.3), (&right, 0.7)]);
        assert_eq!(breaks, [0.3, 0.3]);
        known.push(0.3);
        known.sort_by(f64::total_cmp);
        assert_eq!(positions, known);
    }

    #[test]
    fn regions_of_terms_of_more_than_three_features_are_not_integrated() {
        let place = |f: &str| {
            let laws = (1..=4).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect::<String>();
            let text = format!("f = \"{f}\"\n[law]\n{laws}");
            let scenario = crate::problem("mine", &text, &[]).unwrap();
            Place::whole(&scenario, Heterogeneity::DpdpMean, 0).is_some()
        };
        assert!(place("sin(x1*x2*x3) + x4"));
        assert!(!place("sin(x1*x2*x3*x4)"));
    }
}
