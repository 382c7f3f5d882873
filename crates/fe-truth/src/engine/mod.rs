//! Expectations of a sum of terms under a law, by nested quadrature: the general truth.
//!
//! Imports laws, functions and numerical methods; nothing here knows a scenario. Begin with [`Engine`] and
//! its `mean`: `nested` integrates one feature after the other, `places` sums where laws are integrals themselves,
//! `memory` keeps what is asked for again, `factors` takes products whose factors share no feature, `shapley`
//! coalitions, `interactions` variances of Shapley values, `components` variances of all sets of features at once, `decomposed` means of variances, `averages` means as terms of the features they are not
//! over, `moving` jumps at places that move, `simulation` means over more features than quadrature can take,
//! `turned` variances with two angles of which one is free. A term is integrated over the features it reads and no others, and a variance over groups
//! of terms that share randomness, so that integrals stay of low dimension however many features there are.

pub(crate) mod averages;
pub(crate) mod components;
mod decomposed;
mod factors;
mod interactions;
mod memory;
mod moving;
pub(crate) mod nested;
mod places;
mod products;
mod recalled;
pub(crate) mod shapley;
mod simulation;
pub(crate) mod threads;
mod turned;
mod variance_of_means;
pub(crate) mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::function::Term;
use crate::law::region::Condition;
use crate::law::{Crossing, Law, Univariate};
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::{
    Estimate, TOLERANCE, apart, integrate, integrate_between_cusps, integrate_to, within,
};
use memory::{HeldValues, Memory};
use nested::HeldFeatures;
use shapley::Coalitions;
use simulation::is_simulating;
use threads::at_each;
use turned::TurnedMeans;
use watch::{MOST_EVALUATIONS, Watch, spend};

/// Local quantity: the integrand at a row in which the feature of interest has its value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LocalQuantity {
    /// The function.
    Value,
    /// Its derivative along a feature.
    Partial(usize),
    /// Its change as the feature moves from one value to another.
    Difference { feature: usize, from: f64, to: f64 },
    /// Its value less its mean over an axis of the feature: a centred ICE curve.
    Centred { feature: usize, axis: (f64, f64) },
    /// The Shapley value of a feature, with the whole law as background.
    Shapley(usize),
    /// The same without what depends on that feature alone: it varies as much while that is held.
    VaryingShapley(usize),
}

/// Law of the other features while one is held at a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Their own.
    Marginal,
    /// The conditional one, given that value.
    Conditional,
}

/// Mean and variance of a local quantity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) mean: Estimate,
    pub(crate) variance: Estimate,
}

/// A part of a term, a feature of it, the ends of an axis of that, and if it serves a simulation.
type AxisKey = (usize, PartPlace, usize, [u64; 2], bool);

/// Means of parts of terms over axes: as functions of the one other feature that a part reads, or number by
/// number where it reads several.
#[derive(Default)]
pub(crate) struct AxisMeans {
    /// Few, and asked for at each node: the last one is found first.
    curves: Mutex<Vec<(AxisKey, Arc<Curve>)>>,
    numbers: Memory<AxisKey>,
    /// Of terms that two angles enter by their difference.
    turned: TurnedMeans,
}

impl AxisMeans {
    /// Most curves that are kept.
    const MOST: usize = 64;

    fn of(&self, key: AxisKey, resolve: impl FnOnce() -> Curve) -> Arc<Curve> {
        let mut kept = self.curves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().rev().find(|(known, _)| *known == key) {
            return Arc::clone(known);
        }
        if kept.len() >= Self::MOST {
            kept.clear();
        }
        let curve = Arc::new(resolve());
        kept.push((key, Arc::clone(&curve)));
        curve
    }
}

/// A term that is integrated: one of the function, or a mean of one.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) index: usize,
    pub(crate) term: &'a Term,
    pub(crate) place: PartPlace,
}

/// Place of a part in its term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PartPlace {
    /// The term itself.
    Whole,
    /// A factor of it, by its number.
    Factor(usize),
    /// A declared mean of it, by its number.
    Average(usize),
    /// Another mean of it, or a term that is none of the function.
    Elsewhere,
}

/// A moment of a product of factors, by terms and places of the factors.
pub(crate) type KnownMoments = Mutex<HashMap<Vec<(usize, usize)>, Estimate>>;

/// Moments of products of factors that do not depend on what is held: a curve asks for them at each of its
/// points.
#[derive(Default)]
pub(crate) struct FactorMoments {
    pub(crate) means: KnownMoments,
    pub(crate) variances: KnownMoments,
}

/// A law with the moments of its features, once they were asked for.
pub(crate) struct Measure {
    pub(crate) law: Law,
    /// Share by which its densities may be off: given a region they are quotients.
    pub(crate) doubt: f64,
    margins: Vec<Box<dyn Univariate>>,
    moments: Vec<OnceLock<(f64, f64)>>,
    /// The law of each feature where no other matters, with its panels.
    alone: Vec<OnceLock<Alone>>,
}

/// A law, and the points of its coordinate between which its density is smooth.
pub(crate) struct Alone {
    pub(crate) law: Box<dyn Univariate>,
    pub(crate) panels: Vec<f64>,
}

/// Share by which densities given a region may be off.
const QUOTIENT: f64 = 1e-12;

impl Measure {
    fn new(law: Law) -> Arc<Self> {
        let margins = (0..law.dimension()).map(|feature| law.marginal(feature)).collect();
        let moments = (0..law.dimension()).map(|_| OnceLock::new()).collect();
        let alone = (0..law.dimension()).map(|_| OnceLock::new()).collect();
        let doubt = if law.is_restricted() { QUOTIENT } else { 0.0 };
        Arc::new(Self { law, doubt, margins, moments, alone })
    }

