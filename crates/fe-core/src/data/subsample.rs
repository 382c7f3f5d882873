//! Rows drawn at random, by a seed and by their values: the order of the rows does not matter.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::error::{Error, Result};
use crate::numeric::order_statistics::put_in_order;

/// Record of the rows drawn before anything else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubsampleRecord {
    /// Rows that were asked for; a row of weight 2 counts as two.
    pub asked: usize,
    /// Rows that were drawn.
    pub rows: usize,
    /// Rows with positive weight that they were drawn from.
    pub of: usize,
    /// The seed that they were drawn by.
    pub seed: u64,
}

/// A uniform random subset of the rows, drawn without replacement.
///
/// A row of weight w is ⌈w⌉ rows of weight w/⌈w⌉: a weight of 2 is drawn like two rows, and a row of
/// weight 0 never. Where there are no more rows than asked for, all are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subsample {
    size: usize,
    seed: u64,
}

/// Most rows.
const MOST: usize = 100_000_000;

/// Rows with equal values, and the weight of each.
type Group = Vec<(usize, f64)>;

impl Subsample {
    pub(crate) const OPTIONS: &'static [&'static str] = &["subsample", "subsample_seed"];

    /// The number of rows asked for.
    pub(crate) fn size(self) -> usize {
        self.size
    }

    /// The subsample of a size by a seed; none where no size is given.
    ///
    /// # Errors
    /// [`Error::BadOption`] for no rows or too many, [`Error::Incompatible`] for a seed without a size.
    pub(crate) fn new(size: Option<usize>, seed: Option<u64>) -> Result<Option<Self>> {
        match (size, seed) {
            (Some(size), seed) if (1..=MOST).contains(&size) => {
                Ok(Some(Self { size, seed: seed.unwrap_or_default() }))
            }
            (Some(size), _) => Err(Error::BadOption {
                option: "subsample",
                given: size.to_string(),
                allowed: format!("must be from 1 to {MOST}"),
            }),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Error::Incompatible(
                "`subsample_seed` needs `subsample`: without it all rows are taken".to_owned(),
            )),
        }
    }

    /// The drawn rows in the order of the data, and which ones they are.
    pub(crate) fn draw<'a>(&self, data: &'a Dataset) -> (Cow<'a, Dataset>, Drawn) {
        let counted = data.weighted(0).map(|(_, weight)| weight).enumerate();
        let rows: Vec<(usize, f64)> = counted.filter(|(_, weight)| *weight > 0.0).collect();
        let of = rows.len();
        let record = |rows| SubsampleRecord { asked: self.size, rows, of, seed: self.seed };
        let groups = equal_rows(data, &rows, self.seed);
        if groups.iter().map(copies).sum::<f64>() <= self.size as f64 {
            return (Cow::Borrowed(data), Drawn { rows: None, record: record(of) });
        }
        let drawn = self.choose(data, &groups);
        let indices: Vec<usize> = drawn.iter().map(|(row, _)| *row).collect();
        let weights = drawn.iter().map(|(_, weight)| *weight).collect();
        let subset = data.select(&indices).reweighted(weights);
        (Cow::Owned(subset), Drawn { record: record(indices.len()), rows: Some(indices) })
    }

    /// The drawn rows with the weight that was drawn of each.
    fn choose(&self, data: &Dataset, groups: &[Group]) -> Vec<(usize, f64)> {
        let mut times = vec![0.0; groups.len()];
        for group in self.smallest_keys(data, groups) {
            times[group] += 1.0;
        }
        let mut drawn = Vec::new();
        for (group, times) in groups.iter().zip(times) {
            let mut left = times * (weight(group) / copies(group));
            for &(row, weight) in group {
                if left > 0.0 {
                    drawn.push((row, weight.min(left)));
                    left -= weight;
                }
            }
        }
        drawn.sort_unstable_by_key(|(row, _)| *row);
        drawn
    }

    /// Every copy has a random key; those of the smallest keys are drawn. Gives the group of each.
    ///
    /// The keys of a group come in increasing order, as order statistics of uniform variables, so that
    /// even a row of very large weight costs no more than what is drawn of it.
    fn smallest_keys(&self, data: &Dataset, groups: &[Group]) -> Vec<usize> {
        let mut smallest: BinaryHeap<(u64, usize)> = BinaryHeap::new();
        for (at, group) in groups.iter().enumerate() {
            let seed = digest(self.seed, &values(data, group[0].0));
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let (mut key, mut left) = (0.0_f64, copies(group));
            while left >= 1.0 {
                // From (0, 1]: its logarithm is a number.
                let uniform = (random.next_u64() as f64 + 1.0) / 2_f64.powi(64);
                key += (1.0 - key) * -(uniform.ln() / left).exp_m1();
                left -= 1.0;
                // The bits of positive numbers are in the order of the numbers.
                smallest.push((key.to_bits(), at));
                if smallest.len() > self.size && smallest.pop().is_some_and(|last| last.1 == at) {
                    break;
                }
            }
        }
        smallest.into_iter().map(|(_, group)| group).collect()
    }
}

/// A drawn subsample.
pub(crate) struct Drawn {
    /// The rows of the data that the drawn ones are; none if they are all.
    rows: Option<Vec<usize>>,
    /// Its record.
    pub(crate) record: SubsampleRecord,
}

