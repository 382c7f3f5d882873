//! Partial dependence and its derivative: `pdp`, `dpdp`.

use std::convert::Infallible;
use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1};
use rayon::prelude::*;

use super::{Estimand, Estimator, Info, InstanceEffects, check, check_rows};
use crate::axis::{Axis, AxisChoice};
use crate::blocks::{fill_blocks, fold_blocks, fold_blocks_with};
use crate::centring::{self, AxisMean, CenterRule, Centring, Instances};
use crate::confidence::{GridSample, Purpose, Request, Resampling};
use crate::curve::Curve;
use crate::dataset::Dataset;
use crate::derivatives::{Derivatives, Differentiation};
use crate::effect::{Effect, IceCurves, Record};
use crate::error::{Error, ModelError, Result};
use crate::heterogeneity;
use crate::importance::importance;
use crate::model::{Column, Model, Observed, Rows};
use crate::quantiles::SortedSample;
use crate::settings::Settings;
use crate::statistics::{Moments, add_each, sum_in_lanes};
use crate::sums::Sums;
use crate::vector::{all_finite, vectorised};

pub(crate) const PDP: Info = Info {
    name: "pdp",
    about: "partial dependence on a grid; heterogeneity from centred ICE curves (Friedman 2001)",
    options: &[GRID, AxisMean::OPTIONS, CURVE_ONLY, Request::OPTIONS],
    build: |settings| Ok(Box::new(PartialDependence::from_settings(Kind::Value, settings)?)),
};

pub(crate) const DPDP: Info = Info {
    name: "dpdp",
    about: "mean derivative on a grid; heterogeneity from d-ICE curves (EFFECTOR eq. 9-10)",
    options: &[GRID, AxisMean::OPTIONS, Differentiation::OPTIONS, CURVE_ONLY],
    build: |settings| {
        let differentiation = Differentiation::from_settings(settings)?;
        let kind = Kind::Derivative(differentiation);
        Ok(Box::new(PartialDependence::from_settings(kind, settings)?))
    },
};

/// What all of them take.
pub(super) const GRID: &[&str] = &[
    "axis",
    "center",
    "ddof",
    "extrapolate",
    "grid",
    "distinct",
    "points",
    "even_points",
    "raw_ice",
    "grid_heterogeneity",
];

/// What those take that give a mean curve.
const CURVE_ONLY: &[&str] = &["curve_only"];

/// Instances of a block: with 100 grid points their predictions fit the cache.
const BLOCK: usize = 256;

/// Points on the grid if nothing else is asked for.
const DEFAULT_GRID: usize = 100;

/// Most points: a prediction per instance and point is needed.
const MOST_POINTS: usize = 1_000_000;

/// How many equidistant points there are to be beside the grid.
pub(super) fn even_points(settings: &Settings) -> Result<usize> {
    match settings.even_points {
        Some(points) if !(2..=MOST_POINTS).contains(&points) => Err(Error::BadOption {
            option: "even_points",
            given: points.to_string(),
            allowed: format!("must be from 2 to {MOST_POINTS}"),
        }),
        points => Ok(points.unwrap_or_default()),
    }
}

/// Some points, and so many equidistant ones over the axis.
pub(super) fn with_even(points: &[f64], even: usize, axis: Axis) -> Vec<f64> {
    let even = if even > 0 { axis.grid(even) } else { Vec::new() };
    points.iter().copied().chain(even).collect()
}

/// What is averaged over the instances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// f(x, x_c).
    Value,
    /// ∂_s f(x, x_c).
    Derivative(Differentiation),
}

impl Kind {
    /// Whether the curves behind the heterogeneity are as they are, unless something else is asked for:
    /// derivatives have no level to take away.
    fn has_raw_ice(self) -> bool {
        matches!(self, Self::Derivative(_))
    }
}

