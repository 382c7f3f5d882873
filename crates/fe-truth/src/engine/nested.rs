//! Means and variances over the features that are not held, as nested integrals.

use std::cell::{Cell, OnceCell};

use super::memory::HeldValues;
use super::recalled::Recalled;
use super::watch::{
    MOST_MEMBERS, MOST_OF_AXES, MOST_OF_SHAPLEY, Watch, is_spent, spend, within_budget,
};
use super::{
    Alone, Engine, FactorMoments, LocalQuantity, Measure, Moments, Part, PartPlace, Passages, Rest,
    fixed_break, is_simulating,
};
use crate::function::Term;
use crate::law::levels::Levels;
use crate::law::{Law, Mixing, Univariate};
use crate::numeric::quadrature::{
    Estimate, TOLERANCE, apart, error_of_product, integrate_between_cusps, integrate_to,
    over_normal, over_tilted, within,
};

/// Terms that share randomness, and the features to integrate over for them.
#[derive(Debug, Default)]
struct Group {
    terms: Vec<usize>,
    features: Vec<usize>,
}

/// The law of all features but those that are held at values.
pub(crate) struct HeldFeatures<'a> {
    engine: &'a Engine,
    measure: &'a Measure,
    held: Vec<(usize, f64)>,
    rest: Rest,
    /// Shapley values at the nodes of their mean, where their variance is asked for as well.
    seen: OnceCell<Recalled>,
}

