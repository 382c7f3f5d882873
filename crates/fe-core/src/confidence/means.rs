//! Means over instances, and how they depend on these: what bands of partial dependences are made of.
//!
//! The centred curve, or surface, is the mean of those of the instances, each less what the centring takes from it, so its
//! covariance is theirs over the number of instances.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use super::{MOST_HELD, Replicate, Resampling, Uncertainty};
use crate::error::{Error, Result};

/// Values of each instance at some places, of which the means are taken.
pub(crate) trait InstanceValues: Sync {
    /// Number of places.
    fn places(&self) -> usize;

    /// Calls `work` on the values of consecutive blocks of rows, rows × places, and `merge` on the results in row order.
    fn each_block<T: Send>(
        &self,
        work: impl Fn(Range<usize>, DMatrix<f64>) -> T + Sync,
        merge: impl FnMut(T) + Send,
    ) -> Result<()>;

    /// The constant that the centring subtracts, as weights of the values at the places, where the rows have these
    /// weights.
    fn constant(&self, weights: &[f64]) -> Result<Vec<f64>>;

    /// With a centring over the instances: some values at the places, read where each row is, none where it does not
    /// count.
    fn at_rows(&self, values: &[f64]) -> Option<Vec<Option<f64>>>;
}

/// Means over instances, with the weights of these.
pub(crate) struct MeanSample<'a, V> {
    values: V,
    weights: Vec<f64>,
    /// The centred means.
    means: &'a [f64],
    /// Rows × places for each block of rows, where they will be wanted many times.
    held: Option<Vec<(Range<usize>, DMatrix<f64>)>>,
}

/// Instances with their weights, and the means that they make.
struct Weighted<'w> {
    weights: &'w [f64],
    total: f64,
    /// The constant of the centring, as weights of the values.
    constant: DVector<f64>,
    /// The centred means.
    means: &'w DVector<f64>,
    /// With a centring over the instances: what the place of each adds to the constant.
    of_places: Option<Vec<f64>>,
}

impl<'a, V: InstanceValues> MeanSample<'a, V> {
    /// Of these values, weights of all rows, and centred means. The model is asked for all values again.
    ///
    /// # Errors
    /// [`Error::BadOption`] where there are too many to hold for resamples; [`Error::Model`].
    pub(crate) fn new(
        values: V,
        weights: Vec<f64>,
        means: &'a [f64],
        resampled: bool,
    ) -> Result<Self> {
        let (rows, places) = (weights.len(), values.places());
        let mut sample = Self { values, weights, means, held: None };
        if resampled {
            if rows.saturating_mul(places) > MOST_HELD {
                return Err(Error::BadOption {
                    option: "band",
                    given: format!("bootstrap of {rows} ICE curves at {places} places"),
                    allowed: format!(
                        "all values are held at once, at most {MOST_HELD}; take a `subsample` of \
                         the rows or fewer points"
                    ),
                });
            }
            let mut held = Vec::new();
            sample.values.each_block(|rows, values| (rows, values), |block| held.push(block))?;
            sample.held = Some(held);
        }
        Ok(sample)
    }

    /// Calls `work` on the values of all blocks of rows, rows × places.
    fn each_block<T: Send>(
        &self,
        work: impl Fn(Range<usize>, &DMatrix<f64>) -> T + Sync,
        mut merge: impl FnMut(T) + Send,
    ) -> Result<()> {
        if let Some(held) = &self.held {
            held.iter().for_each(|(rows, values)| merge(work(rows.clone(), values)));
            return Ok(());
        }
        self.values.each_block(|rows, values| work(rows, &values), merge)
    }

    fn constant(&self, weights: &[f64]) -> Result<DVector<f64>> {
        Ok(DVector::from_vec(self.values.constant(weights)?))
    }

    fn means(&self, weights: &[f64]) -> Result<DVector<f64>> {
        let mut means = DVector::zeros(self.values.places());
        let total: f64 = weights.iter().sum();
        self.each_block(
            |rows, values| values.tr_mul(&DVector::from_column_slice(&weights[rows])),
            |sum| means += sum,
        )?;
        means /= total;
        let constant = self.constant(weights)?.dot(&means);
        Ok(means.add_scalar(-constant))
    }

