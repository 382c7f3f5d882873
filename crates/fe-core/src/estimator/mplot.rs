//! The M-plot: `mplot`.

use rayon::prelude::*;

use super::at_levels::{self, LevelValues};
use super::common::{CurveOptions, with_axis_and_centring};
use super::grid::GridOptions;
use super::level_band::{LevelMeans, RowValues};
use super::parts::{Asked, BINS_OF_ALL, PartSums, not_in_parts};
use super::{Estimand, Estimator, EstimatorInfo, Observation, Resampled, empty_bins};
use crate::binning::{self, Binning, BinningRequest, Choice, Quantile};
use crate::confidence::{BandRequest, Purpose};
use crate::data::{Dataset, Levels};
use crate::effect::centring::{self, AxisMean};
use crate::effect::heterogeneity::{self, Values};
use crate::effect::importance::importance;
use crate::effect::{
    BinningRecord, Bins, Effect, NeighbourhoodRecord, PositionSums, Record, Sample,
};
use crate::error::{Error, Result};
use crate::estimator::predictions;
use crate::model::{Model, Observed};
use crate::numeric::axis::Axis;
use crate::numeric::curve::{Curve, Shape};
use crate::numeric::interpolation::interpolate_missing;
use crate::numeric::moments::Moments;
use crate::numeric::order_statistics::put_in_order;
use crate::numeric::parallel::of_each;
use crate::numeric::partition::Closed;
use crate::numeric::sums::moments_in_bins;
use crate::settings::Centring;
use crate::settings::{EmptyBins, Interpolation, Settings};

pub(crate) const MPLOT: EstimatorInfo = EstimatorInfo {
    name: "mplot",
    about: "mean prediction of the instances near a point, in bins or nearest (Apley and Zhu 2020)",
    options: &[COMMON, ON_BINS, ON_GRID, AxisMean::OPTIONS, BandRequest::OPTIONS],
    build: |settings| Ok(Box::new(MarginalPlot::from_settings(settings)?)),
};

const COMMON: &[&str] = &["axis", "center", "ddof", "extrapolate", "points"];

/// Options of an M-plot in bins.
const ON_BINS: &[&str] = &[
    "binning",
    "bins",
    "limits",
    "min_points",
    "quantiles",
    "distinct",
    "empty",
    "fill_variances",
    "closed",
    "interpolation",
];

/// Options of an M-plot over the nearest instances.
const ON_GRID: &[&str] = &["nearest", "grid", "even_points"];

/// Distances that differ by less than so many units in the last place of the axis are equal.
const ULPS_OF_TIES: f64 = 8.0;

/// Fewer rows are not shared among threads.
const SHARED: usize = 1 << 14;

/// Neighbourhoods of a point.
#[derive(Debug)]
enum Near {
    /// Those in the same bin.
    Bins(InBins),
    /// The nearest ones, around each point of a grid.
    Nearest {
        /// Their least weight, m.
        least: usize,
        grid: GridOptions,
    },
}

/// Options of bins, and of the curve that they become.
#[derive(Debug)]
struct InBins {
    binning: Box<dyn Binning>,
    empty: EmptyBins,
    fill_variances: bool,
    closed: Closed,
    interpolation: Interpolation,
}

/// Weighted mean of f(x^(i)) over the instances whose x_s is near x (M-plot; Apley and Zhu 2020):
/// E[f | x_s = x], which has the effects of all features that go with x_s in it.
///
/// By default those in the same bin of 20 quantile bins are near, and the curve is a step on each bin;
/// with linear interpolation it joins the means at the centres of the bins and is constant at the
/// ends. With [`MarginalPlot::of_nearest`] they are, at each point of a grid, all instances up to the
/// least distance within which there is a weight of m, ties included; the curve is linear between the
/// points. The heterogeneity is the variance of f among the same instances. Instances off the axis are
/// near nothing.
///
/// The model is asked once for each row of positive weight, and [`Effect::mean_prediction`] is their
/// mean.
///
/// ```
/// use fe_core::{Dataset, estimator::{Estimator, MarginalPlot}, model::FunctionModel};
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0], [1.0, 3.0], [2.0, 8.0]].view())?;
/// let model = FunctionModel::new(2, |x| x[1]);
/// let effect = &MarginalPlot::with_bins(2)?.estimate(&data, &model, 0)?[0];
/// assert_eq!(effect.bins.as_ref().unwrap().effect, [1.0, 5.5]);
/// assert_eq!(effect.curve.at_all(&[0.5, 1.5])?, [-2.25, 2.25]);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug)]
pub struct MarginalPlot {
    near: Near,
    common: CurveOptions,
    /// True if a band is asked for, which there is at levels alone.
    banded: bool,
}

