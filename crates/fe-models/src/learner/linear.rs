//! Ordinary least squares.

use fe_core::error::ModelError;
use fe_core::model::{Answered, Model, Rows, SmoothTerm, TermSum};
use nalgebra::{DMatrix, DVector};

use crate::error::{FitError, Result};
use crate::fitted::{Fact, FittedModel};
use crate::jacobi_svd::JacobiSvd;
use crate::learner::{Fit, LearnerInfo, SumKind, Task};
use crate::options::Options;
use crate::sample::Sample;
use crate::streaming_qr::StreamingQr;

pub(crate) const LINEAR: LearnerInfo = LearnerInfo {
    name: "linear",
    about: "ordinary least squares with an intercept",
    task: Task::Regression,
    has_steps: false,
    options: &[],
    build: |_: &mut Options| Ok(Box::new(LeastSquares)),
};

#[derive(Debug)]
struct LeastSquares;

impl Fit for LeastSquares {
    /// The coefficients of least norm among those with the least weighted sum of squares, by the
    /// singular values of the centred features. Singular values up to max(N, D) ε times the largest
    /// count as 0, as in scikit-learn.
    fn fit(&self, sample: &Sample, _seed: u64) -> Result<Box<dyn FittedModel>> {
        let (n, d) = (sample.len(), sample.dimension());
        let means: Vec<f64> =
            sample.columns.iter().map(|x| sample.mean(x.iter().copied())).collect();
        let level = sample.mean(sample.target.iter().copied());
        let root = |row: usize| sample.weight(row).sqrt();
        let features = DMatrix::from_fn(n, d, |i, s| (sample.columns[s][i] - means[s]) * root(i));
        let target = DVector::from_fn(n, |i, _| (sample.target[i] - level) * root(i));
        let (coefficients, rank) =
            least_norm(features, target).ok_or(FitError::Overflow(LINEAR.name))?;
        let intercept = level - coefficients.iter().zip(&means).map(|(b, m)| b * m).sum::<f64>();
        if !(intercept.is_finite() && coefficients.iter().all(|b| b.is_finite())) {
            return Err(FitError::Overflow(LINEAR.name));
        }
        Ok(Box::new(Linear { intercept, coefficients, means, rank, names: sample.names.clone() }))
    }

    fn has_main_effect(&self, _feature: usize) -> bool {
        true
    }

    fn sum_kind(&self) -> Option<SumKind> {
        Some(SumKind::Smooth)
    }
}

/// The least solution of a least-squares problem, and its rank; none if numbers are not finite.
fn least_norm(matrix: DMatrix<f64>, right: DVector<f64>) -> Option<(Vec<f64>, usize)> {
    let (n, d) = matrix.shape();
    let limit = |singular: &JacobiSvd| {
        n.max(d) as f64 * f64::EPSILON * singular.values().first().copied().unwrap_or(0.0)
    };
    // Columns are rotated: of the matrix, or of its transpose, whichever has fewer.
    let (singular, solution) = if n > d {
        let mut both = matrix.insert_column(d, 0.0);
        both.set_column(d, &right);
        let mut triangle = StreamingQr::new(d + 1);
        triangle.absorb(both);
        let (factor, right, _) = triangle.split();
        let singular = JacobiSvd::of(&factor)?;
        let solution = singular.solve(&right, limit(&singular));
        (singular, solution)
    } else {
        let singular = JacobiSvd::of(&matrix.transpose())?;
        let solution = singular.solve_transposed(&right, limit(&singular));
        (singular, solution)
    };
    let limit = limit(&singular);
    let rank = singular.values().iter().filter(|value| **value > limit).count();
    Some((solution.iter().copied().collect(), rank))
}

/// An intercept and one coefficient for each feature.
#[derive(Debug, Clone, PartialEq)]
struct Linear {
    intercept: f64,
    coefficients: Vec<f64>,
    /// Of the features, over the rows of the fit.
    means: Vec<f64>,
    rank: usize,
    names: Vec<String>,
}

impl Model for Linear {
    fn dimension(&self) -> usize {
        self.coefficients.len()
    }

    fn predict(&self, rows: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        values.fill(self.intercept);
        for (coefficient, column) in self.coefficients.iter().zip(rows.columns()) {
            for (i, value) in values.iter_mut().enumerate() {
                *value += coefficient * column.get(i);
            }
        }
        Ok(())
    }

    fn has_partial(&self) -> bool {
        true
    }

    fn partial(&self, feature: usize, _rows: &Rows<'_>, values: &mut [f64]) -> Answered {
        let slope = self.coefficients.get(feature).ok_or(ModelError::NoDerivative { feature })?;
        values.fill(*slope);
        Ok(())
    }
}

impl FittedModel for Linear {
    fn main_effect(&self, feature: usize, x: f64) -> Option<f64> {
        Some(self.coefficients.get(feature)? * (x - self.means[feature]))
    }

    fn sum(&self) -> Option<TermSum<'_>> {
        let sum = TermSum::new(self.coefficients.len(), self.intercept);
        let terms = self.coefficients.iter().enumerate();
        Some(terms.fold(sum, |sum, (feature, &b)| sum.with_term(SmoothTerm::linear(b, feature))))
    }

    fn summary(&self) -> Vec<Fact> {
        let coefficients = self.names.iter().zip(&self.coefficients);
        let mut facts = vec![Fact::new("intercept", self.intercept)];
        facts.extend(coefficients.map(|(name, &b)| Fact::new(format!("coefficient {name}"), b)));
        facts.push(Fact::new("rank", self.rank as f64));
        facts
    }
}
