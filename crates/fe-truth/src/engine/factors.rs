//! Means of products of factors that share no randomness: products of means.

use std::sync::PoisonError;

use super::nested::HeldFeatures;
use super::{LocalQuantity, Part};
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
            LocalQuantity::Shapley(_) => return None,
        };
        let factor = |(place, factor): (usize, &'a Term)| {
            let local =
                if asked.is_some_and(|s| factor.reads(s)) { local } else { LocalQuantity::Value };
            let part = Part { index, term: factor, is_whole: false };
            Factor { part, local, place: Some(place) }
        };
        Some(term.factors().iter().enumerate().map(factor).collect())
    }

    /// The mean of a term as a product of means of its factors, where they are independent.
    pub(crate) fn mean_of_value(&self, term: &Term) -> Option<Estimate> {
        self.independent(term)?;
        let of = |factor| Part { index: 0, term: factor, is_whole: false };
        let local = LocalQuantity::Value;
        let factors = term.factors().iter().map(|f| Factor { part: of(f), local, place: None });
        let means = factors.map(|factor| self.mean_of_product(&[factor]));
        Some(means.fold(Estimate::exact(1.0), Estimate::product))
    }

    /// Some if a term has factors that share no randomness.
    fn independent(&self, term: &Term) -> Option<()> {
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
        let Some(key) = self.fixed(factors) else { return self.integrated_product(factors) };
        let known = self.factor_means();
        let lock = || known.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mean) = lock().get(&key) {
            return *mean;
        }
        let mean = self.integrated_product(factors);
        if !mean.value.is_nan() {
            lock().insert(key, mean);
        }
        mean
    }

    fn integrated_product(&self, factors: &[Factor<'_>]) -> Estimate {
        let terms: Vec<&Term> = factors.iter().map(|factor| factor.part.term).collect();
        let mut features: Vec<usize> =
            terms.iter().flat_map(|term| self.free_features(term)).collect();
        features.sort_unstable();
        features.dedup();
        let integrand = |row: &mut [f64]| {
            let each = factors.iter().map(|factor| self.local(factor.local, factor.part, row));
            each.fold(Estimate::exact(1.0), Estimate::product)
        };
        // All that are not the plain value are of the same feature, and break alike.
        let locals = factors.iter().map(|factor| factor.local);
        let local = locals.reduce(|a, b| if matches!(a, LocalQuantity::Value) { b } else { a });
        self.expectation(&features, &terms, local.unwrap_or(LocalQuantity::Value), 0.0, &integrand)
    }

    /// The mean of the product of two terms, where not all their factors share randomness.
    pub(crate) fn mean_of_both(&self, terms: [usize; 2], local: LocalQuantity) -> Option<Estimate> {
        let own = |index: usize| {
            let whole = Part { index, term: self.term(index), is_whole: true };
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
