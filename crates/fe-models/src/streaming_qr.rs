//! Streaming QR: the triangular factor of a matrix that arrives a block of rows at a time.

use nalgebra::{DMatrix, DVector};

/// Columns whose reflections are applied to the rest at once.
const PANEL: usize = 32;

/// R of the QR factorisation of all rows absorbed so far: what least squares need of them.
///
/// Each block is annihilated below R by Householder reflections, gathered in panels so that most of
/// the work is products of matrices (Schreiber and Van Loan 1989). The rows need never be in memory
/// together.
#[derive(Clone)]
pub(crate) struct StreamingQr {
    r: DMatrix<f64>,
}

impl StreamingQr {
    /// Without rows: all zero.
    pub(crate) fn new(columns: usize) -> Self {
        Self { r: DMatrix::zeros(columns, columns) }
    }

    /// With the rows of a matrix that is triangular already.
    pub(crate) fn of_triangle(r: DMatrix<f64>) -> Self {
        Self { r }
    }

    /// Adds rows; their matrix is used up as room. Of triangular ones only the triangle is worked on.
    pub(crate) fn absorb(&mut self, mut block: DMatrix<f64>) {
        let columns = self.r.ncols();
        let mut height = 0;
        for start in (0..columns).step_by(PANEL) {
            let end = columns.min(start + PANEL);
            height = height.max(filled(&block, start, end));
            let factor = self.annihilate(&mut block, (start, end), height);
            let (left, mut rest) = block.columns_range_pair_mut(start..end, end..);
            let (left, mut rest) = (left.rows(0, height), rest.rows_mut(0, height));
            let mut top = self.r.view_mut((start, end), (end - start, columns - end));
            let mut applied = top.clone_owned();
            // Products with a transpose that is not written out are many times slower.
            applied.gemm(1.0, &left.transpose(), &rest, 1.0);
            let applied = factor.transpose() * applied;
            top -= &applied;
            rest.gemm(-1.0, &left, &applied, 1.0);
        }
    }

    /// Annihilates a panel of the first rows of the block. What it leaves there are the reflections' vectors v, each
    /// with a 1 in its row of R; returned is T, with which the reflections together are I − V T Vᵀ.
    fn annihilate(
        &mut self,
        block: &mut DMatrix<f64>,
        (start, end): (usize, usize),
        height: usize,
    ) -> DMatrix<f64> {
        let mut factor = DMatrix::zeros(end - start, end - start);
        let mut block = block.rows_mut(0, height);
        for j in start..end {
            let below = block.column(j).norm();
            if below == 0.0 {
                continue;
            }
            let pivot = self.r[(j, j)];
            let turned = -pivot.hypot(below).copysign(pivot);
            let tau = (turned - pivot) / turned;
            self.r[(j, j)] = turned;
            block.column_mut(j).unscale_mut(pivot - turned);
            let (v, mut rest) = block.columns_range_pair_mut(j..=j, j + 1..end);
            for (k, mut column) in rest.column_iter_mut().enumerate() {
                let above = &mut self.r[(j, j + 1 + k)];
                let step = tau * (*above + v.column(0).dot(&column));
                *above -= step;
                column.axpy(-step, &v.column(0), 1.0);
            }
            let place = j - start;
            let overlap = block.columns(start, place).tr_mul(&block.column(j));
            let column = factor.view((0, 0), (place, place)) * overlap * -tau;
            factor.view_mut((0, place), (place, 1)).copy_from(&column);
            factor[(place, place)] = tau;
        }
        factor
    }

    /// The factor, let go.
    pub(crate) fn into_r(self) -> DMatrix<f64> {
        self.r
    }

    /// The factor.
    pub(crate) fn r(&self) -> &DMatrix<f64> {
        &self.r
    }

    /// True if all numbers of the factor are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.r.iter().all(|x| x.is_finite())
    }

    /// The factor of all columns but the last, the last column beside it, and below that the norm of
    /// what those columns leave of the last.
    pub(crate) fn split(&self) -> (DMatrix<f64>, DVector<f64>, f64) {
        let last = self.r.ncols() - 1;
        let left = self.r.view((0, 0), (last, last)).into_owned();
        (left, self.r.view((0, last), (last, 1)).column(0).into_owned(), self.r[(last, last)].abs())
    }
}

