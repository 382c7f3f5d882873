//! Partial dependence and its derivative: `pdp`, `dpdp`.

mod band;
mod ice_table;
mod run;

pub(crate) use ice_table::{Grouping, IceBlocks, IceTable};
use run::{IceRun, PointMoments};

use ndarray::Array1;

use super::common::{CurveOptions, with_axis_and_centring};
use super::grid::{Grid, GridOptions, distinct_points, grid_weights};
use super::parts::{Asked, PartSums, not_in_parts};
use super::{
    Estimand, Estimated, Estimator, EstimatorInfo, InstanceEffects, Observation, Resampled,
};
use crate::confidence::{BandRequest, Purpose};
use crate::data::AxisChoice;
use crate::data::Dataset;
use crate::effect::centring::{self, AxisMean};
use crate::effect::heterogeneity;
use crate::effect::importance::importance;
use crate::effect::{Effect, LevelRecord, PositionSums, Record, Sample};
use crate::error::{Error, Result};
use crate::estimator::derivatives::Differentiation;
use crate::model::{Model, Observed};
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::numeric::moments::Moments;
use crate::settings::Centring;
use crate::settings::Settings;

pub(crate) const PDP: EstimatorInfo = EstimatorInfo {
    name: "pdp",
    about: "partial dependence on a grid; heterogeneity from centred ICE curves (Friedman 2001)",
    options: &[GRID, AxisMean::OPTIONS, CURVE_ONLY, BandRequest::OPTIONS],
    build: |settings| Ok(Box::new(PartialDependence::from_settings(Averaged::Value, settings)?)),
};

pub(crate) const DPDP: EstimatorInfo = EstimatorInfo {
    name: "dpdp",
    about: "mean derivative on a grid; heterogeneity from d-ICE curves (EFFECTOR eq. 9-10)",
    options: &[GRID, AxisMean::OPTIONS, Differentiation::OPTIONS, CURVE_ONLY],
    build: |settings| {
        let differentiation = Differentiation::from_settings(settings)?;
        let kind = Averaged::Derivative(differentiation);
        Ok(Box::new(PartialDependence::from_settings(kind, settings)?))
    },
};

/// Options of all estimators on a grid of ICE curves.
pub(crate) const GRID: &[&str] = &[
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

/// Options of those that give a mean curve.
const CURVE_ONLY: &[&str] = &["curve_only"];

/// The quantity that is averaged over the instances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Averaged {
    /// f(x, x_c).
    Value,
    /// ∂_s f(x, x_c).
    Derivative(Differentiation),
}

impl Averaged {
    /// True if the curves behind the heterogeneity are as they are, unless something else is asked for:
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
    kind: Averaged,
    grid: GridOptions,
    distinct: usize,
    raw_ice: bool,
    grid_heterogeneity: bool,
    pub(in crate::estimator) common: CurveOptions,
    curve_only: bool,
}

