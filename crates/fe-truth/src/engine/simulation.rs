//! Means over many features at once: randomised quasi-Monte-Carlo.
//!
//! The mean over independent randomisations has an interval by Student's t. All questions see the same
//! points: answers are smooth where the truth is, and have the same bits on any number of threads.

use std::cell::Cell;
use std::collections::BTreeSet;

use fe_core::interrupt;

use super::interactions::{MOST_MIXED, Mixed};
use super::nested::HeldFeatures;
use super::shapley::shapley_against;
use super::watch::{Watch, is_in_vain, spend, with_cost_apart};
use super::{Engine, LocalQuantity, Part, Rest};
use crate::function::Term;
use crate::law::{Block, Law, Univariate};
use crate::numeric::quadrature::Estimate;
use crate::numeric::sobol::{Points, RANDOMISATIONS, WIDTH};

/// Points of each before the interval is looked at, and again at each doubling.
const FIRST: usize = 256;
/// Share of the tolerance that one mean may take: answers are sums of several.
const SHARE: f64 = 0.25;
/// Means along a feature may take so many times what one at a point may: they stand for all points.
const ALONG: f64 = 8.0;
/// Centred curves may take so many times what values may: each has a mean along a feature in it.
const WITHIN: f64 = 16.0;
/// Widest interval of a variance that is told, relative to it.
const WIDEST: f64 = 0.25;
/// Widest interval of the mean weight of rows, relative to it: a quotient by less is not told.
const MOST_UNEVEN: f64 = 0.1;
/// Cost of a value of a law that is an integral itself, in evaluations.
const INTEGRATED: f64 = 1000.0;

/// Sums of one randomisation.
struct Replicate<'a> {
    points: Points<'a>,
    /// Of weights: the number of points where nothing is weighed.
    weight: f64,
    sum: f64,
    /// Of absolute values: what the tolerance is relative to.
    size: f64,
    /// Of what rounding is relative to.
    magnitude: f64,
    error: f64,
}

thread_local! {
    static SIMULATING: Cell<bool> = const { Cell::new(false) };
}

/// The time in which an integrand is simulated: means inside of it would cost the product of both.
struct Inside;

impl Inside {
    /// None if something is being simulated on this thread.
    fn enter() -> Option<Self> {
        (!SIMULATING.replace(true)).then_some(Self)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        SIMULATING.set(false);
    }
}

/// True while an integrand is simulated on this thread, whose own integrals need not be exact.
pub(super) fn is_simulating() -> bool {
    SIMULATING.get()
}

/// Source of values of a row.
enum Source<'a> {
    /// A feature, whatever the others are.
    Fixed(usize, Box<dyn Univariate>),
    /// All features of a block of which nothing is held, as rows of the law are drawn.
    Block(&'a [usize], &'a dyn Block),
    /// All features of a block with a weight, where something may be held, or the block be restricted.
    Weighed(&'a [usize], &'a dyn Block),
    /// A feature given what is held and was drawn before.
    Given(usize),
    /// A feature, evenly between two values.
    Between(usize, f64, f64),
}

impl Source<'_> {
    /// Uniform numbers that it takes.
    fn draws(&self) -> usize {
        match self {
            Self::Block(_, block) => block.draws(),
            Self::Weighed(_, block) => block.draws_given(),
            _ => 1,
        }
    }
}

/// The sources of features given what is held, in their order.
fn sources<'a>(law: &'a Law, features: &[usize], given: &[(usize, f64)]) -> Vec<Source<'a>> {
    let mut sources = Vec::new();
    let mut drawn: Vec<usize> = Vec::new();
    for &feature in features.iter() {
        if drawn.contains(&feature) {
            continue;
        }
        let is_held = given.iter().any(|&(other, _)| law.related(feature, other));
        let (all, block) = law.block_of(feature);
        let tied = all.len() > 1;
        if tied && block.draws_given() > 0 {
            drawn.extend(all);
            sources.push(Source::Weighed(all, block));
        } else if !is_held && tied && !law.is_restricted() && block.draws() > 0 {
            drawn.extend(all);
            sources.push(Source::Block(all, block));
        } else if is_held || tied {
            sources.push(Source::Given(feature));
        } else {
            sources.push(Source::Fixed(feature, law.marginal(feature)));
        }
    }
    sources
}

/// Features that are drawn together, given what is held and known.
pub(super) struct Drawn<'a> {
    law: &'a Law,
    sources: Vec<Source<'a>>,
    held: Vec<(usize, f64)>,
    /// Values that laws are given: first those known from the start.
    known: Vec<(usize, f64)>,
    start: usize,
    values: Vec<f64>,
    /// The feature that is held at its value in the first row that is drawn, and if laws are given that.
    follows: Option<(usize, Rest)>,
    /// The law of that feature, where rows are weighed by the density of its value.
    followed: Option<Box<dyn Univariate>>,
}