    fn weighted<'w>(&self, weights: &'w [f64], means: &'w DVector<f64>) -> Result<Weighted<'w>> {
        let total: f64 = weights.iter().sum();
        if total <= 1.0 {
            let message = "a single instance does not tell how uncertain the effect is";
            return Err(Error::Incompatible(message.to_owned()));
        }
        let of_places = self.of_places(weights, means, total);
        let constant = self.constant(weights)?;
        Ok(Weighted { weights, total, constant, means, of_places })
    }

    fn of_places(&self, weights: &[f64], means: &DVector<f64>, total: f64) -> Option<Vec<f64>> {
        let at_rows = self.values.at_rows(means.as_slice())?;
        let counted = at_rows.iter().zip(weights).filter(|(at, _)| at.is_some());
        let weight: f64 = counted.map(|(_, weight)| weight).sum();
        Some(at_rows.into_iter().map(|at| at.map_or(0.0, |y| y * (total / weight))).collect())
    }
}

impl Weighted<'_> {
    /// Contributions of each row of a block to the means, rows × places, times the root of its weight.
    fn deviations(&self, rows: Range<usize>, values: &DMatrix<f64>) -> DMatrix<f64> {
        let constants = values * &self.constant;
        let mut deviations = values.clone();
        for (place, mut column) in deviations.column_iter_mut().enumerate() {
            for (i, value) in column.iter_mut().enumerate() {
                let row = rows.start + i;
                let of_place = self.of_places.as_ref().map_or(0.0, |of_places| of_places[row]);
                *value -= constants[i] + self.means[place] + of_place;
                *value *= self.weights[row].sqrt();
            }
        }
        deviations
    }
}

/// The products of all columns with each other, the bits being those of `tr_mul`: either half once, and some columns at a time,
/// which stay in the nearest cache.
fn products(columns: &DMatrix<f64>) -> DMatrix<f64> {
    const TOGETHER: usize = 8;
    let count = columns.ncols();
    let mut products = DMatrix::zeros(count, count);
    for start in (0..count).step_by(TOGETHER) {
        for second in start..count {
            let column = columns.column(second);
            for first in start..(start + TOGETHER).min(second + 1) {
                let product = columns.column(first).dot(&column);
                products[(first, second)] = product;
                products[(second, first)] = product;
            }
        }
    }
    products
}

impl<V: InstanceValues> Resampling for MeanSample<'_, V> {
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate> {
        let curve = self.means(weights)?;
        let mut squares = None;
        if variances {
            let weighted = self.weighted(weights, &curve)?;
            let mut sums = vec![0.0; curve.len()];
            self.each_block(
                |rows, values| weighted.deviations(rows, values),
                |deviations| {
                    for (sum, column) in sums.iter_mut().zip(deviations.column_iter()) {
                        *sum += column.norm_squared();
                    }
                },
            )?;
            let total = weighted.total;
            squares = Some(sums.iter().map(|sum| sum / (total * (total - 1.0))).collect());
        }
        Ok(Replicate { curve: curve.as_slice().to_vec(), variances: squares })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let means = DVector::from_column_slice(self.means);
        let weighted = self.weighted(&self.weights, &means)?;
        let places = means.len();
        if places.saturating_mul(places) > MOST_HELD {
            return Err(Error::BadOption {
                option: "grid",
                given: format!("{places} points"),
                allowed: format!("their square is at most {MOST_HELD} for a band"),
            });
        }
        let mut scatter = DMatrix::zeros(places, places);
        self.each_block(
            |rows, values| {
                let deviations = weighted.deviations(rows, values);
                products(&deviations)
            },
            |block| scatter += block,
        )?;
        scatter /= weighted.total * (weighted.total - 1.0);
        Ok(Uncertainty::of_covariance(scatter, vec![weighted.total - 1.0; places]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_columns_have_the_bits_of_the_library() {
        for (rows, columns) in [(1, 1), (3, 7), (256, 8), (21, 9), (40, 35)] {
            let value = |i: usize, j: usize| ((17 * i + 5 * j) as f64).sin() / (1.0 + j as f64);
            let matrix = DMatrix::from_fn(rows, columns, value);
            assert_eq!(products(&matrix), matrix.tr_mul(&matrix), "{rows} × {columns}");
        }
    }
}