impl<'a> HeldFeatures<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        measure: &'a Measure,
        held: impl IntoIterator<Item = (usize, f64)>,
        rest: Rest,
    ) -> Self {
        Self { engine, measure, held: held.into_iter().collect(), rest, seen: OnceCell::new() }
    }

    pub(super) fn is_held(&self, feature: usize) -> bool {
        self.held.iter().any(|(held, _)| *held == feature)
    }

    /// True if what a term is averaged over depends on what is held.
    pub(crate) fn depends_on_held(&self, term: &Term) -> bool {
        self.held.iter().any(|&(held, _)| {
            let related = |&feature: &usize| self.related(feature, held);
            term.reads(held)
                || (self.rest == Rest::Conditional && term.features().iter().any(related))
        })
    }

    /// True if the law is that of the engine's rows, and not of a background.
    pub(crate) fn is_of_rows(&self) -> bool {
        std::ptr::eq(self.measure, &*self.engine.measure)
    }

    pub(crate) fn factor_moments(&self) -> &'a FactorMoments {
        &self.engine.factor_moments
    }

    pub(super) fn engine(&self) -> &'a Engine {
        self.engine
    }

    /// The law of all features.
    pub(crate) fn law(&self) -> &Law {
        &self.measure.law
    }

    pub(crate) fn related(&self, a: usize, b: usize) -> bool {
        self.measure.law.related(a, b)
    }

    pub(crate) fn mean(&self, index: usize, local: LocalQuantity) -> Estimate {
        if let Some(factors) = self.factors(index, local) {
            let means = factors.iter().map(|&factor| self.mean_of_product(&[factor]));
            return means.fold(Estimate::exact(1.0), Estimate::product);
        }
        if let Some(known) = self.mean_slope_of_angle(index, local) {
            return known;
        }
        self.shapley(&[index], local, None, || self.integrated_mean(index, local))
    }

    /// The mean of the Shapley value of a feature for a term.
    pub(super) fn mean_shapley(&self, index: usize, s: usize) -> Estimate {
        let is_own = self.held.iter().map(|(held, _)| *held).eq([s]) && self.is_of_rows();
        if is_own && self.engine.are_independent(self.term(index).features()) {
            // Of independent features all coalitions with s have the same mean.
            return self.mean(index, LocalQuantity::Value).minus(self.engine.mean_of_term(index));
        }
        let known = self.mean_of_coalitions(index, s);
        known.unwrap_or_else(|| self.mean(index, LocalQuantity::Shapley(s)))
    }

    /// The mean slope along an angle where the other one, of which a term sees only how far it is from this one, is even on
    /// an interval: what slopes along both add up to is 0, and those along the other one to what f changes by. None where f
    /// jumps, or over a whole turn.
    fn mean_slope_of_angle(&self, index: usize, local: LocalQuantity) -> Option<Estimate> {
        let LocalQuantity::Partial(s) = local else { return None };
        let term = self.term(index);
        let pair = term.angles().filter(|pair| pair.contains(&s))?;
        let other = if pair[0] == s { pair[1] } else { pair[0] };
        let free = self.free_features(term);
        let is_smooth =
            term.moving().is_empty() && term.lines().iter().all(|line| line.jump == 0.0);
        let is_cut = free.contains(&other)
            && !self.measure.law.is_as_declared(other)
            && self.is_independent(other, &free);
        if !is_smooth || !is_cut || self.is_witness() {
            return None;
        }
        let (low, high) = self.measure.margin(other).support();
        let at = |x: f64| {
            let held = self.held.iter().copied().chain([(other, x)]);
            let held = HeldFeatures::new(self.engine, self.measure, held, self.rest);
            held.mean(index, LocalQuantity::Value)
        };
        Some(at(low).minus(at(high)).times(1.0 / (high - low)))
    }

    fn integrated_mean(&self, index: usize, local: LocalQuantity) -> Estimate {
        if let Some(known) = self.mean_less_centre(index, local) {
            return known;
        }
        let (part, features) = self.averaged(index, local);
        let terms = [part.term];
        if matches!(local, LocalQuantity::Value) {
            let value = |row: &mut [f64]| part.term.estimate(row);
            return self.expectation(&features, &terms, local, 0.0, &value);
        }
        let integrand = |row: &mut [f64]| self.noted_local(local, part, row);
        self.expectation(&features, &terms, local, 0.0, &integrand)
    }

    /// The value of the one free feature of a term, which tells its rows apart.
    fn place(&self, index: usize, row: &[f64]) -> f64 {
        let free = self.term(index).features().iter().find(|&&feature| !self.is_held(feature));
        free.map_or(0.0, |&feature| row[feature])
    }

    /// As [`Self::local`], of a row that comes again.
    fn noted_local(&self, local: LocalQuantity, part: Part<'_>, row: &mut [f64]) -> Estimate {
        let Some(seen) = self.recalled(local) else { return self.local(local, part, row) };
        let place = self.place(part.index, row);
        seen.note(part.index, place, || self.local(local, part, row))
    }

    /// As [`Self::local`], of a row that may have come before.
    fn recalled_local(&self, local: LocalQuantity, part: Part<'_>, row: &mut [f64]) -> Estimate {
        let Some(seen) = self.recalled(local) else { return self.local(local, part, row) };
        let place = self.place(part.index, row);
        seen.recall(part.index, place, || self.local(local, part, row))
    }

    fn recalled(&self, local: LocalQuantity) -> Option<&Recalled> {
        self.seen.get().filter(|_| local.is_shapley())
    }

    /// The mean of centred curves of a term at a value of their feature, as the mean of the term there less that of its
    /// means over the axis, which is the same at all values: made once, it is no part of the integral at each of them.
    fn mean_less_centre(&self, index: usize, local: LocalQuantity) -> Option<Estimate> {
        let LocalQuantity::Centred { feature, axis } = local else { return None };
        let is_held = self.held.iter().map(|(held, _)| *held).eq([feature]);
        let is_own = is_held && self.rest == Rest::Marginal && self.is_of_rows();
        let engine = self.engine;
        let can_be = is_own && engine.watch.is_some() && !self.is_witness();
        if !can_be || is_simulating() || self.simulates(&[index], local) {
            return None;
        }
        let ends = [axis.0.to_bits(), axis.1.to_bits()];
        let key = (index, PartPlace::Whole, feature, ends, false);
        let centre = engine.centres.of((key, HeldValues::of(&[], &[])), || {
            let (part, features) = self.averaged(index, local);
            let integrand = |row: &mut [f64]| engine.axis_mean(part, feature, axis, row);
            engine.free().expectation(&features, &[part.term], local, 0.0, &integrand)
        });
        let mean = self.integrated_mean(index, LocalQuantity::Value).minus(centre);
        Some(mean).filter(|mean| mean.value.is_finite() && !mean.simulated)
    }

    pub(crate) fn term(&self, index: usize) -> &'a Term {
        &self.engine.terms[index]
    }

    pub(crate) fn is_witness(&self) -> bool {
        self.engine.is_witness()
    }

    /// See [`Engine::local`].
    pub(crate) fn local(&self, local: LocalQuantity, part: Part<'_>, row: &mut [f64]) -> Estimate {
        self.engine.local(local, part, row)
    }

    fn whole(&self, index: usize) -> Part<'a> {
        self.engine.part(index)
    }

    /// A term and the features to integrate it over; its declared mean over some of them, where
    /// there is one that serves.
    fn averaged(&self, index: usize, local: LocalQuantity) -> (Part<'a>, Vec<usize>) {
        let whole = self.whole(index);
        let free = self.free_features(whole.term);
        let untouched = |&feature: &usize| {
            self.measure.law.is_as_declared(feature) && local.passes_through_means_over(&[feature])
        };
        let over: Vec<usize> = free.iter().copied().filter(untouched).collect();
        match whole.term.average_over(&over) {
            None => (whole, free),
            Some(average) => {
                let term = whole.term.average(average);
                let place = PartPlace::Average(average);
                (Part { index, term, place }, self.free_features(term))
            }
        }
    }

    /// Of the features to integrate over, those in which all terms are affine and which are
    /// independent of all others. Changes, derivatives and averages of a term are affine where it
    /// is, and the square of a sum of them is a quadratic: two moments determine its mean.
    fn affine_features(&self, features: &[usize], terms: &[&Term]) -> Vec<usize> {
        let is_affine = |feature: usize| {
            terms.iter().all(|term| !term.reads(feature) || term.is_affine_in(feature))
        };
        let simple =
            |&feature: &usize| is_affine(feature) && self.is_independent(feature, features);
        features.iter().copied().filter(simple).collect()
    }

    /// True if a feature is independent of those held and of others.
    pub(super) fn is_independent(&self, feature: usize, others: &[usize]) -> bool {
        let related = |other: usize| other != feature && self.related(feature, other);
        let held = self.held.iter().filter(|_| self.rest == Rest::Conditional);
        let mut all = others.iter().copied().chain(held.map(|&(held, _)| held));
        !all.any(related)
    }

    /// An angle that may have any value, since all terms see only how far another one, which is
    /// uniform on the circle, is from it.
    fn arbitrary_angle(
        &self,
        features: &[usize],
        terms: &[&Term],
        local: LocalQuantity,
    ) -> Option<usize> {
        let [a, b] = terms.iter().find_map(|term| term.angles())?;
        // What moves an angle to values of its own does not turn with the other one.
        if local.moves().is_some_and(|feature| feature == a || feature == b) {
            return None;
        }
        // Nor does what a coalition with one of them is worth, but over the whole circle of the other one.
        let background = &self.engine.whole.law;
        if local.is_shapley() && ![a, b].iter().all(|&angle| background.is_as_declared(angle)) {
            return None;
        }
        let reads = |term: &&&Term| term.reads(a) || term.reads(b);
        let agree = terms.iter().filter(reads).all(|term| term.angles() == Some([a, b]));
        let free = features.contains(&a) && features.contains(&b);
        let full = |angle: usize| self.measure.law.is_as_declared(angle);
        let arbitrary = if full(b) { Some(a) } else { full(a).then_some(b) };
        arbitrary.filter(|_| agree && free)
    }

    pub(crate) fn free_features(&self, term: &Term) -> Vec<usize> {
        let features = term.features().iter().copied();
        features.filter(|&feature| !self.is_held(feature)).collect()
    }

    /// Mean and variance of the sum of terms: independent groups add up.
    pub(crate) fn moments(&self, terms: &[usize], local: LocalQuantity) -> Moments {
        let zero = Estimate::default();
        let mut moments = Moments { mean: zero, variance: zero };
        if local.is_shapley() && self.are_over_one(terms) {
            // Of one feature the nodes of both are the same; of several they are too many to be kept.
            self.seen.get_or_init(Recalled::default);
        }
        let known = self.shapley_variance(terms, local);
        let mean = |&t: &usize| match local {
            LocalQuantity::Shapley(s) if self.engine.watch.is_some() => {
                // Coalitions may be integrated where the mean of all features at once is not.
                Some(self.mean_shapley(t, s))
                    .filter(|mean| !mean.simulated && mean.value.is_finite())
            }
            _ => None,
        };
        let mean = |t: &usize| mean(t).unwrap_or_else(|| self.mean(*t, local));
        for group in self.groups(terms) {
            let means: Vec<Estimate> = group.terms.iter().map(mean).collect();
            moments.mean = moments.mean.plus(Estimate::sum(means.iter().copied()));
            if !group.features.is_empty() && known.is_none() {
                moments.variance = moments.variance.plus(self.variance(&group, local, &means));
            }
        }
        moments.variance = known.unwrap_or(moments.variance);
        moments
    }

    /// True if each of terms is integrated over one feature at most.
    fn are_over_one(&self, terms: &[usize]) -> bool {
        terms.iter().all(|&t| self.free_features(self.term(t)).len() <= 1)
    }

    /// The variance of the sum of terms: of a Shapley value that of what varies of it, where that is no more to integrate.
    pub(crate) fn variance_of(&self, terms: &[usize], local: LocalQuantity) -> Estimate {
        if let Some(known) = self.shapley_variance(terms, local) {
            return known;
        }
        let turns = || terms.iter().any(|&t| self.term(t).angles().is_some());
        // Built-in scenarios keep the digits that they had.
        let is_simple = || {
            let is_asked = self.engine.watch.is_some() && !self.is_witness();
            is_asked && self.are_over_one(terms) && !turns()
        };
        let varying = match local {
            LocalQuantity::Shapley(s) if self.is_held(s) && is_simple() => {
                LocalQuantity::VaryingShapley(s)
            }
            _ => local,
        };
        self.moments(terms, varying).variance
    }

    /// The variance of the Shapley value of the feature that is held, for all terms that read it, where it is made of factors.
    fn shapley_variance(&self, terms: &[usize], local: LocalQuantity) -> Option<Estimate> {
        let LocalQuantity::Shapley(s) = local else { return None };
        let &[(held, x)] = self.held.as_slice() else { return None };
        let is_all = held == s && self.is_of_rows() && terms == self.engine.readers(s);
        is_all.then(|| self.engine.shapley_variance_of_products(s, Some(x))).flatten()
    }

    fn variance(&self, group: &Group, local: LocalQuantity, means: &[Estimate]) -> Estimate {
        let mean = Estimate::sum(means.iter().copied());
        if let (&[held], &[term]) = (self.held.as_slice(), group.terms.as_slice())
            && self.is_of_rows()
            && let Some(known) = self.engine.variance_of_turned(term, held, local, mean)
        {
            return known;
        }
        let integrated = || self.integrated_variance(group, local, means);
        self.shapley(&group.terms, local, Some(mean), integrated)
    }

    fn integrated_variance(
        &self,
        group: &Group,
        local: LocalQuantity,
        means: &[Estimate],
    ) -> Estimate {
        // All at once is more accurate; pair by pair is what can be paid for in many dimensions.
        let is_product = |&term: &usize| self.factors(term, local).is_some();
        let at_once = match group.terms.as_slice() {
            [term] => !is_product(term),
            terms if group.features.len() == 3 && self.are_of_factors(terms, local) => false,
            _ => group.features.len() <= 3 && !self.is_of_pairs(group, local),
        };
        if at_once {
            return self.joint_variance(group, local, Estimate::sum(means.iter().copied()));
        }
        let mut sum = Estimate::default();
        for (i, (&term, &mean)) in group.terms.iter().zip(means).enumerate() {
            sum = sum.plus(self.variance_of_term(term, local, mean));
            for (&other, &other_mean) in group.terms.iter().zip(means).take(i) {
                let covariance = self.covariance([(term, mean), (other, other_mean)], local);
                sum = sum.plus(covariance.times(2.0));
            }
        }
        sum
    }

    /// True if terms of a problem file are products of factors of one feature each: pair by pair all integrals are simple.
    pub(super) fn are_of_factors(&self, terms: &[usize], local: LocalQuantity) -> bool {
        let is_single = |factor: &Term| self.free_features(factor).len() <= 1;
        let is_product = |&term: &usize| {
            let is_apart = self.factors(term, local).is_some();
            is_apart && self.term(term).factors().iter().all(is_single)
        };
        self.engine.watch.is_some() && terms.iter().all(is_product)
    }

    /// True if variances and covariances of the terms of a group are integrals over fewer features than all at once.
    fn is_of_pairs(&self, group: &Group, local: LocalQuantity) -> bool {
        let all = group.features.len();
        let apart = self.have_means(&group.features, local);
        let of = |&term: &usize| self.free_features(self.term(term));
        let each: Vec<Vec<usize>> = group.terms.iter().map(of).collect();
        let together = |a: &[usize], b: &[usize]| {
            a.len() + if apart { 0 } else { b.iter().filter(|s| !a.contains(s)).count() }
        };
        all > 2 && each.iter().all(|a| each.iter().all(|b| together(a, b) < all))
    }

    /// True if terms have means given any of features, which are independent of each other.
    fn have_means(&self, features: &[usize], local: LocalQuantity) -> bool {
        let plain = matches!(local, LocalQuantity::Value) && self.held.is_empty();
        plain
            && self.is_of_rows()
            && !self.is_witness()
            && features.iter().all(|&feature| self.is_independent(feature, features))
    }

    fn variance_of_term(&self, term: usize, local: LocalQuantity, mean: Estimate) -> Estimate {
        self.variance_of_product(term, local).unwrap_or_else(|| {
            let features = self.free_features(&self.engine.terms[term]);
            self.joint_variance(&Group { terms: vec![term], features }, local, mean)
        })
    }

    /// The variance of a local quantity of a term of which a mean is declared with the mean squares of what it is over:
    /// that of the quantity given all others, on average, and that of its mean given these, which is 0 of curves of an angle
    /// less their means over a whole turn.
    fn variance_by_average(
        &self,
        index: usize,
        local: LocalQuantity,
        mean: Estimate,
    ) -> Option<Estimate> {
        let along = match local {
            LocalQuantity::Value => None,
            LocalQuantity::Partial(s) => Some(s),
            LocalQuantity::Centred { feature, axis }
                if self.is_whole_turn(index, feature, axis) =>
            {
                None
            }
            _ => return None,
        };
        let is_centred = local.moves().is_some();
        let (part, features) = self.averaged(index, local);
        if !part.term.has_squares() {
            return None;
        }
        let integrand = |row: &mut [f64]| {
            let square = part.term.mean_square(along, row).unwrap_or_default();
            if is_centred {
                let own = part.term.estimate(row);
                return square.minus(own.product(own));
            }
            let own = self.engine.local(local, part, row);
            square.minus(own.product(own)).plus(own.squared_from(mean.value))
        };
        Some(about(mean, |floor| {
            self.expectation(&features, &[part.term], local, floor, &integrand)
        }))
    }

    /// True if a feature is one of two angles of a term, and an axis one whole turn, wherever it begins.
    fn is_whole_turn(&self, index: usize, feature: usize, (lo, hi): (f64, f64)) -> bool {
        let is_angle = self.term(index).angles().is_some_and(|pair| pair.contains(&feature));
        let rounding = 8.0 * f64::EPSILON * hi.abs().max(lo.abs());
        is_angle && (hi - lo - std::f64::consts::TAU).abs() <= rounding
    }

    fn joint_variance(&self, group: &Group, local: LocalQuantity, mean: Estimate) -> Estimate {
        if let &[term] = group.terms.as_slice()
            && let Some(known) = self.variance_by_average(term, local, mean)
        {
            return known;
        }
        let parts: Vec<Part<'_>> = group.terms.iter().map(|&t| self.whole(t)).collect();
        let terms: Vec<&Term> = parts.iter().map(|part| part.term).collect();
        let integrand = |row: &mut [f64]| {
            let each = parts.iter().map(|&part| self.recalled_local(local, part, row));
            let sum = Estimate::sum(each);
            sum.squared_from(mean.value)
        };
        let spread = |floor| self.expectation(&group.features, &terms, local, floor, &integrand);
        about(mean, spread)
    }

    /// True if the variance of a local quantity of the sum of terms is simulated, for the number of features that are
    /// integrated at once.
    pub(super) fn simulates(&self, terms: &[usize], local: LocalQuantity) -> bool {
        let Some(watch) = &self.engine.watch else { return false };
        let parts = |terms: &[usize]| terms.iter().map(|&t| self.term(t)).collect::<Vec<&Term>>();
        let too_many = |parts: &[&Term]| {
            let mut features: Vec<usize> =
                parts.iter().flat_map(|term| self.free_features(term)).collect();
            features.sort_unstable();
            features.dedup();
            let affine = self.affine_features(&features, parts);
            self.integrated(&features, &affine).len() > watch.most || !self.is_known(&features)
        };
        self.groups(terms).iter().any(|group| match local {
            LocalQuantity::Shapley(s) => self.too_deep_for(s, &group.terms).is_some(),
            _ if group.terms.len() > 1
                && group.features.len() <= 3
                && group.terms.iter().all(|&t| self.factors(t, local).is_none()) =>
            {
                too_many(&parts(&group.terms))
            }
            _ => group.terms.iter().any(|&t| match self.factors(t, local) {
                Some(_) => self.term(t).factors().iter().any(|factor| too_many(&[factor])),
                None => too_many(&parts(&[t])),
            }),
        })
    }

    /// The integral of a local quantity of terms: its mean, or about a mean its variance. Of Shapley values of more
    /// features than are integrated at once it is simulated where that takes too many evaluations.
    fn shapley(
        &self,
        terms: &[usize],
        local: LocalQuantity,
        mean: Option<Estimate>,
        integrated: impl FnOnce() -> Estimate,
    ) -> Estimate {
        let (LocalQuantity::Shapley(feature), Some(watch)) = (local, &self.engine.watch) else {
            return integrated();
        };
        let Some(deep) = self.too_deep_for(feature, terms) else { return integrated() };
        let can_be = deep.iter().all(|term| term.features().len() <= watch.most + 1);
        let known =
            can_be.then(|| within_budget(watch.limit(MOST_OF_SHAPLEY), integrated)).flatten();
        let known = known.filter(|known| !known.value.is_nan());
        known.unwrap_or_else(|| {
            // What was refused on the way is no reason: there is another one.
            drop(Watch::reason());
            if is_spent() {
                return Estimate::exact(f64::NAN);
            }
            let simulated = |centre| self.simulated_shapley(watch, feature, &deep, centre);
            if let Some(variance) =
                mean.and_then(|_| self.simulated_interactions(watch, feature, &deep))
            {
                return variance;
            }
            match mean {
                None => simulated(None),
                Some(mean) => about(mean, |_| simulated(Some(mean.value))),
            }
        })
    }

    /// Those of terms that read a feature, where its Shapley values for them are not integrated.
    fn too_deep_for(&self, feature: usize, terms: &[usize]) -> Option<Vec<&'a Term>> {
        let watch = self.engine.watch.as_ref()?;
        let engine = self.engine;
        let readers: Vec<usize> =
            terms.iter().copied().filter(|&t| engine.terms[t].reads(feature)).collect();
        let terms: Vec<&Term> = readers.iter().map(|&t| &*engine.terms[t]).collect();
        let mut free: Vec<usize> = terms.iter().flat_map(|term| self.free_features(term)).collect();
        free.sort_unstable();
        free.dedup();
        let within = readers.iter().map(|&t| engine.integrated_for_coalitions(t)).max()?;
        let many = terms.iter().any(|term| term.features().len() > MOST_MEMBERS);
        let affine = self.affine_features(&free, &terms);
        let integrated = self.integrated(&free, &affine).len();
        // Worths are asked for at the same nodes, and kept: one feature more can be paid for.
        (!many && integrated + within > watch.most + 1).then_some(terms)
    }

    /// Those of features that are integrated over, neither at two points nor by a sum.
    fn integrated(&self, features: &[usize], affine: &[usize]) -> Vec<usize> {
        let has_levels = |feature: usize| self.measure.margin(feature).levels().is_some();
        let free = |feature: &usize| !affine.contains(feature) && !has_levels(*feature);
        features.iter().copied().filter(free).collect()
    }

    fn covariance(&self, terms: [(usize, Estimate); 2], local: LocalQuantity) -> Estimate {
        if let Some(both) = self.mean_of_both(terms.map(|(term, _)| term), local) {
            return both.minus(terms[0].1.product(terms[1].1));
        }
        let each = terms.map(|(t, _)| self.free_features(&self.engine.terms[t]));
        if !each[0].iter().any(|&a| each[1].iter().any(|&b| self.related(a, b))) {
            return Estimate::default();
        }
        let shared: Vec<usize> = each[0].iter().copied().filter(|s| each[1].contains(s)).collect();
        let mut features = each.concat();
        features.sort_unstable();
        features.dedup();
        // Given what they share, the mean of a product of independent terms is that of their means.
        let apart = self.have_means(&features, local);
        let means = terms.map(|(t, _)| apart.then(|| self.engine.marginal_mean(t, &shared, 1.0)));
        let features = if apart { shared } else { features };
        let parts = [0, 1].map(|side| {
            let (index, mean) = terms[side];
            let place = PartPlace::Elsewhere;
            let averaged = means[side].as_ref().map(|term| Part { index, term, place });
            (averaged.unwrap_or_else(|| self.whole(index)), mean)
        });
        let integrand = |row: &mut [f64]| {
            let [a, b] = parts.map(|(part, mean)| {
                let local = self.engine.local(local, part, row);
                let error = local.error + f64::EPSILON * mean.magnitude;
                (local.value - mean.value, error, local.simulated | mean.simulated)
            });
            let value = a.0 * b.0;
            let error = error_of_product((a.0, a.1), (b.0, b.1));
            let simulated = a.2 | b.2;
            Estimate { value, magnitude: value.abs(), error, simulated }
        };
        let floor = 1e-26 * terms[0].1.magnitude * terms[1].1.magnitude;
        let pair = parts.map(|(part, _)| part.term);
        self.expectation(&features, &pair, local, floor, &integrand)
    }

    /// Terms are together if they read the same or dependent features beside those held.
    fn groups(&self, terms: &[usize]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for &term in terms {
            let features = self.free_features(&self.engine.terms[term]);
            let touches = |group: &Group| {
                let dependent = |&a: &usize| features.iter().any(|&b| self.related(a, b));
                group.features.iter().any(dependent)
            };
            let (together, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(touches);
            let mut merged = Group { terms: vec![term], features };
            for group in together {
                merged.terms.extend(group.terms);
                merged.features.extend(group.features);
            }
            merged.features.sort_unstable();
            merged.features.dedup();
            groups = apart;
            groups.push(merged);
        }
        groups
    }

    /// True if a local quantity of terms is an integral itself: a centred curve over its axis, where that mean is not
    /// resolved as a function of one other feature.
    fn integrates_within(&self, terms: &[&Term], local: LocalQuantity) -> bool {
        let LocalQuantity::Centred { feature, .. } = local else { return false };
        terms.iter().any(|term| term.reads(feature) && term.features().len() > 2)
    }

    /// True if the law of each of features is known, given what is held and those before it.
    fn is_known(&self, features: &[usize]) -> bool {
        let held = self.held.iter().filter(|_| self.rest == Rest::Conditional);
        let mut given: Vec<usize> = held.map(|&(feature, _)| feature).collect();
        features.iter().all(|&feature| {
            let is_known = self.measure.law.is_known(feature, &given);
            given.push(feature);
            is_known
        })
    }

    /// A row of what is held, and what laws of other features are given.
    pub(super) fn start(&self) -> (Vec<f64>, Vec<(usize, f64)>) {
        let mut row = vec![f64::NAN; self.measure.law.dimension()];
        let mut given = Vec::new();
        for &(feature, value) in &self.held {
            row[feature] = value;
            if self.rest == Rest::Conditional {
                given.push((feature, self.measure.law.known(feature, value)));
            }
        }
        (row, given)
    }

    /// The mean over `features` of an integrand: a local quantity of the sum of terms, or a
    /// product of two.
    pub(crate) fn expectation(
        &self,
        features: &[usize],
        terms: &[&Term],
        local: LocalQuantity,
        floor: f64,
        integrand: &dyn Fn(&mut [f64]) -> Estimate,
    ) -> Estimate {
        let (mut row, mut given) = self.start();
        let arbitrary = self.arbitrary_angle(features, terms, local);
        if let Some(angle) = arbitrary {
            row[angle] = 0.0;
        }
        let mut features: Vec<usize> =
            features.iter().copied().filter(|&feature| Some(feature) != arbitrary).collect();
        let is_witness = self.engine.is_witness();
        let mut affine = self.affine_features(&features, terms);
        if is_witness {
            features.reverse();
            affine.clear();
        }
        // Where something breaks is known once the levels are.
        let has_levels = |feature: usize| self.measure.margin(feature).levels().is_some();
        features.sort_by_key(|&feature| !has_levels(feature));
        let (mut tolerance, mut budget, mut placed) = (TOLERANCE, None, None);
        if let Some(watch) = &self.engine.watch {
            let held: Vec<usize> = given.iter().map(|(feature, _)| *feature).collect();
            placed = self.placed(&mut features, &held);
            let is_known = placed.is_some() || self.is_known(&features) || {
                features.sort_unstable();
                self.is_known(&features)
            };
            let count = self.integrated(&features, &affine).len();
            let hidden = placed.map_or(0, |placed| placed.over.saturating_sub(placed.count));
            if !is_known || count + hidden > watch.most {
                return self.simulated(watch, local, &features, &given, &row, integrand);
            }
            if count >= MANY {
                tolerance = TOLERANCE_OF_MANY;
            }
            if local.is_shapley() {
                tolerance = tolerance.max(TOLERANCE_OF_SHAPLEY);
            }
            if self.integrates_within(terms, local) {
                budget = Some(watch.limit(MOST_OF_AXES));
            }
        }
        let (engine, measure) = (self.engine, self.measure);
        let spent = Cell::new(0.0);
        let nest = NestedIntegral {
            engine,
            measure,
            terms,
            affine,
            local,
            floor,
            tolerance,
            integrand,
            features: &features,
            spent,
            most: engine.most_evaluations(),
            placed,
            rough: vec![Cell::new(0); features.len()],
        };
        let start = row.clone();
        let known = given.len();
        let mut over = || nest.over(&features, &mut given, &mut row);
        let total = match budget {
            Some(most) => within_budget(most, over),
            None => Some(over()).filter(|_| nest.spent.get() <= nest.most),
        };
        match (&self.engine.watch, total) {
            (Some(watch), None) if !is_spent() => {
                given.truncate(known);
                self.simulated(watch, local, &features, &given, &start, integrand)
            }
            (_, total) => {
                let total = total.unwrap_or(Estimate::exact(f64::NAN));
                Estimate { error: total.error + measure.doubt * total.magnitude, ..total }
            }
        }
    }
}

