//! Partial dependence and its derivative: `pdp`, `dpdp`.

use std::ops::Range;

use super::{Estimand, Estimator, Info, check, deciles};
use crate::axis::{Axis, AxisChoice};
use crate::blocks::fold_blocks;
use crate::centring::{self, Centring, Instances};
use crate::curve::Curve;
use crate::dataset::Dataset;
use crate::derivatives::{Derivatives, Differentiation};
use crate::effect::{Effect, Record};
use crate::error::{Error, ModelError, Result};
use crate::heterogeneity;
use crate::model::{Column, Model, Observed, Rows};
use crate::settings::Settings;
use crate::statistics::Moments;

pub(super) const PDP: Info = Info {
    name: "pdp",
    about: "partial dependence on a grid; heterogeneity from centred ICE curves (Friedman 2001)",
    options: &[GRID],
    build: |settings| Ok(Box::new(PartialDependence::from_settings(Kind::Value, settings)?)),
};

pub(super) const DPDP: Info = Info {
    name: "dpdp",
    about: "mean derivative on a grid; heterogeneity from d-ICE curves (EFFECTOR eq. 9-10)",
    options: &[GRID, Differentiation::OPTIONS],
    build: |settings| {
        let differentiation = Differentiation::from_settings(settings)?;
        let kind = Kind::Derivative(differentiation);
        Ok(Box::new(PartialDependence::from_settings(kind, settings)?))
    },
};

/// What both take.
const GRID: &[&str] = &["axis", "center", "ddof", "extrapolate", "grid", "points"];

/// Instances of a block: with 100 grid points their predictions fit the cache.
const BLOCK: usize = 256;

/// Points on the grid if nothing else is asked for.
const DEFAULT_GRID: usize = 100;

/// Most points: a prediction per instance and point is needed.
const MOST_POINTS: usize = 1_000_000;

/// What is averaged over the instances.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// f(x, x_c).
    Value,
    /// ∂_s f(x, x_c).
    Derivative(Differentiation),
}

/// Mean over the instances of f(x, x_c^(i)) on a grid (METHODS; Friedman 2001), with the variance of
/// ICE curves centred by their own mean over the axis (trapezoid over the grid).
///
/// The mean is over all instances, wherever their own x_s lies: the axis only says where the curve
/// is drawn. [`PartialDependence::of_derivative`] averages ∂_s f(x, x_c^(i)) in its place (d-PDP,
/// EFFECTOR eq. 9), and is not centred unless asked for. With centring `none` the heterogeneity is that of the ICE curves as they are. The
/// N × T table of predictions is never held.
///
/// ```
/// use fe_core::{Dataset, estimator::{Estimator, PartialDependence}, model::FunctionModel};
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [1.0, 3.0]].view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1]);
/// let effect = &PartialDependence::on_grid(3)?.estimate(&data, &model, 0)?[0];
/// assert_eq!(effect.curve.y(), [-1.0, 0.0, 1.0]);
/// assert_eq!(effect.heterogeneity.y(), [0.25, 0.0, 0.25]);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PartialDependence {
    kind: Kind,
    grid: usize,
    points: Vec<f64>,
    axis: AxisChoice,
    centring: Centring,
    ddof: f64,
    extrapolate: bool,
}

