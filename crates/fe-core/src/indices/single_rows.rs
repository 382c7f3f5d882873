//! Indices that are means of something at each row: derivative-based measures, and permutation importance.

use std::ops::Range;

use super::{Answers, Index, Measured, Question, told};
use crate::data::AxisChoice;
use crate::data::subsample::equal_rows;
use crate::error::{Error, ModelError, Result};
use crate::estimator::derivatives::Differentiation;
use crate::estimator::predictions;
use crate::model::{Column, Rows};
use crate::numeric::blocks::fold_blocks;
use crate::numeric::moments::Moments;

/// Rows that the model is asked about together.
const BLOCK: usize = 2048;

pub(super) fn answers(
    question: &Question<'_>,
    asked: &[(Index, Vec<usize>)],
) -> Result<Vec<Answers>> {
    let mut all = Vec::with_capacity(asked.len());
    let mut known = None;
    for (index, features) in asked {
        let found = match index {
            Index::Permutation => permuted(question, features[0], &mut known),
            _ => squared_derivatives(question, features[0]),
        };
        all.push(match found {
            Ok(moments) => {
                moments.iter().map(|moments| told(measured(question, moments))).collect()
            }
            Err(error @ Error::Model(ModelError::NoDerivative { .. })) => {
                vec![Err(error); question.outputs()]
            }
            Err(error @ Error::Model(_)) => return Err(error),
            Err(error) => vec![Err(error); question.outputs()],
        });
    }
    Ok(all)
}

fn measured(question: &Question<'_>, moments: &Moments) -> Measured {
    let error = |variance: f64| (variance / moments.weight).sqrt();
    Measured {
        value: moments.mean,
        standard_error: moments.variance(1.0).map(error),
        degrees: question.data.len().saturating_sub(1),
        rows: question.data.len(),
    }
}

/// The moments of the square of something that `ask` writes for some rows, for each output.
fn squares(
    question: &Question<'_>,
    ask: impl Fn(Range<usize>, &mut [f64]) -> Result<(), ModelError> + Sync,
) -> Result<Vec<Moments>> {
    let (data, outputs) = (question.data, question.outputs());
    let mut total = vec![Moments::default(); outputs];
    let work = |rows: Range<usize>| -> Result<Vec<Moments>, ModelError> {
        let len = rows.len();
        let mut values = vec![0.0; outputs * len];
        ask(rows.clone(), &mut values)?;
        values.iter_mut().for_each(|value| *value *= *value);
        let weights = data.weights().map(|weights| &weights[rows]);
        Ok(values.chunks(len).map(|values| Moments::of_block(values, weights)).collect())
    };
    fold_blocks(data.len(), BLOCK, work, |block| {
        total.iter_mut().zip(block).for_each(|(total, block)| *total = total.merge(block));
    })?;
    Ok(total)
}

/// (∂_s f)².
fn squared_derivatives(question: &Question<'_>, feature: usize) -> Result<Vec<Moments>> {
    let (data, model) = (question.data, question.model);
    data.check_derivable(model.model(), feature, "dgsm")?;
    let axis = AxisChoice::Data.resolve(data, feature)?;
    let derivatives = Differentiation::default().of(model.model(), axis)?;
    let found = squares(question, |rows, values| {
        let len = rows.len();
        derivatives.evaluate(model, feature, &data.columns(rows), len, values)
    })?;
    derivatives.check(model, (data, feature))?;
    Ok(found)
}

/// f at all rows for each output, and for each row another one.
type Known = (Vec<Vec<f64>>, Vec<usize>);

/// The squared change of f where a feature has its value in another row, which stands half of all rows further on in an
/// order that is random and not that of the data.
fn permuted(
    question: &Question<'_>,
    feature: usize,
    known: &mut Option<Known>,
) -> Result<Vec<Moments>> {
    question.check_unweighted(Index::Permutation)?;
    let (data, model) = (question.data, question.model);
    if known.is_none() {
        let rows: Vec<(usize, f64)> = (0..data.len()).map(|row| (row, 1.0)).collect();
        let order: Vec<usize> = equal_rows(data, &rows, question.options.seed)
            .into_iter()
            .flatten()
            .map(|row| row.0)
            .collect();
        let mut others = vec![0; data.len()];
        for (place, &row) in order.iter().enumerate() {
            others[row] = order[(place + data.len() / 2) % data.len()];
        }
        *known = Some((predictions::at_rows(data, model)?, others));
    }
    let Some((f, others)) = known else { return Ok(Vec::new()) };
    let values = data.feature(feature);
    squares(question, |rows, changes| {
        let len = rows.len();
        let moved: Vec<f64> = others[rows.clone()].iter().map(|&other| values[other]).collect();
        let mut columns = data.columns(rows.clone());
        columns[feature] = Column::Values(&moved);
        model.predict(&Rows::new(&columns, len), changes)?;
        for (changes, f) in changes.chunks_mut(len).zip(&*f) {
            changes.iter_mut().zip(&f[rows.clone()]).for_each(|(change, f)| *change -= f);
        }
        Ok(())
    })
}
