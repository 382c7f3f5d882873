//! Laws of the features: independent blocks, each able to condition and to sample.
//!
//! Imports numerical methods alone. Begin with [`Univariate`], a law of one feature, and [`Law`], that of
//! all; a block to read first is `parent_child`.

mod chances;
mod common_cause;
#[cfg(test)]
pub(crate) mod consistency;
mod copula;
pub(crate) mod levels;
mod log_uniform;
mod normal;
mod parent_child;
mod part;
mod piecewise_normal;
pub(crate) mod region;
mod restricted;
mod sibling;
mod uniform;

use std::sync::Arc;

use fe_core::interrupt;
use rand::Rng;

pub(crate) use common_cause::CommonCause;
pub(crate) use copula::{GaussianCopula, latent};
pub(crate) use log_uniform::LogUniform;
pub(crate) use normal::{BivariateNormal, Normal};
pub(crate) use parent_child::ParentChild;
pub(crate) use uniform::PiecewiseUniform;

use levels::Levels;
use part::Part;
use region::Condition;
use restricted::Restricted;

use crate::numeric::quadrature::Estimate;

/// A law of one real variable that has a density.
pub(crate) trait Univariate: Send + Sync {
    /// Density.
    fn pdf(&self, x: f64) -> f64;
    /// Distribution function.
    fn cdf(&self, x: f64) -> f64;
    /// The smallest closed interval of probability 1; its ends may be infinite.
    fn support(&self) -> (f64, f64);
    /// Ascending points, in the coordinate, between which the density is smooth on its own scale.
    /// The mass before the first and after the last is below 1e-20.
    fn panels(&self) -> Vec<f64>;

    /// Points in the coordinate between `from` and `to` that lie beyond the panels, each twice as far
    /// out as the one before: they resolve what changes there, as powers do, on the scale of the
    /// distance.
    fn outwards(&self, from: f64, to: f64) -> Vec<f64> {
        let panels = self.panels();
        let (first, last) = (panels[0], panels[panels.len() - 1]);
        let (centre, half) = (0.5 * (first + last), 0.5 * (last - first));
        let distances = || std::iter::successors(Some(half), |d| Some(2.0 * d).filter(|e| e > d));
        let above = distances().map(|d| centre + d).take_while(|u| *u < to);
        let below = distances().map(|d| centre - d).take_while(|u| from < *u);
        if half > 0.0 { above.chain(below).collect() } else { Vec::new() }
    }

    /// Stretches beyond the ends of the panels, in the coordinate, as long as a quarter of these, where one of some places
    /// is or is not far before. The mass there is below 1e-20 and nothing to a mean, but its root, as in the standard
    /// deviation of what is the same at all other places, is not.
    fn stretches_beyond(&self, (first, last): (f64, f64), places: &[f64]) -> Vec<(f64, f64)> {
        let (close, farther) = (0.1 * (last - first), 0.25 * (last - first));
        let (low, high) = self.support();
        let below = (first - farther).max(self.coordinate(low)).min(first);
        let above = (last + farther).min(self.coordinate(high)).max(last);
        let is_some_in = |from: f64, to: f64| places.iter().any(|u| from < *u && *u < to);
        let mut found = Vec::new();
        if below < first && is_some_in(below, first + close) {
            found.push((below, first));
        }
        if last < above && is_some_in(last - close, above) {
            found.push((last, above));
        }
        found
    }

    /// Mean and standard deviation of the coordinate, where its density is normal but for [`Univariate::tilt`] and places are
    /// smooth in it.
    fn normal_coordinate(&self) -> Option<(f64, f64)> {
        None
    }

    /// True if a condition on another variable tilts the density.
    fn is_tilted(&self) -> bool {
        false
    }

    /// The factor that a condition on another variable has given the density of a coordinate.
    fn tilt(&self, u: f64) -> f64 {
        let _ = u;
        1.0
    }

    /// The ends between which the logarithm of the variable is uniform, if it is.
    fn log_uniform_ends(&self) -> Option<(f64, f64)> {
        None
    }

    /// True if the density is smooth wherever it is, at the ends of the panels too: they are there as it changes fast.
    fn is_smooth(&self) -> bool {
        false
    }

    /// The levels of a feature that has such: then it has no density, and is summed over.
    fn levels(&self) -> Option<&Levels> {
        self.base().and_then(|law| law.levels())
    }

    /// The law that this one is made from, if the coordinate is the one of that law.
    fn base(&self) -> Option<&dyn Univariate> {
        None
    }