    /// The law of a feature where no other matters: integrals ask for it at each point of those around them.
    pub(crate) fn alone(&self, feature: usize) -> &Alone {
        self.alone[feature].get_or_init(|| {
            let law = self.law.alone(feature);
            let panels = law.panels();
            Alone { law, panels }
        })
    }

    /// The law of a feature on its own.
    pub(crate) fn margin(&self, feature: usize) -> &dyn Univariate {
        &*self.margins[feature]
    }

    /// Mean and standard deviation of a feature.
    pub(crate) fn moments(&self, feature: usize) -> (f64, f64) {
        *self.moments[feature].get_or_init(|| {
            let law = self.margin(feature);
            let average = |f: &dyn Fn(f64) -> f64| {
                if let Some(levels) = law.levels() {
                    return levels.iter().map(|(x, p)| p * f(x)).sum();
                }
                let at = |u: f64| [Estimate::exact(f(law.place(u)) * law.weight(u))];
                integrate(&law.panels(), 0.0, at)[0].value
            };
            let mean = average(&|x| x);
            (mean, average(&|x| (x - mean).powi(2)).sqrt())
        })
    }
}

#[derive(Clone)]
pub(crate) struct Engine {
    /// The law of the rows.
    measure: Arc<Measure>,
    /// The law before it was restricted: that of the background of SHAP values.
    pub(crate) whole: Arc<Measure>,
    pub(crate) terms: Arc<[Arc<Term>]>,
    /// Mean of each term, and Var f, once asked for.
    term_means: Vec<OnceLock<Estimate>>,
    variance: OnceLock<Estimate>,
    pub(crate) coalitions: Arc<Coalitions>,
    axis_means: Arc<AxisMeans>,
    factor_moments: Arc<FactorMoments>,
    /// Means of terms over axes, averaged over what else they read.
    centres: Arc<Memory<AxisKey>>,
    /// Limits of what is integrated; none for laws and functions that keep within any.
    pub(crate) watch: Option<Arc<Watch>>,
}

impl Engine {
    pub(crate) fn new(law: Law, terms: Vec<Term>) -> Self {
        Self::under(law, terms.into_iter().map(Arc::new).collect())
    }

    /// The terms under a law that is the background as well.
    fn under(law: Law, terms: Arc<[Arc<Term>]>) -> Self {
        let coalitions = Arc::new(Coalitions::of(&terms, &law));
        let measure = Measure::new(law);
        Self::of(Arc::clone(&measure), measure, terms, coalitions, Arc::default())
    }

    /// The same terms under another law of the same features, which becomes the background as well.
    pub(crate) fn given(&self, law: Law) -> Self {
        let watch = self.watch.clone();
        Self { watch, ..Self::under(law, Arc::clone(&self.terms)) }
    }

    fn of(
        measure: Arc<Measure>,
        whole: Arc<Measure>,
        terms: Arc<[Arc<Term>]>,
        coalitions: Arc<Coalitions>,
        axis_means: Arc<AxisMeans>,
    ) -> Self {
        let term_means = terms.iter().map(|_| OnceLock::new()).collect();
        let variance = OnceLock::new();
        let (factor_moments, centres, watch) = (Arc::default(), Arc::default(), None);
        Self {
            measure,
            whole,
            terms,
            term_means,
            variance,
            coalitions,
            axis_means,
            factor_moments,
            centres,
            watch,
        }
    }