impl MarginalPlot {
    /// On K quantile bins.
    ///
    /// # Errors
    /// [`Error::BadOption`] for K = 0.
    pub fn with_bins(bins: usize) -> Result<Self> {
        Ok(Self::from_settings(&Settings::default())?.binned(Quantile::new(bins)?))
    }

    /// Over the nearest instances of a total weight of at least m, at so many equidistant points.
    ///
    /// # Errors
    /// [`Error::BadOption`] for m = 0, for fewer than 2 points or too many.
    pub fn of_nearest(least: usize, points: usize) -> Result<Self> {
        Self::from_settings(&Settings {
            nearest: Some(least),
            grid: Some(points),
            ..Settings::default()
        })
    }

    fn from_settings(settings: &Settings) -> Result<Self> {
        Ok(Self {
            near: Near::from_settings(settings)?,
            common: CurveOptions::from_settings(settings, Centring::default(), 0)?,
            banded: settings.band.is_some(),
        })
    }

    /// The same estimator on other bins, which must not look at local effects.
    #[must_use]
    pub fn binned(mut self, binning: impl Binning + 'static) -> Self {
        let binning = Box::new(binning);
        self.near = Near::Bins(match self.near {
            Near::Bins(bins) => InBins { binning, ..bins },
            Near::Nearest { .. } => InBins::new(binning),
        });
        self
    }

    /// Chooses bins or a grid. Nothing is asked of the model where no instance is on the axis.
    fn place<'a>(&'a self, data: &'a Dataset, rows: usize, feature: usize) -> Result<Place<'a>> {
        let axis = self.common.axis.resolve(data, feature)?;
        let (axis, around) = match &self.near {
            Near::Bins(bins) => {
                let choice = bins.choose(axis, (data, feature), self.common.ddof)?;
                (choice.partition.axis()?, Around::Bins(bins, choice))
            }
            Near::Nearest { least, grid } => {
                let (grid, further) = (grid.equidistant(axis), grid.further(axis));
                (axis, Around::Points { least: *least, grid, further })
            }
        };
        if data.count_rows(feature, &axis).0 == 0 {
            let name = data.names()[feature].clone();
            return Err(Error::NoRowsOnAxis { name, lo: axis.lo(), hi: axis.hi() });
        }
        around.check(data, feature, axis)?;
        Ok(Place { data, rows, feature, axis, around })
    }

    fn effect(
        &self,
        place: &Place<'_>,
        predictions: &[f64],
        (output, model_rows): (usize, u64),
    ) -> Result<Effect> {
        let (data, feature) = (place.data, place.feature);
        let local = match &place.around {
            Around::Bins(bins, choice) => {
                let (positions, weights) = (data.feature(feature), data.weights());
                let moments = moments_in_bins(&choice.partition, positions, predictions, weights);
                bins.means(choice, &moments, self.common.ddof)?
            }
            Around::Points { least, grid, further } => {
                nearest_means(place, predictions, *least, (grid, further), self.common.ddof)
            }
        };
        let mean = predictions::mean(data, predictions);
        let of = ((data, feature).into(), place.rows, place.axis);
        self.effect_of(of, local, mean, (output, model_rows))
    }