    /// The coordinate of a value of the variable: what integrals run over. It is the variable
    /// itself unless the density is smoother in another one.
    fn coordinate(&self, x: f64) -> f64 {
        self.base().map_or(x, |law| law.coordinate(x))
    }

    /// The variable at a coordinate.
    fn place(&self, u: f64) -> f64 {
        self.base().map_or(u, |law| law.place(u))
    }

    /// Form in which the variable at a coordinate is told to laws that are conditional on it; see
    /// [`Block::known`].
    fn known(&self, u: f64) -> f64 {
        self.base().map_or_else(|| self.place(u), |law| law.known(u))
    }

    /// True if the coordinate has digits that [`Univariate::place`] loses and that matter.
    fn rounds_places(&self) -> bool {
        self.base().is_some_and(|law| law.rounds_places())
    }

    /// Derivative of the variable along the coordinate.
    fn stretch(&self, u: f64) -> f64 {
        self.base().map_or(1.0, |law| law.stretch(u))
    }

    /// Density of the coordinate.
    fn weight(&self, u: f64) -> f64 {
        self.pdf(u)
    }

    /// Bound of that density, told without an integral.
    fn weight_at_most(&self, u: f64) -> f64 {
        self.weight(u)
    }

    /// Relative error of the density, beyond a few roundings.
    fn doubt(&self) -> f64 {
        self.base().map_or(0.0, |law| law.doubt())
    }

    /// Relative error of the density of a coordinate, beyond what all have in common.
    fn doubt_at(&self, u: f64) -> f64 {
        self.base().map_or(0.0, |law| law.doubt_at(u))
    }

    /// True if the density itself is a mean over simulated rows.
    fn is_simulated(&self) -> bool {
        self.base().is_some_and(|law| law.is_simulated())
    }

    /// A mean over the law, in doubt by what its density is.
    fn vouched(&self, mean: Estimate) -> Estimate {
        let mean = mean.doubted(self.doubt());
        Estimate { simulated: mean.simulated | self.is_simulated(), ..mean }
    }

    /// A value times the density of its coordinate.
    fn weighed(&self, u: f64, value: Estimate) -> Estimate {
        let product = value.times(self.weight(u));
        Estimate { error: product.error + self.doubt_at(u) * product.value.abs(), ..product }
    }

    /// True if there are powers of the variable that have no mean.
    fn is_heavy(&self) -> bool {
        self.base().is_some_and(|law| law.is_heavy())
    }

    /// The law as a mixture over a variable that is not known, where it is integrated over sooner so.
    fn mixing(&self) -> Option<&dyn Mixing> {
        None
    }

    /// Coordinates at which the integrals that this law is made of were cut off, each with about the mass that lies
    /// beyond. The density past these places says nothing of how the law goes on.
    fn cuts(&self) -> &[(f64, f64)] {
        self.base().map_or(&[], |law| law.cuts())
    }

    /// Ends of the panels beyond which the law goes on, each with half the width of the panels: a density that falls
    /// off from there at least as fast as on half the way has less beyond than this width of it.
    fn open_ends(&self, (from, to): (f64, f64)) -> Vec<(f64, f64)> {
        let (low, high) = self.support();
        // Places are rounded on the scale of all of them: an end may be close to 0.
        let rounding = 8.0 * f64::EPSILON * self.place(from).abs().max(self.place(to).abs());
        let goes_on = |(end, support): (f64, f64)| {
            !support.is_finite() || (self.place(end) - support).abs() > rounding
        };
        let ends = [(from, low), (to, high)].into_iter();
        ends.filter(|end| goes_on(*end)).map(|(end, _)| (end, 0.5 * (to - from).abs())).collect()
    }

    /// Probability of an interval, whose ends may be infinite.
    fn mass(&self, from: f64, to: f64) -> f64 {
        let above = if from > f64::NEG_INFINITY { self.cdf(from) } else { 0.0 };
        let below = if to < f64::INFINITY { self.cdf(to) } else { 1.0 };
        below - above
    }

    /// True if [`Univariate::mass`] keeps its digits however small it is.
    fn resolves_small_masses(&self) -> bool {
        false
    }

    /// The law given that the variable lies in an interval, where it is known better than from
    /// the density and [`Univariate::mass`].
    fn restricted(&self, from: f64, to: f64) -> Option<Box<dyn Univariate>> {
        let _ = (from, to);
        None
    }

    /// True of a law of which nothing is told, so that integrals over it are 0 or no number.
    fn is_nowhere(&self) -> bool {
        let panels = self.panels();
        let (first, last) = (panels[0], panels[panels.len() - 1]);
        first >= last || self.weight(0.5 * (first + last)).is_nan()
    }

