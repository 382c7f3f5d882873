//! Expectations of a sum of terms under a law, by nested quadrature: the general truth.
//!
//! Nothing here knows a scenario. A term is integrated over the features it reads and no others,
//! and a variance over groups of terms that share randomness, so that integrals stay of low
//! dimension however many features there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::function::Term;
use crate::law::Law;
use crate::quadrature::{Estimate, integrate, within};

/// What is averaged at a row in which the feature of interest has its value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Local {
    /// The function.
    Value,
    /// Its derivative along a feature.
    Partial(usize),
    /// Its change as the feature moves from one value to another.
    Difference { feature: usize, from: f64, to: f64 },
    /// Its value less its mean over an axis of the feature: a centred ICE curve.
    Centred { feature: usize, axis: (f64, f64) },
}

/// Which law the other features have while one is held at a value.
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

/// Terms that share randomness, and the features to integrate over for them.
#[derive(Debug, Default)]
struct Group {
    terms: Vec<usize>,
    features: Vec<usize>,
}

pub(crate) struct Engine {
    law: Law,
    terms: Arc<[Term]>,
    /// Mean of each term, mean and standard deviation of each feature, and Var f, once asked for.
    term_means: Vec<OnceLock<Estimate>>,
    feature_moments: Vec<OnceLock<(f64, f64)>>,
    variance: OnceLock<Estimate>,
    /// Axis means of terms by the values of the other features, if they are to be kept.
    axis_means: Option<Mutex<HashMap<Vec<u64>, Estimate>>>,
}

impl Engine {
    pub(crate) fn new(law: Law, terms: Vec<Term>) -> Self {
        Self::of(law, terms.into())
    }

    fn of(law: Law, terms: Arc<[Term]>) -> Self {
        let term_means = terms.iter().map(|_| OnceLock::new()).collect();
        let feature_moments = (0..law.dimension()).map(|_| OnceLock::new()).collect();
        let variance = OnceLock::new();
        Self { law, terms, term_means, feature_moments, variance, axis_means: None }
    }

    /// The same terms, under the law given that a feature lies in an interval. It is asked for
    /// one axis of one feature only, and keeps the axis means.
    pub(crate) fn restricted(&self, feature: usize, from: f64, to: f64) -> Self {
        let law = self.law.restricted(feature, from, to);
        Self { axis_means: Some(Mutex::default()), ..Self::of(law, Arc::clone(&self.terms)) }
    }

    /// A local quantity of a term at a row.
    fn local(&self, local: Local, term: usize, row: &mut [f64]) -> Estimate {
        let declared = &self.terms[term];
        let (Local::Centred { feature, axis }, Some(kept)) = (local, &self.axis_means) else {
            return local.at(declared, row);
        };
        let others = declared.features().iter().filter(|&&other| other != feature);
        let key: Vec<u64> =
            std::iter::once(term as u64).chain(others.map(|&other| row[other].to_bits())).collect();
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = kept.entry(key).or_insert_with(|| axis_mean(declared, feature, axis, row));
        Estimate::exact(declared.value(row)).minus(*mean)
    }

    pub(crate) fn law(&self) -> &Law {
        &self.law
    }

    /// The sum of the terms at a row.
    pub(crate) fn value(&self, row: &[f64]) -> f64 {
        self.terms.iter().map(|term| term.value(row)).sum()
    }

    /// The terms that read a feature.
    fn readers(&self, feature: usize) -> Vec<usize> {
        (0..self.terms.len()).filter(|&t| self.terms[t].reads(feature)).collect()
    }

    /// Whether no term that reads the feature reads another one.
    pub(crate) fn is_additive(&self, feature: usize) -> bool {
        self.readers(feature).iter().all(|&t| self.terms[t].features() == [feature])
    }