    /// True if it integrates as a witness of another engine.
    pub(crate) fn is_witness(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.is_witness)
    }

    /// Most evaluations of the integrand of one integral.
    pub(crate) fn most_evaluations(&self) -> f64 {
        self.watch.as_ref().map_or(f64::INFINITY, |watch| watch.limit(MOST_EVALUATIONS))
    }

    /// The same within limits of what is integrated.
    pub(crate) fn watched(self, watch: Arc<Watch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// The same within other limits, with nothing known yet; itself where there are none.
    pub(crate) fn within(&self, limits: impl FnOnce(&Watch) -> Watch) -> Self {
        let Some(watch) = &self.watch else { return self.clone() };
        let (measure, whole) = (Arc::clone(&self.measure), Arc::clone(&self.whole));
        let terms = Arc::clone(&self.terms);
        let coalitions = Arc::new(Coalitions::of(&terms, &whole.law));
        let engine = Self::of(measure, whole, terms, coalitions, Arc::default());
        engine.watched(Arc::new(limits(watch)))
    }

    /// Other terms under the same law, with nothing known of them yet.
    pub(crate) fn of_terms(&self, terms: impl IntoIterator<Item = Arc<Term>>) -> Self {
        let (measure, whole) = (Arc::clone(&self.measure), Arc::clone(&self.whole));
        let terms: Arc<[Arc<Term>]> = terms.into_iter().collect();
        let coalitions = Arc::new(Coalitions::of(&terms, &whole.law));
        let watch = self.watch.clone();
        Self { watch, ..Self::of(measure, whole, terms, coalitions, Arc::default()) }
    }

    /// The same terms, under the law given that a feature obeys a condition; the background stays.
    pub(crate) fn restricted(&self, feature: usize, condition: &Condition) -> Self {
        let measure = Measure::new(self.law().restricted(feature, condition));
        let (whole, terms) = (Arc::clone(&self.whole), Arc::clone(&self.terms));
        let (coalitions, means) = (Arc::clone(&self.coalitions), Arc::clone(&self.axis_means));
        let watch = self.watch.clone();
        Self { watch, ..Self::of(measure, whole, terms, coalitions, means) }
    }

    /// A local quantity of a term at a row. It is one of [`Self::terms`] wherever a place is given.
    pub(crate) fn local(&self, local: LocalQuantity, term: Part<'_>, row: &mut [f64]) -> Estimate {
        let declared = term.term;
        match local {
            LocalQuantity::Value => declared.estimate(row),
            LocalQuantity::Partial(feature) if declared.reads(feature) => {
                Estimate::exact(declared.partial(feature, row))
            }
            LocalQuantity::Partial(_) => Estimate::default(),
            LocalQuantity::Difference { feature, from, to } => {
                let end = value_with(declared, feature, to, row);
                end.minus(value_with(declared, feature, from, row))
            }
            LocalQuantity::Shapley(feature) => self.shapley(term.index, feature, row),
            LocalQuantity::VaryingShapley(feature) => {
                self.varying_shapley(term.index, feature, row)
            }
            LocalQuantity::Centred { feature, axis } => {
                let mean = self.axis_mean(term, feature, axis, row);
                declared.estimate(row).minus(mean)
            }
        }
    }

    /// The mean of a term over an axis of a feature, at a row of the others. If there is but one
    /// other, it is resolved once as a function of that.
    fn axis_mean(
        &self,
        part: Part<'_>,
        feature: usize,
        axis: (f64, f64),
        row: &mut [f64],
    ) -> Estimate {
        let term = part.term;
        if part.place == PartPlace::Elsewhere {
            return self.integrated_axis_mean(term, feature, axis, row);
        }
        let mut others = term.features().iter().copied().filter(|&other| other != feature);
        let ends = [axis.0.to_bits(), axis.1.to_bits()];
        let key = (part.index, part.place, feature, ends, is_simulating());
        if let (Some(other), None) = (others.next(), others.next())
            && !term.is_affine_in(other)
        {
            let x = row[other];
            let resolve = || self.resolved_axis_mean(term, feature, axis, other);
            let curve = self.axis_means.of(key, resolve);
            let u = self.whole.margin(other).coordinate(x);
            return if curve.covers(u) {
                curve.at(u)
            } else {
                self.integrated_axis_mean(term, feature, axis, row)
            };
        }
        let others = term.features().iter().copied().filter(|&other| other != feature);
        let held = HeldValues::of(&others.collect::<Vec<usize>>(), row);
        self.axis_means
            .numbers
            .of((key, held), || self.integrated_axis_mean(term, feature, axis, row))
    }

    fn resolved_axis_mean(
        &self,
        term: &Term,
        feature: usize,
        axis: (f64, f64),
        other: usize,
    ) -> Curve {
        let row = vec![f64::NAN; self.whole.law.dimension()];
        let local = LocalQuantity::Centred { feature, axis };
        let mean = |row: &mut [f64]| self.integrated_axis_mean(term, feature, axis, row);
        self.resolved_along(term, local, other, &row, &mean)
    }

    /// A mean of a term along a feature that it is not over, at a row of others that are known; it breaks as a local quantity
    /// of the term does.
    fn resolved_along(
        &self,
        term: &Term,
        local: LocalQuantity,
        other: usize,
        row: &[f64],
        mean: &(dyn Fn(&mut [f64]) -> Estimate + Sync),
    ) -> Curve {
        let law = self.whole.margin(other);
        let mut places = Vec::new();
        local.breaks(term, other, &mut row.to_vec(), &mut places);
        places.retain(|place| place.is_finite());
        let mut points: Vec<f64> = places.into_iter().map(|x| law.coordinate(x)).collect();
        let panels = law.panels();
        points.extend(&panels);
        let points = within(&points, panels[0], panels[panels.len() - 1]);
        self.resolved(&points, [term], &|u| {
            let mut row = row.to_vec();
            row[other] = law.place(u);
            mean(&mut row)
        })
    }

    /// A mean of terms as a curve between points at which it may change its course; of a problem file or in a region, where
    /// terms have cusps, with what they leave in it where they enter the law of what it is over.
    pub(crate) fn resolved<'t>(
        &self,
        points: &[f64],
        terms: impl IntoIterator<Item = &'t Term>,
        mean: &(dyn Fn(f64) -> Estimate + Sync),
    ) -> Curve {
        let means = &mut |places: &[f64]| at_each(places, mean);
        let is_asked = self.watch.is_some() || self.law().is_restricted();
        if is_asked && terms.into_iter().any(Term::has_cusps) {
            return Curve::between_cusps(points, means);
        }
        Curve::smooth(points, means)
    }

    /// A term of the function, as a part.
    fn part(&self, index: usize) -> Part<'_> {
        Part { index, term: &self.terms[index], place: PartPlace::Whole }
    }

    pub(crate) fn law(&self) -> &Law {
        &self.measure.law
    }

    /// The law of a feature on its own.
    pub(crate) fn margin(&self, feature: usize) -> &dyn Univariate {
        self.measure.margin(feature)
    }

    /// Share by which densities may be off.
    pub(crate) fn doubt(&self) -> f64 {
        self.measure.doubt
    }

    /// True if a feature has levels, and no density.
    pub(crate) fn has_levels(&self, feature: usize) -> bool {
        self.margin(feature).levels().is_some()
    }

    /// Mean and standard deviation of a feature.
    pub(crate) fn moments_of(&self, feature: usize) -> (f64, f64) {
        self.measure.moments(feature)
    }

    /// The mean of a term that is none of the function.
    pub(crate) fn mean_of(&self, term: Term) -> Estimate {
        let watch = self.watch.clone();
        let other = Self { watch, ..Self::under(self.law().clone(), Arc::new([Arc::new(term)])) };
        other.mean_of_term(0)
    }

    /// The sum of the terms at a row.
    pub(crate) fn value(&self, row: &[f64]) -> f64 {
        self.terms.iter().map(|term| term.value(row)).sum()
    }

    /// The terms that read a feature.
    pub(crate) fn readers(&self, feature: usize) -> Vec<usize> {
        (0..self.terms.len()).filter(|&t| self.terms[t].reads(feature)).collect()
    }

    /// True if no term that reads the feature reads another one.
    pub(crate) fn is_additive(&self, feature: usize) -> bool {
        self.readers(feature).iter().all(|&t| self.terms[t].features() == [feature])
    }

    /// True if a feature is an angle of which only the distance from another one matters, which is uniform on the circle
    /// wherever this one is: all effects are the same at each of its values.
    pub(crate) fn is_arbitrary(&self, s: usize) -> bool {
        let readers = self.readers(s);
        let pair = readers.first().and_then(|&t| self.terms[t].angles());
        let agree = readers.iter().all(|&t| self.terms[t].angles() == pair);
        let is_one = pair.is_some_and(|angles| angles.contains(&s));
        let own_forms = self.watch.is_none() || self.is_witness();
        agree && is_one && !own_forms && !self.law().is_restricted()
    }

    /// The features beside s on whose law the local effects of s depend.
    pub(crate) fn partners(&self, s: usize) -> Vec<usize> {
        let readers = self.readers(s);
        let read = |other: usize| readers.iter().any(|&t| self.terms[t].reads(other));
        let partner = |&t: &usize| {
            let matters = |other: usize| other != s && read(other) && self.law().related(t, other);
            t != s && (0..self.law().dimension()).any(matters)
        };
        (0..self.law().dimension()).filter(partner).collect()
    }

    /// `E f(x, X_c)`, over the rest's own law or that given x_s = x.
    pub(crate) fn mean_value(&self, s: usize, x: f64, rest: Rest) -> Estimate {
        let moved = |term: &Term| {
            let related = |&other: &usize| self.law().related(s, other);
            term.reads(s) || (rest == Rest::Conditional && term.features().iter().any(related))
        };
        Estimate::sum((0..self.terms.len()).map(|t| {
            if moved(&self.terms[t]) {
                self.at(s, x, rest).mean(t, LocalQuantity::Value)
            } else {
                self.mean_of_term(t)
            }
        }))
    }

    /// The sum of the terms that read the feature; they read nothing else where this is asked.
    pub(crate) fn main(&self, s: usize, x: f64) -> Estimate {
        self.mean(s, x, Rest::Marginal, LocalQuantity::Value)
    }

    /// The sum of the terms that read the feature and nothing else.
    pub(crate) fn own(&self, s: usize, x: f64) -> Estimate {
        let held = self.at(s, x, Rest::Marginal);
        let own = self.readers(s).into_iter().filter(|&t| self.terms[t].features() == [s]);
        Estimate::sum(own.map(|t| held.mean(t, LocalQuantity::Value)))
    }

    /// Mean of a local quantity of the terms that read the feature.
    pub(crate) fn mean(&self, s: usize, x: f64, rest: Rest, local: LocalQuantity) -> Estimate {
        let held = self.at(s, x, rest);
        Estimate::sum(self.readers(s).into_iter().map(|t| held.mean(t, local)))
    }

    /// Mean and variance of a local quantity of the terms that read the feature.
    pub(crate) fn moments(&self, s: usize, x: f64, rest: Rest, local: LocalQuantity) -> Moments {
        self.at(s, x, rest).moments(&self.readers(s), local)
    }

    /// Variance of a local quantity of the terms that read the feature.
    pub(crate) fn variance_of(
        &self,
        s: usize,
        x: f64,
        rest: Rest,
        local: LocalQuantity,
    ) -> Estimate {
        self.at(s, x, rest).variance_of(&self.readers(s), local)
    }

    /// `Var f(x, X_c)`: the variance of ICE curves as they are.
    pub(crate) fn variance_of_values(&self, s: usize, x: f64) -> Estimate {
        let all: Vec<usize> = (0..self.terms.len()).collect();
        self.at(s, x, Rest::Marginal).moments(&all, LocalQuantity::Value).variance
    }

    /// `E[φ_s | x_s = x]`, φ the Shapley value.
    pub(crate) fn mean_shapley(&self, s: usize, x: f64) -> Estimate {
        let held = self.at(s, x, Rest::Conditional);
        Estimate::sum(self.readers(s).into_iter().map(|t| held.mean_shapley(t, s)))
    }

    /// True if no two of features are related, under the law of the background as under that of the rows.
    fn are_independent(&self, features: &[usize]) -> bool {
        Arc::ptr_eq(&self.measure, &self.whole) && self.are_unrelated(features)
    }

    /// True if no two of features are related under the law of the rows.
    fn are_unrelated(&self, features: &[usize]) -> bool {
        let tied = |&a: &usize| features.iter().any(|&b| a != b && self.law().related(a, b));
        !features.iter().any(tied)
    }

    /// True if the variance of a local quantity of the terms that read a feature is simulated at each of its values,
    /// for the number of features that are integrated at once.
    pub(crate) fn simulates_variance(&self, s: usize, rest: Rest, local: LocalQuantity) -> bool {
        let held = self.at(s, self.law().marginal(s).quantile(0.5), rest);
        held.simulates(&self.readers(s), local)
    }

    /// True if a local quantity of the terms that read a feature is one of products of independent factors of one feature
    /// each, whose moments are simple integrals.
    pub(crate) fn is_of_factors(&self, s: usize, rest: Rest, local: LocalQuantity) -> bool {
        let held = self.at(s, self.law().marginal(s).quantile(0.5), rest);
        held.are_of_factors(&self.readers(s), local)
    }

    /// Mean rate at which f jumps as the feature moves on from x, where the place of the jump
    /// depends on another feature that has a density there.
    pub(crate) fn moving_jumps(&self, s: usize, x: f64) -> Estimate {
        let lines = self.terms.iter().flat_map(|term| term.lines()).filter(|line| line.jump != 0.0);
        if let Some(refused) = self.unknown_jumps(s) {
            return refused;
        }
        let fixed = Estimate::sum(lines.filter_map(|line| {
            let own = line.weight(s)?;
            let &(other, weight) = line.weights.iter().find(|(feature, _)| *feature != s)?;
            let place = (line.level - own * x) / weight;
            let given = [(s, self.law().known(s, x))];
            let density = self.law().conditional(other, &given).pdf(place);
            let mut jumps = Estimate::exact(line.jump * own / weight.abs() * density);
            jumps.error += self.doubt() * jumps.magnitude;
            Some(jumps)
        }));
        fixed.plus(self.jumps_across_surfaces(s, x))
    }

    /// A refusal where f jumps with a feature at places of another one whose law given that is not known.
    fn unknown_jumps(&self, s: usize) -> Option<Estimate> {
        let watch = self.watch.as_ref()?;
        let jumps = |term: &Term| -> Vec<usize> {
            let lines = term.lines().iter().filter(|line| line.jump != 0.0);
            let lines =
                lines.map(|line| line.weights.iter().map(|(feature, _)| *feature).collect());
            let surfaces = term.moving().iter().map(|surface| surface.features.clone());
            let all = lines.chain(surfaces).filter(|read: &Vec<usize>| read.contains(&s));
            all.flatten().filter(|&other| other != s).collect()
        };
        let mut others = self.terms.iter().flat_map(|term| jumps(term));
        let other = others.find(|&other| !self.law().is_known(other, &[s]))?;
        Some(watch.unknown_density(s, other))
    }

    pub(crate) fn has_moving_jumps(&self, s: usize) -> bool {
        let jumps = |term: &Term| {
            term.lines().iter().any(|line| line.jump != 0.0 && line.weight(s).is_some())
                || term.moving().iter().any(|surface| surface.features.contains(&s))
        };
        self.terms.iter().any(|term| jumps(term))
    }

    /// `E f(X)`.
    pub(crate) fn mean_f(&self) -> Estimate {
        Estimate::sum((0..self.terms.len()).map(|t| self.mean_of_term(t)))
    }

    /// `Var f(X)`.
    pub(crate) fn variance_f(&self) -> Estimate {
        let all: Vec<usize> = (0..self.terms.len()).collect();
        known_number(&self.variance, || self.free().moments(&all, LocalQuantity::Value).variance)
    }

    pub(crate) fn mean_of_term(&self, term: usize) -> Estimate {
        known_number(&self.term_means[term], || self.free().mean(term, LocalQuantity::Value))
    }

    fn free(&self) -> HeldFeatures<'_> {
        HeldFeatures::new(self, &self.measure, None, Rest::Marginal)
    }

    pub(crate) fn at(&self, feature: usize, value: f64, rest: Rest) -> HeldFeatures<'_> {
        HeldFeatures::new(self, &self.measure, Some((feature, value)), rest)
    }

    /// Fixed places along a feature where f jumps or has a kink, inside the support.
    pub(crate) fn breaks(&self, feature: usize) -> Vec<f64> {
        self.fixed_places(feature, Term::corners)
    }

    /// Fixed places along a feature at which integrals are divided: also those beside narrow hills.
    pub(crate) fn divisions(&self, feature: usize) -> Vec<f64> {
        self.fixed_places(feature, Term::breaks)
    }

    fn fixed_places(
        &self,
        feature: usize,
        of: fn(&Term, usize, &[f64], &mut Vec<f64>),
    ) -> Vec<f64> {
        let unknown = vec![f64::NAN; self.law().dimension()];
        let mut found = Vec::new();
        for term in self.terms.iter() {
            of(term, feature, &unknown, &mut found);
        }
        let (low, high) = self.measure.margin(feature).support();
        found.retain(|&place| low < place && place < high);
        found.sort_by(f64::total_cmp);
        found.dedup();
        found
    }

    /// The ends and the points between them; of a problem file without those that rounding made two of one.
    pub(crate) fn panels_between(&self, points: &[f64], from: f64, to: f64) -> Vec<f64> {
        let points = within(points, from, to);
        if self.watch.is_some() { apart(&points) } else { points }
    }

    /// Coordinates of places along a feature where its effects or its density may change fast.
    pub(crate) fn resolution(&self, feature: usize) -> Vec<f64> {
        self.resolution_where(feature, Rest::Conditional)
    }

    /// As [`Self::resolution`], of effects for which the others have their own law or the one given the feature: the former
    /// is the same all along it, and what breaks across them casts no shadow.
    pub(crate) fn resolution_where(&self, feature: usize, rest: Rest) -> Vec<f64> {
        let law = self.measure.margin(feature);
        if law.levels().is_some() {
            return law.panels();
        }
        let mut places = self.divisions(feature);
        if rest == Rest::Marginal {
            for term in self.terms.iter() {
                places.extend(self.passages_under(&self.measure, term, feature));
            }
        } else {
            for other in (0..self.law().dimension()).filter(|&o| self.law().related(feature, o)) {
                for at in self.divisions(other) {
                    places.extend(self.law().shadow(fixed_break(other, at, feature)));
                }
            }
            for term in self.terms.iter() {
                places.extend(self.passages(term, feature));
            }
            places.extend(self.passages_of_surfaces(feature));
        }
        places.into_iter().map(|x| law.coordinate(x)).chain(law.panels()).collect()
    }

    /// Places along a feature where averages of a term over others change as they pass the lines
    /// across which it breaks.
    pub(crate) fn passages(&self, term: &Term, feature: usize) -> Vec<f64> {
        let crossings = crossings(term, feature);
        let shadows = crossings.iter().flat_map(|&crossing| self.law().shadow(crossing));
        shadows.chain(self.passages_under(&self.measure, term, feature)).collect()
    }

    /// As [`Self::passages`], of averages over the others given the feature: of those that depend on it the law on their own
    /// does not matter. Built-in scenarios keep their panels.
    fn passages_given(&self, term: &Term, feature: usize) -> Vec<f64> {
        if self.watch.is_none() || self.is_witness() {
            return self.passages(term, feature);
        }
        let Passages { mut sharp, smooth } =
            Passages::through(&self.measure, term, feature, |of| !self.law().related(of, feature));
        sharp.extend(smooth);
        let shadows = crossings(term, feature);
        sharp.extend(shadows.into_iter().flat_map(|crossing| self.law().shadow(crossing)));
        sharp
    }

    /// As [`Self::passages`], of averages over the law of the background, where the others do not depend on the feature.
    /// Built-in scenarios keep the panels, and with them the digits, that they had.
    pub(crate) fn passages_of_background(&self, term: &Term, feature: usize) -> Vec<f64> {
        if self.watch.is_some() {
            self.passages_under(&self.whole, term, feature)
        } else {
            self.passages(term, feature)
        }
    }

    /// Places along a feature where lines meet the points between which laws of others are smooth.
    fn passages_under(&self, measure: &Measure, term: &Term, feature: usize) -> Vec<f64> {
        let Passages { sharp, smooth } = Passages::under(measure, term, feature);
        [sharp, smooth].concat()
    }

    /// Places along a feature where its finite differences between two values may change fast.
    pub(crate) fn passages_of_difference(&self, feature: usize, ends: [f64; 2]) -> Vec<f64> {
        let mut places = Vec::new();
        for line in self.terms.iter().flat_map(|term| term.lines()) {
            let Some(own) = line.weight(feature) else { continue };
            for &(of, weight) in line.weights.iter().filter(|(other, _)| *other != feature) {
                for end in ends {
                    let at = (line.level - own * end) / weight;
                    places.extend(self.law().shadow(fixed_break(of, at, feature)));
                }
            }
        }
        places
    }
}

