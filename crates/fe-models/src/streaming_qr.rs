//! Streaming QR: the triangular factor of a matrix that arrives a block of rows at a time.

use nalgebra::{DMatrix, DVector};

/// Columns whose reflections are applied to the rest at once.
const PANEL: usize = 32;

/// R of the QR factorisation of all rows absorbed so far: what least squares need of them.
///
/// Each block is annihilated below R by Householder reflections, gathered in panels so that most of
/// the work is products of matrices (Schreiber and Van Loan 1989). The rows need never be in memory
/// together.
pub(crate) struct StreamingQr {
    r: DMatrix<f64>,
}

impl StreamingQr {
    /// Without rows: all zero.
    pub(crate) fn new(columns: usize) -> Self {
        Self { r: DMatrix::zeros(columns, columns) }
    }

    /// Adds rows; their matrix is used up as room.
    pub(crate) fn absorb(&mut self, mut block: DMatrix<f64>) {
        let columns = self.r.ncols();
        for start in (0..columns).step_by(PANEL) {
            let end = columns.min(start + PANEL);
            let factor = self.annihilate(&mut block, start, end);
            let (left, mut rest) = block.columns_range_pair_mut(start..end, end..);
            let mut top = self.r.view_mut((start, end), (end - start, columns - end));
            let mut applied = top.clone_owned();
            applied.gemm_tr(1.0, &left, &rest, 1.0);
            let applied = factor.tr_mul(&applied);
            top -= &applied;
            rest.gemm(-1.0, &left, &applied, 1.0);
        }
    }

    /// Annihilates a panel of the block. What it leaves there are the reflections' vectors v, each
    /// with a 1 in its row of R; returned is T, with which the reflections together are I − V T Vᵀ.
    fn annihilate(&mut self, block: &mut DMatrix<f64>, start: usize, end: usize) -> DMatrix<f64> {
        let mut factor = DMatrix::zeros(end - start, end - start);
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

#[cfg(test)]
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
}
