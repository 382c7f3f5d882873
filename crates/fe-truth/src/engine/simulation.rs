//! Means over many features at once: randomised quasi-Monte-Carlo.
//!
//! Points are Sobol' sequences (direction numbers of Joe & Kuo 2008), each randomisation with a linear
//! scramble (Matoušek 1998) and a digital shift of its own, so that every point is uniform. The mean over
//! independent randomisations has an interval by Student's t. All questions see the same points: answers
//! are smooth where the truth is, and have the same bits on any number of threads.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use fe_core::interrupt;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::nested::HeldFeatures;
use super::shapley::shapley_against;
use super::watch::{Watch, spend};
use super::{Engine, LocalQuantity, Part, Rest};
use crate::function::Term;
use crate::law::{Block, Law, Univariate};
use crate::numeric::quadrature::Estimate;

/// Independent randomisations.
const RANDOMISATIONS: usize = 32;
/// Points of each before the interval is looked at, and again at each doubling.
const FIRST: usize = 256;
/// Share of the tolerance that one mean may take: answers are sums of several.
const SHARE: f64 = 0.25;
/// Means along a feature may take so many times what one at a point may: they stand for all points.
const ALONG: f64 = 8.0;
/// Widest interval of a variance that is told, relative to it.
const WIDEST: f64 = 0.25;
/// Cost of a value of a law that is an integral itself, in evaluations.
const INTEGRATED: f64 = 1000.0;

/// Half width of the 99.99 % interval, in standard errors of the mean of all randomisations.
static WIDTH: LazyLock<f64> = LazyLock::new(|| {
    let law = StudentsT::new(0.0, 1.0, (RANDOMISATIONS - 1) as f64);
    law.map_or(f64::INFINITY, |law| law.inverse_cdf(1.0 - 0.5e-4))
});

/// Primitive polynomials without their ends, and first direction numbers: degree, polynomial, numbers.
const POLYNOMIALS: [(usize, u64, &[u64]); 20] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];
/// Dimensions of Sobol' points; further ones are drawn independently.
const DIMENSIONS: usize = POLYNOMIALS.len() + 1;
/// Direction numbers of a dimension: so many doublings of the number of points.
const DIRECTIONS: usize = 32;
/// Digits of a coordinate.
const DIGITS: usize = 53;

/// Direction numbers of a dimension, their first digit the highest of [`DIGITS`].
fn directions(dimension: usize) -> [u64; DIRECTIONS] {
    let place = |number: u64, k: usize| number << (DIGITS - 1 - k);
    let mut v = [0; DIRECTIONS];
    let Some((degree, polynomial, first)) = dimension.checked_sub(1).map(|d| POLYNOMIALS[d]) else {
        (0..DIRECTIONS).for_each(|k| v[k] = place(1, k));
        return v;
    };
    for k in 0..DIRECTIONS {
        v[k] = match first.get(k) {
            Some(&number) => place(number, k),
            None => {
                let inner = (1..degree).filter(|i| (polynomial >> (degree - 1 - i)) & 1 == 1);
                let start = v[k - degree] ^ (v[k - degree] >> degree);
                inner.fold(start, |sum, i| sum ^ v[k - i])
            }
        };
    }
    v
}

/// A randomised dimension: scrambled direction numbers, and the shift.
type Dimension = ([u64; DIRECTIONS], u64);

/// A scramble and a shift of a dimension.
fn randomised(v: &[u64; DIRECTIONS], numbers: &mut ChaCha8Rng) -> Dimension {
    // Each digit keeps itself and takes any of the higher ones.
    let rows: [u64; DIGITS] = std::array::from_fn(|digit| {
        let own = 1 << (DIGITS - 1 - digit);
        own | (numbers.next_u64() & !(own | (own - 1)) & ((1 << DIGITS) - 1))
    });
    let scrambled = v.map(|number| {
        rows.iter().fold(0, |all, row| (all << 1) | u64::from((row & number).count_ones() & 1))
    });
    (scrambled, numbers.next_u64() >> (64 - DIGITS))
}

/// The generator of a randomisation.
fn generator(randomisation: usize, is_witness: bool) -> ChaCha8Rng {
    let mut numbers = ChaCha8Rng::from_seed(*b"feature effects: simulated truth");
    numbers.set_stream((2 * randomisation + usize::from(is_witness)) as u64);
    numbers
}