/// Places along a feature where averages of a term over others change as they pass the lines across which it breaks.
#[derive(Debug, Default)]
struct Passages {
    /// Those where averages may have corners.
    sharp: Vec<f64>,
    /// Those where they change fast, and have none.
    smooth: Vec<f64>,
}

impl Passages {
    /// Places where lines meet the points that resolve the laws of others.
    fn under(measure: &Measure, term: &Term, feature: usize) -> Self {
        Self::through(measure, term, feature, |_| true)
    }

    /// Those where lines meet the points that resolve the laws of some.
    fn through(
        measure: &Measure,
        term: &Term,
        feature: usize,
        is_asked: impl Fn(usize) -> bool,
    ) -> Self {
        let mut found = Self { sharp: term.entrances(feature).collect(), smooth: Vec::new() };
        let crossings = crossings(term, feature).into_iter();
        for Crossing { of, slope, at, .. } in crossings.filter(|crossing| is_asked(crossing.of)) {
            let margin = measure.margin(of);
            let ends = margin.panels().into_iter().map(|u| (at - margin.place(u)) / slope);
            if margin.is_smooth() { found.smooth.extend(ends) } else { found.sharp.extend(ends) }
        }
        found
    }
}

/// A number that is computed once; what was refused is tried again, so that the reason is told again.
pub(crate) fn known_number(
    known: &OnceLock<Estimate>,
    make: impl FnOnce() -> Estimate,
) -> Estimate {
    if let Some(known) = known.get() {
        return *known;
    }
    let made = make();
    if made.value.is_nan() { made } else { *known.get_or_init(|| made) }
}

