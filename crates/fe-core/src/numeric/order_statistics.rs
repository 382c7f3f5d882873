//! Order statistics: values of given ranks, without putting all values in order (bucket by bucket).

use std::borrow::Cow;
use std::cmp::Ordering;

use rayon::prelude::*;

use crate::numeric::simd::vectorised;

/// Fewer values are put in order as they are, and by one thread.
const FEW: usize = 2048;

/// Fewest buckets for each wanted rank: where more ranks are wanted, all values are put in order.
const MANY: usize = 8;

/// Fewer values are put in order by one thread.
const ALONE: usize = 1 << 14;

/// Most rounds of dividing values into buckets; more are needed only where most values lie very close
/// together.
const ROUNDS: usize = 4;

/// The numbers below `count` for which something holds, in increasing order; without a branch that could be
/// mispredicted.
pub(crate) fn places_where(count: usize, holds: impl Fn(usize) -> bool) -> Vec<usize> {
    let (mut places, mut len) = (vec![0; count], 0);
    for place in 0..count {
        places[len] = place;
        len += usize::from(holds(place));
    }
    places.truncate(len);
    places
}

/// The values of some increasing ranks, counted from 0, in increasing order of the values. None may be NaN.
pub(crate) fn order_statistics(values: &[f64], ranks: &[usize]) -> Vec<f64> {
    let mut near = Near { values: Cow::Borrowed(values), places: Cow::Borrowed(ranks) };
    if ranks.len() * MANY > Buckets::COUNT {
        near.values = Cow::Owned(sorted(&near.values));
        return near.at_places();
    }
    for _ in 0..ROUNDS {
        if near.values.len() < FEW {
            break;
        }
        let Some(buckets) = Buckets::over(&near.values) else { break };
        let (before, next) = (near.values.len(), buckets.around(&near.values, &near.places));
        near = next;
        // Values that lie close together beside few that lie far away are divided once more.
        if near.values.len() * MANY < before {
            break;
        }
    }
    let Near { values, places } = &mut near;
    put_in_place(values.to_mut(), places, 0);
    near.at_places()
}

/// Values that hold those of all wanted ranks, and where these would be if they were in order.
struct Near<'a> {
    values: Cow<'a, [f64]>,
    places: Cow<'a, [usize]>,
}

impl Near<'_> {
    fn at_places(&self) -> Vec<f64> {
        self.places.iter().map(|&place| self.values[place]).collect()
    }
}

/// Stretches of equal length that the values are counted in, so that few of them must be put in order
/// to find those of some ranks.
struct Buckets {
    lo: f64,
    per_unit: f64,
}

impl Buckets {
    /// Number of buckets, a power of two.
    const COUNT: usize = 2048;

    /// Values that a thread looks at before the next.
    const PART: usize = 1 << 14;

    /// Values whose buckets are found together.
    const CHUNK: usize = 512;

    /// Buckets from the least to the largest of values that differ.
    fn over(values: &[f64]) -> Option<Self> {
        let [lo, hi] = range(values);
        // A value at the upper end is rounded down to the last bucket.
        let per_unit = (Self::COUNT as f64 - 1.5) / (hi - lo);
        (per_unit.is_finite() && per_unit > 0.0).then_some(Self { lo, per_unit })
    }

    /// The values of the buckets that hold some increasing ranks, in the order in which they are given,
    /// and the places of these ranks among them.
    fn around(&self, values: &[f64], ranks: &[usize]) -> Near<'static> {
        let counts = self.counts(values);
        let mut wanted = vec![false; Self::COUNT];
        let (mut before, mut kept, mut next) = (0, 0, 0);
        let mut places = Vec::with_capacity(ranks.len());
        for (wanted, count) in wanted.iter_mut().zip(counts) {
            while next < ranks.len() && ranks[next] < before + count {
                places.push(kept + (ranks[next] - before));
                *wanted = true;
                next += 1;
            }
            before += count;
            kept += if *wanted { count } else { 0 };
        }
        let kept_of = |values: &[f64]| {
            let mut all = Vec::new();
            self.each_chunk(values, |values, buckets| {
                for (&x, &bucket) in values.iter().zip(buckets) {
                    if wanted[bucket as usize % Self::COUNT] {
                        all.push(x);
                    }
                }
            });
            all
        };
        let parts: Vec<Vec<f64>> = values.par_chunks(Self::PART).map(kept_of).collect();
        Near { values: Cow::Owned(parts.concat()), places: Cow::Owned(places) }
    }

    /// The number of values in each bucket.
    fn counts(&self, values: &[f64]) -> Vec<usize> {
        let counts_of = |values: &[f64]| {
            let mut counts = vec![0; Self::COUNT];
            self.each_chunk(values, |_, buckets| {
                buckets.iter().for_each(|&bucket| counts[bucket as usize % Self::COUNT] += 1);
            });
            counts
        };
        let added = |mut all: Vec<usize>, more: Vec<usize>| {
            all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            all
        };
        values.par_chunks(Self::PART).map(counts_of).reduce(|| vec![0; Self::COUNT], added)
    }

    /// Calls `work` on consecutive values with their buckets, which grow with the values.
    fn each_chunk(&self, values: &[f64], mut work: impl FnMut(&[f64], &[u32])) {
        // Added to a number that is not large, leaves it rounded to a whole number in the lowest bits.
        const ROUNDING: f64 = 1.5 * (1_u64 << 52) as f64;
        let mut buckets = [0; Self::CHUNK];
        for values in values.chunks(Self::CHUNK) {
            let buckets = &mut buckets[..values.len()];
            vectorised(
                #[inline(always)]
                || {
                    let (lo, per_unit) = (self.lo, self.per_unit);
                    for (&x, bucket) in values.iter().zip(&mut *buckets) {
                        *bucket = ((x - lo) * per_unit + ROUNDING).to_bits() as u32;
                    }
                },
            );
            work(values, buckets);
        }
    }
}