impl PartialDependence {
    /// On so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn on_grid(points: usize) -> Result<Self> {
        let settings = Settings { grid: Some(points), ..Settings::default() };
        Self::from_settings(Averaged::Value, &settings)
    }

    /// Of the derivative, on so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn of_derivative(points: usize) -> Result<Self> {
        let settings = Settings { grid: Some(points), ..Settings::default() };
        Self::from_settings(Averaged::Derivative(Differentiation::default()), &settings)
    }

    pub(super) fn from_settings(kind: Averaged, settings: &Settings) -> Result<Self> {
        // A derivative has no level to take away.
        let centring = match kind {
            Averaged::Value => Centring::default(),
            Averaged::Derivative(_) => Centring::None,
        };
        Ok(Self {
            kind,
            grid: GridOptions::from_settings(settings)?,
            distinct: settings.distinct.unwrap_or_default(),
            raw_ice: settings.raw_ice.unwrap_or(kind.has_raw_ice()),
            grid_heterogeneity: settings.grid_heterogeneity.unwrap_or_default(),
            common: CurveOptions::from_settings(settings, centring, 0)?,
            curve_only: settings.curve_only.unwrap_or_default(),
        })
    }

    /// `pdp` from settings.
    pub(crate) fn pdp(settings: &Settings) -> Result<Self> {
        Self::from_settings(Averaged::Value, settings)
    }

    /// `dpdp` from settings.
    pub(crate) fn dpdp(settings: &Settings) -> Result<Self> {
        Self::from_settings(
            Averaged::Derivative(Differentiation::from_settings(settings)?),
            settings,
        )
    }

    /// Refuses a feature that the data or the model do not have, and derivatives by levels, in the name of the estimator
    /// that asks.
    pub(super) fn check(
        &self,
        (data, model): (&Dataset, &dyn Model),
        feature: usize,
        estimator: &'static str,
    ) -> Result<()> {
        match self.kind {
            Averaged::Value => data.check_model(model, feature),
            Averaged::Derivative(_) => data.check_derivable(model, feature, estimator),
        }
    }

    /// The distinct values of a feature that has few of them, or equidistant points over the axis.
    fn axis_and_grid(&self, data: &Dataset, feature: usize) -> Result<(Axis, Vec<f64>)> {
        let distinct = distinct_points(data, feature, self.common.axis, self.distinct);
        match distinct.as_deref() {
            Some([first, .., last]) => {
                Ok((Axis::new(*first, *last)?, distinct.unwrap_or_default()))
            }
            _ => {
                let axis = self.common.axis.resolve(data, feature)?;
                Ok((axis, self.grid.equidistant(axis)))
            }
        }
    }

    /// The run of the model over all instances and points.
    fn run<'a>(
        &self,
        data: &'a Dataset,
        model: &'a Observed<'a>,
        feature: usize,
    ) -> Result<IceRun<'a>> {
        if let Some(levels) = data.levels(feature)? {
            self.common.at_levels(&data.names()[feature])?;
            return Ok(IceRun::new((data, feature), model, Grid::of_levels(levels)?, None));
        }
        let (axis, grid) = self.axis_and_grid(data, feature)?;
        let derivatives = match self.kind {
            Averaged::Value => None,
            Averaged::Derivative(differentiation) => Some(differentiation.of(model.model(), axis)?),
        };
        let grid = Grid::new(axis, &grid, &self.grid.further(axis), self.common.axis_mean);
        Ok(IceRun::new((data, feature), model, grid, derivatives))
    }

    /// The points on an axis.
    fn grid_on(&self, axis: Axis) -> Grid {
        let (grid, further) = (self.grid.equidistant(axis), self.grid.further(axis));
        Grid::new(axis, &grid, &further, self.common.axis_mean)
    }

    /// Options of the curve on a grid, which may be one of levels.
    fn common(&self, grid: &Grid) -> CurveOptions {
        if grid.levels.is_some() { self.common.of_levels() } else { self.common }
    }

    /// The constant that the centring subtracts is a weighted sum of the values of a curve: its
    /// weights, which are 0 at further points.
    fn constant_weights(
        &self,
        run: &IceRun<'_>,
        instances: impl Iterator<Item = (f64, f64)>,
    ) -> Array1<f64> {
        let places = &run.grid;
        let centring = self.common(places).centring;
        if centring == Centring::Integral {
            return Array1::from_vec(places.mean_weights.clone());
        }
        let mut weights = Array1::zeros(places.x.len());
        if let (Centring::Start, Some(levels)) = (centring, &places.levels) {
            weights[levels.given[0]] = 1.0;
            return weights;
        }
        let grid: Vec<f64> = places.grid_indices.iter().map(|&i| places.x[i]).collect();
        let of_grid = grid_weights(centring, places.axis, &grid, instances);
        for (&point, weight) in places.grid_indices.iter().zip(of_grid) {
            weights[point] = weight;
        }
        weights
    }

    fn effect(&self, run: &IceRun<'_>, moments: &[PointMoments], output: usize) -> Result<Effect> {
        let (data, feature) = (run.data, run.feature);
        let levels = run.grid.levels.as_ref().map(|levels| OfLevels {
            constant: self.constant_weights(run, data.weighted(feature)),
            record: LevelRecord::new(data.kinds()[feature], levels, None),
        });
        let of = ((data, feature).into(), &run.grid, levels);
        self.effect_of(of, moments, (output, run.asked()))
    }

    /// The effect with these moments at the points of a grid, in a sample of which perhaps only sums are known.
    fn effect_of(
        &self,
        (sample, points, levels): (Sample<'_>, &Grid, Option<OfLevels>),
        moments: &[PointMoments],
        (output, asked): (usize, Asked),
    ) -> Result<Effect> {
        let (grid, common) = (&points.grid_indices, self.common(points));
        let x: Vec<f64> = points.x.clone();
        let means: Vec<f64> = moments.iter().map(|point| point.raw.mean).collect();
        let on_grid = Curve::linear(
            grid.iter().map(|&i| x[i]).collect(),
            grid.iter().map(|&i| means[i]).collect(),
        );
        let places = sample.places(None);
        // The constant is that of the grid alone, so that further points do not move the curve.
        let constant = match &levels {
            None => centring::constant_at(common.axis_mean, common.centring, &on_grid, places)?,
            Some(levels) => {
                levels.constant.iter().zip(&means).map(|(weight, mean)| weight * mean).sum()
            }
        };
        let curve = points.curve(x.clone(), means);
        let variances = |of: &dyn Fn(&PointMoments) -> Moments| -> Vec<Option<f64>> {
            let variance =
                |point| of(point).variance(self.common.ddof).filter(|_| !self.curve_only);
            moments.iter().map(variance).collect()
        };
        let raw = variances(&|point| point.raw);
        let centred = if self.raw_ice { raw.clone() } else { variances(&|point| point.centred) };
        let pick = |values: &[Option<f64>]| grid.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let values = match levels {
            None => heterogeneity::of_grid(&pick(&centred), &pick(&raw)),
            Some(_) => heterogeneity::of_levels(&centred, &points.mean_weights),
        };
        let variance =
            |values: &[Option<f64>]| values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        let of_slopes = matches!(self.kind, Averaged::Derivative(_));
        let variance_on_grid = points.curve(on_grid.x().to_vec(), variance(&pick(&centred)));
        let score = heterogeneity::effector_score_at(&variance_on_grid, places, of_slopes);
        let values = heterogeneity::with_score(values, score);
        let heterogeneity = if self.grid_heterogeneity {
            variance_on_grid
        } else {
            points.curve(x, variance(&centred))
        };
        let what = (output, self.name());
        let on_axis = (points.axis, curve);
        let effect = common.effect(sample, what, on_axis, constant);
        let record = Record {
            levels: levels.map(|levels| levels.record),
            model_rows: asked.model_rows,
            jacobian_rows: asked.jacobian_rows,
            raw_ice: (self.raw_ice != self.kind.has_raw_ice()).then_some(self.raw_ice),
            derivatives: asked.derivatives,
            ..effect.record
        };
        let instances = sample.instances(None).filter(|_| self.common.importance);
        let importance = instances.and_then(|instances| importance(&on_grid, instances, of_slopes));
        let effect = Effect {
            heterogeneity: heterogeneity.extrapolated(common.extrapolate),
            importance,
            heterogeneity_values: values,
            default_heterogeneity: if points.levels.is_some() {
                "mean_levels"
            } else {
                "mean_grid"
            },
            record,
            ..effect
        };
        effect.representable()
    }
}