impl Drawn {
    /// The row of the data that a drawn row is.
    pub(crate) fn original(&self, row: usize) -> usize {
        self.rows.as_ref().map_or(row, |rows| rows[row])
    }
}

fn weight(group: &Group) -> f64 {
    group.iter().map(|(_, weight)| weight).sum()
}

fn copies(group: &Group) -> f64 {
    weight(group).ceil()
}

/// The values of a row; −0 and 0 are the same value.
fn values(data: &Dataset, row: usize) -> Vec<f64> {
    data.row(row).iter().map(|x| x + 0.0).collect()
}

/// Rows of the same values together, ordered by a digest of the seed and the values.
pub(crate) fn equal_rows(data: &Dataset, rows: &[(usize, f64)], seed: u64) -> Vec<Group> {
    let mut keyed: Vec<(u64, usize, f64)> = rows
        .par_iter()
        .map(|&(row, weight)| (digest(seed, &values(data, row)), row, weight))
        .collect();
    // Different values have the same digest so seldom that they are looked up only then.
    let by_values = |a: usize, b: usize| {
        let values = |row: usize| (0..data.dimension()).map(move |j| data.feature(j)[row] + 0.0);
        let mut orders = values(a).zip(values(b)).map(|(a, b)| a.total_cmp(&b));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    put_in_order(&mut keyed, |a, b| {
        a.0.cmp(&b.0).then_with(|| by_values(a.1, b.1)).then_with(|| a.1.cmp(&b.1))
    });
    let equal = keyed.chunk_by(|a, b| a.0 == b.0 && by_values(a.1, b.1).is_eq());
    equal.map(|group| group.iter().map(|&(_, row, weight)| (row, weight)).collect()).collect()
}

/// A number that mixes a seed with the values of a row (the finaliser of SplitMix64, Steele et al.
/// 2014, chained).
pub(crate) fn digest(seed: u64, values: &[f64]) -> u64 {
    let mix = |mut z: u64| {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    values.iter().fold(mix(seed), |state, x| mix(state ^ (x + 0.0).to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(weights: Vec<f64>) -> Dataset {
        let rows =
            ndarray::Array2::from_shape_fn((weights.len(), 2), |(i, j)| (i * (j + 1)) as f64);
        Dataset::from_rows(&rows.view()).unwrap().with_weights(weights).unwrap()
    }

    /// Mean number of times that each row is drawn, over many seeds.
    fn shares(data: &Dataset, size: usize) -> Vec<f64> {
        const SEEDS: u64 = 4000;
        let mut drawn = vec![0.0; data.len()];
        for seed in 0..SEEDS {
            let (subset, which) = Subsample { size, seed }.draw(data);
            for row in 0..subset.len() {
                let weight = subset.weights().map_or(1.0, |weights| weights[row]);
                drawn[which.original(row)] += weight / SEEDS as f64;
            }
        }
        drawn
    }

    #[test]
    fn every_row_is_drawn_as_often_as_its_weight_says() {
        // 3 of 8 copies; the standard error of a share is at most 0.011 (of 4 copies: 0.013).
        let shares = shares(&data(vec![1.0, 4.0, 0.0, 2.0, 0.5]), 3);
        let expected = [3.0 / 8.0, 12.0 / 8.0, 0.0, 6.0 / 8.0, 3.0 / 16.0];
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 0.06, "{shares:?}");
        }
    }

    #[test]
    fn all_pairs_of_rows_are_equally_likely() {
        let data = data(vec![1.0; 5]);
        let mut pairs = vec![0; 25];
        for seed in 0..4000 {
            let (_, which) = Subsample { size: 2, seed }.draw(&data);
            pairs[5 * which.original(0) + which.original(1)] += 1;
        }
        for (i, count) in pairs.into_iter().enumerate() {
            // 400 ± 19 for each of the ten pairs in increasing order.
            let expected = if i / 5 < i % 5 { 330..470 } else { 0..1 };
            assert!(expected.contains(&count), "{i}: {count}");
        }
    }

    #[test]
    fn huge_weights_cost_no_more_than_what_is_drawn() {
        let data = data(vec![1e15, 1e15, 1.0]);
        let (subset, drawn) = Subsample { size: 1000, seed: 1 }.draw(&data);
        assert_eq!(subset.weights().unwrap().iter().sum::<f64>(), 1000.0);
        assert_eq!((drawn.record.rows, drawn.record.of), (2, 3));
    }

    #[test]
    fn rows_without_weights_stay_without() {
        let rows = ndarray::array![[1.0], [1.0], [1.0], [2.0]];
        let data = Dataset::from_rows(&rows.view()).unwrap();
        let (subset, drawn) = Subsample { size: 3, seed: 0 }.draw(&data);
        assert_eq!((subset.len(), subset.weights(), drawn.record.rows), (3, None, 3));
        let (all, drawn) = Subsample { size: 4, seed: 0 }.draw(&data);
        assert_eq!((&*all, drawn.record.rows), (&data, 4));
    }

    /// The first number of SplitMix64 from the seed 0, as its authors' program prints it.
    #[test]
    fn digests_are_those_of_splitmix() {
        assert_eq!(digest(0, &[]), 0xe220_a839_7b1d_cdaf);
        assert_eq!(digest(3, &[0.0]), digest(3, &[-0.0]));
        assert_ne!(digest(3, &[0.0]), digest(4, &[0.0]));
    }
}
