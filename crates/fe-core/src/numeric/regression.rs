//! Linear regression with an interval for each coefficient.

use nalgebra::{DMatrix, DVector};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A coefficient of a regression, in units of the target for each unit of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    /// Its estimate by least squares.
    pub estimate: f64,
    /// Its standard error, which holds whether or not all rows scatter alike (HC3; MacKinnon and White
    /// 1985).
    pub standard_error: f64,
    /// Lower end of the interval by Student's t.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

/// A regression of a target on some columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The intercept.
    pub intercept: Coefficient,
    /// One for each column, in their order.
    pub coefficients: Vec<Coefficient>,
    /// Share of the target's variance that the columns explain.
    pub r2: f64,
}

impl Regression {
    /// Least squares of a target on columns of the same length, with intervals of a level such as 0.95.
    ///
    /// None where the columns do not determine the coefficients: fewer rows than coefficients and one,
    /// columns that are weighted sums of each other, numbers that are not finite.
    ///
    /// ```
    /// use fe_core::numeric::regression::Regression;
    /// let x = vec![0.0, 1.0, 2.0, 3.0, 4.0];
    /// let y = [1.0, 3.1, 4.9, 7.0, 9.0];
    /// let fit = Regression::of(&[x], &y, 0.95).unwrap();
    /// assert!((fit.intercept.estimate - 1.02).abs() < 1e-12);
    /// let slope = fit.coefficients[0];
    /// assert!((slope.estimate - 1.99).abs() < 1e-12);
    /// assert!(slope.lower < 1.99 && 1.99 < slope.upper);
    /// ```
    #[must_use]
    pub fn of(columns: &[Vec<f64>], target: &[f64], level: f64) -> Option<Self> {
        let (n, p) = (target.len(), columns.len() + 1);
        let finite = columns.iter().flatten().chain(target).all(|number| number.is_finite());
        if n <= p || !finite || columns.iter().any(|column| column.len() != n) {
            return None;
        }
        let x = DMatrix::from_fn(n, p, |i, j| if j == 0 { 1.0 } else { columns[j - 1][i] });
        let y = DVector::from_column_slice(target);
        let (q, r) = x.clone().qr().unpack();
        let pivots = || r.diagonal().iter().map(|pivot| pivot.abs()).collect::<Vec<f64>>();
        // A column that the others make up leaves rounding of its own size.
        let sizes = (0..p).map(|j| x.column(j).norm() * n as f64 * f64::EPSILON);
        if pivots().iter().zip(sizes).any(|(pivot, size)| *pivot <= size) {
            return None;
        }
        let solution = r.solve_upper_triangular(&q.tr_mul(&y))?;
        let residuals = &y - &x * &solution;
        // Row i of the pseudoinverse's transpose times what the residual would be without the row.
        let inverse = r.solve_upper_triangular(&q.transpose())?;
        let mut variances = vec![0.0; p];
        for i in 0..n {
            let leverage = q.row(i).norm_squared();
            let left_out = residuals[i] / (1.0 - leverage).max(f64::EPSILON);
            for (j, variance) in variances.iter_mut().enumerate() {
                *variance += (inverse[(j, i)] * left_out).powi(2);
            }
        }
        let t = StudentsT::new(0.0, 1.0, (n - p) as f64).ok()?.inverse_cdf(0.5 + 0.5 * level);
        let each = solution.iter().zip(&variances).map(|(&estimate, variance)| {
            let standard_error = variance.sqrt();
            let (lower, upper) = (estimate - t * standard_error, estimate + t * standard_error);
            Coefficient { estimate, standard_error, lower, upper }
        });
        let mut coefficients: Vec<Coefficient> = each.collect();
        let intercept = coefficients.remove(0);
        let mean = y.mean();
        let total: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
        let r2 = if total > 0.0 { 1.0 - residuals.norm_squared() / total } else { f64::NAN };
        Some(Self { intercept, coefficients, r2 })
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    /// Random numbers between −1 and 1.
    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut numbers = ChaCha8Rng::seed_from_u64(seed);
        let between = |bits: u64| (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        (0..count).map(|_| between(numbers.next_u64())).collect()
    }

    #[test]
    fn coefficients_are_found_and_intervals_hold_them() {
        let (a, b, scatter) = (noise(400, 1), noise(400, 2), noise(400, 3));
        // The scatter grows with a.
        let y: Vec<f64> =
            (0..400).map(|i| 3.0 + 2.0 * a[i] - b[i] + 0.3 * (1.5 + a[i]) * scatter[i]).collect();
        let fit = Regression::of(&[a, b], &y, 0.999).unwrap();
        for (found, exact) in
            [(fit.intercept, 3.0), (fit.coefficients[0], 2.0), (fit.coefficients[1], -1.0)]
        {
            assert!(found.lower < exact && exact < found.upper, "{found:?} {exact}");
            assert!(found.upper - found.lower < 1.0, "{found:?}");
        }
        assert!((0.5..1.0).contains(&fit.r2), "{}", fit.r2);
    }

    #[test]
    fn a_mean_is_the_regression_on_nothing() {
        let y = [1.0, 2.0, 6.0];
        let fit = Regression::of(&[], &y, 0.95).unwrap();
        assert!((fit.intercept.estimate - 3.0).abs() < 1e-12);
        // HC3 of a mean: the sum of squares over (n − 1)².
        assert!((fit.intercept.standard_error - (14.0_f64 / 4.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_determine_the_coefficients_has_none() {
        let x = vec![1.0, 2.0, 3.0, 4.0];
        let twice: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        assert!(Regression::of(&[x.clone(), twice], &x, 0.95).is_none());
        assert!(Regression::of(&[vec![1.0; 4]], &x, 0.95).is_none());
        assert!(Regression::of(&[vec![1.0, 2.0]], &[1.0, 2.0], 0.95).is_none());
        assert!(Regression::of(&[vec![1.0, f64::NAN, 2.0]], &[1.0, 2.0, 3.0], 0.95).is_none());
        assert!(Regression::of(&[vec![1.0, 2.0]], &[1.0, 2.0, 3.0], 0.95).is_none());
    }
}
