//! Means of terms over some of their features, as terms of the others: effects that are integrated on.

use std::sync::{Arc, OnceLock};

use super::nested::HeldFeatures;
use super::{Engine, LocalQuantity, Rest};
use crate::function::Term;
use crate::numeric::quadrature::{Estimate, Piecewise, within};

/// A term, or a factor of it, averaged over the features that are not kept, and multiplied.
struct Averaged {
    engine: Engine,
    index: usize,
    /// The place of a factor; none for the whole term.
    place: Option<usize>,
    kept: Vec<usize>,
    over: Vec<usize>,
    rest: Rest,
    factor: Estimate,
    /// The mean as a function of the one feature that is kept.
    curve: OnceLock<Piecewise>,
}

impl Averaged {
    fn term(&self) -> &Term {
        let whole = &self.engine.terms[self.index];
        self.place.map_or(&**whole, |place| &whole.factors()[place])
    }

    fn at(&self, row: &[f64]) -> Estimate {
        let mean = match self.kept.as_slice() {
            _ if self.over.is_empty() => self.term().estimate(row),
            &[feature] if !self.engine.has_levels(feature) => self.read(feature, row[feature]),
            kept => self.mean(kept.iter().map(|&feature| (feature, row[feature])).collect()),
        };
        mean.product(self.factor)
    }

    fn mean(&self, held: Vec<(usize, f64)>) -> Estimate {
        let held = HeldFeatures::new(&self.engine, &self.engine.measure, held, self.rest);
        if self.place.is_none() {
            return held.mean(self.index, LocalQuantity::Value);
        }
        let term = self.term();
        let integrand = |row: &mut [f64]| term.estimate(row);
        held.expectation(&self.over, &[term], LocalQuantity::Value, 0.0, &integrand)
    }

    /// The mean at a value of the one feature that is kept, off a curve that is resolved once.
    fn read(&self, feature: usize, x: f64) -> Estimate {
        let law = self.engine.margin(feature);
        let curve = self.curve.get_or_init(|| {
            let panels = law.panels();
            let points = self.engine.resolution(feature);
            let points = within(&points, panels[0], panels[panels.len() - 1]);
            Piecewise::of(&points, |u| self.mean(vec![(feature, law.place(u))]))
        });
        let u = law.coordinate(x);
        if curve.covers(u) { curve.at(u) } else { self.mean(vec![(feature, x)]) }
    }

    /// As a term, which breaks where the averaged one does at places that are known without what is
    /// averaged, and where averages change their course.
    fn into_term(self) -> Term {
        let averaged = Arc::new(self);
        let (value, own) = (Arc::clone(&averaged), Arc::clone(&averaged));
        let partial = |_: usize, _: &[f64]| f64::NAN;
        let mut term = Term::estimated(&averaged.kept, move |row| value.at(row), partial);
        let affine = |&&feature: &&usize| {
            averaged.rest == Rest::Marginal && averaged.term().is_affine_in(feature)
        };
        let affine: Vec<usize> = averaged.kept.iter().filter(affine).copied().collect();
        term = term.affine_in(&affine).breaking_where(move |along, row, found| {
            if own.kept.contains(&along) {
                let mut known = row.to_vec();
                own.over.iter().for_each(|&feature| known[feature] = f64::NAN);
                own.term().breaks(along, &known, found);
            }
        });
        if !averaged.over.is_empty() {
            for &feature in averaged.kept.iter().filter(|&&s| !averaged.engine.has_levels(s)) {
                let places = averaged.engine.passages(averaged.term(), feature);
                term = term.breaking_at(feature, &places);
            }
        }
        term
    }
}

/// The mean of a term over the features that are not inside, under their own joint law, times a factor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarginalMean {
    pub(crate) term: usize,
    pub(crate) inside: Vec<usize>,
    pub(crate) factor: f64,
}