    /// The features beside s on whose law the local effects of s depend.
    pub(crate) fn partners(&self, s: usize) -> Vec<usize> {
        let readers = self.readers(s);
        let read = |other: usize| readers.iter().any(|&t| self.terms[t].reads(other));
        let partner = |&t: &usize| {
            let matters = |other: usize| other != s && read(other) && self.law.related(t, other);
            t != s && (0..self.law.dimension()).any(matters)
        };
        (0..self.law.dimension()).filter(partner).collect()
    }

    /// `E f(x, X_c)`, over the rest's own law or that given x_s = x.
    pub(crate) fn mean_value(&self, s: usize, x: f64, rest: Rest) -> Estimate {
        let moved = |term: &Term| {
            let related = |&other: &usize| self.law.related(s, other);
            term.reads(s) || (rest == Rest::Conditional && term.features().iter().any(related))
        };
        Estimate::sum((0..self.terms.len()).map(|t| {
            if moved(&self.terms[t]) {
                self.at(s, x, rest).mean(t, Local::Value)
            } else {
                self.mean_of_term(t)
            }
        }))
    }

    /// The sum of the terms that read the feature; they read nothing else where this is asked.
    pub(crate) fn main(&self, s: usize, x: f64) -> Estimate {
        self.mean(s, x, Rest::Marginal, Local::Value)
    }

    /// Mean of a local quantity of the terms that read the feature.
    pub(crate) fn mean(&self, s: usize, x: f64, rest: Rest, local: Local) -> Estimate {
        let held = self.at(s, x, rest);
        Estimate::sum(self.readers(s).into_iter().map(|t| held.mean(t, local)))
    }

    /// Mean and variance of a local quantity of the terms that read the feature.
    pub(crate) fn moments(&self, s: usize, x: f64, rest: Rest, local: Local) -> Moments {
        self.at(s, x, rest).moments(&self.readers(s), local)
    }

    /// `E f(X)`.
    pub(crate) fn mean_f(&self) -> Estimate {
        Estimate::sum((0..self.terms.len()).map(|t| self.mean_of_term(t)))
    }

    /// `Var f(X)`.
    pub(crate) fn variance_f(&self) -> Estimate {
        let all: Vec<usize> = (0..self.terms.len()).collect();
        let free = Held { engine: self, held: None, rest: Rest::Marginal };
        *self.variance.get_or_init(|| free.moments(&all, Local::Value).variance)
    }

    fn mean_of_term(&self, term: usize) -> Estimate {
        let free = Held { engine: self, held: None, rest: Rest::Marginal };
        *self.term_means[term].get_or_init(|| free.mean(term, Local::Value))
    }

    fn moments_of_feature(&self, feature: usize) -> (f64, f64) {
        *self.feature_moments[feature].get_or_init(|| {
            let law = self.law.marginal(feature);
            let average = |f: &dyn Fn(f64) -> f64| {
                integrate(&law.panels(), 0.0, |x| [Estimate::exact(f(x) * law.pdf(x))])[0].value
            };
            let mean = average(&|x| x);
            (mean, average(&|x| (x - mean).powi(2)).sqrt())
        })
    }

    fn at(&self, feature: usize, value: f64, rest: Rest) -> Held<'_> {
        Held { engine: self, held: Some((feature, value)), rest }
    }

    /// Fixed places along a feature where f jumps or has a kink, inside the support.
    pub(crate) fn breaks(&self, feature: usize) -> Vec<f64> {
        let unknown = vec![f64::NAN; self.law.dimension()];
        let mut found = Vec::new();
        for term in self.terms.iter() {
            term.breaks(feature, &unknown, &mut found);
        }
        let (low, high) = self.law.marginal(feature).support();
        found.retain(|&place| low < place && place < high);
        found.sort_by(f64::total_cmp);
        found.dedup();
        found
    }

    /// Places along a feature where its effects or its density may change fast.
    pub(crate) fn resolution(&self, feature: usize) -> Vec<f64> {
        let mut points = self.law.marginal(feature).panels();
        points.extend(self.breaks(feature));
        for other in (0..self.law.dimension()).filter(|&other| self.law.related(feature, other)) {
            for place in self.breaks(other) {
                points.extend(self.law.shadow(other, place, feature));
            }
        }
        points
    }
}

