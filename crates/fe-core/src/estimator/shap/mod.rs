//! SHAP dependence: `shapdp`.

mod band;
pub mod shapley;

use band::ShapleySample;
use shapley::{Background, Pairs, Shapley, ShapleyMethod, ShapleyValues};

use ndarray::Array2;

use super::at_levels::{self, LevelValues};
use super::common::CurveOptions;
use super::grid::GridOptions;
use super::level_band::{LevelMeans, RowValues};
use super::{
    Estimand, Estimated, Estimator, EstimatorInfo, InstanceEffects, Observation, Resampled,
};
use crate::confidence::{BandRequest, Purpose};
use crate::data::{Dataset, Levels};
use crate::effect::Instances;
use crate::effect::centring;
use crate::effect::heterogeneity;
use crate::effect::importance::importance;
use crate::effect::{Contributions, Effect, Record, ShapleyRecord};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::numeric::axis::Axis;
use crate::numeric::curve::Curve;
use crate::numeric::spline::{Smoothing, Spline};
use crate::settings::Centring;
use crate::settings::Settings;

pub(crate) const SHAPDP: EstimatorInfo = EstimatorInfo {
    name: "shapdp",
    about: "spline through Shapley values; heterogeneity from its residuals (EFFECTOR A.3)",
    options: &[
        &[
            "axis",
            "center",
            "extrapolate",
            "grid",
            "points",
            "even_points",
            "background",
            "background_rows",
            "shapley_values",
            "background_seed",
            "permutations",
            "shapley_seed",
            "smoothing",
        ],
        BandRequest::OPTIONS,
    ],
    build: |settings| Ok(Box::new(ShapDependence::from_settings(settings)?)),
};

/// A penalised cubic regression spline through the points (x_s^(i), φ_s^(i)), φ being interventional
/// Shapley values (EFFECTOR A.3), evaluated on a grid.
///
/// The rows whose x_s lies within the axis are explained; the background is all rows, or a sample of
/// them. Where the axis is longer than the data the spline continues straight. The heterogeneity
/// value, `mean_residual`, is the mean squared residual about the spline; the heterogeneity curve is
/// the same kind of spline through the squared residuals, with values below 0 raised to 0. Both are
/// missing for a single instance. An additive model with a linear component gives that component.
///
/// The model is asked what [`shapley::values`] documents, once for each feature:
/// [`ShapDependence::of_values`] takes values that were computed for all features at once.
///
/// ```
/// use fe_core::{Dataset, estimator::{Estimator, ShapDependence}, model::FunctionModel};
/// let rows = ndarray::array![[0.0, 1.0], [1.0, 3.0], [2.0, 1.0], [3.0, 0.0]];
/// let data = Dataset::from_rows(&rows.view())?;
/// let model = FunctionModel::new(2, |x| 4.0 * x[0] + x[1] * x[1]);
/// let effect = &ShapDependence::on_grid(3)?.estimate(&data, &model, 0)?[0];
/// assert!((effect.curve.at(3.0)? - 6.0).abs() < 1e-12);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShapDependence {
    grid: GridOptions,
    common: CurveOptions,
    background: Background,
    pairs: Option<usize>,
    seed: u64,
    smoothing: Smoothing,
    /// The background rows themselves, where they are given.
    given: Option<Vec<Vec<f64>>>,
    shapley_values: bool,
}