/// Mean over the instances of f(x, x_c^(i)) on a grid (METHODS; Friedman 2001), with the variance of
/// ICE curves centred by their own mean over the axis (trapezoid over the grid).
///
/// The mean is over all instances, wherever their own x_s lies: the axis only says where the curve
/// is drawn. [`PartialDependence::of_derivative`] averages ∂_s f(x, x_c^(i)) in its place (d-PDP,
/// EFFECTOR eq. 9), and is not centred unless asked for; its heterogeneity is that of the curves as they
/// are. How the curve is centred does not change the heterogeneity; the option `raw_ice` does: with it, it
/// is that of the ICE curves as they are. With the option `curve_only` there is none, which saves its second pass
/// over the ICE curves. The N × T table of predictions is never held.
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
    distinct: usize,
    points: Vec<f64>,
    even_points: usize,
    raw_ice: bool,
    grid_heterogeneity: bool,
    importance: bool,
    axis: AxisChoice,
    centring: Centring,
    axis_mean: AxisMean,
    ddof: f64,
    extrapolate: bool,
    curve_only: bool,
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

    pub(super) fn from_settings(kind: Kind, settings: &Settings) -> Result<Self> {
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
            distinct: settings.distinct.unwrap_or_default(),
            points: settings.points.clone().unwrap_or_default(),
            even_points: even_points(settings)?,
            raw_ice: settings.raw_ice.unwrap_or(kind.has_raw_ice()),
            grid_heterogeneity: settings.grid_heterogeneity.unwrap_or_default(),
            importance: settings.importance.unwrap_or_default(),
            axis: settings.axis.unwrap_or_default(),
            centring: settings.center.unwrap_or(centring),
            axis_mean: AxisMean::from_settings(settings)?,
            ddof: settings.ddof_or(0)?,
            extrapolate: settings.extrapolate.unwrap_or_default(),
            curve_only: settings.curve_only.unwrap_or_default(),
        })
    }

    /// `pdp` from settings.
    pub(crate) fn pdp(settings: &Settings) -> Result<Self> {
        Self::from_settings(Kind::Value, settings)
    }

    /// `dpdp` from settings.
    pub(crate) fn dpdp(settings: &Settings) -> Result<Self> {
        Self::from_settings(Kind::Derivative(Differentiation::from_settings(settings)?), settings)
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

    /// The distinct values of a feature that has few of them, or equidistant points over the axis.
    fn axis_and_grid(&self, data: &Dataset, feature: usize) -> Result<(Axis, Vec<f64>)> {
        let on_axis = |x: f64| match self.axis {
            AxisChoice::Given(lo, hi) => (lo..=hi).contains(&x),
            AxisChoice::Data | AxisChoice::Quantiles { .. } => true,
        };
        let sample = || SortedSample::new(data.weighted(feature).filter(|(x, _)| on_axis(*x)));
        let distinct = if self.distinct < 2 { None } else { sample().distinct(self.distinct) };
        match distinct.as_deref() {
            Some([first, .., last]) => {
                Ok((Axis::new(*first, *last)?, distinct.unwrap_or_default()))
            }
            _ => {
                let axis = self.axis.resolve(data, feature)?;
                Ok((axis, axis.grid(self.grid)))
            }
        }
    }

    /// The points beside the grid that the effect is computed at.
    fn further(&self, axis: Axis) -> Vec<f64> {
        with_even(&self.points, self.even_points, axis)
    }

    /// The constant that the centring subtracts is a weighted sum of the values of a curve: its
    /// weights, which are 0 at further points.
    fn constant_weights(
        &self,
        run: &Run<'_>,
        instances: impl Iterator<Item = (f64, f64)>,
    ) -> Array1<f64> {
        let places = &run.places;
        if self.centring == Centring::Integral {
            return Array1::from_vec(places.mean_weights.clone());
        }
        let mut weights = Array1::zeros(places.x.len());
        let grid: Vec<f64> = places.grid_indices.iter().map(|&i| places.x[i]).collect();
        let of_grid = grid_weights(self.centring, places.axis, &grid, instances);
        for (&point, weight) in places.grid_indices.iter().zip(of_grid) {
            weights[point] = weight;
        }
        weights
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
        let constant = centring::constant_by(self.axis_mean, self.centring, &on_grid, instances)?;
        let variances = |of: &dyn Fn(&PointMoments) -> Moments| -> Vec<Option<f64>> {
            let variance = |point| of(point).variance(self.ddof).filter(|_| !self.curve_only);
            moments.iter().map(variance).collect()
        };
        let raw = variances(&|point| point.raw);
        let centred = if self.raw_ice { raw.clone() } else { variances(&|point| point.centred) };
        let pick = |values: &[Option<f64>]| grid.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let mut values = heterogeneity::of_grid(&pick(&centred), &pick(&raw));
        let variance =
            |values: &[Option<f64>]| values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        let of_slopes = matches!(self.kind, Kind::Derivative(_));
        let variance_on_grid = Curve::linear(on_grid.x().to_vec(), variance(&pick(&centred)));
        let score = heterogeneity::effector_score(&variance_on_grid, instances, of_slopes);
        values.insert(heterogeneity::EFFECTOR_SCORE, score);
        let heterogeneity = if self.grid_heterogeneity {
            variance_on_grid
        } else {
            Curve::linear(x, variance(&centred))
        };
        let effect = Effect {
            feature,
            name: data.names()[feature].clone(),
            output,
            estimator: self.name(),
            curve: curve.lowered(constant).extrapolated(self.extrapolate),
            heterogeneity: heterogeneity.extrapolated(self.extrapolate),
            bins: None,
            bands: None,
            confidence: None,
            curves: None,
            mean_prediction: None,
            importance: self
                .importance
                .then(|| importance(&on_grid, instances, of_slopes))
                .flatten(),
            shapley: None,
            heterogeneity_values: values,
            default_heterogeneity: "mean_grid",
            record: Record {
                rows: data.len(),
                subsample: None,
                rows_outside: 0,
                model_rows: run.model.model_rows(),
                jacobian_rows: run.model.partial_rows(),
                axis: run.places.axis,
                centring: self.centring,
                axis_mean: self.axis_mean,
                centring_constant: constant,
                ddof: self.ddof,
                raw_ice: (self.raw_ice != self.kind.has_raw_ice()).then_some(self.raw_ice),
                derivatives: run.derivatives.map(Derivatives::describe),
                binning: None,
                extrapolated: self.extrapolate,
                shapley: None,
                neighbourhoods: None,
            },
        };
        effect.representable()
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

    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        let points = match self.axis {
            AxisChoice::Given(lo, hi) => {
                let axis = Axis::new(lo, hi).ok()?;
                Places::new(axis, &axis.grid(self.grid), &self.further(axis), self.axis_mean)
                    .x
                    .len()
            }
            AxisChoice::Data | AxisChoice::Quantiles { .. } => {
                self.grid + self.points.len() + self.even_points
            }
        };
        let per_point = match self.kind {
            Kind::Value => 1,
            Kind::Derivative(differentiation) => differentiation.rows_per_row(model),
        };
        Some((rows as u64).saturating_mul(points as u64 * per_point))
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        check(data, model, feature)?;
        let model = Observed::new(model);
        let run = Run::new(self, data, &model, feature)?;
        let moments = if self.curve_only { run.means()? } else { run.moments()? };
        run.check()?;
        moments.iter().enumerate().map(|(output, m)| self.effect(&run, m, output)).collect()
    }

    fn instances(
        &self,
        data: &Dataset,
        model: &dyn Model,
        effect: &Effect,
        rows: &[usize],
    ) -> Result<InstanceEffects> {
        check_rows(data, model, effect.feature, rows)?;
        let model = Observed::new(model);
        let run = Run::new(self, data, &model, effect.feature)?;
        let outputs = model.model().outputs();
        let curve = |&row: &usize| -> Result<Vec<f64>> {
            let ice = run.block_ice(row..row + 1)?;
            let mut curve: Vec<f64> =
                ice.iter().skip(effect.output).step_by(outputs).copied().collect();
            if self.centring != Centring::None {
                let weights = &run.places.mean_weights;
                let mean: f64 = curve.iter().zip(weights).map(|(y, weight)| y * weight).sum();
                curve.iter_mut().for_each(|y| *y -= mean);
            }
            Ok(curve)
        };
        let y = rows.iter().map(curve).collect::<Result<_>>()?;
        run.check()?;
        Ok(InstanceEffects::Curves { x: run.places.x.clone(), y })
    }

    fn resampling<'a>(
        &'a self,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        effect: &'a Effect,
        purpose: &Purpose<'_>,
    ) -> Result<Box<dyn Resampling + 'a>> {
        match self.kind {
            Kind::Value => Ok(Box::new(GridSample::new(self, data, model, effect, purpose)?)),
            Kind::Derivative(_) => {
                Err(Error::Incompatible(format!("`{}` has no confidence band", self.name())))
            }
        }
    }
}

