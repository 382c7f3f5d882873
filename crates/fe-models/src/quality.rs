//! Quality of predictions of what was observed: R², RMSE, accuracy, log-loss.

use serde::Serialize;

use crate::learner::Task;

/// Agreement of predictions with a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Quality {
    /// Of a single output.
    Regression {
        /// 1 − mean squared error / variance of the target; missing where the target is constant.
        r2: Option<f64>,
        /// Root of the mean squared error, in units of the target.
        rmse: f64,
        /// Mean absolute error, in units of the target.
        mae: f64,
    },
    /// Of the probabilities of classes.
    Classification {
        /// Share of the rows whose most probable class is the observed one.
        accuracy: f64,
    },
}

impl Quality {
    /// Of the outputs of a model: all rows of the first output, then all rows of the next. For a
    /// classifier the target holds the number of the class, counted from 0. Weights are 1 where there
    /// are none. None without rows of positive weight, and for lengths that do not fit.
    ///
    /// ```
    /// use fe_models::{Quality, Task};
    /// let quality = Quality::of(Task::Regression, &[1.0, 2.0, 4.0], &[1.0, 2.0, 3.0], None);
    /// assert!(matches!(quality, Some(Quality::Regression { r2: Some(r2), .. }) if (r2 - 0.5).abs() < 1e-12));
    /// ```
    #[must_use]
    pub fn of(
        task: Task,
        outputs: &[f64],
        target: &[f64],
        weights: Option<&[f64]>,
    ) -> Option<Self> {
        let n = target.len();
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let total: f64 = (0..n).map(weight).sum();
        if total <= 0.0 || !outputs.len().is_multiple_of(n) || weights.is_some_and(|w| w.len() != n)
        {
            return None;
        }
        let mean = |of: &dyn Fn(usize) -> f64| {
            (0..n).map(|row| weight(row) * of(row)).sum::<f64>() / total
        };
        if task == Task::Classification {
            let correct = |row: usize| f64::from(f64::from(best(outputs, n, row)) == target[row]);
            return Some(Self::Classification { accuracy: mean(&correct) });
        }
        let error = |row: usize| outputs[row] - target[row];
        let level = mean(&|row| target[row]);
        let mse = mean(&|row| error(row).powi(2));
        let variance = mean(&|row| (target[row] - level).powi(2));
        Some(Self::Regression {
            r2: (variance > 0.0).then(|| 1.0 - mse / variance),
            rmse: mse.sqrt(),
            mae: mean(&|row| error(row).abs()),
        })
    }
}

/// The first of the outputs that are largest in a row.
fn best(outputs: &[f64], rows: usize, row: usize) -> u32 {
    let mut best = (0, f64::NEG_INFINITY);
    for (place, value) in outputs.iter().skip(row).step_by(rows).enumerate() {
        if *value > best.1 {
            best = (place as u32, *value);
        }
    }
    best.0
}

impl std::fmt::Display for Quality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Regression { r2: Some(r2), rmse, mae } => {
                write!(f, "R² {r2:.4}, RMSE {rmse:.6}, MAE {mae:.6}")
            }
            Self::Regression { r2: None, rmse, mae } => write!(f, "RMSE {rmse:.6}, MAE {mae:.6}"),
            Self::Classification { accuracy } => write!(f, "accuracy {accuracy:.4}"),
        }
    }
}