impl PartialDependence {
    /// On so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn on_grid(points: usize) -> Result<Self> {
        let settings = Settings { grid: Some(points), ..Settings::default() };
        Self::from_settings(Kind::Value, &settings)
    }

    /// Of the derivative, on so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn of_derivative(points: usize) -> Result<Self> {
        let settings = Settings { grid: Some(points), ..Settings::default() };
        Self::from_settings(Kind::Derivative(Differentiation::default()), &settings)
    }

    fn from_settings(kind: Kind, settings: &Settings) -> Result<Self> {
        let grid = settings.grid.unwrap_or(DEFAULT_GRID);
        if !(2..=MOST_POINTS).contains(&grid) {
            return Err(Error::BadOption {
                option: "grid",
                given: grid.to_string(),
                allowed: format!("must be from 2 to {MOST_POINTS}"),
            });
        }
        // A derivative has no level to take away.
        let centring = match kind {
            Kind::Value => Centring::default(),
            Kind::Derivative(_) => Centring::None,
        };
        Ok(Self {
            kind,
            grid,
            points: settings.points.clone().unwrap_or_default(),
            axis: settings.axis.unwrap_or_default(),
            centring: settings.center.unwrap_or(centring),
            ddof: settings.ddof_or(0)?,
            extrapolate: settings.extrapolate.unwrap_or_default(),
        })
    }

    /// The same estimator on a given axis; by default the axis is the range of the data.
    #[must_use]
    pub fn on(mut self, axis: Axis) -> Self {
        self.axis = AxisChoice::Given(axis.lo(), axis.hi());
        self
    }

    /// The same estimator with another centring; by default the mean over the axis is 0.
    #[must_use]
    pub fn centred(mut self, centring: Centring) -> Self {
        self.centring = centring;
        self
    }

    fn effect(&self, run: &Run<'_>, moments: &[PointMoments], output: usize) -> Result<Effect> {
        let (data, feature) = (run.data, run.feature);
        let grid = &run.places.grid_indices;
        let x: Vec<f64> = run.places.x.clone();
        let curve = Curve::linear(x.clone(), moments.iter().map(|point| point.raw.mean).collect());
        let on_grid = Curve::linear(
            grid.iter().map(|&i| x[i]).collect(),
            grid.iter().map(|&i| moments[i].raw.mean).collect(),
        );
        let instances =
            Instances { positions: data.feature(feature), weights: data.weights(), counts: None };
        // The constant is that of the grid alone, so that further points do not move the curve.
        let constant = centring::constant(self.centring, &on_grid, instances)?;
        let variances = |of: &dyn Fn(&PointMoments) -> Moments| -> Vec<Option<f64>> {
            moments.iter().map(|point| of(point).variance(self.ddof)).collect()
        };
        let raw = variances(&|point| point.raw);
        let centred = match self.centring {
            Centring::None => raw.clone(),
            _ => variances(&|point| point.centred),
        };
        let pick = |values: &[Option<f64>]| grid.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let values = heterogeneity::of_grid(&pick(&centred), &pick(&raw));
        let heterogeneity = centred.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        Ok(Effect {
            feature,
            name: data.names()[feature].clone(),
            output,
            estimator: self.name(),
            curve: curve.lowered(constant).extrapolated(self.extrapolate),
            heterogeneity: Curve::linear(x, heterogeneity).extrapolated(self.extrapolate),
            bins: None,
            bands: None,
            deciles: deciles(data, feature),
            heterogeneity_values: values,
            default_heterogeneity: "mean_grid",
            record: Record {
                rows: data.len(),
                rows_outside: 0,
                model_rows: run.model.model_rows(),
                jacobian_rows: run.model.partial_rows(),
                axis: run.places.axis,
                centring: self.centring,
                centring_constant: constant,
                ddof: self.ddof,
                derivatives: run.derivatives.map(Derivatives::describe),
                binning: None,
                extrapolated: self.extrapolate,
            },
        })
    }
}

impl Estimator for PartialDependence {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Value => PDP.name,
            Kind::Derivative(_) => DPDP.name,
        }
    }

    fn estimand(&self) -> Estimand {
        match self.kind {
            Kind::Value => Estimand::PartialDependence,
            Kind::Derivative(_) => Estimand::DerivativePartialDependence,
        }
    }

    fn centring(&self) -> Centring {
        self.centring
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        check(data, model, feature)?;
        let axis = self.axis.resolve(data, feature)?;
        let derivatives = match self.kind {
            Kind::Value => None,
            Kind::Derivative(differentiation) => Some(differentiation.of(model, axis)),
        };
        let model = Observed::new(model);
        let places = Places::new(axis, self.grid, &self.points);
        let run = Run { data, model: &model, feature, derivatives, places };
        let moments = run.moments()?;
        moments.iter().enumerate().map(|(output, m)| self.effect(&run, m, output)).collect()
    }
}