/// The points at which the model is asked: the grid, and further ones between.
#[derive(Clone)]
struct Places {
    axis: Axis,
    x: Vec<f64>,
    grid_indices: Vec<usize>,
    /// Weights of the points in a mean over the axis: that of the curve through the grid, so they are 0
    /// at further points.
    mean_weights: Vec<f64>,
}

impl Places {
    fn new(axis: Axis, grid: &[f64], further: &[f64], mean: AxisMean) -> Self {
        let mut x: Vec<f64> =
            grid.iter().chain(further).copied().filter(|&x| axis.contains(x)).collect();
        x.sort_unstable_by(f64::total_cmp);
        x.dedup();
        let grid_indices: Vec<usize> = grid.iter().map(|g| x.partition_point(|x| x < g)).collect();
        let mut mean_weights = vec![0.0; x.len()];
        let of_grid = match mean.rule() {
            CenterRule::Exact => trapezoid(axis, grid),
            _ => at_places(grid, mean.places(axis).into_iter().map(|place| (place, 1.0))),
        };
        for (&point, weight) in grid_indices.iter().zip(of_grid) {
            mean_weights[point] = weight;
        }
        Self { axis, x, grid_indices, mean_weights }
    }
}

/// The weights of the trapezoid rule, for a mean.
fn trapezoid(axis: Axis, grid: &[f64]) -> Vec<f64> {
    let mut weights = vec![0.0; grid.len()];
    for (left, pair) in grid.windows(2).enumerate() {
        let half = (pair[1] - pair[0]) / axis.width() / 2.0;
        weights[left] += half;
        weights[left + 1] += half;
    }
    weights
}

