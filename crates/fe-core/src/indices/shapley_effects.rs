//! Shapley effects from given data: conditional variances by nearest neighbours (Broto, Bachoc and Depecker 2020).

use super::{Answers, Index, Measured, Question, told};
use crate::data::Dataset;
use crate::data::subsample::equal_rows;
use crate::error::{Error, Result};
use crate::estimator::predictions;
use crate::numeric::blocks::fold_blocks;
use crate::numeric::moments::Moments;

/// Rows whose variance is the conditional one at a row: itself, and its nearest neighbours.
const NEIGHBOURS: usize = 3;

/// Most features: conditional variances are taken for all their subsets.
const MOST: usize = 12;

pub(super) fn answers(
    question: &Question<'_>,
    asked: &[(Index, Vec<usize>)],
) -> Result<Vec<Answers>> {
    question.check_unweighted(asked[0].0)?;
    let dimension = question.data.dimension();
    if dimension > MOST {
        return Err(Error::Incompatible(format!(
            "Shapley effects of {dimension} features are not estimated: conditional variances are needed for all \
             subsets of them, and at most {MOST} features have few enough"
        )));
    }
    let data = question.drawn(question.options.outer)?;
    if data.len() <= NEIGHBOURS {
        let message = format!("Shapley effects need more than {NEIGHBOURS} rows");
        return Err(Error::Incompatible(message));
    }
    // In an order that is not that of the data: of neighbours that are as near the next ones are taken.
    let rows: Vec<(usize, f64)> = (0..data.len()).map(|row| (row, 1.0)).collect();
    let order: Vec<usize> = equal_rows(&data, &rows, question.options.seed)
        .into_iter()
        .flatten()
        .map(|row| row.0)
        .collect();
    let data = data.select(&order);
    let f = predictions::at_rows(&data, question.model)?;
    let effects: Vec<Vec<[Measured; 2]>> = f.iter().map(|f| effects(&data, f)).collect();
    let of = |(index, features): &(Index, Vec<usize>)| {
        let measure = usize::from(*index == Index::ShapleyShare);
        effects.iter().map(|effects| told(effects[features[0]][measure])).collect()
    };
    Ok(asked.iter().map(of).collect())
}

/// The Shapley effect of each feature, and the same over Var f.
fn effects(data: &Dataset, f: &[f64]) -> Vec<[Measured; 2]> {
    let (n, dimension) = (data.len(), data.dimension());
    let all = Moments::of_block(f, None);
    let variance = all.squares / (n as f64 - 1.0);
    let scaled: Vec<Vec<f64>> = (0..dimension).map(|feature| scaled(data, feature)).collect();
    let weights: Vec<f64> = (0..dimension).map(|size| weight(size, dimension)).collect();
    let mut gains = vec![Moments::default(); dimension];
    let work = |range: std::ops::Range<usize>| -> Result<Vec<Vec<f64>>, std::convert::Infallible> {
        Ok(range.map(|row| gains_at(row, &scaled, (f, all.mean), &weights)).collect())
    };
    let Ok(()) = fold_blocks(n, 8, work, |rows| {
        for row in rows {
            for (moments, gain) in gains.iter_mut().zip(row) {
                *moments = moments.merge(Moments::single(gain, 1.0));
            }
        }
    });
    let measured = |moments: &Moments| {
        let standard_error = moments.variance(1.0).map(|variance| (variance / n as f64).sqrt());
        let of = |unit: f64| Measured {
            value: moments.mean / unit,
            standard_error: standard_error.map(|error| error / unit),
            degrees: n.saturating_sub(1),
            rows: n,
        };
        [of(1.0), of(variance)]
    };
    gains.iter().map(measured).collect()
}

/// A feature in units of its standard deviation, so that distances of several mean something.
fn scaled(data: &Dataset, feature: usize) -> Vec<f64> {
    let values = data.feature(feature);
    let moments = Moments::of_block(values, None);
    let scale = (moments.squares / moments.weight).sqrt();
    let scale = if scale > 0.0 { scale } else { 1.0 };
    values.iter().map(|x| x / scale).collect()
}

/// The share of orders of all features in which so many stand before one.
fn weight(before: usize, all: usize) -> f64 {
    // 1 / (all · C(all − 1, before))
    let ways = (0..before).fold(1.0, |ways, i| ways * (all - 1 - i) as f64 / (i + 1) as f64);
    1.0 / (all as f64 * ways)
}

/// The gain of each feature at a row: the conditional variances there without it and with it, over all orders.
fn gains_at(
    row: usize,
    scaled: &[Vec<f64>],
    (f, mean): (&[f64], f64),
    weights: &[f64],
) -> Vec<f64> {
    let (n, dimension) = (f.len(), scaled.len());
    let mut variances = vec![0.0; 1 << dimension];
    // Nothing is known: the square whose mean is the sample variance.
    variances[0] = (f[row] - mean).powi(2) * n as f64 / (n as f64 - 1.0);
    let mut distances = vec![vec![0.0; n]; dimension + 1];
    Subsets { row, scaled, f }.each(0, 0, &mut distances, &mut variances);
    // Everything is known.
    variances[(1 << dimension) - 1] = 0.0;
    let gain = |feature: usize| {
        let own = 1 << feature;
        let without = (0..variances.len()).filter(|subset| subset & own == 0);
        let gain = |subset: usize| {
            weights[subset.count_ones() as usize] * (variances[subset] - variances[subset | own])
        };
        without.map(gain).sum()
    };
    (0..dimension).map(gain).collect()
}

/// The walk through all subsets of features, each made of one before by adding a feature.
struct Subsets<'a> {
    row: usize,
    scaled: &'a [Vec<f64>],
    f: &'a [f64],
}

impl Subsets<'_> {
    fn each(&self, subset: usize, from: usize, distances: &mut [Vec<f64>], variances: &mut [f64]) {
        for feature in from..self.scaled.len() {
            let values = &self.scaled[feature];
            let Some(([known, ..], rest)) = distances.split_at_mut_checked(1) else { return };
            let own = values[self.row];
            for ((to, from), x) in rest[0].iter_mut().zip(&*known).zip(values) {
                *to = from + (x - own) * (x - own);
            }
            let subset = subset | 1 << feature;
            variances[subset] = self.variance(&rest[0]);
            self.each(subset, feature + 1, rest, variances);
        }
    }

    /// The sample variance of f at the row and its nearest neighbours; of those as near, the next ones.
    fn variance(&self, distances: &[f64]) -> f64 {
        let n = distances.len();
        let mut nearest = [(f64::INFINITY, self.row); NEIGHBOURS - 1];
        for other in (self.row + 1..n).chain(0..self.row) {
            let distance = distances[other];
            if distance < nearest[NEIGHBOURS - 2].0 {
                let mut place = NEIGHBOURS - 2;
                while place > 0 && distance < nearest[place - 1].0 {
                    nearest[place] = nearest[place - 1];
                    place -= 1;
                }
                nearest[place] = (distance, other);
            }
        }
        let mut values = [self.f[self.row]; NEIGHBOURS];
        for (value, (_, other)) in values[1..].iter_mut().zip(nearest) {
            *value = self.f[other];
        }
        let moments = Moments::of_block(&values, None);
        moments.squares / (NEIGHBOURS as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_all_subsets_add_up_to_one() {
        for all in 1..8_usize {
            let total: f64 =
                (0..1_usize << (all - 1)).map(|s| weight(s.count_ones() as usize, all)).sum();
            assert!((total - 1.0).abs() < 1e-12, "{all}");
        }
    }
}
