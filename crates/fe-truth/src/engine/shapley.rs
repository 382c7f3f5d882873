//! Shapley values of a function whose features have a law: interventional, exact.
//!
//! They are linear in f, so each term of f is shared out on its own. What a coalition of features
//! is worth, `v(Q)(x) = E f(x_Q, X_rest)`, is the mean over the joint law of the features outside,
//! independent of those inside (EFFECTOR eq. 11, with the weight inside the sum).

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::memory::{HeldValues, Memory};
use super::nested::HeldFeatures;
use super::watch::{MOST_MEMBERS, MOST_OF_SHAPLEY, Watch, uncounted, within_budget};
use super::{Engine, LocalQuantity, Rest, is_simulating, known_number};
use crate::function::Term;
use crate::law::Law;
use crate::numeric::cusps::Curve;
use crate::numeric::quadrature::{Estimate, integrate, within};

/// Worths of coalitions of the features of each term.
pub(crate) struct Coalitions {
    terms: Vec<OfTerm>,
}

struct OfTerm {
    /// By the members of the coalition, a bit for each feature.
    plans: Vec<Plan>,
    /// Worth of the empty coalition.
    empty: OnceLock<Estimate>,
    /// Worth of each feature on its own, as a function of it.
    singles: Vec<OnceLock<Single>>,
    /// Worths of coalitions of several features, by the members and their values.
    several: Memory<usize>,
    /// Factors that share no randomness: what a coalition is worth is the product of its worths for them.
    factors: Vec<OfFactor>,
}

struct OfFactor {
    known: OfTerm,
    /// The places of its features among those of the term.
    places: Vec<usize>,
}

impl Coalitions {
    /// Of terms under a law as background.
    pub(crate) fn of(terms: &[Arc<Term>], law: &Law) -> Self {
        Self { terms: terms.iter().map(|term| OfTerm::new(term, law)).collect() }
    }
}

impl OfTerm {
    fn new(term: &Term, law: &Law) -> Self {
        let features = term.features();
        let factors = term.factors();
        let tied = |a: &Term, b: &Term| {
            let with = |&a: &usize| b.features().iter().any(|&b| a == b || law.related(a, b));
            a.features().iter().any(with)
        };
        let apart = |i: usize| factors[..i].iter().all(|other| !tied(&factors[i], other));
        let is_product = (1..factors.len()).all(apart);
        let of_factor = |factor: &Term| {
            let place = |s: &usize| features.iter().position(|other| other == s);
            let places = factor.features().iter().filter_map(place).collect();
            OfFactor { known: Self::new(factor, law), places }
        };
        Self {
            plans: (0..coalitions(features)).map(|set| Plan::of(term, set, law)).collect(),
            empty: OnceLock::new(),
            singles: features.iter().map(|_| OnceLock::new()).collect(),
            several: Memory::default(),
            factors: factors.iter().filter(|_| is_product).map(of_factor).collect(),
        }
    }
}

/// The mean of a term over all features but one, as a function of that one, and the places where it may jump.
struct Single {
    curve: Curve,
    breaks: Vec<f64>,
    /// A number that no other one has.
    own: u64,
}

/// Numbers of what is made next.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Number of means whose last values a thread keeps.
const KEPT: usize = 16;

/// A mean and the bits of a place, with the value there.
type Last = ((u64, u64), Estimate);

thread_local! {
    /// Values that were asked for last, each by its mean and the bits of its place: a feature that is held has the same value
    /// all along an integral.
    static LAST: RefCell<[Option<Last>; KEPT]> = const { RefCell::new([None; KEPT]) };
}

impl Single {
    fn last(&self, x: f64) -> Option<Estimate> {
        let key = (self.own, x.to_bits());
        LAST.with_borrow(|all| all[self.slot()].filter(|(of, _)| *of == key))
            .map(|(_, value)| value)
    }

