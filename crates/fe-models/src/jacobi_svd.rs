//! Jacobi SVD: singular values and vectors of small matrices.

use nalgebra::{DMatrix, DVector};

/// Sweeps after which a decomposition is given up; ten are many.
const MOST_SWEEPS: usize = 60;

/// A = W Vᵀ, with W of orthogonal columns whose lengths are the singular values, and V orthogonal.
///
/// By rotations of pairs of columns (Hestenes 1958; one-sided Jacobi, Golub and Van Loan 2013, section
/// 8.6.3): slower than bidiagonalisation, but small singular values are as accurate as large ones, down
/// to the rounding errors of the largest, which tells a rank apart from these.
pub(crate) struct JacobiSvd {
    w: DMatrix<f64>,
    v: DMatrix<f64>,
    /// From the largest down.
    values: Vec<f64>,
}

impl JacobiSvd {
    /// None if numbers are not finite or rotations do not end.
    pub(crate) fn of(matrix: &DMatrix<f64>) -> Option<Self> {
        let n = matrix.ncols();
        let mut w: Vec<DVector<f64>> = matrix.column_iter().map(|c| c.into_owned()).collect();
        let mut v: Vec<DVector<f64>> =
            DMatrix::identity(n, n).column_iter().map(|c| c.into_owned()).collect();
        let largest = w.iter().map(|column| column.norm()).fold(0.0, f64::max);
        let mut sweeps = 0;
        while sweep(&mut w, &mut v, f64::EPSILON * largest)? {
            sweeps += 1;
            if sweeps == MOST_SWEEPS {
                return None;
            }
        }
        let lengths: Vec<f64> = w.iter().map(|column| column.norm()).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
        let sorted =
            |columns: &[DVector<f64>], rows| DMatrix::from_fn(rows, n, |i, j| columns[order[j]][i]);
        Some(Self {
            w: sorted(&w, matrix.nrows()),
            v: sorted(&v, n),
            values: order.iter().map(|&j| lengths[j]).collect(),
        })
    }

    /// The singular values, from the largest down.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// V, a column for each singular value.
    pub(crate) fn directions(&self) -> &DMatrix<f64> {
        &self.v
    }

    /// A⁺ b, with singular values up to a limit taken for 0.
    pub(crate) fn solve(&self, right: &DVector<f64>, limit: f64) -> DVector<f64> {
        &self.v * self.shrink(self.w.tr_mul(right), limit)
    }

    /// The same for the transpose of A.
    pub(crate) fn solve_transposed(&self, right: &DVector<f64>, limit: f64) -> DVector<f64> {
        &self.w * self.shrink(self.v.tr_mul(right), limit)
    }

    fn shrink(&self, mut along: DVector<f64>, limit: f64) -> DVector<f64> {
        for (component, value) in along.iter_mut().zip(&self.values) {
            *component = if *value > limit { *component / value / value } else { 0.0 };
        }
        along
    }
}

/// Rotates every pair of columns that are not orthogonal; whether there were any. Columns no longer than
/// `noise` are rounding errors, and never become orthogonal. None if numbers are not finite.
fn sweep(w: &mut [DVector<f64>], v: &mut [DVector<f64>], noise: f64) -> Option<bool> {
    let mut rotated = false;
    let orthogonal = w.first().map_or(0.0, |column| (column.len() as f64).sqrt() * f64::EPSILON);
    for a in 0..w.len() {
        for b in a + 1..w.len() {
            let (first, second) = (w[a].norm_squared(), w[b].norm_squared());
            let product = w[a].dot(&w[b]);
            if !(first + second + product).is_finite() {
                return None;
            }
            let (shorter, longer) = (first.min(second).sqrt(), first.max(second).sqrt());
            if shorter <= noise || product.abs() <= orthogonal * shorter * longer {
                continue;
            }
            rotated = true;
            let half = (second - first) / (2.0 * product);
            let tangent = half.signum() / (half.abs() + half.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            rotate(w, a, b, cosine, cosine * tangent);
            rotate(v, a, b, cosine, cosine * tangent);
        }
    }
    Some(rotated)
}

fn rotate(columns: &mut [DVector<f64>], a: usize, b: usize, cosine: f64, sine: f64) {
    let (left, right) = columns.split_at_mut(b);
    for (x, y) in left[a].iter_mut().zip(right[0].iter_mut()) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_the_product_of_its_parts() {
        for (rows, columns) in [(7, 4), (4, 4), (3, 6), (5, 1)] {
            let matrix = DMatrix::from_fn(rows, columns, |i, j| {
                ((i * 31 + j * 17 + i * j * j) as f64).cos()
            });
            let parts = JacobiSvd::of(&matrix).unwrap();
            assert!((&parts.w * parts.v.transpose() - &matrix).amax() < 1e-14);
            let identity = DMatrix::<f64>::identity(columns, columns);
            assert!((parts.v.tr_mul(&parts.v) - identity).amax() < 1e-14);
            assert!(parts.values.windows(2).all(|two| two[0] >= two[1]));
            assert!(parts.values.iter().filter(|v| **v > 1e-14).count() <= rows.min(columns));
        }
    }

    #[test]
    fn small_singular_values_are_accurate() {
        // Columns of sizes from 1 to 1e-20, orthogonal but for a turn: the values are known.
        let (c, s) = (0.6, 0.8);
        let matrix = DMatrix::from_row_slice(2, 2, &[c, -s * 1e-20, s, c * 1e-20]);
        let values = JacobiSvd::of(&matrix).unwrap().values;
        assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] / 1e-20 - 1.0).abs() < 1e-15);
    }
}