/// The law of all features but one that is held at a value, or of all.
struct Held<'a> {
    engine: &'a Engine,
    held: Option<(usize, f64)>,
    rest: Rest,
}

impl Held<'_> {
    fn is_held(&self, feature: usize) -> bool {
        self.held.is_some_and(|(held, _)| held == feature)
    }

    fn mean(&self, term: usize, local: Local) -> Estimate {
        let integrand = |row: &mut [f64]| self.engine.local(local, term, row);
        self.expectation(&self.free_features(term), &[term], local, 0.0, &integrand)
    }

    /// Of the features to integrate over, those in which all terms are affine and which are
    /// independent of all others. Changes, derivatives and averages of a term are affine where it
    /// is, and the square of a sum of them is a quadratic: two moments determine its mean.
    fn affine_features(&self, features: &[usize], terms: &[usize]) -> Vec<usize> {
        let is_affine = |feature: usize| {
            let mut readers = terms.iter().map(|&t| &self.engine.terms[t]);
            readers.all(|term| !term.reads(feature) || term.is_affine_in(feature))
        };
        let simple =
            |&feature: &usize| is_affine(feature) && self.is_independent(feature, features);
        features.iter().copied().filter(simple).collect()
    }

    /// Whether a feature is independent of the one held and of others.
    fn is_independent(&self, feature: usize, others: &[usize]) -> bool {
        let held = self.held.filter(|_| self.rest == Rest::Conditional);
        let related = |other: usize| other != feature && self.engine.law.related(feature, other);
        !others.iter().any(|&other| related(other)) && !held.is_some_and(|(held, _)| related(held))
    }

    fn free_features(&self, term: usize) -> Vec<usize> {
        let features = self.engine.terms[term].features().iter().copied();
        features.filter(|&feature| !self.is_held(feature)).collect()
    }

    /// Mean and variance of the sum of terms: independent groups add up.
    fn moments(&self, terms: &[usize], local: Local) -> Moments {
        let zero = Estimate::default();
        let mut moments = Moments { mean: zero, variance: zero };
        for group in self.groups(terms) {
            let mean = Estimate::sum(group.terms.iter().map(|&t| self.mean(t, local)));
            moments.mean = moments.mean.plus(mean);
            if !group.features.is_empty() {
                moments.variance = moments.variance.plus(self.variance(&group, local, mean));
            }
        }
        moments
    }

    fn variance(&self, group: &Group, local: Local, mean: Estimate) -> Estimate {
        let integrand = |row: &mut [f64]| {
            let each = group.terms.iter().map(|&t| self.engine.local(local, t, row));
            let sum = Estimate::sum(each);
            sum.squared_from(mean.value)
        };
        // Below this a deviation from the mean is rounding, and its square must not be resolved.
        let floor = (1e-13 * mean.magnitude).powi(2);
        let spread = self.expectation(&group.features, &group.terms, local, floor, &integrand);
        Estimate {
            magnitude: spread.magnitude + mean.magnitude * mean.magnitude,
            error: spread.error + mean.error * mean.error,
            ..spread
        }
    }

    /// Terms are together if they read the same or dependent features beside the one held.
    fn groups(&self, terms: &[usize]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for &term in terms {
            let features = self.free_features(term);
            let touches = |group: &Group| {
                let dependent =
                    |&a: &usize| features.iter().any(|&b| self.engine.law.related(a, b));
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

    /// The mean over `features` of an integrand: a local quantity of the sum of terms, or a
    /// square of it.
    fn expectation(
        &self,
        features: &[usize],
        terms: &[usize],
        local: Local,
        floor: f64,
        integrand: &dyn Fn(&mut [f64]) -> Estimate,
    ) -> Estimate {
        let mut row = vec![f64::NAN; self.engine.law.dimension()];
        let mut given = Vec::new();
        if let Some((feature, value)) = self.held {
            row[feature] = value;
            if self.rest == Rest::Conditional {
                given.push((feature, value));
            }
        }
        let affine = self.affine_features(features, terms);
        let nest = Nest { engine: self.engine, terms, affine, local, floor, integrand };
        nest.over(features, &mut given, &mut row)
    }
}

/// A nested integral over features, one after the other.
struct Nest<'a> {
    engine: &'a Engine,
    terms: &'a [usize],
    affine: Vec<usize>,
    local: Local,
    floor: f64,
    integrand: &'a dyn Fn(&mut [f64]) -> Estimate,
}

impl Nest<'_> {
    fn over(&self, features: &[usize], given: &mut Vec<(usize, f64)>, row: &mut [f64]) -> Estimate {
        let Some((&feature, rest)) = features.split_first() else {
            return (self.integrand)(row);
        };
        if self.affine.contains(&feature) {
            return self.over_two_points(feature, rest, given, row);
        }
        let law = self.engine.law.conditional(feature, given);
        let panels = law.panels();
        let mut points = self.breaks(feature, row);
        for &other in rest.iter().filter(|&&other| self.engine.law.related(feature, other)) {
            for place in self.breaks(other, row) {
                points.extend(self.engine.law.shadow(other, place, feature));
            }
        }
        let (from, to) = (panels[0], panels[panels.len() - 1]);
        points.extend(panels);
        let [total] = integrate(&within(&points, from, to), self.floor, |x| {
            row[feature] = x;
            given.push((feature, x));
            let inner = self.over(rest, given, row);
            given.pop();
            [inner.times(law.pdf(x))]
        });
        row[feature] = f64::NAN;
        total
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
        let (mean, sd) = self.engine.moments_of_feature(feature);
        let sides = [mean - sd, mean + sd].map(|x| {
            row[feature] = x;
            self.over(rest, given, row).times(0.5)
        });
        row[feature] = f64::NAN;
        Estimate::sum(sides)
    }

    fn breaks(&self, along: usize, row: &mut [f64]) -> Vec<f64> {
        let mut found = Vec::new();
        for &term in self.terms {
            self.local.breaks(&self.engine.terms[term], along, row, &mut found);
        }
        found.retain(|place| place.is_finite());
        found
    }
}