/// Bound on the integral beyond the panels of a law that goes on there, from the integrand at their ends, if it falls
/// off from there at least as fast as on half the way; and at the places where the law itself was cut off.
fn tails(law: &dyn Univariate, (from, to): (f64, f64), mut at: impl FnMut(f64) -> Estimate) -> f64 {
    let mut size = |u: f64, mass: f64| if mass > 0.0 { mass * at(u).value.abs() } else { 0.0 };
    let ends = law.open_ends((from, to)).into_iter();
    let beyond: f64 = ends.map(|(end, half)| size(end, half * law.weight(end))).sum();
    let (low, high) = law.support();
    let inside = |u: f64| (from..=to).contains(&u) && (low..=high).contains(&law.place(u));
    let cuts = law.cuts().iter().filter(|(u, _)| inside(*u));
    beyond + cuts.map(|&(u, mass)| size(u, mass)).sum::<f64>()
}

/// Features integrated at once from which on integrals of a problem file are taken to a tolerance of their own: it
/// is far below what is promised of them, and spares halvings in each of the features.
const MANY: usize = 3;
const TOLERANCE_OF_MANY: f64 = 1e-11;
/// That of Shapley values of a problem file, each of which takes several worths.
const TOLERANCE_OF_SHAPLEY: f64 = 1e-12;