/// The cost of a row beside an evaluation, and its weight.
pub(super) struct Drawing {
    cost: f64,
    pub(super) weight: f64,
}

impl<'a> Drawn<'a> {
    /// Features of a row in which those that are held have their values, and all others none.
    pub(super) fn new(
        law: &'a Law,
        features: &[usize],
        given: &[(usize, f64)],
        row: &[f64],
    ) -> Self {
        // What is held stays, though a block may draw it too.
        let held = (0..row.len()).filter(|&s| !row[s].is_nan()).map(|s| (s, row[s])).collect();
        let sources = sources(law, features, given);
        let values = vec![0.0; law.dimension()];
        let (known, start) = (given.to_vec(), given.len());
        Self { law, sources, held, known, start, values, follows: None, followed: None }
    }

    /// The same, but that a feature is held at its value in the first row that is drawn.
    fn following(self, feature: usize, rest: Rest) -> Self {
        let weighs = |source: &Source<'_>| match source {
            Source::Weighed(features, _) => features.contains(&feature),
            _ => false,
        };
        let is_given = rest == Rest::Conditional && self.sources.iter().any(weighs);
        let followed = is_given.then(|| self.law.marginal(feature));
        Self { follows: Some((feature, rest)), followed, ..self }
    }

    /// One feature, under a law of its own or evenly between two values.
    fn alone(law: &'a Law, feature: usize, between: Option<(f64, f64)>) -> Self {
        let source = match between {
            Some((from, to)) => Source::Between(feature, from, to),
            None => Source::Fixed(feature, law.marginal(feature)),
        };
        let (sources, held, known, values) = (vec![source], Vec::new(), Vec::new(), Vec::new());
        Self { law, sources, held, known, start: 0, values, follows: None, followed: None }
    }

    /// Holds the one feature that is held at another value.
    fn hold(&mut self, feature: usize, x: f64, rest: Rest) {
        self.held = vec![(feature, x)];
        if rest == Rest::Conditional {
            self.known = vec![(feature, self.law.known(feature, x))];
        }
    }

    /// Length of a row.
    pub(super) fn dimension(&self) -> usize {
        self.law.dimension()
    }

    /// Uniform numbers that a row takes.
    pub(super) fn draws(&self) -> usize {
        self.sources.iter().map(Source::draws).sum()
    }

    /// Writes values to a row.
    pub(super) fn write(&mut self, mut point: &[f64], row: &mut [f64]) -> Drawing {
        let (mut cost, mut weight) = (0.0, 1.0);
        self.known.truncate(self.start);
        for source in &self.sources {
            let (own, others) = point.split_at(source.draws());
            point = others;
            match source {
                Source::Fixed(feature, law) => row[*feature] = law.quantile(own[0]),
                Source::Between(feature, from, to) => row[*feature] = from + (to - from) * own[0],
                Source::Block(features, block) => {
                    block.sample(own, &mut self.values[..features.len()]);
                    let drawn = features.iter().zip(&self.values);
                    drawn.for_each(|(&feature, x)| row[feature] = *x);
                }
                Source::Weighed(features, block) => {
                    let local = |&(feature, x): &(usize, f64)| {
                        Some((features.iter().position(|&own| own == feature)?, x))
                    };
                    let given: Vec<(usize, f64)> = self.known.iter().filter_map(local).collect();
                    let values = &mut self.values[..features.len()];
                    weight *= block.sample_given(&given, own, values);
                    let drawn = features.iter().zip(values);
                    drawn.for_each(|(&feature, x)| row[feature] = *x);
                }
                Source::Given(feature) => {
                    let conditional = self.law.conditional(*feature, &self.known);
                    if conditional.doubt() >= 1e-12 {
                        cost += INTEGRATED;
                    }
                    let x = conditional.quantile(own[0]);
                    row[*feature] = x;
                    self.known.push((*feature, self.law.known(*feature, x)));
                }
            }
        }
        self.held.iter().for_each(|&(feature, x)| row[feature] = x);
        // Given each of its values weights have a mean of one.
        if let (Some(law), Some(&(_, x))) = (&self.followed, self.held.first()) {
            weight /= law.pdf(x);
        }
        Drawing { cost, weight }
    }
}

