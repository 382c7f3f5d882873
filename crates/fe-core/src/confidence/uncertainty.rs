//! The covariance of a curve, and the quantiles of bands that follow from it.

use std::borrow::Cow;
use std::convert::Infallible;

use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::erf::erfc;

use crate::error::{Error, Result};
use crate::numeric::blocks::fold_blocks;

/// Simulated curves for a simultaneous band: the level 95 % is then met to ± 0.5 %.
const DRAWS: usize = 2000;

/// Curves that one thread simulates at a time.
const BLOCK: usize = 250;

/// Most places that are simulated along a curve.
const MOST_SIMULATED: usize = 128;

/// The same along each side of a surface.
const MOST_ON_A_SIDE: usize = 20;

/// Student's t with more degrees of freedom is normal to five digits.
const MOST_DEGREES: f64 = 1e5;

/// Standard errors by which what is no chance moves a curve at most.
const MOST_OF_A_BOUND: f64 = 2.0;

/// Variances count as equal from this ratio on.
const EQUAL: f64 = 1.0 - 1e-6;

/// Share of a variance that rounding leaves where nothing else is left.
const ROUNDING: f64 = 1e-13;

/// The covariance of a curve at G places as F Fᵀ, and at each place the degrees of freedom with which
/// its variance is known.
///
/// ```
/// use fe_core::confidence::Uncertainty;
/// use nalgebra::DMatrix;
/// let factor = DMatrix::from_row_slice(2, 2, &[3.0, 4.0, 0.0, 1.0]);
/// let uncertainty = Uncertainty::new(factor, vec![f64::INFINITY; 2]);
/// assert_eq!(uncertainty.standard_errors(), [5.0, 1.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertainty {
    factor: DMatrix<f64>,
    degrees: Vec<f64>,
    /// At each place the root of the variance that stands for what is no chance; nothing where there is none anywhere.
    bounds: Vec<f64>,
}

impl Uncertainty {
    /// From the factor F, G × R, and the degrees of freedom at the G places.
    #[must_use]
    pub fn new(factor: DMatrix<f64>, degrees: Vec<f64>) -> Self {
        debug_assert_eq!(factor.nrows(), degrees.len());
        Self { factor, degrees, bounds: Vec::new() }
    }

    /// From independent columns of F, each known with its own degrees of freedom, of which those of the sum follow
    /// (Welch 1947).
    #[must_use]
    pub fn of_columns(factor: DMatrix<f64>, degrees: &[f64]) -> Self {
        let of_row = |row: usize| {
            let variances = factor.row(row).into_iter().map(|f| f * f);
            degrees_of_sum(variances.zip(degrees.iter().copied()))
        };
        let degrees = (0..factor.nrows()).map(of_row).collect();
        Self::new(factor, degrees)
    }

    /// From independent columns of F and further ones, all with their own degrees of freedom in this order. The further ones
    /// are of what is no chance but is not known: the curve is off by no more than two of their standard errors, however sure
    /// a band is to be.
    pub(crate) fn of_chance_and_bounds(
        chance: DMatrix<f64>,
        bounds: &DMatrix<f64>,
        degrees: &[f64],
    ) -> Self {
        let known = chance.ncols();
        let mut factor = chance.resize_horizontally(known + bounds.ncols(), 0.0);
        factor.columns_mut(known, bounds.ncols()).copy_from(bounds);
        let bounds = bounds.row_iter().map(|row| row.norm()).collect();
        Self { bounds, ..Self::of_columns(factor, degrees) }
    }

    /// From a covariance matrix, G × G; the factor is found by Cholesky's method with pivots, which
    /// stops where nothing but rounding is left.
    #[must_use]
    pub fn of_covariance(mut covariance: DMatrix<f64>, degrees: Vec<f64>) -> Self {
        let places = covariance.nrows();
        if covariance.iter().any(|value| !value.is_finite()) {
            // What is too large for a number must not pass for certain.
            return Self::new(DMatrix::from_element(places, 1, f64::NAN), degrees);
        }
        let original: Vec<f64> = covariance.diagonal().iter().copied().collect();
        let largest = original.iter().copied().fold(0.0, f64::max);
        let mut columns: Vec<DVector<f64>> = Vec::new();
        while columns.len() < places {
            let left = |i: usize| covariance[(i, i)];
            let most = (0..places).map(left).fold(0.0, f64::max);
            // Rounding must not decide between equals: where a mean over the places is taken away, the
            // last two are.
            let Some(pivot) = (0..places).find(|&i| left(i) >= EQUAL * most) else { break };
            if left(pivot) <= ROUNDING * largest {
                break;
            }
            let column = covariance.column(pivot) / left(pivot).sqrt();
            covariance.ger(-1.0, &column, &column, 1.0);
            columns.push(column);
        }
        let mut factor = DMatrix::zeros(places, columns.len());
        for (j, column) in columns.iter().enumerate() {
            factor.set_column(j, column);
        }
        Self::new(factor, degrees)
    }

