//! Numbers that say how much of f features and pairs have: H, Sobol' indices, Shapley effects and others.
//!
//! All of them are variances of sums of means of f over some of its features, as terms of the others: what
//! the engine integrates. Interactions are summed over the terms that read what interacts, so that nothing
//! cancels where there is none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fe_core::interrupt;

use super::curves::{Known, integrated, truth};
use crate::engine::Engine;
use crate::engine::averages::MarginalMean;
use crate::engine::components::Components;
use crate::engine::shapley::weight;
use crate::engine::watch::{Watch, is_spent, spend, with_cost, with_cost_apart, within_budget};
use crate::error::Error;
use crate::function::Term;
use crate::numeric::quadrature::Estimate;
use crate::quantity::{Evaluation, Index, Quantity, Truth};
use crate::scenario::Scenario;

/// Largest number of features of a term that are integrated over at once.
const MOST_AT_ONCE: usize = 3;
/// Largest number of features whose coalitions are asked: independent ones, and dependent ones.
const MOST_PLAYERS: [usize; 2] = [10, 3];
/// Evaluations that an index may take, those of means that it is made of included.
const MOST_OF_AN_INDEX: f64 = 1e9;
/// Evaluations that a variance of means may take before it is simulated.
const MOST_INTEGRATED: f64 = 2e8;
/// Share of the tolerance that the variance of a sum of means may be off by, relative to Var f, whatever its size.
const BESIDE_F: f64 = 0.8;
/// Times the tolerance that a simulated index may be off by: it is a quotient of sums of variances.
const OFF: f64 = 4.0;
/// Times the evaluations of a simulated mean that such a variance may take.
const ALONG: f64 = 4.0;
/// Times the evaluations of a simulated mean that the components of a game may take, and the share of the tolerance,
/// relative to Var f, at which they are told.
const OF_COMPONENTS: f64 = 32.0;
const SHARE_OF_COMPONENTS: f64 = 0.25;

/// An index, what it is of, and its value or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexTruth {
    /// The index.
    pub index: Index,
    /// The features that it is of, counted from 0: as many as [`Index::order`] says.
    pub features: Vec<usize>,
    /// Its value, or the reason why there is none.
    pub truth: Result<Truth, Error>,
}

/// The indices of a scenario; what several of them need is computed once.
pub struct Indices<'a> {
    scenario: &'a Scenario,
    engine: Engine,
    /// The limits of the engine.
    watch: Arc<Watch>,
    variance: OnceLock<Known>,
    effects: OnceLock<Result<Vec<Estimate>, Error>>,
    games: OnceLock<Vec<Game>>,
    /// Variances of sums of means that several indices are made of.
    made: Mutex<Vec<Made>>,
}

/// The variance of a sum of means, and the evaluations that it took.
struct Made {
    means: Vec<MarginalMean>,
    variance: Estimate,
    cost: f64,
}

/// Features that share terms or randomness, of which f reads one at least: variances add up over games.
struct Game {
    players: Vec<usize>,
    /// True if some of them depend on each other.
    is_tied: bool,
    /// Its components, where a term is too wide to be integrated, and the evaluations that they took.
    components: OnceLock<(Option<Components>, f64)>,
}

impl Scenario {
    /// The indices of the scenario.
    ///
    /// ```
    /// use fe_truth::{Index, scenario};
    ///
    /// # fn main() -> Result<(), fe_truth::Error> {
    /// // f = x1² + x1 x2 + ½ x3 of features that are uniform on [−1, 1].
    /// let scenario = scenario("poly3", &[])?;
    /// let indices = scenario.indices();
    /// let variance = 4.0 / 45.0 + 1.0 / 9.0 + 1.0 / 12.0;
    /// let pair = indices.index(Index::SobolPair, &[0, 1])?;
    /// assert!((pair.value - 1.0 / 9.0 / variance).abs() < 1e-12);
    /// assert_eq!(indices.index(Index::H2Pair, &[0, 2])?.value, 0.0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn indices(&self) -> Indices<'_> {
        let engine = self.parts.engine.clone();
        let names: Vec<String> = (0..self.dimension()).map(|s| self.feature_name(s)).collect();
        let watch = match &engine.watch {
            Some(watch) => Arc::clone(watch),
            None => Arc::new(Watch::new(MOST_AT_ONCE, false, &names)),
        };
        let engine = engine.watched(Arc::clone(&watch));
        let (variance, effects, games, made) = Default::default();
        Indices { scenario: self, engine, watch, variance, effects, games, made }
    }
}