/// The constant that a centring subtracts from the line through the points of a grid, as weights of
/// the values there.
pub(crate) fn grid_weights(
    centring: Centring,
    axis: Axis,
    grid: &[f64],
    instances: impl Iterator<Item = (f64, f64)>,
) -> Vec<f64> {
    match centring {
        Centring::Integral => trapezoid(axis, grid),
        Centring::Start => (0..grid.len()).map(|i| f64::from(i == 0)).collect(),
        Centring::Data => at_places(grid, instances),
        Centring::None | Centring::Bins => vec![0.0; grid.len()],
    }
}

/// The weights of a mean over weighted places of the line through the grid points; places beyond its
/// ends do not count.
fn at_places(grid: &[f64], places: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let (mut weights, mut total) = (vec![0.0; grid.len()], 0.0);
    for (x, weight) in places.filter(|(x, _)| (grid[0]..=grid[grid.len() - 1]).contains(x)) {
        let right = grid.partition_point(|&point| point < x).clamp(1, grid.len() - 1);
        let share = (x - grid[right - 1]) / (grid[right] - grid[right - 1]);
        weights[right - 1] += weight * (1.0 - share);
        weights[right] += weight * share;
        total += weight;
    }
    if total > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= total);
    }
    weights
}

/// What is known about one point of the curve.
#[derive(Clone, Copy, Default)]
struct PointMoments {
    /// Of f(x, x_c^(i)).
    raw: Moments,
    /// Of the same minus the mean of the instance's ICE curve over the axis.
    centred: Moments,
}

impl PointMoments {
    /// Of values, and of the same values less the means of the curves.
    fn weighted(values: &[f64], means: &[f64], weights: &[f64]) -> Self {
        let rest: Vec<f64> = values.iter().zip(means).map(|(value, mean)| value - mean).collect();
        Self {
            raw: Moments::of_block(values, Some(weights)),
            centred: Moments::of_block(&rest, Some(weights)),
        }
    }
}

struct Run<'a> {
    data: &'a Dataset,
    model: &'a Observed<'a>,
    feature: usize,
    /// How derivatives are computed, where they are what is averaged.
    derivatives: Option<Derivatives>,
    places: Places,
}

impl<'a> Run<'a> {
    fn new(
        estimator: &PartialDependence,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
    ) -> Result<Self> {
        let (axis, grid) = estimator.axis_and_grid(data, feature)?;
        let derivatives = match estimator.kind {
            Kind::Value => None,
            Kind::Derivative(differentiation) => Some(differentiation.of(model.model(), axis)?),
        };
        let places = Places::new(axis, &grid, &estimator.further(axis), estimator.axis_mean);
        Ok(Self { data, model, feature, derivatives, places })
    }

    /// Refuses derivatives that were asked for and say nothing of the model.
    fn check(&self) -> Result<()> {
        match self.derivatives {
            Some(derivatives) => derivatives.check(self.model, (self.data, self.feature)),
            None => Ok(()),
        }
    }

    /// Moments at every point, for each output.
    fn moments(&self) -> Result<Vec<Vec<PointMoments>>> {
        let outputs = self.model.model().outputs();
        let mut total = vec![vec![PointMoments::default(); self.places.x.len()]; outputs];
        fold_blocks_with(
            self.data.len(),
            BLOCK,
            || vec![0.0; self.places.x.len() * outputs * BLOCK.min(self.data.len())],
            |ice, rows| self.block_moments(rows, ice),
            |block| {
                for (total, block) in total.iter_mut().flatten().zip(block.iter().flatten()) {
                    total.raw = total.raw.merge(block.raw);
                    total.centred = total.centred.merge(block.centred);
                }
            },
        )?;
        Ok(total)
    }

    fn block_moments(
        &self,
        rows: Range<usize>,
        ice: &mut [f64],
    ) -> Result<Vec<Vec<PointMoments>>, ModelError> {
        let (points, outputs) = (self.places.x.len(), self.model.model().outputs());
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        let ice = &mut ice[..points * outputs * rows.len()];
        let mut sums = BlockSums::new(&self.places, rows.len(), outputs, weights);
        self.ask(rows, ice, |point, values| sums.add(point, values))?;
        Ok(sums.moments(ice))
    }