    fn keep(&self, x: f64, value: Estimate) {
        let key = (self.own, x.to_bits());
        LAST.with_borrow_mut(|all| all[self.slot()] = Some((key, value)));
    }

    fn slot(&self) -> usize {
        self.own as usize % KEPT
    }
}

impl OfFactor {
    /// The members of a coalition that the factor reads.
    fn members(&self, members: usize) -> usize {
        let own = self.places.iter().enumerate();
        own.fold(0, |all, (k, &place)| all | (members >> place & 1) << k)
    }
}

/// Plan for the worth of a coalition: the mean of the term, or of a declared mean of it.
struct Plan {
    average: Option<usize>,
    inside: Vec<usize>,
    over: Vec<usize>,
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

/// Worths at a row of coalitions, by the bits of their members.
enum Worths<'a> {
    Each(Vec<Estimate>),
    /// For factors that share no randomness.
    Product(Vec<(&'a OfFactor, Self)>),
}

impl Worths<'_> {
    fn of(&self, members: usize) -> Estimate {
        match self {
            Self::Each(worths) => worths[members],
            Self::Product(factors) => {
                let each =
                    factors.iter().map(|(factor, worths)| worths.of(factor.members(members)));
                each.fold(Estimate::exact(1.0), Estimate::product)
            }
        }
    }
}

impl Engine {
    /// The Shapley value of a feature for a term at a row of the features it reads.
    pub(crate) fn shapley(&self, index: usize, feature: usize, row: &mut [f64]) -> Estimate {
        self.gains(index, feature, 0, row)
    }

    /// The Shapley value of a feature for a term without what depends on it alone, which is what it adds to nothing: it varies
    /// as much while the feature is held.
    pub(crate) fn varying_shapley(
        &self,
        index: usize,
        feature: usize,
        row: &mut [f64],
    ) -> Estimate {
        self.gains(index, feature, 1, row)
    }

    /// The weighted sum of what a feature adds to coalitions of other features of a term, by their members, from some on.
    fn gains(&self, index: usize, feature: usize, first: usize, row: &mut [f64]) -> Estimate {
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
        let (known, whole) = (&self.coalitions.terms[index], &self.terms[index]);
        let without = (first..1_usize << count).filter(|coalition| coalition & own == 0);
        let gain = |coalition: usize, worth: &mut dyn FnMut(usize) -> Estimate| {
            let before = worth(coalition);
            let share = weight(coalition.count_ones() as usize, count);
            worth(coalition | own).minus(before).times(share)
        };
        if self.factors_of(known).is_none() {
            // Each is asked for once.
            let mut worth = |members: usize| self.worth(known, whole, members, row);
            return Estimate::sum(without.map(|coalition| gain(coalition, &mut worth)));
        }
        let worths = self.worths(known, whole, row);
        Estimate::sum(without.map(|coalition| gain(coalition, &mut |set| worths.of(set))))
    }