/// The root of a variance: what is simulated may be off by as much as the ends of its interval are.
fn root(variance: Estimate) -> Result<Known, Error> {
    let root = variance.sqrt();
    let [low, high] =
        [-1.0, 1.0].map(|sign| (variance.value + sign * variance.error).max(0.0).sqrt());
    let error = (root.value - low).max(high - root.value) + f64::EPSILON * root.value;
    Ok(integrated(if root.simulated { Estimate { error, ..root } } else { root }))
}

fn mean(term: usize, inside: &[usize], factor: f64) -> MarginalMean {
    MarginalMean { term, inside: inside.to_vec(), factor }
}

impl Indices<'_> {
    /// Some indices, [`Index::ALL`] for all, of features, of pairs of features, and of the function.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::SameFeature`]; the reasons for which single ones are refused are
    /// their answers.
    pub fn each(
        &self,
        asked: &[Index],
        features: &[usize],
        pairs: &[[usize; 2]],
    ) -> Result<Vec<IndexTruth>, Error> {
        features.iter().try_for_each(|&feature| self.scenario.check_feature(feature))?;
        pairs.iter().try_for_each(|&pair| self.scenario.check_two(pair))?;
        let of = |order: usize| asked.iter().copied().filter(move |index| index.order() == order);
        let answer = |index: Index, features: &[usize]| {
            let truth = self.index(index, features);
            IndexTruth { index, features: features.to_vec(), truth }
        };
        let mut all = Vec::new();
        features.iter().for_each(|&s| all.extend(of(1).map(|index| answer(index, &[s]))));
        pairs.iter().for_each(|pair| all.extend(of(2).map(|index| answer(index, pair))));
        all.extend(of(0).map(|index| answer(index, &[])));
        Ok(all)
    }

    /// An index of as many features, counted from 0, as [`Index::order`] says.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::SameFeature`], [`Error::WrongOrder`], [`Error::HasLevels`], and
    /// [`Error::NoTruth`] with the reason where the index means nothing or cannot be integrated.
    pub fn index(&self, index: Index, features: &[usize]) -> Result<Truth, Error> {
        interrupt::check();
        let scenario = self.scenario;
        if features.len() != index.order() {
            let (index, given, order) = (index.name(), features.len(), index.order());
            return Err(Error::WrongOrder { index, given, order });
        }
        features.iter().try_for_each(|&feature| scenario.check_feature(feature))?;
        if let &[a, b] = features {
            scenario.check_two([a, b])?;
        }
        scenario.begin();
        let most = self.most();
        let value = within_budget(most, || match *features {
            [] => self.of_function(index),
            [s] => self.of_feature(index, s),
            [a, b, ..] => self.of_pair(index, [a, b]),
        });
        self.answered(index, value.unwrap_or_else(|| self.too_long(most))?)
    }

    /// Evaluations that an index may take.
    fn most(&self) -> f64 {
        self.watch.limit(MOST_OF_AN_INDEX)
    }

    fn too_long<T>(&self, most: f64) -> Result<T, Error> {
        drop(Watch::reason());
        self.scenario.refused(format!(
            "more than {most:e} evaluations are needed: integrals stand in integrals that are hard themselves"
        ))
    }

    /// The answer, unless it is no number.
    fn answered(&self, index: Index, (value, method): Known) -> Result<Truth, Error> {
        let method = if value.simulated { Evaluation::Simulation } else { method };
        let answer = truth((value, method));
        let size = if index.is_share() { 1.0 } else { self.scenario.parts.size };
        let size = if value.simulated { OFF * size } else { size };
        self.scenario.judge_beside([answer], size)?;
        if answer.value.is_finite() && answer.abs_error.is_finite() {
            return Ok(answer);
        }
        let unknown = || format!("`{index}` is not a number: an integral in it is infinite");
        self.scenario.refused(Watch::reason().unwrap_or_else(unknown))
    }

    fn of_function(&self, index: Index) -> Result<Known, Error> {
        let left = match index {
            Index::AdditiveR2Ale => self.left_by_ale(Quantity::Ale)?,
            Index::AdditiveR2AleDerivative => self.left_by_ale(Quantity::AleDerivative)?,
            _ => self.left_by_pd(),
        };
        let (share, method) = self.share(index, left)?;
        Ok((Estimate::exact(1.0).minus(share), method))
    }

    fn of_feature(&self, index: Index, s: usize) -> Result<Known, Error> {
        match index {
            Index::PdSd => root(self.variance_of_pd(s)),
            Index::AleSd => root(self.variance_of_ale(Quantity::Ale, s)?),
            Index::AleDerivativeSd => root(self.variance_of_ale(Quantity::AleDerivative, s)?),
            Index::HOverall => root(self.overall(s)),
            Index::SobolFirst => {
                self.check_independence(index)?;
                self.share(index, self.variance_of_pd(s))
            }
            Index::SobolTotal => {
                self.check_independence(index)?;
                self.share(index, self.total(s))
            }
            Index::ShapleyEffect => Ok(integrated(self.effect(s)?)),
            Index::ShapleyShare => self.share(index, self.effect(s)?),
            Index::Dgsm => {
                self.scenario.check_density(s, "`dgsm`")?;
                Ok(integrated(self.engine.mean_square_of_partial(s)))
            }
            _ => self.share(index, self.overall(s)),
        }
    }

    fn of_pair(&self, index: Index, pair: [usize; 2]) -> Result<Known, Error> {
        match index {
            Index::H2Pair if self.adds_up(&self.scenario.terms_of_both(pair)) => {
                let alone = Estimate::sum(pair.map(|s| self.variance_of_pd(s)));
                self.ratio_to_sum(index, self.interaction(pair), alone)
            }
            Index::H2Pair => self.ratio(index, self.interaction(pair), self.joint(pair)),
            Index::HPair => root(self.interaction(pair)),
            Index::Ale2Sd => root(self.variance_of_ale2(Quantity::Ale, pair)?),
            Index::Ale2DerivativeSd => root(self.variance_of_ale2(Quantity::AleDerivative, pair)?),
            Index::SobolPair => {
                self.check_independence(index)?;
                self.share(index, self.interaction(pair))
            }
            _ => self.share(index, self.interaction(pair)),
        }
    }

    /// A quotient whose divisor is not 0.
    fn ratio(&self, index: Index, above: Estimate, below: Estimate) -> Result<Known, Error> {
        if below.value.is_finite() && below.value <= below.error.max(f64::MIN_POSITIVE) {
            let whole = if index == Index::H2Pair { "the effect of the pair" } else { "f" };
            return self
                .scenario
                .refused(format!("`{index}` is a share of the variance of {whole}, which is 0"));
        }
        // A variance is negative by rounding alone.
        let value = if above.value < 0.0 { 0.0 } else { above.value / below.value };
        let error = (above.error + value * below.error) / below.value;
        let simulated = above.simulated | below.simulated;
        Ok(integrated(Estimate { value, magnitude: value, error, simulated }))
    }

    /// The quotient of a part and its sum with the rest: an error of the part is in both.
    fn ratio_to_sum(&self, index: Index, part: Estimate, rest: Estimate) -> Result<Known, Error> {
        let sum = part.plus(rest);
        if sum.value.is_nan() || sum.value <= sum.error {
            return self.ratio(index, part, sum);
        }
        let above = Estimate { error: part.error * rest.value / sum.value, ..part };
        self.ratio(index, above, Estimate { error: rest.error, ..sum })
    }

    /// A share of Var f.
    fn share(&self, index: Index, part: Estimate) -> Result<Known, Error> {
        self.ratio(index, part, self.whole())
    }

    /// The variance of a sum of terms.
    fn variance_of(&self, terms: Vec<Arc<Term>>) -> Estimate {
        if terms.is_empty() {
            return Estimate::default();
        }
        self.engine.of_terms(terms).variance_f()
    }

    /// The variance of a sum of means: integrated or, where they are over too many features at once or take too many
    /// evaluations, simulated.
    fn variance_of_means(&self, means: Vec<MarginalMean>) -> Estimate {
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made().iter().find(|made| made.means == means) {
            spend(made.cost);
            return made.variance;
        }
        let (variance, cost) = with_cost(|| self.made_of_means(&means));
        if variance.value.is_finite() {
            made().push(Made { means, variance, cost });
        }
        variance
    }

    fn made_of_means(&self, means: &[MarginalMean]) -> Estimate {
        if let Some(variance) = self.engine.variance_of_means_of_products(means) {
            return variance;
        }
        let terms = || means.iter().map(|mean| mean.term);
        if self.too_wide(terms()).is_none() {
            let integrate = || {
                let mean =
                    |m: &MarginalMean| self.engine.marginal_mean(m.term, &m.inside, m.factor);
                self.variance_of(means.iter().map(mean).collect())
            };
            let most = self.watch.limit(MOST_INTEGRATED);
            match within_budget(most, integrate) {
                Some(variance) if variance.value.is_finite() => return variance,
                _ => drop(Watch::reason()),
            }
        }
        let whole = self.whole().value;
        let most = ALONG * self.watch.most_simulated;
        let enough = BESIDE_F * self.watch.tolerance * whole;
        let simulated = self.engine.simulated_variance_of_means(means, most, enough);
        simulated.unwrap_or_else(|| Estimate::exact(f64::NAN))
    }

    /// Var f.
    fn whole(&self) -> Estimate {
        self.variance.get_or_init(|| self.scenario.variance()).0
    }

    fn readers(&self, s: usize) -> Vec<usize> {
        self.engine.readers(s)
    }

    /// The number of features at once of a term that reads too many for means over some of it to be integrated on.
    fn too_wide(&self, terms: impl Iterator<Item = usize>) -> Option<usize> {
        let widths = terms.map(|t| self.width(&self.engine.terms[t]));
        widths.into_iter().find(|width| *width > MOST_AT_ONCE)
    }

    /// The terms, unless one of them reads too much at once.
    fn checked(&self, terms: Vec<usize>) -> Result<Vec<usize>, Error> {
        match self.too_wide(terms.iter().copied()) {
            None => Ok(terms),
            Some(width) => self.scenario.refused(format!(
                "a term of f reads {width} features that cannot be integrated one by one: at most \
                 {MOST_AT_ONCE} are for means given dependent features that are integrated on"
            )),
        }
    }

    /// True if variances of effects add up, those of all features that f reads being independent, and the terms are simulated: sums
    /// of variances are then told better than variances of sums.
    fn adds_up(&self, terms: &[usize]) -> bool {
        let mut read = (0..self.scenario.dimension()).filter(|&s| !self.readers(s).is_empty());
        self.too_wide(terms.iter().copied()).is_some() && read.all(|s| self.is_apart(s))
    }

    /// True if a feature is independent of all others that f reads: its accumulated effect is its partial dependence.
    fn is_apart(&self, s: usize) -> bool {
        let law = self.engine.law();
        (0..law.dimension()).all(|other| other == s || !law.related(s, other))
    }

    /// Number of features that are integrated over at once for a term.
    fn width(&self, term: &Term) -> usize {
        let related = |a: usize, b: usize| a != b && self.engine.law().related(a, b);
        let apart = |a: &usize| !term.features().iter().any(|&b| related(*a, b));
        let factors = term.factors();
        if factors.len() > 1 && term.features().iter().all(apart) {
            return factors.iter().map(|factor| self.width(factor)).max().unwrap_or(0);
        }
        let hard = term.features().iter().filter(|a| !(term.is_affine_in(**a) && apart(a)));
        hard.count() - usize::from(term.angles().is_some())
    }

    /// The components of the game that a feature is in, if some of these terms are too wide to be integrated.
    fn components(&self, s: usize, terms: &[usize]) -> Option<&Components> {
        self.too_wide(terms.iter().copied())?;
        let game = self.games().iter().find(|game| game.players.contains(&s))?;
        if game.is_tied || game.players.len() > MOST_PLAYERS[0] {
            return None;
        }
        let make = || {
            let whole = self.whole().value;
            let most = OF_COMPONENTS * self.watch.most_simulated;
            let enough = SHARE_OF_COMPONENTS * self.watch.tolerance * whole;
            let simulate = || self.engine.simulated_components(&game.players, most, enough);
            whole.is_finite().then(simulate).flatten()
        };
        let (components, cost) = game.components.get_or_init(|| with_cost_apart(make));
        spend(*cost);
        components.as_ref()
    }

    /// The variance of a sum of means, or what components tell of it: whichever has the narrower interval, but the latter
    /// where that is narrow enough.
    fn variance_told(&self, by_components: Option<Estimate>, means: Vec<MarginalMean>) -> Estimate {
        let Some(told) = by_components else { return self.variance_of_means(means) };
        if told.error <= OFF * self.watch.tolerance * told.value {
            return told;
        }
        let had_refused = Watch::has_refused();
        let own = self.variance_of_means(means);
        if !own.value.is_nan() && own.error <= told.error {
            return own;
        }
        if !had_refused {
            drop(Watch::reason());
        }
        told
    }

    fn variance_of_pd(&self, s: usize) -> Estimate {
        let terms = self.readers(s);
        let told = self.components(s, &terms).map(|components| components.component(&[s]));
        self.variance_told(told, terms.into_iter().map(|term| mean(term, &[s], 1.0)).collect())
    }

    /// The effect of a pair, interaction and all.
    fn joint(&self, pair: [usize; 2]) -> Estimate {
        let reads = |t: &usize| pair.iter().any(|&s| self.engine.terms[*t].reads(s));
        let terms = (0..self.engine.terms.len()).filter(reads);
        self.variance_of_means(terms.map(|term| mean(term, &pair, 1.0)).collect())
    }

    /// Variance of F_jk − F_j − F_k.
    fn interaction(&self, pair: [usize; 2]) -> Estimate {
        let terms = self.scenario.terms_of_both(pair);
        let told = self.components(pair[0], &terms).map(|components| components.component(&pair));
        let parts = terms.into_iter().flat_map(|term| {
            [mean(term, &pair, 1.0), mean(term, &pair[..1], -1.0), mean(term, &pair[1..], -1.0)]
        });
        self.variance_told(told, parts.collect())
    }

    /// Variance of F − F_s − F_rest.
    fn overall(&self, s: usize) -> Estimate {
        let shared = |t: &usize| self.engine.terms[*t].features().len() > 1;
        let terms: Vec<usize> = self.readers(s).into_iter().filter(shared).collect();
        if let Some(components) = self.components(s, &terms) {
            return components.interactions(s);
        }
        if self.adds_up(&terms) {
            let alone = terms.iter().map(|&term| mean(term, &[s], 1.0));
            return self.total(s).minus(self.variance_of_means(alone.collect()));
        }
        let terms = terms.into_iter();
        let parts = terms
            .flat_map(|t| [self.itself(t), mean(t, &[s], -1.0), mean(t, &self.others(t, s), -1.0)]);
        self.variance_of_means(parts.collect())
    }

    /// Mean variance given all other features, of independent ones.
    fn total(&self, s: usize) -> Estimate {
        let terms = self.readers(s);
        let told = self.components(s, &terms).map(|components| components.total(s));
        let parts = terms.into_iter().flat_map(|t| {
            let others = self.others(t, s);
            let rest = (!others.is_empty()).then(|| mean(t, &others, -1.0));
            [Some(self.itself(t)), rest]
        });
        self.variance_told(told, parts.flatten().collect())
    }

    /// A term as the mean over nothing.
    fn itself(&self, t: usize) -> MarginalMean {
        mean(t, self.engine.terms[t].features(), 1.0)
    }

    fn others(&self, t: usize, s: usize) -> Vec<usize> {
        let features = self.engine.terms[t].features().iter().copied();
        features.filter(|&other| other != s).collect()
    }

    /// The terms of f that read more than one feature.
    fn shared_terms(&self) -> Vec<usize> {
        let terms = 0..self.engine.terms.len();
        terms.filter(|&t| self.engine.terms[t].features().len() > 1).collect()
    }

    /// Variance of f less all partial dependences: terms of one feature are in those as they are.
    fn left_by_pd(&self) -> Estimate {
        let terms = self.shared_terms();
        if !self.adds_up(&terms) {
            return self.left_of(&terms);
        }
        if self.games().iter().all(|game| game.players.len() <= MOST_PLAYERS[0]) {
            return Estimate::sum(self.games().iter().map(|game| {
                let is_own =
                    |t: &usize| game.players.iter().any(|&s| self.engine.terms[*t].reads(s));
                let own: Vec<usize> = terms.iter().copied().filter(is_own).collect();
                let components = self.components(game.players[0], &own);
                components.map_or_else(|| self.left_of(&own), Components::all_interactions)
            }));
        }
        let read = |s: &usize| !self.engine.readers(*s).is_empty();
        let alone = (0..self.scenario.dimension()).filter(read);
        let effects = Estimate::sum(alone.map(|s| self.variance_of_pd(s)));
        self.whole().minus(effects)
    }

    /// Variance of some terms less all of their partial dependences.
    fn left_of(&self, terms: &[usize]) -> Estimate {
        let parts = terms.iter().flat_map(|&t| {
            let features = self.engine.terms[t].features();
            [self.itself(t)].into_iter().chain(features.iter().map(move |&s| mean(t, &[s], -1.0)))
        });
        self.variance_of_means(parts.collect())
    }

    /// The scenario with some terms of its function alone.
    fn of_terms(&self, terms: &[usize]) -> Scenario {
        let engine = &self.scenario.parts.engine;
        self.scenario.of_engine(engine.of_terms(terms.iter().map(|&t| engine.term(t))))
    }

    fn left_by_ale(&self, effect: Quantity) -> Result<Estimate, Error> {
        let is_read = |s: &usize| !self.engine.readers(*s).is_empty();
        let mut read = (0..self.scenario.dimension()).filter(is_read);
        let all: Vec<usize> = (0..self.engine.terms.len()).collect();
        if self.has_no_jumps(effect, &all) && read.all(|s| self.is_apart(s)) {
            return Ok(self.left_by_pd());
        }
        // A jump of a term of one feature is not in the derivative form of its ALE.
        let terms = if effect == Quantity::Ale {
            self.checked(self.shared_terms())?
        } else {
            self.checked(all)?
        };
        let part = self.of_terms(&terms);
        let mut parts: Vec<Arc<Term>> = terms.iter().map(|&t| self.engine.term(t)).collect();
        for s in 0..self.scenario.dimension() {
            if !part.parts.engine.readers(s).is_empty() {
                self.check_levels(effect, s)?;
                parts.push(part.accumulated_term(effect, s, -1.0));
            }
        }
        Ok(self.variance_of(parts))
    }

    /// True if nothing that the terms do is left out of an accumulated effect of either form.
    fn has_no_jumps(&self, effect: Quantity, terms: &[usize]) -> bool {
        effect == Quantity::Ale || terms.iter().all(|&t| self.engine.terms[t].is_smooth())
    }

    fn check_levels(&self, effect: Quantity, s: usize) -> Result<(), Error> {
        if effect == Quantity::Ale {
            return Ok(());
        }
        self.scenario.check_density(s, &format!("`{effect}`"))
    }

    fn variance_of_ale(&self, effect: Quantity, s: usize) -> Result<Estimate, Error> {
        self.check_levels(effect, s)?;
        let terms = self.readers(s);
        if self.is_apart(s) && self.has_no_jumps(effect, &terms) {
            return Ok(self.variance_of_pd(s));
        }
        let terms = self.checked(terms)?;
        if terms.is_empty() {
            return Ok(Estimate::default());
        }
        let part = self.of_terms(&terms);
        Ok(self.variance_of(vec![part.accumulated_term(effect, s, 1.0)]))
    }

    fn variance_of_ale2(&self, effect: Quantity, pair: [usize; 2]) -> Result<Estimate, Error> {
        for s in pair {
            self.scenario.check_density(s, "a second-order ALE")?;
        }
        let terms = self.scenario.terms_of_both(pair);
        if pair.iter().all(|&s| self.is_apart(s)) && self.has_no_jumps(effect, &terms) {
            return Ok(self.interaction(pair));
        }
        let terms = self.checked(terms)?;
        if terms.is_empty() {
            return Ok(Estimate::default());
        }
        self.scenario.check_rest(pair)?;
        let engine = match effect {
            Quantity::Ale => {
                let means = terms.iter().map(|&t| self.engine.marginal_mean(t, &pair, 1.0));
                self.scenario.parts.engine.of_terms(means)
            }
            _ => self.scenario.derivative_form(pair)?,
        };
        // First-order effects of the terms themselves, which have derivatives; their means are what is left.
        let part = match effect {
            Quantity::Ale => self.of_terms(&terms),
            _ => self.scenario.of_engine(engine.clone()),
        };
        let mut parts: Vec<Arc<Term>> = (0..engine.terms.len()).map(|t| engine.term(t)).collect();
        parts.extend(pair.map(|s| part.accumulated_term(effect, s, -1.0)));
        Ok(self.variance_of(parts))
    }

    /// Refuses what is defined for independent features alone.
    fn check_independence(&self, index: Index) -> Result<(), Error> {
        let law = self.engine.law();
        let read = |s: usize| !self.engine.readers(s).is_empty();
        let tied = |&(a, b): &(usize, usize)| law.related(a, b) && (read(a) || read(b));
        let dimension = law.dimension();
        let mut pairs = (0..dimension).flat_map(|a| (a + 1..dimension).map(move |b| (a, b)));
        match pairs.find(tied) {
            None => Ok(()),
            Some((a, b)) => {
                let [a, b] = [a, b].map(|s| self.scenario.feature_name(s));
                self.scenario.refused(format!(
                    "`{index}` is a share of variance of independent features, and {b} depends on {a}: \
                     `shapley-effect` is defined under dependence"
                ))
            }
        }
    }

    /// The Shapley effect of a feature.
    fn effect(&self, s: usize) -> Result<Estimate, Error> {
        let effects = self.effects.get_or_init(|| self.shapley_effects());
        effects.as_ref().map(|effects| effects[s]).map_err(Clone::clone)
    }

    fn shapley_effects(&self) -> Result<Vec<Estimate>, Error> {
        let mut effects = vec![Estimate::default(); self.scenario.dimension()];
        for game in self.games() {
            let read: BTreeSet<usize> =
                game.players.iter().flat_map(|&s| self.readers(s)).collect();
            let read: Vec<usize> = read.into_iter().collect();
            if let Some(components) = self.components(game.players[0], &read) {
                game.players.iter().for_each(|&s| effects[s] = components.shapley_effect(s));
                continue;
            }
            let worths = self.worths(game)?;
            for (place, &player) in game.players.iter().enumerate() {
                let own = 1 << place;
                let without = (0..worths.len()).filter(|coalition| coalition & own == 0);
                let gains = without.map(|coalition| {
                    let size = coalition.count_ones() as usize;
                    let gain = worths[coalition | own].minus(worths[coalition]);
                    gain.times(weight(size, game.players.len()))
                });
                effects[player] = Estimate::sum(gains);
            }
        }
        if is_spent() {
            return self.too_long(self.most());
        }
        Ok(effects)
    }

    fn games(&self) -> &[Game] {
        self.games.get_or_init(|| self.found_games())
    }

    fn found_games(&self) -> Vec<Game> {
        let law = self.engine.law();
        let touch = |a: usize, b: usize| {
            law.related(a, b) || self.engine.terms.iter().any(|t| t.reads(a) && t.reads(b))
        };
        let mut games: Vec<Vec<usize>> = Vec::new();
        for s in 0..law.dimension() {
            let meets = |game: &Vec<usize>| game.iter().any(|&other| touch(s, other));
            let (with, without): (Vec<_>, Vec<_>) = games.into_iter().partition(meets);
            games = without;
            games.push(with.into_iter().flatten().chain([s]).collect());
        }
        games.retain(|game| game.iter().any(|&s| !self.engine.readers(s).is_empty()));
        let game = |mut players: Vec<usize>| {
            players.sort_unstable();
            let tied = |&a: &usize| players.iter().any(|&b| a != b && law.related(a, b));
            let is_tied = players.iter().any(tied);
            Game { players, is_tied, components: OnceLock::new() }
        };
        games.into_iter().map(game).collect()
    }

    /// Var E[f | X_Q] for each coalition Q of the features of a game, a bit for each.
    fn worths(&self, game: &Game) -> Result<Vec<Estimate>, Error> {
        let law = self.engine.law();
        let (players, tied) = (&game.players, game.is_tied);
        let most = MOST_PLAYERS[usize::from(tied)];
        if players.len() > most {
            let names: Vec<String> =
                players.iter().map(|&s| self.scenario.feature_name(s)).collect();
            let kind = if tied { "dependent or interacting" } else { "interacting" };
            return self.scenario.refused(format!(
                "Shapley effects of {} {kind} features at once ({}) are not told: at most {most} are",
                players.len(),
                names.join(", ")
            ));
        }
        let reads = |t: &usize| players.iter().any(|&s| self.engine.terms[*t].reads(s));
        let terms: Vec<usize> = (0..self.engine.terms.len()).filter(reads).collect();
        if tied {
            self.checked(terms.clone())?;
        }
        let worth = |coalition: usize| {
            interrupt::check();
            let inside =
                players.iter().enumerate().filter(|(place, _)| coalition >> place & 1 == 1);
            let inside: Vec<usize> = inside.map(|(_, &s)| s).collect();
            let tells = |&t: &usize| {
                let related = |&a: &usize| inside.iter().any(|&b| law.related(a, b));
                self.engine.terms[t].features().iter().any(related)
            };
            let means = terms.iter().copied().filter(tells);
            if !tied {
                let means: Vec<_> = means.map(|term| mean(term, &inside, 1.0)).collect();
                return self.made_of_means(&means);
            }
            self.variance_of(means.map(|t| self.engine.conditional_mean(t, &inside)).collect())
        };
        Ok((0..1_usize << players.len()).map(worth).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of dependent and of independent features: simulation is within its interval of quadrature.
    #[test]
    fn variances_of_means_are_simulated_and_integrated_alike() {
        let text = "f = \"exp(0.4*x1*x2)*sin(1 + x3*x1) + abs(x1 + x2)*x3\"\n[law]\nx1 = \"normal(0, 1)\"\n\
                    x2 = \"uniform(-1, 1)\"\nx3 = \"uniform(0, 1)\"\n[copula]\ngaussian = [[\"x1\", \"x2\", 0.6]]\n";
        let scenario = crate::problem("mine", text, &[]).unwrap();
        let indices = scenario.indices();
        let terms = 0..indices.engine.terms.len();
        let sum = |parts: &[(&[usize], f64)]| -> Vec<MarginalMean> {
            let of = |term| parts.iter().map(move |(inside, factor)| mean(term, inside, *factor));
            terms.clone().flat_map(of).collect()
        };
        for parts in [
            vec![(&[0][..], 1.0)],
            vec![(&[2], 1.0)],
            vec![(&[0, 1], 1.0)],
            vec![(&[0, 1], 1.0), (&[0], -1.0), (&[1], -1.0)],
            vec![(&[0, 2], 1.0), (&[0], -1.0), (&[2], -1.0)],
            vec![(&[0, 1, 2], 1.0), (&[1], -1.0), (&[0, 2], -1.0)],
        ] {
            let means = sum(&parts);
            let integrated = indices.made_of_means(&means);
            assert!(!integrated.simulated && integrated.error < 1e-6, "{parts:?} {integrated:?}");
            let simulated = indices.engine.simulated_variance_of_means(&means, 3e7, 0.0).unwrap();
            let off = (simulated.value - integrated.value).abs();
            assert!(simulated.simulated && off <= simulated.error, "{parts:?} {simulated:?} {off}");
            assert!(simulated.error < 0.03 * simulated.value, "{parts:?} {simulated:?}");
        }
    }
}
