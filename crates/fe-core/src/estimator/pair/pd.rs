//! Partial dependence of two features.

use super::band;
use super::joint::Joint;
use super::run::Run;
use super::side::{Points, Side};
use super::{PairEstimator, PairEstimatorInfo, PairObservation, Raw, centring, check, check_size};
use crate::data::{AxisChoice, Dataset};
use crate::effect::Surface;
use crate::error::{Error, Result};
use crate::estimator::ale::order::Order;
use crate::estimator::grid::distinct_points;
use crate::estimator::{Estimand, Resampled};
use crate::model::{Model, Observed};
use crate::numeric::partition::{Closed, Partition};
use crate::settings::{Centring, Settings};

pub(super) const PD: PairEstimatorInfo = PairEstimatorInfo {
    name: "pdp",
    about: "partial dependence of two features on a grid (Friedman 2001)",
    options: &[
        "axis",
        "center",
        "grid",
        "distinct",
        "points",
        "interaction",
        "subsample",
        "subsample_seed",
        "brute",
        "band",
        "level",
        "resamples",
        "band_seed",
        "interval",
        "refits",
        "resampling",
        "correction",
        "residual_permutations",
    ],
    build: |settings| Ok(Box::new(PairPartialDependence::from_settings(settings)?)),
};

/// Points of each feature of a partial dependence if nothing else is asked for.
pub const POINTS: usize = 20;

/// The mean over the instances of f(x_j, x_k, x_rest) on a grid of two features, or at their levels.
///
/// Its mean over both axes is 0 (trapezoid rule over the grid); where a feature has levels, that over the instances.
/// With further points the constant is that of the grid alone. Two or more points where no grid is asked for are in place
/// of it, and the axis reaches from the first to the last of them.
/// With the option `distinct` the values of a feature that has no more of them than that are its grid.
/// With the option `interaction` the partial dependence of either feature, centred alike, is taken away. The table of
/// predictions is never held.
///
/// ```
/// use fe_core::{Dataset, estimator::pair::{PairEstimator, PairPartialDependence}, model::FunctionModel};
/// let data = Dataset::from_rows(&ndarray::array![[0.0, 1.0, 5.0], [1.0, 3.0, 7.0]].view())?;
/// let model = FunctionModel::new(3, |x| x[0] * x[1] + x[2]);
/// let surface = &PairPartialDependence::on_grid(3)?.estimate(&data, &model, [0, 1])?[0];
/// assert_eq!(surface.x, [[0.0, 0.5, 1.0], [1.0, 2.0, 3.0]]);
/// assert_eq!(surface.values, [-1.0, -1.0, -1.0, -0.5, 0.0, 0.5, 0.0, 1.0, 2.0]);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PairPartialDependence {
    grids: [PointsAsked; 2],
    axes: [AxisChoice; 2],
    centring: Option<Centring>,
    interaction: bool,
}

/// The points of a feature without levels.
#[derive(Debug, Clone)]
struct PointsAsked {
    /// So many equidistant points over the axis.
    grid: Option<usize>,
    /// In place of them the values that the data have, where these are no more than that.
    distinct: usize,
    /// And these, ascending.
    further: Vec<f64>,
}

impl PointsAsked {
    fn of(settings: &Settings) -> Result<Self> {
        let mut further = settings.points.clone().unwrap_or_default();
        if let Some(point) = further.iter().find(|point| !point.is_finite()) {
            let allowed = "must be finite numbers".to_owned();
            return Err(Error::BadOption { option: "points", given: point.to_string(), allowed });
        }
        further.sort_by(f64::total_cmp);
        further.dedup();
        let grid = match settings.grid {
            None if further.len() > 1 => None,
            grid => Some(grid.unwrap_or(POINTS)),
        };
        match grid {
            Some(points) if !(2..=super::MOST).contains(&points) => Err(Error::BadOption {
                option: "grid",
                given: points.to_string(),
                allowed: format!("must be from 2 to {}", super::MOST),
            }),
            grid => Ok(Self { grid, distinct: settings.distinct.unwrap_or_default(), further }),
        }
    }

    fn len(&self) -> usize {
        self.grid.unwrap_or_default() + self.further.len()
    }

    /// The points of a feature of some data, and whether each is one of those that a mean over the axis is taken at.
    fn of_feature(
        &self,
        data: &Dataset,
        feature: usize,
        axis: AxisChoice,
    ) -> Result<(Vec<f64>, Option<Vec<bool>>)> {
        let distinct = distinct_points(data, feature, axis, self.distinct);
        match distinct.filter(|values| values.len() > 1 && self.grid.is_some()) {
            Some(values) => self.beside(values),
            None => {
                let axis = axis.resolve(data, feature)?;
                let Some(count) = self.grid else { return Ok((self.further.clone(), None)) };
                self.beside(axis.grid(count))
            }
        }
    }

