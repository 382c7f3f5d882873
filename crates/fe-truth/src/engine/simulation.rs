//! Means over many features at once: randomised quasi-Monte-Carlo.
//!
//! Points are Sobol' sequences (direction numbers of Joe & Kuo 2008), each randomisation with a linear
//! scramble (Matoušek 1998) and a digital shift of its own, so that every point is uniform. The mean over
//! independent randomisations has an interval by Student's t. All questions see the same points: answers
//! are smooth where the truth is, and have the same bits on any number of threads.

use std::cell::Cell;
use std::sync::LazyLock;

use fe_core::interrupt;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::LocalQuantity;
use super::nested::HeldFeatures;
use super::watch::Watch;
use crate::law::{Block, Law, Univariate};
use crate::numeric::quadrature::Estimate;

/// Independent randomisations.
const RANDOMISATIONS: usize = 32;
/// Points of each before the interval is looked at, and again at each doubling.
const FIRST: usize = 256;
/// Share of the tolerance that one mean may take: answers are sums of several.
const SHARE: f64 = 0.25;
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
    fn enter(local: LocalQuantity) -> Option<Self> {
        let is_made_of_means = matches!(local, LocalQuantity::Shapley(_)) || SIMULATING.get();
        (!is_made_of_means).then(|| {
            SIMULATING.set(true);
            Self
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        SIMULATING.set(false);
    }
}

/// Source of values of a row.
enum Source<'a> {
    /// A feature, whatever the others are.
    Fixed(usize, Box<dyn Univariate>),
    /// All features of a block of which nothing is held, as rows of the law are drawn.
    Block(&'a [usize], &'a dyn Block),
    /// A feature given what is held and was drawn before.
    Given(usize),
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

impl HeldFeatures<'_> {
    /// The mean over features of an integrand by simulation, at a row and given what is held. Refused
    /// where the integrand is made of means itself.
    pub(crate) fn simulated(
        &self,
        watch: &Watch,
        local: LocalQuantity,
        features: &[usize],
        given: &[(usize, f64)],
        row: &mut [f64],
        integrand: &dyn Fn(&mut [f64]) -> Estimate,
    ) -> Estimate {
        if Watch::has_refused() {
            return Estimate::exact(f64::NAN);
        }
        let Some(_inside) = Inside::enter(local) else { return watch.inside(features) };
        let law = self.law();
        // What is held stays, though a block may draw it too.
        let held: Vec<(usize, f64)> =
            (0..row.len()).filter(|&s| !row[s].is_nan()).map(|s| (s, row[s])).collect();
        let sources = sources(law, features, given);
        let count = sources.iter().map(Source::draws).sum();
        let mut values = vec![0.0; law.dimension()];
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
        let mut known = given.to_vec();
        let (mut done, mut until, mut cost) = (0, FIRST, 0.0);
        loop {
            for replicate in &mut replicates {
                interrupt::check();
                for _ in done..until {
                    replicate.points.write(&mut point);
                    known.truncate(given.len());
                    let mut rest = point.as_slice();
                    for source in &sources {
                        let (own, others) = rest.split_at(source.draws());
                        rest = others;
                        match source {
                            Source::Fixed(feature, law) => row[*feature] = law.quantile(own[0]),
                            Source::Block(features, block) => {
                                block.sample(own, &mut values[..features.len()]);
                                let drawn = features.iter().zip(&values);
                                drawn.for_each(|(&feature, x)| row[feature] = *x);
                            }
                            Source::Given(feature) => {
                                let conditional = law.conditional(*feature, &known);
                                if conditional.doubt() >= 1e-12 {
                                    cost += INTEGRATED;
                                }
                                let x = conditional.quantile(own[0]);
                                row[*feature] = x;
                                known.push((*feature, law.known(*feature, x)));
                            }
                        }
                    }
                    held.iter().for_each(|&(feature, x)| row[feature] = x);
                    let value = integrand(row);
                    cost += 1.0;
                    replicate.sum += value.value;
                    replicate.size += value.value.abs();
                    replicate.magnitude += value.magnitude;
                    replicate.error += value.error;
                }
                if cost > 2.0 * watch.most_simulated {
                    break;
                }
            }
            for source in &sources {
                match source {
                    Source::Fixed(feature, _) | Source::Given(feature) => row[*feature] = f64::NAN,
                    Source::Block(all, _) => {
                        all.iter().for_each(|&feature| row[feature] = f64::NAN);
                    }
                }
            }
            held.iter().for_each(|&(feature, x)| row[feature] = x);
            if cost > 2.0 * watch.most_simulated {
                return watch.too_wide(features, cost, f64::NAN);
            }
            done = until;
            let found = summary(&replicates, done);
            let sizes = replicates.iter().map(|r| r.size / done as f64);
            let size = sizes.sum::<f64>() / RANDOMISATIONS as f64;
            let relative = found.error / size;
            if found.value.is_nan() || found.error <= SHARE * watch.tolerance * size {
                return found;
            }
            if 2.0 * cost > watch.most_simulated {
                return watch.too_wide(features, cost, relative);
            }
            until = 2 * done;
        }
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