    /// The same at no more than so many places and from no more columns than places: what is simulated costs as much as
    /// there are of both, and of many places each goes along with its neighbours. Places lie along one side, or over
    /// several, the last of them inside.
    pub(crate) fn thinned(&self, sides: &[usize]) -> Cow<'_, Self> {
        let (places, columns) = self.factor.shape();
        debug_assert_eq!(places, sides.iter().product::<usize>());
        let most = if sides.len() > 1 { MOST_ON_A_SIDE } else { MOST_SIMULATED };
        let enough = most.pow(sides.len() as u32);
        if places <= enough && columns <= enough {
            return Cow::Borrowed(self);
        }
        let mut rows = vec![0];
        for &side in sides {
            let step = side.div_ceil(most).max(1);
            let along = |row: &usize| {
                let first = row * side;
                (0..side).step_by(step).map(move |place| first + place)
            };
            rows = rows.iter().flat_map(along).collect();
        }
        let factor = self.factor.select_rows(&rows);
        let degrees = rows.iter().map(|&row| self.degrees[row]).collect();
        Cow::Owned(Self::of_covariance(&factor * factor.transpose(), degrees))
    }

    pub(crate) fn into_factor(self) -> DMatrix<f64> {
        self.factor
    }

    /// Standard error of the curve at each place, in units of the output.
    #[must_use]
    pub fn standard_errors(&self) -> Vec<f64> {
        self.factor.row_iter().map(|row| row.norm()).collect()
    }

    /// Distance of the limits of a band from the curve at each place, from so many standard errors there.
    pub(crate) fn half_widths(&self, quantiles: &[f64]) -> Vec<f64> {
        let half = |(i, error): (usize, f64)| match self.bounds.get(i) {
            Some(&bound) => {
                let by_chance = (error * error - bound * bound).max(0.0).sqrt();
                (quantiles[i] * error).min(quantiles[i] * by_chance + MOST_OF_A_BOUND * bound)
            }
            None => quantiles[i] * error,
        };
        self.standard_errors().into_iter().enumerate().map(half).collect()
    }

    /// Variance of the curve at each place.
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        self.factor.row_iter().map(|row| row.norm_squared()).collect()
    }

    /// Degrees of freedom of the variance at each place; infinite where it is 0.
    #[must_use]
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// At each place the quantile of Student's t that leaves so much outside on both sides together.
    ///
    /// # Errors
    /// None for a tail between 0 and 1.
    pub fn quantiles(&self, tail: f64) -> Result<Vec<f64>> {
        // Mostly all places have the same, and a quantile takes long.
        let mut last: Option<(f64, f64)> = None;
        let quantile = |&degrees: &f64| match last {
            Some((known, quantile)) if known == degrees => Ok(quantile),
            _ => {
                let quantile = student(tail, degrees)?;
                last = Some((degrees, quantile));
                Ok(quantile)
            }
        };
        self.degrees.iter().map(quantile).collect()
    }

    /// The critical value of a simultaneous band: standard errors that are exceeded somewhere along the curve
    /// with probability 1 − `level` if it is normal, the quantile of the largest of |F z| / ‖F‖ over the
    /// places, z standard normal, from 2000 draws. 0 where nothing is uncertain.
    ///
    /// # Errors
    /// None; numbers are drawn from the seed, and the number of threads does not matter.
    pub fn critical_value(&self, level: f64, seed: u64) -> Result<f64> {
        let mut extremes = self.extremes(seed);
        if extremes.is_empty() {
            return Ok(0.0);
        }
        // Along a curve that is uncertain in one way only, chance must not make it less than at a point.
        let at_a_point = Normal::standard().inverse_cdf(0.5 + level / 2.0);
        Ok(order_statistic(&mut extremes, level).max(at_a_point))
    }

    /// The p-value of the test that a curve with this covariance is nowhere more standard errors from 0 than by chance:
    /// of the largest of |curve| / ‖F‖ over the places that say something, by the law that a simultaneous band is made by.
    /// At least 1/2001; none where no place says something.
    pub(crate) fn p_value(
        &self,
        curve: &[f64],
        says_something: impl Fn(usize) -> bool,
        (sides, seed): (&[usize], u64),
    ) -> Result<Option<f64>> {
        let errors = self.standard_errors();
        let least = least_error(&errors);
        let places = (0..errors.len()).filter(|&i| errors[i] > least && says_something(i));
        let mut tail: Option<f64> = None;
        for place in places {
            let own = student_tail((curve[place] / errors[place]).abs(), self.degrees[place])?;
            tail = Some(tail.map_or(own, |least| least.min(own)));
        }
        let Some(tail) = tail else { return Ok(None) };
        let extremes = self.thinned(sides).extremes(seed);
        let farthest = Normal::standard().inverse_cdf(1.0 - tail / 2.0);
        let farther = extremes.iter().filter(|&&extreme| extreme >= farthest).count();
        let share = (1 + farther) as f64 / (1 + extremes.len()) as f64;
        Ok(Some(share.max(tail)))
    }

    /// The largest of |F z| / ‖F‖ over the places for each of the draws of z, in no order; nothing where nothing is
    /// uncertain.
    fn extremes(&self, seed: u64) -> Vec<f64> {
        let errors = self.standard_errors();
        let least = least_error(&errors);
        let rows: Vec<usize> = (0..errors.len()).filter(|&row| errors[row] > least).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let mut scaled = self.factor.select_rows(&rows);
        for (mut row, &place) in scaled.row_iter_mut().zip(&rows) {
            row /= errors[place];
        }
        let mut extremes: Vec<f64> = Vec::with_capacity(DRAWS);
        let work = |draws: std::ops::Range<usize>| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((draws.start / BLOCK) as u64);
            // All at once: a product of matrices takes a fraction of the time of one by one.
            let count = scaled.ncols() * draws.len();
            let z = StandardNormal.sample_iter(&mut random).take(count);
            let z = DMatrix::from_iterator(scaled.ncols(), draws.len(), z);
            let curves = &scaled * z;
            Ok::<Vec<f64>, Infallible>(curves.column_iter().map(|curve| curve.amax()).collect())
        };
        let Ok(()) = fold_blocks(DRAWS, BLOCK, work, |block| extremes.extend(block));
        extremes
    }
}