impl ShapDependence {
    /// On so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn on_grid(points: usize) -> Result<Self> {
        Self::from_settings(&Settings { grid: Some(points), ..Settings::default() })
    }

    pub(crate) fn from_settings(settings: &Settings) -> Result<Self> {
        let grid = GridOptions::from_settings(settings)?;
        let background = match (settings.background, settings.background_seed) {
            (Some(size), seed) => Background::Sample { size, seed: seed.unwrap_or_default() },
            (None, None) => Background::All,
            (None, Some(_)) => {
                return Err(Error::Incompatible(
                    "`background_seed` needs `background`: without it all rows are taken"
                        .to_owned(),
                ));
            }
        };
        if settings.background.is_some() && settings.background_rows.is_some() {
            return Err(Error::Incompatible(
                "`background` draws rows and `background_rows` gives them: not both".to_owned(),
            ));
        }
        shapley::check_background(background)?;
        settings.permutations.map_or(Ok(()), shapley::check_pairs)?;
        Ok(Self {
            grid,
            common: CurveOptions::from_settings(settings, Centring::default(), 0)?,
            background,
            pairs: settings.permutations,
            seed: settings.shapley_seed.unwrap_or_default(),
            smoothing: settings.smoothing.unwrap_or_default(),
            given: settings.background_rows.clone(),
            shapley_values: settings.shapley_values.unwrap_or_default(),
        })
    }

    /// Options of the Shapley values of so many features.
    #[must_use]
    pub fn shapley(&self, dimension: usize) -> Shapley {
        Shapley {
            method: ShapleyMethod::suited_to(dimension, self.pairs, self.seed),
            background: self.background,
        }
    }

    /// The same for a model, which may know the values.
    #[must_use]
    pub fn shapley_of(&self, model: &dyn Model) -> Shapley {
        let method = ShapleyMethod::suited_to_model(model, self.pairs, self.seed);
        Shapley { method, background: self.background }
    }

    /// The equidistant points on an axis.
    pub(crate) fn grid(&self, axis: Axis) -> Vec<f64> {
        self.grid.equidistant(axis)
    }

    /// The effect of a feature from Shapley values of these data, one per output: the model is not
    /// asked again. Rows outside the axis and rows of weight 0 are left out.
    ///
    /// # Errors
    /// [`Error::NoSuchFeature`], [`Error::WrongCount`] for values of other data, [`Error::NotFinite`]
    /// for values too large to be numbers, and what the axis and the centring have wrong.
    pub fn of_values(
        &self,
        data: &Dataset,
        values: &ShapleyValues,
        feature: usize,
    ) -> Result<Vec<Effect>> {
        data.check_feature(feature)?;
        let (_, dimension, outputs) = values.values.dim();
        let expected = data.dimension();
        if dimension != expected {
            let what = "features with Shapley values";
            return Err(Error::WrongCount { what, expected, got: dimension });
        }
        if let Some(last) = values.rows.iter().max().filter(|row| **row >= data.len()) {
            let (what, expected) = ("rows with Shapley values", data.len());
            return Err(Error::WrongCount { what, expected, got: last + 1 });
        }
        if let Some(levels) = data.levels(feature)? {
            let at = |output| self.by_level(data, values, feature, &levels, output);
            return (0..outputs).map(at).collect();
        }
        let axis = self.common.axis.resolve(data, feature)?;
        (0..outputs).map(|output| self.effect(data, values, feature, axis, output)).collect()
    }

    /// The mean Shapley value at each level.
    fn by_level(
        &self,
        data: &Dataset,
        values: &ShapleyValues,
        feature: usize,
        levels: &Levels,
        output: usize,
    ) -> Result<Effect> {
        let common = self.common.at_levels(&data.names()[feature])?;
        let axis = Axis::new(levels.values[0], levels.values[levels.len() - 1])?;
        let cloud = Cloud::new(data, values, feature, axis, output)?;
        let weights = Some(&cloud.weights[..]);
        let local = LevelValues { values: &cloud.values, at: &cloud.x, weights };
        let what = (output, self.name());
        let effect = at_levels::of_values(&common, (data, feature), what, levels, &local)?;
        let degrees_of_freedom = levels.len() as f64;
        let of_values = self.record(values, &cloud, None);
        let record = Record {
            rows_outside: 0,
            model_rows: values.model_rows,
            shapley: Some(ShapleyRecord { degrees_of_freedom, ..of_values }),
            ..effect.record
        };
        let shapley = self.shapley_values.then(|| cloud.contributions(values.base[output]));
        Effect { shapley, record, ..effect }.representable()
    }

    /// The effect on an axis of one output.
    pub(crate) fn effect(
        &self,
        data: &Dataset,
        values: &ShapleyValues,
        feature: usize,
        axis: Axis,
        output: usize,
    ) -> Result<Effect> {
        let cloud = Cloud::new(data, values, feature, axis, output)?;
        let spline = cloud.spline(self.smoothing)?;
        let residuals = cloud.squared_residuals(&spline);
        let x = self.grid.places(axis);
        let curve = Curve::linear(x.clone(), x.iter().map(|&x| spline.at(x)).collect());
        let on_grid = self.grid(axis);
        let on_grid =
            Curve::linear(on_grid.clone(), on_grid.iter().map(|&x| spline.at(x)).collect());
        let instances =
            Instances { positions: data.feature(feature), weights: data.weights(), counts: None };
        // The constant is that of the grid alone, so that further points do not move the curve.
        let constant = centring::constant(self.common.centring, &on_grid, instances)?;
        let heterogeneity = self.heterogeneity(&cloud, &residuals, &x)?;
        let what = (output, self.name());
        let effect = self.common.effect((data, feature), what, (axis, curve), constant);
        let record = Record {
            rows_outside: data.count_rows(feature, &axis).1,
            model_rows: values.model_rows,
            shapley: Some(self.record(values, &cloud, Some(&spline))),
            ..effect.record
        };
        let importance =
            self.common.importance.then(|| importance(&on_grid, instances, false)).flatten();
        let effect = Effect {
            heterogeneity: Curve::linear(x, heterogeneity).extrapolated(self.common.extrapolate),
            importance,
            shapley: self.shapley_values.then(|| cloud.contributions(values.base[output])),
            heterogeneity_values: heterogeneity::of_residuals(cloud.mean(&residuals)),
            default_heterogeneity: "mean_residual",
            record,
            ..effect
        };
        effect.representable()
    }

    /// The axis, and the Shapley values of the rows on it: all that the model is asked for.
    pub(crate) fn explain(
        &self,
        data: &Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<(Axis, ShapleyValues)> {
        let axis = match data.levels(feature)? {
            Some(levels) => Axis::new(levels.values[0], levels.values[levels.len() - 1])?,
            None => self.common.axis.resolve(data, feature)?,
        };
        let counts = |row: usize| {
            data.weights().is_none_or(|weights| weights[row] > 0.0)
                && axis.contains(data.feature(feature)[row])
        };
        let rows: Vec<usize> = (0..data.len()).filter(|&row| counts(row)).collect();
        if rows.is_empty() {
            return Err(no_rows(data, feature, axis));
        }
        Ok((axis, self.values(data, model, &rows)?))
    }

    /// The Shapley values of some rows against the background.
    fn values(&self, data: &Dataset, model: &dyn Model, rows: &[usize]) -> Result<ShapleyValues> {
        let options = self.shapley_of(model);
        match &self.given {
            None => shapley::values(data, model, rows, &options),
            Some(background) => {
                let all = beside_background(data, background)?;
                shapley::values(&all, model, rows, &options)
            }
        }
    }

    /// A check that rows of the data are the background, as resampling the data needs it.
    ///
    /// # Errors
    /// [`Error::Incompatible`].
    pub(crate) fn check_background_of_data(&self) -> Result<()> {
        match self.given {
            None => Ok(()),
            Some(_) => Err(Error::Incompatible(
                "a band resamples the rows and the background with them: none with \
                 `background_rows`"
                    .to_owned(),
            )),
        }
    }

    /// The mean squared residual about the spline through some points; none for a single one.
    pub(crate) fn mean_residual(&self, cloud: &Cloud) -> Result<Option<f64>> {
        let spline = cloud.spline(self.smoothing)?;
        Ok(cloud.mean(&cloud.squared_residuals(&spline)))
    }

    /// A spline through the squared residuals, raised to 0 where it dips below.
    fn heterogeneity(&self, cloud: &Cloud, residuals: &[f64], x: &[f64]) -> Result<Vec<f64>> {
        // Squares too large to be numbers have no spline.
        if !cloud.has_spread() || residuals.iter().any(|r| !r.is_finite()) {
            return Ok(vec![f64::NAN; x.len()]);
        }
        let spline = Spline::fit(&cloud.x, residuals, Some(&cloud.weights), self.smoothing)?;
        Ok(x.iter().map(|&x| spline.at(x).max(0.0)).collect())
    }

    fn record(
        &self,
        values: &ShapleyValues,
        cloud: &Cloud,
        spline: Option<&Spline>,
    ) -> ShapleyRecord {
        let (method, pairs, seed) = match values.method {
            ShapleyMethod::Exact => ("exact", None, None),
            ShapleyMethod::ByModel => ("by_model", None, None),
            ShapleyMethod::Permutations { pairs, seed } => {
                ("permutations", Some(pairs), Some(seed))
            }
        };
        let background_seed = match values.background {
            Background::All => None,
            Background::Sample { seed, .. } => Some(seed),
        };
        ShapleyRecord {
            method,
            pairs,
            seed,
            rows_explained: values.rows.len(),
            background: values.background_rows,
            background_seed,
            mean_standard_error: cloud.mean_standard_error,
            smoothing: self.smoothing,
            smoothing_parameter: spline.and_then(Spline::smoothing_parameter),
            degrees_of_freedom: spline.map_or(0.0, Spline::degrees_of_freedom),
            knots: spline.and_then(Spline::knots),
        }
    }
}