    /// The effect of local means, in a sample of which perhaps only sums are known, and which was so many rows.
    fn effect_of(
        &self,
        (sample, rows, axis): (Sample<'_>, usize, Axis),
        local: LocalMeans,
        mean_prediction: f64,
        (output, model_rows): (usize, u64),
    ) -> Result<Effect> {
        let counts = local.bins.as_ref().map(|bins| bins.counts.clone());
        let places = sample.places(counts.as_deref());
        let centred = match self.common.centring {
            Centring::Bins => local.between_limits()?,
            _ => local.centred,
        };
        let constant =
            centring::constant_at(self.common.axis_mean, self.common.centring, &centred, places)?;
        let instances = sample.instances(None).filter(|_| self.common.importance);
        let importance = instances.and_then(|instances| importance(&centred, instances, false));
        let what = (output, self.name());
        let effect = self.common.effect(sample, what, (axis, local.curve), constant);
        let record = Record {
            rows,
            rows_outside: sample.count_rows(&axis).1,
            model_rows,
            binning: local.binning,
            neighbourhoods: Some(local.neighbourhoods),
            ..effect.record
        };
        let effect = Effect {
            heterogeneity: local.heterogeneity.extrapolated(self.common.extrapolate),
            bins: local.bins,
            mean_prediction: Some(mean_prediction),
            importance,
            heterogeneity_values: local.values,
            default_heterogeneity: local.default_value,
            record,
            ..effect
        };
        effect.representable()
    }
}

impl Near {
    fn from_settings(settings: &Settings) -> Result<Self> {
        let Some(least) = settings.nearest else {
            let of_grid = [("grid", settings.grid), ("even_points", settings.even_points)];
            if let Some((option, _)) = of_grid.iter().find(|(_, given)| given.is_some()) {
                let message =
                    format!("`mplot` takes `{option}` only with `nearest`: otherwise it has bins");
                return Err(Error::Incompatible(message));
            }
            return Ok(Self::Bins(InBins::from_settings(settings)?));
        };
        if let Some(option) = settings.given().into_iter().find(|name| ON_BINS.contains(name)) {
            return Err(Error::Incompatible(format!(
                "`{option}` and `nearest` do not go together: the nearest instances are in no bins"
            )));
        }
        if least == 0 {
            return Err(Error::BadOption {
                option: "nearest",
                given: "0".to_owned(),
                allowed: "must be at least 1".to_owned(),
            });
        }
        Ok(Self::Nearest { least, grid: GridOptions::from_settings(settings)? })
    }
}

with_axis_and_centring!(MarginalPlot, common);

impl Estimator for MarginalPlot {
    fn name(&self) -> &'static str {
        MPLOT.name
    }

    fn estimand(&self) -> Estimand {
        Estimand::MarginalPlot
    }

    fn binning(&self) -> Option<&dyn Binning> {
        match &self.near {
            Near::Bins(bins) => Some(&*bins.binning),
            Near::Nearest { .. } => None,
        }
    }

    fn centring(&self) -> Centring {
        self.common.centring
    }

    fn cost(&self, rows: usize, _: &dyn Model) -> Option<u64> {
        Some(rows as u64)
    }

    fn check_band(&self, name: &str, has_levels: bool) -> Result<()> {
        if has_levels || !self.banded {
            return Ok(());
        }
        Err(Error::Incompatible(format!(
            "`mplot` has a confidence band at levels, and {name} is a number: means over neighbourhoods are off by \
             more than chance; `ale` and `pdp` have one"
        )))
    }

    fn estimate(&self, data: &Dataset, model: &dyn Model, feature: usize) -> Result<Vec<Effect>> {
        data.check_model(model, feature)?;
        let counted = data.counted();
        if let Some(levels) = data.levels(feature)? {
            let common = self.common.at_levels(&data.names()[feature])?;
            return by_level(&common, (data, feature), model, &levels);
        }
        self.check_band(&data.names()[feature], false)?;
        let place = self.place(&counted, data.len(), feature)?;
        let observed = Observed::new(model);
        let predictions = predictions::at_rows(&counted, &observed)?;
        let asked = observed.model_rows();
        let each = predictions.iter().enumerate();
        each.map(|(output, values)| self.effect(&place, values, (output, asked))).collect()
    }

