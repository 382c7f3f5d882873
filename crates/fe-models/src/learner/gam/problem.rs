//! The penalised least-squares problem of an additive model, and the choice of its smoothing.

use std::cmp::Ordering;

use fe_core::numeric::spline::Smoothing;
use nalgebra::{DMatrix, DVector};

use super::terms::{Differences, Terms};
use crate::jacobi_svd::JacobiSvd;
use crate::sample::Sample;
use crate::streaming_qr::{StreamingQr, divided};

/// Rows of the design that are in memory together.
const BLOCK: usize = 512;

/// Candidates for log10 of λ over the sum of weights, from the smoothest down, so many per decade.
const LOG_LAMBDA: (i32, i32) = (6, -9);
const PER_DECADE: i32 = 10;

/// Halvings of the interval in which a score has its minimum.
const HALVINGS: usize = 40;

/// A score must be better by this share before a rougher curve is taken: rounding must not decide.
const BETTER: f64 = 1e-10;

/// Σ w (y − X b)² + λ |D b|² + ε |b|², reduced by orthogonal transformations to as many rows as there
/// are coefficients.
pub(super) struct Problem {
    /// Triangular factor of √w X, with √w y turned as X is in a last column, and below that the norm of what no
    /// coefficients can explain.
    data: StreamingQr,
    /// D, and its rank.
    differences: Vec<Differences>,
    rank: usize,
    weight: f64,
}

/// Coefficients, and the effective degrees of freedom: the trace of the map from y to X b.
pub(super) struct Solution {
    pub(super) coefficients: Vec<f64>,
    pub(super) degrees: f64,
}

impl Problem {
    /// None if numbers are not finite.
    pub(super) fn new(sample: &Sample, terms: &Terms, target: &[f64]) -> Option<Self> {
        let last = terms.coefficients();
        let mut data = StreamingQr::new(last + 1);
        let mut splines = Vec::new();
        for start in (0..sample.len()).step_by(BLOCK) {
            let rows = start..sample.len().min(start + BLOCK);
            let mut block = DMatrix::zeros(rows.len(), last + 1);
            for (i, row) in rows.enumerate() {
                let root = sample.weight(row).sqrt();
                terms.read(|s| sample.columns[s][row], &mut splines);
                terms.at(&splines, |k, factor| block[(i, k)] += root * factor);
                block[(i, last)] = root * target[row];
            }
            data.absorb(block);
        }
        if !data.is_finite() {
            return None;
        }
        let (differences, rank) = terms.differences();
        Some(Self { data, differences, rank, weight: sample.total_weight() })
    }

    fn coefficients(&self) -> usize {
        self.data.r().ncols() - 1
    }

    /// √ε I for so many coefficients: what makes them unique. ε is the root of the machine precision, as in pygam.
    fn ridge(coefficients: usize) -> DMatrix<f64> {
        let root = f64::EPSILON.sqrt().sqrt();
        DMatrix::from_diagonal_element(coefficients, coefficients, root)
    }

    /// The triangular factor of the penalty and the ridge, function by function.
    fn penalty(&self, lambda: f64) -> DMatrix<f64> {
        let mut whole = Self::ridge(self.coefficients());
        for Differences { start, factor } in &self.differences {
            let mut triangle = StreamingQr::of_triangle(factor * lambda.sqrt());
            triangle.absorb(Self::ridge(factor.ncols()));
            whole.view_mut((*start, *start), factor.shape()).copy_from(triangle.r());
        }
        whole
    }

    /// The triangular factor of the rows of all three sums. The largest rows come first, without which
    /// a large penalty would drown the others in rounding errors.
    fn penalised(&self, lambda: f64) -> StreamingQr {
        let p = self.coefficients();
        let penalty = self.penalty(lambda).resize(p + 1, p + 1, 0.0);
        let data = self.data.r().clone();
        let [first, second] = if lambda > 1.0 { [penalty, data] } else { [data, penalty] };
        let mut triangle = StreamingQr::of_triangle(first);
        triangle.absorb(second);
        triangle
    }