impl Estimator for ShapDependence {
    fn name(&self) -> &'static str {
        SHAPDP.name
    }

    fn estimand(&self) -> Estimand {
        Estimand::ShapDependence
    }

    fn centring(&self) -> Centring {
        self.common.centring
    }

    fn cost(&self, rows: usize, model: &dyn Model) -> Option<u64> {
        let (rows, features) = (rows as u64, model.dimension() as u64);
        let Shapley { method, background } = self.shapley_of(model);
        // Worths of coalitions other than none and all, which are known for every row; where the rows
        // are the background, of one coalition in each pair.
        let coalitions = (1_u64 << features.min(40)).saturating_sub(2);
        let (background, coalitions) = match background {
            _ if self.given.is_some() => {
                (self.given.as_ref().map_or(0, Vec::len) as u64, coalitions)
            }
            Background::All => (rows, coalitions / 2),
            Background::Sample { size, .. } => (rows.min(size as u64), coalitions),
        };
        let worths = match method {
            ShapleyMethod::Exact => coalitions,
            // Every row once, and the background with each batch of them.
            ShapleyMethod::ByModel => rows.div_ceil(1024),
            ShapleyMethod::Permutations { pairs, .. } => 2 * pairs as u64 * (features - 1),
        };
        if method == ShapleyMethod::ByModel {
            return Some(2 * rows + background * (1 + worths) + 1);
        }
        let coalitions = rows.saturating_mul(background).saturating_mul(worths);
        Some(coalitions.saturating_add(rows + background + 1))
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        data.check_model(model, feature)?;
        let (_, values) = self.explain(data, model, feature)?;
        self.of_values(data, &values, feature)
    }

    fn instances(&self, of: Estimated<'_>, rows: &[usize]) -> Result<InstanceEffects> {
        let Estimated { data, model, effect } = of;
        data.check_rows(model, effect.feature, rows)?;
        let values = self.values(data, model, rows)?;
        let axis = effect.record.axis;
        let value = |(i, &row): (usize, &usize)| {
            let on_axis = axis.contains(data.feature(effect.feature)[row]);
            let counts = data.weights().is_none_or(|weights| weights[row] > 0.0);
            let value = values.values.get([i, effect.feature, effect.output]);
            value.copied().filter(|_| on_axis && counts).unwrap_or(f64::NAN)
        };
        Ok(InstanceEffects::Contributions(rows.iter().enumerate().map(value).collect()))
    }

    fn resampling<'a>(&'a self, of: Observation<'a>, purpose: &Purpose<'_>) -> Resampled<'a> {
        if of.effect.record.levels.is_some() {
            self.check_background_of_data()?;
            let Estimated { data, model, effect } = of;
            let weights = data.weighted(effect.feature).enumerate();
            let rows = weights.filter(|(_, (_, weight))| *weight > 0.0).map(|(row, _)| row);
            let (options, what) = (self.shapley(data.dimension()), (effect.feature, effect.output));
            let pairs = Pairs::new(data, model, rows.collect(), &options, what)?;
            let values = RowValues {
                rows: pairs.rows,
                against: pairs.values,
                background: pairs.background.into_iter().zip(pairs.shares).collect(),
            };
            return Ok(Box::new(LevelMeans::new(of, values, purpose)?));
        }
        Ok(Box::new(ShapleySample::new(self, of, purpose)?))
    }
}