    /// Worths at a row of all coalitions of the features of a term.
    fn worths<'a>(&self, known: &'a OfTerm, whole: &Term, row: &mut [f64]) -> Worths<'a> {
        let Some(factors) = self.factors_of(known) else {
            let all = (0..known.plans.len()).map(|members| self.worth(known, whole, members, row));
            return Worths::Each(all.collect());
        };
        let each = factors.iter().zip(whole.factors());
        Worths::Product(
            each.map(|(of, factor)| (of, self.worths(&of.known, factor, row))).collect(),
        )
    }

    /// Features that worths of coalitions of several features of a term are integrated over: of a row inside of
    /// an integral over rows.
    pub(super) fn integrated_for_coalitions(&self, index: usize) -> usize {
        self.integrated_for(&self.coalitions.terms[index], &self.terms[index])
    }

    fn integrated_for(&self, known: &OfTerm, term: &Term) -> usize {
        if let Some(factors) = self.factors_of(known) {
            let each = factors.iter().zip(term.factors());
            return each
                .map(|(of, factor)| self.integrated_for(&of.known, factor))
                .max()
                .unwrap_or(0);
        }
        let features = term.features();
        let is_simple = |feature: usize| {
            let related = |&other: &usize| other != feature && self.law().related(feature, other);
            term.is_affine_in(feature) && !features.iter().any(related)
        };
        let plans = known.plans.iter().filter(|plan| plan.inside.len() > 1);
        let over =
            plans.map(|plan| plan.over.iter().filter(|&&feature| !is_simple(feature)).count());
        over.max().unwrap_or(0)
    }

    /// The factors of a product; a witness takes nothing apart.
    fn factors_of<'a>(&self, known: &'a OfTerm) -> Option<&'a [OfFactor]> {
        (!known.factors.is_empty() && !self.is_witness()).then_some(&known.factors)
    }

    /// Worth at a row of a coalition of the features of a term, a bit for each.
    fn worth(&self, known: &OfTerm, whole: &Term, members: usize, row: &mut [f64]) -> Estimate {
        let Plan { average, inside, over } = &known.plans[members];
        let term = average.map_or(whole, |average| whole.average(average));
        match inside.as_slice() {
            _ if over.is_empty() => term.estimate(row),
            [] => known.empty.get().copied().unwrap_or_else(|| {
                uncounted(|| {
                    known_number(&known.empty, || self.empty_worth(known, whole, term, over))
                })
            }),
            &[feature] => {
                let place = whole.features().iter().position(|&other| other == feature);
                let single = &known.singles[place.unwrap_or_default()];
                self.single(single, term, feature, over, row[feature])
            }
            several => known.several.of((members, HeldValues::of(several, row)), || {
                let held: Vec<(usize, f64)> = several.iter().map(|&f| (f, row[f])).collect();
                self.mean_over_background(term, over, &held)
            }),
        }
    }

    /// The mean of a term over all features; of more than are integrated at once that of a mean over all but one that is
    /// independent of them, which is a curve.
    fn empty_worth(&self, known: &OfTerm, whole: &Term, term: &Term, over: &[usize]) -> Estimate {
        let exact = || self.mean_over_background(term, over, &[]);
        let Some(watch) = self.watch.as_ref().filter(|watch| over.len() == watch.most + 1) else {
            return exact();
        };
        let law = &self.whole.law;
        let is_free = |&s: &usize| {
            let tied = over.iter().any(|&other| other != s && law.related(s, other));
            !tied && self.whole.margin(s).levels().is_none()
        };
        let features = whole.features();
        let free = over.iter().copied().find(is_free).filter(|_| !watch.is_witness);
        let place = free.and_then(|s| features.iter().position(|&other| other == s));
        let (Some(s), Some(place)) = (free, place) else { return exact() };
        let margin = self.whole.margin(s);
        let panels = margin.panels();
        let points = [self.resolution(s), panels.clone()].concat();
        let points = within(&points, panels[0], panels[panels.len() - 1]);
        let mut row = vec![f64::NAN; law.dimension()];
        let [mean] = integrate(&points, 0.0, |u| {
            row[s] = margin.place(u);
            [margin.weighed(u, self.worth(known, whole, 1 << place, &mut row))]
        });
        margin.vouched(mean.doubted(self.whole.doubt))
    }

    /// The mean of a term over all features but one, as a function of that one.
    fn single(
        &self,
        single: &OnceLock<Single>,
        term: &Term,
        feature: usize,
        over: &[usize],
        x: f64,
    ) -> Estimate {
        // Where one of them takes too long the others are not worth their cost.
        if single.get().is_none() && Watch::has_refused() {
            return Estimate::exact(f64::NAN);
        }
        let mean = |x: f64| self.mean_over_background(term, over, &[(feature, x)]);
        let law = self.whole.margin(feature);
        let make = || {
            single.get_or_init(|| {
                let panels = law.panels();
                let mut breaks = Vec::new();
                let unknown = vec![f64::NAN; self.whole.law.dimension()];
                term.corners(feature, &unknown, &mut breaks);
                let mut places = self.passages_of_background(term, feature);
                term.breaks(feature, &unknown, &mut places);
                // Of lines that also run along other features the places are not known.
                places.retain(|place| place.is_finite());
                let mut points: Vec<f64> = places.into_iter().map(|x| law.coordinate(x)).collect();
                points.extend(&panels);
                let ends = (panels[0], panels[panels.len() - 1]);
                let points = self.panels_between(&points, ends.0, ends.1);
                let curve = self.resolved(&points, [term], &|u| mean(law.place(u)));
                Single { curve, breaks, own: NEXT.fetch_add(1, Ordering::Relaxed) }
            })
        };
        let known = single.get().unwrap_or_else(|| uncounted(make));
        if let Some(value) = known.last(x) {
            return value;
        }
        let coordinate = law.coordinate(x);
        // At a jump the curve does not tell on which side f is.
        let is_smooth = known.curve.covers(coordinate) && !known.breaks.contains(&x);
        let value = if is_smooth { known.curve.at(coordinate) } else { uncounted(|| mean(x)) };
        match &self.watch {
            Some(watch) if value.value.is_nan() => watch.unknown_mean(feature),
            _ => {
                known.keep(x, value);
                value
            }
        }
    }

    /// Worth at a row of the coalition of those features of a term that are inside.
    pub(super) fn worth_of(&self, index: usize, inside: &[usize], row: &mut [f64]) -> Estimate {
        let members = self.members(index, inside);
        self.worth(&self.coalitions.terms[index], &self.terms[index], members, row)
    }

    /// The features inside that the worth of their coalition depends on.
    pub(super) fn read_by_coalition(&self, index: usize, inside: &[usize]) -> Vec<usize> {
        self.coalitions.terms[index].plans[self.members(index, inside)].inside.clone()
    }

    fn members(&self, index: usize, inside: &[usize]) -> usize {
        let numbered = self.terms[index].features().iter().enumerate();
        let members = numbered.filter(|(_, feature)| inside.contains(feature));
        members.map(|(place, _)| 1 << place).sum()
    }

    /// The mean of a term over features under the law of the background, while the others of it are held.
    pub(super) fn mean_over_background(
        &self,
        term: &Term,
        over: &[usize],
        held: &[(usize, f64)],
    ) -> Estimate {
        let held = HeldFeatures::new(self, &self.whole, held.iter().copied(), Rest::Marginal);
        if let Some(mean) = held.mean_of_value(term) {
            return mean;
        }
        let integrand = |row: &mut [f64]| term.estimate(row);
        held.expectation(over, &[term], LocalQuantity::Value, 0.0, &integrand)
    }
}

