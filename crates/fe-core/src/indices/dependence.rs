//! Indices made of partial dependences at the rows: Friedman and Popescu's H, and what is beside it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::jackknife::{GROUPS, groups, jackknife, sizes};
use super::{Answers, Index, Measured, Question, ratio, told};
use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::estimator::predictions;
use crate::interrupt;
use crate::model::{Background, Column, Rows};
use crate::numeric::blocks::fill_blocks;
use crate::numeric::simd::vectorised;

/// Means of squares below so much of that of f are rounding, and none.
const ROUNDING: f64 = 1e-24;
/// Rows of each group of the background that the model is asked about together.
const BLOCK: usize = 100;
/// Points about which a model is asked together whose structure tells the means.
const TOLD: usize = 256;

pub(super) fn answers(
    question: &Question<'_>,
    asked: &[(Index, Vec<usize>)],
) -> Result<Vec<Answers>> {
    let table = Table::new(question)?;
    let dimension = question.data.dimension();
    let is_whole = asked.iter().any(|(index, _)| index.order() == 0);
    let needed = |feature: &usize| is_whole || asked.iter().any(|(_, of)| of.contains(feature));
    // Of single features all pairs make use.
    let mut single = BTreeMap::new();
    for feature in (0..dimension).filter(needed) {
        single.insert(feature, table.means(&[feature])?);
    }
    let f = Means::Exact(predictions::at_rows(&table.outer, question.model)?);
    let mut of_features: HashMap<Vec<usize>, Means> = HashMap::new();
    let mut all = Vec::with_capacity(asked.len());
    for (index, features) in asked {
        interrupt::check();
        let others = match features[..] {
            [a, b] => Some(vec![a.min(b), a.max(b)]),
            [s] if overall(*index) => Some((0..dimension).filter(|&other| other != s).collect()),
            _ => None,
        };
        // Only what the next index may ask again is held.
        if let Some(others) = &others
            && !of_features.contains_key(others)
        {
            let means = match others[..] {
                [only] => table.means(&[only])?,
                [] => Means::Exact(vec![vec![0.0; table.outer.len()]; question.outputs()]),
                _ if others.len() == dimension => f.clone(),
                _ => table.means(others)?,
            };
            of_features.clear();
            of_features.insert(others.clone(), means);
        }
        let together = others.as_ref().and_then(|others| of_features.get(others));
        let parts = match (index.order(), features.first()) {
            (2, _) => features.iter().map(|feature| &single[feature]).collect(),
            (1, Some(feature)) if overall(*index) => {
                [Some(&single[feature]), together].into_iter().flatten().collect()
            }
            (1, Some(feature)) => vec![&single[feature]],
            _ => single.values().collect::<Vec<&Means>>(),
        };
        let whole = if index.order() == 2 { together.unwrap_or(&f) } else { &f };
        let of_output = |output: usize| told(table.index(*index, (whole, &parts, &f), output));
        all.push((0..question.outputs()).map(of_output).collect());
    }
    Ok(all)
}

fn overall(index: Index) -> bool {
    matches!(index, Index::H2Overall | Index::HOverall | Index::H2OverallShare)
}

/// Means of f at the outer rows, with some features as they are there.
#[derive(Clone)]
enum Means {
    /// For each output the values at the rows, where all features are as they are there.
    Exact(Vec<Vec<f64>>),
    /// For each output and group of the background the sums at each distinct point, for each output those over all
    /// groups, and which point each row is.
    Sums { sums: Vec<f64>, all: Vec<f64>, points: Vec<usize> },
}

/// Outer rows and background.
struct Table<'a> {
    question: &'a Question<'a>,
    outer: Dataset,
    /// The group of each outer row; groups are numbered by their size in the background, the largest first.
    groups: Vec<usize>,
    /// The background: the first row of each group, the second of each, and so on.
    background: Dataset,
    /// Numbers of groups that have a first row, a second one, and so on: so many of the first groups.
    ranks: Vec<usize>,
    /// Weight and group of each row of the background.
    each: (Vec<f64>, Vec<usize>),
    /// Weight of each group of the background, and their sum.
    weights: Vec<f64>,
    total: f64,
}