/// Lines across which a term breaks along a feature, as places of each of the others on them.
fn crossings(term: &Term, along: usize) -> Vec<Crossing> {
    let mut found = Vec::new();
    for line in term.lines() {
        let Some(own) = line.weight(along) else { continue };
        let others = line.weights.iter().filter(|(other, _)| *other != along);
        found.extend(others.map(|&(of, weight)| {
            let (slope, at) = (own / weight, line.level / weight);
            Crossing { of, along, slope, at }
        }));
    }
    found
}

/// A break at a fixed place of one feature, seen along another.
pub(crate) fn fixed_break(of: usize, at: f64, along: usize) -> Crossing {
    Crossing { of, along, slope: 0.0, at }
}

impl LocalQuantity {
    /// True if it is a Shapley value, or what varies of one.
    pub(crate) fn is_shapley(self) -> bool {
        matches!(self, Self::Shapley(_) | Self::VaryingShapley(_))
    }

    /// The feature that it moves to values of its own.
    pub(crate) fn moves(self) -> Option<usize> {
        match self {
            Self::Difference { feature, .. } | Self::Centred { feature, .. } => Some(feature),
            Self::Value | Self::Partial(_) | Self::Shapley(_) | Self::VaryingShapley(_) => None,
        }
    }

    /// True if the quantity of a mean of a term over features is the mean of the quantity.
    pub(crate) fn passes_through_means_over(self, features: &[usize]) -> bool {
        match self {
            Self::Value => true,
            Self::Partial(s)
            | Self::Difference { feature: s, .. }
            | Self::Centred { feature: s, .. } => !features.contains(&s),
            Self::Shapley(_) | Self::VaryingShapley(_) => false,
        }
    }