    /// The minimum for a λ; none if numbers are not finite.
    pub(super) fn solve(&self, lambda: f64) -> Option<Solution> {
        let (factor, right, _) = self.penalised(lambda).split();
        let coefficients = factor.solve_upper_triangular(&right)?;
        // |R F⁻¹|² of the factors R and F without and with penalty is the trace.
        let degrees = divided(self.data.split().0, &factor)?.norm_squared();
        let finite = degrees.is_finite() && coefficients.iter().all(|b| b.is_finite());
        finite.then(|| Solution { coefficients: coefficients.iter().copied().collect(), degrees })
    }

    /// The λ with the best score: the minimum next to the best of a grid of candidates, or its
    /// smoothest where that scores as well. None if numbers are not finite.
    pub(super) fn choose(&self, rule: Smoothing) -> Option<f64> {
        let spectrum = self.spectrum()?;
        let score = |lambda: f64| match rule {
            Smoothing::Gcv => spectrum.gcv(lambda),
            Smoothing::Reml => spectrum.reml(lambda),
        };
        let steps = (LOG_LAMBDA.0 - LOG_LAMBDA.1) * PER_DECADE;
        let at = |step: f64| {
            self.weight * 10f64.powf(f64::from(LOG_LAMBDA.0) - step / f64::from(PER_DECADE))
        };
        let mut best = (0, score(at(0.0)));
        for step in 1..=steps {
            let candidate = score(at(f64::from(step)));
            if better(candidate, best.1) {
                best = (step, candidate);
            }
        }
        if best.0 == 0 || best.0 == steps {
            return Some(at(f64::from(best.0)));
        }
        Some(at(minimum(|step| score(at(step)), f64::from(best.0))))
    }

    /// None if numbers are not finite, or singular values cannot be found.
    fn spectrum(&self) -> Option<Spectrum> {
        let p = self.coefficients();
        let (factor, target, unexplained) = self.data.split();
        let mut triangle = StreamingQr::of_triangle(factor.clone());
        triangle.absorb(Self::ridge(p));
        let whole = triangle.r();
        let mut differences = DMatrix::zeros(p, p);
        for Differences { start, factor } in &self.differences {
            differences.view_mut((*start, *start), factor.shape()).copy_from(factor);
        }
        let mut penalty = StreamingQr::new(p);
        penalty.absorb(divided(differences, whole)?);
        let singular = JacobiSvd::of(penalty.r())?;
        // Q = R F⁻¹ and its columns along the directions.
        let map = divided(factor, whole)? * singular.directions();
        let shares = map.column_iter().map(|column| column.norm_squared()).collect();
        let projected = map.tr_mul(&target);
        Some(Spectrum {
            roughness: singular.values().iter().map(|value| value * value).collect(),
            shares,
            projected,
            map,
            target,
            unexplained: unexplained * unexplained,
            rank: self.rank,
            weight: self.weight,
        })
    }
}

/// The problem in directions in which the penalty is a multiple of the rest: all that is asked of a λ
/// is a sum over them.
struct Spectrum {
    /// The multiples, from the largest down.
    roughness: Vec<f64>,
    /// Share of each direction that the data determine: 1, but for what only the ridge does.
    shares: Vec<f64>,
    /// The target along the directions.
    projected: DVector<f64>,
    /// From directions to fitted values.
    map: DMatrix<f64>,
    target: DVector<f64>,
    unexplained: f64,
    rank: usize,
    weight: f64,
}

impl Spectrum {
    fn shrunk(&self, lambda: f64) -> DVector<f64> {
        let pairs = self.projected.iter().zip(&self.roughness);
        DVector::from_iterator(self.roughness.len(), pairs.map(|(g, r)| g / (1.0 + lambda * r)))
    }