    /// The place in an interval that is nearest to all of the law, as it is known, where this is infinitely far out, as it is
    /// given that another feature is at an end of its range: the variable is there if it is in the interval.
    fn nearest(&self, from: f64, to: f64) -> Option<f64> {
        self.base().and_then(|law| law.nearest(from, to))
    }

    /// [`Univariate::quantile`] of many probabilities.
    fn quantiles(&self, probabilities: &[f64], values: &mut [f64]) {
        for (value, &p) in values.iter_mut().zip(probabilities) {
            *value = self.quantile(p);
        }
    }

    /// The inverse of the distribution function, by bisection unless a law knows better.
    fn quantile(&self, p: f64) -> f64 {
        let panels = self.panels();
        let mut low = self.place(panels[0]);
        let mut high = self.place(panels[panels.len() - 1]);
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return middle;
            }
            if self.cdf(middle) < p {
                low = middle;
            } else {
                high = middle;
            }
        }
    }
}

/// A law as a mixture over a variable that is not known.
pub(crate) trait Mixing: Send + Sync {
    /// The law of that variable.
    fn hidden(&self) -> &dyn Univariate;
    /// The law given a value of the variable; none where there is none.
    fn given(&self, hidden: f64) -> Option<Box<dyn Univariate>>;
}

/// Break of a function of two features, on the line `x_of + slope · x_along = at`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crossing {
    pub(crate) of: usize,
    pub(crate) along: usize,
    pub(crate) slope: f64,
    pub(crate) at: f64,
}

impl Crossing {
    /// Crossing with another line, `x_of = intercept + steepness · x_along`, about which `of` has
    /// the standard deviation `sd`: points along `along` that resolve the passage.
    pub(crate) fn passage(self, intercept: f64, steepness: f64, sd: f64) -> Vec<f64> {
        let closing = steepness + self.slope;
        if closing == 0.0 {
            return Vec::new();
        }
        let (centre, scale) = ((self.at - intercept) / closing, sd / closing.abs());
        NORMAL_PANELS.iter().map(|z| centre + z * scale).collect()
    }
}

/// Places at which a function of a feature breaks, given values of features before it.
pub(crate) type BreaksOf<'a> = &'a dyn Fn(usize, &[(usize, f64)]) -> Vec<f64>;

/// Features that are placed given others, at the nodes of a rule between points of each law, and breaks if there are any.
#[derive(Clone, Copy)]
pub(crate) struct Placing<'a> {
    pub(crate) targets: &'a [usize],
    /// Told as [`Block::known`].
    pub(crate) given: &'a [(usize, f64)],
    pub(crate) rule: usize,
    pub(crate) breaks: Option<BreaksOf<'a>>,
}

/// A visit of the values of the targets at a place; none ends the visits.
pub(crate) type VisitPlace<'a> = &'a mut dyn FnMut(Weighed, &[f64]) -> Option<()>;

/// A row of a sum over places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighed {
    /// Logarithm of its weight.
    pub(crate) ln_weight: f64,
    /// True if it is the last before an end beyond which one of its laws goes on.
    pub(crate) is_edge: bool,
}

/// A group of dependent features, counted from 0 within the block.
pub(crate) trait Block: Send + Sync {
    /// Form of a value of a feature for [`Block::conditional`]: as it is, unless a block knows
    /// a form that keeps more of its digits.
    fn known(&self, feature: usize, x: f64) -> f64 {
        let _ = feature;
        x
    }

    /// The law of one feature given others, told as [`Block::known`]; none given is its marginal
    /// law.
    fn conditional(&self, target: usize, given: &[(usize, f64)]) -> Box<dyn Univariate>;

    /// True if the law of one feature given others, by their numbers, is known; otherwise rows are weighed.
    fn is_known(&self, target: usize, given: &[usize]) -> bool {
        let _ = (target, given);
        true
    }

    /// Number of features without levels, those included that are not asked for, that a mean over features given others,
    /// by their numbers, is an integral over where it is a sum over places; 0 if it need not be one.
    fn places_over(&self, targets: &[usize], given: &[usize]) -> usize {
        let _ = (targets, given);
        0
    }

    /// Visits values of features given others with their weights. None where they are too many, or a visit ends it.
    fn visit_places(&self, asked: Placing<'_>, visit: VisitPlace<'_>) -> Option<()> {
        let _ = (asked, visit);
        None
    }

    /// True if the law of all features of the block is known to be the same with two of them in each other's place.
    fn are_alike(&self, a: usize, b: usize) -> bool {
        let _ = (a, b);
        false
    }

