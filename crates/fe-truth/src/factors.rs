//! Means of products of factors that share no randomness: products of means.

use crate::engine::{Local, Part};
use crate::function::Term;
use crate::nest::Held;
use crate::quadrature::Estimate;

/// A factor of a term, and what is asked of it.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'a> {
    part: Part<'a>,
    local: Local,
}

impl<'a> Held<'a> {
    /// The factors of a term with what is asked of each, where they are independent.
    pub(crate) fn factors(&self, index: usize, local: Local) -> Option<Vec<Factor<'a>>> {
        let term = self.term(index);
        self.independent(term)?;
        let asked = match local {
            Local::Value => None,
            Local::Partial(s)
            | Local::Difference { feature: s, .. }
            | Local::Centred { feature: s, .. } => Some(s),
            Local::Shapley(_) => return None,
        };
        let factor = |factor: &'a Term| {
            let local = if asked.is_some_and(|s| factor.reads(s)) { local } else { Local::Value };
            Factor { part: Part { index, term: factor, is_whole: false }, local }
        };
        Some(term.factors().iter().map(factor).collect())
    }

    /// The mean of a term as a product of means of its factors, where they are independent.
    pub(crate) fn mean_of_value(&self, term: &Term) -> Option<Estimate> {
        self.independent(term)?;
        let of = |factor| Part { index: 0, term: factor, is_whole: false };
        let factors = term.factors().iter().map(|f| Factor { part: of(f), local: Local::Value });
        let means = factors.map(|factor| self.mean_of_product(&[factor]));
        Some(means.fold(Estimate::exact(1.0), Estimate::product))
    }

    /// Whether a term has factors that share no randomness.
    fn independent(&self, term: &Term) -> Option<()> {
        if self.is_witness() {
            return None;
        }
        let factors = term.factors();
        let apart = |i: usize| factors[..i].iter().all(|other| !self.share(&factors[i], other));
        (factors.len() > 1 && (1..factors.len()).all(apart)).then_some(())
    }

    /// Whether two terms read the same or dependent features beside those held.
    fn share(&self, a: &Term, b: &Term) -> bool {
        let (a, b) = (self.free_features(a), self.free_features(b));
        a.iter().any(|&a| b.iter().any(|&b| a == b || self.related(a, b)))
    }

    /// The mean of the product of what is asked of factors.
    pub(crate) fn mean_of_product(&self, factors: &[Factor<'_>]) -> Estimate {
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
        let local = locals.reduce(|a, b| if matches!(a, Local::Value) { b } else { a });
        self.expectation(&features, &terms, local.unwrap_or(Local::Value), 0.0, &integrand)
    }

    /// The mean of the product of two terms, where not all their factors share randomness.
    pub(crate) fn mean_of_both(&self, terms: [usize; 2], local: Local) -> Option<Estimate> {
        let own = |index: usize| {
            let whole = Part { index, term: self.term(index), is_whole: true };
            self.factors(index, local).unwrap_or_else(|| vec![Factor { part: whole, local }])
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