    /// The further points beside those of a grid, from whose first to whose last the axis reaches.
    fn beside(&self, grid: Vec<f64>) -> Result<(Vec<f64>, Option<Vec<bool>>)> {
        let (lo, hi) = (grid[0], grid[grid.len() - 1]);
        if let Some(&x) = self.further.iter().find(|&&x| !(lo <= x && x <= hi)) {
            return Err(Error::OutsideLimits { x, lo, hi });
        }
        let mut points = [&grid[..], &self.further].concat();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let of_grid = |x: &f64| grid.contains(x);
        let of_grid = (points.len() > grid.len()).then(|| points.iter().map(of_grid).collect());
        Ok((points, of_grid))
    }
}

impl PairPartialDependence {
    /// On so many equidistant points of each feature.
    ///
    /// # Errors
    /// [`Error::BadOption`] for fewer than 2 or too many.
    pub fn on_grid(points: usize) -> Result<Self> {
        let settings = Settings { grid: Some(points), ..Settings::default() };
        Self::from_settings([&settings, &settings])
    }

    fn from_settings(settings: [&Settings; 2]) -> Result<Self> {
        let [first, second] = settings;
        if first.center == Some(Centring::Bins) {
            let message =
                "centring `bins` is of accumulated effects, and a partial dependence has no bins";
            return Err(Error::Incompatible(message.to_owned()));
        }
        let interaction = first.interaction.unwrap_or_default();
        if interaction && first.center == Some(Centring::None) {
            let message = "the interaction part is of centred effects: `center` is none";
            return Err(Error::Incompatible(message.to_owned()));
        }
        Ok(Self {
            grids: [PointsAsked::of(first)?, PointsAsked::of(second)?],
            axes: [first, second].map(|settings| settings.axis.unwrap_or_default()),
            centring: first.center,
            interaction,
        })
    }

    fn side(&self, data: &Dataset, feature: usize, side: usize) -> Result<Side> {
        let points = match data.levels(feature)? {
            Some(levels) => {
                let order = Order::held((0..levels.len()).collect(), "value");
                Points::of_levels(levels, order)
            }
            None => {
                let (points, of_grid) =
                    self.grids[side].of_feature(data, feature, self.axes[side])?;
                let points = Points::Numbers(Partition::new(points, Closed::Left)?);
                return Ok(Side { feature, points, of_grid, binning: None });
            }
        };
        Ok(Side { feature, points, of_grid: None, binning: None })
    }

    fn sides(&self, data: &Dataset, features: [usize; 2]) -> Result<[Side; 2]> {
        let sides = [self.side(data, features[0], 0)?, self.side(data, features[1], 1)?];
        check_size(&sides)?;
        Ok(sides)
    }

    fn on(
        &self,
        data: &Dataset,
        model: &Observed<'_>,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        let sides = self.sides(data, features)?;
        let centring = centring(self.centring, Centring::Integral, data, features)?;
        let run = Run { data, model };
        let joint = Joint::of(&sides, data);
        let alone = match self.interaction {
            true => Some([run.means(None, &sides[0])?, run.means(None, &sides[1])?]),
            false => None,
        };
        let surfaces = run.means(Some(&sides[0]), &sides[1])?.into_iter().enumerate();
        let surface = |(output, mut values): (usize, Vec<f64>)| {
            if let Some([first, second]) = &alone {
                // Constants do not matter: those of the centring go with the surface's.
                let rows = values.chunks_mut(sides[1].len()).zip(&first[output]);
                for (row, first) in rows {
                    for (value, second) in row.iter_mut().zip(&second[output]) {
                        *value -= first + second;
                    }
                }
            }
            let raw = Raw {
                data,
                estimator: PD.name,
                output,
                sides: &sides,
                values,
                centring,
                interaction: self.interaction,
                model_rows: model.model_rows(),
                cells: None,
            };
            raw.surface(&joint)
        };
        surfaces.map(surface).collect()
    }
}

impl PairEstimator for PairPartialDependence {
    fn name(&self) -> &'static str {
        PD.name
    }

    fn estimand(&self) -> Estimand {
        Estimand::PartialDependence
    }

    fn centring(&self, data: &Dataset, features: [usize; 2]) -> Centring {
        centring(self.centring, Centring::Integral, data, features).unwrap_or_default()
    }

    fn is_interaction(&self) -> bool {
        self.interaction
    }

    fn cost(&self, rows: usize) -> Option<u64> {
        let [first, second] = [0, 1].map(|side: usize| self.grids[side].len() as u64);
        let alone = if self.interaction { first + second } else { 0 };
        Some((rows as u64).saturating_mul(first.saturating_mul(second).saturating_add(alone)))
    }

    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        check(data, model, features)?;
        self.on(data, &Observed::new(model), features)
    }

    fn resampling<'a>(&'a self, of: PairObservation<'a>, resampled: bool) -> Resampled<'a> {
        let sides = self.sides(of.data, of.effect.features)?;
        Ok(Box::new(band::of_means(sides, of, resampled)?))
    }
}