    /// The places along a feature where the quantity of a term is not smooth.
    pub(crate) fn breaks(self, term: &Term, along: usize, row: &mut [f64], found: &mut Vec<f64>) {
        term.breaks(along, row, found);
        // Differences and means over an axis see what is at its ends.
        if let Self::Difference { feature, from, to }
        | Self::Centred { feature, axis: (from, to) } = self
        {
            let held = row[feature];
            for end in [from, to] {
                row[feature] = end;
                term.breaks(along, row, found);
            }
            row[feature] = held;
        }
    }
}

fn value_with(term: &Term, feature: usize, x: f64, row: &mut [f64]) -> Estimate {
    let held = std::mem::replace(&mut row[feature], x);
    let value = term.estimate(row);
    row[feature] = held;
    value
}

/// Error of a mean over an axis where it serves a simulation, whose interval is far wider.
const SIMULATED: f64 = 1e-7;

/// Ratio of the ends of an axis, in units of a law's coordinate, from which on it is integrated along that.
const STRETCHED: f64 = 10.0;

impl Engine {
    fn integrated_axis_mean(
        &self,
        term: &Term,
        feature: usize,
        (lo, hi): (f64, f64),
        row: &mut [f64],
    ) -> Estimate {
        let held = row[feature];
        let mut evaluations = 0.0;
        let mut breaks = Vec::new();
        term.breaks(feature, row, &mut breaks);
        let tolerance = if is_simulating() { SIMULATED } else { TOLERANCE };
        let law = self.whole.margin(feature);
        let ends = [lo, hi].map(|end| law.coordinate(end));
        let is_stretched = self.watch.is_some() && {
            let ratio = law.stretch(ends[0]) / law.stretch(ends[1]);
            ratio.max(1.0 / ratio) > STRETCHED && ends.iter().all(|end| end.is_finite())
        };
        breaks.retain(|place| lo < *place && *place < hi);
        let points = if is_stretched {
            let places: Vec<f64> = breaks.iter().map(|&x| law.coordinate(x)).collect();
            within(&places, ends[0], ends[1])
        } else {
            within(&breaks, lo, hi)
        };
        let at = |u: f64| {
            evaluations += 1.0;
            let (x, stretch) = if is_stretched { (law.place(u), law.stretch(u)) } else { (u, 1.0) };
            row[feature] = x;
            let mut value = term.estimate(row);
            if self.watch.is_some() && !value.value.is_finite() {
                // A root of what is 0 but for its rounding may be no number; what is none on more than a point is none on
                // either side of it as well.
                let beside = nested::BESIDE * (hi - lo);
                let [below, above] = [x - beside, x + beside].map(|x| {
                    row[feature] = x.clamp(lo, hi);
                    term.estimate(row)
                });
                value = below.plus(above).times(0.5);
                value.error += 0.5 * (above.value - below.value).abs();
            }
            [value.times(stretch)]
        };
        let [total] = if self.watch.is_some() && term.has_cusps() && !breaks.is_empty() {
            integrate_between_cusps(tolerance, &points, 0.0, at)
        } else {
            integrate_to(tolerance, &points, 0.0, at)
        };
        spend(evaluations);
        row[feature] = held;
        total.times(1.0 / (hi - lo))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Normal, ParentChild, PiecewiseUniform};
    use crate::numeric::special::{normal_between, normal_pdf};