    /// n RSS / (n − edf)² (Craven and Wahba 1979).
    fn gcv(&self, lambda: f64) -> f64 {
        let residual = (&self.target - &self.map * self.shrunk(lambda)).norm_squared();
        let pairs = self.shares.iter().zip(&self.roughness);
        let degrees: f64 = pairs.map(|(share, r)| share / (1.0 + lambda * r)).sum();
        let left = self.weight - degrees;
        if left < 1e-6 * self.weight {
            return f64::INFINITY;
        }
        self.weight * (residual + self.unexplained) / (left * left)
    }

    /// Twice the negative restricted log-likelihood with the variance profiled out, but for constants
    /// (Wood 2011).
    fn reml(&self, lambda: f64) -> f64 {
        let free = self.shares.iter().skip(self.rank).sum::<f64>().round();
        let left = self.weight - free;
        if left <= 0.0 {
            return f64::INFINITY;
        }
        let shrunk = self.shrunk(lambda);
        let penalty: f64 =
            shrunk.iter().zip(&self.roughness).map(|(c, r)| lambda * r * c * c).sum();
        let residual = (&self.target - &self.map * shrunk).norm_squared();
        let deviance = self.unexplained + residual + penalty;
        let determinant: f64 =
            self.roughness.iter().take(self.rank).map(|r| (1.0 / lambda + r).ln()).sum();
        left * (deviance.max(f64::MIN_POSITIVE) / left).ln() + determinant
    }
}

fn better(candidate: f64, best: f64) -> bool {
    let gain = BETTER * best.abs().max(f64::MIN_POSITIVE);
    candidate.partial_cmp(&(best - gain)) == Some(Ordering::Less)
}

/// The minimum within 1 of a point, by sections of the interval.
fn minimum(score: impl Fn(f64) -> f64, near: f64) -> f64 {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (near - 1.0, near + 1.0);
    for _ in 0..HALVINGS {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if score(a) <= score(b) { high = b } else { low = a }
    }
    (low + high) / 2.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fe_core::Dataset;
    use ndarray::Array2;

    use super::*;

    /// The gradient of the sum of squares, penalty and ridge is 0, with more coefficients than rows too.
    #[test]
    fn solutions_are_minima() {
        for (rows, lambda) in [(300, 0.3), (30, 0.0), (30, 0.1), (30, 1e5)] {
            let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((i * (j + 3)) as f64).sin());
            let y: Vec<f64> = (0..rows).map(|i| ((i * i) as f64).cos()).collect();
            let weights: Vec<f64> = (0..rows).map(|i| 0.5 + (i % 3) as f64).collect();
            let data = Dataset::from_rows(&x.view()).unwrap().with_weights(weights).unwrap();
            let sample = Sample::new("gam", &data, &y).unwrap();
            let terms = Terms::new(&sample.columns, 9, &[[0, 1]], 5);
            let problem = Problem::new(&sample, &terms, &y).unwrap();
            let b = DVector::from_vec(problem.solve(lambda).unwrap().coefficients);
            let mut design = DMatrix::zeros(rows, b.len());
            let mut splines = Vec::new();
            for i in 0..rows {
                terms.read(|s| sample.columns[s][i], &mut splines);
                terms.at(&splines, |k, factor| design[(i, k)] += factor);
            }
            let residual = DVector::from_fn(rows, |i, _| {
                sample.weight(i) * (y[i] - design.row(i).dot(&b.transpose()))
            });
            let mut differences = DMatrix::zeros(b.len(), b.len());
            for Differences { start, factor } in terms.differences().0 {
                differences.view_mut((start, start), factor.shape()).copy_from(&factor);
            }
            let rough = &differences * &b;
            let pulled = design.tr_mul(&residual)
                - differences.tr_mul(&rough) * lambda
                - &b * f64::EPSILON.sqrt();
            let size = (differences.abs().tr_mul(&rough.abs()) * lambda).amax().max(1.0);
            assert!(pulled.amax() < 1e-11 * size, "{rows}, {lambda}: {}", pulled.amax());
        }
    }
}