    /// The same with the means alone: each value is looked at once, and no curve is held.
    fn means(&self) -> Result<Vec<Vec<PointMoments>>> {
        let outputs = self.model.model().outputs();
        let mut total = vec![vec![PointMoments::default(); self.places.x.len()]; outputs];
        fold_blocks_with(
            self.data.len(),
            BLOCK,
            || vec![0.0; outputs * BLOCK],
            |values, rows| self.block_means(rows, values),
            |block| {
                // For each point all outputs.
                for (at, mean) in block.into_iter().enumerate() {
                    let total = &mut total[at % outputs][at / outputs].raw;
                    *total = total.merge(mean);
                }
            },
        )?;
        Ok(total)
    }

    /// For each point and output the weight and the mean of the values of some rows.
    fn block_means(
        &self,
        rows: Range<usize>,
        values: &mut [f64],
    ) -> Result<Vec<Moments>, ModelError> {
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        let len = rows.len();
        let mut means = Vec::with_capacity(self.places.x.len() * self.model.model().outputs());
        let mut columns = self.data.columns(rows);
        let values = &mut values[..self.model.model().outputs() * len];
        for &x in &self.places.x {
            self.ask_at(x, &mut columns, values, |values| {
                let known = means.len();
                let mean = |values| Moments::mean_of_block(values, weights);
                means.extend(values.chunks(len).map(mean));
                means[known..].iter().all(|mean| mean.weight > 0.0 && mean.mean.is_finite())
            })?;
        }
        Ok(means)
    }

    /// The ICE curves of some rows: at each point, for each output, all rows.
    fn block_ice(&self, rows: Range<usize>) -> Result<Vec<f64>, ModelError> {
        let outputs = self.model.model().outputs();
        let mut ice = vec![0.0; self.places.x.len() * outputs * rows.len()];
        self.ask(rows, &mut ice, |_, values| all_finite(values))?;
        Ok(ice)
    }

    /// Writes the ICE curves of some rows and their means over the axis: for each output all points of each
    /// row, and a mean for each row.
    fn block_curves(
        &self,
        rows: Range<usize>,
        ice: &mut Vec<f64>,
        curves: &mut [&mut [f64]],
        means: &mut [&mut [f64]],
    ) -> Result<(), ModelError> {
        let (len, outputs) = (rows.len(), curves.len());
        ice.resize(self.places.x.len() * outputs * len, 0.0);
        let mut sums = BlockSums::new(&self.places, len, outputs, None);
        self.ask(rows, ice, |point, values| sums.add(point, values))?;
        let points: Vec<&[f64]> = ice.chunks(outputs * len).collect();
        for (output, (curves, means)) in curves.iter_mut().zip(means).enumerate() {
            transpose(&points, output * len, curves);
            means.copy_from_slice(&sums.means[output * len..][..len]);
        }
        Ok(())
    }

    /// Writes the ICE curves of some rows, and calls `then` on each point and its values while they
    /// are in the nearest cache; it says whether all of them are known to be finite.
    fn ask(
        &self,
        rows: Range<usize>,
        ice: &mut [f64],
        mut then: impl FnMut(usize, &[f64]) -> bool,
    ) -> Result<(), ModelError> {
        let len = rows.len();
        let outputs = self.model.model().outputs();
        let mut columns = self.data.columns(rows);
        if self.derivatives.is_none() && self.model.model().predicts_along() {
            let rows = Rows::new(&columns, len);
            self.model.predict_along(self.feature, &self.places.x, &rows, ice)?;
            for (point, values) in ice.chunks(outputs * len).enumerate() {
                then(point, values);
            }
            return Ok(());
        }
        let points = self.places.x.iter().zip(ice.chunks_mut(outputs * len));
        for (point, (&x, values)) in points.enumerate() {
            self.ask_at(x, &mut columns, values, |values| then(point, values))?;
        }
        Ok(())
    }

    /// Writes what the model says of some rows with the feature at one place, and calls `then` on it.
    fn ask_at<'b>(
        &self,
        x: f64,
        columns: &mut [Column<'b>],
        values: &mut [f64],
        mut then: impl FnMut(&[f64]) -> bool,
    ) -> Result<(), ModelError> {
        columns[self.feature] = Column::Constant(x);
        let len = values.len() / self.model.model().outputs();
        match self.derivatives {
            None => self.model.predict_and(&Rows::new(columns, len), values, then),
            Some(derivatives) => {
                derivatives.evaluate(self.model, self.feature, columns, len, values)?;
                then(values);
                Ok(())
            }
        }
    }
}

/// What is added up while the ICE curves of a block of rows come point by point.
struct BlockSums<'a> {
    places: &'a Places,
    weights: Option<&'a [f64]>,
    rows: usize,
    /// For each point and output the sum of the values.
    sums: Vec<f64>,
    /// For each output and row the mean of the curve over the axis.
    means: Vec<f64>,
}