impl HeldFeatures<'_> {
    /// The mean of a Shapley value in a region as the sum of those of the worths of all coalitions, each an integral over
    /// those of its features that are not held. None of less than three features, of which there are no fewer to integrate
    /// over, or where one of them is not integrated.
    pub(super) fn mean_of_coalitions(&self, index: usize, s: usize) -> Option<Estimate> {
        let engine = self.engine();
        let count = self.term(index).features().len();
        let in_region = self.is_of_rows() && !Arc::ptr_eq(&engine.measure, &engine.whole);
        let many = 3..=MOST_MEMBERS;
        if !in_region || !many.contains(&count) || self.is_witness() || is_simulating() {
            return None;
        }
        let gain = |set: &[usize]| {
            let with = [set, &[s]].concat();
            let gain = self.mean_worth(index, s, &with).minus(self.mean_worth(index, s, set));
            gain.times(weight(set.len(), count))
        };
        let all = || {
            let sets = others(self.term(index).features(), s);
            Estimate::sum(sets.iter().map(|set| gain(set)))
        };
        let most = engine.watch.as_ref().map(|watch| watch.limit(MOST_OF_SHAPLEY));
        let known = most.map_or_else(|| Some(all()), |most| within_budget(most, all));
        let known = known.filter(|mean| !mean.simulated && mean.value.is_finite());
        if known.is_none() {
            // What was refused on the way is no reason: there is another one.
            drop(Watch::reason());
        }
        known
    }

    /// The mean over the law of the rows of what a coalition of features is worth, for the Shapley value of one.
    fn mean_worth(&self, index: usize, s: usize, inside: &[usize]) -> Estimate {
        let whole = self.term(index);
        if inside.len() == whole.features().len() {
            return self.mean(index, LocalQuantity::Value);
        }
        // Over one that is independent of all others and has its whole law the mean is as if it were outside.
        let as_outside = |&feature: &usize| {
            let law = &self.engine().whole.law;
            let tied = |&other: &usize| other != feature && law.related(feature, other);
            !self.is_held(feature)
                && law.is_as_declared(feature)
                && self.law().is_as_declared(feature)
                && !whole.features().iter().any(tied)
                && self.is_independent(feature, whole.features())
        };
        let inside: Vec<usize> =
            inside.iter().copied().filter(|feature| !as_outside(feature)).collect();
        let inside = inside.as_slice();
        let read = self.engine().read_by_coalition(index, inside);
        let free: Vec<usize> = read.into_iter().filter(|&feature| !self.is_held(feature)).collect();
        let integrand = |row: &mut [f64]| self.engine().worth_of(index, inside, row);
        self.expectation(&free, &[whole], LocalQuantity::Shapley(s), 0.0, &integrand)
    }
}