/// Distance of the row beside another one, in widths of what is seen of a feature: squares of it are more than rounding.
pub(super) const BESIDE: f64 = 1e-7;

/// Size of what is beyond the panels of a law, relative to what is between them, up to which it is rounding; and the
/// relative error of densities there, which have the roundings of exponents of a hundred.
const NOTHING: f64 = 1e-14;
const OF_EXPONENTS: f64 = 1e-13;

/// Share at which a witness divides panels.
const ELSEWHERE: f64 = 0.381_966;

/// Share of a standard deviation that is the least distance of points which resolve what does not change faster than a
/// normal density, whose own are two apart.
const AS_SLOW: f64 = 0.5;

/// True if places that resolve something are too close to each other, somewhere along a normal density.
fn is_faster(places: &[f64], (mean, sd): (f64, f64)) -> bool {
    let reach = 10.0 * sd;
    let points = apart(&within(places, mean - reach, mean + reach));
    let inner = points.get(1..points.len() - 1).unwrap_or_default();
    inner.windows(2).any(|pair| pair[1] - pair[0] < AS_SLOW * sd)
}

/// A mean square deviation from a mean, with what that adds to its error.
pub(super) fn about(mean: Estimate, spread: impl FnOnce(f64) -> Estimate) -> Estimate {
    // Below this a deviation from the mean is rounding, and its square must not be resolved.
    let spread = spread((1e-13 * mean.magnitude).powi(2));
    Estimate {
        magnitude: spread.magnitude + mean.magnitude * mean.magnitude,
        error: spread.error + mean.error * mean.error,
        simulated: spread.simulated | mean.simulated,
        ..spread
    }
}