    fn resampling<'a>(&'a self, of: Observation<'a>, purpose: &Purpose<'_>) -> Resampled<'a> {
        let weighted = of.data.weighted(of.effect.feature).enumerate();
        let counted = weighted.filter(|(_, (_, weight))| *weight > 0.0);
        let rows: Vec<usize> = counted.map(|(row, _)| row).collect();
        let values = predictions::at_rows(&of.data.counted(), of.model)?;
        let of_output = values.into_iter().nth(of.effect.output).unwrap_or_default();
        Ok(Box::new(LevelMeans::new(of, RowValues::known(rows, of_output), purpose)?))
    }

    fn sums(&self, part: &Dataset, model: &dyn Model, feature: usize) -> Result<PartSums> {
        part.check_model(model, feature)?;
        let Near::Bins(bins) = &self.near else {
            return Err(not_in_parts(self.name(), "which instances are nearest depends on all"));
        };
        let axis = self.common.axis.resolve(part, feature)?;
        let positions = (part.feature(feature), part.weights());
        let Some(cells) = bins.binning.cells(&bins.request(axis, positions, self.common.ddof))?
        else {
            return Err(not_in_parts(self.name(), BINS_OF_ALL));
        };
        let counted = part.counted();
        let observed = Observed::new(model);
        let predictions = predictions::at_rows(&counted, &observed)?;
        let (at, weights) = (counted.feature(feature), counted.weights());
        let of_bins = |values: &Vec<f64>| moments_in_bins(&cells, at, values, weights);
        let on_cells = cells.axis()?;
        let zeros = vec![0.0; cells.bins()];
        let curve = match bins.interpolation {
            Interpolation::Linear => {
                let (x, y) =
                    through_centres((on_cells.lo(), on_cells.hi()), &cells.centres(), &zeros);
                Curve::linear(x, y)
            }
            Interpolation::Step => Curve::step(cells.limits().to_vec(), zeros, bins.closed),
        };
        Ok(PartSums {
            rows: part.len(),
            moments: predictions.iter().map(of_bins).collect(),
            predictions: predictions.iter().map(|of| predictions::moments(&counted, of)).collect(),
            positions: PositionSums::of((&counted, feature), on_cells, &curve),
            partition: Some(cells),
            asked: Asked::of(&observed, None),
            ..PartSums::default()
        })
    }

    fn of_sums(&self, feature: (usize, &str), sums: &PartSums) -> Result<Vec<Effect>> {
        let (Near::Bins(bins), Some(cells)) = (&self.near, &sums.partition) else {
            return Ok(Vec::new());
        };
        let (axis, sample) = (cells.axis()?, Sample::summed(feature, &sums.positions));
        if sample.count_rows(&axis).0 == 0 {
            let name = sample.name.to_owned();
            return Err(Error::NoRowsOnAxis { name, lo: axis.lo(), hi: axis.hi() });
        }
        let choice = Choice::new(cells.clone(), true);
        let of_output = |(output, (moments, of_all)): (usize, (&Vec<Moments>, &Moments))| {
            let local = bins.means(&choice, moments, self.common.ddof)?;
            let asked = (output, sums.asked.model_rows);
            self.effect_of((sample, sums.rows, axis), local, of_all.mean, asked)
        };
        sums.moments.iter().zip(&sums.predictions).enumerate().map(of_output).collect()
    }
}

/// The mean prediction at each level, for each output.
fn by_level(
    common: &CurveOptions,
    (data, feature): (&Dataset, usize),
    model: &dyn Model,
    levels: &Levels,
) -> Result<Vec<Effect>> {
    let observed = Observed::new(model);
    let counted = data.counted();
    let predictions = predictions::at_rows(&counted, &observed)?;
    let of_output = |(output, predictions): (usize, &Vec<f64>)| {
        let local = LevelValues {
            values: predictions,
            at: counted.feature(feature),
            weights: counted.weights(),
        };
        let what = (output, MPLOT.name);
        let effect = at_levels::of_values(common, (data, feature), what, levels, &local)?;
        let record = Record { model_rows: observed.model_rows(), ..effect.record };
        let mean_prediction = Some(predictions::mean(&counted, predictions));
        Effect { mean_prediction, record, ..effect }.representable()
    };
    predictions.iter().enumerate().map(of_output).collect()
}

/// The rows that count, and the feature that local means are over.
struct Place<'a> {
    data: &'a Dataset,
    /// Rows of the data with those of weight 0.
    rows: usize,
    feature: usize,
    /// From the first to the last limit or grid point.
    axis: Axis,
    around: Around<'a>,
}

/// Resolved neighbourhoods that local means are over.
enum Around<'a> {
    /// Each bin.
    Bins(&'a InBins, Choice),
    /// The instances nearest to each point of a grid, and to further points.
    Points { least: usize, grid: Vec<f64>, further: Vec<f64> },
}

impl Around<'_> {
    /// Refuses a mean over more than there is.
    fn check(&self, data: &Dataset, feature: usize, axis: Axis) -> Result<()> {
        let Self::Points { least, .. } = self else { return Ok(()) };
        let on_axis = data.weighted(feature).filter(|&(x, _)| axis.contains(x));
        let there: f64 = on_axis.map(|(_, weight)| weight).sum();
        if *least as f64 <= there {
            return Ok(());
        }
        Err(Error::BadOption {
            option: "nearest",
            given: least.to_string(),
            allowed: format!(
                "must be at most the weight of the instances on the axis, {there}: a mean over all of them \
                 is the same everywhere"
            ),
        })
    }
}

/// Local means before they are centred, and what is known of them.
struct LocalMeans {
    curve: Curve,
    /// The curve that centring looks at: without further points.
    centred: Curve,
    heterogeneity: Curve,
    values: Values,
    default_value: &'static str,
    bins: Option<Bins>,
    binning: Option<BinningRecord>,
    neighbourhoods: NeighbourhoodRecord,
}