impl HeldFeatures<'_> {
    /// The mean over features of an integrand by simulation, at a row and given what is held.
    pub(crate) fn simulated(
        &self,
        watch: &Watch,
        local: LocalQuantity,
        features: &[usize],
        given: &[(usize, f64)],
        row: &[f64],
        integrand: &dyn Fn(&mut [f64]) -> Estimate,
    ) -> Estimate {
        if local.is_shapley() {
            return watch.inside(features);
        }
        let drawn = Drawn::new(self.law(), features, given, row);
        let of_rows = |rows: &mut [Vec<f64>]| integrand(&mut rows[0]);
        let is_centred = matches!(local, LocalQuantity::Centred { .. });
        let most = if is_centred { WITHIN * watch.most_simulated } else { watch.most_simulated };
        let limits = Limits { most, widest: f64::INFINITY, share: SHARE };
        simulate(watch, limits, features, &mut [drawn], 1.0, &of_rows)
    }

    /// The mean of the Shapley values of a feature for the sum of terms, or with a centre their mean square
    /// distance from it. Each is the mean over a background of its own of the value against one row of that, so
    /// that nothing is averaged twice.
    pub(super) fn simulated_shapley(
        &self,
        watch: &Watch,
        feature: usize,
        terms: &[&Term],
        centre: Option<f64>,
    ) -> Estimate {
        let features: BTreeSet<usize> =
            terms.iter().flat_map(|term| term.features()).copied().collect();
        let (row, given) = self.start();
        let free: Vec<usize> = features.iter().copied().filter(|&s| row[s].is_nan()).collect();
        let features: Vec<usize> = features.into_iter().collect();
        let rows = Drawn::new(self.law(), &free, &given, &row);
        let background = || {
            let nothing = vec![f64::NAN; row.len()];
            Drawn::new(&self.engine().whole.law, &features, &[], &nothing)
        };
        let mut drawn = vec![rows, background()];
        if centre.is_some() {
            drawn.push(background());
        }
        let against = |rows: &mut [Vec<f64>], background: usize| {
            let [row, background] = [&rows[0], &rows[background]];
            Estimate::sum(terms.iter().map(|term| shapley_against(term, feature, row, background)))
        };
        let integrand = |rows: &mut [Vec<f64>]| {
            let first = against(rows, 1);
            let Some(centre) = centre else { return first };
            let centre = Estimate::exact(centre);
            first.minus(centre).product(against(rows, 2).minus(centre))
        };
        let each = worths_of(terms.iter().copied()) * (drawn.len() - 1) as f64;
        let widest = if centre.is_some() { WIDEST } else { f64::INFINITY };
        let limits = Limits { most: watch.most_simulated, widest, share: SHARE };
        simulate(watch, limits, &free, &mut drawn, each, &integrand)
    }

    /// The variance of the Shapley values of a feature, which is held, for the sum of terms of independent features; none
    /// of others.
    pub(super) fn simulated_interactions(
        &self,
        watch: &Watch,
        feature: usize,
        terms: &[&Term],
    ) -> Option<Estimate> {
        let (row, given) = self.start();
        let others = self.engine().mixed_with(feature, terms)?;
        let x = Some(row[feature]).filter(|x| !x.is_nan() && given.len() <= 1)?;
        let mixed = Mixed { terms, feature, others: &others };
        let of_rows = || Drawn::new(self.law(), &others, &given, &row);
        let from = || Drawn::alone(self.law(), feature, None);
        let mut drawn = [of_rows(), of_rows(), from(), from()];
        let integrand = |rows: &mut [Vec<f64>]| {
            let change = |from: f64| mixed.components([&rows[0], &rows[1]], [from, x]);
            change(rows[2][feature]).variance_with(&change(rows[3][feature]))
        };
        let limits = Limits { most: watch.most_simulated, widest: WIDEST, share: SHARE };
        Some(simulate(watch, limits, &others, &mut drawn, 2.0 * mixed.cost(), &integrand))
    }
}

impl Engine {
    /// The features that terms read beside one, if all are independent and rows of them can be mixed.
    fn mixed_with(&self, feature: usize, terms: &[&Term]) -> Option<Vec<usize>> {
        let all: BTreeSet<usize> = terms.iter().flat_map(|term| term.features()).copied().collect();
        let all: Vec<usize> = all.into_iter().collect();
        let can_be = all.len() <= MOST_MIXED && self.are_independent(&all);
        can_be.then(|| all.into_iter().filter(|&other| other != feature).collect())
    }

