//! The model at the rows of the data, as they are.

use crate::blocks::fold_blocks;
use crate::dataset::Dataset;
use crate::error::{ModelError, Result};
use crate::model::{Observed, Rows};
use crate::statistics::Moments;

/// Rows of a block.
const BLOCK: usize = 4096;

/// f at every row, for each output. Asks the model for N rows.
pub(crate) fn at_rows(data: &Dataset, model: &Observed<'_>) -> Result<Vec<Vec<f64>>> {
    let outputs = model.model().outputs();
    let mut all = vec![Vec::with_capacity(data.len()); outputs];
    fold_blocks(
        data.len(),
        BLOCK,
        |rows| {
            let len = rows.len();
            let mut values = vec![0.0; len * outputs];
            model.predict(&Rows::new(&data.columns(rows), len), &mut values)?;
            Ok::<_, ModelError>((len, values))
        },
        |(len, values): (usize, Vec<f64>)| {
            for (all, values) in all.iter_mut().zip(values.chunks(len)) {
                all.extend_from_slice(values);
            }
        },
    )?;
    Ok(all)
}

/// Weighted mean of one value per row.
pub(crate) fn mean(data: &Dataset, values: &[f64]) -> f64 {
    Moments::of_block(values, data.weights()).mean
}