/// The data with further rows after them, which alone have weights: they are the background.
fn beside_background(data: &Dataset, background: &[Vec<f64>]) -> Result<Dataset> {
    let dimension = data.dimension();
    let wrong = background.iter().find(|row| row.len() != dimension);
    if background.is_empty() || wrong.is_some() {
        return Err(Error::BadOption {
            option: "background_rows",
            given: wrong
                .map_or("no rows".to_owned(), |row| format!("a row of {} values", row.len())),
            allowed: format!("at least one row, each of {dimension} values"),
        });
    }
    let rows = data.len() + background.len();
    let features = Array2::from_shape_fn((dimension, rows), |(feature, row)| {
        let further = row.checked_sub(data.len());
        further.map_or_else(|| data.feature(feature)[row], |row| background[row][feature])
    });
    let weights = (0..rows).map(|row| f64::from(u8::from(row >= data.len()))).collect();
    let all = Dataset::from_features(features)?.with_names(data.names().to_vec())?;
    all.with_kinds(data.kinds().to_vec())?.with_weights(weights)
}

/// The Shapley values of one feature over the feature itself, within the axis.
pub(crate) struct Cloud {
    rows: Vec<usize>,
    x: Vec<f64>,
    values: Vec<f64>,
    weights: Vec<f64>,
    mean_standard_error: Option<f64>,
}