impl<'a> Table<'a> {
    fn new(question: &'a Question<'a>) -> Result<Self> {
        let outer = question.drawn(question.options.outer)?.into_owned();
        let background = question.drawn(question.options.background)?;
        let mut of_background = groups(&background);
        let mut of_outer = groups(&outer);
        let counts = sizes(&of_background, None);
        let mut by_size: Vec<usize> = (0..GROUPS).collect();
        by_size.sort_by(|&a, &b| counts[b].total_cmp(&counts[a]));
        for group in of_background.iter_mut().chain(&mut of_outer) {
            *group = by_size.iter().position(|by_size| by_size == group).unwrap_or(*group);
        }
        let mut rows = [0; GROUPS];
        let mut order: Vec<(usize, usize, usize)> = Vec::with_capacity(background.len());
        for (row, &group) in of_background.iter().enumerate() {
            order.push((rows[group], group, row));
            rows[group] += 1;
        }
        order.sort_unstable();
        let ranks = (0..rows[0]).map(|rank| rows.partition_point(|&rows| rows > rank)).collect();
        let weights = sizes(&of_background, background.weights());
        let total = weights.iter().sum();
        let rows: Vec<usize> = order.iter().map(|&(.., row)| row).collect();
        let background = background.select(&rows);
        let each = background.weights().map_or_else(|| vec![1.0; order.len()], <[f64]>::to_vec);
        let each = (each, order.iter().map(|&(_, group, _)| group).collect());
        Ok(Self { question, outer, groups: of_outer, background, ranks, each, weights, total })
    }

    /// The means with some of the features as they are at the outer rows, each distinct point asked once.
    fn means(&self, fixed: &[usize]) -> Result<Means> {
        if fixed.len() == self.outer.dimension() {
            return Ok(Means::Exact(predictions::at_rows(&self.outer, self.question.model)?));
        }
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let (mut points, mut first) = (Vec::with_capacity(self.outer.len()), Vec::new());
        for row in 0..self.outer.len() {
            let key = fixed.iter().map(|&s| (self.outer.feature(s)[row] + 0.0).to_bits()).collect();
            let point = *known.entry(key).or_insert_with(|| {
                first.push(row);
                first.len() - 1
            });
            points.push(point);
        }
        let outputs = self.question.outputs();
        let width = outputs * GROUPS;
        let mut sums = vec![0.0; first.len() * width];
        let told = self.question.model.model().knows_partial_dependences();
        fill_blocks(
            first.len(),
            if told { TOLD } else { 1 },
            vec![&mut sums],
            Vec::new,
            |values, range, tables| {
                if told {
                    return self.told_sums(fixed, &first[range], tables[0]);
                }
                for (place, &row) in first[range].iter().enumerate() {
                    self.sum_at(fixed, row, values, &mut tables[0][place * width..][..width])?;
                }
                Ok::<_, ModelError>(())
            },
        )?;
        let sums = transposed(&sums, width);
        let all = sums.chunks(GROUPS * first.len()).flat_map(|of_output| {
            let mut all = vec![0.0; first.len()];
            of_output.chunks(first.len()).for_each(|group| add(&mut all, group));
            all
        });
        Ok(Means::Sums { all: all.collect(), sums, points })
    }

    /// The sums over each group of the background as the structure of the model tells them: for each of some outer
    /// rows all outputs, for each output all groups.
    fn told_sums(
        &self,
        fixed: &[usize],
        rows: &[usize],
        sums: &mut [f64],
    ) -> Result<(), ModelError> {
        let of = |s: usize| rows.iter().map(move |&row| self.outer.feature(s)[row]).collect();
        let points: Vec<Vec<f64>> = (0..self.outer.dimension()).map(of).collect();
        let points: Vec<Column<'_>> = points.iter().map(|values| Column::Values(values)).collect();
        let columns = self.background.columns(0..self.background.len());
        let (weights, groups) = &self.each;
        let background = Background {
            rows: Rows::new(&columns, self.background.len()),
            weights,
            groups,
            count: GROUPS,
        };
        let mut told = vec![0.0; sums.len()];
        let points = Rows::new(&points, rows.len());
        self.question.model.partial_dependences(fixed, &points, &background, &mut told)?;
        let outputs = self.question.outputs();
        for (place, value) in told.into_iter().enumerate() {
            let (point, output) = (place % rows.len(), place / rows.len() % outputs);
            let group = place / rows.len() / outputs;
            sums[(point * outputs + output) * GROUPS + group] = value;
        }
        Ok(())
    }

