//! Models that are step functions, told by their answers.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Column, Model, Rows};

/// Rows that are asked.
const ROWS: usize = 100;

/// Share of the range of a feature by which it is moved.
const MOVE: f64 = 1e-5;

/// Share of the rows whose answers stay as they are.
const MOST: f64 = 0.9;

/// True if a model is a step function along all features that are numbers, as trees are: where one of them moves a little, the
/// answers mostly stay the same to the last bit. Looked at are up to 100 rows; false where all features have levels.
///
/// # Errors
/// [`Error::Model`].
///
/// ```
/// use fe_core::{Dataset, model::FunctionModel, refits::has_steps};
/// let data = Dataset::from_rows(&ndarray::Array2::from_shape_fn((50, 1), |(i, _)| i as f64).view())?;
/// let stump = FunctionModel::new(1, |x| if x[0] < 20.5 { 0.0 } else { 1.0 });
/// assert!(has_steps(&stump, &data)?);
/// assert!(!has_steps(&FunctionModel::new(1, |x| 0.1 * x[0]), &data)?);
/// # Ok::<(), fe_core::Error>(())
/// ```
pub fn has_steps(model: &dyn Model, data: &Dataset) -> Result<bool> {
    let rows = data.len().min(ROWS);
    let columns = data.columns(0..rows);
    let answers = |columns: &[Column<'_>]| {
        let mut values = vec![0.0; rows * model.outputs()];
        model.predict(&Rows::new(columns, rows), &mut values).map_err(Error::from)?;
        Ok::<_, Error>(values)
    };
    let as_they_are = answers(&columns)?;
    let numbers = (0..data.dimension()).filter(|&feature| !data.has_levels(feature));
    let mut has_numbers = false;
    for feature in numbers {
        has_numbers = true;
        let values = data.feature(feature);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let moved: Vec<f64> = values[..rows].iter().map(|x| x + MOVE * (most - least)).collect();
        let mut columns = columns.clone();
        columns[feature] = Column::Values(&moved);
        let same = answers(&columns)?.iter().zip(&as_they_are).filter(|(a, b)| a == b).count();
        if (same as f64) < MOST * as_they_are.len() as f64 {
            return Ok(false);
        }
    }
    Ok(has_numbers)
}
