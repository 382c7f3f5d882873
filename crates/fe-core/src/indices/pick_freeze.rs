//! Sobol' indices by pick-freeze: Saltelli's design on two halves of the rows, with Jansen's total.

use super::jackknife::{GROUPS, jackknife};
use super::{Answers, Index, Question, ratio, told};
use crate::data::Dataset;
use crate::data::subsample::equal_rows;
use crate::error::{Error, ModelError, Result};
use crate::model::{Column, Rows};
use crate::numeric::blocks::fold_blocks;

/// Pairs of rows that the model is asked about together.
const BLOCK: usize = 2048;

/// Two features are dependent where they are correlated more than this, and more than chance has it.
const CORRELATED: f64 = 0.1;
const BEYOND_CHANCE: f64 = 5.0;

pub(super) fn answers(
    question: &Question<'_>,
    asked: &[(Index, Vec<usize>)],
) -> Result<Vec<Answers>> {
    question.check_unweighted(asked[0].0)?;
    check_independence(question.data)?;
    let design = Design::new(question, asked)?;
    let sums = design.sums()?;
    let of = |(index, features): &(Index, Vec<usize>)| {
        (0..question.outputs())
            .map(|output| {
                let statistic = |group: Option<usize>| {
                    let kept = sums.iter().enumerate().filter(|(own, _)| Some(*own) != group);
                    let total = Sums::total(kept.map(|(_, sums)| &sums[output]));
                    total.index(*index, &design.places(features))
                };
                let sizes: Vec<f64> = sums.iter().map(|sums| sums[output].pairs).collect();
                told(jackknife(&sizes, 2 * design.len(), statistic))
            })
            .collect()
    };
    Ok(asked.iter().map(of).collect())
}

/// Refuses features that are clearly dependent.
fn check_independence(data: &Dataset) -> Result<()> {
    let n = data.len() as f64;
    let standardised = |feature: usize| {
        let values = data.feature(feature);
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        (mean, square.sqrt())
    };
    let scales: Vec<(f64, f64)> = (0..data.dimension()).map(standardised).collect();
    for a in 0..data.dimension() {
        for b in a + 1..data.dimension() {
            let products = data.feature(a).iter().zip(data.feature(b));
            let product: f64 = products.map(|(x, y)| (x - scales[a].0) * (y - scales[b].0)).sum();
            let correlation = product / (scales[a].1 * scales[b].1);
            if correlation.abs() > CORRELATED.max(BEYOND_CHANCE / n.sqrt()) {
                return Err(Error::Incompatible(format!(
                    "Sobol' indices are shares of variance of independent features, and {} and {} are \
                     correlated ({correlation:.2}): `shapley-effect` is defined under dependence",
                    data.names()[a],
                    data.names()[b]
                )));
            }
        }
    }
    Ok(())
}

/// Two halves of the rows, A and B, of which each row of one stands beside one of the other.
struct Design<'a> {
    question: &'a Question<'a>,
    halves: [Dataset; 2],
    /// The features whose values are exchanged.
    features: Vec<usize>,
    /// Pairs of them, as places among those.
    pairs: Vec<[usize; 2]>,
    /// About the mean of f for each output: what is subtracted from all values.
    about: Vec<f64>,
}

/// Sums over some pairs of rows, of f less about its mean.
#[derive(Clone, Default)]
struct Sums {
    pairs: f64,
    f: f64,
    squares: f64,
    /// Of f(B)·(f(A with x_s of B) − f(A)): what the first-order variance is the mean of.
    first: Vec<f64>,
    /// Of (f(A) − f(A with x_s of B))²/2: Jansen's total.
    total: Vec<f64>,
    /// Of f(A with x_s of B), and of f(B with x_s of A).
    exchanged: [Vec<f64>; 2],
    /// Of f(A with x_j of B)·f(B with x_k of A): what the closed variance of a pair is made of.
    closed: Vec<f64>,
}

impl<'a> Design<'a> {
    fn new(question: &'a Question<'a>, asked: &[(Index, Vec<usize>)]) -> Result<Self> {
        let data = question.data;
        let rows: Vec<(usize, f64)> = (0..data.len()).map(|row| (row, 1.0)).collect();
        // In an order that is random and not that of the data; equal rows together, so that few stand beside
        // each other.
        let order: Vec<usize> = equal_rows(data, &rows, question.options.seed)
            .into_iter()
            .flatten()
            .map(|row| row.0)
            .collect();
        let half = data.len() / 2;
        if half < 2 {
            let message = "Sobol' indices from two halves of the rows need at least four";
            return Err(Error::Incompatible(message.to_owned()));
        }
        let mut features: Vec<usize> =
            asked.iter().flat_map(|(_, features)| features.clone()).collect();
        features.sort_unstable();
        features.dedup();
        let place = |feature: usize| features.binary_search(&feature).unwrap_or_default();
        let mut pairs: Vec<[usize; 2]> = Vec::new();
        for (_, of) in asked {
            if let [a, b] = of[..]
                && !pairs.contains(&[place(a), place(b)])
            {
                pairs.push([place(a), place(b)]);
            }
        }
        let halves = [data.select(&order[..half]), data.select(&order[half..2 * half])];
        let outputs = question.outputs();
        let some = half.min(BLOCK);
        let mut values = vec![0.0; outputs * some];
        question.model.predict(&Rows::new(&halves[0].columns(0..some), some), &mut values)?;
        let about =
            values.chunks(some).map(|values| values.iter().sum::<f64>() / some as f64).collect();
        Ok(Self { question, halves, features, pairs, about })
    }

    fn len(&self) -> usize {
        self.halves[0].len()
    }