    /// One number in which all is that features with known values, told as [`Block::known`], tell of others; none where there is
    /// no such number, or no feature is given.
    fn summary(&self, given: &[(usize, f64)]) -> Option<f64> {
        let _ = given;
        None
    }

    /// Values of the same features that have a [`Block::summary`].
    fn told(&self, given: &[(usize, f64)], summary: f64) -> Vec<(usize, f64)> {
        let _ = summary;
        given.to_vec()
    }

    /// Number of uniform numbers that a row takes in which some features are given; 0 if there are no such rows.
    fn draws_given(&self) -> usize {
        0
    }

    /// Makes a row in which some features have given values, told as [`Block::known`], all others as if these were
    /// not, and returns its weight: the density of what is given beside the rest of the row.
    fn sample_given(&self, given: &[(usize, f64)], drawn: &[f64], values: &mut [f64]) -> f64 {
        let _ = (given, drawn, values);
        f64::NAN
    }

    /// Correlation of the normal score of a feature with one standard normal variable, given which all features are
    /// independent of each other; none where there is no such variable.
    fn common_factor(&self, target: usize) -> Option<f64> {
        let _ = target;
        None
    }

    /// The law of one feature given that variable.
    fn given_factor(&self, target: usize, factor: f64) -> Box<dyn Univariate> {
        let _ = factor;
        self.conditional(target, &[])
    }

    /// The law of one feature where no other matters, in the coordinate that is best for that.
    fn alone(&self, target: usize) -> Box<dyn Univariate> {
        self.conditional(target, &[])
    }

    /// Places, and their scale, at which averages over one feature given another change along that one when
    /// the averaged function breaks.
    fn shadow(&self, broken: Crossing) -> Vec<f64>;

    /// Number of uniform numbers that the features of a row are made from; 0 if the block is only ever
    /// integrated over.
    fn draws(&self) -> usize {
        0
    }

    /// Makes rows from uniform numbers strictly between 0 and 1: `drawn` has a column for each of
    /// [`Block::draws`], `values` one for each feature of the block, one after the other.
    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        let _ = (drawn, values);
    }
}

/// A block of one feature: its univariate law.
struct Single<U>(U);

impl<U: Univariate + Clone + 'static> Block for Single<U> {
    fn conditional(&self, _: usize, _: &[(usize, f64)]) -> Box<dyn Univariate> {
        Box::new(self.0.clone())
    }

    fn shadow(&self, _: Crossing) -> Vec<f64> {
        Vec::new()
    }

    fn draws(&self) -> usize {
        1
    }

    fn sample(&self, drawn: &[f64], values: &mut [f64]) {
        self.0.quantiles(drawn, values);
    }
}

/// The joint law of all features: independent blocks.
#[derive(Clone)]
pub(crate) struct Law {
    blocks: Vec<(Vec<usize>, Arc<dyn Block>)>,
    /// For each feature its block and its place there.
    place: Vec<(usize, usize)>,
    /// The conditions that features were restricted to, one after the other.
    conditions: Vec<(usize, Condition)>,
}

impl Law {
    pub(crate) fn new() -> Self {
        Self { blocks: Vec::new(), place: Vec::new(), conditions: Vec::new() }
    }

    /// Adds a block over the given features.
    pub(crate) fn with(mut self, features: &[usize], block: impl Block + 'static) -> Self {
        let highest = features.iter().copied().max().unwrap_or(0);
        self.place.resize(self.place.len().max(highest + 1), (0, 0));
        for (local, &feature) in features.iter().enumerate() {
            self.place[feature] = (self.blocks.len(), local);
        }
        self.blocks.push((features.to_vec(), Arc::new(block)));
        self
    }

    /// The law given that one feature obeys a condition that has a probability.
    pub(crate) fn restricted(&self, feature: usize, condition: &Condition) -> Self {
        let mut law = self.clone();
        let (block, target) = self.place[feature];
        let base = Arc::clone(&self.blocks[block].1);
        let condition = condition.clone();
        law.conditions.push((feature, condition.clone()));
        law.blocks[block].1 = Arc::new(Restricted::new(base, target, condition));
        law
    }