/// M F⁻¹ for a triangular factor F; none if that has no inverse. Where M is triangular, only its triangle is worked on.
pub(crate) fn divided(mut matrix: DMatrix<f64>, factor: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let columns = factor.ncols();
    let mut height = 0;
    for start in (0..columns).step_by(PANEL) {
        let end = columns.min(start + PANEL);
        height = height.max(filled(&matrix, start, end));
        let (done, mut panel) = matrix.columns_range_pair_mut(..start, start..end);
        let mut panel = panel.rows_mut(0, height);
        let above = factor.view((0, start), (start, end - start));
        panel.gemm(-1.0, &done.rows(0, height), &above, 1.0);
        for j in start..end {
            for k in start..j {
                let (known, mut column) = panel.columns_range_pair_mut(k - start, j - start);
                column.axpy(-factor[(k, j)], &known, 1.0);
            }
            if factor[(j, j)] == 0.0 {
                return None;
            }
            panel.column_mut(j - start).unscale_mut(factor[(j, j)]);
        }
    }
    Some(matrix)
}

/// The number of rows down to the last one that is not 0 in some columns.
fn filled(matrix: &DMatrix<f64>, start: usize, end: usize) -> usize {
    let of = |j: usize| matrix.column(j).iter().rposition(|x| *x != 0.0).map_or(0, |row| row + 1);
    (start..end).map(of).max().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn matrix(rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |i, j| ((i * 37 + j * 101 + i * j) as f64).sin())
    }

    #[test]
    fn the_factor_has_the_products_of_the_columns_however_rows_arrive() {
        for columns in [1, 5, PANEL, 2 * PANEL + 7] {
            let whole = matrix(150, columns);
            let products = whole.tr_mul(&whole);
            for block in [1, 40, 150] {
                let mut triangle = StreamingQr::new(columns);
                for start in (0..150).step_by(block) {
                    triangle.absorb(whole.rows(start, block.min(150 - start)).into_owned());
                }
                let r = triangle.r();
                assert!((r.tr_mul(r) - &products).amax() < 1e-12, "{columns}, {block}");
                assert!(
                    (0..columns).all(|j| r.column(j).rows(j + 1, columns - j - 1).amax() == 0.0)
                );
            }
        }
    }

    #[test]
    fn triangles_and_rows_with_gaps_are_absorbed_as_any_others() {
        let columns = 2 * PANEL + 7;
        let shapes: [fn(usize, usize) -> bool; 4] = [
            |i, j| i <= j,
            |i, j| i == j,
            |i, j| (PANEL..PANEL + 5).contains(&j) && i < 40,
            |i, j| i >= j,
        ];
        for is_filled in shapes {
            let whole = matrix(columns, columns);
            let block = DMatrix::from_fn(columns, columns, |i, j| {
                f64::from(is_filled(i, j)) * whole[(i, j)]
            });
            let mut triangle = StreamingQr::of_triangle(matrix(columns, columns).upper_triangle());
            let products = triangle.r().tr_mul(triangle.r()) + block.tr_mul(&block);
            triangle.absorb(block);
            assert!((triangle.r().tr_mul(triangle.r()) - products).amax() < 1e-12);
        }
    }

    #[test]
    fn what_is_divided_by_a_factor_gives_the_matrix_times_it() {
        for columns in [1, PANEL, 2 * PANEL + 7] {
            let factor = matrix(columns, columns).upper_triangle()
                + DMatrix::from_diagonal_element(columns, columns, 40.0);
            for whole in [matrix(50, columns), matrix(columns, columns).upper_triangle()] {
                let quotient = divided(whole.clone(), &factor).unwrap();
                assert!((quotient * &factor - whole).amax() < 1e-13, "{columns}");
            }
        }
        let mut factor = DMatrix::identity(40, 40);
        factor[(37, 37)] = 0.0;
        assert!(divided(matrix(3, 40), &factor).is_none());
    }
}