/// All sets of features without one of them.
fn others(features: &[usize], s: usize) -> Vec<Vec<usize>> {
    let rest: Vec<usize> = features.iter().copied().filter(|&feature| feature != s).collect();
    let of = |set: usize| {
        let numbered = rest.iter().enumerate();
        numbered.filter(|(place, _)| set >> place & 1 == 1).map(|(_, &feature)| feature).collect()
    };
    (0..1_usize << rest.len()).map(of).collect()
}

/// The Shapley value of a feature for a term at a row, against one row of the background.
pub(super) fn shapley_against(
    term: &Term,
    feature: usize,
    row: &[f64],
    background: &[f64],
) -> Estimate {
    let features = term.features();
    let Some(own) = features.iter().position(|&other| other == feature) else {
        return Estimate::default();
    };
    let mut mixed = background.to_vec();
    let without = (0..1_usize << features.len()).filter(|coalition| coalition >> own & 1 == 0);
    Estimate::sum(without.map(|coalition| {
        for (place, &other) in features.iter().enumerate() {
            let is_inside = coalition >> place & 1 == 1;
            mixed[other] = if is_inside { row[other] } else { background[other] };
        }
        let before = term.estimate(&mixed);
        mixed[feature] = row[feature];
        let size = coalition.count_ones() as usize;
        term.estimate(&mixed).minus(before).times(weight(size, features.len()))
    }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::PiecewiseUniform;

    /// x1 x2² of features that are uniform on [0, 1]: worths are x1/3, x2²/2 and 1/6.
    #[test]
    fn a_mean_given_a_feature_is_that_of_its_value_and_not_of_the_last_one() {
        let term = Term::new(&[0, 1], |x| x[0] * x[1] * x[1], |_, _| 0.0);
        let law = |s: usize, law: Law| law.with_independent(s, PiecewiseUniform::on(0.0, 1.0));
        let engine = Engine::new(law(1, law(0, Law::new())), vec![term]);
        let rows = [[0.2, 0.5], [0.2, 0.5], [0.2, 0.9], [0.7, 0.9], [0.2, 0.5], [0.7, 0.5]];
        for [a, b] in rows {
            let known = 0.5 * (a * b * b - b * b / 2.0 + a / 3.0 - 1.0 / 6.0);
            let found = engine.shapley(0, 0, &mut [a, b]).value;
            assert!((found - known).abs() < 1e-14, "{found}, {known}");
        }
    }
}