/// The degrees of freedom of a sum of variances v, each known with its own ν: (Σ v)² / Σ v²/(ν + 2) − 2 (Welch 1947).
/// The square of a variance that is known with ν degrees of freedom is too large by 1 + 2/ν on average, which
/// Satterthwaite's (Σ v)² / Σ v²/ν (1946) does not know: of many variances of few instances it makes too few.
pub(crate) fn degrees_of_sum(parts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, squares) = parts.fold((0.0, 0.0), |(sum, squares), (variance, degrees)| {
        (sum + variance, squares + variance * variance / (degrees + 2.0))
    });
    if squares > 0.0 { sum * sum / squares - 2.0 } else { f64::INFINITY }
}

/// Standard errors up to this, beside others, are rounding.
pub(super) fn least_error(errors: &[f64]) -> f64 {
    ROUNDING.sqrt() * errors.iter().copied().fold(0.0, f64::max)
}

/// The quantile of Student's t that leaves `tail` outside on both sides together.
pub(super) fn student(tail: f64, degrees: f64) -> Result<f64> {
    let quantile = if degrees > MOST_DEGREES {
        Normal::standard().inverse_cdf(1.0 - tail / 2.0)
    } else {
        let student = StudentsT::new(0.0, 1.0, degrees);
        let student = student.map_err(|e| Error::Incompatible(e.to_string()))?;
        student.inverse_cdf(1.0 - tail / 2.0)
    };
    Ok(quantile)
}

/// The probability that Student's t is farther from 0.
fn student_tail(quantile: f64, degrees: f64) -> Result<f64> {
    if degrees > MOST_DEGREES {
        return Ok(two_sided_tail(quantile));
    }
    let student = StudentsT::new(0.0, 1.0, degrees);
    let student = student.map_err(|e| Error::Incompatible(e.to_string()))?;
    Ok(2.0 * student.sf(quantile))
}

/// The probability that a standard normal number is farther from 0.
pub(super) fn two_sided_tail(quantile: f64) -> f64 {
    erfc(quantile / std::f64::consts::SQRT_2)
}