impl LocalMeans {
    /// The curve as the centring `bins` looks at it: linear between the limits, or a step.
    fn between_limits(&self) -> Result<Curve> {
        match &self.bins {
            Some(bins) if self.curve.shape() == Shape::Linear => {
                let limits = bins.partition.limits().to_vec();
                let values = self.curve.at_all(&limits)?;
                Ok(Curve::linear(limits, values))
            }
            _ => Ok(self.centred.clone()),
        }
    }
}

impl InBins {
    fn new(binning: Box<dyn Binning>) -> Self {
        Self {
            binning,
            empty: EmptyBins::default(),
            fill_variances: false,
            closed: Closed::default(),
            interpolation: Interpolation::Step,
        }
    }

    fn from_settings(settings: &Settings) -> Result<Self> {
        let new = Self::new(binning::from_settings(settings, "quantile")?);
        Ok(Self {
            empty: settings.empty_bins()?,
            fill_variances: settings.fill_variances.unwrap_or_default(),
            closed: settings.closed.unwrap_or_default(),
            interpolation: settings.interpolation.unwrap_or(new.interpolation),
            ..new
        })
    }

    fn choose(&self, axis: Axis, (data, feature): (&Dataset, usize), ddof: f64) -> Result<Choice> {
        let positions = (data.feature(feature), data.weights());
        let choice = self.binning.choose(&self.request(axis, positions, ddof))?;
        Ok(match self.empty {
            EmptyBins::Merge => {
                let partition = empty_bins::merge(choice.partition, data, feature)?;
                Choice { partition, ..choice }
            }
            _ => choice,
        })
    }

    fn request<'a>(
        &self,
        axis: Axis,
        (positions, weights): (&'a [f64], Option<&'a [f64]>),
        ddof: f64,
    ) -> BinningRequest<'a> {
        BinningRequest {
            axis,
            closed: self.closed,
            positions,
            weights,
            whole: (positions, weights),
            levels: true,
            ddof,
            local_effects: None,
        }
    }

    fn means(&self, choice: &Choice, moments: &[Moments], ddof: f64) -> Result<LocalMeans> {
        let (bins, empty) = empty_bins::fill(self.empty, ddof, choice.partition.clone(), moments)?;
        let (filled, undefined_variances) =
            interpolate_missing(&bins.variance, &empty_bins::places(self.empty, &bins.partition));
        let values = heterogeneity::of_bins(&bins.partition, filled.as_deref(), false);
        let curve = self.curve(&bins);
        Ok(LocalMeans {
            centred: curve.clone(),
            curve,
            heterogeneity: self.heterogeneity(&bins, filled),
            values,
            default_value: "mean_range",
            binning: Some(BinningRecord {
                strategy: self.binning.describe(),
                asked: self.binning.bins(),
                bins: bins.partition.bins(),
                spreads: None,
                feasible: choice.feasible,
                closed: self.closed,
                empty_policy: self.empty,
                empty,
                undefined_variances,
                distinct: choice.distinct,
                empty_share: None,
            }),
            neighbourhoods: NeighbourhoodRecord::new(
                None,
                bins.partition.widths(),
                bins.counts.clone(),
            ),
            bins: Some(bins),
        })
    }

    fn curve(&self, bins: &Bins) -> Curve {
        let limits = bins.partition.limits();
        match self.interpolation {
            Interpolation::Step => Curve::step(limits.to_vec(), bins.effect.clone(), self.closed),
            Interpolation::Linear => {
                let ends = (limits[0], limits[bins.partition.bins()]);
                let (x, y) = through_centres(ends, &bins.partition.centres(), &bins.effect);
                Curve::linear(x, y)
            }
        }
    }

    fn heterogeneity(&self, bins: &Bins, filled: Option<Vec<f64>>) -> Curve {
        let as_they_are = || bins.variance.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        let variances = filled.filter(|_| self.fill_variances).unwrap_or_else(as_they_are);
        Curve::step(bins.partition.limits().to_vec(), variances, self.closed)
    }
}

/// Knots at the centres, and at the ends with the value of the nearest centre. A bin too narrow to
/// have a centre of its own has no knot.
fn through_centres((lo, hi): (f64, f64), centres: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut knots = vec![(lo, y[0])];
    knots.extend(centres.iter().copied().zip(y.iter().copied()));
    knots.push((hi, y[y.len() - 1]));
    knots.dedup_by_key(|knot| knot.0);
    knots.into_iter().unzip()
}