/// The points at which the model is asked: the grid, and further ones between.
struct Places {
    axis: Axis,
    x: Vec<f64>,
    grid_indices: Vec<usize>,
    /// Weights of the trapezoid rule over the grid, for a mean; 0 at further points.
    mean_weights: Vec<f64>,
}

impl Places {
    fn new(axis: Axis, grid: usize, further: &[f64]) -> Self {
        let grid = axis.grid(grid);
        let mut x: Vec<f64> =
            grid.iter().chain(further).copied().filter(|&x| axis.contains(x)).collect();
        x.sort_unstable_by(f64::total_cmp);
        x.dedup();
        let grid_indices: Vec<usize> = grid.iter().map(|g| x.partition_point(|x| x < g)).collect();
        let mut mean_weights = vec![0.0; x.len()];
        for pair in grid_indices.windows(2) {
            let half = (x[pair[1]] - x[pair[0]]) / axis.width() / 2.0;
            mean_weights[pair[0]] += half;
            mean_weights[pair[1]] += half;
        }
        Self { axis, x, grid_indices, mean_weights }
    }
}

/// What is known about one point of the curve.
#[derive(Clone, Copy, Default)]
struct PointMoments {
    /// Of f(x, x_c^(i)).
    raw: Moments,
    /// Of the same minus the mean of the instance's ICE curve over the axis.
    centred: Moments,
}

struct Run<'a> {
    data: &'a Dataset,
    model: &'a Observed<'a>,
    feature: usize,
    /// How derivatives are computed, where they are what is averaged.
    derivatives: Option<Derivatives>,
    places: Places,
}

impl Run<'_> {
    /// Moments at every point, for each output.
    fn moments(&self) -> Result<Vec<Vec<PointMoments>>> {
        let outputs = self.model.model().outputs();
        let mut total = vec![vec![PointMoments::default(); self.places.x.len()]; outputs];
        fold_blocks(
            self.data.len(),
            BLOCK,
            |rows| self.block_moments(rows),
            |block| {
                for (total, block) in total.iter_mut().flatten().zip(block.iter().flatten()) {
                    total.raw = total.raw.merge(block.raw);
                    total.centred = total.centred.merge(block.centred);
                }
            },
        )?;
        Ok(total)
    }

    fn block_moments(&self, rows: Range<usize>) -> Result<Vec<Vec<PointMoments>>, ModelError> {
        let len = rows.len();
        let outputs = self.model.model().outputs();
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        let mut columns = self.data.columns(rows);
        let mut ice = vec![0.0; self.places.x.len() * outputs * len];
        for (&x, values) in self.places.x.iter().zip(ice.chunks_mut(outputs * len)) {
            columns[self.feature] = Column::Constant(x);
            match self.derivatives {
                None => self.model.predict(&Rows::new(&columns, len), values)?,
                Some(derivatives) => {
                    derivatives.evaluate(self.model, self.feature, &columns, len, values)?;
                }
            }
        }
        let of_output = |output: usize| {
            let at = |point: usize| {
                let start = (point * outputs + output) * len;
                &ice[start..start + len]
            };
            let means = self.ice_means(len, at);
            let mut centred = vec![0.0; len];
            let mut moments = |point: usize| {
                let values = at(point);
                for ((centred, value), mean) in centred.iter_mut().zip(values).zip(&means) {
                    *centred = value - mean;
                }
                PointMoments {
                    raw: Moments::of_block(values, weights),
                    centred: Moments::of_block(&centred, weights),
                }
            };
            (0..self.places.x.len()).map(&mut moments).collect()
        };
        Ok((0..outputs).map(of_output).collect())
    }

    /// Mean over the axis of each instance's ICE curve.
    fn ice_means<'b>(&self, len: usize, at: impl Fn(usize) -> &'b [f64]) -> Vec<f64> {
        let mut means = vec![0.0; len];
        for (point, &weight) in self.places.mean_weights.iter().enumerate() {
            for (mean, value) in means.iter_mut().zip(at(point)) {
                *mean += weight * value;
            }
        }
        means
    }
}