/// The quantile at place p (n + 1) of n values in order, with straight lines between.
pub(super) fn order_statistic(values: &mut [f64], probability: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    let place = (probability * (values.len() + 1) as f64 - 1.0).clamp(0.0, last as f64);
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    values[below] + (values[above] - values[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_at_many_places_from_many_columns_are_simulated_at_fewer_places() {
        // A random walk, seen twice after each step.
        let walk = |steps: usize| {
            let factor =
                DMatrix::from_fn(2 * steps, steps, |i, j| if 2 * j <= i { 1.0 } else { 0.0 });
            Uncertainty::new(factor, vec![f64::INFINITY; 2 * steps])
        };
        let (long, short) = (walk(1200), walk(32));
        let thinned = long.thinned(&[2400]);
        assert_eq!(thinned.factor.shape(), (127, 127));
        for (place, variance) in thinned.variances().into_iter().enumerate() {
            let steps = (2400_usize.div_ceil(128) * place / 2 + 1) as f64;
            assert!((variance / steps - 1.0).abs() < 1e-9, "{place}: {variance}");
        }
        // As many places as a band is mostly made for are all simulated.
        assert!(matches!(short.thinned(&[64]), Cow::Borrowed(_)));
        assert_eq!(walk(200).thinned(&[400]).factor.nrows(), 100);
        assert_eq!(walk(64).thinned(&[128]).factor.nrows(), 128);
    }

    /// Equal variances, each known with 4 degrees of freedom: those of their estimates are theirs on average, where those of
    /// Satterthwaite are a third too few.
    #[test]
    fn degrees_of_freedom_of_a_sum_are_added_up_where_all_parts_are_alike() {
        assert_eq!(degrees_of_sum([(0.3, 4.0)].into_iter()), 4.0);
        assert_eq!(degrees_of_sum([(1.0, 4.0), (0.0, 1.0)].into_iter()), 4.0);
        assert_eq!(degrees_of_sum([(0.0, 4.0)].into_iter()), f64::INFINITY);
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let parts = (0..50_000).map(|_| {
            let squares = StandardNormal.sample_iter(&mut random).take(4);
            (squares.map(|z: f64| z * z).sum::<f64>() / 4.0, 4.0)
        });
        let parts: Vec<(f64, f64)> = parts.collect();
        let found = degrees_of_sum(parts.iter().copied()) / (4.0 * parts.len() as f64);
        assert!((found - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn what_is_no_chance_counts_at_most_twice() {
        let chance = DMatrix::from_row_slice(2, 1, &[3.0, 3.0]);
        let bounds = DMatrix::from_row_slice(2, 1, &[4.0, 0.0]);
        let both = Uncertainty::of_chance_and_bounds(chance, &bounds, &[f64::INFINITY; 2]);
        assert_eq!(both.standard_errors(), [5.0, 3.0]);
        assert_eq!(both.half_widths(&[1.0, 1.0]), [5.0, 3.0]);
        assert_eq!(both.half_widths(&[10.0, 10.0]), [38.0, 30.0]);
    }

    /// Each place of a surface has a column of its own, in which there is the place.
    #[test]
    fn surfaces_are_simulated_at_places_all_over_them() {
        let (first, second) = (90, 50);
        let place = |i: usize, j: usize| if j == 0 { i as f64 } else { 0.0 };
        let factor = DMatrix::from_fn(first * second, first * second + 1, place);
        let surface = Uncertainty::new(factor, vec![f64::INFINITY; first * second]);
        let thinned = surface.thinned(&[first, second]);
        let places: Vec<usize> =
            thinned.standard_errors().iter().map(|place| place.round() as usize).collect();
        assert_eq!(places.len(), 18 * 17);
        for (at, place) in places.into_iter().enumerate() {
            assert_eq!((place / second, place % second), (at / 17 * 5, at % 17 * 3));
        }
    }

    /// Units are powers of two, which change no rounding.
    #[test]
    fn critical_values_do_not_depend_on_units() {
        let factor = DMatrix::from_fn(5, 3, |i, j| ((3 * i + 7 * j) as f64).sin());
        let critical = |unit: f64| {
            let uncertainty = Uncertainty::new(&factor * unit, vec![f64::INFINITY; 5]);
            uncertainty.critical_value(0.95, 1).unwrap()
        };
        assert!(critical(1.0) > 1.9);
        assert_eq!(critical(2_f64.powi(-60)), critical(1.0));
        assert_eq!(critical(2_f64.powi(60)), critical(1.0));
    }
}