impl<'a> BlockSums<'a> {
    fn new(places: &'a Places, rows: usize, outputs: usize, weights: Option<&'a [f64]>) -> Self {
        let sums = Vec::with_capacity(places.x.len() * outputs);
        Self { places, weights, rows, sums, means: vec![0.0; outputs * rows] }
    }

    /// Adds the values at the next point, for each output all rows; says whether all are known to be
    /// finite, as their sums are.
    fn add(&mut self, point: usize, values: &[f64]) -> bool {
        let known = self.sums.len();
        let weight = self.places.mean_weights[point];
        for (means, values) in self.means.chunks_mut(self.rows).zip(values.chunks(self.rows)) {
            let sum =
                add_each(means, values, values, move |value, _| weight * value, |value, _| value);
            self.sums.push(sum);
        }
        self.sums[known..].iter().all(|sum| sum.is_finite())
    }

    /// Moments at every point, for each output, from the curves: at each point, for each output, all
    /// rows.
    fn moments(&self, ice: &[f64]) -> Vec<Vec<PointMoments>> {
        let outputs = self.means.len() / self.rows;
        let of_output = |output: usize| {
            let means = &self.means[output * self.rows..][..self.rows];
            let mean_of_means = sum_in_lanes(means, |mean| mean) / self.rows as f64;
            let of_point = |point: usize| {
                let at = point * outputs + output;
                let values = &ice[at * self.rows..][..self.rows];
                match self.weights {
                    None => {
                        let mean = self.sums[at] / self.rows as f64;
                        let [raw, centred] = Moments::about(values, mean, means, mean_of_means);
                        PointMoments { raw, centred }
                    }
                    Some(weights) => PointMoments::weighted(values, means, weights),
                }
            };
            (0..self.places.x.len()).map(of_point).collect()
        };
        (0..outputs).map(of_output).collect()
    }
}

impl Places {
    /// Moments at every point from the ICE curves of `len` rows on one output.
    fn moments(&self, ice: &[f64], len: usize, weights: Option<&[f64]>) -> Vec<PointMoments> {
        let mut sums = BlockSums::new(self, len, 1, weights);
        for (point, values) in ice.chunks(len).enumerate() {
            sums.add(point, values);
        }
        sums.moments(ice).swap_remove(0)
    }
}

/// Least number of curves whose sums are made into moments together.
const CURVES_SUMMED: usize = 4096;

/// Curves that are added to the sums of all groupings before the next.
const CURVES_TOGETHER: usize = 64;

/// A division of the rows of some data.
pub(crate) struct Grouping<'a> {
    /// The group of each row; none if all are in one.
    pub(crate) of: Option<&'a [u32]>,
    /// Number of groups.
    pub(crate) groups: usize,
}

/// Sums of curves and of their squares in some groups, counted from the first curve of each as in
/// [`Sums`]. All points of a curve are worked on side by side.
struct CurveSums {
    points: usize,
    /// For each group the weight of its curves.
    weights: Vec<f64>,
    /// For each group and point the value of the first curve.
    first: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl CurveSums {
    fn new(groups: usize, points: usize) -> Self {
        let zeros = || vec![0.0; groups * points];
        let weights = vec![0.0; groups];
        Self { points, weights, first: zeros(), sums: zeros(), squares: zeros() }
    }

    /// Adds a curve, lowered by a constant, to a group.
    fn add(&mut self, group: usize, curve: &[f64], lowered: f64, weight: f64) {
        let at = group * self.points..(group + 1) * self.points;
        let first = &mut self.first[at.clone()];
        let (sums, squares) = (&mut self.sums[at.clone()], &mut self.squares[at]);
        if self.weights[group] == 0.0 {
            first.iter_mut().zip(curve).for_each(|(first, value)| *first = value - lowered);
        }
        self.weights[group] += weight;
        vectorised(
            #[inline(always)]
            || {
                let (lowered, weight) = (lowered, weight);
                let totals = sums.iter_mut().zip(&mut *squares);
                for (((sum, square), &value), first) in totals.zip(curve).zip(&*first) {
                    let shifted = (value - lowered) - first;
                    *sum += weight * shifted;
                    *square += weight * shifted * shifted;
                }
            },
        );
    }

    /// Merges the moments of the curves into those of others.
    fn merge_into(&self, total: &mut [Vec<Moments>]) {
        for (group, total) in total.iter_mut().enumerate() {
            for (point, total) in total.iter_mut().enumerate() {
                let at = group * self.points + point;
                let weight = self.weights[group];
                let sums = Sums::new(self.first[at], weight, self.sums[at], self.squares[at]);
                *total = total.merge(sums.moments());
            }
        }
    }
}

/// The ICE curves of all instances, block after block.
pub(crate) struct IceBlocks<'a> {
    estimator: &'a PartialDependence,
    run: Run<'a>,
}

