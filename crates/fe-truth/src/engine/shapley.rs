//! Shapley values of a function whose features have a law: interventional, exact.
//!
//! They are linear in f, so each term of f is shared out on its own. What a coalition of features
//! is worth, `v(Q)(x) = E f(x_Q, X_rest)`, is the mean over the joint law of the features outside,
//! independent of those inside (EFFECTOR eq. 11, with the weight inside the sum).

use std::sync::{Arc, OnceLock};

use super::memory::{HeldValues, Memory};
use super::nested::HeldFeatures;
use super::{Engine, LocalQuantity, Rest, known_number};
use crate::function::Term;
use crate::law::Law;
use crate::numeric::quadrature::{Estimate, Piecewise, within};

/// Largest number of features of a term whose coalitions are asked.
const MOST_MEMBERS: usize = 12;

/// Worths of coalitions of the features of each term.
pub(crate) struct Coalitions {
    terms: Vec<OfTerm>,
    /// Worths of coalitions of several features, by the term, the members and their values.
    several: Memory<(usize, usize)>,
}

struct OfTerm {
    /// By the members of the coalition, a bit for each feature.
    plans: Vec<Plan>,
    /// Worth of the empty coalition.
    empty: OnceLock<Estimate>,
    /// Worth of each feature on its own, as a function of it.
    singles: Vec<OnceLock<Piecewise>>,
}

/// Plan for the worth of a coalition: the mean of the term, or of a declared mean of it.
struct Plan {
    average: Option<usize>,
    inside: Vec<usize>,
    over: Vec<usize>,
}

impl Coalitions {
    /// Of terms under a law as background.
    pub(crate) fn of(terms: &[Arc<Term>], law: &Law) -> Self {
        let of_term = |term: &Term| {
            let features = term.features();
            OfTerm {
                plans: (0..coalitions(features)).map(|set| Plan::of(term, set, law)).collect(),
                empty: OnceLock::new(),
                singles: features.iter().map(|_| OnceLock::new()).collect(),
            }
        };
        let terms = terms.iter().map(|term| of_term(term)).collect();
        Self { terms, several: Memory::default() }
    }
}

/// Number of the coalitions of features; 0 if there are too many to ask them all.
fn coalitions(features: &[usize]) -> usize {
    if features.len() <= MOST_MEMBERS { 1 << features.len() } else { 0 }
}

impl Plan {
    fn of(term: &Term, members: usize, law: &Law) -> Self {
        let numbered = term.features().iter().enumerate();
        let outside: Vec<usize> =
            numbered.filter(|(place, _)| members >> place & 1 == 0).map(|(_, &f)| f).collect();
        let declared: Vec<usize> =
            outside.iter().copied().filter(|&feature| law.is_as_declared(feature)).collect();
        let average = term.average_over(&declared);
        let read = average.map_or(term, |average| term.average(average)).features();
        let (over, inside) = read.iter().partition(|feature| outside.contains(feature));
        Self { average, inside, over }
    }
}

impl Engine {
    /// The Shapley value of a feature for a term at a row of the features it reads.
    pub(crate) fn shapley(&self, index: usize, feature: usize, row: &mut [f64]) -> Estimate {
        let features = self.terms[index].features();
        let Some(place) = features.iter().position(|&other| other == feature) else {
            return Estimate::default();
        };
        if let (Some(watch), true) = (&self.watch, features.len() > MOST_MEMBERS) {
            let count = features.len();
            return watch.refuse(|| {
                format!("Shapley values of a term of {count} features; at most {MOST_MEMBERS}")
            });
        }
        let (count, own) = (features.len(), 1_usize << place);
        let without = (0..1_usize << count).filter(|coalition| coalition & own == 0);
        Estimate::sum(without.map(|coalition| {
            let gain = self.coalition(index, coalition | own, row);
            let gain = gain.minus(self.coalition(index, coalition, row));
            gain.times(weight(coalition.count_ones() as usize, count))
        }))
    }

    /// Worth at a row of a coalition of the features of a term, a bit for each.
    fn coalition(&self, index: usize, members: usize, row: &mut [f64]) -> Estimate {
        let known = &self.coalitions.terms[index];
        let Plan { average, inside, over } = &known.plans[members];
        let whole = &self.terms[index];
        let term = average.map_or(&**whole, |average| whole.average(average));
        match inside.as_slice() {
            _ if over.is_empty() => term.estimate(row),
            [] => known_number(&known.empty, || self.mean_over_background(term, over, &[])),
            &[feature] => self.single(index, term, feature, over, row[feature]),
            several => {
                let key = ((index, members), HeldValues::of(several, row));
                self.coalitions.several.of(key, || {
                    let held: Vec<(usize, f64)> = several.iter().map(|&f| (f, row[f])).collect();
                    self.mean_over_background(term, over, &held)
                })
            }
        }
    }

    /// The mean of a term over all features but one, as a function of that one.
    fn single(
        &self,
        index: usize,
        term: &Term,
        feature: usize,
        over: &[usize],
        x: f64,
    ) -> Estimate {
        let exact = |x: f64| self.mean_over_background(term, over, &[(feature, x)]);
        let place = self.terms[index].features().iter().position(|&other| other == feature);
        let law = self.whole.margin(feature);
        let single = &self.coalitions.terms[index].singles[place.unwrap_or_default()];
        let known = single.get_or_init(|| {
            let panels = law.panels();
            let mut places = self.passages(term, feature);
            term.breaks(feature, &vec![f64::NAN; self.whole.law.dimension()], &mut places);
            // Of lines that also run along other features the places are not known.
            places.retain(|place| place.is_finite());
            let mut points: Vec<f64> = places.into_iter().map(|x| law.coordinate(x)).collect();
            points.extend(&panels);
            let points = within(&points, panels[0], panels[panels.len() - 1]);
            Piecewise::of(&points, |u| exact(law.place(u)))
        });
        let coordinate = law.coordinate(x);
        if known.covers(coordinate) { known.at(coordinate) } else { exact(x) }
    }

    fn mean_over_background(&self, term: &Term, over: &[usize], held: &[(usize, f64)]) -> Estimate {
        let held = HeldFeatures::new(self, &self.whole, held.iter().copied(), Rest::Marginal);
        if let Some(mean) = held.mean_of_value(term) {
            return mean;
        }
        let integrand = |row: &mut [f64]| term.estimate(row);
        held.expectation(over, &[term], LocalQuantity::Value, 0.0, &integrand)
    }
}

/// Share of the orders of `count` features in which one comes right after a coalition of a size:
/// size! (count − 1 − size)! / count!.
pub(crate) fn weight(size: usize, count: usize) -> f64 {
    // 1 / (count · binomial(count − 1, size)).
    let mut binomial = 1.0;
    for k in 0..size {
        binomial *= (count - 1 - k) as f64 / (k + 1) as f64;
    }
    1.0 / (count as f64 * binomial)
}
