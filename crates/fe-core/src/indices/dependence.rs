//! Indices made of partial dependences at the rows: Friedman and Popescu's H, and what is beside it.

use std::collections::{BTreeMap, HashMap};

use super::jackknife::{GROUPS, groups, jackknife, sizes};
use super::{Answers, Index, Measured, Question, ratio, told};
use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::estimator::predictions;
use crate::interrupt;
use crate::model::{Background, Column, Rows};
use crate::numeric::blocks::fill_blocks;
use crate::numeric::moments::sum_in_lanes;

/// Means of squares below so much of that of f are rounding, and none.
const ROUNDING: f64 = 1e-24;
/// Background rows that the model is asked about together.
const BLOCK: usize = 2048;
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
    /// For each output and group of the background the sums at each distinct point, and which point each row is.
    Sums { sums: Vec<f64>, points: Vec<usize> },
}

/// Outer rows and background.
struct Table<'a> {
    question: &'a Question<'a>,
    outer: Dataset,
    /// The group of each outer row.
    groups: Vec<usize>,
    /// The background, group by group.
    background: Dataset,
    /// The end of each group in it.
    ends: Vec<usize>,
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
        let of_background = groups(&background);
        let mut order: Vec<usize> = (0..background.len()).collect();
        order.sort_by_key(|&row| of_background[row]);
        let end = |group: usize| order.partition_point(|&row| of_background[row] <= group);
        let ends = (0..GROUPS).map(end).collect();
        let weights = sizes(&of_background, background.weights());
        let total = weights.iter().sum();
        let groups_in_order = order.iter().map(|&row| of_background[row]).collect();
        let background = background.select(&order);
        let each = background.weights().map_or_else(|| vec![1.0; order.len()], <[f64]>::to_vec);
        let groups = groups(&outer);
        let each = (each, groups_in_order);
        Ok(Self { question, outer, groups, background, ends, each, weights, total })
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
        Ok(Means::Sums { sums: transposed(&sums, width), points })
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
        let outputs = self.question.outputs();
        for start in (0..self.background.len()).step_by(BLOCK) {
            let end = self.background.len().min(start + BLOCK);
            let mut columns = self.background.columns(start..end);
            for &feature in fixed {
                columns[feature] = Column::Constant(self.outer.feature(feature)[row]);
            }
            let len = end - start;
            values.resize(outputs * len, 0.0);
            self.question.model.predict(&Rows::new(&columns, len), values)?;
            let weights = self.background.weights().map(|weights| &weights[start..end]);
            for (sums, values) in sums.chunks_mut(GROUPS).zip(values.chunks(len)) {
                let mut from = start;
                for (sum, &to) in sums.iter_mut().zip(&self.ends) {
                    let to = to.clamp(start, end);
                    let part = from.min(to) - start..to - start;
                    *sum += match weights {
                        None => sum_in_lanes(&values[part], |value| value),
                        Some(weights) => {
                            let pairs = values[part.clone()].iter().zip(&weights[part]);
                            pairs.map(|(value, weight)| value * weight).sum()
                        }
                    };
                    from = to;
                }
            }
        }
        Ok(())
    }

    /// The means at the outer rows without a group of the background.
    fn without(&self, means: &Means, output: usize, group: Option<usize>) -> Vec<f64> {
        match means {
            Means::Exact(values) => values[output].clone(),
            Means::Sums { sums, points } => {
                let distinct = sums.len() / (self.question.outputs() * GROUPS);
                let weight = self.total - group.map_or(0.0, |group| self.weights[group]);
                let of_output = &sums[output * GROUPS * distinct..][..GROUPS * distinct];
                let mut means = vec![0.0; distinct];
                // Group by group, so that all points are added up side by side.
                for (other, sums) in of_output.chunks(distinct).enumerate() {
                    if Some(other) != group {
                        means.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum);
                    }
                }
                means.iter_mut().for_each(|mean| *mean /= weight);
                points.iter().map(|&point| means[point]).collect()
            }
        }
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
            let of = |means: &Means| centred(self.without(means, output, group), &weights);
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