    /// Adds up f over each group of the background, with some features as they are at an outer row.
    fn sum_at(
        &self,
        fixed: &[usize],
        row: usize,
        values: &mut Vec<f64>,
        sums: &mut [f64],
    ) -> Result<(), ModelError> {
        let mut start = 0;
        for ranks in self.ranks.chunks(BLOCK) {
            let len = ranks.iter().sum::<usize>();
            let mut columns = self.background.columns(start..start + len);
            for &feature in fixed {
                columns[feature] = Column::Constant(self.outer.feature(feature)[row]);
            }
            values.resize(self.question.outputs() * len, 0.0);
            self.question.model.predict(&Rows::new(&columns, len), values)?;
            for (sums, values) in sums.chunks_mut(GROUPS).zip(values.chunks_mut(len)) {
                if let Some(weights) = self.background.weights() {
                    let weights = &weights[start..start + len];
                    values.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
                }
                add_ranks(sums, values, ranks);
            }
            start += len;
        }
        Ok(())
    }

    /// The means at the outer rows without a group of the background.
    fn without<'m>(&self, means: &'m Means, output: usize, group: Option<usize>) -> Cow<'m, [f64]> {
        let (sums, all, points) = match means {
            Means::Exact(values) => return Cow::Borrowed(&values[output]),
            Means::Sums { sums, all, points } => (sums, all, points),
        };
        let distinct = all.len() / self.question.outputs();
        let of_output = &sums[output * GROUPS * distinct..][..GROUPS * distinct];
        let mut means = all[output * distinct..][..distinct].to_vec();
        let mut weight = self.total;
        if let Some(group) = group {
            weight -= self.weights[group];
            let own = &of_output[group * distinct..][..distinct];
            if weight > self.weights[group] {
                means.iter_mut().zip(own).for_each(|(all, own)| *all -= own);
            } else {
                // The rest of a difference would be rounding.
                means.fill(0.0);
                let groups = of_output.chunks(distinct).enumerate();
                groups
                    .filter(|(other, _)| *other != group)
                    .for_each(|(_, sums)| add(&mut means, sums));
            }
        }
        means.iter_mut().for_each(|mean| *mean /= weight);
        if distinct < points.len() {
            means = points.iter().map(|&point| means[point]).collect();
        }
        Cow::Owned(means)
    }

    /// The weights of the outer rows without a group of them.
    fn outer_weights(&self, group: Option<usize>) -> Vec<f64> {
        let weight = |(row, &own): (usize, &usize)| match Some(own) == group {
            true => 0.0,
            false => self.outer.weights().map_or(1.0, |weights| weights[row]),
        };
        self.groups.iter().enumerate().map(weight).collect()
    }

    fn index(
        &self,
        index: Index,
        (whole, parts, f): (&Means, &[&Means], &Means),
        output: usize,
    ) -> Measured {
        let statistic = |group: Option<usize>| {
            let weights = self.outer_weights(group);
            let of =
                |means: &Means| centred(self.without(means, output, group).into_owned(), &weights);
            let rounding = ROUNDING * mean_square(&self.without(f, output, group), &weights);
            // Whatever is left of what does not depend on a feature.
            let mean_square = |values: &[f64]| {
                Some(mean_square(values, &weights))
                    .filter(|square| *square > rounding)
                    .unwrap_or(0.0)
            };
            let mut rest = of(whole);
            let variance = mean_square(&rest);
            if index == Index::PdSd {
                return mean_square(&of(parts[0])).sqrt();
            }
            for part in parts {
                rest.iter_mut().zip(of(part)).for_each(|(rest, part)| *rest -= part);
            }
            let left = mean_square(&rest);
            match index {
                Index::HPair | Index::HOverall => left.sqrt(),
                Index::H2PairShare => ratio(left, mean_square(&of(f))),
                Index::AdditiveR2Pd => 1.0 - ratio(left, variance),
                _ => ratio(left, variance),
            }
        };
        let mut both = sizes(&self.groups, self.outer.weights());
        // A group that is in neither sample says nothing.
        both.iter_mut().zip(&self.weights).for_each(|(size, weight)| *size = size.max(*weight));
        jackknife(&both, self.outer.len(), statistic)
    }
}