impl Engine {
    /// A term of the function, itself.
    pub(crate) fn term(&self, index: usize) -> Arc<Term> {
        Arc::clone(&self.terms[index])
    }

    /// The mean of a term over the features that are not inside, under their own joint law, times a
    /// factor: a term of the features inside.
    pub(crate) fn marginal_mean(&self, index: usize, inside: &[usize], factor: f64) -> Arc<Term> {
        let whole = &self.terms[index];
        if factor == 1.0 && whole.features().iter().all(|feature| inside.contains(feature)) {
            return Arc::clone(whole);
        }
        if self.free().independent(whole).is_some() {
            return Arc::new(self.mean_of_factors(index, inside, factor));
        }
        let factor = Estimate::exact(factor);
        Arc::new(self.averaged(index, None, inside, Rest::Marginal, factor).into_term())
    }

    /// The mean of a term given the features inside, times a factor.
    pub(crate) fn conditional_mean(&self, index: usize, inside: &[usize]) -> Arc<Term> {
        let whole = &self.terms[index];
        let outside = |&feature: &usize| !inside.contains(&feature);
        let averaged: Vec<usize> = whole.features().iter().copied().filter(outside).collect();
        let tells = |&feature: &usize| {
            whole.reads(feature) || averaged.iter().any(|&a| self.law().related(a, feature))
        };
        let kept: Vec<usize> = inside.iter().copied().filter(tells).collect();
        let tied = averaged.iter().any(|&a| kept.iter().any(|&b| self.law().related(a, b)));
        if !tied {
            return self.marginal_mean(index, &kept, 1.0);
        }
        let factor = Estimate::exact(1.0);
        let mut mean = self.averaged(index, None, &[], Rest::Conditional, factor);
        (mean.kept, mean.over) = (kept, averaged);
        Arc::new(mean.into_term())
    }

    fn averaged(
        &self,
        index: usize,
        place: Option<usize>,
        inside: &[usize],
        rest: Rest,
        factor: Estimate,
    ) -> Averaged {
        let whole = &self.terms[index];
        let term = place.map_or(&**whole, |place| &whole.factors()[place]);
        let features = term.features().iter();
        let (kept, over) = features.partition(|feature| inside.contains(feature));
        let (engine, curve) = (self.clone(), OnceLock::new());
        Averaged { engine, index, place, kept, over, rest, factor, curve }
    }

    /// The mean of a product of independent factors: that of each.
    fn mean_of_factors(&self, index: usize, inside: &[usize], factor: f64) -> Term {
        let count = self.terms[index].factors().len();
        let of = |place: usize, factor: Estimate| {
            self.averaged(index, Some(place), inside, Rest::Marginal, factor)
        };
        let (constant, varying): (Vec<usize>, Vec<usize>) =
            (0..count).partition(|&place| of(place, Estimate::exact(1.0)).kept.is_empty());
        let number = constant.into_iter().fold(Estimate::exact(factor), |number, place| {
            number.product(of(place, Estimate::exact(1.0)).mean(Vec::new()))
        });
        let one = Estimate::exact(1.0);
        let parts = varying.iter().enumerate();
        let parts = parts.map(|(k, &place)| of(place, if k == 0 { number } else { one }));
        let mut parts: Vec<Term> = parts.map(Averaged::into_term).collect();
        if parts.len() == 1 {
            return parts.remove(0);
        }
        // Once as a whole and once as factors, which keep curves of their own.
        let again = varying.iter().enumerate();
        let again = again.map(|(k, &place)| of(place, if k == 0 { number } else { one }));
        let again: Vec<Term> = again.map(Averaged::into_term).collect();
        let features: Vec<usize> = parts.iter().flat_map(Term::features).copied().collect();
        let affine = parts.iter().flat_map(|part| {
            part.features().iter().copied().filter(|&feature| part.is_affine_in(feature))
        });
        let affine: Vec<usize> = affine.collect();
        let parts = Arc::new(parts);
        let breaking = Arc::clone(&parts);
        let value = move |row: &[f64]| {
            parts.iter().fold(Estimate::exact(1.0), |all, part| all.product(part.estimate(row)))
        };
        let term = Term::estimated(&features, value, |_, _| f64::NAN).affine_in(&affine);
        let term = term.breaking_where(move |along, row, found| {
            breaking.iter().for_each(|part| part.breaks(along, row, found));
        });
        term.with_factors(again)
    }