/// Means over the nearest instances, at the points of a grid and further ones on the axis.
fn nearest_means(
    place: &Place<'_>,
    predictions: &[f64],
    least: usize,
    (grid, further): (&[f64], &[f64]),
    ddof: f64,
) -> LocalMeans {
    let sorted = Sorted::new(place, predictions);
    let mut x: Vec<f64> = grid.to_vec();
    x.extend(further.iter().copied().filter(|&x| place.axis.contains(x)));
    x.sort_unstable_by(f64::total_cmp);
    x.dedup();
    let around: Vec<(f64, Moments)> = of_each(&x, &|&x| sorted.around(x, least as f64));
    let on_grid: Vec<usize> = grid.iter().map(|g| x.partition_point(|x| x < g)).collect();
    let variance = |i: usize| around[i].1.variance(ddof);
    let variances: Vec<Option<f64>> = on_grid.iter().map(|&i| variance(i)).collect();
    let means = on_grid.iter().map(|&i| around[i].1.mean).collect();
    let spread = (0..x.len()).map(|i| variance(i).unwrap_or(f64::NAN)).collect();
    LocalMeans {
        centred: Curve::linear(grid.to_vec(), means),
        curve: Curve::linear(x.clone(), around.iter().map(|(_, moments)| moments.mean).collect()),
        heterogeneity: Curve::linear(x, spread),
        values: heterogeneity::of_grid(&variances, &variances),
        default_value: "mean_grid",
        bins: None,
        binning: None,
        neighbourhoods: NeighbourhoodRecord::new(
            Some(least),
            on_grid.iter().map(|&i| 2.0 * around[i].0).collect(),
            on_grid.iter().map(|&i| around[i].1.weight).collect(),
        ),
    }
}

/// The instances on the axis, by their position.
struct Sorted {
    x: Vec<f64>,
    values: Vec<f64>,
    weights: Vec<f64>,
    /// Distances that differ by no more are equal.
    tie: f64,
}

impl Sorted {
    fn new(place: &Place<'_>, predictions: &[f64]) -> Self {
        let (all, weights) = (place.data.feature(place.feature), place.data.weights());
        let rows = (0..all.len()).into_par_iter().with_min_len(SHARED);
        let mut rows: Vec<(f64, usize)> = rows.map(|row| (all[row], row)).collect();
        put_in_order(&mut rows, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let start = rows.partition_point(|(x, _)| *x < place.axis.lo());
        let end = rows.partition_point(|(x, _)| *x <= place.axis.hi());
        let inside = &rows[start..end];
        let each = |of: &(dyn Fn(&(f64, usize)) -> f64 + Sync)| -> Vec<f64> {
            inside.par_iter().with_min_len(SHARED).map(of).collect()
        };
        let largest = place.axis.lo().abs().max(place.axis.hi().abs());
        Self {
            x: each(&|(x, _)| *x),
            values: each(&|(_, row)| predictions[*row]),
            weights: each(&|(_, row)| weights.map_or(1.0, |weights| weights[*row])),
            tie: ULPS_OF_TIES * f64::EPSILON * largest,
        }
    }

    /// The least distance within which there is so much weight, or all there is, and the moments of
    /// all instances up to that distance.
    fn around(&self, x: f64, least: f64) -> (f64, Moments) {
        let mut end = self.x.partition_point(|&other| other < x);
        let (mut start, mut weight, mut radius) = (end, 0.0, 0.0_f64);
        loop {
            let below = start.checked_sub(1).map_or(f64::INFINITY, |i| x - self.x[i]);
            let above = self.x.get(end).map_or(f64::INFINITY, |other| other - x);
            let nearest = below.min(above);
            if nearest == f64::INFINITY || (weight >= least && nearest > radius + self.tie) {
                break;
            }
            if weight < least {
                radius = nearest;
            }
            if below <= above {
                start -= 1;
                weight += self.weights[start];
            } else {
                weight += self.weights[end];
                end += 1;
            }
        }
        let moments = Moments::of_block(&self.values[start..end], Some(&self.weights[start..end]));
        (radius, moments)
    }
}

impl NeighbourhoodRecord {
    fn new(nearest: Option<usize>, widths: Vec<f64>, counts: Vec<f64>) -> Self {
        let mean_width = widths.iter().map(|width| width / widths.len() as f64).sum();
        Self { nearest, widths, counts, mean_width }
    }
}
