//! The model at the rows of the data, as they are.

use crate::data::Dataset;
use crate::error::{ModelError, Result};
use crate::model::{Observed, Rows};
use crate::numeric::blocks::{STRETCH, fill_blocks};
use crate::numeric::moments::Moments;

/// Rows of a block.
const BLOCK: usize = 4096;

/// f at every row, for each output. Asks the model for N rows.
pub(crate) fn at_rows(data: &Dataset, model: &Observed<'_>) -> Result<Vec<Vec<f64>>> {
    let outputs = model.model().outputs();
    let mut all = vec![vec![0.0; data.len()]; outputs];
    let tables = all.iter_mut().map(Vec::as_mut_slice).collect();
    fill_blocks(data.len(), BLOCK, tables, Vec::new, |values, rows, all| {
        let len = rows.len();
        values.resize(len * outputs, 0.0);
        model.predict(&Rows::new(&data.columns(rows), len), values)?;
        for (all, values) in all.iter_mut().zip(values.chunks(len)) {
            all.copy_from_slice(values);
        }
        Ok::<_, ModelError>(())
    })?;
    Ok(all)
}

/// Weighted mean of one value per row.
pub(crate) fn mean(data: &Dataset, values: &[f64]) -> f64 {
    moments(data, values).mean
}

/// Weighted moments of one value per row.
pub(crate) fn moments(data: &Dataset, values: &[f64]) -> Moments {
    let stretch = |start: usize| {
        let rows = start..values.len().min(start + STRETCH);
        Moments::of_block(&values[rows.clone()], data.weights().map(|weights| &weights[rows]))
    };
    (0..values.len()).step_by(STRETCH).map(stretch).fold(Moments::default(), Moments::merge)
}