    pub(crate) fn is_restricted(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// True if no feature of the block was restricted, so that all is as it was declared.
    pub(crate) fn is_as_declared(&self, feature: usize) -> bool {
        !self.conditions.iter().any(|(other, _)| self.related(feature, *other))
    }

    /// True if a row lies in the region.
    pub(crate) fn holds(&self, row: &[f64]) -> bool {
        self.conditions.iter().all(|(feature, condition)| condition.holds(row[*feature]))
    }

    /// The probability that a feature obeys a condition, none where it is too small to be told.
    pub(crate) fn share(&self, feature: usize, condition: &Condition) -> Option<f64> {
        let margin = self.marginal(feature);
        if margin.levels().is_some() {
            return Some(restricted::normaliser(&*margin, condition));
        }
        // A density has no probability at levels.
        let (low, high) = match condition.only {
            Some(_) => (0.0, 0.0),
            None => margin.support(),
        };
        let (from, to) = (low.max(condition.interval.0), high.min(condition.interval.1));
        if from >= to {
            return Some(0.0);
        }
        if margin.restricted(from, to).is_some() {
            return Some(margin.mass(from, to).clamp(0.0, 1.0));
        }
        let share = restricted::normaliser(&*margin, &Condition::between(from, to));
        share.is_finite().then_some(share.min(1.0))
    }

    /// Adds an independent feature.
    pub(crate) fn with_independent(
        self,
        feature: usize,
        law: impl Univariate + Clone + 'static,
    ) -> Self {
        self.with(&[feature], Single(law))
    }

    /// The same with one more feature behind all others, which has the law of one that is independent
    /// of all others, and is itself independent of all.
    pub(crate) fn with_twin(&self, feature: usize) -> Self {
        let mut law = self.clone();
        let block = Arc::clone(&law.blocks[law.place[feature].0].1);
        law.place.push((law.blocks.len(), law.place[feature].1));
        law.blocks.push((vec![law.place.len() - 1], block));
        law
    }

    /// The same, but that some features are independent of all others; among each other they, and the
    /// others, depend as before. Nothing is drawn from it.
    pub(crate) fn apart(&self, features: &[usize]) -> Self {
        let mut law = Self { conditions: self.conditions.clone(), ..Self::new() };
        law.place.resize(self.place.len(), (0, 0));
        for (members, block) in &self.blocks {
            let (inside, outside): (Vec<usize>, Vec<usize>) =
                (0..members.len()).partition(|&local| features.contains(&members[local]));
            if inside.is_empty() || outside.is_empty() {
                law.add(members.clone(), Arc::clone(block));
                continue;
            }
            for part in [inside, outside] {
                let features = part.iter().map(|&local| members[local]).collect();
                let size = members.len();
                let (base, members) = (Arc::clone(block), part);
                law.add(features, Arc::new(Part { base, members, size }));
            }
        }
        law
    }

    /// The same, but that some features are uniform on intervals, and independent of all others.
    pub(crate) fn over_axes(&self, axes: [(usize, (f64, f64)); 2]) -> Self {
        let mut law = self.clone();
        for (feature, (lo, hi)) in axes {
            law = law.apart(&[feature]);
            law.conditions.retain(|(other, _)| *other != feature);
            law.blocks[law.place[feature].0].1 = Arc::new(Single(PiecewiseUniform::on(lo, hi)));
        }
        law
    }

    fn add(&mut self, features: Vec<usize>, block: Arc<dyn Block>) {
        for (local, &feature) in features.iter().enumerate() {
            self.place[feature] = (self.blocks.len(), local);
        }
        self.blocks.push((features, block));
    }

    pub(crate) fn dimension(&self) -> usize {
        self.place.len()
    }

    /// True if two features may depend on each other.
    pub(crate) fn related(&self, a: usize, b: usize) -> bool {
        self.place[a].0 == self.place[b].0
    }

    /// See [`Block::are_alike`]; features of different blocks are not known to be.
    pub(crate) fn are_alike(&self, a: usize, b: usize) -> bool {
        let [(block, a), (other, b)] = [a, b].map(|feature| self.place[feature]);
        block == other && self.blocks[block].1.are_alike(a, b)
    }

    /// The features of the block of one, and the block.
    pub(crate) fn block_of(&self, feature: usize) -> (&[usize], &dyn Block) {
        let (features, block) = &self.blocks[self.place[feature].0];
        (features, &**block)
    }

    /// See [`Block::known`].
    pub(crate) fn known(&self, feature: usize, x: f64) -> f64 {
        let (block, local) = self.place[feature];
        self.blocks[block].1.known(local, x)
    }

    /// The law of a feature given others, told as [`Law::known`]; those of other blocks do not
    /// matter.
    pub(crate) fn conditional(
        &self,
        feature: usize,
        given: &[(usize, f64)],
    ) -> Box<dyn Univariate> {
        let (block, target) = self.place[feature];
        self.blocks[block].1.conditional(target, &self.local(feature, given))
    }

    /// True if a value of a feature leaves nothing that can be told of what another one is restricted to.
    pub(crate) fn all_but_rules_out(&self, feature: usize, x: f64) -> bool {
        let given = [(feature, self.known(feature, x))];
        self.conditions.iter().any(|(other, _)| {
            let is_asked = *other != feature && self.related(feature, *other);
            is_asked && self.is_known(*other, &[feature]) && {
                let law = self.conditional(*other, &given);
                law.levels().is_none() && law.is_nowhere()
            }
        })
    }

    /// True if the law of a feature given others, by their numbers, is known; see [`Block::is_known`].
    pub(crate) fn is_known(&self, feature: usize, given: &[usize]) -> bool {
        let (block, target) = self.place[feature];
        let in_block = given.iter().filter(|other| self.place[**other].0 == block);
        let local: Vec<usize> = in_block.map(|&other| self.place[other].1).collect();
        self.blocks[block].1.is_known(target, &local)
    }

    /// Those of given features that are in the block of a feature, by their places there.
    fn local(&self, feature: usize, given: &[(usize, f64)]) -> Vec<(usize, f64)> {
        let block = self.place[feature].0;
        let in_block = given.iter().filter(|(other, _)| self.place[*other].0 == block);
        in_block.map(|&(other, x)| (self.place[other].1, x)).collect()
    }

    /// See [`Block::places_over`]; of features of one block.
    pub(crate) fn places_over(&self, targets: &[usize], given: &[usize]) -> usize {
        let Some(&first) = targets.first() else { return 0 };
        let block = self.place[first].0;
        let local = |features: &[usize]| {
            let own = features.iter().filter(|feature| self.place[**feature].0 == block);
            own.map(|&feature| self.place[feature].1).collect::<Vec<usize>>()
        };
        self.blocks[block].1.places_over(&local(targets), &local(given))
    }

    /// See [`Block::visit_places`]; of features of one block.
    pub(crate) fn visit_places(&self, asked: Placing<'_>, visit: VisitPlace<'_>) -> Option<()> {
        let &first = asked.targets.first()?;
        let (members, block) = &self.blocks[self.place[first].0];
        let targets: Vec<usize> =
            asked.targets.iter().map(|&feature| self.place[feature].1).collect();
        let given = self.local(first, asked.given);
        let of_members = |target: usize, known: &[(usize, f64)]| {
            let known: Vec<_> = known.iter().map(|&(local, x)| (members[local], x)).collect();
            asked.breaks.map_or_else(Vec::new, |breaks| breaks(members[target], &known))
        };
        let breaks = asked.breaks.is_some().then_some(&of_members as BreaksOf<'_>);
        block.visit_places(Placing { targets: &targets, given: &given, breaks, ..asked }, visit)
    }

    pub(crate) fn marginal(&self, feature: usize) -> Box<dyn Univariate> {
        self.conditional(feature, &[])
    }

    /// See [`Block::alone`].
    pub(crate) fn alone(&self, feature: usize) -> Box<dyn Univariate> {
        let (block, target) = self.place[feature];
        self.blocks[block].1.alone(target)
    }

    /// See [`Block::shadow`]; nothing for features that are not related.
    pub(crate) fn shadow(&self, broken: Crossing) -> Vec<f64> {
        let Crossing { of, along, .. } = broken;
        if of == along || !self.related(of, along) {
            return Vec::new();
        }
        let (of, along) = (self.place[of], self.place[along]);
        self.blocks[of.0].1.shadow(Crossing { of: of.1, along: along.1, ..broken })
    }

    /// Draws `n` rows, one after the other and within a row block after block, and returns them
    /// feature after feature.
    pub(crate) fn sample(&self, n: usize, rng: &mut dyn Rng) -> Vec<f64> {
        let mut columns = vec![0.0; n * self.dimension()];
        let words: usize = self.blocks.iter().map(|(_, block)| block.draws()).sum();
        debug_assert!(words >= self.dimension(), "a law that is only integrated over");
        let most = n.min(SAMPLED);
        let mut bytes = vec![0; size_of::<u64>() * words * most];
        let mut drawn = vec![0.0; words * most];
        let mut values = vec![0.0; self.dimension() * most];
        for start in (0..n).step_by(SAMPLED) {
            interrupt::check();
            let len = SAMPLED.min(n - start);
            let bytes = &mut bytes[..size_of::<u64>() * words * len];
            rng.fill_bytes(bytes);
            for (row, words) in bytes.as_chunks().0.chunks_exact(words.max(1)).enumerate() {
                for (word, drawn) in words.iter().zip(drawn[row..].iter_mut().step_by(len)) {
                    *drawn = uniform(u64::from_le_bytes(*word));
                }
            }
            let mut rest = drawn.as_slice();
            for (features, block) in &self.blocks {
                let (own, others) = rest.split_at(block.draws() * len);
                rest = others;
                let values = &mut values[..features.len() * len];
                block.sample(own, values);
                for (&feature, values) in features.iter().zip(values.chunks_exact(len)) {
                    columns[feature * n + start..][..len].copy_from_slice(values);
                }
            }
        }
        columns
    }
}

impl Law {
    /// Rows that are spread evenly over the law, always the same ones.
    pub(crate) fn spread(&self, n: usize) -> Vec<Vec<f64>> {
        let words: usize = self.blocks.iter().map(|(_, block)| block.draws()).sum();
        // Multiples of powers of the inverse of the generalised golden ratio, modulo 1.
        let mut ratio: f64 = 1.5;
        for _ in 0..64 {
            ratio = (1.0 + ratio).powf(1.0 / (words as f64 + 1.0));
        }
        let place = |word: usize, row: usize| {
            let step = ratio.powi(-(word as i32) - 1);
            inwards((0.5 + step * (row as f64 + 1.0)).fract())
        };
        let drawn: Vec<f64> =
            (0..words).flat_map(|word| (0..n).map(move |row| place(word, row))).collect();
        let mut rows = vec![vec![0.0; self.dimension()]; n];
        let mut rest = drawn.as_slice();
        let mut values = vec![0.0; n * self.dimension()];
        for (features, block) in &self.blocks {
            let (own, others) = rest.split_at(block.draws() * n);
            rest = others;
            let values = &mut values[..features.len() * n];
            block.sample(own, values);
            for (&feature, values) in features.iter().zip(values.chunks_exact(n)) {
                rows.iter_mut().zip(values).for_each(|(row, x)| row[feature] = *x);
            }
        }
        rows
    }
}

/// A share of the probability, not closer to either end than a billionth.
fn inwards(share: f64) -> f64 {
    share.clamp(1e-9, 1.0 - 1e-9)
}

/// Rows that are drawn together: their columns stay in the cache.
const SAMPLED: usize = 256;

/// A uniform number strictly between 0 and 1, from the upper bits of a word.
fn uniform(word: u64) -> f64 {
    // As the digits of a number from 1 to 2; the differences are exact.
    f64::from_bits((word >> 12) | 1.0_f64.to_bits()) - (1.0 - 0.5 * f64::EPSILON)
}

/// A uniform number strictly between 0 and 1, from one word of a generator.
pub(crate) fn uniform_open(rng: &mut dyn Rng) -> f64 {
    uniform(rng.next_u64())
}

/// Multiples of a standard deviation that resolve a normal density out to a mass of 1e-23.
pub(crate) const NORMAL_PANELS: [f64; 7] = [-10.0, -5.0, -2.0, 0.0, 2.0, 5.0, 10.0];

#[cfg(test)]
mod tests {
    use super::*;

    /// Each point is twice as far out as the one before, on both sides, as far as the interval reaches.
    #[test]
    fn points_beyond_the_panels_double_their_distance() {
        let law = Normal { mean: 3.0, sd: 2.0 };
        let panels = law.panels();
        let (first, last) = (panels[0], panels[panels.len() - 1]);
        let half = 0.5 * (last - first);
        let centre = 0.5 * (first + last);
        assert_eq!(centre, law.coordinate(3.0));
        let ends = (centre - 9.0 * half, centre + 5.0 * half);
        let found = law.outwards(ends.0, ends.1);
        let shares: Vec<f64> = found.iter().map(|u| (u - centre) / half).collect();
        assert_eq!(shares, [1.0, 2.0, 4.0, -1.0, -2.0, -4.0, -8.0]);
        assert!(law.outwards(first + 0.1, last - 0.1).is_empty());
        // An end itself is none of them.
        assert!(law.outwards(first, last).is_empty());
    }

    /// Evenly means: shares of boxes are their sizes, better than by chance.
    #[test]
    fn rows_are_spread_evenly_and_the_same_each_time() {
        let uniform = || PiecewiseUniform::on(0.0, 1.0);
        let law = Law::new().with_independent(0, uniform()).with_independent(1, uniform());
        let law = law.with_independent(2, uniform());
        let rows = law.spread(2000);
        assert_eq!(rows, law.spread(2000));
        for corner in [[0.5, 0.5, 0.5], [0.25, 0.8, 1.0], [1.0, 0.3, 0.6], [0.1, 1.0, 1.0]] {
            let inside = rows.iter().filter(|row| row.iter().zip(corner).all(|(x, end)| *x < end));
            let share = inside.count() as f64 / 2000.0;
            let size: f64 = corner.iter().product();
            let by_chance = (size * (1.0 - size) / 2000.0).sqrt();
            assert!((share - size).abs() < by_chance, "{corner:?}: {share}");
        }
        assert!(rows.iter().flatten().all(|x| (1e-9..=1.0 - 1e-9).contains(x)));
    }

    #[test]
    fn laws_agree_with_themselves() {
        use consistency::assert_is_a_law;
        assert_is_a_law(&Normal { mean: 3.0, sd: 2.0 }, 1e-13, "normal");
        assert_is_a_law(&LogUniform { low: 0.5, high: 4.0 }, 1e-13, "log-uniform");
        let pieces = PiecewiseUniform::new(&[-1.0, 0.5, 4.0], &[0.3, 0.7]);
        assert_is_a_law(&pieces, 1e-13, "uniform on two pieces");
        let copula = GaussianCopula { rho: 0.6, dimension: 3 };
        for given in [vec![], vec![(1, latent(0.2))], vec![(1, latent(0.2)), (2, latent(0.9))]] {
            assert_is_a_law(&*copula.conditional(0, &given), 1e-12, &format!("copula {given:?}"));
        }
        let law = Normal { mean: 3.0, sd: 2.0 };
        assert!(law.resolves_small_masses() && !law.is_heavy() && !law.rounds_places());
    }

    #[test]
    fn a_law_knows_what_of_it_was_restricted() {
        let pair = BivariateNormal { mean: [0.0, 1.0], sd: [1.0, 2.0], rho: 0.5 };
        let law = Law::new().with_independent(0, Normal { mean: 0.0, sd: 1.0 }).with(&[1, 2], pair);
        let declared = |law: &Law| [0, 1, 2].map(|feature| law.is_as_declared(feature));
        assert!(!law.is_restricted());
        assert_eq!(declared(&law), [true, true, true]);
        let cut = law.restricted(1, &Condition::between(0.0, 1.0));
        assert!(cut.is_restricted());
        assert_eq!(declared(&cut), [true, false, false]);
        assert_eq!(
            declared(&law.restricted(0, &Condition::between(0.0, 1.0))),
            [false, true, true]
        );
    }

    /// Scores 0.5 and 1.2 become 0.5 and 0.6·0.5 + 0.8·1.2.
    #[test]
    fn rows_of_two_normal_features_are_correlated() {
        let pair = BivariateNormal { mean: [1.0, -2.0], sd: [3.0, 0.5], rho: 0.6 };
        let drawn = [0.5, -0.4, 1.2, 0.3].map(crate::numeric::special::normal_cdf);
        let mut rows = [0.0; 4];
        pair.sample(&drawn, &mut rows);
        let scores = [0.6 * 0.5 + 0.8 * 1.2, 0.6 * -0.4 + 0.8 * 0.3];
        let known = [2.5, 1.0 - 1.2, -2.0 + 0.5 * scores[0], -2.0 + 0.5 * scores[1]];
        for (found, known) in rows.iter().zip(known) {
            assert!((found - known).abs() < 1e-13, "{rows:?}");
        }
    }

    /// Of one feature the shares are ½ and multiples of the golden ratio, of which whole numbers do not count.
    #[test]
    fn shares_of_one_feature_follow_the_golden_ratio() {
        let law = Law::new().with_independent(0, PiecewiseUniform::on(0.0, 1.0));
        let golden = 0.5 * (5_f64.sqrt() - 1.0);
        for (row, known) in
            law.spread(3).iter().zip([golden - 0.5, 2.0 * golden - 0.5, 3.0 * golden - 1.5])
        {
            assert!((row[0] - known).abs() < 1e-15, "{row:?}, not {known}");
        }
        assert_eq!([0.0, 0.3, 1.0].map(inwards), [1e-9, 0.3, 1.0 - 1e-9]);
    }

    /// A law at a point.
    struct Point(f64);

    impl Univariate for Point {
        fn pdf(&self, _: f64) -> f64 {
            f64::INFINITY
        }

        fn cdf(&self, x: f64) -> f64 {
            f64::from(x >= self.0)
        }

        fn support(&self) -> (f64, f64) {
            (self.0, self.0)
        }

        fn panels(&self) -> Vec<f64> {
            vec![self.0; 2]
        }
    }

    #[test]
    fn nothing_lies_beyond_the_panels_of_a_point() {
        assert!(Point(2.0).outwards(0.0, 5.0).is_empty());
    }
}