/// Values in order, -0 before 0. As whole numbers of the same order they are compared in one step.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    // The order of the bits of a negative number is the wrong way round, but for the sign.
    let turned = |bits: i64| bits ^ ((bits >> 63) as u64 >> 1) as i64;
    let values = values.par_iter().with_min_len(ALONE);
    let mut keys: Vec<i64> = values.map(|x| turned(x.to_bits() as i64)).collect();
    put_in_order(&mut keys, Ord::cmp);
    keys.into_iter().map(|key| f64::from_bits(turned(key) as u64)).collect()
}

/// Puts things in order on all threads. The order of those that are equal depends on the number of threads:
/// they must be equal to the last bit, or be told apart. The parallel sorts of rayon take twice or three
/// times as long on each thread.
pub(crate) fn put_in_order<T: Send>(
    all: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering + Copy + Sync,
) {
    on_threads(rayon::current_num_threads(), all, compare);
}

fn on_threads<T: Send>(
    threads: usize,
    all: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering + Copy + Sync,
) {
    if threads < 2 || all.len() < ALONE {
        return all.sort_unstable_by(compare);
    }
    let here = threads / 2;
    let (left, _, right) = all.select_nth_unstable_by(all.len() * here / threads, compare);
    rayon::join(|| on_threads(here, left, compare), || on_threads(threads - here, right, compare));
}

/// The least and the largest of some values.
pub(crate) fn range(values: &[f64]) -> [f64; 2] {
    const LANES: usize = 64;
    vectorised(
        #[inline(always)]
        || {
            let mut least = [f64::INFINITY; LANES];
            let mut most = [f64::NEG_INFINITY; LANES];
            for values in values.chunks(LANES) {
                for ((least, most), &x) in least.iter_mut().zip(&mut most).zip(values) {
                    *least = if x < *least { x } else { *least };
                    *most = if x > *most { x } else { *most };
                }
            }
            let least = least.iter().fold(f64::INFINITY, |a, &b| a.min(b));
            let most = most.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            [least, most]
        },
    )
}

/// Moves the values of some increasing ranks to their places; `before` ranks lie left of `values`.
fn put_in_place(values: &mut [f64], ranks: &[usize], before: usize) {
    if values.len() < 2 || ranks.is_empty() {
        return;
    }
    let middle = ranks.len() / 2;
    let at = ranks[middle] - before;
    let is_long = values.len() >= FEW;
    let (left, _, right) = values.select_nth_unstable_by(at, f64::total_cmp);
    let mut on_left = || put_in_place(left, &ranks[..middle], before);
    let mut on_right = || put_in_place(right, &ranks[middle + 1..], before + at + 1);
    if is_long {
        rayon::join(on_left, on_right);
    } else {
        on_left();
        on_right();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_where_something_holds() {
        assert_eq!(places_where(7, |place| place % 3 == 0), [0, 3, 6]);
        assert_eq!(places_where(3, |_| true), [0, 1, 2]);
        assert!(places_where(3, |_| false).is_empty() && places_where(0, |_| true).is_empty());
    }

    /// More values than a thread looks at, so that the counts of several parts are added up.
    #[test]
    fn parts_of_many_values_are_put_together() {
        let count = 2 * Buckets::PART + 1234;
        let values: Vec<f64> = (0..count).map(|i| (i * 353 % 200_003) as f64).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let ranks: Vec<usize> = (0..count).step_by(1301).collect();
        let expected: Vec<f64> = ranks.iter().map(|&rank| sorted[rank]).collect();
        assert_eq!(order_statistics(&values, &ranks), expected);
    }

    #[test]
    fn values_are_put_in_order() {
        let mut values = vec![f64::MAX, -0.0, 0.0, 5e-324, -5e-324, f64::MIN, -1.5, 1.5, -0.0];
        values.extend((0..300).map(|i| f64::from(i * 7919 % 301 - 150) / 7.0));
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        // The last are so many that all threads share them.
        for times in [0, 1, 6 * ALONE / values.len()] {
            let values = values.repeat(times);
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            for threads in [1, 2, 3, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let sorted = pool.install(|| sorted(&values));
                assert_eq!(bits(&sorted), bits(&expected), "{threads} threads");
            }
        }
    }

    #[test]
    fn selected_values_are_those_of_the_sorted_ones() {
        for rows in (1..40).chain([97, 1000, 2048, 5000, 20_011]) {
            // Distinct values, values that repeat, values most of which lie close together, and one
            // value beside others that are far away.
            for (modulus, power) in [(1009, 1), (7, 1), (30_011, 1), (1009, 9), (30_011, 60)] {
                let value = |i: usize| (((i * 353 + 11) % modulus) as f64 / 3e3).powi(power);
                let mut values: Vec<f64> = (0..rows).map(value).collect();
                values[rows / 2] = -1e300;
                values[rows / 3] = -0.0;
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                for step in [1, 2, 17, 400, 3001] {
                    let ranks: Vec<usize> = (0..rows).step_by(step).collect();
                    let expected: Vec<f64> = ranks.iter().map(|&rank| sorted[rank]).collect();
                    assert_eq!(
                        order_statistics(&values, &ranks),
                        expected,
                        "{rows} {modulus} {step}"
                    );
                }
            }
        }
    }
}
