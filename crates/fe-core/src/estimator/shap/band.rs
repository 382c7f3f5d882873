//! Confidence bands of splines through Shapley values: `shapdp`.
//!
//! The spline is linear in the values, and these are means over background rows. So a row counts
//! twice: by its own value, and as background of all others. What smoothing flattens is added as the
//! prior of the spline has it (Wahba 1983), which makes pointwise coverage right on average along the
//! curve (Nychka 1988).

use nalgebra::{DMatrix, DVector};

use super::ShapDependence;
use crate::confidence::{Purpose, Replicate, Resampling, Uncertainty};
use crate::data::Dataset;
use crate::effect::Effect;
use crate::effect::Instances;
use crate::effect::mean_at_instances;
use crate::error::{Error, Result};
use crate::estimator::grid::grid_weights;
use crate::estimator::shapley::Pairs;
use crate::estimator::{Estimated, Observation};
use crate::numeric::curve::Curve;
use crate::numeric::spline::{Smoother, Spline};
use crate::settings::Centring;

/// Least free share of a residual: where a row alone decides where the spline goes, its residual is rounding.
const LEAST_FREE: f64 = 1e-6;

/// A SHAP dependence with the Shapley values that it goes through, background row by background row.
pub(crate) struct ShapleySample<'a> {
    data: &'a Dataset,
    effect: &'a Effect,
    x: Vec<f64>,
    grid: Vec<f64>,
    /// Positions of the explained rows.
    positions: Vec<f64>,
    pairs: Pairs,
}

/// A spline at some weights of the rows.
struct Fit {
    spline: Spline,
    smoother: Smoother,
    /// Shapley values of the explained rows.
    values: DVector<f64>,
    /// Shares of the background rows.
    background: DVector<f64>,
    /// The constant of the centring, as weights of the values on the grid.
    constant: Vec<f64>,
}

impl<'a> ShapleySample<'a> {
    /// The model is asked again: for the worths that the feature's values are made of.
    ///
    /// # Errors
    /// [`Error::BadOption`] where there are too many pairs of rows to hold; [`Error::Model`].
    pub(crate) fn new(
        estimator: &ShapDependence,
        Estimated { data, model, effect }: Observation<'a>,
        purpose: &Purpose<'_>,
    ) -> Result<Self> {
        estimator.check_background_of_data()?;
        let (feature, axis) = (effect.feature, effect.record.axis);
        let rows = data.weighted(feature).enumerate();
        let rows = rows.filter(|(_, (x, weight))| *weight > 0.0 && axis.contains(*x));
        let rows: Vec<usize> = rows.map(|(row, _)| row).collect();
        let positions = rows.iter().map(|&row| data.feature(feature)[row]).collect();
        let options = estimator.shapley(data.dimension());
        let pairs = Pairs::new(data, model, rows, &options, (feature, effect.output))?;
        let grid = estimator.grid(axis);
        Ok(Self { data, effect, x: purpose.x.to_vec(), grid, positions, pairs })
    }

    /// The smoothing is that of the effect: ties among resampled rows would have it chosen too rough.
    fn fit(&self, weights: &[f64]) -> Result<Fit> {
        let of = |rows: &[usize]| rows.iter().map(|&row| weights[row]).collect::<Vec<f64>>();
        let original = |row: usize| self.data.weights().map_or(1.0, |weights| weights[row]);
        let counted = self.pairs.background.iter().zip(&self.pairs.shares);
        let background = counted.map(|(&row, share)| share * weights[row] / original(row));
        let mut background = DVector::from_iterator(self.pairs.shares.len(), background);
        let total = background.sum();
        if total <= 0.0 {
            return Err(Error::Incompatible("no background row was drawn".to_owned()));
        }
        background /= total;
        let values = &self.pairs.values * &background;
        let explained = of(&self.pairs.rows);
        let (x, y, weights_of) = (&self.positions, values.as_slice(), Some(explained.as_slice()));
        let shapley = self.effect.record.shapley.as_ref();
        let lambda = shapley.and_then(|record| record.smoothing_parameter);
        let (spline, smoother) = Smoother::fit_held(x, y, weights_of, lambda)?;
        let positions = self.data.feature(self.effect.feature).iter().copied();
        let instances = positions.zip(weights.iter().copied());
        let (centring, axis) = (self.effect.record.centring, self.effect.record.axis);
        let constant = grid_weights(centring, axis, &self.grid, instances);
        Ok(Fit { spline, smoother, values, background, constant })
    }

    fn curve(&self, fit: &Fit) -> Vec<f64> {
        let at_grid = self.grid.iter().zip(&fit.constant);
        let constant: f64 = at_grid.map(|(&x, weight)| weight * fit.spline.at(x)).sum();
        self.x.iter().map(|&x| fit.spline.at(x) - constant).collect()
    }

    /// The functions of the smoother at the places of the band, centred, and a constant function for
    /// what the centring adds.
    fn functions(&self, fit: &Fit) -> DMatrix<f64> {
        let functions = fit.smoother.functions(&self.x);
        let mut centre = DVector::zeros(functions.ncols());
        let at_grid = fit.smoother.functions(&self.grid);
        for (row, weight) in at_grid.row_iter().zip(&fit.constant) {
            centre += row.transpose() * *weight;
        }
        let count = functions.ncols();
        DMatrix::from_fn(self.x.len(), count + 1, |i, j| {
            if j < count { functions[(i, j)] - centre[j] } else { 1.0 }
        })
    }