/// Features of a block, the last of those that are integrated over, that are summed over places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    /// Number of these features.
    pub(super) count: usize,
    /// Number of features without levels that are placed, those included that are not asked for.
    pub(super) over: usize,
}

/// A nested integral over features, one after the other.
pub(super) struct NestedIntegral<'a> {
    pub(super) engine: &'a Engine,
    pub(super) measure: &'a Measure,
    pub(super) terms: &'a [&'a Term],
    affine: Vec<usize>,
    local: LocalQuantity,
    pub(super) floor: f64,
    tolerance: f64,
    integrand: &'a dyn Fn(&mut [f64]) -> Estimate,
    /// The features that are integrated over.
    features: &'a [usize],
    /// Evaluations of the integrand so far, and most of them.
    spent: Cell<f64>,
    most: f64,
    /// The last of the features that are integrated over, where they are summed over places.
    placed: Option<Placed>,
    /// By the number of features that are integrated inside, how often the rule of trapezia did not resolve an integral.
    rough: Vec<Cell<usize>>,
}

/// Integrals that the rule of trapezia is tried for where it resolves none.
const MOST_ROUGH: usize = 3;

/// Features without levels that nested integrals are taken over where sums over places do not agree.
const MOST_NESTED: usize = 2;

impl NestedIntegral<'_> {
    /// The integrand at a row; none where it takes more evaluations than it may.
    pub(super) fn at(&self, row: &mut [f64]) -> Option<Estimate> {
        self.spent.set(self.spent.get() + 1.0);
        spend(1.0);
        if self.engine.watch.is_some() {
            if is_spent() || self.spent.get() > self.most {
                return None;
            }
            let value = (self.integrand)(row);
            return Some(if value.value.is_finite() { value } else { self.beside(value, row) });
        }
        Some((self.integrand)(row))
    }

    /// The integrand at a row beside one at which it is no number, such as 0/0: what has the probability 0 does not matter
    /// to an integral, and where there is more to it there is none beside it either.
    fn beside(&self, value: Estimate, row: &[f64]) -> Estimate {
        let mut moved = row.to_vec();
        let integrated = self.features.iter().filter(|&&s| !self.engine.has_levels(s));
        for (place, &feature) in integrated.enumerate() {
            let law = self.measure.margin(feature);
            let panels = law.panels();
            let width = law.place(panels[panels.len() - 1]) - law.place(panels[0]);
            // Differences of features do not stay what they are.
            let share = 0.5 + (place as f64 * 0.618_034).fract();
            moved[feature] += share * BESIDE * width.max(row[feature].abs());
        }
        let there = (self.integrand)(&mut moved);
        if there.value.is_finite() { there } else { value }
    }

    fn over(&self, features: &[usize], given: &mut Vec<(usize, f64)>, row: &mut [f64]) -> Estimate {
        let Some((&feature, rest)) = features.split_first() else {
            return self.at(row).unwrap_or(Estimate::exact(f64::NAN));
        };
        if let Some(placed) = self.placed.filter(|placed| placed.count == features.len()) {
            if let Some(total) = self.over_places(features, given, row) {
                return total;
            }
            if placed.over > MOST_NESTED {
                self.spent.set(f64::INFINITY);
                return Estimate::exact(f64::NAN);
            }
        }
        if self.affine.contains(&feature) {
            return self.over_two_points(feature, rest, given, row);
        }
        let related = |other: usize| self.measure.law.related(feature, other);
        let alone = !rest.iter().any(|&o| related(o)) && !given.iter().any(|&(o, _)| related(o));
        let mut places = Passages { sharp: self.breaks(feature, row), smooth: Vec::new() };
        for &other in rest.iter().filter(|&&other| self.measure.law.related(feature, other)) {
            for at in self.breaks(other, row) {
                places.sharp.extend(self.measure.law.shadow(fixed_break(other, at, feature)));
            }
        }
        // Averages over a partner change where it passes the lines; Shapley values are made of such, whose partner does not
        // depend on the feature.
        let is_shapley = self.local.is_shapley();
        for term in self.terms.iter().filter(|term| term.has_passages()) {
            if !rest.is_empty() {
                places.sharp.extend(self.engine.passages_given(term, feature));
            } else if is_shapley && self.engine.watch.is_some() {
                let Passages { sharp, smooth } = Passages::under(&self.engine.whole, term, feature);
                places.sharp.extend(sharp);
                places.smooth.extend(smooth);
            } else if is_shapley {
                places.sharp.extend(self.engine.passages_of_background(term, feature));
            }
        }
        let total = if alone {
            let Alone { law, panels } = self.measure.alone(feature);
            self.over_law((&**law, Some(panels)), feature, rest, &places, given, row)
        } else {
            let law = self.measure.law.conditional(feature, given);
            self.over_law((&*law, None), feature, rest, &places, given, row)
        };
        row[feature] = f64::NAN;
        total
    }

    /// The mean over a feature that has a law, whose panels may be known, with places where the average over it
    /// breaks.
    fn over_law(
        &self,
        (law, panels): (&dyn Univariate, Option<&[f64]>),
        feature: usize,
        rest: &[usize],
        places: &Passages,
        given: &mut Vec<(usize, f64)>,
        row: &mut [f64],
    ) -> Estimate {
        match law.mixing().filter(|_| !self.engine.is_witness()) {
            Some(mixing) => self.over_mixture(mixing, feature, rest, places, given, row),
            None => self.along((law, panels), feature, rest, places, given, row),
        }
    }

    /// The mean over a feature whose law is a mixture.
    fn over_mixture(
        &self,
        mixing: &dyn Mixing,
        feature: usize,
        rest: &[usize],
        places: &Passages,
        given: &mut Vec<(usize, f64)>,
        row: &mut [f64],
    ) -> Estimate {
        let hidden = mixing.hidden();
        if let Some(levels) = hidden.levels() {
            let each = levels.iter().map(|(x, p)| match mixing.given(x) {
                Some(law) => self.along((&*law, None), feature, rest, places, given, row).times(p),
                None => Estimate::exact(f64::NAN),
            });
            return hidden.vouched(Estimate::sum(each.collect::<Vec<_>>()));
        }
        let panels = hidden.panels();
        let mut at = |u: f64| match mixing.given(hidden.place(u)) {
            Some(law) => self.along((&*law, None), feature, rest, places, given, row),
            None => Estimate::exact(f64::NAN),
        };
        let [total] =
            integrate_to(self.tolerance, &panels, self.floor, |u| [hidden.weighed(u, at(u))]);
        let ends = (panels[0], panels[panels.len() - 1]);
        let beyond = tails(hidden, ends, at);
        let total = hidden.vouched(total);
        Estimate { error: total.error + beyond, ..total }
    }

    /// As [`Self::over_law`], of a law that is no mixture.
    fn along(
        &self,
        (law, panels): (&dyn Univariate, Option<&[f64]>),
        feature: usize,
        rest: &[usize],
        places: &Passages,
        given: &mut Vec<(usize, f64)>,
        row: &mut [f64],
    ) -> Estimate {
        if let Some(levels) = law.levels() {
            return law.vouched(self.over_levels(levels, feature, rest, given, row));
        }
        let mut points = panels.map_or_else(|| law.panels(), <[f64]>::to_vec);
        let (from, to) = (points[0], points[points.len() - 1]);
        let coordinates =
            |places: &[f64]| -> Vec<f64> { places.iter().map(|&x| law.coordinate(x)).collect() };
        let (sharp, smooth) = (coordinates(&places.sharp), coordinates(&places.smooth));
        let breaks = [&sharp[..], &smooth].concat();
        points.extend(&breaks);
        let (is_last, rounds) = (rest.is_empty(), law.rounds_places());
        let mut at = |u: f64| {
            let x = law.place(u);
            row[feature] = x;
            if is_last && !rounds {
                return self.at(row).unwrap_or(Estimate::exact(f64::NAN));
            }
            given.push((feature, law.known(u)));
            let mut inner = self.over(rest, given, row);
            if rounds {
                // The place is between its two neighbours.
                for beside in [x.next_down(), x.next_up()] {
                    row[feature] = beside;
                    inner.error += (self.over(rest, given, row).value - inner.value).abs();
                }
            }
            given.pop();
            inner
        };
        let stretches = law.stretches_beyond((from, to), &breaks);
        let is_broken = sharp.iter().any(|u| from < *u && *u < to);
        let by_trapezia =
            if is_broken { None } else { self.by_trapezia(law, &smooth, rest, &mut at) };
        if let Some(total) = by_trapezia {
            let beyond = self.beyond(law, &stretches, &breaks, total, &mut at);
            return total.plus(law.vouched(beyond));
        }
        if self.engine.is_witness() {
            let inner: Vec<f64> = points.clone();
            points.extend(inner.windows(2).map(|ends| ends[0] + ELSEWHERE * (ends[1] - ends[0])));
        }
        // Of a law that needs no places of its own cusps are at the points that are left.
        let are_cusps = self.engine.watch.is_some()
            && !breaks.is_empty()
            && points.len() == 2 + breaks.len()
            && self.terms.iter().any(|term| term.has_cusps());
        let points = self.engine.panels_between(&points, from, to);
        let weighed = |u: f64| [law.weighed(u, at(u))];
        let [mut total] = if are_cusps {
            integrate_between_cusps(self.tolerance, &points, self.floor, weighed)
        } else {
            integrate_to(self.tolerance, &points, self.floor, weighed)
        };
        total = total.plus(self.beyond(law, &stretches, &breaks, total, &mut at));
        if self.engine.watch.is_some() {
            total = law.vouched(total);
            total.error += tails(law, (from, to), at);
        }
        total
    }

    /// The integral over stretches beyond the panels of a law along which something breaks, if that is not nothing beside
    /// what it is added to.
    fn beyond(
        &self,
        law: &dyn Univariate,
        stretches: &[(f64, f64)],
        breaks: &[f64],
        beside: Estimate,
        at: &mut dyn FnMut(f64) -> Estimate,
    ) -> Estimate {
        let mut sum = Estimate::default();
        for &(from, to) in stretches {
            let points = self.engine.panels_between(breaks, from, to);
            let most = points.windows(2).map(|ends| {
                let weight = law.weight(ends[0]).max(law.weight(ends[1]));
                at(0.5 * (ends[0] + ends[1])).value.abs() * weight * (ends[1] - ends[0])
            });
            // What is no number there does not end the integral, as far from its panels as it is.
            let most: f64 = most.sum();
            if most.is_finite() && most > NOTHING * beside.value.abs() {
                let weighed = |u: f64| [law.weighed(u, at(u))];
                let [found] = integrate_to(self.tolerance, &points, self.floor, weighed);
                sum = sum.plus(found.doubted(OF_EXPONENTS));
            }
        }
        sum
    }

    /// The mean over a feature whose coordinate is normal and along which nothing breaks, by the rule of trapezia; none
    /// where that does not resolve it. Where it did not several times, it is not tried again, nor where something changes
    /// within less than the density does: a fast change far out is as small as what is beyond the highest wave that is seen.
    fn by_trapezia(
        &self,
        law: &dyn Univariate,
        smooth: &[f64],
        rest: &[usize],
        at: &mut dyn FnMut(f64) -> Estimate,
    ) -> Option<Estimate> {
        let rough = &self.rough[rest.len()];
        let is_asked = self.engine.watch.is_some() || law.is_tilted();
        if !is_asked || self.engine.is_witness() || rough.get() >= MOST_ROUGH {
            return None;
        }
        let was_in_vain = || rough.set(rough.get() + 1);
        let normal = law.normal_coordinate()?;
        if is_faster(smooth, normal) {
            return None;
        }
        let found = if law.is_tilted() {
            over_tilted(normal, self.floor, |u| law.tilt(u), at)
        } else {
            over_normal(normal, self.floor, at)
        };
        if found.is_none() {
            was_in_vain();
        }
        found.map(|total| law.vouched(total))
    }

    /// The mean over a feature with levels: a sum.
    fn over_levels(
        &self,
        levels: &Levels,
        feature: usize,
        rest: &[usize],
        given: &mut Vec<(usize, f64)>,
        row: &mut [f64],
    ) -> Estimate {
        let mut sum = Estimate::default();
        for (x, probability) in levels.iter() {
            row[feature] = x;
            given.push((feature, x));
            sum = sum.plus(self.over(rest, given, row).times(probability));
            given.pop();
        }
        sum
    }

    /// The mean of a quadratic over a feature, from its values one standard deviation either side
    /// of the mean.
    fn over_two_points(
        &self,
        feature: usize,
        rest: &[usize],
        given: &mut Vec<(usize, f64)>,
        row: &mut [f64],
    ) -> Estimate {
        let (mean, sd) = self.measure.moments(feature);
        let sides = [mean - sd, mean + sd].map(|x| {
            row[feature] = x;
            self.over(rest, given, row).times(0.5)
        });
        row[feature] = f64::NAN;
        Estimate::sum(sides).doubted(2.0 * self.measure.margin(feature).doubt())
    }

    pub(super) fn breaks(&self, along: usize, row: &mut [f64]) -> Vec<f64> {
        let mut found = Vec::new();
        for term in self.terms {
            self.local.breaks(term, along, row, &mut found);
        }
        found.retain(|place| place.is_finite());
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::engine::watch::{MOST_EVALUATIONS, Watch};
    use crate::law::region::{Condition, Region};
    use crate::law::{Normal, ParentChild, PiecewiseUniform};
    use crate::numeric::quadrature::nodes;
    use crate::numeric::special::{normal_cdf, normal_pdf};
    use crate::{Centring, Quantity};

    /// E x² about the mean 0.5 ± 0.1 of x.
    #[test]
    fn errors_of_means_are_squared() {
        let of = |value, magnitude, error| Estimate { value, magnitude, error, simulated: false };
        let found = about(of(0.5, 3.0, 0.1), |_| of(2.0, 4.0, 0.01));
        assert_eq!((found.value, found.magnitude), (2.0, 13.0));
        assert!((found.error - 0.02).abs() < 1e-16, "{}", found.error);
    }

    fn uniform(law: Law, features: std::ops::Range<usize>, ends: (f64, f64)) -> Law {
        let with = |law: Law, s| law.with_independent(s, PiecewiseUniform::on(ends.0, ends.1));
        features.fold(law, with)
    }

    fn watched(engine: Engine, is_witness: bool) -> Engine {
        let names: Vec<String> = (1..=engine.law().dimension()).map(|s| format!("x{s}")).collect();
        engine.watched(Arc::new(Watch::new(3, is_witness, &names)))
    }

    fn given<'a>(engine: &'a Engine, held: &[(usize, f64)]) -> HeldFeatures<'a> {
        HeldFeatures::new(engine, &engine.measure, held.iter().copied(), Rest::Marginal)
    }

    /// x1 and x2 are angles, of which terms may see the difference alone.
    #[test]
    fn one_of_two_angles_is_arbitrary_where_both_are_free() {
        let turning = || Term::new(&[0, 1], |x| (x[0] - x[1]).cos(), |_, _| 0.0).turning([0, 1]);
        let law =
            uniform(uniform(Law::new(), 0..2, (0.0, std::f64::consts::TAU)), 2..3, (0.0, 1.0));
        let engine = Engine::new(law, vec![turning()]);
        let free = given(&engine, &[]);
        let (term, other) = (turning(), Term::linear(1.0, 0));
        let value = LocalQuantity::Value;
        assert_eq!(free.arbitrary_angle(&[0, 1, 2], &[&term], value), Some(0));
        assert_eq!(free.arbitrary_angle(&[0, 2], &[&term], value), None);
        assert_eq!(free.arbitrary_angle(&[1, 2], &[&term], value), None);
        assert_eq!(free.arbitrary_angle(&[0, 1], &[&term, &other], value), None);
        // What moves an angle does not turn with the other one.
        for feature in [0, 1] {
            let moved = [
                LocalQuantity::Difference { feature, from: 0.0, to: 1.0 },
                LocalQuantity::Centred { feature, axis: (0.0, 1.0) },
            ];
            for local in moved {
                assert_eq!(free.arbitrary_angle(&[0, 1], &[&term], local), None, "{local:?}");
            }
        }
        let apart = LocalQuantity::Difference { feature: 2, from: 0.0, to: 1.0 };
        assert_eq!(free.arbitrary_angle(&[0, 1, 2], &[&term], apart), Some(0));
        // Where one is cut off the other one is not.
        let cut = engine.restricted(1, &Condition::between(0.0, 1.0));
        assert_eq!(given(&cut, &[]).arbitrary_angle(&[0, 1], &[&term], value), Some(1));
    }

    /// A simulation of centred curves ends by what all its evaluations are, those for their means counted.
    #[test]
    fn means_within_a_simulation_are_paid_for() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let wave = move |x: &[f64]| {
            counted.fetch_add(1, Ordering::Relaxed);
            (9.0 * x[0] + x[1]).sin() * x[2].exp()
        };
        let law = uniform(Law::new(), 0..3, (0.0, 1.0));
        let names = ["x1", "x2", "x3"].map(String::from);
        let watch = Watch::new(1, false, &names).simulating(Some(1e-12), Some(1e4));
        let engine = Engine::new(law, vec![Term::new(&[0, 1, 2], wave, |_, _| f64::NAN)]);
        let engine = engine.watched(Arc::new(watch));
        let local = LocalQuantity::Centred { feature: 0, axis: (0.0, 1.0) };
        let found = given(&engine, &[(0, 0.5)]).mean(0, local);
        assert!(found.value.is_nan(), "{found:?}");
        assert!(Watch::reason().is_some_and(|reason| reason.contains("a simulation over x2, x3")));
        let asked = asked.load(Ordering::Relaxed);
        assert!((10_000..500_000).contains(&asked), "{asked}");
    }

    /// x1 is uniform on [0, 1], and x2 normal around it with sd ½. E (φ_2 − E φ_2)² given x2 is taken at the nodes of
    /// E φ_2: f is asked at none of them again.
    #[test]
    fn shapley_values_are_asked_once_for_mean_and_variance() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let wave = move |x: &[f64]| {
            counted.fetch_add(1, Ordering::Relaxed);
            (x[0] + x[1]).sin()
        };
        let pair = ParentChild::new(PiecewiseUniform::on(0.0, 1.0), 0.5);
        let law = Law::new().with(&[0, 1], pair);
        let engine = watched(Engine::new(law, vec![Term::new(&[0, 1], wave, |_, _| 0.0)]), false);
        let local = LocalQuantity::Shapley(1);
        let at = |x: f64| engine.at(1, x, Rest::Conditional);
        // Curves of means given one feature are made once for all.
        at(0.2).moments(&[0], local);
        let count = |make: &dyn Fn() -> Estimate| {
            let before = asked.load(Ordering::Relaxed);
            (make(), asked.load(Ordering::Relaxed) - before)
        };
        let (_, of_mean) = count(&|| at(0.7).integrated_mean(0, local));
        let (variance, of_both) = count(&|| at(0.7).moments(&[0], local).variance);
        assert!(of_mean >= 20 && of_both == of_mean, "{of_both}, {of_mean}");
        // φ_2 = ½ (f − E f(x1, X2)) and what does not depend on x1.
        let nodes: Vec<(f64, f64)> = nodes(0.0, 1.0)
            .map(|(a, w)| {
                let of_rest = (-0.125_f64).exp() * (a.cos() - (1.0 + a).cos());
                (0.5 * ((a + 0.7).sin() - of_rest), w * normal_pdf((0.7 - a) / 0.5))
            })
            .collect();
        let mean = |of: &dyn Fn(f64) -> f64| {
            let mass: f64 = nodes.iter().map(|(_, w)| w).sum();
            nodes.iter().map(|(value, w)| w * of(*value)).sum::<f64>() / mass
        };
        let centre = mean(&|value| value);
        let known = mean(&|value| (value - centre).powi(2));
        assert!((variance.value - known).abs() < 1e-14, "{variance:?}, {known}");
    }

    /// ∫∫∫ 2 x3 exp(x1 x2) over the unit cube is Ei(1) − γ. What curves are centred by costs nothing at other values, is
    /// that of the law which a region leaves, and agrees with a witness, which takes it anew.
    #[test]
    fn what_curves_are_centred_by_is_made_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let engine = |is_witness| {
            let counted = Arc::clone(&asked);
            let wave = move |x: &[f64]| {
                counted.fetch_add(1, Ordering::Relaxed);
                (x[0] * x[1]).exp() * 2.0 * x[2]
            };
            let term = Term::new(&[0, 1, 2], wave, |_, _| f64::NAN);
            watched(Engine::new(uniform(Law::new(), 0..3, (0.0, 1.0)), vec![term]), is_witness)
        };
        let centred = LocalQuantity::Centred { feature: 0, axis: (0.0, 1.0) };
        let (own, witness) = (engine(false), engine(true));
        let ask = |engine: &Engine, x: f64, local: LocalQuantity| {
            let before = asked.load(Ordering::Relaxed);
            let found = given(engine, &[(0, x)]).mean(0, local);
            (found, asked.load(Ordering::Relaxed) - before)
        };
        let ((first, all), (again, few)) = (ask(&own, 0.3, centred), ask(&own, 0.7, centred));
        assert!(few == ask(&own, 0.7, LocalQuantity::Value).1 && few < all, "{few}, {all}");
        let mean = |x: f64| x.exp_m1() / x - 1.317_902_151_454_404;
        for (found, x) in [(first, 0.3), (again, 0.7)] {
            let off = (found.value - mean(x)).abs();
            assert!(off <= found.error + 1e-15 && found.error < 1e-12, "{x}: {found:?}");
        }
        let half = Condition::between(0.0, 0.5);
        let [found, other] =
            [&own, &witness].map(|engine| ask(&engine.restricted(1, &half), 0.7, centred).0);
        let off = (found.value - other.value).abs();
        assert!(off <= found.error + other.error, "{found:?}, {other:?}");
        assert!((found.value - again.value).abs() > 0.01);
    }

    /// x1 x2² has the mean x1/3 over x2 on [0, 1], and x1/12 over x2 on [0, ½].
    #[test]
    fn a_declared_mean_serves_where_its_law_is_whole() {
        let square = Term::new(&[0, 1], |x| x[0] * x[1] * x[1], |_, _| 0.0);
        let term = square.averaging_to(&[1], Term::linear(1.0 / 3.0, 0));
        let engine = Engine::new(uniform(Law::new(), 0..2, (0.0, 1.0)), vec![term]);
        let whole = engine.mean_value(0, 2.0, Rest::Marginal);
        assert!((whole.value - 2.0 / 3.0).abs() < 1e-15 && whole.error < 1e-14, "{whole:?}");
        let cut = engine.restricted(1, &Condition::between(0.0, 0.5));
        let cut = cut.mean_value(0, 2.0, Rest::Marginal);
        assert!((cut.value - 1.0 / 6.0).abs() < 1e-15, "{cut:?}");
        // Densities are quotients there.
        assert!((1.0..1.1).contains(&(cut.error / (1e-12 * cut.value))), "{cut:?}");
    }

    /// f is 1 above 10.2 deviations, beyond the panels of a normal law, and 0 below: its variance is the probability of that.
    #[test]
    fn a_jump_beyond_the_panels_of_a_law_counts() {
        let step = |x: &[f64]| if x[0] > 10.2 { 1.0 } else { 0.0 };
        let term = Term::new(&[0], step, |_, _| 0.0).breaking_at(0, &[10.2]);
        let law = Law::new().with_independent(0, Normal { mean: 0.0, sd: 1.0 });
        let engine = watched(Engine::new(law, vec![term]), false);
        let variance = given(&engine, &[]).moments(&[0], LocalQuantity::Value).variance;
        let known = normal_cdf(-10.2);
        let off = (variance.value - known).abs();
        assert!(
            off <= variance.error && variance.error < 1e-12 * known,
            "{variance:?}, not {known}"
        );
    }

    /// Features that depend on each other, in a region, against a witness, which averages Shapley values.
    #[test]
    fn mean_shapley_values_in_a_region_are_those_of_coalitions() {
        let text = "f = \"exp(0.5*x1*x2 + 0.3*x1*x3)\"\n[law]\nx1 = \"uniform(0, 1)\"\n\
                    x2 = \"x1 + normal(0, 0.5)\"\nx3 = \"uniform(0, 1)\"\n";
        let own = crate::problem("mine", text, &[]).unwrap();
        let witness = own.witness().unwrap();
        let region = Region::default().and(1, 0.2, f64::INFINITY);
        for s in 0..3 {
            let [found, known] = [&own, &witness].map(|scenario| {
                let leaf = scenario.leaf(&region).unwrap();
                let (axis, none) = (leaf.axis(s), Centring::None);
                leaf.curve(Quantity::Shap, s, &[0.4], axis, none).unwrap()[0]
            });
            let off = (found.value - known.value).abs();
            assert!(off <= found.abs_error + known.abs_error, "{s}: {found:?}, {known:?}");
            assert!(found.abs_error < 1e-9 && found.value.abs() > 1e-3, "{found:?}");
        }
    }

    #[test]
    fn a_witness_takes_nothing_apart() {
        let product = || {
            let term = Term::new(&[0, 1], |x| x[0] * x[1].exp(), |_, _| 0.0);
            let factor = Term::new(&[1], |x| x[1].exp(), |_, _| 0.0);
            term.with_factors(vec![Term::linear(1.0, 0), factor])
        };
        let engine = || Engine::new(uniform(Law::new(), 0..2, (0.0, 1.0)), vec![product()]);
        let (own, witness) = (watched(engine(), false), watched(engine(), true));
        assert!(given(&witness, &[]).is_witness() && !given(&own, &[]).is_witness());
        assert!(given(&witness, &[]).mean_of_value(&product()).is_none());
        let mean = given(&own, &[]).mean_of_value(&product()).unwrap();
        let known = 0.5 * (std::f64::consts::E - 1.0);
        assert!((mean.value - known).abs() < 1e-15, "{mean:?}");
        let mean = given(&witness, &[]).mean(0, LocalQuantity::Value);
        assert!((mean.value - known).abs() < 1e-14, "{mean:?}");
    }

    fn nest<'a>(
        engine: &'a Engine,
        integrand: &'a dyn Fn(&mut [f64]) -> Estimate,
        spent: f64,
    ) -> NestedIntegral<'a> {
        NestedIntegral {
            engine,
            measure: &engine.measure,
            terms: &[],
            affine: Vec::new(),
            local: LocalQuantity::Value,
            floor: 0.0,
            tolerance: TOLERANCE,
            integrand,
            features: &[],
            spent: Cell::new(spent),
            most: engine.most_evaluations(),
            placed: None,
            rough: vec![Cell::new(0)],
        }
    }

    #[test]
    fn an_integral_ends_after_the_most_evaluations() {
        let engine = || Engine::new(uniform(Law::new(), 0..1, (0.0, 1.0)), Vec::new());
        let (free, watched) = (engine(), watched(engine(), false));
        for (engine, ends) in [(&free, false), (&watched, true)] {
            let nest = nest(engine, &|_| Estimate::exact(3.0), MOST_EVALUATIONS - 1.0);
            let ask = || nest.over(&[], &mut Vec::new(), &mut [0.5]).value;
            assert_eq!((ask(), nest.spent.get()), (3.0, MOST_EVALUATIONS));
            assert_eq!(ask().is_nan(), ends);
            assert_eq!(nest.spent.get(), MOST_EVALUATIONS + 1.0);
        }
    }

    /// A standard normal law that is integrated as far as its third deviation.
    struct Short;

    impl Univariate for Short {
        fn pdf(&self, x: f64) -> f64 {
            normal_pdf(x)
        }

        fn cdf(&self, x: f64) -> f64 {
            normal_cdf(x)
        }

        fn support(&self) -> (f64, f64) {
            (f64::NEG_INFINITY, f64::INFINITY)
        }

        fn panels(&self) -> Vec<f64> {
            vec![-3.0, 0.0, 3.0]
        }
    }

    impl Mixing for Short {
        fn hidden(&self) -> &dyn Univariate {
            self
        }

        fn given(&self, x: f64) -> Option<Box<dyn Univariate>> {
            Some(Box::new(Normal { mean: x, sd: 1.0 }))
        }
    }

    /// Both ends have a density of φ(3), half of six units from the middle.
    #[test]
    fn a_mixture_is_in_doubt_by_what_was_cut_off() {
        let engine = Engine::new(uniform(Law::new(), 0..1, (0.0, 1.0)), Vec::new());
        let one = |_: &mut [f64]| Estimate::exact(1.0);
        let nest = nest(&engine, &one, 0.0);
        let found = nest.over_mixture(
            &Short,
            0,
            &[],
            &Passages::default(),
            &mut Vec::new(),
            &mut [f64::NAN],
        );
        assert!((found.value - (1.0 - 2.0 * normal_cdf(-3.0))).abs() < 1e-12, "{found:?}");
        assert!((found.error / (2.0 * 3.0 * normal_pdf(3.0)) - 1.0).abs() < 1e-9, "{found:?}");
    }
}