impl Cloud {
    pub(crate) fn new(
        data: &Dataset,
        values: &ShapleyValues,
        feature: usize,
        axis: Axis,
        output: usize,
    ) -> Result<Self> {
        let all = data.weights();
        let mut cloud = Self {
            rows: vec![],
            x: vec![],
            values: vec![],
            weights: vec![],
            mean_standard_error: None,
        };
        let mut errors = values.standard_errors.as_ref().map(|_| Vec::new());
        for (i, &row) in values.rows.iter().enumerate() {
            let Some(&x) = data.feature(feature).get(row) else {
                let (what, expected) = ("rows with Shapley values", data.len());
                return Err(Error::WrongCount { what, expected, got: row + 1 });
            };
            let weight = all.map_or(1.0, |weights| weights[row]);
            if weight > 0.0 && axis.contains(x) {
                cloud.rows.push(row);
                cloud.x.push(x);
                cloud.values.push(values.values[[i, feature, output]]);
                cloud.weights.push(weight);
                if let (Some(errors), Some(all)) = (&mut errors, &values.standard_errors) {
                    errors.push(all[[i, feature, output]]);
                }
            }
        }
        if cloud.x.is_empty() {
            return Err(no_rows(data, feature, axis));
        }
        cloud.mean_standard_error = errors.map(|errors| cloud.weighted_mean(&errors));
        Ok(cloud)
    }

    /// Some of the points.
    pub(crate) fn select(&self, points: &[usize]) -> Self {
        let select = |all: &[f64]| points.iter().map(|&point| all[point]).collect();
        let (x, values) = (select(&self.x), select(&self.values));
        let rows = points.iter().map(|&point| self.rows[point]).collect();
        Self { rows, x, values, weights: select(&self.weights), mean_standard_error: None }
    }

    fn contributions(&self, base_value: f64) -> Contributions {
        Contributions { rows: self.rows.clone(), values: self.values.clone(), base_value }
    }

    fn spline(&self, smoothing: Smoothing) -> Result<Spline> {
        Spline::fit(&self.x, &self.values, Some(&self.weights), smoothing)
    }

    /// True if there are instances to differ from each other.
    fn has_spread(&self) -> bool {
        self.weights.iter().sum::<f64>() > 1.0
    }

    fn squared_residuals(&self, spline: &Spline) -> Vec<f64> {
        self.x.iter().zip(&self.values).map(|(&x, phi)| (phi - spline.at(x)).powi(2)).collect()
    }

    /// Mean over the instances; none for a single one.
    fn mean(&self, squares: &[f64]) -> Option<f64> {
        self.has_spread().then(|| self.weighted_mean(squares))
    }

    fn weighted_mean(&self, of: &[f64]) -> f64 {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter().zip(of).map(|(w, y)| w / total * y).sum()
    }
}

fn no_rows(data: &Dataset, feature: usize, axis: Axis) -> Error {
    Error::NoRowsOnAxis { name: data.names()[feature].clone(), lo: axis.lo(), hi: axis.hi() }
}