    /// Places of features, and of the pair that they are.
    fn places(&self, features: &[usize]) -> ([usize; 2], usize) {
        let place = |feature: &usize| self.features.binary_search(feature).unwrap_or_default();
        let first = features.first().map_or(0, place);
        let second = features.get(1).map_or(first, place);
        let pair = self.pairs.iter().position(|pair| *pair == [first, second]);
        ([first, second], pair.unwrap_or_default())
    }

    /// Sums of each group of neighbouring pairs, for each output.
    fn sums(&self) -> Result<Vec<Vec<Sums>>> {
        let outputs = self.question.outputs();
        let empty = || Sums {
            first: vec![0.0; self.features.len()],
            total: vec![0.0; self.features.len()],
            exchanged: [vec![0.0; self.features.len()], vec![0.0; self.features.len()]],
            closed: vec![0.0; self.pairs.len()],
            ..Sums::default()
        };
        let mut groups: Vec<Vec<Sums>> = vec![vec![empty(); outputs]; GROUPS];
        // Of so many pairs that no block is of two groups.
        let size = self.len().div_ceil(GROUPS);
        let parts: Vec<(usize, std::ops::Range<usize>)> = (0..GROUPS)
            .flat_map(|group| {
                let end = self.len().min((group + 1) * size);
                let start = (group * size).min(end);
                (start..end).step_by(BLOCK).map(move |from| (group, from..end.min(from + BLOCK)))
            })
            .collect();
        let work = |range: std::ops::Range<usize>| -> Result<(usize, Vec<Sums>), ModelError> {
            let (group, rows) = parts[range.start].clone();
            let mut sums = vec![empty(); outputs];
            self.add(rows, &mut sums)?;
            Ok((group, sums))
        };
        fold_blocks(parts.len(), 1, work, |(group, sums)| {
            for (total, part) in groups[group].iter_mut().zip(&sums) {
                *total = Sums::total([&*total, part].into_iter());
            }
        })?;
        Ok(groups)
    }

    fn add(&self, rows: std::ops::Range<usize>, sums: &mut [Sums]) -> Result<(), ModelError> {
        let (len, outputs) = (rows.len(), sums.len());
        let columns = [0, 1].map(|half: usize| self.halves[half].columns(rows.clone()));
        let ask = |columns: &[Column<'_>]| {
            let mut values = vec![0.0; outputs * len];
            self.question.model.predict(&Rows::new(columns, len), &mut values)?;
            for (values, about) in values.chunks_mut(len).zip(&self.about) {
                values.iter_mut().for_each(|value| *value -= about);
            }
            Ok::<_, ModelError>(values)
        };
        let exchanged = |half: usize, feature: usize| {
            let mut mixed = columns[half].clone();
            mixed[feature] = columns[1 - half][feature];
            ask(&mixed)
        };
        let (a, b) = (ask(&columns[0])?, ask(&columns[1])?);
        let is_second = |place: usize| self.pairs.iter().any(|pair| pair[1] == place);
        let mut mixed: [Vec<Vec<f64>>; 2] = [Vec::new(), Vec::new()];
        for (place, &feature) in self.features.iter().enumerate() {
            mixed[0].push(exchanged(0, feature)?);
            mixed[1].push(if is_second(place) { exchanged(1, feature)? } else { Vec::new() });
        }
        for (output, sums) in sums.iter_mut().enumerate() {
            let of = |values: &[f64]| output * len..output * len + len.min(values.len());
            let (a, b) = (&a[of(&a)], &b[of(&b)]);
            sums.pairs += len as f64;
            for value in a.iter().chain(b) {
                sums.f += value;
                sums.squares += value * value;
            }
            for place in 0..self.features.len() {
                let ab = &mixed[0][place][of(&mixed[0][place])];
                for i in 0..len {
                    sums.first[place] += b[i] * (ab[i] - a[i]);
                    sums.total[place] += (a[i] - ab[i]).powi(2) / 2.0;
                    sums.exchanged[0][place] += ab[i];
                }
                if is_second(place) {
                    sums.exchanged[1][place] +=
                        mixed[1][place][of(&mixed[1][place])].iter().sum::<f64>();
                }
            }
            for (sum, [j, k]) in sums.closed.iter_mut().zip(&self.pairs) {
                let (ab, ba) = (&mixed[0][*j][of(&mixed[0][*j])], &mixed[1][*k][of(&mixed[1][*k])]);
                *sum += ab.iter().zip(ba).map(|(x, y)| x * y).sum::<f64>();
            }
        }
        Ok(())
    }
}

impl Sums {
    fn total<'s>(parts: impl Iterator<Item = &'s Self>) -> Self {
        let add = |to: &mut Vec<f64>, from: &[f64]| {
            to.resize(from.len().max(to.len()), 0.0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        parts.fold(Self::default(), |mut all, part| {
            all.pairs += part.pairs;
            all.f += part.f;
            all.squares += part.squares;
            add(&mut all.first, &part.first);
            add(&mut all.total, &part.total);
            add(&mut all.closed, &part.closed);
            for half in 0..2 {
                add(&mut all.exchanged[half], &part.exchanged[half]);
            }
            all
        })
    }

    /// An index of the features at some places, or of the pair that they are.
    fn index(&self, index: Index, &([j, k], pair): &([usize; 2], usize)) -> f64 {
        let n = self.pairs;
        let mean = self.f / (2.0 * n);
        let variance = self.squares / (2.0 * n) - mean * mean;
        let first = |place: usize| self.first[place] / n;
        ratio(
            match index {
                Index::SobolFirst => first(j),
                Index::SobolTotal => self.total[j] / n,
                _ => {
                    let means = self.exchanged[0][j] / n * (self.exchanged[1][k] / n);
                    self.closed[pair] / n - means - first(j) - first(k)
                }
            },
            variance,
        )
    }
}