    /// x1 uniform from 0 to 1, x2 normal around ½ with sd 2, x3 uniform from 0 to 2.
    fn law() -> Law {
        Law::new()
            .with_independent(0, PiecewiseUniform::on(0.0, 1.0))
            .with_independent(1, Normal { mean: 0.5, sd: 2.0 })
            .with_independent(2, PiecewiseUniform::on(0.0, 2.0))
    }

    /// A jump, or a kink if it is 0, where 2 x1 + 3 x2 passes 1.
    fn line(jump: f64) -> Term {
        let value = move |x: &[f64]| jump * f64::from(2.0 * x[0] + 3.0 * x[1] > 1.0);
        Term::new(&[0, 1], value, |_, _| 0.0).breaking_across(&[(0, 2.0), (1, 3.0)], 1.0, jump)
    }

    /// The product of so many features.
    fn product(count: usize) -> Term {
        let features: Vec<usize> = (0..count).collect();
        let value = move |x: &[f64]| x[..count].iter().product();
        let others =
            move |s: usize, x: &[f64]| (0..count).filter(|&t| t != s).map(|t| x[t]).product();
        Term::new(&features, value, others)
            .with_factors(features.iter().map(|&s| Term::linear(1.0, s)).collect())
    }

    /// Products of features that are uniform on [0, 1], watched.
    fn of_product(count: usize) -> Engine {
        let unit = |law: Law, s: usize| law.with_independent(s, PiecewiseUniform::on(0.0, 1.0));
        let names: Vec<String> = (0..count).map(|s| format!("x{}", s + 1)).collect();
        let engine = Engine::new((0..count).fold(Law::new(), unit), vec![product(count)]);
        engine.watched(Arc::new(Watch::new(3, false, &names)))
    }

    #[track_caller]
    fn close(found: f64, known: f64, relative: f64) {
        assert!((found - known).abs() <= relative * known.abs(), "{found}, not {known}");
    }