/// All dimensions of all randomisations, of truths and of their witnesses.
static RANDOMISED: LazyLock<[Vec<Vec<Dimension>>; 2]> = LazyLock::new(|| {
    let plain: Vec<_> = (0..DIMENSIONS).map(directions).collect();
    [false, true].map(|is_witness| {
        let of = |r: usize| {
            let mut numbers = generator(r, is_witness);
            plain.iter().map(|v| randomised(v, &mut numbers)).collect()
        };
        (0..RANDOMISATIONS).map(of).collect()
    })
});

/// The points of one randomisation, one after the other.
struct Points<'a> {
    dimensions: &'a [Dimension],
    state: Vec<u64>,
    next: u64,
    further: ChaCha8Rng,
}

impl<'a> Points<'a> {
    fn new(randomisation: usize, count: usize, is_witness: bool) -> Self {
        let dimensions = &RANDOMISED[usize::from(is_witness)][randomisation];
        let dimensions = &dimensions[..count.min(DIMENSIONS)];
        let state = dimensions.iter().map(|(_, shift)| *shift).collect();
        // Far behind what scrambles are drawn from.
        let mut further = generator(randomisation, is_witness);
        further.set_word_pos(1 << 40);
        Self { dimensions, state, next: 0, further }
    }

    /// Writes the next point, all of whose coordinates are strictly between 0 and 1.
    fn write(&mut self, point: &mut [f64]) {
        let unit = |digits: u64| (digits as f64 + 0.5) / (1_u64 << DIGITS) as f64;
        for (place, x) in point.iter_mut().enumerate() {
            let digits = self.state.get(place).copied();
            let digits = digits.unwrap_or_else(|| self.further.next_u64() >> (64 - DIGITS));
            *x = unit(digits).min(1.0 - 0.5 * f64::EPSILON);
        }
        // The digit in which neighbours of the Gray code differ.
        let digit = (!self.next).trailing_zeros() as usize % DIRECTIONS;
        self.next += 1;
        for (state, (v, _)) in self.state.iter_mut().zip(self.dimensions) {
            *state ^= v[digit];
        }
    }
}

/// Sums of one randomisation.
struct Replicate<'a> {
    points: Points<'a>,
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
        if !is_held && tied && !law.is_restricted() && block.draws() > 0 {
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
struct Drawn<'a> {
    law: &'a Law,
    sources: Vec<Source<'a>>,
    held: Vec<(usize, f64)>,
    /// Values that laws are given: first those known from the start.
    known: Vec<(usize, f64)>,
    start: usize,
    values: Vec<f64>,
    /// The feature that is held at its value in the first row that is drawn, and if laws are given that.
    follows: Option<(usize, Rest)>,
}

impl<'a> Drawn<'a> {
    /// Features of a row in which those that are held have their values, and all others none.
    fn new(law: &'a Law, features: &[usize], given: &[(usize, f64)], row: &[f64]) -> Self {
        // What is held stays, though a block may draw it too.
        let held = (0..row.len()).filter(|&s| !row[s].is_nan()).map(|s| (s, row[s])).collect();
        let sources = sources(law, features, given);
        let values = vec![0.0; law.dimension()];
        let (known, start) = (given.to_vec(), given.len());
        Self { law, sources, held, known, start, values, follows: None }
    }

    /// One feature, under a law of its own or evenly between two values.
    fn alone(law: &'a Law, feature: usize, between: Option<(f64, f64)>) -> Self {
        let source = match between {
            Some((from, to)) => Source::Between(feature, from, to),
            None => Source::Fixed(feature, law.marginal(feature)),
        };
        let (sources, held, known, values) = (vec![source], Vec::new(), Vec::new(), Vec::new());
        Self { law, sources, held, known, start: 0, values, follows: None }
    }

    /// Holds the one feature that is held at another value.
    fn hold(&mut self, feature: usize, x: f64, rest: Rest) {
        self.held = vec![(feature, x)];
        if rest == Rest::Conditional {
            self.known = vec![(feature, self.law.known(feature, x))];
        }
    }

    /// Uniform numbers that a row takes.
    fn draws(&self) -> usize {
        self.sources.iter().map(Source::draws).sum()
    }

    /// Writes values to a row; what that costs beside an evaluation.
    fn write(&mut self, mut point: &[f64], row: &mut [f64]) -> f64 {
        let mut cost = 0.0;
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
        cost
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
        if matches!(local, LocalQuantity::Shapley(_)) {
            return watch.inside(features);
        }
        let drawn = Drawn::new(self.law(), features, given, row);
        let of_rows = |rows: &mut [Vec<f64>]| integrand(&mut rows[0]);
        let limits = Limits { most: watch.most_simulated, widest: f64::INFINITY };
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
        let limits = Limits { most: watch.most_simulated, widest };
        simulate(watch, limits, &free, &mut drawn, each, &integrand)
    }
}