    fn uncertainty_of(&self, fit: &Fit, weights: &[f64]) -> Result<Uncertainty> {
        let of_explained: Vec<f64> = self.pairs.rows.iter().map(|&row| weights[row]).collect();
        let total: f64 = of_explained.iter().sum();
        let free = total - fit.spline.degrees_of_freedom();
        if free <= 0.0 {
            return Err(Error::Incompatible(
                "too few instances for their number to tell how uncertain the effect is".to_owned(),
            ));
        }
        let shrinkage = DVector::from_column_slice(fit.smoother.shrinkage());
        let count = shrinkage.len();
        // From Shapley values to coordinates of the spline.
        let mut to_coordinates = fit.smoother.functions(&self.positions).transpose();
        let leverages: Vec<f64> = to_coordinates
            .column_iter()
            .map(|column| column.component_mul(&column).dot(&shrinkage) / total)
            .collect();
        for (mut column, weight) in to_coordinates.column_iter_mut().zip(&of_explained) {
            column.component_mul_assign(&shrinkage);
            column *= weight / total;
        }
        let mut of_rows = DMatrix::zeros(count + 1, weights.len());
        let mut squares = 0.0;
        for (e, &row) in self.pairs.rows.iter().enumerate() {
            let residual = fit.values[e] - fit.spline.at(self.positions[e]);
            squares += of_explained[e] / total * residual * residual;
            let mut column = of_rows.column_mut(row);
            let mut column = column.rows_mut(0, count);
            column += to_coordinates.column(e) * without_the_row(residual, leverages[e]);
        }
        let by_background = &to_coordinates * &self.pairs.values;
        let mean = &by_background * &fit.background;
        for (b, &row) in self.pairs.background.iter().enumerate() {
            let mut column = of_rows.column_mut(row);
            let mut column = column.rows_mut(0, count);
            column += (by_background.column(b) - &mean) * fit.background[b];
        }
        if self.effect.record.centring == Centring::Data {
            self.add_places(fit, weights, total, &mut of_rows)?;
        }
        for (mut column, weight) in of_rows.column_iter_mut().zip(weights) {
            column *= if *weight > 0.0 { weight.sqrt().recip() } else { 0.0 };
        }
        let mut covariance = &of_rows * of_rows.transpose() * ((total - 1.0) / total);
        for (i, lost) in fit.smoother.lost().iter().enumerate() {
            covariance[(i, i)] += squares * total / free * lost / total;
        }
        let of_coordinates = Uncertainty::of_covariance(covariance, vec![free; count + 1]);
        let factor = self.functions(fit) * of_coordinates.into_factor();
        Ok(Uncertainty::new(factor, vec![free; self.x.len()]))
    }

    /// Contribution of the place of each row to the mean that the centring takes.
    fn add_places(
        &self,
        fit: &Fit,
        weights: &[f64],
        total: f64,
        of_rows: &mut DMatrix<f64>,
    ) -> Result<()> {
        let on_grid = self.grid.iter().map(|&x| fit.spline.at(x)).collect();
        let curve = Curve::linear(self.grid.clone(), on_grid);
        let positions = self.data.feature(self.effect.feature);
        let instances = Instances { positions, weights: Some(weights), counts: None };
        let mean = mean_at_instances(&curve, instances).unwrap_or_default();
        let last = of_rows.nrows() - 1;
        for &row in &self.pairs.rows {
            let deviation = curve.at(positions[row])? - mean;
            of_rows[(last, row)] -= weights[row] / total * deviation;
        }
        Ok(())
    }
}

/// The residual of a row from the spline through the others, by its residual from the spline through all and its
/// leverage: the spline bends towards rows at the ends most.
fn without_the_row(residual: f64, leverage: f64) -> f64 {
    residual / (1.0 - leverage).max(LEAST_FREE)
}

impl Resampling for ShapleySample<'_> {
    fn replicate(&self, weights: &[f64], variances: bool) -> Result<Replicate> {
        let fit = self.fit(weights)?;
        let uncertainty = variances.then(|| self.uncertainty_of(&fit, weights)).transpose()?;
        let variances = uncertainty.map(|uncertainty| uncertainty.variances());
        Ok(Replicate { curve: self.curve(&fit), variances })
    }

    /// Of a feature that f adds, g(x_e) − g(x_b) is the value of row e against row b: a part of the one less
    /// the same of the other, whatever other features they have.
    fn is_certain(&self, rounding: f64) -> bool {
        let values = &self.pairs.values;
        let (rows, columns) = (values.column_mean(), values.row_mean());
        let mean = values.mean();
        // Of values that are too large for a sum nothing is known.
        values.column_iter().zip(columns.iter()).all(|(column, of_column)| {
            let both = column.iter().zip(rows.iter());
            both.into_iter().all(|(v, of_row)| (v - of_row - of_column + mean).abs() <= rounding)
        })
    }

    fn uncertainty(&self) -> Result<Uncertainty> {
        let weights: Vec<f64> = self.data.weighted(0).map(|(_, weight)| weight).collect();
        let uncertainty = self.uncertainty_of(&self.fit(&weights)?, &weights)?;
        // The functions of a spline are known but for turns among each other, which must not decide
        // what is simulated.
        let degrees = uncertainty.degrees().to_vec();
        let factor = uncertainty.into_factor();
        Ok(Uncertainty::of_covariance(&factor * factor.transpose(), degrees))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1, 2 and 6 the last is 3 above the mean of all, and 4.5 above that of the others.
    #[test]
    fn a_row_is_farther_from_the_others_than_from_all() {
        assert!((without_the_row(3.0, 1.0 / 3.0) - 4.5).abs() < 1e-15);
        assert_eq!(without_the_row(1e-15, 1.0), 1e-15 / LEAST_FREE);
    }
}