impl<'a> IceBlocks<'a> {
    pub(crate) fn new(
        estimator: &'a PartialDependence,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
    ) -> Result<Self> {
        Ok(Self { estimator, run: Run::new(estimator, data, model, feature)? })
    }

    /// The points of the curves.
    pub(crate) fn x(&self) -> &[f64] {
        &self.run.places.x
    }

    pub(crate) fn outputs(&self) -> usize {
        self.run.model.model().outputs()
    }

    /// The constant that the centring subtracts, as weights of the values of a curve, where the rows
    /// have these weights.
    pub(crate) fn constant_weights(&self, weights: &[f64]) -> Array1<f64> {
        let positions = self.run.data.feature(self.run.feature).iter().copied();
        self.estimator.constant_weights(&self.run, positions.zip(weights.iter().copied()))
    }

    /// Calls `work` on the curves of consecutive blocks of rows (at each point, for each output, all
    /// rows) and `merge` on the results, in row order.
    pub(crate) fn fold<T: Send>(
        &self,
        work: impl Fn(Range<usize>, &[f64]) -> Result<T, ModelError> + Sync,
        merge: impl FnMut(T) + Send,
    ) -> Result<(), ModelError> {
        let in_block = |rows: Range<usize>| work(rows.clone(), &self.run.block_ice(rows)?);
        fold_blocks(self.run.data.len(), BLOCK, in_block, merge)
    }
}

/// Columns of a table, given row by row: one after the other, from the first one on.
fn transpose(rows: &[&[f64]], first: usize, columns: &mut [f64]) {
    // Few enough columns at once that all of them stay in the nearest cache.
    const TOGETHER: usize = 8;
    let height = rows.len();
    let together = columns.chunks_mut(TOGETHER * height);
    for (first, columns) in (first..).step_by(TOGETHER).zip(together) {
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in columns.chunks_mut(height).zip(&values[first..]) {
                column[row] = *value;
            }
        }
    }
}

/// The ICE curves of all instances, held so that any part of them can be summarised without asking
/// the model again.
pub(crate) struct IceTable<'a> {
    estimator: &'a PartialDependence,
    run: Run<'a>,
    /// For each output and row all points.
    values: Vec<f64>,
    /// For each output the mean of every row's curve over the axis.
    means: Vec<f64>,
}

impl<'a> IceTable<'a> {
    /// Asks the model for every instance at every point.
    ///
    /// # Errors
    /// [`Error::BadOption`] if the table would hold more than `most` values.
    pub(crate) fn new(
        estimator: &'a PartialDependence,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
        most: usize,
    ) -> Result<Self> {
        let run = Run::new(estimator, data, model, feature)?;
        let (rows, points, outputs) = (data.len(), run.places.x.len(), model.model().outputs());
        let size = rows.saturating_mul(points).saturating_mul(outputs);
        if size > most {
            return Err(Error::BadOption {
                option: "grid",
                given: format!("{points} points for {rows} rows and {outputs} outputs"),
                allowed: format!(
                    "all ICE values are held at once, at most {most}; take a `subsample` of the \
                     rows or fewer points"
                ),
            });
        }
        let mut values = vec![0.0; size];
        let mut means = vec![0.0; rows * outputs];
        let tables = values.chunks_mut(rows * points).chain(means.chunks_mut(rows)).collect();
        fill_blocks(rows, BLOCK, tables, Vec::new, |ice, block, tables| {
            let (curves, means) = tables.split_at_mut(outputs);
            run.block_curves(block, ice, curves, means)
        })?;
        run.check()?;
        Ok(Self { estimator, run, values, means })
    }

    /// The curves of the instances that count, for each output, each lowered by a constant of its own:
    /// what the centring subtracts from it alone. The table is not copied.
    pub(super) fn into_curves(self) -> Vec<IceCurves> {
        let Self { estimator, run, mut values, .. } = self;
        let (rows, x) = (run.data.len(), run.places.x.clone());
        let instances = run.data.weighted(run.feature);
        let weights = estimator.constant_weights(&run, instances);
        let counted = run.data.weighted(run.feature).map(|(_, weight)| weight > 0.0);
        let counted: Vec<usize> = counted.enumerate().filter(|(_, c)| *c).map(|(i, _)| i).collect();
        let of_output = |mut values: Vec<f64>| {
            values.par_chunks_mut(x.len()).with_min_len(BLOCK).for_each(|curve| {
                let constant = ArrayView1::from(&*curve).dot(&weights);
                curve.iter_mut().for_each(|value| *value -= constant);
            });
            let mut values = Array2::from_shape_vec((rows, x.len()), values).unwrap_or_default();
            if counted.len() < rows {
                values = values.select(ndarray::Axis(0), &counted);
            }
            IceCurves { x: x.clone(), rows: counted.clone(), values }
        };
        let mut curves = Vec::new();
        while !values.is_empty() {
            curves.push(of_output(values.split_off(values.len() - rows * x.len())));
        }
        curves.reverse();
        curves
    }