    /// The mean along a feature, over its law or evenly between two values, of the variance of a local quantity of the
    /// terms that read it, by simulation: half the mean square of the difference of two rows that are drawn given the
    /// same value. Of centred curves it is a quarter of the mean square of how that difference changes from one value
    /// to another. None where nothing limits what is integrated.
    pub(crate) fn simulated_mean_of_variance(
        &self,
        s: usize,
        between: Option<(f64, f64)>,
        rest: Rest,
        local: LocalQuantity,
    ) -> Option<Estimate> {
        let watch = self.watch.as_deref()?;
        let law = self.law();
        let held = self.at(s, law.marginal(s).quantile(0.5), rest);
        let readers = self.readers(s);
        let (row, given) = held.start();
        let mut features: Vec<usize> =
            readers.iter().flat_map(|&t| self.terms[t].features()).copied().collect();
        features.sort_unstable();
        features.dedup();
        let free: Vec<usize> = features.iter().copied().filter(|&feature| feature != s).collect();
        let rows = || Drawn::new(law, &free, &given, &row).following(s, rest);
        let mut drawn = vec![Drawn::alone(law, s, between), rows(), rows()];
        let parts: Vec<Part<'_>> = readers.iter().map(|&index| self.part(index)).collect();
        let mut each = 2.0 * parts.len() as f64;
        if matches!(local, LocalQuantity::Centred { .. }) {
            drawn.push(Drawn::alone(law, s, between));
            each *= 2.0;
        }
        let terms: Vec<&Term> = parts.iter().map(|part| part.term).collect();
        let is_shapley = matches!(local, LocalQuantity::Shapley(_));
        let others = if is_shapley { self.mixed_with(s, &terms) } else { None };
        if let Some(others) = &others {
            let mixed = Mixed { terms: &terms, feature: s, others };
            drawn.push(Drawn::alone(law, s, between));
            let limits = Limits { most: ALONG * watch.most_simulated, widest: WIDEST, share: 1.0 };
            return Some(simulate(watch, limits, &features, &mut drawn, mixed.cost(), &|rows| {
                let change = mixed.components([&rows[1], &rows[2]], [rows[0][s], rows[3][s]]);
                change.variance_with(&change).times(0.5)
            }));
        }
        if is_shapley {
            let nothing = vec![f64::NAN; row.len()];
            drawn.extend([0, 1].map(|_| Drawn::new(&self.whole.law, &features, &[], &nothing)));
            each = 4.0 * worths_of(terms.iter().copied());
        }
        let integrand = |rows: &mut [Vec<f64>]| {
            if let LocalQuantity::Shapley(s) = local {
                let of = |row: usize, background: usize| {
                    let [row, background] = [&rows[row], &rows[background]];
                    let each = parts.iter().map(|p| shapley_against(p.term, s, row, background));
                    Estimate::sum(each)
                };
                let [first, second] =
                    [3, 4].map(|background| of(1, background).minus(of(2, background)));
                return first.product(second).times(0.5);
            }
            if matches!(local, LocalQuantity::Centred { .. }) {
                let [from, to] = [rows[0][s], rows[3][s]];
                let mut change = |row: usize| {
                    let mut at = |x: f64| {
                        rows[row][s] = x;
                        Estimate::sum(parts.iter().map(|part| part.term.estimate(&rows[row])))
                    };
                    at(to).minus(at(from))
                };
                return change(1).minus(change(2)).squared_from(0.0).times(0.25);
            }
            let mut of = |row: usize| {
                Estimate::sum(parts.iter().map(|&part| self.local(local, part, &mut rows[row])))
            };
            let (first, second) = (of(1), of(2));
            first.minus(second).squared_from(0.0).times(0.5)
        };
        let is_along = between.is_none_or(|(from, to)| from < to);
        let most = if is_along { ALONG * watch.most_simulated } else { watch.most_simulated };
        // Along the feature it is what is asked for, and no sum of several. At a point it is the square of that, whose
        // relative error is half as large; sums of such keep that, and have room for what they are summed by.
        let limits = Limits { most, widest: WIDEST, share: 1.0 };
        Some(simulate(watch, limits, &features, &mut drawn, each, &integrand))
    }
}

/// Evaluations of terms for the worths of all coalitions of the features of each.
fn worths_of<'a>(terms: impl Iterator<Item = &'a Term>) -> f64 {
    terms.map(|term| 2_f64.powi(term.features().len() as i32)).sum()
}

/// Limits of a simulation: the evaluations that it may take, and the widest interval relative to the answer. That is
/// not its size where the integrand has both signs and the answer must not, as of a variance.
#[derive(Clone, Copy)]
struct Limits {
    most: f64,
    widest: f64,
    /// The share of the tolerance at which it ends.
    share: f64,
}