    /// The mean of f given that two features have values that the others do not know of.
    pub(crate) fn mean_at_pair(&self, pair: [(usize, f64); 2]) -> Estimate {
        let held = HeldFeatures::new(self, &self.measure, pair, Rest::Marginal);
        Estimate::sum((0..self.terms.len()).map(|t| {
            if pair.iter().any(|&(feature, _)| self.terms[t].reads(feature)) {
                held.mean(t, LocalQuantity::Value)
            } else {
                self.mean_of_term(t)
            }
        }))
    }

    /// The mean of a term over all but two features, less its jumps at fixed places along both, with
    /// its derivatives: what its mixed derivative adds up to.
    pub(crate) fn without_jumps(&self, index: usize, pair: [usize; 2]) -> Arc<Term> {
        let unknown = vec![f64::NAN; self.law().dimension()];
        let places = pair.map(|along| {
            let mut places = Vec::new();
            self.terms[index].breaks(along, &unknown, &mut places);
            let (low, high) = self.margin(along).support();
            places.retain(|&place| low < place && place < high);
            places.sort_by(f64::total_cmp);
            places.dedup();
            places
        });
        let smooth = Arc::new(Smooth { engine: self.clone(), index, pair, places });
        let (value, slopes) = (Arc::clone(&smooth), Arc::clone(&smooth));
        let term = Term::estimated(
            &pair,
            move |row| value.value(pair.map(|feature| row[feature])),
            move |s, row| slopes.slope(s, pair.map(|feature| row[feature])).value,
        );
        let [a, b] = &smooth.places;
        Arc::new(term.breaking_at(pair[0], a).breaking_at(pair[1], b))
    }

    /// `E (∂_s f)²`.
    pub(crate) fn mean_square_of_partial(&self, s: usize) -> Estimate {
        let moments = self.free().moments(&self.readers(s), LocalQuantity::Partial(s));
        moments.mean.product(moments.mean).plus(moments.variance)
    }
}

/// The mean of a term over all but two features, and places along them at which it jumps.
struct Smooth {
    engine: Engine,
    index: usize,
    pair: [usize; 2],
    places: [Vec<f64>; 2],
}

impl Smooth {
    fn mean(&self, at: [f64; 2], local: LocalQuantity) -> Estimate {
        let held = [0, 1].map(|side| (self.pair[side], at[side]));
        let held = HeldFeatures::new(&self.engine, &self.engine.measure, held, Rest::Marginal);
        held.mean(self.index, local)
    }

    /// A function less its jumps below along one of the two.
    fn less_jumps(&self, side: usize, at: [f64; 2], of: &dyn Fn([f64; 2]) -> Estimate) -> Estimate {
        let below = self.places[side].iter().filter(|place| **place < at[side]);
        below.fold(of(at), |sum, place| {
            let [before, after] = [place.next_down(), place.next_up()].map(|x| {
                let mut there = at;
                there[side] = x;
                of(there)
            });
            sum.minus(after).plus(before)
        })
    }

    fn value(&self, at: [f64; 2]) -> Estimate {
        let mean = |at| self.mean(at, LocalQuantity::Value);
        let along = |at| self.less_jumps(0, at, &mean);
        self.less_jumps(1, at, &along)
    }

    fn slope(&self, feature: usize, at: [f64; 2]) -> Estimate {
        let other = usize::from(feature == self.pair[0]);
        self.less_jumps(other, at, &|at| self.mean(at, LocalQuantity::Partial(feature)))
    }
}
