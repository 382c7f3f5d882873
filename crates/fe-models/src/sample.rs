//! Samples that models are fitted to: the rows that count, with their target.

use fe_core::Dataset;

use crate::error::{FitError, Result};

/// Rows of positive weight, with a finite target that is not constant.
pub(crate) struct Sample {
    /// One for each feature, a value for each row.
    pub(crate) columns: Vec<Vec<f64>>,
    /// One for each row.
    pub(crate) target: Vec<f64>,
    /// Positive, one for each row; none if all are 1.
    pub(crate) weights: Option<Vec<f64>>,
    /// Names of the features.
    pub(crate) names: Vec<String>,
}

impl Sample {
    /// The rows of a dataset that count, if the model of that name can be fitted to them.
    pub(crate) fn new(model: &'static str, data: &Dataset, target: &[f64]) -> Result<Self> {
        if target.len() != data.len() {
            return Err(FitError::WrongTargetLength { expected: data.len(), got: target.len() });
        }
        if let Some(row) = target.iter().position(|y| !y.is_finite()) {
            return Err(FitError::TargetNotFinite { row: row + 1, value: target[row] });
        }
        let weights = data.weights();
        let counts = |row: &usize| weights.is_none_or(|weights| weights[*row] > 0.0);
        let rows: Vec<usize> = (0..data.len()).filter(counts).collect();
        let pick = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let sample = Self {
            columns: (0..data.dimension()).map(|s| pick(data.feature(s))).collect(),
            target: pick(target),
            weights: weights.map(pick).filter(|weights| weights.iter().any(|&w| w != 1.0)),
            names: data.names().to_vec(),
        };
        sample.check_rows(model, 2)?;
        match sample.target.iter().all(|y| *y == sample.target[0]) {
            true => Err(FitError::ConstantTarget(sample.target[0])),
            false => Ok(sample),
        }
    }

    /// [`FitError::TooFewRows`] if there are fewer rows than that.
    pub(crate) fn check_rows(&self, model: &'static str, needed: usize) -> Result<()> {
        match self.len() {
            rows if rows < needed => Err(FitError::TooFewRows { model, rows, needed }),
            _ => Ok(()),
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.target.len()
    }

    /// Number of features.
    pub(crate) fn dimension(&self) -> usize {
        self.columns.len()
    }

    /// The weight of a row.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Sum of the weights.
    pub(crate) fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.len() as f64, |weights| weights.iter().sum())
    }

    /// Weighted mean of one value per row.
    pub(crate) fn mean(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        let sum: f64 = values.into_iter().enumerate().map(|(row, x)| self.weight(row) * x).sum();
        sum / self.total_weight()
    }
}