/// The mean of an integrand of rows that are drawn independently of each other, and what one evaluation costs.
/// Refused within another simulation.
fn simulate(
    watch: &Watch,
    Limits { most, widest, share }: Limits,
    features: &[usize],
    drawn: &mut [Drawn<'_>],
    each: f64,
    integrand: &dyn Fn(&mut [Vec<f64>]) -> Estimate,
) -> Estimate {
    if Watch::has_refused() {
        return Estimate::exact(f64::NAN);
    }
    let Some(_inside) = Inside::enter() else { return watch.inside(features) };
    let draws: Vec<usize> = drawn.iter().map(Drawn::draws).collect();
    let count = draws.iter().sum();
    let mut rows: Vec<Vec<f64>> =
        drawn.iter().map(|drawn| vec![f64::NAN; drawn.law.dimension()]).collect();
    let mut replicates: Vec<Replicate<'_>> = (0..RANDOMISATIONS)
        .map(|r| Replicate {
            points: Points::new(r, count, watch.is_witness),
            weight: 0.0,
            sum: 0.0,
            size: 0.0,
            magnitude: 0.0,
            error: 0.0,
        })
        .collect();
    let mut point = vec![0.0; count];
    let (mut done, mut until, mut cost) = (0, FIRST, 0.0);
    // Counted as what it may take: how much it does is as certain, and known only later.
    spend(most);
    if is_in_vain() {
        return Estimate::exact(f64::NAN);
    }
    loop {
        for replicate in &mut replicates {
            interrupt::check();
            for _ in done..until {
                replicate.points.write(&mut point);
                let (mut rest, mut weight) = (point.as_slice(), 1.0);
                for (k, drawn) in drawn.iter_mut().enumerate() {
                    if let Some((feature, rest)) = drawn.follows {
                        drawn.hold(feature, rows[0][feature], rest);
                    }
                    let (own, others) = rest.split_at(draws[k]);
                    rest = others;
                    let drawing = drawn.write(own, &mut rows[k]);
                    cost += drawing.cost;
                    weight *= drawing.weight;
                }
                cost += each;
                // What is impossible is not asked.
                if weight == 0.0 {
                    continue;
                }
                // Integrals within, such as means over an axis, cost more than a value.
                let (value, within) = with_cost_apart(|| integrand(&mut rows));
                cost += within;
                let value = value.times(weight);
                replicate.weight += weight;
                replicate.sum += value.value;
                replicate.size += value.value.abs();
                replicate.magnitude += value.magnitude;
                replicate.error += value.error;
            }
            if cost > 2.0 * most {
                return watch.too_wide(features, most, cost, f64::NAN);
            }
        }
        done = until;
        let Summary { found, size, off } = summary(&replicates, done);
        let is_uneven = off.is_nan() || off > MOST_UNEVEN;
        if is_uneven {
            if 2.0 * cost > most {
                return watch.weightless(features);
            }
            until = 2 * done;
            continue;
        }
        let is_told = widest.is_infinite() || found.error <= widest * found.value.abs();
        if found.value.is_nan() || (is_told && found.error <= share * watch.tolerance * size) {
            return found;
        }
        if 2.0 * cost > most {
            // What is made of it is judged on its own.
            if is_told && found.error <= watch.tolerance * size {
                return found;
            }
            let size = if is_told { size } else { found.value.abs() };
            return watch.too_wide(features, most, cost, found.error / size);
        }
        until = 2 * done;
    }
}

/// A mean with its interval, the mean of absolute values, and the half width of the interval of the mean weight relative
/// to that.
struct Summary {
    found: Estimate,
    size: f64,
    off: f64,
}

/// The mean of all randomisations after so many points: of products with weights over that of weights.
fn summary(replicates: &[Replicate<'_>], points: usize) -> Summary {
    let n = points as f64;
    let count = replicates.len() as f64;
    let total =
        |of: &dyn Fn(&Replicate<'_>) -> f64| replicates.iter().map(|r| of(r) / n).sum::<f64>();
    let weight = total(&|r| r.weight);
    let value = total(&|r| r.sum) / weight;
    let error = |of: &dyn Fn(&Replicate<'_>) -> f64| {
        let squares: f64 = replicates.iter().map(|r| of(r).powi(2)).sum();
        *WIDTH * (squares / (count * (count - 1.0))).sqrt() * (count / weight)
    };
    let (magnitude, own) = (total(&|r| r.magnitude) / weight, total(&|r| r.error) / weight);
    let found = Estimate {
        value,
        magnitude,
        error: error(&|r| r.sum / n - value * (r.weight / n)) + own + 1e-13 * magnitude,
        simulated: true,
    };
    let off = error(&|r| r.weight / n - weight / count);
    Summary { found, size: total(&|r| r.size) / weight, off }
}
