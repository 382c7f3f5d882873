//! Means of products of factors that share no randomness: products of means.

use std::sync::PoisonError;

use super::nested::{HeldFeatures, about};
use super::{KnownMoments, LocalQuantity, Part, PartPlace};
use crate::function::Term;
use crate::numeric::quadrature::Estimate;

/// A factor of a term, and what is asked of it.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'a> {
    part: Part<'a>,
    local: LocalQuantity,
    /// Its place among the factors of its term; none for a whole term.
    place: Option<usize>,
}

impl Factor<'_> {
    /// The value of the factor at a row.
    pub(super) fn estimate(&self, row: &[f64]) -> Estimate {
        self.part.term.estimate(row)
    }
}

impl<'a> HeldFeatures<'a> {
    /// The factors of a term with what is asked of each, where they are independent.
    pub(crate) fn factors(&self, index: usize, local: LocalQuantity) -> Option<Vec<Factor<'a>>> {
        let term = self.term(index);
        self.independent(term)?;
        let asked = match local {
            LocalQuantity::Value => None,
            LocalQuantity::Partial(s)
            | LocalQuantity::Difference { feature: s, .. }
            | LocalQuantity::Centred { feature: s, .. } => Some(s),
            LocalQuantity::Shapley(_) | LocalQuantity::VaryingShapley(_) => return None,
        };
        let factor = |(place, factor): (usize, &'a Term)| {
            let local =
                if asked.is_some_and(|s| factor.reads(s)) { local } else { LocalQuantity::Value };
            let part = Part { index, term: factor, place: PartPlace::Factor(place) };
            Factor { part, local, place: Some(place) }
        };
        Some(term.factors().iter().enumerate().map(factor).collect())
    }

    /// The factor of each feature of a term, where each has one of its own; a term of one feature is its only factor.
    pub(super) fn single_factors(&self, index: usize) -> Option<Vec<(usize, Factor<'a>)>> {
        let local = LocalQuantity::Value;
        let factors = match self.term(index).features() {
            [_] => vec![Factor { part: self.engine().part(index), local, place: None }],
            _ => self.factors(index, local)?,
        };
        let of = |factor: Factor<'a>| match factor.part.term.features() {
            [feature] => Some((*feature, factor)),
            _ => None,
        };
        factors.into_iter().map(of).collect()
    }

    /// The mean of a term as a product of means of its factors, where they are independent.
    pub(crate) fn mean_of_value(&self, term: &Term) -> Option<Estimate> {
        self.independent(term)?;
        let of = |factor| Part { index: 0, term: factor, place: PartPlace::Elsewhere };
        let local = LocalQuantity::Value;
        let factors = term.factors().iter().map(|f| Factor { part: of(f), local, place: None });
        let means = factors.map(|factor| self.mean_of_product(&[factor]));
        Some(means.fold(Estimate::exact(1.0), Estimate::product))
    }

    /// Some if a term has factors that share no randomness.
    pub(super) fn independent(&self, term: &Term) -> Option<()> {
        if self.is_witness() {
            return None;
        }
        let factors = term.factors();
        let apart = |i: usize| factors[..i].iter().all(|other| !self.share(&factors[i], other));
        (factors.len() > 1 && (1..factors.len()).all(apart)).then_some(())
    }

    /// True if two terms read the same or dependent features beside those held.
    fn share(&self, a: &Term, b: &Term) -> bool {
        let (a, b) = (self.free_features(a), self.free_features(b));
        a.iter().any(|&a| b.iter().any(|&b| a == b || self.related(a, b)))
    }

    /// Terms and places of factors whose mean is the same whatever value is held; none if it is not.
    fn fixed(&self, factors: &[Factor<'_>]) -> Option<Vec<(usize, usize)>> {
        let fixed = |factor: &Factor<'_>| {
            let term = factor.part.term;
            let is_plain = matches!(factor.local, LocalQuantity::Value);
            let key = (factor.part.index, factor.place?);
            (is_plain && !self.depends_on_held(term)).then_some(key)
        };
        let mut key: Vec<(usize, usize)> = factors.iter().map(fixed).collect::<Option<_>>()?;
        key.sort_unstable();
        self.is_of_rows().then_some(key)
    }

    /// The mean of the product of what is asked of factors.
    pub(crate) fn mean_of_product(&self, factors: &[Factor<'_>]) -> Estimate {
        let known = &self.factor_moments().means;
        self.known_or(known, factors, || self.integrated_product(factors, 0.0, &|product| product))
    }

    /// The variance of a product of independent factors, from the mean and the variance of each: a sum of
    /// products that are not negative, in which nothing cancels. None if they are not independent.
    pub(super) fn variance_of_product(
        &self,
        index: usize,
        local: LocalQuantity,
    ) -> Option<Estimate> {
        let factors = self.factors(index, local)?;
        let none = (Estimate::exact(1.0), Estimate::default());
        let (_, variance) = factors.iter().fold(none, |(square, variance), &factor| {
            let mean = self.mean_of_product(&[factor]);
            let own = self.variance_of_factor(factor, mean);
            let own_square = mean.product(mean);
            let sum = variance.product(own).plus(variance.product(own_square));
            (square.product(own_square), sum.plus(square.product(own)))
        });
        Some(variance)
    }

    pub(super) fn variance_of_factor(&self, factor: Factor<'_>, mean: Estimate) -> Estimate {
        if self.free_features(factor.part.term).is_empty() {
            return Estimate::default();
        }
        let known = &self.factor_moments().variances;
        self.known_or(known, &[factor], || {
            about(mean, |floor| {
                let square = |value: Estimate| value.squared_from(mean.value);
                self.integrated_product(&[factor], floor, &square)
            })
        })
    }

    /// A moment of factors that is known, or is made and kept where it does not depend on what is held.
    fn known_or(
        &self,
        known: &KnownMoments,
        factors: &[Factor<'_>],
        make: impl FnOnce() -> Estimate,
    ) -> Estimate {
        let Some(key) = self.fixed(factors) else { return make() };
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(moment) = lock().get(&key) {
            return *moment;
        }
        let moment = make();
        if !moment.value.is_nan() {
            lock().insert(key, moment);
        }
        moment
    }

    /// The mean of a function of the product of what is asked of factors.
    fn integrated_product(
        &self,
        factors: &[Factor<'_>],
        floor: f64,
        of: &dyn Fn(Estimate) -> Estimate,
    ) -> Estimate {
        let terms: Vec<&Term> = factors.iter().map(|factor| factor.part.term).collect();
        let mut features: Vec<usize> =
            terms.iter().flat_map(|term| self.free_features(term)).collect();
        features.sort_unstable();
        features.dedup();
        let integrand = |row: &mut [f64]| {
            let each = factors.iter().map(|factor| self.local(factor.local, factor.part, row));
            of(each.fold(Estimate::exact(1.0), Estimate::product))
        };
        // All that are not the plain value are of the same feature, and break alike.
        let locals = factors.iter().map(|factor| factor.local);
        let local = locals.reduce(|a, b| if matches!(a, LocalQuantity::Value) { b } else { a });
        let local = local.unwrap_or(LocalQuantity::Value);
        self.expectation(&features, &terms, local, floor, &integrand)
    }

    /// The mean of the product of two terms, where not all their factors share randomness.
    pub(crate) fn mean_of_both(&self, terms: [usize; 2], local: LocalQuantity) -> Option<Estimate> {
        let own = |index: usize| {
            let whole = Part { index, term: self.term(index), place: PartPlace::Whole };
            self.factors(index, local)
                .unwrap_or_else(|| vec![Factor { part: whole, local, place: None }])
        };
        if terms.iter().all(|&term| self.factors(term, local).is_none()) {
            return None;
        }
        let mut groups: Vec<Vec<Factor<'a>>> = Vec::new();
        for factor in terms.map(own).into_iter().flatten() {
            let (touching, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| {
                group.iter().any(|other| self.share(factor.part.term, other.part.term))
            });
            groups = apart;
            groups.push(touching.into_iter().flatten().chain([factor]).collect());
        }
        if groups.len() == 1 {
            return None;
        }
        let means = groups.iter().map(|group| self.mean_of_product(group));
        Some(means.fold(Estimate::exact(1.0), Estimate::product))
    }
}
