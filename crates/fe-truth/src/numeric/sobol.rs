//! Randomised quasi-Monte-Carlo: Sobol' points, and the width of an interval of means over them.
//!
//! Points are Sobol' sequences (direction numbers of Joe & Kuo 2008), each randomisation with a linear
//! scramble (Matoušek 1998) and a digital shift of its own, so that every point is uniform.

use std::sync::LazyLock;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Independent randomisations.
pub(crate) const RANDOMISATIONS: usize = 32;

/// Half width of the 99.99 % interval, in standard errors of the mean of all randomisations.
pub(crate) static WIDTH: LazyLock<f64> = LazyLock::new(|| {
    let law = StudentsT::new(0.0, 1.0, (RANDOMISATIONS - 1) as f64);
    law.map_or(f64::INFINITY, |law| law.inverse_cdf(1.0 - 0.5e-4))
});

/// Half width of the interval of the mean of one value of each randomisation.
pub(crate) fn half_width(each: &[f64], mean: f64) -> f64 {
    let count = each.len() as f64;
    let squares: f64 = each.iter().map(|one| (one - mean).powi(2)).sum();
    *WIDTH * (squares / (count * (count - 1.0))).sqrt()
}

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

/// The dimensions of each randomisation, of truths and of their witnesses.
type Randomised = [Vec<Vec<Dimension>>; 2];

/// Randomisations that come after some.
fn after(first: usize) -> Randomised {
    let plain: Vec<_> = (0..DIMENSIONS).map(directions).collect();
    [false, true].map(|is_witness| {
        let of = |r: usize| {
            let mut numbers = generator(r, is_witness);
            plain.iter().map(|v| randomised(v, &mut numbers)).collect()
        };
        (first..first + RANDOMISATIONS).map(of).collect()
    })
}

/// Those of what is simulated, and of two samples that are held beside each of them.
static RANDOMISED: [LazyLock<Randomised>; 3] = [
    LazyLock::new(|| after(0)),
    LazyLock::new(|| after(RANDOMISATIONS)),
    LazyLock::new(|| after(2 * RANDOMISATIONS)),
];

/// The points of one randomisation, one after the other.
pub(crate) struct Points<'a> {
    dimensions: &'a [Dimension],
    state: Vec<u64>,
    next: u64,
    further: ChaCha8Rng,
}

impl<'a> Points<'a> {
    /// Those of a randomisation of up to three times [`RANDOMISATIONS`].
    pub(crate) fn new(randomisation: usize, count: usize, is_witness: bool) -> Self {
        let (sample, place) = (randomisation / RANDOMISATIONS, randomisation % RANDOMISATIONS);
        let dimensions = &RANDOMISED[sample][usize::from(is_witness)][place];
        let dimensions = &dimensions[..count.min(DIMENSIONS)];
        let state = dimensions.iter().map(|(_, shift)| *shift).collect();
        // Far behind what scrambles are drawn from.
        let mut further = generator(randomisation, is_witness);
        further.set_word_pos(1 << 40);
        Self { dimensions, state, next: 0, further }
    }

    /// Writes the next point, all of whose coordinates are strictly between 0 and 1.
    pub(crate) fn write(&mut self, point: &mut [f64]) {
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