    /// How derivatives are computed, if the curves are d-ICE curves.
    pub(crate) fn derivatives(&self) -> Option<Derivatives> {
        self.run.derivatives
    }

    /// The values of a row's curve at all points.
    fn curve_values(&self, output: usize, row: usize) -> &[f64] {
        let points = self.run.places.x.len();
        &self.values[(output * self.run.data.len() + row) * points..][..points]
    }

    fn weights_of(&self, rows: &[usize]) -> Option<Vec<f64>> {
        let weights = self.run.data.weights()?;
        Some(rows.iter().map(|&row| weights[row]).collect())
    }

    /// For each grouping the moments over the rows of every group at every grid point: of the curves
    /// as they are, or of the centred ones (unless the estimator takes those as they are).
    pub(crate) fn summarise(
        &self,
        output: usize,
        rows: &[usize],
        groupings: &[Grouping<'_>],
        raw: bool,
    ) -> Vec<Vec<Vec<Moments>>> {
        let points = self.run.places.x.len();
        let none =
            |grouping: &Grouping<'_>| vec![vec![Moments::default(); points]; grouping.groups];
        let mut total: Vec<_> = groupings.iter().map(none).collect();
        let Ok(()) = fold_blocks(
            rows.len(),
            (rows.len() / 8).max(CURVES_SUMMED),
            |block| Ok::<_, Infallible>(self.sum_up(output, &rows[block], groupings, raw)),
            |block| {
                for (total, sums) in total.iter_mut().zip(block) {
                    sums.merge_into(total);
                }
            },
        );
        let grid = &self.run.places.grid_indices;
        let on_grid = |all: Vec<Moments>| grid.iter().map(|&i| all[i]).collect();
        let of_groups = |all: Vec<Vec<Moments>>| all.into_iter().map(on_grid).collect();
        total.into_iter().map(of_groups).collect()
    }

    fn sum_up(
        &self,
        output: usize,
        rows: &[usize],
        groupings: &[Grouping<'_>],
        raw: bool,
    ) -> Vec<CurveSums> {
        let raw = raw || self.estimator.raw_ice;
        let means = &self.means[output * self.run.data.len()..];
        let weights = self.run.data.weights();
        let points = self.run.places.x.len();
        let mut sums: Vec<_> =
            groupings.iter().map(|grouping| CurveSums::new(grouping.groups, points)).collect();
        // Few enough curves that they stay in the cache for all groupings.
        for rows in rows.chunks(CURVES_TOGETHER) {
            for (sums, grouping) in sums.iter_mut().zip(groupings) {
                for &row in rows {
                    let group = grouping.of.map_or(0, |of| of[row] as usize);
                    let lowered = if raw { 0.0 } else { means[row] };
                    let weight = weights.map_or(1.0, |weights| weights[row]);
                    sums.add(group, self.curve_values(output, row), lowered, weight);
                }
            }
        }
        sums
    }

    /// Variance at every grid point, from the moments there.
    pub(crate) fn variances(&self, moments: &[Moments]) -> Vec<Option<f64>> {
        moments.iter().map(|point| point.variance(self.estimator.ddof)).collect()
    }

    /// The effect of some rows alone.
    pub(crate) fn effect(&self, output: usize, rows: &[usize]) -> Result<Effect> {
        let places = &self.run.places;
        let mut total = vec![PointMoments::default(); places.x.len()];
        let of_block = |ice: &mut Vec<f64>, block: Range<usize>| {
            let block = &rows[block];
            let curves = block.iter().map(|&row| self.curve_values(output, row));
            ice.resize(places.x.len() * block.len(), 0.0);
            transpose(&curves.collect::<Vec<_>>(), 0, ice);
            let weights = self.weights_of(block);
            Ok::<_, Infallible>(places.moments(ice, block.len(), weights.as_deref()))
        };
        let Ok(()) = fold_blocks_with(rows.len(), BLOCK, Vec::new, of_block, |moments| {
            for (total, block) in total.iter_mut().zip(&moments) {
                total.raw = total.raw.merge(block.raw);
                total.centred = total.centred.merge(block.centred);
            }
        });
        let data = self.run.data.select(rows);
        let run = Run { data: &data, places: places.clone(), ..self.run };
        self.estimator.effect(&run, &total, output)
    }
}