impl Engine {
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
        let rows = || {
            let rows = Drawn::new(law, &free, &given, &row);
            Drawn { follows: Some((s, rest)), ..rows }
        };
        let mut drawn = vec![Drawn::alone(law, s, between), rows(), rows()];
        let parts: Vec<Part<'_>> = readers.iter().map(|&index| self.part(index)).collect();
        let mut each = 2.0 * parts.len() as f64;
        if matches!(local, LocalQuantity::Centred { .. }) {
            drawn.push(Drawn::alone(law, s, between));
            each *= 2.0;
        }
        if matches!(local, LocalQuantity::Shapley(_)) {
            let nothing = vec![f64::NAN; row.len()];
            drawn.extend([0, 1].map(|_| Drawn::new(&self.whole.law, &features, &[], &nothing)));
            each = 4.0 * worths_of(parts.iter().map(|part| part.term));
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
        let limits = Limits { most, widest: WIDEST };
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
}

/// The mean of an integrand of rows that are drawn independently of each other, and what one evaluation costs.
/// Refused within another simulation.
fn simulate(
    watch: &Watch,
    Limits { most, widest }: Limits,
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
    loop {
        for replicate in &mut replicates {
            interrupt::check();
            for _ in done..until {
                replicate.points.write(&mut point);
                let mut rest = point.as_slice();
                for (k, drawn) in drawn.iter_mut().enumerate() {
                    if let Some((feature, rest)) = drawn.follows {
                        drawn.hold(feature, rows[0][feature], rest);
                    }
                    let (own, others) = rest.split_at(draws[k]);
                    rest = others;
                    cost += drawn.write(own, &mut rows[k]);
                }
                let value = integrand(&mut rows);
                cost += each;
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
        let found = summary(&replicates, done);
        let sizes = replicates.iter().map(|r| r.size / done as f64);
        let size = sizes.sum::<f64>() / RANDOMISATIONS as f64;
        let is_told = found.error <= widest * found.value.abs();
        if found.value.is_nan() || (is_told && found.error <= SHARE * watch.tolerance * size) {
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

/// The mean of all randomisations after so many points, with its interval.
fn summary(replicates: &[Replicate<'_>], points: usize) -> Estimate {
    let n = points as f64;
    let count = replicates.len() as f64;
    let value = replicates.iter().map(|r| r.sum / n).sum::<f64>() / count;
    let squares: f64 = replicates.iter().map(|r| (r.sum / n - value).powi(2)).sum();
    let standard_error = (squares / (count * (count - 1.0))).sqrt();
    let magnitude = replicates.iter().map(|r| r.magnitude / n).sum::<f64>() / count;
    let own = replicates.iter().map(|r| r.error / n).sum::<f64>() / count;
    let error = *WIDTH * standard_error + own + 1e-13 * magnitude;
    Estimate { value, magnitude, error, simulated: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every interval of 2^-k is met by each of so many points once: a (0, k, 1)-net in each dimension.
    #[test]
    fn points_are_spread_evenly_and_differ_by_randomisation() {
        for r in [0, 7] {
            let mut points = Points::new(r, DIMENSIONS + 2, false);
            let mut point = vec![0.0; DIMENSIONS + 2];
            let mut hits = vec![vec![0; 64]; DIMENSIONS];
            for _ in 0..64 {
                points.write(&mut point);
                assert!(point.iter().all(|x| 0.0 < *x && *x < 1.0));
                for (hits, x) in hits.iter_mut().zip(&point) {
                    hits[(x * 64.0) as usize] += 1;
                }
            }
            assert!(hits.iter().flatten().all(|count| *count == 1));
        }
        let first = |r, is_witness| {
            let mut point = [0.0; 3];
            Points::new(r, 3, is_witness).write(&mut point);
            point
        };
        assert_ne!(first(0, false), first(1, false));
        assert_ne!(first(0, false), first(0, true));
        assert_eq!(first(3, true), first(3, true));
    }

    /// The first two dimensions of the plain sequence, as everyone has them.
    #[test]
    fn direction_numbers() {
        let shift = |v: u64| v >> (DIGITS - 4);
        assert_eq!(directions(0)[..4].iter().map(|v| shift(*v)).collect::<Vec<_>>(), [8, 4, 2, 1]);
        assert_eq!(
            directions(1)[..4].iter().map(|v| shift(*v)).collect::<Vec<_>>(),
            [8, 12, 10, 15]
        );
        assert_eq!(directions(2)[..4].iter().map(|v| shift(*v)).collect::<Vec<_>>(), [8, 12, 6, 9]);
    }
}
