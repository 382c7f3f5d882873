//! The additive fit whose residuals the test that two features do not interact permutes.

use fe_core::Dataset;
use fe_core::model::Rows;
use fe_core::refits::AdditiveFit;

use crate::error::{FitError, Result};
use crate::learner::Learner;

/// An additive model of penalised splines, smoothed as generalised cross-validation says (`gam` with `lambda` = `gcv`), of a
/// numeric target: no two features interact in it.
///
/// # Errors
/// As [`Learner::fit`].
///
/// ```
/// use fe_models::additive_fit;
/// let rows = ndarray::Array2::from_shape_fn((60, 2), |(i, j)| ((i * (7 + 4 * j)) % 60) as f64 / 59.0);
/// let data = fe_core::Dataset::from_rows(&rows.view())?;
/// let target: Vec<f64> = rows.outer_iter().map(|x| 3.0 * x[0] - x[1]).collect();
/// let additive = additive_fit(&data, &target)?;
/// assert!((additive.fitted[7] - target[7]).abs() < 0.01 && additive.degrees < 10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn additive_fit(data: &Dataset, target: &[f64]) -> Result<AdditiveFit> {
    let gam = Learner::new("gam", &[("lambda".to_owned(), "gcv".to_owned())])?;
    let refused = |reason: String| FitError::Refused { model: gam.name(), reason };
    let model = gam.fit(data, target, 0)?;
    let mut fitted = vec![0.0; data.len()];
    let rows = data.columns(0..data.len());
    model
        .predict(&Rows::new(&rows, data.len()), &mut fitted)
        .map_err(|e| refused(e.to_string()))?;
    let facts = model.summary();
    let degrees = facts.iter().find(|fact| fact.name == "degrees of freedom");
    let degrees = degrees.ok_or_else(|| refused("it has no degrees of freedom".to_owned()))?.value;
    Ok(AdditiveFit { fitted, degrees })
}