impl Local {
    /// The quantity of a term at a row.
    fn at(self, term: &Term, row: &mut [f64]) -> Estimate {
        match self {
            Self::Value => Estimate::exact(term.value(row)),
            Self::Partial(feature) if term.reads(feature) => {
                Estimate::exact(term.partial(feature, row))
            }
            Self::Partial(_) => Estimate::default(),
            Self::Difference { feature, from, to } => {
                let end = Estimate::exact(value_with(term, feature, to, row));
                end.minus(Estimate::exact(value_with(term, feature, from, row)))
            }
            Self::Centred { feature, axis } => {
                Estimate::exact(term.value(row)).minus(axis_mean(term, feature, axis, row))
            }
        }
    }

    /// The places along a feature where the quantity of a term is not smooth.
    fn breaks(self, term: &Term, along: usize, row: &mut [f64], found: &mut Vec<f64>) {
        term.breaks(along, row, found);
        if let Self::Difference { feature, from, to } = self {
            let held = row[feature];
            for end in [from, to] {
                row[feature] = end;
                term.breaks(along, row, found);
            }
            row[feature] = held;
        }
    }
}

fn value_with(term: &Term, feature: usize, x: f64, row: &mut [f64]) -> f64 {
    let held = std::mem::replace(&mut row[feature], x);
    let value = term.value(row);
    row[feature] = held;
    value
}

fn axis_mean(term: &Term, feature: usize, (lo, hi): (f64, f64), row: &mut [f64]) -> Estimate {
    let held = row[feature];
    let mut breaks = Vec::new();
    term.breaks(feature, row, &mut breaks);
    let [total] = integrate(&within(&breaks, lo, hi), 0.0, |x| {
        row[feature] = x;
        [Estimate::exact(term.value(row))]
    });
    row[feature] = held;
    total.times(1.0 / (hi - lo))
}