/// The levels of a feature in an effect at them.
struct OfLevels {
    /// Weights of the values at the levels in the constant of the centring.
    constant: Array1<f64>,
    record: LevelRecord,
}

with_axis_and_centring!(PartialDependence, common);

impl Estimator for PartialDependence {
    fn name(&self) -> &'static str {
        match self.kind {
            Averaged::Value => PDP.name,
            Averaged::Derivative(_) => DPDP.name,
        }
    }

    fn estimand(&self) -> Estimand {
        match self.kind {
            Averaged::Value => Estimand::PartialDependence,
            Averaged::Derivative(_) => Estimand::DerivativePartialDependence,
        }
    }

    fn centring(&self) -> Centring {
        self.common.centring
    }

    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        let points = match self.common.axis {
            AxisChoice::Given(lo, hi) => {
                let axis = Axis::new(lo, hi).ok()?;
                self.grid.places(axis).len()
            }
            AxisChoice::Data | AxisChoice::Quantiles { .. } => self.grid.count(),
        };
        let per_point = match self.kind {
            Averaged::Value => 1,
            Averaged::Derivative(differentiation) => differentiation.rows_per_row(model),
        };
        Some((rows as u64).saturating_mul(points as u64 * per_point))
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        self.check((data, model), feature, self.name())?;
        let model = Observed::new(model);
        let run = self.run(data, &model, feature)?;
        let moments = if self.curve_only { run.means()? } else { run.moments()? };
        run.check()?;
        moments.iter().enumerate().map(|(output, m)| self.effect(&run, m, output)).collect()
    }

    fn sums(&self, part: &Dataset, model: &dyn Model, feature: usize) -> Result<PartSums> {
        self.check((part, model), feature, self.name())?;
        if self.distinct > 1 {
            return Err(not_in_parts(self.name(), "the distinct values are those of all rows"));
        }
        let model = Observed::new(model);
        let run = self.run(part, &model, feature)?;
        let found = if self.curve_only { run.means()? } else { run.moments()? };
        run.check()?;
        let each = |of: fn(&PointMoments) -> Moments| {
            found.iter().map(|points| points.iter().map(of).collect()).collect()
        };
        let grid = &run.grid;
        let knots: Vec<f64> = grid.grid_indices.iter().map(|&i| grid.x[i]).collect();
        let zeros = vec![0.0; knots.len()];
        Ok(PartSums {
            rows: part.len(),
            moments: each(|point| point.raw),
            centred: each(|point| point.centred),
            positions: PositionSums::of((part, feature), grid.axis, &Curve::linear(knots, zeros)),
            asked: run.asked(),
            ..PartSums::default()
        })
    }

    fn of_sums(&self, feature: (usize, &str), sums: &PartSums) -> Result<Vec<Effect>> {
        let AxisChoice::Given(lo, hi) = self.common.axis else { return Ok(Vec::new()) };
        let grid = self.grid_on(Axis::new(lo, hi)?);
        let sample = Sample::summed(feature, &sums.positions);
        let of_output = |(output, (raw, centred)): (usize, (&Vec<Moments>, &Vec<Moments>))| {
            let points = raw.iter().zip(centred);
            let moments: Vec<PointMoments> =
                points.map(|(&raw, &centred)| PointMoments { raw, centred }).collect();
            self.effect_of((sample, &grid, None), &moments, (output, sums.asked.clone()))
        };
        sums.moments.iter().zip(&sums.centred).enumerate().map(of_output).collect()
    }

    fn instances(&self, of: Estimated<'_>, rows: &[usize]) -> Result<InstanceEffects> {
        let Estimated { data, model, effect } = of;
        data.check_rows(model, effect.feature, rows)?;
        let model = Observed::new(model);
        let run = self.run(data, &model, effect.feature)?;
        let outputs = model.model().outputs();
        let curve = |&row: &usize| -> Result<Vec<f64>> {
            let ice = run.block_ice(row..row + 1)?;
            let mut curve: Vec<f64> =
                ice.iter().skip(effect.output).step_by(outputs).copied().collect();
            if self.common.centring != Centring::None {
                let weights = &run.grid.mean_weights;
                let mean: f64 = curve.iter().zip(weights).map(|(y, weight)| y * weight).sum();
                curve.iter_mut().for_each(|y| *y -= mean);
            }
            Ok(curve)
        };
        let y = rows.iter().map(curve).collect::<Result<_>>()?;
        run.check()?;
        Ok(InstanceEffects::Curves { x: run.grid.x.clone(), y })
    }

    fn resampling<'a>(&'a self, of: Observation<'a>, purpose: &Purpose<'_>) -> Resampled<'a> {
        match self.kind {
            Averaged::Value => Ok(Box::new(band::sample(self, of, purpose)?)),
            Averaged::Derivative(_) => {
                Err(Error::Incompatible(format!("`{}` has no confidence band", self.name())))
            }
        }
    }
}