    #[test]
    fn limits_stay_whatever_is_asked_of_an_engine() {
        let names = ["x1", "x2", "x3"].map(str::to_owned);
        for is_witness in [true, false] {
            let engine = Engine::new(law(), vec![line(1.0)]);
            assert!(engine.watch.is_none() && !engine.is_witness());
            let engine = engine.watched(Arc::new(Watch::new(3, is_witness, &names)));
            let half = Condition::between(0.0, 0.5);
            for other in [
                engine.given(law()),
                engine.restricted(0, &half),
                engine.of_terms([Arc::new(line(2.0))]),
                engine.within(|watch| watch.simulating(None, None)),
            ] {
                assert!(other.watch.is_some());
                assert_eq!(other.is_witness(), is_witness);
            }
        }
    }

    /// The line passes x2 = (1 − 2 x)/3 at a rate of 2/3.
    #[test]
    fn a_jump_moves_along_its_line() {
        let engine = Engine::new(law(), vec![line(5.0), line(0.0)]);
        let density = |x: f64| normal_pdf(((1.0 - 2.0 * x) / 3.0 - 0.5) / 2.0) / 2.0;
        close(engine.moving_jumps(0, 0.3).value, 5.0 * 2.0 / 3.0 * density(0.3), 1e-14);
        assert_eq!(engine.doubt(), 0.0);
        // Of a law that is a quotient the density is in doubt, and its jumps are.
        let cut = engine.restricted(1, &Condition::between(-1.0, 3.0));
        assert_eq!(cut.doubt(), QUOTIENT);
        let mass = normal_between(-0.75, 1.25);
        let jumps = cut.moving_jumps(0, 0.3);
        close(jumps.value, 5.0 * 2.0 / 3.0 * density(0.3) / mass, 1e-13);
        close(jumps.error, QUOTIENT * jumps.value, 0.01);
    }

    #[test]
    fn jumps_move_with_features_of_their_lines_alone() {
        let moves = |terms| {
            let engine = Engine::new(law(), terms);
            [0, 1, 2].map(|s| engine.has_moving_jumps(s))
        };
        assert_eq!(moves(vec![line(0.0), Term::linear(1.0, 2)]), [false; 3]);
        assert_eq!(moves(vec![line(0.0), line(5.0)]), [true, true, false]);
    }

    /// The line 2 x1 + 3 x2 = 1 meets the ends of x1, 0 and 1, at x2 = 1/3 and −1/3; x1 depends on x2 here, but not in a
    /// background.
    #[test]
    fn lines_pass_the_law_of_the_background_at_its_ends_alone() {
        let pair = ParentChild::new(PiecewiseUniform::on(0.0, 1.0), 0.5);
        let watch = Arc::new(Watch::new(3, false, &["x1", "x2"].map(String::from)));
        let engine = Engine::new(Law::new().with(&[0, 1], pair), vec![line(0.0)]).watched(watch);
        let mut ends = engine.passages_of_background(&engine.terms[0], 1);
        ends.sort_by(f64::total_cmp);
        assert_eq!(ends.len(), 2);
        ends.iter().zip([-1.0, 1.0]).for_each(|(end, third)| close(*end, third / 3.0, 1e-15));
        let all = engine.passages(&engine.terms[0], 1);
        assert!(all.len() > 2 && ends.iter().all(|end| all.contains(end)), "{all:?}");
        // Of rows that are cut off the background is whole.
        let cut = engine.restricted(0, &Condition::between(0.0, 0.5));
        assert_eq!(cut.passages_of_background(&cut.terms[0], 1).len(), 2);
        assert!(cut.passages(&cut.terms[0], 1).iter().any(|place| place.abs() < 1e-15));
    }

    /// Where x1 = x2 + noise passes a line is seen along x2 in effects under the law given x2, and not under the own law.
    #[test]
    fn effects_under_the_own_law_have_no_shadows() {
        let pair = ParentChild::new(PiecewiseUniform::on(0.0, 1.0), 0.01);
        let term = Term::linear(1.0, 1).breaking_at(1, &[0.5]);
        let engine = Engine::new(Law::new().with(&[0, 1], pair), vec![term]);
        let [own, given] = [Rest::Marginal, Rest::Conditional].map(|rest| {
            let points = engine.resolution_where(0, rest);
            points.into_iter().filter(|x| (x - 0.5).abs() < 0.03).count()
        });
        assert_eq!((own, given), (0, 3));
    }

    #[test]
    fn breaks_off_the_support_are_none() {
        let term = Term::linear(1.0, 2).breaking_at(2, &[2.0, 0.5, -1.0, 0.0, 7.0, 0.25, 0.5]);
        assert_eq!(Engine::new(law(), vec![term]).breaks(2), [0.25, 0.5]);
    }

    /// Of the product of features with mean ½: (x − ½) times the means of the others.
    #[test]
    fn shapley_values_of_many_independent_features_have_known_means() {
        let mean = of_product(13).mean_shapley(0, 0.8);
        close(mean.value, 0.3 * 0.5_f64.powi(12), 1e-13);
    }

    /// At a row of equal features all share alike what the product has beyond its mean.
    #[test]
    fn coalitions_of_twelve_features_are_asked_and_of_thirteen_are_not() {
        let value = |count: usize| of_product(count).shapley(0, 0, &mut vec![0.8; count]).value;
        close(value(12), (0.8_f64.powi(12) - 0.5_f64.powi(12)) / 12.0, 1e-12);
        assert!(value(13).is_nan());
        assert!(Watch::reason().unwrap().contains("13 features; at most 12"));
    }
}