fn add(totals: &mut [f64], values: &[f64]) {
    totals.iter_mut().zip(values).for_each(|(total, value)| *total += value);
}

/// Adds to the sum of each group its values: the first of each group, the second of each, and so on, of so many of the
/// first groups as the ranks say.
fn add_ranks(sums: &mut [f64], values: &[f64], ranks: &[usize]) {
    let full = ranks.partition_point(|&groups| groups == GROUPS);
    vectorised(
        #[inline(always)]
        || {
            let (lines, mut rest) = values.split_at(full * GROUPS);
            let mut all = [0.0; GROUPS];
            for line in lines.as_chunks::<GROUPS>().0 {
                all.iter_mut().zip(line).for_each(|(sum, value)| *sum += value);
            }
            for &groups in &ranks[full..] {
                let (line, others) = rest.split_at(groups);
                all.iter_mut().zip(line).for_each(|(sum, value)| *sum += value);
                rest = others;
            }
            sums.iter_mut().zip(all).for_each(|(sum, own)| *sum += own);
        },
    );
}

/// A table of lines of some width, column by column.
fn transposed(table: &[f64], width: usize) -> Vec<f64> {
    (0..width).flat_map(|column| table[column..].iter().step_by(width).copied()).collect()
}

/// Values less their mean at some weights.
fn centred(mut values: Vec<f64>, weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mean =
        values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>() / total;
    values.iter_mut().for_each(|value| *value -= mean);
    values
}

fn mean_square(values: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    values.iter().zip(weights).map(|(value, weight)| value * value * weight).sum::<f64>() / total
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::indices::IndexOptions;
    use crate::model::{FunctionModel, Observed};

    /// Means without a group are those of the rows that are left, also where the group weighs more than they do.
    #[test]
    fn means_without_a_group_are_of_the_other_rows() {
        let rows = Array2::from_shape_fn((90, 2), |(i, s)| ((7 * i + 31 * s + i * s) as f64).sin());
        let weights: Vec<f64> =
            (0..90).map(|i| if i == 5 { 400.0 } else { f64::from(i % 4) }).collect();
        let f = |x: &[f64]| x[0] * x[1] + (2.0 * x[1]).exp();
        for weights in [vec![1.0; 90], weights] {
            let data = Dataset::from_rows(&rows.view()).unwrap().with_weights(weights).unwrap();
            let model = FunctionModel::new(2, f);
            let model = Observed::new(&model);
            let options = IndexOptions::default();
            let question = Question { data: &data, model: &model, options: &options };
            let table = Table::new(&question).unwrap();
            let means = table.means(&[0]).unwrap();
            let raw = groups(&table.background);
            for left_out in [None].into_iter().chain(raw.iter().copied().map(Some)) {
                let kept = |row: &usize| Some(raw[*row]) != left_out;
                let label = |group| table.each.1[raw.iter().position(|of| *of == group).unwrap()];
                let found = table.without(&means, 0, left_out.map(label));
                for (place, found) in found.iter().enumerate() {
                    let x = table.outer.feature(0)[place];
                    let (mut sum, mut weight) = (0.0, 0.0);
                    for row in (0..table.background.len()).filter(kept) {
                        let own = table.each.0[row];
                        sum += own * f(&[x, table.background.feature(1)[row]]);
                        weight += own;
                    }
                    assert!((found - sum / weight).abs() < 1e-13, "{left_out:?} {found}");
                }
            }
        }
    }
}
